/* The public C API: what is told of a call, as structures of texts. They are made at the first question after a change. */
#include "api_parts.h"
#include <string.h>

/* What was made of one step. */
typedef struct step_view {
    tilec_step step;
    VEC(tilec_variant) variants;
    VEC(tilec_verdict) verdicts;
} step_view;

typedef struct api_view {
    VEC(tilec_argument) arguments;
    VEC(tilec_symbol) symbols;
    VEC(const char *) where;
    VEC(step_view) steps;
} api_view;

static const char *kept(arena *a, text_buffer *b) {
    const char *text = arena_strdup(a, text_get(b));
    text_free(b);
    return text;
}

static const char *expression(arena *a, const index_expr *x) {
    text_buffer b = {0};
    ix_print(&b, x);
    return kept(a, &b);
}

static const char *condition(arena *a, const cond *x) {
    text_buffer b = {0};
    cond_print(&b, x);
    return kept(a, &b);
}

/* ---- arguments ---- */

static void add_array(api_view *v, arena *a, const tile_array *t) {
    static const tilec_role roles[] = {[ARRAY_IN] = TILEC_IN, [ARRAY_OUT] = TILEC_OUT, [ARRAY_UPDATE] = TILEC_UPDATE};
    tilec_argument x = {.size = sizeof x,
                        .name = t->name,
                        .role = roles[t->role],
                        .type = api_type(t->type),
                        .rank = t->group_count,
                        .is_injective = t->injective,
                        .file = t->span.file,
                        .line = t->span.line,
                        .column = t->span.column};
    const char **shape = NEW_ARRAY(a, const char *, t->group_count + 1);
    text_buffer text = {0};
    if (t->index_bound)
        x.index_bound = expression(a, t->index_bound);
    text_add(&text, "%s%s: %s%s", t->role == ARRAY_UPDATE ? "update " : "", t->name, t->injective ? "injective " : "",
             t->index_bound ? "index(" : element_table[t->type].name);
    if (t->index_bound)
        text_add(&text, "%s)", x.index_bound);
    text_add(&text, "[");
    for (int d = 0, first = 0; d < t->group_count; first += t->groups[d], d++) {
        index_expr *extent = t->dims[first];
        for (int f = 1; f < t->groups[d]; f++)
            extent = ix_mul(a, extent, t->dims[first + f]);
        shape[d] = expression(a, extent);
        text_add(&text, "%s%s", d ? ", " : "", shape[d]);
    }
    text_add(&text, "]");
    x.shape = shape;
    x.declaration = kept(a, &text);
    VEC_PUSH(a, v->arguments, x);
}

static void add_scalar(api_view *v, arena *a, const tile_scalar *s) {
    tilec_argument x = {.size = sizeof x,
                        .name = s->name,
                        .is_scalar = true,
                        .role = TILEC_IN,
                        .type = api_type(s->type),
                        .file = s->span.file,
                        .line = s->span.line,
                        .column = s->span.column};
    x.shape = NEW_ARRAY(a, const char *, 1);
    text_buffer text = {0};
    if (s->type == ELEMENT_INDEX && s->var && s->var->lo && s->var->hi) {
        x.least = expression(a, s->var->lo);
        x.most = expression(a, s->var->hi);
        text_add(&text, "%s: %s..%s", s->name, x.least, x.most);
    } else
        text_add(&text, "%s: %s", s->name, element_table[s->type].name);
    x.declaration = kept(a, &text);
    VEC_PUSH(a, v->arguments, x);
}

static void add_arguments(api_view *v, arena *a, const run_call *c) {
    const tile_kernel *k = c->kernel;
    const tile_program *p = c->program;
    int count = k ? k->arguments.count : p->arguments.count;
    for (int i = 0; i < count; i++) {
        void *x = k ? k->arguments.at[i] : p->arguments.at[i];
        if (k ? k->argument_is_scalar.at[i] : p->argument_is_scalar.at[i])
            add_scalar(v, a, x);
        else
            add_array(v, a, x);
    }
    for (int i = 0; i < c->binding.signature.array_count; i++)
        if (c->binding.signature.arrays[i]->role != ARRAY_IN)
            add_array(v, a, c->binding.signature.arrays[i]);
}

/* ---- symbols ---- */

static bool find_value(const tile_binding *at, int count, const char *name, int64_t *value) {
    for (int i = 0; i < count; i++)
        if (strcmp(at[i].name, name) == 0) {
            *value = at[i].value;
            return true;
        }
    return false;
}

/* `step`: the one whose compile settled statics and tile sizes, or NULL; `b`: what the shapes have told. */
static void add_symbol(api_view *v, arena *a, const index_var *s, const char *kernel, const index_expr *derived, const binding *b,
                       const call_step *step) {
    tilec_symbol x = {.size = sizeof x, .name = s->name, .kernel = kernel};
    x.kind = s->kind == INDEX_STATIC ? TILEC_STATIC : s->kind == INDEX_TILE ? TILEC_TILE_SIZE : TILEC_EXTENT;
    x.derived = derived ? expression(a, derived) : NULL;
    x.has_default = s->kind == INDEX_STATIC && s->has_value;
    x.default_value = x.has_default ? s->value : 0;
    const compiled_kernel *made = step ? step->compiled : NULL;
    if (made && s->kind != INDEX_SYMBOL)
        x.is_known = s->kind == INDEX_STATIC
                         ? find_value(made->statics.at, made->statics.count, s->name, &x.value)
                         : find_value(made->schedule.bindings.at, made->schedule.bindings.count, s->name, &x.value);
    int at = b && !x.is_known ? binding_find_symbol(b, s->name) : -1;
    if (at >= 0 && b->known[at]) {
        x.is_known = true;
        x.value = b->values[at];
    }
    VEC_PUSH(a, v->symbols, x);
}

static void add_symbols(api_view *v, arena *a, const run_call *c) {
    const signature *s = &c->binding.signature;
    for (int i = 0; i < s->symbol_count; i++)
        add_symbol(v, a, s->symbols[i], NULL, s->derived ? s->derived[i] : NULL, &c->binding,
                   c->kernel && c->steps.count ? &c->steps.at[0] : NULL);
    for (int i = 0; c->program && i < c->program->calls.count; i++) {
        const tile_kernel *k = c->program->calls.at[i]->kernel;
        const call_step *step = i < c->steps.count ? &c->steps.at[i] : NULL;
        for (int j = 0; j < k->symbols.count; j++) {
            bool seen = false; /* a kernel called twice is told once */
            for (int n = 0; n < v->symbols.count; n++)
                seen = seen || (v->symbols.at[n].kernel && strcmp(v->symbols.at[n].kernel, k->name) == 0 &&
                                strcmp(v->symbols.at[n].name, k->symbols.at[j]->name) == 0);
            if (!seen && k->symbols.at[j]->kind != INDEX_SYMBOL)
                add_symbol(v, a, k->symbols.at[j], k->name, NULL, step ? &step->binding : NULL, step);
        }
    }
}

/* ---- what was made ---- */

static void add_variant(step_view *s, arena *a, const plan_variant *p) {
    tilec_variant x = {.size = sizeof x, .private_bytes = kernel_private_bytes(p->kernel)};
    x.when = p->predicate ? condition(a, p->predicate) : NULL;
    text_buffer tasks = {0};
    const kernel_level *level = p->kernel->levels.count ? &p->kernel->levels.at[0] : NULL;
    for (int d = 0; level && d < level->rank; d++) {
        text_add(&tasks, "%s", d ? " x " : "");
        ix_print(&tasks, level->extents[d]);
    }
    x.tasks = tasks.length ? kept(a, &tasks) : "1";
    VEC_PUSH(a, s->variants, x);
}

static void add_step(api_view *v, arena *a, const call_step *step, const session *session) {
    const compiled_kernel *k = step->compiled;
    const launch_plan *plan = k->lowered.plan;
    step_view s = {.step = {.size = sizeof s.step, .kernel = step->kernel->name, .schedule = k->schedule.text}};
    s.step.route_count = k->lowered.routes.count;
    s.step.routes = k->lowered.routes.at;
    const char **checks = NEW_ARRAY(a, const char *, plan ? plan->checks.count + 1 : 1);
    for (int i = 0; plan && i < plan->checks.count; i++)
        checks[s.step.check_count++] = plan->checks.at[i].text ? plan->checks.at[i].text : "";
    s.step.checks = checks;
    for (int i = 0; plan && i < plan->variants.count; i++)
        add_variant(&s, a, &plan->variants.at[i]);
    s.step.variant_count = s.variants.count;
    s.step.is_proved = k->plan != NULL;
    s.step.proved = k->proof.proved;
    s.step.refuted = k->proof.refuted;
    s.step.unknown = k->proof.unknown;
    s.step.proof_milliseconds = k->proof.milliseconds;
    s.step.compile_milliseconds = k->milliseconds;
    text_buffer explanation = {0}, ir = {0}, code = {0};
    compile_explain(k, &explanation);
    s.step.explanation = kept(a, &explanation);
    if (plan)
        plan_print(&ir, plan);
    s.step.plan = kept(a, &ir);
    if (k->plan) {
        diag_list ignored;
        diag_init(&ignored, a);
        if (session_target(session)->emit(k->plan, &code, &ignored))
            s.step.code = kept(a, &code);
        else
            text_free(&code);
    }
    for (int i = 0; i < k->proof.items.count; i++) {
        static const tilec_judgement judgements[] = {
            [VERDICT_PROVED] = TILEC_PROVED, [VERDICT_REFUTED] = TILEC_REFUTED, [VERDICT_UNKNOWN] = TILEC_NOT_PROVED};
        const proof_item *p = &k->proof.items.at[i];
        tilec_verdict x = {.size = sizeof x,
                           .property = p->property,
                           .subject = p->subject ? p->subject : "",
                           .judgement = judgements[p->verdict],
                           .file = p->span.file,
                           .line = p->span.line,
                           .column = p->span.column,
                           .explanation = p->verdict == VERDICT_PROVED ? NULL : p->explanation,
                           .witness = p->witness,
                           .milliseconds = p->milliseconds};
        VEC_PUSH(a, s.verdicts, x);
    }
    VEC_PUSH(a, v->steps, s);
}

/* With the context's lock held. */
static const api_view *view(tilec_call *c) {
    if (c->shown)
        return c->shown;
    arena *a = c->view = arena_new();
    api_view *v = NEW(a, api_view);
    const run_call *r = c->call;
    add_arguments(v, a, r);
    add_symbols(v, a, r);
    for (int i = 0; i < r->binding.signature.where_count; i++)
        VEC_PUSH(a, v->where, condition(a, r->binding.signature.where[i]));
    for (int i = 0; i < r->steps.count; i++)
        if (r->steps.at[i].compiled)
            add_step(v, a, &r->steps.at[i], r->session);
    return c->shown = v;
}

static const api_view *locked_view(tilec_call *c) {
    pthread_mutex_lock(&c->module->context->lock);
    return view(c);
}

static void unlock(tilec_call *c) {
    pthread_mutex_unlock(&c->module->context->lock);
}

/* Copies element `i` of a list out, or says that there is none. */
#define TELL(list, i, out)                                                                                                       \
    bool there = (i) >= 0 && (i) < (list).count;                                                                                 \
    if (there)                                                                                                                   \
        api_copy_out((out), &(list).at[i], sizeof *(out));                                                                       \
    unlock(c);                                                                                                                   \
    return there

#define COUNT(list)                                                                                                              \
    int count = locked_view(c)->list.count;                                                                                      \
    unlock(c);                                                                                                                   \
    return count

int tilec_argument_count(tilec_call *c) {
    COUNT(arguments);
}
bool tilec_argument_at(tilec_call *c, int index, tilec_argument *out) {
    const api_view *v = locked_view(c);
    TELL(v->arguments, index, out);
}

int tilec_symbol_count(tilec_call *c) {
    COUNT(symbols);
}
bool tilec_symbol_at(tilec_call *c, int index, tilec_symbol *out) {
    const api_view *v = locked_view(c);
    TELL(v->symbols, index, out);
}

const char *tilec_where_at(tilec_call *c, int index) {
    const api_view *v = locked_view(c);
    const char *text = index >= 0 && index < v->where.count ? v->where.at[index] : NULL;
    unlock(c);
    return text;
}

int tilec_step_count(tilec_call *c) {
    COUNT(steps);
}

bool tilec_step_at(tilec_call *c, int step, tilec_step *out) {
    const api_view *v = locked_view(c);
    bool there = step >= 0 && step < v->steps.count;
    if (there)
        api_copy_out(out, &v->steps.at[step].step, sizeof *out);
    unlock(c);
    return there;
}

/* A step out of range has nothing to tell. */
static const step_view *step_of(const api_view *v, int step) {
    static const step_view nothing;
    return step >= 0 && step < v->steps.count ? &v->steps.at[step] : &nothing;
}

bool tilec_variant_at(tilec_call *c, int step, int index, tilec_variant *out) {
    const step_view *s = step_of(locked_view(c), step);
    TELL(s->variants, index, out);
}

int tilec_verdict_count(tilec_call *c, int step) {
    int count = step_of(locked_view(c), step)->verdicts.count;
    unlock(c);
    return count;
}

bool tilec_verdict_at(tilec_call *c, int step, int index, tilec_verdict *out) {
    const step_view *s = step_of(locked_view(c), step);
    TELL(s->verdicts, index, out);
}
