/* Lowering to the threads of a block: reductions. Every thread reduces its share; lanes then exchange by shuffles, subgroups through shared memory, so
 * that at the end each thread that stands for a result holds it. */
#include "schedule/lanes_fragment.h"
#include "schedule/lanes_reduction.h"

/* Registers of a thread that the parts of a reduction may take, so that its results' loads and shuffles overlap. */
enum { MOST_HELD = 64 };

/* The register cells of a block of results: one for each slot of each result range; or, one result after the other, the same one for all. */
static kernel_array *result_array(reduction *c, const char *name, element_type type, bool all) {
    lower *l = c->l;
    index_expr *dims[32];
    int rank = 0;
    for (int i = 0; all && i < c->axis_count; i++)
        if (spread_slots(l, c->axes[i]) > 1)
            dims[rank++] = ix_const(l->arena, c->scattered ? lanes_part_cells(l, c->axes[i]) : spread_slots(l, c->axes[i]));
    kernel_array *array = kernel_add_array(l->ir, lower_name(l, name), SPACE_REGISTER, USE_LOCAL, type, rank, dims);
    array->lanes = c->lanes;
    array->span = c->span;
    return array;
}

kernel_access reduction_cell(point *p, reduction *c, kernel_array *array) {
    lower *l = c->l;
    index_expr *at[32];
    int rank = 0;
    for (int i = 0; array->rank && i < c->axis_count; i++) {
        const tile_range *r = c->axes[i];
        if (c->scattered && l->spreads == l->apart && spread_slots_in(l->along, r) > 1) /* where the scattering left it */
            at[rank++] = ix_mul(l->arena, p->slot[r->id], ix_const(l->arena, l->apart[r->id].lanes));
        else if (spread_slots(l, r) > 1)
            at[rank++] = p->slot[r->id];
    }
    return kernel_at(c->l->ir, array, at);
}

void reduction_set(point *p, reduction *c, kernel_access to, kernel_value *v) {
    kernel_stmt *s = kernel_append(c->l->ir, p->block, KSTMT_STORE, c->span);
    s->access = to;
    s->value = kernel_broadcast(c->l->ir, v, to.lanes);
}

kernel_value *reduction_get(reduction *c, kernel_access from) {
    return kernel_load(c->l->ir, from);
}

typedef struct over {
    reduction *c;
    tile_range **ranges;
    int count, depth;
    bool guarded;
    void (*body)(point *p, reduction *c);
    bool reads; /* staged operands, as soon as their ranges are open */
} over;

/* Whether something that v reads is kept in registers by the slots of r. */
static bool held_over(const lower *l, const tile_value *v, const tile_range *r, unsigned char *seen) {
    if (seen[v->id]++)
        return false;
    bool kept = l->held[v->id] || v->op == TILE_GET || v->op == TILE_FIELD || v->op == TILE_PARAM;
    if (kept && tile_has_axis(v, r))
        return true;
    for (int i = 0; !l->held[v->id] && i < v->operand_count; i++)
        if (held_over(l, v->operands[i], r, seen))
            return true;
    return v->op == TILE_LOAD && value_index_varies(v, r);
}

static bool may_stride(const reduction *c, const tile_range *r) {
    bool reduced = false;
    for (int i = 0; i < c->reduced_count; i++)
        reduced = reduced || c->reduced[i] == r;
    for (int i = 0; reduced && i < c->heavy->operand_count; i++)
        reduced = !held_over(c->l, c->heavy->operands[i], r, NEW_ARRAY(c->l->arena, unsigned char, c->l->value_count));
    return reduced;
}

static void over_level(point *p, void *context) {
    over o = *(over *)context;
    while (o.depth < o.count && range_open(p, o.ranges[o.depth]))
        o.depth++;
    if (o.reads)
        lanes_stage_read(p, o.c->heavy);
    if (o.depth == o.count) {
        o.body(p, o.c);
        return;
    }
    tile_range *r = o.ranges[o.depth++];
    share_guard guarding = !o.guarded ? SHARE_UNGUARDED : may_stride(o.c, r) ? SHARE_STRIDED : SHARE_GUARDED;
    lanes_share(p, r, guarding, over_level, &o, o.c->span);
}

void reduction_over(point *p, reduction *c, tile_range **ranges, int count, bool guarded, void (*body)(point *, reduction *)) {
    over o = {c, ranges, count, 0, guarded, body, false};
    over_level(p, &o);
}

static void start_parts(point *p, reduction *c) {
    for (int i = 0; i < c->part_count; i++)
        reduction_set(p, c, reduction_cell(p, c, c->parts[i].array), c->parts[i].start);
}

/* (best, where) against (value, at): the better value, of equals the lower index, -1 standing for none. */
void reduction_keep_better(point *p, reduction *c, kernel_value *value, kernel_value *at) {
    kernel_ir *ir = c->l->ir;
    kernel_access to_best = reduction_cell(p, c, c->parts[0].array), to_where = reduction_cell(p, c, c->parts[1].array);
    kernel_value *best = emit_named(p, "best", reduction_get(c, to_best)),
                 *where = emit_named(p, "where", reduction_get(c, to_where));
    bool largest = c->heavy->op == TILE_ARGMAX;
    element_type index = ELEMENT_INDEX;
    kernel_value *zero = kernel_index(ir, ix_const(c->l->arena, 0));
    kernel_value *beats = kernel_op2(ir, KERNEL_LT, ELEMENT_BOOL, largest ? best : value, largest ? value : best);
    kernel_value *none = kernel_op2(ir, KERNEL_LT, ELEMENT_BOOL, where, zero);
    kernel_value *lower_index = kernel_op2(ir, KERNEL_LT, ELEMENT_BOOL, at, where);
    kernel_value *some = kernel_op2(ir, KERNEL_LE, ELEMENT_BOOL, zero, at);
    kernel_value *first =
        kernel_op2(ir, KERNEL_AND, ELEMENT_BOOL, some, kernel_op2(ir, KERNEL_OR, ELEMENT_BOOL, none, lower_index));
    kernel_value *ties = kernel_op2(ir, KERNEL_AND, ELEMENT_BOOL, kernel_op2(ir, KERNEL_EQ, ELEMENT_BOOL, value, best), first);
    kernel_value *take = emit_named(p, "take", kernel_op2(ir, KERNEL_OR, ELEMENT_BOOL, beats, ties));
    reduction_set(p, c, to_best, kernel_op3(ir, KERNEL_SELECT, value->type, take, value, best));
    reduction_set(p, c, to_where, kernel_op3(ir, KERNEL_SELECT, index, take, at, where));
}

static kernel_value *operand(point *p, reduction *c, int i) {
    kernel_value *v = emit_value(p, c->heavy->operands[i]);
    element_type type = c->parts[0].array->element;
    return v->type == type ? v : kernel_op1(c->l->ir, KERNEL_CONVERT, type, v);
}

static void accumulate(point *p, reduction *c) {
    kernel_ir *ir = c->l->ir;
    if (c->extreme) {
        kernel_value *x = emit_named(p, "x", operand(p, c, 0));
        reduction_keep_better(p, c, x, kernel_index(ir, emit_index(p, ix_var(c->l->arena, c->heavy->range->var))));
    } else {
        kernel_access to = reduction_cell(p, c, c->parts[0].array);
        kernel_value *x = operand(p, c, 0), *old = reduction_get(c, to), *v;
        element_type type = to.array->element;
        if (c->single && c->heavy->op == TILE_REDUCE_SUM)
            v = x;
        else if (c->heavy->op != TILE_DOT)
            v = kernel_op2(ir, combining_op(c->heavy), type, x, old);
        else if (is_whole_number(type))
            v = kernel_op2(ir, KERNEL_ADD, type, kernel_op2(ir, KERNEL_MUL, type, x, operand(p, c, 1)), old);
        else
            v = kernel_op3(ir, KERNEL_FMA, type, x, operand(p, c, 1), old);
        if (c->heavy->op == TILE_DOT && c->heavy->accumulator == ELEMENT_F16)
            v = kernel_op1(ir, KERNEL_CONVERT, type, kernel_op1(ir, KERNEL_CONVERT, ELEMENT_F16, v));
        if (p->active && c->reduced_vector)
            v = kernel_prefix_select(ir, p->active, v, old);
        reduction_set(p, c, to, v);
    }
}

static point inside_of(const point *p, reduction *c);

static void step(point *p, reduction *c) {
    accumulate(p, c);
    if (!c->unguarded) {
        ghost_consume(p, &c->ghost, c->span);
        return;
    }
    point q = inside_of(p, c);
    for (int i = 0; i < c->reduced_count; i++)
        q.position[c->reduced[i]->id] = p->position[c->reduced[i]->id];
    q.vector = p->vector; /* of a reduced range: results have none here */
    q.lanes = p->lanes;
    q.active = p->active;
    ghost_consume(&q, &c->ghost, c->span);
}

/* The ranges of the results are open already, guarded or not. */
static void reduced_share(point *p, reduction *c) {
    reduction_over(p, c, c->reduced, c->reduced_count, true, step);
}

/* ---- operands in shared memory: every thread reads whole tiles, in which zeros stand for what does not exist ---- */

static void staged_step(point *p, reduction *c) {
    accumulate(p, c);
    point q = inside_of(p, c);
    for (int i = 0; i < c->reduced_count; i++)
        q.position[c->reduced[i]->id] = p->position[c->reduced[i]->id];
    if (c->l->ring_count) {
        kernel_stmt *exists = kernel_append(c->l->ir, q.block, KSTMT_IF, c->span);
        exists->condition = cond_compare(c->l->arena, COND_LT, p->position[c->reduced[0]->id], c->l->ring_count);
        q.block = &exists->body;
    }
    ghost_consume(&q, &c->ghost, c->span);
}

static void staged_elements(point *p, void *context) {
    over o = *(over *)context;
    if (o.depth < o.c->reduced_count) {
        tile_range *r = o.c->reduced[o.depth++];
        open_loop(p, r, staged_elements, &o, o.c->span);
        return;
    }
    over results = {o.c, o.c->axes, o.c->axis_count, 0, false, staged_step, true};
    over_level(p, &results);
}

/* The tiles are there, and stay until others may be written. */
static void ring_share(reduction *c) {
    lower *l = c->l;
    tile_range *r = c->reduced[0];
    point p = point_new(l);
    kernel_stmt *s = kernel_for(l->ir, p.block, lower_name(l, r->name), ix_const(l->arena, 0), l->place[r->id].count, 1, c->span);
    s->unroll = true;
    p.block = &s->body;
    p.position[r->id] = ix_var(l->arena, s->var);
    over results = {c, c->axes, c->axis_count, 0, false, staged_step, true};
    over_level(&p, &results);
}

static void staged_share(reduction *c) {
    if (c->l->rings[c->heavy->id]) {
        ring_share(c);
        return;
    }
    lanes_stage_copy(c->l, c->heavy);
    point p = point_new(c->l);
    over o = {.c = c};
    staged_elements(&p, &o);
    lanes_barrier(c->l, 1u << SPACE_SHARED, c->span); /* the next trip writes the tiles again */
}

/* ---- the end ---- */

/* What the accumulators left in shared memory. */
static kernel_access met_cell(point *p, reduction *c) {
    index_expr *at[2] = {p->position[c->sum.rows->id], p->position[c->sum.columns->id]};
    kernel_access access = kernel_at(c->l->ir, c->met, at);
    if (p->vector == c->sum.columns || p->vector == c->sum.rows) {
        access.lanes = p->lanes;
        access.vector_dim = p->vector == c->sum.columns;
        access.active = p->active;
    }
    return access;
}

static void finish(point *p, reduction *c) {
    lower *l = c->l;
    kernel_value *v;
    if (c->matrix)
        v = reduction_get(c, met_cell(p, c));
    else if (c->extreme)
        v = kernel_op2(l->ir, KERNEL_MAX, ELEMENT_INDEX, reduction_get(c, reduction_cell(p, c, c->parts[1].array)),
                       kernel_index(l->ir, ix_const(l->arena, 0)));
    else
        v = reduction_get(c, reduction_cell(p, c, c->parts[reduction_first_result(c)].array));
    if (v->type != c->heavy->type)
        v = kernel_op1(l->ir, KERNEL_CONVERT, c->heavy->type, v);
    p->known[c->heavy->id] = emit_named(p, "total", v);
    lanes_store(p, c->axes, c->axis_count, c->s, c->value);
}

static int64_t result_registers(const reduction *c, int lanes) {
    int64_t registers = lanes;
    for (int i = 0; i < c->axis_count && registers <= MOST_HELD; i++)
        registers *= spread_slots(c->l, c->axes[i]);
    return registers;
}

reduction *lanes_reduction_new(lower *l, tile_range **axes, int axis_count, tile_value *value, tile_value *heavy, const sink *s,
                               source_span span, bool deferred) {
    reduction *c = NEW(l->arena, reduction);
    *c = (reduction){
        .l = l, .axes = axes, .axis_count = axis_count, .value = value, .heavy = heavy, .s = s, .span = span, .lanes = 1};
    c->reduced = heavy->op == TILE_DOT ? heavy->contract : &heavy->range;
    c->reduced_count = heavy->op == TILE_DOT ? heavy->contract_count : 1;
    c->extreme = heavy->op == TILE_ARGMAX || heavy->op == TILE_ARGMIN;
    int64_t chunk = 1, threads = 1;
    for (int i = 0; i < axis_count; i++) {
        if (spread_slots(l, axes[i]) < 0) {
            lower_error(l, "E0593", span,
                        "a result would have to be held over all of `%s`, whose extent is not a compile-time constant",
                        axes[i]->name);
            return NULL;
        }
        if (l->spreads[axes[i]->id].vector > 1)
            c->lanes = l->spreads[axes[i]->id].vector;
    }
    for (int i = 0; i < c->reduced_count; i++) {
        const spread *x = reduction_spread(c, i);
        int64_t capacity = range_capacity(c->reduced[i]);
        chunk = capacity < 0 || chunk > INT32_MAX ? INT64_MAX / 4 : chunk * capacity;
        threads *= (int64_t)x->subgroups * x->lanes * x->vector;
        if (x->vector > 1) {
            c->lanes = x->vector;
            c->reduced_vector = true;
        }
    }
    c->scattered = l->apart && l->spreads == l->along && lanes_apart(l, axes, axis_count);
    c->unguarded = !s->array && !c->extreme && lanes_from_registers(l, value, heavy);
    for (int i = 0; i < heavy->operand_count; i++)
        c->unguarded = c->unguarded && lanes_from_registers(l, heavy->operands[i], NULL);
    if (c->scattered)
        c->unguarded = true;
    for (int i = 0; c->scattered && i < heavy->operand_count; i++)
        c->unguarded = c->unguarded && lanes_reads_whole(l, heavy->operands[i]);
    c->staged = lanes_staged(l, heavy);
    if (c->staged && l->matrices[heavy->id]) {
        c->matrix = c->held = true;
        c->sum = lanes_fragment_tile(l, heavy, &l->sums[heavy->id], "sum");
        reduction_tree by_unit = lanes_fragment_tree(l, heavy);
        by_unit.deferred = deferred;
        VEC_PUSH(l->arena, l->out->trees, by_unit);
        VEC_PUSH(l->arena, l->out->routes,
                 arena_printf(l->arena, "line %d: dot by %s%s, its results go on in single threads through shared memory",
                              heavy->span.line, c->sum.with->name, deferred ? " over all tiles" : ""));
        return c;
    }
    int64_t here;
    c->single = chunk == 1 && threads == 1 && !deferred;
    for (int i = 0; i < c->reduced_count; i++)
        c->single = c->single && ix_is_const(l->place[c->reduced[i]->id].count, &here) && here == 1;
    reduction_tree tree = {.value_id = heavy->id, .chunk = chunk, .parallel = threads, .deferred = deferred};
    VEC_PUSH(l->arena, l->out->trees, tree);
    c->held = deferred || c->staged || reduction_crossing(c) || result_registers(c, c->lanes) <= MOST_HELD;
    c->gathered = !c->held && c->reduced_vector && result_registers(c, 1) <= MOST_HELD;
    element_type type = accumulator_type(c->extreme ? heavy->operands[0] : heavy);
    c->parts[0].array = result_array(c, c->extreme ? "best" : "sum", type, c->held);
    c->parts[0].start = reduction_identity(l, heavy, type);
    c->part_count = 1;
    if (c->extreme || c->reduced_vector) {
        int lanes = c->lanes;
        c->lanes = 1;
        c->parts[1].array =
            result_array(c, c->extreme ? "where" : "total", c->extreme ? ELEMENT_INDEX : type, c->held || c->gathered);
        c->parts[1].start = c->extreme ? kernel_index(l->ir, ix_const(l->arena, -1)) : c->parts[0].start;
        c->lanes = lanes;
        c->part_count = 2;
    }
    VEC_PUSH(l->arena, l->out->routes,
             arena_printf(l->arena, "line %d: %s: each thread %s%s, then %s%s", heavy->span.line, tile_op_table[heavy->op].name,
                          c->reduced_vector ? "its vectors" : "its elements", deferred ? " of all tiles" : "",
                          c->scattered  ? "shuffles within the subgroup, after which each lane has some of the results"
                          : threads > 1 ? "shuffles within the subgroup"
                                        : "nothing to exchange",
                          reduction_crossing(c) ? " and shared memory across subgroups" : ""));
    return c;
}

/* Cells that are there for the sake of whole shares. */
static void start_padding(reduction *c) {
    const kernel_array *parts = c->parts[reduction_first_result(c)].array;
    bool padded = false;
    for (int i = 0; i < c->axis_count; i++)
        padded = padded || (c->scattered && lanes_part_cells(c->l, c->axes[i]) != range_capacity(c->axes[i]));
    if (padded && parts->rank)
        lanes_fill(c->l, (kernel_array *)parts, c->parts[0].start, c->span);
}

/* The results, and what is made of them, by the lanes that have them. */
static void finish_all(reduction *c) {
    lower *l = c->l;
    if (c->scattered) {
        lanes_scatter(l, c->parts[reduction_first_result(c)].array, c->axes, c->axis_count, combining_op(c->heavy), c->span);
        l->spreads = l->apart;
    }
    bool along = c->scattered ? !c->s->array && lanes_from_registers(l, c->value, c->heavy) : c->unguarded;
    point p = point_new(l);
    reduction_over(&p, c, c->axes, c->axis_count, !along, finish);
    if (c->scattered)
        l->spreads = l->along;
}

void lanes_reduction_start(reduction *c) {
    start_padding(c);
    point p = point_new(c->l);
    if (c->matrix) {
        lanes_fragment_fill(c->l, &c->sum, reduction_identity(c->l, c->heavy, c->sum.with->accumulator), c->span);
        return;
    }
    reduction_over(&p, c, c->axes, c->axis_count, false, start_parts);
}

/* Where the predicates of the loops are known. */
static void make_ghost(reduction *c) {
    ghost_make(c->l, &c->ghost, c->axes, c->axis_count, c->reduced, c->reduced_count, c->heavy);
}

void lanes_reduction_share(reduction *c) {
    make_ghost(c);
    if (c->matrix) {
        lanes_fragment_add(c->l, c->heavy, &c->sum, &c->ghost, c->span);
        return;
    }
    if (c->staged) {
        staged_share(c);
        return;
    }
    point p = point_new(c->l);
    reduction_over(&p, c, c->axes, c->axis_count, !c->unguarded, reduced_share);
}

void lanes_reduction_end(reduction *c) {
    point p = point_new(c->l);
    if (c->matrix) {
        c->met = lanes_fragment_meet(c->l, c->heavy, &c->sum, c->span);
        reduction_over(&p, c, c->axes, c->axis_count, true, finish);
        if (c->l->loops.count) /* the next trip writes the same cells */
            lanes_barrier(c->l, 1u << SPACE_SHARED, c->span);
        return;
    }
    reduction_over(&p, c, c->axes, c->axis_count, false, c->scattered ? reduction_fold_vector : reduction_exchange_lanes);
    if (reduction_exchange_subgroups(c))
        finish_all(c);
}

/* The point of the same result in its own guards. */
static point inside_of(const point *p, reduction *c) {
    point q = point_new(c->l);
    q.block = p->block;
    for (int i = 0; i < c->axis_count; i++)
        if (!range_open(&q, c->axes[i]))
            lanes_enter(&q, c->axes[i], p->position[c->axes[i]->id], p->slot[c->axes[i]->id], c->span);
    return q;
}

/* One result from its start to its store: its parts need no more than a few registers, whatever the number of results. */
static void whole_result(point *p, reduction *c) {
    start_parts(p, c);
    point share = inside_of(p, c);
    reduced_share(&share, c);
    reduction_exchange_lanes(p, c);
    point end = inside_of(p, c);
    finish(&end, c);
}

/* What this thread has of one result, as one number. */
static void gather_result(point *p, reduction *c) {
    start_parts(p, c);
    point share = c->unguarded ? *p : inside_of(p, c);
    reduced_share(&share, c);
    reduction_fold_vector(p, c);
}

void lanes_reduction(lower *l, tile_range **axes, int axis_count, tile_value *value, tile_value *heavy, const sink *s,
                     source_span span) {
    reduction *c = lanes_reduction_new(l, axes, axis_count, value, heavy, s, span, false);
    if (!c)
        return;
    if (c->held) {
        lanes_reduction_start(c);
        lanes_reduction_share(c);
        lanes_reduction_end(c);
        return;
    }
    make_ghost(c);
    if (c->gathered)
        start_padding(c);
    point p = point_new(l);
    reduction_over(&p, c, axes, axis_count, false, c->gathered ? gather_result : whole_result);
    if (!c->gathered)
        return;
    p = point_new(l);
    if (!c->scattered)
        reduction_over(&p, c, axes, axis_count, false, reduction_meet_lanes);
    finish_all(c);
}
