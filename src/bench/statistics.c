/* The arithmetic of measuring. */
#include "bench/statistics.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const claim_names[] = {"inconclusive", "faster", "slower"};

static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

void statistics_sort(double *values, int count) {
    if (count > 1)
        qsort(values, (size_t)count, sizeof *values, by_value);
}

double statistics_quantile(const double *sorted, int count, double q) {
    if (count < 1)
        return NAN;
    double at = q * (count - 1);
    int below = (int)at;
    if (below >= count - 1)
        return sorted[count - 1];
    return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

double statistics_median(const double *values, int count) {
    double copy[STATISTICS_MOST_ROUNDS];
    count = count > STATISTICS_MOST_ROUNDS ? STATISTICS_MOST_ROUNDS : count;
    if (count < 1)
        return NAN;
    memcpy(copy, values, sizeof *copy * (size_t)count);
    statistics_sort(copy, count);
    return statistics_quantile(copy, count, 0.5);
}

double statistics_geometric_mean(const double *values, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += log(values[i]);
    return count > 0 ? exp(sum / count) : NAN;
}

/* P(X = k) for X ~ Binomial(n, 1/2), by logarithms: n choose k leaves the range of double early. */
static double half_binomial(int n, int k) {
    return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) - n * log(2.0));
}

order_interval statistics_order_interval(int count, double confidence) {
    /* The median lies below the low-th smallest exactly when fewer than `low` samples lie below the median: P(X <= low - 1), and
     * alike above. The coverage of ranks low .. count + 1 - low is 1 - 2 P(X <= low - 1). */
    order_interval best = {0, 0, 0};
    double outside = 0;
    for (int low = 1; 2 * low <= count; low++) {
        outside += 2 * half_binomial(count, low - 1);
        if (1 - outside < confidence - 1e-12)
            break;
        best = (order_interval){low, count + 1 - low, 1 - outside};
    }
    return best;
}

double statistics_sign_test(int above, int below) {
    int n = above + below, least = above < below ? above : below;
    double p = 0;
    for (int k = 0; k <= least; k++)
        p += 2 * half_binomial(n, k);
    return p > 1 || n == 0 ? 1 : p;
}

bool statistics_least_squares(const double *x, const double *y, int count, linear_fit *out) {
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (int i = 0; i < count; i++) {
        mean_x += x[i] / count;
        mean_y += y[i] / count;
    }
    for (int i = 0; i < count; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
        yy += (y[i] - mean_y) * (y[i] - mean_y);
    }
    if (count < 2 || !(xx > 0))
        return false;
    out->slope = xy / xx;
    out->intercept = mean_y - out->slope * mean_x;
    out->r2 = yy > 0 ? xy * xy / (xx * yy) : 1;
    return true;
}

bool statistics_paired(const double *ratios, int count, double confidence, paired_result *out) {
    double sorted[STATISTICS_MOST_ROUNDS];
    *out = (paired_result){0};
    if (count < STATISTICS_LEAST_ROUNDS || count > STATISTICS_MOST_ROUNDS)
        return false;
    for (int i = 0; i < count; i++) {
        if (!(ratios[i] > 0) || isinf(ratios[i]))
            return false;
        out->above += ratios[i] > 1;
        out->below += ratios[i] < 1;
    }
    memcpy(sorted, ratios, sizeof *sorted * (size_t)count);
    statistics_sort(sorted, count);
    order_interval ranks = statistics_order_interval(count, confidence);
    if (!ranks.low)
        return false;
    out->rounds = count;
    out->ratio = statistics_quantile(sorted, count, 0.5);
    out->low = sorted[ranks.low - 1];
    out->high = sorted[ranks.high - 1];
    out->coverage = ranks.coverage;
    out->spread = (statistics_quantile(sorted, count, 0.75) - statistics_quantile(sorted, count, 0.25)) / out->ratio;
    out->sign_p = statistics_sign_test(out->above, out->below);
    return true;
}

double statistics_smallest_claim(const paired_result *control) {
    double down = fabs(1 - control->low), up = fabs(control->high - 1);
    return down > up ? down : up;
}

claim statistics_claim(const paired_result *p, double smallest_claim) {
    double effect = fabs(p->ratio - 1);
    if (effect < p->spread || effect < smallest_claim || (p->low <= 1 && p->high >= 1))
        return CLAIM_INCONCLUSIVE;
    return p->ratio > 1 ? CLAIM_FASTER : CLAIM_SLOWER;
}

claim statistics_threshold(const paired_result *p, double threshold) {
    return p->low >= threshold ? CLAIM_FASTER : p->high < threshold ? CLAIM_SLOWER : CLAIM_INCONCLUSIVE;
}
