/* Order: where threads must meet, all of them do. A barrier is reached by each of its participants or by none, and by nobody else; the lanes of a
 * subgroup reach its exchanges and its fragments together. */
#include "prove/interval.h"
#include <string.h>

typedef struct gathering {
    prover *p;
    model *m;
    const char *what;
    level_kind level;
    const cond *participants;
    scope *at;
    source_span span;
    kernel_stmt *stmt;
} gathering;

/* Data that decides whether a thread gets there. NULL: none. */
static const char *decided_by_data(const gathering *g) {
    model *m = g->m;
    domain_of(m, g->at);
    for (const scope *s = g->at; s; s = s->parent) {
        /* a condition that the set leaves out */
        if (s->own_loose && s->kind == SCOPE_GUARD && !uniform_condition(m, s->guard, g->level))
            return model_text(m, "the condition at line %d, which may differ between threads", s->stmt->span.line);
        if (s->own_loose && s->kind == SCOPE_LOOP && !uniform_loop(m, s->stmt, g->level))
            return model_text(m, "the loop at line %d, whose bounds may differ between threads", s->stmt->span.line);
        if (s->kind == SCOPE_DATA_GUARD && !uniform_value(m, s->stmt->value, g->level))
            return model_text(m, "the condition at line %d, which may differ between threads", s->stmt->span.line);
        if (s->may_stop || s->kind == SCOPE_TRIP)
            for (int i = 0; i < m->breaks.count; i++) {
                const scope *inner = m->breaks.at[i];
                while (inner && inner != s)
                    inner = inner->parent;
                if (!inner)
                    continue;
                gathering b = *g;
                for (const scope *x = m->breaks.at[i]; x != s; x = x->parent) {
                    if (x->kind == SCOPE_DATA_GUARD && !uniform_value(m, x->stmt->value, b.level))
                        return model_text(m, "a `break` whose condition, at line %d, may differ between threads",
                                          x->stmt->span.line);
                    if (x->kind == SCOPE_GUARD && !uniform_condition(m, x->guard, b.level))
                        return model_text(m, "a `break` whose condition, at line %d, may differ between threads",
                                          x->stmt->span.line);
                }
            }
    }
    return NULL;
}

/* Dimensions after the ids that are values of a thread's own. */
static int_set *spread_out(const gathering *g, int_set *x, int_set **rest) {
    model *m = g->m;
    sets *z = m->sets;
    int first = m->task_dims + m->instance_dims[g->level], count = m->thread_dims - m->instance_dims[g->level];
    int_set *any = count ? sets_insert(z, sets_project(z, x, first, count), first, count) : x;
    for (const scope *s = g->at; s; s = s->parent)
        if (s->kind == SCOPE_VALUE && !uniform_value(m, s->stmt->value, g->level)) {
            any = sets_insert(z, sets_project(z, any, s->depth - 1, 1), s->depth - 1, 1);
            *rest = any;
        }
    /* values stay among those that they may have */
    for (const scope *s = g->at; s; s = s->parent)
        if (s->kind == SCOPE_VALUE && !uniform_value(m, s->stmt->value, g->level)) {
            int_set *domain = domain_of(m, (scope *)s);
            any = sets_intersect(z, any, sets_insert(z, domain, s->depth, g->at->depth - s->depth));
        }
    return any;
}

/* All threads that are to take part: ids within their extents. */
static int_set *expected(const gathering *g, int dims) {
    model *m = g->m;
    sets *z = m->sets;
    int_set *x = g->participants ? affine_condition(m, dims, g->participants, false) : sets_universe(z, dims);
    for (int d = 0; d < m->thread_dims && x; d++) {
        linear *id = linear_dim(z, dims, m->task_dims + d), *last = linear_constant(z, dims, m->thread_extents[d] - 1);
        x = sets_intersect(z, x, sets_nonnegative(z, id));
        x = sets_intersect(z, x, sets_nonnegative(z, linear_add(z, last, linear_scale(z, id, -1))));
    }
    return x;
}

/* Nothing on the way there depends on the thread. */
static bool reached_alike(const gathering *g) {
    model *m = g->m;
    for (const scope *s = g->at; s; s = s->parent) {
        if (s->kind == SCOPE_GUARD && !uniform_condition(m, s->guard, g->level))
            return false;
        if (s->kind == SCOPE_LOOP && !uniform_loop(m, s->stmt, g->level))
            return false;
        if (s->kind == SCOPE_DATA_GUARD && !uniform_value(m, s->stmt->value, g->level))
            return false;
        if (s->kind == SCOPE_TRIP || s->may_stop)
            return false;
    }
    return true;
}

static bool judge_one(gathering *g) {
    model *m = g->m;
    prover *p = g->p;
    sets *z = m->sets;
    int dims = g->at->depth;
    if (m->instance_dims[g->level] == m->thread_dims)
        return true; /* one thread meets itself */
    if (!g->participants && reached_alike(g))
        return true;
    const char *why = decided_by_data(g);
    if (why) {
        prover_unknown(p, g->what, g->span, NULL, model_text(m, "that all threads reach %s: %s", g->what, why));
        return false;
    }
    sets_question(z);
    m->why = NULL;
    int_set *reached = domain_of(m, g->at), *all = expected(g, dims), *rest = NULL;
    witness w = {.verdict = VERDICT_PROVED};
    if (g->participants) {
        w = witness_of(m, sets_subtract(z, reached, all), scope_names(m, g->at), dims);
        why = "a thread that does not take part";
    }
    if (w.verdict == VERDICT_PROVED) {
        int_set *all_of_them = sets_intersect(z, spread_out(g, reached, &rest), all);
        w = witness_of(m, sets_subtract(z, all_of_them, reached), scope_names(m, g->at), dims);
        why = NULL;
    }
    if (w.verdict == VERDICT_PROVED)
        return true;
    if (w.verdict == VERDICT_UNKNOWN)
        prover_gave_up(p, g->what, g->span);
    else if (g->at->precision == LOOSE || (g->at->precision != PRECISE && !rest))
        prover_unknown(p, g->what, g->span, w.text, g->at->why);
    else
        prover_refuted(p, g->what, g->span, w.text,
                       why ? model_text(m, "%s is reached by %s", g->what, why)
                           : model_text(m, "%s is not reached by this thread, but by another", g->what),
                       NULL);
    return false;
}

/* A broadcast's or shuffle's lane, an exclusive or's mask are lanes of the subgroup; a distance downwards is not negative. */
static bool names_a_lane(model *m, const exchange *e) {
    const kernel_value *v = e->value;
    sets *z = m->sets;
    int64_t lanes = 1;
    int dims = e->scope->depth;
    if (v->operand_count < 2)
        return true;
    for (int d = m->instance_dims[LEVEL_SUBGROUP]; d < m->thread_dims; d++)
        lanes *= m->thread_extents[d];
    bool down = v->op == KERNEL_SHUFFLE_DOWN;
    if (v->op == KERNEL_SHUFFLE_XOR && (lanes & (lanes - 1)))
        return false; /* what it gives may be none, though the mask is one */
    interval x = interval_of_value(m, v->operands[1], NULL);
    if (x.lo >= 0 && (down || x.hi < lanes))
        return true;
    precision precision = PRECISE;
    sets_question(z);
    int_set *points = value_points(m, e->scope, v->operands[1], &precision);
    points = sets_intersect(z, points, sets_insert(z, domain_of(m, e->scope), dims, 1));
    affine *own = affine_dim(m, dims + 1, dims), *past = affine_add(m, own, affine_constant(m, dims + 1, -lanes)),
           *under = affine_subtract(m, affine_constant(m, dims + 1, -1), own);
    int_set *bad = affine_nonnegative(m, under);
    if (!down)
        bad = sets_union(z, bad, affine_nonnegative(m, past));
    return sets_is_empty(z, sets_intersect(z, points, bad)) == TRI_YES;
}

void judge_order(prover *p) {
    model *m = p->m;
    prover_start(p);
    if (prover_beyond(p) || !m->thread_dims)
        return;
    bool fine = true;
    for (int i = 0; i < m->meetings.count; i++) {
        const meeting *t = &m->meetings.at[i];
        gathering g = {p,      m, kernel_stmt_names[t->stmt->kind], LEVEL_BLOCK, t->stmt->participants, t->scope, t->stmt->span,
                       t->stmt};
        g.what = model_text(m, "`%s`", g.what);
        if (t->stmt->kind == KSTMT_BARRIER)
            g.level = t->stmt->scope;
        else if (kernel_is_fragment_stmt(t->stmt))
            g.level = kernel_fragment_holder(t->stmt);
        else if (t->stmt->kind != KSTMT_MBARRIER_ARRIVE && !kernel_is_of_block(t->stmt))
            continue;
        if (g.level >= LEVEL_WARPGROUP && t->stmt->kind != KSTMT_BARRIER && !uniform_operands(m, t->stmt, g.level)) {
            prover_unknown(p, g.what, g.span, NULL,
                           model_text(m, "that the lanes of a holder give %s the same operands", g.what));
            fine = false;
        }
        fine = judge_one(&g) && fine;
    }
    for (int i = 0; i < m->exchanges.count; i++) {
        const exchange *e = &m->exchanges.at[i];
        gathering g = {p,    m,        model_text(m, "`%s`", kernel_op_table[e->value->op].name), LEVEL_SUBGROUP,
                       NULL, e->scope, e->value->span.line ? e->value->span : e->stmt->span,      e->stmt};
        if (!names_a_lane(m, e)) {
            prover_unknown(p, g.what, g.span, NULL, "that the lane it names is one of the subgroup");
            fine = false;
        }
        if (e->value->op == KERNEL_SUBGROUP_BROADCAST && !uniform_value(m, e->value->operands[1], LEVEL_SUBGROUP)) {
            prover_unknown(p, g.what, g.span, NULL, "that all lanes name the same lane");
            fine = false;
        }
        fine = judge_one(&g) && fine;
    }
    fine = judge_waiting(p) && fine;
    if (fine)
        prover_proved(p, p->kernel->name, p->kernel->span);
    judge_rings(p);
    judge_units(p);
}
