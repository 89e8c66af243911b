/* Integers of foreign code: arithmetic modulo 2^bits as exact index expressions, where nothing wraps or what wraps does not matter. */
#include "lift/integer.h"

enum { MOST_NESTING = 200 };

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

/* Whether the source says what the number is where it does not fit its type: it fits, or is made by steps that wrap around. */
static bool is_defined(lifter *l, lifted x) {
    if (x.kind != LIFTED_INDEX)
        return false;
    lift_range is = lift_range_of(l, x.x);
    return x.wraps || lift_inside(is, lift_type_range(x.bits, true)) || lift_inside(is, lift_type_range(x.bits, false));
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
        v = kernel_op2(l->k, KERNEL_BIT_AND, t, v, lift_number_value(l, 32, ((int64_t)1 << bits) - 1));
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
        let->var->hi = ix_const(a, (int64_t)lift_type_range(x.bits < 63 ? x.bits : 63, is_signed).hi + is_signed);
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

/* Of 64 bits: the quotient modulo what its bits can say, whatever sign x is held with. */
static lifted logical_shift(lifter *l, lifted x, int n) {
    arena *a = l->arena;
    index_expr *unit = ix_const(a, (int64_t)1 << n);
    if (n < 2 || lift_range_of(l, x.x).lo >= 0)
        return lifted_index(64, ix_floordiv(a, lift_exact(l, x, false), unit));
    return lifted_index(64, ix_mod(a, ix_floordiv(a, x.x, unit), ix_const(a, (int64_t)1 << (64 - n))));
}

static lifted shift(lifter *l, lift_opcode op, lifted x, lifted y) {
    int64_t n;
    arena *a = l->arena;
    bool constant = lift_is_number(&y, &n) && n >= 0 && n < x.bits && n < 62;
    lift_range fits = {0, x.bits - 1};
    if (!constant && y.kind == LIFTED_INDEX &&
        !lift_inside(lift_range_of(l, y.x), fits)) { /* further than that, nobody says what is left */
        kernel_stmt *let = lift_let(l, "shift", kernel_index(l->k, y.x));
        let->var->lo = ix_const(a, 0);
        let->var->hi = ix_const(a, x.bits - 1);
        y = lifted_index(y.bits, ix_var(a, let->var));
    }
    if (!constant || x.kind == LIFTED_VALUE) {
        if (op == LIFT_LSHR) { /* logical on u32 */
            if (x.bits > 32) {
                if (!constant) {
                    lift_fail(l, "E1126", l->now, "a logical shift of a 64-bit value by a number that is not constant");
                    return lifted_number(l, x.bits, 0);
                }
                return logical_shift(l, lifted_index(x.bits, lift_as_index(l, x)), (int)n);
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
        lifted half = lifted_index(64 - (int)n, low);
        half.wraps = x.wraps;
        return lifted_index(64, lift_exact(l, half, op == LIFT_ASHR));
    }
    if (op == LIFT_LSHR && x.bits == 64)
        return logical_shift(l, x, (int)n);
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

enum { MOST_FOLLOWED = 64 };

/* Whether an address is made of v: each value is looked at once; of more than can be followed, it is taken to be so. */
static bool is_for_address(const lifter *l, const lift_value *v) {
    const lift_value *seen[MOST_FOLLOWED] = {v};
    int count = 1;
    for (int at = 0; at < count; at++) {
        const lift_values *users = lift_users(l->function, seen[at]);
        for (int i = 0; i < users->count; i++) {
            const lift_value *u = users->at[i];
            bool computed = u->op == LIFT_ADD || u->op == LIFT_SUB || u->op == LIFT_MUL || u->op == LIFT_SHL ||
                            u->op == LIFT_PHI || u->op == LIFT_TRUNC || u->op == LIFT_SELECT;
            bool known = !computed;
            for (int j = 0; j < count && !known; j++)
                known = seen[j] == u;
            if (u->op == LIFT_GEP || (!known && count == MOST_FOLLOWED))
                return true;
            if (!known)
                seen[count++] = u;
        }
    }
    return false;
}

/* x + y or x - y modulo 2^64, as the signed number with these bits, of parts of 32 bits: no step leaves 64 bits. */
static index_expr *wrapped_sum(arena *a, lift_opcode op, index_expr *x, index_expr *y) {
    index_expr *unit = ix_const(a, (int64_t)1 << 32), *middle = ix_const(a, (int64_t)1 << 31);
    index_expr *low[2] = {ix_mod(a, x, unit), ix_mod(a, y, unit)}, *high[2] = {ix_floordiv(a, x, unit), ix_floordiv(a, y, unit)};
    index_expr *sum = op == LIFT_ADD ? ix_add(a, low[0], low[1]) : ix_sub(a, low[0], low[1]);
    index_expr *top = op == LIFT_ADD ? ix_add(a, high[0], high[1]) : ix_sub(a, high[0], high[1]);
    top = ix_add(a, top, ix_floordiv(a, sum, unit));
    top = ix_sub(a, ix_mod(a, ix_add(a, top, middle), unit), middle);
    return ix_add(a, ix_mul(a, top, unit), ix_mod(a, sum, unit));
}

lifted lift_bitwise(lifter *l, lift_opcode op, lifted x, lifted y) {
    lifted r = bitwise(l, op, x, y);
    r.wraps = r.kind == LIFTED_INDEX && is_defined(l, x) && is_defined(l, y);
    return r;
}

lifted lift_integer(lifter *l, const lift_value *v, lift_opcode op, lifted x, lifted y) {
    arena *a = l->arena;
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
    case LIFT_XOR: return lift_bitwise(l, op, x, y);
    default: break;
    }
    if (x.bits == 1) { /* add and sub are exclusive or, mul is and */
        return lift_bitwise(l, op == LIFT_MUL ? LIFT_AND : LIFT_XOR, x, y);
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
                                    : lift_range_product(rx, ry);
    if (!lift_inside(r, limit) && x.bits <= 32)
        return as_values(l, of, x, y); /* it wraps as it does there */
    /* numbers of 64 bits wrap around, too, where the source does not say that they do not (signed ones must not): data, that is, since addresses must fit */
    bool may_wrap = x.bits == 64 && v->kind == LIFT_INSTRUCTION && v->op == op && op != LIFT_MUL && !v->no_signed_wrap &&
                    (lift_holds_data(x.x, 0) || lift_holds_data(y.x, 0));
    if (may_wrap && !lift_inside(r, lift_type_range(64, true)) && !is_for_address(l, v))
        return lifted_index(64, ix_var(a, lift_let(l, v->name, kernel_index(l->k, wrapped_sum(a, op, x.x, y.x)))->var));
    index_expr *e = op == LIFT_ADD ? ix_add(a, x.x, y.x) : op == LIFT_SUB ? ix_sub(a, x.x, y.x) : ix_mul(a, x.x, y.x);
    lifted sum = lifted_index(x.bits, e);
    sum.wraps = v && !v->no_signed_wrap && !v->no_unsigned_wrap && is_defined(l, x) && is_defined(l, y);
    return sum;
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
        kernel_value *yes = lift_number_value(l, width, op == LIFT_ZEXT ? 1 : -1);
        kernel_value *s = kernel_op3(k, KERNEL_SELECT, ELEMENT_I32, lift_as_value(l, x), yes, lift_number_value(l, width, 0));
        return lifted_value(to, to > 32 ? kernel_op1(k, KERNEL_CONVERT, ELEMENT_INDEX, s) : s);
    }
    if (op == LIFT_TRUNC) {
        if (x.kind == LIFTED_INDEX) {
            if (to == 1) {
                index_expr *bit = ix_mod(l->arena, x.x, ix_const(l->arena, 2));
                return lifted_condition(cond_compare(l->arena, COND_NE, bit, ix_const(l->arena, 0)));
            }
            if (to < 32 && lift_holds_data(x.x, 0)) /* bits are meant, as of packed numbers: those that go are no overflow */
                return lifted_index(to, ix_mod(l->arena, x.x, ix_const(l->arena, (int64_t)1 << to)));
            lifted low = lifted_index(to, x.x);
            low.wraps = is_defined(l, x);
            return low;
        }
        kernel_value *w = lift_as_value(l, x);
        if (from > 32)
            w = kernel_op1(k, KERNEL_CONVERT, ELEMENT_I32, w);
        if (to < 32)
            w = kernel_op2(k, KERNEL_BIT_AND, ELEMENT_I32, w, lift_number_value(l, 32, ((int64_t)1 << to) - 1));
        if (to == 1)
            w = kernel_op2(k, KERNEL_NE, ELEMENT_BOOL, w, lift_number_value(l, 32, 0));
        return lifted_value(to, w);
    }
    if (x.kind == LIFTED_INDEX)
        return lifted_index(to, lift_exact(l, x, op == LIFT_SEXT));
    kernel_value *w = lift_as_value(l, x);
    if (op == LIFT_SEXT && from < 32) {
        kernel_value *by = lift_number_value(l, 32, 32 - from);
        w = kernel_op2(k, KERNEL_SHR, ELEMENT_I32, kernel_op2(k, KERNEL_SHL, ELEMENT_I32, w, by), by);
        if (to < 32)
            w = kernel_op2(k, KERNEL_BIT_AND, ELEMENT_I32, w, lift_number_value(l, 32, ((int64_t)1 << to) - 1));
    }
    if (to > 32) {
        if (op == LIFT_ZEXT && from == 32)
            w = kernel_op1(k, KERNEL_BITCAST, ELEMENT_U32, w);
        w = kernel_op1(k, KERNEL_CONVERT, ELEMENT_INDEX, w);
    }
    return lifted_value(to, w);
}
