/* Rounding to the number formats, and settling what rounding a sum still owes. */
#include "tile/oracle_internal.h"
#include <stdlib.h>
#include <string.h>

double round_to_f32(double x) {
    return (double)(float)x;
}

/* Nearest even with `bits` bits of significand down to exponent `least`, any exponent above: adding and taking away 1.5 * 2^52 units of the last
 * place rounds in f64 itself. */
static double round_to_grid(double x, int bits, int least) {
    if (!isfinite(x) || x == 0)
        return x;
    int exponent = ilogb(x);
    if (exponent < least)
        exponent = least;
    double magic = ldexp(1.5, 52 - (bits - 1) + exponent);
    return copysign((x + magic) - magic, x);
}

static double truncate_to_integer(double x, double lo, double hi) {
    if (isnan(x))
        return 0;
    x = trunc(x);
    return x < lo ? lo : x > hi ? hi : x + 0.0;
}

double round_to_type(element_type type, bool saturate, double x) {
    double r;
    switch (type) {
    case ELEMENT_F32: return round_to_f32(x);
    case ELEMENT_F16: r = round_to_grid(x, 11, -14); return fabs(r) > 65504 ? copysign(INFINITY, r) : r;
    case ELEMENT_BF16: r = round_to_grid(x, 8, -126); return fabs(r) > 0x1.fep127 ? copysign(INFINITY, r) : r;
    case ELEMENT_TF32: r = round_to_grid(x, 11, -126); return fabs(r) > 0x1.ffcp127 ? copysign(INFINITY, r) : r;
    case ELEMENT_E4M3: r = round_to_grid(x, 4, -6); return isnan(r) ? r : fabs(r) > 448 ? (saturate ? copysign(448, r) : NAN) : r;
    case ELEMENT_E5M2: r = round_to_grid(x, 3, -14); return fabs(r) > 57344 ? copysign(saturate ? 57344 : INFINITY, r) : r;
    case ELEMENT_I8: return truncate_to_integer(x, -128, 127);
    case ELEMENT_U8: return truncate_to_integer(x, 0, 255);
    case ELEMENT_I32:
    case ELEMENT_INDEX: return truncate_to_integer(x, -0x1p31, 0x1p31 - 1);
    case ELEMENT_U32: return truncate_to_integer(x, 0, 0x1p32 - 1);
    case ELEMENT_BOOL: return x != 0;
    default: return x;
    }
}

void settle_f32(double *v, double *e) {
    if (!(*e >= 0)) /* NaN: something undecided took part */
        *e = INFINITY;
    if (*e == INFINITY)
        return;
    if (!isfinite(*v)) {
        *e = 0;
    } else if (!(fabs(*v) + *e < F32_OVERFLOW)) {
        if (fabs(*v) - *e >= F32_OVERFLOW) {
            *v = copysign(INFINITY, *v);
            *e = 0;
        } else {
            *e = INFINITY;
        }
    }
}

void pending_add_node(pending *p, int node) {
    for (int i = 0; i < p->node_count; i++)
        if (p->nodes[i] == node)
            return;
    if (p->node_count == ORACLE_MAX_NODES)
        p->sequential = true;
    else
        p->nodes[p->node_count++] = node;
}

void pending_merge(pending *into, const pending *from) {
    for (int i = 0; i < from->node_count; i++)
        pending_add_node(into, from->nodes[i]);
    into->sequential |= from->sequential;
    into->rounds_products |= from->rounds_products;
    into->extra = fmax(into->extra, from->extra);
    into->quantum = fmin(into->quantum, from->quantum);
}

static bool at_this_extent(const oracle *o, const reduction_tree *tree) {
    return !tree->most || (tree->above < o->extent[tree->range] && o->extent[tree->range] <= tree->most);
}

/* What one step of a matrix unit may lose, in roundings of 2^-24 of the terms' magnitudes: each of added + 1 terms less than 2^-fraction of the largest,
 * and the result less than 2^-23 of itself, or as many bits as the unit keeps. */
static double unit_roundings(const reduction_tree *t) {
    return (t->added + 1) * exp2(24 - t->fraction) + exp2(24 - (t->kept ? t->kept : 23));
}

static double tree_depth(const pending *p, const reduction_tree *tree) {
    double chunk = (double)tree->chunk, parallel = (double)tree->parallel;
    double joins = ceil(p->n / chunk);
    if (p->trips > joins) /* ragged tiles of nested loops join more often */
        joins = fmin(p->trips, p->n);
    double steps = ceil(fmin(p->n, chunk) / parallel);
    if (tree->added)
        steps = ceil(fmin(p->n, chunk) / tree->added) * unit_roundings(tree);
    return (tree->deferred ? joins * steps + 1 : joins + steps) + ceil(log2(parallel));
}

/* Sums of multiples of a quantum are exact below 2^this of it. */
static int exact_bits(const oracle *o, const pending *p) {
    int bits = 24;
    for (int i = 0; i < p->node_count; i++)
        for (int j = 0; j < o->options->tree_count; j++) {
            const reduction_tree *t = &o->options->trees[j];
            if (t->value_id == p->nodes[i] && t->added && t->fraction < bits)
                bits = t->fraction;
        }
    return bits;
}

/* Whether a unit that takes numbers below 2^-126 for zero made some of the node's sums. */
bool node_flushes(const oracle *o, int node) {
    for (int j = 0; j < o->options->tree_count; j++)
        if (o->options->trees[j].value_id == node && o->options->trees[j].flushes)
            return true;
    return false;
}

/* The longest chain of roundings that a term goes through. */
double sum_depth(const oracle *o, const pending *p) {
    double deepest = p->trips;
    bool sequential = p->sequential;
    for (int i = 0; i < p->node_count; i++) {
        bool found = false;
        for (int j = 0; j < o->options->tree_count; j++) {
            const reduction_tree *tree = &o->options->trees[j];
            if (tree->value_id != p->nodes[i] || !at_this_extent(o, tree))
                continue;
            found = true;
            if (tree->chunk < 1 || tree->parallel < 1)
                sequential = true;
            else
                deepest = fmax(deepest, tree_depth(p, tree));
        }
        sequential = sequential || !found;
    }
    if (sequential)
        deepest = fmax(deepest, p->n + 1);
    return deepest + p->extra + (p->rounds_products ? 1 : 0);
}

tensor *tensor_settled(oracle *o, tensor *t) {
    if (!t || !t->sum.s)
        return t;
    if (t->settled)
        return t->settled;
    tensor *r = tensor_like_owned(o, t->type, t);
    if (!r)
        return NULL;
    t->settled = r;
    r->tag = t->tag;
    memcpy(r->v, t->v, sizeof *r->v * (size_t)t->count);
    bool half = t->type == ELEMENT_F16;
    double unit = half ? 0x1p-11 : o->model->unit, limit = half ? 65520 : F32_OVERFLOW;
    double smallest = half ? 0x1p-24 : o->model->smallest;
    bool flushes = o->model->flushes_subnormals;
    for (int i = 0; i < t->sum.node_count; i++)
        if (node_flushes(o, t->sum.nodes[i])) { /* a product's sum, and the sums of several that join */
            flushes = true;
            smallest = fmax(smallest, 0x1p-125);
        }
    double depth = sum_depth(o, &t->sum) * unit * SLACK;
    double gamma = depth < 0.5 ? depth / (1 - depth) : INFINITY;
    double exact_below = t->sum.quantum * (half ? 0x1p11 : exp2(exact_bits(o, &t->sum)));
    double own = t->sum.n * 0x1p-52; /* rounding of the f64 sums themselves */
    double rest = t->sum.n * smallest, scale = 1;
    if (t->tag.count) { /* absolute errors are the device's, not relative to the reference */
        double largest;
        free(tag_error(o, &t->tag, t, &largest));
        scale = exp(fmin(largest, 700));
        exact_below = 0;
    }
    if (flushes && t->sum.quantum < 0x1p-126)
        exact_below = 0;
    r->e = tensor_numbers(t->count);
    for (int64_t i = 0; i < t->count; i++) {
        double s = t->sum.s[i], e = t->e ? t->e[i] : 0;
        if (e == 0 && (s == 0 || s <= exact_below)) {
            r->e[i] = 0;
            continue;
        }
        e = (e * (1 + gamma) + (gamma + own) * s + rest * scale) * (1 + 0x1p-50);
        r->e[i] = e;
        if (!(s * (1 + gamma) * scale + e < limit)) {
            /* What the terms of the other sign can add up to: a huge sum hides them, and one alone may overflow the other way. */
            double other = isfinite(r->v[i]) ? 0.5 * (s - fabs(r->v[i])) + own * s + (t->e ? t->e[i] : 0) : s;
            bool same_sign = other * scale < 0.25 * limit;
            if (isfinite(s) && same_sign && fabs(r->v[i]) - e >= limit) {
                r->v[i] = copysign(INFINITY, r->v[i]);
                r->e[i] = 0;
            } else if (!isnan(r->v[i])) {
                r->e[i] = INFINITY; /* a partial sum may overflow */
            }
        }
        if (!isfinite(r->v[i]) && r->e[i] < INFINITY)
            r->e[i] = 0;
    }
    tensor_trim(r);
    return r;
}

tensor *tensor_plain(oracle *o, tensor *t) {
    t = tensor_settled(o, t);
    if (!t || !t->tag.count)
        return t;
    if (t->plain)
        return t->plain;
    double largest;
    double *d = tag_error(o, &t->tag, t, &largest);
    tensor *r = tensor_like_owned(o, t->type, t);
    if (!r) {
        free(d);
        return NULL;
    }
    t->plain = r;
    memcpy(r->v, t->v, sizeof *r->v * (size_t)t->count);
    r->e = tensor_numbers(t->count);
    for (int64_t i = 0; i < t->count; i++) {
        double e = t->e ? t->e[i] : 0, w = d ? d[i] : 0;
        if (t->tag.multiplies)
            e = w == 0 ? e : (e * exp(w) + fabs(r->v[i]) * expm1(w)) * (1 + 0x1p-50);
        else
            e += w;
        r->e[i] = e;
        settle_f32(&r->v[i], &r->e[i]);
    }
    free(d);
    tensor_trim(r);
    return r;
}
