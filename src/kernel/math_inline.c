/* exp, log, .. of a kernel written out as what math.c says they are: for the simulator, whose own come from the C library, where results must be those of a
 * printed text to the bit. */
#include "kernel/math.h"

enum { MOST_NESTING = 200 };

static void inline_block(kernel_ir *k, kernel_block *b, int nesting);
static void inline_here(kernel_ir *k, kernel_value *v, int nesting);

static void append_let(kernel_ir *k, kernel_block *b, kernel_stmt *let) {
    if (let->var)
        let->var->id = k->var_count++;
    VEC_PUSH(k->arena, b->items, let);
}

/* Operands first; what a function consists of goes in front of the statement. */
static void inline_value(kernel_ir *k, kernel_block *before, kernel_value *v, int nesting) {
    math_function f;
    if (nesting > MOST_NESTING)
        return;
    for (int i = 0; i < v->operand_count; i++)
        inline_value(k, before, v->operands[i], nesting + 1);
    if (!math_describe(k->arena, v->op, v->lanes, &f))
        return;
    f.argument->value = v->operands[0];
    append_let(k, before, f.argument);
    inline_block(k, f.body, nesting + 1); /* tanh and erf use exp */
    for (int i = 0; i < f.body->items.count; i++)
        append_let(k, before, f.body->items.at[i]);
    *v = *f.result;
}

/* Lets of these are known: a reference becomes what it stands for. Nodes are shared, so that nothing grows. */
static void without_lets(kernel_value *v, int nesting) {
    if (nesting > MOST_NESTING)
        return;
    if (v->op == KERNEL_REF) {
        *v = *v->let->value;
        return;
    }
    for (int i = 0; i < v->operand_count; i++)
        without_lets(v->operands[i], nesting + 1);
}

/* Where no statement can stand in front: a map's value is made once for each element. */
static void inline_here(kernel_ir *k, kernel_value *v, int nesting) {
    math_function f;
    if (nesting > MOST_NESTING)
        return;
    for (int i = 0; i < v->operand_count; i++)
        inline_here(k, v->operands[i], nesting + 1);
    if (!math_describe(k->arena, v->op, v->lanes, &f))
        return;
    f.argument->value = v->operands[0];
    for (int i = 0; i < f.body->items.count; i++) {
        kernel_value *of = f.body->items.at[i]->value;
        inline_here(k, of, nesting + 1);
        without_lets(of, 0);
    }
    without_lets(f.result, 0);
    *v = *f.result;
}

static void inline_block(kernel_ir *k, kernel_block *b, int nesting) {
    kernel_block old = *b;
    *b = (kernel_block){0};
    for (int i = 0; i < old.items.count && nesting < MOST_NESTING; i++) {
        kernel_stmt *s = old.items.at[i];
        kernel_value *values[KERNEL_STMT_VALUES];
        if (s->value && s->kind == KSTMT_FRAGMENT_MAP)
            inline_here(k, s->value, 0);
        else
            for (int n = 0, all = kernel_stmt_values(s, values); n < all; n++)
                inline_value(k, b, values[n], 0);
        VEC_PUSH(k->arena, b->items, s);
        inline_block(k, &s->body, nesting + 1);
        inline_block(k, &s->otherwise, nesting + 1);
    }
}

void kernel_inline_math(kernel_ir *k) {
    inline_block(k, &k->body, 0);
    kernel_settle_names(k);
}
