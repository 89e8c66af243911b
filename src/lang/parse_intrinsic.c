/* The declaration of an intrinsic: parameters, contract, what it computes, and the functions of targets that it stands for. */
#include "lang/parser.h"
#include <string.h>

static void parse_parameter(parser *p, declaration *d) {
    intrinsic_parameter_syntax x = {0};
    x.name = parser_name(p, "a parameter's name", &x.span);
    parser_expect(p, ":", "and the parameter's type");
    const token *t = parser_peek(p);
    bool global = token_is(t, "global"), shared = token_is(t, "shared"), matrix = token_is(t, "matrix");
    if ((global || shared || matrix) && parser_peek_after(p, 1)->kind == TOKEN_NAME) {
        x.space = global ? "global" : shared ? "shared" : NULL;
        x.matrix = matrix;
        parser_next(p);
        t = parser_peek(p);
    }
    if (token_is(t, "index") && !token_is(parser_peek_after(p, 1), "(")) {
        parser_next(p);
        x.type = (type_syntax){.span = t->span, .name = "index", .element = ELEMENT_INDEX};
    } else if (!p->failed) {
        parse_type(p, &x.type);
    }
    if (!p->failed)
        VEC_PUSH(p->arena, d->parameters, x);
}

/* reads NAME[lo..hi, at], or all of what it sees: reads NAME */
static void parse_contract(parser *p, declaration *d, bool reads, bool writes) {
    contract_syntax c = {.reads = reads, .writes = writes};
    c.name = parser_name(p, "the pointer that it speaks of", &c.span);
    c.whole = !parser_accept(p, "[");
    while (!c.whole && !p->failed && !parser_at(p, "]")) {
        expr *lo = parse_sum(p), *hi = parser_accept(p, "..") ? parse_sum(p) : lo;
        VEC_PUSH(p->arena, c.lo, lo);
        VEC_PUSH(p->arena, c.hi, hi);
        if (!parser_accept(p, ","))
            break;
    }
    if (!c.whole)
        parser_expect(p, "]", "after the cells");
    if (!p->failed)
        VEC_PUSH(p->arena, d->contracts, c);
}

static void parse_value(parser *p, declaration *d) {
    const token *t = parser_peek(p);
    if (t->kind == TOKEN_NAME) { /* the cells that are written */
        expr *cell = d->written = NEW(p->arena, expr);
        cell->kind = EXPR_INDEX;
        cell->name = parser_name(p, "the pointer that is written through", &cell->span);
        cell->start = t->start;
        if (parser_expect(p, "[", "before the cell"))
            parse_arguments(p, cell, "]");
        cell->end = p->tokens.items.at[p->at - 1].start + 1;
    } else if (parser_accept(p, "[")) {
        do {
            source_span span = {0};
            const char *name = parser_name(p, "a name for the row or column", &span);
            VEC_PUSH(p->arena, d->names, name);
            VEC_PUSH(p->arena, d->name_spans, span);
        } while (parser_accept(p, ","));
        parser_expect(p, "]", "after the place in the matrix");
    }
    parser_expect(p, "=", "before what it computes");
    d->value = parse_expression(p);
}

static void parse_binding(parser *p, declaration *d) {
    binding_syntax b = {0};
    text_buffer target = {0};
    do {
        source_span span = {0};
        const char *word = parser_name(p, "`reads`, `value`, `otherwise` or a target's name", &span);
        text_add(&target, "%s%s", target.length ? "." : "", word ? word : "");
    } while (parser_accept(p, "."));
    b.target = arena_strdup(p->arena, text_get(&target));
    text_free(&target);
    parser_expect(p, "=", "before the target's function");
    const token *t = parser_peek(p);
    b.span = t->span;
    if (!p->failed && t->kind != TOKEN_STRING) {
        diag *g = parser_error(p, "E0104", t, "expected the name of the target's function, found %s", parser_quote(p, t));
        diag_caret(p->diags, g, "write it in quotes: `%s = \"name\"`", b.target);
        return;
    }
    if (p->failed)
        return;
    b.text = arena_strndup(p->arena, t->start + 1, (size_t)t->length - 2);
    parser_next(p);
    if ((b.listed = parser_accept(p, "("))) {
        expr *call = NEW(p->arena, expr);
        parse_arguments(p, call, ")");
        for (int i = 0; i < call->args.count; i++)
            VEC_PUSH(p->arena, b.items, call->args.at[i]);
    }
    if (!p->failed)
        VEC_PUSH(p->arena, d->bindings, b);
}

void parse_intrinsic(parser *p, declaration *d) {
    parser_expect(p, "(", "before the parameters");
    while (!p->failed && !parser_at(p, ")")) {
        parse_parameter(p, d);
        if (!parser_accept(p, ","))
            break;
    }
    parser_expect(p, ")", "after the parameters");
    d->has_result = parser_accept(p, "->");
    if (!p->failed && d->has_result)
        parse_type(p, &d->result);
    if (!parser_expect(p, "{",
                       d->has_result ? "to begin what it reads, computes and stands for"
                                     : "to begin what it writes and stands for, or `->` and the result's type"))
        return;
    while (!p->failed && !parser_accept(p, "}")) {
        const token *after = parser_peek_after(p, 1);
        bool clause = after->kind == TOKEN_NAME;
        if (parser_accept(p, ";")) {
            continue;
        } else if (clause && parser_at(p, "reads")) {
            parser_next(p);
            parse_contract(p, d, true, false);
        } else if (clause && parser_at(p, "writes")) {
            parser_next(p);
            parse_contract(p, d, false, true);
        } else if (parser_at(p, "value")) {
            parser_next(p);
            parse_value(p, d);
        } else if (parser_at(p, "otherwise")) {
            d->anywhere_span = parser_next(p)->span;
            parser_expect(p, "=", "after `otherwise`");
            if (!parser_accept(p, "value")) {
                const token *t = parser_peek(p);
                parser_error(p, "E0104", t, "expected `value` after `otherwise =`, found %s", parser_quote(p, t));
            }
            d->anywhere = true;
        } else if (parser_peek(p)->kind == TOKEN_END) {
            parser_error(p, "E0105", parser_peek(p), "the declaration of `%s` is never closed", d->name);
        } else {
            parse_binding(p, d);
        }
    }
}
