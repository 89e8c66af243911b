/* Tokens of the tile language. */
#ifndef TILEC_LANG_LEX_H
#define TILEC_LANG_LEX_H
#include "base/arena.h"
#include "base/diag.h"

typedef enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_MARK, TOKEN_STRING, TOKEN_BAD } token_kind;

typedef struct token {
    token_kind kind;
    const char *start; /* in the source text */
    int length;
    source_span span;
    bool first_on_line;
    double number;   /* NUMBER */
    bool integral;   /* NUMBER: written without point and exponent */
    int64_t integer; /* NUMBER, integral */
} token;

typedef struct token_list {
    VEC(token) items; /* the last one is END */
} token_list;

/* Splits `text` into tokens. Bad characters and numbers are diagnosed (E0101 to E0103): they become BAD tokens, of which the parser says
 * no more, and the number 0. */
void lang_lex(arena *a, const char *file, const char *text, diag_list *diags, token_list *out);
bool token_is(const token *t, const char *text);
#endif
