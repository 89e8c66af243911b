/* Reading Kernel IR text: tokens, integer expressions and conditions. */
#include "kernel/reader.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void reader_fail(reader *r, const char *code, source_span span, const char *message, ...) {
    if (r->failed)
        return;
    va_list args;
    va_start(args, message);
    text_buffer b = {0};
    text_add_va(&b, message, args);
    va_end(args);
    diag_error(r->diags, code, span, "%s", text_get(&b));
    text_free(&b);
    r->failed = true;
    r->now.kind = TOKEN_END;
    r->now.text = "";
}

static int advance(reader *r) {
    int c = (unsigned char)*r->at++;
    if (c == '\n') {
        r->line++;
        r->column = 1;
    } else {
        r->column++;
    }
    return c;
}

static void skip_space(reader *r) {
    for (;;) {
        while (isspace((unsigned char)*r->at))
            advance(r);
        if (r->at[0] != '/' || r->at[1] != '/')
            return;
        while (*r->at && *r->at != '\n')
            advance(r);
    }
}

static void read_string(reader *r, source_span span) {
    text_buffer b = {0};
    advance(r);
    while (*r->at && *r->at != '"' && *r->at != '\n') {
        int c = advance(r);
        if (c == '\\' && *r->at) {
            c = advance(r);
            c = c == 'n' ? '\n' : c;
        }
        char byte = (char)c;
        text_add_bytes(&b, &byte, 1);
    }
    if (*r->at == '"') {
        advance(r);
        r->now = (token){TOKEN_STRING, arena_strdup(r->arena, text_get(&b)), span};
    } else {
        reader_fail(r, "E0160", span, "this string does not end on its line");
    }
    text_free(&b);
}

static size_t number_length(const char *p) {
    size_t n = 0;
    while (isdigit((unsigned char)p[n]))
        n++;
    if (p[n] == '.' && isdigit((unsigned char)p[n + 1]))
        for (n++; isdigit((unsigned char)p[n]);)
            n++;
    if (p[n] == 'e' || p[n] == 'E') {
        size_t m = n + 1;
        m += p[m] == '+' || p[m] == '-';
        if (isdigit((unsigned char)p[m])) {
            while (isdigit((unsigned char)p[m]))
                m++;
            n = m;
        }
    }
    return n;
}

void reader_next(reader *r) {
    if (r->failed)
        return;
    static const char *const long_signs[] = {"..", "<-", "<=", "==", "!="};
    r->before = r->now.span;
    skip_space(r);
    const char *start = r->at;
    source_span span = {r->file, r->line, r->column, 1};
    size_t length = 0;
    token_kind kind = TOKEN_SIGN;
    if (!*start) {
        r->now = (token){TOKEN_END, "", span};
        return;
    }
    if (*start == '"') {
        read_string(r, span);
        return;
    }
    if (isalpha((unsigned char)*start) || *start == '_') {
        kind = TOKEN_NAME;
        while (isalnum((unsigned char)start[length]) || start[length] == '_')
            length++;
    } else if (isdigit((unsigned char)*start)) {
        kind = TOKEN_NUMBER;
        length = number_length(start);
    } else {
        for (size_t i = 0; i < sizeof long_signs / sizeof *long_signs; i++)
            if (!strncmp(start, long_signs[i], 2))
                length = 2;
        if (!length && strchr("{}()[],:<+-*/=", *start))
            length = 1;
        if (!length) {
            reader_fail(r, "E0160", span,
                        isprint((unsigned char)*start) ? "`%c` is not part of this text form" : "byte 0x%02x in a text",
                        isprint((unsigned char)*start) ? *start : (unsigned char)*start);
            return;
        }
    }
    span.length = (int)length;
    r->now = (token){kind, arena_strndup(r->arena, start, length), span};
    for (size_t i = 0; i < length; i++)
        advance(r);
}

void reader_init(reader *r, arena *a, const char *file, const char *text, diag_list *diags) {
    memset(r, 0, sizeof *r);
    r->arena = a;
    r->file = arena_strdup(a, file);
    r->at = text;
    r->line = r->column = 1;
    r->diags = diags;
    kernel_scope_init(&r->names, a);
    reader_next(r);
}

bool reader_at(const reader *r, const char *text) {
    return (r->now.kind == TOKEN_NAME || r->now.kind == TOKEN_SIGN) && !strcmp(r->now.text, text);
}

bool reader_accept(reader *r, const char *text) {
    if (!reader_at(r, text))
        return false;
    reader_next(r);
    return true;
}

static const char *found(const reader *r) {
    return r->now.kind == TOKEN_END ? "the end of the text" : r->now.text;
}

void reader_expect(reader *r, const char *text) {
    if (!reader_accept(r, text))
        reader_fail(r, "E0161", r->now.span, "expected `%s` here, found `%s`", text, found(r));
}

const char *reader_name(reader *r, const char *what) {
    if (r->now.kind != TOKEN_NAME || !kernel_is_identifier(r->now.text)) {
        reader_fail(r, "E0161", r->now.span, "expected %s here, found `%s`", what, found(r));
        return "?";
    }
    const char *name = r->now.text;
    reader_next(r);
    return name;
}

int64_t reader_integer(reader *r, int64_t lo, int64_t hi, const char *what) {
    bool negative = reader_accept(r, "-");
    char *end = NULL;
    errno = 0;
    long long value = r->now.kind == TOKEN_NUMBER ? strtoll(r->now.text, &end, 10) : 0;
    if (!end || *end) {
        reader_fail(r, "E0161", r->now.span, "expected %s here, found `%s`", what, found(r));
        return lo;
    }
    value = negative ? -value : value;
    if (errno || value < lo || value > hi) {
        reader_fail(r, "E0162", r->now.span, "%s must be in %lld .. %lld", what, (long long)lo, (long long)hi);
        return lo;
    }
    reader_next(r);
    return value;
}

bool reader_enter(reader *r) {
    if (r->failed)
        return false;
    if (r->depth >= READER_DEPTH) {
        reader_fail(r, "E0163", r->now.span, "nested deeper than %d", READER_DEPTH);
        return false;
    }
    r->depth++;
    return true;
}

void reader_leave(reader *r) {
    r->depth--;
}

/* "f32x16": the lanes follow the last x; no element's own name ends in x and digits. */
bool reader_element(reader *r, element_type *type, int *lanes) {
    const char *name = r->now.kind == TOKEN_NAME ? r->now.text : "";
    const char *x = strrchr(name, 'x');
    *lanes = 1;
    *type = element_of_memory_by_name(name);
    if (*type == ELEMENT_COUNT && x && isdigit((unsigned char)x[1])) {
        char *end;
        long n = strtol(x + 1, &end, 10);
        if (!*end && n >= 2 && n <= 4096) {
            *type = element_of_memory_by_name(arena_strndup(r->arena, name, (size_t)(x - name)));
            *lanes = (int)n;
        }
    }
    if (*type == ELEMENT_COUNT) {
        reader_fail(r, "E0161", r->now.span, "expected an element type such as f32 or f32x16, found `%s`", found(r));
        *type = ELEMENT_F32;
        return false;
    }
    reader_next(r);
    return true;
}

const kernel_scope_entry *reader_lookup(reader *r, name_kind kind, const char *what) {
    source_span span = r->now.span;
    const char *name = reader_name(r, what);
    const kernel_scope_entry *e = r->failed ? NULL : kernel_scope_find(&r->names, name);
    if (!e)
        reader_fail(r, "E0164", span, "nothing in scope is called `%s`", name);
    else if (e->kind != kind) {
        reader_fail(r, "E0164", span, "`%s` is not %s", name, what);
        return NULL;
    }
    return e;
}

bool reader_declare(reader *r, source_span span, const char *name, name_kind kind, void *object, index_var *var) {
    if (r->failed)
        return false;
    if (kernel_scope_find(&r->names, name)) {
        reader_fail(r, "E0167", span, "`%s` is in scope already", name);
        return false;
    }
    kernel_scope_add(&r->names, name, kind, object, var);
    return true;
}

void reader_declare_var(reader *r, source_span span, index_var *v) {
    v->span = span;
    reader_declare(r, span, v->name, NAME_VAR, v, v);
}

int reader_word(reader *r, const char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (reader_accept(r, words[i]))
            return i;
    return -1;
}

level_kind reader_level(reader *r) {
    int i = reader_word(r, level_names, LEVEL_LANE + 1);
    if (i < 0)
        reader_fail(r, "E0161", r->now.span, "expected a level (task .. lane) here, found `%s`", r->now.text);
    return i < 0 ? LEVEL_TASK : (level_kind)i;
}

void reader_range(reader *r, index_var *v) {
    if (!reader_accept(r, "in"))
        return;
    v->lo = read_index(r);
    reader_expect(r, "..");
    v->hi = read_index(r);
}

/* ---- integer expressions and conditions: one reader, since both may begin with a parenthesis ---- */
typedef struct mixed {
    index_expr *x;
    cond *c;
} mixed;

enum { CHAIN_LENGTH = 500 };

static mixed read_or(reader *r);

static mixed of_index(index_expr *x) {
    return (mixed){.x = x};
}

static mixed of_cond(cond *c) {
    return (mixed){.c = c};
}

static index_expr *as_index(reader *r, mixed m) {
    if (m.x)
        return m.x;
    reader_fail(r, "E0165", r->before, "a condition stands where an integer is needed");
    return ix_const(r->arena, 0);
}

static cond *as_cond(reader *r, mixed m) {
    if (m.c)
        return m.c;
    reader_fail(r, "E0165", r->before, "an integer stands where a condition is needed");
    return cond_compare(r->arena, COND_EQ, ix_const(r->arena, 0), ix_const(r->arena, 0));
}

static index_expr *read_named(reader *r) {
    source_span span = r->now.span;
    const char *name = reader_name(r, "an integer expression");
    const kernel_scope_entry *e = r->failed ? NULL : kernel_scope_find(&r->names, name);
    if (e && e->var)
        return ix_var(r->arena, e->var);
    if (e)
        reader_fail(r, "E0164", span, "`%s` is not an integer", name);
    else
        reader_fail(r, "E0164", span, "nothing in scope is called `%s`", name);
    return ix_const(r->arena, 0);
}

static mixed read_primary(reader *r) {
    arena *a = r->arena;
    if (r->now.kind == TOKEN_NUMBER)
        return of_index(ix_const(a, reader_integer(r, 0, INT64_MAX, "an integer")));
    if (!reader_enter(r))
        return of_index(ix_const(a, 0));
    mixed result;
    if (reader_accept(r, "-")) {
        if (r->now.kind == TOKEN_NUMBER)
            result = of_index(ix_const(a, -reader_integer(r, 0, INT64_MAX, "an integer")));
        else
            result = of_index(ix_sub(a, ix_const(a, 0), as_index(r, read_primary(r))));
    } else if (reader_accept(r, "(")) {
        result = read_or(r);
        if (reader_accept(r, "mod")) {
            index_expr *x = as_index(r, result);
            result = of_index(ix_mod(a, x, as_index(r, read_primary(r))));
        }
        reader_expect(r, ")");
    } else if (reader_accept(r, "true")) {
        result = of_cond(cond_compare(a, COND_EQ, ix_const(a, 0), ix_const(a, 0)));
    } else if (reader_accept(r, "false")) {
        result = of_cond(cond_compare(a, COND_NE, ix_const(a, 0), ix_const(a, 0)));
    } else {
        bool is_min = reader_at(r, "min"), is_max = reader_at(r, "max"), is_floor = reader_at(r, "floor");
        if ((is_min || is_max || is_floor) && r->at[strspn(r->at, " ")] == '(') {
            reader_next(r);
            reader_expect(r, "(");
            index_expr *x = read_index(r);
            reader_expect(r, is_floor ? "/" : ",");
            index_expr *y = read_index(r);
            reader_expect(r, ")");
            result = of_index(ix_op2(a, is_min ? IX_MIN : is_max ? IX_MAX : IX_FLOORDIV, x, y));
        } else {
            result = of_index(read_named(r));
        }
    }
    reader_leave(r);
    return result;
}

/* One more operator of a chain; passes follow chains as deep as they are long, so that a text may not make them endless. */
static bool chain(reader *r, int *length) {
    if (++*length <= CHAIN_LENGTH)
        return true;
    reader_fail(r, "E0163", r->now.span, "more than %d operators in a row", CHAIN_LENGTH);
    return false;
}

static mixed read_product(reader *r) {
    mixed m = read_primary(r);
    int length = 0;
    while (reader_accept(r, "*") && chain(r, &length)) {
        index_expr *x = as_index(r, m);
        m = of_index(ix_mul(r->arena, x, as_index(r, read_primary(r))));
    }
    return m;
}

static mixed read_sum(reader *r) {
    mixed m = read_product(r);
    int length = 0;
    while ((reader_at(r, "+") || reader_at(r, "-")) && chain(r, &length)) {
        bool plus = reader_at(r, "+");
        reader_next(r);
        index_expr *x = as_index(r, m), *y = as_index(r, read_product(r));
        m = of_index(plus ? ix_add(r->arena, x, y) : ix_sub(r->arena, x, y));
    }
    return m;
}

static mixed read_comparison(reader *r) {
    static const struct {
        const char *sign;
        cond_op op;
    } signs[] = {{"<=", COND_LE}, {"<", COND_LT}, {"==", COND_EQ}, {"!=", COND_NE}};
    if (reader_at(r, "not")) {
        if (!reader_enter(r))
            return of_index(ix_const(r->arena, 0));
        reader_next(r);
        mixed m = of_cond(cond_not(r->arena, as_cond(r, read_comparison(r))));
        reader_leave(r);
        return m;
    }
    source_span span = r->now.span;
    mixed m = read_sum(r);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (reader_accept(r, signs[i].sign)) {
            index_expr *x = as_index(r, m);
            cond *c = cond_compare(r->arena, signs[i].op, x, as_index(r, read_sum(r)));
            c->span = span;
            return of_cond(c);
        }
    return m;
}

static mixed read_and(reader *r) {
    mixed m = read_comparison(r);
    int length = 0;
    while (reader_accept(r, "and") && chain(r, &length)) {
        cond *c = as_cond(r, m);
        m = of_cond(cond_and(r->arena, c, as_cond(r, read_comparison(r))));
    }
    return m;
}

static mixed read_or(reader *r) {
    mixed m = read_and(r);
    int length = 0;
    while (reader_accept(r, "or") && chain(r, &length)) {
        cond *c = as_cond(r, m);
        m = of_cond(cond_or(r->arena, c, as_cond(r, read_and(r))));
    }
    return m;
}

index_expr *read_index(reader *r) {
    return as_index(r, read_sum(r));
}

cond *read_condition(reader *r) {
    return as_cond(r, read_or(r));
}

index_expr **read_index_list(reader *r, int count, const char *close) {
    index_expr **list = NEW_ARRAY(r->arena, index_expr *, count ? count : 1);
    for (int i = 0; i < count; i++) {
        if (i)
            reader_expect(r, ",");
        list[i] = read_index(r);
    }
    reader_expect(r, close);
    return list;
}
