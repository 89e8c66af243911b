/* The value check that comes before any time: every element of every arm, on data of several kinds, outputs poisoned first. */
#ifndef TILEC_BENCH_CHECK_H
#define TILEC_BENCH_CHECK_H
#include "bench/arm.h"

typedef struct arm_check {
    bool passed;
    int64_t compared, vacuous;
    double worst_ratio; /* worst error as a share of its bound */
    double worst_error; /* and that error; NaN for our own kernels, which are judged step by step */
    double worst_bound;
    bool exact;           /* one of the data sets was whole numbers that had to come out to the bit */
    char data[96];        /* the kinds of data: "random, positive, integers" */
    char output_hash[33]; /* of the results on the data that is timed */
} arm_check;

typedef struct checker checker;
/* NULL with a diagnostic. */
checker *checker_open(bench_work *w, diag_list *diags);
/* Checks each arm on each kind of data; arms that fail get a diagnostic (E1040) and out[i].passed = false. Leaves the data that
 * is timed in the work's set 0. False only when the reference itself could not be computed. */
bool checker_values(checker *c, bench_arm *const *arms, int count, arm_check *out, diag_list *diags);
/* Once more, after the timing, on data that no arm has seen: one that keeps an old result shows it now. */
bool checker_fresh(checker *c, bench_arm *const *arms, int count, arm_check *out, diag_list *diags);
void checker_close(checker *c);
#endif
