/* Lowering: what all reductions share. The type and start of an accumulator, and the ghost array that records which indices were consumed. */
#include "schedule/lower.h"
#include <math.h>

bool is_whole_number(element_type t) {
    return t == ELEMENT_I32 || t == ELEMENT_U32 || t == ELEMENT_INDEX;
}

element_type arithmetic_type(element_type t) {
    return t == ELEMENT_I8 ? ELEMENT_I32 : t == ELEMENT_U8 ? ELEMENT_U32 : is_whole_number(t) ? t : ELEMENT_F32;
}

element_type accumulator_type(const tile_value *v) {
    if (v->op == TILE_DOT)
        return is_whole_number(v->type) ? v->type : ELEMENT_F32;
    return arithmetic_type(v->type);
}

kernel_op combining_op(const tile_value *heavy) {
    switch (heavy->op) {
    case TILE_REDUCE_MAX: return KERNEL_MAX;
    case TILE_REDUCE_MIN: return KERNEL_MIN;
    default: return KERNEL_ADD;
    }
}

kernel_value *reduction_identity(lower *l, const tile_value *heavy, element_type type) {
    double x = 0;
    if (heavy->op == TILE_REDUCE_MAX || heavy->op == TILE_ARGMAX)
        x = type == ELEMENT_U32 ? 0 : is_whole_number(type) ? (double)INT32_MIN : -(double)INFINITY;
    if (heavy->op == TILE_REDUCE_MIN || heavy->op == TILE_ARGMIN)
        x = type == ELEMENT_U32 ? (double)UINT32_MAX : is_whole_number(type) ? (double)INT32_MAX : (double)INFINITY;
    return kernel_const(l->ir, type, 1, x);
}

static bool in_list(tile_range **list, int count, const tile_range *r) {
    for (int i = 0; i < count; i++)
        if (list[i] == r)
            return true;
    return false;
}

void ghost_make(lower *l, ghost_record *g, tile_range **axes, int axis_count, tile_range **reduced, int reduced_count,
                const tile_value *heavy) {
    if (l->ghosts[heavy->id].array) { /* the same reduction, lowered once more for the tiles at the edge */
        *g = l->ghosts[heavy->id];
        return;
    }
    arena *a = l->arena;
    for (int i = 0; i < l->loops.count; i++) {
        tile_range *r = l->loops.at[i];
        if (!in_list(axes, axis_count, r) && !in_list(reduced, reduced_count, r))
            return; /* the whole reduction is repeated for each tile of that loop: there is no single count to keep */
    }
    int most = axis_count + reduced_count + l->k->task.count, rank = 0;
    index_expr **dims = NEW_ARRAY(a, index_expr *, most);
    index_var **cells = NEW_ARRAY(a, index_var *, most);
    g->ranges = NEW_ARRAY(a, tile_range *, most);
    g->ids = NEW_ARRAY(a, index_expr *, most);
    index_expr **global = NEW_ARRAY(a, index_expr *, l->k->ranges.count); /* by range id: over the ghost's cell variables */
    for (int i = 0; i < l->k->task.count; i++) {
        tile_range *r = l->k->task.at[i];
        if (!l->task_ids[r->id] || in_list(axes, axis_count, r) || in_list(reduced, reduced_count, r))
            continue;
        dims[rank] = ix_add(a, l->task_ids[r->id]->hi, ix_const(a, 1));
        cells[rank] = kernel_new_var(l->ir, lower_name(l, arena_printf(a, "%s_cell", r->name)), INDEX_LOOP);
        g->ids[rank] = ix_var(a, l->task_ids[r->id]);
        if (range_capacity(r) == 1)
            global[r->id] = ix_var(a, cells[rank]);
        rank++;
    }
    for (int i = 0; i < axis_count + reduced_count; i++) {
        tile_range *r = i < axis_count ? axes[i] : reduced[i - axis_count];
        dims[rank] = lower_expression(l, r->extent);
        cells[rank] = kernel_new_var(l->ir, lower_name(l, arena_printf(a, "%s_cell", r->name)), INDEX_LOOP);
        global[r->id] = ix_var(a, cells[rank]);
        g->ranges[rank++] = r;
    }
    cond *where = NULL;
    for (int i = 0; i < l->loops.count; i++) {
        cond *predicate = l->predicates[l->loops.at[i]->id];
        for (const cond *rest = predicate; rest;) {
            const cond *part = rest->op == COND_AND ? rest->a : rest;
            rest = rest->op == COND_AND ? rest->b : NULL;
            bool all = true;
            cond *mapped = lower_condition(l, part);
            for (int q = 0; q < l->k->ranges.count; q++) {
                const tile_range *range = l->k->ranges.at[q];
                if (!cond_mentions(part, range->var))
                    continue;
                all = all && global[q];
                if (global[q])
                    mapped = cond_substitute(a, mapped, range->var, global[q]);
            }
            if (!all) { /* how much of it is visited depends on the tile of a range that the reduction does not have */
                VEC_PUSH(a, l->out->routes,
                         arena_printf(a, "line %d: %s is not counted: its predicate ties it to ranges it does not have",
                                      heavy->span.line, tile_op_table[heavy->op].name));
                return;
            }
            where = cond_and(a, where, mapped);
        }
    }
    g->array = kernel_add_array(l->ir, lower_name(l, "reduced"), SPACE_GHOST, USE_LOCAL, ELEMENT_BOOL, rank, dims);
    g->array->cell_vars = cells;
    g->array->cells = where;
    g->array->span = heavy->span;
    l->ghosts[heavy->id] = *g;
}

void ghost_consume(point *p, const ghost_record *g, source_span span) {
    if (!g->array)
        return;
    lower *l = p->l;
    index_expr *at[64];
    int vector = -1;
    for (int d = 0; d < g->array->rank; d++) {
        tile_range *r = g->ranges[d];
        at[d] = r ? ix_add(l->arena, l->place[r->id].start, p->position[r->id]) : g->ids[d];
        if (r && r == p->vector)
            vector = d;
    }
    kernel_block *block = p->block;
    cond *first = l->spreads ? lanes_first_copy(l, g->ranges, g->array->rank) : NULL;
    if (first) { /* threads that hold copies repeat the sum: it is counted once */
        kernel_stmt *guard = kernel_append(l->ir, block, KSTMT_IF, span);
        guard->condition = first;
        block = &guard->body;
    }
    kernel_stmt *s = kernel_append(l->ir, block, KSTMT_CONSUME, span);
    s->access = kernel_at(l->ir, g->array, at);
    if (vector >= 0) {
        s->access.lanes = p->lanes;
        s->access.vector_dim = vector;
        s->access.active = p->active;
    }
}
