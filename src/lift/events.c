/* Events of copies by a work-group, followed through the control flow: at each place the copies under way, oldest first, by the events that they belong to. A copy that is
 * given an event joins it; where ways meet, an event is what the phi there makes of it. Copies complete in order in Kernel IR, so a wait must cover the oldest ones. */
#include "lift/events.h"
#include <string.h>

enum { MOST_PENDING = 32, MOST_NESTING = 64, MOST_ROUNDS = 64 };

typedef struct pending {
    const lift_value *event;
    int64_t copies; /* -1: not the same on every way */
} pending;

typedef struct state {
    bool reached, lost; /* lost: events that nothing names any more, or not the same ones on every way */
    int count;
    pending at[MOST_PENDING];
} state;

typedef struct events {
    const flow *flow;
    state *in, *out; /* by block */
    group_events *found;
    const lift_value *visiting[MOST_NESTING];
    int depth;
} events;

bool lift_is_group_copy(const lift_value *v) {
    return v->kind == LIFT_INSTRUCTION && v->op == LIFT_CALL && v->callee && strstr(v->callee, "async_work_group_") &&
           v->operand_count >= 4;
}

static bool is_wait(const lift_value *v) {
    return v->op == LIFT_CALL && v->callee && !strncmp(v->callee, LIFT_WAIT_EVENTS, sizeof LIFT_WAIT_EVENTS - 1);
}

static bool is_nothing(const lift_value *v) {
    return v->kind == LIFT_ZERO || v->kind == LIFT_UNDEFINED;
}

/* The event that a value is: a copy's own, the one that a copy joins, or what a phi chooses. NULL: none. */
static const lift_value *event_of(events *e, const lift_value *v) {
    if (is_nothing(v))
        return NULL;
    if (lift_is_group_copy(v)) {
        const lift_value *joined = v->operands[v->operand_count - 1];
        const lift_value *of = e->depth < MOST_NESTING ? event_of(e, joined) : joined;
        return of ? of : v;
    }
    if (v->kind != LIFT_INSTRUCTION || v->op != LIFT_PHI || e->depth == MOST_NESTING)
        return v;
    for (int i = 0; i < e->depth; i++)
        if (e->visiting[i] == v)
            return v;
    e->visiting[e->depth++] = v;
    const lift_value *one = v;
    bool nothing = true, same = true;
    for (int i = 0; i < v->operand_count; i++) {
        const lift_value *of = event_of(e, v->operands[i]);
        nothing = nothing && !of;
        if (of == v)
            continue;
        same = same && of && (one == v || one == of);
        one = of ? of : one;
    }
    e->depth--;
    return nothing ? NULL : same ? one : v;
}

static int place_of(const state *s, const lift_value *event) {
    for (int i = 0; i < s->count; i++)
        if (s->at[i].event == event)
            return i;
    return -1;
}

/* An event that is not there on every way is one that a phi chooses: by its name it is waited for all the same. */
static void meet(state *into, const state *s) {
    if (!into->reached) {
        *into = *s;
        return;
    }
    into->lost = into->lost || s->lost;
    state all = {.reached = true, .lost = into->lost};
    int i = 0, j = 0;
    while (!all.lost && (i < into->count || j < s->count)) {
        bool first = i < into->count && (j == s->count || place_of(s, into->at[i].event) < 0),
             second = !first && j < s->count && (i == into->count || place_of(into, s->at[j].event) < 0);
        const pending *from = second ? &s->at[j] : &into->at[i];
        if (all.count == MOST_PENDING || (!first && !second && into->at[i].event != s->at[j].event)) {
            all.lost = true;
            break;
        }
        all.at[all.count] = *from;
        if ((first && j < s->count) || (second && i < into->count) ||
            (!first && !second && into->at[i].copies != s->at[j].copies))
            all.at[all.count].copies = -1; /* those that are missing at the end are made up for by empty groups */
        all.count++;
        i += !second;
        j += !first;
    }
    *into = all;
}

/* What stands at the end of a block, as the next one names it. */
static state passed_on(events *e, const lift_block *from, const lift_block *to) {
    state s = e->out[from->id];
    for (int i = 0; i < s.count; i++) {
        const lift_value *event = s.at[i].event, *renamed = NULL;
        for (int n = 0; n < to->items.count && to->items.at[n]->op == LIFT_PHI && !renamed; n++) {
            const lift_value *phi = to->items.at[n];
            for (int k = 0; k < phi->block_count && !renamed; k++)
                if (phi->blocks[k] == from && phi->type->kind == LIFT_POINTER && event_of(e, phi->operands[k]) == event &&
                    event_of(e, phi) == phi)
                    renamed = phi;
        }
        if (renamed)
            s.at[i].event = renamed;
        else if (event->block == to || !flow_dominates(e->flow, event->block, to))
            s.lost = true; /* of an earlier trip, or of another way */
    }
    return s;
}

static void copied(events *e, state *s, const lift_value *v) {
    const lift_value *event = event_of(e, v);
    int i = place_of(s, event);
    if (i >= 0 && i < s->count - 1) {
        s->lost = true; /* it joins an event with younger copies behind it */
    } else if (i >= 0) {
        s->at[i].copies += s->at[i].copies >= 0;
    } else if (s->count == MOST_PENDING) {
        s->lost = true;
    } else {
        s->at[s->count++] = (pending){event, 1};
    }
}

static void say(events *e, const lift_value *v, int64_t left, const char *why, bool invalid) {
    event_wait x = {v, left, why, invalid, NULL};
    for (int i = 0; i < e->found->waits.count; i++)
        if (e->found->waits.at[i].call == v) {
            e->found->waits.at[i] = x;
            return;
        }
    VEC_PUSH(e->flow->arena, e->found->waits, x);
}

static bool names(events *e, const lift_value *v, const lift_value *event) {
    for (int n = 0; n < v->operand_count; n++)
        if (event_of(e, v->operands[n]) == event)
            return true;
    return false;
}

static void waited(events *e, state *s, const lift_value *v) {
    int covered = 0;
    int64_t left = 0;
    for (int n = 0; n < v->operand_count; n++)
        if (!event_of(e, v->operands[n])) {
            say(e, v, 0, "a wait for an event that no copy has given", true);
            return;
        }
    for (int n = 0; n < v->operand_count; n++)
        if (v->operands[n]->kind == LIFT_INSTRUCTION && v->operands[n]->op == LIFT_SELECT) {
            s->lost = true;
            say(e, v, 0, "which of several events a wait is for", false);
            for (int i = 0; i < e->found->waits.count; i++)
                if (e->found->waits.at[i].call == v)
                    e->found->waits.at[i].chosen = v->operands[n];
            return;
        }
    if (s->lost) {
        say(e, v, 0, "which copies a wait covers: their events are not the same on every way here", false);
        return;
    }
    while (covered < s->count && names(e, v, s->at[covered].event))
        covered++;
    for (int i = covered; i < s->count; i++) {
        if (names(e, v, s->at[i].event)) {
            say(e, v, 0, "a wait for a copy, but not for one that was made before it", false);
            return;
        }
        left = left < 0 || s->at[i].copies < 0 ? -1 : left + s->at[i].copies;
    }
    for (int n = 0; n < v->operand_count; n++) {
        const lift_value *event = event_of(e, v->operands[n]);
        if (place_of(s, event) >= 0)
            continue;
        say(e, v, 0,
            lift_is_group_copy(event) ? "a wait for an event that has been waited for"
                                      : "which copies a wait covers: where its event comes from is not seen",
            lift_is_group_copy(event));
        return;
    }
    for (int i = covered; i < s->count; i++)
        s->at[i - covered] = s->at[i];
    s->count -= covered;
    say(e, v, left < 0 ? 0 : left, left < 0 ? "how many copies a wait leaves under way" : NULL, false);
}

static bool same(const state *x, const state *y) {
    if (x->reached != y->reached || x->lost != y->lost || x->count != y->count)
        return false;
    for (int i = 0; i < x->count; i++)
        if (x->at[i].event != y->at[i].event || x->at[i].copies != y->at[i].copies)
            return false;
    return true;
}

/* Edges whose state ends earlier than that of the block they lead to. */
static void find_gaps(events *e) {
    const flow *w = e->flow;
    for (int i = 0; i < w->reached; i++) {
        const lift_block *b = w->function->blocks.at[w->order[i]];
        const state *s = &e->in[b->id];
        for (int j = 0; j < b->before.count && b->before.count > 1 && !s->lost; j++) {
            if (w->number[b->before.at[j]->id] < 0)
                continue;
            event_gap gap = {b->before.at[j], b, 0};
            for (int n = passed_on(e, gap.from, b).count; n < s->count && gap.groups >= 0; n++)
                gap.groups = s->at[n].copies < 0 ? -1 : gap.groups + s->at[n].copies;
            if (gap.groups > 0)
                VEC_PUSH(w->arena, e->found->gaps, gap);
        }
    }
}

/* What grows from round to round is a number of copies that a loop decides. */
static void settle(state *s, state *before) {
    for (int i = 0; i < s->count; i++) {
        int at = place_of(before, s->at[i].event);
        if (at >= 0 && before->at[at].copies != s->at[i].copies)
            s->at[i].copies = -1;
    }
    *before = *s;
}

void lift_find_waits(const flow *w, arena *a, group_events *out) {
    bool any = false;
    for (int i = 0; i < w->function->blocks.count; i++)
        for (int j = 0; j < w->function->blocks.at[i]->items.count; j++)
            any = any || lift_is_group_copy(w->function->blocks.at[i]->items.at[j]) ||
                  is_wait(w->function->blocks.at[i]->items.at[j]);
    if (!any)
        return;
    events e = {.flow = w, .in = NEW_ARRAY(a, state, w->count), .out = NEW_ARRAY(a, state, w->count), .found = out};
    bool changed = true;
    for (int round = 0; round < MOST_ROUNDS && changed; round++) {
        changed = false;
        for (int i = 0; i < w->reached; i++) {
            const lift_block *b = w->function->blocks.at[w->order[i]];
            state s = {.reached = !i};
            for (int j = 0; j < b->before.count; j++)
                if (w->number[b->before.at[j]->id] >= 0 && e.out[b->before.at[j]->id].reached) {
                    state from = passed_on(&e, b->before.at[j], b);
                    meet(&s, &from);
                }
            settle(&s, &e.in[b->id]);
            for (int j = 0; j < b->items.count; j++) {
                const lift_value *v = b->items.at[j];
                if (lift_is_group_copy(v))
                    copied(&e, &s, v);
                else if (v->kind == LIFT_INSTRUCTION && is_wait(v))
                    waited(&e, &s, v);
            }
            changed = changed || !same(&s, &e.out[b->id]);
            e.out[b->id] = s;
        }
    }
    find_gaps(&e);
    for (int i = 0; i < out->waits.count && changed; i++)
        out->waits.at[i].why = "which copies a wait covers: their events go round in too many ways";
}
