/* Integer expressions: folding constructors, substitution, evaluation, printing. */
#include "base/index.h"
#include <string.h>

static index_expr *node(arena *a, index_op op, index_expr *x, index_expr *y) {
    index_expr *e = NEW(a, index_expr);
    e->op = op;
    e->a = x;
    e->b = y;
    return e;
}

index_expr *ix_const(arena *a, int64_t value) {
    index_expr *e = node(a, IX_CONST, NULL, NULL);
    e->value = value;
    return e;
}

index_expr *ix_var(arena *a, index_var *v) {
    index_expr *e = node(a, IX_VAR, NULL, NULL);
    e->var = v;
    return e;
}

bool ix_is_const(const index_expr *x, int64_t *value) {
    if (x->op != IX_CONST)
        return false;
    if (value)
        *value = x->value;
    return true;
}

static bool is_value(const index_expr *x, int64_t value) {
    return x->op == IX_CONST && x->value == value;
}

/* The value of one operation; false when it does not fit 64 bits or the divisor is not positive. */
static bool compute(index_op op, int64_t x, int64_t y, int64_t *result) {
    switch (op) {
    case IX_ADD: return !__builtin_add_overflow(x, y, result);
    case IX_SUB: return !__builtin_sub_overflow(x, y, result);
    case IX_MUL: return !__builtin_mul_overflow(x, y, result);
    case IX_FLOORDIV:
        if (y <= 0)
            return false;
        *result = x / y - (x % y < 0);
        return true;
    case IX_MOD:
        if (y <= 0)
            return false;
        *result = x % y < 0 ? x % y + y : x % y;
        return true;
    case IX_MIN: *result = x < y ? x : y; return true;
    case IX_MAX: *result = x > y ? x : y; return true;
    case IX_CONST:
    case IX_VAR: break;
    }
    return false;
}

static index_expr *folded(arena *a, index_op op, const index_expr *x, const index_expr *y) {
    int64_t value;
    if (x->op == IX_CONST && y->op == IX_CONST && compute(op, x->value, y->value, &value))
        return ix_const(a, value);
    return NULL;
}

/* x = rest + *value, when x is a sum or difference with a constant on its right. */
static index_expr *split_constant(index_expr *x, int64_t *value) {
    if (x->op == IX_ADD && x->b->op == IX_CONST) {
        *value = x->b->value;
        return x->a;
    }
    if (x->op == IX_SUB && x->b->op == IX_CONST && x->b->value != INT64_MIN) {
        *value = -x->b->value;
        return x->a;
    }
    return NULL;
}

/* x + value: a constant stands on the right, and a negative one is a subtraction. */
static index_expr *add_constant(arena *a, index_expr *x, int64_t value) {
    int64_t inner, sum;
    index_expr *rest = split_constant(x, &inner);
    if (rest && !__builtin_add_overflow(inner, value, &sum)) {
        x = rest;
        value = sum;
    }
    if (value == 0)
        return x;
    if (value < 0 && value != INT64_MIN)
        return node(a, IX_SUB, x, ix_const(a, -value));
    return node(a, IX_ADD, x, ix_const(a, value));
}

index_expr *ix_add(arena *a, index_expr *x, index_expr *y) {
    index_expr *f = folded(a, IX_ADD, x, y);
    if (f)
        return f;
    if (x->op == IX_CONST && y->op == IX_CONST)
        return node(a, IX_ADD, x, y); /* does not fit: left as it is */
    if (y->op == IX_CONST)
        return add_constant(a, x, y->value);
    if (x->op == IX_CONST)
        return add_constant(a, y, x->value);
    if (y->op == IX_SUB && ix_equal(y->b, x))
        return y->a; /* x + (z - x) */
    if (x->op == IX_SUB && ix_equal(x->b, y))
        return x->a;
    return node(a, IX_ADD, x, y);
}

index_expr *ix_sub(arena *a, index_expr *x, index_expr *y) {
    index_expr *f = folded(a, IX_SUB, x, y);
    if (f)
        return f;
    if (x->op != IX_CONST && y->op == IX_CONST && y->value != INT64_MIN)
        return add_constant(a, x, -y->value);
    if (ix_equal(x, y))
        return ix_const(a, 0);
    if (x->op == IX_ADD && ix_equal(x->a, y))
        return x->b; /* (y + z) - y */
    if (x->op == IX_ADD && ix_equal(x->b, y))
        return x->a;
    return node(a, IX_SUB, x, y);
}

index_expr *ix_mul(arena *a, index_expr *x, index_expr *y) {
    index_expr *f = folded(a, IX_MUL, x, y);
    if (f)
        return f;
    if (x->op == IX_CONST && y->op != IX_CONST) { /* a constant stands on the right */
        index_expr *t = x;
        x = y;
        y = t;
    }
    if (is_value(y, 0))
        return y;
    if (is_value(y, 1))
        return x;
    int64_t product;
    if (y->op == IX_CONST && x->op == IX_MUL && x->b->op == IX_CONST && !__builtin_mul_overflow(x->b->value, y->value, &product))
        return ix_mul(a, x->a, ix_const(a, product));
    return node(a, IX_MUL, x, y);
}

index_expr *ix_floordiv(arena *a, index_expr *x, index_expr *y) {
    index_expr *f = folded(a, IX_FLOORDIV, x, y);
    if (f)
        return f;
    if (is_value(y, 1))
        return x;
    if (y->op == IX_CONST && y->value > 0) {
        if (is_value(x, 0))
            return x;
        if (x->op == IX_MUL && x->b->op == IX_CONST && x->b->value % y->value == 0)
            return ix_mul(a, x->a, ix_const(a, x->b->value / y->value));
    }
    return node(a, IX_FLOORDIV, x, y);
}

index_expr *ix_ceildiv(arena *a, index_expr *x, index_expr *y) {
    return ix_floordiv(a, ix_add(a, x, ix_sub(a, y, ix_const(a, 1))), y);
}

index_expr *ix_mod(arena *a, index_expr *x, index_expr *y) {
    index_expr *f = folded(a, IX_MOD, x, y);
    if (f)
        return f;
    if (is_value(y, 1))
        return ix_const(a, 0);
    if (y->op == IX_CONST && y->value > 0 && x->op == IX_MUL && x->b->op == IX_CONST && x->b->value % y->value == 0)
        return ix_const(a, 0);
    if (y->op == IX_CONST && x->op == IX_MOD && x->b->op == IX_CONST && x->b->value > 0 && y->value >= x->b->value)
        return x;
    return node(a, IX_MOD, x, y);
}

static index_expr *extreme(arena *a, index_op op, index_expr *x, index_expr *y) {
    index_expr *f = folded(a, op, x, y);
    if (f)
        return f;
    if (ix_equal(x, y))
        return x;
    /* A constant inside combines with a constant outside. */
    if (y->op == IX_CONST && x->op == op && x->b->op == IX_CONST)
        return extreme(a, op, x->a, extreme(a, op, x->b, y));
    return node(a, op, x, y);
}

index_expr *ix_min(arena *a, index_expr *x, index_expr *y) {
    return extreme(a, IX_MIN, x, y);
}

index_expr *ix_max(arena *a, index_expr *x, index_expr *y) {
    return extreme(a, IX_MAX, x, y);
}

index_expr *ix_op2(arena *a, index_op op, index_expr *x, index_expr *y) {
    switch (op) {
    case IX_ADD: return ix_add(a, x, y);
    case IX_SUB: return ix_sub(a, x, y);
    case IX_MUL: return ix_mul(a, x, y);
    case IX_FLOORDIV: return ix_floordiv(a, x, y);
    case IX_MOD: return ix_mod(a, x, y);
    case IX_MIN: return ix_min(a, x, y);
    case IX_MAX: return ix_max(a, x, y);
    case IX_CONST:
    case IX_VAR: break;
    }
    return x;
}

bool ix_equal(const index_expr *x, const index_expr *y) {
    if (x == y)
        return true;
    if (x->op != y->op)
        return false;
    if (x->op == IX_CONST)
        return x->value == y->value;
    if (x->op == IX_VAR)
        return x->var == y->var;
    return ix_equal(x->a, y->a) && ix_equal(x->b, y->b);
}

bool ix_mentions(const index_expr *x, const index_var *v) {
    if (x->op == IX_CONST)
        return false;
    if (x->op == IX_VAR)
        return x->var == v;
    return ix_mentions(x->a, v) || ix_mentions(x->b, v);
}

index_expr *ix_substitute(arena *a, index_expr *x, const index_var *v, index_expr *by) {
    if (x->op == IX_CONST)
        return x;
    if (x->op == IX_VAR)
        return x->var == v ? by : x;
    index_expr *left = ix_substitute(a, x->a, v, by), *right = ix_substitute(a, x->b, v, by);
    return left == x->a && right == x->b ? x : ix_op2(a, x->op, left, right);
}

index_expr *ix_bind_constants(arena *a, index_expr *x) {
    if (x->op == IX_CONST)
        return x;
    if (x->op == IX_VAR) {
        const index_var *v = x->var;
        return v->has_value && (v->kind == INDEX_STATIC || v->kind == INDEX_TILE) ? ix_const(a, v->value) : x;
    }
    index_expr *left = ix_bind_constants(a, x->a), *right = ix_bind_constants(a, x->b);
    return left == x->a && right == x->b ? x : ix_op2(a, x->op, left, right);
}

bool ix_coefficient(arena *a, index_expr *x, const index_var *v, int64_t *coefficient, index_expr **rest) {
    if (!ix_mentions(x, v)) {
        *coefficient = 0;
        *rest = x;
        return true;
    }
    if (x->op == IX_VAR) {
        *coefficient = 1;
        *rest = ix_const(a, 0);
        return true;
    }
    if (x->op != IX_ADD && x->op != IX_SUB && x->op != IX_MUL)
        return false;
    int64_t left, right;
    index_expr *left_rest, *right_rest;
    if (!ix_coefficient(a, x->a, v, &left, &left_rest) || !ix_coefficient(a, x->b, v, &right, &right_rest))
        return false;
    if (x->op != IX_MUL) {
        if (!compute(x->op, left, right, coefficient))
            return false;
        *rest = ix_op2(a, x->op, left_rest, right_rest);
        return true;
    }
    int64_t factor;
    if (!ix_mentions(x->b, v) && ix_is_const(x->b, &factor)) {
        *rest = ix_mul(a, left_rest, x->b);
        return compute(IX_MUL, left, factor, coefficient);
    }
    if (!ix_mentions(x->a, v) && ix_is_const(x->a, &factor)) {
        *rest = ix_mul(a, x->a, right_rest);
        return compute(IX_MUL, right, factor, coefficient);
    }
    return false;
}

/* Binding strength: sums 1, products 2, everything else stands alone. */
static void print_at(text_buffer *out, const index_expr *x, int strength) {
    int own = x->op == IX_ADD || x->op == IX_SUB ? 1 : x->op == IX_MUL ? 2 : 3;
    bool wrap = own < strength || (x->op == IX_CONST && x->value < 0 && strength > 1);
    if (wrap)
        text_add(out, "(");
    switch (x->op) {
    case IX_CONST: text_add(out, "%lld", (long long)x->value); break;
    case IX_VAR: text_add(out, "%s", x->var->name ? x->var->name : "?"); break;
    case IX_ADD:
    case IX_SUB:
    case IX_MUL:
        print_at(out, x->a, own);
        text_add(out, x->op == IX_ADD ? " + " : x->op == IX_SUB ? " - " : " * ");
        print_at(out, x->b, own + 1);
        break;
    case IX_FLOORDIV:
        text_add(out, "floor(");
        print_at(out, x->a, 2);
        text_add(out, " / ");
        print_at(out, x->b, 3);
        text_add(out, ")");
        break;
    case IX_MOD:
        text_add(out, "(");
        print_at(out, x->a, 2);
        text_add(out, " mod ");
        print_at(out, x->b, 3);
        text_add(out, ")");
        break;
    case IX_MIN:
    case IX_MAX:
        text_add(out, x->op == IX_MIN ? "min(" : "max(");
        print_at(out, x->a, 0);
        text_add(out, ", ");
        print_at(out, x->b, 0);
        text_add(out, ")");
        break;
    }
    if (wrap)
        text_add(out, ")");
}

void ix_print(text_buffer *out, const index_expr *x) {
    print_at(out, x, 0);
}

int64_t ix_gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

bool ix_eval(const index_expr *x, ix_lookup lookup, void *context, int64_t *value) {
    if (x->op == IX_CONST) {
        *value = x->value;
        return true;
    }
    if (x->op == IX_VAR) {
        if (x->var->has_value && (x->var->kind == INDEX_STATIC || x->var->kind == INDEX_TILE)) {
            *value = x->var->value;
            return true;
        }
        return lookup && lookup(context, x->var, value);
    }
    int64_t left, right;
    return ix_eval(x->a, lookup, context, &left) && ix_eval(x->b, lookup, context, &right) && compute(x->op, left, right, value);
}
