/* What must hold of arrivals and waits, beside the order that they make (ring.c): each slot exists, every awaited phase completes, in turn, and no
 * phase waits for itself. */
#include "prove/ring.h"
#include <inttypes.h>
#include <string.h>

static bool judge_none(prover *p, int_set *bad, const scope *s, const meeting *t, const char *what) {
    model *m = p->m;
    witness w = witness_of(m, bad, scope_names(m, s), s->depth);
    if (w.verdict == VERDICT_PROVED)
        return true;
    if (w.verdict == VERDICT_UNKNOWN)
        prover_gave_up(p, t->stmt->name, t->stmt->span);
    else if (s->precision != PRECISE)
        prover_unknown(p, t->stmt->name, t->stmt->span, w.text, s->why);
    else
        prover_refuted(p, t->stmt->name, t->stmt->span, w.text, what, NULL);
    return false;
}

/* Where the phase awaited never completes. */
static int_set *awaited_in_vain(model *m, const ring *r, const meeting *t) {
    sets *z = m->sets;
    int d = t->scope->depth;
    sets_question(z);
    affine *phase = affine_of(m, d, t->stmt->phase);
    int_set *asked = phase ? sets_intersect(z, domain_of(m, t->scope), affine_nonnegative(m, phase)) : NULL;
    return sets_subtract(z, asked, sets_project(z, ring_waited_for(m, r, t), d, 1));
}

static bool judge_awaited(prover *p, const ring *r, const meeting *t) {
    return judge_none(p, awaited_in_vain(p->m, r, t), t->scope, t,
                      model_text(p->m, "this waits for a phase of `%s` that never completes", r->barrier->name));
}

/* The phase awaited may be two behind. */
static bool judge_in_turn(prover *p, const ring *r, const meeting *t) {
    model *m = p->m;
    sets *z = m->sets;
    int d = t->scope->depth, k = m->task_dims;
    int_set *domain = domain_of(m, t->scope);
    sets_question(z);
    /* the next phase of the slot, if there is one, completes only after an arrival that follows this wait */
    int *from = NEW_ARRAY(m->arena, int, k + 3);
    int_set *next = sets_insert(z, domain, d, 3);
    next = sets_intersect(z, next, ring_is_value(m, d + 3, d + 1, ring_slot(m, t->stmt)));
    next = sets_intersect(z, next, ring_is_value(m, d + 3, d + 2, ix_add(m->arena, t->stmt->phase, ix_const(m->arena, 1))));
    next = sets_project(z, sets_intersect(z, next, ring_phases_at(m, r, d + 3, d)), d + 1, 2); /* [dims, o] */
    position at = meeting_position(t);
    int_set *after = ring_arrived_after(m, r, at, SPACE_SHARED, false);
    for (int j = 0; j < m->rings->count; j++) { /* an arrival of another ring, then completions, then a wait before the arrival */
        int_set *x = ring_arrived_after(m, &m->rings->at[j], at, SPACE_SHARED, false);
        int self = (int)(r - m->rings->at), n = m->rings->count;
        int_set *order = m->rings->before[j * n + self]; /* [tasks, o of j, o of r] */
        for (int i = 0; i < k; i++)
            from[i] = i;
        from[k] = d, from[k + 1] = d + 1;
        int_set *both = sets_intersect(z, sets_insert(z, x, d + 1, 1), sets_remap(z, order, d + 2, from));
        after = sets_union(z, after, sets_project(z, both, d, 1));
    }
    sets_question(z);
    int_set *early = sets_subtract(z, next, after);
    return judge_none(p, sets_project(z, early, d, 1), t->scope, t,
                      model_text(m, "the phase of `%s` after the one waited for may already be complete", r->barrier->name));
}

/* At `at`, for the completion `o` of x, over [dims, o]: the phase before, of the same slot, is complete. */
static bool judge_after_previous(prover *p, const ring *r, position at, int_set *o, const meeting *tell, const char *what) {
    model *m = p->m;
    sets *z = m->sets;
    int k = m->task_dims, self = (int)(r - m->rings->at), n = m->rings->count, d = at.scope->depth;
    int *from = NEW_ARRAY(m->arena, int, d + 8);
    /* [dims, o, slot, phase, o of the phase before] */
    int_set *x = sets_insert(z, o, d + 1, 3);
    x = sets_intersect(z, x, ring_phases_at(m, r, d + 4, d));
    int_set *previous = sets_insert(z, r->phases, k + 3, 1); /* [tasks, o', slot, phase', phase] */
    linear *gap = linear_add(z, linear_dim(z, k + 4, k + 3), linear_scale(z, linear_dim(z, k + 4, k + 2), -1));
    previous = sets_intersect(z, previous, sets_zero(z, linear_add(z, gap, linear_constant(z, k + 4, -1))));
    previous = sets_project(z, previous, k + 2, 1); /* [tasks, o', slot, phase] */
    for (int j = 0; j < k; j++)
        from[j] = j;
    from[k] = d + 3, from[k + 1] = d + 1, from[k + 2] = d + 2;
    x = sets_intersect(z, x, sets_remap(z, previous, d + 4, from));
    x = sets_project(z, x, d, 3); /* [dims, o'] */
    int_set *seen = sets_empty(z, d + 1);
    for (int j = 0; j < n; j++) {
        int_set *y = ring_waited_before(m, &m->rings->at[j], at, SPACE_SHARED); /* [dims, o of j] */
        from[k] = d, from[k + 1] = d + 1;
        int_set *order = sets_remap(z, m->rings->before[self * n + j], d + 2, from); /* o', o of j */
        int_set *both = sets_intersect(z, sets_insert(z, y, d, 1), order);
        seen = sets_union(z, seen, sets_project(z, both, d + 1, 1));
        if (j == self)
            seen = sets_union(z, seen, y);
    }
    sets_question(z);
    return judge_none(p, sets_project(z, sets_subtract(z, x, seen), d, 1), at.scope, tell, what);
}

/* No participant arrives for a phase, and no copy is issued that counts for it, before the phase before is complete. */
static bool judge_arrivals(prover *p, const ring *r) {
    model *m = p->m;
    sets *z = m->sets;
    const char *name = r->barrier->name;
    bool copies = false;
    for (int i = 0; i < m->places.count; i++) {
        place *c = m->places.at[i];
        if (c->stmt->kind != KSTMT_COPY || !c->stmt->name || strcmp(c->stmt->name, name))
            continue;
        copies = true;
        position at = place_position(c);
        sets_question(z);
        int_set *o = ring_lands_with(m, r, c, at);
        meeting tell = {c->stmt, c->scope, c->region};
        if (c->use == ACCESS_WRITE &&
            !judge_after_previous(p, r, at, o, &tell, model_text(m, "this copy may count for an earlier phase of `%s`", name)))
            return false;
        /* every copy has a phase that it counts for */
        sets_question(z);
        int_set *never = sets_subtract(z, domain_of(m, c->scope), sets_project(z, o, c->scope->depth, 1));
        if (c->use == ACCESS_WRITE &&
            !judge_none(p, never, c->scope, &tell, model_text(m, "no arrival at `%s` follows this copy", name)))
            return false;
    }
    for (int i = 0; i < r->arrivals.count && (copies || r->participants > 1); i++) {
        const meeting *t = r->arrivals.at[i];
        int d = t->scope->depth;
        sets_question(z);
        int_set *o = sets_insert(z, domain_of(m, t->scope), d, 1);
        o = sets_intersect(z, o, ring_is_value(m, d + 1, d, ring_ordinal(m, r, t)));
        if (!judge_after_previous(p, r, meeting_position(t), o, t,
                                  model_text(m, "this may arrive at `%s` before the phase before is complete", name)))
            return false;
    }
    return true;
}

static bool judge_progress(prover *p) {
    model *m = p->m;
    int t = m->task_dims, n = m->rings->count;
    pair_space none = {0};
    for (int i = 0; i < n; i++) {
        const ring *r = &m->rings->at[i];
        sets_question(m->sets);
        witness w =
            witness_of(m, pair_equal(m, &none, m->rings->before[i * n + i], t, t + 1), scope_names(m, m->scopes.at[0]), 0);
        if (w.verdict == VERDICT_PROVED)
            continue;
        if (w.verdict == VERDICT_UNKNOWN)
            prover_gave_up(p, r->barrier->name, r->barrier->span);
        else
            prover_refuted(
                p, r->barrier->name, r->barrier->span, w.text,
                model_text(m, "the threads wait for one another: a phase of `%s` completes only after itself", r->barrier->name),
                NULL);
        return false;
    }
    return true;
}

/* Every slot that is named exists. */
static bool judge_slots(prover *p) {
    model *m = p->m;
    sets *z = m->sets;
    for (int i = 0; i < m->kernel->mbarriers.count; i++) {
        const kernel_mbarrier *b = m->kernel->mbarriers.at[i];
        for (int j = 0; j < m->meetings.count + m->places.count; j++) {
            const place *c = j < m->meetings.count ? NULL : m->places.at[j - m->meetings.count];
            meeting t = c ? (meeting){c->stmt, c->scope, c->region} : m->meetings.at[j];
            bool names = c ? t.stmt->kind == KSTMT_COPY && c->use == ACCESS_WRITE
                           : t.stmt->kind == KSTMT_MBARRIER_ARRIVE || t.stmt->kind == KSTMT_MBARRIER_WAIT;
            if (!names || !t.stmt->name || strcmp(t.stmt->name, b->name))
                continue;
            int d = t.scope->depth;
            sets_question(z);
            m->why = NULL;
            affine *slot = affine_of(m, d, ring_slot(m, t.stmt));
            affine *past = affine_add(m, slot, affine_constant(m, d, -b->slots)),
                   *under = affine_subtract(m, affine_constant(m, d, -1), slot);
            int_set *bad = slot ? sets_union(z, affine_nonnegative(m, past), affine_nonnegative(m, under)) : NULL;
            if (!judge_none(p, sets_intersect(z, domain_of(m, t.scope), bad), t.scope, &t,
                            model_text(m, "`%s` has %d slots, and this one is none of them", b->name, b->slots)))
                return false;
        }
    }
    return true;
}

/* Fewer arrivals make a phase than threads arrive: as soon as all of them have arrived once at a slot, one of them was left out. */
static bool judge_left_out(prover *p, const ring *r) {
    model *m = p->m;
    if (!r->uneven || r->participants < r->barrier->arrivals || !r->phases)
        return true;
    sets_question(m->sets);
    const scope *at = r->arrivals.at[0]->scope;
    witness w = witness_of(m, sets_project(m->sets, r->phases, m->task_dims, 3), scope_names(m, at), m->task_dims);
    if (w.verdict == VERDICT_REFUTED)
        prover_refuted(p, r->barrier->name, r->arrivals.at[0]->stmt->span, w.text,
                       model_text(m,
                                  "%" PRId64 " threads arrive at `%s` together, and a phase of it completes with %" PRId64
                                  " arrivals: not with those of all of them",
                                  r->participants, r->barrier->name, r->barrier->arrivals),
                       NULL);
    return w.verdict != VERDICT_REFUTED;
}

/* What can be refuted though the order that they make is not known. */
static bool judge_uneven(prover *p) {
    model *m = p->m;
    struct ring_list *l = m->rings;
    bool fine = true;
    for (int i = 0; i < l->count && l->at && fine; i++)
        fine = judge_left_out(p, &l->at[i]);
    /* the least launch at which a phase never completes, or waits for itself */
    const ring *ring_in_vain = NULL;
    const meeting *in_vain = NULL;
    witness least = {0};
    for (int i = 0; i < l->count && l->at && fine; i++)
        for (int j = 0; j < l->at[i].waits.count && l->at[i].phases; j++) {
            const meeting *t = l->at[i].waits.at[j];
            witness w = witness_of(m, awaited_in_vain(m, &l->at[i], t), scope_names(m, t->scope), t->scope->depth);
            if (w.verdict == VERDICT_REFUTED && t->scope->precision == PRECISE && (!in_vain || witness_is_less(m, &w, &least))) {
                least = w;
                in_vain = t;
                ring_in_vain = &l->at[i];
            }
        }
    pair_space none = {0};
    for (int i = 0; i < l->count && l->before && fine; i++) {
        int_set *itself = pair_equal(m, &none, l->before[i * l->count + i], m->task_dims, m->task_dims + 1);
        witness w = witness_of(m, itself, scope_names(m, m->scopes.at[0]), 0);
        if (w.verdict == VERDICT_REFUTED && (!in_vain || witness_is_less(m, &w, &least)))
            return judge_progress(p);
    }
    return fine && (!in_vain || judge_awaited(p, ring_in_vain, in_vain));
}

void judge_rings(prover *p) {
    model *m = p->m;
    if (!m->kernel->mbarriers.count)
        return;
    prover_start(p);
    const kernel_mbarrier *first = m->kernel->mbarriers.at[0];
    m->why = NULL;
    if (!judge_slots(p)) {
        m->rings_why = "the order that mbarriers make";
        return;
    }
    if (!rings_known(m)) {
        if (!judge_uneven(p))
            return;
        prover_unknown(p, first->name, first->span, NULL, m->rings_why ? m->rings_why : "the order that mbarriers make");
        return;
    }
    bool fine = judge_progress(p);
    for (int i = 0; i < m->rings->count && fine; i++) {
        const ring *r = &m->rings->at[i];
        fine = judge_arrivals(p, r);
        for (int j = 0; j < r->waits.count && fine; j++)
            fine = judge_awaited(p, r, r->waits.at[j]) && judge_in_turn(p, r, r->waits.at[j]);
    }
    if (fine)
        prover_proved(p, first->name, first->span);
    else {
        m->rings_why = "the order that mbarriers make";
        m->rings->known = false; /* what it orders need not be asked any more */
    }
}
