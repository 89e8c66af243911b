/* Lowering to the threads of a block: operands of matrix instructions that are loaded straight from memory, without copies and without barriers. Where all of a
 * fragment exists the load is unguarded; at the edges it says how much does, and the rest is zero. */
#include "schedule/lanes_fragment.h"

const char *lanes_direct_operand_refusal(lower *l, const tile_value *product, const tile_value *x, const tile_range *r,
                                         const matrix_instruction *with) {
    if (x->op != TILE_LOAD || x->array->type != with->operand)
        return "an operand is computed";
    if (x->has_outside || x->array->role != ARRAY_IN)
        return "an operand is not read as it lies";
    int along = load_dimension_along(l->arena, x, r), sum = -1;
    for (int d = 0; d < x->array->rank; d++)
        if (index_mentions_data(x->indices[d]))
            return "data says where an operand lies";
    for (int i = 0; i < product->contract_count; i++)
        if (range_capacity(product->contract[i]) != 1)
            sum = load_dimension_along(l->arena, x, product->contract[i]);
    if (along < 0 || sum < 0 || along == sum)
        return "an operand's ranges are not dimensions of its array";
    return along == x->array->rank - 1 || sum == x->array->rank - 1
               ? NULL
               : "an operand's elements lie side by side along neither range";
}

const char *lanes_direct_refusal(lower *l, const tile_value *product, const matrix_instruction *with, const tile_range *rows,
                                 const tile_range *columns, const tile_stmt *const *loops, int loop_count) {
    const tile_value *x = product->operands[0], *y = product->operands[1];
    if (tile_has_axis(x, rows) == tile_has_axis(y, rows) || tile_has_axis(x, columns) == tile_has_axis(y, columns) ||
        tile_has_axis(x, rows) == tile_has_axis(x, columns))
        return "threads don't stand as rows and columns of this product";
    for (int n = 0; n < loop_count; n++)
        if (loops[n]->predicate && !lanes_bounds_contracted(l, loops[n]->predicate, product))
            return "a predicate says for single results what is summed";
    const char *why = lanes_direct_operand_refusal(l, product, x, tile_has_axis(x, rows) ? rows : columns, with);
    return why ? why : lanes_direct_operand_refusal(l, product, y, tile_has_axis(y, rows) ? rows : columns, with);
}

void lanes_direct_load(lower *l, kernel_stmt *load, const tile_value *product, int operand, tile_range *r, index_expr *place,
                       tile_range *summed, index_expr *step, index_expr *end, bool whole_steps) {
    arena *a = l->arena;
    const tile_value *x = product->operands[operand];
    const kernel_fragment *f = load->fragments[0].fragment;
    bool rows = f->role == FRAGMENT_A;
    index_expr *count = l->place[r->id].count;
    int64_t constant;
    bool whole = ix_is_const(count, &constant) && constant >= lanes_fragment_cells(l, product, r);
    point p = point_new(l);
    p.position[r->id] = place;
    p.position[summed->id] = step;
    load->access = emit_global_access(&p, x->array, x->indices);
    int along = load_dimension_along(a, x, r), sum = load_dimension_along(a, x, summed);
    load->row_dim = rows ? along : sum;
    load->column_dim = rows ? sum : along;
    if (whole && whole_steps)
        return;
    index_expr *own = whole ? ix_const(a, rows ? f->rows : f->columns) : ix_sub(a, count, place),
               *left = whole_steps ? ix_const(a, rows ? f->columns : f->rows) : ix_sub(a, end, step);
    load->extents = NEW_ARRAY(a, index_expr *, 2);
    load->extents[0] = rows ? own : left;
    load->extents[1] = rows ? left : own;
}

static bool adds_alone(const lower *l, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        bool good = s->kind == TILE_STMT_LOOP     ? adds_alone(l, &s->body)
                    : s->kind == TILE_STMT_UPDATE ? l->fragment_products[s->variable->id] && l->direct[s->value->id]
                                                  : false;
        if (!good)
            return false;
    }
    return true;
}

bool lanes_direct_alone(lower *l) {
    if (!l->out->matrix_products)
        return false;
    for (int i = 0; i < l->k->body.items.count; i++) {
        const tile_stmt *s = l->k->body.items.at[i];
        bool good = s->kind == TILE_STMT_VAR     ? l->fragment_products[s->variable->id] != NULL
                    : s->kind == TILE_STMT_LOOP  ? adds_alone(l, &s->body)
                    : s->kind == TILE_STMT_STORE ? lanes_epilogue_reads(l, s->value)
                    : s->kind == TILE_STMT_LET ? lanes_epilogue_let(l, s->value) || (!s->value->axis_count && !is_heavy(s->value))
                                               : false;
        if (!good)
            return false;
    }
    return true;
}

cond *lanes_direct_whole(lower *l, const tile_range *r, index_expr *start) {
    arena *a = l->arena;
    const spread *x = &(l->along ? l->along : l->spreads)[r->id];
    int64_t cells = range_capacity(r);
    for (int i = 0; i < l->k->value_count; i++)
        if (l->matrices[i] && l->direct[i]) /* tiles of all products are alike: they go to the same kind of accumulators */
            for (int v = 0; v < l->k->variables.count; v++)
                if (l->fragment_products[v] && l->fragment_products[v]->id == i)
                    cells = lanes_fragment_cells(l, l->fragment_products[v], r);
    index_expr *own = ix_const(a, cells / x->subgroups),
               *before = x->subgroup ? ix_mul(a, ix_var(a, x->subgroup), own) : ix_const(a, 0);
    return cond_compare(a, COND_LE, ix_add(a, start, ix_add(a, before, own)), lower_expression(l, r->extent));
}
