/* What the files of the OpenCL target share. Private to target/. */
#ifndef TILEC_TARGET_OPENCL_HELPERS_H
#define TILEC_TARGET_OPENCL_HELPERS_H
#include "target/cfamily.h"

const char *opencl_scalar_type(element_type t, bool in_vector);
const char *opencl_space(const kernel_array *a); /* "global", "local", "private": where the array's bytes are */
/* Builtins by their names, or functions written into the prelude. */
const char *opencl_helper(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes);
/* Loads or stores of vectors whose lanes are a stride apart, or of which only the first few take part: (pointer, [value,] [stride,] [count]) */
const char *opencl_memory_helper(cfamily *p, const kernel_access *access, bool is_store, const char *stride, const char *active);
#endif
