/* A store as text and as Markdown. */
#include "bench/report.h"
#include "bench/statistics.h"
#include "bench/text.h"
#include <math.h>
#include <string.h>

static bool begins_cell(const view *v, int at) {
    for (int i = 0; i < at; i++)
        if (view_same_work(&v->entries.at[i], &v->entries.at[at]))
            return false;
    return true;
}

static bool has_mean(const view_entry *e) {
    return e->timed && e->has_ratio && !e->apart;
}

bool report_mean(const view *v, const view_entry *e, arm_mean *out) {
    *out = (arm_mean){.worst = e, .best = e};
    double ratios[1024];
    for (int i = 0; has_mean(e) && i < v->entries.count && out->rows < 1024; i++) {
        const view_entry *x = &v->entries.at[i];
        if (!has_mean(x) || !view_same_place(x, e) || x->rank != e->rank)
            continue;
        if (!out->rows && x != e)
            return false;
        ratios[out->rows++] = x->ratio;
        out->inconclusive += !strcmp(x->verdict, "inconclusive");
        out->worst = x->ratio <= out->worst->ratio ? x : out->worst;
        out->best = x->ratio > out->best->ratio ? x : out->best;
    }
    out->mean = out->rows ? statistics_geometric_mean(ratios, out->rows) : 0;
    return out->rows > 0;
}

static void means_text(text_buffer *out, const view *v) {
    arm_mean m;
    for (int i = 0; i < v->entries.count; i++)
        if (report_mean(v, &v->entries.at[i], &m))
            text_add(out, "%s: geometric mean %.2fx over %d row%s, worst %.2fx (%s, %s, %d thread%s); %d inconclusive\n",
                     view_arm_name(v, &v->entries.at[i]), m.mean, m.rows, m.rows == 1 ? "" : "s", m.worst->ratio, m.worst->kernel,
                     view_shape_name(v, m.worst), m.worst->threads, m.worst->threads == 1 ? "" : "s", m.inconclusive);
}

void report_means(text_buffer *out, const view *v) {
    arm_mean m;
    text_add(out, "| arm | rows | inconclusive | geometric mean | worst | |\n|---|--:|--:|--:|--:|---|\n");
    for (int i = 0; i < v->entries.count; i++)
        if (report_mean(v, &v->entries.at[i], &m))
            text_add(out, "| %s | %d | %d | %.2f | %.2f | %s, %s, %d thread%s |\n", view_arm_name(v, &v->entries.at[i]), m.rows,
                     m.inconclusive, m.mean, m.worst->ratio, m.worst->kernel, view_shape_name(v, m.worst), m.worst->threads,
                     m.worst->threads == 1 ? "" : "s");
}

const char *report_marks(const view_entry *e) {
    return e->stale && e->loaded                                  ? "stale, loaded"
           : e->stale                                             ? "stale"
           : e->loaded                                            ? "loaded"
           : json_array_size(json_object_get(e->row, "warnings")) ? "warned"
           : e->launch_bound                                      ? "launch-bound"
                                                                  : "";
}

void report_text(text_buffer *out, const view *v) {
    const char *hash;
    json_t *machine;
    json_object_foreach(v->machines, hash, machine)
        text_add(out, "environment %s: %s, %d processors, %s\n", hash, row_text(machine, "processor"),
                 (int)row_number(machine, "processors"), row_text(machine, "compiler"));
    for (int i = 0; i < v->entries.count; i++) {
        if (!begins_cell(v, i))
            continue;
        bench_text_cell(out, v->entries.at[i].row);
        for (int j = i; j < v->entries.count; j++)
            if (view_same_work(&v->entries.at[i], &v->entries.at[j])) {
                const view_entry *e = &v->entries.at[j];
                bench_text_row(out, e->row);
                if (e->stale)
                    text_add(out, "    stale: the kernel has another meaning by now\n");
                if (e->launches > 1)
                    text_add(out, "    %d launches: %.3fx [%.3f, %.3f] %s\n", e->launches, e->ratio, e->low, e->high, e->verdict);
            }
    }
    text_add(out, "\n");
    means_text(out, v);
    text_add(out, "%d things measured; %d stale, %d taken on a loaded machine, %d failed, %d unsupported\n", v->entries.count,
             v->stale, v->loaded, v->failed, v->unsupported);
}

void report_machine(text_buffer *out, const view *v) {
    const char *hash;
    json_t *machine;
    json_object_foreach(v->machines, hash, machine)
        text_add(out, "Environment `%s`: %s, %d processors, %s, %s.\n", hash, row_text(machine, "processor"),
                 (int)row_number(machine, "processors"), row_text(machine, "system"), row_text(machine, "compiler"));
    for (int i = 0; i < v->entries.count; i++) {
        const char *version = row_text(v->entries.at[i].row, "version"), *chosen = row_text(v->entries.at[i].row, "chosen");
        const json_t *versions = json_object_get(v->entries.at[i].row, "version");
        bool first = *version || json_is_object(versions);
        for (int j = 0; first && j < i; j++)
            first = strcmp(view_arm_name(v, &v->entries.at[j]), view_arm_name(v, &v->entries.at[i]));
        if (!first)
            continue;
        text_add(out, "%s: ", view_arm_name(v, &v->entries.at[i]));
        if (*version)
            text_add(out, "%s%s%s.\n", version, *chosen ? "; " : "", chosen);
        const char *key, *separator = "";
        json_t *value;
        json_object_foreach((json_t *)versions, key, value) {
            text_add(out, "%s%s %s", separator, key, json_string_value(value));
            separator = ", ";
        }
        if (!*version)
            text_add(out, ".\n");
    }
}

/* Each warning of an arm once. */
static void warnings_markdown(text_buffer *out, const view *v) {
    json_t *told = json_object();
    for (int i = 0; i < v->entries.count; i++) {
        const json_t *all = json_object_get(v->entries.at[i].row, "warnings");
        for (size_t n = 0; n < json_array_size(all); n++) {
            const char *text = json_string_value(json_array_get(all, n));
            if (!json_object_get(told, text))
                text_add(out, "%s- **warned**, %s: %s\n", json_object_size(told) || v->stale || v->loaded ? "" : "\n",
                         view_arm_name(v, &v->entries.at[i]), text);
            json_object_set_new(told, text, json_true());
        }
    }
    json_decref(told);
}

void report_markdown(text_buffer *out, const view *v, const char *title) {
    if (title)
        text_add(out, "# %s\n\n", title);
    report_machine(out, v);
    text_add(out, "\n| kernel | shape | threads | arm | time | of a ceiling | arm / ours | interval | verdict | |\n"
                  "|---|---|--:|---|--:|--:|--:|---|---|---|\n");
    for (int i = 0; i < v->entries.count; i++) {
        if (!begins_cell(v, i))
            continue;
        for (int j = i; j < v->entries.count; j++) {
            const view_entry *e = &v->entries.at[j];
            if (!view_same_work(&v->entries.at[i], e))
                continue;
            const json_t *ceiling = json_object_get(e->row, "ceiling");
            text_add(out, "| %s | %s%s | %d | %s | ", e->kernel, view_shape_name(v, e), strcmp(e->mode, "cold") ? "" : ", cold",
                     e->threads, view_arm_name(v, e));
            if (!e->timed) {
                text_add(out, "%s | | | | %s | |\n", row_text(e->row, "status"), row_text(e->row, "reason"));
                continue;
            }
            bench_text_time(out, e->ns);
            text_add(out, " | ");
            if (*row_text(ceiling, "binds"))
                text_add(out, "%.0f%% %s", row_number(ceiling, "percent"), row_text(ceiling, "binds"));
            if (e->has_ratio && !strcmp(e->verdict, "inconclusive")) /* then the answer is no number */
                text_add(out, " | | [%.2f, %.2f] | INCONCLUSIVE | %s |\n", e->low, e->high, report_marks(e));
            else if (e->has_ratio)
                text_add(out, " | %.2f | [%.2f, %.2f] | %s is %s | %s |\n", e->ratio, e->low, e->high,
                         *e->beside ? e->beside : "ours", e->verdict, report_marks(e));
            else
                text_add(out, " | | A/A claims from %.1f%% | | %s |\n",
                         100 * row_number(json_object_get(e->row, "control"), "smallest_claim"), report_marks(e));
        }
    }
    text_add(out, "\n");
    report_means(out, v);
    text_add(out, "%s", v->stale || v->loaded ? "\n" : "");
    if (v->stale)
        text_add(out, "- %d rows are **stale**: their kernels have another meaning by now.\n", v->stale);
    if (v->loaded)
        text_add(out, "- %d rows were taken while others used the machine (*loaded*).\n", v->loaded);
    warnings_markdown(out, v);
}
