/* Tokens and names of Tile IR text. */
#include "tile/reader.h"
#include <stdlib.h>
#include <string.h>

/* --- tokens --- */
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

void tile_reader_next(tile_reader *p) {
    p->previous_line = p->span.line;
    for (;;) {
        if (*p->at == '\n') {
            p->line++;
            p->line_start = ++p->at;
        } else if (*p->at == ' ' || *p->at == '\t' || *p->at == '\r') {
            p->at++;
        } else if (p->at[0] == '/' && p->at[1] == '/') {
            while (*p->at && *p->at != '\n')
                p->at++;
        } else {
            break;
        }
    }
    const char *s = p->at;
    if (!*s) {
        p->kind = TOKEN_END;
    } else if (is_letter(*s)) {
        p->kind = TOKEN_NAME;
        while (is_letter(*s) || is_digit(*s))
            s++;
        if (*s == '.' && is_digit(s[1])) /* `c.1` tells a name from its namesakes */
            for (s++; is_digit(*s);)
                s++;
        if (s - p->at == 3 && (!strncmp(p->at, "max", 3) || !strncmp(p->at, "min", 3)) && s[0] == '=' && s[1] != '=') {
            p->kind = TOKEN_SYMBOL;
            s++;
        }
    } else if (is_digit(*s)) {
        p->kind = TOKEN_NUMBER;
        while (is_digit(*s))
            s++;
        if (*s == '.' && is_digit(s[1]))
            for (s++; is_digit(*s);)
                s++;
        if ((*s == 'e' || *s == 'E') && (is_digit(s[1]) || ((s[1] == '-' || s[1] == '+') && is_digit(s[2]))))
            for (s += 2; is_digit(*s);)
                s++;
    } else if (*s == '%' && is_digit(s[1])) {
        p->kind = TOKEN_VALUE;
        for (s++; is_digit(*s);)
            s++;
    } else if (*s == '"') { /* both quotes are the token's */
        p->kind = TOKEN_STRING;
        for (s++; *s && *s != '"' && *s != '\n';)
            s++;
        if (*s == '"')
            s++;
        else
            p->kind = TOKEN_BAD;
    } else {
        static const char *const two[] = {"->", "<-", "+=", "..", "<=", "==", "!="};
        p->kind = strchr("(){}[],:=+-*/<.", *s) ? TOKEN_SYMBOL : TOKEN_BAD;
        int length = 1;
        for (size_t i = 0; i < sizeof two / sizeof *two; i++)
            if (!strncmp(s, two[i], 2)) {
                p->kind = TOKEN_SYMBOL;
                length = 2;
            }
        s += length;
    }
    p->token = p->at;
    p->length = (int)(s - p->at);
    p->span = (source_span){p->file, p->line, (int)(p->at - p->line_start) + 1, p->length ? p->length : 1};
    p->at = s;
}

void tile_reader_fail(tile_reader *p, source_span span, const char *code, const char *message) {
    if (!p->failed)
        diag_error(p->diags, code, span, "%s", message);
    p->failed = true;
}

bool tile_reader_is(const tile_reader *p, const char *text) {
    return (p->kind == TOKEN_NAME || p->kind == TOKEN_SYMBOL) && (int)strlen(text) == p->length &&
           !memcmp(p->token, text, strlen(text));
}
bool tile_reader_accept(tile_reader *p, const char *text) {
    if (p->failed || !tile_reader_is(p, text))
        return false;
    tile_reader_next(p);
    return true;
}
void tile_reader_expect(tile_reader *p, const char *text) {
    if (!tile_reader_accept(p, text))
        FAIL(p, "expected `%s`, found `%.*s`", text, p->length, p->token);
}
const char *tile_reader_name(tile_reader *p) {
    if (p->kind != TOKEN_NAME) {
        FAIL(p, "expected a name, found `%.*s`", p->length, p->token);
        return "";
    }
    const char *name = arena_strndup(p->arena, p->token, (size_t)p->length);
    tile_reader_next(p);
    return name;
}
/* `c.2` -> `c`, 2 */
const char *tile_reader_split(tile_reader *p, const char *name, int *namesake) {
    const char *dot = strchr(name, '.');
    *namesake = dot ? atoi(dot + 1) : 0;
    return dot ? arena_strndup(p->arena, name, (size_t)(dot - name)) : name;
}
int64_t tile_reader_integer(tile_reader *p) {
    bool negative = tile_reader_accept(p, "-");
    int64_t value = 0;
    if (p->kind != TOKEN_NUMBER) {
        FAIL(p, "expected an integer, found `%.*s`", p->length, p->token);
        return 0;
    }
    for (int i = 0; i < p->length; i++) {
        if (!is_digit(p->token[i]) || value > (INT64_MAX - 9) / 10) {
            FAIL(p, "`%.*s` is not an integer in range", p->length, p->token);
            return 0;
        }
        value = value * 10 + (p->token[i] - '0');
    }
    tile_reader_next(p);
    return negative ? -value : value;
}
element_type tile_reader_type(tile_reader *p) {
    source_span span = p->span;
    const char *name = tile_reader_name(p);
    element_type t = element_by_name(name);
    if (t == ELEMENT_COUNT)
        tile_reader_fail(p, span, "E0151", arena_printf(p->arena, "`%s` is not an element type", name));
    return t == ELEMENT_COUNT ? ELEMENT_F32 : t;
}

/* --- names --- */
index_var *tile_reader_find(tile_reader *p, const char *full) {
    int skip;
    const char *name = tile_reader_split(p, full, &skip);
    tile_kernel *k = p->k;
    for (int i = 0; i < k->symbols.count; i++)
        if (!strcmp(k->symbols.at[i]->name, name) && !skip--)
            return k->symbols.at[i];
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i]->var && !strcmp(k->scalars.at[i]->name, name) && !skip--)
            return k->scalars.at[i]->var;
    for (int i = 0; i < k->ranges.count; i++)
        if (!strcmp(k->ranges.at[i]->name, name) && !skip--)
            return k->ranges.at[i]->var;
    return NULL;
}
tile_range *tile_reader_range(tile_reader *p) {
    source_span span = p->span;
    const char *name = tile_reader_name(p);
    index_var *v = p->failed ? NULL : tile_reader_find(p, name);
    if (!v || v->kind != INDEX_RANGE) {
        tile_reader_fail(p, span, "E0152", arena_printf(p->arena, "no range is called `%s`", name));
        return NULL;
    }
    return v->owner;
}
tile_array *tile_reader_array(tile_reader *p) {
    source_span span = p->span;
    const char *name = tile_reader_name(p);
    for (int i = 0; i < p->k->arrays.count; i++)
        if (!strcmp(p->k->arrays.at[i]->name, name))
            return p->k->arrays.at[i];
    tile_reader_fail(p, span, "E0152", arena_printf(p->arena, "no array is called `%s`", name));
    return NULL;
}
tile_variable *tile_reader_variable(tile_reader *p) {
    source_span span = p->span;
    int skip;
    const char *full = tile_reader_name(p);
    const char *name = tile_reader_split(p, full, &skip);
    for (int i = 0; i < p->k->variables.count; i++)
        if (!strcmp(p->k->variables.at[i]->name, name) && !skip--)
            return p->k->variables.at[i];
    tile_reader_fail(p, span, "E0152", arena_printf(p->arena, "no variable is called `%s`", full));
    return NULL;
}
int tile_reader_field(tile_reader *p, const tile_variable *x) {
    if (p->kind == TOKEN_NUMBER) {
        int64_t f = tile_reader_integer(p);
        if (x && f < x->field_count)
            return (int)f;
    } else {
        const char *name = tile_reader_name(p);
        for (int f = 0; x && x->field_names && f < x->field_count; f++)
            if (!strcmp(x->field_names[f], name))
                return f;
    }
    FAIL(p, "the variable has no such field");
    return 0;
}
tile_value *tile_reader_value(tile_reader *p) {
    if (p->kind != TOKEN_VALUE) {
        FAIL(p, "expected a value such as %%3, found `%.*s`", p->length, p->token);
        return NULL;
    }
    long id = p->length > 8 ? 1L << 30 : strtol(p->token + 1, NULL, 10);
    if (id >= p->values.count || !p->values.at[id]) {
        tile_reader_fail(p, p->span, "E0152", arena_printf(p->arena, "`%.*s` is not defined before this", p->length, p->token));
        return NULL;
    }
    tile_reader_next(p);
    return p->values.at[id];
}
