/* `tilec build --target cuda`: NAME.cu, kernels that nvcc or NVRTC compiles, with a launcher for host programs; NAME.h declares that. */
#include "base/file.h"
#include "target/c_library.h"
#include "target/cuda_helpers.h"
#include "target/gpu_plan.h"
#include <ctype.h>
#include <string.h>

typedef struct launcher {
    arena *a;
    cfamily p;
    const launch_plan *plan;
    const kernel_ir *k;
    const gpu_program *program;
    VEC(const char *) arrays, integers, floats; /* names, by position in a launch (target.h) */
    VEC(const kernel_array *) declared;
    const char *parameters, *sizes, *size_values;
    text_buffer out;
} launcher;

static const char *keep(launcher *l, text_buffer *b) {
    const char *text = arena_strdup(l->a, text_get(b));
    text_free(b);
    return text;
}

static void name_arguments(launcher *l) {
    cfamily *p = &l->p;
    const kernel_ir *k = l->k;
    text_buffer all = {0}, sizes = {0}, values = {0};
    static const char *const taken[] = {"stream", "tasks", "first", "count"};
    names_add(p, &p->names, l->program->name);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        names_add(p, &p->names, taken[i]);
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        if (a->space != SPACE_GLOBAL || a->view_of)
            continue;
        const char *name = cfamily_unique(p, a->name);
        VEC_PUSH(l->a, l->arrays, name);
        VEC_PUSH(l->a, l->declared, a);
        text_add(&all, "%s%s *%s, ", a->use == USE_IN ? "const " : "", cuda_storage_type(a->element), name);
    }
    for (int i = 0; i < k->symbols.count; i++) {
        const char *name = cfamily_unique(p, k->symbols.at[i]->name);
        cfamily_bind(p, k->symbols.at[i], name);
        VEC_PUSH(l->a, l->integers, name);
    }
    for (int i = 0; i < k->scalars.count; i++) {
        const kernel_scalar *s = &k->scalars.at[i];
        const char *name = cfamily_unique(p, s->name);
        cfamily_bind(p, s->var ? (const void *)s->var : (const void *)s, name);
        if (s->var)
            VEC_PUSH(l->a, l->integers, name);
        else
            VEC_PUSH(l->a, l->floats, name);
    }
    for (int i = 0; i < l->integers.count; i++) {
        text_add(&sizes, "%slong long %s", i ? ", " : "", l->integers.at[i]);
        text_add(&values, "%s%s", i ? ", " : "", l->integers.at[i]);
        text_add(&all, "long long %s, ", l->integers.at[i]);
    }
    for (int i = 0, at = 0; i < k->scalars.count; i++)
        if (!k->scalars.at[i].var)
            text_add(&all, "%s %s, ", k->scalars.at[i].type == ELEMENT_BOOL ? "int" : "float", l->floats.at[at++]);
    text_add(&all, "void *stream");
    l->parameters = keep(l, &all);
    l->sizes = keep(l, &sizes);
    l->size_values = keep(l, &values);
}

static void add_choice(launcher *l) {
    text_buffer *b = &l->out;
    cfamily *p = &l->p;
    bool always = false;
    text_add(b, "/* Which variant is for these sizes; -1: none, or they are not allowed. */\nint variant(%s)\n{\n", l->sizes);
    for (int i = 0; i < l->k->symbols.count; i++)
        text_add(b, "    if (%s < 0 || %s > %lld)\n        return -1;\n", l->integers.at[i], l->integers.at[i],
                 (long long)cuda_limits()->largest_extent);
    for (int i = 0; i < l->plan->checks.count; i++) {
        const launch_check *check = &l->plan->checks.at[i];
        if (check->kind == CHECK_WHERE)
            text_add(b, "    if (!(%s))\n        return -1;\n", cfamily_cond(p, check->condition).text);
        if (check->kind != CHECK_SCALAR_RANGE)
            continue;
        index_var *v = check->scalar->var;
        const char *value = cfamily_index_text(p, ix_var(l->a, v));
        if (v->lo)
            text_add(b, "    if (%s < %s)\n        return -1;\n", value,
                     cfamily_wrap(p, cfamily_index(p, v->lo), PRECEDENCE_ADD));
        if (v->hi)
            text_add(b, "    if (%s > %s)\n        return -1;\n", value,
                     cfamily_wrap(p, cfamily_index(p, v->hi), PRECEDENCE_ADD));
    }
    for (int i = 0; i < l->k->scalars.count; i++)
        if (kernel_scalar_is_whole_type(&l->k->scalars.at[i])) {
            const char *name = cfamily_find(p, l->k->scalars.at[i].var)->text;
            text_add(b, "    if (%s != (%s)%s)\n        return -1;\n", name, cuda_scalar_type(l->k->scalars.at[i].type), name);
        }
    for (int i = 0; i < l->plan->variants.count && !always; i++) {
        const cond *c = l->plan->variants.at[i].predicate;
        always = !c || c->op == COND_TRUE;
        if (always)
            text_add(b, "    return %d;\n}\n\n", i);
        else
            text_add(b, "    if (%s)\n        return %d;\n", cfamily_cond(p, c).text, i);
    }
    text_add(b, "%s", always ? "" : "    return -1;\n}\n\n");
    text_add(b,
             "/* -1: too many. */\nlong long task_count(%s)\n{\n    long long tasks = 1;\n    bool fits = true, none = false;\n",
             l->sizes);
    text_add(b, "    switch (variant(%s)) {\n", l->size_values);
    for (int i = 0; i < l->plan->variants.count; i++) {
        const kernel_ir *k = l->plan->variants.at[i].kernel;
        text_add(b, "    case %d:\n", i);
        for (int d = 0; k->levels.count && d < k->levels.at[0].rank; d++)
            text_add(b,
                     "        none = none || %s <= 0;\n        fits = fits && !__builtin_mul_overflow(tasks, (long long)(%s), "
                     "&tasks);\n",
                     cfamily_wrap(p, cfamily_index(p, k->levels.at[0].extents[d]), PRECEDENCE_ADD),
                     cfamily_index_text(p, k->levels.at[0].extents[d]));
        text_add(b, "        break;\n");
    }
    text_add(b, "    default: return -1;\n    }\n    return none ? 0 : fits ? tasks : -1;\n}\n");
    bool said = false;
    for (int i = 0; i < l->plan->variants.count; i++) {
        if (!l->plan->variants.at[i].narrow)
            continue;
        if (!said) {
            text_add(b, "\n");
            gpu_elements_function(b, "long long");
            said = true;
        }
        text_add(b, "\n/* Whether integers of 32 bits hold every index. */\nbool narrow_%d(%s)\n{\n    return %s;\n}\n", i,
                 l->sizes,
                 gpu_fits_narrow_text(p, &l->plan->variants.at[i], arena_printf(p->arena, "task_count(%s)", l->size_values)));
    }
}

static void add_launch(launcher *l, const gpu_entry *e, const char *indent) {
    text_buffer *b = &l->out;
    const bool given = e->dynamic_bytes > 0; /* more shared memory than kernels may declare is asked for first */
    if (given)
        text_add(b, "%s{\n%s    cudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, %lld);\n", indent, indent,
                 e->name, (long long)e->dynamic_bytes);
    text_add(b, "%s%s%s<<<(unsigned)count, %lld, %lld, (cudaStream_t)stream>>>(", indent, given ? "    " : "", e->name,
             (long long)e->threads, (long long)e->dynamic_bytes);
    for (int i = 0; i < e->parameters.count; i++) {
        const gpu_parameter *q = &e->parameters.at[i];
        text_add(b, "%s%s", i ? ", " : "",
                 q->kind == GPU_ARRAY        ? l->arrays.at[q->position]
                 : q->kind == GPU_INTEGER    ? l->integers.at[q->position]
                 : q->kind == GPU_FIRST_TASK ? "first"
                                             : l->floats.at[q->position]);
    }
    text_add(b, ");\n");
    if (given)
        text_add(b, "%s}\n", indent);
}

/* The conditions of a form other than PLAIN. */
static void add_conditions(launcher *l, int variant, gpu_form f, const gpu_entry *e) {
    text_buffer *b = &l->out;
    const char *between = "";
    if (e->narrow) {
        text_add(b, "%s_host::narrow_%d(%s)", l->program->name, variant, l->size_values);
        between = " && ";
    }
    for (int d = 0; d < e->divided.count; d++, between = " && ")
        text_add(b, "%s%s %% %d == 0", between, l->integers.at[e->divided.at[d]], e->multiple);
    if (!gpu_form_is_aligned(f))
        return;
    text_add(b, "%s(0", between);
    for (int j = 0; j < l->arrays.count; j++)
        text_add(b, " | (size_t)%s", l->arrays.at[j]);
    text_add(b, ") %% %d == 0", GPU_ALIGNMENT);
}

static void add_entry(launcher *l) {
    text_buffer *b = &l->out;
    const char *name = l->program->name;
    text_add(b, "\nextern \"C\" int %s(%s)\n{\n", name, l->parameters);
    text_add(b, "    const long long tasks = %s_host::task_count(%s);\n    if (tasks < 0)\n        return -1;\n", name,
             l->size_values);
    text_add(b, "    for (long long first = 0; first < tasks; first += 2147483647) {\n");
    text_add(b, "        const long long count = tasks - first < 2147483647 ? tasks - first : 2147483647;\n");
    text_add(b, "        switch (%s_host::variant(%s)) {\n", name, l->size_values);
    for (int i = 0; i < l->program->variants; i++) {
        text_add(b, "        case %d:\n", i);
        bool first = true;
        for (int f = 0; f < GPU_PLAIN; f++) {
            const gpu_entry *e = &l->program->forms[f].at[i];
            if (!e->name)
                continue;
            text_add(b, "            %sif (", first ? "" : "else ");
            add_conditions(l, i, (gpu_form)f, e);
            text_add(b, ")\n");
            add_launch(l, e, "                ");
            first = false;
        }
        text_add(b, "%s", first ? "" : "            else\n    ");
        add_launch(l, &l->program->forms[GPU_PLAIN].at[i], "            ");
        text_add(b, "            break;\n");
    }
    text_add(b, "        }\n        if (const cudaError_t error = cudaGetLastError())\n            return (int)error;\n    }\n   "
                " return 0;\n}\n");
}

static const char *make_header(launcher *l) {
    text_buffer b = {0}, guard = {0};
    for (const char *c = l->program->name; *c; c++)
        text_add(&guard, "%c", toupper((unsigned char)*c));
    text_add(&b,
             "/* %s, written and proved by tilec. Compile %s.cu with nvcc --fmad=false and no option that relaxes arithmetic.\n",
             c_comment_text(l->a, l->plan->name), l->program->name);
    text_add(&b, " * Arrays are in the device's memory, row-major, without gaps, and none overlaps one that is written:\n");
    for (int i = 0; i < l->declared.count; i++) {
        text_buffer shape = {0};
        for (int d = 0; d < l->declared.at[i]->rank; d++) {
            text_add(&shape, "%s", d ? ", " : "");
            ix_print(&shape, l->declared.at[i]->dims[d]);
        }
        text_add(
            &b, " *   %s: %s\n", l->arrays.at[i],
            c_comment_text(l->a, c_describe_array(l->a, text_get(&shape), l->declared.at[i]->element, l->declared.at[i]->use)));
        text_free(&shape);
    }
    bool first = true;
    for (int i = 0; i < l->plan->checks.count; i++)
        if (l->plan->checks.at[i].kind == CHECK_INDEX_RANGE || l->plan->checks.at[i].kind == CHECK_INJECTIVE) {
            text_add(&b, "%s *   %s\n", first ? " * The caller must know of their data:\n" : "",
                     c_comment_text(l->a, l->plan->checks.at[i].text));
            first = false;
        }
    text_add(&b, " */\n#ifndef %s_H\n#define %s_H\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", text_get(&guard),
             text_get(&guard));
    text_add(&b, "/* Launches on `stream` (a cudaStream_t; NULL: the default one) and does not wait. 0; -1: sizes that are not "
                 "allowed; else a cudaError_t. */\n");
    text_add(&b, "int %s(%s);\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n", l->program->name, l->parameters);
    text_free(&guard);
    return c_wrap_lines(l->a, keep(l, &b));
}

/* Tensor maps are made by the runtime, which calls the driver for them; what is written here calls it for nothing. */
static bool takes_maps(const launch_plan *plan, const gpu_program *program, diag_list *diags) {
    for (int i = 0; i < program->variants; i++)
        for (int f = 0; f < GPU_FORMS; f++)
            if (program->forms[f].at[i].maps.count) {
                diag *g = diag_error(diags, "E0551", plan->variants.at[i].kernel->span,
                                     "what is built for target cuda can't copy in bulk (kernel %s)", plan->name);
                diag_caret(diags, g, "the nearest legal value is roles = none");
                return true;
            }
    return false;
}

bool cuda_build(const proved_plan *proved, const char *directory, diag_list *diags) {
    arena *a = arena_new();
    gpu_program program;
    bool ok = cuda_program(a, proved, &program, diags) && !takes_maps(proved_plan_get(proved), &program, diags) &&
              file_make_folders(directory, diags);
    if (ok) {
        launcher l = {.a = a, .plan = proved_plan_get(proved), .program = &program};
        l.k = l.plan->variants.at[0].kernel;
        l.p = (cfamily){.arena = a, .dialect = cuda_gpu.values, .diags = diags, .kernel = l.k};
        text_buffer text = {0};
        name_arguments(&l);
        add_choice(&l);
        const char *choice = keep(&l, &l.out);
        l.out = (text_buffer){0};
        add_entry(&l);
        const char *header = make_header(&l);
        text_add(&text,
                 "/* %s, written and proved by tilec; %s.h tells how to call it. */\n%s\n#ifndef __CUDACC_RTC__\n#include "
                 "\"%s.h\"\n\nnamespace %s_host {\n",
                 c_comment_text(a, l.plan->name), program.name, program.text, program.name, program.name);
        text_add(&text, "%s%s}\n%s#endif\n", text_get(&l.p.prelude), c_wrap_lines(a, choice), c_wrap_lines(a, text_get(&l.out)));
        ok = !l.p.failed && file_write(arena_printf(a, "%s/%s.h", directory, program.name), header, strlen(header), diags) &&
             file_write(arena_printf(a, "%s/%s.cu", directory, program.name), text_get(&text), text.length, diags);
        text_free(&l.p.prelude);
        text_free(&l.out);
        text_free(&text);
    }
    arena_free(a);
    return ok;
}
