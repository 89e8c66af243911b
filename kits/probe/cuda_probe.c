/* Asks a CUDA device the dots of NAME.dots, with the kernel of NAME.cu: ./cuda_probe NAME.dots ... prints a row for each. Driver and NVRTC are opened when
 * it runs; TILEC_CUDA and TILEC_NVRTC name them where they are not found. */
#include "probe_dots.h"
#include "probe_text.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4096, MAJOR = 75, MINOR = 76 };

/* status name(parameters): what of the two libraries is used. */
#define FUNCTIONS(F)                                                                                                             \
    F(cuda, cuInit, (unsigned))                                                                                                  \
    F(cuda, cuDeviceGet, (int *, int))                                                                                           \
    F(cuda, cuDeviceGetName, (char *, int, int))                                                                                 \
    F(cuda, cuDeviceGetAttribute, (int *, int, int))                                                                             \
    F(cuda, cuDriverGetVersion, (int *))                                                                                         \
    F(cuda, cuDevicePrimaryCtxRetain, (void **, int))                                                                            \
    F(cuda, cuCtxPushCurrent_v2, (void *))                                                                                       \
    F(cuda, cuMemAlloc_v2, (uint64_t *, size_t))                                                                                 \
    F(cuda, cuMemFree_v2, (uint64_t))                                                                                            \
    F(cuda, cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *))                                                      \
    F(cuda, cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *))                                                            \
    F(cuda, cuModuleLoadData, (void **, const void *))                                                                           \
    F(cuda, cuModuleUnload, (void *))                                                                                            \
    F(cuda, cuModuleGetFunction, (void **, void *, const char *))                                                                \
    F(cuda, cuLaunchKernel,                                                                                                      \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))                  \
    F(cuda, cuStreamSynchronize, (void *))                                                                                       \
    F(nvrtc, nvrtcVersion, (int *, int *))                                                                                       \
    F(nvrtc, nvrtcCreateProgram, (void **, const char *, const char *, int, const char *const *, const char *const *))           \
    F(nvrtc, nvrtcCompileProgram, (void *, int, const char *const *))                                                            \
    F(nvrtc, nvrtcGetProgramLogSize, (void *, size_t *))                                                                         \
    F(nvrtc, nvrtcGetProgramLog, (void *, char *))                                                                               \
    F(nvrtc, nvrtcGetCUBINSize, (void *, size_t *))                                                                              \
    F(nvrtc, nvrtcGetCUBIN, (void *, char *))                                                                                    \
    F(nvrtc, nvrtcDestroyProgram, (void **))
#define DECLARE(library, name, parameters) static int(*name) parameters;
FUNCTIONS(DECLARE)

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

static void *open_first(const char *variable, const char *const *names) {
    const char *own = getenv(variable);
    void *library = own ? dlopen(own, RTLD_NOW) : NULL;
    for (; !library && *names; names++)
        library = dlopen(*names, RTLD_NOW);
    if (!library)
        fprintf(stderr, "%s; %s names the library\n", dlerror(), variable);
    return library;
}

static int open_libraries(void) {
    static const char *const drivers[] = {"libcuda.so.1", "libcuda.so", NULL}, *const compilers[] = {
                                                                                   "libnvrtc.so.13", "libnvrtc.so.12",
                                                                                   "libnvrtc.so.11.2", "libnvrtc.so", NULL};
    void *cuda = open_first("TILEC_CUDA", drivers), *nvrtc = cuda ? open_first("TILEC_NVRTC", compilers) : NULL;
    if (!nvrtc)
        return 0;
#define LOAD(library, name, parameters)                                                                                          \
    if (!(*(void **)&name = dlsym(library, #name))) {                                                                            \
        fprintf(stderr, "%s has no %s\n", #library, #name);                                                                      \
        return 0;                                                                                                                \
    }
    FUNCTIONS(LOAD)
    return 1;
}

typedef struct device {
    char name[200], text[400];
    int architecture;
} device;

static int open_device(device *d) {
    int number, major, minor, driver, compiler[2];
    void *context;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&number, 0));
    TRY(cuDeviceGetName(d->name, sizeof d->name, number));
    TRY(cuDeviceGetAttribute(&major, MAJOR, number));
    TRY(cuDeviceGetAttribute(&minor, MINOR, number));
    TRY(cuDriverGetVersion(&driver));
    TRY(nvrtcVersion(&compiler[0], &compiler[1]));
    TRY(cuDevicePrimaryCtxRetain(&context, number));
    TRY(cuCtxPushCurrent_v2(context));
    d->architecture = major * 10 + minor;
    snprintf(d->text, sizeof d->text, "%s, sm_%d, driver %d.%d, NVRTC %d.%d", d->name, d->architecture, driver / 1000,
             driver % 1000 / 10, compiler[0], compiler[1]);
    return 1;
}

static int compile(const device *d, const probe_dots *dots, const char *path, void **module, void **kernel) {
    char option[64], *text = probe_text_read(path);
    const char *const options[] = {option};
    void *program;
    size_t size;
    if (!text)
        return 0;
    snprintf(option, sizeof option, "--gpu-architecture=sm_%d%s", d->architecture, dots->specific ? "a" : "");
    TRY(nvrtcCreateProgram(&program, text, path, 0, NULL, NULL));
    free(text);
    int status = nvrtcCompileProgram(program, 1, options);
    if (status) {
        TRY(nvrtcGetProgramLogSize(program, &size));
        char *log = calloc(size + 1, 1);
        if (log && !nvrtcGetProgramLog(program, log))
            fprintf(stderr, "%s", log);
        free(log);
        nvrtcDestroyProgram(&program);
        return failed(path, status);
    }
    TRY(nvrtcGetCUBINSize(program, &size));
    char *code = malloc(size);
    if (!code)
        return failed("memory", 0);
    TRY(nvrtcGetCUBIN(program, code));
    TRY(nvrtcDestroyProgram(&program));
    TRY(cuModuleLoadData(module, code));
    free(code);
    TRY(cuModuleGetFunction(kernel, *module, "dots"));
    return 1;
}

static int ask(const probe_dots *d, void *kernel, uint32_t *answers) {
    size_t bytes_a = (size_t)(BATCH * d->rows * d->k * d->bytes_a), bytes_b = (size_t)(BATCH * 8 * d->k * d->bytes_b),
           bytes_c = (size_t)(BATCH * d->rows * 8 * 4);
    void *a = malloc(bytes_a), *b = malloc(bytes_b);
    uint32_t *c = malloc(bytes_c);
    uint64_t pa, pb, pc, pd;
    if (!a || !b || !c)
        return failed("memory", 0);
    TRY(cuMemAlloc_v2(&pa, bytes_a));
    TRY(cuMemAlloc_v2(&pb, bytes_b));
    TRY(cuMemAlloc_v2(&pc, bytes_c));
    TRY(cuMemAlloc_v2(&pd, bytes_c));
    for (long long first = 0, all = probe_tiles(d); first < all; first += BATCH) {
        int tiles = (int)(all - first < BATCH ? all - first : BATCH);
        void *parameters[] = {&pa, &pb, &pc, &pd, &tiles};
        probe_dots_place(d, first, tiles, a, b, c);
        TRY(cuMemcpyHtoDAsync_v2(pa, a, bytes_a / BATCH * (size_t)tiles, NULL));
        TRY(cuMemcpyHtoDAsync_v2(pb, b, bytes_b / BATCH * (size_t)tiles, NULL));
        TRY(cuMemcpyHtoDAsync_v2(pc, c, bytes_c / BATCH * (size_t)tiles, NULL));
        TRY(cuLaunchKernel(kernel, (unsigned)((tiles + d->tiles_a_block - 1) / d->tiles_a_block), 1, 1, 128, 1, 1, 0, NULL,
                           parameters, NULL));
        TRY(cuMemcpyDtoHAsync_v2(c, pd, bytes_c / BATCH * (size_t)tiles, NULL));
        TRY(cuStreamSynchronize(NULL));
        probe_dots_take(d, first, tiles, c, answers);
    }
    TRY(cuMemFree_v2(pa));
    TRY(cuMemFree_v2(pb));
    TRY(cuMemFree_v2(pc));
    TRY(cuMemFree_v2(pd));
    free(a);
    free(b);
    free(c);
    return 1;
}

static int probe(const device *device, const char *path) {
    probe_dots d;
    void *module, *kernel;
    size_t length = strlen(path);
    char *text = calloc(length + 8, 1);
    if (!text || !probe_dots_read(&d, path))
        return 0;
    memcpy(text, path, length > 5 && !strcmp(path + length - 5, ".dots") ? length - 5 : length);
    strcat(text, ".cu");
    uint32_t *answers = calloc((size_t)d.count + 1, 4);
    int good = answers && compile(device, &d, text, &module, &kernel) && ask(&d, kernel, answers) && !cuModuleUnload(module);
    if (good)
        probe_dots_print(&d, "cuda", device->text, answers);
    probe_dots_free(&d);
    free(answers);
    free(text);
    return good;
}

int main(int count, char **arguments) {
    device d;
    if (count < 2)
        fprintf(stderr, "usage: %s NAME.dots ...\n", arguments[0]);
    if (count < 2 || !open_libraries() || !open_device(&d))
        return 1;
    int answered = 0;
    for (int i = 1; i < count; i++) {
        if (probe(&d, arguments[i]))
            answered++;
        else
            fprintf(stderr, "%s: not asked (an instruction that this device lacks is left out)\n", arguments[i]);
    }
    return answered == 0;
}
