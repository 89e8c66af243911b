/* Loads that give the same in every trip of a loop are made once before it. A C compiler may not: where the load stands behind a guard, making it would read what
 * the program does not, and a loop with such a load becomes no vectors. */
#include "kernel/serialise.h"

enum { MOST_NESTING = 100 };

typedef struct hoist {
    kernel_ir *k;
    kernel_block *before; /* what is put before the loop */
    bool *written;        /* arrays that the loop writes, by id of the memory behind views */
    bool *bound;          /* variables that the loop gives values, by id */
    bool any;
} hoist;

static const kernel_array *memory_of(const kernel_array *a) {
    for (int hops = 0; a->view_of && hops < MOST_NESTING; hops++)
        a = a->view_of;
    return a;
}

static void note_access(void *context, kernel_access *access, bool is_write) {
    hoist *h = context;
    if (is_write)
        h->written[memory_of(access->array)->id] = true;
}

static void note_var(hoist *h, const index_var *v) {
    if (v)
        h->bound[v->id] = true;
}

/* False: something stands in it that is not looked through. */
static bool note_stmt(hoist *h, kernel_stmt *s, int nesting) {
    kernel_visitor visitor = {.context = h, .access = note_access};
    if (nesting > MOST_NESTING || s->kind == KSTMT_INTRINSIC || s->kind == KSTMT_FENCE || s->kind == KSTMT_BARRIER)
        return false;
    kernel_visit_stmt(s, &visitor);
    note_var(h, s->var);
    note_var(h, s->row);
    note_var(h, s->column);
    for (int i = 0; i < s->body.items.count; i++)
        if (!note_stmt(h, s->body.items.at[i], nesting + 1))
            return false;
    for (int i = 0; i < s->otherwise.items.count; i++)
        if (!note_stmt(h, s->otherwise.items.at[i], nesting + 1))
            return false;
    return true;
}

/* Within the extent whatever the guards around the load say. */
static bool is_inside(const index_expr *x, const index_expr *extent) {
    int64_t lo, hi, cells;
    if (!ix_is_const(extent, &cells))
        return false;
    if (ix_is_const(x, &lo))
        return lo >= 0 && lo < cells;
    return x->op == IX_VAR && x->var->lo && x->var->hi && ix_is_const(x->var->lo, &lo) && ix_is_const(x->var->hi, &hi) &&
           lo >= 0 && hi < cells;
}

static bool is_invariant(const hoist *h, const kernel_value *v) {
    const kernel_access *a = &v->access;
    if (v->op != KERNEL_LOAD || a->array->space != SPACE_PRIVATE || a->lanes != 1 || a->active || v->type == ELEMENT_INDEX ||
        h->written[memory_of(a->array)->id])
        return false;
    for (int d = 0; d < a->array->rank; d++)
        if (!is_inside(a->indices[d], a->array->dims[d]) || (a->indices[d]->op == IX_VAR && h->bound[a->indices[d]->var->id]))
            return false;
    return true;
}

static bool same_load(const kernel_value *x, const kernel_value *y) {
    if (x->access.array != y->access.array || x->type != y->type)
        return false;
    for (int d = 0; d < x->access.array->rank; d++)
        if (!ix_equal(x->access.indices[d], y->access.indices[d]))
            return false;
    return true;
}

static void hoist_value(void *context, kernel_value *v) {
    hoist *h = context;
    if (!is_invariant(h, v))
        return;
    kernel_stmt *let = NULL;
    for (int i = 0; i < h->before->items.count && !let; i++)
        if (same_load(h->before->items.at[i]->value, v))
            let = h->before->items.at[i];
    if (!let)
        let = kernel_let(h->k, h->before, v->access.array->name,
                         kernel_load(h->k, kernel_at(h->k, v->access.array, v->access.indices)), v->span);
    *v = *kernel_ref(h->k, let);
    h->any = true;
}

static void hoist_inside(hoist *h, kernel_block *b) {
    kernel_visitor visitor = {.context = h, .value = hoist_value};
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        if (!(s->kind == KSTMT_LET && s->var)) /* an integer of index expressions stays where its variable is */
            kernel_visit_stmt(s, &visitor);
        hoist_inside(h, &s->body);
        hoist_inside(h, &s->otherwise);
    }
}

static bool hoist_block(kernel_ir *k, kernel_block *b, int nesting) {
    bool any = false;
    kernel_block out = {0};
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        if (s->kind == KSTMT_FOR || s->kind == KSTMT_LOOP) {
            kernel_block before = {0};
            hoist h = {.k = k, .before = &before};
            h.written = NEW_ARRAY(k->arena, bool, k->arrays.count + 1);
            h.bound = NEW_ARRAY(k->arena, bool, k->var_count + 1);
            if (note_stmt(&h, s, nesting))
                hoist_inside(&h, &s->body);
            for (int n = 0; n < before.items.count; n++)
                VEC_PUSH(k->arena, out.items, before.items.at[n]);
            any = any || h.any;
        }
        if (nesting < MOST_NESTING) {
            any = hoist_block(k, &s->body, nesting + 1) || any;
            any = hoist_block(k, &s->otherwise, nesting + 1) || any;
        }
        VEC_PUSH(k->arena, out.items, s);
    }
    if (any)
        *b = out;
    return any;
}

bool kernel_hoist(kernel_ir *k) {
    if (k->fragments.count || !hoist_block(k, &k->body, 0))
        return false;
    kernel_settle_names(k);
    return true;
}
