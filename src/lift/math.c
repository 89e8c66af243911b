/* Functions of numbers that foreign code calls. Kernel IR has exp, log, tanh, erf, sin, cos, rsqrt and sqrt; the others are written with them, to the
 * accuracy that doc/reading.md states. */
#include "lift/math.h"
#include <string.h>

typedef enum function {
    F_EXP,
    F_EXP2,
    F_EXP10,
    F_LOG,
    F_LOG2,
    F_LOG10,
    F_TANH,
    F_ERF,
    F_SIN,
    F_COS,
    F_TAN,
    F_SQRT,
    F_RSQRT,
    F_FABS,
    F_FLOOR,
    F_CEIL,
    F_TRUNC,
    F_ROUND,
    F_RINT,
    F_FMIN,
    F_FMAX,
    F_FMA,
    F_POW,
    F_RECIP,
    F_DIVIDE,
    F_CLAMP,
    F_MIN,
    F_MAX,
    F_UMIN,
    F_UMAX,
    F_MIX,
    F_STEP,
    F_SIGN,
    F_MUL24,
    F_MAD24,
    F_ABS,
    F_SINH,
    F_COSH,
    F_ISNAN,
    F_ISINF,
    F_SATURATE,
    F_HYPOT,
    F_FDIM,
    F_RADIANS,
    F_DEGREES,
    F_SELECT,
    F_SMOOTHSTEP,
    F_ADD_SAT,
    F_SUB_SAT,
    F_HADD,
    F_RHADD,
    F_ABS_DIFF,
    F_ISFINITE,
    F_FRACT,
    F_ELEMENTARY /* and those of elementary.c from here on */
} function;

static const struct {
    const char *name;
    function f;
    int operands;
} functions[] = {{"exp", F_EXP, 1},
                 {"exp2", F_EXP2, 1},
                 {"exp10", F_EXP10, 1},
                 {"log", F_LOG, 1},
                 {"log2", F_LOG2, 1},
                 {"log10", F_LOG10, 1},
                 {"tanh", F_TANH, 1},
                 {"erf", F_ERF, 1},
                 {"sin", F_SIN, 1},
                 {"cos", F_COS, 1},
                 {"tan", F_TAN, 1},
                 {"sqrt", F_SQRT, 1},
                 {"fsqrt_rn", F_SQRT, 1},
                 {"rsqrt", F_RSQRT, 1},
                 {"frsqrt_rn", F_RSQRT, 1},
                 {"fabs", F_FABS, 1},
                 {"floor", F_FLOOR, 1},
                 {"ceil", F_CEIL, 1},
                 {"trunc", F_TRUNC, 1},
                 {"round", F_ROUND, 1},
                 {"rint", F_RINT, 1},
                 {"nearbyint", F_RINT, 1},
                 {"roundeven", F_RINT, 1},
                 {"fmin", F_FMIN, 2},
                 {"fmax", F_FMAX, 2},
                 {"minnum", F_FMIN, 2},
                 {"maxnum", F_FMAX, 2},
                 {"fma", F_FMA, 3},
                 {"mad", F_FMA, 3},
                 {"fmuladd", F_FMA, 3},
                 {"pow", F_POW, 2},
                 {"powr", F_POW, 2},
                 {"recip", F_RECIP, 1},
                 {"rcp", F_RECIP, 1},
                 {"frcp_rn", F_RECIP, 1},
                 {"divide", F_DIVIDE, 2},
                 {"fdivide", F_DIVIDE, 2},
                 {"fdividef", F_DIVIDE, 2},
                 {"clamp", F_CLAMP, 3},
                 {"min", F_MIN, 2},
                 {"max", F_MAX, 2},
                 {"smin", F_MIN, 2},
                 {"smax", F_MAX, 2},
                 {"umin", F_UMIN, 2},
                 {"umax", F_UMAX, 2},
                 {"mix", F_MIX, 3},
                 {"step", F_STEP, 2},
                 {"sign", F_SIGN, 1},
                 {"mul24", F_MUL24, 2},
                 {"mad24", F_MAD24, 3},
                 {"abs", F_ABS, 1},
                 {"sinh", F_SINH, 1},
                 {"cosh", F_COSH, 1},
                 {"isnan", F_ISNAN, 1},
                 {"isinf", F_ISINF, 1},
                 {"saturate", F_SATURATE, 1},
                 {"saturatef", F_SATURATE, 1},
                 {"fsaturate", F_SATURATE, 1},
                 {"hypot", F_HYPOT, 2},
                 {"fdim", F_FDIM, 2},
                 {"radians", F_RADIANS, 1},
                 {"degrees", F_DEGREES, 1},
                 {"select", F_SELECT, 3},
                 {"smoothstep", F_SMOOTHSTEP, 3},
                 {"copysign", F_ELEMENTARY + E_COPYSIGN, 2},
                 {"asin", F_ELEMENTARY + E_ASIN, 1},
                 {"acos", F_ELEMENTARY + E_ACOS, 1},
                 {"atan", F_ELEMENTARY + E_ATAN, 1},
                 {"atan2", F_ELEMENTARY + E_ATAN2, 2},
                 {"asinh", F_ELEMENTARY + E_ASINH, 1},
                 {"acosh", F_ELEMENTARY + E_ACOSH, 1},
                 {"atanh", F_ELEMENTARY + E_ATANH, 1},
                 {"sinpi", F_ELEMENTARY + E_SINPI, 1},
                 {"cospi", F_ELEMENTARY + E_COSPI, 1},
                 {"tanpi", F_ELEMENTARY + E_TANPI, 1},
                 {"expm1", F_ELEMENTARY + E_EXPM1, 1},
                 {"log1p", F_ELEMENTARY + E_LOG1P, 1},
                 {"cbrt", F_ELEMENTARY + E_CBRT, 1},
                 {"isfinite", F_ISFINITE, 1},
                 {"fract", F_FRACT, 1},
                 {"add_sat", F_ADD_SAT, 2},
                 {"sub_sat", F_SUB_SAT, 2},
                 {"hadd", F_HADD, 2},
                 {"rhadd", F_RHADD, 2},
                 {"abs_diff", F_ABS_DIFF, 2}};

static const char *without(const char *name, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(name, prefix, n) ? name : name + n;
}

static int find_plain(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i].name) == n && !memcmp(functions[i].name, name, n))
            return (int)i;
    return -1;
}

/* "native_expf" is exp: fast forms are allowed to be exact. */
static int find_function(const char *name) {
    name = without(name, "__");
    static const char *const prefixes[] = {"native_", "half_", "fast_", "precise_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        name = without(name, prefixes[i]);
    size_t n = strlen(name);
    int found = find_plain(name, n);
    if (found < 0 && n > 1 && name[n - 1] == 'f') /* C's functions of floats */
        found = find_plain(name, n - 1);
    return found;
}

bool lift_is_math(const char *name) {
    return find_function(name) >= 0;
}

/* exp(y log |x|), with the sign of a negative base to a whole power; NaN for others. */
static kernel_value *power(builder b, kernel_value *x, kernel_value *y) {
    if (y->op == KERNEL_CONST && y->number == 2)
        return two(b, KERNEL_MUL, named(b, x), named(b, x));
    if (y->op == KERNEL_CONST && y->number == 0.5)
        return one(b, KERNEL_SQRT, x);
    x = named(b, x);
    y = named(b, y);
    kernel_value *r = named(b, one(b, KERNEL_EXP, two(b, KERNEL_MUL, y, one(b, KERNEL_LOG, one(b, KERNEL_ABS, x)))));
    kernel_value *half = two(b, KERNEL_MUL, y, number(b, 0.5));
    kernel_value *odd = two(b, KERNEL_NE, one(b, KERNEL_FLOOR, half), half),
                 *whole = two(b, KERNEL_EQ, one(b, KERNEL_FLOOR, y), y);
    kernel_value *negative = choose(b, whole, choose(b, odd, one(b, KERNEL_NEG, r), r), number(b, NAN));
    kernel_value *any = choose(b, two(b, KERNEL_LT, x, number(b, 0)), negative, r);
    kernel_value *unit =
        kernel_op2(b.l->k, KERNEL_OR, ELEMENT_BOOL, two(b, KERNEL_EQ, y, number(b, 0)), two(b, KERNEL_EQ, x, number(b, 1)));
    return choose(b, unit, number(b, 1), any);
}

static kernel_value *of_floats(builder b, function f, kernel_value **x) {
    kernel_value *e, *s;
    switch (f) {
    case F_EXP: return one(b, KERNEL_EXP, x[0]);
    case F_EXP2: return one(b, KERNEL_EXP, two(b, KERNEL_MUL, x[0], number(b, 0.69314718055994530942)));
    case F_EXP10: return one(b, KERNEL_EXP, two(b, KERNEL_MUL, x[0], number(b, 2.30258509299404568402)));
    case F_LOG: return one(b, KERNEL_LOG, x[0]);
    case F_LOG2: return two(b, KERNEL_MUL, one(b, KERNEL_LOG, x[0]), number(b, 1.44269504088896340736));
    case F_LOG10: return two(b, KERNEL_MUL, one(b, KERNEL_LOG, x[0]), number(b, 0.43429448190325182765));
    case F_TANH: return one(b, KERNEL_TANH, x[0]);
    case F_ERF: return one(b, KERNEL_ERF, x[0]);
    case F_SIN: return one(b, KERNEL_SIN, x[0]);
    case F_COS: return one(b, KERNEL_COS, x[0]);
    case F_TAN: x[0] = named(b, x[0]); return two(b, KERNEL_DIV, one(b, KERNEL_SIN, x[0]), one(b, KERNEL_COS, x[0]));
    case F_SQRT: return one(b, KERNEL_SQRT, x[0]);
    case F_RSQRT: return one(b, KERNEL_RSQRT, x[0]);
    case F_FABS:
    case F_ABS: return one(b, KERNEL_ABS, x[0]);
    case F_FLOOR: return one(b, KERNEL_FLOOR, x[0]);
    case F_CEIL: return one(b, KERNEL_NEG, one(b, KERNEL_FLOOR, one(b, KERNEL_NEG, x[0])));
    case F_RINT: return one(b, KERNEL_RINT, x[0]);
    case F_TRUNC: return trunc_of(b, named(b, x[0]));
    case F_ROUND: { /* half away from zero */
        x[0] = named(b, x[0]);
        kernel_value *t = named(b, trunc_of(b, x[0]));
        kernel_value *far = two(b, KERNEL_LE, number(b, 0.5), one(b, KERNEL_ABS, two(b, KERNEL_SUB, x[0], t)));
        s = choose(b, two(b, KERNEL_LT, x[0], number(b, 0)), number(b, -1), number(b, 1));
        return choose(b, far, two(b, KERNEL_ADD, t, s), t);
    }
    case F_FMIN:
    case F_MIN:
    case F_UMIN: return two(b, KERNEL_MIN, x[0], x[1]);
    case F_FMAX:
    case F_MAX:
    case F_UMAX: return two(b, KERNEL_MAX, x[0], x[1]);
    case F_FMA: return kernel_op3(b.l->k, KERNEL_FMA, b.t, x[0], x[1], x[2]);
    case F_POW: return power(b, x[0], x[1]);
    case F_RECIP: return two(b, KERNEL_DIV, number(b, 1), x[0]);
    case F_DIVIDE: return two(b, KERNEL_DIV, x[0], x[1]);
    case F_CLAMP: return two(b, KERNEL_MIN, two(b, KERNEL_MAX, x[0], x[1]), x[2]);
    case F_SATURATE: return two(b, KERNEL_MIN, two(b, KERNEL_MAX, x[0], number(b, 0)), number(b, 1));
    case F_MIX: return two(b, KERNEL_ADD, named(b, x[0]), two(b, KERNEL_MUL, two(b, KERNEL_SUB, x[1], named(b, x[0])), x[2]));
    case F_STEP: return choose(b, two(b, KERNEL_LT, x[1], x[0]), number(b, 0), number(b, 1));
    case F_SIGN:
        x[0] = named(b, x[0]);
        return choose(b, two(b, KERNEL_LT, number(b, 0), x[0]), number(b, 1),
                      choose(b, two(b, KERNEL_LT, x[0], number(b, 0)), number(b, -1), number(b, 0)));
    case F_SINH:
    case F_COSH:
        e = named(b, one(b, KERNEL_EXP, named(b, x[0])));
        s = two(b, KERNEL_DIV, number(b, 1), e);
        return two(b, KERNEL_MUL, two(b, f == F_SINH ? KERNEL_SUB : KERNEL_ADD, e, s), number(b, 0.5));
    case F_HYPOT:
        x[0] = named(b, x[0]);
        x[1] = named(b, x[1]);
        return one(b, KERNEL_SQRT, two(b, KERNEL_ADD, two(b, KERNEL_MUL, x[0], x[0]), two(b, KERNEL_MUL, x[1], x[1])));
    case F_FDIM:
        x[0] = named(b, x[0]);
        x[1] = named(b, x[1]);
        return choose(b, two(b, KERNEL_LE, x[0], x[1]), number(b, 0), two(b, KERNEL_SUB, x[0], x[1]));
    case F_RADIANS: return two(b, KERNEL_MUL, x[0], number(b, 0.017453292519943295769));
    case F_DEGREES: return two(b, KERNEL_MUL, x[0], number(b, 57.295779513082320877));
    case F_SMOOTHSTEP: {
        kernel_value *t = two(b, KERNEL_DIV, two(b, KERNEL_SUB, x[2], named(b, x[0])), two(b, KERNEL_SUB, x[1], named(b, x[0])));
        t = named(b, two(b, KERNEL_MIN, two(b, KERNEL_MAX, t, number(b, 0)), number(b, 1)));
        return two(b, KERNEL_MUL, two(b, KERNEL_MUL, t, t),
                   two(b, KERNEL_SUB, number(b, 3), two(b, KERNEL_MUL, number(b, 2), t)));
    }
    case F_FRACT:
        x[0] = named(b, x[0]);
        return two(b, KERNEL_MIN, two(b, KERNEL_SUB, x[0], one(b, KERNEL_FLOOR, x[0])), number(b, 0x1.fffffep-1));
    default: return f >= F_ELEMENTARY ? lift_elementary(b, (elementary)(f - F_ELEMENTARY), x) : NULL;
    }
}

static lifted at_lane(const lifted *x, int i) {
    return x->kind == LIFTED_ELEMENTS ? x->elements[i < x->count ? i : 0] : *x;
}

/* (x + y) / 2, rounded down or up, without the sum: the bits that both have, or that any has, and half of those that differ. */
static lifted mean(lifter *l, const lift_value *v, bool up, const lifted *x, int bits, bool is_signed) {
    lifted half = lift_integer(l, v, LIFT_ASHR, lift_integer(l, v, LIFT_XOR, x[0], x[1]), lifted_number(l, bits, 1));
    if (!is_signed)
        half = lift_integer(l, v, LIFT_AND, half, lifted_number(l, bits, INT64_MAX));
    return up ? lift_integer(l, v, LIFT_SUB, lift_integer(l, v, LIFT_OR, x[0], x[1]), half)
              : lift_integer(l, v, LIFT_ADD, lift_integer(l, v, LIFT_AND, x[0], x[1]), half);
}

/* Of exact sums, which fit an index as long as the type has 32 bits at most. */
static lifted of_sums(lifter *l, const lift_value *v, function f, const lifted *x, int bits, bool is_signed) {
    arena *a = l->arena;
    if (bits > 32 && (f == F_HADD || f == F_RHADD))
        return mean(l, v, f == F_RHADD, x, bits, is_signed);
    if (bits > 32) {
        lift_fail(l, "E1128", v, "`%s` of 64-bit integers", v->callee);
        return x[0];
    }
    index_expr *p = lift_exact(l, x[0], is_signed), *q = lift_exact(l, x[1], is_signed), *r;
    if (lift_stopped(l))
        return x[0];
    int64_t least = is_signed ? -((int64_t)1 << (bits - 1)) : 0, most = least + ((int64_t)1 << bits) - 1;
    switch (f) {
    case F_HADD:
    case F_RHADD: r = ix_floordiv(a, ix_add(a, ix_add(a, p, q), ix_const(a, f == F_RHADD)), ix_const(a, 2)); break;
    case F_ABS_DIFF: r = ix_max(a, ix_sub(a, p, q), ix_sub(a, q, p)); break;
    default:
        r = f == F_ADD_SAT ? ix_add(a, p, q) : ix_sub(a, p, q);
        r = ix_max(a, ix_const(a, least), ix_min(a, r, ix_const(a, most)));
    }
    return lifted_index(bits, r);
}

static lifted of_integers(lifter *l, const lift_value *v, function f, lifted *x, int bits, bool is_unsigned) {
    lift_type t = {.kind = LIFT_INTEGER, .bits = bits};
    lift_predicate less = is_unsigned || f == F_UMIN || f == F_UMAX ? LIFT_ULT : LIFT_SLT;
    switch (f) {
    case F_MIN:
    case F_UMIN:
    case F_FMIN: return lift_select(l, lift_compare(l, v, less, x[0], x[1], bits), x[0], x[1], &t);
    case F_MAX:
    case F_UMAX:
    case F_FMAX: return lift_select(l, lift_compare(l, v, less, x[1], x[0], bits), x[0], x[1], &t);
    case F_CLAMP: {
        lifted low = of_integers(l, v, F_MAX, x, bits, is_unsigned);
        lifted pair[2] = {low, x[2]};
        return of_integers(l, v, F_MIN, pair, bits, is_unsigned);
    }
    case F_MUL24: return lift_integer(l, v, LIFT_MUL, x[0], x[1]);
    case F_MAD24: return lift_integer(l, v, LIFT_ADD, lift_integer(l, v, LIFT_MUL, x[0], x[1]), x[2]);
    case F_ABS: {
        lifted zero = lifted_number(l, bits, 0);
        lifted minus = lift_integer(l, v, LIFT_SUB, zero, x[0]);
        lifted pair[2] = {x[0], minus};
        return is_unsigned ? x[0] : of_integers(l, v, F_MAX, pair, bits, false);
    }
    case F_ADD_SAT:
    case F_SUB_SAT:
    case F_HADD:
    case F_RHADD:
    case F_ABS_DIFF: return of_sums(l, v, f, x, bits, !is_unsigned);
    default: lift_fail(l, "E1128", v, "`%s` of integers", v->callee ? v->callee : ""); return x[0];
    }
}

/* OpenCL's mangled names say what is unsigned: h t j m; AIR's end in u and a width. */
bool lift_says_unsigned(const char *callee) {
    const char *dot = strrchr(callee, '.');
    if (strncmp(callee, "_Z", 2))
        return !strncmp(callee, "air.", 4) && (dot[1] == 'u' || strstr(callee, ".u."));
    const char *c = callee + 2;
    size_t n = 0;
    while (*c >= '0' && *c <= '9')
        n = n * 10 + (size_t)(*c++ - '0');
    if (strlen(c) < n)
        return false;
    c += n;
    if (!strncmp(c, "Dv", 2))
        c = strchr(c, '_') ? strchr(c, '_') + 1 : c;
    return *c && strchr("htjm", *c);
}

static lifted lane_result(lifter *l, const lift_value *v, function f, const lift_type *from, const lift_type *to, lifted *x,
                          int n) {
    kernel_ir *k = l->k;
    if (from->kind == LIFT_INTEGER && f != F_SELECT) {
        for (int i = 0; i < n; i++)
            x[i].bits = from->bits;
        return of_integers(l, v, f, x, from->bits, lift_says_unsigned(v->callee));
    }
    if (f == F_SELECT) { /* select(a, b, c): b where c is set: for scalars, not 0 */
        const lift_type *ct = v->operands[2]->type;
        bool vector = ct->kind == LIFT_VECTOR;
        ct = vector ? ct->element : ct;
        x[2].bits = ct->bits;
        lifted zero = lifted_number(l, ct->bits, 0);
        lifted c =
            vector ? lift_compare(l, v, LIFT_SLT, x[2], zero, ct->bits) : lift_compare(l, v, LIFT_NE, x[2], zero, ct->bits);
        return lift_select(l, c, x[1], x[0], to);
    }
    kernel_value *a[3] = {0};
    bool narrow = from->kind != LIFT_FLOAT;
    if (from->kind == LIFT_DOUBLE) {
        lift_fail(l, "E1124", v, "`%s` of double precision", v->callee);
        return x[0];
    }
    bool own =
        from->kind == LIFT_HALF && (f == F_FABS || f == F_FMIN || f == F_FMAX || f == F_FMA || f == F_SQRT || f == F_FLOOR ||
                                    f == F_RINT || f == F_MIN || f == F_MAX || f == F_CLAMP || f == F_CEIL || f == F_TRUNC);
    for (int i = 0; i < n; i++) {
        a[i] = lift_as_value(l, x[i]);
        if (narrow && !own && a[i]->type != ELEMENT_F32 && element_table[a[i]->type].is_float)
            a[i] = kernel_op1(k, KERNEL_CONVERT, ELEMENT_F32, a[i]);
        if (!element_table[a[i]->type].is_float) {
            lift_fail(l, "E1128", v, "`%s` of a float and an integer", v->callee);
            return x[0];
        }
    }
    builder b = {l, own ? ELEMENT_F16 : ELEMENT_F32};
    if (f == F_ISNAN || f == F_ISINF || f == F_ISFINITE) {
        kernel_value *c = f == F_ISNAN
                              ? two(b, KERNEL_NE, named(b, a[0]), named(b, a[0]))
                              : two(b, f == F_ISINF ? KERNEL_EQ : KERNEL_LT, one(b, KERNEL_ABS, a[0]), number(b, INFINITY));
        lifted r = lifted_value(1, c);
        return to->kind == LIFT_INTEGER && to->bits > 1
                   ? lift_extend(l, v, v->type->kind == LIFT_VECTOR ? LIFT_SEXT : LIFT_ZEXT, r, 1, to->bits)
                   : r;
    }
    kernel_value *r = of_floats(b, f, a);
    if (!r) {
        lift_fail(l, "E1128", v, "the function `%s`", v->callee);
        return x[0];
    }
    if (narrow && !own)
        r = kernel_op1(k, KERNEL_CONVERT, lift_value_type(from), r);
    return lifted_value(from->kind == LIFT_FLOAT ? 32 : 16, r);
}

bool lift_math(lifter *l, const lift_value *v, const char *name, lifted *out) {
    int found = find_function(name);
    if (found < 0 || v->operand_count < functions[found].operands)
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
    const lift_type *to = v->type;
    if (to->kind != LIFT_VECTOR) {
        *out = lane_result(l, v, functions[found].f, v->operands[0]->type, to, x, n);
        return true;
    }
    *out = (lifted){.kind = LIFTED_ELEMENTS, .count = (int)to->count, .elements = NEW_ARRAY(l->arena, lifted, to->count)};
    for (int i = 0; i < out->count && !lift_stopped(l); i++) {
        lifted lane[3];
        const lift_type *from = v->operands[0]->type;
        bool any = false;
        for (int j = 0; j < n; j++) {
            lane[j] = at_lane(&x[j], i);
            any = any || lane[j].kind == LIFTED_ANY;
        }
        out->elements[i] =
            any ? (lifted){.kind = LIFTED_ANY}
                : lane_result(l, v, functions[found].f, from->kind == LIFT_VECTOR ? from->element : from, to->element, lane, n);
    }
    return true;
}
