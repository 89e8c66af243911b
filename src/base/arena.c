/* Arenas: a list of zeroed chunks, freed together. */
#include "base/arena.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under ASan every allocation has a chunk of its own, so that an overrun inside the arena is seen too. */
#if defined(__SANITIZE_ADDRESS__)
#define SEPARATE_CHUNKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SEPARATE_CHUNKS 1
#endif
#endif
#ifndef SEPARATE_CHUNKS
#define SEPARATE_CHUNKS 0
#endif

enum { ALIGNMENT = 16, FIRST_CHUNK = 16 * 1024, LARGEST_CHUNK = 1024 * 1024 };

typedef struct chunk chunk;
struct chunk {
    chunk *next;
    char *memory;
    size_t size, used;
};

struct arena {
    chunk *chunks; /* the newest first: allocation looks only there */
    size_t handed_out, next_size;
};

static _Noreturn void out_of_memory(size_t bytes) {
    fprintf(stderr, "tilec: out of memory (%zu bytes wanted)\n", bytes);
    exit(3);
}

static void *allocate_zeroed(size_t bytes) {
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p)
        out_of_memory(bytes);
    return p;
}

arena *arena_new(void) {
    arena *a = allocate_zeroed(sizeof *a);
    a->next_size = FIRST_CHUNK;
    return a;
}

void arena_free(arena *a) {
    if (!a)
        return;
    for (chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        free(c->memory);
        free(c);
    }
    free(a);
}

static chunk *add_chunk(arena *a, size_t size) {
    chunk *c = allocate_zeroed(sizeof *c);
    c->memory = allocate_zeroed(size);
    c->size = size;
    c->next = a->chunks;
    a->chunks = c;
    return c;
}

void *arena_alloc(arena *a, size_t bytes) {
    if (bytes > SIZE_MAX / 2)
        out_of_memory(bytes);
    a->handed_out += bytes;
    if (SEPARATE_CHUNKS) {
        chunk *own = add_chunk(a, bytes);
        own->used = bytes; /* the plugin's arenas are built without: nothing of this chunk is theirs to hand out */
        return own->memory;
    }
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded == 0)
        rounded = ALIGNMENT;
    chunk *c = a->chunks;
    if (!c || c->size - c->used < rounded) {
        if (rounded > a->next_size / 4 && c) {
            /* A large piece gets a chunk of its own, behind the newest, whose rest stays in use. */
            chunk *large = add_chunk(a, rounded);
            large->used = rounded;
            a->chunks = c;
            large->next = c->next;
            c->next = large;
            return large->memory;
        }
        c = add_chunk(a, rounded > a->next_size ? rounded : a->next_size);
        if (a->next_size < LARGEST_CHUNK)
            a->next_size *= 2;
    }
    void *p = c->memory + c->used;
    c->used += rounded;
    return p;
}

char *arena_strndup(arena *a, const char *text, size_t length) {
    char *copy = arena_alloc(a, length + 1);
    if (length)
        memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(arena *a, const char *text) {
    return arena_strndup(a, text, strlen(text));
}

char *arena_printf_va(arena *a, const char *format, va_list args) {
    text_buffer b = {0};
    text_add_va(&b, format, args);
    char *copy = arena_strndup(a, text_get(&b), b.length);
    text_free(&b);
    return copy;
}

char *arena_printf(arena *a, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *copy = arena_printf_va(a, format, args);
    va_end(args);
    return copy;
}

size_t arena_bytes(const arena *a) {
    return a->handed_out;
}

void *arena_grow(arena *a, void *old, int count, int *capacity, size_t element_bytes) {
    if (*capacity > INT32_MAX / 2)
        out_of_memory(SIZE_MAX);
    int grown = *capacity ? *capacity * 2 : 8;
    void *memory = arena_alloc(a, (size_t)grown * element_bytes);
    if (count)
        memcpy(memory, old, (size_t)count * element_bytes);
    *capacity = grown;
    return memory;
}
