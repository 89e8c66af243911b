/* tilec kernels: what comes with tilec, listed or written to a folder. */
#include "base/file.h"
#include "command/library.h"
#include <string.h>

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool copy(report *r, const library_text *t, const char *folder) {
    size_t length = t->text ? strlen(t->text) : 0;
    const char *text = t->text ? t->text : file_read(r->arena, t->path, FILE_SOURCE_LIMIT, &length, &r->diags);
    return text && file_write(arena_printf(r->arena, "%s/%s", folder, file_name(t->path)), text, length, &r->diags);
}

int command_kernels(const command_line *line) {
    if (line->positional_count)
        return command_kernels_of(line);
    report r;
    report_begin(&r, line);
    library_texts texts = {0};
    const char *folder = option_value(line, "-o");
    bool held = library_list(&r, &texts) && (!folder || file_make_folders(folder, &r.diags));
    json_t *list = json_array();
    for (int i = 0; held && i < texts.count; i++) {
        const tile_module *m = compile_load(r.arena, texts.at[i].path, texts.at[i].text, &r.diags);
        json_t *names = json_array();
        for (int k = 0; m && k < m->kernels.count; k++)
            json_array_append_new(names, json_string(m->kernels.at[k]->name));
        for (int p = 0; m && p < m->programs.count; p++)
            json_array_append_new(names, json_string(m->programs.at[p]->name));
        held = m && (!folder || copy(&r, &texts.at[i], folder));
        if (held && !r.json) {
            printf("%s%s%-18s", folder ? folder : "", folder ? "/" : "", file_name(texts.at[i].path));
            for (size_t n = 0; n < json_array_size(names); n++)
                printf("%s%s", n ? ", " : " ", json_string_value(json_array_get(names, n)));
            printf("\n");
        }
        json_array_append_new(list, json_pack("{s:s, s:o}", "file", file_name(texts.at[i].path), "defines", names));
    }
    if (r.json)
        json_object_set(r.json, "kernels", list);
    json_decref(list);
    return report_end(&r, held);
}
