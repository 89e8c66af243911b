/* Choices that whole subgroups make, and not the whole block, around barriers of the block that replace exchanges of lanes: `if c { a; barrier; b }` becomes
 * `if c { a }; barrier; if c { b }`. The subgroups that were to skip it meet at the barrier like all others. */
#include "kernel/legalize_parts.h"
#include <string.h>

enum { MOST_NESTING = 100 };

/* ---- which conditions are the same for all lanes of a subgroup ---- */

static bool is_subgroups_id(const legalizer *l, const index_var *v) {
    for (int i = 0; i < l->kernel->levels.count; i++) {
        const kernel_level *level = &l->kernel->levels.at[i];
        for (int d = 0; level->kind != LEVEL_TASK && level->kind != LEVEL_LANE && d < level->rank; d++)
            if (level->ids[d] == v)
                return true;
    }
    return false;
}

static bool same_in_subgroup(const legalizer *l, const index_expr *x, int nesting);

static int64_t lanes_of(const kernel_ir *k) {
    int64_t count = 1, extent;
    for (int i = 0; i < k->levels.count; i++)
        for (int d = 0; k->levels.at[i].kind == LEVEL_LANE && d < k->levels.at[i].rank; d++)
            count *= ix_is_const(k->levels.at[i].extents[d], &extent) ? extent : 0;
    return count;
}

/* Whether x is a multiple of the lanes, and the same for all of them. */
static bool whole_subgroups(const legalizer *l, const index_expr *x, int nesting) {
    int64_t c, lanes = lanes_of(l->kernel);
    if (nesting > MOST_NESTING || lanes < 1)
        return false;
    if (ix_is_const(x, &c))
        return c % lanes == 0;
    if (x->op == IX_ADD || x->op == IX_SUB)
        return whole_subgroups(l, x->a, nesting + 1) && whole_subgroups(l, x->b, nesting + 1);
    return x->op == IX_MUL && ((ix_is_const(x->b, &c) && c % lanes == 0 && same_in_subgroup(l, x->a, nesting + 1)) ||
                               (ix_is_const(x->a, &c) && c % lanes == 0 && same_in_subgroup(l, x->b, nesting + 1)));
}

/* Whether x is such a multiple and the lane: what it begins at is the same for all lanes. */
static bool starts_same(const legalizer *l, const index_expr *x, int nesting) {
    const kernel_ir *k = l->kernel;
    if (nesting > MOST_NESTING)
        return false;
    if (x->op == IX_ADD)
        return (starts_same(l, x->a, nesting + 1) && whole_subgroups(l, x->b, nesting + 1)) ||
               (whole_subgroups(l, x->a, nesting + 1) && starts_same(l, x->b, nesting + 1));
    if (x->op != IX_VAR)
        return false;
    const kernel_stmt *let = x->var->kind == INDEX_VALUE ? x->var->owner : NULL;
    if (let && let->kind == KSTMT_LET && let->value->op == KERNEL_INDEX)
        return starts_same(l, let->value->index, nesting + 1);
    for (int i = 0; i < k->levels.count; i++)
        if (k->levels.at[i].kind == LEVEL_LANE && k->levels.at[i].rank == 1 && k->levels.at[i].ids[0] == x->var)
            return true;
    return false;
}

static bool same_in_subgroup(const legalizer *l, const index_expr *x, int nesting) {
    int64_t c;
    if (nesting > MOST_NESTING)
        return false;
    if (x->op == IX_CONST)
        return true;
    if (x->op == IX_FLOORDIV && ix_is_const(x->b, &c) && c > 0 && whole_subgroups(l, x->b, 0) &&
        starts_same(l, x->a, nesting + 1))
        return true;
    if (x->op != IX_VAR)
        return same_in_subgroup(l, x->a, nesting + 1) && same_in_subgroup(l, x->b, nesting + 1);
    if (!legalize_varies(l, x->var) || is_subgroups_id(l, x->var))
        return true;
    const kernel_stmt *let = x->var->kind == INDEX_VALUE ? x->var->owner : NULL;
    return let && let->kind == KSTMT_LET && let->value->op == KERNEL_INDEX && same_in_subgroup(l, let->value->index, nesting + 1);
}

/* x < y, x <= y: where one side begins a subgroup's numbers and the other is between two subgroups, too. */
static bool compared_same(const legalizer *l, const cond *c) {
    if (same_in_subgroup(l, c->x, 0) && same_in_subgroup(l, c->y, 0))
        return true;
    int64_t n, lanes = lanes_of(l->kernel);
    if (lanes < 1)
        return false;
    if (starts_same(l, c->x, 0)) /* 32 s + l < 32 n, 32 s + l <= 32 n - 1 */
        return (c->op == COND_LT && whole_subgroups(l, c->y, 0)) ||
               (c->op == COND_LE && ix_is_const(c->y, &n) && (n + 1) % lanes == 0);
    if (starts_same(l, c->y, 0))
        return (c->op == COND_LE && whole_subgroups(l, c->x, 0)) ||
               (c->op == COND_LT && ix_is_const(c->x, &n) && (n + 1) % lanes == 0);
    return false;
}

static bool condition_same(const legalizer *l, const cond *c, int nesting) {
    if (nesting > MOST_NESTING)
        return false;
    return (!c->x || compared_same(l, c)) && (!c->a || condition_same(l, c->a, nesting + 1)) &&
           (!c->b || condition_same(l, c->b, nesting + 1));
}

/* Exchanges stand in the block itself alone, and no barrier of the block does anywhere: -1 where one does, or deeper. */
static int count_exchanges(const kernel_block *b, bool outermost, int nesting) {
    int n = 0;
    for (int i = 0; i < b->items.count && n >= 0; i++) {
        const kernel_stmt *s = b->items.at[i];
        bool meets = s->kind == KSTMT_BARRIER && (s->scope != LEVEL_SUBGROUP || s->participants || s->spaces);
        int own = kernel_stmt_exchanges(s) || meets;
        if (nesting > MOST_NESTING || (meets && s->scope != LEVEL_SUBGROUP) || (own && !outermost))
            return -1;
        int inner = count_exchanges(&s->body, false, nesting + 1), other = count_exchanges(&s->otherwise, false, nesting + 1);
        n = inner || other ? -1 : n + own;
    }
    return n;
}

bool legalize_may_split(const legalizer *l, const kernel_stmt *s) {
    return s->kind == KSTMT_IF && !l->divergent && !l->table->subgroups && !s->otherwise.items.count &&
           condition_same(l, s->condition, 0) && count_exchanges(&s->body, true, 0) > 0;
}

/* ---- names that one part gives and a later one asks for ---- */

typedef struct renaming {
    legalizer *l;
    const kernel_stmt *from;
    kernel_stmt *to;
    bool found;
} renaming;

/* Values may be shared between statements, and are renamed in some. */
static void unshare(legalizer *l, kernel_block *b, int nesting) {
    for (int i = 0; i < b->items.count && nesting <= MOST_NESTING; i++) {
        kernel_stmt *s = b->items.at[i];
        if (!kernel_unshare(l->kernel->arena, s))
            legalize_refuse(l, s->span, "a value nested too deeply");
        unshare(l, &s->body, nesting + 1);
        unshare(l, &s->otherwise, nesting + 1);
    }
}

static void rename_index(void *context, index_expr **x) {
    renaming *r = context;
    if (!r->from->var || !ix_mentions(*x, r->from->var))
        return;
    r->found = true;
    if (r->to)
        *x = ix_substitute(r->l->kernel->arena, *x, r->from->var, ix_var(r->l->kernel->arena, r->to->var));
}

static index_expr *rename_side(void *context, index_expr *x) {
    rename_index(context, &x);
    return x;
}

static void rename_condition(void *context, cond **c) {
    renaming *r = context;
    *c = cond_map(r->l->kernel->arena, *c, rename_side, r);
}

static void rename_value(void *context, kernel_value *v) {
    renaming *r = context;
    if (v->op != KERNEL_REF || v->let != r->from)
        return;
    r->found = true;
    if (r->to)
        v->let = r->to;
}

static void rename_in(renaming *r, kernel_block *b, int nesting) {
    kernel_visitor v = {.context = r, .index = rename_index, .condition = rename_condition, .value = rename_value};
    for (int i = 0; i < b->items.count && nesting <= MOST_NESTING; i++) {
        kernel_visit_stmt(b->items.at[i], &v);
        rename_in(r, &b->items.at[i]->body, nesting + 1);
        rename_in(r, &b->items.at[i]->otherwise, nesting + 1);
    }
}

/* A name of an earlier part, given again at the beginning of this one: integers of indices are computed anew, others come from a register. */
static void give_again(legalizer *l, kernel_stmt *let, kernel_block *defined, kernel_block *b, kernel_array **cell) {
    kernel_ir *k = l->kernel;
    renaming r = {.l = l, .from = let};
    rename_in(&r, b, 0);
    if (!r.found)
        return;
    bool index = let->kind == KSTMT_LET && let->value->op == KERNEL_INDEX;
    element_type t = let->kind == KSTMT_ATOMIC ? let->access.array->element : let->value->type;
    if (!index && (t == ELEMENT_INDEX || t == ELEMENT_BOOL || (let->kind == KSTMT_LET && let->value->lanes != 1))) {
        legalize_refuse(l, let->span,
                        "a value of %s that is wanted behind an exchange of lanes which not every thread of the block comes by",
                        element_table[t].name);
        return;
    }
    kernel_value *value;
    if (index) {
        value = kernel_index(k, let->value->index);
    } else {
        if (!*cell) {
            *cell = kernel_add_array(k, let->name, SPACE_REGISTER, USE_LOCAL, t, 0, NULL);
            (*cell)->span = let->span;
            kernel_block rest = {0};
            for (int i = 0; i < defined->items.count; i++) {
                VEC_PUSH(k->arena, rest.items, defined->items.at[i]);
                if (defined->items.at[i] == let)
                    kernel_store(k, &rest, kernel_at(k, *cell, NULL), kernel_ref(k, let), let->span);
            }
            *defined = rest;
        }
        value = kernel_load(k, kernel_at(k, *cell, NULL));
    }
    kernel_block whole = {0};
    kernel_stmt *fresh = kernel_let(k, &whole, let->name, value, let->span);
    if (let->var && fresh->var && index) {
        fresh->var->lo = let->var->lo;
        fresh->var->hi = let->var->hi;
    }
    for (int i = 0; i < b->items.count; i++)
        VEC_PUSH(k->arena, whole.items, b->items.at[i]);
    *b = whole;
    r.to = fresh;
    rename_in(&r, b, 0);
}

/* ---- the parts ---- */

void legalize_split(legalizer *l, kernel_stmt *s, kernel_block *out) {
    kernel_ir *k = l->kernel;
    VEC(kernel_stmt *) parts = {0};
    VEC(kernel_stmt *) names = {0};
    VEC(int) homes = {0};
    kernel_block old = s->body;
    unshare(l, &old, 0);
    kernel_stmt *part = NULL;
    for (int i = 0; i < old.items.count; i++) {
        kernel_stmt *x = old.items.at[i];
        if (x->kind == KSTMT_BARRIER) {
            VEC_PUSH(k->arena, out->items, x);
            part = NULL;
            continue;
        }
        if (!part) {
            part = kernel_append(k, out, KSTMT_IF, s->span);
            part->condition = s->condition;
            VEC_PUSH(k->arena, parts, part);
        }
        VEC_PUSH(k->arena, part->body.items, x);
        if (x->kind == KSTMT_LET || (x->kind == KSTMT_ATOMIC && x->name)) {
            VEC_PUSH(k->arena, names, x);
            VEC_PUSH(k->arena, homes, parts.count - 1);
        }
    }
    kernel_array **cells = NEW_ARRAY(k->arena, kernel_array *, names.count + 1);
    for (int p = parts.count - 1; p > 0 && !l->failed; p--) /* the last first: what earlier parts name is as it was */
        for (int n = names.count - 1; n >= 0 && !l->failed; n--)
            if (homes.at[n] < p) /* the last first: what is given again may itself ask for those before */
                give_again(l, names.at[n], &parts.at[homes.at[n]]->body, &parts.at[p]->body, &cells[n]);
    legalize_route(l,
                   "line %d: a choice that whole subgroups make: in parts, between barriers of the block (refused: exchanges of "
                   "lanes, which %s lacks)",
                   s->span.line, l->table->target);
}
