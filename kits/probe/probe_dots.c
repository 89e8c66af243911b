/* See probe_dots.h. */
#include "probe_dots.h"
#include "probe_text.h"
#include <stdlib.h>
#include <string.h>

int probe_dots_read(probe_dots *d, const char *path) {
    char line[512];
    FILE *f = fopen(path, "rb");
    memset(d, 0, sizeof *d);
    if (!f) {
        perror(path);
        return 0;
    }
    int good = fgets(line, sizeof line, f) != NULL &&
               sscanf(line, "tilec dots 1 %63s %d %d %d %d %d %d %lld %lld %lld %32s", d->instruction, &d->rows, &d->k,
                      &d->bytes_a, &d->bytes_b, &d->tiles_a_block, &d->specific, &d->count, &d->asked, &d->seed, d->hash) == 11 &&
               d->rows >= 8 && d->rows <= 64 && d->k >= 1 && d->k <= 64 && d->bytes_a >= 1 && d->bytes_a <= 4 &&
               d->bytes_b >= 1 && d->bytes_b <= 4 && d->tiles_a_block >= 1 && d->tiles_a_block <= 32 && d->count >= 0 &&
               d->count < 1ll << 30;
    if (good) {
        size_t size = (size_t)d->k * (size_t)(d->bytes_a + d->bytes_b) + 4;
        d->bytes = malloc((size_t)d->count * size + 1);
        good = d->bytes && fread(d->bytes, size, (size_t)d->count, f) == (size_t)d->count;
    }
    fclose(f);
    if (!good) {
        fprintf(stderr, "%s: this is no file of dots\n", path);
        probe_dots_free(d);
    }
    return good;
}

void probe_dots_free(probe_dots *d) {
    free(d->bytes);
    d->bytes = NULL;
}

long long probe_tiles(const probe_dots *d) {
    return (d->count + 7) / 8;
}

/* Dot i stands at this row and column of tile i / 8: a dot that is asked again stands elsewhere. */
static int place_of(long long i) {
    return (int)((i + i / 4096 * 3) % 8);
}

void probe_dots_place(const probe_dots *d, long long first, long long tiles, void *a, void *b, uint32_t *c) {
    size_t row_a = (size_t)(d->k * d->bytes_a), row_b = (size_t)(d->k * d->bytes_b), size = row_a + row_b + 4;
    memset(a, 0, (size_t)tiles * (size_t)d->rows * row_a);
    memset(b, 0, (size_t)tiles * 8 * row_b);
    memset(c, 0, (size_t)tiles * (size_t)d->rows * 32);
    for (long long i = first * 8; i < (first + tiles) * 8 && i < d->count; i++) {
        const unsigned char *dot = d->bytes + (size_t)i * size;
        size_t tile = (size_t)(i / 8 - first), at = (size_t)place_of(i);
        memcpy((char *)a + (tile * (size_t)d->rows + at) * row_a, dot, row_a);
        memcpy((char *)b + (tile * 8 + at) * row_b, dot + row_a, row_b);
        memcpy(&c[(tile * (size_t)d->rows + at) * 8 + at], dot + row_a + row_b, 4);
    }
}

void probe_dots_take(const probe_dots *d, long long first, long long tiles, const uint32_t *results, uint32_t *answers) {
    for (long long i = first * 8; i < (first + tiles) * 8 && i < d->count; i++) {
        size_t tile = (size_t)(i / 8 - first), at = (size_t)place_of(i);
        answers[i] = results[(tile * (size_t)d->rows + at) * 8 + at];
    }
}

void probe_dots_print(const probe_dots *d, const char *target, const char *device, const uint32_t *answers) {
    printf("{\"kit\": 1, \"target\": \"%s\", \"instruction\": \"%s\", \"device\": \"", target, d->instruction);
    probe_text_print(device);
    printf("\", \"asked\": %lld, \"seed\": %lld, \"dots\": %lld, \"hash\": \"%s\", \"answers\": \"", d->asked, d->seed, d->count,
           d->hash);
    for (long long i = 0; i < d->count; i++)
        printf("%08x", (unsigned)answers[i]);
    printf("\"}\n");
    fflush(stdout);
}
