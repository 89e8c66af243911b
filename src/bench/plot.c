/* Axes, colours and mark-up of the plots. */
#include "bench/plot.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Blue, orange, green, violet, red, teal: told apart with the common kinds of colour blindness; lighter on dark ground. */
static const char style[] =
    "svg{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
    "svg .t{fill:#1c2024}svg .q{fill:#60646c}svg .g{stroke:#d9dce1;stroke-width:1}svg .o{stroke:#60646c;stroke-width:1}"
    "svg .s0{--c:#2667c9}svg .s1{--c:#c2571a}svg .s2{--c:#2b8a4e}svg .s3{--c:#7c4bc0}svg .s4{--c:#b8336a}svg .s5{--c:#0f8289}"
    "svg .d{fill:var(--c);stroke:#fff;stroke-width:1}svg .l{stroke:var(--c);stroke-width:2;fill:none}svg "
    ".e{fill:#fff;stroke:var(--c);stroke-width:2}"
    "svg .r{stroke:#60646c;stroke-width:1.5;fill:none}svg .b{fill:#fff}svg "
    ".h{paint-order:stroke;stroke:#fff;stroke-width:5px;stroke-linejoin:round}"
    "@media(prefers-color-scheme:dark){svg .t{fill:#edeef0}svg .q{fill:#a9adb5}svg .g{stroke:#363a40}svg .o{stroke:#a9adb5}"
    "svg .s0{--c:#6ea8fe}svg .s1{--c:#f2935c}svg .s2{--c:#63c98a}svg .s3{--c:#b497f0}svg .s4{--c:#f27ba8}svg .s5{--c:#4fc4cc}"
    "svg .d{stroke:#16181c}svg .e{fill:#16181c}svg .r{stroke:#a9adb5}svg .b{fill:#16181c}svg .h{stroke:#16181c}}";

const char *plot_style(void) {
    return style;
}

double plot_at(const plot_scale *s, double value) {
    double share = s->logarithmic ? log(value / s->from) / log(s->to / s->from) : (value - s->from) / (s->to - s->from);
    return s->first + share * (s->last - s->first);
}

void plot_hold(plot_scale *s, double value) {
    if (!isfinite(value) || (s->logarithmic && value <= 0))
        return;
    bool empty = s->from > s->to;
    s->from = empty || value < s->from ? value : s->from;
    s->to = empty || value > s->to ? value : s->to;
}

void plot_text(text_buffer *out, const char *text) {
    for (; *text; text++)
        switch (*text) {
        case '<': text_add(out, "&lt;"); break;
        case '>': text_add(out, "&gt;"); break;
        case '&': text_add(out, "&amp;"); break;
        case '"': text_add(out, "&quot;"); break;
        default: text_add(out, "%c", (unsigned char)*text < ' ' ? ' ' : *text);
        }
}

void plot_begin(text_buffer *out, int height, bool standalone, const char *title) {
    text_add(out, "<svg %sviewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
             standalone ? "xmlns=\"http://www.w3.org/2000/svg\" " : "", PLOT_WIDTH, height);
    plot_text(out, title);
    text_add(out, "\"%s>\n", standalone ? " width=\"560\"" : "");
    if (standalone)
        text_add(out, "<style>%s</style>\n<rect class=\"b\" width=\"%d\" height=\"%d\"/>\n", style, PLOT_WIDTH, height);
}

void plot_end(text_buffer *out) {
    text_add(out, "</svg>\n");
}

int plot_series(const view_entry *e) {
    return e->rank < PLOT_SERIES ? e->rank : PLOT_SERIES - 1;
}

int plot_legend(text_buffer *out, const view *v, const view_entry *place, unsigned series, int y) {
    int x = 12;
    for (int s = 0; s < PLOT_SERIES; s++) {
        const char *name = NULL;
        for (int i = 0; (series >> s & 1) && i < v->entries.count; i++) {
            const view_entry *e = &v->entries.at[i];
            if (!e->apart && view_same_place(e, place) && plot_series(e) == s)
                name = name && strcmp(name, view_arm_name(v, e)) ? "others" : view_arm_name(v, e);
        }
        if (!name)
            continue;
        int width = 28 + 15 * (int)strlen(name) / 2;
        if (x + width > PLOT_WIDTH && x > 12) {
            x = 12;
            y += 18;
        }
        text_add(out, "<circle class=\"d s%d\" cx=\"%d\" cy=\"%d\" r=\"4.5\"/><text class=\"t\" x=\"%d\" y=\"%d\">", s, x + 5,
                 y + 8, x + 14, y + 12);
        plot_text(out, name);
        text_add(out, "</text>\n");
        x += width;
    }
    return y + 20;
}

void plot_number(char *out, size_t size, double value) {
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    int unit = 0;
    for (; unit < 5 && value >= 999.5; unit++)
        value /= 1000;
    snprintf(out, size, value >= 100 || value == floor(value) ? "%.0f%s" : value >= 10 ? "%.3g%s" : "%.2g%s", value, units[unit]);
}

/* The values at which a scale is marked: round ones, about five. */
static int marks(const plot_scale *s, double *out, int most) {
    int count = 0;
    if (s->logarithmic) {
        static const double steps[][3] = {{1, 2, 5}, {1, 3, 0}, {1, 0, 0}};
        double decades = log10(s->to / s->from);
        int kind = decades < 1.7 ? 0 : decades < 3.2 ? 1 : 2, every = decades > 7 ? 2 : 1;
        for (int d = (int)floor(log10(s->from)) - 1; d <= (int)ceil(log10(s->to)) + 1; d++)
            for (int i = 0; i < 3 && d % every == 0; i++) {
                double value = steps[kind][i] * pow(10, d);
                if (value >= s->from * 0.999 && value <= s->to * 1.001 && count < most)
                    out[count++] = value;
            }
        return count;
    }
    double step = pow(10, floor(log10((s->to - s->from) / 4)));
    step *= (s->to - s->from) / step > 20 ? 5 : (s->to - s->from) / step > 8 ? 2 : 1;
    for (double value = ceil(s->from / step) * step; value <= s->to * 1.0001 && count < most; value += step)
        out[count++] = fabs(value) < step / 1e6 ? 0 : value;
    return count;
}

void plot_x_axis(text_buffer *out, const plot_scale *x, int top, int bottom, const char *title) {
    double at[24];
    char label[32];
    int count = marks(x, at, 24);
    for (int i = 0; i < count; i++) {
        plot_number(label, sizeof label, at[i]);
        text_add(out,
                 "<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text class=\"q\" text-anchor=\"middle\" "
                 "x=\"%.1f\" y=\"%d\">%s</text>\n",
                 plot_at(x, at[i]), plot_at(x, at[i]), top, bottom, plot_at(x, at[i]), bottom + 15, label);
    }
    text_add(out, "<text class=\"q\" text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">", (x->first + x->last) / 2, bottom + 31);
    plot_text(out, title);
    text_add(out, "</text>\n");
}

void plot_y_axis(text_buffer *out, const plot_scale *y, int left, int right, const char *title) {
    double at[24];
    char label[32];
    int count = marks(y, at, 24);
    for (int i = 0; i < count; i++) {
        plot_number(label, sizeof label, at[i]);
        text_add(out,
                 "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"q\" text-anchor=\"end\" x=\"%d\" "
                 "y=\"%.1f\">%s</text>\n",
                 left, right, plot_at(y, at[i]), plot_at(y, at[i]), left - 5, plot_at(y, at[i]) + 4, label);
    }
    text_add(out, "<text class=\"q\" x=\"%d\" y=\"%.1f\">", 4, y->last - 8);
    plot_text(out, title);
    text_add(out, "</text>\n");
}
