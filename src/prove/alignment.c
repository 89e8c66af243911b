/* Alignment: offset mod lanes is 0 wherever a vector marked `aligned` is accessed. Strides are products of extents, which sets can't say; but modulo a
 * constant number of lanes each extent has few values, and for each of them the offset is an affine expression. */
#include "prove/model.h"

enum { MOST_CASES = 4096, MOST_NESTING = 40, MOST_MULTIPLE = 1 << 20, MOST_STEPS = 4000 };

/* The stride of dimension d, in elements, as factors: an expression each. */
static int stride_factors(model *m, const kernel_array *a, int d, const index_expr **factors) {
    int count = 0;
    if (a->layout.kind == LAYOUT_STRIDES) {
        factors[count++] = a->layout.strides[d];
        return count;
    }
    if (a->layout.kind == LAYOUT_BOX) { /* all that lies before is rows of boxes; the checker has seen that lanes divide those */
        if (d < a->rank - 1)
            factors[count++] = ix_const(m->arena, a->layout.box[a->rank - 1]);
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

/* A divisor of n that divides x whatever the launch and the place. */
static int64_t divisor_in(model *m, const index_expr *x, int64_t n, int nesting) {
    int64_t a, b, by;
    if (n == 1 || n > (int64_t)1 << 40 || nesting > MOST_NESTING || ++m->steps > MOST_STEPS)
        return 1;
    if (is_divided(m, x, n))
        return n;
    switch (x->op) {
    case IX_CONST: return ix_gcd(n, x->value % n);
    case IX_VAR: {
        if (x->var->has_value)
            return ix_gcd(n, x->var->value % n);
        if (!model_knows(m, x->var))
            return 1;
        if (m->definition[x->var->id])
            return divisor_in(m, m->definition[x->var->id], n, nesting + 1);
        const kernel_stmt *loop = m->loop[x->var->id];
        return loop ? divisor_in(m, loop->lo, divisor_in(m, loop->step, n, nesting + 1), nesting + 1) : 1;
    }
    case IX_ADD:
    case IX_SUB:
    case IX_MIN:
    case IX_MAX:
    case IX_MOD: return divisor_in(m, x->b, divisor_in(m, x->a, n, nesting + 1), nesting + 1);
    case IX_MUL:
        a = divisor_in(m, x->a, n, nesting + 1);
        b = divisor_in(m, x->b, n / a, nesting + 1);
        return a * b;
    case IX_FLOORDIV: /* where n * by divides x->a, n divides the quotient */
        if (!ix_is_const(x->b, &by) || by <= 0 || by > MOST_MULTIPLE)
            return 1;
        a = divisor_in(m, x->a, n * by, nesting + 1);
        return a % by ? 1 : a / by;
    }
    return 1;
}

/* Whether each term of the first cell's offset is a multiple of `lanes`, and the mask one of the vector's lanes: no set is asked then. */
static bool placed_by_terms(model *m, const place *p, int64_t lanes) {
    const kernel_array *a = p->array;
    const index_expr *factors[16];
    int64_t one;
    m->steps = 0;
    if (a->rank > 16 || lanes > MOST_MULTIPLE || (p->active && divisor_in(m, p->active, p->lanes, 0) != p->lanes))
        return false;
    for (int d = 0; d < a->rank; d++) {
        /* of a fragment, all rows: then the distance between them is a multiple by itself */
        bool rows = p->extents && d < a->rank - 1 && !(ix_is_const(p->extents[d], &one) && one == 1);
        int64_t rest = rows ? lanes : lanes / divisor_in(m, p->indices[d], lanes, 0);
        int count = stride_factors(m, a, d, factors);
        for (int i = 0; i < count; i++)
            rest /= divisor_in(m, factors[i], rest, 0);
        if (rest != 1)
            return false;
    }
    return true;
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
        for (int d = 0; d < a->rank && p->extents; d++) { /* a fragment's other rows */
            int64_t stride = 1, rows;
            for (int i = first[d]; i < first[d] + factor_count[d]; i++)
                stride = stride * at[i] % lanes;
            if (d < a->rank - 1 && stride && !(ix_is_const(p->extents[d], &rows) && rows == 1))
                bad = sets_union(z, bad, here);
        }
        bad = sets_union(z, bad, sets_intersect(z, here, with_residue(m, dims, offset, lanes, 0, true)));
    }
    return bad;
}

static bool judge_place(prover *p, place *at) {
    model *m = p->m;
    bool fragment =
        at->stmt->kind == KSTMT_FRAGMENT_LOAD || at->stmt->kind == KSTMT_FRAGMENT_STORE || at->stmt->kind == KSTMT_COPY;
    int lanes = kernel_aligned_lanes(at->array, fragment ? kernel_row_lanes(at->stmt) : at->lanes),
        bytes = lanes * element_table[at->array->element].block_bytes;
    if (placed_by_terms(m, at, lanes))
        return true;
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
                       fragment ? "a row of this transfer of `%s` does not begin at a multiple of %d bytes"
                       : at->active
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
