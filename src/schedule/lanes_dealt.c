/* Lowering to the threads of a block: a loop that joins states is dealt to the subgroups. Each takes the tiles whose number leaves its own when divided
 * by how many they are, and joins them to a state of its own; the states are joined once, after the loop. */
#include "schedule/lower.h"
#include <string.h>

/* ---- which loop ---- */

static bool commutes(tile_op op) {
    return op == TILE_ADD || op == TILE_MUL || op == TILE_MAX || op == TILE_MIN || op == TILE_AND || op == TILE_OR ||
           op == TILE_EQ || op == TILE_NE;
}

/* Pairs of values compared for one field: longer joins are not known to commute. */
enum { MOST_COMPARED = 10000 };

/* Whether x is y once the left part and the right one change places. */
static bool mirrored(const tile_value *x, const tile_value *y, int *left) {
    if (x->op != y->op || x->type != y->type || x->operand_count != y->operand_count || --*left < 0)
        return false;
    switch (x->op) {
    case TILE_PARAM: return x->field == y->field && x->side != y->side;
    case TILE_CONST: return x->number == y->number;
    case TILE_SCALAR: return x->scalar == y->scalar;
    case TILE_INDEX:
    case TILE_LOAD:
    case TILE_GET:
    case TILE_FIELD: return false;
    default: break;
    }
    bool same = x->saturate == y->saturate && x->intrinsic == y->intrinsic;
    for (int i = 0; i < x->operand_count && same; i++)
        same = mirrored(x->operands[i], y->operands[i], left);
    if (!same && commutes(x->op))
        same = mirrored(x->operands[0], y->operands[1], left) && mirrored(x->operands[1], y->operands[0], left);
    return same;
}

static bool order_is_free(const tile_variable *x) {
    for (int f = 0; f < x->field_count; f++) {
        int left = MOST_COMPARED;
        if (!mirrored(x->join[f], x->join[f], &left))
            return false;
    }
    return true;
}

/* The kernel's only loop, when all it does is join states in any order. */
const tile_stmt *dealt_loop(const tile_kernel *k) {
    const tile_stmt *loop = NULL;
    bool joins = false;
    for (int i = 0; i < k->body.items.count; i++)
        if (k->body.items.at[i]->kind == TILE_STMT_LOOP) {
            if (loop)
                return NULL;
            loop = k->body.items.at[i];
        }
    for (int i = 0; loop && i < loop->body.items.count; i++) {
        const tile_stmt *s = loop->body.items.at[i];
        if (s->kind == TILE_STMT_JOIN ? !order_is_free(s->variable) : s->kind != TILE_STMT_LET)
            return NULL;
        joins = joins || s->kind == TILE_STMT_JOIN;
    }
    return joins && !loop->range->whole && !ix_equal(loop->range->extent, loop->range->size) ? loop : NULL;
}

/* ---- whose turn ---- */

index_expr *lanes_deal(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi, int64_t size, bool whole) {
    arena *a = l->arena;
    const char *name = loop->range->name;
    int64_t round = size * l->machine->subgroups;
    index_expr *from = ix_mul(a, ix_floordiv(a, lo, ix_const(a, round)), ix_const(a, round));
    index_expr *own = ix_mul(a, ix_var(a, l->ir->levels.at[1].ids[0]), ix_const(a, size));
    cond *turn;
    index_expr *start = lo;
    if (whole && is_multiple(lo, ix_const(a, round))) { /* no test in the loop: the compiler overlaps its trips */
        kernel_stmt *s = kernel_for(l->ir, l->block, lower_name(l, arena_printf(a, "%s_start", name)), ix_add(a, lo, own), hi,
                                    round, loop->span);
        l->block = &s->body;
        return ix_var(a, s->var);
    }
    if (whole) {
        kernel_stmt *s =
            kernel_for(l->ir, l->block, lower_name(l, arena_printf(a, "%s_round", name)), from, hi, round, loop->span);
        l->block = &s->body;
        start = name_index(l, l->block, arena_printf(a, "%s_start", name), ix_add(a, ix_var(a, s->var), own));
        turn = cond_compare(a, COND_LT, start, hi);
        turn = cond_and(a, turn, cond_compare(a, COND_LE, lo, start));
    } else {
        turn = cond_and(a, cond_compare(a, COND_LT, lo, hi), cond_compare(a, COND_EQ, ix_add(a, from, own), lo));
    }
    kernel_stmt *s = kernel_append(l->ir, l->block, KSTMT_IF, loop->span);
    s->condition = turn;
    l->block = &s->body;
    return start;
}

/* ---- elements joined one by one: several are read before the first of them is joined ---- */

/* Elements that a subgroup reads at once, and registers that they may take. */
enum { MOST_AT_ONCE = 4, MOST_READ = 64 };

/* How many, where the loop's statements are joins of what does not depend on the state; 1: one after the other. */
static int read_at_once(const lower *l, const tile_stmt *loop) {
    int64_t registers = 0;
    for (int i = 0; i < l->atoms.count; i++)
        if (atom_mentions(&l->atoms.at[i], loop->range))
            return 1;
    for (int i = 0; i < loop->body.items.count; i++) {
        const tile_stmt *s = loop->body.items.at[i];
        if (s->kind != TILE_STMT_JOIN)
            return 1;
        for (int f = 0; f < s->variable->field_count; f++) {
            if (value_mentions_state(l, s->values[f]) || l->held[s->values[f]->id])
                return 1;
            int64_t cells = 1;
            for (int x = 0; x < s->values[f]->axis_count && cells <= MOST_READ; x++)
                cells *= spread_slots(l, s->values[f]->axes[x]) * l->spreads[s->values[f]->axes[x]->id].vector;
            registers += cells;
        }
    }
    int many = MOST_AT_ONCE;
    while (many > 1 && many * registers > MOST_READ)
        many /= 2;
    return many;
}

/* What the joins of one element take, kept for them, in their order. */
static void read_element(lower *l, const tile_stmt *loop, index_expr *start, kernel_array **kept) {
    l->place[loop->range->id] = (range_place){.start = start, .count = ix_const(l->arena, 1), .capacity = 1, .entered = true};
    for (int i = 0; i < loop->body.items.count; i++) {
        const tile_stmt *s = loop->body.items.at[i];
        for (int f = 0; f < s->variable->field_count && !l->failed; f++) {
            hold_value(l, s->values[f]);
            *kept++ = l->held[s->values[f]->id];
        }
    }
}

static void join_element(lower *l, const tile_stmt *loop, kernel_array **kept) {
    for (int i = 0; i < loop->body.items.count && !l->failed; i++) {
        const tile_stmt *s = loop->body.items.at[i];
        for (int f = 0; f < s->variable->field_count; f++)
            l->held[s->values[f]->id] = *kept++;
        lower_join_values(l, s->variable, s->values, s->span);
    }
}

/* Goes on where the element exists. */
static kernel_block *where_exists(lower *l, index_expr *at, index_expr *end, source_span span) {
    kernel_stmt *s = kernel_append(l->ir, l->block, KSTMT_IF, span);
    s->condition = cond_compare(l->arena, COND_LT, at, end);
    return &s->body;
}

/* Elements start, start + round, ..: `many` of them, as far as they lie before the end. Tests stand between reading and
 * joining too, so that no compiler joins the first before it has asked for the others. */
static void deal_batch(lower *l, const tile_stmt *loop, index_expr *start, index_expr *end, int many, int fields) {
    arena *a = l->arena;
    int64_t round = l->machine->subgroups;
    kernel_block *outside = l->block;
    size_t values = (size_t)l->value_count;
    kernel_array **held = NEW_ARRAY(a, kernel_array *, values), **kept = NEW_ARRAY(a, kernel_array *, many * fields);
    memcpy(held, l->held, values * sizeof *held);
    l->predicates[loop->range->id] = loop->predicate;
    VEC_PUSH(a, l->loops, loop->range);
    for (int joins = 0; joins < 2; joins++)
        for (int i = 0; i < many && !l->failed; i++) {
            index_expr *at = ix_add(a, start, ix_const(a, i * round));
            l->block = where_exists(l, at, end, loop->span);
            if (joins)
                join_element(l, loop, kept + i * fields);
            else
                read_element(l, loop, at, kept + i * fields);
            memcpy(l->held, held, values * sizeof *held);
            l->block = outside;
        }
    l->loops.count--;
    l->place[loop->range->id].entered = false;
}

bool lanes_deal_several(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi) {
    arena *a = l->arena;
    int64_t first, round = l->machine->subgroups;
    int many = ix_is_const(lo, &first) && first == 0 ? read_at_once(l, loop) : 1, fields = 0;
    if (many == 1)
        return false;
    for (int i = 0; i < loop->body.items.count; i++)
        fields += loop->body.items.at[i]->variable->field_count;
    kernel_block *outside = l->block;
    kernel_stmt *s = kernel_for(l->ir, l->block, lower_name(l, arena_printf(a, "%s_round", loop->range->name)), lo, hi,
                                many * round, loop->span);
    l->block = &s->body;
    deal_batch(l, loop, ix_add(a, ix_var(a, s->var), ix_var(a, l->ir->levels.at[1].ids[0])), hi, many, fields);
    l->block = outside;
    return true;
}

/* ---- the joins after it ---- */

typedef struct dealt_field {
    kernel_array *own, *shared, *other; /* the thread's; every thread's; one subgroup's, as its thread of the same lane has it */
    tile_range **axes;
    int axis_count;
    index_expr *from; /* the subgroup read */
    source_span span;
} dealt_field;

static kernel_access shared_cell(point *p, const dealt_field *x, index_expr *subgroup) {
    lower *l = p->l;
    arena *a = l->arena;
    index_expr *at[34];
    int rank = 0;
    at[rank++] = subgroup;
    for (int d = 0; d < l->ir->levels.at[2].rank; d++)
        at[rank++] = ix_var(a, l->ir->levels.at[2].ids[d]);
    for (int d = 0; d < x->axis_count; d++)
        if (spread_slots(l, x->axes[d]) > 1)
            at[rank++] = p->slot[x->axes[d]->id];
    if (x->own->lanes > 1)
        at[rank++] = ix_const(a, 0);
    kernel_access access = kernel_at(l->ir, x->shared, at);
    access.lanes = x->own->lanes;
    access.vector_dim = x->own->lanes > 1 ? rank - 1 : access.vector_dim;
    return access;
}

static void leave(point *p, void *context) {
    const dealt_field *x = context;
    lower *l = p->l;
    kernel_value *v = kernel_load(l->ir, emit_private_access(p, x->own, x->axes, x->axis_count));
    kernel_store(l->ir, p->block, shared_cell(p, x, x->from), v, x->span);
}

static void fetch(point *p, void *context) {
    const dealt_field *x = context;
    lower *l = p->l;
    kernel_value *v = kernel_load(l->ir, shared_cell(p, x, x->from));
    kernel_store(l->ir, p->block, emit_private_access(p, x->other, x->axes, x->axis_count), v, x->span);
}

typedef struct field_nest {
    dealt_field *field;
    int depth;
    nest_body body;
} field_nest;

static void over_axes(point *p, void *context) {
    field_nest n = *(field_nest *)context;
    while (n.depth < n.field->axis_count && range_open(p, n.field->axes[n.depth]))
        n.depth++;
    if (n.depth == n.field->axis_count) {
        n.body(p, n.field);
        return;
    }
    tile_range *r = n.field->axes[n.depth++];
    lanes_share(p, r, SHARE_GUARDED, over_axes, &n, n.field->span);
}

static void each_cell(lower *l, dealt_field *x, nest_body body) {
    field_nest n = {x, 0, body};
    spread *outside = l->spreads;
    l->spreads = (spread *)lanes_table(l, x->axes, x->axis_count);
    point p = point_new(l);
    over_axes(&p, &n);
    l->spreads = outside;
}

static kernel_array *shared_like(lower *l, const kernel_array *own, const char *name, source_span span) {
    arena *a = l->arena;
    index_expr *dims[34];
    int rank = 0;
    dims[rank++] = l->ir->levels.at[1].extents[0];
    for (int d = 0; d < l->ir->levels.at[2].rank; d++)
        dims[rank++] = l->ir->levels.at[2].extents[d];
    for (int d = 0; d < own->rank; d++)
        dims[rank++] = own->dims[d];
    if (own->lanes > 1)
        dims[rank++] = ix_const(a, own->lanes);
    kernel_array *made = kernel_add_array(l->ir, lower_name(l, name), SPACE_SHARED, USE_LOCAL, own->element, rank, dims);
    made->span = span;
    return made;
}

/* Goes on where from <= subgroup < to. */
static kernel_block *among_subgroups(lower *l, int from, int to, source_span span) {
    arena *a = l->arena;
    index_expr *own = ix_var(a, l->ir->levels.at[1].ids[0]);
    cond *among = cond_compare(a, COND_LT, own, ix_const(a, to));
    if (from > 0)
        among = cond_and(a, cond_compare(a, COND_LE, ix_const(a, from), own), among);
    kernel_stmt *s = kernel_append(l->ir, l->block, KSTMT_IF, span);
    s->condition = among;
    return &s->body;
}

/* As a tree: the upper half of the subgroups leaves its states in shared memory, behind a barrier each of the lower half joins one of them to its own, and
 * so on with that half. The first subgroup has the whole in the end; the others keep what they had, and store nothing: no range has subgroups. A step writes other
 * cells than the last one reads. */
static void join_subgroups(lower *l, tile_variable *x, source_span span) {
    arena *a = l->arena;
    index_expr *own = ix_var(a, l->ir->levels.at[1].ids[0]);
    dealt_field *fields = NEW_ARRAY(a, dealt_field, x->field_count);
    for (int f = 0; f < x->field_count; f++) {
        kernel_array *mine = l->fields[x->id][f], **shared = &l->across[2 * l->partners[x->id][f]->id];
        if (!*shared)
            *shared = shared_like(l, mine, arena_printf(a, "%s_of_all", mine->name), span);
        fields[f] = (dealt_field){.own = mine,
                                  .shared = *shared,
                                  .other = private_array(l, arena_printf(a, "%s_other", mine->name), x->types[f],
                                                         l->field_axes[x->id][f], x->axis_counts[f], span),
                                  .axes = l->field_axes[x->id][f],
                                  .axis_count = x->axis_counts[f],
                                  .span = span};
        l->held[l->partners[x->id][f]->id] = fields[f].other;
        l->held_axes[l->partners[x->id][f]->id] = fields[f].axes;
    }
    kernel_block *outside = l->block;
    for (int half = l->machine->subgroups / 2; half >= 1; half /= 2) {
        l->block = among_subgroups(l, half, 2 * half, span);
        for (int f = 0; f < x->field_count; f++) {
            fields[f].from = own;
            each_cell(l, &fields[f], leave);
        }
        l->block = outside;
        lanes_barrier(l, 1u << SPACE_SHARED, span);
        l->block = among_subgroups(l, 0, half, span);
        for (int f = 0; f < x->field_count; f++) {
            fields[f].from = ix_add(a, own, ix_const(a, half));
            each_cell(l, &fields[f], fetch);
        }
        lower_join_values(l, x, l->partners[x->id], span);
        l->block = outside;
    }
    for (int f = 0; f < x->field_count; f++)
        l->held[l->partners[x->id][f]->id] = NULL;
}

void lanes_join_dealt(lower *l, const tile_stmt *loop) {
    for (int i = 0; i < loop->body.items.count && !l->failed; i++) {
        const tile_stmt *s = loop->body.items.at[i];
        bool again = false;
        for (int j = 0; j < i; j++)
            again = again || (loop->body.items.at[j]->kind == TILE_STMT_JOIN && loop->body.items.at[j]->variable == s->variable);
        if (s->kind == TILE_STMT_JOIN && !again)
            join_subgroups(l, s->variable, loop->span);
    }
}
