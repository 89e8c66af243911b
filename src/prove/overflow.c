/* Index overflow: every integer expression the printed code computes fits its integer type, a tile's start before its guard, the last
 * increment of a loop and the offset of a cell included. Intervals decide nearly always; sets decide the rest exactly. */
#include "prove/interval.h"
#include "prove/smt_model.h"
#include <inttypes.h>

typedef struct overflow {
    prover *p;
    model *m;
    wide low, high; /* the integer type */
    bool refuted;   /* an item was made */
} overflow;

static bool fits(const overflow *o, interval x) {
    return x.lo >= o->low && x.hi <= o->high;
}

static const char *text_of(model *m, const index_expr *x) {
    text_buffer b = {0};
    ix_print(&b, x);
    const char *text = arena_strdup(m->arena, text_get(&b));
    text_free(&b);
    return text;
}

/* Products of unknowns, or a condition around them, are beyond sets. */
static bool judge_by_smt(overflow *o, scope *s, const index_expr *x, source_span span) {
    model *m = o->m;
    witness w = smt_beyond(m, s, x, (int64_t)o->low, (int64_t)o->high);
    o->refuted = o->refuted || w.verdict == VERDICT_REFUTED;
    if (w.verdict == VERDICT_REFUTED)
        prover_refuted(o->p, text_of(m, x), span, w.text,
                       model_text(m, "`%s` does not fit a %d-bit integer", text_of(m, x), o->p->limits->index_bits), NULL);
    return w.verdict != VERDICT_UNKNOWN;
}

/* The interval was too coarse: the points of the scope where the expression does not fit. */
static void judge_exactly(overflow *o, scope *s, const index_expr *x, source_span span) {
    model *m = o->m;
    sets_question(m->sets);
    m->why = NULL;
    affine *e = affine_of(m, s->depth, x);
    int_set *domain = domain_of(m, s);
    for (int side = 0; side < 2; side++) {
        affine *end = affine_constant(m, s->depth, side ? (int64_t)o->high : (int64_t)o->low),
               *one = affine_constant(m, s->depth, -1);
        affine *beyond = e ? affine_add(m, side ? affine_subtract(m, e, end) : affine_subtract(m, end, e), one) : NULL;
        int_set *bad = sets_intersect(m->sets, domain, affine_nonnegative(m, beyond));
        if (!bad) {
            const char *why = m->why;
            if (judge_by_smt(o, s, x, span))
                return;
            m->why = why ? smt_why(m, why) : NULL;
            prover_gave_up(o->p, text_of(m, x), span);
            o->refuted = true;
            return;
        }
        witness w = witness_of(m, bad, scope_names(m, s), s->depth);
        if (w.verdict == VERDICT_PROVED)
            continue;
        if ((s->precision != PRECISE || w.verdict == VERDICT_UNKNOWN) && smt_worthwhile(m, s) && judge_by_smt(o, s, x, span))
            return;
        o->refuted = true;
        if (w.verdict == VERDICT_REFUTED && s->precision == PRECISE)
            prover_refuted(o->p, text_of(m, x), span, w.text,
                           model_text(m, "`%s` does not fit a %d-bit integer", text_of(m, x), o->p->limits->index_bits), NULL);
        else if (s->precision != PRECISE)
            prover_unknown(o->p, text_of(m, x), span, w.text, s->why);
        else
            prover_gave_up(o->p, text_of(m, x), span);
        return;
    }
}

/* Every part of an expression is computed on its way. */
static void judge_expression(overflow *o, scope *s, const index_expr *x, source_span span, int nesting) {
    if (!x || o->refuted || nesting > 300)
        return;
    if (x->op != IX_CONST && x->op != IX_VAR) {
        judge_expression(o, s, x->a, span, nesting + 1);
        judge_expression(o, s, x->b, span, nesting + 1);
    }
    if (!o->refuted && !fits(o, interval_of(o->m, x)) && !reach_within(o->m, s, x, o->low, o->high))
        judge_exactly(o, s, x, span);
}

static void judge_condition(overflow *o, scope *s, const cond *c, source_span span, int nesting) {
    if (!c || nesting > 300)
        return;
    judge_expression(o, s, c->x, span, 0);
    judge_expression(o, s, c->y, span, 0);
    judge_condition(o, s, c->a, span, nesting + 1);
    judge_condition(o, s, c->b, span, nesting + 1);
}

/* In a text of narrow indices values of type index have their width too. What only hands on other values, each judged where it is made (in memory an
 * index has 32 bits in any case), is one of them. */
static void judge_narrow_value(overflow *o, const kernel_value *v) {
    switch (v->op) {
    case KERNEL_INDEX: /* judged as an expression */
    case KERNEL_LOAD:
    case KERNEL_REF:
    case KERNEL_SELECT:
    case KERNEL_MIN:
    case KERNEL_MAX:
    case KERNEL_SUBGROUP_MAX:
    case KERNEL_SUBGROUP_MIN:
    case KERNEL_SUBGROUP_BROADCAST:
    case KERNEL_SHUFFLE:
    case KERNEL_SHUFFLE_XOR:
    case KERNEL_SHUFFLE_DOWN:
        if (v->lanes == 1)
            return;
        break;
    default: break;
    }
    bool shifts = v->op == KERNEL_SHL || v->op == KERNEL_SHR; /* counts are taken modulo the width */
    if (o->refuted || (v->lanes == 1 && !shifts && fits(o, interval_of_value(o->m, v, NULL))))
        return;
    prover_unknown(o->p, o->p->kernel->name, v->span, NULL,
                   model_text(o->m, v->lanes > 1 ? "a vector of indices, by `%s`" : "an index made of data, by `%s`",
                              kernel_op_table[v->op].name));
    o->refuted = true;
}

/* Integers inside a value: index expressions, and 64-bit arithmetic on them (32-bit arithmetic wraps by definition). */
static void judge_value(overflow *o, scope *s, const kernel_value *v, int nesting) {
    if (nesting > 210)
        return;
    for (int i = 0; i < v->operand_count; i++)
        judge_value(o, s, v->operands[i], nesting + 1);
    judge_expression(o, s, v->index, v->span, 0);
    bool wraps = false;
    if (v->type == ELEMENT_INDEX && v->operand_count && !o->refuted)
        interval_of_value(o->m, v, &wraps);
    if (wraps) {
        prover_unknown(o->p, o->p->kernel->name, v->span, NULL,
                       model_text(o->m, "`%s` on integers of unknown size", kernel_op_table[v->op].name));
        o->refuted = true;
    }
    if (o->p->narrow && v->type == ELEMENT_INDEX)
        judge_narrow_value(o, v);
}

/* The expressions that bound a scope. */
static void judge_scope(overflow *o, scope *s) {
    source_span span = s->stmt ? s->stmt->span : o->p->kernel->span;
    if (s->kind == SCOPE_ID) {
        judge_expression(o, s->parent, s->extent, span, 0);
    } else if (s->kind == SCOPE_LOOP) {
        judge_expression(o, s->parent, s->stmt->lo, span, 0);
        judge_expression(o, s->parent, s->stmt->hi, span, 0);
        judge_expression(o, s->parent, s->stmt->step, span, 0);
        judge_expression(o, s, ix_add(o->m->arena, ix_var(o->m->arena, s->var), s->stmt->step), span, 0); /* the last increment */
        if (s->counted)
            judge_expression(o, s, ix_add(o->m->arena, ix_var(o->m->arena, s->counted->var), s->counted->step), span, 0);
    } else if (s->kind == SCOPE_GUARD && !s->negated) {
        judge_condition(o, s->parent, s->guard, span, 0);
    }
}

static void judge_region(overflow *o, region *r) {
    if (r->kind == REGION_LOOP)
        judge_scope(o, r->scope);
    if (r->kind == REGION_CHOICE)
        for (int i = 0; i < r->children.count; i++)
            judge_scope(o, r->children.at[i]->scope);
    kernel_stmt *s = r->kind == REGION_STEP ? r->stmt : NULL;
    kernel_value *values[KERNEL_STMT_VALUES];
    for (int i = 0, n = s ? kernel_stmt_values(s, values) : 0; i < n; i++)
        judge_value(o, r->scope, values[i], 0);
    for (int i = 0; i < r->places.count; i++) {
        place *p = r->places.at[i];
        for (int d = 0; d < p->array->rank; d++) {
            judge_expression(o, p->scope, p->indices[d], p->span, 0);
            if (p->extents)
                judge_expression(o, p->scope, p->extents[d], p->span, 0);
        }
        judge_expression(o, p->scope, p->active, p->span, 0);
    }
    for (int i = 0; i < r->children.count; i++)
        judge_region(o, r->children.at[i]);
}

/* ---- offsets ---- */

/* In launches that fit narrow indices, each array's offsets do, and each product of its extents, where the access is in bounds. The offset of a masked
 * vector is computed when no lane takes part, too: it must then stand less than PLAN_NARROW_SLACK past the end of its row. */
static bool start_is_near(overflow *o, const place *p) {
    model *m = o->m;
    const kernel_array *a = p->array;
    if (!p->active ||
        a->rank <
            2) /* in bounds (where a fragment or a copy may begin outside its array, its offset is never a narrow one), or the index is the offset */
        return true;
    place whole = *p; /* its first lane alone */
    whole.active = NULL;
    whole.lanes = 1;
    for (int d = 0; d < a->rank; d++) {
        bool last = d == a->rank - 1 && d == p->vector_dim;
        if (last ? reach_most(m, p->scope, p->indices[d], -1, NULL, 0) > 0 ||
                       reach_most(m, p->scope, p->indices[d], 1, a->dims[d], -1) >= PLAN_NARROW_SLACK / 2
                 : !reach_inside(m, &whole, d))
            return false;
    }
    return true;
}

static void judge_narrow_offsets(overflow *o) {
    model *m = o->m;
    const char *why = NULL;
    for (int i = 0; i < m->kernel->scalars.count && !why; i++) {
        const kernel_scalar *s = &m->kernel->scalars.at[i];
        if (s->var &&
            !fits(o, s->type == ELEMENT_U32 && kernel_scalar_is_whole_type(s) ? (interval){0, UINT32_MAX}
                                                                              : interval_of(m, ix_var(m->arena, s->var))))
            why = model_text(m, "the scalar `%s`", s->name);
    }
    for (int i = 0; i < m->kernel->arrays.count && !why; i++) {
        const kernel_array *a = m->kernel->arrays.at[i];
        bool whole = a->space == SPACE_GLOBAL && a->rank == 1 &&
                     (!a->view_of || element_table[a->element].block_bytes >= element_table[a->view_of->element].block_bytes);
        if ((a->view_of || m->object_of[a->id]) && !whole) /* a view of an argument has no more elements than it */
            why = model_text(m, "the view `%s`", a->name);
        else if (a->space == SPACE_GLOBAL && a->layout.kind != LAYOUT_ROW)
            why = model_text(m, "the layout of `%s`", a->name);
    }
    for (int i = 0; i < m->places.count && !why; i++) {
        const place *p = m->places.at[i];
        if (p->array->space == SPACE_GHOST || p->array->space == SPACE_REGISTER)
            continue;
        if (p->extents && !p->collective && p->stmt->kind != KSTMT_COPY) /* whose source has no narrow offset either */
            why = model_text(m, "an access of `%s` by another unit", p->array->name);
        else if (!start_is_near(o, p))
            why = model_text(m, "where a masked access of `%s` begins", p->array->name);
    }
    if (!why)
        return;
    prover_unknown(o->p, m->kernel->name, m->kernel->span, NULL, why);
    o->refuted = true;
}

/* The largest offset an access can have, in cells: sum cell[d] * (product of the later extents), symbols fixed where `fixed`. */
static int_set *beyond_type(overflow *o, const kernel_array *a, int_set *cells, const int64_t *fixed) {
    model *m = o->m;
    index_expr *stride = ix_const(m->arena, 1);
    affine *offset = affine_constant(m, a->rank, 0);
    for (int i = 0; i < m->parameters.count; i++)
        if (fixed[i] >= 0)
            cells = sets_fix_parameter(m->sets, cells, i, fixed[i]);
    for (int d = a->rank - 1; d >= 0 && offset; d--) {
        int64_t factor;
        if (!ix_is_const(stride, &factor)) {
            m->why = model_text(m, "the product `%s`", text_of(m, stride));
            return NULL;
        }
        offset = affine_add(m, offset, affine_scale(m, affine_dim(m, a->rank, d), factor));
        index_expr *extent = a->dims[d];
        for (int i = 0; i < m->parameters.count; i++)
            if (fixed[i] >= 0)
                extent = ix_substitute(m->arena, extent, m->parameters.at[i], ix_const(m->arena, fixed[i]));
        stride = ix_mul(m->arena, stride, extent);
    }
    affine *gap =
        affine_add(m, affine_subtract(m, offset, affine_constant(m, a->rank, (int64_t)o->high)), affine_constant(m, a->rank, -1));
    int_set *bad = sets_intersect(m->sets, cells, affine_nonnegative(m, gap));
    return sets_intersect(m->sets, bad, parameter_limit(m, a->rank));
}

/* Extents of inner dimensions multiply: they are fixed at the largest value first, then at the least that still breaks. */
static void judge_products(overflow *o, const kernel_array *a, int_set *cells) {
    model *m = o->m;
    int n = m->parameters.count;
    int64_t *fixed = NEW_ARRAY(m->arena, int64_t, n + 1);
    bool *inner = NEW_ARRAY(m->arena, bool, n + 1);
    for (int i = 0; i < n; i++) {
        fixed[i] = -1;
        for (int d = 1; d < a->rank; d++)
            inner[i] = inner[i] || ix_mentions(a->dims[d], m->parameters.at[i]);
        if (inner[i])
            fixed[i] = m->limits->largest_extent;
    }
    int_set *bad = beyond_type(o, a, cells, fixed);
    witness w = witness_of(m, bad, NULL, 0);
    if (w.verdict != VERDICT_REFUTED) {
        if (!m->why)
            m->why = model_text(m, "the number of elements of `%s`", a->name);
        prover_gave_up(o->p, a->name, a->span);
        return;
    }
    for (int i = 0; i < n; i++)
        if (!inner[i])
            fixed[i] = w.values[i];
    for (int i = 0; i < n; i++) {
        int64_t low = 0, high = fixed[i];
        while (inner[i] && low < high) {
            fixed[i] = low + (high - low) / 2;
            sets_question(m->sets);
            if (sets_is_empty(m->sets, beyond_type(o, a, cells, fixed)) == TRI_NO)
                high = fixed[i];
            else
                low = fixed[i] + 1;
        }
        if (inner[i])
            fixed[i] = high;
    }
    witness least = witness_of(m, beyond_type(o, a, cells, fixed), NULL, 0);
    w = least.verdict == VERDICT_REFUTED ? least : w;
    prover_refuted(
        o->p, a->name, a->span, w.text,
        model_text(m, "the offset of %s does not fit a %d-bit integer", witness_cell(m, a, w.dims), o->p->limits->index_bits),
        NULL);
}

static void judge_offsets(overflow *o, const kernel_array *a) {
    model *m = o->m;
    bool global = a->space == SPACE_GLOBAL;
    int64_t cells = kernel_array_cells(a);
    prover_start(o->p);
    if (cells >= 0) {
        bool too_large = cells > INT64_MAX / 64 || (wide)cells * a->lanes > o->high;
        o->refuted = o->refuted || too_large;
        if (too_large)
            prover_refuted(o->p, a->name, a->span, NULL,
                           model_text(m, "the size of `%s` does not fit a %d-bit integer", a->name, o->p->limits->index_bits),
                           NULL);
        return;
    }
    /* An array that exists has fewer than 2^62 bytes (a launch check), and accesses are in bounds: 63 bits are enough. */
    if (!global || o->p->limits->index_bits >= 63 || o->p->narrow)
        return;
    interval size = {1, 1};
    for (int d = 0; d < a->rank; d++)
        size = interval_product(size, interval_of(o->m, a->dims[d]));
    if (size.hi <= o->high)
        return;
    o->refuted = true;
    m->why = NULL;
    if (a->layout.kind != LAYOUT_ROW) {
        prover_unknown(o->p, a->name, a->span, NULL, "offsets of a layout other than row-major");
        return;
    }
    const char *why = NULL;
    for (int i = 0; i < m->places.count && !why; i++)
        why = m->places.at[i]->array == a ? place_imprecise(m, m->places.at[i], true) : NULL;
    sets_question(m->sets);
    int_set *touched =
        sets_union(m->sets, summary_of(m, m->root, a, SUMMARY_MAY_READ), summary_of(m, m->root, a, SUMMARY_MAY_WRITE));
    if (why)
        prover_unknown(o->p, a->name, a->span, NULL, why);
    else
        judge_products(o, a, touched);
}

void judge_overflow(prover *p) {
    model *m = p->m;
    int bits = p->limits->index_bits;
    if (prover_beyond(p))
        return;
    prover_start(p);
    overflow o = {.p = p, .m = m, .high = ((wide)1 << (bits - 1)) - 1};
    o.low = -o.high - 1;
    for (int i = 0; i < p->kernel->arrays.count; i++)
        for (int d = 0; d < p->kernel->arrays.at[i]->rank; d++)
            judge_expression(&o, m->scopes.at[0],
                             p->kernel->arrays.at[i]->space == SPACE_GHOST ? NULL : p->kernel->arrays.at[i]->dims[d],
                             p->kernel->arrays.at[i]->span, 0);
    judge_region(&o, m->root);
    for (int i = 0; i < m->meetings.count; i++) {
        judge_expression(&o, m->meetings.at[i].scope, m->meetings.at[i].stmt->slot, m->meetings.at[i].stmt->span, 0);
        judge_expression(&o, m->meetings.at[i].scope, m->meetings.at[i].stmt->phase, m->meetings.at[i].stmt->span, 0);
    }
    for (int i = 0; i < m->breaks.count; i++)
        if (m->breaks.at[i]->kind == SCOPE_GUARD && m->breaks.at[i]->parent)
            judge_condition(&o, m->breaks.at[i]->parent, m->breaks.at[i]->guard, p->kernel->span, 0);
    for (int i = 0; i < p->kernel->arrays.count; i++)
        if (p->kernel->arrays.at[i]->space != SPACE_GHOST &&
            model_touched(m, p->kernel->arrays.at[i], ACCESS_READ | ACCESS_WRITE))
            judge_offsets(&o, p->kernel->arrays.at[i]);
    if (p->narrow && !o.refuted)
        judge_narrow_offsets(&o);
    if (!o.refuted)
        prover_proved(p, p->kernel->name, p->kernel->span);
}
