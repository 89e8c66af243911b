/* Functions of emitted MSL that its library lacks, or leaves open in what the language settles. Each is written once, when first used; scalars and
 * vectors share one text, since constructors, select and comparisons are spelt alike for both. */
#include "target/metal.h"
#include <string.h>

typedef struct writer {
    cfamily *p;
    element_type t, from;
    int lanes;
    const char *v, *x, *u, *i, *b; /* types: of the result, of what is converted, and uint, int and bool as wide */
    const char *name;
} writer;

const char *metal_scalar_type(element_type t) {
    switch (t) {
    case ELEMENT_F16: return "half";
    case ELEMENT_BF16:
    case ELEMENT_U16: return "ushort";
    case ELEMENT_I8: return "char";
    case ELEMENT_U8:
    case ELEMENT_E4M3:
    case ELEMENT_E5M2: return "uchar";
    case ELEMENT_I32: return "int";
    case ELEMENT_U32: return "uint";
    case ELEMENT_BOOL: return "bool";
    case ELEMENT_INDEX:
    case ELEMENT_I64: return "long";
    default: return "float";
    }
}

const char *metal_storage_type(element_type t) {
    return t == ELEMENT_BOOL || element_table[t].block_elements > 1 ? "uchar" : t == ELEMENT_INDEX ? "int" : metal_scalar_type(t);
}

const char *metal_register_type(cfamily *p, element_type t, int lanes) {
    t = cfamily_index_element(p, t);
    return lanes == 1 ? metal_scalar_type(t) : arena_printf(p->arena, "%s%d", metal_scalar_type(t), lanes);
}

static const char *sized(const writer *w, const char *scalar) {
    return w->lanes == 1 ? scalar : arena_printf(w->p->arena, "%s%d", scalar, w->lanes);
}

static void begin(writer *w, const char *result, const char *parameters) {
    text_add(&w->p->prelude, "static inline %s %s(%s)\n{\n", result, w->name, parameters);
}

static void end(writer *w) {
    text_add(&w->p->prelude, "}\n");
}

static writer writer_of(cfamily *p, element_type t, element_type from, int lanes, const char *name) {
    writer w = {.p = p, .t = t, .from = from, .lanes = lanes, .name = name};
    w.v = metal_register_type(p, t, lanes);
    w.x = metal_register_type(p, from, lanes);
    w.u = sized(&w, "uint");
    w.i = sized(&w, "int");
    w.b = sized(&w, "bool");
    return w;
}

/* ---- memory: one text for every address space ---- */

const char *metal_memory_helper(cfamily *p, element_type t, int lanes, bool is_store, const char *stride, const char *active) {
    const char *name = arena_printf(p->arena, "%sx%d_%s%s%s", c_type_tag(t), lanes, is_store ? "store" : "load",
                                    stride ? "_strided" : "", active ? "_first" : "");
    if (names_have(&p->helpers, name))
        return name;
    names_add(p, &p->helpers, name);
    writer made = writer_of(p, t, t, lanes, name), *w = &made;
    text_add(&p->prelude, "template <typename P> ");
    begin(w, is_store ? "void" : w->v,
          arena_printf(w->p->arena, "P a%s%s%s", is_store ? arena_printf(w->p->arena, ", %s v", w->v) : "",
                       stride ? ", long stride" : "", active ? ", long count" : ""));
    text_buffer b = {0};
    for (int l = 0; l < lanes; l++) {
        const char *place =
            stride ? arena_printf(w->p->arena, l ? "a[%d * stride]" : "a[0]", l) : arena_printf(w->p->arena, "a[%d]", l);
        if (is_store) {
            if (active)
                cfamily_prelude_line(w->p, "if (count > %d)\n        %s = v.%c;", l, place, "xyzw"[l & 3]);
            else
                cfamily_prelude_line(w->p, "%s = v.%c;", place, "xyzw"[l & 3]);
            continue;
        }
        if (t == ELEMENT_BOOL)
            text_add(&b, "%s%s%s != 0", l ? ", " : "", active ? arena_printf(w->p->arena, "count > %d && ", l) : "", place);
        else if (active)
            text_add(&b, "%scount > %d ? %s(%s) : %s(0)", l ? ", " : "", l, metal_scalar_type(t), place, metal_scalar_type(t));
        else
            text_add(&b, "%s%s", l ? ", " : "", place);
    }
    if (!is_store)
        cfamily_prelude_line(w->p, "return %s(%s);", w->v, text_get(&b));
    text_free(&b);
    end(w);
    return name;
}

/* One value, or lanes inside one block, of a block format: f16 scale, then 32 bytes (q8_0), or 16 with element i below element i + 16. */
static void block_load(writer *w) {
    bool q8 = w->t == ELEMENT_Q8_0;
    begin(w, w->v, "device const uchar *a, long element");
    cfamily_prelude_line(w->p, "device const uchar *b = a + element / 32 * %d;", element_table[w->t].block_bytes);
    cfamily_prelude_line(w->p, "const long i = element %% 32;");
    if (w->t == ELEMENT_MXFP4) { /* half of the scale, a power of two by its exponent; 4-bit numbers, doubled */
        cfamily_prelude_line(w->p, "const uint e = b[0];");
        cfamily_prelude_line(
            w->p, "const float d = as_type<float>(e == 255u ? 0x7fc00000u : e < 2u ? 0x200000u << e : (e - 1u) << 23u);");
        if (w->lanes == 1)
            cfamily_prelude_line(w->p, "const uint q = b[1 + i %% 16];");
        else
            cfamily_prelude_line(w->p, "const %s q = %s(%s(*(device const packed_uchar%d *)(b + 1 + i %% 16)));", w->u, w->u,
                                 sized(w, "uchar"), w->lanes);
        cfamily_prelude_line(w->p, "const %s n = %s(i < 16 ? q & 15u : q >> 4u), m = n & 7;", w->i, w->i);
        cfamily_prelude_line(w->p, "const %s t = m + max(m - 4, %s(0)) + 2 * max(m - 6, %s(0));", w->i, w->i, w->i);
        cfamily_prelude_line(w->p, "return d * %s(select(t, -t, n > 7));", w->v);
        end(w);
        return;
    }
    cfamily_prelude_line(w->p, "const float d = float(*(device const half *)b);");
    if (q8 && w->lanes == 1)
        cfamily_prelude_line(w->p, "return d * float(((device const char *)b)[2 + i]);");
    else if (q8)
        cfamily_prelude_line(w->p, "return d * %s(%s(*(device const packed_char%d *)(b + 2 + i)));", w->v, sized(w, "char"),
                             w->lanes);
    else if (w->lanes == 1)
        cfamily_prelude_line(w->p, "const uint q = b[2 + i %% 16];\n    return d * (float(i < 16 ? q & 15u : q >> 4) - 8.0f);");
    else
        cfamily_prelude_line(
            w->p,
            "const %s q = %s(%s(*(device const packed_uchar%d *)(b + 2 + i %% 16)));\n    return d * (%s(i < 16 ? q & 15u : q "
            ">> 4u) - 8.0f);",
            w->u, w->u, sized(w, "uchar"), w->lanes, w->v);
    end(w);
}

/* ---- conversions, bit for bit as base/element.c has them ---- */

static void bf16_convert(writer *w, bool to) {
    begin(w, w->v, arena_printf(w->p->arena, "%s x", w->x));
    if (to) {
        cfamily_prelude_line(
            w->p, "const %s w = as_type<%s>(x), even = (w + 0x7fffu + ((w >> 16u) & 1u)) >> 16u, quiet = (w >> 16u) | 0x40u;",
            w->u, w->u);
        cfamily_prelude_line(w->p, "return %s(select(even, quiet, (w & 0x7fffffffu) > 0x7f800000u));", w->v);
    } else
        cfamily_prelude_line(w->p, "return as_type<%s>(%s(x) << 16u);", w->v, w->u);
    end(w);
}

/* Subnormals are made from their digits, so that a device that flushes them gives the same. */
static void fp8_from(writer *w) {
    bool e4m3 = w->from == ELEMENT_E4M3;
    begin(w, w->v, arena_printf(w->p->arena, "%s x", w->x));
    cfamily_prelude_line(w->p, "const %s b = %s(x), m = b & 0x7fu, sign = (b & 0x80u) << 24u;", w->u, w->u);
    cfamily_prelude_line(w->p, "const %s small = as_type<%s>(%s(m) * %s);", w->u, w->u, w->v,
                         e4m3 ? "0.001953125f" : "0.0000152587890625f");
    cfamily_prelude_line(w->p, "%s r = select((m << %s) + 0x%xu, small, m < %s);", w->u, e4m3 ? "20u" : "21u",
                         e4m3 ? 120u << 23 : 112u << 23, e4m3 ? "8u" : "4u");
    if (e4m3)
        cfamily_prelude_line(w->p, "r = select(r, %s(0x7fc00000u), m == 0x7fu);", w->u);
    else {
        cfamily_prelude_line(w->p, "r = select(r, %s(0x7f800000u), m == 0x7cu);", w->u);
        cfamily_prelude_line(w->p, "r = select(r, %s(0x7fc00000u), m > 0x7cu);", w->u);
    }
    cfamily_prelude_line(w->p, "return as_type<%s>(r | sign);", w->v);
    end(w);
}

/* The last 13 bits of an f32 rounded off, to nearest even. */
static void tf32_to(writer *w) {
    begin(w, w->v, arena_printf(w->p->arena, "%s x", w->x));
    cfamily_prelude_line(w->p, "const %s w = as_type<%s>(x), even = w + 0xfffu + ((w >> 13u) & 1u), quiet = w | 0x400000u;", w->u,
                         w->u);
    cfamily_prelude_line(w->p, "return as_type<%s>(select(even, quiet, isnan(x)) & 0xffffe000u);", w->v);
    end(w);
}

/* Rounds to nearest even. Normal results: the bits themselves are rounded; below, adding a constant lets f32's own rounding do it. */
static void fp8_to(writer *w, bool saturate) {
    bool e4m3 = w->t == ELEMENT_E4M3;
    unsigned half = e4m3 ? 0x7ffff : 0xfffff, rebias = e4m3 ? 120u << 23 : 112u << 23,
             least_normal = e4m3 ? 0x3c800000 : 0x38800000;
    unsigned lift_bits = e4m3 ? 0x46800000 : 0x43000000, over = e4m3 ? 0x43e80000 : 0x47700000;
    unsigned beyond = saturate ? (e4m3 ? 0x7e : 0x7b) : e4m3 ? 0x7f : 0x7c, nan = e4m3 ? 0x7f : 0x7e;
    const char *shift = e4m3 ? "20u" : "21u";
    begin(w, w->v, arena_printf(w->p->arena, "%s x", w->x));
    cfamily_prelude_line(w->p, "const %s m = as_type<%s>(x) & 0x7fffffffu, sign = (as_type<%s>(x) >> 24u) & 0x80u;", w->u, w->u,
                         w->u);
    cfamily_prelude_line(w->p, "const %s normal = (m + 0x%xu + ((m >> %s) & 1u) - 0x%xu) >> %s;", w->u, half, shift, rebias,
                         shift);
    cfamily_prelude_line(w->p, "const %s small = as_type<%s>(as_type<%s>(m) + %s) - 0x%xu;", w->u, w->u, w->x,
                         e4m3 ? "16384.0f" : "128.0f", lift_bits);
    cfamily_prelude_line(w->p, "%s r = select(normal, small, m < 0x%xu);", w->u, least_normal);
    cfamily_prelude_line(w->p, "r = select(r, %s(0x%xu), m %s 0x%xu);", w->u, beyond, e4m3 ? ">" : ">=", over);
    cfamily_prelude_line(w->p, "r = select(r, %s(0x%xu), m > 0x7f800000u);", w->u, nan);
    cfamily_prelude_line(w->p, "return %s(r | sign);", w->v);
    end(w);
}

/* Toward zero, saturating, NaN gives 0. */
static void float_to_integer(writer *w) {
    static const struct {
        element_type t;
        const char *least, *most, *beyond, *limit;
    } rows[] = {{ELEMENT_I8, "-128.0f", "127.0f", NULL, NULL},
                {ELEMENT_U8, "0.0f", "255.0f", NULL, NULL},
                {ELEMENT_I32, "-2147483648.0f", "2147483520.0f", "2147483648.0f", "2147483647"},
                {ELEMENT_U32, "0.0f", "4294967040.0f", "4294967296.0f", "0xffffffffu"}};
    begin(w, w->v, arena_printf(w->p->arena, "%s x", w->x));
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (rows[r].t != w->t)
            continue;
        cfamily_prelude_line(w->p, "const %s held = precise::fmin(precise::fmax(x, %s(%s)), %s(%s));", w->x, w->x, rows[r].least,
                             w->x, rows[r].most);
        cfamily_prelude_line(w->p, "const %s whole = %s(select(held, %s(0.0f), isnan(x)));", w->v, w->v, w->x);
        if (rows[r].beyond)
            cfamily_prelude_line(w->p, "return select(whole, %s(%s), x >= %s);", w->v, rows[r].limit, rows[r].beyond);
        else
            cfamily_prelude_line(w->p, "return whole;");
    }
    end(w);
}

static void convert(writer *w, bool saturate) {
    element_type t = w->t, from = w->from;
    if ((t == ELEMENT_BF16) != (from == ELEMENT_BF16))
        bf16_convert(w, t == ELEMENT_BF16);
    else if (t == ELEMENT_TF32)
        tf32_to(w);
    else if (from == ELEMENT_E4M3 || from == ELEMENT_E5M2)
        fp8_from(w);
    else if (t == ELEMENT_E4M3 || t == ELEMENT_E5M2)
        fp8_to(w, saturate);
    else
        float_to_integer(w);
}

/* Where the type's own constructor is the conversion. */
static bool constructs(element_type t, element_type from) {
    bool bits = t == ELEMENT_BF16 || from == ELEMENT_BF16 || t == ELEMENT_E4M3 || from == ELEMENT_E4M3 || t == ELEMENT_E5M2 ||
                from == ELEMENT_E5M2 || t == ELEMENT_TF32;
    bool to_integer = t == ELEMENT_I8 || t == ELEMENT_U8 || t == ELEMENT_I32 || t == ELEMENT_U32;
    return !bits && !(from == ELEMENT_F32 && to_integer); /* to the types of memory alone only integers convert */
}

/* ---- arithmetic ---- */

static void lanes_reduce(writer *w, cfamily_helper h) {
    bool real = w->t == ELEMENT_F32, sum = h == HELPER_LANES_SUM, wraps = sum && w->t == ELEMENT_I32;
    const char *scalar = metal_scalar_type(w->t);
    const char *call = sum ? NULL : h == HELPER_LANES_MAX ? (real ? "precise::fmax" : "max") : real ? "precise::fmin" : "min";
    begin(w, scalar, arena_printf(w->p->arena, "%s v", w->v));
    if (wraps)
        cfamily_prelude_line(w->p, "const %s u = as_type<%s>(v);", w->u, w->u);
    const char *v = wraps ? "u" : "v";
    const char *text = w->lanes == 2 ? (call ? arena_printf(w->p->arena, "%s(%s.x, %s.y)", call, v, v)
                                             : arena_printf(w->p->arena, "%s.x + %s.y", v, v))
                       : call ? arena_printf(w->p->arena, "%s(%s(%s.x, %s.z), %s(%s.y, %s.w))", call, call, v, v, call, v, v)
                              : arena_printf(w->p->arena, "(%s.x + %s.z) + (%s.y + %s.w)", v, v, v, v);
    cfamily_prelude_line(w->p, "return %s;", wraps ? arena_printf(w->p->arena, "as_type<int>(%s)", text) : text);
    end(w);
}

static void wrapping(writer *w, char op) {
    const char *u = w->t == ELEMENT_INDEX ? sized(w, "ulong") : w->u;
    begin(w, w->v, arena_printf(w->p->arena, "%s a, %s b", w->v, w->v));
    cfamily_prelude_line(w->p, "return as_type<%s>(as_type<%s>(a) %c as_type<%s>(b));", w->v, u, op, u);
    end(w);
}

static void shift(writer *w, bool left) {
    const char *u = w->t == ELEMENT_INDEX ? sized(w, "ulong") : w->u;
    const char *by = arena_printf(w->p->arena, "(as_type<%s>(b) & %s(%d))", u, u, w->t == ELEMENT_INDEX ? 63 : 31);
    begin(w, w->v, arena_printf(w->p->arena, "%s a, %s b", w->v, w->v));
    if (left)
        cfamily_prelude_line(w->p, "return as_type<%s>(as_type<%s>(a) << %s);", w->v, u, by);
    else
        cfamily_prelude_line(w->p, "return a >> %s(%s);", w->v, by);
    end(w);
}

static void select_lanes(writer *w, bool prefix) {
    begin(w, w->v,
          arena_printf(w->p->arena, "%s, %s x, %s y", prefix ? "long count" : arena_printf(w->p->arena, "%s mask", w->b), w->v,
                       w->v));
    if (prefix) {
        cfamily_prelude_line(w->p, "const int n = count < 0 ? 0 : count > %d ? %d : int(count);", w->lanes, w->lanes);
        cfamily_prelude_line(w->p, "const %s mask = %s(%s) < %s(n);", w->b, w->i, w->lanes == 2 ? "0, 1" : "0, 1, 2, 3", w->i);
    }
    cfamily_prelude_line(w->p, w->t == ELEMENT_BOOL ? "return (mask && x) || (!mask && y);" : "return select(y, x, mask);");
    end(w);
}

static const char *index_helper(cfamily *p, cfamily_helper h) {
    return cfamily_index_helper(p, h, "static inline");
}

/* What MSL has itself; NULL otherwise. */
static const char *builtin(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes) {
    bool real = t == ELEMENT_F32;
    switch (h) {
    case HELPER_SPLAT: return metal_register_type(p, t, lanes);
    case HELPER_ABS: return real ? "fabs" : NULL;
    case HELPER_FLOOR: return "floor";
    case HELPER_RINT: return "rint";
    case HELPER_SQRT: return "precise::sqrt";
    case HELPER_FMA: return "fma";
    case HELPER_MIN:
    case HELPER_MIN_NUMBER:
        return real ? "precise::fmin" : t == ELEMENT_INDEX && lanes == 1 ? index_helper(p, HELPER_INDEX_MIN) : "min";
    case HELPER_MAX:
    case HELPER_MAX_NUMBER:
        return real ? "precise::fmax" : t == ELEMENT_INDEX && lanes == 1 ? index_helper(p, HELPER_INDEX_MAX) : "max";
    case HELPER_BITCAST: return arena_printf(p->arena, "as_type<%s>", metal_register_type(p, t, lanes));
    case HELPER_ALL: return "all";
    case HELPER_CONVERT: return constructs(t, from) ? metal_register_type(p, t, lanes) : NULL;
    default: return NULL;
    }
}

const char *metal_simd_helper(cfamily *p, kernel_op op, element_type t, int lanes) {
    bool real = t == ELEMENT_F32, sum = op == KERNEL_SUBGROUP_SUM, max = op == KERNEL_SUBGROUP_MAX;
    if (!real && t != ELEMENT_I32 && t != ELEMENT_U32)
        return NULL;
    const char *width = lanes > 1 ? arena_printf(p->arena, "x%d", lanes) : "";
    const char *name = arena_printf(p->arena, "%s%s_simd_%s", c_type_tag(t), width, sum ? "sum" : max ? "max" : "min");
    if (names_have(&p->helpers, name))
        return name;
    names_add(p, &p->helpers, name);
    writer made = writer_of(p, t, t, lanes, name), *w = &made;
    bool wraps = sum && t == ELEMENT_I32;
    const char *v = wraps ? w->u : w->v, *call = max ? (real ? "precise::fmax" : "max") : real ? "precise::fmin" : "min";
    begin(w, w->v, arena_printf(w->p->arena, "%s x", w->v));
    cfamily_prelude_line(w->p, "%s r = %s;", v, wraps ? arena_printf(w->p->arena, "as_type<%s>(x)", v) : "x");
    cfamily_prelude_line(w->p, "for (ushort mask = %d; mask > 0; mask /= 2)", METAL_LANES / 2);
    if (sum)
        cfamily_prelude_line(w->p, "    r = r + simd_shuffle_xor(r, mask);");
    else
        cfamily_prelude_line(w->p, "    r = %s(r, simd_shuffle_xor(r, mask));", call);
    cfamily_prelude_line(w->p, "return %s;", wraps ? arena_printf(w->p->arena, "as_type<%s>(r)", w->v) : "r");
    end(w);
    return name;
}

const char *metal_helper(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes) {
    t = cfamily_index_element(p, t);
    from = cfamily_index_element(p, from);
    static const char *const names[] = {[HELPER_IOTA] = "iota",
                                        [HELPER_BLOCK_LOAD] = "at",
                                        [HELPER_NEG] = "neg",
                                        [HELPER_ABS] = "abs",
                                        [HELPER_WRAP_ADD] = "add",
                                        [HELPER_WRAP_SUB] = "sub",
                                        [HELPER_WRAP_MUL] = "mul",
                                        [HELPER_SELECT] = "select",
                                        [HELPER_PREFIX_SELECT] = "prefix_select",
                                        [HELPER_SHL] = "shl",
                                        [HELPER_SHR] = "shr",
                                        [HELPER_LANES_SUM] = "lanes_sum",
                                        [HELPER_LANES_MAX] = "lanes_max",
                                        [HELPER_LANES_MIN] = "lanes_min"};
    const char *known = index_helper(p, h);
    if (!known)
        known = builtin(p, h, t, from, lanes);
    if (known)
        return known;
    bool converts = h == HELPER_CONVERT || h == HELPER_CONVERT_SATURATE;
    const char *width = lanes > 1 ? arena_printf(p->arena, "x%d", lanes) : "";
    const char *name = converts ? arena_printf(p->arena, "%s%s_from_%s%s", c_type_tag(t), width, c_type_tag(from),
                                               h == HELPER_CONVERT_SATURATE ? "_saturate" : "")
                                : arena_printf(p->arena, "%s%s_%s", c_type_tag(t), width, names[h]);
    if (names_have(&p->helpers, name))
        return name;
    names_add(p, &p->helpers, name);
    writer made = writer_of(p, t, from, lanes, name), *w = &made;
    switch (h) {
    case HELPER_IOTA:
        begin(w, w->v, "");
        cfamily_prelude_line(w->p, "return %s(%s);", w->v, lanes == 1 ? "0" : lanes == 2 ? "0, 1" : "0, 1, 2, 3");
        end(w);
        break;
    case HELPER_NEG:
        begin(w, w->v, arena_printf(w->p->arena, "%s x", w->v));
        cfamily_prelude_line(w->p, "return as_type<%s>(%s(0) - as_type<%s>(x));", w->v, w->u, w->u);
        end(w);
        break;
    case HELPER_ABS:
        begin(w, w->v, arena_printf(w->p->arena, "%s x", w->v));
        cfamily_prelude_line(w->p, "const %s u = as_type<%s>(x);", w->u, w->u);
        cfamily_prelude_line(w->p, "return as_type<%s>(select(u, %s(0) - u, x < %s(0)));", w->v, w->u, w->v);
        end(w);
        break;
    case HELPER_BLOCK_LOAD: block_load(w); break;
    case HELPER_WRAP_ADD: wrapping(w, '+'); break;
    case HELPER_WRAP_SUB: wrapping(w, '-'); break;
    case HELPER_WRAP_MUL: wrapping(w, '*'); break;
    case HELPER_SHL: shift(w, true); break;
    case HELPER_SHR: shift(w, false); break;
    case HELPER_SELECT: select_lanes(w, false); break;
    case HELPER_PREFIX_SELECT: select_lanes(w, true); break;
    case HELPER_LANES_SUM:
    case HELPER_LANES_MAX:
    case HELPER_LANES_MIN: lanes_reduce(w, h); break;
    default: convert(w, h == HELPER_CONVERT_SATURATE); break;
    }
    return name;
}
