/* The model of matrix units against a second one, in double arithmetic, and against what an H200 answered. */
#include "probe/matrix_units.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state_of_chance = 1;
static uint64_t chance(void) {
    state_of_chance += 0x9E3779B97F4A7C15u;
    uint64_t x = state_of_chance;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}
static int between(int low, int high) {
    return low + (int)(chance() % (uint64_t)(high - low + 1));
}

/* ---- the second model: terms are doubles, which hold every product exactly ---- */

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

static double rounded(double x, matrix_rounding mode) {
    switch (mode) {
    case MATRIX_TOWARD_ZERO: return trunc(x);
    case MATRIX_DOWN: return floor(x);
    case MATRIX_UP: return ceil(x);
    case MATRIX_NEAREST_AWAY: return round(x);
    default: return nearbyint(x);
    }
}

static int exponent_of(number_kind kind, double x) {
    return x == 0 || ilogb(x) < number_lowest_exponent(kind) ? number_lowest_exponent(kind) : ilogb(x);
}

static uint32_t code_of(const matrix_unit *u, double x) {
    if (u->c == NUMBER_F32) {
        float f = (float)x;
        uint32_t code;
        memcpy(&code, &f, 4);
        return code;
    }
    uint32_t sign = signbit(x) ? 0x8000 : 0;
    if (isinf(x))
        return sign | 0x7C00;
    uint32_t code = 0;
    int exponent;
    double m = frexp(fabs(x), &exponent);
    if (x == 0)
        return sign;
    if (exponent - 1 < -14)
        code = (uint32_t)ldexp(fabs(x), 24);
    else
        code = (uint32_t)(exponent + 14) << 10 | ((uint32_t)ldexp(m, 11) & 0x3FF);
    return sign | code;
}

static double finished(const matrix_unit *u, double sum, int bits, matrix_rounding mode, bool keeps_sign) {
    double zero = keeps_sign && signbit(sum) ? -0.0 : 0.0;
    if (sum == 0)
        return zero;
    double smallest = ldexp(1, number_lowest_exponent(u->c));
    if (u->flush_result == MATRIX_FLUSH_EXACT && fabs(sum) < smallest)
        return zero;
    int unit = (u->flush_result == MATRIX_FLUSH_ROUNDED ? ilogb(sum) : exponent_of(u->c, sum)) - bits;
    double r = ldexp(rounded(ldexp(sum, -unit), mode), unit);
    if (r == 0 || (u->flush_result == MATRIX_FLUSH_ROUNDED && fabs(r) < smallest))
        return zero;
    double limit = ldexp(1, number_highest_exponent(u->c) + 1);
    if (fabs(r) >= limit) {
        bool clamps = u->overflow_clamps || (mode == MATRIX_DOWN && r > 0) || (mode == MATRIX_UP && r < 0);
        double most = u->c == NUMBER_F32 ? 0x1.fffffep127 : 65504;
        r = copysign(clamps ? most : (double)INFINITY, r);
    }
    return r;
}

static double step(const matrix_unit *u, const double *terms, const int *exponents, int count, int bits, matrix_rounding mode,
                   bool keeps_sign) {
    int E = -100000;
    bool negative = true;
    for (int i = 0; i < count; i++) {
        negative &= signbit(terms[i]) != 0;
        if (!isfinite(terms[i])) /* one infinity: the sum; two that differ are not asked about */
            return terms[i];
        if (terms[i] != 0 || (u->zeros_count && i + 1 < count))
            E = exponents[i] > E ? exponents[i] : E;
    }
    if (u->alignment == MATRIX_EXACT) { /* sums of the tests fit 128 bits */
        wide sum = 0;
        for (int i = 0; i < count; i++) {
            int place = 0;
            double m = frexp(terms[i], &place);
            int by = place - 53 + 75;
            wide x = (int64_t)ldexp(m, 53);
            sum += by >= 0 ? x * ((wide)1 << by) : x / ((wide)1 << -by);
        }
        if (!sum)
            return finished(u, negative ? -0.0 : 0.0, bits, mode, keeps_sign);
        bool minus = sum < 0;
        unsigned_wide magnitude = minus ? -(unsigned_wide)sum : (unsigned_wide)sum;
        int dropped = 0;
        bool sticky = false;
        for (; magnitude >> 50; magnitude >>= 1, dropped++)
            sticky |= (magnitude & 1) != 0;
        double value = ldexp((double)(uint64_t)(magnitude * 2 + sticky), dropped - 76);
        return finished(u, minus ? -value : value, bits, mode, keeps_sign);
    }
    if (E == -100000)
        return finished(u, negative ? -0.0 : 0.0, bits, mode, keeps_sign);
    E = E < u->lowest_exponent ? u->lowest_exponent : E;
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += rounded(ldexp(terms[i], u->alignment - E), u->cut) + 0.0;
    if (sum == 0 && negative)
        sum = -0.0;
    return finished(u, ldexp(sum, E - u->alignment), bits, mode, keeps_sign);
}

static double flushed(number_kind kind, double x, bool flush) {
    return flush && fabs(x) < ldexp(1, number_lowest_exponent(kind)) ? copysign(0, x) : x;
}

static int addend_exponent(const matrix_unit *u, double x) {
    return u->normalised_addend && x != 0 && isfinite(x) ? ilogb(x) : exponent_of(u->c, x);
}

static double pair(const matrix_unit *u, double x, double y) {
    double terms[2] = {flushed(u->c, x, u->flush_addend), flushed(u->c, y, u->flush_addend)};
    int exponents[2] = {addend_exponent(u, terms[0]), addend_exponent(u, terms[1])};
    return step(u, terms, exponents, 2, u->output_bits, u->rounding, u->signed_zero);
}

static uint32_t second_model(const matrix_unit *u, const uint32_t *a, const uint32_t *b, uint32_t c) {
    double products[MATRIX_LONGEST], terms[MATRIX_LONGEST + 1], addend = number_value(u->c, c),
                                                                sum = u->addend_apart ? 0 : addend;
    int exponents[MATRIX_LONGEST], used[MATRIX_LONGEST + 1];
    uint32_t ignored = ~(((uint32_t)1 << u->ignored_bits) - 1);
    for (int i = 0; i < u->k; i++) {
        double x = flushed(u->a, number_value(u->a, a[i] & ignored), u->flush_operands);
        double y = flushed(u->b, number_value(u->b, b[i] & ignored), u->flush_operands);
        products[i] = x * y;
        const matrix_normalised n = u->normalised_operands;
        const bool of_a = n == MATRIX_BOTH || n == MATRIX_A_ALONE, of_b = n == MATRIX_BOTH || n == MATRIX_B_ALONE;
        exponents[i] = (of_a && x != 0 ? ilogb(x) : exponent_of(u->a, x)) + (of_b && y != 0 ? ilogb(y) : exponent_of(u->b, y));
        if (u->normalised_products && products[i] != 0)
            exponents[i] = ilogb(products[i]);
    }
    if (u->shape == MATRIX_FUSED) {
        int steps = 1;
        for (unsigned bit = 0; bit < 6; bit++)
            steps *= u->step_mask >> bit & 1 ? 2 : 1;
        for (int s = 0; s < steps; s++) {
            int wanted = u->descending ? steps - 1 - s : s, count = 0;
            for (int i = 0; i < u->k; i++) {
                int number = 0, weight = 1;
                for (int bit = 0; bit < 6; bit++)
                    if (u->step_mask >> bit & 1) {
                        number += weight * (i >> bit & 1);
                        weight *= 2;
                    }
                if (number == wanted) {
                    terms[count] = products[i];
                    used[count++] = exponents[i];
                }
            }
            terms[count] = flushed(u->c, sum, u->flush_addend);
            used[count] = addend_exponent(u, terms[count]);
            sum = step(u, terms, used, count + 1, u->output_bits, u->rounding, u->signed_zero);
        }
    } else if (u->shape == MATRIX_STRANDS) {
        int bits = __builtin_popcount(u->step_mask), strands = 1 << bits;
        double at[MATRIX_LONGEST] = {0};
        for (int n = 0; n < strands; n++)
            for (int i = u->descending ? u->k - 1 : 0; i >= 0 && i < u->k; i += u->descending ? -1 : 1) {
                unsigned number = 0; /* of i's strand, its highest bit first */
                for (int bit = 5; bit >= 0; bit--)
                    if (u->step_mask >> bit & 1)
                        number = number << 1 | ((unsigned)i >> bit & 1);
                if (number != (unsigned)n)
                    continue;
                double two[2] = {products[i], flushed(u->c, at[n], u->flush_addend)};
                int their[2] = {exponents[i], addend_exponent(u, two[1])};
                at[n] = step(u, two, their, 2, u->output_bits, u->rounding, u->signed_zero);
            }
        for (int gap = 1; gap < strands; gap *= 2)
            for (int n = 0; n < strands; n += 2 * gap)
                at[n] = pair(u, at[n], at[n + gap]);
        sum = pair(u, sum, at[0]);
    } else if (u->shape == MATRIX_LARGEST_FIRST) {
        bool done[MATRIX_LONGEST + 1] = {false};
        terms[0] = flushed(u->c, sum, u->flush_addend);
        used[0] = addend_exponent(u, terms[0]);
        int first = 0;
        for (int i = 0; i < u->k; i++) {
            terms[i + 1] = products[i];
            used[i + 1] = exponents[i];
            first = fabs(products[i]) > fabs(terms[first]) ? i + 1 : first;
        }
        sum = step(u, &terms[first], &used[first], 1, u->output_bits, u->rounding, u->signed_zero);
        done[first] = true;
        for (int i = 0; i <= u->k; i++)
            if (!done[i]) {
                double two[2] = {terms[i], flushed(u->c, sum, u->flush_addend)};
                int their[2] = {used[i], addend_exponent(u, two[1])};
                sum = step(u, two, their, 2, u->output_bits, u->rounding, u->signed_zero);
            }
    } else {
        double at[MATRIX_LONGEST];
        for (int i = 0; i < u->k; i++)
            at[i] = step(u, &products[i], &exponents[i], 1, u->output_bits, u->rounding, u->signed_zero);
        for (int gap = 1, distance = u->k / 2; gap < u->k; gap *= 2, distance /= 2)
            if (u->shape == MATRIX_TREE_NEIGHBOURS)
                for (int i = 0; i < u->k; i += 2 * gap)
                    at[i] = pair(u, at[i], at[i + gap]);
            else
                for (int i = 0; i < distance; i++)
                    at[i] = pair(u, at[i], at[i + distance]);
        sum = pair(u, sum, at[0]);
    }
    if (u->addend_apart) {
        matrix_unit last = *u;
        last.alignment = MATRIX_EXACT;
        last.overflow_clamps = false;
        double two[2] = {flushed(u->c, addend, u->flush_addend), flushed(u->c, sum, u->flush_addend)};
        int their[2] = {0, 0};
        sum = step(&last, two, their, 2, number_table[u->c].stored_bits, MATRIX_NEAREST, true);
    }
    return code_of(u, sum);
}

static uint32_t some(number_kind kind, int around, int spread) {
    const number_info *f = &number_table[kind];
    uint32_t code, fraction = (uint32_t)chance() & ((1u << f->stored_bits) - 1);
    if (between(0, 3) == 0)
        fraction = between(0, 1) ? 0 : (1u << f->stored_bits) - 1;
    int exponent = around + between(-spread, spread), lowest = number_lowest_exponent(kind),
        highest = number_highest_exponent(kind);
    if (exponent < lowest) { /* a subnormal or zero */
        int by = lowest - exponent;
        code = by > f->stored_bits ? 0 : (fraction | 1u << f->stored_bits) >> by;
    } else if (!number_make(kind, false, exponent > highest ? highest : exponent, fraction, &code)) {
        code = number_largest(kind);
    }
    return between(0, 1) ? code | number_sign_bit(kind) : code;
}

static void against_the_second_model(void **state) {
    (void)state;
    static const number_kind kinds[] = {NUMBER_F16, NUMBER_BF16, NUMBER_F32, NUMBER_E4M3, NUMBER_E5M2};
    int units = getenv("TILEC_QUICK") ? 60 : 3000;
    for (int n = 0; n < units; n++) {
        matrix_unit u = {.a = kinds[between(0, 4)],
                         .b = kinds[between(0, 4)],
                         .c = between(0, 2) ? NUMBER_F32 : NUMBER_F16,
                         .k = 1 << between(0, 5)};
        u.shape = between(0, 1) ? MATRIX_FUSED : (matrix_shape)between(0, MATRIX_SHAPES - 1);
        u.step_mask = (unsigned)between(0, u.k - 1);
        u.descending = between(0, 1);
        u.addend_apart = between(0, 3) == 0 && u.a != NUMBER_BF16 && u.b != NUMBER_BF16 && u.a != NUMBER_F32 && u.b != NUMBER_F32;
        bool exact = between(0, 3) == 0 || u.addend_apart;
        u.alignment = exact && !u.addend_apart ? MATRIX_EXACT : between(0, MATRIX_MOST_ALIGNMENT);
        u.cut = (matrix_rounding)between(0, MATRIX_ROUNDINGS - 1);
        u.output_bits = between(0, 1) ? number_table[u.c].stored_bits : between(1, number_table[u.c].stored_bits);
        u.rounding = (matrix_rounding)between(0, MATRIX_ROUNDINGS - 1);
        u.lowest_exponent = between(0, 1) ? MATRIX_NO_LOWEST : between(-149, -100);
        u.normalised_products = between(0, 3) == 0;
        u.normalised_operands =
            u.normalised_products || between(0, 2) ? MATRIX_NEITHER : (matrix_normalised)between(1, MATRIX_NORMALISED_COUNT - 1);
        u.normalised_addend = between(0, 3) == 0;
        u.zeros_count = between(0, 3) == 0;
        u.flush_operands = between(0, 3) == 0;
        u.flush_addend = between(0, 3) == 0;
        u.flush_result = between(0, 3) ? MATRIX_KEEP : (matrix_flush)between(0, MATRIX_FLUSHES - 1);
        u.signed_zero = between(0, 1);
        u.overflow_clamps = between(0, 3) == 0;
        assert_null(matrix_unit_fault(&u));
        /* Exact sums must fit the second model's 128 bits: exponents near 0. */
        int around = exact ? 0 : between(0, 2) ? 0 : between(-70, 60), spread = exact ? 7 : between(0, 12);
        for (int dot = 0; dot < 40; dot++) {
            uint32_t a[MATRIX_LONGEST], b[MATRIX_LONGEST];
            for (int i = 0; i < u.k; i++) {
                a[i] = some(u.a, around, spread);
                b[i] = some(u.b, around, spread);
                if (i && between(0, 2) == 0) { /* something cancels */
                    a[i] = a[i - 1] ^ number_sign_bit(u.a);
                    b[i] = b[i - 1];
                }
            }
            uint32_t c =
                between(0, 5) ? some(u.c, exact ? 0 : 2 * around, spread + 4) : number_sign_bit(u.c) * (uint32_t)between(0, 1);
            uint32_t got = matrix_unit_dot(&u, a, b, c), wanted = second_model(&u, a, b, c);
            if (number_decode(u.c, got).class == NUMBER_NAN || isnan(number_value(u.c, wanted)))
                continue; /* infinities that differ in sign, on the way */
            if (got != wanted)
                fail_msg("unit %d dot %d: %s x %s -> %s, k %d shape %d mask %x F %d cut %d bits %d rounding %d apart %d: %08X, "
                         "wanted %08X",
                         n, dot, number_table[u.a].name, number_table[u.b].name, number_table[u.c].name, u.k, u.shape,
                         u.step_mask, u.alignment, u.cut, u.output_bits, u.rounding, u.addend_apart, got, wanted);
        }
    }
}

/* One product after the other, in the processor's own arithmetic. */
static void plain_is_fma(void **state) {
    (void)state;
    matrix_unit u = matrix_unit_plain(NUMBER_BF16, NUMBER_BF16, NUMBER_F32, 8);
    for (int n = 0; n < (getenv("TILEC_QUICK") ? 2000 : 100000); n++) {
        uint32_t a[8], b[8], c = (uint32_t)chance(), wanted;
        float sum;
        memcpy(&sum, &c, 4);
        for (int i = 0; i < 8; i++) {
            a[i] = n % 2 ? (uint16_t)chance() : some(NUMBER_BF16, n % 3 ? 0 : -65, 6);
            b[i] = n % 2 ? (uint16_t)chance() : some(NUMBER_BF16, n % 3 ? 0 : -65, 6);
            sum = fmaf((float)number_value(NUMBER_BF16, a[i]), (float)number_value(NUMBER_BF16, b[i]), sum);
        }
        memcpy(&wanted, &sum, 4);
        assert_true(matrix_unit_agrees(&u, matrix_unit_dot(&u, a, b, c), wanted));
    }
}

/* ---- what an H200 answered ---- */

typedef struct factor {
    double a, b;
    int times;
} factor;
static uint32_t exact(number_kind kind, double value) {
    uint32_t code = 0;
    int exponent;
    double m = frexp(fabs(value), &exponent);
    if (kind == NUMBER_F32 && !isfinite(value))
        return 0x7F800000;
    assert_true(number_encode(kind, signbit(value), (uint64_t)ldexp(m, 40), exponent - 40, &code));
    return code;
}

static uint32_t asked(const char *instruction, uint32_t c, const factor *factors, int from, int gap) {
    const matrix_unit *u = matrix_unit_find("h200", instruction);
    assert_non_null(u);
    uint32_t a[MATRIX_LONGEST] = {0}, b[MATRIX_LONGEST] = {0};
    int at = from;
    for (const factor *f = factors; f->times; f++)
        for (int i = 0; i < f->times; i++, at += gap) {
            assert_in_range(at, 0, u->k - 1);
            a[at] = exact(u->a, f->a);
            b[at] = exact(u->b, f->b);
        }
    return matrix_unit_dot(u, a, b, c);
}
#define ASKED(instruction, c, ...) asked(instruction, exact(NUMBER_F32, c), (const factor[]){__VA_ARGS__, {0, 0, 0}}, 0, 1)

static void rows_of_an_h200(void **state) {
    (void)state;
    const char *f16 = "m16n8k16.f16", *bf16 = "m16n8k16.bf16";
    assert_int_equal(ASKED(f16, 1, {0x1p-12, 0x1p-12, 2}), 0x3F800001);
    assert_int_equal(ASKED(f16, 1, {0x1p-12, 0x1p-13, 4}), 0x3F800001);
    assert_int_equal(ASKED(f16, 1, {0x1p-13, 0x1p-13, 8}), 0x3F800000);
    assert_int_equal(asked(f16, 0x3F800000, (const factor[]){{0x1p-12, 0x1p-13, 4}, {0, 0, 0}}, 0, 4),
                     0x3F800001); /* two in each half */
    for (int sign = -1; sign <= 1; sign += 2)
        assert_int_equal(ASKED(f16, 2.0 * sign, {3 * 0x1p-12 * sign, 0x1p-12, 1}), exact(NUMBER_F32, 2.0 * sign));
    assert_int_equal(ASKED(f16, -1, {1, 1, 1}, {0x1p-12, 0x1p-13, 1}), 0x33000000);
    assert_int_equal(ASKED(f16, -1, {1, 1, 1}, {0x1p-13, 0x1p-13, 1}), 0);
    assert_int_equal(ASKED(f16, 0, {1.5, 1.5, 1}, {-1.5, 1.5, 1}, {0x1p-12, 0x1p-13, 1}), 0x33000000);
    assert_int_equal(ASKED(bf16, 0, {0x1p127, 2, 1}, {-0x1p127, 2, 1}, {1, 1, 1}), 0);
    assert_int_equal(ASKED(bf16, 0, {0x1p-76, 0x1p-76, 8}), 1);
    assert_int_equal(ASKED(bf16, 0, {0x1p-100, 0x1p-49, 1}, {-0x1p-100, 0x1p-59, 1}), 1);
    assert_int_equal(ASKED(bf16, 0, {0x1p-100, 0x1p-49, 1}, {-0x1p-100, 0x1p-58, 1}), 0);
    assert_int_equal(ASKED(bf16, (double)INFINITY, {1, 1, 1}), 0x7F800000);
    assert_int_equal(asked(bf16, 0x7F7FFFFF, (const factor[]){{0x1p104, 1, 1}, {0, 0, 0}}, 0, 1), 0x7F800000);
    assert_int_equal(asked(f16, 0x7F800001, (const factor[]){{1, 1, 1}, {0, 0, 0}}, 0, 1), 0x7FFFFFFF);
    /* The two kinds of fp8. */
    assert_int_equal(ASKED("wgmma.m64n8k32.e4m3", 64, {3 * 0x1p-9, 0x1p-9, 1}), 0x42800000);
    assert_int_equal(ASKED("m16n8k32.e4m3", 64, {3 * 0x1p-9, 0x1p-9, 1}), 0x42800002);
    assert_int_equal(asked("wgmma.m64n8k32.e4m3", 0x3F800001, (const factor[]){{0, 0, 0}}, 0, 1), 0x3F800000);
    assert_int_equal(asked("m16n8k32.e4m3", 0x3F800001, (const factor[]){{0, 0, 0}}, 0, 1), 0x3F800001);
    assert_int_equal(asked("wgmma.m64n8k32.e4m3", 0x3FF, (const factor[]){{0, 0, 0}}, 0, 1), 0);
    /* 16-bit sums. */
    assert_int_equal(asked("m16n8k16.f16.f16", 0x7BFF, (const factor[]){{8, 1, 1}, {0, 0, 0}}, 0, 1), 0x7BFF);
    assert_int_equal(asked("m16n8k16.f16.f16", 0x7BFF, (const factor[]){{16, 1, 1}, {0, 0, 0}}, 0, 1), 0x7C00);
    assert_int_equal(asked("m16n8k16.f16.f16", 0x3C01, (const factor[]){{0x1p-11, 1, 1}, {0, 0, 0}}, 0, 1), 0x3C02);
    assert_int_equal(asked("m16n8k16.f16.f16", 0x3C00, (const factor[]){{3 * 0x1p-12, 1, 1}, {0, 0, 0}}, 0, 1), 0x3C01);
    /* tf32's low bits are not read: a NaN whose fraction lies in them is an infinity. */
    const matrix_unit *tf32 = matrix_unit_find("h200", "m16n8k8.tf32");
    uint32_t a[8] = {0x7F800001}, b[8] = {0x3F800000};
    assert_int_equal(matrix_unit_dot(tf32, a, b, 0), 0x7F800000);
    a[0] = 0x3F801FFF;
    assert_int_equal(matrix_unit_dot(tf32, a, b, 0), 0x3F800000);
    /* Whole numbers wrap. */
    uint32_t x[32] = {0x80}, y[32] = {0x80};
    assert_int_equal(matrix_unit_dot(matrix_unit_find("h200", "m16n8k32.s8"), x, y, 0x7FFFFFFF), 0x7FFFFFFFu + 16384);
    matrix_unit clamped = *matrix_unit_find("h200", "m16n8k32.s8");
    clamped.saturate = true;
    assert_int_equal(matrix_unit_dot(&clamped, x, y, 0x7FFFFFFF), 0x7FFFFFFF);
}

/* 448 + 127 s with 448 first, over four steps of 32 (eight of 16): what each kind of sum keeps. */
static double hostile(const char *instruction, double s) {
    const matrix_unit *u = matrix_unit_find("h200", instruction);
    uint32_t c = 0;
    for (int at = 0; at < 128; at += u->k) {
        uint32_t a[MATRIX_LONGEST], b[MATRIX_LONGEST];
        for (int i = 0; i < u->k; i++) {
            a[i] = exact(u->a, at + i ? s : 448);
            b[i] = exact(u->b, 1);
        }
        c = matrix_unit_dot(u, a, b, c);
    }
    return number_value(u->c, c);
}
static void hostile_sums(void **state) {
    (void)state;
    static const struct {
        const char *instruction;
        double s, sum;
    } cases[] = {{"wgmma.m64n8k32.e4m3", 0x1p-4, 455.9375}, {"m16n8k32.e4m3", 0x1p-4, 455.9375},
                 {"m16n8k16.f16.f16", 0x1p-4, 456},         {"wgmma.m64n8k32.e4m3", 0x1p-6, 448},
                 {"m16n8k32.e4m3", 0x1p-6, 449.984375},     {"m16n8k16.f16.f16", 0x1p-6, 450},
                 {"m16n8k8.f16.f16", 0x1p-6, 448},          {"m16n8k16.f16.f16", 0x1p-5, 452}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(hostile(cases[i].instruction, cases[i].s) == cases[i].sum);
    assert_true(hostile("wgmma.m64n8k32.e4m3", 0x1p-5) == 451.96875); /* 0x43E1FC00 */
    assert_true(hostile("m16n8k32.e4m3", 0x1p-5) == 451.96875);
}

static void formats(void **state) {
    (void)state;
    for (int kind = 0; kind < NUMBER_S8; kind++) {
        uint32_t step = number_table[kind].bytes == 4 ? 0x10001 * 4099u : 1, count = number_table[kind].bytes == 4   ? 40000
                                                                                     : number_table[kind].bytes == 2 ? 65536
                                                                                                                     : 256;
        for (uint32_t n = 0; n < count; n++) {
            uint32_t code = n * step, again;
            number x = number_decode((number_kind)kind, code);
            if (x.class != NUMBER_FINITE)
                continue;
            assert_true(number_encode((number_kind)kind, x.negative, (uint64_t)x.significand, x.place, &again));
            assert_int_equal(again, code);
        }
        uint32_t code;
        assert_false(number_encode((number_kind)kind, false, 1, number_highest_exponent((number_kind)kind) + 1, &code));
        assert_int_equal(number_decode((number_kind)kind, number_largest((number_kind)kind)).class, NUMBER_FINITE);
    }
    assert_true(number_value(NUMBER_E4M3, 0x7E) == 448 && number_value(NUMBER_E5M2, 0x7B) == 57344 &&
                number_value(NUMBER_E4M3, 1) == 0x1p-9);
}

static void faults_are_told(void **state) {
    (void)state;
    matrix_unit good = *matrix_unit_find("h200", "m16n8k16.f16"), u = good;
    assert_null(matrix_unit_fault(&u));
    u.k = 24;
    assert_non_null(matrix_unit_fault(&u));
    u = good, u.alignment = 41;
    assert_non_null(matrix_unit_fault(&u));
    u = good, u.output_bits = 24;
    assert_non_null(matrix_unit_fault(&u));
    u = good, u.step_mask = 16;
    assert_non_null(matrix_unit_fault(&u));
    u = good, u.c = NUMBER_S32;
    assert_non_null(matrix_unit_fault(&u));
    int count;
    const matrix_unit_row *rows = matrix_unit_rows(&count);
    for (int i = 0; i < count; i++)
        assert_null(matrix_unit_fault(&rows[i].unit));
    assert_null(matrix_unit_find("h200", "m16n8k16.f64"));
}

/* Millions of dots are asked of a device: the model must not be what takes the time. */
static void speed(void **state) {
    (void)state;
    const matrix_unit *u = matrix_unit_find("h200", "m16n8k16.f16");
    uint32_t a[64][16], b[64][16], x = 0;
    for (int i = 0; i < 64 * 16; i++) {
        a[i / 16][i % 16] = some(NUMBER_F16, 0, 3);
        b[i / 16][i % 16] = some(NUMBER_F16, 0, 3);
    }
    int count = getenv("TILEC_QUICK") ? 1000 : 1000000;
    clock_t before = clock();
    for (int i = 0; i < count; i++)
        x ^= matrix_unit_dot(u, a[i & 63], b[i * 7 & 63], x & 0x3FFFFFFF);
    print_message("%d dots of 16 in %.3f s (%08X)\n", count, (double)(clock() - before) / CLOCKS_PER_SEC, x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),      cmocka_unit_test(faults_are_told), cmocka_unit_test(rows_of_an_h200),
        cmocka_unit_test(hostile_sums), cmocka_unit_test(plain_is_fma),    cmocka_unit_test(against_the_second_model),
        cmocka_unit_test(speed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
