/* Legalisation: what a target lacks is rewritten into what it has. Targets describe themselves by a table; nothing else decides whether an
 * operation is native or emulated. */
#ifndef TILEC_KERNEL_LEGALIZE_H
#define TILEC_KERNEL_LEGALIZE_H
#include "kernel/matrix.h"

/* What a target has. */
typedef struct legal_table {
    const char *target;
    /* reductions and shuffles among the lanes of a subgroup; otherwise: through shared memory, behind block barriers */
    bool subgroups;
    bool f16_arithmetic; /* otherwise f16 is stored, and computed with as f32 */
    int vector_lanes;    /* most lanes of a value; wider ones are refused */
    /* align.h: aligned forms are printed beside plain ones; shared arrays are declared at multiples of PLAN_ALIGNMENT */
    bool aligned_forms, aligned_shared;
    matrix_table matrices; /* its products of fragments; where a kernel has others, all its fragments are made by hand */
    bool lane_views;       /* a lane's own elements of a fragment can be read and set */
} legal_table;

typedef VEC(const char *) legal_routes;
void legal_route(arena *a, legal_routes *routes, const char *text); /* each text once; copied */

/* Rewrites the kernel in place. Each kind of rewriting, and each refused, adds a line to `routes` (in the kernel's arena). False, with located
 * errors (E0552), where the target can't do it: a subgroup operation that not every thread of the block reaches, for one. The checker runs
 * afterwards. */
bool kernel_legalize(kernel_ir *k, const legal_table *table, legal_routes *routes, diag_list *diags);
#endif
