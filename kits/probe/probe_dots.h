/* Dots that tilec wants answered, and the row that goes back. */
#ifndef PROBE_DOTS_H
#define PROBE_DOTS_H
#include <stdint.h>
#include <stdio.h>

typedef struct probe_dots {
    char instruction[64], hash[33];
    int rows, k, bytes_a, bytes_b; /* of a tile, which has 8 columns; bytes of a code */
    int tiles_a_block, specific;   /* specific: compiled with what this architecture alone has */
    long long count, asked, seed;
    unsigned char *bytes; /* a dot: k codes of a, k of b, and c in 4 bytes */
} probe_dots;

/* 0, with a message, when the file is none of tilec's. */
int probe_dots_read(probe_dots *d, const char *path);
void probe_dots_free(probe_dots *d);
long long probe_tiles(const probe_dots *d); /* 8 dots a tile */
/* Tiles from `first` on: a: rows x k codes each, b: 8 x k, c: rows x 8 words. Everything that is no dot is 0. */
void probe_dots_place(const probe_dots *d, long long first, long long tiles, void *a, void *b, uint32_t *c);
/* The answers out of rows x 8 words a tile. */
void probe_dots_take(const probe_dots *d, long long first, long long tiles, const uint32_t *results, uint32_t *answers);
/* The row, on standard output. */
void probe_dots_print(const probe_dots *d, const char *target, const char *device, const uint32_t *answers);
#endif
