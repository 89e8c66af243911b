/* A copy of a kernel with STATIC and TILE names bound to values. Everything is copied, so that the original (whose names stay free) can be
 * specialised again; ids are kept, so that tables made for one copy serve the other. */
#include "tile/tile.h"
#include <string.h>

typedef struct copier {
    arena *arena;
    const tile_kernel *from;
    tile_kernel *to;
    const tile_binding *bindings;
    int binding_count;
    bool keeps_names;    /* what has a value stays a name */
    tile_value **values; /* by id; NULL: not copied yet */
    /* index variables, old to new; few enough for a linear search from the end */
    VEC(const index_var *) old_vars;
    VEC(index_var *) new_vars;
} copier;

static tile_value *copy_value(copier *c, const tile_value *v);
static index_expr *copy_expr(copier *c, const index_expr *x);

static index_var *copy_var(copier *c, const index_var *v) {
    for (int i = c->old_vars.count - 1; i >= 0; i--)
        if (c->old_vars.at[i] == v)
            return c->new_vars.at[i];
    index_var *n = NEW(c->arena, index_var);
    *n = *v;
    n->owner = NULL; /* ranges, scalars and values claim theirs when they are copied */
    VEC_PUSH(c->arena, c->old_vars, v);
    VEC_PUSH(c->arena, c->new_vars, n);
    n->lo = copy_expr(c, v->lo);
    n->hi = copy_expr(c, v->hi);
    if (v->kind == INDEX_STATIC || v->kind == INDEX_TILE)
        for (int i = 0; i < c->binding_count; i++)
            if (!strcmp(c->bindings[i].name, v->name)) {
                n->has_value = true;
                n->value = c->bindings[i].value;
            }
    if (v->kind == INDEX_VALUE && v->owner)
        n->owner = copy_value(c, v->owner);
    return n;
}

static index_expr *copy_expr(copier *c, const index_expr *x) {
    if (!x)
        return NULL;
    switch (x->op) {
    case IX_CONST: return ix_const(c->arena, x->value);
    case IX_VAR: {
        index_var *v = copy_var(c, x->var);
        return v->has_value && !c->keeps_names ? ix_const(c->arena, v->value) : ix_var(c->arena, v);
    }
    default: return ix_op2(c->arena, x->op, copy_expr(c, x->a), copy_expr(c, x->b));
    }
}

static index_expr *copy_side(void *context, index_expr *x) {
    return copy_expr(context, x);
}

static cond *copy_cond(copier *c, const cond *x) {
    return cond_map(c->arena, x, copy_side, c);
}

static index_expr **copy_exprs(copier *c, index_expr **xs, int count) {
    if (!xs)
        return NULL;
    index_expr **n = NEW_ARRAY(c->arena, index_expr *, count);
    for (int i = 0; i < count; i++)
        n[i] = copy_expr(c, xs[i]);
    return n;
}

static tile_range *new_range(copier *c, const tile_range *r) {
    return r ? c->to->ranges.at[r->id] : NULL;
}

static tile_range **copy_ranges(copier *c, tile_range **rs, int count) {
    if (!rs)
        return NULL;
    tile_range **n = NEW_ARRAY(c->arena, tile_range *, count);
    for (int i = 0; i < count; i++)
        n[i] = new_range(c, rs[i]);
    return n;
}

static tile_value *copy_value(copier *c, const tile_value *v) {
    if (!v)
        return NULL;
    if (c->values[v->id])
        return c->values[v->id];
    tile_value *n = NEW(c->arena, tile_value);
    c->values[v->id] = n;
    *n = *v;
    n->axes = copy_ranges(c, v->axes, v->axis_count);
    n->operands = v->operand_count ? NEW_ARRAY(c->arena, tile_value *, v->operand_count) : NULL;
    for (int i = 0; i < v->operand_count; i++)
        n->operands[i] = copy_value(c, v->operands[i]);
    n->index = copy_expr(c, v->index);
    n->scalar = v->scalar ? c->to->scalars.at[v->scalar->id] : NULL;
    n->array = v->array ? c->to->arrays.at[v->array->id] : NULL;
    n->indices = v->array ? copy_exprs(c, v->indices, v->array->rank) : NULL;
    n->range = new_range(c, v->range);
    n->contract = copy_ranges(c, v->contract, v->contract_count);
    n->variable = v->variable ? c->to->variables.at[v->variable->id] : NULL;
    if (v->value_var) {
        n->value_var = copy_var(c, v->value_var);
        n->value_var->owner = n;
    }
    return n;
}

static tile_value **copy_values(copier *c, tile_value **vs, int count) {
    if (!vs)
        return NULL;
    tile_value **n = NEW_ARRAY(c->arena, tile_value *, count);
    for (int i = 0; i < count; i++)
        n[i] = copy_value(c, vs[i]);
    return n;
}

/* A statement at a time, in order: a value bound by a let is copied at its let, so the recursion of copy_value is as deep as one expression. */
static void copy_block(copier *c, const tile_block *from, tile_block *to) {
    for (int i = 0; i < from->items.count; i++) {
        const tile_stmt *s = from->items.at[i];
        tile_stmt *n = NEW(c->arena, tile_stmt);
        *n = *s;
        VEC_PUSH(c->arena, to->items, n);
        n->variable = s->variable ? c->to->variables.at[s->variable->id] : NULL;
        if (s->kind == TILE_STMT_VAR) { /* the declaration's values, copied where everything they mention exists already */
            tile_variable *x = n->variable;
            const tile_variable *o = s->variable;
            x->empty = copy_values(c, o->empty, o->field_count);
            x->left = copy_values(c, o->left, o->field_count);
            x->right = copy_values(c, o->right, o->field_count);
            x->join = copy_values(c, o->join, o->field_count);
        }
        n->value = copy_value(c, s->value);
        n->values = s->variable ? copy_values(c, s->values, s->variable->field_count) : NULL;
        n->array = s->array ? c->to->arrays.at[s->array->id] : NULL;
        n->indices = s->array ? copy_exprs(c, s->indices, s->array->rank) : NULL;
        n->range = new_range(c, s->range);
        n->predicate = copy_cond(c, s->predicate);
        memset(&n->body, 0, sizeof n->body);
        copy_block(c, &s->body, &n->body);
    }
}

static tile_kernel *copy_kernel(arena *a, const tile_kernel *k, const tile_binding *bindings, int count, bool keeps_names) {
    tile_kernel *to = NEW(a, tile_kernel);
    *to = (tile_kernel){.name = k->name,
                        .origin = k->origin,
                        .span = k->span,
                        .arena = a,
                        .value_count = k->value_count,
                        .var_count = k->var_count};
    copier c = {.arena = a, .from = k, .to = to, .bindings = bindings, .binding_count = count, .keeps_names = keeps_names};
    c.values = NEW_ARRAY(a, tile_value *, k->value_count ? k->value_count : 1);

    for (int i = 0; i < k->intrinsics.count; i++)
        VEC_PUSH(a, to->intrinsics, k->intrinsics.at[i]);
    for (int i = 0; i < k->symbols.count; i++)
        VEC_PUSH(a, to->symbols, copy_var(&c, k->symbols.at[i]));
    for (int i = 0; i < k->scalars.count; i++) {
        tile_scalar *s = NEW(a, tile_scalar);
        *s = *k->scalars.at[i];
        if (s->var) {
            s->var = copy_var(&c, s->var);
            s->var->owner = s;
        }
        VEC_PUSH(a, to->scalars, s);
    }
    for (int i = 0; i < k->arrays.count; i++) {
        tile_array *x = NEW(a, tile_array);
        *x = *k->arrays.at[i];
        x->dims = copy_exprs(&c, x->dims, x->rank);
        x->index_bound = copy_expr(&c, x->index_bound);
        VEC_PUSH(a, to->arrays, x);
    }
    for (int i = 0; i < k->arguments.count; i++) {
        bool scalar = k->argument_is_scalar.at[i];
        void *argument = scalar ? (void *)to->scalars.at[((tile_scalar *)k->arguments.at[i])->id]
                                : (void *)to->arrays.at[((tile_array *)k->arguments.at[i])->id];
        VEC_PUSH(a, to->arguments, argument);
        VEC_PUSH(a, to->argument_is_scalar, scalar);
    }
    for (int i = 0; i < k->where.count; i++)
        VEC_PUSH(a, to->where, copy_cond(&c, k->where.at[i]));
    for (int i = 0; i < k->derived.count; i++)
        VEC_PUSH(a, to->derived, copy_expr(&c, k->derived.at[i]));
    for (int i = 0; i < k->ranges.count; i++) {
        tile_range *r = NEW(a, tile_range);
        *r = *k->ranges.at[i];
        r->var = copy_var(&c, r->var);
        r->var->owner = r;
        r->extent = copy_expr(&c, r->extent);
        r->size = copy_expr(&c, r->size);
        VEC_PUSH(a, to->ranges, r);
    }
    for (int i = 0; i < k->task.count; i++)
        VEC_PUSH(a, to->task, new_range(&c, k->task.at[i]));
    for (int i = 0; i < k->owned.count; i++) {
        tile_owned *o = NEW(a, tile_owned);
        *o = *k->owned.at[i];
        o->array = to->arrays.at[o->array->id];
        o->ranges = copy_ranges(&c, o->ranges, o->array->rank);
        o->fixed = copy_exprs(&c, o->fixed, o->array->rank);
        tile_array **through = NEW_ARRAY(a, tile_array *, o->array->rank);
        for (int d = 0; d < o->array->rank; d++)
            through[d] = o->through[d] ? to->arrays.at[o->through[d]->id] : NULL;
        o->through = through;
        VEC_PUSH(a, to->owned, o);
    }
    for (int i = 0; i < k->variables.count; i++) {
        tile_variable *x = NEW(a, tile_variable);
        *x = *k->variables.at[i];
        x->axes = NEW_ARRAY(a, tile_range **, x->field_count);
        x->axis_counts = NEW_ARRAY(a, int, x->field_count);
        memcpy(x->axis_counts, k->variables.at[i]->axis_counts, sizeof *x->axis_counts * (size_t)x->field_count);
        for (int f = 0; f < x->field_count; f++)
            x->axes[f] = copy_ranges(&c, k->variables.at[i]->axes[f], x->axis_counts[f]);
        VEC_PUSH(a, to->variables, x);
    }
    copy_block(&c, &k->body, &to->body);
    return to;
}

tile_kernel *tile_specialise(arena *a, const tile_kernel *k, const tile_binding *bindings, int count) {
    return copy_kernel(a, k, bindings, count, false);
}

tile_kernel *tile_copy(arena *a, const tile_kernel *k) {
    return copy_kernel(a, k, NULL, 0, true);
}
