/* This machine's processor as traits see it: one thread that hops through memory. */
#define _GNU_SOURCE
#include "probe/trait.h"
#include "run/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 64 << 20, LEAST_HOPS = 1 << 15 };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint32_t hop(const uint32_t *ring, uint32_t at, int64_t hops, uint32_t behind) {
    const volatile uint32_t *r = ring; /* every load is made */
    for (int64_t i = 0; i < hops && !behind; i++)
        at = r[at];
    for (int64_t i = 0; i < hops && behind; i++)
        at = r[r[at] + behind];
    return at;
}

static bool chase(void *context, int64_t bytes, int slot, int beside, double *ns, diag_list *diags) {
    (void)diags;
    uint32_t *ring = context;
    int64_t hops = bytes / slot > LEAST_HOPS ? bytes / slot : LEAST_HOPS;
    trait_ring(ring, bytes, slot, beside, 1);
    uint32_t at = hop(ring, 0, bytes / slot, (uint32_t)beside / 4);
    double best = 0;
    for (int i = 0; i < 3; i++) {
        double start = seconds();
        at = hop(ring, at, hops, (uint32_t)beside / 4);
        double took = seconds() - start;
        best = i && best < took ? best : took;
    }
    *ns = best / (double)hops * 1e9;
    return true;
}

static int64_t cache_told(void *context, int level) {
    (void)context;
    const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    long bytes = level < 3 ? sysconf(names[level]) : 0;
    return bytes > 0 ? bytes : 0;
}

static void close_cpu(void *context) {
    munmap(context, MOST_BYTES);
}

bool trait_open_cpu(trait_box *out, diag_list *diags) {
    void *ring = mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int index;
    const runtime *r = runtime_find("cpu", &index, diags);
    if (ring == MAP_FAILED || !r) {
        diag_error(diags, "E0803", (source_span){0}, "no memory for a probe");
        return false;
    }
#ifdef MADV_HUGEPAGE
    madvise(ring, MOST_BYTES, MADV_HUGEPAGE); /* translations of small pages would look like another cache */
#endif
    r->describe(index, out->description, sizeof out->description);
    out->context = ring;
    out->most_bytes = MOST_BYTES;
    out->chase = chase;
    out->cache_told = cache_told;
    out->close = close_cpu;
    return true;
}
