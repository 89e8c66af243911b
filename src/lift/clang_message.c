/* What clang says, as diagnostics at the source's lines. */
#define _GNU_SOURCE
#include "base/file.h"
#include "lift/clang.h"
#include <stdlib.h>
#include <string.h>

/* "FILE:12:5: error: text"; the file may hold colons. */
static bool read_message(arena *a, const char *line, size_t length, clang_message *m) {
    static const struct {
        const char *word;
        int kind;
    } kinds[] = {
        {": error: ", CLANG_ERROR}, {": fatal error: ", CLANG_ERROR}, {": warning: ", CLANG_WARNING}, {": note: ", CLANG_NOTE}};
    const char *at = NULL;
    size_t word = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *here = memmem(line, length, kinds[i].word, strlen(kinds[i].word));
        if (here && (!at || here < at)) {
            at = here;
            word = strlen(kinds[i].word);
            m->kind = kinds[i].kind;
        }
    }
    if (!at) { /* "error: text" without a place */
        if (length > 7 && !memcmp(line, "error: ", 7)) {
            *m = (clang_message){.kind = CLANG_ERROR, .text = arena_strndup(a, line + 7, length - 7)};
            return true;
        }
        return false;
    }
    m->text = arena_strndup(a, at + word, length - (size_t)(at - line) - word);
    m->span = (source_span){0};
    int numbers[2] = {0, 0};
    const char *end = at;
    for (int i = 0; i < 2; i++) {
        const char *digits = end;
        while (digits > line && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        if (digits == end || digits == line || digits[-1] != ':')
            break;
        numbers[1] = numbers[0];
        numbers[0] = atoi(digits);
        end = digits - 1;
    }
    m->span.file = arena_strndup(a, line, (size_t)(end - line));
    m->span.line = numbers[0];
    m->span.column = numbers[1];
    m->span.length = 1;
    return true;
}

void clang_read_messages(arena *a, const char *output, clang_messages *out) {
    while (*output) {
        size_t length = strcspn(output, "\n");
        clang_message m = {0};
        if (read_message(a, output, length, &m))
            VEC_PUSH(a, *out, m);
        output += length + (output[length] == '\n');
    }
}

/* So that the line can be quoted, also of a header. */
static void know_source(arena *a, const char *file, diag_list *diags) {
    for (int i = 0; i < diags->sources.count; i++)
        if (!strcmp(diags->sources.at[i].file, file))
            return;
    diag_list ignored;
    diag_init(&ignored, a);
    const char *text = file_exists(file) ? file_read(a, file, FILE_SOURCE_LIMIT, NULL, &ignored) : NULL;
    if (text)
        diag_add_source(diags, file, text);
}

static const char *line_of(const diag_list *diags, source_span span, size_t *length) {
    for (int i = 0; i < diags->sources.count; i++) {
        if (strcmp(diags->sources.at[i].file, span.file))
            continue;
        const char *text = diags->sources.at[i].text;
        for (int line = 1; text && line < span.line; line++)
            text = (text = strchr(text, '\n')) ? text + 1 : NULL;
        if (text)
            *length = strcspn(text, "\n");
        return text;
    }
    return NULL;
}

bool clang_line_has(arena *a, source_span span, char c, diag_list *diags) {
    size_t length = 0;
    if (!span.file)
        return false;
    know_source(a, span.file, diags);
    const char *line = line_of(diags, span, &length);
    return line && memchr(line, c, length);
}

static bool in_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A column of rewritten text means nothing in the source: the first name that the message quotes says where it was, or else the line's beginning. */
static void place_column(clang_message *m, const diag_list *diags) {
    size_t length = 0;
    const char *line = line_of(diags, m->span, &length);
    m->span.column = 1;
    if (!line)
        return;
    m->span.column = (int)strspn(line, " \t") + 1;
    const char *quote = strchr(m->text, '\''), *end = quote ? strchr(quote + 1, '\'') : NULL;
    if (!quote || !end || end == quote + 1)
        return;
    size_t n = (size_t)(end - quote - 1);
    for (const char *at = line; (size_t)(at - line) + n <= length; at++)
        if (!memcmp(at, quote + 1, n) && (at == line || !in_word(at[-1])) && !in_word(at[n])) {
            m->span.column = (int)(at - line) + 1;
            m->span.length = (int)n;
            return;
        }
}

bool clang_report(arena *a, const clang_messages *messages, const char *code, bool exact, int limit, diag_list *diags) {
    enum { NOTE_LIMIT = 6 };
    diag *g = NULL;
    bool any = false;
    int notes = 0, left_out = 0;
    for (int i = 0; i < messages->count; i++) {
        clang_message m = messages->at[i];
        if (m.kind == CLANG_NOTE) {
            if (g && notes++ < NOTE_LIMIT) {
                if (m.span.file && m.span.line)
                    diag_note(diags, g, "%s:%d: %s", m.span.file, m.span.line, m.text);
                else
                    diag_note(diags, g, "%s", m.text);
            }
            continue;
        }
        g = NULL;
        if (m.kind != CLANG_ERROR ||
            (any && strstr(m.text, "unterminated '#pragma clang attribute"))) /* what follows from an error before */
            continue;
        any = true;
        if (limit-- <= 0) {
            left_out++;
            continue;
        }
        if (m.span.file) {
            know_source(a, m.span.file, diags);
            if (!exact)
                place_column(&m, diags);
        }
        notes = 0;
        g = diag_error(diags, code, m.span, "%s", m.text);
    }
    if (left_out && diags->items.count)
        diag_note(diags, diags->items.at[diags->items.count - 1], "and %d more", left_out);
    return any;
}
