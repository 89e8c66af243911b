/* Ids of threads as digits. Where the program uses floor(id / 4) and (id mod 4), an id of 8 values is two ids, of 2 and of 4, and these are the one and
 * the other: the same threads under other names, in the same order, and expressions without floors, which are what makes sets slow and keeps digits.c
 * and together.c from seeing through an index. */
#include "prove/split.h"
#include <stdint.h>

enum { MOST_DIVISORS = 6, MOST_TERMS = 16, MOST_NESTING = 100, MOST_IDS = 64 };

/* An id below the task; a digit of one. */
typedef struct own_id {
    index_var *var;
    int64_t extent, divisors[MOST_DIVISORS]; /* ascending, each a multiple of the one before */
    int count;
    index_expr *digits; /* what stands for it; NULL: it stays */
} own_id;
typedef struct splitter {
    arena *a;
    own_id ids[MOST_IDS];
    int count;
    bool rewriting;
    bool undecided; /* some quotient or remainder of what was split is still there: nothing is gained */
} splitter;

/* constant + the sum of factors times parts, each a variable or no sum */
typedef struct term {
    index_expr *of;
    int64_t factor;
} term;
typedef struct sum {
    term terms[MOST_TERMS];
    int count;
    int64_t constant;
} sum;

static bool add(sum *s, index_expr *x, int64_t factor, int nesting) {
    int64_t by, product;
    if (nesting > MOST_NESTING)
        return false;
    if (x->op == IX_CONST)
        return !__builtin_mul_overflow(x->value, factor, &product) && !__builtin_add_overflow(s->constant, product, &s->constant);
    if (x->op == IX_ADD || x->op == IX_SUB)
        return factor != INT64_MIN && add(s, x->a, factor, nesting + 1) &&
               add(s, x->b, x->op == IX_ADD ? factor : -factor, nesting + 1);
    if (x->op == IX_MUL && (ix_is_const(x->b, &by) || ix_is_const(x->a, &by)))
        return !__builtin_mul_overflow(by, factor, &product) &&
               add(s, ix_is_const(x->b, NULL) ? x->a : x->b, product, nesting + 1);
    for (int i = 0; i < s->count; i++)
        if (ix_equal(s->terms[i].of, x))
            return !__builtin_add_overflow(s->terms[i].factor, factor, &s->terms[i].factor);
    if (s->count == MOST_TERMS)
        return false;
    s->terms[s->count++] = (term){x, factor};
    return true;
}

static own_id *id_of(splitter *s, const index_expr *x) {
    for (int i = 0; x->op == IX_VAR && i < s->count; i++)
        if (s->ids[i].var == x->var)
            return &s->ids[i];
    return NULL;
}

/* ---- which ids ---- */

static void want(own_id *id, int64_t divisor) {
    int at = 0;
    while (at < id->count && id->divisors[at] < divisor)
        at++;
    if (divisor < 2 || divisor >= id->extent || id->extent % divisor || id->count == MOST_DIVISORS ||
        (at < id->count && (id->divisors[at] == divisor || id->divisors[at] % divisor)) || (at && divisor % id->divisors[at - 1]))
        return;
    for (int i = id->count++; i > at; i--)
        id->divisors[i] = id->divisors[i - 1];
    id->divisors[at] = divisor;
}

static void look(splitter *s, index_expr *x, int nesting) {
    int64_t divisor;
    sum parts = {.count = 0};
    if (!x || nesting > MOST_NESTING || x->op == IX_CONST || x->op == IX_VAR)
        return;
    if ((x->op == IX_FLOORDIV || x->op == IX_MOD) && ix_is_const(x->b, &divisor) && divisor > 0 && add(&parts, x->a, 1, 0))
        for (int i = 0; i < parts.count; i++) {
            own_id *id = id_of(s, parts.terms[i].of);
            if (id && parts.terms[i].factor > 0 && divisor % parts.terms[i].factor == 0 && divisor != parts.terms[i].factor)
                want(id, divisor / parts.terms[i].factor);
        }
    look(s, x->a, nesting + 1);
    look(s, x->b, nesting + 1);
}

/* ---- expressions ---- */

/* floor(x / divisor) or (x mod divisor), where the parts of x that are no multiples of the divisor are ids whose sum stays below it. */
static index_expr *divided(splitter *s, index_op op, index_expr *x, int64_t divisor) {
    sum all = {.count = 0};
    arena *a = s->a;
    if (divisor <= 0 || !add(&all, x, 1, 0))
        return NULL;
    int64_t low = all.constant % divisor + (all.constant % divisor < 0 ? divisor : 0), most = low, part;
    index_expr *whole = ix_const(a, (all.constant - low) / divisor), *rest = ix_const(a, low);
    for (int i = 0; i < all.count; i++) {
        const term *t = &all.terms[i];
        if (t->factor % divisor == 0) {
            whole = ix_add(a, whole, ix_mul(a, t->of, ix_const(a, t->factor / divisor)));
            continue;
        }
        const own_id *id = id_of(s, t->of);
        if (t->factor < 0 || !id || __builtin_mul_overflow(id->extent - 1, t->factor, &part) ||
            __builtin_add_overflow(most, part, &most))
            return NULL;
        rest = ix_add(a, rest, ix_mul(a, t->of, ix_const(a, t->factor)));
    }
    return most >= divisor ? NULL : op == IX_MOD ? rest : whole;
}

static index_expr *rewritten(splitter *s, index_expr *x) {
    int64_t divisor;
    if (!x || x->op == IX_CONST)
        return x;
    if (x->op == IX_VAR) {
        own_id *id = id_of(s, x);
        return id && id->digits ? id->digits : x;
    }
    index_expr *a = rewritten(s, x->a), *b = rewritten(s, x->b), *simple = NULL;
    if (a == x->a && b == x->b)
        return x;
    if (x->op == IX_FLOORDIV || x->op == IX_MOD) {
        simple = ix_is_const(b, &divisor) ? divided(s, x->op, a, divisor) : NULL;
        s->undecided = s->undecided || !simple;
    }
    return simple ? simple : ix_op2(s->a, x->op, a, b);
}

static cond *rewritten_condition(splitter *s, cond *c) {
    if (!c)
        return NULL;
    cond *to = NEW(s->a, cond);
    *to = *c;
    to->x = rewritten(s, c->x);
    to->y = rewritten(s, c->y);
    to->a = rewritten_condition(s, c->a);
    to->b = rewritten_condition(s, c->b);
    return to;
}

/* ---- the kernel ---- */

static void look_condition(splitter *s, const cond *c, int nesting) {
    if (!c || nesting > MOST_NESTING)
        return;
    look(s, c->x, 0);
    look(s, c->y, 0);
    look_condition(s, c->a, nesting + 1);
    look_condition(s, c->b, nesting + 1);
}

static void visit_index(void *context, index_expr **x) {
    splitter *s = context;
    if (s->rewriting)
        *x = rewritten(s, *x);
    else
        look(s, *x, 0);
}

static void visit_condition(void *context, cond **c) {
    splitter *s = context;
    if (s->rewriting)
        *c = rewritten_condition(s, *c);
    else
        look_condition(s, *c, 0);
}

static void visit_block(splitter *s, kernel_block *b) {
    kernel_visitor visitor = {.context = s, .index = visit_index, .condition = visit_condition};
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *t = b->items.at[i];
        kernel_visit_stmt(t, &visitor);
        if (t->var && s->rewriting) {
            t->var->lo = rewritten(s, t->var->lo);
            t->var->hi = rewritten(s, t->var->hi);
        }
        visit_block(s, &t->body);
        visit_block(s, &t->otherwise);
    }
}

static bool note_id(splitter *s, index_var *v, int64_t extent) {
    if (s->count == MOST_IDS || extent < 1)
        return false;
    s->ids[s->count++] = (own_id){.var = v, .extent = extent};
    return true;
}

static bool find_ids(splitter *s, const kernel_ir *k) {
    for (int i = 0; i < k->levels.count; i++)
        for (int j = 0; k->levels.at[i].kind != LEVEL_TASK && j < k->levels.at[i].rank; j++) {
            int64_t extent;
            if (!ix_is_const(k->levels.at[i].extents[j], &extent) || !note_id(s, k->levels.at[i].ids[j], extent))
                return false;
        }
    return s->count > 0;
}

/* The level with digits in place of ids, the highest first, so that threads keep their order. False: there are too many. */
static bool split_level(splitter *s, kernel_ir *k, const kernel_level *from, kernel_level *out) {
    kernel_level to = *from;
    to.rank = 0;
    to.ids = NEW_ARRAY(s->a, index_var *, from->rank * (MOST_DIVISORS + 1) + 1);
    to.extents = NEW_ARRAY(s->a, index_expr *, from->rank * (MOST_DIVISORS + 1) + 1);
    for (int i = 0; i < from->rank; i++) {
        own_id *id = from->kind == LEVEL_TASK ? NULL : id_of(s, ix_var(s->a, from->ids[i]));
        if (!id || !id->count) {
            to.ids[to.rank] = from->ids[i];
            to.extents[to.rank++] = from->extents[i];
            continue;
        }
        int64_t above = id->extent;
        for (int d = id->count; d >= 0; d--) {
            int64_t unit = d ? id->divisors[d - 1] : 1;
            index_var *v = kernel_new_var(k, arena_printf(s->a, "%s_digit%d", id->var->name, d), INDEX_ID);
            if (!note_id(s, v, above / unit))
                return false;
            v->lo = ix_const(s->a, 0);
            v->hi = ix_const(s->a, above / unit - 1);
            index_expr *part = ix_mul(s->a, ix_var(s->a, v), ix_const(s->a, unit));
            id->digits = id->digits ? ix_add(s->a, id->digits, part) : part;
            to.ids[to.rank] = v;
            to.extents[to.rank++] = ix_const(s->a, above / unit);
            above = unit;
        }
    }
    *out = to;
    return true;
}

kernel_ir *split_ids(arena *a, const kernel_ir *k) {
    splitter s = {.a = a};
    bool any = false;
    if (!find_ids(&s, k))
        return NULL;
    visit_block(&s, &((kernel_ir *)k)->body); /* looks, and changes nothing */
    for (int i = 0; i < s.count; i++)
        any = any || s.ids[i].count;
    if (!any)
        return NULL;
    kernel_ir *to = kernel_copy(a, k);
    kernel_level *levels = NEW_ARRAY(a, kernel_level, k->levels.count + 1);
    for (int i = 0; i < k->levels.count; i++)
        if (!split_level(&s, to, &k->levels.at[i], &levels[i]))
            return NULL;
    to->levels.at = levels;
    to->levels.capacity = k->levels.count + 1;
    s.rewriting = true;
    visit_block(&s, &to->body);
    return s.undecided ? NULL : to;
}
