/* include/tilec.h over run/session.h. */
#include "tilec.h"
#include "command/version.h"
#include "run/judge.h"
#include "run/session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tilec_context {
    arena *arena;          /* the modules' */
    arena *messages;       /* the last failure's diagnostics */
    diag_list diags;
    session *session;
    char *error;
    VEC(source_text) sources; /* of every module: later diagnostics quote them */
    VEC(tilec_call *) calls;
};
struct tilec_module {
    tilec_context *context;
    const tile_module *module;
};
struct tilec_call {
    tilec_context *context;
    run_call *call; /* NULL once freed */
};

static const element_type types[] = {ELEMENT_F32, ELEMENT_F16, ELEMENT_BF16, ELEMENT_I8,   ELEMENT_U8,   ELEMENT_I32,
                                     ELEMENT_U32, ELEMENT_BOOL, ELEMENT_E4M3, ELEMENT_E5M2, ELEMENT_Q8_0, ELEMENT_Q4_0};

const char *tilec_version(void) {
    return TILEC_VERSION;
}

/* Every entry begins with an empty list of diagnostics. */
static void begin(tilec_context *t) {
    free(t->error);
    t->error = NULL;
    arena_free(t->messages);
    t->messages = arena_new();
    diag_init(&t->diags, t->messages);
    for (int i = 0; i < t->sources.count; i++)
        diag_add_source(&t->diags, t->sources.at[i].file, t->sources.at[i].text);
}

/* Keeps the diagnostics as text when there are errors. Returns `good`. */
static bool end(tilec_context *t, bool good) {
    if (good && !t->diags.errors)
        return true;
    size_t size = 0;
    FILE *out = open_memstream(&t->error, &size);
    if (out) {
        diag_print_all(&t->diags, out, false);
        fclose(out);
    }
    return good;
}

tilec_context *tilec_open(const char *device) {
    arena *a = arena_new();
    tilec_context *t = NEW(a, tilec_context);
    t->arena = a;
    begin(t);
    t->session = session_open(device, &t->diags);
    end(t, t->session != NULL);
    return t;
}

bool tilec_ready(const tilec_context *t) {
    return t->session != NULL;
}

void tilec_close(tilec_context *t) {
    if (!t)
        return;
    for (int i = 0; i < t->calls.count; i++)
        call_free(t->calls.at[i]->call);
    session_close(t->session);
    free(t->error);
    arena_free(t->messages);
    arena_free(t->arena);
}

const char *tilec_error(const tilec_context *t) {
    return t->error ? t->error : "";
}

static tilec_module *load(tilec_context *t, const char *name, const char *text) {
    begin(t);
    const char *own_name = arena_strdup(t->arena, name);
    const tile_module *m = compile_load(t->arena, own_name, text ? arena_strdup(t->arena, text) : NULL, &t->diags);
    if (!end(t, m != NULL))
        return NULL;
    for (int i = t->sources.count; i < t->diags.sources.count; i++)
        VEC_PUSH(t->arena, t->sources, t->diags.sources.at[i]);
    tilec_module *out = NEW(t->arena, tilec_module);
    out->context = t;
    out->module = m;
    return out;
}

tilec_module *tilec_load_file(tilec_context *t, const char *path) {
    return load(t, path, NULL);
}
tilec_module *tilec_load_text(tilec_context *t, const char *name, const char *text) {
    return load(t, name, text);
}

int tilec_kernel_count(const tilec_module *m) {
    return m->module->programs.count + m->module->kernels.count;
}
const char *tilec_kernel_name(const tilec_module *m, int index) {
    int programs = m->module->programs.count;
    if (index < 0 || index >= tilec_kernel_count(m))
        return NULL;
    return index < programs ? m->module->programs.at[index]->name : m->module->kernels.at[index - programs]->name;
}

tilec_call *tilec_call_new(tilec_module *m, const char *name) {
    tilec_context *t = m->context;
    begin(t);
    if (!t->session) {
        diag_error(&t->diags, "E0653", (source_span){0}, "the device could not be opened");
        end(t, false);
        return NULL;
    }
    run_call *call = call_new(t->session, m->module, name, &t->diags);
    if (!end(t, call != NULL))
        return NULL;
    tilec_call *c = NEW(t->arena, tilec_call);
    c->context = t;
    c->call = call;
    VEC_PUSH(t->arena, t->calls, c);
    return c;
}

void tilec_call_free(tilec_call *c) {
    if (!c)
        return;
    call_free(c->call);
    c->call = NULL;
}

bool tilec_bind_array(tilec_call *c, const char *name, tilec_type type, int rank, const int64_t *shape, void *data) {
    begin(c->context);
    if ((unsigned)type >= sizeof types / sizeof *types || rank < 0) {
        diag_error(&c->context->diags, "E0647", (source_span){0}, "argument `%s`: not a type and rank there are", name);
        return end(c->context, false);
    }
    return end(c->context, call_bind_array(c->call, name, types[type], rank, shape, data, &c->context->diags));
}
bool tilec_bind_float(tilec_call *c, const char *name, double value) {
    begin(c->context);
    return end(c->context, call_bind_scalar(c->call, name, value, &c->context->diags));
}
bool tilec_bind_integer(tilec_call *c, const char *name, int64_t value) {
    begin(c->context);
    return end(c->context, call_bind_scalar(c->call, name, (double)value, &c->context->diags));
}
bool tilec_set_symbol(tilec_call *c, const char *name, int64_t value) {
    begin(c->context);
    return end(c->context, call_set_symbol(c->call, name, value, &c->context->diags));
}
bool tilec_set_tile(tilec_call *c, const char *name, int64_t value) {
    begin(c->context);
    return end(c->context, call_set_tile(c->call, name, value, &c->context->diags));
}
bool tilec_prepare(tilec_call *c) {
    begin(c->context);
    return end(c->context, call_prepare(c->call, &c->context->diags));
}
bool tilec_launch(tilec_call *c) {
    begin(c->context);
    return end(c->context, call_run(c->call, &c->context->diags));
}

bool tilec_launch_checked(tilec_call *c, double *worst) {
    begin(c->context);
    judge_options o = {.budget_ms = -1, .vacuous_share = 1};
    judgement j = {0};
    bool good = judge_call(c->call, &o, &j, &c->context->diags) && j.passed;
    if (worst)
        *worst = j.worst_ratio;
    return end(c->context, good);
}

void *tilec_result(tilec_call *c, const char *name, int *rank, int64_t *shape) {
    for (int i = 0; i < c->call->arrays.count; i++) {
        const call_array *x = &c->call->arrays.at[i];
        if (strcmp(x->name, name) != 0 || !x->host.data)
            continue;
        if (rank)
            *rank = x->host.rank;
        for (int d = 0; shape && d < x->host.rank; d++)
            shape[d] = x->host.dims[d];
        return x->host.data;
    }
    return NULL;
}

int64_t tilec_compiler_calls(void) {
    return compiler_calls();
}
