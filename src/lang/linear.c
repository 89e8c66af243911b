/* Proofs by Fourier-Motzkin elimination over the monomials of polynomials. Giving up is "not shown", never "shown". */
#include "lang/linear.h"
#include "tile/tile.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_DEGREE = 4, MAX_MONOMIALS = 48, MAX_CONSTRAINTS = 600, MAX_CASES = 16, MAX_NODES = 400 };

/* An atom is a variable, or a quotient, remainder, minimum or maximum standing for itself. */
typedef struct atom {
    const index_var *var;
    const index_expr *opaque;
} atom;

typedef struct monomial {
    int degree;
    int atoms[MAX_DEGREE]; /* ascending */
} monomial;

/* sum of coefficient * monomial, + constant; a constraint says that it is >= 0 */
typedef struct polynomial {
    int64_t constant;
    int64_t coefficients[MAX_MONOMIALS];
} polynomial;

typedef struct system {
    arena *arena;
    VEC(atom) atoms;
    VEC(bool) nonnegative; /* of atoms */
    VEC(monomial) monomials;
    VEC(polynomial) constraints;
    bool failed; /* too large, or an overflow: nothing is shown */
    int nodes;
} system_t;

/* The inclusive bounds that a variable brings itself; NULL for none. A range's upper one is its extent less 1. */
static index_expr *upper_bound(arena *a, const index_var *v) {
    if (v->kind == INDEX_RANGE && v->owner)
        return ix_sub(a, ((const tile_range *)v->owner)->extent, ix_const(a, 1));
    return v->hi;
}

static bool add_to(int64_t *x, int64_t y) {
    return !__builtin_add_overflow(*x, y, x);
}

static int find_atom(system_t *s, const index_var *var, const index_expr *opaque);
static bool add_condition(system_t *s, const cond *c, bool holds);

static int find_monomial(system_t *s, monomial m) {
    for (int i = 0; i < s->monomials.count; i++)
        if (s->monomials.at[i].degree == m.degree && !memcmp(s->monomials.at[i].atoms, m.atoms, sizeof(int) * (size_t)m.degree))
            return i;
    if (s->monomials.count == MAX_MONOMIALS) {
        s->failed = true;
        return 0;
    }
    VEC_PUSH(s->arena, s->monomials, m);
    return s->monomials.count - 1;
}

static void poly_scale_add(system_t *s, polynomial *to, const polynomial *from, int64_t factor) {
    int64_t product;
    if (__builtin_mul_overflow(from->constant, factor, &product) || !add_to(&to->constant, product))
        s->failed = true;
    for (int i = 0; i < s->monomials.count; i++)
        if (from->coefficients[i] &&
            (__builtin_mul_overflow(from->coefficients[i], factor, &product) || !add_to(&to->coefficients[i], product)))
            s->failed = true;
}

static void poly_add_term(system_t *s, polynomial *p, const monomial *m, int64_t coefficient) {
    if (m->degree == 0) {
        s->failed |= !add_to(&p->constant, coefficient);
        return;
    }
    int i = find_monomial(s, *m);
    s->failed |= !add_to(&p->coefficients[i], coefficient);
}

static bool monomial_multiply(const monomial *x, const monomial *y, monomial *out) {
    if (x->degree + y->degree > MAX_DEGREE)
        return false;
    memset(out, 0, sizeof *out);
    for (int i = 0, j = 0; i < x->degree || j < y->degree;)
        if (j >= y->degree || (i < x->degree && x->atoms[i] <= y->atoms[j]))
            out->atoms[out->degree++] = x->atoms[i++];
        else
            out->atoms[out->degree++] = y->atoms[j++];
    return true;
}

static void poly_multiply(system_t *s, const polynomial *x, const polynomial *y, polynomial *out) {
    memset(out, 0, sizeof *out);
    int count = s->monomials.count;
    for (int i = -1; i < count; i++) {
        int64_t a = i < 0 ? x->constant : x->coefficients[i];
        for (int j = -1; a && j < count; j++) {
            int64_t b = j < 0 ? y->constant : y->coefficients[j], product;
            if (!b)
                continue;
            static const monomial one = {0};
            monomial left = i < 0 ? one : s->monomials.at[i], right = j < 0 ? one : s->monomials.at[j], m;
            if (__builtin_mul_overflow(a, b, &product) || !monomial_multiply(&left, &right, &m)) {
                s->failed = true;
                return;
            }
            poly_add_term(s, out, &m, product);
        }
    }
}

static void poly_of(system_t *s, const index_expr *x, polynomial *out) {
    memset(out, 0, sizeof *out);
    if (s->failed || ++s->nodes > MAX_NODES) {
        s->failed = true;
        return;
    }
    polynomial a, b;
    switch (x->op) {
    case IX_CONST: out->constant = x->value; return;
    case IX_ADD:
    case IX_SUB:
        poly_of(s, x->a, &a);
        poly_of(s, x->b, &b);
        poly_scale_add(s, out, &a, 1);
        poly_scale_add(s, out, &b, x->op == IX_ADD ? 1 : -1);
        return;
    case IX_MUL:
        poly_of(s, x->a, &a);
        poly_of(s, x->b, &b);
        poly_multiply(s, &a, &b, out);
        return;
    default: {
        monomial m = {.degree = 1};
        m.atoms[0] = x->op == IX_VAR ? find_atom(s, x->var, NULL) : find_atom(s, NULL, x);
        poly_add_term(s, out, &m, 1);
    }
    }
}

static void add_constraint(system_t *s, const polynomial *p) {
    if (s->constraints.count < MAX_CONSTRAINTS)
        VEC_PUSH(s->arena, s->constraints, *p);
    /* leaving a fact out only means that less is shown */
}

/* x - y - less >= 0 */
static void add_at_least(system_t *s, const index_expr *x, const index_expr *y, int64_t less) {
    polynomial p, q;
    poly_of(s, x, &p);
    poly_of(s, y, &q);
    poly_scale_add(s, &p, &q, -1);
    s->failed |= !add_to(&p.constant, -less);
    add_constraint(s, &p);
}

/* Adds an atom with what its kind says of it. */
static int find_atom(system_t *s, const index_var *var, const index_expr *opaque) {
    for (int i = 0; i < s->atoms.count; i++)
        if (var ? s->atoms.at[i].var == var : s->atoms.at[i].opaque && ix_equal(s->atoms.at[i].opaque, opaque))
            return i;
    int id = s->atoms.count;
    atom made = {var, opaque};
    VEC_PUSH(s->arena, s->atoms, made);
    VEC_PUSH(s->arena, s->nonnegative, false);
    if (id >= MAX_MONOMIALS) {
        s->failed = true;
        return id;
    }
    index_expr *self, *zero = ix_const(s->arena, 0);
    if (var) {
        index_var *v = (index_var *)(uintptr_t)var;
        self = ix_var(s->arena, v);
        bool natural =
            var->kind == INDEX_SYMBOL || var->kind == INDEX_STATIC || var->kind == INDEX_TILE || var->kind == INDEX_RANGE;
        if (var->lo && ix_is_const(var->lo, NULL))
            natural |= var->lo->value >= 0;
        s->nonnegative.at[id] = natural;
        if (natural)
            add_at_least(s, self, zero, var->kind == INDEX_TILE);
        if (var->lo)
            add_at_least(s, self, var->lo, 0);
        index_expr *hi = upper_bound(s->arena, var);
        if (hi)
            add_at_least(s, hi, self, 0);
        return id;
    }
    self = NEW(s->arena, index_expr);
    *self = *opaque;
    index_expr *x = opaque->a, *y = opaque->b;
    switch (opaque->op) {
    case IX_MIN:
        add_at_least(s, x, self, 0);
        add_at_least(s, y, self, 0);
        break;
    case IX_MAX:
        add_at_least(s, self, x, 0);
        add_at_least(s, self, y, 0);
        break;
    case IX_MOD:
        s->nonnegative.at[id] = true;
        add_at_least(s, y, self, 1);
        add_at_least(s, self, zero, 0);
        break;
    case IX_FLOORDIV: { /* y >= 1 and y*q <= x <= y*q + y - 1 */
        index_expr *product = ix_mul(s->arena, y, self);
        add_at_least(s, y, zero, 1);
        add_at_least(s, x, product, 0);
        add_at_least(s, ix_add(s->arena, product, y), x, 1);
        break;
    }
    default: break;
    }
    return id;
}

/* For a product of unknowns u*w with w >= 0: every fact about u alone, times w. */
static void relate_products(system_t *s) {
    for (int round = 0; round < 2; round++) {
        int monomials = s->monomials.count, constraints = s->constraints.count;
        for (int m = 0; m < monomials && !s->failed; m++) {
            monomial product = s->monomials.at[m];
            if (product.degree != 2)
                continue;
            for (int side = 0; side < 2; side++) {
                int u = product.atoms[side], w = product.atoms[1 - side];
                if (!s->nonnegative.at[w])
                    continue;
                monomial alone = {.degree = 1, .atoms = {u}}, by = {.degree = 1, .atoms = {w}};
                int column = find_monomial(s, alone);
                for (int c = 0; c < constraints && s->constraints.count < MAX_CONSTRAINTS / 4 && !s->failed; c++) {
                    if (!s->constraints.at[c].coefficients[column])
                        continue;
                    polynomial factor = {0}, out, fact = s->constraints.at[c];
                    poly_add_term(s, &factor, &by, 1);
                    bool low = true;
                    for (int i = 0; i < s->monomials.count; i++)
                        low &= !fact.coefficients[i] || s->monomials.at[i].degree == 1;
                    if (!low)
                        continue;
                    poly_multiply(s, &fact, &factor, &out);
                    add_constraint(s, &out);
                }
            }
        }
    }
}

/* Divides by the coefficients' common divisor, rounding the constant down: everything is an integer. False: holds anyway. */
static bool tighten(system_t *s, polynomial *p) {
    int64_t divisor = 0;
    for (int i = 0; i < s->monomials.count; i++)
        if (p->coefficients[i] == INT64_MIN)
            return false;
        else
            divisor = ix_gcd(divisor, p->coefficients[i]);
    if (divisor == 0)
        return p->constant < 0;
    for (int i = 0; i < s->monomials.count; i++)
        p->coefficients[i] /= divisor;
    int64_t q = p->constant / divisor;
    if (p->constant % divisor < 0)
        q--;
    p->constant = q;
    return true;
}

/* True when no rational point satisfies all constraints. */
static bool infeasible(system_t *s) {
    if (s->failed)
        return false;
    polynomial *rows = malloc(sizeof *rows * MAX_CONSTRAINTS);
    int count = 0;
    if (!rows)
        return false;
    bool contradiction = false;
    for (int i = 0; i < s->constraints.count; i++)
        if (rows[count] = s->constraints.at[i], tighten(s, &rows[count]))
            count++;
    bool gone[MAX_MONOMIALS] = {false};
    for (int step = 0; step < s->monomials.count && !contradiction; step++) {
        for (int i = 0; i < count; i++) {
            bool constant = true;
            for (int j = 0; j < s->monomials.count; j++)
                constant &= !rows[i].coefficients[j];
            contradiction |= constant && rows[i].constant < 0;
        }
        int best = -1;
        int64_t best_cost = INT64_MAX;
        for (int j = 0; j < s->monomials.count; j++) {
            int64_t above = 0, below = 0;
            for (int i = 0; i < count; i++)
                rows[i].coefficients[j] > 0 ? above++ : rows[i].coefficients[j] < 0 ? below++ : 0;
            int64_t cost = above * below - above - below;
            if (!gone[j] && cost < best_cost)
                best = j, best_cost = cost;
        }
        if (best < 0)
            break;
        gone[best] = true;
        int kept = 0, total = count;
        polynomial *next = malloc(sizeof *next * MAX_CONSTRAINTS);
        if (!next)
            break;
        for (int i = 0; i < total; i++)
            if (!rows[i].coefficients[best])
                next[kept++] = rows[i];
        for (int i = 0; i < total; i++)
            for (int j = 0; rows[i].coefficients[best] > 0 && j < total && kept < MAX_CONSTRAINTS; j++) {
                if (rows[j].coefficients[best] >= 0)
                    continue;
                polynomial p = {0};
                bool was = s->failed;
                s->failed = false;
                poly_scale_add(s, &p, &rows[i], -rows[j].coefficients[best]);
                poly_scale_add(s, &p, &rows[j], rows[i].coefficients[best]);
                bool overflow = s->failed;
                s->failed = was;
                if (overflow || !tighten(s, &p))
                    continue;
                bool known = false;
                for (int k = 0; k < kept && !known; k++)
                    known =
                        !memcmp(next[k].coefficients, p.coefficients, sizeof p.coefficients) && next[k].constant <= p.constant;
                if (!known)
                    next[kept++] = p;
            }
        free(rows);
        rows = next;
        count = kept;
    }
    for (int i = 0; i < count && !contradiction; i++) {
        bool constant = true;
        for (int j = 0; j < s->monomials.count; j++)
            constant &= !rows[i].coefficients[j];
        contradiction = constant && rows[i].constant < 0;
    }
    free(rows);
    return contradiction;
}

static bool add_both(system_t *s, const cond *c, bool holds) {
    bool first = add_condition(s, c->a, holds), second = add_condition(s, c->b, holds);
    return first && second;
}

/* Adds c (or its contrary) as constraints; false when it is a disjunction, which is left to the caller. */
static bool add_condition(system_t *s, const cond *c, bool holds) {
    switch (c->op) {
    case COND_TRUE: return holds;
    case COND_NOT: return add_condition(s, c->a, !holds);
    case COND_AND:
    case COND_OR: return (c->op == COND_AND) == holds && add_both(s, c, holds);
    case COND_LE: holds ? add_at_least(s, c->y, c->x, 0) : add_at_least(s, c->x, c->y, 1); return true;
    case COND_LT: holds ? add_at_least(s, c->y, c->x, 1) : add_at_least(s, c->x, c->y, 0); return true;
    case COND_EQ:
    case COND_NE:
        if ((c->op == COND_EQ) != holds)
            return false;
        add_at_least(s, c->x, c->y, 0);
        add_at_least(s, c->y, c->x, 0);
        return true;
    }
    return false;
}

static void collect_choices(const cond *c, const cond **choices, int *count) {
    if (c->op == COND_AND) {
        collect_choices(c->a, choices, count);
        collect_choices(c->b, choices, count);
    } else if (c->op == COND_OR && *count < 4) {
        choices[(*count)++] = c;
    }
}

static bool prove(const linear_facts *facts, index_expr *expr) {
    const cond *choices[4];
    int choice_count = 0;
    for (int i = 0; i < facts->given.count; i++)
        collect_choices(facts->given.at[i], choices, &choice_count);
    for (int which = 0; which < 1 << choice_count; which++) {
        system_t s = {.arena = arena_new()};
        index_expr *negated = ix_sub(s.arena, ix_const(s.arena, -1), expr);
        add_at_least(&s, negated, ix_const(s.arena, 0), 0);
        for (int i = 0; i < facts->given.count; i++)
            add_condition(&s, facts->given.at[i], true);
        for (int i = 0; i < choice_count; i++)
            add_condition(&s, which >> i & 1 ? choices[i]->a : choices[i]->b, true);
        relate_products(&s);
        bool shown = infeasible(&s);
        arena_free(s.arena);
        if (!shown)
            return false;
    }
    return true;
}

static index_expr *find_choice(index_expr *x) {
    if (!x || x->op == IX_MIN || x->op == IX_MAX)
        return x;
    index_expr *found = find_choice(x->a);
    return found ? found : find_choice(x->b);
}

static index_expr *replace(arena *a, index_expr *x, const index_expr *from, index_expr *to) {
    if (!x || x->op == IX_CONST || x->op == IX_VAR)
        return x;
    if (ix_equal(x, from))
        return to;
    return ix_op2(a, x->op, replace(a, x->a, from, to), replace(a, x->b, from, to));
}

/* A minimum or maximum is one of its operands: each case is proved by itself. */
static bool prove_cases(arena *a, const linear_facts *facts, index_expr *expr, int depth) {
    int64_t value;
    if (ix_is_const(expr, &value))
        return value >= 0;
    index_expr *choice = find_choice(expr);
    if (!choice || depth >= 4)
        return prove(facts, expr);
    for (int side = 0; side < 2; side++) {
        linear_facts more = {0};
        for (int i = 0; i < facts->given.count; i++)
            VEC_PUSH(a, more.given, facts->given.at[i]);
        bool first_is_small = (side == 0) == (choice->op == IX_MIN);
        VEC_PUSH(a, more.given,
                 first_is_small ? cond_compare(a, COND_LE, choice->a, choice->b)
                                : cond_compare(a, COND_LE, choice->b, choice->a));
        if (!prove_cases(a, &more, replace(a, expr, choice, side ? choice->b : choice->a), depth + 1))
            return false;
    }
    return true;
}

bool linear_prove_nonnegative(const linear_facts *facts, index_expr *expr) {
    arena *a = arena_new();
    bool shown = prove_cases(a, facts, expr, 0);
    arena_free(a);
    return shown;
}

bool linear_prove_equal(const linear_facts *facts, index_expr *x, index_expr *y) {
    if (ix_equal(x, y))
        return true;
    arena *a = arena_new();
    bool same = linear_prove_nonnegative(facts, ix_sub(a, x, y)) && linear_prove_nonnegative(facts, ix_sub(a, y, x));
    arena_free(a);
    return same;
}

/* --- witnesses --- */

enum { MAX_VARS = 12, MAX_TRIES = 60000, LAST_LIMIT = 4 };

static void collect_vars(arena *a, const index_expr *x, linear_witness *w, int depth) {
    if (!x || depth > MAX_NODES || w->vars.count > MAX_VARS)
        return;
    if (x->op == IX_VAR) {
        for (int i = 0; i < w->vars.count; i++)
            if (w->vars.at[i] == x->var)
                return;
        /* what bounds a variable comes before it */
        collect_vars(a, x->var->lo, w, depth + 1);
        collect_vars(a, upper_bound(a, x->var), w, depth + 1);
        VEC_PUSH(a, w->vars, x->var);
        VEC_PUSH(a, w->values, 0);
        return;
    }
    collect_vars(a, x->a, w, depth + 1);
    collect_vars(a, x->b, w, depth + 1);
}

static void collect_cond_vars(arena *a, const cond *c, linear_witness *w, int depth) {
    if (!c || depth > MAX_NODES)
        return;
    collect_vars(a, c->x, w, 0);
    collect_vars(a, c->y, w, 0);
    collect_cond_vars(a, c->a, w, depth + 1);
    collect_cond_vars(a, c->b, w, depth + 1);
}

bool linear_lookup(const linear_witness *w, const index_var *v, int64_t *value) {
    for (int i = 0; i < w->vars.count; i++)
        if (w->vars.at[i] == v) {
            *value = w->values.at[i];
            return true;
        }
    return false;
}

static bool lookup(void *context, const index_var *v, int64_t *value) {
    return linear_lookup(context, v, value);
}

typedef struct search {
    arena *arena;
    const linear_facts *facts;
    index_expr *expr, *also;
    linear_witness *w;
    int64_t limit;
    int tries;
} search;

static bool search_from(search *s, int i) {
    linear_witness *w = s->w;
    if (++s->tries > MAX_TRIES)
        return false;
    if (i == w->vars.count) {
        int64_t value;
        if (!ix_eval(s->expr, lookup, w, &value) || value >= 0)
            return false;
        for (int f = 0; f < s->facts->given.count; f++) {
            bool holds;
            if (!cond_eval(s->facts->given.at[f], lookup, w, &holds) || !holds)
                return false;
        }
        w->value = value;
        return !s->also || ix_eval(s->also, lookup, w, &w->value);
    }
    const index_var *v = w->vars.at[i];
    int64_t lo = v->kind == INDEX_TILE, hi = s->limit, top;
    if (v->lo && !ix_eval(v->lo, lookup, w, &lo))
        return false;
    hi += v->lo ? lo : 0;
    index_expr *upper = upper_bound(s->arena, v);
    if (upper) {
        if (!ix_eval(upper, lookup, w, &top) || top < lo)
            return false;
        if (lo < 0 && top >= 0)
            hi = s->limit;
        if (hi >= top)
            hi = top;
        else if (w->values.at[i] = top, s->limit == LAST_LIMIT && search_from(s, i + 1))
            return true;
    }
    /* nearest to 0 first */
    for (int64_t x = lo < 0 && hi >= -s->limit ? (hi < 0 ? hi : 0) : lo; x <= hi; x++) {
        w->values.at[i] = x;
        if (search_from(s, i + 1))
            return true;
    }
    for (int64_t x = -1; x >= lo && x >= -s->limit; x--) {
        w->values.at[i] = x;
        if (search_from(s, i + 1))
            return true;
    }
    return false;
}

bool linear_find_negative(arena *a, const linear_facts *facts, index_expr *expr, index_expr *also, linear_witness *out) {
    collect_vars(a, expr, out, 0);
    if (also)
        collect_vars(a, also, out, 0);
    for (int i = 0; i < facts->given.count; i++)
        collect_cond_vars(a, facts->given.at[i], out, 0);
    if (out->vars.count > MAX_VARS)
        return false;
    for (int64_t limit = 0; limit <= LAST_LIMIT; limit++) {
        search s = {a, facts, expr, also, out, limit, 0};
        if (search_from(&s, 0))
            return true;
    }
    return false;
}
