/* Rows against expected facts. */
#include "base/file.h"
#include "bench/report.h"
#include <math.h>
#include <string.h>

/* A text of a fact that is not given fits every row. */
static bool fits(const json_t *fact, const char *key, const char *value) {
    const char *wanted = json_string_value(json_object_get(fact, key));
    return !wanted || !strcmp(wanted, value);
}

static bool matches(const view *v, const json_t *fact, const view_entry *e) {
    const json_t *threads = json_object_get(fact, "threads");
    return !*e->lever && fits(fact, "kernel", e->kernel) &&
           (fits(fact, "shape", e->shape) || fits(fact, "shape", view_shape_name(v, e))) &&
           (fits(fact, "arm", e->arm) || fits(fact, "arm", view_arm_name(v, e))) && fits(fact, "mode", e->mode) &&
           fits(fact, "environment", e->environment) && (!json_is_integer(threads) || json_integer_value(threads) == e->threads);
}

/* The first thing that the row refutes; NULL when it holds. Arena text. */
static const char *refuted(arena *a, const json_t *fact, const view_entry *e) {
    double percent = row_number(json_object_get(e->row, "ceiling"), "percent");
    double ratio_most = row_number(fact, "ratio_at_most"), ratio_least = row_number(fact, "ratio_at_least"),
           share = row_number(fact, "percent_at_least");
    const char *status = json_string_value(json_object_get(fact, "status")),
               *verdict = json_string_value(json_object_get(fact, "verdict"));
    if (strcmp(row_text(e->row, "status"), status ? status : "pass"))
        return arena_printf(a, "its status is %s", row_text(e->row, "status"));
    if (e->stale)
        return "the row is stale";
    /* the interval has to lie on the wrong side as a whole: noise refutes nothing */
    if (!isnan(ratio_least) && !(e->high >= ratio_least))
        return arena_printf(a, "the ratio is %.2f [%.2f, %.2f], under %.2f", e->ratio, e->low, e->high, ratio_least);
    if (!isnan(ratio_most) && !(e->low <= ratio_most))
        return arena_printf(a, "the ratio is %.2f [%.2f, %.2f], over %.2f", e->ratio, e->low, e->high, ratio_most);
    if (!isnan(share) && !(percent >= share))
        return arena_printf(a, "it reaches %.0f%% of the ceiling, under %.0f%%", percent, share);
    if (verdict && strcmp(verdict, e->verdict))
        return arena_printf(a, "the verdict is %s, not %s", *e->verdict ? e->verdict : "none", verdict);
    return NULL;
}

bool report_verify(const view *v, const char *path, text_buffer *out, diag_list *diags) {
    size_t length, i;
    const char *text = file_read(diags->arena, path, FILE_SOURCE_LIMIT, &length, diags);
    json_error_t error;
    json_t *o = text ? json_loadb(text, length, 0, &error) : NULL, *fact;
    if (!text)
        return false;
    if (!o || !json_is_array(json_object_get(o, "facts"))) {
        diag_error(diags, "E1020", (source_span){.file = path, .line = o ? 0 : error.line, .column = 1, .length = 1},
                   "this is no list of facts: %s", o ? "\"facts\" is missing" : error.text);
        json_decref(o);
        return false;
    }
    int held = 0, all = 0;
    json_array_foreach(json_object_get(o, "facts"), i, fact) {
        int rows = 0;
        const char *why = NULL;
        const view_entry *witness = NULL;
        bool loaded = false;
        for (int n = 0; n < v->entries.count && !why; n++) {
            const view_entry *e = &v->entries.at[n];
            if (!matches(v, fact, e))
                continue;
            rows++;
            loaded = loaded || e->loaded;
            why = refuted(diags->arena, fact, e);
            witness = e;
        }
        const char *name = *row_text(fact, "fact") ? row_text(fact, "fact") : arena_printf(diags->arena, "fact %d", (int)i + 1);
        all++;
        if (rows && !why) {
            held++;
            text_add(out, "holds    %s (%d row%s%s)\n", name, rows, rows == 1 ? "" : "s", loaded ? ", machine loaded" : "");
            continue;
        }
        text_add(out, "%s  %s\n", rows ? "REFUTED" : "NO ROW ", name);
        diag *g = diag_error(diags, "E1008", (source_span){.file = path}, "%s: %s", name, rows ? why : "no row tells it");
        if (witness)
            diag_note(diags, g, "%s, %s, %d thread%s, %s%s", witness->kernel, view_shape_name(v, witness), witness->threads,
                      witness->threads == 1 ? "" : "s", view_arm_name(v, witness),
                      witness->loaded ? ", on a loaded machine" : "");
        if (*row_text(fact, "source"))
            diag_note(diags, g, "expected because: %s", row_text(fact, "source"));
    }
    text_add(out, "%d of %d facts hold\n", held, all);
    json_decref(o);
    return held == all;
}
