/* Foreign kernels as Kernel IR: a module of LLVM IR (source.h makes it from Metal, CUDA and OpenCL C) read through the plugin tilec-lift.so, its
 * control flow structured, its pointers taken apart into arrays and indices. What is not understood is a located error, never a guess. doc/reading.md. */
#ifndef TILEC_LIFT_LIFT_H
#define TILEC_LIFT_LIFT_H
#include "kernel/kernel.h"
#include "lift/contract.h"
#include "lift/module.h"

/* What a variable of the source's begins with, which a host may set to something else before a launch. */
typedef struct lifted_initial {
    const char *array;
    const void *bytes; /* `count` of them, as they lie in memory; NULL: they are not known */
    int64_t count;
} lifted_initial;

typedef struct lifted_kernel {
    kernel_ir *kernel;
    bool wraps; /* some integer may wrap around (kernel_stmt.wraps) */
    const kernel_ir *
        stated; /* the same where integers that wrap around are stated to fit: what they take for that is told from it; NULL: none do */
    const lift_function *function;
    /* What the contract does not say and the kernel was read with: lines for people. */
    VEC(const char *) assumed;
    VEC(lifted_initial) initials;
    const char *opaque; /* what is not known of it, "the body of `f`": it can be judged, and not run; NULL: nothing */
} lifted_kernel;

/* Reads a module (LLVM IR, text or bitcode) through the plugin, looked for beside the program, then where the loader looks; NULL with E1120 (the plugin,
 * or LLVM, is missing: what to install) or E1121. */
const lift_module *lift_module_read(arena *a, const char *text, size_t length, const char *path, const lift_reading *how,
                                    diag_list *diags);
/* One kernel. `path` stands in diagnostics where the module names no file. False with diagnostics, E1122 to E1139. */
bool lift_kernel(arena *a, const lift_function *f, const char *path, const lift_contract *contract, lifted_kernel *out,
                 diag_list *diags);
/* Conditions over launch values under which the accesses of the kernel are in bounds and its stated ranges hold, as far as they can be read off guards and
 * loops: candidates, to be judged by proving the kernel below them. */
typedef VEC(cond *) lift_conditions_list;
void lift_suggest(kernel_ir *k, lift_conditions_list *out);
#endif
