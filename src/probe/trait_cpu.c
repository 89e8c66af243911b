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

enum { MOST_BYTES = 64 << 20, LARGE_PAGE = 2 << 20, MAPPED = MOST_BYTES + LARGE_PAGE, LEAST_HOPS = 1 << 15 };

typedef struct memory {
    void *mapped;
    uint32_t *ring; /* at the beginning of a large page */
} memory;

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
    uint32_t *ring = ((memory *)context)->ring;
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
    munmap(((memory *)context)->mapped, MAPPED);
    free(context);
}

bool trait_open_cpu(trait_box *out, diag_list *diags) {
    void *mapped = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory *m = malloc(sizeof *m);
    int index;
    const runtime *r = runtime_find("cpu", &index, diags);
    if (mapped == MAP_FAILED || !m || !r) {
        if (mapped != MAP_FAILED)
            munmap(mapped, MAPPED);
        free(m);
        diag_error(diags, "E0803", (source_span){0}, "no memory for a probe");
        return false;
    }
    /* Translations of small pages would look like another cache, and pages are large where memory begins at a multiple of theirs. */
    char *aligned = (char *)mapped + (LARGE_PAGE - (uintptr_t)mapped % LARGE_PAGE) % LARGE_PAGE;
    *m = (memory){mapped, (uint32_t *)(void *)aligned};
#ifdef MADV_HUGEPAGE
    madvise(aligned, MOST_BYTES, MADV_HUGEPAGE);
#endif
    r->describe(index, out->description, sizeof out->description);
    out->context = m;
    out->most_bytes = MOST_BYTES;
    out->page = (int)sysconf(_SC_PAGESIZE);
    out->chase = chase;
    out->cache_told = cache_told;
    out->close = close_cpu;
    return true;
}
