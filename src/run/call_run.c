/* Preparing and running a call: memory, compiled kernels, launches. */
#include "run/session_parts.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool call_allocate(run_call *c, int array, diag_list *diags) {
    call_array *x = &c->arrays.at[array];
    size_t bytes = ((size_t)x->host.bytes + 127) / 64 * 64; /* whole cache lines, and never nothing */
    void *memory = aligned_alloc(64, bytes);
    if (!memory) {
        diag_error(diags, "E0648", x->declared->span, "no memory for `%s`: %" PRId64 " bytes", x->name, x->host.bytes);
        return false;
    }
    if (x->host.owned)
        free(x->host.data);
    x->host.data = memory;
    x->host.owned = true;
    x->host.room = x->host.bytes;
    return true;
}

static bool overlaps(const call_array *x, const call_array *y) {
    const char *a = x->on_device ? x->device : x->host.data, *b = y->on_device ? y->device : y->host.data;
    return x->on_device == y->on_device && x->host.bytes && y->host.bytes &&
           (uintptr_t)a < (uintptr_t)b + (uintptr_t)y->host.bytes && (uintptr_t)b < (uintptr_t)a + (uintptr_t)x->host.bytes;
}

/* Kernels are proved on the ground that arguments do not alias what is written. */
static bool check_overlap(run_call *c, diag_list *diags) {
    for (int i = 0; i < c->arrays.count; i++)
        for (int j = 0; j < c->arrays.count; j++) {
            const call_array *x = &c->arrays.at[i], *y = &c->arrays.at[j];
            if (i == j || !x->is_output || (y->is_output && j < i) || !overlaps(x, y))
                continue;
            diag *g = diag_error(diags, "E0649", x->declared->span, "output `%s` and %s `%s` share memory", x->name,
                                 y->is_output ? "output" : "argument", y->name);
            diag_note(diags, g, "give each its own memory; an array that is read and written is declared `update`");
            return false;
        }
    return true;
}

bool session_compile_step(run_call *c, call_step *step, diag_list *diags) {
    session *s = c->session;
    VEC(tile_binding) statics = {0};
    text_buffer key = {0};
    for (int i = 0; i < step->binding.signature.symbol_count; i++)
        if (step->binding.signature.symbols[i]->kind == INDEX_STATIC && step->binding.known[i]) {
            tile_binding b = {step->binding.signature.symbols[i]->name, step->binding.values[i]};
            VEC_PUSH(c->arena, statics, b);
            text_add(&key, "%s=%" PRId64 " ", b.name, b.value);
        }
    /* A program's kernels share --set: each takes what it has. */
    setting_list settings = {0};
    step->choices = NULL;
    for (int i = 0; i < c->settings.count; i++)
        if ((c->kernel && !c->split) || session_takes_setting(step->kernel, c->settings.at[i].key)) {
            VEC_PUSH(c->arena, settings, c->settings.at[i]);
            text_add(&key, "%s:%s ", c->settings.at[i].key, c->settings.at[i].value);
        }
    if (c->shapes_solved)
        launch_settings(c, step, statics.at, statics.count, &settings, &key);
    for (int i = 0; i < s->compiled.count; i++)
        if (s->compiled.at[i].kernel == step->kernel && s->compiled.at[i].key &&
            strcmp(s->compiled.at[i].key, text_get(&key)) == 0) {
            text_free(&key);
            step->compiled = s->compiled.at[i].compiled;
            step->loaded = s->compiled.at[i].loaded;
            return true;
        }
    compile_options o = {.target = s->target,
                         .target_route = s->target_route,
                         .statics = statics.at,
                         .static_count = statics.count,
                         .settings = settings.at,
                         .setting_count = settings.count,
                         .splits = true,
                         .dump = c->dump,
                         .dump_file = c->dump_file};
    compiled_entry e = {.kernel = step->kernel, .arena = arena_new()};
    e.compiled = NEW(e.arena, compiled_kernel);
    step->compiled = e.compiled; /* a refused one is still explained */
    if (compile_kernel(e.arena, c->module, step->kernel, &o, e.compiled, diags))
        e.loaded = s->runtime->load(s->device, e.compiled->plan, diags);
    if (e.loaded)
        e.key = arena_strdup(e.arena, text_get(&key));
    text_free(&key);
    step->loaded = e.loaded;
    VEC_PUSH(s->arena, s->compiled, e);
    return e.loaded != NULL;
}

/* A step for one kernel with what is known of its symbols: no arrays yet. */
static void begin_step(run_call *c, const tile_kernel *k) {
    call_step step = {.kernel = k};
    binding_init(&step.binding, c->arena, signature_of_kernel(k));
    VEC_PUSH(c->arena, c->steps, step);
}

static void set_known(binding *to, const char *name, int64_t value) {
    int at = binding_find_symbol(to, name);
    if (at >= 0 && !to->fixed[at]) {
        to->known[at] = to->fixed[at] = true;
        to->values[at] = value;
        to->origin[at] = "the caller";
    }
}

bool call_compile(run_call *c, diag_list *diags) {
    if (!c->shapes_solved) {
        if (!binding_solve(&c->binding, false, diags))
            return false;
        c->steps.count = 0;
        if (c->kernel) {
            begin_step(c, c->kernel);
            c->steps.at[0].binding = c->binding;
        }
        for (int i = 0; c->program && i < c->program->calls.count; i++) {
            const tile_call *call = c->program->calls.at[i];
            begin_step(c, call->kernel);
            binding *b = &c->steps.at[i].binding;
            int64_t value;
            for (int n = 0; n < call->bind_names.count; n++)
                if (binding_evaluate(&c->binding, call->bind_values.at[n], &value))
                    set_known(b, call->bind_names.at[n], value);
            for (int n = 0; n < c->extra.count; n++)
                set_known(b, c->extra.at[n].name, c->extra.at[n].value);
            if (!binding_solve(b, false, diags))
                return false;
        }
    }
    for (int i = 0; i < c->steps.count; i++)
        if (!session_compile_step(c, &c->steps.at[i], diags))
            return false;
    return true;
}

void call_poison(run_call *c) {
    for (int i = 0; i < c->arrays.count; i++) {
        call_array *x = &c->arrays.at[i];
        if (x->temporary || x->declared->role == ARRAY_OUT)
            memset(x->host.data, element_table[x->host.type].is_float ? 0xFF : 0xA5, (size_t)x->host.bytes);
    }
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The scalar of the call that stands for the kernel's scalar of this name; NULL when there is none. */
static const call_scalar *scalar_named(const run_call *c, const call_step *step, const char *name) {
    int at = binding_find_scalar(&step->binding, name);
    return at < 0 ? NULL : &c->scalars.at[step->scalars[at]];
}

/* What the step's launch is given. Workspaces, between this plan's kernels and gone afterwards, go to `workspaces`. */
typedef VEC(void *) memories;

static void gather_numbers(run_call *c, call_step *step, const kernel_ir *k) {
    if (!step->launch_arrays) {
        step->launch_arrays = NEW_ARRAY(c->arena, void *, k->arrays.count + 1);
        step->launch_integers = NEW_ARRAY(c->arena, int64_t, k->symbols.count + k->scalars.count + 1);
        step->launch_floats = NEW_ARRAY(c->arena, float, k->scalars.count + 1);
    }
    int64_t *integers = step->launch_integers;
    float *floats = step->launch_floats;
    int integer_count = 0, float_count = 0;
    for (int i = 0; i < k->symbols.count; i++) {
        int at = binding_find_symbol(&step->binding, k->symbols.at[i]->name);
        integers[integer_count++] = at >= 0 ? step->binding.values[at] : 0;
    }
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i].var) { /* integers */
            const call_scalar *x = scalar_named(c, step, k->scalars.at[i].name);
            integers[integer_count++] = x ? (int64_t)x->value : 0;
        }
    for (int i = 0; i < k->scalars.count; i++)
        if (!k->scalars.at[i].var) { /* floats and bools */
            const call_scalar *x = scalar_named(c, step, k->scalars.at[i].name);
            floats[float_count++] = x ? (float)x->value : 0;
        }
}

int call_variant(run_call *c, int number, diag_list *diags) {
    call_step *step = &c->steps.at[number];
    const launch_plan *plan = proved_plan_get(step->compiled->plan);
    gather_numbers(c, step, plan->variants.at[0].kernel);
    return launch_variant(plan, step->launch_integers, diags);
}

static bool gather(run_call *c, call_step *step, memories *workspaces, diag_list *diags) {
    session *s = c->session;
    const kernel_ir *k = proved_plan_get(step->compiled->plan)->variants.at[0].kernel;
    gather_numbers(c, step, k);
    void **arrays = step->launch_arrays;
    const int64_t *integers = step->launch_integers;
    int array_count = 0;
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        if (a->space != SPACE_GLOBAL)
            continue;
        if (a->source_array >= 0) {
            arrays[array_count++] = c->arrays.at[step->arrays[a->source_array]].device;
            continue;
        }
        int64_t dims[BINDING_MAX_RANK], bytes = -1;
        bool known = a->rank <= BINDING_MAX_RANK;
        for (int d = 0; known && d < a->rank; d++)
            known = launch_evaluate(k, a->dims[d], integers, &dims[d]);
        if (known)
            bytes = host_array_bytes(a->element, a->rank, dims);
        void *memory = bytes < 0 ? NULL : s->runtime->allocate(s->device, bytes ? bytes : 64, diags);
        if (!memory) {
            diag_error(diags, "E0648", step->kernel->span, "no memory for the workspace `%s`", a->name);
            return false;
        }
        VEC_PUSH(c->arena, *workspaces, memory);
        arrays[array_count++] = memory;
    }
    return true;
}

static void release_all(run_call *c, const memories *workspaces) {
    for (int i = 0; i < workspaces->count; i++)
        c->session->runtime->release(c->session->device, workspaces->at[i]);
}

static bool make_ready(run_call *c, diag_list *diags) {
    const runtime_streams *q = c->session->runtime->streams;
    for (int i = 0; q && i < c->steps.count; i++) {
        call_step *step = &c->steps.at[i];
        memories workspaces = {0};
        bool good = proved_plan_get(step->compiled->plan)->workspaces.count ||
                    (gather(c, step, &workspaces, diags) &&
                     q->ready(c->session->device, step->loaded, step->launch_arrays, step->launch_integers, diags));
        release_all(c, &workspaces);
        if (!good)
            return false;
    }
    return true;
}

bool call_prepare(run_call *c, diag_list *diags) {
    if (!call_solve(c, diags))
        return false;
    bool good = true;
    for (int i = 0; i < c->arrays.count; i++) {
        call_array *x = &c->arrays.at[i];
        bool filled_here = x->temporary || x->declared->role == ARRAY_OUT;
        if (x->on_device)
            continue;
        if (!x->host.data && !filled_here && x->host.bytes) {
            diag *g = diag_error(diags, "E0650", x->declared->span, "argument `%s` was not given", x->name);
            diag_note(diags, g, "--arg %s=FILE.npy, or random:SEED, zeros, iota", x->name);
            good = false;
        } else if ((!x->host.data || (x->host.owned && x->host.room < x->host.bytes)) && !call_allocate(c, i, diags)) {
            good = false;
        }
    }
    for (int i = 0; i < c->scalars.count; i++)
        if (!c->scalars.at[i].bound) {
            diag *g = diag_error(diags, "E0650", c->scalars.at[i].declared->span, "argument `%s` was not given",
                                 c->scalars.at[i].declared->name);
            diag_note(diags, g, "--arg %s=NUMBER", c->scalars.at[i].declared->name);
            good = false;
        }
    if (!good || !check_overlap(c, diags))
        return false;
    for (int i = 0; i < c->steps.count; i++)
        if (!session_compile_step(c, &c->steps.at[i], diags))
            return false;
    for (int i = 0; i < c->arrays.count; i++) {
        call_array *x = &c->arrays.at[i];
        const runtime *r = c->session->runtime;
        if (c->session->shares_memory) {
            x->device = x->host.data;
            continue;
        }
        if (x->on_device || (x->device && x->device_room >= x->host.bytes))
            continue;
        if (x->device)
            r->release(c->session->device, x->device);
        x->device_room = x->host.bytes;
        if (!(x->device = r->allocate(c->session->device, x->host.bytes ? x->host.bytes : 1, diags)))
            return false;
    }
    c->prepared = make_ready(c, diags);
    return c->prepared;
}

static bool launch_step(run_call *c, int number, bool copies, diag_list *diags) {
    call_step *step = &c->steps.at[number];
    session *s = c->session;
    memories workspaces = {0};
    bool good = gather(c, step, &workspaces, diags);
    copies = copies && !s->shares_memory;
    for (int i = 0; good && copies && i < step->kernel->arrays.count; i++) {
        call_array *x = &c->arrays.at[step->arrays[i]];
        if (!x->on_device)
            good = s->runtime->copy_in(s->device, x->device, x->host.data, x->host.bytes, diags);
    }
    if (good) {
        double start = now_ms();
        good =
            s->runtime->launch(s->device, step->loaded, step->launch_arrays, step->launch_integers, step->launch_floats, diags);
        step->milliseconds = now_ms() - start;
    }
    release_all(c, &workspaces);
    for (int i = 0; good && copies && i < step->kernel->arrays.count; i++) {
        call_array *x = &c->arrays.at[step->arrays[i]];
        if (step->kernel->arrays.at[i]->role != ARRAY_IN && !x->on_device)
            good = s->runtime->copy_out(s->device, x->host.data, x->device, x->host.bytes, diags);
    }
    return good;
}

bool call_run_step(run_call *c, int number, diag_list *diags) {
    return launch_step(c, number, true, diags);
}

/* ---- on a queue ---- */

/* Whether the host's memory holds it before or after the call. */
static bool is_transferred(const call_array *x) {
    return !x->on_device && !x->temporary;
}

static bool enqueue_steps(run_call *c, void *stream, void **marks, memories *workspaces, diag_list *diags) {
    const runtime_streams *q = c->session->runtime->streams;
    device *d = c->session->device;
    for (int i = 0; i < c->steps.count; i++) {
        call_step *step = &c->steps.at[i];
        if (!gather(c, step, workspaces, diags) || (marks && !(marks[i] = q->mark(d, stream, diags))) ||
            !q->enqueue(d, step->loaded, step->launch_arrays, step->launch_integers, step->launch_floats, stream, diags))
            return false;
    }
    return !marks || (marks[c->steps.count] = q->mark(d, stream, diags)) != NULL;
}

bool call_run_on(run_call *c, void *stream, diag_list *diags) {
    const runtime_streams *q = c->session->runtime->streams;
    device *d = c->session->device;
    memories workspaces = {0};
    if (!q && stream) {
        diag_error(diags, "E0665", (source_span){0}, "%s has no streams: it runs in the calling thread", c->session->name);
        return false;
    }
    if (!q)
        return call_run(c, diags);
    if (!c->prepared && !call_prepare(c, diags))
        return false;
    if (!c->marks)
        c->marks = NEW_ARRAY(c->arena, void *, c->steps.count + 1);
    void **marks = memset(c->marks, 0, sizeof *marks * (size_t)(c->steps.count + 1));
    bool good = true, waits = !stream;
    for (int i = 0; good && i < c->arrays.count; i++) {
        call_array *x = &c->arrays.at[i];
        waits = waits || is_transferred(x);
        if (is_transferred(x) && x->declared->role != ARRAY_OUT)
            good = q->copy_in(d, stream, x->device, x->host.data, x->host.bytes, diags);
    }
    good = good && enqueue_steps(c, stream, waits ? marks : NULL, &workspaces, diags);
    for (int i = 0; good && i < c->arrays.count; i++) {
        call_array *x = &c->arrays.at[i];
        if (is_transferred(x) && x->declared->role != ARRAY_IN)
            good = q->copy_out(d, stream, x->host.data, x->device, x->host.bytes, diags);
    }
    if (waits || !good || workspaces.count) /* after a failure, too: what was enqueued must not outlive the arguments */
        good = q->wait(d, stream, good ? diags : &(diag_list){.arena = diags->arena}) && good;
    for (int i = 0; i < c->steps.count; i++)
        c->steps.at[i].milliseconds = 0;
    for (int i = 0; good && waits && i < c->steps.count; i++)
        good = q->between(d, marks[i], marks[i + 1], &c->steps.at[i].milliseconds, diags);
    for (int i = 0; i <= c->steps.count; i++)
        q->unmark(d, marks[i]);
    release_all(c, &workspaces);
    return good;
}

bool call_enqueue_again(run_call *c, diag_list *diags) {
    const runtime *r = c->session->runtime;
    device *d = c->session->device;
    memories workspaces = {0};
    bool good = true;
    for (int i = 0; good && i < c->steps.count; i++) {
        call_step *step = &c->steps.at[i];
        good = gather(c, step, &workspaces, diags) &&
               (r->streams
                    ? r->streams->enqueue_checked(d, step->loaded, step->launch_arrays, step->launch_integers,
                                                  step->launch_floats, NULL, diags)
                    : r->batch->launch(d, step->loaded, step->launch_arrays, step->launch_integers, step->launch_floats, diags));
    }
    release_all(c, &workspaces);
    return good;
}

bool call_run(run_call *c, diag_list *diags) {
    if (!c->prepared && !call_prepare(c, diags))
        return false;
    if (c->session->runtime->streams)
        return call_run_on(c, NULL, diags);
    for (int i = 0; i < c->steps.count; i++)
        if (!call_run_step(c, i, diags))
            return false;
    return true;
}
