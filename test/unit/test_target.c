#define _GNU_SOURCE /* MAP_ANONYMOUS */
/* The C target: every Kernel IR op, statement and layout it takes, printed, compiled, run and compared with plain C. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "kernel_text.h"
#include <cmocka.h>

static uint64_t seed = 88172645463325252u;
static uint32_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 16);
}

static float as_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static uint32_t as_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

/* ---- every op on values: out_k[i] = op(x[i], y[i], z[i]) for all rows at once, scalar and in three vector widths ---- */

enum { N = 2048, ROWS = 96 };
typedef union cell {
    float f;
    int32_t i;
    uint32_t u;
} cell;
static cell xs[N], ys[N], zs[N];
static const uint32_t special_words[] = {
    0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc01234, 0x7fa00000, 1,
    0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x4f000000, 0xcf000000, 0x4f800000, 0x4effffff, 0xcf000001, 0x40200000,
    0x40600000, 0xc0200000, 0x3f000000, 0xbf000000, 0x477fe000, 0x477ff000, 0x33000000, 0x33000001, 0x387fc000, 0x43e00000,
    0x43e80000, 0x43e80001, 0x47600000, 0x47700000, 0x3b000000, 0x3a800000, 0x37000000};

typedef struct row {
    const char *value; /* over X, Y, Z (f32), I, J (the same words as i32) and U, V (as u32) */
    const char *type;  /* of the result: f32, i32, u32 or a bool */
    cell (*of)(cell x, cell y, cell z);
} row;

#define F(name, expression)                                                                                                      \
    static cell name(cell x, cell y, cell z) {                                                                                   \
        (void)x;                                                                                                                 \
        (void)y;                                                                                                                 \
        (void)z;                                                                                                                 \
        return (cell){.f = (float)(expression)};                                                                                 \
    }
#define I(name, expression)                                                                                                      \
    static cell name(cell x, cell y, cell z) {                                                                                   \
        (void)x;                                                                                                                 \
        (void)y;                                                                                                                 \
        (void)z;                                                                                                                 \
        return (cell){.i = (int32_t)(expression)};                                                                               \
    }
#define U(name, expression)                                                                                                      \
    static cell name(cell x, cell y, cell z) {                                                                                   \
        (void)x;                                                                                                                 \
        (void)y;                                                                                                                 \
        (void)z;                                                                                                                 \
        return (cell){.u = (uint32_t)(expression)};                                                                              \
    }
F(f_add, x.f + y.f)
F(f_sub, x.f - y.f)
F(f_mul, x.f *y.f)
F(f_div, x.f / y.f)
F(f_neg, as_float(x.u ^ 0x80000000))
F(f_abs, fabsf(x.f))
F(f_floor, floorf(x.f))
F(f_rint, rintf(x.f))
F(f_sqrt, sqrtf(x.f))
F(f_fma, fmaf(x.f, y.f, z.f))
F(f_min, isnan(x.f) ? y.f : isnan(y.f) ? x.f : x.f < y.f ? x.f : y.f)
F(f_max, isnan(x.f) ? y.f : isnan(y.f) ? x.f : x.f > y.f ? x.f : y.f)
F(f_max0, isnan(x.f) || x.f < 0 ? 0 : x.f)
F(f_min1, isnan(x.f) || x.f > 1 ? 1 : x.f)
F(f_lt, x.f < y.f)
F(f_le, x.f <= y.f)
F(f_eq, x.f == y.f)
F(f_ne, x.f != y.f)
F(f_and, x.f < y.f && y.f < z.f)
F(f_or, x.f < y.f || y.f < z.f)
F(f_not, !(x.f < y.f))
F(f_select, x.f < y.f ? y.f : z.f)
F(f_of_i, x.i)
F(f_of_u, x.u)
F(f_half, f16_to_f32(f32_to_f16(x.f)))
F(f_brain, bf16_to_f32(f32_to_bf16(x.f)))
F(f_tf32, f32_to_tf32(x.f))
F(f_e4, e4m3_to_f32(f32_to_e4m3(x.f, false)))
F(f_e4s, e4m3_to_f32(f32_to_e4m3(x.f, true)))
F(f_e5, e5m2_to_f32(f32_to_e5m2(x.f, false)))
F(f_e5s, e5m2_to_f32(f32_to_e5m2(x.f, true)))
F(f_half_add, f16_to_f32(f32_to_f16(f16_to_f32(f32_to_f16(x.f)) + f16_to_f32(f32_to_f16(y.f)))))
F(f_half_less, f16_to_f32(f32_to_f16(x.f)) < f16_to_f32(f32_to_f16(y.f)))
F(f_shared, (x.f + y.f) * (x.f + y.f))
I(i_of_f, x.f != x.f ? 0 : x.f >= 0x1p31f ? INT32_MAX : x.f < -0x1p31f ? INT32_MIN : (int32_t)x.f)
U(u_of_f, x.f != x.f || x.f <= 0 ? 0 : x.f >= 0x1p32f ? UINT32_MAX : (uint32_t)x.f)
I(i_add, x.u + y.u)
I(i_sub, x.u - y.u)
I(i_mul, x.u *y.u)
I(i_fma_like, x.u *y.u + z.u)
I(i_neg, -x.u)
I(i_abs, x.i < 0 ? -x.u : x.u)
I(i_min, x.i < y.i ? x.i : y.i)
I(i_max, x.i > y.i ? x.i : y.i)
U(u_min, x.u < y.u ? x.u : y.u)
U(u_max, x.u > y.u ? x.u : y.u)
F(i_lt, x.i < y.i)
F(u_lt, x.u < y.u)
F(i_eq, x.i == y.i)
F(u_ne, x.u != y.u)
I(i_shl, x.u << (y.u & 31))
I(i_shr, x.i < 0 ? ~(~x.u >> (y.u & 31)) : x.u >> (y.u & 31))
U(u_shl, x.u << (y.u & 31))
U(u_shr, x.u >> (y.u & 31))
U(u_shr5, x.u >> 5)
I(i_shl7, x.u << 7)
U(u_and, x.u &y.u)
U(u_or, x.u | y.u)
I(i_xor, x.i ^ y.i)
I(i_as_i8, (int8_t)x.u)
U(u_as_u8, (uint8_t)x.u)
I(i_sat8, x.f != x.f ? 0 : x.f >= 127 ? 127 : x.f <= -128 ? -128 : x.f)
U(u_sat8, x.f != x.f || x.f <= 0 ? 0 : x.f >= 255 ? 255 : x.f)
U(u_of_i, x.i)
I(i_of_bool, x.f < y.f)
I(i_select, x.i < y.i ? y.i : z.i)
U(u_bits, x.u)
F(f_bits, as_float(y.u))
F(f_int_max, (x.i > y.i ? x.i : y.i))
F(bool_eq, (x.f < y.f) == (y.f < z.f))

static const row rows[] = {
    {"add(X, Y)", "f32", f_add},
    {"sub(X, Y)", "f32", f_sub},
    {"mul(X, Y)", "f32", f_mul},
    {"div(X, Y)", "f32", f_div},
    {"neg(X)", "f32", f_neg},
    {"abs(X)", "f32", f_abs},
    {"floor(X)", "f32", f_floor},
    {"rint(X)", "f32", f_rint},
    {"sqrt(X)", "f32", f_sqrt},
    {"fma(X, Y, Z)", "f32", f_fma},
    {"min(X, Y)", "f32", f_min},
    {"max(X, Y)", "f32", f_max},
    {"max(X, K(0:f32))", "f32", f_max0},
    {"min(K(1:f32), X)", "f32", f_min1},
    {"lt(X, Y)", "bool", f_lt},
    {"le(X, Y)", "bool", f_le},
    {"eq(X, Y)", "bool", f_eq},
    {"ne(X, Y)", "bool", f_ne},
    {"and(lt(X, Y), lt(Y, Z))", "bool", f_and},
    {"or(lt(X, Y), lt(Y, Z))", "bool", f_or},
    {"not(lt(X, Y))", "bool", f_not},
    {"select(lt(X, Y), Y, Z)", "f32", f_select},
    {"convert(f32, I)", "f32", f_of_i},
    {"convert(f32, U)", "f32", f_of_u},
    {"convert(f32, convert(f16, X))", "f32", f_half},
    {"convert(f32, convert(bf16, X))", "f32", f_brain},
    {"convert(f32, convert(tf32, X))", "f32", f_tf32},
    {"convert(f32, convert(e4m3, X))", "f32", f_e4},
    {"convert(f32, convert(e4m3, X, saturate))", "f32", f_e4s},
    {"convert(f32, convert(e5m2, X))", "f32", f_e5},
    {"convert(f32, convert(e5m2, X, saturate))", "f32", f_e5s},
    {"convert(f32, add(convert(f16, X), convert(f16, Y)))", "f32", f_half_add},
    {"lt(convert(f16, X), convert(f16, Y))", "bool", f_half_less},
    {"mul(add(X, Y), add(X, Y))", "f32", f_shared},
    {"convert(i32, X)", "i32", i_of_f},
    {"convert(u32, X)", "u32", u_of_f},
    {"add(I, J)", "i32", i_add},
    {"sub(I, J)", "i32", i_sub},
    {"mul(I, J)", "i32", i_mul},
    {"add(mul(I, J), L)", "i32", i_fma_like},
    {"neg(I)", "i32", i_neg},
    {"abs(I)", "i32", i_abs},
    {"min(I, J)", "i32", i_min},
    {"max(I, J)", "i32", i_max},
    {"min(U, V)", "u32", u_min},
    {"max(U, V)", "u32", u_max},
    {"lt(I, J)", "bool", i_lt},
    {"lt(U, V)", "bool", u_lt},
    {"eq(I, J)", "bool", i_eq},
    {"ne(U, V)", "bool", u_ne},
    {"shl(I, J)", "i32", i_shl},
    {"shr(I, J)", "i32", i_shr},
    {"shl(U, V)", "u32", u_shl},
    {"shr(U, V)", "u32", u_shr},
    {"shr(U, K(5:u32))", "u32", u_shr5},
    {"shl(I, K(7:i32))", "i32", i_shl7},
    {"bit_and(U, V)", "u32", u_and},
    {"bit_or(U, V)", "u32", u_or},
    {"bit_xor(I, J)", "i32", i_xor},
    {"convert(i32, convert(i8, I))", "i32", i_as_i8},
    {"convert(u32, convert(u8, U))", "u32", u_as_u8},
    {"convert(i32, convert(i8, X))", "i32", i_sat8},
    {"convert(u32, convert(u8, X))", "u32", u_sat8},
    {"convert(u32, I)", "u32", u_of_i},
    {"convert(i32, lt(X, Y))", "i32", i_of_bool},
    {"select(lt(I, J), J, L)", "i32", i_select},
    {"bitcast(u32, X)", "u32", u_bits},
    {"bitcast(f32, V)", "f32", f_bits},
    {"convert(f32, max(I, J))", "f32", f_int_max},
    {"eq(lt(X, Y), lt(Y, Z))", "bool", bool_eq},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* Replaces the letters of a row's value by loads of that width; K(..) by a constant. */
static void add_row_value(text_buffer *b, const char *value, int lanes) {
    char width[16] = "";
    if (lanes > 1)
        snprintf(width, sizeof width, ":%d", lanes);
    for (const char *c = value; *c; c++) {
        bool alone = (c == value || !(c[-1] >= 'a' && c[-1] <= 'z')) && strchr("XYZIJLUV", *c) && !(c[1] >= 'a' && c[1] <= 'z');
        if (!strncmp(c, "K(", 2)) {
            size_t n = strcspn(c, ")");
            text_add(b, "%.*s", (int)(n - 2), c + 2);
            if (lanes > 1)
                text_add(b, "x%d", lanes);
            c += n;
        } else if (alone)
            text_add(b, "%s[i%s]",
                     *c == 'X'   ? "x"
                     : *c == 'Y' ? "y"
                     : *c == 'Z' ? "z"
                     : *c == 'I' ? "xi"
                     : *c == 'J' ? "yi"
                     : *c == 'L' ? "zi"
                     : *c == 'U' ? "xu"
                                 : "yu",
                     width);
        else
            text_add(b, "%c", *c);
    }
}

static void make_inputs(void) {
    enum { SPECIALS = sizeof special_words / sizeof *special_words };
    for (int i = 0; i < N; i++) {
        if (i < SPECIALS * SPECIALS) {
            xs[i].u = special_words[i % SPECIALS];
            ys[i].u = special_words[i / SPECIALS];
            zs[i].u = special_words[(i * 7) % SPECIALS];
        } else {
            bool narrow = i % 2;
            xs[i].u = next_random();
            ys[i].u = next_random();
            zs[i].u = next_random();
            if (narrow) { /* magnitudes near the narrow formats' */
                xs[i].f = (float)(int32_t)xs[i].u * ldexpf(1, -(int)(next_random() % 60));
                ys[i].f = (float)(int32_t)ys[i].u * 0x1p-28f;
            }
        }
    }
}

static void check_ops(int lanes) {
    text_buffer b = {0};
    compiled_text k = {0};
    static unsigned char out[ROW_COUNT][N * 4];
    void *arrays[9 + ROW_COUNT] = {xs, ys, zs, xs, ys, zs, xs, ys, zs};
    text_add(&b, "kernel ops_%d {\n task (t < 1)\n", lanes);
    for (int i = 0; i < 9; i++)
        text_add(&b, " global in %c%s: %s[%d]\n", "xyz"[i % 3],
                 i < 3   ? ""
                 : i < 6 ? "i"
                         : "u",
                 i < 3   ? "f32"
                 : i < 6 ? "i32"
                         : "u32",
                 N);
    for (int r = 0; r < ROW_COUNT; r++) {
        text_add(&b, " global out o%d: %s[%d]\n", r, rows[r].type, N);
        arrays[9 + r] = out[r];
    }
    text_add(&b, " for i in 0 .. %d step %d {\n", N, lanes);
    for (int r = 0; r < ROW_COUNT; r++) {
        text_add(&b, lanes > 1 ? "  store o%d[i:%d] <- " : "  store o%d[i] <- ", r, lanes);
        add_row_value(&b, rows[r].value, lanes);
        text_add(&b, "\n");
    }
    text_add(&b, " }\n}\n");
    memset(out, 0xa5, sizeof out);
    assert_true(compile_text(text_get(&b), &k));
    k.run(arrays, NULL, NULL, 0, 1, NULL);
    for (int r = 0; r < ROW_COUNT; r++)
        for (int i = 0; i < N; i++) {
            cell wanted = rows[r].of(xs[i], ys[i], zs[i]), got;
            if (!strcmp(rows[r].type, "bool")) {
                if (out[r][i] > 1 || out[r][i] != (wanted.f != 0))
                    fail_msg("%s, %d lanes: x %a y %a gives %d", rows[r].value, lanes, (double)xs[i].f, (double)ys[i].f,
                             out[r][i]);
                continue;
            }
            memcpy(&got, out[r] + 4 * i, 4);
            bool real = !strcmp(rows[r].type, "f32"), minmax = real && (!strncmp(rows[r].value, "m", 1));
            bool same = got.u == wanted.u || (real && isnan(got.f) && isnan(wanted.f)) || (minmax && got.f == wanted.f);
            if (!same)
                fail_msg("%s, %d lanes: x %a (%08x) y %a z %a gives %08x, should be %08x", rows[r].value, lanes, (double)xs[i].f,
                         xs[i].u, (double)ys[i].f, (double)zs[i].f, got.u, wanted.u);
        }
    text_free(&b);
}

static void test_ops(void **state) {
    (void)state;
    make_inputs();
    for (int lanes = 1; lanes <= 16; lanes = lanes == 1 ? 4 : 2 * lanes)
        check_ops(lanes);
}

/* ---- lanes ---- */

static void test_lanes(void **state) {
    (void)state;
    const char *text =
        "kernel lanes {\n task (t < 1)\n global in x: f32[64, 16]\n global in n: i32[64, 16]\n"
        " global out s: f32[64]\n global out m: f32[64]\n global out w: f32[64]\n global out a: i32[64]\n global out b: "
        "i32[64]\n global out io: i32[16]\n"
        " global out p: f32[16]\n global out h: f32[64]\n"
        " store io[0:16] <- iota(16)\n"
        " store p[0:16] <- prefix_select(x[0, 0:16], x[1, 0:16], 5)\n"
        " for i in 0 .. 64 {\n store s[i] <- lanes_sum(x[i, 0:16])\n store m[i] <- lanes_max(x[i, 0:16])\n store w[i] <- "
        "lanes_min(x[i, 0:16])\n"
        "  store a[i] <- lanes_sum(n[i, 0:16])\n store b[i] <- lanes_max(n[i, 0:16])\n store h[i] <- lanes_sum(x[i, 8:4]) } }";
    compiled_text k = {0};
    static float x[64][16], s[64], m[64], w[64], p[16], h[64];
    static int32_t n[64][16], a[64], b[64], io[16];
    for (int i = 0; i < 64; i++)
        for (int l = 0; l < 16; l++) {
            x[i][l] = (float)(int32_t)next_random();
            n[i][l] = (int32_t)next_random();
            if (i % 3 == 0 && l == i % 16)
                x[i][l] = NAN;
        }
    assert_true(compile_text(text, &k));
    void *arrays[] = {x, n, s, m, w, a, b, io, p, h};
    k.run(arrays, NULL, NULL, 0, 1, NULL);
    for (int i = 0; i < 64; i++) {
        float t[16], max = -INFINITY, min = INFINITY;
        uint32_t sum = 0;
        int32_t most = INT32_MIN;
        for (int l = 0; l < 16; l++) {
            t[l] = x[i][l];
            max = fmaxf(max, x[i][l]);
            min = fminf(min, x[i][l]);
            sum += (uint32_t)n[i][l];
            most = n[i][l] > most ? n[i][l] : most;
        }
        for (int half = 8; half; half /= 2)
            for (int l = 0; l < half; l++)
                t[l] += t[l + half];
        assert_true(s[i] == t[0] || (isnan(s[i]) && isnan(t[0])));
        assert_true(m[i] == max && w[i] == min);
        assert_int_equal(a[i], (int32_t)sum);
        assert_int_equal(b[i], most);
        float quarter = (x[i][8] + x[i][10]) + (x[i][9] + x[i][11]);
        assert_true(h[i] == quarter || (isnan(h[i]) && isnan(quarter)));
    }
    for (int l = 0; l < 16; l++) {
        assert_int_equal(io[l], l);
        assert_memory_equal(&p[l], l < 5 ? &x[0][l] : &x[1][l], 4);
    }
}

/* ---- storage types, masks, strides: y[i] = f32(x[i]) over n elements, through every width; nothing outside is touched ---- */

typedef struct storage {
    const char *name;
    element_type type;
} storage;
static const storage storages[] = {{"f32", ELEMENT_F32},   {"f16", ELEMENT_F16},   {"bf16", ELEMENT_BF16},
                                   {"i8", ELEMENT_I8},     {"u8", ELEMENT_U8},     {"i32", ELEMENT_I32},
                                   {"u32", ELEMENT_U32},   {"e4m3", ELEMENT_E4M3}, {"e5m2", ELEMENT_E5M2},
                                   {"q8_0", ELEMENT_Q8_0}, {"q4_0", ELEMENT_Q4_0}, {"mxfp4", ELEMENT_MXFP4}};

/* Memory whose end is followed by a page that may not be touched. */
#include <sys/mman.h>
#include <unistd.h>
static unsigned char *guarded(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    unsigned char *base = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(base != MAP_FAILED);
    assert_int_equal(mprotect(base + whole, page, PROT_NONE), 0);
    return base + whole - bytes;
}

static void check_storage(const storage *s, int lanes) {
    text_buffer b = {0};
    compiled_text k = {0};
    bool block = element_table[s->type].block_elements > 1;
    text_add(&b,
             "kernel storage_%s_%d {\n symbol R, C\n task (r < R)\n global in x: %s[R, C]\n global out y: f32[R, C]\n global out "
             "t: f32[C, R]\n",
             s->name, lanes, s->name);
    text_add(&b,
             " for c in 0 .. C - %d step %d {\n  let v: f32x%d = convert(f32, x[r, c:%d])\n  store y[r, c:%d] <- v\n  store "
             "t[c:%d, r] <- v }\n",
             lanes - 1, lanes, lanes, lanes, lanes, lanes);
    text_add(&b,
             " for c in floor(C / %d) * %d .. C step %d {\n  let v: f32x%d = convert(f32, x[r, c:%d] active C - c)\n  store y[r, "
             "c:%d] active C - c <- v\n"
             "  store t[c:%d, r] active C - c <- v }\n}\n",
             lanes, lanes, lanes, lanes, lanes, lanes, lanes);
    assert_true(compile_text(text_get(&b), &k));
    text_free(&b);
    for (int columns = block ? 32 : 1; columns <= 96; columns += block ? 32 : 5) {
        int row_count = 3;
        size_t bytes = (size_t)element_bytes(s->type, (int64_t)row_count * columns), cells = (size_t)(row_count * columns);
        unsigned char *x = guarded(bytes);
        float *y = (float *)(void *)guarded(4 * cells), *t = (float *)(void *)guarded(4 * cells);
        for (size_t i = 0; i < bytes; i++)
            x[i] = (unsigned char)next_random();
        void *arrays[] = {x, y, t};
        const int64_t integers[] = {row_count, columns};
        k.run(arrays, integers, NULL, 0, row_count, NULL);
        for (int64_t i = 0; i < (int64_t)cells; i++) {
            float wanted = (float)element_load(s->type, x, i), got = y[i], across = t[i % columns * row_count + i / columns];
            if (!(wanted == got && wanted == across) && !(isnan(wanted) && isnan(got) && isnan(across)))
                fail_msg("%s, %d lanes, %d columns: element %lld is %a, %a; should be %a", s->name, lanes, columns, (long long)i,
                         (double)got, (double)across, (double)wanted);
        }
    }
}

static void test_storage(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof storages / sizeof *storages; i++)
        for (int lanes = 4; lanes <= 16; lanes *= 2)
            check_storage(&storages[i], lanes);
}

/* Every code of the narrow formats, scalar; and stores of narrow types against element.c. */
static void test_narrow_codes(void **state) {
    (void)state;
    const char *text =
        "kernel codes {\n task (t < 1)\n global in h: f16[65536]\n global in b: bf16[65536]\n global in e: e4m3[256]\n global in "
        "f: e5m2[256]\n"
        " global out ho: f32[65536]\n global out bo: f32[65536]\n global out eo: f32[256]\n global out fo: f32[256]\n"
        " global out hs: f16[65536]\n global out hv: f16[65536]\n global out vo: f32[65536]\n"
        " for i in 0 .. 65536 {\n store ho[i] <- convert(f32, h[i])\n store bo[i] <- convert(f32, b[i])\n store hs[i] <- "
        "convert(f16, convert(f32, h[i])) }\n"
        " for i in 0 .. 65536 step 16 { store hv[i:16] <- convert(f16, convert(f32, h[i:16]))\n store vo[i:16] <- convert(f32, "
        "h[i:16]) }\n"
        " for i in 0 .. 256 {\n store eo[i] <- convert(f32, e[i])\n store fo[i] <- convert(f32, f[i]) }\n}\n";
    static uint16_t h[65536], hs[65536], hv[65536];
    static uint8_t e[256];
    static float ho[65536], bo[65536], vo[65536], eo[256], fo[256];
    compiled_text k = {0};
    for (int i = 0; i < 65536; i++)
        h[i] = (uint16_t)i;
    for (int i = 0; i < 256; i++)
        e[i] = (uint8_t)i;
    assert_true(compile_text(text, &k));
    void *arrays[] = {h, h, e, e, ho, bo, eo, fo, hs, hv, vo};
    k.run(arrays, NULL, NULL, 0, 1, NULL);
    for (int i = 0; i < 65536; i++) {
        float wanted = f16_to_f32((uint16_t)i), brain = bf16_to_f32((uint16_t)i);
        assert_true(as_bits(ho[i]) == as_bits(wanted) || (isnan(ho[i]) && isnan(wanted)));
        assert_true(as_bits(vo[i]) == as_bits(wanted) || (isnan(vo[i]) && isnan(wanted)));
        assert_true(as_bits(bo[i]) == as_bits(brain) || (isnan(bo[i]) && isnan(brain)));
        assert_true((hs[i] == h[i] && hv[i] == h[i]) || (isnan(wanted) && isnan(f16_to_f32(hs[i])) && isnan(f16_to_f32(hv[i]))));
    }
    for (int i = 0; i < 256; i++) {
        float e4 = e4m3_to_f32((uint8_t)i), e5 = e5m2_to_f32((uint8_t)i);
        assert_true(as_bits(eo[i]) == as_bits(e4) || (isnan(eo[i]) && isnan(e4)));
        assert_true(as_bits(fo[i]) == as_bits(e5) || (isnan(fo[i]) && isnan(e5)));
    }
}

/* ---- layouts: written through a private array, read back, and looked at where documented ---- */

static void test_layouts(void **state) {
    (void)state;
    /* Layout by layout: offset of (i, j) in a 12 x 20 array, as doc/kernel-ir.md defines it. */
    static const char *const layouts[] = {"",
                                          "layout pad(3)",
                                          "layout panel(1, 8)",
                                          "layout panel(0, 4)",
                                          "layout swizzle(2, 2, 3)",
                                          "layout box(4, 8)",
                                          "layout strides(1, 12)"};
    for (size_t n = 0; n < sizeof layouts / sizeof *layouts; n++) {
        text_buffer b = {0};
        compiled_text k = {0};
        text_add(&b,
                 "kernel layout_%zu {\n task (t < 1)\n global in x: f32[12, 20]\n global out y: f32[12, 20]\n global out raw: "
                 "f32[640]\n private q: f32[640]\n"
                 " private p: f32[12, 20] %s view q at 0\n",
                 n, layouts[n]);
        text_add(&b, " for i in 0 .. 640 { store q[i] <- -1:f32 }\n"
                     " for i in 0 .. 12 { for j in 0 .. 20 step 4 { store p[i, j:4] <- x[i, j:4] } }\n"
                     " for i in 0 .. 640 { store raw[i] <- q[i] }\n"
                     " for j in 0 .. 20 { for i in 0 .. 12 step 4 { store y[i:4, j] <- p[i:4, j] } } }\n");
        assert_true(compile_text(text_get(&b), &k));
        static float x[12][20], y[12][20], raw[640];
        for (int i = 0; i < 240; i++)
            x[i / 20][i % 20] = (float)(i + 1);
        void *arrays[] = {x, y, raw}, *scratch = aligned_alloc(64, 64 * 1024);
        k.run(arrays, NULL, NULL, 0, 1, scratch);
        for (int i = 0; i < 12; i++)
            for (int j = 0; j < 20; j++) {
                int r = i * 20 + j;
                int at[] = {r,
                            i * 23 + j,
                            (j / 8 * 12 + i) * 8 + j % 8,
                            (i / 4 * 20 + j) * 4 + i % 4,
                            r ^ ((r >> 3) & (3 << 2)),
                            ((i / 4) * 3 + j / 8) * 32 + i % 4 * 8 + j % 8,
                            i + 12 * j};
                if (raw[at[n]] != x[i][j] || y[i][j] != x[i][j])
                    fail_msg("%s: cell %d, %d: %f at %d, %f read back", layouts[n], i, j, (double)raw[at[n]], at[n],
                             (double)y[i][j]);
            }
        free(scratch);
        text_free(&b);
    }
}

/* ---- statements ---- */

static void test_statements(void **state) {
    (void)state;
    const char *text =
        "kernel statements {\n symbol N\n scalar s: f32\n scalar len: i32 in 0 .. N\n task (a < 2, b < 3)\n global in x: "
        "f32[N]\n global out y: f32[2, 3, 8]\n"
        " register acc: f32x4[2, 2]\n register one: f32[]\n register n: i32[]\n"
        " for r in 0 .. 2 unroll { for c in 0 .. 2 unroll { store acc[r, c] <- broadcast(convert(f32, index(2 * r + c)), 4) } }\n"
        " store one[] <- 0:f32 store n[] <- 0:i32\n"
        " for i in 0 .. len { store one[] <- add(one[], x[i]) }\n"
        " loop { store n[] <- add(n[], 1:i32)\n let k: i32 = n[]\n break when k == 7 }\n"
        " for r in 0 .. 2 unroll { for c in 0 .. 2 unroll { for q in 0 .. 3 { store acc[r, c] <- add(acc[r, c], broadcast(one[], "
        "4)) } } }\n"
        " if a == 1 { store y[a, b, 0] <- one[] } else { store y[a, b, 0] <- neg(one[]) }\n"
        " if_value lt(one[], 10:f32) { store y[a, b, 1] <- 1:f32 } else { store y[a, b, 1] <- 2:f32 }\n"
        " store y[a, b, 2] <- convert(f32, n[])\n"
        " store y[a, b, 3] <- convert(f32, index(10 * a + b))\n"
        " store y[a, b, 4:4] <- mul(acc[1, 0], broadcast(scalar(s), 4))\n comment \"*/ not the end /*\"\n}\n";
    compiled_text k = {0};
    assert_true(compile_text(text, &k));
    float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, y[2][3][8];
    void *arrays[] = {x, y};
    for (int len = 0; len <= 9; len++) {
        const int64_t integers[] = {9, len};
        const float floats[] = {0.5f};
        memset(y, 0xff, sizeof y);
        k.run(arrays, integers, floats, 0, 2, NULL);
        k.run(arrays, integers, floats, 2, 6, NULL);
        float sum = (float)(len * (len + 1) / 2);
        for (int i = 0; i < 6; i++) {
            int a = i / 3, c = i % 3;
            assert_true(y[a][c][0] == (a ? sum : -sum));
            assert_true(y[a][c][1] == (sum < 10 ? 1 : 2));
            assert_true(y[a][c][2] == 7);
            assert_true(y[a][c][3] == (float)(10 * a + c));
            for (int l = 4; l < 8; l++)
                assert_true(y[a][c][l] == (2 + 3 * sum) * 0.5f);
        }
    }
}

/* break leaves the loop it stands in, unrolled ones too; register arrays that are not constant-indexed still work. */
static void test_break_and_gather(void **state) {
    (void)state;
    const char *text =
        "kernel breaks {\n symbol N, V\n task (t < N)\n global in ids: index[N] bound V\n global in table: f32[V, 4]\n global "
        "out y: f32[N, 4]\n"
        " global out first: i32[N]\n register f: i32[]\n store f[] <- 0:i32\n"
        " for i in 0 .. 8 unroll { break when i == t\n store f[] <- convert(i32, index(i + 1)) }\n store first[t] <- f[]\n"
        " let id: index = ids[t]\n store y[t, 0:4] <- table[id, 0:4]\n}\n";
    compiled_text k = {0};
    assert_true(compile_text(text, &k));
    int32_t ids[6] = {3, 0, 2, 2, 1, 3}, first[6];
    float table[4][4], y[6][4];
    for (int i = 0; i < 16; i++)
        table[i / 4][i % 4] = (float)i;
    void *arrays[] = {ids, table, y, first};
    const int64_t integers[] = {6, 4};
    k.run(arrays, integers, NULL, 0, 6, NULL);
    for (int t = 0; t < 6; t++) {
        assert_int_equal(first[t], t);
        assert_memory_equal(y[t], table[ids[t]], 16);
    }
}

/* Negative values through floor, mod, min and max. */
static void test_integers(void **state) {
    (void)state;
    const char *text =
        "kernel integers {\n symbol N\n scalar s: i32 in -1000 .. 1000\n task (t < 1)\n global out y: i32[8]\n"
        " store y[0] <- convert(i32, index(floor((s - N) / 7)))\n store y[1] <- convert(i32, index(((s - N) mod 7)))\n"
        " store y[2] <- convert(i32, index(floor((s - N) / 8)))\n store y[3] <- convert(i32, index(((s - N) mod 8)))\n"
        " store y[4] <- convert(i32, index(min(s, N) - 3 * max(s, N)))\n store y[5] <- convert(i32, index(s - (N - s)))\n"
        " if s < N and (s != 3 or not N == 5) { store y[6] <- 1:i32 } else { store y[6] <- 0:i32 }\n"
        " let u = floor(s / 3) * 3\n store y[7] <- convert(i32, index(u - s)) }\n";
    compiled_text k = {0};
    assert_true(compile_text(text, &k));
    for (int s = -40; s <= 40; s++)
        for (int n = 0; n < 9; n++) {
            int32_t y[8];
            void *arrays[] = {y};
            const int64_t integers[] = {n, s};
            k.run(arrays, integers, NULL, 0, 1, NULL);
            int d = s - n;
            assert_int_equal(y[0], (int)floor(d / 7.0));
            assert_int_equal(y[1], d - 7 * (int)floor(d / 7.0));
            assert_int_equal(y[2], (int)floor(d / 8.0));
            assert_int_equal(y[3], d - 8 * (int)floor(d / 8.0));
            assert_int_equal(y[4], (s < n ? s : n) - 3 * (s > n ? s : n));
            assert_int_equal(y[5], s - (n - s));
            assert_int_equal(y[6], s < n && (s != 3 || n != 5));
            assert_int_equal(y[7], 3 * (int)floor(s / 3.0) - s);
        }
}

/* Tasks that meet in a cell. */
static void test_atomics(void **state) {
    (void)state;
    compiled_text k = {0};
    assert_true(compile_text("kernel k { task (t < 5) global update y: i32[2] rewritable global update z: f32[1] rewritable\n"
                             " atomic add y[0] <- convert(i32, index(t)) scope task\n atomic old = max y[1] <- 7:i32 scope task\n"
                             " if old < 7 { atomic min z[0] <- -2:f32 scope task } }",
                             &k));
    int32_t y[2] = {100, 3};
    float z[1] = {9};
    void *arrays[] = {y, z};
    k.run(arrays, NULL, NULL, 0, 5, NULL);
    assert_int_equal(y[0], 110);
    assert_int_equal(y[1], 7);
    assert_true(z[0] == -2);
    /* exchanges of 64 bits and of floats, counters that wrap */
    compiled_text e = {0};
    assert_true(compile_text(
        "kernel e { task (t < 5) global update w: i64[2] rewritable global update z: f32[2] rewritable global update c: u32[2] "
        "rewritable\n"
        " atomic exchange w[0] <- convert(i64, index(1099511627776)) scope task\n"
        " atomic compare_exchange w[1] if convert(i64, index(8589934592 + t)) <- convert(i64, index(8589934593 + t)) scope task\n"
        " atomic was = compare_exchange z[0] if -0:f32 <- 2:f32 scope task\n"
        " if_value eq(was, 2:f32) { atomic exchange z[1] <- 3:f32 scope task }\n"
        " atomic inc_wrap c[0] <- 2:u32 scope task atomic dec_wrap c[1] <- 2:u32 scope task }",
        &e));
    int64_t w[2] = {1, 8589934592};
    uint32_t c[2] = {7, 7};
    float halves[2] = {-0.0f, 9};
    void *others[] = {w, halves, c};
    e.run(others, NULL, NULL, 0, 5, NULL);
    assert_true(w[0] == 1099511627776 && w[1] == 8589934597);
    assert_true(halves[0] == 2 && halves[1] == 3);
    assert_int_equal(c[0], 1); /* 7 is past it: 0, 1, 2, 0, 1 */
    assert_int_equal(c[1], 1); /* 2, 1, 0, 2, 1 */
}

/* What C has no form for is a located error that names it. */
static void test_refusals(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k { task (t < 1) subgroup (s < 2) lane (l < 32) shared a: f32[64] global out y: f32[1] barrier block orders "
        "shared store y[0] <- 0:f32 }",
        "kernel k { task (t < 1) lane (l < 32) global out y: f32[1] store y[0] <- subgroup_sum(1:f32) }",
        "kernel k { task (t < 4) global out y: f32[1] grid_reduce add y[0] <- 1:f32 }",
        "kernel k { symbol N task (t < N) grid 4 global out y: f32[N] tasks n { store y[t] <- 1:f32 } }",
        "kernel k { task (t < 1) global out y: f32[4] for i in 0 .. 4 { store y[i] <- 1:f32 } intrinsic \"prefetch\" (value "
        "index(3)) }",
        "kernel k { task (t < 1) global in x: f16[4] global out y: f16[4] store y[0] <- fma(x[0], x[1], x[2]) }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        compiled_text k = {0};
        char code[8];
        char *c = text_to_c(texts[i], &k, code);
        if (c || strcmp(code, "E0551"))
            fail_msg("text %zu: %s, code %s", i, c ? "printed" : "refused", code);
        free(c);
    }
}

/* ---- the text itself: golden files; UPDATE=1 rewrites them ---- */

static void test_golden(void **state) {
    (void)state;
    static const char *const names[] = {"c_rows", "c_matmul"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        arena *a = arena_new();
        diag_list d;
        diag_init(&d, a);
        char *text = file_read(a, arena_printf(a, "test/golden/%s.kir", names[i]), 1 << 20, NULL, &d);
        assert_non_null(text);
        compiled_text k = {0};
        char *c = text_to_c(text, &k, NULL);
        assert_non_null(c);
        const char *path = arena_printf(a, "test/golden/%s.c", names[i]);
        if (getenv("UPDATE"))
            assert_true(file_write(path, c, strlen(c), &d));
        char *expected = file_read(a, path, 1 << 20, NULL, &d);
        assert_non_null(expected);
        assert_string_equal(c, expected);
        free(c);
        arena_free(a);
    }
}

/* Emitted C draws no warning from GCC or Clang, with this machine's instructions and without, and computes the same without them. */
static void test_warnings(void **state) {
    (void)state;
    static const char *const compilers[] = {"gcc", "clang"}, *const arch[] = {"", "-march=native", "-mavx2 -mfma -mf16c"};
    for (int c = 0; c < 2; c++)
        for (int m = 0; m < 3; m++) {
            char command[512];
            snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", compilers[c]);
            if (system(command))
                continue;
#if !defined(__x86_64__)
            if (m == 2)
                continue;
#endif
            snprintf(command, sizeof command, "%s -std=gnu11 -O2 %s -Wall -Wextra -Werror -c -o /dev/null test/golden/c_rows.c",
                     compilers[c], arch[m]);
            if (system(command))
                fail_msg("%s", command);
        }
}

/* Compiled code goes to a cache of the test's own. */
static char folder[] = "/tmp/test_target-XXXXXX";

static int set_up(void **state) {
    (void)state;
    if (getenv("TILEC_QUICK")) /* valgrind knows no AVX-512 */
        setenv("TILEC_CC", "cc -mno-avx512f", 0);
    return mkdtemp(folder) && !setenv("TILEC_CACHE", folder, 1) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    cache_prune(0);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ops),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_storage),
        cmocka_unit_test(test_narrow_codes),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_statements),
        cmocka_unit_test(test_break_and_gather),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_warnings),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
