/* A stranger's program over include/tilec.h on a CUDA device: device memory of its own, a stream of its own, a program's launches on it. Prints `ok NAME`
 * and `FAIL NAME` lines. The driver is opened as libcuda.so.1, the real one or that of _cuda_on_cpu.c. */
#include <tilec.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, COLUMNS = 1008, COUNT = ROWS * COLUMNS };
static int failures;

static void report(const char *name, bool good, const char *why) {
    printf("%s cuda api: %s\n", good ? "ok" : "FAIL", name);
    if (!good)
        printf("    %s\n", why);
    failures += !good;
}

static const char text[] = "kernel twice(x: f32[R, C]) -> (y: f32[R, C]) { for tile y[r: BR, c: BC] { y[r, c] = 2 * x[r, c] } }\n"
                           "kernel total(x: f32[R, C]) -> (s: f32[R]) {\n"
                           "    for tile s[r: BR] { t: f32[r] = 0  for c: BC in C { t += sum[c](x[r, c]) }  s[r] = t }\n"
                           "}\n"
                           "kernel pick(x: f32[N], at: index(N)[M]) -> (y: f32[M]) { for tile y[m: BM] { y[m] = x[at[m]] } }\n"
                           "program both(x: f32[R, C]) -> (s: f32[R]) { y = twice(x)  s = total(y) }\n";

static int (*allocate)(uint64_t *, size_t), (*copy_in)(uint64_t, const void *, size_t, void *),
    (*copy_out)(void *, uint64_t, size_t, void *), (*wait_for)(void *), (*new_stream)(void **, unsigned), (*retain)(void **, int),
    (*push)(void *);

static bool take(void *library, void *function, const char *name) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void *on_device(const void *from, size_t bytes, void *stream) {
    uint64_t p = 0;
    if (allocate(&p, bytes) || (from && (copy_in(p, from, bytes, stream) || wait_for(stream))))
        return NULL;
    return (void *)(uintptr_t)p;
}

static tilec_array device_array(int rank, const int64_t *shape, tilec_type type, void *data) {
    return (tilec_array){
        .size = sizeof(tilec_array), .type = type, .rank = rank, .shape = shape, .data = data, .memory = TILEC_DEVICE};
}

int main(void) {
    static float x[COUNT], y[COUNT], s[ROWS];
    int64_t shape[] = {ROWS, COLUMNS}, rows[] = {ROWS}, count[] = {COUNT}, three[] = {3};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *stream = NULL, *context = NULL;
    tilec_context *t = tilec_open("cuda");
    if (!library || !tilec_ready(t)) {
        report("a device", false, tilec_error(t));
        return 1;
    }
    if (!take(library, &allocate, "cuMemAlloc_v2") || !take(library, &copy_in, "cuMemcpyHtoDAsync_v2") ||
        !take(library, &copy_out, "cuMemcpyDtoHAsync_v2") || !take(library, &wait_for, "cuStreamSynchronize") ||
        !take(library, &new_stream, "cuStreamCreate") || !take(library, &retain, "cuDevicePrimaryCtxRetain") ||
        !take(library, &push, "cuCtxPushCurrent_v2") || retain(&context, 0) || push(context) || new_stream(&stream, 1)) {
        report("the driver", false, "it lacks something");
        return 1;
    }
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i % 7);
    tilec_module *m = tilec_load_text(t, "text.tile", text);
    tilec_call *c = tilec_call_new(m, "both");
    void *there = on_device(x, sizeof x, stream), *sums = on_device(NULL, sizeof s, stream);
    tilec_array ax = device_array(2, shape, TILEC_F32, there), as = device_array(1, rows, TILEC_F32, sums);
    tilec_launch_options o = {.size = sizeof o, .stream = stream};
    bool good = c && there && sums && tilec_bind(c, "x", &ax) && tilec_bind(c, "s", &as) && tilec_launch_with(c, &o);
    report("a program on the caller's stream and memory", good, tilec_error(t));
    good = good && !copy_out(s, (uint64_t)(uintptr_t)sums, sizeof s, stream) && !wait_for(stream);
    for (int r = 0; good && r < ROWS; r++) {
        float wanted = 0;
        for (int i = 0; i < COLUMNS; i++)
            wanted += 2 * x[r * COLUMNS + i];
        good = s[r] == wanted;
    }
    report("its results", good, "wrong sums");
    report("the result is where it was bound", tilec_result(c, "s", NULL, NULL) == sums, "another place");
    report("a checked launch wants host memory", !tilec_launch_checked(c, NULL) && strstr(tilec_error(t), "E0665"),
           tilec_error(t));
    tilec_call_free(c);
    c = tilec_call_new(m, "twice"); /* one argument here, one there */
    good = tilec_bind(c, "x", &ax) && tilec_bind_array(c, "y", TILEC_F32, 2, shape, y) && tilec_launch(c);
    for (int i = 0; good && i < COUNT; i++)
        good = y[i] == 2 * x[i];
    report("device memory in, host memory out", good, tilec_error(t));
    report("time by the device's clock", tilec_launch_milliseconds(c) > 0, "none");
    void *same = there;
    tilec_array out = device_array(2, shape, TILEC_F32, same);
    report("a result over its argument is refused",
           tilec_bind(c, "y", &out) && !tilec_launch(c) && strstr(tilec_error(t), "E0649"), tilec_error(t));
    tilec_call_free(c);
    c = tilec_call_new(m, "pick");
    int32_t at[] = {0, COUNT, 1};
    float picked[3];
    ax = device_array(1, count, TILEC_F32, there);
    tilec_array ai = device_array(1, three, TILEC_I32, on_device(at, sizeof at, stream));
    good = tilec_bind(c, "x", &ax) && tilec_bind(c, "at", &ai) && tilec_bind_array(c, "y", TILEC_F32, 1, three, picked);
    report("indices in device memory are checked", good && !tilec_launch_with(c, &o) && strstr(tilec_error(t), "E0603"),
           tilec_error(t));
    tilec_close(t);
    t = tilec_open(NULL);
    m = tilec_load_text(t, "text.tile", text);
    c = tilec_call_new(m, "twice");
    out.memory = TILEC_DEVICE;
    report("the CPU takes no device memory", !tilec_bind(c, "y", &out) && strstr(tilec_error(t), "E0665"), tilec_error(t));
    tilec_close(t);
    return failures > 0;
}
