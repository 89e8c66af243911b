/* Contracts: what the reference of an intrinsic touches is what its contract names. The other properties judge the contract's cells alone. */
#include "prove/interval.h"
#include <inttypes.h>

static bool names_use(const contract_operand *c, const place *at) {
    return contract_has_cells(c) && c->access.array == at->array &&
           (at->use == ACCESS_READ ? c->effect == CONTRACT_READS || c->effect == CONTRACT_UPDATES : c->effect != CONTRACT_READS);
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

void judge_contracts(prover *p) {
    model *m = p->m;
    for (int i = 0; i < m->claims.count; i++) {
        place *at = m->claims.at[i].at;
        const kernel_stmt *s = m->claims.at[i].intrinsic;
        const char *verb = at->use == ACCESS_READ ? "reads" : "writes";
        verdict found = VERDICT_REFUTED;
        int candidates = 0;
        witness w = {0};
        prover_start(p);
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
