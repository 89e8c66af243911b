/* What the plots share. Private to the reports. */
#ifndef TILEC_BENCH_PLOT_H
#define TILEC_BENCH_PLOT_H
#include "bench/report.h"

/* Plots are narrow, so that a phone shows them without shrinking their text; pages put several side by side. */
enum { PLOT_WIDTH = 420, PLOT_SERIES = 6 };

/* A scale from values to pixels, linear or logarithmic. */
typedef struct plot_scale {
    bool logarithmic;
    double from, to;    /* values */
    double first, last; /* pixels */
} plot_scale;
double plot_at(const plot_scale *s, double value);
/* Widens the range to hold a value; start with from > to. */
void plot_hold(plot_scale *s, double value);

void plot_begin(text_buffer *out, int height, bool standalone, const char *title);
void plot_end(text_buffer *out);
/* Text with the characters that mark-up keeps for itself written as entities. */
void plot_text(text_buffer *out, const char *text);
/* Which of the series' colours an arm has: the same in every plot of its place. 0 is the first arm's; arms with few rows share the last. */
int plot_series(const view_entry *e);
/* A legend of a place's arms whose series' bits are set, at a height; returns the height below it. */
int plot_legend(text_buffer *out, const view *v, const view_entry *place, unsigned series, int y);
/* Grid lines and labels. Unit is put behind each label. */
void plot_x_axis(text_buffer *out, const plot_scale *x, int top, int bottom, const char *title);
void plot_y_axis(text_buffer *out, const plot_scale *y, int left, int right, const char *title);
/* "1.2k", "35M", "0.02" */
void plot_number(char *out, size_t size, double value);
#endif
