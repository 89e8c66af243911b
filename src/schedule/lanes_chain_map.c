/* Lowering to the threads of a block: what the statements of a chain are made of (lanes_chain.h). Fragments, maps over one of them, which of its elements exist
 * and which are counted. */
#include "schedule/lanes_fragment.h"
#include "schedule/lanes_chain.h"

/* ---- fragments ---- */

kernel_fragment *chain_add_fragment(lower *l, const char *name, fragment_role role, element_type e, int rows, int columns,
                                    int count, source_span span) {
    kernel_fragment *f = kernel_add_fragment(l->ir, lower_name(l, name), role, e, rows, columns, count, l->chain->with->holder);
    f->span = span;
    return f;
}

kernel_fragment *chain_add_results(lower *l, const char *name, bool rows, const tile_range *columns, source_span span) {
    const chain *c = l->chain;
    if (!rows)
        return chain_add_fragment(l, name, FRAGMENT_COLUMN_VECTOR, ELEMENT_F32, 1, c->with->n, chain_across(l, columns), span);
    return columns ? chain_add_fragment(l, name, FRAGMENT_ACCUMULATOR, ELEMENT_F32, c->with->m, c->with->n,
                                        c->across_rows * chain_across(l, columns), span)
                   : chain_add_fragment(l, name, FRAGMENT_ROW_VECTOR, ELEMENT_F32, c->with->m, 1, c->across_rows, span);
}

tile_range *chain_columns_of(const lower *l, const tile_value *v) {
    bool rows;
    tile_range *columns;
    chain_shape(l, v, &rows, &columns);
    return columns;
}

index_expr *chain_which_of(lower *l, const kernel_fragment *f, index_expr *row, index_expr *column, int across) {
    index_expr *n = ix_add(l->arena, ix_mul(l->arena, row, ix_const(l->arena, across)), column);
    return f->count > 1 ? n : NULL;
}

index_expr *chain_written_out(lower *l, kernel_block **b, const char *name, int64_t trips, source_span span) {
    if (trips == 1)
        return ix_const(l->arena, 0);
    kernel_stmt *s = kernel_for(l->ir, *b, lower_name(l, name), ix_const(l->arena, 0), ix_const(l->arena, trips), 1, span);
    s->unroll = true;
    *b = &s->body;
    return ix_var(l->arena, s->var);
}

index_expr *chain_each_row(lower *l, kernel_block **b, source_span span) {
    return chain_written_out(l, b, arena_printf(l->arena, "%s_fragment", l->chain->rows->name), l->chain->across_rows, span);
}

index_expr *chain_row_place(lower *l, index_expr *row) {
    arena *a = l->arena;
    const chain *c = l->chain;
    index_expr *own = ix_mul(a, ix_var(a, c->subgroup), ix_const(a, (int64_t)c->across_rows * c->with->m));
    return ix_add(a, c->subgroups > 1 ? own : ix_const(a, 0), ix_mul(a, row, ix_const(a, c->with->m)));
}

index_expr *chain_column_place(lower *l, index_expr *column) {
    return ix_mul(l->arena, column, ix_const(l->arena, l->chain->with->n));
}

kernel_stmt *chain_fragment_stmt(lower *l, kernel_block *b, kernel_stmt_kind kind, kernel_fragment *f, index_expr *which,
                                 source_span span) {
    kernel_stmt *s = kernel_append(l->ir, b, kind, span);
    s->fragments[0] = (fragment_ref){f, f->count > 1 ? which : NULL};
    return s;
}

void chain_fill_all(lower *l, kernel_fragment *f, double x, source_span span) {
    kernel_block *b = l->block;
    index_expr *which = chain_written_out(l, &b, "fragment", f->count, span);
    chain_fragment_stmt(l, b, KSTMT_FRAGMENT_FILL, f, which, span)->value = kernel_const(l->ir, f->element, 1, x);
}

/* ---- maps ---- */

kernel_value *chain_element_of(lower *l, kernel_fragment *f, index_expr *which) {
    kernel_value *v = NEW(l->arena, kernel_value);
    v->op = KERNEL_FRAGMENT_ELEMENT;
    v->type = f->element;
    v->lanes = 1;
    v->fragment = f;
    v->fragment_index = f->count > 1 ? which : NULL;
    v->span = f->span;
    return v;
}

/* The element at this place of what is held over the rows and these columns. */
static kernel_value *held_element(point *p, kernel_fragment *f, const tile_range *columns, element_type type) {
    const bool column_vector = f->role == FRAGMENT_COLUMN_VECTOR;
    lower *l = p->l;
    const chain *c = l->chain;
    kernel_value *v;
    if (column_vector) {
        v = chain_element_of(l, f, c->column);
        if (!c->of_columns)
            v = kernel_op1(l->ir, KERNEL_FRAGMENT_COLUMN, f->element, v);
    } else if (columns) {
        v = chain_element_of(l, f, chain_which_of(l, f, c->row, c->column, chain_across(l, columns)));
    } else {
        v = chain_element_of(l, f, c->row);
        if (!c->of_rows)
            v = kernel_op1(l->ir, KERNEL_FRAGMENT_ROW, f->element, v);
    }
    return v->type == type ? v : kernel_op1(l->ir, KERNEL_CONVERT, type, v);
}

bool lanes_chain_holds(const lower *l, const tile_value *v) {
    return l->chain && l->chain->held && l->chain->held[v->id];
}

kernel_value *lanes_chain_held(point *p, const tile_value *v) {
    return held_element(p, p->l->chain->held[v->id], chain_columns_of(p->l, v), v->type);
}

kernel_value *lanes_chain_field(point *p, const tile_variable *x, int field) {
    tile_value like = {.axes = x->axes[field], .axis_count = x->axis_counts[field]};
    return held_element(p, p->l->chain->fields[x->id][field], chain_columns_of(p->l, &like), x->types[field]);
}

map_place chain_open_map(lower *l, kernel_block *b, kernel_fragment *to, index_expr *which, index_expr *row, tile_range *columns,
                         index_expr *column, source_span span) {
    arena *a = l->arena;
    chain *c = l->chain;
    map_place m = {chain_fragment_stmt(l, b, KSTMT_FRAGMENT_MAP, to, which, span), point_new(l)};
    m.map->row = kernel_new_var(l->ir, lower_name(l, arena_printf(a, "%s_in", c->rows->name)), INDEX_LOOP);
    m.map->column =
        kernel_new_var(l->ir, lower_name(l, arena_printf(a, "%s_in", columns ? columns->name : "column")), INDEX_LOOP);
    m.p.block = b;
    m.p.element = which ? which : ix_const(a, 0);
    m.p.bounds = NEW_ARRAY(a, index_expr *, l->k->ranges.count);
    tile_range *const ranges[2] = {row ? c->rows : NULL, columns};
    index_expr *const at[2] = {row ? ix_add(a, chain_row_place(l, row), ix_var(a, m.map->row)) : NULL,
                               columns ? ix_add(a, chain_column_place(l, column), ix_var(a, m.map->column)) : NULL};
    for (int i = 0; i < 2; i++) {
        int64_t count;
        if (!ranges[i])
            continue;
        index_expr *end = l->place[ranges[i]->id].count;
        m.p.position[ranges[i]->id] = at[i];
        if (!ix_is_const(end, &count) || count < lanes_chain_cells(l, ranges[i]))
            m.p.bounds[ranges[i]->id] = end;
    }
    c->row = row;
    c->column = column;
    c->of_rows = !columns;
    c->of_columns = !row;
    return m;
}

void chain_close_map(lower *l, map_place *m, kernel_value *v) {
    element_type e = m->map->fragments[0].fragment->element;
    m->map->value = v->type == e ? v : kernel_op1(l->ir, KERNEL_CONVERT, e, v);
}

static kernel_value *condition_value(point *p, const cond *c) {
    kernel_ir *ir = p->l->ir;
    if (c->op == COND_AND || c->op == COND_OR)
        return kernel_op2(ir, c->op == COND_AND ? KERNEL_AND : KERNEL_OR, ELEMENT_BOOL, condition_value(p, c->a),
                          condition_value(p, c->b));
    if (c->op == COND_NOT)
        return kernel_op1(ir, KERNEL_NOT, ELEMENT_BOOL, condition_value(p, c->a));
    if (c->op == COND_TRUE)
        return kernel_op2(ir, KERNEL_LE, ELEMENT_BOOL, kernel_index(ir, ix_const(p->l->arena, 0)),
                          kernel_index(ir, ix_const(p->l->arena, 0)));
    kernel_op op = c->op == COND_LE ? KERNEL_LE : c->op == COND_LT ? KERNEL_LT : c->op == COND_EQ ? KERNEL_EQ : KERNEL_NE;
    return kernel_op2(ir, op, ELEMENT_BOOL, kernel_index(ir, c->x), kernel_index(ir, c->y));
}

static bool is_open_at(const point *p, const atom *t) {
    for (int i = 0; i < p->l->k->ranges.count; i++) {
        const tile_range *r = p->l->k->ranges.at[i];
        if (atom_mentions(t, r) && !range_open(p, r))
            return false;
    }
    return true;
}

/* What must hold for the element at the point to exist along the columns; NULL: nothing. */
static cond *exists(point *p, const tile_range *columns) {
    lower *l = p->l;
    arena *a = l->arena;
    cond *all = NULL;
    if (p->bounds[columns->id])
        all = cond_compare(a, COND_LT, p->position[columns->id], p->bounds[columns->id]);
    for (int i = 0; i < l->atoms.count; i++) {
        const atom *t = &l->atoms.at[i];
        if (atom_mentions(t, columns) && is_open_at(p, t))
            all = cond_and(a, all, emit_cond(p, t->guard ? t->guard : cond_compare(a, COND_LE, t->x, ix_const(a, 0))));
    }
    return all;
}

cond *chain_all_exist(lower *l, tile_range *columns, bool *known) {
    arena *a = l->arena;
    const chain *c = l->chain;
    const index_expr *one = ix_const(a, 1);
    const int64_t cells = lanes_chain_cells(l, columns);
    index_expr *end = l->place[columns->id].count;
    cond *all = NULL;
    int64_t count, coefficient;
    point p = point_new(l);
    *known = ix_is_const(end, &count) && count >= cells;
    if (!*known)
        all = cond_compare(a, COND_LE, ix_const(a, cells), end);
    for (int i = 0; i < l->atoms.count; i++) {
        const atom *t = &l->atoms.at[i];
        index_expr *rest;
        if (!atom_mentions(t, columns))
            continue;
        *known = false;
        if (!t->x)
            return NULL;
        /* x <= 0 where x is largest */
        const tile_range *ranges[2] = {c->rows, columns};
        index_expr *x = t->x, *largest = ix_const(a, 0);
        for (int n = 0; n < 2; n++) {
            if (!ix_mentions(x, ranges[n]->var))
                continue;
            if (!ix_coefficient(a, x, ranges[n]->var, &coefficient, &rest))
                return NULL;
            index_expr *first = n ? ix_const(a, 0) : chain_row_place(l, ix_const(a, 0)),
                       *last =
                           ix_sub(a, n ? ix_const(a, cells) : ix_add(a, first, ix_const(a, (int64_t)c->across_rows * c->with->m)),
                                  (index_expr *)one);
            index_expr *at = ix_add(a, l->place[ranges[n]->id].start, coefficient > 0 ? last : first);
            largest = ix_add(a, largest, ix_mul(a, ix_const(a, coefficient), at));
            x = rest;
        }
        atom others = {.x = x};
        if (!is_open_at(&p, &others))
            return NULL;
        all = cond_and(a, all, cond_compare(a, COND_LE, ix_add(a, largest, emit_index(&p, x)), ix_const(a, 0)));
    }
    return all;
}

kernel_value *chain_where_existing(point *p, const tile_range *columns, kernel_value *v, kernel_value *other) {
    cond *c = p->l->chain->all_exist ? NULL : exists(p, columns);
    return c ? kernel_op3(p->l->ir, KERNEL_SELECT, v->type, condition_value(p, c), v, other) : v;
}

/* ---- what is counted ---- */

static kernel_block *where(lower *l, kernel_block *b, cond *c, source_span span) {
    if (!c)
        return b;
    kernel_stmt *s = kernel_append(l->ir, b, KSTMT_IF, span);
    s->condition = c;
    return &s->body;
}

static void open_part(point *p, tile_range *r, index_expr *first, int64_t size, source_span span) {
    lower *l = p->l;
    arena *a = l->arena;
    index_expr *lo, *hi;
    cond *guard = NULL;
    loop_bounds(p, r, false, &lo, &hi, &guard);
    kernel_stmt *s = kernel_for(l->ir, p->block, lower_name(l, arena_printf(a, "%s_counted", r->name)), ix_max(a, lo, first),
                                ix_min(a, hi, ix_add(a, first, ix_const(a, size))), 1, span);
    p->block = &s->body;
    p->position[r->id] = ix_var(a, s->var);
    if (guard)
        p->block = where(l, p->block, emit_cond(p, guard), span);
}

void chain_consume(lower *l, const ghost_record *g, kernel_block *b, index_expr *row, tile_range *columns, index_expr *column,
                   tile_range *summed, index_expr *step, int64_t size, source_span span) {
    if (!g->array)
        return;
    arena *a = l->arena;
    const chain *c = l->chain;
    const int m = c->with->m, lanes = l->machine->subgroup_lanes;
    point p = point_new(l);
    p.block = b;
    index_expr *at = chain_written_out(l, &p.block, arena_printf(a, "%s_part", c->rows->name), (m + lanes - 1) / lanes, span),
               *lo, *hi;
    at = ix_add(a, ix_mul(a, at, ix_const(a, lanes)), ix_var(a, c->lane));
    cond *exists = m % lanes ? cond_compare(a, COND_LT, at, ix_const(a, m)) : NULL, *guard = NULL;
    index_expr *place = ix_add(a, chain_row_place(l, row), at);
    loop_bounds(&p, c->rows, false, &lo, &hi, &guard);
    int64_t count;
    p.position[c->rows->id] = place;
    if (!ix_is_const(lo, &count) || count > 0)
        exists = cond_and(a, exists, cond_compare(a, COND_LE, lo, place));
    if (!ix_is_const(hi, &count) || count < lanes_chain_cells(l, c->rows))
        exists = cond_and(a, exists, cond_compare(a, COND_LT, place, hi));
    exists = cond_and(a, exists, guard ? emit_cond(&p, guard) : NULL);
    p.block = where(l, p.block, exists, span);
    if (columns)
        open_part(&p, columns, chain_column_place(l, column), c->with->n, span);
    open_part(&p, summed, step, size, span);
    ghost_consume(&p, g, span);
}
