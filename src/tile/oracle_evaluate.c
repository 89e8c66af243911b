/* Evaluating values: what each operation needs of its operands (plain, or with references and pending sums). */
#include "tile/oracle_internal.h"
#include <stdlib.h>
#include <string.h>

tensor *evaluate_plain(oracle *o, const tile_value *v) {
    return tensor_plain(o, evaluate(o, v));
}

static double *copy_numbers(const double *x, int64_t count) {
    if (!x)
        return NULL;
    double *y = tensor_numbers(count);
    memcpy(y, x, sizeof *y * (size_t)count);
    return y;
}

tensor *tensor_copy_owned(oracle *o, const tensor *t) {
    tensor *r = tensor_like_owned(o, t->type, t);
    if (!r)
        return NULL;
    memcpy(r->v, t->v, sizeof *r->v * (size_t)t->count);
    r->e = copy_numbers(t->e, t->count);
    r->sum = t->sum;
    r->sum.s = copy_numbers(t->sum.s, t->count);
    r->tag = t->tag;
    tensor_keep(r);
    return r;
}

static tensor *single(oracle *o, element_type type, double value) {
    tensor *t = tensor_new(o, type, NULL, 0);
    if (t)
        t->v[0] = value;
    return t;
}

static tensor *current_value(oracle *o, const tile_variable *x, int field) {
    variable_state *s = &o->variables[x->id];
    if (!s->fields) {
        oracle_fail(o, "E0704", x->span, "kernel `%s`: `%s` is read before its declaration", o->k->name, x->name);
        return NULL;
    }
    return s->reference ? s->reference : s->fields[field];
}

static tensor *evaluate_operation(oracle *o, const tile_value *v) {
    tensor *x = tensor_settled(o, evaluate(o, v->operands[0]));
    if (!x)
        return NULL;
    if (v->operand_count == 1) {
        if (x->tag.count) {
            tensor *t = tagged_unary(o, v, x);
            if (t || o->failed)
                return t;
            x = tensor_plain(o, x);
        }
        return x ? evaluate_unary(o, v, x) : NULL;
    }
    tensor *y = tensor_settled(o, evaluate(o, v->operands[1]));
    if (!y)
        return NULL;
    if (x->tag.count || y->tag.count) {
        tensor *t = tagged_binary(o, v, x, y);
        if (t || o->failed)
            return t;
        x = tensor_plain(o, x);
        y = tensor_plain(o, y);
    }
    return x && y ? evaluate_binary(o, v, x, y) : NULL;
}

/* What it says that it computes; without that anything may come. */
static tensor *evaluate_intrinsic(oracle *o, const tile_value *v) {
    const intrinsic *f = v->intrinsic;
    if (f->referenced)
        return evaluate(o, v->operands[v->operand_count - 1]);
    tensor *all[INTRINSIC_MOST_PARAMETERS];
    for (int i = 0; i < v->operand_count; i++)
        if (!(all[i] = evaluate_plain(o, v->operands[i])))
            return NULL;
    tensor *r = tensor_union(o, v->type, all, v->operand_count);
    if (!r)
        return NULL;
    r->e = tensor_numbers(r->count);
    for (int64_t i = 0; i < r->count; i++) {
        r->v[i] = 0;
        r->e[i] = INFINITY;
    }
    return r;
}

static tensor *evaluate_node(oracle *o, const tile_value *v) {
    switch (v->op) {
    case TILE_CONST:
        return single(o, v->type, element_table[v->type].is_float ? round_to_type(v->type, true, v->number) : v->number);
    case TILE_SCALAR: {
        double value = o->args->scalars[v->scalar->id];
        return single(o, v->type, v->type == ELEMENT_F32 ? round_to_f32(value) : value);
    }
    case TILE_INDEX: return evaluate_index(o, v);
    case TILE_PARAM: return o->joining ? (v->side ? o->join_right : o->join_left)[v->field] : NULL;
    case TILE_GET: return current_value(o, v->variable, 0);
    case TILE_FIELD: return current_value(o, v->variable, v->field);
    case TILE_LOAD: return evaluate_load(o, v);
    case TILE_SELECT: {
        tensor *t = tagged_select(o, v);
        if (t || o->failed)
            return t;
        tensor *c = evaluate_plain(o, v->operands[0]), *x = evaluate_plain(o, v->operands[1]),
               *y = evaluate_plain(o, v->operands[2]);
        return c && x && y ? evaluate_select(o, v, c, x, y) : NULL;
    }
    case TILE_CONVERT: {
        tensor *x = tensor_settled(o, evaluate(o, v->operands[0]));
        if (x && x->type == v->type) /* nothing to do, and references survive */
            return x;
        x = tensor_plain(o, x);
        return x ? evaluate_convert(o, v, x) : NULL;
    }
    case TILE_INTRINSIC: return evaluate_intrinsic(o, v);
    case TILE_REDUCE_SUM:
    case TILE_REDUCE_MAX:
    case TILE_REDUCE_MIN:
    case TILE_ARGMAX:
    case TILE_ARGMIN: {
        tensor *x = evaluate(o, v->operands[0]);
        return x ? evaluate_reduce(o, v, x) : NULL;
    }
    case TILE_DOT: {
        tensor *x = evaluate(o, v->operands[0]), *y = evaluate(o, v->operands[1]);
        return x && y ? evaluate_dot(o, v, x, y) : NULL;
    }
    default: return evaluate_operation(o, v);
    }
}

tensor *evaluate(oracle *o, const tile_value *v) {
    if (o->failed)
        return NULL;
    if (v->bound && o->lets[v->id])
        return o->lets[v->id];
    if (o->memo[v->id] && o->memo_epoch[v->id] == o->epoch)
        return o->memo[v->id];
    tensor *t = evaluate_node(o, v);
    if (!t)
        oracle_fail(o, "E0704", v->span, "kernel `%s`: a value cannot be evaluated here", o->k->name);
    o->memo[v->id] = t;
    o->memo_epoch[v->id] = o->epoch;
    return t;
}

/* --- sums that enter an update linearly --- */
static double magnitude_at(const tensor *t, int64_t i) {
    return t->sum.s ? t->sum.s[i] : fabs(t->v[i]);
}

static tensor *linear_sum(oracle *o, const tile_value *v, tensor *x, tensor *y) {
    tensor *r = tensor_union(o, v->type, (tensor *[]){x, y}, 2);
    if (!r)
        return NULL;
    double sign = v->op == TILE_SUB ? -1 : 1;
    r->tag = x->tag;
    r->sum = x->sum.s ? x->sum : y->sum;
    r->sum.s = tensor_numbers(r->count);
    if (x->sum.s && y->sum.s)
        pending_merge(&r->sum, &y->sum);
    else
        r->sum.quantum = fmin(r->sum.quantum, x->sum.s ? (y->e ? 0 : common_quantum(y->v, y->count, 24))
                                              : x->e   ? 0
                                                       : common_quantum(x->v, x->count, 24));
    r->sum.n = (x->sum.s ? x->sum.n : 1) + (y->sum.s ? y->sum.n : 1);
    r->sum.extra += 1;
    if (x->e || y->e)
        r->e = tensor_numbers(r->count);
    row_walk w;
    row_walk_start(&w, r, (const tensor *[]){x, y}, 2);
    int64_t at = 0;
    for (int64_t row = 0; row < w.rows; row++, row_walk_next(&w))
        for (int64_t c = 0; c < w.length; c++, at++) {
            int64_t i = w.offsets[0] + c * w.steps[0], j = w.offsets[1] + c * w.steps[1];
            r->v[at] = x->v[i] + sign * y->v[j];
            r->sum.s[at] = magnitude_at(x, i) + magnitude_at(y, j);
            if (r->e)
                r->e[at] = (x->e ? x->e[i] : 0) + (y->e ? y->e[j] : 0);
        }
    return r;
}

/* A pending sum times (or divided by) something settled: each partial sum is rounded once more, in proportion to its terms. */
static tensor *linear_scale(oracle *o, const tile_value *v, tensor *x, tensor *c) {
    tensor *r = tensor_union(o, v->type, (tensor *[]){x, c}, 2);
    if (!r)
        return NULL;
    r->tag = x->tag;
    r->sum = x->sum;
    r->sum.quantum = 0;
    r->sum.s = tensor_numbers(r->count);
    r->e = tensor_numbers(r->count);
    bool divides = v->op == TILE_DIV;
    double overflow = x->type == ELEMENT_F16 ? 0x1p15 : 0x1p127;
    double unit = (divides ? o->model->divide : o->model->unit) * SLACK, smallest = o->model->smallest * x->sum.n;
    row_walk w;
    row_walk_start(&w, r, (const tensor *[]){x, c}, 2);
    int64_t at = 0;
    for (int64_t row = 0; row < w.rows; row++, row_walk_next(&w))
        for (int64_t l = 0; l < w.length; l++, at++) {
            int64_t i = w.offsets[0] + l * w.steps[0], j = w.offsets[1] + l * w.steps[1];
            double a = x->v[i], ea = x->e ? x->e[i] : 0, s = x->sum.s[i], b = c->v[j], eb = c->e ? c->e[j] : 0;
            double factor = divides ? 1 / b : b, ef = divides ? (eb < fabs(b) ? eb / (fabs(b) * (fabs(b) - eb))
                                                                 : eb == 0    ? 0
                                                                              : INFINITY)
                                                              : eb;
            double size = fabs(factor) * s;
            r->v[at] = divides ? a / b : a * b;
            r->sum.s[at] = size + ef * s;
            double e = fabs(factor) * ea + ef * (s + ea);
            if (size != 0 || e != 0)
                e += unit * (size + e) + smallest;
            r->e[at] = e >= 0 ? e : INFINITY;
            /* Rare: taken as open rather than told apart. A sum that may overflow did so before it was scaled. */
            if (isfinite(a) && (!isfinite(r->v[at]) || !(s + ea < overflow)))
                r->e[at] = INFINITY;
        }
    return r;
}

static tensor *with_operands(oracle *o, const tile_value *v, tensor *x, tensor *y) {
    x = tensor_settled(o, x);
    y = tensor_settled(o, y);
    if (!x || !y)
        return NULL;
    if (x->tag.count || y->tag.count) {
        tensor *t = tagged_binary(o, v, x, y);
        if (t || o->failed)
            return t;
        x = tensor_plain(o, x);
        y = tensor_plain(o, y);
    }
    return x && y ? evaluate_binary(o, v, x, y) : NULL;
}

tensor *evaluate_linear(oracle *o, const tile_value *v) {
    if (v->type != ELEMENT_F32 || (v->bound && o->lets[v->id]))
        return evaluate(o, v);
    tensor *x, *y;
    switch (v->op) {
    case TILE_ADD:
    case TILE_SUB:
        x = evaluate_linear(o, v->operands[0]);
        y = evaluate_linear(o, v->operands[1]);
        if (!x || !y)
            return NULL;
        if ((!x->sum.s && !y->sum.s) || x->tag.count || y->tag.count)
            return with_operands(o, v, x, y);
        return linear_sum(o, v, x, y);
    case TILE_NEG:
        x = evaluate_linear(o, v->operands[0]);
        if (!x || !x->sum.s)
            return x ? evaluate(o, v) : NULL;
        y = tensor_copy_owned(o, x);
        if (!y)
            return NULL;
        y->kept = false;
        VEC_PUSH(o->memory, o->temporaries, y);
        for (int64_t i = 0; i < y->count; i++)
            y->v[i] = -y->v[i];
        if (y->tag.count && !y->tag.multiplies)
            return evaluate(o, v);
        return y;
    case TILE_MUL:
    case TILE_DIV:
        x = evaluate_linear(o, v->operands[0]);
        y = evaluate_linear(o, v->operands[1]);
        if (!x || !y)
            return NULL;
        if (v->op == TILE_MUL && !x->sum.s && y->sum.s) {
            tensor *t = x;
            x = y;
            y = t;
        }
        if (!x->sum.s || y->sum.s || y->tag.count || (x->tag.count && !x->tag.multiplies))
            return with_operands(o, v, evaluate(o, v->operands[0]), evaluate(o, v->operands[1]));
        return linear_scale(o, v, x, y);
    default: return evaluate(o, v);
    }
}
