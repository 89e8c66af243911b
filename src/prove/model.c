/* One walk over the kernel: regions, scopes and places. Sets are made later, when a property asks for them. */
#include "prove/walk.h"
#include <stdarg.h>
#include <string.h>

const char *model_text(model *m, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = arena_printf_va(m->arena, format, args);
    va_end(args);
    return text;
}

bool model_knows(const model *m, const index_var *v) {
    return v->id >= 0 && v->id < m->kernel->var_count && m->known[v->id] == v;
}

enum { MOST_NESTING = 200 };

static bool every_variable(const model *m, const index_expr *x, bool (*fits)(const void *context, const index_var *v),
                           const void *context, int nesting) {
    if (nesting > MOST_NESTING)
        return false;
    if (x->op == IX_CONST)
        return true;
    if (x->op != IX_VAR)
        return every_variable(m, x->a, fits, context, nesting + 1) && every_variable(m, x->b, fits, context, nesting + 1);
    const index_var *v = x->var;
    if (v->has_value || v->kind == INDEX_SYMBOL || v->kind == INDEX_SCALAR)
        return true;
    if (!model_knows(m, v))
        return false;
    return m->definition[v->id] ? every_variable(m, m->definition[v->id], fits, context, nesting + 1) : fits(context, v);
}

bool model_every_variable(const model *m, const index_expr *x, bool (*fits)(const void *context, const index_var *v),
                          const void *context) {
    return every_variable(m, x, fits, context, 0);
}

const index_expr *model_meaning(const model *m, const index_expr *x) {
    for (int i = 0; i < MOST_DEPTH && x->op == IX_VAR && model_knows(m, x->var) && m->definition[x->var->id]; i++)
        x = m->definition[x->var->id];
    return x;
}

void walk_beyond(model *m, source_span span, const char *what) {
    if (!m->beyond) {
        m->beyond = what;
        m->beyond_span = span;
    }
}

/* ---- which integer lets index expressions use ---- */

static void want_in(model *m, const index_expr *x, int nesting) {
    if (!x || nesting > 2 * MOST_DEPTH)
        return;
    if (x->op == IX_VAR) {
        const index_var *v = x->var;
        if (v->id >= 0 && v->id < m->kernel->var_count)
            m->wanted[v->id] = true;
        return;
    }
    want_in(m, x->a, nesting + 1);
    want_in(m, x->b, nesting + 1);
}

static void want_in_condition(model *m, const cond *c, int nesting) {
    if (!c || nesting > 2 * MOST_DEPTH)
        return;
    want_in(m, c->x, 0);
    want_in(m, c->y, 0);
    want_in_condition(m, c->a, nesting + 1);
    want_in_condition(m, c->b, nesting + 1);
}

static void want_index(void *context, index_expr **x) {
    want_in(context, *x, 0);
}
static void want_condition(void *context, cond **c) {
    want_in_condition(context, *c, 0);
}

static void want_block(model *m, const kernel_block *b, int depth) {
    kernel_visitor visitor = {.context = m, .index = want_index, .condition = want_condition};
    for (int i = 0; i < b->items.count && depth <= MOST_DEPTH; i++) {
        kernel_visit_stmt(b->items.at[i], &visitor);
        want_block(m, &b->items.at[i]->body, depth + 1);
        want_block(m, &b->items.at[i]->otherwise, depth + 1);
    }
}

/* ---- scopes and regions ---- */

scope *walk_scope(model *m, scope *parent, scope_kind kind, kernel_stmt *stmt, index_var *var) {
    scope *s = NEW(m->arena, scope);
    bool adds = kind == SCOPE_ID || kind == SCOPE_LOOP || kind == SCOPE_TRIP || kind == SCOPE_VALUE;
    s->parent = parent;
    s->kind = kind;
    s->depth = (parent ? parent->depth : 0) + adds;
    s->stmt = stmt;
    s->var = var;
    if (var && var->id >= 0 && var->id < m->kernel->var_count) {
        m->known[var->id] = var;
        m->position[var->id] = s->depth - 1;
        m->scope_of[var->id] = s;
    }
    VEC_PUSH(m->arena, m->scopes, s);
    return s;
}

const char *model_name(const scope *s, int dim) {
    for (; s; s = s->parent)
        if (s->depth == dim + 1 && (!s->parent || s->parent->depth == dim))
            return s->var ? s->var->name : "trip";
    return "?";
}

region *walk_region(model *m, region *parent, region_kind kind, scope *s, int depth, kernel_stmt *stmt) {
    region *r = NEW(m->arena, region);
    r->kind = kind;
    r->parent = parent;
    r->scope = s;
    r->depth = depth;
    r->stmt = stmt;
    r->touches = NEW_ARRAY(m->arena, unsigned char, m->kernel->arrays.count + 1);
    if (parent) {
        r->index = parent->children.count;
        VEC_PUSH(m->arena, parent->children, r);
    }
    return r;
}

static void find_parameters(model *m) {
    const kernel_ir *k = m->kernel;
    for (int i = 0; i < k->symbols.count; i++)
        VEC_PUSH(m->arena, m->parameters, k->symbols.at[i]);
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i].var)
            VEC_PUSH(m->arena, m->parameters, k->scalars.at[i].var);
    bool first = !sets_parameters(m->sets), same = true;
    for (int i = 0; i < m->parameters.count && (first || same); i++)
        same = (first || i < sets_parameters(m->sets)) && sets_declare(m->sets, m->parameters.at[i]->name) == i;
    if (!same || m->parameters.count != sets_parameters(m->sets))
        walk_beyond(m, k->span, "a plan whose kernels take other launch values, or in another order");
}

index_var *walk_new_var(model *m, const char *name, index_var_kind kind) {
    kernel_ir *k = (kernel_ir *)m->kernel; /* the model's own copy */
    index_var *v = NEW(m->arena, index_var);
    v->name = name;
    v->kind = kind;
    v->id = k->var_count < m->var_room ? k->var_count++ : -1;
    return v;
}

kernel_array *walk_new_array(model *m, const kernel_array *like) {
    kernel_array *x = NEW(m->arena, kernel_array);
    *x = *like;
    x->id = m->kernel->arrays.count;
    VEC_PUSH(m->arena, ((kernel_ir *)m->kernel)->arrays, x);
    return x;
}

/* A copy, whose lists of arrays and variables may grow. */
static kernel_ir *copy_of(arena *a, const kernel_ir *k) {
    kernel_ir *x = NEW(a, kernel_ir);
    *x = *k;
    memset(&x->arrays, 0, sizeof x->arrays);
    for (int i = 0; i < k->arrays.count; i++)
        VEC_PUSH(a, x->arrays, k->arrays.at[i]);
    return x;
}

static void count_threads(model *m) {
    const kernel_ir *k = m->kernel;
    for (int i = 0; i < k->levels.count; i++)
        m->thread_dims += k->levels.at[i].kind == LEVEL_TASK ? 0 : k->levels.at[i].rank;
    m->thread_extents = NEW_ARRAY(m->arena, int64_t, m->thread_dims + 1);
    m->thread_ids = NEW_ARRAY(m->arena, index_var *, m->thread_dims + 1);
    int n = 0;
    for (int i = 0; i < k->levels.count; i++) {
        const kernel_level *l = &k->levels.at[i];
        for (int j = 0; l->kind != LEVEL_TASK && j < l->rank; j++) {
            m->thread_ids[n] = l->ids[j];
            if (!ix_is_const(l->extents[j], &m->thread_extents[n++]))
                walk_beyond(m, k->span, "a level below the task whose extent is not a constant");
        }
        for (int kind = l->kind; l->kind != LEVEL_TASK && kind <= LEVEL_LANE; kind++)
            m->instance_dims[kind] = n;
    }
}

/* Task ids (outside `tasks` of a persistent kernel: the block's number), then the ids below the task. With `at`, regions too. */
static scope *id_scopes(model *m, scope *s, bool blocks, region **at) {
    const kernel_ir *k = m->kernel;
    for (int i = 0; i < k->levels.count; i++)
        for (int j = 0; j < k->levels.at[i].rank; j++) {
            const kernel_level *l = &k->levels.at[i];
            bool block = l->kind == LEVEL_TASK && blocks;
            int depth = s->depth;
            index_var *v = block ? walk_new_var(m, j ? "block_number_further" : "block_number", INDEX_ID) : l->ids[j];
            s = walk_scope(m, s, SCOPE_ID, NULL, v);
            s->extent = !block ? l->extents[j] : j ? ix_const(m->arena, 1) : k->grid;
            if (!at)
                continue;
            *at = walk_region(m, *at, REGION_LOOP, s, depth, NULL);
            (*at)->tasks = l->kind == LEVEL_TASK;
            (*at)->threads = l->kind != LEVEL_TASK;
            m->root = m->root ? m->root : *at;
        }
    return s;
}

model *model_new(arena *a, sets *s, const kernel_ir *original, const target_limits *limits, cond *launch) {
    model *m = NEW(a, model);
    kernel_ir *k = copy_of(a, original);
    *m = (model){.arena = a, .sets = s, .kernel = k, .limits = limits, .launch = launch, .persistent = k->grid != NULL};
    int vars = m->var_room = 2 * k->var_count + 8 * k->fragments.count + 64;
    m->known = NEW_ARRAY(a, index_var *, vars);
    m->definition = NEW_ARRAY(a, index_expr *, vars);
    m->loop = NEW_ARRAY(a, kernel_stmt *, vars);
    m->wanted = NEW_ARRAY(a, bool, vars);
    m->scope_of = NEW_ARRAY(a, scope *, vars);
    m->intervals = NEW_ARRAY(a, struct interval *, vars);
    m->position = NEW_ARRAY(a, int, vars);
    for (int i = 0; i < vars; i++)
        m->position[i] = -1;
    find_parameters(m);
    scope *root = walk_scope(m, NULL, SCOPE_ROOT, NULL, NULL);
    region *at = NULL;
    count_threads(m);
    for (int i = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->id != i)
            walk_beyond(m, k->arrays.at[i]->span, "arrays numbered out of order");
    if (m->persistent && !(k->levels.count && k->levels.at[0].kind == LEVEL_TASK && k->levels.at[0].rank))
        walk_beyond(m, k->span, "a persistent kernel without task ids");
    walk_views(m, original);
    walk_fragments(m, original);
    int arrays = k->arrays.count + 1;
    m->visiting = NEW_ARRAY(a, int, arrays);
    m->inexact = NEW_ARRAY(a, inexactness, arrays);
    m->stored = NEW_ARRAY(a, struct interval *, arrays);
    m->assumed = NEW_ARRAY(a, struct interval *, arrays);
    if (!m->beyond)
        want_block(m, &k->body, 0);
    if (!m->beyond && m->persistent)
        m->inside_tasks = id_scopes(m, root, false, NULL);
    for (int i = 0; i < k->levels.count; i++)
        m->task_dims += k->levels.at[i].kind == LEVEL_TASK ? k->levels.at[i].rank : 0;
    if (!m->beyond)
        root = id_scopes(m, root, m->persistent, &at);
    kernel_stmt *none = NEW(a, kernel_stmt);
    none->span = k->span;
    region *body = walk_region(m, at, REGION_SEQUENCE, root, root->depth, none);
    m->root = m->root ? m->root : body;
    walk w = {m, body, root, NULL, 0};
    if (!m->beyond)
        walk_block(&w, &k->body);
    if (!m->beyond)
        find_winners(m);
    return m;
}

bool model_touched(const model *m, const kernel_array *a, unsigned uses) {
    return m->root->touches[a->id] & uses;
}

bool model_is_object(const model *m, const kernel_array *a) {
    for (int i = 0; i < m->kernel->arrays.count && a->id > i; i++)
        if (m->object_of[i] == a)
            return true;
    return false;
}
