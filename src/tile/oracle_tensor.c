/* Tensors of the oracle: allocation, axes, broadcasting. */
#include "tile/oracle_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void oracle_fail(oracle *o, const char *code, source_span span, const char *format, ...) {
    if (o->failed)
        return;
    o->failed = true;
    text_buffer text = {0};
    va_list args;
    va_start(args, format);
    text_add_va(&text, format, args);
    va_end(args);
    diag_error(o->diags, code, span, "%s", text_get(&text));
    text_free(&text);
}

double *tensor_numbers(int64_t count) {
    double *x = malloc(sizeof *x * (size_t)(count > 0 ? count : 1));
    if (!x) {
        fputs("tilec: out of memory\n", stderr);
        exit(1);
    }
    return x;
}

void tensor_free(tensor *t) {
    if (!t)
        return;
    tensor_free(t->settled);
    tensor_free(t->plain);
    free(t->v);
    free(t->e);
    free(t->sum.s);
    free(t);
}

void tensor_keep(tensor *t) {
    t->kept = true;
}

void oracle_free_temporaries(oracle *o) {
    for (int i = 0; i < o->temporaries.count; i++)
        if (!o->temporaries.at[i]->kept)
            tensor_free(o->temporaries.at[i]);
    o->temporaries.count = 0;
}

bool tensor_has_axis(const tensor *t, const tile_range *r) {
    for (int i = 0; i < t->axis_count; i++)
        if (t->axes[i] == r)
            return true;
    return false;
}

tensor *tensor_new(oracle *o, element_type type, const tile_range *const *axes, int axis_count) {
    if (o->failed)
        return NULL;
    tensor *t = calloc(1, sizeof *t);
    if (!t) {
        fputs("tilec: out of memory\n", stderr);
        exit(1);
    }
    VEC_PUSH(o->memory, o->temporaries, t);
    t->type = type;
    for (int i = 0; i < axis_count; i++) { /* insertion sort by range id */
        int at = 0;
        while (at < t->axis_count && t->axes[at]->id < axes[i]->id)
            at++;
        if (at < t->axis_count && t->axes[at] == axes[i])
            continue;
        if (t->axis_count == ORACLE_MAX_AXES) {
            oracle_fail(o, "E0704", axes[i]->span, "kernel `%s`: a value varies over more than %d ranges", o->k->name,
                        ORACLE_MAX_AXES);
            return NULL;
        }
        memmove(&t->axes[at + 1], &t->axes[at], sizeof *t->axes * (size_t)(t->axis_count - at));
        t->axes[at] = axes[i];
        t->axis_count++;
    }
    t->count = 1;
    for (int i = 0; i < t->axis_count; i++) {
        t->extents[i] = o->length[t->axes[i]->id];
        if (__builtin_mul_overflow(t->count, t->extents[i], &t->count) || t->count > ((int64_t)1 << 27)) {
            oracle_fail(o, "E0704", t->axes[i]->span, "kernel `%s`: a tile has more elements than the oracle holds", o->k->name);
            return NULL;
        }
    }
    t->v = tensor_numbers(t->count);
    return t;
}

tensor *tensor_like(oracle *o, element_type type, const tensor *shape) {
    return tensor_new(o, type, shape->axes, shape->axis_count);
}

tensor *tensor_like_owned(oracle *o, element_type type, const tensor *shape) {
    tensor *t = tensor_like(o, type, shape);
    if (t)
        o->temporaries.count--; /* the last one pushed */
    return t;
}

tensor *tensor_union(oracle *o, element_type type, tensor *const *operands, int count) {
    const tile_range *axes[4 * ORACLE_MAX_AXES];
    int n = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < operands[i]->axis_count; j++)
            axes[n++] = operands[i]->axes[j];
    return tensor_new(o, type, axes, n);
}

void row_walk_start(row_walk *w, const tensor *result, const tensor *const *operands, int count) {
    memset(w, 0, sizeof *w);
    w->operand_count = count;
    int64_t full[4][ORACLE_MAX_AXES];
    for (int p = 0; p < count; p++) {
        int64_t stride = 1;
        int at = operands[p]->axis_count - 1;
        for (int i = result->axis_count - 1; i >= 0; i--) {
            bool has = at >= 0 && operands[p]->axes[at] == result->axes[i];
            full[p][i] = has ? stride : 0;
            if (has)
                stride *= operands[p]->extents[at--];
        }
    }
    /* Neighbouring axes that every operand walks alike are one axis. */
    for (int i = 0; i < result->axis_count; i++) {
        int64_t extent = result->extents[i];
        if (extent == 1 && result->count)
            continue;
        bool joins = w->axis_count > 0;
        for (int p = 0; p < count && joins; p++)
            joins = w->strides[p][w->axis_count - 1] == full[p][i] * extent;
        if (!joins)
            w->axis_count++;
        else
            extent *= w->extents[w->axis_count - 1];
        w->extents[w->axis_count - 1] = extent;
        for (int p = 0; p < count; p++)
            w->strides[p][w->axis_count - 1] = full[p][i];
    }
    w->length = 1;
    if (w->axis_count) {
        w->axis_count--;
        w->length = w->extents[w->axis_count];
        for (int p = 0; p < count; p++)
            w->steps[p] = w->strides[p][w->axis_count];
    }
    w->rows = w->length ? result->count / w->length : 0;
}

void row_walk_next(row_walk *w) {
    for (int i = w->axis_count - 1; i >= 0; i--) {
        for (int p = 0; p < w->operand_count; p++)
            w->offsets[p] += w->strides[p][i];
        if (++w->at[i] < w->extents[i])
            return;
        for (int p = 0; p < w->operand_count; p++)
            w->offsets[p] -= w->strides[p][i] * w->extents[i];
        w->at[i] = 0;
    }
}

static double *expand_numbers(const tensor *to, const tensor *from, const double *x) {
    if (!x)
        return NULL;
    double *y = tensor_numbers(to->count), *out = y;
    row_walk w;
    row_walk_start(&w, to, &from, 1);
    for (int64_t r = 0; r < w.rows; r++, row_walk_next(&w), out += w.length) {
        if (w.steps[0] == 1)
            memcpy(out, x + w.offsets[0], sizeof *out * (size_t)w.length);
        else
            for (int64_t i = 0; i < w.length; i++)
                out[i] = x[w.offsets[0] + i * w.steps[0]];
    }
    return y;
}

tensor *tensor_expand(oracle *o, tensor *t, const tile_range *const *axes, int count) {
    const tile_range *all[5 * ORACLE_MAX_AXES];
    int n = 0;
    bool missing = false;
    for (int i = 0; i < t->axis_count; i++)
        all[n++] = t->axes[i];
    for (int i = 0; i < count; i++) {
        missing |= !tensor_has_axis(t, axes[i]);
        all[n++] = axes[i];
    }
    if (!missing)
        return t;
    tensor *r = tensor_new(o, t->type, all, n);
    if (!r)
        return NULL;
    free(r->v);
    r->v = expand_numbers(r, t, t->v);
    r->e = expand_numbers(r, t, t->e);
    r->sum = t->sum;
    r->sum.s = expand_numbers(r, t, t->sum.s);
    r->tag = t->tag;
    return r;
}

double *tensor_permute(const tensor *t, const double *from, const int *order) {
    if (!from)
        return NULL;
    int n = t->axis_count;
    int64_t strides[ORACLE_MAX_AXES], extents[ORACLE_MAX_AXES], at[ORACLE_MAX_AXES] = {0}, stride = 1, natural[ORACLE_MAX_AXES];
    for (int i = n - 1; i >= 0; i--) {
        natural[i] = stride;
        stride *= t->extents[i];
    }
    for (int i = 0; i < n; i++) {
        strides[i] = natural[order[i]];
        extents[i] = t->extents[order[i]];
    }
    double *to = tensor_numbers(t->count);
    if (!n) {
        to[0] = from[0];
        return to;
    }
    int64_t inner = extents[n - 1], step = strides[n - 1], offset = 0;
    for (int64_t done = 0; done < t->count; done += inner) {
        for (int64_t i = 0; i < inner; i++)
            to[done + i] = from[offset + i * step];
        for (int i = n - 2; i >= 0; i--) {
            offset += strides[i];
            if (++at[i] < extents[i])
                break;
            offset -= strides[i] * extents[i];
            at[i] = 0;
        }
    }
    return to;
}

void tensor_trim(tensor *t) {
    if (!t->e)
        return;
    for (int64_t i = 0; i < t->count; i++)
        if (t->e[i] != 0)
            return;
    free(t->e);
    t->e = NULL;
}
