/* Asks an OpenCL device the codes of NAME.codes, with the kernel of NAME.cl: ./opencl_probe NAME.codes ... prints a row for each. The loader is opened when it
 * runs; TILEC_OPENCL names it where it is not found, TILEC_OPENCL_DEVICE another device than the first, by number. */
#include "probe_codes.h"
#include "probe_text.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 1 << 20,
    PLATFORM_NAME = 0x902,
    DEVICE_NAME = 0x102B,
    DRIVER_VERSION = 0x102D,
    DEVICE_VERSION = 0x102F,
    LOG = 0x1183
};
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
    F(int, clReleaseProgram, (void *))
#define DECLARE(result, name, parameters) static result(*name) parameters;
FUNCTIONS(DECLARE)

typedef struct device {
    void *id, *context, *queue, *in, *out;
    char text[640];
} device;

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

static int open_device(device *d) {
    void *platform;
    char name[128] = "", platform_name[128] = "", version[128] = "", driver[128] = "";
    int status = 0;
    if (!find_device(d, &platform))
        return 0;
    TRY(clGetDeviceInfo(d->id, DEVICE_NAME, sizeof name - 1, name, NULL));
    TRY(clGetPlatformInfo(platform, PLATFORM_NAME, sizeof platform_name - 1, platform_name, NULL));
    TRY(clGetDeviceInfo(d->id, DEVICE_VERSION, sizeof version - 1, version, NULL));
    TRY(clGetDeviceInfo(d->id, DRIVER_VERSION, sizeof driver - 1, driver, NULL));
    snprintf(d->text, sizeof d->text, "%s (%s), %s, driver %s", name, platform_name, version, driver);
    d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &status);
    if (d->context && !status)
        d->queue = clCreateCommandQueue(d->context, d->id, 0, &status);
    if (d->queue && !status)
        d->in = clCreateBuffer(d->context, READ_AND_WRITTEN, BATCH * 4, NULL, &status);
    if (d->in && !status)
        d->out = clCreateBuffer(d->context, READ_AND_WRITTEN, BATCH * 4, NULL, &status);
    return (d->out && !status) || failed(d->text, status);
}

static int build(const device *d, const char *path, void **program, void **kernel) {
    int status = 0;
    char *text = probe_text_read(path), log[4096] = "";
    const char *source = text;
    if (!text)
        return 0;
    *program = clCreateProgramWithSource(d->context, 1, &source, NULL, &status);
    free(text);
    if (!*program || status)
        return failed(path, status);
    status = clBuildProgram(*program, 1, &d->id, "-cl-std=CL1.2", NULL, NULL);
    if (status && !clGetProgramBuildInfo(*program, d->id, LOG, sizeof log - 1, log, NULL))
        fprintf(stderr, "%s\n", log);
    *kernel = status ? NULL : clCreateKernel(*program, "convert", &status);
    if (*kernel && !status)
        return 1;
    clReleaseProgram(*program);
    return failed(path, status);
}

static int ask(const device *d, const probe_codes *c, void *kernel, uint32_t *codes, uint32_t *answers) {
    for (long long first = 0; first < c->count; first += BATCH) {
        int count = (int)(c->count - first < BATCH ? c->count - first : BATCH);
        size_t items = (size_t)count;
        probe_codes_place(c, first, count, codes);
        TRY(clEnqueueWriteBuffer(d->queue, d->in, 1, 0, items * 4, codes, 0, NULL, NULL));
        TRY(clSetKernelArg(kernel, 0, sizeof d->in, &d->in));
        TRY(clSetKernelArg(kernel, 1, sizeof d->out, &d->out));
        TRY(clSetKernelArg(kernel, 2, sizeof count, &count));
        TRY(clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
        TRY(clEnqueueReadBuffer(d->queue, d->out, 1, 0, items * 4, answers + first, 0, NULL, NULL));
    }
    return 1;
}

static int probe(const device *d, const char *path) {
    probe_codes c;
    void *program, *kernel;
    size_t length = strlen(path);
    if (!probe_codes_read(&c, path))
        return 0;
    char *text = calloc(length + 8, 1);
    uint32_t *codes = malloc(BATCH * 4), *answers = malloc((size_t)c.count * 4 + 4);
    int good = text && codes && answers;
    if (good) {
        memcpy(text, path, length > 6 && !strcmp(path + length - 6, ".codes") ? length - 6 : length);
        strcat(text, ".cl");
        good = build(d, text, &program, &kernel);
    } else
        fprintf(stderr, "%s: no memory\n", path);
    if (good) {
        good = ask(d, &c, kernel, codes, answers);
        clReleaseKernel(kernel);
        clReleaseProgram(program);
    }
    if (good)
        probe_codes_print(&c, "opencl", d->text, answers);
    free(text);
    free(codes);
    free(answers);
    return good;
}

int main(int count, char **arguments) {
    device d = {0};
    if (count < 2)
        fprintf(stderr, "usage: %s NAME.codes ...\n", arguments[0]);
    if (count < 2 || !open_loader() || !open_device(&d))
        return 1;
    int answered = 0;
    for (int i = 1; i < count; i++) {
        if (probe(&d, arguments[i]))
            answered++;
        else
            fprintf(stderr, "%s: not asked\n", arguments[i]);
    }
    return answered == 0;
}
