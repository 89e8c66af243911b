/* The work: shapes solved, buffers that every arm can reach, data. */
#define _GNU_SOURCE
#include "bench/work.h"
#include "base/hash.h"
#include "bench/clock.h"
#include "bench/machine.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Arrays begin on different lines of a page: at equal offsets their loads and stores would wait for each other. */
enum { LINE = 64, PAGE = 4096, STAGGER = 5 * LINE };

/* Calls `each` on every NAME=VALUE of a text, parted by spaces or commas. */
static bool each_setting(arena *a, const char *what, const char *text, diag_list *diags,
                         bool (*each)(void *context, const char *name, const char *value), void *context) {
    for (text = text ? text : "";;) {
        text += strspn(text, " ,");
        size_t n = strcspn(text, " ,"), name = strcspn(text, "=");
        if (!n)
            return true;
        if (name == 0 || name >= n) {
            diag_error(diags, "E1010", (source_span){0}, "%s: `%.*s` is not NAME=VALUE", what, (int)n, text);
            return false;
        }
        if (!each(context, arena_strndup(a, text, name), arena_strndup(a, text + name + 1, n - name - 1)))
            return false;
        text += n;
    }
}

typedef struct opening {
    bench_work *w;
    diag_list *diags;
} opening;

static bool set_symbol(void *context, const char *name, const char *value) {
    opening *o = context;
    char *end;
    errno = 0;
    long long n = strtoll(value, &end, 10);
    if (end == value || *end || errno) {
        diag_error(o->diags, "E1010", (source_span){0}, "shape: %s=%s is not a whole number", name, value);
        return false;
    }
    return call_set_symbol(o->w->call, name, n, o->diags);
}

static bool set_argument(void *context, const char *name, const char *value) {
    opening *o = context;
    bench_work *w = o->w;
    char *end;
    for (int i = 0; i < w->scalars.count; i++)
        if (!strcmp(w->scalars.at[i].name, name)) {
            w->scalars.at[i].value = strtod(value, &end);
            if (end != value && !*end)
                return true;
            diag_error(o->diags, "E1010", (source_span){0}, "argument: %s=%s is not a number", name, value);
            return false;
        }
    recipe_kind recipe = recipe_by_name(arena_strndup(w->arena, value, strcspn(value, ":")));
    for (int i = 0; i < w->arrays.count; i++)
        if (!strcmp(w->arrays.at[i].name, name) && recipe != RECIPE_COUNT) {
            w->arrays.at[i].recipe = recipe;
            w->arrays.at[i].recipe_fixed = true;
            return true;
        }
    diag *g = diag_error(o->diags, "E1010", (source_span){0}, "argument: %s=%s is not understood", name, value);
    diag_note(o->diags, g, "a scalar takes a number, an array a recipe: random, positive, normal, integers, rope, ..");
    return false;
}

static bool list_arguments(bench_work *w, const work_request *r, diag_list *diags) {
    run_call *c = w->call;
    for (int i = 0; i < c->scalars.count; i++) {
        work_scalar s = {c->scalars.at[i].declared->name, 1};
        VEC_PUSH(w->arena, w->scalars, s);
    }
    for (int i = 0; i < c->binding.signature.array_count; i++) {
        work_array a = {.name = c->arrays.at[i].name, .declared = c->arrays.at[i].declared, .recipe = RECIPE_RANDOM};
        VEC_PUSH(w->arena, w->arrays, a);
    }
    opening o = {w, diags};
    return each_setting(w->arena, "shape", r->shape, diags, set_symbol, &o) && call_solve(c, diags) &&
           each_setting(w->arena, "argument", r->arguments, diags, set_argument, &o);
}

/* Where each array lies in a set, and how many sets there are. */
static bool lay_out(bench_work *w, const work_request *r, diag_list *diags) {
    int64_t at = 0;
    for (int i = 0; i < w->arrays.count; i++) {
        work_array *a = &w->arrays.at[i];
        a->shape = w->call->arrays.at[i].host;
        a->shape.data = NULL;
        a->shape.owned = false;
        at = (at + PAGE - 1) / PAGE * PAGE + (int64_t)i % 12 * STAGGER;
        a->offset = at;
        if (a->declared->index_bound && !binding_evaluate(&w->call->binding, a->declared->index_bound, &a->index_bound))
            a->index_bound = 0;
        if (__builtin_add_overflow(at, a->shape.bytes + LINE, &at)) {
            diag_error(diags, "E0648", (source_span){0}, "the arrays of %s do not fit memory", w->name);
            return false;
        }
    }
    w->set_bytes = (at + PAGE) / PAGE * PAGE;
    w->sets = 1;
    int64_t available = machine_available_bytes(), cache = machine_last_cache_bytes(), wanted = 3 * cache;
    if (r->cold)
        w->sets = wanted / w->set_bytes + 2;
    w->memory_bytes = w->set_bytes * w->sets;
    if (w->memory_bytes > available / 4 * 3) {
        diag *g = diag_error(diags, "E1011", (source_span){0}, "%s wants %" PRId64 " MB of buffers, and %" PRId64 " MB are free",
                             w->name, w->memory_bytes >> 20, available >> 20);
        if (r->cold)
            diag_note(diags, g, "cold rows rotate buffers over three times the last cache of %" PRId64 " MB", cache >> 20);
        return false;
    }
    return true;
}

static bool allocate(bench_work *w, bool shared, diag_list *diags) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    w->shared_file = -1;
    if (shared) {
        char name[64];
        snprintf(name, sizeof name, "/tilec-%ld-%p", (long)getpid(), (void *)w);
        w->shared_file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (w->shared_file >= 0)
            shm_unlink(name); /* it lives on behind the descriptor, and goes with the last process that has it */
        if (w->shared_file < 0 || ftruncate(w->shared_file, w->memory_bytes)) {
            diag_error(diags, "E1011", (source_span){0}, "no shared memory of %" PRId64 " MB: %s", w->memory_bytes >> 20,
                       strerror(errno));
            return false;
        }
        flags = MAP_SHARED;
    }
    w->memory = mmap(NULL, (size_t)w->memory_bytes, PROT_READ | PROT_WRITE, flags, w->shared_file, 0);
    if (w->memory == MAP_FAILED) {
        w->memory = NULL;
        diag_error(diags, "E1011", (source_span){0}, "no memory for %" PRId64 " MB of buffers: %s", w->memory_bytes >> 20,
                   strerror(errno));
        return false;
    }
    madvise(w->memory, (size_t)w->memory_bytes,
            MADV_HUGEPAGE); /* advice: small pages are as right, only slower for every arm alike */
    return true;
}

bench_work *work_open(const work_request *r, diag_list *diags) {
    arena *a = arena_new();
    bench_work *w = NEW(a, bench_work);
    *w = (bench_work){.arena = a,
                      .session = r->session,
                      .module = r->module,
                      .name = arena_strdup(a, r->name),
                      .shared_file = -1,
                      .reader = r->reader,
                      .threads = r->threads};
    w->call = call_new(r->session, r->module, r->name, diags);
    if (w->call)
        w->call->keeps_whole = true; /* it is the meaning; arms have calls of their own */
    if (!w->call || !list_arguments(w, r, diags) || !lay_out(w, r, diags) || !allocate(w, r->shared, diags)) {
        work_close(w);
        return NULL;
    }
    w->shape = arena_strdup(a, binding_text(&w->call->binding));
    for (int i = 0; i < w->arrays.count; i++)
        w->call->arrays.at[i].host.data = work_at(w, i, 0);
    for (int i = 0; i < w->scalars.count; i++)
        if (!call_bind_scalar(w->call, w->scalars.at[i].name, w->scalars.at[i].value, diags)) {
            work_close(w);
            return NULL;
        }
    work_fill(w, RECIPE_RANDOM, 7);
    double start = clock_now_ns();
    w->compiler_runs = compiler_calls();
    if (!call_prepare(w->call, diags)) {
        work_close(w);
        return NULL;
    }
    w->prepare_ns = clock_now_ns() - start;
    w->compiler_runs = compiler_calls() - w->compiler_runs;
    w->kernel = w->call->steps.count == 1 ? w->call->steps.at[0].kernel : NULL;
    w->amount = w->kernel ? work_count(w->kernel, &w->call->steps.at[0].binding) : (work_amount){-1, -1, -1, 0};
    work_kernel_hash(r->module, r->name, w->kernel_hash);
    return w;
}

void work_close(bench_work *w) {
    if (!w)
        return;
    if (w->memory)
        munmap(w->memory, (size_t)w->memory_bytes);
    if (w->shared_file >= 0)
        close(w->shared_file);
    call_free(w->call);
    arena_free(w->arena);
}

char *work_at(const bench_work *w, int array, int64_t set) {
    return w->memory + set * w->set_bytes + w->arrays.at[array].offset;
}

void work_fill(bench_work *w, recipe_kind recipe, uint64_t seed) {
    for (int i = 0; i < w->arrays.count; i++) {
        const work_array *a = &w->arrays.at[i];
        if (a->declared->role == ARRAY_OUT)
            continue;
        recipe_kind kind = a->recipe_fixed ? a->recipe : recipe;
        if (a->declared->injective)
            recipe_fill_distinct(kind, seed + (uint64_t)i, a->index_bound, a->shape.cells, (int32_t *)(void *)work_at(w, i, 0));
        else
            recipe_fill(kind, seed + (uint64_t)i, a->shape.type, a->index_bound, a->shape.cells, work_at(w, i, 0));
    }
}

void work_spread(bench_work *w) {
    for (int64_t s = 1; s < w->sets; s++)
        memcpy(w->memory + s * w->set_bytes, w->memory, (size_t)w->set_bytes);
}

void work_poison(bench_work *w) {
    for (int i = 0; i < w->arrays.count; i++)
        if (w->arrays.at[i].declared->role == ARRAY_OUT)
            memset(work_at(w, i, 0), element_table[w->arrays.at[i].shape.type].is_float ? 0xFF : 0xA5,
                   (size_t)w->arrays.at[i].shape.bytes);
}

static void hash_arrays(const bench_work *w, bool outputs, char *digits) {
    text_buffer all = {0};
    for (int i = 0; i < w->arrays.count; i++)
        if ((w->arrays.at[i].declared->role != ARRAY_IN) == outputs) {
            char one[HASH_DIGITS + 1];
            hash_bytes(work_at(w, i, 0), (size_t)w->arrays.at[i].shape.bytes, one);
            text_add(&all, "%s", one);
        }
    hash_bytes(text_get(&all), all.length, digits);
    text_free(&all);
}

void work_hash_inputs(const bench_work *w, char *digits) {
    hash_arrays(w, false, digits);
}

void work_hash_outputs(const bench_work *w, char *digits) {
    hash_arrays(w, true, digits);
}

const char *work_types(const bench_work *w) {
    text_buffer text = {0};
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < w->arrays.count; i++)
            if ((w->arrays.at[i].declared->role != ARRAY_IN) == (pass == 1))
                text_add(&text, "%s%s",
                         pass && !strstr(text_get(&text), "->") ? " -> "
                         : text.length                          ? " "
                                                                : "",
                         element_table[w->arrays.at[i].shape.type].name);
    const char *copy = arena_strdup(w->arena, text_get(&text));
    text_free(&text);
    return copy;
}
