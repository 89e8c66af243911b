/* Loads of the very bytes the device gets, and stores into the results. */
#include "tile/oracle_internal.h"
#include <stdlib.h>
#include <string.h>

/* Without branches, so that eight of them go through the vector unit together. */
static inline float half_number(uint16_t bits) {
    uint32_t word = (uint32_t)(bits & 0x7fff) << 13;
    float f;
    memcpy(&f, &word, sizeof f);
    f *= 0x1p112f; /* moves the exponent's bias; exact, subnormals included */
    memcpy(&word, &f, sizeof word);
    word |= word >= 0x47800000 ? 0x7f800000 : 0; /* 2^16 and above: infinity and NaN */
    word |= (uint32_t)(bits & 0x8000) << 16;
    memcpy(&f, &word, sizeof f);
    return f;
}

static void decode_halves(const char *bytes, int64_t n, double *restrict out) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint16_t x[8];
        float y[8];
        memcpy(x, bytes + 2 * i, sizeof x);
        for (int l = 0; l < 8; l++)
            y[l] = half_number(x[l]);
        for (int l = 0; l < 8; l++)
            out[i + l] = (double)y[l];
    }
    for (; i < n; i++) {
        uint16_t x;
        memcpy(&x, bytes + 2 * i, sizeof x);
        out[i] = (double)half_number(x);
    }
}

#define DECODE(type, expression)                                                                                                 \
    for (int64_t i = 0; i < n; i++) {                                                                                            \
        type x;                                                                                                                  \
        memcpy(&x, bytes + (offset + i * step) * (int64_t)sizeof x, sizeof x);                                                   \
        out[i] = expression;                                                                                                     \
    }                                                                                                                            \
    break

/* n elements of an array, `step` apart, counted over the whole array. */
static void decode_row(const tile_array *array, const void *data, int64_t offset, int64_t step, int64_t n, double *out) {
    const char *bytes = data;
    switch (array->type) {
    case ELEMENT_F32: DECODE(float, (double)x);
    case ELEMENT_F16:
        if (step == 1) {
            decode_halves(bytes + 2 * offset, n, out);
            break;
        }
        DECODE(uint16_t, (double)half_number(x));
    case ELEMENT_BF16: DECODE(uint16_t, (double)bf16_to_f32(x));
    case ELEMENT_I8: DECODE(int8_t, (double)x);
    case ELEMENT_U8:
    case ELEMENT_BOOL: DECODE(uint8_t, (double)x);
    case ELEMENT_I32:
    case ELEMENT_INDEX: DECODE(int32_t, (double)x);
    case ELEMENT_U32: DECODE(uint32_t, (double)x);
    case ELEMENT_E4M3: DECODE(uint8_t, (double)e4m3_to_f32(x));
    case ELEMENT_E5M2: DECODE(uint8_t, (double)e5m2_to_f32(x));
    default: /* block formats: rows are whole blocks, so counting through the array is counting through its blocks */
        for (int64_t i = 0; i < n; i++)
            out[i] = element_load(array->type, data, offset + i * step);
        break;
    }
}

static const tile_range *const *ranges_of(const tile_value *v) {
    return (const tile_range *const *)v->axes;
}

/* The flat offset of every element as base + steps, when all indices are affine and inside. */
static bool flat_and_inside(const oracle *o, const tile_array *x, const index_table *tables, const tensor *shape, int64_t *base,
                            int64_t *steps) {
    const int64_t *dims = o->array_dims + x->id * ORACLE_MAX_AXES, *strides = o->array_strides + x->id * ORACLE_MAX_AXES;
    *base = 0;
    memset(steps, 0, sizeof *steps * ORACLE_MAX_AXES);
    for (int d = 0; d < x->rank; d++) {
        const index_table *t = &tables[d];
        if (!t->affine || t->lo < 0 || t->hi >= dims[d])
            return false;
        *base += t->base * strides[d];
        for (int i = 0; i < shape->axis_count; i++)
            steps[i] += t->steps[i] * strides[d];
    }
    return true;
}

/* Walks the elements of a shape, keeping each dimension's index. */
typedef struct element_walk {
    const tensor *shape;
    const index_table *tables;
    int rank;
    int64_t at[ORACLE_MAX_AXES], places[ORACLE_MAX_AXES]; /* places: the affine index, or the position in the table */
} element_walk;

static void element_walk_start(element_walk *w, const tensor *shape, const index_table *tables, int rank) {
    memset(w, 0, sizeof *w);
    w->shape = shape;
    w->tables = tables;
    w->rank = rank;
    for (int d = 0; d < rank; d++)
        w->places[d] = tables[d].affine ? tables[d].base : 0;
}

static void element_walk_next(element_walk *w) {
    for (int i = w->shape->axis_count - 1; i >= 0; i--) {
        int64_t back = ++w->at[i] < w->shape->extents[i] ? 0 : w->shape->extents[i];
        for (int d = 0; d < w->rank; d++) {
            int64_t step = w->tables[d].affine ? w->tables[d].steps[i] : w->tables[d].table_strides[i];
            w->places[d] += step - step * back;
        }
        if (!back)
            return;
        w->at[i] = 0;
    }
}

static int64_t element_walk_index(const element_walk *w, int d, double *open) {
    const index_table *t = &w->tables[d];
    if (t->affine)
        return w->places[d];
    if (t->table->e && t->table->e[w->places[d]] != 0)
        *open = t->table->e[w->places[d]];
    return (int64_t)t->table->v[w->places[d]];
}

/* An index that may be off: the hull of what it may load. One uncertain dimension at most; wider is open. */
static void load_hull(const oracle *o, const tile_array *x, const void *data, const int64_t *index, int dimension, double open,
                      double *v, double *e) {
    const int64_t *dims = o->array_dims + x->id * ORACLE_MAX_AXES, *strides = o->array_strides + x->id * ORACLE_MAX_AXES;
    *e = INFINITY;
    if (!(open <= 4096))
        return;
    int64_t flat = 0;
    for (int d = 0; d < x->rank; d++)
        flat += index[d] * strides[d];
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = index[dimension] - (int64_t)open; i <= index[dimension] + (int64_t)open; i++) {
        double one;
        if (i < 0 || i >= dims[dimension])
            continue;
        decode_row(x, data, flat + (i - index[dimension]) * strides[dimension], 1, 1, &one);
        if (!isfinite(one))
            return;
        low = fmin(low, one);
        high = fmax(high, one);
    }
    *e = fmax(high - *v, *v - low);
}

static tensor *load_anywhere(oracle *o, const tile_value *node, tensor *r, const index_table *tables, const tensor *outside) {
    const tile_array *x = node->array;
    const int64_t *dims = o->array_dims + x->id * ORACLE_MAX_AXES, *strides = o->array_strides + x->id * ORACLE_MAX_AXES;
    const void *data = o->args->data[x->id];
    unsigned char *exists = NULL;
    bool know_missing = false;
    double *errors = outside && outside->e ? tensor_numbers(r->count) : NULL;
    element_walk w;
    element_walk_start(&w, r, tables, x->rank);
    for (int64_t i = 0; i < r->count && !o->failed; i++, element_walk_next(&w)) {
        int64_t flat = 0, index[ORACLE_MAX_AXES];
        int bad = -1, open_dimension = 0, open_count = 0;
        double open = 0;
        for (int d = 0; d < x->rank; d++) {
            double uncertain = 0;
            index[d] = element_walk_index(&w, d, &uncertain);
            if (uncertain != 0) {
                open = uncertain;
                open_dimension = d;
                open_count++;
            }
            if (index[d] < 0 || index[d] >= dims[d])
                bad = bad < 0 ? d : bad;
            else
                flat += index[d] * strides[d];
        }
        double e = 0;
        if (bad < 0) {
            decode_row(x, data, flat, 1, 1, &r->v[i]);
            if (open_count == 1)
                load_hull(o, x, data, index, open_dimension, open, &r->v[i], &e);
            else if (open_count)
                e = INFINITY;
        } else if (outside) {
            r->v[i] = round_to_type(node->type, false, outside->v[i]);
            e = open_count ? INFINITY : outside->e ? outside->e[i] : 0;
        } else {
            if (!know_missing)
                exists = mask_over(o, r, NULL, 0);
            know_missing = true;
            r->v[i] = 0;
            if (open_count)
                e = INFINITY;
            else if (!exists || exists[i])
                oracle_fail(o, "E0702", node->span, "kernel `%s` reads `%s` at %lld in dimension %d, whose extent is %lld",
                            o->k->name, x->name, (long long)index[bad], bad, (long long)dims[bad]);
        }
        if (e != 0 && !errors) {
            errors = tensor_numbers(r->count);
            for (int64_t j = 0; j < i; j++)
                errors[j] = 0;
        }
        if (errors)
            errors[i] = e;
    }
    free(exists);
    if (o->failed) {
        free(errors);
        return NULL;
    }
    r->e = errors;
    tensor_trim(r);
    return r;
}

tensor *evaluate_load(oracle *o, const tile_value *node) {
    const tile_array *x = node->array;
    tensor *outside = node->has_outside ? evaluate_plain(o, node->operands[0]) : NULL;
    tensor *r = tensor_new(o, node->type, ranges_of(node), node->axis_count);
    if (!r || (node->has_outside && !outside))
        return NULL;
    if (!o->args->data[x->id] && r->count) {
        oracle_fail(o, "E0701", node->span, "kernel `%s` reads `%s`, which was not given", o->k->name, x->name);
        return NULL;
    }
    index_table tables[ORACLE_MAX_AXES];
    for (int d = 0; d < x->rank; d++)
        if (!index_table_make(o, node->indices[d], r, node->span, &tables[d]))
            return NULL;
    int64_t base, steps[ORACLE_MAX_AXES];
    if (!flat_and_inside(o, x, tables, r, &base, steps)) {
        if (outside && !(outside = tensor_expand(o, outside, ranges_of(node), node->axis_count)))
            return NULL;
        return load_anywhere(o, node, r, tables, outside);
    }
    if (!r->count)
        return r;
    int n = r->axis_count;
    int64_t at[ORACLE_MAX_AXES] = {0}, inner = n ? r->extents[n - 1] : 1, step = n ? steps[n - 1] : 0;
    for (int64_t done = 0; done < r->count; done += inner) {
        decode_row(x, o->args->data[x->id], base, step, inner, r->v + done);
        for (int d = n - 2; d >= 0; d--) {
            base += steps[d];
            if (++at[d] < r->extents[d])
                break;
            base -= steps[d] * r->extents[d];
            at[d] = 0;
        }
    }
    return r;
}

/* The common case, a row at a time: indices affine and inside, every element there. False when it does not apply or a cell was written before:
 * then nothing was stored, and the slow way finds out what is wrong. */
static bool store_rows(oracle *o, const tile_array *x, const tensor *shape, const tensor *value, const index_table *tables) {
    int64_t base, steps[ORACLE_MAX_AXES];
    if (!shape->count || !flat_and_inside(o, x, tables, shape, &base, steps))
        return false;
    oracle_output *out = &o->out->outputs[x->id];
    int n = shape->axis_count;
    int64_t inner = n ? shape->extents[n - 1] : 1, step = n ? steps[n - 1] : 0, first = base;
    if (inner > 1 && step == 0)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        int64_t at[ORACLE_MAX_AXES] = {0};
        base = first;
        for (int64_t done = 0; done < shape->count; done += inner) {
            int taken = 0;
            for (int64_t i = 0; !pass && i < inner; i++)
                taken |= out->written[base + i * step];
            if (taken)
                return false;
            for (int64_t i = 0; pass && i < inner; i++) {
                if (out->written[base + i * step]++) /* two elements of this very store meet */
                    oracle_fail(o, "E0703", x->span, "kernel `%s` writes element %lld of `%s` twice", o->k->name,
                                (long long)(base + i * step), x->name);
                out->value[base + i * step] = value->v[done + i];
                out->bound[base + i * step] = value->e ? value->e[done + i] : 0;
            }
            for (int d = n - 2; d >= 0; d--) {
                base += steps[d];
                if (++at[d] < shape->extents[d])
                    break;
                base -= steps[d] * shape->extents[d];
                at[d] = 0;
            }
        }
    }
    return true;
}

bool oracle_store(oracle *o, const tile_stmt *s) {
    const tile_array *x = s->array;
    tensor *value = evaluate_plain(o, s->value);
    const tile_range *axes[3 * ORACLE_MAX_AXES];
    int count = 0;
    for (int d = 0; d < x->rank; d++)
        count = index_axes(s->indices[d], axes, count);
    tensor *shape = value ? tensor_new(o, x->type, axes, count) : NULL;
    if (!shape || !(value = tensor_expand(o, value, axes, count)))
        return false;
    if (value->axis_count != shape->axis_count) {
        oracle_fail(o, "E0704", s->span, "kernel `%s`: the value stored into `%s` varies over a range that its indices do not",
                    o->k->name, x->name);
        return false;
    }
    index_table tables[ORACLE_MAX_AXES];
    for (int d = 0; d < x->rank; d++)
        if (!index_table_make(o, s->indices[d], shape, s->span, &tables[d]))
            return false;
    const int64_t *dims = o->array_dims + x->id * ORACLE_MAX_AXES, *strides = o->array_strides + x->id * ORACLE_MAX_AXES;
    oracle_output *out = &o->out->outputs[x->id];
    unsigned char *exists = mask_over(o, shape, NULL, 0);
    if (!exists && store_rows(o, x, shape, value, tables))
        return !o->failed;
    element_walk w;
    element_walk_start(&w, shape, tables, x->rank);
    for (int64_t i = 0; i < shape->count && !o->failed; i++, element_walk_next(&w)) {
        if (exists && !exists[i])
            continue;
        int64_t flat = 0;
        for (int d = 0; d < x->rank; d++) {
            double open = 0;
            int64_t index = element_walk_index(&w, d, &open);
            if (index < 0 || index >= dims[d] || open != 0) {
                oracle_fail(o, "E0702", s->span, "kernel `%s` writes `%s` at %lld in dimension %d, whose extent is %lld",
                            o->k->name, x->name, (long long)index, d, (long long)dims[d]);
                break;
            }
            flat += index * strides[d];
        }
        if (o->failed)
            break;
        if (out->written[flat]) {
            oracle_fail(o, "E0703", s->span, "kernel `%s` writes element %lld of `%s` twice", o->k->name, (long long)flat,
                        x->name);
            break;
        }
        out->written[flat] = 1;
        out->value[flat] = value->v[i];
        out->bound[flat] = value->e ? value->e[i] : 0;
    }
    free(exists);
    return !o->failed;
}
