/* Pairing and marginal cost. */
#include "bench/pair.h"
#include "bench/clock.h"
#include <math.h>
#include <string.h>

enum { MOST_REPEATS = 1000000 };

static bool launch(bench_arm *arm, int64_t count, double *nanoseconds, diag_list *diags) {
    int64_t first = arm->next_set;
    arm->next_set += count;
    if (!arm->kind->run(arm, first, count, nanoseconds, diags))
        return false;
    if (*nanoseconds >= 0 && isfinite(*nanoseconds))
        return true;
    diag_error(diags, "E1043", (source_span){0}, "%s: a time of %g ns is no time", arm->name, *nanoseconds);
    return false;
}

static void settle(bench_arm *const *arms, int count) {
    pid_t others[PAIR_MOST_ARMS];
    for (int i = 0; i < count; i++)
        others[i] = arms[i]->process;
    clock_settle(others, count);
}

/* How many launches make a sample. */
static bool calibrate(bench_arm *arm, const pair_options *o, arm_times *t, diag_list *diags) {
    double ns = 0;
    int64_t count = 1;
    if (!launch(arm, 1, &ns, diags)) /* the first one is never typical */
        return false;
    for (;; count *= 4) {
        if (!launch(arm, count, &ns, diags))
            return false;
        if (ns > o->sample_ns / 4 || count >= MOST_REPEATS / 4)
            break;
    }
    double one = ns / (double)count;
    double repeats = one > 0 ? ceil(o->sample_ns / one) : MOST_REPEATS;
    t->repeats = repeats < 1 ? 1 : repeats > MOST_REPEATS ? MOST_REPEATS : (int64_t)repeats;
    return true;
}

/* The time of one launch of arm i, over one sample. */
static bool sample(arena *a, bench_arm *const *arms, int count, int i, const pair_options *o, arm_times *t, double *ns,
                   diag_list *diags) {
    double warm, total;
    if (o->settle) {
        settle(arms, count);
        if (!launch(arms[i], t->repeats / 4 + 1, &warm,
                    diags)) /* idle cores are slow to wake, and caches hold the other arm's data */
            return false;
    }
    if (!launch(arms[i], t->repeats, &total, diags))
        return false;
    *ns = total / (double)t->repeats;
    VEC_PUSH(a, t->samples, *ns);
    return true;
}

static void summarise(arm_times *t) {
    if (!t->samples.count)
        return;
    statistics_sort(t->samples.at, t->samples.count);
    t->least = t->samples.at[0];
    t->median = statistics_quantile(t->samples.at, t->samples.count, 0.5);
    t->p95 = statistics_quantile(t->samples.at, t->samples.count, 0.95);
}

static bool conclude(const double *ratios, int count, const pair_options *o, const char *name, paired_result *out,
                     diag_list *diags) {
    if (statistics_paired(ratios, count, o->confidence, out))
        return true;
    diag_error(diags, "E1043", (source_span){0}, "%s: %d rounds with these times give no ratio", name, count);
    return false;
}

bool pair_measure(arena *a, bench_arm *const *arms, int count, const pair_options *o, pair_table *out, diag_list *diags) {
    *out = (pair_table){0};
    VEC(double) control = {0};
    for (int i = 0; i < count; i++) {
        if (strcmp(arms[i]->clock, arms[0]->clock)) {
            diag_error(diags, "E1042", (source_span){0}, "%s is timed by `%s` and %s by `%s`: these are not compared",
                       arms[0]->name, arms[0]->clock, arms[i]->name, arms[i]->clock);
            return false;
        }
        if (!calibrate(arms[i], o, &out->arms[i], diags))
            return false;
    }
    for (int round = 0; round < o->rounds; round++)
        for (int i = 0; i < count; i++) {
            /* A B B A: what drifts evenly hits both alike. i = 0 is the first arm against itself. */
            static const int who[4] = {0, 1, 1, 0};
            double sum[2] = {0, 0}, ns;
            for (int s = 0; s < 4; s++) {
                int which = who[s] ? i : 0;
                if (!sample(a, arms, count, which, o, &out->arms[which], &ns, diags))
                    return false;
                sum[who[s]] += ns;
            }
            double ratio = sum[0] > 0 ? sum[1] / sum[0] : 0;
            if (i == 0)
                VEC_PUSH(a, control, ratio);
            else
                VEC_PUSH(a, out->arms[i].ratios, ratio);
            if (o->progress)
                o->progress(o->context, round * count + i + 1, o->rounds * count);
        }
    if (!conclude(control.at, control.count, o, arms[0]->name, &out->control, diags))
        return false;
    out->smallest_claim = statistics_smallest_claim(&out->control);
    for (int i = 0; i < count; i++) {
        summarise(&out->arms[i]);
        out->arms[i].paired = i > 0;
        if (i > 0 &&
            !conclude(out->arms[i].ratios.at, out->arms[i].ratios.count, o, arms[i]->name, &out->arms[i].against_first, diags))
            return false;
    }
    return true;
}

bool marginal_measure(bench_arm *arm, double launch_ns, double budget_ns, marginal_cost *out, diag_list *diags) {
    static const int counts[MARGINAL_POINTS] = {1, 2, 4, 8, 16, 28, 56, 112};
    enum { PASSES = 7 };
    double times[MARGINAL_POINTS][PASSES], spent = 0;
    *out = (marginal_cost){0};
    for (int i = 0; i < MARGINAL_POINTS; i++) {
        spent += PASSES * counts[i] * launch_ns;
        if (spent <= budget_ns)
            out->points = i + 1;
    }
    if (out->points < 3)
        return false;
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < out->points; i++) {
            double warm;
            settle(&arm, 1); /* nobody else runs; one launch wakes the threads */
            if (!launch(arm, 1, &warm, diags) || !launch(arm, counts[i], &times[i][pass], diags))
                return false;
        }
    for (int i = 0; i < out->points; i++) {
        out->launches[i] = counts[i];
        out->nanoseconds[i] = statistics_median(times[i], PASSES);
    }
    out->isolated_ns = out->nanoseconds[0];
    out->measured = statistics_least_squares(out->launches, out->nanoseconds, out->points, &out->fit);
    out->overlap = out->isolated_ns > 0 ? out->fit.slope / out->isolated_ns : 0;
    return out->measured;
}
