/* How far an index reaches, by the bounds of the loops, ids, minima and floors that it is made of, innermost first: i0 * 64 + i with i < min(64, M - i0 *
 * 64) is below M. Quick, and enough for most accesses; what it does not show is asked of sets. */
#include "prove/interval.h"
#include <string.h>

enum { MOST_STEPS = 400, MOST_NESTING = 40, MOST_GUARDS = 24, MOST_FACTS = 3, MOST_TRIALS = 60 };

static const wide FAR = (wide)1 << 100;

/* What holds: left - right <= slack. */
typedef struct fact {
    const index_expr *left, *right;
    int64_t slack;
    bool used;
} fact;
typedef struct reach {
    model *m;
    int steps;
    fact facts[MOST_GUARDS];
    int fact_count, facts_used, trials;
    wide enough; /* nothing less is looked for */
} reach;

bool index_same_part(const index_expr *x, const index_expr *y) {
    return x == y || (x->op == IX_VAR ? y->op == IX_VAR && x->var == y->var : ix_equal(x, y));
}

static bool add_term(index_sum *s, const index_expr *of, int64_t factor) {
    for (int i = 0; i < s->count; i++) {
        if (!index_same_part(s->terms[i].of, of))
            continue;
        if (__builtin_add_overflow(s->terms[i].factor, factor, &s->terms[i].factor))
            return false;
        if (!s->terms[i].factor)
            s->terms[i] = s->terms[--s->count];
        return true;
    }
    if (s->count == INDEX_SUM_TERMS)
        return false;
    s->terms[s->count++] = (index_term){of, factor};
    return true;
}

/* A product of two variables, by name, so that equal ones look alike. */
static const index_expr *in_order(const model *m, const index_expr *x) {
    const index_expr *a = model_meaning(m, x->a), *b = model_meaning(m, x->b);
    if (a->op != IX_VAR || b->op != IX_VAR)
        return x;
    bool swap = strcmp(a->var->name, b->var->name) > 0;
    return ix_mul(m->arena, (index_expr *)(swap ? b : a), (index_expr *)(swap ? a : b));
}

bool index_sum_add(const model *m, index_sum *s, const index_expr *x, int64_t factor, int nesting) {
    int64_t by, product;
    if (nesting > MOST_NESTING)
        return false;
    switch (x->op) {
    case IX_CONST: s->constant += (wide)x->value * factor; return s->constant < FAR && s->constant > -FAR;
    case IX_VAR:
        if (x->var->has_value) {
            s->constant += (wide)x->var->value * factor;
            return s->constant < FAR && s->constant > -FAR;
        }
        if (m && model_knows(m, x->var) && m->definition[x->var->id])
            return index_sum_add(m, s, m->definition[x->var->id], factor, nesting + 1);
        return add_term(s, x, factor);
    case IX_ADD: return index_sum_add(m, s, x->a, factor, nesting + 1) && index_sum_add(m, s, x->b, factor, nesting + 1);
    case IX_SUB: return index_sum_add(m, s, x->a, factor, nesting + 1) && index_sum_add(m, s, x->b, -factor, nesting + 1);
    case IX_MUL:
        if (ix_is_const(x->b, &by))
            return !__builtin_mul_overflow(factor, by, &product) && index_sum_add(m, s, x->a, product, nesting + 1);
        if (ix_is_const(x->a, &by))
            return !__builtin_mul_overflow(factor, by, &product) && index_sum_add(m, s, x->b, product, nesting + 1);
        return add_term(s, m ? in_order(m, x) : x, factor);
    default: return add_term(s, x, factor);
    }
}

/* The innermost dimension that x mentions; -1: none. */
static int innermost(const model *m, const index_expr *x, int nesting) {
    if (x->op == IX_CONST || nesting > MOST_NESTING)
        return -1;
    if (x->op != IX_VAR) {
        int a = innermost(m, x->a, nesting + 1), b = innermost(m, x->b, nesting + 1);
        return a > b ? a : b;
    }
    if (!model_knows(m, x->var))
        return -1;
    if (m->definition[x->var->id])
        return innermost(m, m->definition[x->var->id], nesting + 1);
    return m->position[x->var->id];
}

static bool is_loop(const model *m, const index_expr *x) {
    return x->op == IX_VAR && model_knows(m, x->var) && m->loop[x->var->id];
}

/* Every value of x is a multiple of this, a divisor of `step`, plus *rest. */
static int64_t grain(model *m, const index_expr *x, int64_t step, int64_t *rest) {
    while (step > 1 && !affine_residue(m, x, step, rest))
        step = step % 2 ? 1 : step / 2;
    *rest = step > 1 ? *rest : 0;
    return step;
}

/* The sum, which is at most `best`, has values a common divisor of its parts apart: the greatest of them up to `best`. */
static wide rounded(model *m, const index_sum *s, wide best) {
    int64_t divisor = 0, step, rest, whole;
    wide constant = s->constant;
    if (best >= FAR / 4 || best <= -FAR / 4)
        return best;
    for (int pass = 0; pass < 3;
         pass++) /* plain parts, then loops, then minima and maxima, which have a grain if it is asked for */
        for (int i = 0; i < s->count && divisor != 1; i++) {
            const index_expr *x = s->terms[i].of;
            bool loop = is_loop(m, x), choice = x->op == IX_MIN || x->op == IX_MAX;
            if ((loop ? 1 : choice ? 2 : 0) != pass)
                continue;
            rest = 0;
            step = loop && ix_is_const(m->loop[x->var->id]->step, &step) && step > 1 ? step : choice && divisor > 1 ? divisor : 1;
            step = step > 1 ? grain(m, x, step, &rest) : 1;
            if (__builtin_mul_overflow(step, s->terms[i].factor, &whole))
                return best;
            divisor = ix_gcd(divisor, whole);
            constant += (wide)s->terms[i].factor * rest;
        }
    return divisor > 1 ? constant + divisor * floor_divide(best - constant, divisor) : best;
}

/* How deep x is nested. */
static int height(const model *m, const index_expr *x, int nesting) {
    if (x->op == IX_CONST || nesting == MOST_NESTING)
        return 0;
    if (x->op == IX_VAR)
        return model_knows(m, x->var) && m->definition[x->var->id] ? height(m, m->definition[x->var->id], nesting + 1) : 0;
    int a = height(m, x->a, nesting + 1), b = height(m, x->b, nesting + 1);
    return 1 + (a > b ? a : b);
}

static wide most(reach *r, index_sum s);

static wide least_of(wide a, wide b) {
    return a < b ? a : b;
}

/* The most of s + factor * (x + more). */
static wide most_with(reach *r, const index_sum *s, const index_expr *x, int64_t factor, int64_t more) {
    index_sum t = *s;
    t.constant += (wide)more * factor;
    return index_sum_add(r->m, &t, x, factor, 0) ? most(r, t) : FAR;
}

/* By the numbers that the part may be. */
static wide most_by_number(reach *r, const index_sum *s, const index_term *t) {
    interval x = interval_product(interval_of(r->m, t->of), (interval){t->factor, t->factor});
    if (x.hi >= FAR / 4)
        return FAR;
    index_sum rest = *s;
    rest.constant += x.hi;
    return most(r, rest);
}

static wide numeric(reach *r, const index_expr *x, bool high) {
    index_sum s = {.count = 0};
    if (!index_sum_add(r->m, &s, x, high ? 1 : -1, 0))
        return high ? FAR : -FAR;
    wide y = most(r, s);
    return high ? y : -y;
}

const index_expr *reach_element_bound(const scope *s) {
    const kernel_value *v = s->stmt->value;
    while (v->op == KERNEL_CONVERT && v->type == ELEMENT_INDEX) /* which does not wrap */
        v = v->operands[0];
    return v->op == KERNEL_LOAD && v->access.array->use == USE_IN && !v->access.active ? v->access.array->element_bound : NULL;
}

static wide most_by_variable(reach *r, const index_sum *s, const index_term *t) {
    model *m = r->m;
    const index_var *v = t->of->var;
    bool up = t->factor > 0;
    if (v->kind == INDEX_SYMBOL || v->kind == INDEX_SCALAR) {
        const index_expr *bound = up ? v->hi : v->lo;
        return bound ? least_of(most_with(r, s, bound, t->factor, 0), most_by_number(r, s, t)) : most_by_number(r, s, t);
    }
    const scope *at = model_knows(m, v) ? m->scope_of[v->id] : NULL;
    static const index_expr zero = {.op = IX_CONST};
    if (at && at->kind == SCOPE_ID)
        return most_with(r, s, up ? at->extent : &zero, t->factor, up ? -1 : 0);
    if (at && at->kind == SCOPE_LOOP)
        return most_with(r, s, up ? at->stmt->hi : at->stmt->lo, t->factor, up ? -1 : 0);
    const index_expr *bound = at && at->kind == SCOPE_VALUE ? reach_element_bound(at) : NULL;
    if (bound)
        return most_with(r, s, up ? bound : &zero, t->factor, up ? -1 : 0);
    return most_by_number(r, s, t);
}

static wide most_by_floor(reach *r, const index_sum *s, const index_term *t) {
    int64_t d, f = t->factor;
    if (!ix_is_const(t->of->b, &d) || d <= 0)
        return most_by_number(r, s, t);
    wide symbolic = FAR, y;
    if (f % d == 0) /* floor(y / d) is at most y / d, and at least (y - d + 1) / d */
        symbolic = most_with(r, s, t->of->a, f / d, f > 0 ? 0 : 1 - d);
    y = numeric(r, t->of->a, f > 0);
    if (y >= FAR || y <= -FAR)
        return symbolic;
    y = floor_divide(y, d);
    index_sum rest = *s;
    rest.constant += y * f;
    return least_of(symbolic, most(r, rest));
}

static wide most_by_remainder(reach *r, const index_sum *s, const index_term *t) {
    int64_t d;
    if (!ix_is_const(t->of->b, &d) || d <= 0)
        return most_by_number(r, s, t);
    index_sum rest = *s;
    rest.constant += t->factor > 0 ? (wide)t->factor * (d - 1) : 0;
    return most(r, rest);
}

/* factor * x * y, y not negative: the bound of an id or a loop in place of x, where it is a variable or a number. */
static wide most_by_factor(reach *r, const index_sum *s, const index_term *t, const index_expr *x, const index_expr *y) {
    model *m = r->m;
    const scope *at = x->op == IX_VAR && model_knows(m, x->var) ? m->scope_of[x->var->id] : NULL;
    bool up = t->factor > 0;
    if (!at || (at->kind != SCOPE_ID && at->kind != SCOPE_LOOP) || numeric(r, y, false) < 0)
        return FAR;
    static const index_expr zero = {.op = IX_CONST};
    const index_expr *bound = at->kind == SCOPE_ID ? up ? at->extent : &zero : up ? at->stmt->hi : at->stmt->lo;
    bound = model_meaning(m, bound);
    if (bound->op != IX_VAR && bound->op != IX_CONST)
        return FAR;
    index_sum with = *s;
    if (up && !index_sum_add(m, &with, y, -t->factor, 0))
        return FAR;
    return most_with(r, &with, ix_mul(m->arena, (index_expr *)bound, (index_expr *)y), t->factor, 0);
}

static wide most_by_product(reach *r, const index_sum *s, const index_term *t) {
    const index_expr *a = model_meaning(r->m, t->of->a), *b = model_meaning(r->m, t->of->b);
    wide best = most_by_number(r, s, t);
    best = least_of(best, most_by_factor(r, s, t, a, b));
    return least_of(best, most_by_factor(r, s, t, b, a));
}

/* Some term of s goes away in `with`. */
static bool cancels(const index_sum *s, const index_sum *with) {
    for (int i = 0; i < s->count; i++) {
        int j = 0;
        while (j < with->count && !index_same_part(with->terms[j].of, s->terms[i].of))
            j++;
        if (j == with->count)
            return true;
    }
    return false;
}

/* How often the fact takes its left side out of s, where that is one term. */
static int64_t times(reach *r, const index_sum *s, const fact *f) {
    index_sum left = {.count = 0};
    if (!index_sum_add(r->m, &left, f->left, 1, 0) || left.count != 1 || left.terms[0].factor != 1)
        return 1;
    for (int i = 0; i < s->count; i++)
        if (s->terms[i].factor > 0 && s->terms[i].factor < INT32_MAX && index_same_part(s->terms[i].of, left.terms[0].of))
            return s->terms[i].factor;
    return 1;
}

/* s + (right - left + slack) times a number, which s does not exceed. False: the fact takes no term away. */
static bool by_fact(reach *r, const index_sum *s, const fact *f, index_sum *with) {
    int64_t by = f->used ? 0 : times(r, s, f);
    *with = *s;
    with->constant += (wide)f->slack * by;
    return by && index_sum_add(r->m, with, f->right, by, 0) && index_sum_add(r->m, with, f->left, -by, 0) && cancels(s, with);
}

/* The most of s, which is at most `best`, given facts: each alone, then with others. */
static wide most_by_facts(reach *r, const index_sum *s, wide best) {
    index_sum with;
    for (int further = 0; further < 2 && r->facts_used + further < MOST_FACTS; further++)
        for (int i = 0; i < r->fact_count && best > r->enough && r->trials < MOST_TRIALS; i++) {
            if (!by_fact(r, s, &r->facts[i], &with))
                continue;
            r->trials++;
            r->facts_used++;
            r->facts[i].used = true;
            wide now = further ? most_by_facts(r, &with, FAR) : most(r, with);
            best = rounded(r->m, s, least_of(best, now));
            r->facts[i].used = false;
            r->facts_used--;
        }
    return best;
}

/* The term gives way to a bound of its own. */
static wide most_of_part(reach *r, index_sum s, int chosen) {
    index_term t = s.terms[chosen];
    s.terms[chosen] = s.terms[--s.count];
    bool least = (t.of->op == IX_MIN) == (t.factor > 0); /* one of the two bounds is enough */
    switch (t.of->op) {
    case IX_VAR: return most_by_variable(r, &s, &t);
    case IX_MIN:
    case IX_MAX: {
        wide a = most_with(r, &s, t.of->a, t.factor, 0), b = most_with(r, &s, t.of->b, t.factor, 0);
        return (a < b) == least ? a : b;
    }
    case IX_FLOORDIV: return most_by_floor(r, &s, &t);
    case IX_MOD: return most_by_remainder(r, &s, &t);
    case IX_MUL: return most_by_product(r, &s, &t);
    default: return most_by_number(r, &s, &t);
    }
}

static wide most_of_parts(reach *r, index_sum s) {
    if (++r->steps > MOST_STEPS)
        return FAR;
    if (!s.count)
        return s.constant;
    int chosen = 0, depth = -2 * (MOST_NESTING + 1);
    wide known = FAR;
    for (int i = 0; i < s.count; i++) { /* parts before what they are made of */
        int d = innermost(r->m, s.terms[i].of, 0) * (MOST_NESTING + 1) + height(r->m, s.terms[i].of, 0);
        if (d > depth) {
            chosen = i;
            depth = d;
        }
    }
    if (depth < 0 && r->facts_used < MOST_FACTS && r->fact_count) { /* launch values alone: facts first */
        known = most_by_facts(r, &s, FAR);
        if (known <= r->enough)
            return known;
    }
    return least_of(known, most_of_part(r, s, chosen));
}

/* A number that the sum never exceeds; FAR: none is known. */
static wide most(reach *r, index_sum s) {
    return rounded(r->m, &s, most_of_parts(r, s));
}

/* left <= right + slack; a maximum on the left, or a minimum on the right, holds for each of its parts too. */
static int ordered(const model *m, const index_expr *left, const index_expr *right, int64_t slack, fact *found, int count) {
    const index_expr *l = model_meaning(m, left), *r = model_meaning(m, right);
    if (count + 1 > MOST_GUARDS)
        return count;
    found[count++] = (fact){left, right, slack, false};
    for (int part = 0; part < 2; part++) {
        if (l->op == IX_MAX)
            count = ordered(m, part ? l->b : l->a, right, slack, found, count);
        else if (r->op == IX_MIN)
            count = ordered(m, left, part ? r->b : r->a, slack, found, count);
    }
    return count;
}

static int facts_of(const model *m, const cond *c, bool negated, fact *found, int count, int nesting) {
    if (nesting > MOST_NESTING || count + 2 > MOST_GUARDS)
        return count;
    if (c->op == COND_NOT)
        return facts_of(m, c->a, !negated, found, count, nesting + 1);
    if (c->op == (negated ? COND_OR : COND_AND)) {
        count = facts_of(m, c->a, negated, found, count, nesting + 1);
        return facts_of(m, c->b, negated, found, count, nesting + 1);
    }
    if (c->op == COND_LT || c->op == COND_LE) {
        bool strict = (c->op == COND_LT) != negated;
        count = ordered(m, negated ? c->y : c->x, negated ? c->x : c->y, strict ? -1 : 0, found, count);
    }
    if (c->op == (negated ? COND_NE : COND_EQ)) {
        found[count++] = (fact){c->x, c->y, 0, false};
        found[count++] = (fact){c->y, c->x, 0, false};
    }
    return count;
}

static void facts_around(reach *r, const scope *at) {
    for (const scope *g = at; g; g = g->parent)
        if (g->kind == SCOPE_GUARD && g->guard)
            r->fact_count = facts_of(r->m, g->guard, g->negated, r->facts, r->fact_count, 0);
}

/* The most of s where both scopes (the second may be NULL) are reached; once it is at most `enough`, how little does not matter. `thorough`: facts
 * are tried on what stands for the parts of s, too. */
static wide most_at(model *m, const scope *at, const scope *also, const index_sum *s, wide enough, bool thorough) {
    reach r = {.m = m, .enough = enough};
    wide best = most(&r, *s);
    if (best <= enough)
        return best;
    facts_around(&r, at);
    facts_around(&r, also);
    for (int i = -1; i < m->kernel->assumptions.count; i++) {
        const cond *c = i < 0 ? m->launch : m->kernel->assumptions.at[i];
        r.fact_count = c ? facts_of(m, c, false, r.facts, r.fact_count, 0) : r.fact_count;
    }
    r.steps = 0;
    best = r.fact_count ? least_of(best, most_by_facts(&r, s, best)) : best;
    if (best <= enough || !thorough || !r.fact_count)
        return best;
    r.steps = r.trials = 0;
    return least_of(best, most(&r, *s));
}

bool reach_within(model *m, const scope *at, const index_expr *x, wide low, wide high) {
    for (int side = 0; side < 2; side++) {
        index_sum s = {.count = 0};
        wide enough = side ? high : -low;
        if (!index_sum_add(m, &s, x, side ? 1 : -1, 0) || most_at(m, at, NULL, &s, enough, true) > enough)
            return false;
    }
    return true;
}

wide reach_most_sum(model *m, const scope *at, const index_sum *s) {
    return most_at(m, at, NULL, s, -1, false);
}

/* Whether x is at most y. */
static bool at_most(model *m, const scope *at, const index_expr *x, const index_expr *y) {
    index_sum s = {.count = 0};
    return index_sum_add(m, &s, x, 1, 0) && index_sum_add(m, &s, y, -1, 0) && most_at(m, at, NULL, &s, 0, false) <= 0;
}

/* Whether x's indices in dimension d are all below y's. */
static bool stands_below(model *m, const place *x, const place *y, int d) {
    wide further = x->lanes > 1 && x->vector_dim == d ? x->lanes - 1 : 0;
    index_sum s = {.count = 0};
    if (x->extents)
        further = interval_of(m, x->extents[d]).hi - 1;
    s.constant = further;
    return further < FAR / 4 && index_sum_add(m, &s, x->indices[d], 1, 0) && index_sum_add(m, &s, y->indices[d], -1, 0) &&
           most_at(m, x->scope, y->scope, &s, -1, false) < 0;
}

bool reach_apart(model *m, const place *x, const place *y) {
    for (int d = 0; d < x->array->rank; d++)
        if (stands_below(m, x, y, d) || stands_below(m, y, x, d))
            return true;
    return false;
}

wide reach_most(model *m, const scope *at, const index_expr *x, int64_t factor, const index_expr *y, int64_t factor_y) {
    index_sum s = {.count = 0};
    if (!index_sum_add(m, &s, x, factor, 0) || (y && !index_sum_add(m, &s, y, factor_y, 0)))
        return FAR;
    return reach_most_sum(m, at, &s);
}

static index_expr *simpler(model *m, const scope *at, index_expr *x, int nesting, int *steps) {
    if (nesting > MOST_NESTING || ++*steps > MOST_STEPS || x->op == IX_CONST)
        return x;
    if (x->op == IX_VAR) {
        if (!model_knows(m, x->var) || !m->definition[x->var->id])
            return x;
        index_expr *is = m->definition[x->var->id], *y = simpler(m, at, is, nesting + 1, steps);
        return y == is ? x : y;
    }
    index_expr *a = simpler(m, at, x->a, nesting + 1, steps), *b = simpler(m, at, x->b, nesting + 1, steps);
    int64_t d;
    if (x->op == IX_MIN || x->op == IX_MAX) {
        bool min = x->op == IX_MIN;
        bool same = a == x->a && b == x->b;
        if (at_most(m, at, x->a, x->b) || (!same && at_most(m, at, a, b))) /* conditions speak of the parts as they were */
            return min ? a : b;
        if (at_most(m, at, x->b, x->a) || (!same && at_most(m, at, b, a)))
            return min ? b : a;
    }
    if ((x->op == IX_FLOORDIV || x->op == IX_MOD) && ix_is_const(b, &d) && d > 0) {
        wide low = -reach_most(m, at, a, -1, NULL, 0), high = reach_most(m, at, a, 1, NULL, 0);
        if (x->op == IX_MOD && low >= 0 && high < d)
            return a;
        if (x->op == IX_FLOORDIV && low > -((wide)1 << 60) && high < (wide)1 << 60) {
            low = floor_divide(low, d);
            high = floor_divide(high, d);
            if (low == high)
                return ix_const(m->arena, (int64_t)low);
        }
    }
    if (a == x->a && b == x->b)
        return x;
    switch (x->op) {
    case IX_ADD: return ix_add(m->arena, a, b);
    case IX_SUB: return ix_sub(m->arena, a, b);
    case IX_MUL: return ix_mul(m->arena, a, b);
    case IX_FLOORDIV: return ix_floordiv(m->arena, a, b);
    case IX_MOD: return ix_mod(m->arena, a, b);
    case IX_MIN: return ix_min(m->arena, a, b);
    case IX_MAX: return ix_max(m->arena, a, b);
    default: return x;
    }
}

index_expr *reach_simpler(model *m, const scope *at, index_expr *x) {
    int steps = 0;
    return simpler(m, at, x, 0, &steps);
}

static cond *simpler_condition(model *m, const scope *at, cond *c, int nesting) {
    if (nesting > MOST_NESTING || c->op == COND_TRUE)
        return c;
    if (c->op == COND_AND || c->op == COND_OR || c->op == COND_NOT) {
        /* the second part matters where the first holds, or (of "or") does not */
        const scope there = {
            .parent = (scope *)at, .kind = SCOPE_GUARD, .depth = at->depth, .guard = c->a, .negated = c->op == COND_OR};
        cond *a = simpler_condition(m, at, c->a, nesting + 1), *b = c->b ? simpler_condition(m, &there, c->b, nesting + 1) : NULL;
        if (a == c->a && b == c->b)
            return c;
        return c->op == COND_NOT ? cond_not(m->arena, a) : c->op == COND_AND ? cond_and(m->arena, a, b) : cond_or(m->arena, a, b);
    }
    index_expr *x = reach_simpler(m, at, c->x), *y = reach_simpler(m, at, c->y);
    return x == c->x && y == c->y ? c : cond_compare(m->arena, c->op, x, y);
}

cond *reach_simpler_condition(model *m, const scope *at, cond *c) {
    return simpler_condition(m, at, c, 0);
}

bool reach_inside(model *m, const place *p, int d) {
    const index_expr *extent = p->array->dims[d];
    wide further = p->lanes > 1 && d == p->vector_dim ? p->lanes - 1 : 0;
    if (p->extents)
        further = interval_of(m, p->extents[d]).hi - 1;
    if (further >= FAR / 4 || reach_most(m, p->scope, p->indices[d], -1, NULL, 0) > 0)
        return false;
    if (reach_most(m, p->scope, p->indices[d], 1, extent, -1) + further < 0)
        return true;
    /* masked: lane l takes part if l < active */
    return p->active && p->lanes > 1 && d == p->vector_dim &&
           reach_most(m, p->scope, ix_add(m->arena, p->indices[d], p->active), 1, extent, -1) <= 0;
}
