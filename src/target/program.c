/* Programs as targets build them: what their calls' symbols are worth. */
#include "target/program.h"
#include "target/c_plan.h"
#include <string.h>

index_expr *program_expression(arena *a, const program_build *p, index_expr *x) {
    for (int i = 0; i < p->program->symbols.count; i++) {
        const index_var *v = p->program->symbols.at[i];
        for (int j = 0; v->kind == INDEX_STATIC && j < p->static_count; j++)
            if (!strcmp(p->statics[j].name, v->name))
                x = ix_substitute(a, x, v, ix_const(a, p->statics[j].value));
    }
    return x;
}

index_expr *program_symbol(arena *a, const program_build *p, const tile_call *call, int symbol) {
    index_expr *x = symbol < call->symbols.count ? call->symbols.at[symbol] : NULL;
    return x ? program_expression(a, p, x) : NULL;
}

bool target_build_program(const target *t, const program_build *p, const char *directory, diag_list *diags) {
    if (t->build == c_build)
        return c_build_program(p, directory, diags);
    diag *g =
        diag_error(diags, "E0868", p->program->span, "target %s builds kernels, and %s is a program", t->name, p->program->name);
    for (int i = 0; i < p->program->calls.count; i++)
        diag_note(diags, g, "--kernel %s", p->program->calls.at[i]->kernel->name);
    return false;
}
