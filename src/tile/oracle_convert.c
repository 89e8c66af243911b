/* Conversions: the image of the interval the operand lies in, so what is sure stays sure to the bit. */
#include "tile/oracle_internal.h"
#include <stdlib.h>
#include <string.h>

static bool is_exact_in_f32(element_type t) {
    switch (t) {
    case ELEMENT_I32:
    case ELEMENT_U32:
    case ELEMENT_INDEX:
        return false;
    default:
        return true;
    }
}

/* Between 32-bit integers bits are kept; into smaller ones values saturate, as from floats. */
static double convert_number(element_type from, element_type to, bool saturate, double x) {
    bool wraps = (to == ELEMENT_U32 || to == ELEMENT_I32) && (from == ELEMENT_I32 || from == ELEMENT_U32 || from == ELEMENT_INDEX);
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
    if (!isfinite(*e) || *e < 0)
        *e = INFINITY;
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
