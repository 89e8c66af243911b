/* Bounds: no access meets a half-space outside its array; a let with a stated range stays in it. */
#include "prove/interval.h"
#include "prove/smt_model.h"
#include <inttypes.h>

/* The cells of p below dimension d's start, or at and past its end. */
static int_set *outside(model *m, place *p, int d, bool high) {
    int dims = p->scope->depth, all = dims + p->array->rank;
    affine *cell = affine_dim(m, all, dims + d), *bad;
    if (high) {
        affine *extent = affine_of(m, all, p->array->dims[d]);
        bad = extent ? affine_subtract(m, cell, extent) : NULL;
    } else {
        bad = affine_subtract(m, affine_constant(m, all, -1), cell);
    }
    return bad ? sets_intersect(m->sets, cells_of(m, p), affine_nonnegative(m, bad)) : NULL;
}

static void refute(prover *p, place *at, int d, const witness *w) {
    model *m = p->m;
    const int64_t *cell = w->dims + at->scope->depth;
    int64_t extent;
    const char *verb = at->use == ACCESS_READ ? "reads" : "writes", *text = witness_cell(m, at->array, cell);
    const char *mend = NULL;
    if (witness_eval(m, w, at->array->dims[d], &extent))
        mend = model_text(m, "index %" PRId64 " of dimension %d, whose extent is %" PRId64, cell[d], d, extent);
    prover_refuted(p, at->array->name, at->span, w->text, model_text(m, "this %s %s, outside `%s`", verb, text, at->array->name),
                   mend);
}

/* The least violation found so far. */
typedef struct worst {
    place *at;
    int d;
    witness w;
    place *open;     /* a place that was neither proved nor refuted; NULL: none */
    const char *why; /* the term; NULL: a question failed */
    double idle;     /* milliseconds of questions about it that were not answered */
} worst;

/* With one place open the array is not proved, whatever is found of its others: they may still refute it, for as long as one question takes. */
enum { IDLE_MILLISECONDS = 1000 };

/* Most indices of local arrays need no sets: the index's interval lies inside the extent. */
static bool inside_by_interval(model *m, const place *p, int d) {
    interval index = interval_of(m, p->indices[d]), extent = interval_of(m, p->array->dims[d]);
    if (p->clip)
        return true; /* places outside are not touched */
    wide further = p->lanes > 1 && d == p->vector_dim ? p->lanes - 1 : 0;
    if (p->extents)
        further = interval_of(m, p->extents[d]).hi - 1;
    return (index.lo >= 0 && index.hi + further < extent.lo) || reach_inside(m, p, d);
}

static void judge_place(prover *p, place *at, worst *found) {
    model *m = p->m;
    for (int d = 0; d < at->array->rank; d++) {
        bool inside = inside_by_interval(m, at, d);
        for (int high = 0; high < 2 && !inside; high++) {
            sets_question(m->sets);
            m->why = NULL;
            int_set *x = outside(m, at, d, high);
            witness w = witness_of(m, x, scope_names(m, at->scope), at->scope->depth);
            if (w.verdict == VERDICT_PROVED)
                continue;
            const char *why = place_imprecise(m, at, true), *term = m->why;
            bool wanted = (why || w.verdict == VERDICT_UNKNOWN) && (at->not_affine || smt_worthwhile(m, at->scope) || !why);
            if (wanted && !p->quick && !found->at && found->idle < IDLE_MILLISECONDS) {
                double start = prover_clock();
                witness z = smt_outside(m, at, d, high);
                if (z.verdict == VERDICT_PROVED)
                    continue;
                why = smt_why(m, why ? why : term);
                if (z.verdict == VERDICT_REFUTED) {
                    w = z;
                    why = NULL;
                } else {
                    found->idle += prover_clock() - start;
                }
            }
            if (w.verdict == VERDICT_REFUTED && !why) {
                if (!found->at || witness_is_less(m, &w, &found->w))
                    *found = (worst){at, d, w, found->open, found->why, found->idle};
            } else if (!found->open) {
                found->open = at;
                found->why = why ? why : term;
            }
        }
    }
}

/* An expression between two constants, as intervals and reaches see it: the index of an array of so many cells. */
static bool fits_by_interval(model *m, scope *s, index_expr *x, int64_t lo, int64_t hi) {
    if (lo > hi || hi - lo == INT64_MAX || lo < -(INT64_MAX / 2) || hi > INT64_MAX / 2)
        return false;
    interval is = interval_of(m, x);
    if (is.lo >= lo && is.hi <= hi)
        return true;
    index_expr *extent = ix_const(m->arena, hi - lo + 1), *index = ix_sub(m->arena, x, ix_const(m->arena, lo));
    kernel_array cells = {.name = "", .space = SPACE_PRIVATE, .lanes = 1, .rank = 1, .dims = &extent};
    place at = {.array = &cells, .indices = &index, .lanes = 1, .vector_dim = -1, .scope = s};
    return reach_inside(m, &at, 0);
}

/* `let v in lo .. hi = value`: the values outside the stated range. */
void judge_range(prover *p, let_place *l) {
    model *m = p->m;
    const index_var *v = l->let->var;
    precision precision = PRECISE;
    int64_t lo, hi;
    bool constant = l->let->value->op == KERNEL_INDEX && v->lo && v->hi && ix_is_const(v->lo, &lo) && ix_is_const(v->hi, &hi);
    if (constant && fits_by_interval(m, l->scope, l->let->value->index, lo, hi)) {
        prover_proved(p, l->let->name, l->let->span);
        return;
    }
    int dims = l->scope->depth;
    sets_question(m->sets);
    m->why = NULL;
    int_set *points = value_points(m, l->scope, l->let->value, &precision);
    points = sets_intersect(m->sets, points, sets_insert(m->sets, domain_of(m, l->scope), dims, 1));
    for (int side = 0; side < 2; side++) {
        const index_expr *bound = side ? v->hi : v->lo;
        affine *b = bound && points ? affine_of(m, dims + 1, bound) : NULL, *x = affine_dim(m, dims + 1, dims);
        if (!bound)
            continue;
        affine *gap = b ? (side ? affine_subtract(m, x, b) : affine_subtract(m, b, x)) : NULL;
        gap = affine_add(m, gap, affine_constant(m, dims + 1, -1));
        int_set *bad = sets_intersect(m->sets, points, affine_nonnegative(m, gap));
        const char *why = m->why;
        witness w = bad ? witness_of(m, bad, scope_names(m, l->scope), dims) : (witness){.verdict = VERDICT_UNKNOWN};
        if (w.verdict == VERDICT_PROVED)
            continue;
        bool sure = w.verdict == VERDICT_REFUTED && precision != LOOSE && l->scope->precision != LOOSE;
        if (!sure && constant && !p->quick) { /* products of unknowns: both sides at once */
            witness z = smt_beyond(m, l->scope, l->let->value->index, lo, hi);
            int64_t is;
            if (z.verdict == VERDICT_PROVED)
                break;
            if (z.verdict == VERDICT_REFUTED && witness_eval(m, &z, l->let->value->index, &is)) {
                prover_refuted(p, l->let->name, l->let->span, z.text,
                               model_text(m, "`%s` is %" PRId64 ", outside its stated range", l->let->name, is), NULL);
                return;
            }
        }
        if (!bad) {
            m->why = why;
            prover_gave_up(p, l->let->name, l->let->span);
            return;
        }
        if (sure)
            prover_refuted(p, l->let->name, l->let->span, w.text,
                           model_text(m, "`%s` is %" PRId64 ", outside its stated range", l->let->name, w.dims[dims]), NULL);
        else if (constant)
            prover_unknown(p, l->let->name, l->let->span, NULL,
                           smt_why(m, why ? why : model_text(m, "whether `%s` stays in its stated range", l->let->name)));
        else
            prover_unknown(p, l->let->name, l->let->span, NULL,
                           model_text(m, "the value of `%s`, which comes from data", l->let->name));
        return;
    }
    prover_proved(p, l->let->name, l->let->span);
}

void judge_bounds(prover *p) {
    model *m = p->m;
    if (prover_beyond(p))
        return;
    for (int i = 0; i < m->kernel->arrays.count && !p->settled; i++) {
        const kernel_array *a = m->kernel->arrays.at[i];
        worst found = {0};
        if (a->space == SPACE_GHOST || model_is_object(m, a) || !model_touched(m, a, ACCESS_READ | ACCESS_WRITE))
            continue;
        prover_start(p);
        for (int j = 0; j < m->places.count && !(found.at && p->limits->settle); j++)
            if (m->places.at[j]->array == a)
                judge_place(p, m->places.at[j], &found);
        m->why = found.why;
        if (found.at)
            refute(p, found.at, found.d, &found.w);
        else if (found.open && found.why)
            prover_unknown(p, a->name, found.open->span, NULL, found.why);
        else if (found.open)
            prover_gave_up(p, a->name, found.open->span);
        else
            prover_proved(p, a->name, a->span);
    }
    for (int i = 0; i < m->lets.count && !p->settled; i++) {
        const index_var *v = m->lets.at[i].let->var;
        prover_start(p);
        if (v && (v->lo || v->hi))
            judge_range(p, &m->lets.at[i]);
    }
    judge_contracts(p);
}

/* Any value outside its stated range, or access outside its array, that is found soon: ranges first, then the first places of each array. */
void seek_out_of_bounds(prover *p) {
    enum { PLACES_OF_AN_ARRAY = 3 };
    model *m = p->m;
    if (m->beyond)
        return;
    for (int i = 0; i < m->lets.count && !p->proof->refuted && prover_clock() < p->end; i++) {
        const index_var *v = m->lets.at[i].let->var;
        if (v && (v->lo || v->hi))
            judge_range(p, &m->lets.at[i]);
    }
    for (int i = 0; i < m->kernel->arrays.count; i++) {
        const kernel_array *a = m->kernel->arrays.at[i];
        worst found = {0};
        int asked = 0;
        if (a->space != SPACE_GLOBAL || model_is_object(m, a))
            continue;
        for (int j = 0; j < m->places.count && asked < PLACES_OF_AN_ARRAY; j++) {
            if (p->proof->refuted || prover_clock() > p->end)
                return;
            if (m->places.at[j]->array != a)
                continue;
            asked++;
            judge_place(p, m->places.at[j], &found);
            if (found.at)
                refute(p, found.at, found.d, &found.w);
        }
    }
}
