/* What the files of the OpenCL target share. Private to target/. */
#ifndef TILEC_TARGET_OPENCL_HELPERS_H
#define TILEC_TARGET_OPENCL_HELPERS_H
#include "target/cfamily.h"
#include "target/gpu_plan.h"

const char *opencl_scalar_type(element_type t, bool in_vector);
/* "global", "local", "private": where the array's bytes are */
const char *opencl_space(const cfamily *p, const kernel_array *a);
const char *opencl_register_type(cfamily *p, element_type t, int lanes);
const char *opencl_storage_type(element_type t);
const char *opencl_lane(cfamily *p, const char *vector, int lane);
void opencl_kernel_head(arena *a, text_buffer *out, const gpu_entry *e);
/* Builtins by their names, or functions written into the prelude. */
const char *opencl_helper(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes);
/* Loads or stores of vectors, whose lanes may be a stride apart, and of which only the first few may take part: (pointer, [value,] [stride,] [count]) */
const char *opencl_memory_helper(cfamily *p, const kernel_access *access, bool is_store, const char *stride, const char *active);
/* The same as expressions: of a call of that function. */
const char *opencl_load_by_helper(cfamily *p, const kernel_access *access, const char *stride, const char *active);
const char *opencl_store_by_helper(cfamily *p, const kernel_access *access, const char *stride, const char *active,
                                   const char *value);

/* What both texts say alike: of values, a cfamily_dialect's part; of kernels, a gpu_dialect's. */
/* clang-format off */
#define OPENCL_VALUES                                                                                                            \
    .index_type = "long", .register_type = opencl_register_type, .storage_type = opencl_storage_type, .helper = opencl_helper,   \
    .constant = cfamily_constant, .nan = "NAN", .infinity = "INFINITY", .least_i32 = "INT_MIN", .value = cfamily_operation,      \
    .vector_open = "(", .vector_close = ")", .function_head = "static inline ", .lane = opencl_lane
#define OPENCL_LAUNCH                                                                                                            \
    .read_only = "__global const ", .written = "__global ", .limit = "restrict ", .shared = "__local ",                          \
    .block_number = "get_group_id(0)", .head = opencl_kernel_head, .integer_type = "const long ",                                \
    .float_type = "const float ", .bool_type = "const int "
/* clang-format on */

/* ---- opencl_cpu.c: in texts for a device that is a processor (cfamily_dialect.private_is_shared) ---- */
/* A structure that holds the vector, `v`, at any address; written into the prelude. */
const char *opencl_packed_type(cfamily *p, element_type t, int lanes);
/* Whether an access to the first few lanes has an instruction of the processor's: to be asked before its function begins, which `opencl_masked_access`
 * then starts with, `#if` to `#else`. The function's parameters are a, v and count. */
bool opencl_masked_prepare(cfamily *p, element_type t, int lanes);
void opencl_masked_access(cfamily *p, element_type t, int lanes, bool is_store);
/* The same for the body of a conversion of x between f16 and f32; false, and nothing is written, where there is no such instruction. */
bool opencl_half_convert(cfamily *p, element_type to, int lanes);
#endif
