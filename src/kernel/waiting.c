/* Loops that another thread must end: what an atomic gives, followed to the loop's ways out. */
#include "kernel/exchange.h"

enum { MOST_NESTING = 100, MOST_ROUNDS = 8 };

typedef struct taint {
    const kernel_stmt *atomic;
    bool *arrays; /* by id: the thread's own memory that holds what the atomic gave, or what was chosen by it */
    VEC(const kernel_stmt *) lets;
    arena *arena;
    bool grew, hit;
} taint;

static bool is_tainted_let(const taint *t, const kernel_stmt *s) {
    for (int i = 0; i < t->lets.count; i++)
        if (t->lets.at[i] == s)
            return true;
    return s == t->atomic;
}

static bool index_hit(const taint *t, const index_expr *x, int nesting) {
    if (!x || x->op == IX_CONST || nesting > 2 * MOST_NESTING)
        return nesting > 2 * MOST_NESTING;
    if (x->op == IX_VAR)
        return x->var->kind == INDEX_VALUE && x->var->owner && is_tainted_let(t, x->var->owner);
    return index_hit(t, x->a, nesting + 1) || index_hit(t, x->b, nesting + 1);
}

static bool condition_hit(const taint *t, const cond *c, int nesting) {
    if (!c || nesting > MOST_NESTING)
        return nesting > MOST_NESTING;
    return index_hit(t, c->x, 0) || index_hit(t, c->y, 0) || condition_hit(t, c->a, nesting + 1) ||
           condition_hit(t, c->b, nesting + 1);
}

static bool value_hit(const taint *t, const kernel_value *v, int nesting) {
    if (!v || nesting > 2 * MOST_NESTING)
        return nesting > 2 * MOST_NESTING;
    if ((v->op == KERNEL_REF && is_tainted_let(t, v->let)) || (v->op == KERNEL_LOAD && t->arrays[v->access.array->id]) ||
        index_hit(t, v->index, 0))
        return true;
    for (int d = 0; v->op == KERNEL_LOAD && d < v->access.array->rank; d++)
        if (index_hit(t, v->access.indices[d], 0))
            return true;
    for (int i = 0; i < v->operand_count; i++)
        if (value_hit(t, v->operands[i], nesting + 1))
            return true;
    return false;
}

/* Follows what the atomic gave through the block; `under`: below a choice by it. */
static void follow(taint *t, const kernel_block *b, bool under, int nesting) {
    for (int i = 0; i < b->items.count && nesting < MOST_NESTING; i++) {
        const kernel_stmt *s = b->items.at[i];
        bool here = under || value_hit(t, s->value, 0) || condition_hit(t, s->condition, 0);
        if (s->kind == KSTMT_LET && here && !is_tainted_let(t, s)) {
            VEC_PUSH(t->arena, t->lets, s);
            t->grew = true;
        }
        if (s->kind == KSTMT_STORE && here && !t->arrays[s->access.array->id])
            t->arrays[s->access.array->id] = t->grew = true;
        if (s->kind == KSTMT_BREAK && here)
            t->hit = true;
        bool choice = s->kind == KSTMT_IF || s->kind == KSTMT_IF_VALUE;
        follow(t, &s->body, choice ? here : under, nesting + 1);
        follow(t, &s->otherwise, choice ? here : under, nesting + 1);
    }
}

/* Whether what the atomic gives decides a way out of the loop. */
static bool decides(const kernel_stmt *loop, const kernel_stmt *atomic, int arrays, arena *a) {
    taint t = {.atomic = atomic, .arena = a, .arrays = NEW_ARRAY(a, bool, arrays + 1)};
    for (int round = 0; round < MOST_ROUNDS; round++) {
        t.grew = false;
        follow(&t, &loop->body, false, 0);
        if (t.hit || !t.grew)
            return t.hit;
    }
    return true;
}

/* A trip that goes round again has changed something itself: a sum that grows. */
static bool moves_on(const kernel_stmt *s) {
    return s->combine == KERNEL_ADD && s->value->op == KERNEL_CONST && s->value->number != 0;
}

static const kernel_stmt *waits_in(const kernel_stmt *loop, const kernel_block *b, int arrays, arena *a, int nesting) {
    for (int i = 0; i < b->items.count && nesting < MOST_NESTING; i++) {
        const kernel_stmt *s = b->items.at[i], *inside;
        if (s->kind == KSTMT_ATOMIC && s->name && !moves_on(s) && decides(loop, s, arrays, a))
            return s;
        inside = waits_in(loop, &s->body, arrays, a, nesting + 1);
        if (!inside)
            inside = waits_in(loop, &s->otherwise, arrays, a, nesting + 1);
        if (inside)
            return inside;
    }
    return NULL;
}

const kernel_stmt *kernel_waits_for(const kernel_stmt *loop, int arrays, arena *a) {
    kernel_update_loop update;
    return loop->kind != KSTMT_LOOP || kernel_is_update_loop(loop, &update) ? NULL : waits_in(loop, &loop->body, arrays, a, 0);
}
