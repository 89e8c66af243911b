/* The roofline: what each arm reaches, over how much it computes for each byte, under the ceilings measured in the same run. */
#include "bench/plot.h"
#include <math.h>
#include <string.h>

static bool shown(const view_entry *e, const view_entry *like) {
    return e->timed && !e->apart && view_same_place(e, like) && e->threads == like->threads && row_number(e->row, "bytes") > 0 &&
           row_number(e->row, "operations") > 0;
}

static void roof(text_buffer *out, const plot_scale *x, const plot_scale *y, double bandwidth, double peak, const char *name) {
    double ridge = peak / bandwidth, from = x->from, to = x->to < ridge ? x->to : ridge;
    if (from * bandwidth < y->from)
        from = y->from / bandwidth;
    if (!(bandwidth > 0) || from >= to)
        return;
    text_add(out, "<line class=\"r\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", plot_at(x, from),
             plot_at(y, from * bandwidth), plot_at(x, to), plot_at(y, to * bandwidth));
    double at = from * pow(to / from, 0.12),
           angle = -atan2(plot_at(y, from * bandwidth) - plot_at(y, to * bandwidth), plot_at(x, to) - plot_at(x, from));
    text_add(out, "<text class=\"q h\" transform=\"translate(%.1f %.1f) rotate(%.1f)\">%s %.0f GB/s</text>\n", plot_at(x, at),
             plot_at(y, at * bandwidth) - 5, angle * 57.29578, name, bandwidth / 1e9);
}

static void one_roofline(text_buffer *out, const view *v, const view_entry *like, bool standalone) {
    const json_t *c = view_ceilings(v, like->environment, like->threads);
    plot_scale x = {.logarithmic = true, .from = 2, .to = 1, .first = 44, .last = PLOT_WIDTH - 12};
    plot_scale y = {.logarithmic = true, .from = 2, .to = 1, .first = 312, .last = 72};
    double cache = 0, fma = row_number(c, "fma_per_second"), memory = row_number(c, "read_per_second");
    unsigned series = 0;
    for (int i = 0; i < v->entries.count; i++)
        if (shown(&v->entries.at[i], like)) {
            const view_entry *e = &v->entries.at[i];
            double operations = row_number(e->row, "operations"), bytes = row_number(e->row, "bytes");
            double read = row_number(json_object_get(e->row, "ceiling"), "read_per_second");
            cache = read > cache ? read : cache;
            plot_hold(&x, operations / bytes);
            plot_hold(&y, operations / e->ns * 1e9);
            series |= 1u << plot_series(e);
        }
    if (!series || !(fma > 0))
        return;
    plot_hold(&y, fma * 1.3);
    x.from /= 1.6;
    x.to *= 1.6;
    y.from /= 1.6;
    char title[96];
    snprintf(title, sizeof title, "Roofline on %d thread%s", like->threads, like->threads == 1 ? "" : "s");
    plot_begin(out, 354, standalone, title);
    text_add(out, "<text class=\"t\" x=\"12\" y=\"16\">%s</text>\n", title);
    plot_legend(out, v, like, series, 24);
    plot_x_axis(out, &x, 72, 312, "operations a byte");
    plot_y_axis(out, &y, 44, PLOT_WIDTH - 12, "operations a second");
    if (fma / (memory > 0 ? memory : 1) < x.to || fma / (cache > 0 ? cache : 1) < x.to) {
        double from = fma / (cache > 0 ? cache : memory);
        from = from < x.from ? x.from : from;
        text_add(out,
                 "<line class=\"r\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/><text class=\"q\" text-anchor=\"end\" "
                 "x=\"%.1f\" y=\"%.1f\">fma %.0f G/s</text>\n",
                 plot_at(&x, from), plot_at(&y, fma), x.last, plot_at(&y, fma), x.last, plot_at(&y, fma) - 5, fma / 1e9);
    }
    roof(out, &x, &y, memory, fma, "memory");
    if (cache > memory * 1.2)
        roof(out, &x, &y, cache, fma, "cache");
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        if (!shown(e, like))
            continue;
        double operations = row_number(e->row, "operations"), bytes = row_number(e->row, "bytes");
        text_add(out, "<g class=\"s%d\"><title>", plot_series(e));
        plot_text(out, view_arm_name(v, e));
        text_add(out, ", ");
        plot_text(out, e->kernel);
        text_add(out, " ");
        plot_text(out, view_shape_name(v, e));
        text_add(out, ": %.1f G operations/s</title><circle class=\"d\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/></g>\n",
                 operations / e->ns, plot_at(&x, operations / bytes), plot_at(&y, operations / e->ns * 1e9));
    }
    plot_end(out);
}

void plot_roofline(text_buffer *out, const view *v, bool standalone) {
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        bool first = !*e->device; /* the ceilings of a row of ceilings are the host's */
        for (int j = 0; first && j < i; j++)
            first = !view_same_place(&v->entries.at[j], e) || v->entries.at[j].threads != e->threads;
        if (first)
            one_roofline(out, v, e, standalone);
    }
}
