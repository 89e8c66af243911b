/* One dimension of the cells alone: where two statements touch different stretches of it, they touch no cell in common. Only the loops inside and
 * the conditions that bear on that dimension count, so the sets are small and larger than what happens. */
#include "prove/model.h"

enum { MOST_SCOPES = 64 };

/* Whether the condition uses a variable of these loops. */
static bool bears_on(model *m, const cond *c, scope *const *loops, int count) {
    for (int i = 0; i < count; i++)
        if (condition_depends_on(m, c, loops[i]->var))
            return true;
    return false;
}

static int_set *with(model *m, int_set *x, int_set *by, int dims) {
    return by ? sets_intersect(m->sets, x, sets_insert(m->sets, by, sets_dims(by), dims - sets_dims(by))) : x;
}

/* The indices of dimension d that the place may touch, over [`depth` dimensions, index]. NULL: not known. */
static int_set *line_of(model *m, const place *p, int d, int depth) {
    scope *used[MOST_SCOPES];
    int count = 0, dims = p->scope->depth, all = dims + 1;
    int_set *x = sets_universe(m->sets, all), *root = domain_of(m, m->scopes.at[0]);
    for (scope *s = p->scope; s && s->depth > depth; s = s->parent) { /* from the inside out: bounds mention loops around */
        bool wanted = s->var && s->kind == SCOPE_LOOP && depends_on(m, p->indices[d], s->var);
        for (int i = 0; i < count && !wanted && s->var; i++)
            wanted =
                s->kind == SCOPE_LOOP && (depends_on(m, used[i]->stmt->lo, s->var) || depends_on(m, used[i]->stmt->hi, s->var));
        if (wanted && count < MOST_SCOPES) {
            used[count++] = s;
            x = with(m, x, loop_trips(m, s), all);
        }
    }
    for (const scope *s = p->scope; s && s->depth >= depth && s->parent; s = s->parent)
        if (s->kind == SCOPE_GUARD && bears_on(m, s->guard, used, count))
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
