/* Contracts: what the reference of an intrinsic touches is what its contract names, and it writes all that the contract writes. The other properties judge the contract's cells alone. */
#include "prove/interval.h"
#include "prove/walk.h"
#include <inttypes.h>

static bool names_use(const contract_operand *c, const place *at) {
    return contract_has_cells(c) && c->access.array == at->array &&
           (at->use == ACCESS_READ ? c->effect == CONTRACT_READS || c->effect == CONTRACT_UPDATES : c->effect != CONTRACT_READS);
}

/* Whether the value is made of what the place reads: the operand's own read is judged. */
static bool is_made_of(const kernel_value *v, const place *at, int depth) {
    if (!v || depth > MOST_DEPTH)
        return false;
    bool same = v->op == KERNEL_LOAD && v->access.array == at->array && v->access.lanes == at->lanes &&
                v->access.vector_dim == at->vector_dim && v->access.active == at->active && !at->extents;
    for (int d = 0; d < at->array->rank && same; d++)
        same = ix_equal(v->access.indices[d], at->indices[d]);
    for (int i = 0; i < v->operand_count && !same; i++)
        same = is_made_of(v->operands[i], at, depth + 1);
    return same;
}

static bool operands_are_made_of(const kernel_stmt *s, const place *at) {
    bool some = false;
    for (int i = 0; i < s->contract_count && at->use == ACCESS_READ; i++) {
        some = some || is_made_of(s->contract[i].value, at, 0);
        for (int n = 0; n < s->contract[i].count; n++)
            some = some || is_made_of(s->contract[i].values[n], at, 0);
    }
    return some;
}

static index_expr *own_extent(model *m, const place *at, int d) {
    return at->extents ? at->extents[d] : ix_const(m->arena, at->lanes > 1 && d == at->vector_dim ? at->lanes : 1);
}

/* The same expressions, a constant apart: most references say what the contract does. */
static bool inside_by_form(model *m, const place *at, const contract_operand *c, int d) {
    int64_t after, own, room;
    index_expr *extent = own_extent(m, at, d);
    if (!ix_is_const(ix_sub(m->arena, at->indices[d], c->access.indices[d]), &after)) {
        if (!ix_equal(at->indices[d], c->access.indices[d]))
            return false;
        after = 0;
    }
    if (after == 0 && ix_equal(extent, c->extents[d]))
        return true;
    return after >= 0 && ix_is_const(extent, &own) && ix_is_const(c->extents[d], &room) && after + own <= room;
}

/* The cells of the place before the box begins, or at and past its end, along dimension d. */
static int_set *outside(model *m, place *at, const contract_operand *c, int d, bool high) {
    int dims = at->scope->depth, all = dims + at->array->rank;
    affine *cell = affine_dim(m, all, dims + d), *first = affine_of(m, all, c->access.indices[d]),
           *extent = affine_of(m, all, c->extents[d]), *after = first ? affine_subtract(m, cell, first) : NULL, *bad = NULL;
    if (after && high && extent)
        bad = affine_subtract(m, after, extent);
    else if (after && !high)
        bad = affine_subtract(m, affine_constant(m, all, -1), after);
    return bad ? sets_intersect(m->sets, cells_of(m, at), affine_nonnegative(m, bad)) : NULL;
}

/* PROVED: the operand names all that the place touches. REFUTED, with a witness: a cell that it does not name. */
static verdict judge_operand(model *m, place *at, const contract_operand *c, witness *out) {
    verdict all = VERDICT_PROVED;
    for (int d = 0; d < at->array->rank; d++)
        for (int high = 0; high < 2 && !inside_by_form(m, at, c, d); high++) {
            sets_question(m->sets);
            m->why = NULL;
            witness w = witness_of(m, outside(m, at, c, d, high), scope_names(m, at->scope), at->scope->depth);
            if (w.verdict == VERDICT_PROVED)
                continue;
            if (w.verdict == VERDICT_REFUTED && !place_imprecise(m, at, true)) {
                *out = w;
                return VERDICT_REFUTED;
            }
            all = VERDICT_UNKNOWN;
        }
    return all;
}

static bool same_box(model *m, const place *x, const place *y) {
    for (int d = 0; d < x->array->rank; d++)
        if (!ix_equal(x->indices[d], y->indices[d]) || !ix_equal(own_extent(m, x, d), own_extent(m, y, d)))
            return false;
    return true;
}

/* What the contract says is written is taken for written: the reference writes all of it. */
static void judge_promise(prover *p, place *named, const kernel_stmt *s) {
    model *m = p->m;
    bool imprecise = place_imprecise(m, named, true) != NULL;
    int_set *written = NULL;
    prover_start(p);
    for (int i = 0; i < m->claims.count; i++) {
        place *at = m->claims.at[i].at;
        if (m->claims.at[i].intrinsic != s || at->use == ACCESS_READ || at->array != named->array)
            continue;
        if (same_box(m, at, named)) {
            prover_proved(p, s->name, s->span);
            return;
        }
        imprecise = imprecise || place_imprecise(m, at, true);
        written = written ? sets_union(m->sets, written, cells_of(m, at)) : cells_of(m, at);
    }
    if (!written) {
        prover_refuted(
            p, s->name, s->span, NULL,
            model_text(m, "the contract of `%s` writes `%s`, and its reference writes none of it", s->name, named->array->name),
            "let the contract name the cells that are written");
        return;
    }
    sets_question(m->sets);
    m->why = NULL;
    witness w =
        witness_of(m, sets_subtract(m->sets, cells_of(m, named), written), scope_names(m, named->scope), named->scope->depth);
    if (imprecise || w.verdict == VERDICT_UNKNOWN)
        prover_unknown(p, s->name, s->span, NULL,
                       model_text(m, "that the reference of `%s` writes all that its contract writes", s->name));
    else if (w.verdict == VERDICT_PROVED)
        prover_proved(p, s->name, s->span);
    else
        prover_refuted(p, s->name, s->span, w.text,
                       model_text(m, "the contract of `%s` writes %s, and its reference does not", s->name,
                                  witness_cell(m, named->array, w.dims + named->scope->depth)),
                       "the contract must name no cell for writing that is not written");
}

void judge_contracts(prover *p) {
    model *m = p->m;
    for (int i = 0; i < m->promises.count; i++)
        judge_promise(p, m->promises.at[i].at, m->promises.at[i].intrinsic);
    for (int i = 0; i < m->claims.count; i++) {
        place *at = m->claims.at[i].at;
        const kernel_stmt *s = m->claims.at[i].intrinsic;
        const char *verb = at->use == ACCESS_READ ? "reads" : "writes";
        verdict found = VERDICT_REFUTED;
        int candidates = 0;
        witness w = {0};
        prover_start(p);
        if (operands_are_made_of(s, at))
            found = VERDICT_PROVED;
        for (int n = 0; n < s->contract_count && found != VERDICT_PROVED; n++)
            if (names_use(&s->contract[n], at)) {
                verdict v = judge_operand(m, at, &s->contract[n], &w);
                found = v == VERDICT_PROVED || candidates == 0 ? v : VERDICT_UNKNOWN; /* several boxes may share the cells */
                candidates++;
            }
        if (found == VERDICT_PROVED)
            prover_proved(p, s->name, s->span);
        else if (found == VERDICT_REFUTED && !candidates)
            prover_refuted(p, s->name, at->span, NULL,
                           model_text(m, "the reference of `%s` %s `%s`, and its contract %s none of it", s->name, verb,
                                      at->array->name, verb),
                           "name the cells in the contract");
        else if (found == VERDICT_REFUTED)
            prover_refuted(p, s->name, at->span, w.text,
                           model_text(m, "the reference of `%s` %s %s, outside its contract", s->name, verb,
                                      witness_cell(m, at->array, w.dims + at->scope->depth)),
                           "the contract must name all cells that are touched");
        else
            prover_unknown(p, s->name, at->span, NULL,
                           model_text(m, "that the contract of `%s` names all that it %s", s->name, verb));
    }
}
