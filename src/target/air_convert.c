/* AIR: conversions, bit for bit as base/element.c makes them. Between integers and floats go Metal's own functions; narrow formats are put together from their
 * bits, the same text for scalars and vectors. */
#include "target/air.h"
#include <string.h>

/* One conversion under way: types as wide as the value. */
typedef struct conversion {
    air *a;
    int lanes;
    const char *f, *i, *h, *b; /* float, i32, i16, i8 */
} conversion;

static const char *bits(const conversion *c, unsigned literal) {
    return air_constant(c->a, "i32", arena_printf(c->a->arena, "%d", (int)literal), c->lanes);
}

static const char *number(const conversion *c, double x) {
    return air_constant(c->a, "float", air_float(c->a, x), c->lanes);
}

static const char *integer_op(const conversion *c, const char *op, const char *x, const char *y) {
    return air_pure(c->a, "%s %s %s, %s", op, c->i, x, y);
}

static const char *compare(const conversion *c, const char *how, const char *x, const char *y) {
    return air_pure(c->a, "icmp %s %s %s, %s", how, c->i, x, y);
}

static const char *choose(const conversion *c, const char *type, const char *condition, const char *x, const char *y) {
    return air_pure(c->a, "select %s %s, %s %s, %s %s", air_vector_of(c->a, "i1", c->lanes), condition, type, x, type, y);
}

static const char *as(const conversion *c, const char *how, const char *from, const char *x, const char *to) {
    return air_pure(c->a, "%s %s %s to %s", how, from, x, to);
}

/* @air.convert.f.f32.s.i32 and its kin. */
static const char *by_function(air *a, const char *to, const char *to_type, const char *from, const char *from_type, int lanes,
                               const char *x) {
    const char *width = lanes > 1 ? arena_printf(a->arena, "v%d", lanes) : "";
    const char *result = air_vector_of(a, to_type, lanes), *argument = air_vector_of(a, from_type, lanes);
    const char *dot_to = strchr(to, '.') + 1, *dot_from = strchr(from, '.') + 1;
    const char *name = arena_printf(a->arena, "air.convert.%c.%s%s.%c.%s%s", *to, width, dot_to, *from, width, dot_from);
    return air_call(a, result, name, argument, arena_printf(a->arena, "%s %s", argument, x));
}

static const char *bf16_from(const conversion *c, const char *x) { /* to f32 */
    const char *wide = as(c, "zext", c->h, x, c->i);
    return as(c, "bitcast", c->i, integer_op(c, "shl", wide, bits(c, 16)), c->f);
}

static const char *bf16_to(const conversion *c, const char *x) {
    const char *w = as(c, "bitcast", c->f, x, c->i), *high = integer_op(c, "lshr", w, bits(c, 16));
    const char *odd = integer_op(c, "and", high, bits(c, 1));
    const char *rounded = integer_op(c, "lshr", integer_op(c, "add", integer_op(c, "add", w, bits(c, 0x7fff)), odd), bits(c, 16));
    const char *quiet = integer_op(c, "or", high, bits(c, 0x40));
    const char *nan = air_pure(c->a, "fcmp uno %s %s, %s", c->f, x, number(c, 0));
    return as(c, "trunc", c->i, choose(c, c->i, nan, quiet, rounded), c->h);
}

static const char *tf32_to(const conversion *c, const char *x) { /* an f32 still */
    const char *w = as(c, "bitcast", c->f, x, c->i);
    const char *odd = integer_op(c, "and", integer_op(c, "lshr", w, bits(c, 13)), bits(c, 1));
    const char *even = integer_op(c, "add", integer_op(c, "add", w, bits(c, 0xfff)), odd);
    const char *nan = air_pure(c->a, "fcmp uno %s %s, %s", c->f, x, number(c, 0));
    const char *kept = choose(c, c->i, nan, integer_op(c, "or", w, bits(c, 0x400000)), even);
    return as(c, "bitcast", c->i, integer_op(c, "and", kept, bits(c, 0xffffe000)), c->f);
}

/* The bits stand where f32 has its own; a product with a power of two mends the exponent, subnormals included. */
static const char *fp8_from(const conversion *c, bool e4m3, const char *x) {
    const char *w = as(c, "zext", c->b, x, c->i), *magnitude = integer_op(c, "and", w, bits(c, 0x7f));
    const char *placed = as(c, "bitcast", c->i, integer_op(c, "shl", magnitude, bits(c, e4m3 ? 20 : 21)), c->f);
    const char *scaled =
        as(c, "bitcast", c->f, air_pure(c->a, "fmul %s %s, %s", c->f, placed, number(c, e4m3 ? 0x1p120 : 0x1p112)), c->i);
    const char *r;
    if (e4m3)
        r = choose(c, c->i, compare(c, "eq", magnitude, bits(c, 0x7f)), bits(c, 0x7fc00000), scaled);
    else
        r = choose(c, c->i, compare(c, "ugt", magnitude, bits(c, 0x7c)), bits(c, 0x7fc00000),
                   choose(c, c->i, compare(c, "eq", magnitude, bits(c, 0x7c)), bits(c, 0x7f800000), scaled));
    const char *sign = integer_op(c, "shl", integer_op(c, "and", w, bits(c, 0x80)), bits(c, 24));
    return as(c, "bitcast", c->i, integer_op(c, "or", r, sign), c->f);
}

/* Rounds to nearest even. Normal results: the bits themselves are rounded; below, adding a constant lets f32's own rounding do it. */
static const char *fp8_to(const conversion *c, bool e4m3, bool saturate, const char *x) {
    unsigned half = e4m3 ? 0x7ffff : 0xfffff, rebias = e4m3 ? 120u << 23 : 112u << 23,
             least_normal = e4m3 ? 0x3c800000 : 0x38800000;
    unsigned lift_bits = e4m3 ? 0x46800000 : 0x43000000, over = e4m3 ? 0x43e80000 : 0x47700000;
    unsigned largest = e4m3 ? 0x7e : 0x7b, beyond = saturate ? largest : e4m3 ? 0x7f : 0x7c, nan = e4m3 ? 0x7f : 0x7e;
    unsigned shift = e4m3 ? 20 : 21;
    const char *all = as(c, "bitcast", c->f, x, c->i),
               *sign = integer_op(c, "and", integer_op(c, "lshr", all, bits(c, 24)), bits(c, 0x80));
    const char *w = integer_op(c, "and", all, bits(c, 0x7fffffff));
    const char *odd = integer_op(c, "and", integer_op(c, "lshr", w, bits(c, shift)), bits(c, 1));
    const char *sum = integer_op(c, "sub", integer_op(c, "add", integer_op(c, "add", w, bits(c, half)), odd), bits(c, rebias));
    const char *normal = integer_op(c, "lshr", sum, bits(c, shift));
    const char *magnitude = as(c, "bitcast", c->i, w, c->f);
    const char *lifted = air_pure(c->a, "fadd %s %s, %s", c->f, magnitude, number(c, e4m3 ? 0x1p14 : 0x1p7));
    const char *small = integer_op(c, "sub", as(c, "bitcast", c->f, lifted, c->i), bits(c, lift_bits));
    const char *r = choose(c, c->i, compare(c, "ult", w, bits(c, least_normal)), small, normal);
    r = choose(c, c->i, compare(c, e4m3 ? "ugt" : "uge", w, bits(c, over)), bits(c, beyond), r);
    r = choose(c, c->i, compare(c, "ugt", w, bits(c, 0x7f800000)), bits(c, nan), r);
    return as(c, "trunc", c->i, integer_op(c, "or", r, sign), c->b);
}

/* Toward zero, saturating, NaN gives 0: what lies outside is replaced before the conversion, so that it is defined. */
static const char *f32_to_integer(const conversion *c, element_type to, const char *x) {
    air *a = c->a;
    bool is_signed = element_table[to].is_signed, wide = to == ELEMENT_I32 || to == ELEMENT_U32;
    double lo = to == ELEMENT_I32  ? -0x1p31
                : to == ELEMENT_I8 ? -128
                                   : 0,
           hi = to == ELEMENT_I32   ? 0x1p31
                : to == ELEMENT_U32 ? 0x1p32
                : to == ELEMENT_I8  ? 127
                                    : 255;
    const char *nan = air_pure(a, "fcmp uno %s %s, %s", c->f, x, number(c, 0));
    const char *above = air_pure(a, "fcmp oge %s %s, %s", c->f, x, number(c, hi));
    const char *below = air_pure(a, "fcmp ole %s %s, %s", c->f, x, number(c, lo));
    const char *safe = choose(c, c->f, nan, number(c, 0),
                              choose(c, c->f, above, number(c, wide ? 0 : hi), choose(c, c->f, below, number(c, lo), x)));
    const char *r = by_function(a, is_signed ? "s.i32" : "u.i32", "i32", "f.f32", "float", c->lanes, safe);
    if (wide)
        return choose(c, c->i, above, bits(c, to == ELEMENT_I32 ? 0x7fffffff : 0xffffffff), r);
    return as(c, "trunc", c->i, r, c->b);
}

const char *air_convert_to(air *a, element_type to, element_type from, int lanes, const char *x) {
    conversion made = {a,
                       lanes,
                       air_vector_of(a, "float", lanes),
                       air_vector_of(a, "i32", lanes),
                       air_vector_of(a, "i16", lanes),
                       air_vector_of(a, "i8", lanes)};
    const conversion *c = &made;
    if (from == to)
        return x;
    if (to == ELEMENT_F32)
        switch (from) {
        case ELEMENT_F16: return by_function(a, "f.f32", "float", "f.f16", "half", lanes, x);
        case ELEMENT_BF16: return bf16_from(c, x);
        case ELEMENT_E4M3:
        case ELEMENT_E5M2: return fp8_from(c, from == ELEMENT_E4M3, x);
        case ELEMENT_I8: return by_function(a, "f.f32", "float", "s.i32", "i32", lanes, as(c, "sext", c->b, x, c->i));
        case ELEMENT_U8: return by_function(a, "f.f32", "float", "u.i32", "i32", lanes, as(c, "zext", c->b, x, c->i));
        case ELEMENT_I32: return by_function(a, "f.f32", "float", "s.i32", "i32", lanes, x);
        case ELEMENT_U32: return by_function(a, "f.f32", "float", "u.i32", "i32", lanes, x);
        case ELEMENT_INDEX: return by_function(a, "f.f32", "float", "s.i64", "i64", lanes, x);
        case ELEMENT_BOOL:
            return by_function(a, "f.f32", "float", "u.i32", "i32", lanes, as(c, "zext", air_vector_of(a, "i1", lanes), x, c->i));
        default: return x; /* block formats are floats once they are loaded */
        }
    if (from == ELEMENT_F32)
        switch (to) {
        case ELEMENT_F16: return by_function(a, "f.f16", "half", "f.f32", "float", lanes, x);
        case ELEMENT_BF16: return bf16_to(c, x);
        case ELEMENT_TF32: return tf32_to(c, x);
        case ELEMENT_E4M3:
        case ELEMENT_E5M2: return fp8_to(c, to == ELEMENT_E4M3, false, x);
        case ELEMENT_I32:
        case ELEMENT_U32:
        case ELEMENT_I8:
        case ELEMENT_U8: return f32_to_integer(c, to, x);
        default: return NULL;
        }
    bool from_real = element_table[from].is_float, to_real = element_table[to].is_float;
    if (from_real || to_real) { /* f32 stands in the middle: every narrow float, and every narrow integer, is exact in it */
        if (!from_real && (from == ELEMENT_I32 || from == ELEMENT_U32 || from == ELEMENT_INDEX))
            return NULL;
        const char *middle = air_convert_to(a, ELEMENT_F32, from, lanes, x);
        return middle ? air_convert_to(a, to, ELEMENT_F32, lanes, middle) : NULL;
    }
    const char *from_type = air_type(a, from, lanes), *to_type = air_type(a, to, lanes);
    static const int width[ELEMENT_COUNT] = {
        [ELEMENT_I8] = 8, [ELEMENT_U8] = 8, [ELEMENT_I32] = 32, [ELEMENT_U32] = 32, [ELEMENT_INDEX] = 64, [ELEMENT_BOOL] = 1};
    if (to == ELEMENT_BOOL || !width[from] || !width[to])
        return NULL;
    if (width[from] == width[to])
        return x;
    bool is_signed = from == ELEMENT_I8 || from == ELEMENT_I32 || from == ELEMENT_INDEX;
    return as(c, width[from] > width[to] ? "trunc" : is_signed ? "sext" : "zext", from_type, x, to_type);
}

const char *air_convert(air *a, const kernel_value *v) {
    const kernel_value *x = v->operands[0];
    const char *text;
    if (element_table[x->type].block_elements > 1 && x->op == KERNEL_LOAD) {
        const char *element = air_load_block(a, &x->access, v->span);
        text = air_convert_to(a, v->type, ELEMENT_F32, v->lanes, element);
    } else if (v->saturate && (v->type == ELEMENT_E4M3 || v->type == ELEMENT_E5M2)) {
        const char *wide = air_convert_to(a, ELEMENT_F32, x->type, v->lanes, air_value(a, x));
        conversion made = {a,
                           v->lanes,
                           air_vector_of(a, "float", v->lanes),
                           air_vector_of(a, "i32", v->lanes),
                           air_vector_of(a, "i16", v->lanes),
                           air_vector_of(a, "i8", v->lanes)};
        text = wide ? fp8_to(&made, v->type == ELEMENT_E4M3, true, wide) : NULL;
    } else {
        text = air_convert_to(a, v->type, x->type, v->lanes, air_value(a, x));
    }
    if (text)
        return text;
    air_refuse(a, v->span, "`convert` from %s to %s", element_table[x->type].name, element_table[v->type].name);
    return "undef";
}
