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

/* A scalar that equals a number is that number from here on. */
static void bind(lifter *l, const cond *c) {
    if (c->op == COND_AND) {
        bind(l, c->a);
        bind(l, c->b);
    }
    if (c->op != COND_EQ)
        return;
    bool first = c->x->op == IX_VAR;
    const index_expr *var = first ? c->x : c->y, *number = first ? c->y : c->x;
    for (int i = 0; var->op == IX_VAR && number->op == IX_CONST && i < l->function->arguments.count; i++) {
        const lift_value *argument = l->function->arguments.at[i];
        lifted *now = &l->env[argument->id];
        if (now->kind == LIFTED_INDEX && now->x->op == IX_VAR && now->x->var == var->var)
            *now = lifted_number(l, now->bits, number->value);
    }
}

static void holds(lifter *l, const lift_value *v);

/* Not 0: neither is what it is the bits in common of. */
static void is_set(lifter *l, const lift_value *v) {
    if (v->kind == LIFT_INSTRUCTION && v->op == LIFT_ZEXT && v->operands[0]->type->bits == 1) {
        holds(l, v->operands[0]);
    } else if (v->kind == LIFT_INSTRUCTION && v->op == LIFT_AND) {
        is_set(l, v->operands[0]);
        is_set(l, v->operands[1]);
    }
}

static void holds(lifter *l, const lift_value *v) {
    bool computed = v->kind == LIFT_INSTRUCTION, compares = computed && v->op == LIFT_ICMP && v->predicate == LIFT_NE;
    if (compares && v->operands[1]->kind == LIFT_CONSTANT_INTEGER && !v->operands[1]->number)
        is_set(l, v->operands[0]);
    if (computed && v->op == LIFT_AND) {
        holds(l, v->operands[0]);
        holds(l, v->operands[1]);
        return;
    }
    lifted c = lift_operand(l, v);
    int64_t n;
    if (lift_stopped(l) || c.kind != LIFTED_CONDITION || lift_is_number(&c, &n) || !condition_of_launch(c.c))
        return;
    VEC_PUSH(l->arena, l->k->assumptions, c.c);
    text_buffer text = {0};
    cond_print(&text, c.c);
    VEC_PUSH(l->arena, l->out->assumed, arena_printf(l->arena, "%s: the source says so", text_get(&text)));
    text_free(&text);
    bind(l, c.c);
}

void lift_assume(lifter *l, const lift_value *v) {
    if (l->at == &l->k->body && !l->loop && v->operand_count)
        holds(l, v->operands[0]);
}
