/* Ids of threads, and variables of loops, as digits. Where the program uses floor(id / 4) and (id mod 4), an id of 8 values is two ids, of 2 and of 4,
 * and these are the one and the other: the same threads under other names, in the same order, and expressions without floors, which are what makes sets
 * slow and keeps digits.c and together.c from seeing through an index. A loop of 8 trips is likewise two loops, one in the other. */
#include "prove/split.h"
#include "prove/interval.h"
#include <stdint.h>

enum { MOST_DIVISORS = 6, MOST_NESTING = 100, MOST_ROUNDS = 4 };

/* An id below the task, a variable of a loop; a digit of one. It is in 0 .. extent - 1. */
typedef struct own_id {
    index_var *var;
    bool is_loop;
    int64_t extent, divisors[MOST_DIVISORS]; /* ascending, each a multiple of the one before */
    int count;
    index_expr *digits; /* what stands for it; NULL: it stays */
    bool hopeless;      /* some quotient or remainder of it would be left: nothing is gained by taking it apart */
} own_id;
typedef struct splitter {
    arena *a;
    VEC(own_id *) ids;
    own_id **of_var; /* by id of the variable; NULL: it is none */
    int vars;
    bool rewriting;
    bool undecided; /* some id is hopeless */
} splitter;

/* constant + the sum of factors times parts, as the text has them. */
static bool add(index_sum *s, const index_expr *x) {
    return index_sum_add(NULL, s, x, 1, 0) && s->constant <= INT64_MAX && s->constant >= INT64_MIN;
}

static own_id *id_of(splitter *s, const index_expr *x) {
    return x->op == IX_VAR && x->var->id >= 0 && x->var->id < s->vars ? s->of_var[x->var->id] : NULL;
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

/* x is divided by this. A quotient in x is one by more: floor(floor(id / 2) / 8) asks for id / 16. */
static void look_divided(splitter *s, const index_expr *x, int64_t divisor, int nesting) {
    int64_t by;
    index_sum parts = {.count = 0};
    if (nesting > MOST_NESTING || !add(&parts, x))
        return;
    for (int i = 0; i < parts.count; i++) {
        const index_term *t = &parts.terms[i];
        own_id *id = id_of(s, t->of);
        if (t->factor <= 0 || divisor % t->factor || divisor == t->factor)
            continue;
        if (id)
            want(id, divisor / t->factor);
        else if (t->of->op == IX_FLOORDIV && ix_is_const(t->of->b, &by) && by > 0 &&
                 !__builtin_mul_overflow(divisor / t->factor, by, &by))
            look_divided(s, t->of->a, by, nesting + 1);
    }
}

static void look(splitter *s, index_expr *x, int nesting) {
    int64_t divisor;
    if (!x || nesting > MOST_NESTING || x->op == IX_CONST || x->op == IX_VAR)
        return;
    if ((x->op == IX_FLOORDIV || x->op == IX_MOD) && ix_is_const(x->b, &divisor) && divisor > 0)
        look_divided(s, x->a, divisor, 0);
    look(s, x->a, nesting + 1);
    look(s, x->b, nesting + 1);
}

/* ---- expressions ---- */

/* floor(x / divisor) or (x mod divisor), where the parts of x that are no multiples of the divisor are ids whose sum stays below it. */
static index_expr *divided(splitter *s, index_op op, index_expr *x, int64_t divisor) {
    index_sum all = {.count = 0};
    arena *a = s->a;
    if (divisor <= 0 || !add(&all, x))
        return NULL;
    int64_t quotient = (int64_t)floor_divide(all.constant, divisor), low = (int64_t)(all.constant - (wide)quotient * divisor),
            most = low, part;
    index_expr *whole = ix_const(a, quotient), *rest = ix_const(a, low);
    for (int i = 0; i < all.count; i++) {
        const index_term *t = &all.terms[i];
        if (t->factor % divisor == 0) {
            whole = ix_add(a, whole, ix_mul(a, (index_expr *)t->of, ix_const(a, t->factor / divisor)));
            continue;
        }
        const own_id *id = id_of(s, t->of);
        if (t->factor < 0 || !id || __builtin_mul_overflow(id->extent - 1, t->factor, &part) ||
            __builtin_add_overflow(most, part, &most))
            return NULL;
        rest = ix_add(a, rest, ix_mul(a, (index_expr *)t->of, ix_const(a, t->factor)));
    }
    return most >= divisor ? NULL : op == IX_MOD ? rest : whole;
}

static void give_up(splitter *s, const index_expr *x) {
    own_id *id = id_of(s, x);
    if (id && id->digits)
        id->hopeless = s->undecided = true;
    if (x->op != IX_CONST && x->op != IX_VAR) {
        give_up(s, x->a);
        give_up(s, x->b);
    }
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
        if (!simple)
            give_up(s, x);
    }
    return simple ? simple : ix_op2(s->a, x->op, a, b);
}

static index_expr *rewritten_side(void *context, index_expr *x) {
    return rewritten(context, x);
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
        *c = cond_map(s->a, *c, rewritten_side, s);
    else
        look_condition(s, *c, 0);
}

static void look_at_block(splitter *s, kernel_block *b) {
    kernel_visitor visitor = {.context = s, .index = visit_index, .condition = visit_condition};
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *t = b->items.at[i];
        kernel_visit_stmt(t, &visitor);
        look_at_block(s, &t->body);
        look_at_block(s, &t->otherwise);
    }
}

static own_id *note_id(splitter *s, index_var *v, int64_t extent) {
    own_id *id = NEW(s->a, own_id);
    *id = (own_id){.var = v, .extent = extent};
    VEC_PUSH(s->a, s->ids, id);
    s->of_var[v->id] = id;
    return id;
}

/* False: an id of threads is not of constant extent. */
static bool find_ids(splitter *s, const kernel_ir *k) {
    for (int i = 0; i < k->levels.count; i++)
        for (int j = 0; k->levels.at[i].kind != LEVEL_TASK && j < k->levels.at[i].rank; j++) {
            int64_t extent;
            if (!ix_is_const(k->levels.at[i].extents[j], &extent) || extent < 1)
                return false;
            note_id(s, k->levels.at[i].ids[j], extent);
        }
    return true;
}

/* A loop that is left by a `break` stays one loop. */
static bool is_left(const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *t = b->items.at[i];
        bool own = t->kind == KSTMT_FOR || t->kind == KSTMT_LOOP; /* what leaves it is inside it */
        if (t->kind == KSTMT_BREAK || (!own && (is_left(&t->body) || is_left(&t->otherwise))))
            return true;
    }
    return false;
}

static void find_loops(splitter *s, const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *t = b->items.at[i];
        int64_t lo, hi, step;
        if (t->kind == KSTMT_FOR && ix_is_const(t->lo, &lo) && ix_is_const(t->hi, &hi) && ix_is_const(t->step, &step) && !lo &&
            step == 1 && hi > 0 && !is_left(&t->body))
            note_id(s, t->var, hi)->is_loop = true;
        find_loops(s, &t->body);
        find_loops(s, &t->otherwise);
    }
}

/* Digit d of the id, 0 the lowest, of `above / unit` values. */
static index_var *add_digit(splitter *s, kernel_ir *k, own_id *id, int d, int64_t above, int64_t unit) {
    index_var *v = kernel_new_var(k, arena_printf(s->a, "%s_digit%d", id->var->name, d), id->is_loop ? INDEX_LOOP : INDEX_ID);
    note_id(s, v, above / unit);
    v->lo = ix_const(s->a, 0);
    v->hi = ix_const(s->a, above / unit - 1);
    index_expr *part = ix_mul(s->a, ix_var(s->a, v), ix_const(s->a, unit));
    id->digits = id->digits ? ix_add(s->a, id->digits, part) : part;
    return v;
}

/* The level with digits in place of ids, the highest first, so that threads keep their order. */
static kernel_level split_level(splitter *s, kernel_ir *k, const kernel_level *from) {
    kernel_level to = *from;
    to.rank = 0;
    to.ids = NEW_ARRAY(s->a, index_var *, from->rank * (MOST_DIVISORS + 1) + 1);
    to.extents = NEW_ARRAY(s->a, index_expr *, from->rank * (MOST_DIVISORS + 1) + 1);
    for (int i = 0; i < from->rank; i++) {
        own_id *id = from->kind == LEVEL_TASK ? NULL : s->of_var[from->ids[i]->id];
        if (!id || !id->count) {
            to.ids[to.rank] = from->ids[i];
            to.extents[to.rank++] = from->extents[i];
            continue;
        }
        int64_t above = id->extent;
        for (int d = id->count; d >= 0; d--) {
            int64_t unit = d ? id->divisors[d - 1] : 1;
            to.ids[to.rank] = add_digit(s, k, id, d, above, unit);
            to.extents[to.rank++] = ix_const(s->a, above / unit);
            above = unit;
        }
    }
    return to;
}

/* The loop as loops over its digits, the highest outside. */
static void split_loop(splitter *s, kernel_ir *k, kernel_stmt *loop, own_id *id) {
    int64_t above = id->extent;
    kernel_block body = loop->body;
    for (int d = id->count; d >= 0; d--) {
        int64_t unit = d ? id->divisors[d - 1] : 1;
        kernel_stmt *at = loop;
        if (d < id->count) {
            at = NEW(s->a, kernel_stmt);
            *at = *loop;
            loop->body = (kernel_block){0};
            VEC_PUSH(s->a, loop->body.items, at);
            loop = at;
        }
        at->var = add_digit(s, k, id, d, above, unit);
        at->hi = ix_const(s->a, above / unit);
        above = unit;
    }
    loop->body = body;
}

static void rewrite_block(splitter *s, kernel_ir *k, kernel_block *b) {
    kernel_visitor visitor = {.context = s, .index = visit_index, .condition = visit_condition};
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *t = b->items.at[i];
        kernel_visit_stmt(t, &visitor);
        if (t->var) {
            t->var->lo = rewritten(s, t->var->lo);
            t->var->hi = rewritten(s, t->var->hi);
        }
        own_id *id = t->kind == KSTMT_FOR ? s->of_var[t->var->id] : NULL;
        kernel_block *body = &t->body;
        if (id && id->count) {
            split_loop(s, k, t, id);
            for (int d = 0; d <= id->count; d++)
                body = d ? &body->items.at[0]->body : &t->body;
        }
        rewrite_block(s, k, body);
        rewrite_block(s, k, &t->otherwise);
    }
}

/* Those of loops that are hopeless are left whole from now on. */
static bool leave_hopeless(splitter *s, bool *whole) {
    for (int i = 0; i < s->ids.count; i++) {
        const own_id *id = s->ids.at[i];
        if (id->hopeless && !id->is_loop)
            return false;
        if (id->hopeless)
            whole[id->var->id] = true;
    }
    return true;
}

kernel_ir *split_ids(arena *a, const kernel_ir *k) {
    bool *whole = NEW_ARRAY(a, bool, k->var_count + 1);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        splitter s = {.a = a};
        bool any = false;
        kernel_ir *to = kernel_copy(a, k);
        s.vars = k->var_count;
        s.of_var = NEW_ARRAY(a, own_id *, s.vars + 1);
        if (!find_ids(&s, to))
            return NULL;
        find_loops(&s, &to->body);
        look_at_block(&s, &to->body);
        int digits = 0;
        for (int i = 0; i < s.ids.count; i++) {
            own_id *id = s.ids.at[i];
            id->count = whole[id->var->id] ? 0 : id->count;
            any = any || id->count;
            digits += id->count ? id->count + 1 : 0;
        }
        if (!any)
            return NULL;
        own_id **of_var = NEW_ARRAY(a, own_id *, s.vars + digits + 1);
        for (int i = 0; i < s.vars; i++)
            of_var[i] = s.of_var[i];
        s.of_var = of_var;
        s.vars += digits;
        kernel_level *levels = NEW_ARRAY(a, kernel_level, k->levels.count + 1);
        for (int i = 0; i < k->levels.count; i++)
            levels[i] = split_level(&s, to, &k->levels.at[i]);
        to->levels.at = levels;
        to->levels.capacity = k->levels.count + 1;
        s.rewriting = true;
        rewrite_block(&s, to, &to->body);
        if (!s.undecided)
            return to;
        if (!leave_hopeless(&s, whole))
            return NULL;
    }
    return NULL;
}
