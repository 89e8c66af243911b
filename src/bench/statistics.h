/* The arithmetic of measuring: pure functions over samples. No clock, no machine, no memory kept. */
#ifndef TILEC_BENCH_STATISTICS_H
#define TILEC_BENCH_STATISTICS_H
#include <stdbool.h>

enum { STATISTICS_LEAST_ROUNDS = 6, STATISTICS_MOST_ROUNDS = 1001 };

/* Sorts in place, ascending. */
void statistics_sort(double *values, int count);
/* Of sorted values, 0 <= q <= 1, linear between neighbours; NaN when there are none. */
double statistics_quantile(const double *sorted, int count, double q);
/* Of values in any order (up to STATISTICS_MOST_ROUNDS of them; the rest are left out); NaN when there are none. */
double statistics_median(const double *values, int count);
double statistics_geometric_mean(const double *values, int count);

/* The interval of a median by order statistics: between the low-th and high-th smallest of `count` samples (counted from 1) the
 * true median lies with probability `coverage`, exactly, for any continuous distribution. The narrowest symmetric pair of ranks
 * whose coverage is at least `confidence`; low = 0 when even the extremes do not reach it (under 6 samples at 95%). */
typedef struct order_interval {
    int low, high;
    double coverage;
} order_interval;
order_interval statistics_order_interval(int count, double confidence);

/* Two-sided exact sign test: the probability of a split at least this uneven between equals. Ties are left out by the caller. */
double statistics_sign_test(int above, int below);

/* y = intercept + slope x, ordinary least squares. False under two different x. */
typedef struct linear_fit {
    double intercept, slope;
    double r2; /* share of the variance explained; 1 when y does not vary */
} linear_fit;
bool statistics_least_squares(const double *x, const double *y, int count, linear_fit *out);

/* What the per-round ratios of a pair say. */
typedef struct paired_result {
    int rounds;
    double ratio;     /* their median */
    double low, high; /* its interval */
    double coverage;  /* of that interval, exact */
    double spread;    /* interquartile range of the ratios, relative to the median */
    int above, below; /* rounds with a ratio over and under 1 */
    double sign_p;
} paired_result;
/* False under STATISTICS_LEAST_ROUNDS rounds, or when a ratio is not a positive number. */
bool statistics_paired(const double *ratios, int count, double confidence, paired_result *out);

/* The smallest effect that may be claimed beside this control (an arm against itself): how far its interval reaches from 1. */
double statistics_smallest_claim(const paired_result *control);

typedef enum claim { CLAIM_INCONCLUSIVE, CLAIM_FASTER, CLAIM_SLOWER } claim;
extern const char *const claim_names[]; /* "inconclusive", "faster", "slower" */
/* A claim needs an interval that excludes 1, and an effect over both the spread and the smallest claim. A ratio over 1 is
 * FASTER. */
claim statistics_claim(const paired_result *p, double smallest_claim);
/* The verdict on a threshold written down before the run: FASTER when the whole interval reaches it, SLOWER when none of it
 * does. */
claim statistics_threshold(const paired_result *p, double threshold);
#endif
