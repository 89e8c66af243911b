/* The simulator as a device takes proved plans and host arrays like any runtime; a plan's witness runs the variant that holds there. */
#include "run/run.h"
#include "sim/sim.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static const target_limits limits = {
    .target = "c", .private_bytes = 1 << 20, .threads_per_block = 1, .index_bits = 64, .largest_extent = INT32_MAX};

#define WHOLE                                                                                                                    \
    "kernel double_all {\n symbol N\n task (t < floor(N / 8))\n global in x: f32[N] argument 0\n global out y: f32[N] argument " \
    "1\n"                                                                                                                        \
    " assume (N mod 8) == 0\n store y[8 * t:8] <- add(x[8 * t:8], x[8 * t:8])\n}\n"
#define RAGGED                                                                                                                   \
    "kernel double_all {\n symbol N\n task (t < floor((N + 7) / 8))\n global in x: f32[N] argument 0\n"                          \
    " global out y: f32[N] argument 1\n store y[8 * t:8] active N - 8 * t <- add(x[8 * t:8] active N - 8 * t, x[8 * t:8] "       \
    "active N - 8 * t)\n}\n"

static kernel_ir *parse(arena *a, const char *text, diag_list *diags) {
    diag_init(diags, a);
    kernel_ir *k = kernel_parse(a, "test.kir", text, diags);
    if (!k || !kernel_check(k, diags)) {
        diag_print_all(diags, stderr, false);
        fail();
    }
    return k;
}

/* Two variants: whole when 8 divides N, else `other`. */
static launch_plan *two_variants(arena *a, const char *other, diag_list *diags) {
    launch_plan *p = NEW(a, launch_plan);
    p->name = "double_all";
    plan_variant v[2] = {{.kernel = parse(a, WHOLE, diags)}, {.kernel = parse(a, other, diags)}};
    for (int i = 0; i < 2; i++) {
        index_expr *n = ix_var(a, v[i].kernel->symbols.at[0]);
        cond *divides = cond_compare(a, COND_EQ, ix_mod(a, n, ix_const(a, 8)), ix_const(a, 0));
        v[i].predicate = i ? cond_not(a, divides) : divides;
        VEC_PUSH(a, p->variants, v[i]);
    }
    return p;
}

static void a_proved_plan_runs(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    launch_plan *plan = two_variants(a, RAGGED, &diags);
    proof verdicts;
    const proved_plan *proved = prove_plan(a, plan, &limits, &verdicts, &diags);
    if (!proved) {
        diag_print_all(&diags, stderr, false);
        fail_msg("the plan is not proved");
    }
    int index;
    const runtime *r = runtime_find("sim", &index, &diags);
    assert_non_null(r);
    assert_true(r->simulated && r->host_memory);
    device *d = r->open(index, &diags);
    device_kernel *k = r->load(d, proved, &diags);
    assert_non_null(k);
    for (int64_t n = 0; n <= 17; n++) {
        float x[17], y[17];
        for (int i = 0; i < 17; i++) {
            x[i] = (float)i;
            y[i] = NAN;
        }
        void *arrays[] = {x, y};
        assert_true(r->launch(d, k, arrays, &n, NULL, &diags));
        for (int i = 0; i < 17; i++)
            assert_true(i < n ? y[i] == 2 * (float)i : isnan(y[i]));
    }
    float both[16] = {0};
    void *overlapping[] = {both, both + 4};
    int64_t n = 8;
    assert_false(r->launch(d, k, overlapping, &n, NULL, &diags));
    assert_string_equal(diags.items.at[diags.items.count - 1]->code, "E0605");
    r->unload(d, k);
    r->close(d);
    arena_free(a);
}

static void a_witness_runs_the_variant_that_holds(void **state) {
    (void)state;
    static const char broken[] = "kernel double_all {\n symbol N\n task (t < floor((N + 7) / 8))\n global in x: f32[N] argument "
                                 "0\n global out y: f32[N] argument 1\n"
                                 " store y[8 * t:8] <- add(x[8 * t:8], x[8 * t:8])\n}\n";
    arena *a = arena_new();
    diag_list diags;
    launch_plan *plan = two_variants(a, broken, &diags);
    sim_report report;
    assert_true(sim_witness_plan(a, plan, "N = 16", NULL, &report, &diags));
    assert_int_equal(report.tasks, 2);
    assert_false(sim_witness_plan(a, plan, "N = 17, t = 2", NULL, &report, &diags));
    assert_true(report.findings.count > 0);
    assert_int_equal(report.findings.at[0].kind, SIM_BOUNDS);
    assert_false(sim_witness_plan(a, plan, "N = seventeen", NULL, &report, &diags));
    assert_int_equal(report.findings.count, 0);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_proved_plan_runs),
        cmocka_unit_test(a_witness_runs_the_variant_that_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
