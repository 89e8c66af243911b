/* Lowering to the threads of a block: the statements of a kernel wholly in fragments (lanes_chain.h). An elementwise value is a map over accumulators or over
 * row vectors; a reduction combines the fragments of a row before lanes exchange; a product goes a few fragments of columns at a time, so that what is made
 * of it needs no accumulators of its own. Elements that do not exist are left out where they would be summed, by their position. */
#include "schedule/lanes_fragment.h"
#include "schedule/lanes_chain.h"
#include <string.h>

/* A text for subgroups all of whose elements exist and one for the others, where it can be told: how many, the current block being the first's. */
static int open_parts(lower *l, tile_range *columns, source_span span) {
    bool known;
    cond *all = chain_all_exist(l, columns, &known);
    l->chain->all_exist = known || all;
    if (!all)
        return 1;
    kernel_stmt *s = kernel_append(l->ir, l->block, KSTMT_IF, span);
    s->condition = all;
    l->block = &s->body;
    return 2;
}

static void next_part(lower *l, int part, kernel_block *outside) {
    if (!part)
        return;
    l->chain->all_exist = false;
    l->block = &outside->items.at[outside->items.count - 1]->otherwise;
}

/* ---- reductions along rows ---- */

static void hold_heavy(lower *l, tile_value *v, const tile_value *except) {
    value_list heavy = {0};
    find_heavy(l, v, &heavy);
    for (int i = 0; i < heavy.count; i++)
        if (heavy.at[i] != except)
            lanes_chain_hold(l, heavy.at[i]);
}

static void reduce(lower *l, const tile_value *v, kernel_fragment *to) {
    arena *a = l->arena;
    chain *c = l->chain;
    tile_value *x = v->operands[0];
    tile_range *columns = v->range;
    kernel_fragment *sum = c->working;
    index_expr *zero = ix_const(a, 0);
    hold_heavy(l, x, NULL);
    ghost_record ghost = {0};
    tile_range *reduced[1] = {columns};
    ghost_make(l, &ghost, v->axes, v->axis_count, reduced, 1, v);
    kernel_block *outside = l->block;
    for (int part = 0, parts = open_parts(l, columns, v->span); part < parts; part++) {
        next_part(l, part, outside);
        kernel_block *b = l->block;
        index_expr *row = chain_each_row(l, &b, v->span);
        chain_fragment_stmt(l, b, KSTMT_FRAGMENT_FILL, sum, zero, v->span)->value = reduction_identity(l, v, ELEMENT_F32);
        kernel_block *inner = b;
        index_expr *column =
            chain_written_out(l, &inner, arena_printf(a, "%s_fragment", columns->name), chain_across(l, columns), v->span);
        map_place m = chain_open_map(l, inner, sum, zero, row, columns, column, v->span);
        kernel_value *term = chain_where_existing(&m.p, columns, emit_value(&m.p, x), reduction_identity(l, v, ELEMENT_F32));
        chain_close_map(l, &m, kernel_op2(l->ir, combining_op(v), ELEMENT_F32, chain_element_of(l, sum, zero), term));
        kernel_stmt *s = chain_fragment_stmt(l, b, KSTMT_FRAGMENT_REDUCE, to, row, v->span);
        s->fragments[1] = (fragment_ref){sum, zero};
        s->combine = combining_op(v);
        s->axis = 1;
    }
    l->block = outside;
    c->all_exist = false;
    if (ghost.array) { /* both texts take the same */
        kernel_block *b = outside;
        index_expr *row = chain_each_row(l, &b, v->span);
        index_expr *column =
            chain_written_out(l, &b, arena_printf(a, "%s_fragment", columns->name), chain_across(l, columns), v->span);
        chain_consume(l, &ghost, b, row, NULL, NULL, columns, chain_column_place(l, column), c->with->n, v->span);
    }
    if (v->op == TILE_REDUCE_SUM) {
        reduction_tree tree = {.value_id = v->id, .chunk = range_capacity(columns), .parallel = c->with->n};
        VEC_PUSH(a, l->out->trees, tree);
    }
    VEC_PUSH(
        a, l->out->routes,
        arena_printf(a, "line %d: %s: a row's fragments, then the lanes of the row", v->span.line, tile_op_table[v->op].name));
}

/* ---- products ---- */

/* The load of an operand's fragment, from its tile or from memory; whose first element stands at `place` of r and `step` of the sum. */
static void load_operand(lower *l, kernel_block *b, const chain_product *p, int o, fragment_ref to, index_expr *place,
                         index_expr *step) {
    const bool rows = o == p->left;
    tile_range *r = rows ? l->chain->rows : p->columns;
    kernel_stmt *s = kernel_append(l->ir, b, KSTMT_FRAGMENT_LOAD, p->v->span);
    s->fragments[0] = to;
    if (p->routes[o] == CHAIN_DIRECT) {
        int64_t count;
        index_expr *end = l->place[p->summed->id].count;
        lanes_direct_load(l, s, p->v, o, r, place, p->summed, step, end,
                          ix_is_const(end, &count) && count >= lanes_chain_cells(l, p->summed));
        return;
    }
    const int lead = p->ringed[o], along = lanes_stage_dimension(l, p->v, o, r),
              sum = lanes_stage_dimension(l, p->v, o, p->summed);
    index_expr *at[3] = {lead ? l->chain->slots[p->home[o]->range->id] : NULL};
    at[along + lead] = place;
    at[sum + lead] = step;
    s->access = kernel_at(l->ir, lanes_stage_array(l, p->v, o), at);
    s->row_dim = lead + (rows ? along : sum);
    s->column_dim = lead + (rows ? sum : along);
}

static int64_t steps_of(const lower *l, const chain_product *p) {
    return lanes_chain_cells(l, p->summed) / l->chain->with->k;
}

void chain_load_kept(lower *l) {
    const chain *c = l->chain;
    for (int i = 0; i < c->products.count; i++) {
        const chain_product *p = &c->products.at[i];
        if (!p->kept)
            continue;
        kernel_block *b = l->block;
        index_expr *row = chain_each_row(l, &b, p->v->span);
        index_expr *step =
            chain_written_out(l, &b, arena_printf(l->arena, "%s_step", p->summed->name), steps_of(l, p), p->v->span);
        fragment_ref to = {p->kept, chain_which_of(l, p->kept, row, step, (int)steps_of(l, p))};
        load_operand(l, b, p, p->left, to, chain_row_place(l, row), ix_mul(l->arena, step, ix_const(l->arena, c->with->k)));
    }
}

/* The left operand out of accumulators: elements that do not exist are zero, and as many accumulators as one of its fragments is wide become it. */
static void make_left(lower *l, chain_product *p) {
    arena *a = l->arena;
    chain *c = l->chain;
    const matrix_instruction *with = c->with;
    tile_value *x = p->v->operands[p->left];
    const int side = with->k > with->n ? with->k / with->n : 1, steps = (int)steps_of(l, p);
    hold_heavy(l, x, NULL);
    if (!p->parts[p->left])
        p->parts[p->left] = chain_add_fragment(l, x->name ? x->name : "operand", FRAGMENT_A, x->type, with->m, with->k,
                                               c->across_rows * steps, p->v->span);
    kernel_block *outside = l->block;
    for (int text = 0, texts = open_parts(l, p->summed, p->v->span); text < texts; text++) {
        next_part(l, text, outside);
        kernel_block *b = l->block;
        index_expr *row = chain_each_row(l, &b, p->v->span);
        index_expr *step = chain_written_out(l, &b, arena_printf(a, "%s_step", p->summed->name), steps, p->v->span);
        kernel_block *inner = b;
        index_expr *beside = chain_written_out(l, &inner, "beside", side, p->v->span);
        index_expr *column = ix_add(a, ix_mul(a, step, ix_const(a, side)), beside);
        map_place m = chain_open_map(l, inner, c->working, beside, row, p->summed, column, p->v->span);
        kernel_value *v = emit_value(&m.p, x);
        if (v->op == KERNEL_CONVERT && v->operands[0]->type == ELEMENT_F32)
            v = v->operands[0]; /* what the conversion of the fragment does */
        else if (v->type != ELEMENT_F32)
            v = kernel_op1(l->ir, KERNEL_CONVERT, ELEMENT_F32, v);
        chain_close_map(l, &m, chain_where_existing(&m.p, p->summed, v, kernel_const(l->ir, ELEMENT_F32, 1, 0)));
        kernel_fragment *to = p->parts[p->left];
        kernel_stmt *s =
            chain_fragment_stmt(l, b, KSTMT_FRAGMENT_CONVERT, to, chain_which_of(l, to, row, step, steps), p->v->span);
        for (int i = 0; i < side; i++)
            s->fragments[1 + i] = (fragment_ref){c->working, ix_const(a, i)};
    }
    l->block = outside;
    c->all_exist = false;
}

/* v's product, a group of columns at a time: into `to` itself (`value` the product, or what is added to `to`), or into accumulators that a map makes `value` of. */
static void multiply(lower *l, tile_value *v, tile_value *value, kernel_fragment *to, bool adds, bool fresh, source_span span) {
    arena *a = l->arena;
    chain *c = l->chain;
    chain_product *p = chain_product_of(l, v);
    const matrix_instruction *with = c->with;
    const int across = chain_across(l, p->columns), steps = (int)steps_of(l, p), rows = c->across_rows;
    const bool itself = value == v || adds;
    const bool there = itself || fresh; /* `to` holds nothing that `value` is made of */
    const int most = there ? CHAIN_GROUP_THERE : CHAIN_GROUP;
    int group = across < most ? across : most;
    while (across % group)
        group--;
    if (p->routes[p->left] == CHAIN_MADE)
        make_left(l, p);
    kernel_fragment **left = &p->parts[p->left], **right = &p->parts[!p->left];
    if (!*left && !p->kept)
        *left = chain_add_fragment(l, arena_printf(a, "%s_part", c->rows->name), FRAGMENT_A, with->operand, with->m, with->k,
                                   rows, span);
    if (!*right)
        *right = chain_add_fragment(l, arena_printf(a, "%s_part", p->columns->name), FRAGMENT_B, with->operand, with->k, with->n,
                                    group, span);
    ghost_record ghost = {0};
    ghost_make(l, &ghost, v->axes, v->axis_count, v->contract, v->contract_count, v);

    kernel_block *outside = l->block, *b = outside;
    index_expr *of = chain_written_out(l, &b, arena_printf(a, "%s_group", p->columns->name), across / group, span);
    index_expr *first = ix_mul(a, of, ix_const(a, group));
    kernel_fragment *sums = there ? to : c->working;
    const int across_sums = there ? across : group;
    index_expr *from = there ? first : ix_const(a, 0);
    if (!adds) {
        kernel_block *f = b;
        index_expr *row = chain_each_row(l, &f, span), *n = chain_written_out(l, &f, "beside", group, span);
        chain_fragment_stmt(l, f, KSTMT_FRAGMENT_FILL, sums, chain_which_of(l, sums, row, ix_add(a, from, n), across_sums), span)
            ->value = kernel_const(l->ir, ELEMENT_F32, 1, 0);
    }
    kernel_block *s = b;
    index_expr *step = chain_written_out(l, &s, arena_printf(a, "%s_step", p->summed->name), steps, span),
               *at = ix_mul(a, step, ix_const(a, with->k));
    if (!p->kept && p->routes[p->left] != CHAIN_MADE) {
        kernel_block *f = s;
        index_expr *row = chain_each_row(l, &f, span);
        load_operand(l, f, p, p->left, (fragment_ref){*left, rows > 1 ? row : NULL}, chain_row_place(l, row), at);
    }
    kernel_block *f = s;
    index_expr *n = chain_written_out(l, &f, "beside", group, span);
    load_operand(l, f, p, !p->left, (fragment_ref){*right, group > 1 ? n : NULL}, chain_column_place(l, ix_add(a, first, n)), at);
    f = s;
    index_expr *row = chain_each_row(l, &f, span);
    n = chain_written_out(l, &f, "beside", group, span);
    kernel_stmt *m =
        chain_fragment_stmt(l, f, KSTMT_FRAGMENT_MMA, sums, chain_which_of(l, sums, row, ix_add(a, from, n), across_sums), span);
    kernel_fragment *x = p->kept ? p->kept : *left;
    const bool all_steps = p->kept || p->routes[p->left] == CHAIN_MADE;
    m->fragments[1] = (fragment_ref){x, all_steps ? chain_which_of(l, x, row, step, steps) : x->count > 1 ? row : NULL};
    m->fragments[2] = (fragment_ref){*right, group > 1 ? n : NULL};
    m->fragments[3] = m->fragments[0];
    lower_matrix_product(l, f, m, v);
    chain_consume(l, &ghost, f, row, p->columns, ix_add(a, first, n), p->summed, at, with->k, span);
    if (!itself) {
        f = b;
        row = chain_each_row(l, &f, span);
        n = chain_written_out(l, &f, "beside", group, span);
        index_expr *column = ix_add(a, first, n);
        map_place e = chain_open_map(l, f, to, chain_which_of(l, to, row, column, across), row, p->columns, column, span);
        e.p.known[v->id] = chain_element_of(l, sums, chain_which_of(l, sums, row, ix_add(a, from, n), across_sums));
        chain_close_map(l, &e, emit_value(&e.p, value));
    }
    reduction_tree tree = lanes_fragment_tree(l, v);
    tree.deferred = adds;
    VEC_PUSH(a, l->out->trees, tree);
    if (!p->told) {
        static const char *const names[] = {"tiles in shared memory", "memory", "accumulators"};
        VEC_PUSH(a, l->out->routes,
                 arena_printf(a, "line %d: dot by %s, %d x %d fragments a subgroup, left from %s, right from %s", v->span.line,
                              with->name, rows, across, names[p->routes[p->left]], names[p->routes[!p->left]]));
        p->told = true;
    }
}

/* ---- a value for all of its elements ---- */

static bool is_plain(const lower *l, const tile_value *v) {
    return l->held_scalar[v->id] || lanes_chain_holds(l, v) || v->op == TILE_CONST || v->op == TILE_SCALAR || v->op == TILE_GET ||
           v->op == TILE_FIELD || v->op == TILE_INDEX || v->op == TILE_LOAD || v->op == TILE_PARAM;
}

static bool calls_function(const tile_value *v, void *nothing) {
    (void)nothing;
    return !strcmp(tile_op_table[v->op].kind, "math") || v->op == TILE_DIV;
}

static void keep(lower *l, tile_value *v, bool rows, tile_range *columns);

/* What of v has one element a row, or a function's value for each column, is computed once for these, not for every element. */
static void hoist(lower *l, tile_value *v, const tile_value *except, value_list *held, unsigned char *seen) {
    bool rows;
    tile_range *columns;
    if (seen[v->id]++ || v == except || lanes_chain_holds(l, v))
        return;
    if (v->op == TILE_PARAM && v->side == 1) {
        hoist(l, l->join_right[v->field], except, held, seen);
        return;
    }
    const bool known = chain_shape(l, v, &rows, &columns) && !is_plain(l, v) && v->type == ELEMENT_F32;
    if (known && ((rows && !columns) || (!rows && columns && tile_value_some(v, l->value_count, calls_function, NULL)))) {
        keep(l, v, rows, columns);
        VEC_PUSH(l->arena, *held, v);
        return;
    }
    for (int i = 0; i < v->operand_count; i++)
        hoist(l, v->operands[i], except, held, seen);
}

static bool adds_to(const lower *l, const tile_value *value, const tile_value *product, const tile_variable *x) {
    (void)l;
    return x && value->op == TILE_ADD && x->field_count == 1 &&
           ((value->operands[0]->op == TILE_GET && value->operands[0]->variable == x && value->operands[1] == product) ||
            (value->operands[1]->op == TILE_GET && value->operands[1]->variable == x && value->operands[0] == product));
}

/* to = value, over the rows and these columns. `x`: the variable that `to` is; NULL: it is none. */
static void make(lower *l, tile_value *value, kernel_fragment *to, tile_range *columns, const tile_variable *x,
                 source_span span) {
    value_list heavy = {0}, held = {0};
    tile_value *product = NULL;
    find_heavy(l, value, &heavy);
    for (int i = 0; i < heavy.count; i++)
        if (columns && heavy.at[i]->op == TILE_DOT && !product && chain_columns_of(l, heavy.at[i]) == columns)
            product = heavy.at[i];
    for (int i = 0; i < heavy.count; i++)
        if (heavy.at[i] != product && heavy.at[i] != value)
            lanes_chain_hold(l, heavy.at[i]);
    if (columns && to->role != FRAGMENT_COLUMN_VECTOR)
        hoist(l, value, product, &held, NEW_ARRAY(l->arena, unsigned char, l->value_count));
    if (product) {
        multiply(l, product, value, to, adds_to(l, value, product, x), !x, span);
    } else if (is_heavy(value)) {
        reduce(l, value, to);
    } else {
        kernel_block *b = l->block;
        const bool rows = to->role != FRAGMENT_COLUMN_VECTOR;
        index_expr *row = rows ? chain_each_row(l, &b, span) : NULL, *column = NULL;
        const int across = columns ? chain_across(l, columns) : 1;
        if (columns)
            column = chain_written_out(l, &b, arena_printf(l->arena, "%s_fragment", columns->name), across, span);
        index_expr *which = !rows ? column : columns ? chain_which_of(l, to, row, column, across) : row;
        map_place m = chain_open_map(l, b, to, which, row, columns, column, span);
        chain_close_map(l, &m, emit_value(&m.p, value));
    }
    for (int i = 0; i < held.count; i++)
        lanes_chain_drop(l, held.at[i]);
}

void lanes_chain_drop(lower *l, const tile_value *v) {
    if (l->chain)
        l->chain->held[v->id] = NULL;
}

/* Computes v now, for all of its elements. */
static void keep(lower *l, tile_value *v, bool rows, tile_range *columns) {
    chain *c = l->chain;
    if (!c->made[v->id]) {
        const char *name = v->name ? v->name : is_heavy(v) ? "reduced" : !rows ? "column" : "row";
        c->made[v->id] = chain_add_results(l, name, rows, columns, v->span);
    }
    make(l, v, c->made[v->id], columns, NULL, v->span);
    c->held[v->id] = c->made[v->id];
}

void lanes_chain_hold(lower *l, tile_value *v) {
    bool rows;
    tile_range *columns;
    if (!chain_shape(l, v, &rows, &columns) || (!rows && columns))
        return; /* made of arrays alone: computed where it is used */
    if (!rows) {
        point p = point_new(l);
        kernel_value *x = emit_value(&p, v);
        l->held_scalar[v->id] = kernel_let(l->ir, l->block, lower_name(l, v->name ? v->name : "x"), x, v->span);
        return;
    }
    if (v->type != ELEMENT_F32 && v->type != ELEMENT_F16 && v->type != ELEMENT_BF16)
        return;
    keep(l, v, true, columns);
}

/* ---- statements ---- */

static tile_range *columns_of_field(const lower *l, const tile_variable *x, int f) {
    tile_value like = {.axes = x->axes[f], .axis_count = x->axis_counts[f]};
    return chain_columns_of(l, &like);
}

void lanes_chain_declare(lower *l, tile_variable *x) {
    chain *c = l->chain;
    if (!c->fields[x->id]) {
        c->fields[x->id] = NEW_ARRAY(l->arena, kernel_fragment *, x->field_count);
        for (int f = 0; f < x->field_count; f++) {
            const char *name = x->field_names ? arena_printf(l->arena, "%s_%s", x->name, x->field_names[f]) : x->name;
            c->fields[x->id][f] = chain_add_results(l, name, true, columns_of_field(l, x, f), x->span);
        }
    }
    for (int f = 0; f < x->field_count; f++) {
        if (x->empty[f]->op == TILE_CONST)
            chain_fill_all(l, c->fields[x->id][f], x->empty[f]->number, x->span);
        else
            lanes_chain_set(l, x, f, x->empty[f], x->span);
    }
}

void lanes_chain_set(lower *l, const tile_variable *x, int field, tile_value *value, source_span span) {
    make(l, value, l->chain->fields[x->id][field], columns_of_field(l, x, field), x, span);
}

static index_expr *left_of(lower *l, const tile_range *r, index_expr *first, int size, bool *all) {
    int64_t count;
    index_expr *end = l->place[r->id].count;
    *all = ix_is_const(end, &count) && count >= lanes_chain_cells(l, r);
    return *all ? ix_const(l->arena, size) : ix_sub(l->arena, end, first);
}

void lanes_chain_store(lower *l, const tile_stmt *s) {
    arena *a = l->arena;
    chain *c = l->chain;
    const matrix_instruction *with = c->with;
    tile_range *columns = NULL;
    value_list held = {0};
    for (int i = 0; i < l->k->ranges.count; i++)
        for (int d = 0; d < s->array->rank; d++) {
            tile_range *r = l->k->ranges.at[i];
            if (r != c->rows && range_capacity(r) != 1 && ix_mentions(s->indices[d], r->var))
                columns = r;
        }
    tile_value *value = lower_stored_value(s);
    hold_heavy(l, value, NULL);
    if (columns)
        hoist(l, value, NULL, &held, NEW_ARRAY(l->arena, unsigned char, l->value_count));
    if (!c->stored[value->id])
        c->stored[value->id] = columns ? chain_add_fragment(l, arena_printf(a, "%s_part", s->array->name), FRAGMENT_ACCUMULATOR,
                                                            s->array->type, with->m, with->n, 1, s->span)
                                       : chain_add_fragment(l, arena_printf(a, "%s_part", s->array->name), FRAGMENT_ROW_VECTOR,
                                                            ELEMENT_F32, with->m, 1, 1, s->span);
    kernel_fragment *part = c->stored[value->id];
    kernel_block *b = l->block;
    index_expr *row = chain_each_row(l, &b, s->span), *column = NULL, *at[32];
    if (columns)
        column = chain_written_out(l, &b, arena_printf(a, "%s_fragment", columns->name), chain_across(l, columns), s->span);
    map_place m = chain_open_map(l, b, part, NULL, row, columns, column, s->span);
    chain_close_map(l, &m, emit_value(&m.p, value));
    point p = point_new(l);
    bool all[2] = {false, true};
    index_expr *left[2] = {NULL, ix_const(a, 1)};
    p.block = b;
    p.position[c->rows->id] = chain_row_place(l, row);
    left[0] = left_of(l, c->rows, p.position[c->rows->id], with->m, &all[0]);
    if (columns) {
        p.position[columns->id] = chain_column_place(l, column);
        left[1] = left_of(l, columns, p.position[columns->id], with->n, &all[1]);
    }
    for (int d = 0; d < s->array->rank; d++)
        at[d] = emit_index(&p, s->indices[d]);
    kernel_stmt *store = chain_fragment_stmt(l, b, KSTMT_FRAGMENT_STORE, part, NULL, s->span);
    store->access = kernel_at(l->ir, l->arrays[s->array->id], at);
    store->row_dim = lanes_stored_along(l, s, c->rows);
    store->column_dim = columns ? lanes_stored_along(l, s, columns) : store->row_dim;
    if (!all[0] || !all[1]) {
        store->extents = NEW_ARRAY(a, index_expr *, 2);
        store->extents[0] = left[0];
        store->extents[1] = left[1];
    }
    lower_matrix_store(l, b, store, s->value, s->value->span);
    for (int i = 0; i < held.count; i++)
        lanes_chain_drop(l, held.at[i]);
}
