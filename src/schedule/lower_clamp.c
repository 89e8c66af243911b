/* Lowering to a sequential task: indices that max and min keep inside an array, x[max(i - 1, 0)]. An elementwise nest reads them as vectors where all lanes
 * take the same side, as it reads what may lie outside an array where all lanes are inside. */
#include "schedule/lower.h"

/* The side of a max or min that mentions v where the other does not; NULL: x is none such. */
static index_expr *moving_side(const index_expr *x, const index_var *v, index_expr **limit) {
    if (x->op != IX_MIN && x->op != IX_MAX)
        return NULL;
    const bool left = ix_mentions(x->a, v), right = ix_mentions(x->b, v);
    *limit = left ? x->b : x->a;
    return left == right ? NULL : left ? x->a : x->b;
}

bool index_is_clamped(const index_expr *x, const index_var *v) {
    index_expr *limit;
    return x && ix_mentions(x, v) && (moving_side(x, v, &limit) || index_is_clamped(x->a, v) || index_is_clamped(x->b, v));
}

index_expr *index_unclamped(arena *a, index_expr *x, const index_var *v) {
    index_expr *limit;
    if (!index_is_clamped(x, v))
        return x;
    index_expr *side = moving_side(x, v, &limit);
    return side ? index_unclamped(a, side, v) : ix_op2(a, x->op, index_unclamped(a, x->a, v), index_unclamped(a, x->b, v));
}

cond *index_clamps_open(point *p, index_expr *x, const tile_range *r, index_expr *base, int64_t lanes) {
    arena *a = p->l->arena;
    index_expr *limit, *rest;
    int64_t coefficient;
    if (!index_is_clamped(x, r->var))
        return NULL;
    index_expr *side = moving_side(x, r->var, &limit);
    if (!side)
        return cond_and(a, index_clamps_open(p, x->a, r, base, lanes), index_clamps_open(p, x->b, r, base, lanes));
    cond *all = index_clamps_open(p, side, r, base, lanes);
    if (!ix_coefficient(a, index_unclamped(a, side, r->var), r->var, &coefficient, &rest))
        return all; /* such an index is not put along lanes */
    /* Of what is affine, the lane nearest to the limit tells of all. */
    index_expr *nearest = ix_add(a, base, ix_const(a, (coefficient > 0) == (x->op == IX_MIN) ? lanes - 1 : 0)),
               *end = emit_index(p, limit);
    index_expr *at =
        ix_add(a, ix_mul(a, ix_add(a, p->l->place[r->id].start, nearest), ix_const(a, coefficient)), emit_index(p, rest));
    return cond_and(a, all, x->op == IX_MAX ? cond_compare(a, COND_LE, end, at) : cond_compare(a, COND_LE, at, end));
}
