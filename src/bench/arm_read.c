/* A kernel in another language as an arm: read, proved and lowered as `tilec run k.cl` does, run by the threads that run ours. */
#include "base/hash.h"
#include "bench/arm.h"
#include "bench/clock.h"
#include "run/run.h"
#include "sim/sim.h"
#include <stdlib.h>
#include <string.h>

typedef struct read_arm {
    bench_work *work;
    const kernel_ir *kernel;
    const runtime *runtime; /* the work's */
    device *device;
    device_kernel *loaded;
    int array_count, integer_count;
    const kernel_array **arrays; /* that the launch takes, and which of the work's each is */
    int *of_work;
    void **data;
    int64_t *integers; /* symbols, then integer scalars */
    bool *known;
    float *floats;
} read_arm;

static bool run_read(bench_arm *arm, int64_t first_set, int64_t count, double *nanoseconds, diag_list *diags) {
    read_arm *x = arm->state;
    double start = clock_now_ns();
    for (int64_t i = 0; i < count; i++) {
        for (int n = 0; n < x->array_count && (i == 0 || x->work->sets > 1); n++)
            x->data[n] = work_at(x->work, x->of_work[n], (first_set + i) % x->work->sets);
        if (!x->runtime->launch(x->device, x->loaded, x->data, x->integers, x->floats, diags))
            return false;
    }
    *nanoseconds = clock_now_ns() - start;
    return true;
}

static void close_read(bench_arm *arm) {
    read_arm *x = arm->state;
    if (x->loaded)
        x->runtime->unload(x->device, x->loaded);
    free(x);
}

static const bench_arm_kind read_kind = {"read", run_read, close_read};

static bool lookup(void *context, const index_var *v, int64_t *value) {
    const read_arm *x = context;
    for (int i = 0; i < x->integer_count; i++)
        if (x->known[i] && kernel_launch_integer(x->kernel, i) == v) {
            *value = x->integers[i];
            return true;
        }
    return false;
}

static bool scalar_of_work(const bench_work *w, const char *name, double *value) {
    for (int i = 0; i < w->scalars.count; i++)
        if (!strcmp(w->scalars.at[i].name, name)) {
            *value = w->scalars.at[i].value;
            return true;
        }
    return false;
}

static bool misfit(const read_arm *x, source_span span, diag_list *diags, const char *what) {
    diag *g = diag_error(diags, "E1023", span, "%s", what);
    diag_note(diags, g, "the work is %s at %s; its arrays, extents and scalars are given to those of the same name",
              x->work->name, x->work->shape);
    return false;
}

/* The launch's arrays by name. */
static bool bind_arrays(read_arm *x, diag_list *diags) {
    const kernel_ir *k = x->kernel;
    const bench_work *w = x->work;
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *array = k->arrays.at[i];
        int at = 0;
        if (array->space != SPACE_GLOBAL || array->view_of)
            continue;
        while (at < w->arrays.count && strcmp(w->arrays.at[at].name, array->name))
            at++;
        if (at == w->arrays.count)
            return misfit(x, array->span, diags, arena_printf(diags->arena, "the work has no array `%s`", array->name));
        if (w->arrays.at[at].shape.type != array->element)
            return misfit(x, array->span, diags,
                          arena_printf(diags->arena, "`%s` holds %s, the work's %s", array->name,
                                       element_table[array->element].name, element_table[w->arrays.at[at].shape.type].name));
        x->arrays[x->array_count] = array;
        x->of_work[x->array_count++] = at;
    }
    return true;
}

/* Extents and whole scalars: by name, else what the shape of an array says, else the one value of a range. */
static bool bind_integers(read_arm *x, diag_list *diags) {
    const binding *b = &x->work->call->binding;
    for (int i = 0; i < x->integer_count; i++) {
        const char *name = kernel_launch_integer(x->kernel, i)->name;
        double number;
        int at = binding_find_symbol(b, name);
        if (at >= 0 && b->known[at])
            x->integers[i] = b->values[at];
        else if (scalar_of_work(x->work, name, &number) && number >= -9e15 && number <= 9e15 && (double)(int64_t)number == number)
            x->integers[i] = (int64_t)number;
        else
            continue;
        x->known[i] = true;
    }
    for (int n = 0; n < x->array_count; n++) {
        const kernel_array *array = x->arrays[n];
        const host_array *shape = &x->work->arrays.at[x->of_work[n]].shape;
        for (int d = 0; d < array->rank && (array->rank == 1 || array->rank == shape->rank); d++)
            for (int i = 0; array->dims[d]->op == IX_VAR && i < x->integer_count; i++)
                if (kernel_launch_integer(x->kernel, i) == array->dims[d]->var && !x->known[i]) {
                    x->integers[i] = array->rank == 1 ? shape->cells : shape->dims[d];
                    x->known[i] = true;
                }
    }
    for (int pass = 0; pass <= x->integer_count; pass++) /* one may be said by others */
        for (int i = 0; i < x->integer_count; i++) {
            const index_var *v = kernel_launch_integer(x->kernel, i);
            int64_t low, high;
            if (!x->known[i] && v->lo && v->hi && ix_eval(v->lo, lookup, x, &low) && ix_eval(v->hi, lookup, x, &high) &&
                low == high) {
                x->integers[i] = low;
                x->known[i] = true;
            }
        }
    for (int i = 0; i < x->integer_count; i++)
        if (!x->known[i])
            return misfit(x, x->kernel->span, diags,
                          arena_printf(diags->arena, "nothing says what `%s` is", kernel_launch_integer(x->kernel, i)->name));
    return true;
}

static bool bind_floats(read_arm *x, diag_list *diags) {
    const kernel_ir *k = x->kernel;
    for (int i = 0, at = 0; i < k->scalars.count; i++) {
        double value;
        if (k->scalars.at[i].var)
            continue;
        if (!scalar_of_work(x->work, k->scalars.at[i].name, &value))
            return misfit(x, k->span, diags, arena_printf(diags->arena, "nothing says what `%s` is", k->scalars.at[i].name));
        x->floats[at++] = (float)value;
    }
    return true;
}

static bool bind(read_arm *x, diag_list *diags) {
    const kernel_ir *k = x->kernel;
    arena *a = x->work->arena;
    x->integer_count = k->symbols.count;
    for (int i = 0; i < k->scalars.count; i++)
        x->integer_count += k->scalars.at[i].var != NULL;
    x->arrays = NEW_ARRAY(a, const kernel_array *, k->arrays.count + 1);
    x->of_work = NEW_ARRAY(a, int, k->arrays.count + 1);
    x->data = NEW_ARRAY(a, void *, k->arrays.count + 1);
    x->integers = NEW_ARRAY(a, int64_t, x->integer_count + 1);
    x->known = NEW_ARRAY(a, bool, x->integer_count + 1);
    x->floats = NEW_ARRAY(a, float, k->scalars.count + 1);
    if (!bind_arrays(x, diags) || !bind_integers(x, diags) || !bind_floats(x, diags))
        return false;
    for (int n = 0; n < x->array_count; n++) {
        int64_t bytes = sim_array_bytes(k, x->arrays[n], x->integers), has = x->work->arrays.at[x->of_work[n]].shape.bytes;
        if (bytes != has)
            return misfit(x, x->arrays[n]->span, diags,
                          arena_printf(diags->arena, "`%s` has %lld bytes, the work's %lld", x->arrays[n]->name, (long long)bytes,
                                       (long long)has));
    }
    return true;
}

/* What the arm was warned of, from `first` on: a reader of its rows must know that its threads race, say. */
static json_t *warnings(const diag_list *diags, int first) {
    json_t *all = NULL;
    for (int i = first; i < diags->items.count; i++) {
        const diag *g = diags->items.at[i];
        if (g->severity != SEVERITY_WARNING)
            continue;
        const char *file = g->span.file ? g->span.file : "", *slash = strrchr(file, '/');
        json_t *text = json_string(
            arena_printf(diags->arena, "%s, line %d: %s (%s)", slash ? slash + 1 : file, g->span.line, g->message, g->code));
        all = all ? all : json_array();
        json_array_append_new(all, text);
    }
    return all ? all : json_null();
}

static void describe(bench_arm *arm, const read_arm *x, const proved_plan *p, double took, bool hit) {
    text_buffer text = {0};
    diag_list ignored;
    diag_init(&ignored, x->work->arena);
    const target *t = session_target(x->work->session);
    if (t->emit(p, &text, &ignored)) {
        char digits[HASH_DIGITS + 1];
        hash_bytes(text_get(&text), text.length, digits);
        json_object_set_new(arm->description, "code_hash", json_string(digits));
    }
    text_free(&text);
    json_object_set_new(arm->description, "target", json_string(t->name));
    json_object_set_new(arm->description, "device", json_string(session_device_name(x->work->session)));
    json_object_set_new(arm->description, "compile_ms", json_real(took / 1e6));
    json_object_set_new(arm->description, "cache_hit", json_boolean(hit));
}

bool arm_open_read(bench_arm *arm, bench_work *w, const char *words, bool *unsupported, diag_list *diags) {
    const char *colon = strchr(words, ':');
    const char *path = arena_strndup(diags->arena, words, colon ? (size_t)(colon - words) : strlen(words));
    if (!w->reader) {
        *unsupported = true;
        diag_error(diags, "E1013", (source_span){0}, "nothing here reads other languages");
        return false;
    }
    double start = clock_now_ns();
    int64_t runs = compiler_calls();
    int first = diags->items.count;
    const kernel_ir *k = w->reader->read(w->reader->context, path, colon ? colon + 1 : NULL, unsupported, diags);
    if (!k)
        return false;
    read_arm *x = calloc(1, sizeof *x);
    if (!x) {
        diag_error(diags, "E0648", (source_span){0}, "no memory for an arm");
        return false;
    }
    *x = (read_arm){.work = w, .kernel = k, .runtime = session_runtime(w->session), .device = session_device(w->session)};
    arm->kind = &read_kind;
    arm->state = x;
    arm->foreign = true;
    const proved_plan *p =
        bind(x, diags) ? w->reader->prove(w->reader->context, k, x->integers, session_target(w->session), diags) : NULL;
    x->loaded = p ? x->runtime->load(x->device, p, diags) : NULL;
    if (x->loaded) {
        describe(arm, x, p, clock_now_ns() - start, compiler_calls() == runs);
        json_object_set_new(arm->description, "warnings", warnings(diags, first));
    }
    return x->loaded != NULL;
}
