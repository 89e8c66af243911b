/* Tiles that are copied ahead, in a ring of slots. That a copy and a read of one slot are ordered, by the wait that covers the copy and the barriers before and
 * after, has nothing to do with which threads they are of and which cells of the slot they touch. So the question is put to the statements around them,
 * which nothing inside orders: whatever these do in one slot is ordered, one way or the other. It has no loop over a tile in it, and what orders the
 * statements is found once for all arrays copied and read there. */
#include "prove/model.h"

enum { MOST_NESTING = 200 };

static bool holds_ordering(const model *m, const region *r) {
    for (int i = 0; i < m->meetings.count; i++)
        for (const region *at = m->meetings.at[i].region; at; at = at->parent)
            if (at == r)
                return true;
    return false;
}

/* The outermost statement around the place in which nothing orders. */
static position around(const model *m, const place *p) {
    region *r = p->region;
    for (region *outer = r->parent; outer && !outer->tasks && !outer->threads && !outer->trips && !holds_ordering(m, outer);
         outer = outer->parent)
        if (outer->parent && outer->parent->kind == REGION_SEQUENCE)
            r = outer;
    return (position){r->parent->scope, r, r->index};
}

typedef struct inside_of {
    const model *m;
    const position *at;
} inside_of;

static bool is_outside(const void *context, const index_var *v) {
    const inside_of *i = context;
    return i->m->position[v->id] >= 0 && i->m->position[v->id] < i->at->scope->depth;
}

/* Whether x is the same wherever inside the position it is computed. */
static bool same_inside(const model *m, const index_expr *x, const position *at) {
    return model_every_variable(m, x, is_outside, &(inside_of){m, at});
}

static bool condition_same_inside(const model *m, const cond *c, const position *at, int nesting) {
    return nesting < MOST_NESTING && (!c->x || same_inside(m, c->x, at)) && (!c->y || same_inside(m, c->y, at)) &&
           (!c->a || condition_same_inside(m, c->a, at, nesting + 1)) &&
           (!c->b || condition_same_inside(m, c->b, at, nesting + 1));
}

static bool uses_loop(model *m, const index_expr *x, const scope *at) {
    for (; at; at = at->parent)
        if (at->kind == SCOPE_LOOP && depends_on(m, x, at->var))
            return true;
    return false;
}

/* The dimensions that tell slots apart: loops around the statements choose the index, and nothing inside does. */
static int slot_dimensions(model *m, const place *a, const position *pa, const place *b, const position *pb, bool *kept) {
    int count = 0;
    for (int d = 0; d < a->array->rank; d++) {
        kept[d] = (!a->extents || ix_is_const(a->extents[d], NULL)) && (!b->extents || ix_is_const(b->extents[d], NULL)) &&
                  same_inside(m, a->indices[d], pa) && same_inside(m, b->indices[d], pb) &&
                  (uses_loop(m, a->indices[d], pa->scope) || uses_loop(m, b->indices[d], pb->scope));
        count += kept[d];
    }
    return count;
}

/* The slots that the place may touch, by whichever thread: over [the position's dimensions, the `kept` ones of the cell]. */
static int_set *slots_of(model *m, const place *p, const position *at, const bool *kept, int count) {
    sets *z = m->sets;
    int depth = at->scope->depth, dims = depth + count;
    int_set *x = domain_of(m, at->scope);
    for (const scope *s = p->scope; s && s != at->scope; s = s->parent) {
        int_set *holds = s->kind == SCOPE_GUARD && condition_same_inside(m, s->guard, at, 0)
                             ? affine_condition(m, depth, s->guard, s->negated)
                             : NULL;
        x = holds ? sets_intersect(z, x, holds) : x;
    }
    x = sets_insert(z, x, depth, count);
    for (int d = 0, i = depth; d < p->array->rank; d++) {
        if (!kept[d])
            continue;
        int64_t cells = p->lanes > 1 && p->vector_dim == d ? p->lanes : 1;
        if (p->extents)
            ix_is_const(p->extents[d], &cells);
        affine *first = affine_of(m, dims, p->indices[d]);
        if (!first)
            return NULL;
        affine *within = affine_subtract(m, affine_dim(m, dims, i++), first);
        x = sets_intersect(z, x, affine_nonnegative(m, within));
        x = sets_intersect(z, x, affine_nonnegative(m, affine_subtract(m, affine_constant(m, dims, cells - 1), within)));
    }
    return x;
}

/* Of one thread, in different trips of the loops around. */
static int_set *other_trips(model *m, const pair_space *s, int_set *x) {
    x = pair_same_thread(m, s, x, m->thread_dims);
    int_set *once = x;
    for (int i = 0; s->rest_a + i < s->rest_b; i++)
        once = pair_equal(m, s, once, s->rest_a + i, s->rest_b + i);
    return sets_subtract(m->sets, x, once);
}

static bool is_ordered(model *m, place *a, place *b, memory_space space, bool told) {
    sets *z = m->sets;
    position pa = around(m, a), pb = around(m, b);
    bool self = a == b && told && loops_told(m, a, pa.scope);
    if (m->persistent || (pa.region == pb.region && !self))
        return false;
    bool *kept = NEW_ARRAY(m->arena, bool, a->array->rank + 1);
    int slots = slot_dimensions(m, a, &pa, b, &pb, kept);
    sets_question(z);
    pair_space s = pair_of(m, pa, pb), back = pair_of(m, pb, pa);
    int_set *both = pair_first(m, &s, slots_of(m, a, &pa, kept, slots), slots);
    both = sets_intersect(z, both, pair_second(m, &s, slots_of(m, b, &pb, kept, slots), slots));
    both = pair_same_block(m, &s, both);
    both = self ? other_trips(m, &s, both) : both;
    both = sets_project(z, both, s.dims, slots);
    int_set *bad = sets_subtract(z, both, flight_before(m, &s, a, space));
    if (sets_is_empty(z, bad) == TRI_YES)
        return true;
    int_set *other = sets_remap(z, flight_before(m, &back, b, space), s.dims, pair_back(m, &s, &back));
    sets_question(z);
    return sets_is_empty(z, sets_subtract(z, bad, other)) == TRI_YES;
}

bool ordered_around(model *m, place *a, place *b, memory_space space, bool told) {
    const char *why = m->why, *flight_why = m->flight_why;
    if (!kernel_is_of_block(a->stmt) && !kernel_is_of_block(b->stmt) && is_ordered(m, a, b, space, told))
        return true;
    m->why = why; /* the accesses themselves are asked about next */
    m->flight_why = flight_why;
    return false;
}
