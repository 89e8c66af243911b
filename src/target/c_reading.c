/* A plan's C as other programs read it: its functions as they are emitted, and for each variant one that runs all tasks. */
#include "target/c_plan.h"
#include "target/gpu_plan.h"

static void parameter(arena *a, gpu_entry *e, gpu_parameter_kind kind, int position, const char *type, const char *stem) {
    gpu_parameter p = {.kind = kind, .position = position, .type = type, .name = arena_printf(a, "%s_%d", stem, position)};
    VEC_PUSH(a, e->parameters, p);
}

static void arguments(text_buffer *out, const gpu_entry *e, gpu_parameter_kind kind, const char *type, const char *name,
                      const char *cast, const char *last) {
    text_add(out, "    %s %s[] = {", type, name);
    for (int i = 0; i < e->parameters.count; i++)
        if (e->parameters.at[i].kind == kind)
            text_add(out, "%s%s, ", cast, e->parameters.at[i].name);
    text_add(out, "%s};\n", last);
}

static gpu_entry entry_of(arena *a, const kernel_ir *k, const char *name, int variant) {
    gpu_entry e = {.name = arena_printf(a, "%s_variant_%d_tasks", name, variant), .threads = 1};
    int arrays = 0, integers = 0, floats = 0;
    for (int i = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->space == SPACE_GLOBAL && !k->arrays.at[i]->view_of)
            parameter(a, &e, GPU_ARRAY, arrays++, "TILEC_DEVICE char *", "array");
    for (int i = 0; i < k->symbols.count; i++)
        parameter(a, &e, GPU_INTEGER, integers++, "int64_t ", "integer");
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i].var)
            parameter(a, &e, GPU_INTEGER, integers++, "int64_t ", "integer");
        else
            parameter(a, &e, GPU_FLOAT, floats++, "float ", "float");
    parameter(a, &e, GPU_TASKS, 0, "int64_t ", "tasks");
    text_buffer out = {0};
    text_add(&out, "TILEC_KERNEL void %s(", e.name);
    for (int i = 0; i < e.parameters.count; i++)
        text_add(&out, "%s%s%s", i ? ", " : "", e.parameters.at[i].type, e.parameters.at[i].name);
    text_add(&out, ")\n{\n    _Alignas(64) char scratch[%lld];\n", (long long)(kernel_private_bytes(k) + 64));
    arguments(&out, &e, GPU_ARRAY, "void *const", "arrays", "(void *)", "(void *)0");
    arguments(&out, &e, GPU_INTEGER, "const int64_t", "integers", "", "0");
    arguments(&out, &e, GPU_FLOAT, "const float", "floats", "", "0");
    text_add(&out, "    %s_variant_%d(arrays, integers, floats, 0, tasks_0, scratch);\n}\n", name, variant);
    e.text = arena_strdup(a, text_get(&out));
    text_free(&out);
    return e;
}

bool c_program(arena *a, const proved_plan *proved, gpu_program *out, diag_list *diags) {
    const launch_plan *plan = proved_plan_get(proved);
    c_plan printed;
    if (!c_plan_print(a, plan, "static ", NULL, &printed, diags))
        return false;
    text_buffer text = {0};
    c_plan_head(&text);
    text_add(&text, "%s\n%s", printed.prelude, printed.functions);
    *out = (gpu_program){.name = printed.name, .prelude = arena_strdup(a, text_get(&text)), .variants = plan->variants.count};
    for (int v = 0; v < plan->variants.count; v++)
        for (int f = 0; f < GPU_FORMS; f++) {
            gpu_entry e = {0};
            if (f == GPU_PLAIN)
                e = entry_of(a, plan->variants.at[v].kernel, printed.name, v);
            VEC_PUSH(a, out->forms[f], e);
            if (e.text)
                text_add(&text, "\n%s", e.text);
        }
    out->text = arena_strdup(a, text_get(&text));
    text_free(&text);
    return true;
}
