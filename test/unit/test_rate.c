/* Speeds of simulated devices: a format of its own unit, one that is emulated, a noisy machine, a device that fails. */
#include "probe/probe.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

/* Multiply-adds a second, which fall from sample to sample as a card that gets warm; `noise`: every third sample takes so much longer. */
typedef struct simulated_rate {
    double own, twin, noise;
    int samples, fails_at;
} simulated_rate;

static bool sample(void *context, bool twin, double *per_second, diag_list *diags) {
    simulated_rate *s = context;
    if (++s->samples == s->fails_at) {
        diag_error(diags, "E0859", (source_span){0}, "the simulated device fails");
        return false;
    }
    *per_second = (twin ? s->twin : s->own) * (1 - 0.002 * s->samples) / (s->samples % 3 ? 1 : 1 + s->noise);
    return true;
}

static rate_finding ask(arena *a, number_kind kind, simulated_rate s, bool wanted) {
    probe_target t = {.rate = sample, .twin = "m16n8k16.f16", .context = &s};
    rate_finding found;
    diag_list diags;
    diag_init(&diags, a);
    t.box.a = kind;
    assert_int_equal(rate_probe(a, &t, &found, &diags), wanted);
    assert_int_equal(diags.errors, !wanted);
    return found;
}

static void speeds(void **state) {
    (void)state;
    arena *a = arena_new();
    rate_finding f = ask(a, NUMBER_E4M3, (simulated_rate){.own = 1.94e15, .twin = 0.98e15}, true);
    assert_true(f.determined && f.accelerated);
    assert_non_null(strstr(f.verdict, "accelerated: 1.98 times the multiply-adds of m16n8k16.f16, where 2 would be all"));
    f = ask(a, NUMBER_E4M3, (simulated_rate){.own = 0.48e15, .twin = 0.98e15}, true); /* two halves and conversions */
    assert_true(f.determined && !f.accelerated);
    f = ask(a, NUMBER_E4M3, (simulated_rate){.own = 1.4e15, .twin = 0.98e15}, true); /* under 1.5 */
    assert_true(f.determined && !f.accelerated);
    f = ask(a, NUMBER_F32, (simulated_rate){.own = 0.49e15, .twin = 0.98e15}, true); /* tf32: half as many */
    assert_true(f.determined && f.accelerated);
    f = ask(a, NUMBER_E4M3, (simulated_rate){.own = 1.94e15, .twin = 0.98e15, .noise = 0.5}, true);
    assert_true(!f.determined && !f.accelerated);
    assert_non_null(strstr(f.verdict, "the machine is noisy"));
    ask(a, NUMBER_E4M3, (simulated_rate){.own = 1, .twin = 1, .fails_at = 5}, false);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(speeds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
