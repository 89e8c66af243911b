#include "operators.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const mutation_info mutation_table[MUTATE_COUNT] = {
#define MUTATION(op, name, what) [MUTATE_##op] = {name, what},
#include "operators.def"
#undef MUTATION
};

typedef struct walk {
    kernel_ir *k;
    int next, target; /* target -1: only counting */
    bool done;
    mutation *out;
    void (*each)(void *context, const mutation *m);
    void *context;
    source_span span; /* of the statement being walked */
} walk;

/* Counts a place; true when it is the one to change. */
static bool here(walk *w, mutation_operator op, const char *format, ...) {
    if (w->done)
        return false;
    bool hit = w->next++ == w->target;
    if (!hit && !w->each)
        return false;
    mutation m = {.op = op, .line = w->span.line};
    va_list args;
    va_start(args, format);
    vsnprintf(m.what, sizeof m.what, format, args);
    va_end(args);
    for (char *c = m.what; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    if (w->each)
        w->each(w->context, &m);
    if (hit && w->out)
        *w->out = m;
    w->done = hit;
    return hit;
}

static const char *text_of(walk *w, const index_expr *x) {
    text_buffer b = {0};
    ix_print(&b, x);
    const char *text = arena_strdup(w->k->arena, text_get(&b));
    text_free(&b);
    return text;
}

static const char *head_of(walk *w, const kernel_stmt *s) {
    text_buffer b = {0};
    kernel_print_stmt_head(&b, s);
    const char *text = arena_strdup(w->k->arena, text_get(&b));
    text_free(&b);
    return text;
}

static void remove_at(kernel_block *b, int i) {
    memmove(&b->items.at[i], &b->items.at[i + 1], sizeof *b->items.at * (size_t)(b->items.count - i - 1));
    b->items.count--;
}

static void swap_at(kernel_block *b, int i, int j) {
    kernel_stmt *s = b->items.at[i];
    b->items.at[i] = b->items.at[j];
    b->items.at[j] = s;
}

/* ---- conditions ---- */

static cond *swap_comparisons(walk *w, cond *c) {
    if (!c || w->done)
        return c;
    if (c->op == COND_LE || c->op == COND_LT) {
        if (here(w, MUTATE_COMPARISON, "`%s %s %s` becomes `%s`", text_of(w, c->x), c->op == COND_LE ? "<=" : "<",
                 text_of(w, c->y), c->op == COND_LE ? "<" : "<="))
            return cond_compare(w->k->arena, c->op == COND_LE ? COND_LT : COND_LE, c->x, c->y);
        return c;
    }
    cond *a = swap_comparisons(w, c->a), *b = swap_comparisons(w, c->b);
    if (a == c->a && b == c->b)
        return c;
    cond *copy = NEW(w->k->arena, cond);
    *copy = *c;
    copy->a = a;
    copy->b = b;
    return copy;
}

/* The condition "not lane 0", over the innermost id. */
static cond *all_but_one(const kernel_ir *k) {
    if (k->levels.count < 2)
        return NULL;
    const kernel_level *l = &k->levels.at[k->levels.count - 1];
    return l->rank ? cond_compare(k->arena, COND_LE, ix_const(k->arena, 1), ix_var(k->arena, l->ids[l->rank - 1])) : NULL;
}

static void change_participants(walk *w, kernel_stmt *s) {
    cond *less = all_but_one(w->k);
    if (s->participants && here(w, MUTATE_PARTICIPANTS, "`%s` by everybody", head_of(w, s)))
        s->participants = NULL;
    if (less && here(w, MUTATE_PARTICIPANTS, "`%s` without lane 0", head_of(w, s)))
        s->participants = cond_and(w->k->arena, s->participants, less);
    s->participants = swap_comparisons(w, s->participants);
}

/* ---- integers: the stages of a ring ---- */

/* `mod c` becomes `mod c - 1`, floor(.. / c) likewise. */
static index_expr *shorten(arena *a, index_expr *x, int64_t c) {
    int64_t divisor;
    if (!x->a)
        return x;
    index_expr *p = shorten(a, x->a, c), *q = shorten(a, x->b, c);
    if ((x->op == IX_MOD || x->op == IX_FLOORDIV) && ix_is_const(x->b, &divisor) && divisor == c)
        q = ix_const(a, c - 1);
    return p == x->a && q == x->b ? x : ix_op2(a, x->op, p, q);
}

static int64_t ring_of(const index_expr *x) {
    int64_t c;
    if (!x->a)
        return 0;
    if (x->op == IX_MOD && ix_is_const(x->b, &c) && c >= 2 && c <= 8)
        return c;
    c = ring_of(x->a);
    return c ? c : ring_of(x->b);
}

typedef struct ring_walk {
    walk *w;
    int64_t all; /* > 0: every place with this ring is shortened */
    bool seen[9];
} ring_walk;

static void ring_index(void *context, index_expr **x) {
    ring_walk *r = context;
    int64_t c = ring_of(*x);
    if (r->all)
        *x = shorten(r->w->k->arena, *x, r->all);
    else if (c) {
        r->seen[c] = true;
        if (here(r->w, MUTATE_STAGES, "`%s`: %d stages become %d here", text_of(r->w, *x), (int)c, (int)c - 1))
            *x = shorten(r->w->k->arena, *x, c);
    }
}

static void ring_block(ring_walk *r, kernel_block *b) {
    const kernel_visitor v = {.context = r, .index = ring_index};
    for (int i = 0; i < b->items.count && !(r->w->done && !r->all); i++) {
        r->w->span = b->items.at[i]->span;
        kernel_visit_stmt(b->items.at[i], &v);
        ring_block(r, &b->items.at[i]->body);
        ring_block(r, &b->items.at[i]->otherwise);
    }
}

static void change_rings(walk *w) {
    ring_walk r = {.w = w};
    if (w->k->levels.count < 2)
        return;
    ring_block(&r, &w->k->body);
    for (int c = 2; c <= 8; c++)
        if (r.seen[c] && here(w, MUTATE_STAGES, "%d stages become %d everywhere", c, c - 1)) {
            r.all = c;
            ring_block(&r, &w->k->body);
        }
}

/* ---- accesses ---- */

static void change_access(void *context, kernel_access *a, bool is_write) {
    walk *w = context;
    for (int d = 0; d < a->array->rank; d++)
        if (here(w, MUTATE_SHIFT_INDEX, "%s %s: index %d, `%s`, grows by 1", is_write ? "written" : "read", a->array->name, d,
                 text_of(w, a->indices[d])))
            a->indices[d] = ix_add(w->k->arena, a->indices[d], ix_const(w->k->arena, 1));
    if (a->active && here(w, MUTATE_DROP_MASK, "%s %s: `active %s` goes", is_write ? "written" : "read", a->array->name,
                          text_of(w, a->active)))
        a->active = NULL;
}

static void change_arrays(walk *w) {
    for (int i = 0; i < w->k->arrays.count; i++) {
        kernel_array *a = w->k->arrays.at[i];
        bool local = a->space == SPACE_SHARED || a->space == SPACE_PRIVATE || a->space == SPACE_REGISTER ||
                     (a->space == SPACE_GLOBAL && a->use == USE_WORKSPACE);
        w->span = a->span;
        for (int d = 0; local && d < a->rank; d++) {
            int64_t extent;
            if ((!ix_is_const(a->dims[d], &extent) || extent > 1) &&
                here(w, MUTATE_SHRINK, "dimension %d of `%s`, `%s`, shrinks by 1", d, a->name, text_of(w, a->dims[d])))
                a->dims[d] = ix_sub(w->k->arena, a->dims[d], ix_const(w->k->arena, 1));
        }
    }
    for (int i = 0; i < w->k->mbarriers.count; i++) {
        kernel_mbarrier *m = w->k->mbarriers.at[i];
        w->span = m->span;
        if (m->slots > 1 && here(w, MUTATE_STAGES, "mbarrier `%s` has %d slots instead of %d", m->name, m->slots - 1, m->slots))
            m->slots--;
        if (m->arrivals > 1 && here(w, MUTATE_PARTICIPANTS, "mbarrier `%s` expects one arrival less", m->name))
            m->arrivals--;
        if (here(w, MUTATE_PARTICIPANTS, "mbarrier `%s` expects one arrival more", m->name))
            m->arrivals++;
    }
}

/* ---- statements ---- */

static bool has_level(const kernel_ir *k, level_kind kind) {
    for (int i = 0; i < k->levels.count; i++)
        if (k->levels.at[i].kind == kind)
            return true;
    return false;
}

static void change_barrier(walk *w, kernel_block *b, int i) {
    kernel_stmt *s = b->items.at[i];
    const unsigned global = 1u << SPACE_GLOBAL, shared = 1u << SPACE_SHARED;
    if (here(w, MUTATE_DROP_BARRIER, "`%s` goes", head_of(w, s))) {
        remove_at(b, i);
        return;
    }
    if ((s->spaces & shared) && here(w, MUTATE_WEAKEN_BARRIER, "`%s` orders global memory alone", head_of(w, s)))
        s->spaces = global;
    if ((s->spaces & global) && here(w, MUTATE_WEAKEN_BARRIER, "`%s` orders shared memory alone", head_of(w, s)))
        s->spaces = shared;
    if (s->scope == LEVEL_BLOCK && has_level(w->k, LEVEL_SUBGROUP) &&
        here(w, MUTATE_WEAKEN_BARRIER, "`%s` of each subgroup", head_of(w, s)))
        s->scope = LEVEL_SUBGROUP;
    if (s->proxy && here(w, MUTATE_WEAKEN_BARRIER, "`%s` without proxy", head_of(w, s)))
        s->proxy = false;
    if (s->kind == KSTMT_BARRIER)
        change_participants(w, s);
}

static void change_wait(walk *w, kernel_block *b, int i) {
    kernel_stmt *s = b->items.at[i];
    if (here(w, MUTATE_WAIT, "`%s` goes", head_of(w, s))) {
        remove_at(b, i);
        return;
    }
    if (s->kind == KSTMT_COMMIT)
        return;
    if (i + 1 < b->items.count && here(w, MUTATE_WAIT, "`%s` moves behind `%s`", head_of(w, s), head_of(w, b->items.at[i + 1])))
        swap_at(b, i, i + 1);
    else if (s->kind == KSTMT_WAIT_ASYNC && here(w, MUTATE_WAIT, "`%s`: one group more may be in flight", head_of(w, s)))
        s->count++;
    else if (s->kind == KSTMT_MBARRIER_WAIT && here(w, MUTATE_WAIT, "`%s` waits for the phase before", head_of(w, s)))
        s->phase = ix_sub(w->k->arena, s->phase, ix_const(w->k->arena, 1));
}

static void change_loop(walk *w, kernel_stmt *s) {
    arena *a = w->k->arena;
    int64_t step;
    index_expr *one = ix_is_const(s->step, &step) ? s->step : ix_const(a, 1);
    if (here(w, MUTATE_LOOP_SHORT, "`%s` ends one step earlier", head_of(w, s)))
        s->hi = ix_sub(a, s->hi, one);
    else if (here(w, MUTATE_LOOP_LONG, "`%s` ends one step later", head_of(w, s)))
        s->hi = ix_add(a, s->hi, one);
}

/* The body stands in the place of its `if`. */
static void splice(walk *w, kernel_block *b, int i) {
    kernel_stmt *s = b->items.at[i];
    kernel_block out = {0};
    for (int j = 0; j < b->items.count; j++) {
        if (j != i)
            VEC_PUSH(w->k->arena, out.items, b->items.at[j]);
        for (int n = 0; j == i && n < s->body.items.count; n++)
            VEC_PUSH(w->k->arena, out.items, s->body.items.at[n]);
    }
    *b = out;
}

static bool is_constant(const kernel_value *v) {
    return v && (v->op == KERNEL_CONST || (v->op == KERNEL_BROADCAST && v->operands[0]->op == KERNEL_CONST));
}

static void change_block(walk *w, kernel_block *b);

static void change_statement(walk *w, kernel_block *b, int i) {
    kernel_stmt *s = b->items.at[i];
    const kernel_visitor accesses = {.context = w, .access = change_access};
    switch (s->kind) {
    case KSTMT_BARRIER:
    case KSTMT_FENCE: change_barrier(w, b, i); break;
    case KSTMT_WAIT_ASYNC:
    case KSTMT_MBARRIER_WAIT:
    case KSTMT_COMMIT: change_wait(w, b, i); break;
    case KSTMT_MBARRIER_ARRIVE:
        if (here(w, MUTATE_DROP_ARRIVE, "`%s` goes", head_of(w, s)))
            remove_at(b, i);
        else if (i && here(w, MUTATE_DROP_ARRIVE, "`%s` moves before `%s`", head_of(w, s), head_of(w, b->items.at[i - 1])))
            swap_at(b, i - 1, i);
        else
            change_participants(w, s);
        break;
    case KSTMT_STORE:
    case KSTMT_FRAGMENT_FILL:
        if (is_constant(s->value) && here(w, MUTATE_DROP_FILL, "`%s` goes", head_of(w, s)))
            remove_at(b, i);
        break;
    case KSTMT_FOR: change_loop(w, s); break;
    case KSTMT_IF:
    case KSTMT_IF_VALUE:
        if (here(w, MUTATE_DROP_GUARD, "`%s` goes", head_of(w, s)))
            splice(w, b, i);
        break;
    case KSTMT_COPY:
        if (s->clip && here(w, MUTATE_DROP_MASK, "`%s`: clip goes", head_of(w, s)))
            s->clip = false;
        break;
    case KSTMT_FRAGMENT_LOAD:
    case KSTMT_FRAGMENT_STORE:
        if (s->extents && here(w, MUTATE_DROP_MASK, "`%s`: within goes", head_of(w, s)))
            s->extents = NULL;
        break;
    case KSTMT_LET:
        if (s->var && s->value->op == KERNEL_INDEX && here(w, MUTATE_SHIFT_INDEX, "`%s` grows by 1", head_of(w, s)))
            s->value->index = ix_add(w->k->arena, s->value->index, ix_const(w->k->arena, 1));
        break;
    default: break;
    }
    if (w->done)
        return;
    if (s->kind == KSTMT_IF || s->kind == KSTMT_BREAK || s->kind == KSTMT_ROLE)
        s->condition = swap_comparisons(w, s->condition);
    kernel_visit_stmt(s, &accesses);
    change_block(w, &s->body);
    change_block(w, &s->otherwise);
}

static void change_block(walk *w, kernel_block *b) {
    for (int i = 0; i < b->items.count && !w->done; i++) {
        w->span = b->items.at[i]->span;
        change_statement(w, b, i);
    }
}

static void change_kernel(walk *w) {
    change_arrays(w);
    change_rings(w);
    change_block(w, &w->k->body);
}

int mutation_sites(kernel_ir *k, void (*each)(void *context, const mutation *m), void *context) {
    walk w = {.k = k, .target = -1, .each = each, .context = context};
    change_kernel(&w);
    return w.next;
}

bool mutation_apply(kernel_ir *k, int site, mutation *out) {
    walk w = {.k = k, .target = site, .out = out};
    change_kernel(&w);
    return w.done;
}
