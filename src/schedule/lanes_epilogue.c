/* Lowering to the threads of a block: what is made of products while they lie in accumulators. A variable to which only products by matrix instructions are
 * added, and of which only elementwise values are stored, never leaves them: its stores are maps over its fragments (bias, activation, gate, residual, conversion). */
#include "schedule/lanes_fragment.h"
#include <string.h>

static bool reads(const tile_value *v, void *variable) {
    return (v->op == TILE_GET || v->op == TILE_FIELD) && v->variable == variable;
}

static bool value_reads(const lower *l, tile_value *v, const tile_variable *x) {
    return tile_value_some(v, l->value_count, reads, (void *)x);
}

static bool block_reads(const lower *l, const tile_block *b, const tile_variable *x) {
    return tile_block_some(b, l->value_count, reads, (void *)x);
}

/* ---- which values a map can say ---- */

/* A single expression of constants, launch values, elements of input arrays and such variables, over rows, columns and ranges of one element. */
static bool expressible(const lower *l, const tile_value *v, unsigned char *seen) {
    if (seen[v->id]++)
        return true;
    for (int i = 0; i < v->axis_count; i++)
        if (v->axes[i] != l->product_rows && v->axes[i] != l->product_columns && range_capacity(v->axes[i]) != 1)
            return false;
    if (is_heavy(v))
        return false;
    switch (v->op) {
    case TILE_FIELD:
    case TILE_INTRINSIC: /* a statement of its own */
    case TILE_PARAM: return false;
    case TILE_GET: return l->fragment_products[v->variable->id] != NULL;
    case TILE_INDEX: return !index_mentions_data(v->index);
    case TILE_LOAD:
        for (int d = 0; d < v->array->rank; d++)
            if (index_mentions_data(v->indices[d]))
                return false;
        return !v->has_outside && v->array->role == ARRAY_IN && element_table[v->array->type].block_elements == 1;
    default: break;
    }
    for (int i = 0; i < v->operand_count; i++)
        if (!expressible(l, v->operands[i], seen))
            return false;
    return true;
}

static bool is_expressible(const lower *l, const tile_value *v) {
    return expressible(l, v, NEW_ARRAY(l->arena, unsigned char, l->value_count)) &&
           !is_long_written_out(v, NEW_ARRAY(l->arena, double, l->value_count));
}

/* The dimension of the store that runs along r by ones; -1: none does, or several. */
int lanes_stored_along(const lower *l, const tile_stmt *s, const tile_range *r) {
    int along = -1;
    for (int d = 0; d < s->array->rank; d++) {
        int64_t coefficient;
        index_expr *rest;
        if (index_mentions_data(s->indices[d]))
            return -1;
        if (!ix_mentions(s->indices[d], r->var))
            continue;
        if (along >= 0 || !ix_coefficient(l->arena, s->indices[d], r->var, &coefficient, &rest) || coefficient != 1)
            return -1;
        along = d;
    }
    return along;
}

static bool is_storable(const lower *l, const tile_stmt *s) {
    element_type t = s->array->type;
    int rows = lanes_stored_along(l, s, l->product_rows), columns = lanes_stored_along(l, s, l->product_columns);
    for (int i = 0; i < l->k->ranges.count; i++) {
        const tile_range *r = l->k->ranges.at[i];
        for (int d = 0; d < s->array->rank; d++)
            if (r != l->product_rows && r != l->product_columns && range_capacity(r) != 1 && ix_mentions(s->indices[d], r->var))
                return false;
    }
    return s->array->role == ARRAY_OUT && (t == ELEMENT_F32 || t == ELEMENT_F16 || t == ELEMENT_BF16 || t == ELEMENT_I32) &&
           rows >= 0 && columns >= 0 && rows != columns && is_expressible(l, lower_stored_value(s));
}

/* ---- which variables ---- */

/* The product that the update adds to x; NULL: it does something else. */
static const tile_value *added_product(const lower *l, const tile_stmt *s) {
    const tile_variable *x = s->variable;
    const tile_value *v = s->value;
    if (s->update != TILE_ADD || v->op != TILE_DOT || !lanes_staged(l, v) || !l->matrices[v->id] || x->field_count != 1 ||
        v->type != x->types[0] || l->matrices[v->id]->accumulator != x->types[0] ||
        !has_just_ranges(v, x->axes[0], x->axis_counts[0]))
        return NULL;
    return v;
}

/* Every update of x in the loop adds a product; *product one of them. */
static bool only_adds(const lower *l, const tile_block *b, const tile_variable *x, const tile_value **product) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        if ((s->kind == TILE_STMT_JOIN || s->kind == TILE_STMT_VAR) && s->variable == x)
            return false;
        if (s->kind == TILE_STMT_UPDATE && s->variable == x) {
            const tile_value *v = added_product(l, s);
            if (!v || (*product && (l->matrices[v->id]->m != l->matrices[(*product)->id]->m ||
                                    l->matrices[v->id]->n != l->matrices[(*product)->id]->n)))
                return false;
            *product = v;
        }
        if (!only_adds(l, &s->body, x, product))
            return false;
    }
    return true;
}

/* A product of x, when x is declared in the kernel's own block, then changed by loops that only add products, then read by stores that maps can say. */
static const tile_value *kept_in_fragments(const lower *l, const tile_variable *x) {
    const tile_value *product = NULL;
    bool declared = false, read = false;
    for (int i = 0; i < l->k->body.items.count; i++) {
        tile_stmt *s = l->k->body.items.at[i];
        const tile_value *before = product;
        switch (s->kind) {
        case TILE_STMT_VAR:
            if (s->variable == x) {
                declared = true;
                if (x->field_count != 1 || x->combine || x->empty[0]->axis_count || is_heavy(x->empty[0]) ||
                    x->empty[0]->type != x->types[0])
                    return NULL;
            }
            for (int f = 0; f < s->variable->field_count; f++)
                if (value_reads(l, s->variable->empty[f], x))
                    return NULL;
            break;
        case TILE_STMT_LOOP:
            if (block_reads(l, &s->body, x) || !only_adds(l, &s->body, x, &product) || (read && product != before))
                return NULL;
            break;
        case TILE_STMT_STORE:
            if (!value_reads(l, s->value, x))
                break;
            read = true;
            if (!is_storable(l, s))
                return NULL;
            break;
        case TILE_STMT_LET:
            if (!value_reads(l, s->value, x))
                break;
            read = true;
            if (!is_expressible(l, s->value))
                return NULL;
            break;
        case TILE_STMT_UPDATE:
            if (s->variable == x || value_reads(l, s->value, x))
                return NULL;
            break;
        case TILE_STMT_JOIN: {
            tile_block one = {0};
            one.items.at = &l->k->body.items.at[i];
            one.items.count = 1;
            if (s->variable == x || block_reads(l, &one, x))
                return NULL;
            break;
        }
        }
    }
    return declared ? product : NULL;
}

static void add_products(const lower *l, const tile_block *b, const tile_variable *x, const tile_value **product) {
    for (int i = 0; i < b->items.count && !*product; i++) {
        const tile_stmt *s = b->items.at[i];
        if (s->kind == TILE_STMT_UPDATE && s->variable == x)
            *product = added_product(l, s);
        add_products(l, &s->body, x, product);
    }
}

void lanes_epilogue_choose(lower *l) {
    if (!l->out->matrix_products)
        return;
    const tile_kernel *k = l->k;
    /* All that have products, then without those that something keeps, until nothing does. */
    for (int i = 0; i < k->variables.count; i++) {
        const tile_variable *x = k->variables.at[i];
        const tile_value *product = NULL;
        add_products(l, &k->body, x, &product);
        l->fragment_products[x->id] = product;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < k->variables.count; i++) {
            const tile_variable *x = k->variables.at[i];
            if (l->fragment_products[x->id] && !kept_in_fragments(l, x)) {
                l->fragment_products[x->id] = NULL;
                changed = true;
            }
        }
    }
}

/* ---- statements ---- */

static fragment_tile tile_of_variable(lower *l, const tile_variable *x) {
    return lanes_fragment_tile(l, l->fragment_products[x->id], &l->fragment_variables[x->id], x->name);
}

fragment_tile lanes_epilogue_promoted(lower *l, const tile_variable *x) {
    return lanes_fragment_tile(l, l->fragment_products[x->id], &l->promoted[x->id], arena_printf(l->arena, "%s_unit", x->name));
}

void lanes_epilogue_promote(lower *l, const tile_variable *x, source_span span) {
    fragment_tile sum = tile_of_variable(l, x), unit = lanes_epilogue_promoted(l, x);
    index_expr *row, *column, *which;
    kernel_block *b = lanes_fragment_each(l, &sum, &row, &column, &which, span);
    kernel_stmt *map = lanes_fragment_stmt(l, b, KSTMT_FRAGMENT_MAP, sum.f, which, span);
    kernel_value *of[2];
    map->row = kernel_new_var(l->ir, lower_name(l, "row_in"), INDEX_LOOP);
    map->column = kernel_new_var(l->ir, lower_name(l, "column_in"), INDEX_LOOP);
    for (int i = 0; i < 2; i++) {
        of[i] = NEW(l->arena, kernel_value);
        *of[i] = (kernel_value){.op = KERNEL_FRAGMENT_ELEMENT,
                                .type = sum.f->element,
                                .lanes = 1,
                                .fragment = i ? unit.f : sum.f,
                                .fragment_index = sum.f->count > 1 ? which : NULL,
                                .span = span};
    }
    map->value = kernel_op2(l->ir, KERNEL_ADD, sum.f->element, of[0], of[1]);
}

bool lanes_epilogue_declare(lower *l, tile_variable *x) {
    if (!l->fragment_products[x->id])
        return false;
    fragment_tile t = tile_of_variable(l, x);
    point p = point_new(l);
    lanes_fragment_fill(l, &t, emit_value(&p, x->empty[0]), x->span);
    return true;
}

bool lanes_epilogue_update(lower *l, const tile_stmt *s) {
    if (!l->fragment_products[s->variable->id])
        return false;
    tile_value *product = s->value;
    const tile_variable *x = s->variable;
    fragment_tile t = l->adds_promoted && l->matrices[product->id]->kept ? lanes_epilogue_promoted(l, x) : tile_of_variable(l, x);
    ghost_record ghost = {0};
    prepare_root(l, product, product);
    ghost_make(l, &ghost, product->axes, product->axis_count, product->contract, product->contract_count, product);
    lanes_fragment_add(l, product, &t, &ghost, s->span);
    reduction_tree tree = lanes_fragment_tree(l, product);
    tree.deferred = !t.with->kept;
    VEC_PUSH(l->arena, l->out->trees, tree);
    VEC_PUSH(l->arena, l->out->routes,
             arena_printf(l->arena,
                          "line %d: dot by %s over all tiles, `%s` stays in accumulators of %d x %d, %d x %d of them a %s",
                          s->span.line, t.with->name, s->variable->name, t.with->m, t.with->n, t.across_rows, t.across_columns,
                          t.with->holder == LEVEL_WARPGROUP ? "warpgroup" : "subgroup"));
    return true;
}

static const tile_variable *read_by(const lower *l, tile_value *v) {
    for (int i = 0; i < l->k->variables.count; i++)
        if (l->fragment_products[i] && value_reads(l, v, l->k->variables.at[i]))
            return l->k->variables.at[i];
    return NULL;
}

bool lanes_epilogue_reads(const lower *l, tile_value *v) {
    return read_by(l, v) != NULL;
}

bool lanes_epilogue_let(lower *l, const tile_value *v) {
    return l->spreads && l->out->matrix_products && read_by(l, (tile_value *)v) != NULL; /* said where it is used */
}

kernel_value *lanes_epilogue_element(point *p, const tile_variable *x) {
    lower *l = p->l;
    fragment_tile t = tile_of_variable(l, x);
    kernel_value *v = NEW(l->arena, kernel_value);
    v->op = KERNEL_FRAGMENT_ELEMENT;
    v->type = t.f->element;
    v->lanes = 1;
    v->fragment = t.f;
    v->fragment_index = t.f->count > 1 ? p->element : NULL;
    v->span = x->span;
    return v;
}

/* Elements of the fragment that exist along a range; *all: every one of them. */
static index_expr *existing(lower *l, const tile_range *r, index_expr *first, int size, int64_t cells, bool *all) {
    int64_t count;
    index_expr *end = l->place[r->id].count;
    *all = ix_is_const(end, &count) && count >= cells;
    return *all ? ix_const(l->arena, size) : ix_sub(l->arena, end, first);
}

static kernel_stmt *map_value(lower *l, kernel_block *b, const fragment_tile *t, kernel_fragment *to, index_expr *which,
                              index_expr *const first[2], const bool all[2], tile_value *v, source_span span) {
    arena *a = l->arena;
    tile_range *const ranges[2] = {t->rows, t->columns};
    kernel_stmt *map = lanes_fragment_stmt(l, b, KSTMT_FRAGMENT_MAP, to, which, span);
    index_var **const vars[2] = {&map->row, &map->column};
    point p = point_new(l);
    kernel_array **held = l->held;
    p.block = b;
    p.element = which;
    p.bounds = NEW_ARRAY(a, index_expr *, l->k->ranges.count);
    for (int i = 0; i < 2; i++) {
        *vars[i] = kernel_new_var(l->ir, lower_name(l, arena_printf(a, "%s_in", ranges[i]->name)), INDEX_LOOP);
        p.position[ranges[i]->id] = ix_add(a, first[i], ix_var(a, *vars[i]));
        if (!all[i])
            p.bounds[ranges[i]->id] = l->place[ranges[i]->id].count;
    }
    l->held = NEW_ARRAY(a, kernel_array *, l->value_count); /* registers of single threads say nothing here; all is computed */
    map->value = emit_value(&p, v);
    if (map->value->type != to->element)
        map->value = kernel_op1(l->ir, KERNEL_CONVERT, to->element, map->value);
    l->held = held;
    return map;
}

bool lanes_epilogue_store(lower *l, const tile_stmt *s) {
    const tile_variable *x = l->spreads && l->out->matrix_products ? read_by(l, s->value) : NULL;
    if (!x)
        return false;
    arena *a = l->arena;
    const tile_value *product = l->fragment_products[x->id];
    fragment_tile t = tile_of_variable(l, x);
    index_expr *row, *column, *which, *at[32];
    count_root_references(l, s->value);
    kernel_block *b = lanes_fragment_each(l, &t, &row, &column, &which, s->span);
    index_expr *first[2] = {lanes_fragment_place(l, &t, true, row), lanes_fragment_place(l, &t, false, column)};
    bool all[2];
    index_expr *left[2] = {existing(l, t.rows, first[0], t.with->m, lanes_fragment_cells(l, product, t.rows), &all[0]),
                           existing(l, t.columns, first[1], t.with->n, lanes_fragment_cells(l, product, t.columns), &all[1])};
    tile_value *value = lower_stored_value(s);
    bool as_it_is = value->op == TILE_GET && value->variable == x && s->array->type == t.f->element;
    kernel_fragment *from = t.f;
    if (!as_it_is) {
        kernel_fragment **made = &l->fragments[2 * value->id];
        if (!*made) {
            *made = kernel_add_fragment(l->ir, lower_name(l, arena_printf(a, "%s_part", s->array->name)), FRAGMENT_ACCUMULATOR,
                                        s->array->type, t.with->m, t.with->n, 1, t.with->holder);
            (*made)->span = s->span;
        }
        from = *made;
        map_value(l, b, &t, from, which, first, all, value, s->span);
    }
    point p = point_new(l);
    p.block = b;
    p.position[t.rows->id] = first[0];
    p.position[t.columns->id] = first[1];
    for (int d = 0; d < s->array->rank; d++)
        at[d] = emit_index(&p, s->indices[d]);
    kernel_stmt *store = lanes_fragment_stmt(l, b, KSTMT_FRAGMENT_STORE, from, which, s->span);
    store->access = kernel_at(l->ir, l->arrays[s->array->id], at);
    store->row_dim = lanes_stored_along(l, s, t.rows);
    store->column_dim = lanes_stored_along(l, s, t.columns);
    if (!all[0] || !all[1]) {
        store->extents = NEW_ARRAY(a, index_expr *, 2);
        store->extents[0] = left[0];
        store->extents[1] = left[1];
    }
    lower_matrix_store(l, b, store, s->value, s->value->span);
    return true;
}
