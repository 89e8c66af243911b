/* Building Tile IR: makers, and the axes of every value. */
#include "tile/tile.h"
#include <string.h>

const struct tile_op_info tile_op_table[TILE_OP_COUNT] = {
#define TILE_OP(op, name, operands, kind) {name, operands, kind},
#include "tile/tile_ops.def"
#undef TILE_OP
};

bool tile_has_axis(const tile_value *v, const tile_range *r) {
    for (int i = 0; i < v->axis_count; i++)
        if (v->axes[i] == r)
            return true;
    return false;
}

void tile_add_axis(tile_kernel *k, tile_value *v, tile_range *r) {
    if (tile_has_axis(v, r))
        return;
    /* Grown by powers of two: the capacity is the count rounded up. */
    int n = v->axis_count;
    if ((n & (n - 1)) == 0) {
        tile_range **axes = NEW_ARRAY(k->arena, tile_range *, n ? 2 * n : 1);
        if (n)
            memcpy(axes, v->axes, sizeof *axes * (size_t)n);
        v->axes = axes;
    }
    v->axes[v->axis_count++] = r;
}

static void add_axes_of_expression(tile_kernel *k, tile_value *v, const index_expr *x) {
    if (!x)
        return;
    if (x->op == IX_VAR) {
        if (x->var->kind == INDEX_RANGE && x->var->owner) {
            tile_add_axis(k, v, x->var->owner);
        } else if (x->var->kind == INDEX_VALUE && x->var->owner) {
            const tile_value *owner = x->var->owner;
            for (int i = 0; i < owner->axis_count; i++)
                tile_add_axis(k, v, owner->axes[i]);
        }
        return;
    }
    add_axes_of_expression(k, v, x->a);
    add_axes_of_expression(k, v, x->b);
}

static bool is_dropped(const tile_value *v, const tile_range *r) {
    if (v->op == TILE_DOT)
        for (int i = 0; i < v->contract_count; i++)
            if (v->contract[i] == r)
                return true;
    return v->range == r;
}

void tile_derive_axes(tile_kernel *k, tile_value *v) {
    if (v->op == TILE_PARAM && !v->variable)
        return;
    v->axis_count = 0;
    v->axes = NULL;
    for (int i = 0; i < v->operand_count; i++)
        for (int j = 0; j < v->operands[i]->axis_count; j++)
            if (!is_dropped(v, v->operands[i]->axes[j]))
                tile_add_axis(k, v, v->operands[i]->axes[j]);
    if (v->op == TILE_INDEX)
        add_axes_of_expression(k, v, v->index);
    if (v->op == TILE_LOAD && v->array && v->indices)
        for (int i = 0; i < v->array->rank; i++)
            add_axes_of_expression(k, v, v->indices[i]);
    if ((v->op == TILE_GET || v->op == TILE_FIELD || v->op == TILE_PARAM) && v->variable) {
        int f = v->op == TILE_GET ? 0 : v->field;
        for (int i = 0; i < v->variable->axis_counts[f]; i++)
            tile_add_axis(k, v, v->variable->axes[f][i]);
    }
}

tile_value *tile_new_value(tile_kernel *k, tile_op op, element_type type, source_span span) {
    tile_value *v = NEW(k->arena, tile_value);
    v->op = op;
    v->type = type;
    v->accumulator = type;
    v->span = span;
    v->id = k->value_count++;
    return v;
}

void tile_set_operands(tile_kernel *k, tile_value *v, int count, tile_value **operands) {
    v->operand_count = count;
    v->operands = count ? NEW_ARRAY(k->arena, tile_value *, count) : NULL;
    for (int i = 0; i < count; i++)
        v->operands[i] = operands[i];
    tile_derive_axes(k, v);
}

tile_value *tile_constant(tile_kernel *k, element_type type, double number, source_span span) {
    tile_value *v = tile_new_value(k, TILE_CONST, type, span);
    v->number = number;
    return v;
}

tile_value *tile_binary(tile_kernel *k, tile_op op, element_type type, tile_value *x, tile_value *y, source_span span) {
    tile_value *v = tile_new_value(k, op, type, span);
    tile_set_operands(k, v, 2, (tile_value *[]){x, y});
    return v;
}

tile_value *tile_unary(tile_kernel *k, tile_op op, element_type type, tile_value *x, source_span span) {
    tile_value *v = tile_new_value(k, op, type, span);
    tile_set_operands(k, v, 1, &x);
    return v;
}

tile_stmt *tile_append(tile_kernel *k, tile_block *b, tile_stmt_kind kind, source_span span) {
    tile_stmt *s = NEW(k->arena, tile_stmt);
    s->kind = kind;
    s->span = span;
    VEC_PUSH(k->arena, b->items, s);
    return s;
}

tile_kernel *tile_new_kernel(arena *a, const char *name, source_span span) {
    tile_kernel *k = NEW(a, tile_kernel);
    k->arena = a;
    k->name = name;
    k->span = span;
    return k;
}

index_var *tile_new_var(tile_kernel *k, const char *name, index_var_kind kind, source_span span) {
    index_var *v = NEW(k->arena, index_var);
    v->name = name;
    v->kind = kind;
    v->span = span;
    v->id = k->var_count++;
    if (kind == INDEX_SYMBOL || kind == INDEX_STATIC || kind == INDEX_TILE) {
        VEC_PUSH(k->arena, k->symbols, v);
        VEC_PUSH(k->arena, k->derived, NULL);
    }
    return v;
}

tile_range *tile_new_range(tile_kernel *k, const char *name, index_expr *extent, index_expr *size, source_span span) {
    tile_range *r = NEW(k->arena, tile_range);
    r->name = name;
    r->extent = extent;
    r->size = size;
    r->span = span;
    r->id = k->ranges.count;
    r->var = tile_new_var(k, name, INDEX_RANGE, span);
    r->var->owner = r;
    VEC_PUSH(k->arena, k->ranges, r);
    return r;
}

tile_array *tile_new_array(tile_kernel *k, const char *name, element_type type, array_role role, source_span span) {
    tile_array *x = NEW(k->arena, tile_array);
    x->name = name;
    x->type = type;
    x->role = role;
    x->span = span;
    x->id = k->arrays.count;
    VEC_PUSH(k->arena, k->arrays, x);
    if (role == ARRAY_IN) {
        VEC_PUSH(k->arena, k->arguments, x);
        VEC_PUSH(k->arena, k->argument_is_scalar, false);
    }
    return x;
}

tile_scalar *tile_new_scalar(tile_kernel *k, const char *name, element_type type, source_span span) {
    tile_scalar *s = NEW(k->arena, tile_scalar);
    s->name = name;
    s->type = type;
    s->span = span;
    s->id = k->scalars.count;
    if (type == ELEMENT_I32 || type == ELEMENT_U32 || type == ELEMENT_INDEX) {
        s->var = tile_new_var(k, name, INDEX_SCALAR, span);
        s->var->owner = s;
    }
    VEC_PUSH(k->arena, k->scalars, s);
    VEC_PUSH(k->arena, k->arguments, s);
    VEC_PUSH(k->arena, k->argument_is_scalar, true);
    return s;
}

tile_variable *tile_new_variable(tile_kernel *k, const char *name, int field_count, source_span span) {
    tile_variable *x = NEW(k->arena, tile_variable);
    x->name = name;
    x->field_count = field_count;
    x->types = NEW_ARRAY(k->arena, element_type, field_count);
    x->axis_counts = NEW_ARRAY(k->arena, int, field_count);
    x->axes = NEW_ARRAY(k->arena, tile_range **, field_count);
    x->empty = NEW_ARRAY(k->arena, tile_value *, field_count);
    x->span = span;
    x->id = k->variables.count;
    VEC_PUSH(k->arena, k->variables, x);
    return x;
}

index_var *tile_index_of(tile_kernel *k, tile_value *v, index_expr *lo, index_expr *hi) {
    if (!v->value_var) {
        v->value_var = tile_new_var(k, v->name ? v->name : arena_printf(k->arena, "v%d", v->id), INDEX_VALUE, v->span);
        v->value_var->owner = v;
        v->value_var->lo = lo;
        v->value_var->hi = hi;
    }
    return v->value_var;
}

tile_array *tile_index_source(const index_expr *x, index_expr **at) {
    const tile_value *v = x && x->op == IX_VAR && x->var->kind == INDEX_VALUE ? x->var->owner : NULL;
    if (!v || v->op != TILE_LOAD || v->has_outside || !v->array || v->array->rank != 1 || v->array->type != ELEMENT_INDEX)
        return NULL;
    *at = v->indices[0];
    return v->array;
}

tile_kernel *tile_find_kernel(const tile_module *m, const char *name) {
    for (int i = 0; i < m->kernels.count; i++)
        if (!strcmp(m->kernels.at[i]->name, name))
            return m->kernels.at[i];
    return NULL;
}

tile_program *tile_find_program(const tile_module *m, const char *name) {
    for (int i = 0; i < m->programs.count; i++)
        if (!strcmp(m->programs.at[i]->name, name))
            return m->programs.at[i];
    return NULL;
}
