/* Rows that registers hold: which kernels have forms that read them once, for which lengths, what is kept and what is said of the others; that the prover
 * sees when a form's `where` is forgotten or the lengths overlap. Values: test_lanes, and test/run/cuda.sh. */
#include "compile.h"
#include "tile/hold.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define ROWS(first, between, second)                                                                                             \
    "kernel f(x: f32[R, C], w: f32[C], u: f32[R, D]) -> (y: f32[R, C]) {\n"                                                      \
    "    for tile y[r: BR, ..] {\n"                                                                                              \
    "        s: f32[r] = 0\n"                                                                                                    \
    "        " first "\n"                                                                                                        \
    "        " between "\n"                                                                                                      \
    "        " second "\n"                                                                                                       \
    "    }\n"                                                                                                                    \
    "}\n"

static void fail_with(const diag_list *diags, const char *what) {
    diag_print_all(diags, stderr, false);
    fail_msg("%s", what);
}

static const tile_kernel *kernel_of(arena *a, const char *text, tile_module **m, diag_list *diags) {
    *m = compile_load(a, "x.tile", text, diags);
    if (!*m)
        fail_with(diags, text);
    return (*m)->kernels.at[0];
}

static void what_has_no_form(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        {ROWS("for c: BC in C { s += sum[c](x[r, c]) }", "q = s / C", "for c: BC in C { y[r, c] = x[r, c] - q }"), NULL},
        {ROWS("for c: BC in C { s += sum[c](x[r, c]) }", "q = s / C", "for c: BC in C { y[r, c] = w[c] - q }"),
         "its loops share no reads"},
        {ROWS("", "q = s", "for c: BC in C { y[r, c] = x[r, c] - q }"), "it goes over its rows once"},
        {ROWS("for d: BD in D { s += sum[d](u[r, d]) }", "q = s", "for c: BC in C { y[r, c] = x[r, c] - q }"),
         "its loops go over different extents"},
        {ROWS("for c: BC in C where c <= r { s += sum[c](x[r, c]) }", "q = s", "for c: BC in C { y[r, c] = x[r, c] - q }"),
         "the elements of a loop have a predicate"},
        {ROWS("for c: 64 in C { s += sum[c](x[r, c]) }", "q = s", "for c: BC in C { y[r, c] = x[r, c] - q }"),
         "the tiles of a loop carry meaning"},
        {ROWS("for c: BC in C { s += x[r, c] @ w[c] }", "q = s", "for c: BC in C { y[r, c] = x[r, c] - q }"),
         "a loop has products"},
        {ROWS("for c: BC in C { for d: BD in D { s += sum[c](sum[d](x[r, c] * u[r, d])) } }", "q = s",
              "for c: BC in C { y[r, c] = x[r, c] - q }"),
         "a loop has loops within"},
        {"kernel f(x: f32[C, R]) -> (y: f32[C, R]) {\n"
         "    for tile y[.., r: BR] {\n"
         "        s: f32[r] = 0\n"
         "        for c: BC in C { s += sum[c](x[c, r]) }\n"
         "        for c: BC in C { y[c, r] = x[c, r] / s }\n"
         "    }\n"
         "}\n",
         "rows are not contiguous in memory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        tile_module *m;
        const tile_kernel *k = kernel_of(a, rows[i].text, &m, &diags);
        const char *why = NULL;
        const tile_held *h = tile_hold(a, k, &why);
        if (!h != !!rows[i].why || (why && strcmp(why, rows[i].why)))
            fail_msg("%s: %s, not %s", rows[i].text, why ? why : "held", rows[i].why ? rows[i].why : "held");
        arena_free(a);
    }
}

/* The form passes the checker, and its text reads back. */
static void forms_print_and_parse(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    tile_module *m;
    const char *why;
    const tile_kernel *k = kernel_of(a,
                                     ROWS("for c: BC in C { s += sum[c](exp(x[r, c])) }", "q = s + 1",
                                          "for c: BC in C { y[r, c] = exp(x[r, c]) / q + x[r, c] }"),
                                     &m, &diags);
    tile_held *h = tile_hold(a, k, &why);
    assert_non_null(h);
    assert_int_equal(h->kept, 2); /* x, and exp(x) */
    tile_hold_size(h, 96);
    if (!tile_check(h->kernel, &diags))
        fail_with(&diags, "the checker");
    text_buffer one = {0}, two = {0};
    tile_print_kernel(&one, h->kernel);
    assert_non_null(strstr(text_get(&one), "range c: 96 in C whole held"));
    assert_non_null(strstr(text_get(&one), "where C <= 96"));
    assert_null(strstr(text_get(&one), "for c"));
    tile_module *again = tile_parse(a, "one", text_get(&one), &diags);
    if (!again)
        fail_with(&diags, text_get(&one));
    tile_print_kernel(&two, again->kernels.at[0]);
    assert_string_equal(text_get(&one), text_get(&two));
    text_free(&one);
    text_free(&two);
    arena_free(a);
}

static bool compile(arena *a, const char *text, const schedule_setting *settings, int count, compiled_kernel *c,
                    diag_list *diags) {
    tile_module *m;
    const tile_kernel *k = kernel_of(a, text, &m, diags);
    const compile_options o = {
        .target = target_find("cuda"), .settings = settings, .setting_count = count, .sample_statics = true};
    return compile_kernel(a, m, k, &o, c, diags);
}

static bool says(const compiled_kernel *c, const char *what) {
    for (int i = 0; i < c->lowered.routes.count; i++)
        if (strstr(c->lowered.routes.at[i], what))
            return true;
    return false;
}

static const char spread[] =
    ROWS("for c: BC in C { s += sum[c](x[r, c]) }", "q = s / C", "for c: BC in C { y[r, c] = x[r, c] - q }");

static void schedules_decide(void **state) {
    (void)state;
    static const struct {
        const char *key, *value;
        int forms;
        int64_t most[2];
        const char *said;
    } rows[] = {
        {NULL, NULL, 2, {1024, 8192}, "variant 1: rows of at most 1024 `c` are read once"},
        {"BC", "512", 0, {0}, "rows are read again by each loop: the tiles of its loops are given"},
        {"subgroups", "2", 2, {1024, 2048}, "variant 2: blocks of 64 threads in 2 subgroups"},
        {"BR", "2", 2, {512, 4096}, NULL},
        {"BR", "64", 0, {0}, "rows are read again by each loop: a task has too many rows"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        compiled_kernel c;
        const schedule_setting s = {.key = rows[i].key, .value = rows[i].value};
        if (!compile(a, spread, &s, rows[i].key != NULL, &c, &diags))
            fail_with(&diags, rows[i].key ? rows[i].key : "no setting");
        assert_int_equal(c.rows.count, rows[i].forms);
        assert_int_equal(c.lowered.plan->variants.count, 1 + rows[i].forms);
        for (int f = 0; f < c.rows.count; f++)
            assert_int_equal(c.rows.at[f].most, rows[i].most[f]);
        if (rows[i].said && !says(&c, rows[i].said))
            fail_msg("not said: %s", rows[i].said);
        arena_free(a);
    }
}

/* Rows of constant length have one form, for every launch, or none. */
static void constant_lengths(void **state) {
    (void)state;
    static const struct {
        const char *value;
        int forms;
        bool own_rows;
    } rows[] = {{"100", 1, true}, {"1024", 1, true}, {"1025", 1, false}, {"8192", 1, false}, {"8193", 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        compiled_kernel c;
        const char *text = arena_printf(a,
                                        "kernel f(x: f32[R, C]) -> (y: f32[R, C]) static C = %s {\n"
                                        "    for tile y[r: BR, ..] {\n"
                                        "        s: f32[r] = 0\n"
                                        "        for c: BC in C { s += sum[c](x[r, c]) }\n"
                                        "        for c: BC in C { y[r, c] = x[r, c] / s }\n"
                                        "    }\n"
                                        "}\n",
                                        rows[i].value);
        if (!compile(a, text, NULL, 0, &c, &diags))
            fail_with(&diags, rows[i].value);
        assert_int_equal(c.rows.count, rows[i].forms);
        assert_int_equal(c.lowered.plan->variants.count, 1);
        assert_null(c.lowered.plan->variants.at[0].predicate);
        if (c.rows.count)
            assert_int_equal(c.rows.at[0].own_rows, rows[i].own_rows);
        arena_free(a);
    }
}

static bool refuted(const proof *p, const char *property) {
    for (int i = 0; i < p->items.count; i++)
        if (p->items.at[i].verdict == VERDICT_REFUTED && !strcmp(p->items.at[i].property, property))
            return true;
    return false;
}

/* Lengths that overlap or leave a gap, and a form at lengths that its registers do not hold. */
static void broken_plans_are_refuted(void **state) {
    (void)state;
    for (int how = 0; how < 3; how++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        compiled_kernel c;
        proof p;
        if (!compile(a, spread, NULL, 0, &c, &diags))
            fail_with(&diags, "the kernel");
        plan_variant *v = c.lowered.plan->variants.at;
        if (how == 0) /* the loops at any length */
            v[0].predicate = NULL;
        if (how == 1) /* nothing for the shortest */
            v[1].predicate = cond_and(a, v[1].predicate, cond_compare(a, COND_LT, ix_const(a, 3), v[1].predicate->x));
        if (how == 2) { /* the subgroup's form for the block's rows too */
            v[1].predicate = cond_compare(a, COND_LE, v[1].predicate->x, ix_const(a, 8192));
            v[2].predicate = cond_and(a, v[2].predicate, cond_not(a, v[1].predicate));
        }
        diag_list quiet;
        diag_init(&quiet, a);
        assert_null(prove_plan(a, c.lowered.plan, target_find("cuda")->limits(), &p, &quiet));
        assert_true(refuted(&p, "launch plan"));
        if (how == 2) { /* and without its `where` the cells behind the registers are missed */
            v[1].kernel->assumptions.count = v[1].aligned->assumptions.count = 0;
            v[1].aligned = NULL;
            assert_null(prove_plan(a, c.lowered.plan, target_find("cuda")->limits(), &p, &quiet));
            assert_true(refuted(&p, "coverage"));
        }
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_has_no_form), cmocka_unit_test(forms_print_and_parse),
                                       cmocka_unit_test(schedules_decide), cmocka_unit_test(constant_lengths),
                                       cmocka_unit_test(broken_plans_are_refuted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
