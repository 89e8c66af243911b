/* From text to Tile IR. */
#include "lang/lang.h"
#include "lang/build.h"
#include <string.h>

static const char *const kind_words[] = {"a kernel", "a function", "a combine", "a program", "a schedule", "an intrinsic"};

/* Kernels, programs, functions and combines share one name space. */
static void check_names(module_builder *m) {
    for (int i = 0; i < m->syntax.items.count; i++) {
        const declaration *d = m->syntax.items.at[i];
        for (int j = 0; j < i && d->kind != DECLARE_SCHEDULE; j++) {
            const declaration *old = m->syntax.items.at[j];
            if (old->kind == DECLARE_SCHEDULE || strcmp(old->name, d->name))
                continue;
            diag *g = diag_error(m->diags, "E0203", d->span, "`%s` is %s already", d->name, kind_words[old->kind]);
            diag_caret(m->diags, g, "choose another name");
            diag_note(m->diags, g, "`%s` was declared in line %d", d->name, old->span.line);
            break;
        }
    }
}

tile_module *lang_load(arena *a, const char *file, const char *text, diag_list *diags) {
    int errors = diags->errors;
    diag_add_source(diags, file, text);
    module_builder m = {.arena = a, .diags = diags, .file = file};
    m.module = NEW(a, tile_module);
    m.module->arena = a;
    lang_parse(a, file, text, diags, &m.syntax);
    check_names(&m);
    lang_check_functions(&m);
    lang_declare_intrinsics(&m);
    static const declaration_kind order[] = {DECLARE_KERNEL, DECLARE_PROGRAM, DECLARE_SCHEDULE};
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < m.syntax.items.count && diags->errors - errors < MAX_ERRORS; i++) {
            const declaration *d = m.syntax.items.at[i];
            if (d->kind != order[pass])
                continue;
            if (d->kind == DECLARE_KERNEL)
                lang_build_kernel(&m, d);
            else if (d->kind == DECLARE_PROGRAM)
                lang_build_program(&m, d);
            else
                lang_build_schedule(&m, d);
        }
    return diags->errors == errors ? m.module : NULL;
}
