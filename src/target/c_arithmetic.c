/* Helpers of emitted C that compute. */
#include "target/c_helpers.h"

void c_make_iota(maker *m) {
    c_begin(m, m->v, "void");
    c_add(m, "    return (%s){", m->v);
    for (int l = 0; l < m->lanes; l++)
        c_add(m, "%s%d", l ? ", " : "", l);
    c_add(m, "};\n}\n");
}

void c_make_splat(maker *m) {
    c_begin(m, m->v, c_form(m, "%s x", m->t == ELEMENT_BOOL ? "bool" : m->e));
    if (m->t == ELEMENT_BOOL)
        c_add(m, "    int32_t m = -(int32_t)x;\n");
    c_add(m, "    return (%s){", m->v);
    for (int l = 0; l < m->lanes; l++)
        c_add(m, "%s%s", l ? ", " : "", m->t == ELEMENT_BOOL ? "m" : "x");
    c_add(m, "};\n}\n");
}

void c_make_unary(maker *m, cfamily_helper h) {
    bool real = m->t == ELEMENT_F32;
    const char *u = real ? NULL : m->lanes > 1 ? c_unsigned_vector(m) : c_lane_bytes(m->t) == 8 ? "uint64_t" : "uint32_t";
    const char *parameters = c_form(m, "%s x", m->v);
    switch (h) {
    case HELPER_NEG:
        c_begin(m, m->v, parameters);
        c_add(m, "    return (%s)(0 - (%s)x);\n}\n", m->v, u);
        return;
    case HELPER_ABS:
        if (real) {
            const char *i = c_int_vector(m, ELEMENT_I32);
            c_begin(m, m->v, parameters);
            c_add(m, "    return (%s)((%s)x & 0x7fffffff);\n}\n", m->v, i);
        } else if (m->lanes > 1) {
            c_begin(m, m->v, parameters);
            c_add(m, "    %s negative = x >> %d;\n    return (%s)(((%s)x ^ (%s)negative) - (%s)negative);\n}\n", m->v,
                  8 * c_lane_bytes(m->t) - 1, m->v, u, u, u);
        } else {
            c_begin(m, m->v, parameters);
            c_add(m, "    return x < 0 ? (%s)(0 - (%s)x) : x;\n}\n", m->v, u);
        }
        return;
    case HELPER_FLOOR: {
        static const builtin b[] = {{16, "__AVX512F__", "__builtin_ia32_rndscaleps_mask", "x, 1, x, -1, 4"},
                                    {8, "__AVX__", "__builtin_ia32_roundps256", "x, 1"},
                                    {4, "__SSE4_1__", "__builtin_ia32_roundps", "x, 1"}};
        c_lane_function(m, parameters, b, COUNT(b), "__builtin_floorf(x[l])");
        return;
    }
    case HELPER_RINT: {
        static const builtin b[] = {{16, "__AVX512F__", "__builtin_ia32_rndscaleps_mask", "x, 4, x, -1, 4"},
                                    {8, "__AVX__", "__builtin_ia32_roundps256", "x, 4"},
                                    {4, "__SSE4_1__", "__builtin_ia32_roundps", "x, 4"}};
        c_lane_function(m, parameters, b, COUNT(b), "__builtin_rintf(x[l])");
        return;
    }
    default: {
        static const builtin b[] = {{16, "__AVX512F__", "__builtin_ia32_sqrtps512_mask", "x, x, -1, 4"},
                                    {8, "__AVX__", "__builtin_ia32_sqrtps256", "x"},
                                    {4, "__SSE__", "__builtin_ia32_sqrtps", "x"}};
        c_lane_function(m, parameters, b, COUNT(b), "__builtin_sqrtf(x[l])");
    }
    }
}

void c_make_wrapping(maker *m, char op) {
    const char *u = m->lanes > 1 ? c_unsigned_vector(m) : c_lane_bytes(m->t) == 8 ? "uint64_t" : "uint32_t";
    c_begin(m, m->v, c_form(m, "%s x, %s y", m->v, m->v));
    c_add(m, "    return (%s)((%s)x %c (%s)y);\n}\n", m->v, u, op, u);
}

void c_make_fma(maker *m) {
    static const builtin b[] = {{16, "__AVX512F__", "__builtin_ia32_vfmaddps512_mask", "a, b, c, -1, 4"},
                                {8, "__FMA__", "__builtin_ia32_vfmaddps256", "a, b, c"},
                                {4, "__FMA__", "__builtin_ia32_vfmaddps", "a, b, c"}};
    c_lane_function(m, c_form(m, "%s a, %s b, %s c", m->v, m->v, m->v), b, COUNT(b), "__builtin_fmaf(a[l], b[l], c[l])");
}

void c_make_select(maker *m) {
    const char *i = c_int_vector(m, m->t);
    c_begin(m, m->v, c_form(m, "%s m, %s x, %s y", m->mask, m->v, m->v));
    if (c_lane_bytes(m->t) == 4)
        c_add(m, "    return (%s)(((%s)x & m) | ((%s)y & ~m));\n}\n", m->v, i, i);
    else
        c_add(m, "    %s w = __builtin_convertvector(m, %s);\n    return (%s)(((%s)x & w) | ((%s)y & ~w));\n}\n", i, i, m->v, i,
              i);
}

void c_make_prefix_select(maker *m) {
    const char *select = c_helper(m->p, HELPER_SELECT, m->t, m->t, m->lanes);
    const char *iota = c_helper(m->p, HELPER_IOTA, ELEMENT_I32, ELEMENT_I32, m->lanes);
    c_begin(m, m->v, c_form(m, "int64_t n, %s x, %s y", m->v, m->v));
    c_add(m, "    int32_t c = n < 0 ? 0 : n > %d ? %d : (int32_t)n;\n    return %s(%s() < c, x, y);\n}\n", m->lanes, m->lanes,
          select, iota);
}

/* The smaller or larger operand; `number`: y is known to be no NaN, which one comparison then settles. Otherwise a NaN loses. */
void c_make_extreme(maker *m, bool max, bool number) {
    char op = max ? '>' : '<';
    bool real = m->t == ELEMENT_F32;
    const char *select = m->lanes > 1 ? c_helper(m->p, HELPER_SELECT, m->t, m->t, m->lanes) : NULL;
    const char *one = real && m->lanes > 1 && !number
                          ? c_helper(m->p, max ? HELPER_MAX_NUMBER : HELPER_MIN_NUMBER, m->t, m->t, m->lanes)
                          : NULL;
    bool wide = m->lanes > 1 && c_lane_bytes(m->t) == 8;
    const char *less = wide ? c_form(m, "__builtin_convertvector(x %c y, %s)", op, m->mask) : c_form(m, "x %c y", op);
    c_begin(m, m->v, c_form(m, "%s x, %s y", m->v, m->v));
    if (m->lanes == 1)
        /* In two steps, each an instruction: of one condition made of two, gcc makes a branch, which data mispredict. */
        c_add(m,
              real && !number ? "    float m = x %c y ? x : y;\n    return y != y ? x : m;\n}\n"
                              : "    return x %c y ? x : y;\n}\n",
              op);
    else if (one)
        c_add(m, "    return %s(y != y, x, %s(x, y));\n}\n", select, one);
    else {
        if (real)
            c_with_builtins(m,
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
        c_add(m, "    return %s(%s, x, y);\n%s}\n", select, less, closes ? "#endif\n" : "");
    }
}

void c_make_shift(maker *m, bool left) {
    int bits = 8 * c_lane_bytes(m->t);
    const char *u = m->lanes > 1 ? c_unsigned_vector(m) : bits == 64 ? "uint64_t" : "uint32_t";
    c_begin(m, m->v, c_form(m, "%s x, %s n", m->v, m->v));
    if (left)
        c_add(m, "    return (%s)((%s)x << (n & %d));\n}\n", m->v, u, bits - 1);
    else
        c_add(m, "    return x >> (n & %d);\n}\n", bits - 1);
}

void c_make_all(maker *m) {
    const char *reals = c_vector(m->p, "f32", "float", 4, m->lanes);
    c_begin(m, "bool", c_form(m, "%s m", m->mask));
    if (m->lanes == 16)
        c_add(m, "#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_ptestmd512)\n"
                 "    return (uint16_t)__builtin_ia32_ptestmd512(m, m, -1) == 0xffff;\n#else\n");
    else if (m->lanes == 8)
        c_add(m,
              "#if defined(__AVX__) && __has_builtin(__builtin_ia32_movmskps256)\n"
              "    return __builtin_ia32_movmskps256((%s)m) == 0xff;\n#else\n",
              reals);
    c_add(m, "    int32_t all = -1;\n    for (int l = 0; l < %d; l++)\n        all &= m[l];\n    return all;\n%s}\n", m->lanes,
          m->lanes == 16 || m->lanes == 8 ? "#endif\n" : "");
}

/* Lane l with lane l + n/2, and again, until one is left. */
void c_make_lanes(maker *m, cfamily_helper h) {
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
    c_begin(m, result, c_form(m, "%s v%d", vector, lanes));
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
        c_add(m, "#if __has_builtin(__builtin_shufflevector)\n    %s a%d = %s;\n    %s b%d = %s;\n#else\n", half, n, halves[0],
              half, n, halves[1]);
        c_add(
            m,
            "    %s a%d, b%d;\n    for (int l = 0; l < %d; l++) {\n        a%d[l] = v%d[l];\n        b%d[l] = v%d[l + %d];\n    "
            "}\n#endif\n",
            half, n, n, n, n, 2 * n, n, 2 * n, n);
        if (infix)
            c_add(m, "    %s v%d = a%d + b%d;\n", half, n, n, n);
        else
            c_add(m, "    %s v%d = %s(a%d, b%d);\n", half, n, of[depth], n, n);
    }
    if (infix)
        c_add(m, "    return v2[0] + v2[1];\n}\n");
    else
        c_add(m, "    return %s(v2[0], v2[1]);\n}\n", of[depth]);
}
