/* Helpers of emitted C that load and store: whole vectors, prefixes, strides, blocks. */
#include "target/c_helpers.h"

/* Booleans and indices are stored narrower than they are kept: the vector as it lies in memory. */
static const char *memory_vector(maker *m) {
    if (m->t == ELEMENT_BOOL)
        return c_vector(m->p, "u8", "uint8_t", 1, m->lanes);
    return m->t == ELEMENT_INDEX ? c_vector(m->p, "i32", "int32_t", 4, m->lanes) : m->v;
}

/* Ask for it before the helper's own text begins: it may need a helper in front. */
static const char *from_memory(maker *m, const char *x) {
    if (m->t == ELEMENT_BOOL)
        return c_form(m, "%s(%s) != 0", c_resize(m->p, "u8", "i32", m->lanes), x);
    return m->t == ELEMENT_INDEX ? c_form(m, "__builtin_convertvector(%s, %s)", x, m->v) : x;
}

static const char *to_memory(maker *m, const char *x) {
    if (m->t == ELEMENT_BOOL)
        return c_form(m, "%s(%s & 1)", c_resize(m->p, "i32", "u8", m->lanes), x);
    return m->t == ELEMENT_INDEX ? c_form(m, "__builtin_convertvector(%s, %s)", x, memory_vector(m)) : x;
}

static const char *memory_element(maker *m) {
    return m->t == ELEMENT_BOOL ? "uint8_t" : m->t == ELEMENT_INDEX ? "int32_t" : m->s;
}

static int memory_bytes(maker *m) {
    return m->t == ELEMENT_BOOL ? 1 : m->t == ELEMENT_INDEX ? 4 : c_lane_bytes(m->t);
}

static const c_masked masked_table[] = {
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

const c_masked *c_masked_access(int bytes, int lanes) {
    for (int i = 0; i < COUNT(masked_table); i++)
        if (masked_table[i].bytes == bytes && masked_table[i].lanes == lanes)
            return &masked_table[i];
    return NULL;
}

void c_make_load(maker *m) {
    const char *v = memory_vector(m), *result = from_memory(m, "v");
    c_begin(m, m->v, c_form(m, "const %s *p", memory_element(m)));
    c_add(m, "    %s v;\n    __builtin_memcpy(&v, p, sizeof v);\n    return %s;\n}\n", v, result);
}

void c_make_store(maker *m) {
    const char *v = memory_vector(m), *x = to_memory(m, "x");
    c_begin(m, "void", c_form(m, "%s *p, %s x", memory_element(m), m->v));
    c_add(m, "    %s v = %s;\n    __builtin_memcpy(p, &v, sizeof v);\n}\n", v, x);
}

void c_make_load_first(maker *m) {
    const c_masked *k = c_masked_access(memory_bytes(m), m->lanes);
    const char *v = memory_vector(m), *result = from_memory(m, "v"),
               *mv = k ? c_vector(m->p, k->vector, k->element, k->element_bytes, m->lanes) : NULL;
    if (k)
        c_prefix_mask(m->p);
    const char *words = c_vector(m->p, "i32", "int32_t", 4, m->lanes);
    c_begin(m, m->v, c_form(m, "const %s *p, int64_t n", memory_element(m)));
    c_add(m, "    %s v;\n", v);
    if (k)
        c_add(m, "#if defined(%s) && __has_builtin(%s)\n    v = (%s)%s((const void *)p, (%s){0}, prefix_mask(n, %d));\n",
              k->macro, k->load, v, k->load, mv, m->lanes);
    if (memory_bytes(m) == 4 && m->lanes == 8)
        c_add(m,
              "#elif defined(__AVX__) && __has_builtin(__builtin_ia32_maskloadps256)\n"
              "    int32_t c = n < 0 ? 0 : n > 8 ? 8 : (int32_t)n;\n"
              "    v = (%s)__builtin_ia32_maskloadps256((const void *)p, (%s){0, 1, 2, 3, 4, 5, 6, 7} < c);\n",
              v, words);
    if (k)
        c_add(m, "#else\n");
    c_add(m,
          "    %s t[%d] = {0};\n    for (int l = 0; l < %d && l < n; l++)\n        t[l] = p[l];\n    __builtin_memcpy(&v, t, "
          "sizeof v);\n",
          memory_element(m), m->lanes, m->lanes);
    c_add(m, "%s    return %s;\n}\n", k ? "#endif\n" : "", result);
}

void c_make_store_first(maker *m) {
    const c_masked *k = c_masked_access(memory_bytes(m), m->lanes);
    const char *v = memory_vector(m), *x = to_memory(m, "x"),
               *mv = k ? c_vector(m->p, k->vector, k->element, k->element_bytes, m->lanes) : NULL;
    if (k)
        c_prefix_mask(m->p);
    const char *words = c_vector(m->p, "i32", "int32_t", 4, m->lanes);
    c_begin(m, "void", c_form(m, "%s *p, %s x, int64_t n", memory_element(m), m->v));
    c_add(m, "    %s v = %s;\n", v, x);
    if (k)
        c_add(m, "#if defined(%s) && __has_builtin(%s)\n    %s((void *)p, (%s)v, prefix_mask(n, %d));\n", k->macro, k->store,
              k->store, mv, m->lanes);
    if (memory_bytes(m) == 4 && m->lanes == 8)
        c_add(m,
              "#elif defined(__AVX__) && __has_builtin(__builtin_ia32_maskstoreps256)\n"
              "    int32_t c = n < 0 ? 0 : n > 8 ? 8 : (int32_t)n;\n"
              "    __builtin_ia32_maskstoreps256((void *)p, (%s){0, 1, 2, 3, 4, 5, 6, 7} < c, (%s)v);\n",
              words, mv);
    if (k)
        c_add(m, "#else\n");
    c_add(m, "    for (int l = 0; l < %d && l < n; l++)\n        p[l] = v[l];\n%s}\n", m->lanes, k ? "#endif\n" : "");
}

void c_make_strided(maker *m, bool store, bool first) {
    const char *v = memory_vector(m);
    const char *x = store ? to_memory(m, "x") : "", *result = store ? "" : from_memory(m, "v");
    c_begin(m, store ? "void" : m->v,
            c_form(m, "%s%s *p, int64_t stride%s%s%s", store ? "" : "const ", memory_element(m), store ? ", " : "",
                   store ? c_form(m, "%s x", m->v) : "", first ? ", int64_t n" : ""));
    if (store)
        c_add(m, "    %s v = %s;\n", v, x);
    else if (!first) {
        /* An initialiser, not a loop: GCC keeps it in registers. */
        c_add(m, "    %s v = {", v);
        for (int l = 0; l < m->lanes; l++)
            c_add(m, l == 0 ? "p[0]" : l == 1 ? ", p[stride]" : ", p[%d * stride]", l);
        c_add(m, "};\n    return %s;\n}\n", result);
        return;
    } else
        c_add(m, "    %s t[%d] = {0};\n", memory_element(m), m->lanes);
    c_add(m, "    for (int l = 0; l < %d%s; l++)\n        ", m->lanes, first ? " && l < n" : "");
    if (store)
        c_add(m, "p[l * stride] = v[l];\n}\n");
    else
        c_add(m, "t[l] = p[l * stride];\n    %s v;\n    __builtin_memcpy(&v, t, sizeof v);\n    return %s;\n}\n", v, result);
}

/* q8_0: 34 bytes hold f16 d and 32 x i8; q4_0: 18 bytes hold f16 d and 16 bytes, low nibbles first. Value d * q is exact in f32. mxfp4: 17 bytes hold an
 * 8-bit exponent and 16 bytes of E2M1, whose numbers are whole once doubled; the scale is halved for that. */
void c_make_block_load(maker *m) {
    cfamily *p = m->p;
    bool q8 = m->t == ELEMENT_Q8_0, eighth = m->t == ELEMENT_MXFP4;
    int bytes = element_table[m->t].block_bytes;
    const char *half = eighth ? NULL : c_helper(p, HELPER_CONVERT, ELEMENT_F32, ELEMENT_F16, 1);
    const char *wider = m->lanes > 1 ? c_resize(p, q8 ? "i8" : "u8", "i32", m->lanes) : NULL;
    c_begin(m, m->v, "const uint8_t *p, int64_t i");
    c_add(m, "    const uint8_t *block = p + (uint64_t)i / 32 * %d;\n    unsigned at = (uint64_t)i %% 32;\n", bytes);
    if (eighth)
        c_add(m, "    uint32_t e = block[0], bits = e == 255 ? 0x7fc00000 : e < 2 ? 0x200000u << e : (e - 1) << 23;\n    float "
                 "scale;\n"
                 "    __builtin_memcpy(&scale, &bits, 4);\n");
    else
        c_add(m, "    uint16_t d;\n    __builtin_memcpy(&d, block, 2);\n    float scale = %s(d);\n", half);
    if (eighth) {
        if (m->lanes == 1) {
            c_add(m, "    int n = block[1 + at %% 16], q = at < 16 ? n & 15 : n >> 4, t = q & 7;\n"
                     "    t += (t > 4 ? t - 4 : 0) + (t > 6 ? 2 : 0);\n    return scale * (float)(q & 8 ? -t : t);\n}\n");
        } else if (m->lanes <= 16) {
            c_add(m, "    u8x%d b;\n    __builtin_memcpy(&b, block + 1 + at %% 16, sizeof b);\n    i32x%d q = %s(b);\n", m->lanes,
                  m->lanes, wider);
            c_add(m, "    q = at < 16 ? q & 15 : q >> 4;\n    i32x%d t = q & 7;\n    t += ((t - 4) & (t > 4)) + (2 & (t > 6));\n",
                  m->lanes);
            c_add(m, "    return scale * __builtin_convertvector((t ^ -(q >> 3)) + (q >> 3), %s);\n}\n", m->v);
        } else
            c_add(m,
                  "    %s r;\n    for (int l = 0; l < %d; l++) {\n        int n = block[1 + (at + l) %% 16], q = at + l < 16 ? n "
                  "& 15 : n >> 4, "
                  "t = q & 7;\n        t += (t > 4 ? t - 4 : 0) + (t > 6 ? 2 : 0);\n        r[l] = scale * (float)(q & 8 ? -t : "
                  "t);\n    }\n"
                  "    return r;\n}\n",
                  m->v, m->lanes);
        return;
    }
    if (m->lanes == 1) {
        if (q8)
            c_add(m, "    return scale * (float)(int8_t)block[2 + at];\n}\n");
        else
            c_add(m, "    int q = block[2 + at %% 16];\n    return scale * (float)((at < 16 ? q & 15 : q >> 4) - 8);\n}\n");
        return;
    }
    if (q8) {
        c_add(m, "    i8x%d q;\n    __builtin_memcpy(&q, block + 2 + at, sizeof q);\n", m->lanes);
        c_add(m, "    return scale * __builtin_convertvector(%s(q), %s);\n}\n", wider, m->v);
    } else if (m->lanes <= 16) {
        c_add(m, "    u8x%d q;\n    __builtin_memcpy(&q, block + 2 + at %% 16, sizeof q);\n", m->lanes);
        c_add(m, "    i32x%d w = %s(q);\n", m->lanes, wider);
        c_add(m, "    w = (at < 16 ? w & 15 : w >> 4) - 8;\n    return scale * __builtin_convertvector(w, %s);\n}\n", m->v);
    } else
        c_add(m,
              "    %s r;\n    for (int l = 0; l < %d; l++) {\n        int q = block[2 + (at + l) %% 16];\n"
              "        r[l] = scale * (float)((at + l < 16 ? q & 15 : q >> 4) - 8);\n    }\n    return r;\n}\n",
              m->v, m->lanes);
}
