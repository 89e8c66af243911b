/* Operations on two values. Each row of f32 arithmetic is done twice at most: once by a plain loop that vectorises, and again, element by
 * element, where that loop met an overflow, an infinity or a NaN. */
#include "tile/oracle_internal.h"
#include <stdlib.h>
#include <string.h>

static bool is_float(element_type t) {
    return element_table[t].is_float;
}

/* --- f32 arithmetic --- */
static void arithmetic_element(const oracle *o, tile_op op, double x, double ex, double y, double ey, double *v, double *e) {
    const double unit = (op == TILE_DIV ? o->model->divide : o->model->unit) * SLACK;
    double r = op == TILE_ADD ? x + y : op == TILE_SUB ? x - y : op == TILE_MUL ? x * y : x / y;
    *v = r;
    if (!(ex < INFINITY) || !(ey < INFINITY)) {
        *e = INFINITY;
        return;
    }
    bool special = !isfinite(x) || !isfinite(y);
    if (special) { /* infinities and NaN are exact; what meets them decides only by its sign */
        *e = 0;
        if (op == TILE_MUL &&
            ((!isfinite(x) && !isnan(x) && fabs(y) <= ey && ey > 0) || (!isfinite(y) && !isnan(y) && fabs(x) <= ex && ex > 0)))
            *e = INFINITY;
        if (op == TILE_DIV && !isfinite(x) && !isnan(x) && isfinite(y) && fabs(y) <= ey && ey > 0)
            *e = INFINITY;
        return;
    }
    double bound;
    switch (op) {
    case TILE_ADD:
    case TILE_SUB: bound = ex + ey; break;
    case TILE_MUL: bound = fabs(x) * ey + fabs(y) * ex + ex * ey; break;
    default:
        if (y == 0 && ey == 0) {
            *e = ex > 0 && fabs(x) <= ex ? INFINITY : 0;
            return;
        }
        if (fabs(y) <= ey) {
            *e = INFINITY;
            return;
        }
        bound = (ex + fabs(r) * ey) / (fabs(y) - ey);
        break;
    }
    bool tiny = r != 0 && fabs(r) < 0x1p-126;
    bool exact = bound == 0 && round_to_f32(r) == r && unit < 0x1.1p-24 && !(o->model->flushes_subnormals && tiny);
    if (op == TILE_MUL && r == 0 && x != 0 && y != 0)
        exact = false; /* below f64's own range */
    if (!exact)
        bound += unit * (fabs(r) + bound) +
                 (op == TILE_MUL || op == TILE_DIV || o->model->flushes_subnormals ? o->model->smallest : 0);
    *e = bound;
    settle_f32(v, e);
}

/* One loop per operation, so that each vectorises: f32 results without special cases. *wild: some element needs arithmetic_element. */
#define FAST_ROW(name, result, error, absolute)                                                                                  \
    static bool name(const double *restrict x, const double *restrict ex, const double *restrict y, const double *restrict ey,   \
                     double *restrict v, double *restrict e, int64_t n, double unit, double smallest) {                          \
        int wild = 0;                                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                                        \
            double r = result, b = error;                                                                                        \
            double rounded = b + unit * (fabs(r) + b) + absolute;                                                                \
            b = ((b == 0) & ((double)(float)r == r)) ? 0.0 : rounded;                                                            \
            v[i] = r;                                                                                                            \
            e[i] = b;                                                                                                            \
            wild |= !(fabs(r) + b < 0x1p127);                                                                                    \
        }                                                                                                                        \
        return wild;                                                                                                             \
    }
FAST_ROW(fast_add, x[i] + y[i], ex[i] + ey[i], 0 * smallest)
FAST_ROW(fast_sub, x[i] - y[i], ex[i] + ey[i], 0 * smallest)
FAST_ROW(fast_mul, x[i] * y[i], fabs(x[i]) * ey[i] + fabs(y[i]) * ex[i] + ex[i] * ey[i], smallest)

static const double *row_of(const double *x, int64_t offset, int64_t step, int64_t n, double *scratch, bool fresh) {
    if (!x) {
        if (fresh)
            for (int64_t i = 0; i < n; i++)
                scratch[i] = 0;
        return scratch;
    }
    if (step == 1)
        return x + offset;
    for (int64_t i = 0; i < n; i++)
        scratch[i] = x[offset];
    return scratch;
}

static tensor *float_arithmetic(oracle *o, const tile_value *node, tensor *x, tensor *y) {
    tile_op op = node->op;
    tensor *r = tensor_union(o, node->type, (tensor *[]){x, y}, 2);
    if (!r)
        return NULL;
    r->e = tensor_numbers(r->count);
    row_walk w;
    row_walk_start(&w, r, (const tensor *[]){x, y}, 2);
    double *scratch = tensor_numbers(4 * w.length);
    bool fast = op != TILE_DIV && !o->model->flushes_subnormals && o->model->unit == 0x1p-24;
    int64_t at = 0;
    for (int64_t row = 0; row < w.rows; row++, row_walk_next(&w), at += w.length) {
        int64_t n = w.length;
        const double *a = row_of(x->v, w.offsets[0], w.steps[0], n, scratch, true);
        const double *ea = row_of(x->e, w.offsets[0], w.steps[0], n, scratch + n, row == 0);
        const double *b = row_of(y->v, w.offsets[1], w.steps[1], n, scratch + 2 * n, true);
        const double *eb = row_of(y->e, w.offsets[1], w.steps[1], n, scratch + 3 * n, row == 0);
        bool wild = true;
        if (fast) {
            const double unit = o->model->unit * SLACK, smallest = o->model->smallest;
            wild = op == TILE_ADD   ? fast_add(a, ea, b, eb, r->v + at, r->e + at, n, unit, smallest)
                   : op == TILE_SUB ? fast_sub(a, ea, b, eb, r->v + at, r->e + at, n, unit, smallest)
                                    : fast_mul(a, ea, b, eb, r->v + at, r->e + at, n, unit, smallest);
        }
        for (int64_t i = 0; wild && i < n; i++)
            arithmetic_element(o, op, a[i], ea[i], b[i], eb[i], &r->v[at + i], &r->e[at + i]);
    }
    free(scratch);
    tensor_trim(r);
    return r;
}

/* --- integers: exact unless an operand is open --- */
static double multiply_wrapping(element_type type, double x, double y) {
    if (fabs(x) < 0x1p26 && fabs(y) < 0x1p26)
        return wrap_integer(type, x * y);
    if (type == ELEMENT_INDEX)
        return x * y;
    uint64_t product = (uint64_t)(int64_t)x * (uint64_t)(int64_t)y;
    uint32_t low = (uint32_t)product;
    return type == ELEMENT_U32 ? (double)low : (double)(int32_t)low;
}

static void integer_element(element_type type, tile_op op, double x, double ex, double y, double ey, double *v, double *e) {
    double bound = op == TILE_MUL ? fabs(x) * ey + fabs(y) * ex + ex * ey : ex + ey;
    double r = op == TILE_ADD ? x + y : op == TILE_SUB ? x - y : x * y;
    *v = op == TILE_MUL ? multiply_wrapping(type, x, y) : wrap_integer(type, r);
    *e = bound;
    if (bound != 0) { /* an interval that wraps is open */
        double low = type == ELEMENT_U32 ? 0 : -0x1p31, high = low + 0x1p32;
        if (!(r - bound >= low && r + bound < high))
            *e = INFINITY;
    }
}

/* --- the others, element by element --- */
static void extreme_element(bool larger, double x, double ex, double y, double ey, double *v, double *e) {
    if (ex == INFINITY || ey == INFINITY) { /* open: may be NaN, which gives way, so the other bounds one side only */
        *v = larger ? fmax(x, y) : fmin(x, y);
        *e = INFINITY;
        return;
    }
    if (isnan(x) || isnan(y)) {
        *v = isnan(x) ? y : x;
        *e = isnan(x) ? ey : ex;
        return;
    }
    double r = larger ? fmax(x, y) : fmin(x, y);
    *v = r;
    *e = 0;
    if ((ex != 0 || ey != 0) && isfinite(r)) {
        double high = larger ? fmax(x + ex, y + ey) : fmin(x + ex, y + ey),
               low = larger ? fmax(x - ex, y - ey) : fmin(x - ex, y - ey);
        *e = fmax(high - r, r - low);
    }
}

static void compare_element(tile_op op, double x, double ex, double y, double ey, double *v, double *e) {
    bool r = op == TILE_LT ? x < y : op == TILE_LE ? x <= y : op == TILE_EQ ? x == y : x != y;
    *v = r;
    *e = 0;
    if (ex == 0 && ey == 0)
        return;
    bool open = ex == INFINITY || ey == INFINITY;
    double low = x - ex - (y + ey), high = x + ex - (y - ey); /* bounds on x - y */
    if (isnan(x) || isnan(y))
        *e = open;
    else if (op == TILE_LT || op == TILE_LE)
        *e = open || !(r ? (op == TILE_LT ? high < 0 : high <= 0) : (op == TILE_LT ? low >= 0 : low > 0));
    else
        *e = open || !(low > 0 || high < 0);
}

static void logic_element(bool both, double x, double ex, double y, double ey, double *v, double *e) {
    bool a = x != 0, b = y != 0;
    *v = both ? a && b : a || b;
    bool settles_a = ex == 0 && a != both, settles_b = ey == 0 && b != both; /* false decides and, true decides or */
    *e = (ex != 0 || ey != 0) && !settles_a && !settles_b;
    if (settles_a || settles_b)
        *v = !both;
}

/* Of 32 bits; shift counts are taken modulo 32. */
static void bits_element(element_type t, tile_op op, double x, double ex, double y, double ey, double *v, double *e) {
    uint32_t a = (uint32_t)(int64_t)x, b = (uint32_t)(int64_t)y, r = a ^ b;
    if (op == TILE_BIT_AND)
        r = a & b;
    else if (op == TILE_BIT_OR)
        r = a | b;
    else if (op == TILE_SHL)
        r = a << (b & 31);
    else if (op == TILE_SHR)
        r = a >> (b & 31) | (t == ELEMENT_I32 && a >> 31 && (b & 31) ? ~(UINT32_MAX >> (b & 31)) : 0);
    *e = ex != 0 || ey != 0 ? INFINITY : 0;
    *v = *e != 0 ? 0 : t == ELEMENT_I32 ? (double)(int64_t)r - (r >> 31 ? 0x1p32 : 0) : (double)r;
}

tensor *evaluate_binary(oracle *o, const tile_value *node, tensor *x, tensor *y) {
    bool arithmetic = node->op == TILE_ADD || node->op == TILE_SUB || node->op == TILE_MUL || node->op == TILE_DIV;
    if (arithmetic && is_float(node->type))
        return float_arithmetic(o, node, x, y);
    tensor *r = tensor_union(o, node->type, (tensor *[]){x, y}, 2);
    if (!r)
        return NULL;
    r->e = tensor_numbers(r->count);
    row_walk w;
    row_walk_start(&w, r, (const tensor *[]){x, y}, 2);
    int64_t at = 0;
    bool any = false;
    for (int64_t row = 0; row < w.rows; row++, row_walk_next(&w))
        for (int64_t c = 0; c < w.length; c++, at++) {
            int64_t i = w.offsets[0] + c * w.steps[0], j = w.offsets[1] + c * w.steps[1];
            double a = x->v[i], ea = x->e ? x->e[i] : 0, b = y->v[j], eb = y->e ? y->e[j] : 0;
            switch (node->op) {
            case TILE_ADD:
            case TILE_SUB:
            case TILE_MUL: integer_element(node->type, node->op, a, ea, b, eb, &r->v[at], &r->e[at]); break;
            case TILE_MIN:
            case TILE_MAX: extreme_element(node->op == TILE_MAX, a, ea, b, eb, &r->v[at], &r->e[at]); break;
            case TILE_AND:
            case TILE_OR: logic_element(node->op == TILE_AND, a, ea, b, eb, &r->v[at], &r->e[at]); break;
            case TILE_SHL:
            case TILE_SHR:
            case TILE_BIT_AND:
            case TILE_BIT_OR:
            case TILE_BIT_XOR: bits_element(node->type, node->op, a, ea, b, eb, &r->v[at], &r->e[at]); break;
            default: compare_element(node->op, a, ea, b, eb, &r->v[at], &r->e[at]); break;
            }
            any |= r->e[at] != 0;
        }
    if (!any) {
        free(r->e);
        r->e = NULL;
    }
    return r;
}

/* An undecided condition leaves the hull of both branches. */
static void select_element(double c, double ec, double x, double ex, double y, double ey, double *v, double *e) {
    *v = c != 0 ? x : y;
    *e = c != 0 ? ex : ey;
    if (ec == 0)
        return;
    if (ex < INFINITY && ey < INFINITY && ((isnan(x) && isnan(y)) || (x == y && ex == 0 && ey == 0)))
        return;
    if (!isfinite(x) || !isfinite(y)) {
        *e = INFINITY;
        return;
    }
    double high = fmax(x + ex, y + ey), low = fmin(x - ex, y - ey);
    *e = fmax(high - *v, *v - low);
}

tensor *evaluate_select(oracle *o, const tile_value *node, tensor *c, tensor *x, tensor *y) {
    tensor *r = tensor_union(o, node->type, (tensor *[]){c, x, y}, 3);
    if (!r)
        return NULL;
    r->e = tensor_numbers(r->count);
    row_walk w;
    row_walk_start(&w, r, (const tensor *[]){c, x, y}, 3);
    int64_t at = 0;
    for (int64_t row = 0; row < w.rows; row++, row_walk_next(&w))
        for (int64_t n = 0; n < w.length; n++, at++) {
            int64_t i = w.offsets[0] + n * w.steps[0], j = w.offsets[1] + n * w.steps[1], l = w.offsets[2] + n * w.steps[2];
            select_element(c->v[i], c->e ? c->e[i] : 0, x->v[j], x->e ? x->e[j] : 0, y->v[l], y->e ? y->e[l] : 0, &r->v[at],
                           &r->e[at]);
        }
    tensor_trim(r);
    return r;
}
