/* The hand-written texts are proved; twins with one thing broken are refuted with a given witness, at which the simulator sees them
 * misbehave. Defects met in real kernels, written anew, are refuted, and proved once mended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "prove/prove.h"
#include "prove/sets.h"
#include "sim/sim.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct twin {
    const char *file, *from, *to, *property, *subject, *witness;
} twin;
static const twin twins[] = {
#include "prove_twins.h"
};

static char *read_text(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "test/kernel-ir/%s", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fprintf(stderr, "no file %s\n", path);
    assert_non_null(f);
    char *text = calloc(1, 1 << 16);
    assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    return text;
}

static char *changed(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    if (!at)
        fprintf(stderr, "no `%s` in\n%s\n", from, text);
    assert_non_null(at);
    char *all = calloc(1, strlen(text) + strlen(to) + 1);
    memcpy(all, text, (size_t)(at - text));
    strcat(all, to);
    strcat(all, at + strlen(from));
    return all;
}

static bool proved(arena *a, const char *name, const char *text, int bits, kernel_ir **k, proof *p) {
    diag_list diags;
    diag_init(&diags, a);
    *k = kernel_parse(a, name, text, &diags);
    if (!*k)
        diag_print_all(&diags, stderr, false);
    assert_non_null(*k);
    target_limits limits = {.target = "sim",
                            .private_bytes = 1 << 20,
                            .shared_bytes = 232448,
                            .threads_per_block = 1024,
                            .index_bits = bits,
                            .largest_extent = (int64_t)1 << 31,
                            .has_lanes = true};
    return prove_kernel(a, *k, &limits, p, &diags);
}

/* Under sanitizers and valgrind a sample has to do. */
static bool quick(void) {
    return getenv("TILEC_QUICK") != NULL;
}

static void show(const char *name, const proof *p) {
    fprintf(stderr, "%s:\n", name);
    for (int i = 0; i < p->items.count; i++) {
        const proof_item *t = &p->items.at[i];
        if (t->verdict != VERDICT_PROVED)
            fprintf(stderr, "  %s of %s: %s, %s (%s)\n", t->property, t->subject, verdict_names[t->verdict],
                    t->explanation ? t->explanation : "", t->witness ? t->witness : "");
    }
}

/* Whether some order of the threads misbehaves at the witness. */
static bool misbehaves(const kernel_ir *k, const char *witness) {
    static const uint64_t seeds[] = {0, 1, 7, 12345};
    bool found = false;
    for (int i = 0; i < 4 && !found; i++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        sim_report report;
        sim_options options = {.seed = seeds[i]};
        sim_witness(a, k, witness ? witness : "", &options, &report, &diags);
        found = report.findings.count > 0;
        arena_free(a);
    }
    return found;
}

static void test_texts_are_proved(void **state) {
    (void)state;
    DIR *d = opendir("test/kernel-ir");
    assert_non_null(d);
    int count = 0, met = 0;
    double slowest = 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n < 5 || strcmp(e->d_name + n - 4, ".kir"))
            continue;
        if (quick() && met++ % 20)
            continue;
        arena *a = arena_new();
        kernel_ir *k;
        proof p;
        char *text = read_text(e->d_name);
        bool fine = proved(a, e->d_name, text, 64, &k, &p);
        if (!fine)
            show(e->d_name, &p);
        assert_true(fine);
        slowest = p.milliseconds > slowest ? p.milliseconds : slowest;
        int broken = 0;
        for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
            broken += !strcmp(twins[i].file, e->d_name);
        if (broken < 3)
            fprintf(stderr, "%s has %d broken twins\n", e->d_name, broken);
        assert_true(broken >= 3);
        count++;
        free(text);
        arena_free(a);
    }
    closedir(d);
    fprintf(stderr, "%d texts proved, the slowest in %.0f ms\n", count, slowest);
    assert_true(count >= (quick() ? 2 : 21));
}

static void test_twins_are_refuted(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i += quick() ? 200 : 1) {
        const twin *t = &twins[i];
        arena *a = arena_new();
        char *text = read_text(t->file), *broken = changed(text, t->from, t->to);
        kernel_ir *k;
        proof p;
        bool fine = proved(a, t->file, broken, 64, &k, &p), found = false;
        if (fine)
            fprintf(stderr, "%s with `%s` for `%s` is proved\n", t->file, t->to, t->from);
        assert_false(fine);
        for (int j = 0; j < p.items.count; j++) {
            const proof_item *x = &p.items.at[j];
            if (x->verdict != VERDICT_REFUTED)
                continue;
            bool same = t->property && !strcmp(x->property, t->property) && !strcmp(x->subject, t->subject) &&
                        !strcmp(x->witness ? x->witness : "", t->witness);
            found = found || same;
            bool true_alarm = misbehaves(k, x->witness);
            if (!true_alarm)
                fprintf(stderr, "%s with `%s` for `%s`: the simulator sees nothing wrong when %s\n", t->file, t->to, t->from,
                        x->witness);
            assert_true(true_alarm);
        }
        found = found || !t->property;
        if (!found) {
            fprintf(stderr, "expected: %s of %s (%s)\n", t->property, t->subject, t->witness);
            show(t->file, &p);
        }
        assert_true(found);
        free(text);
        free(broken);
        arena_free(a);
    }
}

static void test_defects(void **state) {
    (void)state;
    DIR *d = opendir("test/kernel-ir/defects");
    assert_non_null(d);
    int broken = 0, mended = 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n < 5 || strcmp(e->d_name + n - 4, ".kir"))
            continue;
        char name[300];
        snprintf(name, sizeof name, "defects/%s", e->d_name);
        bool wide = strstr(name, "32bit") != NULL, good = strstr(name, "_mended") != NULL;
        arena *a = arena_new();
        kernel_ir *k;
        proof p;
        char *text = read_text(name);
        bool fine = proved(a, name, text, wide ? 32 : 64, &k, &p);
        if (fine != good)
            show(name, &p);
        assert_int_equal(fine, good);
        assert_true(good || p.refuted > 0);
        for (int i = 0; i < p.items.count && !wide; i++) /* 2^31 elements are too many to run */
            if (p.items.at[i].verdict == VERDICT_REFUTED)
                assert_true(misbehaves(k, p.items.at[i].witness));
        broken += !good;
        mended += good;
        free(text);
        arena_free(a);
    }
    closedir(d);
    assert_true(broken >= 10);
    assert_int_equal(broken, mended);
}

typedef struct trial {
    const char *text;
    bool proved;
} trial;

static void try_all(const trial *trials, size_t count) {
    for (size_t i = 0; i < count; i++) {
        arena *a = arena_new();
        kernel_ir *k;
        proof p;
        bool fine = proved(a, "uncertain", trials[i].text, 64, &k, &p);
        if (fine != trials[i].proved) {
            fprintf(stderr, "%s\n", trials[i].text);
            show("uncertain", &p);
        }
        assert_int_equal(fine, trials[i].proved);
        arena_free(a);
    }
}

/* Where what decides is not affine, or data, nothing is proved of the barrier behind it. */
static void test_uncertain_barriers(void **state) {
    (void)state;
#define EXCHANGE(before, after)                                                                                                  \
    "kernel k { symbol N, M task (t < 1) lane (l < 8) global in x: f32[8] global out y: f32[8] shared s: f32[8]\n"               \
    "store s[l] <- x[l]\n" before " barrier block orders shared " after " store y[l] <- s[7 - l] }"
    static const trial trials[] = {
        {EXCHANGE("", ""), true},
        {EXCHANGE("if N * M <= 4 {", "}"), false},
        {EXCHANGE("if l * N <= 4 {", "}"), false},
        {EXCHANGE("if_value lt(x[0], 1:f32) {", "}"), false},
        {EXCHANGE("if_value lt(x[l], 1:f32) {", "}"), false},
        {EXCHANGE("loop { break when N <= 4", "break }"), false},
        {EXCHANGE("for i in 0 .. N {", "}"), false},
        {EXCHANGE("for i in 0 .. N + 1 {", "}"), true},
        {EXCHANGE("for i in 0 .. N + 1 { if_value lt(x[0], 1:f32) { break }", "}"), false},
        {"kernel k { symbol N task (t < 1) lane (l < 8) global in x: f32[8] global out y: f32[8] shared s: f32[8]\n"
         "if_value lt(x[0], 1:f32) { store s[l] <- x[l] barrier block orders shared store y[l] <- s[7 - l] } else { store y[l] "
         "<- x[l] } }",
         true},
        {"kernel k { symbol N, M task (t < 1) lane (l < 8) global in x: f32[8] global out y: f32[8] shared s: f32[8]\n"
         "store y[l] <- x[l] if N * M <= 4 { store s[l] <- x[l] barrier block orders shared let v: f32 = s[7 - l] } }",
         true},
        {"kernel k { symbol N task (t < 1) lane (l < 8) global in x: f32[8] global out y: f32[1] register v: f32[]\n"
         "store v[] <- x[l] for m in 0 .. 3 unroll { store v[] <- add(v[], shuffle_xor(v[], shl(1:index, index(m)))) }\n"
         "if l == 0 { store y[0] <- v[] } }",
         true},
        /* lane xor 32 is none of the subgroup */
        {"kernel k { task (t < 1) lane (l < 32) global in x: f32[32] global out y: f32[1] register v: f32[]\n"
         "store v[] <- x[l] for m in 0 .. 6 unroll { store v[] <- add(v[], shuffle_xor(v[], shl(1:index, index(m)))) }\n"
         "if l == 0 { store y[0] <- v[] } }",
         false},
        /* task 1, whose barriers would order the two, may be another block's */
        {"kernel k { symbol blocks task (i0 < 3) subgroup (g < 2) lane (l < 2) grid blocks global out y: f32[3, 2, 2] shared s: "
         "f32[1]\n"
         "assume 1 <= blocks if g == 1 and l == 0 { store s[0] <- 0:f32 } barrier block orders shared\n"
         "tasks n { if i0 == 0 and g == 0 and l == 1 { store s[0] <- 1:f32 }\n"
         "if i0 == 1 { barrier subgroup orders shared if l == 0 { barrier block orders shared by l == 0 } }\n"
         "if i0 == 2 and g == 1 and l == 0 { store y[i0, g, l] <- s[0] } else { store y[i0, g, l] <- 0:f32 } } }",
         false},
    };
    try_all(trials, sizeof trials / sizeof *trials);
}

/* Conditions on values from memory that exclude each other where both are of one cell: lane 0, whose cell others read, writes nothing below them. */
static void test_conditions_that_exclude(void **state) {
    (void)state;
#define CELLS(first, between, second)                                                                                            \
    "kernel k { task (t < 1) lane (l < 8) global in x: f32[8] global in z: f32[8] global out y: f32[8] shared s: f32[16]\n"      \
    "store s[l] <- x[l] barrier block orders shared " first " " between " let b: f32 = s[0] " second                             \
    " barrier block orders shared store y[l] <- s[l] }"
#define OWN "let a: f32 = s[l]"
#define BELOW(p, q) "if_value " p " { if_value " q " { store s[l] <- 1:f32 } }"
#define ABOVE(p, q) "if_value " p " { } else { if_value " q " { } else { store s[l] <- 1:f32 } }"
    static const trial trials[] = {
        {CELLS(OWN, "", BELOW("eq(a, 0:f32)", "ne(b, 0:f32)")), true},
        {CELLS(OWN, "", BELOW("eq(a, 0:f32)", "eq(b, 0:f32)")), false},
        {CELLS(OWN, "", BELOW("lt(0:f32, a)", "lt(b, 0:f32)")), true},
        {CELLS(OWN, "", BELOW("le(0:f32, a)", "le(b, 0:f32)")), false},
        {CELLS(OWN, "", BELOW("le(a, 1:f32)", "le(2:f32, b)")), true},
        {CELLS(OWN, "", BELOW("and(le(a, 1:f32), lt(a, 5:f32))", "eq(b, 3:f32)")), true},
        {CELLS(OWN, "", BELOW("or(le(a, 1:f32), lt(a, 5:f32))", "eq(b, 3:f32)")), false},
        {CELLS(OWN, "", ABOVE("ne(a, 0:f32)", "eq(b, 0:f32)")), true},
        /* what is no number is neither below 0 nor at least 0 */
        {CELLS(OWN, "", ABOVE("lt(a, 0:f32)", "le(0:f32, b)")), false},
        {CELLS(OWN, "", "if_value lt(a, 0:f32) { } else { if_value lt(b, 0:f32) { store s[l] <- 1:f32 } }"), true},
        /* another lane, or the same, writes in between */
        {CELLS(OWN, "barrier block orders shared if l == 3 { store s[0] <- 1:f32 } barrier block orders shared",
               BELOW("eq(a, 0:f32)", "ne(b, 0:f32)")),
         false},
        {CELLS(OWN, "barrier block orders shared", BELOW("eq(a, 0:f32)", "ne(b, 0:f32)")), false},
        {CELLS(OWN, "store s[8 + l] <- 1:f32", BELOW("eq(a, 0:f32)", "ne(b, 0:f32)")), false},
        {CELLS(OWN,
               "for i in 0 .. 2 { let c: f32 = s[0] if_value eq(a, 0:f32) { if_value ne(c, 0:f32) { store s[l] <- 1:f32 } } }",
               ""),
         false},
        /* of other cells, other arrays */
        {CELLS("let a: f32 = s[7 - l]", "", BELOW("eq(a, 0:f32)", "ne(b, 0:f32)")), false},
        {CELLS("let a: f32 = z[l]", "", BELOW("eq(a, 0:f32)", "ne(b, 0:f32)")), false},
        /* what nobody writes may be read at any time */
        {CELLS("let a: f32 = z[l]", "barrier block orders shared let c: f32 = z[0]", BELOW("eq(a, 0:f32)", "ne(c, 0:f32)")),
         true},
        {CELLS("let a: f32 = z[l]", "",
               "for i in 0 .. 2 { let c: f32 = z[0] if_value eq(a, 0:f32) { if_value ne(c, 0:f32) { store s[l] <- 1:f32 } } }"),
         true},
    };
    try_all(trials, sizeof trials / sizeof *trials);
}

/* The lanes of a block write to places that an index array without repetition names. */
static void test_scatters_among_lanes(void **state) {
    (void)state;
#define SCATTER(attribute, body)                                                                                                 \
    "kernel k { symbol T, V task (t < 4) lane (l < 8) global in ids: index[T] bound V" attribute                                 \
    " global in x: f32[T] global update y: f32[V]\n" body " }"
#define IN_BOUNDS(body) "if 8 * t + l < T { " body " }"
    static const trial trials[] = {
        {SCATTER(" injective", IN_BOUNDS("let v: index = ids[8 * t + l] store y[v] <- x[8 * t + l]")), true},
        {SCATTER("", IN_BOUNDS("let v: index = ids[8 * t + l] store y[v] <- x[8 * t + l]")), false},
        {SCATTER(" injective", IN_BOUNDS("let v: index = ids[8 * t + floor(l / 2)] store y[v] <- x[8 * t + l]")), false},
        {SCATTER(" injective", IN_BOUNDS("let v: index = ids[l] store y[v] <- x[8 * t + l]")), false},
        {SCATTER(" injective", IN_BOUNDS("let v: index = ids[8 * t + l] let w: index = ids[8 * t] store y[v] <- y[w]")), false},
        {SCATTER(" injective", IN_BOUNDS("let v: index = ids[8 * t + l] store y[v] <- add(y[v], x[8 * t + l])")), true},
        {SCATTER(" injective", IN_BOUNDS("let v: index = ids[8 * t + l] store y[v] <- x[8 * t + l] store y[0] <- 0:f32")), false},
    };
    try_all(trials, sizeof trials / sizeof *trials);
}

/* What `aligned` may be said of is form; whether it is so is a property, with strides that are products of extents. */
static void test_aligned_vectors(void **state) {
    (void)state;
#define VECTOR(array, access)                                                                                                    \
    "kernel k { symbol M, N task (i < M) global in x: " array " global update y: f32[M]\nlet v: f32x4 = x[" access "] aligned }"
#define MASKED(active)                                                                                                           \
    "kernel k { symbol M, N task (i < M) global in x: f32[M, 8] align 16 global update y: f32[M]\n"                              \
    "let v: f32x4 = x[i, 4:4] aligned active " active " }"
    static const struct {
        const char *text;
        bool formed, proved;
    } cases[] = {
        {VECTOR("f32[M, 8] align 16", "i, 4:4"), true, true},
        {VECTOR("f32[M, 8] align 16", "i, 2:4"), true, false},
        {VECTOR("f32[M, 6] align 16", "i, 0:4"), true, false},
        {VECTOR("f32[M, 6] layout pad(2) align 16", "i, 0:4"), true, true},
        {VECTOR("f32[M, 6] layout pad(1) align 16", "i, 0:4"), true, false},
        {VECTOR("f32[M, 4 * N + 4] align 16", "i, 4 * N:4"), true, true},
        {VECTOR("f32[M, 2, 2 * N + 4] align 16", "i, 0, 0:4"), true, true}, /* 2 * (2 * N + 4) */
        {VECTOR("f32[M, 2, 2 * N + 4] align 16", "i, 1, 0:4"), true, false},
        {VECTOR("f32[M, 8] layout strides(4 * N + 8, 1) align 16", "i, 0:4"), true, true},
        {VECTOR("f32[M, 8] layout strides(2 * N + 8, 1) align 16", "i, 0:4"), true, false},
        {MASKED("4 * N"), true, true},
        {MASKED("4 * N - 4"), true, true},
        {MASKED("N"), true, false}, /* some lanes only */
        {MASKED("min(4, 2 * N)"), true, false},
        {VECTOR("f32[M, 8] align 8", "i, 4:4"), false, false},
        {VECTOR("f32[M, 8]", "i, 4:4"), false, false},
        {VECTOR("f32[8, M] layout strides(1, 8) align 16", "4:4, i"), false, false},
        {VECTOR("f32[M, 8] layout swizzle(1, 2, 3) align 16", "i, 4:4"), false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        kernel_ir *k = kernel_parse(a, "aligned", cases[i].text, &diags);
        bool formed = k && kernel_check(k, &diags);
        if (formed != cases[i].formed) {
            fprintf(stderr, "%s\n", cases[i].text);
            diag_print_all(&diags, stderr, false);
        }
        assert_int_equal(formed, cases[i].formed);
        proof p;
        bool fine = formed && proved(a, "aligned", cases[i].text, 64, &k, &p), found = false;
        for (int j = 0; formed && j < p.items.count; j++)
            if (!strcmp(p.items.at[j].property, "alignment")) {
                found = true;
                assert_int_equal(p.items.at[j].verdict, cases[i].proved ? VERDICT_PROVED : VERDICT_REFUTED);
                if (!cases[i].proved)
                    assert_true(misbehaves(k, p.items.at[j].witness));
            }
        if (formed && fine != cases[i].proved)
            show(cases[i].text, &p);
        assert_int_equal(found, formed);
        arena_free(a);
    }
}

/* A sum of so many vectors, each aligned but the last. */
static void add_vectors(text_buffer *b, int first, int count, int all) {
    if (count == 1) {
        text_add(b, "x[i, %d:4] aligned", first == all - 1 ? 2 : 4);
        return;
    }
    text_add(b, "add(");
    add_vectors(b, first, count / 2, all);
    text_add(b, ", ");
    add_vectors(b, first + count / 2, count - count / 2, all);
    text_add(b, ")");
}

static void test_every_aligned_vector_is_judged(void **state) {
    (void)state;
    enum { VECTORS = 260 };
    text_buffer b = {0};
    arena *a = arena_new();
    kernel_ir *k;
    proof p;
    text_add(&b, "kernel k { symbol M task (i < M) global in x: f32[M, 8] align 16 let v: f32x4 = ");
    add_vectors(&b, 0, VECTORS, VECTORS);
    text_add(&b, " }");
    assert_false(proved(a, "aligned", text_get(&b), 64, &k, &p));
    bool found = false;
    for (int i = 0; i < p.items.count; i++)
        if (!strcmp(p.items.at[i].property, "alignment")) {
            found = true;
            assert_int_equal(p.items.at[i].verdict, VERDICT_REFUTED);
            assert_true(misbehaves(k, p.items.at[i].witness));
        }
    assert_true(found);
    text_free(&b);
    arena_free(a);
}

/* A question that fails, wherever it stands, never makes a broken kernel proved. */
static void test_failures_prove_nothing(void **state) {
    (void)state;
    static const char *const files[] = {"norm_mean.kir", "scan_in_place.kir", "barrier_skipped.kir", "stale_after_copy.kir",
                                        "guard_of_row_length.kir"};
    unsigned long tried = 0, most = 0;
    for (int i = 0; i < (quick() ? 2 : 5); i++) {
        char name[100];
        snprintf(name, sizeof name, "defects/%s", files[i]);
        char *text = read_text(name);
        bool reached = true;
        for (unsigned long n = 1; reached; n += 1 + n / (quick() ? 1 : 12)) {
            arena *a = arena_new();
            kernel_ir *k;
            proof p;
            sets_fail_at(n);
            bool fine = proved(a, name, text, 64, &k, &p);
            reached = !sets_fault_pending();
            sets_fail_at(0);
            if (fine)
                fprintf(stderr, "%s is proved when operation %lu fails\n", name, n);
            assert_false(fine);
            most = n > most ? n : most;
            tried++;
            arena_free(a);
        }
        free(text);
    }
    fprintf(stderr, "%lu failures, among up to %lu operations\n", tried, most);
}

/* The second time, a proved kernel is known, for another target too; whether that has room for it is judged each time. */
static void test_proofs_are_kept(void **state) {
    (void)state;
    sets_fail_at(0);
    char *text = read_text("swizzled_tile.kir");
    int items[2];
    for (int i = 0; i < 2; i++) {
        arena *a = arena_new();
        kernel_ir *k;
        proof p;
        assert_true(proved(a, "swizzled_tile.kir", text, 64 - i, &k, &p));
        assert_true(proved(a, "swizzled_tile.kir", text, 64 - i, &k, &p));
        for (int j = 0; j < p.items.count; j++)
            assert_true(p.items.at[j].milliseconds == 0 || !strcmp(p.items.at[j].property, "capacity"));
        items[i] = p.items.count;
        assert_int_equal(p.proved, p.items.count);
        diag_list diags;
        diag_init(&diags, a);
        target_limits small = {.target = "small",
                               .private_bytes = 1 << 20,
                               .shared_bytes = 16,
                               .threads_per_block = 1024,
                               .index_bits = 64 - i,
                               .largest_extent = (int64_t)1 << 31,
                               .has_lanes = true};
        assert_false(prove_kernel(a, k, &small, &p, &diags));
        assert_int_equal(p.refuted, 1);
        for (int j = 0; j < p.items.count; j++)
            assert_true(p.items.at[j].milliseconds == 0 || !strcmp(p.items.at[j].property, "capacity"));
        arena_free(a);
    }
    assert_int_equal(items[0], items[1]);
    char *broken = changed(text, "barrier block orders shared", "barrier block orders global");
    arena *a = arena_new();
    kernel_ir *k;
    proof p;
    assert_false(proved(a, "swizzled_tile.kir", broken, 63, &k, &p));
    arena_free(a);
    free(broken);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_proved),
        cmocka_unit_test(test_twins_are_refuted),
        cmocka_unit_test(test_defects),
        cmocka_unit_test(test_aligned_vectors),
        cmocka_unit_test(test_every_aligned_vector_is_judged),
        cmocka_unit_test(test_uncertain_barriers),
        cmocka_unit_test(test_conditions_that_exclude),
        cmocka_unit_test(test_scatters_among_lanes),
        cmocka_unit_test(test_failures_prove_nothing),
        cmocka_unit_test(test_proofs_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
