/* .safetensors files, read only: one named tensor at a time. */
#ifndef TILEC_RUN_SAFETENSORS_H
#define TILEC_RUN_SAFETENSORS_H
#include "run/run.h"

/* Reads one tensor into heap memory (npy_free gives it back). F64 and I64 are kept wide. False with E083x: no such file or tensor, a
 * type there is no element type for, offsets that disagree with the shape or leave the file. */
bool safetensors_read(const char *path, const char *tensor, npy_array *out, diag_list *diags);
#endif
