/* The pool: workers wait for a new generation number, a moment by spinning and then asleep, and take chunks off a counter that stands in one word with that number. The
 * caller waits for chunks that others took, and for nobody who comes when all are taken: the number tells such a worker so, whatever the caller began meanwhile. */
#define _GNU_SOURCE /* sched_getcpu, affinity masks */
#include "run/pool.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* About half a millisecond of spinning: a sleeping thread of a virtual machine takes 0.1 ms to wake, which is what a small kernel lasts, and the
 * one that finishes first waits for the other's last task. */
enum { SPINS = 10000, CHUNKS_PER_WORKER = 8, LINE = 64 };

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
    /* On lines of their own: what all look at while they wait, and what the caller writes meanwhile. */
    _Alignas(LINE)
        atomic_ullong claims; /* the generation << 32, and the next chunk of it; an odd one has none and is being prepared */
    _Alignas(LINE) atomic_uint finished; /* chunks of it */
    atomic_bool stopping;
    atomic_int processor; /* where the caller was when it announced the generation; -1 when the system does not tell */
    /* Of the generation. Whoever reads those of another, too late, finds its own closed: its claim fails. */
    atomic_uint chunks;
    atomic_llong pieces, chunk;
    _Atomic(pool_work) work;
    _Atomic(void *) context;
};

static unsigned generation_of(unsigned long long claims) {
    return (unsigned)(claims >> 32);
}

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

static void take_chunks(pool *p, int number, unsigned generation) {
    const unsigned chunks = atomic_load_explicit(&p->chunks, memory_order_acquire);
    const int64_t pieces = atomic_load_explicit(&p->pieces, memory_order_acquire),
                  chunk = atomic_load_explicit(&p->chunk, memory_order_acquire);
    const pool_work work = atomic_load_explicit(&p->work, memory_order_acquire);
    void *context = atomic_load_explicit(&p->context, memory_order_acquire);
    unsigned long long at = atomic_load_explicit(&p->claims, memory_order_acquire);
    unsigned done = 0;
    while (generation_of(at) == generation && (unsigned)at < chunks) {
        if (!atomic_compare_exchange_weak_explicit(&p->claims, &at, at + 1, memory_order_acq_rel, memory_order_acquire))
            continue;
        int64_t first = (int64_t)(unsigned)at * chunk, last = pieces - first < chunk ? pieces : first + chunk;
        work(context, number, first, last);
        done++;
        at = atomic_load_explicit(&p->claims, memory_order_acquire);
    }
    if (number && done && atomic_fetch_add_explicit(&p->finished, done, memory_order_acq_rel) + done == chunks) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_signal(&p->done);
        pthread_mutex_unlock(&p->lock);
    } else if (!number) {
        atomic_fetch_add_explicit(&p->finished, done, memory_order_acq_rel);
    }
}

/* The generation, or `seen` where there is none to take part in. */
static unsigned new_generation(pool *p, unsigned seen) {
    const unsigned now = generation_of(atomic_load_explicit(&p->claims, memory_order_acquire));
    return now & 1 ? seen : now;
}

static void *run_worker(void *argument) {
    worker *w = argument;
    pool *p = w->pool;
    unsigned seen = 0;
    for (;;) {
        unsigned now = new_generation(p, seen);
        for (int i = 0; now == seen && i < SPINS; i++) {
            pause_briefly();
            now = new_generation(p, seen);
        }
        if (now == seen) {
            pthread_mutex_lock(&p->lock);
            while ((now = new_generation(p, seen)) == seen)
                pthread_cond_wait(&p->wake, &p->lock);
            pthread_mutex_unlock(&p->lock);
        }
        seen = now;
        if (atomic_load(&p->stopping))
            return NULL;
        leave_processor_of(p);
        take_chunks(p, w->number, now);
    }
}

pool *pool_new(int workers) {
    pool *p = aligned_alloc(LINE, sizeof *p);
    if (p)
        memset(p, 0, sizeof *p);
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

/* Nothing more can be claimed of the last generation; before what it was is written over. */
static void close_generation(pool *p) {
    const unsigned odd = generation_of(atomic_load_explicit(&p->claims, memory_order_relaxed)) | 1;
    atomic_store_explicit(&p->claims, (unsigned long long)odd << 32, memory_order_relaxed);
}

static unsigned announce(pool *p) {
    pthread_mutex_lock(&p->lock);
    const unsigned next = (generation_of(atomic_load_explicit(&p->claims, memory_order_relaxed)) | 1) + 1;
    atomic_store_explicit(&p->claims, (unsigned long long)next << 32, memory_order_release);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    return next;
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
    int64_t chunk = pieces / ((int64_t)p->workers * CHUNKS_PER_WORKER);
    chunk += !chunk;
    const unsigned chunks = (unsigned)((pieces - 1) / chunk + 1);
    close_generation(p);
    atomic_store_explicit(&p->pieces, pieces, memory_order_release);
    atomic_store_explicit(&p->chunk, chunk, memory_order_release);
    atomic_store_explicit(&p->chunks, chunks, memory_order_release);
    atomic_store_explicit(&p->work, work, memory_order_release);
    atomic_store_explicit(&p->context, context, memory_order_release);
    atomic_store_explicit(&p->finished, 0, memory_order_relaxed);
#ifdef __linux__
    atomic_store_explicit(&p->processor, sched_getcpu(), memory_order_relaxed);
#endif
    take_chunks(p, 0, announce(p));
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&p->finished, memory_order_acquire) == chunks)
            return;
        pause_briefly();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load_explicit(&p->finished, memory_order_acquire) != chunks)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}
