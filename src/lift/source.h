/* Other people's kernels as LLVM IR: Metal, CUDA and OpenCL C through clang with headers of our own, or a `.ll` text as it is.
 *
 * clang 18 or newer (clang-19 is what the tests use) runs as a child process, without a shell, and stops before LLVM's passes: every access of
 * the source is still there. The reader runs passes of its own (module.h). Nothing here needs LLVM's libraries.
 *
 * What the module looks like, whatever the language: target amdgcn, whose address spaces are 1 device, 3 threadgroup, 4 constant, 5 thread; 0 is
 * generic, and gone after those. Line tables and names are kept. What the device does itself is a call of a declared function:
 *   OpenCL C   the mangled OpenCL name: _Z13get_global_idj, _Z7barrierj, _Z3sinDv4_f, ...
 *   CUDA       cuda.WHAT: see shim/cuda_device.h (math by C's names: cuda.expf).  The ids and the barrier are i32 cuda.tid.x, cuda.ctaid.x, cuda.ntid.x, cuda.nctaid.x, void cuda.barrier()
 *   Metal      air.WHAT.TYPE: see shim/metal_simd.h, metal_math.h.  void air.wg.barrier(i32 flags), float air.simd_sum.f32(float), ...
 * Helper functions are marked alwaysinline; those that nothing calls may stand in the module all the same (give them internal linkage, and globaldce
 * removes them).
 * Function constants without a value are external symbols msl.function_constant.INDEX.NAME (and .derived.NAME for what is computed from them; msl.function_constant_defined.INDEX.NAME says
 * whether there is one). */
#ifndef TILEC_LIFT_SOURCE_H
#define TILEC_LIFT_SOURCE_H
#include "base/diag.h"

/* SOURCE_C: what the C target prints (see front_c); no file of others is taken for it. */
typedef enum { SOURCE_METAL, SOURCE_CUDA, SOURCE_OPENCL, SOURCE_LLVM, SOURCE_C } source_language;
/* By the ending: .metal, .cu, .cl, .ll. False for others. */
bool source_language_of(const char *path, source_language *language);
extern const char *const source_language_names[]; /* "Metal", "CUDA", "OpenCL C", "LLVM IR", "C" */

/* A value for a Metal function constant, by its index or by its name. */
typedef struct source_constant {
    const char *name;  /* "FC_mul_mv_nsg" or "600" */
    const char *value; /* "4", "true", "0.5" */
} source_constant;

typedef struct source_options {
    const char *const *defines; /* "NAME" or "NAME=VALUE" */
    int define_count;
    const char *const *includes; /* folders searched for headers, after the file's own */
    int include_count;
    const char *const *kernels; /* host names; none: every kernel. "sum<float, 4>" instantiates a CUDA template */
    int kernel_count;
    const source_constant *constants;
    int constant_count;
} source_options;

typedef enum {
    PARAMETER_BUFFER,      /* a pointer into device or constant memory */
    PARAMETER_THREADGROUP, /* a pointer to threadgroup memory whose size the launch gives */
    PARAMETER_VALUE,       /* bytes of the launch: a scalar, a vector or a struct */
    PARAMETER_BUILTIN,     /* Metal: a thread's own position or the like, named by `builtin` */
    PARAMETER_OTHER        /* an image, a sampler, a pipe: nothing here reads them */
} parameter_kind;

typedef struct source_parameter {
    const char *name; /* as in the source; "" where it has none */
    parameter_kind kind;
    int index;           /* [[buffer(n)]], [[threadgroup(n)]]; for OpenCL and CUDA the position; -1 for a builtin */
    const char *builtin; /* "thread_position_in_grid"; NULL */
    const char *type;    /* as in the source where known, else as in the IR */
    bool constant;       /* PARAMETER_BUFFER: never written (constant space, or const) */
    bool restricted;     /* `restrict`: no other parameter reaches the same memory */
    /* The function's arguments that carry it (a small struct comes in pieces): `count` of them from `first`. 0 of them when it is not used. */
    int first, count;
} source_parameter;

typedef struct source_kernel {
    const char *host_name; /* what a host program asks for */
    const char *function;  /* its name in the module */
    source_span span;      /* the source's line; of LLVM IR, its definition's */
    VEC(source_parameter) parameters;
    int64_t block[3];          /* the block size that the source requires; 0: not said */
    int64_t subgroup;          /* the subgroup size that the source requires; 0: not said */
    int64_t threads_per_block; /* the most that the source allows; 0: not said */
} source_kernel;

/* The numbers of the address spaces in this module; -1: it has none such. */
typedef struct source_spaces {
    int device, threadgroup, constant, thread, generic;
} source_spaces;

typedef struct source_module {
    source_language language;
    const char *path;
    VEC(source_kernel) kernels;
    source_spaces spaces;
    const char *text; /* LLVM IR in text form, in the arena, before any pass */
    size_t length;
    const char *compiler; /* what made it: "clang 19.1.7 (/usr/bin/clang-19)"; NULL for SOURCE_LLVM */
} source_module;

/* Reads a source text. `text` NULL: reads the file. NULL with diagnostics (E1100 to E1119) at the source's lines; a warning for what was left out. */
source_module *lift_source(arena *a, const char *path, const char *text, source_language language, const source_options *options,
                           diag_list *diags);
/* The host names alone, without compiling a kernel: quick. False with diagnostics. */
typedef VEC(const char *) source_names;
bool lift_source_names(arena *a, const char *path, const char *text, source_language language, const source_options *options,
                       source_names *names, diag_list *diags);
#endif
