/* CUDA, for probe_ask.c. Driver and NVRTC are opened when it runs; TILEC_CUDA and TILEC_NVRTC name them where they are not found. */
#include "probe_device.h"
#include "probe_text.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAJOR = 75, MINOR = 76 };
const char probe_target[] = "cuda", probe_extension[] = ".cu";

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

static int architecture_found;

int probe_device_open(char *text, size_t size, int *architecture) {
    int number, major, minor, driver, compiler[2];
    char name[200];
    void *context;
    if (!open_libraries())
        return 0;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&number, 0));
    TRY(cuDeviceGetName(name, sizeof name, number));
    TRY(cuDeviceGetAttribute(&major, MAJOR, number));
    TRY(cuDeviceGetAttribute(&minor, MINOR, number));
    TRY(cuDriverGetVersion(&driver));
    TRY(nvrtcVersion(&compiler[0], &compiler[1]));
    TRY(cuDevicePrimaryCtxRetain(&context, number));
    TRY(cuCtxPushCurrent_v2(context));
    *architecture = architecture_found = major * 10 + minor;
    snprintf(text, size, "%s, sm_%d, driver %d.%d, NVRTC %d.%d", name, architecture_found, driver / 1000, driver % 1000 / 10,
             compiler[0], compiler[1]);
    return 1;
}

typedef struct kernel {
    void *module, *function;
} kernel;

static int compile(const char *path, const char *function, int specific, kernel *k) {
    char option[64], *text = probe_text_read(path);
    const char *const options[] = {option};
    void *program;
    size_t size;
    if (!text)
        return 0;
    snprintf(option, sizeof option, "--gpu-architecture=sm_%d%s", architecture_found, specific ? "a" : "");
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
    TRY(cuModuleLoadData(&k->module, code));
    free(code);
    TRY(cuModuleGetFunction(&k->function, k->module, function));
    return 1;
}

void *probe_load(const char *path, const char *function, int specific) {
    kernel *k = calloc(1, sizeof *k);
    if (k && compile(path, function, specific, k))
        return k;
    free(k);
    return NULL;
}

void probe_unload(void *kernel_of) {
    kernel *k = kernel_of;
    if (k)
        cuModuleUnload(k->module);
    free(k);
}

int probe_has_banks(void) {
    return 1;
}

void *probe_memory(size_t bytes) {
    uint64_t at = 0;
    int status = cuMemAlloc_v2(&at, bytes);
    if (status)
        failed("cuMemAlloc", status);
    return (void *)(uintptr_t)at;
}

void probe_release(void *memory) {
    if (memory)
        cuMemFree_v2((uintptr_t)memory);
}

int probe_copy_in(void *memory, const void *from, size_t bytes) {
    TRY(cuMemcpyHtoDAsync_v2((uintptr_t)memory, from, bytes, NULL));
    return 1;
}

int probe_copy_out(void *to, void *memory, size_t bytes) {
    TRY(cuMemcpyDtoHAsync_v2(to, (uintptr_t)memory, bytes, NULL));
    TRY(cuStreamSynchronize(NULL));
    return 1;
}

int probe_launch(void *kernel_of, size_t blocks, size_t threads, const probe_argument *arguments, int count, int quiet) {
    uint64_t places[PROBE_MOST_ARGUMENTS];
    int numbers[PROBE_MOST_ARGUMENTS];
    void *parameters[PROBE_MOST_ARGUMENTS];
    for (int i = 0; i < count; i++) {
        places[i] = (uintptr_t)arguments[i].memory;
        numbers[i] = arguments[i].number;
        parameters[i] = arguments[i].memory ? (void *)&places[i] : (void *)&numbers[i];
    }
    int status = cuLaunchKernel(((kernel *)kernel_of)->function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, 0, NULL,
                                parameters, NULL);
    return !status || (!quiet && failed("cuLaunchKernel", status));
}
