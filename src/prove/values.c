/* The integers that a value may be. Used where an index comes from memory: a gather (checked at launch) or an index that the kernel
 * itself stored, such as an argmax. Values stored in a task's own arrays are collected without regard to order: each value ever
 * stored there is a value that may be read, so nothing is trusted. */
#include "prove/model.h"
#include <limits.h>
#include <math.h>

enum { MOST_NESTING = 100 };

typedef struct collector {
    model *m;
    precision *precision;
    bool exchanged; /* values went from thread to thread */
} collector;

static int_set *points(collector *c, scope *s, const kernel_value *v, int nesting);

static int_set *unknown(model *m, const char *what) {
    m->why = what;
    return NULL;
}

static void lower(collector *c, precision p) {
    if (*c->precision < p)
        *c->precision = p;
}

static int_set *exactly(model *m, scope *s, const index_expr *x) {
    affine *e = affine_of(m, s->depth + 1, x);
    return e ? affine_zero(m, affine_subtract(m, e, affine_dim(m, s->depth + 1, s->depth))) : NULL;
}

/* lo <= value < hi */
static int_set *between(model *m, scope *s, int64_t lo, const index_expr *hi) {
    int dims = s->depth + 1;
    affine *v = affine_dim(m, dims, s->depth), *h = affine_of(m, dims, hi);
    if (!h)
        return NULL;
    int_set *low = affine_nonnegative(m, affine_add(m, v, affine_constant(m, dims, -lo)));
    affine *room = affine_add(m, affine_subtract(m, h, v), affine_constant(m, dims, -1));
    return sets_intersect(m->sets, low, affine_nonnegative(m, room));
}

static bool type_range(element_type t, int64_t *lo, int64_t *hi) {
    switch (t) {
    case ELEMENT_I8:
        *lo = INT8_MIN;
        *hi = INT8_MAX;
        return true;
    case ELEMENT_U8:
        *lo = 0;
        *hi = UINT8_MAX;
        return true;
    case ELEMENT_U16:
        *lo = 0;
        *hi = UINT16_MAX;
        return true;
    case ELEMENT_I32:
        *lo = INT32_MIN;
        *hi = INT32_MAX;
        return true;
    case ELEMENT_U32:
        *lo = 0;
        *hi = UINT32_MAX;
        return true;
    default: return false;
    }
}

/* The same values, if all of them fit the type: a value that may wrap is unknown. */
static int_set *fitting(model *m, scope *s, element_type t, int_set *x) {
    int64_t lo, hi;
    if (!x || t == ELEMENT_INDEX)
        return x;
    if (!type_range(t, &lo, &hi))
        return unknown(m, "it is not an integer");
    int_set *type = between(m, s, lo, ix_const(m->arena, hi + 1));
    int_set *real = sets_intersect(m->sets, x, sets_insert(m->sets, domain_of(m, s), s->depth, 1));
    real = sets_intersect(m->sets, real, parameter_limit(m, s->depth + 1));
    return sets_is_subset(m->sets, real, type) == TRI_YES ? x : unknown(m, "it may wrap around");
}

/* a + b (or a - b) for every a of x and b of y */
static int_set *sum(model *m, scope *s, int_set *x, int_set *y, int sign) {
    int n = s->depth;
    int_set *a = sets_insert(m->sets, x, n, 1), *b = sets_insert(m->sets, y, n, 1); /* [.., v, operand] */
    a = sets_insert(m->sets, a, n + 2, 1);                                          /* [.., v, a, b] */
    b = sets_insert(m->sets, b, n + 1, 1);
    linear *v = linear_dim(m->sets, n + 3, n), *la = linear_dim(m->sets, n + 3, n + 1), *lb = linear_dim(m->sets, n + 3, n + 2);
    linear *gap = linear_add(m->sets, linear_add(m->sets, la, linear_scale(m->sets, lb, sign)), linear_scale(m->sets, v, -1));
    int_set *both = sets_intersect(m->sets, sets_intersect(m->sets, a, b), sets_zero(m->sets, gap));
    return sets_project(m->sets, both, n + 1, 2);
}

static int_set *multiple(model *m, scope *s, int_set *x, int64_t factor) {
    int n = s->depth;
    int_set *a = sets_insert(m->sets, x, n, 1);
    linear *v = linear_dim(m->sets, n + 2, n), *of = linear_scale(m->sets, linear_dim(m->sets, n + 2, n + 1), -factor);
    return sets_project(m->sets, sets_intersect(m->sets, a, sets_zero(m->sets, linear_add(m->sets, v, of))), n + 1, 1);
}

/* The values of x that are not beyond every value of y: what min or max may give of x. */
static int_set *not_beyond(model *m, scope *s, int_set *x, int_set *y, bool is_min) {
    int n = s->depth;
    int_set *a = sets_insert(m->sets, x, n + 1, 1), *b = sets_insert(m->sets, y, n, 1);
    linear *v = linear_dim(m->sets, n + 2, n), *other = linear_dim(m->sets, n + 2, n + 1);
    linear *gap = is_min ? linear_add(m->sets, other, linear_scale(m->sets, v, -1))
                         : linear_add(m->sets, v, linear_scale(m->sets, other, -1));
    return sets_project(m->sets, sets_intersect(m->sets, sets_intersect(m->sets, a, b), sets_nonnegative(m->sets, gap)), n + 1,
                        1);
}

/* The ids that tell copies of an array apart. */
static int own_ids(const model *m, const kernel_array *array) {
    if (array->space == SPACE_SHARED)
        return m->persistent ? 0 : m->task_dims;
    return m->task_dims + m->thread_dims;
}

/* The same values, whichever thread of the block has them: over [ids, .., value], ids of tasks first. */
static int_set *of_any_thread(model *m, int_set *x) {
    return x ? sets_insert(m->sets, sets_project(m->sets, x, m->task_dims, m->thread_dims), m->task_dims, m->thread_dims) : NULL;
}

/* What lanes hand to each other at one place: its values in any thread. */
static int_set *exchanged(collector *c, scope *s, const kernel_value *v, int nesting) {
    model *m = c->m;
    int_set *x = points(c, s, v->operands[0], nesting + 1);
    c->exchanged = true;
    lower(c, LOOSE);
    return x ? of_any_thread(m, sets_intersect(m->sets, x, sets_insert(m->sets, domain_of(m, s), s->depth, 1))) : NULL;
}

/* Everything stored in a local array, over [ids, value]. */
static int_set *stored(collector *c, const kernel_array *array, int nesting) {
    model *m = c->m;
    int ids = own_ids(m, array);
    if (m->visiting[array->id]) {
        if (m->visiting[array->id] < m->met_visiting)
            m->met_visiting = m->visiting[array->id];
        return m->arithmetic ? unknown(m, "it is computed from itself") : sets_empty(m->sets, ids + 1);
    }
    if (m->object_of[array->id])
        return unknown(m, "its bytes have several views");
    m->visiting[array->id] = ++m->visiting_depth;
    int_set *all = sets_empty(m->sets, ids + 1);
    for (int i = 0; i < m->places.count && all; i++) {
        place *p = m->places.at[i];
        if (p->array != array || p->use != ACCESS_WRITE)
            continue;
        int_set *x = NULL;
        if (p->stmt->kind == KSTMT_STORE)
            x = points(c, p->scope, p->stmt->value, nesting + 1);
        else
            m->why = "it is written by something else than a store";
        int_set *real = sets_intersect(m->sets, x, sets_insert(m->sets, domain_of(m, p->scope), p->scope->depth, 1));
        all = x ? sets_union(m->sets, all, sets_project(m->sets, real, ids, p->scope->depth - ids)) : NULL;
    }
    if (c->exchanged && ids > m->task_dims) /* what came back here from another thread's cells is among these */
        all = of_any_thread(m, all);
    if (m->met_visiting >= m->visiting_depth) /* met only itself, and that is settled now */
        m->met_visiting = INT_MAX;
    m->visiting_depth--;
    m->visiting[array->id] = 0;
    lower(c, LOOSE);
    return sets_simplify(m->sets, all);
}

static int_set *loaded(collector *c, scope *s, const kernel_value *v, int nesting) {
    model *m = c->m;
    const kernel_array *array = v->access.array;
    int_set *x;
    int64_t lo, hi;
    bool own = array->space == SPACE_PRIVATE || array->space == SPACE_SHARED;
    if (own && !m->object_of[array->id] && !model_touched(m, array, ACCESS_WRITE) && type_range(array->element, &lo, &hi)) {
        x = between(m, s, lo, ix_const(m->arena, hi + 1)); /* nothing ever writes it: it holds whatever was there */
        lower(c, DATA_CHOSEN);
    } else if (array->space == SPACE_PRIVATE || array->space == SPACE_REGISTER || array->space == SPACE_SHARED) {
        int ids = own_ids(m, array);
        x = stored(c, array, nesting);
        x = x ? sets_insert(m->sets, x, ids, s->depth - ids) : NULL;
    } else if (array->space == SPACE_GLOBAL && array->use == USE_IN && array->element_bound) {
        x = between(m, s, 0, array->element_bound);
        lower(c, DATA_CHOSEN);
    } else if (type_range(array->element, &lo, &hi) && hi <= UINT8_MAX) {
        x = between(m, s, lo, ix_const(m->arena, hi + 1));
        lower(c, DATA_CHOSEN);
    } else {
        return unknown(m, model_text(m, "the elements of `%s` have no declared range", array->name));
    }
    if (x && v->access.active) { /* lanes that take no part load zero */
        x = sets_union(m->sets, x, exactly(m, s, ix_const(m->arena, 0)));
        lower(c, LOOSE);
    }
    return x;
}

/* Both operands' values; for `stored` to know whether an operand depends on the array being collected. */
static int_set *either(collector *c, scope *s, const kernel_value *v, int first, int nesting) {
    model *m = c->m;
    int met_before = m->met_visiting;
    m->met_visiting = INT_MAX;
    int_set *a = points(c, s, v->operands[first], nesting + 1), *b = a ? points(c, s, v->operands[first + 1], nesting + 1) : NULL;
    bool met = m->met_visiting < INT_MAX;
    if (met_before < m->met_visiting)
        m->met_visiting = met_before;
    if (!a || !b)
        return NULL;
    bool is_min = v->op == KERNEL_MIN;
    if ((is_min || v->op == KERNEL_MAX) && !met)
        return sets_union(m->sets, not_beyond(m, s, a, b, is_min), not_beyond(m, s, b, a, is_min));
    lower(c, LOOSE);
    return sets_union(m->sets, a, b);
}

static int_set *arithmetic(collector *c, scope *s, const kernel_value *v, int nesting) {
    model *m = c->m;
    m->arithmetic++;
    int_set *a = points(c, s, v->operands[0], nesting + 1), *x = NULL;
    if (v->op == KERNEL_NEG) {
        x = multiple(m, s, a, -1);
    } else if (v->op == KERNEL_MUL) {
        const kernel_value *by = v->operands[1];
        while (by->op == KERNEL_BROADCAST)
            by = by->operands[0];
        if (by->op == KERNEL_CONST && floor(by->number) == by->number && fabs(by->number) < 1e9)
            x = multiple(m, s, a, (int64_t)by->number);
        else
            m->why = "it is a product";
    } else {
        int_set *b = a ? points(c, s, v->operands[1], nesting + 1) : NULL;
        x = b ? sum(m, s, a, b, v->op == KERNEL_ADD ? 1 : -1) : NULL;
    }
    m->arithmetic--;
    return fitting(m, s, v->type, x);
}

static int_set *referred(collector *c, scope *s, const kernel_value *v, int nesting) {
    model *m = c->m;
    const index_var *own = v->let->var;
    if (own && model_knows(m, own) && (m->definition[own->id] || (m->position[own->id] >= 0 && m->position[own->id] < s->depth)))
        return exactly(m, s, ix_var(m->arena, v->let->var));
    for (int i = 0; i < m->lets.count; i++) {
        if (m->lets.at[i].let != v->let)
            continue;
        scope *at = m->lets.at[i].scope;
        int_set *x = at->depth <= s->depth ? points(c, at, v->let->value, nesting + 1) : NULL;
        return x ? sets_insert(m->sets, x, at->depth, s->depth - at->depth) : NULL;
    }
    return unknown(m, "it is not known here");
}

static int_set *points(collector *c, scope *s, const kernel_value *v, int nesting) {
    model *m = c->m;
    if (nesting > MOST_NESTING)
        return unknown(m, "it is nested too deeply");
    switch (v->op) {
    case KERNEL_CONST:
        if (floor(v->number) != v->number || fabs(v->number) > 1e15)
            return unknown(m, "it is not an integer");
        return exactly(m, s, ix_const(m->arena, (int64_t)v->number));
    case KERNEL_INDEX: return exactly(m, s, v->index);
    case KERNEL_REF: return referred(c, s, v, nesting);
    case KERNEL_IOTA: lower(c, LOOSE); return between(m, s, 0, ix_const(m->arena, v->lanes));
    case KERNEL_LOAD: return loaded(c, s, v, nesting);
    case KERNEL_LANES_MAX:
    case KERNEL_LANES_MIN: lower(c, LOOSE); return points(c, s, v->operands[0], nesting + 1);
    case KERNEL_BROADCAST: return points(c, s, v->operands[0], nesting + 1);
    case KERNEL_SUBGROUP_MAX:
    case KERNEL_SUBGROUP_MIN:
    case KERNEL_SUBGROUP_BROADCAST:
    case KERNEL_SHUFFLE:
    case KERNEL_SHUFFLE_XOR:
    case KERNEL_SHUFFLE_DOWN: return exchanged(c, s, v, nesting);
    case KERNEL_CONVERT: return fitting(m, s, v->type, points(c, s, v->operands[0], nesting + 1));
    case KERNEL_SELECT: return either(c, s, v, 1, nesting);
    case KERNEL_PREFIX_SELECT:
    case KERNEL_MIN:
    case KERNEL_MAX: return either(c, s, v, 0, nesting);
    case KERNEL_ADD:
    case KERNEL_SUB:
    case KERNEL_MUL:
    case KERNEL_NEG: return arithmetic(c, s, v, nesting);
    default: return unknown(m, model_text(m, "it is the result of `%s`", kernel_op_table[v->op].name));
    }
}

int_set *value_points(model *m, scope *s, const kernel_value *v, precision *p) {
    collector c = {m, p, false};
    int arithmetic = m->arithmetic, met = m->met_visiting;
    /* Asked while an array is being collected, by the domain of one of its stores: what that array holds is not known yet, and the answer is kept. */
    m->arithmetic = m->visiting_depth > 0;
    m->met_visiting = INT_MAX;
    int_set *x = points(&c, s, v, 0);
    m->arithmetic = arithmetic;
    m->met_visiting = met;
    return x;
}

/* ---- conditions that depend on no data ---- */

static index_expr *as_index(model *m, const kernel_value *v) {
    if (v->lanes != 1)
        return NULL;
    if (v->op == KERNEL_INDEX)
        return v->index;
    if (v->op == KERNEL_CONST && v->type == ELEMENT_INDEX && floor(v->number) == v->number && fabs(v->number) < 1e15)
        return ix_const(m->arena, (int64_t)v->number);
    if (v->op == KERNEL_REF && v->let->var && model_knows(m, v->let->var) && m->definition[v->let->var->id])
        return ix_var(m->arena, v->let->var);
    return NULL;
}

static cond *as_condition(model *m, const kernel_value *v, int nesting) {
    static const struct {
        kernel_op value;
        cond_op condition;
    } compares[] = {{KERNEL_LT, COND_LT}, {KERNEL_LE, COND_LE}, {KERNEL_EQ, COND_EQ}, {KERNEL_NE, COND_NE}};
    if (nesting > MOST_NESTING || v->lanes != 1)
        return NULL;
    for (int i = 0; i < 4; i++)
        if (v->op == compares[i].value) {
            index_expr *x = as_index(m, v->operands[0]), *y = as_index(m, v->operands[1]);
            return x && y ? cond_compare(m->arena, compares[i].condition, x, y) : NULL;
        }
    cond *a =
        v->op == KERNEL_AND || v->op == KERNEL_OR || v->op == KERNEL_NOT ? as_condition(m, v->operands[0], nesting + 1) : NULL;
    if (!a)
        return NULL;
    if (v->op == KERNEL_NOT)
        return cond_not(m->arena, a);
    cond *b = as_condition(m, v->operands[1], nesting + 1);
    if (!b)
        return NULL;
    return v->op == KERNEL_AND ? cond_and(m->arena, a, b) : cond_or(m->arena, a, b);
}

cond *value_condition(model *m, const kernel_value *v) {
    return as_condition(m, v, 0);
}
