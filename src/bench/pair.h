/* Pairing: rounds of A B B A for the first arm against each other one, and against itself. */
#ifndef TILEC_BENCH_PAIR_H
#define TILEC_BENCH_PAIR_H
#include "bench/arm.h"
#include "bench/statistics.h"

enum { PAIR_MOST_ARMS = 24 };

typedef struct pair_options {
    int rounds;        /* STATISTICS_LEAST_ROUNDS or more */
    double sample_ns;  /* launches are repeated until a sample takes about this long */
    double confidence; /* of the intervals: 0.95 */
    bool settle;       /* wait for other arms' threads before each sample */
    void (*progress)(void *context, int done, int of);
    void *context;
} pair_options;

/* Times of one launch, in nanoseconds. */
typedef struct arm_times {
    int64_t repeats; /* launches a sample */
    VEC(double) samples;
    double least, median, p95;
    bool paired;                 /* not for the first arm */
    paired_result against_first; /* ratio: its time over the first arm's; over 1, the first arm is the faster one */
    VEC(double) ratios;
} arm_times;

typedef struct pair_table {
    arm_times arms[PAIR_MOST_ARMS];
    paired_result control; /* the first arm against itself */
    double smallest_claim;
} pair_table;

/* False with a diagnostic: an arm failed, clocks differ (E1042), a time was not a time (E1043). Memory comes from the arena. */
bool pair_measure(arena *a, bench_arm *const *arms, int count, const pair_options *o, pair_table *out, diag_list *diags);

/* The cost of one more launch in a submission: N launches in one submission, least squares over N. */
enum { MARGINAL_POINTS = 8 };
typedef struct marginal_cost {
    bool measured;
    int points;
    double launches[MARGINAL_POINTS], nanoseconds[MARGINAL_POINTS]; /* the median time of a submission of so many */
    linear_fit fit;                                                 /* slope: the marginal cost of a launch */
    double isolated_ns;                                             /* a launch alone, begun when everything was idle */
    double overlap;                                                 /* marginal / isolated: about 1 is none */
} marginal_cost;
/* `budget_ns`: what the whole measurement may take; the longest submissions are left out beyond it. Not measured (false, no
 * diagnostic) when fewer than three points fit. */
bool marginal_measure(bench_arm *arm, double launch_ns, double budget_ns, marginal_cost *out, diag_list *diags);
#endif
