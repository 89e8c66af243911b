/* Helpers of emitted C that convert between types, bit for bit as base/element.c does. */
#include "target/c_helpers.h"

static void f16_scalar(maker *m, bool to) {
    cfamily *p = m->p;
    c_vector(p, "s16", "short", 2, 8);
    c_vector(p, "f32", "float", 4, 4);
    if (!to) {
        c_begin(m, "float", "uint16_t h");
        c_add(m, "#if defined(__F16C__) && __has_builtin(__builtin_ia32_vcvtph2ps)\n"
                 "    return __builtin_ia32_vcvtph2ps((s16x8){(short)h, 0, 0, 0, 0, 0, 0, 0})[0];\n"
                 "#else\n"
                 "    /* Widened as if the exponents were the same, then scaled: exact, subnormals included. */\n"
                 "    uint32_t w = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;\n"
                 "    float f;\n"
                 "    __builtin_memcpy(&f, &w, 4);\n"
                 "    f *= 0x1p112f;\n"
                 "    __builtin_memcpy(&w, &f, 4);\n"
                 "    if ((h & 0x7c00) == 0x7c00)\n"
                 "        w = 0x7f800000 | (uint32_t)(h & 0x3ff) << 13 | (h & 0x3ff ? 0x400000 : 0);\n"
                 "    w |= sign;\n"
                 "    __builtin_memcpy(&f, &w, 4);\n"
                 "    return f;\n"
                 "#endif\n}\n");
        return;
    }
    c_begin(m, "uint16_t", "float x");
    c_add(m, "#if defined(__F16C__) && __has_builtin(__builtin_ia32_vcvtps2ph)\n"
             "    return (uint16_t)__builtin_ia32_vcvtps2ph((f32x4){x, 0, 0, 0}, 0)[0];\n"
             "#else\n"
             "    uint32_t w, sign, shift, half, rest;\n"
             "    __builtin_memcpy(&w, &x, 4);\n"
             "    sign = w >> 16 & 0x8000;\n"
             "    w &= 0x7fffffff;\n"
             "    if (w > 0x7f800000)\n"
             "        return (uint16_t)(sign | 0x7e00 | (w >> 13 & 0x3ff));\n"
             "    if (w >= 0x477ff000)\n"
             "        return (uint16_t)(sign | 0x7c00);\n"
             "    if (w >= 0x38800000) {\n"
             "        w += 0xfff + (w >> 13 & 1);\n"
             "        return (uint16_t)(sign | (w - 0x38000000) >> 13);\n"
             "    }\n"
             "    if (w < 0x33000000)\n"
             "        return (uint16_t)sign;\n"
             "    shift = 126 - (w >> 23);\n"
             "    w = (w & 0x7fffff) | 0x800000;\n"
             "    half = w >> shift;\n"
             "    rest = w & ((1u << shift) - 1);\n"
             "    half += rest > 1u << (shift - 1) || (rest == 1u << (shift - 1) && (half & 1));\n"
             "    return (uint16_t)(sign | half);\n"
             "#endif\n}\n");
}

static void f16_vector(maker *m, bool to) {
    cfamily *p = m->p;
    const char *one = c_helper(p, HELPER_CONVERT, m->t, m->from, 1);
    const char *from = c_register_type(p, m->from, m->lanes);
    const char *s = c_vector(p, "s16", "short", 2, m->lanes);
    c_begin(m, m->v, c_form(m, "%s x", from));
    if (m->lanes == 16 && !to)
        c_add(m,
              "#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_vcvtph2ps512_mask)\n"
              "    return __builtin_ia32_vcvtph2ps512_mask((%s)x, (%s){0}, -1, 4);\n#else\n",
              s, m->v);
    else if (m->lanes == 16)
        c_add(m,
              "#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_vcvtps2ph512_mask)\n"
              "    return (%s)__builtin_ia32_vcvtps2ph512_mask(x, 0, (%s){0}, -1);\n#else\n",
              m->v, s);
    else if (m->lanes == 8 && !to)
        c_add(m,
              "#if defined(__F16C__) && __has_builtin(__builtin_ia32_vcvtph2ps256)\n    return "
              "__builtin_ia32_vcvtph2ps256((%s)x);\n#else\n",
              s);
    else if (m->lanes == 8)
        c_add(
            m,
            "#if defined(__F16C__) && __has_builtin(__builtin_ia32_vcvtps2ph256)\n    return (%s)__builtin_ia32_vcvtps2ph256(x, "
            "0);\n#else\n",
            m->v);
    c_add(m, "    %s r;\n    for (int l = 0; l < %d; l++)\n        r[l] = %s(x[l]);\n    return r;\n%s}\n", m->v, m->lanes, one,
          m->lanes == 16 || m->lanes == 8 ? "#endif\n" : "");
}

static void bf16_convert(maker *m, bool to) {
    bool vector = m->lanes > 1;
    const char *u = vector ? c_vector(m->p, "u32", "uint32_t", 4, m->lanes) : "uint32_t";
    const char *from = c_register_type(m->p, m->from, m->lanes);
    const char *sized = vector ? c_resize(m->p, to ? "u32" : "u16", to ? "u16" : "u32", m->lanes) : NULL;
    c_begin(m, m->v, c_form(m, "%s x", from));
    if (!to) {
        if (vector)
            c_add(m, "    return (%s)(%s(x) << 16);\n}\n", m->v, sized);
        else
            c_add(m, "    uint32_t w = (uint32_t)x << 16;\n    float f;\n    __builtin_memcpy(&f, &w, 4);\n    return f;\n}\n");
        return;
    }
    if (vector) {
        c_add(m, "    %s w = (%s)x, nan = (%s)(x != x);\n", u, u, u);
        c_add(m, "    %s even = (w + 0x7fff + (w >> 16 & 1)) >> 16, quiet = w >> 16 | 0x40;\n", u);
        c_add(m, "    return %s((quiet & nan) | (even & ~nan));\n}\n", sized);
    } else
        c_add(m,
              "    uint32_t w;\n    __builtin_memcpy(&w, &x, 4);\n    if (x != x)\n        return (uint16_t)(w >> 16 | 0x40);\n"
              "    return (uint16_t)((w + 0x7fff + (w >> 16 & 1)) >> 16);\n}\n");
}

/* The last 13 bits of an f32 rounded off, to nearest even. */
static void tf32_to(maker *m) {
    bool vector = m->lanes > 1;
    const char *u = vector ? c_vector(m->p, "u32", "uint32_t", 4, m->lanes) : "uint32_t";
    c_begin(m, m->v, c_form(m, "%s x", m->v));
    if (vector) {
        c_add(m, "    %s w = (%s)x, nan = (%s)(x != x);\n", u, u, u);
        c_add(m, "    %s even = w + 0xfff + (w >> 13 & 1), quiet = w | 0x400000;\n", u);
        c_add(m, "    return (%s)(((quiet & nan) | (even & ~nan)) & 0xffffe000);\n}\n", m->v);
    } else
        c_add(m, "    uint32_t w;\n    __builtin_memcpy(&w, &x, 4);\n"
                 "    w = (x != x ? w | 0x400000 : w + 0xfff + (w >> 13 & 1)) & 0xffffe000;\n"
                 "    __builtin_memcpy(&x, &w, 4);\n    return x;\n}\n");
}

static void fp8_from(maker *m) {
    bool vector = m->lanes > 1, e4m3 = m->from == ELEMENT_E4M3;
    const char *from = c_register_type(m->p, m->from, m->lanes);
    const char *u = vector ? c_vector(m->p, "u32", "uint32_t", 4, m->lanes) : "uint32_t";
    const char *i = vector ? c_vector(m->p, "i32", "int32_t", 4, m->lanes) : "int32_t";
    const char *wider = vector ? c_resize(m->p, "u8", "u32", m->lanes) : NULL;
    c_begin(m, m->v, c_form(m, "%s x", from));
    /* The bits stand where f32 has its own; a product with a power of two mends the exponent, subnormals included. */
    const char *scale = e4m3 ? "0x1p120f" : "0x1p112f";
    int shift = e4m3 ? 20 : 21;
    if (vector) {
        c_add(m, "    %s b = %s(x), magnitude = b & 0x7f;\n", u, wider);
        c_add(m, "    %s f = (%s)(magnitude << %d) * %s;\n", m->v, m->v, shift, scale);
        if (e4m3)
            c_add(m, "    %s special = (%s)((%s)(magnitude == 0x7f) & 0x7fc00000);\n", u, u, i);
        else
            c_add(m,
                  "    %s top = (%s)(magnitude == 0x7c), nan = (%s)(magnitude > 0x7c);\n"
                  "    %s special = (top & 0x7f800000) | (nan & 0x7fc00000);\n",
                  u, u, u, u);
        c_add(m, "    %s is_special = (%s)(magnitude >= %s);\n", u, u, e4m3 ? "0x7f" : "0x7c");
        c_add(m, "    return (%s)(((%s)f & ~is_special) | special | (b & 0x80) << 24);\n}\n", m->v, u);
    } else {
        c_add(m,
              "    uint32_t magnitude = x & 0x7f, w = magnitude << %d;\n    float f;\n    __builtin_memcpy(&f, &w, 4);\n    f *= "
              "%s;\n",
              shift, scale);
        c_add(m, "    __builtin_memcpy(&w, &f, 4);\n");
        c_add(m, e4m3 ? "    if (magnitude == 0x7f)\n        w = 0x7fc00000;\n"
                      : "    if (magnitude >= 0x7c)\n        w = magnitude == 0x7c ? 0x7f800000 : 0x7fc00000;\n");
        c_add(m, "    w |= (uint32_t)(x & 0x80) << 24;\n    __builtin_memcpy(&f, &w, 4);\n    return f;\n}\n");
    }
}

/* Rounds to nearest even. Normal results: the bits themselves are rounded; below, adding a constant lets f32's own rounding do it. */
static void fp8_to(maker *m, bool sat) {
    bool vector = m->lanes > 1, e4m3 = m->t == ELEMENT_E4M3;
    const char *u = vector ? c_vector(m->p, "u32", "uint32_t", 4, m->lanes) : "uint32_t";
    const char *from = c_register_type(m->p, ELEMENT_F32, m->lanes);
    int shift = e4m3 ? 20 : 21;
    unsigned half = e4m3 ? 0x7ffff : 0xfffff; /* half a unit less one, in f32 bits */
    unsigned rebias = e4m3 ? 120u << 23 : 112u << 23;
    unsigned least_normal = e4m3 ? 0x3c800000 : 0x38800000; /* 2^-6, 2^-14 */
    const char *lift = e4m3 ? "0x1p14f" : "0x1p7f";         /* one unit of it is the smallest subnormal: 2^-9, 2^-16 */
    unsigned lift_bits = e4m3 ? 0x46800000 : 0x43000000;
    unsigned over = e4m3 ? 0x43e80000 : 0x47700000; /* 464: above it (E5M2 61440: from it) the format is left */
    unsigned largest = e4m3 ? 0x7e : 0x7b, beyond = sat ? largest : e4m3 ? 0x7f : 0x7c, nan = e4m3 ? 0x7f : 0x7e;
    const char *compare = e4m3 ? ">" : ">=", *narrower = vector ? c_resize(m->p, "u32", "u8", m->lanes) : NULL;
    c_begin(m, m->v, c_form(m, "%s x", from));
    if (vector) {
        c_add(m, "    %s w = (%s)x, sign = w >> 24 & 0x80;\n    w &= 0x7fffffff;\n", u, u);
        c_add(m, "    %s normal = (w + 0x%x + (w >> %d & 1) - 0x%xu) >> %d;\n", u, half, shift, rebias, shift);
        c_add(m, "    %s small = (%s)((%s)w + %s) - 0x%xu;\n", u, u, from, lift, lift_bits);
        c_add(m, "    %s is_small = (%s)(w < 0x%xu), is_over = (%s)(w %s 0x%xu), is_nan = (%s)(w > 0x7f800000u);\n", u, u,
              least_normal, u, compare, over, u);
        c_add(m, "    %s r = (small & is_small) | (normal & ~is_small);\n", u);
        c_add(m, "    r = (r & ~is_over) | (is_over & 0x%x);\n    r = (r & ~is_nan) | (is_nan & 0x%x);\n", beyond, nan);
        c_add(m, "    return %s(r | sign);\n}\n", narrower);
    } else {
        c_add(m,
              "    uint32_t w, r, sign;\n    __builtin_memcpy(&w, &x, 4);\n    sign = w >> 24 & 0x80;\n    w &= 0x7fffffff;\n");
        c_add(m, "    if (w > 0x7f800000)\n        r = 0x%x;\n    else if (w %s 0x%x)\n        r = 0x%x;\n", nan, compare, over,
              beyond);
        c_add(m,
              "    else if (w < 0x%x) {\n        float f;\n        __builtin_memcpy(&f, &w, 4);\n        f += %s;\n        "
              "__builtin_memcpy(&r, &f, 4);\n"
              "        r -= 0x%x;\n    }",
              least_normal, lift, lift_bits);
        c_add(m, " else\n        r = (w + 0x%x + (w >> %d & 1) - 0x%x) >> %d;\n    return (uint8_t)(r | sign);\n}\n", half, shift,
              rebias, shift);
    }
}

/* f32 to an integer: toward zero, saturating, NaN gives 0. */
static void f32_to_integer(maker *m) {
    const char *lo = m->t == ELEMENT_I32 ? "-0x1p31f" : m->t == ELEMENT_I8 ? "-128.0f" : "0.0f";
    const char *hi = m->t == ELEMENT_I32 ? "0x1p31f" : m->t == ELEMENT_U32 ? "0x1p32f" : m->t == ELEMENT_I8 ? "127.0f" : "255.0f";
    const char *top = m->t == ELEMENT_I32 ? "INT32_MAX" : m->t == ELEMENT_U32 ? "UINT32_MAX" : m->t == ELEMENT_I8 ? "127" : "255";
    const char *bottom = m->t == ELEMENT_I32 ? "INT32_MIN" : m->t == ELEMENT_I8 ? "-128" : "0";
    if (m->lanes == 1) {
        c_begin(m, m->v, "float x");
        c_add(m, "    return x != x ? 0 : x >= %s ? %s : x <= %s ? %s : (%s)x;\n}\n", hi, top, lo, bottom, m->v);
        return;
    }
    const char *f = c_register_type(m->p, ELEMENT_F32, m->lanes);
    bool u32 = m->t == ELEMENT_U32;
    const char *w = u32 ? m->v : c_vector(m->p, "i32", "int32_t", 4, m->lanes);
    const char *select = c_helper(m->p, HELPER_SELECT, ELEMENT_F32, ELEMENT_F32, m->lanes);
    const char *splat = c_helper(m->p, HELPER_SPLAT, ELEMENT_F32, ELEMENT_F32, m->lanes);
    const char *narrower = m->t == ELEMENT_I8 || m->t == ELEMENT_U8 ? c_resize(m->p, "i32", c_type_tag(m->t), m->lanes) : NULL;
    c_begin(m, m->v, c_form(m, "%s x", f));
    c_add(m, "    x = %s(x == x, x, %s(0));\n", select, splat);
    if (m->t == ELEMENT_I32 || u32) {
        /* What lies outside is replaced before the conversion, so that it is defined. */
        c_add(m, "    %s high = x >= %s;\n    x = %s(high | (x < %s), %s(%s), x);\n", m->mask, hi, select, lo, splat, lo);
        c_add(m, "    %s r = __builtin_convertvector(x, %s);\n", w, w);
        if (u32)
            c_add(m, "    return r | (%s)high;\n}\n", m->v);
        else
            c_add(m, "    return r ^ high;\n}\n"); /* the least integer becomes the greatest */
    } else {
        c_add(m, "    x = %s(x > %s, %s(%s), x);\n    x = %s(x < %s, %s(%s), x);\n", select, hi, splat, hi, select, lo, splat,
              lo);
        c_add(m, "    return %s(__builtin_convertvector(x, %s));\n}\n", narrower, w);
    }
}

void c_make_convert(maker *m, bool sat) {
    cfamily *p = m->p;
    element_type t = m->t, from = m->from;
    const char *x = c_register_type(p, from, m->lanes);
    if ((t == ELEMENT_F32 && from == ELEMENT_F16) || (t == ELEMENT_F16 && from == ELEMENT_F32)) {
        if (m->lanes == 1)
            f16_scalar(m, t == ELEMENT_F16);
        else
            f16_vector(m, t == ELEMENT_F16);
    } else if ((t == ELEMENT_F32 && from == ELEMENT_BF16) || (t == ELEMENT_BF16 && from == ELEMENT_F32)) {
        bf16_convert(m, t == ELEMENT_BF16);
    } else if (t == ELEMENT_TF32) {
        tf32_to(m);
    } else if (t == ELEMENT_F32 && (from == ELEMENT_E4M3 || from == ELEMENT_E5M2)) {
        fp8_from(m);
    } else if ((t == ELEMENT_E4M3 || t == ELEMENT_E5M2) && from == ELEMENT_F32) {
        fp8_to(m, sat);
    } else if (from == ELEMENT_F32) {
        f32_to_integer(m);
    } else if (from == ELEMENT_BOOL) { /* masks are -1 and 0 */
        c_begin(m, m->v, c_form(m, "%s x", x));
        c_add(m, "    return __builtin_convertvector(x & 1, %s);\n}\n", m->v);
    } else {
        /* Narrow integers to f32 go by way of i32. */
        bool narrow = c_lane_bytes(from) == 1 && m->lanes > 1,
             narrows = c_lane_bytes(t) == 1 && m->lanes > 1 && c_lane_bytes(from) == 4;
        const char *tag = t == ELEMENT_F32 ? "i32" : c_type_tag(t);
        const char *sized = narrow && t != ELEMENT_INDEX ? c_resize(p, c_type_tag(from), tag, m->lanes)
                            : narrows                    ? c_resize(p, c_type_tag(from), tag, m->lanes)
                                                         : NULL;
        c_begin(m, m->v, c_form(m, "%s x", x));
        if (sized && t != ELEMENT_F32)
            c_add(m, "    return %s(x);\n}\n", sized);
        else
            c_add(m, "    return __builtin_convertvector(%s%s%s, %s);\n}\n", sized ? sized : "", sized ? "(x" : "x",
                  sized ? ")" : "", m->v);
    }
}

void c_make_bitcast(maker *m) {
    c_begin(m, m->v, c_form(m, "%s x", c_register_type(m->p, m->from, 1)));
    c_add(m, "    %s r;\n    __builtin_memcpy(&r, &x, sizeof r);\n    return r;\n}\n", m->v);
}
