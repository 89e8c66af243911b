/* The short table: a line for each piece of work, a column for each arm that ours was compared with. */
#include "bench/report.h"
#include "bench/text.h"
#include <string.h>

enum { MOST_COLUMNS = 6 };

static bool same_work(const view_entry *x, const view_entry *y) {
    return !strcmp(x->kernel, y->kernel) && !strcmp(x->shape, y->shape) && !strcmp(x->arguments, y->arguments) &&
           !strcmp(x->mode, y->mode) && !strcmp(x->environment, y->environment) && x->threads == y->threads;
}

static void add_ratio(text_buffer *out, const view_entry *e) {
    if (!e)
        text_add(out, " | ");
    else if (!e->timed)
        text_add(out, " | %s", row_text(e->row, "status"));
    else if (!strcmp(e->verdict, "inconclusive"))
        text_add(out, " | INCONCLUSIVE [%.2f, %.2f]", e->low, e->high);
    else
        text_add(out, " | **%.2f** [%.2f, %.2f]", e->ratio, e->low, e->high);
}

static void add_line(text_buffer *out, const view *v, const view_entry *first, const char *const *columns, int count) {
    const view_entry *ratios[MOST_COLUMNS] = {NULL}, *ours = first;
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        if (*e->lever || !same_work(e, first))
            continue;
        const char *name = view_arm_name(v, e);
        if (!strcmp(name, "ours"))
            ours = e;
        for (int c = 0; c < count; c++)
            if (!strcmp(columns[c], name))
                ratios[c] = e;
    }
    const json_t *ceiling = json_object_get(ours->row, "ceiling");
    text_add(out, "| %s | %s%s | %d | ", first->kernel, view_shape_name(v, first), strcmp(first->mode, "cold") ? "" : ", cold",
             first->threads);
    if (ours->timed)
        bench_text_time(out, ours->ns);
    else
        text_add(out, "%s", row_text(ours->row, "status"));
    text_add(out, " | ");
    if (ours->timed && *row_text(ceiling, "binds"))
        text_add(out, "%.0f%% %s", row_number(ceiling, "percent"), row_text(ceiling, "binds"));
    for (int c = 0; c < count; c++)
        add_ratio(out, ratios[c]);
    text_add(out, " | %s%s%s |\n", ours->stale ? "stale " : "", ours->loaded ? "loaded " : "",
             ours->launch_bound ? "launch-bound" : "");
}

void report_summary(text_buffer *out, const view *v) {
    const char *columns[MOST_COLUMNS];
    int count = 0;
    for (int i = 0; i < v->entries.count; i++) {
        const char *name = view_arm_name(v, &v->entries.at[i]);
        bool known = *v->entries.at[i].lever || !strcmp(name, "ours") || count == MOST_COLUMNS;
        for (int c = 0; c < count; c++)
            known = known || !strcmp(columns[c], name);
        if (!known)
            columns[count++] = name;
    }
    text_add(out, "| kernel | shape | threads | ours | of a ceiling |");
    for (int c = 0; c < count; c++)
        text_add(out, " %s / ours |", columns[c]);
    text_add(out, " |\n|---|---|--:|--:|--:|");
    for (int c = 0; c < count; c++)
        text_add(out, "---|");
    text_add(out, "---|\n");
    for (int i = 0; i < v->entries.count; i++) {
        bool first = !*v->entries.at[i].lever;
        for (int j = 0; first && j < i; j++)
            first = *v->entries.at[j].lever || !same_work(&v->entries.at[j], &v->entries.at[i]);
        if (first)
            add_line(out, v, &v->entries.at[i], columns, count);
    }
}
