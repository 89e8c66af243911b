/* Kernels that must be found to misbehave in a given way, or not at all; shared by the tests of the simulator. */
#ifndef TILEC_TEST_SIM_TRIALS_H
#define TILEC_TEST_SIM_TRIALS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/sim.h"
#include <stdio.h>
#include <string.h>

enum {
    CLEAN = -1,
    REFUSED = -2,
    MISBEHAVES = -3
}; /* beside the kinds of findings; MISBEHAVES: how depends on the threads' turns */

typedef struct trial {
    const char *name, *bindings;
    int expected;
    const char *in_message; /* a part of the finding's message or of its threads; NULL: any */
    const char *text;
} trial;

static const char *const kind_words[] = {"bounds",   "unwritten", "race",   "barrier",      "divergence",
                                         "stuck",    "uncovered", "twice",  "contribution", "unasked",
                                         "overflow", "range",     "layout", "async",        "steps"};

static inline void show(const diag_list *d, const char *name, const char *what) {
    fprintf(stderr, "%s: %s\n", name, what);
    diag_print_all(d, stderr, false);
}

/* A run in order and three interleaved at random must agree on what a kernel does wrong. */
static inline void run_trial(const trial *t, sim_options options) {
    static const uint64_t seeds[] = {0, 1, 7, 12345};
    for (size_t s = 0; s < sizeof seeds / sizeof *seeds; s++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        kernel_ir *k = kernel_parse(a, t->name, t->text, &diags);
        if (!k)
            show(&diags, t->name, "does not parse");
        assert_non_null(k);
        options.seed = seeds[s];
        sim_report report;
        bool clean = sim_witness(a, k, t->bindings, &options, &report, &diags);
        if (t->expected == CLEAN) {
            if (!clean)
                show(&diags, t->name, "should be clean");
            assert_true(clean);
            assert_int_equal(report.findings.count, 0);
            assert_true(report.finished);
        } else if (t->expected == REFUSED) {
            assert_false(clean);
            assert_int_equal(report.findings.count, 0);
            assert_true(diags.errors > 0);
            bool told = false;
            for (int i = 0; i < diags.items.count; i++)
                told = told || strstr(diags.items.at[i]->message, t->in_message);
            if (!told)
                show(&diags, t->name, "refused for another reason");
            assert_true(told);
        } else if (t->expected == MISBEHAVES) {
            assert_false(clean);
            assert_true(report.findings.count > 0);
        } else {
            assert_false(clean);
            bool found = false;
            for (int i = 0; i < report.findings.count; i++) {
                const sim_finding *f = &report.findings.at[i];
                found =
                    found || (f->kind == (sim_kind)t->expected && (!t->in_message || strstr(f->message, t->in_message) ||
                                                                   (f->thread && strstr(f->thread, t->in_message)) ||
                                                                   (f->other_thread && strstr(f->other_thread, t->in_message))));
                assert_true(f->span.line > 0);
            }
            if (!found) {
                fprintf(stderr, "%s (seed %d): no finding of kind %s with `%s`\n", t->name, (int)seeds[s],
                        kind_words[t->expected], t->in_message ? t->in_message : "");
                show(&diags, t->name, "found instead");
            }
            assert_true(found);
            assert_int_equal(diags.errors, report.findings.count);
        }
        arena_free(a);
    }
}

static inline void run_trials(const trial *t, size_t count) {
    for (size_t i = 0; i < count; i++)
        run_trial(&t[i], (sim_options){.zeros = true});
}
#define RUN(trials) run_trials(trials, sizeof trials / sizeof *trials)
#endif
