/* tilec cache: the compiled kernels kept on disk. */
#include "command/command.h"
#include "run/run.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void free_entries(cache_entry *entries, int count) {
    for (int i = 0; i < count; i++)
        free(entries[i].description);
    free(entries);
}

/* The first line of a description says which kernel; the rest what it was made from. */
static int first_line(const char *text) {
    return (int)strcspn(text, "\n");
}

static const char *time_text(int64_t at, char *out, size_t size) {
    time_t t = (time_t)at;
    struct tm parts;
    if (!localtime_r(&t, &parts) || !strftime(out, size, "%Y-%m-%d %H:%M", &parts))
        snprintf(out, size, "?");
    return out;
}

static json_t *entry_json(const cache_entry *e) {
    return json_pack("{s:s, s:s, s:I, s:I}", "key", e->key, "description", e->description ? e->description : "", "bytes",
                     (json_int_t)e->bytes, "used_at", (json_int_t)e->used_at);
}

static bool list_entries(report *r, const cache_entry *entries, int count, const char *folder) {
    int64_t total = 0;
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        char when[32];
        total += entries[i].bytes;
        if (r->json)
            json_array_append_new(list, entry_json(&entries[i]));
        else
            printf("%.12s  %8.1f KB  %s  %.*s\n", entries[i].key, (double)entries[i].bytes / 1024,
                   time_text(entries[i].used_at, when, sizeof when),
                   entries[i].description ? first_line(entries[i].description) : 0,
                   entries[i].description ? entries[i].description : "");
    }
    if (r->json)
        json_object_set(r->json, "entries", list);
    else
        printf("%d compiled kernel%s, %.1f KB, in %s\n", count, count == 1 ? "" : "s", (double)total / 1024, folder);
    json_decref(list);
    return true;
}

static bool explain_entry(report *r, const cache_entry *entries, int count, const char *key) {
    int found = -1, matches = 0;
    for (int i = 0; i < count; i++)
        if (strncmp(entries[i].key, key, strlen(key)) == 0) {
            found = i;
            matches++;
        }
    if (matches != 1) {
        diag *g = diag_error(&r->diags, "E0871", (source_span){0}, "%s with `%s`",
                             matches ? "several entries begin" : "no entry begins", key);
        diag_note(&r->diags, g, "`tilec cache list` shows the keys");
        return false;
    }
    char when[32];
    if (r->json)
        json_object_set_new(r->json, "entry", entry_json(&entries[found]));
    else
        printf("%s\n%" PRId64 " bytes, last used %s\n%s\n", entries[found].key, entries[found].bytes,
               time_text(entries[found].used_at, when, sizeof when),
               entries[found].description ? entries[found].description : "");
    return true;
}

int command_cache(const command_line *line) {
    report r;
    report_begin(&r, line);
    const char *what = line->positional_count ? line->positional[0] : "list";
    bool is_list = strcmp(what, "list") == 0, is_explain = strcmp(what, "explain") == 0, is_prune = strcmp(what, "prune") == 0;
    int wanted = is_explain ? 2 : 1;
    if ((!is_list && !is_explain && !is_prune) || line->positional_count > wanted || (is_explain && line->positional_count < 2)) {
        diag *g = diag_error(&r.diags, "E0860", (source_span){0}, "cache: list, explain KEY or prune");
        if (is_explain)
            diag_note(&r.diags, g, "the key's first digits are enough: `tilec cache list` shows them");
        return report_end(&r, false);
    }
    text_buffer why = {0};
    char *folder = cache_directory(&why);
    bool held = folder != NULL;
    if (!folder) {
        diag *g = diag_error(&r.diags, "E0872", (source_span){0}, "there is no usable cache folder: %s", text_get(&why));
        diag_note(&r.diags, g, "set TILEC_CACHE to one that can be written");
    }
    text_free(&why);
    if (held && is_prune) {
        int64_t megabytes = 0;
        held = !option_given(line, "--keep") || option_integer("--keep", option_value(line, "--keep"), &megabytes, &r.diags);
        if (held && (megabytes < 0 || megabytes > INT64_MAX / 1048576)) {
            diag_error(&r.diags, "E0860", (source_span){0}, "--keep: 0 or more megabytes");
            held = false;
        }
        int gone = held ? cache_prune(megabytes * 1048576) : 0;
        if (r.json)
            json_object_set_new(r.json, "removed", json_integer(gone));
        else if (held)
            printf("%d compiled kernel%s removed from %s\n", gone, gone == 1 ? "" : "s", folder);
    } else if (held) {
        cache_entry *entries = NULL;
        int count = cache_list(&entries);
        held = is_list ? list_entries(&r, entries, count, folder) : explain_entry(&r, entries, count, line->positional[1]);
        free_entries(entries, count);
    }
    free(folder);
    return report_end(&r, held);
}
