/* Probes on simulated devices with planted facts: each plant is found, and a device that no unit describes is not explained. */
#include "probe/matrix_units.h"
#include "probe/probe.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct lab {
    arena *arena;
    diag_list diags;
    matrix_finding finding;
} lab;

static bool quick(void) {
    return getenv("TILEC_QUICK") != NULL;
}

static bool find(lab *l, const matrix_box *box) {
    find_options o = {quick() ? 2000 : 10000, 11, 2};
    l->arena = arena_new();
    diag_init(&l->diags, l->arena);
    return matrix_find(l->arena, box, &o, &l->finding, &l->diags);
}

static const matrix_fact *fact(const lab *l, const char *name) {
    for (int i = 0; i < l->finding.facts.count; i++)
        if (!strcmp(l->finding.facts.at[i].row->name, name))
            return &l->finding.facts.at[i];
    fail_msg("no fact %s", name);
    return NULL;
}

/* ---- the model's own plants: what was planted is what is found ---- */

static matrix_unit h200_like(number_kind type, int k) {
    matrix_unit u = *matrix_unit_find("h200", "m16n8k8.f16");
    u.a = u.b = type;
    u.k = k;
    return u;
}

static void expect(const matrix_unit *planted, const matrix_parameter *wanted) {
    simulated_unit s = {.unit = *planted};
    matrix_box box = simulated_box(&s, "planted");
    lab l;
    assert_true(find(&l, &box));
    if (!l.finding.determined)
        fail_msg("not determined: %s", l.finding.why_not);
    for (; *wanted != PARAMETER_COUNT; wanted++)
        if (parameter_get(&l.finding.unit, *wanted) != parameter_get(planted, *wanted))
            fail_msg("%s: found \"%s\", planted \"%s\"", parameter_name(*wanted),
                     parameter_text(l.arena, planted, *wanted, parameter_get(&l.finding.unit, *wanted)),
                     parameter_text(l.arena, planted, *wanted, parameter_get(planted, *wanted)));
    assert_int_equal(l.finding.mismatches, 0);
    arena_free(l.arena);
}

static const matrix_parameter sum[] = {PARAMETER_ORDER,       PARAMETER_ALIGNMENT, PARAMETER_CUT,
                                       PARAMETER_OUTPUT_BITS, PARAMETER_ROUNDING,  PARAMETER_COUNT};

static void planted_sums(void **state) {
    (void)state;
    int k = quick() ? 2 : 4;
    matrix_unit u = h200_like(NUMBER_F16, k);
    expect(&u, sum);
    if (quick()) /* the search is the same for all, and long where every access is watched */
        return;
    u.alignment = 12, u.output_bits = 10; /* a 10-bit accumulator */
    expect(&u, sum);
    u.rounding = MATRIX_NEAREST;
    expect(&u, sum);
    u = h200_like(NUMBER_F16, k), u.cut = MATRIX_NEAREST, u.rounding = MATRIX_NEAREST;
    expect(&u, sum);
    u = h200_like(NUMBER_F16, k), u.cut = MATRIX_DOWN; /* two's complement, cut */
    expect(&u, sum);
    u = h200_like(NUMBER_BF16, k), u.step_mask = 2; /* two halves */
    expect(&u, sum);
    u = h200_like(NUMBER_F16, k), u.step_mask = 1, u.descending = true; /* odd positions, then even ones */
    expect(&u, sum);
    u = h200_like(NUMBER_F16, k), u.shape = MATRIX_TREE_NEIGHBOURS;
    expect(&u, sum);
    u = h200_like(NUMBER_BF16, k), u.shape = MATRIX_LARGEST_FIRST, u.alignment = 24;
    expect(&u, sum);
    u = h200_like(NUMBER_F16, 8), u.shape = MATRIX_STRANDS, u.step_mask = 1; /* even and odd positions apart */
    expect(&u, sum);
    u.step_mask = 4, u.descending = true;
    expect(&u, sum);
    u = h200_like(NUMBER_F16, k), u.alignment = 17, u.output_bits = 15, u.rounding = MATRIX_NEAREST_AWAY;
    expect(&u, sum);
    u = h200_like(NUMBER_F16, 8), u.step_mask = 5; /* steps by two bits of the position that are no neighbours */
    expect(&u, sum);
    u = h200_like(NUMBER_E4M3, k), u.alignment = 13, u.output_bits = 13; /* a native fp8 unit */
    expect(&u, sum);
    u = h200_like(NUMBER_E4M3, k), u.step_mask = 2, u.addend_apart = true; /* fp8 through f16 */
    expect(&u, (const matrix_parameter[]){PARAMETER_ORDER, PARAMETER_ALIGNMENT, PARAMETER_OUTPUT_BITS, PARAMETER_COUNT});
}

static void planted_ends(void **state) {
    (void)state;
    int k = 4;
    if (quick())
        return;
    matrix_unit u = h200_like(NUMBER_BF16, k);
    static const matrix_parameter ends[] = {PARAMETER_FLUSH_OPERANDS,
                                            PARAMETER_FLUSH_ADDEND,
                                            PARAMETER_FLUSH_RESULT,
                                            PARAMETER_LOWEST_EXPONENT,
                                            PARAMETER_NAN,
                                            PARAMETER_SIGNED_ZERO,
                                            PARAMETER_OVERFLOW_CLAMPS,
                                            PARAMETER_NORMALISED_PRODUCTS,
                                            PARAMETER_ZEROS_COUNT,
                                            PARAMETER_COUNT};
    u.flush_operands = u.flush_addend = true, u.flush_result = MATRIX_FLUSH_ROUNDED, u.lowest_exponent = MATRIX_NO_LOWEST;
    expect(&u,
           (const matrix_parameter[]){PARAMETER_FLUSH_OPERANDS, PARAMETER_FLUSH_ADDEND, PARAMETER_FLUSH_RESULT, PARAMETER_COUNT});
    u.flush_result = MATRIX_FLUSH_EXACT,
    u.rounding = MATRIX_NEAREST; /* cut toward zero, a sum is never rounded up to what is normal */
    expect(&u, (const matrix_parameter[]){PARAMETER_FLUSH_RESULT, PARAMETER_COUNT});
    u = h200_like(NUMBER_BF16, k);
    expect(&u, ends);
    u.lowest_exponent = -126, u.overflow_clamps = true, u.signed_zero = true, u.nan = 0x7FC00000;
    expect(&u, ends);
    u = h200_like(NUMBER_BF16, k), u.normalised_products = true;
    expect(&u, ends);
    u = h200_like(NUMBER_BF16, k), u.zeros_count = true, u.flush_addend = true;
    expect(&u, ends);
    u = h200_like(NUMBER_F32, k), u.ignored_bits = 13; /* tf32 */
    expect(&u,
           (const matrix_parameter[]){PARAMETER_IGNORED_BITS, PARAMETER_LOWEST_EXPONENT, PARAMETER_ALIGNMENT, PARAMETER_COUNT});
    u = *matrix_unit_find("h200", "m16n8k8.f16.f16");
    u.k = k;
    expect(&u, sum);
    for (int by_leading_bit = 0; by_leading_bit < 2; by_leading_bit++) {
        u.normalised_addend = by_leading_bit;
        u.lowest_exponent = by_leading_bit ? -21 : -17;
        expect(&u, (const matrix_parameter[]){PARAMETER_NORMALISED_ADDEND, PARAMETER_LOWEST_EXPONENT, PARAMETER_ALIGNMENT,
                                              PARAMETER_COUNT});
    }
    u = *matrix_unit_find("h200", "m16n8k32.s8");
    for (int saturate = 0; saturate < 2; saturate++) {
        u.saturate = saturate;
        expect(&u, (const matrix_parameter[]){PARAMETER_SATURATE, PARAMETER_COUNT});
    }
}

/* ---- devices that share nothing with the model ---- */

typedef enum { CHAIN, TREE, DOUBLES, STRANGE, ADDEND_BETWEEN, FLUSHES_B, ROUNDS_TO_ODD } own_kind;
typedef struct own_device {
    own_kind kind;
    int k;
} own_device;

static bool run_own(void *context, int64_t tiles, const void *a, const void *b, const uint32_t *c, uint32_t *d,
                    diag_list *diags) {
    const own_device *own = context;
    (void)diags;
    for (int64_t t = 0; t < tiles; t++) {
        float x[8], y[8], sum;
        double wide;
        for (int i = 0; i < own->k; i++) {
            x[i] = (float)number_value(NUMBER_BF16, number_load(NUMBER_BF16, a, t * own->k + i));
            y[i] = (float)number_value(NUMBER_BF16, number_load(NUMBER_BF16, b, t * own->k + i));
        }
        memcpy(&sum, &c[t], 4);
        switch (own->kind) {
        case CHAIN:
            for (int i = own->k - 1; i >= 0; i--)
                sum = fmaf(x[i], y[i], sum);
            break;
        case TREE: sum += (x[0] * y[0] + x[1] * y[1]) + (x[2] * y[2] + x[3] * y[3]); break;
        case DOUBLES: /* products and sums in double, one rounding to f32 at the end */
            wide = (double)sum;
            for (int i = 0; i < own->k; i++)
                wide += (double)x[i] * (double)y[i];
            sum = (float)wide;
            break;
        case ADDEND_BETWEEN: /* two products, then c, then the others */
            sum = fmaf(x[3], y[3], fmaf(x[2], y[2], x[0] * y[0] + x[1] * y[1] + sum));
            break;
        case FLUSHES_B: /* and not a */
            for (int i = 0; i < own->k; i++)
                sum = fmaf(x[i], fabsf(y[i]) < 0x1p-126f ? 0 : y[i], sum);
            break;
        case ROUNDS_TO_ODD:
            for (int i = 0; i < own->k; i++) {
                uint32_t code;
                wide = (double)x[i] * (double)y[i] + (double)sum;
                sum = (float)wide;
                memcpy(&code, &sum, 4);
                if (isfinite(sum) && (double)sum != wide)
                    code = (code - (fabs((double)sum) > fabs(wide))) | 1;
                memcpy(&sum, &code, 4);
            }
            break;
        case STRANGE: /* adds one bit when the third product is negative */
            for (int i = 0; i < own->k; i++)
                sum = fmaf(x[i], y[i], sum);
            if (x[2] * y[2] < 0)
                sum *= 1.0000002f;
            break;
        }
        memcpy(&d[t], &sum, 4);
    }
    return true;
}

static void own_devices(void **state) {
    (void)state;
    if (quick())
        return;
    own_device own = {CHAIN, 4};
    matrix_box box = {"own", "own", NUMBER_BF16, NUMBER_BF16, NUMBER_F32, 4, 1, 1, &own, run_own, NULL};
    lab l;
    assert_true(find(&l, &box));
    if (!l.finding.determined) {
        matrix_check c;
        matrix_check_run(&box, &l.finding.unit, 1, 50000, 12, 1, &c, &l.diags);
        fail_msg("%s: %s: 0x%08X, not 0x%08X", l.finding.why_not, question_text(l.arena, &box, &c.first), c.first.answer,
                 matrix_unit_dot(&l.finding.unit, c.first.a, c.first.b, c.first.c));
    }
    assert_int_equal(l.finding.unit.step_mask, 3);
    assert_true(l.finding.unit.descending && l.finding.unit.alignment == MATRIX_EXACT &&
                l.finding.unit.rounding == MATRIX_NEAREST);
    assert_int_equal(l.finding.unit.nan, 0); /* whatever the processor's are */
    assert_true(fact(&l, "order")->evidence.count > 0);
    arena_free(l.arena);
    own.kind = TREE;
    assert_true(find(&l, &box));
    if (!l.finding.determined)
        fail_msg("%s", l.finding.why_not);
    assert_int_equal(l.finding.unit.shape, MATRIX_TREE_NEIGHBOURS);
    arena_free(l.arena);
    own.kind = DOUBLES; /* rounds twice where 53 bits do not hold the sum: no unit of ours */
    assert_true(find(&l, &box));
    assert_false(l.finding.determined);
    assert_int_equal(fact(&l, "alignment")->status, FACT_NOT_DETERMINED);
    arena_free(l.arena);
    own.kind = STRANGE;
    assert_true(find(&l, &box));
    assert_false(l.finding.determined);
    for (int i = 0; i < l.finding.facts.count; i++)
        assert_int_equal(l.finding.facts.at[i].status, FACT_NOT_DETERMINED);
    arena_free(l.arena);
    for (own.kind = ADDEND_BETWEEN; own.kind <= ROUNDS_TO_ODD; own.kind++) { /* no unit of ours either: never told for one */
        assert_true(find(&l, &box));
        assert_false(l.finding.determined);
        arena_free(l.arena);
    }
}

static void a_noisy_device(void **state) {
    (void)state;
    simulated_unit s = {.unit = h200_like(NUMBER_F16, 4), .noise = 997};
    matrix_box box = simulated_box(&s, "noisy");
    lab l;
    assert_true(find(&l, &box));
    assert_false(l.finding.determined);
    assert_true(l.finding.unstable > 0);
    assert_non_null(strstr(l.finding.why_not, "differ when asked again"));
    arena_free(l.arena);
}

static void a_device_that_fails(void **state) {
    (void)state;
    for (int64_t after = 100; after < (quick() ? 200 : 10000); after *= 9) {
        simulated_unit s = {.unit = h200_like(NUMBER_F16, 4), .fails_after = after};
        matrix_box box = simulated_box(&s, "failing");
        lab l;
        assert_false(find(&l, &box));
        assert_false(l.finding.determined);
        assert_int_equal(l.finding.facts.count, 0);
        assert_int_equal(l.diags.errors, 1);
        arena_free(l.arena);
    }
}

/* A model with one parameter a step off is refuted by random dots, unless nothing can tell. */
static void planted_errors(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    simulated_unit s = {.unit = h200_like(NUMBER_BF16, 8)};
    matrix_box box = simulated_box(&s, "right");
    planted_unit plants[PLANT_MOST];
    matrix_unit units[PLANT_MOST + 1];
    matrix_check checks[PLANT_MOST + 1];
    int count = matrix_plants(a, &s.unit, plants);
    assert_in_range(count, 15, PLANT_MOST);
    units[0] = s.unit;
    for (int i = 0; i < count; i++)
        units[i + 1] = plants[i].unit;
    assert_true(matrix_check_run(&box, units, count + 1, quick() ? 2000 : 80000, 5, 2, checks, &diags));
    assert_int_equal(checks[0].mismatches, 0);
    for (int i = 0; i < count && !quick(); i++) {
        matrix_check more = checks[i + 1];
        if (!more.mismatches) /* one dot in 100,000 shows it */
            assert_true(matrix_check_run(&box, &units[i + 1], 1, 1000000, 6, 2, &more, &diags));
        if (!more.mismatches)
            fail_msg("\"%s\" was not noticed", plants[i].name);
    }
    arena_free(a);
}

/* Dots on record tell devices apart, and which published models each is not; units side by side differ where their bits do. */
static void known_dots_and_rivals(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    simulated_unit right = {.unit = *matrix_unit_find("h200", "m16n8k16.f16")}, older = right;
    older.unit.alignment = 24;
    older.unit.step_mask = 8;
    known_finding known;
    probe_target t = {.box = simulated_box(&right, "m16n8k16.f16")};
    assert_true(known_dots(a, &t, &known, &diags));
    assert_true(known.asked >= 10 && known.as_recorded == known.asked);
    assert_non_null(strstr(known.verdict, "refuted: \"products added one after the other"));
    assert_non_null(strstr(known.verdict, "24 bits (said of A100)\" ("));
    t.box = simulated_box(&older, "m16n8k16.f16");
    assert_true(known_dots(a, &t, &known, &diags));
    assert_true(known.as_recorded < known.asked);
    assert_null(strstr(known.verdict, "24 bits (said of A100)\" ("));
    assert_non_null(strstr(known.verdict, "not refuted by them: \"8 products at a time cut to 24 bits (said of A100)\""));
    t.box = simulated_box(&right, "of no row");
    assert_true(known_dots(a, &t, &known, &diags));
    assert_int_equal(known.asked, 0);

    matrix_box one = simulated_box(&right, "one"), other = simulated_box(&older, "other");
    compare_finding found;
    assert_true(compare_boxes(a, &one, &one, "beside itself", false, 256, 3, &found, &diags));
    assert_int_equal(found.differ, 0);
    assert_non_null(strstr(found.verdict, "the same bits in all 2048"));
    assert_true(compare_boxes(a, &one, &other, "beside another", false, 256, 3, &found, &diags));
    assert_true(found.differ > 100 && found.differ < found.dots);
    assert_true(compare_boxes(a, &one, &one, "c that is read", true, 256, 3, &found, &diags));
    assert_true(found.differ > 100);
    assert_int_equal(diags.errors, 0);
    right.fails_after = right.asked + 5;
    assert_false(compare_boxes(a, &one, &other, "beside another", false, 256, 3, &found, &diags));
    right.asked = 0, right.fails_after = 3;
    t.box = one;
    t.box.instruction = "m16n8k16.f16";
    assert_false(known_dots(a, &t, &known, &diags));
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(planted_sums),         cmocka_unit_test(planted_ends),
                                       cmocka_unit_test(own_devices),          cmocka_unit_test(a_noisy_device),
                                       cmocka_unit_test(a_device_that_fails),  cmocka_unit_test(planted_errors),
                                       cmocka_unit_test(known_dots_and_rivals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
