/* One dimension of the cells alone: where two statements touch different stretches of it, they touch no cell in common. Only the loops inside and
 * the conditions that bear on that dimension count, so the sets are small and larger than what happens. */
#include "prove/model.h"

enum { MOST_NESTING = 64, MOST_SCOPES = 64 };

/* Whether x mentions a variable of these scopes. */
static bool mentions(model *m, const index_expr *x, const scope *const *of, int count, int nesting) {
    if (!x || x->op == IX_CONST || nesting > MOST_NESTING)
        return false;
    if (x->op != IX_VAR)
        return mentions(m, x->a, of, count, nesting + 1) || mentions(m, x->b, of, count, nesting + 1);
    for (int i = 0; i < count; i++)
        if (of[i]->var == x->var)
            return true;
    return model_knows(m, x->var) && m->definition[x->var->id] && mentions(m, m->definition[x->var->id], of, count, nesting + 1);
}

static bool condition_mentions(model *m, const cond *c, const scope *const *of, int count, int nesting) {
    if (!c || nesting > MOST_NESTING)
        return false;
    return mentions(m, c->x, of, count, 0) || mentions(m, c->y, of, count, 0) ||
           condition_mentions(m, c->a, of, count, nesting + 1) || condition_mentions(m, c->b, of, count, nesting + 1);
}

static int_set *with(model *m, int_set *x, int_set *by, int dims) {
    return by ? sets_intersect(m->sets, x, sets_insert(m->sets, by, sets_dims(by), dims - sets_dims(by))) : x;
}

/* The indices of dimension d that the place may touch, over [`depth` dimensions, index]. NULL: not known. */
static int_set *line_of(model *m, const place *p, int d, int depth) {
    const scope *used[MOST_SCOPES];
    int count = 0, dims = p->scope->depth, all = dims + 1;
    int_set *x = sets_universe(m->sets, all), *root = domain_of(m, m->scopes.at[0]);
    for (const scope *s = p->scope; s && s->depth > depth; s = s->parent) { /* from the inside out: bounds mention loops around */
        bool wanted = s->var && s->kind == SCOPE_LOOP && mentions(m, p->indices[d], &s, 1, 0);
        for (int i = 0; i < count && !wanted && s->var; i++)
            wanted =
                s->kind == SCOPE_LOOP && (mentions(m, used[i]->stmt->lo, &s, 1, 0) || mentions(m, used[i]->stmt->hi, &s, 1, 0));
        if (wanted && count < MOST_SCOPES) {
            used[count++] = s;
            x = with(m, x, loop_trips(m, s), all);
        }
    }
    for (const scope *s = p->scope; s && s->depth >= depth && s->parent; s = s->parent)
        if (s->kind == SCOPE_GUARD && condition_mentions(m, s->guard, used, count, 0))
            x = with(m, x, affine_condition(m, s->depth, s->guard, s->negated), all);
    affine *start = affine_of(m, all, p->indices[d]);
    affine *gap = start ? affine_subtract(m, affine_dim(m, all, dims), start) : NULL;
    int_set *own = NULL;
    if (p->extents || (p->lanes > 1 && p->vector_dim == d)) {
        affine *extent = p->extents ? affine_of(m, all, p->extents[d]) : affine_constant(m, all, p->lanes);
        affine *last = affine_add(m, affine_subtract(m, extent, gap), affine_constant(m, all, -1));
        own = sets_intersect(m->sets, affine_nonnegative(m, gap), affine_nonnegative(m, last));
    } else {
        own = affine_zero(m, gap);
    }
    x = sets_intersect(m->sets, x, own);
    x = sets_intersect(m->sets, x, sets_insert(m->sets, root, 0, all));
    return sets_project(m->sets, x, depth, dims - depth);
}

static int_set *line_of_all(model *m, place *const *places, int count, int d, int depth) {
    int_set *all = sets_empty(m->sets, depth + 1);
    for (int i = 0; i < count; i++)
        all = sets_union(m->sets, all, line_of(m, places[i], d, depth));
    return all;
}

bool lines_apart(model *m, place *const *x, int count_x, place *const *y, int count_y, int depth) {
    const char *why = m->why;
    bool apart = false;
    for (int d = 0; count_x && count_y && d < x[0]->array->rank && !apart; d++) {
        sets_question(m->sets);
        int_set *one = line_of_all(m, x, count_x, d, depth), *two = line_of_all(m, y, count_y, d, depth);
        apart = sets_is_empty(m->sets, sets_intersect(m->sets, one, two)) == TRI_YES;
    }
    m->why = why;
    return apart;
}
