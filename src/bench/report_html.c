/* The page: plots and tables in one file, without scripts or anything from elsewhere. */
#include "bench/plot.h"
#include "bench/text.h"
#include <string.h>

static const char page_style[] =
    ":root{color-scheme:light dark;--ground:#fff;--ink:#1c2024;--quiet:#60646c;--line:#d9dce1;--card:#fff}"
    "@media(prefers-color-scheme:dark){:root{--ground:#101214;--ink:#edeef0;--quiet:#a9adb5;--line:#363a40;--card:#16181c}}"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1320px;padding:20px 16px "
    "60px;background:var(--ground);color:var(--ink);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
    "h1{font-size:26px;margin:8px 0 4px}h2{font-size:19px;margin:34px 0 8px}p{max-width:75ch;margin:6px 0}"
    ".quiet{color:var(--quiet)}.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,380px),1fr));gap:14px;"
    "align-items:start}"
    ".grid>div{background:var(--card);border:1px solid "
    "var(--line);border-radius:8px;padding:10px}svg{display:block;width:100%;height:auto}"
    ".wide{overflow-x:auto;border:1px solid var(--line);border-radius:8px;background:var(--card)}"
    "table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}"
    "th,td{padding:5px 10px;text-align:left;white-space:nowrap;border-bottom:1px solid "
    "var(--line)}th{color:var(--quiet);font-weight:500}"
    "tr:last-child td{border-bottom:0}td.n,th.n{text-align:right}tr.cell td{border-top:2px solid var(--line)}"
    ".mark{border:1px solid var(--line);border-radius:9px;padding:0 7px;color:var(--quiet);font-size:12px;margin-right:4px}";

static void paragraph(text_buffer *out, const char *class, const char *text) {
    text_add(out, "<p%s%s%s>", class ? " class=\"" : "", class ? class : "", class ? "\"" : "");
    plot_text(out, text);
    text_add(out, "</p>\n");
}

/* A section with each plot (each svg element) in a card of its own; nothing when there is none. */
static void section(text_buffer *out, const char *title, const char *explanation, const view *v,
                    void (*plot)(text_buffer *, const view *, bool)) {
    text_buffer plots = {0};
    plot(&plots, v, false);
    if (plots.length) {
        text_add(out, "<h2>%s</h2>\n", title);
        paragraph(out, "quiet", explanation);
        text_add(out, "<div class=\"grid\">\n");
        for (const char *at = text_get(&plots), *end; (end = strstr(at, "</svg>\n")); at = end + strlen("</svg>\n"))
            text_add(out, "<div>%.*s</svg></div>\n", (int)(end - at), at);
        text_add(out, "</div>\n");
    }
    text_free(&plots);
}

static void cell(text_buffer *out, const char *text) {
    text_add(out, "<td>");
    plot_text(out, text);
    text_add(out, "</td>");
}

static void add_row(text_buffer *out, const view *v, const view_entry *e, bool first) {
    const json_t *ceiling = json_object_get(e->row, "ceiling"), *control = json_object_get(e->row, "control");
    text_add(out, "<tr%s>", first ? " class=\"cell\"" : "");
    cell(out, first ? e->kernel : "");
    cell(out, first ? view_shape_name(v, e) : "");
    text_add(out, "<td class=\"n\">%d</td>", e->threads);
    cell(out, e->mode);
    cell(out, view_arm_name(v, e));
    if (!e->timed) {
        text_add(out, "<td colspan=\"5\">%s: ", row_text(e->row, "status"));
        plot_text(out, row_text(e->row, "reason"));
        text_add(out, "</td><td></td></tr>\n");
        return;
    }
    text_add(out, "<td class=\"n\">");
    bench_text_time(out, e->ns);
    text_add(out, "</td><td class=\"n\">");
    if (json_is_object(json_object_get(e->row, "marginal")))
        bench_text_time(out, row_number(json_object_get(e->row, "marginal"), "ns"));
    text_add(out, "</td><td class=\"n\">");
    if (*row_text(ceiling, "binds"))
        text_add(out, "%.0f%% %s", row_number(ceiling, "percent"), row_text(ceiling, "binds"));
    if (e->has_ratio && !strcmp(e->verdict, "inconclusive")) /* then the answer is no number */
        text_add(out, "</td><td class=\"n\">[%.2f, %.2f]</td><td>INCONCLUSIVE</td><td>", e->low, e->high);
    else if (e->has_ratio)
        text_add(out, "</td><td class=\"n\"><b>%.2f</b> [%.2f, %.2f]</td><td>%s is %s</td><td>", e->ratio, e->low, e->high,
                 *e->beside ? e->beside : "ours", e->verdict);
    else
        text_add(out, "</td><td></td><td class=\"quiet\">A/A: claims from %.1f%%</td><td>",
                 100 * row_number(control, "smallest_claim"));
    text_add(out, "%s%s%s%s</td></tr>\n", e->stale ? "<span class=\"mark\">stale</span>" : "",
             e->loaded ? "<span class=\"mark\">loaded</span>" : "",
             e->launch_bound ? "<span class=\"mark\">launch-bound</span>" : "",
             !strcmp(row_text(e->row, "buffers"), "the same") ? "" : "<span class=\"mark\">buffers copied</span>");
    const json_t *warnings = json_object_get(e->row, "warnings");
    if (json_array_size(warnings)) {
        text_add(out, "<tr><td colspan=\"4\"></td><td colspan=\"7\">");
        for (size_t i = 0; i < json_array_size(warnings); i++) {
            text_add(out, "%swarning: ", i ? "<br>" : "");
            plot_text(out, json_string_value(json_array_get(warnings, i)));
        }
        text_add(out, "</td></tr>\n");
    }
}

static void add_tables(text_buffer *out, const view *v) {
    const view_entry *before = NULL;
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        if (!before || !view_same_place(before, e)) {
            text_buffer place = {0};
            report_place(&place, v, e);
            text_add(out, "%s<h2>Every row on ", before ? "</table></div>\n" : "");
            plot_text(out, text_get(&place));
            text_free(&place);
            text_add(
                out,
                "</h2>\n<div class=\"wide\"><table>\n<tr><th>kernel</th><th>shape</th><th class=\"n\">threads</th><th>data</th>"
                "<th>arm</th><th class=\"n\">time</th><th class=\"n\">one more</th><th class=\"n\">of a ceiling</th>"
                "<th class=\"n\">arm / ours</th><th>verdict</th><th></th></tr>\n");
        }
        add_row(out, v, e, !before || !view_same_work(before, e));
        before = e;
    }
    text_add(out, before ? "</table></div>\n" : "");
}

static void add_ceilings(text_buffer *out, const view *v) {
    const char *key;
    json_t *row;
    if (!json_object_size(v->ceilings))
        return;
    text_add(out, "<h2>Ceilings</h2>\n<div class=\"wide\"><table>\n<tr><th>environment</th><th class=\"n\">threads</th><th "
                  "class=\"n\">read, memory</th>"
                  "<th class=\"n\">copy, memory</th><th class=\"n\">fma, f32</th><th class=\"n\">matrix unit, bf16</th><th "
                  "class=\"n\">launch, one task</th>"
                  "<th class=\"n\">launch, a task a thread</th></tr>\n");
    json_object_foreach(v->ceilings, key, row) {
        double matrix = row_number(row, "matrix_per_second");
        text_add(out,
                 "<tr><td>%s</td><td class=\"n\">%d</td><td class=\"n\">%.1f GB/s</td><td class=\"n\">%.1f GB/s</td><td "
                 "class=\"n\">%.1f G/s</td>"
                 "<td class=\"n\">",
                 row_text(row, "environment"), (int)row_number(row, "threads"), row_number(row, "read_per_second") / 1e9,
                 row_number(row, "copy_per_second") / 1e9, row_number(row, "fma_per_second") / 1e9);
        if (matrix > 0)
            text_add(out, "%.0f G/s", matrix / 1e9);
        else
            text_add(out, "none known");
        text_add(out, "</td><td class=\"n\">");
        bench_text_time(out, row_number(row, "launch_ns"));
        text_add(out, "</td><td class=\"n\">");
        bench_text_time(out, row_number(row, "launch_all_ns"));
        text_add(out, "</td></tr>\n");
    }
    text_add(out, "</table></div>\n");
}

void report_html(text_buffer *out, const view *v) {
    text_add(out,
             "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
             "content=\"width=device-width,initial-scale=1\">\n"
             "<title>tilec: measurements</title>\n<style>%s\n%s</style>\n<body>\n<h1>tilec: measurements</h1>\n",
             page_style, plot_style());
    const char *hash;
    json_t *machine;
    json_object_foreach(v->machines, hash, machine) {
        text_buffer line = {0};
        text_add(&line, "%s, %d processors, last cache %.0f MB, %s, %s; environment %s.", row_text(machine, "processor"),
                 (int)row_number(machine, "processors"), row_number(machine, "last_cache_bytes") / 1048576,
                 row_text(machine, "system"), row_text(machine, "compiler"), hash);
        paragraph(out, "quiet", text_get(&line));
        text_free(&line);
    }
    paragraph(out, NULL,
              "Every element of every arm was checked before it was timed. Arms are paired in rounds A B B A; a ratio is an "
              "arm's time over ours, the "
              "median over the rounds, with an interval by order statistics. INCONCLUSIVE: the effect is under the spread, or "
              "under what ours "
              "against itself shows.");
    if (v->stale || v->loaded || v->failed) {
        text_buffer line = {0};
        text_add(&line, "%d rows are stale, %d were taken on a loaded machine, %d failed.", v->stale, v->loaded, v->failed);
        paragraph(out, NULL, text_get(&line));
        text_free(&line);
    }
    section(out, "Means", "The geometric mean of the ratios against each arm; the line goes from the worst to the best.", v,
            plot_means);
    section(out, "Ratios", "Filled: claimed. Hollow: inconclusive. The line is the interval.", v, plot_ratios);
    section(out, "Sweeps", "What is reached over the size of the work.", v, plot_sweep);
    section(out, "Rooflines", "Warm data: small work comes from caches, so points may lie above the line of memory.", v,
            plot_roofline);
    section(out, "Marginal cost",
            "Launches in one submission; the slope is the cost of one more, the line its least-squares fit.", v, plot_marginal);
    add_tables(out, v);
    add_ceilings(out, v);
    text_add(out, "</body>\n</html>\n");
}
