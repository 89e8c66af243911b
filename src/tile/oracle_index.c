/* Index expressions and predicates on the current tiles. */
#include "tile/oracle_internal.h"
#include <stdlib.h>
#include <string.h>

bool oracle_lookup(void *context, const index_var *v, int64_t *value) {
    const oracle *o = context;
    switch (v->kind) {
    case INDEX_SYMBOL:
    case INDEX_STATIC:
    case INDEX_TILE:
        if (v->has_value) {
            *value = v->value;
            return true;
        }
        if (v->kind != INDEX_SYMBOL)
            return false;
        for (int i = 0; i < o->k->symbols.count; i++)
            if (o->k->symbols.at[i] == v) {
                *value = o->args->symbols[i];
                return true;
            }
        return false;
    case INDEX_SCALAR:
        for (int i = 0; i < o->k->scalars.count; i++)
            if (o->k->scalars.at[i]->var == v) {
                *value = (int64_t)o->args->scalars[i];
                return true;
            }
        return false;
    case INDEX_RANGE: *value = o->position[((const tile_range *)v->owner)->id]; return true;
    case INDEX_VALUE:
        for (int i = o->lookup_count - 1; i >= 0; i--)
            if (o->lookups[i].var == v) {
                *value = (int64_t)o->lookups[i].t->v[o->lookups[i].at];
                return true;
            }
        return false;
    default: return false;
    }
}

int index_axes(const index_expr *x, const tile_range **axes, int count) {
    if (!x || count >= 3 * ORACLE_MAX_AXES)
        return count;
    if (x->op != IX_VAR)
        return index_axes(x->b, axes, index_axes(x->a, axes, count));
    const tile_range *found[1] = {NULL};
    const tile_range *const *list = found;
    int n = 0;
    if (x->var->kind == INDEX_RANGE) {
        found[0] = x->var->owner;
        n = 1;
    } else if (x->var->kind == INDEX_VALUE && x->var->owner) {
        const tile_value *owner = x->var->owner;
        list = (const tile_range *const *)owner->axes;
        n = owner->axis_count;
    }
    for (int i = 0; i < n; i++) {
        int j = 0;
        while (j < count && axes[j] != list[i])
            j++;
        if (j == count && count < 3 * ORACLE_MAX_AXES)
            axes[count++] = list[i];
    }
    return count;
}

/* 0: the same on all elements; 1: affine in the ranges; 2: anything else. */
static int degree(const index_expr *x) {
    switch (x->op) {
    case IX_CONST: return 0;
    case IX_VAR: return x->var->kind == INDEX_RANGE ? 1 : x->var->kind == INDEX_VALUE ? 2 : 0;
    case IX_ADD:
    case IX_SUB: {
        int a = degree(x->a), b = degree(x->b);
        return a > b ? a : b;
    }
    case IX_MUL: {
        int a = degree(x->a), b = degree(x->b);
        return a == 0 ? b : b == 0 ? a : 2;
    }
    default: return degree(x->a) || degree(x->b) ? 2 : 0;
    }
}

/* Looks up values from `base` on; those before it belong to the expression that is being looked into from outside. */
static bool find_values(oracle *o, const index_expr *x, int base) {
    if (!x)
        return true;
    if (x->op != IX_VAR)
        return find_values(o, x->a, base) && find_values(o, x->b, base);
    if (x->var->kind != INDEX_VALUE)
        return true;
    for (int i = base; i < o->lookup_count; i++)
        if (o->lookups[i].var == x->var)
            return true;
    if (o->lookup_count == (int)(sizeof o->lookups / sizeof *o->lookups))
        return false;
    int at = o->lookup_count;
    tensor *t = x->var->owner ? evaluate_plain(o, x->var->owner) : NULL;
    if (!t)
        return false;
    o->lookups[at].var = x->var;
    o->lookups[at].t = t;
    o->lookups[at].at = 0;
    o->lookup_count = at + 1;
    return true;
}

static void set_positions(oracle *o, const tensor *shape) {
    for (int i = 0; i < shape->axis_count; i++)
        o->position[shape->axes[i]->id] = o->start[shape->axes[i]->id];
}

/* Element by element over the axes that the expression itself varies over. */
static tensor *make_table(oracle *o, const index_expr *x, source_span span) {
    const tile_range *axes[3 * ORACLE_MAX_AXES];
    int count = index_axes(x, axes, 0);
    int outer_lookups = o->lookup_count;
    if (!find_values(o, x, outer_lookups)) {
        oracle_fail(o, "E0704", span, "kernel `%s`: an index depends on too many computed values", o->k->name);
        o->lookup_count = outer_lookups;
        return NULL;
    }
    tensor *t = tensor_new(o, ELEMENT_INDEX, axes, count);
    if (!t) {
        o->lookup_count = outer_lookups;
        return NULL;
    }
    int64_t at[ORACLE_MAX_AXES] = {0};
    set_positions(o, t);
    for (int64_t i = 0; i < t->count; i++) {
        double open = 0;
        for (int l = outer_lookups; l < o->lookup_count; l++) {
            const tensor *u = o->lookups[l].t;
            int64_t offset = 0;
            for (int d = 0; d < u->axis_count; d++)
                offset = offset * u->extents[d] + (o->position[u->axes[d]->id] - o->start[u->axes[d]->id]);
            o->lookups[l].at = offset;
            if (u->e && u->e[offset] != 0)
                open = x->op == IX_VAR ? u->e[offset] : INFINITY;
        }
        int64_t value;
        if (!ix_eval(x, oracle_lookup, o, &value)) {
            oracle_fail(o, "E0704", span,
                        "kernel `%s`: an index has no value here (a name without a value, or a division by zero)", o->k->name);
            break;
        }
        t->v[i] = (double)value;
        if (open != 0 && !t->e) {
            t->e = tensor_numbers(t->count);
            for (int64_t j = 0; j < t->count; j++)
                t->e[j] = 0;
        }
        if (open != 0)
            t->e[i] = open;
        for (int d = t->axis_count - 1; d >= 0; d--) {
            o->position[t->axes[d]->id]++;
            if (++at[d] < t->extents[d])
                break;
            at[d] = 0;
            o->position[t->axes[d]->id] = o->start[t->axes[d]->id];
        }
    }
    o->lookup_count = outer_lookups;
    return o->failed ? NULL : t;
}

bool index_table_make(oracle *o, const index_expr *x, const tensor *shape, source_span span, index_table *out) {
    memset(out, 0, sizeof *out);
    out->affine = degree(x) < 2;
    if (!out->affine) {
        tensor *t = out->table = make_table(o, x, span);
        if (!t)
            return false;
        int at = t->axis_count - 1;
        int64_t stride = 1;
        for (int i = shape->axis_count - 1; i >= 0; i--)
            if (at >= 0 && t->axes[at] == shape->axes[i]) {
                out->table_strides[i] = stride;
                stride *= t->extents[at--];
            }
        out->lo = INT64_MAX;
        out->hi = INT64_MIN;
        for (int64_t i = 0; i < t->count; i++) {
            int64_t value = (int64_t)t->v[i];
            out->lo = value < out->lo ? value : out->lo;
            out->hi = value > out->hi ? value : out->hi;
        }
        return true;
    }
    set_positions(o, shape);
    bool ok = ix_eval(x, oracle_lookup, o, &out->base);
    out->lo = out->hi = out->base;
    for (int i = 0; ok && i < shape->axis_count; i++) {
        int id = shape->axes[i]->id;
        o->position[id]++;
        int64_t next;
        ok = ix_eval(x, oracle_lookup, o, &next);
        o->position[id]--;
        out->steps[i] = ok ? next - out->base : 0;
        int64_t reach = out->steps[i] * (shape->extents[i] - 1);
        if (reach > 0)
            out->hi += reach;
        else
            out->lo += reach;
    }
    if (!ok)
        oracle_fail(o, "E0704", span, "kernel `%s`: an index has no value here (a name without a value, or a division by zero)",
                    o->k->name);
    return ok;
}

/* Every element's index, in the order of `shape`. Heap. */
static int64_t *index_numbers(const index_table *t, const tensor *shape) {
    int64_t *out = malloc(sizeof *out * (size_t)(shape->count ? shape->count : 1));
    if (!out || !shape->count)
        return out;
    int n = shape->axis_count;
    const int64_t *steps = t->affine ? t->steps : t->table_strides;
    int64_t at[ORACLE_MAX_AXES] = {0}, offset = t->affine ? t->base : 0;
    int64_t inner = n ? shape->extents[n - 1] : 1, step = n ? steps[n - 1] : 0;
    for (int64_t done = 0; done < shape->count; done += inner) {
        if (t->affine)
            for (int64_t i = 0; i < inner; i++)
                out[done + i] = offset + i * step;
        else
            for (int64_t i = 0; i < inner; i++)
                out[done + i] = (int64_t)t->table->v[offset + i * step];
        for (int d = n - 2; d >= 0; d--) {
            offset += steps[d];
            if (++at[d] < shape->extents[d])
                break;
            offset -= steps[d] * shape->extents[d];
            at[d] = 0;
        }
    }
    return out;
}

tensor *evaluate_index(oracle *o, const tile_value *v) {
    tensor *r = tensor_new(o, v->type, (const tile_range *const *)v->axes, v->axis_count);
    index_table t;
    if (!r || !index_table_make(o, v->index, r, v->span, &t))
        return NULL;
    int64_t *numbers = index_numbers(&t, r);
    if (!numbers)
        return NULL;
    for (int64_t i = 0; i < r->count; i++)
        r->v[i] = (double)numbers[i];
    free(numbers);
    if (t.table && t.table->e) {
        tensor *wide = tensor_expand(o, t.table, r->axes, r->axis_count);
        if (!wide)
            return NULL;
        r->e = tensor_numbers(r->count);
        memcpy(r->e, wide->e, sizeof *r->e * (size_t)r->count);
    }
    return r;
}

/* --- predicates --- */
static int condition_axes(const cond *c, const tile_range **axes, int count) {
    if (!c)
        return count;
    count = index_axes(c->x, axes, count);
    count = index_axes(c->y, axes, count);
    return condition_axes(c->b, axes, condition_axes(c->a, axes, count));
}

static bool fill_condition(oracle *o, const cond *c, const tensor *shape, source_span span, unsigned char *out) {
    switch (c->op) {
    case COND_TRUE: memset(out, 1, (size_t)shape->count); return true;
    case COND_NOT:
        if (!fill_condition(o, c->a, shape, span, out))
            return false;
        for (int64_t i = 0; i < shape->count; i++)
            out[i] = !out[i];
        return true;
    case COND_AND:
    case COND_OR: {
        unsigned char *other = malloc((size_t)shape->count + 1);
        bool ok = other && fill_condition(o, c->a, shape, span, out) && fill_condition(o, c->b, shape, span, other);
        for (int64_t i = 0; ok && i < shape->count; i++)
            out[i] = c->op == COND_AND ? out[i] & other[i] : out[i] | other[i];
        free(other);
        return ok;
    }
    default: {
        index_table x, y;
        if (!index_table_make(o, c->x, shape, span, &x) || !index_table_make(o, c->y, shape, span, &y))
            return false;
        int64_t *a = index_numbers(&x, shape), *b = index_numbers(&y, shape);
        bool ok = a && b;
        for (int64_t i = 0; ok && i < shape->count; i++)
            out[i] = c->op == COND_LE   ? a[i] <= b[i]
                     : c->op == COND_LT ? a[i] < b[i]
                     : c->op == COND_EQ ? a[i] == b[i]
                                        : a[i] != b[i];
        free(a);
        free(b);
        return ok;
    }
    }
}

bool mask_make(oracle *o, const tile_stmt *loop, loop_mask *out, bool *any) {
    memset(out, 0, sizeof *out);
    out->loop = loop;
    *any = true;
    if (!loop->predicate)
        return true;
    const tile_range *axes[3 * ORACLE_MAX_AXES];
    int count = condition_axes(loop->predicate, axes, 0);
    tensor *shape = tensor_new(o, ELEMENT_BOOL, axes, count);
    if (!shape)
        return false;
    unsigned char *exists = malloc((size_t)shape->count + 1);
    if (!exists || !fill_condition(o, loop->predicate, shape, loop->span, exists)) {
        free(exists);
        oracle_fail(o, "E0701", loop->span, "kernel `%s`: a predicate could not be evaluated", o->k->name);
        return false;
    }
    int64_t present = 0;
    for (int64_t i = 0; i < shape->count; i++)
        present += exists[i];
    *any = present > 0;
    out->shape = *shape; /* its axes and extents: the numbers go with the statement */
    out->shape.v = out->shape.e = NULL;
    if (present == shape->count) {
        free(exists);
        exists = NULL;
    }
    out->exists = exists;
    return true;
}

static bool chooses_among(const loop_mask *m, const tile_range *const *ranges, int count) {
    for (int i = 0; i < count; i++)
        if (tensor_has_axis(&m->shape, ranges[i]))
            return true;
    return count == 0;
}

int mask_axes(oracle *o, const tile_range *const *ranges, int count, const tile_range **axes, int axis_count) {
    for (int i = 0; i < o->loop_count; i++) {
        const loop_mask *m = &o->masks[i];
        if (!m->exists || !chooses_among(m, ranges, count))
            continue;
        for (int j = 0; j < m->shape.axis_count; j++) {
            int k = 0;
            while (k < axis_count && axes[k] != m->shape.axes[j])
                k++;
            if (k == axis_count && axis_count < 2 * ORACLE_MAX_AXES)
                axes[axis_count++] = m->shape.axes[j];
        }
    }
    return axis_count;
}

unsigned char *mask_over(oracle *o, const tensor *shape, const tile_range *const *ranges, int count) {
    unsigned char *all = NULL;
    for (int i = 0; i < o->loop_count; i++) {
        const loop_mask *m = &o->masks[i];
        if (!m->exists || !chooses_among(m, ranges, count))
            continue;
        /* Strides of the mask's axes: in itself, and in its part over the axes that `shape` has. */
        int64_t part_strides[ORACLE_MAX_AXES] = {0}, shape_strides[ORACLE_MAX_AXES] = {0}, part_count = 1;
        for (int j = m->shape.axis_count - 1; j >= 0; j--)
            for (int d = 0; d < shape->axis_count; d++)
                if (shape->axes[d] == m->shape.axes[j]) {
                    part_strides[j] = shape_strides[d] = part_count;
                    part_count *= m->shape.extents[j];
                }
        unsigned char *part = calloc((size_t)part_count + 1, 1);
        if (!all) {
            all = malloc((size_t)shape->count + 1);
            if (all)
                memset(all, 1, (size_t)shape->count + 1);
        }
        if (!part || !all) {
            free(part);
            free(all);
            return NULL;
        }
        int64_t at[ORACLE_MAX_AXES] = {0}, offset = 0;
        for (int64_t e = 0; e < m->shape.count; e++) {
            part[offset] |= m->exists[e];
            for (int d = m->shape.axis_count - 1; d >= 0; d--) {
                offset += part_strides[d];
                if (++at[d] < m->shape.extents[d])
                    break;
                offset -= part_strides[d] * m->shape.extents[d];
                at[d] = 0;
            }
        }
        memset(at, 0, sizeof at);
        offset = 0;
        for (int64_t e = 0; e < shape->count; e++) {
            all[e] &= part[offset];
            for (int d = shape->axis_count - 1; d >= 0; d--) {
                offset += shape_strides[d];
                if (++at[d] < shape->extents[d])
                    break;
                offset -= shape_strides[d] * shape->extents[d];
                at[d] = 0;
            }
        }
        free(part);
    }
    return all;
}
