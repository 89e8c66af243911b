/* One launch of a kernel: its values and data, the Kernel IR's results, and those of the texts read for it. */
#include "command/read_back_parts.h"
#include "kernel/math.h"
#include "run/recipe.h"
#include "lift/lift.h"
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

/* Memory for the launch's arrays; `data`: what they hold, by the kernel's arrays in memory of their own, or NULL: random. */
static bool make_data(back *b, const read_back_data *data) {
    const kernel_ir *k = b->launch.kernel;
    int next = 0;
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
        const read_back_data *from = data ? &data[next++] : NULL;
        if (from && from->bytes != bytes) {
            diag_error(&b->r->diags, "E0643", x->span, "`%s` has %lld bytes in the kernel and %lld in the program", x->name,
                       (long long)bytes, (long long)from->bytes);
            return false;
        }
        if (from && bytes > 0)
            memcpy(b->given[n], from->memory, (size_t)bytes);
        else if (from)
            continue;
        else if (x->element_injective)
            recipe_fill_distinct(RECIPE_RANDOM, (uint64_t)n + 1, bound, elements, b->given[n]);
        else
            recipe_fill(RECIPE_RANDOM, (uint64_t)n + 1, x->element, bound, elements, b->given[n]);
    }
    return true;
}

/* ---- running ---- */

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

/* The value that the launch has under a name; in the order of the variant's own kernel where the text's parameter says so. */
static bool value_of(const back *b, const kernel_ir *own, const gpu_entry *e, const char *name, int64_t tasks, int64_t *out) {
    const gpu_parameter *p = parameter_named(e, name);
    const kernel_ir *k = b->launch.kernel;
    int next = own->symbols.count;
    const char *known = NULL;
    if (!strcmp(name, "groups_x")) { /* one that runs all tasks is one block */
        *out = e->parameters.count && e->parameters.at[e->parameters.count - 1].kind == GPU_TASKS ? 1 : tasks;
        return true;
    }
    size_t n = strlen(name);
    if (!p && b->whole && n > 2 && !strcmp(name + n - 2, "_0")) /* AIR takes those that nothing uses, too */
        known = arena_strndup(b->a, name, n - 2);
    else if (!p || (p->kind != GPU_INTEGER && p->kind != GPU_FIRST_TASK && p->kind != GPU_TASKS && p->kind != GPU_BOOL))
        return false;
    if (p && p->kind == GPU_FIRST_TASK) {
        *out = 0;
        return true;
    }
    if (p && p->kind == GPU_TASKS) {
        *out = tasks;
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

static bool choose_entries(back *b, bool all) {
    int number = 0;
    const plan_variant *v = b->variant = chosen(b, &number);
    if (!v)
        return false;
    for (int f = 0; f < GPU_FORMS && (all || !b->entry_count); f++) {
        const gpu_entry *e = &b->program.forms[f].at[number];
        if (e->name && takes_launch(b, e, v->kernel) &&
            (!b->whole || !strstr(b->path, ".ll") || strstr(b->whole, arena_printf(b->a, "@%s(", e->name))))
            b->entries[b->entry_count++] = e;
    }
    b->tasks = tasks_of(b, v->kernel);
    return true;
}

static bool run_proved(back *b, bool all) {
    for (int n = 0; n < b->count; n++)
        if (b->given[n])
            memcpy(b->wanted[n], b->given[n], (size_t)b->bytes[n]);
    sim_arguments args = {b->wanted, b->launch.integers, b->launch.floats};
    sim_options options = {.seed = 1};
    sim_report seen;
    launch_plan as_printed = *b->plan; /* its functions are the text's own */
    as_printed.variants.at = NEW_ARRAY(b->a, plan_variant, b->plan->variants.count);
    for (int i = 0; i < b->plan->variants.count; i++) {
        as_printed.variants.at[i] = b->plan->variants.at[i];
        as_printed.variants.at[i].kernel = kernel_copy(b->a, b->plan->variants.at[i].kernel);
        kernel_inline_math(as_printed.variants.at[i].kernel);
    }
    return sim_run_plan(b->a, &as_printed, &args, &options, &seen, &b->r->diags) && choose_entries(b, all);
}

bool read_back_launch(back *b, const command_line *line, bool all) {
    return launch_of(b, line) && make_data(b, NULL) && run_proved(b, all);
}

bool read_back_step(back *b, const sim_launch *launch, const read_back_data *data, bool all) {
    b->launch = *launch;
    if (!make_data(b, data) || !run_proved(b, all))
        return false;
    for (int n = 0, next = 0; n < b->count; n++)
        if (!b->arrays[n]->view_of) {
            if (b->arrays[n]->use != USE_IN && b->bytes[n] > 0)
                memcpy(data[next].memory, b->wanted[n], (size_t)b->bytes[n]);
            next++;
        }
    return true;
}

bool read_back_compare(back *b, int i) {
    return b->tasks == 0 ||
           (run_text(b, b->variant->kernel, b->entries[i], b->texts[i].kernel, b->tasks) && same_results(b, b->entries[i]));
}
