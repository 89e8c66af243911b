/* What a device with queues can do at most: kernels of ours that only copy, or only read, timed as the arms are; and CUDA C++ that only multiplies and
 * adds, in the threads' own arithmetic and in the matrix unit (mma.sync, which every such unit takes; a newer one may do more by its own instructions). */
#include "bench/arm.h"
#include "bench/ceilings.h"
#include "compile.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

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

static const char arithmetic[] = "extern \"C\" __global__ void fma_probe(float *out, int trips)\n"
                                 "{\n"
                                 "    float a[8], b = 1.0f + threadIdx.x * 1e-6f;\n"
                                 "    for (int k = 0; k < 8; k++)\n"
                                 "        a[k] = k + threadIdx.x;\n"
                                 "    for (int i = 0; i < trips; i++)\n"
                                 "        for (int k = 0; k < 8; k++)\n"
                                 "            a[k] = fmaf(a[k], b, 0.5f);\n"
                                 "    float sum = 0;\n"
                                 "    for (int k = 0; k < 8; k++)\n"
                                 "        sum += a[k];\n"
                                 "    out[blockIdx.x * 256 + threadIdx.x] = sum;\n"
                                 "}\n";
static const char matrices[] = "extern \"C\" __global__ void matrix_probe(float *out, int trips)\n"
                               "{\n"
                               "    float c[4][4] = {};\n"
                               "    unsigned a0 = threadIdx.x, a1 = a0 + 1, a2 = a0 + 2, a3 = a0 + 3, b0 = a0 + 4, b1 = a0 + 5;\n"
                               "    for (int i = 0; i < trips; i++)\n"
                               "        for (int k = 0; k < 4; k++)\n"
                               "            asm(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, "
                               "%6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
                               "                : \"+f\"(c[k][0]), \"+f\"(c[k][1]), \"+f\"(c[k][2]), \"+f\"(c[k][3])\n"
                               "                : \"r\"(a0), \"r\"(a1), \"r\"(a2), \"r\"(a3), \"r\"(b0), \"r\"(b1));\n"
                               "    out[blockIdx.x * 256 + threadIdx.x] = c[0][0] + c[1][1] + c[2][2] + c[3][3];\n"
                               "}\n";

static const double SAMPLE_NS = 4e6;
enum { PROBE_THREADS = 256, PROBE_BLOCKS_A_UNIT = 8, FIRST_TRIPS = 64, MOST_TRIPS = 1 << 20 };
/* Operations of a thread in a trip: 8 multiply-adds; 4 products of 16 x 8 x 16 shared by 32 threads. */
static const double FMA_OPERATIONS = 8 * 2, MATRIX_OPERATIONS = 4 * 16 * 8 * 16 * 2 / 32.0;

enum { ROW = 4096, PASSES = 3, LEAST_LAUNCHES = 16, MOST_LAUNCHES = 512 };

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

/* Nanoseconds of one launch; negative when it failed. */
static double probe_time(const runtime *r, device *d, text_kernel *k, const text_launch *launch, diag_list *diags) {
    const runtime_streams *q = r->streams;
    void *from = q->mark(d, NULL, diags), *to = NULL;
    double ms = -1;
    if (from && r->text->launch(d, k, launch, diags) && (to = q->mark(d, NULL, diags)) && !q->between(d, from, to, &ms, diags))
        ms = -1;
    if (from)
        q->unmark(d, from);
    if (to)
        q->unmark(d, to);
    return ms < 0 ? -1 : ms * 1e6;
}

/* Operations a second of a probe; 0 when the device does not take it. */
static double arithmetic_rate(session *s, const char *text, const char *entry, double operations, diag_list *diags) {
    const runtime *r = session_runtime(s);
    device *d = session_device(s);
    text_kernel *k = r->text->load(d, entry, text, entry, diags);
    int64_t blocks = (int64_t)r->units(d) * PROBE_BLOCKS_A_UNIT;
    void *out = k ? r->allocate(d, blocks * PROBE_THREADS * 4, diags) : NULL;
    text_argument arguments[2] = {{.array = out}, {.bytes = 4, .value.i32 = FIRST_TRIPS}};
    text_launch launch = {{blocks, 1, 1}, {PROBE_THREADS, 1, 1}, arguments, 2, 0};
    double best = 0, ns = out ? probe_time(r, d, k, &launch, diags) : -1;
    while (ns >= 0 && ns < SAMPLE_NS && arguments[1].value.i32 < MOST_TRIPS) {
        arguments[1].value.i32 *= ns * 8 < SAMPLE_NS ? 8 : 2;
        ns = probe_time(r, d, k, &launch, diags);
    }
    for (int i = 0; i < PASSES && ns > 0; i++) {
        best = fmax(best, operations * (double)(blocks * PROBE_THREADS) * arguments[1].value.i32 / ns * 1e9);
        ns = probe_time(r, d, k, &launch, diags);
    }
    if (out)
        r->release(d, out);
    if (k)
        r->text->unload(d, k);
    return best;
}

static void measure_arithmetic(const char *name, ceilings *out) {
    arena *a = arena_new();
    diag_list quiet; /* a device without such a unit has no such ceiling */
    diag_init(&quiet, a);
    session *s = session_open(name, &quiet);
    if (s && session_runtime(s)->streams && session_runtime(s)->text && !strcmp(session_target(s)->name, "cuda")) {
        out->fma_per_second = arithmetic_rate(s, arithmetic, "fma_probe", FMA_OPERATIONS, &quiet);
        out->matrix_per_second = arithmetic_rate(s, matrices, "matrix_probe", MATRIX_OPERATIONS, &quiet);
    }
    session_close(s);
    arena_free(a);
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
    measure_arithmetic(device, out);
    out->launch_ns = out->launch_all_ns = launch;
    out->copy_memory = 8.0 * (double)cells / copy * 1e9;
    out->read_memory = 4.0 * (double)(rows ? rows * ROW : 2 * cells) / read * 1e9;
    return true;
}
