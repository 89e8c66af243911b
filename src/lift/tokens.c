/* The lexer of C++ texts, and edits. */
#include "lift/tokens.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool name_begins(char c) {
    return isalpha((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool name_goes_on(char c) {
    return name_begins(c) || isdigit((unsigned char)c);
}

/* Behind a quoted text whose quote is at `at`. */
static const char *quoted(const char *at, const char *end) {
    char quote = *at++;
    while (at < end && *at != quote && *at != '\n')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at < end ? at + 1 : end;
}

/* R"tag( ... )tag" */
static const char *raw(arena *a, const char *at, const char *end) {
    const char *open = memchr(at, '(', (size_t)(end - at));
    if (!open || open - at > 20)
        return quoted(at, end);
    char *close = arena_printf(a, ")%.*s\"", (int)(open - at - 1), at + 1);
    const char *found = strstr(open, close);
    return found ? found + strlen(close) : end;
}

static const char *line_end(const char *at, const char *end) {
    while (at < end && *at != '\n')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at < end ? at : end;
}

static const char *skip_blank(const char *at, const char *end, bool *fresh_line) {
    while (at < end) {
        if (*at == '\n')
            *fresh_line = true;
        if (isspace((unsigned char)*at))
            at++;
        else if (*at == '\\' && at + 1 < end && at[1] == '\n')
            at += 2;
        else if (at + 1 < end && at[0] == '/' && at[1] == '/')
            at = line_end(at, end);
        else if (at + 1 < end && at[0] == '/' && at[1] == '*') {
            const char *close = strstr(at + 2, "*/");
            at = close && close < end ? close + 2 : end;
        } else
            break;
    }
    return at;
}

void tokens_read(arena *a, const char *text, size_t length, tokens *out) {
    VEC(token) list = {0};
    VEC(int) open = {0};
    const char *at = text, *end = text + length;
    bool fresh = true;
    for (;;) {
        at = skip_blank(at, end, &fresh);
        token t = {.at = at, .match = -1};
        if (at >= end || !*at)
            break;
        const char *stop = at + 1;
        if (*at == '#' && fresh) {
            t.kind = TOKEN_DIRECTIVE;
            stop = line_end(at, end);
        } else if (*at == 'R' && at + 1 < end && at[1] == '"') {
            t.kind = TOKEN_STRING;
            stop = raw(a, at + 1, end);
        } else if (name_begins(*at)) {
            t.kind = TOKEN_NAME;
            while (stop < end && name_goes_on(*stop))
                stop++;
            if (stop < end && *stop == '"' && stop - at <= 2) {
                t.kind = TOKEN_STRING;
                stop = quoted(stop, end);
            }
        } else if (isdigit((unsigned char)*at) || (*at == '.' && at + 1 < end && isdigit((unsigned char)at[1]))) {
            t.kind = TOKEN_NUMBER;
            bool hexadecimal = at[0] == '0' && at + 1 < end && (at[1] | 32) == 'x';
            while (stop < end &&
                   (name_goes_on(*stop) || *stop == '.' || (*stop == '\'' && stop + 1 < end && isalnum((unsigned char)stop[1])) ||
                    ((*stop == '+' || *stop == '-') && strchr(hexadecimal ? "pP" : "eE", stop[-1]))))
                stop++;
        } else if (*at == '"' || *at == '\'') {
            t.kind = TOKEN_STRING;
            stop = quoted(at, end);
        } else {
            t.kind = TOKEN_MARK;
            static const char *const longer[] = {"...", "<<=", "::", "->", "++", "--", "<<", "<=", ">=", "==", "!=",
                                                 "&&",  "||",  "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##"};
            for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
                size_t n = strlen(longer[i]);
                if ((size_t)(end - at) >= n && !memcmp(at, longer[i], n)) {
                    stop = at + n;
                    break;
                }
            }
        }
        fresh = false;
        t.length = (int)(stop - at);
        if (t.kind == TOKEN_MARK && t.length == 1) {
            if (strchr("([{", *at))
                VEC_PUSH(a, open, list.count);
            else if (strchr(")]}", *at)) {
                char wanted = *at == ')' ? '(' : *at == ']' ? '[' : '{';
                int depth = open.count;
                while (depth && *list.at[open.at[depth - 1]].at != wanted)
                    depth--;
                if (depth) {
                    t.match = open.at[depth - 1];
                    list.at[t.match].match = list.count;
                    open.count = depth - 1;
                }
            }
        }
        VEC_PUSH(a, list, t);
        at = stop;
    }
    token last = {.kind = TOKEN_END, .at = end, .match = -1};
    VEC_PUSH(a, list, last);
    *out = (tokens){text, length, list.at, list.count - 1};
}

token_kind tokens_kind(const tokens *t, int i) {
    return i >= 0 && i < t->count ? t->at[i].kind : TOKEN_END;
}

int tokens_match(const tokens *t, int i) {
    return i >= 0 && i < t->count ? t->at[i].match : -1;
}

bool tokens_is(const tokens *t, int i, const char *text) {
    return i >= 0 && i < t->count && (size_t)t->at[i].length == strlen(text) &&
           !memcmp(t->at[i].at, text, (size_t)t->at[i].length);
}

bool tokens_named(const tokens *t, int i, const char *const *names) {
    for (; *names; names++)
        if (tokens_is(t, i, *names))
            return true;
    return false;
}

bool tokens_same(const tokens *t, int i, int j) {
    return tokens_kind(t, i) != TOKEN_END && tokens_kind(t, j) != TOKEN_END && t->at[i].length == t->at[j].length &&
           !memcmp(t->at[i].at, t->at[j].at, (size_t)t->at[i].length);
}

char *tokens_word(arena *a, const tokens *t, int i) {
    if (tokens_kind(t, i) == TOKEN_END)
        return arena_strdup(a, "");
    return arena_strndup(a, t->at[i].at, (size_t)t->at[i].length);
}

char *tokens_text(arena *a, const tokens *t, int from, int to) {
    text_buffer b = {0};
    for (int i = from < 0 ? 0 : from; i < to && i < t->count; i++) {
        if (i > from && i > 0 && t->at[i].at > t->at[i - 1].at + t->at[i - 1].length)
            text_add(&b, " ");
        text_add_bytes(&b, t->at[i].at, (size_t)t->at[i].length);
    }
    char *text = arena_strdup(a, text_get(&b));
    text_free(&b);
    return text;
}

enum { ANGLE_LIMIT = 20000 }; /* tokens of a list of template arguments */

int tokens_angle(const tokens *t, int i) {
    int depth = 0;
    for (int first = i; i < t->count && i - first < ANGLE_LIMIT; i++) {
        if (t->at[i].kind != TOKEN_MARK)
            continue;
        char c = *t->at[i].at;
        if (c == '<' && t->at[i].length == 1)
            depth++;
        else if (c == '<' && tokens_is(t, i, "<<"))
            continue; /* a shift inside an argument */
        else if (c == '>' && t->at[i].length == 1) {
            if (--depth == 0)
                return i + 1;
        } else if (c == '(' || c == '[' || c == '{') {
            if (t->at[i].match < i)
                return -1;
            i = t->at[i].match;
        } else if (c == ';' || c == ')' || c == ']' || c == '}' || tokens_is(t, i, "&&") || tokens_is(t, i, "||"))
            return -1;
    }
    return -1;
}

int tokens_angle_back(const tokens *t, int i) {
    int depth = 0;
    for (int first = i; i >= 0 && first - i < ANGLE_LIMIT; i--) {
        if (t->at[i].kind != TOKEN_MARK)
            continue;
        char c = *t->at[i].at;
        if (c == '>' && t->at[i].length == 1)
            depth++;
        else if (c == '<' && t->at[i].length == 1) {
            if (--depth == 0)
                return i;
        } else if (c == ')' || c == ']' || c == '}') {
            if (t->at[i].match < 0)
                return -1;
            i = t->at[i].match;
        } else if (c == ';' || c == '(' || c == '{')
            return -1;
    }
    return -1;
}

int tokens_template(const tokens *t, int i) {
    while (tokens_is(t, i, "template") && tokens_is(t, i + 1, "<")) {
        int end = tokens_angle(t, i + 1);
        if (end < 0)
            return i;
        i = end;
    }
    return i;
}

void edits_replace(edits *e, int from, int to, const char *format, ...) {
    const tokens *t = e->tokens;
    if (from < 0 || from > t->count || to < from || to > t->count)
        return;
    va_list args;
    va_start(args, format);
    edit x = {.from = (size_t)(t->at[from].at - t->text), .text = arena_printf_va(e->arena, format, args)};
    va_end(args);
    if (from == to && from > 0 && tokens_kind(t, from) == TOKEN_DIRECTIVE) /* which must stay at its line's beginning */
        x.from = (size_t)(t->at[from - 1].at + t->at[from - 1].length - t->text);
    x.to = from == to ? x.from : (size_t)(t->at[to - 1].at + t->at[to - 1].length - t->text);
    VEC_PUSH(e->arena, e->items, x);
}

typedef struct ordered {
    edit e;
    int number;
} ordered;

static int earlier(const void *p, const void *q) {
    const ordered *x = p, *y = q;
    if (x->e.from != y->e.from)
        return x->e.from < y->e.from ? -1 : 1;
    bool inserts_x = x->e.from == x->e.to, inserts_y = y->e.from == y->e.to;
    if (inserts_x != inserts_y)
        return inserts_x ? -1 : 1;
    if (!inserts_x && x->e.to != y->e.to)
        return x->e.to > y->e.to ? -1 : 1; /* the longer one, which covers the other */
    return inserts_x ? x->number - y->number : y->number - x->number;
}

/* The line ends of what is replaced, and its line markers. */
static void keep_lines(text_buffer *b, const char *at, const char *end) {
    for (; at < end; at++) {
        if (*at != '\n')
            continue;
        text_add_bytes(b, "\n", 1);
        if (end - at > 3 && at[1] == '#' && at[2] == ' ' && isdigit((unsigned char)at[3]))
            text_add_bytes(b, at + 1, (size_t)(line_end(at + 1, end) - at - 1));
    }
}

char *edits_apply(edits *e, size_t *length) {
    ordered *o = NEW_ARRAY(e->arena, ordered, e->items.count + 1);
    for (int i = 0; i < e->items.count; i++)
        o[i] = (ordered){e->items.at[i], i};
    qsort(o, (size_t)e->items.count, sizeof *o, earlier);
    const char *text = e->tokens->text;
    text_buffer b = {0};
    size_t at = 0;
    for (int i = 0; i < e->items.count; i++) {
        const edit *x = &o[i].e;
        if (x->from < at)
            continue; /* inside one that was made */
        text_add_bytes(&b, text + at, x->from - at);
        text_add_bytes(&b, x->text, strlen(x->text));
        keep_lines(&b, text + x->from, text + x->to);
        at = x->to;
    }
    text_add_bytes(&b, text + at, e->tokens->length - at);
    char *result = arena_strndup(e->arena, text_get(&b), b.length);
    *length = b.length;
    text_free(&b);
    return result;
}
