/* Mbarriers. The o-th arrival of every participant completes one phase of one slot; completions are numbered by o. A wait stands after
 * the completion that it names, an arrival before its own; the closure of wait -> arrival over all o is what completions order. */
#include "prove/ring.h"
#include <inttypes.h>
#include <string.h>

static int_set *nothing(model *m, const char *why) {
    if (!m->rings_why)
        m->rings_why = why;
    return NULL;
}

/* Over [dimensions of the scope, more.., v] with v at `dim`: v is the expression. */
int_set *ring_is_value(model *m, int dims, int dim, index_expr *x) {
    affine *e = x ? affine_of(m, dims, x) : NULL;
    return e ? affine_zero(m, affine_subtract(m, affine_dim(m, dims, dim), e)) : nothing(m, m->why);
}

/* ---- arrivals ---- */

typedef struct ids {
    const model *m;
    const int64_t *at;
} ids;

static bool id_value(void *context, const index_var *v, int64_t *value) {
    const ids *x = context;
    const model *m = x->m;
    if (v->has_value) {
        *value = v->value;
        return true;
    }
    if (!model_knows(m, v) || m->position[v->id] < m->task_dims || m->position[v->id] >= m->task_dims + m->thread_dims)
        return false;
    *value = x->at[m->position[v->id] - m->task_dims];
    return true;
}

/* How many threads of a block satisfy the condition; -1: not known. */
static int64_t count_participants(model *m, const cond *c) {
    int n = m->thread_dims, first = m->instance_dims[LEVEL_BLOCK];
    int64_t *at = NEW_ARRAY(m->arena, int64_t, n + 1), all = 0, threads = 1;
    for (int d = first; d < n; d++)
        if (__builtin_mul_overflow(threads, m->thread_extents[d], &threads) || threads > 65536)
            return -1;
    for (int64_t i = 0; i < threads; i++) {
        int64_t rest = i;
        for (int d = n - 1; d >= first; d--) {
            at[d] = rest % m->thread_extents[d];
            rest /= m->thread_extents[d];
        }
        bool holds = true;
        ids x = {m, at};
        if (c && !cond_eval(c, id_value, &x, &holds))
            return -1;
        all += holds;
    }
    return all;
}

index_expr *ring_ordinal(model *m, const ring *r, const meeting *t) {
    counted c = {KSTMT_MBARRIER_ARRIVE, false, r->barrier->name};
    return count_before(m, t->region, r->base, &c);
}

index_expr *ring_slot(model *m, const kernel_stmt *s) {
    return s->slot ? s->slot : ix_const(m->arena, 0);
}

int_set *ring_phases_at(model *m, const ring *r, int dims, int at) {
    int k = m->task_dims, *from = NEW_ARRAY(m->arena, int, k + 3);
    for (int i = 0; i < k; i++)
        from[i] = i;
    for (int i = 0; i < 3; i++)
        from[k + i] = at + i;
    return sets_remap(m->sets, r->phases, dims, from);
}

/* [tasks, o, slot, phase] of one arrival, phase = floor(o / slots) or o */
static int_set *phases_of(model *m, const ring *r, const meeting *t, int64_t slots) {
    sets *z = m->sets;
    int d = t->scope->depth, dims = d + 3;
    index_expr *o = ring_ordinal(m, r, t);
    if (!o)
        return nothing(m, model_text(m, "how often `%s` has been arrived at", r->barrier->name));
    int_set *x = sets_insert(z, domain_of(m, t->scope), d, 3);
    x = sets_intersect(z, x, ring_is_value(m, dims, d, o));
    x = sets_intersect(z, x, ring_is_value(m, dims, d + 1, ring_slot(m, t->stmt)));
    linear *phase = linear_floor(z, linear_dim(z, dims, d), slots);
    x = sets_intersect(z, x, sets_zero(z, linear_add(z, phase, linear_scale(z, linear_dim(z, dims, d + 2), -1))));
    return sets_simplify(z, sets_project(z, x, m->task_dims, d - m->task_dims));
}

/* Whether the phases of each slot are 0, 1, 2, .. in the order of the arrivals. */
static bool phases_count_up(model *m, int_set *x) {
    sets *z = m->sets;
    int t = m->task_dims, *from = NEW_ARRAY(m->arena, int, t + 4);
    for (int i = 0; i < t; i++)
        from[i] = i;
    /* [tasks, o, slot, phase, o', phase'] */
    int_set *a = sets_insert(z, x, t + 3, 2);
    from[t] = t + 3, from[t + 1] = t + 1, from[t + 2] = t + 4;
    int_set *b = sets_remap(z, x, t + 5, from), *both = sets_less(z, sets_intersect(z, a, b), t, t + 3);
    linear *gap = linear_add(z, linear_dim(z, t + 5, t + 2), linear_scale(z, linear_dim(z, t + 5, t + 4), -1));
    if (sets_is_empty(z, sets_intersect(z, both, sets_nonnegative(z, gap))) != TRI_YES)
        return false;
    /* [tasks, slot, phase]: with each phase above 0 the one before */
    int_set *all = sets_project(z, x, t, 1), *lower = sets_insert(z, all, t + 2, 1); /* phase', then phase = phase' - 1 */
    linear *step = linear_add(z, linear_dim(z, t + 3, t + 1), linear_scale(z, linear_dim(z, t + 3, t + 2), -1));
    lower = sets_intersect(z, lower, sets_zero(z, linear_add(z, step, linear_constant(z, t + 3, -1))));
    lower = sets_project(z, lower, t + 1, 1);
    lower = sets_intersect(z, lower, sets_nonnegative(z, linear_dim(z, t + 2, t + 1)));
    int_set *negative =
        sets_nonnegative(z, linear_add(z, linear_scale(z, linear_dim(z, t + 2, t + 1), -1), linear_constant(z, t + 2, -1)));
    return sets_is_subset(z, lower, all) == TRI_YES && sets_is_empty(z, sets_intersect(z, all, negative)) == TRI_YES;
}

/* The constants that an expression takes remainders by, definitions of its names included. */
static int moduli_of(const model *m, const index_expr *x, int64_t *found, int count, int nesting) {
    enum { MOST = 4, DEEPEST = 20 };
    int64_t value;
    if (!x || nesting > DEEPEST || count >= MOST)
        return count;
    if (x->op == IX_VAR)
        return model_knows(m, x->var) ? moduli_of(m, m->definition[x->var->id], found, count, nesting + 1) : count;
    if (x->op == IX_MOD && ix_is_const(x->b, &value) && value > 0)
        found[count++] = value;
    count = moduli_of(m, x->a, found, count, nesting + 1);
    return moduli_of(m, x->b, found, count, nesting + 1);
}

/* Which phase the o-th arrivals of all participants belong to, if each phase took one of every participant: floor(o / slots) where the
 * slots are used in turn, or all that the program's text names, or one; whichever counts up. */
static bool find_turns(model *m, ring *r) {
    int64_t tried[8] = {r->barrier->slots, 1};
    int trials = 2;
    for (int i = 0; i < r->arrivals.count; i++)
        trials = moduli_of(m, ring_slot(m, r->arrivals.at[i]->stmt), tried, trials, 0);
    for (int trial = 0; trial < trials; trial++) {
        int_set *all = NULL;
        for (int i = 0; i < r->arrivals.count; i++) {
            sets_question(m->sets);
            int_set *x = phases_of(m, r, r->arrivals.at[i], tried[trial]);
            if (!x)
                return false;
            all = all ? sets_union(m->sets, all, x) : x;
        }
        sets_question(m->sets);
        if (phases_count_up(m, all)) {
            r->phases = all;
            return true;
        }
    }
    return nothing(m, model_text(m, "which phase of `%s` an arrival belongs to", r->barrier->name));
}

/* The o-th arrivals are turn o of their slot. Phase f takes `arrivals` * (f + 1) arrivals from the start, so one of turn
 * floor((arrivals * (f + 1) - 1) / participants) at least. */
static int_set *phases_from_turns(model *m, const ring *r) {
    sets *z = m->sets;
    int dims = m->task_dims + 4, turn = dims - 2, phase = dims - 1;
    int_set *x = sets_insert(z, r->phases, phase, 1);
    linear *last = linear_scale(z, linear_dim(z, dims, phase), r->barrier->arrivals);
    last = linear_floor(z, linear_add(z, last, linear_constant(z, dims, r->barrier->arrivals - 1)), r->participants);
    x = sets_intersect(z, x, sets_zero(z, linear_add(z, last, linear_scale(z, linear_dim(z, dims, turn), -1))));
    x = sets_intersect(z, x, sets_nonnegative(z, linear_dim(z, dims, phase)));
    return sets_project(z, x, turn, 1);
}

static bool find_phases(model *m, ring *r) {
    const char *name = r->barrier->name;
    if (!r->arrivals.count) { /* no phase ever completes */
        r->phases = sets_empty(m->sets, m->task_dims + 3);
        return r->phases != NULL;
    }
    r->base = r->arrivals.at[0]->region;
    const cond *who = r->arrivals.at[0]->stmt->participants;
    for (int i = 0; i < r->arrivals.count; i++)
        r->base = count_base(r->base, r->arrivals.at[i]->region);
    r->participants = count_participants(m, who);
    for (int i = 1; i < r->arrivals.count; i++)
        if (count_participants(m, r->arrivals.at[i]->stmt->participants) != r->participants ||
            r->arrivals.at[i]->stmt->participants != who)
            return nothing(m, model_text(m, "which threads arrive at `%s`", name));
    if (r->participants < 1)
        return nothing(m, model_text(m, "how many threads arrive at `%s`", name));
    if (!find_turns(m, r))
        return false;
    if (r->participants == r->barrier->arrivals)
        return true;
    r->uneven = true;
    sets_question(m->sets);
    if (r->participants < r->barrier->arrivals)
        r->phases = phases_from_turns(m, r);
    nothing(m, model_text(m, "`%s` counts %" PRId64 " arrivals, %" PRId64 " threads arrive", name, r->barrier->arrivals,
                          r->participants));
    return r->phases != NULL;
}

/* ---- completions before and after a place ---- */

/* Over [dimensions of the place, o]: the completions that one of its arrivals, ordered after the place, brings about. */
int_set *ring_arrived_after(model *m, const ring *r, position at, memory_space space, bool plain) {
    sets *z = m->sets;
    int d = at.scope->depth;
    int_set *all;
    if (order_known(m, at.region, NULL, r, plain ? SPACE_GHOST : space, ORDER_ARRIVED, &all))
        return all;
    all = sets_empty(z, d + 1);
    for (int i = 0; i < r->arrivals.count; i++) {
        const meeting *t = r->arrivals.at[i];
        pair_space s = pair_of(m, at, meeting_position(t));
        int_set *x = pair_same_thread(m, &s, pair_before(m, &s), m->thread_dims);
        if (at.region == t->region) /* its own arrival */
            x = sets_empty(z, s.dims);
        if (!plain)
            x = sets_union(z, x, pair_ordered(m, &s, space));
        x = sets_intersect(z, x, pair_second(m, &s, domain_of(m, t->scope), 0));
        int_set *o = ring_is_value(m, t->scope->depth + 1, t->scope->depth, ring_ordinal(m, r, t));
        if (!o)
            return NULL;
        x = sets_intersect(z, sets_insert(z, x, s.dims, 1), pair_second(m, &s, o, 1));
        x = sets_project(z, x, s.rest_b, s.dims - s.rest_b);
        x = sets_project(z, x, s.threads_b, m->thread_dims);
        all = sets_union(z, all, x);
    }
    return order_keep(m, at.region, NULL, r, plain ? SPACE_GHOST : space, ORDER_ARRIVED, sets_simplify(z, all));
}

/* Over [dimensions of the wait, o]: the completion that it waits for. */
int_set *ring_waited_for(model *m, const ring *r, const meeting *t) {
    sets *z = m->sets;
    int d = t->scope->depth;
    int_set *x = sets_insert(z, domain_of(m, t->scope), d, 3);
    x = sets_intersect(z, x, ring_is_value(m, d + 3, d + 1, ring_slot(m, t->stmt)));
    x = sets_intersect(z, x, ring_is_value(m, d + 3, d + 2, t->stmt->phase));
    x = sets_intersect(z, x, ring_phases_at(m, r, d + 3, d));
    return sets_simplify(z, sets_project(z, x, d + 1, 2));
}

/* Over [dimensions of the place, o]: the completions that a wait ordered before the place has seen. */
int_set *ring_waited_before(model *m, const ring *r, position at, memory_space space) {
    sets *z = m->sets;
    int d = at.scope->depth;
    int_set *all;
    if (order_known(m, at.region, NULL, r, space, ORDER_WAITED, &all))
        return all;
    all = sets_empty(z, d + 1);
    for (int i = 0; i < r->waits.count; i++) {
        const meeting *t = r->waits.at[i];
        pair_space s = pair_of(m, meeting_position(t), at);
        int_set *x = pair_same_thread(m, &s, pair_before(m, &s), m->thread_dims);
        x = sets_union(z, x, pair_ordered(m, &s, space));
        int_set *o = ring_waited_for(m, r, t);
        x = sets_intersect(z, sets_insert(z, x, s.dims, 1), pair_first(m, &s, o, 1));
        x = sets_project(z, x, s.rest_a, s.rest_b - s.rest_a);
        x = sets_project(z, x, s.threads_a, m->thread_dims);
        all = sets_union(z, all, x);
    }
    return order_keep(m, at.region, NULL, r, space, ORDER_WAITED, sets_simplify(z, all));
}

/* ---- the closure ---- */

/* Completion o of one comes before completion o' of the other: a thread waits for o and then arrives for o', which all participants do. */
static int_set *direct(model *m, const ring *from, const ring *to) {
    sets *z = m->sets;
    int t = m->task_dims;
    int_set *all = sets_empty(z, t + 2);
    for (int i = 0; i < from->waits.count; i++) {
        const meeting *w = from->waits.at[i];
        position at = meeting_position(w);
        int d = w->scope->depth;
        int_set *seen = sets_insert(z, ring_waited_for(m, from, w), d + 1, 1);
        int_set *made = sets_insert(z, ring_arrived_after(m, to, at, SPACE_SHARED, false), d, 1);
        all = sets_union(z, all, sets_project(z, sets_intersect(z, seen, made), t, d - t));
    }
    return sets_simplify(z, all);
}

/* The same where o' needs some participant's arrival alone: each of them waits for o first. */
static int_set *direct_for_any(model *m, const ring *from, const ring *to) {
    sets *z = m->sets;
    int t = m->task_dims, n = m->thread_dims;
    int_set *waits = sets_empty(z, t + n + 2),
            *arrives = sets_empty(z, t + n + 1); /* [tasks, threads, o, o'], [tasks, threads, o'] */
    for (int i = 0; i < from->waits.count; i++) {
        const meeting *w = from->waits.at[i];
        int d = w->scope->depth;
        int_set *seen = sets_insert(z, ring_waited_for(m, from, w), d + 1, 1);
        int_set *made = sets_insert(z, ring_arrived_after(m, to, meeting_position(w), SPACE_SHARED, true), d, 1);
        waits = sets_union(z, waits, sets_project(z, sets_intersect(z, seen, made), t + n, d - t - n));
    }
    for (int i = 0; i < to->arrivals.count; i++) {
        const meeting *a = to->arrivals.at[i];
        int d = a->scope->depth;
        int_set *x = sets_insert(z, domain_of(m, a->scope), d, 1);
        x = sets_intersect(z, x, ring_is_value(m, d + 1, d, ring_ordinal(m, to, a)));
        arrives = sets_union(z, arrives, sets_project(z, x, t + n, d - t - n));
    }
    int_set *free_to = sets_subtract(z, sets_insert(z, arrives, t + n, 1), waits);
    return sets_simplify(z, sets_subtract(z, sets_project(z, waits, t, n), sets_project(z, free_to, t, n)));
}

static bool close_over(model *m, struct ring_list *l) {
    sets *z = m->sets;
    int t = m->task_dims, n = l->count;
    int_set *all = sets_empty(z, t + 4); /* [tasks, ring, o, ring', o'] */
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            sets_question(z);
            const ring *from = &l->at[i], *to = &l->at[j];
            int_set *x = to->uneven ? direct_for_any(m, from, to) : direct(m, from, to);
            x = sets_insert(z, sets_insert(z, x, t, 1), t + 2, 1);
            x = sets_fix(z, sets_fix(z, x, t, i), t + 2, j);
            all = sets_union(z, all, x);
        }
    sets_question(z);
    int_set *closed = sets_closure(z, all, t, 2);
    bool whole = closed != NULL;
    if (!closed && l->uneven) { /* a part of it, which may show that a completion waits for itself */
        sets_question(z);
        int_set *two = sets_intersect(z, sets_insert(z, all, t + 4, 2), sets_insert(z, all, t, 2));
        closed = sets_union(z, all, sets_project(z, two, t + 2, 2));
    }
    if (!closed)
        return nothing(m, "the order that arrivals and waits make, whose closure was not found");
    l->before = NEW_ARRAY(m->arena, int_set *, n * n + 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int_set *x = sets_fix(z, sets_fix(z, closed, t, i), t + 2, j);
            l->before[i * n + j] = sets_simplify(z, sets_project(z, sets_project(z, x, t + 2, 1), t, 1));
        }
    return whole;
}

bool rings_known(model *m) {
    if (m->rings)
        return m->rings->known;
    struct ring_list *l = m->rings = NEW(m->arena, struct ring_list);
    const kernel_ir *k = m->kernel;
    l->count = k->mbarriers.count;
    if (!l->count)
        return false;
    if (m->persistent)
        return nothing(m, "mbarriers in a persistent kernel");
    l->at = NEW_ARRAY(m->arena, ring, l->count + 1);
    bool found = true, too_few = false;
    for (int i = 0; i < l->count; i++) {
        ring *r = &l->at[i];
        r->barrier = k->mbarriers.at[i];
        for (int j = 0; j < m->meetings.count; j++) {
            const meeting *t = &m->meetings.at[j];
            bool arrive = t->stmt->kind == KSTMT_MBARRIER_ARRIVE;
            if ((!arrive && t->stmt->kind != KSTMT_MBARRIER_WAIT) || strcmp(t->stmt->name, r->barrier->name))
                continue;
            if (!scope_is_sure(m, t->scope))
                return nothing(m, model_text(m, "`%s`, which data may skip", r->barrier->name));
            if (arrive)
                VEC_PUSH(m->arena, r->arrivals, t);
            else
                VEC_PUSH(m->arena, r->waits, t);
        }
        found = find_phases(m, r) && found;
        l->uneven = l->uneven || r->uneven;
        too_few = too_few || (r->uneven && r->participants > r->barrier->arrivals);
    }
    l->known = found && !too_few && close_over(m, l) && !l->uneven;
    return l->known;
}

/* x over [dimensions of a place, o] and y over [dimensions of another, o']: through the completions. */
static int_set *through(model *m, const pair_space *s, int i, int j, int_set *x, int_set *y) {
    sets *z = m->sets;
    int t = m->task_dims, dims = s->dims, n = m->rings->count, *from = NEW_ARRAY(m->arena, int, dims + 2);
    int_set *first = sets_insert(z, pair_first(m, s, x, 1), dims + 1, 1);
    for (int d = 0; d < dims; d++)
        from[d] = d;
    from[dims] = dims + 1;
    int_set *second = sets_remap(z, pair_second(m, s, y, 1), dims + 2, from);
    int_set *both = sets_intersect(z, first, second);
    for (int d = 0; d < t; d++)
        from[d] = d;
    from[t] = dims, from[t + 1] = dims + 1;
    int_set *order = sets_remap(z, m->rings->before[i * n + j], dims + 2, from);
    int_set *all = sets_intersect(z, both, order);
    if (i == j)
        all = sets_union(z, all, pair_equal(m, s, both, dims, dims + 1));
    return sets_project(z, all, dims, 2);
}

/* The completion that a copy's landing counts for: of the first arrival of its thread after it at its slot. */
int_set *ring_lands_with(model *m, const ring *r, const place *p, position at) {
    sets *z = m->sets;
    int d = at.scope->depth, *from = NEW_ARRAY(m->arena, int, d + 4);
    int_set *x = ring_arrived_after(m, r, at, SPACE_SHARED, true); /* [dims, o] */
    if (!x)
        return NULL;
    /* of the copy's slot */
    int_set *slots = ring_phases_at(m, r, d + 3, d);
    slots = sets_intersect(z, slots, ring_is_value(m, d + 3, d + 1, ring_slot(m, p->stmt)));
    x = sets_intersect(z, x, sets_project(z, slots, d + 1, 2));
    for (int i = 0; i < d; i++)
        from[i] = i;
    from[d] = d + 1;
    int_set *later = sets_intersect(z, sets_insert(z, x, d + 1, 1), sets_remap(z, x, d + 2, from)); /* [dims, o, o'] */
    later = sets_project(z, sets_less(z, later, d + 1, d), d + 1, 1);
    return sets_simplify(z, sets_subtract(z, x, later));
}

int_set *rings_order(model *m, const pair_space *s, memory_space space, const place *landing) {
    sets *z = m->sets;
    int_set *all;
    if (order_known(m, s->a.region, s->b.region, landing, space, ORDER_RINGS, &all))
        return all;
    all = sets_empty(z, s->dims);
    for (int i = 0; i < m->rings->count; i++) {
        const ring *r = &m->rings->at[i];
        if (landing && strcmp(landing->stmt->name, r->barrier->name))
            continue;
        sets_question(z);
        int_set *x = landing ? ring_lands_with(m, r, landing, s->a) : ring_arrived_after(m, r, s->a, space, false);
        for (int j = 0; j < m->rings->count; j++) {
            sets_question(z);
            int_set *y = ring_waited_before(m, &m->rings->at[j], s->b, space);
            if (sets_is_empty(z, y) == TRI_YES)
                continue;
            sets_question(z);
            all = sets_union(z, all, through(m, s, i, j, x, y));
        }
    }
    sets_question(z);
    return order_keep(m, s->a.region, s->b.region, landing, space, ORDER_RINGS, sets_simplify(z, all));
}
