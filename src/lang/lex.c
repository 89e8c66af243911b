/* The lexer. Line ends carry no meaning; tokens remember whether they begin a line, for recovery after errors. */
#include "lang/lex.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct lexer {
    arena *arena;
    const char *file, *at, *line_start;
    int line;
    bool first_on_line;
    diag_list *diags;
    token_list *out;
} lexer;

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static source_span span_at(const lexer *l, const char *start, const char *end) {
    return (source_span){l->file, l->line, (int)(start - l->line_start) + 1, (int)(end - start)};
}

static void skip_blanks(lexer *l) {
    for (;; l->at++) {
        if (*l->at == '\n') {
            l->line++;
            l->line_start = l->at + 1;
            l->first_on_line = true;
        } else if (l->at[0] == '/' && l->at[1] == '/') {
            while (l->at[1] && l->at[1] != '\n')
                l->at++;
        } else if (*l->at != ' ' && *l->at != '\t' && *l->at != '\r') {
            return;
        }
    }
}

static void add(lexer *l, token t, const char *start) {
    t.start = start;
    t.length = (int)(l->at - start);
    t.span = span_at(l, start, l->at);
    t.first_on_line = l->first_on_line;
    l->first_on_line = false;
    VEC_PUSH(l->arena, l->out->items, t);
}

/* digits [. digits] [e [sign] digits]; `0..T` is the number 0 and the mark `..`. */
static void number(lexer *l) {
    const char *start = l->at;
    token t = {.kind = TOKEN_NUMBER, .integral = true};
    while (is_digit(*l->at))
        l->at++;
    if (l->at[0] == '.' && is_digit(l->at[1])) {
        t.integral = false;
        l->at++;
        while (is_digit(*l->at))
            l->at++;
    }
    if ((l->at[0] == 'e' || l->at[0] == 'E') &&
        (is_digit(l->at[1]) || ((l->at[1] == '-' || l->at[1] == '+') && is_digit(l->at[2])))) {
        t.integral = false;
        l->at += 2;
        while (is_digit(*l->at))
            l->at++;
    }
    bool malformed = is_letter(*l->at) || (l->at[0] == '.' && l->at[1] != '.');
    if (malformed)
        while (is_letter(*l->at) || is_digit(*l->at) || (l->at[0] == '.' && l->at[1] != '.'))
            l->at++;
    source_span span = span_at(l, start, l->at);
    char *text = arena_strndup(l->arena, start, (size_t)(l->at - start));
    if (malformed) {
        diag *g = diag_error(l->diags, "E0102", span, "`%s` is not a number", text);
        diag_caret(l->diags, g, "write digits, `1.5` or `2.5e-3`; a name does not begin with a digit");
    } else {
        t.number = strtod(text, NULL);
        errno = 0;
        if (t.integral)
            t.integer = strtoll(text, NULL, 10);
        bool too_large = t.integral ? errno == ERANGE || t.integer > INT64_C(1) << 48 : t.number > 3.4028235677973362e38;
        if (too_large) {
            diag *g = diag_error(l->diags, "E0103", span, "the number %s is too large", text);
            diag_caret(l->diags, g,
                       t.integral ? "integers are at most 2^48" : "f32 ends at 3.4028235e38; infinity is written `inf`");
            t.number = 0;
            t.integer = 0;
        }
    }
    add(l, t, start);
}

/* "text" on one line; both quotes are the token's. */
static void string(lexer *l) {
    const char *start = l->at++;
    while (*l->at && *l->at != '"' && *l->at != '\n')
        l->at++;
    if (*l->at == '"') {
        l->at++;
        add(l, (token){.kind = TOKEN_STRING}, start);
        return;
    }
    diag *g = diag_error(l->diags, "E0101", span_at(l, start, l->at), "a name in quotes that does not end");
    diag_caret(l->diags, g, "close it on the same line");
    add(l, (token){.kind = TOKEN_BAD}, start);
}

static void mark(lexer *l) {
    static const char *const two[] = {"->", "<-", "<=", ">=", "==", "!=", "+=", ".."};
    const char *start = l->at;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (!strncmp(l->at, two[i], 2)) {
            l->at += 2;
            add(l, (token){.kind = TOKEN_MARK}, start);
            return;
        }
    if (strchr("+-*/%@<>=(){}[],:;.", *l->at)) {
        l->at++;
        add(l, (token){.kind = TOKEN_MARK}, start);
        return;
    }
    unsigned char c = (unsigned char)*l->at++;
    while ((unsigned char)*l->at >= 0x80 && c >= 0x80)
        l->at++;
    source_span span = span_at(l, start, l->at);
    if (c < 32 || c == 127)
        diag_error(l->diags, "E0101", span, "a control character (code %d) in the source", c);
    else
        diag_error(l->diags, "E0101", span, "`%.*s` means nothing here", (int)(l->at - start), start);
    add(l, (token){.kind = TOKEN_BAD}, start);
}

void lang_lex(arena *a, const char *file, const char *text, diag_list *diags, token_list *out) {
    lexer l = {a, file, text, text, 1, true, diags, out};
    for (skip_blanks(&l); *l.at; skip_blanks(&l)) {
        const char *start = l.at;
        if (is_digit(*start)) {
            number(&l);
        } else if (*start == '"') {
            string(&l);
        } else if (is_letter(*start)) {
            while (is_letter(*l.at) || is_digit(*l.at))
                l.at++;
            size_t n = (size_t)(l.at - start);
            /* `m max= x` updates; `max=` with a second `=` cannot begin anything else */
            if (n == 3 && (!strncmp(start, "max", 3) || !strncmp(start, "min", 3)) && l.at[0] == '=' && l.at[1] != '=') {
                l.at++;
                add(&l, (token){.kind = TOKEN_MARK}, start);
            } else {
                add(&l, (token){.kind = TOKEN_NAME}, start);
            }
        } else {
            mark(&l);
        }
    }
    add(&l, (token){.kind = TOKEN_END}, l.at);
}

bool token_is(const token *t, const char *text) {
    return (t->kind == TOKEN_NAME || t->kind == TOKEN_MARK) && (size_t)t->length == strlen(text) &&
           !strncmp(t->start, text, (size_t)t->length);
}
