/* Lowering to the threads of a block: which ranges go over lanes, vectors and subgroups. One spread a range for the whole kernel, so that a
 * value over the same ranges always lies in the same threads and needs no exchange. */
#include "schedule/lower.h"
#include <limits.h>
#include <string.h>

enum { VECTOR_BYTES = 16 };

typedef struct survey {
    lower *l;
    bool *together;   /* ranges * ranges: some expression varies along (or reduces) both */
    int *wants_lanes; /* 2: a reduction would like it along lanes; 1: a store or load would */
    bool *strided;
    int *narrowest; /* by range id: bytes of the widest element that is read along it, contiguously */
    bool *may_vectorise;
    tile_range *rows, *columns; /* of a product with ranges on both sides */
    unsigned char *seen;
    VEC(const tile_stmt *) loops; /* around */
    bool staged;                  /* some product's operands are */
} survey;

static int ranges(const survey *s) {
    return s->l->k->ranges.count;
}
static bool *pair(survey *s, const tile_range *a, const tile_range *b) {
    return &s->together[a->id * ranges(s) + b->id];
}

static void join_ranges(survey *s, const tile_value *v) {
    tile_range *all[64];
    int n = 0;
    for (int i = 0; i < v->axis_count && n < 60; i++)
        all[n++] = v->axes[i];
    if (v->range)
        all[n++] = v->range;
    for (int i = 0; i < v->contract_count && n < 64; i++)
        all[n++] = v->contract[i];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            *pair(s, all[i], all[j]) = true;
}

static bool stores_along(const tile_stmt *t, const tile_range *r) {
    for (int d = 0; d < t->array->rank; d++)
        if (ix_mentions(t->indices[d], r->var))
            return true;
    return false;
}

/* A store goes over all ranges of its place, also those that its value does not vary along. */
static void join_stored(survey *s, const tile_stmt *t) {
    for (int i = 0; i < ranges(s); i++)
        for (int j = 0; j < ranges(s); j++) {
            const tile_range *a = s->l->k->ranges.at[i], *b = s->l->k->ranges.at[j];
            if (stores_along(t, a) && stores_along(t, b))
                *pair(s, a, b) = true;
        }
}

static int storage_bytes(element_type t) {
    const element_info *e = &element_table[t];
    return e->block_elements > 1 ? 0 : e->block_bytes;
}

static void contiguous(survey *s, const tile_range *r, element_type t) {
    int bytes = storage_bytes(t);
    if (!bytes)
        s->may_vectorise[r->id] = false;
    else if (bytes > s->narrowest[r->id])
        s->narrowest[r->id] = bytes;
}

static void survey_value(survey *s, tile_value *v) {
    lower *l = s->l;
    if (s->seen[v->id]++)
        return;
    join_ranges(s, v);
    for (int i = 0; i < ranges(s); i++) {
        tile_range *r = l->k->ranges.at[i];
        if (v->op == TILE_LOAD) {
            int score = store_score(l, v->indices, v->array->rank, r);
            if (score == INT_MIN || v->has_outside)
                s->may_vectorise[i] = s->may_vectorise[i] && score == 0;
            if (score > 0)
                contiguous(s, r, v->array->type);
            if (score < 0) {
                s->may_vectorise[i] = false;
                s->strided[i] = true;
            }
        }
        if (v->op == TILE_INDEX && ix_mentions(v->index, r->var))
            s->may_vectorise[i] = false;
    }
    if (is_heavy(v)) {
        reduction_shape shape = choose_reduction_shape(l, v->axes, v->axis_count, v);
        if (shape.vector)
            s->wants_lanes[shape.vector->id] = 2;
        if (v->op == TILE_DOT && shape.vector && !shape.vector_reduced && shape.unrolled[0] &&
            range_capacity(shape.unrolled[0]) >= 16 && !s->columns) {
            s->columns = shape.vector;
            s->rows = shape.unrolled[0];
        }
        if (v->op == TILE_DOT && shape.vector_reduced && shape.unrolled[0] && shape.unrolled[1] &&
            range_capacity(shape.unrolled[0]) >= 16 && range_capacity(shape.unrolled[1]) >= 16 && !s->columns) {
            s->columns = shape.unrolled[0];
            s->rows = shape.unrolled[1];
        }
        if (v->op == TILE_DOT)
            lanes_stage_decide(l, v, s->rows, s->columns, s->loops.at, s->loops.count);
        if (lanes_staged(l, v)) { /* its operands are read elsewhere than they are used */
            s->staged = true;
            contiguous(s, s->columns, accumulator_type(v));
            return;
        }
        if ((v->op == TILE_ARGMAX || v->op == TILE_ARGMIN) && vector_score(l, v->operands[0], v->range) > 0)
            s->wants_lanes[v->range->id] = 2;
        if (v->op == TILE_ARGMAX || v->op == TILE_ARGMIN) { /* pairs of value and place are compared one by one */
            s->may_vectorise[v->range->id] = false;
            for (int i = 0; i < v->axis_count; i++)
                s->may_vectorise[v->axes[i]->id] = false;
        }
    }
    for (int i = 0; i < ranges(s); i++)
        if (lower_calls_singly(l, v, l->k->ranges.at[i]))
            s->may_vectorise[i] = false;
    for (int i = 0; i < v->operand_count; i++)
        survey_value(s, v->operands[i]);
}

static void survey_block(survey *s, const tile_block *b) {
    lower *l = s->l;
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *t = b->items.at[i];
        if (t->value)
            survey_value(s, t->value);
        for (int f = 0; t->kind == TILE_STMT_JOIN && f < t->variable->field_count; f++) {
            survey_value(s, t->values[f]);
            survey_value(s, t->variable->join[f]);
        }
        for (int f = 0; t->kind == TILE_STMT_VAR && f < t->variable->field_count; f++)
            survey_value(s, t->variable->empty[f]);
        if (t->kind == TILE_STMT_STORE) {
            join_stored(s, t);
            for (int r = 0; r < ranges(s); r++) {
                tile_range *range = l->k->ranges.at[r];
                int score = store_score(l, t->indices, t->array->rank, range);
                if (score > 0) {
                    s->wants_lanes[r] = s->wants_lanes[r] ? s->wants_lanes[r] : 1;
                    contiguous(s, range, t->array->type);
                } else if (score < 0) {
                    s->may_vectorise[r] = false;
                    s->strided[r] = true;
                }
            }
        }
        if (t->kind == TILE_STMT_LOOP) {
            for (int r = 0; t->predicate && r < ranges(s); r++)
                if (cond_mentions(t->predicate, l->k->ranges.at[r]->var))
                    s->may_vectorise[r] = false; /* a prefix mask can't say where it starts */
            VEC_PUSH(l->arena, s->loops, t);
            survey_block(s, &t->body);
            s->loops.count--;
        }
    }
}

static int vector_of(const survey *s, const tile_range *r, int lanes) {
    int bytes = s->narrowest[r->id];
    if (!s->may_vectorise[r->id] || !bytes)
        return 1;
    int64_t capacity = range_capacity(r), vector = VECTOR_BYTES / bytes;
    while (s->l->machine->widest_vector && vector > s->l->machine->widest_vector)
        vector /= 2;
    while (vector > 1 && capacity >= 0 && capacity < vector * lanes)
        vector /= 2;
    return (int)vector;
}

/* Elements in a row that a thread holds, so that it reads them from shared memory 16 bytes at a time. */
static int run_of(const lower *l, const tile_range *r) {
    const spread *x = &l->spreads[r->id];
    int64_t run = x->vector > 1 ? 1 : 4;
    while (run > 1 && range_capacity(r) < (int64_t)x->subgroups * x->lanes * run)
        run /= 2;
    return (int)run;
}

static bool free_of(survey *s, const tile_range *r, bool (*taken)(const spread *)) {
    for (int i = 0; i < ranges(s); i++)
        if (i != r->id && taken(&s->l->spreads[i]) && *pair(s, r, s->l->k->ranges.at[i]))
            return false;
    return true;
}

static bool has_lanes(const spread *s) {
    return s->lanes > 1;
}
static bool has_vector(const spread *s) {
    return s->vector > 1;
}
static bool has_subgroups(const spread *s) {
    return s->subgroups > 1;
}

/* Whether lanes have something to exchange in the value. */
static bool exchanges_lanes(const lower *l, const tile_value *v) {
    bool found = v->range && has_lanes(&l->spreads[v->range->id]);
    for (int i = 0; i < v->contract_count; i++)
        found = found || has_lanes(&l->spreads[v->contract[i]->id]);
    for (int i = 0; i < v->operand_count && !found; i++)
        found = exchanges_lanes(l, v->operands[i]);
    return found;
}

/* Registers of a thread that a state may take for a loop to be dealt: each subgroup has one of its own. */
enum { MOST_STATE = 96 };

static int64_t state_registers(const lower *l, const tile_variable *x) {
    int64_t sum = 0;
    for (int f = 0; f < x->field_count; f++) {
        int64_t cells = 1;
        for (int i = 0; i < x->axis_counts[f]; i++) {
            int64_t slots = spread_slots(l, x->axes[f][i]);
            cells = slots < 0 || cells > INT32_MAX ? INT32_MAX : cells * slots * l->spreads[x->axes[f][i]->id].vector;
        }
        sum += cells;
    }
    return sum;
}

/* The same of all states that the loop joins. */
static int64_t states_registers(const lower *l, const tile_stmt *loop) {
    int64_t sum = 0;
    for (int i = 0; i < loop->body.items.count; i++) {
        const tile_stmt *s = loop->body.items.at[i];
        bool first = s->kind == TILE_STMT_JOIN;
        for (int j = 0; j < i && first; j++)
            first = loop->body.items.at[j]->kind != TILE_STMT_JOIN || loop->body.items.at[j]->variable != s->variable;
        if (first)
            sum += state_registers(l, s->variable);
    }
    return sum;
}

/* Whether some load goes along the loop's tiles and not along the range: threads of different places there read the same elements. */
static bool reads_without(const tile_value *v, const tile_range *loop, const tile_range *r, unsigned char *seen) {
    if (seen[v->id]++)
        return false;
    if (v->op == TILE_LOAD && tile_has_axis(v, loop) && !tile_has_axis(v, r))
        return true;
    for (int i = 0; i < v->operand_count; i++)
        if (reads_without(v->operands[i], loop, r, seen))
            return true;
    return false;
}

/* Whether subgroups that stand along a task's range would each read what the others do, so that they had better take tiles of the loop. */
static bool reads_alike(const lower *l) {
    const tile_stmt *loop = dealt_loop(l->k);
    unsigned char *seen = NEW_ARRAY(l->arena, unsigned char, l->value_count);
    for (int i = 0; loop && i < l->k->task.count; i++) {
        const tile_range *r = l->k->task.at[i];
        if (l->spreads[r->id].lanes > 1 || range_capacity(r) == 1)
            continue;
        for (int n = 0; n < loop->body.items.count; n++) {
            const tile_stmt *s = loop->body.items.at[n];
            memset(seen, 0, (size_t)l->value_count);
            for (int f = 0; s->kind == TILE_STMT_JOIN && f < s->variable->field_count; f++)
                if (reads_without(s->values[f], loop->range, r, seen))
                    return true;
        }
    }
    return false;
}

/* Whether the subgroups, which nothing has yet, take the tiles of the kernel's loop in turn. */
static bool deal(lower *l, int subgroups) {
    const tile_stmt *loop = dealt_loop(l->k);
    bool taken = subgroups < 2 || !loop || l->spreads[loop->range->id].lanes > 1;
    for (int i = 0; loop && !l->machine->subgroups_alone && i < loop->body.items.count; i++) {
        const tile_stmt *s = loop->body.items.at[i];
        taken = taken || (s->value && exchanges_lanes(l, s->value));
        for (int f = 0; s->kind == TILE_STMT_JOIN && f < s->variable->field_count; f++)
            taken = taken || exchanges_lanes(l, s->values[f]);
    }
    for (int i = 0; i < l->k->ranges.count; i++)
        taken = taken || has_subgroups(&l->spreads[i]);
    if (taken)
        return false;
    int64_t registers = states_registers(l, loop), bytes = 4 * registers * l->machine->subgroup_lanes * subgroups;
    if (registers > MOST_STATE || bytes > l->machine->shared_bytes)
        return false;
    oracle_chunks *dealt = NEW(l->arena, oracle_chunks);
    *dealt = (oracle_chunks){.range = loop->range->id, .groups = subgroups};
    l->dealt = loop;
    l->out->dealt = dealt;
    VEC_PUSH(l->arena, l->out->routes,
             arena_printf(l->arena,
                          "line %d: the tiles of `%s` go to %d subgroups in turn, whose states are joined in shared memory",
                          loop->span.line, loop->range->name, subgroups));
    return true;
}

/* Ranges of a kernel without a product of rows and columns. */
static void spread_flat(lower *l, survey *s) {
    int n = l->k->ranges.count, lanes = l->machine->subgroup_lanes, subgroups = l->machine->subgroups;
    /* Reductions choose first, then what is contiguous everywhere, then what is contiguous somewhere. */
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < n; i++) {
            tile_range *r = l->k->ranges.at[i];
            int64_t capacity = range_capacity(r);
            bool turn = round == 0   ? s->wants_lanes[i] == 2
                        : round == 1 ? s->wants_lanes[i] == 1 && !s->strided[i]
                                     : s->wants_lanes[i] == 1;
            if (!turn || l->spreads[i].lanes > 1 || capacity == 1 || !free_of(s, r, has_lanes))
                continue;
            l->spreads[i].lanes = lanes;
            if (free_of(s, r, has_vector))
                l->spreads[i].vector = vector_of(s, r, lanes);
        }
    /* Subgroups first to task ranges that lanes left alone, if they then read different elements; then to a loop's tiles or to its elements, then to what
     * the lanes have. */
    if (reads_alike(l) && deal(l, subgroups))
        return;
    for (int round = 0; round < 3; round++) {
        if (round == 1 && deal(l, subgroups))
            return;
        for (int i = 0; i < n; i++) {
            tile_range *r = l->k->ranges.at[i];
            spread *x = &l->spreads[i];
            int64_t capacity = range_capacity(r), held = (int64_t)x->lanes * x->vector;
            bool turn = round == 0 ? r->is_task && x->lanes == 1 : round == 1 ? x->lanes == 1 && !r->is_task : x->lanes > 1;
            if (!turn || x->subgroups > 1 || (capacity >= 0 && capacity < held * subgroups) || !free_of(s, r, has_subgroups))
                continue;
            x->subgroups = subgroups;
        }
    }
}

/* The ids of such a block. Lanes are counted in two digits where two ranges are dealt out to them. */
static void flat_levels(lower *l) {
    static const char *const subgroup_name = "subgroup", *const lane_name = "lane",
                             *const digit_names[] = {"lane_high", "lane_low"};
    arena *a = l->arena;
    int lanes = l->machine->subgroup_lanes;
    const tile_range *high = l->apart_ranges[0], *low = l->apart_ranges[1];
    int below = low ? l->apart[low->id].lanes : lanes;
    index_expr *extent[2] = {ix_const(a, l->machine->subgroups)};
    kernel_add_level(l->ir, LEVEL_SUBGROUP, 1, &subgroup_name, extent);
    extent[0] = ix_const(a, below < lanes ? lanes / below : lanes);
    extent[1] = ix_const(a, below);
    kernel_add_level(l->ir, LEVEL_LANE, below < lanes ? 2 : 1, below < lanes ? digit_names : &lane_name, extent);
    const kernel_level *g = &l->ir->levels.at[1], *t = &l->ir->levels.at[2];
    index_expr *lane = ix_var(a, t->ids[0]), *last = ix_var(a, t->ids[t->rank - 1]);
    for (int d = 1; d < t->rank; d++)
        lane = ix_add(a, ix_mul(a, lane, t->extents[d]), ix_var(a, t->ids[d]));
    for (int i = 0; i < l->k->ranges.count; i++) {
        l->along[i].subgroup = l->along[i].subgroups > 1 ? g->ids[0] : NULL;
        l->along[i].lane = l->along[i].lanes > 1 ? lane : NULL;
    }
    if (low)
        l->apart[low->id].lane = below > 1 ? last : NULL;
    if (high && l->apart[high->id].lanes > 1)
        l->apart[high->id].lane = ix_var(a, t->ids[0]);
}

/* Warpgroups as rows and columns, each of 64 rows at a time: 16 of each of its subgroups, though which lane holds what is not visible. What single threads
 * do along rows goes over the lanes of all four. */
static void warpgroup_levels(lower *l, const survey *s) {
    static const char *const warpgroup_names[] = {"warpgroup_row", "warpgroup_column"}, *const subgroup_name = "subgroup",
                             *const lane_names[] = {"lane_row", "lane_column"};
    arena *a = l->arena;
    const machine_model *m = l->machine;
    const schedule_options *o = &m->options;
    int columns = o->subgroup_columns ? o->subgroup_columns : 1, rows = m->subgroups / columns / m->warpgroup_subgroups;
    /* a producer is of a warpgroup of its own: along the dimension where that adds fewest */
    const bool more_columns = m->producer && rows < columns, more_rows = m->producer && !more_columns;
    index_expr *extent[2] = {ix_const(a, rows + more_rows), ix_const(a, columns + more_columns)};
    kernel_add_level(l->ir, LEVEL_WARPGROUP, 2, warpgroup_names, extent);
    extent[0] = ix_const(a, m->warpgroup_subgroups);
    kernel_add_level(l->ir, LEVEL_SUBGROUP, 1, &subgroup_name, extent);
    int across = 4, down = m->subgroup_lanes / across;
    extent[0] = ix_const(a, down), extent[1] = ix_const(a, across);
    kernel_add_level(l->ir, LEVEL_LANE, 2, lane_names, extent);
    const kernel_level *w = &l->ir->levels.at[1], *g = &l->ir->levels.at[2], *t = &l->ir->levels.at[3];
    index_expr *row = ix_add(a, ix_mul(a, ix_var(a, g->ids[0]), ix_const(a, down)), ix_var(a, t->ids[0]));
    l->spreads[s->rows->id] = (spread){rows, m->warpgroup_subgroups * down, 1, 1, w->ids[0], row};
    l->spreads[s->columns->id] = (spread){columns, across, 1, 1, w->ids[1], ix_var(a, t->ids[1])};
}

void choose_spreads(lower *l) {
    arena *a = l->arena;
    int n = l->k->ranges.count;
    survey s = {.l = l};
    s.together = NEW_ARRAY(a, bool, n *n);
    s.wants_lanes = NEW_ARRAY(a, int, n);
    s.strided = NEW_ARRAY(a, bool, n);
    s.narrowest = NEW_ARRAY(a, int, n);
    s.may_vectorise = NEW_ARRAY(a, bool, n);
    s.seen = NEW_ARRAY(a, unsigned char, l->value_count);
    memset(s.may_vectorise, 1, (size_t)n);
    l->spreads = NEW_ARRAY(a, spread, n);
    for (int i = 0; i < n; i++)
        l->spreads[i] = (spread){1, 1, 1, 1, NULL, NULL};
    survey_block(&s, &l->k->body);
    int lanes = l->machine->subgroup_lanes, subgroups = l->machine->subgroups;
    index_expr *extent[2];
    l->product_rows = s.rows;
    l->product_columns = s.columns;
    if (s.columns && l->machine->options.operand_warpgroups && l->out->matrix_products) {
        warpgroup_levels(l, &s);
        return;
    }
    if (s.columns) { /* a product: threads stand as rows and columns on both levels */
        static const char *const subgroup_names[] = {"subgroup_row", "subgroup_column"}, *const lane_names[] = {"lane_row",
                                                                                                                "lane_column"};
        const schedule_options *o = &l->machine->options;
        int columns = o->subgroup_columns ? o->subgroup_columns : subgroups < 2 ? 1 : 2, rows = subgroups / columns;
        extent[0] = ix_const(a, rows), extent[1] = ix_const(a, columns);
        kernel_add_level(l->ir, LEVEL_SUBGROUP, 2, subgroup_names, extent);
        int across = s.staged ? 4 : 8;
        extent[0] = ix_const(a, lanes / across), extent[1] = ix_const(a, across);
        kernel_add_level(l->ir, LEVEL_LANE, 2, lane_names, extent);
        kernel_level *g = &l->ir->levels.at[1], *t = &l->ir->levels.at[2];
        l->spreads[s.rows->id] = (spread){rows, lanes / across, 1, 1, g->ids[0], ix_var(a, t->ids[0])};
        l->spreads[s.columns->id] = (spread){columns, across, 1, 1, g->ids[1], ix_var(a, t->ids[1])};
        l->spreads[s.columns->id].vector = vector_of(&s, s.columns, 16);
        for (int i = 0; s.staged && i < 2; i++)
            l->spreads[(i ? s.columns : s.rows)->id].run = run_of(l, i ? s.columns : s.rows);
        return;
    }
    if (l->machine->options.subgroup_rows) {
        const schedule_options *o = &l->machine->options;
        diag *g = diag_error(l->diags, "E0504", o->subgroups_at.line ? o->subgroups_at : l->k->span,
                             "subgroups = %d x %d: kernel `%s` has no product of rows and columns for blocks to lie over",
                             o->subgroup_rows, o->subgroup_columns, l->k->name);
        diag_caret(l->diags, g, "the nearest legal value is %d", o->subgroups);
        l->failed = true;
        return;
    }
    spread_flat(l, &s);
    lanes_choose_apart(l);
    flat_levels(l);
}

int64_t spread_slots_in(const spread *spreads, const tile_range *r) {
    const spread *x = &spreads[r->id];
    int64_t capacity = range_capacity(r), step = (int64_t)x->subgroups * x->lanes * x->run * x->vector;
    return capacity < 0 ? -1 : (capacity + step - 1) / step * x->run;
}

int64_t spread_slots(const lower *l, const tile_range *r) {
    return spread_slots_in(l->spreads, r);
}

int64_t spread_cells(const lower *l, const tile_range *r) {
    const spread *s = &l->spreads[r->id];
    return spread_slots(l, r) * s->subgroups * s->lanes * s->vector;
}
