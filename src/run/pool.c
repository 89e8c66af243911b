/* The pool: workers wait for a new generation number, a moment by spinning and then asleep, and take chunks off a shared counter. */
#define _GNU_SOURCE /* sched_getcpu, affinity masks */
#include "run/pool.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

/* About half a millisecond of spinning: a sleeping thread of a virtual machine takes 0.1 ms to wake, which is what a small kernel lasts, and the
 * one that finishes first waits for the other's last task. */
enum { SPINS = 10000, CHUNKS_PER_WORKER = 8 };

typedef struct worker {
    struct pool *pool;
    pthread_t thread;
    int number;
} worker;

struct pool {
    int workers; /* threads + the caller */
    worker *threads;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_uint generation;
    atomic_int running; /* threads that have not finished the current generation */
    atomic_bool stopping;
    atomic_llong next;
    atomic_int processor; /* where the caller was when it announced the generation; -1 when the system does not tell */
    int64_t pieces, chunk;
    pool_work work;
    void *context;
};

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* A worker that woke on the caller's processor would take turns with it, for as long as both last: it moves to another one. */
static void leave_processor_of(const pool *p) {
#ifdef __linux__
    int shared = sched_getcpu();
    cpu_set_t allowed, others;
    if (shared < 0 || shared >= CPU_SETSIZE || shared != atomic_load_explicit(&p->processor, memory_order_relaxed) ||
        sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    others = allowed;
    CPU_CLR(shared, &others);
    if (CPU_COUNT(&others) && !sched_setaffinity(0, sizeof others, &others))
        sched_setaffinity(0, sizeof allowed, &allowed);
#else
    (void)p;
#endif
}

static void take_chunks(pool *p, int number) {
    for (;;) {
        int64_t first = atomic_fetch_add_explicit(&p->next, p->chunk, memory_order_relaxed);
        if (first >= p->pieces)
            return;
        int64_t last = p->pieces - first < p->chunk ? p->pieces : first + p->chunk;
        p->work(p->context, number, first, last);
    }
}

static void *run_worker(void *argument) {
    worker *w = argument;
    pool *p = w->pool;
    unsigned seen = 0;
    for (;;) {
        unsigned now = atomic_load_explicit(&p->generation, memory_order_acquire);
        for (int i = 0; now == seen && i < SPINS; i++) {
            pause_briefly();
            now = atomic_load_explicit(&p->generation, memory_order_acquire);
        }
        if (now == seen) {
            pthread_mutex_lock(&p->lock);
            while ((now = atomic_load_explicit(&p->generation, memory_order_acquire)) == seen)
                pthread_cond_wait(&p->wake, &p->lock);
            pthread_mutex_unlock(&p->lock);
        }
        seen = now;
        if (atomic_load(&p->stopping))
            return NULL;
        leave_processor_of(p);
        take_chunks(p, w->number);
        if (atomic_fetch_sub_explicit(&p->running, 1, memory_order_acq_rel) == 1) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->lock);
        }
    }
}

pool *pool_new(int workers) {
    pool *p = calloc(1, sizeof *p);
    if (!p || !(p->threads = calloc((size_t)(workers > 1 ? workers : 1), sizeof *p->threads))) {
        free(p);
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    p->workers = 1;
    for (int i = 1; i < workers; i++) {
        worker *w = &p->threads[p->workers - 1];
        *w = (worker){.pool = p, .number = p->workers};
        if (pthread_create(&w->thread, NULL, run_worker, w))
            break;
        p->workers++;
    }
    return p;
}

static void announce(pool *p) {
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add_explicit(&p->generation, 1, memory_order_release);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void pool_free(pool *p) {
    if (!p)
        return;
    atomic_store(&p->stopping, true);
    announce(p);
    for (int i = 0; i < p->workers - 1; i++)
        pthread_join(p->threads[i].thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p->threads);
    free(p);
}

int pool_workers(const pool *p) {
    return p->workers;
}

void pool_run(pool *p, int64_t pieces, pool_work work, void *context) {
    if (pieces <= 0)
        return;
    if (pieces == 1 || p->workers == 1) {
        work(context, 0, 0, pieces);
        return;
    }
    p->pieces = pieces;
    p->chunk = pieces / ((int64_t)p->workers * CHUNKS_PER_WORKER);
    p->chunk += !p->chunk;
    p->work = work;
    p->context = context;
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    atomic_store_explicit(&p->running, p->workers - 1, memory_order_relaxed);
#ifdef __linux__
    atomic_store_explicit(&p->processor, sched_getcpu(), memory_order_relaxed);
#endif
    announce(p);
    take_chunks(p, 0);
    for (int i = 0; i < SPINS; i++) {
        if (!atomic_load_explicit(&p->running, memory_order_acquire))
            return;
        pause_briefly();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load_explicit(&p->running, memory_order_acquire))
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}
