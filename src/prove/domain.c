/* From scopes and places to sets. A constraint that is not affine is left out and said so: the set is then a superset. */
#include "prove/interval.h"

static void lower_precision(scope *s, precision p, const char *why) {
    if (p > s->precision) {
        s->precision = p;
        s->why = why;
    }
}

/* Constrains, or notes why not. A set is never made wrong by a failure, only larger. */
static int_set *constrain(model *m, scope *s, int_set *domain, int_set *by) {
    if (by)
        return sets_intersect(m->sets, domain, by);
    s->own_loose = true;
    lower_precision(s, LOOSE, m->why ? m->why : model_gave_up(m));
    return domain;
}

static int_set *at_least(model *m, int dims, int position, const index_expr *lo) {
    affine *x = affine_of(m, dims, lo);
    return x ? affine_nonnegative(m, affine_subtract(m, affine_dim(m, dims, position), x)) : NULL;
}

static int_set *below(model *m, int dims, int position, const index_expr *hi) {
    affine *x = affine_of(m, dims, hi);
    if (!x)
        return NULL;
    affine *gap = affine_subtract(m, x, affine_dim(m, dims, position));
    return affine_nonnegative(m, affine_add(m, gap, affine_constant(m, dims, -1)));
}

/* v - lo is a multiple of the step; often there is one trip at most. */
static int_set *in_step(model *m, const scope *s, const index_expr *lo, const index_expr *hi, int64_t step) {
    affine *v = affine_dim(m, s->depth, s->depth - 1);
    if (reach_most(m, s->parent, hi, 1, lo, -1) <= step)
        return affine_zero(m, affine_subtract(m, v, affine_of(m, s->depth, lo)));
    return affine_stride(m, s->depth, s->var, lo, step);
}

/* The loop's own trips; *why: what of it could not be expressed and is left out, NULL: nothing. */
static int_set *trips_of(model *m, scope *s, const char **why) {
    const kernel_stmt *f = s->stmt;
    int64_t step;
    *why = s->trips_why;
    if (s->trips)
        return s->trips;
    const index_expr *lo = reach_simpler(m, s->parent, f->lo), *hi = reach_simpler(m, s->parent, f->hi);
    int_set *all = sets_universe(m->sets, s->depth);
    bool known = ix_is_const(f->step, &step) && step > 0;
    for (int part = 0; part < 3; part++) {
        int_set *by = NULL;
        if (part == 2 && known && step == 1)
            break;
        m->why = NULL;
        if (part == 2 && !known)
            m->why = "a loop step that is not a positive constant";
        else
            by = part == 0   ? at_least(m, s->depth, s->depth - 1, lo)
                 : part == 1 ? below(m, s->depth, s->depth - 1, hi)
                             : in_step(m, s, lo, hi, step);
        if (by)
            all = sets_intersect(m->sets, all, by);
        else if (!*why)
            *why = m->why ? m->why : model_gave_up(m);
    }
    if (all && !sets_gave_up(m->sets)) { /* else it is tried again */
        s->trips = all;
        s->trips_why = *why;
    }
    return all;
}

int_set *loop_trips(model *m, scope *s) {
    const char *why;
    return trips_of(m, s, &why);
}

static int_set *loop_domain(model *m, scope *s, int_set *domain) {
    const char *why;
    int_set *own = trips_of(m, s, &why); /* small constraints first: the domain is large */
    m->why = why;
    if (why)
        constrain(m, s, domain, NULL);
    if (s->may_stop)
        lower_precision(s, LOOSE, model_text(m, "the loop over `%s`, which `break` may end early", s->var->name));
    return sets_intersect(m->sets, domain, own);
}

static const kernel_value *converted(const kernel_value *v) {
    while (v->op == KERNEL_CONVERT)
        v = v->operands[0];
    return v;
}

/* Two values gathered from one array are related where they come from one cell; that relation is not kept. */
static bool gathers_again(const scope *s) {
    const kernel_value *v = converted(s->stmt->value);
    if (v->op != KERNEL_LOAD)
        return true;
    for (const scope *o = s->parent; o; o = o->parent) {
        const kernel_value *other = o->kind == SCOPE_VALUE ? converted(o->stmt->value) : NULL;
        if (other && (other->op != KERNEL_LOAD || other->access.array == v->access.array))
            return true;
    }
    return false;
}

static int_set *value_domain(model *m, scope *s, int_set *domain) {
    precision p = PRECISE;
    const char *name = s->var->name;
    m->why = NULL;
    int_set *points = value_points(m, s->parent, s->stmt->value, &p);
    if (p == DATA_CHOSEN && gathers_again(s))
        p = LOOSE;
    if (p != PRECISE)
        lower_precision(s, p, model_text(m, "the value of `%s`, which comes from data", name));
    if (!points)
        m->why = m->why ? model_text(m, "the value of `%s`: %s", name, m->why) : model_text(m, "the value of `%s`", name);
    return constrain(m, s, domain, points);
}

static int_set *root_domain(model *m, scope *s) {
    sets *x = m->sets;
    int_set *domain = sets_universe(x, 0);
    for (int i = 0; i < m->parameters.count; i++) {
        const index_var *v = m->parameters.at[i];
        if (v->kind == INDEX_SYMBOL)
            domain = sets_intersect(x, domain, sets_nonnegative(x, linear_parameter(x, 0, i)));
        if (v->has_value) { /* one launch is being tried */
            linear *gap = linear_add(x, linear_parameter(x, 0, i), linear_constant(x, 0, -v->value));
            domain = sets_intersect(x, domain, sets_zero(x, gap));
        }
        for (int side = 0; side < 2; side++) {
            const index_expr *bound = side ? v->hi : v->lo;
            affine *b = bound ? affine_of(m, 0, bound) : NULL,
                   *own = b ? affine_of(m, 0, ix_var(m->arena, m->parameters.at[i])) : NULL;
            if (b && own)
                domain = constrain(m, s, domain,
                                   affine_nonnegative(m, side ? affine_subtract(m, b, own) : affine_subtract(m, own, b)));
        }
    }
    /* What the launch guarantees narrows the parameters. */
    for (int i = -1; i < m->kernel->assumptions.count; i++) {
        const cond *c = i < 0 ? m->launch : m->kernel->assumptions.at[i];
        if (c)
            domain = constrain(m, s, domain, affine_condition(m, 0, c, false));
    }
    return domain;
}

/* x narrowed y, which has been simplified: where it is in no more pieces, they were tried already. */
static int_set *narrower(model *m, int_set *y, int_set *x) {
    return y && sets_pieces(x) <= sets_pieces(y) ? x : sets_simplify(m->sets, x);
}

int_set *domain_of(model *m, scope *s) {
    if (s->done)
        return s->domain;
    if (s->computing) { /* a value that depends on itself through memory: unconstrained here, which is larger */
        lower_precision(s, LOOSE, "a value that depends on itself");
        return sets_insert(m->sets, s->parent ? domain_of(m, s->parent) : NULL, s->depth - 1, 1);
    }
    s->computing = true;
    m->why = NULL;
    int_set *domain;
    if (!s->parent) {
        domain = root_domain(m, s);
    } else {
        int_set *outer = domain_of(m, s->parent);
        int added = s->depth - s->parent->depth;
        domain = added ? sets_insert(m->sets, outer, s->depth - 1, 1) : outer;
        s->precision = s->parent->precision;
        s->why = s->parent->why;
    }
    switch (s->kind) {
    case SCOPE_ROOT: break;
    case SCOPE_ID:
        domain = constrain(m, s, domain, at_least(m, s->depth, s->depth - 1, ix_const(m->arena, 0)));
        domain = constrain(m, s, domain, below(m, s->depth, s->depth - 1, s->extent));
        break;
    case SCOPE_LOOP: domain = loop_domain(m, s, domain); break;
    case SCOPE_TRIP:
        domain = constrain(m, s, domain, at_least(m, s->depth, s->depth - 1, ix_const(m->arena, 0)));
        lower_precision(s, LOOSE, "a loop whose trips are not known");
        break;
    case SCOPE_VALUE: domain = value_domain(m, s, domain); break;
    case SCOPE_GUARD:
        domain =
            constrain(m, s, domain, affine_condition(m, s->depth, reach_simpler_condition(m, s->parent, s->guard), s->negated));
        break;
    case SCOPE_DATA_GUARD:
        lower_precision(s, LOOSE, model_text(m, "the condition at line %d, which depends on data", s->stmt->span.line));
        domain = without_contradictions(m, s, domain);
        break;
    }
    s->domain = narrower(m, s->parent ? domain_of(m, s->parent) : NULL, domain);
    s->done = true;
    s->computing = false;
    return s->domain;
}

/* `v` in `let v = ids[e]`, ids without repetition: e, which tells two values apart as well as they do themselves. */
static const index_expr *source_of(model *m, const index_expr *x, const kernel_array **from) {
    if (x->op != IX_VAR || !model_knows(m, x->var))
        return NULL;
    for (int i = 0; i < m->lets.count; i++) {
        const kernel_stmt *let = m->lets.at[i].let;
        if (let->var != x->var || let->value->op != KERNEL_LOAD)
            continue;
        const kernel_access *a = &let->value->access;
        bool fit = a->array->element_injective && a->array->use == USE_IN && a->array->rank == 1 && a->lanes == 1 && !a->active;
        *from = a->array;
        return fit ? a->indices[0] : NULL;
    }
    return NULL;
}

unsigned scattered_dims(model *m, const kernel_array *a) {
    unsigned found = 0;
    for (int d = 0; d < a->rank && d < 32; d++) {
        const kernel_array *from = NULL, *same = NULL;
        bool all = true, any = false;
        for (int i = 0; i < m->places.count && all; i++) {
            const place *p = m->places.at[i];
            if (p->array != a)
                continue;
            all = !p->extents && !(p->lanes > 1 && p->vector_dim == d) && source_of(m, p->indices[d], &from) &&
                  (!any || from == same);
            same = from;
            any = true;
        }
        if (any && all)
            found |= 1u << d;
    }
    return found;
}

unsigned plainly_scattered_dims(model *m, const kernel_array *a) {
    for (int i = 0; i < m->places.count; i++) {
        const place *p = m->places.at[i];
        if (p->array == a && (p->asynchronous || p->atomic || p->collective))
            return 0;
    }
    return scattered_dims(m, a);
}

/* cell dimension d of a place, in a space of `dims` + rank dimensions */
static int_set *place_dimension(model *m, const place *p, int d, int dims, bool source) {
    int all = dims + p->array->rank;
    const kernel_array *from;
    affine *start = affine_of(m, all, source ? source_of(m, p->indices[d], &from) : reach_simpler(m, p->scope, p->indices[d]));
    if (!start)
        return NULL;
    affine *cell = affine_dim(m, all, dims + d), *after = affine_subtract(m, cell, start),
           *before = affine_subtract(m, start, cell);
    bool vector = p->lanes > 1 && d == p->vector_dim;
    if (!p->extents && !vector)
        return affine_zero(m, after);
    affine *extent = p->extents ? affine_of(m, all, p->extents[d]) : affine_constant(m, all, p->lanes);
    if (!extent)
        return NULL;
    affine *last = affine_add(m, before, affine_constant(m, all, -1));
    return sets_intersect(m->sets, affine_nonnegative(m, after), affine_nonnegative(m, affine_add(m, last, extent)));
}

/* Lane l takes part if l < active. */
static int_set *active_lanes(model *m, const place *p, int dims) {
    int all = dims + p->array->rank;
    affine *active = affine_of(m, all, p->active), *room = affine_add(m, active, affine_constant(m, all, -1));
    if (room && p->lanes > 1 && p->vector_dim >= 0) {
        affine *start = affine_of(m, all, p->indices[p->vector_dim]);
        room = affine_subtract(m, room, affine_subtract(m, affine_dim(m, all, dims + p->vector_dim), start));
    }
    return affine_nonnegative(m, room);
}

/* An access that the lanes of a holder make together counts once, as lane 0's. */
static int_set *by_first_lane(model *m, const place *p, int_set *x) {
    for (int d = m->instance_dims[p->holder]; d < m->thread_dims; d++)
        x = sets_fix(m->sets, x, m->task_dims + d, 0);
    return x;
}

static int_set *make_cells(model *m, place *p, unsigned source_dims, bool spread) {
    int dims = p->scope->depth;
    int_set *x = sets_universe(m->sets, dims + p->array->rank); /* small constraints first: the domain is large */
    if (p->collective && !spread)
        x = by_first_lane(m, p, x);
    if (p->clip)
        x = sets_intersect(m->sets, x, array_box(m, p->array, dims));
    for (int d = 0; d <= p->array->rank; d++) {
        m->why = NULL;
        if (d == p->array->rank && !p->active)
            break;
        if (d == p->array->rank && p->lanes > 1 &&
            p->vector_dim < 0) { /* part of a vector cell: neither written nor left alone */
            p->not_affine = p->not_affine ? p->not_affine : "a masked access of a whole vector";
            break;
        }
        int_set *by =
            d < p->array->rank ? place_dimension(m, p, d, dims, d < 32 && source_dims >> d & 1) : active_lanes(m, p, dims);
        if (by)
            x = sets_intersect(m->sets, x, by);
        else if (!p->not_affine)
            p->not_affine = m->why ? m->why : model_gave_up(m);
    }
    int_set *domain = sets_insert(m->sets, domain_of(m, p->scope), dims, p->array->rank);
    return narrower(m, domain, sets_intersect(m->sets, domain, x));
}

int_set *cells_of(model *m, place *p) {
    if (!p->tried)
        p->cells = make_cells(m, p, 0, false);
    p->tried = true;
    return p->cells;
}

int_set *source_cells_of(model *m, place *p) {
    if (!p->source_tried)
        p->source_cells = make_cells(m, p, scattered_dims(m, p->array), false);
    p->source_tried = true;
    return p->source_cells;
}

int_set *spread_cells_of(model *m, place *p) {
    if (!p->collective)
        return cells_of(m, p);
    if (!p->spread_tried)
        p->spread_cells = make_cells(m, p, 0, true);
    p->spread_tried = true;
    return p->spread_cells;
}

static bool uses(model *m, const index_expr *x, const index_var *v, int nesting) {
    if (!x || nesting > 300)
        return x != NULL;
    if (x->op == IX_CONST)
        return false;
    if (x->op == IX_VAR)
        return x->var == v ||
               (model_knows(m, x->var) && m->definition[x->var->id] && uses(m, m->definition[x->var->id], v, nesting + 1));
    return uses(m, x->a, v, nesting + 1) || uses(m, x->b, v, nesting + 1);
}

bool depends_on(model *m, const index_expr *x, const index_var *v) {
    return uses(m, x, v, 0);
}

static bool condition_uses(model *m, const cond *c, const index_var *v, int nesting) {
    if (!c || nesting > 300)
        return c != NULL;
    return uses(m, c->x, v, 0) || uses(m, c->y, v, 0) || condition_uses(m, c->a, v, nesting + 1) ||
           condition_uses(m, c->b, v, nesting + 1);
}

bool condition_depends_on(model *m, const cond *c, const index_var *v) {
    return condition_uses(m, c, v, 0);
}

/* Whether data decides where or whether the access is made. */
bool place_uses_data(model *m, const place *p) {
    for (const scope *s = p->scope; s; s = s->parent) {
        if (s->kind != SCOPE_VALUE)
            continue;
        const index_var *v = s->var;
        bool decides = depends_on(m, p->active, v);
        for (int d = 0; d < p->array->rank; d++)
            decides = decides || depends_on(m, p->indices[d], v) || (p->extents && depends_on(m, p->extents[d], v));
        for (const scope *g = p->scope; g && g != s; g = g->parent) {
            decides = decides || (g->guard && condition_depends_on(m, g->guard, v));
            if (g->kind == SCOPE_LOOP)
                decides = decides || depends_on(m, g->stmt->lo, v) || depends_on(m, g->stmt->hi, v);
        }
        if (decides)
            return true;
    }
    return false;
}

/* Why the place's set may hold accesses that never happen, values that it does not use left aside. */
static const char *imprecise_but_for_values(model *m, place *p) {
    cells_of(m, p);
    if (p->not_affine)
        return p->not_affine;
    for (const scope *s = p->scope; s; s = s->parent)
        if (s->kind != SCOPE_VALUE && (s->own_loose || s->kind == SCOPE_DATA_GUARD || s->kind == SCOPE_TRIP || s->may_stop))
            return s->why ? s->why : "a condition that is not affine";
    return NULL;
}

const char *place_imprecise(model *m, place *p, bool data_counts) {
    cells_of(m, p);
    if (p->scope->precision != PRECISE && !place_uses_data(m, p))
        return imprecise_but_for_values(m, p);
    if (p->not_affine)
        return p->not_affine;
    if (p->scope->precision > (data_counts ? DATA_CHOSEN : PRECISE))
        return p->scope->why;
    return NULL;
}

int_set *array_box(model *m, const kernel_array *a, int dims) {
    int all = dims + a->rank;
    int_set *box = sets_universe(m->sets, all);
    for (int d = 0; d < a->rank; d++) {
        int_set *low = at_least(m, all, dims + d, ix_const(m->arena, 0)), *high = below(m, all, dims + d, a->dims[d]);
        box = sets_intersect(m->sets, box, sets_intersect(m->sets, low, high));
    }
    return box;
}

int_set *promised_cells(model *m, const kernel_array *a) {
    scope *root = m->scopes.at[0];
    int_set *cells = sets_intersect(m->sets, sets_insert(m->sets, domain_of(m, root), 0, a->rank), array_box(m, a, 0));
    if (!a->cells)
        return cells;
    for (int d = 0; d < a->rank; d++) {
        index_var *v = a->cell_vars[d];
        if (v->id >= 0 && v->id < m->kernel->var_count) {
            m->known[v->id] = v;
            m->position[v->id] = d;
        }
    }
    return sets_intersect(m->sets, cells, affine_condition(m, a->rank, a->cells, false));
}

int_set *parameter_limit(model *m, int dims) {
    int_set *x = sets_universe(m->sets, dims);
    for (int i = 0; i < m->parameters.count; i++) {
        bool symbol = m->parameters.at[i]->kind == INDEX_SYMBOL;
        int64_t high = symbol ? m->limits->largest_extent : INT32_MAX;
        linear *p = linear_parameter(m->sets, dims, i),
               *room = linear_add(m->sets, linear_scale(m->sets, p, -1), linear_constant(m->sets, dims, high));
        x = sets_intersect(m->sets, x, sets_nonnegative(m->sets, room));
        if (!symbol)
            x = sets_intersect(
                m->sets, x,
                sets_nonnegative(m->sets, linear_add(m->sets, p, linear_constant(m->sets, dims, -(int64_t)INT32_MIN))));
    }
    return x;
}
