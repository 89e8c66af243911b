/* The columns of a row: what each part of a measurement adds. doc/bench.md lists them. */
#ifndef TILEC_BENCH_ROW_H
#define TILEC_BENCH_ROW_H
#include "bench/check.h"
#include "bench/lab.h"

void row_add_cell(json_t *row, const bench_work *w, const lab_cell *cell);
void row_add_arm(json_t *row, const bench_arm *arm, const char *words); /* arm NULL: it could not be opened */
void row_add_check(json_t *row, const bench_work *w, const arm_check *c);
void row_add_times(json_t *row, const bench_arm *arm, const arm_times *t);
void row_drop_times(json_t *row);
void row_add_marginal(json_t *row, const marginal_cost *m);
/* `pair` NULL: the row is the first arm's. `threshold` 0: none. */
void row_add_pair(json_t *row, const char *first, const paired_result *pair, const paired_result *control, double smallest_claim,
                  double threshold);
void row_add_ceiling(json_t *row, const work_amount *w, const ceiling_share *s, double floor_ns, double read, double copy,
                     double fma, double matrix);
void row_set_status(json_t *row, const char *status, const char *reason);
/* Columns that nothing filled are null, so that every row has all. */
void row_settle(json_t *row);
#endif
