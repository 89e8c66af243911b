/* Conversions of simulated devices: every planted rule is found; a wrong answer, a device that fails. The rule itself against the compiler's own conversions. */
#include "probe/conversion.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static bool find(simulated_conversion s, number_kind from, number_kind to, int kept, conversion_finding *out, char text[600]) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    conversion_box box = simulated_conversion_box(&s, from, to, kept);
    box.context = &s;
    s.box = &box;
    bool good = conversion_find(a, &box, out, &diags);
    assert_int_equal(good, !diags.errors);
    snprintf(text, 600, "%s", good ? out->verdict : "");
    arena_free(a);
    return good;
}

static void plants_are_found(void **state) {
    (void)state;
    int step = getenv("TILEC_QUICK") ? 11 : 1; /* a sample of the plants */
    static const struct {
        number_kind from, to;
        int kept;
    } pairs[] = {{NUMBER_F16, NUMBER_E4M3, 3}, {NUMBER_F16, NUMBER_E5M2, 2}, {NUMBER_BF16, NUMBER_F16, 10}};
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
        for (int r = 0; r < CONVERT_ROUNDINGS; r++)
            for (int flags = (int)(p + (size_t)r) * 5 % step; flags < 8; flags += step) {
                conversion_rule rule = {(conversion_rounding)r, flags & 1, (flags & 2) != 0, (flags & 4) != 0};
                conversion_finding f;
                char text[600];
                assert_true(
                    find((simulated_conversion){.rule = rule, .nan = 0x7F}, pairs[p].from, pairs[p].to, pairs[p].kept, &f, text));
                assert_true(f.determined);
                conversion_box box = {.from = pairs[p].from, .to = pairs[p].to, .kept_bits = pairs[p].kept};
                for (uint32_t code = 0; code < 1 << 16; code += 7) /* rules that no value tells apart are as good */
                    if (number_decode(box.from, code).class == NUMBER_FINITE)
                        assert_int_equal(conversion_apply(&box, &f.rule, code), conversion_apply(&box, &rule, code));
                assert_non_null(strstr(text, "NaN gives 0x7F"));
            }
}

static void verdicts(void **state) {
    (void)state;
    conversion_finding f;
    char text[600];
    assert_true(
        find((simulated_conversion){.rule = {CONVERT_TO_EVEN, false, false, false}}, NUMBER_F16, NUMBER_F32, 23, &f, text));
    assert_string_equal(text, "exact; subnormals are read; NaN keeps its sign and upper bits, made quiet; +infinity gives "
                              "0x7F800000, -infinity 0xFF800000");
    assert_true(find((simulated_conversion){.rule = {CONVERT_TO_EVEN, true, false, false}, .nan = 0x7F, .wrong = 4001},
                     NUMBER_F16, NUMBER_E4M3, 3, &f, text));
    assert_false(f.determined);
    assert_non_null(strstr(text, "no rule explains the answers"));
    assert_false(find((simulated_conversion){.nan = 1, .fails_after = 300}, NUMBER_F16, NUMBER_E4M3, 3, &f, text));
}

/* Of f32 by double's arithmetic, whose conversion to float the language defines, at every exponent. */
static void rounding_is_right(void **state) {
    (void)state;
    conversion_box box = {.from = NUMBER_F32, .to = NUMBER_BF16, .kept_bits = 7};
    conversion_rule even = {CONVERT_TO_EVEN, false, false, false};
    for (uint32_t top = 0; top < 0x7F80; top += getenv("TILEC_QUICK") ? 37 : 1)
        for (uint32_t low = 0; low < 0x10000; low += 0x3FFF) {
            uint32_t code = top << 16 | low, rounded = code + 0x7FFF + (code >> 16 & 1); /* the well-known addition */
            if (conversion_apply(&box, &even, code) != rounded >> 16)
                fail_msg("0x%X gives 0x%X", code, conversion_apply(&box, &even, code));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plants_are_found), cmocka_unit_test(verdicts),
                                       cmocka_unit_test(rounding_is_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
