/* Random kernels of a few threads with shared memory, loops, guards, barriers and copies, against the simulator: what is proved never
 * misbehaves in small launches, and what is refuted misbehaves at its witness. TILEC_RANDOM_KERNELS=5000 runs more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "prove/prove.h"
#include "sim/sim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct maker {
    uint64_t random;
    text_buffer text;
    int loops, depth, statements;
    bool copies, partial;
} maker;

static int pick(maker *m, int n) {
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (int)(m->random >> 20) % n < 0 ? 0 : (int)((m->random >> 20) % (uint64_t)n);
}

/* A cell of shared memory of 12 cells, by four threads 2 * g + l. */
static void cell(maker *m) {
    int loop = m->loops ? pick(m, m->loops) : -1;
    switch (pick(m, loop >= 0 ? 9 : 5)) {
    case 0:
    case 1: text_add(&m->text, "2 * g + l"); break;
    case 2: text_add(&m->text, "3 - 2 * g - l"); break;
    case 3: text_add(&m->text, "%d + l", pick(m, 9)); break;
    case 4: text_add(&m->text, "%d", pick(m, 12)); break;
    case 5: text_add(&m->text, "4 * (i%d mod 2) + 2 * g + l", loop); break;
    case 6: text_add(&m->text, "4 * (i%d + 1 mod 2) + 3 - 2 * g - l", loop); break;
    case 7: text_add(&m->text, "4 * (i%d mod 3) + 2 * g + l", loop); break;
    default: text_add(&m->text, "min(i%d, 8) + 2 * g + l", loop); break;
    }
}

static void indent(maker *m) {
    text_add(&m->text, "%*s", 4 + 4 * m->depth, "");
}

static void condition(maker *m) {
    static const char *const conditions[] = {"l == 0", "g == 0", "1 <= l", "2 * g + l < N",
                                             "1 <= N", "2 <= N", "g == l", "2 * g + l < 3"};
    text_add(&m->text, "%s", conditions[pick(m, 8)]);
}

static void statements(maker *m, int count);

static void barrier(maker *m) {
    indent(m);
    int which = m->partial ? pick(m, 12) : 0;
    text_add(&m->text, "%s\n",
             which < 8     ? "barrier block orders shared"
             : which == 8  ? "barrier subgroup orders shared"
             : which == 9  ? "barrier block orders global"
             : which == 10 ? "barrier block orders shared by l == 0"
                           : "barrier block orders shared by g == 0");
}

static void statement(maker *m) {
    m->statements++;
    switch (pick(m, 12)) {
    case 0:
    case 1:
    case 2:
        indent(m);
        text_add(&m->text, "store s[");
        cell(m);
        text_add(&m->text, "] <- %s\n", pick(m, 2) ? "v[]" : "x[2 * g + l]");
        break;
    case 3:
    case 4:
        indent(m);
        text_add(&m->text, "store v[] <- s[");
        cell(m);
        text_add(&m->text, "]\n");
        break;
    case 5:
    case 6:
    case 7: barrier(m); break;
    case 8:
        if (m->depth >= 2)
            break;
        indent(m);
        text_add(&m->text, "if ");
        condition(m);
        text_add(&m->text, " {\n");
        m->depth++;
        statements(m, 1 + pick(m, 2));
        m->depth--;
        indent(m);
        text_add(&m->text, "}\n");
        break;
    case 9:
    case 10: {
        static const char *const ranges[] = {"0 .. N", "0 .. 2", "0 .. N step 2", "1 .. N", "0 .. l + 1", "l .. 4 step 2"};
        if (m->depth >= 2 || m->loops >= 2)
            break;
        indent(m);
        text_add(&m->text, "for i%d in %s {\n", m->loops, ranges[pick(m, 6)]);
        m->depth++;
        m->loops++;
        statements(m, 2 + pick(m, 3));
        m->loops--;
        m->depth--;
        indent(m);
        text_add(&m->text, "}\n");
        break;
    }
    default:
        indent(m);
        if (!m->copies) {
            text_add(&m->text, "store s[2 * g + l] <- v[]\n");
        } else if (pick(m, 3)) {
            text_add(&m->text, "copy_async s[");
            cell(m);
            text_add(&m->text, "] <- x[2 * g + l] box [1]\n");
            indent(m);
            text_add(&m->text, "commit\n");
        } else {
            text_add(&m->text, "wait_async %d\n", pick(m, 2));
        }
    }
}

static void statements(maker *m, int count) {
    for (int i = 0; i < count; i++)
        statement(m);
}

static char *make(uint64_t seed) {
    maker m = {.random = seed * 0x9E3779B97F4A7C15u + 88172645463325252u};
    for (int i = 0; i < 8; i++)
        pick(&m, 2);
    m.copies = pick(&m, 3) == 0;
    m.partial = pick(&m, 3) == 0;
    text_add(&m.text, "kernel random {\n    symbol N\n    task (t < 1)\n    subgroup (g < 2)\n    lane (l < 2)\n    global in x: "
                      "f32[4]\n    shared s: f32[12]\n"
                      "    register v: f32[]\n    store v[] <- 0:f32\n");
    if (pick(&m, 4))
        text_add(&m.text, "    for z in 0 .. 3 {\n        store s[4 * z + 2 * g + l] <- 0:f32\n    }\n%s%s",
                 m.copies ? "    fence block orders shared proxy\n" : "", pick(&m, 6) ? "    barrier block orders shared\n" : "");
    statements(&m, 2 + pick(&m, 5));
    text_add(&m.text, "}\n");
    char *text = strdup(text_get(&m.text));
    text_free(&m.text);
    return text;
}

static bool misbehaves(arena *a, const kernel_ir *k, const char *witness, diag_list *diags, int seeds) {
    for (int i = 0; i < seeds; i++) {
        sim_report report;
        sim_options options = {.seed = (uint64_t)i * 77};
        sim_witness(a, k, witness, &options, &report, diags);
        if (report.findings.count)
            return true;
    }
    return false;
}

static void test_random_threads(void **state) {
    (void)state;
    const char *wish = getenv("TILEC_RANDOM_KERNELS");
    int kernels = wish ? atoi(wish) : getenv("TILEC_QUICK") ? 60 : 300, proved = 0, refuted = 0, open = 0;
    double slowest = 0;
    for (int i = 0; i < kernels; i++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        char *text = make((uint64_t)i + 1);
        kernel_ir *k = kernel_parse(a, "random.kir", text, &diags);
        assert_non_null(k);
        target_limits limits = {"sim", 1 << 20, 1 << 16, 1024, 64, (int64_t)1 << 31, true};
        proof p;
        bool fine = prove_kernel(a, k, &limits, &p, &diags), wrong = false;
        slowest = p.milliseconds > slowest ? p.milliseconds : slowest;
        if (!p.items.count) { /* refused by the checker */
            free(text);
            arena_free(a);
            continue;
        }
        proved += fine;
        refuted += !fine && p.refuted;
        open += !fine && !p.refuted;
        if (fine)
            for (int n = 0; n < 6 && !wrong; n++) {
                char witness[32];
                snprintf(witness, sizeof witness, "N = %d", n);
                wrong = misbehaves(a, k, witness, &diags, 3);
                if (wrong)
                    fprintf(stderr, "kernel %d is proved, but misbehaves when %s\n", i + 1, witness);
            }
        for (int j = 0; j < p.items.count && !wrong; j++) {
            const proof_item *t = &p.items.at[j];
            if (t->verdict == VERDICT_UNKNOWN && !p.refuted)
                fprintf(stderr, "kernel %d: %s of %s is not proved: %s\n", i + 1, t->property, t->subject, t->explanation);
            if (t->verdict != VERDICT_REFUTED || misbehaves(a, k, t->witness, &diags, 6))
                continue;
            wrong = true;
            fprintf(stderr, "kernel %d: %s of %s refuted when %s (%s), but nothing is seen\n", i + 1, t->property, t->subject,
                    t->witness, t->explanation);
        }
        if (wrong) {
            diag_print_all(&diags, stderr, false);
            fprintf(stderr, "%s", text);
        }
        assert_false(wrong);
        free(text);
        arena_free(a);
    }
    fprintf(stderr, "%d kernels of threads: %d proved, %d refuted, %d open; slowest %.0f ms\n", kernels, proved, refuted, open,
            slowest);
    assert_true(proved > kernels / 20 && refuted > kernels / 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
