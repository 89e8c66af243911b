/* Growable texts on the heap. */
#include "base/arena.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(text_buffer *b, size_t more) {
    if (more < b->capacity && b->capacity - more > b->length)
        return;
    size_t capacity = b->capacity ? b->capacity * 2 : 128;
    if (capacity < b->length + more + 1)
        capacity = b->length + more + 1;
    char *text = realloc(b->text, capacity);
    if (!text) {
        fprintf(stderr, "tilec: out of memory (%zu bytes wanted)\n", capacity);
        exit(3);
    }
    b->text = text;
    b->capacity = capacity;
}

void text_add_bytes(text_buffer *b, const char *bytes, size_t length) {
    reserve(b, length);
    if (length)
        memcpy(b->text + b->length, bytes, length);
    b->length += length;
    b->text[b->length] = '\0';
}

static void add_integer(text_buffer *b, long long value) {
    char digits[24];
    size_t at = sizeof digits;
    unsigned long long rest = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        digits[--at] = '-';
    text_add_bytes(b, digits + at, sizeof digits - at);
}

/* Formats of nothing but texts and integers as they are, which nearly all of an emitted text is made of, without printf. False: there is something else in it, and
 * nothing was added. */
static bool add_simple(text_buffer *b, const char *format, va_list args) {
    const size_t start = b->length;
    for (const char *at = format;;) {
        size_t plain = strcspn(at, "%");
        text_add_bytes(b, at, plain);
        at += plain;
        if (!*at)
            return true;
        int longs = 0;
        for (at++; *at == 'l' && longs < 2; at++)
            longs++;
        if (*at == 's' && !longs) {
            const char *text = va_arg(args, const char *);
            text = text ? text : "(null)";
            text_add_bytes(b, text, strlen(text));
        } else if (*at == 'd') {
            add_integer(b, longs == 2 ? va_arg(args, long long) : longs ? va_arg(args, long) : va_arg(args, int));
        } else if (*at == '%' && !longs) {
            text_add_bytes(b, "%", 1);
        } else {
            b->length = start;
            b->text[start] = '\0';
            return false;
        }
        at++;
    }
}

void text_add_va(text_buffer *b, const char *format, va_list args) {
    va_list again, measured;
    va_copy(again, args);
    bool simple = add_simple(b, format, again);
    va_end(again);
    if (simple)
        return;
    va_copy(again, args);
    va_copy(measured, args);
    char small[256];
    int length = vsnprintf(small, sizeof small, format, measured);
    if (length >= 0 && (size_t)length < sizeof small) {
        text_add_bytes(b, small, (size_t)length);
    } else if (length >= 0) {
        reserve(b, (size_t)length);
        vsnprintf(b->text + b->length, (size_t)length + 1, format, again);
        b->length += (size_t)length;
    }
    va_end(measured);
    va_end(again);
}

void text_add(text_buffer *b, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_add_va(b, format, args);
    va_end(args);
}

const char *text_get(const text_buffer *b) {
    return b->text ? b->text : "";
}

void text_free(text_buffer *b) {
    free(b->text);
    *b = (text_buffer){0};
}
