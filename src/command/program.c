/* Programs of several kernels: each call's kernel compiled for the statics that the call gives it. */
#include "command/program.h"
#include <string.h>

/* The values of the program's statics: --shape, or their defaults. */
static bool program_statics(const tile_program *p, const compile_options *o, arena *a, program_build *out, diag_list *diags) {
    tile_binding *values = NEW_ARRAY(a, tile_binding, p->symbols.count + 1);
    for (int i = 0; i < p->symbols.count; i++) {
        const index_var *v = p->symbols.at[i];
        bool known = v->has_value;
        tile_binding one = {v->name, v->value};
        for (int j = 0; v->kind == INDEX_STATIC && j < o->static_count; j++)
            if (!strcmp(o->statics[j].name, v->name)) {
                one.value = o->statics[j].value;
                known = true;
            }
        if (v->kind != INDEX_STATIC)
            continue;
        if (!known) {
            diag *g = diag_error(diags, "E0510", p->span, "%s needs a value for `static %s`", p->name, v->name);
            diag_note(diags, g, "--shape %s=..", v->name);
            return false;
        }
        values[out->static_count++] = one;
    }
    out->statics = values;
    return true;
}

bool program_compile(report *r, const tile_module *m, const tile_program *p, compile_options o, program_build *out,
                     double *proof_ms) {
    arena *a = r->arena;
    program_build b = {.program = p};
    const proved_plan **plans = NEW_ARRAY(a, const proved_plan *, p->calls.count + 1);
    compiled_kernel *compiled = NEW_ARRAY(a, compiled_kernel, p->calls.count + 1);
    b.plans = plans;
    *proof_ms = 0;
    if (!program_statics(p, &o, a, &b, &r->diags))
        return false;
    for (int i = 0; i < p->calls.count; i++) {
        const tile_call *call = p->calls.at[i];
        const tile_kernel *k = call->kernel;
        tile_binding *statics = NEW_ARRAY(a, tile_binding, k->symbols.count + 1);
        int count = 0;
        for (int s = 0; s < k->symbols.count; s++) {
            int64_t value;
            if (k->symbols.at[s]->kind != INDEX_STATIC)
                continue;
            index_expr *x = program_symbol(a, &b, call, s);
            if (!x || !ix_is_const(x, &value)) {
                diag *g = diag_error(&r->diags, "E0868", call->span, "%s is compiled for one `%s`, and program %s leaves it open",
                                     k->name, k->symbols.at[s]->name, p->name);
                diag_note(&r->diags, g, "declare the extent `static` in the program, too");
                return false;
            }
            statics[count++] = (tile_binding){k->symbols.at[s]->name, value};
        }
        for (int j = 0; j < i && !plans[i]; j++) {
            bool same = p->calls.at[j]->kernel == k && compiled[j].statics.count == count;
            for (int s = 0; same && s < count; s++)
                for (int u = 0; u < count; u++)
                    same = same && (strcmp(compiled[j].statics.at[u].name, statics[s].name) ||
                                    compiled[j].statics.at[u].value == statics[s].value);
            if (same) {
                plans[i] = plans[j];
                compiled[i] = compiled[j];
            }
        }
        if (plans[i])
            continue;
        o.statics = statics;
        o.static_count = count;
        if (!compile_kernel(a, m, k, &o, &compiled[i], &r->diags))
            return false;
        plans[i] = compiled[i].plan;
        *proof_ms += compiled[i].proof.milliseconds;
    }
    *out = b;
    return true;
}
