/* What a launch would have to guarantee: the most that each index can be, over launch values, against its array's extent. */
#include "lift/delinearise.h"
#include "lift/lift.h"
#include <string.h>

enum { MOST_STEPS = 24, MOST_NESTING = 60, MOST_CONDITIONS = 24 };

typedef struct place {
    const cond *guard; /* a conjunct x < y or x <= y that holds here; NULL: a loop or nothing */
    const kernel_stmt *loop;
    const struct place *outer;
} place;

typedef struct finder {
    kernel_ir *k;
    arena *arena;
    const place *here;
    lift_conditions_list *out;
} finder;

static void add(finder *f, cond *c) {
    text_buffer text = {0}, other = {0};
    cond_print(&text, c);
    bool known = f->out->count >= MOST_CONDITIONS;
    for (int i = 0; i < f->out->count && !known; i++) {
        cond_print(&other, f->out->at[i]);
        known = !strcmp(text_get(&text), text_get(&other));
        text_free(&other);
        other = (text_buffer){0};
    }
    text_free(&text);
    if (!known)
        VEC_PUSH(f->arena, *f->out, c);
}

static bool is_launch(const index_var *v) {
    return v->kind == INDEX_SYMBOL || v->kind == INDEX_SCALAR;
}

/* A variable that is no launch value; NULL: there is none. */
static const index_var *inner_variable(const index_expr *x, int nesting) {
    if (x->op == IX_CONST || nesting > MOST_NESTING)
        return NULL;
    if (x->op == IX_VAR)
        return is_launch(x->var) ? NULL : x->var;
    const index_var *a = inner_variable(x->a, nesting + 1), *b = inner_variable(x->b, nesting + 1);
    return !a ? b : !b ? a : a->id > b->id ? a : b; /* the innermost has the highest number */
}

static bool not_negative(void *context, const index_expr *x) {
    int64_t n;
    (void)context;
    if (x->op == IX_CONST)
        return x->value >= 0;
    if (x->op == IX_VAR) {
        const index_var *v = x->var;
        return v->kind == INDEX_SYMBOL || v->kind == INDEX_ID || (v->lo && ix_is_const(v->lo, &n) && n >= 0);
    }
    if (x->op == IX_FLOORDIV)
        return not_negative(context, x->a);
    if (x->op == IX_MOD)
        return true;
    if (x->op == IX_ADD || x->op == IX_MUL || x->op == IX_MIN)
        return not_negative(context, x->a) && not_negative(context, x->b);
    return x->op == IX_MAX && (not_negative(context, x->a) || not_negative(context, x->b));
}

static void take_for_granted(void *context, index_expr *x) {
    finder *f = context;
    if (!inner_variable(x, 0))
        add(f, cond_compare(f->arena, COND_LE, ix_const(f->arena, 0), x));
}

/* Some expression over launch values that x never exceeds here; NULL: none was found. */
static index_expr *most(finder *f, index_expr *x) {
    arena *a = f->arena;
    lift_signs signs = {f, not_negative, take_for_granted};
    for (int step = 0; step < MOST_STEPS; step++) {
        x = lift_expanded(a, x);
        const index_var *v = inner_variable(x, 0);
        if (!v)
            return x;
        index_expr *next = NULL;
        for (const place *p = f->here; p && !next; p = p->outer) {
            if (!p->guard)
                continue;
            index_expr *scale = lift_factor(a, x, v), *own = lift_factor(a, p->guard->x, v);
            int64_t one;
            if (!scale || !own || !ix_is_const(own, &one) || one != 1 || inner_variable(scale, 0) || lift_terms_sign(scale) < 1)
                continue;
            index_expr *rest = lift_expanded(a, ix_sub(a, x, ix_mul(a, scale, p->guard->x)));
            if (ix_mentions(rest, v) || ix_mentions(p->guard->y, v))
                continue;
            if (!not_negative(f, scale))
                take_for_granted(f, scale);
            index_expr *limit = p->guard->op == COND_LT ? ix_sub(a, p->guard->y, ix_const(a, 1)) : p->guard->y;
            next = ix_add(a, rest, ix_mul(a, scale, limit));
        }
        if (!next) {
            int way = lift_direction(x, v, &signs);
            index_expr *limit = way > 0 ? v->hi : way < 0 ? v->lo : NULL;
            if (!limit)
                return NULL;
            next = ix_substitute(a, x, v, limit);
        }
        x = next;
    }
    return NULL;
}

static void judge(finder *f, index_expr *x, index_expr *lo, index_expr *end) {
    arena *a = f->arena;
    index_expr *high = most(f, x), *low = most(f, ix_sub(a, ix_const(a, 0), x));
    if (high && !(ix_is_const(high, NULL) && ix_is_const(end, NULL)))
        add(f, cond_compare(a, COND_LE, lift_expanded(a, ix_add(a, high, ix_const(a, 1))), end));
    if (low && !ix_is_const(low, NULL))
        add(f, cond_compare(a, COND_LE, lo, lift_expanded(a, ix_sub(a, ix_const(a, 0), low))));
}

static void judge_access(void *context, kernel_access *access, bool is_write) {
    finder *f = context;
    (void)is_write;
    for (int d = 0; access->array && access->array->space == SPACE_GLOBAL && d < access->array->rank; d++)
        judge(f, access->indices[d], ix_const(f->arena, 0), access->array->dims[d]);
}

static void walk(finder *f, kernel_block *b, int nesting);

/* Conjuncts of a condition, or of its opposite, as guards. */
static const place *guarded(finder *f, const cond *c, bool negated, const place *outer, int nesting) {
    if (nesting > MOST_NESTING)
        return outer;
    if (c->op == COND_NOT)
        return guarded(f, c->a, !negated, outer, nesting + 1);
    if (c->op == (negated ? COND_OR : COND_AND))
        return guarded(f, c->b, negated, guarded(f, c->a, negated, outer, nesting + 1), nesting + 1);
    if (c->op != COND_LT && c->op != COND_LE)
        return outer;
    place *p = NEW(f->arena, place);
    p->outer = outer;
    p->guard = negated ? cond_compare(f->arena, c->op == COND_LT ? COND_LE : COND_LT, c->y, c->x) : c;
    return p;
}

static void inside(finder *f, kernel_block *b, const place *here, int nesting) {
    const place *before = f->here;
    f->here = here;
    walk(f, b, nesting + 1);
    f->here = before;
}

static void walk(finder *f, kernel_block *b, int nesting) {
    kernel_visitor visitor = {.context = f, .access = judge_access};
    const place *before = f->here;
    for (int i = 0; i < b->items.count && nesting < MOST_NESTING; i++) {
        kernel_stmt *s = b->items.at[i];
        kernel_visit_stmt(s, &visitor);
        if (s->kind == KSTMT_LET && s->var && s->value->op == KERNEL_INDEX && s->var->lo && s->var->hi)
            judge(f, s->value->index, s->var->lo, ix_add(f->arena, s->var->hi, ix_const(f->arena, 1)));
        if (s->kind == KSTMT_IF) {
            inside(f, &s->body, guarded(f, s->condition, false, f->here, 0), nesting);
            inside(f, &s->otherwise, guarded(f, s->condition, true, f->here, 0), nesting);
        } else {
            inside(f, &s->body, f->here, nesting);
            inside(f, &s->otherwise, f->here, nesting);
        }
        if (s->kind == KSTMT_BREAK && s->condition) /* what follows is reached where it does not hold */
            f->here = guarded(f, s->condition, true, f->here, 0);
    }
    f->here = before;
}

void lift_suggest(kernel_ir *k, lift_conditions_list *out) {
    finder f = {.k = k, .arena = k->arena, .out = out};
    walk(&f, &k->body, 0);
}
