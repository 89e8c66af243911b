/* Lowering: reductions. A block of results stays in registers while the reduced ranges go by; then the root's expression is applied to
 * the results and stored. */
#include "schedule/lower.h"
#include <math.h>
#include <string.h>

typedef struct reduction {
    lower *l;
    tile_range **axes;
    int axis_count, depth;
    tile_value *value, *heavy;
    const sink *s;
    source_span span;
    reduction_shape shape;
    tile_range **reduced;
    int reduced_count, reduced_depth;
    /* the block being emitted */
    int unroll[2], vectors;
    index_expr *base[2], *vector_base, *vector_end;
    kernel_array *accumulator;
    ghost_record ghost;
} reduction;

/* ---- a block's cells: [unrolled 0][unrolled 1][vectors], dimensions of one left out ---- */

enum { DIMS = 3 };
typedef struct cell {
    index_expr *at[DIMS];
} cell;

static int block_size(const reduction *c, int d) {
    return d < 2 ? c->unroll[d] : c->vectors;
}

static kernel_array *block_array(reduction *c, const char *name, element_type type, int lanes, const bool varies[DIMS]) {
    lower *l = c->l;
    index_expr *dims[DIMS];
    int rank = 0;
    for (int d = 0; d < DIMS; d++)
        if (varies[d] && block_size(c, d) > 1)
            dims[rank++] = ix_const(l->arena, block_size(c, d));
    kernel_array *array = kernel_add_array(l->ir, lower_name(l, name), SPACE_REGISTER, USE_LOCAL, type, rank, dims);
    array->lanes = lanes;
    array->span = c->span;
    return array;
}

static kernel_access block_cell(reduction *c, kernel_array *array, const bool varies[DIMS], const cell *at) {
    index_expr *indices[DIMS];
    int rank = 0;
    for (int d = 0; d < DIMS; d++)
        if (varies[d] && block_size(c, d) > 1)
            indices[rank++] = at->at[d];
    return kernel_at(c->l->ir, array, indices);
}

typedef void (*cell_body)(point *p, reduction *c, const cell *at, void *context);

/* Unrolled loops over the block's dimensions that `varies` names; positions are set for each. */
static void each_cell(point *p, reduction *c, const bool varies[DIMS], int d, cell at, cell_body body, void *context) {
    lower *l = c->l;
    arena *a = l->arena;
    if (d == DIMS) {
        body(p, c, &at, context);
        return;
    }
    point inner = point_copy(p);
    at.at[d] = ix_const(a, 0);
    if (varies[d] && block_size(c, d) > 1) {
        const char *name = d < 2 ? c->shape.unrolled[d]->name : c->shape.vector->name;
        kernel_stmt *s = kernel_for(l->ir, p->block, lower_name(l, arena_printf(a, "%s_u", name)), ix_const(a, 0),
                                    ix_const(a, block_size(c, d)), 1, c->span);
        s->unroll = true;
        inner.block = &s->body;
        at.at[d] = ix_var(a, s->var);
    }
    if (d < 2 && c->shape.unrolled[d] && c->base[d]) {
        inner.position[c->shape.unrolled[d]->id] = ix_add(a, c->base[d], at.at[d]);
    } else if (d == 2 && c->vector_base) {
        index_expr *offset = ix_mul(a, ix_const(a, inner.lanes), at.at[d]);
        inner.position[c->shape.vector->id] = ix_add(a, c->vector_base, offset);
        inner.active = c->vector_end ? ix_sub(a, c->vector_end, inner.position[c->shape.vector->id]) : NULL;
    }
    each_cell(&inner, c, varies, d + 1, at, body, context);
}

static const bool all_dims[DIMS] = {true, true, true};

static void start_cell(point *p, reduction *c, const cell *at, void *context) {
    (void)context;
    lower *l = c->l;
    kernel_stmt *s = kernel_append(l->ir, p->block, KSTMT_STORE, c->span);
    s->access = block_cell(c, c->accumulator, all_dims, at);
    s->value = kernel_broadcast(l->ir, reduction_identity(l, c->heavy, c->accumulator->element), c->accumulator->lanes);
}

/* ---- one step of the reduction: operands, then the combination for every cell of the block ---- */

typedef struct step {
    bool varies[2][DIMS];
    kernel_array *loaded[2];   /* register copies of operands that vary along only part of the block */
    kernel_value *constant[2]; /* operands that do not vary within the block */
    int operand;               /* being loaded */
} step;

static kernel_value *operand_value(point *p, reduction *c, int operand) {
    kernel_value *v = emit_value(p, c->heavy->operands[operand]);
    element_type type = c->accumulator->element;
    return v->type == type ? v : kernel_op1(c->l->ir, KERNEL_CONVERT, type, v);
}

static void load_cell(point *p, reduction *c, const cell *at, void *context) {
    step *t = context;
    lower *l = c->l;
    kernel_value *v = operand_value(p, c, t->operand);
    kernel_stmt *s = kernel_append(l->ir, p->block, KSTMT_STORE, c->span);
    s->access = block_cell(c, t->loaded[t->operand], t->varies[t->operand], at);
    s->value = kernel_broadcast(l->ir, v, t->loaded[t->operand]->lanes);
}

static void combine_cell(point *p, reduction *c, const cell *at, void *context) {
    step *t = context;
    lower *l = c->l;
    kernel_value *x[2] = {NULL, NULL};
    for (int o = 0; o < c->heavy->operand_count; o++)
        x[o] = t->constant[o] ? t->constant[o]
               : t->loaded[o] ? kernel_load(l->ir, block_cell(c, t->loaded[o], t->varies[o], at))
                              : operand_value(p, c, o);
    kernel_access target = block_cell(c, c->accumulator, all_dims, at);
    kernel_value *old = kernel_load(l->ir, target), *v;
    element_type type = c->accumulator->element;
    if (c->heavy->op != TILE_DOT)
        v = kernel_op2(l->ir, combining_op(c->heavy), type, x[0], old);
    else if (is_whole_number(type))
        v = kernel_op2(l->ir, KERNEL_ADD, type, kernel_op2(l->ir, KERNEL_MUL, type, x[0], x[1]), old);
    else
        v = kernel_op3(l->ir, KERNEL_FMA, type, x[0], x[1], old);
    if (c->heavy->op == TILE_DOT && c->heavy->accumulator == ELEMENT_F16) /* a narrow accumulator, asked for by name */
        v = kernel_op1(l->ir, KERNEL_CONVERT, type, kernel_op1(l->ir, KERNEL_CONVERT, ELEMENT_F16, v));
    if (p->active && c->shape.vector_reduced)
        v = kernel_prefix_select(l->ir, p->active, v, old);
    kernel_stmt *s = kernel_append(l->ir, p->block, KSTMT_STORE, c->span);
    s->access = target;
    s->value = kernel_broadcast(l->ir, v, c->accumulator->lanes);
    ghost_consume(p, &c->ghost, c->span);
}

static const char *operand_name(const tile_value *x) {
    while (x->op == TILE_CONVERT && !x->name)
        x = x->operands[0];
    return x->name ? x->name : x->op == TILE_LOAD ? x->array->name : "operand";
}

static void reduction_step(point *p, reduction *c) {
    lower *l = c->l;
    step t = {0};
    const cell origin = {{NULL}};
    for (int o = 0; o < c->heavy->operand_count; o++) {
        const tile_value *x = c->heavy->operands[o];
        bool some = false, all = true;
        for (int d = 0; d < DIMS; d++) {
            const tile_range *r = d < 2 ? c->shape.unrolled[d] : c->shape.vector;
            t.varies[o][d] = r && tile_has_axis(x, r);
            if (block_size(c, d) > 1) {
                some = some || t.varies[o][d];
                all = all && t.varies[o][d];
            }
        }
        if (all && (some || block_size(c, 0) * block_size(c, 1) * block_size(c, 2) == 1))
            continue; /* computed where it is used, once per cell */
        bool along_lanes = c->shape.vector && t.varies[o][2];
        t.operand = o;
        if (!some) {
            point q = point_copy(p);
            for (int d = 0; d < 2; d++)
                if (c->base[d])
                    q.position[c->shape.unrolled[d]->id] = c->base[d];
            if (c->vector_base) {
                q.position[c->shape.vector->id] = c->vector_base;
                q.active = c->vector_end ? ix_sub(l->arena, c->vector_end, c->vector_base) : NULL;
            }
            t.constant[o] = emit_named(&q, operand_name(x), operand_value(&q, c, o));
            continue;
        }
        t.loaded[o] = block_array(c, operand_name(x), c->accumulator->element, along_lanes ? p->lanes : 1, t.varies[o]);
        each_cell(p, c, t.varies[o], 0, origin, load_cell, &t);
    }
    each_cell(p, c, all_dims, 0, origin, combine_cell, &t);
}

static void reduced_level(point *p, void *context);

static void reduced_vectors(point *p, index_expr *base, int vectors, index_expr *end, void *context) {
    reduction c = *(reduction *)context;
    (void)vectors;
    c.vector_base = base;
    c.vector_end = end;
    reduction_step(p, &c);
}

static void reduced_level(point *p, void *context) {
    reduction c = *(reduction *)context;
    for (int o = 0; o < c.heavy->operand_count; o++)
        emit_hoisted(p, c.heavy->operands[o]);
    while (c.reduced_depth < c.reduced_count && ((c.shape.vector_reduced && c.reduced[c.reduced_depth] == c.shape.vector) ||
                                                 range_open(p, c.reduced[c.reduced_depth])))
        c.reduced_depth++;
    if (c.reduced_depth < c.reduced_count) {
        tile_range *r = c.reduced[c.reduced_depth++];
        open_loop(p, r, reduced_level, &c, c.span);
    } else if (c.shape.vector_reduced) {
        index_expr *lo, *hi;
        cond *guard;
        loop_bounds(p, c.shape.vector, false, &lo, &hi, &guard);
        open_vectors(p, c.shape.vector, lo, hi, c.vectors, true, reduced_vectors, &c, c.span);
    } else {
        reduction_step(p, &c);
    }
}

/* ---- the end of a block: the results, and what the root makes of them ---- */

static void finish_cell(point *p, reduction *c, const cell *at, void *context) {
    (void)context;
    lower *l = c->l;
    kernel_value *result;
    if (c->shape.vector_reduced) {
        kernel_value *part[8];
        int n = c->vectors;
        for (int i = 0; i < n; i++) {
            cell one = *at;
            one.at[2] = ix_const(l->arena, i);
            part[i] = kernel_load(l->ir, block_cell(c, c->accumulator, all_dims, &one));
        }
        kernel_op op = combining_op(c->heavy);
        for (; n > 1; n = (n + 1) / 2) /* pairs: the depth that the bound assumes */
            for (int i = 0; i < n / 2 + n % 2; i++)
                part[i] = 2 * i + 1 < n ? kernel_op2(l->ir, op, part[0]->type, part[2 * i], part[2 * i + 1]) : part[2 * i];
        kernel_op across = op == KERNEL_MAX ? KERNEL_LANES_MAX : op == KERNEL_MIN ? KERNEL_LANES_MIN : KERNEL_LANES_SUM;
        result = kernel_op1(l->ir, across, part[0]->type, part[0]);
    } else {
        result = kernel_load(l->ir, block_cell(c, c->accumulator, all_dims, at));
    }
    if (result->type != c->heavy->type)
        result = kernel_op1(l->ir, KERNEL_CONVERT, c->heavy->type, result);
    p->known[c->heavy->id] = emit_named(p, "total", result);
    emit_store(p, c->s, emit_value(p, c->value));
}

static void reduction_block(point *p, reduction *c) {
    lower *l = c->l;
    const cell origin = {{NULL}};
    const tile_value *heavy = c->heavy;
    element_type type = accumulator_type(heavy);
    c->accumulator = block_array(c, "sum", type, c->shape.vector ? l->machine->vector_lanes : 1, all_dims);
    each_cell(p, c, all_dims, 0, origin, start_cell, NULL);
    point inner = point_copy(p);
    reduced_level(&inner, c);
    if (c->shape.vector_reduced) {
        static const bool results[DIMS] = {true, true, false};
        each_cell(p, c, results, 0, origin, finish_cell, NULL);
    } else {
        each_cell(p, c, all_dims, 0, origin, finish_cell, NULL);
    }
}

/* ---- argmax, argmin: the lowest index among the elements that hold the extreme value ---- */

typedef struct extreme {
    reduction *c;
    kernel_array *best, *where;
    int depth;
} extreme;

static kernel_stmt *set_cell(point *p, kernel_array *cell, kernel_value *v) {
    kernel_stmt *s = kernel_append(p->l->ir, p->block, KSTMT_STORE, cell->span);
    s->access = kernel_at(p->l->ir, cell, NULL);
    s->value = v;
    return s;
}

static void extreme_step(point *p, void *context) {
    extreme e = *(extreme *)context;
    reduction *c = e.c;
    kernel_ir *ir = c->l->ir;
    if (e.depth < c->reduced_count) {
        tile_range *r = c->reduced[e.depth++];
        open_loop(p, r, extreme_step, &e, c->span);
        return;
    }
    kernel_value *x = operand_value(p, c, 0);
    x = emit_named(p, "x", x);
    kernel_value *here = kernel_index(ir, emit_index(p, ix_var(c->l->arena, c->heavy->range->var)));
    kernel_value *best = emit_named(p, "best", kernel_load(ir, kernel_at(ir, e.best, NULL)));
    kernel_value *where = emit_named(p, "where", kernel_load(ir, kernel_at(ir, e.where, NULL)));
    bool largest = c->heavy->op == TILE_ARGMAX;
    kernel_value *beats = kernel_op2(ir, KERNEL_LT, ELEMENT_BOOL, largest ? best : x, largest ? x : best);
    kernel_value *none = kernel_op2(ir, KERNEL_LT, ELEMENT_BOOL, where, kernel_index(ir, ix_const(c->l->arena, 0)));
    kernel_value *first = kernel_op2(ir, KERNEL_AND, ELEMENT_BOOL, kernel_op2(ir, KERNEL_EQ, ELEMENT_BOOL, x, best), none);
    kernel_value *take = emit_named(p, "take", kernel_op2(ir, KERNEL_OR, ELEMENT_BOOL, beats, first));
    set_cell(p, e.best, kernel_op3(ir, KERNEL_SELECT, x->type, take, x, best));
    set_cell(p, e.where, kernel_op3(ir, KERNEL_SELECT, ELEMENT_INDEX, take, here, where));
    ghost_consume(p, &c->ghost, c->span);
}

static void lower_extreme(point *p, reduction *c) {
    lower *l = c->l;
    extreme e = {.c = c};
    element_type type = accumulator_type(c->heavy->operands[0]);
    e.best = kernel_add_array(l->ir, lower_name(l, "best"), SPACE_REGISTER, USE_LOCAL, type, 0, NULL);
    e.where = kernel_add_array(l->ir, lower_name(l, "where"), SPACE_REGISTER, USE_LOCAL, ELEMENT_INDEX, 0, NULL);
    e.best->span = e.where->span = c->span;
    c->accumulator = e.best;
    set_cell(p, e.best, reduction_identity(l, c->heavy, type));
    set_cell(p, e.where, kernel_index(l->ir, ix_const(l->arena, -1)));
    point inner = point_copy(p);
    extreme_step(&inner, &e);
    kernel_value *found = kernel_op2(l->ir, KERNEL_MAX, ELEMENT_INDEX, kernel_load(l->ir, kernel_at(l->ir, e.where, NULL)),
                                     kernel_index(l->ir, ix_const(l->arena, 0)));
    if (c->heavy->type != ELEMENT_INDEX)
        found = kernel_op1(l->ir, KERNEL_CONVERT, c->heavy->type, found);
    p->known[c->heavy->id] = emit_named(p, "found", found);
    emit_store(p, c->s, emit_value(p, c->value));
}

/* ---- the loops over the results ---- */

static void result_level(point *p, void *context);

static void result_block(point *p, index_expr *base, int block, void *context) {
    reduction c = *(reduction *)context;
    int i = c.base[0] || !c.shape.unrolled[0] ? 1 : 0;
    c.base[i] = base;
    c.unroll[i] = block;
    result_level(p, &c);
}

static void result_vectors(point *p, index_expr *base, int vectors, index_expr *end, void *context) {
    reduction c = *(reduction *)context;
    c.vector_base = base;
    c.vectors = vectors;
    c.vector_end = end;
    result_level(p, &c);
}

static bool is_blocked(const reduction *c, const tile_range *r) {
    return r == c->shape.unrolled[0] || r == c->shape.unrolled[1] || (r == c->shape.vector && !c->shape.vector_reduced);
}

static void result_level(point *p, void *context) {
    reduction c = *(reduction *)context;
    emit_hoisted(p, c.value);
    while (c.depth < c.axis_count && (is_blocked(&c, c.axes[c.depth]) || range_open(p, c.axes[c.depth])))
        c.depth++;
    if (c.depth < c.axis_count) {
        tile_range *r = c.axes[c.depth++];
        open_loop(p, r, result_level, &c, c.span);
    } else if (c.shape.vector && !c.shape.vector_reduced && !c.vector_base) {
        index_expr *lo, *hi;
        cond *guard;
        loop_bounds(p, c.shape.vector, false, &lo, &hi, &guard);
        open_vectors(p, c.shape.vector, lo, hi, c.shape.vectors, false, result_vectors, &c, c.span);
    } else if (c.shape.unrolled[0] && !c.base[0]) {
        open_blocked(p, c.shape.unrolled[0], c.shape.unroll[0], result_block, &c, c.span);
    } else if (c.shape.unrolled[1] && !c.base[1]) {
        open_blocked(p, c.shape.unrolled[1], c.shape.unroll[1], result_block, &c, c.span);
    } else if (c.heavy->op == TILE_ARGMAX || c.heavy->op == TILE_ARGMIN) {
        lower_extreme(p, &c);
    } else {
        reduction_block(p, &c);
    }
}

/* ---- the whole ---- */

static int64_t tile_product(tile_range **ranges, int count) {
    int64_t product = 1;
    for (int i = 0; i < count; i++) {
        int64_t capacity = range_capacity(ranges[i]);
        if (capacity < 0 || product > INT32_MAX)
            return INT64_MAX / 4;
        product *= capacity > 0 ? capacity : 1;
    }
    return product;
}

void lower_reduction(lower *l, tile_range **axes, int axis_count, tile_value *value, tile_value *heavy, const sink *s,
                     source_span span) {
    reduction c = {.l = l, .axes = axes, .axis_count = axis_count, .value = value, .heavy = heavy, .s = s, .span = span};
    c.reduced = heavy->op == TILE_DOT ? heavy->contract : &heavy->range;
    c.reduced_count = heavy->op == TILE_DOT ? heavy->contract_count : 1;
    c.shape = choose_reduction_shape(l, axes, axis_count, heavy);
    /* What the result is combined with is read along the same lanes. */
    if ((c.shape.vector && !c.shape.vector_reduced && leaves_along(l, value, c.shape.vector)) ||
        !reduction_shape_fits(l, &c.shape, value, s))
        c.shape = (reduction_shape){.vectors = 1, .unroll = {1, 1}};
    c.unroll[0] = c.unroll[1] = 1;
    c.vectors = c.shape.vector_reduced ? c.shape.vectors : 1;
    ghost_make(l, &c.ghost, c.axes, c.axis_count, c.reduced, c.reduced_count, heavy);
    reduction_tree tree = {.value_id = heavy->id, .chunk = tile_product(c.reduced, c.reduced_count), .parallel = 1};
    if (c.shape.vector_reduced)
        tree.parallel = (int64_t)l->machine->vector_lanes * c.shape.vectors;
    VEC_PUSH(l->arena, l->out->trees, tree);
    const char *how = !c.shape.vector          ? "scalar"
                      : c.shape.vector_reduced ? "lanes along the reduced range"
                                               : "lanes along the result";
    VEC_PUSH(l->arena, l->out->routes,
             arena_printf(l->arena, "line %d: %s: %s%s%s, %d vectors of %d, blocks of %d x %d results", heavy->span.line,
                          tile_op_table[heavy->op].name, how, c.shape.vector ? " " : "",
                          c.shape.vector ? c.shape.vector->name : "", c.shape.vectors,
                          c.shape.vector ? l->machine->vector_lanes : 1, c.shape.unroll[0], c.shape.unroll[1]));
    point p = point_new(l);
    result_level(&p, &c);
}

/* Whether the task may keep a copy of x as it is now: every extent a constant, every range entered. */
static bool may_copy(lower *l, const tile_value *x) {
    for (int i = 0; i < x->axis_count; i++)
        if (range_capacity(x->axes[i]) < 0 || !l->place[x->axes[i]->id].entered)
            return false;
    return true;
}

/* Results that read each element of x. */
static int64_t operand_reuse(const tile_value *heavy, const tile_value *x) {
    int64_t reuse = 1;
    for (int i = 0; i < heavy->axis_count; i++) {
        int64_t capacity = range_capacity(heavy->axes[i]);
        if (!tile_has_axis(x, heavy->axes[i]))
            reuse *= capacity < 0 || capacity > 4096 ? 4096 : capacity;
        reuse = reuse > 4096 ? 4096 : reuse;
    }
    return reuse;
}

static void operand_route(lower *l, const tile_value *heavy, int operand, const char *what) {
    VEC_PUSH(l->arena, l->out->routes,
             arena_printf(l->arena, "line %d: operand %d of dot is %s", heavy->span.line, operand + 1, what));
}

static bool cannot_stage(lower *l, const tile_value *heavy, int operand) {
    const source_span at = l->machine->options.operands_at;
    diag *g = diag_error(l->diags, "E0506", at.line ? at : heavy->span, "operand %d of the product in line %d can't be staged",
                         operand + 1, heavy->span.line);
    diag_caret(l->diags, g, "the nearest legal value is direct");
    diag_note(l->diags, g, "it goes over a dimension of no constant extent, or one that no loop around the product enters");
    l->failed = true;
    return false;
}

static bool leaves_somewhere(lower *l, const tile_value *heavy, const tile_value *x) {
    bool leaves = false;
    for (int i = 0; i < heavy->axis_count; i++)
        leaves = leaves || leaves_along(l, x, heavy->axes[i]);
    return leaves;
}

/* Operands of a product are copied to f32 when that pays: a narrow type would be converted again for each result that reads it, and lanes
 * want their elements side by side. A schedule may say that they are, and as what, or that they are not. */
static bool is_copied(lower *l, const tile_value *heavy, int operand, bool spatial) {
    tile_value *x = heavy->operands[operand];
    const operand_choice choice = l->machine->options.operands;
    if (choice == OPERANDS_DIRECT) {
        operand_route(l, heavy, operand, "read in place: the schedule says direct");
        return false;
    }
    if (choice == OPERANDS_STAGED)
        return x->axis_count && (may_copy(l, x) || cannot_stage(l, heavy, operand));
    const bool window = may_copy(l, x) && leaves_somewhere(l, heavy, x);
    l->out->windows = l->out->windows || window;
    int64_t reuse = operand_reuse(heavy, x);
    bool narrow = x->type != (is_whole_number(x->type) ? x->type : arithmetic_type(x->type));
    bool pays = is_cheap(l, x) ? reuse >= 16 && (narrow || spatial) : reuse > 1;
    if (!pays || (may_copy(l, x) && tile_product(x->axes, x->axis_count) * 4 <= l->machine->cache_bytes / 2))
        return pays;
    l->out->windows_in_place = l->out->windows_in_place || window;
    operand_route(l, heavy, operand, "read in place: a copy of it does not fit the cache");
    return false;
}

void prepare_reduction(lower *l, tile_value *heavy) {
    for (int o = 0; o < heavy->operand_count; o++) {
        value_list inner = {0};
        find_heavy(l, heavy->operands[o], &inner);
        for (int i = 0; i < inner.count; i++)
            hold_value(l, inner.at[i]);
    }
    if (heavy->op != TILE_DOT || l->spreads)
        return;
    const schedule_options *options = &l->machine->options;
    reduction_shape shape = choose_reduction_shape(l, heavy->axes, heavy->axis_count, heavy);
    for (int o = 0; o < 2; o++) {
        tile_value *x = heavy->operands[o];
        bool spatial = shape.vector && !shape.vector_reduced && tile_has_axis(x, shape.vector);
        if (l->held[x->id] || l->held_scalar[x->id] || !is_copied(l, heavy, o, spatial))
            continue;
        element_type kept = options->operand_typed     ? options->operand_type
                            : is_whole_number(x->type) ? x->type
                                                       : arithmetic_type(x->type);
        const tile_range *panel = spatial ? shape.vector : NULL;
        hold_value_as(l, x, kept, panel, panel ? (int64_t)shape.vectors * l->machine->vector_lanes : 0);
        operand_route(l, heavy, o,
                      arena_printf(l->arena, "copied to private memory%s%s%s", panel ? " in panels" : "",
                                   options->operand_typed ? " as " : "", options->operand_typed ? element_table[kept].name : ""));
    }
}
