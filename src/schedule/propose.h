/* Private to schedule/: what each range does in a kernel, and the size of its tiles that follows (propose.c); choose.c fits the sizes to the machine. */
#ifndef TILEC_SCHEDULE_PROPOSE_H
#define TILEC_SCHEDULE_PROPOSE_H
#include "schedule/lower.h"

/* Decides the size of a range's tiles. */
typedef struct range_role {
    bool product_rows, product_columns; /* a result range of a product with ranges on both sides */
    bool vector_rows;                   /* a result range of a matrix-vector product */
    bool contracted, contracted_twice_sided;
    bool reduced;
    bool contiguous; /* the last index of some access */
    bool strided;    /* an index of some access, not the last */
    bool turned;     /* contiguous where a value is loaded and not where it is stored, or the other way about */
    bool joined;     /* its loop joins a state */
    int bytes;       /* contracted: of the widest element that a product reads along it */
} range_role;

typedef struct range_survey {
    arena *arena;
    const tile_kernel *k;
    range_role *roles; /* by range id */
    bool matrix_types; /* some product's operands are of a matrix instruction's type */
    bool chains;       /* what a product gives is summed by another, and joins a state */
    bool several_wide; /* several of the task's ranges have tiles of more than one element */
} range_survey;

range_survey survey_ranges(arena *a, const tile_kernel *k, const matrix_table *matrices);
/* Elements of a tile of r, before the budget is looked at: where a task is one thread, */
int64_t proposed_for_task(const range_survey *s, const tile_range *r);
/* and where it is a block of threads. `matrices`: products go by matrix instructions. */
int64_t proposed_for_threads(const range_survey *s, const tile_range *r, const machine_model *machine, bool matrices);
#endif
