/* Operations on one value: the result in f64 and the bound that belongs to it. */
#include "tile/oracle_internal.h"
#include <stdlib.h>
#include <string.h>

double wrap_integer(element_type type, double x) {
    if (type == ELEMENT_INDEX)
        return x;
    double low = type == ELEMENT_U32 ? 0 : -0x1p31, high = low + 0x1p32;
    if (x >= low && x < high)
        return x;
    x = fmod(x, 0x1p32); /* exact */
    if (x < low)
        x += 0x1p32;
    if (x >= high)
        x -= 0x1p32;
    return x;
}

/* How far f may move when its argument moves by e, f being monotone: from both ends. */
static double image(double (*f)(double), double x, double e, double v) {
    return fmax(f(x + e) - v, v - f(x - e));
}

static double reciprocal_root(double x) {
    return 1 / sqrt(x);
}

/* The rounding of one of the functions: so many units of 2^-23 of the result. */
static double ulps(double count, double v, double e) {
    return count * 0x1p-23 * SLACK * (fabs(v) + e);
}

static void unary_element(const oracle *o, tile_op op, double x, double ex, double *v, double *e) {
    const arithmetic_model *m = o->model;
    if (ex == INFINITY) {
        *v = x;
        *e = INFINITY;
        if (op == TILE_TANH || op == TILE_ERF || op == TILE_SIN || op == TILE_COS)
            *v = 0;
        return;
    }
    switch (op) {
    case TILE_NEG:
        *v = -x;
        *e = ex;
        return;
    case TILE_ABS:
        *v = fabs(x);
        *e = ex;
        return;
    case TILE_FLOOR:
        *v = floor(x);
        *e = ex > 0 && isfinite(x) ? image(floor, x, ex, *v) : 0;
        return;
    case TILE_SQRT:
        *v = sqrt(x);
        if (ex > 0 && isfinite(x)) {
            if (x + ex < 0) {
                *v = NAN;
                *e = 0;
                return;
            }
            *e = x - ex < 0 ? INFINITY : ex / (*v + sqrt(x - ex)); /* larger below than above */
            *e += m->unit * SLACK * (*v + *e) + m->smallest;
        } else {
            *e = round_to_f32(*v) == *v && m->unit <= 0x1p-24 ? 0 : m->unit * SLACK * *v;
        }
        break;
    case TILE_RSQRT:
        *v = reciprocal_root(x);
        if (ex > 0 && isfinite(x)) {
            if (x + ex < 0) {
                *v = NAN;
                *e = 0;
                return;
            }
            *e = x - ex <= 0 ? INFINITY : reciprocal_root(x - ex) - *v;
        } else {
            *e = 0;
        }
        *e += ulps(m->rsqrt_ulp, *v, *e) + (isfinite(*v) ? m->smallest : 0);
        break;
    case TILE_EXP:
        *v = exp(x);
        *e = ex < 1 ? *v * ex * (1 + ex) : *v * expm1(ex);
        *e += ulps(m->exp_ulp, *v, *e) + m->smallest;
        if (x == -INFINITY)
            *e = 0;
        break;
    case TILE_LOG:
        *v = log(x);
        if (ex > 0 && isfinite(x)) {
            if (x + ex < 0) {
                *v = NAN;
                *e = 0;
                return;
            }
            *e = x - ex <= 0 ? INFINITY : -log1p(-ex / x);
        } else {
            *e = 0;
        }
        if (*e < INFINITY)
            *e += ulps(m->log_ulp, *v, *e);
        break;
    case TILE_TANH: {
        *v = tanh(x);
        double nearest = fmax(fabs(x) - ex, 0), t = tanh(nearest);
        *e = fmin(ex * (1 - t * t) * (1 + 0x1p-40), 2);
        *e += ulps(m->tanh_ulp, *v, *e) + m->smallest;
        break;
    }
    case TILE_ERF: {
        *v = erf(x);
        double nearest = fmax(fabs(x) - ex, 0);
        *e = fmin(ex * 1.1283791670955126 * exp(-nearest * nearest) * (1 + 0x1p-40), 2);
        *e += ulps(m->erf_ulp, *v, *e) + m->smallest;
        break;
    }
    case TILE_SIN:
    case TILE_COS:
        *v = op == TILE_SIN ? sin(x) : cos(x);
        *e = fmin(ex, 2);
        *e += ulps(op == TILE_SIN ? m->sin_ulp : m->cos_ulp, *v, *e) + m->smallest;
        break;
    default:
        *v = x;
        *e = INFINITY;
        return;
    }
    settle_f32(v, e);
}

static tensor *negate_integers(oracle *o, const tile_value *v, tensor *x) {
    tensor *r = tensor_like(o, v->type, x);
    if (!r)
        return NULL;
    for (int64_t i = 0; i < x->count; i++)
        r->v[i] = wrap_integer(v->type, v->op == TILE_ABS ? fabs(x->v[i]) : -x->v[i]);
    if (x->e) {
        r->e = tensor_numbers(x->count);
        for (int64_t i = 0; i < x->count; i++) /* near the ends of the type the result may wrap */
            r->e[i] = fabs(x->v[i]) + x->e[i] < 0x1p31 && (v->type != ELEMENT_U32 || x->e[i] == 0) ? x->e[i] : INFINITY;
    }
    return r;
}

/* exp of exact values, and functions of one value in general, are the oracle's slowest elementwise work: nothing is done twice here. */
tensor *evaluate_unary(oracle *o, const tile_value *v, tensor *x) {
    if (v->op == TILE_NOT) {
        tensor *r = tensor_like(o, v->type, x);
        if (!r)
            return NULL;
        for (int64_t i = 0; i < x->count; i++)
            r->v[i] = x->v[i] == 0;
        if (x->e) {
            r->e = tensor_numbers(x->count);
            memcpy(r->e, x->e, sizeof *r->e * (size_t)x->count);
        }
        return r;
    }
    if (v->type != ELEMENT_F32)
        return negate_integers(o, v, x);
    tensor *r = tensor_like(o, v->type, x);
    if (!r)
        return NULL;
    r->e = tensor_numbers(x->count);
    bool any = false;
    for (int64_t i = 0; i < x->count; i++) {
        unary_element(o, v->op, x->v[i], x->e ? x->e[i] : 0, &r->v[i], &r->e[i]);
        any |= r->e[i] != 0;
    }
    if (!any) {
        free(r->e);
        r->e = NULL;
    }
    return r;
}
