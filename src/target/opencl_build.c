/* `tilec build --target opencl`: NAME.cl, with how to launch it in front. */
#include "base/file.h"
#include "target/c_plan.h"
#include "target/gpu_plan.h"
#include <string.h>

static void describe_entry(arena *a, text_buffer *out, const plan_variant *v, const gpu_entry *e) {
    text_buffer line = {0};
    text_add(&line, "%s", e->name);
    if (v->predicate) {
        text_add(&line, ", when ");
        cond_print(&line, v->predicate);
    }
    if (e->narrow)
        text_add(&line, ", where extents are at most %d, arrays have at most %d elements and there are at most %d tasks",
                 PLAN_NARROW_EXTENT, PLAN_NARROW_ELEMENTS, PLAN_NARROW_TASKS);
    text_add(&line, ": %lld work-items for each task; tasks ", (long long)e->threads);
    for (int d = 0; v->kernel->levels.count && d < v->kernel->levels.at[0].rank; d++) {
        text_add(&line, "%s(", d ? " * " : "");
        ix_print(&line, v->kernel->levels.at[0].extents[d]);
        text_add(&line, ")");
    }
    if (!v->kernel->levels.count || !v->kernel->levels.at[0].rank)
        text_add(&line, "1");
    text_add(&line, ", in one dimension; first_task = 0");
    text_add(out, " *   %s\n", c_comment_text(a, text_get(&line)));
    text_free(&line);
}

static void describe(arena *a, text_buffer *out, const launch_plan *plan, const gpu_program *program) {
    text_add(out, "/* %s, written and proved by tilec. How to launch it:\n", c_comment_text(a, plan->name));
    for (int i = 0; i < plan->variants.count; i++)
        for (int f = 0; f < GPU_FORMS; f++)
            if (program->forms[f].at[i].name)
                describe_entry(a, out, &plan->variants.at[i], &program->forms[f].at[i]);
    text_add(out, " * Arrays are row-major, none overlaps one that is written. Before a launch the caller must know:\n");
    for (int i = 0; i < plan->checks.count; i++)
        text_add(out, " *   %s\n", c_comment_text(a, plan->checks.at[i].text));
    if (!plan->checks.count)
        text_add(out, " *   nothing further\n");
    text_add(out,
             " * Build options: -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt, and none that relaxes arithmetic. */\n");
}

bool opencl_build(const proved_plan *proved, const char *directory, diag_list *diags) {
    arena *a = arena_new();
    gpu_program program;
    text_buffer text = {0}, path = {0};
    bool ok = opencl_program(a, proved, &program, diags);
    if (ok) {
        describe(a, &text, proved_plan_get(proved), &program);
        text_add(&text, "%s", program.text);
        text_add(&path, "%s/%s.cl", directory, program.name);
        ok = file_write(text_get(&path), text_get(&text), text.length, diags);
    }
    text_free(&text);
    text_free(&path);
    arena_free(a);
    return ok;
}
