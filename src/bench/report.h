/* Reports from rows: they need no device, and the same rows give the same bytes. */
#ifndef TILEC_BENCH_REPORT_H
#define TILEC_BENCH_REPORT_H
#include "base/diag.h"
#include "bench/view.h"

/* Everything a terminal shows of a store. */
void report_text(text_buffer *out, const view *v);
/* Tables with every ratio, interval and mark; `title` is a heading's text, NULL for none. */
void report_markdown(text_buffer *out, const view *v, const char *title);
/* What a README shows: a line for each piece of work, with the fastest of the arms that ours was compared with. */
void report_summary(text_buffer *out, const view *v);
/* What an entry's table is of: the processor, or the device that ours ran on. */
void report_place(text_buffer *out, const view *v, const view_entry *of);
/* Which machine and which versions. */
void report_machine(text_buffer *out, const view *v);
/* A table with the geometric mean and the worst case against each arm. */
void report_means(text_buffer *out, const view *v);
/* "stale", "loaded", "launch-bound": what is to be known of a row besides its numbers; "" for nothing. */
const char *report_marks(const view_entry *e);
/* The ratios against the arm of `e` in its place: over all shapes, ragged ones and cliffs included. */
typedef struct arm_mean {
    int rows, inconclusive;
    double mean; /* geometric */
    const view_entry *worst, *best;
} arm_mean;
/* Of an arm's first row; false for the others, and for what has no ratio. */
bool report_mean(const view *v, const view_entry *e, arm_mean *out);
/* One self-contained page: plots and tables, light and dark, wide and narrow. */
void report_html(text_buffer *out, const view *v);

/* plot.c: SVG. `standalone`: a file of its own, with its own style, rather than a part of a page. Empty when no row suits it. */
void plot_ratios(text_buffer *out, const view *v,
                 bool standalone); /* each pair's ratio and interval, a picture a number of threads; the
                                                                        largest number first */
void plot_means(text_buffer *out, const view *v, bool standalone);    /* the geometric mean against each arm, from worst to best */
void plot_roofline(text_buffer *out, const view *v, bool standalone); /* operations a second over operations a byte */
void plot_marginal(text_buffer *out, const view *v, bool standalone); /* time of a submission over launches in it, with the fit */
void plot_sweep(text_buffer *out, const view *v, bool standalone);    /* operations a second over size, a line an arm */
/* The style that plots need, for a page that holds them. */
const char *plot_style(void);

/* Rebuilds ROOT/README.md's table (between its markers), ROOT/bench/report.html and ROOT/bench/figures from the rows. `changed`:
 * files whose bytes were not these already. False with E1007 or a file's diagnostic. */
bool report_reproduce(const view *v, const char *root, int *changed, diag_list *diags);

/* Holds the newest rows against the facts of a file ({"facts": [{"kernel": .., "shape": .., "arm": .., "threads": ..,
 * "ratio_at_most": 2.0, "percent_at_least": 80, "source": ".."}]}), a line each to `out`. False with a diagnostic (E1008 for
 * each that does not hold). */
bool report_verify(const view *v, const char *path, text_buffer *out, diag_list *diags);
#endif
