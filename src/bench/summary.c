/* The short table: a line for each piece of work, a column for each arm that ours was compared with. */
#include "bench/report.h"
#include "bench/text.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 6 };

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

/* Ours, as what the others are compared with. */
static bool is_reference(const view *v, const view_entry *e) {
    const char *name = view_arm_name(v, e);
    return !e->has_ratio && !strncmp(name, "ours", 4) && (!name[4] || name[4] == '@');
}

static void add_line(text_buffer *out, const view *v, const view_entry *first, const char *const *columns, int count) {
    const view_entry *ratios[MOST_COLUMNS] = {NULL}, *ours = first;
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        if (e->apart || !view_same_work(e, first))
            continue;
        const char *name = view_arm_name(v, e);
        if (is_reference(v, e))
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

static bool same_table(const view_entry *x, const view_entry *y) {
    return !strcmp(x->environment, y->environment) && !strcmp(x->device, y->device);
}

/* What a table is of: the processor, or the device that ours ran on. */
static void add_title(text_buffer *out, const view *v, const view_entry *of) {
    const json_t *machine = json_object_get(v->machines, of->environment);
    const char *name = NULL; /* of an NVIDIA device: "NAME, driver .." */
    if (!strncmp(of->device, "cuda", 4))
        name =
            json_string_value(json_array_get(json_object_get(machine, "gpus"), of->device[4] ? (size_t)atoi(of->device + 5) : 0));
    if (*of->device)
        text_add(out, "On %.*s (`--device %s`):\n\n", name ? (int)strcspn(name, ",") : (int)strlen(of->device),
                 name ? name : of->device, of->device);
    else
        text_add(out, "On %s:\n\n", row_text(machine, "processor"));
}

static void add_table(text_buffer *out, const view *v, const view_entry *of) {
    const char *columns[MOST_COLUMNS];
    int count = 0;
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        const char *name = view_arm_name(v, e);
        bool known = !same_table(e, of) || e->apart || is_reference(v, e) || count == MOST_COLUMNS;
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
        bool first = same_table(&v->entries.at[i], of) && !v->entries.at[i].apart;
        for (int j = 0; first && j < i; j++)
            first = v->entries.at[j].apart || !view_same_work(&v->entries.at[j], &v->entries.at[i]);
        if (first)
            add_line(out, v, &v->entries.at[i], columns, count);
    }
}

/* Kernels that were measured beside others, as a kernel said otherwise is. */
static void add_besides(text_buffer *out, const view *v) {
    bool any = false;
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        if (!*e->beside)
            continue;
        if (!any)
            text_add(out,
                     "\n| kernel | shape | on | beside | time | its time / the other's | |\n|---|---|---|---|--:|---|---|\n");
        any = true;
        text_add(out, "| %s | %s%s | %s | %s | ", e->kernel, view_shape_name(v, e), strcmp(e->mode, "cold") ? "" : ", cold",
                 *e->device ? e->device : "the processor", e->beside);
        if (e->timed)
            bench_text_time(out, e->ns);
        add_ratio(out, e);
        text_add(out, " | %s%s%s |\n", e->stale ? "stale " : "", e->loaded ? "loaded " : "",
                 e->launch_bound ? "launch-bound" : "");
    }
}

void report_summary(text_buffer *out, const view *v) {
    bool several = false;
    for (int i = 0; i < v->entries.count; i++)
        several = several || !same_table(&v->entries.at[0], &v->entries.at[i]);
    for (int i = 0; i < v->entries.count; i++) {
        bool first = !v->entries.at[i].apart;
        for (int j = 0; j < i; j++)
            first = first && (v->entries.at[j].apart || !same_table(&v->entries.at[j], &v->entries.at[i]));
        if (!first)
            continue;
        text_add(out, "%s", i ? "\n" : "");
        if (several)
            add_title(out, v, &v->entries.at[i]);
        add_table(out, v, &v->entries.at[i]);
    }
    add_besides(out, v);
}
