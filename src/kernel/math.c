/* The seven functions as straight-line Kernel IR. The polynomials come from scripts/fit_math.py. */
#include "kernel/math.h"
#include <math.h>
#include <string.h>

/* Builds into one math_function; every value made by `name_` is a LET of its own, so nothing is computed twice. */
typedef struct builder {
    kernel_ir *ir;
    kernel_block *body;
    int lanes;
    math_function *out;
} builder;

static const source_span nowhere = {.file = "math"};

static kernel_value *let(builder *b, const char *name, kernel_value *v) {
    return kernel_ref(b->ir, kernel_let(b->ir, b->body, name, v, nowhere));
}
static kernel_value *f(builder *b, double x) {
    return kernel_const(b->ir, ELEMENT_F32, b->lanes, x);
}
static kernel_value *i(builder *b, int32_t x) {
    return kernel_const(b->ir, ELEMENT_I32, b->lanes, x);
}
static kernel_value *u(builder *b, uint32_t x) {
    return kernel_const(b->ir, ELEMENT_U32, b->lanes, x);
}
static kernel_value *add(builder *b, kernel_value *x, kernel_value *y) {
    return kernel_op2(b->ir, KERNEL_ADD, x->type, x, y);
}
static kernel_value *sub(builder *b, kernel_value *x, kernel_value *y) {
    return kernel_op2(b->ir, KERNEL_SUB, x->type, x, y);
}
static kernel_value *mul(builder *b, kernel_value *x, kernel_value *y) {
    return kernel_op2(b->ir, KERNEL_MUL, x->type, x, y);
}
static kernel_value *quotient(builder *b, kernel_value *x, kernel_value *y) {
    return kernel_op2(b->ir, KERNEL_DIV, x->type, x, y);
}
static kernel_value *fused(builder *b, kernel_value *x, kernel_value *y, kernel_value *z) {
    return kernel_op3(b->ir, KERNEL_FMA, ELEMENT_F32, x, y, z);
}
static kernel_value *less(builder *b, kernel_value *x, kernel_value *y) {
    return kernel_op2(b->ir, KERNEL_LT, x->type, x, y);
}
static kernel_value *equal(builder *b, kernel_value *x, kernel_value *y) {
    return kernel_op2(b->ir, KERNEL_EQ, x->type, x, y);
}
static kernel_value *pick(builder *b, kernel_value *c, kernel_value *x, kernel_value *y) {
    return kernel_op3(b->ir, KERNEL_SELECT, x->type, c, x, y);
}
static kernel_value *unary(builder *b, kernel_op op, kernel_value *x) {
    return kernel_op1(b->ir, op, x->type, x);
}
static kernel_value *as(builder *b, kernel_op op, element_type t, kernel_value *x) {
    return kernel_op1(b->ir, op, t, x);
}
static kernel_value *bits(builder *b, kernel_value *x) {
    return as(b, KERNEL_BITCAST, ELEMENT_U32, x);
}
static kernel_value *real(builder *b, kernel_value *x) {
    return as(b, KERNEL_BITCAST, ELEMENT_F32, x);
}
static kernel_value *bit(builder *b, kernel_op op, kernel_value *x, kernel_value *y) {
    return kernel_op2(b->ir, op, x->type, x, y);
}
static kernel_value *shift_left(builder *b, kernel_value *x, int n) {
    return bit(b, KERNEL_SHL, x, x->type == ELEMENT_I32 ? i(b, n) : u(b, (uint32_t)n));
}
static kernel_value *shift_right(builder *b, kernel_value *x, int n) {
    return bit(b, KERNEL_SHR, x, x->type == ELEMENT_I32 ? i(b, n) : u(b, (uint32_t)n));
}
static kernel_value * and (builder * b, kernel_value *x, uint32_t mask) {
    return bit(b, KERNEL_BIT_AND, x, u(b, mask));
}
static kernel_value *not_a_number(builder *b) {
    return real(b, u(b, 0x7fc00000));
}

/* Horner's rule, coefficients from the constant term up. */
static kernel_value *polynomial(builder *b, kernel_value *x, const double *c, int count) {
    kernel_value *p = f(b, c[count - 1]);
    for (int n = count - 2; n >= 0; n--)
        p = fused(b, p, x, f(b, c[n]));
    return p;
}
#define POLYNOMIAL(b, x, ...)                                                                                                    \
    polynomial((b), (x), (const double[]){__VA_ARGS__}, (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

/* The magnitude of `result` with `sign`'s top bit toggled into it. */
static kernel_value *with_sign(builder *b, kernel_value *result, kernel_value *sign) {
    return real(b, bit(b, KERNEL_BIT_XOR, bits(b, result), sign));
}

/* Adding 1.5 * 2^23 rounds to an integer and leaves it in the last bits: cheaper than rint and a conversion that saturates. */
#define ROUNDER 0x1.8p23
enum { ROUNDER_BITS = 0x4b400000 };

/* exp(x) = 2^n exp(r), |r| <= ln 2 / 2. The scale is applied in two halves so that results below 2^-126 round once. */
static kernel_value *exp_of(builder *b, kernel_value *x) {
    kernel_value *low = let(b, "above", pick(b, less(b, x, f(b, -104)), f(b, -104), x)); /* keeps a NaN */
    kernel_value *c = let(b, "clamped", pick(b, less(b, f(b, 89), low), f(b, 89), low));
    kernel_value *t = let(b, "t", fused(b, c, f(b, 0x1.715476p+0), f(b, ROUNDER)));
    kernel_value *n = let(b, "n", sub(b, t, f(b, ROUNDER)));
    kernel_value *r1 = fused(b, n, f(b, -0x1.62e43p-1), c);
    kernel_value *r = let(b, "r", fused(b, n, f(b, 0x1.05c61p-29), r1));
    kernel_value *p = POLYNOMIAL(b, r, 0x1.fffffcp-2, 0x1.555482p-3, 0x1.555826p-5, 0x1.12449p-7, 0x1.6afdep-10);
    kernel_value *y = let(b, "y", add(b, fused(b, mul(b, r, r), let(b, "p", p), r), f(b, 1)));
    kernel_value *k = let(b, "k", sub(b, as(b, KERNEL_BITCAST, ELEMENT_I32, t), i(b, ROUNDER_BITS)));
    kernel_value *lower = let(b, "lower", shift_right(b, k, 1));
    kernel_value *other = sub(b, k, lower);
    kernel_value *s1 = let(b, "s1", real(b, shift_left(b, add(b, lower, i(b, 127)), 23)));
    kernel_value *s2 = let(b, "s2", real(b, shift_left(b, add(b, other, i(b, 127)), 23)));
    return mul(b, mul(b, y, s1), s2);
}

/* log(x) = n ln 2 + log(1 + g), sqrt(1/2) <= 1 + g < sqrt(2). */
static kernel_value *log_of(builder *b, kernel_value *x) {
    kernel_value *tiny = let(b, "tiny", less(b, x, f(b, 0x1p-126)));
    kernel_value *scaled = let(b, "scaled", pick(b, tiny, mul(b, x, f(b, 0x1p23)), x));
    kernel_value *w = let(b, "w", sub(b, as(b, KERNEL_BITCAST, ELEMENT_I32, scaled), i(b, 0x3f3504f3)));
    kernel_value *m = as(b, KERNEL_BITCAST, ELEMENT_F32, add(b, bit(b, KERNEL_BIT_AND, w, i(b, 0x7fffff)), i(b, 0x3f3504f3)));
    kernel_value *g = let(b, "g", sub(b, m, f(b, 1)));
    kernel_value *e = as(b, KERNEL_CONVERT, ELEMENT_F32, shift_right(b, w, 23));
    kernel_value *n = let(b, "n", add(b, e, pick(b, tiny, f(b, -23), f(b, 0))));
    kernel_value *p = POLYNOMIAL(b, g, 0x1.555548p-2, -0x1.000006p-2, 0x1.99a4b6p-3, -0x1.555c4ep-3, 0x1.23376ap-3,
                                 -0x1.fc220ap-4, 0x1.e6f052p-4, -0x1.de3bdep-4, 0x1.145780p-4);
    kernel_value *q = fused(b, let(b, "p", p), g, f(b, -0.5));
    kernel_value *t = let(b, "t", fused(b, mul(b, g, g), q, fused(b, n, f(b, 0x1.7f7d1cp-20), g)));
    kernel_value *y = let(b, "y", fused(b, n, f(b, 0x1.62e4p-1), t));
    kernel_value *r = let(b, "finite", pick(b, less(b, x, f(b, INFINITY)), y, x)); /* infinity and NaN give themselves */
    kernel_value *s = let(b, "positive", pick(b, less(b, x, f(b, 0)), not_a_number(b), r));
    return pick(b, equal(b, x, f(b, 0)), f(b, -INFINITY), s);
}

static kernel_value *tanh_of(builder *b, kernel_value *x) {
    kernel_value *sign = let(b, "sign", and(b, bits(b, x), 0x80000000));
    kernel_value *a = let(b, "a", unary(b, KERNEL_ABS, x));
    kernel_value *c = let(b, "clamped", pick(b, less(b, f(b, 10), a), f(b, 10), a));
    kernel_value *e = let(b, "e", unary(b, KERNEL_EXP, add(b, c, c)));
    kernel_value *large = let(b, "large", sub(b, f(b, 1), quotient(b, f(b, 2), add(b, e, f(b, 1)))));
    kernel_value *s = let(b, "s", mul(b, a, a));
    kernel_value *p = POLYNOMIAL(b, s, -0x1.555534p-2, 0x1.11075ep-3, -0x1.b842c4p-5, 0x1.524c4p-6, -0x1.767a14p-8);
    kernel_value *small = let(b, "small", fused(b, mul(b, a, s), let(b, "p", p), a));
    return with_sign(b, pick(b, less(b, a, f(b, 0.625)), small, large), sign);
}

/* Below 1: x + x P(x^2). Above: 1 - exp(Q(x) - x), Q(x) - x being log erfc(x); from 4 on it rounds to 1. */
static kernel_value *erf_of(builder *b, kernel_value *x) {
    kernel_value *sign = let(b, "sign", and(b, bits(b, x), 0x80000000));
    kernel_value *a = let(b, "a", unary(b, KERNEL_ABS, x));
    kernel_value *c = let(b, "clamped", pick(b, less(b, f(b, 4), a), f(b, 4), a));
    kernel_value *q = POLYNOMIAL(b, c, 0x1.8a5596p-13, -0x1.096066p-3, -0x1.443568p-1, -0x1.bc15p-4, 0x1.9d0296p-6,
                                 -0x1.138bb4p-8, 0x1.cec198p-12, -0x1.6bd1b8p-16);
    kernel_value *e = let(b, "e", unary(b, KERNEL_EXP, sub(b, q, c)));
    kernel_value *large = let(b, "large", sub(b, f(b, 1), e));
    kernel_value *s = let(b, "s", mul(b, a, a));
    kernel_value *p = POLYNOMIAL(b, s, 0x1.06eba8p-3, -0x1.812740p-2, 0x1.ce2d5p-4, -0x1.b7fe9p-6, 0x1.542e0ep-8, -0x1.a50ae8p-11,
                                 0x1.4c339cp-14);
    kernel_value *small = let(b, "small", fused(b, a, let(b, "p", p), a));
    return with_sign(b, pick(b, less(b, a, f(b, 1)), small, large), sign);
}

/* The upper 32 bits of a 24-bit number times a 32-bit one. */
static kernel_value *high_product(builder *b, kernel_value *m, kernel_value *n) {
    kernel_value *ml = and(b, m, 0xffff), *mh = shift_right(b, m, 16), *nl = and(b, n, 0xffff), *nh = shift_right(b, n, 16);
    kernel_value *low = let(b, "low", mul(b, ml, nl));
    kernel_value *mid = let(b, "mid", mul(b, ml, nh));
    kernel_value *cross = add(b, add(b, shift_right(b, low, 16), and(b, mid, 0xffff)), mul(b, mh, nl));
    return add(b, add(b, mul(b, mh, nh), shift_right(b, mid, 16)), shift_right(b, let(b, "cross", cross), 16));
}

/* a >= 0 as q quarter turns and an angle in [-pi/4, pi/4]. Below 2^16 three parts of pi/2 are subtracted (exactly: n times the
 * first part fits). From there on the fraction of a * 2/pi is taken from a window of 2/pi's bits (Payne and Hanek): multiples of
 * four quarter turns are never formed, so the result is good over all floats. Both ways are described, without a branch; the second may be skipped. */
static kernel_value *quarter_turns(builder *b, kernel_value *a, kernel_value **turns) {
    kernel_value *whole = let(b, "whole", fused(b, a, f(b, 0x1.45f306p-1), f(b, ROUNDER)));
    kernel_value *n = let(b, "n", sub(b, whole, f(b, ROUNDER)));
    kernel_value *r1 = let(b, "r1", fused(b, n, f(b, -0x1.921fb6p+0), a));
    kernel_value *r2 = fused(b, n, f(b, 0x1.777a5cp-25), r1);
    kernel_value *near = let(b, "near", fused(b, n, f(b, 0x1.ee59dap-50), r2));
    kernel_value *near_turns = bits(b, whole); /* only the last two bits matter */

    kernel_value *is_near = let(b, "is_near", less(b, a, f(b, 65536)));

    b->out->rare_first = b->body->items.count;
    static const uint32_t two_over_pi[] = {0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
    kernel_value *w = let(b, "w", bits(b, a));
    kernel_value *m = let(b, "m", bit(b, KERNEL_BIT_OR, and(b, w, 0x7fffff), u(b, 0x800000)));
    /* The window begins `skip` bits into 0.0000000_a2f9836e..: exponent + 7; what lies before it adds multiples of 4. */
    kernel_value *skip = let(b, "skip", sub(b, shift_right(b, w, 23), u(b, 120)));
    kernel_value *word = let(b, "word", shift_right(b, skip, 5));
    kernel_value *left = let(b, "left", and(b, skip, 31)), *right = let(b, "right", sub(b, u(b, 31), left));
    kernel_value *raw[4];
    for (int k = 0; k < 4; k++) {
        kernel_value *v = u(b, two_over_pi[k]);
        for (int start = 1; start <= 4; start++)
            v = pick(b, equal(b, word, u(b, (uint32_t)start)), u(b, two_over_pi[start + k]), v);
        raw[k] = let(b, "raw", v);
    }
    kernel_value *window[3];
    for (int k = 0; k < 3; k++)
        window[k] = let(
            b, "window",
            bit(b, KERNEL_BIT_OR, bit(b, KERNEL_SHL, raw[k], left), bit(b, KERNEL_SHR, shift_right(b, raw[k + 1], 1), right)));
    kernel_value *l1 = let(b, "l1", mul(b, m, window[1]));
    kernel_value *mid = let(b, "middle", add(b, l1, high_product(b, m, window[2])));
    kernel_value *carry = pick(b, less(b, mid, l1), u(b, 1), u(b, 0));
    kernel_value *top = let(b, "top", add(b, add(b, mul(b, m, window[0]), high_product(b, m, window[1])), carry));
    /* top:mid counts quarter turns with 62 bits of fraction; the fraction is made signed, then positive with its sign apart. */
    kernel_value *h = let(b, "h", bit(b, KERNEL_BIT_OR, shift_left(b, top, 2), shift_right(b, mid, 30)));
    kernel_value *l = let(b, "l", shift_left(b, mid, 2));
    kernel_value *negative = let(b, "negative", shift_right(b, h, 31));
    kernel_value *far_turns = let(b, "far_turns", add(b, shift_right(b, top, 30), negative));
    kernel_value *flip = let(b, "flip", sub(b, u(b, 0), negative));
    kernel_value *zero_low = pick(b, equal(b, l, u(b, 0)), negative, u(b, 0));
    kernel_value *hm = let(b, "hm", add(b, bit(b, KERNEL_BIT_XOR, h, flip), zero_low));
    kernel_value *lm = let(b, "lm", add(b, bit(b, KERNEL_BIT_XOR, l, flip), negative));
    kernel_value *big =
        let(b, "big", as(b, KERNEL_CONVERT, ELEMENT_F32, as(b, KERNEL_BITCAST, ELEMENT_I32, and(b, hm, 0xffffff00))));
    kernel_value *rest = bit(b, KERNEL_BIT_OR, shift_left(b, hm, 24), shift_right(b, lm, 8));
    kernel_value *rest_real = let(b, "rest", mul(b, as(b, KERNEL_CONVERT, ELEMENT_F32, rest), f(b, 0x1p-24)));
    kernel_value *t = let(b, "t", mul(b, big, f(b, 0x1.921fb6p+0)));
    kernel_value *lost = fused(b, big, f(b, 0x1.921fb6p+0), unary(b, KERNEL_NEG, t));
    kernel_value *tail = add(b, lost, fused(b, big, f(b, -0x1.777a5cp-25), mul(b, rest_real, f(b, 0x1.921fb6p+0))));
    kernel_value *far_angle = mul(b, add(b, t, tail), f(b, 0x1p-32));
    kernel_value *far = let(b, "far", with_sign(b, far_angle, shift_left(b, negative, 31)));

    b->out->rare_last = b->body->items.count;
    b->out->common = is_near;
    b->out->rare[0] = far_turns->let;
    b->out->rare[1] = far->let;

    *turns = let(b, "turns", pick(b, is_near, near_turns, far_turns));
    kernel_value *angle = let(b, "angle", pick(b, is_near, near, far));
    return let(b, "finite", pick(b, less(b, a, f(b, INFINITY)), angle, sub(b, a, a))); /* infinity - infinity is NaN */
}

/* sin or cos of q quarter turns and r: the polynomial of sin when q is even (odd for cos), negated for q mod 4 >= 2. */
static kernel_value *of_quarter(builder *b, kernel_value *r, kernel_value *q, kernel_value *sign) {
    kernel_value *s = let(b, "s", mul(b, r, r));
    kernel_value *ps = POLYNOMIAL(b, s, -0x1.555544p-3, 0x1.1106bcp-7, -0x1.991694p-13);
    kernel_value *sine = let(b, "sine", fused(b, mul(b, r, s), ps, r));
    kernel_value *pc = POLYNOMIAL(b, s, -0.5, 0x1.55554ep-5, -0x1.6c0e1p-10, 0x1.9a58ccp-16);
    kernel_value *cosine = let(b, "cosine", fused(b, s, pc, f(b, 1)));
    kernel_value *v = pick(b, equal(b, and(b, q, 1), u(b, 0)), sine, cosine);
    kernel_value *turn = shift_left(b, and(b, q, 2), 30);
    return with_sign(b, v, sign ? bit(b, KERNEL_BIT_XOR, turn, sign) : turn);
}

static kernel_value *sin_of(builder *b, kernel_value *x) {
    kernel_value *sign = let(b, "sign", and(b, bits(b, x), 0x80000000)), *q;
    kernel_value *r = quarter_turns(b, let(b, "a", unary(b, KERNEL_ABS, x)), &q);
    return of_quarter(b, r, q, sign);
}

static kernel_value *cos_of(builder *b, kernel_value *x) {
    kernel_value *q, *r = quarter_turns(b, let(b, "a", unary(b, KERNEL_ABS, x)), &q);
    return of_quarter(b, r, let(b, "next", add(b, q, u(b, 1))), NULL);
}

static kernel_value *rsqrt_of(builder *b, kernel_value *x) {
    return quotient(b, f(b, 1), unary(b, KERNEL_SQRT, x));
}

bool math_describe(arena *a, kernel_op op, int lanes, math_function *out) {
    kernel_value *(*of)(builder *, kernel_value *);
    switch (op) {
    case KERNEL_EXP: of = exp_of; break;
    case KERNEL_LOG: of = log_of; break;
    case KERNEL_TANH: of = tanh_of; break;
    case KERNEL_ERF: of = erf_of; break;
    case KERNEL_SIN: of = sin_of; break;
    case KERNEL_COS: of = cos_of; break;
    case KERNEL_RSQRT: of = rsqrt_of; break;
    default: return false;
    }
    kernel_ir *ir = kernel_new(a, kernel_op_table[op].name, nowhere);
    kernel_block *outside = NEW(a, kernel_block);
    builder b = {ir, &ir->body, lanes, out};
    *out = (math_function){.name = kernel_op_table[op].name, .ir = ir, .body = &ir->body};
    out->argument = kernel_let(ir, outside, "x", kernel_const(ir, ELEMENT_F32, lanes, 0), nowhere);
    out->result = of(&b, kernel_ref(ir, out->argument));
    return true;
}
