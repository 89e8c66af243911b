/* Comparisons of integers, what is not so, and choices between values. */
#include "kernel/exchange.h"
#include "lift/integer.h"

/* ---- comparisons and choices ---- */

lifted lift_not(lifter *l, lifted c) {
    if (c.kind != LIFTED_CONDITION)
        return lifted_value(1, kernel_op1(l->k, KERNEL_NOT, ELEMENT_BOOL, lift_as_value(l, c)));
    arena *a = l->arena;
    switch (c.c->op) {
    case COND_LT: return lifted_condition(cond_compare(a, COND_LE, c.c->y, c.c->x));
    case COND_LE: return lifted_condition(cond_compare(a, COND_LT, c.c->y, c.c->x));
    case COND_EQ: return lifted_condition(cond_compare(a, COND_NE, c.c->x, c.c->y));
    case COND_NE: return lifted_condition(cond_compare(a, COND_EQ, c.c->x, c.c->y));
    case COND_NOT: return lifted_condition(c.c->a);
    default: return lifted_condition(cond_not(a, c.c));
    }
}

static lifted folded(lifter *l, cond_op op, index_expr *x, index_expr *y) {
    lift_range a = lift_range_of(l, x), b = lift_range_of(l, y);
    int known = -1;
    if (op == COND_LT)
        known = a.hi < b.lo ? 1 : a.lo >= b.hi ? 0 : -1;
    else if (op == COND_LE)
        known = a.hi <= b.lo ? 1 : a.lo > b.hi ? 0 : -1;
    else if (a.lo == a.hi && b.lo == b.hi)
        known = (a.lo == b.lo) == (op == COND_EQ);
    else if (a.hi < b.lo || a.lo > b.hi)
        known = op == COND_NE;
    else if (ix_equal(x, y))
        known = op == COND_EQ;
    if (known >= 0 && ix_is_const(x, NULL) && ix_is_const(y, NULL))
        return lifted_number(l, 1, known);
    return lifted_condition(cond_compare(l->arena, op, x, y));
}

/* x < y (or <=) of integers whose signed values are these, compared as unsigned, where y (or x) is not negative. */
static bool unsigned_by_signed(lifter *l, cond_op op, lifted x, lifted y, lifted *out) {
    arena *a = l->arena;
    lift_range s = lift_type_range(x.bits, true), rx = lift_range_of(l, x.x), ry = lift_range_of(l, y.x);
    if (!lift_inside(rx, s) || !lift_inside(ry, s) || (rx.lo < 0 && ry.lo < 0))
        return false;
    cond *c = cond_compare(a, op, x.x, y.x);
    if (rx.lo < 0) /* a negative x is larger than any y */
        c = cond_and(a, cond_compare(a, COND_LE, ix_const(a, 0), x.x), c);
    else if (ry.lo < 0)
        c = cond_or(a, cond_compare(a, COND_LT, y.x, ix_const(a, 0)), c);
    *out = lifted_condition(c);
    return true;
}

static lifted compare_values(lifter *l, lift_predicate p, lifted x, lifted y) {
    kernel_value *a = lift_as_value(l, x), *b = lift_as_value(l, y);
    bool is_unsigned = p >= LIFT_UGT && p <= LIFT_ULE, swap = p == LIFT_UGT || p == LIFT_UGE || p == LIFT_SGT || p == LIFT_SGE;
    bool strict = p == LIFT_UGT || p == LIFT_ULT || p == LIFT_SGT || p == LIFT_SLT;
    kernel_op op = p == LIFT_EQ ? KERNEL_EQ : p == LIFT_NE ? KERNEL_NE : strict ? KERNEL_LT : KERNEL_LE;
    if (x.bits == 1) {
        if (op == KERNEL_LT || op == KERNEL_LE)
            lift_fail(l, "E1126", l->now, "truth values are compared by size");
        return lifted_value(1, kernel_op2(l->k, op, ELEMENT_BOOL, a, b));
    }
    if (is_unsigned && x.bits == 32) {
        a = kernel_op1(l->k, KERNEL_BITCAST, ELEMENT_U32, a);
        b = kernel_op1(l->k, KERNEL_BITCAST, ELEMENT_U32, b);
    } else if (is_unsigned && x.bits == 64) {
        a = kernel_index(l->k, lift_exact(l, x, false));
        b = kernel_index(l->k, lift_exact(l, y, false));
    } else if (!is_unsigned && x.bits < 32 && op != KERNEL_EQ && op != KERNEL_NE) {
        a = lift_as_value(l, lift_extend(l, l->now, LIFT_SEXT, x, x.bits, 32));
        b = lift_as_value(l, lift_extend(l, l->now, LIFT_SEXT, y, x.bits, 32));
    }
    return lifted_value(1, kernel_op2(l->k, op, ELEMENT_BOOL, swap ? b : a, swap ? a : b));
}

lifted lift_compare(lifter *l, const lift_value *v, lift_predicate p, lifted x, lifted y, int bits) {
    (void)v;
    x.bits = y.bits = bits;
    if (x.kind != LIFTED_INDEX || y.kind != LIFTED_INDEX)
        return compare_values(l, p, x, y);
    bool is_unsigned = p >= LIFT_UGT && p <= LIFT_ULE, swap = p == LIFT_UGT || p == LIFT_UGE || p == LIFT_SGT || p == LIFT_SGE;
    bool strict = p == LIFT_UGT || p == LIFT_ULT || p == LIFT_SGT || p == LIFT_SLT, equality = p == LIFT_EQ || p == LIFT_NE;
    if (swap) {
        lifted t = x;
        x = y;
        y = t;
    }
    lifted r;
    cond_op op = p == LIFT_EQ ? COND_EQ : p == LIFT_NE ? COND_NE : strict ? COND_LT : COND_LE;
    if (is_unsigned && unsigned_by_signed(l, op, x, y, &r))
        return r;
    if (equality) /* equal modulo 2^bits: both within one range */
        is_unsigned = lift_inside(lift_range_of(l, x.x), lift_type_range(bits, false)) &&
                      lift_inside(lift_range_of(l, y.x), lift_type_range(bits, false));
    index_expr *a = lift_exact(l, x, !is_unsigned), *b = lift_exact(l, y, !is_unsigned);
    return folded(l, op, a, b);
}

enum { MOST_CHOICES = 8 };

/* Whether v is one of several constants, which of them being said by conditions that no data decides. */
static bool is_choice(lifter *l, const lift_value *v, int nesting) {
    if (v->kind == LIFT_CONSTANT_INTEGER)
        return nesting > 0;
    if (v->kind != LIFT_INSTRUCTION || v->op != LIFT_SELECT || nesting == MOST_CHOICES ||
        v->operands[0]->type->kind == LIFT_VECTOR)
        return false;
    return lift_operand(l, v->operands[0]).kind == LIFTED_CONDITION && is_choice(l, v->operands[1], nesting + 1) &&
           is_choice(l, v->operands[2], nesting + 1);
}

static lifted compare_choice(lifter *l, const lift_value *v, const lift_value *x, lifted y) {
    if (x->op != LIFT_SELECT || x->kind != LIFT_INSTRUCTION)
        return lift_compare(l, v, v->predicate, lift_operand(l, x), y, x->type->bits);
    lifted a = compare_choice(l, v, x->operands[1], y), b = compare_choice(l, v, x->operands[2], y);
    return lift_select(l, lift_operand(l, x->operands[0]), a, b, v->type);
}

/* The truth that an integer of 0 or 1 stands for: what C makes of `a == 1 | b == 2`. False: it is none, or data decides it. */
static bool truth_of(lifter *l, const lift_value *v, lifted *out, int nesting) {
    if (v->kind == LIFT_CONSTANT_INTEGER && (v->number == 0 || v->number == 1)) {
        *out = lifted_number(l, 1, v->number);
        return true;
    }
    if (v->kind != LIFT_INSTRUCTION || nesting == MOST_CHOICES || v->operand_count < 1 ||
        v->operands[0]->type->kind != LIFT_INTEGER)
        return false;
    if (v->op == LIFT_ZEXT && v->operands[0]->type->bits == 1) {
        *out = lift_operand(l, v->operands[0]);
        return out->kind == LIFTED_CONDITION;
    }
    if (v->op == LIFT_ZEXT)
        return truth_of(l, v->operands[0], out, nesting + 1);
    lifted x, y;
    if ((v->op != LIFT_OR && v->op != LIFT_AND) || v->type->bits == 1 || !truth_of(l, v->operands[0], &x, nesting + 1) ||
        !truth_of(l, v->operands[1], &y, nesting + 1))
        return false;
    *out = lift_bitwise(l, v->op, x, y);
    return out->kind == LIFTED_CONDITION;
}

bool lift_compare_chosen(lifter *l, const lift_value *v, lifted y, lifted *out) {
    int64_t n;
    lifted truth;
    if ((v->predicate == LIFT_EQ || v->predicate == LIFT_NE) && lift_is_number(&y, &n) && (n == 0 || n == 1) &&
        v->operands[0]->kind == LIFT_INSTRUCTION && truth_of(l, v->operands[0], &truth, 0)) {
        *out = (v->predicate == LIFT_EQ) == (n == 1) ? truth : lift_not(l, truth);
        return true;
    }
    if (!lift_is_number(&y, &n) || !is_choice(l, v->operands[0], 0))
        return false;
    *out = compare_choice(l, v, v->operands[0], y);
    return true;
}

/* What a `let` without a value from memory is. */
static const index_expr *meaning(const index_expr *x) {
    const kernel_stmt *let = x->op == IX_VAR && x->var->kind == INDEX_VALUE ? x->var->owner : NULL;
    return let && let->kind == KSTMT_LET && let->value->op == KERNEL_INDEX ? let->value->index : x;
}

static bool same_number(const index_expr *x, const index_expr *y) {
    return ix_equal(x, y) || ix_equal(meaning(x), meaning(y));
}

bool lift_by_size(lifter *l, lifted c, lifted x, lifted y, lifted *out) {
    arena *a = l->arena;
    if (x.kind != LIFTED_INDEX || y.kind != LIFTED_INDEX || c.kind != LIFTED_CONDITION ||
        (c.c->op != COND_LT && c.c->op != COND_LE))
        return false;
    bool below = c.c->op == COND_LT && ix_equal(c.c->y, ix_add(a, y.x, ix_const(a, 1))); /* x < n ? x : n - 1 */
    if (same_number(c.c->x, x.x) && (below || same_number(c.c->y, y.x)))
        *out = lifted_index(x.bits, ix_min(a, c.c->x, below ? y.x : c.c->y));
    else if (same_number(c.c->x, y.x) && same_number(c.c->y, x.x))
        *out = lifted_index(x.bits, ix_max(a, c.c->x, c.c->y));
    else
        return false;
    return true;
}

lifted lift_select(lifter *l, lifted c, lifted x, lifted y, const lift_type *t) {
    arena *a = l->arena;
    int64_t n;
    if (lift_is_number(&c, &n))
        return n ? x : y;
    if (x.kind == LIFTED_ANY)
        return y;
    if (y.kind == LIFTED_ANY || lift_same(&x, &y))
        return x;
    if (x.kind == LIFTED_CONDITION && y.kind == LIFTED_CONDITION && c.kind == LIFTED_CONDITION) {
        if (lift_is_number(&y, &n)) /* c ? x : false, c ? x : true */
            return lifted_condition(n ? cond_or(a, lift_not(l, c).c, x.c) : cond_and(a, c.c, x.c));
        if (lift_is_number(&x, &n))
            return lifted_condition(n ? cond_or(a, c.c, y.c) : cond_and(a, lift_not(l, c).c, y.c));
        return lifted_condition(cond_or(a, cond_and(a, c.c, x.c), cond_and(a, lift_not(l, c).c, y.c)));
    }
    if (t->kind == LIFT_INTEGER && t->bits == 1) {
        if (lift_is_number(&y, &n))
            return n ? lift_bitwise(l, LIFT_OR, lift_not(l, c), x) : lift_bitwise(l, LIFT_AND, c, x);
        if (lift_is_number(&x, &n))
            return n ? lift_bitwise(l, LIFT_OR, c, y) : lift_bitwise(l, LIFT_AND, lift_not(l, c), y);
        lifted yes = lift_bitwise(l, LIFT_AND, c, x), no = lift_bitwise(l, LIFT_AND, lift_not(l, c), y);
        return lift_bitwise(l, LIFT_OR, yes, no);
    }
    lifted chosen;
    if (lift_by_size(l, c, x, y, &chosen))
        return chosen;
    kernel_value *p = lift_as_value(l, x), *q = lift_as_value(l, y), *asked = c.kind == LIFTED_VALUE ? c.v : NULL;
    bool equal = true;
    for (int n = 0; asked && n < 8 && (asked->op == KERNEL_NOT || (asked->op == KERNEL_REF && asked->let->kind == KSTMT_LET));
         n++) {
        equal = equal != (asked->op == KERNEL_NOT);
        asked = asked->op == KERNEL_NOT ? asked->operands[0] : asked->let->value;
    }
    if (asked && (asked->op == KERNEL_EQ || asked->op == KERNEL_NE) && !element_table[asked->operands[0]->type].is_float) {
        const kernel_value *a0 = asked->operands[0], *b0 = asked->operands[1]; /* a == b ? a : b is b, a != b ? a : b is a */
        if ((kernel_same_value(a0, p) && kernel_same_value(b0, q)) || (kernel_same_value(a0, q) && kernel_same_value(b0, p)))
            return equal == (asked->op == KERNEL_EQ) ? y : x;
    }
    return lifted_value(x.bits, kernel_op3(l->k, KERNEL_SELECT, p->type, lift_as_value(l, c), p, q));
}
