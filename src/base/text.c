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

void text_add_va(text_buffer *b, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    char small[256];
    int length = vsnprintf(small, sizeof small, format, args);
    if (length >= 0 && (size_t)length < sizeof small) {
        text_add_bytes(b, small, (size_t)length);
    } else if (length >= 0) {
        reserve(b, (size_t)length);
        vsnprintf(b->text + b->length, (size_t)length + 1, format, again);
        b->length += (size_t)length;
    }
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
