/* Lowering to the threads of a block: the tiles of a chain's operands (lanes_chain.h), copied before each step or ahead, and its loops. */
#include "schedule/lanes_fragment.h"
#include "schedule/lanes_chain.h"
#include <string.h>

enum { KEPT_REGISTERS = 32 };

static bool is_home(const chain_product *p, int o, const tile_stmt *loop, bool ringed) {
    return p->routes[o] == CHAIN_COPIED && p->home[o] == loop && p->ringed[o] == ringed;
}

/* Of one of the kernel's own loops without others in it how many copies are under way is known. */
static bool stands_alone(const lower *l, const tile_stmt *loop) {
    bool alone = false;
    for (int i = 0; i < l->k->body.items.count; i++)
        alone = alone || l->k->body.items.at[i] == loop;
    for (int i = 0; i < loop->body.items.count; i++)
        alone = alone && loop->body.items.at[i]->kind != TILE_STMT_LOOP;
    return alone;
}

/* Everything that is copied in this loop (NULL: before all statements) can be copied ahead, or nothing is. */
void chain_choose_rings(lower *l) {
    chain *c = l->chain;
    const int asked = l->machine->stages ? l->machine->options.stages : 1, most = asked ? asked : l->machine->stages;
    int64_t bytes = 0, fixed = 0;
    for (int i = 0; i < c->products.count; i++)
        for (int o = 0; o < 2; o++) {
            chain_product *p = &c->products.at[i];
            if (p->routes[o] != CHAIN_COPIED)
                continue;
            int64_t own = lanes_stage_bytes(l, p->v, o);
            p->ringed[o] = p->home[o] && most > 1;
            for (int n = 0; n < c->products.count && p->ringed[o]; n++)
                for (int q = 0; q < 2 && p->ringed[o]; q++)
                    if (c->products.at[n].routes[q] == CHAIN_COPIED && c->products.at[n].home[q] == p->home[o]) {
                        const char *why = lanes_ring_operand_refusal(l, c->products.at[n].v, q);
                        if (!why && !stands_alone(l, p->home[o]))
                            why = "a loop stands in another";
                        if (!why && lanes_chain_cells(l, p->home[o]->range) != range_capacity(p->home[o]->range))
                            why = "the tiles are no multiple of the matrix instruction's steps";
                        if (why)
                            VEC_PUSH(l->arena, l->out->routes,
                                     arena_printf(l->arena,
                                                  "line %d: operands copied before each step, refused: a ring of stages: %s",
                                                  p->home[o]->span.line, why));
                        p->ringed[o] = !why;
                    }
            *(p->ringed[o] ? &bytes : &fixed) += own;
        }
    int stages = most;
    const int64_t there = l->machine->ring_bytes ? l->machine->ring_bytes : l->machine->shared_bytes;
    while (!asked && stages > 1 && fixed + bytes * stages > there)
        stages--;
    c->stages = bytes && stages > 1 ? stages : 0;
    for (int i = 0; i < c->products.count; i++)
        for (int o = 0; o < 2; o++) {
            chain_product *p = &c->products.at[i];
            p->ringed[o] = p->ringed[o] && c->stages;
        }
    l->out->ringed = l->out->ringed || c->stages;
}

int lanes_chain_slots(const lower *l, const tile_value *product, int operand) {
    const chain_product *p = chain_product_of(l, product);
    return p && p->ringed[operand] ? l->chain->stages : 0;
}

static bool copy_all(lower *l, const tile_stmt *loop) {
    bool any = false;
    for (int i = 0; i < l->chain->products.count; i++)
        for (int o = 0; o < 2; o++) {
            const chain_product *p = &l->chain->products.at[i];
            if (is_home(p, o, loop, false)) {
                lanes_stage_copy_operand(l, p->v, o, NULL, NULL);
                any = true;
            }
        }
    if (any)
        lanes_barrier(l, 1u << SPACE_SHARED, loop ? loop->span : l->k->span);
    return any;
}

bool lanes_chain_enter(lower *l, const tile_stmt *loop) {
    if (!l->chain)
        return false;
    kernel_fragment **before = NEW_ARRAY(l->arena, kernel_fragment *, l->value_count);
    memcpy(before, l->chain->held, (size_t)l->value_count * sizeof *before);
    VEC_PUSH(l->arena, l->chain->before, before);
    return copy_all(l, loop);
}

void lanes_chain_leave(lower *l, const tile_stmt *loop, bool copied) {
    if (l->chain) /* what the loop's statements keep ends with them */
        memcpy(l->chain->held, l->chain->before.at[--l->chain->before.count], (size_t)l->value_count * sizeof *l->chain->held);
    if (copied) /* the next trip writes the tiles again */
        lanes_barrier(l, 1u << SPACE_SHARED, loop->span);
}

static void count_kept(lower *l) {
    chain *c = l->chain;
    for (int i = 0; i < c->products.count; i++) {
        chain_product *p = &c->products.at[i];
        const matrix_instruction *with = c->with;
        int64_t steps = lanes_chain_cells(l, p->summed) / with->k,
                each = (int64_t)with->m * with->k * element_table[with->operand].block_bytes / (4 * with->lanes);
        if (p->routes[p->left] == CHAIN_MADE || p->home[p->left] || steps * c->across_rows * each > KEPT_REGISTERS)
            continue;
        p->kept = kernel_add_fragment(l->ir, lower_name(l, arena_printf(l->arena, "%s_kept", c->rows->name)), FRAGMENT_A,
                                      p->v->operands[0]->type, with->m, with->k, (int)(steps * c->across_rows), with->holder);
        p->kept->span = p->v->span;
    }
}

void lanes_chain_begin(lower *l) {
    chain *c = l->chain;
    c->working = kernel_add_fragment(l->ir, lower_name(l, "part"), FRAGMENT_ACCUMULATOR, ELEMENT_F32, c->with->m, c->with->n,
                                     c->across_rows * CHAIN_GROUP, c->with->holder);
    c->working->span = l->k->span;
    copy_all(l, NULL);
    count_kept(l);
    chain_load_kept(l);
}

/* ---- loops whose tiles are copied ahead ---- */

static void copy_step(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *at, int64_t size, index_expr *slot) {
    arena *a = l->arena;
    range_place *place = &l->place[loop->range->id];
    *place = (range_place){.start = ix_add(a, lo, ix_mul(a, at, ix_const(a, size))),
                           .count = ix_const(a, size),
                           .capacity = range_capacity(loop->range),
                           .entered = true};
    for (int i = 0; i < l->chain->products.count; i++)
        for (int o = 0; o < 2; o++)
            if (is_home(&l->chain->products.at[i], o, loop, true))
                lanes_stage_copy_async(l, l->chain->products.at[i].v, o, slot);
    place->entered = false;
}

static bool has_ring(const lower *l, const tile_stmt *loop) {
    for (int i = 0; l->chain && i < l->chain->products.count; i++)
        if (is_home(&l->chain->products.at[i], 0, loop, true) || is_home(&l->chain->products.at[i], 1, loop, true))
            return true;
    return false;
}

bool lanes_chain_loop(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi, index_expr *exact_hi, int64_t size) {
    arena *a = l->arena;
    tile_range *r = loop->range;
    if (!has_ring(l, loop))
        return false;
    const int stages = l->chain->stages, ahead = stages - 1;
    kernel_block *outside = l->block;
    int64_t first;
    index_expr *span = ix_is_const(lo, &first) && first == 0 ? hi : ix_max(a, ix_const(a, 0), ix_sub(a, hi, lo));
    index_expr *steps = name_index(l, outside, arena_printf(a, "%s_steps", r->name), ix_ceildiv(a, span, ix_const(a, size)));
    VEC_PUSH(a, l->out->routes,
             arena_printf(a, "line %d: operands copied asynchronously into a ring of %d stages (refused: before each step)",
                          loop->span.line, stages));
    kernel_stmt *begin = kernel_for(l->ir, outside, lower_name(l, arena_printf(a, "%s_ahead", r->name)), ix_const(a, 0),
                                    ix_const(a, ahead), 1, loop->span);
    kernel_stmt *exists = kernel_append(l->ir, &begin->body, KSTMT_IF, loop->span);
    exists->condition = cond_compare(a, COND_LT, ix_var(a, begin->var), steps);
    l->block = &exists->body;
    copy_step(l, loop, lo, ix_var(a, begin->var), size, ix_var(a, begin->var));
    kernel_append(l->ir, &begin->body, KSTMT_COMMIT, loop->span);

    kernel_stmt *each =
        kernel_for(l->ir, outside, lower_name(l, arena_printf(a, "%s_step", r->name)), ix_const(a, 0), steps, 1, loop->span);
    index_expr *step = ix_var(a, each->var), *next = ix_add(a, step, ix_const(a, ahead));
    l->block = &each->body;
    kernel_append(l->ir, l->block, KSTMT_WAIT_ASYNC, loop->span)->count = ahead - 1;
    lanes_barrier(l, 1u << SPACE_SHARED, loop->span);
    kernel_stmt *more = kernel_append(l->ir, l->block, KSTMT_IF, loop->span);
    more->condition = cond_compare(a, COND_LT, next, steps);
    l->block = &more->body;
    copy_step(l, loop, lo, next, size,
              name_index(l, l->block, arena_printf(a, "%s_slot", r->name), ix_mod(a, next, ix_const(a, stages))));
    l->block = &each->body;
    kernel_append(l->ir, l->block, KSTMT_COMMIT, loop->span);
    index_expr *start =
        name_index(l, l->block, arena_printf(a, "%s_start", r->name), ix_add(a, lo, ix_mul(a, step, ix_const(a, size))));
    range_place *place = &l->place[r->id];
    *place = (range_place){.start = start,
                           .count = name_index(l, l->block, arena_printf(a, "%s_count", r->name),
                                               ix_min(a, ix_const(a, size), ix_sub(a, hi, start))),
                           .capacity = range_capacity(r),
                           .entered = true};
    if (!ix_equal(hi, exact_hi))
        place->limit = ix_min(a, ix_const(a, size), ix_sub(a, exact_hi, start));
    l->chain->slots[r->id] = name_index(l, l->block, arena_printf(a, "%s_slot", r->name), ix_mod(a, step, ix_const(a, stages)));
    lower_loop_body(l, loop);
    l->block = outside;
    return true;
}
