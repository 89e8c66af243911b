/* Alignment: offset mod lanes is 0 wherever a vector marked `aligned` is accessed. Strides are products of extents, which sets can't say; but modulo a
 * constant number of lanes each extent has few values, and for each of them the offset is an affine expression. */
#include "prove/model.h"

enum { MOST_CASES = 4096 };

/* The stride of dimension d, in elements, as factors: an expression each. */
static int stride_factors(model *m, const kernel_array *a, int d, const index_expr **factors) {
    int count = 0;
    if (a->layout.kind == LAYOUT_STRIDES) {
        factors[count++] = a->layout.strides[d];
        return count;
    }
    for (int i = d + 1; i < a->rank; i++) {
        index_expr *extent = a->dims[i];
        if (a->layout.kind == LAYOUT_PAD && i == a->rank - 1)
            extent = ix_add(m->arena, extent, ix_const(m->arena, a->layout.amount));
        factors[count++] = extent;
    }
    return count;
}

/* The points of the place's scope where `x` mod n is (or, with `other`, is not) r. */
static int_set *with_residue(model *m, int dims, affine *x, int64_t n, int64_t r, bool other) {
    affine *shifted = affine_add(m, x, affine_constant(m, dims, -r));
    int_set *same = affine_multiple(m, dims, shifted, n);
    return other ? sets_subtract(m->sets, sets_universe(m->sets, dims), same) : same;
}

/* Whether an assumption says that x is a multiple: it has one residue then. */
static bool is_divided(const model *m, const index_expr *x, int64_t lanes) {
    int64_t divisor, rest;
    for (int i = 0; i < m->kernel->assumptions.count; i++) {
        const cond *c = m->kernel->assumptions.at[i];
        if (c->op == COND_EQ && c->x->op == IX_MOD && ix_equal(c->x->a, x) && ix_is_const(c->x->b, &divisor) && divisor > 0 &&
            divisor % lanes == 0 && ix_is_const(c->y, &rest) && rest == 0)
            return true;
    }
    return false;
}

/* Where the access is made and its first cell's offset is no multiple of `lanes`, or its mask parts the lanes. NULL: not said (m->why). */
static int_set *misplaced(model *m, const place *p, int64_t lanes) {
    sets *z = m->sets;
    const kernel_array *a = p->array;
    int dims = p->scope->depth, residues = 0, factor_count[16] = {0}, first[16];
    const index_expr *all[128];
    for (int d = 0; d < a->rank; d++) {
        first[d] = residues;
        factor_count[d] = stride_factors(m, a, d, &all[residues]);
        residues += factor_count[d];
        if (residues > 64)
            return NULL;
    }
    /* each distinct factor takes each residue in turn; a constant has one */
    int64_t at[64] = {0}, cases = 1;
    int same_as[64];
    bool fixed[64];
    int_set *bad = sets_empty(z, dims), *reached = domain_of(m, p->scope);
    if (p->active) {
        affine *some = affine_of(m, dims, p->active);
        reached = sets_intersect(z, reached, affine_nonnegative(m, affine_add(m, some, affine_constant(m, dims, -1))));
        bad = sets_intersect(
            z, reached, affine_nonnegative(m, affine_add(m, affine_scale(m, some, -1), affine_constant(m, dims, p->lanes - 1))));
    }
    for (int i = 0; i < residues; i++) {
        int64_t value;
        same_as[i] = i;
        for (int j = 0; j < i && same_as[i] == i; j++)
            if (ix_equal(all[i], all[j]))
                same_as[i] = j;
        fixed[i] = ix_is_const(all[i], &value);
        at[i] = fixed[i] ? (value % lanes + lanes) % lanes : 0;
        fixed[i] = fixed[i] || is_divided(m, all[i], lanes);
        if (!fixed[i] && same_as[i] == i && (cases *= lanes) > MOST_CASES) {
            m->why = "an alignment that depends on too many extents";
            return NULL;
        }
    }
    for (int64_t c = 0; c < cases; c++) {
        int64_t rest = c;
        sets_question(z);
        int_set *here = reached;
        for (int i = 0; i < residues; i++) {
            if (same_as[i] != i) {
                at[i] = at[same_as[i]];
                continue;
            }
            if (fixed[i])
                continue;
            at[i] = rest % lanes;
            rest /= lanes;
            here = sets_intersect(z, here, with_residue(m, dims, affine_of(m, dims, all[i]), lanes, at[i], false));
        }
        affine *offset = affine_constant(m, dims, 0);
        for (int d = 0; d < a->rank; d++) {
            int64_t stride = 1;
            for (int i = first[d]; i < first[d] + factor_count[d]; i++)
                stride = stride * at[i] % lanes;
            if (stride)
                offset = affine_add(m, offset, affine_scale(m, affine_of(m, dims, p->indices[d]), stride));
        }
        bad = sets_union(z, bad, sets_intersect(z, here, with_residue(m, dims, offset, lanes, 0, true)));
    }
    return bad;
}

static bool judge_place(prover *p, place *at) {
    model *m = p->m;
    int lanes = kernel_aligned_lanes(at->array, at->lanes), bytes = lanes * element_table[at->array->element].block_bytes;
    m->why = NULL;
    witness w = witness_of(m, misplaced(m, at, lanes), scope_names(m, at->scope), at->scope->depth);
    const char *why = m->why;
    if (w.verdict == VERDICT_PROVED)
        return true;
    const char *loose = place_imprecise(m, at, true);
    if (w.verdict == VERDICT_UNKNOWN) {
        m->why = why;
        prover_gave_up(p, at->array->name, at->span);
    } else if (loose)
        prover_unknown(p, at->array->name, at->span, w.text, loose);
    else
        prover_refuted(
            p, at->array->name, at->span, w.text,
            model_text(m,
                       at->active
                           ? "this vector of `%s` does not begin at a multiple of %d bytes, or its mask takes some lanes only"
                           : "this vector of `%s` does not begin at a multiple of %d bytes",
                       at->array->name, bytes),
            NULL);
    return false;
}

void judge_alignment(prover *p) {
    model *m = p->m;
    bool *judged = NEW_ARRAY(m->arena, bool, m->kernel->arrays.count + 1),
         *broken = NEW_ARRAY(m->arena, bool, m->kernel->arrays.count + 1);
    prover_start(p);
    for (int i = 0; i < m->places.count; i++) {
        place *at = m->places.at[i];
        const kernel_array *a = at->array;
        if (!at->aligned || broken[a->id])
            continue;
        judged[a->id] = true;
        broken[a->id] = !judge_place(p, at);
    }
    for (int i = 0; i < m->kernel->arrays.count; i++) {
        const kernel_array *a = m->kernel->arrays.at[i];
        if (judged[a->id] && !broken[a->id])
            prover_proved(p, a->name, a->span);
    }
}
