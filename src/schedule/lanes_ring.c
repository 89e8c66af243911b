/* Lowering to the threads of a block: operands of matrix instructions that are copied while earlier tiles are multiplied. The staged tiles have `stages`
 * slots; at the top of step t the copies for t have landed, those for t + 1 .. t + stages - 2 are under way, and t + stages - 1 begins in the slot that step
 * t - 1 has left: one barrier a step. What lies outside an operand's array is copied as zero, so the last tile needs no form of its own. */
#include "schedule/lanes_fragment.h"

/* ---- whether ---- */

/* The dimension of the load that is the range itself, over the whole of that dimension; -1: none is. */
static int whole_dimension(const tile_value *load, const tile_range *r) {
    int found = -1;
    for (int d = 0; d < load->array->rank; d++) {
        const index_expr *x = load->indices[d];
        if (!ix_mentions(x, r->var))
            continue;
        if (found >= 0 || x->op != IX_VAR || !ix_equal(r->extent, load->array->dims[d]))
            return -1;
        found = d;
    }
    return found;
}

tile_value *lanes_rounded_load(const lower *l, const tile_value *product, int operand) {
    const tile_value *x = product->operands[operand];
    bool rounds = l->matrices[product->id] && l->matrices[product->id]->operand == ELEMENT_TF32 && x->op == TILE_CONVERT &&
                  x->type == ELEMENT_TF32 && x->operands[0]->op == TILE_LOAD && x->operands[0]->array->type == ELEMENT_F32;
    return rounds ? x->operands[0] : NULL;
}

bool lanes_rounds_later(const lower *l, const tile_value *product) {
    return l->rings[product->id] > 0 && !lanes_by_reference(l, product) && lanes_rounded_load(l, product, 0) &&
           lanes_rounded_load(l, product, 1);
}

/* What is copied is a box of the array. */
static const char *read_refusal(const tile_value *x) {
    if (x->has_outside || x->array->role != ARRAY_IN)
        return "an operand is not read as it lies";
    for (int d = 0; d < x->array->rank; d++)
        if (index_mentions_data(x->indices[d]))
            return "data says where an operand lies";
    for (int i = 0; i < x->axis_count; i++)
        if (range_capacity(x->axes[i]) != 1 && whole_dimension(x, x->axes[i]) < 0)
            return "an operand's range is not a dimension of its array";
    return NULL;
}

static const char *load_refusal(lower *l, const tile_value *product, int operand, const tile_value *x) {
    bool last = false;
    const char *why = read_refusal(x);
    if (why)
        return why;
    for (int i = 0; i < x->axis_count; i++)
        last = last || (range_capacity(x->axes[i]) != 1 && whole_dimension(x, x->axes[i]) == x->array->rank - 1 &&
                        x->axes[i] == lanes_stage_last(l, product, operand));
    if (lanes_stage_width(l, product, operand) * element_table[x->array->type].block_bytes < 4)
        return "less than 4 bytes are copied at once";
    return last ? NULL : "an operand's tile does not lie as its array does";
}

const char *lanes_ring_operand_refusal(lower *l, const tile_value *product, int operand) {
    const tile_value *x = product->operands[operand];
    if (x->op != TILE_LOAD || x->array->type != l->matrices[product->id]->operand)
        return "an operand is computed";
    return load_refusal(l, product, operand, x);
}

/* Whether the update adds a product of staged operands that single threads multiply, whose sums go on to the loop's end. */
static bool is_of_threads(const lower *l, const tile_stmt *loop, const tile_stmt *s) {
    return s->kind == TILE_STMT_UPDATE && s->value->op == TILE_DOT && lanes_staged(l, s->value) && !l->matrices[s->value->id] &&
           lanes_may_defer(l, s, loop);
}

static bool any_of_threads(const lower *l, const tile_stmt *loop) {
    for (int i = 0; i < loop->body.items.count; i++)
        if (is_of_threads(l, loop, loop->body.items.at[i]))
            return true;
    return false;
}

/* Single threads read the tile by elements, so it may lie otherwise than its array does. */
static const char *refusal_of_threads(lower *l, const tile_stmt *loop, const tile_stmt *s) {
    if (!is_of_threads(l, loop, s))
        return "the loop does more than add products to accumulators";
    const tile_value *product = s->value;
    if (product->contract_count != 1 || product->contract[0] != loop->range)
        return "a product sums over other ranges than the loop's";
    for (int o = 0; o < 2; o++) {
        const tile_value *x = product->operands[o];
        if (x->op != TILE_LOAD || x->array->type != lanes_staged_type(l, product))
            return "an operand is computed";
        if (element_table[x->array->type].block_bytes < 4)
            return "less than 4 bytes are copied at once";
        const char *why = read_refusal(x);
        if (why)
            return why;
    }
    return NULL;
}

/* Whether products of the loop read their tiles themselves. */
static bool by_reference(lower *l, const tile_stmt *loop) {
    for (int i = 0; i < loop->body.items.count; i++)
        if (loop->body.items.at[i]->value && lanes_by_reference(l, loop->body.items.at[i]->value))
            return true;
    return false;
}

const char *lanes_ring_loop_refusal(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi) {
    int64_t zero;
    if (loop->predicate || !ix_is_const(lo, &zero) || zero || !ix_equal(hi, lower_expression(l, loop->range->extent)))
        return "a predicate bounds the loop";
    return loop->body.items.count ? NULL : "the loop is empty";
}

const char *lanes_ring_product_refusal(lower *l, const tile_stmt *loop, const tile_stmt *s) {
    if (s->kind != TILE_STMT_UPDATE || !l->fragment_products[s->variable->id])
        return "the loop does more than add products to accumulators";
    if (l->direct[s->value->id])
        return "operands are loaded straight from memory";
    if (lanes_fragment_cells(l, s->value, loop->range) != range_capacity(loop->range))
        return "the tiles are no multiple of the matrix instruction's steps"; /* what follows a tile is not zero */
    return NULL;
}

static const char *refusal(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi) {
    const char *unfit = lanes_ring_loop_refusal(l, loop, lo, hi);
    if (unfit)
        return unfit;
    if (l->loops.count) /* how many groups of copies went before depends on a product of unknowns then */
        return "the loop lies in another";
    const bool of_threads = any_of_threads(l, loop);
    for (int i = 0; i < loop->body.items.count; i++) {
        const tile_stmt *s = loop->body.items.at[i];
        if (of_threads) {
            const char *why = refusal_of_threads(l, loop, s);
            if (why)
                return why;
            continue;
        }
        if ((unfit = lanes_ring_product_refusal(l, loop, s)))
            return unfit;
        for (int o = 0; o < 2 && !lanes_by_reference(l, s->value); o++) {
            const bool rounds = lanes_rounded_load(l, s->value, 0) && lanes_rounded_load(l, s->value, 1);
            const char *why = rounds ? load_refusal(l, s->value, o, lanes_rounded_load(l, s->value, o))
                                     : lanes_ring_operand_refusal(l, s->value, o);
            if (why && (rounds || !lanes_fill_waits(l, loop)))
                return why;
        }
    }
    return NULL;
}

/* A product that runs on keeps its tile a step longer. */
static int least_slots(lower *l, const tile_stmt *loop) {
    return by_reference(l, loop) ? 3 : 2;
}

/* As many slots as are wanted, or fit. */
static int slots_for(lower *l, const tile_stmt *loop) {
    const schedule_options *o = &l->machine->options;
    int64_t bytes = 0;
    for (int i = 0; i < l->k->value_count; i++)
        if (l->matrices[i])
            bytes += l->ring_bytes[i];
    for (int i = 0; i < loop->body.items.count; i++)
        for (int operand = 0; operand < 2 && is_of_threads(l, loop, loop->body.items.at[i]); operand++)
            bytes += lanes_stage_bytes(l, loop->body.items.at[i]->value, operand);
    if (o->stages)
        return o->stages;
    int stages = l->machine->stages;
    bool copied = false;
    for (int i = 0; i < loop->body.items.count; i++)
        for (int operand = 0; operand < 2; operand++)
            copied = copied || !lanes_ring_fills(l, loop->body.items.at[i]->value, operand);
    if (!copied && stages > least_slots(l, loop)) /* what threads fill runs no further ahead for more of them */
        stages = least_slots(l, loop);
    enum { MBARRIERS = 1024 };
    const int64_t most =
        (l->machine->ring_bytes ? l->machine->ring_bytes : l->machine->shared_bytes) - (l->machine->producer ? MBARRIERS : 0);
    while (stages > 1 && bytes * stages > most)
        stages--;
    return stages;
}

bool lanes_ring_alone(lower *l) {
    bool any = false;
    if (!l->machine->stages || !l->out->matrix_products || l->machine->options.stages == 1)
        return false;
    for (int i = 0; i < l->k->body.items.count; i++) {
        const tile_stmt *s = l->k->body.items.at[i];
        int64_t size;
        switch (s->kind) {
        case TILE_STMT_VAR:
            if (!l->fragment_products[s->variable->id])
                return false;
            break;
        case TILE_STMT_LOOP:
            if (s->range->whole || !ix_is_const(lower_expression(l, s->range->size), &size) || size < 2 ||
                ix_equal(s->range->extent, s->range->size) ||
                refusal(l, s, ix_const(l->arena, 0), lower_expression(l, s->range->extent)) ||
                slots_for(l, s) < least_slots(l, s))
                return false;
            any = true;
            break;
        case TILE_STMT_STORE:
            if (!lanes_epilogue_reads(l, s->value))
                return false;
            break;
        case TILE_STMT_LET: break;
        default: return false;
        }
    }
    return any;
}

bool lanes_ring_of_threads(lower *l) {
    int64_t size;
    for (int i = 0; i < l->k->body.items.count && l->machine->stages && l->machine->options.stages != 1; i++) {
        const tile_stmt *s = l->k->body.items.at[i];
        if (s->kind == TILE_STMT_LOOP && any_of_threads(l, s) && !s->range->whole &&
            ix_is_const(lower_expression(l, s->range->size), &size) && size > 1 &&
            !refusal(l, s, ix_const(l->arena, 0), lower_expression(l, s->range->extent)) && slots_for(l, s) > 1)
            return true;
    }
    return false;
}

/* ---- the loop ---- */

typedef struct ring {
    lower *l;
    const tile_stmt *loop;
    int stages, ahead; /* slots; steps whose copies are under way before the first is multiplied */
    int64_t size;
} ring;

static kernel_stmt *append(lower *l, kernel_block *b, kernel_stmt_kind kind, source_span span) {
    return kernel_append(l->ir, b, kind, span);
}

/* Products of single threads share the tiles of equal operands. */
static bool is_first_copy(const ring *g, int item, int operand) {
    const tile_stmt *const *items = (const tile_stmt *const *)g->loop->body.items.at;
    if (!is_of_threads(g->l, g->loop, items[item]))
        return true;
    for (int n = 0; n < 2 * item + operand; n++)
        if (lanes_stage_ring(g->l, items[n / 2]->value, n % 2) == lanes_stage_ring(g->l, items[item]->value, operand))
            return false;
    return true;
}

/* The copies of step `at` into its slot. */
static void copy_step(const ring *g, index_expr *at, index_expr *slot) {
    lower *l = g->l;
    arena *a = l->arena;
    range_place *place = &l->place[g->loop->range->id];
    *place = (range_place){.start = ix_mul(a, at, ix_const(a, g->size)),
                           .count = ix_const(a, g->size),
                           .capacity = range_capacity(g->loop->range),
                           .entered = true};
    for (int i = 0; i < g->loop->body.items.count; i++)
        for (int o = 0; o < 2; o++)
            if (!lanes_ring_fills(l, g->loop->body.items.at[i]->value, o) && is_first_copy(g, i, o))
                lanes_stage_copy_async(l, g->loop->body.items.at[i]->value, o, slot);
    place->entered = false;
}

/* The copies for step `next`, if there is one, into the slot that is free. */
static void copy_ahead(const ring *g, index_expr *next, index_expr *steps) {
    lower *l = g->l;
    arena *a = l->arena;
    kernel_block *outside = l->block;
    kernel_stmt *exists = append(l, l->block, KSTMT_IF, g->loop->span);
    exists->condition = cond_compare(a, COND_LT, next, steps);
    l->block = &exists->body;
    copy_step(g, next,
              name_index(l, l->block, arena_printf(a, "%s_slot", g->loop->range->name), ix_mod(a, next, ix_const(a, g->stages))));
    l->block = outside;
    append(l, l->block, KSTMT_COMMIT, g->loop->span);
}

/* What threads do themselves for a step, if there is one. */
static void fill_ahead(const ring *g, index_expr *at, index_expr *steps, fill_phase phase) {
    lower *l = g->l;
    arena *a = l->arena;
    kernel_block *outside = l->block;
    kernel_stmt *exists = append(l, l->block, KSTMT_IF, g->loop->span);
    exists->condition = cond_compare(a, COND_LT, at, steps);
    l->block = &exists->body;
    index_expr *slot = ix_mod(a, at, ix_const(a, g->stages));
    lanes_fill_step(l, g->loop, g->size, at,
                    phase == FILL_LOADS ? slot : name_index(l, l->block, arena_printf(a, "%s_slot", g->loop->range->name), slot),
                    phase);
    l->block = outside;
}

static void wait_for_products(lower *l, kernel_block *b, int left, source_span span) {
    kernel_stmt *s = append(l, b, KSTMT_WAIT_ASYNC, span);
    s->matrix = true;
    s->count = left;
}

/* ---- units that keep fewer bits than f32: their sums begin anew after each interval ---- */

static bool keeps_fewer(const lower *l, const tile_stmt *loop) {
    bool any = false;
    for (int i = 0; i < loop->body.items.count; i++)
        any = any || l->matrices[loop->body.items.at[i]->value->id]->kept;
    return any;
}

static kernel_block *below(lower *l, cond *c, source_span span) {
    kernel_block *outside = l->block;
    if (c) {
        kernel_stmt *s = append(l, l->block, KSTMT_IF, span);
        s->condition = c;
        l->block = &s->body;
    }
    return outside;
}

/* Once for each variable of the loop. */
static bool is_first_of(const tile_stmt *loop, int i) {
    for (int n = 0; n < i; n++)
        if (loop->body.items.at[n]->variable == loop->body.items.at[i]->variable)
            return false;
    return true;
}

/* Steps after which the unit's sums are added in f32; 0: it keeps all bits. */
static int64_t steps_promoted(const lower *l, const tile_stmt *loop, int64_t size) {
    return keeps_fewer(l, loop) ? l->machine->options.promote / size : 0;
}

static void begin_promoted(lower *l, const tile_stmt *loop, cond *c) {
    kernel_block *outside = below(l, c, loop->span);
    for (int i = 0; i < loop->body.items.count; i++) {
        const tile_stmt *s = loop->body.items.at[i];
        if (!l->matrices[s->value->id]->kept || !is_first_of(loop, i))
            continue;
        fragment_tile t = lanes_epilogue_promoted(l, s->variable);
        lanes_fragment_fill(l, &t, kernel_const(l->ir, t.f->element, 1, 0), loop->span);
    }
    l->block = outside;
}

static void end_promoted(lower *l, const tile_stmt *loop, cond *c) {
    kernel_block *outside = below(l, c, loop->span);
    for (int i = 0; i < loop->body.items.count; i++)
        if (l->matrices[loop->body.items.at[i]->value->id]->kept && is_first_of(loop, i))
            lanes_epilogue_promote(l, loop->body.items.at[i]->variable, loop->span);
    l->block = outside;
}

/* Waits for the products of the step before this one; where the unit keeps fewer bits, for this one's, and at the end of an interval adds them. */
void lanes_ring_settle(lower *l, const tile_stmt *loop, index_expr *hi, int64_t size, index_expr *step) {
    arena *a = l->arena;
    const int64_t every = steps_promoted(l, loop, size);
    wait_for_products(l, l->block, every ? 0 : 1, loop->span);
    if (!every)
        return;
    cond *ends = cond_or(a, cond_compare(a, COND_EQ, ix_mod(a, step, ix_const(a, every)), ix_const(a, every - 1)),
                         cond_compare(a, COND_EQ, step, ix_sub(a, ix_ceildiv(a, hi, ix_const(a, size)), ix_const(a, 1))));
    end_promoted(l, loop, every > 1 ? ends : NULL);
}

void lanes_ring_multiply(lower *l, const tile_stmt *loop, index_expr *hi, int64_t size, index_expr *step, int stages) {
    arena *a = l->arena;
    tile_range *r = loop->range;
    index_expr *start = name_index(l, l->block, arena_printf(a, "%s_start", r->name), ix_mul(a, step, ix_const(a, size)));
    l->place[r->id] = (range_place){.start = start,
                                    .count = name_index(l, l->block, arena_printf(a, "%s_count", r->name),
                                                        ix_min(a, ix_const(a, size), ix_sub(a, hi, start))),
                                    .capacity = range_capacity(r),
                                    .entered = true};
    l->predicates[r->id] = NULL;
    VEC_PUSH(a, l->loops, r);
    l->ring_slot = name_index(l, l->block, arena_printf(a, "%s_slot", r->name), ix_mod(a, step, ix_const(a, stages)));
    const int64_t every = steps_promoted(l, loop, size);
    if (every)
        begin_promoted(l, loop, every > 1 ? cond_compare(a, COND_EQ, ix_mod(a, step, ix_const(a, every)), ix_const(a, 0)) : NULL);
    l->adds_promoted = every > 0;
    for (int i = 0; i < loop->body.items.count && !l->failed; i++)
        lanes_epilogue_update(l, loop->body.items.at[i]);
    l->adds_promoted = false;
    l->ring_slot = NULL;
    l->loops.count--;
    l->place[r->id].entered = false;
}

/* Single threads multiply whole tiles, zeros where nothing exists; what a step counts for is what exists of it. */
static void multiply_by_threads(const ring *g, index_expr *hi, index_expr *step) {
    lower *l = g->l;
    arena *a = l->arena;
    tile_range *r = g->loop->range;
    index_expr *start = name_index(l, l->block, arena_printf(a, "%s_start", r->name), ix_mul(a, step, ix_const(a, g->size)));
    l->place[r->id] =
        (range_place){.start = start, .count = ix_const(a, g->size), .capacity = range_capacity(r), .entered = true};
    VEC_PUSH(a, l->loops, r);
    l->ring_slot = name_index(l, l->block, arena_printf(a, "%s_slot", r->name), ix_mod(a, step, ix_const(a, g->stages)));
    l->ring_count =
        name_index(l, l->block, arena_printf(a, "%s_count", r->name), ix_min(a, ix_const(a, g->size), ix_sub(a, hi, start)));
    for (int i = 0; i < g->loop->body.items.count && !l->failed; i++)
        lanes_update_deferred(l, g->loop->body.items.at[i]);
    l->ring_slot = l->ring_count = NULL;
    l->loops.count--;
    l->place[r->id].entered = false;
}

/* The next step's tiles have been made by this thread, and the matrix unit may see them. Before loads that are to run on: the fence would wait for them. */
static void publish(const ring *g, bool copied, bool by_reference) {
    lower *l = g->l;
    if (copied)
        append(l, l->block, KSTMT_WAIT_ASYNC, g->loop->span)->count = g->ahead - 1;
    if (!by_reference)
        return;
    kernel_stmt *fence = append(l, l->block, KSTMT_FENCE, g->loop->span);
    fence->scope = LEVEL_BLOCK;
    fence->spaces = 1u << SPACE_SHARED;
    fence->proxy = true;
}

bool lanes_ring_loop(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi, int64_t size) {
    arena *a = l->arena;
    const int asked = l->machine->options.stages;
    tile_range *r = loop->range;
    if (!l->spreads || !l->machine->stages || size < 2 || asked == 1)
        return false;
    const bool of_threads = any_of_threads(l, loop);
    bool any = of_threads;
    for (int i = 0; i < loop->body.items.count; i++)
        any = any ||
              (loop->body.items.at[i]->kind == TILE_STMT_UPDATE && l->fragment_products[loop->body.items.at[i]->variable->id]);
    if (!any)
        return false;
    const char *why = refusal(l, loop, lo, hi);
    int stages = why ? 0 : slots_for(l, loop);
    const bool runs_on = by_reference(l, loop);
    if (!why && stages < least_slots(l, loop))
        why = asked     ? "a tile that a warpgroup multiplies is in use for two steps, and the next is copied meanwhile"
              : runs_on ? "three tiles of each operand are more than shared memory holds"
                        : "two tiles of each operand are more than shared memory holds";
    if (why && (asked || runs_on)) {
        const source_span at = l->machine->options.stages_at;
        diag *g = diag_error(l->diags, "E0506", at.line ? at : loop->span,
                             "operands of the loop in line %d can't be copied %d stages ahead", loop->span.line,
                             (asked ? asked : 3) - 1);
        diag_caret(l->diags, g, "the nearest legal value is %s", runs_on ? "3, of smaller tiles" : "1");
        diag_note(l->diags, g, "%s", why);
        l->failed = true;
        return true;
    }
    VEC_PUSH(
        a, l->out->routes,
        why ? arena_printf(a, "line %d: operands copied before each step, refused: a ring of stages: %s", loop->span.line, why)
        : l->producer
            ? arena_printf(a, "line %d: operands copied in bulk by a producer into a ring of %d stages, others multiply them",
                           loop->span.line, stages)
            : arena_printf(a, "line %d: operands %s a ring of %d stages (refused: before each step)", loop->span.line,
                           lanes_fill_any(l, loop, false) ? "copied asynchronously into" : "stored by the threads into", stages));
    if (why)
        return false;
    ring g = {l, loop, stages, runs_on ? stages - 2 : stages - 1, size};
    lanes_fill_tell(l, loop);
    l->out->ringed = true;
    for (int i = 0; i < loop->body.items.count; i++)
        l->rings[loop->body.items.at[i]->value->id] = stages;
    if (l->producer) {
        lanes_roles_loop(l, loop, hi, size, stages);
        return true;
    }
    const bool copied = lanes_fill_any(l, loop, false), filled = lanes_fill_any(l, loop, true),
               waits = filled && lanes_fill_waits(l, loop);
    kernel_block *outside = l->block;
    index_expr *steps = name_index(l, outside, arena_printf(a, "%s_steps", r->name), ix_ceildiv(a, hi, ix_const(a, size)));
    if (copied) {
        kernel_stmt *ahead = kernel_for(l->ir, outside, lower_name(l, arena_printf(a, "%s_ahead", r->name)), ix_const(a, 0),
                                        ix_const(a, g.ahead), 1, loop->span);
        kernel_stmt *exists = append(l, &ahead->body, KSTMT_IF, loop->span);
        exists->condition = cond_compare(a, COND_LT, ix_var(a, ahead->var), steps);
        l->block = &exists->body;
        copy_step(&g, ix_var(a, ahead->var), ix_var(a, ahead->var));
        append(l, &ahead->body, KSTMT_COMMIT, loop->span);
        l->block = outside;
    }
    if (waits) {
        fill_ahead(&g, ix_const(a, 0), steps, FILL_LOADS);
        fill_ahead(&g, ix_const(a, 0), steps, FILL_STORES);
        publish(&g, copied, runs_on);
        fill_ahead(&g, ix_const(a, 1), steps, FILL_LOADS);
    } else if (filled) {
        fill_ahead(&g, ix_const(a, 0), steps, FILL_AT_ONCE);
    }

    kernel_stmt *each =
        kernel_for(l->ir, outside, lower_name(l, arena_printf(a, "%s_step", r->name)), ix_const(a, 0), steps, 1, loop->span);
    index_expr *step = ix_var(a, each->var), *next = ix_add(a, step, ix_const(a, g.ahead));
    l->block = &each->body;
    if (!waits)
        publish(&g, copied, runs_on);
    lanes_barrier(l, 1u << SPACE_SHARED, loop->span);
    if (!runs_on && copied)
        copy_ahead(&g, next, steps);
    if (of_threads)
        multiply_by_threads(&g, hi, step);
    else
        lanes_ring_multiply(l, loop, hi, size, step, stages);
    if (runs_on) { /* this step's products run on while the next tiles' copies are begun; the barrier there tells that the last step's have ended */
        append(l, l->block, KSTMT_COMMIT, loop->span)->matrix = true;
        if (copied)
            copy_ahead(&g, next, steps);
    }
    if (filled)
        fill_ahead(&g, ix_add(a, step, ix_const(a, 1)), steps, waits ? FILL_STORES : FILL_AT_ONCE);
    if (waits) {
        publish(&g, copied, runs_on);
        fill_ahead(&g, ix_add(a, step, ix_const(a, 2)), steps, FILL_LOADS);
    }
    if (runs_on) {
        lanes_ring_settle(l, loop, hi, size, step);
        wait_for_products(l, outside, 0, loop->span);
    }
    l->block = outside;
    return true;
}
