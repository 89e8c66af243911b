/* A driver and a run-time compiler of CUDA's interface that run emitted kernels on the CPU, so that the text and the runtime can be judged where there
 * is no such device: built as libcuda.so.1 and libnvrtc.so by test/run/cuda.sh, with SHIM the path of _cuda_on_cpu.h.
 * FAKE_CUDA=no-device, old, no-memory, lost, hangs, capability, registers: what goes wrong; narrow-sums, short-sums: matrices are summed in f16, in 14 bits; newer: the device is newer than NVRTC, ampere: older than warpgroups. FAKE_CUDA_LOG=FILE: a line for every launch, copy, wait and graph. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
enum { THREADS = 1024, STACK = 256 * 1024, PARAMETERS = 256 };
enum { OK, INVALID = 1, NO_MEMORY = 2, NO_DEVICE = 100, NOT_FOUND = 500, LOST = 719 };

static bool goes_wrong(const char *how) {
    const char *wanted = getenv("FAKE_CUDA");
    return wanted && !strcmp(wanted, how);
}

static void note(const char *format, ...) {
    const char *path = getenv("FAKE_CUDA_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;
    va_list args;
    if (!f)
        return;
    va_start(args, format);
    vfprintf(f, format, args);
    va_end(args);
    fclose(f);
}

/* ---- a block's threads as coroutines ---- */

API struct { unsigned x; } fake_thread, fake_block;
API uint64_t fake_slots[THREADS];
API uint32_t fake_registers[THREADS][8];
static ucontext_t scheduler, contexts[THREADS];
static char *stacks;
enum { RUNNABLE, IN_BLOCK, IN_WARP, FINISHED };
static int states[THREADS];
static void (*entry)(void **);
static void **arguments;

API void fake_meet(int warp) {
    unsigned me = fake_thread.x;
    states[me] = warp ? IN_WARP : IN_BLOCK;
    swapcontext(&contexts[me], &scheduler);
}

/* A thread that waits for an mbarrier lets others go on; `fake_progress` counts what may end such a wait. */
API unsigned long long fake_progress;
API void fake_yield(void) {
    swapcontext(&contexts[fake_thread.x], &scheduler);
}

static void one_thread(void) {
    unsigned me = fake_thread.x;
    entry(arguments);
    states[me] = FINISHED;
}

static int run_block(unsigned threads) {
    for (unsigned t = 0; t < threads; t++) {
        getcontext(&contexts[t]);
        contexts[t].uc_stack.ss_sp = stacks + (size_t)t * STACK;
        contexts[t].uc_stack.ss_size = STACK;
        contexts[t].uc_link = &scheduler;
        makecontext(&contexts[t], one_thread, 0);
        states[t] = RUNNABLE;
    }
    for (;;) {
        unsigned finished = 0, in_block = 0;
        bool moved = false;
        for (unsigned t = 0; t < threads; t++) {
            if (states[t] == RUNNABLE) {
                const unsigned long long before = fake_progress;
                fake_thread.x = t;
                swapcontext(&scheduler, &contexts[t]);
                moved = moved || states[t] != RUNNABLE || fake_progress != before;
            }
            finished += states[t] == FINISHED;
            in_block += states[t] == IN_BLOCK;
        }
        for (unsigned w = 0; w < threads; w += 32) {
            unsigned waiting = 0;
            for (unsigned t = w; t < w + 32 && t < threads; t++)
                waiting += states[t] == IN_WARP;
            for (unsigned t = w; waiting == 32 && t < w + 32; t++) {
                states[t] = RUNNABLE;
                moved = true;
            }
        }
        if (finished == threads)
            return OK;
        if (in_block == threads) {
            for (unsigned t = 0; t < threads; t++)
                states[t] = RUNNABLE;
            moved = true;
        }
        if (!moved) {
            fprintf(stderr, "a barrier, shuffle or arrival that not every thread reaches: %u of %u at the barrier, %u finished\n",
                    in_block, threads, finished);
            return LOST;
        }
    }
}

/* ---- NVRTC ---- */

typedef struct program {
    char *text, *log;
    unsigned char *binary; /* 8 bytes of length, then a shared object */
    size_t length;
} program;

API int nvrtcVersion(int *major, int *minor) {
    *major = 99;
    *minor = 0;
    return 0;
}
API int nvrtcGetNumSupportedArchs(int *count) {
    *count = 2;
    return 0;
}
API int nvrtcGetSupportedArchs(int *known) {
    known[0] = 80;
    known[1] = 90;
    return 0;
}
API int nvrtcCreateProgram(program **p, const char *text, const char *name, int headers, const char *const *a,
                           const char *const *b) {
    (void)name, (void)a, (void)b;
    *p = calloc(1, sizeof **p);
    (*p)->text = strdup(text);
    return headers ? 1 : 0;
}
API int nvrtcDestroyProgram(program **p) {
    free((*p)->text);
    free((*p)->log);
    free((*p)->binary);
    free(*p);
    *p = NULL;
    return 0;
}

/* What asm statements mean here, by how they begin; the functions around them name what they work on. */
static const struct {
    const char *from, *to;
} assembly[] = {
    {"extern __shared__ __align__(16) unsigned char shared_memory[];", "unsigned char *const shared_memory = fake_shared"},
    {"extern __shared__ __align__(1024) unsigned char shared_memory[];", "unsigned char *const shared_memory = fake_shared"},
    {"asm(\"cvt.f32.f16 ", "FAKE_HALF_TO_FLOAT(f, x)"},
    {"asm(\"lop3.b32 %0, %1, %2, %3, 202;", "result = (x0 & x1) | (~x0 & x2)"},
    {"asm(\"cvt.rn.f16.f32 ", "FAKE_FLOAT_TO_HALF(h, x)"},
    {"asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 ", "fake_ldmatrix(r.v, 4, false, row)"},
    {"asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 ", "fake_ldmatrix(r.v, 4, true, row)"},
    {"asm volatile(\"ldmatrix.sync.aligned.m8n8.x2.shared.b16 ", "fake_ldmatrix(r.v, 2, false, row)"},
    {"asm volatile(\"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 ", "fake_ldmatrix(r.v, 2, true, row)"},
    {"asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;", "fake_copy_async(to, from, bytes, 16)"},
    {"asm volatile(\"cp.async.ca.shared.global [%0], [%1], 8, %2;", "fake_copy_async(to, from, bytes, 8)"},
    {"asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4, %2;", "fake_copy_async(to, from, bytes, 4)"},
    {"asm volatile(\"cp.async.commit_group;", "fake_commit()"},
    {"asm volatile(\"cp.async.wait_group 0;", "fake_wait(0)"},
    {"asm volatile(\"cp.async.wait_group 1;", "fake_wait(1)"},
    {"asm volatile(\"cp.async.wait_group 2;", "fake_wait(2)"},
    {"asm volatile(\"cp.async.wait_group 3;", "fake_wait(3)"},
    {"asm volatile(\"cp.async.wait_group 4;", "fake_wait(4)"},
    {"asm volatile(\"cp.async.wait_group 5;", "fake_wait(5)"},
    {"asm volatile(\"fence.proxy.async.shared::cta;", "fake_fence()"},
    {"asm volatile(\"prefetch.tensormap [%0];", ""},
    {"asm volatile(\"fence.mbarrier_init.release.cluster;", ""},
    {"asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;", "fake_mbarrier_init(barrier, arrivals)"},
    {"asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];", "fake_mbarrier_arrive(barrier)"},
    {"asm volatile(\"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;", "fake_mbarrier_expect(barrier, bytes)"},
    {"asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; ",
     "done = fake_mbarrier_try(barrier, parity)"},
    {"asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes ",
     "const int at[] = {x0, x1}; fake_copy_box(to, from, barrier, 2, at)"},
    {"asm volatile(\"cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes ",
     "const int at[] = {x0, x1, x2}; fake_copy_box(to, from, barrier, 3, at)"},
    {"asm volatile(\"wgmma.fence.sync.aligned;", "fake_products_begin()"},
    {"asm volatile(\"wgmma.commit_group.sync.aligned;", "fake_products_commit()"},
    {"asm volatile(\"wgmma.wait_group.sync.aligned 0;", "fake_products_wait(0)"},
    {"asm volatile(\"wgmma.wait_group.sync.aligned 1;", "fake_products_wait(1)"},
    {"asm volatile(\"\" :", ""}, /* nothing but an order of the compiler's */
#define WGMMA(n, type, wide)                                                                                                     \
    {                                                                                                                            \
        "asm volatile(\"{ .reg .pred add; setp.eq.u32 add, 0, 0; wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type, \
            "fake_wgmma(d.v, " #n ", " wide ", a, b, across_a, across_b)"                                                        \
    }
    WGMMA(64, "f16", "false"),
    WGMMA(128, "f16", "false"),
    WGMMA(256, "f16", "false"),
    WGMMA(64, "bf16", "true"),
    WGMMA(128, "bf16", "true"),
    WGMMA(256, "bf16", "true"),
#undef WGMMA
#define WGMMA(n, k, sum, type, kind)                                                                                             \
    {                                                                                                                            \
        "asm volatile(\"{ .reg .pred add; setp.eq.u32 add, 0, 0; wgmma.mma_async.sync.aligned.m64n" #n "k" #k "." sum "." type   \
        "." type,                                                                                                                \
            "fake_wgmma_along(d.v, " #n ", " kind ", a, b)"                                                                      \
    }
    WGMMA(64, 32, "s32", "s8", "FAKE_S8"),
    WGMMA(128, 32, "s32", "s8", "FAKE_S8"),
    WGMMA(256, 32, "s32", "s8", "FAKE_S8"),
    WGMMA(64, 32, "f32", "e4m3", "FAKE_E4M3"),
    WGMMA(128, 32, "f32", "e4m3", "FAKE_E4M3"),
    WGMMA(64, 32, "f32", "e5m2", "FAKE_E5M2"),
    WGMMA(128, 32, "f32", "e5m2", "FAKE_E5M2"),
    WGMMA(64, 8, "f32", "tf32", "FAKE_TF32"),
    WGMMA(128, 8, "f32", "tf32", "FAKE_TF32"),
    WGMMA(256, 8, "f32", "tf32", "FAKE_TF32"),
#undef WGMMA
    {"asm(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ", "fake_mma_halves<false>(d.v, a.v, b.v, c.v)"},
    {"asm(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 ", "fake_mma_halves<true>(d.v, a.v, b.v, c.v)"},
    {"asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 ", "fake_mma_tf32(d.v, a.v, b.v, c.v)"},
    {"asm(\"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 ", "fake_mma_bytes(d.v, a.v, b.v, c.v)"},
};

static void put_replaced(FILE *f, const char *text) {
    while (*text) {
        const char *end = NULL;
        for (size_t i = 0; i < sizeof assembly / sizeof *assembly && !end; i++)
            if (!strncmp(text, assembly[i].from, strlen(assembly[i].from)) &&
                (end = strstr(text + strlen(assembly[i].from) - 1, assembly[i].from[0] == 'e' ? ";" : ");")))
                fputs(assembly[i].to, f);
        if (end)
            text = end + (*end == ')');
        else
            fputc(*text++, f);
    }
}

/* Behind each kernel NAME a function that calls it with values behind pointers, how many there are, and their bytes. */
static void put_callers(FILE *f, const char *text) {
    static char text_of_sizes[64 * PARAMETERS];
    static const char head[] = "extern \"C\" __global__ void ", bounds[] = "__launch_bounds__(";
    for (const char *at = text; (at = strstr(at, head));) {
        at += sizeof head - 1;
        at = strncmp(at, bounds, sizeof bounds - 1) ? at : strchr(at, ')') + 1;
        while (isspace((unsigned char)*at))
            at++;
        int name = (int)strcspn(at, "("), count = 0;
        fprintf(f, "extern \"C\" void %.*s_call(void **p) { %.*s(", name, at, name, at);
        const char *p = at + name + 1, *end = strchr(p, ')');
        text_of_sizes[0] = 0;
        while (p < end) {
            const char *comma = memchr(p, ',', (size_t)(end - p)), *last = comma ? comma : end, *type = last;
            while (isalnum((unsigned char)type[-1]) || type[-1] == '_')
                type--;
            fprintf(f, "%s*(%.*s *)p[%d]", count ? ", " : "", (int)(type - p), p, count);
            snprintf(text_of_sizes + strlen(text_of_sizes), sizeof text_of_sizes - strlen(text_of_sizes), "sizeof(%.*s), ",
                     (int)(type - p), p);
            count++;
            p = comma ? comma + 1 : end;
        }
        fprintf(f, "); }\nextern \"C\" const int %.*s_count = %d;\n", name, at, count);
        fprintf(f, "extern \"C\" const int %.*s_sizes[] = {%s0};\n", name, at, text_of_sizes);
    }
}

static unsigned char *read_file(const char *path, size_t *length) {
    FILE *f = fopen(path, "rb");
    unsigned char *bytes = NULL;
    if (f && !fseek(f, 0, SEEK_END)) {
        *length = (size_t)ftell(f);
        rewind(f);
        bytes = calloc(*length + 9, 1);
        memcpy(bytes, &(uint64_t){*length}, 8);
        if (fread(bytes + 8, 1, *length, f) != *length)
            *length = 0;
    }
    if (f)
        fclose(f);
    return bytes;
}

API int nvrtcCompileProgram(program *p, int count, const char *const *options) {
    char folder[] = "/tmp/cuda-on-cpu-XXXXXX", path[128], command[512];
    for (int i = 0; i < count; i++)
        note("option %s\n", options[i]);
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/k.cpp", folder);
    FILE *f = fopen(path, "w");
    fprintf(f, "#include \"%s\"\n", SHIM);
    put_replaced(f, p->text);
    put_callers(f, p->text);
    fclose(f);
    snprintf(
        command, sizeof command,
        "c++ -std=c++17 -O0 -w -mf16c -mfma -ffp-contract=off -fno-strict-aliasing -shared -fPIC -o %s/k.so %s > %s/log 2>&1",
        folder, path, folder);
    int status = system(command);
    snprintf(path, sizeof path, "%s/%s", folder, status ? "log" : "k.so");
    size_t length = 0;
    unsigned char *bytes = read_file(path, &length);
    if (status) {
        p->log = strdup((char *)bytes + 8);
        free(bytes);
    } else {
        p->binary = bytes;
        p->length = length + 8;
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command))
        return 1;
    return status ? 6 : 0;
}
API int nvrtcGetProgramLogSize(program *p, size_t *size) {
    *size = p->log ? strlen(p->log) + 1 : 1;
    return 0;
}
API int nvrtcGetProgramLog(program *p, char *log) {
    strcpy(log, p->log ? p->log : "");
    return 0;
}
API int nvrtcGetCUBINSize(program *p, size_t *size) {
    *size = p->length;
    return 0;
}
API int nvrtcGetCUBIN(program *p, char *out) {
    memcpy(out, p->binary, p->length);
    return 0;
}
API int nvrtcGetPTXSize(program *p, size_t *size) {
    return nvrtcGetCUBINSize(p, size);
}
API int nvrtcGetPTX(program *p, char *out) {
    return nvrtcGetCUBIN(p, out);
}

/* ---- the driver ---- */

typedef struct function {
    void (*call)(void **);
    int count;
    const int *sizes;
    char name[128];
} function;
typedef struct launch {
    const function *f;
    unsigned blocks, threads;
    struct {
        _Alignas(128) unsigned char bytes[128];
    } values[PARAMETERS];
    struct launch *next;
} launch;
static launch *captured, **capture_end;
static bool capturing, broken;

API int cuInit(unsigned flags) {
    return flags ? INVALID : goes_wrong("no-device") ? NO_DEVICE : OK;
}
API int cuDriverGetVersion(int *version) {
    *version = goes_wrong("old") ? 10020 : 13000;
    return OK;
}
API int cuGetErrorName(int status, const char **name) {
    *name = status == NO_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
            : status == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE"
            : status == LOST      ? "CUDA_ERROR_LAUNCH_FAILED"
                                  : "CUDA_ERROR_INVALID_VALUE";
    return OK;
}
API int cuGetErrorString(int status, const char **text) {
    *text = status == LOST ? "unspecified launch failure" : NULL;
    return OK;
}
API int cuDeviceGetCount(int *count) {
    *count = 1;
    return OK;
}
API int cuDeviceGet(int *device, int number) {
    *device = number;
    return number ? INVALID : OK;
}
API int cuDeviceGetName(char *name, int size, int device) {
    (void)device;
    snprintf(name, (size_t)size, "%s", goes_wrong("h200") ? "NVIDIA H200" : "a CPU behind CUDA's interface");
    return OK;
}
API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = (size_t)1 << 30;
    return OK;
}
API int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 1    ? THREADS
             : attribute == 97 ? 227 * 1024
             : attribute == 8  ? 48 * 1024
             : attribute == 16 ? (goes_wrong("many") || goes_wrong("h200") ? 132 : 1)
             : attribute == 81 ? 228 * 1024
             : attribute == 13 ? 1980000
             : attribute == 75 ? (goes_wrong("capability") ? 7
                                  : goes_wrong("newer")    ? 12
                                  : goes_wrong("ampere")   ? 8
                                                           : 9)
                               : 0;
    return OK;
}
static int context, stream;
API int cuDevicePrimaryCtxRetain(void **c, int device) {
    (void)device;
    *c = &context;
    stacks = stacks ? stacks : malloc((size_t)THREADS * STACK);
    return stacks ? OK : NO_MEMORY;
}
API int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    return OK;
}
static int depth;
API int cuCtxPushCurrent_v2(void *c) {
    depth++;
    return c == &context ? OK : INVALID;
}
API int cuCtxPopCurrent_v2(void **c) {
    *c = &context;
    return depth-- > 0 ? OK : INVALID;
}
static int usable(void) {
    return depth <= 0 ? 201 : broken ? LOST : OK;
}
API int cuMemAlloc_v2(uint64_t *p, size_t bytes) {
    void *memory = goes_wrong("no-memory") ? NULL : aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!memory)
        return NO_MEMORY;
    memset(memory, 0xA5, (bytes + 511) / 256 * 256);
    *p = (uint64_t)(uintptr_t)memory;
    return usable();
}
API int cuMemFree_v2(uint64_t p) {
    free((void *)(uintptr_t)p);
    return usable();
}
API int cuMemGetInfo_v2(size_t *unused, size_t *total) {
    *unused = 1 << 20;
    *total = 1 << 30;
    return usable();
}
API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *s) {
    note("in %zu%s\n", bytes, s == &stream ? "" : " elsewhere");
    memcpy((void *)(uintptr_t)to, from, bytes);
    return capturing ? INVALID : usable();
}
API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *s) {
    note("out %zu%s\n", bytes, s == &stream ? "" : " elsewhere");
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return capturing ? INVALID : usable();
}
API int cuPointerGetAttribute(void *out, int attribute, uint64_t p) {
    (void)p;
    *(unsigned *)out = attribute == 2 ? 2 : 0;
    return usable();
}
API int cuModuleLoadData(void **module, const void *bytes) {
    char path[] = "/tmp/cuda-on-cpu-XXXXXX";
    uint64_t length;
    int fd = mkstemp(path);
    memcpy(&length, bytes, 8);
    if (fd < 0 || write(fd, (const char *)bytes + 8, length) != (ssize_t)length)
        return INVALID;
    close(fd);
    Dl_info own; /* kernels call back into this library */
    if (dladdr(&states, &own))
        dlopen(own.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*module)
        fprintf(stderr, "%s\n", dlerror());
    unlink(path);
    return *module ? usable() : INVALID;
}
API int cuModuleUnload(void *module) {
    (void)module; /* functions stay known */
    return usable();
}
API int cuModuleGetFunction(function **f, void *module, const char *name) {
    char symbol[256];
    snprintf(symbol, sizeof symbol, "%s_call", name);
    void *call = dlsym(module, symbol);
    snprintf(symbol, sizeof symbol, "%s_count", name);
    int *count = dlsym(module, symbol);
    snprintf(symbol, sizeof symbol, "%s_sizes", name);
    const int *sizes = dlsym(module, symbol);
    if (!call || !count || !sizes)
        return NOT_FOUND;
    *f = calloc(1, sizeof **f);
    memcpy(&(*f)->call, &call, sizeof call);
    (*f)->count = *count;
    (*f)->sizes = sizes;
    snprintf((*f)->name, sizeof(*f)->name, "%s", name);
    return usable();
}
API int cuFuncGetAttribute(int *value, int attribute, const function *f) {
    (void)f;
    *value = attribute == 0 ? (goes_wrong("registers") ? 64 : THREADS) : attribute == 4 ? 32 : 0;
    return usable();
}
API int cuFuncSetAttribute(const function *f, int attribute, int value) {
    (void)f;
    return attribute == 8 && value > 48 * 1024 && value <= 227 * 1024 ? usable() : INVALID;
}
static int run_launch(const function *f, unsigned blocks, unsigned threads, void **values) {
    note("launch %s %u %u\n", f->name, blocks, threads);
    if (goes_wrong("lost"))
        broken = true;
    while (goes_wrong("hangs"))
        pause();
    if (usable() || !blocks || threads > THREADS)
        return broken ? LOST : INVALID;
    entry = f->call;
    arguments = values;
    for (fake_block.x = 0; fake_block.x < blocks; fake_block.x++)
        if (run_block(threads)) {
            broken = true;
            return LOST;
        }
    return OK;
}
API int cuLaunchKernel(const function *f, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz,
                       unsigned shared, void *s, void **values, void **extra) {
    (void)s;
    if (shared > 227 * 1024 || y != 1 || z != 1 || ty != 1 || tz != 1 || extra)
        return INVALID;
    if (!capturing)
        return run_launch(f, x, tx, values);
    launch *l = aligned_alloc(128, sizeof *l);
    *l = (launch){.f = f, .blocks = x, .threads = tx};
    for (int i = 0; i < f->count; i++)
        memcpy(&l->values[i], values[i], (size_t)f->sizes[i]);
    *capture_end = l;
    capture_end = &l->next;
    return OK;
}
/* As cuda.h has it; of attributes the one that lets kernels begin early. */
typedef struct attribute {
    int id;
    char unused[4];
    union {
        int allowed;
        char room[64];
    } value;
} attribute;
typedef struct configuration {
    unsigned x, y, z, tx, ty, tz, shared;
    void *stream;
    attribute *attributes;
    unsigned count;
} configuration;
API int cuLaunchKernelEx(const configuration *c, const function *f, void **values, void **extra) {
    if (c->count != 1 || c->attributes[0].id != 6 || c->attributes[0].value.allowed != 1)
        return INVALID;
    return cuLaunchKernel(f, c->x, c->y, c->z, c->tx, c->ty, c->tz, c->shared, c->stream, values, extra);
}
/* What stands in a tensor map is the driver's to say: _cuda_on_cpu.h reads it so. */
API int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                               const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave, int swizzle,
                               int ahead, int fill) {
    struct fake_map {
        uint64_t address, extents[5], strides[5];
        uint32_t rank, box[5];
    } *m = map;
    (void)ahead;
    if ((uintptr_t)map % 64 || (uintptr_t)address % 16 || (type != 6 && type != 9 && type != 1 && type != 0) || rank < 2 ||
        rank > 5 || interleave || swizzle != 3 || fill || box[0] * (type ? 2 : 1) != 128)
        return INVALID;
    memset(m, 0, 128);
    m->address = (uintptr_t)address;
    m->rank = rank;
    for (uint32_t d = 0; d < rank; d++) {
        m->extents[d] = extents[d];
        m->strides[d] = d ? strides[d - 1] : type ? 2 : 1;
        m->box[d] = box[d];
        if (!extents[d] || extents[d] >> 32 || steps[d] != 1 || !box[d] || box[d] > 256 ||
            (d && (m->strides[d] % 16 || m->strides[d] >> 40)))
            return INVALID;
    }
    return OK;
}
API int cuStreamCreate(void **s, unsigned flags) {
    (void)flags;
    *s = &stream;
    return usable();
}
API int cuStreamDestroy_v2(void *s) {
    (void)s;
    return OK;
}
API int cuStreamSynchronize(void *s) {
    note("wait%s\n", s == &stream ? "" : " elsewhere");
    return capturing ? INVALID : usable();
}
API int cuEventCreate(struct timespec **e, unsigned flags) {
    (void)flags;
    *e = calloc(1, sizeof **e);
    return OK;
}
API int cuEventDestroy_v2(struct timespec *e) {
    free(e);
    return OK;
}
API int cuEventRecord(struct timespec *e, void *s) {
    (void)s;
    clock_gettime(CLOCK_MONOTONIC, e);
    return usable();
}
API int cuEventSynchronize(struct timespec *e) {
    (void)e;
    return usable();
}
API int cuEventElapsedTime(float *ms, struct timespec *a, struct timespec *b) {
    *ms = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) * 1e-6);
    return usable();
}
API int cuStreamBeginCapture_v2(void *s, int mode) {
    (void)s, (void)mode;
    capturing = true;
    captured = NULL;
    capture_end = &captured;
    return usable();
}
API int cuStreamEndCapture(void *s, launch **graph) {
    (void)s;
    capturing = false;
    *graph = captured;
    return usable();
}
API int cuGraphInstantiateWithFlags(launch **ready, launch *graph, unsigned long long flags) {
    *ready = graph;
    return flags ? INVALID : usable();
}
API int cuGraphLaunch(launch *graph, void *s) {
    (void)s;
    note("graph\n");
    for (; graph; graph = graph->next) {
        void *values[PARAMETERS];
        for (int i = 0; i < graph->f->count; i++)
            values[i] = &graph->values[i];
        int status = run_launch(graph->f, graph->blocks, graph->threads, values);
        if (status)
            return status;
    }
    return OK;
}
API int cuGraphExecDestroy(launch *graph) {
    while (graph) {
        launch *next = graph->next;
        free(graph);
        graph = next;
    }
    return OK;
}
API int cuGraphDestroy(launch *graph) {
    (void)graph; /* what was made ready of it is the same */
    return OK;
}
