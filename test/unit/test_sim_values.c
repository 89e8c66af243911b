/* What the simulator computes: the texts of test/kernel-ir at small shapes, in order and interleaved, against plain loops from the mathematics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "sim/sim.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    arena *a;
    diag_list diags;
    kernel_ir *k;
    uint64_t random;
} run;

static void start(run *r, const char *name) {
    char path[128];
    memset(r, 0, sizeof *r);
    r->a = arena_new();
    r->random = 88172645463325252u;
    diag_init(&r->diags, r->a);
    snprintf(path, sizeof path, "test/kernel-ir/%s.kir", name);
    char *text = file_read(r->a, path, FILE_SOURCE_LIMIT, NULL, &r->diags);
    assert_non_null(text);
    r->k = kernel_parse(r->a, path, text, &r->diags);
    if (!r->k)
        diag_print_all(&r->diags, stderr, false);
    assert_non_null(r->k);
}

static double next(run *r) { /* multiples of 1/16 in -1 .. 1: exact in every type, and so are short sums of products in f32 */
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return (double)((int)(r->random % 33) - 16) / 16;
}

/* `count` random elements. */
static void *random_array(run *r, element_type t, int64_t count) {
    void *data = arena_alloc(r->a, (size_t)element_bytes(t, count) + 8);
    for (int64_t i = 0; i < count; i++)
        element_store(t, data, i, next(r));
    return data;
}

static float *empty(run *r, int64_t count) {
    float *data = arena_alloc(r->a, sizeof *data * (size_t)count);
    for (int64_t i = 0; i < count; i++)
        data[i] = -77;
    return data;
}

static void launch(run *r, void *const *arrays, const int64_t *integers, const float *floats, uint64_t seed) {
    sim_report report;
    bool clean =
        sim_run(r->a, r->k, &(sim_arguments){arrays, integers, floats}, &(sim_options){.seed = seed}, &report, &r->diags);
    if (!clean)
        diag_print_all(&r->diags, stderr, false);
    assert_true(clean);
    assert_true(report.finished && !report.findings.count);
}

static double at(element_type t, const void *data, int64_t i) {
    return element_load(t, data, i);
}

static void close_to(double x, double y, double tolerance) {
    if (!(fabs(x - y) <= tolerance))
        fprintf(stderr, "%.9g instead of %.9g\n", x, y);
    assert_true(fabs(x - y) <= tolerance);
}

static void check_product(const char *name, element_type t, int64_t m, int64_t n, int64_t k, uint64_t seed) {
    run r;
    start(&r, name);
    void *a = random_array(&r, t, m * k), *b = random_array(&r, t, k * n);
    float *c = empty(&r, m * n);
    launch(&r, (void *[]){a, b, c}, (int64_t[]){m, n, k}, NULL, seed);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += at(t, a, i * k + p) * at(t, b, p * n + j);
            close_to((double)c[i * n + j], sum, 0); /* every partial sum is a multiple of 1/256 below 2^16 */
        }
    arena_free(r.a);
}

static void matrix_products(void **state) {
    (void)state;
    static const struct {
        const char *name;
        element_type type;
    } products[] = {{"packed_matmul", ELEMENT_F32},
                    {"direct_fragments", ELEMENT_F16},
                    {"staged_barrier", ELEMENT_F32},
                    {"async_ring", ELEMENT_F16}};
    static const int64_t shapes[][3] = {{1, 1, 1}, {13, 65, 33}, {65, 7, 130}, {64, 64, 16}, {3, 2, 0}};
    bool quick = getenv("TILEC_QUICK"); /* a sample: another shape for each kernel */
    for (size_t p = 0; p < sizeof products / sizeof *products; p++)
        for (size_t s = quick ? (p + 1) % 5 : 0; s < sizeof shapes / sizeof *shapes; s += quick ? 5 : 1)
            check_product(products[p].name, products[p].type, shapes[s][0], shapes[s][1], shapes[s][2], s % 2 ? 99 : 0);
    if (!quick)
        check_product("producer_consumer", ELEMENT_F16, 2, 3, 330, 0);
    check_product("producer_consumer", ELEMENT_F16, 5, 1, 200, 5);
}

static void lane_views(void **state) {
    (void)state;
    run r;
    start(&r, "lane_view");
    float *a = random_array(&r, ELEMENT_F32, 8 * 11), *b = random_array(&r, ELEMENT_F32, 11 * 8), *c = empty(&r, 64);
    launch(&r, (void *[]){a, b, c}, (int64_t[]){11}, NULL, 3);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            float sum = 0;
            for (int k = 0; k < 11; k++)
                sum += a[i * 11 + k] * b[k * 8 + j];
            close_to((double)c[i * 8 + j], (double)sum, 0);
        }
    arena_free(r.a);
}

static void row_normalisation(void **state) {
    (void)state;
    enum { ROWS = 3, COLUMNS = 300 };
    for (uint64_t seed = 0; seed < 2; seed++) {
        run r;
        start(&r, "cross_subgroup_reduction");
        float *x = random_array(&r, ELEMENT_F32, ROWS * COLUMNS), *y = empty(&r, ROWS * COLUMNS), eps = 0.125f;
        launch(&r, (void *[]){x, y}, (int64_t[]){ROWS, COLUMNS}, &eps, seed);
        for (int i = 0; i < ROWS; i++) {
            double sum = 0;
            for (int j = 0; j < COLUMNS; j++)
                sum += (double)x[i * COLUMNS + j] * (double)x[i * COLUMNS + j];
            for (int j = 0; j < COLUMNS; j++)
                close_to((double)y[i * COLUMNS + j], (double)x[i * COLUMNS + j] / sqrt(sum / COLUMNS + 0.125), 1e-6);
        }
        arena_free(r.a);
    }
}

static void grid_sums(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 4096, 9001};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        run r;
        start(&r, "grid_reduction");
        float *x = random_array(&r, ELEMENT_F32, sizes[s]), *total = empty(&r, 1);
        launch(&r, (void *[]){x, total}, &sizes[s], NULL, s);
        double sum = 0;
        for (int64_t i = 0; i < sizes[s]; i++)
            sum += (double)x[i];
        close_to((double)*total, sum, 0);
        arena_free(r.a);
    }
}

static void transposes(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{1, 1}, {40, 33}, {64, 7}, {0, 5}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        int64_t m = shapes[s][0], n = shapes[s][1];
        run r;
        start(&r, "swizzled_tile");
        float *x = random_array(&r, ELEMENT_F32, m * n), *y = empty(&r, m * n);
        launch(&r, (void *[]){x, y}, shapes[s], NULL, s);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                close_to((double)y[j * m + i], (double)x[i * n + j], 0);
        arena_free(r.a);
        for (int64_t blocks = 1; blocks <= 5; blocks += 2) {
            start(&r, "persistent_tasks");
            float *source = random_array(&r, ELEMENT_F32, m * n), *table = random_array(&r, ELEMENT_F32, 256),
                  *target = empty(&r, m * n);
            unsigned char *code = arena_alloc(r.a, (size_t)(m * n));
            for (int64_t i = 0; i < m * n; i++)
                code[i] = (unsigned char)(i * 37);
            launch(&r, (void *[]){source, table, code, target}, (int64_t[]){m, n, blocks}, NULL, (uint64_t)blocks - 1);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++)
                    close_to((double)target[j * m + i], (double)(source[i * n + j] * table[code[i * n + j]]), 0);
            arena_free(r.a);
        }
    }
}

static void pointer_style(void **state) {
    (void)state;
    int64_t rows = 2, columns = 130, ld = 140;
    run r;
    start(&r, "pointer_style");
    float *x = random_array(&r, ELEMENT_F32, rows * ld), *y = random_array(&r, ELEMENT_F32, rows * ld);
    launch(&r, (void *[]){x, y}, (int64_t[]){rows * ld, rows * ld, columns, rows, ld}, NULL, 4);
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < columns; j++)
            sum += (double)x[i * ld + j];
        for (int64_t j = 0; j < columns; j++)
            close_to((double)y[i * ld + j], (double)x[i * ld + j] - sum / (double)columns, 1e-6);
    }
    arena_free(r.a);
}

static void scans(void **state) {
    (void)state;
    enum { ROWS = 2, COLUMNS = 40 };
    run r;
    start(&r, "subgroup_scan");
    float *x = random_array(&r, ELEMENT_F32, ROWS * COLUMNS), *sum = empty(&r, ROWS * COLUMNS),
          *spread = empty(&r, ROWS * COLUMNS), *step = empty(&r, ROWS * COLUMNS);
    launch(&r, (void *[]){x, sum, spread, step}, (int64_t[]){ROWS, COLUMNS}, NULL, 8);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double running = 0, most = -INFINITY, least = INFINITY;
            for (int l = 0; l < 32; l++) {
                int column = j / 32 * 32 + l;
                double value = column < COLUMNS ? (double)x[i * COLUMNS + column] : 0;
                running += column <= j ? value : 0;
                most = value > most ? value : most;
                least = value < least ? value : least;
            }
            close_to((double)sum[i * COLUMNS + j], running, 0);
            close_to((double)spread[i * COLUMNS + j], most - least, 0);
            double after = j + 1 < COLUMNS ? (double)x[i * COLUMNS + j + 1] : 0;
            double neighbour = j % 32 < 31 ? after : (double)x[i * COLUMNS + j / 32 * 32]; /* the last lane meets the first */
            close_to((double)step[i * COLUMNS + j], neighbour - (double)x[i * COLUMNS + j], 0);
        }
    arena_free(r.a);
}

static void attention(void **state) {
    (void)state;
    enum { QUERIES = 17, KEYS = 21, WIDTH = 64 };
    run r;
    start(&r, "fragment_attention");
    uint16_t *q = random_array(&r, ELEMENT_F16, QUERIES * WIDTH), *k = random_array(&r, ELEMENT_F16, KEYS * WIDTH),
             *v = random_array(&r, ELEMENT_F16, KEYS * WIDTH);
    float *bias = random_array(&r, ELEMENT_F32, KEYS), *o = empty(&r, QUERIES * WIDTH), scale = 0.125f;
    launch(&r, (void *[]){q, k, v, bias, o}, (int64_t[]){QUERIES, KEYS}, &scale, 0);
    for (int i = 0; i < QUERIES; i++) {
        double weight[KEYS], all = 0;
        for (int t = 0; t < KEYS; t++) {
            double score = 0;
            for (int d = 0; d < WIDTH; d++)
                score += at(ELEMENT_F16, q, i * WIDTH + d) * at(ELEMENT_F16, k, t * WIDTH + d);
            all += weight[t] = exp(0.125 * score + (double)bias[t]);
        }
        for (int d = 0; d < WIDTH; d++) {
            double sum = 0;
            for (int t = 0; t < KEYS; t++)
                sum += weight[t] * at(ELEMENT_F16, v, t * WIDTH + d);
            close_to((double)o[i * WIDTH + d], sum / all, 2e-3); /* probabilities pass through f16 */
        }
    }
    arena_free(r.a);
}

static void histogram(void **state) {
    (void)state;
    int64_t n = 9000, blocks = 3;
    run r;
    start(&r, "atomic_last_block");
    unsigned char *x = arena_alloc(r.a, (size_t)n);
    uint32_t counts[256] = {0}, expected[256] = {0}, ticket = 0, most = 0, greatest = 0;
    for (int64_t i = 0; i < n; i++)
        expected[x[i] = (unsigned char)(i * i % 251 % 97)]++;
    launch(&r, (void *[]){x, counts, &ticket, &most}, (int64_t[]){n, blocks}, NULL, 6);
    for (int i = 0; i < 256; i++) {
        assert_int_equal(counts[i], expected[i]);
        greatest = expected[i] > greatest ? expected[i] : greatest;
    }
    assert_int_equal(most, greatest);
    assert_int_equal(ticket, blocks);
    arena_free(r.a);
}

static void row_softmax(void **state) {
    (void)state;
    enum { ROWS = 20, COLUMNS = 35, LENGTH = 18 };
    run r;
    start(&r, "softmax_argmax");
    float *x = random_array(&r, ELEMENT_F32, ROWS * COLUMNS), *y = empty(&r, ROWS * COLUMNS);
    int32_t best[ROWS];
    launch(&r, (void *[]){x, y, best}, (int64_t[]){ROWS, COLUMNS, LENGTH}, NULL, 0);
    for (int i = 0; i < ROWS; i++) {
        int n = i + 1 < LENGTH ? i + 1 : LENGTH, where = 0;
        double all = 0;
        for (int j = 0; j < n; j++) {
            all += exp((double)x[i * COLUMNS + j]);
            where = x[i * COLUMNS + j] > x[i * COLUMNS + where] ? j : where;
        }
        assert_int_equal(best[i], where);
        for (int j = 0; j < COLUMNS; j++)
            close_to((double)y[i * COLUMNS + j], j < n ? exp((double)x[i * COLUMNS + j]) / all : 0, 1e-6);
    }
    arena_free(r.a);
}

static void narrow_types(void **state) {
    (void)state;
    enum { ROWS = 2, BLOCKS = 2, COLUMNS = 32 * BLOCKS };
    run r;
    start(&r, "quantize");
    float *x = random_array(&r, ELEMENT_F32, ROWS * COLUMNS), *scale = empty(&r, ROWS), *dot = empty(&r, ROWS);
    unsigned char w[34 * BLOCKS], narrow[ROWS * COLUMNS];
    int8_t q[ROWS * COLUMNS];
    uint16_t half[ROWS * COLUMNS];
    for (int i = 0; i < 34 * BLOCKS; i++)
        w[i] = (unsigned char)(i % 34 == 0 ? 0 : i % 34 == 1 ? 0x2C : i * 29); /* the scale is 2^-4 */
    launch(&r, (void *[]){x, w, q, narrow, half, scale, dot}, (int64_t[]){ROWS, BLOCKS}, NULL, 0);
    for (int i = 0; i < ROWS; i++) {
        float most = 0;
        double sum = 0;
        for (int j = 0; j < COLUMNS; j++) {
            most = fabsf(x[i * COLUMNS + j]) > most ? fabsf(x[i * COLUMNS + j]) : most;
            sum += (double)x[i * COLUMNS + j] * (double)(int8_t)w[j / 32 * 34 + 2 + j % 32] / 16;
        }
        close_to((double)dot[i], sum, 0);
        close_to((double)scale[i], (double)(most / 127), 0);
        for (int j = 0; j < COLUMNS; j++) {
            float v = x[i * COLUMNS + j] / (most / 127);
            assert_int_equal(q[i * COLUMNS + j], (int)rintf(v));
            assert_int_equal(half[i * COLUMNS + j], f32_to_f16(floorf(v)));
            assert_int_equal(narrow[i * COLUMNS + j], f32_to_e4m3(v, true));
        }
    }
    arena_free(r.a);
}

static void gathers(void **state) {
    (void)state;
    enum { V = 5, S = 9, D = 70, T = 4, STRIDE = 80 };
    run r;
    start(&r, "gather_scatter");
    float *table = random_array(&r, ELEMENT_F32, V * STRIDE), *cache = empty(&r, S * D), *log_ = empty(&r, T * D);
    int32_t ids[T] = {4, 0, 4, 2}, slots[T] = {8, 1, 0, 5};
    launch(&r, (void *[]){table, ids, slots, cache, log_}, (int64_t[]){V, S, D, T, STRIDE}, NULL, 2);
    for (int s = 0; s < S; s++)
        for (int d = 0; d < D; d++) {
            double expected = -77;
            for (int t = 0; t < T; t++)
                if (slots[t] == s)
                    expected = (double)table[ids[t] * STRIDE + d];
            close_to((double)cache[s * D + d], expected, 0);
        }
    for (int t = 0; t < T; t++)
        for (int d = 0; d < D; d++)
            close_to((double)log_[t * D + d], d < 64 ? (double)table[ids[t] * STRIDE + d] : -77, 0);
    arena_free(r.a);
}

static void bulk_stores(void **state) {
    (void)state;
    run r;
    start(&r, "bulk_store");
    float *x = random_array(&r, ELEMENT_F32, 16 * 32), *y = empty(&r, 16 * 64);
    launch(&r, (void *[]){x, y}, (int64_t[]){16}, NULL, 9);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 64; j++)
            close_to((double)y[i * 64 + j], (double)x[i * 32 + j % 32] * (1 + j / 32), 0);
    arena_free(r.a);
}

static void counters(void **state) {
    (void)state;
    enum { N = 1030 };
    run r;
    start(&r, "counter_random");
    float *x = random_array(&r, ELEMENT_F32, N), *y = empty(&r, N), keep = 0.75f;
    uint32_t seed = 4000000001u;
    launch(&r, (void *[]){x, y}, (int64_t[]){N, (int64_t)seed}, &keep, 1);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t a = i * 2654435769u ^ seed, b = a ^ a >> 16, c = b * 2246822519u, d = c ^ (c & 65535) << 13;
        close_to((double)y[i], (double)(d >> 9) / 8388608 < 0.75 ? (double)(x[i] / keep) : 0, 0);
    }
    arena_free(r.a);
}

static void activations(void **state) {
    (void)state;
    enum { T = 3, P = 5 };
    run r;
    start(&r, "activations");
    float *x = random_array(&r, ELEMENT_F32, T * P * 2), *y = empty(&r, T * P * 2), *gelu = empty(&r, T * P),
          *swish = empty(&r, T * P), base = 10000;
    launch(&r, (void *[]){x, y, gelu, swish}, (int64_t[]){T, P}, &base, 0);
    for (int t = 0; t < T; t++)
        for (int p = 0; p < P; p++) {
            int i = t * P + p;
            double angle = t * pow(10000, -(double)p / P), a = (double)x[2 * i], b = (double)x[2 * i + 1];
            double u = a * cos(angle) - b * sin(angle), v = a * sin(angle) + b * cos(angle);
            close_to((double)y[2 * i], u, 1e-6);
            close_to((double)y[2 * i + 1], v, 1e-6);
            close_to((double)gelu[i], 0.5 * u * (1 + erf(u / sqrt(2))), 1e-6);
            close_to((double)swish[i], v / sqrt(v * v + 1), 1e-6);
        }
    arena_free(r.a);
}

/* Contracts say what intrinsics touch, not what they compute. */
static void intrinsics(void **state) {
    (void)state;
    run r;
    start(&r, "intrinsics");
    float *x = random_array(&r, ELEMENT_F32, 70), *y = empty(&r, 128);
    sim_report report;
    assert_true(sim_run(r.a, r.k, &(sim_arguments){(void *[]){x, y}, (int64_t[]){70}, NULL}, NULL, &report, &r.diags));
    assert_true(report.unknown_values);
    arena_free(r.a);
}

/* A plan: a pre-pass doubles into a workspace, the kernel of the variant that holds adds it up. */
static void plans(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    kernel_ir *pass = kernel_parse(
        a, "pass",
        "kernel pass { symbol N task (t < N) global in x: f32[N] global workspace w: f32[N] store w[t] <- add(x[t], x[t]) }",
        &diags);
    kernel_ir *sum = kernel_parse(a, "sum",
                                  "kernel sum { symbol N task (t < 1) global in x: f32[N] global out y: f32[1] global workspace "
                                  "w: f32[N] register s: f32[]\n"
                                  "store s[] <- 0:f32 for i in 0 .. N { store s[] <- add(s[], w[i]) } store y[0] <- s[] }",
                                  &diags);
    assert_true(pass && sum);
    launch_plan plan = {.name = "plan"};
    plan_variant small = {.kernel = sum}, large = {.kernel = sum};
    index_expr *n = ix_var(a, sum->symbols.at[0]), *limit = ix_const(a, 5);
    small.predicate = cond_compare(a, COND_LE, n, limit);
    large.predicate = cond_compare(a, COND_LT, limit, n);
    VEC_PUSH(a, small.before, pass);
    VEC_PUSH(a, plan.variants, small);
    VEC_PUSH(a, plan.variants, large);
    float x[6] = {1, 2, 3, 4, 5, 6}, y = 0;
    int64_t size = 5;
    sim_report report;
    assert_true(sim_run_plan(a, &plan, &(sim_arguments){(void *[]){x, &y, NULL}, &size, NULL}, NULL, &report, &diags));
    assert_true(y == 30);
    assert_int_equal(report.tasks, 6);
    size = 6; /* this variant lacks the pre-pass: the workspace holds nothing */
    assert_false(sim_run_plan(a, &plan, &(sim_arguments){(void *[]){x, &y, NULL}, &size, NULL}, NULL, &report, &diags));
    assert_int_equal(report.findings.count, 1);
    assert_int_equal(report.findings.at[0].kind, SIM_UNWRITTEN);
    assert_string_equal(report.findings.at[0].array, "w");
    plan.variants.at[1].predicate = plan.variants.at[0].predicate;
    int errors = diags.errors;
    assert_false(sim_run_plan(a, &plan, &(sim_arguments){(void *[]){x, &y, NULL}, &size, NULL}, NULL, &report, &diags));
    assert_int_equal(diags.errors, errors + 1);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_products), cmocka_unit_test(lane_views),   cmocka_unit_test(row_normalisation),
        cmocka_unit_test(grid_sums),       cmocka_unit_test(transposes),   cmocka_unit_test(pointer_style),
        cmocka_unit_test(scans),           cmocka_unit_test(attention),    cmocka_unit_test(histogram),
        cmocka_unit_test(row_softmax),     cmocka_unit_test(narrow_types), cmocka_unit_test(gathers),
        cmocka_unit_test(bulk_stores),     cmocka_unit_test(counters),     cmocka_unit_test(activations),
        cmocka_unit_test(intrinsics),      cmocka_unit_test(plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
