/* Registers of phis that nothing reads in the end. LLVM carries vectors from trip to trip of which every element is set anew before it is used: no access of the
 * source's, and in the first trip nothing that was ever set. */
#include "lift/lifter.h"
#include <string.h>

enum { MOST_NESTING = 200 };

/* What is live: lets by `uses`, registers by id. */
typedef struct liveness {
    bool *live;
    bool changed;
} liveness;

static bool is_cell(const kernel_array *a) {
    return a && a->space == SPACE_REGISTER && a->rank == 0;
}

static void mark_let(liveness *x, kernel_stmt *let) {
    if (let && !let->uses) {
        let->uses = 1;
        x->changed = true;
    }
}

static void mark_in_index(liveness *x, const index_expr *e, int nesting) {
    if (e->op == IX_CONST || nesting > MOST_NESTING)
        return;
    if (e->op == IX_VAR) {
        if (e->var->kind == INDEX_VALUE)
            mark_let(x, e->var->owner);
        return;
    }
    mark_in_index(x, e->a, nesting + 1);
    mark_in_index(x, e->b, nesting + 1);
}

static void mark_index(void *context, index_expr **e) {
    mark_in_index(context, *e, 0);
}

static void mark_in_condition(liveness *x, const cond *c, int nesting) {
    if (!c || nesting > MOST_NESTING)
        return;
    if (c->x) {
        mark_in_index(x, c->x, 0);
        mark_in_index(x, c->y, 0);
    }
    mark_in_condition(x, c->a, nesting + 1);
    mark_in_condition(x, c->b, nesting + 1);
}

static void mark_condition(void *context, cond **c) {
    mark_in_condition(context, *c, 0);
}

static void mark_value(void *context, kernel_value *v) {
    if (v->op == KERNEL_REF)
        mark_let(context, v->let);
}

static void mark_access(void *context, kernel_access *access, bool is_write) {
    liveness *x = context;
    if (!is_cell(access->array) || is_write || x->live[access->array->id])
        return;
    x->live[access->array->id] = x->changed = true;
}

static bool states_range(const kernel_stmt *let) {
    return let->var && (let->var->lo || let->var->hi);
}

/* Loads of memory, and what lanes exchange together. */
static bool is_judged(const kernel_value *v, int nesting) {
    if ((v->op == KERNEL_LOAD && !is_cell(v->access.array)) || !strcmp(kernel_op_table[v->op].kind, "subgroup") ||
        nesting > MOST_NESTING)
        return true;
    for (int i = 0; i < v->operand_count; i++)
        if (is_judged(v->operands[i], nesting + 1))
            return true;
    return false;
}

/* Those are judged whether or not anything uses them. */
static bool is_live(const liveness *x, const kernel_stmt *s) {
    if (s->kind == KSTMT_LET)
        return s->uses || states_range(s) || is_judged(s->value, 0);
    return s->kind != KSTMT_STORE || !is_cell(s->access.array) || x->live[s->access.array->id];
}

static void clear(kernel_block *b, int nesting) {
    for (int i = 0; i < b->items.count && nesting < MOST_NESTING; i++) {
        b->items.at[i]->uses = 0;
        clear(&b->items.at[i]->body, nesting + 1);
        clear(&b->items.at[i]->otherwise, nesting + 1);
    }
}

static void mark(liveness *x, kernel_block *b, int nesting) {
    const kernel_visitor visitor = {
        .context = x, .index = mark_index, .condition = mark_condition, .value = mark_value, .access = mark_access};
    for (int i = 0; i < b->items.count && nesting < MOST_NESTING; i++) {
        kernel_stmt *s = b->items.at[i];
        if (is_live(x, s))
            kernel_visit_stmt(s, &visitor);
        mark(x, &s->body, nesting + 1);
        mark(x, &s->otherwise, nesting + 1);
    }
}

static void sweep(const liveness *x, kernel_block *b, int nesting) {
    int kept = 0;
    if (nesting >= MOST_NESTING)
        return;
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        if ((s->kind == KSTMT_LET || s->kind == KSTMT_STORE) && !is_live(x, s))
            continue;
        sweep(x, &s->body, nesting + 1);
        sweep(x, &s->otherwise, nesting + 1);
        b->items.at[kept++] = s;
    }
    b->items.count = kept;
}

void lift_drop_unread(kernel_ir *k) {
    liveness x = {.live = NEW_ARRAY(k->arena, bool, k->arrays.count + 1), .changed = true};
    clear(&k->body, 0);
    while (x.changed) {
        x.changed = false;
        mark(&x, &k->body, 0);
    }
    sweep(&x, &k->body, 0);
    int kept = 0;
    for (int i = 0; i < k->arrays.count; i++) {
        kernel_array *a = k->arrays.at[i];
        if (is_cell(a) && !x.live[a->id])
            continue;
        k->arrays.at[kept++] = a;
    }
    k->arrays.count = kept;
    for (int i = 0; i < kept; i++)
        k->arrays.at[i]->id = i;
}
