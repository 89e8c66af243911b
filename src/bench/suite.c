/* Suites. */
#include "bench/suite.h"
#include "base/file.h"
#include "bench/machine.h"
#include "lift/source.h"
#include <stdlib.h>
#include <string.h>

static bool parse_threads(const char *text, int *out) {
    char *end;
    if (!strcmp(text, "all")) {
        *out = machine_processors();
        return true;
    }
    long n = strtol(text, &end, 10);
    *out = (int)n;
    return end != text && !*end && n >= 1 && n <= 1024;
}

bool suite_add(arena *a, suite *s, const lab_cell *like, const char *const *shapes, int shape_count, const char *threads,
               diag_list *diags) {
    VEC(int) counts = {0};
    for (const char *at = threads ? threads : machine_processors() > 1 ? "1,all" : "1"; *at;) {
        size_t n = strcspn(at, ",");
        int count;
        if (!parse_threads(arena_strndup(a, at, n), &count)) {
            diag_error(diags, "E1010", (source_span){0}, "threads: `%.*s` is neither a number nor `all`", (int)n, at);
            return false;
        }
        bool known = false;
        for (int i = 0; i < counts.count; i++)
            known = known || counts.at[i] == count;
        if (!known)
            VEC_PUSH(a, counts, count);
        at += n + (at[n] == ',');
    }
    for (int t = 0; t < counts.count; t++)
        for (int i = 0; i < (shape_count ? shape_count : 1); i++) {
            lab_cell cell = *like;
            cell.threads = counts.at[t];
            cell.shape = shape_count ? shapes[i] : "";
            VEC_PUSH(a, s->cells, cell);
        }
    return true;
}

/* The words of an arm, "{here}" replaced. */
static const char *arm_words(arena *a, const char *text, const char *folder) {
    const char *here = strstr(text, "{here}");
    return here ? arena_printf(a, "%.*s%s%s", (int)(here - text), text, folder, here + strlen("{here}")) : arena_strdup(a, text);
}

static const char *words(arena *a, const json_t *o, const char *key) {
    const char *text = json_string_value(json_object_get(o, key));
    return arena_strdup(a, text ? text : "");
}

/* A path, "{here}" replaced; NULL: none is given. */
static const char *path_words(arena *a, const json_t *o, const char *key, const char *folder) {
    const char *text = json_string_value(json_object_get(o, key));
    return text ? arm_words(a, text, folder) : NULL;
}

static bool add_entry(arena *a, suite *s, const json_t *entry, const char *folder, const char *path, diag_list *diags) {
    lab_cell cell = {0};
    const char *kernel = json_string_value(json_object_get(entry, "kernel")),
               *arguments = json_string_value(json_object_get(entry, "arguments"));
    const json_t *shapes = json_object_get(entry, "shapes"), *arms = json_object_get(entry, "arms"),
                 *threads = json_object_get(entry, "threads"), *modes = json_object_get(entry, "modes");
    VEC(const char *) shape_list = {0};
    text_buffer thread_list = {0};
    bool foreign = false; /* with a shape of its own */
    json_t *item;
    size_t i;
    json_array_foreach(shapes, i, item) {
        const char *text = arena_strdup(a, json_string_value(item) ? json_string_value(item) : "");
        VEC_PUSH(a, shape_list, text);
    }
    json_array_foreach(arms, i, item) {
        const char *text = arm_words(a, json_string_value(item) ? json_string_value(item) : "", folder);
        VEC_PUSH(a, cell.arms, text);
    }
    json_array_foreach(threads, i, item) {
        text_add(&thread_list, "%s", i ? "," : "");
        if (json_is_string(item))
            text_add(&thread_list, "%s", json_string_value(item));
        else
            text_add(&thread_list, "%lld", (long long)json_integer_value(item));
    }
    cell.file = path_words(a, entry, "file", folder);
    json_array_foreach(json_object_get(entry, "beside"), i, item) {
        lab_beside b = {words(a, item, "kernel"), path_words(a, item, "file", folder), words(a, item, "shape"),
                        words(a, item, "arguments")};
        source_language other;
        if (b.file && *b.kernel && source_language_of(b.file, &other)) { /* of the cell's own meaning, on its data: an arm */
            foreign = foreign || *b.shape || *b.arguments;
            VEC_PUSH(a, cell.arms, arena_printf(a, "read:%s:%s", b.file, b.kernel));
        } else {
            VEC_PUSH(a, cell.beside, b);
        }
    }
    if (foreign) {
        diag_error(diags, "E1020", (source_span){.file = path},
                   "\"beside\" of `%s`: a kernel in another language has the cell's own shape and arguments",
                   kernel ? kernel : "");
        return false;
    }
    VEC(const char *) lever_list = {0};
    json_array_foreach(json_object_get(entry, "levers"), i, item) {
        const char *text = arena_strdup(a, json_string_value(item) ? json_string_value(item) : "");
        VEC_PUSH(a, lever_list, text);
    }
    bool good = kernel && cell.arms.count;
    if (!good)
        diag_error(diags, "E1020", (source_span){.file = path}, "a cell of the suite lacks \"kernel\" or \"arms\"");
    for (int b = 0; b < cell.beside.count; b++)
        if (good && (!*cell.beside.at[b].kernel || shape_list.count != 1 || lever_list.count)) {
            diag_error(diags, "E1020", (source_span){.file = path},
                       "\"beside\" of `%s`: kernels, for a cell of one shape without levers", kernel);
            good = false;
        }
    good = good && (!lever_list.count || suite_levers(a, &cell, lever_list.at, lever_list.count, diags));
    cell.kernel = arena_strdup(a, kernel ? kernel : "");
    cell.arguments = arena_strdup(a, arguments ? arguments : "");
    size_t mode_count = json_array_size(modes);
    for (size_t m = 0; good && m < (mode_count ? mode_count : 1); m++) {
        const char *mode = mode_count ? json_string_value(json_array_get(modes, m)) : "warm";
        cell.cold = mode && !strcmp(mode, "cold");
        good = suite_add(a, s, &cell, shape_list.at, shape_list.count, thread_list.length ? text_get(&thread_list) : NULL, diags);
    }
    text_free(&thread_list);
    return good;
}

bool suite_read(arena *a, const char *path, suite *out, diag_list *diags) {
    size_t length, i;
    const char *text = file_read(a, path, FILE_SOURCE_LIMIT, &length, diags);
    json_error_t error;
    json_t *o = text ? json_loadb(text, length, 0, &error) : NULL, *entry;
    if (!text)
        return false;
    path = arena_strdup(a, path);
    if (!o) {
        diag_error(diags, "E1020", (source_span){path, error.line, error.column > 0 ? error.column : 1, 1},
                   "this is not JSON: %s", error.text);
        return false;
    }
    const char *slash = strrchr(path, '/'), *folder = slash ? arena_strndup(a, path, (size_t)(slash - path)) : ".";
    const json_t *cells = json_object_get(o, "cells");
    bool good = json_array_size(cells) > 0;
    if (!good)
        diag_error(diags, "E1020", (source_span){.file = path}, "the suite has no \"cells\"");
    json_array_foreach(cells, i, entry) good = good && add_entry(a, out, entry, folder, path, diags);
    json_decref(o);
    return good;
}

bool suite_shard(suite *s, const char *text, diag_list *diags) {
    char *end;
    long share = strtol(text, &end, 10), of = *end == '/' ? strtol(end + 1, &end, 10) : 0;
    if (*end || share < 1 || of < share) {
        diag_error(diags, "E1010", (source_span){0}, "--shard %s: I/N is wanted, 1/N to N/N", text);
        return false;
    }
    int kept = 0;
    for (int i = 0; i < s->cells.count; i++)
        if (i % of == share - 1)
            s->cells.at[kept++] = s->cells.at[i];
    s->cells.count = kept;
    return true;
}
