/* The prelude of emitted C: vector types and the small functions that kernels call, each written only when used.
 * Compiler builtins stand where GCC makes poor code of a plain loop over lanes; the intrinsics' header alone would take longer to
 * compile than the kernel. Every function has a portable form as well, with the same result. */
#include "target/cfamily.h"
#include "kernel/math.h"
#include <string.h>

const char *c_type_tag(element_type t) {
    return t == ELEMENT_INDEX ? "i64" : element_table[t].name;
}

static bool is_block_format(element_type t) {
    return element_table[t].block_elements > 1;
}

/* The scalar C type that a vector of `t` has as its elements; block formats are values of type float, masks are i32. */
static const char *lane_type(element_type t) {
    switch (t) {
    case ELEMENT_F16:
    case ELEMENT_BF16: return "uint16_t";
    case ELEMENT_I8: return "int8_t";
    case ELEMENT_U8:
    case ELEMENT_E4M3:
    case ELEMENT_E5M2: return "uint8_t";
    case ELEMENT_BOOL:
    case ELEMENT_I32: return "int32_t";
    case ELEMENT_U32: return "uint32_t";
    case ELEMENT_INDEX: return "int64_t";
    default: return "float";
    }
}

static int lane_bytes(element_type t) {
    return t == ELEMENT_INDEX ? 8 : t == ELEMENT_BOOL || is_block_format(t) ? 4 : element_table[t].block_bytes;
}

const char *c_storage_type(element_type t) {
    return t == ELEMENT_BOOL || is_block_format(t) ? "uint8_t" : t == ELEMENT_INDEX ? "int32_t" : lane_type(t);
}

static const char *vector_tag(element_type t) {
    return t == ELEMENT_BOOL ? "i32" : is_block_format(t) ? "f32" : c_type_tag(t);
}

static const char *plain_vector(cfamily *p, const char *tag, const char *scalar, int bytes, int lanes) {
    const char *name = arena_printf(p->arena, "%sx%d", tag, lanes);
    if (!names_have(&p->helpers, name)) {
        names_add(p, &p->helpers, name);
        text_add(&p->prelude, "typedef %s %s __attribute__((vector_size(%d)));\n", scalar, name, bytes * lanes);
    }
    return name;
}

const char *c_register_type(cfamily *p, element_type t, int lanes) {
    if (lanes == 1)
        return t == ELEMENT_BOOL ? "bool" : lane_type(t);
    return plain_vector(p, vector_tag(t), lane_type(t), lane_bytes(t), lanes);
}

/* ---- writing one helper ---- */

/* Everything a helper's text may mention. */
typedef struct maker {
    cfamily *p;
    const char *name;
    element_type t, from;
    int lanes;
    const char *v;    /* register type of the result */
    const char *e;    /* its element in a register */
    const char *s;    /* its element in memory */
    const char *mask; /* vector of booleans */
} maker;

static void add(maker *m, const char *format, ...) PRINTF_LIKE(2, 3);
static void add(maker *m, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_add_va(&m->p->prelude, format, args);
    va_end(args);
}

static void begin(maker *m, const char *result, const char *parameters) {
    add(m, "INLINE %s %s(%s)\n{\n", result, m->name, parameters);
}

static const char *form(maker *m, const char *format, ...) PRINTF_LIKE(2, 3);
static const char *form(maker *m, const char *format, ...) {
    text_buffer b = {0};
    va_list args;
    va_start(args, format);
    text_add_va(&b, format, args);
    va_end(args);
    const char *text = arena_strdup(m->p->arena, text_get(&b));
    text_free(&b);
    return text;
}

/* A builtin for f32 vectors of one width: used where the compiler has it and the machine the instruction. */
typedef struct builtin {
    int lanes;
    const char *macro, *name, *arguments;
} builtin;

static void with_builtins(maker *m, const builtin *b, int count) {
    int opened = 0;
    for (int i = 0; i < count; i++)
        if (b[i].lanes == m->lanes) {
            add(m, "#%s defined(%s) && __has_builtin(%s)\n    return %s(%s);\n", opened++ ? "elif" : "if", b[i].macro, b[i].name,
                b[i].name, b[i].arguments);
        }
    if (opened)
        add(m, "#else\n");
}

static bool builtins_have(const maker *m, const builtin *b, int count) {
    for (int i = 0; i < count; i++)
        if (b[i].lanes == m->lanes)
            return true;
    return false;
}

/* parameters; the builtins; otherwise a loop over lanes computing `lane` from a[l], b[l], ... */
static void lane_function(maker *m, const char *parameters, const builtin *b, int count, const char *lane) {
    begin(m, m->v, parameters);
    with_builtins(m, b, count);
    add(m, "    %s r;\n    for (int l = 0; l < %d; l++)\n        r[l] = %s;\n    return r;\n", m->v, m->lanes, lane);
    add(m, builtins_have(m, b, count) ? "#endif\n}\n" : "}\n");
}
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static const char *int_vector(maker *m, element_type t) {
    int bytes = lane_bytes(t);
    return bytes == 8   ? plain_vector(m->p, "i64", "int64_t", 8, m->lanes)
           : bytes == 4 ? plain_vector(m->p, "i32", "int32_t", 4, m->lanes)
           : bytes == 2 ? plain_vector(m->p, "i16", "int16_t", 2, m->lanes)
                        : plain_vector(m->p, "i8", "int8_t", 1, m->lanes);
}

static const char *unsigned_vector(maker *m) {
    return lane_bytes(m->t) == 8 ? plain_vector(m->p, "u64", "uint64_t", 8, m->lanes)
                                 : plain_vector(m->p, "u32", "uint32_t", 4, m->lanes);
}

static const char *prefix_mask(cfamily *p) {
    const char *name = "prefix_mask";
    if (!names_have(&p->helpers, name)) {
        names_add(p, &p->helpers, name);
        text_add(&p->prelude, "/* The first n of `lanes` bits. */\nINLINE unsigned prefix_mask(int64_t n, int lanes)\n{\n"
                              "    return n <= 0 ? 0 : n >= lanes ? (1u << lanes) - 1 : (1u << n) - 1;\n}\n");
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
    } types[] = {{"i8", "int8_t", 1},    {"u8", "uint8_t", 1},  {"u16", "uint16_t", 2}, {"i32", "int32_t", 4},
                 {"u32", "uint32_t", 4}, {"i64", "int64_t", 8}, {"s16", "short", 2},    {"c8", "char", 1}};
    for (int i = 0; i < COUNT(types); i++)
        if (!strcmp(types[i].tag, tag))
            return plain_vector(p, tag, types[i].scalar, types[i].bytes, lanes);
    return NULL;
}

static const char *resize(cfamily *p, const char *from, const char *to, int lanes) {
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
    const char *taken = found ? plain_vector(p, found->builtin_from, found->element, found->element_bytes, lanes) : NULL;
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

static void make_iota(maker *m) {
    begin(m, m->v, "void");
    add(m, "    return (%s){", m->v);
    for (int l = 0; l < m->lanes; l++)
        add(m, "%s%d", l ? ", " : "", l);
    add(m, "};\n}\n");
}

static void make_splat(maker *m) {
    begin(m, m->v, form(m, "%s x", m->t == ELEMENT_BOOL ? "bool" : m->e));
    if (m->t == ELEMENT_BOOL)
        add(m, "    int32_t m = -(int32_t)x;\n");
    add(m, "    return (%s){", m->v);
    for (int l = 0; l < m->lanes; l++)
        add(m, "%s%s", l ? ", " : "", m->t == ELEMENT_BOOL ? "m" : "x");
    add(m, "};\n}\n");
}

/* ---- memory ---- */

/* Booleans and indices are stored narrower than they are kept: the vector as it lies in memory. */
static const char *memory_vector(maker *m) {
    if (m->t == ELEMENT_BOOL)
        return plain_vector(m->p, "u8", "uint8_t", 1, m->lanes);
    return m->t == ELEMENT_INDEX ? plain_vector(m->p, "i32", "int32_t", 4, m->lanes) : m->v;
}

static const char *from_memory(maker *m, const char *x) {
    if (m->t == ELEMENT_BOOL)
        return form(m, "%s(%s) != 0", resize(m->p, "u8", "i32", m->lanes), x);
    return m->t == ELEMENT_INDEX ? form(m, "__builtin_convertvector(%s, %s)", x, m->v) : x;
}

static const char *to_memory(maker *m, const char *x) {
    if (m->t == ELEMENT_BOOL)
        return form(m, "%s(%s & 1)", resize(m->p, "i32", "u8", m->lanes), x);
    return m->t == ELEMENT_INDEX ? form(m, "__builtin_convertvector(%s, %s)", x, memory_vector(m)) : x;
}

static const char *memory_element(maker *m) {
    return m->t == ELEMENT_BOOL ? "uint8_t" : m->t == ELEMENT_INDEX ? "int32_t" : m->s;
}

static int memory_bytes(maker *m) {
    return m->t == ELEMENT_BOOL ? 1 : m->t == ELEMENT_INDEX ? 4 : lane_bytes(m->t);
}

/* The masked instruction for vectors of this width in memory: macro, name stem, the vector type it takes. */
typedef struct masked {
    int bytes, lanes;
    const char *macro, *load, *store, *vector, *element;
    int element_bytes;
} masked;
static const masked masked_table[] = {
    {4, 16, "__AVX512F__", "__builtin_ia32_loadups512_mask", "__builtin_ia32_storeups512_mask", "f32", "float", 4},
    {4, 8, "__AVX512VL__", "__builtin_ia32_loadups256_mask", "__builtin_ia32_storeups256_mask", "f32", "float", 4},
    {4, 4, "__AVX512VL__", "__builtin_ia32_loadups128_mask", "__builtin_ia32_storeups128_mask", "f32", "float", 4},
    {2, 16, "__AVX512VL__) && defined(__AVX512BW__", "__builtin_ia32_loaddquhi256_mask", "__builtin_ia32_storedquhi256_mask",
     "s16", "short", 2},
    {2, 8, "__AVX512VL__) && defined(__AVX512BW__", "__builtin_ia32_loaddquhi128_mask", "__builtin_ia32_storedquhi128_mask",
     "s16", "short", 2},
    {1, 16, "__AVX512VL__) && defined(__AVX512BW__", "__builtin_ia32_loaddquqi128_mask", "__builtin_ia32_storedquqi128_mask",
     "c8", "char", 1},
};

static const masked *find_masked(maker *m) {
    for (int i = 0; i < COUNT(masked_table); i++)
        if (masked_table[i].bytes == memory_bytes(m) && masked_table[i].lanes == m->lanes)
            return &masked_table[i];
    return NULL;
}

static void make_load(maker *m) {
    const char *v = memory_vector(m);
    begin(m, m->v, form(m, "const %s *p", memory_element(m)));
    add(m, "    %s v;\n    __builtin_memcpy(&v, p, sizeof v);\n    return %s;\n}\n", v, from_memory(m, "v"));
}

static void make_store(maker *m) {
    const char *v = memory_vector(m), *x = to_memory(m, "x");
    begin(m, "void", form(m, "%s *p, %s x", memory_element(m), m->v));
    add(m, "    %s v = %s;\n    __builtin_memcpy(p, &v, sizeof v);\n}\n", v, x);
}

static void make_load_first(maker *m) {
    const masked *k = find_masked(m);
    const char *v = memory_vector(m), *mv = k ? plain_vector(m->p, k->vector, k->element, k->element_bytes, m->lanes) : NULL;
    if (k)
        prefix_mask(m->p);
    const char *words = plain_vector(m->p, "i32", "int32_t", 4, m->lanes);
    begin(m, m->v, form(m, "const %s *p, int64_t n", memory_element(m)));
    add(m, "    %s v;\n", v);
    if (k)
        add(m, "#if defined(%s) && __has_builtin(%s)\n    v = (%s)%s((const void *)p, (%s){0}, prefix_mask(n, %d));\n", k->macro,
            k->load, v, k->load, mv, m->lanes);
    if (memory_bytes(m) == 4 && m->lanes == 8)
        add(m,
            "#elif defined(__AVX__) && __has_builtin(__builtin_ia32_maskloadps256)\n"
            "    int32_t c = n < 0 ? 0 : n > 8 ? 8 : (int32_t)n;\n"
            "    v = (%s)__builtin_ia32_maskloadps256((const void *)p, (%s){0, 1, 2, 3, 4, 5, 6, 7} < c);\n",
            v, words);
    if (k)
        add(m, "#else\n");
    add(m,
        "    %s t[%d] = {0};\n    for (int l = 0; l < %d && l < n; l++)\n        t[l] = p[l];\n    __builtin_memcpy(&v, t, "
        "sizeof v);\n",
        memory_element(m), m->lanes, m->lanes);
    add(m, "%s    return %s;\n}\n", k ? "#endif\n" : "", from_memory(m, "v"));
}

static void make_store_first(maker *m) {
    const masked *k = find_masked(m);
    const char *v = memory_vector(m), *x = to_memory(m, "x"),
               *mv = k ? plain_vector(m->p, k->vector, k->element, k->element_bytes, m->lanes) : NULL;
    if (k)
        prefix_mask(m->p);
    const char *words = plain_vector(m->p, "i32", "int32_t", 4, m->lanes);
    begin(m, "void", form(m, "%s *p, %s x, int64_t n", memory_element(m), m->v));
    add(m, "    %s v = %s;\n", v, x);
    if (k)
        add(m, "#if defined(%s) && __has_builtin(%s)\n    %s((void *)p, (%s)v, prefix_mask(n, %d));\n", k->macro, k->store,
            k->store, mv, m->lanes);
    if (memory_bytes(m) == 4 && m->lanes == 8)
        add(m,
            "#elif defined(__AVX__) && __has_builtin(__builtin_ia32_maskstoreps256)\n"
            "    int32_t c = n < 0 ? 0 : n > 8 ? 8 : (int32_t)n;\n"
            "    __builtin_ia32_maskstoreps256((void *)p, (%s){0, 1, 2, 3, 4, 5, 6, 7} < c, (%s)v);\n",
            words, mv);
    if (k)
        add(m, "#else\n");
    add(m, "    for (int l = 0; l < %d && l < n; l++)\n        p[l] = v[l];\n%s}\n", m->lanes, k ? "#endif\n" : "");
}

static void make_strided(maker *m, bool store, bool first) {
    const char *v = memory_vector(m);
    const char *x = store ? to_memory(m, "x") : "";
    begin(m, store ? "void" : m->v,
          form(m, "%s%s *p, int64_t stride%s%s%s", store ? "" : "const ", memory_element(m), store ? ", " : "",
               store ? form(m, "%s x", m->v) : "", first ? ", int64_t n" : ""));
    if (store)
        add(m, "    %s v = %s;\n", v, x);
    else if (!first) {
        /* An initialiser, not a loop: GCC keeps it in registers. */
        add(m, "    %s v = {", v);
        for (int l = 0; l < m->lanes; l++)
            add(m, l == 0 ? "p[0]" : l == 1 ? ", p[stride]" : ", p[%d * stride]", l);
        add(m, "};\n    return %s;\n}\n", from_memory(m, "v"));
        return;
    } else
        add(m, "    %s t[%d] = {0};\n", memory_element(m), m->lanes);
    add(m, "    for (int l = 0; l < %d%s; l++)\n        ", m->lanes, first ? " && l < n" : "");
    if (store)
        add(m, "p[l * stride] = v[l];\n}\n");
    else
        add(m, "t[l] = p[l * stride];\n    %s v;\n    __builtin_memcpy(&v, t, sizeof v);\n    return %s;\n}\n", v,
            from_memory(m, "v"));
}

/* q8_0: 34 bytes hold f16 d and 32 x i8; q4_0: 18 bytes hold f16 d and 16 bytes, low nibbles first. Value d * q is exact in f32. */
static void make_block_load(maker *m) {
    cfamily *p = m->p;
    bool q8 = m->t == ELEMENT_Q8_0;
    int bytes = element_table[m->t].block_bytes;
    const char *half = c_helper(p, HELPER_CONVERT, ELEMENT_F32, ELEMENT_F16, 1);
    const char *wider = m->lanes > 1 ? resize(p, q8 ? "i8" : "u8", "i32", m->lanes) : NULL;
    begin(m, m->v, "const uint8_t *p, int64_t i");
    add(m,
        "    const uint8_t *block = p + (uint64_t)i / 32 * %d;\n    unsigned at = (uint64_t)i %% 32;\n    uint16_t d;\n    "
        "__builtin_memcpy(&d, "
        "block, 2);\n",
        bytes);
    if (m->lanes == 1) {
        if (q8)
            add(m, "    return %s(d) * (float)(int8_t)block[2 + at];\n}\n", half);
        else
            add(m, "    int q = block[2 + at %% 16];\n    return %s(d) * (float)((at < 16 ? q & 15 : q >> 4) - 8);\n}\n", half);
        return;
    }
    if (q8) {
        add(m, "    i8x%d q;\n    __builtin_memcpy(&q, block + 2 + at, sizeof q);\n", m->lanes);
        add(m, "    return %s(d) * __builtin_convertvector(%s(q), %s);\n}\n", half, wider, m->v);
    } else if (m->lanes <= 16) {
        add(m, "    u8x%d q;\n    __builtin_memcpy(&q, block + 2 + at %% 16, sizeof q);\n", m->lanes);
        add(m, "    i32x%d w = %s(q);\n", m->lanes, wider);
        add(m, "    w = (at < 16 ? w & 15 : w >> 4) - 8;\n    return %s(d) * __builtin_convertvector(w, %s);\n}\n", half, m->v);
    } else
        add(m,
            "    %s r;\n    for (int l = 0; l < %d; l++) {\n        int q = block[2 + (at + l) %% 16];\n"
            "        r[l] = %s(d) * (float)((at + l < 16 ? q & 15 : q >> 4) - 8);\n    }\n    return r;\n}\n",
            m->v, m->lanes, half);
}

/* ---- arithmetic ---- */

static void make_unary(maker *m, cfamily_helper h) {
    bool real = m->t == ELEMENT_F32;
    const char *u = real ? NULL : m->lanes > 1 ? unsigned_vector(m) : lane_bytes(m->t) == 8 ? "uint64_t" : "uint32_t";
    const char *parameters = form(m, "%s x", m->v);
    switch (h) {
    case HELPER_NEG:
        begin(m, m->v, parameters);
        add(m, "    return (%s)(0 - (%s)x);\n}\n", m->v, u);
        return;
    case HELPER_ABS:
        if (real) {
            const char *i = int_vector(m, ELEMENT_I32);
            begin(m, m->v, parameters);
            add(m, "    return (%s)((%s)x & 0x7fffffff);\n}\n", m->v, i);
        } else if (m->lanes > 1) {
            begin(m, m->v, parameters);
            add(m, "    %s negative = x >> %d;\n    return (%s)(((%s)x ^ (%s)negative) - (%s)negative);\n}\n", m->v,
                8 * lane_bytes(m->t) - 1, m->v, u, u, u);
        } else {
            begin(m, m->v, parameters);
            add(m, "    return x < 0 ? (%s)(0 - (%s)x) : x;\n}\n", m->v, u);
        }
        return;
    case HELPER_FLOOR: {
        static const builtin b[] = {{16, "__AVX512F__", "__builtin_ia32_rndscaleps_mask", "x, 1, x, -1, 4"},
                                    {8, "__AVX__", "__builtin_ia32_roundps256", "x, 1"},
                                    {4, "__SSE4_1__", "__builtin_ia32_roundps", "x, 1"}};
        lane_function(m, parameters, b, COUNT(b), "__builtin_floorf(x[l])");
        return;
    }
    case HELPER_RINT: {
        static const builtin b[] = {{16, "__AVX512F__", "__builtin_ia32_rndscaleps_mask", "x, 4, x, -1, 4"},
                                    {8, "__AVX__", "__builtin_ia32_roundps256", "x, 4"},
                                    {4, "__SSE4_1__", "__builtin_ia32_roundps", "x, 4"}};
        lane_function(m, parameters, b, COUNT(b), "__builtin_rintf(x[l])");
        return;
    }
    default: {
        static const builtin b[] = {{16, "__AVX512F__", "__builtin_ia32_sqrtps512_mask", "x, x, -1, 4"},
                                    {8, "__AVX__", "__builtin_ia32_sqrtps256", "x"},
                                    {4, "__SSE__", "__builtin_ia32_sqrtps", "x"}};
        lane_function(m, parameters, b, COUNT(b), "__builtin_sqrtf(x[l])");
    }
    }
}

static void make_wrapping(maker *m, char op) {
    const char *u = m->lanes > 1 ? unsigned_vector(m) : lane_bytes(m->t) == 8 ? "uint64_t" : "uint32_t";
    begin(m, m->v, form(m, "%s x, %s y", m->v, m->v));
    add(m, "    return (%s)((%s)x %c (%s)y);\n}\n", m->v, u, op, u);
}

static void make_fma(maker *m) {
    static const builtin b[] = {{16, "__AVX512F__", "__builtin_ia32_vfmaddps512_mask", "a, b, c, -1, 4"},
                                {8, "__FMA__", "__builtin_ia32_vfmaddps256", "a, b, c"},
                                {4, "__FMA__", "__builtin_ia32_vfmaddps", "a, b, c"}};
    lane_function(m, form(m, "%s a, %s b, %s c", m->v, m->v, m->v), b, COUNT(b), "__builtin_fmaf(a[l], b[l], c[l])");
}

static void make_select(maker *m) {
    const char *i = int_vector(m, m->t);
    begin(m, m->v, form(m, "%s m, %s x, %s y", m->mask, m->v, m->v));
    if (lane_bytes(m->t) == 4)
        add(m, "    return (%s)(((%s)x & m) | ((%s)y & ~m));\n}\n", m->v, i, i);
    else
        add(m, "    %s w = __builtin_convertvector(m, %s);\n    return (%s)(((%s)x & w) | ((%s)y & ~w));\n}\n", i, i, m->v, i, i);
}

static void make_prefix_select(maker *m) {
    const char *select = c_helper(m->p, HELPER_SELECT, m->t, m->t, m->lanes);
    const char *iota = c_helper(m->p, HELPER_IOTA, ELEMENT_I32, ELEMENT_I32, m->lanes);
    begin(m, m->v, form(m, "int64_t n, %s x, %s y", m->v, m->v));
    add(m, "    int32_t c = n < 0 ? 0 : n > %d ? %d : (int32_t)n;\n    return %s(%s() < c, x, y);\n}\n", m->lanes, m->lanes,
        select, iota);
}

/* The smaller or larger operand; `number`: y is known to be no NaN, which one comparison then settles. Otherwise a NaN loses. */
static void make_extreme(maker *m, bool max, bool number) {
    char op = max ? '>' : '<';
    bool real = m->t == ELEMENT_F32;
    const char *select = m->lanes > 1 ? c_helper(m->p, HELPER_SELECT, m->t, m->t, m->lanes) : NULL;
    const char *one = real && m->lanes > 1 && !number
                          ? c_helper(m->p, max ? HELPER_MAX_NUMBER : HELPER_MIN_NUMBER, m->t, m->t, m->lanes)
                          : NULL;
    bool wide = m->lanes > 1 && lane_bytes(m->t) == 8;
    const char *less = wide ? form(m, "__builtin_convertvector(x %c y, %s)", op, m->mask) : form(m, "x %c y", op);
    begin(m, m->v, form(m, "%s x, %s y", m->v, m->v));
    if (m->lanes == 1)
        add(m, real && !number ? "    return x %c y || y != y ? x : y;\n}\n" : "    return x %c y ? x : y;\n}\n", op);
    else if (one)
        add(m, "    return %s(y != y, x, %s(x, y));\n}\n", select, one);
    else {
        if (real)
            with_builtins(m,
                          max ? (const builtin[]){{16, "__AVX512F__", "__builtin_ia32_maxps512_mask", "x, y, x, -1, 4"},
                                                  {16, "__AVX512F__", "__builtin_ia32_maxps512", "x, y, 4"},
                                                  {8, "__AVX__", "__builtin_ia32_maxps256", "x, y"},
                                                  {4, "__SSE__", "__builtin_ia32_maxps", "x, y"}}
                              : (const builtin[]){{16, "__AVX512F__", "__builtin_ia32_minps512_mask", "x, y, x, -1, 4"},
                                                  {16, "__AVX512F__", "__builtin_ia32_minps512", "x, y, 4"},
                                                  {8, "__AVX__", "__builtin_ia32_minps256", "x, y"},
                                                  {4, "__SSE__", "__builtin_ia32_minps", "x, y"}},
                          4);
        bool closes = real && (m->lanes == 16 || m->lanes == 8 || m->lanes == 4);
        add(m, "    return %s(%s, x, y);\n%s}\n", select, less, closes ? "#endif\n" : "");
    }
}

static void make_shift(maker *m, bool left) {
    int bits = 8 * lane_bytes(m->t);
    const char *u = m->lanes > 1 ? unsigned_vector(m) : bits == 64 ? "uint64_t" : "uint32_t";
    begin(m, m->v, form(m, "%s x, %s n", m->v, m->v));
    if (left)
        add(m, "    return (%s)((%s)x << (n & %d));\n}\n", m->v, u, bits - 1);
    else
        add(m, "    return x >> (n & %d);\n}\n", bits - 1);
}

static void make_all(maker *m) {
    const char *reals = plain_vector(m->p, "f32", "float", 4, m->lanes);
    begin(m, "bool", form(m, "%s m", m->mask));
    if (m->lanes == 16)
        add(m, "#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_ptestmd512)\n"
               "    return (uint16_t)__builtin_ia32_ptestmd512(m, m, -1) == 0xffff;\n#else\n");
    else if (m->lanes == 8)
        add(m,
            "#if defined(__AVX__) && __has_builtin(__builtin_ia32_movmskps256)\n"
            "    return __builtin_ia32_movmskps256((%s)m) == 0xff;\n#else\n",
            reals);
    add(m, "    int32_t all = -1;\n    for (int l = 0; l < %d; l++)\n        all &= m[l];\n    return all;\n%s}\n", m->lanes,
        m->lanes == 16 || m->lanes == 8 ? "#endif\n" : "");
}

/* Lane l with lane l + n/2, and again, until one is left. */
static void make_lanes(maker *m, cfamily_helper h) {
    int lanes = m->lanes;
    bool boolean = m->t == ELEMENT_BOOL;
    const char *result = boolean ? "bool" : m->e, *vector = c_register_type(m->p, m->t, lanes);
    cfamily_helper step = h == HELPER_LANES_MAX ? HELPER_MAX : h == HELPER_LANES_MIN ? HELPER_MIN : HELPER_WRAP_ADD;
    bool infix = h == HELPER_LANES_SUM && m->t != ELEMENT_I32;
    const char *of[8] = {0};
    int depth = 0;
    for (int n = lanes / 2; n >= 1; n /= 2, depth++) {
        c_register_type(m->p, m->t, n);
        of[depth] = infix ? NULL : c_helper(m->p, step, m->t, m->t, n);
    }
    begin(m, result, form(m, "%s v%d", vector, lanes));
    depth = 0;
    for (int n = lanes / 2; n >= 2; n /= 2, depth++) {
        const char *half = c_register_type(m->p, m->t, n), *halves[2];
        for (int upper = 0; upper < 2; upper++) {
            text_buffer b = {0};
            text_add(&b, "__builtin_shufflevector(v%d, v%d", 2 * n, 2 * n);
            for (int l = 0; l < n; l++)
                text_add(&b, ", %d", l + upper * n);
            text_add(&b, ")");
            halves[upper] = arena_strdup(m->p->arena, text_get(&b));
            text_free(&b);
        }
        add(m, "#if __has_builtin(__builtin_shufflevector)\n    %s a%d = %s;\n    %s b%d = %s;\n#else\n", half, n, halves[0],
            half, n, halves[1]);
        add(m,
            "    %s a%d, b%d;\n    for (int l = 0; l < %d; l++) {\n        a%d[l] = v%d[l];\n        b%d[l] = v%d[l + %d];\n    "
            "}\n#endif\n",
            half, n, n, n, n, 2 * n, n, 2 * n, n);
        if (infix)
            add(m, "    %s v%d = a%d + b%d;\n", half, n, n, n);
        else
            add(m, "    %s v%d = %s(a%d, b%d);\n", half, n, of[depth], n, n);
    }
    if (infix)
        add(m, "    return v2[0] + v2[1];\n}\n");
    else
        add(m, "    return %s(v2[0], v2[1]);\n}\n", of[depth]);
}

/* ---- conversions ---- */

static void f16_scalar(maker *m, bool to) {
    cfamily *p = m->p;
    plain_vector(p, "s16", "short", 2, 8);
    plain_vector(p, "f32", "float", 4, 4);
    if (!to) {
        begin(m, "float", "uint16_t h");
        add(m, "#if defined(__F16C__) && __has_builtin(__builtin_ia32_vcvtph2ps)\n"
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
    begin(m, "uint16_t", "float x");
    add(m, "#if defined(__F16C__) && __has_builtin(__builtin_ia32_vcvtps2ph)\n"
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
    const char *s = plain_vector(p, "s16", "short", 2, m->lanes);
    begin(m, m->v, form(m, "%s x", from));
    if (m->lanes == 16 && !to)
        add(m,
            "#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_vcvtph2ps512_mask)\n"
            "    return __builtin_ia32_vcvtph2ps512_mask((%s)x, (%s){0}, -1, 4);\n#else\n",
            s, m->v);
    else if (m->lanes == 16)
        add(m,
            "#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_vcvtps2ph512_mask)\n"
            "    return (%s)__builtin_ia32_vcvtps2ph512_mask(x, 0, (%s){0}, -1);\n#else\n",
            m->v, s);
    else if (m->lanes == 8 && !to)
        add(m,
            "#if defined(__F16C__) && __has_builtin(__builtin_ia32_vcvtph2ps256)\n    return "
            "__builtin_ia32_vcvtph2ps256((%s)x);\n#else\n",
            s);
    else if (m->lanes == 8)
        add(m,
            "#if defined(__F16C__) && __has_builtin(__builtin_ia32_vcvtps2ph256)\n    return (%s)__builtin_ia32_vcvtps2ph256(x, "
            "0);\n#else\n",
            m->v);
    add(m, "    %s r;\n    for (int l = 0; l < %d; l++)\n        r[l] = %s(x[l]);\n    return r;\n%s}\n", m->v, m->lanes, one,
        m->lanes == 16 || m->lanes == 8 ? "#endif\n" : "");
}

static void bf16_convert(maker *m, bool to) {
    bool vector = m->lanes > 1;
    const char *u = vector ? plain_vector(m->p, "u32", "uint32_t", 4, m->lanes) : "uint32_t";
    const char *from = c_register_type(m->p, m->from, m->lanes);
    const char *sized = vector ? resize(m->p, to ? "u32" : "u16", to ? "u16" : "u32", m->lanes) : NULL;
    begin(m, m->v, form(m, "%s x", from));
    if (!to) {
        if (vector)
            add(m, "    return (%s)(%s(x) << 16);\n}\n", m->v, sized);
        else
            add(m, "    uint32_t w = (uint32_t)x << 16;\n    float f;\n    __builtin_memcpy(&f, &w, 4);\n    return f;\n}\n");
        return;
    }
    if (vector) {
        add(m, "    %s w = (%s)x, nan = (%s)(x != x);\n", u, u, u);
        add(m, "    %s even = (w + 0x7fff + (w >> 16 & 1)) >> 16, quiet = w >> 16 | 0x40;\n", u);
        add(m, "    return %s((quiet & nan) | (even & ~nan));\n}\n", sized);
    } else
        add(m, "    uint32_t w;\n    __builtin_memcpy(&w, &x, 4);\n    if (x != x)\n        return (uint16_t)(w >> 16 | 0x40);\n"
               "    return (uint16_t)((w + 0x7fff + (w >> 16 & 1)) >> 16);\n}\n");
}

static void fp8_from(maker *m) {
    bool vector = m->lanes > 1, e4m3 = m->from == ELEMENT_E4M3;
    const char *from = c_register_type(m->p, m->from, m->lanes);
    const char *u = vector ? plain_vector(m->p, "u32", "uint32_t", 4, m->lanes) : "uint32_t";
    const char *i = vector ? plain_vector(m->p, "i32", "int32_t", 4, m->lanes) : "int32_t";
    const char *wider = vector ? resize(m->p, "u8", "u32", m->lanes) : NULL;
    begin(m, m->v, form(m, "%s x", from));
    /* The bits stand where f32 has its own; a product with a power of two mends the exponent, subnormals included. */
    const char *scale = e4m3 ? "0x1p120f" : "0x1p112f";
    int shift = e4m3 ? 20 : 21;
    if (vector) {
        add(m, "    %s b = %s(x), magnitude = b & 0x7f;\n", u, wider);
        add(m, "    %s f = (%s)(magnitude << %d) * %s;\n", m->v, m->v, shift, scale);
        if (e4m3)
            add(m, "    %s special = (%s)((%s)(magnitude == 0x7f) & 0x7fc00000);\n", u, u, i);
        else
            add(m,
                "    %s top = (%s)(magnitude == 0x7c), nan = (%s)(magnitude > 0x7c);\n"
                "    %s special = (top & 0x7f800000) | (nan & 0x7fc00000);\n",
                u, u, u, u);
        add(m, "    %s is_special = (%s)(magnitude >= %s);\n", u, u, e4m3 ? "0x7f" : "0x7c");
        add(m, "    return (%s)(((%s)f & ~is_special) | special | (b & 0x80) << 24);\n}\n", m->v, u);
    } else {
        add(m,
            "    uint32_t magnitude = x & 0x7f, w = magnitude << %d;\n    float f;\n    __builtin_memcpy(&f, &w, 4);\n    f *= "
            "%s;\n",
            shift, scale);
        add(m, "    __builtin_memcpy(&w, &f, 4);\n");
        add(m, e4m3 ? "    if (magnitude == 0x7f)\n        w = 0x7fc00000;\n"
                    : "    if (magnitude >= 0x7c)\n        w = magnitude == 0x7c ? 0x7f800000 : 0x7fc00000;\n");
        add(m, "    w |= (uint32_t)(x & 0x80) << 24;\n    __builtin_memcpy(&f, &w, 4);\n    return f;\n}\n");
    }
}

/* Rounds to nearest even. Normal results: the bits themselves are rounded; below, adding a constant lets f32's own rounding do it. */
static void fp8_to(maker *m, bool sat) {
    bool vector = m->lanes > 1, e4m3 = m->t == ELEMENT_E4M3;
    const char *u = vector ? plain_vector(m->p, "u32", "uint32_t", 4, m->lanes) : "uint32_t";
    const char *from = c_register_type(m->p, ELEMENT_F32, m->lanes);
    int shift = e4m3 ? 20 : 21;
    unsigned half = e4m3 ? 0x7ffff : 0xfffff; /* half a unit less one, in f32 bits */
    unsigned rebias = e4m3 ? 120u << 23 : 112u << 23;
    unsigned least_normal = e4m3 ? 0x3c800000 : 0x38800000; /* 2^-6, 2^-14 */
    const char *lift = e4m3 ? "0x1p14f" : "0x1p7f";         /* one unit of it is the smallest subnormal: 2^-9, 2^-16 */
    unsigned lift_bits = e4m3 ? 0x46800000 : 0x43000000;
    unsigned over = e4m3 ? 0x43e80000 : 0x47700000; /* 464: above it (E5M2 61440: from it) the format is left */
    unsigned largest = e4m3 ? 0x7e : 0x7b, beyond = sat ? largest : e4m3 ? 0x7f : 0x7c, nan = e4m3 ? 0x7f : 0x7e;
    const char *compare = e4m3 ? ">" : ">=", *narrower = vector ? resize(m->p, "u32", "u8", m->lanes) : NULL;
    begin(m, m->v, form(m, "%s x", from));
    if (vector) {
        add(m, "    %s w = (%s)x, sign = w >> 24 & 0x80;\n    w &= 0x7fffffff;\n", u, u);
        add(m, "    %s normal = (w + 0x%x + (w >> %d & 1) - 0x%xu) >> %d;\n", u, half, shift, rebias, shift);
        add(m, "    %s small = (%s)((%s)w + %s) - 0x%xu;\n", u, u, from, lift, lift_bits);
        add(m, "    %s is_small = (%s)(w < 0x%xu), is_over = (%s)(w %s 0x%xu), is_nan = (%s)(w > 0x7f800000u);\n", u, u,
            least_normal, u, compare, over, u);
        add(m, "    %s r = (small & is_small) | (normal & ~is_small);\n", u);
        add(m, "    r = (r & ~is_over) | (is_over & 0x%x);\n    r = (r & ~is_nan) | (is_nan & 0x%x);\n", beyond, nan);
        add(m, "    return %s(r | sign);\n}\n", narrower);
    } else {
        add(m, "    uint32_t w, r, sign;\n    __builtin_memcpy(&w, &x, 4);\n    sign = w >> 24 & 0x80;\n    w &= 0x7fffffff;\n");
        add(m, "    if (w > 0x7f800000)\n        r = 0x%x;\n    else if (w %s 0x%x)\n        r = 0x%x;\n", nan, compare, over,
            beyond);
        add(m,
            "    else if (w < 0x%x) {\n        float f;\n        __builtin_memcpy(&f, &w, 4);\n        f += %s;\n        "
            "__builtin_memcpy(&r, &f, 4);\n"
            "        r -= 0x%x;\n    }",
            least_normal, lift, lift_bits);
        add(m, " else\n        r = (w + 0x%x + (w >> %d & 1) - 0x%x) >> %d;\n    return (uint8_t)(r | sign);\n}\n", half, shift,
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
        begin(m, m->v, "float x");
        add(m, "    return x != x ? 0 : x >= %s ? %s : x <= %s ? %s : (%s)x;\n}\n", hi, top, lo, bottom, m->v);
        return;
    }
    const char *f = c_register_type(m->p, ELEMENT_F32, m->lanes);
    bool u32 = m->t == ELEMENT_U32;
    const char *w = u32 ? m->v : plain_vector(m->p, "i32", "int32_t", 4, m->lanes);
    const char *select = c_helper(m->p, HELPER_SELECT, ELEMENT_F32, ELEMENT_F32, m->lanes);
    const char *splat = c_helper(m->p, HELPER_SPLAT, ELEMENT_F32, ELEMENT_F32, m->lanes);
    const char *narrower = m->t == ELEMENT_I8 || m->t == ELEMENT_U8 ? resize(m->p, "i32", c_type_tag(m->t), m->lanes) : NULL;
    begin(m, m->v, form(m, "%s x", f));
    add(m, "    x = %s(x == x, x, %s(0));\n", select, splat);
    if (m->t == ELEMENT_I32 || u32) {
        /* What lies outside is replaced before the conversion, so that it is defined. */
        add(m, "    %s high = x >= %s;\n    x = %s(high | (x < %s), %s(%s), x);\n", m->mask, hi, select, lo, splat, lo);
        add(m, "    %s r = __builtin_convertvector(x, %s);\n", w, w);
        if (u32)
            add(m, "    return r | (%s)high;\n}\n", m->v);
        else
            add(m, "    return r ^ high;\n}\n"); /* the least integer becomes the greatest */
    } else {
        add(m, "    x = %s(x > %s, %s(%s), x);\n    x = %s(x < %s, %s(%s), x);\n", select, hi, splat, hi, select, lo, splat, lo);
        add(m, "    return %s(__builtin_convertvector(x, %s));\n}\n", narrower, w);
    }
}

static void make_convert(maker *m, bool sat) {
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
    } else if (t == ELEMENT_F32 && (from == ELEMENT_E4M3 || from == ELEMENT_E5M2)) {
        fp8_from(m);
    } else if ((t == ELEMENT_E4M3 || t == ELEMENT_E5M2) && from == ELEMENT_F32) {
        fp8_to(m, sat);
    } else if (from == ELEMENT_F32) {
        f32_to_integer(m);
    } else if (from == ELEMENT_BOOL) { /* masks are -1 and 0 */
        begin(m, m->v, form(m, "%s x", x));
        add(m, "    return __builtin_convertvector(x & 1, %s);\n}\n", m->v);
    } else {
        /* Narrow integers to f32 go by way of i32. */
        bool narrow = lane_bytes(from) == 1 && m->lanes > 1,
             narrows = lane_bytes(t) == 1 && m->lanes > 1 && lane_bytes(from) == 4;
        const char *tag = t == ELEMENT_F32 ? "i32" : c_type_tag(t);
        const char *sized = narrow && t != ELEMENT_INDEX ? resize(p, c_type_tag(from), tag, m->lanes)
                            : narrows                    ? resize(p, c_type_tag(from), tag, m->lanes)
                                                         : NULL;
        begin(m, m->v, form(m, "%s x", x));
        if (sized && t != ELEMENT_F32)
            add(m, "    return %s(x);\n}\n", sized);
        else
            add(m, "    return __builtin_convertvector(%s%s%s, %s);\n}\n", sized ? sized : "", sized ? "(x" : "x",
                sized ? ")" : "", m->v);
    }
}

static void make_bitcast(maker *m) {
    begin(m, m->v, form(m, "%s x", c_register_type(m->p, m->from, 1)));
    add(m, "    %s r;\n    __builtin_memcpy(&r, &x, sizeof r);\n    return r;\n}\n", m->v);
}

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
    const char *tag = memory ? c_type_tag(t) : h == HELPER_SPLAT && t == ELEMENT_BOOL ? "bool" : vector_tag(t);
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
    maker m = {.p = p, .name = name, .t = t, .from = from, .lanes = lanes, .e = lane_type(t), .s = c_storage_type(t)};
    m.v = c_register_type(p, t, lanes);
    m.mask = lanes > 1 ? c_register_type(p, ELEMENT_BOOL, lanes) : "bool";
    switch (h) {
    case HELPER_SPLAT: make_splat(&m); break;
    case HELPER_IOTA: make_iota(&m); break;
    case HELPER_LOAD: make_load(&m); break;
    case HELPER_LOAD_FIRST: make_load_first(&m); break;
    case HELPER_LOAD_STRIDED: make_strided(&m, false, false); break;
    case HELPER_LOAD_STRIDED_FIRST: make_strided(&m, false, true); break;
    case HELPER_STORE: make_store(&m); break;
    case HELPER_STORE_FIRST: make_store_first(&m); break;
    case HELPER_STORE_STRIDED: make_strided(&m, true, false); break;
    case HELPER_STORE_STRIDED_FIRST: make_strided(&m, true, true); break;
    case HELPER_BLOCK_LOAD: make_block_load(&m); break;
    case HELPER_NEG:
    case HELPER_ABS:
    case HELPER_FLOOR:
    case HELPER_RINT:
    case HELPER_SQRT: make_unary(&m, h); break;
    case HELPER_WRAP_ADD: make_wrapping(&m, '+'); break;
    case HELPER_WRAP_SUB: make_wrapping(&m, '-'); break;
    case HELPER_WRAP_MUL: make_wrapping(&m, '*'); break;
    case HELPER_MIN: make_extreme(&m, false, false); break;
    case HELPER_MAX: make_extreme(&m, true, false); break;
    case HELPER_MIN_NUMBER: make_extreme(&m, false, true); break;
    case HELPER_MAX_NUMBER: make_extreme(&m, true, true); break;
    case HELPER_FMA: make_fma(&m); break;
    case HELPER_SELECT: make_select(&m); break;
    case HELPER_PREFIX_SELECT: make_prefix_select(&m); break;
    case HELPER_CONVERT: make_convert(&m, false); break;
    case HELPER_CONVERT_SATURATE: make_convert(&m, true); break;
    case HELPER_BITCAST: make_bitcast(&m); break;
    case HELPER_SHL: make_shift(&m, true); break;
    case HELPER_SHR: make_shift(&m, false); break;
    case HELPER_ALL: make_all(&m); break;
    default: make_lanes(&m, h); break;
    }
    return name;
}

/* What only some lanes need is skipped when none does. */
static void open_rare(cfamily *p, const math_function *math, int lanes) {
    for (int i = 0; i < MATH_RARE_VALUES; i++) {
        const kernel_stmt *s = math->rare[i];
        const char *name = cfamily_unique(p, s->name), *type = c_register_type(p, s->value->type, lanes);
        cfamily_line(p, lanes > 1 ? "%s %s = {0};" : "%s %s = 0;", type, name);
        cfamily_bind(p, s, name);
    }
    const char *common = cfamily_value(p, math->common).text;
    if (lanes > 1)
        common = cfamily_call(p, HELPER_ALL, ELEMENT_BOOL, ELEMENT_BOOL, lanes, "%s", common);
    cfamily_line(p, "if (!%s) {", common);
    p->indent++;
}

/* exp, log, ..: kernel/math.c describes them; here they become functions of the same kind. */
const char *c_math(cfamily *p, kernel_op op, int lanes) {
    const char *name = lanes > 1 ? arena_printf(p->arena, "f32x%d_%s", lanes, kernel_op_table[op].name)
                                 : arena_printf(p->arena, "f32_%s", kernel_op_table[op].name);
    if (names_have(&p->helpers, name))
        return name;
    names_add(p, &p->helpers, name);
    math_function math;
    if (!math_describe(p->arena, op, lanes, &math))
        return name;
    text_buffer text = {0}, *out = p->out;
    const kernel_ir *kernel = p->kernel;
    cfamily_names names = p->names;
    const char *suffix = p->suffix;
    int indent = p->indent;
    p->out = &text;
    p->kernel = math.ir;
    p->names = (cfamily_names){0};
    p->suffix = NULL;
    p->indent = 1;
    const char *v = c_register_type(p, ELEMENT_F32, lanes);
    cfamily_bind(p, math.argument, cfamily_unique(p, "x"));
    for (int i = 0; i < math.body->items.count; i++) {
        kernel_stmt *s = math.body->items.at[i];
        if (math.common && i == math.rare_first)
            open_rare(p, &math, lanes);
        const char *value = cfamily_statement_value(p, s->value).text;
        const cfamily_binding *declared = cfamily_find(p, s);
        if (declared) {
            cfamily_line(p, "%s = %s;", declared->text, value);
        } else {
            const char *let = cfamily_unique(p, s->name);
            cfamily_line(p, "const %s %s = %s;", c_register_type(p, s->value->type, lanes), let, value);
            cfamily_bind(p, s, let);
        }
        if (math.common && i == math.rare_last - 1) {
            p->indent--;
            cfamily_line(p, "}");
        }
    }
    cfamily_line(p, "return %s;", cfamily_statement_value(p, math.result).text);
    p->out = out;
    p->kernel = kernel;
    p->names = names;
    p->suffix = suffix;
    p->indent = indent;
    text_add(&p->prelude, "INLINE %s %s(%s x)\n{\n%s}\n", v, name, v, text_get(&text));
    text_free(&text);
    return name;
}
