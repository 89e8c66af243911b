/* Declarations of intrinsics while they are checked. Private to intrinsic.c and intrinsic_matrix.c. */
#ifndef TILEC_LANG_DECLARED_H
#define TILEC_LANG_DECLARED_H
#include "lang/build.h"

typedef struct declared {
    module_builder *m;
    declaration *d;
    intrinsic *f;
    bool ok;
    /* names that stand for integers while a value is looked through */
    const char *names[8];
    int64_t numbers[8];
    int count;
    int steps;
} declared;

/* An error of the declaration, which then is not ok. */
diag *declared_fail(declared *c, const char *code, source_span span, const char *format, ...) PRINTF_LIKE(4, 5);
int declared_parameter(const intrinsic *f, const char *name); /* -1: none of that name */
/* The cell p[..] is one of those that the contract reads, or (`written`) writes, whatever the parameters; else E0332 (E0213: other than its dimensions). */
void declared_cell(declared *c, const expr *e, const intrinsic_parameter *p, bool written);

/* ---- intrinsic_matrix.c ---- */
/* What functions of matrices compute, and their parameters: a load, c + a b, or a store, E0331 otherwise. */
void declared_matrices(declared *c);
#endif
