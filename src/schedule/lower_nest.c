/* Lowering: loop nests. Every loop's bounds take the predicates into account, so that elements that do not exist are never visited. */
#include "schedule/lanes_fragment.h"
#include <limits.h>
#include <string.h>

/* ---- bounds ---- */

static bool others_open(const point *p, const atom *a, const tile_range *r) {
    const tile_kernel *k = p->l->k;
    for (int i = 0; i < k->ranges.count; i++) {
        const tile_range *q = k->ranges.at[i];
        bool mentions = a->x ? ix_mentions(a->x, q->var) : cond_mentions(a->guard, q->var);
        if (mentions && q != r && !range_open(p, q))
            return false;
    }
    return true;
}

void loop_bounds(point *p, const tile_range *r, bool steps, index_expr **lo, index_expr **hi, cond **guard) {
    lower *l = p->l;
    arena *a = l->arena;
    const range_place *place = &l->place[r->id];
    *lo = ix_const(a, 0);
    *hi = place->count;
    *guard = NULL;
    bool refined = false;
    for (int i = 0; i < l->atoms.count; i++) {
        const atom *t = &l->atoms.at[i];
        bool mentions = t->x ? ix_mentions(t->x, r->var) : cond_mentions(t->guard, r->var);
        if (!mentions || !others_open(p, t, r))
            continue;
        int64_t coefficient;
        index_expr *rest;
        if (!t->x || !ix_coefficient(a, t->x, r->var, &coefficient, &rest) || coefficient == 0) {
            /* Judged inside the loop, where r is open. */
            *guard = cond_and(a, *guard, t->x ? cond_compare(a, COND_LE, t->x, ix_const(a, 0)) : t->guard);
            continue;
        }
        if (!refined && place->limit)
            *hi = place->limit; /* what the predicate says exactly is said here */
        refined = true;
        rest = emit_index(p, rest);
        if (coefficient > 0) { /* c*v + rest <= 0: v <= floor(-rest / c) */
            index_expr *most = ix_floordiv(a, ix_sub(a, ix_const(a, 0), rest), ix_const(a, coefficient));
            *hi = ix_min(a, *hi, ix_add(a, ix_sub(a, most, place->start), ix_const(a, 1)));
        } else { /* v >= ceil(rest / -c) */
            index_expr *least = ix_ceildiv(a, rest, ix_const(a, -coefficient));
            *lo = ix_max(a, *lo, ix_sub(a, least, place->start));
        }
    }
    if (refined) {
        *lo = name_index(l, p->block, arena_printf(a, "%s_first", r->name), *lo);
        *hi = name_index(l, p->block, arena_printf(a, "%s_end", r->name), steps ? ix_max(a, *lo, *hi) : *hi);
    }
}

static void guarded(point *p, cond *guard, nest_body body, void *context, source_span span) {
    if (!guard) {
        body(p, context);
        return;
    }
    cond *c = emit_cond(p, guard);
    kernel_stmt *s = kernel_append(p->l->ir, p->block, KSTMT_IF, span);
    s->condition = c;
    point inner = point_copy(p);
    inner.block = &s->body;
    body(&inner, context);
}

void open_loop(point *p, tile_range *r, nest_body body, void *context, source_span span) {
    lower *l = p->l;
    if (range_open(p, r)) {
        body(p, context);
        return;
    }
    index_expr *lo, *hi;
    cond *guard;
    loop_bounds(p, r, false, &lo, &hi, &guard);
    kernel_stmt *s = kernel_for(l->ir, p->block, lower_name(l, r->name), lo, hi, 1, span);
    point inner = point_copy(p);
    inner.block = &s->body;
    inner.position[r->id] = ix_var(l->arena, s->var);
    guarded(&inner, guard, body, context, span);
}

/* Whether lo..hi is known to hold a whole number of `step`s, or none. */
static bool known_span(index_expr *lo, index_expr *hi, int64_t *span) {
    int64_t x, y;
    if (!ix_is_const(lo, &x) || !ix_is_const(hi, &y))
        return false;
    *span = y > x ? y - x : 0;
    return true;
}

/* lo + step * floor((hi - lo) / step): where whole steps end. */
static index_expr *steps_end(arena *a, index_expr *lo, index_expr *hi, int64_t step) {
    return ix_add(a, lo, ix_mul(a, ix_const(a, step), ix_floordiv(a, ix_sub(a, hi, lo), ix_const(a, step))));
}

void open_blocked(point *p, tile_range *r, int block, block_body body, void *context, source_span span) {
    lower *l = p->l;
    arena *a = l->arena;
    index_expr *lo, *hi;
    cond *guard;
    loop_bounds(p, r, true, &lo, &hi, &guard);
    int64_t constant = -1;
    bool known = known_span(lo, hi, &constant);
    if (!ix_is_const(lo, NULL))
        block = 1;
    if (block > 1 && !(known && constant < block)) {
        kernel_stmt *s =
            kernel_for(l->ir, p->block, lower_name(l, r->name), lo, ix_sub(a, hi, ix_const(a, block - 1)), block, span);
        point inner = point_copy(p);
        inner.block = &s->body;
        body(&inner, ix_var(a, s->var), block, context);
    }
    if (block > 1 && known && constant % block == 0)
        return;
    /* What is left over goes in blocks whose size divides the one before: they end where they would if there were no others. */
    for (int next; l->machine->options.halved_edges && block > 2 && block % 2 == 0; block = next) {
        next = block % 4 ? 2 : block / 2;
        index_expr *from = name_index(l, p->block, arena_printf(a, "%s_edge", r->name), steps_end(a, lo, hi, block));
        kernel_stmt *s =
            kernel_for(l->ir, p->block, lower_name(l, r->name), from, ix_sub(a, hi, ix_const(a, next - 1)), next, span);
        point inner = point_copy(p);
        inner.block = &s->body;
        body(&inner, ix_var(a, s->var), next, context);
    }
    index_expr *from = block > 1 ? name_index(l, p->block, arena_printf(a, "%s_edge", r->name), steps_end(a, lo, hi, block)) : lo;
    kernel_stmt *s = kernel_for(l->ir, p->block, lower_name(l, r->name), from, hi, 1, span);
    point inner = point_copy(p);
    inner.block = &s->body;
    body(&inner, ix_var(a, s->var), 1, context);
}

/* Whether a range's bounds change from element to element of other ranges. */
static bool bounds_move(lower *l, const tile_range *r, const index_expr *lo, const index_expr *hi) {
    return !ix_is_const(lo, NULL) || !(ix_is_const(hi, NULL) || ix_equal(hi, l->place[r->id].count));
}

void open_vectors(point *p, tile_range *r, index_expr *lo, index_expr *hi, int vectors, bool whole_edge, vector_body body,
                  void *context, source_span span) {
    lower *l = p->l;
    arena *a = l->arena;
    int64_t lanes = l->machine->vector_lanes, step = lanes * vectors, constant = -1;
    bool known = known_span(lo, hi, &constant);
    /* Bounds that move from element to element: every vector goes behind its mask. Where whole vectors end would be a floor over several cases. */
    bool moving = bounds_move(l, r, lo, hi);
    int64_t capacity = l->place[r->id].capacity; /* a tile that never holds a whole step needs the edge alone */
    bool never_whole = moving || (known && constant < step) || (capacity >= 0 && capacity < step);
    if (!never_whole) {
        kernel_stmt *s =
            kernel_for(l->ir, p->block, lower_name(l, r->name), lo, ix_sub(a, hi, ix_const(a, step - 1)), step, span);
        point inner = point_copy(p);
        inner.block = &s->body;
        inner.vector = r;
        inner.lanes = (int)lanes;
        inner.active = NULL;
        body(&inner, ix_var(a, s->var), vectors, NULL, context);
    }
    if (known && constant % step == 0)
        return;
    index_expr *from =
        never_whole ? lo : name_index(l, p->block, arena_printf(a, "%s_edge", r->name), steps_end(a, lo, hi, step));
    if (l->machine->options.halved_edges && vectors > 2 && vectors % 2 == 0 && !whole_edge && !never_whole) {
        kernel_stmt *pairs =
            kernel_for(l->ir, p->block, lower_name(l, r->name), from, ix_sub(a, hi, ix_const(a, 2 * lanes - 1)), 2 * lanes, span);
        point two = point_copy(p);
        two.block = &pairs->body;
        two.vector = r;
        two.lanes = (int)lanes;
        two.active = NULL;
        body(&two, ix_var(a, pairs->var), 2, NULL, context);
        from = name_index(l, p->block, arena_printf(a, "%s_edge", r->name), steps_end(a, lo, hi, 2 * lanes));
    }
    int edge = whole_edge ? vectors : 1;
    kernel_stmt *s = kernel_for(l->ir, p->block, lower_name(l, r->name), from, hi, lanes * edge, span);
    point inner = point_copy(p);
    inner.block = &s->body;
    inner.vector = r;
    inner.lanes = (int)lanes;
    inner.active = ix_sub(a, hi, ix_var(a, s->var));
    body(&inner, ix_var(a, s->var), edge, hi, context);
}

/* ---- where results go ---- */

void emit_store(point *p, const sink *s, kernel_value *v) {
    lower *l = p->l;
    kernel_access access =
        s->array ? emit_global_access(p, s->array, s->indices) : emit_private_access(p, s->private_array, s->axes, s->axis_count);
    if (v->type != access.array->element)
        v = kernel_op1(l->ir, KERNEL_CONVERT, access.array->element, v);
    if (s->call) {
        lower_store_call(p, s->call, access, v, s->call->span);
        return;
    }
    kernel_stmt *store = kernel_append(l->ir, p->block, KSTMT_STORE, s->array ? s->array->span : s->private_array->span);
    store->access = access;
    store->value = kernel_broadcast(l->ir, v, access.lanes);
}

/* ---- elementwise roots ---- */

typedef struct elementwise {
    tile_range **axes;
    int axis_count, depth;
    tile_range *vector;
    tile_value *value;
    const sink *s;
    source_span span;
} elementwise;

static void elementwise_level(point *p, void *context);

static void elementwise_vector(point *p, index_expr *base, int vectors, index_expr *end, void *context) {
    (void)vectors;
    (void)end;
    elementwise *e = context;
    p->position[e->vector->id] = base;
    emit_store(p, e->s, emit_value(p, e->value));
}

/* The condition under which every load with an outside value is inside along r, and every clamped index the side that moves, for lanes
 * base .. base + lanes - 1; NULL when there are none. */
static cond *inside_along(point *p, tile_value *v, tile_range *r, index_expr *base, unsigned char *seen) {
    lower *l = p->l;
    arena *a = l->arena;
    if (seen[v->id]++ || l->held[v->id] || l->held_scalar[v->id])
        return NULL;
    cond *all = NULL;
    if (v->op == TILE_PARAM && v->side == 1)
        all = inside_along(p, l->join_right[v->field], r, base, seen);
    for (int i = 0; i < v->operand_count; i++)
        all = cond_and(a, all, inside_along(p, v->operands[i], r, base, seen));
    for (int d = 0; v->op == TILE_LOAD && d < v->array->rank; d++) {
        int64_t coefficient;
        index_expr *offset, *at = index_unclamped(a, v->indices[d], r->var);
        all = cond_and(a, all, index_clamps_open(p, v->indices[d], r, base, l->machine->vector_lanes));
        if (!v->has_outside || !ix_mentions(at, r->var) || !ix_coefficient(a, at, r->var, &coefficient, &offset))
            continue;
        index_expr *first = ix_add(a, ix_add(a, l->place[r->id].start, base), emit_index(p, offset));
        index_expr *last = ix_add(a, first, ix_const(a, l->machine->vector_lanes - 1));
        all = cond_and(a, all, cond_compare(a, COND_LE, ix_const(a, 0), first));
        all = cond_and(a, all, cond_compare(a, COND_LT, last, lower_expression(l, v->array->dims[d])));
    }
    return all;
}

static void scalar_stretch(point *p, elementwise *e, index_expr *lo, index_expr *hi) {
    lower *l = p->l;
    kernel_stmt *s = kernel_for(l->ir, p->block, lower_name(l, e->vector->name), lo, hi, 1, e->span);
    point inner = point_copy(p);
    inner.block = &s->body;
    inner.position[e->vector->id] = ix_var(l->arena, s->var);
    emit_store(&inner, e->s, emit_value(&inner, e->value));
}

/* Whether some load has an outside value, or an index that is clamped along r. */
static bool has_outside(lower *l, const tile_value *v, const tile_range *r, unsigned char *seen) {
    if (seen[v->id]++ || l->held[v->id] || l->held_scalar[v->id])
        return false;
    bool found = v->has_outside || (v->op == TILE_PARAM && v->side == 1 && has_outside(l, l->join_right[v->field], r, seen));
    for (int d = 0; v->op == TILE_LOAD && d < v->array->rank; d++)
        found = found || index_is_clamped(v->indices[d], r->var);
    for (int i = 0; i < v->operand_count && !found; i++)
        found = has_outside(l, v->operands[i], r, seen);
    return found;
}

static void elementwise_innermost(point *p, elementwise *e) {
    lower *l = p->l;
    arena *a = l->arena;
    tile_range *r = e->vector;
    int64_t lanes = l->machine->vector_lanes;
    index_expr *lo, *hi;
    cond *guard;
    loop_bounds(p, r, false, &lo, &hi, &guard); /* a guarded range is never the vector range */
    if (!has_outside(l, e->value, r, NEW_ARRAY(a, unsigned char, l->value_count))) {
        open_vectors(p, r, lo, hi, 1, false, elementwise_vector, e, e->span);
        return;
    }
    if (bounds_move(l, r, lo, hi)) {
        scalar_stretch(p, e, lo, hi);
        return;
    }
    /* Whole vectors inside their arrays go unguarded; the others, and what is left over, one guarded element at a time. */
    kernel_stmt *s =
        kernel_for(l->ir, p->block, lower_name(l, r->name), lo, ix_sub(a, hi, ix_const(a, lanes - 1)), lanes, e->span);
    point whole = point_copy(p);
    whole.block = &s->body;
    index_expr *base = ix_var(a, s->var);
    kernel_stmt *test = kernel_append(l->ir, whole.block, KSTMT_IF, e->span);
    test->condition = inside_along(&whole, e->value, r, base, NEW_ARRAY(a, unsigned char, l->value_count));
    if (!test->condition) {
        test->condition = NEW(a, cond);
        test->condition->op = COND_TRUE;
    }
    point inside = point_copy(&whole);
    inside.block = &test->body;
    inside.vector = r;
    inside.lanes = (int)lanes;
    inside.unclamped = true;
    elementwise_vector(&inside, base, 1, NULL, e);
    point outside = point_copy(&whole);
    outside.block = &test->otherwise;
    scalar_stretch(&outside, e, base, ix_add(a, base, ix_const(a, lanes)));
    scalar_stretch(p, e, name_index(l, p->block, arena_printf(a, "%s_edge", r->name), steps_end(a, lo, hi, lanes)), hi);
}

static void elementwise_level(point *p, void *context) {
    elementwise e = *(elementwise *)context;
    emit_hoisted(p, e.value);
    while (e.depth < e.axis_count && (e.axes[e.depth] == e.vector || range_open(p, e.axes[e.depth])))
        e.depth++;
    if (e.depth < e.axis_count) {
        tile_range *r = e.axes[e.depth++];
        open_loop(p, r, elementwise_level, &e, e.span);
    } else if (e.vector) {
        elementwise_innermost(p, &e);
    } else {
        emit_store(p, e.s, emit_value(p, e.value));
    }
}

static tile_range *elementwise_vector_range(lower *l, tile_range **axes, int axis_count, tile_value *value, const sink *s) {
    tile_range *best = NULL;
    int best_score = 0;
    for (int i = 0; i < axis_count; i++) {
        tile_range *r = axes[i];
        if (!may_vectorise(l, r))
            continue;
        l->unclamped = true;
        int x = vector_score(l, value, r), y = 0;
        l->unclamped = false;
        if (s->array)
            y = store_score(l, s->indices, s->array->rank, r);
        else
            for (int d = 0; d < s->axis_count; d++)
                if (s->axes[d] == r)
                    y = d == s->axis_count - 1 ? 1 : -2;
        if (x == INT_MIN || y == INT_MIN)
            continue;
        if (x + 2 * y > best_score) {
            best_score = x + 2 * y;
            best = r;
        }
    }
    return best;
}

static void count_references(lower *l, tile_value *v) {
    if (l->references[v->id]++ || l->held[v->id] || l->held_scalar[v->id])
        return;
    if (v->op == TILE_PARAM && v->side == 1)
        count_references(l, l->join_right[v->field]);
    for (int i = 0; i < v->operand_count; i++)
        count_references(l, v->operands[i]);
}

bool has_just_ranges(const tile_value *v, tile_range **axes, int count) {
    if (v->axis_count != count)
        return false;
    for (int i = 0; i < count; i++)
        if (!tile_has_axis(v, axes[i]))
            return false;
    return true;
}

void count_root_references(lower *l, tile_value *value) {
    memset(l->references, 0, sizeof *l->references * (size_t)l->value_count);
    count_references(l, value);
}

void prepare_root(lower *l, tile_value *value, tile_value *fused) {
    value_list heavy = {0};
    find_heavy(l, value, &heavy);
    for (int i = 0; i < heavy.count; i++)
        if (heavy.at[i] != fused)
            hold_value(l, heavy.at[i]);
    if (fused)
        prepare_reduction(l, fused);
    count_root_references(l, value);
}

/* The same among threads of which each has its share. */
static void lower_shared_root(lower *l, tile_range **axes, int axis_count, tile_value *value, tile_value *fused, const sink *s,
                              source_span span) {
    spread *outside = l->spreads;
    value_list held = {0};
    l->spreads = lanes_root_spreads(l, axes, axis_count, fused);
    if (l->apart && l->spreads == l->along && !lanes_apart(l, axes, axis_count))
        lanes_hold_apart(l, value, &held);
    prepare_root(l, value, fused);
    (fused ? lanes_reduction(l, axes, axis_count, value, fused, s, span) : lanes_root(l, axes, axis_count, value, s, span));
    for (int i = 0; i < held.count; i++)
        l->held[held.at[i]->id] = NULL;
    l->spreads = outside;
}

bool reduction_shape_fits(lower *l, const reduction_shape *shape, tile_value *value, const sink *s) {
    return !shape->vector || shape->vector_reduced ||
           (vector_score(l, value, shape->vector) != INT_MIN &&
            (!s->array || store_score(l, s->indices, s->array->rank, shape->vector) != INT_MIN));
}

/* Whether the reduction is better kept by itself, along lanes, than made element by element with what is made of it. */
static bool is_kept_apart(lower *l, tile_range **axes, int axis_count, tile_value *value, tile_value *fused, const sink *s) {
    reduction_shape shape = choose_reduction_shape(l, axes, axis_count, fused);
    if (reduction_shape_fits(l, &shape, value, s))
        return false;
    for (int i = 0; i < axis_count; i++)
        if (range_capacity(axes[i]) < 0)
            return false;
    VEC_PUSH(l->arena, l->out->routes,
             arena_printf(l->arena,
                          "line %d: %s is kept by itself: what is made of it can't be read or stored along the lanes of %s",
                          fused->span.line, tile_op_table[fused->op].name, shape.vector->name));
    return true;
}

void lower_root(lower *l, tile_range **axes, int axis_count, tile_value *value, const sink *s, source_span span) {
    value_list heavy = {0};
    find_heavy(l, value, &heavy);
    tile_value *fused = heavy.count == 1 && has_just_ranges(heavy.at[0], axes, axis_count) ? heavy.at[0] : NULL;
    if (s->call)
        fused = NULL; /* its elements come singly, those of a reduction's block do not */
    if (l->spreads) {
        lower_shared_root(l, axes, axis_count, value, fused, s, span);
        return;
    }
    fragment_outcome by_fragments = fused ? lower_by_fragments(l, axes, axis_count, value, fused, s, span) : FRAGMENTS_NONE;
    if (by_fragments == FRAGMENTS_DONE)
        return;
    if (by_fragments == FRAGMENTS_HELD || (fused && is_kept_apart(l, axes, axis_count, value, fused, s)))
        fused = NULL; /* prepare_root keeps it, as it does any reduction but the fused one */
    prepare_root(l, value, fused);
    if (fused) {
        lower_reduction(l, axes, axis_count, value, fused, s, span);
        return;
    }
    elementwise e = {axes, axis_count, 0, elementwise_vector_range(l, axes, axis_count, value, s), value, s, span};
    point p = point_new(l);
    elementwise_level(&p, &e);
}

void hold_value(lower *l, tile_value *v) {
    if (l->chain)
        lanes_chain_hold(l, v);
    else
        hold_value_as(l, v, v->type, NULL, 0);
}

void hold_value_as(lower *l, tile_value *v, element_type type, const tile_range *panel, int64_t panel_width) {
    tile_range **axes = NEW_ARRAY(l->arena, tile_range *, v->axis_count);
    for (int i = 0; i < v->axis_count; i++)
        axes[i] = v->axes[i];
    const tile_range *last = panel ? panel : preferred_last_axis(l, v);
    order_last(axes, v->axis_count, last);
    kernel_array *array = private_array(l,
                                        v->name                                                    ? v->name
                                        : v->op == TILE_CONVERT && v->operands[0]->op == TILE_LOAD ? v->operands[0]->array->name
                                        : v->op == TILE_LOAD                                       ? v->array->name
                                                                                                   : "part",
                                        type, axes, v->axis_count, v->span);
    if (!array)
        return;
    if (panel) {
        array->layout.kind = LAYOUT_PANEL;
        array->layout.dim = v->axis_count - 1;
        array->layout.amount = panel_width;
    }
    sink s = {.private_array = array, .axes = axes, .axis_count = v->axis_count, .type = type};
    lower_root(l, axes, v->axis_count, v, &s, v->span);
    l->held[v->id] = array;
    l->held_axes[v->id] = axes;
}
