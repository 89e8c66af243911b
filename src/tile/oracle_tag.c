/* Free references: values relative to a maximum that the device may have a little off. doc/tile-ir.md derives each case. */
#include "tile/oracle_internal.h"
#include <stdlib.h>
#include <string.h>

bool tag_same(const tag *a, const tag *b) {
    if (a->count != b->count || (a->count && a->multiplies != b->multiplies))
        return false;
    for (int i = 0; i < a->count; i++) {
        bool found = false;
        for (int j = 0; j < b->count; j++)
            found |= a->terms[i].reference == b->terms[j].reference && a->terms[i].factor == b->terms[j].factor;
        if (!found)
            return false;
    }
    return true;
}

bool tag_combine(const tag *a, double ca, const tag *b, double cb, bool multiplies, tag *out) {
    tag r = {.multiplies = multiplies};
    const tag *sides[2] = {a, b};
    double factors[2] = {ca, cb};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < sides[side]->count; i++) {
            int j = 0;
            while (j < r.count && r.terms[j].reference != sides[side]->terms[i].reference)
                j++;
            if (j == r.count) {
                if (r.count == ORACLE_MAX_TERMS)
                    return false;
                r.terms[r.count++] = (tag_term){sides[side]->terms[i].reference, 0};
            }
            r.terms[j].factor += factors[side] * sides[side]->terms[i].factor;
        }
    int kept = 0;
    for (int i = 0; i < r.count; i++)
        if (r.terms[i].factor != 0)
            r.terms[kept++] = r.terms[i];
    r.count = kept;
    *out = r;
    return true;
}

bool tag_is_reference(const tensor *t) {
    return t->tag.count == 1 && !t->tag.multiplies && t->tag.terms[0].factor == 1 && !t->e && !t->sum.s;
}

double *tag_error(oracle *o, const tag *t, const tensor *shape, double *largest) {
    *largest = 0;
    if (!t->count)
        return NULL;
    double *d = calloc((size_t)(shape->count ? shape->count : 1), sizeof *d);
    if (!d) {
        *largest = INFINITY;
        return NULL;
    }
    for (int i = 0; i < t->count; i++) {
        const tensor *e = o->references.at[t->terms[i].reference].error;
        double factor = fabs(t->terms[i].factor);
        row_walk w;
        row_walk_start(&w, shape, &e, 1);
        double *out = d;
        for (int64_t r = 0; r < w.rows; r++, row_walk_next(&w), out += w.length)
            for (int64_t c = 0; c < w.length; c++)
                out[c] += factor * e->v[w.offsets[0] + c * w.steps[0]];
    }
    for (int64_t i = 0; i < shape->count; i++)
        if (!(d[i] <= *largest))
            *largest = d[i] >= 0 ? d[i] : INFINITY;
    return d;
}

/* The error of a reference is a tensor of its own whose v holds the bounds. */
static int new_reference(oracle *o, tensor *error) {
    o->temporaries.count -= o->temporaries.count && o->temporaries.at[o->temporaries.count - 1] == error;
    tensor_keep(error);
    VEC_PUSH(o->memory, o->task_tensors, error);
    VEC_PUSH(o->memory, o->references, (reference){error});
    return o->references.count - 1;
}

tensor *tensor_as_reference(oracle *o, tensor *t) {
    t = tensor_plain(o, t);
    if (!t || !t->e || t->type != ELEMENT_F32)
        return t;
    for (int64_t i = 0; i < t->count; i++)
        if (!(t->e[i] <= 1)) /* too uncertain for the exponentials' bounds */
            return t;
    tensor *error = tensor_like_owned(o, ELEMENT_F32, t);
    if (!error)
        return NULL;
    memcpy(error->v, t->e, sizeof *error->v * (size_t)t->count);
    tensor *r = tensor_like(o, t->type, t);
    if (!r)
        return NULL;
    memcpy(r->v, t->v, sizeof *r->v * (size_t)t->count);
    r->tag = (tag){.count = 1, .terms = {{new_reference(o, error), 1}}};
    return r;
}

tensor *tensor_imprint(oracle *o, tensor *t, const tag *like) {
    t = tensor_plain(o, t);
    if (!t || !like->count)
        return t;
    tensor *r = tensor_like(o, t->type, t);
    if (!r)
        return NULL;
    double largest;
    double *d = tag_error(o, like, t, &largest);
    memcpy(r->v, t->v, sizeof *r->v * (size_t)t->count);
    r->e = tensor_numbers(t->count);
    for (int64_t i = 0; i < t->count; i++) {
        double e = t->e ? t->e[i] : 0, w = d ? d[i] : INFINITY;
        r->e[i] = isfinite(r->v[i]) ? (e * exp(w) + fabs(r->v[i]) * expm1(w)) * (1 + 0x1p-50) : e;
    }
    free(d);
    r->tag = *like;
    tensor_trim(r);
    return r;
}

static bool may_refer(const tensor *t) { /* a reference, or exact and so one with error zero */
    return tag_is_reference(t) || (!t->tag.count && !t->e && !t->sum.s);
}

/* max of two references is a new one: off by no more than the one that wins, or than the worse one where that is open. */
static tensor *joined_reference(oracle *o, tensor *x, tensor *y) {
    for (int i = 0; i < o->joined.count; i++) {
        joined_max *j = &o->joined.at[i];
        if ((j->x == x && j->y == y) || (j->x == y && j->y == x))
            return (tensor *)j->result;
    }
    tensor *r = tensor_union(o, ELEMENT_F32, (tensor *[]){x, y}, 2);
    tensor *error = r ? tensor_like_owned(o, ELEMENT_F32, r) : NULL;
    if (!error)
        return NULL;
    double largest;
    double *ex = tag_error(o, &x->tag, r, &largest), *ey = tag_error(o, &y->tag, r, &largest);
    row_walk w;
    row_walk_start(&w, r, (const tensor *[]){x, y}, 2);
    int64_t at = 0;
    for (int64_t row = 0; row < w.rows; row++, row_walk_next(&w))
        for (int64_t c = 0; c < w.length; c++, at++) {
            double a = x->v[w.offsets[0] + c * w.steps[0]], b = y->v[w.offsets[1] + c * w.steps[1]];
            double da = ex ? ex[at] : 0, db = ey ? ey[at] : 0;
            r->v[at] = fmax(a, b);
            bool left = isnan(b) || a - b > da + db, right = isnan(a) || b - a > da + db;
            error->v[at] = left ? da : right ? db : fmax(da, db);
        }
    free(ex);
    free(ey);
    r->tag = (tag){.count = 1, .terms = {{new_reference(o, error), 1}}};
    VEC_PUSH(o->memory, o->joined, ((joined_max){x, y, r}));
    return r;
}

/* exp(s - m): the reference moves from a sum to a product. */
tensor *tagged_unary(oracle *o, const tile_value *v, tensor *x) {
    if (!x->tag.count || x->sum.s)
        return NULL;
    if (v->op == TILE_NEG) {
        tensor *r = tensor_like(o, v->type, x);
        if (!r)
            return NULL;
        for (int64_t i = 0; i < x->count; i++)
            r->v[i] = -x->v[i];
        if (x->e) {
            r->e = tensor_numbers(x->count);
            memcpy(r->e, x->e, sizeof *r->e * (size_t)x->count);
        }
        const tag none = {0};
        tag_combine(&x->tag, x->tag.multiplies ? 1 : -1, &none, 0, x->tag.multiplies, &r->tag);
        return r;
    }
    bool exponential = v->op == TILE_EXP && !x->tag.multiplies, logarithm = v->op == TILE_LOG && x->tag.multiplies;
    if (!exponential && !logarithm)
        return NULL;
    double largest;
    free(tag_error(o, &x->tag, x, &largest));
    if (!(largest <= 1))
        return NULL;
    tensor *r = tensor_like(o, v->type, x);
    if (!r)
        return NULL;
    r->e = tensor_numbers(x->count);
    double scale = exp(largest);
    const double exp_unit = o->model->exp_ulp * 0x1p-23 * SLACK, log_unit = o->model->log_ulp * 0x1p-23 * SLACK;
    for (int64_t i = 0; i < x->count; i++) {
        double a = x->v[i], ea = x->e ? x->e[i] : 0;
        if (exponential) {
            double p = exp(a), e = p * (ea < 1 ? ea * (1 + ea) : expm1(ea));
            r->v[i] = p;
            r->e[i] = p == 0 && a == -INFINITY ? ea : e + exp_unit * (p + e) + o->model->smallest * scale;
            if (!((p + r->e[i]) * scale < F32_OVERFLOW))
                r->e[i] = INFINITY;
        } else {
            double p = log(a);
            double e = ea < a ? -log1p(-ea / a) : INFINITY;
            r->v[i] = p;
            r->e[i] = e + log_unit * (fabs(p) + e + largest);
        }
        if (isnan(r->v[i]) && r->e[i] < INFINITY)
            r->e[i] = 0;
        if (!(r->e[i] >= 0))
            r->e[i] = INFINITY;
    }
    const tag none = {0};
    tag_combine(&x->tag, 1, &none, 0, exponential, &r->tag);
    tensor_trim(r);
    return r;
}

/* One element: v and e relative to the references, w the references' own possible error for the result. */
static void tagged_element(const oracle *o, tile_op op, double x, double ex, double y, double ey, double w, double scale,
                           double *v, double *e) {
    const double unit = o->model->unit * SLACK;
    double extra = o->model->smallest * scale;
    bool exact_zero = false;
    switch (op) {
    case TILE_SUB:
    case TILE_ADD:
        *v = op == TILE_SUB ? x - y : x + y;
        *e = ex + ey;
        *e += unit * (fabs(*v) + *e + w);
        exact_zero = x == 0 && y == 0 && ex == 0 && ey == 0;
        break;
    case TILE_MUL:
        *v = x * y;
        *e = fabs(x) * ey + fabs(y) * ex + ex * ey;
        exact_zero = (x == 0 && ex == 0 && isfinite(y) && ey < INFINITY) || (y == 0 && ey == 0 && isfinite(x) && ex < INFINITY);
        *e += unit * (fabs(*v) + *e + w) + extra;
        break;
    default: { /* DIV */
        *v = x / y;
        double low = fabs(y) - ey;
        *e = low > 0 ? (ex + fabs(*v) * ey) / low : INFINITY;
        exact_zero = x == 0 && ex == 0 && low > 0 && isfinite(y);
        *e += o->model->divide * SLACK * (fabs(*v) + *e) + extra;
        break;
    }
    }
    bool open = !(ex < INFINITY) || !(ey < INFINITY) ||
                ((op == TILE_MUL || op == TILE_DIV) && !isfinite(x) && fabs(y) <= ey && ey > 0) ||
                (op == TILE_MUL && !isfinite(y) && fabs(x) <= ex && ex > 0);
    if (open)
        *e = INFINITY;
    else if (exact_zero || !isfinite(*v))
        *e = 0;
    else if (!((fabs(*v) + *e) * scale < F32_OVERFLOW))
        *e = INFINITY;
}

tensor *tagged_binary(oracle *o, const tile_value *v, tensor *x, tensor *y) {
    if ((!x->tag.count && !y->tag.count) || x->sum.s || y->sum.s)
        return NULL;
    if (v->op == TILE_MAX)
        return o->joining && may_refer(x) && may_refer(y) ? joined_reference(o, x, y) : NULL;
    bool sum_tags = (!x->tag.count || !x->tag.multiplies) && (!y->tag.count || !y->tag.multiplies);
    bool product_tags = (!x->tag.count || x->tag.multiplies) && (!y->tag.count || y->tag.multiplies);
    tag t;
    bool ok = false;
    if ((v->op == TILE_SUB || v->op == TILE_ADD) && sum_tags) {
        ok = tag_combine(&x->tag, 1, &y->tag, v->op == TILE_ADD ? 1 : -1, false, &t);
    } else if ((v->op == TILE_SUB || v->op == TILE_ADD) && tag_same(&x->tag, &y->tag)) {
        ok = true;
        t = x->tag;
    } else if ((v->op == TILE_MUL || v->op == TILE_DIV) && product_tags) {
        ok = tag_combine(&x->tag, 1, &y->tag, v->op == TILE_MUL ? 1 : -1, true, &t);
    } else if (v->op == TILE_MUL && sum_tags && (x->tag.count == 0 ? x : y)->tag.count == 0) {
        const tensor *c = x->tag.count ? y : x; /* a constant times a sum scales its references */
        if (c->count == 1 && !c->e && c->axis_count == 0 && isfinite(c->v[0])) {
            const tag none = {0};
            ok = tag_combine(x->tag.count ? &x->tag : &y->tag, c->v[0], &none, 0, false, &t);
        }
    }
    /* zero that adds to a tagged value is relative to any reference */
    if (!ok && v->op == TILE_ADD && (x->tag.count == 0 || y->tag.count == 0)) {
        const tensor *z = x->tag.count ? y : x;
        bool zero = !z->e;
        for (int64_t i = 0; zero && i < z->count; i++)
            zero = z->v[i] == 0;
        ok = zero;
        t = x->tag.count ? x->tag : y->tag;
    }
    if (!ok)
        return NULL;
    tensor *r = tensor_union(o, v->type, (tensor *[]){x, y}, 2);
    if (!r)
        return NULL;
    double largest_x, largest_y, largest;
    free(tag_error(o, &x->tag, x, &largest_x));
    free(tag_error(o, &y->tag, y, &largest_y));
    double *w = tag_error(o, &t, r, &largest);
    double span = t.multiplies || product_tags ? fmax(largest, largest_x + largest_y) : 0;
    if (!(span <= 1)) {
        free(w);
        return NULL;
    }
    double scale = exp(span);
    r->e = tensor_numbers(r->count);
    row_walk walk;
    row_walk_start(&walk, r, (const tensor *[]){x, y}, 2);
    int64_t at = 0;
    for (int64_t row = 0; row < walk.rows; row++, row_walk_next(&walk))
        for (int64_t c = 0; c < walk.length; c++, at++) {
            int64_t i = walk.offsets[0] + c * walk.steps[0], j = walk.offsets[1] + c * walk.steps[1];
            double relative = w && !t.multiplies && t.count ? w[at] : 0;
            tagged_element(o, v->op, x->v[i], x->e ? x->e[i] : 0, y->v[j], y->e ? y->e[j] : 0, relative, scale, &r->v[at],
                           &r->e[at]);
        }
    free(w);
    r->tag = t;
    tensor_trim(r);
    return r;
}

/* select(mine >= other, 1, exp(mine - other)) is exp(mine - max(mine, other)), whichever way the device decides. */
tensor *tagged_select(oracle *o, const tile_value *v) {
    const tile_value *c = v->operands[0];
    if (!o->joining || (c->op != TILE_LE && c->op != TILE_LT))
        return NULL;
    tensor *x = evaluate(o, c->operands[0]), *y = evaluate(o, c->operands[1]);
    if (!x || !y || (!x->tag.count && !y->tag.count) || !may_refer(x) || !may_refer(y))
        return NULL;
    for (int swapped = 0; swapped < 2; swapped++) {
        tensor *one = evaluate(o, v->operands[swapped ? 2 : 1]), *rescale = evaluate(o, v->operands[swapped ? 1 : 2]);
        if (!one || !rescale)
            return NULL;
        /* true means x <= y: then 1 is chosen and y is `mine`; swapped: x is. */
        const tensor *mine = swapped ? x : y, *other = swapped ? y : x;
        tag expected;
        if (one->tag.count || one->e || one->count != 1 || one->v[0] != 1 ||
            !tag_combine(&mine->tag, 1, &other->tag, -1, true, &expected) || !tag_same(&rescale->tag, &expected) ||
            rescale->sum.s)
            continue;
        tensor *top = joined_reference(o, x, y);
        tensor *r = top ? tensor_union(o, v->type, (tensor *[]){x, y, rescale}, 3) : NULL;
        if (!r || !tag_combine(&mine->tag, 1, &top->tag, -1, true, &r->tag))
            return NULL;
        r->e = tensor_numbers(r->count);
        double largest;
        double *em = tag_error(o, &mine->tag, r, &largest), *eo = tag_error(o, &other->tag, r, &largest);
        row_walk w;
        row_walk_start(&w, r, (const tensor *[]){mine, other, rescale}, 3);
        int64_t at = 0;
        for (int64_t row = 0; row < w.rows; row++, row_walk_next(&w))
            for (int64_t i = 0; i < w.length; i++, at++) {
                double m = mine->v[w.offsets[0] + i * w.steps[0]], t = other->v[w.offsets[1] + i * w.steps[1]];
                int64_t j = w.offsets[2] + i * w.steps[2];
                double error = (em ? em[at] : 0) + (eo ? eo[at] : 0);
                bool wins = m >= t, surely = wins && (error == 0 || m - t > error || t == -INFINITY);
                r->v[at] = wins ? 1 : rescale->v[j];
                r->e[at] = surely ? 0 : rescale->e ? rescale->e[j] : 0;
            }
        free(em);
        free(eo);
        tensor_trim(r);
        return r;
    }
    return NULL;
}

/* --- joins --- */
/* The field that keeps a running maximum: its join is max(left, right) of itself. -1: none. */
static int maximum_field(const tile_variable *x) {
    for (int f = 0; f < x->field_count; f++) {
        const tile_value *v = x->join[f];
        if (v->op != TILE_MAX || x->types[f] != ELEMENT_F32 || v->operands[0]->op != TILE_PARAM ||
            v->operands[1]->op != TILE_PARAM)
            continue;
        if (v->operands[0]->field == f && v->operands[1]->field == f && v->operands[0]->side != v->operands[1]->side)
            return f;
    }
    return -1;
}

bool oracle_join(oracle *o, const tile_variable *x, variable_state *state, tensor **right) {
    int top = maximum_field(x);
    tensor **parts = NEW_ARRAY(o->memory, tensor *, 2 * x->field_count); /* per join; freed with the run: a few words */
    if (top >= 0) {
        tensor *m = tensor_settled(o, right[top]);
        if (m && !tag_is_reference(m))
            m = tensor_as_reference(o, m);
        if (!m)
            return false;
        tag relative;
        const tag none = {0};
        tag_combine(&m->tag, -1, &none, 0, true, &relative);
        for (int f = 0; f < x->field_count; f++) {
            tensor *t = tensor_settled(o, right[f]);
            if (f == top)
                t = m;
            else if (t && x->types[f] != ELEMENT_F32)
                t = tensor_plain(o, t);
            else if (t && !(t->tag.count && tag_same(&t->tag, &relative)))
                t = tag_is_reference(m) ? tensor_imprint(o, t, &relative) : tensor_plain(o, t);
            parts[f] = t;
        }
    } else {
        for (int f = 0; f < x->field_count; f++)
            parts[f] = tensor_plain(o, right[f]);
    }
    tensor **left = parts + x->field_count;
    for (int f = 0; f < x->field_count; f++) {
        parts[f] = parts[f] ? tensor_expand(o, parts[f], (const tile_range *const *)x->axes[f], x->axis_counts[f]) : NULL;
        left[f] = state->fields[f];
        if (!parts[f])
            return false;
    }
    o->epoch++;
    o->joining = x;
    o->join_left = left;
    o->join_right = parts;
    o->joined.count = 0;
    bool ok = true;
    tensor **joined = NEW_ARRAY(o->memory, tensor *, x->field_count);
    for (int f = 0; f < x->field_count && ok; f++) {
        tensor *t = tensor_settled(o, evaluate(o, x->join[f]));
        if (t)
            t = tensor_expand(o, t, (const tile_range *const *)x->axes[f], x->axis_counts[f]);
        joined[f] = t;
        ok = t != NULL;
    }
    o->joining = NULL;
    o->joined.count = 0;
    if (!ok)
        return false;
    for (int f = 0; f < x->field_count; f++) { /* copies: a join may hand a field on as it is */
        tensor *t = joined[f], *copy = tensor_like_owned(o, x->types[f], t);
        if (!copy)
            return false;
        memcpy(copy->v, t->v, sizeof *t->v * (size_t)t->count);
        if (t->e) {
            copy->e = tensor_numbers(t->count);
            memcpy(copy->e, t->e, sizeof *t->e * (size_t)t->count);
        }
        copy->tag = t->tag;
        tensor_keep(copy);
        joined[f] = copy;
    }
    for (int f = 0; f < x->field_count; f++) {
        tensor_free(state->fields[f]);
        state->fields[f] = joined[f];
    }
    return true;
}
