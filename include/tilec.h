/* tilec: safe tile kernels, compiled, proved, run. The public C API.
 *
 *     tilec_context *t = tilec_open(NULL);                         // the CPU
 *     tilec_module *m = tilec_load_file(t, "matmul.tile");
 *     tilec_call *c = tilec_call_new(m, "matmul");
 *     int64_t a_shape[] = {M, K}, b_shape[] = {K, N};
 *     tilec_bind_array(c, "a", TILEC_F16, 2, a_shape, a);
 *     tilec_bind_array(c, "b", TILEC_F16, 2, b_shape, b);
 *     if (!tilec_launch(c)) fputs(tilec_error(t), stderr);
 *     const float *result = tilec_result(c, "c", &rank, shape);
 *
 * There is no global state: everything hangs on a context, and contexts are independent. A context and what was made from it are used by
 * one thread at a time. Every function that can fail says so by its result; tilec_error tells why. */
#ifndef TILEC_H
#define TILEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TILEC_API __attribute__((visibility("default")))
#else
#define TILEC_API
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TILEC_MAX_RANK 8

/* Element types. An index(V) array is bound as TILEC_I32; block formats and fp8 as their bytes or by their own names. */
typedef enum tilec_type {
    TILEC_F32, TILEC_F16, TILEC_BF16, TILEC_I8, TILEC_U8, TILEC_I32, TILEC_U32, TILEC_BOOL, TILEC_E4M3, TILEC_E5M2, TILEC_Q8_0, TILEC_Q4_0
} tilec_type;

typedef struct tilec_context tilec_context;
typedef struct tilec_module tilec_module;
typedef struct tilec_call tilec_call;

/* "0.1.0" */
TILEC_API const char *tilec_version(void);

/* Opens a device ("cpu"; NULL: the CPU). Never NULL unless memory is out: ask tilec_ready. */
TILEC_API tilec_context *tilec_open(const char *device);
/* Whether the device could be opened; tilec_error says why not. */
TILEC_API bool tilec_ready(const tilec_context *t);
/* Closes the device and frees every module and call that is left. NULL is allowed. */
TILEC_API void tilec_close(tilec_context *t);
/* The diagnostics of the last function that failed, as the command line prints them; "" when none did. Valid until the next call. */
TILEC_API const char *tilec_error(const tilec_context *t);

/* Loads and type-checks a file, or a text under a name for messages. NULL on errors. Kernels are compiled when first prepared. */
TILEC_API tilec_module *tilec_load_file(tilec_context *t, const char *path);
TILEC_API tilec_module *tilec_load_text(tilec_context *t, const char *name, const char *text);
/* Programs first, then kernels. */
TILEC_API int tilec_kernel_count(const tilec_module *m);
TILEC_API const char *tilec_kernel_name(const tilec_module *m, int index); /* NULL out of range */

/* A kernel or program to be called; NULL name: the only one. NULL when there is no such kernel. Freed by tilec_call_free or tilec_close. */
TILEC_API tilec_call *tilec_call_new(tilec_module *m, const char *name);
TILEC_API void tilec_call_free(tilec_call *c);
/* Binds host memory: row-major, `shape` in elements. It is not copied and stays the caller's; it must live until it is bound again or the
 * call is freed. Results may be bound too; those that are not get memory of the call's own. False for a wrong name, type or rank. */
TILEC_API bool tilec_bind_array(tilec_call *c, const char *name, tilec_type type, int rank, const int64_t *shape, void *data);
TILEC_API bool tilec_bind_float(tilec_call *c, const char *name, double value);
TILEC_API bool tilec_bind_integer(tilec_call *c, const char *name, int64_t value);
/* Symbols that no argument's shape tells, and tile sizes the schedule would choose. */
TILEC_API bool tilec_set_symbol(tilec_call *c, const char *name, int64_t value);
TILEC_API bool tilec_set_tile(tilec_call *c, const char *name, int64_t value);

/* Solves the shapes, compiles and proves what is new. One compile serves all shapes; statics and tile sizes make new ones. */
TILEC_API bool tilec_prepare(tilec_call *c);
/* Prepares if need be, checks what must be checked at launch, and runs to the end. Nothing is written when a check fails. */
TILEC_API bool tilec_launch(tilec_call *c);
/* A result (or any array) after tilec_prepare: its memory, and its shape in `shape[TILEC_MAX_RANK]`. NULL for an unknown name. */
TILEC_API void *tilec_result(tilec_call *c, const char *name, int *rank, int64_t *shape);
/* Runs as tilec_launch does and compares every element with an f64 evaluation of the kernel's meaning on the same bytes, within a derived
 * bound. *worst is the worst error as a share of its bound (may be NULL). False when an element is outside. */
TILEC_API bool tilec_launch_checked(tilec_call *c, double *worst);

/* How often this process ran the system's C compiler. */
TILEC_API int64_t tilec_compiler_calls(void);

#ifdef __cplusplus
}
#endif
#endif
