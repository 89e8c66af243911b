/* Private to ring.c and ring_judge.c: mbarriers as the prover sees them. */
#ifndef TILEC_PROVE_RING_H
#define TILEC_PROVE_RING_H
#include "prove/model.h"

typedef struct ring {
    const kernel_mbarrier *barrier;
    VEC(const meeting *) arrivals;
    VEC(const meeting *) waits;
    const region *base;   /* where arrivals are counted from */
    int_set *phases;      /* [tasks, o, slot, phase]: which phase completes with the o-th arrivals; NULL: not known */
    int64_t participants; /* threads that arrive together */
    /* More or fewer threads arrive together than the mbarrier counts. Nothing is ordered by it then. With more, `phases` holds turns in the
     * place of phases; with fewer, a phase needs some arrival of the o-th, but not all. */
    bool uneven;
} ring;

struct ring_list {
    ring *at;
    int count;
    bool known;  /* what they order is known */
    bool uneven; /* one of them is */
    int_set **
        before; /* [i * count + j]: [tasks, o of i, o of j], one completion before another (of uneven ones, some of it); NULL: not known */
};

index_expr *ring_ordinal(model *m, const ring *r, const meeting *t);
index_expr *ring_slot(model *m, const kernel_stmt *s);
/* The ring's phases over [`dims` dimensions], of which o, slot and phase are `at` and the two after it. */
int_set *ring_phases_at(model *m, const ring *r, int dims, int at);
/* Over [dimensions of a scope, more.., v], v at `dim`: v is the expression. */
int_set *ring_is_value(model *m, int dims, int dim, index_expr *x);
/* Over [dimensions of the place, o]: the completions that one of its arrivals, ordered after the place, brings about; `plain`: of its thread. */
int_set *ring_arrived_after(model *m, const ring *r, position at, memory_space space, bool plain);
/* Over [dimensions of the wait, o]: the completion that it waits for. */
int_set *ring_waited_for(model *m, const ring *r, const meeting *t);
/* Over [dimensions of the place, o]: the completions that a wait ordered before the place has seen. */
int_set *ring_waited_before(model *m, const ring *r, position at, memory_space space);
/* Over [dimensions of the place, o]: the completion that a copy's landing counts for. */
int_set *ring_lands_with(model *m, const ring *r, const place *p, position at);
#endif
