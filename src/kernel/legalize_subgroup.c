/* Exchanges between the lanes of a subgroup on targets without subgroups: through shared memory, behind barriers of the block. */
#include "kernel/legalize_parts.h"
#include <string.h>

static const kernel_level *level_of(const kernel_ir *k, level_kind kind) {
    for (int i = 0; i < k->levels.count; i++)
        if (k->levels.at[i].kind == kind)
            return &k->levels.at[i];
    return NULL;
}

static int64_t extent_of(const kernel_level *level, int d) {
    int64_t extent = 1;
    ix_is_const(level->extents[d], &extent);
    return extent;
}

static int64_t lane_count(const kernel_ir *k) {
    const kernel_level *lanes = level_of(k, LEVEL_LANE);
    int64_t count = 1;
    for (int d = 0; lanes && d < lanes->rank; d++)
        count *= extent_of(lanes, d);
    return count;
}

/* The number of this lane within its subgroup: row-major over the lane ids. */
static index_expr *flat_lane(const kernel_ir *k) {
    arena *a = k->arena;
    const kernel_level *lanes = level_of(k, LEVEL_LANE);
    index_expr *flat = ix_const(a, 0);
    for (int d = 0; lanes && d < lanes->rank; d++)
        flat = ix_add(a, ix_mul(a, flat, ix_const(a, extent_of(lanes, d))), ix_var(a, lanes->ids[d]));
    return flat;
}

/* One index for each id of the levels between the task and the lane (which subgroup of the block), then `trip` and `last` (NULL: none). */
static void subgroup_place(const kernel_ir *k, index_expr *trip, index_expr *last, index_expr **at) {
    int rank = 0;
    for (int i = 0; i < k->levels.count; i++) {
        const kernel_level *level = &k->levels.at[i];
        for (int d = 0; level->kind != LEVEL_TASK && level->kind != LEVEL_LANE && d < level->rank; d++)
            at[rank++] = ix_var(k->arena, level->ids[d]);
    }
    if (trip)
        at[rank++] = trip;
    if (last)
        at[rank++] = last;
}

static kernel_array *exchange_array(legalizer *l, const char *name, element_type t, int64_t trips, int64_t lanes) {
    kernel_ir *k = l->kernel;
    index_expr *dims[64];
    int rank = 0;
    for (int i = 0; i < k->levels.count; i++) {
        const kernel_level *level = &k->levels.at[i];
        for (int d = 0; level->kind != LEVEL_TASK && level->kind != LEVEL_LANE && d < level->rank; d++)
            dims[rank++] = level->extents[d];
    }
    if (trips > 1)
        dims[rank++] = ix_const(k->arena, trips);
    dims[rank++] = ix_const(k->arena, lanes);
    const char *unique = name;
    for (int i = 2, taken = 1; taken; i++) {
        taken = 0;
        for (int j = 0; j < k->arrays.count && !taken; j++)
            taken = !strcmp(k->arrays.at[j]->name, unique);
        if (taken)
            unique = arena_printf(k->arena, "%s_%d", name, i);
    }
    kernel_array *array = kernel_add_array(k, unique, SPACE_SHARED, USE_LOCAL, t, rank, dims);
    array->span = k->span;
    return array;
}

/* `trip`: of the loop whose trips exchange together; NULL when there is none. */
static kernel_access lane_cell(legalizer *l, kernel_array *array, index_expr *trip, index_expr *lane) {
    index_expr *at[66];
    subgroup_place(l->kernel, trip, lane, at);
    return kernel_at(l->kernel, array, at);
}

void legalize_barrier(legalizer *l, kernel_block *b, source_span span) {
    kernel_stmt *s = kernel_append(l->kernel, b, KSTMT_BARRIER, span);
    s->scope = LEVEL_BLOCK;
    s->spaces = 1u << SPACE_SHARED;
}

/* ---- butterflies: a register cell combined with the same cell of the lanes xor m, xor m/2, ... ---- */

static bool same_access(const kernel_access *x, const kernel_access *y) {
    bool same = x->array == y->array && x->lanes == y->lanes && !x->active && !y->active;
    for (int d = 0; same && d < x->array->rank; d++)
        same = ix_equal(x->indices[d], y->indices[d]);
    return same;
}

/* The mask when s is `store A <- op(A, shuffle_xor(A, mask))`, A a cell in registers and mask one bit; 0 otherwise. */
static int64_t butterfly_mask(const kernel_stmt *s) {
    const kernel_value *v = s->value;
    if (s->kind != KSTMT_STORE || s->access.array->space != SPACE_REGISTER || s->access.lanes != 1 ||
        (v->op != KERNEL_ADD && v->op != KERNEL_MAX && v->op != KERNEL_MIN))
        return 0;
    const kernel_value *own = v->operands[0], *other = v->operands[1];
    if (own->op != KERNEL_LOAD || !same_access(&own->access, &s->access) || other->op != KERNEL_SHUFFLE_XOR ||
        other->operands[0]->op != KERNEL_LOAD || !same_access(&other->operands[0]->access, &s->access) ||
        other->operands[1]->op != KERNEL_CONST)
        return 0;
    int64_t mask = (int64_t)other->operands[1]->number;
    return mask > 0 && !(mask & (mask - 1)) ? mask : 0;
}

/* The number of the lane whose bits `mask` are 0 and whose others are this lane's. An id all of whose bits are in the mask is left out: what remains
 * is then affine. */
static index_expr *group_start(const kernel_ir *k, int64_t mask) {
    arena *a = k->arena;
    const kernel_level *lanes = level_of(k, LEVEL_LANE);
    index_expr *flat = ix_const(a, 0);
    int64_t stride = lane_count(k);
    for (int d = 0; d < lanes->rank; d++) {
        int64_t extent = extent_of(lanes, d), bits = stride - stride / extent;
        stride /= extent;
        index_expr *id = ix_var(a, lanes->ids[d]);
        if ((mask & bits) == bits)
            continue;
        for (int64_t bit = stride; bit < stride * extent; bit *= 2)
            if (mask & bit) {
                index_expr *digit =
                    ix_mod(a, ix_floordiv(a, ix_var(a, lanes->ids[d]), ix_const(a, bit / stride)), ix_const(a, 2));
                id = ix_sub(a, id, ix_mul(a, digit, ix_const(a, bit / stride)));
            }
        flat = ix_add(a, flat, ix_mul(a, id, ix_const(a, stride)));
    }
    return flat;
}

/* How many of `at` form a butterfly; their masks. */
static int butterfly_run(const legalizer *l, kernel_stmt *const *at, int count, int64_t *masks) {
    int64_t seen = 0, lanes = lane_count(l->kernel);
    int n = 0;
    while (n < count && n < 5) { /* at most 32 cells are read */
        int64_t mask = butterfly_mask(at[n]);
        if (!mask || mask >= lanes || (seen & mask) ||
            (n && (!same_access(&at[n]->access, &at[0]->access) || at[n]->value->op != at[0]->value->op)))
            break;
        seen |= mask;
        masks[n++] = mask;
    }
    return n >= 2 && !(lanes & (lanes - 1)) ? n : 0;
}

/* What the group's lanes left, combined in the order of the masks, as the shuffles would. */
static kernel_value *butterfly_total(legalizer *l, kernel_op op, kernel_array *cells, index_expr *trip, const int64_t *masks,
                                     int n) {
    arena *a = l->kernel->arena;
    int64_t seen = 0;
    for (int i = 0; i < n; i++)
        seen |= masks[i];
    index_expr *base = group_start(l->kernel, seen);
    kernel_value *all[32];
    for (int i = 0; i < 1 << n; i++) {
        int64_t offset = 0;
        for (int b = 0; b < n; b++)
            offset += i >> (n - 1 - b) & 1 ? masks[b] : 0;
        all[i] = kernel_load(l->kernel, lane_cell(l, cells, trip, ix_add(a, base, ix_const(a, offset))));
    }
    for (int half = 1 << (n - 1); half >= 1; half /= 2)
        for (int i = 0; i < half; i++)
            all[i] = kernel_op2(l->kernel, op, cells->element, all[i], all[i + half]);
    return all[0];
}

static void butterfly_route(legalizer *l, int n) {
    legalize_route(
        l, "shuffle_xor %d times over: each lane reads %d cells of shared memory (refused: subgroup operations, which %s lacks)",
        n, 1 << n, l->table->target);
}

int legalize_butterfly(legalizer *l, kernel_stmt *const *at, int count, kernel_block *before) {
    kernel_ir *k = l->kernel;
    int64_t masks[5];
    int n = l->divergent ? 0 : butterfly_run(l, at, count, masks), turn = l->turn;
    if (!n)
        return 0;
    const kernel_stmt *s = at[0];
    element_type t = s->access.array->element;
    if (!l->cells[turn][t])
        l->cells[turn][t] = exchange_array(l, "lane_values", t, 1, lane_count(k));
    kernel_array *cells = l->cells[turn][t];
    kernel_store(k, before, lane_cell(l, cells, NULL, flat_lane(k)), kernel_load(k, s->access), s->span);
    legalize_barrier(l, before, s->span);
    kernel_store(k, before, s->access, butterfly_total(l, s->value->op, cells, NULL, masks, n), s->span);
    l->shuffles++;
    l->turn = !turn;
    l->group = NULL;
    butterfly_route(l, n);
    return n;
}

/* cells[lane], cells[lane + step], ... (count of them, a power of two) combined pairwise, halves first. */
static kernel_value *combined(legalizer *l, kernel_op op, kernel_array *cells, index_expr *trip, index_expr *lane, int64_t step,
                              int64_t count) {
    arena *a = l->kernel->arena;
    kernel_value *low[64];
    int n = 0;
    for (int64_t i = 0; i < count; i++)
        low[n++] = kernel_load(l->kernel, lane_cell(l, cells, trip, ix_add(a, lane, ix_const(a, i * step))));
    for (n /= 2; n >= 1; n /= 2)
        for (int i = 0; i < n; i++)
            low[i] = kernel_op2(l->kernel, op, cells->element, low[i], low[i + n]);
    return low[0];
}

/* A reduction over the subgroup. Each lane leaves its value; a few lanes combine what some of them left; every lane combines those few. Pairwise all
 * along, so that sums are as deep as a tree. Between these three stand two barriers: the second keeps the next reduction's values from those still
 * being read, the first one its parts. */
typedef struct reduction {
    kernel_op op;
    kernel_array *parts, *few;
    int64_t lanes, few_count;
} reduction;

static kernel_op reducing_op(kernel_op op) {
    return op == KERNEL_SUBGROUP_SUM   ? KERNEL_ADD
           : op == KERNEL_SUBGROUP_MAX ? KERNEL_MAX
           : op == KERNEL_SUBGROUP_MIN ? KERNEL_MIN
                                       : KERNEL_CONST;
}

static reduction reduction_new(const legalizer *l, kernel_op op) {
    reduction r = {.op = reducing_op(op), .lanes = lane_count(l->kernel), .few_count = 1};
    while (4 * r.few_count * r.few_count <= r.lanes)
        r.few_count *= 2;
    return r;
}

static void reduction_leave(legalizer *l, const reduction *r, index_expr *trip, kernel_value *x, kernel_block *b,
                            source_span span) {
    kernel_store(l->kernel, b, lane_cell(l, r->parts, trip, flat_lane(l->kernel)), x, span);
}

static void reduction_combine(legalizer *l, const reduction *r, index_expr *trip, kernel_block *b, source_span span) {
    index_expr *own = flat_lane(l->kernel);
    kernel_stmt *first = kernel_append(l->kernel, b, KSTMT_IF, span);
    first->condition = cond_compare(l->kernel->arena, COND_LT, own, ix_const(l->kernel->arena, r->few_count));
    kernel_store(l->kernel, &first->body, lane_cell(l, r->few, trip, own),
                 combined(l, r->op, r->parts, trip, own, r->few_count, r->lanes / r->few_count), span);
}

static kernel_value *reduction_total(legalizer *l, const reduction *r, index_expr *trip) {
    return combined(l, r->op, r->few, trip, ix_const(l->kernel->arena, 0), 1, r->few_count);
}

static kernel_value *reduce(legalizer *l, kernel_op op, kernel_value *x, kernel_block *before, source_span span) {
    element_type t = x->type;
    reduction r = reduction_new(l, op);
    if (!l->parts[t]) {
        l->parts[t] = exchange_array(l, "lane_parts", t, 1, r.lanes);
        l->few[t] = exchange_array(l, "few_parts", t, 1, r.few_count);
    }
    r.parts = l->parts[t];
    r.few = l->few[t];
    reduction_leave(l, &r, NULL, x, before, span);
    legalize_barrier(l, before, span);
    reduction_combine(l, &r, NULL, before, span);
    legalize_barrier(l, before, span);
    return reduction_total(l, &r, NULL);
}

static void reduction_route(legalizer *l, kernel_op op) {
    legalize_route(l, "%s: %lld lanes through shared memory, in two steps (refused: subgroup operations, which %s lacks)",
                   kernel_op_table[op].name, (long long)lane_count(l->kernel), l->table->target);
}

/* own xor mask, mask a constant: each bit of it turns one bit of the lane's number over. */
static index_expr *flipped(const kernel_ir *k, int64_t mask) {
    arena *a = k->arena;
    index_expr *own = flat_lane(k), *x = own;
    for (int64_t bit = 1; bit <= mask; bit *= 2)
        if (mask & bit) {
            index_expr *digit = ix_mod(a, ix_floordiv(a, own, ix_const(a, bit)), ix_const(a, 2));
            x = ix_add(a, x, ix_sub(a, ix_const(a, bit), ix_mul(a, ix_const(a, 2 * bit), digit)));
        }
    return x;
}

/* The lane that v's second operand names, as an integer expression; NULL when that cannot be said. */
static index_expr *other_lane(legalizer *l, const kernel_value *v) {
    arena *a = l->kernel->arena;
    int64_t lanes = lane_count(l->kernel);
    const kernel_value *which = v->operands[1];
    index_expr *x = which->op == KERNEL_CONST                                               ? ix_const(a, (int64_t)which->number)
                    : which->op == KERNEL_INDEX                                             ? which->index
                    : which->op == KERNEL_CONVERT && which->operands[0]->op == KERNEL_INDEX ? which->operands[0]->index
                    : which->op == KERNEL_REF && which->let->var                            ? ix_var(a, which->let->var)
                                                                                            : NULL;
    int64_t constant;
    if (!x)
        return NULL;
    if (v->op == KERNEL_SHUFFLE_XOR) {
        if (!ix_is_const(x, &constant) || constant < 0 || constant >= lanes || (lanes & (lanes - 1)))
            return NULL;
        return flipped(l->kernel, constant);
    }
    if (v->op == KERNEL_SHUFFLE_DOWN) /* past the last lane anything may come: the last one's value does */
        return ix_min(a, ix_add(a, flat_lane(l->kernel), x), ix_const(a, lanes - 1));
    return x;
}

static bool lives_in_registers(const kernel_value *v) {
    if (v->op == KERNEL_LOAD && v->access.array->space != SPACE_REGISTER)
        return false;
    for (int i = 0; i < v->operand_count; i++)
        if (!lives_in_registers(v->operands[i]))
            return false;
    return true;
}

static bool refers_to(const kernel_value *v, const kernel_stmt *let) {
    if ((v->op == KERNEL_REF && v->let == let) || (v->index && let->var && ix_mentions(v->index, let->var)))
        return true;
    for (int i = 0; i < v->operand_count; i++)
        if (refers_to(v->operands[i], let))
            return true;
    return false;
}

/* Where in `b` a store of x may stand so that the last group's barrier serves it too; -1: nowhere. Only lets lie behind that barrier. */
static int joins_group(const legalizer *l, const kernel_block *b, const kernel_value *x, const kernel_array *cells) {
    int at = b->items.count - 1;
    if (!l->group || !lives_in_registers(x))
        return -1;
    for (; at >= 0 && b->items.at[at] != l->group; at--)
        if (b->items.at[at]->kind != KSTMT_LET || refers_to(x, b->items.at[at]))
            return -1;
    for (int i = at - 1; i >= 0 && b->items.at[i]->kind == KSTMT_STORE; i--)
        if (b->items.at[i]->access.array == cells)
            return -1;
    return at;
}

/* One cell a lane, a barrier, and the other lane's cell. Shuffles that follow each other share the barrier. */
static kernel_value *shuffle(legalizer *l, const kernel_value *v, index_expr *from, kernel_block *before) {
    kernel_ir *k = l->kernel;
    element_type t = v->type;
    int turn = !l->turn;
    int at = joins_group(l, before, v->operands[0], l->cells[turn][t]);
    if (at < 0)
        turn = !turn;
    if (!l->cells[turn][t])
        l->cells[turn][t] = exchange_array(l, "lane_values", t, 1, lane_count(k));
    kernel_access own = lane_cell(l, l->cells[turn][t], NULL, flat_lane(k)), other = lane_cell(l, l->cells[turn][t], NULL, from);
    kernel_stmt *s = kernel_store(k, before, own, v->operands[0], v->span);
    l->shuffles++;
    if (at >= 0) {
        for (int i = before->items.count - 1; i > at; i--)
            before->items.at[i] = before->items.at[i - 1];
        before->items.at[at] = s;
    } else {
        legalize_barrier(l, before, v->span);
        l->group = before->items.at[before->items.count - 1];
        l->turn = !turn;
    }
    return kernel_load(k, other);
}

void legalize_exchange(legalizer *l, kernel_value *v, kernel_block *before) {
    const char *name = kernel_op_table[v->op].name;
    int64_t lanes = lane_count(l->kernel);
    kernel_value *result;
    if (l->divergent) {
        legalize_refuse(l, v->span,
                        "`%s` where not every thread of the block comes by: the barrier that replaces it would wait for ever",
                        name);
        return;
    }
    if (v->lanes != 1 || v->type == ELEMENT_BOOL) {
        legalize_refuse(l, v->span, "`%s` of %s", name, v->lanes != 1 ? "a vector" : "booleans");
        return;
    }
    if (reducing_op(v->op) != KERNEL_CONST) {
        if (lanes & (lanes - 1) || lanes > 1024) {
            legalize_refuse(l, v->span, "`%s` over %lld lanes, which is no power of two", name, (long long)lanes);
            return;
        }
        if (lanes == 1) {
            *v = *v->operands[0];
            return;
        }
        result = reduce(l, v->op, v->operands[0], before, v->span);
        reduction_route(l, v->op);
    } else {
        index_expr *from = other_lane(l, v);
        if (!from) {
            legalize_refuse(l, v->span, "`%s` from a lane that data decide", name);
            return;
        }
        result = shuffle(l, v, from, before);
        legalize_route(l, "%s: through shared memory (refused: subgroup operations, which %s lacks)", name, l->table->target);
    }
    /* The value becomes what was loaded here and now: the cell may be overwritten before a later use. */
    kernel_stmt *let = kernel_let(l->kernel, before, "exchanged", result, v->span);
    *v = *kernel_ref(l->kernel, let);
}

/* ---- the trips of an unrolled loop exchange together: its statements are dealt out to loops with the barriers between them ---- */

enum { BATCH_BYTES = 8 * 1024 };

static bool has_exchange(const kernel_value *v) {
    if (!strcmp(kernel_op_table[v->op].kind, "subgroup"))
        return true;
    for (int i = 0; i < v->operand_count; i++)
        if (has_exchange(v->operands[i]))
            return true;
    return false;
}

/* Registers only, and where the loop itself stores only cells that are this trip's own. */
static bool cell_of_trip(const kernel_access *a, const kernel_stmt *loop) {
    if (a->array->space != SPACE_REGISTER || a->array->view_of)
        return false;
    bool own = false, stored = false;
    for (int d = 0; d < a->array->rank; d++)
        own = own || (a->indices[d]->op == IX_VAR && a->indices[d]->var == loop->var);
    for (int i = 0; i < loop->body.items.count; i++)
        stored = stored || loop->body.items.at[i]->access.array == a->array;
    return own || !stored;
}

static bool value_of_trip(const kernel_value *v, const kernel_stmt *loop) {
    if (v->op == KERNEL_LOAD && !cell_of_trip(&v->access, loop))
        return false;
    for (int i = 0; i < v->operand_count; i++)
        if (!value_of_trip(v->operands[i], loop))
            return false;
    return true;
}

/* Only stores of register cells; exchanges are whole butterflies, or the whole value stored. */
static bool may_batch(const legalizer *l, const kernel_stmt *loop, int64_t *trips, int64_t *at_once) {
    int64_t lo, step, lanes = lane_count(l->kernel), threads = lanes;
    int exchanges = 0;
    for (int i = 0; i < l->kernel->levels.count; i++)
        for (int d = 0; d < l->kernel->levels.at[i].rank; d++)
            if (l->kernel->levels.at[i].kind != LEVEL_TASK && l->kernel->levels.at[i].kind != LEVEL_LANE)
                threads *= extent_of(&l->kernel->levels.at[i], d);
    if (loop->kind != KSTMT_FOR || !loop->unroll || l->divergent || !ix_is_const(loop->lo, &lo) || lo ||
        !ix_is_const(loop->step, &step) || step != 1 || !ix_is_const(loop->hi, trips) || *trips < 2 ||
        BATCH_BYTES / (threads * 4) < 2 || lanes < 2 || lanes > 1024 || (lanes & (lanes - 1)))
        return false;
    for (int i = 0; i < loop->body.items.count; i++) {
        kernel_stmt *s = loop->body.items.at[i];
        int64_t masks[5];
        if (s->kind != KSTMT_STORE || !cell_of_trip(&s->access, loop) || !value_of_trip(s->value, loop))
            return false;
        int n = butterfly_run(l, &loop->body.items.at[i], loop->body.items.count - i, masks);
        if (n) {
            exchanges++;
            i += n - 1;
        } else if (has_exchange(s->value)) {
            bool whole = reducing_op(s->value->op) != KERNEL_CONST && s->value->lanes == 1 && s->value->type != ELEMENT_BOOL &&
                         !has_exchange(s->value->operands[0]);
            if (!whole)
                return false;
            exchanges++;
        }
    }
    *at_once = BATCH_BYTES / (threads * 4);
    return exchanges > 0;
}

/* A further loop over `trips` trips. */
static kernel_stmt *next_loop(legalizer *l, const kernel_stmt *loop, int64_t trips, kernel_block *b) {
    arena *a = l->kernel->arena;
    kernel_stmt *s = kernel_for(l->kernel, b, loop->var->name, ix_const(a, 0), ix_const(a, trips), 1, loop->span);
    s->unroll = true;
    return s;
}

typedef struct renaming {
    arena *arena;
    const index_var *from;
    index_expr *to;
} renaming;

static index_expr *renamed(const renaming *r, index_expr *x) {
    return x ? ix_substitute(r->arena, x, r->from, r->to) : NULL;
}

static kernel_access renamed_access(const kernel_access *a, const renaming *r) { /* index lists may be shared between accesses */
    kernel_access copy = *a;
    copy.indices = NEW_ARRAY(r->arena, index_expr *, a->array->rank + 1);
    for (int d = 0; d < a->array->rank; d++)
        copy.indices[d] = renamed(r, a->indices[d]);
    copy.active = renamed(r, a->active);
    return copy;
}

/* The same value with the loop's variable renamed, in nodes of its own. */
static kernel_value *renamed_value(legalizer *l, const kernel_value *v, const renaming *r) {
    kernel_value *copy = NEW(l->kernel->arena, kernel_value);
    *copy = *v;
    copy->operands = NEW_ARRAY(l->kernel->arena, kernel_value *, v->operand_count + 1);
    for (int i = 0; i < v->operand_count; i++)
        copy->operands[i] = renamed_value(l, v->operands[i], r);
    copy->index = renamed(r, v->index);
    if (v->op == KERNEL_LOAD)
        copy->access = renamed_access(&v->access, r);
    return copy;
}

static kernel_array *batch_array_of(legalizer *l, const char *name, element_type t, int64_t trips, int64_t lanes) {
    for (int i = 0; i < l->batches.count; i++)
        if (l->batches.at[i].name == name && l->batches.at[i].trips == trips && l->batches.at[i].array->element == t)
            return l->batches.at[i].array;
    batch_array made = {name, trips, exchange_array(l, name, t, trips, lanes)};
    VEC_PUSH(l->kernel->arena, l->batches, made);
    return made.array;
}

/* The trips origin .. origin + trips - 1. */
static void batch(legalizer *l, kernel_stmt *loop, index_expr *origin, int64_t trips, kernel_block *before) {
    kernel_ir *k = l->kernel;
    arena *a = k->arena;
    int64_t lanes = lane_count(k);
    kernel_array *parts[ELEMENT_COUNT] = {0}, *few[ELEMENT_COUNT] = {0};
    kernel_stmt *now = next_loop(l, loop, trips, before);
    for (int i = 0; i < loop->body.items.count; i++) {
        const kernel_stmt *s = loop->body.items.at[i];
        renaming r = {a, loop->var, ix_add(a, origin, ix_var(a, now->var))};
        int64_t masks[5];
        int n = butterfly_run(l, &loop->body.items.at[i], loop->body.items.count - i, masks);
        element_type t = s->access.array->element;
        if (!n && !has_exchange(s->value)) {
            kernel_store(k, &now->body, renamed_access(&s->access, &r), renamed_value(l, s->value, &r), s->span);
            continue;
        }
        if (!parts[t])
            parts[t] = batch_array_of(l, "slot_parts", t, trips, lanes);
        if (n) {
            kernel_store(k, &now->body, lane_cell(l, parts[t], ix_var(a, now->var), flat_lane(k)),
                         kernel_load(k, renamed_access(&s->access, &r)), s->span);
            legalize_barrier(l, before, s->span);
            now = next_loop(l, loop, trips, before);
            r.to = ix_add(a, origin, ix_var(a, now->var));
            kernel_store(k, &now->body, renamed_access(&s->access, &r),
                         butterfly_total(l, s->value->op, parts[t], ix_var(a, now->var), masks, n), s->span);
            butterfly_route(l, n);
            i += n - 1;
        } else {
            reduction q = reduction_new(l, s->value->op);
            if (!few[t])
                few[t] = batch_array_of(l, "slot_few_parts", t, trips, q.few_count);
            q.parts = parts[t];
            q.few = few[t];
            reduction_leave(l, &q, ix_var(a, now->var), renamed_value(l, s->value->operands[0], &r), &now->body, s->span);
            legalize_barrier(l, before, s->span);
            now = next_loop(l, loop, trips, before);
            reduction_combine(l, &q, ix_var(a, now->var), &now->body, s->span);
            legalize_barrier(l, before, s->span);
            now = next_loop(l, loop, trips, before);
            r.to = ix_add(a, origin, ix_var(a, now->var));
            kernel_store(k, &now->body, renamed_access(&s->access, &r), reduction_total(l, &q, ix_var(a, now->var)), s->span);
            reduction_route(l, s->value->op);
        }
        if (n) { /* what was left is written again only after it was read */
            legalize_barrier(l, before, s->span);
            now = next_loop(l, loop, trips, before);
        }
    }
    if (!now->body.items.count)
        before->items.count--; /* nothing came behind the last barrier */
    l->group = NULL;
}

bool legalize_batch(legalizer *l, kernel_stmt *loop, kernel_block *before) {
    int64_t trips, at_once;
    if (!may_batch(l, loop, &trips, &at_once))
        return false;
    for (at_once = at_once < trips ? at_once : trips; trips % at_once; at_once--)
        ;
    if (at_once < 2)
        return false;
    arena *a = l->kernel->arena;
    index_expr *origin = ix_const(a, 0);
    if (trips > at_once) { /* as many at once as shared memory has room for */
        const char *name = arena_printf(a, "%s_chunk", loop->var->name);
        kernel_stmt *chunk = kernel_for(l->kernel, before, name, ix_const(a, 0), ix_const(a, trips / at_once), 1, loop->span);
        chunk->unroll = true;
        before = &chunk->body;
        origin = ix_mul(a, ix_var(a, chunk->var), ix_const(a, at_once));
    }
    batch(l, loop, origin, at_once, before);
    return true;
}
