/* Private to lanes_reduce.c and lanes_exchange.c: a reduction on its way to the threads of a block. */
#ifndef TILEC_SCHEDULE_LANES_REDUCTION_H
#define TILEC_SCHEDULE_LANES_REDUCTION_H
#include "schedule/lanes_fragment.h"

typedef struct part {
    kernel_array *array;
    kernel_value *start;
} part;

struct reduction {
    lower *l;
    tile_range **axes;
    int axis_count;
    tile_value *value, *heavy;
    const sink *s;
    source_span span;
    tile_range **reduced;
    int reduced_count;
    bool
        held; /* the parts of all results are kept at once: until subgroups have met, for a later trip of a loop, or because they are few */
    bool single;   /* of one element, which exists */
    bool gathered; /* each result's vector of parts becomes one number at once, and those numbers of all results meet together */
    bool staged;   /* operands are read from shared memory */
    bool matrix;   /* and multiplied by matrix instructions: the parts are accumulators, not registers of single threads */
    fragment_tile sum;
    kernel_array *met;   /* where threads find the sums then */
    bool extreme;        /* argmax, argmin: parts are the best value and where it stands */
    bool scattered;      /* lanes are reduced, and the results are dealt out to them */
    bool unguarded;      /* lanes that have no result compute along */
    int lanes;           /* of the accumulators */
    bool reduced_vector; /* lanes of an accumulator are partial results */
    part parts[2];
    int part_count;
    kernel_array *shared[2];
    ghost_record ghost;
};

/* ---- lanes_reduce.c ---- */
/* The cell of the array that belongs to the result at p. */
kernel_access reduction_cell(point *p, reduction *c, kernel_array *array);
void reduction_set(point *p, reduction *c, kernel_access to, kernel_value *v);
kernel_value *reduction_get(reduction *c, kernel_access from);
/* (best, where) against (value, at): the better value, of equals the lower index, -1 standing for none. */
void reduction_keep_better(point *p, reduction *c, kernel_value *value, kernel_value *at);
/* A thread's share of the ranges, `body` inside; `guarded`: what does not exist is left out. */
void reduction_over(point *p, reduction *c, tile_range **ranges, int count, bool guarded, void (*body)(point *, reduction *));

/* ---- lanes_exchange.c ---- */
/* The lanes of an accumulator become one number. */
void reduction_fold_vector(point *p, reduction *c);
/* The lanes of the subgroup have what all of them make together. */
void reduction_meet_lanes(point *p, reduction *c);
/* Both. */
void reduction_exchange_lanes(point *p, reduction *c);
/* Then all subgroups have it. False with E0593. */
bool reduction_exchange_subgroups(reduction *c);
/* How the reduced range that several subgroups share is spread; NULL: none is. */
const spread *reduction_crossing(const reduction *c);

static inline const spread *reduction_spread(const reduction *c, int i) {
    return &c->l->spreads[c->reduced[i]->id];
}

/* The part that ends as the result. */
static inline int reduction_first_result(const reduction *c) {
    return c->reduced_vector ? 1 : 0;
}
#endif
