/* Running a whole plan: its checks, the variant whose predicate holds, its kernels in order with the workspaces between them. */
#include "sim/machine.h"
#include <stdlib.h>
#include <string.h>

typedef struct plan_values {
    const kernel_ir *kernel; /* the first variant's, whose order the arguments follow */
    const sim_arguments *args;
} plan_values;

/* Launch values go by name from kernel to kernel. */
static bool value_by_name(const plan_values *p, const char *name, int64_t *integer, float *number) {
    int next = p->kernel->symbols.count, next_float = 0;
    for (int i = 0; i < p->kernel->symbols.count; i++)
        if (!strcmp(p->kernel->symbols.at[i]->name, name)) {
            *integer = p->args->integers[i];
            return true;
        }
    for (int i = 0; i < p->kernel->scalars.count; i++) {
        const kernel_scalar *s = &p->kernel->scalars.at[i];
        bool same = !strcmp(s->name, name);
        if (same && s->var)
            *integer = p->args->integers[next];
        else if (same)
            *number = p->args->floats[next_float];
        if (same)
            return true;
        next += s->var != NULL;
        next_float += s->var == NULL;
    }
    return false;
}

static bool look_up(void *context, const index_var *v, int64_t *value) {
    float number;
    return v->name && value_by_name(context, v->name, value, &number);
}

static bool missing(diag_list *diags, const kernel_ir *k, const char *name) {
    diag_error(diags, "E0711", k->span, "kernel `%s` of the plan needs `%s`, which the launch does not give", k->name, name);
    return false;
}

typedef struct workspace {
    const char *name;
    sim_binding binding;
} workspace;
typedef struct plan_run {
    arena *a;
    plan_values values;
    VEC(workspace) workspaces;
} plan_run;

static sim_binding *workspace_of(plan_run *r, const char *name, int64_t size) {
    for (int i = 0; i < r->workspaces.count; i++)
        if (!strcmp(r->workspaces.at[i].name, name))
            return &r->workspaces.at[i].binding;
    workspace w = {name, {calloc((size_t)(size > 0 ? size : 1), 1), size, calloc((size_t)(size > 0 ? size : 1), 1)}};
    VEC_PUSH(r->a, r->workspaces, w);
    return &r->workspaces.at[r->workspaces.count - 1].binding;
}

static bool run_one(plan_run *r, const kernel_ir *k, const sim_options *options, sim_report *report, diag_list *diags) {
    const kernel_ir *first = r->values.kernel;
    int64_t *integers = NEW_ARRAY(r->a, int64_t, k->symbols.count + k->scalars.count), integer = 0;
    float *floats = NEW_ARRAY(r->a, float, k->scalars.count), number = 0;
    sim_binding *bindings = NEW_ARRAY(r->a, sim_binding, k->arrays.count);
    int next = k->symbols.count, next_float = 0;
    for (int i = 0; i < k->symbols.count; i++)
        if (!value_by_name(&r->values, k->symbols.at[i]->name, &integers[i], &number))
            return missing(diags, k, k->symbols.at[i]->name);
    for (int i = 0; i < k->scalars.count; i++) {
        if (!value_by_name(&r->values, k->scalars.at[i].name, &integer, &number))
            return missing(diags, k, k->scalars.at[i].name);
        if (k->scalars.at[i].var)
            integers[next++] = integer;
        else
            floats[next_float++] = number;
    }
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *array = k->arrays.at[i];
        if (array->space != SPACE_GLOBAL || array->view_of)
            continue;
        bool found = false;
        for (int j = 0, at = 0; j < first->arrays.count && !found; j++)
            if (first->arrays.at[j]->space == SPACE_GLOBAL) {
                if (!strcmp(first->arrays.at[j]->name, array->name) && first->arrays.at[j]->use != USE_WORKSPACE) {
                    bindings[i].bytes = r->values.args->arrays[at];
                    bindings[i].size = sim_array_bytes(first, first->arrays.at[j], r->values.args->integers);
                    found = true;
                }
                at++;
            }
        if (!found && (array->use == USE_IN || array->use == USE_UPDATE)) {
            /* a workspace that an earlier kernel filled may be an input here */
            for (int j = 0; j < r->workspaces.count && !found; j++)
                found = !strcmp(r->workspaces.at[j].name, array->name);
            if (!found)
                return missing(diags, k, array->name);
            bindings[i] = *workspace_of(r, array->name, 0);
        } else if (!found) {
            bindings[i] = *workspace_of(r, array->name, sim_array_bytes(k, array, integers));
            if (!bindings[i].bytes || !bindings[i].written) {
                diag_error(diags, "E0710", array->span, "no memory for the workspace `%s`", array->name);
                return false;
            }
        }
    }
    return sim_run_bound(r->a, k, bindings, integers, floats, options, report, diags);
}

static bool run_variant(plan_run *r, const launch_plan *plan, const sim_options *options, sim_report *report, diag_list *diags) {
    const plan_variant *chosen = NULL;
    bool holds;
    for (int i = 0; i < plan->checks.count; i++) {
        const launch_check *c = &plan->checks.at[i];
        if (c->kind == CHECK_WHERE && (!cond_eval(c->condition, look_up, &r->values, &holds) || !holds)) {
            diag_error(diags, "E0711", plan->variants.at[0].kernel->span, "the launch breaks the plan's check: %s",
                       c->text ? c->text : "a condition");
            return false;
        }
    }
    for (int i = 0; i < plan->variants.count; i++) {
        const plan_variant *v = &plan->variants.at[i];
        if (v->predicate && (!cond_eval(v->predicate, look_up, &r->values, &holds) || !holds))
            continue;
        if (chosen) {
            diag_error(diags, "E0711", v->kernel->span, "more than one variant of the plan holds for this launch");
            return false;
        }
        chosen = v;
    }
    if (!chosen) {
        diag_error(diags, "E0711", plan->variants.at[0].kernel->span, "no variant of the plan holds for this launch");
        return false;
    }
    for (int i = 0; i < chosen->before.count; i++)
        if (!run_one(r, chosen->before.at[i], options, report, diags))
            return false;
    return run_one(r, chosen->kernel, options, report, diags);
}

bool sim_run_plan(arena *a, const launch_plan *plan, const sim_arguments *args, const sim_options *options, sim_report *report,
                  diag_list *diags) {
    memset(report, 0, sizeof *report);
    if (!plan->variants.count)
        return false;
    plan_run r = {.a = a, .values = {plan->variants.at[0].kernel, args}};
    bool fine = run_variant(&r, plan, options, report, diags);
    for (int i = 0; i < r.workspaces.count; i++) {
        free(r.workspaces.at[i].binding.bytes);
        free(r.workspaces.at[i].binding.written);
    }
    return fine;
}
