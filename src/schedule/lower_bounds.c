/* Lowering: what a loop's predicate says of its bounds, and what is seen of an expression from its form. */
#include "schedule/lower.h"

void predicate_atoms(lower *l, atom_list *out, cond *c) {
    arena *a = l->arena;
    atom t = {NULL, NULL};
    switch (c->op) {
    case COND_TRUE: return;
    case COND_AND:
        predicate_atoms(l, out, c->a);
        predicate_atoms(l, out, c->b);
        return;
    case COND_LE:
    case COND_LT:
        t.x = ix_sub(a, c->x, c->y);
        if (c->op == COND_LT)
            t.x = ix_add(a, t.x, ix_const(a, 1));
        break;
    case COND_EQ:
        t.x = ix_sub(a, c->x, c->y);
        VEC_PUSH(a, *out, t);
        t.x = ix_sub(a, c->y, c->x);
        break;
    default: t.guard = c; break;
    }
    VEC_PUSH(a, *out, t);
}

bool relax_atom(lower *l, index_expr **x, const tile_range *r, bool *exact) {
    arena *a = l->arena;
    *exact = true;
    for (int i = 0; i < l->k->ranges.count; i++) {
        const tile_range *q = l->k->ranges.at[i];
        if (q == r || !ix_mentions(*x, q->var))
            continue;
        const range_place *place = &l->place[i];
        int64_t coefficient;
        index_expr *rest;
        if (!place->entered || !ix_coefficient(a, *x, q->var, &coefficient, &rest))
            return false;
        index_expr *at = place->start;
        if (place->capacity != 1) {
            *exact = false;
            /* The last element a tile can have, ragged or not: simpler to reason about, and the dimension's end still bounds the loop. */
            if (coefficient < 0)
                at = ix_add(a, at, ix_sub(a, place->capacity >= 0 ? ix_const(a, place->capacity) : place->count, ix_const(a, 1)));
        }
        *x = ix_add(a, ix_mul(a, ix_const(a, coefficient), at), rest);
    }
    return true;
}

bool is_multiple(const index_expr *x, const index_expr *of) {
    int64_t d, value;
    if (!ix_is_const(of, &d) || d < 1)
        return false;
    if (ix_is_const(x, &value))
        return value % d == 0;
    switch (x->op) {
    case IX_ADD:
    case IX_SUB:
    case IX_MIN:
    case IX_MAX: return is_multiple(x->a, of) && is_multiple(x->b, of);
    case IX_MUL: return is_multiple(x->a, of) || is_multiple(x->b, of);
    default: return false;
    }
}

bool is_never_negative(const lower *l, const index_expr *x) {
    int64_t value;
    if (ix_is_const(x, &value))
        return value >= 0;
    if (x->op == IX_VAR && x->var->kind == INDEX_SCALAR)
        return x->var->lo && ix_is_const(x->var->lo, &value) && value >= 0;
    if (x->op == IX_VAR)
        for (int d = 0; d < l->ir->levels.at[0].rank; d++)
            if (l->ir->levels.at[0].ids[d] == x->var)
                return true;
    return (x->op == IX_ADD || x->op == IX_MUL) && is_never_negative(l, x->a) && is_never_negative(l, x->b);
}
