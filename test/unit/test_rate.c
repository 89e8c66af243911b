/* Speeds of simulated devices: a format of its own unit, one that is emulated, a noisy machine, a device that fails. */
#include "bench/power.h"
#include "probe/probe.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Multiply-adds a second, which fall from sample to sample as a card that gets warm; `noise`: every third sample takes so much longer. */
typedef struct simulated_rate {
    double own, twin, noise;
    int samples, fails_at;
    double scalar, legacy, watts, scalar_watts; /* watts: while each runs; 0: nobody tells */
} simulated_rate;

static bool sample(void *context, rate_of which, double *per_second, diag_list *diags) {
    simulated_rate *s = context;
    if (++s->samples == s->fails_at) {
        diag_error(diags, "E0859", (source_span){0}, "the simulated device fails");
        return false;
    }
    *per_second = (which == RATE_TWIN     ? s->twin
                   : which == RATE_SCALAR ? s->scalar
                   : which == RATE_LEGACY ? s->legacy
                                          : s->own) *
                  (1 - 0.002 * s->samples) / (s->samples % 3 ? 1 : 1 + s->noise);
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

static bool sustain(void *context, rate_of which, double *per_second, double *watts, diag_list *diags) {
    simulated_rate *s = context;
    *watts = which == RATE_SCALAR ? s->scalar_watts : s->watts;
    return sample(context, which, per_second, diags);
}

static void expect_place(simulated_rate s, bool determined, bool in_matrix_unit, const char *verdict, const char *evidence) {
    arena *a = arena_new();
    probe_target t = {.rate = sample,
                      .sustained = sustain,
                      .twin = "m16n8k16.f16",
                      .legacy = s.legacy > 0 ? "m16n8k16.f16" : NULL,
                      .context = &s};
    rate_finding f = {0};
    diag_list diags;
    diag_init(&diags, a);
    assert_true(place_probe(a, &t, &f, &diags));
    if (f.determined != determined || f.accelerated != in_matrix_unit || !strstr(f.verdict, verdict))
        fail_msg("%s", f.verdict);
    bool found = false;
    for (int i = 0; i < f.evidence.count; i++)
        found = found || strstr(f.evidence.at[i], evidence);
    assert_true(found);
    arena_free(a);
}

/* A matrix unit; an instruction made of the threads' own; one that is fast and dear, which no single signal would tell; a device that tells no watts. */
static void places(void **state) {
    (void)state;
    expect_place((simulated_rate){.own = 495e12, .scalar = 33e12, .legacy = 330e12, .watts = 600, .scalar_watts = 450}, true,
                 true, "in the matrix unit", "times those of m16n8k16.f16");
    expect_place((simulated_rate){.own = 31e12, .scalar = 33e12, .watts = 440, .scalar_watts = 450}, true, false,
                 "in the threads' own units", "440 W");
    expect_place((simulated_rate){.own = 100e12, .scalar = 33e12, .watts = 700, .scalar_watts = 200}, false, false,
                 "not determined", "700 W");
    expect_place((simulated_rate){.own = 495e12, .scalar = 33e12}, true, true, "in the matrix unit",
                 "does not tell what the device draws");
    arena *a = arena_new();
    simulated_rate s = {.own = 1, .scalar = 1, .fails_at = 4};
    probe_target t = {.rate = sample, .sustained = sustain, .context = &s};
    rate_finding f = {0};
    diag_list diags;
    diag_init(&diags, a);
    assert_false(place_probe(a, &t, &f, &diags));
    assert_int_equal(diags.errors, 1);
    arena_free(a);
}

static void write_number(const char *folder, const char *file, const char *text) {
    char path[192];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Counters of two packages, one of which goes round; and a machine that tells nothing. */
static void energy_counters(void **state) {
    (void)state;
    char root[] = "/tmp/test-power-XXXXXX", packages[2][64];
    power_meter m;
    assert_non_null(mkdtemp(root));
    assert_false(power_begin(&m, root));
    assert_non_null(strstr(m.why_not, "no RAPL counters"));
    for (int n = 0; n < 2; n++) {
        snprintf(packages[n], sizeof packages[n], "%s/intel-rapl:%d", root, n);
        assert_int_equal(mkdir(packages[n], 0700), 0);
        write_number(packages[n], "name", "package\n");
    }
    assert_false(power_begin(&m, root));
    assert_non_null(strstr(m.why_not, "superuser"));
    for (int n = 0; n < 2; n++) {
        write_number(packages[n], "energy_uj", "9000000\n");
        write_number(packages[n], "max_energy_range_uj", "10000000\n");
    }
    assert_true(power_begin(&m, root));
    write_number(packages[0], "energy_uj", "9500000\n");
    write_number(packages[1], "energy_uj", "2000000\n");
    assert_true(power_end(&m) > 3.49 && power_end(&m) < 3.51); /* 0.5 and 3 J */
    static const char *const files[] = {"name", "energy_uj", "max_energy_range_uj"};
    for (int n = 0; n < 2; n++) {
        for (int i = 0; i < 3; i++) {
            char path[192];
            snprintf(path, sizeof path, "%s/%s", packages[n], files[i]);
            unlink(path);
        }
        if (!n)
            assert_true(power_end(&m) < 0);
        rmdir(packages[n]);
    }
    rmdir(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(speeds), cmocka_unit_test(energy_counters), cmocka_unit_test(places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
