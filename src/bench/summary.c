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

/* Ours, as what the others are compared with. */
static bool is_reference(const view *v, const view_entry *e) {
    const char *name = view_arm_name(v, e);
    return !e->has_ratio && !strncmp(name, "ours", 4) && (!name[4] || name[4] == '@');
}

static void add_line(text_buffer *out, const view *v, const view_entry *first, const char *const *columns, int count) {
    const view_entry *ratios[MOST_COLUMNS] = {NULL}, *ours = first;
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        if (*e->lever || !same_work(e, first))
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

/* What the table of an environment is of: the processor, or the device that ours ran on. */
static void add_title(text_buffer *out, const view *v, const char *environment) {
    const json_t *machine = json_object_get(v->machines, environment);
    const char *device = "";
    for (int i = 0; i < v->entries.count && !*device; i++) {
        const view_entry *e = &v->entries.at[i];
        if (!strcmp(e->environment, environment) && is_reference(v, e) && strchr(e->arm, '@'))
            device = strchr(e->arm, '@') + 1;
    }
    const char *gpu = json_string_value(json_array_get(json_object_get(machine, "gpus"), 0)); /* "NAME, driver .." */
    if (*device)
        text_add(out, "On %.*s (`--device %s`):\n\n", gpu ? (int)strcspn(gpu, ",") : (int)strlen(device), gpu ? gpu : device,
                 device);
    else
        text_add(out, "On %s:\n\n", row_text(machine, "processor"));
}

static void add_table(text_buffer *out, const view *v, const char *environment) {
    const char *columns[MOST_COLUMNS];
    int count = 0;
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        const char *name = view_arm_name(v, e);
        bool known = strcmp(e->environment, environment) || *e->lever || is_reference(v, e) || count == MOST_COLUMNS;
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
        bool first = !strcmp(v->entries.at[i].environment, environment) && !*v->entries.at[i].lever;
        for (int j = 0; first && j < i; j++)
            first = *v->entries.at[j].lever || !same_work(&v->entries.at[j], &v->entries.at[i]);
        if (first)
            add_line(out, v, &v->entries.at[i], columns, count);
    }
}

void report_summary(text_buffer *out, const view *v) {
    for (int i = 0; i < v->entries.count; i++) {
        bool first = true;
        for (int j = 0; j < i; j++)
            first = first && strcmp(v->entries.at[j].environment, v->entries.at[i].environment);
        if (!first)
            continue;
        text_add(out, "%s", i ? "\n" : "");
        if (json_object_size(v->machines) > 1)
            add_title(out, v, v->entries.at[i].environment);
        add_table(out, v, v->entries.at[i].environment);
    }
}
