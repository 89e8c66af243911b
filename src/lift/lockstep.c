/* Threads of a subgroup that go in lockstep: each access is made by all that make it before any of them goes on. The kernel says so itself afterwards, by a
 * barrier of the subgroup between one access and the next, of the lanes that come by there; so what is proved, and printed for devices whose lanes do not go in
 * lockstep, needs no such promise. Where which lanes come by cannot be said by their ids alone (data decides, or ids of blocks), nothing is ordered. */
#include "lift/lifter.h"

typedef struct pass {
    kernel_ir *k;
    const kernel_level *lanes;
} pass;

typedef enum dependence { SAME_IN_SUBGROUP, BY_LANE, BY_MORE } dependence;

/* a sum of ids times numbers, and a number */
enum { MOST_TERMS = 8 };
typedef struct linear_sum {
    const index_var *of[MOST_TERMS];
    int64_t by[MOST_TERMS], number;
    int count;
} linear_sum;

static bool add_to(linear_sum *s, const index_expr *x, int64_t by) {
    int64_t n;
    int at = 0;
    switch (x->op) {
    case IX_CONST: s->number += by * x->value; return true;
    case IX_ADD: return add_to(s, x->a, by) && add_to(s, x->b, by);
    case IX_SUB: return add_to(s, x->a, by) && add_to(s, x->b, -by);
    case IX_MUL: return ix_is_const(x->b, &n) ? add_to(s, x->a, by * n) : ix_is_const(x->a, &n) && add_to(s, x->b, by * n);
    case IX_VAR:
        while (at < s->count && s->of[at] != x->var)
            at++;
        if (at == MOST_TERMS)
            return false;
        if (at == s->count) {
            s->of[s->count] = x->var;
            s->by[s->count++] = 0;
        }
        s->by[at] += by;
        return true;
    default: return false;
    }
}

/* The number of values of an id below the task, from 0 on; 0: not known. */
static int64_t extent_of(const pass *p, const index_var *v) {
    int64_t n;
    for (int i = 1; i < p->k->levels.count; i++)
        for (int j = 0; j < p->k->levels.at[i].rank; j++)
            if (p->k->levels.at[i].ids[j] == v && ix_is_const(p->k->levels.at[i].extents[j], &n))
                return n;
    return 0;
}

/* x divided by m, or what is left then, where the parts that m divides leave something in 0 .. m - 1: without dividing. NULL: it is not so. */
static index_expr *divided(pass *p, const index_expr *x, int64_t m, bool rest) {
    arena *a = p->k->arena;
    linear_sum s = {0};
    if (m < 1 || m > INT32_MAX || !add_to(&s, x, 1) || s.number < 0)
        return NULL;
    int64_t most = s.number % m;
    index_expr *whole = ix_const(a, s.number / m), *left = ix_const(a, s.number % m);
    for (int i = 0; i < s.count; i++) {
        index_expr *v = ix_var(a, (index_var *)s.of[i]);
        int64_t extent = extent_of(p, s.of[i]);
        if (s.by[i] % m == 0) {
            whole = ix_add(a, whole, ix_mul(a, v, ix_const(a, s.by[i] / m)));
            continue;
        }
        if (!extent || s.by[i] < 0 || s.by[i] > m)
            return NULL;
        most += s.by[i] * (extent - 1);
        left = ix_add(a, left, ix_mul(a, v, ix_const(a, s.by[i])));
    }
    return most < m ? (rest ? left : whole) : NULL;
}

/* Named integers by what they stand for; false: data. */
static bool expanded(pass *p, index_expr **x) {
    index_expr *e = *x;
    if (e->op == IX_CONST)
        return true;
    if (e->op != IX_VAR) {
        index_expr *a = e->a, *b = e->b;
        if (!expanded(p, &a) || !expanded(p, &b))
            return false;
        int64_t m;
        index_expr *plain = NULL;
        if ((e->op == IX_MOD || e->op == IX_FLOORDIV) && ix_is_const(b, &m))
            plain = divided(p, a, m, e->op == IX_MOD);
        if (plain)
            *x = plain;
        if (plain || (a == e->a && b == e->b))
            return true;
        index_expr *copy = NEW(p->k->arena, index_expr);
        *copy = *e;
        copy->a = a;
        copy->b = b;
        *x = copy;
        return true;
    }
    const kernel_stmt *let = e->var->kind == INDEX_VALUE ? e->var->owner : NULL;
    if (e->var->kind != INDEX_VALUE)
        return true;
    if (!let || let->kind != KSTMT_LET || let->value->op != KERNEL_INDEX)
        return false;
    *x = let->value->index;
    return expanded(p, x);
}

static bool is_lane(const pass *p, const index_var *v) {
    for (int i = 0; i < p->lanes->rank; i++)
        if (p->lanes->ids[i] == v)
            return true;
    return false;
}

static void seen_in(const pass *p, const index_expr *x, bool *lanes, bool *others) {
    if (x->op == IX_VAR) {
        *lanes = *lanes || is_lane(p, x->var);
        *others = *others || !is_lane(p, x->var);
    } else if (x->op != IX_CONST) {
        seen_in(p, x->a, lanes, others);
        seen_in(p, x->b, lanes, others);
    }
}

static dependence of_index(pass *p, index_expr *x) {
    bool lanes = false, others = false;
    if (!x)
        return SAME_IN_SUBGROUP;
    if (!expanded(p, &x))
        return BY_MORE;
    seen_in(p, x, &lanes, &others);
    return !lanes ? SAME_IN_SUBGROUP : others ? BY_MORE : BY_LANE;
}

/* *c becomes one over ids where it depends on lanes alone. */
static dependence of_condition(pass *p, cond **c) {
    cond *copy = NEW(p->k->arena, cond);
    *copy = **c;
    *c = copy;
    if (copy->op == COND_TRUE)
        return SAME_IN_SUBGROUP;
    dependence x, y = SAME_IN_SUBGROUP;
    if (copy->op == COND_NOT || copy->op == COND_AND || copy->op == COND_OR) {
        x = of_condition(p, &copy->a);
        if (copy->op != COND_NOT)
            y = of_condition(p, &copy->b);
        bool mixed = copy->op != COND_NOT && x != y; /* a part that blocks decide is none that lanes do */
        return mixed || x == BY_MORE ? BY_MORE : x;
    }
    index_expr *difference = ix_sub(p->k->arena, copy->x, copy->y);
    dependence d = of_index(p, difference);
    if (d == BY_LANE && (!expanded(p, &copy->x) || !expanded(p, &copy->y)))
        return BY_MORE;
    return d;
}

static void note_access(void *context, kernel_access *a, bool is_write) {
    bool *found = context;
    (void)is_write;
    *found = *found || a->array->space == SPACE_GLOBAL || a->array->space == SPACE_SHARED;
}

static bool accesses(kernel_stmt *s) {
    bool found = false;
    kernel_visitor v = {.context = &found, .access = note_access};
    kernel_visit_stmt(s, &v);
    for (int side = 0; side < 2; side++) {
        kernel_block *b = side ? &s->otherwise : &s->body;
        for (int i = 0; i < b->items.count && !found; i++)
            found = accesses(b->items.at[i]);
    }
    return found;
}

/* Whether a loop may be left early. */
static bool breaks(const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        if (s->kind == KSTMT_BREAK ||
            (s->kind != KSTMT_FOR && s->kind != KSTMT_LOOP && (breaks(&s->body) || breaks(&s->otherwise))))
            return true;
    }
    return false;
}

static void meet(pass *p, kernel_block *out, source_span span, cond *who) {
    kernel_stmt *s = kernel_append(p->k, out, KSTMT_BARRIER, span);
    s->scope = lift_subgroup_scope(p->k);
    s->spaces = 1u << SPACE_GLOBAL | 1u << SPACE_SHARED;
    s->participants = who;
}

static void order_block(pass *p, kernel_block *b, cond *who, bool repeats);

static void order_inside(pass *p, kernel_stmt *s, cond *who) {
    arena *a = p->k->arena;
    if (s->kind == KSTMT_IF) {
        cond *c = s->condition;
        dependence d = of_condition(p, &c);
        if (d == BY_MORE)
            return;
        order_block(p, &s->body, d == BY_LANE ? cond_and(a, who, c) : who, false);
        order_block(p, &s->otherwise, d == BY_LANE ? cond_and(a, who, cond_not(a, c)) : who, false);
    } else if (s->kind == KSTMT_FOR && !breaks(&s->body) && of_index(p, s->lo) == SAME_IN_SUBGROUP &&
               of_index(p, s->hi) == SAME_IN_SUBGROUP && of_index(p, s->step) == SAME_IN_SUBGROUP) {
        order_block(p, &s->body, who, true);
    }
}

/* `who`: the lanes that come by; NULL: all. `repeats`: what comes first follows what comes last, too. */
static void order_block(pass *p, kernel_block *b, cond *who, bool repeats) {
    kernel_block out = {0};
    bool pending = false;
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        bool any = accesses(s);
        if (any && pending)
            meet(p, &out, s->span, who);
        pending = pending || any;
        order_inside(p, s, who);
        VEC_PUSH(p->k->arena, out.items, s);
    }
    if (pending && repeats)
        meet(p, &out, b->items.at[b->items.count - 1]->span, who);
    *b = out;
}

void lift_lockstep(kernel_ir *k) {
    pass p = {.k = k};
    for (int i = 0; i < k->levels.count; i++)
        if (k->levels.at[i].kind == LEVEL_LANE)
            p.lanes = &k->levels.at[i];
    if (p.lanes)
        order_block(&p, &k->body, NULL, false);
}
