/* A flat index as one per dimension: sums of products, divided by the extents as they are written. */
#include "lift/delinearise.h"
#include "kernel/kernel.h"

enum { MOST_FACTORS = 8, MOST_TERMS = 64, MOST_NESTING = 60 };

typedef struct monomial {
    int64_t coefficient;
    index_expr *factors[MOST_FACTORS];
    int count;
} monomial;
/* On the stack, where only the terms that there are get touched: several KiB each, and one for each access and product. */
typedef struct polynomial {
    int count;
    bool failed;
    monomial terms[MOST_TERMS];
} polynomial;

static void clear(polynomial *p) {
    p->count = 0;
    p->failed = false;
}

static void add_term(polynomial *p, const monomial *m) {
    if (!m->coefficient)
        return;
    if (p->count == MOST_TERMS)
        p->failed = true;
    else
        p->terms[p->count++] = *m;
}

static void expand(polynomial *p, const index_expr *x, int64_t sign, int nesting);

static void scale(monomial *m, int64_t by, polynomial *p) {
    p->failed = __builtin_mul_overflow(m->coefficient, by, &m->coefficient) || p->failed;
}

static void expand_product(polynomial *p, const index_expr *x, int64_t sign, int nesting) {
    polynomial left, right;
    clear(&left);
    clear(&right);
    expand(&left, x->a, sign, nesting);
    expand(&right, x->b, 1, nesting);
    p->failed = p->failed || left.failed || right.failed;
    for (int i = 0; i < left.count && !p->failed; i++)
        for (int j = 0; j < right.count && !p->failed; j++) {
            monomial m = left.terms[i];
            scale(&m, right.terms[j].coefficient, p);
            if (m.count + right.terms[j].count > MOST_FACTORS) {
                p->failed = true;
                return;
            }
            for (int n = 0; n < right.terms[j].count; n++)
                m.factors[m.count++] = right.terms[j].factors[n];
            add_term(p, &m);
        }
}

static void expand(polynomial *p, const index_expr *x, int64_t sign, int nesting) {
    if (nesting > MOST_NESTING || p->failed) {
        p->failed = true;
        return;
    }
    monomial m;
    m.coefficient = sign;
    m.count = 0;
    int64_t by;
    const kernel_stmt *let;
    switch (x->op) {
    case IX_CONST:
        scale(&m, x->value, p);
        add_term(p, &m);
        return;
    case IX_ADD:
    case IX_SUB:
        expand(p, x->a, sign, nesting + 1);
        expand(p, x->b, x->op == IX_SUB ? -sign : sign, nesting + 1);
        return;
    case IX_MUL:
        if ((ix_is_const(x->a, &by) || ix_is_const(x->b, &by)) && !__builtin_mul_overflow(by, sign, &by))
            expand(p, ix_is_const(x->a, NULL) ? x->b : x->a, by, nesting + 1);
        else
            expand_product(p, x, sign, nesting + 1);
        return;
    case IX_VAR:
        let = x->var->kind == INDEX_VALUE ? x->var->owner : NULL;
        if (let && let->kind == KSTMT_LET && let->value->op == KERNEL_INDEX) {
            expand(p, let->value->index, sign, nesting + 1);
            return;
        }
        break;
    default: break;
    }
    m.factors[m.count++] = (index_expr *)x;
    add_term(p, &m);
}

/* m / by; false where `by` does not divide it. */
static bool divided(const monomial *m, const monomial *by, monomial *out) {
    if (m->coefficient % by->coefficient)
        return false;
    *out = *m;
    out->coefficient /= by->coefficient;
    for (int i = 0; i < by->count; i++) {
        int at = 0;
        while (at < out->count && !ix_equal(out->factors[at], by->factors[i]))
            at++;
        if (at == out->count)
            return false;
        out->factors[at] = out->factors[--out->count];
    }
    return true;
}

static index_expr *sum_of(arena *a, const polynomial *p) {
    index_expr *sum = ix_const(a, 0);
    for (int i = 0; i < p->count; i++) {
        index_expr *term = ix_const(a, p->terms[i].coefficient);
        for (int n = 0; n < p->terms[i].count; n++)
            term = ix_mul(a, term, p->terms[i].factors[n]);
        sum = ix_add(a, sum, term);
    }
    return sum;
}

void lift_delinearise(arena *a, index_expr *x, index_expr *const *dims, int rank, index_expr **out) {
    for (int d = 0; d < rank; d++)
        out[d] = ix_const(a, 0);
    out[rank - 1] = x;
    if (rank == 1)
        return;
    polynomial parts[2], *rest = &parts[0], *outer = &parts[1], extent, inner;
    clear(rest);
    expand(rest, x, 1, 0);
    for (int d = rank - 1; d > 0 && !rest->failed; d--) {
        clear(&extent);
        clear(&inner);
        clear(outer);
        expand(&extent, dims[d], 1, 0);
        if (extent.failed || extent.count != 1 || extent.terms[0].coefficient < 1)
            return; /* what is left stays in this dimension */
        for (int i = 0; i < rest->count; i++) {
            monomial m;
            bool divides = divided(&rest->terms[i], &extent.terms[0], &m);
            add_term(divides ? outer : &inner, divides ? &m : &rest->terms[i]);
        }
        out[d] = sum_of(a, &inner);
        out[d - 1] = sum_of(a, outer);
        polynomial *spare = rest;
        rest = outer;
        outer = spare;
    }
}

static bool same_factors(const monomial *x, const monomial *y) {
    bool used[MOST_FACTORS] = {false};
    if (x->count != y->count)
        return false;
    for (int i = 0; i < x->count; i++) {
        int at = 0;
        while (at < y->count && (used[at] || !ix_equal(x->factors[i], y->factors[at])))
            at++;
        if (at == y->count)
            return false;
        used[at] = true;
    }
    return true;
}

/* Like terms together, in `p`. */
static void collect(polynomial *p, const index_expr *x) {
    polynomial all;
    clear(&all);
    clear(p);
    expand(&all, x, 1, 0);
    p->failed = all.failed;
    for (int i = 0; i < all.count; i++) {
        int at = 0;
        while (at < p->count && !same_factors(&p->terms[at], &all.terms[i]))
            at++;
        if (at == p->count)
            add_term(p, &all.terms[i]);
        else if (__builtin_add_overflow(p->terms[at].coefficient, all.terms[i].coefficient, &p->terms[at].coefficient))
            p->failed = true;
    }
}

index_expr *lift_expanded(arena *a, index_expr *x) {
    polynomial p;
    collect(&p, x);
    return p.failed ? x : sum_of(a, &p);
}

index_expr *lift_divided(arena *a, index_expr *x, int64_t stride, int64_t size, void *context,
                         void (*multiple)(void *context, index_var *v, int64_t of)) {
    polynomial p;
    collect(&p, x);
    if (p.failed)
        return NULL;
    for (int i = 0; i < p.count; i++) {
        monomial *m = &p.terms[i];
        m->coefficient *= stride;
        if (m->coefficient % size == 0) {
            m->coefficient /= size;
            continue;
        }
        int64_t unit = ix_gcd(m->coefficient, size), rest = size / unit; /* the launch value must bring what is missing */
        int at = 0;
        while (at < m->count && !(m->factors[at]->op == IX_VAR &&
                                  (m->factors[at]->var->kind == INDEX_SCALAR || m->factors[at]->var->kind == INDEX_SYMBOL)))
            at++;
        if (at == m->count || !multiple)
            return NULL;
        multiple(context, m->factors[at]->var, rest);
        m->factors[at] = ix_floordiv(a, m->factors[at], ix_const(a, rest));
        m->coefficient /= unit;
    }
    return sum_of(a, &p);
}

int64_t lift_common_unit(index_expr *x, int64_t stride, int64_t wanted) {
    polynomial p;
    collect(&p, x);
    int64_t unit = 0;
    if (p.failed)
        return ix_gcd(stride, wanted);
    for (int i = 0; i < p.count; i++) {
        const monomial *m = &p.terms[i];
        int64_t own = m->coefficient < 0 ? -m->coefficient : m->coefficient;
        bool launch = false;
        for (int n = 0; n < m->count; n++)
            launch = launch || (m->factors[n]->op == IX_VAR &&
                                (m->factors[n]->var->kind == INDEX_SCALAR || m->factors[n]->var->kind == INDEX_SYMBOL));
        if (__builtin_mul_overflow(own, stride, &own))
            return 1;
        if (own && launch && own % wanted)
            own = own / ix_gcd(own, wanted) * wanted;
        unit = unit ? (own ? ix_gcd(unit, own) : unit) : own;
    }
    return unit;
}

index_expr *lift_factor(arena *a, index_expr *x, const index_var *v) {
    polynomial p, factor;
    collect(&p, x);
    clear(&factor);
    for (int i = 0; i < p.count && !p.failed; i++) {
        monomial m = p.terms[i];
        int times = 0;
        for (int n = 0; n < m.count; n++) {
            bool is = m.factors[n]->op == IX_VAR && m.factors[n]->var == v;
            if (!is && ix_mentions(m.factors[n], v))
                return NULL;
            times += is;
            if (is)
                m.factors[n--] = m.factors[--m.count];
        }
        if (times > 1)
            return NULL;
        if (times)
            add_term(&factor, &m);
    }
    return p.failed || factor.failed ? NULL : sum_of(a, &factor);
}

int lift_terms_sign(index_expr *x) {
    polynomial p;
    collect(&p, x);
    int added = 0, subtracted = 0;
    for (int i = 0; i < p.count; i++) {
        added += p.terms[i].coefficient > 0;
        subtracted += p.terms[i].coefficient < 0;
    }
    return p.failed || (added && subtracted) ? 0 : subtracted ? -1 : 1;
}

int lift_direction(index_expr *x, const index_var *v, const lift_signs *signs) {
    polynomial p;
    collect(&p, x);
    int direction = 0;
    if (p.failed)
        return 2;
    for (int i = 0; i < p.count; i++) {
        const monomial *m = &p.terms[i];
        int times = 0;
        if (!m->coefficient)
            continue;
        for (int n = 0; n < m->count; n++) {
            bool is = m->factors[n]->op == IX_VAR && m->factors[n]->var == v;
            if (!is && ix_mentions(m->factors[n], v))
                return 2;
            times += is;
        }
        if (!times)
            continue;
        for (int n = 0; n < m->count; n++)
            if (!(m->factors[n]->op == IX_VAR && m->factors[n]->var == v) && !signs->not_negative(signs->context, m->factors[n]))
                signs->assume(signs->context, m->factors[n]);
        int way = m->coefficient > 0 ? 1 : -1;
        if (direction && direction != way)
            return 2;
        direction = way;
    }
    return direction;
}
