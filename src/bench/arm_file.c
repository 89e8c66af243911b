/* A drop-in kernel: somebody's C file beside a manifest, compiled by the same compiler with the same options as ours and run by
 * the same pool. Files for other devices are arm_file_device.c's. */
#include "base/file.h"
#include "base/hash.h"
#include "bench/arm.h"
#include "bench/clock.h"
#include "bench/manifest.h"
#include "run/pool.h"
#include "run/run.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct file_arm {
    bench_work *work;
    void *object;
    pool *pool;
    void **scratch; /* per worker */
    void **arrays;  /* of the current set */
    int64_t *symbols;
    double *scalars;
    int (*call)(void *const *arrays, const int64_t *symbols, const double *scalars);
    /* when the manifest names tasks */
    int64_t (*count)(const int64_t *symbols, const double *scalars);
    void (*tasks)(void *const *arrays, const int64_t *symbols, const double *scalars, int64_t first, int64_t last, void *scratch);
    int64_t (*scratch_bytes)(void);
} file_arm;

static void run_tasks(void *context, int worker, int64_t first, int64_t last) {
    file_arm *f = context;
    f->tasks(f->arrays, f->symbols, f->scalars, first, last, f->scratch[worker]);
}

static bool run_file(bench_arm *arm, int64_t first_set, int64_t count, double *nanoseconds, diag_list *diags) {
    file_arm *f = arm->state;
    bench_work *w = f->work;
    double start = clock_now_ns();
    for (int64_t i = 0; i < count; i++) {
        for (int n = 0; n < w->arrays.count && (i == 0 || w->sets > 1); n++)
            f->arrays[n] = work_at(w, n, (first_set + i) % w->sets);
        int code = f->call ? f->call(f->arrays, f->symbols, f->scalars) : 0;
        if (!code && f->tasks) {
            int64_t tasks = f->count(f->symbols, f->scalars);
            code = tasks < 0;
            pool_run(f->pool, tasks, run_tasks, f);
        }
        if (code) {
            diag_error(diags, "E1022", (source_span){0}, "%s returned %d", arm->name, code);
            return false;
        }
    }
    *nanoseconds = clock_now_ns() - start;
    return true;
}

static void close_file(bench_arm *arm) {
    file_arm *f = arm->state;
    for (int i = 0; f->pool && f->scratch && i < pool_workers(f->pool); i++)
        free(f->scratch[i]);
    pool_free(f->pool);
    if (f->object)
        dlclose(f->object);
    free(f->scratch);
    free(f->arrays);
    free(f->symbols);
    free(f->scalars);
    free(f);
}

static const bench_arm_kind file_kind = {"file", run_file, close_file};

/* How the shim writes an argument: from the uniform arrays to what the function takes. NULL when the work has no such thing. */
static const char *argument_text(bench_work *w, const char *name) {
    for (int i = 0; i < w->arrays.count; i++)
        if (!strcmp(w->arrays.at[i].name, name))
            return arena_printf(w->arena, "arrays[%d]", i);
    for (int i = 0; i < w->scalars.count; i++)
        if (!strcmp(w->scalars.at[i].name, name))
            return arena_printf(w->arena, "scalars[%d]", i);
    int at = binding_find_symbol(&w->call->binding, name);
    return at >= 0 && w->call->binding.known[at] ? arena_printf(w->arena, "symbols[%d]", at) : NULL;
}

static bool add_arguments(bench_work *w, text_buffer *out, const manifest *m, const char *const *names, int count,
                          diag_list *diags) {
    for (int i = 0; i < count; i++) {
        const char *text = argument_text(w, names[i]);
        if (!text) {
            diag *g = diag_error(diags, "E1021", (source_span){.file = m->path}, "%s has no argument `%s`", w->name, names[i]);
            diag_note(diags, g, "its arrays, symbols and scalars are what a manifest may name; shape: %s", w->shape);
            return false;
        }
        text_add(out, "%s%s", i ? ", " : "", text);
    }
    return true;
}

/* The C text that is compiled: the file itself, and functions of one form that call it. */
static bool make_shim(bench_work *w, const manifest *m, text_buffer *out, diag_list *diags) {
    char real[PATH_MAX];
    if (!realpath(m->source, real) || strchr(real, '"') || strchr(real, '\\') || strchr(real, '\n')) {
        diag_error(diags, "E1020", (source_span){.file = m->path}, "%s is not there", m->source);
        return false;
    }
    /* The hash makes the cache tell two versions of the file apart. */
    text_add(out, "/* %s */\n#include <stdint.h>\n#include \"%s\"\n", m->content_hash, real);
    text_add(out, "int tilec_arm_call(void *const *arrays, const int64_t *symbols, const double *scalars)\n{\n    (void)arrays, "
                  "(void)symbols, "
                  "(void)scalars;\n");
    const char *called = m->has_tasks ? m->check : m->entry;
    bool good = true;
    if (called) {
        text_add(out, m->returns_code ? "    return %s(" : "    %s(", called);
        good = add_arguments(w, out, m, m->arguments.at, m->arguments.count, diags);
        text_add(out, m->returns_code ? ");\n}\n" : ");\n    return 0;\n}\n");
    } else {
        text_add(out, "    return 0;\n}\n");
    }
    if (good && m->has_tasks) {
        text_add(out,
                 "int64_t tilec_arm_count(const int64_t *symbols, const double *scalars)\n{\n    (void)symbols, (void)scalars;\n "
                 "   return %s(",
                 m->task_count);
        good = add_arguments(w, out, m, m->count_arguments.at, m->count_arguments.count, diags);
        text_add(out,
                 ");\n}\nvoid tilec_arm_tasks(void *const *arrays, const int64_t *symbols, const double *scalars, int64_t first, "
                 "int64_t "
                 "last, void *scratch)\n{\n    (void)arrays, (void)symbols, (void)scalars;\n    %s(",
                 m->task_run);
        good = good && add_arguments(w, out, m, m->arguments.at, m->arguments.count, diags);
        text_add(out, "%sfirst, last, scratch);\n}\nint64_t tilec_arm_scratch(void)\n{\n    return (int64_t)%s%s;\n}\n",
                 m->arguments.count ? ", " : "", m->task_scratch ? m->task_scratch : "64", m->task_scratch ? "()" : "");
    }
    return good;
}

/* dlsym gives a data pointer; the copy is how POSIX turns it into a function's. */
static void find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

static bool prepare(bench_arm *arm, file_arm *f, const manifest *m, diag_list *diags) {
    bench_work *w = f->work;
    const signature *s = &w->call->binding.signature;
    text_buffer shim = {0};
    bool hit = false, good = make_shim(w, m, &shim, diags);
    double start = clock_now_ns();
    char *path = good ? cache_compile(text_get(&shim), m->entry ? m->entry : m->task_run, &hit, diags) : NULL;
    double took = clock_now_ns() - start;
    text_free(&shim);
    f->object = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (path && !f->object)
        diag_error(diags, "E1022", (source_span){.file = m->path}, "the compiled kernel cannot be loaded: %s", dlerror());
    free(path);
    if (!f->object)
        return false;
    find(f->object, "tilec_arm_call", &f->call);
    find(f->object, "tilec_arm_count", &f->count);
    find(f->object, "tilec_arm_tasks", &f->tasks);
    find(f->object, "tilec_arm_scratch", &f->scratch_bytes);
    arm->threads = f->tasks ? w->threads : 1;
    f->pool = pool_new(arm->threads);
    f->scratch = f->pool ? calloc((size_t)pool_workers(f->pool), sizeof *f->scratch) : NULL;
    f->arrays = calloc((size_t)w->arrays.count + 1, sizeof *f->arrays);
    f->symbols = calloc((size_t)s->symbol_count + 1, sizeof *f->symbols);
    f->scalars = calloc((size_t)w->scalars.count + 1, sizeof *f->scalars);
    good = f->scratch && f->arrays && f->symbols && f->scalars;
    for (int i = 0; good && f->tasks && i < pool_workers(f->pool); i++)
        good = (f->scratch[i] = aligned_alloc(64, ((size_t)f->scratch_bytes() + 127) / 64 * 64)) != NULL;
    if (!good) {
        diag_error(diags, "E0648", (source_span){0}, "no memory for %s", arm->name);
        return false;
    }
    for (int i = 0; i < s->symbol_count; i++)
        f->symbols[i] = w->call->binding.known[i] ? w->call->binding.values[i] : 0;
    for (int i = 0; i < w->scalars.count; i++)
        f->scalars[i] = w->scalars.at[i].value;
    json_object_set_new(arm->description, "schedule", m->schedule ? json_string(m->schedule) : json_null());
    json_object_set_new(arm->description, "code_hash", json_string(m->content_hash));
    json_object_set_new(arm->description, "compile_ms", json_real(took / 1e6));
    json_object_set_new(arm->description, "cache_hit", json_boolean(hit));
    return true;
}

bool arm_open_file(bench_arm *arm, bench_work *w, const char *path, diag_list *diags) {
    manifest m;
    if (!manifest_read(w->arena, path, &m, diags))
        return false;
    if (m.kernel && strcmp(m.kernel, w->name)) {
        diag_error(diags, "E1021", (source_span){.file = path}, "this manifest is for %s, and the work is %s", m.kernel, w->name);
        return false;
    }
    arm->foreign = true;
    if (m.device)
        return arm_open_file_device(arm, w, &m, diags);
    file_arm *f = calloc(1, sizeof *f);
    if (!f) {
        diag_error(diags, "E0648", (source_span){0}, "no memory for an arm");
        return false;
    }
    f->work = w;
    arm->kind = &file_kind;
    arm->state = f;
    return prepare(arm, f, &m, diags);
}
