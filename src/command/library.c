#include "command/library.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static const struct {
    const char *name;
    const char *const *lines; /* NULL behind them */
} built_in[] = {
#include "kernels.inc"
};

static void list_built_in(report *r, library_texts *out) {
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++) {
        text_buffer b = {0};
        for (const char *const *line = built_in[i].lines; *line; line++)
            text_add(&b, "%s", *line);
        library_text one = {arena_printf(r->arena, "kernels/%s", built_in[i].name), arena_strdup(r->arena, text_get(&b))};
        VEC_PUSH(r->arena, *out, one);
        text_free(&b);
    }
}

bool library_list(report *r, library_texts *out) {
    const char *folder = command_kernels_folder(r->arena);
    if (!folder) {
        list_built_in(r, out);
        return true;
    }
    DIR *d = opendir(folder);
    if (!d) {
        diag_error(&r->diags, "E0863", (source_span){0}, "%s cannot be read", folder);
        return false;
    }
    VEC(const char *) names = {0};
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n > 5 && strcmp(e->d_name + n - 5, ".tile") == 0)
            VEC_PUSH(r->arena, names, arena_printf(r->arena, "%s/%s", folder, e->d_name));
    }
    closedir(d);
    if (names.count)
        qsort(names.at, (size_t)names.count, sizeof *names.at, by_name);
    else
        diag_error(&r->diags, "E0863", (source_span){0}, "%s has no .tile files", folder);
    for (int i = 0; i < names.count; i++)
        VEC_PUSH(r->arena, *out, ((library_text){names.at[i], NULL}));
    return names.count > 0;
}

bool library_load(report *r, kernel_library *out) {
    library_texts texts = {0};
    bool good = library_list(r, &texts);
    for (int i = 0; i < texts.count; i++) {
        const tile_module *m = compile_load(r->arena, texts.at[i].path, texts.at[i].text, &r->diags);
        good = good && m;
        if (!m)
            continue;
        VEC_PUSH(r->arena, out->modules, m);
        VEC_PUSH(r->arena, out->paths, texts.at[i].path);
    }
    return good;
}

const tile_module *library_find(const kernel_library *l, const char *name, diag_list *diags) {
    for (int i = 0; i < l->modules.count; i++)
        if (tile_find_program(l->modules.at[i], name) || tile_find_kernel(l->modules.at[i], name))
            return l->modules.at[i];
    diag_error(diags, "E0646", (source_span){0}, "no kernel `%s` in the kernels folder", name);
    return NULL;
}
