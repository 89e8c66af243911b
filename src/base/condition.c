/* Conditions over integer expressions. False is written not(true). */
#include "base/index.h"

static cond *make(arena *a, cond_op op) {
    cond *c = NEW(a, cond);
    c->op = op;
    return c;
}

static cond *constant(arena *a, bool value) {
    cond *yes = make(a, COND_TRUE);
    if (value)
        return yes;
    cond *no = make(a, COND_NOT);
    no->a = yes;
    return no;
}

static bool is_true(const cond *c) {
    return c->op == COND_TRUE;
}

static bool is_false(const cond *c) {
    return c->op == COND_NOT && c->a->op == COND_TRUE;
}

static bool compare(cond_op op, int64_t x, int64_t y) {
    switch (op) {
    case COND_LE: return x <= y;
    case COND_LT: return x < y;
    case COND_EQ: return x == y;
    case COND_NE: return x != y;
    default: return true;
    }
}

cond *cond_compare(arena *a, cond_op op, index_expr *x, index_expr *y) {
    int64_t left, right;
    if (ix_is_const(x, &left) && ix_is_const(y, &right))
        return constant(a, compare(op, left, right));
    if (ix_equal(x, y))
        return constant(a, op == COND_LE || op == COND_EQ);
    cond *c = make(a, op);
    c->x = x;
    c->y = y;
    return c;
}

cond *cond_and(arena *a, cond *x, cond *y) {
    if (!x || (is_true(x) && y))
        return y;
    if (!y || is_true(y) || is_false(x))
        return x;
    if (is_false(y))
        return y;
    cond *c = make(a, COND_AND);
    c->a = x;
    c->b = y;
    c->span = x->span;
    return c;
}

cond *cond_or(arena *a, cond *x, cond *y) {
    if (!x || (is_false(x) && y))
        return y;
    if (!y || is_false(y) || is_true(x))
        return x;
    if (is_true(y))
        return y;
    cond *c = make(a, COND_OR);
    c->a = x;
    c->b = y;
    c->span = x->span;
    return c;
}

cond *cond_not(arena *a, cond *x) {
    cond *c;
    switch (x->op) {
    case COND_NOT: return x->a;
    case COND_LE: c = cond_compare(a, COND_LT, x->y, x->x); break;
    case COND_LT: c = cond_compare(a, COND_LE, x->y, x->x); break;
    case COND_EQ: c = cond_compare(a, COND_NE, x->x, x->y); break;
    case COND_NE: c = cond_compare(a, COND_EQ, x->x, x->y); break;
    default:
        c = make(a, COND_NOT);
        c->a = x;
        break;
    }
    c->span = x->span;
    return c;
}

typedef index_expr *(*rewrite)(arena *a, index_expr *x, const index_var *v, index_expr *by);

static index_expr *bind(arena *a, index_expr *x, const index_var *v, index_expr *by) {
    (void)v;
    (void)by;
    return ix_bind_constants(a, x);
}

static cond *rewritten(arena *a, cond *c, rewrite how, const index_var *v, index_expr *by) {
    cond *result = c;
    switch (c->op) {
    case COND_TRUE: return c;
    case COND_LE:
    case COND_LT:
    case COND_EQ:
    case COND_NE: {
        index_expr *x = how(a, c->x, v, by), *y = how(a, c->y, v, by);
        if (x == c->x && y == c->y)
            return c;
        result = cond_compare(a, c->op, x, y);
        break;
    }
    case COND_AND:
    case COND_OR: {
        cond *x = rewritten(a, c->a, how, v, by), *y = rewritten(a, c->b, how, v, by);
        if (x == c->a && y == c->b)
            return c;
        return c->op == COND_AND ? cond_and(a, x, y) : cond_or(a, x, y);
    }
    case COND_NOT: {
        cond *x = rewritten(a, c->a, how, v, by);
        if (x == c->a)
            return c;
        result = cond_not(a, x);
        break;
    }
    }
    if (!result->span.file)
        result->span = c->span;
    return result;
}

cond *cond_substitute(arena *a, cond *x, const index_var *v, index_expr *by) {
    return x ? rewritten(a, x, ix_substitute, v, by) : NULL;
}

cond *cond_bind_constants(arena *a, cond *x) {
    return x ? rewritten(a, x, bind, NULL, NULL) : NULL;
}

bool cond_mentions(const cond *x, const index_var *v) {
    if (!x)
        return false;
    switch (x->op) {
    case COND_TRUE: return false;
    case COND_AND:
    case COND_OR: return cond_mentions(x->a, v) || cond_mentions(x->b, v);
    case COND_NOT: return cond_mentions(x->a, v);
    default: return ix_mentions(x->x, v) || ix_mentions(x->y, v);
    }
}

/* Binding strength: or 1, and 2, not 3, comparisons 4. The right operand of a same operator keeps its parentheses, so
 * that the text reads back to the same tree. */
static void print_at(text_buffer *out, const cond *x, int strength) {
    if (is_false(x)) {
        text_add(out, "false");
        return;
    }
    int own = x->op == COND_OR ? 1 : x->op == COND_AND ? 2 : x->op == COND_NOT ? 3 : 4;
    if (own < strength)
        text_add(out, "(");
    switch (x->op) {
    case COND_TRUE: text_add(out, "true"); break;
    case COND_AND:
    case COND_OR:
        print_at(out, x->a, own);
        text_add(out, x->op == COND_AND ? " and " : " or ");
        print_at(out, x->b, own + 1);
        break;
    case COND_NOT:
        text_add(out, "not ");
        print_at(out, x->a, 4);
        break;
    default:
        ix_print(out, x->x);
        text_add(out, x->op == COND_LE ? " <= " : x->op == COND_LT ? " < " : x->op == COND_EQ ? " == " : " != ");
        ix_print(out, x->y);
        break;
    }
    if (own < strength)
        text_add(out, ")");
}

void cond_print(text_buffer *out, const cond *x) {
    if (x)
        print_at(out, x, 0);
    else
        text_add(out, "true");
}

bool cond_eval(const cond *x, ix_lookup lookup, void *context, bool *value) {
    if (!x) {
        *value = true;
        return true;
    }
    bool left, right;
    int64_t a, b;
    switch (x->op) {
    case COND_TRUE: *value = true; return true;
    case COND_AND:
    case COND_OR: /* both sides are looked at: an unbound name never hides */
        if (!cond_eval(x->a, lookup, context, &left) || !cond_eval(x->b, lookup, context, &right))
            return false;
        *value = x->op == COND_AND ? left && right : left || right;
        return true;
    case COND_NOT:
        if (!cond_eval(x->a, lookup, context, &left))
            return false;
        *value = !left;
        return true;
    default:
        if (!ix_eval(x->x, lookup, context, &a) || !ix_eval(x->y, lookup, context, &b))
            return false;
        *value = compare(x->op, a, b);
        return true;
    }
}

cond *cond_map(arena *a, const cond *x, index_expr *(*side)(void *context, index_expr *x), void *context) {
    if (!x)
        return NULL;
    cond *to = NEW(a, cond);
    *to = *x;
    to->x = x->x ? side(context, x->x) : NULL;
    to->y = x->y ? side(context, x->y) : NULL;
    to->a = cond_map(a, x->a, side, context);
    to->b = cond_map(a, x->b, side, context);
    return to;
}
