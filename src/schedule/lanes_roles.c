/* Lowering to the threads of a block: a producer and consumers around a ring of tiles. One thread of a warpgroup of its own copies the operands of products in
 * bulk, a transfer of whole rows each; warpgroups multiply them. Step t uses slot t mod stages. `full` completes a phase when a step's copies have landed, `empty`
 * when all consumers have left the slot. A consumer leaves the slot of step t - 1 while step t's products run, so its first arrival, in step 0, is for the last slot,
 * which nothing has used yet, and the slot of step t has been left in the floor((t + 1) / stages)-th turn. No barrier of the whole block is needed. */
#include "schedule/lanes_fragment.h"
#include <string.h>

static cond *is(lower *l, index_var *id, int64_t value) {
    return cond_compare(l->arena, COND_EQ, ix_var(l->arena, id), ix_const(l->arena, value));
}

void lanes_roles_begin(lower *l) {
    arena *a = l->arena;
    const kernel_level *groups = &l->ir->levels.at[1];
    const schedule_options *o = &l->machine->options;
    int64_t extent = 0, columns = o->subgroup_columns ? o->subgroup_columns : 1;
    ix_is_const(groups->extents[1], &extent);
    const int along = extent > columns; /* which dimension has the warpgroup more (lanes_spread.c) */
    ix_is_const(groups->extents[along], &extent);
    for (int i = 0; i < l->k->body.items.count; i++) {
        const tile_stmt *s = l->k->body.items.at[i];
        const char *why = s->kind == TILE_STMT_LOOP ? lanes_roles_refusal(l, s) : NULL;
        if (!why)
            continue;
        diag *g = diag_error(l->diags, "E0506", o->roles_at.line ? o->roles_at : s->span,
                             "operands of the loop in line %d can't be copied by a producer", s->span.line);
        diag_caret(l->diags, g, "the nearest legal value is none");
        diag_note(l->diags, g, "%s", why);
        l->failed = true;
        return;
    }
    l->consuming = cond_compare(a, COND_LT, ix_var(a, groups->ids[along]), ix_const(a, extent - 1));
    l->producing = cond_and(a, is(l, groups->ids[along], extent - 1), is(l, groups->ids[!along], 0));
    for (int level = 2; level < l->ir->levels.count; level++)
        for (int d = 0; d < l->ir->levels.at[level].rank; d++)
            l->producing = cond_and(a, l->producing, is(l, l->ir->levels.at[level].ids[d], 0));
    kernel_stmt *producer = kernel_append(l->ir, l->block, KSTMT_ROLE, l->k->span),
                *consumer = kernel_append(l->ir, l->block, KSTMT_ROLE, l->k->span);
    producer->name = "producer";
    producer->condition = l->producing;
    consumer->name = "consumer";
    consumer->condition = l->consuming;
    l->producer = &producer->body;
    l->block = &consumer->body;
}

const char *lanes_roles_refusal(lower *l, const tile_stmt *loop) {
    const char *why = NULL;
    for (int i = 0; i < loop->body.items.count && !why; i++)
        for (int o = 0; o < 2 && !why; o++)
            why = lanes_stage_bulk_refusal(l, loop->body.items.at[i]->value, o);
    return why;
}

static const char *mbarrier(lower *l, const char *name, int slots, int64_t arrivals, source_span span) {
    kernel_mbarrier *m = NEW(l->arena, kernel_mbarrier);
    *m = (kernel_mbarrier){lower_name(l, name), slots, arrivals, span};
    VEC_PUSH(l->arena, l->ir->mbarriers, m);
    return m->name;
}

static kernel_stmt *meet(lower *l, kernel_block *b, kernel_stmt_kind kind, const char *name, index_expr *slot, source_span span) {
    kernel_stmt *s = kernel_append(l->ir, b, kind, span);
    s->name = name;
    s->slot = slot;
    return s;
}

static kernel_stmt *steps_of(lower *l, kernel_block *b, const tile_stmt *loop, index_expr *hi, int64_t size, const char *what) {
    arena *a = l->arena;
    const char *range = loop->range->name;
    index_expr *steps = name_index(l, b, arena_printf(a, "%s_steps", range), ix_ceildiv(a, hi, ix_const(a, size)));
    return kernel_for(l->ir, b, lower_name(l, arena_printf(a, "%s_%s", range, what)), ix_const(a, 0), steps, 1, loop->span);
}

static void produce(lower *l, const tile_stmt *loop, index_expr *hi, int64_t size, int stages, const char *full,
                    const char *empty) {
    arena *a = l->arena;
    tile_range *r = loop->range;
    kernel_stmt *each = steps_of(l, l->producer, loop, hi, size, "copied");
    kernel_block *outside = l->block;
    index_expr *step = ix_var(a, each->var), *all = ix_const(a, stages);
    l->block = &each->body;
    index_expr *slot = name_index(l, l->block, arena_printf(a, "%s_slot", r->name), ix_mod(a, step, all));
    meet(l, l->block, KSTMT_MBARRIER_WAIT, empty, slot, loop->span)->phase =
        ix_sub(a, ix_floordiv(a, ix_add(a, step, ix_const(a, 1)), all), ix_const(a, 1));
    l->place[r->id] = (range_place){
        .start = ix_mul(a, step, ix_const(a, size)), .count = ix_const(a, size), .capacity = range_capacity(r), .entered = true};
    for (int i = 0; i < loop->body.items.count; i++)
        for (int o = 0; o < 2; o++)
            lanes_stage_copy_bulk(l, loop->body.items.at[i]->value, o, slot, full);
    l->place[r->id].entered = false;
    meet(l, l->block, KSTMT_MBARRIER_ARRIVE, full, slot, loop->span)->participants = l->producing;
    l->block = outside;
}

/* All lanes of the subgroup have left the slot: the first says so. */
static void leave(lower *l, const char *empty, index_expr *slot, source_span span) {
    arena *a = l->arena;
    kernel_stmt *together = kernel_append(l->ir, l->block, KSTMT_BARRIER, span), *first;
    together->scope = LEVEL_SUBGROUP;
    together->spaces = 1u << SPACE_SHARED;
    const kernel_level *lanes = &l->ir->levels.at[l->ir->levels.count - 1];
    cond *is_first = NULL;
    for (int d = 0; d < lanes->rank; d++)
        is_first = cond_and(a, is_first, is(l, lanes->ids[d], 0));
    first = kernel_append(l->ir, l->block, KSTMT_IF, span);
    first->condition = is_first;
    meet(l, &first->body, KSTMT_MBARRIER_ARRIVE, empty, slot, span)->participants = cond_and(a, l->consuming, is_first);
}

void lanes_roles_loop(lower *l, const tile_stmt *loop, index_expr *hi, int64_t size, int stages) {
    arena *a = l->arena;
    const char *range = loop->range->name;
    const char *full = mbarrier(l, arena_printf(a, "%s_full", range), stages, 1, loop->span),
               *empty = mbarrier(l, arena_printf(a, "%s_empty", range), stages, l->machine->subgroups, loop->span);
    produce(l, loop, hi, size, stages, full, empty);
    kernel_block *outside = l->block;
    kernel_stmt *each = steps_of(l, outside, loop, hi, size, "step");
    index_expr *step = ix_var(a, each->var), *all = ix_const(a, stages);
    l->block = &each->body;
    meet(l, l->block, KSTMT_MBARRIER_WAIT, full, ix_mod(a, step, all), loop->span)->phase = ix_floordiv(a, step, all);
    lanes_ring_multiply(l, loop, hi, size, step, stages);
    kernel_append(l->ir, l->block, KSTMT_COMMIT, loop->span)->matrix = true;
    lanes_ring_settle(l, loop, hi, size, step);
    leave(l, empty, ix_mod(a, ix_add(a, step, ix_const(a, stages - 1)), all), loop->span);
    kernel_append(l->ir, outside, KSTMT_WAIT_ASYNC, loop->span)->matrix = true;
    l->block = outside;
}

bool lower_roles(arena *a, const tile_kernel *k, const machine_model *machine, lowering *out, diag_list *diags) {
    machine_model with = *machine;
    lowering of;
    with.producer = true;
    if (!machine->options.operand_warpgroups || out->plan->variants.count != 1) {
        const source_span at = machine->options.roles_at;
        diag *g = diag_error(diags, "E0506", at.line ? at : k->span, "kernel `%s` can't have a producer", k->name);
        diag_caret(diags, g, "the nearest legal value is none");
        diag_note(diags, g, "it copies operands that warpgroups multiply: say operands = fragments(warpgroup)");
        return false;
    }
    if (!lower_kernel(a, k, &with, &of, diags))
        return false;
    out->plan->variants.at[0].aligned = of.plan->variants.at[0].kernel;
    for (int i = 0; i < of.routes.count; i++) {
        bool said = false;
        for (int j = 0; j < out->routes.count; j++)
            said = said || !strcmp(out->routes.at[j], of.routes.at[i]);
        if (!said)
            VEC_PUSH(a, out->routes, arena_printf(a, "arrays at multiples of 16 bytes: %s", of.routes.at[i]));
    }
    return true;
}
