/* Launches on a device with queues, timed by its own clock: recorded once over buffer sets in the device's memory, and replayed. */
#ifndef TILEC_BENCH_RECORDING_H
#define TILEC_BENCH_RECORDING_H
#include "bench/work.h"

typedef struct recording {
    const runtime *runtime; /* with streams */
    device *device;
    bench_work *work;
    /* Enqueues one launch over device memory, by the work's arrays, on the device's own queue. `first`: none of this set was launched yet. */
    bool (*enqueue)(void *context, void *const *there, bool first, diag_list *diags);
    void *context;
    /* Every array of every set in the device's memory, and the last recorded launches. */
    void **there; /* [set][array] */
    void *graph;
    int64_t graph_first, graph_count;
} recording;

/* `count` launches of the sets in turn, from first_set on; nothing but the device is timed. False with diagnostics. */
bool recording_run(recording *r, int64_t first_set, int64_t count, double *nanoseconds, diag_list *diags);
void recording_close(recording *r); /* one that never ran is allowed */
#endif
