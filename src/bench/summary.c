/* The short table: a line for each piece of work, with the fastest of the arms that ours was compared with. */
#include "bench/report.h"
#include "bench/text.h"
#include <stdlib.h>
#include <string.h>

/* "738&nbsp;ns": numbers stay on one line, and long shapes take a second. */
static void add_time(text_buffer *out, double ns) {
    text_buffer time = {0};
    bench_text_time(&time, ns);
    const char *text = text_get(&time), *space = strchr(text, ' ');
    text_add(out, "%.*s&nbsp;%s", (int)(space - text), text, space + 1);
    text_free(&time);
}

static void add_ratio(text_buffer *out, const view_entry *e) {
    if (!e->timed)
        text_add(out, "%s", row_text(e->row, "status"));
    else if (!strcmp(e->verdict, "inconclusive"))
        text_add(out, "INCONCLUSIVE [%.2f,&nbsp;%.2f]", e->low, e->high);
    else
        text_add(out, "**%.2f**&nbsp;[%.2f,&nbsp;%.2f]", e->ratio, e->low, e->high);
}

/* What of a ceiling a row reaches, and what is to be known of it. */
static void add_share(text_buffer *out, const view_entry *e) {
    const json_t *ceiling = json_object_get(e->row, "ceiling");
    bool binds = e->timed && *row_text(ceiling, "binds");
    if (binds)
        text_add(out, "%.0f%%&nbsp;%s", row_number(ceiling, "percent"), row_text(ceiling, "binds"));
    const char *marks = binds && !strcmp(row_text(ceiling, "binds"), "launch") && !e->stale && !e->loaded ? "" : report_marks(e);
    text_add(out, "%s%s | ", binds && *marks ? ", " : "", marks);
}

/* "| vec_add | N=1536, cold | " */
static void add_shape(text_buffer *out, const view *v, const view_entry *e) {
    text_add(out, "| %s | ", e->kernel);
    for (const char *at = view_shape_name(v, e); *at; at++) {
        bool equals = !strncmp(at, " = ", 3);
        text_add(out, "%c", equals ? '=' : *at);
        at += equals ? 2 : 0;
    }
    text_add(out, "%s | ", strcmp(e->mode, "cold") ? "" : ", cold");
}

/* Whether `e` says more than `best` of what else does the work: other people's arms before ours in another form, those with a time
 * before those without, quick ones before slow ones. */
static bool is_nearer(const view *v, const view_entry *e, const view_entry *best) {
    if (!best)
        return true;
    bool ours = !strncmp(view_arm_name(v, e), "ours", 4), best_ours = !strncmp(view_arm_name(v, best), "ours", 4);
    if (ours != best_ours)
        return best_ours;
    return e->timed != best->timed ? e->timed : e->timed && e->ratio < best->ratio;
}

static void add_line(text_buffer *out, const view *v, const view_entry *first, bool threads) {
    const view_entry *other = NULL, *ours = first;
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        if (e->apart || !view_same_work(e, first))
            continue;
        if (view_is_ours(v, e))
            ours = e;
        else if (is_nearer(v, e, other))
            other = e;
    }
    add_shape(out, v, first);
    if (threads)
        text_add(out, "%d | ", first->threads);
    if (ours->timed)
        add_time(out, ours->ns);
    else
        text_add(out, "%s", row_text(ours->row, "status"));
    text_add(out, " | ");
    add_share(out, ours);
    text_add(out, "%s | ", other ? view_arm_name(v, other) : "");
    if (other)
        add_ratio(out, other);
    text_add(out, " |\n");
}

/* What a table is of: the processor, or the device that ours ran on. */
void report_place(text_buffer *out, const view *v, const view_entry *of) {
    const json_t *machine = json_object_get(v->machines, of->environment);
    const char *name = NULL; /* of an NVIDIA device: "NAME, driver .." */
    if (!strncmp(of->device, "cuda", 4))
        name =
            json_string_value(json_array_get(json_object_get(machine, "gpus"), of->device[4] ? (size_t)atoi(of->device + 5) : 0));
    if (*of->device)
        text_add(out, "%.*s (--device %s)", name ? (int)strcspn(name, ",") : (int)strlen(of->device), name ? name : of->device,
                 of->device);
    else
        text_add(out, "%s", row_text(machine, "processor"));
}

static void add_table(text_buffer *out, const view *v, const view_entry *of) {
    bool threads = false;
    for (int i = 0; i < v->entries.count; i++)
        threads = threads || (view_same_place(&v->entries.at[i], of) && v->entries.at[i].threads != of->threads);
    text_add(out, "| kernel | shape |%s ours | of a ceiling | fastest other | its time / ours |\n|---|---|%s--:|--:|---|---|\n",
             threads ? " threads |" : "", threads ? "--:|" : "");
    for (int i = 0; i < v->entries.count; i++) {
        bool first = view_same_place(&v->entries.at[i], of) && !v->entries.at[i].apart;
        for (int j = 0; first && j < i; j++)
            first = v->entries.at[j].apart || !view_same_work(&v->entries.at[j], &v->entries.at[i]);
        if (first)
            add_line(out, v, &v->entries.at[i], threads);
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
            text_add(out, "\n| kernel | shape | on | threads | beside | time | its time / the other's | "
                          "|\n|---|---|---|--:|---|--:|---|---|\n");
        any = true;
        add_shape(out, v, e);
        text_add(out, "%s | %d | %s | ", *e->device ? e->device : "the processor", e->threads, e->beside);
        if (e->timed)
            add_time(out, e->ns);
        text_add(out, " | ");
        add_share(out, e);
        add_ratio(out, e);
        text_add(out, " |\n");
    }
}

void report_summary(text_buffer *out, const view *v) {
    bool several = false;
    for (int i = 0; i < v->entries.count; i++)
        several = several || !view_same_place(&v->entries.at[0], &v->entries.at[i]);
    for (int i = 0; i < v->entries.count; i++) {
        bool first = !v->entries.at[i].apart;
        for (int j = 0; j < i; j++)
            first = first && (v->entries.at[j].apart || !view_same_place(&v->entries.at[j], &v->entries.at[i]));
        if (!first)
            continue;
        text_add(out, "%s", i ? "\n" : "");
        if (several) {
            text_add(out, "On ");
            report_place(out, v, &v->entries.at[i]);
            text_add(out, ":\n\n");
        }
        add_table(out, v, &v->entries.at[i]);
    }
    add_besides(out, v);
}
