/* A drop-in kernel for a device: somebody's OpenCL C or CUDA C++ beside a manifest, compiled by the device's compiler as ours is, launched
 * over copies of the work's arrays, and timed by the clock that our kernels have there. */
#include "base/file.h"
#include "bench/arm.h"
#include "bench/clock.h"
#include "bench/formula.h"
#include "bench/manifest.h"
#include "bench/recording.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = INT32_MAX, DEVICE_ALIGNMENT = 64 };

typedef struct device_arm {
    bench_work *work;
    session *session;
    text_kernel *kernel;
    text_launch launch;
    text_argument *arguments;
    int *array_of; /* by argument: the work's array; -1: a value */
    void **own;    /* by the work's arrays: in the device's memory, for what is checked */
    recording recording;
} device_arm;

/* ---- running ---- */

static bool enqueue(void *context, void *const *there, bool first, diag_list *diags) {
    device_arm *f = context;
    (void)first;
    for (int i = 0; i < f->launch.count; i++)
        if (f->array_of[i] >= 0)
            f->arguments[i].array = there[f->array_of[i]];
    return session_runtime(f->session)->text->launch(session_device(f->session), f->kernel, &f->launch, diags);
}

/* To its end, by the clock of such devices: their own marks where there are queues, otherwise the host's. */
static bool launch_timed(device_arm *f, double *nanoseconds, diag_list *diags) {
    const runtime_streams *q = session_runtime(f->session)->streams;
    device *d = session_device(f->session);
    double milliseconds = 0, start = clock_now_ns();
    if (!q) {
        bool good = enqueue(f, f->own, false, diags);
        *nanoseconds += clock_now_ns() - start;
        return good;
    }
    void *begin = q->mark(d, NULL, diags), *end = NULL;
    bool good = begin && enqueue(f, f->own, false, diags) && (end = q->mark(d, NULL, diags)) &&
                q->between(d, begin, end, &milliseconds, diags);
    q->unmark(d, begin);
    q->unmark(d, end);
    *nanoseconds += milliseconds * 1e6;
    return good;
}

static bool run_file(bench_arm *arm, int64_t first_set, int64_t count, double *nanoseconds, diag_list *diags) {
    device_arm *f = arm->state;
    bench_work *w = f->work;
    const runtime *r = session_runtime(f->session);
    device *d = session_device(f->session);
    bool good = true;
    if (recording_fits(r) && count > 1) {
        good = recording_run(&f->recording, first_set, count, nanoseconds, diags);
        arm->shares_buffers = !f->recording.copied;
        return good;
    }
    arm->shares_buffers = false;
    *nanoseconds = 0;
    for (int64_t i = 0; good && i < count; i++) {
        int64_t set = (first_set + i) % w->sets;
        for (int n = 0; good && n < w->arrays.count; n++) /* outputs too: what is not written keeps the host's poison */
            good = r->copy_in(d, f->own[n], work_at(w, n, set), w->arrays.at[n].shape.bytes, diags);
        good = good && launch_timed(f, nanoseconds, diags);
        for (int n = 0; good && n < w->arrays.count; n++)
            if (w->arrays.at[n].declared->role != ARRAY_IN)
                good = r->copy_out(d, work_at(w, n, set), f->own[n], w->arrays.at[n].shape.bytes, diags);
    }
    return good;
}

static void close_file(bench_arm *arm) {
    device_arm *f = arm->state;
    const runtime *r = f->session ? session_runtime(f->session) : NULL;
    recording_close(&f->recording);
    for (int n = 0; f->own && n < f->work->arrays.count; n++)
        r->release(session_device(f->session), f->own[n]);
    if (f->kernel)
        r->text->unload(session_device(f->session), f->kernel);
    session_close(f->session);
    free(f->own);
    free(f);
}

static const bench_arm_kind device_kind = {"file", run_file, close_file};

/* ---- from the manifest to a launch ---- */

static bool wrong(const bench_work *w, const manifest *m, diag_list *diags, const char *what) {
    diag *g = diag_error(diags, "E1021", (source_span){.file = m->path}, "%s", what);
    diag_note(diags, g, "the arrays, extents and scalars of %s are what a manifest may name; shape: %s", w->name, w->shape);
    return false;
}

static const call_scalar *scalar_of(const bench_work *w, const char *name) {
    for (int i = 0; i < w->call->scalars.count; i++)
        if (!strcmp(w->call->scalars.at[i].declared->name, name))
            return &w->call->scalars.at[i];
    return NULL;
}

static double scalar_value(const bench_work *w, const char *name) {
    for (int i = 0; i < w->scalars.count; i++)
        if (!strcmp(w->scalars.at[i].name, name))
            return w->scalars.at[i].value;
    return 0;
}

/* 0 for what no whole number can be. */
static int64_t whole_of(double value) {
    return value > -9e18 && value < 9e18 ? (int64_t)value : 0;
}

static bool whole_value(void *context, const char *name, int64_t *value) {
    const bench_work *w = context;
    const call_scalar *scalar = scalar_of(w, name);
    int at = binding_find_symbol(&w->call->binding, name);
    if (at >= 0 && w->call->binding.known[at]) {
        *value = w->call->binding.values[at];
        return true;
    }
    if (!scalar || !scalar->declared->var)
        return false;
    *value = whole_of(scalar_value(w, name));
    return true;
}

static bool evaluate(bench_work *w, const manifest *m, const char *text, int64_t *value, diag_list *diags) {
    const char *why;
    return formula_evaluate(w->arena, text, whole_value, w, value, &why) ||
           wrong(w, m, diags, arena_printf(w->arena, "`%s`: %s", text, why));
}

/* The first launch that this shape is for. */
static const manifest_launch *choose(bench_work *w, const manifest *m, diag_list *diags) {
    for (int i = 0; i < m->launches.count; i++) {
        const manifest_launch *l = &m->launches.at[i];
        int64_t holds = 1;
        if (l->when && !evaluate(w, m, l->when, &holds, diags))
            return NULL;
        if (holds && l->aligned > 0 && DEVICE_ALIGNMENT % l->aligned == 0) /* what devices' memory begins at */
            return l;
    }
    wrong(w, m, diags, "no launch of it is for this shape");
    return NULL;
}

static bool set_extents(device_arm *f, const manifest *m, const manifest_launch *l, diag_list *diags) {
    bench_work *w = f->work;
    int64_t blocks = 1, threads = 1;
    for (int n = 0; n < LAUNCH_DIMENSIONS; n++) {
        int64_t *b = &f->launch.blocks[n], *t = &f->launch.threads[n];
        if (!evaluate(w, m, l->blocks[n], b, diags) || !evaluate(w, m, l->threads[n], t, diags))
            return false;
        if (*b < 0 || *t < 1 || *b > MOST_BLOCKS || *t > MOST_BLOCKS || __builtin_mul_overflow(blocks, *b, &blocks) ||
            __builtin_mul_overflow(threads, *t, &threads) || blocks > MOST_BLOCKS || threads > MOST_BLOCKS)
            return wrong(
                w, m, diags,
                arena_printf(w->arena, "%" PRId64 " blocks of %" PRId64 " threads in a dimension cannot be launched", *b, *t));
    }
    return true;
}

static bool set_argument(device_arm *f, const manifest *m, const manifest_argument *x, int at, diag_list *diags) {
    bench_work *w = f->work;
    text_argument *out = &f->arguments[at];
    int64_t whole = whole_of(x->value);
    double value = x->value;
    const char *type = x->type;
    f->array_of[at] = -1;
    for (int n = 0; x->name && n < w->arrays.count; n++)
        if (!strcmp(w->arrays.at[n].name, x->name)) {
            f->array_of[at] = n;
            return true;
        }
    if (x->name && whole_value(w, x->name, &whole)) {
        value = (double)whole;
    } else if (x->name) {
        const call_scalar *scalar = scalar_of(w, x->name);
        if (!scalar)
            return wrong(w, m, diags, arena_printf(w->arena, "%s has no argument `%s`", w->name, x->name));
        value = scalar_value(w, x->name);
        whole = whole_of(value);
        type = type ? type : scalar->declared->type == ELEMENT_BOOL ? "bool" : "f32";
    }
    bool is_whole = !type || !strncmp(type, "int", 3), narrow = type && !strcmp(type, "int32");
    if (is_whole && ((double)whole != value || (narrow && whole != (int32_t)whole)))
        return wrong(w, m, diags, arena_printf(w->arena, "%g is no %s", value, narrow ? "int32" : "int64"));
    out->bytes = !type || !strcmp(type, "int64") ? 8 : 4;
    if (out->bytes == 8)
        out->value.i64 = whole;
    else if (!strcmp(type, "f32"))
        out->value.f32 = (float)value;
    else
        out->value.i32 = !strcmp(type, "bool") ? value != 0 : (int32_t)whole;
    return true;
}

static bool set_launch(device_arm *f, const manifest *m, const manifest_launch *l, diag_list *diags) {
    bench_work *w = f->work;
    f->arguments = NEW_ARRAY(w->arena, text_argument, l->arguments.count + 1);
    f->array_of = NEW_ARRAY(w->arena, int, l->arguments.count + 1);
    f->launch.arguments = f->arguments;
    f->launch.count = l->arguments.count;
    bool good = set_extents(f, m, l, diags);
    for (int i = 0; good && i < l->arguments.count; i++)
        good = set_argument(f, m, &l->arguments.at[i], i, diags);
    return good;
}

static bool make_memory(device_arm *f, diag_list *diags) {
    bench_work *w = f->work;
    if (!(f->own = calloc((size_t)w->arrays.count + 1, sizeof *f->own))) {
        diag_error(diags, "E0648", (source_span){0}, "no memory for an arm");
        return false;
    }
    for (int n = 0; n < w->arrays.count; n++)
        if (!(f->own[n] = session_runtime(f->session)->allocate(session_device(f->session), w->arrays.at[n].shape.bytes, diags)))
            return false;
    return true;
}

/* The file's text; the hash behind it lets the cache tell versions of the files that it includes apart. */
static bool load(device_arm *f, const manifest *m, const char *entry, diag_list *diags) {
    size_t length;
    text_buffer text = {0};
    const char *file = file_read(f->work->arena, m->source, FILE_SOURCE_LIMIT, &length, diags);
    if (!file)
        return false;
    text_add(&text, "%s\n/* %s */\n", file, m->content_hash);
    f->kernel = session_runtime(f->session)->text->load(session_device(f->session), m->source, text_get(&text), entry, diags);
    text_free(&text);
    return f->kernel != NULL;
}

static void describe(bench_arm *arm, const device_arm *f, const manifest *m, double took_ns) {
    kernel_resources made;
    json_t *o = arm->description;
    json_object_set_new(o, "target", json_string(m->device));
    json_object_set_new(o, "device", json_string(session_device_name(f->session)));
    json_object_set_new(o, "schedule", m->schedule ? json_string(m->schedule) : json_null());
    json_object_set_new(o, "code_hash", json_string(m->content_hash));
    json_object_set_new(o, "compile_ms", json_real(took_ns / 1e6));
    if (session_runtime(f->session)->text->resources(session_device(f->session), f->kernel, &made)) {
        json_object_set_new(o, "registers", json_integer(made.registers));
        json_object_set_new(o, "spills", json_integer(made.local_bytes));
        json_object_set_new(o, "shared_bytes", json_integer(made.shared_bytes));
    }
}

bool arm_open_file_device(bench_arm *arm, bench_work *w, const manifest *m, diag_list *diags) {
    device_arm *f = calloc(1, sizeof *f);
    if (!f) {
        diag_error(diags, "E0648", (source_span){0}, "no memory for an arm");
        return false;
    }
    f->work = w;
    arm->kind = &device_kind;
    arm->state = f;
    const manifest_launch *l = choose(w, m, diags);
    if (!l || !set_launch(f, m, l, diags) || !(f->session = session_open(m->device, diags)))
        return false;
    const runtime *r = session_runtime(f->session);
    arm->shares_buffers = false;
    arm->threads = 0; /* a device has its own */
    arm->clock = recording_clock(r);
    f->recording = (recording){.runtime = r, .device = session_device(f->session), .work = w, .enqueue = enqueue, .context = f};
    double start = clock_now_ns();
    bool good = load(f, m, l->entry, diags) && make_memory(f, diags);
    if (good)
        describe(arm, f, m, clock_now_ns() - start);
    return good;
}
