/* Asks a CUDA device the dots of NAME.dots, or the codes of NAME.codes, with the kernel of NAME.cu: ./cuda_probe NAME.dots ... prints a row for each. Driver and NVRTC are opened when
 * it runs; TILEC_CUDA and TILEC_NVRTC name them where they are not found. */
#include "probe_codes.h"
#include "probe_dots.h"
#include "probe_text.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4096, CODES = 1 << 20, THREADS = 256 /* of a block, in kernels that convert */, MAJOR = 75, MINOR = 76 };

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

/* specific: for this architecture with what it alone has */
static int compile(const device *d, const char *path, int specific, const char *name, void **module, void **kernel) {
    char option[64], *text = probe_text_read(path);
    const char *const options[] = {option};
    void *program;
    size_t size;
    if (!text)
        return 0;
    snprintf(option, sizeof option, "--gpu-architecture=sm_%d%s", d->architecture, specific ? "a" : "");
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
    TRY(cuModuleGetFunction(kernel, *module, name));
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

static int ask_codes(const probe_codes *c, void *kernel, uint32_t *codes, uint32_t *answers) {
    uint64_t in, out;
    TRY(cuMemAlloc_v2(&in, CODES * 4));
    TRY(cuMemAlloc_v2(&out, CODES * 4));
    for (long long first = 0; first < c->count; first += CODES) {
        int count = (int)(c->count - first < CODES ? c->count - first : CODES);
        void *parameters[] = {&in, &out, &count};
        probe_codes_place(c, first, count, codes);
        TRY(cuMemcpyHtoDAsync_v2(in, codes, (size_t)count * 4, NULL));
        TRY(cuLaunchKernel(kernel, (unsigned)((count + THREADS - 1) / THREADS), 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
        TRY(cuMemcpyDtoHAsync_v2(answers + first, out, (size_t)count * 4, NULL));
        TRY(cuStreamSynchronize(NULL));
    }
    TRY(cuMemFree_v2(in));
    TRY(cuMemFree_v2(out));
    return 1;
}

static int ends(const char *path, const char *end) {
    size_t length = strlen(path), size = strlen(end);
    return length > size && !strcmp(path + length - size, end);
}

/* NAME.cu of NAME.dots or NAME.codes, to be freed. */
static char *kernel_path(const char *path) {
    size_t length = strlen(path) - (ends(path, ".dots") ? 5 : ends(path, ".codes") ? 6 : 0);
    char *text = calloc(length + 4, 1);
    if (text) {
        memcpy(text, path, length);
        memcpy(text + length, ".cu", 4);
    }
    return text;
}

static int probe_conversion(const device *device, const char *path) {
    probe_codes c;
    void *module, *kernel;
    if (!probe_codes_read(&c, path))
        return 0;
    if (device->architecture < c.architecture) {
        fprintf(stderr, "%s is for sm_%d and later\n", c.conversion, c.architecture);
        return 0;
    }
    char *text = kernel_path(path);
    uint32_t *codes = malloc(CODES * 4), *answers = malloc((size_t)c.count * 4 + 4);
    int good = text && codes && answers && compile(device, text, 0, "convert", &module, &kernel) &&
               ask_codes(&c, kernel, codes, answers) && !cuModuleUnload(module);
    if (good)
        probe_codes_print(&c, "cuda", device->text, answers);
    free(codes);
    free(answers);
    free(text);
    return good;
}

static int probe_instruction(const device *device, const char *path) {
    probe_dots d;
    void *module, *kernel;
    if (!probe_dots_read(&d, path))
        return 0;
    char *text = kernel_path(path);
    uint32_t *answers = calloc((size_t)d.count + 1, 4);
    int good = text && answers && compile(device, text, d.specific, "dots", &module, &kernel) && ask(&d, kernel, answers) &&
               !cuModuleUnload(module);
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
        fprintf(stderr, "usage: %s NAME.dots|NAME.codes ...\n", arguments[0]);
    if (count < 2 || !open_libraries() || !open_device(&d))
        return 1;
    int answered = 0;
    for (int i = 1; i < count; i++) {
        if (ends(arguments[i], ".codes") ? probe_conversion(&d, arguments[i]) : probe_instruction(&d, arguments[i]))
            answered++;
        else
            fprintf(stderr, "%s: not asked (an instruction that this device lacks is left out)\n", arguments[i]);
    }
    return answered == 0;
}
