/* Lowering to the threads of a block: products by matrix instructions. Subgroups stand as rows and columns over the product's tile, each with an array of
 * accumulators; operands are staged in shared memory in their own type (lanes_stage.c), what does not exist as zero, so that whole fragments are loaded, or
 * loaded straight from memory (lanes_direct.c). */
#include "schedule/lanes_fragment.h"

/* ---- whether ---- */

static bool has_range(const tile_value *v, const tile_range *r) {
    return r && tile_has_axis(v, r);
}

static const char *shape_refusal(lower *l, const tile_value *product, const tile_range *rows, const tile_range *columns,
                                 const matrix_instruction *row) {
    arena *a = l->arena;
    int summed = 0;
    if (!has_range(product, rows) || !has_range(product, columns))
        return "threads don't stand as rows and columns of this product";
    for (int i = 0; i < product->axis_count; i++)
        if (product->axes[i] != rows && product->axes[i] != columns && range_capacity(product->axes[i]) != 1)
            return arena_printf(a, "its results go over `%s` besides rows and columns", product->axes[i]->name);
    for (int i = 0; i < product->contract_count; i++)
        summed += range_capacity(product->contract[i]) != 1;
    if (summed != 1)
        return summed ? "it sums over several ranges" : "it sums single elements";
    if (range_capacity(rows) < row->m / 2 || range_capacity(columns) < row->n / 2)
        return arena_printf(a, "its tile of %lld x %lld is less than half a fragment of %d x %d", (long long)range_capacity(rows),
                            (long long)range_capacity(columns), row->m, row->n);
    return NULL;
}

/* The same for a warpgroup, whose operands' tiles are read where they lie. */
static const matrix_instruction *warpgroup_row(lower *l, const tile_value *product, const tile_range *rows,
                                               const tile_range *columns, const char **why) {
    arena *a = l->arena;
    const machine_model *m = l->machine;
    const schedule_options *o = &m->options;
    element_type x = product->operands[0]->type;
    const int bytes = element_table[x].block_bytes;
    int rows_of_subgroups = o->subgroup_rows ? o->subgroup_rows : m->subgroups,
        across = o->subgroup_rows ? o->subgroup_columns : 1;
    if (rows_of_subgroups % m->warpgroup_subgroups) {
        *why = arena_printf(a, "a warpgroup is %d x 1 subgroups, the block has %d x %d", m->warpgroup_subgroups,
                            rows_of_subgroups, across);
        return NULL;
    }
    *why = NULL;
    for (int i = 0; i < product->contract_count; i++)
        if (range_capacity(product->contract[i]) != 1 && range_capacity(product->contract[i]) % (SWIZZLED_BYTES / bytes))
            *why = arena_printf(a, "tiles of `%s` are no multiple of %d, a row of what is read from shared memory",
                                product->contract[i]->name, SWIZZLED_BYTES / bytes);
    const matrix_instruction *row =
        range_capacity(columns) % across == 0 && x == product->operands[1]->type
            ? matrix_row_by_reference(&m->matrices, x, accumulator_type(product), range_capacity(columns) / across)
            : NULL;
    if (!row && !*why)
        *why = arena_printf(a, "no matrix instruction of a warpgroup takes operands of %s over %lld columns",
                            element_table[x].name, (long long)range_capacity(columns) / across);
    if (!*why && row->kept && !o->promote)
        *why = arena_printf(a, "%s keeps %d of the 23 bits of its sums: say how many products it may add, as in promote = %d",
                            row->name, row->kept, SWIZZLED_BYTES);
    for (int i = 0; i < product->contract_count && !*why && row->kept; i++)
        if (o->promote % range_capacity(product->contract[i]))
            *why = arena_printf(a, "promote = %d is no multiple of the tiles of `%s`, %lld", o->promote,
                                product->contract[i]->name, (long long)range_capacity(product->contract[i]));
    if (!*why)
        *why = shape_refusal(l, product, rows, columns, row);
    return *why ? NULL : row;
}

bool lanes_by_reference(const lower *l, const tile_value *product) {
    return l->matrices[product->id] && l->matrices[product->id]->holder == LEVEL_WARPGROUP;
}

const matrix_instruction *lanes_fragment_row(lower *l, const tile_value *product, const tile_range *rows,
                                             const tile_range *columns, const char **why) {
    const matrix_table *t = &l->machine->matrices;
    element_type x = product->operands[0]->type, y = product->operands[1]->type;
    *why = NULL;
    if (!t->count) {
        *why = arena_printf(l->arena, "target %s has no matrix instructions", l->machine->target);
        return NULL;
    }
    if (product->accumulator == ELEMENT_F16) {
        *why = "its sums are f16 at every step";
        return NULL;
    }
    if (l->machine->options.operand_warpgroups)
        return warpgroup_row(l, product, rows, columns, why);
    const matrix_instruction *row = x == y ? matrix_row_of(t, x, accumulator_type(product)) : NULL;
    if (!row) {
        const char *nearest = x == y ? matrix_nearest(l->arena, t, x) : NULL;
        *why =
            arena_printf(l->arena, "no matrix instruction takes operands of %s and %s, only two of %s%s%s", element_table[x].name,
                         element_table[y].name, matrix_operands(l->arena, t), nearest ? "; " : "", nearest ? nearest : "");
        return NULL;
    }
    if (row->holder != LEVEL_SUBGROUP || row->lanes != l->machine->subgroup_lanes) {
        *why = arena_printf(l->arena, "%s wants %d lanes", row->name, row->lanes);
        return NULL;
    }
    *why = shape_refusal(l, product, rows, columns, row);
    return *why ? NULL : row;
}

/* ---- the shapes ---- */

static const spread *spread_of(const lower *l, const tile_range *r) {
    return &(l->along ? l->along : l->spreads)[r->id];
}

static int64_t up_to(int64_t n, int64_t step) {
    return (n + step - 1) / step * step;
}

static tile_range *summed_range(const tile_value *product) {
    for (int i = 0; i < product->contract_count; i++)
        if (range_capacity(product->contract[i]) != 1)
            return product->contract[i];
    return product->contract[0];
}

int64_t lanes_fragment_cells(const lower *l, const tile_value *product, const tile_range *r) {
    const matrix_instruction *with = l->matrices[product->id];
    if (l->chain)
        return lanes_chain_cells(l, r);
    if (r == l->product_rows)
        return up_to(range_capacity(r), (int64_t)with->m * spread_of(l, r)->subgroups);
    if (r == l->product_columns)
        return up_to(range_capacity(r), (int64_t)with->n * spread_of(l, r)->subgroups);
    return r == summed_range(product) ? up_to(range_capacity(r), with->k) : range_capacity(r);
}

int64_t lanes_fragment_registers(lower *l, const tile_value *product) {
    const tile_range *rows = l->product_rows, *columns = l->product_columns;
    return lanes_fragment_cells(l, product, rows) / spread_of(l, rows)->subgroups * lanes_fragment_cells(l, product, columns) /
           spread_of(l, columns)->subgroups / l->matrices[product->id]->lanes;
}

fragment_tile lanes_fragment_tile(lower *l, const tile_value *product, kernel_fragment **made, const char *name) {
    fragment_tile t = {.with = l->matrices[product->id], .rows = l->product_rows, .columns = l->product_columns};
    t.across_rows = (int)(lanes_fragment_cells(l, product, t.rows) / spread_of(l, t.rows)->subgroups / t.with->m);
    t.across_columns = (int)(lanes_fragment_cells(l, product, t.columns) / spread_of(l, t.columns)->subgroups / t.with->n);
    if (!*made) {
        *made = kernel_add_fragment(l->ir, lower_name(l, name), FRAGMENT_ACCUMULATOR, t.with->accumulator, t.with->m, t.with->n,
                                    t.across_rows * t.across_columns, t.with->holder);
        (*made)->span = product->span;
    }
    t.f = *made;
    return t;
}

index_expr *lanes_fragment_place(lower *l, const fragment_tile *t, bool rows, index_expr *which) {
    arena *a = l->arena;
    const spread *x = spread_of(l, (rows ? t->rows : t->columns));
    int size = rows ? t->with->m : t->with->n, across = rows ? t->across_rows : t->across_columns;
    index_expr *own = x->subgroup ? ix_mul(a, ix_var(a, x->subgroup), ix_const(a, (int64_t)across * size)) : ix_const(a, 0);
    return ix_add(a, own, ix_mul(a, which, ix_const(a, size)));
}

static index_expr *written_out(lower *l, kernel_block **b, const char *name, int trips, source_span span) {
    if (trips == 1)
        return ix_const(l->arena, 0);
    kernel_stmt *s = kernel_for(l->ir, *b, lower_name(l, name), ix_const(l->arena, 0), ix_const(l->arena, trips), 1, span);
    s->unroll = true;
    *b = &s->body;
    return ix_var(l->arena, s->var);
}

kernel_block *lanes_fragment_each(lower *l, const fragment_tile *t, index_expr **row, index_expr **column, index_expr **which,
                                  source_span span) {
    kernel_block *b = l->block;
    *row = written_out(l, &b, arena_printf(l->arena, "%s_fragment", t->rows->name), t->across_rows, span);
    *column = written_out(l, &b, arena_printf(l->arena, "%s_fragment", t->columns->name), t->across_columns, span);
    *which = ix_add(l->arena, ix_mul(l->arena, *row, ix_const(l->arena, t->across_columns)), *column);
    return b;
}

kernel_stmt *lanes_fragment_stmt(lower *l, kernel_block *b, kernel_stmt_kind kind, kernel_fragment *f, index_expr *which,
                                 source_span span) {
    kernel_stmt *s = kernel_append(l->ir, b, kind, span);
    s->fragments[0] = (fragment_ref){f, f->count > 1 ? which : NULL};
    return s;
}

void lanes_fragment_fill(lower *l, const fragment_tile *t, kernel_value *v, source_span span) {
    kernel_block *b = l->block;
    index_expr *which = written_out(l, &b, "fragment", t->f->count, span);
    lanes_fragment_stmt(l, b, KSTMT_FRAGMENT_FILL, t->f, which, span)->value = v;
}

/* ---- the product ---- */

/* Which of the indices of the sum a fragment's product consumed, dealt to the lanes. */
typedef struct consumption {
    const fragment_tile *t;
    const ghost_record *g;
    tile_range *summed;
    index_expr *first, *end; /* of the summed range, local */
    bool from_first;         /* the first step begins there, not at 0 */
    source_span span;
} consumption;

/* Every step multiplies as many indices as the instruction takes. */
static bool whole_steps(const consumption *c) {
    int64_t first = 0, end;
    return (!c->from_first || ix_is_const(c->first, &first)) && ix_is_const(c->end, &end) && (end - first) % c->t->with->k == 0;
}

static bool bound(lower *l, cond **guard, index_expr *position, index_expr *count, int64_t cells) {
    int64_t constant;
    if (ix_is_const(count, &constant) && constant >= cells)
        return false;
    *guard = cond_and(l->arena, *guard, cond_compare(l->arena, COND_LT, position, count));
    return true;
}

static kernel_block *where(lower *l, kernel_block *b, cond *c, source_span span) {
    if (!c)
        return b;
    kernel_stmt *s = kernel_append(l->ir, b, KSTMT_IF, span);
    s->condition = c;
    return &s->body;
}

static void consume(lower *l, const consumption *c, kernel_block *b, index_expr *row, index_expr *column, index_expr *step) {
    if (!c->g->array)
        return;
    arena *a = l->arena;
    const fragment_tile *t = c->t;
    tile_range *ranges[2] = {t->rows, t->columns};
    const int sizes[2] = {t->with->m, t->with->n};
    cond *exists = NULL;
    point p = point_new(l);
    for (int i = 0; i < 2; i++) {
        const spread *x = spread_of(l, ranges[i]);
        int trips = (sizes[i] + x->lanes - 1) / x->lanes;
        index_expr *of = written_out(l, &b, arena_printf(a, "%s_part", ranges[i]->name), trips, c->span);
        index_expr *at = ix_add(a, ix_mul(a, of, ix_const(a, x->lanes)), x->lane ? x->lane : ix_const(a, 0));
        if (sizes[i] % x->lanes)
            exists = cond_and(a, exists, cond_compare(a, COND_LT, at, ix_const(a, sizes[i])));
        p.position[ranges[i]->id] = ix_add(a, lanes_fragment_place(l, t, i == 0, i ? column : row), at);
        bound(l, &exists, p.position[ranges[i]->id], l->place[ranges[i]->id].count,
              (int64_t)sizes[i] * (i ? t->across_columns : t->across_rows) * x->subgroups);
    }
    p.block = where(l, b, exists, c->span);
    int64_t constant;
    if (c->from_first || (ix_is_const(c->first, &constant) && constant <= 0)) { /* a prefix of the step */
        p.position[c->summed->id] = step;
        p.vector = c->summed;
        p.lanes = t->with->k;
        p.active = ix_sub(a, c->end, step);
        if (whole_steps(c))
            p.active = NULL;
        ghost_consume(&p, c->g, c->span);
        return;
    }
    kernel_stmt *one = kernel_for(l->ir, p.block, lower_name(l, arena_printf(a, "%s_part", c->summed->name)), ix_const(a, 0),
                                  ix_const(a, t->with->k), 1, c->span);
    index_expr *at = ix_add(a, step, ix_var(a, one->var));
    p.position[c->summed->id] = at;
    p.block =
        where(l, &one->body, cond_and(a, cond_compare(a, COND_LE, c->first, at), cond_compare(a, COND_LT, at, c->end)), c->span);
    ghost_consume(&p, c->g, c->span);
}

/* A load of the fragment of these rows or columns, at a step of the sum; which of the fragments is filled is the caller's to say. */
static kernel_stmt *operand_load(lower *l, kernel_block *b, const tile_value *product, kernel_fragment *f, const fragment_tile *t,
                                 bool rows, tile_range *summed, index_expr *step, index_expr *which) {
    tile_range *r = rows ? t->rows : t->columns;
    int operand = tile_has_axis(product->operands[0], r) ? 0 : 1, lead = l->rings[product->id] > 0;
    int along = lanes_stage_dimension(l, product, operand, r), sum = lanes_stage_dimension(l, product, operand, summed);
    index_expr *at[3] = {l->ring_slot};
    at[along + lead] = lanes_fragment_place(l, t, rows, which);
    at[sum + lead] = step;
    kernel_stmt *s = lanes_fragment_stmt(l, b, KSTMT_FRAGMENT_LOAD, f, NULL, product->span);
    s->access = kernel_at(l->ir, lanes_stage_array(l, product, operand), at);
    s->row_dim = lead + (rows ? along : sum);
    s->column_dim = lead + (rows ? sum : along);
    return s;
}

/* Loads one operand's fragments of the subgroup's rows or columns, at a step of the sum. */
static kernel_fragment *load_operand(lower *l, kernel_block *b, const tile_value *product, const consumption *c, bool rows,
                                     index_expr *step) {
    const fragment_tile *t = c->t;
    tile_range *r = rows ? t->rows : t->columns, *summed = c->summed;
    int operand = tile_has_axis(product->operands[0], r) ? 0 : 1, across = rows ? t->across_rows : t->across_columns;
    const matrix_instruction *with = t->with;
    kernel_fragment **made = &l->fragments[2 * product->id + operand];
    if (!*made) {
        *made =
            kernel_add_fragment(l->ir, lower_name(l, arena_printf(l->arena, "%s_part", r->name)), rows ? FRAGMENT_A : FRAGMENT_B,
                                with->operand, rows ? with->m : with->k, rows ? with->k : with->n, across, LEVEL_SUBGROUP);
        (*made)->span = product->span;
    }
    index_expr *which = written_out(l, &b, arena_printf(l->arena, "%s_fragment", r->name), across, product->span);
    if (l->direct[product->id]) {
        kernel_stmt *load = lanes_fragment_stmt(l, b, KSTMT_FRAGMENT_LOAD, *made, which, product->span);
        lanes_direct_load(l, load, product, operand, r, lanes_fragment_place(l, t, rows, which), summed, step, c->end,
                          whole_steps(c));
        lower_matrix_load(l, b, load, product, operand);
        return *made;
    }
    if (lanes_rounds_later(l, product)) { /* as memory has it, then rounded in registers */
        kernel_fragment **raw = &l->unrounded[2 * product->id + operand];
        if (!*raw) {
            *raw = kernel_add_fragment(l->ir, lower_name(l, arena_printf(l->arena, "%s_unrounded", r->name)), (*made)->role,
                                       ELEMENT_F32, (*made)->rows, (*made)->columns, 1, LEVEL_SUBGROUP);
            (*raw)->span = product->span;
        }
        operand_load(l, b, product, *raw, t, rows, summed, step, which)->fragments[0] = (fragment_ref){*raw, NULL};
        lanes_fragment_stmt(l, b, KSTMT_FRAGMENT_CONVERT, *made, which, product->span)->fragments[1] = (fragment_ref){*raw, NULL};
        return *made;
    }
    kernel_stmt *s = operand_load(l, b, product, *made, t, rows, summed, step, which);
    s->fragments[0] = (fragment_ref){*made, across > 1 ? which : NULL};
    lower_matrix_load(l, b, s, product, operand);
    return *made;
}

/* The same by reference, of one step and one row or column of fragments: such a fragment is a place alone. */
static fragment_ref refer_to_operand(lower *l, kernel_block *b, const tile_value *product, const fragment_tile *t, bool rows,
                                     tile_range *summed, int64_t steps, index_expr *step, index_expr *which) {
    arena *a = l->arena;
    tile_range *r = rows ? t->rows : t->columns;
    const matrix_instruction *with = t->with;
    int operand = tile_has_axis(product->operands[0], r) ? 0 : 1, across = rows ? t->across_rows : t->across_columns;
    kernel_fragment **made = &l->fragments[2 * product->id + operand];
    if (!*made) {
        *made = kernel_add_fragment(l->ir, lower_name(l, arena_printf(a, "%s_part", r->name)), rows ? FRAGMENT_A : FRAGMENT_B,
                                    with->operand, rows ? with->m : with->k, rows ? with->k : with->n, (int)(across * steps),
                                    with->holder);
        (*made)->span = product->span;
    }
    kernel_stmt *s = operand_load(l, b, product, *made, t, rows, summed, step, which);
    s->by_reference = true;
    index_expr *of_step = ix_mul(a, ix_floordiv(a, step, ix_const(a, with->k)), ix_const(a, across));
    s->fragments[0] = (fragment_ref){*made, (*made)->count > 1 ? ix_add(a, of_step, which) : NULL};
    return s->fragments[0];
}

static void add_by_reference(lower *l, const tile_value *product, const fragment_tile *sum, const consumption *c,
                             tile_range *summed, int64_t steps, index_expr *step) {
    index_expr *row, *column, *which;
    kernel_block *b = lanes_fragment_each(l, sum, &row, &column, &which, c->span);
    fragment_ref x = refer_to_operand(l, b, product, sum, true, summed, steps, step, row),
                 y = refer_to_operand(l, b, product, sum, false, summed, steps, step, column);
    kernel_stmt *s = lanes_fragment_stmt(l, b, KSTMT_FRAGMENT_MMA, sum->f, which, c->span);
    s->fragments[1] = x;
    s->fragments[2] = y;
    s->fragments[3] = s->fragments[0];
    s->asynchronous = true;
    consume(l, c, b, row, column, step);
}

void lanes_fragment_add(lower *l, const tile_value *product, const fragment_tile *sum, const ghost_record *g, source_span span) {
    arena *a = l->arena;
    tile_range *summed = summed_range(product);
    int64_t cells = lanes_fragment_cells(l, product, summed), k = sum->with->k;
    const bool by_reference = lanes_by_reference(l, product);
    bool ring = l->rings[product->id] > 0; /* then the tiles are there, and stay until others may be written */
    bool direct = l->direct[product->id];
    if (direct)
        VEC_PUSH(a, l->out->routes,
                 arena_printf(a, "line %d: operands of dot loaded straight from memory, no copies (refused: staged)",
                              product->span.line));
    if (!ring && !direct)
        lanes_stage_copy(l, product);
    consumption c = {.t = sum, .g = g, .summed = summed, .from_first = direct, .span = span};
    point p = point_new(l);
    cond *guard;
    loop_bounds(&p, summed, false, &c.first, &c.end, &guard);
    kernel_block *outside = l->block;
    index_expr *step = ix_const(a, 0);
    if (direct || cells > k) {
        kernel_stmt *s = kernel_for(l->ir, l->block, lower_name(l, summed->name), direct ? c.first : ix_const(a, 0),
                                    direct ? c.end
                                    : ring ? ix_const(a, cells)
                                           : l->place[summed->id].count,
                                    k, span);
        s->unroll = by_reference;
        l->block = &s->body;
        step = ix_var(a, s->var);
    }
    if (by_reference) {
        add_by_reference(l, product, sum, &c, summed, cells / k, step);
        l->block = outside;
        return;
    }
    kernel_fragment *x = load_operand(l, l->block, product, &c, true, step),
                    *y = load_operand(l, l->block, product, &c, false, step);
    index_expr *row, *column, *which;
    kernel_block *b = lanes_fragment_each(l, sum, &row, &column, &which, span);
    kernel_stmt *s = lanes_fragment_stmt(l, b, KSTMT_FRAGMENT_MMA, sum->f, which, span);
    s->fragments[1] = (fragment_ref){x, x->count > 1 ? row : NULL};
    s->fragments[2] = (fragment_ref){y, y->count > 1 ? column : NULL};
    s->fragments[3] = s->fragments[0];
    lower_matrix_product(l, b, s, product);
    consume(l, &c, b, row, column, step);
    l->block = outside;
    if (!ring && !direct)
        lanes_barrier(l, 1u << SPACE_SHARED, span); /* the next trip writes the tiles again */
}

kernel_array *lanes_fragment_meet(lower *l, const tile_value *product, const fragment_tile *t, source_span span) {
    kernel_array **made = &l->met[product->id];
    index_expr *dims[2] = {ix_const(l->arena, lanes_fragment_cells(l, product, t->rows)),
                           ix_const(l->arena, lanes_fragment_cells(l, product, t->columns))};
    if (!*made) { /* the same product for the tiles at the edge uses it again */
        *made = kernel_add_array(l->ir, lower_name(l, "sums"), SPACE_SHARED, USE_LOCAL, t->with->accumulator, 2, dims);
        (*made)->span = span;
        (*made)->layout.kind = LAYOUT_PAD; /* rows begin in different banks */
        (*made)->layout.amount = 4;
    }
    index_expr *row, *column, *which;
    kernel_block *b = lanes_fragment_each(l, t, &row, &column, &which, span);
    index_expr *at[2] = {lanes_fragment_place(l, t, true, row), lanes_fragment_place(l, t, false, column)};
    kernel_stmt *s = lanes_fragment_stmt(l, b, KSTMT_FRAGMENT_STORE, t->f, which, span);
    s->access = kernel_at(l->ir, *made, at);
    s->column_dim = 1;
    lanes_barrier(l, 1u << SPACE_SHARED, span);
    return *made;
}

reduction_tree lanes_fragment_tree(const lower *l, const tile_value *product) {
    const matrix_instruction *with = l->matrices[product->id];
    return (reduction_tree){.value_id = product->id,
                            .chunk = with->kept ? l->machine->options.promote : range_capacity(summed_range(product)),
                            .parallel = 1,
                            .added = with->added,
                            .fraction = with->fraction,
                            .unit = matrix_unit_name(l->arena, with),
                            .kept = with->kept};
}
