/* OpenCL, for probe_ask.c. The loader is opened when it runs; TILEC_OPENCL names it where it is not found, TILEC_OPENCL_DEVICE another device than the first, by
 * number. */
#include "probe_device.h"
#include "probe_text.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLATFORM_NAME = 0x902,
    DEVICE_TYPE = 0x1000,
    IS_PROCESSOR = 2,
    DEVICE_NAME = 0x102B,
    DRIVER_VERSION = 0x102D,
    DEVICE_VERSION = 0x102F,
    LOG = 0x1183
};
const char probe_target[] = "opencl", probe_extension[] = ".cl";
#define ANY_DEVICE ((uint64_t)0xFFFFFFFF)
#define READ_AND_WRITTEN ((uint64_t)1)

/* result name(parameters): what of the loader is used; everything it makes is a pointer. */
#define FUNCTIONS(F)                                                                                                             \
    F(int, clGetPlatformIDs, (unsigned, void **, unsigned *))                                                                    \
    F(int, clGetPlatformInfo, (void *, unsigned, size_t, void *, size_t *))                                                      \
    F(int, clGetDeviceIDs, (void *, uint64_t, unsigned, void **, unsigned *))                                                    \
    F(int, clGetDeviceInfo, (void *, unsigned, size_t, void *, size_t *))                                                        \
    F(void *, clCreateContext, (const intptr_t *, unsigned, void *const *, void *, void *, int *))                               \
    F(void *, clCreateCommandQueue, (void *, void *, uint64_t, int *))                                                           \
    F(void *, clCreateBuffer, (void *, uint64_t, size_t, void *, int *))                                                         \
    F(void *, clCreateProgramWithSource, (void *, unsigned, const char **, const size_t *, int *))                               \
    F(int, clBuildProgram, (void *, unsigned, void *const *, const char *, void *, void *))                                      \
    F(int, clGetProgramBuildInfo, (void *, void *, unsigned, size_t, void *, size_t *))                                          \
    F(void *, clCreateKernel, (void *, const char *, int *))                                                                     \
    F(int, clSetKernelArg, (void *, unsigned, size_t, const void *))                                                             \
    F(int, clEnqueueWriteBuffer, (void *, void *, unsigned, size_t, size_t, const void *, unsigned, void *, void *))             \
    F(int, clEnqueueReadBuffer, (void *, void *, unsigned, size_t, size_t, void *, unsigned, void *, void *))                    \
    F(int, clEnqueueNDRangeKernel,                                                                                               \
      (void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, void *, void *))                      \
    F(int, clReleaseKernel, (void *))                                                                                            \
    F(int, clReleaseProgram, (void *))                                                                                           \
    F(int, clReleaseMemObject, (void *))
#define DECLARE(result, name, parameters) static result(*name) parameters;
FUNCTIONS(DECLARE)

typedef struct device {
    void *id, *context, *queue;
} device;
static device at_hand;

static int failed(const char *what, int status) {
    fprintf(stderr, "%s: error %d\n", what, status);
    return 0;
}
#define TRY(call)                                                                                                                \
    do {                                                                                                                         \
        int status_ = call;                                                                                                      \
        if (status_)                                                                                                             \
            return failed(#call, status_);                                                                                       \
    } while (0)

static int open_loader(void) {
    static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so", "/System/Library/Frameworks/OpenCL.framework/OpenCL"};
    const char *own = getenv("TILEC_OPENCL");
    void *library = own ? dlopen(own, RTLD_NOW) : NULL;
    for (size_t i = 0; !own && !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s; TILEC_OPENCL names the OpenCL loader\n", dlerror());
        return 0;
    }
#define LOAD(result, name, parameters)                                                                                           \
    if (!(*(void **)&name = dlsym(library, #name))) {                                                                            \
        fprintf(stderr, "the OpenCL loader has no %s\n", #name);                                                                 \
        return 0;                                                                                                                \
    }
    FUNCTIONS(LOAD)
    return 1;
}

/* Device by number, over all platforms. */
static int find_device(device *d, void **platform) {
    const char *wish = getenv("TILEC_OPENCL_DEVICE");
    long number = wish ? strtol(wish, NULL, 10) : 0;
    void *platforms[32], *devices[64];
    unsigned platform_count = 0, count;
    TRY(clGetPlatformIDs(32, platforms, &platform_count));
    for (unsigned i = 0; i < platform_count && i < 32; i++) {
        if (clGetDeviceIDs(platforms[i], ANY_DEVICE, 64, devices, &count))
            continue;
        if (number >= 0 && number < (long)count && number < 64) {
            d->id = devices[number];
            *platform = platforms[i];
            return 1;
        }
        number -= (long)count;
    }
    fprintf(stderr, "there is no OpenCL device %s\n", wish ? wish : "0");
    return 0;
}

int probe_device_open(char *text, size_t size, int *architecture) {
    device *d = &at_hand;
    void *platform;
    char name[128] = "", platform_name[128] = "", version[128] = "", driver[128] = "";
    int status = 0;
    *architecture = 0;
    if (!open_loader() || !find_device(d, &platform))
        return 0;
    TRY(clGetDeviceInfo(d->id, DEVICE_NAME, sizeof name - 1, name, NULL));
    TRY(clGetPlatformInfo(platform, PLATFORM_NAME, sizeof platform_name - 1, platform_name, NULL));
    TRY(clGetDeviceInfo(d->id, DEVICE_VERSION, sizeof version - 1, version, NULL));
    TRY(clGetDeviceInfo(d->id, DRIVER_VERSION, sizeof driver - 1, driver, NULL));
    snprintf(text, size, "%s (%s), %s, driver %s", name, platform_name, version, driver);
    d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &status);
    if (d->context && !status)
        d->queue = clCreateCommandQueue(d->context, d->id, 0, &status);
    return (d->queue && !status) || failed(text, status);
}

typedef struct kernel {
    void *program, *function;
} kernel;

static int compile(const char *path, const char *function, kernel *k) {
    int status = 0;
    char *text = probe_text_read(path), log[4096] = "";
    const char *source = text;
    if (!text)
        return 0;
    k->program = clCreateProgramWithSource(at_hand.context, 1, &source, NULL, &status);
    free(text);
    if (!k->program || status)
        return failed(path, status);
    status = clBuildProgram(k->program, 1, &at_hand.id, "-cl-std=CL1.2", NULL, NULL);
    if (status && !clGetProgramBuildInfo(k->program, at_hand.id, LOG, sizeof log - 1, log, NULL))
        fprintf(stderr, "%s\n", log);
    k->function = status ? NULL : clCreateKernel(k->program, function, &status);
    if (k->function && !status)
        return 1;
    clReleaseProgram(k->program);
    return failed(path, status);
}

void *probe_load(const char *path, const char *function, int specific) {
    kernel *k = calloc(1, sizeof *k);
    (void)specific;
    if (k && compile(path, function, k))
        return k;
    free(k);
    return NULL;
}

void probe_unload(void *kernel_of) {
    kernel *k = kernel_of;
    if (k) {
        clReleaseKernel(k->function);
        clReleaseProgram(k->program);
    }
    free(k);
}

int probe_has_banks(void) {
    uint64_t kind = 0;
    return !clGetDeviceInfo(at_hand.id, DEVICE_TYPE, sizeof kind, &kind, NULL) && !(kind & IS_PROCESSOR);
}

void *probe_memory(size_t bytes) {
    int status = 0;
    void *memory = clCreateBuffer(at_hand.context, READ_AND_WRITTEN, bytes, NULL, &status);
    if (!memory || status)
        failed("clCreateBuffer", status);
    return status ? NULL : memory;
}

void probe_release(void *memory) {
    if (memory)
        clReleaseMemObject(memory);
}

int probe_copy_in(void *memory, const void *from, size_t bytes) {
    TRY(clEnqueueWriteBuffer(at_hand.queue, memory, 1, 0, bytes, from, 0, NULL, NULL));
    return 1;
}

int probe_copy_out(void *to, void *memory, size_t bytes) {
    TRY(clEnqueueReadBuffer(at_hand.queue, memory, 1, 0, bytes, to, 0, NULL, NULL));
    return 1;
}

int probe_launch(void *kernel_of, size_t blocks, size_t threads, const probe_argument *arguments, int count, int quiet) {
    void *function = ((kernel *)kernel_of)->function;
    size_t items = blocks * threads;
    for (int i = 0; i < count; i++) {
        const void *memory = arguments[i].memory;
        TRY(clSetKernelArg(function, (unsigned)i, memory ? sizeof memory : sizeof(int),
                           memory ? (const void *)&memory : (const void *)&arguments[i].number));
    }
    int status = clEnqueueNDRangeKernel(at_hand.queue, function, 1, NULL, &items, &threads, 0, NULL, NULL);
    return !status || (!quiet && failed("clEnqueueNDRangeKernel", status));
}
