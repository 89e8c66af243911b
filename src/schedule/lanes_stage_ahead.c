/* Lowering to the threads of a block: tiles of operands that are made some steps ahead (lanes_ring.c, lanes_roles.c): copied asynchronously by all threads, in bulk by
 * one, or loaded, computed and stored by the threads themselves. */
#include "schedule/lanes_fragment.h"
#include "schedule/lanes_stage.h"

const tile_range *lanes_stage_wide(lower *l, const tile_value *product, int operand) {
    staged_tile t = lanes_stage_shape(l, product, operand);
    for (int d = 0; d < t.count; d++)
        if (t.axes[d].width > 1)
            return t.axes[d].r;
    return NULL;
}

bool lanes_stage_is_zero(lower *l, const tile_value *product, int operand) {
    return lanes_stage_zero_where_missing(lanes_stage_shape(l, product, operand).x);
}

static void add_loads(lower *l, kept_loads *all, tile_value *v, unsigned char *seen) {
    if (seen[v->id]++)
        return;
    if (v->op == TILE_LOAD) {
        for (int i = 0; i < all->items.count; i++)
            if (all->items.at[i].load == v)
                return;
        VEC_PUSH(l->arena, all->items, ((kept_load){v, NULL}));
        return;
    }
    for (int i = 0; i < v->operand_count; i++)
        add_loads(l, all, v->operands[i], seen);
}

int64_t lanes_stage_kept_registers(lower *l, const tile_value *product, int operand) {
    staged_tile t = lanes_stage_shape(l, product, operand);
    kept_loads all = {0};
    int64_t threads = 1, cells = 1, bytes = 0, extent;
    for (int level = 1; level < l->ir->levels.count; level++)
        for (int d = 0; d < l->ir->levels.at[level].rank; d++)
            if (ix_is_const(l->ir->levels.at[level].extents[d], &extent))
                threads *= extent;
    for (int d = 0; d < t.count; d++)
        cells *= t.axes[d].cells;
    add_loads(l, &all, t.x, NEW_ARRAY(l->arena, unsigned char, l->value_count));
    for (int i = 0; i < all.items.count; i++) {
        const element_info *e = &element_table[all.items.at[i].load->array->type];
        if (e->block_elements > 1)
            return -1;
        bytes += e->block_bytes;
    }
    return (cells * bytes / threads + 3) / 4;
}

static kept_loads *kept_of(lower *l, const staged_tile *t, const tile_value *product, int operand) {
    for (int i = 0; i < l->kept.count; i++)
        if (l->kept.at[i]->product == product && l->kept.at[i]->operand == operand)
            return l->kept.at[i];
    kept_loads *all = NEW(l->arena, kept_loads);
    *all = (kept_loads){.product = product, .operand = operand};
    if (l->machine->held_stages)
        VEC_PUSH(l->arena, all->items, ((kept_load){t->x, NULL})); /* the element itself, whatever it is made of */
    else
        add_loads(l, all, t->x, NEW_ARRAY(l->arena, unsigned char, l->value_count));
    VEC_PUSH(l->arena, l->kept, all);
    return all;
}

void lanes_stage_fill(lower *l, const tile_value *product, int operand, index_expr *slot, fill_phase phase) {
    staged_tile t = lanes_stage_tile(l, product, operand);
    t.slot = slot;
    t.phase = phase;
    t.kept = phase == FILL_AT_ONCE ? NULL : kept_of(l, &t, product, operand);
    lanes_stage_copy_tile(&t);
}

void lanes_stage_copy_async(lower *l, const tile_value *product, int operand, index_expr *slot) {
    arena *a = l->arena;
    staged_tile t = lanes_stage_tile(l, product, operand);
    tile_axis *order[MOST_STAGED_AXES];
    point p = point_new(l);
    p.block = l->block;
    lanes_stage_deal(&p, &t, order);
    index_expr *at[MOST_STAGED_AXES + 1] = {slot};
    kernel_stmt *s = kernel_append(l->ir, p.block, KSTMT_COPY, t.span);
    s->extents = NEW_ARRAY(a, index_expr *, t.count + 1);
    s->extents[0] = ix_const(a, 1);
    for (int d = 0; d < t.count; d++) {
        at[d + 1] = p.position[t.axes[d].r->id];
        s->extents[d + 1] = ix_const(a, t.axes[d].width);
    }
    s->access = kernel_at(l->ir, t.array, at);
    s->source = emit_global_access(&p, t.x->array, t.x->indices);
    s->clip = true;
}

const char *lanes_stage_bulk_refusal(lower *l, const tile_value *product, int operand) {
    enum { MOST_ROWS = 256, MOST_DIMENSIONS = 5 };
    staged_tile t = lanes_stage_shape(l, product, operand);
    const tile_array *from = t.x->array;
    if (lanes_ring_operand_refusal(l, product, operand))
        return "an operand is computed by the threads";
    if (t.count != 2 || from->rank > MOST_DIMENSIONS)
        return "an operand's tile has other than two ranges, or its array more than five dimensions";
    for (int d = 0; d < 2; d++) {
        const index_expr *x = t.x->indices[from->rank - 2 + d];
        if (x->op != IX_VAR || x->var != t.axes[d].r->var)
            return "an operand's ranges are not the last two dimensions of its array";
    }
    return t.axes[0].cells > MOST_ROWS ? "an operand's tile has more than 256 rows" : NULL;
}

void lanes_stage_copy_bulk(lower *l, const tile_value *product, int operand, index_expr *slot, const char *mbarrier) {
    arena *a = l->arena;
    staged_tile t = lanes_stage_tile(l, product, operand);
    const int last = t.count - 1, row = SWIZZLED_BYTES / element_table[t.array->element].block_bytes;
    point p = point_new(l);
    p.block = l->block;
    int64_t boxes = t.axes[last].cells / row;
    index_expr *box = ix_const(a, 0);
    if (boxes > 1) {
        kernel_stmt *each = kernel_for(l->ir, p.block, lower_name(l, arena_printf(a, "%s_box", t.axes[last].r->name)),
                                       ix_const(a, 0), ix_const(a, boxes), 1, t.span);
        each->unroll = true;
        p.block = &each->body;
        box = ix_mul(a, ix_var(a, each->var), ix_const(a, row));
    }
    index_expr *at[MOST_STAGED_AXES + 1] = {slot};
    kernel_stmt *s = kernel_append(l->ir, p.block, KSTMT_COPY, t.span);
    s->extents = NEW_ARRAY(a, index_expr *, t.count + 1);
    s->extents[0] = ix_const(a, 1);
    for (int d = 0; d < t.count; d++) {
        at[d + 1] = p.position[t.axes[d].r->id] = d == last ? box : ix_const(a, 0);
        s->extents[d + 1] = ix_const(a, d == last ? row : t.axes[d].cells);
    }
    s->access = kernel_at(l->ir, t.array, at);
    s->source = emit_global_access(&p, t.x->array, t.x->indices);
    s->clip = true;
    s->name = mbarrier;
    s->slot = slot;
}

kernel_array *lanes_stage_ring(lower *l, const tile_value *product, int operand) {
    return lanes_stage_tile(l, product, operand).array;
}

kernel_array *lanes_stage_array(const lower *l, const tile_value *product, int operand) {
    return l->fragment_tiles[2 * product->id + operand];
}

int lanes_stage_dimension(lower *l, const tile_value *product, int operand, const tile_range *r) {
    staged_tile t = lanes_stage_tile(l, product, operand);
    for (int d = 0; d < t.count; d++)
        if (t.axes[d].r == r)
            return d;
    return -1;
}
