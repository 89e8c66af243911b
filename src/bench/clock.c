/* The clock, and waiting for quiet. */
#define _GNU_SOURCE
#include "bench/clock.h"
#include <time.h>

double clock_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double clock_used_ns(pid_t process) {
    clockid_t id = CLOCK_PROCESS_CPUTIME_ID;
    struct timespec t;
    if ((process && clock_getcpuclockid(process, &id)) || clock_gettime(id, &t))
        return -1;
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double used_by_all(const pid_t *others, int count) {
    double used = clock_used_ns(0);
    for (int i = 0; i < count; i++) {
        double one = others[i] > 0 ? clock_used_ns(others[i]) : 0;
        used += one > 0 ? one : 0;
    }
    return used;
}

void clock_settle(const pid_t *others, int count) {
    const struct timespec nap = {0, 500000};
    double end = clock_now_ns() + 100e6;
    for (;;) {
        double now = clock_now_ns(), used = used_by_all(others, count);
        nanosleep(&nap, NULL);
        double waited = clock_now_ns() - now;
        if (used_by_all(others, count) - used < 0.2 * waited || clock_now_ns() > end)
            return;
    }
}
