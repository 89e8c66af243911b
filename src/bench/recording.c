/* Recorded launches: graphs of the device's own, between two of its marks; or batches. */
#include "bench/recording.h"
#include "bench/clock.h"
#include <stdlib.h>

enum { GRAPH_LAUNCHES = 512 };

bool recording_fits(const runtime *r) {
    return r->streams || r->batch;
}

const char *recording_clock(const runtime *r) {
    return r->streams ? CLOCK_DEVICE_NAME : CLOCK_NAME;
}

static void **set_there(const recording *r, int64_t set) {
    return &r->there[set * r->work->arrays.count];
}

/* The arrays that are timed; what is checked goes through the host's. */
static bool bring_there(recording *r, diag_list *diags) {
    bench_work *w = r->work;
    const runtime_streams *q = r->runtime->streams;
    if (r->there)
        return true;
    if (!(r->there = calloc((size_t)(w->arrays.count * w->sets) + 1, sizeof *r->there))) {
        diag_error(diags, "E0648", (source_span){0}, "no memory for an arm");
        return false;
    }
    for (int64_t s = 0; s < w->sets; s++)
        for (int n = 0; n < w->arrays.count; n++) {
            int64_t bytes = w->arrays.at[n].shape.bytes;
            void **there = &set_there(r, s)[n];
            if (!q && (*there = r->runtime->batch->adopt(r->device, work_at(w, n, s), bytes)))
                continue; /* on the very memory that other arms have: a copy would take its place in the caches */
            r->copied = true;
            if (!(*there = r->runtime->allocate(r->device, bytes, diags)) ||
                !(q ? q->copy_in(r->device, NULL, *there, work_at(w, n, s), bytes, diags)
                    : r->runtime->copy_in(r->device, *there, work_at(w, n, s), bytes, diags)))
                return false;
        }
    return !q || q->wait(r->device, NULL, diags);
}

/* With what happens only once. */
static bool launch_first(recording *r, diag_list *diags) {
    for (int64_t s = 0; s < r->work->sets; s++)
        if (!r->enqueue(r->context, set_there(r, s), true, diags))
            return false;
    return true;
}

static bool run_batch(recording *r, int64_t first_set, int64_t count, double *nanoseconds, diag_list *diags) {
    if (!r->launched && !(r->launched = launch_first(r, diags)))
        return false;
    double start = clock_now_ns();
    bool good = true;
    r->runtime->batch->begin(r->device);
    for (int64_t i = 0; good && i < count; i++)
        good = r->enqueue(r->context, set_there(r, (first_set + i) % r->work->sets), false, diags);
    good = r->runtime->batch->end(r->device, diags) && good;
    *nanoseconds = clock_now_ns() - start;
    return good;
}

static bool record(recording *r, int64_t first_set, int64_t length, diag_list *diags) {
    const runtime_streams *q = r->runtime->streams;
    int64_t sets = r->work->sets;
    bool good = true;
    if (!launch_first(r, diags) || !q->record(r->device, diags))
        return false;
    for (int64_t i = 0; good && i < length; i++)
        good = r->enqueue(r->context, set_there(r, (first_set + i) % sets), false, diags);
    r->graph = q->recorded(r->device, diags);
    r->graph_first = first_set;
    r->graph_count = length;
    return good && r->graph;
}

bool recording_run(recording *r, int64_t first_set, int64_t count, double *nanoseconds, diag_list *diags) {
    if (!bring_there(r, diags))
        return false;
    if (!r->runtime->streams)
        return run_batch(r, first_set, count, nanoseconds, diags);
    const runtime_streams *q = r->runtime->streams;
    device *d = r->device;
    int64_t sets = r->work->sets, turn = sets < GRAPH_LAUNCHES ? GRAPH_LAUNCHES / sets * sets : sets,
            length = count < turn ? count : turn;
    first_set %= sets;
    if (r->graph && (r->graph_first != first_set || r->graph_count != length)) {
        q->forget(d, r->graph);
        r->graph = NULL;
    }
    if (!r->graph && !record(r, first_set, length, diags))
        return false;
    double milliseconds = 0;
    int64_t times = (count + length - 1) / length;
    if (!q->replay(d, r->graph, diags) || !q->wait(d, NULL, diags)) /* the first launch of a graph brings it to the device */
        return false;
    void *begin = q->mark(d, NULL, diags), *end = NULL;
    bool good = begin != NULL;
    for (int64_t i = 0; good && i < times; i++)
        good = q->replay(d, r->graph, diags);
    good = good && (end = q->mark(d, NULL, diags)) && q->between(d, begin, end, &milliseconds, diags);
    q->unmark(d, begin);
    q->unmark(d, end);
    *nanoseconds = milliseconds * 1e6 * (double)count / (double)(times * length);
    return good;
}

void recording_close(recording *r) {
    if (r->graph)
        r->runtime->streams->forget(r->device, r->graph);
    for (int64_t i = 0; r->there && i < r->work->arrays.count * r->work->sets; i++)
        r->runtime->release(r->device, r->there[i]);
    free(r->there);
    r->there = NULL;
    r->graph = NULL;
}
