/* C++ text as tokens, and edits of it that keep every line where it was. Private to lift/. */
#ifndef TILEC_LIFT_TOKENS_H
#define TILEC_LIFT_TOKENS_H
#include "base/arena.h"

typedef enum {
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_STRING,    /* also of characters, with its prefix */
    TOKEN_MARK,      /* a punctuator; `>>` is two of them, `::` and `->` are one */
    TOKEN_DIRECTIVE, /* a whole line that begins with #, continued ones too */
    TOKEN_END        /* the last */
} token_kind;

typedef struct token {
    token_kind kind;
    int length;
    const char *at;
    int match; /* of ( ) [ ] { }: the partner's index; -1 otherwise, and for one without a partner */
} token;

typedef struct tokens {
    const char *text;
    size_t length;
    token *at;
    int count; /* without TOKEN_END, which at[count] is */
} tokens;

void tokens_read(arena *a, const char *text, size_t length, tokens *out);
/* Of any index: TOKEN_END and -1 outside the text. */
token_kind tokens_kind(const tokens *t, int i);
int tokens_match(const tokens *t, int i);
bool tokens_is(const tokens *t, int i, const char *text);            /* false outside the text */
bool tokens_named(const tokens *t, int i, const char *const *names); /* one of a list that ends with NULL */
bool tokens_same(const tokens *t, int i, int j);                     /* the same text */
char *tokens_word(arena *a, const tokens *t, int i);
/* From..to (exclusive) as written, comments and line ends as single spaces. */
char *tokens_text(arena *a, const tokens *t, int from, int to);
/* Behind the `>` that closes the `<` at i; -1 when this is no list of template arguments. */
int tokens_angle(const tokens *t, int i);
/* The `<` that the `>` at i closes; -1. */
int tokens_angle_back(const tokens *t, int i);
/* Past a possible `template <...>` at i (several). */
int tokens_template(const tokens *t, int i);
/* Edits: parts of the text, by their tokens, replaced. One that covers others wins over them. */
typedef struct edit {
    size_t from, to; /* bytes */
    const char *text;
} edit;
typedef struct edits {
    arena *arena;
    const tokens *tokens;
    VEC(edit) items;
} edits;
/* Replaces tokens from..to (exclusive) by the text; the line ends among them stay, behind it. from == to inserts before `from`. */
void edits_replace(edits *e, int from, int to, const char *format, ...) PRINTF_LIKE(4, 5);
/* The edited text (arena). */
char *edits_apply(edits *e, size_t *length);
#endif
