/* Arena allocation: one arena per compilation, freed as a whole. Nothing allocated from an arena is freed alone. */
#ifndef TILEC_BASE_ARENA_H
#define TILEC_BASE_ARENA_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#else
#define PRINTF_LIKE(f, a)
#endif

typedef struct arena arena;

arena *arena_new(void);
void arena_free(arena *a); /* NULL is allowed */
/* Zeroed memory, aligned to 16 bytes; never NULL (running out of memory ends the process with a message). */
void *arena_alloc(arena *a, size_t bytes);
char *arena_strdup(arena *a, const char *text);
char *arena_strndup(arena *a, const char *text, size_t length);
char *arena_printf(arena *a, const char *format, ...) PRINTF_LIKE(2, 3);
char *arena_printf_va(arena *a, const char *format, va_list args);
size_t arena_bytes(const arena *a); /* total handed out */

#define NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define NEW_ARRAY(a, type, count) ((type *)arena_alloc((a), sizeof(type) * (size_t)(count)))

/* A growable array in an arena: VEC(tile_value *) args; VEC_PUSH(a, args, v); args.at[i]; args.count */
#define VEC(type)                                                                                                                \
    struct {                                                                                                                     \
        type *at;                                                                                                                \
        int count, capacity;                                                                                                     \
    }
void *arena_grow(arena *a, void *old, int count, int *capacity, size_t element_bytes);
#define VEC_PUSH(a, v, x)                                                                                                        \
    do {                                                                                                                         \
        if ((v).count == (v).capacity)                                                                                           \
            (v).at = arena_grow((a), (v).at, (v).count, &(v).capacity, sizeof *(v).at);                                          \
        (v).at[(v).count++] = (x);                                                                                               \
    } while (0)

/* A growable text (heap, not arena): built up, then written out or copied into an arena. Zero-initialise. */
typedef struct text_buffer {
    char *text; /* NUL-terminated once anything was added; NULL before */
    size_t length, capacity;
} text_buffer;
/* As printf writes it; no argument is the buffer's own text. */
void text_add(text_buffer *b, const char *format, ...) PRINTF_LIKE(2, 3);
void text_add_va(text_buffer *b, const char *format, va_list args);
void text_add_bytes(text_buffer *b, const char *bytes, size_t length);
const char *text_get(const text_buffer *b); /* "" when empty */
void text_free(text_buffer *b);
#endif
