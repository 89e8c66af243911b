/* The CPU runtime: emitted C compiled by the system's compiler, loaded as a shared object, its tasks run by a pool of threads. */
#include "run/compiler.h"
#include "run/pool.h"
#include "run/runtime.h"
#include "target/target.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*entry_function)(void *const *arrays, const int64_t *integers, const float *floats, int64_t first, int64_t last,
                               void *scratch);

struct device {
    pool *pool;
    pthread_mutex_t lock; /* one launch at a time */
    void **scratch;       /* per worker */
    int64_t scratch_bytes;
};

struct device_kernel {
    const launch_plan *plan;
    void *object;
    int variants;
    entry_function *entries;
    int64_t *private_bytes; /* by variant, of a task */
};

/* How many threads share the tasks: $TILEC_THREADS, else the processors this process may use. */
static int worker_count(void) {
    const char *wanted = getenv("TILEC_THREADS");
    long count = wanted ? strtol(wanted, NULL, 10) : 0;
    if (count < 1)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > 1024 ? 1024 : (int)count;
}

int cpu_count(void) {
    return 1;
}

bool cpu_describe(int index, char *out, size_t size) {
    const target *t = target_find("c");
    char model[128] = "processor", line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    for (int i = 0; f && i < 40 && fgets(line, sizeof line, f); i++) {
        char *colon = strchr(line, ':');
        if (!strncmp(line, "model name", 10) && colon) {
            snprintf(model, sizeof model, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
    int length = snprintf(out, size, "%s, %d thread%s, %d f32 lanes", model, worker_count(), worker_count() == 1 ? "" : "s",
                          t ? t->machine()->vector_lanes : 0);
    diag_list diags;
    arena *a = arena_new();
    diag_init(&diags, a);
    compiler *c = compiler_find(&diags);
    if (!c && diags.items.count && length > 0 && (size_t)length < size)
        snprintf(out + length, size - (size_t)length, "; %s", diags.items.at[0]->message);
    compiler_free(c);
    arena_free(a);
    return index == 0;
}

device *cpu_open(int index, diag_list *diags) {
    (void)index;
    device *d = calloc(1, sizeof *d);
    if (d)
        d->pool = pool_new(worker_count());
    if (d && d->pool)
        d->scratch = calloc((size_t)pool_workers(d->pool), sizeof *d->scratch);
    if (!d || !d->pool || !d->scratch) {
        diag_error(diags, "E0803", (source_span){0}, "no memory for the pool of threads");
        if (d)
            pool_free(d->pool);
        free(d);
        return NULL;
    }
    pthread_mutex_init(&d->lock, NULL);
    return d;
}

int cpu_units(const device *d) {
    return pool_workers(d->pool);
}

void cpu_close(device *d) {
    if (!d)
        return;
    for (int i = 0; i < pool_workers(d->pool); i++)
        free(d->scratch[i]);
    pool_free(d->pool);
    pthread_mutex_destroy(&d->lock);
    free(d->scratch);
    free(d);
}

void *cpu_allocate(device *d, int64_t bytes, diag_list *diags) {
    (void)d;
    void *memory = NULL;
    if (bytes < 0 || bytes > INT64_MAX - 63 || !(memory = aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64)))
        diag_error(diags, "E0803", (source_span){0}, "no memory for %" PRId64 " bytes", bytes);
    return memory;
}

void cpu_release(device *d, void *memory) {
    (void)d;
    free(memory);
}

bool cpu_copy_in(device *d, void *to, const void *from, int64_t bytes, diag_list *diags) {
    (void)d;
    (void)diags;
    if (bytes > 0)
        memmove(to, from, (size_t)bytes);
    return true;
}

bool cpu_copy_out(device *d, void *to, const void *from, int64_t bytes, diag_list *diags) {
    return cpu_copy_in(d, to, from, bytes, diags);
}

void cpu_unload(device *d, device_kernel *k) {
    (void)d;
    if (!k)
        return;
    if (k->object)
        dlclose(k->object);
    free(k->entries);
    free(k->private_bytes);
    free(k);
}

/* What `tilec cache` tells of an entry: the kernel, then its schedule. */
static char *describe_plan(const launch_plan *plan) {
    text_buffer b = {0};
    text_add(&b, "%s", plan->name);
    for (int i = 0; i < plan->variants.count; i++) {
        const char *schedule = plan->variants.at[i].kernel->schedule;
        text_add(&b, "\nvariant %d: %s", i, schedule ? schedule : "");
    }
    return b.text;
}

device_kernel *cpu_load(device *d, const proved_plan *p, diag_list *diags) {
    const launch_plan *plan = proved_plan_get(p);
    const target *t = target_find("c");
    text_buffer text = {0};
    if (!t->emit(p, &text, diags)) {
        text_free(&text);
        return NULL;
    }
    char *description = describe_plan(plan);
    bool hit;
    char *path = cache_compile(text_get(&text), description ? description : "", &hit, diags);
    text_free(&text);
    free(description);
    if (!path)
        return NULL;
    device_kernel *k = calloc(1, sizeof *k);
    if (k)
        k->entries = calloc((size_t)plan->variants.count + 1, sizeof *k->entries);
    if (k)
        k->private_bytes = calloc((size_t)plan->variants.count + 1, sizeof *k->private_bytes);
    if (!k || !k->entries || !k->private_bytes) {
        diag_error(diags, "E0803", (source_span){0}, "no memory to load %s", plan->name);
        free(path);
        cpu_unload(d, k);
        return NULL;
    }
    k->plan = plan;
    k->variants = plan->variants.count;
    k->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    bool ok = k->object;
    if (!ok)
        diag_error(diags, "E0804", (source_span){0}, "%s: the compiled code cannot be loaded: %s", plan->name, dlerror());
    for (int i = 0; ok && i < k->variants; i++) {
        char *name = target_entry_name(plan->name, i);
        void *symbol = dlsym(k->object, name);
        ok = symbol;
        k->private_bytes[i] = kernel_private_bytes(plan->variants.at[i].kernel);
        memcpy(&k->entries[i], &symbol, sizeof symbol); /* ISO C has no conversion from data to function pointers */
        if (!ok)
            diag_error(diags, "E0804", (source_span){0}, "%s: the compiled code lacks %s", plan->name, name);
        free(name);
    }
    free(path);
    if (!ok) {
        cpu_unload(d, k);
        return NULL;
    }
    return k;
}

typedef struct job {
    entry_function entry;
    void *const *arrays;
    const int64_t *integers;
    const float *floats;
    void **scratch;
} job;

static void run_tasks(void *context, int worker, int64_t first, int64_t last) {
    const job *j = context;
    j->entry(j->arrays, j->integers, j->floats, first, last, j->scratch[worker]);
}

static bool grow_scratch(device *d, int64_t bytes, diag_list *diags) {
    if (bytes <= d->scratch_bytes)
        return true;
    for (int i = 0; i < pool_workers(d->pool); i++) {
        free(d->scratch[i]);
        d->scratch[i] = NULL;
    }
    d->scratch_bytes = 0;
    for (int i = 0; i < pool_workers(d->pool); i++)
        if (!(d->scratch[i] = cpu_allocate(d, bytes, diags)))
            return false;
    d->scratch_bytes = bytes;
    return true;
}

bool cpu_launch(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats,
                diag_list *diags) {
    int variant = launch_checks(k->plan, arrays, integers, floats, diags) ? launch_variant(k->plan, integers, diags) : -1;
    if (variant < 0)
        return false;
    int64_t tasks, bytes = k->private_bytes[variant];
    if (!launch_task_count(k->plan, variant, integers, &tasks, diags))
        return false;
    pthread_mutex_lock(&d->lock);
    bool ok = grow_scratch(d, bytes > 0 ? bytes : 64, diags);
    if (ok) {
        job j = {k->entries[variant], arrays, integers, floats, d->scratch};
        pool_run(d->pool, tasks, run_tasks, &j);
    }
    pthread_mutex_unlock(&d->lock);
    return ok;
}
