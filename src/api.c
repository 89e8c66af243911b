/* include/tilec.h over run/session.h: contexts, modules, calls. What is told of a call is in api_inspect.c, diagnostics in api_errors.c. */
#include "api_parts.h"
#include "base/suggest.h"
#include "command/version.h"
#include "run/judge.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const element_type types[] = {ELEMENT_F32,  ELEMENT_F16,  ELEMENT_BF16, ELEMENT_I8,   ELEMENT_U8,
                                     ELEMENT_I32,  ELEMENT_U32,  ELEMENT_BOOL, ELEMENT_E4M3, ELEMENT_E5M2,
                                     ELEMENT_Q8_0, ELEMENT_Q4_0, ELEMENT_MXFP4};
enum { TYPE_COUNT = sizeof types / sizeof *types };

const char *tilec_version(void) {
    return TILEC_VERSION;
}

const char *tilec_type_name(tilec_type type) {
    return (unsigned)type < TYPE_COUNT ? element_table[types[type]].name : NULL;
}

int tilec_type_bytes(tilec_type type) {
    return (unsigned)type < TYPE_COUNT ? element_table[types[type]].block_bytes : 0;
}

tilec_type api_type(element_type type) {
    for (int i = 0; i < TYPE_COUNT; i++)
        if (types[i] == type)
            return (tilec_type)i;
    return TILEC_I32; /* index words */
}

/* ---- contexts and modules ---- */

tilec_context *tilec_open(const char *device) {
    tilec_context *t = calloc(1, sizeof *t);
    if (!t || pthread_mutex_init(&t->lock, NULL)) {
        free(t);
        return NULL;
    }
    api_entry e;
    api_begin(&e, t, NULL);
    t->session = session_open(device, &e.diags);
    api_end(&e, t->session != NULL, NULL);
    return t;
}

bool tilec_ready(const tilec_context *t) {
    return t->session != NULL;
}

static void free_call(tilec_call *c) {
    call_free(c->call);
    arena_free(c->view);
    free(c);
}

static void free_module(tilec_module *m) {
    for (tilec_call *c = m->calls, *next; c; c = next) {
        next = c->next;
        free_call(c);
    }
    if (m->context->session)
        session_forget(m->context->session, m->module);
    arena_free(m->arena);
    free(m);
}

void tilec_close(tilec_context *t) {
    if (!t)
        return;
    for (tilec_module *m = t->modules, *next; m; m = next) {
        next = m->next;
        free_module(m);
    }
    session_close(t->session);
    api_free_reports(t);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static tilec_module *load(tilec_context *t, const char *name, const char *text) {
    api_entry e;
    api_begin(&e, t, NULL);
    tilec_module *m = calloc(1, sizeof *m);
    if (!m || !name) {
        diag_error(&e.diags, "E0880", (source_span){0}, m ? "no file was named" : "no memory for a module");
        free(m);
        api_end(&e, false, NULL);
        return NULL;
    }
    m->context = t;
    m->arena = arena_new();
    m->module = compile_load(m->arena, arena_strdup(m->arena, name), text ? arena_strdup(m->arena, text) : NULL, &e.diags);
    if (!m->module) {
        api_end(&e, false, NULL);
        arena_free(m->arena);
        free(m);
        return NULL;
    }
    for (int i = 0; i < e.diags.sources.count; i++) {
        source_text own = {arena_strdup(m->arena, e.diags.sources.at[i].file),
                           arena_strdup(m->arena, e.diags.sources.at[i].text)};
        VEC_PUSH(m->arena, m->sources, own);
    }
    m->next = t->modules;
    t->modules = m;
    api_end(&e, true, NULL);
    return m;
}

tilec_module *tilec_load_file(tilec_context *t, const char *path) {
    return load(t, path, NULL);
}
tilec_module *tilec_load_text(tilec_context *t, const char *name, const char *text) {
    return load(t, name ? name : "text", text ? text : "");
}

void tilec_module_free(tilec_module *m) {
    if (!m)
        return;
    tilec_context *t = m->context;
    pthread_mutex_lock(&t->lock);
    for (tilec_module **at = &t->modules; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    free_module(m);
    pthread_mutex_unlock(&t->lock);
}

int tilec_kernel_count(const tilec_module *m) {
    return m->module->programs.count + m->module->kernels.count;
}
bool tilec_kernel_is_program(const tilec_module *m, int index) {
    return index >= 0 && index < m->module->programs.count;
}
const char *tilec_kernel_name(const tilec_module *m, int index) {
    int programs = m->module->programs.count;
    if (index < 0 || index >= tilec_kernel_count(m))
        return NULL;
    return index < programs ? m->module->programs.at[index]->name : m->module->kernels.at[index - programs]->name;
}

/* ---- calls ---- */

tilec_call *tilec_call_new(tilec_module *m, const char *name) {
    tilec_context *t = m->context;
    api_entry e;
    api_begin(&e, t, m);
    tilec_call *c = calloc(1, sizeof *c);
    if (!c)
        diag_error(&e.diags, "E0648", (source_span){0}, "no memory for a call");
    else if (!t->session)
        diag_error(&e.diags, "E0653", (source_span){0}, "the device could not be opened");
    else
        c->call = call_new(t->session, m->module, name, &e.diags);
    if (!c || !c->call) {
        free(c);
        api_end(&e, false, NULL);
        return NULL;
    }
    c->module = m;
    c->next = m->calls;
    m->calls = c;
    api_end(&e, true, NULL);
    return c;
}

void tilec_call_free(tilec_call *c) {
    if (!c)
        return;
    tilec_context *t = c->module->context;
    pthread_mutex_lock(&t->lock);
    for (tilec_call **at = &c->module->calls; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    free_call(c);
    pthread_mutex_unlock(&t->lock);
}

static source_span callable_span(const tilec_call *c) {
    return c->call->binding.signature.span;
}

/* Whether the memory can be read and written as elements of the type where it stands. */
static bool is_aligned(element_type type, const void *data) {
    const element_info *info = &element_table[type];
    return info->block_elements > 1 || (uintptr_t)data % (uintptr_t)info->block_bytes == 0;
}

static bool bind(api_entry *e, tilec_call *c, const char *name, const tilec_array *x) {
    source_span span = callable_span(c);
    if (!name || (unsigned)x->type >= TYPE_COUNT || x->rank < 0 || (x->rank > 0 && !x->shape)) {
        diag_error(&e->diags, "E0647", span, "argument `%s`: not a type and a shape there are", name ? name : "");
        return false;
    }
    element_type type = types[x->type];
    const runtime_streams *streams = session_runtime(c->call->session)->streams;
    if (x->device || (x->memory != TILEC_HOST && (!streams || x->memory != TILEC_DEVICE))) {
        const char *own = session_device_name(c->call->session);
        diag *g = diag_error(&e->diags, "E0665", span,
                             streams ? "argument `%s` is memory of a device, but not of %s"
                                     : "argument `%s` is memory of a device, but %s has none apart from the host's",
                             name, own);
        diag_note(&e->diags, g,
                  streams ? "a device other than the context's own cannot be named: copy it there, or open that one"
                          : "copy it to host memory first");
        return false;
    }
    /* Another rank than the array's is refused before anything is read of a shape whose length may be another too. */
    run_call *r = c->call;
    int at = binding_find_array(&r->binding, name);
    if (at < 0)
        return call_bind_array(r, name, type, 0, NULL, NULL, &e->diags);
    if (x->rank != r->binding.signature.arrays[at]->group_count)
        return binding_set_shape(&r->binding, at, x->rank, x->shape, &e->diags);
    int64_t next = 1;
    bool empty = false, dense = true;
    for (int d = x->rank; x->strides && d-- > 0;) {
        empty = empty || x->shape[d] == 0;
        dense = dense && (x->shape[d] == 1 || x->strides[d] == next);
        if (x->shape[d] < 0 || __builtin_mul_overflow(next, x->shape[d], &next)) /* told by call_bind_array, or as too large */
            break;
    }
    if (!dense && !empty) {
        diag *g = diag_error(&e->diags, "E0660", span, "argument `%s` is not row-major without gaps", name);
        diag_note(&e->diags, g, "copy it into an array that is");
        return false;
    }
    if (!is_aligned(type, x->data)) {
        diag_error(&e->diags, "E0663", span, "argument `%s` does not stand at a multiple of %d bytes", name,
                   element_table[type].block_bytes);
        return false;
    }
    int64_t bytes = host_array_bytes(type, x->rank, x->shape);
    if (x->bytes && (x->bytes < 0 || bytes < 0 || bytes > x->bytes)) {
        diag_error(&e->diags, "E0664", span, "argument `%s` has %" PRId64 " bytes of memory, and its shape needs more", name,
                   x->bytes);
        return false;
    }
    return (x->memory == TILEC_DEVICE ? call_bind_device : call_bind_array)(r, name, type, x->rank, x->shape, x->data, &e->diags);
}

bool tilec_bind_array(tilec_call *c, const char *name, tilec_type type, int rank, const int64_t *shape, void *data) {
    api_entry e;
    api_begin_call(&e, c);
    tilec_array x = {.size = sizeof x, .type = type, .rank = rank, .shape = shape, .data = data};
    return api_end(&e, bind(&e, c, name, &x), c->call);
}

bool tilec_bind(tilec_call *c, const char *name, const tilec_array *array) {
    api_entry e;
    api_begin_call(&e, c);
    tilec_array x;
    bool good = api_copy_in(&e, &x, array, sizeof x, offsetof(tilec_array, bytes), "tilec_array");
    return api_end(&e, good && bind(&e, c, name, &x), c->call);
}

bool tilec_bind_float(tilec_call *c, const char *name, double value) {
    api_entry e;
    api_begin_call(&e, c);
    return api_end(&e, call_bind_scalar(c->call, name ? name : "", value, &e.diags), c->call);
}

bool tilec_bind_integer(tilec_call *c, const char *name, int64_t value) {
    api_entry e;
    api_begin_call(&e, c);
    bool exact = value >= -(INT64_C(1) << 53) && value <= INT64_C(1) << 53; /* no scalar type holds more */
    if (!exact)
        diag_error(&e.diags, "E0647", callable_span(c), "argument `%s` cannot be %" PRId64, name ? name : "", value);
    return api_end(&e, exact && call_bind_scalar(c->call, name ? name : "", (double)value, &e.diags), c->call);
}

/* Gives an entry of this name its new value; false when there is none. */
static bool replace(tile_binding *at, int count, const char *name, int64_t value) {
    for (int i = 0; i < count; i++)
        if (strcmp(at[i].name, name) == 0) {
            at[i].value = value;
            return true;
        }
    return false;
}

bool tilec_set_symbol(tilec_call *c, const char *name, int64_t value) {
    api_entry e;
    api_begin_call(&e, c);
    run_call *r = c->call;
    bool good = true;
    if (replace(r->extra.at, r->extra.count, name ? name : "", value))
        r->shapes_solved = r->prepared = false;
    else
        good = call_set_symbol(r, name ? name : "", value, &e.diags);
    return api_end(&e, good, r);
}

bool tilec_set_tile(tilec_call *c, const char *name, int64_t value) {
    api_entry e;
    api_begin_call(&e, c);
    run_call *r = c->call;
    return api_end(&e, call_set_tile(r, name ? name : "", value, &e.diags), r);
}

bool tilec_set_schedule(tilec_call *c, const char *key, const char *value) {
    api_entry e;
    api_begin_call(&e, c);
    run_call *r = c->call;
    return api_end(&e, call_set_schedule(r, key ? key : "", value ? value : "", &e.diags), r);
}

bool tilec_solve(tilec_call *c) {
    api_entry e;
    api_begin_call(&e, c);
    return api_end(&e, call_solve(c->call, &e.diags), c->call);
}
bool tilec_compile(tilec_call *c) {
    api_entry e;
    api_begin_call(&e, c);
    return api_end(&e, call_compile(c->call, &e.diags), c->call);
}
bool tilec_prepare(tilec_call *c) {
    api_entry e;
    api_begin_call(&e, c);
    return api_end(&e, call_prepare(c->call, &e.diags), c->call);
}
bool tilec_launch(tilec_call *c) {
    return tilec_launch_with(c, NULL);
}

bool tilec_launch_with(tilec_call *c, const tilec_launch_options *options) {
    api_entry e;
    api_begin_call(&e, c);
    tilec_launch_options o = {0};
    bool good = !options || api_copy_in(&e, &o, options, sizeof o, sizeof o, "tilec_launch_options");
    return api_end(&e, good && call_run_on(c->call, o.stream, &e.diags), c->call);
}

double tilec_launch_milliseconds(const tilec_call *c) {
    tilec_context *t = c->module->context;
    double all = 0;
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < c->call->steps.count; i++)
        all += c->call->steps.at[i].milliseconds;
    pthread_mutex_unlock(&t->lock);
    return all;
}

bool tilec_launch_checked(tilec_call *c, double *worst) {
    api_entry e;
    api_begin_call(&e, c);
    judge_options o = {.budget_ms = -1, .vacuous_share = 1};
    judgement j = {0};
    bool here = true;
    for (int i = 0; here && i < c->call->arrays.count; i++)
        if (c->call->arrays.at[i].on_device) {
            diag *g = diag_error(&e.diags, "E0665", c->call->arrays.at[i].declared->span,
                                 "argument `%s` is memory of the device, and a checked launch compares in the host's",
                                 c->call->arrays.at[i].name);
            diag_note(&e.diags, g, "bind host memory: it is copied to the device and back");
            here = false;
        }
    bool good = here && judge_call(c->call, &o, &j, &e.diags) && j.passed;
    if (worst)
        *worst = j.worst_ratio;
    return api_end(&e, good, c->call);
}

/* The array of this name: E0640 when there is none, E0662 before what is asked is known. */
static const call_array *array_named(api_entry *e, const tilec_call *c, const char *name, bool memory) {
    const run_call *r = c->call;
    for (int i = 0; name && i < r->arrays.count; i++) {
        const call_array *x = &r->arrays.at[i];
        if (strcmp(x->name, name) != 0)
            continue;
        if (memory ? (x->on_device || x->host.data) && r->prepared : r->shapes_solved)
            return x;
        diag_error(&e->diags, "E0662", x->declared->span,
                   memory ? "`%s` has no memory yet" : "the shape of `%s` is not known yet", name);
        return NULL;
    }
    diag_error(&e->diags, "E0640", callable_span(c), "%s %s has no array `%s`", r->binding.signature.sort,
               r->binding.signature.name, name ? name : "");
    return NULL;
}

static void tell_shape(const call_array *x, int *rank, int64_t *shape) {
    if (rank)
        *rank = x->host.rank;
    for (int d = 0; shape && d < x->host.rank; d++)
        shape[d] = x->host.dims[d];
}

bool tilec_shape(tilec_call *c, const char *name, int *rank, int64_t *shape) {
    api_entry e;
    api_begin(&e, c->module->context, c->module);
    const call_array *x = array_named(&e, c, name, false);
    if (x)
        tell_shape(x, rank, shape);
    return api_end(&e, x != NULL, NULL);
}

void *tilec_result(tilec_call *c, const char *name, int *rank, int64_t *shape) {
    api_entry e;
    api_begin(&e, c->module->context, c->module);
    const call_array *x = array_named(&e, c, name, true);
    void *data = !x ? NULL : x->on_device ? x->device : x->host.data;
    if (x)
        tell_shape(x, rank, shape);
    api_end(&e, x != NULL, NULL);
    return data;
}

int64_t tilec_compiler_calls(void) {
    return compiler_calls();
}
