/* Finding CUDA: the driver, its devices, the run-time compiler. */
#include "run/cuda_api.h"
#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_DRIVER = 11040 };

static cuda_system found;
static nvrtc_system compiler;
static pthread_once_t once = PTHREAD_ONCE_INIT, compiler_once = PTHREAD_ONCE_INIT;

static bool open_functions(void) {
    static const char *const names[] = {"libcuda.so.1", "libcuda.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(found.why, sizeof found.why, "libcuda.so.1, which comes with NVIDIA's driver, is not installed");
        return false;
    }
    void *symbol;
#define CU_FUNCTION(function, name, parameters)                                                                                  \
    if (!(symbol = dlsym(library, #function))) {                                                                                 \
        snprintf(found.why, sizeof found.why, "NVIDIA's driver is too old: it lacks " #function " (version 11.4 has it)");       \
        return false;                                                                                                            \
    }                                                                                                                            \
    memcpy(&found.api.name, &symbol, sizeof symbol); /* ISO C has no conversion from data to function pointers */
    CU_FUNCTIONS
#undef CU_FUNCTION
    const char *overlap = getenv("TILEC_CUDA_OVERLAP");
    if (!(overlap && !strcmp(overlap, "0")) && (symbol = dlsym(library, "cuLaunchKernelEx")))
        memcpy(&found.launch_with, &symbol, sizeof symbol);
    if ((symbol = dlsym(library, "cuTensorMapEncodeTiled")))
        memcpy(&found.encode_map, &symbol, sizeof symbol);
    return true;
}

const char *cuda_status_text(const cuda_system *s, cu_status status) {
    static _Thread_local char text[160];
    const char *name = NULL, *meaning = NULL;
    if (s->api.GetErrorName)
        s->api.GetErrorName(status, &name);
    if (s->api.GetErrorString)
        s->api.GetErrorString(status, &meaning);
    if (name)
        snprintf(text, sizeof text, "%s%s%s%s", name, meaning ? " (" : "", meaning ? meaning : "", meaning ? ")" : "");
    else
        snprintf(text, sizeof text, "CUDA status %d", status);
    return text;
}

static bool describe(cuda_found *d, int number) {
    char name[128] = "device";
    size_t bytes = 0;
    if (found.api.DeviceGet(&d->device, number))
        return false;
    found.api.DeviceGetName(name, sizeof name - 1, d->device);
    found.api.DeviceGetAttribute(&d->major, CU_DEVICE_COMPUTE_CAPABILITY_MAJOR, d->device);
    found.api.DeviceGetAttribute(&d->minor, CU_DEVICE_COMPUTE_CAPABILITY_MINOR, d->device);
    found.api.DeviceGetAttribute(&d->multiprocessors, CU_DEVICE_MULTIPROCESSOR_COUNT, d->device);
    found.api.DeviceTotalMem(&bytes, d->device);
    const nvrtc_system *c = nvrtc_open_system();
    char compiles[64] = "no NVRTC";
    if (c->found)
        snprintf(compiles, sizeof compiles, "NVRTC %d.%d", c->major, c->minor);
    snprintf(d->text, sizeof d->text, "%.80s, sm_%d%d, %d multiprocessors, %.0f GiB, driver %d.%d, %s", name, d->major, d->minor,
             d->multiprocessors, (double)bytes / (double)(1 << 30), found.driver / 1000, found.driver % 1000 / 10, compiles);
    return true;
}

static void find(void) {
    int count = 0;
    if (!open_functions())
        return;
    found.api.DriverGetVersion(&found.driver);
    if (found.driver < LEAST_DRIVER) {
        snprintf(found.why, sizeof found.why, "NVIDIA's driver is for CUDA %d.%d, and 11.4 is needed", found.driver / 1000,
                 found.driver % 1000 / 10);
        return;
    }
    cu_status status = found.api.Init(0);
    if (!status)
        status = found.api.DeviceGetCount(&count);
    if (status) {
        snprintf(found.why, sizeof found.why, "NVIDIA's driver is installed but does not start: %.200s",
                 cuda_status_text(&found, status));
        return;
    }
    found.devices = count > 0 ? calloc((size_t)count, sizeof *found.devices) : NULL;
    for (int i = 0; found.devices && i < count; i++)
        found.count += describe(&found.devices[found.count], i);
    if (!found.count)
        snprintf(found.why, sizeof found.why, "NVIDIA's driver finds no device");
}

const cuda_system *cuda_open_system(void) {
    pthread_once(&once, find);
    return &found;
}

/* ---- NVRTC ---- */

static bool take_functions(void *library, const char *path) {
    void *symbol;
#define NVRTC_FUNCTION(function, name, parameters)                                                                               \
    if (!(symbol = dlsym(library, #function))) {                                                                                 \
        snprintf(compiler.why, sizeof compiler.why, "%.120s is too old: it lacks " #function, path);                             \
        return false;                                                                                                            \
    }                                                                                                                            \
    memcpy(&compiler.api.name, &symbol, sizeof symbol);
    NVRTC_FUNCTIONS
#undef NVRTC_FUNCTION
    return compiler.api.Version(&compiler.major, &compiler.minor) == 0;
}

/* The first that the driver is not older than; else the first. */
static void try_library(const char *path) {
    nvrtc_system best = compiler;
    void *library = compiler.found && !compiler.newer ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    bool taken = take_functions(library, path);
    compiler.newer = taken && found.driver && compiler.major > found.driver / 1000;
    compiler.found = taken;
    if (best.found && (!taken || compiler.newer))
        compiler = best;
    if (!taken)
        dlclose(library);
}

static void try_pattern(const char *root, const char *rest) {
    char pattern[512];
    glob_t g = {0};
    if (!root || (compiler.found && !compiler.newer) ||
        snprintf(pattern, sizeof pattern, "%s%s", root, rest) >= (int)sizeof pattern)
        return;
    if (glob(pattern, 0, NULL, &g) == 0)
        for (size_t i = g.gl_pathc; i-- > 0;) /* later versions first */
            try_library(g.gl_pathv[i]);
    globfree(&g);
}

static void find_compiler(void) {
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
    static const char *const python[] = {"/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.[0-9]*",
                                         "/lib/python3*/dist-packages/nvidia/*/lib/libnvrtc.so.[0-9]*",
                                         "/lib/python3/dist-packages/nvidia/*/lib/libnvrtc.so.[0-9]*"};
    const char *chosen = getenv("TILEC_NVRTC");
    snprintf(compiler.why, sizeof compiler.why,
             "libnvrtc.so, CUDA's run-time compiler, was not found: it comes with the CUDA toolkit and with Python's "
             "nvidia-cuda-nvrtc; "
             "TILEC_NVRTC=/path/to/libnvrtc.so names one elsewhere");
    if (chosen && *chosen) {
        snprintf(compiler.why, sizeof compiler.why, "TILEC_NVRTC names %.150s, which cannot be opened", chosen);
        try_library(chosen);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        try_library(names[i]);
    const char *roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        try_pattern(roots[i], "/lib64/libnvrtc.so.[0-9]*");
        try_pattern(roots[i], "/lib/libnvrtc.so.[0-9]*");
    }
    try_pattern("/usr/local/cuda-", "*/lib64/libnvrtc.so.[0-9]*");
    const char *prefixes[] = {getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX"), "/usr/local", "/usr", "/opt/*"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        for (size_t j = 0; j < sizeof python / sizeof *python; j++)
            try_pattern(prefixes[i], python[j]);
    const char *home = getenv("HOME");
    try_pattern(home, "/.local/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.[0-9]*");
}

const nvrtc_system *nvrtc_open_system(void) {
    pthread_once(&compiler_once, find_compiler);
    return &compiler;
}
