/* The OpenCL runtime: emitted OpenCL C built by the device's driver, a block of work-items a task. Works with any driver behind the loader. */
#define _DEFAULT_SOURCE /* madvise */
#include "run/opencl.h"
#include "run/opencl_parts.h"
#include "run/runtime.h"
#include "target/gpu_plan.h"
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* No option relaxes arithmetic; the pragma in the text turns contraction off. */
#define OPTIONS "-cl-std=CL1.2"
#define ROUNDED " -cl-fp32-correctly-rounded-divide-sqrt"
enum { ITEMS_PER_LAUNCH = 1 << 30, LARGE_PAGE = 2 << 20, POLL_NANOSECONDS = 300 * 1000 };

struct device_kernel {
    arena *arena; /* of the program's description */
    const launch_plan *plan;
    gpu_program program;
    struct {
        cl_handle built;
        cl_handle *kernels; /* by variant; NULL: not in this one, or the module is not made yet */
    } modules[GPU_FORMS];   /* gpu_plan.h; all but the first are made when a launch needs them */
};

int opencl_count(void) {
    return opencl_open_system()->count;
}

bool opencl_describe(int index, char *out, size_t size) {
    const opencl_system *s = opencl_open_system();
    bool there = index >= 0 && index < s->count;
    snprintf(out, size, "%s", there ? s->devices[index].text : s->why);
    return there;
}

static bool fail(diag_list *diags, const char *code, const char *what, cl_status status) {
    diag_error(diags, code, (source_span){0}, "OpenCL: %s: %s", what, opencl_status_name(status));
    return false;
}

static void add_info(const device *d, text_buffer *b, cl_handle platform) {
    char text[512] = "";
    static const uint32_t wanted[] = {CL_DEVICE_NAME, CL_DEVICE_VERSION, CL_DRIVER_VERSION};
    d->system->api.GetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof text - 1, text, NULL);
    text_add(b, "%s", text);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        memset(text, 0, sizeof text);
        d->system->api.GetDeviceInfo(d->device, wanted[i], sizeof text - 1, text, NULL);
        text_add(b, " | %s", text);
    }
}

static const char *build_options(const device *d) {
    return d->float_config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? OPTIONS ROUNDED : OPTIONS;
}

/* What a device must offer at all. */
static bool usable(const device *d, const char *text, diag_list *diags) {
    uint32_t compiler = 0, little = 1;
    d->system->api.GetDeviceInfo(d->device, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL);
    d->system->api.GetDeviceInfo(d->device, CL_DEVICE_ENDIAN_LITTLE, sizeof little, &little, NULL);
    const char *lacks = !compiler ? "has no compiler" : !little ? "is big-endian" : NULL;
    if (lacks)
        diag_error(diags, "E0850", (source_span){0}, "%s %s", text, lacks);
    return !lacks;
}

device *opencl_open(int index, diag_list *diags) {
    const opencl_system *s = opencl_open_system();
    cl_status status = 0;
    device *d = calloc(1, sizeof *d);
    if (!d || index < 0 || index >= s->count) {
        diag_error(diags, "E0802", (source_span){0}, "there is no OpenCL device %d", index);
        free(d);
        return NULL;
    }
    if (!opencl_form_known()) {
        diag_error(diags, "E0850", (source_span){0}, "TILEC_OPENCL_FORM is `%s`, and there are `blocks` and `vectors`",
                   getenv("TILEC_OPENCL_FORM"));
        free(d);
        return NULL;
    }
    d->system = s;
    d->device = s->devices[index].device;
    d->is_processor = s->devices[index].is_processor;
    d->keeps_compiled = s->devices[index].keeps_compiled;
    d->units = s->devices[index].units > 0 ? (int)s->devices[index].units : 1;
    pthread_mutex_init(&d->lock, NULL);
    s->api.GetDeviceInfo(d->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof d->work_group_limit, &d->work_group_limit, NULL);
    s->api.GetDeviceInfo(d->device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof d->local_bytes, &d->local_bytes, NULL);
    s->api.GetDeviceInfo(d->device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof d->float_config, &d->float_config, NULL);
    if (usable(d, s->devices[index].text, diags)) {
        d->context = s->api.CreateContext(NULL, 1, &d->device, NULL, NULL, &status);
        if (d->context && !status)
            d->queue = s->api.CreateCommandQueue(d->context, d->device, 0, &status);
        if (!d->queue || status)
            fail(diags, "E0850", "the device cannot be opened", status);
    }
    if (!d->queue) {
        opencl_close(d);
        return NULL;
    }
    text_buffer b = {0};
    add_info(d, &b, s->devices[index].platform);
    text_add(&b, " | %s", build_options(d));
    d->identity = b.text;
    return d;
}

int opencl_units(const device *d) {
    return d->units;
}

void opencl_close(device *d) {
    if (!d)
        return;
    opencl_build_joined(d, NULL, NULL, 0, NULL);
    if (d->queue)
        d->system->api.ReleaseCommandQueue(d->queue);
    if (d->context)
        d->system->api.ReleaseContext(d->context);
    pthread_mutex_destroy(&d->lock);
    free(d->identity);
    free(d);
}

/* ---- memory ---- */

/* Drivers for processors take small pages, whose look-ups cost long streams of memory their speed. NULL: let the driver do it. */
static void *large_pages(size_t bytes) {
    void *at =
        bytes < SIZE_MAX - LARGE_PAGE ? aligned_alloc(LARGE_PAGE, (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE) : NULL;
#ifdef MADV_HUGEPAGE
    if (at)
        madvise(at, bytes, MADV_HUGEPAGE);
#endif
    return at;
}

void *opencl_allocate(device *d, int64_t bytes, diag_list *diags) {
    cl_status status = 0;
    opencl_memory *m = calloc(1, sizeof *m);
    size_t size = bytes > 0 ? (size_t)bytes : 1;
    if (m && d->is_processor && bytes > LARGE_PAGE)
        m->own = large_pages(size);
    if (m && bytes >= 0)
        m->buffer = d->system->api.CreateBuffer(d->context, CL_MEM_READ_WRITE | (m->own ? CL_MEM_USE_HOST_PTR : 0), size, m->own,
                                                &status);
    if (!m || !m->buffer || status) {
        diag_error(diags, "E0803", (source_span){0}, "no device memory for %" PRId64 " bytes (%s)", bytes,
                   opencl_status_name(status));
        if (m)
            free(m->own);
        free(m);
        return NULL;
    }
    return m;
}

void opencl_release(device *d, void *p) {
    opencl_memory *m = p;
    if (m) {
        if (d->batches && m->own) /* the driver holds on to a buffer that is in use, and not to what it stands for */
            d->system->api.Finish(d->queue);
        d->system->api.ReleaseMemObject(m->buffer);
        free(m->own);
    }
    free(m);
}

bool opencl_copy_in(device *d, void *to, const void *from, int64_t bytes, diag_list *diags) {
    cl_status status = bytes <= 0 ? 0
                                  : d->system->api.EnqueueWriteBuffer(d->queue, ((opencl_memory *)to)->buffer, 1, 0,
                                                                      (size_t)bytes, from, 0, NULL, NULL);
    return !status || fail(diags, "E0852", "copying to the device", status);
}

bool opencl_copy_out(device *d, void *to, const void *from, int64_t bytes, diag_list *diags) {
    cl_status status = bytes <= 0 ? 0
                                  : d->system->api.EnqueueReadBuffer(d->queue, ((const opencl_memory *)from)->buffer, 1, 0,
                                                                     (size_t)bytes, to, 0, NULL, NULL);
    return !status || fail(diags, "E0852", "copying from the device", status);
}

/* ---- programs ---- */

static void note_log(const device *d, cl_handle program, diag_list *diags, diag *g) {
    enum { LINES = 12 };
    size_t size = 0;
    if (d->system->api.GetProgramBuildInfo(program, d->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) || !size)
        return;
    char *log = calloc(size + 1, 1);
    if (log && !d->system->api.GetProgramBuildInfo(program, d->device, CL_PROGRAM_BUILD_LOG, size, log, NULL)) {
        int lines = 0;
        for (const char *at = log; *at && lines < LINES; lines++) {
            int length = (int)strcspn(at, "\n");
            diag_note(diags, g, "%.*s", length, at);
            at += length + (at[length] == '\n');
        }
    }
    free(log);
}

static cl_handle from_cache(device *d, const char *text) {
    size_t length;
    cl_status status = 0, binary = 0;
    unsigned char *bytes = cache_find_binary(d->identity, text, &length);
    cl_handle program = bytes ? d->system->api.CreateProgramWithBinary(d->context, 1, &d->device, &length,
                                                                       (const unsigned char **)&bytes, &binary, &status)
                              : NULL;
    free(bytes);
    if (program && (status || binary || d->system->api.BuildProgram(program, 1, &d->device, build_options(d), NULL, NULL))) {
        d->system->api.ReleaseProgram(program); /* of another driver, whatever the key says: built anew */
        program = NULL;
    }
    return program;
}

static void keep_binary(device *d, cl_handle program, const char *text, const char *description, diag_list *diags) {
    size_t length = 0;
    if (d->system->api.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof length, &length, NULL) || !length)
        return;
    unsigned char *bytes = malloc(length);
    if (bytes && !d->system->api.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL))
        cache_keep_binary(d->identity, text, description, bytes, length, diags);
    free(bytes);
}

static cl_handle build_source(device *d, const opencl_source *s, diag_list *diags) {
    cl_status status = 0;
    const char *text = s->text;
    cl_handle program = d->system->api.CreateProgramWithSource(d->context, 1, &text, NULL, &status);
    if (!program || status) {
        fail(diags, s->code, s->name, status);
        return NULL;
    }
    status = d->system->api.BuildProgram(program, 1, &d->device, build_options(d), NULL, NULL);
    if (status) {
        diag *g = diag_error(diags, s->code, (source_span){0}, "%s: the OpenCL driver refused the %s (%s)", s->name, s->kind,
                             opencl_status_name(status));
        note_log(d, program, diags, g);
        d->system->api.ReleaseProgram(program);
        return NULL;
    }
    return program;
}

cl_handle opencl_compile(device *d, const opencl_source *s, diag_list *diags) {
    for (int i = 0; i < d->joined.count; i++)
        if (!strcmp(d->joined.texts[i], s->text) && !d->system->api.RetainProgram(d->joined.program))
            return d->joined.program;
    cl_handle program = from_cache(d, s->text);
    if (program)
        return program;
    program = build_source(d, s, diags);
    if (program && !d->keeps_compiled)
        keep_binary(d, program, s->text, s->description, diags);
    return program;
}

bool opencl_build_joined(device *d, const char *joined, const char *const *texts, int count, diag_list *diags) {
    for (int i = 0; i < d->joined.count; i++)
        free(d->joined.texts[i]);
    free(d->joined.texts);
    if (d->joined.program)
        d->system->api.ReleaseProgram(d->joined.program);
    memset(&d->joined, 0, sizeof d->joined);
    if (!count)
        return true;
    d->joined.program = build_source(d, &(opencl_source){"joined texts", joined, "emitted code", "E0851", ""}, diags);
    d->joined.texts = calloc((size_t)count, sizeof *d->joined.texts);
    for (int i = 0; d->joined.program && d->joined.texts && i < count; i++)
        if ((d->joined.texts[d->joined.count] = strdup(texts[i])))
            d->joined.count++;
    return d->joined.program != NULL;
}

static cl_handle build_plan(device *d, const launch_plan *plan, const char *text, diag_list *diags) {
    const char *schedule = plan->variants.count ? plan->variants.at[0].kernel->schedule : NULL;
    text_buffer description = {0};
    text_add(&description, "%s, OpenCL\nvariant 0: %s", plan->name, schedule ? schedule : "");
    cl_handle program =
        opencl_compile(d, &(opencl_source){plan->name, text, "emitted code", "E0851", text_get(&description)}, diags);
    text_free(&description);
    return program;
}

static bool divides(const kernel_value *v) {
    if (v->op == KERNEL_DIV || v->op == KERNEL_SQRT || v->op == KERNEL_RSQRT || v->op == KERNEL_TANH || v->op == KERNEL_ERF)
        return true;
    for (int i = 0; i < v->operand_count; i++)
        if (divides(v->operands[i]))
            return true;
    return false;
}

static bool block_divides(const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        if ((s->value && divides(s->value)) || (s->expected && divides(s->expected)) || block_divides(&s->body) ||
            block_divides(&s->otherwise))
            return true;
    }
    return false;
}

/* The plan was proved against what every device is counted on to have; this one may have less. */
static bool fits(const device *d, const device_kernel *k, diag_list *diags) {
    for (int i = 0; i < k->program.variants; i++) {
        const gpu_entry *e = gpu_module_entry(&k->program, 0, i);
        const kernel_ir *ir = k->plan->variants.at[i].kernel;
        const char *name = k->plan->name;
        if ((uint64_t)e->threads > d->work_group_limit) {
            diag_error(diags, "E0853", ir->span, "%s needs blocks of %" PRId64 " threads, and the device allows %zu", name,
                       e->threads, d->work_group_limit);
            return false;
        }
        if (e->shared_bytes > 0 && (uint64_t)e->shared_bytes > d->local_bytes) {
            diag_error(diags, "E0853", ir->span, "%s needs %" PRId64 " bytes of local memory, and the device has %" PRIu64, name,
                       e->shared_bytes, d->local_bytes);
            return false;
        }
        if (!(d->float_config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) && block_divides(&ir->body))
            diag_warning(diags, "E0853", ir->span,
                         "%s divides, and the device may miss quotients by 2.5 units in the last place and square roots by 3: "
                         "the stated error bounds take them as rounded correctly",
                         name);
    }
    if (!(d->float_config & CL_FP_DENORM))
        diag_warning(diags, "E0853", (source_span){0},
                     "%s: the device takes numbers below 2^-126 for 0, which the stated error bounds leave out", k->plan->name);
    return true;
}

static bool load_module(device *d, device_kernel *k, int which, diag_list *diags) {
    const launch_plan *plan = k->plan;
    if (k->modules[which].kernels)
        return true;
    cl_handle built = build_plan(d, plan, gpu_module_text(k->arena, &k->program, which), diags);
    cl_handle *kernels = NEW_ARRAY(k->arena, cl_handle, plan->variants.count + 1);
    bool ok = built;
    for (int i = 0; ok && i < plan->variants.count; i++) {
        const gpu_entry *e = gpu_module_entry(&k->program, which, i);
        cl_status status = 0;
        size_t limit = 0;
        if (!e)
            continue;
        kernels[i] = d->system->api.CreateKernel(built, e->name, &status);
        ok = kernels[i] && !status;
        if (!ok) {
            fail(diags, "E0851", e->name, status);
        } else if (!d->system->api.GetKernelWorkGroupInfo(kernels[i], d->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof limit, &limit,
                                                          NULL) &&
                   limit && limit < (size_t)e->threads) {
            diag_error(diags, "E0853", plan->variants.at[i].kernel->span,
                       "%s needs blocks of %" PRId64 " threads, and the device allows %zu for it (registers, local memory)",
                       plan->name, e->threads, limit);
            ok = false;
        }
    }
    if (ok) {
        k->modules[which].built = built;
        k->modules[which].kernels = kernels;
        return true;
    }
    for (int i = 0; i < plan->variants.count; i++)
        if (kernels[i])
            d->system->api.ReleaseKernel(kernels[i]);
    if (built)
        d->system->api.ReleaseProgram(built);
    return false;
}

device_kernel *opencl_load_plan(device *d, const launch_plan *plan, diag_list *diags) {
    device_kernel *k = calloc(1, sizeof *k);
    if (!k) {
        diag_error(diags, "E0803", (source_span){0}, "no memory to load %s", plan->name);
        return NULL;
    }
    k->arena = arena_new();
    k->plan = plan;
    if (!gpu_plan_print(k->arena, plan, opencl_dialect_of(plan), &k->program, diags) || !fits(d, k, diags) ||
        !load_module(d, k, 0, diags)) {
        opencl_unload(d, k);
        return NULL;
    }
    return k;
}

device_kernel *opencl_load(device *d, const proved_plan *p, diag_list *diags) {
    return opencl_load_plan(d, proved_plan_get(p), diags);
}

void opencl_unload(device *d, device_kernel *k) {
    if (!k)
        return;
    for (int m = 0; m < GPU_FORMS; m++) {
        for (int i = 0; k->modules[m].kernels && i < k->plan->variants.count; i++)
            if (k->modules[m].kernels[i])
                d->system->api.ReleaseKernel(k->modules[m].kernels[i]);
        if (k->modules[m].built)
            d->system->api.ReleaseProgram(k->modules[m].built);
    }
    arena_free(k->arena);
    free(k);
}

/* ---- launches ---- */

/* Host copies of the arrays whose data the checks look at. */
static bool check(device *d, const launch_plan *plan, void *const *arrays, const int64_t *integers, const float *floats,
                  diag_list *diags) {
    const kernel_ir *k = plan->variants.at[0].kernel;
    arena *a = arena_new();
    void **copies = NEW_ARRAY(a, void *, k->arrays.count + 1);
    bool ok = true;
    for (int i = 0, position = 0; i < k->arrays.count && ok; i++) {
        const kernel_array *array = k->arrays.at[i];
        if (array->space != SPACE_GLOBAL || array->view_of)
            continue;
        int64_t bytes = launch_data_bytes(plan, position, integers);
        if (bytes > 0 && arrays[position]) {
            copies[position] = malloc((size_t)bytes);
            ok = copies[position] && opencl_copy_out(d, copies[position], arrays[position], bytes, diags);
            if (!copies[position])
                diag_error(diags, "E0803", array->span, "no memory to check `%s`", array->name);
        }
        position++;
    }
    ok = ok && launch_checks_elsewhere(plan, arrays, copies, integers, floats, diags);
    for (int i = 0; i < k->arrays.count; i++)
        free(copies[i]);
    arena_free(a);
    return ok;
}

static bool set_arguments(device *d, const gpu_entry *e, cl_handle kernel, void *const *arrays, const int64_t *integers,
                          const float *floats, int64_t first_task, diag_list *diags) {
    for (int i = 0; i < e->parameters.count; i++) {
        const gpu_parameter *q = &e->parameters.at[i];
        cl_handle buffer = NULL;
        int32_t flag, narrow = (int32_t)(q->kind == GPU_INTEGER ? integers[q->position] : first_task);
        size_t size = e->narrow ? sizeof narrow : sizeof(int64_t);
        const void *value = e->narrow ? (const void *)&narrow : &first_task;
        switch (q->kind) {
        case GPU_ARRAY:
            buffer = arrays[q->position] ? ((const opencl_memory *)arrays[q->position])->buffer : NULL;
            size = sizeof buffer;
            value = &buffer;
            break;
        case GPU_INTEGER: value = e->narrow ? (const void *)&narrow : &integers[q->position]; break;
        case GPU_FLOAT:
            size = sizeof(float);
            value = &floats[q->position];
            break;
        case GPU_BOOL:
            flag = floats[q->position] != 0;
            size = sizeof flag;
            value = &flag;
            break;
        case GPU_TENSOR_MAP: /* it has none */
        case GPU_TASKS:
        case GPU_FIRST_TASK: break;
        }
        cl_status status = d->system->api.SetKernelArg(kernel, (uint32_t)i, size, value);
        if (status)
            return fail(diags, "E0852", q->name, status);
    }
    return true;
}

/* To the end of all that was enqueued. Short kernels of a processor are awaited awake, in turns with the driver's threads: to be woken takes as long as
 * many of them run. Only where those threads keep to their places: else they would all flee from this one's processor. */
static cl_status wait(device *d, cl_handle event) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (bool polls = d->is_processor && event && opencl_pins_threads(); polls;) {
        int32_t state = CL_COMPLETE;
        if (d->system->api.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) ||
            state <= CL_COMPLETE)
            break;
        sched_yield();
        clock_gettime(CLOCK_MONOTONIC, &now);
        polls = (now.tv_sec - begin.tv_sec) * 1000000000LL + (now.tv_nsec - begin.tv_nsec) < POLL_NANOSECONDS;
    }
    return d->system->api.Finish(d->queue);
}

static bool run(device *d, const gpu_entry *e, cl_handle kernel, int64_t tasks, void *const *arrays, const int64_t *integers,
                const float *floats, diag_list *diags) {
    int64_t most = ITEMS_PER_LAUNCH / e->threads;
    for (int64_t first = 0; first < tasks; first += most) {
        int64_t count = tasks - first < most ? tasks - first : most;
        size_t global = (size_t)(count * e->threads), local = (size_t)e->threads;
        cl_handle event = NULL;
        if (!set_arguments(d, e, kernel, arrays, integers, floats, first, diags))
            return false;
        cl_status status =
            d->system->api.EnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &global, &local, 0, NULL, d->batches ? NULL : &event);
        if (!status && !d->batches)
            status = wait(d, event);
        if (event)
            d->system->api.ReleaseEvent(event);
        if (status)
            return fail(diags, "E0852", e->name, status);
    }
    return true;
}

static bool launch_checked(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats,
                           diag_list *diags) {
    int variant = launch_variant(k->plan, integers, diags);
    int64_t tasks;
    if (variant < 0 || !launch_task_count(k->plan, variant, integers, &tasks, diags))
        return false;
    bool narrow = k->program.forms[GPU_NARROW].at[variant].name && launch_fits_narrow(k->plan, variant, integers);
    int which = gpu_module_of(&k->program, variant, narrow ? GPU_NARROW : GPU_PLAIN);
    pthread_mutex_lock(&d->lock);
    bool ok = load_module(d, k, which, diags) && run(d, gpu_module_entry(&k->program, which, variant),
                                                     k->modules[which].kernels[variant], tasks, arrays, integers, floats, diags);
    pthread_mutex_unlock(&d->lock);
    return ok;
}

bool opencl_launch(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats,
                   diag_list *diags) {
    return check(d, k->plan, arrays, integers, floats, diags) && launch_checked(d, k, arrays, integers, floats, diags);
}

/* ---- batches: the queue keeps order, and its driver's threads are woken once ---- */

static void begin_batch(device *d) {
    d->batches = true;
}

static bool end_batch(device *d, diag_list *diags) {
    d->batches = false;
    cl_status status = d->system->api.Finish(d->queue);
    return !status || fail(diags, "E0852", "the end of the launches", status);
}

/* A processor's memory is the host's. */
static void *adopt(device *d, void *host, int64_t bytes) {
    cl_status status = 0;
    opencl_memory *m = d->is_processor && bytes > 0 ? calloc(1, sizeof *m) : NULL;
    if (m)
        m->buffer =
            d->system->api.CreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, (size_t)bytes, host, &status);
    if (m && m->buffer && !status)
        return m;
    free(m);
    return NULL;
}

const runtime_batch opencl_batch = {begin_batch, launch_checked, end_batch, adopt};
