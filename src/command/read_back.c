/* Emitted texts against the Kernel IR that they were printed from. */
#include "command/read_back.h"
#include "command/foreign.h"
#include "kernel/math.h"
#include "run/recipe.h"
#include "sim/sim.h"
#include "target/gpu_plan.h"
#include <stdlib.h>
#include <string.h>

enum { LARGEST_RUN = 1 << 26 }; /* bytes of an array */

/* The other variants' kernels have launch values of their own, of the same names. */
static bool value_by_name(void *context, const index_var *v, int64_t *value) {
    const sim_launch *x = context;
    for (int i = 0; i < x->kernel->symbols.count; i++)
        if (!strcmp(x->kernel->symbols.at[i]->name, v->name))
            return sim_launch_value(context, x->kernel->symbols.at[i], value);
    for (int i = 0; i < x->kernel->scalars.count; i++)
        if (x->kernel->scalars.at[i].var && !strcmp(x->kernel->scalars.at[i].name, v->name))
            return sim_launch_value(context, x->kernel->scalars.at[i].var, value);
    return false;
}

typedef struct back {
    report *r;
    arena *a;
    const launch_plan *plan;
    sim_launch launch; /* of the first variant's kernel */
    int count;         /* its global arrays */
    const kernel_array **arrays;
    int64_t *bytes;
    void **given, **wanted, **got;
    gpu_program program;
    const char *whole; /* the text, where it is not the program's; NULL */
    source_language language;
    const char *path;
} back;

static bool program_of(back *b, const target *t, const proved_plan *p) {
    const char *ending;
    int before = b->r->diags.errors;
    if (target_program(b->a, t, p, &b->program, &ending, &b->whole, &b->r->diags)) {
        b->path = arena_printf(b->a, "%s.%s", b->plan->name, ending);
        return source_language_of(b->path, &b->language);
    }
    if (b->r->diags.errors == before)
        diag_error(&b->r->diags, "E0875", b->plan->variants.at[0].kernel->span, "texts of target %s are not read back", t->name);
    return false;
}

/* ---- the launch ---- */

static bool launch_of(back *b, const command_line *line) {
    const kernel_ir *k = b->plan->variants.at[0].kernel;
    static const int small[] = {5, 7, 9, 3};
    name_values given;
    text_buffer text = {0};
    if (!command_name_values(line, "--shape", b->a, &given, &b->r->diags))
        return false;
    for (int i = 0, next = 0; i < k->symbols.count; i++) {
        const index_var *v = k->symbols.at[i];
        int64_t value = v->has_value ? v->value : small[next++ % 4], lo;
        for (int j = 0; j < given.items.count; j++)
            if (!strcmp(given.items.at[j].name, v->name))
                value = given.items.at[j].value;
        if (v->lo && ix_is_const(v->lo, &lo) && value < lo)
            value = lo;
        text_add(&text, "%s%s = %lld", text.length ? ", " : "", v->name, (long long)value);
    }
    for (int i = 0; i < k->scalars.count; i++) {
        const kernel_scalar *s = &k->scalars.at[i];
        for (int j = 0; s->var && j < given.items.count; j++)
            if (!strcmp(given.items.at[j].name, s->name))
                text_add(&text, "%s%s = %lld", text.length ? ", " : "", s->name, (long long)given.items.at[j].value);
        if (!s->var)
            text_add(&text, "%s%s = 0.75", text.length ? ", " : "", s->name);
    }
    bool fine = sim_launch_of(b->a, k, text_get(&text), &b->launch, &b->r->diags);
    text_free(&text);
    return fine;
}

static bool make_data(back *b) {
    const kernel_ir *k = b->launch.kernel;
    b->arrays = NEW_ARRAY(b->a, const kernel_array *, k->arrays.count + 1);
    b->bytes = NEW_ARRAY(b->a, int64_t, k->arrays.count + 1);
    b->given = NEW_ARRAY(b->a, void *, k->arrays.count + 1);
    b->wanted = NEW_ARRAY(b->a, void *, k->arrays.count + 1);
    b->got = NEW_ARRAY(b->a, void *, k->arrays.count + 1);
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *x = k->arrays.at[i];
        if (x->space != SPACE_GLOBAL)
            continue;
        int n = b->count++;
        b->arrays[n] = x;
        if (x->view_of)
            continue;
        int64_t bytes = b->bytes[n] = sim_array_bytes(k, x, b->launch.integers), bound = 0;
        if (bytes < 0 || bytes > LARGEST_RUN ||
            (x->element_bound && !ix_eval(x->element_bound, sim_launch_value, &b->launch, &bound))) {
            diag_error(&b->r->diags, "E0643", x->span, "`%s` cannot be made for this launch: %lld bytes", x->name,
                       (long long)bytes);
            return false;
        }
        int64_t elements = bytes / element_table[x->element].block_bytes * element_table[x->element].block_elements;
        b->given[n] = arena_alloc(b->a, (size_t)bytes + 64);
        b->wanted[n] = arena_alloc(b->a, (size_t)bytes + 64);
        b->got[n] = arena_alloc(b->a, (size_t)bytes + 64);
        if (x->element_injective)
            recipe_fill_distinct(RECIPE_RANDOM, (uint64_t)n + 1, bound, elements, b->given[n]);
        else
            recipe_fill(RECIPE_RANDOM, (uint64_t)n + 1, x->element, bound, elements, b->given[n]);
    }
    return true;
}

/* ---- reading ---- */

static lift_function *function_named(const lift_module *m, const char *name) {
    for (int i = 0; i < m->functions.count; i++)
        if (!strcmp(m->functions.at[i]->name, name))
            return m->functions.at[i];
    return NULL;
}

/* A number in constant memory is called NAME_0, after its place there. */
static const gpu_parameter *parameter_named(const gpu_entry *e, const char *name) {
    size_t n = strlen(name), stem = n > 2 && !strcmp(name + n - 2, "_0") ? n - 2 : 0;
    for (int i = 0; i < e->parameters.count; i++)
        if (!strcmp(e->parameters.at[i].name, name))
            return &e->parameters.at[i];
    for (int i = 0; stem && i < e->parameters.count; i++)
        if (strlen(e->parameters.at[i].name) == stem && !strncmp(e->parameters.at[i].name, name, stem))
            return &e->parameters.at[i];
    return NULL;
}

/* The data of a parameter that is an array: that of the variant's own array at its position, by name. -1: there is none. */
static int array_of(const back *b, const kernel_ir *own, const gpu_entry *e, const char *name) {
    const gpu_parameter *p = parameter_named(e, name);
    int at = 0;
    for (int i = 0; p && p->kind == GPU_ARRAY && i < own->arrays.count; i++) {
        const kernel_array *x = own->arrays.at[i];
        if (x->space != SPACE_GLOBAL || x->view_of || at++ != p->position)
            continue;
        for (int n = 0; n < b->count; n++)
            if (!strcmp(b->arrays[n]->name, x->name))
                return n;
    }
    return -1;
}

/* The entries' texts as one source; each as Kernel IR in `out`, by position. */
static bool read_entries(back *b, const gpu_entry *const *entries, int count, lifted_kernel *out) {
    text_buffer text = {0};
    const char **names = NEW_ARRAY(b->a, const char *, count + 1);
    text_add(&text, "%s", b->program.prelude);
    for (int i = 0; i < count; i++) {
        names[i] = entries[i]->name;
        text_add(&text, "%s\n", entries[i]->text);
    }
    source_options o = {.kernels = names, .kernel_count = count};
    const char *source_text = b->whole ? b->whole : arena_strdup(b->a, text_get(&text));
    text_free(&text);
    const source_module *source = lift_source(b->a, b->path, source_text, b->language, &o, &b->r->diags);
    if (!source)
        return false;
    lift_reading how = {.source = b->path,
                        .kernel = count == 1 ? source->kernels.at[0].function : NULL,
                        .device = source->spaces.device,
                        .threadgroup = source->spaces.threadgroup,
                        .constant = source->spaces.constant,
                        .thread = source->spaces.thread,
                        .generic = source->spaces.generic};
    const lift_module *m = lift_module_read(b->a, source->text, source->length, b->path, &how, &b->r->diags);
    for (int i = 0; m && i < count; i++) {
        const source_kernel *k = NULL;
        for (int j = 0; j < source->kernels.count; j++)
            if (!strcmp(source->kernels.at[j].host_name, entries[i]->name))
                k = &source->kernels.at[j];
        lift_function *f = k ? function_named(m, k->function) : NULL;
        if (!f) {
            diag_error(&b->r->diags, "E1122", (source_span){.file = b->path}, "`%s` is not among the module's functions",
                       entries[i]->name);
            return false;
        }
        foreign_annotate(f, k);
        lift_contract contract = {.block = {entries[i]->threads, 1, 1}};
        contract_argument dynamic = {.name = "shared_memory", .has_type = true, .type = ELEMENT_U8};
        if (entries[i]->dynamic_bytes) {
            VEC_PUSH(b->a, dynamic.extents, arena_printf(b->a, "%lld", (long long)entries[i]->dynamic_bytes));
            VEC_PUSH(b->a, contract.arguments, dynamic);
        }
        if (!lift_kernel(b->a, f, b->path, &contract, &out[i], &b->r->diags))
            return false;
    }
    return m != NULL;
}

/* ---- running ---- */

/* The value that the launch has under a name; in the order of the variant's own kernel where the text's parameter says so. */
static bool value_of(const back *b, const kernel_ir *own, const gpu_entry *e, const char *name, int64_t tasks, int64_t *out) {
    const gpu_parameter *p = parameter_named(e, name);
    const kernel_ir *k = b->launch.kernel;
    int next = own->symbols.count;
    const char *known = NULL;
    if (!strcmp(name, "groups_x")) {
        *out = tasks;
        return true;
    }
    size_t n = strlen(name);
    if (!p && b->whole && n > 2 && !strcmp(name + n - 2, "_0")) /* AIR takes those that nothing uses, too */
        known = arena_strndup(b->a, name, n - 2);
    else if (!p || (p->kind != GPU_INTEGER && p->kind != GPU_FIRST_TASK && p->kind != GPU_BOOL))
        return false;
    if (p && p->kind == GPU_FIRST_TASK) {
        *out = 0;
        return true;
    }
    if (p && p->kind == GPU_BOOL) {
        *out = 1;
        return true;
    }
    if (p && p->position < own->symbols.count)
        known = own->symbols.at[p->position]->name;
    for (int i = 0; p && i < own->scalars.count && !known; i++)
        if (own->scalars.at[i].var && next++ == p->position)
            known = own->scalars.at[i].name;
    for (int i = 0, at = 0; known && i < k->symbols.count + k->scalars.count; i++) {
        bool symbol = i < k->symbols.count;
        const kernel_scalar *s = symbol ? NULL : &k->scalars.at[i - k->symbols.count];
        if (s && !s->var)
            continue;
        if (!strcmp(symbol ? k->symbols.at[i]->name : s->name, known)) {
            *out = b->launch.integers[at];
            return true;
        }
        at++;
    }
    return false;
}

static bool unknown_value(back *b, const kernel_ir *k, const char *name) {
    diag_error(&b->r->diags, "E0643", k->span, "the text of `%s` takes `%s`, which the kernel it was printed from does not have",
               k->name, name);
    return false;
}

static bool is_length(const kernel_array *x, const index_var *v) {
    return x->space == SPACE_GLOBAL && !x->view_of && x->rank == 1 && x->dims[0]->op == IX_VAR && x->dims[0]->var == v;
}

/* The name of the parameter that an array of the text was: its extent is NAME_length, also where something else has its name by now. */
static const char *parameter_of(const back *b, const kernel_array *x) {
    size_t n = x->rank == 1 && x->dims[0]->op == IX_VAR ? strlen(x->dims[0]->var->name) : 0;
    return n > 7 && !strcmp(x->dims[0]->var->name + n - 7, "_length") ? arena_strndup(b->a, x->dims[0]->var->name, n - 7)
                                                                      : x->name;
}

static bool run_text(back *b, const kernel_ir *own, const gpu_entry *e, const kernel_ir *k, int64_t tasks) {
    int64_t *integers = NEW_ARRAY(b->a, int64_t, k->symbols.count + k->scalars.count + 1);
    float *floats = NEW_ARRAY(b->a, float, k->scalars.count + 1);
    void **arrays = NEW_ARRAY(b->a, void *, k->arrays.count + 1);
    int next = k->symbols.count, next_float = 0, count = 0;
    for (int i = 0; i < k->symbols.count; i++) {
        const char *name = k->symbols.at[i]->name;
        bool known = value_of(b, own, e, name, tasks, &integers[i]);
        for (int j = 0; !known && j < k->arrays.count; j++) { /* X_length */
            const kernel_array *x = k->arrays.at[j];
            int n = is_length(x, k->symbols.at[i]) ? array_of(b, own, e, parameter_of(b, x)) : -1;
            if (n < 0)
                continue;
            integers[i] = b->bytes[n] / element_table[x->element].block_bytes;
            known = true;
        }
        if (!known)
            return unknown_value(b, k, name);
    }
    for (int i = 0; i < k->scalars.count; i++) {
        const kernel_scalar *s = &k->scalars.at[i];
        if (s->var && !value_of(b, own, e, s->name, tasks, &integers[next++]))
            return unknown_value(b, k, s->name);
        if (!s->var)
            floats[next_float++] = s->type == ELEMENT_BOOL ? 1 : 0.75f;
    }
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *x = k->arrays.at[i];
        if (x->space == SPACE_GLOBAL && x->view_of) /* counted, and given by what it is a view of */
            arrays[count++] = NULL;
        if (x->space != SPACE_GLOBAL || x->view_of)
            continue;
        int n = array_of(b, own, e, parameter_of(b, x));
        if (n < 0)
            return unknown_value(b, k, x->name);
        arrays[count++] = b->got[n];
    }
    for (int n = 0; n < b->count; n++)
        if (b->given[n])
            memcpy(b->got[n], b->given[n], (size_t)b->bytes[n]);
    sim_arguments args = {arrays, integers, floats};
    sim_options options = {.seed = 1};
    sim_report seen;
    return sim_run(b->a, k, &args, &options, &seen, &b->r->diags);
}

/* Bits, except that any two NaN are the same. */
static bool same_results(back *b, const gpu_entry *e) {
    for (int n = 0; n < b->count; n++) {
        const kernel_array *x = b->arrays[n];
        element_type t = x->element;
        int64_t block = element_table[t].block_bytes;
        if (x->view_of || x->use == USE_IN || x->use == USE_WORKSPACE)
            continue;
        for (int64_t i = 0; i < b->bytes[n] / block; i++) {
            const char *u = (const char *)b->wanted[n] + i * block, *v = (const char *)b->got[n] + i * block;
            if (!memcmp(u, v, (size_t)block))
                continue;
            bool single = element_table[t].block_elements == 1;
            double w = single ? element_load(t, b->wanted[n], i) : 0, g = single ? element_load(t, b->got[n], i) : 0;
            if (single && element_table[t].is_float && w != w && g != g)
                continue;
            diag_error(&b->r->diags, "E0874", x->span,
                       "the text %s gives %s[%lld] = %.9g, the Kernel IR that was proved gives %.9g", e->name, x->name,
                       (long long)i, g, w);
            return false;
        }
    }
    return true;
}

/* ---- which ---- */

static const plan_variant *chosen(back *b, int *number) {
    for (int i = 0; i < b->plan->variants.count; i++) {
        const plan_variant *v = &b->plan->variants.at[i];
        bool holds = true;
        if (v->predicate && (!cond_eval(v->predicate, value_by_name, &b->launch, &holds) || !holds))
            continue;
        *number = i;
        return v;
    }
    diag_error(&b->r->diags, "E0711", b->launch.kernel->span, "no variant of the plan holds for this launch");
    return NULL;
}

static int64_t tasks_of(const back *b, const kernel_ir *k) {
    int64_t tasks = 1, n;
    if (k->grid)
        return ix_eval(k->grid, value_by_name, (void *)&b->launch, &n) ? n : -1;
    for (int d = 0; d < k->levels.at[0].rank; d++)
        tasks = ix_eval(k->levels.at[0].extents[d], value_by_name, (void *)&b->launch, &n) ? tasks * n : -1;
    return tasks;
}

static bool takes_launch(const back *b, const gpu_entry *e, const kernel_ir *own) {
    for (int i = 0; i < e->divided.count; i++) {
        int64_t value;
        int at = e->divided.at[i];
        if (at >= own->symbols.count || !ix_eval(ix_var(b->a, own->symbols.at[at]), value_by_name, (void *)&b->launch, &value) ||
            value % e->multiple)
            return false;
    }
    return true;
}

static bool run_forms(back *b, bool all, json_t *out) {
    int number = 0;
    const plan_variant *v = chosen(b, &number);
    if (!v)
        return false;
    if (v->before.count) {
        diag_error(&b->r->diags, "E0875", v->kernel->span, "plans of several kernels are not read back");
        return false;
    }
    const gpu_entry *entries[GPU_FORMS];
    lifted_kernel kernels[GPU_FORMS] = {{0}};
    int count = 0;
    for (int f = 0; f < GPU_FORMS && (all || !count); f++) {
        const gpu_entry *e = &b->program.forms[f].at[number];
        if (e->name && takes_launch(b, e, v->kernel) && (!b->whole || strstr(b->whole, arena_printf(b->a, "@%s(", e->name))))
            entries[count++] = e;
    }
    int64_t tasks = tasks_of(b, v->kernel);
    if (!read_entries(b, entries, count, kernels))
        return false;
    bool held = true;
    for (int i = 0; i < count; i++) {
        bool same = tasks == 0 || (run_text(b, v->kernel, entries[i], kernels[i].kernel, tasks) && same_results(b, entries[i]));
        held = held && same;
        if (out)
            json_array_append_new(out, json_pack("{s:s, s:b}", "text", entries[i]->name, "same", same));
        else
            printf("  read back     %s: %s\n", entries[i]->name, same ? "the same results, bit for bit" : "NOT the same");
    }
    return held;
}

bool read_back(report *r, const command_line *line, const compiled_kernel *c, const target *t, json_t *out) {
    const char *forms = option_value(line, "--read-back");
    if (strcmp(forms, "all") && strcmp(forms, "quickest")) {
        diag_error(&r->diags, "E0860", (source_span){0}, "--read-back %s: quickest, or all", forms);
        return false;
    }
    back b = {.r = r, .a = r->arena, .plan = proved_plan_get(c->plan)};
    if (!program_of(&b, t, c->plan) || !launch_of(&b, line) || !make_data(&b))
        return false;
    for (int n = 0; n < b.count; n++)
        if (b.given[n])
            memcpy(b.wanted[n], b.given[n], (size_t)b.bytes[n]);
    sim_arguments args = {b.wanted, b.launch.integers, b.launch.floats};
    sim_options options = {.seed = 1};
    sim_report seen;
    launch_plan as_printed = *b.plan; /* its functions are the text's own */
    as_printed.variants.at = NEW_ARRAY(b.a, plan_variant, b.plan->variants.count);
    for (int i = 0; i < b.plan->variants.count; i++) {
        as_printed.variants.at[i] = b.plan->variants.at[i];
        as_printed.variants.at[i].kernel = kernel_copy(b.a, b.plan->variants.at[i].kernel);
        kernel_inline_math(as_printed.variants.at[i].kernel);
    }
    return sim_run_plan(b.a, &as_printed, &args, &options, &seen, &r->diags) && run_forms(&b, !strcmp(forms, "all"), out);
}
