/* What barriers of the whole block separate, read off the program's structure, without a set: two accesses whose loops have the same values, or of
 * which one is a trip ahead in some loop, have a barrier between them if one stands between them in the text and is surely passed, and are not
 * both made if they stand in two branches of a condition that is one for all threads. What remains open is asked of sets. */
#include "prove/model.h"

enum { MOST_PATH = 256, MOST_NESTING = 200 };

/* A barrier that all threads which touch one copy of the memory take part in. */
static bool is_barrier(const model *m, const kernel_stmt *s, memory_space space) {
    int copies = space == SPACE_SHARED ? m->instance_dims[LEVEL_BLOCK] : 0;
    return s->kind == KSTMT_BARRIER && !s->participants && (s->spaces & 1u << space) && m->instance_dims[s->scope] <= copies;
}

/* Whoever runs the region passes such a barrier. */
static bool passes(const model *m, const region *r, memory_space space, int nesting) {
    if (!r->syncs || nesting > MOST_NESTING)
        return false;
    if (r->kind == REGION_STEP)
        return is_barrier(m, r->stmt, space);
    if (r->kind != REGION_SEQUENCE && r->kind != REGION_VALUE)
        return false;
    for (int i = 0; i < r->children.count; i++)
        if (passes(m, r->children.at[i], space, nesting + 1))
            return true;
    return false;
}

static bool passed_among(const model *m, const region *sequence, int first, int last, memory_space space) {
    for (int i = first; i <= last; i++)
        if (passes(m, sequence->children.at[i], space, 0))
            return true;
    return false;
}

/* On the way from the stretch out to the region `outer`. */
static bool passed_after(const model *m, const stretch *s, const region *outer, memory_space space) {
    int at = s->last;
    for (const region *r = s->sequence; r != outer; at = r->index, r = r->parent)
        if (r->kind == REGION_SEQUENCE && passed_among(m, r, at + 1, r->children.count - 1, space))
            return true;
    return false;
}

/* On the way from the beginning of `outer` to the stretch. */
static bool passed_before(const model *m, const stretch *s, const region *outer, memory_space space) {
    int at = s->first;
    for (const region *r = s->sequence; r != outer; at = r->index, r = r->parent)
        if (r->kind == REGION_SEQUENCE && passed_among(m, r, 0, at - 1, space))
            return true;
    return false;
}

static int path_of(const region *r, const region **path) {
    int n = 0;
    for (const region *x = r; x; x = x->parent)
        n++;
    if (n > MOST_PATH)
        return 0;
    int i = n;
    for (const region *x = r; x; x = x->parent)
        path[--i] = x;
    return n;
}

static bool is_common_variable(const void *context, const index_var *v) {
    const model *m = context;
    const scope *s = m->scope_of[v->id];
    return s && (s->kind == SCOPE_LOOP || (s->kind == SCOPE_ID && s->depth <= m->task_dims));
}

/* Whether x is the same in all threads of a block, where the loops around have the same values. */
static bool is_common(const model *m, const index_expr *x) {
    return model_every_variable(m, x, is_common_variable, m);
}

static bool is_common_condition(const model *m, const cond *c, int nesting) {
    if (nesting > MOST_NESTING)
        return false;
    return (!c->x || is_common(m, c->x)) && (!c->y || is_common(m, c->y)) &&
           (!c->a || is_common_condition(m, c->a, nesting + 1)) && (!c->b || is_common_condition(m, c->b, nesting + 1));
}

/* The loops around both have the same values: whether a barrier stands between, whichever of the two is first. */
static bool same_trips(const model *m, const stretch *a, const stretch *b, const region *common, const region *below_a,
                       const region *below_b, memory_space space) {
    if (common->kind == REGION_CHOICE && below_a && below_b && below_a != below_b) /* all threads take one branch, never two */
        return below_a->scope->kind == SCOPE_GUARD && is_common_condition(m, below_a->scope->guard, 0);
    if (common->kind != REGION_SEQUENCE)
        return false;
    int first_a = below_a ? below_a->index : a->first, last_a = below_a ? below_a->index : a->last,
        first_b = below_b ? below_b->index : b->first, last_b = below_b ? below_b->index : b->last;
    if (last_a < first_b)
        return passed_among(m, common, last_a + 1, first_b - 1, space) || (below_a && passed_after(m, a, common, space)) ||
               (below_b && passed_before(m, b, common, space));
    if (last_b < first_a)
        return passed_among(m, common, last_b + 1, first_a - 1, space) || (below_b && passed_after(m, b, common, space)) ||
               (below_a && passed_before(m, a, common, space));
    return false;
}

int separated(const model *m, const stretch *a, const stretch *b, memory_space space, open_case *open) {
    const region *path_a[MOST_PATH], *path_b[MOST_PATH];
    int na = path_of(a->sequence, path_a), nb = path_of(b->sequence, path_b), common = 0, count = 0;
    while (common < na && common < nb && path_a[common] == path_b[common])
        common++;
    if (!common || m->persistent || m->breaks.count)
        return -1;
    for (int i = 0; i < common; i++) {
        const region *r = path_a[i];
        if (r->kind != REGION_LOOP || r->tasks || r->threads)
            continue;
        bool forth = passed_after(m, a, r, space) || passed_before(m, b, r, space),
             back = passed_after(m, b, r, space) || passed_before(m, a, r, space);
        if (count + 2 >= MOST_OPEN_CASES)
            return -1;
        if (!forth)
            open[count++] = (open_case){r->depth, 1};
        if (!back)
            open[count++] = (open_case){r->depth, -1};
    }
    if (!same_trips(m, a, b, path_a[common - 1], common < na ? path_a[common] : NULL, common < nb ? path_b[common] : NULL, space))
        open[count++] = (open_case){-1, 0};
    return count;
}

/* [pair..]: the loops around both outside dimension `depth` have the same values. */
static int_set *same_outside(model *m, const pair_space *s, const region *r, int depth, int_set *x) {
    int ids = m->task_dims + m->thread_dims;
    for (; r; r = r->parent)
        if (r->kind == REGION_LOOP && !r->tasks && !r->threads && (depth < 0 || r->depth < depth))
            x = pair_equal(m, s, x, s->rest_a + r->depth - ids, s->rest_b + r->depth - ids);
    return x;
}

int_set *separated_case(model *m, const pair_space *s, const stretch *a, const stretch *b, const open_case *o, int_set *x) {
    const region *path_a[MOST_PATH], *path_b[MOST_PATH], *common = NULL;
    int na = path_of(a->sequence, path_a), nb = path_of(b->sequence, path_b), ids = m->task_dims + m->thread_dims;
    for (int i = 0; i < na && i < nb && path_a[i] == path_b[i]; i++)
        common = path_a[i];
    x = same_outside(m, s, common, o->depth, x);
    if (o->depth < 0)
        return x;
    int at_a = s->rest_a + o->depth - ids, at_b = s->rest_b + o->depth - ids;
    return o->direction > 0 ? sets_less(m->sets, x, at_a, at_b) : sets_less(m->sets, x, at_b, at_a);
}
