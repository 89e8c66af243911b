/* Lowering for a task of one thread: products by matrix instructions that the thread has itself. Both operands are packed in private memory in their own type, the
 * right one as the instruction wants it, four bytes of the sum's range side by side: fragments of four bytes by a vector are loaded from where it lies and stored to
 * where it is read again, so how such a fragment holds its elements stays the target's. A block of accumulators goes over the sum. */
#include "schedule/lower.h"
#include <limits.h>

enum { GROUP_BYTES = 4 };

typedef struct product {
    lower *l;
    tile_value *heavy;
    const matrix_instruction *with;
    const sink *s;
    source_span span;
    bool adds; /* to what the sink holds */
    int left;  /* the operand that has the rows */
    tile_range *rows, *columns, *summed;
    tile_range **outer; /* the other results' ranges, those that the right operand has first */
    int outer_count, packed_after, depth;
    int across_rows, across_columns;
    kernel_array *packed[2];                /* left, right */
    kernel_fragment *sum, *part[2], *group; /* accumulators; operands; what is packed at a time */
    ghost_record ghost;
} product;

/* ---- whether ---- */

/* Whether fragments of the operand can be loaded from the array it is read from. */
static bool lies_there(lower *l, const tile_value *x, const tile_range *r, const tile_range *summed,
                       const matrix_instruction *with) {
    if (x->op != TILE_LOAD || l->held[x->id] || x->array->type != with->operand || x->has_outside || x->array->role != ARRAY_IN)
        return false;
    for (int d = 0; d < x->array->rank; d++)
        if (index_mentions_data(x->indices[d]))
            return false;
    int along = load_dimension_along(l->arena, x, r), sum = load_dimension_along(l->arena, x, summed), last = x->array->rank - 1;
    return along >= 0 && sum >= 0 && along != sum && (along == last || sum == last);
}

static bool more_than_one(const tile_range *r) {
    return range_capacity(r) != 1;
}

static tile_range *summed_range(const tile_value *heavy) {
    for (int i = 0; i < heavy->contract_count; i++)
        if (more_than_one(heavy->contract[i]))
            return heavy->contract[i];
    return NULL;
}

/* Rows and columns: the ranges of most elements that one operand alone has, columns the one that the sink's memory runs along if it can be. */
static bool find_ranges(product *c) {
    const tile_value *heavy = c->heavy;
    tile_range *found[2] = {NULL, NULL};
    const tile_range *last = c->s->private_array && c->s->axis_count ? c->s->axes[c->s->axis_count - 1] : NULL;
    for (int i = 0; i < heavy->axis_count; i++) {
        tile_range *r = heavy->axes[i];
        bool left = tile_has_axis(heavy->operands[0], r);
        if (left == tile_has_axis(heavy->operands[1], r) || !more_than_one(r))
            continue;
        tile_range **best = &found[left ? 0 : 1];
        if (!*best || r == last || (*best != last && range_capacity(r) > range_capacity(*best)))
            *best = r;
    }
    c->left = found[0] && found[0] == last ? 1 : 0;
    c->rows = found[c->left];
    c->columns = found[1 - c->left];
    c->summed = summed_range(heavy);
    return c->rows && c->columns && c->columns == last;
}

static const char *refusal(product *c) {
    lower *l = c->l;
    const tile_value *heavy = c->heavy;
    int summed = 0;
    if (heavy->type != c->with->accumulator)
        return "its result is of another type than the sums";
    for (int i = 0; i < heavy->contract_count; i++)
        summed += more_than_one(heavy->contract[i]);
    if (summed != 1)
        return summed ? "it sums over several ranges" : "it sums single elements";
    if (!find_ranges(c))
        return "its results' memory does not run along a range of one operand alone, the other having a second one";
    for (int i = 0; i < heavy->axis_count + heavy->contract_count; i++) {
        tile_range *r = i < heavy->axis_count ? heavy->axes[i] : heavy->contract[i - heavy->axis_count];
        if (range_capacity(r) < 0)
            return arena_printf(l->arena, "it goes over all of `%s`, whose extent is no constant", r->name);
        if (!l->place[r->id].entered)
            return arena_printf(l->arena, "no loop around it enters `%s`", r->name);
        for (int t = 0; t < l->atoms.count; t++)
            if (atom_mentions(&l->atoms.at[t], r))
                return "a predicate says for single results what is summed";
    }
    if (range_capacity(c->rows) < c->with->m / 2 || range_capacity(c->columns) < c->with->n / 2)
        return arena_printf(l->arena, "its tile of %lld x %lld is less than half a fragment of %d x %d",
                            (long long)range_capacity(c->rows), (long long)range_capacity(c->columns), c->with->m, c->with->n);
    for (int i = 0; i < l->ir->fragments.count && c->with->m > 1; i++) {
        const kernel_fragment *f = l->ir->fragments.at[i];
        if (f->holder == LEVEL_TASK && f->role == FRAGMENT_ACCUMULATOR && f->rows > 1 && f->element != c->with->accumulator)
            return arena_printf(l->arena, "a product of other types, with sums in %s, has the unit's registers",
                                element_table[f->element].name);
    }
    if (!may_vectorise(l, c->summed) || vector_score(l, heavy->operands[c->left], c->summed) == INT_MIN)
        return "its left operand can't be computed in vectors along the sum";
    return NULL;
}

static bool is_old_value(const lower *l, const tile_value *v, const sink *s) {
    return v->op == TILE_GET && v->variable && l->fields[v->variable->id] && l->fields[v->variable->id][0] == s->private_array;
}

/* ---- loops ---- */

typedef void (*part_body)(point *p, product *c, index_expr *at, bool whole, void *context);

/* Steps of `step` from 0 to `count`, which capacity is the most of; then what is left in steps of `edge`, of which the last may be no whole one. */
static void steps(point *p, product *c, const char *name, index_expr *count, int64_t capacity, int64_t step, int64_t edge,
                  part_body body, void *context) {
    lower *l = c->l;
    arena *a = l->arena;
    int64_t constant = -1;
    bool known = ix_is_const(count, &constant), never = capacity < step || (known && constant < step);
    if (!never) {
        kernel_stmt *s = kernel_for(l->ir, p->block, lower_name(l, name), ix_const(a, 0), ix_sub(a, count, ix_const(a, step - 1)),
                                    step, c->span);
        point inner = point_copy(p);
        inner.block = &s->body;
        body(&inner, c, ix_var(a, s->var), true, context);
    }
    if (known && constant % step == 0)
        return;
    index_expr *from = never ? ix_const(a, 0)
                             : name_index(l, p->block, arena_printf(a, "%s_edge", name),
                                          ix_mul(a, ix_const(a, step), ix_floordiv(a, count, ix_const(a, step))));
    kernel_stmt *s = kernel_for(l->ir, p->block, lower_name(l, name), from, count, edge, c->span);
    point inner = point_copy(p);
    inner.block = &s->body;
    body(&inner, c, ix_var(a, s->var), false, context);
}

static index_expr *written_out(product *c, kernel_block **b, const char *name, int64_t trips, int64_t step) {
    arena *a = c->l->arena;
    if (trips == 1)
        return ix_const(a, 0);
    kernel_stmt *s = kernel_for(c->l->ir, *b, lower_name(c->l, name), ix_const(a, 0), ix_const(a, trips * step), step, c->span);
    s->unroll = true;
    *b = &s->body;
    return ix_var(a, s->var);
}

static kernel_stmt *fragment_stmt(product *c, kernel_block *b, kernel_stmt_kind kind, kernel_fragment *f, index_expr *which) {
    kernel_stmt *s = kernel_append(c->l->ir, b, kind, c->span);
    s->fragments[0] = (fragment_ref){f, f->count > 1 ? which : NULL};
    return s;
}

static void within(product *c, kernel_stmt *s, index_expr *rows, index_expr *columns) {
    s->extents = NEW_ARRAY(c->l->arena, index_expr *, 2);
    s->extents[0] = rows;
    s->extents[1] = columns;
}

static index_expr *count_of(const product *c, const tile_range *r) {
    return c->l->place[r->id].count;
}

static int64_t up_to(int64_t n, int64_t step) {
    return (n + step - 1) / step * step;
}

/* ---- packing ---- */

/* Of the left operand: rows as they are, zeros behind the sum's end up to a whole step. */
static void left_elements(point *p, product *c, index_expr *at, bool whole, void *context) {
    lower *l = c->l;
    arena *a = l->arena;
    const int64_t step = *(const int64_t *)context;
    const int lanes = l->machine->vector_lanes;
    tile_value *x = c->heavy->operands[c->left];
    point q = point_copy(p);
    index_expr *more = written_out(c, &q.block, c->summed->name, step / lanes, lanes);
    q.position[c->summed->id] = ix_add(a, at, more);
    q.vector = c->summed;
    q.lanes = lanes;
    q.active = whole ? NULL : ix_sub(a, count_of(c, c->summed), q.position[c->summed->id]);
    kernel_value *v = kernel_broadcast(l->ir, emit_value(&q, x), lanes);
    if (q.active &&
        !(x->op == TILE_LOAD && !x->has_outside && !l->held[x->id])) { /* what is computed of nothing need not be zero */
        element_type type = c->with->operand, wide = arithmetic_type(type);
        if (v->type != wide)
            v = kernel_op1(l->ir, KERNEL_CONVERT, wide, v);
        v = kernel_prefix_select(l->ir, q.active, v, kernel_const(l->ir, wide, lanes, 0));
    }
    if (v->type != c->with->operand)
        v = kernel_op1(l->ir, KERNEL_CONVERT, c->with->operand, v);
    index_expr *cell[2] = {q.position[c->rows->id], q.position[c->summed->id]};
    kernel_access to = kernel_at(l->ir, c->packed[0], cell);
    to.lanes = lanes;
    to.vector_dim = 1;
    kernel_store(l->ir, q.block, to, v, c->span);
}

static void pack_left(point *p, product *c) {
    lower *l = c->l;
    arena *a = l->arena;
    int64_t step = up_to(c->with->k, l->machine->vector_lanes);
    kernel_stmt *s = kernel_for(l->ir, p->block, lower_name(l, c->rows->name), ix_const(a, 0), count_of(c, c->rows), 1, c->span);
    point inner = point_copy(p);
    inner.block = &s->body;
    inner.position[c->rows->id] = ix_var(a, s->var);
    steps(&inner, c, c->summed->name, count_of(c, c->summed), range_capacity(c->summed), step, step, left_elements, &step);
}

/* The right operand where its groups are loaded from: its own array, or a copy. */
typedef struct origin {
    index_expr *at[2]; /* of the columns, of the sum */
    bool whole[2];
} origin;

static void load_group(point *p, product *c, const origin *o) {
    lower *l = c->l;
    arena *a = l->arena;
    const tile_value *x = c->heavy->operands[1 - c->left];
    int group = c->group->rows;
    point q = point_copy(p);
    kernel_stmt *loop =
        kernel_for(l->ir, q.block, lower_name(l, c->summed->name), ix_const(a, 0), ix_const(a, c->with->k), group, c->span);
    q.block = &loop->body;
    index_expr *sum = ix_add(a, o->at[1], ix_var(a, loop->var));
    q.position[c->columns->id] = o->at[0];
    q.position[c->summed->id] = sum;
    kernel_stmt *load = fragment_stmt(c, q.block, KSTMT_FRAGMENT_LOAD, c->group, NULL);
    if (l->held[x->id]) {
        load->access = emit_private_access(&q, l->held[x->id], l->held_axes[x->id], x->axis_count);
        for (int d = 0; d < x->axis_count; d++) {
            load->row_dim = l->held_axes[x->id][d] == c->summed ? d : load->row_dim;
            load->column_dim = l->held_axes[x->id][d] == c->columns ? d : load->column_dim;
        }
    } else {
        load->access = emit_global_access(&q, x->array, x->indices);
        load->row_dim = load_dimension_along(a, x, c->summed);
        load->column_dim = load_dimension_along(a, x, c->columns);
    }
    if (!o->whole[0] || !o->whole[1])
        within(c, load, o->whole[1] ? ix_const(a, group) : ix_sub(a, count_of(c, c->summed), sum),
               o->whole[0] ? ix_const(a, c->with->n) : ix_sub(a, count_of(c, c->columns), o->at[0]));
    index_expr *cell[2] = {o->at[0], sum};
    kernel_stmt *store = fragment_stmt(c, q.block, KSTMT_FRAGMENT_STORE, c->group, NULL);
    store->access = kernel_at(l->ir, c->packed[1], cell);
    store->row_dim = 1;
    store->column_dim = 0;
}

static void right_second(point *p, product *c, index_expr *at, bool whole, void *context) {
    origin o = *(const origin *)context;
    int second = o.at[0] ? 1 : 0;
    o.at[second] = at;
    o.whole[second] = whole;
    load_group(p, c, &o);
}

static void right_steps(point *p, product *c, bool columns, part_body body, void *context) {
    tile_range *r = columns ? c->columns : c->summed;
    int64_t step = columns ? c->with->n : c->with->k;
    steps(p, c, r->name, count_of(c, r), range_capacity(r), step, step, body, context);
}

static void right_first(point *p, product *c, index_expr *at, bool whole, void *context) {
    bool columns = *(const bool *)context;
    origin o = {{NULL, NULL}, {false, false}};
    o.at[columns ? 0 : 1] = at;
    o.whole[columns ? 0 : 1] = whole;
    right_steps(p, c, !columns, right_second, &o);
}

/* The loops follow the memory that is read. */
static void pack_right(point *p, product *c) {
    lower *l = c->l;
    const tile_value *x = c->heavy->operands[1 - c->left];
    bool columns = !l->held[x->id] && load_dimension_along(l->arena, x, c->summed) == x->array->rank - 1;
    right_steps(p, c, columns, right_first, &columns);
}

/* ---- the product ---- */

typedef struct block {
    index_expr *at[2]; /* the first row and column */
    bool whole[2];
    int count[2]; /* fragments */
} block;

static index_expr *which_sum(product *c, index_expr *row, index_expr *column) {
    return ix_add(c->l->arena, ix_mul(c->l->arena, row, ix_const(c->l->arena, c->across_columns)), column);
}

/* The accumulators from or to what the sink is kept in. */
static void move_sums(point *p, product *c, const block *b, bool load) {
    lower *l = c->l;
    arena *a = l->arena;
    point q = point_copy(p);
    index_expr *row = written_out(c, &q.block, c->rows->name, b->count[0], 1),
               *column = written_out(c, &q.block, c->columns->name, b->count[1], 1);
    if (load && !c->adds) {
        fragment_stmt(c, q.block, KSTMT_FRAGMENT_FILL, c->sum, which_sum(c, row, column))->value =
            kernel_const(l->ir, c->with->accumulator, 1, 0);
        return;
    }
    q.position[c->rows->id] = ix_add(a, b->at[0], ix_mul(a, row, ix_const(a, c->with->m)));
    q.position[c->columns->id] = ix_add(a, b->at[1], ix_mul(a, column, ix_const(a, c->with->n)));
    kernel_stmt *s =
        fragment_stmt(c, q.block, load ? KSTMT_FRAGMENT_LOAD : KSTMT_FRAGMENT_STORE, c->sum, which_sum(c, row, column));
    s->access = emit_private_access(&q, c->s->private_array, c->s->axes, c->s->axis_count);
    for (int d = 0; d < c->s->axis_count; d++) {
        s->row_dim = c->s->axes[d] == c->rows ? d : s->row_dim;
        s->column_dim = c->s->axes[d] == c->columns ? d : s->column_dim;
    }
    if ((!b->whole[0] && c->with->m > 1) || !b->whole[1])
        within(c, s, b->whole[0] ? ix_const(a, c->with->m) : ix_sub(a, count_of(c, c->rows), q.position[c->rows->id]),
               b->whole[1] ? ix_const(a, c->with->n) : ix_sub(a, count_of(c, c->columns), q.position[c->columns->id]));
}

/* One step's indices of the sum, for each result of the block. */
static void consume(point *p, product *c, const block *b, index_expr *step) {
    if (!c->ghost.array)
        return;
    lower *l = c->l;
    arena *a = l->arena;
    point q = point_copy(p);
    tile_range *ranges[2] = {c->rows, c->columns};
    const int sizes[2] = {c->with->m, c->with->n};
    for (int i = 0; i < 2; i++) {
        index_expr *of = ix_const(a, 0);
        if (b->count[i] * sizes[i] > 1) {
            kernel_stmt *s = kernel_for(l->ir, q.block, lower_name(l, arena_printf(a, "%s_part", ranges[i]->name)),
                                        ix_const(a, 0), ix_const(a, (int64_t)b->count[i] * sizes[i]), 1, c->span);
            q.block = &s->body;
            of = ix_var(a, s->var);
        }
        q.position[ranges[i]->id] = ix_add(a, b->at[i], of);
        if (!b->whole[i] && sizes[i] > 1) {
            kernel_stmt *s = kernel_append(l->ir, q.block, KSTMT_IF, c->span);
            s->condition = cond_compare(a, COND_LT, q.position[ranges[i]->id], count_of(c, ranges[i]));
            q.block = &s->body;
        }
    }
    q.position[c->summed->id] = step;
    q.vector = c->summed;
    q.lanes = c->with->k;
    int64_t constant;
    q.active = ix_is_const(count_of(c, c->summed), &constant) && constant % c->with->k == 0
                   ? NULL
                   : ix_sub(a, count_of(c, c->summed), step);
    ghost_consume(&q, &c->ghost, c->span);
}

static void load_parts(product *c, kernel_block *b, const block *of, bool right, index_expr *step) {
    lower *l = c->l;
    arena *a = l->arena;
    int size = right ? c->with->n : c->with->m;
    index_expr *which = written_out(c, &b, (right ? c->columns : c->rows)->name, of->count[right], 1);
    index_expr *place = ix_add(a, of->at[right], ix_mul(a, which, ix_const(a, size)));
    index_expr *cell[2] = {place, step};
    kernel_stmt *s = fragment_stmt(c, b, KSTMT_FRAGMENT_LOAD, c->part[right], which);
    s->access = kernel_at(l->ir, c->packed[right], cell);
    s->row_dim = right ? 1 : 0;
    s->column_dim = right ? 0 : 1;
    if (!right && !of->whole[0] && size > 1)
        within(c, s, ix_sub(a, count_of(c, c->rows), place), ix_const(a, c->with->k));
}

static void multiply_block(point *p, product *c, const block *b) {
    lower *l = c->l;
    arena *a = l->arena;
    move_sums(p, c, b, true);
    kernel_stmt *s =
        kernel_for(l->ir, p->block, lower_name(l, c->summed->name), ix_const(a, 0), count_of(c, c->summed), c->with->k, c->span);
    point inner = point_copy(p);
    inner.block = &s->body;
    index_expr *step = ix_var(a, s->var);
    load_parts(c, inner.block, b, false, step);
    load_parts(c, inner.block, b, true, step);
    kernel_block *at = inner.block;
    index_expr *row = written_out(c, &at, c->rows->name, b->count[0], 1),
               *column = written_out(c, &at, c->columns->name, b->count[1], 1);
    kernel_stmt *mma = fragment_stmt(c, at, KSTMT_FRAGMENT_MMA, c->sum, which_sum(c, row, column));
    mma->fragments[1] = (fragment_ref){c->part[0], c->part[0]->count > 1 ? row : NULL};
    mma->fragments[2] = (fragment_ref){c->part[1], c->part[1]->count > 1 ? column : NULL};
    mma->fragments[3] = mma->fragments[0];
    consume(&inner, c, b, step);
    move_sums(p, c, b, false);
}

static void block_rows(point *p, product *c, index_expr *at, bool whole, void *context) {
    block b = *(const block *)context;
    b.at[0] = at;
    b.whole[0] = whole;
    b.count[0] = whole ? c->across_rows : 1;
    multiply_block(p, c, &b);
}

static void block_columns(point *p, product *c, index_expr *at, bool whole, void *context) {
    block b = {{NULL, at}, {false, whole}, {1, whole ? c->across_columns : 1}};
    (void)context;
    steps(p, c, c->rows->name, count_of(c, c->rows), range_capacity(c->rows), (int64_t)c->across_rows * c->with->m, c->with->m,
          block_rows, &b);
}

static void outer_level(point *p, void *context) {
    product c = *(product *)context;
    if (c.depth == c.packed_after)
        pack_right(p, &c);
    if (c.depth < c.outer_count) {
        tile_range *r = c.outer[c.depth++];
        open_loop(p, r, outer_level, &c, c.span);
        return;
    }
    pack_left(p, &c);
    steps(p, &c, c.columns->name, count_of(&c, c.columns), range_capacity(c.columns), (int64_t)c.across_columns * c.with->n,
          c.with->n, block_columns, NULL);
}

/* ---- the whole ---- */

static kernel_array *packed_array(product *c, int operand, int64_t cells, bool right) {
    lower *l = c->l;
    arena *a = l->arena;
    const tile_value *x = c->heavy->operands[operand];
    index_expr *dims[2] = {ix_const(a, cells),
                           ix_const(a, up_to(range_capacity(c->summed), up_to(c->with->k, l->machine->vector_lanes)))};
    const char *name = x->name ? x->name : x->op == TILE_LOAD ? x->array->name : "operand";
    kernel_array *array = kernel_add_array(l->ir, lower_name(l, name), SPACE_PRIVATE, USE_LOCAL, c->with->operand, 2, dims);
    array->span = x->span;
    if (right) {
        array->layout.kind = LAYOUT_BOX;
        array->layout.box = NEW_ARRAY(a, int64_t, 2);
        array->layout.box[0] = c->with->n;
        array->layout.box[1] = c->group->rows;
    }
    return array;
}

/* As many fragments as registers hold, one row and column of operands besides: a processor's vectors, or a matrix unit's own registers. */
static void choose_block(product *c) {
    bool own = c->with->m > 1;
    int rows = own                                     ? 2
               : c->l->machine->vector_registers >= 32 ? 6
                                                       : 3,
        columns = own                                     ? 2
                  : c->l->machine->vector_registers >= 32 ? 4
                                                          : 3;
    int64_t has_rows = (range_capacity(c->rows) + c->with->m - 1) / c->with->m,
            has_columns = (range_capacity(c->columns) + c->with->n - 1) / c->with->n;
    c->across_rows = has_rows < rows ? (int)has_rows : rows;
    c->across_columns = has_columns < columns ? (int)has_columns : columns;
}

/* A product is done with its fragments before another begins, so products share those of a matrix unit, which has eight registers. */
static kernel_fragment *fragments(product *c, const char *name, fragment_role role, int rows, int columns, int count) {
    element_type type = role == FRAGMENT_ACCUMULATOR ? c->with->accumulator : c->with->operand;
    for (int i = 0; i < c->l->ir->fragments.count && c->with->m > 1; i++) {
        kernel_fragment *f = c->l->ir->fragments.at[i];
        if (f->holder == LEVEL_TASK && f->role == role && f->element == type && f->rows == rows && f->columns == columns) {
            f->count = f->count > count ? f->count : count;
            return f;
        }
    }
    kernel_fragment *f = kernel_add_fragment(c->l->ir, lower_name(c->l, name), role, type, rows, columns, count, LEVEL_TASK);
    f->span = c->span;
    return f;
}

static void order_outer(product *c, tile_range **axes, int count) {
    c->outer = NEW_ARRAY(c->l->arena, tile_range *, count + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < count; i++)
            if (axes[i] != c->rows && axes[i] != c->columns &&
                tile_has_axis(c->heavy->operands[1 - c->left], axes[i]) == (pass == 0))
                c->outer[c->outer_count++] = axes[i];
        if (pass == 0)
            c->packed_after = c->outer_count;
    }
}

static void multiply(product *c, tile_range **axes, int count) {
    lower *l = c->l;
    arena *a = l->arena;
    const matrix_instruction *with = c->with;
    tile_value *right = c->heavy->operands[1 - c->left];
    for (int o = 0; o < 2; o++) {
        value_list inner = {0};
        find_heavy(l, c->heavy->operands[o], &inner);
        for (int i = 0; i < inner.count; i++)
            hold_value(l, inner.at[i]);
    }
    if (!l->held[right->id] && !lies_there(l, right, c->columns, c->summed, with))
        hold_value_as(l, right, with->operand, NULL, 0);
    if (l->failed)
        return;
    choose_block(c);
    order_outer(c, axes, count);
    c->group = fragments(c, "group", FRAGMENT_B, GROUP_BYTES / element_table[with->operand].block_bytes, with->n, 1);
    c->sum = fragments(c, "sum", FRAGMENT_ACCUMULATOR, with->m, with->n, c->across_rows * c->across_columns);
    c->part[0] = fragments(c, arena_printf(a, "%s_part", c->rows->name), FRAGMENT_A, with->m, with->k, c->across_rows);
    c->part[1] = fragments(c, arena_printf(a, "%s_part", c->columns->name), FRAGMENT_B, with->k, with->n, c->across_columns);
    c->packed[0] = packed_array(c, c->left, range_capacity(c->rows), false);
    c->packed[1] = packed_array(c, 1 - c->left, up_to(range_capacity(c->columns), with->n), true);
    ghost_make(l, &c->ghost, axes, count, &c->summed, 1, c->heavy);
    count_root_references(l, c->heavy);
    reduction_tree tree = {.value_id = c->heavy->id,
                           .chunk = range_capacity(c->summed),
                           .parallel = 1,
                           .deferred = c->adds,
                           .added = with->added,
                           .fraction = with->fraction,
                           .flushes = with->flushes};
    VEC_PUSH(a, l->out->trees, tree);
    VEC_PUSH(
        a, l->out->routes,
        arena_printf(a, "line %d: dot: by %s, fragments of %d x %d x %d in blocks of %d x %d, operands packed in private memory",
                     c->heavy->span.line, with->name, with->m, with->n, with->k, c->across_rows, c->across_columns));
    l->out->matrix_products++;
    point p = point_new(l);
    outer_level(&p, c);
}

/* Types for which some processor has an instruction: of these a route is told that was refused. */
static bool is_worth_telling(const tile_value *heavy) {
    element_type x = heavy->operands[0]->type;
    return (x == ELEMENT_BF16 || x == ELEMENT_I8) && product_is_two_sided(heavy);
}

fragment_outcome lower_by_fragments(lower *l, tile_range **axes, int count, tile_value *value, tile_value *heavy, const sink *s,
                                    source_span span) {
    const matrix_table *table = &l->machine->matrices;
    const operand_choice choice = l->machine->options.operands;
    element_type x = heavy->op == TILE_DOT ? heavy->operands[0]->type : ELEMENT_F32;
    if (heavy->op != TILE_DOT || l->spreads || l->machine->subgroup_lanes || !product_is_two_sided(heavy))
        return FRAGMENTS_NONE;
    bool told = operands_by_fragments(choice) || is_worth_telling(heavy);
    product c = {.l = l, .heavy = heavy, .s = s, .span = span};
    const char *why = NULL;
    if (choice == OPERANDS_DIRECT || choice == OPERANDS_STAGED)
        why = "the schedule says how operands are read";
    else if (heavy->accumulator == ELEMENT_F16)
        why = "its sums are f16 at every step";
    else if (x == heavy->operands[1]->type)
        c.with = matrix_row_of_task(table, x, accumulator_type(heavy));
    if (!why && !c.with)
        why = arena_printf(l->arena, "this processor has no matrix instruction for operands of %s and %s (it has: %s)",
                           element_table[x].name, element_table[heavy->operands[1]->type].name, matrix_operands(l->arena, table));
    if (!why && c.with->no_gain && choice == OPERANDS_CHOSEN)
        why =
            arena_printf(l->arena, "%s is no quicker here than multiply-adds; `operands = fragments` asks for it", c.with->name);
    bool alone =
        s->private_array && s->private_array->element == (c.with ? c.with->accumulator : ELEMENT_F32) &&
        (value == heavy || (value->op == TILE_ADD && ((value->operands[1] == heavy && is_old_value(l, value->operands[0], s)) ||
                                                      (value->operands[0] == heavy && is_old_value(l, value->operands[1], s)))));
    tile_range **own = NEW_ARRAY(l->arena, tile_range *, heavy->axis_count + 1);
    sink held = {.axes = own, .axis_count = heavy->axis_count};
    if (!why && !alone) { /* what it would be kept in */
        for (int i = 0; i < heavy->axis_count; i++)
            own[i] = heavy->axes[i];
        order_last(own, heavy->axis_count, preferred_last_axis(l, heavy));
        held.private_array = NEW(l->arena, kernel_array);
        c.s = &held;
    }
    if (!why)
        why = refusal(&c);
    if (why) {
        if (told)
            VEC_PUSH(l->arena, l->out->routes,
                     arena_printf(l->arena, "line %d: dot: not by matrix instructions: %s", heavy->span.line, why));
        return FRAGMENTS_NONE;
    }
    if (!alone)
        return FRAGMENTS_HELD;
    c.adds = value != heavy;
    multiply(&c, axes, count);
    return FRAGMENTS_DONE;
}
