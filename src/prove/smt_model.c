/* Scopes and places as questions for Z3. What a set leaves out because it is not affine is asserted here; what data decide is left out, so that
 * what is shown impossible is impossible, and what is found possible is told only where nothing was left out. */
#include "prove/smt_model.h"
#include "prove/interval.h"
#include "prove/smt.h"
#include <inttypes.h>
#include <string.h>

typedef struct question {
    model *m;
    smt *z;
    int parameters, dims; /* variables: the parameters, the dimensions, more */
    bool whole;           /* nothing was left out */
} question;

static bool name_of(void *context, const index_var *v, const char **text, const index_expr **instead) {
    question *q = context;
    model *m = q->m;
    if (v->kind == INDEX_SYMBOL || v->kind == INDEX_SCALAR)
        for (int i = 0; i < m->parameters.count; i++)
            if (m->parameters.at[i] == v || !strcmp(m->parameters.at[i]->name, v->name)) {
                *text = model_text(m, "x%d", i);
                return true;
            }
    if (!model_knows(m, v))
        return false;
    if (m->definition[v->id]) {
        *instead = m->definition[v->id];
        return true;
    }
    if (m->position[v->id] < 0 || m->position[v->id] >= q->dims)
        return false;
    *text = model_text(m, "x%d", q->parameters + m->position[v->id]);
    return true;
}

/* The expression's text; NULL: it can't be put. */
static const char *said(question *q, const index_expr *x) {
    text_buffer b = {0};
    const char *text = x && smt_expression(&b, x, name_of, q) ? arena_strdup(q->m->arena, text_get(&b)) : NULL;
    text_free(&b);
    return text;
}

/* Asserts a condition, or notes that it was left out. */
static void assume(question *q, const cond *c, bool negated) {
    text_buffer b = {0};
    if (c && smt_condition(&b, c, name_of, q))
        smt_assert(q->z, negated ? "(not %s)" : "%s", text_get(&b));
    else if (c)
        q->whole = false;
    text_free(&b);
}

/* "x3 <= expression" and the like */
static void relate(question *q, int variable, const char *relation, const index_expr *x) {
    const char *text = said(q, x);
    if (text)
        smt_assert(q->z, "(%s x%d %s)", relation, variable, text);
    else
        q->whole = false;
}

static void assume_value(question *q, const scope *s, int own) {
    const index_expr *bound = reach_element_bound(s);
    q->whole = false;
    if (bound) {
        smt_assert(q->z, "(<= 0 x%d)", own);
        relate(q, own, "<", bound);
    }
}

static void assume_scope(question *q, const scope *s) {
    int own = q->parameters + s->depth - 1;
    int64_t step;
    switch (s->kind) {
    case SCOPE_ROOT: break;
    case SCOPE_ID:
        smt_assert(q->z, "(<= 0 x%d)", own);
        relate(q, own, "<", s->extent);
        break;
    case SCOPE_LOOP: {
        const char *low = said(q, s->stmt->lo);
        relate(q, own, ">=", s->stmt->lo);
        relate(q, own, "<", s->stmt->hi);
        if (!ix_is_const(s->stmt->step, &step) || step < 1 || !low)
            q->whole = false;
        else if (step > 1)
            smt_assert(q->z, "(= (mod (- x%d %s) %" PRId64 ") 0)", own, low, step);
        q->whole = q->whole && !s->may_stop;
        break;
    }
    case SCOPE_TRIP:
        smt_assert(q->z, "(<= 0 x%d)", own);
        q->whole = false;
        break;
    case SCOPE_VALUE: assume_value(q, s, own); break;
    case SCOPE_GUARD: assume(q, s->guard, s->negated); break;
    case SCOPE_DATA_GUARD: q->whole = false; break;
    }
}

/* All that holds where the scope is reached. */
static question begin(model *m, const scope *s) {
    question q = {.m = m,
                  .z = smt_new(m->arena, sets_milliseconds_left(m->sets)),
                  .parameters = m->parameters.count,
                  .dims = s->depth,
                  .whole = true};
    for (int i = 0; i < q.parameters; i++) {
        const index_var *v = m->parameters.at[i];
        bool symbol = v->kind == INDEX_SYMBOL;
        smt_variable(q.z, SMT_INTEGER, symbol ? 0 : INT32_MIN);
        smt_assert(q.z, "(<= x%d %" PRId64 ")", i, symbol ? m->limits->largest_extent : INT32_MAX);
    }
    for (int i = 0; i < s->depth; i++) {
        bool value = false; /* of unknown sign */
        for (const scope *o = s; o; o = o->parent)
            value = value || (o->depth - 1 == i && (o->kind == SCOPE_VALUE || o->kind == SCOPE_LOOP));
        smt_variable(q.z, SMT_INTEGER, value ? INT64_MIN / 2 : 0);
    }
    for (int i = 0; i < q.parameters; i++) {
        const index_var *v = m->parameters.at[i];
        if (v->lo)
            relate(&q, i, ">=", v->lo);
        if (v->hi)
            relate(&q, i, "<=", v->hi);
    }
    assume(&q, m->launch, false);
    for (int i = 0; i < m->kernel->assumptions.count; i++)
        assume(&q, m->kernel->assumptions.at[i], false);
    for (const scope *o = s; o; o = o->parent)
        assume_scope(&q, o);
    return q;
}

/* Asks; `more` variables follow the dimensions. */
static witness answer(question *q, const scope *s, int more) {
    model *m = q->m;
    int count = q->parameters + q->dims + more;
    witness w = {.verdict = VERDICT_UNKNOWN};
    w.values = NEW_ARRAY(m->arena, int64_t, count + 1);
    w.dims = w.values + q->parameters;
    smt_answer a = smt_ask(q->z, q->whole ? w.values : NULL);
    w.verdict = a == SMT_NONE ? VERDICT_PROVED : a == SMT_SOME && q->whole ? VERDICT_REFUTED : VERDICT_UNKNOWN;
    if (w.verdict != VERDICT_REFUTED)
        return w;
    text_buffer b = {0};
    for (int i = 0; i < q->parameters + q->dims; i++)
        text_add(&b, "%s%s = %" PRId64, i ? ", " : "",
                 i < q->parameters ? m->parameters.at[i]->name : model_name(s, i - q->parameters), w.values[i]);
    w.text = arena_strdup(m->arena, text_get(&b));
    text_free(&b);
    return w;
}

witness smt_outside(model *m, place *p, int d, bool high) {
    witness none = {.verdict = VERDICT_UNKNOWN};
    domain_of(m, p->scope);
    question q = begin(m, p->scope);
    int lane = q.parameters + q.dims;
    const char *index = said(&q, p->indices[d]), *extent = said(&q, p->array->dims[d]);
    if (!index || !extent)
        return none;
    /* the cell's place within the vector or the box */
    smt_variable(q.z, SMT_INTEGER, 0);
    q.whole = q.whole && !p->collective;
    bool vector = !p->extents && p->lanes > 1 && d == p->vector_dim;
    if (vector)
        smt_assert(q.z, "(< x%d %d)", lane, p->lanes);
    else if (!p->extents)
        smt_assert(q.z, "(= x%d 0)", lane);
    else
        relate(&q, lane, "<", p->extents[d]);
    if (p->active && vector)
        relate(&q, lane, "<", p->active);
    else if (p->active)
        assume(&q, cond_compare(m->arena, COND_LT, ix_const(m->arena, 0), p->active), false);
    for (int e = 0; p->extents && e < p->array->rank; e++) /* an empty box touches nothing */
        assume(&q, cond_compare(m->arena, COND_LT, ix_const(m->arena, 0), p->extents[e]), false);
    if (high)
        smt_assert(q.z, "(>= (+ %s x%d) %s)", index, lane, extent);
    else
        smt_assert(q.z, "(< (+ %s x%d) 0)", index, lane);
    witness w = answer(&q, p->scope, 1);
    if (w.verdict != VERDICT_REFUTED)
        return w;
    /* the cell itself, computed anew: what the answer says must be so */
    int64_t *values = NEW_ARRAY(m->arena, int64_t, q.parameters + q.dims + p->array->rank + 1), at, size;
    memcpy(values, w.values, (size_t)(q.parameters + q.dims) * sizeof *values);
    int64_t within = w.values[lane];
    w.values = values;
    w.dims = values + q.parameters;
    for (int e = 0; e < p->array->rank; e++) {
        if (!witness_eval(m, &w, p->indices[e], &at) || !witness_eval(m, &w, p->array->dims[e], &size))
            return none;
        at += e == d ? within : 0;
        values[q.parameters + q.dims + e] = at;
        if (e == d && (high ? at < size : at >= 0))
            return none;
    }
    return w;
}

witness smt_beyond(model *m, scope *s, const index_expr *x, int64_t low, int64_t high) {
    witness none = {.verdict = VERDICT_UNKNOWN};
    domain_of(m, s);
    question q = begin(m, s);
    const char *text = said(&q, x);
    if (!text)
        return none;
    smt_assert(q.z, "(or (< %s %s) (> %s %s))", text, smt_constant(m->arena, SMT_INTEGER, low), text,
               smt_constant(m->arena, SMT_INTEGER, high));
    return answer(&q, s, 0);
}

/* ---- layouts ---- */

/* Row-major offset of cell `first`.. as bits, swizzled. Dimensions and strides are constants here. */
static const char *swizzled(model *m, const kernel_array *a, int first) {
    const kernel_layout *l = &a->layout;
    const char *offset = "#x0000000000000000";
    for (int d = 0; d < a->rank; d++) {
        int64_t extent;
        if (!ix_is_const(a->dims[d], &extent))
            return NULL;
        offset = model_text(m, "(bvadd (bvmul %s #x%016" PRIx64 ") x%d)", offset, (uint64_t)extent, first + d);
    }
    uint64_t mask = l->bits < 1 ? 0 : (UINT64_MAX >> (64 - l->bits)) << l->base;
    return model_text(m, "(let ((o %s)) (bvxor o (bvand (bvlshr o #x%016x) #x%016" PRIx64 ")))", offset, (unsigned)l->shift,
                      mask);
}

witness smt_coincide(model *m, const kernel_array *a) {
    witness none = {.verdict = VERDICT_UNKNOWN};
    bool bits = a->layout.kind == LAYOUT_SWIZZLE;
    const scope *root = m->scopes.at[0];
    question q = begin(m, root);
    int first = q.parameters, second = first + a->rank;
    const char *offsets[2] = {NULL, NULL}, *differ = "false";
    if ((!bits && a->layout.kind != LAYOUT_STRIDES) || a->layout.bits > 62 || a->layout.base > 62 || a->rank > 32 ||
        (bits && q.parameters))
        return none;
    for (int side = 0; side < 2; side++)
        for (int d = 0; d < a->rank; d++) {
            int v = smt_variable(q.z, bits ? SMT_BITS : SMT_INTEGER, 0);
            int64_t extent;
            if (!bits)
                relate(&q, v, "<", a->dims[d]);
            else if (ix_is_const(a->dims[d], &extent))
                smt_assert(q.z, "(bvult x%d #x%016" PRIx64 ")", v, (uint64_t)extent);
            else
                return none;
        }
    for (int side = 0; side < 2; side++) {
        int at = side ? second : first;
        if (bits) {
            offsets[side] = swizzled(m, a, at);
            continue;
        }
        offsets[side] = "0";
        for (int d = 0; d < a->rank; d++) {
            const char *stride = said(&q, a->layout.strides[d]);
            if (!stride)
                return none;
            offsets[side] = model_text(m, "(+ %s (* %s x%d))", offsets[side], stride, at + d);
        }
    }
    for (int d = 0; d < a->rank; d++)
        differ = model_text(m, "(or %s (distinct x%d x%d))", differ, first + d, second + d);
    if (!offsets[0] || !offsets[1])
        return none;
    smt_assert(q.z, "%s", differ);
    smt_assert(q.z, "(= %s %s)", offsets[0], offsets[1]);
    witness w = answer(&q, root, 2 * a->rank);
    return w;
}

bool smt_worthwhile(model *m, scope *s) {
    domain_of(m, s);
    for (const scope *o = s; o; o = o->parent)
        if (o->own_loose && (o->kind == SCOPE_GUARD || o->kind == SCOPE_LOOP || o->kind == SCOPE_ID || o->kind == SCOPE_ROOT))
            return true;
    return false;
}

const char *smt_why(model *m, const char *why) {
    return smt_available() ? why : model_text(m, "%s (needs Z3, which is not installed)", why ? why : model_gave_up(m));
}
