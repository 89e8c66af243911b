/* Loads that give the same in every trip of a loop are made once before it. A C compiler may not: where the load stands behind a guard, making it would read what
 * the program does not, and a loop with such a load becomes no vectors. */
#include "kernel/exchange.h"
#include "kernel/serialise.h"

enum { MOST_NESTING = 100 };

typedef struct hoist {
    kernel_ir *k;
    legal_routes *routes;
    const kernel_stmt *loop;
    kernel_block *before;      /* what is put before the loop */
    VEC(kernel_access) writes; /* of the loop */
    bool *bound;               /* variables that the loop gives values, by id */
    const char *opaque;        /* what stands in the loop that is not looked through; NULL: nothing */
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
        VEC_PUSH(h->k->arena, h->writes, *access);
}

static bool writes(const hoist *h, const kernel_array *array) {
    for (int i = 0; i < h->writes.count; i++)
        if (memory_of(h->writes.at[i].array) == memory_of(array))
            return true;
    return false;
}

/* Each trip goes on from what the one before it left in the cell: nobody would read that once. */
static bool is_carried(const hoist *h, const kernel_access *load) {
    for (int i = 0; i < h->writes.count; i++)
        if (kernel_same_cell(&h->writes.at[i], load))
            return true;
    return false;
}

static void note_var(hoist *h, const index_var *v) {
    if (v)
        h->bound[v->id] = true;
}

static void note_stmt(hoist *h, kernel_stmt *s, int nesting) {
    kernel_visitor visitor = {.context = h, .access = note_access};
    if (nesting > MOST_NESTING || s->kind == KSTMT_INTRINSIC || s->kind == KSTMT_FENCE || s->kind == KSTMT_BARRIER) {
        h->opaque = nesting > MOST_NESTING ? "loops nested too deeply" : kernel_stmt_names[s->kind];
        return;
    }
    kernel_visit_stmt(s, &visitor);
    note_var(h, s->var);
    note_var(h, s->row);
    note_var(h, s->column);
    for (int i = 0; i < s->body.items.count; i++)
        note_stmt(h, s->body.items.at[i], nesting + 1);
    for (int i = 0; i < s->otherwise.items.count; i++)
        note_stmt(h, s->otherwise.items.at[i], nesting + 1);
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

static bool changes(const hoist *h, const index_expr *x, int nesting) {
    if (x->op == IX_CONST)
        return false;
    if (x->op == IX_VAR || nesting > MOST_NESTING)
        return nesting > MOST_NESTING || h->bound[x->var->id];
    return changes(h, x->a, nesting + 1) || changes(h, x->b, nesting + 1);
}

/* A load of the task's own memory at a place that the loop does not change. */
static bool is_candidate(const hoist *h, const kernel_value *v) {
    const kernel_access *a = &v->access;
    if (v->op != KERNEL_LOAD || a->array->space != SPACE_PRIVATE || a->lanes != 1 || a->active || is_carried(h, a))
        return false;
    for (int d = 0; d < a->array->rank; d++)
        if (changes(h, a->indices[d], 0))
            return false;
    return true;
}

/* Why the load stays; NULL: it need not. */
static const char *refusal(const hoist *h, const kernel_value *v) {
    const kernel_access *a = &v->access;
    if (h->opaque)
        return arena_printf(h->k->arena, "there is a %s in the loop", h->opaque);
    if (writes(h, a->array))
        return "the loop writes other cells there";
    if (v->type == ELEMENT_INDEX)
        return "it is an index";
    for (int d = 0; d < a->array->rank; d++)
        if (!is_inside(a->indices[d], a->array->dims[d]))
            return "its place is not inside for certain where no guard holds";
    return NULL;
}

static const char *cell_text(const hoist *h, const kernel_access *a) {
    text_buffer text = {0};
    text_add(&text, "`%s", a->array->name);
    for (int d = 0; d < a->array->rank; d++) {
        text_add(&text, d ? ", " : "[");
        ix_print(&text, a->indices[d]);
    }
    text_add(&text, "%s`", a->array->rank ? "]" : "");
    const char *kept = arena_strdup(h->k->arena, text_get(&text));
    text_free(&text);
    return kept;
}

static void hoist_value(void *context, kernel_value *v) {
    hoist *h = context;
    if (!is_candidate(h, v))
        return;
    arena *a = h->k->arena;
    const char *why = refusal(h, v), *cell = cell_text(h, &v->access);
    if (why) {
        legal_route(a, h->routes,
                    arena_printf(a, "line %d: %s is read in each trip of the loop over `%s` (refused: once before it, %s)",
                                 v->span.line ? v->span.line : h->loop->span.line, cell, h->loop->var ? h->loop->var->name : "..",
                                 why));
        return;
    }
    kernel_stmt *let = NULL;
    for (int i = 0; i < h->before->items.count && !let; i++)
        if (kernel_same_cell(&h->before->items.at[i]->value->access, &v->access))
            let = h->before->items.at[i];
    if (!let) {
        let = kernel_let(h->k, h->before, v->access.array->name,
                         kernel_load(h->k, kernel_at(h->k, v->access.array, v->access.indices)), v->span);
        legal_route(a, h->routes,
                    arena_printf(a, "line %d: %s is read once before the loop over `%s` (refused: in each trip)",
                                 v->span.line ? v->span.line : h->loop->span.line, cell,
                                 h->loop->var ? h->loop->var->name : ".."));
    }
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

static bool hoist_block(kernel_ir *k, kernel_block *b, legal_routes *routes, int nesting) {
    bool any = false;
    kernel_block out = {0};
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        if (s->kind == KSTMT_FOR || s->kind == KSTMT_LOOP) {
            kernel_block before = {0};
            hoist h = {.k = k, .routes = routes, .loop = s, .before = &before};
            h.bound = NEW_ARRAY(k->arena, bool, k->var_count + 1);
            note_stmt(&h, s, nesting);
            hoist_inside(&h, &s->body);
            for (int n = 0; n < before.items.count; n++)
                VEC_PUSH(k->arena, out.items, before.items.at[n]);
            any = any || h.any;
        }
        if (nesting < MOST_NESTING) {
            any = hoist_block(k, &s->body, routes, nesting + 1) || any;
            any = hoist_block(k, &s->otherwise, routes, nesting + 1) || any;
        }
        VEC_PUSH(k->arena, out.items, s);
    }
    if (any)
        *b = out;
    return any;
}

bool kernel_hoist(kernel_ir *k, legal_routes *routes) {
    if (k->fragments.count || !hoist_block(k, &k->body, routes, 0))
        return false;
    kernel_settle_names(k);
    return true;
}
