/* Launches on a device over buffer sets in its own memory, many to a submission. Devices with queues: recorded once and replayed, timed by the device's own
 * clock. Devices that take batches: by the host's clock, from the first one's submission to the end of the last. */
#ifndef TILEC_BENCH_RECORDING_H
#define TILEC_BENCH_RECORDING_H
#include "bench/work.h"

typedef struct recording {
    const runtime *runtime; /* recording_fits */
    device *device;
    bench_work *work;
    /* Enqueues one launch over device memory, by the work's arrays, on the device's own queue. `first`: none of this set was launched yet, and it may be
     * awaited. */
    bool (*enqueue)(void *context, void *const *there, bool first, diag_list *diags);
    void *context;
    /* Every array of every set in the device's memory, and the last recorded launches. */
    void **there;  /* [set][array] */
    bool copied;   /* some array there is a copy; else all are the work's own memory */
    bool launched; /* of a batch: every set, once */
    void *graph;
    int64_t graph_first, graph_count;
} recording;

bool recording_fits(const runtime *r);
/* CLOCK_DEVICE_NAME or CLOCK_NAME (clock.h). */
const char *recording_clock(const runtime *r);
/* `count` launches of the sets in turn, from first_set on. False with diagnostics. */
bool recording_run(recording *r, int64_t first_set, int64_t count, double *nanoseconds, diag_list *diags);
void recording_close(recording *r); /* one that never ran is allowed */
#endif
