/* Types of emitted C, and the pieces that its helper functions are written with. */
#include "target/c_helpers.h"
#include <string.h>

const char *c_type_tag(element_type t) {
    return t == ELEMENT_INDEX ? "i64" : t == ELEMENT_I64 ? "l64" : element_table[t].name; /* an index lies in memory as i32 */
}

static bool c_is_block(element_type t) {
    return element_table[t].block_elements > 1;
}

/* The scalar C type that a vector of `t` has as its elements; block formats are values of type float, masks are i32. */
const char *c_lane_type(element_type t) {
    switch (t) {
    case ELEMENT_F16:
    case ELEMENT_BF16:
    case ELEMENT_U16: return "uint16_t";
    case ELEMENT_I8: return "int8_t";
    case ELEMENT_U8:
    case ELEMENT_E4M3:
    case ELEMENT_E5M2: return "uint8_t";
    case ELEMENT_BOOL:
    case ELEMENT_I32: return "int32_t";
    case ELEMENT_U32: return "uint32_t";
    case ELEMENT_INDEX:
    case ELEMENT_I64: return "int64_t";
    default: return "float";
    }
}

int c_lane_bytes(element_type t) {
    return t == ELEMENT_INDEX ? 8 : t == ELEMENT_BOOL || c_is_block(t) ? 4 : element_table[t].block_bytes;
}

const char *c_storage_type(element_type t) {
    return t == ELEMENT_BOOL || c_is_block(t) ? "uint8_t" : t == ELEMENT_INDEX ? "int32_t" : c_lane_type(t);
}

const char *c_vector_tag(element_type t) {
    return t == ELEMENT_BOOL ? "i32" : c_is_block(t) || t == ELEMENT_TF32 ? "f32" : c_type_tag(t);
}

const char *c_vector(cfamily *p, const char *tag, const char *scalar, int bytes, int lanes) {
    const char *name = arena_printf(p->arena, "%sx%d", tag, lanes);
    if (!names_have(&p->helpers, name)) {
        names_add(p, &p->helpers, name);
        text_add(&p->prelude, "typedef %s %s __attribute__((vector_size(%d)));\n", scalar, name, bytes * lanes);
    }
    return name;
}

const char *c_register_type(cfamily *p, element_type t, int lanes) {
    if (lanes == 1)
        return t == ELEMENT_BOOL ? "bool" : c_lane_type(t);
    return c_vector(p, c_vector_tag(t), c_lane_type(t), c_lane_bytes(t), lanes);
}

void c_add(maker *m, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_add_va(&m->p->prelude, format, args);
    va_end(args);
}

void c_begin(maker *m, const char *result, const char *parameters) {
    c_add(m, "INLINE %s %s(%s)\n{\n", result, m->name, parameters);
}

const char *c_form(maker *m, const char *format, ...) {
    text_buffer b = {0};
    va_list args;
    va_start(args, format);
    text_add_va(&b, format, args);
    va_end(args);
    const char *text = arena_strdup(m->p->arena, text_get(&b));
    text_free(&b);
    return text;
}

void c_with_builtins(maker *m, const builtin *b, int count) {
    int opened = 0;
    for (int i = 0; i < count; i++)
        if (b[i].lanes == m->lanes) {
            c_add(m, "#%s defined(%s) && __has_builtin(%s)\n    return %s(%s);\n", opened++ ? "elif" : "if", b[i].macro,
                  b[i].name, b[i].name, b[i].arguments);
        }
    if (opened)
        c_add(m, "#else\n");
}

static bool builtins_have(const maker *m, const builtin *b, int count) {
    for (int i = 0; i < count; i++)
        if (b[i].lanes == m->lanes)
            return true;
    return false;
}

/* parameters; the builtins; otherwise a loop over lanes computing `lane` from a[l], b[l], ... */
void c_lane_function(maker *m, const char *parameters, const builtin *b, int count, const char *lane) {
    c_begin(m, m->v, parameters);
    c_with_builtins(m, b, count);
    c_add(m, "    %s r;\n    for (int l = 0; l < %d; l++)\n        r[l] = %s;\n    return r;\n", m->v, m->lanes, lane);
    c_add(m, builtins_have(m, b, count) ? "#endif\n}\n" : "}\n");
}
const char *c_int_vector(maker *m, element_type t) {
    int bytes = c_lane_bytes(t);
    return bytes == 8   ? c_vector(m->p, "i64", "int64_t", 8, m->lanes)
           : bytes == 4 ? c_vector(m->p, "i32", "int32_t", 4, m->lanes)
           : bytes == 2 ? c_vector(m->p, "i16", "int16_t", 2, m->lanes)
                        : c_vector(m->p, "i8", "int8_t", 1, m->lanes);
}

const char *c_unsigned_vector(maker *m) {
    return c_lane_bytes(m->t) == 8 ? c_vector(m->p, "u64", "uint64_t", 8, m->lanes)
                                   : c_vector(m->p, "u32", "uint32_t", 4, m->lanes);
}

const char *c_prefix_mask(cfamily *p) {
    const char *name = "prefix_mask";
    if (!names_have(&p->helpers, name)) {
        names_add(p, &p->helpers, name);
        text_add(&p->prelude, "/* The first n of `lanes` bits; without a branch, which compilers would draw out of loops. */\n"
                              "INLINE unsigned prefix_mask(int64_t n, int lanes)\n{\n"
                              "    n &= ~(n >> 63);\n    n = lanes + ((n - lanes) & ((n - lanes) >> 63));\n"
                              "    return (1u << n) - 1;\n}\n");
    }
    return name;
}

/* Integers made wider or narrower, lane by lane. GCC takes a vector that comes from memory apart for this, so its builtins stand first. */
typedef struct resizing {
    const char *from, *to;
    int lanes;
    const char *macro, *name;
    const char *builtin_from, *element; /* the type the builtin takes */
    int element_bytes;
    const char *arguments; /* after the first */
} resizing;
static const resizing resizings[] = {
    {"i8", "i32", 16, "__AVX512F__", "__builtin_ia32_pmovsxbd512_mask", "c8", "char", 1, ", (i32x16){0}, -1"},
    {"u8", "i32", 16, "__AVX512F__", "__builtin_ia32_pmovzxbd512_mask", "c8", "char", 1, ", (i32x16){0}, -1"},
    {"u16", "i32", 16, "__AVX512F__", "__builtin_ia32_pmovzxwd512_mask", "s16", "short", 2, ", (i32x16){0}, -1"},
    {"i32", "u16", 16, "__AVX512F__", "__builtin_ia32_pmovdw512_mask", "i32", "int32_t", 4, ", (s16x16){0}, -1"},
    {"i32", "u8", 16, "__AVX512F__", "__builtin_ia32_pmovdb512_mask", "i32", "int32_t", 4, ", (c8x16){0}, -1"},
    {"u16", "i32", 8, "__AVX2__", "__builtin_ia32_pmovzxwd256", "s16", "short", 2, ""},
    {"i32", "u16", 8, "__AVX512VL__", "__builtin_ia32_pmovdw256_mask", "i32", "int32_t", 4, ", (s16x8){0}, -1"},
};

static const char *integer_vector(cfamily *p, const char *tag, int lanes) {
    static const struct {
        const char *tag, *scalar;
        int bytes;
    } types[] = {{"i8", "int8_t", 1},   {"u8", "uint8_t", 1},   {"u16", "uint16_t", 2},
                 {"i32", "int32_t", 4}, {"u32", "uint32_t", 4}, {"i64", "int64_t", 8},
                 {"l64", "int64_t", 8}, {"s16", "short", 2},    {"c8", "char", 1}};
    for (int i = 0; i < COUNT(types); i++)
        if (!strcmp(types[i].tag, tag))
            return c_vector(p, tag, types[i].scalar, types[i].bytes, lanes);
    return NULL;
}

const char *c_resize(cfamily *p, const char *from, const char *to, int lanes) {
    const char *name = arena_printf(p->arena, "%sx%d_of_%s", to, lanes, from);
    if (names_have(&p->helpers, name))
        return name;
    names_add(p, &p->helpers, name);
    const char *f = integer_vector(p, from, lanes), *t = integer_vector(p, to, lanes);
    const char *plain_from = !strcmp(from, "u32") ? "i32" : from; /* the same instruction serves both signs on the wide side */
    const char *plain_to = !strcmp(to, "u32") ? "i32" : !strcmp(to, "i8") ? "u8" : to;
    const resizing *found = NULL;
    for (int i = 0; i < COUNT(resizings); i++)
        if (!strcmp(resizings[i].from, plain_from) && !strcmp(resizings[i].to, plain_to) && resizings[i].lanes == lanes)
            found = &resizings[i];
    const char *taken = found ? c_vector(p, found->builtin_from, found->element, found->element_bytes, lanes) : NULL;
    if (found) {
        integer_vector(p, "i32", lanes);
        integer_vector(p, "s16", lanes);
        integer_vector(p, "c8", lanes);
    }
    text_add(&p->prelude, "INLINE %s %s(%s x)\n{\n", t, name, f);
    if (found)
        text_add(&p->prelude, "#if defined(%s) && __has_builtin(%s)\n    return (%s)%s((%s)x%s);\n#else\n", found->macro,
                 found->name, t, found->name, taken, found->arguments);
    text_add(&p->prelude, "    return __builtin_convertvector(x, %s);\n%s}\n", t, found ? "#endif\n" : "");
    return name;
}
