/* Threads at work at once: contexts of their own, one context together, the same kernels and different ones, failures among them, all on one
 * cache that begins empty. Built and run by threads.sh under ThreadSanitizer. Prints `ok NAME` and `FAIL NAME` lines. */
#include <tilec.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "kernel add(a: f32[N], b: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = a[i] + b[i] } }\n"
    "kernel twice(a: f32[N], b: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = 2 * (a[i] + b[i]) } }\n"
    "kernel scale(a: f32[N], b: f32[N]) -> (y: f32[N]) static F { for tile y[i: B] { y[i] = F * (a[i] + b[i]) } }\n";

enum { THREADS = 2, ROUNDS = 20, LENGTH = 3000 };

typedef struct work {
    int number;
    tilec_context *context; /* NULL: opens one of its own */
    tilec_module *module;
    bool good;
    char why[2048];
} work;

static bool failed(work *w, const char *what, tilec_context *t) {
    snprintf(w->why, sizeof w->why, "%s: %s", what, t ? tilec_error(t) : "");
    return false;
}

/* One kernel at a few shapes, every element compared. */
static bool run_kernel(work *w, tilec_context *t, tilec_module *m, const char *name, float factor) {
    tilec_call *c = tilec_call_new(m, name);
    static _Thread_local float a[LENGTH], b[LENGTH], y[LENGTH];
    if (!c)
        return failed(w, "call", t);
    if (strcmp(name, "scale") == 0 && !tilec_set_symbol(c, "F", (int64_t)factor))
        return failed(w, "static", t);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t n = (round * 977 + w->number * 331) % LENGTH;
        for (int64_t i = 0; i < n; i++) {
            a[i] = (float)((i + round) % 50);
            b[i] = (float)((i * w->number) % 50);
            y[i] = -1;
        }
        if (!tilec_bind_array(c, "a", TILEC_F32, 1, &n, a) || !tilec_bind_array(c, "b", TILEC_F32, 1, &n, b) ||
            !tilec_bind_array(c, "y", TILEC_F32, 1, &n, y) || !tilec_launch(c))
            return failed(w, name, t);
        for (int64_t i = 0; i < n; i++)
            if (y[i] != factor * (a[i] + b[i])) {
                snprintf(w->why, sizeof w->why, "%s: element %lld of %lld is %g", name, (long long)i, (long long)n, (double)y[i]);
                return false;
            }
    }
    tilec_symbol s = {.size = sizeof s};
    if (!tilec_symbol_at(c, 0, &s) || !s.is_known)
        return failed(w, "symbols", t);
    tilec_call_free(c);
    return true;
}

/* Each thread is told of its own failures, whatever the other does meanwhile. */
static bool fail_alone(work *w, tilec_context *t) {
    char bad[64], place[64];
    snprintf(bad, sizeof bad, "wrong%d.tile", w->number);
    snprintf(place, sizeof place, "wrong%d.tile:1:", w->number);
    for (int i = 0; i < ROUNDS; i++) {
        if (tilec_load_text(t, bad, "kernel k("))
            return failed(w, "a wrong text was taken", NULL);
        tilec_diagnostic d = {.size = sizeof d};
        if (!strstr(tilec_error(t), place) || !tilec_diagnostic_at(t, 0, &d) || strcmp(d.file, bad) != 0)
            return failed(w, "another's failure", t);
    }
    return true;
}

static void *run(void *argument) {
    work *w = argument;
    tilec_context *t = w->context ? w->context : tilec_open(NULL);
    tilec_module *m = w->module ? w->module : tilec_load_text(t, "threads.tile", text);
    w->good = tilec_ready(t) && m;
    if (!w->good)
        failed(w, "open", t);
    w->good = w->good && run_kernel(w, t, m, "add", 1) && run_kernel(w, t, m, w->number ? "twice" : "add", w->number ? 2 : 1) &&
              run_kernel(w, t, m, "scale", (float)(3 + w->number)) && fail_alone(w, t);
    if (w->good && w->context) { /* a module that comes and goes beside the shared one */
        m = tilec_load_text(t, "own.tile", text);
        w->good = m ? run_kernel(w, t, m, "add", 1) : failed(w, "own module", t);
        tilec_module_free(m);
    }
    if (!w->context)
        tilec_close(t);
    return NULL;
}

static int threads_do(const char *name, tilec_context *t, tilec_module *m) {
    pthread_t threads[THREADS];
    work works[THREADS];
    int bad = 0;
    for (int i = 0; i < THREADS; i++) {
        works[i] = (work){.number = i, .context = t, .module = m};
        if (pthread_create(&threads[i], NULL, run, &works[i]))
            abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        if (!works[i].good) {
            bad = 1;
            printf("    thread %d: %s\n", i, works[i].why);
        }
    }
    printf("%s %s\n", bad ? "FAIL" : "ok", name);
    return bad;
}

int main(void) {
    int bad = threads_do("threads with contexts of their own, an empty cache", NULL, NULL);
    bad |= threads_do("threads with contexts of their own, a filled cache", NULL, NULL);
    tilec_context *t = tilec_open(NULL);
    tilec_module *m = tilec_load_text(t, "threads.tile", text);
    if (!m)
        fputs(tilec_error(t), stdout);
    bad |= threads_do("threads that share a context and its kernels", t, m);
    tilec_close(t);
    return bad;
}
