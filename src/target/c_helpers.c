/* The prelude of emitted C: vector types and the small functions that kernels call, each written only when used.
 * Compiler builtins stand where GCC makes poor code of a plain loop over lanes; the intrinsics' header alone would take longer to
 * compile than the kernel. Every function has a portable form as well, with the same result. */
#include "target/c_helpers.h"
#include <string.h>

static const char *const helper_names[] = {[HELPER_SPLAT] = "splat",
                                           [HELPER_IOTA] = "iota",
                                           [HELPER_LOAD] = "load",
                                           [HELPER_LOAD_FIRST] = "load_first",
                                           [HELPER_LOAD_STRIDED] = "load_strided",
                                           [HELPER_LOAD_STRIDED_FIRST] = "load_strided_first",
                                           [HELPER_STORE] = "store",
                                           [HELPER_STORE_FIRST] = "store_first",
                                           [HELPER_STORE_STRIDED] = "store_strided",
                                           [HELPER_STORE_STRIDED_FIRST] = "store_strided_first",
                                           [HELPER_BLOCK_LOAD] = "at",
                                           [HELPER_NEG] = "neg",
                                           [HELPER_ABS] = "abs",
                                           [HELPER_FLOOR] = "floor",
                                           [HELPER_RINT] = "rint",
                                           [HELPER_SQRT] = "sqrt",
                                           [HELPER_WRAP_ADD] = "add",
                                           [HELPER_WRAP_SUB] = "sub",
                                           [HELPER_WRAP_MUL] = "mul",
                                           [HELPER_MIN] = "min",
                                           [HELPER_MAX] = "max",
                                           [HELPER_MIN_NUMBER] = "min_number",
                                           [HELPER_MAX_NUMBER] = "max_number",
                                           [HELPER_FMA] = "fma",
                                           [HELPER_SELECT] = "select",
                                           [HELPER_PREFIX_SELECT] = "prefix_select",
                                           [HELPER_SHL] = "shl",
                                           [HELPER_SHR] = "shr",
                                           [HELPER_LANES_SUM] = "lanes_sum",
                                           [HELPER_ALL] = "all",
                                           [HELPER_LANES_MAX] = "lanes_max",
                                           [HELPER_LANES_MIN] = "lanes_min"};

static const char *index_helper(cfamily *p, cfamily_helper h) {
    static const struct {
        cfamily_helper h;
        const char *name, *text;
    } table[] = {
        {HELPER_FLOOR_DIV, "floor_div", "int64_t a, int64_t b)\n{\n    return a / b - (a % b < 0);\n}\n"},
        {HELPER_FLOOR_MOD, "floor_mod", "int64_t a, int64_t b)\n{\n    int64_t r = a % b;\n    return r < 0 ? r + b : r;\n}\n"},
        {HELPER_INDEX_MIN, "index_min", "int64_t a, int64_t b)\n{\n    return a < b ? a : b;\n}\n"},
        {HELPER_INDEX_MAX, "index_max", "int64_t a, int64_t b)\n{\n    return a > b ? a : b;\n}\n"},
        {HELPER_SWIZZLE, "swizzle",
         "int64_t x, int bits, int base, int shift)\n{\n"
         "    return x ^ ((x >> shift) & (((int64_t)1 << bits) - 1) << base);\n}\n"}};
    for (int i = 0; i < COUNT(table); i++)
        if (table[i].h == h) {
            if (!names_have(&p->helpers, table[i].name)) {
                names_add(p, &p->helpers, table[i].name);
                text_add(&p->prelude, "INLINE int64_t %s(%s", table[i].name, table[i].text);
            }
            return table[i].name;
        }
    return NULL;
}

const char *c_helper(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes) {
    const char *index = index_helper(p, h);
    if (index)
        return index;
    if (lanes == 1) { /* what C has itself */
        if (t == ELEMENT_F32 && (h == HELPER_ABS || h == HELPER_FLOOR || h == HELPER_RINT || h == HELPER_SQRT || h == HELPER_FMA))
            return h == HELPER_ABS     ? "__builtin_fabsf"
                   : h == HELPER_FLOOR ? "__builtin_floorf"
                   : h == HELPER_RINT  ? "__builtin_rintf"
                   : h == HELPER_SQRT  ? "__builtin_sqrtf"
                                       : "__builtin_fmaf";
    }
    bool memory = h == HELPER_LOAD || h == HELPER_LOAD_FIRST || h == HELPER_LOAD_STRIDED || h == HELPER_LOAD_STRIDED_FIRST ||
                  h == HELPER_STORE || h == HELPER_STORE_FIRST || h == HELPER_STORE_STRIDED || h == HELPER_STORE_STRIDED_FIRST ||
                  h == HELPER_BLOCK_LOAD;
    /* A vector of booleans is like one of i32 except for what touches memory or scalars. */
    if (t == ELEMENT_BOOL && !memory && h != HELPER_SPLAT && h != HELPER_CONVERT && lanes > 1)
        t = from = ELEMENT_I32;
    const char *tag = memory ? c_type_tag(t) : h == HELPER_SPLAT && t == ELEMENT_BOOL ? "bool" : c_vector_tag(t);
    const char *width = lanes > 1 ? arena_printf(p->arena, "x%d", lanes) : "";
    const char *name;
    if (h == HELPER_CONVERT || h == HELPER_CONVERT_SATURATE || h == HELPER_BITCAST)
        name = arena_printf(p->arena, "%s%s_%s_%s%s", tag, width, h == HELPER_BITCAST ? "bits_of" : "from", c_type_tag(from),
                            h == HELPER_CONVERT_SATURATE ? "_saturate" : "");
    else
        name = arena_printf(p->arena, "%s%s_%s", tag, width, helper_names[h]);
    if (names_have(&p->helpers, name))
        return name;
    names_add(p, &p->helpers, name);
    maker m = {.p = p, .name = name, .t = t, .from = from, .lanes = lanes, .e = c_lane_type(t), .s = c_storage_type(t)};
    m.v = c_register_type(p, t, lanes);
    m.mask = lanes > 1 ? c_register_type(p, ELEMENT_BOOL, lanes) : "bool";
    switch (h) {
    case HELPER_SPLAT: c_make_splat(&m); break;
    case HELPER_IOTA: c_make_iota(&m); break;
    case HELPER_LOAD: c_make_load(&m); break;
    case HELPER_LOAD_FIRST: c_make_load_first(&m); break;
    case HELPER_LOAD_STRIDED: c_make_strided(&m, false, false); break;
    case HELPER_LOAD_STRIDED_FIRST: c_make_strided(&m, false, true); break;
    case HELPER_STORE: c_make_store(&m); break;
    case HELPER_STORE_FIRST: c_make_store_first(&m); break;
    case HELPER_STORE_STRIDED: c_make_strided(&m, true, false); break;
    case HELPER_STORE_STRIDED_FIRST: c_make_strided(&m, true, true); break;
    case HELPER_BLOCK_LOAD: c_make_block_load(&m); break;
    case HELPER_NEG:
    case HELPER_ABS:
    case HELPER_FLOOR:
    case HELPER_RINT:
    case HELPER_SQRT: c_make_unary(&m, h); break;
    case HELPER_WRAP_ADD: c_make_wrapping(&m, '+'); break;
    case HELPER_WRAP_SUB: c_make_wrapping(&m, '-'); break;
    case HELPER_WRAP_MUL: c_make_wrapping(&m, '*'); break;
    case HELPER_MIN: c_make_extreme(&m, false, false); break;
    case HELPER_MAX: c_make_extreme(&m, true, false); break;
    case HELPER_MIN_NUMBER: c_make_extreme(&m, false, true); break;
    case HELPER_MAX_NUMBER: c_make_extreme(&m, true, true); break;
    case HELPER_FMA: c_make_fma(&m); break;
    case HELPER_SELECT: c_make_select(&m); break;
    case HELPER_PREFIX_SELECT: c_make_prefix_select(&m); break;
    case HELPER_CONVERT: c_make_convert(&m, false); break;
    case HELPER_CONVERT_SATURATE: c_make_convert(&m, true); break;
    case HELPER_BITCAST: c_make_bitcast(&m); break;
    case HELPER_SHL: c_make_shift(&m, true); break;
    case HELPER_SHR: c_make_shift(&m, false); break;
    case HELPER_ALL: c_make_all(&m); break;
    default: c_make_lanes(&m, h); break;
    }
    return name;
}
