/* Index expressions and conditions as sets: min and max are lifted to the top, where they become intersections and unions. */
#include "prove/model.h"
#include <string.h>

typedef enum affine_op { AFFINE_LINEAR, AFFINE_MIN, AFFINE_MAX } affine_op;
struct affine {
    affine_op op;
    linear *x;     /* LINEAR */
    bool constant; /* LINEAR: of the value below */
    int64_t value;
    int leaves;
    affine *a, *b;
};
enum { MOST_LEAVES = 64, MOST_NESTING = 400, MOST_STEPS = 4000 };

static affine *leaf(model *m, linear *x) {
    if (!x) {
        m->why = model_gave_up(m);
        return NULL;
    }
    affine *e = NEW(m->arena, affine);
    e->x = x;
    e->leaves = 1;
    return e;
}

static affine *join(model *m, affine_op op, affine *a, affine *b) {
    if (!a || !b)
        return NULL;
    if (a->leaves + b->leaves > MOST_LEAVES) {
        m->why = "an expression with too many min and max";
        return NULL;
    }
    affine *e = NEW(m->arena, affine);
    e->op = op;
    e->a = a;
    e->b = b;
    e->leaves = a->leaves + b->leaves;
    return e;
}

affine *affine_constant(model *m, int dims, int64_t value) {
    affine *e = leaf(m, linear_constant(m->sets, dims, value));
    if (e) {
        e->constant = true;
        e->value = value;
    }
    return e;
}

affine *affine_dim(model *m, int dims, int position) {
    return leaf(m, linear_dim(m->sets, dims, position));
}

affine *affine_add(model *m, affine *x, affine *y) {
    if (!x || !y)
        return NULL;
    if (x->op != AFFINE_LINEAR)
        return join(m, x->op, affine_add(m, x->a, y), affine_add(m, x->b, y));
    if (y->op != AFFINE_LINEAR)
        return join(m, y->op, affine_add(m, x, y->a), affine_add(m, x, y->b));
    affine *e = leaf(m, linear_add(m->sets, x->x, y->x));
    if (e && x->constant && y->constant)
        e->constant = !__builtin_add_overflow(x->value, y->value, &e->value);
    return e;
}

affine *affine_scale(model *m, affine *x, int64_t factor) {
    if (!x)
        return NULL;
    if (x->op != AFFINE_LINEAR) {
        affine_op op = factor >= 0 ? x->op : x->op == AFFINE_MIN ? AFFINE_MAX : AFFINE_MIN;
        return join(m, op, affine_scale(m, x->a, factor), affine_scale(m, x->b, factor));
    }
    affine *e = leaf(m, linear_scale(m->sets, x->x, factor));
    if (e && x->constant)
        e->constant = !__builtin_mul_overflow(x->value, factor, &e->value);
    return e;
}

affine *affine_subtract(model *m, affine *x, affine *y) {
    return affine_add(m, x, affine_scale(m, y, -1));
}

static affine *divide(model *m, affine *x, int64_t divisor) {
    if (!x)
        return NULL;
    if (x->op != AFFINE_LINEAR) /* rounding down is monotonic */
        return join(m, x->op, divide(m, x->a, divisor), divide(m, x->b, divisor));
    affine *e = leaf(m, linear_floor(m->sets, x->x, divisor));
    if (e && x->constant) {
        e->constant = true;
        e->value = x->value / divisor - (x->value % divisor < 0);
    }
    return e;
}

static const char *text_of(model *m, const index_expr *x) {
    text_buffer b = {0};
    ix_print(&b, x);
    const char *text = arena_strdup(m->arena, text_get(&b));
    text_free(&b);
    return text;
}

static affine *not_affine(model *m, const char *what, const index_expr *x) {
    m->why = x ? model_text(m, "%s `%s`", what, text_of(m, x)) : what;
    return NULL;
}

static int parameter_index(const model *m, const index_var *v) {
    if (v->kind != INDEX_SYMBOL && v->kind != INDEX_SCALAR)
        return -1;
    for (int i = 0; i < m->parameters.count; i++)
        if (m->parameters.at[i] == v)
            return i;
    for (int i = 0; i < m->parameters.count; i++)
        if (!strcmp(m->parameters.at[i]->name, v->name)) /* the same symbol in a check or a predicate */
            return i;
    return -1;
}

static affine *nested(model *m, int dims, const index_expr *x, int nesting);

static affine *variable(model *m, int dims, const index_expr *x, int nesting) {
    const index_var *v = x->var;
    if (v->has_value)
        return affine_constant(m, dims, v->value);
    int parameter = parameter_index(m, v);
    if (parameter >= 0)
        return leaf(m, linear_parameter(m->sets, dims, parameter));
    if (model_knows(m, v)) {
        if (m->definition[v->id])
            return nested(m, dims, m->definition[v->id], nesting + 1);
        if (m->position[v->id] >= 0 && m->position[v->id] < dims)
            return affine_dim(m, dims, m->position[v->id]);
    }
    return not_affine(m, "the unknown value of", x);
}

static affine *nested(model *m, int dims, const index_expr *x, int nesting) {
    if (nesting > MOST_NESTING || ++m->steps > MOST_STEPS)
        return not_affine(m, "the long expression", nesting > MOST_NESTING ? NULL : x);
    if (x->op == IX_CONST)
        return affine_constant(m, dims, x->value);
    if (x->op == IX_VAR)
        return variable(m, dims, x, nesting);
    affine *a = nested(m, dims, x->a, nesting + 1), *b = a ? nested(m, dims, x->b, nesting + 1) : NULL;
    if (!a || !b)
        return NULL;
    switch (x->op) {
    case IX_ADD: return affine_add(m, a, b);
    case IX_SUB: return affine_subtract(m, a, b);
    case IX_MIN: return join(m, AFFINE_MIN, a, b);
    case IX_MAX: return join(m, AFFINE_MAX, a, b);
    case IX_MUL:
        if (b->op == AFFINE_LINEAR && b->constant)
            return affine_scale(m, a, b->value);
        if (a->op == AFFINE_LINEAR && a->constant)
            return affine_scale(m, b, a->value);
        return not_affine(m, "the product", x);
    case IX_FLOORDIV:
    case IX_MOD:
        if (b->op != AFFINE_LINEAR || !b->constant || b->value <= 0)
            return not_affine(m, x->op == IX_MOD ? "the remainder" : "the quotient", x);
        if (x->op == IX_FLOORDIV)
            return divide(m, a, b->value);
        if (a->op == AFFINE_LINEAR)
            return leaf(m, linear_mod(m->sets, a->x, b->value));
        return affine_subtract(m, a, affine_scale(m, divide(m, a, b->value), b->value));
    default: return not_affine(m, "the term", x);
    }
}

affine *affine_of(model *m, int dims, const index_expr *x) {
    m->steps = 0;
    return nested(m, dims, x, 0);
}

int_set *affine_nonnegative(model *m, affine *x) {
    if (!x)
        return NULL;
    if (x->op == AFFINE_LINEAR)
        return sets_nonnegative(m->sets, x->x);
    int_set *a = affine_nonnegative(m, x->a), *b = affine_nonnegative(m, x->b);
    return x->op == AFFINE_MIN ? sets_intersect(m->sets, a, b) : sets_union(m->sets, a, b);
}

int_set *affine_zero(model *m, affine *x) {
    if (!x)
        return NULL;
    if (x->op == AFFINE_LINEAR)
        return sets_zero(m->sets, x->x);
    return sets_intersect(m->sets, affine_nonnegative(m, x), affine_nonnegative(m, affine_scale(m, x, -1)));
}

/* Whether x mod step has one value everywhere. Keeps the strides of loops free of the loops around them. */
static bool residue(model *m, const index_expr *x, int64_t step, int64_t *value, int nesting) {
    int64_t a, b, factor;
    if (nesting > MOST_NESTING || ++m->steps > MOST_STEPS || step > (int64_t)1 << 40)
        return false;
    if (step == 1) {
        *value = 0;
        return true;
    }
    switch (x->op) {
    case IX_CONST: *value = (x->value % step + step) % step; return true;
    case IX_VAR:
        if (x->var->has_value) {
            *value = (x->var->value % step + step) % step;
            return true;
        }
        if (!model_knows(m, x->var))
            return false;
        if (m->definition[x->var->id])
            return residue(m, m->definition[x->var->id], step, value, nesting + 1);
        if (m->loop[x->var->id]) {
            const kernel_stmt *s = m->loop[x->var->id];
            return ix_is_const(s->step, &factor) && factor % step == 0 && residue(m, s->lo, step, value, nesting + 1);
        }
        return false;
    case IX_ADD:
    case IX_SUB:
        if (!residue(m, x->a, step, &a, nesting + 1) || !residue(m, x->b, step, &b, nesting + 1))
            return false;
        *value = x->op == IX_ADD ? (a + b) % step : (a - b + step) % step;
        return true;
    case IX_MIN:
    case IX_MAX:
        if (!residue(m, x->a, step, &a, nesting + 1) || !residue(m, x->b, step, &b, nesting + 1) || a != b)
            return false;
        *value = a;
        return true;
    case IX_MUL: {
        const index_expr *other = x->a;
        if (!ix_is_const(x->b, &factor)) {
            if (!ix_is_const(x->a, &factor))
                return false;
            other = x->b;
        }
        int64_t g = step, rest = (factor % step + step) % step, reduced = rest;
        while (rest) {
            int64_t t = g % rest;
            g = rest;
            rest = t;
        }
        if (!residue(m, other, step / g, &a, nesting + 1))
            return false;
        return !__builtin_mul_overflow(a, reduced, value) && (*value %= step, true);
    }
    default: return false;
    }
}

/* The points where v - x is a multiple of step, x a tree of min and max: which leaf it is must be told apart. */
static int_set *stride_of_tree(model *m, affine *v, affine *x, int64_t step) {
    if (x->op == AFFINE_LINEAR) {
        affine *gap = affine_subtract(m, v, x);
        return gap ? sets_zero(m->sets, linear_mod(m->sets, gap->x, step)) : NULL;
    }
    affine *first = affine_subtract(m, x->a, x->b), *second = affine_subtract(m, x->b, x->a);
    if (x->op == AFFINE_MIN) {
        affine *t = first;
        first = second;
        second = t;
    }
    int_set *a = sets_intersect(m->sets, affine_nonnegative(m, first), stride_of_tree(m, v, x->a, step));
    int_set *b = sets_intersect(m->sets, affine_nonnegative(m, second), stride_of_tree(m, v, x->b, step));
    return sets_union(m->sets, a, b);
}

bool affine_residue(model *m, const index_expr *x, int64_t step, int64_t *value) {
    m->steps = 0;
    return residue(m, x, step, value, 0);
}

int_set *affine_multiple(model *m, int dims, affine *x, int64_t step) {
    return x ? stride_of_tree(m, affine_constant(m, dims, 0), x, step) : NULL;
}

int_set *affine_stride(model *m, int dims, const index_var *v, const index_expr *lo, int64_t step) {
    int64_t value;
    m->steps = 0;
    affine *own = affine_dim(m, dims, m->position[v->id]);
    affine *start = residue(m, lo, step, &value, 0) ? affine_constant(m, dims, value) : affine_of(m, dims, lo);
    return own && start ? stride_of_tree(m, own, start, step) : NULL;
}

static int_set *condition(model *m, int dims, const cond *c, bool negated, int nesting) {
    if (nesting > MOST_NESTING) {
        m->why = "a condition nested too deeply";
        return NULL;
    }
    switch (c->op) {
    case COND_TRUE: return negated ? sets_empty(m->sets, dims) : sets_universe(m->sets, dims);
    case COND_NOT: return condition(m, dims, c->a, !negated, nesting + 1);
    case COND_AND:
    case COND_OR: {
        int_set *a = condition(m, dims, c->a, negated, nesting + 1), *b = condition(m, dims, c->b, negated, nesting + 1);
        return (c->op == COND_AND) != negated ? sets_intersect(m->sets, a, b) : sets_union(m->sets, a, b);
    }
    default: break;
    }
    affine *x = affine_of(m, dims, c->x), *y = x ? affine_of(m, dims, c->y) : NULL;
    if (!x || !y)
        return NULL;
    affine *up = affine_subtract(m, y, x), *down = affine_subtract(m, x, y), *one = affine_constant(m, dims, -1);
    if (c->op == COND_LE)
        return negated ? affine_nonnegative(m, affine_add(m, down, one)) : affine_nonnegative(m, up);
    if (c->op == COND_LT)
        return negated ? affine_nonnegative(m, down) : affine_nonnegative(m, affine_add(m, up, one));
    if ((c->op == COND_EQ) != negated)
        return affine_zero(m, up);
    return sets_union(m->sets, affine_nonnegative(m, affine_add(m, up, one)), affine_nonnegative(m, affine_add(m, down, one)));
}

int_set *affine_condition(model *m, int dims, const cond *c, bool negated) {
    return condition(m, dims, c, negated, 0);
}
