/* Mutation of Kernel IR: one place changed, as a slip of the hand would. doc/mutation.md says what each operator does. */
#ifndef TILEC_TEST_MUTATE_OPERATORS_H
#define TILEC_TEST_MUTATE_OPERATORS_H
#include "kernel/kernel.h"

/* MUTATION(enum, name, what it does) in operators.def */
typedef enum mutation_operator {
#define MUTATION(op, name, what) MUTATE_##op,
#include "operators.def"
#undef MUTATION
    MUTATE_COUNT
} mutation_operator;
typedef struct mutation_info {
    const char *name, *what;
} mutation_info;
extern const mutation_info mutation_table[MUTATE_COUNT];

typedef struct mutation {
    mutation_operator op;
    int line;       /* of the base's text */
    char what[160]; /* "`i0 * 16 + i` becomes `i0 * 16 + i + 1`" */
} mutation;

/* How many places of a kernel can be changed. `each` is told of every one, in order; NULL: none is. */
int mutation_sites(kernel_ir *k, void (*each)(void *context, const mutation *m), void *context);
/* Changes place `site` of a kernel that shares no values (one just parsed). False when there is no such place. */
bool mutation_apply(kernel_ir *k, int site, mutation *out);
#endif
