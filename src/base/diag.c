/* Diagnostics: the list, and how one is printed. */
#include "base/diag.h"
#include <string.h>

enum { QUOTE_WIDTH = 160 }; /* a longer source line is quoted only around its caret */

void diag_init(diag_list *d, arena *a) {
    *d = (diag_list){.arena = a};
}

void diag_add_source(diag_list *d, const char *file, const char *text) {
    source_text s = {file, text};
    VEC_PUSH(d->arena, d->sources, s);
}

static diag *add(diag_list *d, severity s, const char *code, source_span span, const char *format, va_list args) {
    diag *g = NEW(d->arena, diag);
    g->code = code;
    g->severity = s;
    g->span = span;
    text_buffer b = {0};
    text_add_va(&b, format, args);
    g->message = arena_strdup(d->arena, text_get(&b));
    text_free(&b);
    VEC_PUSH(d->arena, d->items, g);
    d->errors += s == SEVERITY_ERROR;
    return g;
}

diag *diag_error(diag_list *d, const char *code, source_span span, const char *message, ...) {
    va_list args;
    va_start(args, message);
    diag *g = add(d, SEVERITY_ERROR, code, span, message, args);
    va_end(args);
    return g;
}

diag *diag_warning(diag_list *d, const char *code, source_span span, const char *message, ...) {
    va_list args;
    va_start(args, message);
    diag *g = add(d, SEVERITY_WARNING, code, span, message, args);
    va_end(args);
    return g;
}

static char *formatted(arena *a, const char *format, va_list args) {
    text_buffer b = {0};
    text_add_va(&b, format, args);
    char *copy = arena_strdup(a, text_get(&b));
    text_free(&b);
    return copy;
}

void diag_caret(diag_list *d, diag *g, const char *format, ...) {
    if (!g)
        return;
    va_list args;
    va_start(args, format);
    g->caret = formatted(d->arena, format, args);
    va_end(args);
}

void diag_note(diag_list *d, diag *g, const char *format, ...) {
    if (!g)
        return;
    va_list args;
    va_start(args, format);
    const char *note = formatted(d->arena, format, args);
    va_end(args);
    VEC_PUSH(d->arena, g->notes, note);
}

/* Control characters come from input; they must not reach a terminal. A tab in a quoted line stays one. */
static void put_clean(FILE *out, const char *text, size_t length, bool keep_tabs) {
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        fputc((c < 32 && !(keep_tabs && c == '\t')) || c == 127 ? '?' : c, out);
    }
}

static void put_text(FILE *out, const char *text) {
    put_clean(out, text, strlen(text), false);
}

/* A note of several lines keeps the "| " before each. */
static void put_note(FILE *out, const char *note) {
    while (note) {
        const char *end = strchr(note, '\n');
        fputs("     | ", out);
        put_clean(out, note, end ? (size_t)(end - note) : strlen(note), false);
        fputc('\n', out);
        note = end && end[1] ? end + 1 : NULL;
    }
}

static const char *find_line(const diag_list *d, source_span span, size_t *length) {
    if (!span.file || span.line <= 0)
        return NULL;
    for (int i = 0; i < d->sources.count; i++) {
        const char *text = d->sources.at[i].text;
        if (!text || strcmp(d->sources.at[i].file, span.file) != 0)
            continue;
        for (int line = 1; line < span.line; line++) {
            text = strchr(text, '\n');
            if (!text)
                return NULL;
            text++;
        }
        *length = strcspn(text, "\n");
        if (*length && text[*length - 1] == '\r')
            --*length;
        return text;
    }
    return NULL;
}

static bool is_continuation(char c) {
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* Quotes the line and puts the caret under span.column. A column counts bytes; the padding counts characters. */
static bool put_quote(const diag_list *d, const diag *g, FILE *out, const char *bold, const char *plain) {
    size_t length = 0;
    const char *line = find_line(d, g->span, &length);
    if (!line)
        return false;
    size_t column = g->span.column > 0 ? (size_t)g->span.column - 1 : 0;
    if (column > length)
        column = length;
    size_t from = 0, to = length;
    if (length > QUOTE_WIDTH) {
        from = column > QUOTE_WIDTH / 2 ? column - QUOTE_WIDTH / 2 : 0;
        to = from + QUOTE_WIDTH < length ? from + QUOTE_WIDTH : length;
        while (from < column && is_continuation(line[from]))
            from++;
        while (to < length && is_continuation(line[to]))
            to++;
    }
    const char *before = from > 0 ? "..." : "", *after = to < length ? "..." : "";
    fprintf(out, "%4d | %s", g->span.line, before);
    put_clean(out, line + from, to - from, true);
    fprintf(out, "%s\n     | %*s", after, (int)strlen(before), "");
    for (size_t i = from; i < column; i++)
        if (!is_continuation(line[i]))
            fputc(line[i] == '\t' ? '\t' : ' ', out);
    fprintf(out, "%s^%s", bold, plain);
    if (g->caret) {
        fputc(' ', out);
        put_text(out, g->caret);
    }
    fputc('\n', out);
    return true;
}

void diag_print(const diag_list *d, const diag *g, FILE *out, bool colour) {
    static const char *const names[] = {"error", "warning", "note"};
    static const char *const colours[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m"};
    const char *bold = colour ? colours[g->severity] : "", *plain = colour ? "\033[0m" : "";
    if (g->span.file) {
        put_text(out, g->span.file);
        if (g->span.line > 0)
            fprintf(out, ":%d:%d", g->span.line, g->span.column);
        fputs(": ", out);
    }
    fprintf(out, "%s%s", bold, names[g->severity]);
    if (g->code)
        fprintf(out, " %s", g->code);
    fprintf(out, "%s: ", plain);
    put_text(out, g->message);
    fputc('\n', out);
    if (!put_quote(d, g, out, bold, plain) && g->caret)
        put_note(out, g->caret);
    for (int i = 0; i < g->notes.count; i++)
        put_note(out, g->notes.at[i]);
}

void diag_print_all(const diag_list *d, FILE *out, bool colour) {
    for (int i = 0; i < d->items.count; i++) {
        if (i)
            fputc('\n', out);
        diag_print(d, d->items.at[i], out, colour);
    }
}
