/* Number formats: every code decoded against a table built from the definition; every half rounded into every narrower format against a
 * search for the nearest value, ties to the even code. The references share no code with the conversions. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/element.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The values of a format's non-negative codes, by stepping through them: within a binade the step is constant. */
typedef struct ladder {
    double value[0x8000];
    int finite; /* codes 0 .. finite-1 are finite */
} ladder;

static ladder *build(int mantissa_bits, int exponent_of_smallest, int finite) {
    ladder *l = calloc(1, sizeof *l);
    double step = ldexp(1, exponent_of_smallest);
    int per_binade = 1 << mantissa_bits;
    l->finite = finite;
    for (int code = 1; code < finite; code++) {
        /* the first two binades (subnormals and the smallest normals) share one step */
        if (code > 2 * per_binade && (code - 1) % per_binade == 0)
            step *= 2;
        l->value[code] = l->value[code - 1] + step;
    }
    return l;
}

static ladder *half, *bfloat, *e4m3, *e5m2;

static int set_up(void **state) {
    (void)state;
    half = build(10, -24, 0x7C00);
    bfloat = build(7, -133, 0x7F80);
    e4m3 = build(3, -9, 0x7F);
    e5m2 = build(2, -16, 0x7C);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(half);
    free(bfloat);
    free(e4m3);
    free(e5m2);
    return 0;
}

/* The nearest code to a magnitude; l->finite means beyond the largest, which rounding sees as the next step of the ladder. */
static int nearest(const ladder *l, double magnitude) {
    int low = 0, high = l->finite - 1;
    double largest = l->value[high];
    if (magnitude > largest) {
        double step = largest - l->value[high - 1], next = largest + step;
        double to_largest = magnitude - largest, to_next = next - magnitude;
        return to_largest < to_next || (to_largest == to_next && high % 2 == 0) ? high : l->finite;
    }
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (l->value[middle] <= magnitude)
            low = middle;
        else
            high = middle;
    }
    double below = magnitude - l->value[low], above = l->value[high] - magnitude;
    if (below == above)
        return low % 2 == 0 ? low : high;
    return below < above ? low : high;
}

static bool quick(void) {
    return getenv("TILEC_QUICK") != NULL;
}

static void facts_of_the_formats(void **state) {
    (void)state;
    assert_true(half->value[0x7BFF] == 65504 && half->value[1] == 0x1p-24);
    assert_true(e4m3->value[0x7E] == 448 && e4m3->value[1] == 0x1p-9 && e4m3->value[0x38] == 1);
    assert_true(e5m2->value[0x7B] == 57344 && e5m2->value[1] == 0x1p-16 && e5m2->value[0x3C] == 1);
    assert_true(bfloat->value[0x3F80] == 1 && bfloat->value[0x7F7F] == 0x1.FEp127);
    assert_int_equal(f32_to_e4m3(464, false), 0x7E);
    assert_int_equal(f32_to_e4m3(nextafterf(464, 1000), false), 0x7F);
    assert_int_equal(f32_to_e4m3(nextafterf(464, 1000), true), 0x7E);
    assert_int_equal(f32_to_e4m3(-INFINITY, true), 0xFE);
    assert_int_equal(f32_to_e5m2(nextafterf(61440, 0), false), 0x7B);
    assert_int_equal(f32_to_e5m2(61440, false), 0x7C);
    assert_int_equal(f32_to_e5m2(61440, true), 0x7B);
    assert_int_equal(f32_to_e5m2(-INFINITY, false), 0xFC);
    assert_int_equal(f32_to_e5m2(-INFINITY, true), 0xFB);
    assert_int_equal(f32_to_e4m3(NAN, true), 0x7F);
    assert_int_equal(f32_to_e4m3(-NAN, false), 0x7F);
    assert_int_equal(f32_to_e5m2(NAN, true), 0x7F);
    assert_true(isnan(e4m3_to_f32(0x7F)) && isnan(e4m3_to_f32(0xFF)));
    assert_true(f32_to_tf32(1 + 0x1p-11f) == 1 && f32_to_tf32(1 + 0x3p-11f) == 1 + 0x1p-9f && f32_to_tf32(-0x1p-137f) == 0);
    assert_true(f32_to_tf32(0x1.ffdffep127f) == 0x1.ffcp127f && isinf(f32_to_tf32(0x1.ffep127f)) && isnan(f32_to_tf32(NAN)));
    assert_true(f32_to_tf32(0x3p-137f) == 0x1p-135f && signbit(f32_to_tf32(-0x1p-140f)));
    int nans = 0, infinities = 0;
    for (int code = 0; code < 256; code++) {
        nans += isnan(e5m2_to_f32((uint8_t)code)) != 0;
        infinities += isinf(e5m2_to_f32((uint8_t)code)) != 0;
    }
    assert_int_equal(nans, 6);
    assert_int_equal(infinities, 2);
}

static void check_sign(double got, double expected, bool negative) {
    assert_true(got == (negative ? -expected : expected));
    assert_int_equal(signbit(got) != 0, negative);
}

static void every_half_and_bfloat_decodes_and_returns(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint16_t h = (uint16_t)bits, code = h & 0x7FFF;
        bool negative = h >> 15;
        float value = f16_to_f32(h), wide = bf16_to_f32(h);
        if (code < 0x7C00)
            check_sign((double)value, half->value[code], negative);
        else if (code == 0x7C00)
            check_sign((double)value, INFINITY, negative);
        if (code > 0x7C00)
            assert_true(isnan(value) && (f32_to_f16(value) & 0x7FFF) > 0x7C00);
        else
            assert_int_equal(f32_to_f16(value), h);
        if (code < 0x7F80)
            check_sign((double)wide, bfloat->value[code], negative);
        else if (code == 0x7F80)
            check_sign((double)wide, INFINITY, negative);
        if (code > 0x7F80)
            assert_true(isnan(wide) && (f32_to_bf16(wide) & 0x7FFF) > 0x7F80);
        else
            assert_int_equal(f32_to_bf16(wide), h);
    }
}

static void every_fp8_code_decodes_and_returns(void **state) {
    (void)state;
    for (int bits = 0; bits < 256; bits++) {
        int code = bits & 0x7F;
        bool negative = bits >> 7;
        for (int saturate = 0; saturate < 2; saturate++) {
            if (code < 0x7F) {
                check_sign((double)e4m3_to_f32((uint8_t)bits), e4m3->value[code], negative);
                assert_int_equal(f32_to_e4m3(e4m3_to_f32((uint8_t)bits), saturate), bits);
            }
            if (code < 0x7C) {
                check_sign((double)e5m2_to_f32((uint8_t)bits), e5m2->value[code], negative);
                assert_int_equal(f32_to_e5m2(e5m2_to_f32((uint8_t)bits), saturate), bits);
            }
        }
    }
}

/* What the definition says a value becomes. */
static int expected_code(const ladder *l, double value, int overflow, bool saturate) {
    int sign = signbit(value) ? 1 : 0, code;
    if (isinf(value))
        code = saturate ? l->finite - 1 : overflow;
    else {
        code = nearest(l, fabs(value));
        if (code == l->finite)
            code = saturate ? l->finite - 1 : overflow;
    }
    return code | sign << 7;
}

static void expect_fp8(float value) {
    for (int saturate = 0; saturate < 2; saturate++) {
        uint8_t got = f32_to_e4m3(value, saturate);
        int expected = expected_code(e4m3, (double)value, 0x7F, saturate);
        if ((expected & 0x7F) == 0x7F)
            assert_true((got & 0x7F) == 0x7F);
        else
            assert_int_equal(got, expected);
        assert_int_equal(f32_to_e5m2(value, saturate), expected_code(e5m2, (double)value, 0x7C, saturate));
    }
}

static void every_half_rounds_into_fp8(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float value = f16_to_f32((uint16_t)bits);
        if (!isnan(value))
            expect_fp8(value);
    }
}

static float of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void expect_16(float value) {
    int sign = signbit(value) ? 0x8000 : 0;
    /* Beyond the largest the nearest "value" is infinity, whose code follows the largest. */
    int h = isinf(value) ? 0x7C00 : nearest(half, fabs((double)value));
    int b = isinf(value) ? 0x7F80 : nearest(bfloat, fabs((double)value));
    assert_int_equal(f32_to_f16(value), h | sign);
    assert_int_equal(f32_to_bf16(value), b | sign);
}

/* All floats that matter to the formats: each 16-bit prefix with the low halves around every tie. */
static void floats_round_into_halves_and_bfloats(void **state) {
    (void)state;
    static const uint32_t lows[] = {0,      1,      0x0FFF, 0x1000, 0x1001, 0x2000, 0x2FFF,
                                    0x3000, 0x3001, 0x7FFF, 0x8000, 0x8001, 0xF000, 0xFFFF};
    uint32_t stride = quick() ? 37 : 1;
    for (uint32_t high = 0; high < 0x10000; high += stride)
        for (size_t i = 0; i < sizeof lows / sizeof *lows; i++) {
            float value = of_bits(high << 16 | lows[i]);
            if (!isnan(value)) {
                expect_16(value);
                expect_fp8(value);
            }
        }
}

/* A double rounds once: by way of f32 this would be a tie, and go down to the even code. */
static void stores_round_once(void **state) {
    (void)state;
    uint16_t h;
    uint8_t f;
    double above_tie = 1 + 0x1p-11 + 0x1p-40;
    element_store(ELEMENT_F16, &h, 0, above_tie);
    assert_int_equal(h, 0x3C01);
    element_store(ELEMENT_BF16, &h, 0, 1 + 0x1p-8 + 0x1p-40);
    assert_int_equal(h, 0x3F81);
    element_store(ELEMENT_E4M3, &f, 0, 1 + 0x1p-4 + 0x1p-40);
    assert_int_equal(f, 0x39);
    element_store(ELEMENT_F16, &h, 0, 0x1p-25 + 0x1p-70);
    assert_int_equal(h, 1);
    element_store(ELEMENT_F16, &h, 0, 0x1p-25);
    assert_int_equal(h, 0);
    element_store(ELEMENT_F16, &h, 0, 1e300);
    assert_int_equal(h, 0x7C00);
    element_store(ELEMENT_F16, &h, 0, -4.9e-324);
    assert_int_equal(h, 0x8000);
    element_store(ELEMENT_E5M2, &f, 0, INFINITY);
    assert_int_equal(f, 0x7C);
}

static void integers_saturate_toward_zero(void **state) {
    (void)state;
    static const struct {
        element_type type;
        double in, out;
    } rows[] = {
        {ELEMENT_I8, 127.9, 127},
        {ELEMENT_I8, 500, 127},
        {ELEMENT_I8, -128.9, -128},
        {ELEMENT_I8, -1e30, -128},
        {ELEMENT_U8, -0.9, 0},
        {ELEMENT_U8, -5, 0},
        {ELEMENT_U8, 255.99, 255},
        {ELEMENT_U8, INFINITY, 255},
        {ELEMENT_I32, 2147483647.0, 2147483647.0},
        {ELEMENT_I32, 2147483648.0, 2147483647.0},
        {ELEMENT_I32, -3e9, -2147483648.0},
        {ELEMENT_I32, -2.9, -2},
        {ELEMENT_U32, 4294967295.0, 4294967295.0},
        {ELEMENT_U32, 1e12, 4294967295.0},
        {ELEMENT_U32, -1, 0},
        {ELEMENT_INDEX, 7, 7},
        {ELEMENT_BOOL, 3, 1},
        {ELEMENT_BOOL, 0, 0},
        {ELEMENT_F32, 0.1, (double)0.1f},
        {ELEMENT_I32, NAN, 0},
        {ELEMENT_I8, NAN, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char cells[16];
        memset(cells, 0xA5, sizeof cells);
        int bytes = element_table[rows[i].type].block_bytes;
        element_store(rows[i].type, cells, 2, rows[i].in);
        assert_true(element_load(rows[i].type, cells, 2) == rows[i].out);
        for (int j = 0; j < 16; j++) /* nothing beside it was touched */
            if (j < 2 * bytes || j >= 3 * bytes)
                assert_int_equal(cells[j], 0xA5);
    }
}

static void put_half(unsigned char *at, uint16_t bits) {
    at[0] = bits & 255;
    at[1] = (unsigned char)(bits >> 8);
}

static void block_formats_decode(void **state) {
    (void)state;
    unsigned char q8[2 * 34], q4[2 * 18];
    put_half(q8, 0x3800);      /* 0.5 */
    put_half(q8 + 34, 0xC000); /* -2 */
    put_half(q4, 0x3C00);      /* 1 */
    put_half(q4 + 18, 0x0001); /* the smallest subnormal half */
    for (int i = 0; i < 32; i++) {
        q8[2 + i] = (unsigned char)(i * 8 - 128); /* -128 .. 120 */
        q8[36 + i] = (unsigned char)(i - 16);
    }
    for (int i = 0; i < 16; i++) {
        q4[2 + i] = (unsigned char)(i | (15 - i) << 4);
        q4[20 + i] = (unsigned char)(i | i << 4);
    }
    for (int i = 0; i < 32; i++) {
        assert_true(element_load(ELEMENT_Q8_0, q8, i) == 0.5 * (i * 8 - 128));
        assert_true(element_load(ELEMENT_Q8_0, q8, 32 + i) == -2.0 * (i - 16));
        assert_true(element_load(ELEMENT_Q4_0, q4, i) == (i < 16 ? i - 8 : 15 - (i - 16) - 8));
        assert_true(element_load(ELEMENT_Q4_0, q4, 32 + i) == 0x1p-24 * (i % 16 - 8));
    }
    assert_int_equal(element_bytes(ELEMENT_Q8_0, 64), 68);
    assert_int_equal(element_bytes(ELEMENT_Q4_0, 64), 36);
    assert_int_equal(element_bytes(ELEMENT_Q4_0, 33), 36);
    assert_int_equal(element_bytes(ELEMENT_F16, 33), 66);
    assert_int_equal(element_bytes(ELEMENT_F32, 0), 0);
    unsigned char before[36];
    memcpy(before, q4, sizeof before);
    static const double numbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6}; /* E2M1's, from the OCP specification */
    unsigned char mx[3 * 17] = {0};
    const int powers[] = {127, 0, 254};
    for (int b = 0; b < 3; b++) {
        mx[17 * b] = (unsigned char)powers[b];
        for (int i = 0; i < 16; i++)
            mx[17 * b + 1 + i] = (unsigned char)(i | (15 - i) << 4);
        for (int i = 0; i < 32; i++) {
            int code = i < 16 ? i : 31 - i;
            double wanted = ldexp(code & 8 ? -numbers[code & 7] : numbers[code & 7], powers[b] - 127);
            assert_true(element_load(ELEMENT_MXFP4, mx, 32 * b + i) == (double)(float)wanted);
        }
    }
    mx[0] = 255;
    assert_true(isnan(element_load(ELEMENT_MXFP4, mx, 1)) && element_bytes(ELEMENT_MXFP4, 64) == 34);
    assert_true(element_set_scale(ELEMENT_MXFP4, mx, 0.03) == 1 && mx[0] == 121 && element_load(ELEMENT_MXFP4, mx, 2) == 0x1p-6);
    element_store(ELEMENT_MXFP4, mx, 3, 1.0);
    assert_true(mx[0] == 121 && mx[4] == (3 | 12 << 4)); /* untouched */
    element_store(ELEMENT_Q4_0, q4, 3, 1.0);
    assert_memory_equal(before, q4, sizeof before);
}

/* What lies in memory may be seen as floats and be none: every code returns as it was, NaNs that signal too. */
static void every_code_is_kept(void **state) {
    static const element_type types[] = {ELEMENT_F16, ELEMENT_BF16, ELEMENT_U16};
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (uint32_t code = 0; code <= UINT16_MAX; code++) {
            uint16_t bits = (uint16_t)code, back = 0;
            element_store(types[t], &back, 0, element_load(types[t], &bits, 0));
            assert_int_equal(back, bits);
        }
    static const uint32_t words[] = {0x7F800001, 0xFF800001, 0x7FBFFFFF, 0x7FC00000,
                                     0xFFFFFFFF, 0x7F800000, 0x00000001, 0x80000000};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint32_t back = 0;
        element_store(ELEMENT_F32, &back, 0, element_load(ELEMENT_F32, &words[i], 0));
        assert_int_equal(back, words[i]);
    }
    int64_t least = INT64_MIN, number = -4000000000, back = 0;
    element_store(ELEMENT_I64, &back, 0, element_load(ELEMENT_I64, &least, 0));
    assert_true(back == least);
    element_store(ELEMENT_I64, &back, 0, element_load(ELEMENT_I64, &number, 0));
    assert_true(back == number);
}

static void names(void **state) {
    (void)state;
    for (int i = 0; i < ELEMENT_COUNT; i++) {
        assert_non_null(element_table[i].name);
        assert_int_equal(element_of_memory_by_name(element_table[i].name), i);
        assert_int_equal(element_by_name(element_table[i].name), i < ELEMENT_OF_LANGUAGE ? i : ELEMENT_COUNT);
    }
    assert_int_equal(element_by_name("f64"), ELEMENT_COUNT);
    assert_int_equal(element_by_name(""), ELEMENT_COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_of_the_formats),
        cmocka_unit_test(every_half_and_bfloat_decodes_and_returns),
        cmocka_unit_test(every_fp8_code_decodes_and_returns),
        cmocka_unit_test(every_half_rounds_into_fp8),
        cmocka_unit_test(floats_round_into_halves_and_bfloats),
        cmocka_unit_test(stores_round_once),
        cmocka_unit_test(integers_saturate_toward_zero),
        cmocka_unit_test(block_formats_decode),
        cmocka_unit_test(every_code_is_kept),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("element", tests, set_up, tear_down);
}
