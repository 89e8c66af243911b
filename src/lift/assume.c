/* What the source assumes (__builtin_assume, llvm.assume) of launch values, where every thread comes by: conditions of the launch, checked where one is made. Other
 * assumptions are not taken: nothing would check them. */
#include "lift/lifter.h"

static bool of_launch(const index_expr *x) {
    if (x->op == IX_CONST)
        return true;
    return x->op == IX_VAR ? x->var->kind == INDEX_SYMBOL || x->var->kind == INDEX_SCALAR : of_launch(x->a) && of_launch(x->b);
}

static bool condition_of_launch(const cond *c) {
    switch (c->op) {
    case COND_TRUE: return true;
    case COND_NOT: return condition_of_launch(c->a);
    case COND_AND:
    case COND_OR: return condition_of_launch(c->a) && condition_of_launch(c->b);
    default: return of_launch(c->x) && of_launch(c->y);
    }
}

void lift_assume(lifter *l, const lift_value *v) {
    if (l->at != &l->k->body || l->loop || !v->operand_count)
        return;
    lifted c = lift_operand(l, v->operands[0]);
    int64_t n;
    if (lift_stopped(l) || c.kind != LIFTED_CONDITION || lift_is_number(&c, &n) || !condition_of_launch(c.c))
        return;
    VEC_PUSH(l->arena, l->k->assumptions, c.c);
    text_buffer text = {0};
    cond_print(&text, c.c);
    VEC_PUSH(l->arena, l->out->assumed, arena_printf(l->arena, "%s: the source says so", text_get(&text)));
    text_free(&text);
}
