/* How many commits or arrivals a thread has made when it comes to a place: an integer expression over what stands around the place. */
#include "prove/model.h"
#include <string.h>

bool counted_is(const counted *c, const kernel_stmt *s) {
    if (s->kind != c->kind)
        return false;
    return c->kind == KSTMT_COMMIT ? s->matrix == c->matrix : !strcmp(s->name, c->name);
}

/* Whether a thread takes the same branch each time it comes by. */
static bool fixed_in_thread(const index_expr *x) {
    return !x || (x->op == IX_VAR ? x->var->has_value || x->var->kind == INDEX_ID || x->var->kind == INDEX_SYMBOL
                                  : fixed_in_thread(x->a) && fixed_in_thread(x->b));
}
static bool is_fixed_in_thread(const cond *c) {
    return !c || (fixed_in_thread(c->x) && fixed_in_thread(c->y) && is_fixed_in_thread(c->a) && is_fixed_in_thread(c->b));
}

static bool lies_in(const region *at, const region *outer) {
    while (at && at != outer)
        at = at->parent;
    return at;
}

/* Of threads that come to `at`. */
static index_expr *count_in(model *m, const region *r, const counted *c, const region *at) {
    arena *a = m->arena;
    index_expr *all = ix_const(a, 0);
    if (!r->syncs)
        return all;
    switch (r->kind) {
    case REGION_STEP: return ix_const(a, counted_is(c, r->stmt));
    case REGION_SEQUENCE:
        for (int i = 0; i < r->children.count; i++) {
            index_expr *x = count_in(m, r->children.at[i], c, at);
            if (!x)
                return NULL;
            all = ix_add(a, all, x);
        }
        return all;
    case REGION_LOOP: {
        index_expr *each = count_in(m, r->children.at[0], c, at);
        int64_t none;
        if (each && ix_is_const(each, &none) && none == 0)
            return each;
        const scope *s = r->scope;
        if (!each || s->kind != SCOPE_LOOP || s->may_stop || ix_mentions(each, s->var))
            return NULL;
        index_expr *trips = ix_max(a, ix_const(a, 0), ix_ceildiv(a, ix_sub(a, s->stmt->hi, s->stmt->lo), s->stmt->step));
        return ix_mul(a, each, trips);
    }
    case REGION_VALUE: return count_in(m, r->children.at[0], c, at);
    case REGION_CHOICE:
    case REGION_MAYBE: {
        for (int i = 0; i < 2 && r->stmt->kind == KSTMT_IF && is_fixed_in_thread(r->stmt->condition); i++)
            if (lies_in(at, r->children.at[i]))
                return count_in(m, r->children.at[i], c, at);
        index_expr *first = count_in(m, r->children.at[0], c, at), *second = first ? count_in(m, r->children.at[1], c, at) : NULL;
        return second && ix_equal(first, second) ? first : NULL;
    }
    }
    return NULL;
}

index_expr *count_before(model *m, const region *at, const region *base, const counted *c) {
    arena *a = m->arena;
    index_expr *all = ix_const(a, 0);
    for (const region *r = at; r != base; r = r->parent) {
        const region *outer = r->parent;
        if (!outer)
            return NULL;
        for (int i = 0; outer->kind == REGION_SEQUENCE && i < r->index; i++) {
            index_expr *x = count_in(m, outer->children.at[i], c, at);
            if (!x)
                return NULL;
            all = ix_add(a, all, x);
        }
        if (outer->kind == REGION_LOOP && !outer->tasks && !outer->threads) {
            index_expr *each = count_in(m, r, c, at);
            int64_t none;
            if (!each)
                return NULL;
            if (ix_is_const(each, &none) && none == 0)
                continue;
            const scope *s = outer->scope;
            if (s->kind != SCOPE_LOOP || ix_mentions(each, s->var))
                return NULL;
            index_expr *trip = ix_floordiv(a, ix_sub(a, ix_var(a, s->var), s->stmt->lo), s->stmt->step);
            all = ix_add(a, all, ix_mul(a, each, trip));
        }
    }
    return all;
}

/* A role's threads, and the tasks of a block one by one, count for themselves. */
const region *count_base(const region *x, const region *y) {
    const region *both = x;
    for (; both; both = both->parent) {
        const region *r = y;
        while (r && r != both)
            r = r->parent;
        if (r)
            break;
    }
    for (; both && both->parent; both = both->parent) {
        bool role =
            both->kind == REGION_SEQUENCE && both->parent->kind == REGION_CHOICE && both->parent->stmt->kind == KSTMT_ROLE;
        if (role || both->trips || both->parent->threads || both->parent->tasks)
            break;
    }
    return both;
}
