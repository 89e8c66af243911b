/* A device that takes texts (CUDA, OpenCL) as traits see it: one text, in both spellings. */
#include "probe/trait.h"
#include "run/cuda.h"
#include "run/opencl_api.h"
#include "run/run.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK = 1024, LOADS_A_TRIP = 8, LEAST_HOPS = 1 << 14, MOST_TRIPS = 1 << 22 };
#define MOST_BYTES (INT64_C(128) << 20)

typedef struct texts_box {
    const runtime *runtime;
    device *device;
    int index;
    const char *name;  /* "opencl:0" */
    bool cuda, hopper; /* hopper: of an architecture whose limits the guide is asked for */
    text_kernel *hop, *banks[3], *empty, *heavy;
    void *ring, *out;
    uint32_t *host;
    int trips;
} texts_box;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static text_kernel *load_text(texts_box *b, const char *entry, char *text, diag_list *diags) {
    text_kernel *k = b->runtime->text->load(b->device, entry, text, entry, diags);
    free(text);
    return k;
}

static text_kernel *load(texts_box *b, trait_kernel which, diag_list *diags) {
    return load_text(b, trait_text_entries[which], trait_text(b->runtime->name, which), diags);
}

/* Seconds of a launch to its end. */
static bool timed(texts_box *b, text_kernel *k, const text_launch *l, double *took, diag_list *diags) {
    uint32_t word;
    double start = seconds();
    bool good = b->runtime->text->launch(b->device, k, l, diags) && b->runtime->copy_out(b->device, &word, b->out, 4, diags);
    *took = seconds() - start;
    return good;
}

static bool chase(void *context, int64_t bytes, int slot, int beside, double *ns, diag_list *diags) {
    texts_box *b = context;
    if (!b->hop && !(b->hop = load(b, TRAIT_HOP, diags)))
        return false;
    trait_ring(b->host, bytes, slot, beside, 1);
    const uint32_t zero = 0;
    if (!b->runtime->copy_in(b->device, b->ring, b->host, bytes, diags) ||
        !b->runtime->copy_in(b->device, b->out, &zero, 4, diags))
        return false;
    /* once round and twice as many hops more: the difference has neither the start nor the first round's misses */
    int64_t round = bytes / slot, hops = round > LEAST_HOPS ? round : LEAST_HOPS;
    double took[2];
    for (int i = -1; i < 2; i++) { /* nothing first: some drivers compile when a kernel is first launched */
        const text_argument arguments[] = {{.array = b->ring},
                                           {.array = b->out},
                                           {.bytes = 4, .value.i32 = i < 0 ? 0 : (int32_t)(round + hops * i)},
                                           {.bytes = 4, .value.i32 = beside / 4}};
        text_launch launch = {.blocks = {1, 1, 1}, .threads = {1, 1, 1}, .arguments = arguments, .count = 4};
        if (!timed(b, b->hop, &launch, &took[i > 0], diags))
            return false;
    }
    *ns = (took[1] - took[0]) / (double)hops * 1e9;
    return true;
}

static bool shared(void *context, int stride, int words, double *ns, diag_list *diags) {
    texts_box *b = context;
    int which = words == 4 ? 2 : words - 1;
    if (!b->banks[which] && !(b->banks[which] = load(b, (trait_kernel)(TRAIT_BANKS + which), diags)))
        return false;
    double took = 0, best = 0;
    for (int i = 0; i < 3;) {
        const text_argument arguments[] = {
            {.array = b->out}, {.bytes = 4, .value.i32 = b->trips}, {.bytes = 4, .value.i32 = stride}};
        text_launch launch = {.blocks = {1, 1, 1}, .threads = {BLOCK, 1, 1}, .arguments = arguments, .count = 3};
        if (!timed(b, b->banks[which], &launch, &took, diags))
            return false;
        if (took < 0.004 && b->trips < MOST_TRIPS) { /* until a launch outweighs what starting it takes */
            b->trips *= 2;
            i = 0;
            continue;
        }
        best = i++ && best < took ? best : took;
    }
    *ns = best / ((double)b->trips * LOADS_A_TRIP) * 1e9;
    return true;
}

/* Whether a launch is taken; what it says when it is not is of no interest. */
static bool launches(texts_box *b, text_kernel *k, text_launch launch) {
    arena *a = arena_new();
    diag_list quiet;
    diag_init(&quiet, a);
    const text_argument arguments[] = {{.array = b->out}};
    launch.arguments = arguments;
    launch.count = 1;
    double took;
    bool good = timed(b, k, &launch, &took, &quiet);
    arena_free(a);
    return good;
}

static bool declares(texts_box *b, int64_t bytes) {
    arena *a = arena_new();
    diag_list quiet;
    diag_init(&quiet, a);
    char *text = arena_printf(
        a,
        "declared(FAR unsigned *out) {\n    SHARED unsigned char s[%lld];\n    s[THREAD * %lld] = out[0];\n    MEET;\n"
        "    out[1] = s[(THREAD + out[0]) %% %lld];\n}\n",
        (long long)bytes, (long long)(bytes - 1), (long long)bytes);
    text_kernel *k = load_text(b, "declared", trait_text_around(b->runtime->name, "", text), &quiet);
    bool good = k && launches(b, k, (text_launch){.blocks = {1, 1, 1}, .threads = {1, 1, 1}});
    if (k)
        b->runtime->text->unload(b->device, k);
    arena_free(a);
    return good;
}

/* Whether such a kernel, held to `most` registers, has them. */
static bool has_registers(texts_box *b, int64_t most) {
    arena *a = arena_new();
    diag_list quiet;
    diag_init(&quiet, a);
    kernel_resources resources = {0};
    const int64_t least = 24; /* below, a kernel's frame does not fit */
    text_kernel *k = load_text(b, "heavy",
                               trait_text_of(b->runtime->name, TRAIT_HEAVY,
                                             arena_printf(a, " __maxnreg__(%lld)", (long long)(most < least ? least : most))),
                               &quiet);
    bool good = k && (most < least || !b->runtime->text->resources ||
                      (b->runtime->text->resources(b->device, k, &resources) && resources.registers >= most));
    if (k)
        b->runtime->text->unload(b->device, k);
    arena_free(a);
    return good;
}

static bool takes_parameters(texts_box *b, int64_t bytes) {
    arena *a = arena_new();
    diag_list quiet;
    diag_init(&quiet, a);
    int64_t rest = bytes > 8 ? bytes - 8 : 1; /* behind a pointer */
    text_kernel *k =
        load_text(b, "long_list",
                  trait_text_around(b->runtime->name, arena_printf(a, "struct words {\n    char c[%lld];\n};\n", (long long)rest),
                                    "long_list(FAR unsigned *out, const words w) {\n    out[0] = w.c[0];\n}\n"),
                  &quiet);
    if (k)
        b->runtime->text->unload(b->device, k);
    arena_free(a);
    return k != NULL;
}

/* An answer that is not the driver's success refuses. */
static bool maps(texts_box *b, int64_t box, bool across) {
    int status;
    return access_map(b->device, b->ring, 0, 4096, across ? (uint32_t)box * 8 : 64, across ? 8 : (uint32_t)box, true, &status) &&
           !status;
}

/* In a process of its own. */
static bool declares_local(const texts_box *b, int64_t bytes) {
    arena *a = arena_new();
    const char *words;
    bool good = access_ask(a, b->name, ACCESS_LOCAL_MEMORY, (int)bytes, &words) == ACCESS_TAKEN;
    arena_free(a);
    return good;
}

static bool accepts(void *context, trait_limit limit, int64_t value, bool *accepted, diag_list *diags) {
    texts_box *b = context;
    if (!b->empty && !(b->empty = load(b, TRAIT_EMPTY, diags)))
        return false;
    if (limit == LIMIT_THREADS_FULL && !b->heavy && !(b->heavy = load(b, TRAIT_HEAVY, diags)))
        return false;
    switch (limit) {
    case LIMIT_SHARED_DECLARED: *accepted = b->cuda ? declares(b, value) : declares_local(b, value); break;
    case LIMIT_PARAMETERS: *accepted = takes_parameters(b, value); break;
    case LIMIT_REGISTERS: *accepted = has_registers(b, value); break;
    case LIMIT_MAP_BOX: *accepted = maps(b, value, false); break;
    case LIMIT_MAP_SWIZZLED: *accepted = maps(b, value, true); break;
    default: {
        text_launch l = {.blocks = {1, limit == LIMIT_BLOCKS_Y ? value : 1, limit == LIMIT_BLOCKS_Z ? value : 1},
                         .threads = {limit == LIMIT_THREADS || limit == LIMIT_THREADS_FULL ? value : 1, 1,
                                     limit == LIMIT_THREADS_Z ? value : 1},
                         .shared_bytes = limit == LIMIT_SHARED_ASKED ? value : 0};
        *accepted = launches(b, limit == LIMIT_THREADS_FULL ? b->heavy : b->empty, l);
    }
    }
    return true;
}

static int64_t attribute(const texts_box *b, int number) {
    const cuda_system *s = cuda_open_system();
    int value = 0;
    return b->index < s->count && !s->api.DeviceGetAttribute(&value, number, s->devices[b->index].device) ? value : 0;
}

/* By the driver's attribute; what it has none for, by the CUDA C++ programming guide's table of compute capabilities 9.0 and the driver API's manual. */
static int64_t cuda_told(void *context, trait_limit limit) {
    enum { MOST_THREADS_Z = 4, MOST_BLOCKS_Y = 6, MOST_BLOCKS_Z = 7, SHARED_BYTES = 8, BLOCK_REGISTERS = 12 };
    const texts_box *b = context;
    const bool has_maps = cuda_open_system()->encode_map != NULL, hopper = b->hopper;
    switch (limit) {
    case LIMIT_THREADS: return attribute(b, CU_DEVICE_MAX_THREADS_PER_BLOCK);
    case LIMIT_SHARED_DECLARED: return attribute(b, SHARED_BYTES);
    case LIMIT_SHARED_ASKED: return attribute(b, CU_DEVICE_MOST_SHARED_MEMORY_PER_BLOCK);
    case LIMIT_BLOCKS_Y: return attribute(b, MOST_BLOCKS_Y);
    case LIMIT_BLOCKS_Z: return attribute(b, MOST_BLOCKS_Z) ? attribute(b, MOST_BLOCKS_Z) : -1;
    case LIMIT_THREADS_Z: return attribute(b, MOST_THREADS_Z) ? attribute(b, MOST_THREADS_Z) : -1;
    case LIMIT_PARAMETERS: return hopper ? 32764 : -1;
    case LIMIT_REGISTERS: return hopper ? 255 : -1;
    case LIMIT_THREADS_FULL:
        return hopper && attribute(b, BLOCK_REGISTERS) ? attribute(b, BLOCK_REGISTERS) / 256 : -1; /* 255 are given as 256 */
    case LIMIT_MAP_BOX: return hopper && has_maps ? 256 : -1;
    case LIMIT_MAP_SWIZZLED: return hopper && has_maps ? 8 : -1;
    default: return -1;
    }
}

/* Launches ask for no memory and are told no limit of blocks. */
static int64_t opencl_told(void *context, trait_limit limit) {
    const texts_box *b = context;
    const opencl_system *s = opencl_open_system();
    size_t threads = 0;
    uint64_t local = 0;
    if (b->index >= s->count)
        return limit == LIMIT_THREADS ? 0 : -1;
    cl_handle of = s->devices[b->index].device;
    if (limit == LIMIT_THREADS)
        return s->api.GetDeviceInfo(of, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof threads, &threads, NULL) ? 0 : (int64_t)threads;
    if (limit == LIMIT_SHARED_DECLARED)
        return s->api.GetDeviceInfo(of, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL) || local >= ACCESS_MOST_OFFSET
                   ? -1
                   : (int64_t)local;
    return -1;
}

static int64_t cuda_cache_told(void *context, int level) {
    enum { L2_BYTES = 38 };
    return level == 1 ? attribute(context, L2_BYTES) : 0;
}

static void close_texts(void *context) {
    texts_box *b = context;
    text_kernel *const kernels[] = {b->hop, b->banks[0], b->banks[1], b->banks[2], b->empty, b->heavy};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (kernels[i])
            b->runtime->text->unload(b->device, kernels[i]);
    if (b->ring)
        b->runtime->release(b->device, b->ring);
    if (b->out)
        b->runtime->release(b->device, b->out);
    if (b->device)
        b->runtime->close(b->device);
    free(b->host);
    free(b);
}

bool trait_open_texts(const char *device, trait_box *out, diag_list *diags) {
    int index;
    const runtime *r = runtime_find(device, &index, diags);
    if (!r)
        return false;
    if (!r->text) {
        diag_error(diags, "E1201", (source_span){0}, "%s takes no kernels as texts: its caches and limits can't be asked for",
                   device);
        return false;
    }
    texts_box *b = calloc(1, sizeof *b);
    if (!b || !(b->host = malloc(MOST_BYTES))) {
        free(b);
        diag_error(diags, "E0803", (source_span){0}, "no memory for a probe");
        return false;
    }
    b->runtime = r;
    b->index = index;
    b->name = device;
    b->cuda = !strcmp(r->name, "cuda");
    b->trips = 16;
    out->context = b;
    out->close = close_texts;
    r->describe(index, out->description, sizeof out->description);
    b->hopper = b->cuda && strstr(out->description, "sm_90");
    if (!(b->device = r->open(index, diags)) || !(b->ring = r->allocate(b->device, MOST_BYTES, diags)) ||
        !(b->out = r->allocate(b->device, BLOCK * 4, diags))) {
        trait_close(out);
        return false;
    }
    out->most_bytes = MOST_BYTES;
    out->chase = chase;
    out->shared =
        !strcmp(runtime_target(r, index, NULL), "opencl_cpu") ? NULL : shared; /* a processor's local memory is memory */
    out->accepts = accepts;
    out->told = b->cuda ? cuda_told : opencl_told;
    out->cache_told = b->cuda ? cuda_cache_told : NULL;
    return true;
}
