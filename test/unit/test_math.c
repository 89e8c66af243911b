/* Arithmetic of our own against the double functions of libm, through emitted and compiled code. Run as it is it takes a sample of the
 * floats; with TILEC_EXHAUSTIVE=all (or the names of functions) all 2^32 of them, on every core. Prints the worst errors found. */
#include "kernel/kernel.h"
#include "run/run.h"
#include "target/c_plan.h"
#include "tile/oracle.h"
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

typedef void (*entry_function)(void *const *arrays, const int64_t *integers, const float *floats, int64_t first, int64_t last,
                               void *scratch);

enum { BLOCK = 1 << 16, FUNCTIONS = 7, LANES = 16 };
static const kernel_op ops[FUNCTIONS] = {KERNEL_EXP, KERNEL_LOG, KERNEL_TANH, KERNEL_ERF, KERNEL_SIN, KERNEL_COS, KERNEL_RSQRT};
static entry_function entries[FUNCTIONS]; /* vectors */
static entry_function scalar_entries[FUNCTIONS];

static double reference(kernel_op op, double x) {
    switch (op) {
    case KERNEL_EXP: return x > 89 ? INFINITY : x < -110 ? 0 : exp(x);
    case KERNEL_LOG: return log(x);
    case KERNEL_TANH: return fabs(x) < 0x1p-13 ? x * (1 - x * x / 3) : fabs(x) > 20 ? copysign(1, x) : tanh(x);
    case KERNEL_ERF: return fabs(x) < 0x1p-13 ? x * (1 - x * x / 3) * M_2_SQRTPI : fabs(x) > 6 ? copysign(1, x) : erf(x);
    case KERNEL_SIN: return sin(x);
    case KERNEL_COS: return cos(x);
    default: return 1 / sqrt(x);
    }
}

/* Odd and even functions need the reference for one sign only; the other is compared with it bit for bit. */
static bool is_odd(kernel_op op) {
    return op == KERNEL_TANH || op == KERNEL_ERF || op == KERNEL_SIN;
}
static bool is_even(kernel_op op) {
    return op == KERNEL_COS;
}

static entry_function compile(kernel_op op, int lanes) {
    arena *a = arena_new();
    diag_list d;
    diag_init(&d, a);
    text_buffer source = {0}, text = {0};
    /* One task handles one block. */
    text_add(&source,
             "kernel math_%s_%d {\n symbol N\n task (b < N)\n global in x: f32[N, %d]\n global out y: f32[N, %d]\n"
             " for i in 0 .. %d step %d { store y[b, i%s] <- %s(x[b, i%s]) }\n}\n",
             kernel_op_table[op].name, lanes, BLOCK, BLOCK, BLOCK, lanes, lanes > 1 ? ":16" : "", kernel_op_table[op].name,
             lanes > 1 ? ":16" : "");
    kernel_ir *k = kernel_parse(a, "math", text_get(&source), &d);
    launch_plan plan = {.name = k ? k->name : "none"};
    plan_variant v = {.kernel = k};
    VEC_PUSH(a, plan.variants, v);
    c_plan printed;
    bool hit;
    char *path = NULL;
    if (k && c_plan_print(a, &plan, "", NULL, &printed, &d)) {
        c_plan_head(&text);
        text_add(&text, "%s\n%s", printed.prelude, printed.functions);
        path = cache_compile(text_get(&text), plan.name, &hit, &d);
    }
    diag_print_all(&d, stderr, false);
    assert_non_null(path);
    void *object = dlopen(path, RTLD_NOW);
    assert_non_null(object);
    char *name = target_entry_name(plan.name, 0);
    void *symbol = dlsym(object, name);
    entry_function f;
    memcpy(&f, &symbol, sizeof f);
    free(name);
    free(path);
    text_free(&source);
    text_free(&text);
    arena_free(a);
    return f;
}

static void call(entry_function f, const float *x, float *y) {
    void *const arrays[] = {(void *)x, y};
    const int64_t integers[] = {1};
    f(arrays, integers, NULL, 0, 1, NULL);
}

typedef struct worst {
    double ulp, relative;
    float at, got;
    double wanted;
    int64_t wrong;
    float wrong_at, wrong_got;
} worst;
typedef struct work {
    kernel_op op;
    entry_function f;
    bool all;
    atomic_uint next; /* block number */
    worst found[16];
} work;
typedef struct thread {
    work *w;
    int number;
    pthread_t id;
} thread;

/* Error in units of the last place that a correctly rounded float would have, and relative in units of 2^-23. */
static void judge(worst *w, float x, float got, double wanted) {
    bool special = isnan(wanted) || isinf((float)wanted) || (float)wanted == 0;
    if (isnan(wanted) || isnan(got)) {
        if (isnan(wanted) == isnan(got))
            return;
    } else if (!special || !isinf(got)) {
        int e;
        frexp(wanted, &e);
        double unit = ldexp(1, (e < -125 ? -125 : e) - 24), ulp = fabs((double)got - wanted) / unit;
        double relative = fabs(wanted) < 0x1p-126 ? 0 : fabs((double)got - wanted) / fabs(wanted) * 0x1p23;
        if (fabs(wanted) >= 0x1.fffffefp127 && isinf(got))
            return;
        w->relative = relative > w->relative ? relative : w->relative;
        if (ulp > w->ulp) {
            w->ulp = ulp;
            w->at = x;
            w->got = got;
            w->wanted = wanted;
        }
        if (ulp <= 4)
            return;
    } else if ((float)wanted == got)
        return;
    if (!w->wrong++) {
        w->wrong_at = x;
        w->wrong_got = got;
    }
}

static void *run_thread(void *argument) {
    thread *t = argument;
    work *w = t->w;
    worst *found = &w->found[t->number];
    float *x = malloc(3 * BLOCK * sizeof *x), *y = x + BLOCK, *z = y + BLOCK;
    bool mirror = is_odd(w->op) || is_even(w->op);
    /* Blocks of the upper bits; for a sample each block strides over the whole range instead. */
    uint32_t blocks = w->all ? (mirror ? 1u << 15 : 1u << 16) : getenv("TILEC_QUICK") ? 1 : 8;
    for (uint32_t b; (b = atomic_fetch_add(&w->next, 1)) < blocks;) {
        for (uint32_t i = 0; i < BLOCK; i++) {
            uint32_t bits = w->all ? b << 16 | i : i * 65537u + b * 57337u;
            if (mirror)
                bits &= 0x7fffffff;
            memcpy(&x[i], &bits, 4);
        }
        call(w->f, x, y);
        for (int i = 0; i < BLOCK; i++)
            judge(found, x[i], y[i], reference(w->op, x[i]));
        if (!mirror)
            continue;
        for (int i = 0; i < BLOCK; i++)
            x[i] = -x[i];
        call(w->f, x, z);
        for (int i = 0; i < BLOCK; i++) {
            float expected = is_odd(w->op) ? -y[i] : y[i];
            if (memcmp(&expected, &z[i], 4) && !(isnan(expected) && isnan(z[i])) && !found->wrong++)
                found->wrong_at = x[i], found->wrong_got = z[i];
        }
    }
    free(x);
    return NULL;
}

static worst measure(kernel_op op, entry_function f, bool all) {
    work w = {.op = op, .f = f, .all = all};
    thread threads[16];
    int count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    count = count < 1 || !all ? 1 : count > 16 ? 16 : count;
    for (int i = 0; i < count; i++) {
        threads[i] = (thread){&w, i, 0};
        pthread_create(&threads[i].id, NULL, run_thread, &threads[i]);
    }
    worst sum = {0};
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i].id, NULL);
        const worst *one = &w.found[i];
        double relative = one->relative > sum.relative ? one->relative : sum.relative;
        int64_t wrong = sum.wrong + one->wrong;
        float wrong_at = sum.wrong ? sum.wrong_at : one->wrong_at, wrong_got = sum.wrong ? sum.wrong_got : one->wrong_got;
        if (one->ulp >= sum.ulp)
            sum = *one;
        sum.relative = relative;
        sum.wrong = wrong;
        sum.wrong_at = wrong_at;
        sum.wrong_got = wrong_got;
    }
    return sum;
}

/* What the oracle is told, in units of 2^-23 of the result. */
static double promised(kernel_op op) {
    const arithmetic_model *m = arithmetic_model_find("c");
    assert_non_null(m);
    switch (op) {
    case KERNEL_EXP: return m->exp_ulp;
    case KERNEL_LOG: return m->log_ulp;
    case KERNEL_TANH: return m->tanh_ulp;
    case KERNEL_ERF: return m->erf_ulp;
    case KERNEL_SIN: return m->sin_ulp;
    case KERNEL_COS: return m->cos_ulp;
    default: return m->rsqrt_ulp;
    }
}

static void test_accuracy(void **state) {
    (void)state;
    const char *wanted = getenv("TILEC_EXHAUSTIVE");
    for (int i = 0; i < FUNCTIONS; i++) {
        const char *name = kernel_op_table[ops[i]].name;
        bool all = wanted && (!strcmp(wanted, "all") || strstr(wanted, name));
        worst w = measure(ops[i], entries[i], all);
        if (all)
            printf("%-6s worst %.4f ulp, %.4f x 2^-23 of the result, at %a: %a for %a; %lld wrong\n", name, w.ulp, w.relative,
                   (double)w.at, (double)w.got, w.wanted, (long long)w.wrong);
        if (w.wrong)
            fail_msg("%s(%a) gives %a, should be %a; %lld such", name, (double)w.wrong_at, (double)w.wrong_got,
                     reference(ops[i], (double)w.wrong_at), (long long)w.wrong);
        if (w.relative > promised(ops[i]))
            fail_msg("%s errs by %.4f x 2^-23 at %a, promised %.4f", name, w.relative, (double)w.at, promised(ops[i]));
    }
}

/* The scalar form computes the same bits as the vector form. */
static void test_scalar_is_vector(void **state) {
    (void)state;
    float *x = malloc(3 * BLOCK * sizeof *x), *y = x + BLOCK, *z = y + BLOCK;
    for (int i = 0; i < FUNCTIONS; i++) {
        for (uint32_t j = 0; j < BLOCK; j++) {
            uint32_t bits = j * 65521u + 12345u;
            memcpy(&x[j], &bits, 4);
        }
        call(entries[i], x, y);
        call(scalar_entries[i], x, z);
        for (int j = 0; j < BLOCK; j++)
            if (memcmp(&y[j], &z[j], 4) && !(isnan(y[j]) && isnan(z[j])))
                fail_msg("%s(%a): vector %a, scalar %a", kernel_op_table[ops[i]].name, (double)x[j], (double)y[j], (double)z[j]);
    }
    free(x);
}

static void test_special_values(void **state) {
    (void)state;
    static const struct {
        kernel_op op;
        float x, y;
    } rows[] = {{KERNEL_EXP, 0, 1},
                {KERNEL_EXP, -0.0f, 1},
                {KERNEL_EXP, INFINITY, INFINITY},
                {KERNEL_EXP, -INFINITY, 0},
                {KERNEL_EXP, 88.8f, INFINITY},
                {KERNEL_EXP, -104, 0},
                {KERNEL_EXP, -103.5f, 0x1p-149f},
                {KERNEL_LOG, 1, 0},
                {KERNEL_LOG, 0, -INFINITY},
                {KERNEL_LOG, -0.0f, -INFINITY},
                {KERNEL_LOG, INFINITY, INFINITY},
                {KERNEL_LOG, -1, NAN},
                {KERNEL_LOG, -INFINITY, NAN},
                {KERNEL_TANH, INFINITY, 1},
                {KERNEL_TANH, -INFINITY, -1},
                {KERNEL_TANH, -0.0f, -0.0f},
                {KERNEL_TANH, 0x1p-149f, 0x1p-149f},
                {KERNEL_ERF, INFINITY, 1},
                {KERNEL_ERF, -INFINITY, -1},
                {KERNEL_ERF, -0.0f, -0.0f},
                {KERNEL_SIN, -0.0f, -0.0f},
                {KERNEL_SIN, INFINITY, NAN},
                {KERNEL_SIN, 0x1p-149f, 0x1p-149f},
                {KERNEL_COS, 0, 1},
                {KERNEL_COS, -INFINITY, NAN},
                {KERNEL_RSQRT, 0, INFINITY},
                {KERNEL_RSQRT, INFINITY, 0},
                {KERNEL_RSQRT, 4, 0.5f},
                {KERNEL_RSQRT, -1, NAN}};
    float *x = malloc(2 * BLOCK * sizeof *x), *y = x + BLOCK;
    for (int i = 0; i < FUNCTIONS; i++) {
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            if (rows[r].op != ops[i])
                continue;
            for (int j = 0; j < BLOCK; j++)
                x[j] = rows[r].x;
            call(entries[i], x, y);
            if (isnan(rows[r].y) ? !isnan(y[7]) : memcmp(&y[7], &rows[r].y, 4))
                fail_msg("%s(%a) gives %a, should be %a", kernel_op_table[ops[i]].name, (double)rows[r].x, (double)y[7],
                         (double)rows[r].y);
        }
        for (int j = 0; j < BLOCK; j++)
            x[j] = NAN;
        call(entries[i], x, y);
        assert_true(isnan(y[3]));
    }
    free(x);
}

static char folder[] = "/tmp/test_math-XXXXXX";

static int tear_down(void **state) {
    (void)state;
    cache_prune(0);
    return rmdir(folder);
}

static int set_up(void **state) {
    (void)state;
    if (getenv("TILEC_QUICK")) /* valgrind knows no AVX-512 */
        setenv("TILEC_CC", "cc -mno-avx512f", 0);
    if (!mkdtemp(folder) || setenv("TILEC_CACHE", folder, 1))
        return -1;
    for (int i = 0; i < FUNCTIONS; i++) {
        entries[i] = compile(ops[i], LANES);
        scalar_entries[i] = compile(ops[i], 1);
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_special_values), cmocka_unit_test(test_scalar_is_vector),
                                       cmocka_unit_test(test_accuracy)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
