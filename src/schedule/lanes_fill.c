/* Lowering to the threads of a block: operands of products by warpgroups that are no copies of their arrays, computed or turned round on their way. The threads fill
 * their slots of the ring (lanes_ring.c) themselves, while the products of a step run: they store the tile of the next step, which they have loaded into registers a
 * step before, and load the one after it. */
#include "schedule/lanes_fragment.h"

enum { MOST_KEPT = 176 }; /* registers of a thread: its accumulators and what waits in it */

bool lanes_ring_fills(lower *l, const tile_value *product, int operand) {
    const bool held = l->machine->held_stages && l->rings[product->id] > 0; /* lanes_ahead.c: all of them */
    if (held || !l->matrices[product->id])
        return held;
    const bool rounds =
        lanes_rounded_load(l, product, 0) && lanes_rounded_load(l, product, 1); /* fragments do, behind their loads */
    return (lanes_by_reference(l, product) || (l->machine->stages && !rounds)) && lanes_ring_operand_refusal(l, product, operand);
}

bool lanes_fill_any(lower *l, const tile_stmt *loop, bool filled) {
    for (int i = 0; i < loop->body.items.count; i++)
        for (int o = 0; o < 2; o++)
            if (lanes_ring_fills(l, loop->body.items.at[i]->value, o) == filled)
                return true;
    return false;
}

bool lanes_fill_waits(lower *l, const tile_stmt *loop) {
    int64_t registers = 0;
    if (!lanes_fill_any(l, loop, true))
        return false;
    for (int i = 0; i < loop->body.items.count; i++) {
        const tile_value *product = loop->body.items.at[i]->value;
        registers += lanes_fragment_registers(l, product);
        for (int o = 0; o < 2; o++) {
            if (!lanes_ring_fills(l, product, o))
                continue;
            const int64_t own = lanes_stage_kept_registers(l, product, o);
            if (own < 0)
                return false;
            registers += own;
        }
    }
    return registers <= MOST_KEPT;
}

/* Products share the tiles of equal operands where they are held. */
static bool is_first(lower *l, const tile_stmt *loop, int item, int operand) {
    const kernel_array *tile = lanes_stage_ring(l, loop->body.items.at[item]->value, operand);
    for (int n = 0; n < 2 * item + operand; n++)
        if (lanes_stage_ring(l, loop->body.items.at[n / 2]->value, n % 2) == tile)
            return false;
    return true;
}

static void fill_all(lower *l, const tile_stmt *loop, index_expr *slot, fill_phase phase) {
    for (int i = 0; i < loop->body.items.count; i++)
        for (int o = 0; o < 2; o++)
            if (lanes_ring_fills(l, loop->body.items.at[i]->value, o) && is_first(l, loop, i, o))
                lanes_stage_fill(l, loop->body.items.at[i]->value, o, slot, phase);
}

/* Whether a tile that ends within r needs masks: that of the sum always, others where vectors lie along them; for what is stored of kept loads, which are zero where
 * nothing exists, only where zeros do not make zeros. */
static bool masked_along(lower *l, const tile_stmt *loop, const tile_range *r, fill_phase phase) {
    for (int i = 0; i < loop->body.items.count; i++)
        for (int o = 0; o < 2; o++) {
            const tile_value *product = loop->body.items.at[i]->value;
            if (lanes_ring_fills(l, product, o) && (r == loop->range || lanes_stage_wide(l, product, o) == r) &&
                (phase != FILL_STORES || !lanes_stage_is_zero(l, product, o)))
                return true;
        }
    return false;
}

void lanes_fill_step(lower *l, const tile_stmt *loop, int64_t size, index_expr *at, index_expr *slot, fill_phase phase) {
    arena *a = l->arena;
    tile_range *const ranges[] = {loop->range, l->product_rows, l->product_columns};
    range_place *summed = &l->place[ranges[0]->id];
    *summed = (range_place){.start = ix_mul(a, at, ix_const(a, size)),
                            .count = ix_const(a, size),
                            .capacity = range_capacity(loop->range),
                            .entered = true};
    index_expr *counts[3];
    cond *whole = NULL;
    for (int i = 0; i < 3; i++) {
        range_place *place = &l->place[ranges[i]->id];
        counts[i] = place->count;
        if (masked_along(l, loop, ranges[i], phase))
            whole = cond_and(a, whole,
                             cond_compare(a, COND_LE, ix_add(a, place->start, ix_const(a, place->capacity)),
                                          lower_expression(l, ranges[i]->extent)));
        else if (phase != FILL_STORES)
            continue;
        place->count = ix_const(a, place->capacity);
    }
    kernel_block *outside = l->block;
    kernel_stmt *s = NULL;
    if (whole) { /* a text without masks: all that is read is asked for before the first of it is used */
        s = kernel_append(l->ir, l->block, KSTMT_IF, loop->span);
        s->condition = whole;
        l->block = &s->body;
    }
    fill_all(l, loop, slot, phase);
    for (int i = 0; i < 3; i++)
        l->place[ranges[i]->id].count = counts[i];
    if (s) {
        l->block = &s->otherwise;
        summed->count =
            name_index(l, l->block, arena_printf(a, "%s_count", ranges[0]->name),
                       ix_min(a, ix_const(a, size), ix_sub(a, lower_expression(l, ranges[0]->extent), summed->start)));
        fill_all(l, loop, slot, phase);
    }
    summed->entered = false;
    l->block = outside;
}

void lanes_fill_tell(lower *l, const tile_stmt *loop) {
    const bool waits = lanes_fill_waits(l, loop);
    for (int i = 0; i < loop->body.items.count; i++)
        for (int o = 0; o < 2; o++) {
            const tile_value *product = loop->body.items.at[i]->value;
            if (lanes_ring_fills(l, product, o))
                VEC_PUSH(l->arena, l->out->routes,
                         arena_printf(
                             l->arena,
                             "line %d: operand %d is loaded%s, computed and stored by the threads while the last step is "
                             "multiplied (refused: copied asynchronously: %s)",
                             product->span.line, o + 1, waits ? " a step ahead" : "", lanes_ring_operand_refusal(l, product, o)));
        }
}
