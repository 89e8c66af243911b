/* Lowering Tile IR to Kernel IR for a sequential task with vectors: arguments, the task grid, statements in order. */
#include "schedule/lanes_fragment.h"
#include <string.h>

void lower_error(lower *l, const char *code, source_span span, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_buffer text = {0};
    text_add_va(&text, format, args);
    va_end(args);
    diag_error(l->diags, code, span, "%s", text_get(&text));
    text_free(&text);
    l->failed = true;
}

enum { NAME_HEADS = 1024 };

static unsigned name_head(const char *name) {
    uint32_t h = 2166136261u;
    for (const char *c = name; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    return h % NAME_HEADS;
}

static lower_given_name *given_name(lower *l, const char *name) {
    for (int i = l->name_heads[name_head(name)]; i >= 0; i = l->names.at[i].older)
        if (!strcmp(l->names.at[i].name, name))
            return &l->names.at[i];
    return NULL;
}

const char *lower_name(lower *l, const char *base) {
    if (!l->name_heads) {
        l->name_heads = NEW_ARRAY(l->arena, int, NAME_HEADS);
        memset(l->name_heads, -1, NAME_HEADS * sizeof *l->name_heads);
    }
    lower_given_name *before = given_name(l, base);
    const char *name = base;
    if (before) {
        do
            name = arena_printf(l->arena, "%s_%d", base, before->number++);
        while (given_name(l, name));
    }
    unsigned head = name_head(name);
    lower_given_name one = {arena_strdup(l->arena, name), 2, l->name_heads[head]};
    l->name_heads[head] = l->names.count;
    VEC_PUSH(l->arena, l->names, one);
    return one.name;
}

index_expr *name_index(lower *l, kernel_block *b, const char *name, index_expr *x) {
    if (x->op == IX_CONST || x->op == IX_VAR)
        return x;
    kernel_stmt *s = kernel_let(l->ir, b, lower_name(l, name), kernel_index(l->ir, x), l->k->span);
    return ix_var(l->arena, s->var);
}

/* ---- launch values ---- */

index_expr *lower_expression(lower *l, index_expr *x) {
    x = ix_bind_constants(l->arena, x);
    const tile_kernel *k = l->k;
    for (int i = 0; i < k->symbols.count; i++)
        if (l->mapped[i])
            x = ix_substitute(l->arena, x, k->symbols.at[i], ix_var(l->arena, l->mapped[i]));
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i]->var)
            x = ix_substitute(l->arena, x, k->scalars.at[i]->var, ix_var(l->arena, l->mapped[k->symbols.count + i]));
    return x;
}

cond *lower_condition(lower *l, const cond *c) {
    arena *a = l->arena;
    if (!c)
        return NULL;
    switch (c->op) {
    case COND_TRUE: return NULL;
    case COND_AND: return cond_and(a, lower_condition(l, c->a), lower_condition(l, c->b));
    case COND_OR: return cond_or(a, lower_condition(l, c->a), lower_condition(l, c->b));
    case COND_NOT: {
        cond *never = NEW(a, cond), *inner = lower_condition(l, c->a);
        *never = (cond){.op = COND_TRUE};
        return cond_not(a, inner ? inner : never);
    }
    default: return cond_compare(a, c->op, lower_expression(l, c->x), lower_expression(l, c->y));
    }
}

static void lower_arguments(lower *l) {
    const tile_kernel *k = l->k;
    arena *a = l->arena;
    l->mapped = NEW_ARRAY(a, index_var *, k->symbols.count + k->scalars.count);
    for (int i = 0; i < k->symbols.count; i++)
        if (!k->symbols.at[i]->has_value)
            l->mapped[i] = kernel_add_symbol(l->ir, lower_name(l, k->symbols.at[i]->name));
    for (int i = 0; i < k->scalars.count; i++) {
        const tile_scalar *s = k->scalars.at[i];
        kernel_scalar scalar = {.name = s->name, .type = s->type};
        if (s->var) {
            scalar.var = kernel_new_var(l->ir, lower_name(l, s->name), INDEX_SCALAR);
            l->mapped[k->symbols.count + i] = scalar.var;
            scalar.var->lo = s->var->lo ? lower_expression(l, s->var->lo) : NULL;
            scalar.var->hi = s->var->hi ? lower_expression(l, s->var->hi) : NULL;
        } else {
            lower_name(l, s->name);
        }
        VEC_PUSH(a, l->ir->scalars, scalar);
    }
    l->arrays = NEW_ARRAY(a, kernel_array *, k->arrays.count);
    for (int i = 0; i < k->arrays.count; i++) {
        const tile_array *t = k->arrays.at[i];
        index_expr **dims = NEW_ARRAY(a, index_expr *, t->rank);
        for (int d = 0; d < t->rank; d++)
            dims[d] = lower_expression(l, t->dims[d]);
        kernel_array *array = kernel_add_array(l->ir, lower_name(l, t->name), SPACE_GLOBAL,
                                               t->role == ARRAY_IN    ? USE_IN
                                               : t->role == ARRAY_OUT ? USE_OUT
                                                                      : USE_UPDATE,
                                               t->type, t->rank, dims);
        array->source_array = t->id;
        array->span = t->span;
        array->element_injective = t->injective;
        if (t->index_bound)
            array->element_bound = lower_expression(l, t->index_bound);
        l->arrays[i] = array;
    }
    for (int i = 0; i < k->where.count; i++) {
        cond *c = lower_condition(l, k->where.at[i]);
        if (c)
            VEC_PUSH(a, l->ir->assumptions, c);
    }
}

static void lower_checks(lower *l) {
    arena *a = l->arena;
    launch_plan *plan = l->out->plan;
    for (int i = 0; i < l->ir->assumptions.count; i++) {
        text_buffer text = {0};
        cond_print(&text, l->ir->assumptions.at[i]);
        launch_check c = {
            .kind = CHECK_WHERE, .condition = l->ir->assumptions.at[i], .text = arena_printf(a, "where %s", text_get(&text))};
        VEC_PUSH(a, plan->checks, c);
        text_free(&text);
    }
    for (int i = 0; i < l->ir->scalars.count; i++) {
        kernel_scalar *s = &l->ir->scalars.at[i];
        if (!s->var || (!s->var->lo && !s->var->hi) || kernel_scalar_is_whole_type(s))
            continue;
        text_buffer text = {0};
        if (s->var->lo)
            ix_print(&text, s->var->lo);
        text_add(&text, " <= %s", s->name);
        if (s->var->hi) {
            text_add(&text, " <= ");
            ix_print(&text, s->var->hi);
        }
        launch_check c = {.kind = CHECK_SCALAR_RANGE, .scalar = s, .text = arena_strdup(a, text_get(&text))};
        VEC_PUSH(a, plan->checks, c);
        text_free(&text);
    }
    for (int i = 0; i < l->ir->arrays.count; i++) {
        kernel_array *array = l->ir->arrays.at[i];
        if (array->space != SPACE_GLOBAL)
            continue;
        if (array->element_bound) {
            text_buffer text = {0};
            ix_print(&text, array->element_bound);
            launch_check c = {.kind = CHECK_INDEX_RANGE,
                              .array = array,
                              .text = arena_printf(a, "every element of %s is in 0 .. %s - 1", array->name, text_get(&text))};
            VEC_PUSH(a, plan->checks, c);
            text_free(&text);
        }
        if (array->element_injective) {
            launch_check c = {
                .kind = CHECK_INJECTIVE, .array = array, .text = arena_printf(a, "no two elements of %s are equal", array->name)};
            VEC_PUSH(a, plan->checks, c);
        }
    }
}

/* ---- the task grid ---- */

static void lower_tasks(lower *l) {
    const tile_kernel *k = l->k;
    arena *a = l->arena;
    int count = k->task.count, rank = 0;
    const char **names = NEW_ARRAY(a, const char *, count);
    index_expr **extents = NEW_ARRAY(a, index_expr *, count), **size = NEW_ARRAY(a, index_expr *, count);
    tile_range **ranges = NEW_ARRAY(a, tile_range *, count);
    for (int i = 0; i < count; i++) {
        tile_range *r = k->task.at[i];
        range_place *place = &l->place[r->id];
        index_expr *extent = lower_expression(l, r->extent), *tile = lower_expression(l, r->size);
        int64_t whole, constant;
        *place = (range_place){.start = ix_const(a, 0), .count = extent, .capacity = range_capacity(r), .entered = true};
        bool one_tile = r->whole || ix_equal(extent, tile) ||
                        (ix_is_const(extent, &whole) && ix_is_const(tile, &constant) && constant >= whole);
        if (one_tile)
            continue;
        if (!ix_is_const(tile, &constant) || constant < 1) {
            lower_error(l, "E0592", r->span, "the tile size of `%s` has no constant value", r->name);
            continue;
        }
        names[rank] = lower_name(l, arena_printf(a, "%s_tile", r->name));
        size[rank] = tile;
        ranges[rank] = r;
        extents[rank++] = ix_ceildiv(a, extent, tile);
    }
    kernel_add_level(l->ir, LEVEL_TASK, rank, names, extents);
    for (int d = 0; d < rank; d++) {
        tile_range *r = ranges[d];
        range_place *place = &l->place[r->id];
        index_var *id = l->ir->levels.at[0].ids[d];
        int64_t constant;
        ix_is_const(size[d], &constant);
        l->task_ids[r->id] = id;
        place->start =
            name_index(l, l->block, arena_printf(a, "%s_start", r->name), ix_mul(a, ix_const(a, constant), ix_var(a, id)));
        place->count = constant == 1 ? ix_const(a, 1)
                                     : name_index(l, l->block, arena_printf(a, "%s_count", r->name),
                                                  ix_min(a, size[d], ix_sub(a, lower_expression(l, r->extent), place->start)));
    }
}

static void lower_promises(lower *l) {
    arena *a = l->arena;
    for (int i = 0; i < l->k->owned.count; i++) {
        const tile_owned *o = l->k->owned.at[i];
        if (o->array->role != ARRAY_UPDATE)
            continue;
        kernel_array *array = l->arrays[o->array->id];
        bool scattered = false; /* data says which cells are written; that each is written once is asked all the same */
        for (int d = 0; d < array->rank; d++)
            scattered = scattered || o->through[d];
        if (scattered)
            continue;
        array->cell_vars = NEW_ARRAY(a, index_var *, array->rank);
        array->cells = NULL;
        for (int d = 0; d < array->rank; d++) {
            array->cell_vars[d] = kernel_new_var(l->ir, arena_printf(a, "%s_%d", array->name, d), INDEX_LOOP);
            if (o->fixed[d])
                array->cells = cond_and(
                    a, array->cells, cond_compare(a, COND_EQ, ix_var(a, array->cell_vars[d]), lower_expression(l, o->fixed[d])));
        }
        if (!array->cells) {
            array->cells = NEW(a, cond);
            array->cells->op = COND_TRUE;
        }
    }
}

static const char *schedule_line(arena *a, const tile_kernel *k, const schedule_options *options) {
    text_buffer text = {0};
    for (int i = 0; i < k->symbols.count; i++)
        if (k->symbols.at[i]->has_value)
            text_add(&text, "%s%s = %lld", text.length ? ", " : "", k->symbols.at[i]->name, (long long)k->symbols.at[i]->value);
    options_print(&text, options);
    const char *line = arena_strdup(a, text_get(&text));
    text_free(&text);
    return line;
}

/* How many threads a block has and which ranges go over them, for people. */
static void spread_route(lower *l) {
    text_buffer text = {0};
    int subgroups = l->machine->subgroups, lanes = l->machine->subgroup_lanes;
    text_add(&text, "blocks of %d threads in %d subgroup%s", subgroups * lanes, subgroups, subgroups == 1 ? "" : "s");
    for (int i = 0; i < l->k->ranges.count; i++) {
        const spread *x = &l->spreads[i];
        if (x->subgroups * x->lanes * x->vector == 1)
            continue;
        text_add(&text, "; %s over", l->k->ranges.at[i]->name);
        const char *join = " ";
        if (x->subgroups > 1) {
            text_add(&text, "%s%d %s", join, x->subgroups,
                     l->ir->levels.at[1].kind == LEVEL_WARPGROUP ? "warpgroups" : "subgroups");
            join = " x ";
        }
        if (x->lanes > 1) {
            text_add(&text, "%s%d lanes", join, x->lanes);
            join = " x ";
        }
        if (x->vector > 1)
            text_add(&text, "%svectors of %d", join, x->vector);
    }
    VEC_PUSH(l->arena, l->out->routes, arena_strdup(l->arena, text_get(&text)));
    text_free(&text);
}

/* Instructions of a warpgroup read what is copied ahead, and nothing else of the kernel may wait for them. */
static void refuse_warpgroups(lower *l) {
    const schedule_options *o = &l->machine->options;
    if (l->failed)
        return;
    diag *g = diag_error(l->diags, "E0506", o->operands_at.line ? o->operands_at : l->k->span,
                         "kernel `%s` can't be made of fragments of warpgroups", l->k->name);
    diag_caret(l->diags, g, "the nearest legal value is fragments");
    diag_note(l->diags, g,
              "it must do nothing but add products to accumulators, over tiles of which three of each "
              "operand fit in "
              "shared memory, and store what is made of these element by element");
    l->failed = true;
}

/* Whether some product goes by a unit that keeps fewer bits than f32. */
static bool keeps_fewer_bits(const lower *l) {
    for (int i = 0; i < l->k->value_count; i++)
        if (l->matrices[i] && l->matrices[i]->kept)
            return true;
    return false;
}

static void refuse_promote(lower *l) {
    if (l->failed)
        return;
    const source_span at = l->machine->options.promote_at;
    diag *g = diag_error(l->diags, "E0506", at.line ? at : l->k->span,
                         "promote = %d: no product of kernel `%s` is summed in fewer bits than f32 has",
                         l->machine->options.promote, l->k->name);
    diag_caret(l->diags, g, "leave it out, or say operands = fragments(warpgroup)");
    diag_note(l->diags, g, "it is for products of e4m3 and e5m2 by instructions of warpgroups; others are summed in f32 anyway");
    l->failed = true;
}

/* A block of threads: tasks whose tiles are all whole, or subgroups that need no other, take a path without guards. */
static void lower_for_threads(lower *l) {
    arena *a = l->arena;
    if (lanes_chain_choose(l)) { /* what is missing at edges is masked where it stands */
        spread_route(l);
        lanes_chain_begin(l);
        lower_block(l, &l->k->body);
        return;
    }
    choose_spreads(l);
    if (l->failed)
        return;
    lanes_epilogue_choose(l);
    spread_route(l);
    cond *whole = NULL;
    int count = l->k->task.count;
    bool held = false; /* then guards of rows stand around whole rows: a test for each subgroup, not worth a second text */
    for (int i = 0; i < count; i++)
        held = held || l->k->task.at[i]->held;
    const bool ringed = lanes_ring_alone(l),
               alone = lanes_direct_alone(l); /* alone: each subgroup tells for itself what exists */
    if (l->machine->options.operand_warpgroups && !ringed) {
        refuse_warpgroups(l);
        return;
    }
    if (l->machine->options.promote && !keeps_fewer_bits(l)) {
        refuse_promote(l);
        return;
    }
    if (l->machine->producer) {
        lanes_roles_begin(l);
        if (l->failed)
            return;
    }
    held = held || ringed || lanes_ring_of_threads(l); /* copies are clipped at edges anyway, and products go on all the same */
    index_expr **ragged = NEW_ARRAY(a, index_expr *, count);
    for (int i = 0; i < count; i++) {
        tile_range *r = l->k->task.at[i];
        range_place *place = &l->place[r->id];
        ragged[i] = place->count;
        if (held || !l->task_ids[r->id] || place->capacity == 1)
            continue;
        whole = cond_and(a, whole,
                         alone ? lanes_direct_whole(l, r, place->start)
                               : cond_compare(a, COND_LE, ix_add(a, place->start, ix_const(a, place->capacity)),
                                              lower_expression(l, r->extent)));
        place->count = ix_const(a, place->capacity);
    }
    if (!whole) {
        lower_block(l, &l->k->body);
        return;
    }
    kernel_stmt *s = kernel_append(l->ir, l->block, KSTMT_IF, l->k->span);
    s->condition = whole;
    size_t values = (size_t)l->value_count;
    kernel_stmt **scalars = NEW_ARRAY(a, kernel_stmt *, values);
    memcpy(scalars, l->held_scalar, values * sizeof *scalars);
    l->block = &s->body;
    lower_block(l, &l->k->body);
    memset(l->held, 0, values * sizeof *l->held);
    memcpy(l->held_scalar, scalars, values * sizeof *scalars);
    for (int i = 0; i < count; i++)
        l->place[l->k->task.at[i]->id].count = ragged[i];
    l->block = &s->otherwise;
    lower_block(l, &l->k->body);
}

/* What was asked for and came to nothing is an error. */
static void check_stages(lower *l) {
    const schedule_options *o = &l->machine->options;
    if (o->stages < 2 || l->out->ringed || l->failed)
        return;
    diag *g = diag_error(l->diags, "E0506", o->stages_at.line ? o->stages_at : l->k->span,
                         "stages = %d: kernel `%s` has no operands to copy ahead", o->stages, l->k->name);
    diag_caret(l->diags, g, "the nearest legal value is 1");
    diag_note(l->diags, g,
              "only operands of products by matrix instructions are, in loops that do nothing but add them to accumulators");
    l->failed = true;
}

/* Full and ragged tiles are lowered one after the other, mostly by the same routes. */
static void drop_repeated_routes(lowering *out) {
    int kept = 0;
    for (int i = 0; i < out->routes.count; i++) {
        bool said = false;
        for (int j = 0; j < kept; j++)
            said = said || !strcmp(out->routes.at[j], out->routes.at[i]);
        if (!said)
            out->routes.at[kept++] = out->routes.at[i];
    }
    out->routes.count = kept;
}

bool lower_kernel(arena *a, const tile_kernel *k, const machine_model *machine, lowering *out, diag_list *diags) {
    const machine_model own = block_machine(a, k, machine);
    machine = &own;
    lower l = {.arena = a, .k = k, .machine = machine, .diags = diags, .out = out, .value_count = k->value_count};
    int ranges = k->ranges.count, variables = k->variables.count;
    l.partners = NEW_ARRAY(a, tile_value **, variables);
    make_updates(&l, &k->body);
    int values = l.value_count;
    l.ir = kernel_new(a, k->name, k->span);
    l.ir->lane_access = machine->options.lane_access;
    l.ir->schedule = schedule_line(a, k, &machine->options);
    l.block = &l.ir->body;
    l.place = NEW_ARRAY(a, range_place, ranges);
    l.task_ids = NEW_ARRAY(a, index_var *, ranges);
    l.predicates = NEW_ARRAY(a, cond *, ranges);
    l.fields = NEW_ARRAY(a, kernel_array **, variables);
    l.field_axes = NEW_ARRAY(a, tile_range ***, variables);
    l.held = NEW_ARRAY(a, kernel_array *, values);
    l.held_axes = NEW_ARRAY(a, tile_range **, values);
    l.held_scalar = NEW_ARRAY(a, kernel_stmt *, values);
    l.uses = NEW_ARRAY(a, int, values);
    l.references = NEW_ARRAY(a, int, values);
    l.ghosts = NEW_ARRAY(a, ghost_record, values);
    l.across = NEW_ARRAY(a, kernel_array *, 2 * values);
    l.stages = NEW_ARRAY(a, unsigned char, values);
    l.staged = NEW_ARRAY(a, kernel_array *, values);
    l.matrices = NEW_ARRAY(a, const matrix_instruction *, values);
    l.direct = NEW_ARRAY(a, bool, values);
    l.rings = NEW_ARRAY(a, int, values);
    l.ring_bytes = NEW_ARRAY(a, int64_t, values);
    l.fragment_tiles = NEW_ARRAY(a, kernel_array *, 2 * values);
    l.unrounded = NEW_ARRAY(a, kernel_fragment *, 2 * values);
    l.fragments = NEW_ARRAY(a, kernel_fragment *, 2 * values);
    l.sums = NEW_ARRAY(a, kernel_fragment *, values);
    l.met = NEW_ARRAY(a, kernel_array *, values);
    l.fragment_products = NEW_ARRAY(a, const tile_value *, variables);
    l.fragment_variables = NEW_ARRAY(a, kernel_fragment *, variables);
    l.promoted = NEW_ARRAY(a, kernel_fragment *, variables);
    *out = (lowering){.plan = NEW(a, launch_plan)};
    out->plan->name = k->name;
    lower_arguments(&l);
    lower_tasks(&l);
    lower_promises(&l);
    count_uses(&l);
    if (!l.failed && machine->subgroup_lanes) {
        lower_for_threads(&l);
        check_stages(&l);
    } else if (!l.failed) {
        lower_block(&l, &k->body);
    }
    lower_matrices_told(&l);
    lower_checks(&l);
    drop_repeated_routes(out);
    plan_variant variant = {.kernel = l.ir};
    VEC_PUSH(a, out->plan->variants, variant);
    return !l.failed;
}
