/* What a device with queues can do at most: kernels of ours that only copy, or only read, timed as the arms are. */
#include "bench/arm.h"
#include "bench/ceilings.h"
#include "compile.h"
#include <math.h>
#include <stdio.h>

static const char source[] = "kernel copy(x: f32[N]) -> (y: f32[N]) {\n"
                             "    for tile y[i: B] { y[i] = x[i] }\n"
                             "}\n"
                             "kernel read(x: f32[R, C]) -> (s: f32[R]) {\n"
                             "    for tile s[r: BR] {\n"
                             "        t: f32[r] = 0\n"
                             "        for c: BC in C { t += sum[c](x[r, c]) }\n"
                             "        s[r] = t\n"
                             "    }\n"
                             "}\n";

enum { ROW = 4096, PASSES = 3, LEAST_LAUNCHES = 16, MOST_LAUNCHES = 512 };
static const double SAMPLE_NS = 4e6;

/* The least time of a launch; negative when it failed. */
static double least_time(session *host, const tile_module *m, const char *kernel, const char *shape, const char *device,
                         diag_list *diags) {
    work_request request = {.session = host, .module = m, .name = kernel, .shape = shape, .arguments = "", .threads = 1};
    bench_work *w = work_open(&request, diags);
    if (!w)
        return -1;
    work_fill(w, RECIPE_RANDOM, 1);
    bool unsupported;
    bench_arm *arm = arm_open(w, arena_printf(w->arena, "ours@%s", device), &unsupported, diags);
    double least = INFINITY, ns = 0;
    bool good = arm && arm->kind->run(arm, 0, LEAST_LAUNCHES, &ns, diags);
    double one = ns / LEAST_LAUNCHES;
    int64_t count = one > 0 && SAMPLE_NS / one < MOST_LAUNCHES ? (int64_t)(SAMPLE_NS / one) : MOST_LAUNCHES;
    count = count < LEAST_LAUNCHES ? LEAST_LAUNCHES : count;
    for (int i = 0; good && i < PASSES; i++) {
        good = arm->kind->run(arm, 0, count, &ns, diags);
        least = fmin(least, ns / (double)count);
    }
    arm_close(arm);
    work_close(w);
    return good ? least : -1;
}

bool ceiling_measure_device(session *host, const char *device, int64_t bytes, ceilings *out, diag_list *diags) {
    arena *a = arena_new();
    char shape[64];
    const tile_module *m = compile_load(a, "ceilings.tile", source, diags);
    *out = (ceilings){.threads = 1, .memory_bytes = bytes};
    double launch = m ? least_time(host, m, "copy", "N=1", device, diags) : -1;
    int64_t cells = bytes / 8 > 0 ? bytes / 8 : 1, rows = bytes / 4 / ROW;
    snprintf(shape, sizeof shape, "N=%lld", (long long)cells);
    double copy = launch > 0 ? least_time(host, m, "copy", shape, device, diags) : -1;
    snprintf(shape, sizeof shape, "R=%lld C=%lld", (long long)(rows ? rows : 1), (long long)(rows ? ROW : 2 * cells));
    double read = copy > 0 ? least_time(host, m, "read", shape, device, diags) : -1;
    arena_free(a);
    if (!(read > 0))
        return false;
    out->launch_ns = out->launch_all_ns = launch;
    out->copy_memory = 8.0 * (double)cells / copy * 1e9;
    out->read_memory = 4.0 * (double)(rows ? rows * ROW : 2 * cells) / read * 1e9;
    return true;
}
