/* The geometric mean of the ratios against each arm, on a line from the worst to the best; a part for each machine and device. */
#include "bench/plot.h"

void plot_means(text_buffer *out, const view *v, bool standalone) {
    enum { TOP = 8, HEADING = 24, ROW = 18, LABELS = 8 * 22 };
    plot_scale x = {.logarithmic = true, .from = 0.5, .to = 2, .first = LABELS, .last = PLOT_WIDTH - 54};
    int rows = 0, places = 0;
    arm_mean m;
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        places += !i || !view_same_place(e, e - 1);
        if (!report_mean(v, e, &m))
            continue;
        rows++;
        plot_hold(&x, m.worst->ratio);
        plot_hold(&x, m.best->ratio);
    }
    if (!rows)
        return;
    int y = TOP, bottom = TOP + places * HEADING + rows * ROW + 8;
    plot_begin(out, bottom + 40, standalone, "Geometric mean against each arm");
    plot_x_axis(out, &x, y, bottom, "arm's time over ours: right of 1, ours is faster");
    text_add(out, "<line class=\"o\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", plot_at(&x, 1), plot_at(&x, 1), y, bottom);
    for (int i = 0; i < v->entries.count; i++) {
        const view_entry *e = &v->entries.at[i];
        if (!i || !view_same_place(e, e - 1)) {
            text_buffer place = {0};
            report_place(&place, v, e);
            text_add(out, "<text class=\"t h\" x=\"4\" y=\"%d\">", y + 16);
            plot_text(out, text_get(&place));
            text_add(out, "</text>\n");
            text_free(&place);
            y += HEADING;
        }
        if (!report_mean(v, e, &m))
            continue;
        text_add(out, "<g class=\"s%d\"><title>", plot_series(e));
        plot_text(out, view_arm_name(v, e));
        text_add(out, ": from %.2f to %.2f over %d rows</title><text class=\"q\" x=\"12\" y=\"%d\">", m.worst->ratio,
                 m.best->ratio, m.rows, y + 12);
        plot_text(out, view_arm_name(v, e));
        text_add(out, "</text><line class=\"l\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", plot_at(&x, m.worst->ratio),
                 plot_at(&x, m.best->ratio), y + 8, y + 8);
        text_add(out, "<circle class=\"d\" cx=\"%.1f\" cy=\"%d\" r=\"4.5\"/></g>\n", plot_at(&x, m.mean), y + 8);
        text_add(out, "<text class=\"q\" text-anchor=\"end\" x=\"%d\" y=\"%d\">%.2f</text>\n", PLOT_WIDTH - 6, y + 12, m.mean);
        y += ROW;
    }
    plot_end(out);
}
