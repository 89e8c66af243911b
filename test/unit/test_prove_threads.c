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
    bool copies, together, partial; /* together: copies by the block */
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

/* Mostly the same place in all threads, since they must name one. */
static void block_copy(maker *m) {
    int loop = m->loops ? pick(m, m->loops) : -1, first = pick(m, 9), count = 1 + pick(m, 4);
    char place[32], box[32];
    if (loop >= 0 && pick(m, 2))
        snprintf(place, sizeof place, "4 * (i%d mod 2)", loop);
    else
        snprintf(place, sizeof place, pick(m, 8) ? "%d" : "%d + l", first);
    snprintf(box, sizeof box, pick(m, 4) ? "%d" : pick(m, 4) ? "min(N, %d)" : "%d - l", count);
    if (pick(m, 3))
        text_add(&m->text, "copy_async s[%s] <- x[0] box [%s] by block\n", place, box);
    else
        text_add(&m->text, "copy_async y[%d] <- s[%s] box [%s] by block\n", pick(m, 2) * 4, place, box);
    indent(m);
    text_add(&m->text, "commit\n");
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
        } else if (m->together) {
            if (pick(m, 2))
                block_copy(m);
            else
                text_add(&m->text, "wait_async %d by block\n", pick(m, 2));
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
    m.together = m.copies && pick(&m, 2);
    m.partial = pick(&m, 3) == 0;
    text_add(&m.text, "kernel random {\n    symbol N\n    task (t < 1)\n    subgroup (g < 2)\n    lane (l < 2)\n    global in x: "
                      "f32[4]\n    global update y: f32[8] rewritable\n    shared s: f32[12]\n"
                      "    register v: f32[]\n    store v[] <- 0:f32\n");
    if (pick(&m, 4))
        text_add(&m.text, "    for z in 0 .. 3 {\n        store s[4 * z + 2 * g + l] <- 0:f32\n    }\n%s%s",
                 m.copies && !m.together ? "    fence block orders shared proxy\n" : "",
                 pick(&m, 6) ? "    barrier block orders shared\n" : "");
    statements(&m, 2 + pick(&m, 5));
    text_add(&m.text, "}\n");
    char *text = strdup(text_get(&m.text));
    text_free(&m.text);
    return text;
}

/* Evenly, 0 .. n - 1. */
static int roll(maker *m, int n) {
    pick(m, 2);
    return (int)((m->random >> 20) % (uint64_t)n);
}

static const char *one_of(maker *m, const char *const *texts, int count) {
    return texts[roll(m, count)];
}

/* What the tile's threads know of the place that they fill. */
static void tile_condition(maker *m) {
    static const char *const conditions[] = {"2 * e + g < N",
                                             "e < N",
                                             "g == 0",
                                             "l == 0",
                                             "l == 1 and g == l",
                                             "4 * l + e < N",
                                             "l <= g",
                                             "e == 1",
                                             "g < min(N, 2)",
                                             "not N <= 2 * e + g",
                                             "2 * e + g < n",
                                             "2 * e + g <= n",
                                             "2 * e + g <= 2 * l",
                                             "l == 0 and l == 1"};
    text_add(&m->text, "%s", one_of(m, conditions, 14));
}

/* A vector of the tile, or the same cells by statements of their own, of which one may be missing or stand elsewhere. */
static void tile_store(maker *m, const char *row, const char *column, int lanes, const char *active, bool single) {
    int wrong = roll(m, 6) ? -1 : roll(m, lanes), by = roll(m, 3);
    for (int i = 0; single && i < lanes; i++)
        if (i != wrong || by)
            text_add(&m->text, "    store s[%s, %s + %d] <- x[4 * l]\n", row, column, i == wrong ? i + by - 1 : i);
    if (!single)
        text_add(&m->text, "    store s[%s, %s:%d]%s <- %s\n", row, column, lanes, active,
                 lanes == 4 ? "x[4 * l:4]" : "x[4 * l:2]");
}

/* A tile of 4 x 8 cells that the four threads (or two loops of a single one) fill together, each its part, with something put slightly wrong, or not, and
 * then read. */
static char *make_tile(uint64_t seed) {
    static const char *const rows[] = {"2 * e + g", "e", "e + 2 * g", "g", "3 * e + g", "2 * e + l", "(k0 mod 2) + 2 * e"},
                             *const columns[] = {"4 * l", "4 * g", "4 * l", "4 * l + e", "2 * l", "4 * l + 2 * e", "0"},
                             *const read_rows[] = {"k", "k", "2 * g + l", "2 * k0 + g", "(k0 mod 2)", "n - 1", "2 * l"},
                             *const read_columns[] = {"4 * l + j", "j + 4 * g", "j", "j + 4", "2 * l + j"},
                             *const reads[] = {"0 .. 4", "0 .. min(N, 4)", "0 .. n", "0 .. 2", "N .. 4"};
    maker m = {.random = seed * 0x9E3779B97F4A7C15u + 88172645463325252u};
    for (int i = 0; i < 20; i++)
        roll(&m, 2);
    bool guarded = roll(&m, 2), both = guarded && roll(&m, 2);
    int lanes = roll(&m, 8) < 7 ? 4 : 2, common = roll(&m, 16);
    bool loops = roll(&m, 3) < 1;
    const char *threads = loops ? "    for g in 0 .. 2 {\n    for l in 0 .. 2 {\n" : "", *end = loops ? "    }\n    }\n" : "";
    const char *row = rows[roll(&m, 4) < 3 ? 0 : roll(&m, 7)], *column = columns[roll(&m, 4) < 3 ? 0 : roll(&m, 7)];
    text_buffer *t = &m.text;
    text_add(t,
             "kernel random {\n    symbol N\n    task (t < 1)\n%s    global in x: f32[64]\n"
             "    %s s: f32[5, 10]\n    register v: f32[]\n    store v[] <- 0:f32\n",
             loops ? "" : "    subgroup (g < 2)\n    lane (l < 2)\n", loops ? "private" : "shared");
    text_add(t, "    for k0 in 0 .. N %s {\n    let n = min(4, N - k0)\n", roll(&m, 2) ? "step 4" : "step 1");
    if (common > 13)
        text_add(t, "    if %s {\n", common == 14 ? "k0 < 3" : loops ? "k0 + 1 < N" : "l < N");
    text_add(t, "%s    for e in 0 .. %d {\n", threads, roll(&m, 8) < 7 ? 2 : 1 + roll(&m, 3));
    if (guarded) {
        text_add(t, "    if ");
        tile_condition(&m);
        text_add(t, " {\n");
    }
    bool masked = roll(&m, 4) == 3;
    for (int branch = 0; branch <= both; branch++) {
        text_add(t, "%s", branch ? "    } else {\n" : "");
        tile_store(&m, branch && roll(&m, 4) == 3 ? "g" : row, column, lanes, masked && !branch ? " active N - 4 * l" : "",
                   !masked && roll(&m, 3) < 1);
    }
    text_add(t, "%s    }\n%s%s%s", guarded ? "    }\n" : "", end,
             !loops && roll(&m, 20) < 19 ? "    barrier block orders shared\n" : "", threads);
    text_add(t, "    for k in %s {\n    for j in 0 .. %d {\n    store v[] <- s[%s, %s]\n    }\n    }\n", one_of(&m, reads, 5),
             masked && roll(&m, 2) < 1 ? 1 : 4, read_rows[roll(&m, 3) < 2 ? 0 : roll(&m, 7)], one_of(&m, read_columns, 5));
    text_add(t, "%s%s%s    }\n}\n", end, !loops && roll(&m, 20) < 19 ? "    barrier block orders shared\n" : "",
             common > 13 ? "    }\n" : "");
    char *text = strdup(text_get(t));
    text_free(t);
    return text;
}

/* A ring of slots, each a tile of 2 x 8 cells that eight threads fill by copies or stores some steps ahead, with something put slightly wrong, or not. Ids
 * of threads are taken apart in it. */
static char *make_ring(uint64_t seed) {
    static const char *const rows[] = {"g", "floor(l / 2)", "(l mod 2)", "floor((2 * l + g) / 4)", "0"},
                             *const columns[] = {"2 * l", "4 * (l mod 2) + 2 * g", "4 * floor(l / 2) + 2 * g",
                                                 "2 * ((2 * l + g) mod 4)", "2 * (l mod 2)"},
                             *const read_rows[] = {"g", "1 - g", "(l mod 2)", "i", "floor(l / 2)"},
                             *const read_columns[] = {"2 * l + i", "7 - 2 * l", "i", "floor(l / 2) + 4 * i"};
    maker m = {.random = seed * 0x9E3779B97F4A7C15u + 88172645463325252u};
    for (int i = 0; i < 20; i++)
        roll(&m, 2);
    bool copies = roll(&m, 3) > 0, first = roll(&m, 10)<9, last = roll(&m, 4) < 1, early = roll(&m, 4)> 0;
    int ahead = 1 + roll(&m, 2), slots = ahead + (roll(&m, 6) < 5 || ahead == 1), left = ahead - 1 + (roll(&m, 10) == 0),
        which = roll(&m, 5), guard = roll(&m, 12);
    const char *row = rows[which], *column = columns[roll(&m, 8) < 7 ? which : roll(&m, 5)],
               *commit = copies ? "    commit\n" : "", *verb = copies ? "copy_async" : "store";
    text_buffer *t = &m.text, tile = {0}, fill = {0};
    text_add(t,
             "kernel random {\n    symbol N\n    task (t < 1)\n    subgroup (g < 2)\n    lane (l < 4)\n    global in x: f32[64]\n"
             "    shared s: f32[%d, 2, 8]\n    register v: f32[]\n    store v[] <- 0:f32\n",
             slots);
    text_add(&tile, copies ? "%s, %s] <- x[8 * g + 2 * l] box [1, 1, 2]\n" : "%s, %s:2] <- x[8 * g + 2 * l:2]\n", row, column);
    text_add(t, "    for a in 0 .. %d {\n    if a < N {\n    %s s[a, %s    }\n%s    }\n", ahead, verb, text_get(&tile), commit);
    text_add(&fill, "    if %s {\n    %s s[(k + %d mod %d), %s    }\n%s",
             guard == 0   ? "k < N"
             : guard == 1 ? "1 <= k"
                          : "next < N",
             verb, ahead, slots, text_get(&tile), commit);
    text_add(t, "    for k in 0 .. N {\n    let next = k + %d\n", ahead);
    if (copies)
        text_add(t, "    wait_async %d\n", left);
    text_add(t, "%s%s", first ? "    barrier block orders shared\n" : "", early ? text_get(&fill) : "");
    text_add(t, "    for i in 0 .. 2 {\n    store v[] <- s[(k mod %d), %s, %s]\n    }\n", slots, one_of(&m, read_rows, 5),
             one_of(&m, read_columns, 4));
    text_add(t, "%s%s    }\n}\n", last ? "    barrier block orders shared\n" : "", early ? "" : text_get(&fill));
    char *text = strdup(text_get(t));
    text_free(t);
    text_free(&tile);
    text_free(&fill);
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

static void try_random(const char *what, char *(*make_text)(uint64_t seed), int usual) {
    const char *wish = getenv("TILEC_RANDOM_KERNELS");
    int kernels = wish ? atoi(wish) : getenv("TILEC_QUICK") ? usual / 12 : usual, proved = 0, refuted = 0, open = 0;
    double slowest = 0;
    for (int i = 0; i < kernels; i++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        char *text = make_text((uint64_t)i + 1);
        kernel_ir *k = kernel_parse(a, "random.kir", text, &diags);
        if (!k)
            diag_print_all(&diags, stderr, false);
        assert_non_null(k);
        target_limits limits = {.target = "sim",
                                .private_bytes = 1 << 20,
                                .shared_bytes = 1 << 16,
                                .threads_per_block = 1024,
                                .index_bits = 64,
                                .largest_extent = (int64_t)1 << 31,
                                .has_lanes = true};
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
    fprintf(stderr, "%d %s: %d proved, %d refuted, %d open; slowest %.0f ms\n", kernels, what, proved, refuted, open, slowest);
    assert_true(proved > kernels / 20 && refuted > kernels / 5);
}

static void test_random_threads(void **state) {
    (void)state;
    try_random("kernels of threads", make, 240);
}

static void test_random_tiles(void **state) {
    (void)state;
    try_random("tiles filled by threads together", make_tile, 300);
}

static void test_random_rings(void **state) {
    (void)state;
    try_random("rings filled ahead", make_ring, 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_threads), cmocka_unit_test(test_random_tiles),
                                       cmocka_unit_test(test_random_rings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
