/* Launch checks and the CPU runtime: what is refused before anything runs, and that threads change no bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "run/pool.h"
#include "run/run.h"
#include "target/target.h"
#include <stdatomic.h>
#include <cmocka.h>

static char folder[] = "/tmp/test_run-XXXXXX";

typedef struct setting {
    arena *a;
    diag_list d;
    launch_plan plan;
    kernel_ir *k;
} setting;

static setting *begin(const char *text) {
    arena *a = arena_new();
    setting *s = NEW(a, setting);
    s->a = a;
    diag_init(&s->d, a);
    s->k = kernel_parse(a, "test", text, &s->d);
    diag_print_all(&s->d, stderr, false);
    assert_non_null(s->k);
    s->plan.name = s->k->name;
    plan_variant v = {.kernel = s->k};
    VEC_PUSH(a, s->plan.variants, v);
    return s;
}

static void add_check(setting *s, launch_check c) {
    VEC_PUSH(s->a, s->plan.checks, c);
}

/* Checks, and gives the code of the first diagnostic ("" when it passed). */
static const char *check(setting *s, void *const *arrays, const int64_t *integers) {
    int before = s->d.items.count;
    bool ok = launch_checks(&s->plan, arrays, integers, NULL, &s->d);
    assert_int_equal(ok, s->d.items.count == before);
    return ok ? "" : s->d.items.at[before]->code;
}
static const char *last_message(setting *s) {
    return s->d.items.at[s->d.items.count - 1]->message;
}

static const char gather_text[] =
    "kernel gather {\n symbol V, D, T\n scalar len: i32 in 0 .. T\n task (t < T)\n global in table: f32[V, D]\n"
    " global in ids: index[T] bound V\n global out y: f32[T, D]\n let id: index = ids[t]\n"
    " for d in 0 .. D { store y[t, d] <- table[id, d] }\n}\n";

static void test_checks(void **state) {
    (void)state;
    setting *s = begin(gather_text);
    arena *a = s->a;
    index_var *T = s->k->symbols.at[2], *D = s->k->symbols.at[1];
    add_check(s, (launch_check){.kind = CHECK_WHERE,
                                .condition = cond_compare(a, COND_LE, ix_const(a, 2), ix_var(a, D)),
                                .text = "where D >= 2"});
    add_check(s, (launch_check){.kind = CHECK_SCALAR_RANGE, .scalar = &s->k->scalars.at[0], .text = "len in 0 .. T"});
    add_check(s, (launch_check){.kind = CHECK_INDEX_RANGE, .array = s->k->arrays.at[1], .text = "ids"});
    (void)T;
    float table[12] = {0}, y[20];
    int32_t ids[5] = {3, 0, 1, 2, 3};
    void *arrays[] = {table, ids, y};
    int64_t good[] = {4, 3, 5, 5};
    assert_string_equal(check(s, arrays, good), "");
    assert_string_equal(check(s, arrays, (int64_t[]){4, 1, 5, 5}), "E0600");
    assert_string_equal(check(s, arrays, (int64_t[]){4, 3, -1, 0}), "E0601");
    assert_string_equal(check(s, arrays, (int64_t[]){4, 3, (int64_t)1 << 31, 0}), "E0601");
    assert_string_equal(check(s, arrays, (int64_t[]){4, 3, 5, 6}), "E0602");
    assert_string_equal(check(s, arrays, (int64_t[]){4, 3, 5, -1}), "E0602");
    ids[4] = 4;
    assert_string_equal(check(s, arrays, good), "E0603");
    assert_non_null(strstr(last_message(s), "ids[4] is 4, outside 0 .. 3"));
    ids[4] = -1;
    assert_string_equal(check(s, arrays, good), "E0603");
    ids[4] = INT32_MIN;
    assert_string_equal(check(s, arrays, good), "E0603");
    ids[4] = 0;
    assert_string_equal(check(s, (void *[]){table, ids, NULL}, good), "E0607");
    assert_string_equal(check(s, (void *[]){NULL, NULL, NULL}, (int64_t[]){0, 3, 0, 0}), "");
    assert_string_equal(check(s, (void *[]){table, ids, table + 3}, good), "E0605");
    assert_string_equal(check(s, (void *[]){table, ids, ids}, good), "E0605");
    assert_string_equal(check(s, arrays, (int64_t[]){INT32_MAX, INT32_MAX, 5, 5}), "E0606");
    arena_free(a);
}

/* A bad element anywhere in a long array is found, and named. */
static void test_index_scan(void **state) {
    (void)state;
    setting *s = begin(gather_text);
    add_check(s, (launch_check){.kind = CHECK_INDEX_RANGE, .array = s->k->arrays.at[1], .text = "ids"});
    enum { LONG = 20000 };
    int32_t *ids = calloc(LONG, 4);
    float *y = calloc(LONG, 4), table[7] = {0};
    void *arrays[] = {table, ids, y};
    const int64_t integers[] = {7, 1, LONG, 0};
    for (int i = 0; i < LONG; i++)
        ids[i] = i % 7;
    assert_string_equal(check(s, arrays, integers), "");
    static const int places[] = {0, 1, 4095, 4096, 4097, 12345, LONG - 1};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        char wanted[64];
        ids[places[p]] = 7;
        assert_string_equal(check(s, arrays, integers), "E0603");
        snprintf(wanted, sizeof wanted, "ids[%d] is 7, outside 0 .. 6", places[p]);
        assert_non_null(strstr(last_message(s), wanted));
        ids[places[p]] = places[p] % 7;
    }
    free(ids);
    free(y);
    arena_free(s->a);
}

static void test_injective(void **state) {
    (void)state;
    setting *s = begin("kernel scatter { symbol N, M task (t < 1) global in at: i32[N] bound M injective global out y: f32[1] "
                       "store y[0] <- 1:f32 }");
    add_check(s, (launch_check){.kind = CHECK_INJECTIVE, .array = s->k->arrays.at[0], .text = "at"});
    int32_t at[6] = {5, 0, 3, 9, 2, 7};
    float y[1];
    void *arrays[] = {at, y};
    const int64_t integers[] = {6, 10};
    assert_string_equal(check(s, arrays, integers), "");
    at[5] = 3;
    assert_string_equal(check(s, arrays, integers), "E0604");
    assert_non_null(strstr(last_message(s), "at[2] and at[5] are both 3"));
    at[5] = 10;
    assert_string_equal(check(s, arrays, integers), "E0603");
    arena_free(s->a);
}

static void test_variants(void **state) {
    (void)state;
    setting *s = begin(gather_text);
    arena *a = s->a;
    index_var *D = s->k->symbols.at[1];
    s->plan.variants.at[0].predicate = cond_compare(a, COND_EQ, ix_mod(a, ix_var(a, D), ix_const(a, 16)), ix_const(a, 0));
    plan_variant other = {.kernel = s->k, .predicate = cond_compare(a, COND_LT, ix_const(a, 20), ix_var(a, D))};
    VEC_PUSH(a, s->plan.variants, other);
    assert_int_equal(launch_variant(&s->plan, (int64_t[]){1, 32, 1, 0}, &s->d), 0);
    assert_int_equal(launch_variant(&s->plan, (int64_t[]){1, 33, 1, 0}, &s->d), 1);
    assert_int_equal(launch_variant(&s->plan, (int64_t[]){1, 5, 1, 0}, &s->d), -1);
    assert_string_equal(s->d.items.at[0]->code, "E0608");
    arena_free(a);
}

static void count_piece(void *context, int worker, int64_t first, int64_t last) {
    atomic_int *counts = context;
    (void)worker;
    for (int64_t i = first; i < last; i++)
        atomic_fetch_add(&counts[i], 1);
}

/* Of one run: written over when it is done, as workers may still be about to come. */
typedef struct short_run {
    int64_t pieces;
    atomic_int counts[3];
} short_run;

static void count_short(void *context, int worker, int64_t first, int64_t last) {
    short_run *r = context;
    (void)worker;
    for (int64_t i = first; i < last; i++)
        atomic_fetch_add(&r->counts[i < r->pieces ? i : 0], 1);
}

/* Runs that end before every worker has seen them: each piece is done once, in its own run. */
static void test_pool_late(void **state) {
    (void)state;
    pool *p = pool_new(4);
    assert_non_null(p);
    short_run runs[2] = {{0}, {0}};
    for (int round = 0; round < 3000; round++) {
        short_run *r = &runs[round % 2];
        memset((void *)r, 0, sizeof *r);
        r->pieces = 2 + round % 2;
        pool_run(p, r->pieces, count_short, r);
        for (int64_t i = 0; i < r->pieces; i++)
            assert_int_equal(atomic_load(&r->counts[i]), 1);
    }
    pool_free(p);
    assert_int_equal(atomic_load(&runs[0].counts[2]), 0);
}

static void test_pool(void **state) {
    (void)state;
    static atomic_int counts[5000];
    for (int workers = 1; workers <= 5; workers += 2) {
        pool *p = pool_new(workers);
        assert_non_null(p);
        for (int round = 0; round < 200; round++) {
            int64_t pieces = round % 7 == 0 ? round % 3 : 1 + round * 23;
            memset((void *)counts, 0, sizeof counts);
            pool_run(p, pieces, count_piece, counts);
            for (int64_t i = 0; i < 5000; i++)
                assert_int_equal(atomic_load(&counts[i]), i < pieces);
            if (round % 50 == 49)
                nanosleep(&(struct timespec){0, 2000000}, NULL); /* workers fall asleep and wake again */
        }
        pool_free(p);
    }
    pool_free(NULL);
}

/* Proved, compiled, loaded, launched: the door and the runtime together. */
static const char rows_text[] = "kernel rows {\n symbol R, C\n scalar s: f32\n task (r < R)\n global in x: f32[R, C]\n global "
                                "out y: f32[R, C]\n private t: f32[64]\n"
                                " for c in 0 .. 64 { store t[c] <- convert(f32, index(c + r)) }\n"
                                " for c in 0 .. C { store y[r, c] <- fma(scalar(s), x[r, c], t[(c mod 64)]) }\n}\n";

static void test_launch(void **state) {
    (void)state;
    enum { ROWS = 300, COLUMNS = 77 };
    static float x[ROWS * COLUMNS], first[ROWS * COLUMNS], y[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)i * 0.5f;
    int64_t calls = compiler_calls();
    static const char *const threads[] = {"1", "2", "5"};
    for (int n = 0; n < 3; n++) {
        setting *s = begin(rows_text);
        setenv("TILEC_THREADS", threads[n], 1);
        int index;
        proof proved = {0};
        const runtime *r = runtime_find("cpu", &index, &s->d);
        const proved_plan *p = prove_plan(s->a, &s->plan, target_find("c")->limits(), &proved, &s->d);
        diag_print_all(&s->d, stderr, false);
        assert_non_null(p);
        device *d = r->open(index, &s->d);
        device_kernel *k = r->load(d, p, &s->d);
        assert_non_null(k);
        void *const arrays[] = {x, y};
        const float floats[] = {3};
        memset(y, 0xff, sizeof y);
        assert_true(r->launch(d, k, arrays, (int64_t[]){ROWS, COLUMNS}, floats, &s->d));
        for (int i = 0; i < ROWS * COLUMNS; i++)
            assert_true(y[i] == 3 * x[i] + (float)(i % COLUMNS % 64 + i / COLUMNS));
        if (n)
            assert_memory_equal(first, y, sizeof y);
        memcpy(first, y, sizeof y);
        /* Nothing to do is no error, and touches nothing. */
        assert_true(r->launch(d, k, (void *[]){NULL, NULL}, (int64_t[]){0, COLUMNS}, floats, &s->d));
        assert_true(r->launch(d, k, (void *[]){NULL, NULL}, (int64_t[]){ROWS, 0}, floats, &s->d));
        assert_memory_equal(first, y, sizeof y);
        /* Refused before anything runs. */
        assert_false(r->launch(d, k, (void *[]){x, x + 5}, (int64_t[]){ROWS, COLUMNS}, floats, &s->d));
        assert_true(x[5] == 2.5f);
        r->unload(d, k);
        r->close(d);
        arena_free(s->a);
    }
    unsetenv("TILEC_THREADS");
    assert_int_equal(compiler_calls() - calls, 1);
}

static void test_devices(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list d;
    diag_init(&d, a);
    int index;
    assert_non_null(runtime_find("cpu", &index, &d));
    assert_non_null(runtime_find("cpu:0", &index, &d));
    static const char *const none[] = {"cpu:1", "cpu:", "cpu:x", "cpu:0x", "gpu", "", "cp", "cpu:-1"};
    for (int i = 0; i < 8; i++) {
        assert_null(runtime_find(none[i], &index, &d));
        assert_string_equal(d.items.at[i]->code, "E0802");
    }
    const runtime *r = &runtime_table[0];
    char text[256];
    assert_true(r->describe(0, text, sizeof text));
    assert_non_null(strstr(text, "f32 lanes"));
    device *dev = r->open(0, &d);
    assert_null(r->allocate(dev, -1, &d));
    assert_null(r->allocate(dev, INT64_MAX, &d));
    void *m = r->allocate(dev, 0, &d);
    assert_non_null(m);
    assert_int_equal((uintptr_t)m % 64, 0);
    r->release(dev, m);
    r->close(dev);
    arena_free(a);
}

static int set_up(void **state) {
    (void)state;
    if (getenv("TILEC_QUICK")) /* valgrind knows no AVX-512 */
        setenv("TILEC_CC", "cc -mno-avx512f", 0);
    return mkdtemp(folder) && !setenv("TILEC_CACHE", folder, 1) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    cache_prune(0);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_checks),    cmocka_unit_test(test_index_scan),
                                       cmocka_unit_test(test_injective), cmocka_unit_test(test_variants),
                                       cmocka_unit_test(test_pool),      cmocka_unit_test(test_pool_late),
                                       cmocka_unit_test(test_launch),    cmocka_unit_test(test_devices)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
