/* What the files of legalisation share. Private to kernel/. */
#ifndef TILEC_KERNEL_LEGALIZE_PARTS_H
#define TILEC_KERNEL_LEGALIZE_PARTS_H
#include "kernel/legalize.h"

/* A shared array with a cell for each trip and lane. */
typedef struct batch_array {
    const char *name; /* compared as a pointer */
    int64_t trips;
    kernel_array *array;
} batch_array;

typedef struct legalizer {
    kernel_ir *kernel;
    const legal_table *table;
    legal_routes *routes;
    diag_list *diags;
    bool failed;
    bool divergent;     /* not every thread of the block reaches this place */
    int shuffles;       /* emitted so far */
    int turn;           /* which cells the next group of shuffles uses: two groups in a row need one barrier each, not two */
    kernel_stmt *group; /* the barrier of the last group while another shuffle may still join it */
    VEC(const index_var *) varying;        /* integers that may differ between threads of a block */
    VEC(const kernel_value *) done;        /* values of the current statement */
    kernel_array *cells[2][ELEMENT_COUNT]; /* [turn]: what shuffles exchange, one cell a lane */
    kernel_array *parts[ELEMENT_COUNT],
        *few[ELEMENT_COUNT]; /* of reductions: one cell a lane, and what a few lanes made of them */
    VEC(batch_array) batches;
} legalizer;

bool legalize_refuse(legalizer *l, source_span span, const char *what, ...) PRINTF_LIKE(3, 4); /* E0552; returns false */
void legalize_route(legalizer *l, const char *format, ...) PRINTF_LIKE(2, 3);                  /* each text once */

bool legalize_varies(const legalizer *l, const index_var *v); /* it may differ between threads of a block */

/* ---- legalize_split.c ---- */
/* Whether s is a choice that whole subgroups make, with exchanges of lanes right in it and nothing else that the block must meet at. */
bool legalize_may_split(const legalizer *l, const kernel_stmt *s);
/* Such a choice, its body rewritten: its parts between barriers, each behind the condition, go to `out`. */
void legalize_split(legalizer *l, kernel_stmt *s, kernel_block *out);

/* ---- legalize_fragment.c ---- */
/* All fragments of a kernel by hand, where the target lacks a product or a view of theirs. */
void legalize_fragments(legalizer *l);

/* ---- legalize_copy.c ---- */
void legalize_copies(legalizer *l); /* those that the block makes together: no target has them */

/* ---- legalize_subgroup.c ---- */
/* Turns the exchange v (operands rewritten) into a load; the statements that fill and order shared memory are appended to `before`. */
void legalize_exchange(legalizer *l, kernel_value *v, kernel_block *before);
/* A run of statements, each combining one register cell with that of another lane, as one exchange: how many of `at` it replaces; 0: none. */
int legalize_butterfly(legalizer *l, kernel_stmt *const *at, int count, kernel_block *before);
/* An unrolled loop whose trips exchange between lanes, as loops in which all trips do so together; false: it has another shape. */
bool legalize_batch(legalizer *l, kernel_stmt *loop, kernel_block *before);
void legalize_barrier(legalizer *l, kernel_block *b, source_span span); /* of the block, for shared memory */
#endif
