/* What a target lacks is rewritten into what it has. The walk finds each operation the table lacks; legalize_subgroup.c replaces exchanges
 * between lanes by exchanges through shared memory. */
#include "kernel/legalize_parts.h"
#include <string.h>

bool legalize_refuse(legalizer *l, source_span span, const char *what, ...) {
    text_buffer b = {0};
    va_list args;
    va_start(args, what);
    text_add_va(&b, what, args);
    va_end(args);
    diag_error(l->diags, "E0552", span.line ? span : l->kernel->span, "%s for target %s (kernel %s)", text_get(&b),
               l->table->target, l->kernel->name);
    text_free(&b);
    l->failed = true;
    return false;
}

void legalize_route(legalizer *l, const char *format, ...) {
    text_buffer b = {0};
    va_list args;
    va_start(args, format);
    text_add_va(&b, format, args);
    va_end(args);
    legal_route(l->kernel->arena, l->routes, text_get(&b));
    text_free(&b);
}

void legal_route(arena *a, legal_routes *routes, const char *text) {
    for (int i = 0; i < routes->count; i++)
        if (!strcmp(routes->at[i], text))
            return;
    VEC_PUSH(a, *routes, arena_strdup(a, text));
}

/* ---- which values are the same in every thread of a block ---- */

bool legalize_varies(const legalizer *l, const index_var *v) {
    for (int i = 0; i < l->varying.count; i++)
        if (l->varying.at[i] == v)
            return true;
    return false;
}

static bool index_varies(const legalizer *l, const index_expr *x) {
    if (x->op == IX_VAR)
        return legalize_varies(l, x->var);
    return x->op != IX_CONST && (index_varies(l, x->a) || index_varies(l, x->b));
}

static bool condition_varies(const legalizer *l, const cond *c) {
    return (c->x && (index_varies(l, c->x) || index_varies(l, c->y))) || (c->a && condition_varies(l, c->a)) ||
           (c->b && condition_varies(l, c->b));
}

/* Only integers made of uniform ones are known to be uniform; what was loaded or computed may differ. */
static void learn_let(legalizer *l, const kernel_stmt *s) {
    if (s->var && (s->kind != KSTMT_LET || s->value->op != KERNEL_INDEX || index_varies(l, s->value->index)))
        VEC_PUSH(l->kernel->arena, l->varying, s->var);
}

/* ---- values ---- */

static bool is_exchange(const kernel_value *v) {
    return !strcmp(kernel_op_table[v->op].kind, "subgroup");
}

/* f16 arithmetic becomes f32 arithmetic between conversions: for one operation f32 has digits enough that rounding twice changes nothing;
 * fma would need more. */
static void widen_f16(legalizer *l, kernel_value *v) {
    kernel_ir *k = l->kernel;
    const char *kind = kernel_op_table[v->op].kind;
    bool arithmetic = !strcmp(kind, "unary") || !strcmp(kind, "binary") || !strcmp(kind, "compare") || v->op == KERNEL_FMA ||
                      v->op == KERNEL_LANES_MAX || v->op == KERNEL_LANES_MIN;
    if (!arithmetic || v->operands[0]->type != ELEMENT_F16)
        return;
    if (v->op == KERNEL_FMA) {
        legalize_refuse(l, v->span, "f16 `fma` has no exact form");
        return;
    }
    kernel_value **operands = NEW_ARRAY(k->arena, kernel_value *, v->operand_count); /* the old list may be shared */
    for (int i = 0; i < v->operand_count; i++)
        operands[i] = kernel_op1(k, KERNEL_CONVERT, ELEMENT_F32, v->operands[i]);
    legalize_route(l, "f16 arithmetic: computed as f32 and rounded back (refused: native f16, which %s lacks)", l->table->target);
    if (v->type == ELEMENT_BOOL) {
        v->operands = operands;
        return;
    }
    kernel_value *wide = NEW(k->arena, kernel_value);
    *wide = *v;
    wide->operands = operands;
    wide->type = ELEMENT_F32;
    kernel_value **one = NEW_ARRAY(k->arena, kernel_value *, 1);
    one[0] = wide;
    *v = (kernel_value){
        .op = KERNEL_CONVERT, .type = ELEMENT_F16, .lanes = v->lanes, .operand_count = 1, .operands = one, .span = v->span};
}

/* Operands first. Exchanges that the target lacks leave their statements behind in `before`. */
static void rewrite_value(legalizer *l, kernel_value *v, kernel_block *before) {
    for (int i = 0; i < l->done.count; i++) /* values are shared: each is rewritten once a statement */
        if (l->done.at[i] == v)
            return;
    VEC_PUSH(l->kernel->arena, l->done, v);
    for (int i = 0; i < v->operand_count && !l->failed; i++)
        rewrite_value(l, v->operands[i], before);
    if (l->failed)
        return;
    if (v->lanes > l->table->vector_lanes)
        legalize_refuse(l, v->span, "a value of %d lanes is too wide", v->lanes);
    else if (is_exchange(v) && !l->table->subgroups)
        legalize_exchange(l, v, before);
    else if (!l->table->f16_arithmetic)
        widen_f16(l, v);
}

/* ---- statements ---- */

static void rewrite_block(legalizer *l, kernel_block *b);

/* A nested block. What it shuffled must have been read by all threads before anything outside, or its next trip, writes those cells again. */
static void rewrite_inner(legalizer *l, kernel_block *b, bool divergent, source_span span) {
    bool outer = l->divergent;
    int shuffles = l->shuffles, turn = l->turn;
    l->divergent = outer || divergent;
    l->group = NULL;
    rewrite_block(l, b);
    l->group = NULL;
    if (l->shuffles != shuffles)
        legalize_barrier(l, b, span);
    l->divergent = outer;
    l->turn = turn; /* the other arm of a branch goes on from the same place */
}

static void rewrite_nested(legalizer *l, kernel_stmt *s) {
    bool divergent = s->condition && condition_varies(l, s->condition);
    switch (s->kind) {
    case KSTMT_FOR:
        divergent = index_varies(l, s->lo) || index_varies(l, s->hi) || index_varies(l, s->step);
        if (divergent)
            VEC_PUSH(l->kernel->arena, l->varying, s->var);
        break;
    case KSTMT_IF: break;
    case KSTMT_TASKS: divergent = false; break; /* every thread of a block runs its block's tasks */
    default: divergent = true; break;           /* data decide, or only some threads take part */
    }
    rewrite_inner(l, &s->body, divergent, s->span);
    rewrite_inner(l, &s->otherwise, divergent, s->span);
}

static void rewrite_block(legalizer *l, kernel_block *b) {
    kernel_block old = *b;
    *b = (kernel_block){0};
    for (int i = 0; i < old.items.count && !l->failed; i++) {
        kernel_stmt *s = old.items.at[i];
        int taken = l->table->subgroups ? 0 : legalize_butterfly(l, &old.items.at[i], old.items.count - i, b);
        if (taken) {
            i += taken - 1;
            continue;
        }
        if (!l->table->subgroups && legalize_batch(l, s, b))
            continue;
        l->done.count = 0;
        kernel_value *values[KERNEL_STMT_VALUES];
        for (int n = 0, all = kernel_stmt_values(s, values); n < all && !l->failed; n++)
            rewrite_value(l, values[n], b);
        for (int c = 0; c < s->contract_count && !l->failed; c++) {
            if (s->contract[c].value)
                rewrite_value(l, s->contract[c].value, b);
            for (int n = 0; n < s->contract[c].count && !l->failed; n++)
                rewrite_value(l, s->contract[c].values[n], b);
        }
        if (s->kind == KSTMT_BARRIER && s->scope == LEVEL_SUBGROUP && !s->participants && !l->table->subgroups) {
            if (!s->spaces) /* its lanes meet, and order nothing */
                continue;
            if (!l->divergent) {
                s->scope = LEVEL_BLOCK; /* which all threads reach, and which orders more */
                legalize_route(l, "barriers of a subgroup: of the block, for the target has no subgroups");
            }
        }
        if (legalize_may_split(l, s)) {
            rewrite_inner(l, &s->body, false, s->span);
            if (!l->failed)
                legalize_split(l, s, b);
            continue;
        }
        VEC_PUSH(l->kernel->arena, b->items, s);
        if (s->kind != KSTMT_LET)
            l->group = NULL;
        if (s->kind == KSTMT_LET || s->kind == KSTMT_ATOMIC)
            learn_let(l, s);
        if (s->body.items.count || s->otherwise.items.count)
            rewrite_nested(l, s);
    }
}

bool kernel_legalize(kernel_ir *k, const legal_table *table, legal_routes *routes, diag_list *diags) {
    legalizer l = {.kernel = k, .table = table, .routes = routes, .diags = diags};
    for (int i = 0; i < k->levels.count; i++)
        for (int d = 0; k->levels.at[i].kind != LEVEL_TASK && d < k->levels.at[i].rank; d++)
            VEC_PUSH(k->arena, l.varying, k->levels.at[i].ids[d]);
    legalize_copies(&l);
    legalize_fragments(&l);
    if (!l.failed)
        rewrite_block(&l, &k->body);
    if (!l.failed)
        kernel_settle_names(k);
    return !l.failed;
}
