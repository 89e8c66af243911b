/* Ceilings. */
#define _GNU_SOURCE
#include "bench/ceilings.h"
#include "bench/clock.h"
#include "bench/machine.h"
#include "bench/statistics.h"
#include "run/pool.h"
#include "run/run.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Each entry has the form of an emitted kernel's. Tasks of `read` and `copy` are 8192 floats, as the elementwise kernels' are. */
static const char *const probe_text[] = {
    "#include <stdint.h>\n"
    "#include <string.h>\n"
    "#if defined(__x86_64__)\n"
    "#include <immintrin.h>\n"
    "#include <sys/syscall.h>\n"
    "#include <unistd.h>\n"
    "#endif\n"
    "typedef float vector __attribute__((vector_size(64), aligned(4)));\n"
    "enum { TASK = 8192, LANES = 16 };\n"
    "#define ENTRY(name) void name(void *const *arrays, const int64_t *integers, const float *floats, int64_t first, int64_t "
    "last, void *scratch)\n",
    "ENTRY(probe_read)\n{\n"
    "    const float *from = arrays[0];\n"
    "    (void)floats;\n"
    "    for (int64_t t = first; t < last; t++) {\n"
    "        int64_t begin = t * TASK, end = begin + TASK < integers[0] ? begin + TASK : integers[0];\n"
    "        vector sum[8] = {0};\n"
    "        int64_t i = begin;\n"
    "        for (; i + 8 * LANES <= end; i += 8 * LANES)\n"
    "            for (int u = 0; u < 8; u++)\n"
    "                sum[u] += *(const vector *)(from + i + u * LANES);\n"
    "        for (int u = 1; u < 8; u++)\n"
    "            sum[0] += sum[u];\n"
    "        memcpy(scratch, &sum[0], sizeof sum[0]);\n"
    "    }\n}\n",
    /* Stores that a compiler would turn into memcpy pass the cache by, which kernels do not; the barrier keeps them. */
    "ENTRY(probe_copy)\n{\n"
    "    const float *from = arrays[0];\n"
    "    float *to = arrays[1];\n"
    "    (void)floats, (void)scratch;\n"
    "    for (int64_t t = first; t < last; t++) {\n"
    "        int64_t begin = t * TASK, end = begin + TASK < integers[0] ? begin + TASK : integers[0];\n"
    "        for (int64_t i = begin; i + 4 * LANES <= end; i += 4 * LANES) {\n"
    "            for (int u = 0; u < 4; u++)\n"
    "                *(vector *)(to + i + u * LANES) = *(const vector *)(from + i + u * LANES);\n"
    "            __asm__ volatile(\"\" ::: \"memory\");\n"
    "        }\n"
    "    }\n}\n",
    "#if defined(__AVX512F__)\n"
    "typedef __m512 part;\n"
    "#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)\n"
    "#define SPLAT(x) _mm512_set1_ps(x)\n"
    "#elif defined(__FMA__)\n"
    "typedef __m256 part;\n"
    "#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)\n"
    "#define SPLAT(x) _mm256_set1_ps(x)\n"
    "#else\n"
    "typedef float part __attribute__((vector_size(16)));\n"
    "#if defined(__aarch64__)\n"
    "static inline part FMA(part a, part b, part c)\n{\n"
    "    part r;\n"
    "    for (int l = 0; l < 4; l++)\n"
    "        r[l] = __builtin_fmaf(a[l], b[l], c[l]);\n"
    "    return r;\n}\n"
    "#else\n"
    "#define FMA(a, b, c) ((a) * (b) + (c)) /* no fused form: as the kernels then do it */\n"
    "#endif\n"
    "#define SPLAT(x) ((part){x, x, x, x})\n"
    "#endif\n"
    "enum { CHAINS = 12, ROUNDS = 4096 };\n"
    "int64_t probe_fma_operations(void)\n{\n"
    "    return (int64_t)CHAINS * ROUNDS * (int64_t)(sizeof(part) / sizeof(float)) * 2;\n}\n"
    "ENTRY(probe_fma)\n{\n"
    "    (void)arrays, (void)integers;\n"
    "    for (int64_t t = first; t < last; t++) {\n"
    "        part sum[CHAINS], a = SPLAT(floats[0]), b = SPLAT(floats[1]);\n"
    "        for (int u = 0; u < CHAINS; u++)\n"
    "            sum[u] = SPLAT((float)(u + t));\n"
    "        for (int i = 0; i < ROUNDS; i++)\n"
    "            for (int u = 0; u < CHAINS; u++)\n"
    "                sum[u] = FMA(a, sum[u], b);\n"
    "        for (int u = 0; u < CHAINS; u++)\n"
    "            memcpy((char *)scratch + u * sizeof(part), &sum[u], sizeof(part));\n"
    "    }\n}\n",
    /* Intel's matrix unit: eight tiles of 16 rows of 64 bytes, four of them sums. The system must be asked for it first. */
    "#if defined(__AMX_BF16__) && defined(__AMX_TILE__)\n"
    "int64_t probe_matrix_operations(void)\n{\n"
    "    enum { ASK = 0x1023, TILE_DATA = 18 };\n"
    "    return syscall(SYS_arch_prctl, ASK, TILE_DATA) ? 0 : (int64_t)ROUNDS * 4 * 16 * 16 * 32 * 2;\n}\n"
    "ENTRY(probe_matrix)\n{\n"
    "    struct { unsigned char palette, start, reserved[14]; unsigned short columns[16]; unsigned char rows[16]; } shape = "
    "{.palette = 1};\n"
    "    (void)arrays, (void)integers, (void)floats;\n"
    "    for (int i = 0; i < 8; i++) {\n"
    "        shape.columns[i] = 64;\n"
    "        shape.rows[i] = 16;\n"
    "    }\n"
    "    _tile_loadconfig(&shape);\n"
    "    for (int64_t t = first; t < last; t++) {\n"
    "        memset(scratch, 0, 1024);\n"
    "        _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);\n"
    "        _tile_loadd(4, scratch, 64); _tile_loadd(5, scratch, 64); _tile_loadd(6, scratch, 64); _tile_loadd(7, scratch, "
    "64);\n"
    "        for (int i = 0; i < ROUNDS; i++) {\n"
    "            _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7); _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);\n"
    "        }\n"
    "        _tile_stored(0, scratch, 64); _tile_stored(1, scratch, 64); _tile_stored(2, scratch, 64); _tile_stored(3, scratch, "
    "64);\n"
    "    }\n"
    "    _tile_release();\n}\n"
    "#else\n"
    "int64_t probe_matrix_operations(void)\n{\n    return 0;\n}\n"
    "ENTRY(probe_matrix)\n{\n"
    "    (void)arrays, (void)integers, (void)floats, (void)first, (void)last, (void)scratch;\n}\n"
    "#endif\n",
};

typedef void (*entry_function)(void *const *arrays, const int64_t *integers, const float *floats, int64_t first, int64_t last,
                               void *scratch);
enum { TASK_FLOATS = 8192, SCRATCH_BYTES = 4096, SAMPLES = 9 };
static const double sample_ns = 4e6;

struct ceiling_probe {
    pool *pool;
    void *object;
    entry_function read, copy, fma, matrix;
    int64_t (*fma_operations)(void), (*matrix_operations)(void);
    char *scratch; /* SCRATCH_BYTES a worker, apart */
    int threads;
};

/* dlsym gives a data pointer; the copy is how POSIX turns it into a function's. */
static bool find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

void ceiling_close(ceiling_probe *p) {
    if (!p)
        return;
    pool_free(p->pool);
    if (p->object)
        dlclose(p->object);
    free(p->scratch);
    free(p);
}

ceiling_probe *ceiling_open(int threads, diag_list *diags) {
    ceiling_probe *p = calloc(1, sizeof *p);
    text_buffer text = {0};
    bool hit,
        good = p && (p->pool = pool_new(threads)) && (p->scratch = aligned_alloc(4096, (size_t)SCRATCH_BYTES * (size_t)threads));
    if (!good)
        diag_error(diags, "E0648", (source_span){0}, "no memory for the probes");
    for (size_t i = 0; i < sizeof probe_text / sizeof *probe_text; i++)
        text_add(&text, "%s", probe_text[i]);
    char *path = good ? cache_compile(text_get(&text), "probes of the measuring lab", &hit, diags) : NULL;
    text_free(&text);
    if (path) {
        p->threads = threads;
        p->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        good = p->object && find(p->object, "probe_read", &p->read) && find(p->object, "probe_copy", &p->copy) &&
               find(p->object, "probe_fma", &p->fma) && find(p->object, "probe_matrix", &p->matrix) &&
               find(p->object, "probe_fma_operations", &p->fma_operations) &&
               find(p->object, "probe_matrix_operations", &p->matrix_operations);
        if (!good)
            diag_error(diags, "E0804", (source_span){0}, "the probes cannot be loaded: %s", dlerror());
    }
    free(path);
    if (p && (!p->object || !good)) {
        ceiling_close(p);
        p = NULL;
    }
    return p;
}

typedef struct probe_job {
    entry_function entry;
    void *arrays[2];
    int64_t integers[1];
    float floats[2];
    char *scratch;
} probe_job;

static void run_probe(void *context, int worker, int64_t first, int64_t last) {
    probe_job *j = context;
    j->entry(j->arrays, j->integers, j->floats, first, last, j->scratch + (size_t)worker * SCRATCH_BYTES);
}

/* The best of a few samples: a ceiling is what the machine can do, not what it did while disturbed. */
static double best_ns(ceiling_probe *p, probe_job *j, int64_t tasks) {
    double best = 0;
    int64_t repeats = 1;
    pool_run(p->pool, tasks, run_probe, j);
    for (int s = -1; s < SAMPLES; s++) {
        double start = clock_now_ns();
        for (int64_t i = 0; i < repeats; i++)
            pool_run(p->pool, tasks, run_probe, j);
        double ns = (clock_now_ns() - start) / (double)repeats;
        if (s < 0) {
            repeats = ns > 0 && ns < sample_ns ? (int64_t)(sample_ns / ns) + 1 : 1;
            continue;
        }
        best = best == 0 || ns < best ? ns : best;
    }
    return best;
}

/* Reads `read_floats`, or copies `copy_floats`, from the first part of the memory; the whole is at least both. */
static double bandwidth(ceiling_probe *p, entry_function entry, char *memory, int64_t floats, int64_t to_offset, int streams) {
    probe_job j = {.entry = entry, .arrays = {memory, memory + to_offset}, .integers = {floats}, .scratch = p->scratch};
    double ns = best_ns(p, &j, (floats + TASK_FLOATS - 1) / TASK_FLOATS);
    return ns > 0 ? (double)floats * sizeof(float) * streams / ns * 1e9 : 0;
}

bool ceiling_bandwidth(ceiling_probe *p, int64_t bytes, double *read, double *copy, diag_list *diags) {
    /* whole vectors; two halves and a line apart for the copy, so that loads and stores do not fall on one offset of a page */
    int64_t floats = (bytes + 511) / 512 * 512 / (int64_t)sizeof(float), half = floats / 2 / 64 * 64,
            room = floats * 4 + 2 * 4096;
    char *memory = mmap(NULL, (size_t)room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        diag_error(diags, "E1011", (source_span){0}, "no memory for a probe");
        return false;
    }
    madvise(memory, (size_t)room, MADV_HUGEPAGE);
    for (int64_t i = 0; i < room / 4; i++) /* never zeros, and every page touched */
        ((float *)(void *)memory)[i] = (float)(i % 97) * 0.25f + 1;
    *read = bandwidth(p, p->read, memory, floats, 0, 1);
    *copy = bandwidth(p, p->copy, memory, half, half * 4 + 320, 2);
    munmap(memory, (size_t)room);
    return true;
}

/* A kernel that does next to nothing, launched as kernels are. */
static const char empty_kernel[] = "kernel empty(x: f32[N]) -> (y: f32[N]) {\n    for tile y[i: 1] { y[i] = x[i] }\n}\n";

static bool launch_floor(session *s, const tile_module *m, int tasks, double *out, diag_list *diags) {
    run_call *c = call_new(s, m, "empty", diags);
    float cells[2][1024] = {{0}};
    int64_t dims[1] = {tasks > 1024 ? 1024 : tasks};
    bool good = c && call_bind_array(c, "x", ELEMENT_F32, 1, dims, cells[0], diags) &&
                call_bind_array(c, "y", ELEMENT_F32, 1, dims, cells[1], diags) && call_prepare(c, diags);
    double samples[SAMPLES];
    int64_t repeats = 1;
    for (int i = -1; good && i < SAMPLES; i++) {
        double start = clock_now_ns();
        for (int64_t n = 0; good && n < repeats; n++)
            good = call_run(c, diags);
        double ns = (clock_now_ns() - start) / (double)repeats;
        if (i < 0)
            repeats = ns < sample_ns ? (int64_t)(sample_ns / (ns > 10 ? ns : 10)) + 1 : 1;
        else
            samples[i] = ns;
    }
    if (good)
        *out = statistics_median(samples, SAMPLES);
    call_free(c);
    return good;
}

bool ceiling_measure(ceiling_probe *p, session *s, ceilings *out, diag_list *diags) {
    *out = (ceilings){.threads = p->threads};
    arena *a = arena_new();
    const tile_module *m = compile_load(a, "<empty kernel>", empty_kernel, diags);
    bool good = m && launch_floor(s, m, 1, &out->launch_ns, diags) && launch_floor(s, m, p->threads, &out->launch_all_ns, diags);
    arena_free(a);
    if (!good)
        return false;
    int64_t tasks = 8 * p->threads, operations = p->matrix_operations();
    probe_job j = {.entry = p->fma, .floats = {0.999f, 0.001f}, .scratch = p->scratch};
    out->fma_per_second = (double)p->fma_operations() * (double)tasks / best_ns(p, &j, tasks) * 1e9;
    j.entry = p->matrix;
    if (operations > 0)
        out->matrix_per_second = (double)operations * (double)tasks / best_ns(p, &j, tasks) * 1e9;
    int64_t bytes = 3 * machine_last_cache_bytes();
    if (bytes < machine_available_bytes() / 2) {
        out->memory_bytes = bytes;
        return ceiling_bandwidth(p, bytes, &out->read_memory, &out->copy_memory, diags);
    }
    return true;
}

ceiling_share ceiling_judge(const ceilings *c, double bytes_read, double bytes_written, double operations,
                            double matrix_operations, double read, double copy, double launch_ns, double ns) {
    ceiling_share out = {.launch_bound = ns < 2 * launch_ns};
    if (bytes_read < 0 || ns <= 0)
        return out;
    /* What is written goes with as much that is read at the speed of a copy; what is read beyond that, at the speed of
     * reading. */
    double pairs = bytes_read < bytes_written ? bytes_read : bytes_written, rest = bytes_read + bytes_written - 2 * pairs;
    double copying = copy > 0 ? 2 * pairs / copy * 1e9 : 0, reading = read > 0 ? rest / read * 1e9 : 0;
    double least = copying + reading;
    out.name = copying > reading ? "copy" : "read";
    if (!(c->matrix_per_second > 0))
        matrix_operations = 0;
    double adding = c->fma_per_second > 0 ? (operations - matrix_operations) / c->fma_per_second * 1e9 : 0;
    double multiplying = matrix_operations > 0 ? matrix_operations / c->matrix_per_second * 1e9 : 0;
    if (adding + multiplying > least) {
        least = adding + multiplying;
        out.name = multiplying > adding ? "matrix" : "fma";
    }
    if (launch_ns > least) {
        least = launch_ns;
        out.name = "launch";
    }
    out.percent = 100 * least / ns;
    return out;
}
