/* Lowering to the threads of a block: operands of matrix instructions that are held in registers while earlier tiles are multiplied, on targets that copy nothing
 * asynchronously. The staged tiles have two slots. In step t the threads load their parts of the tiles of t + 1, multiply those of t, and store what they hold into
 * the slot that step t - 1 has left: the loads are under way while the products are made, and one barrier a step, at its top, tells that all parts of t have
 * arrived and that nobody reads the tiles of t - 1 any more. */
#include "schedule/lanes_fragment.h"
#include "schedule/lanes_stage.h"

enum { SLOTS = 2 };

/* Whether an earlier product of the loop has this operand too: it is held once. */
static bool is_shared(const tile_stmt *loop, int product, int operand) {
    const tile_value *x = loop->body.items.at[product]->value->operands[operand];
    for (int n = 0; n < 2 * product + operand; n++)
        if (lanes_stage_same_elements(loop->body.items.at[n / 2]->value->operands[n % 2], x))
            return true;
    return false;
}

/* *large: it is the tiles that are. */
static const char *refusal(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi, bool *large) {
    int64_t bytes = 0;
    const char *why = lanes_ring_loop_refusal(l, loop, lo, hi);
    if (why)
        return why;
    for (int i = 0; i < loop->body.items.count; i++) {
        const tile_stmt *s = loop->body.items.at[i];
        if ((why = lanes_ring_product_refusal(l, loop, s)))
            return why;
        for (int o = 0; o < 2; o++) {
            if (!tile_has_axis(s->value->operands[o], loop->range))
                return "an operand is the same in every step";
            bytes += is_shared(loop, i, o) ? 0 : SLOTS * lanes_stage_bytes(l, s->value, o);
        }
    }
    *large = bytes > l->machine->shared_bytes;
    return *large ? arena_printf(l->arena, "two tiles of each operand take %lld bytes of shared memory, and a block has %lld",
                                 (long long)bytes, (long long)l->machine->shared_bytes)
                  : NULL;
}

/* One phase of step `at`, if there is such a step. */
static void fill(lower *l, const tile_stmt *loop, int64_t size, index_expr *at, index_expr *steps, fill_phase phase) {
    arena *a = l->arena;
    kernel_block *outside = l->block;
    kernel_stmt *exists = kernel_append(l->ir, l->block, KSTMT_IF, loop->span);
    exists->condition = cond_compare(a, COND_LT, at, steps);
    l->block = &exists->body;
    index_expr *slot = ix_mod(a, at, ix_const(a, SLOTS));
    if (phase != FILL_LOADS)
        slot = name_index(l, l->block, arena_printf(a, "%s_slot", loop->range->name), slot);
    lanes_fill_step(l, loop, size, at, slot, phase);
    l->block = outside;
}

bool lanes_ahead_loop(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi, int64_t size) {
    arena *a = l->arena;
    const int asked = l->machine->options.stages, most = l->machine->held_stages;
    tile_range *r = loop->range;
    if (!l->spreads || !most || !l->out->matrix_products || asked < 2 || size < 2)
        return false;
    bool any = false;
    for (int i = 0; i < loop->body.items.count; i++)
        any = any ||
              (loop->body.items.at[i]->kind == TILE_STMT_UPDATE && l->fragment_products[loop->body.items.at[i]->variable->id]);
    if (!any)
        return false;
    bool large = false;
    const char *why = asked > most ? "threads hold one tile of each operand in registers" : refusal(l, loop, lo, hi, &large);
    if (why) {
        const source_span at = l->machine->options.stages_at;
        diag *g = diag_error(l->diags, "E0506", at.line ? at : loop->span,
                             "operands of the loop in line %d can't be copied %d stages ahead", loop->span.line, asked - 1);
        diag_caret(l->diags, g, "the nearest legal value is %d%s", asked > most ? most : 1,
                   large ? ", or 2 of smaller tiles" : "");
        diag_note(l->diags, g, "%s", why);
        l->failed = true;
        return true;
    }
    VEC_PUSH(
        a, l->out->routes,
        arena_printf(a,
                     "line %d: operands of the next step are loaded into registers before a step's products and stored behind "
                     "them, into a ring of 2 stages (refused: copied before each step; asynchronous copies, which %s lacks)",
                     loop->span.line, l->machine->target));
    l->out->ringed = true;
    for (int i = 0; i < loop->body.items.count; i++)
        l->rings[loop->body.items.at[i]->value->id] = SLOTS;
    kernel_block *outside = l->block;
    if (l->loops.count) /* the last trip's tiles may still be read */
        lanes_barrier(l, 1u << SPACE_SHARED, loop->span);
    index_expr *steps = name_index(l, outside, arena_printf(a, "%s_steps", r->name), ix_ceildiv(a, hi, ix_const(a, size)));
    fill(l, loop, size, ix_const(a, 0), steps, FILL_LOADS);
    fill(l, loop, size, ix_const(a, 0), steps, FILL_STORES);
    kernel_stmt *each =
        kernel_for(l->ir, outside, lower_name(l, arena_printf(a, "%s_step", r->name)), ix_const(a, 0), steps, 1, loop->span);
    index_expr *step = ix_var(a, each->var), *next = ix_add(a, step, ix_const(a, 1));
    l->block = &each->body;
    lanes_barrier(l, 1u << SPACE_SHARED, loop->span);
    fill(l, loop, size, next, steps, FILL_LOADS);
    lanes_ring_multiply(l, loop, hi, size, step, SLOTS);
    fill(l, loop, size, next, steps, FILL_STORES);
    l->block = outside;
    return true;
}
