/* AIR: integer expressions of 64 bits, conditions, offsets of cells. */
#include "target/air.h"
#include <string.h>

air_integer air_known_integer(int64_t value) {
    return (air_integer){true, value, NULL};
}

static air_integer named(const char *text) {
    return (air_integer){false, 0, text};
}

const char *air_integer_text(air *a, air_integer x) {
    return x.is_constant ? arena_printf(a->arena, "%lld", (long long)x.value) : x.text;
}

static air_integer operation(air *a, const char *op, air_integer x, air_integer y) {
    return named(air_pure(a, "%s i64 %s, %s", op, air_integer_text(a, x), air_integer_text(a, y)));
}

air_integer air_add(air *a, air_integer x, air_integer y) {
    if (x.is_constant && y.is_constant)
        return air_known_integer(x.value + y.value);
    if (x.is_constant && !x.value)
        return y;
    return y.is_constant && !y.value ? x : operation(a, "add", x, y);
}

static air_integer subtract(air *a, air_integer x, air_integer y) {
    if (x.is_constant && y.is_constant)
        return air_known_integer(x.value - y.value);
    return y.is_constant && !y.value ? x : operation(a, "sub", x, y);
}

air_integer air_multiply(air *a, air_integer x, air_integer y) {
    if (x.is_constant && y.is_constant)
        return air_known_integer(x.value * y.value);
    air_integer constant = x.is_constant ? x : y, other = x.is_constant ? y : x;
    if (constant.is_constant && constant.value == 0)
        return constant;
    return constant.is_constant && constant.value == 1 ? other : operation(a, "mul", other, constant);
}

static air_integer choose(air *a, const char *compare, air_integer x, air_integer y) {
    const char *c = air_pure(a, "icmp %s i64 %s, %s", compare, air_integer_text(a, x), air_integer_text(a, y));
    return named(air_pure(a, "select i1 %s, i64 %s, i64 %s", c, air_integer_text(a, x), air_integer_text(a, y)));
}

static int64_t floor_divide(int64_t x, int64_t y) {
    return x / y - (x % y < 0);
}

/* Rounding toward minus infinity; the divisor is positive. */
static air_integer divide(air *a, air_integer x, air_integer y) {
    if (x.is_constant && y.is_constant && y.value > 0)
        return air_known_integer(floor_divide(x.value, y.value));
    if (y.is_constant && y.value == 1)
        return x;
    if (y.is_constant && y.value > 0 && !(y.value & (y.value - 1)))
        return operation(a, "ashr", x, air_known_integer(__builtin_ctzll((unsigned long long)y.value)));
    air_integer quotient = operation(a, "sdiv", x, y), rest = operation(a, "srem", x, y);
    const char *below = air_pure(a, "icmp slt i64 %s, 0", air_integer_text(a, rest));
    return named(air_pure(a, "select i1 %s, i64 %s, i64 %s", below,
                          air_integer_text(a, air_add(a, quotient, air_known_integer(-1))), air_integer_text(a, quotient)));
}

static air_integer modulo(air *a, air_integer x, air_integer y) {
    if (x.is_constant && y.is_constant && y.value > 0)
        return air_known_integer(x.value - floor_divide(x.value, y.value) * y.value);
    if (y.is_constant && y.value == 1)
        return air_known_integer(0);
    if (y.is_constant && y.value > 0 && !(y.value & (y.value - 1)))
        return operation(a, "and", x, air_known_integer(y.value - 1));
    air_integer rest = operation(a, "srem", x, y);
    const char *below = air_pure(a, "icmp slt i64 %s, 0", air_integer_text(a, rest));
    return named(
        air_pure(a, "select i1 %s, i64 %s, i64 %s", below, air_integer_text(a, air_add(a, rest, y)), air_integer_text(a, rest)));
}

air_integer air_index(air *a, const index_expr *x) {
    switch (x->op) {
    case IX_CONST: return air_known_integer(x->value);
    case IX_VAR: {
        const air_bound *b = air_find(a, x->var);
        if (b)
            return b->is_constant ? air_known_integer(b->value) : named(b->text);
        if (x->var->has_value)
            return air_known_integer(x->var->value);
        const kernel_stmt *let = x->var->kind == INDEX_VALUE ? x->var->owner : NULL;
        const air_bound *value = let ? air_find(a, let) : NULL;
        if (value && value->text)
            return named(value->text);
        air_refuse(a, a->kernel->span, "`%s` here", x->var->name);
        return air_known_integer(0);
    }
    default: break;
    }
    air_integer l = air_index(a, x->a), r = air_index(a, x->b);
    switch (x->op) {
    case IX_ADD: return air_add(a, l, r);
    case IX_SUB: return subtract(a, l, r);
    case IX_MUL: return air_multiply(a, l, r);
    case IX_FLOORDIV: return divide(a, l, r);
    case IX_MOD: return modulo(a, l, r);
    case IX_MIN:
        return l.is_constant && r.is_constant ? air_known_integer(l.value < r.value ? l.value : r.value) : choose(a, "slt", l, r);
    default:
        return l.is_constant && r.is_constant ? air_known_integer(l.value > r.value ? l.value : r.value) : choose(a, "sgt", l, r);
    }
}

const char *air_index_text(air *a, const index_expr *x) {
    return air_integer_text(a, air_index(a, x));
}

static bool value_of(void *context, const index_var *v, int64_t *value) {
    const air_bound *b = air_find(context, v);
    if (b && b->is_constant)
        *value = b->value;
    else if (v->has_value)
        *value = v->value;
    else
        return false;
    return true;
}

bool air_constant_index(air *a, const index_expr *x, int64_t *value) {
    return ix_eval(x, value_of, a, value);
}

const char *air_condition(air *a, const cond *c) {
    static const char *const compare[] = {[COND_LE] = "sle", [COND_LT] = "slt", [COND_EQ] = "eq", [COND_NE] = "ne"};
    switch (c->op) {
    case COND_TRUE: return "true";
    case COND_NOT: {
        const char *x = air_condition(a, c->a);
        return !strcmp(x, "true") ? "false" : !strcmp(x, "false") ? "true" : air_pure(a, "xor i1 %s, true", x);
    }
    case COND_AND:
    case COND_OR: {
        bool and = c->op == COND_AND;
        const char *neutral = and? "true" : "false", *final = and? "false" : "true";
        const char *x = air_condition(a, c->a), *y = air_condition(a, c->b);
        return !strcmp(x, neutral)                      ? y
               : !strcmp(y, neutral)                    ? x
               : !strcmp(x, final) || !strcmp(y, final) ? final
                                                        : air_pure(a, "%s i1 %s, %s", and? "and" : "or", x, y);
    }
    default: break;
    }
    air_integer x = air_index(a, c->x), y = air_index(a, c->y);
    if (x.is_constant && y.is_constant)
        return (c->op == COND_LE   ? x.value <= y.value
                : c->op == COND_LT ? x.value < y.value
                : c->op == COND_EQ ? x.value == y.value
                                   : x.value != y.value)
                   ? "true"
                   : "false";
    return air_pure(a, "icmp %s i64 %s, %s", compare[c->op], air_integer_text(a, x), air_integer_text(a, y));
}

/* ---- layouts ---- */

bool air_stride(air *a, const kernel_array *array, int d, air_integer *out) {
    const kernel_layout *l = &array->layout;
    if (l->kind == LAYOUT_STRIDES) {
        *out = air_index(a, l->strides[d]);
        return true;
    }
    if (l->kind != LAYOUT_ROW && l->kind != LAYOUT_PAD && !(l->kind == LAYOUT_SWIZZLE && !l->bits))
        return air_refuse(a, array->span, "the layout of `%s`", array->name);
    *out = air_known_integer(1);
    for (int i = array->rank - 1; i > d; i--) {
        air_integer extent = air_index(a, array->dims[i]);
        if (l->kind == LAYOUT_PAD && i == array->rank - 1)
            extent = air_add(a, extent, air_known_integer(l->amount));
        *out = air_multiply(a, *out, extent);
    }
    return true;
}

/* Horner's rule, or a sum of products. */
bool air_offset(air *a, const kernel_access *access, int lane, air_integer *out) {
    const kernel_array *array = access->array;
    const kernel_layout *l = &array->layout;
    bool strides = l->kind == LAYOUT_STRIDES;
    air_integer one;
    *out = air_known_integer(0);
    if (array->rank && !air_stride(a, array, array->rank - 1, &one))
        return false;
    for (int d = 0; d < array->rank; d++) {
        air_integer x = air_index(a, access->indices[d]);
        if (access->lanes > 1 && d == access->vector_dim)
            x = air_add(a, x, air_known_integer(lane));
        if (strides) {
            *out = air_add(a, *out, air_multiply(a, x, air_index(a, l->strides[d])));
            continue;
        }
        if (d) {
            air_integer extent = air_index(a, array->dims[d]);
            if (l->kind == LAYOUT_PAD && d == array->rank - 1)
                extent = air_add(a, extent, air_known_integer(l->amount));
            *out = air_multiply(a, *out, extent);
        }
        *out = air_add(a, *out, x);
    }
    return true;
}
