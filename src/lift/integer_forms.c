/* The forms of an integer of foreign code: an index expression that equals it modulo 2^bits, a value, its exact number; and the range that it lies in. */
#include "lift/integer.h"
#include <math.h>

enum { MOST_NESTING = 200 };

lift_range lift_type_range(int bits, bool is_signed) {
    wide_integer one = 1;
    if (bits > 64)
        bits = 64;
    return is_signed ? (lift_range){-(one << (bits - 1)), (one << (bits - 1)) - 1} : (lift_range){0, (one << bits) - 1};
}

bool lift_inside(lift_range x, lift_range y) {
    return x.lo >= y.lo && x.hi <= y.hi;
}

static const lift_range anything = {-((wide_integer)1 << 100), (wide_integer)1 << 100};

static wide_integer floor_of(wide_integer x, wide_integer y) {
    wide_integer q = x / y;
    return q - (x % y != 0 && (x < 0) != (y < 0));
}

lift_range lift_range_product(lift_range x, lift_range y) {
    wide_integer most = (wide_integer)1 << 62;
    if (x.lo < -most || x.hi > most || y.lo < -most || y.hi > most)
        return anything;
    wide_integer corners[4] = {x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi};
    lift_range r = {corners[0], corners[0]};
    for (int i = 1; i < 4; i++) {
        r.lo = corners[i] < r.lo ? corners[i] : r.lo;
        r.hi = corners[i] > r.hi ? corners[i] : r.hi;
    }
    return r;
}

static lift_range range_at(lifter *l, const index_expr *x, int nesting);

static lift_range value_range(lifter *l, const kernel_value *v, int nesting) {
    lift_range r = anything;
    if (nesting > MOST_NESTING)
        return r;
    switch (v->type) {
    case ELEMENT_I32: r = lift_type_range(32, true); break;
    case ELEMENT_U32: r = lift_type_range(32, false); break;
    case ELEMENT_I8: r = lift_type_range(8, true); break;
    case ELEMENT_U8: r = lift_type_range(8, false); break;
    case ELEMENT_U16: r = lift_type_range(16, false); break;
    default: r = lift_type_range(64, true); break;
    }
    lift_range inner = r;
    if (v->op == KERNEL_INDEX)
        inner = range_at(l, v->index, nesting + 1);
    else if (v->op == KERNEL_CONVERT && !element_table[v->operands[0]->type].is_float && v->operands[0]->type != ELEMENT_BOOL)
        inner = value_range(l, v->operands[0], nesting + 1);
    else if (v->op == KERNEL_REF)
        inner = value_range(l, v->let->value, nesting + 1);
    return lift_inside(inner, r) ? inner : r;
}

static lift_range variable_range(lifter *l, const index_var *v, int nesting) {
    lift_range r = anything, lo, hi;
    int64_t largest = l->contract->largest ? l->contract->largest : (int64_t)1 << 30;
    if (v->kind == INDEX_SYMBOL)
        r = (lift_range){0, largest};
    const kernel_stmt *let = v->owner;
    if (v->kind == INDEX_VALUE && let && let->kind == KSTMT_LET)
        r = value_range(l, let->value, nesting + 1);
    lo = v->lo ? range_at(l, v->lo, nesting + 1) : r;
    hi = v->hi ? range_at(l, v->hi, nesting + 1) : r;
    r.lo = lo.lo > r.lo ? lo.lo : r.lo;
    r.hi = hi.hi < r.hi ? hi.hi : r.hi;
    return r;
}

static lift_range range_at(lifter *l, const index_expr *x, int nesting) {
    if (x->op == IX_CONST)
        return (lift_range){x->value, x->value};
    if (nesting > MOST_NESTING)
        return anything;
    if (x->op == IX_VAR)
        return variable_range(l, x->var, nesting);
    lift_range a = range_at(l, x->a, nesting + 1), b = range_at(l, x->b, nesting + 1), r = anything;
    switch (x->op) {
    case IX_ADD: r = (lift_range){a.lo + b.lo, a.hi + b.hi}; break;
    case IX_SUB: r = (lift_range){a.lo - b.hi, a.hi - b.lo}; break;
    case IX_MUL: r = lift_range_product(a, b); break;
    case IX_MIN: r = (lift_range){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi}; break;
    case IX_MAX: r = (lift_range){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi}; break;
    case IX_FLOORDIV:
        if (b.lo > 0)
            r = (lift_range){floor_of(a.lo, a.lo < 0 ? b.lo : b.hi), floor_of(a.hi, a.hi < 0 ? b.hi : b.lo)};
        break;
    case IX_MOD:
        if (b.lo > 0)
            r = (lift_range){0, a.lo >= 0 && a.hi < b.hi - 1 ? a.hi : b.hi - 1};
        break;
    default: break;
    }
    r.lo = r.lo < anything.lo ? anything.lo : r.lo;
    r.hi = r.hi > anything.hi ? anything.hi : r.hi;
    return r;
}

lift_range lift_range_of(lifter *l, const index_expr *x) {
    return range_at(l, x, 0);
}

bool lift_is_number(const lifted *x, int64_t *n) {
    if (x->kind == LIFTED_INDEX)
        return ix_is_const(x->x, n);
    if (x->kind != LIFTED_CONDITION)
        return false;
    bool negated = x->c->op == COND_NOT && x->c->a->op == COND_TRUE;
    if (n)
        *n = !negated;
    return negated || x->c->op == COND_TRUE;
}

bool lift_same(const lifted *x, const lifted *y) {
    if (x->kind != y->kind || x->bits != y->bits)
        return false;
    if (x->kind == LIFTED_INDEX)
        return ix_equal(x->x, y->x);
    if (x->kind == LIFTED_VALUE)
        return x->v == y->v || (x->v->op == KERNEL_REF && y->v->op == KERNEL_REF && x->v->let == y->v->let) ||
               (x->v->op == KERNEL_CONST && y->v->op == KERNEL_CONST && x->v->type == y->v->type &&
                x->v->number == y->v->number && signbit(x->v->number) == signbit(y->v->number));
    return false;
}

/* ---- between the forms ---- */

static kernel_value *condition_value(lifter *l, const cond *c, int nesting) {
    kernel_ir *k = l->k;
    static const kernel_op ops[] = {[COND_LE] = KERNEL_LE, [COND_LT] = KERNEL_LT, [COND_EQ] = KERNEL_EQ, [COND_NE] = KERNEL_NE};
    if (nesting > 60) {
        lift_fail(l, "E1126", l->now, "a condition nested too deeply");
        return kernel_const(k, ELEMENT_BOOL, 1, 0);
    }
    switch (c->op) {
    case COND_TRUE: return kernel_const(k, ELEMENT_BOOL, 1, 1);
    case COND_NOT: return kernel_op1(k, KERNEL_NOT, ELEMENT_BOOL, condition_value(l, c->a, nesting + 1));
    case COND_AND:
    case COND_OR:
        return kernel_op2(k, c->op == COND_AND ? KERNEL_AND : KERNEL_OR, ELEMENT_BOOL, condition_value(l, c->a, nesting + 1),
                          condition_value(l, c->b, nesting + 1));
    default: return kernel_op2(k, ops[c->op], ELEMENT_BOOL, kernel_index(k, c->x), kernel_index(k, c->y));
    }
}

kernel_value *lift_number_value(lifter *l, int bits, int64_t n) {
    if (bits <= 32) {
        int64_t mask = bits < 32 ? ((int64_t)1 << bits) - 1 : 0;
        return kernel_const(l->k, ELEMENT_I32, 1, (double)(bits < 32 ? n & mask : (int32_t)(uint32_t)n));
    }
    return kernel_index(l->k, ix_const(l->arena, n));
}

kernel_value *lift_as_value(lifter *l, lifted x) {
    kernel_ir *k = l->k;
    int64_t n;
    switch (x.kind) {
    case LIFTED_VALUE: return x.v;
    case LIFTED_CONDITION: return condition_value(l, x.c, 0);
    case LIFTED_INDEX: {
        if (ix_is_const(x.x, &n))
            return lift_number_value(l, x.bits, n);
        kernel_value *v = kernel_index(k, x.x);
        if (x.bits > 32)
            return v;
        v = kernel_op1(k, KERNEL_CONVERT, ELEMENT_I32, v);
        if (x.bits < 32)
            v = kernel_op2(k, KERNEL_BIT_AND, ELEMENT_I32, v, lift_number_value(l, 32, ((int64_t)1 << x.bits) - 1));
        return v;
    }
    case LIFTED_BITS:
        if (x.bits == 64) {
            lift_fail(l, "E1124", l->now, "double precision: what memory holds is copied and compared with constants, no more");
            break;
        }
        return kernel_op1(k, KERNEL_CONVERT, ELEMENT_I32, kernel_op1(k, KERNEL_BITCAST, ELEMENT_U16, x.v));
    case LIFTED_ANY: lift_fail(l, "E1125", l->now, "a value that nothing has set is used"); break;
    case LIFTED_POINTER: lift_fail(l, "E1124", l->now, "a pointer is used as a value"); break;
    default: lift_fail(l, "E1124", l->now, "a vector or a struct is used where a scalar is read"); break;
    }
    return lift_number_value(l, 32, 0);
}

/* A named integer for a value. */
static index_expr *variable_for(lifter *l, kernel_value *v) {
    if (v->op == KERNEL_REF && v->let->var)
        return ix_var(l->arena, v->let->var);
    if (v->op == KERNEL_INDEX)
        return v->index;
    kernel_stmt *let = lift_let(l, l->now ? l->now->name : "", v);
    return ix_var(l->arena, let->var);
}

index_expr *lift_as_index(lifter *l, lifted x) {
    if (x.kind == LIFTED_INDEX)
        return x.x;
    kernel_value *v = lift_as_value(l, x);
    if (lift_stopped(l))
        return ix_const(l->arena, 0);
    if (v->type == ELEMENT_BOOL)
        v = kernel_op3(l->k, KERNEL_SELECT, ELEMENT_I32, v, lift_number_value(l, 32, 1), lift_number_value(l, 32, 0));
    if (v->type != ELEMENT_I32 && v->type != ELEMENT_U32 && v->type != ELEMENT_INDEX) {
        lift_fail(l, "E1124", l->now, "a %s is used as an integer", element_table[v->type].name);
        return ix_const(l->arena, 0);
    }
    return variable_for(l, v);
}

/* Whether a value from memory is among what x is made of. */
bool lift_holds_data(const index_expr *x, int nesting) {
    if (x->op == IX_CONST || nesting > 100)
        return false;
    if (x->op != IX_VAR)
        return lift_holds_data(x->a, nesting + 1) || lift_holds_data(x->b, nesting + 1);
    const kernel_stmt *let = x->var->kind == INDEX_VALUE ? x->var->owner : NULL;
    if (let && let->kind == KSTMT_LET && let->value->op == KERNEL_INDEX)
        return lift_holds_data(let->value->index, nesting + 1);
    return x->var->kind == INDEX_VALUE;
}

index_expr *lift_exact(lifter *l, lifted x, bool is_signed) {
    index_expr *e = lift_as_index(l, x);
    arena *a = l->arena;
    if (lift_stopped(l))
        return e;
    lift_range want = lift_type_range(x.bits, is_signed), is = lift_range_of(l, e);
    if (x.bits >= 64 && !is_signed)
        want.hi = lift_type_range(64, true).hi;
    int64_t n;
    if (x.bits < 64 && ix_is_const(e, &n)) { /* the number itself, in the form wanted */
        uint64_t mask = ((uint64_t)1 << x.bits) - 1, low = (uint64_t)n & mask;
        bool negative = is_signed && (low >> (x.bits - 1));
        return ix_const(a, negative ? (int64_t)(low | ~mask) : (int64_t)low);
    }
    if (lift_inside(is, want) || (x.bits >= 64 && is_signed))
        return e;
    if ((x.bits < 32 || (x.bits == 32 && !is_signed)) && lift_holds_data(e, 0)) { /* bits of data, as a number */
        index_expr *middle = ix_const(a, is_signed ? (int64_t)1 << (x.bits - 1) : 0);
        return ix_sub(a, ix_mod(a, ix_add(a, e, middle), ix_const(a, (int64_t)1 << x.bits)), middle);
    }
    if (x.kind == LIFTED_VALUE && x.bits >= 32 && !is_signed) { /* the same bits, unsigned */
        kernel_value *v = x.v;
        if (v->type == ELEMENT_I32) {
            v = kernel_op1(l->k, KERNEL_BITCAST, ELEMENT_U32, v);
            return variable_for(l, v);
        }
    }
    kernel_stmt *let = lift_let(l, l->now ? l->now->name : "", kernel_index(l->k, e));
    let->var->lo = ix_const(a, (int64_t)want.lo);
    let->var->hi = ix_const(a, (int64_t)want.hi);
    let->wraps = x.wraps && x.bits < 62;
    l->out->wraps = l->out->wraps || let->wraps;
    return ix_var(a, let->var);
}
