/* Which copies by the work-group a wait for events covers. Private to lift/. */
#ifndef TILEC_LIFT_EVENTS_H
#define TILEC_LIFT_EVENTS_H
#include "lift/flow.h"

/* What wait_group_events takes the place of, once its address is gone (llvm_events.c). */
#define LIFT_WAIT_EVENTS "tilec.wait_events"

typedef struct event_wait {
    const lift_value *call;
    int64_t left;             /* copies that may still be under way afterwards: the youngest */
    const char *why;          /* not NULL: it can't be said */
    bool invalid;             /* .. because there is no such event */
    const lift_value *chosen; /* .. because this chooses one; NULL: nothing does */
} event_wait;

/* A way on which an event that a phi chooses has no copies: so many empty groups stand for them there. */
typedef struct event_gap {
    const lift_block *from, *to;
    int64_t groups;
} event_gap;

typedef struct group_events {
    VEC(event_wait) waits;
    VEC(event_gap) gaps;
} group_events;

bool lift_is_group_copy(const lift_value *v);
/* Of all waits of the function. */
void lift_find_waits(const flow *w, arena *a, group_events *out);
#endif
