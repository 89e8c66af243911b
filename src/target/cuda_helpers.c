/* Functions and vector types of emitted CUDA C++. Each is written once, when first used. */
#include "target/cuda_helpers.h"
#include <string.h>

#define HEAD "static __device__ inline "

typedef struct writer {
    cfamily *p;
    element_type t, from;
    int lanes;
    const char *v, *x; /* types of the result and of what is converted */
    const char *name;
} writer;

const char *cuda_scalar_type(element_type t) {
    switch (t) {
    case ELEMENT_F16:
    case ELEMENT_BF16:
    case ELEMENT_U16: return "unsigned short";
    case ELEMENT_I8: return "signed char";
    case ELEMENT_U8:
    case ELEMENT_E4M3:
    case ELEMENT_E5M2: return "unsigned char";
    case ELEMENT_I32: return "int";
    case ELEMENT_U32: return "unsigned";
    case ELEMENT_BOOL: return "bool";
    case ELEMENT_INDEX:
    case ELEMENT_I64: return "long long";
    default: return "float";
    }
}

const char *cuda_storage_type(element_type t) {
    return t == ELEMENT_BOOL || element_table[t].block_elements > 1 ? "unsigned char"
           : t == ELEMENT_INDEX                                     ? "int"
                                                                    : cuda_scalar_type(t);
}

const char *cuda_register_type(cfamily *p, element_type t, int lanes) {
    t = cfamily_index_element(p, t);
    if (lanes == 1)
        return cuda_scalar_type(t);
    static const struct {
        const char *stem, *scalar;
        int bytes;
    } kinds[] = {{"f32", "float", 4}, {"u16", "unsigned short", 2}, {"i8", "signed char", 1}, {"u8", "unsigned char", 1},
                 {"i32", "int", 4},   {"u32", "unsigned", 4},       {"i64", "long long", 8}};
    int k = t == ELEMENT_F16 || t == ELEMENT_BF16 || t == ELEMENT_U16   ? 1
            : t == ELEMENT_I8                                           ? 2
            : t == ELEMENT_U8 || t == ELEMENT_E4M3 || t == ELEMENT_E5M2 ? 3
            : t == ELEMENT_I32 || t == ELEMENT_BOOL                     ? 4
            : t == ELEMENT_U32                                          ? 5
            : t == ELEMENT_INDEX || t == ELEMENT_I64                    ? 6
                                                                        : 0;
    const char *name = arena_printf(p->arena, "%sx%d", kinds[k].stem, lanes);
    if (!names_have(&p->helpers, name)) {
        int bytes = kinds[k].bytes * lanes;
        names_add(p, &p->helpers, name);
        const bool words =
            kinds[k].bytes == 1 && lanes % 4 == 0; /* then the device's compiler keeps them, and no byte in each register */
        text_add(&p->prelude,
                 words ? "struct alignas(%d) %s { union { %s v[%d]; unsigned w[%d]; }; };\n"
                       : "struct alignas(%d) %s { %s v[%d]; };\n",
                 bytes < 16 ? bytes : 16, name, kinds[k].scalar, lanes, lanes / 4);
    }
    return name;
}

static const char *type_of(cfamily *p, element_type t, int lanes) {
    return cuda_register_type(p, t, lanes);
}

/* Of the type itself where integers are wider: no initialiser may narrow. */
const char *cuda_zero(cfamily *p, element_type t) {
    return t != ELEMENT_BOOL && element_table[t].block_bytes < 4 ? arena_printf(p->arena, "(%s)0", cuda_scalar_type(t)) : "0";
}

static void begin(writer *w, const char *result, const char *parameters) {
    text_add(&w->p->prelude, HEAD "%s %s(%s)\n{\n", result, w->name, parameters);
}

static void end(writer *w) {
    text_add(&w->p->prelude, "}\n");
}

/* `text` with every # replaced: by the lane's number in vectors, and `.v[#]` by nothing in scalars. */
static const char *for_lane(writer *w, const char *text, int lane) {
    text_buffer b = {0};
    for (const char *s = text; *s; s++) {
        if (w->lanes == 1 && !strncmp(s, ".v[#]", 5))
            s += 4;
        else if (*s == '#')
            text_add(&b, "%d", lane);
        else
            text_add(&b, "%c", *s);
    }
    const char *copy = arena_strdup(w->p->arena, text_get(&b));
    text_free(&b);
    return copy;
}

/* `return` of the lanes, each as `text` says. */
static void return_lanes(writer *w, const char *text) {
    text_buffer b = {0};
    if (w->lanes == 1) {
        cfamily_prelude_line(w->p, "return %s;", for_lane(w, text, 0));
        return;
    }
    for (int l = 0; l < w->lanes; l++)
        text_add(&b, "%s%s", l ? ", " : "", for_lane(w, text, l));
    cfamily_prelude_line(w->p, "return {{%s}};", text_get(&b));
    text_free(&b);
}

/* A whole function of one expression a lane. */
static void map(writer *w, const char *parameters, const char *text) {
    begin(w, w->v, parameters);
    return_lanes(w, text);
    end(w);
}

/* True when it has to be written now. */
static const char *tagged(cfamily *p, element_type t, int lanes, const char *rest) {
    return lanes > 1 ? arena_printf(p->arena, "%sx%d_%s", c_type_tag(t), lanes, rest)
                     : arena_printf(p->arena, "%s_%s", c_type_tag(t), rest);
}

/* ---- memory ---- */

const char *cuda_memory_helper(cfamily *p, element_type t, int lanes, bool is_store, bool strided, bool first) {
    const char *name =
        tagged(p, t, lanes,
               arena_printf(p->arena, "%s%s%s", is_store ? "store" : "load", strided ? "_strided" : "", first ? "_first" : ""));
    writer writer_of = {.p = p, .t = t, .lanes = lanes, .name = name}, *w = &writer_of;
    w->v = type_of(p, t, lanes);
    if (!cfamily_first_use(p, name))
        return name;
    begin(w, is_store ? "void" : w->v,
          arena_printf(w->p->arena, "%s%s *a%s%s%s", is_store ? "" : "const ", cuda_storage_type(t),
                       is_store ? arena_printf(w->p->arena, ", %s v", w->v) : "", strided ? ", long long stride" : "",
                       first ? ", long long count" : ""));
    const char *place = strided ? "a[# * stride]" : "a[#]";
    for (int l = 0; is_store && l < lanes; l++) {
        if (first)
            cfamily_prelude_line(w->p, "if (count > %d)", l);
        cfamily_prelude_line(w->p, "%s%s = v.v[%d]%s;", first ? "    " : "", for_lane(w, place, l), l,
                             t == ELEMENT_BOOL ? " & 1" : "");
    }
    const char *value = t == ELEMENT_BOOL ? arena_printf(w->p->arena, "-(%s != 0)", place) : place;
    if (!is_store)
        return_lanes(w, first ? arena_printf(w->p->arena, "count > # ? %s : %s", value, cuda_zero(p, t)) : value);
    end(w);
    return name;
}

/* A number below 2^23, without what it was raised by: two operations of full speed, where a conversion takes eight times as long. */
static void whole_number(cfamily *p) {
    if (cfamily_first_use(p, "whole_number"))
        text_add(&p->prelude, HEAD "float whole_number(unsigned raised, float by)\n{\n"
                                   "    return __uint_as_float(0x4b000000u | raised) - by; /* `by` is 2^23 more */\n}\n");
}

/* One value, or lanes values inside one block, of a block format: f16 scale, then 32 bytes (q8_0), or 16 with element i below element i + 16. */
static void block_load(writer *w) {
    bool q8 = w->t == ELEMENT_Q8_0, eighth = w->t == ELEMENT_MXFP4, pairs = !eighth && w->lanes > 1;
    const char *scale = eighth ? NULL : cuda_helper(w->p, HELPER_CONVERT, ELEMENT_F32, ELEMENT_F16, 1);
    if (eighth && cfamily_first_use(w->p, "e2m1_number"))
        text_add(
            &w->p->prelude,
            "/* a 4-bit number, doubled: its bits are the exponent's last two and the fraction's first */\n" HEAD
            "float e2m1_number(unsigned code)\n{\n    return __uint_as_float((code & 7) << 22 | (code & 8) << 28) * %s;\n}\n",
            "1.7014118346046923e38f");
    if (!eighth)
        whole_number(w->p);
    begin(w, w->v, "const unsigned char *a, long long element");
    cfamily_prelude_line(w->p, "const unsigned char *b = a + element / 32 * %d;", element_table[w->t].block_bytes);
    cfamily_prelude_line(w->p, "const int i = (int)(element %% 32);");
    if (eighth) /* half of the scale, a power of two by its exponent */
        cfamily_prelude_line(w->p,
                             "const unsigned e = b[0];\n    const float d = __uint_as_float(e == 255 ? 0x7fc00000 : e < 2 ? "
                             "0x200000u << e : (e - 1) << 23);");
    else
        cfamily_prelude_line(w->p, "const float d = %s(*(const unsigned short *)b);", scale);
    if (pairs) /* blocks begin at even addresses, and lanes at even ones of their elements */
        cfamily_prelude_line(w->p, "const unsigned short *two = (const unsigned short *)(b + 2 + i%s);", q8 ? "" : " % 16");
    const char *byte = pairs    ? "(two[# / 2] >> # % 2 * 8 & 255)"
                       : q8     ? "b[2 + i + #]"
                       : eighth ? "b[1 + i % 16 + #]"
                                : "b[2 + i % 16 + #]";
    if (q8)
        return_lanes(w, arena_printf(w->p->arena, "d * whole_number(%s ^ 128, 8388736.0f)", byte));
    else if (eighth)
        return_lanes(w, arena_printf(w->p->arena, "d * e2m1_number(i < 16 ? %s & 15 : %s >> 4)", byte, byte));
    else
        return_lanes(w, arena_printf(w->p->arena, "d * whole_number(i < 16 ? %s & 15 : %s >> 4, 8388616.0f)", byte, byte));
    end(w);
}

/* By words, as they are kept. */
static void splat_bytes(writer *w) {
    begin(w, w->v, "signed char x");
    cfamily_prelude_line(w->p, "%s r;", w->v);
    cfamily_prelude_line(w->p, "for (int i = 0; i < %d; i++)\n        r.w[i] = (unsigned char)x * 0x1010101u;\n    return r;",
                         w->lanes / 4);
    end(w);
}

/* ---- conversions, bit for bit as base/element.c has them ---- */

static void fp8_from(writer *w) {
    bool e4m3 = w->from == ELEMENT_E4M3;
    begin(w, "float", "unsigned char x");
    cfamily_prelude_line(w->p, "const unsigned m = x & 0x7f, sign = (x & 0x80u) << 24;");
    cfamily_prelude_line(w->p, "const unsigned small = __float_as_uint((float)m * %s);",
                         e4m3 ? "0.001953125f" : "1.52587890625e-05f");
    cfamily_prelude_line(w->p, "unsigned r = m < %d ? small : (m << %d) + 0x%xu;", e4m3 ? 8 : 4, e4m3 ? 20 : 21,
                         e4m3 ? 120u << 23 : 112u << 23);
    if (e4m3)
        cfamily_prelude_line(w->p, "r = m == 0x7f ? 0x7fc00000 : r;");
    else
        cfamily_prelude_line(w->p, "r = m == 0x7c ? 0x7f800000 : m > 0x7c ? 0x7fc00000 : r;");
    cfamily_prelude_line(w->p, "return __uint_as_float(r | sign);");
    end(w);
}

/* Rounds to nearest even. Normal results: the bits themselves are rounded; below, adding a constant lets f32's own rounding do it. */
static void fp8_to(writer *w, bool saturate) {
    bool e4m3 = w->t == ELEMENT_E4M3;
    int shift = e4m3 ? 20 : 21;
    unsigned half = e4m3 ? 0x7ffff : 0xfffff, rebias = e4m3 ? 120u << 23 : 112u << 23,
             least_normal = e4m3 ? 0x3c800000 : 0x38800000;
    unsigned lift_bits = e4m3 ? 0x46800000 : 0x43000000, over = e4m3 ? 0x43e80000 : 0x47700000;
    unsigned beyond = saturate ? (e4m3 ? 0x7e : 0x7b) : e4m3 ? 0x7f : 0x7c, nan = e4m3 ? 0x7f : 0x7e;
    begin(w, "unsigned char", "float x");
    cfamily_prelude_line(w->p, "const unsigned m = __float_as_uint(x) & 0x7fffffff, sign = __float_as_uint(x) >> 24 & 0x80;");
    cfamily_prelude_line(w->p, "const unsigned normal = (m + 0x%x + (m >> %d & 1) - 0x%xu) >> %d;", half, shift, rebias, shift);
    cfamily_prelude_line(w->p, "const unsigned small = __float_as_uint(__uint_as_float(m) + %s) - 0x%xu;",
                         e4m3 ? "16384.0f" : "128.0f", lift_bits);
    cfamily_prelude_line(w->p, "unsigned r = m < 0x%xu ? small : normal;", least_normal);
    cfamily_prelude_line(w->p, "r = m %s 0x%xu ? 0x%x : r;", e4m3 ? ">" : ">=", over, beyond);
    cfamily_prelude_line(w->p, "r = m > 0x7f800000u ? 0x%x : r;", nan);
    cfamily_prelude_line(w->p, "return (unsigned char)(r | sign);");
    end(w);
}

static void convert_one(writer *w, bool saturate) {
    element_type t = w->t, from = w->from;
    if (t == ELEMENT_E4M3 || t == ELEMENT_E5M2) {
        fp8_to(w, saturate);
        return;
    }
    if (from == ELEMENT_E4M3 || from == ELEMENT_E5M2) {
        fp8_from(w);
        return;
    }
    begin(w, w->v, arena_printf(w->p->arena, "%s x", w->x));
    if (from == ELEMENT_F16)
        cfamily_prelude_line(w->p, "float f;\n    asm(\"cvt.f32.f16 %%0, %%1;\" : \"=f\"(f) : \"h\"(x));\n    return f;");
    else if (t == ELEMENT_F16)
        cfamily_prelude_line(w->p,
                             "unsigned short h;\n    asm(\"cvt.rn.f16.f32 %%0, %%1;\" : \"=h\"(h) : \"f\"(x));\n    return h;");
    else if (from == ELEMENT_BF16)
        cfamily_prelude_line(w->p, "return __uint_as_float((unsigned)x << 16);");
    else if (t == ELEMENT_BF16) {
        cfamily_prelude_line(w->p, "const unsigned b = __float_as_uint(x);");
        cfamily_prelude_line(w->p, "return (unsigned short)(x != x ? b >> 16 | 0x40 : (b + 0x7fff + (b >> 16 & 1)) >> 16);");
    } else if (t == ELEMENT_TF32) { /* the last 13 bits rounded off, to nearest even */
        cfamily_prelude_line(
            w->p, "#if __CUDA_ARCH__ >= 900\n    unsigned t;\n    asm(\"cvt.rn.tf32.f32 %%0, %%1;\" : \"=r\"(t) : \"f\"(x));\n"
                  "    return __uint_as_float(t);\n#else\n    const unsigned b = __float_as_uint(x);");
        cfamily_prelude_line(w->p,
                             "return __uint_as_float((x != x ? b | 0x400000 : b + 0xfff + (b >> 13 & 1)) & 0xffffe000);\n#endif");
    } else if (t == ELEMENT_U32) /* toward zero, saturating, NaN gives 0 */
        cfamily_prelude_line(w->p, "return x != x ? 0 : __float2uint_rz(x);");
    else if (t == ELEMENT_I32)
        cfamily_prelude_line(w->p, "return x != x ? 0 : __float2int_rz(x);");
    else
        cfamily_prelude_line(
            w->p, "const int i = x != x ? 0 : __float2int_rz(x);\n    return (%s)(i < %d ? %d : i > %d ? %d : i);", w->v,
            t == ELEMENT_I8 ? -128 : 0, t == ELEMENT_I8 ? -128 : 0, t == ELEMENT_I8 ? 127 : 255, t == ELEMENT_I8 ? 127 : 255);
    end(w);
}

/* Vectors lane by lane, through the scalar function where there is one. */
static void convert_lanes(writer *w, bool saturate) {
    if (w->from == ELEMENT_I8 && w->t == ELEMENT_F32) {
        if (w->lanes % 4) { /* bytes of no whole word */
            whole_number(w->p);
            map(w, arena_printf(w->p->arena, "%s x", w->x), "whole_number((unsigned char)x.v[#] ^ 128, 8388736.0f)");
            return;
        }
        begin(w, w->v, arena_printf(w->p->arena, "%s x", w->x));
        cfamily_prelude_line(w->p, "unsigned w[%d]; /* each byte, raised by 128, becomes the end of a number from 2^23 on */",
                             w->lanes / 4);
        cfamily_prelude_line(w->p, "for (int i = 0; i < %d; i++)\n        w[i] = x.w[i] ^ 0x80808080;", w->lanes / 4);
        return_lanes(w, "__uint_as_float(__byte_perm(w[# / 4], 0x4b000000, 0x7650 + # % 4)) - 8388736.0f");
        end(w);
        return;
    }
    bool from_narrow = element_table[w->from].is_float && w->from != ELEMENT_F32,
         to_narrow = element_table[w->t].is_float && w->t != ELEMENT_F32;
    bool by_function = from_narrow || to_narrow || (w->from == ELEMENT_F32 && w->t != ELEMENT_F32);
    const char *one = by_function ? cuda_helper(w->p, saturate ? HELPER_CONVERT_SATURATE : HELPER_CONVERT, w->t, w->from, 1)
                                  : arena_printf(w->p->arena, "(%s)", cuda_scalar_type(w->t));
    map(w, arena_printf(w->p->arena, "%s x", w->x),
        arena_printf(w->p->arena,
                     w->from == ELEMENT_BOOL ? "%s(x.v[#] & 1)"
                     : by_function           ? "%s(x.v[#])"
                                             : "%sx.v[#]",
                     one));
}

/* ---- arithmetic ---- */

/* A function of two scalars by name, or as `op` between unsigned numbers. */
static const char *combined(writer *w, kernel_op op, const char *x, const char *y) {
    bool real = w->t == ELEMENT_F32;
    if (op == KERNEL_MAX || op == KERNEL_MIN)
        return arena_printf(w->p->arena, "%s(%s, %s)",
                            op == KERNEL_MAX ? (real ? "fmaxf" : "max")
                            : real           ? "fminf"
                                             : "min",
                            x, y);
    return w->t == ELEMENT_I32 ? arena_printf(w->p->arena, "(int)((unsigned)%s + (unsigned)%s)", x, y)
                               : arena_printf(w->p->arena, "%s + %s", x, y);
}

/* Lane l with lane l + n/2 first. */
static void lanes_reduce(writer *w, kernel_op op) {
    const char *scalar = cuda_scalar_type(w->t), *names[16];
    int lanes = w->lanes;
    begin(w, scalar, arena_printf(w->p->arena, "%s x", w->v));
    for (int l = 0; l < lanes; l++)
        names[l] = arena_printf(w->p->arena, "x.v[%d]", l);
    for (int n = lanes / 2; n >= 1; n /= 2)
        for (int l = 0; l < n; l++) {
            const char *value = combined(w, op, names[l], names[l + n]);
            if (n == 1) {
                cfamily_prelude_line(w->p, "return %s;", value);
                break;
            }
            names[l] = arena_printf(w->p->arena, "s%d_%d", n, l);
            cfamily_prelude_line(w->p, "const %s %s = %s;", scalar, names[l], value);
        }
    end(w);
}

static void wrapping(writer *w, char op) {
    const char *s = cuda_scalar_type(w->t), *u = w->t == ELEMENT_INDEX ? "unsigned long long" : "unsigned";
    map(w, arena_printf(w->p->arena, "%s a, %s b", w->v, w->v),
        arena_printf(w->p->arena, "(%s)((%s)a.v[#] %c (%s)b.v[#])", s, u, op, u));
}

static void shift(writer *w, bool left) {
    const char *s = cuda_scalar_type(w->t), *u = w->t == ELEMENT_INDEX ? "unsigned long long" : "unsigned";
    int mask = w->t == ELEMENT_INDEX ? 63 : 31;
    map(w, arena_printf(w->p->arena, "%s a, %s b", w->v, w->v),
        left ? arena_printf(w->p->arena, "(%s)((%s)a.v[#] << (b.v[#] & %d))", s, u, mask)
             : arena_printf(w->p->arena, "a.v[#] >> (b.v[#] & %d)", mask));
}

static const char *index_helper(cfamily *p, cfamily_helper h) {
    return cfamily_index_helper(p, h, "static __host__ __device__ inline");
}

/* The name of CUDA's own function for scalars; NULL: it has none, or another way of writing it. */
static const char *builtin(cfamily *p, cfamily_helper h, element_type t, element_type from) {
    bool real = t == ELEMENT_F32;
    switch (h) {
    case HELPER_ABS: return real ? "fabsf" : NULL;
    case HELPER_FLOOR: return "floorf";
    case HELPER_RINT: return "rintf";
    case HELPER_SQRT: return "sqrtf";
    case HELPER_FMA: return "fmaf";
    case HELPER_MIN:
    case HELPER_MIN_NUMBER: return real ? "fminf" : t == ELEMENT_INDEX ? index_helper(p, HELPER_INDEX_MIN) : "min";
    case HELPER_MAX:
    case HELPER_MAX_NUMBER: return real ? "fmaxf" : t == ELEMENT_INDEX ? index_helper(p, HELPER_INDEX_MAX) : "max";
    case HELPER_BITCAST:
        return t == ELEMENT_F32      ? (from == ELEMENT_I32 ? "__int_as_float" : "__uint_as_float")
               : from == ELEMENT_F32 ? (t == ELEMENT_I32 ? "__float_as_int" : "__float_as_uint")
                                     : arena_printf(p->arena, "(%s)", cuda_scalar_type(t));
    default: return NULL;
    }
}

/* A vector's function of CUDA's function for each lane. */
static void by_lanes(writer *w, cfamily_helper h, const char *one) {
    const char *x = w->x;
    if (h == HELPER_FMA)
        map(w, arena_printf(w->p->arena, "%s a, %s b, %s c", x, x, x),
            arena_printf(w->p->arena, "%s(a.v[#], b.v[#], c.v[#])", one));
    else if (h == HELPER_MIN || h == HELPER_MAX || h == HELPER_MIN_NUMBER || h == HELPER_MAX_NUMBER)
        map(w, arena_printf(w->p->arena, "%s a, %s b", x, x), arena_printf(w->p->arena, "%s(a.v[#], b.v[#])", one));
    else
        map(w, arena_printf(w->p->arena, "%s a", x), arena_printf(w->p->arena, "%s(a.v[#])", one));
}

const char *cuda_helper(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes) {
    t = cfamily_index_element(p, t);
    from = cfamily_index_element(p, from);
    static const char *const names[] = {[HELPER_SPLAT] = "splat",
                                        [HELPER_IOTA] = "iota",
                                        [HELPER_BLOCK_LOAD] = "at",
                                        [HELPER_NEG] = "neg",
                                        [HELPER_ABS] = "abs",
                                        [HELPER_FLOOR] = "floor",
                                        [HELPER_RINT] = "rint",
                                        [HELPER_SQRT] = "sqrt",
                                        [HELPER_FMA] = "fma",
                                        [HELPER_MIN] = "min",
                                        [HELPER_MAX] = "max",
                                        [HELPER_MIN_NUMBER] = "min",
                                        [HELPER_MAX_NUMBER] = "max",
                                        [HELPER_WRAP_ADD] = "add",
                                        [HELPER_WRAP_SUB] = "sub",
                                        [HELPER_WRAP_MUL] = "mul",
                                        [HELPER_SELECT] = "select",
                                        [HELPER_PREFIX_SELECT] = "prefix_select",
                                        [HELPER_SHL] = "shl",
                                        [HELPER_SHR] = "shr",
                                        [HELPER_LANES_SUM] = "lanes_sum",
                                        [HELPER_LANES_MAX] = "lanes_max",
                                        [HELPER_LANES_MIN] = "lanes_min",
                                        [HELPER_ALL] = "all"};
    bool converts = h == HELPER_CONVERT || h == HELPER_CONVERT_SATURATE, casts = h == HELPER_BITCAST;
    if (converts && t == ELEMENT_BOOL)
        return ""; /* comparisons of indices give masks already */
    const char *known = index_helper(p, h);
    if (!known)
        known = builtin(p, h, t, from);
    if (known && lanes == 1)
        return known;
    const char *name = converts || casts ? tagged(p, t, lanes,
                                                  arena_printf(p->arena, "%s_%s%s", casts ? "bits" : "from", c_type_tag(from),
                                                               h == HELPER_CONVERT_SATURATE ? "_saturate" : ""))
                                         : tagged(p, t, lanes, names[h]);
    writer writer_of = {.p = p, .t = t, .from = from, .lanes = lanes, .name = name}, *w = &writer_of;
    w->v = type_of(p, t, lanes);
    w->x = type_of(p, from, lanes);
    if (names_have(&p->helpers, name))
        return name;
    if (known) {
        if (cfamily_first_use(p, name))
            by_lanes(w, h, known);
        return name;
    }
    if (converts) {
        if (lanes == 1)
            convert_one(w, h == HELPER_CONVERT_SATURATE);
        else
            convert_lanes(w, h == HELPER_CONVERT_SATURATE);
        names_add(p, &p->helpers, name);
        return name;
    }
    names_add(p, &p->helpers, name);
    switch (h) {
    case HELPER_SPLAT:
        if (t == ELEMENT_I8 && lanes % 4 == 0) {
            splat_bytes(w);
            break;
        }
        map(w, arena_printf(w->p->arena, "%s x", cuda_scalar_type(t)), t == ELEMENT_BOOL ? "-(int)x" : "x");
        break;
    case HELPER_IOTA: map(w, "", "#"); break;
    case HELPER_BLOCK_LOAD: block_load(w); break;
    case HELPER_NEG: map(w, arena_printf(w->p->arena, "%s x", w->v), "(int)(0u - (unsigned)x.v[#])"); break;
    case HELPER_ABS: map(w, arena_printf(w->p->arena, "%s x", w->v), "x.v[#] < 0 ? (int)(0u - (unsigned)x.v[#]) : x.v[#]"); break;
    case HELPER_WRAP_ADD: wrapping(w, '+'); break;
    case HELPER_WRAP_SUB: wrapping(w, '-'); break;
    case HELPER_WRAP_MUL: wrapping(w, '*'); break;
    case HELPER_SHL: shift(w, true); break;
    case HELPER_SHR: shift(w, false); break;
    case HELPER_SELECT:
        map(w, arena_printf(w->p->arena, "%s mask, %s x, %s y", type_of(p, ELEMENT_BOOL, lanes), w->v, w->v),
            "mask.v[#] ? x.v[#] : y.v[#]");
        break;
    case HELPER_PREFIX_SELECT:
        map(w, arena_printf(w->p->arena, "long long count, %s x, %s y", w->v, w->v), "count > # ? x.v[#] : y.v[#]");
        break;
    case HELPER_LANES_SUM: lanes_reduce(w, KERNEL_ADD); break;
    case HELPER_LANES_MAX: lanes_reduce(w, KERNEL_MAX); break;
    case HELPER_LANES_MIN: lanes_reduce(w, KERNEL_MIN); break;
    default: { /* HELPER_ALL */
        text_buffer b = {0};
        begin(w, "bool", arena_printf(w->p->arena, "%s mask", w->x));
        for (int l = 0; l < lanes; l++)
            text_add(&b, "%smask.v[%d]", l ? " & " : "", l);
        cfamily_prelude_line(w->p, "return (%s) != 0;", text_get(&b));
        text_free(&b);
        end(w);
    }
    }
    return name;
}

/* ---- operators on vectors ---- */

void cuda_operator(cfamily *p, const char *op, element_type t, int lanes, bool x_scalar, bool y_scalar, bool compares) {
    t = cfamily_index_element(p, t);
    const char *name = arena_printf(p->arena, "%s%s%s%s", x_scalar ? "scalar" : "", cuda_register_type(p, t, lanes), op,
                                    y_scalar ? "scalar" : "");
    const char *v = cuda_register_type(p, t, lanes), *s = cuda_scalar_type(t == ELEMENT_BOOL ? ELEMENT_I32 : t);
    writer writer_of = {.p = p, .t = t, .lanes = lanes}, *w = &writer_of;
    w->v = compares ? cuda_register_type(p, ELEMENT_BOOL, lanes) : v;
    if (!cfamily_first_use(p, name))
        return;
    w->name = arena_printf(w->p->arena, "operator%s", op);
    const char *result = arena_printf(w->p->arena, "a%s %s b%s", x_scalar ? "" : ".v[#]", op, y_scalar ? "" : ".v[#]");
    map(w, arena_printf(w->p->arena, "%s a, %s b", x_scalar ? s : v, y_scalar ? s : v),
        compares ? arena_printf(w->p->arena, "-(int)(%s)", result) : result);
}

void cuda_prefix_operator(cfamily *p, const char *op, element_type t, int lanes) {
    writer writer_of = {.p = p, .t = t, .lanes = lanes}, *w = &writer_of;
    w->v = cuda_register_type(p, t, lanes);
    if (!cfamily_first_use(p, arena_printf(w->p->arena, "prefix%s%s", op, w->v)))
        return;
    w->name = arena_printf(w->p->arena, "operator%s", op);
    map(w, arena_printf(w->p->arena, "%s a", w->v), arena_printf(w->p->arena, "%sa.v[#]", op));
}

/* ---- among the lanes of a warp ---- */

const char *cuda_warp_helper(cfamily *p, kernel_op op, element_type t, int lanes) {
    t = cfamily_index_element(p, t);
    const char *name = tagged(p, t, lanes, kernel_op_table[op].name);
    writer writer_of = {.p = p, .t = t, .lanes = lanes, .name = name}, *w = &writer_of;
    w->v = type_of(p, t, lanes);
    w->x = w->v;
    bool reduces = op == KERNEL_SUBGROUP_SUM || op == KERNEL_SUBGROUP_MAX || op == KERNEL_SUBGROUP_MIN;
    if (names_have(&p->helpers, name))
        return name;
    if (!reduces) {
        const char *call = op == KERNEL_SHUFFLE_XOR    ? "__shfl_xor_sync"
                           : op == KERNEL_SHUFFLE_DOWN ? "__shfl_down_sync"
                                                       : "__shfl_sync";
        names_add(p, &p->helpers, name);
        map(w, arena_printf(w->p->arena, "%s x, long long lane", w->v),
            arena_printf(w->p->arena, "(%s)%s(0xffffffffu, x.v[#], (int)lane)",
                         cuda_scalar_type(lanes > 1 && t == ELEMENT_BOOL ? ELEMENT_I32 : t), call));
        return name;
    }
    if (lanes > 1) {
        const char *one = cuda_warp_helper(p, op, t, 1);
        by_lanes(w, HELPER_ABS, one);
    } else {
        kernel_op how = op == KERNEL_SUBGROUP_SUM ? KERNEL_ADD : op == KERNEL_SUBGROUP_MAX ? KERNEL_MAX : KERNEL_MIN;
        begin(w, w->v, arena_printf(w->p->arena, "%s x", w->v));
        cfamily_prelude_line(w->p, "for (int apart = 16; apart > 0; apart /= 2)");
        cfamily_prelude_line(w->p, "    x = %s;", combined(w, how, "x", "__shfl_xor_sync(0xffffffffu, x, apart)"));
        cfamily_prelude_line(w->p, "return x;");
        end(w);
    }
    names_add(p, &p->helpers, name);
    return name;
}
