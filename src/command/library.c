#include "command/library.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

bool library_load(report *r, kernel_library *out) {
    const char *folder = command_kernels_folder(r->arena, &r->diags);
    DIR *d = folder ? opendir(folder) : NULL;
    if (!d) {
        if (folder)
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
    bool good = names.count > 0;
    if (!good)
        diag_error(&r->diags, "E0863", (source_span){0}, "%s has no .tile files", folder);
    for (int i = 0; i < names.count; i++) {
        const tile_module *m = compile_load(r->arena, names.at[i], NULL, &r->diags);
        good = good && m;
        if (!m)
            continue;
        VEC_PUSH(r->arena, out->modules, m);
        VEC_PUSH(r->arena, out->paths, names.at[i]);
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
