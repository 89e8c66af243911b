/* Makes Kernel IR shorter without changing what it does, so that what is proved and printed is what a person would write: index
 * expressions folded by the ranges of their variables, loops of no or one trip, decided ifs, empty blocks, names for constants
 * and unused lets go. Statements keep their order; memory accesses only go with values that nobody uses. */
#include "kernel/kernel.h"
#include <limits.h>
#include <string.h>

/* ---- ranges, both ends included. UNBOUNDED and -UNBOUNDED stand for "no end"; a finite end never takes those values. ---- */
#define UNBOUNDED (INT64_MAX / 4)
typedef struct range {
    int64_t lo, hi;
} range;
/* Names are seen through, so that a short text can stand for an endless expression: each question may take so many steps. */
enum { RANGE_STEPS = 1000, BLOCK_DEPTH = 1000, ROUNDS = 8 };

static const range everything = {-UNBOUNDED, UNBOUNDED};

/* The ends as they may be stored: a low end too high is lowered, a high end too low raised, which only widens the range. */
static range bounded(int64_t lo, int64_t hi) {
    lo = lo <= -UNBOUNDED ? -UNBOUNDED : lo >= UNBOUNDED ? UNBOUNDED - 1 : lo;
    hi = hi >= UNBOUNDED ? UNBOUNDED : hi <= -UNBOUNDED ? -UNBOUNDED + 1 : hi;
    return (range){lo, hi};
}

static bool is_unbounded(int64_t end) {
    return end <= -UNBOUNDED || end >= UNBOUNDED;
}

static range range_within(const index_expr *x, int *steps);

static range range_of_var(const index_var *v, int *steps) {
    range r = everything;
    const kernel_stmt *owner = v->owner;
    if (v->has_value && (v->kind == INDEX_STATIC || v->kind == INDEX_TILE))
        return bounded(v->value, v->value);
    if (v->kind == INDEX_SYMBOL || v->kind == INDEX_ID)
        r.lo = 0;
    if (v->kind == INDEX_LOOP && owner && owner->kind == KSTMT_FOR) {
        r.lo = range_within(owner->lo, steps).lo;
        int64_t end = range_within(owner->hi, steps).hi;
        return bounded(r.lo, is_unbounded(end) ? end : end - 1);
    }
    if (v->kind == INDEX_VALUE && owner && owner->kind == KSTMT_LET && owner->value->op == KERNEL_INDEX)
        return range_within(owner->value->index, steps);
    if (v->kind == INDEX_VALUE) /* a declared range is a claim until the prover has shown it */
        return everything;
    if (v->lo) {
        int64_t lo = range_within(v->lo, steps).lo;
        r.lo = lo > r.lo ? lo : r.lo;
    }
    if (v->hi)
        r.hi = range_within(v->hi, steps).hi;
    return r;
}

static range sum_range(range x, range y) {
    return bounded(is_unbounded(x.lo) || is_unbounded(y.lo) ? -UNBOUNDED : x.lo + y.lo,
                   is_unbounded(x.hi) || is_unbounded(y.hi) ? UNBOUNDED : x.hi + y.hi);
}

static range negated(range x) {
    return bounded(-x.hi, -x.lo);
}

static int64_t times(int64_t x, int64_t y) {
    int64_t product;
    if (x == 0 || y == 0)
        return 0;
    if (is_unbounded(x) || is_unbounded(y) || __builtin_mul_overflow(x, y, &product))
        return (x < 0) == (y < 0) ? UNBOUNDED : -UNBOUNDED;
    return product;
}

static range product_range(range x, range y) {
    int64_t corners[] = {times(x.lo, y.lo), times(x.lo, y.hi), times(x.hi, y.lo), times(x.hi, y.hi)};
    int64_t lo = corners[0], hi = corners[0];
    for (int i = 1; i < 4; i++) {
        lo = corners[i] < lo ? corners[i] : lo;
        hi = corners[i] > hi ? corners[i] : hi;
    }
    return bounded(lo, hi);
}

static int64_t floor_div(int64_t x, int64_t y) {
    return is_unbounded(x) ? x : x / y - (x % y < 0);
}

static range range_within(const index_expr *x, int *steps) {
    if (x->op == IX_CONST)
        return bounded(x->value, x->value);
    if (--*steps < 0)
        return everything;
    if (x->op == IX_VAR)
        return range_of_var(x->var, steps);
    range a = range_within(x->a, steps), b = range_within(x->b, steps);
    switch (x->op) {
    case IX_ADD: return sum_range(a, b);
    case IX_SUB: return sum_range(a, negated(b));
    case IX_MUL: return product_range(a, b);
    case IX_MIN: return (range){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    case IX_MAX: return (range){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    case IX_FLOORDIV:
        if (b.lo == b.hi && b.lo > 0)
            return (range){floor_div(a.lo, b.lo), floor_div(a.hi, b.lo)};
        return everything;
    case IX_MOD:
        if (b.lo != b.hi || b.lo <= 0)
            return everything;
        return a.lo >= 0 && a.hi < b.lo ? a : (range){0, b.lo - 1};
    default: return everything;
    }
}

static range range_of(const index_expr *x) {
    int steps = RANGE_STEPS;
    return range_within(x, &steps);
}

/* ---- sums: terms that stand on both sides of a comparison cancel, names of integers seen through ---- */
enum { MOST_TERMS = 16 };
typedef struct linear {
    struct {
        const index_expr *atom;
        int64_t coefficient;
    } terms[MOST_TERMS];
    int count;
    int64_t constant;
    int steps;
    bool fits; /* false: too many terms or too large numbers; the form then says nothing */
} linear;

static void add_constant(linear *f, int64_t value, int64_t factor) {
    int64_t product;
    f->fits = f->fits && !__builtin_mul_overflow(value, factor, &product) &&
              !__builtin_add_overflow(f->constant, product, &f->constant);
}

static void add_atom(linear *f, const index_expr *x, int64_t factor) {
    for (int i = 0; i < f->count; i++)
        if (ix_equal(f->terms[i].atom, x)) {
            f->fits = f->fits && !__builtin_add_overflow(f->terms[i].coefficient, factor, &f->terms[i].coefficient);
            return;
        }
    if (f->count == MOST_TERMS) {
        f->fits = false;
        return;
    }
    f->terms[f->count].atom = x;
    f->terms[f->count++].coefficient = factor;
}

static void add_linear(linear *f, const index_expr *x, int64_t factor) {
    int64_t product;
    const kernel_stmt *owner;
    if (++f->steps > RANGE_STEPS) {
        f->fits = false;
        return;
    }
    switch (x->op) {
    case IX_CONST: add_constant(f, x->value, factor); return;
    case IX_ADD:
    case IX_SUB:
        if (factor == INT64_MIN)
            break;
        add_linear(f, x->a, factor);
        add_linear(f, x->b, x->op == IX_ADD ? factor : -factor);
        return;
    case IX_MUL:
        if (x->b->op != IX_CONST || __builtin_mul_overflow(factor, x->b->value, &product))
            break;
        add_linear(f, x->a, product);
        return;
    case IX_VAR:
        owner = x->var->owner;
        if (x->var->kind != INDEX_VALUE || !owner || owner->kind != KSTMT_LET || owner->value->op != KERNEL_INDEX)
            break;
        add_linear(f, owner->value->index, factor);
        return;
    default: break;
    }
    add_atom(f, x, factor);
}

/* A let that states a range is a promise, which stays even where nothing uses it. */
static bool states_range(const kernel_stmt *let) {
    return let->var && (let->var->lo || let->var->hi);
}

/* Where x - y lies. */
static range difference(const index_expr *x, const index_expr *y) {
    range plain = sum_range(range_of(x), negated(range_of(y)));
    linear f = {.fits = true};
    add_linear(&f, x, 1);
    add_linear(&f, y, -1);
    if (!f.fits)
        return plain;
    range sum = bounded(f.constant, f.constant);
    for (int i = 0; i < f.count; i++) {
        range factor = bounded(f.terms[i].coefficient, f.terms[i].coefficient);
        if (f.terms[i].coefficient)
            sum = sum_range(sum, product_range(factor, range_of(f.terms[i].atom)));
    }
    return (range){sum.lo > plain.lo ? sum.lo : plain.lo, sum.hi < plain.hi ? sum.hi : plain.hi};
}

/* ---- folding ---- */
static index_expr *fold_index(arena *a, index_expr *x, int depth) {
    if (x->op == IX_CONST || x->op == IX_VAR || depth > BLOCK_DEPTH)
        return x;
    index_expr *left = fold_index(a, x->a, depth + 1), *right = fold_index(a, x->b, depth + 1);
    if (left != x->a || right != x->b)
        x = ix_op2(a, x->op, left, right);
    if (x->op == IX_SUB && x->a->op == IX_CONST && (x->b->op == IX_ADD || x->b->op == IX_SUB) && x->b->b->op == IX_CONST)
        return ix_sub(a, ix_op2(a, x->b->op == IX_ADD ? IX_SUB : IX_ADD, x->a, x->b->b), x->b->a); /* 0 - (x - 1) */
    if (x->op != IX_MIN && x->op != IX_MAX && x->op != IX_MOD && x->op != IX_FLOORDIV)
        return x;
    range l = range_of(x->a), r = range_of(x->b), all = range_of(x);
    if (all.lo == all.hi)
        return ix_const(a, all.lo);
    if (x->op == IX_MIN || x->op == IX_MAX) {
        range d = difference(x->a, x->b);
        if (d.hi <= 0)
            return x->op == IX_MIN ? x->a : x->b;
        return d.lo < 0 ? x : x->op == IX_MIN ? x->b : x->a;
    }
    if (x->op == IX_MOD && r.lo == r.hi && l.lo >= 0 && l.hi < r.lo)
        return x->a;
    return x;
}

static cond *truth(arena *a, bool value) {
    return cond_compare(a, COND_EQ, ix_const(a, 0), ix_const(a, value ? 0 : 1));
}

static cond *fold_condition(arena *a, cond *c, int depth) {
    if (c->op == COND_TRUE || depth > BLOCK_DEPTH)
        return c;
    if (c->op == COND_NOT || c->op == COND_AND || c->op == COND_OR) {
        cond *x = fold_condition(a, c->a, depth + 1), *y = c->b ? fold_condition(a, c->b, depth + 1) : NULL;
        if (x == c->a && y == c->b)
            return c;
        return c->op == COND_NOT ? cond_not(a, x) : c->op == COND_AND ? cond_and(a, x, y) : cond_or(a, x, y);
    }
    index_expr *x = fold_index(a, c->x, depth + 1), *y = fold_index(a, c->y, depth + 1);
    range d = difference(x, y);
    if (c->op == COND_LE   ? d.hi <= 0
        : c->op == COND_LT ? d.hi < 0
        : c->op == COND_EQ ? d.lo == 0 && d.hi == 0
                           : d.hi < 0 || d.lo > 0)
        return truth(a, true);
    if (c->op == COND_LE   ? d.lo > 0
        : c->op == COND_LT ? d.lo >= 0
        : c->op == COND_EQ ? d.hi < 0 || d.lo > 0
                           : d.lo == 0 && d.hi == 0)
        return truth(a, false);
    if (x == c->x && y == c->y)
        return c;
    cond *folded = cond_compare(a, c->op, x, y);
    folded->span = c->span;
    return folded;
}

static bool decided(const cond *c, bool *value) {
    *value = c->op == COND_TRUE;
    return c->op == COND_TRUE || (c->op == COND_NOT && c->a->op == COND_TRUE);
}

static void fold_in_place(void *context, index_expr **x) {
    *x = fold_index(context, *x, 0);
}
static void fold_condition_in_place(void *context, cond **c) {
    *c = fold_condition(context, *c, 0);
}

/* ---- replacing a variable throughout a block ---- */
typedef struct replacement {
    arena *arena;
    const index_var *var;
    const kernel_stmt *let; /* its values too; NULL for a loop variable */
    index_expr *by;
} replacement;

static void replace_index(void *context, index_expr **x) {
    const replacement *r = context;
    *x = ix_substitute(r->arena, *x, r->var, r->by);
}
static void replace_condition(void *context, cond **c) {
    const replacement *r = context;
    *c = cond_substitute(r->arena, *c, r->var, r->by);
}
static void replace_value(void *context, kernel_value *v) {
    const replacement *r = context;
    if (v->op != KERNEL_REF || !r->let || v->let != r->let)
        return;
    v->op = KERNEL_INDEX;
    v->let = NULL;
    v->index = r->by;
}

static void visit_block(kernel_block *b, int from, const kernel_visitor *visitor, int depth) {
    if (depth > BLOCK_DEPTH)
        return;
    for (int i = from; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        kernel_visit_stmt(s, visitor);
        if (s->kind == KSTMT_LET && s->var && visitor->index) {
            if (s->var->lo)
                visitor->index(visitor->context, &s->var->lo);
            if (s->var->hi)
                visitor->index(visitor->context, &s->var->hi);
        }
        visit_block(&s->body, 0, visitor, depth + 1);
        visit_block(&s->otherwise, 0, visitor, depth + 1);
    }
}

static void replace(arena *a, kernel_block *b, int from, const index_var *var, const kernel_stmt *let, index_expr *by) {
    replacement r = {a, var, let, by};
    kernel_visitor visitor = {.context = &r, .index = replace_index, .condition = replace_condition, .value = replace_value};
    visit_block(b, from, &visitor, 0);
}

/* ---- blocks ---- */
static bool is_empty(const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++)
        if (b->items.at[i]->kind != KSTMT_COMMENT)
            return false;
    return true;
}

/* A break that would leave the loop whose body `b` is. */
static bool breaks(const kernel_block *b, int depth) {
    if (depth > BLOCK_DEPTH)
        return true;
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        if (s->kind == KSTMT_BREAK)
            return true;
        if (s->kind != KSTMT_FOR && s->kind != KSTMT_LOOP && (breaks(&s->body, depth + 1) || breaks(&s->otherwise, depth + 1)))
            return true;
    }
    return false;
}

static void append_all(arena *a, kernel_block *to, const kernel_block *from) {
    for (int i = 0; i < from->items.count; i++)
        VEC_PUSH(a, to->items, from->items.at[i]);
}

/* At most `*room` nodes. A loop's start is put wherever its variable stands: a large one would grow the program. */
static bool is_small(const index_expr *x, int *room) {
    if (--*room < 0)
        return false;
    return x->op == IX_CONST || x->op == IX_VAR || (is_small(x->a, room) && is_small(x->b, room));
}

/* Where a statement goes: into `out` as it is, as the statements it comes down to, or nowhere. */
static void settle_loop(arena *a, kernel_block *out, kernel_stmt *s) {
    int64_t step;
    int room = 32;
    range trip = difference(s->hi, s->lo);
    if (trip.hi <= 0 || is_empty(&s->body))
        return;
    if (ix_is_const(s->step, &step) && trip.lo >= 1 && trip.hi <= step && is_small(s->lo, &room) && !breaks(&s->body, 0)) {
        replace(a, &s->body, 0, s->var, NULL, s->lo);
        append_all(a, out, &s->body);
        return;
    }
    VEC_PUSH(a, out->items, s);
}

static void settle_if(arena *a, kernel_block *out, kernel_stmt *s) {
    bool value;
    if (is_empty(&s->body) && is_empty(&s->otherwise))
        return;
    if (s->kind == KSTMT_IF && decided(s->condition, &value)) {
        append_all(a, out, value ? &s->body : &s->otherwise);
        return;
    }
    if (s->kind == KSTMT_IF && is_empty(&s->body)) {
        s->condition = cond_not(a, s->condition);
        s->body = s->otherwise;
        memset(&s->otherwise, 0, sizeof s->otherwise);
    }
    VEC_PUSH(a, out->items, s);
}

static void simplify_block(kernel_ir *k, kernel_block *b, int depth) {
    arena *a = k->arena;
    kernel_block out = {0};
    kernel_visitor fold = {.context = a, .index = fold_in_place, .condition = fold_condition_in_place};
    if (depth > BLOCK_DEPTH)
        return;
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        kernel_visit_stmt(s, &fold);
        if (s->kind == KSTMT_LET && s->var && !states_range(s) && s->value->op == KERNEL_INDEX &&
            (s->value->index->op == IX_CONST || s->value->index->op == IX_VAR)) {
            replace(a, b, i + 1, s->var, s, s->value->index); /* a second name for a constant or a variable */
            continue;
        }
        simplify_block(k, &s->body, depth + 1);
        simplify_block(k, &s->otherwise, depth + 1);
        switch (s->kind) {
        case KSTMT_FOR: settle_loop(a, &out, s); break;
        case KSTMT_IF:
        case KSTMT_IF_VALUE: settle_if(a, &out, s); break;
        case KSTMT_ROLE:
            if (!is_empty(&s->body))
                VEC_PUSH(a, out.items, s);
            break;
        case KSTMT_BREAK: {
            bool value;
            if (s->condition && decided(s->condition, &value)) {
                if (!value)
                    break;
                s->condition = NULL;
            }
            VEC_PUSH(a, out.items, s);
            break;
        }
        default: VEC_PUSH(a, out.items, s); break;
        }
    }
    *b = out;
}

/* ---- dead lets ---- */
static void count_in_index(const index_expr *x, int depth) {
    if (x->op == IX_CONST || depth > BLOCK_DEPTH)
        return;
    if (x->op == IX_VAR) {
        if (x->var->kind == INDEX_VALUE && x->var->owner)
            ((kernel_stmt *)x->var->owner)->uses++;
        return;
    }
    count_in_index(x->a, depth + 1);
    count_in_index(x->b, depth + 1);
}

static void count_index(void *context, index_expr **x) {
    (void)context;
    count_in_index(*x, 0);
}

static void count_in_condition(const cond *c, int depth) {
    if (!c || depth > BLOCK_DEPTH)
        return;
    if (c->x) {
        count_in_index(c->x, 0);
        count_in_index(c->y, 0);
    }
    count_in_condition(c->a, depth + 1);
    count_in_condition(c->b, depth + 1);
}

static void count_condition(void *context, cond **c) {
    (void)context;
    count_in_condition(*c, 0);
}

static void count_value(void *context, kernel_value *v) {
    (void)context;
    if (v->op == KERNEL_REF && v->let)
        v->let->uses++;
}

static void clear_uses(kernel_block *b, int depth) {
    if (depth > BLOCK_DEPTH)
        return;
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        s->uses = 0;
        clear_uses(&s->body, depth + 1);
        clear_uses(&s->otherwise, depth + 1);
    }
}

/* A subgroup operation is reached by all lanes together or not at all: dropping it is fine, since every lane drops it. */
static bool drop_unused(const kernel_ir *k, kernel_block *b, int depth) {
    bool dropped = false;
    int kept = 0;
    if (depth > BLOCK_DEPTH)
        return false;
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        bool held = s->kind == KSTMT_LET && k->holds_loads && s->value->op == KERNEL_LOAD;
        if (s->kind == KSTMT_LET && !s->uses && !states_range(s) && !held) {
            dropped = true;
            continue;
        }
        dropped = drop_unused(k, &s->body, depth + 1) || dropped;
        dropped = drop_unused(k, &s->otherwise, depth + 1) || dropped;
        b->items.at[kept++] = s;
    }
    b->items.count = kept;
    return dropped;
}

static void drop_dead_lets(kernel_ir *k) {
    kernel_visitor count = {.index = count_index, .condition = count_condition, .value = count_value};
    bool again = true;
    for (int round = 0; again && round < ROUNDS; round++) {
        clear_uses(&k->body, 0);
        visit_block(&k->body, 0, &count, 0);
        again = drop_unused(k, &k->body, 0);
    }
}

/* A loop variable's declared range follows its loop. */
static void refresh_ranges(kernel_ir *k, kernel_block *b, int depth) {
    if (depth > BLOCK_DEPTH)
        return;
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        if (s->kind == KSTMT_FOR) {
            s->var->lo = s->lo;
            s->var->hi = ix_sub(k->arena, s->hi, ix_const(k->arena, 1));
        }
        refresh_ranges(k, &s->body, depth + 1);
        refresh_ranges(k, &s->otherwise, depth + 1);
    }
}

void kernel_simplify(kernel_ir *k) {
    for (int round = 0; round < 2; round++) { /* what one round inlines, the next folds */
        simplify_block(k, &k->body, 0);
        drop_dead_lets(k);
    }
    refresh_ranges(k, &k->body, 0);
    kernel_settle_names(k);
}
