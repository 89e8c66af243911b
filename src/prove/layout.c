/* Layouts: distinct cells stand at distinct offsets inside the array's storage. Decided by arithmetic; swizzles by rank over GF(2). */
#include "prove/smt_model.h"
#include <inttypes.h>

typedef struct finding {
    verdict verdict;
    const char *text, *witness;
} finding;

static finding unknown(const char *text) {
    return (finding){VERDICT_UNKNOWN, text, NULL};
}
static finding proved(void) {
    return (finding){VERDICT_PROVED, NULL, NULL};
}

/* x -> x ^ ((x >> shift) & mask) is linear over GF(2): a bijection exactly when its matrix has full rank. */
static finding judge_swizzle(model *m, const kernel_layout *l) {
    if (l->bits < 0 || l->base < 0 || l->shift < 0 || l->base + l->bits > 61 || l->shift > 61)
        return unknown("a swizzle with parameters out of range");
    int n = l->base + l->bits + l->shift;
    if (n > 62)
        n = 62;
    uint64_t mask = (((uint64_t)1 << l->bits) - 1) << l->base, rows[62], images[62] = {0}, kernel = 0;
    for (int i = 0; i < n; i++)
        rows[i] = (uint64_t)1 << i; /* combination of basis vectors whose image is being reduced */
    for (int i = 0; i < n; i++)
        images[i] = rows[i] ^ ((rows[i] >> l->shift) & mask);
    int rank = 0;
    for (int bit = 0; bit < n; bit++) {
        int pivot = rank;
        while (pivot < n && !(images[pivot] >> bit & 1))
            pivot++;
        if (pivot == n)
            continue;
        uint64_t image = images[pivot], row = rows[pivot];
        images[pivot] = images[rank];
        rows[pivot] = rows[rank];
        images[rank] = image;
        rows[rank] = row;
        for (int i = 0; i < n; i++)
            if (i != rank && (images[i] >> bit & 1)) {
                images[i] ^= image;
                rows[i] ^= row;
            }
        rank++;
    }
    if (rank == n)
        return proved();
    for (int i = rank; i < n; i++)
        kernel = !kernel || rows[i] < kernel ? rows[i] : kernel;
    return (finding){VERDICT_REFUTED, "two cells stand at one place", model_text(m, "offset = 0, offset = %" PRIu64, kernel)};
}

/* Strides in increasing order, each beyond all that the smaller ones can reach. */
static finding judge_constant_strides(model *m, const kernel_array *a) {
    int64_t dims[32], strides[32], reach = 0;
    int n = 0;
    if (a->rank > 32)
        return unknown("a rank above 32");
    for (int d = 0; d < a->rank; d++) {
        int64_t dim, stride;
        if (!ix_is_const(a->dims[d], &dim) || !ix_is_const(a->layout.strides[d], &stride))
            return unknown("strides that are not constants");
        if (dim <= 0)
            return proved();
        if (stride < 0)
            return unknown("a negative stride");
        if (dim == 1)
            continue;
        int at = n++;
        for (; at > 0 && strides[at - 1] > stride; at--) {
            strides[at] = strides[at - 1];
            dims[at] = dims[at - 1];
        }
        strides[at] = stride;
        dims[at] = dim;
    }
    for (int i = 0; i < n; i++) {
        int64_t step;
        if (!strides[i])
            return (finding){VERDICT_REFUTED, "two cells stand at one place: a stride is 0", model_text(m, "offset = 0")};
        if (strides[i] <= reach)
            return unknown("strides that may overlap");
        if (__builtin_mul_overflow(dims[i] - 1, strides[i], &step) || __builtin_add_overflow(reach, step, &reach))
            return unknown("strides whose reach does not fit 64 bits");
    }
    return proved();
}

/* Row after row: each stride is at least the next one times its extent, in every launch. */
static bool each_beyond_the_last(model *m, const kernel_array *a) {
    sets *z = m->sets;
    int64_t last;
    if (!a->rank || !ix_is_const(a->layout.strides[a->rank - 1], &last) || last < 1)
        return false;
    for (int d = 0; d + 1 < a->rank; d++) {
        sets_question(z);
        index_expr *reach = ix_mul(m->arena, a->layout.strides[d + 1], a->dims[d + 1]);
        affine *room = affine_of(m, 0, ix_sub(m->arena, a->layout.strides[d], reach));
        affine *some = affine_of(m, 0, ix_sub(m->arena, a->layout.strides[d], ix_const(m->arena, 1)));
        int_set *launches = sets_intersect(z, domain_of(m, m->scopes.at[0]), parameter_limit(m, 0));
        int_set *cells = affine_nonnegative(m, affine_of(m, 0, ix_sub(m->arena, a->dims[d + 1], ix_const(m->arena, 1))));
        if (!room || !some || !cells)
            return false;
        /* no cells, nothing to tell apart */
        launches = sets_intersect(z, launches, cells);
        if (sets_is_subset(z, launches, sets_intersect(z, affine_nonnegative(m, room), affine_nonnegative(m, some))) != TRI_YES)
            return false;
    }
    return true;
}

/* Neither sorted nor dense: whether any two cells coincide. */
static finding judge_by_smt(model *m, const kernel_array *a, const char *why) {
    witness w = smt_coincide(m, a);
    if (w.verdict == VERDICT_PROVED)
        return proved();
    if (w.verdict == VERDICT_UNKNOWN)
        return unknown(smt_why(m, why));
    const char *text = w.text;
    for (int side = 0; side < 2; side++)
        text = model_text(m, "%s%scell = %s", text, *text ? ", " : "", witness_cell(m, a, w.dims + side * a->rank));
    return (finding){VERDICT_REFUTED, "two cells stand at one place", text};
}

/* Symbolic strides: a dense order of the dimensions, each stride the product of a smaller one and its extent. */
static finding judge_strides(model *m, const kernel_array *a) {
    finding constant = judge_constant_strides(m, a);
    if (constant.verdict != VERDICT_UNKNOWN || a->rank > 32)
        return constant;
    bool used[32] = {false};
    index_expr *next = ix_const(m->arena, 1);
    if (each_beyond_the_last(m, a))
        return proved();
    for (int step = 0; step < a->rank; step++) {
        int found = -1;
        for (int d = a->rank - 1; d >= 0 && found < 0; d--)
            if (!used[d] && ix_equal(a->layout.strides[d], next))
                found = d;
        if (found < 0)
            return judge_by_smt(m, a, constant.text);
        used[found] = true;
        next = ix_mul(m->arena, next, a->dims[found]);
    }
    return proved();
}

static finding judge(model *m, const kernel_array *a) {
    const kernel_layout *l = &a->layout;
    switch (l->kind) {
    case LAYOUT_ROW: return proved();
    case LAYOUT_STRIDES: return judge_strides(m, a);
    case LAYOUT_PAD: return l->amount >= 0 ? proved() : unknown("a negative padding");
    case LAYOUT_PANEL: /* digits [x / w][others][x mod w], each below its base: mixed radix */
        return l->dim >= 0 && l->dim < a->rank && l->amount > 0 ? proved() : unknown("a panel without a width");
    case LAYOUT_BOX:
        for (int d = 0; d < a->rank; d++)
            if (l->box[d] <= 0)
                return unknown("a box without an extent");
        return l->bits ? judge_swizzle(m, l) : proved();
    case LAYOUT_SWIZZLE: return judge_swizzle(m, l);
    }
    return unknown("an unknown layout");
}

void judge_layout(prover *p) {
    for (int i = 0; i < p->kernel->arrays.count; i++) {
        const kernel_array *a = p->kernel->arrays.at[i];
        if (a->space == SPACE_GHOST || a->layout.kind == LAYOUT_ROW)
            continue;
        prover_start(p);
        finding f = judge(p->m, a);
        if (f.verdict == VERDICT_PROVED)
            prover_proved(p, a->name, a->span);
        else if (f.verdict == VERDICT_REFUTED)
            prover_refuted(p, a->name, a->span, f.witness, model_text(p->m, "the layout of `%s`: %s", a->name, f.text), NULL);
        else
            prover_unknown(p, a->name, a->span, NULL, f.text);
    }
}
