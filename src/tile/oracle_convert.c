/* Conversions: the image of the interval the operand lies in, so what is sure stays sure to the bit. */
#include "tile/oracle_internal.h"
#include <stdlib.h>
#include <string.h>

static bool is_exact_in_f32(element_type t) {
    switch (t) {
    case ELEMENT_I32:
    case ELEMENT_U32:
    case ELEMENT_INDEX: return false;
    default: return true;
    }
}

/* An integer made a 32-bit one keeps its value modulo 2^32; into smaller ones values saturate, as from floats. */
static double convert_number(element_type from, element_type to, bool saturate, double x) {
    bool wraps = (to == ELEMENT_U32 || to == ELEMENT_I32) && !element_table[from].is_float && from != ELEMENT_BOOL;
    return wraps ? wrap_integer(to, x) : round_to_type(to, saturate, x);
}

static void convert_element(element_type from, element_type to, bool saturate, double x, double ex, double *v, double *e) {
    *v = convert_number(from, to, saturate, x);
    *e = 0;
    if (ex == 0)
        return;
    if (ex == INFINITY) { /* open: only a type of few values bounds the result */
        *e = to == ELEMENT_BOOL ? 1 : INFINITY;
        return;
    }
    if (isnan(x))
        return;
    double low = convert_number(from, to, saturate, x - ex), high = convert_number(from, to, saturate, x + ex);
    if (isnan(low) && isnan(high) && isnan(*v))
        return;
    if (low == high && *v == low)
        return;
    *e = fmax(high - *v, *v - low);
    if (!isfinite(*e) || !(low <= *v && *v <= high)) /* the interval wraps */
        *e = INFINITY;
}

/* While tilings are compared: what a narrow float rounds to depends on the tiling (p relative to its tile's maximum), within this error. */
static void keep_element(element_type to, bool saturate, double x, double ex, double *v, double *e) {
    double unit = to == ELEMENT_F16 || to == ELEMENT_TF32 ? 0x1p-11
                  : to == ELEMENT_BF16                    ? 0x1p-8
                  : to == ELEMENT_E4M3                    ? 0x1p-4
                                                          : 0x1p-3;
    double smallest = to == ELEMENT_F16    ? 0x1p-25
                      : to == ELEMENT_TF32 ? 0x1p-137
                      : to == ELEMENT_BF16 ? 0x1p-134
                      : to == ELEMENT_E4M3 ? 0x1p-10
                                           : 0x1p-17;
    double low = round_to_type(to, saturate, x - ex), high = round_to_type(to, saturate, x + ex);
    *v = round_to_type(to, saturate, x);
    *e = ex < INFINITY ? 0 : INFINITY;
    if (*v == x || !isfinite(x)) {
        *e = ex;
    } else if (!isfinite(low) || !isfinite(high)) {
        *e = isfinite(*v) || low != high ? INFINITY : *e;
    } else if (fabs(x) < fabs(*v) * 2) { /* not saturated far away */
        *v = x;
        *e = ex + unit * (fabs(x) + ex) + smallest;
    } else {
        *e = ex + fabs(x - *v);
    }
}

tensor *evaluate_convert(oracle *o, const tile_value *node, tensor *x) {
    element_type from = x->type, to = node->type;
    tensor *r = tensor_like(o, to, x);
    if (!r)
        return NULL;
    if (from == to || (to == ELEMENT_F32 && is_exact_in_f32(from)) || (to == ELEMENT_INDEX && from == ELEMENT_I32)) {
        memcpy(r->v, x->v, sizeof *r->v * (size_t)x->count);
        if (x->e) {
            r->e = tensor_numbers(x->count);
            memcpy(r->e, x->e, sizeof *r->e * (size_t)x->count);
        }
        return r;
    }
    bool narrow = to == ELEMENT_F16 || to == ELEMENT_TF32 || to == ELEMENT_BF16 || to == ELEMENT_E4M3 || to == ELEMENT_E5M2;
    if (o->comparing_tilings && narrow) {
        r->e = tensor_numbers(x->count);
        for (int64_t i = 0; i < x->count; i++)
            keep_element(to, node->saturate, x->v[i], x->e ? x->e[i] : 0, &r->v[i], &r->e[i]);
        tensor_trim(r);
        return r;
    }
    if (x->e)
        r->e = tensor_numbers(x->count);
    for (int64_t i = 0; i < x->count; i++) {
        double e;
        convert_element(from, to, node->saturate, x->v[i], x->e ? x->e[i] : 0, &r->v[i], &e);
        if (x->e)
            r->e[i] = e;
    }
    tensor_trim(r);
    return r;
}
