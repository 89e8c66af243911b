/* The CUDA runtime: devices, memory, launches on streams. A block of threads a task; the driver and the compiler are opened at run time. */
#include "run/cuda.h"
#include "run/runtime.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_CAPABILITY = 80, WARPGROUP_CAPABILITY = 90, WARPGROUP_COMPILER = 12 };
static const int64_t blocks_per_launch = INT32_MAX;

bool cuda_fail(const device *d, const char *what, cu_status status, diag_list *diags) {
    /* After these the context is no use any more (the driver's documentation says so of each). */
    static const int lost[] = {46, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719};
    const char *text = cuda_status_text(d->system, status), *code = "E0857";
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        if (status == lost[i])
            code = "E0859";
    if (!diags)
        return false;
    if (status == CU_ERROR_OUT_OF_MEMORY)
        diag_error(diags, "E0803", (source_span){0}, "CUDA: %s: the device has no memory left: %s", what, text);
    else
        diag_error(diags, code, (source_span){0}, "CUDA: %s: %s", what, text);
    return false;
}

bool cuda_enter(const device *d, diag_list *diags) {
    cu_status status = d->system->api.CtxPushCurrent(d->context);
    return !status || cuda_fail(d, "the device's context", status, diags);
}

void cuda_leave(const device *d) {
    cu_handle context;
    d->system->api.CtxPopCurrent(&context);
}

/* ---- devices ---- */

int cuda_count(void) {
    return cuda_open_system()->count;
}

bool cuda_describe(int index, char *out, size_t size) {
    const cuda_system *s = cuda_open_system();
    bool there = index >= 0 && index < s->count;
    snprintf(out, size, "%s", there ? s->devices[index].text : s->why);
    return there;
}

/* Machine code for the device where NVRTC knows it; else PTX for the newest it knows below, which the driver finishes. */
static void choose_architecture(device *d) {
    const nvrtc_system *c = nvrtc_open_system();
    int own = d->found->major * 10 + d->found->minor, count = 0, best = 0, known[256];
    if (c->found && !c->api.GetNumSupportedArchs(&count) && count > 0 && count <= 256 && !c->api.GetSupportedArchs(known))
        for (int i = 0; i < count; i++)
            best = known[i] <= own && known[i] > best ? known[i] : best;
    d->as_ptx = best && best != own;
    snprintf(d->architecture, sizeof d->architecture, "%s_%d", d->as_ptx ? "compute" : "sm", best ? best : own);
    text_buffer b = {0};
    text_add(&b, "CUDA | NVRTC %d.%d | %s | --fmad=false", c->major, c->minor, d->architecture);
    d->identity = b.text;
}

device *cuda_open(int index, diag_list *diags) {
    const cuda_system *s = cuda_open_system();
    device *d = calloc(1, sizeof *d);
    if (!d || index < 0 || index >= s->count) {
        diag_error(diags, "E0802", (source_span){0}, "there is no CUDA device %d", index);
        free(d);
        return NULL;
    }
    d->system = s;
    d->found = &s->devices[index];
    if (d->found->major * 10 + d->found->minor < LEAST_CAPABILITY) {
        diag_error(diags, "E0855", (source_span){0}, "%s has compute capability %d.%d, and kernels are made for 8.0 and later",
                   d->found->text, d->found->major, d->found->minor);
        free(d);
        return NULL;
    }
    s->api.DeviceGetAttribute(&d->threads_limit, CU_DEVICE_MAX_THREADS_PER_BLOCK, d->found->device);
    s->api.DeviceGetAttribute(&d->shared_limit, CU_DEVICE_MOST_SHARED_MEMORY_PER_BLOCK, d->found->device);
    cu_status status = s->api.DevicePrimaryCtxRetain(&d->context, d->found->device);
    if (status || !cuda_enter(d, diags)) {
        if (status)
            diag_error(diags, "E0855", (source_span){0}, "CUDA: the device cannot be opened: %s", cuda_status_text(s, status));
        free(d);
        return NULL;
    }
    /* A stream that waits for the default one and is waited for by it: what other libraries put there is in order with ours. */
    status = s->api.StreamCreate(&d->stream, 0);
    cuda_leave(d);
    if (status) {
        cuda_fail(d, "a stream", status, diags);
        s->api.DevicePrimaryCtxRelease(d->found->device);
        free(d);
        return NULL;
    }
    pthread_mutex_init(&d->lock, NULL);
    choose_architecture(d);
    return d;
}

int cuda_units(const device *d) {
    return d->found->multiprocessors > 0 ? d->found->multiprocessors : 1;
}

void cuda_close(device *d) {
    if (!d)
        return;
    if (cuda_enter(d, NULL)) {
        d->system->api.StreamDestroy(d->stream);
        cuda_leave(d);
    }
    d->system->api.DevicePrimaryCtxRelease(d->found->device);
    pthread_mutex_destroy(&d->lock);
    free(d->identity);
    free(d);
}

/* ---- memory: a pointer is the device's own address ---- */

static cu_pointer address(const void *memory) {
    return (cu_pointer)(uintptr_t)memory;
}

void *cuda_allocate(device *d, int64_t bytes, diag_list *diags) {
    cu_pointer p = 0;
    size_t unused = 0, total = 0;
    if (bytes < 0 || !cuda_enter(d, diags))
        return NULL;
    cu_status status = d->system->api.MemAlloc(&p, bytes ? (size_t)bytes : 1);
    if (status)
        d->system->api.MemGetInfo(&unused, &total);
    cuda_leave(d);
    if (status == CU_ERROR_OUT_OF_MEMORY)
        diag_error(diags, "E0803", (source_span){0}, "no device memory for %" PRId64 " bytes: %zu of %zu are free", bytes, unused,
                   total);
    else if (status)
        cuda_fail(d, "memory", status, diags);
    return status ? NULL : (void *)(uintptr_t)p;
}

void cuda_release(device *d, void *memory) {
    if (memory && cuda_enter(d, NULL)) {
        d->system->api.MemFree(address(memory));
        cuda_leave(d);
    }
}

static cu_handle stream_of(const device *d, void *stream) {
    return stream ? (cu_handle)stream : d->stream;
}

static bool copy_in_on(device *d, void *stream, void *to, const void *from, int64_t bytes, diag_list *diags) {
    if (bytes <= 0)
        return true;
    if (!cuda_enter(d, diags))
        return false;
    cu_status status = d->system->api.MemcpyHtoDAsync(address(to), from, (size_t)bytes, stream_of(d, stream));
    cuda_leave(d);
    return !status || cuda_fail(d, "copying to the device", status, diags);
}

static bool copy_out_on(device *d, void *stream, void *to, const void *from, int64_t bytes, diag_list *diags) {
    if (bytes <= 0)
        return true;
    if (!cuda_enter(d, diags))
        return false;
    cu_status status = d->system->api.MemcpyDtoHAsync(to, address(from), (size_t)bytes, stream_of(d, stream));
    cuda_leave(d);
    return !status || cuda_fail(d, "copying from the device", status, diags);
}

static bool wait_for(device *d, void *stream, diag_list *diags) {
    if (!cuda_enter(d, diags))
        return false;
    cu_status status = d->system->api.StreamSynchronize(stream_of(d, stream));
    cuda_leave(d);
    return !status || cuda_fail(d, "waiting for the device", status, diags);
}

bool cuda_copy_in(device *d, void *to, const void *from, int64_t bytes, diag_list *diags) {
    return copy_in_on(d, NULL, to, from, bytes, diags) && wait_for(d, NULL, diags);
}

bool cuda_copy_out(device *d, void *to, const void *from, int64_t bytes, diag_list *diags) {
    return copy_out_on(d, NULL, to, from, bytes, diags) && wait_for(d, NULL, diags);
}

/* ---- launches ---- */

/* Host copies of the arrays whose data the checks look at. */
static bool check(device *d, const launch_plan *plan, void *const *arrays, const int64_t *integers, const float *floats,
                  void *stream, diag_list *diags) {
    const kernel_ir *k = plan->variants.at[0].kernel;
    arena *a = arena_new();
    void **copies = NEW_ARRAY(a, void *, k->arrays.count + 1);
    bool ok = true, any = false;
    for (int i = 0, position = 0; i < k->arrays.count && ok; i++) {
        const kernel_array *array = k->arrays.at[i];
        if (array->space != SPACE_GLOBAL || array->view_of)
            continue;
        int64_t bytes = launch_data_bytes(plan, position, integers);
        if (bytes > 0 && arrays[position]) {
            copies[position] = malloc((size_t)bytes);
            any = true;
            ok = copies[position] && copy_out_on(d, stream, copies[position], arrays[position], bytes, diags);
            if (!copies[position])
                diag_error(diags, "E0803", array->span, "no memory to check `%s`", array->name);
        }
        position++;
    }
    ok = ok && (!any || wait_for(d, stream, diags)) && launch_checks_elsewhere(plan, arrays, copies, integers, floats, diags);
    for (int i = 0; i < k->arrays.count; i++)
        free(copies[i]);
    arena_free(a);
    return ok;
}

typedef union argument {
    cu_pointer pointer;
    int64_t integer;
    float real;
    int32_t flag, narrow;
} argument;

static void set_integer(argument *x, const gpu_entry *e, int64_t value) {
    if (e->narrow)
        x->narrow = (int32_t)value;
    else
        x->integer = value;
}

/* On a stream that orders only what is on it, kernels of ours begin before the last has ended, and wait for it themselves (target/cuda.c). */
static cu_status launch_blocks(device *d, cu_handle function, unsigned blocks, unsigned threads, unsigned shared_bytes,
                               cu_handle stream, void **parameters) {
    const cuda_system *s = d->system;
    bool named = stream && (uintptr_t)stream > 2; /* 1 and 2: the default streams, which wait for others */
    if (!named || !s->launch_with || s->driver < CU_PROGRAMMATIC_DRIVER || d->found->major < 9)
        return s->api.LaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared_bytes, stream, parameters, NULL);
    cu_launch_attribute in_turn = {.id = CU_LAUNCH_PROGRAMMATIC_SERIALIZATION, .value = {.allowed = 1}};
    const cu_launch launch = {.grid = {blocks, 1, 1},
                              .block = {threads, 1, 1},
                              .shared_bytes = shared_bytes,
                              .stream = stream,
                              .attributes = &in_turn,
                              .attribute_count = 1};
    return s->launch_with(&launch, function, parameters, NULL);
}

static bool run(device *d, device_kernel *k, int variant, int64_t tasks, void *const *arrays, const int64_t *integers,
                const float *floats, void *stream, diag_list *diags) {
    const gpu_entry *e;
    cu_handle function = cuda_function(d, k, variant, arrays, integers, &e, diags);
    argument values[CUDA_MOST_PARAMETERS];
    void *parameters[CUDA_MOST_PARAMETERS];
    cu_tensor_map maps[CUDA_MOST_MAPS];
    if (!function || !cuda_make_maps(d, k, e, arrays, integers, maps, diags))
        return false;
    for (int64_t first = 0; first < tasks; first += blocks_per_launch) {
        int64_t count = tasks - first < blocks_per_launch ? tasks - first : blocks_per_launch;
        for (int i = 0; i < e->parameters.count; i++) {
            const gpu_parameter *q = &e->parameters.at[i];
            parameters[i] = &values[i];
            switch (q->kind) {
            case GPU_ARRAY: values[i].pointer = address(arrays[q->position]); break;
            case GPU_INTEGER: set_integer(&values[i], e, integers[q->position]); break;
            case GPU_FLOAT: values[i].real = floats[q->position]; break;
            case GPU_BOOL: values[i].flag = floats[q->position] != 0; break;
            case GPU_TENSOR_MAP: parameters[i] = &maps[q->position]; break;
            case GPU_FIRST_TASK: set_integer(&values[i], e, first); break;
            case GPU_TASKS: break;
            }
        }
        cu_status status = launch_blocks(d, function, (unsigned)count, (unsigned)e->threads, (unsigned)e->dynamic_bytes,
                                         stream_of(d, stream), parameters);
        if (status)
            return cuda_fail(d, e->name, status, diags);
    }
    return true;
}

static bool ready(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, diag_list *diags) {
    diag_list quiet; /* that no variant holds is the launch's to say */
    const gpu_entry *e;
    diag_init(&quiet, diags->arena);
    int variant = launch_variant(k->plan, integers, &quiet);
    if (variant < 0)
        return true;
    if (!cuda_enter(d, diags))
        return false;
    pthread_mutex_lock(&d->lock);
    bool ok = cuda_function(d, k, variant, arrays, integers, &e, diags);
    pthread_mutex_unlock(&d->lock);
    cuda_leave(d);
    return ok;
}

static bool enqueue_checked(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats,
                            void *stream, diag_list *diags) {
    int variant = launch_variant(k->plan, integers, diags);
    int64_t tasks;
    if (variant < 0 || !launch_task_count(k->plan, variant, integers, &tasks, diags) || !cuda_enter(d, diags))
        return false;
    pthread_mutex_lock(&d->lock);
    bool ok = run(d, k, variant, tasks, arrays, integers, floats, stream, diags);
    pthread_mutex_unlock(&d->lock);
    cuda_leave(d);
    return ok;
}

static bool enqueue(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats, void *stream,
                    diag_list *diags) {
    return check(d, k->plan, arrays, integers, floats, stream, diags) &&
           enqueue_checked(d, k, arrays, integers, floats, stream, diags);
}

bool cuda_launch(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats,
                 diag_list *diags) {
    return enqueue(d, k, arrays, integers, floats, NULL, diags) && wait_for(d, NULL, diags);
}

/* ---- streams ---- */

static bool owns(device *d, const void *memory, diag_list *diags) {
    unsigned type = 0;
    int ordinal = -1;
    if (!cuda_enter(d, diags))
        return false;
    cu_status status = d->system->api.PointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, address(memory));
    if (!status)
        status = d->system->api.PointerGetAttribute(&ordinal, CU_POINTER_DEVICE_ORDINAL, address(memory));
    cuda_leave(d);
    return !status && type == CU_MEMORY_TYPE_DEVICE && ordinal == (int)(d->found - d->system->devices);
}

static void *mark(device *d, void *stream, diag_list *diags) {
    cu_handle event = NULL;
    if (!cuda_enter(d, diags))
        return NULL;
    cu_status status = d->system->api.EventCreate(&event, 0);
    if (!status)
        status = d->system->api.EventRecord(event, stream_of(d, stream));
    cuda_leave(d);
    if (status)
        cuda_fail(d, "an event", status, diags);
    return status ? NULL : event;
}

static bool between(device *d, void *from, void *to, double *milliseconds, diag_list *diags) {
    float elapsed = 0;
    if (!from || !to || !cuda_enter(d, diags))
        return false;
    cu_status status = d->system->api.EventSynchronize(to);
    if (!status)
        status = d->system->api.EventElapsedTime(&elapsed, from, to);
    cuda_leave(d);
    *milliseconds = (double)elapsed;
    return !status || cuda_fail(d, "an event", status, diags);
}

static void unmark(device *d, void *event) {
    if (event && cuda_enter(d, NULL)) {
        d->system->api.EventDestroy(event);
        cuda_leave(d);
    }
}

static bool record(device *d, diag_list *diags) {
    if (!cuda_enter(d, diags))
        return false;
    cu_status status = d->system->api.StreamBeginCapture(d->stream, CU_CAPTURE_RELAXED);
    cuda_leave(d);
    return !status || cuda_fail(d, "recording a graph", status, diags);
}

static void *recorded(device *d, diag_list *diags) {
    cu_handle graph = NULL, ready = NULL;
    if (!cuda_enter(d, diags))
        return NULL;
    cu_status status = d->system->api.StreamEndCapture(d->stream, &graph);
    if (!status)
        status = d->system->api.GraphInstantiate(&ready, graph, 0);
    if (graph)
        d->system->api.GraphDestroy(graph);
    cuda_leave(d);
    if (status)
        cuda_fail(d, "a graph", status, diags);
    return status ? NULL : ready;
}

static bool replay(device *d, void *graph, diag_list *diags) {
    if (!cuda_enter(d, diags))
        return false;
    cu_status status = d->system->api.GraphLaunch(graph, d->stream);
    cuda_leave(d);
    return !status || cuda_fail(d, "launching a graph", status, diags);
}

static void forget(device *d, void *graph) {
    if (graph && cuda_enter(d, NULL)) {
        d->system->api.GraphExecDestroy(graph);
        cuda_leave(d);
    }
}

static bool resources(const device *d, const device_kernel *k, kernel_resources *out) {
    *out = (kernel_resources){0};
    bool any = false;
    if (!cuda_enter(d, NULL))
        return false;
    for (int m = 0; m < GPU_FORMS * k->program.variants; m++) {
        int registers = 0, local = 0, shared = 0;
        cu_handle f = k->modules[m].function;
        if (!f || d->system->api.FuncGetAttribute(&registers, CU_FUNCTION_REGISTERS, f) ||
            d->system->api.FuncGetAttribute(&local, CU_FUNCTION_LOCAL_BYTES, f) ||
            d->system->api.FuncGetAttribute(&shared, CU_FUNCTION_SHARED_BYTES, f))
            continue;
        any = true;
        out->registers = registers > out->registers ? registers : out->registers;
        out->local_bytes = local > out->local_bytes ? local : out->local_bytes;
        out->shared_bytes = shared > out->shared_bytes ? shared : out->shared_bytes;
    }
    cuda_leave(d);
    return any;
}

bool cuda_has_warpgroups(const device *d) {
    return d->found->major * 10 + d->found->minor == WARPGROUP_CAPABILITY && !d->as_ptx &&
           nvrtc_open_system()->major >= WARPGROUP_COMPILER;
}

static void processor(const device *d, device_processor *out) {
    int64_t *const to[] = {&out->shared_bytes, &out->registers, &out->threads, &out->clock_khz};
    static const int from[] = {CU_DEVICE_SHARED_MEMORY_OF_MULTIPROCESSOR, CU_DEVICE_REGISTERS_OF_MULTIPROCESSOR,
                               CU_DEVICE_THREADS_OF_MULTIPROCESSOR, CU_DEVICE_CLOCK_RATE};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        int value = 0;
        bool told = !d->system->api.DeviceGetAttribute(&value, from[i], d->found->device) && value > 0;
        *to[i] = told ? value : 0;
    }
    out->warpgroups = cuda_has_warpgroups(d);
}

const runtime_streams cuda_streams = {enqueue, enqueue_checked, copy_in_on, copy_out_on, wait_for, owns,      mark,  between,
                                      unmark,  record,          recorded,   replay,      forget,   resources, ready, processor};
