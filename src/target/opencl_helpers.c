/* Functions of emitted OpenCL C that it has no builtin for. Each is written once, when first used; scalars and vectors share one text, since
 * comparisons, `?:` and conversions are spelt alike for both. */
#include "target/opencl_helpers.h"
#include <string.h>

typedef struct writer {
    cfamily *p;
    element_type t, from;
    int lanes;
    const char *width; /* "" or "4" */
    const char *v, *x; /* types of the result and of what is converted */
    const char *name;
} writer;

static const char *sized(const writer *w, const char *scalar) {
    return arena_printf(w->p->arena, "%s%s", scalar, w->width);
}

static const char *type_of(cfamily *p, element_type t, int lanes) {
    return p->dialect->register_type(p, t, lanes);
}

static void begin(writer *w, const char *result, const char *parameters) {
    text_add(&w->p->prelude, "static inline %s %s(%s)\n{\n", result, w->name, parameters);
}

static void end(writer *w) {
    text_add(&w->p->prelude, "}\n");
}

/* "0, 1, 2, 3", each through `each` ("p[%d * stride]") */
static const char *listed(writer *w, const char *each) {
    text_buffer b = {0};
    const char *at = strchr(each, '%');
    for (int l = 0; l < w->lanes; l++)
        text_add(&b, "%s%.*s%d%s", l ? ", " : "", (int)(at - each), each, l, at + 1);
    const char *text = arena_strdup(w->p->arena, text_get(&b));
    text_free(&b);
    return text;
}

/* ---- memory ---- */

static const char *from_memory(writer *w, const char *text) {
    return w->t == ELEMENT_BOOL ? arena_printf(w->p->arena, "-(%s != 0)", text) : text;
}

/* A whole vector; indices and booleans are narrower in memory. */
static void whole(writer *w, const char *place, bool is_store) {
    const char *stored = w->t == ELEMENT_INDEX  ? arena_printf(w->p->arena, "convert_int%s(v)", w->width)
                         : w->t == ELEMENT_BOOL ? arena_printf(w->p->arena, "convert_uchar%s(v & 1)", w->width)
                                                : "v";
    const char *loaded = w->t == ELEMENT_INDEX  ? arena_printf(w->p->arena, "convert_%s(%s)", w->v, place)
                         : w->t == ELEMENT_BOOL ? arena_printf(w->p->arena, "(convert_%s(%s) != 0)", w->v, place)
                                                : place;
    if (is_store)
        cfamily_prelude_line(w->p, "%s = %s;", place, stored);
    else
        cfamily_prelude_line(w->p, "return %s;", loaded);
    end(w);
}

const char *opencl_memory_helper(cfamily *p, const kernel_access *access, bool is_store, const char *stride, const char *active) {
    const kernel_array *array = access->array, *root = array;
    while (root->view_of)
        root = root->view_of;
    element_type t = array->element;
    const char *space = opencl_space(p, array);
    bool constant = root->space == SPACE_GLOBAL && root->use == USE_IN;
    const char *name = arena_printf(p->arena, "%s%s_%s%s%s_%s%s", c_type_tag(t), arena_printf(p->arena, "x%d", access->lanes),
                                    is_store ? "store" : "load", stride ? "_strided" : "", active ? "_first" : "",
                                    constant ? "const_" : "", space);
    if (names_have(&p->helpers, name))
        return name;
    names_add(p, &p->helpers, name);
    const char *lanes = arena_printf(p->arena, "%d", access->lanes);
    writer writer_of = {.p = p, .t = t, .lanes = access->lanes, .width = lanes, .name = name}, *w = &writer_of;
    w->v = type_of(p, t, w->lanes);
    const char *pointer = arena_printf(w->p->arena, "__%s %s%s *a%s%s%s", space, constant ? "const " : "",
                                       p->dialect->storage_type(t), is_store ? arena_printf(w->p->arena, ", %s v", w->v) : "",
                                       stride ? ", long stride" : "", active ? ", long count" : "");
    const char *packed = !stride && !active ? opencl_packed_type(p, t, access->lanes) : NULL;
    bool masked = p->dialect->private_is_shared && active && !stride && opencl_masked_prepare(p, t, access->lanes);
    begin(w, is_store ? "void" : w->v, pointer);
    if (packed) {
        whole(w, arena_printf(p->arena, "((__%s %s%s *)a)->v", space, constant ? "const " : "", packed), is_store);
        return name;
    }
    if (masked)
        opencl_masked_access(p, t, access->lanes, is_store);
    text_buffer b = {0};
    for (int l = 0; l < w->lanes; l++) {
        const char *place =
            stride ? arena_printf(w->p->arena, l ? "a[%d * stride]" : "a[0]", l) : arena_printf(w->p->arena, "a[%d]", l);
        if (is_store) {
            const char *value = arena_printf(w->p->arena, "v.s%x%s", (unsigned)l, t == ELEMENT_BOOL ? " & 1" : "");
            if (active)
                cfamily_prelude_line(w->p, "if (count > %d)\n        %s = %s;", l, place, value);
            else
                cfamily_prelude_line(w->p, "%s = %s;", place, value);
            continue;
        }
        text_add(&b, "%s", l ? ", " : "");
        if (active)
            text_add(&b, "count > %d ? %s : 0", l, from_memory(w, place));
        else
            text_add(&b, "%s", from_memory(w, place));
    }
    if (!is_store)
        cfamily_prelude_line(w->p, "return (%s)(%s);", w->v, text_get(&b));
    text_free(&b);
    if (masked)
        text_add(&p->prelude, "#endif\n");
    end(w);
    return name;
}

/* One value, or lanes inside one block, of a block format: f16 scale, then 32 bytes (q8_0), or 16 with element i below element i + 16. */
static void block_load(writer *w) {
    bool q8 = w->t == ELEMENT_Q8_0, processor = w->p->dialect->private_is_shared;
    element_type bytes = q8 ? ELEMENT_I8 : ELEMENT_U8;
    const bool eighth = w->t == ELEMENT_MXFP4;
    const char *type = opencl_scalar_type(bytes, true), *at = q8 ? "i" : "i % 16", *taken;
    const int first = eighth ? 1 : 2;
    if (w->lanes == 1)
        taken = arena_printf(w->p->arena, "((__global const %s *)b)[%d + %s]", type, first, at);
    else if (processor)
        taken = arena_printf(w->p->arena, "((__global const %s *)(b + %d + %s))->v", opencl_packed_type(w->p, bytes, w->lanes),
                             first, at);
    else
        taken = arena_printf(w->p->arena, "vload%d(0, (__global const %s *)b + %d + %s)", w->lanes, type, first, at);
    const char *half = processor && !eighth ? opencl_helper(w->p, HELPER_CONVERT, ELEMENT_F32, ELEMENT_F16, 1) : NULL;
    begin(w, w->v, processor ? "__global const uchar *a, ulong element" : "__global const uchar *a, long element");
    cfamily_prelude_line(w->p, "__global const uchar *b = a + element / 32 * %d;", element_table[w->t].block_bytes);
    cfamily_prelude_line(w->p, "const %slong i = element %% 32;", processor ? "u" : "");
    if (eighth) /* half of the scale, a power of two by its exponent */
        cfamily_prelude_line(w->p, "const uint e = b[0];");
    cfamily_prelude_line(w->p, "const float d = %s;",
                         eighth ? "as_float(e == 255 ? 0x7fc00000u : e < 2 ? 0x200000u << e : (e - 1) << 23)"
                         : half ? arena_printf(w->p->arena, "%s(*(__global const ushort *)b)", half)
                                : "vload_half(0, (__global const half *)b)");
    if (q8) {
        cfamily_prelude_line(w->p, "return d * convert_float%s(%s);", w->width, taken);
    } else {
        const char *u = sized(w, "uchar");
        cfamily_prelude_line(w->p, "const %s q = %s;", u, taken);
        if (eighth) { /* 4-bit numbers, doubled */
            const char *s = sized(w, "int");
            cfamily_prelude_line(w->p, "const %s n = convert_%s(i < 16 ? q & (%s)15 : q >> (%s)4), m = n & 7;", s, s, u, u);
            cfamily_prelude_line(w->p, "const %s t = m + max(m - 4, 0) + 2 * max(m - 6, 0);", s);
            cfamily_prelude_line(w->p, "return d * convert_float%s(n > 7 ? -t : t);", w->width);
            end(w);
            return;
        }
        cfamily_prelude_line(w->p, "return d * (convert_float%s(i < 16 ? q & (%s)15 : q >> (%s)4) - 8.0f);", w->width, u, u);
    }
    end(w);
}

/* ---- conversions, bit for bit as base/element.c has them ---- */

static void bf16_convert(writer *w, bool to) {
    const char *u = sized(w, "uint");
    begin(w, w->v, arena_printf(w->p->arena, "%s x", w->x));
    if (to) {
        cfamily_prelude_line(w->p, "const %s w = as_%s(x), even = (w + 0x7fff + (w >> 16 & 1)) >> 16, quiet = w >> 16 | 0x40;", u,
                             u);
        cfamily_prelude_line(w->p, "return convert_%s(isnan(x) ? quiet : even);", w->v);
    } else
        cfamily_prelude_line(w->p, "return as_%s(convert_%s(x) << 16);", w->v, u);
    end(w);
}

/* The last 13 bits of an f32 rounded off, to nearest even. */
static void tf32_to(writer *w) {
    const char *u = sized(w, "uint");
    begin(w, w->v, arena_printf(w->p->arena, "%s x", w->x));
    cfamily_prelude_line(w->p, "const %s w = as_%s(x), even = w + 0xfff + (w >> 13 & 1), quiet = w | 0x400000;", u, u);
    cfamily_prelude_line(w->p, "return as_%s((isnan(x) ? quiet : even) & 0xffffe000u);", w->v);
    end(w);
}

/* Subnormals are made from their digits, so that a device that flushes them gives the same. */
static void fp8_from(writer *w) {
    const char *u = sized(w, "uint");
    bool e4m3 = w->from == ELEMENT_E4M3;
    begin(w, w->v, arena_printf(w->p->arena, "%s x", w->x));
    cfamily_prelude_line(w->p, "const %s b = convert_%s(x), m = b & 0x7f, sign = (b & 0x80) << 24;", u, u);
    cfamily_prelude_line(w->p, "const %s small = as_%s(convert_%s(m) * %s);", u, u, w->v, e4m3 ? "0x1p-9f" : "0x1p-16f");
    cfamily_prelude_line(w->p, "%s r = m < %d ? small : (m << %d) + 0x%xu;", u, e4m3 ? 8 : 4, e4m3 ? 20 : 21,
                         e4m3 ? 120u << 23 : 112u << 23);
    if (e4m3)
        cfamily_prelude_line(w->p, "r = m == 0x7f ? (%s)0x7fc00000 : r;", u);
    else
        cfamily_prelude_line(w->p, "r = m == 0x7c ? (%s)0x7f800000 : m > 0x7c ? (%s)0x7fc00000 : r;", u, u);
    cfamily_prelude_line(w->p, "return as_%s(r | sign);", w->v);
    end(w);
}

/* Rounds to nearest even. Normal results: the bits themselves are rounded; below, adding a constant lets f32's own rounding do it. */
static void fp8_to(writer *w, bool saturate) {
    const char *u = sized(w, "uint");
    bool e4m3 = w->t == ELEMENT_E4M3;
    int shift = e4m3 ? 20 : 21;
    unsigned half = e4m3 ? 0x7ffff : 0xfffff, rebias = e4m3 ? 120u << 23 : 112u << 23;
    unsigned least_normal = e4m3 ? 0x3c800000 : 0x38800000;
    unsigned lift_bits = e4m3 ? 0x46800000 : 0x43000000, over = e4m3 ? 0x43e80000 : 0x47700000;
    unsigned beyond = saturate ? (e4m3 ? 0x7e : 0x7b) : e4m3 ? 0x7f : 0x7c, nan = e4m3 ? 0x7f : 0x7e;
    begin(w, w->v, arena_printf(w->p->arena, "%s x", w->x));
    cfamily_prelude_line(w->p, "const %s m = as_%s(x) & 0x7fffffff, sign = as_%s(x) >> 24 & 0x80;", u, u, u);
    cfamily_prelude_line(w->p, "const %s normal = (m + 0x%x + (m >> %d & 1) - 0x%xu) >> %d;", u, half, shift, rebias, shift);
    cfamily_prelude_line(w->p, "const %s small = as_%s(as_%s(m) + %s) - 0x%xu;", u, u, w->x, e4m3 ? "0x1p14f" : "0x1p7f",
                         lift_bits);
    cfamily_prelude_line(w->p, "%s r = m < 0x%xu ? small : normal;", u, least_normal);
    cfamily_prelude_line(w->p, "r = m %s 0x%xu ? (%s)0x%x : r;", e4m3 ? ">" : ">=", over, u, beyond);
    cfamily_prelude_line(w->p, "r = m > 0x7f800000u ? (%s)0x%x : r;", u, nan);
    cfamily_prelude_line(w->p, "return convert_%s(r | sign);", w->v);
    end(w);
}

static void convert(writer *w, bool saturate) {
    element_type t = w->t, from = w->from;
    bool narrow = t == ELEMENT_I8 || t == ELEMENT_U8;
    if ((t == ELEMENT_BF16) != (from == ELEMENT_BF16)) {
        bf16_convert(w, t == ELEMENT_BF16);
    } else if (t == ELEMENT_TF32) {
        tf32_to(w);
    } else if (from == ELEMENT_E4M3 || from == ELEMENT_E5M2) {
        fp8_from(w);
    } else if (t == ELEMENT_E4M3 || t == ELEMENT_E5M2) {
        fp8_to(w, saturate);
    } else {
        begin(w, w->v, arena_printf(w->p->arena, "%s x", w->x));
        bool half = w->p->dialect->private_is_shared && (from == ELEMENT_F16 || t == ELEMENT_F16) &&
                    (from == ELEMENT_F32 || t == ELEMENT_F32) && opencl_half_convert(w->p, t, w->lanes);
        if (from == ELEMENT_F16) /* needs no cl_khr_fp16 */
            cfamily_prelude_line(w->p, "return vload_half%s(0, (const half *)&x);", w->width);
        else if (t == ELEMENT_F16)
            cfamily_prelude_line(w->p, "%s h;\n    vstore_half%s_rte(x, 0, (half *)&h);\n    return h;", w->v, w->width);
        else if (from == ELEMENT_F32) /* toward zero, saturating, NaN gives 0 */
            cfamily_prelude_line(w->p, "x = isnan(x) ? (%s)0 : x;\n    return convert_%s_sat(%s);", w->x, w->v,
                                 narrow ? arena_printf(w->p->arena, "convert_%s_sat(x)", sized(w, "int")) : "x");
        else if (t == ELEMENT_BOOL)
            cfamily_prelude_line(w->p, "return convert_%s(x);", w->v);
        else
            cfamily_prelude_line(w->p, "return convert_%s(x%s);", w->v, from == ELEMENT_BOOL ? " & 1" : "");
        if (half)
            text_add(&w->p->prelude, "#endif\n");
        end(w);
    }
}

/* ---- arithmetic ---- */

static void lanes_reduce(writer *w, cfamily_helper h) {
    bool real = w->t == ELEMENT_F32, sum = h == HELPER_LANES_SUM;
    const char *scalar = opencl_scalar_type(w->t, true), *call = NULL;
    if (!sum)
        call = h == HELPER_LANES_MAX ? (real ? "fmax" : "max") : real ? "fmin" : "min";
    const char *as_u = sum && w->t == ELEMENT_I32 ? "as_uint" : NULL; /* integers wrap */
    begin(w, scalar, arena_printf(w->p->arena, "%s v%d", w->v, w->lanes));
    for (int n = w->lanes / 2; n >= 1; n /= 2) {
        const char *half = n > 1 ? arena_printf(w->p->arena, "%s%d", scalar, n) : scalar,
                   *width = n > 1 ? arena_printf(w->p->arena, "%d", n) : "";
        const char *lo = arena_printf(w->p->arena, "v%d.lo", 2 * n), *hi = arena_printf(w->p->arena, "v%d.hi", 2 * n);
        const char *value =
            call   ? arena_printf(w->p->arena, "%s(%s, %s)", call, lo, hi)
            : as_u ? arena_printf(w->p->arena, "as_int%s(as_uint%s(%s) + as_uint%s(%s))", width, width, lo, width, hi)
                   : arena_printf(w->p->arena, "%s + %s", lo, hi);
        if (n > 1)
            cfamily_prelude_line(w->p, "const %s v%d = %s;", half, n, value);
        else
            cfamily_prelude_line(w->p, "return %s;", value);
    }
    end(w);
}

static void wrapping(writer *w, char op) {
    const char *u = sized(w, w->t == ELEMENT_INDEX ? "ulong" : "uint");
    begin(w, w->v, arena_printf(w->p->arena, "%s a, %s b", w->v, w->v));
    cfamily_prelude_line(w->p, "return as_%s(as_%s(a) %c as_%s(b));", w->v, u, op, u);
    end(w);
}

static void shift(writer *w, bool left) {
    const char *u = sized(w, w->t == ELEMENT_INDEX ? "ulong" : "uint");
    int mask = w->t == ELEMENT_INDEX ? 63 : 31;
    begin(w, w->v, arena_printf(w->p->arena, "%s a, %s b", w->v, w->v));
    if (left)
        cfamily_prelude_line(w->p, "return as_%s(as_%s(a) << as_%s(b & %d));", w->v, u, u, mask);
    else
        cfamily_prelude_line(w->p, "return a >> (b & %d);", mask);
    end(w);
}

/* The mask as wide as the elements it chooses. */
static const char *widened_mask(writer *w, const char *mask) {
    const char *scalar = opencl_scalar_type(w->t, true);
    const char *wanted = strstr(scalar, "char")    ? "char"
                         : strstr(scalar, "short") ? "short"
                         : strstr(scalar, "long")  ? "long"
                                                   : NULL;
    return wanted ? arena_printf(w->p->arena, "convert_%s%s(%s)", wanted, w->width, mask) : mask;
}

static void select_lanes(writer *w) {
    begin(w, w->v, arena_printf(w->p->arena, "int%s mask, %s x, %s y", w->width, w->v, w->v));
    cfamily_prelude_line(w->p, "return %s ? x : y;", widened_mask(w, "mask"));
    end(w);
}

static void prefix_select(writer *w) {
    begin(w, w->v, arena_printf(w->p->arena, "long count, %s x, %s y", w->v, w->v));
    cfamily_prelude_line(w->p, "const int n = count < 0 ? 0 : count > %d ? %d : (int)count;", w->lanes, w->lanes);
    cfamily_prelude_line(w->p, "return %s ? x : y;",
                         widened_mask(w, arena_printf(w->p->arena, "((int%s)(%s) < n)", w->width, listed(w, "%"))));
    end(w);
}

static const char *index_helper(cfamily *p, cfamily_helper h) {
    return cfamily_index_helper(p, h, "static inline");
}

/* What OpenCL C has itself; NULL otherwise. */
static const char *builtin(cfamily *p, cfamily_helper h, element_type t, int lanes) {
    bool real = t == ELEMENT_F32;
    switch (h) {
    case HELPER_SPLAT: return t == ELEMENT_BOOL ? NULL : arena_printf(p->arena, "(%s)", type_of(p, t, lanes));
    case HELPER_ABS: return real ? "fabs" : NULL;
    case HELPER_FLOOR: return "floor";
    case HELPER_RINT: return "rint";
    case HELPER_SQRT: return "sqrt";
    case HELPER_FMA: return "fma";
    case HELPER_MIN:
    case HELPER_MIN_NUMBER: return real ? "fmin" : t == ELEMENT_INDEX && lanes == 1 ? index_helper(p, HELPER_INDEX_MIN) : "min";
    case HELPER_MAX:
    case HELPER_MAX_NUMBER: return real ? "fmax" : t == ELEMENT_INDEX && lanes == 1 ? index_helper(p, HELPER_INDEX_MAX) : "max";
    case HELPER_BITCAST: return arena_printf(p->arena, "as_%s", type_of(p, t, lanes));
    case HELPER_ALL: return "all";
    default: return NULL;
    }
}

const char *opencl_helper(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes) {
    t = cfamily_index_element(p, t);
    from = cfamily_index_element(p, from);
    /* clang-format off */
    static const char *const names[] = {[HELPER_SPLAT] = "splat",       [HELPER_IOTA] = "iota",           [HELPER_BLOCK_LOAD] = "at",
                                        [HELPER_NEG] = "neg",           [HELPER_ABS] = "abs",             [HELPER_WRAP_ADD] = "add",
                                        [HELPER_WRAP_SUB] = "sub",      [HELPER_WRAP_MUL] = "mul",        [HELPER_SELECT] = "select",
                                        [HELPER_PREFIX_SELECT] = "prefix_select",                         [HELPER_SHL] = "shl",
                                        [HELPER_SHR] = "shr",           [HELPER_LANES_SUM] = "lanes_sum", [HELPER_LANES_MAX] = "lanes_max",
                                        [HELPER_LANES_MIN] = "lanes_min"};
    /* clang-format on */
    const char *known = index_helper(p, h);
    if (!known)
        known = builtin(p, h, t, lanes);
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
    writer writer_of = {.p = p, .t = t, .from = from, .lanes = lanes, .name = name}, *w = &writer_of;
    w->width = lanes > 1 ? arena_printf(p->arena, "%d", lanes) : "";
    w->v = type_of(p, t, lanes);
    w->x = type_of(p, from, lanes);
    switch (h) {
    case HELPER_SPLAT:
        begin(w, w->v, "bool b");
        cfamily_prelude_line(w->p, "return (%s)(b ? -1 : 0);", w->v);
        end(w);
        break;
    case HELPER_IOTA:
        begin(w, w->v, "void");
        cfamily_prelude_line(w->p, "return (%s)(%s);", w->v, listed(w, "%"));
        end(w);
        break;
    case HELPER_NEG:
        begin(w, w->v, arena_printf(w->p->arena, "%s x", w->v));
        cfamily_prelude_line(w->p, "return as_%s(0 - as_%s(x));", w->v, sized(w, "uint"));
        end(w);
        break;
    case HELPER_ABS:
        begin(w, w->v, arena_printf(w->p->arena, "%s x", w->v));
        cfamily_prelude_line(w->p, "return as_%s(abs(x));", w->v);
        end(w);
        break;
    case HELPER_BLOCK_LOAD: block_load(w); break;
    case HELPER_WRAP_ADD: wrapping(w, '+'); break;
    case HELPER_WRAP_SUB: wrapping(w, '-'); break;
    case HELPER_WRAP_MUL: wrapping(w, '*'); break;
    case HELPER_SHL: shift(w, true); break;
    case HELPER_SHR: shift(w, false); break;
    case HELPER_SELECT: select_lanes(w); break;
    case HELPER_PREFIX_SELECT: prefix_select(w); break;
    case HELPER_LANES_SUM:
    case HELPER_LANES_MAX:
    case HELPER_LANES_MIN: lanes_reduce(w, h); break;
    default: convert(w, h == HELPER_CONVERT_SATURATE); break;
    }
    return name;
}
