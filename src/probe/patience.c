#define _GNU_SOURCE
#include "probe/patience.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS_A_SECOND = 4 };
static int limit;                   /* seconds; 0: nobody watches */
static _Atomic int64_t waits_since; /* by the monotonic clock, in nanoseconds; 0: nothing is waited for */

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + 1;
}

static void *watch(void *unused) {
    const struct timespec pause = {0, 1000000000 / LOOKS_A_SECOND};
    for (;;) {
        nanosleep(&pause, NULL);
        int64_t since = atomic_load(&waits_since);
        if (since && now() - since > (int64_t)limit * 1000000000)
            break;
    }
    fprintf(stderr, "error E1208: the device has not answered a question for %d s (--patience): nothing is recorded\n", limit);
    fflush(stderr);
    kill(getpid(), SIGTERM);
    return unused;
}

bool patience_begin(int seconds) {
    pthread_t thread;
    limit = seconds;
    return !pthread_create(&thread, NULL, watch, NULL) && !pthread_detach(thread);
}

void patience_starts(void) {
    if (limit)
        atomic_store(&waits_since, now());
}

bool patience_ends(bool answered) {
    atomic_store(&waits_since, 0);
    return answered;
}
