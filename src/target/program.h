/* Building a program: its kernels and the function that runs them in order. */
#ifndef TILEC_TARGET_PROGRAM_H
#define TILEC_TARGET_PROGRAM_H
#include "target/target.h"

typedef struct program_build {
    const tile_program *program;
    const proved_plan *const
        *plans;                  /* by position in program->calls; calls that share a kernel and its statics may share a plan */
    const tile_binding *statics; /* of the program, every one */
    int static_count;
} program_build;

/* Writes the program into `directory` as self-contained source, whole or not at all. False with diagnostics: E0868 where the target has
 * no such form. */
bool target_build_program(const target *t, const program_build *p, const char *directory, diag_list *diags);

/* An expression in the program's symbols and scalars with its statics' values; the same for a symbol of a call's kernel, NULL where
 * nothing determines it. */
index_expr *program_expression(arena *a, const program_build *p, index_expr *x);
index_expr *program_symbol(arena *a, const program_build *p, const tile_call *call, int symbol);
#endif
