/* How a device's text is launched: read from a manifest, and written into it. */
#include "bench/manifest.h"
#include "target/gpu_plan.h"
#include <string.h>

/* A whole number, a formula, or a list of up to three of them. */
static bool read_extents(arena *a, manifest *m, const json_t *value, const char *key, const char **out, diag_list *diags) {
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    bool good = value && count >= 1 && count <= LAUNCH_DIMENSIONS;
    for (size_t d = 0; good && d < LAUNCH_DIMENSIONS; d++) {
        const json_t *x = !json_is_array(value) && d == 0 ? value : json_array_get(value, d);
        good = d >= count || json_is_integer(x) || json_is_string(x);
        out[d] = d >= count          ? "1"
                 : json_is_string(x) ? arena_strdup(a, json_string_value(x))
                                     : arena_printf(a, "%lld", (long long)json_integer_value(x));
    }
    return good || manifest_wrong(m, diags, arena_printf(a, "\"%s\" is not a number, a formula, or a list of up to three", key));
}

static bool read_argument(arena *a, manifest *m, const json_t *item, manifest_argument *out, diag_list *diags) {
    static const char *const types[] = {"int64", "int32", "f32", "bool"};
    const json_t *name = json_is_object(item) ? json_object_get(item, "name") : item;
    const json_t *type = json_object_get(item, "type"), *value = json_object_get(item, "value");
    if (!json_is_string(name) && !json_is_number(value))
        return manifest_wrong(m, diags, "\"arguments\" are names, or objects with a \"name\" or a \"value\"");
    out->name = json_is_string(name) ? arena_strdup(a, json_string_value(name)) : NULL;
    out->value = json_number_value(value);
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (json_is_string(type) && !strcmp(json_string_value(type), types[i]))
            out->type = types[i];
    /* an array's type is for people */
    return !type || out->type || (json_is_string(type) && strchr(json_string_value(type), '[')) ||
           manifest_wrong(m, diags, "the \"type\" of an argument that is no array is int64, int32, f32 or bool");
}

static bool read_launch(arena *a, manifest *m, const json_t *o, manifest_launch *out, diag_list *diags) {
    const json_t *entry = json_object_get(o, "entry"), *when = json_object_get(o, "when"),
                 *aligned = json_object_get(o, "aligned");
    const json_t *arguments = json_object_get(o, "arguments");
    size_t i;
    json_t *item;
    if (!manifest_is_name(json_string_value(entry)))
        return manifest_wrong(m, diags, "it does not say \"entry\", the name of the kernel function");
    if (!json_object_get(o, "threads") || !json_object_get(o, "blocks"))
        return manifest_wrong(m, diags, "a device's kernel needs \"threads\", of a block, and \"blocks\", how many there are");
    if ((when && !json_is_string(when)) || (aligned && !json_is_integer(aligned)) || !json_is_array(arguments))
        return manifest_wrong(m, diags, "\"when\" is a formula, \"aligned\" a number, \"arguments\" a list");
    out->entry = arena_strdup(a, json_string_value(entry));
    out->when = when ? arena_strdup(a, json_string_value(when)) : NULL;
    out->aligned = aligned ? json_integer_value(aligned) : 1;
    bool good = read_extents(a, m, json_object_get(o, "threads"), "threads", out->threads, diags) &&
                read_extents(a, m, json_object_get(o, "blocks"), "blocks", out->blocks, diags);
    json_array_foreach(arguments, i, item) {
        manifest_argument x = {0};
        good = good && read_argument(a, m, item, &x, diags);
        VEC_PUSH(a, out->arguments, x);
    }
    return good;
}

bool manifest_read_launches(arena *a, manifest *m, const json_t *object, diag_list *diags) {
    const json_t *list = json_object_get(object, "launches");
    size_t i;
    json_t *item;
    if (list && (!json_is_array(list) || !json_array_size(list)))
        return manifest_wrong(m, diags, "\"launches\" is not a list of launches");
    bool good = true;
    manifest_launch one = {0};
    if (!list) {
        good = read_launch(a, m, object, &one, diags);
        VEC_PUSH(a, m->launches, one);
    }
    json_array_foreach(list, i, item) {
        manifest_launch x = {0};
        good = good && read_launch(a, m, item, &x, diags);
        VEC_PUSH(a, m->launches, x);
    }
    return good;
}

/* ---- writing ---- */

/* The kernel's own names, in the order of a launch's values (target.h). */
typedef struct launch_names {
    VEC(const char *) arrays, integers, floats;
} launch_names;

static launch_names names_of(arena *a, const kernel_ir *k) {
    launch_names n = {0};
    for (int i = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->space == SPACE_GLOBAL && !k->arrays.at[i]->view_of)
            VEC_PUSH(a, n.arrays, k->arrays.at[i]->name);
    for (int i = 0; i < k->symbols.count; i++)
        VEC_PUSH(a, n.integers, k->symbols.at[i]->name);
    for (int i = 0; i < k->scalars.count; i++) {
        if (k->scalars.at[i].var)
            VEC_PUSH(a, n.integers, k->scalars.at[i].name);
        else
            VEC_PUSH(a, n.floats, k->scalars.at[i].name);
    }
    return n;
}

static json_t *argument_object(const launch_names *n, const gpu_entry *e, const gpu_parameter *q) {
    const char *integer = e->narrow ? "int32" : "int64";
    switch (q->kind) {
    case GPU_ARRAY: return json_string(n->arrays.at[q->position]);
    case GPU_INTEGER: return json_pack("{s:s, s:s}", "name", n->integers.at[q->position], "type", integer);
    case GPU_FLOAT: return json_pack("{s:s, s:s}", "name", n->floats.at[q->position], "type", "f32");
    case GPU_BOOL: return json_pack("{s:s, s:s}", "name", n->floats.at[q->position], "type", "bool");
    case GPU_TENSOR_MAP: /* such entries are left out */
    case GPU_TASKS:
    case GPU_FIRST_TASK: break;
    }
    return json_pack("{s:s, s:i, s:s}", "is", "first task", "value", 0, "type", integer);
}

/* What fits narrow indices (kernel.h). */
static void add_narrow(text_buffer *when, const kernel_ir *k) {
    for (int i = 0; i < k->symbols.count; i++)
        if (!k->symbols.at[i]->has_value)
            text_add(when, "%s%s <= %d", when->length ? " and " : "", k->symbols.at[i]->name, PLAN_NARROW_EXTENT);
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        if (a->space != SPACE_GLOBAL || a->view_of || !a->rank)
            continue;
        text_add(when, "%s", when->length ? " and " : "");
        for (int d = 0; d < a->rank; d++) {
            text_add(when, "%smax(1, ", d ? " * " : "");
            ix_print(when, a->dims[d]);
            text_add(when, ")");
        }
        text_add(when, " <= %d", PLAN_NARROW_ELEMENTS);
    }
    text_add(when, "%s", when->length ? " and " : "");
    for (int d = 0; k->levels.count && d < k->levels.at[0].rank; d++) {
        text_add(when, "%smax(0, ", d ? " * " : "");
        ix_print(when, k->levels.at[0].extents[d]);
        text_add(when, ")");
    }
    text_add(when, "%s <= %d", k->levels.count && k->levels.at[0].rank ? "" : "1", PLAN_NARROW_TASKS);
}

static json_t *launch_object(arena *a, const plan_variant *v, const gpu_entry *e, bool aligned) {
    launch_names names = names_of(a, v->kernel);
    text_buffer when = {0}, blocks = {0};
    json_t *arguments = json_array();
    if (v->predicate && v->predicate->op != COND_TRUE) {
        text_add(&when, "(");
        cond_print(&when, v->predicate);
        text_add(&when, ")");
    }
    for (int i = 0; i < e->divided.count; i++)
        text_add(&when, "%s%s mod %d == 0", when.length ? " and " : "", names.integers.at[e->divided.at[i]], e->multiple);
    if (e->narrow)
        add_narrow(&when, v->kernel);
    for (int d = 0; v->kernel->levels.count && d < v->kernel->levels.at[0].rank; d++) {
        text_add(&blocks, "%smax(0, ", d ? " * " : "");
        ix_print(&blocks, v->kernel->levels.at[0].extents[d]);
        text_add(&blocks, ")");
    }
    for (int i = 0; i < e->parameters.count; i++)
        json_array_append_new(arguments, argument_object(&names, e, &e->parameters.at[i]));
    json_t *o = json_pack("{s:s, s:I, s:s, s:o}", "entry", e->name, "threads", (json_int_t)e->threads, "blocks",
                          blocks.length ? text_get(&blocks) : "1", "arguments", arguments);
    if (when.length)
        json_object_set_new(o, "when", json_string(text_get(&when)));
    if (aligned)
        json_object_set_new(o, "aligned", json_integer(GPU_ALIGNMENT));
    text_free(&when);
    text_free(&blocks);
    return o;
}

json_t *manifest_launches(const launch_plan *plan, const char *target, diag_list *diags) {
    arena *a = arena_new();
    gpu_program program;
    json_t *list = NULL;
    if (gpu_plan_print(a, plan, !strcmp(target, "cuda") ? &cuda_gpu : opencl_dialect_of(plan), &program, diags)) {
        list = json_array();
        for (int i = 0; i < plan->variants.count; i++) {
            for (int f = 0; f < GPU_FORMS; f++)
                if (program.forms[f].at[i].name && !program.forms[f].at[i].maps.count) /* no manifest says what a tensor map is */
                    json_array_append_new(
                        list, launch_object(a, &plan->variants.at[i], &program.forms[f].at[i], gpu_form_is_aligned((gpu_form)f)));
        }
    }
    arena_free(a);
    return list;
}
