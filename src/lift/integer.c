/* Integers of foreign code: arithmetic modulo 2^bits as exact index expressions, where nothing wraps or what wraps does not matter. */
#include "lift/lifter.h"
#include <math.h>
#include <string.h>

enum { MOST_NESTING = 200 };

static lift_range type_range(int bits, bool is_signed) {
    wide_integer one = 1;
    if (bits > 64)
        bits = 64;
    return is_signed ? (lift_range){-(one << (bits - 1)), (one << (bits - 1)) - 1} : (lift_range){0, (one << bits) - 1};
}

static bool inside(lift_range x, lift_range y) {
    return x.lo >= y.lo && x.hi <= y.hi;
}

static const lift_range anything = {-((wide_integer)1 << 100), (wide_integer)1 << 100};

static wide_integer floor_of(wide_integer x, wide_integer y) {
    wide_integer q = x / y;
    return q - (x % y != 0 && (x < 0) != (y < 0));
}

static lift_range product(lift_range x, lift_range y) {
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
    case ELEMENT_I32: r = type_range(32, true); break;
    case ELEMENT_U32: r = type_range(32, false); break;
    case ELEMENT_I8: r = type_range(8, true); break;
    case ELEMENT_U8: r = type_range(8, false); break;
    case ELEMENT_U16: r = type_range(16, false); break;
    default: r = type_range(64, true); break;
    }
    lift_range inner = r;
    if (v->op == KERNEL_INDEX)
        inner = range_at(l, v->index, nesting + 1);
    else if (v->op == KERNEL_CONVERT && !element_table[v->operands[0]->type].is_float && v->operands[0]->type != ELEMENT_BOOL)
        inner = value_range(l, v->operands[0], nesting + 1);
    else if (v->op == KERNEL_REF)
        inner = value_range(l, v->let->value, nesting + 1);
    return inside(inner, r) ? inner : r;
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
    case IX_MUL: r = product(a, b); break;
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

static kernel_value *number_value(lifter *l, int bits, int64_t n) {
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
            return number_value(l, x.bits, n);
        kernel_value *v = kernel_index(k, x.x);
        if (x.bits > 32)
            return v;
        v = kernel_op1(k, KERNEL_CONVERT, ELEMENT_I32, v);
        if (x.bits < 32)
            v = kernel_op2(k, KERNEL_BIT_AND, ELEMENT_I32, v, number_value(l, 32, ((int64_t)1 << x.bits) - 1));
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
    return number_value(l, 32, 0);
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
        v = kernel_op3(l->k, KERNEL_SELECT, ELEMENT_I32, v, number_value(l, 32, 1), number_value(l, 32, 0));
    if (v->type != ELEMENT_I32 && v->type != ELEMENT_U32 && v->type != ELEMENT_INDEX) {
        lift_fail(l, "E1124", l->now, "a %s is used as an integer", element_table[v->type].name);
        return ix_const(l->arena, 0);
    }
    return variable_for(l, v);
}

/* Whether a value from memory is among what x is made of. */
static bool holds_data(const index_expr *x, int nesting) {
    if (x->op == IX_CONST || nesting > 100)
        return false;
    if (x->op != IX_VAR)
        return holds_data(x->a, nesting + 1) || holds_data(x->b, nesting + 1);
    const kernel_stmt *let = x->var->kind == INDEX_VALUE ? x->var->owner : NULL;
    if (let && let->kind == KSTMT_LET && let->value->op == KERNEL_INDEX)
        return holds_data(let->value->index, nesting + 1);
    return x->var->kind == INDEX_VALUE;
}

index_expr *lift_exact(lifter *l, lifted x, bool is_signed) {
    index_expr *e = lift_as_index(l, x);
    arena *a = l->arena;
    if (lift_stopped(l))
        return e;
    lift_range want = type_range(x.bits, is_signed), is = lift_range_of(l, e);
    if (x.bits >= 64 && !is_signed)
        want.hi = type_range(64, true).hi;
    int64_t n;
    if (x.bits < 64 && ix_is_const(e, &n)) { /* the number itself, in the form wanted */
        uint64_t mask = ((uint64_t)1 << x.bits) - 1, low = (uint64_t)n & mask;
        bool negative = is_signed && (low >> (x.bits - 1));
        return ix_const(a, negative ? (int64_t)(low | ~mask) : (int64_t)low);
    }
    if (inside(is, want) || (x.bits >= 64 && is_signed))
        return e;
    if ((x.bits < 32 || (x.bits == 32 && !is_signed)) && holds_data(e, 0)) { /* bits of data, as a number */
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
    return ix_var(a, let->var);
}

/* ---- arithmetic ---- */

/* The greatest power of two that surely divides x, at most 2^32. */
static int64_t power_within(const index_expr *x, int nesting) {
    const int64_t most = (int64_t)1 << 32;
    if (nesting > MOST_NESTING)
        return 1;
    int64_t a, b;
    switch (x->op) {
    case IX_CONST: return x->value ? ((x->value & -x->value) < most ? x->value & -x->value : most) : most;
    case IX_ADD:
    case IX_SUB:
        a = power_within(x->a, nesting + 1);
        b = power_within(x->b, nesting + 1);
        return a < b ? a : b;
    case IX_MUL:
        a = power_within(x->a, nesting + 1);
        b = power_within(x->b, nesting + 1);
        return a > most / b ? most : a * b;
    default: return 1;
    }
}

static bool is_power(int64_t n, int *exponent) {
    for (int e = 0; e < 62; e++)
        if (n == (int64_t)1 << e) {
            *exponent = e;
            return true;
        }
    return false;
}

static lifted as_values(lifter *l, kernel_op op, lifted x, lifted y) {
    int bits = x.bits;
    element_type t = bits == 1 ? ELEMENT_BOOL : bits <= 32 ? ELEMENT_I32 : ELEMENT_INDEX;
    kernel_value *v = kernel_op2(l->k, op, t, lift_as_value(l, x), lift_as_value(l, y));
    if (bits > 1 && bits < 32 && (op == KERNEL_ADD || op == KERNEL_SUB || op == KERNEL_MUL || op == KERNEL_SHL))
        v = kernel_op2(l->k, KERNEL_BIT_AND, t, v, number_value(l, 32, ((int64_t)1 << bits) - 1));
    return lifted_value(bits, v);
}

/* Truncating division by what is shown to be positive. */
static index_expr *quotient(lifter *l, index_expr *x, index_expr *y, bool is_signed) {
    arena *a = l->arena;
    if (!is_signed || lift_range_of(l, x).lo >= 0)
        return ix_floordiv(a, x, y);
    index_expr *zero = ix_const(a, 0);
    return ix_sub(a, ix_floordiv(a, ix_max(a, x, zero), y), ix_floordiv(a, ix_max(a, ix_sub(a, zero, x), zero), y));
}

static lifted divide(lifter *l, lift_opcode op, lifted x, lifted y) {
    bool is_signed = op == LIFT_SDIV || op == LIFT_SREM, remainder = op == LIFT_SREM || op == LIFT_UREM;
    arena *a = l->arena;
    index_expr *n = lift_exact(l, x, is_signed), *d = lift_exact(l, y, is_signed);
    if (lift_stopped(l))
        return lifted_number(l, x.bits, 0);
    index_expr *zero = ix_const(a, 0), *sign = ix_const(a, 1), *whole = d;
    if (is_signed && lift_range_of(l, d).lo < 0) { /* by its size, then with its sign */
        sign = ix_min(a, ix_max(a, d, ix_const(a, -1)), ix_const(a, 1));
        d = ix_max(a, d, ix_sub(a, zero, d));
    }
    if (lift_range_of(l, d).lo < 1) { /* it must not be 0 */
        int64_t c;
        if (ix_is_const(d, &c)) {
            lift_fail(l, "E1126", l->now, "a division by %lld", (long long)c);
            return lifted_number(l, x.bits, 0);
        }
        kernel_stmt *let = lift_let(l, "divisor", kernel_index(l->k, d));
        let->var->lo = ix_const(a, 1);
        let->var->hi = ix_const(a, (int64_t)type_range(x.bits < 63 ? x.bits : 63, is_signed).hi + is_signed);
        d = ix_var(a, let->var);
    }
    int64_t one;
    if (!(ix_is_const(sign, &one) && one == 1)) {
        index_expr *q = ix_mul(a, quotient(l, n, d, true), sign);
        return lifted_index(x.bits, remainder ? ix_sub(a, n, ix_mul(a, q, whole)) : q);
    }
    if (remainder && (!is_signed || lift_range_of(l, n).lo >= 0))
        return lifted_index(x.bits, ix_mod(a, n, d));
    index_expr *q = quotient(l, n, d, is_signed);
    return lifted_index(x.bits, remainder ? ix_sub(a, n, ix_mul(a, q, d)) : q);
}

static lifted shift(lifter *l, lift_opcode op, lifted x, lifted y) {
    int64_t n;
    arena *a = l->arena;
    bool constant = lift_is_number(&y, &n) && n >= 0 && n < x.bits && n < 62;
    if (!constant || x.kind == LIFTED_VALUE) {
        if (op == LIFT_LSHR) { /* logical on u32 */
            if (x.bits > 32) {
                if (!constant) {
                    lift_fail(l, "E1126", l->now, "a logical shift of a 64-bit value by a number that is not constant");
                    return lifted_number(l, x.bits, 0);
                }
                return lifted_index(x.bits, ix_floordiv(a, lift_exact(l, x, false), ix_const(a, (int64_t)1 << n)));
            }
            kernel_value *v = kernel_op1(l->k, KERNEL_BITCAST, ELEMENT_U32, lift_as_value(l, x));
            kernel_value *by = kernel_op1(l->k, KERNEL_BITCAST, ELEMENT_U32, lift_as_value(l, y));
            v = kernel_op2(l->k, KERNEL_SHR, ELEMENT_U32, v, by);
            return lifted_value(x.bits, kernel_op1(l->k, KERNEL_BITCAST, ELEMENT_I32, v));
        }
        if (op == LIFT_ASHR && x.bits < 32) {
            lifted wide = lift_extend(l, l->now, LIFT_SEXT, x, x.bits, 32);
            y.bits = 32;
            lifted r = as_values(l, KERNEL_SHR, wide, y);
            return lift_extend(l, l->now, LIFT_TRUNC, r, 32, x.bits);
        }
        return as_values(l, op == LIFT_SHL ? KERNEL_SHL : KERNEL_SHR, x, y);
    }
    index_expr *factor = ix_const(a, (int64_t)1 << n);
    if (op == LIFT_SHL)
        return lift_integer(l, l->now, LIFT_MUL, x, lifted_index(x.bits, factor));
    /* (x << 32) >> 32: the lower half, extended */
    int64_t by;
    if (x.bits == 64 && n >= 32 && x.x->op == IX_MUL && (ix_is_const(x.x->b, &by) || ix_is_const(x.x->a, &by)) &&
        by == (int64_t)1 << n) {
        index_expr *low = ix_is_const(x.x->b, NULL) ? x.x->a : x.x->b;
        return lifted_index(64, lift_exact(l, lifted_index(64 - (int)n, low), op == LIFT_ASHR));
    }
    return lifted_index(x.bits, ix_floordiv(a, lift_exact(l, x, op == LIFT_ASHR), factor));
}

/* x and `mask`, modulo what the mask lies within: for masks whose bits stand side by side; others NULL. */
static index_expr *masked(arena *a, index_expr *x, int64_t mask) {
    int e;
    int64_t unit = mask & -mask;
    if (mask <= 0 || !is_power(mask / unit + 1, &e))
        return NULL;
    index_expr *bits = ix_mod(a, ix_floordiv(a, x, ix_const(a, unit)), ix_const(a, mask / unit + 1));
    return ix_mul(a, bits, ix_const(a, unit));
}

static lifted bitwise(lifter *l, lift_opcode op, lifted x, lifted y) {
    arena *a = l->arena;
    int64_t n;
    if (x.bits == 1) {
        if (x.kind == LIFTED_CONDITION && y.kind == LIFTED_CONDITION) {
            if (op == LIFT_AND)
                return lifted_condition(cond_and(a, x.c, y.c));
            if (op == LIFT_OR)
                return lifted_condition(cond_or(a, x.c, y.c));
            if (lift_is_number(&y, &n))
                return n ? lift_not(l, x) : x;
            if (lift_is_number(&x, &n))
                return n ? lift_not(l, y) : y;
        }
        if (op == LIFT_XOR) {
            if (lift_is_number(&y, &n))
                return n ? lift_not(l, x) : x;
            return lifted_value(1, kernel_op2(l->k, KERNEL_NE, ELEMENT_BOOL, lift_as_value(l, x), lift_as_value(l, y)));
        }
        return as_values(l, op == LIFT_AND ? KERNEL_AND : KERNEL_OR, x, y);
    }
    /* data masked to a few values: an index with a range, whatever the data */
    if (op == LIFT_AND && x.kind == LIFTED_VALUE && lift_is_number(&y, &n) && n > 0 && masked(a, ix_const(a, 0), n))
        x = lifted_index(x.bits, lift_as_index(l, x));
    if (x.kind == LIFTED_INDEX && y.kind == LIFTED_INDEX) {
        if (lift_is_number(&x, &n)) {
            lifted t = x;
            x = y;
            y = t;
        }
        if (lift_is_number(&y, &n)) {
            int64_t other;
            if (x.bits < 64)
                n = (int64_t)((uint64_t)n & (((uint64_t)1 << x.bits) - 1));
            if (lift_is_number(&x, &other))
                return lifted_number(l, x.bits, op == LIFT_AND ? other & n : op == LIFT_OR ? other | n : other ^ n);
            int64_t inverted = x.bits < 64 ? (int64_t)(~(uint64_t)n & (((uint64_t)1 << x.bits) - 1)) : ~n;
            index_expr *low = n >= 0 ? masked(a, x.x, n) : NULL, *high = inverted >= 0 ? masked(a, x.x, inverted) : NULL;
            if (op == LIFT_AND && low)
                return lifted_index(x.bits, low);
            if (op == LIFT_AND && high)
                return lifted_index(x.bits, ix_sub(a, x.x, high));
            if (op == LIFT_OR && low) /* the bits that are not there yet */
                return lifted_index(x.bits, ix_add(a, x.x, ix_sub(a, ix_const(a, n), low)));
            if (op == LIFT_XOR && inverted == 0) /* not x */
                return lifted_index(x.bits, ix_sub(a, ix_const(a, -1), x.x));
            if (op == LIFT_XOR && low)
                return lifted_index(x.bits, ix_add(a, x.x, ix_sub(a, ix_const(a, n), ix_mul(a, ix_const(a, 2), low))));
            if (n == 0)
                return op == LIFT_AND ? lifted_number(l, x.bits, 0) : x;
        }
        if (op == LIFT_OR || op == LIFT_XOR) { /* bits apart: a sum */
            for (int turn = 0; turn < 2; turn++) {
                lift_range r = lift_range_of(l, turn ? x.x : y.x);
                if (r.lo >= 0 && r.hi < power_within(turn ? y.x : x.x, 0))
                    return lifted_index(x.bits, ix_add(a, x.x, y.x));
            }
        }
    }
    return as_values(l, op == LIFT_AND ? KERNEL_BIT_AND : op == LIFT_OR ? KERNEL_BIT_OR : KERNEL_BIT_XOR, x, y);
}

lifted lift_integer(lifter *l, const lift_value *v, lift_opcode op, lifted x, lifted y) {
    arena *a = l->arena;
    (void)v;
    switch (op) {
    case LIFT_SDIV:
    case LIFT_UDIV:
    case LIFT_SREM:
    case LIFT_UREM: return divide(l, op, x, y);
    case LIFT_SHL:
    case LIFT_LSHR:
    case LIFT_ASHR: return shift(l, op, x, y);
    case LIFT_AND:
    case LIFT_OR:
    case LIFT_XOR: return bitwise(l, op, x, y);
    default: break;
    }
    if (x.bits == 1) { /* add and sub are exclusive or, mul is and */
        return bitwise(l, op == LIFT_MUL ? LIFT_AND : LIFT_XOR, x, y);
    }
    if (x.bits == 64 && x.kind == LIFTED_VALUE) /* addresses, for the most part: terms that can be told apart */
        x = lifted_index(64, lift_as_index(l, x));
    if (x.bits == 64 && y.kind == LIFTED_VALUE)
        y = lifted_index(64, lift_as_index(l, y));
    kernel_op of = op == LIFT_ADD ? KERNEL_ADD : op == LIFT_SUB ? KERNEL_SUB : KERNEL_MUL;
    if (x.kind != LIFTED_INDEX || y.kind != LIFTED_INDEX)
        return as_values(l, of, x, y);
    int64_t n, m;
    if (x.bits <= 32 && lift_is_number(&x, &n) && lift_is_number(&y, &m)) {
        int64_t r = op == LIFT_ADD ? n + m : op == LIFT_SUB ? n - m : (int64_t)((uint64_t)n * (uint64_t)m);
        return lifted_number(l, x.bits, r);
    }
    lift_range rx = lift_range_of(l, x.x), ry = lift_range_of(l, y.x), limit = {-((wide_integer)1 << 62), (wide_integer)1 << 62};
    lift_range r = op == LIFT_ADD   ? (lift_range){rx.lo + ry.lo, rx.hi + ry.hi}
                   : op == LIFT_SUB ? (lift_range){rx.lo - ry.hi, rx.hi - ry.lo}
                                    : product(rx, ry);
    if (!inside(r, limit) && x.bits <= 32)
        return as_values(l, of, x, y); /* it wraps as it does there */
    index_expr *e = op == LIFT_ADD ? ix_add(a, x.x, y.x) : op == LIFT_SUB ? ix_sub(a, x.x, y.x) : ix_mul(a, x.x, y.x);
    return lifted_index(x.bits, e);
}

/* ---- widths ---- */

lifted lift_extend(lifter *l, const lift_value *v, lift_opcode op, lifted x, int from, int to) {
    kernel_ir *k = l->k;
    int64_t n;
    (void)v;
    if (x.kind == LIFTED_ANY)
        return x;
    if (from == 1 && op != LIFT_TRUNC) {
        if (lift_is_number(&x, &n))
            return lifted_number(l, to, n ? (op == LIFT_ZEXT ? 1 : -1) : 0);
        int width = to < 32 ? to : 32;
        kernel_value *yes = number_value(l, width, op == LIFT_ZEXT ? 1 : -1);
        kernel_value *s = kernel_op3(k, KERNEL_SELECT, ELEMENT_I32, lift_as_value(l, x), yes, number_value(l, width, 0));
        return lifted_value(to, to > 32 ? kernel_op1(k, KERNEL_CONVERT, ELEMENT_INDEX, s) : s);
    }
    if (op == LIFT_TRUNC) {
        if (x.kind == LIFTED_INDEX) {
            if (to == 1) {
                index_expr *bit = ix_mod(l->arena, x.x, ix_const(l->arena, 2));
                return lifted_condition(cond_compare(l->arena, COND_NE, bit, ix_const(l->arena, 0)));
            }
            if (to < 32 && holds_data(x.x, 0)) /* bits are meant, as of packed numbers: those that go are no overflow */
                return lifted_index(to, ix_mod(l->arena, x.x, ix_const(l->arena, (int64_t)1 << to)));
            return lifted_index(to, x.x);
        }
        kernel_value *w = lift_as_value(l, x);
        if (from > 32)
            w = kernel_op1(k, KERNEL_CONVERT, ELEMENT_I32, w);
        if (to < 32)
            w = kernel_op2(k, KERNEL_BIT_AND, ELEMENT_I32, w, number_value(l, 32, ((int64_t)1 << to) - 1));
        if (to == 1)
            w = kernel_op2(k, KERNEL_NE, ELEMENT_BOOL, w, number_value(l, 32, 0));
        return lifted_value(to, w);
    }
    if (x.kind == LIFTED_INDEX)
        return lifted_index(to, lift_exact(l, x, op == LIFT_SEXT));
    kernel_value *w = lift_as_value(l, x);
    if (op == LIFT_SEXT && from < 32) {
        kernel_value *by = number_value(l, 32, 32 - from);
        w = kernel_op2(k, KERNEL_SHR, ELEMENT_I32, kernel_op2(k, KERNEL_SHL, ELEMENT_I32, w, by), by);
        if (to < 32)
            w = kernel_op2(k, KERNEL_BIT_AND, ELEMENT_I32, w, number_value(l, 32, ((int64_t)1 << to) - 1));
    }
    if (to > 32) {
        if (op == LIFT_ZEXT && from == 32)
            w = kernel_op1(k, KERNEL_BITCAST, ELEMENT_U32, w);
        w = kernel_op1(k, KERNEL_CONVERT, ELEMENT_INDEX, w);
    }
    return lifted_value(to, w);
}

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
    lift_range s = type_range(x.bits, true), rx = lift_range_of(l, x.x), ry = lift_range_of(l, y.x);
    if (!inside(rx, s) || !inside(ry, s) || (rx.lo < 0 && ry.lo < 0))
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
    if (is_unsigned && !ix_is_const(x.x, NULL) && !ix_is_const(y.x, NULL) && unsigned_by_signed(l, op, x, y, &r))
        return r;
    if (equality) /* equal modulo 2^bits: both within one range */
        is_unsigned =
            inside(lift_range_of(l, x.x), type_range(bits, false)) && inside(lift_range_of(l, y.x), type_range(bits, false));
    index_expr *a = lift_exact(l, x, !is_unsigned), *b = lift_exact(l, y, !is_unsigned);
    return folded(l, op, a, b);
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
            return n ? bitwise(l, LIFT_OR, lift_not(l, c), x) : bitwise(l, LIFT_AND, c, x);
        if (lift_is_number(&x, &n))
            return n ? bitwise(l, LIFT_OR, c, y) : bitwise(l, LIFT_AND, lift_not(l, c), y);
        lifted yes = bitwise(l, LIFT_AND, c, x), no = bitwise(l, LIFT_AND, lift_not(l, c), y);
        return bitwise(l, LIFT_OR, yes, no);
    }
    lifted chosen;
    if (lift_by_size(l, c, x, y, &chosen))
        return chosen;
    kernel_value *p = lift_as_value(l, x), *q = lift_as_value(l, y);
    return lifted_value(x.bits, kernel_op3(l->k, KERNEL_SELECT, p->type, lift_as_value(l, c), p, q));
}
