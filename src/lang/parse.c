/* Parsing declarations and statements. After an error the rest of the statement is skipped, so that one run reports several. */
#include "lang/elsewhere.h"
#include "lang/parser.h"
#include <string.h>

const token *parser_peek(const parser *p) {
    return &p->tokens.items.at[p->at];
}

const token *parser_peek_after(const parser *p, int count) {
    int i = p->at + count, last = p->tokens.items.count - 1;
    return &p->tokens.items.at[i < last ? i : last];
}

bool parser_at(const parser *p, const char *text) {
    return token_is(parser_peek(p), text);
}

const token *parser_next(parser *p) {
    const token *t = parser_peek(p);
    if (t->kind != TOKEN_END)
        p->at++;
    return t;
}

bool parser_accept(parser *p, const char *text) {
    if (p->failed || !parser_at(p, text))
        return false;
    p->at++;
    return true;
}

const char *parser_quote(parser *p, const token *t) {
    return t->kind == TOKEN_END ? "the end of the file" : arena_printf(p->arena, "`%.*s`", t->length, t->start);
}

diag *parser_error(parser *p, const char *code, const token *at, const char *format, ...) {
    if (p->failed)
        return NULL;
    p->failed = true;
    if (parser_peek(p)->kind == TOKEN_BAD || at->kind == TOKEN_BAD)
        return NULL; /* said already */
    if (at->kind == TOKEN_END) {
        if (p->unclosed)
            return NULL;
        p->unclosed = true;
    }
    text_buffer b = {0};
    va_list args;
    va_start(args, format);
    text_add_va(&b, format, args);
    va_end(args);
    diag *g = diag_error(p->diags, code, at->span, "%s", text_get(&b));
    text_free(&b);
    return g;
}

bool parser_expect(parser *p, const char *text, const char *where) {
    if (parser_accept(p, text))
        return true;
    const token *t = parser_peek(p);
    bool closing = t->kind == TOKEN_END && strchr(")]}", *text);
    parser_error(p, closing ? "E0105" : "E0104", t, "expected `%s` %s, found %s", text, where, parser_quote(p, t));
    return false;
}

bool parser_is_reserved(const token *t) {
    static const char *const words[] = {"kernel", "fn",  "combine", "schedule", "program", "intrinsic",
                                        "for",    "in",  "where",   "static",   "update",  "and",
                                        "or",     "not", "else",    "inf",      "true",    "false"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (token_is(t, words[i]))
            return true;
    return false;
}

const char *parser_name(parser *p, const char *what, source_span *span) {
    const token *t = parser_peek(p);
    if (t->kind == TOKEN_NAME && !parser_is_reserved(t)) {
        *span = t->span;
        parser_next(p);
        return arena_strndup(p->arena, t->start, (size_t)t->length);
    }
    if (t->kind == TOKEN_NAME) {
        diag *g = parser_error(p, "E0204", t, "`%.*s` is a word of the language and cannot be %s", t->length, t->start, what);
        diag_caret(p->diags, g, "choose another name");
    } else {
        parser_error(p, "E0104", t, "expected %s, found %s", what, parser_quote(p, t));
    }
    *span = t->span;
    return NULL;
}

bool parser_enter(parser *p) {
    if (++p->depth <= MAX_DEPTH)
        return true;
    diag *g = parser_error(p, "E0110", parser_peek(p), "nested more than %d levels deep", MAX_DEPTH);
    diag_caret(p->diags, g, "bind a part of it to a name first");
    p->depth--;
    p->failed = true;
    return false;
}

static bool begins_declaration(const parser *p) {
    static const char *const words[] = {"kernel", "fn", "combine", "schedule", "program", "intrinsic"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (parser_at(p, words[i]))
            return true;
    return false;
}

/* Skips to the next statement: a line's beginning, `;` or `}`, brackets counted. */
static void skip_statement(parser *p) {
    int depth = 0;
    bool moved = false;
    for (;; parser_next(p), moved = true) {
        const token *t = parser_peek(p);
        if (t->kind == TOKEN_END || (t->first_on_line && begins_declaration(p)))
            break;
        if (moved && depth <= 0 && t->first_on_line && t->kind == TOKEN_NAME)
            break;
        if (depth <= 0 && token_is(t, ";"))
            break;
        if (token_is(t, "{"))
            depth++;
        if (token_is(t, "}") && --depth < 0)
            break;
    }
    p->failed = false;
}

static void parse_block(parser *p, stmt_list *out, declaration *owner);

static stmt *new_stmt(parser *p, stmt_kind kind, const token *t) {
    stmt *s = NEW(p->arena, stmt);
    s->kind = kind;
    s->span = t->span;
    return s;
}

static stmt *parse_for_tile(parser *p, stmt *s, declaration *owner) {
    s->kind = STMT_TILE;
    do {
        expr *target = NEW(p->arena, expr);
        const token *t = parser_peek(p);
        target->kind = EXPR_INDEX;
        target->start = t->start;
        target->name = parser_name(p, "an output's name after `for tile`", &target->span);
        if (parser_expect(p, "[", "after the output's name")) {
            while (!p->failed && !parser_at(p, "]")) {
                VEC_PUSH(p->arena, target->args, parse_owned(p));
                if (!parser_accept(p, ","))
                    break;
            }
            parser_expect(p, "]", "after the tile's ranges");
        }
        target->end = parser_peek(p)->start;
        VEC_PUSH(p->arena, s->targets, target);
    } while (parser_accept(p, ","));
    parse_block(p, &s->body, owner);
    return s;
}

static stmt *parse_for(parser *p, declaration *owner) {
    stmt *s = new_stmt(p, STMT_FOR, parser_next(p));
    const token *word = parser_peek(p);
    if (token_is(word, "tile") && !token_is(parser_peek_after(p, 1), ":")) {
        parser_next(p);
        return parse_for_tile(p, s, owner);
    }
    s->name = parser_name(p, "a range's name after `for`", &s->span);
    if (parser_expect(p, ":", "and the tile's size after the range's name (`for k: BK in K`)"))
        s->size = parse_sum(p);
    if (parser_expect(p, "in", "before the extent the range spans"))
        s->extent = parse_sum(p);
    if (parser_accept(p, "where"))
        s->predicate = parse_expression(p);
    parse_block(p, &s->body, owner);
    return s;
}

static stmt *parse_statement(parser *p, declaration *owner) {
    const token *t = parser_peek(p);
    if (token_is(t, "for"))
        return parse_for(p, owner);
    stmt *s = new_stmt(p, STMT_BIND, t);
    if (t->kind != TOKEN_NAME) {
        diag *g = parser_error(p, "E0107", t, "expected a statement, found %s", parser_quote(p, t));
        diag_caret(p->diags, g,
                   "a statement is `for ...`, `x = ...`, `x: f32[i] = ...`, `x += ...`, `x <- (...)` or `y[i] = ...`");
        return s;
    }
    s->name = parser_name(p, "the name of a value", &s->span);
    if (p->failed)
        return s;
    if (parser_accept(p, ":")) {
        s->kind = STMT_DECLARE;
        parse_type(p, &s->type);
        if (!p->failed && parser_at(p, "(")) {
            parser_next(p);
            s->is_state = true;
            while (!p->failed && !parser_at(p, ")")) {
                type_syntax field = {0};
                parse_type(p, &field);
                VEC_PUSH(p->arena, s->fields, field);
                if (!parser_accept(p, ","))
                    break;
            }
            parser_expect(p, ")", "after the fields of the state");
        } else if (parser_expect(p, "=", "and a first value (`acc: f32[i] = 0`)")) {
            s->value = parse_expression(p);
        }
    } else if (parser_accept(p, "+=") || parser_accept(p, "max=") || parser_accept(p, "min=")) {
        const token *op = &p->tokens.items.at[p->at - 1];
        s->kind = STMT_UPDATE;
        s->update = token_is(op, "+=") ? UPDATE_ADD : token_is(op, "max=") ? UPDATE_MAX : UPDATE_MIN;
        s->value = parse_expression(p);
    } else if (parser_accept(p, "<-")) {
        s->kind = STMT_JOIN;
        s->value = parse_expression(p);
    } else if (parser_at(p, "[")) {
        s->kind = STMT_STORE;
        expr *target = NEW(p->arena, expr);
        target->kind = EXPR_INDEX;
        target->name = s->name;
        target->span = s->span;
        target->start = t->start;
        parser_next(p);
        parse_arguments(p, target, "]");
        target->end = p->tokens.items.at[p->at - 1].start + 1;
        VEC_PUSH(p->arena, s->targets, target);
        if (parser_expect(p, "=", "after the cells to store"))
            s->value = parse_expression(p);
    } else if (parser_accept(p, "=")) {
        s->value = parse_expression(p);
        for (int i = 0; s->value && s->value->kind == EXPR_CALL && i < s->value->args.count; i++) {
            const expr *x = s->value->args.at[i];
            if (x->kind == EXPR_NAME && !strcmp(x->name, s->name))
                s->kind = STMT_MULTIPLY;
        }
    } else if (parser_at(p, "(")) {
        s->kind = STMT_CALL;
        expr *call = s->value = NEW(p->arena, expr);
        call->kind = EXPR_CALL;
        call->name = s->name;
        call->span = s->span;
        call->start = t->start;
        parser_next(p);
        parse_arguments(p, call, ")");
        call->end = p->tokens.items.at[p->at - 1].start + 1;
    } else {
        const token *next = parser_peek(p);
        diag *g = parser_error(p, "E0107", next, "expected `=`, `:`, `+=`, `max=`, `min=`, `<-`, `[` or `(` after `%s`, found %s",
                               s->name, parser_quote(p, next));
        if (token_is(next, "-") || token_is(next, "*") || token_is(next, "/"))
            diag_caret(p->diags, g, "names combine only by `+=`, `max=`, `min=` and `<-`");
        else if (lang_statement_elsewhere(s->name))
            diag_caret(p->diags, g, "%s", lang_statement_elsewhere(s->name));
    }
    return s;
}

static void parse_block(parser *p, stmt_list *out, declaration *owner) {
    const token *open = parser_peek(p);
    if (!parser_expect(p, "{", "to begin the body"))
        return;
    if (!parser_enter(p))
        return;
    for (;;) {
        while (parser_accept(p, ";") || parser_accept(p, ","))
            ;
        const token *t = parser_peek(p);
        if (parser_accept(p, "}"))
            break;
        if (t->kind == TOKEN_END || (t->first_on_line && begins_declaration(p))) {
            if (!p->unclosed) {
                diag *g = diag_error(p->diags, "E0105", open->span, "this `{` is never closed");
                diag_caret(p->diags, g, "add `}` before line %d", t->span.line);
            }
            p->unclosed = true;
            owner->broken = true;
            break;
        }
        int before = p->at, depth = p->depth;
        stmt *s = parse_statement(p, owner);
        if (p->failed) {
            owner->broken = true;
            p->depth = depth;
            skip_statement(p);
            if (p->at == before)
                parser_next(p);
        } else {
            VEC_PUSH(p->arena, out->items, s);
        }
    }
    p->depth--;
}

static void parse_parameters(parser *p, declaration *d, bool outputs) {
    if (!parser_expect(p, "(", outputs ? "before the outputs" : "before the inputs"))
        return;
    while (!p->failed && !parser_at(p, ")")) {
        parameter_syntax x = {0};
        x.update = parser_accept(p, "update");
        x.name = parser_name(p, "an argument's name", &x.span);
        if (x.update && !outputs && !p->failed) {
            diag *g = parser_error(p, "E0104", &p->tokens.items.at[p->at - 1], "`update` arrays stand among the outputs");
            diag_caret(p->diags, g, "write `(...) -> (update %s: ...)`", x.name);
        }
        if (parser_expect(p, ":", "and a type after the argument's name"))
            parse_type(p, &x.type);
        if (p->failed)
            break;
        if (outputs)
            VEC_PUSH(p->arena, d->outputs, x);
        else
            VEC_PUSH(p->arena, d->inputs, x);
        if (!parser_accept(p, ","))
            break;
    }
    parser_expect(p, ")", outputs ? "after the outputs" : "after the inputs");
}

static void parse_header(parser *p, declaration *d) {
    parse_parameters(p, d, false);
    if (parser_expect(p, "->", "and the outputs after the inputs"))
        parse_parameters(p, d, true);
    while (!p->failed && !parser_at(p, "{")) {
        if (parser_accept(p, "static")) {
            do {
                static_syntax s = {0};
                s.name = parser_name(p, "a static name", &s.span);
                if (parser_accept(p, "="))
                    s.value = parse_sum(p);
                if (!p->failed)
                    VEC_PUSH(p->arena, d->statics, s);
            } while (parser_accept(p, ","));
        } else if (parser_accept(p, "where")) {
            do
                VEC_PUSH(p->arena, d->where, parse_expression(p));
            while (parser_accept(p, ","));
        } else {
            const token *t = parser_peek(p);
            parser_error(p, "E0104", t, "expected `static`, `where` or `{` after the outputs, found %s", parser_quote(p, t));
        }
    }
}

static void parse_calls(parser *p, declaration *d) {
    if (!parser_expect(p, "{", "to begin the calls"))
        return;
    while (!p->failed) {
        while (parser_accept(p, ";"))
            ;
        if (parser_accept(p, "}"))
            return;
        call_syntax c = {0};
        do {
            source_span span = {0};
            const char *name = parser_name(p, "the name of a result (`y = kernel(x)`)", &span);
            VEC_PUSH(p->arena, c.results, name);
            VEC_PUSH(p->arena, c.result_spans, span);
        } while (parser_accept(p, ","));
        parser_expect(p, "=", "between the results and the kernel called");
        c.callee = parser_name(p, "the kernel to call", &c.span);
        parser_expect(p, "(", "before the arguments");
        while (!p->failed && !parser_at(p, ")")) {
            if (parser_peek(p)->kind == TOKEN_NAME && token_is(parser_peek_after(p, 1), "=")) {
                source_span span = {0};
                const char *name = parser_name(p, "a symbol of the kernel", &span);
                parser_expect(p, "=", "after the symbol");
                VEC_PUSH(p->arena, c.bind_names, name);
                VEC_PUSH(p->arena, c.bind_spans, span);
                VEC_PUSH(p->arena, c.bind_values, parse_sum(p));
            } else {
                VEC_PUSH(p->arena, c.args, parse_expression(p));
            }
            if (!parser_accept(p, ","))
                break;
        }
        parser_expect(p, ")", "after the arguments");
        if (!p->failed)
            VEC_PUSH(p->arena, d->calls, c);
    }
}

static void parse_names(parser *p, declaration *d, const char *what) {
    parser_expect(p, "(", "before the names");
    while (!p->failed && !parser_at(p, ")")) {
        source_span span = {0};
        const char *name = parser_name(p, what, &span);
        if (p->failed)
            break;
        VEC_PUSH(p->arena, d->names, name);
        VEC_PUSH(p->arena, d->name_spans, span);
        if (!parser_accept(p, ","))
            break;
    }
    parser_expect(p, ")", "after the names");
}

static void parse_combine(parser *p, declaration *d) {
    parse_names(p, d, "a field's name");
    if (!parser_expect(p, "{", "to begin the combine"))
        return;
    while (!p->failed && !parser_accept(p, "}")) {
        if (parser_accept(p, ";"))
            continue;
        if (parser_accept(p, "empty")) {
            parser_expect(p, "=", "after `empty`");
            d->empty = parse_tuple(p);
        } else if (parser_accept(p, "join")) {
            parser_expect(p, "(", "after `join`");
            d->left = parser_name(p, "the name of the state so far", &d->left_span);
            parser_expect(p, ",", "between the two states");
            d->right = parser_name(p, "the name of the new part", &d->right_span);
            parser_expect(p, ")", "after the two states");
            parser_expect(p, "=", "before the joined fields");
            d->value = parse_tuple(p);
        } else {
            const token *t = parser_peek(p);
            parser_error(p, t->kind == TOKEN_END ? "E0105" : "E0104", t,
                         "expected `empty = (...)` or `join(a, b) = (...)`, found %s", parser_quote(p, t));
        }
    }
    if (!p->failed && (!d->empty || !d->value))
        diag_error(p->diags, "E0104", d->span, "combine `%s` has no `%s`", d->name,
                   d->empty ? "join(a, b) = (...)" : "empty = (...)"),
            d->broken = true;
}

static void parse_schedule(parser *p, declaration *d) {
    if (parser_accept(p, "for")) {
        text_buffer target = {0};
        do {
            source_span span = {0};
            const char *word = parser_name(p, "a target's name", &span);
            text_add(&target, "%s%s", target.length ? "." : "", word ? word : "");
        } while (parser_accept(p, "."));
        d->target = arena_strdup(p->arena, text_get(&target));
        text_free(&target);
    }
    if (!parser_expect(p, "{", "to begin the schedule"))
        return;
    while (!p->failed) {
        while (parser_accept(p, ",") || parser_accept(p, ";"))
            ;
        if (parser_accept(p, "}"))
            return;
        schedule_entry_syntax e = {0};
        e.key = parser_name(p, "a schedule's key", &e.span);
        parser_expect(p, "=", "after the key");
        /* a value: words up to `,`, `;`, `}` or the next `key =`, parentheses counted */
        for (int depth = 0; !p->failed;) {
            const token *t = parser_peek(p);
            if (t->kind == TOKEN_END || token_is(t, "{") ||
                (depth == 0 && (token_is(t, ",") || token_is(t, ";") || token_is(t, "}") ||
                                (t->first_on_line && e.words.count && token_is(parser_peek_after(p, 1), "=")))))
                break;
            depth += token_is(t, "(") - token_is(t, ")");
            if (t->kind == TOKEN_NUMBER && t->integral) {
                e.is_integer = e.words.count == 0;
                e.integer = t->integer;
            } else {
                e.is_integer = false;
            }
            VEC_PUSH(p->arena, e.words, arena_strndup(p->arena, t->start, (size_t)t->length));
            parser_next(p);
        }
        if (e.words.count > 1)
            e.is_integer = false;
        const token *t = parser_peek(p);
        if (!e.words.count && !p->failed)
            parser_error(p, "E0104", t, "expected a value for `%s`, found %s", e.key, parser_quote(p, t));
        if (!p->failed && (t->kind == TOKEN_END || token_is(t, "{")))
            parser_expect(p, "}", "to close the schedule");
        if (!p->failed)
            VEC_PUSH(p->arena, d->entries, e);
    }
}

static void parse_declaration(parser *p, syntax_module *out) {
    const token *word = parser_next(p);
    declaration *d = NEW(p->arena, declaration);
    d->span = word->span;
    d->kind = token_is(word, "kernel")      ? DECLARE_KERNEL
              : token_is(word, "fn")        ? DECLARE_FN
              : token_is(word, "combine")   ? DECLARE_COMBINE
              : token_is(word, "program")   ? DECLARE_PROGRAM
              : token_is(word, "intrinsic") ? DECLARE_INTRINSIC
                                            : DECLARE_SCHEDULE;
    d->name = parser_name(p, arena_printf(p->arena, "a name after `%.*s`", word->length, word->start), &d->span);
    if (!d->name)
        return;
    switch (d->kind) {
    case DECLARE_KERNEL:
        parse_header(p, d);
        if (!p->failed)
            parse_block(p, &d->body, d);
        break;
    case DECLARE_PROGRAM:
        parse_header(p, d);
        parse_calls(p, d);
        break;
    case DECLARE_FN:
        parse_names(p, d, "a parameter's name");
        parser_expect(p, "=", "before the function's value");
        d->value = parse_expression(p);
        break;
    case DECLARE_COMBINE: parse_combine(p, d); break;
    case DECLARE_SCHEDULE: parse_schedule(p, d); break;
    case DECLARE_INTRINSIC: parse_intrinsic(p, d); break;
    }
    d->broken = d->broken || p->failed;
    VEC_PUSH(p->arena, out->items, d);
}

void lang_parse(arena *a, const char *file, const char *text, diag_list *diags, syntax_module *out) {
    parser p = {.arena = a, .diags = diags};
    lang_lex(a, file, text, diags, &p.tokens);
    while (parser_peek(&p)->kind != TOKEN_END) {
        p.depth = 0;
        p.unclosed = false;
        if (begins_declaration(&p)) {
            parse_declaration(&p, out);
        } else if (!parser_accept(&p, ";")) {
            const token *t = parser_peek(&p);
            diag *g = parser_error(&p, "E0106", t, "expected a declaration, found %s", parser_quote(&p, t));
            diag_caret(diags, g, "a file holds `kernel`, `fn`, `combine`, `intrinsic`, `program` and `schedule`");
        }
        if (p.failed) {
            /* the next declaration begins a line */
            do
                parser_next(&p);
            while (parser_peek(&p)->kind != TOKEN_END && !(begins_declaration(&p) && parser_peek(&p)->first_on_line));
            p.failed = false;
        }
    }
}
