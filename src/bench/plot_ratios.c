/* Each pair's ratio with its interval, a row a pair. */
#include "bench/plot.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether an entry is in the picture that has `like`: one of its place and number of threads. */
static bool shown(const view_entry *e, const view_entry *like) {
    return e->timed && e->has_ratio && !e->apart && e->threads == like->threads && view_same_place(e, like);
}

static void heading(text_buffer *out, const view *v, const view_entry *e, int y) {
    text_add(out, "<text class=\"t h\" x=\"12\" y=\"%d\">", y);
    plot_text(out, e->kernel);
    text_add(out, " <tspan class=\"q\">");
    plot_text(out, view_shape_name(v, e));
    text_add(out, "%s</tspan></text>\n", strcmp(e->mode, "cold") ? "" : ", cold");
}

static void mark(text_buffer *out, const view *v, const view_entry *e, const plot_scale *x, int y) {
    int series = plot_series(e);
    bool open = !strcmp(e->verdict, "inconclusive");
    text_add(out, "<g class=\"s%d\"><title>", series);
    plot_text(out, view_arm_name(v, e));
    text_add(out, ": %.2fx [%.2f, %.2f], %s%s%s</title>", e->ratio, e->low, e->high, e->verdict,
             e->loaded ? ", machine loaded" : "", e->stale ? ", stale" : "");
    double low = plot_at(x, e->low), high = plot_at(x, e->high);
    low = low < x->first ? x->first : low;
    high = high > x->last ? x->last : high;
    text_add(out, "<line class=\"l\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", low, high, y, y);
    text_add(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%d\" r=\"4.5\"/></g>\n", open ? "e" : "d", plot_at(x, e->ratio), y);
    text_add(out, "<text class=\"q\" text-anchor=\"end\" x=\"%d\" y=\"%d\">", PLOT_WIDTH - 6, y + 4);
    if (open)
        text_add(out, "inconclusive</text>\n");
    else
        text_add(out, "%.2f%s</text>\n", e->ratio, e->stale ? " stale" : "");
}

static void one_picture(text_buffer *out, const view *v, const view_entry *p, bool standalone) {
    enum { TOP = 24, HEADING = 18, ROW = 15, GAP = 7 };
    plot_scale x = {.logarithmic = true, .from = 2, .to = 1, .first = 12, .last = PLOT_WIDTH - 84};
    int rows = 0, groups = 0;
    unsigned series = 0;
    for (int i = 0; i < v->entries.count; i++)
        if (shown(&v->entries.at[i], p)) {
            const view_entry *e = &v->entries.at[i];
            bool first = true;
            for (int j = 0; j < i; j++)
                first = first && !(shown(&v->entries.at[j], p) && view_same_work(&v->entries.at[j], e));
            groups += first;
            rows++;
            series |= 1u << plot_series(e);
            plot_hold(&x, e->ratio);
            plot_hold(&x, e->low > e->ratio / 4 ? e->low : e->ratio / 4); /* one wild interval does not squeeze the rest */
            plot_hold(&x, e->high < e->ratio * 4 ? e->high : e->ratio * 4);
        }
    if (!rows)
        return;
    plot_hold(&x, 0.8);
    plot_hold(&x, 1.25);
    int bottom = TOP + 32 + groups * (HEADING + GAP) + rows * ROW;
    text_buffer title = {0};
    text_add(&title, "On ");
    report_place(&title, v, p);
    text_add(&title, ", %d thread%s", p->threads, p->threads == 1 ? "" : "s");
    plot_begin(out, bottom + 40, standalone, text_get(&title));
    text_add(out, "<text class=\"t\" x=\"12\" y=\"16\">");
    plot_text(out, text_get(&title));
    text_add(out, "</text>\n");
    text_free(&title);
    int y = plot_legend(out, v, p, series, TOP) + 6;
    plot_x_axis(out, &x, y, bottom, "arm's time over ours: right of 1, ours is faster");
    text_add(out, "<line class=\"o\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", plot_at(&x, 1), plot_at(&x, 1), y, bottom);
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        bool first = shown(e, p);
        for (int j = 0; first && j < i; j++)
            first = !(shown(&v->entries.at[j], p) && view_same_work(&v->entries.at[j], e));
        if (!first)
            continue;
        y += HEADING;
        heading(out, v, e, y - 3);
        for (int j = i; j < v->entries.count; j++)
            if (shown(&v->entries.at[j], p) && view_same_work(&v->entries.at[j], e)) {
                mark(out, v, &v->entries.at[j], &x, y + 8);
                y += ROW;
            }
        y += GAP;
    }
    plot_end(out);
}

void plot_ratios(text_buffer *out, const view *v, bool standalone) {
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        bool first = shown(e, e);
        for (int j = 0; first && j < i; j++)
            first = !shown(&v->entries.at[j], e);
        if (first)
            one_picture(out, v, e, standalone);
    }
}
