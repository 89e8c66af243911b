/* What a region does to an array, from the inside out, and where two accesses of one cell meet. Each loop is projected out as soon as
 * it is summed up, so that questions stay small: n statements and loops make n questions, not n squared. */
#include "prove/interval.h"

static const unsigned uses[SUMMARY_KINDS] = {ACCESS_READ, ACCESS_WRITE, ACCESS_WRITE,      ACCESS_CONSUME,    ACCESS_CONSUME,
                                             ACCESS_READ, ACCESS_WRITE, ACCESS_PLAIN_READ, ACCESS_PLAIN_WRITE};

/* Whether the place counts. */
static bool counts(const place *p, const kernel_array *a, int kind) {
    bool plain = kind == SUMMARY_PLAIN_READ || kind == SUMMARY_PLAIN_WRITE;
    unsigned use = kind == SUMMARY_PLAIN_READ ? ACCESS_READ : kind == SUMMARY_PLAIN_WRITE ? ACCESS_WRITE : uses[kind];
    return p->array == a && p->use == use && !(plain && (p->asynchronous || p->atomic || p->collective || p->won));
}

static int_set *counted_cells(model *m, place *p, const kernel_array *a, int kind) {
    bool plain = kind == SUMMARY_PLAIN_READ || kind == SUMMARY_PLAIN_WRITE;
    bool source = kind == SUMMARY_SOURCE_READ || kind == SUMMARY_SOURCE_WRITE || (plain && plainly_scattered_dims(m, a));
    return source ? source_cells_of(m, p) : cells_of(m, p);
}

static int_set *place_sum(model *m, region *r, const kernel_array *a, int kind, bool must) {
    int_set *all = sets_empty(m->sets, r->depth + a->rank);
    for (int i = 0; i < r->places.count; i++) {
        place *p = r->places.at[i];
        if (!counts(p, a, kind))
            continue;
        int_set *x = counted_cells(m, p, a, kind);
        if (!must || !p->not_affine)
            all = sets_union(m->sets, all, x);
    }
    return all;
}

/* What may happen, over [`depth` dimensions, cell]: each place's loops are projected out together, which is far quicker than one after another;
 * pieces are joined in the order of the program. NULL: to be found loop by loop. */
static int_set *at_once(model *m, region *r, const kernel_array *a, int kind, int depth) {
    sets *z = m->sets;
    int_set *all = sets_empty(z, depth + a->rank);
    int parts = 0;
    for (int i = 0; i < r->places.count; i++) {
        place *p = r->places.at[i];
        if (!counts(p, a, kind))
            continue;
        sets_question(z);
        int_set *x = sets_project(z, counted_cells(m, p, a, kind), depth, p->scope->depth - depth);
        all = parts++ ? sets_union(z, all, x) : x;
    }
    for (int i = 0; i < r->children.count; i++) {
        region *child = r->children.at[i];
        if (!(child->touches[a->id] & uses[kind]))
            continue;
        int_set *x = at_once(m, child, a, kind, depth);
        all = parts++ ? sets_union(z, all, x) : x;
    }
    sets_question(z);
    all = parts > 1 ? sets_simplify(z, all) : all;
    return sets_gave_up(z) ? NULL : all;
}

/* Cells that are in x whatever the value of dimension `dim`, among the values that the scope allows. Where it allows none (an index
 * array whose bound is 0 passes the launch check only when empty), that point of the program is never reached: every cell counts. */
static int_set *for_every_value(model *m, scope *s, int_set *x, int dim, int rank) {
    sets *z = m->sets;
    int_set *some = sets_project(z, x, dim, 1), *domain = domain_of(m, s);
    int_set *everywhere = sets_intersect(z, sets_insert(z, some, dim, 1), sets_insert(z, domain, dim + 1, rank));
    int_set *missing = sets_project(z, sets_subtract(z, everywhere, x), dim, 1);
    int_set *never = sets_subtract(z, domain_of(m, s->parent), sets_project(z, domain, dim, 1));
    return sets_union(z, sets_subtract(z, some, missing), sets_insert(z, never, dim, rank));
}

static int_set *compute(model *m, region *r, const kernel_array *a, int kind) {
    sets *z = m->sets;
    bool must = kind == SUMMARY_MUST_WRITE || kind == SUMMARY_MUST_CONSUME;
    if (!(r->touches[a->id] & uses[kind]))
        return sets_empty(z, r->depth + a->rank);
    sets_question(z); /* each region has a budget of its own */
    if (r->kind == REGION_STEP)
        return place_sum(m, r, a, kind, must);
    int_set *all = must || r->depth > m->task_dims ? NULL : at_once(m, r, a, kind, r->depth);
    if (all)
        return all;
    sets_question(z);
    int parts = 0;
    bool first = true, both = r->kind == REGION_MAYBE;
    for (int i = 0; i < r->children.count; i++)
        if (r->kind == REGION_CHOICE) {
            domain_of(m, r->children.at[i]->scope);
            both = both || r->children.at[i]->scope->own_loose;
        }
    for (int i = 0; i < r->children.count; i++) {
        region *child = r->children.at[i];
        if (!(child->touches[a->id] & uses[kind]) && !(both && must))
            continue;
        int_set *x = summary_of(m, child, a, kind);
        sets_question(z);
        all = first ? x : both && must ? sets_intersect(z, all, x) : sets_union(z, all, x);
        first = false;
        parts++;
    }
    sets_question(z);
    if (r->kind != REGION_LOOP && r->kind != REGION_VALUE)
        return parts > 1 ? sets_simplify(z, all) : all;
    domain_of(m, r->scope);
    if (must && r->kind == REGION_LOOP && (r->scope->kind == SCOPE_TRIP || r->scope->may_stop || r->scope->own_loose))
        return sets_empty(z, r->depth + a->rank);
    if (must && r->kind == REGION_VALUE)
        return sets_simplify(z, for_every_value(m, r->scope, all, r->depth, a->rank));
    return sets_simplify(z, sets_project(z, all, r->depth, 1));
}

int_set *summary_of(model *m, region *r, const kernel_array *a, int kind) {
    if (!r->summaries)
        r->summaries = NEW_ARRAY(m->arena, summary *, m->kernel->arrays.count + 1);
    summary *memo = r->summaries[a->id];
    if (!memo)
        memo = r->summaries[a->id] = NEW_ARRAY(m->arena, summary, SUMMARY_KINDS);
    if (kind == SUMMARY_MUST_WRITE && !array_inexact(m, a, ACCESS_WRITE))
        kind = SUMMARY_MAY_WRITE; /* what may happen does */
    if (kind == SUMMARY_MUST_CONSUME && !array_inexact(m, a, ACCESS_CONSUME))
        kind = SUMMARY_MAY_CONSUME;
    if (!memo[kind].done) {
        memo[kind].set = compute(m, r, a, kind);
        memo[kind].done = true;
    }
    return memo[kind].set;
}

/* ---- conflicts ---- */

typedef struct search {
    model *m;
    const kernel_array *array;
    int first, second;
    conflict_scope in;
    conflict *out;
} search;

enum { MOST_TOLD = 128 };

/* Statement by statement, in the order of the program. */
static bool in_order(const search *q) {
    return q->in != CONFLICT_TASKS;
}

static bool inside(const search *q, const region *r, int kind) {
    return r->touches[q->array->id] & uses[kind];
}

/* The dimensions in which two accesses agree for sure, at a place of so many. */
static int agreed(const search *q, int depth) {
    return q->in == CONFLICT_ACROSS_THREADS && q->m->thread_dims ? q->m->task_dims : depth;
}

/* What the region does, by whichever thread. */
static int_set *touched(const search *q, region *r, int kind) {
    model *m = q->m;
    int_set *x = summary_of(m, r, q->array, kind);
    sets_question(m->sets);
    if (q->in != CONFLICT_ACROSS_THREADS || !m->thread_dims)
        return x;
    x = sets_insert(m->sets, sets_project(m->sets, x, m->task_dims, m->thread_dims), m->task_dims, m->thread_dims);
    for (int d = 0; d < m->thread_dims; d++)
        x = sets_fix(m->sets, x, m->task_dims + d, 0);
    return x;
}

/* The places inside r that count; more than MOST_TOLD: none is looked at. */
static int told_inside(const search *q, const region *r, int kind, place **inside) {
    model *m = q->m;
    int count = 0;
    for (int i = 0; i < m->places.count; i++) {
        place *p = m->places.at[i];
        const region *at = p->region;
        if (!counts(p, q->array, kind))
            continue;
        while (at && at != r)
            at = at->parent;
        if (at && count == MOST_TOLD)
            return 0;
        if (at)
            inside[count++] = p;
    }
    return count;
}

/* The two trips' values can be read off the cells. */
static bool trips_tell(const search *q, const region *r) {
    place *inside[2 * MOST_TOLD];
    if (!r->scope->var)
        return false;
    int first = told_inside(q, r, q->first, inside),
        second = q->first == q->second ? 0 : told_inside(q, r, q->second, inside + first);
    return first && (second || q->first == q->second) &&
           digits_tell(q->m, inside, first + second, r->scope->var, agreed(q, r->depth));
}

static bool children_apart(const search *q, const region *r, const region *earlier, const region *later) {
    place *one[MOST_TOLD], *two[MOST_TOLD];
    int first = told_inside(q, earlier, q->first, one), second = told_inside(q, later, q->second, two);
    bool apart = first && second && agreed(q, r->depth) == r->depth;
    for (int i = 0; apart && i < first * second; i++)
        apart = reach_apart(q->m, one[i / second], two[i % second]);
    if (apart)
        return true;
    return first && second && lines_apart(q->m, one, first, two, second, agreed(q, r->depth));
}

static tri meet(search *q, region *r, int_set *set, int first, int second, bool later) {
    tri empty = sets_is_empty(q->m->sets, set);
    if (empty == TRI_NO)
        *q->out = (conflict){set, r, first, second, later, q->in};
    return empty == TRI_NO ? TRI_YES : empty == TRI_YES ? TRI_NO : TRI_UNKNOWN;
}

static tri among_children(search *q, region *r) {
    sets *z = q->m->sets;
    tri result = TRI_NO;
    for (int i = 0; i < r->children.count; i++) {
        region *child = r->children.at[i];
        if (!inside(q, child, q->second))
            continue;
        for (int j = 0; j < i; j++) {
            region *earlier = r->children.at[j];
            if (!inside(q, earlier, q->first) || children_apart(q, r, earlier, child))
                continue;
            sets_question(z);
            int_set *before = touched(q, earlier, q->first), *now = touched(q, child, q->second);
            tri t = meet(q, r, sets_intersect(z, before, now), j, i, false);
            if (t == TRI_YES)
                return t;
            result = t == TRI_UNKNOWN ? t : result;
        }
    }
    return result;
}

static tri among_places(search *q, region *r) {
    if (q->first != q->second)
        return TRI_NO; /* a statement reads before it writes */
    sets *z = q->m->sets;
    unsigned use = uses[q->first];
    for (int i = 0; i < r->places.count; i++)
        for (int j = 0; j < i; j++) {
            place *a = r->places.at[j], *b = r->places.at[i];
            if (a->array != q->array || b->array != q->array || a->use != use || b->use != use)
                continue;
            sets_question(z);
            tri t = meet(q, r, sets_intersect(z, cells_of(q->m, a), cells_of(q->m, b)), j, i, false);
            if (t != TRI_NO)
                return t;
        }
    return TRI_NO;
}

static tri among_trips(search *q, region *r) {
    sets *z = q->m->sets;
    if (trips_tell(q, r))
        return TRI_NO;
    region *body = r->children.at[0];
    int d = r->depth;
    tri result = TRI_NO;
    sets_question(z);
    for (int swapped = 0; swapped < (r->tasks && q->first != q->second ? 2 : 1); swapped++) {
        int_set *a = touched(q, body, swapped ? q->second : q->first);
        int_set *b = touched(q, body, swapped ? q->first : q->second);
        a = sets_insert(z, a, d + 1, 1); /* [.., x, x', cell] */
        b = sets_insert(z, b, d, 1);
        tri t = meet(q, r, sets_less(z, sets_intersect(z, a, b), d, d + 1), 0, 0, swapped);
        if (t == TRI_YES)
            return t;
        result = t == TRI_UNKNOWN ? t : result;
    }
    return result;
}

static tri find(search *q, region *r) {
    if (!inside(q, r, q->first) || !inside(q, r, q->second))
        return TRI_NO;
    tri result = TRI_NO;
    bool descend = in_order(q) || r->tasks;
    for (int i = 0; descend && i < r->children.count; i++) {
        tri t = find(q, r->children.at[i]);
        if (t == TRI_YES)
            return t;
        result = t == TRI_UNKNOWN ? t : result;
    }
    tri own = TRI_NO;
    if (r->kind == REGION_LOOP && r->tasks == (q->in == CONFLICT_TASKS) && !(r->threads && q->in == CONFLICT_ACROSS_THREADS))
        own = among_trips(q, r);
    else if (in_order(q) && r->kind == REGION_SEQUENCE)
        own = among_children(q, r);
    else if (in_order(q) && r->kind == REGION_STEP)
        own = among_places(q, r);
    return own == TRI_NO ? result : own;
}

tri conflict_find(model *m, const kernel_array *a, int first, int second, conflict_scope in, conflict *out) {
    bool plain = first == SUMMARY_PLAIN_READ || first == SUMMARY_PLAIN_WRITE || second == SUMMARY_PLAIN_READ ||
                 second == SUMMARY_PLAIN_WRITE;
    if (plain ? plainly_scattered_dims(m, a) : scattered_dims(m, a)) { /* both in terms of sources, or neither */
        first = first == SUMMARY_MAY_WRITE ? SUMMARY_SOURCE_WRITE : first;
        second = second == SUMMARY_MAY_WRITE ? SUMMARY_SOURCE_WRITE : second == SUMMARY_MAY_READ ? SUMMARY_SOURCE_READ : second;
    }
    search q = {m, a, first, second, in, out};
    return find(&q, m->root);
}

static const char *first_inexact(model *m, const kernel_array *a, unsigned uses_asked, bool strict) {
    for (int i = 0; i < m->places.count; i++) {
        place *p = m->places.at[i];
        bool asked = p->array == a && (p->use & uses_asked);
        const char *why = asked ? place_imprecise(m, p, false) : NULL;
        if (asked && !why && strict && p->scope->precision != PRECISE)
            why = p->scope->why;
        if (why)
            return why;
    }
    return NULL;
}

const char *array_inexact(model *m, const kernel_array *a, unsigned uses_asked) {
    inexactness *known = &m->inexact[a->id];
    if (known->uses != uses_asked)
        *known = (inexactness){uses_asked, first_inexact(m, a, uses_asked, true)};
    return known->why;
}

const char *array_unsure(model *m, const kernel_array *a, unsigned uses_asked) {
    return first_inexact(m, a, uses_asked, false);
}
