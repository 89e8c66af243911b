/* Marginal cost: time of a submission over the launches in it. Sweep: what is reached over the size. */
#include "bench/plot.h"
#include <math.h>
#include <string.h>

static void title_line(text_buffer *out, const view *v, const view_entry *e, bool shape) {
    text_add(out, "<text class=\"t\" x=\"4\" y=\"14\">");
    plot_text(out, e->kernel);
    text_add(out, " <tspan class=\"q\">");
    if (shape) {
        plot_text(out, view_shape_name(v, e));
        text_add(out, ", ");
    }
    text_add(out, "%d thread%s%s</tspan></text>\n", e->threads, e->threads == 1 ? "" : "s",
             strcmp(e->mode, "cold") ? "" : ", cold");
}

static void one_marginal(text_buffer *out, const view *v, const view_entry *e, bool standalone) {
    const json_t *m = json_object_get(e->row, "marginal"), *launches = json_object_get(m, "launches"),
                 *times = json_object_get(m, "times_ns");
    plot_scale x = {.from = 0, .to = 0, .first = 48, .last = PLOT_WIDTH - 14}, y = {.from = 0, .to = 0, .first = 190, .last = 46};
    size_t count = json_array_size(launches);
    for (size_t i = 0; i < count; i++) {
        plot_hold(&x, json_number_value(json_array_get(launches, i)));
        plot_hold(&y, json_number_value(json_array_get(times, i)));
    }
    static const char *const units[] = {"ns", "us", "ms"};
    double scale = y.to > 3e6   ? 1e6
                   : y.to > 3e3 ? 1e3
                                : 1,
           slope = row_number(m, "ns"), intercept = row_number(m, "intercept_ns");
    y.to /= scale;
    plot_begin(out, 256, standalone, "Time of a submission over the launches in it");
    title_line(out, v, e, true);
    plot_x_axis(out, &x, 46, 190, "launches in one submission");
    plot_y_axis(out, &y, 48, PLOT_WIDTH - 14, units[scale > 1e3 ? 2 : scale > 1 ? 1 : 0]);
    text_add(out, "<g class=\"s%d\"><line class=\"l\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", plot_series(e),
             plot_at(&x, 0), plot_at(&y, fmax(intercept, 0) / scale), plot_at(&x, x.to),
             plot_at(&y, (intercept + slope * x.to) / scale));
    for (size_t i = 0; i < count; i++)
        text_add(out, "<circle class=\"d\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>",
                 plot_at(&x, json_number_value(json_array_get(launches, i))),
                 plot_at(&y, json_number_value(json_array_get(times, i)) / scale));
    text_add(out, "</g>\n<text class=\"q\" x=\"4\" y=\"248\">one more launch %.4g us, alone %.4g us: %.2f of it</text>\n",
             slope / 1e3, row_number(m, "isolated_ns") / 1e3, row_number(m, "of_isolated"));
    plot_end(out);
}

void plot_marginal(text_buffer *out, const view *v, bool standalone) {
    enum { MOST = 6 };
    int shown = 0;
    for (int i = 0; i < v->entries.count && shown < MOST; i++) {
        const view_entry *e = &v->entries.at[i];
        bool first = e->timed && !e->has_ratio && !e->apart && json_is_object(json_object_get(e->row, "marginal"));
        for (int j = 0; first && j < i; j++) /* one of each kernel */
            first =
                strcmp(v->entries.at[j].kernel, e->kernel) || !json_is_object(json_object_get(v->entries.at[j].row, "marginal"));
        if (!first)
            continue;
        one_marginal(out, v, e, standalone);
        shown++;
    }
}

/* ---- sweeps ---- */

static bool in_sweep(const view_entry *x, const view_entry *like) {
    return x->timed && !x->apart && !strcmp(x->kernel, like->kernel) && view_same_place(x, like) &&
           !strcmp(x->mode, like->mode) && x->threads == like->threads && row_number(x->row, "bytes") > 0;
}

/* Matrix products are counted in operations, the rest in bytes. */
static bool by_operations(const view_entry *e) {
    return row_number(e->row, "operations") > 4 * row_number(e->row, "bytes");
}

static double size_of(const view_entry *e, bool operations) {
    return row_number(e->row, operations ? "operations" : "bytes");
}

static void one_sweep(text_buffer *out, const view *v, const view_entry *like, bool standalone) {
    plot_scale x = {.logarithmic = true, .from = 2, .to = 1, .first = 48, .last = PLOT_WIDTH - 14},
               y = {.from = 0, .to = 0, .first = 250, .last = 66};
    const view_entry *list[256];
    int count = 0;
    unsigned series = 0;
    bool operations = false;
    for (int i = 0; i < v->entries.count && count < 256; i++)
        if (in_sweep(&v->entries.at[i], like)) {
            list[count++] = &v->entries.at[i];
            operations = operations || by_operations(&v->entries.at[i]);
        }
    for (int i = 0; i < count; i++) {
        plot_hold(&x, size_of(list[i], operations));
        plot_hold(&y, size_of(list[i], operations) / list[i]->ns);
        series |= 1u << plot_series(list[i]);
    }
    x.from /= 1.2;
    x.to *= 1.2;
    y.to *= 1.05;
    for (int i = 1; i < count; i++) /* by size, so that lines do not go back */
        for (int j = i; j > 0 && size_of(list[j], operations) < size_of(list[j - 1], operations); j--) {
            const view_entry *other = list[j];
            list[j] = list[j - 1];
            list[j - 1] = other;
        }
    plot_begin(out, 292, standalone, "Sweep over sizes");
    title_line(out, v, like, false);
    plot_legend(out, v, like, series, 22);
    plot_x_axis(out, &x, 66, 250, operations ? "operations" : "bytes");
    plot_y_axis(out, &y, 48, PLOT_WIDTH - 14, operations ? "G operations/s" : "GB/s");
    for (int s = 0; s < PLOT_SERIES; s++) {
        const char *before = NULL; /* arms that share a colour have lines of their own */
        text_buffer line = {0}, dots = {0};
        for (int i = 0; i < count; i++) {
            if (plot_series(list[i]) != s)
                continue;
            double px = plot_at(&x, size_of(list[i], operations)), py = plot_at(&y, size_of(list[i], operations) / list[i]->ns);
            text_add(&line, "%s%.1f %.1f", before && !strcmp(before, list[i]->arm) ? "L" : "M", px, py);
            text_add(&dots, "<circle class=\"d\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"><title>", px, py);
            plot_text(&dots, view_arm_name(v, list[i]));
            text_add(&dots, ", ");
            plot_text(&dots, view_shape_name(v, list[i]));
            text_add(&dots, ": %.1f</title></circle>", size_of(list[i], operations) / list[i]->ns);
            before = list[i]->arm;
        }
        if (before)
            text_add(out, "<g class=\"s%d\"><path class=\"l\" d=\"%s\"/>%s</g>\n", s, text_get(&line), text_get(&dots));
        text_free(&line);
        text_free(&dots);
    }
    plot_end(out);
}

void plot_sweep(text_buffer *out, const view *v, bool standalone) {
    enum { LEAST_SIZES = 3 };
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        if (!in_sweep(e, e))
            continue;
        bool first = true;
        int sizes = 0;
        for (int j = 0; j < v->entries.count; j++) {
            const view_entry *x = &v->entries.at[j];
            if (!in_sweep(x, e))
                continue;
            first = first && j >= i;
            sizes += !strcmp(x->arm, e->arm);
        }
        if (first && sizes >= LEAST_SIZES)
            one_sweep(out, v, e, standalone);
    }
}
