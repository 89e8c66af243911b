/* tilec bench: a stopgap until the measuring lab. Elementwise and matrix-vector kernels beside a copy loop, f32 products beside OpenBLAS;
 * paired rounds A B B A, the median of the ratios. */
#define _XOPEN_SOURCE 700
#include "command/library.h"
#include "run/recipe.h"
#include "run/session.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the other side: a copy loop over threads ---- */

typedef struct copy_part {
    float *to;
    const float *from;
    int64_t count;
} copy_part;

/* A plain loop: without the barrier the compiler would turn it into memcpy, which passes the cache by and is another thing. */
static void *copy_loop(void *context) {
    copy_part *p = context;
    enum { STEP = 64 };
    int64_t i = 0;
    for (; i + STEP <= p->count; i += STEP) {
        float part[STEP];
        memcpy(part, p->from + i, sizeof part);
        memcpy(p->to + i, part, sizeof part);
        __asm__ volatile("" ::: "memory");
    }
    for (; i < p->count; i++)
        p->to[i] = p->from[i];
    return NULL;
}

typedef struct copier {
    float *to, *from;
    int64_t count;
    int threads;
} copier;

static bool run_copy(void *context) {
    copier *c = context;
    pthread_t other[64];
    copy_part parts[64];
    int threads = c->threads > 64 ? 64 : c->threads, started = 0;
    for (int t = 0; t < threads; t++) {
        int64_t from = c->count * t / threads, to = c->count * (t + 1) / threads;
        parts[t] = (copy_part){c->to + from, c->from + from, to - from};
    }
    for (int t = 1; t < threads; t++, started++)
        if (pthread_create(&other[t], NULL, copy_loop, &parts[t]))
            break;
    copy_loop(&parts[0]);
    for (int t = 1; t <= started; t++)
        pthread_join(other[t], NULL);
    for (int t = started + 1; t < threads; t++)
        copy_loop(&parts[t]);
    return true;
}

/* ---- pairing ---- */

typedef struct arm {
    bool (*run)(void *context);
    void *context;
} arm;

typedef struct paired {
    double ratio, low, high;     /* B's time over A's: above 1, A is faster; median, and the second and second last round */
    double a_ms, b_ms;           /* medians */
} paired;

static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Time of one run, repeated until a millisecond or so has passed, so that the clock does not matter. */
static double time_arm(arm a, int repeats) {
    double start = command_now_ms();
    for (int i = 0; i < repeats; i++)
        if (!a.run(a.context))
            return -1;
    return (command_now_ms() - start) / repeats;
}

static bool measure(arm a, arm b, int rounds, paired *out) {
    enum { MOST = 101 };
    double ratios[MOST], as[MOST], bs[MOST];
    rounds = rounds > MOST ? MOST : rounds < 3 ? 3 : rounds;
    double once_a = time_arm(a, 1), once_b = time_arm(b, 1); /* warm */
    once_a = time_arm(a, 1);
    once_b = time_arm(b, 1);
    if (once_a < 0 || once_b < 0)
        return false;
    int repeat_a = once_a < 2 ? (int)(2 / (once_a > 1e-3 ? once_a : 1e-3)) + 1 : 1;
    int repeat_b = once_b < 2 ? (int)(2 / (once_b > 1e-3 ? once_b : 1e-3)) + 1 : 1;
    for (int i = 0; i < rounds; i++) {
        double a1 = time_arm(a, repeat_a), b1 = time_arm(b, repeat_b), b2 = time_arm(b, repeat_b), a2 = time_arm(a, repeat_a);
        if (a1 < 0 || b1 < 0 || b2 < 0 || a2 < 0)
            return false;
        as[i] = (a1 + a2) / 2;
        bs[i] = (b1 + b2) / 2;
        ratios[i] = bs[i] / as[i];
    }
    qsort(ratios, (size_t)rounds, sizeof *ratios, by_value);
    qsort(as, (size_t)rounds, sizeof *as, by_value);
    qsort(bs, (size_t)rounds, sizeof *bs, by_value);
    *out = (paired){ratios[rounds / 2], ratios[1], ratios[rounds - 2], as[rounds / 2], bs[rounds / 2]};
    return true;
}

/* ---- our side: a prepared call ---- */

typedef struct bench {
    report *report;
    session *session;
    int threads, rounds;
    kernel_library library;
    json_t *list;
} bench;

static bool run_call_arm(void *context) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    bool good = call_run(context, &diags);
    if (!good)
        diag_print_all(&diags, stderr, false);
    arena_free(a);
    return good;
}

static run_call *prepare(bench *b, const char *kernel, const tile_binding *symbols, int count) {
    diag_list *diags = &b->report->diags;
    const tile_module *m = library_find(&b->library, kernel, diags);
    run_call *c = m ? call_new(b->session, m, kernel, diags) : NULL;
    bool good = c != NULL;
    for (int i = 0; good && i < count; i++)
        good = call_set_symbol(c, symbols[i].name, symbols[i].value, diags);
    good = good && call_solve(c, diags);
    for (int i = 0; good && i < c->arrays.count; i++) {
        call_array *x = &c->arrays.at[i];
        if (x->declared->role == ARRAY_OUT)
            continue;
        good = call_allocate(c, i, diags);
        if (good)
            recipe_fill(RECIPE_RANDOM, 7 + (uint64_t)i, x->host.type, 0, x->host.cells, x->host.data);
    }
    for (int i = 0; good && i < c->scalars.count; i++)
        good = call_bind_scalar(c, c->scalars.at[i].declared->name, 1, diags);
    if (good && call_prepare(c, diags))
        return c;
    report_flush(b->report);
    call_free(c);
    return NULL;
}

/* GB/s that move when `kernel` runs, beside the copy loop's. */
static bool bandwidth_row(bench *b, const char *kernel, const tile_binding *symbols, int count) {
    run_call *c = prepare(b, kernel, symbols, count);
    if (!c)
        return false;
    double bytes = 0;
    for (int i = 0; i < c->arrays.count; i++)
        bytes += (double)c->arrays.at[i].host.bytes * (c->arrays.at[i].declared->role == ARRAY_UPDATE ? 2 : 1);
    int64_t floats = (int64_t)(bytes / 2 / sizeof(float)) / 64 * 64; /* the loop reads half and writes half */
    copier other = {NULL, NULL, floats, b->threads};
    other.to = aligned_alloc(64, (size_t)floats * sizeof(float) + 64 - (size_t)floats * sizeof(float) % 64);
    other.from = aligned_alloc(64, (size_t)floats * sizeof(float) + 64 - (size_t)floats * sizeof(float) % 64);
    paired p = {0};
    bool good = other.to && other.from;
    if (good) {
        recipe_fill(RECIPE_RANDOM, 3, ELEMENT_F32, 0, floats, other.from);
        memset(other.to, 1, (size_t)floats * sizeof(float));
        good = measure((arm){run_call_arm, c}, (arm){run_copy, &other}, b->rounds, &p);
    }
    if (good && !b->report->json)
        printf("%-18s %-26s %8.1f GB/s  copy loop %8.1f GB/s  %5.2f of it (%.2f to %.2f)  %s\n", kernel, binding_text(&c->binding),
               bytes / p.a_ms / 1e6, bytes / p.b_ms / 1e6, p.ratio, p.low, p.high, p.ratio >= 0.8 ? "" : "below 0.80");
    if (good)
        json_array_append_new(b->list, json_pack("{s:s, s:s, s:f, s:f, s:f}", "kernel", kernel, "shape", binding_text(&c->binding),
                                                 "gigabytes_a_second", bytes / p.a_ms / 1e6, "copy_loop", bytes / p.b_ms / 1e6, "ratio", p.ratio));
    fflush(stdout);
    free(other.to);
    free(other.from);
    call_free(c);
    return good;
}

/* ---- OpenBLAS ---- */

typedef void (*sgemm_function)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb,
                               float beta, float *c, int ldc);
typedef struct blas {
    sgemm_function sgemm;
    void (*set_threads)(int);
    char *(*core)(void);
    char *(*config)(void);
} blas;

typedef struct blas_arm {
    const blas *blas;
    int m, n, k;
    const float *a, *b;
    float *c;
} blas_arm;

static bool run_blas(void *context) {
    const blas_arm *x = context;
    enum { ROW_MAJOR = 101, AS_IT_IS = 111 };
    x->blas->sgemm(ROW_MAJOR, AS_IT_IS, AS_IT_IS, x->m, x->n, x->k, 1, x->a, x->k, x->b, x->n, 0, x->c, x->n);
    return true;
}

/* dlsym gives a data pointer; the copy is how POSIX turns it into a function's. */
static void find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

static bool open_blas(blas *out) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    void *library = NULL;
    for (int i = 0; !library && i < 2; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    find(library, "cblas_sgemm", &out->sgemm);
    find(library, "openblas_set_num_threads", &out->set_threads);
    find(library, "openblas_get_corename", &out->core);
    find(library, "openblas_get_config", &out->config);
    return out->sgemm && out->set_threads;
}

static bool product_row(bench *b, const blas *lib, int m, int n, int k) {
    tile_binding symbols[] = {{"M", m}, {"N", n}, {"K", k}};
    run_call *c = prepare(b, "matmul_f32", symbols, 3);
    if (!c)
        return false;
    float *result = malloc(sizeof *result * (size_t)m * (size_t)n);
    blas_arm other = {lib, m, n, k, c->arrays.at[0].host.data, c->arrays.at[1].host.data, result};
    paired p = {0};
    double flop = 2.0 * m * n * k;
    char shape[48];
    snprintf(shape, sizeof shape, "%d x %d x %d", m, n, k);
    bool good = result && measure((arm){run_call_arm, c}, lib->sgemm ? (arm){run_blas, &other} : (arm){run_call_arm, c}, b->rounds, &p);
    if (good && lib->sgemm) {
        if (!b->report->json)
            printf("matmul_f32         %-26s %8.1f GFLOP/s  OpenBLAS %8.1f GFLOP/s  %5.2f of it (%.2f to %.2f)  %s\n", shape,
                   flop / p.a_ms / 1e6, flop / p.b_ms / 1e6, p.ratio, p.low, p.high, p.ratio >= 0.5 ? "" : "below 0.50");
        json_array_append_new(b->list, json_pack("{s:s, s:s, s:i, s:f, s:f, s:f}", "kernel", "matmul_f32", "shape", shape, "threads", b->threads,
                                                 "gigaflops", flop / p.a_ms / 1e6, "openblas", flop / p.b_ms / 1e6, "ratio", p.ratio));
    } else if (good && !b->report->json) {
        printf("matmul_f32         %-26s %8.1f GFLOP/s\n", shape, flop / p.a_ms / 1e6);
    }
    fflush(stdout);
    free(result);
    call_free(c);
    return good;
}

static bool bench_threads(bench *b, const blas *lib, int threads, bool bandwidth) {
    char text[16];
    snprintf(text, sizeof text, "%d", threads);
    setenv("TILEC_THREADS", text, 1);
    b->threads = threads;
    b->session = session_open("cpu", &b->report->diags);
    if (!b->session)
        return false;
    if (!b->report->json)
        printf("\n%d thread%s\n", threads, threads == 1 ? "" : "s");
    static const tile_binding large[] = {{"N", 4194304}}, wide[] = {{"K", 1536}, {"N", 8960}}, tall[] = {{"K", 8960}, {"N", 1536}};
    bool good = true;
    if (bandwidth) {
        static const char *const elementwise[] = {"vec_add", "vec_mul", "vec_exp", "residual_add"};
        for (int i = 0; i < 4; i++)
            good = bandwidth_row(b, elementwise[i], large, 1) && good;
        good = bandwidth_row(b, "gate_up_silu", wide, 2) && good;
        good = bandwidth_row(b, "gate_up_silu_f32", wide, 2) && good;
        good = bandwidth_row(b, "down_proj", tall, 2) && good;
    }
    if (lib->sgemm)
        lib->set_threads(threads);
    static const int sizes[][3] = {{64, 64, 64},    {128, 128, 128}, {256, 256, 256},   {512, 512, 512},
                                   {1024, 1024, 1024}, {1000, 777, 333}, {256, 4096, 1024}};
    for (int i = 0; i < 7; i++)
        good = product_row(b, lib, sizes[i][0], sizes[i][1], sizes[i][2]) && good;
    session_close(b->session);
    b->session = NULL;
    return good;
}

int command_bench(const command_line *line) {
    report r;
    report_begin(&r, line);
    int64_t rounds = 9, only = 0;
    bench b = {.report = &r, .list = json_array()};
    bool held = (!option_given(line, "--rounds") || option_integer("--rounds", option_value(line, "--rounds"), &rounds, &r.diags)) &&
                (!option_given(line, "--threads") || option_integer("--threads", option_value(line, "--threads"), &only, &r.diags)) &&
                library_load(&r, &b.library);
    b.rounds = (int)(rounds > 101 ? 101 : rounds);
    /* Overrides of these two halve OpenBLAS on some machines: a comparison wants its own choice. They are read when it is opened. */
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    blas lib = {0};
    bool has = held && open_blas(&lib);
    if (held && !r.json) {
        if (has)
            printf("OpenBLAS: %s, kernels for %s; OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE unset\n", lib.config ? lib.config() : "?",
                   lib.core ? lib.core() : "?");
        else
            printf("OpenBLAS is not installed (libopenblas0-pthread): matrix products stand alone\n");
        printf("pairs A B B A, %d rounds; the median of the ratios (and the range without its two ends)\n", b.rounds);
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (held && only > 0)
        held = bench_threads(&b, &lib, (int)(only > 64 ? 64 : only), true);
    else if (held) {
        held = bench_threads(&b, &lib, 1, true);
        held = (cores < 2 || bench_threads(&b, &lib, (int)(cores > 64 ? 64 : cores), true)) && held;
    }
    if (r.json)
        json_object_set(r.json, "rows", b.list);
    json_decref(b.list);
    return report_end(&r, held);
}
