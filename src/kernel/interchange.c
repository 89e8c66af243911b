/* Loops of a block's threads around the threads' own loops, where neighbouring threads then stand at neighbouring cells: a compiler makes vectors of them.
 * What threads do between two barriers may come in any order, since no two of them meet in a cell; each thread's own order stays. */
#include "kernel/serialise.h"

/* UNROLLED: a loop of so few trips compilers unroll, and make vectors of the loop over threads around it, sums staying in registers. */
enum { MOST_NESTING = 100, FEWEST_THREADS = 4, UNROLLED = 16 };

typedef struct survey {
    arena *arena;
    const index_var *lane; /* the innermost id of threads */
    int rows, apart;       /* accesses whose cells lie side by side for neighbouring threads; those that lie elsewhere */
} survey;

/* With the integers that lets only name; they are computed again wherever they are wanted. */
static index_expr *written_out(arena *a, index_expr *x, int nesting) {
    if (x->op == IX_CONST || nesting > MOST_NESTING)
        return x;
    if (x->op == IX_VAR) {
        const kernel_stmt *let = x->var->kind == INDEX_VALUE ? x->var->owner : NULL;
        bool named = let && let->kind == KSTMT_LET && let->value->op == KERNEL_INDEX;
        return named ? written_out(a, let->value->index, nesting + 1) : x;
    }
    return ix_op2(a, x->op, written_out(a, x->a, nesting + 1), written_out(a, x->b, nesting + 1));
}

static void survey_access(void *context, kernel_access *access, bool is_write) {
    survey *s = context;
    const kernel_array *array = access->array;
    (void)is_write;
    if (array->space == SPACE_REGISTER || array->space == SPACE_PRIVATE || !array->rank) /* the thread's own */
        return;
    bool known = array->layout.kind == LAYOUT_ROW && access->lanes == 1, side = false;
    for (int d = 0; d < array->rank && known; d++) {
        int64_t by;
        index_expr *rest;
        known = ix_coefficient(s->arena, written_out(s->arena, access->indices[d], 0), s->lane, &by, &rest) &&
                !ix_mentions(rest, s->lane) && (by == 0 || (by == 1 && d == array->rank - 1));
        side = side || (known && by == 1);
    }
    s->apart += !known;
    s->rows += side;
}

static bool survey_block(survey *s, const kernel_block *b, bool own, int nesting) {
    kernel_visitor visitor = {.context = s, .access = survey_access};
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *x = b->items.at[i];
        if (x->kind == KSTMT_LOOP || (x->kind == KSTMT_BREAK && own) || nesting > MOST_NESTING)
            return false;
        kernel_visit_stmt(x, &visitor);
        bool within = own && x->kind != KSTMT_FOR;
        if (!survey_block(s, &x->body, within, nesting + 1) || !survey_block(s, &x->otherwise, within, nesting + 1))
            return false;
    }
    return true;
}

/* Over launch values, tasks and loops alone. */
static bool is_uniform(const index_expr *x, int count, index_var *const *ids, int nesting) {
    if (x->op == IX_CONST)
        return true;
    if (nesting > MOST_NESTING)
        return false;
    if (x->op != IX_VAR)
        return is_uniform(x->a, count, ids, nesting + 1) && is_uniform(x->b, count, ids, nesting + 1);
    for (int i = 0; i < count; i++)
        if (x->var == ids[i])
            return false;
    return x->var->kind != INDEX_VALUE;
}

static bool plain_lets(const kernel_block *b, int nesting) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *x = b->items.at[i];
        const kernel_value *v = x->kind == KSTMT_LET ? x->value : NULL;
        if (nesting > MOST_NESTING || (v && (v->lanes != 1 || (v->type == ELEMENT_INDEX && v->op != KERNEL_INDEX))))
            return false;
        if (!plain_lets(&x->body, nesting + 1) || !plain_lets(&x->otherwise, nesting + 1))
            return false;
    }
    return true;
}

bool kernel_may_interchange(const kernel_ir *k) {
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        bool own = a->space == SPACE_REGISTER || a->space == SPACE_PRIVATE;
        if (own && (a->lanes > 1 || a->view_of || a->layout.kind != LAYOUT_ROW))
            return false;
    }
    return plain_lets(&k->body, 0);
}

static bool no(const char **why, const char *because) {
    *why = because;
    return false;
}

bool kernel_interchange(kernel_ir *k, kernel_stmt *loop, int count, index_var *const *ids, index_expr *const *extents,
                        const char **why) {
    arena *a = k->arena;
    int64_t threads, step;
    *why = NULL;
    if (loop->kind != KSTMT_FOR)
        return false;
    if (!count || !ix_is_const(extents[count - 1], &threads) || threads < FEWEST_THREADS)
        return no(why, "the block's rows have fewer than 4 threads");
    if (loop->unroll || !ix_is_const(loop->step, &step) || step < 1)
        return no(why, "it is unrolled, or its step is no number");
    index_expr *lo = written_out(a, loop->lo, 0), *hi = written_out(a, loop->hi, 0), *least = lo;
    if (!is_uniform(hi, count, ids, 0))
        return no(why, "it does not end alike for all threads");
    for (int i = 0; i < count; i++) {
        int64_t by;
        index_expr *rest;
        if (!ix_coefficient(a, least, ids[i], &by, &rest) || by < 0 || ix_mentions(rest, ids[i]))
            return no(why, "where it begins is no sum of multiples of the threads' ids");
        least = rest;
    }
    if (!is_uniform(least, count, ids, 0))
        return no(why, "where it begins is data");
    bool same = is_uniform(lo, count, ids, 0);
    int64_t from, to;
    if (same && ix_is_const(least, &from) && ix_is_const(hi, &to) && to - from <= UNROLLED * step)
        return no(why, "it has at most 16 trips, which compilers unroll");
    index_var *counter = loop->var;
    survey s = {.arena = a, .lane = ids[count - 1]};
    kernel_stmt stand_in = {.kind = KSTMT_LET};
    kernel_value begins = {.op = KERNEL_INDEX, .type = ELEMENT_INDEX, .lanes = 1, .index = lo};
    index_var_kind kind = counter->kind;
    kernel_stmt *owner = counter->owner;
    if (!same) { /* what neighbouring threads access in one trip */
        stand_in.value = &begins;
        counter->kind = INDEX_VALUE;
        counter->owner = &stand_in;
    }
    bool looked = survey_block(&s, &loop->body, true, 0), good = looked && s.rows && !s.apart;
    counter->kind = kind;
    counter->owner = owner;
    if (!good)
        return no(why, !looked   ? "it holds a loop without a count, or a way out of itself"
                       : s.apart ? "neighbouring threads access cells that lie apart"
                                 : "neighbouring threads access the same cells");
    if (same)
        return true;
    /* trips are counted from the first thread's; the others' end earlier or not at all */
    index_var *trip = kernel_new_var(k, "trip", INDEX_LOOP);
    kernel_block whole = {0};
    kernel_value *place = kernel_index(k, ix_add(a, lo, ix_mul(a, ix_const(a, step), ix_var(a, trip))));
    kernel_stmt *let = kernel_append(k, &whole, KSTMT_LET, loop->span);
    let->name = counter->name;
    let->value = place;
    let->var = counter;
    counter->kind = INDEX_VALUE;
    counter->owner = let;
    counter->lo = counter->hi = NULL;
    kernel_stmt *guard = kernel_append(k, &whole, KSTMT_IF, loop->span);
    guard->condition = cond_compare(a, COND_LT, ix_var(a, counter), hi);
    guard->body = loop->body;
    loop->body = whole;
    loop->var = trip;
    trip->owner = loop;
    trip->span = loop->span;
    loop->lo = trip->lo = ix_const(a, 0);
    loop->hi = ix_ceildiv(a, ix_max(a, ix_const(a, 0), ix_sub(a, hi, least)), ix_const(a, step));
    trip->hi = ix_sub(a, loop->hi, ix_const(a, 1));
    loop->step = ix_const(a, 1);
    return true;
}
