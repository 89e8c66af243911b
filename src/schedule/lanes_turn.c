/* Lowering to the threads of a block: loads turned round. Where results are stored along one range and a load's memory is contiguous along another (both sides of
 * a transpose), the threads copy the load's tile to shared memory as memory lies, a block barrier, and read it as the results lie: both go in whole lines. */
#include "schedule/lanes_stage.h"
#include <limits.h>
#include <string.h>

/* Memory is contiguous along a range that the lanes do not have, and not along the one that they have. */
static bool runs_across(lower *l, tile_value *x) {
    const element_info *e = &element_table[x->array->type];
    if (x->array->role != ARRAY_IN || x->has_outside || e->block_elements > 1 || x->axis_count > MOST_STAGED_AXES)
        return false;
    bool memory = false, lanes = false;
    for (int i = 0; i < x->axis_count; i++) {
        const tile_range *r = x->axes[i];
        int score = store_score(l, x->indices, x->array->rank, r);
        if (score == INT_MIN || range_capacity(r) < 0)
            return false;
        memory = memory || (score > 0 && l->spreads[r->id].lanes == 1 && range_capacity(r) * e->block_bytes >= ACCESS_BYTES);
        lanes = lanes || (score < 0 && l->spreads[r->id].lanes > 1);
    }
    return memory && lanes;
}

/* Its tile: the range of the lanes last, single elements each way. */
static staged_tile tile_of_load(lower *l, tile_value *x, source_span span) {
    staged_tile t = {.l = l, .x = x, .span = span, .array = l->staged[x->id]};
    for (int last = 0; last < 2; last++)
        for (int i = 0; i < x->axis_count; i++) {
            tile_range *r = x->axes[i];
            if (range_capacity(r) != 1 && (l->spreads[r->id].lanes > 1) == last) {
                t.axes[t.count] = (tile_axis){.r = r, .cells = spread_cells(l, r), .dim = t.count, .width = 1};
                t.count++;
            }
        }
    return t;
}

static void find_across(lower *l, tile_value *v, value_list *out) {
    if (l->held[v->id] || l->held_scalar[v->id])
        return;
    for (int i = 0; i < out->count; i++)
        if (out->at[i] == v)
            return;
    if (v->op == TILE_LOAD && runs_across(l, v))
        VEC_PUSH(l->arena, *out, v);
    for (int i = 0; i < v->operand_count; i++)
        find_across(l, v->operands[i], out);
}

value_list lanes_turn_loads(lower *l, tile_value *value, source_span span) {
    value_list all = {0};
    if (l->chain || l->producer)
        return all;
    find_across(l, value, &all);
    if (l->loops.count || !l->machine->shared_bytes) {
        for (int i = 0; i < all.count; i++) {
            const char *route = arena_printf(
                l->arena, "line %d: %s is read across its rows (refused: turned round in shared memory, %s)", span.line,
                all.at[i]->array->name, l->loops.count ? "the load is in a loop" : "which there is none of");
            bool known = false;
            for (int n = 0; n < l->out->routes.count; n++)
                known = known || !strcmp(l->out->routes.at[n], route);
            if (!known)
                VEC_PUSH(l->arena, l->out->routes, route);
        }
        return (value_list){0};
    }
    bool copied = false;
    for (int i = 0; i < all.count; i++) {
        tile_value *x = all.at[i];
        staged_tile t = tile_of_load(l, x, span);
        const copied_tile *before = lanes_stage_copied_before(l, &t, x->array->type);
        if (before) {
            l->staged[x->id] = before->array;
            continue;
        }
        if (!t.array) {
            index_expr *dims[MOST_STAGED_AXES];
            for (int d = 0; d < t.count; d++)
                dims[d] = ix_const(l->arena, t.axes[d].cells);
            t.array = l->staged[x->id] = kernel_add_array(l->ir, lower_name(l, arena_printf(l->arena, "%s_tile", x->array->name)),
                                                          SPACE_SHARED, USE_LOCAL, x->array->type, t.count, dims);
            t.array->span = span;
            t.array->layout.kind = LAYOUT_PAD; /* rows begin in other banks */
            t.array->layout.amount = 1;
            VEC_PUSH(
                l->arena, l->out->routes,
                arena_printf(l->arena, "line %d: %s turned round in shared memory: %lld bytes (refused: read across its rows)",
                             span.line, x->array->name, (long long)element_bytes(x->array->type, kernel_array_cells(t.array))));
        }
        lanes_stage_copy_tile(&t);
        lanes_stage_note_copied(l, &t);
        copied = true;
    }
    if (copied)
        lanes_barrier(l, 1u << SPACE_SHARED, span);
    return all;
}

void lanes_read_turned(point *p, const value_list *loads, source_span span) {
    for (int i = 0; i < loads->count; i++) {
        tile_value *x = loads->at[i];
        bool open = !p->known[x->id];
        for (int a = 0; a < x->axis_count; a++)
            open = open && range_open(p, x->axes[a]);
        if (!open)
            continue;
        staged_tile t = tile_of_load(p->l, x, span);
        p->known[x->id] = emit_named(p, x->array->name, kernel_load(p->l->ir, lanes_stage_access(p, &t)));
    }
}
