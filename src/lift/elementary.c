/* Inverse functions of angles, and functions that keep what is small beside 1, in single precision: polynomials of the Cephes library's, and Kahan's forms of
 * expm1 and log1p. */
#include "lift/math.h"

static const double half_pi = 1.57079632679489661923, pi = 3.14159265358979323846;

static kernel_value *below(builder b, kernel_value *x, kernel_value *y) {
    return two(b, KERNEL_LT, x, y);
}

static kernel_value *equal(builder b, kernel_value *x, kernel_value *y) {
    return two(b, KERNEL_EQ, x, y);
}

/* c[0] x^(n-1) + .. + c[n-1] */
static kernel_value *polynomial(builder b, kernel_value *x, const double *c, int n) {
    kernel_value *r = number(b, c[0]);
    for (int i = 1; i < n; i++)
        r = kernel_op3(b.l->k, KERNEL_FMA, b.t, r, x, number(b, c[i]));
    return r;
}

static kernel_value *sign_bit(builder b, kernel_value *x) {
    kernel_value *bits = kernel_op1(b.l->k, KERNEL_BITCAST, ELEMENT_I32, x);
    return kernel_op2(b.l->k, KERNEL_LT, ELEMENT_BOOL, bits, kernel_const(b.l->k, ELEMENT_I32, 1, 0));
}

/* |x| with the sign of y */
static kernel_value *with_sign(builder b, kernel_value *x, kernel_value *y) {
    kernel_value *size = named(b, one(b, KERNEL_ABS, x));
    return choose(b, sign_bit(b, y), one(b, KERNEL_NEG, size), size);
}

/* Of x >= 0: about 0, 1 and infinity. */
static kernel_value *atan_positive(builder b, kernel_value *x) {
    static const double c[] = {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1};
    x = named(b, x);
    kernel_value *small = named(b, two(b, KERNEL_LE, x, number(b, 0.4142135623730950))),
                 *large = named(b, below(b, number(b, 2.414213562373095), x));
    kernel_value *inverse = two(b, KERNEL_DIV, number(b, -1), x),
                 *middle = two(b, KERNEL_DIV, two(b, KERNEL_SUB, x, number(b, 1)), two(b, KERNEL_ADD, x, number(b, 1)));
    kernel_value *r = named(b, choose(b, small, x, choose(b, large, inverse, middle)));
    kernel_value *base = choose(b, small, number(b, 0), choose(b, large, number(b, half_pi), number(b, half_pi / 2)));
    kernel_value *z = named(b, two(b, KERNEL_MUL, r, r));
    kernel_value *rest = kernel_op3(b.l->k, KERNEL_FMA, b.t, two(b, KERNEL_MUL, polynomial(b, z, c, 4), z), r, r);
    return two(b, KERNEL_ADD, base, rest);
}

/* asin of 0 .. 1/2, of which z is the square */
static kernel_value *asin_small(builder b, kernel_value *x, kernel_value *z) {
    static const double c[] = {4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1};
    return kernel_op3(b.l->k, KERNEL_FMA, b.t, two(b, KERNEL_MUL, polynomial(b, z, c, 5), z), x, x);
}

/* Beyond 1/2 by the half angle: asin x = pi/2 - 2 asin(sqrt((1 - x) / 2)). Beyond 1 the root is NaN. */
static kernel_value *asin_or_acos(builder b, kernel_value *x, bool cosine) {
    x = named(b, x);
    kernel_value *size = named(b, one(b, KERNEL_ABS, x)), *far = named(b, below(b, number(b, 0.5), size));
    kernel_value *half = named(b, two(b, KERNEL_MUL, number(b, 0.5), two(b, KERNEL_SUB, number(b, 1), size)));
    kernel_value *z = named(b, choose(b, far, half, two(b, KERNEL_MUL, size, size)));
    kernel_value *r = named(b, asin_small(b, choose(b, far, one(b, KERNEL_SQRT, z), size), z));
    kernel_value *twice = named(b, two(b, KERNEL_ADD, r, r));
    if (!cosine)
        return with_sign(b, choose(b, far, two(b, KERNEL_SUB, number(b, half_pi), twice), r), x);
    kernel_value *negative = named(b, sign_bit(b, x));
    kernel_value *outer = choose(b, negative, two(b, KERNEL_SUB, number(b, pi), twice), twice);
    kernel_value *inner = two(b, KERNEL_SUB, number(b, half_pi), choose(b, negative, one(b, KERNEL_NEG, r), r));
    return choose(b, far, outer, inner);
}

/* Of (|y|, |x|), then moved to the quadrant: also where both are 0, or infinite. */
static kernel_value *atan2_of(builder b, kernel_value *y, kernel_value *x) {
    x = named(b, x);
    y = named(b, y);
    kernel_value *p = named(b, one(b, KERNEL_ABS, y)), *q = named(b, one(b, KERNEL_ABS, x));
    kernel_value *ratio =
        choose(b, equal(b, p, number(b, 0)), number(b, 0), choose(b, equal(b, p, q), number(b, 1), two(b, KERNEL_DIV, p, q)));
    kernel_value *t = named(b, atan_positive(b, ratio));
    t = named(b, choose(b, sign_bit(b, x), two(b, KERNEL_SUB, number(b, pi), t), t));
    kernel_value *none = kernel_op2(b.l->k, KERNEL_OR, ELEMENT_BOOL, two(b, KERNEL_NE, x, x), two(b, KERNEL_NE, y, y));
    return choose(b, none, two(b, KERNEL_ADD, x, y), with_sign(b, t, y));
}

/* log(1 + x): the error of 1 + x is that of the divisor, too. */
static kernel_value *log1p_of(builder b, kernel_value *x) {
    x = named(b, x);
    kernel_value *u = named(b, two(b, KERNEL_ADD, number(b, 1), x)), *log = named(b, one(b, KERNEL_LOG, u));
    kernel_value *exact = two(b, KERNEL_MUL, log, two(b, KERNEL_DIV, x, two(b, KERNEL_SUB, u, number(b, 1))));
    kernel_value *same = choose(b, equal(b, u, number(b, 1)), x, exact);
    return choose(b, below(b, number(b, 1e10), x), log, same);
}

static kernel_value *expm1_of(builder b, kernel_value *x) {
    x = named(b, x);
    kernel_value *u = named(b, one(b, KERNEL_EXP, x)), *less = named(b, two(b, KERNEL_SUB, u, number(b, 1)));
    kernel_value *exact = two(b, KERNEL_MUL, less, two(b, KERNEL_DIV, x, one(b, KERNEL_LOG, u)));
    kernel_value *outer = kernel_op2(b.l->k, KERNEL_OR, ELEMENT_BOOL, below(b, number(b, 1), x), below(b, x, number(b, -1)));
    return choose(b, equal(b, u, number(b, 1)), x, choose(b, outer, less, exact));
}

/* Of large ones log(2 x). */
static kernel_value *inverse_hyperbolic(builder b, elementary f, kernel_value *x) {
    x = named(b, x);
    kernel_value *size = named(b, one(b, KERNEL_ABS, x));
    kernel_value *far = two(b, KERNEL_ADD, one(b, KERNEL_LOG, size), number(b, 0.69314718055994530942));
    if (f == E_ATANH) {
        kernel_value *ratio = two(b, KERNEL_DIV, two(b, KERNEL_ADD, size, size), two(b, KERNEL_SUB, number(b, 1), size));
        return with_sign(b, two(b, KERNEL_MUL, number(b, 0.5), log1p_of(b, ratio)), x);
    }
    kernel_value *inner;
    if (f == E_ASINH) { /* a + a^2 / (1 + sqrt(a^2 + 1)) */
        kernel_value *square = named(b, two(b, KERNEL_MUL, size, size));
        kernel_value *root = one(b, KERNEL_SQRT, two(b, KERNEL_ADD, square, number(b, 1)));
        inner = two(b, KERNEL_ADD, size, two(b, KERNEL_DIV, square, two(b, KERNEL_ADD, number(b, 1), root)));
    } else { /* of t = x - 1: t + sqrt(2 t + t^2); NaN below 1 */
        kernel_value *t = named(b, two(b, KERNEL_SUB, x, number(b, 1)));
        inner = two(b, KERNEL_ADD, t, one(b, KERNEL_SQRT, two(b, KERNEL_MUL, t, two(b, KERNEL_ADD, t, number(b, 2)))));
    }
    kernel_value *r = choose(b, below(b, number(b, 1e10), size), far, log1p_of(b, inner));
    if (f == E_ACOSH)
        return choose(b, below(b, x, number(b, 1)), number(b, NAN), r);
    return with_sign(b, r, x);
}

/* sin and cos of pi x, by the nearest quarter of a turn: what is left is exact, and small where the result is. */
static kernel_value *of_turns(builder b, bool cosine, kernel_value *x) {
    x = named(b, x);
    kernel_value *quarters = named(b, one(b, KERNEL_RINT, two(b, KERNEL_ADD, x, x)));
    kernel_value *rest = kernel_op3(b.l->k, KERNEL_FMA, b.t, quarters, number(b, -0.5), x);
    rest = named(b, two(b, KERNEL_MUL, rest, number(b, pi)));
    kernel_value *turns = one(b, KERNEL_FLOOR, two(b, KERNEL_MUL, quarters, number(b, 0.25)));
    kernel_value *which = two(b, KERNEL_SUB, quarters, two(b, KERNEL_MUL, turns, number(b, 4))); /* 0 .. 3 */
    which = named(b, cosine ? two(b, KERNEL_ADD, which, number(b, 1)) : which);                  /* cos x = sin(x + 1/4 turn) */
    kernel_value *odd = kernel_op2(b.l->k, KERNEL_OR, ELEMENT_BOOL, equal(b, which, number(b, 1)), equal(b, which, number(b, 3)));
    kernel_value *r = named(b, choose(b, odd, one(b, KERNEL_COS, rest), one(b, KERNEL_SIN, rest)));
    kernel_value *turned =
        kernel_op2(b.l->k, KERNEL_OR, ELEMENT_BOOL, equal(b, which, number(b, 2)), equal(b, which, number(b, 3)));
    r = choose(b, turned, one(b, KERNEL_NEG, r), r);
    return cosine ? two(b, KERNEL_ADD, r, number(b, 0)) : r; /* no zero below 0 */
}

/* By logarithms, and one of Newton's steps. */
static kernel_value *cube_root(builder b, kernel_value *x) {
    x = named(b, x);
    kernel_value *size = named(b, one(b, KERNEL_ABS, x));
    kernel_value *y = named(b, one(b, KERNEL_EXP, two(b, KERNEL_DIV, one(b, KERNEL_LOG, size), number(b, 3))));
    kernel_value *square = named(b, two(b, KERNEL_MUL, y, y));
    kernel_value *error = two(b, KERNEL_DIV, two(b, KERNEL_SUB, two(b, KERNEL_DIV, size, square), y), number(b, 3));
    kernel_value *finite =
        kernel_op2(b.l->k, KERNEL_AND, ELEMENT_BOOL, below(b, number(b, 0), size), below(b, size, number(b, INFINITY)));
    return choose(b, finite, with_sign(b, two(b, KERNEL_ADD, y, error), x), x);
}

kernel_value *lift_elementary(builder b, elementary f, kernel_value **x) {
    switch (f) {
    case E_ASIN: return asin_or_acos(b, x[0], false);
    case E_ACOS: return asin_or_acos(b, x[0], true);
    case E_ATAN: {
        kernel_value *own = named(b, x[0]);
        return with_sign(b, atan_positive(b, one(b, KERNEL_ABS, own)), own);
    }
    case E_ATAN2: return atan2_of(b, x[0], x[1]);
    case E_ASINH:
    case E_ACOSH:
    case E_ATANH: return inverse_hyperbolic(b, f, x[0]);
    case E_SINPI: return of_turns(b, false, x[0]);
    case E_COSPI: return of_turns(b, true, x[0]);
    case E_TANPI: {
        kernel_value *own = named(b, x[0]);
        return two(b, KERNEL_DIV, of_turns(b, false, own), of_turns(b, true, own));
    }
    case E_EXPM1: return expm1_of(b, x[0]);
    case E_LOG1P: return log1p_of(b, x[0]);
    case E_CBRT: return cube_root(b, x[0]);
    case E_COPYSIGN: return with_sign(b, x[0], named(b, x[1]));
    }
    return NULL;
}
