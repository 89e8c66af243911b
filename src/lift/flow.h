/* Control flow of a read function: dominators, loops, and where branches come together again. Private to lift/. */
#ifndef TILEC_LIFT_FLOW_H
#define TILEC_LIFT_FLOW_H
#include "lift/module.h"

typedef struct flow_loop flow_loop;
struct flow_loop {
    lift_block *header, *latch; /* the only block that goes back to the header */
    lift_block *before;         /* the only block outside that goes to the header */
    flow_loop *outer;
    bool *has; /* by block */
    int depth;
    int exit_count;    /* edges that leave it */
    lift_block **join; /* of the region that is its body; see flow_join */
};

typedef struct flow {
    const lift_function *function;
    arena *arena;
    int count;   /* of blocks */
    int *parent; /* immediate dominators; -1: the entry, and what is not reached */
    int *number; /* in reverse postorder; -1: not reached */
    int *order;  /* blocks by number */
    int reached;
    flow_loop **loop; /* innermost, by block */
    VEC(flow_loop *) loops;
    lift_block **join;
    const lift_value *irreducible; /* an instruction of a loop with two ways in, or without one latch; NULL: there is none */
} flow;

flow *flow_new(arena *a, const lift_function *f);
bool flow_dominates(const flow *w, const lift_block *x, const lift_block *y);
/* Within the body of `region` (NULL: the function), inner loops taken as one step: the block through which every way from b goes on, the nearest;
 * NULL: ways end, go round or leave before they meet. */
lift_block *flow_join(flow *w, flow_loop *region, const lift_block *b);
/* The loop inside `region` whose header this is; NULL: none. */
flow_loop *flow_loop_at(const flow *w, const flow_loop *region, const lift_block *b);
/* Where the ways out of an inner loop meet. */
lift_block *flow_join_after(flow *w, flow_loop *region, const flow_loop *inner);
#endif
