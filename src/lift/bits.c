/* Functions of an integer's bits, which Kernel IR has not, by shifts and masks: counts, rotations, the upper half of a product, sums of products of bytes. */
#include "lift/integer.h"
#include <string.h>

typedef enum bits_function {
    COUNT_ONES,
    COUNT_LEADING, /* zeros; of 0 all bits */
    COUNT_TRAILING,
    FIND_FIRST, /* the lowest bit set, from 1 on; of 0 none: 0 */
    REVERSE,
    ROTATE,
    UPPER_UNSIGNED, /* half of a product of twice the width */
    UPPER_BY_NAME,  /* whose signs the callee's name says */
    UPPER_SUM,      /* and a third operand */
    DOT_BYTES,
    FUNNEL_LEFT
} bits_function;

static const struct {
    const char *name;
    bits_function f;
    int operands;
} functions[] = {{"popcount", COUNT_ONES, 1},
                 {"popc", COUNT_ONES, 1},
                 {"popcll", COUNT_ONES, 1},
                 {"ctpop", COUNT_ONES, 1},
                 {"clz", COUNT_LEADING, 1},
                 {"clzll", COUNT_LEADING, 1},
                 {"ctlz", COUNT_LEADING, 1},
                 {"ctz", COUNT_TRAILING, 1},
                 {"cttz", COUNT_TRAILING, 1},
                 {"ffs", FIND_FIRST, 1},
                 {"ffsll", FIND_FIRST, 1},
                 {"brev", REVERSE, 1},
                 {"reverse_bits", REVERSE, 1},
                 {"bitreverse", REVERSE, 1},
                 {"rotate", ROTATE, 2},
                 {"fshl", FUNNEL_LEFT, 3},
                 {"mulhi", UPPER_BY_NAME, 2},
                 {"umulhi", UPPER_UNSIGNED, 2},
                 {"mul_hi", UPPER_BY_NAME, 2},
                 {"mad_hi", UPPER_SUM, 3},
                 {"dp4a", DOT_BYTES, 3},
                 {"udp4a", DOT_BYTES, 3},
                 {"dot_4x8packed_ss_int", DOT_BYTES, 2},
                 {"dot_4x8packed_su_int", DOT_BYTES, 2},
                 {"dot_4x8packed_us_int", DOT_BYTES, 2},
                 {"dot_4x8packed_uu_uint", DOT_BYTES, 2},
                 {"dot_acc_sat_4x8packed_ss_int", DOT_BYTES, 3},
                 {"dot_acc_sat_4x8packed_su_int", DOT_BYTES, 3},
                 {"dot_acc_sat_4x8packed_us_int", DOT_BYTES, 3},
                 {"dot_acc_sat_4x8packed_uu_uint", DOT_BYTES, 3}};

static int find(const char *name) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name))
            return (int)i;
    return -1;
}

bool lift_is_bits(const char *name) {
    return find(name) >= 0;
}

/* As a value with a name, since it is used more than once: what becomes of its bits is no arithmetic of indices. */
static lifted word(lifter *l, lifted x) {
    kernel_value *v = lift_as_value(l, x);
    return lift_stopped(l) ? x : lifted_value(x.bits, kernel_ref(l->k, lift_let(l, "bits", v)));
}

static lifted op(lifter *l, lift_opcode o, lifted x, lifted y) {
    return lift_stopped(l) ? x : lift_integer(l, l->now, o, x, y);
}

static lifted by(lifter *l, lift_opcode o, lifted x, int64_t n) {
    return op(l, o, x, lifted_number(l, x.bits, n));
}

/* Between 0 and 63, which the prover then knows. */
static lifted few(lifter *l, lifted x) {
    return by(l, LIFT_AND, x, 63);
}

/* Of 32 bits, as the two functions below. */
static lifted ones(lifter *l, lifted x) {
    x = word(l, x);
    x = word(l, op(l, LIFT_SUB, x, by(l, LIFT_AND, by(l, LIFT_LSHR, x, 1), 0x55555555)));
    x = word(l, op(l, LIFT_ADD, by(l, LIFT_AND, x, 0x33333333), by(l, LIFT_AND, by(l, LIFT_LSHR, x, 2), 0x33333333)));
    x = by(l, LIFT_AND, op(l, LIFT_ADD, x, by(l, LIFT_LSHR, x, 4)), 0x0f0f0f0f);
    return by(l, LIFT_LSHR, by(l, LIFT_MUL, x, 0x01010101), 24);
}

static lifted leading(lifter *l, lifted x) {
    x = word(l, x);
    for (int n = 1; n < 32; n *= 2)
        x = word(l, op(l, LIFT_OR, x, by(l, LIFT_LSHR, x, n)));
    return op(l, LIFT_SUB, lifted_number(l, 32, 32), few(l, ones(l, x)));
}

static lifted reversed(lifter *l, lifted x) {
    static const int64_t masks[] = {0x55555555, 0x33333333, 0x0f0f0f0f, 0x00ff00ff, 0x0000ffff};
    for (int i = 0; i < 5; i++) {
        x = word(l, x);
        lifted up = by(l, LIFT_SHL, by(l, LIFT_AND, x, masks[i]), 1 << i);
        x = op(l, LIFT_OR, word(l, up), by(l, LIFT_AND, by(l, LIFT_LSHR, x, 1 << i), masks[i]));
    }
    return x;
}

static lifted trailing(lifter *l, lifted x) { /* the bits below the lowest one */
    x = word(l, x);
    return ones(l, op(l, LIFT_AND, by(l, LIFT_XOR, x, -1), by(l, LIFT_SUB, x, 1)));
}

static lifted is_zero(lifter *l, lifted x) {
    return lift_compare(l, l->now, LIFT_EQ, x, lifted_number(l, 32, 0), 32);
}

static lifted pick(lifter *l, lifted c, lifted x, lifted y) {
    lift_type t = {.kind = LIFT_INTEGER, .bits = 32};
    return lift_stopped(l) ? x : lift_select(l, c, word(l, x), word(l, y), &t);
}

/* A count of x's bits, which has `bits`, at most 64. */
static lifted counted(lifter *l, bits_function f, lifted x, int bits) {
    if (bits <= 32) {
        lifted w = bits < 32 ? lift_extend(l, l->now, LIFT_ZEXT, x, bits, 32) : x;
        if (f == COUNT_ONES)
            return few(l, ones(l, w));
        if (f == COUNT_LEADING)
            return by(l, LIFT_SUB, leading(l, w), 32 - bits);
        if (bits < 32) /* those above end what trails */
            w = by(l, LIFT_OR, w, (int64_t)1 << bits);
        w = word(l, w);
        lifted below = few(l, trailing(l, w));
        if (f == COUNT_TRAILING)
            return below;
        lifted none = bits < 32 ? lift_compare(l, l->now, LIFT_EQ, below, lifted_number(l, 32, bits), 32) : is_zero(l, w);
        return few(l, pick(l, none, lifted_number(l, 32, 0), by(l, LIFT_ADD, below, 1)));
    }
    lifted low = word(l, lift_extend(l, l->now, LIFT_TRUNC, x, 64, 32));
    lifted high = word(l, lift_extend(l, l->now, LIFT_TRUNC, by(l, LIFT_ASHR, x, 32), 64, 32));
    lifted a = counted(l, f == FIND_FIRST ? COUNT_TRAILING : f, low, 32),
           b = counted(l, f == FIND_FIRST ? COUNT_TRAILING : f, high, 32);
    if (f == COUNT_ONES)
        return by(l, LIFT_AND, op(l, LIFT_ADD, a, b), 127);
    if (f == COUNT_LEADING)
        return by(l, LIFT_AND, pick(l, is_zero(l, high), by(l, LIFT_ADD, a, 32), b), 127);
    lifted below = by(l, LIFT_AND, pick(l, is_zero(l, low), by(l, LIFT_ADD, b, 32), a), 127);
    if (f == COUNT_TRAILING)
        return below;
    lifted none = is_zero(l, op(l, LIFT_OR, low, high));
    return by(l, LIFT_AND, pick(l, none, lifted_number(l, 32, 0), by(l, LIFT_ADD, below, 1)), 127);
}

/* The upper 32 bits of a product, by halves of 16. */
static lifted upper(lifter *l, lifted x, lifted y, bool is_signed) {
    x = word(l, x);
    y = word(l, y);
    lifted xl = word(l, by(l, LIFT_AND, x, 0xffff)), xh = word(l, by(l, LIFT_LSHR, x, 16));
    lifted yl = word(l, by(l, LIFT_AND, y, 0xffff)), yh = word(l, by(l, LIFT_LSHR, y, 16));
    lifted u = word(l, op(l, LIFT_ADD, op(l, LIFT_MUL, xh, yl), by(l, LIFT_LSHR, word(l, op(l, LIFT_MUL, xl, yl)), 16)));
    lifted w = word(l, op(l, LIFT_ADD, op(l, LIFT_MUL, xl, yh), by(l, LIFT_AND, u, 0xffff)));
    lifted r = op(l, LIFT_ADD, op(l, LIFT_MUL, xh, yh), op(l, LIFT_ADD, by(l, LIFT_LSHR, u, 16), by(l, LIFT_LSHR, w, 16)));
    if (!is_signed)
        return r;
    r = op(l, LIFT_SUB, r, op(l, LIFT_AND, by(l, LIFT_ASHR, x, 31), y));
    return op(l, LIFT_SUB, r, op(l, LIFT_AND, by(l, LIFT_ASHR, y, 31), x));
}

/* Where both are indices whose product fits, so is its upper half. */
static bool upper_index(lifter *l, lifted x, lifted y, int bits, bool is_signed, lifted *out) {
    if (x.kind != LIFTED_INDEX || y.kind != LIFTED_INDEX)
        return false;
    lift_range a = lift_range_of(l, x.x), b = lift_range_of(l, y.x), fits = lift_type_range(bits, is_signed);
    lift_range whole = {-((wide_integer)1 << 62), (wide_integer)1 << 62};
    if (!lift_inside(a, fits) || !lift_inside(b, fits) || !lift_inside(lift_range_product(a, b), whole))
        return false;
    *out = lifted_index(bits, ix_floordiv(l->arena, ix_mul(l->arena, x.x, y.x), ix_const(l->arena, (int64_t)1 << bits)));
    return true;
}

static lifted upper_half(lifter *l, lifted x, lifted y, int bits, bool is_signed) {
    lifted r;
    if (upper_index(l, x, y, bits, is_signed, &r))
        return r;
    if (bits == 32)
        return upper(l, x, y, is_signed);
    lift_opcode wide = is_signed ? LIFT_SEXT : LIFT_ZEXT;
    r = op(l, LIFT_MUL, lift_extend(l, l->now, wide, x, bits, 32), lift_extend(l, l->now, wide, y, bits, 32));
    return lift_extend(l, l->now, LIFT_TRUNC, by(l, LIFT_ASHR, word(l, r), bits), 32, bits);
}

/* x rotated to the left, modulo its width. */
static lifted rotated(lifter *l, lifted x, lifted n, int bits) {
    int64_t constant;
    x = word(l, x);
    if (!lift_is_number(&n, &constant))
        n = word(l, n);
    lifted left = by(l, LIFT_AND, n, bits - 1);
    lifted right = by(l, LIFT_AND, op(l, LIFT_SUB, lifted_number(l, bits, 0), n), bits - 1);
    if (bits == 32)
        return op(l, LIFT_OR, word(l, op(l, LIFT_SHL, x, left)), word(l, op(l, LIFT_LSHR, x, right)));
    lifted w = lift_extend(l, l->now, LIFT_ZEXT, x, bits, 32);
    left = lift_extend(l, l->now, LIFT_ZEXT, left, bits, 32);
    right = lift_extend(l, l->now, LIFT_ZEXT, right, bits, 32);
    w = op(l, LIFT_OR, word(l, op(l, LIFT_SHL, w, left)), word(l, op(l, LIFT_LSHR, w, right)));
    return lift_extend(l, l->now, LIFT_TRUNC, w, 32, bits);
}

/* Which operands' bytes have signs, by the name's letters: "_su_" the first. */
static void signs_of(const char *name, bool *x, bool *y) {
    const char *at = strstr(name, "packed_");
    *x = at ? at[7] == 's' : *name != 'u';
    *y = at ? at[8] == 's' : *name != 'u';
}

static lifted byte_of(lifter *l, lifted x, int i, bool is_signed) {
    if (!is_signed)
        return by(l, LIFT_AND, by(l, LIFT_LSHR, x, 8 * i), 255);
    return by(l, LIFT_ASHR, word(l, by(l, LIFT_SHL, x, 24 - 8 * i)), 24);
}

static lifted dot_bytes(lifter *l, const char *name, const lifted *x, int n) {
    bool first, second, saturates = strstr(name, "_sat") != NULL, is_signed = !strstr(name, "uint");
    signs_of(name, &first, &second);
    lifted a = word(l, x[0]), b = word(l, x[1]), sum = {0};
    for (int i = 0; i < 4; i++) {
        lifted p = op(l, LIFT_MUL, word(l, byte_of(l, a, i, first)), word(l, byte_of(l, b, i, second)));
        sum = i ? op(l, LIFT_ADD, sum, p) : p;
    }
    sum = word(l, sum);
    if (n == 2 || !saturates || lift_stopped(l))
        return n == 2 ? sum : op(l, LIFT_ADD, sum, x[2]);
    arena *m = l->arena;
    index_expr *p = lift_exact(l, sum, is_signed), *q = lift_exact(l, x[2], is_signed);
    if (lift_stopped(l))
        return sum;
    lift_range all = lift_type_range(32, is_signed);
    index_expr *least = ix_const(m, (int64_t)all.lo), *most = ix_const(m, (int64_t)all.hi);
    return lifted_index(32, ix_max(m, least, ix_min(m, ix_add(m, p, q), most)));
}

static lifted result(lifter *l, const lift_value *v, int found, lifted *x, int bits) {
    bits_function f = functions[found].f;
    for (int i = 0; i < functions[found].operands; i++)
        x[i].bits = bits;
    switch (f) {
    case COUNT_ONES:
    case COUNT_LEADING:
    case COUNT_TRAILING:
    case FIND_FIRST: {
        const lift_type *t = v->type->kind == LIFT_VECTOR ? v->type->element : v->type;
        lifted r = counted(l, f, x[0], bits);
        if (lift_stopped(l) || t->bits == 32)
            return r;
        return lift_extend(l, v, t->bits > 32 ? LIFT_ZEXT : LIFT_TRUNC, r, 32, t->bits);
    }
    case REVERSE: {
        lifted w = bits < 32 ? lift_extend(l, v, LIFT_ZEXT, x[0], bits, 32) : x[0];
        w = reversed(l, w);
        return bits < 32 ? lift_extend(l, v, LIFT_TRUNC, by(l, LIFT_LSHR, word(l, w), 32 - bits), 32, bits) : w;
    }
    case ROTATE:
    case FUNNEL_LEFT: return rotated(l, x[0], x[functions[found].operands - 1], bits);
    case UPPER_UNSIGNED: return upper_half(l, x[0], x[1], bits, false);
    case UPPER_BY_NAME:
    case UPPER_SUM: {
        lifted r = upper_half(l, x[0], x[1], bits, !lift_says_unsigned(v->callee));
        return f == UPPER_SUM ? op(l, LIFT_ADD, r, x[2]) : r;
    }
    case DOT_BYTES: return dot_bytes(l, functions[found].name, x, functions[found].operands);
    }
    return x[0];
}

bool lift_bits_call(lifter *l, const lift_value *v, const char *name) {
    int found = find(name);
    if (found < 0 || v->operand_count < functions[found].operands)
        return false;
    bits_function f = functions[found].f;
    const lift_type *t = v->operands[0]->type, *own = t->kind == LIFT_VECTOR ? t->element : t;
    bool counts = f == COUNT_ONES || f == COUNT_LEADING || f == COUNT_TRAILING || f == FIND_FIRST;
    if (own->kind != LIFT_INTEGER || (v->type->kind == LIFT_VECTOR && t->kind != LIFT_VECTOR))
        return false;
    int n = functions[found].operands;
    lifted x[3];
    for (int i = 0; i < n; i++) {
        x[i] = lift_operand(l, v->operands[i]);
        if (x[i].kind == LIFTED_ANY)
            lift_fail(l, "E1125", v, "a value that nothing has set is used");
    }
    if (lift_stopped(l))
        return true;
    if (own->bits < 8 || own->bits > (counts ? 64 : 32) || (f == DOT_BYTES && own->bits != 32) ||
        (f == FUNNEL_LEFT && !lift_same(&x[0], &x[1]))) {
        lift_fail(l, "E1128", v, "`%s` of %s", name, t->text);
        return true;
    }
    if (v->type->kind != LIFT_VECTOR) {
        lifted r = result(l, v, found, x, own->bits);
        if (!lift_stopped(l))
            lift_set(l, v, r);
        return true;
    }
    lifted all = {.kind = LIFTED_ELEMENTS, .count = (int)t->count, .elements = NEW_ARRAY(l->arena, lifted, t->count)};
    for (int i = 0; i < all.count && !lift_stopped(l); i++) {
        lifted lane[3];
        for (int j = 0; j < n; j++) {
            lane[j] = x[j].kind == LIFTED_ELEMENTS ? x[j].elements[i] : x[j];
            if (lane[j].kind == LIFTED_ANY)
                lift_fail(l, "E1125", v, "a value that nothing has set is used");
        }
        if (!lift_stopped(l))
            all.elements[i] = result(l, v, found, lane, own->bits);
    }
    if (!lift_stopped(l))
        lift_set(l, v, all);
    return true;
}
