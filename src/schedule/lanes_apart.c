/* Lowering to the threads of a block: values that vary along no range of the lanes. Each lane could hold copies of them; where a reduction over the lanes has
 * several results, they are dealt out to the lanes instead, so that each computes a few of what follows from them (exponentials, a state's maximum and sum).
 * What needs them along the lanes' range takes them from the lane that has them. */
#include "schedule/lower.h"

/* Results of a reduction over the lanes for which that is worth it, and registers that their parts may take before they are dealt out. */
enum { LEAST_RESULTS = 4, MOST_RESULTS = 64, MOST_FIELDS = 32 };

bool lanes_apart(const lower *l, tile_range *const *axes, int count) {
    bool some = false;
    for (int i = 0; l->apart && i < count; i++) {
        if (l->along[axes[i]->id].lanes > 1)
            return false;
        some = some || l->apart[axes[i]->id].lanes > 1;
    }
    return some;
}

const spread *lanes_table(const lower *l, tile_range *const *axes, int count) {
    return !l->apart ? l->spreads : lanes_apart(l, axes, count) ? l->apart : l->along;
}

/* ---- whether, and how ---- */

static bool is_wide(const lower *l, const tile_range *r) {
    return l->spreads[r->id].lanes > 1;
}

/* Every lane has whole vectors of the range, so that lanes exchange wherever its elements are gone through. */
static bool is_unguarded(const lower *l, const tile_range *r) {
    int64_t extent, step = (int64_t)l->spreads[r->id].lanes * l->spreads[r->id].vector;
    return ix_is_const(r->extent, &extent) && range_capacity(r) == extent && extent % step == 0;
}

static tile_range *const *reduced_by(const tile_value *heavy, int *count) {
    *count = heavy->op == TILE_DOT ? heavy->contract_count : 1;
    return heavy->op == TILE_DOT ? heavy->contract : &heavy->range;
}

spread *lanes_root_spreads(const lower *l, tile_range *const *axes, int count, const tile_value *heavy) {
    bool apart = lanes_apart(l, axes, count);
    int reduced_count = 0;
    tile_range *const *reduced = heavy ? reduced_by(heavy, &reduced_count) : NULL;
    if (!l->apart)
        return l->spreads;
    for (int i = 0; i < count; i++)
        if (l->along[axes[i]->id].lanes > 1)
            return l->along;
    for (int i = 0; i < reduced_count; i++) {
        if (l->along[reduced[i]->id].lanes > 1)
            return l->along;
        apart = apart || l->apart[reduced[i]->id].lanes > 1;
    }
    return apart ? l->apart : l->along;
}

/* Adds the ranges of the results of reductions over the lanes; false when some can't be dealt out. */
static bool results_in(lower *l, const tile_value *v, bool *wanted, unsigned char *seen) {
    if (seen[v->id]++)
        return true;
    if (is_heavy(v)) {
        int count;
        tile_range *const *reduced = reduced_by(v, &count);
        bool across = false, narrow = true;
        int64_t results = 1;
        for (int i = 0; i < count; i++)
            across = across || is_wide(l, reduced[i]);
        for (int i = 0; i < v->axis_count; i++) {
            narrow = narrow && !is_wide(l, v->axes[i]);
            results = results > MOST_RESULTS || range_capacity(v->axes[i]) < 1 ? MOST_RESULTS + 1
                                                                               : results * range_capacity(v->axes[i]);
        }
        if (across && (!narrow || v->op == TILE_ARGMAX || v->op == TILE_ARGMIN || results > MOST_RESULTS))
            return false;
        for (int i = 0; across && results >= LEAST_RESULTS && i < v->axis_count; i++)
            wanted[v->axes[i]->id] = range_capacity(v->axes[i]) > 1;
    }
    for (int i = 0; i < v->operand_count; i++)
        if (!results_in(l, v->operands[i], wanted, seen))
            return false;
    return true;
}

static int64_t power_from(int64_t n) {
    int64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

/* Lanes for two ranges of these capacities, `lanes` in all or as many as they have elements: whole shares as far as possible. */
static void share_lanes(const int64_t capacity[2], int lanes, int out[2]) {
    int left = lanes;
    for (int i = 0; i < 2; i++)
        for (out[i] = 1; left > 1 && capacity[i] % (2 * out[i]) == 0; left /= 2)
            out[i] *= 2;
    for (int i = 0; i < 2; i++)
        for (; left > 1 && out[i] < power_from(capacity[i]); left /= 2)
            out[i] *= 2;
    if (out[1] > 1) /* the digit of the second has what the first leaves */
        out[1] *= left;
}

void lanes_choose_apart(lower *l) {
    arena *a = l->arena;
    int n = l->k->ranges.count, lanes = l->machine->subgroup_lanes;
    bool *wanted = NEW_ARRAY(a, bool, n);
    unsigned char *seen = NEW_ARRAY(a, unsigned char, l->value_count);
    l->along = l->spreads;
    if (!l->dealt || !l->machine->subgroups_alone || (lanes & (lanes - 1)))
        return;
    for (int i = 0; i < l->dealt->body.items.count; i++) {
        const tile_stmt *s = l->dealt->body.items.at[i];
        for (int f = 0; s->kind == TILE_STMT_JOIN && f < s->variable->field_count; f++)
            if (!results_in(l, s->values[f], wanted, seen))
                return;
    }
    tile_range *ranges[2] = {NULL, NULL}; /* the largest */
    for (int i = 0; i < n; i++) {
        tile_range *r = l->k->ranges.at[i];
        if (is_wide(l, r) && !is_unguarded(l, r))
            return;
        if (!wanted[i] || l->spreads[i].subgroups > 1 || l->spreads[i].vector > 1)
            continue;
        if (!ranges[0] || range_capacity(r) > range_capacity(ranges[0])) {
            ranges[1] = ranges[0];
            ranges[0] = r;
        } else if (!ranges[1] || range_capacity(r) > range_capacity(ranges[1])) {
            ranges[1] = r;
        }
    }
    if (!ranges[0])
        return;
    int64_t capacity[2] = {range_capacity(ranges[0]), ranges[1] ? range_capacity(ranges[1]) : 1};
    int shares[2];
    share_lanes(capacity, lanes, shares);
    l->apart = NEW_ARRAY(a, spread, n);
    for (int i = 0; i < n; i++)
        l->apart[i] = (spread){1, 1, 1, 1, NULL, NULL};
    l->apart[ranges[0]->id].lanes = shares[0];
    if (ranges[1])
        l->apart[ranges[1]->id].lanes = shares[1];
    l->apart_ranges[0] = ranges[1];
    l->apart_ranges[1] = ranges[0];
    text_buffer text = {0};
    text_add(&text, "results of reductions over the lanes are dealt out to them: %s over %d", ranges[0]->name, shares[0]);
    if (ranges[1])
        text_add(&text, ", %s over %d", ranges[1]->name, shares[1]);
    VEC_PUSH(a, l->out->routes, arena_strdup(a, text_get(&text)));
    text_free(&text);
}

/* ---- registers of such values ---- */

static bool from_registers(const lower *l, const tile_value *v, unsigned char *seen) {
    if (seen[v->id]++ || l->held[v->id] || l->held_scalar[v->id])
        return true;
    if (v->op == TILE_LOAD || v->op == TILE_INDEX)
        return false;
    if (v->op == TILE_PARAM && v->side == 1 && l->join_right && !from_registers(l, l->join_right[v->field], seen))
        return false;
    for (int i = 0; i < v->operand_count; i++)
        if (!from_registers(l, v->operands[i], seen))
            return false;
    return true;
}

bool lanes_from_registers(const lower *l, const tile_value *v, const tile_value *known) {
    unsigned char *seen = NEW_ARRAY(l->arena, unsigned char, l->value_count);
    if (known)
        seen[known->id] = 1;
    return l->apart && l->spreads == l->apart && from_registers(l, v, seen);
}

void lanes_fill(lower *l, kernel_array *array, kernel_value *v, source_span span) {
    arena *a = l->arena;
    kernel_block *b = l->block;
    index_expr *at[MOST_FIELDS];
    for (int d = 0; d < array->rank; d++) {
        kernel_stmt *s = kernel_for(l->ir, b, lower_name(l, "cell"), ix_const(a, 0), array->dims[d], 1, span);
        s->unroll = true;
        b = &s->body;
        at[d] = ix_var(a, s->var);
    }
    kernel_store(l->ir, b, kernel_at(l->ir, array, at), kernel_broadcast(l->ir, v, array->lanes), span);
}

void lanes_fill_apart(lower *l, kernel_array *array, tile_range *const *axes, int count, source_span span) {
    bool missing = false;
    for (int i = 0; i < count; i++) {
        const spread *x = &l->apart[axes[i]->id];
        int64_t capacity = range_capacity(axes[i]), here;
        missing = missing || spread_slots_in(l->apart, axes[i]) * x->lanes != capacity ||
                  !ix_is_const(l->place[axes[i]->id].count, &here) || here != capacity;
    }
    if (missing)
        lanes_fill(l, array, kernel_const(l->ir, array->element, 1, 0), span);
}

/* Number of the first lane of the id's next one, as lanes are counted. */
int64_t lane_stride(const lower *l, const index_expr *id) {
    const kernel_level *lanes = &l->ir->levels.at[2];
    int64_t stride = 1, extent;
    if (!id || id->op != IX_VAR)
        return 1;
    for (int d = lanes->rank - 1; d >= 0 && lanes->ids[d] != id->var; d--) {
        ix_is_const(lanes->extents[d], &extent);
        stride *= extent;
    }
    return stride;
}

kernel_value *emit_private_load(point *p, kernel_array *array, tile_range **axes, int axis_count) {
    lower *l = p->l;
    arena *a = l->arena;
    if (!l->apart || l->spreads == l->apart || !lanes_apart(l, axes, axis_count))
        return kernel_load(l->ir, emit_private_access(p, array, axes, axis_count));
    index_expr *at[MOST_FIELDS], *lane = ix_const(a, 0);
    int rank = 0;
    for (int d = 0; d < axis_count; d++) {
        const spread *x = &l->apart[axes[d]->id];
        index_expr *element = range_capacity(axes[d]) > 1 ? p->slot[axes[d]->id] : ix_const(a, 0), *lanes = ix_const(a, x->lanes);
        if (spread_slots_in(l->apart, axes[d]) > 1)
            at[rank++] = ix_floordiv(a, element, lanes);
        if (x->lanes > 1)
            lane = ix_add(a, lane, ix_mul(a, ix_mod(a, element, lanes), ix_const(a, lane_stride(l, x->lane))));
    }
    kernel_value *v = kernel_load(l->ir, kernel_at(l->ir, array, at));
    element_type type = v->type == ELEMENT_INDEX ? ELEMENT_I32 : v->type; /* indices fit: extents do */
    if (type != v->type)
        v = kernel_op1(l->ir, KERNEL_CONVERT, type, v);
    v = kernel_op2(l->ir, KERNEL_SHUFFLE, type, v, kernel_index(l->ir, lane));
    return type == array->element ? v : kernel_op1(l->ir, KERNEL_CONVERT, array->element, v);
}

/* ---- what follows from them, in a root along the lanes ---- */

static void hold_apart_in(lower *l, tile_value *v, value_list *held, unsigned char *seen) {
    if (seen[v->id]++ || l->held[v->id] || l->held_scalar[v->id])
        return;
    if (v->op == TILE_PARAM && v->side == 1 && l->join_right)
        hold_apart_in(l, l->join_right[v->field], held, seen);
    if (v->operand_count && v->op != TILE_LOAD && !is_heavy(v) && lanes_apart(l, v->axes, v->axis_count)) {
        hold_value(l, v);
        VEC_PUSH(l->arena, *held, v);
        return;
    }
    for (int i = 0; i < v->operand_count; i++)
        hold_apart_in(l, v->operands[i], held, seen);
}

void lanes_hold_apart(lower *l, tile_value *v, value_list *held) {
    hold_apart_in(l, v, held, NEW_ARRAY(l->arena, unsigned char, l->value_count));
}

/* ---- the parts of several results, one of each in every lane, become the results, each in its own lane ---- */

/* A dimension of the parts. */
typedef struct part_dim {
    int64_t cells; /* of the parts */
    int64_t lanes; /* of the results; 1: each lane has them all */
    const index_expr *id;
    bool done;
} part_dim;

static kernel_value *named(lower *l, kernel_block *b, const char *name, kernel_value *v, source_span span) {
    return kernel_ref(l->ir, kernel_let(l->ir, b, lower_name(l, name), v, span));
}

static index_expr *written_out(lower *l, kernel_block **b, int64_t trips, source_span span) {
    if (trips == 1)
        return ix_const(l->arena, 0);
    kernel_stmt *s = kernel_for(l->ir, *b, lower_name(l, "cell"), ix_const(l->arena, 0), ix_const(l->arena, trips), 1, span);
    s->unroll = true;
    *b = &s->body;
    return ix_var(l->arena, s->var);
}

static kernel_value *from_other(lower *l, kernel_value *v, int64_t mask) {
    return kernel_op2(l->ir, KERNEL_SHUFFLE_XOR, v->type, v, kernel_const(l->ir, ELEMENT_I32, 1, (double)mask));
}

/* One step: lanes that differ by the mask give each other what the other keeps along dimension `along`; -1: both keep all. */
static void exchange_step(lower *l, kernel_array *parts, const part_dim *dims, int along, int64_t half, int64_t mask,
                          kernel_value *upper, kernel_op combine, source_span span) {
    arena *a = l->arena;
    kernel_block *b = l->block;
    index_expr *low[MOST_FIELDS], *high[MOST_FIELDS];
    for (int d = 0; d < parts->rank; d++) {
        const part_dim *x = &dims[d];
        int64_t kept = x->done || d == along ? (x->cells + x->lanes - 1) / x->lanes : x->cells;
        low[d] = written_out(l, &b, kept, span);
        if (x->done || d == along)
            low[d] = ix_mul(a, low[d], ix_const(a, x->lanes));
        if (d == along)
            low[d] = ix_add(a, low[d], written_out(l, &b, half, span));
        high[d] = d == along ? ix_add(a, low[d], ix_const(a, half)) : low[d];
    }
    kernel_access to = kernel_at(l->ir, parts, low);
    kernel_value *own = kernel_load(l->ir, to), *sent = own, *kept = own;
    element_type type = parts->element;
    if (along >= 0) {
        kernel_value *other = kernel_load(l->ir, kernel_at(l->ir, parts, high));
        sent = kernel_op3(l->ir, KERNEL_SELECT, type, upper, own, other);
        kept = kernel_op3(l->ir, KERNEL_SELECT, type, upper, other, own);
    }
    kernel_store(l->ir, b, to, kernel_op2(l->ir, combine, type, kept, from_other(l, sent, mask)), span);
}

int64_t lanes_part_cells(const lower *l, const tile_range *r) {
    return spread_slots_in(l->apart, r) * l->apart[r->id].lanes;
}

void lanes_scatter(lower *l, kernel_array *parts, tile_range **axes, int axis_count, kernel_op combine, source_span span) {
    arena *a = l->arena;
    const kernel_level *level = &l->ir->levels.at[2];
    part_dim dims[MOST_FIELDS];
    int rank = 0;
    for (int i = 0; i < axis_count; i++)
        if (spread_slots_in(l->along, axes[i]) > 1)
            dims[rank++] = (part_dim){range_capacity(axes[i]), l->apart[axes[i]->id].lanes, l->apart[axes[i]->id].lane, false};
    for (int round = 0; round < 2; round++) /* whole shares first: nothing is sent in vain while there is most */
        for (int d = 0; d < rank; d++) {
            part_dim *x = &dims[d];
            if (x->done || x->lanes == 1 || (round == 0 && x->cells % x->lanes))
                continue;
            for (int64_t half = x->lanes / 2; half >= 1; half /= 2) {
                index_expr *digit = ix_mod(a, ix_floordiv(a, (index_expr *)x->id, ix_const(a, half)), ix_const(a, 2));
                kernel_value *upper = named(
                    l, l->block, "upper",
                    kernel_op2(l->ir, KERNEL_EQ, ELEMENT_BOOL, kernel_index(l->ir, digit), kernel_index(l->ir, ix_const(a, 1))),
                    span);
                exchange_step(l, parts, dims, d, half, half * lane_stride(l, x->id), upper, combine, span);
            }
            x->done = true;
        }
    for (int i = 0; i < level->rank; i++) { /* lanes that hold copies add up theirs */
        bool used = false;
        int64_t extent = 1, stride = lane_stride(l, ix_var(a, level->ids[i]));
        ix_is_const(level->extents[i], &extent);
        for (int d = 0; d < rank; d++)
            used = used || (dims[d].lanes > 1 && dims[d].id->var == level->ids[i]);
        for (int64_t half = extent / 2; half >= 1 && !used; half /= 2)
            exchange_step(l, parts, dims, -1, 0, half * stride, NULL, combine, span);
    }
}

/* ---- tiles at the edge: what does not exist of them reads as zeros, so that lanes need no branches around their loads ---- */

enum { MOST_AHEAD = 64 }; /* registers of a thread */

static bool is_cut(const lower *l, const tile_range *r) {
    int64_t here;
    return !ix_is_const(l->place[r->id].count, &here) || here != l->place[r->id].capacity;
}

static int64_t load_registers(const lower *l, const tile_value *v) {
    const spread *spreads = lanes_table(l, v->axes, v->axis_count);
    const element_info *e = &element_table[v->array->type];
    int64_t bytes = e->block_elements > 1 ? 8 * MOST_AHEAD : e->block_bytes;
    for (int i = 0; i < v->axis_count && bytes <= 4 * MOST_AHEAD; i++) {
        int64_t slots = spread_slots_in(spreads, v->axes[i]);
        bytes = slots < 0 ? 8 * MOST_AHEAD : bytes * slots * spreads[v->axes[i]->id].vector;
    }
    return (bytes + 3) / 4;
}

/* Loads of the range from inputs, at places that no data says. */
static void loads_of(lower *l, tile_value *v, const tile_range *r, value_list *out, unsigned char *seen) {
    if (seen[v->id]++ || l->held[v->id])
        return;
    for (int i = 0; i < v->operand_count; i++)
        loads_of(l, v->operands[i], r, out, seen);
    if (v->op != TILE_LOAD || v->has_outside || v->array->role != ARRAY_IN || !tile_has_axis(v, r))
        return;
    for (int i = 0; i < l->k->ranges.count; i++)
        if (value_index_varies(v, l->k->ranges.at[i]))
            return;
    VEC_PUSH(l->arena, *out, v);
}

void lanes_load_edge(lower *l, const tile_stmt *loop) {
    int64_t registers = 0;
    if (loop != l->dealt || !l->apart || !is_cut(l, loop->range))
        return;
    value_list loads = {0};
    unsigned char *seen = NEW_ARRAY(l->arena, unsigned char, l->value_count);
    for (int i = 0; i < loop->body.items.count; i++) {
        const tile_stmt *s = loop->body.items.at[i];
        for (int f = 0; s->kind == TILE_STMT_JOIN && f < s->variable->field_count; f++)
            loads_of(l, s->values[f], loop->range, &loads, seen);
    }
    for (int i = 0; i < loads.count; i++)
        registers += load_registers(l, loads.at[i]);
    l->fills = true;
    for (int i = 0; i < loads.count && registers <= MOST_AHEAD; i++)
        hold_value(l, loads.at[i]);
    l->fills = false;
}

/* Whether v reads nothing from memory along the ranges that a tile's end cuts. */
static bool reads_whole(const lower *l, const tile_value *v, unsigned char *seen) {
    if (seen[v->id]++ || l->held[v->id] || l->held_scalar[v->id])
        return true;
    for (int i = 0; v->op == TILE_LOAD && i < l->k->ranges.count; i++)
        if ((tile_has_axis(v, l->k->ranges.at[i]) && is_cut(l, l->k->ranges.at[i])) || value_index_varies(v, l->k->ranges.at[i]))
            return false;
    for (int i = 0; i < v->operand_count; i++)
        if (!reads_whole(l, v->operands[i], seen))
            return false;
    return true;
}

bool lanes_reads_whole(const lower *l, const tile_value *v) {
    return reads_whole(l, v, NEW_ARRAY(l->arena, unsigned char, l->value_count));
}
