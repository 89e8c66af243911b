/* Blocks of threads as loops, for targets that run one thread a task: between barriers the threads of a block run one after another. */
#ifndef TILEC_KERNEL_SERIALISE_H
#define TILEC_KERNEL_SERIALISE_H
#include "kernel/legalize.h"

/* Rewrites the kernel in place (a copy of its own: see kernel_copy); afterwards it has the task level alone. Barriers cut the body into regions, each a loop over
 * the threads; loops and ifs around barriers must be the same for all threads. Shared arrays become the task's own, registers that live across a barrier an
 * array by thread. Subgroup operations must be gone (legalize.h). False with E0552 where that can't be done. `routes` gains what was done with the threads' own
 * loops, and why not. */
bool kernel_serialise(kernel_ir *k, legal_routes *routes, diag_list *diags);

/* Loads of the task's own memory that give the same in every trip of a loop are made before it (hoist.c), also those that the loop makes under conditions: the
 * cell is surely inside its array, but whether it has been written by then is for the prover to say. False: there are none. `routes` gains each, and each that
 * stays though no index of it changes within the loop. */
bool kernel_hoist(kernel_ir *k, legal_routes *routes);

/* ---- interchange.c: for kernel_serialise ---- */
/* Whether threads' own loops may go around the loops over threads: nothing lives on that could not be kept by thread. */
bool kernel_may_interchange(const kernel_ir *k);
/* Whether this loop of a region should: neighbouring threads access neighbouring cells in a trip, and its trips are the same for all threads but for where
 * they begin. It is made so that its bounds are the same for all; threads that have no such trip are guarded against. Ids outermost first. False: *why says why not,
 * NULL where it is no loop. */
bool kernel_interchange(kernel_ir *k, kernel_stmt *loop, int count, index_var *const *ids, index_expr *const *extents,
                        const char **why);
#endif
