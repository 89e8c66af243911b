/* How far the loop that a split parts goes: chunks are made of what a launch has, not of what its arrays could hold. */
#include "tile/split.h"

static bool of_launch(const index_expr *x) {
    if (!x)
        return true;
    if (x->op == IX_VAR)
        return x->var->kind == INDEX_SYMBOL || x->var->kind == INDEX_STATIC || x->var->kind == INDEX_SCALAR;
    return of_launch(x->a) && of_launch(x->b);
}

static bool never_negative(const index_expr *x) {
    int64_t value;
    if (ix_is_const(x, &value))
        return value >= 0;
    if (x->op == IX_VAR)
        return x->var->kind == INDEX_SYMBOL || (x->var->lo && never_negative(x->var->lo));
    return (x->op == IX_ADD || x->op == IX_MUL || x->op == IX_MIN) && never_negative(x->a) && never_negative(x->b);
}

/* Lowers *end to what the condition says of the range: r < x, r <= x, for an x of the launch. */
static void bound_by(arena *a, const cond *c, const index_var *r, index_expr **end) {
    if (!c)
        return;
    if (c->op == COND_AND) {
        bound_by(a, c->a, r, end);
        bound_by(a, c->b, r, end);
    }
    if ((c->op != COND_LT && c->op != COND_LE) || c->x->op != IX_VAR || c->x->var != r || !of_launch(c->y))
        return;
    *end = ix_min(a, *end, c->op == COND_LT ? c->y : ix_add(a, c->y, ix_const(a, 1)));
}

index_expr *split_reach(arena *a, const tile_stmt *loop) {
    index_expr *end = loop->range->extent;
    bound_by(a, loop->predicate, loop->range->var, &end);
    return never_negative(end) ? end : ix_max(a, ix_const(a, 0), end);
}
