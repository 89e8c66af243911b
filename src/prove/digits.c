/* Accesses told apart by digits. Where an index is ((tile * 8 + slot) * 4 + row) + column and each lower part stays below the factor above it, the
 * value of `slot` can be read off the cell: two accesses at which it differs touch different cells. Read off the expressions; no set
 * is made. What this does not show is asked of sets. */
#include "prove/interval.h"

enum { MOST_TERMS = 24, MOST_NESTING = 64 };

typedef struct term {
    const index_expr *of; /* a variable, or a part that is no sum */
    int64_t factor;
    int64_t span, step; /* span > 0: not the variable, but how far its loop has come: a multiple of step in 0..span */
} term;
/* constant + the sum of the terms */
typedef struct sum {
    term terms[MOST_TERMS];
    int count;
    int64_t constant;
} sum;

static bool add_term(sum *s, const index_expr *of, int64_t factor) {
    for (int i = 0; i < s->count; i++)
        if (s->terms[i].span)
            continue;
        else if (index_same_part(s->terms[i].of, of))
            return !__builtin_add_overflow(s->terms[i].factor, factor, &s->terms[i].factor);
    if (s->count == MOST_TERMS)
        return false;
    s->terms[s->count++] = (term){of, factor, 0, 0};
    return true;
}

static bool add_offset(sum *s, const index_expr *of, int64_t factor, int64_t span, int64_t step) {
    for (int i = 0; i < s->count; i++)
        if (s->terms[i].span && s->terms[i].of->var == of->var)
            return !__builtin_add_overflow(s->terms[i].factor, factor, &s->terms[i].factor);
    if (s->count == MOST_TERMS)
        return false;
    s->terms[s->count++] = (term){of, factor, span, step};
    return true;
}

typedef struct depth_of {
    const model *m;
    int depth;
} depth_of;

static bool is_outside_depth(const void *context, const index_var *v) {
    const depth_of *d = context;
    return d->m->position[v->id] >= 0 && d->m->position[v->id] < d->depth;
}

/* Whether x is the same for all accesses that agree in the dimensions outside `depth`. */
static bool agrees(const model *m, const index_expr *x, int depth) {
    return model_every_variable(m, x, is_outside_depth, &(depth_of){m, depth});
}

/* What is being told apart: loops inside `depth`, other than v's own, count from where they begin. */
typedef struct view {
    model *m;
    const index_var *v;
    int depth, steps;
} view;

static interval term_interval(model *m, const term *t) {
    interval x = t->span ? (interval){0, t->span} : interval_of(m, t->of);
    return interval_product(x, (interval){t->factor, t->factor});
}

static bool add(view *w, sum *s, const index_expr *x, int64_t factor, int nesting);

/* The furthest that a loop comes from its beginning; -1: not known. min(a, b) is at most a, and at most b. */
static int64_t span_of(view *w, const index_expr *hi, const index_expr *lo, int64_t less, int nesting) {
    if (nesting > 8 || ++w->steps > 200)
        return -1;
    if (hi->op == IX_MIN) {
        int64_t a = span_of(w, hi->a, lo, less, nesting + 1), b = span_of(w, hi->b, lo, less, nesting + 1);
        return a < 0 ? b : b < 0 ? a : a < b ? a : b;
    }
    int64_t by;
    if ((hi->op == IX_ADD || hi->op == IX_SUB) && ix_is_const(hi->b, &by))
        return span_of(w, hi->a, lo, hi->op == IX_ADD ? less - by : less + by, nesting + 1);
    if (hi->op == IX_VAR && model_knows(w->m, hi->var) && w->m->definition[hi->var->id])
        return span_of(w, w->m->definition[hi->var->id], lo, less, nesting + 1);
    sum s = {.count = 0};
    view plain = {w->m, NULL, INT32_MAX, w->steps};
    if (!add(&plain, &s, hi, 1, 0) || !add(&plain, &s, lo, -1, 0))
        return -1;
    wide most = (wide)s.constant - less;
    for (int i = 0; i < s.count; i++)
        most += term_interval(w->m, &s.terms[i]).hi;
    return most >= 1 && most < (wide)1 << 40 ? (int64_t)most - 1 : -1;
}

/* Adds factor * x; false: too much of it. */
static bool add(view *w, sum *s, const index_expr *x, int64_t factor, int nesting) {
    model *m = w->m;
    int64_t by, product, step;
    if (nesting > MOST_NESTING)
        return false;
    switch (x->op) {
    case IX_CONST:
        return !__builtin_mul_overflow(x->value, factor, &product) && !__builtin_add_overflow(s->constant, product, &s->constant);
    case IX_VAR: {
        if (x->var->has_value)
            return !__builtin_mul_overflow(x->var->value, factor, &product) &&
                   !__builtin_add_overflow(s->constant, product, &s->constant);
        if (model_knows(m, x->var) && m->definition[x->var->id])
            return add(w, s, m->definition[x->var->id], factor, nesting + 1);
        const kernel_stmt *loop = model_knows(m, x->var) ? m->loop[x->var->id] : NULL;
        if (!loop || x->var == w->v || agrees(m, loop->lo, w->depth) || !ix_is_const(loop->step, &step) || step <= 0 ||
            agrees(m, x, w->depth))
            return add_term(s, x, factor);
        int64_t span = span_of(w, loop->hi, loop->lo, 0, 0);
        if (span < 0)
            return add_term(s, x, factor);
        return add_offset(s, x, factor, span + !span, step) && add(w, s, loop->lo, factor, nesting + 1);
    }
    case IX_ADD: return add(w, s, x->a, factor, nesting + 1) && add(w, s, x->b, factor, nesting + 1);
    case IX_SUB: return add(w, s, x->a, factor, nesting + 1) && add(w, s, x->b, -factor, nesting + 1);
    case IX_MUL:
        if (ix_is_const(x->b, &by))
            return !__builtin_mul_overflow(factor, by, &product) && add(w, s, x->a, product, nesting + 1);
        if (ix_is_const(x->a, &by))
            return !__builtin_mul_overflow(factor, by, &product) && add(w, s, x->b, product, nesting + 1);
        return add_term(s, x, factor);
    default: return add_term(s, x, factor);
    }
}

/* Every value of the term's part is a multiple of this, plus *rest. */
static int64_t grain(model *m, const term *t, int64_t *rest) {
    const index_expr *x = t->of;
    int64_t step;
    *rest = 0;
    if (t->span)
        return t->step;
    const kernel_stmt *loop = x->op == IX_VAR && model_knows(m, x->var) ? m->loop[x->var->id] : NULL;
    if (loop && ix_is_const(loop->step, &step) && step > 1 && affine_residue(m, loop->lo, step, rest))
        return step;
    return 1;
}

/* The digit that gives v in one dimension of a place's cells. */
typedef struct digit {
    int64_t unit; /* the digit is floor((cell - same) / unit) - shift, modulo `radix` (0: not modulo anything) */
    int64_t radix, shift;
    int64_t most; /* how many values v has; 0: not known */
    sum same;     /* the part on which all accesses that are compared agree */
} digit;

static bool same_sum(const sum *x, const sum *y) {
    if (x->count != y->count)
        return false;
    for (int i = 0; i < x->count; i++) {
        int j = 0;
        while (j < y->count && !(y->terms[j].factor == x->terms[i].factor && ix_equal(y->terms[j].of, x->terms[i].of)))
            j++;
        if (j == y->count)
            return false;
    }
    return true;
}

/* Agreeing terms that leave the digit alone, since it is taken modulo `radix`, count no more. */
static void leave_out_multiples(sum *same, int64_t unit, int64_t radix) {
    int64_t whole;
    int kept = 0;
    if (!radix || __builtin_mul_overflow(unit, radix, &whole))
        return;
    for (int i = 0; i < same->count; i++)
        if (same->terms[i].factor % whole)
            same->terms[kept++] = same->terms[i];
    same->count = kept;
}

/* Where the condition says what a term of the sum is, `16 * floor(e / 16) + 4 * row == e`, that stands in its place. */
static bool replace_terms(view *w, sum *s, const cond *c, int nesting) {
    if (!c || nesting > MOST_NESTING)
        return true;
    if (c->op == COND_AND)
        return replace_terms(w, s, c->a, nesting + 1) && replace_terms(w, s, c->b, nesting + 1);
    for (int side = 0; c->op == COND_EQ && side < 2; side++) {
        const index_expr *is = side ? c->x : c->y, *by = side ? c->y : c->x;
        sum one = {.count = 0};
        if (!add(w, &one, is, 1, 0) || one.count != 1 || one.constant || one.terms[0].factor != 1 || one.terms[0].span)
            continue;
        for (int i = 0; i < s->count; i++) {
            int64_t factor = s->terms[i].factor;
            if (factor && !s->terms[i].span && index_same_part(s->terms[i].of, one.terms[0].of))
                return add_term(s, one.terms[0].of, -factor) && add(w, s, by, factor, 0);
        }
    }
    return true;
}

/* The place's index in dimension d; with `equations`, as the conditions around it say it. */
static bool add_index(view *w, sum *s, const place *p, int d, bool equations) {
    bool fits = add(w, s, p->indices[d], 1, 0);
    for (const scope *at = p->scope; fits && equations && at; at = at->parent)
        fits = at->kind != SCOPE_GUARD || at->negated || replace_terms(w, s, at->guard, 0);
    return fits;
}

static bool fit(wide base, wide low, wide high, int64_t unit) {
    wide start = floor_divide(base + low, unit);
    return base + high < (start + 1) * unit;
}

/* Whether dimension d of the place has a digit: *g. */
static bool has_digit(model *m, const place *p, int d, const index_var *v, int depth, bool equations, digit *g) {
    sum all = {.count = 0}, same = {.count = 0};
    view w = {m, v, depth, 0};
    if (!add_index(&w, &all, p, d, equations))
        return false;
    int64_t unit = 0, most = 0, rest;
    wide base = all.constant, low = 0, high = 0;
    index_expr *parts = ix_const(m->arena, 0); /* what low and high bound */
    for (int i = 0; i < all.count; i++) {      /* v's own term */
        const index_expr *x = all.terms[i].of;
        if (all.terms[i].span || x->op != IX_VAR || x->var != v)
            continue;
        int64_t step = grain(m, &all.terms[i], &rest);
        interval range = interval_of(m, x);
        if (all.terms[i].factor <= 0 || __builtin_mul_overflow(all.terms[i].factor, step, &unit) || range.lo < 0)
            return false;
        wide within = reach_most(m, p->scope, (index_expr *)x, 1, NULL, 0); /* the conditions around it may leave fewer */
        range.hi = within < range.hi ? within : range.hi;
        base += (wide)all.terms[i].factor * rest;
        most = range.hi >= (wide)1 << 50 ? 0 : (int64_t)(range.hi / step) + 1;
    }
    if (!unit)
        return false;
    int64_t radix = 0;
    for (int i = 0; i < all.count; i++) {
        const index_expr *x = all.terms[i].of;
        int64_t factor = all.terms[i].factor, whole;
        if ((!all.terms[i].span && x->op == IX_VAR && x->var == v) || !factor)
            continue;
        if (!all.terms[i].span && agrees(m, x, depth)) {
            same.terms[same.count++] = all.terms[i];
            continue;
        }
        int64_t step = grain(m, &all.terms[i], &rest);
        if (!__builtin_mul_overflow(factor, step, &whole) && whole % unit == 0 && most &&
            (whole / unit >= most || -(whole / unit) >= most)) {
            radix = ix_gcd(radix, whole / unit);
            base += (wide)factor * rest;
            continue;
        }
        interval part = term_interval(m, &all.terms[i]);
        low += part.lo;
        high += part.hi;
        index_expr *own = (index_expr *)x;
        if (all.terms[i].span)
            own = ix_sub(m->arena, own, m->loop[x->var->id]->lo);
        parts = ix_add(m->arena, parts, ix_mul(m->arena, own, ix_const(m->arena, factor)));
    }
    if (!fit(base, low, high, unit)) { /* parts that bound one another */
        high = reach_most(m, p->scope, parts, 1, NULL, 0);
        low = -reach_most(m, p->scope, parts, -1, NULL, 0);
    }
    low += base;
    high += base;
    if (p->extents) {
        high += interval_of(m, p->extents[d]).hi - 1;
    } else if (p->lanes > 1 && p->vector_dim == d) {
        wide taking_part = p->active && !fit(0, low, high + p->lanes - 1, unit)
                               ? base + reach_most(m, p->scope, ix_add(m->arena, parts, p->active), 1, NULL, 0) - 1
                               : high + p->lanes - 1;
        high = taking_part < high + p->lanes - 1 ? taking_part : high + p->lanes - 1;
    }
    if (low < -((wide)1 << 60) || high > (wide)1 << 60)
        return false;
    wide shift = floor_divide(low, unit);
    if (high - shift * unit >= unit)
        return false;
    *g = (digit){unit, radix, (int64_t)shift, most, same};
    return !radix || (most && radix >= most);
}

/* Whether dimension d of every place has a digit, and the same. */
static bool share_digit(model *m, place *const *places, int count, int d, const index_var *v, int depth, bool equations) {
    digit first, *g = NULL;
    int64_t radix = 0;
    for (int i = 0; i < count; i++) {
        if (!has_digit(m, places[i], d, v, depth, equations, i ? &g[i] : &first))
            return false;
        if (!i) {
            g = NEW_ARRAY(m->arena, digit, count);
            g[0] = first;
        }
        if (g[i].unit != g[0].unit || g[i].shift != g[0].shift)
            return false;
        radix = ix_gcd(radix, g[i].radix);
    }
    for (int i = 0; i < count; i++) {
        leave_out_multiples(&g[i].same, g[0].unit, radix);
        if ((radix && (!g[i].most || radix < g[i].most)) || !same_sum(&g[0].same, &g[i].same))
            return false;
    }
    return true;
}

/* The same where the unit is a launch value: row * ld + i with i in 0 .. ld. */
typedef struct row_digit {
    bool known;
    const index_expr *unit;
    sum same;
} row_digit;

static bool has_row_digit(model *m, const place *p, int d, const index_var *v, int depth, row_digit *g) {
    sum all = {.count = 0}, same = {.count = 0};
    view w = {m, v, depth, 0};
    if (p->extents || !add(&w, &all, p->indices[d], 1, 0))
        return false;
    const index_expr *unit = NULL;
    index_expr *low = ix_const(m->arena, all.constant);
    for (int i = 0; i < all.count; i++) {
        const term *t = &all.terms[i];
        const index_expr *x = t->of;
        if (!t->span && x->op == IX_MUL && t->factor == 1 && !unit) {
            const index_expr *a = model_meaning(m, x->a), *b = model_meaning(m, x->b);
            if (b->op == IX_VAR && b->var == v) {
                const index_expr *other = a;
                a = b;
                b = other;
            }
            if (a->op == IX_VAR && a->var == v && agrees(m, b, 0)) {
                unit = b;
                continue;
            }
        }
        if (!t->span && agrees(m, x, depth)) {
            same.terms[same.count++] = *t;
            continue;
        }
        index_expr *own = (index_expr *)x;
        if (t->span)
            own = ix_sub(m->arena, own, m->loop[x->var->id]->lo);
        low = ix_add(m->arena, low, ix_mul(m->arena, own, ix_const(m->arena, t->factor)));
    }
    wide further = p->lanes > 1 && p->vector_dim == d ? p->lanes - 1 : 0;
    if (!unit || (g->known && (!ix_equal(g->unit, unit) || !same_sum(&g->same, &same))) ||
        reach_most(m, p->scope, low, -1, NULL, 0) > 0 || reach_most(m, p->scope, low, 1, unit, -1) + further >= 0)
        return false;
    *g = (row_digit){true, unit, same};
    return true;
}

/* The condition lets v have one value alone. */
static bool fixes(const cond *c, const index_var *v, int64_t *value, int nesting) {
    if (!c || nesting > MOST_NESTING)
        return false;
    if (c->op == COND_AND)
        return fixes(c->a, v, value, nesting + 1) || fixes(c->b, v, value, nesting + 1);
    if (c->op != COND_EQ)
        return false;
    return (c->x->op == IX_VAR && c->x->var == v && ix_is_const(c->y, value)) ||
           (c->y->op == IX_VAR && c->y->var == v && ix_is_const(c->x, value));
}

static bool fixed_at(const place *p, const index_var *v, int64_t *value) {
    for (const scope *s = p->scope; s; s = s->parent)
        if (s->kind == SCOPE_GUARD && !s->negated && fixes(s->guard, v, value, 0))
            return true;
    return false;
}

static bool has_equation(const cond *c, int nesting) {
    return c && nesting <= MOST_NESTING &&
           (c->op == COND_EQ || (c->op == COND_AND && (has_equation(c->a, nesting + 1) || has_equation(c->b, nesting + 1))));
}

static bool below_equation(const place *p) {
    for (const scope *s = p->scope; s; s = s->parent)
        if (s->kind == SCOPE_GUARD && !s->negated && has_equation(s->guard, 0))
            return true;
    return false;
}

bool digits_tell(model *m, place *const *places, int count, const index_var *v, int depth) {
    if (!v || !count)
        return false;
    int64_t value, first = 0;
    int i = 0;
    while (i < count && fixed_at(places[i], v, i ? &value : &first) && (!i || value == first))
        i++;
    if (i == count)
        return true;
    bool equations = false;
    for (i = 0; i < count && !equations; i++)
        equations = below_equation(places[i]);
    for (int d = 0; d < places[0]->array->rank; d++) {
        if (share_digit(m, places, count, d, v, depth, false) || (equations && share_digit(m, places, count, d, v, depth, true)))
            return true;
        row_digit r = {.known = false};
        for (i = 0; i < count && has_row_digit(m, places[i], d, v, depth, &r);)
            i++;
        if (i == count)
            return true;
    }
    return false;
}

bool loops_told(model *m, place *p, const scope *outside) {
    for (const scope *s = p->scope; s != outside; s = s->parent)
        if (!s || s->kind == SCOPE_VALUE || s->kind == SCOPE_TRIP ||
            (s->kind == SCOPE_LOOP && !digits_tell(m, &p, 1, s->var, m->task_dims)))
            return false;
    return true;
}
