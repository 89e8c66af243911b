/* One walk over the kernel: regions, scopes and places. Sets are made later, when a property asks for them. */
#include "prove/model.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { MOST_DEPTH = 200 };

const char *model_text(model *m, const char *format, ...)
{
    text_buffer b = {0};
    va_list args;
    va_start(args, format);
    text_add_va(&b, format, args);
    va_end(args);
    const char *text = arena_strdup(m->arena, text_get(&b));
    text_free(&b);
    return text;
}

bool model_knows(const model *m, const index_var *v)
{
    return v->id >= 0 && v->id < m->kernel->var_count && m->known[v->id] == v;
}

static void set_beyond(model *m, source_span span, const char *what)
{
    if (!m->beyond) {
        m->beyond = what;
        m->beyond_span = span;
    }
}

/* ---- which integer lets index expressions use ---- */

static void want_in(model *m, const index_expr *x, int nesting)
{
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

static void want_in_condition(model *m, const cond *c, int nesting)
{
    if (!c || nesting > 2 * MOST_DEPTH)
        return;
    want_in(m, c->x, 0);
    want_in(m, c->y, 0);
    want_in_condition(m, c->a, nesting + 1);
    want_in_condition(m, c->b, nesting + 1);
}

static void want_index(void *context, index_expr **x) { want_in(context, *x, 0); }
static void want_condition(void *context, cond **c) { want_in_condition(context, *c, 0); }

static void want_block(model *m, const kernel_block *b, int depth)
{
    kernel_visitor visitor = {.context = m, .index = want_index, .condition = want_condition};
    for (int i = 0; i < b->items.count && depth <= MOST_DEPTH; i++) {
        kernel_visit_stmt(b->items.at[i], &visitor);
        want_block(m, &b->items.at[i]->body, depth + 1);
        want_block(m, &b->items.at[i]->otherwise, depth + 1);
    }
}

/* ---- scopes and regions ---- */

static scope *new_scope(model *m, scope *parent, scope_kind kind, kernel_stmt *stmt, index_var *var)
{
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

const char *model_name(const scope *s, int dim)
{
    for (; s; s = s->parent)
        if (s->depth == dim + 1 && (!s->parent || s->parent->depth == dim))
            return s->var ? s->var->name : "trip";
    return "?";
}

static region *new_region(model *m, region *parent, region_kind kind, scope *s, int depth, kernel_stmt *stmt)
{
    region *r = NEW(m->arena, region);
    r->kind = kind;
    r->parent = parent;
    r->scope = s;
    r->depth = depth;
    r->stmt = stmt;
    r->touches = NEW_ARRAY(m->arena, unsigned char, m->kernel->arrays.count + 1);
    r->summaries = NEW_ARRAY(m->arena, summary *, m->kernel->arrays.count + 1);
    if (parent) {
        r->index = parent->children.count;
        VEC_PUSH(m->arena, parent->children, r);
    }
    return r;
}

typedef struct walk {
    model *m;
    region *sequence;
    scope *scope;
    scope *loop;  /* the innermost FOR or LOOP; NULL: none */
    int depth;
} walk;

static place *add_place(walk *w, region *step, const kernel_access *access, access_use use, source_span span)
{
    model *m = w->m;
    place *p = NEW(m->arena, place);
    *p = (place){.array = access->array, .use = use, .indices = access->indices, .lanes = access->lanes, .active = access->active,
                 .vector_dim = access->lanes > 1 ? access->vector_dim : -1, .scope = w->scope, .region = step, .stmt = step->stmt,
                 .span = span.line ? span : step->stmt->span};
    VEC_PUSH(m->arena, step->places, p);
    VEC_PUSH(m->arena, m->places, p);
    for (region *r = step; r; r = r->parent)
        r->touches[p->array->id] |= (unsigned char)use;
    if (p->array->view_of)
        set_beyond(m, p->span, "a second view of an array's bytes");
    return p;
}

static void add_loads(walk *w, region *step, const kernel_value *v, int depth)
{
    if (!v)
        return;
    if (depth > MOST_DEPTH) {
        set_beyond(w->m, v->span, "a value nested deeper than 200");
        return;
    }
    if (v->op >= KERNEL_SUBGROUP_SUM)
        set_beyond(w->m, v->span, v->op >= KERNEL_FRAGMENT_ELEMENT ? "fragments" : "subgroup operations");
    if (v->op == KERNEL_LOAD)
        add_place(w, step, &v->access, ACCESS_READ, v->span);
    for (int i = 0; i < v->operand_count; i++)
        add_loads(w, step, v->operands[i], depth + 1);
}

static void walk_block(walk *w, const kernel_block *b);

static void walk_inside(walk *w, const kernel_block *b, region *sequence, scope *s, scope *loop)
{
    walk inner = {w->m, sequence, s, loop, w->depth + 1};
    if (inner.depth > MOST_DEPTH)
        set_beyond(w->m, sequence->stmt->span, "statements nested deeper than 200");
    else
        walk_block(&inner, b);
}

static void walk_choice(walk *w, kernel_stmt *s, cond *guard)
{
    model *m = w->m;
    region *choice = new_region(m, w->sequence, guard ? REGION_CHOICE : REGION_MAYBE, w->scope, w->scope->depth, s);
    for (int branch = 0; branch < 2; branch++) {
        scope *inner = new_scope(m, w->scope, guard ? SCOPE_GUARD : SCOPE_DATA_GUARD, s, NULL);
        inner->guard = guard;
        inner->negated = branch;
        region *sequence = new_region(m, choice, REGION_SEQUENCE, inner, inner->depth, s);
        walk_inside(w, branch ? &s->otherwise : &s->body, sequence, inner, w->loop);
    }
}

static void walk_loop(walk *w, kernel_stmt *s)
{
    model *m = w->m;
    bool counted = s->kind == KSTMT_FOR;
    scope *inner = new_scope(m, w->scope, counted ? SCOPE_LOOP : SCOPE_TRIP, s, counted ? s->var : NULL);
    if (counted && model_knows(m, s->var))
        m->loop[s->var->id] = s;
    region *loop = new_region(m, w->sequence, REGION_LOOP, inner, w->scope->depth, s);
    region *sequence = new_region(m, loop, REGION_SEQUENCE, inner, inner->depth, s);
    walk_inside(w, &s->body, sequence, inner, inner);
}

static void walk_let(walk *w, kernel_stmt *s)
{
    model *m = w->m;
    region *step = new_region(m, w->sequence, REGION_STEP, w->scope, w->scope->depth, s);
    add_loads(w, step, s->value, 0);
    VEC_PUSH(m->arena, m->lets, ((let_place){s, w->scope}));
    index_var *v = s->var;
    if (!v || v->id < 0 || v->id >= m->kernel->var_count)
        return;
    m->known[v->id] = v;
    const kernel_value *x = s->value;
    if (x->op == KERNEL_INDEX)
        m->definition[v->id] = x->index;
    else if (x->op == KERNEL_REF && x->let->var && model_knows(m, x->let->var) &&
             (m->definition[x->let->var->id] || m->wanted[x->let->var->id]))
        m->definition[v->id] = ix_var(m->arena, x->let->var);
    else if (x->op == KERNEL_CONST && floor(x->number) == x->number && fabs(x->number) < 1e15)
        m->definition[v->id] = ix_const(m->arena, (int64_t)x->number);
    if (m->definition[v->id] || !m->wanted[v->id])
        return;
    /* What follows in this block sees one value per instance: a dimension of its own. */
    scope *inner = new_scope(m, w->scope, SCOPE_VALUE, s, v);
    region *value = new_region(m, w->sequence, REGION_VALUE, inner, w->scope->depth, s);
    w->sequence = new_region(m, value, REGION_SEQUENCE, inner, inner->depth, s);
    w->scope = inner;
}

static void walk_intrinsic(walk *w, kernel_stmt *s)
{
    region *step = new_region(w->m, w->sequence, REGION_STEP, w->scope, w->scope->depth, s);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < s->contract_count; i++) {
            contract_operand *c = &s->contract[i];
            if (c->asynchronous)
                set_beyond(w->m, s->span, "an asynchronous intrinsic");
            if (c->effect == CONTRACT_VALUE) {
                if (!pass)
                    add_loads(w, step, c->value, 0);
                continue;
            }
            bool reads = c->effect != CONTRACT_WRITES, writes = c->effect != CONTRACT_READS;
            if (pass ? writes : reads)
                add_place(w, step, &c->access, pass ? ACCESS_WRITE : ACCESS_READ, s->span)->extents = c->extents;
        }
}

static void walk_stmt(walk *w, kernel_stmt *s)
{
    model *m = w->m;
    region *step;
    switch (s->kind) {
    case KSTMT_LET: walk_let(w, s); break;
    case KSTMT_STORE:
        step = new_region(m, w->sequence, REGION_STEP, w->scope, w->scope->depth, s);
        add_loads(w, step, s->value, 0);
        add_place(w, step, &s->access, ACCESS_WRITE, s->span);
        break;
    case KSTMT_CONSUME:
        step = new_region(m, w->sequence, REGION_STEP, w->scope, w->scope->depth, s);
        add_place(w, step, &s->access, ACCESS_CONSUME, s->span);
        break;
    case KSTMT_FOR:
    case KSTMT_LOOP: walk_loop(w, s); break;
    case KSTMT_BREAK:
        if (w->loop)
            w->loop->may_stop = true;
        break;
    case KSTMT_IF: walk_choice(w, s, s->condition); break;
    case KSTMT_IF_VALUE:
        step = new_region(m, w->sequence, REGION_STEP, w->scope, w->scope->depth, s);
        add_loads(w, step, s->value, 0);
        walk_choice(w, s, value_condition(m, s->value));
        break;
    case KSTMT_INTRINSIC: walk_intrinsic(w, s); break;
    case KSTMT_COMMENT: break;
    default: set_beyond(m, s->span, model_text(m, "`%s`", kernel_stmt_names[s->kind])); break;
    }
}

static void walk_block(walk *w, const kernel_block *b)
{
    walk here = *w; /* a let may open a region for the rest of this block only */
    for (int i = 0; i < b->items.count && !here.m->beyond; i++)
        walk_stmt(&here, b->items.at[i]);
}

static void find_parameters(model *m)
{
    const kernel_ir *k = m->kernel;
    for (int i = 0; i < k->symbols.count; i++)
        VEC_PUSH(m->arena, m->parameters, k->symbols.at[i]);
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i].var)
            VEC_PUSH(m->arena, m->parameters, k->scalars.at[i].var);
    for (int i = 0; i < m->parameters.count; i++)
        sets_declare(m->sets, m->parameters.at[i]->name);
}

model *model_new(arena *a, sets *s, const kernel_ir *k, const target_limits *limits, cond *launch)
{
    model *m = NEW(a, model);
    int vars = k->var_count + 1, arrays = k->arrays.count + 1;
    *m = (model){.arena = a, .sets = s, .kernel = k, .limits = limits, .launch = launch};
    m->known = NEW_ARRAY(a, index_var *, vars);
    m->definition = NEW_ARRAY(a, index_expr *, vars);
    m->loop = NEW_ARRAY(a, kernel_stmt *, vars);
    m->wanted = NEW_ARRAY(a, bool, vars);
    m->scope_of = NEW_ARRAY(a, scope *, vars);
    m->intervals = NEW_ARRAY(a, struct interval *, vars);
    m->position = NEW_ARRAY(a, int, vars);
    for (int i = 0; i < vars; i++)
        m->position[i] = -1;
    m->visiting = NEW_ARRAY(a, int, arrays);
    m->inexact = NEW_ARRAY(a, inexactness, arrays);
    find_parameters(m);
    scope *root = new_scope(m, NULL, SCOPE_ROOT, NULL, NULL);
    region *at = NULL;
    if (k->levels.count != 1 || k->levels.at[0].kind != LEVEL_TASK)
        set_beyond(m, k->span, "levels below the task");
    if (k->grid)
        set_beyond(m, k->span, "persistent kernels");
    if (k->mbarriers.count)
        set_beyond(m, k->mbarriers.at[0]->span, "mbarriers");
    for (int i = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->id != i)
            set_beyond(m, k->arrays.at[i]->span, "arrays numbered out of order");
    if (!m->beyond)
        want_block(m, &k->body, 0);
    for (int i = 0; !m->beyond && i < k->levels.at[0].rank; i++) {
        int depth = root->depth;
        root = new_scope(m, root, SCOPE_ID, NULL, k->levels.at[0].ids[i]);
        root->extent = k->levels.at[0].extents[i];
        at = new_region(m, at, REGION_LOOP, root, depth, NULL);
        at->tasks = true;
        m->root = m->root ? m->root : at;
    }
    m->task_dims = root->depth;
    kernel_stmt *none = NEW(a, kernel_stmt);
    none->span = k->span;
    region *body = new_region(m, at, REGION_SEQUENCE, root, root->depth, none);
    m->root = m->root ? m->root : body;
    walk w = {m, body, root, NULL, 0};
    if (!m->beyond)
        walk_block(&w, &k->body);
    return m;
}

bool model_touched(const model *m, const kernel_array *a, unsigned uses) { return m->root->touches[a->id] & uses; }
