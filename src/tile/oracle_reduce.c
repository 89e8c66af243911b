/* Reductions over one range. Sums stay pending: the value, the terms' errors and the sum of magnitudes are kept apart until it is known how deep
 * the emitted tree is. */
#include "tile/oracle_internal.h"
#include <stdlib.h>
#include <string.h>

double common_quantum(const double *x, int64_t count, double bits) {
    int lowest = INT32_MAX, highest = INT32_MIN,
        most = (int)bits; /* exponents of the smallest unit, and above the largest number */
    for (int64_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, &x[i], sizeof word);
        int exponent = (int)(word >> 52 & 2047);
        uint64_t mantissa = word & (((uint64_t)1 << 52) - 1);
        if (exponent == 2047 || (exponent == 0 && mantissa == 0)) /* what meets infinity or NaN is that, and exact as such */
            continue;
        if (exponent == 0)
            return 0;
        int low = exponent - 1023 - 52 + (mantissa ? __builtin_ctzll(mantissa) : 52), high = exponent - 1023 + 1;
        lowest = low < lowest ? low : lowest;
        highest = high > highest ? high : highest;
        if (highest - lowest > most)
            return 0;
    }
    return lowest == INT32_MAX ? INFINITY : ldexp(1, lowest);
}

/* The tile seen as [outer][length][inner], the middle one reduced. */
typedef struct reduce_view {
    int64_t outer, length, inner;
} reduce_view;

static reduce_view view_of(const tensor *t, const tile_range *r) {
    reduce_view w = {1, 1, 1};
    bool before = true;
    for (int i = 0; i < t->axis_count; i++) {
        if (t->axes[i] == r) {
            w.length = t->extents[i];
            before = false;
        } else if (before) {
            w.outer *= t->extents[i];
        } else {
            w.inner *= t->extents[i];
        }
    }
    return w;
}

/* A sum that met infinities or NaN: what is sure, and what is open. */
static void special_sum(const double *x, const double *e, int64_t length, int64_t stride, double *v, double *error, double *s) {
    double sum = 0, finite = 0;
    bool open = false, nan = false, up = false, down = false;
    for (int64_t i = 0; i < length; i++) {
        double a = x[i * stride];
        open |= e && !(e[i * stride] < INFINITY);
        nan |= isnan(a);
        up |= a == INFINITY;
        down |= a == -INFINITY;
        if (isfinite(a)) {
            sum += a;
            finite += fabs(a);
        }
    }
    *s = finite;
    *error = open ? INFINITY : 0;
    *v = nan || (up && down) ? NAN : up ? INFINITY : down ? -INFINITY : sum;
    if (!isfinite(*v) && !isnan(*v) && finite >= 0x1p127)
        *error = INFINITY; /* the finite part may overflow the other way first */
}

static void sum_floats(const tensor *x, reduce_view w, tensor *r) {
    double *v = r->v, *s = r->sum.s, *e = r->e;
    for (int64_t out = 0; out < w.outer; out++) {
        const double *a = x->v + out * w.length * w.inner;
        const double *ea = x->e ? x->e + out * w.length * w.inner : NULL;
        int64_t base = out * w.inner;
        if (w.inner == 1) {
            double sum[4] = {0}, size[4] = {0}, error[2] = {0};
            int64_t i = 0;
            for (; i + 4 <= w.length; i += 4)
                for (int l = 0; l < 4; l++) {
                    sum[l] += a[i + l];
                    size[l] += fabs(a[i + l]);
                }
            for (; i < w.length; i++) {
                sum[0] += a[i];
                size[0] += fabs(a[i]);
            }
            v[base] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
            s[base] = (size[0] + size[1]) + (size[2] + size[3]);
            for (i = 0; ea && i < w.length; i++)
                error[i & 1] += ea[i];
            if (e)
                e[base] = error[0] + error[1];
        } else {
            for (int64_t j = 0; j < w.inner; j++) {
                v[base + j] = s[base + j] = 0;
                if (e)
                    e[base + j] = 0;
            }
            for (int64_t i = 0; i < w.length; i++) {
                for (int64_t j = 0; j < w.inner; j++) {
                    v[base + j] += a[i * w.inner + j];
                    s[base + j] += fabs(a[i * w.inner + j]);
                }
                for (int64_t j = 0; ea && j < w.inner; j++)
                    e[base + j] += ea[i * w.inner + j];
            }
        }
        for (int64_t j = 0; j < w.inner; j++)
            if (!(s[base + j] < INFINITY) || (e && !(e[base + j] < INFINITY))) {
                double error;
                special_sum(a + j, ea ? ea + j : NULL, w.length, w.inner, &v[base + j], &error, &s[base + j]);
                if (e)
                    e[base + j] = error == 0 && isfinite(v[base + j]) ? e[base + j] : error;
            }
    }
}

static void sum_integers(element_type type, const tensor *x, reduce_view w, tensor *r) {
    for (int64_t out = 0; out < w.outer; out++)
        for (int64_t j = 0; j < w.inner; j++) {
            const double *a = x->v + out * w.length * w.inner + j;
            const double *ea = x->e ? x->e + out * w.length * w.inner + j : NULL;
            double sum = 0, e = 0;
            for (int64_t i = 0; i < w.length; i++) {
                sum += a[i * w.inner]; /* wrapped often enough to stay exact */
                if (fabs(sum) > 0x1p50)
                    sum = fmod(sum, 0x1p32);
                e += ea ? ea[i * w.inner] : 0;
            }
            double wrapped = wrap_integer(type, sum);
            r->v[out * w.inner + j] = wrapped;
            if (r->e)
                r->e[out * w.inner + j] = e != 0 && (wrapped != sum || fabs(sum) + e >= 0x1p31) ? INFINITY : e;
        }
}

static double lowest_of(element_type type, bool larger) {
    if (element_table[type].is_float)
        return larger ? -INFINITY : INFINITY;
    if (type == ELEMENT_U32)
        return larger ? 0 : 0x1p32 - 1;
    return larger ? -0x1p31 : 0x1p31 - 1;
}

static void extremes(element_type type, bool larger, const tensor *x, reduce_view w, tensor *r) {
    double sign = larger ? 1 : -1;
    for (int64_t out = 0; out < w.outer; out++)
        for (int64_t j = 0; j < w.inner; j++) {
            const double *a = x->v + out * w.length * w.inner + j;
            const double *ea = x->e ? x->e + out * w.length * w.inner + j : NULL;
            double best = -INFINITY, high = -INFINITY, low = -INFINITY; /* of sign * x */
            bool any = false, open = false;
            for (int64_t i = 0; i < w.length; i++) {
                double value = sign * a[i * w.inner], e = ea ? ea[i * w.inner] : 0;
                open |= e == INFINITY;
                if (isnan(value))
                    continue;
                any = true;
                best = value > best ? value : best;
                if (ea && e < INFINITY) {
                    high = fmax(high, value + e);
                    low = fmax(low, value - e);
                }
            }
            int64_t at = out * w.inner + j;
            r->v[at] = any ? sign * best : lowest_of(type, larger);
            if (r->e)
                r->e[at] = open ? INFINITY : any && isfinite(best) ? fmax(high - best, best - low) : 0;
        }
}

/* The lowest index of an extreme; where bounds overlap, the hull of the indices that could be it. */
static void arguments(bool larger, int64_t first, const tensor *x, reduce_view w, tensor *r) {
    double sign = larger ? 1 : -1;
    for (int64_t out = 0; out < w.outer; out++)
        for (int64_t j = 0; j < w.inner; j++) {
            const double *a = x->v + out * w.length * w.inner + j;
            const double *ea = x->e ? x->e + out * w.length * w.inner + j : NULL;
            double best = -INFINITY, low = -INFINITY;
            int64_t where = -1;
            bool open = false;
            for (int64_t i = 0; i < w.length; i++) {
                double value = sign * a[i * w.inner], e = ea ? ea[i * w.inner] : 0;
                open |= e == INFINITY;
                if (isnan(value))
                    continue;
                if (where < 0 || value > best) {
                    best = value;
                    where = i;
                }
                low = fmax(low, value - e);
            }
            int64_t at = out * w.inner + j;
            int64_t lowest = where, highest = where;
            for (int64_t i = 0; ea && where >= 0 && i < w.length; i++) {
                double value = sign * a[i * w.inner], e = ea[i * w.inner];
                bool loses_tie = i > where && e == 0 && ea[where * w.inner] == 0; /* equal for sure: the lower index wins */
                if (!isnan(value) && value + e >= low && !loses_tie) {
                    lowest = i < lowest ? i : lowest;
                    highest = i > highest ? i : highest;
                }
            }
            r->v[at] = where < 0 ? 0 : (double)(first + where);
            if (r->e)
                r->e[at] = open ? INFINITY : (double)(highest - where > where - lowest ? highest - where : where - lowest);
        }
}

/* A copy in which elements that do not exist have the reduction's neutral value. */
static tensor *without_missing(oracle *o, const tile_value *node, tensor *x, const unsigned char *exists) {
    if (!exists)
        return x;
    tensor *r = tensor_like(o, x->type, x);
    if (!r)
        return NULL;
    double neutral = node->op == TILE_REDUCE_SUM       ? 0
                     : element_table[x->type].is_float ? NAN
                                                       : lowest_of(x->type, node->op == TILE_REDUCE_MAX);
    for (int64_t i = 0; i < x->count; i++)
        r->v[i] = exists[i] ? x->v[i] : neutral;
    if (x->e) {
        r->e = tensor_numbers(x->count);
        for (int64_t i = 0; i < x->count; i++)
            r->e[i] = exists[i] ? x->e[i] : 0;
    }
    r->tag = x->tag;
    return r;
}

static bool tag_varies_over(const oracle *o, const tag *t, const tile_range *r) {
    for (int i = 0; i < t->count; i++)
        if (tensor_has_axis(o->references.at[t->terms[i].reference].error, r))
            return true;
    return false;
}

tensor *evaluate_reduce(oracle *o, const tile_value *node, tensor *x) {
    const tile_range *range = node->range;
    bool sum = node->op == TILE_REDUCE_SUM, argument = node->op == TILE_ARGMAX || node->op == TILE_ARGMIN;
    x = tensor_settled(o, x);
    if (x && x->tag.count && (!sum || !x->tag.multiplies || tag_varies_over(o, &x->tag, range)))
        x = tensor_plain(o, x);
    if (!x)
        return NULL;
    const tile_range *axes[ORACLE_MAX_AXES * 2];
    int count = 0;
    axes[count++] = range;
    count = mask_axes(o, &range, 1, axes, count);
    x = tensor_expand(o, x, axes, count);
    if (!x)
        return NULL;
    unsigned char *exists = mask_over(o, x, &range, 1);
    tensor *input = without_missing(o, node, x, exists);
    bool integer_argument = argument && !element_table[x->type].is_float && exists;
    if (integer_argument) /* integers have no NaN to mark what is missing: a float copy has */
        for (int64_t i = 0; input && i < x->count; i++)
            input->v[i] = exists[i] ? x->v[i] : NAN;
    free(exists);
    if (!input)
        return NULL;
    const tile_range *rest[ORACLE_MAX_AXES];
    int rest_count = 0;
    for (int i = 0; i < x->axis_count; i++)
        if (x->axes[i] != range)
            rest[rest_count++] = x->axes[i];
    tensor *r = tensor_new(o, node->type, rest, rest_count);
    if (!r)
        return NULL;
    reduce_view w = view_of(input, range);
    if (input->e)
        r->e = tensor_numbers(r->count);
    if (argument) {
        arguments(node->op == TILE_ARGMAX, o->start[range->id], input, w, r);
    } else if (!sum) {
        extremes(node->type, node->op == TILE_REDUCE_MAX, input, w, r);
        tensor_trim(r);
        return node->op == TILE_REDUCE_MAX ? tensor_as_reference(o, r) : r;
    } else if (!element_table[node->type].is_float) {
        sum_integers(node->type, input, w, r);
    } else {
        r->sum.s = tensor_numbers(r->count);
        sum_floats(input, w, r);
        r->tag = input->tag;
        r->sum.n = (double)w.length;
        r->sum.quantum = input->e || input->tag.count ? 0 : common_quantum(input->v, input->count, 24);
        pending_add_node(&r->sum, node->id);
        return r;
    }
    tensor_trim(r);
    return r;
}
