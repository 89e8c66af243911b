/* Parsing expressions and types. */
#include "lang/parser.h"
#include <string.h>

static expr *new_expr(parser *p, expr_kind kind, const token *t) {
    expr *e = NEW(p->arena, expr);
    e->kind = kind;
    e->span = t->span;
    e->start = t->start;
    e->end = t->start + t->length;
    e->depth = 1;
    return e;
}

static expr *close_expr(parser *p, expr *e) {
    const token *last = &p->tokens.items.at[p->at > 0 ? p->at - 1 : 0];
    if (last->start + last->length > e->end)
        e->end = last->start + last->length;
    int depth = 0;
    if (e->a && e->a->depth > depth)
        depth = e->a->depth;
    if (e->b && e->b->depth > depth)
        depth = e->b->depth;
    for (int i = 0; i < e->args.count; i++)
        if (e->args.at[i]->depth > depth)
            depth = e->args.at[i]->depth;
    e->depth = depth + 1;
    if (e->depth > MAX_DEPTH && !p->failed) {
        diag *g = parser_error(p, "E0110", last, "this expression is nested more than %d levels deep", MAX_DEPTH);
        diag_caret(p->diags, g, "bind a part of it to a name first");
    }
    return p->failed ? (e->kind = EXPR_ERROR, e) : e;
}

void parse_arguments(parser *p, expr *call, const char *close) {
    while (!p->failed && !parser_at(p, close)) {
        VEC_PUSH(p->arena, call->args, parse_expression(p));
        if (!parser_accept(p, ","))
            break;
    }
    parser_expect(p, close, "to close the list");
}

expr *parse_tuple(parser *p) {
    expr *e = new_expr(p, EXPR_TUPLE, parser_peek(p));
    if (parser_expect(p, "(", "around the values"))
        parse_arguments(p, e, ")");
    return close_expr(p, e);
}

static bool is_reduction(const token *t) {
    static const char *const names[] = {"sum", "max", "min", "argmax", "argmin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (token_is(t, names[i]))
            return true;
    return false;
}

/* Behind `sum[`: `j in 0..3](x[j])`. */
static expr *bounded_reduction(parser *p, expr *e) {
    e->kind = EXPR_REDUCE;
    e->bounded = true;
    e->range = parser_name(p, "a name for the numbers that it goes over", &e->range_span);
    parser_next(p);
    if (!p->failed)
        VEC_PUSH(p->arena, e->args, parse_sum(p));
    if (parser_expect(p, "..", "between the first and the last number"))
        VEC_PUSH(p->arena, e->args, parse_sum(p));
    parser_expect(p, "]", "after the last number");
    if (parser_expect(p, "(", "before the value to reduce"))
        e->a = parse_expression(p);
    parser_expect(p, ")", "after the value to reduce");
    return close_expr(p, e);
}

static expr *primary(parser *p) {
    const token *t = parser_peek(p);
    if (t->kind == TOKEN_NUMBER) {
        expr *e = new_expr(p, EXPR_NUMBER, parser_next(p));
        e->number = t->number;
        e->integral = t->integral;
        e->integer = t->integer;
        return e;
    }
    if (token_is(t, "(")) {
        expr *e = new_expr(p, EXPR_TUPLE, parser_next(p));
        bool trailing = false;
        while (!p->failed && !parser_at(p, ")")) {
            VEC_PUSH(p->arena, e->args, parse_expression(p));
            if (!(trailing = parser_accept(p, ",")))
                break;
        }
        parser_expect(p, ")", "to close the parenthesis");
        if (e->args.count == 0 && !p->failed)
            parser_error(p, "E0104", t, "`()` holds no value");
        if (e->args.count == 1 && !trailing && !p->failed) {
            /* keeps the parentheses in quotations of the text */
            e->args.at[0]->start = e->start;
            const token *last = &p->tokens.items.at[p->at - 1];
            e->args.at[0]->end = last->start + last->length;
            return e->args.at[0];
        }
        return close_expr(p, e);
    }
    if (t->kind != TOKEN_NAME ||
        (parser_is_reserved(t) && !token_is(t, "true") && !token_is(t, "false") && !token_is(t, "inf"))) {
        parser_error(p, "E0104", t, "expected a value, found %s", parser_quote(p, t));
        return new_expr(p, EXPR_ERROR, t);
    }
    parser_next(p);
    expr *e = new_expr(p, EXPR_NAME, t);
    e->name = arena_strndup(p->arena, t->start, (size_t)t->length);
    if (parser_at(p, "(")) {
        parser_next(p);
        e->kind = EXPR_CALL;
        parse_arguments(p, e, ")");
        return close_expr(p, e);
    }
    if (parser_at(p, "[")) {
        bool reduction = is_reduction(t);
        parser_next(p);
        if (reduction && token_is(parser_peek_after(p, 1), "in"))
            return bounded_reduction(p, e);
        parse_arguments(p, e, "]");
        e->kind = EXPR_INDEX;
        if (reduction && !p->failed && parser_at(p, "(")) {
            e->kind = EXPR_REDUCE;
            if (e->args.count != 1 || e->args.at[0]->kind != EXPR_NAME) {
                diag *g = parser_error(p, "E0104", t, "`%s[...]` names the one range it reduces", e->name);
                diag_caret(p->diags, g,
                           "write `%s[k](x[i, k])`; reduce several ranges one after the other, or a product by `a @ b`", e->name);
                return close_expr(p, e);
            }
            e->range = e->args.at[0]->name;
            e->range_span = e->args.at[0]->span;
            e->args.count = 0;
            parser_next(p);
            e->a = parse_expression(p);
            parser_expect(p, ")", "after the value to reduce");
        }
        return close_expr(p, e);
    }
    return e;
}

static expr *postfix(parser *p) {
    expr *e = primary(p);
    while (!p->failed && parser_at(p, ".")) {
        const token *dot = parser_next(p);
        expr *f = new_expr(p, EXPR_FIELD, dot);
        f->start = e->start;
        f->a = e;
        f->name = parser_name(p, "a field's name after `.`", &f->span);
        e = close_expr(p, f);
    }
    return e;
}

static expr *unary(parser *p) {
    const token *t = parser_peek(p);
    if (!token_is(t, "-"))
        return postfix(p);
    if (!parser_enter(p))
        return new_expr(p, EXPR_ERROR, t);
    parser_next(p);
    expr *e = new_expr(p, EXPR_NEGATE, t);
    e->a = unary(p);
    p->depth--;
    return close_expr(p, e);
}

static const struct binary {
    const char *text;
    int level;
    binary_op op;
} binaries[] = {
    {"or", 1, OP_OR}, {"and", 2, OP_AND}, {"==", 4, OP_EQ}, {"!=", 4, OP_NE}, {"<=", 4, OP_LE},
    {">=", 4, OP_GE}, {"<", 4, OP_LT},    {">", 4, OP_GT},  {"+", 5, OP_ADD}, {"-", 5, OP_SUB},
    {"*", 6, OP_MUL}, {"/", 6, OP_DIV},   {"%", 6, OP_MOD}, {"@", 6, OP_DOT},
};

static const struct binary *find_binary(const token *t) {
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        if (token_is(t, binaries[i].text))
            return &binaries[i];
    return NULL;
}

static expr *binary(parser *p, int level) {
    if (!parser_enter(p))
        return new_expr(p, EXPR_ERROR, parser_peek(p));
    expr *e;
    const token *t = parser_peek(p);
    if (level <= 3 && token_is(t, "not")) {
        parser_next(p);
        e = new_expr(p, EXPR_NOT, t);
        e->a = binary(p, 3);
        e = close_expr(p, e);
    } else {
        e = unary(p);
    }
    for (const struct binary *b; !p->failed && (b = find_binary(parser_peek(p))) && b->level >= level;) {
        const token *op = parser_next(p);
        expr *x = new_expr(p, EXPR_BINARY, op);
        bool chained = b->level == 4 && e->kind == EXPR_BINARY && e->op >= OP_EQ && e->op <= OP_GE && *e->start != '(';
        if (chained) {
            diag *g = parser_error(p, "E0112", op, "comparisons do not chain");
            diag_caret(p->diags, g, "write `a < b and b < c`");
        }
        x->op = b->op;
        x->start = e->start;
        /* The place of `@` and of comparisons is the operator; that of a sum is its beginning. */
        if (b->op != OP_DOT && b->level >= 5)
            x->span = e->span;
        x->a = e;
        x->b = binary(p, b->level + 1);
        e = close_expr(p, x);
    }
    p->depth--;
    return e;
}

expr *parse_sum(parser *p) {
    return binary(p, 5);
}

expr *parse_expression(parser *p) {
    expr *e = binary(p, 1);
    while (!p->failed && parser_at(p, "else")) {
        expr *x = new_expr(p, EXPR_ELSE, parser_next(p));
        x->start = e->start;
        x->a = e;
        x->b = binary(p, 1);
        e = close_expr(p, x);
    }
    return e;
}

expr *parse_owned(parser *p) {
    const token *t = parser_peek(p);
    if (token_is(t, "..")) {
        parser_next(p);
        return new_expr(p, EXPR_ALL, t);
    }
    if (t->kind == TOKEN_NAME && token_is(parser_peek_after(p, 1), ":")) {
        expr *e = new_expr(p, EXPR_RANGE, t);
        e->name = parser_name(p, "a range", &e->span);
        if (p->failed)
            return e;
        parser_next(p);
        e->a = parse_sum(p);
        return close_expr(p, e);
    }
    if (token_is(t, "(")) {
        if (!parser_enter(p))
            return new_expr(p, EXPR_ERROR, t);
        expr *e = new_expr(p, EXPR_TUPLE, parser_next(p));
        while (!p->failed && !parser_at(p, ")")) {
            VEC_PUSH(p->arena, e->args, parse_owned(p));
            if (!parser_accept(p, ","))
                break;
        }
        p->depth--;
        parser_expect(p, ")", "to close the factors of a dimension");
        return close_expr(p, e);
    }
    if (t->kind == TOKEN_NAME && token_is(parser_peek_after(p, 1), "[")) { /* `slot[t: BT]`: at the elements of an index array */
        if (!parser_enter(p))
            return new_expr(p, EXPR_ERROR, t);
        expr *e = new_expr(p, EXPR_INDEX, t);
        e->name = parser_name(p, "an index array", &e->span);
        parser_next(p);
        while (!p->failed && !parser_at(p, "]")) {
            VEC_PUSH(p->arena, e->args, parse_owned(p));
            if (!parser_accept(p, ","))
                break;
        }
        p->depth--;
        parser_expect(p, "]", "after the indices of an index array");
        return close_expr(p, e);
    }
    return parse_sum(p);
}

static void parse_dims(parser *p, type_syntax *t) {
    if (!parser_accept(p, "["))
        return;
    t->has_dims = true;
    while (!p->failed && !parser_at(p, "]")) {
        VEC_PUSH(p->arena, t->dims, parse_sum(p));
        if (!parser_accept(p, ","))
            break;
    }
    if (!t->dims.count && !p->failed) {
        diag *g = parser_error(p, "E0104", parser_peek(p), "an array has at least one dimension");
        diag_caret(p->diags, g, "a scalar is written without brackets: `scale: f32`");
    }
    parser_expect(p, "]", "after the dimensions");
}

void parse_type(parser *p, type_syntax *t) {
    const token *first = parser_peek(p);
    t->span = first->span;
    t->element = ELEMENT_COUNT;
    t->injective = parser_accept(p, "injective");
    first = parser_peek(p);
    if (first->kind == TOKEN_NAME) {
        char *name = arena_strndup(p->arena, first->start, (size_t)first->length);
        const token *after = parser_peek_after(p, 1);
        if (!strcmp(name, "index")) {
            parser_next(p);
            t->name = name;
            t->element = ELEMENT_INDEX;
            if (parser_expect(p, "(", "after `index`: index(V) holds 0..V-1")) {
                t->index_bound = parse_sum(p);
                parser_expect(p, ")", "after the bound of `index`");
            }
            parse_dims(p, t);
            return;
        }
        element_type element = element_by_name(name);
        bool ends =
            token_is(after, "[") || token_is(after, ",") || token_is(after, ")") || token_is(after, "=") || token_is(after, "(");
        if (element != ELEMENT_COUNT || ends || t->injective) {
            parser_next(p);
            t->name = name;
            t->element = element;
            parse_dims(p, t);
            return;
        }
    }
    t->lo = parse_sum(p);
    if (parser_expect(p, "..", "between the bounds of an integer (`len: 0..T`), or use an element type such as f32"))
        t->hi = parse_sum(p);
}
