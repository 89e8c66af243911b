/* Index overflow: every integer expression the printed code computes fits its integer type, a tile's start before its guard, the last
 * increment of a loop and the offset of a cell included. Intervals decide nearly always; sets decide the rest exactly. */
#include "prove/model.h"
#include <inttypes.h>

__extension__ typedef __int128 wide;
typedef struct interval { wide lo, hi; } interval;

typedef struct overflow {
    prover *p;
    model *m;
    wide low, high;       /* the integer type */
    interval *of;         /* by variable id */
    bool *has;
    bool refuted;         /* an item was made */
    int nesting;
} overflow;

static const wide HUGE_WIDE = (wide)1 << 100;
static const interval ANYTHING = {-((wide)1 << 100), (wide)1 << 100};

static interval clamp(interval x)
{
    if (x.lo < -HUGE_WIDE)
        x.lo = -HUGE_WIDE;
    if (x.hi > HUGE_WIDE)
        x.hi = HUGE_WIDE;
    return x;
}

static wide floor_divide(wide x, wide y) { return x / y - (x % y < 0); }

static interval product(interval x, interval y)
{
    wide bound = (wide)1 << 62; /* larger factors only appear where the result is too large anyway */
    if (x.lo < -bound || x.hi > bound || y.lo < -bound || y.hi > bound)
        return ANYTHING;
    wide corners[4] = {x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi};
    interval r = {corners[0], corners[0]};
    for (int i = 1; i < 4; i++) {
        r.lo = corners[i] < r.lo ? corners[i] : r.lo;
        r.hi = corners[i] > r.hi ? corners[i] : r.hi;
    }
    return clamp(r);
}

static interval interval_of(overflow *o, const index_expr *x);

static interval parameter_interval(overflow *o, const index_var *v)
{
    bool symbol = v->kind == INDEX_SYMBOL;
    interval r = {symbol ? 0 : INT32_MIN, symbol ? o->m->limits->largest_extent : INT32_MAX};
    if (o->nesting < 20) { /* `len: 0..T` */
        o->nesting++;
        interval lo = v->lo ? interval_of(o, v->lo) : r, hi = v->hi ? interval_of(o, v->hi) : r;
        o->nesting--;
        r.lo = v->lo && lo.lo > r.lo ? lo.lo : r.lo;
        r.hi = v->hi && hi.hi < r.hi ? hi.hi : r.hi;
    }
    return r;
}

static interval variable_interval(overflow *o, const index_var *v)
{
    if (v->has_value)
        return (interval){v->value, v->value};
    if (v->kind == INDEX_SYMBOL || v->kind == INDEX_SCALAR)
        return parameter_interval(o, v);
    if (!model_knows(o->m, v))
        return ANYTHING;
    return o->has[v->id] ? o->of[v->id] : ANYTHING;
}

static interval interval_of(overflow *o, const index_expr *x)
{
    if (x->op == IX_CONST)
        return (interval){x->value, x->value};
    if (x->op == IX_VAR)
        return variable_interval(o, x->var);
    if (++o->nesting > 300) {
        o->nesting--;
        return ANYTHING;
    }
    interval a = interval_of(o, x->a), b = interval_of(o, x->b), r = ANYTHING;
    o->nesting--;
    switch (x->op) {
    case IX_ADD: return clamp((interval){a.lo + b.lo, a.hi + b.hi});
    case IX_SUB: return clamp((interval){a.lo - b.hi, a.hi - b.lo});
    case IX_MUL: return product(a, b);
    case IX_MIN: return (interval){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    case IX_MAX: return (interval){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    case IX_FLOORDIV:
        if (b.lo > 0)
            r = (interval){floor_divide(a.lo, a.lo < 0 ? b.lo : b.hi), floor_divide(a.hi, a.hi < 0 ? b.hi : b.lo)};
        return r;
    case IX_MOD:
        if (b.lo > 0)
            r = (interval){0, a.lo >= 0 && a.hi < b.hi - 1 ? a.hi : b.hi - 1};
        return r;
    default: return r;
    }
}

static void remember(overflow *o, const index_var *v, interval x)
{
    if (v && model_knows(o->m, v)) {
        o->of[v->id] = x;
        o->has[v->id] = true;
    }
}

static bool fits(const overflow *o, interval x) { return x.lo >= o->low && x.hi <= o->high; }

static const char *text_of(model *m, const index_expr *x)
{
    text_buffer b = {0};
    ix_print(&b, x);
    const char *text = arena_strdup(m->arena, text_get(&b));
    text_free(&b);
    return text;
}

/* The interval was too coarse: the points of the scope where the expression does not fit. */
static void judge_exactly(overflow *o, scope *s, const index_expr *x, source_span span)
{
    model *m = o->m;
    sets_question(m->sets);
    m->why = NULL;
    affine *e = affine_of(m, s->depth, x);
    int_set *domain = domain_of(m, s);
    for (int side = 0; side < 2; side++) {
        affine *end = affine_constant(m, s->depth, side ? (int64_t)o->high : (int64_t)o->low), *one = affine_constant(m, s->depth, -1);
        affine *beyond = e ? affine_add(m, side ? affine_subtract(m, e, end) : affine_subtract(m, end, e), one) : NULL;
        int_set *bad = sets_intersect(m->sets, domain, affine_nonnegative(m, beyond));
        if (!bad) {
            prover_gave_up(o->p, text_of(m, x), span);
            o->refuted = true;
            return;
        }
        witness w = witness_of(m, bad, scope_names(m, s), s->depth);
        if (w.verdict == VERDICT_PROVED)
            continue;
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
static void judge_expression(overflow *o, scope *s, const index_expr *x, source_span span, int nesting)
{
    if (!x || o->refuted || nesting > 300)
        return;
    if (x->op != IX_CONST && x->op != IX_VAR) {
        judge_expression(o, s, x->a, span, nesting + 1);
        judge_expression(o, s, x->b, span, nesting + 1);
    }
    if (!o->refuted && !fits(o, interval_of(o, x)))
        judge_exactly(o, s, x, span);
}

static void judge_condition(overflow *o, scope *s, const cond *c, source_span span, int nesting)
{
    if (!c || nesting > 300)
        return;
    judge_expression(o, s, c->x, span, 0);
    judge_expression(o, s, c->y, span, 0);
    judge_condition(o, s, c->a, span, nesting + 1);
    judge_condition(o, s, c->b, span, nesting + 1);
}

/* Integers inside a value: index expressions, and 64-bit arithmetic on them (32-bit arithmetic wraps by definition). */
static interval judge_value(overflow *o, scope *s, const kernel_value *v, int nesting)
{
    interval x[3] = {ANYTHING, ANYTHING, ANYTHING}, r = ANYTHING;
    if (nesting > 210)
        return r;
    for (int i = 0; i < v->operand_count; i++) {
        interval operand = judge_value(o, s, v->operands[i], nesting + 1);
        if (i < 3)
            x[i] = operand;
    }
    judge_expression(o, s, v->index, v->span, 0);
    switch (v->op) {
    case KERNEL_CONST: r = v->number > -1e15 && v->number < 1e15 ? (interval){(int64_t)v->number, (int64_t)v->number} : r; break;
    case KERNEL_INDEX: r = interval_of(o, v->index); break;
    case KERNEL_REF: r = v->let->var ? variable_interval(o, v->let->var) : r; break;
    case KERNEL_IOTA: r = (interval){0, v->lanes - 1}; break;
    case KERNEL_LOAD:
        if (v->access.array->element_bound)
            r = (interval){0, interval_of(o, v->access.array->element_bound).hi};
        break;
    case KERNEL_BROADCAST:
    case KERNEL_CONVERT:
    case KERNEL_LANES_MIN:
    case KERNEL_LANES_MAX: r = x[0]; break;
    case KERNEL_ADD: r = clamp((interval){x[0].lo + x[1].lo, x[0].hi + x[1].hi}); break;
    case KERNEL_SUB: r = clamp((interval){x[0].lo - x[1].hi, x[0].hi - x[1].lo}); break;
    case KERNEL_MUL: r = product(x[0], x[1]); break;
    case KERNEL_MIN:
    case KERNEL_MAX: r = (interval){x[0].lo < x[1].lo ? x[0].lo : x[1].lo, x[0].hi > x[1].hi ? x[0].hi : x[1].hi}; break;
    case KERNEL_SELECT: r = (interval){x[1].lo < x[2].lo ? x[1].lo : x[2].lo, x[1].hi > x[2].hi ? x[1].hi : x[2].hi}; break;
    default: break;
    }
    interval type = v->type == ELEMENT_I32   ? (interval){INT32_MIN, INT32_MAX}
                    : v->type == ELEMENT_U32 ? (interval){0, UINT32_MAX}
                    : v->type == ELEMENT_I8  ? (interval){INT8_MIN, INT8_MAX}
                    : v->type == ELEMENT_U8  ? (interval){0, UINT8_MAX}
                                             : (interval){INT64_MIN, INT64_MAX};
    bool computed = v->op == KERNEL_ADD || v->op == KERNEL_SUB || v->op == KERNEL_MUL || v->op == KERNEL_NEG || v->op == KERNEL_SHL;
    if (r.lo < type.lo || r.hi > type.hi) {
        if (v->type == ELEMENT_INDEX && computed && !o->refuted) {
            prover_unknown(o->p, o->p->kernel->name, v->span, NULL, model_text(o->m, "`%s` on integers of unknown size", kernel_op_table[v->op].name));
            o->refuted = true;
        }
        r = type;
    }
    return r;
}

/* Intervals of variables, outermost scopes first, and the expressions that bound them. */
static void judge_scope(overflow *o, scope *s)
{
    source_span span = s->stmt ? s->stmt->span : o->p->kernel->span;
    if (s->kind == SCOPE_ID) {
        judge_expression(o, s->parent, s->extent, span, 0);
        remember(o, s->var, (interval){0, interval_of(o, s->extent).hi - 1});
    } else if (s->kind == SCOPE_LOOP) {
        judge_expression(o, s->parent, s->stmt->lo, span, 0);
        judge_expression(o, s->parent, s->stmt->hi, span, 0);
        judge_expression(o, s->parent, s->stmt->step, span, 0);
        interval lo = interval_of(o, s->stmt->lo), hi = interval_of(o, s->stmt->hi);
        remember(o, s->var, (interval){lo.lo, hi.hi - 1});
        judge_expression(o, s, ix_add(o->m->arena, ix_var(o->m->arena, s->var), s->stmt->step), span, 0); /* the last increment */
    } else if (s->kind == SCOPE_GUARD && !s->negated) {
        judge_condition(o, s->parent, s->guard, span, 0);
    }
}

static void judge_region(overflow *o, region *r)
{
    if (r->kind == REGION_LOOP)
        judge_scope(o, r->scope);
    if (r->kind == REGION_CHOICE)
        for (int i = 0; i < r->children.count; i++)
            judge_scope(o, r->children.at[i]->scope);
    kernel_stmt *s = r->kind == REGION_STEP ? r->stmt : NULL;
    if (s && s->value) {
        interval x = judge_value(o, r->scope, s->value, 0);
        if (s->kind == KSTMT_LET)
            remember(o, s->var, x);
    }
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

/* The largest offset an access can have, in cells: sum cell[d] * (product of the later extents), symbols fixed where `fixed`. */
static int_set *beyond_type(overflow *o, const kernel_array *a, int_set *cells, const int64_t *fixed)
{
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
    affine *gap = affine_add(m, affine_subtract(m, offset, affine_constant(m, a->rank, (int64_t)o->high)), affine_constant(m, a->rank, -1));
    int_set *bad = sets_intersect(m->sets, cells, affine_nonnegative(m, gap));
    return sets_intersect(m->sets, bad, parameter_limit(m, a->rank));
}

/* Extents of inner dimensions multiply: they are fixed at the largest value first, then at the least that still breaks. */
static void judge_products(overflow *o, const kernel_array *a, int_set *cells)
{
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
    prover_refuted(o->p, a->name, a->span, w.text,
                   model_text(m, "the offset of %s does not fit a %d-bit integer", witness_cell(m, a, w.dims), o->p->limits->index_bits), NULL);
}

static void judge_offsets(overflow *o, const kernel_array *a)
{
    model *m = o->m;
    bool global = a->space == SPACE_GLOBAL;
    int64_t cells = kernel_array_cells(a);
    prover_start(o->p);
    if (cells >= 0) {
        bool too_large = cells > INT64_MAX / 64 || (wide)cells * a->lanes > o->high;
        o->refuted = o->refuted || too_large;
        if (too_large)
            prover_refuted(o->p, a->name, a->span, NULL, model_text(m, "the size of `%s` does not fit a %d-bit integer", a->name, o->p->limits->index_bits), NULL);
        return;
    }
    /* An array that exists has fewer than 2^62 bytes (a launch check), and accesses are in bounds: 63 bits are enough. */
    if (!global || o->p->limits->index_bits >= 63)
        return;
    interval size = {1, 1};
    for (int d = 0; d < a->rank; d++)
        size = product(size, interval_of(o, a->dims[d]));
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
    int_set *touched = sets_union(m->sets, summary_of(m, m->root, a, SUMMARY_MAY_READ), summary_of(m, m->root, a, SUMMARY_MAY_WRITE));
    if (why)
        prover_unknown(o->p, a->name, a->span, NULL, why);
    else
        judge_products(o, a, touched);
}

void judge_overflow(prover *p)
{
    model *m = p->m;
    int vars = p->kernel->var_count + 1, bits = p->limits->index_bits;
    if (prover_beyond(p))
        return;
    prover_start(p);
    overflow o = {.p = p, .m = m, .high = ((wide)1 << (bits - 1)) - 1};
    o.low = -o.high - 1;
    o.of = NEW_ARRAY(m->arena, interval, vars);
    o.has = NEW_ARRAY(m->arena, bool, vars);
    for (int i = 0; i < p->kernel->arrays.count; i++)
        for (int d = 0; d < p->kernel->arrays.at[i]->rank; d++)
            judge_expression(&o, m->scopes.at[0], p->kernel->arrays.at[i]->space == SPACE_GHOST ? NULL : p->kernel->arrays.at[i]->dims[d],
                             p->kernel->arrays.at[i]->span, 0);
    judge_region(&o, m->root);
    for (int i = 0; i < p->kernel->arrays.count; i++)
        if (p->kernel->arrays.at[i]->space != SPACE_GHOST && model_touched(m, p->kernel->arrays.at[i], ACCESS_READ | ACCESS_WRITE))
            judge_offsets(&o, p->kernel->arrays.at[i]);
    if (!o.refuted)
        prover_proved(p, p->kernel->name, p->kernel->span);
}
