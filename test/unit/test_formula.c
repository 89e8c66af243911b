/* Formulas of manifests: values from arithmetic, refusals, and texts of every length and depth. */
#include "bench/formula.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static bool lookup(void *context, const char *name, int64_t *value) {
    (void)context;
    *value = !strcmp(name, "N")          ? 100
             : !strcmp(name, "M")        ? -7
             : !strcmp(name, "max_rows") ? 3
             : !strcmp(name, "big")      ? INT64_MAX
                                         : 0;
    return *value != 0;
}

static bool evaluate(const char *text, int64_t *value, char *why) {
    arena *a = arena_new();
    const char *said = NULL;
    bool good = formula_evaluate(a, text, lookup, NULL, value, &said);
    assert_int_equal(good, said == NULL);
    if (said)
        strncat(strcpy(why, ""), said, 200);
    arena_free(a);
    return good;
}

static void values(void **state) {
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {{"7", 7},
                {" 2 + 3 * 4 ", 14},
                {"(2 + 3) * 4", 20},
                {"10 - 3 - 2", 5},
                {"-N + 1", -99},
                {"2 - -3", 5},
                {"floor((N + 63) / 64)", 2},
                {"floor((N + 63) / 64) * floor((5 + 63) / 64)", 2},
                {"M / 2", -4}, /* down, not toward zero */
                {"(M mod 4)", 1},
                {"M % 4", 1},
                {"ceildiv(N, 64)", 2},
                {"ceildiv(128, 64)", 2},
                {"ceildiv(M, 2)", -3},
                {"min(N, 3) + max(M, 2)", 5},
                {"max(0, max_rows)", 3},
                {"N <= 100", 1},
                {"N < 100", 0},
                {"N >= 101", 0},
                {"N > M and N == 100", 1},
                {"N != 100 or M == -7", 1},
                {"not N == 100", 0},
                {"not not (N == 100)", 1},
                {"(N <= 100 and M < 0) and N mod 16 == 4", 1},
                {"true and false", 0}};
    char why[256];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = -12345;
        if (!evaluate(rows[i].text, &value, why))
            fail_msg("%s: %s", rows[i].text, why);
        if (value != rows[i].value)
            fail_msg("%s gives %lld", rows[i].text, (long long)value);
    }
}

static void refusals(void **state) {
    static const char *const rows[][2] = {{"", "too early"},
                                          {"N +", "too early"},
                                          {"(N", "missing"},
                                          {"N)", "left over"},
                                          {"N N", "left over"},
                                          {"min(N)", "missing"},
                                          {"floor N", "missing"},
                                          {"Z + 1", "`Z`"},
                                          {"minimum", "`minimum`"},
                                          {"N / 0", "not positive"},
                                          {"N mod -3", "not positive"},
                                          {"ceildiv(N, 0)", "not positive"},
                                          {"big + 1", "64 bits"},
                                          {"big * 2", "64 bits"},
                                          {"ceildiv(big, 1) + big", "64 bits"},
                                          {"99999999999999999999", "64 bits"},
                                          {"system(\"x\")", "system"},
                                          {"$", "no formula"}};
    char why[256];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value;
        if (evaluate(rows[i][0], &value, why))
            fail_msg("`%s` is taken", rows[i][0]);
        if (!strstr(why, rows[i][1]))
            fail_msg("`%s`: %s", rows[i][0], why);
    }
}

static void depth(void **state) {
    static char text[100001];
    static const char *const deep[] = {"(", "-", "not ", "min(", "floor("};
    char why[256];
    int64_t value;
    (void)state;
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        size_t n = strlen(deep[i]);
        memset(text, 0, sizeof text);
        for (size_t at = 0; at + n < sizeof text; at += n)
            memcpy(text + at, deep[i], n);
        assert_false(evaluate(text, &value, why));
    }
    text[0] = 0;
    for (int i = 0; i < 1000; i++)
        strcat(text, i ? "+1" : "1");
    assert_true(evaluate(text, &value, why));
    assert_int_equal(value, 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(refusals), cmocka_unit_test(depth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
