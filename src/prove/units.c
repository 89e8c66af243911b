/* Asynchronous units: what ordinary writes left behind reaches them through a proxy fence; what they read must not go away before they end; and
 * all lanes of a holder give the same operands. */
#include "prove/model.h"

static bool is_unit(const place *p) {
    return !p->unordered && (p->asynchronous || p->by_unit) && p->array->space != SPACE_REGISTER &&
           p->array->space != SPACE_PRIVATE;
}

/* Where a fence stands between the write and the unit's access, run by the one's thread or the other's. */
static int_set *fenced(model *m, const pair_space *s, const place *w) {
    sets *z = m->sets;
    int_set *all = sets_empty(z, s->dims);
    for (int i = 0; i < m->meetings.count; i++) {
        const meeting *f = &m->meetings.at[i];
        if (f->stmt->kind != KSTMT_FENCE || !f->stmt->proxy || !(f->stmt->spaces & 1u << w->array->space) ||
            !scope_is_sure(m, f->scope))
            continue;
        position at = meeting_position(f);
        pair_space before = pair_of(m, s->a, at), after = pair_of(m, at, s->b);
        sets_question(z);
        int_set *first = flight_before(m, &before, w, w->array->space), *second = pair_happens_before(m, &after, w->array->space);
        first = sets_intersect(z, first, pair_second(m, &before, domain_of(m, f->scope), 0));
        for (int of_b = 0; of_b < 2; of_b++) {
            sets_question(z);
            all = sets_union(z, all, pair_through(m, s, at, first, second, of_b));
        }
    }
    return all;
}

/* A copy into shared memory that signals nothing is one by the threads' own loads and stores, only later: to a unit that reads, its writes are ordinary ones. */
static bool copied_by_threads(const place *w, const place *u) {
    return w->stmt->kind == KSTMT_COPY && !w->stmt->name && w->array->space == SPACE_SHARED && u->use == ACCESS_READ &&
           u->by_unit;
}

static bool judge_fence(prover *p, place *w, place *u) {
    model *m = p->m;
    sets *z = m->sets;
    int rank = w->array->rank;
    sets_question(z);
    m->why = NULL;
    pair_space s = pair_of(m, place_position(w), place_position(u)), back = pair_of(m, place_position(u), place_position(w));
    int_set *both = sets_intersect(z, pair_first(m, &s, cells_of(m, w), rank), pair_second(m, &s, spread_cells_of(m, u), rank));
    both = pair_same_block(m, &s, both);
    if (sets_is_empty(z, both) == TRI_YES)
        return true;
    int_set *before = flight_before(m, &s, w, w->array->space); /* the write comes first; no order at all is a race */
    (void)back;
    sets_question(z);
    both = sets_intersect(z, both, sets_insert(z, before, s.dims, rank));
    int_set *bad = sets_subtract(z, both, sets_insert(z, fenced(m, &s, w), s.dims, rank));
    witness v = witness_of(m, bad, pair_names(m, &s), s.dims);
    if (v.verdict == VERDICT_PROVED)
        return true;
    const char *why = place_imprecise(m, w, false);
    why = why ? why : place_imprecise(m, u, false);
    why = why ? why : m->rings_why;
    const char *cell = v.verdict == VERDICT_REFUTED ? witness_cell(m, w->array, v.dims + s.dims) : w->array->name;
    if (v.verdict == VERDICT_UNKNOWN)
        prover_gave_up(p, w->array->name, u->span);
    else if (why)
        prover_unknown(p, w->array->name, u->span, v.text, why);
    else
        prover_refuted(
            p, w->array->name, u->span, v.text,
            model_text(m, "%s was stored at line %d; an asynchronous unit works on it here with no `fence ... proxy` between",
                       cell, w->span.line),
            NULL);
    return false;
}

static bool judge_end(prover *p, place *u) {
    model *m = p->m;
    const bool copied = kernel_is_of_block(u->stmt);
    if (!copied && (u->array->space != SPACE_SHARED || u->use != ACCESS_READ || !u->asynchronous ||
                    (u->stmt->kind == KSTMT_COPY && u->stmt->name)))
        return true;
    sets_question(m->sets);
    m->why = NULL;
    int_set *left = flight_unended(m, u);
    witness v = witness_of(m, left, scope_names(m, u->scope), u->scope->depth);
    if (v.verdict == VERDICT_PROVED)
        return true;
    const char *why = place_imprecise(m, u, false);
    if (!why)
        why = m->flight_why;
    if (why)
        prover_unknown(p, u->array->name, u->span, v.text, why);
    else if (v.verdict == VERDICT_UNKNOWN)
        prover_gave_up(p, u->array->name, u->span);
    else
        prover_refuted(p, u->array->name, u->span, v.text,
                       model_text(m, "`%s` may still be %s asynchronously when the block ends: no wait covers this",
                                  u->array->name, u->use == ACCESS_READ ? "read" : "written"),
                       NULL);
    return false;
}

/* Two lanes of one holder that name different places. */
static bool judge_together(prover *p, place *c) {
    model *m = p->m;
    sets *z = m->sets;
    pair_space s = pair_of(m, place_position(c), place_position(c));
    int depth = c->scope->depth;
    const bool copied = kernel_is_of_block(c->stmt);
    for (int d = 0; d < c->array->rank * (copied ? 2 : 1); d++) { /* where it begins, then how much is copied */
        const index_expr *named = d < c->array->rank ? c->indices[d] : c->extents[d - c->array->rank];
        if (!m->persistent && uniform_index(m, named, c->holder)) /* seen from the text */
            continue;
        sets_question(z);
        m->why = NULL;
        affine *e = affine_of(m, depth + 1, named);
        int_set *x = e ? affine_zero(m, affine_subtract(m, affine_dim(m, depth + 1, depth), e)) : NULL;
        x = sets_intersect(z, x, sets_insert(z, domain_of(m, c->scope), depth, 1));
        int *from = NEW_ARRAY(m->arena, int, s.dims + 2);
        for (int i = 0; i < s.dims; i++)
            from[i] = i;
        from[s.dims] = s.dims + 1;
        int_set *one = sets_insert(z, pair_first(m, &s, x, 1), s.dims + 1, 1);
        int_set *two = sets_remap(z, pair_second(m, &s, x, 1), s.dims + 2, from);
        int_set *bad = sets_less(z, sets_intersect(z, one, two), s.dims, s.dims + 1);
        bad = pair_same_thread(m, &s, pair_same_block(m, &s, bad), m->instance_dims[c->holder]);
        for (int i = 0; s.rest_a + i < s.rest_b; i++)
            bad = pair_equal(m, &s, bad, s.rest_a + i, s.rest_b + i);
        witness w = witness_of(m, bad, pair_names(m, &s), s.dims);
        if (w.verdict == VERDICT_PROVED)
            continue;
        const char *why = place_imprecise(m, c, false);
        if (w.verdict == VERDICT_UNKNOWN)
            prover_gave_up(p, c->array->name, c->span);
        else if (why)
            prover_unknown(p, c->array->name, c->span, w.text, why);
        else
            prover_refuted(p, c->array->name, c->span, w.text,
                           model_text(m,
                                      copied ? "threads of the block give the copy different cells of `%s`"
                                             : "the lanes that hold the fragment name different cells of `%s`",
                                      c->array->name),
                           NULL);
        return false;
    }
    return true;
}

void judge_units(prover *p) {
    model *m = p->m;
    bool any = false, fine = true;
    prover_start(p);
    for (int i = 0; i < m->places.count; i++) {
        place *u = m->places.at[i];
        if (u->collective) {
            any = true;
            fine = judge_together(p, u) && fine;
        }
        if (!is_unit(u))
            continue;
        any = true;
        fine = judge_end(p, u) && fine;
        if (kernel_is_of_block(u->stmt)) /* by threads: no fence is needed */
            continue;
        for (int j = 0; j < m->places.count && fine; j++) {
            place *w = m->places.at[j];
            if (w->array == u->array && w->use == ACCESS_WRITE && (!w->asynchronous || copied_by_threads(w, u)) && !w->atomic &&
                w != u)
                fine = judge_fence(p, w, u);
        }
    }
    if (any && fine)
        prover_proved(p, p->kernel->name, p->kernel->span);
}
