/* Intervals of integer expressions: quick, and enough for most questions about sizes. Every value at run time lies inside. */
#include "prove/interval.h"

enum { MOST_NESTING = 300, MOST_VALUE_NESTING = 210, MOST_STORED = 64 };

static const wide HUGE_WIDE = (wide)1 << 100;
static const interval ANYTHING = {-((wide)1 << 100), (wide)1 << 100};

static interval clamp(interval x) {
    if (x.lo < -HUGE_WIDE)
        x.lo = -HUGE_WIDE;
    if (x.hi > HUGE_WIDE)
        x.hi = HUGE_WIDE;
    return x;
}

interval interval_product(interval x, interval y) {
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

static interval nested(model *m, const index_expr *x, int nesting);

/* `S <= 100` among what every launch guarantees. */
static void narrow_by(const cond *c, const index_var *v, interval *r, int nesting) {
    int64_t bound;
    if (!c || nesting > MOST_NESTING)
        return;
    if (c->op == COND_AND) {
        narrow_by(c->a, v, r, nesting + 1);
        narrow_by(c->b, v, r, nesting + 1);
    } else if ((c->op == COND_LE || c->op == COND_LT) && c->x->op == IX_VAR && c->x->var == v && ix_is_const(c->y, &bound)) {
        wide hi = (wide)bound - (c->op == COND_LT);
        r->hi = hi < r->hi ? hi : r->hi;
    } else if ((c->op == COND_LE || c->op == COND_LT) && c->y->op == IX_VAR && c->y->var == v && ix_is_const(c->x, &bound)) {
        wide lo = (wide)bound + (c->op == COND_LT);
        r->lo = lo > r->lo ? lo : r->lo;
    }
}

static interval parameter_interval(model *m, const index_var *v, int nesting) {
    bool symbol = v->kind == INDEX_SYMBOL;
    interval r = {symbol ? 0 : INT32_MIN, symbol ? m->limits->largest_extent : INT32_MAX};
    for (int i = 0; i < m->kernel->assumptions.count; i++)
        narrow_by(m->kernel->assumptions.at[i], v, &r, 0);
    if (nesting < 20) { /* `len: 0..T` */
        interval lo = v->lo ? nested(m, v->lo, nesting + 1) : r, hi = v->hi ? nested(m, v->hi, nesting + 1) : r;
        r.lo = v->lo && lo.lo > r.lo ? lo.lo : r.lo;
        r.hi = v->hi && hi.hi < r.hi ? hi.hi : r.hi;
    }
    return r;
}

static interval scope_interval(model *m, const scope *s, int nesting) {
    switch (s->kind) {
    case SCOPE_ID: return (interval){0, nested(m, s->extent, nesting + 1).hi - 1};
    case SCOPE_LOOP: {
        interval lo = nested(m, s->stmt->lo, nesting + 1);
        wide last = nested(m, s->stmt->hi, nesting + 1).hi - 1;
        int64_t step;
        if (lo.lo == lo.hi && last > lo.lo && last < HUGE_WIDE / 2 && ix_is_const(s->stmt->step, &step) && step > 1)
            last -= (last - lo.lo) % step;
        return (interval){lo.lo, last};
    }
    case SCOPE_VALUE: return interval_of_value(m, s->stmt->value, NULL);
    default: return ANYTHING;
    }
}

static interval variable_interval(model *m, const index_var *v, int nesting) {
    if (v->has_value)
        return (interval){v->value, v->value};
    if (v->kind == INDEX_SYMBOL || v->kind == INDEX_SCALAR)
        return parameter_interval(m, v, nesting);
    if (!model_knows(m, v) || nesting > MOST_NESTING)
        return ANYTHING;
    if (!m->intervals[v->id]) {
        interval x = ANYTHING;
        if (m->definition[v->id])
            x = nested(m, m->definition[v->id], nesting + 1);
        else if (m->scope_of[v->id])
            x = scope_interval(m, m->scope_of[v->id], nesting + 1);
        if (m->assuming)
            return clamp(x);
        m->intervals[v->id] = NEW(m->arena, interval);
        *m->intervals[v->id] = clamp(x);
    }
    return *m->intervals[v->id];
}

static interval nested(model *m, const index_expr *x, int nesting) {
    if (x->op == IX_CONST)
        return (interval){x->value, x->value};
    if (nesting > MOST_NESTING)
        return ANYTHING;
    if (x->op == IX_VAR)
        return variable_interval(m, x->var, nesting);
    interval a = nested(m, x->a, nesting + 1), b = nested(m, x->b, nesting + 1), r = ANYTHING;
    switch (x->op) {
    case IX_ADD: return clamp((interval){a.lo + b.lo, a.hi + b.hi});
    case IX_SUB: return clamp((interval){a.lo - b.hi, a.hi - b.lo});
    case IX_MUL: return interval_product(a, b);
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

interval interval_of(model *m, const index_expr *x) {
    return nested(m, x, 0);
}

static interval type_interval(element_type t) {
    switch (t) {
    case ELEMENT_I32: return (interval){INT32_MIN, INT32_MAX};
    case ELEMENT_U32: return (interval){0, UINT32_MAX};
    case ELEMENT_I8: return (interval){INT8_MIN, INT8_MAX};
    case ELEMENT_U8: return (interval){0, UINT8_MAX};
    case ELEMENT_U16: return (interval){0, UINT16_MAX};
    default: return (interval){INT64_MIN, INT64_MAX};
    }
}

static interval either(interval x, interval y) {
    return (interval){x.lo < y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
}

static interval nested_value(model *m, const kernel_value *v, bool *wraps, int nesting);

/* A let that no index expression uses is no dimension: its value tells. */
static interval let_interval(model *m, const kernel_stmt *let, int nesting) {
    const index_var *v = let->var;
    if (let->kind != KSTMT_LET || !model_knows(m, v) || m->definition[v->id] || m->scope_of[v->id])
        return variable_interval(m, v, 0);
    if (!m->intervals[v->id]) {
        interval x = nested_value(m, let->value, NULL, nesting + 1);
        if (m->assuming)
            return clamp(x);
        m->intervals[v->id] = NEW(m->arena, interval);
        *m->intervals[v->id] = clamp(x);
    }
    return *m->intervals[v->id];
}

/* ---- what a thread's own arrays hold ---- */

/* A let before the load, in the same stretch of the program, that loads the same cell, which is not written in between: one value. */
static const index_var *loaded_before(const place *p) {
    for (const region *r = p->region; r && r->parent; r = r->parent) {
        if (r->parent->kind == REGION_VALUE)
            continue;
        if (r->parent->kind != REGION_SEQUENCE)
            return NULL;
        for (int i = r->index - 1; i >= 0; i--) {
            const region *e = r->parent->children.at[i];
            if (e->touches[p->array->id] & ACCESS_WRITE)
                return NULL;
            const kernel_value *v = e->kind == REGION_STEP && e->stmt->kind == KSTMT_LET ? e->stmt->value : NULL;
            bool same =
                v && v->op == KERNEL_LOAD && v->access.array == p->array && v->lanes == 1 && p->lanes == 1 && !v->access.active;
            for (int d = 0; same && d < p->array->rank; d++)
                same = ix_equal(v->access.indices[d], p->indices[d]);
            if (same)
                return e->stmt->var;
        }
        if (r->parent->parent && r->parent->parent->kind != REGION_VALUE)
            return NULL;
    }
    return NULL;
}

static const place *place_of(const model *m, const kernel_value *load) {
    for (int i = 0; i < m->places.count; i++)
        if (m->places.at[i]->load == load)
            return m->places.at[i];
    return NULL;
}

/* Made of ids, loops and launch values alone. */
static bool index_is_plain(const model *m, const index_expr *x);

static bool variable_is_plain(const void *context, const index_var *v) {
    const model *m = context;
    const scope *s = m->scope_of[v->id];
    return s &&
           (s->kind == SCOPE_ID || (s->kind == SCOPE_LOOP && index_is_plain(m, s->stmt->lo) && index_is_plain(m, s->stmt->hi)));
}

static bool index_is_plain(const model *m, const index_expr *x) {
    return model_every_variable(m, x, variable_is_plain, m);
}

/* Whether the value may use what the array holds, through lets too. */
static bool loads(model *m, const kernel_value *v, const kernel_array *a, int nesting) {
    if (nesting > MOST_VALUE_NESTING)
        return true;
    if (v->op == KERNEL_LOAD && v->access.array == a)
        return true;
    if (v->op == KERNEL_REF || (v->op == KERNEL_LOAD && v->access.array->space != SPACE_GLOBAL) || v->op == KERNEL_INDEX)
        return v->op != KERNEL_INDEX || !index_is_plain(m, v->index);
    for (int i = 0; i < v->operand_count; i++)
        if (loads(m, v->operands[i], a, nesting + 1))
            return true;
    return false;
}

/* Stores that do not use what the array holds bound it from below; the others must keep to that, given what guards say of what they load
 * (`i <- i + 128` where i < n). */
static interval find_stored(model *m, const kernel_array *a, int nesting) {
    interval type = type_interval(a->element), all = {0, 0}, own = ANYTHING;
    bool any = false;
    m->assumed[a->id] = &own;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < m->places.count; i++) {
            const place *p = m->places.at[i];
            if (p->array != a || p->use != ACCESS_WRITE)
                continue;
            if (p->stmt->kind != KSTMT_STORE)
                return type;
            bool itself = loads(m, p->stmt->value, a, 0);
            if (itself != (pass == 1))
                continue;
            if (pass == 1 && !any)
                return type;
            own = (interval){pass ? all.lo : ANYTHING.lo, ANYTHING.hi};
            interval x = nested_value(m, p->stmt->value, NULL, nesting + 1);
            if (pass == 1 && x.lo < all.lo)
                return type;
            all = any ? either(all, x) : x;
            any = true;
        }
    return any && all.lo >= type.lo && all.hi <= type.hi ? all : type;
}

static interval stored_interval(model *m, const kernel_array *a, int nesting) {
    bool mine = a->space == SPACE_PRIVATE || a->space == SPACE_REGISTER;
    if (!mine || m->object_of[a->id] || nesting > MOST_VALUE_NESTING || m->stored_steps > MOST_STORED)
        return type_interval(a->element);
    if (m->assumed[a->id])
        return *m->assumed[a->id];
    if (m->stored[a->id])
        return *m->stored[a->id];
    m->stored_steps++;
    m->assuming++;
    interval x = find_stored(m, a, nesting);
    m->assuming--;
    m->assumed[a->id] = NULL;
    if (!m->assuming) {
        m->stored[a->id] = NEW(m->arena, interval);
        *m->stored[a->id] = x;
        m->stored_steps = 0;
    }
    return x;
}

static interval loaded_interval(model *m, const kernel_value *v, int nesting) {
    const kernel_access *access = &v->access;
    interval type = type_interval(v->type);
    if (access->array->element_bound && access->array->use == USE_IN) /* a masked lane loads 0 */
        return (interval){0, interval_of(m, access->array->element_bound).hi - (access->active ? 0 : 1)};
    if (v->type != ELEMENT_INDEX && v->type != ELEMENT_I32 && v->type != ELEMENT_U32)
        return ANYTHING;
    interval x = stored_interval(m, access->array, nesting);
    const place *p = access->array->space == SPACE_GLOBAL ? NULL : place_of(m, v);
    const index_var *same = p ? loaded_before(p) : NULL;
    if (same && model_knows(m, same)) { /* guards speak of that */
        const index_expr *is = ix_var(m->arena, (index_var *)same);
        wide high = reach_most(m, p->scope, is, 1, NULL, 0), low = -reach_most(m, p->scope, is, -1, NULL, 0);
        x.hi = high < x.hi ? high : x.hi;
        x.lo = low > x.lo ? low : x.lo;
    }
    if (access->active)
        x = either(x, (interval){0, 0});
    return x.lo < type.lo || x.hi > type.hi ? type : x;
}

static interval nested_value(model *m, const kernel_value *v, bool *wraps, int nesting) {
    interval x[3] = {ANYTHING, ANYTHING, ANYTHING}, r = ANYTHING, type = type_interval(v->type);
    if (nesting > MOST_VALUE_NESTING)
        return r;
    for (int i = 0; i < v->operand_count && i < 3; i++)
        x[i] = nested_value(m, v->operands[i], wraps, nesting + 1);
    bool computed = false;
    switch (v->op) {
    case KERNEL_CONST: r = v->number > -1e15 && v->number < 1e15 ? (interval){(int64_t)v->number, (int64_t)v->number} : r; break;
    case KERNEL_INDEX: r = interval_of(m, v->index); break;
    case KERNEL_REF: r = v->let->var ? let_interval(m, v->let, nesting) : r; break;
    case KERNEL_IOTA: r = (interval){0, v->lanes - 1}; break;
    case KERNEL_LOAD: r = loaded_interval(m, v, nesting); break;
    case KERNEL_BROADCAST:
    case KERNEL_CONVERT:
    case KERNEL_LANES_MIN:
    case KERNEL_LANES_MAX: r = x[0]; break;
    case KERNEL_ADD:
        computed = true;
        r = clamp((interval){x[0].lo + x[1].lo, x[0].hi + x[1].hi});
        break;
    case KERNEL_SUB:
        computed = true;
        r = clamp((interval){x[0].lo - x[1].hi, x[0].hi - x[1].lo});
        break;
    case KERNEL_NEG:
        computed = true;
        r = clamp((interval){-x[0].hi, -x[0].lo});
        break;
    case KERNEL_MUL:
        computed = true;
        r = interval_product(x[0], x[1]);
        break;
    case KERNEL_SHL:
        computed = true;
        if (x[1].lo >= 0 && x[1].hi <= 62)
            r = interval_product(x[0], (interval){(wide)1 << x[1].lo, (wide)1 << x[1].hi});
        break;
    case KERNEL_PREFIX_SELECT: r = either(x[0], x[1]); break;
    case KERNEL_MIN: r = (interval){x[0].lo < x[1].lo ? x[0].lo : x[1].lo, x[0].hi < x[1].hi ? x[0].hi : x[1].hi}; break;
    case KERNEL_MAX: r = (interval){x[0].lo > x[1].lo ? x[0].lo : x[1].lo, x[0].hi > x[1].hi ? x[0].hi : x[1].hi}; break;
    case KERNEL_SELECT: r = either(x[1], x[2]); break;
    default: break;
    }
    if (r.lo < type.lo || r.hi > type.hi) {
        if (computed && wraps && v->type == ELEMENT_INDEX)
            *wraps = true;
        r = type;
    }
    return r;
}

interval interval_of_value(model *m, const kernel_value *v, bool *wraps) {
    return nested_value(m, v, wraps, 0);
}
