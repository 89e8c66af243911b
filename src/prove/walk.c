/* The walk over statements: regions, scopes and places. Order and fragments stand in walk_order.c. */
#include "prove/walk.h"
#include <math.h>

region *walk_step(walk *w, kernel_stmt *s) {
    return walk_region(w->m, w->sequence, REGION_STEP, w->scope, w->scope->depth, s);
}

void walk_touch(place *p) {
    bool plain = !p->asynchronous && !p->atomic && !p->collective;
    unsigned uses = (unsigned)p->use;
    if (plain && p->use == ACCESS_READ)
        uses |= ACCESS_PLAIN_READ;
    if (plain && p->use == ACCESS_WRITE)
        uses |= ACCESS_PLAIN_WRITE;
    for (region *r = p->region; r; r = r->parent)
        r->touches[p->array->id] |= (unsigned char)uses;
}

place *walk_new_place(walk *w, region *step, const kernel_access *access, access_use use, source_span span) {
    place *p = NEW(w->m->arena, place);
    *p = (place){.array = access->array,
                 .use = use,
                 .indices = access->indices,
                 .lanes = access->lanes,
                 .active = access->active,
                 .aligned = access->aligned,
                 .vector_dim = access->lanes > 1 ? access->vector_dim : -1,
                 .scope = step->scope,
                 .region = step,
                 .stmt = step->stmt,
                 .span = span.line ? span : step->stmt->span};
    return p;
}

place *walk_place(walk *w, region *step, const kernel_access *access, access_use use, source_span span) {
    model *m = w->m;
    place *p = walk_new_place(w, step, access, use, span);
    VEC_PUSH(m->arena, step->places, p);
    VEC_PUSH(m->arena, m->places, p);
    return p;
}

/* A place whose flags need no setting. */
static void simple_place(walk *w, region *step, const kernel_access *access, access_use use, source_span span,
                         const kernel_value *load) {
    place *p = walk_place(w, step, access, use, span), *bytes = walk_view_place(w, step, p);
    p->load = load;
    walk_touch(p);
    if (bytes)
        walk_touch(bytes);
}

void walk_loads(walk *w, region *step, const kernel_value *v, int depth) {
    model *m = w->m;
    if (!v)
        return;
    if (depth > MOST_DEPTH) {
        walk_beyond(m, v->span, "a value nested deeper than 200");
        return;
    }
    if (v->op >= KERNEL_SUBGROUP_SUM && v->op < KERNEL_FRAGMENT_ELEMENT)
        VEC_PUSH(m->arena, m->exchanges, ((exchange){v, step->stmt, step->scope}));
    if (v->op == KERNEL_FRAGMENT_ELEMENT || v->op == KERNEL_LANE_VIEW)
        walk_fragment_value(w, step, v);
    if (v->op == KERNEL_LOAD)
        simple_place(w, step, &v->access, ACCESS_READ, v->span, v);
    for (int i = 0; i < v->operand_count; i++)
        walk_loads(w, step, v->operands[i], depth + 1);
}

void walk_inside(walk *w, const kernel_block *b, region *sequence, scope *s, scope *loop) {
    walk inner = {w->m, sequence, s, loop, w->depth + 1};
    if (inner.depth > MOST_DEPTH)
        walk_beyond(w->m, sequence->stmt->span, "statements nested deeper than 200");
    else
        walk_block(&inner, b);
}

static void walk_choice(walk *w, kernel_stmt *s, cond *guard) {
    model *m = w->m;
    region *choice = walk_region(m, w->sequence, guard ? REGION_CHOICE : REGION_MAYBE, w->scope, w->scope->depth, s);
    for (int branch = 0; branch < 2; branch++) {
        scope *inner = walk_scope(m, w->scope, guard ? SCOPE_GUARD : SCOPE_DATA_GUARD, s, NULL);
        inner->guard = guard;
        inner->negated = branch;
        region *sequence = walk_region(m, choice, REGION_SEQUENCE, inner, inner->depth, s);
        walk_inside(w, branch ? &s->otherwise : &s->body, sequence, inner, w->loop);
    }
}

/* ---- loops ---- */

/* Whether threads meet somewhere inside. */
static bool threads_meet(const kernel_block *b, int depth) {
    for (int i = 0; i < b->items.count && depth <= MOST_DEPTH; i++) {
        const kernel_stmt *s = b->items.at[i];
        bool meets = s->kind == KSTMT_BARRIER || s->kind == KSTMT_COMMIT || s->kind == KSTMT_WAIT_ASYNC ||
                     s->kind == KSTMT_MBARRIER_ARRIVE || s->kind == KSTMT_MBARRIER_WAIT || kernel_is_fragment_stmt(s) ||
                     kernel_is_of_block(s);
        if (meets || kernel_stmt_exchanges(s) || threads_meet(&s->body, depth + 1) || threads_meet(&s->otherwise, depth + 1))
            return true;
    }
    return false;
}

/* Whether the value may differ between the threads of a block. */
static bool differs(model *m, const index_expr *x, int nesting) {
    if (nesting > 2 * MOST_DEPTH)
        return true;
    if (x->op == IX_CONST)
        return false;
    if (x->op != IX_VAR)
        return differs(m, x->a, nesting + 1) || differs(m, x->b, nesting + 1);
    const index_var *v = x->var;
    if (v->has_value || v->kind == INDEX_SYMBOL || v->kind == INDEX_SCALAR || !model_knows(m, v))
        return false;
    if (m->definition[v->id])
        return differs(m, m->definition[v->id], nesting + 1);
    const scope *s = m->scope_of[v->id];
    return s && (s->kind == SCOPE_VALUE || (s->kind == SCOPE_ID && s->depth > m->task_dims));
}

/* A loop in which threads meet, but which each begins at a place of its own: its trips are what they have in common. */
static kernel_stmt *loop_of_trips(model *m, kernel_stmt *s) {
    int64_t step;
    if (!m->thread_dims || !ix_is_const(s->step, &step) || step <= 0 || !differs(m, s->lo, 0) || !threads_meet(&s->body, 0))
        return NULL;
    index_var *trip = walk_new_var(m, model_text(m, "%s_trip", s->var->name), INDEX_LOOP);
    if (trip->id < 0 || !model_knows(m, s->var))
        return NULL;
    kernel_stmt *t = NEW(m->arena, kernel_stmt);
    arena *a = m->arena;
    *t = *s;
    t->var = trip;
    t->lo = ix_const(a, 0);
    t->hi = ix_ceildiv(a, ix_sub(a, s->hi, s->lo), s->step);
    t->step = ix_const(a, 1);
    m->definition[s->var->id] = ix_add(a, s->lo, ix_mul(a, s->step, ix_var(a, trip)));
    return t;
}

static void walk_loop(walk *w, kernel_stmt *s) {
    model *m = w->m;
    bool counted = s->kind == KSTMT_FOR;
    if (counted && s->var->id >= 0 && s->var->id < m->kernel->var_count)
        m->known[s->var->id] = s->var;
    kernel_stmt *trips = counted ? loop_of_trips(m, s) : NULL, *of = trips ? trips : s;
    scope *inner = walk_scope(m, w->scope, counted ? SCOPE_LOOP : SCOPE_TRIP, of, counted ? of->var : NULL);
    inner->counted = trips ? s : NULL;
    if (counted && model_knows(m, of->var))
        m->loop[of->var->id] = of;
    region *loop = walk_region(m, w->sequence, REGION_LOOP, inner, w->scope->depth, s);
    region *sequence = walk_region(m, loop, REGION_SEQUENCE, inner, inner->depth, s);
    walk_inside(w, &s->body, sequence, inner, inner);
}

/* ---- lets, contracts ---- */

static void walk_let(walk *w, kernel_stmt *s) {
    model *m = w->m;
    region *step = walk_step(w, s);
    walk_loads(w, step, s->value, 0);
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
    scope *inner = walk_scope(m, w->scope, SCOPE_VALUE, s, v);
    region *value = walk_region(m, w->sequence, REGION_VALUE, inner, w->scope->depth, s);
    w->sequence = walk_region(m, value, REGION_SEQUENCE, inner, inner->depth, s);
    w->scope = inner;
}

/* What the reference touches, as claims that the contract names it: places of their own, which no property but bounds looks at. */
static place *claim_access(walk *w, region *step, kernel_stmt *intrinsic, const kernel_access *access, access_use use,
                           source_span span) {
    place *p = walk_new_place(w, step, access, use, span);
    VEC_PUSH(w->m->arena, w->m->claims, ((claim){p, intrinsic}));
    return p;
}

static void claim_loads(walk *w, region *step, kernel_stmt *intrinsic, const kernel_value *v, int depth) {
    if (!v || depth > MOST_DEPTH)
        return;
    if (v->op == KERNEL_LOAD)
        claim_access(w, step, intrinsic, &v->access, ACCESS_READ, v->span);
    for (int i = 0; i < v->operand_count; i++)
        claim_loads(w, step, intrinsic, v->operands[i], depth + 1);
}

static void claim_reference(walk *w, region *step, kernel_stmt *s, int depth) {
    for (int i = 0; i < s->body.items.count && depth < MOST_DEPTH; i++) {
        kernel_stmt *x = s->body.items.at[i];
        if (x->kind == KSTMT_STORE) {
            claim_loads(w, step, s, x->value, 0);
            claim_access(w, step, s, &x->access, ACCESS_WRITE, x->span);
        } else if (x->kind == KSTMT_FRAGMENT_LOAD || x->kind == KSTMT_FRAGMENT_STORE) {
            access_use use = x->kind == KSTMT_FRAGMENT_LOAD ? ACCESS_READ : ACCESS_WRITE;
            claim_access(w, step, s, &x->access, use, x->span)->extents = walk_fragment_box(w, x);
        } else if (x->kind == KSTMT_INTRINSIC) {
            for (int n = 0; n < x->contract_count; n++) {
                contract_operand *c = &x->contract[n];
                claim_loads(w, step, s, c->value, 0);
                for (int v = 0; v < c->count; v++)
                    claim_loads(w, step, s, c->values[v], 0);
                if (!contract_has_cells(c))
                    continue;
                if (c->effect == CONTRACT_READS || c->effect == CONTRACT_UPDATES)
                    claim_access(w, step, s, &c->access, ACCESS_READ, x->span)->extents = c->extents;
                if (c->effect != CONTRACT_READS)
                    claim_access(w, step, s, &c->access, ACCESS_WRITE, x->span)->extents = c->extents;
            }
            claim_reference(w, step, x, depth + 1);
        }
    }
}

static bool is_single_cell(const contract_operand *c) {
    int64_t extent;
    for (int d = 0; d < c->access.array->rank; d++)
        if (!ix_is_const(c->extents[d], &extent) || extent != 1)
            return false;
    return true;
}

static void walk_intrinsic(walk *w, kernel_stmt *s) {
    region *step = walk_step(w, s);
    const bool together = kernel_is_fragment_stmt(s);
    claim_reference(w, step, s, 0);
    if (together)
        walk_fragments_given(w, step, s);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < s->contract_count; i++) {
            contract_operand *c = &s->contract[i];
            if (!pass && c->value)
                walk_loads(w, step, c->value, 0);
            for (int v = 0; !pass && v < c->count; v++)
                walk_loads(w, step, c->values[v], 0);
            if (!contract_has_cells(c))
                continue;
            bool reads = c->effect != CONTRACT_WRITES && c->effect != CONTRACT_RESULT, writes = c->effect != CONTRACT_READS;
            if (!(pass ? writes : reads))
                continue;
            place *p = walk_place(w, step, &c->access, pass ? ACCESS_WRITE : ACCESS_READ, s->span);
            p->extents = is_single_cell(c) ? NULL : c->extents;
            place *bytes = walk_view_place(w, step, p);
            p->asynchronous = c->asynchronous;
            p->by_unit = c->asynchronous && !pass;
            p->collective = together;
            p->holder = together ? kernel_fragment_holder(s) : LEVEL_TASK;
            if (pass && c->effect == CONTRACT_WRITES && s->body.items.count)
                VEC_PUSH(w->m->arena, w->m->promises, ((claim){p, s}));
            walk_touch(p);
            for (region *r = p->asynchronous ? step : NULL; r; r = r->parent)
                r->syncs = true;
            if (bytes) {
                bytes->asynchronous = p->asynchronous;
                bytes->by_unit = p->by_unit;
                bytes->collective = p->collective;
                bytes->holder = p->holder;
                walk_touch(bytes);
            }
        }
    if (together)
        walk_fragment_result(w, step, s);
}

/* A `break when C` stands below its condition. */
static void stop_scope(walk *w, kernel_stmt *s) {
    scope *at = w->scope;
    if (s->condition) {
        at = walk_scope(w->m, at, SCOPE_GUARD, s, NULL);
        at->guard = s->condition;
    }
    VEC_PUSH(w->m->arena, w->m->breaks, at);
}

static void walk_stmt(walk *w, kernel_stmt *s) {
    model *m = w->m;
    region *step;
    switch (s->kind) {
    case KSTMT_LET: walk_let(w, s); break;
    case KSTMT_STORE:
        step = walk_step(w, s);
        walk_loads(w, step, s->value, 0);
        simple_place(w, step, &s->access, ACCESS_WRITE, s->span, NULL);
        break;
    case KSTMT_CONSUME: simple_place(w, walk_step(w, s), &s->access, ACCESS_CONSUME, s->span, NULL); break;
    case KSTMT_LOOP: VEC_PUSH(m->arena, m->opaque_loops, s); /* fallthrough */
    case KSTMT_FOR: walk_loop(w, s); break;
    case KSTMT_BREAK:
        if (w->loop)
            w->loop->may_stop = true;
        stop_scope(w, s);
        break;
    case KSTMT_IF: walk_choice(w, s, s->condition); break;
    case KSTMT_IF_VALUE:
        step = walk_step(w, s);
        walk_loads(w, step, s->value, 0);
        walk_choice(w, s, value_condition(m, s->value));
        break;
    case KSTMT_ROLE:
        m->roles = true;
        walk_choice(w, s, s->condition);
        break;
    case KSTMT_INTRINSIC: walk_intrinsic(w, s); break;
    case KSTMT_COMMENT: break;
    default:
        if (!walk_order_stmt(w, s))
            walk_beyond(m, s->span, model_text(m, "`%s`", kernel_stmt_names[s->kind]));
    }
}

void walk_block(walk *w, const kernel_block *b) {
    walk here = *w; /* a let may open a region for the rest of this block only */
    for (int i = 0; i < b->items.count && !here.m->beyond; i++) {
        kernel_stmt *s = b->items.at[i];
        walk_stmt(&here, s);
        if (s->kind == KSTMT_BREAK && s->condition) { /* what follows is reached where it does not hold */
            here.scope = walk_scope(here.m, here.scope, SCOPE_GUARD, s, NULL);
            here.scope->guard = s->condition;
            here.scope->negated = true;
        }
    }
}
