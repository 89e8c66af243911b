/* Blocks of threads as loops: regions between barriers, and what lives across them. */
#include "kernel/serialise.h"
#include "kernel/exchange.h"
#include <string.h>

enum { MOST_NESTING = 100, MOST_IDS = 8 };

/* What runs between two barriers: one loop nest over the threads. */
typedef struct region {
    int number;
    index_var *vars[MOST_IDS];
    kernel_block *body;    /* innermost */
    kernel_block reloaded; /* lets that begin it: what earlier regions computed */
} region;

typedef struct spill {
    kernel_stmt *let;
    kernel_array *array; /* NULL: not needed yet */
} spill;

typedef struct serial {
    kernel_ir *k;
    arena *arena;
    diag_list *diags;
    legal_routes *routes;
    bool failed, interchanges;
    int count; /* ids of threads */
    index_var *ids[MOST_IDS];
    index_expr *extents[MOST_IDS];
    VEC(region *) regions;
    VEC(spill) spills; /* of lets, by their `uses` */
    bool *by_thread;   /* arrays that get the threads as dimensions, by id */
    int *only_region;  /* the region that uses an array; -1: none, -2: several */
    region *now;
} serial;

static void refuse(serial *s, source_span span, const char *why) {
    if (s->failed)
        return;
    diag_error(s->diags, "E0552", span, "the threads of `%s` cannot run one after another: %s", s->k->name, why);
    s->failed = true;
}

static bool meets(const kernel_stmt *s, int nesting) {
    if (s->kind == KSTMT_BARRIER || nesting > MOST_NESTING)
        return true;
    for (int i = 0; i < s->body.items.count; i++)
        if (meets(s->body.items.at[i], nesting + 1))
            return true;
    for (int i = 0; i < s->otherwise.items.count; i++)
        if (meets(s->otherwise.items.at[i], nesting + 1))
            return true;
    return false;
}

/* ---- regions ---- */

static kernel_stmt *defining(const index_var *v) {
    kernel_stmt *let = v->kind == INDEX_VALUE ? v->owner : NULL;
    return let && let->kind == KSTMT_LET && let->value->op == KERNEL_INDEX ? let : NULL;
}

/* The same for all threads: over launch values, tasks and loops around barriers, integer lets written out. */
static index_expr *uniform(serial *s, index_expr *x, source_span span, int nesting) {
    if (s->failed || x->op == IX_CONST)
        return x;
    if (nesting > 2 * MOST_NESTING) {
        refuse(s, span, "an expression nested too deeply");
        return x;
    }
    if (x->op != IX_VAR)
        return ix_op2(s->arena, x->op, uniform(s, x->a, span, nesting + 1), uniform(s, x->b, span, nesting + 1));
    kernel_stmt *let = defining(x->var);
    if (let)
        return uniform(s, let->value->index, span, nesting + 1);
    for (int i = 0; i < s->count; i++)
        if (s->ids[i] == x->var)
            refuse(s, span, "a barrier stands in a loop or an `if` that is not the same for all of them");
    if (x->var->kind == INDEX_VALUE)
        refuse(s, span, "a barrier stands in a loop or an `if` that data decide");
    return x;
}

static cond *uniform_condition(serial *s, cond *c, source_span span, int nesting) {
    if (s->failed || nesting > MOST_NESTING)
        return c;
    switch (c->op) {
    case COND_TRUE: return c;
    case COND_NOT: return cond_not(s->arena, uniform_condition(s, c->a, span, nesting + 1));
    case COND_AND:
        return cond_and(s->arena, uniform_condition(s, c->a, span, nesting + 1), uniform_condition(s, c->b, span, nesting + 1));
    case COND_OR:
        return cond_or(s->arena, uniform_condition(s, c->a, span, nesting + 1), uniform_condition(s, c->b, span, nesting + 1));
    default: return cond_compare(s->arena, c->op, uniform(s, c->x, span, 0), uniform(s, c->y, span, 0));
    }
}

static region *new_region(serial *s, kernel_block *out, source_span span) {
    region *r = NEW(s->arena, region);
    r->number = s->regions.count;
    kernel_block *at = out;
    for (int i = 0; i < s->count; i++) {
        kernel_stmt *loop = kernel_for(s->k, at, s->ids[i]->name, ix_const(s->arena, 0), s->extents[i], 1, span);
        r->vars[i] = loop->var;
        at = &loop->body;
    }
    r->body = at;
    VEC_PUSH(s->arena, s->regions, r);
    return r;
}

/* Whether the loop of a region goes around the loops over threads; what was decided is a route. */
static bool interchanges(serial *s, kernel_stmt *x) {
    const char *why = "threads keep vectors, views or 64-bit integers of their own", *name = x->var ? x->var->name : NULL;
    bool good = s->interchanges && kernel_interchange(s->k, x, s->count, s->ids, s->extents, &why);
    if (good || (x->kind == KSTMT_FOR && why))
        legal_route(s->arena, s->routes,
                    good ? arena_printf(s->arena,
                                        "line %d: the loop over `%s` goes around the loop over threads (refused: within it)",
                                        x->span.line, name)
                         : arena_printf(s->arena,
                                        "line %d: the loop over `%s` stays within the loop over threads (refused: around it, %s)",
                                        x->span.line, name, why));
    return good;
}

static void cut(serial *s, kernel_block *b, int nesting) {
    kernel_block out = {0};
    region *r = NULL;
    for (int i = 0; i < b->items.count && !s->failed; i++) {
        kernel_stmt *x = b->items.at[i];
        if (x->kind == KSTMT_BARRIER) {
            if (x->participants)
                refuse(s, x->span, "a barrier of some threads only");
            r = NULL;
        } else if (!meets(x, 0) && !interchanges(s, x)) {
            r = r ? r : new_region(s, &out, x->span);
            VEC_PUSH(s->arena, r->body->items, x);
        } else if (nesting > MOST_NESTING) {
            refuse(s, x->span, "statements nested too deeply");
        } else if (x->kind == KSTMT_FOR) {
            x->lo = uniform(s, x->lo, x->span, 0);
            x->hi = uniform(s, x->hi, x->span, 0);
            x->step = uniform(s, x->step, x->span, 0);
            cut(s, &x->body, nesting + 1);
            VEC_PUSH(s->arena, out.items, x);
            r = NULL;
        } else if (x->kind == KSTMT_IF) {
            x->condition = uniform_condition(s, x->condition, x->span, 0);
            cut(s, &x->body, nesting + 1);
            cut(s, &x->otherwise, nesting + 1);
            VEC_PUSH(s->arena, out.items, x);
            r = NULL;
        } else {
            refuse(s, x->span, "a barrier stands where data decide");
        }
    }
    *b = out;
}

/* ---- what stands in which region ---- */

static void each(serial *s, kernel_block *b, const kernel_visitor *visitor,
                 void (*first)(serial *s, kernel_stmt *x, kernel_block *b, int at), int nesting) {
    for (int i = 0; i < b->items.count && nesting <= MOST_NESTING && !s->failed; i++) {
        kernel_stmt *x = b->items.at[i];
        if (first)
            first(s, x, b, i);
        if (visitor)
            kernel_visit_stmt(x, visitor);
        each(s, &x->body, visitor, first, nesting + 1);
        each(s, &x->otherwise, visitor, first, nesting + 1);
    }
}

/* Values may be shared between statements: each gets its own, since regions rewrite them. */
static void unshare(serial *s, kernel_stmt *x, kernel_block *b, int at) {
    (void)b;
    (void)at;
    if (!kernel_unshare(s->arena, x))
        refuse(s, x->span, "a value nested too deeply");
}

static void note_access(void *context, kernel_access *access, bool is_write) {
    serial *s = context;
    int *only = &s->only_region[access->array->id];
    (void)is_write;
    *only = *only == -1 || *only == s->now->number ? s->now->number : -2;
}

static void note_stmt(serial *s, kernel_stmt *x, kernel_block *b, int at) {
    (void)b;
    (void)at;
    switch (x->kind) {
    case KSTMT_LET: {
        spill fresh = {.let = x};
        x->uses = s->spills.count; /* its place in the table */
        VEC_PUSH(s->arena, s->spills, fresh);
        if (kernel_stmt_exchanges(x))
            refuse(s, x->span, "lanes exchange values");
        break;
    }
    case KSTMT_LOOP: /* they run one after another: nobody else would end it */
        if (kernel_waits_for(x, s->k->arrays.count, s->arena))
            refuse(s, x->span, "a loop may wait for what another of them does");
        break;
    case KSTMT_STORE:
    case KSTMT_FOR:
    case KSTMT_BREAK:
    case KSTMT_IF:
    case KSTMT_IF_VALUE:
    case KSTMT_COMMENT:
        if (kernel_stmt_exchanges(x))
            refuse(s, x->span, "lanes exchange values");
        break;
    case KSTMT_FENCE:
        if (x->scope == LEVEL_TASK)
            refuse(s, x->span, "a fence between blocks");
        break;
    case KSTMT_ATOMIC: {
        if (kernel_stmt_exchanges(x))
            refuse(s, x->span, "lanes exchange values");
        if (x->access.array->element == ELEMENT_I64 && x->access.array->space != SPACE_GLOBAL)
            refuse(s, x->span, "an atomic on 64-bit integers of the block's own");
        spill fresh = {.let = x};
        x->uses = s->spills.count;
        VEC_PUSH(s->arena, s->spills, fresh);
        break;
    }
    default: refuse(s, x->span, kernel_stmt_names[x->kind]); break;
    }
}

/* A register whose region begins by writing it lives in that region alone. */
static bool begins_with_store(const region *r, const kernel_array *a) {
    for (int i = 0; i < r->body->items.count; i++) {
        const kernel_stmt *x = r->body->items.at[i];
        if (x->kind == KSTMT_STORE && x->access.array == a)
            return true;
        if (x->kind == KSTMT_FOR || x->kind == KSTMT_LOOP || x->kind == KSTMT_IF || x->kind == KSTMT_IF_VALUE)
            return false;
    }
    return false;
}

/* ---- rewriting ---- */

static index_expr **thread_indices(serial *s, const region *r, index_expr **own, int rank) {
    index_expr **indices = NEW_ARRAY(s->arena, index_expr *, s->count + rank + 1);
    for (int i = 0; i < s->count; i++)
        indices[i] = ix_var(s->arena, r->vars[i]);
    for (int i = 0; i < rank; i++)
        indices[s->count + i] = own[i];
    return indices;
}

/* Lets, and atomics whose old values are wanted. */
static bool names_value(const kernel_stmt *x) {
    return x->kind == KSTMT_LET || (x->kind == KSTMT_ATOMIC && x->name);
}

static kernel_value *named_value(serial *s, kernel_stmt *x) {
    kernel_value *v = NEW(s->arena, kernel_value);
    element_type type = x->kind == KSTMT_ATOMIC ? x->access.array->element : x->value->type;
    *v = (kernel_value){
        .op = KERNEL_REF, .type = type, .lanes = x->kind == KSTMT_ATOMIC ? 1 : x->value->lanes, .let = x, .span = x->span};
    return v;
}

static int region_of(const serial *s, const kernel_stmt *let) {
    return let->count ? (int)let->count - 1 : s->now->number; /* noted before anything was rewritten */
}

/* A let of an earlier region, in this one. */
static kernel_stmt *reloaded(serial *s, kernel_stmt *let) {
    for (int i = 0; i < s->now->reloaded.items.count; i++)
        if (s->now->reloaded.items.at[i]->phase == (index_expr *)(void *)let)
            return s->now->reloaded.items.at[i];
    bool atomic = let->kind == KSTMT_ATOMIC;
    element_type type = atomic ? let->access.array->element : let->value->type;
    if (let->uses < 0 || let->uses >= s->spills.count || s->spills.at[let->uses].let != let || type == ELEMENT_INDEX ||
        (!atomic && let->value->lanes != 1)) {
        refuse(s, let->span, "a 64-bit integer from memory lives across a barrier");
        return let;
    }
    spill *p = &s->spills.at[let->uses];
    if (!p->array)
        p->array = kernel_add_array(s->k, let->name, SPACE_PRIVATE, USE_LOCAL, type, s->count, s->extents);
    kernel_value *load = kernel_load(s->k, kernel_at(s->k, p->array, thread_indices(s, s->now, NULL, 0)));
    kernel_stmt *fresh = kernel_let(s->k, &s->now->reloaded, let->name, load, let->span);
    fresh->phase = (index_expr *)(void *)let; /* whose it is, while this pass runs */
    fresh->count = s->now->number + 1;
    fresh->uses = -1;
    return fresh;
}

/* An id as another region has it: what that computed has been rewritten already. */
static bool is_of_thread(const serial *s, int i, const index_var *v) {
    for (int r = 0; v->kind == INDEX_LOOP && r < s->regions.count; r++)
        if (s->regions.at[r]->vars[i] == v)
            return true;
    return false;
}

static index_expr *rewritten(serial *s, index_expr *x, int nesting) {
    if (s->failed || x->op == IX_CONST || nesting > 2 * MOST_NESTING)
        return x;
    if (x->op != IX_VAR) {
        index_expr *a = rewritten(s, x->a, nesting + 1), *b = rewritten(s, x->b, nesting + 1);
        return a == x->a && b == x->b ? x : ix_op2(s->arena, x->op, a, b);
    }
    for (int i = 0; i < s->count; i++)
        if (s->ids[i] == x->var || is_of_thread(s, i, x->var))
            return ix_var(s->arena, s->now->vars[i]);
    kernel_stmt *let = x->var->kind == INDEX_VALUE ? x->var->owner : NULL;
    if (!let || !names_value(let) || region_of(s, let) == s->now->number)
        return x;
    if (let->kind == KSTMT_LET && let->value->op == KERNEL_INDEX) /* computed again */
        return rewritten(s, let->value->index, nesting + 1);
    kernel_stmt *fresh = reloaded(s, let);
    return fresh->var ? ix_var(s->arena, fresh->var) : x;
}

static void rewrite_index(void *context, index_expr **x) {
    *x = rewritten(context, *x, 0);
}

static cond *rewritten_condition(serial *s, cond *c, int nesting) {
    if (c->op == COND_TRUE || nesting > MOST_NESTING)
        return c;
    if (c->op == COND_NOT)
        return cond_not(s->arena, rewritten_condition(s, c->a, nesting + 1));
    if (c->op == COND_AND)
        return cond_and(s->arena, rewritten_condition(s, c->a, nesting + 1), rewritten_condition(s, c->b, nesting + 1));
    if (c->op == COND_OR)
        return cond_or(s->arena, rewritten_condition(s, c->a, nesting + 1), rewritten_condition(s, c->b, nesting + 1));
    return cond_compare(s->arena, c->op, rewritten(s, c->x, 0), rewritten(s, c->y, 0));
}

static void rewrite_condition(void *context, cond **c) {
    *c = rewritten_condition(context, *c, 0);
}

static void rewrite_value(void *context, kernel_value *v) {
    serial *s = context;
    if (v->op == KERNEL_REF && names_value(v->let) && region_of(s, v->let) != s->now->number) {
        if (v->let->kind == KSTMT_LET && v->let->value->op == KERNEL_INDEX) {
            v->op = KERNEL_INDEX;
            v->index = rewritten(s, v->let->value->index, 0);
            v->let = NULL;
        } else {
            v->let = reloaded(s, v->let);
        }
    }
}

static void rewrite_access(void *context, kernel_access *access, bool is_write) {
    serial *s = context;
    (void)is_write;
    if (s->by_thread[access->array->id])
        access->indices = thread_indices(s, s->now, access->indices, access->array->rank);
}

/* Atomics of one thread after another. Those on memory that other tasks reach stay atomic. */
static void plain_update(serial *s, kernel_stmt *x, kernel_block *b, int at) {
    if (x->kind != KSTMT_ATOMIC || x->access.array->space == SPACE_GLOBAL)
        return;
    if (kernel_only_writes(x)) {
        x->kind = KSTMT_STORE;
        return;
    }
    kernel_stmt *store = NEW(s->arena, kernel_stmt);
    kernel_value *old = kernel_load(s->k, kernel_at(s->k, x->access.array, x->access.indices)), *given = x->value,
                 *expected = x->expected;
    *store = (kernel_stmt){.kind = KSTMT_STORE, .span = x->span, .access = kernel_at(s->k, x->access.array, x->access.indices)};
    const char *name = x->name ? x->name : "old";
    const kernel_op op = x->combine;
    index_var *var = x->var;
    *x = (kernel_stmt){.kind = KSTMT_LET,
                       .span = x->span,
                       .name = name,
                       .value = old,
                       .var = var,
                       .count = s->now->number + 1,
                       .uses = s->spills.count};
    spill fresh = {.let = x};
    VEC_PUSH(s->arena, s->spills, fresh);
    if (!x->var && !element_table[old->type].is_float) {
        x->var = kernel_new_var(s->k, name, INDEX_VALUE);
        x->var->owner = x;
        x->var->span = x->span;
    }
    store->value = kernel_atomic_result(s->k, op, kernel_ref(s->k, x), expected, given);
    VEC_PUSH(s->arena, b->items, store);
    for (int i = b->items.count - 1; i > at + 1; i--)
        b->items.at[i] = b->items.at[i - 1];
    b->items.at[at + 1] = store;
}

static void note_region(serial *s, kernel_stmt *x, kernel_block *b, int at) {
    (void)b;
    (void)at;
    if (names_value(x))
        x->count = s->now->number + 1;
}

static void drop_fences(kernel_block *b, int nesting) {
    int kept = 0;
    for (int i = 0; i < b->items.count; i++) {
        if (b->items.at[i]->kind == KSTMT_FENCE)
            continue;
        if (nesting < MOST_NESTING) {
            drop_fences(&b->items.at[i]->body, nesting + 1);
            drop_fences(&b->items.at[i]->otherwise, nesting + 1);
        }
        b->items.at[kept++] = b->items.at[i];
    }
    b->items.count = kept;
}

/* A value that later regions want is stored where it is computed. */
static void store_spilled(serial *s, kernel_stmt *x, kernel_block *b, int at) {
    if (!names_value(x) || x->uses < 0 || x->uses >= s->spills.count || s->spills.at[x->uses].let != x ||
        !s->spills.at[x->uses].array)
        return;
    kernel_stmt *store = NEW(s->arena, kernel_stmt);
    *store = (kernel_stmt){.kind = KSTMT_STORE, .span = x->span, .value = named_value(s, x)};
    store->access = kernel_at(s->k, s->spills.at[x->uses].array, thread_indices(s, s->now, NULL, 0));
    VEC_PUSH(s->arena, b->items, store);
    for (int i = b->items.count - 1; i > at + 1; i--)
        b->items.at[i] = b->items.at[i - 1];
    b->items.at[at + 1] = store;
}

/* An array that is seen as elements of several widths, each view of rank 1 from its beginning: its rows, one for each thread, get so many bytes that each
 * view's row begins where its own does. False: it has no views. */
static bool even_rows(serial *s, kernel_array *a, int arrays) {
    kernel_array *root = a->view_of ? a->view_of : a;
    int64_t bytes = 0, widest = 1, cells;
    bool views = false;
    for (int i = 0; i < arrays; i++) {
        const kernel_array *x = s->k->arrays.at[i];
        if (x != root && x->view_of != root)
            continue;
        if (x->rank != 1 || x->view_offset || !ix_is_const(x->dims[0], &cells))
            return false;
        views = views || x != root;
        int64_t size = element_table[x->element].block_bytes;
        widest = size > widest ? size : widest;
        bytes = cells * size > bytes ? cells * size : bytes;
    }
    if (!views)
        return false;
    int64_t row = (bytes + widest - 1) / widest * widest;
    a->dims[0] = ix_const(s->arena, row / element_table[a->element].block_bytes);
    return true;
}

static void settle_arrays(serial *s, int arrays) {
    for (int i = 0; i < arrays; i++) {
        kernel_array *a = s->k->arrays.at[i];
        bool own = a->space == SPACE_REGISTER || a->space == SPACE_PRIVATE;
        if (a->space == SPACE_SHARED)
            a->space = SPACE_PRIVATE;
        bool viewed = own && even_rows(s, a, arrays); /* what is stored through one view is read through another */
        if (!own || (!viewed && s->only_region[i] >= 0 && begins_with_store(s->regions.at[s->only_region[i]], a)))
            continue;
        if (a->lanes > 1 || (a->view_of && (a->view_offset || !viewed)) || a->layout.kind != LAYOUT_ROW) {
            refuse(s, a->span, "an array of vectors, a view further in or a layout of a thread's own");
            return;
        }
        s->by_thread[i] = true;
    }
}

/* A thread's own arrays get the threads as outer dimensions. */
static void widen_arrays(serial *s, int arrays) {
    for (int i = 0; i < arrays; i++) {
        kernel_array *a = s->k->arrays.at[i];
        if (!s->by_thread[i])
            continue;
        index_expr **dims = NEW_ARRAY(s->arena, index_expr *, a->rank + s->count);
        for (int d = 0; d < s->count; d++)
            dims[d] = s->extents[d];
        for (int d = 0; d < a->rank; d++)
            dims[s->count + d] = a->dims[d];
        a->dims = dims;
        a->rank += s->count;
        a->space = SPACE_PRIVATE;
    }
}

/* What this pass noted in statements. */
static void forget(serial *s, kernel_stmt *x, kernel_block *b, int at) {
    (void)b;
    (void)at;
    if (names_value(x))
        x->count = 0;
    if (x->kind == KSTMT_FOR) {
        x->var->lo = x->lo;
        x->var->hi = ix_sub(s->arena, x->hi, ix_const(s->arena, 1));
    }
}

bool kernel_serialise(kernel_ir *k, legal_routes *routes, diag_list *diags) {
    serial s = {.k = k, .arena = k->arena, .routes = routes, .diags = diags};
    if (k->levels.count < 2)
        return true;
    if (k->grid || k->fragments.count || k->mbarriers.count)
        refuse(&s, k->span, "it is persistent, or has fragments or mbarriers");
    for (int i = 1; i < k->levels.count; i++)
        for (int d = 0; d < k->levels.at[i].rank && !s.failed; d++) {
            if (s.count == MOST_IDS) {
                refuse(&s, k->span, "they have more than 8 ids");
                break;
            }
            s.ids[s.count] = k->levels.at[i].ids[d];
            s.extents[s.count++] = k->levels.at[i].extents[d];
        }
    s.interchanges = kernel_may_interchange(k);
    if (!s.failed)
        cut(&s, &k->body, 0);
    int arrays = k->arrays.count;
    s.only_region = NEW_ARRAY(s.arena, int, arrays + 1);
    s.by_thread = NEW_ARRAY(s.arena, bool, arrays + 1);
    for (int i = 0; i < arrays; i++)
        s.only_region[i] = -1;
    kernel_visitor note = {.context = &s, .access = note_access};
    for (int i = 0; i < s.regions.count && !s.failed; i++) {
        s.now = s.regions.at[i];
        each(&s, s.now->body, NULL, unshare, 0);
        each(&s, s.now->body, &note, note_stmt, 0);
        each(&s, s.now->body, NULL, note_region, 0);
        each(&s, s.now->body, NULL, plain_update, 0);
        drop_fences(s.now->body, 0);
    }
    if (!s.failed)
        settle_arrays(&s, arrays);
    kernel_visitor rewrite = {.context = &s, .index = rewrite_index, .condition = rewrite_condition, .value = rewrite_value};
    kernel_visitor places = {.context = &s, .access = rewrite_access};
    for (int i = 0; i < s.regions.count && !s.failed; i++) {
        s.now = s.regions.at[i];
        each(&s, s.now->body, &places, NULL, 0);
    }
    widen_arrays(&s, arrays);
    for (int i = 0; i < s.regions.count && !s.failed; i++) {
        s.now = s.regions.at[i];
        each(&s, s.now->body, &rewrite, NULL, 0);
    }
    if (s.failed)
        return false;
    for (int i = 0; i < s.regions.count; i++) {
        s.now = s.regions.at[i];
        each(&s, s.now->body, NULL, store_spilled, 0);
        kernel_block *b = s.now->body, whole = {0};
        for (int j = 0; j < s.now->reloaded.items.count; j++) {
            s.now->reloaded.items.at[j]->phase = NULL;
            s.now->reloaded.items.at[j]->count = 0;
            VEC_PUSH(s.arena, whole.items, s.now->reloaded.items.at[j]);
        }
        for (int j = 0; j < b->items.count; j++)
            VEC_PUSH(s.arena, whole.items, b->items.at[j]);
        *b = whole;
    }
    each(&s, &k->body, NULL, forget, 0);
    k->levels.count = 1;
    k->serialised = true;
    kernel_settle_names(k);
    return true;
}
