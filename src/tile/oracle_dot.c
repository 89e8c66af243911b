/* Products of tiles: value, sum of magnitudes and the operands' errors in one blocked loop. */
#include "tile/oracle_internal.h"
#include <stdlib.h>
#include <string.h>

/* --- the loops: A is [rows][k], B is [columns][k] --- */
typedef double pair __attribute__((vector_size(16)));
typedef long long pair_bits __attribute__((vector_size(16)));

static inline pair load_pair(const double *x) {
    pair r;
    memcpy(&r, x, sizeof r);
    return r;
}

/* Two rows by two columns: v and the sum of magnitudes s of each of the four. */
static void dot_2x2(const double *a0, const double *a1, const double *b0, const double *b1, int64_t k, double v[4], double s[4]) {
    const pair_bits magnitude = {0x7fffffffffffffffLL, 0x7fffffffffffffffLL};
    pair v0 = {0, 0}, v1 = v0, v2 = v0, v3 = v0, s0 = v0, s1 = v0, s2 = v0, s3 = v0;
    int64_t i = 0;
    for (; i + 2 <= k; i += 2) {
        pair x0 = load_pair(a0 + i), x1 = load_pair(a1 + i), y0 = load_pair(b0 + i), y1 = load_pair(b1 + i), p;
        p = x0 * y0;
        v0 += p;
        s0 += (pair)((pair_bits)p & magnitude);
        p = x0 * y1;
        v1 += p;
        s1 += (pair)((pair_bits)p & magnitude);
        p = x1 * y0;
        v2 += p;
        s2 += (pair)((pair_bits)p & magnitude);
        p = x1 * y1;
        v3 += p;
        s3 += (pair)((pair_bits)p & magnitude);
    }
    v[0] = v0[0] + v0[1];
    v[1] = v1[0] + v1[1];
    v[2] = v2[0] + v2[1];
    v[3] = v3[0] + v3[1];
    s[0] = s0[0] + s0[1];
    s[1] = s1[0] + s1[1];
    s[2] = s2[0] + s2[1];
    s[3] = s3[0] + s3[1];
    for (; i < k; i++) {
        double p[4] = {a0[i] * b0[i], a0[i] * b1[i], a1[i] * b0[i], a1[i] * b1[i]};
        for (int l = 0; l < 4; l++) {
            v[l] += p[l];
            s[l] += fabs(p[l]);
        }
    }
}

static void dot_2x1(const double *a0, const double *a1, const double *b, int64_t k, double v[2], double s[2]) {
    const pair_bits magnitude = {0x7fffffffffffffffLL, 0x7fffffffffffffffLL};
    pair v0 = {0, 0}, v1 = v0, w0 = v0, w1 = v0, s0 = v0, s1 = v0, t0 = v0, t1 = v0;
    int64_t i = 0;
    for (; i + 4 <= k; i += 4) {
        pair y0 = load_pair(b + i), y1 = load_pair(b + i + 2), p;
        p = load_pair(a0 + i) * y0;
        v0 += p;
        s0 += (pair)((pair_bits)p & magnitude);
        p = load_pair(a0 + i + 2) * y1;
        w0 += p;
        t0 += (pair)((pair_bits)p & magnitude);
        p = load_pair(a1 + i) * y0;
        v1 += p;
        s1 += (pair)((pair_bits)p & magnitude);
        p = load_pair(a1 + i + 2) * y1;
        w1 += p;
        t1 += (pair)((pair_bits)p & magnitude);
    }
    v0 += w0;
    v1 += w1;
    s0 += t0;
    s1 += t1;
    v[0] = v0[0] + v0[1];
    v[1] = v1[0] + v1[1];
    s[0] = s0[0] + s0[1];
    s[1] = s1[0] + s1[1];
    for (; i < k; i++) {
        v[0] += a0[i] * b[i];
        v[1] += a1[i] * b[i];
        s[0] += fabs(a0[i] * b[i]);
        s[1] += fabs(a1[i] * b[i]);
    }
}

static void product(const double *a, const double *b, int64_t rows, int64_t columns, int64_t k, double *v, double *s) {
    for (int64_t i = 0; i < rows; i += 2) {
        const double *a0 = a + i * k, *a1 = i + 1 < rows ? a0 + k : a0;
        int64_t j = 0;
        double pv[4], ps[4];
        for (; j + 2 <= columns; j += 2) {
            dot_2x2(a0, a1, b + j * k, b + (j + 1) * k, k, pv, ps);
            for (int l = 0; l < 2; l++) {
                v[i * columns + j + l] = pv[l];
                s[i * columns + j + l] = ps[l];
                if (i + 1 < rows) {
                    v[(i + 1) * columns + j + l] = pv[2 + l];
                    s[(i + 1) * columns + j + l] = ps[2 + l];
                }
            }
        }
        if (j < columns) {
            dot_2x1(a0, a1, b + j * k, k, pv, ps);
            v[i * columns + j] = pv[0];
            s[i * columns + j] = ps[0];
            if (i + 1 < rows) {
                v[(i + 1) * columns + j] = pv[1];
                s[(i + 1) * columns + j] = ps[1];
            }
        }
    }
}

/* e += |a| eb + ea |b| + ea eb; an operand without errors has NULL. */
static void product_errors(const double *a, const double *ea, const double *b, const double *eb, int64_t rows, int64_t columns,
                           int64_t k, double *e) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const double *x = a + i * k, *y = b + j * k, *ex = ea ? ea + i * k : NULL, *ey = eb ? eb + j * k : NULL;
            double sum0 = 0, sum1 = 0;
            int64_t l = 0;
            if (ex && ey) {
                for (; l < k; l++)
                    sum0 += fabs(x[l]) * ey[l] + ex[l] * (fabs(y[l]) + ey[l]);
            } else {
                const double *m = ex ? ex : ey, *p = ex ? y : x;
                for (; l + 2 <= k; l += 2) {
                    sum0 += m[l] * fabs(p[l]);
                    sum1 += m[l + 1] * fabs(p[l + 1]);
                }
                if (l < k)
                    sum0 += m[l] * fabs(p[l]);
            }
            e[i * columns + j] = sum0 + sum1;
        }
}

/* One element that met infinities, NaN or open values: only what exists takes part. */
static void special_dot(const double *a, const double *ea, const double *b, const double *eb, const double *exists, int64_t k,
                        double *v, double *e, double *s) {
    double finite = 0, sum = 0, error = 0;
    bool open = false, nan = false, up = false, down = false;
    for (int64_t l = 0; l < k; l++) {
        if (exists && exists[l] == 0)
            continue;
        double x = a[l], y = b[l], ex = ea ? ea[l] : 0, ey = eb ? eb[l] : 0, p = x * y;
        if (!(ex < INFINITY) || !(ey < INFINITY))
            open = true;
        else if (isnan(p))
            nan = true;
        else if (!isfinite(p)) {
            open |= (isfinite(x) && fabs(x) <= ex) || (isfinite(y) && fabs(y) <= ey);
            up |= p > 0;
            down |= p < 0;
        } else {
            sum += p;
            finite += fabs(p);
            error += fabs(x) * ey + ex * (fabs(y) + ey);
        }
    }
    *v = nan || (up && down) ? NAN : up ? INFINITY : down ? -INFINITY : sum;
    *s = finite;
    *e = open || (!isfinite(*v) && !isnan(*v) && finite + error >= 0x1p127) ? INFINITY : isfinite(*v) ? error : 0;
}

static void integer_product(element_type type, const double *a, const double *ea, const double *b, const double *eb, int64_t rows,
                            int64_t columns, int64_t k, double *v, double *e) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            uint64_t sum = 0;
            double error = 0, size = 0;
            for (int64_t l = 0; l < k; l++) {
                double x = a[i * k + l], y = b[j * k + l], ex = ea ? ea[i * k + l] : 0, ey = eb ? eb[j * k + l] : 0;
                sum += (uint64_t)(int64_t)x * (uint64_t)(int64_t)y;
                if (ex != 0 || ey != 0)
                    error += fabs(x) * ey + ex * (fabs(y) + ey);
                size += fabs(x * y);
            }
            uint32_t low = (uint32_t)sum;
            v[i * columns + j] = type == ELEMENT_U32 ? (double)low : (double)(int32_t)low;
            if (e)
                e[i * columns + j] = error != 0 && !(size + error < 0x1p31) ? INFINITY : error;
        }
}

/* --- axes --- */
static bool among(tile_range *const *list, int count, const tile_range *r) {
    for (int i = 0; i < count; i++)
        if (list[i] == r)
            return true;
    return false;
}

/* Which axes stand where: those of both operands first, then the operand's own, then the contracted ones. */
typedef struct dot_axes {
    const tile_range *batch[ORACLE_MAX_AXES], *rows[ORACLE_MAX_AXES], *columns[ORACLE_MAX_AXES], *contract[ORACLE_MAX_AXES];
    int batch_count, row_count, column_count, contract_count;
    int64_t batch_size, row_size, column_size, contract_size;
} dot_axes;

static int position_of(const tensor *t, const tile_range *r) {
    for (int i = 0; i < t->axis_count; i++)
        if (t->axes[i] == r)
            return i;
    return -1;
}

static double *packed(const tensor *t, const double *x, const dot_axes *d, bool right, bool *owned) {
    int order[ORACLE_MAX_AXES], n = 0;
    for (int i = 0; i < d->batch_count; i++)
        order[n++] = position_of(t, d->batch[i]);
    for (int i = 0; i < (right ? d->column_count : d->row_count); i++)
        order[n++] = position_of(t, right ? d->columns[i] : d->rows[i]);
    for (int i = 0; i < d->contract_count; i++)
        order[n++] = position_of(t, d->contract[i]);
    bool natural = true;
    for (int i = 0; i < n; i++)
        natural &= order[i] == i;
    *owned = !natural && x;
    return natural || !x ? (double *)x : tensor_permute(t, x, order);
}

static void dot_axes_make(const tensor *x, const tensor *y, const tile_value *node, dot_axes *d) {
    memset(d, 0, sizeof *d);
    d->batch_size = d->row_size = d->column_size = d->contract_size = 1;
    for (int i = 0; i < x->axis_count; i++) {
        const tile_range *r = x->axes[i];
        if (among(node->contract, node->contract_count, r)) {
            d->contract[d->contract_count++] = r;
            d->contract_size *= x->extents[i];
        } else if (tensor_has_axis(y, r)) {
            d->batch[d->batch_count++] = r;
            d->batch_size *= x->extents[i];
        } else {
            d->rows[d->row_count++] = r;
            d->row_size *= x->extents[i];
        }
    }
    for (int i = 0; i < y->axis_count; i++)
        if (!tensor_has_axis(x, y->axes[i])) {
            d->columns[d->column_count++] = y->axes[i];
            d->column_size *= y->extents[i];
        }
}

static bool tag_varies_over_any(const oracle *o, const tag *t, const tile_value *node) {
    for (int i = 0; i < t->count; i++)
        for (int j = 0; j < node->contract_count; j++)
            if (tensor_has_axis(o->references.at[t->terms[i].reference].error, node->contract[j]))
                return true;
    return false;
}

/* Puts the result, made as [batch][rows][columns], into the axes' own order. */
static void put_in_order(tensor *r, const dot_axes *d, double **x) {
    tensor made = {.count = r->count};
    for (int i = 0; i < d->batch_count; i++)
        made.axes[made.axis_count++] = d->batch[i];
    for (int i = 0; i < d->row_count; i++)
        made.axes[made.axis_count++] = d->rows[i];
    for (int i = 0; i < d->column_count; i++)
        made.axes[made.axis_count++] = d->columns[i];
    int order[ORACLE_MAX_AXES];
    bool natural = true;
    for (int i = 0; i < made.axis_count; i++)
        made.extents[i] = r->extents[position_of(r, made.axes[i])];
    for (int i = 0; i < r->axis_count; i++) {
        order[i] = position_of(&made, r->axes[i]);
        natural &= order[i] == i;
    }
    if (natural || !*x)
        return;
    double *y = tensor_permute(&made, *x, order);
    free(*x);
    *x = y;
}

static bool is_narrow(element_type t) {
    return t == ELEMENT_F16 || t == ELEMENT_BF16 || t == ELEMENT_TF32 || t == ELEMENT_E4M3 || t == ELEMENT_E5M2;
}

/* What a unit reads of it that takes numbers below 2^-126 for zero: those are off by themselves. */
static tensor *flushed(oracle *o, tensor *x) {
    int64_t some = 0;
    for (int64_t i = 0; i < x->count && !some; i++)
        some = x->v[i] != 0 && fabs(x->v[i]) < 0x1p-126;
    if (!some)
        return x;
    tensor *r = tensor_like(o, x->type, x);
    if (!r)
        return NULL;
    memcpy(r->v, x->v, sizeof *r->v * (size_t)x->count);
    r->e = tensor_numbers(x->count);
    r->tag = x->tag;
    for (int64_t i = 0; i < x->count; i++)
        r->e[i] = (x->e ? x->e[i] : 0) + (fabs(x->v[i]) < 0x1p-126 ? fabs(x->v[i]) : 0);
    return r;
}

tensor *evaluate_dot(oracle *o, const tile_value *node, tensor *x, tensor *y) {
    x = tensor_settled(o, x);
    y = tensor_settled(o, y);
    if (!x || !y)
        return NULL;
    if (node_flushes(o, node->id)) {
        x = flushed(o, x);
        y = flushed(o, y);
        if (!x || !y)
            return NULL;
    }
    /* One side may stay relative to its reference, when the sum does not run over what the reference varies over. */
    if (x->tag.count && (!x->tag.multiplies || tag_varies_over_any(o, &x->tag, node)))
        x = tensor_plain(o, x);
    if (y && y->tag.count && (!y->tag.multiplies || tag_varies_over_any(o, &y->tag, node)))
        y = tensor_plain(o, y);
    if (x && y && x->tag.count && y->tag.count) {
        x = tensor_plain(o, x);
        y = tensor_plain(o, y);
    }
    if (!x || !y)
        return NULL;
    element_type type = x->type;
    bool floats = element_table[type].is_float;
    tensor *mask = NULL;
    const tile_range *axes[ORACLE_MAX_AXES * 2];
    const tile_range *const *contract = (const tile_range *const *)node->contract;
    int count = mask_axes(o, contract, node->contract_count, axes, 0);
    if (count) { /* elements that do not exist are zero on the left; on the right where it matters, see special_dot */
        x = tensor_expand(o, x, axes, count);
        unsigned char *exists = x ? mask_over(o, x, contract, node->contract_count) : NULL;
        if (exists) {
            tensor *z = tensor_like(o, x->type, x);
            mask = z ? tensor_like(o, x->type, x) : NULL;
            if (!mask) {
                free(exists);
                return NULL;
            }
            if (x->e)
                z->e = tensor_numbers(x->count);
            for (int64_t i = 0; i < x->count; i++) {
                mask->v[i] = exists[i];
                z->v[i] = exists[i] ? x->v[i] : 0;
                if (x->e)
                    z->e[i] = exists[i] ? x->e[i] : 0;
            }
            z->tag = x->tag;
            x = z;
            free(exists);
        }
    }
    if (!x)
        return NULL;
    dot_axes d;
    dot_axes_make(x, y, node, &d);
    const tile_range *kept[3 * ORACLE_MAX_AXES];
    int kept_count = 0;
    for (int i = 0; i < d.batch_count; i++)
        kept[kept_count++] = d.batch[i];
    for (int i = 0; i < d.row_count; i++)
        kept[kept_count++] = d.rows[i];
    for (int i = 0; i < d.column_count; i++)
        kept[kept_count++] = d.columns[i];
    tensor *r = tensor_new(o, node->accumulator, kept, kept_count);
    if (!r)
        return NULL;
    bool own[5];
    double *a = packed(x, x->v, &d, false, &own[0]), *ea = packed(x, x->e, &d, false, &own[1]);
    double *b = packed(y, y->v, &d, true, &own[2]), *eb = packed(y, y->e, &d, true, &own[3]);
    double *there = mask ? packed(mask, mask->v, &d, false, &own[4]) : NULL;
    int64_t n = d.row_size, m = d.column_size, k = d.contract_size;
    if (ea || eb)
        r->e = tensor_numbers(r->count);
    if (floats)
        r->sum.s = tensor_numbers(r->count);
    for (int64_t g = 0; g < d.batch_size; g++) {
        double *v = r->v + g * n * m, *e = r->e ? r->e + g * n * m : NULL, *s = floats ? r->sum.s + g * n * m : NULL;
        const double *ga = a + g * n * k, *gea = ea ? ea + g * n * k : NULL, *gb = b + g * m * k,
                     *geb = eb ? eb + g * m * k : NULL;
        if (!floats) {
            integer_product(node->type, ga, gea, gb, geb, n, m, k, v, e);
            continue;
        }
        product(ga, gb, n, m, k, v, s);
        if (gea || geb)
            product_errors(ga, gea, gb, geb, n, m, k, e);
        for (int64_t i = 0; i < n * m; i++)
            if (!(s[i] < INFINITY) || (e && !(e[i] < INFINITY))) {
                double error;
                int64_t row = i / m, column = i % m;
                special_dot(ga + row * k, gea ? gea + row * k : NULL, gb + column * k, geb ? geb + column * k : NULL,
                            there ? there + (g * n + row) * k : NULL, k, &v[i], &error, &s[i]);
                if (error != 0 && !e) {
                    e = r->e = calloc((size_t)r->count, sizeof *e);
                    e = r->e ? r->e + g * n * m : NULL;
                }
                if (e)
                    e[i] = error;
            }
    }
    if (floats && !ea && !eb && !x->tag.count && !y->tag.count) {
        double qa = common_quantum(a, x->count, 12), qb = qa > 0 ? common_quantum(b, y->count, 12) : 0;
        r->sum.quantum = qa == INFINITY || qb == INFINITY ? INFINITY : qa * qb;
        if (qa == 0 || qb == 0)
            r->sum.quantum = 0;
    }
    if (own[0])
        free(a);
    if (own[1])
        free(ea);
    if (own[2])
        free(b);
    if (own[3])
        free(eb);
    if (mask && own[4])
        free(there);
    put_in_order(r, &d, &r->v);
    put_in_order(r, &d, &r->e);
    put_in_order(r, &d, &r->sum.s);
    if (!floats) {
        tensor_trim(r);
        return r;
    }
    r->tag = x->tag.count ? x->tag : y->tag;
    r->sum.n = (double)k;
    r->sum.rounds_products = (!is_narrow(type) && !o->model->fused_products) || node->accumulator == ELEMENT_F16;
    pending_add_node(&r->sum, node->id);
    if (node->accumulator == node->type)
        return r;
    tensor *settled = tensor_plain(o, r); /* an f16 accumulator whose result is then taken as f32 */
    tensor *out = settled ? tensor_like(o, node->type, settled) : NULL;
    if (!out)
        return NULL;
    memcpy(out->v, settled->v, sizeof *out->v * (size_t)out->count);
    if (settled->e) {
        out->e = tensor_numbers(out->count);
        memcpy(out->e, settled->e, sizeof *out->e * (size_t)out->count);
    }
    return out;
}
