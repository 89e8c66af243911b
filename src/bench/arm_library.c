/* OpenBLAS as an arm, opened when it is there. Which call does the work follows from the shapes: whether that is what the kernel
 * means, the value check decides, as for every arm. */
#include "bench/arm.h"
#include "bench/clock.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, AS_IT_IS = 111, TRANSPOSED = 112 };
typedef void (*sgemm_function)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                               const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*sgemv_function)(int order, int ta, int m, int n, float alpha, const float *a, int lda, const float *x, int incx,
                               float beta, float *y, int incy);

typedef struct library_arm {
    bench_work *work;
    sgemm_function sgemm;
    sgemv_function sgemv;
    bool vector; /* matrix by vector */
    int a, b, c; /* arrays: of the work; a is the matrix of a matrix-vector product */
    int ta, tb, m, n, k, lda, ldb;
} library_arm;

static bool run_library(bench_arm *arm, int64_t first_set, int64_t count, double *nanoseconds, diag_list *diags) {
    const library_arm *l = arm->state;
    const bench_work *w = l->work;
    (void)diags;
    double start = clock_now_ns();
    for (int64_t i = 0; i < count; i++) {
        int64_t set = (first_set + i) % w->sets;
        const float *a = (const float *)(const void *)work_at(w, l->a, set),
                    *b = (const float *)(const void *)work_at(w, l->b, set);
        float *c = (float *)(void *)work_at(w, l->c, set);
        if (l->vector)
            l->sgemv(ROW_MAJOR, l->ta, l->m, l->n, 1, a, l->lda, b, 1, 0, c, 1);
        else
            l->sgemm(ROW_MAJOR, l->ta, l->tb, l->m, l->n, l->k, 1, a, l->lda, b, l->ldb, 0, c, l->n);
    }
    *nanoseconds = clock_now_ns() - start;
    return true;
}

static void close_library(bench_arm *arm) {
    free(arm->state); /* the library stays: its threads do not survive being closed */
}

static const bench_arm_kind library_kind = {"library", run_library, close_library};

/* dlsym gives a data pointer; the copy is how POSIX turns it into a function's. */
static void find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

static const work_array *plain(const bench_work *w, int array, int rank) {
    const work_array *x = &w->arrays.at[array];
    return x->shape.type == ELEMENT_F32 && x->declared->rank == rank && x->shape.rank == rank ? x : NULL;
}

static bool same(const work_array *x, int i, const work_array *y, int j) {
    return ix_equal(x->declared->dims[i], y->declared->dims[j]);
}

/* c[m, n] = sum over k of a (m with k, either order) and b (k with n, either order). */
static bool fits_product(library_arm *l, int ia, int ib, int ic) {
    const bench_work *w = l->work;
    const work_array *a = plain(w, ia, 2), *b = plain(w, ib, 2), *c = plain(w, ic, 2);
    for (int i = 0; a && b && c && i < 4; i++) {
        int ma = i & 1, nb = i >> 1 ^ 1; /* where m stands in a, and n in b: first the plain order of both */
        if (!same(a, ma, c, 0) || !same(b, nb, c, 1) || !same(a, 1 - ma, b, 1 - nb))
            continue;
        *l = (library_arm){.work = l->work,
                           .sgemm = l->sgemm,
                           .sgemv = l->sgemv,
                           .a = ia,
                           .b = ib,
                           .c = ic,
                           .ta = ma ? TRANSPOSED : AS_IT_IS,
                           .tb = nb ? AS_IT_IS : TRANSPOSED,
                           .m = (int)c->shape.dims[0],
                           .n = (int)c->shape.dims[1],
                           .k = (int)a->shape.dims[1 - ma],
                           .lda = (int)a->shape.dims[1],
                           .ldb = (int)b->shape.dims[1]};
        return true;
    }
    return false;
}

static bool fits_vector(library_arm *l, int ia, int ib, int ic) {
    const bench_work *w = l->work;
    const work_array *a = plain(w, ia, 2), *x = plain(w, ib, 1), *y = plain(w, ic, 1);
    for (int i = 0; a && x && y && i < 2; i++) {
        if (!same(a, i, y, 0) || !same(a, 1 - i, x, 0))
            continue;
        *l = (library_arm){.work = l->work,
                           .sgemm = l->sgemm,
                           .sgemv = l->sgemv,
                           .vector = true,
                           .a = ia,
                           .b = ib,
                           .c = ic,
                           .ta = i ? TRANSPOSED : AS_IT_IS,
                           .m = (int)a->shape.dims[0],
                           .n = (int)a->shape.dims[1],
                           .lda = (int)a->shape.dims[1]};
        return true;
    }
    return false;
}

static bool fits(library_arm *l) {
    const bench_work *w = l->work;
    if (w->arrays.count != 3 || w->scalars.count || w->arrays.at[2].declared->role != ARRAY_OUT)
        return false;
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < w->arrays.at[i].shape.rank; d++)
            if (w->arrays.at[i].shape.dims[d] > INT_MAX || w->arrays.at[i].shape.dims[d] < 1)
                return false;
    return fits_product(l, 0, 1, 2) || fits_product(l, 1, 0, 2) || fits_vector(l, 0, 1, 2) || fits_vector(l, 1, 0, 2);
}

bool arm_open_library(bench_arm *arm, bench_work *w, bool *unsupported, diag_list *diags) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    /* Overrides of these two halve it on some machines: a comparison wants its own choice. They are read when it is opened. */
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    void *library = NULL;
    for (int i = 0; !library && i < 2; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    library_arm *l = library ? calloc(1, sizeof *l) : NULL;
    if (!l) {
        *unsupported = true;
        diag *g = diag_error(diags, "E1013", (source_span){0}, "OpenBLAS cannot be opened: %s", dlerror());
        diag_note(diags, g, "Debian, Ubuntu: apt-get install libopenblas0-pthread");
        return false;
    }
    void (*set_threads)(int);
    char *(*core)(void), *(*config)(void);
    find(library, "cblas_sgemm", &l->sgemm);
    find(library, "cblas_sgemv", &l->sgemv);
    find(library, "openblas_set_num_threads", &set_threads);
    find(library, "openblas_get_corename", &core);
    find(library, "openblas_get_config", &config);
    l->work = w;
    if (!l->sgemm || !l->sgemv || !set_threads || !fits(l)) {
        *unsupported = true;
        diag_error(diags, "E1013", (source_span){0},
                   "OpenBLAS has no call for %s: it does f32 products of two matrices, or of a matrix and a vector", w->name);
        free(l);
        return false;
    }
    set_threads(w->threads);
    arm->kind = &library_kind;
    arm->state = l;
    arm->foreign = true;
    json_object_set_new(arm->description, "version", json_string(config ? config() : "?"));
    json_object_set_new(arm->description, "chosen",
                        json_sprintf("%s, kernels for %s", l->vector ? "cblas_sgemv" : "cblas_sgemm", core ? core() : "?"));
    return true;
}
