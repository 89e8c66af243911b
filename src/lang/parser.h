/* The parser's state, shared by parse.c (declarations, statements) and parse_expression.c. */
#ifndef TILEC_LANG_PARSER_H
#define TILEC_LANG_PARSER_H
#include "lang/lex.h"
#include "lang/syntax.h"

enum { MAX_DEPTH = 200 }; /* of nested expressions and blocks */

typedef struct parser {
    arena *arena;
    diag_list *diags;
    token_list tokens;
    int at;
    int depth;
    bool unclosed; /* a missing end of this declaration was reported */
    bool failed;   /* an error was reported in this statement: say no more until recovery */
} parser;

const token *parser_peek(const parser *p);
const token *parser_peek_after(const parser *p, int count);
bool parser_at(const parser *p, const char *text);
const token *parser_next(parser *p);
bool parser_accept(parser *p, const char *text);
bool parser_expect(parser *p, const char *text, const char *where);
const char *parser_name(parser *p, const char *what, source_span *span); /* NULL after an error */
diag *parser_error(parser *p, const char *code, const token *at, const char *format, ...) PRINTF_LIKE(4, 5);
const char *parser_quote(parser *p, const token *t); /* "`x`" or "the end of the file" */
bool parser_enter(parser *p);                        /* counts nesting; false, with E0110, when too deep */
bool parser_is_reserved(const token *t);

expr *parse_expression(parser *p);
expr *parse_sum(parser *p);   /* an expression of + - * / % and tighter */
expr *parse_owned(parser *p); /* one entry of a `for tile` list */
expr *parse_tuple(parser *p); /* "(" expression, ... ")" always as a tuple */
void parse_arguments(parser *p, expr *call, const char *close);
void parse_type(parser *p, type_syntax *t);
void parse_intrinsic(parser *p, declaration *d); /* behind its name */
#endif
