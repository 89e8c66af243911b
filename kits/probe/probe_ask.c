/* Asks a device what the files list, with the kernels beside them, and prints a row for each: NAME.dots, NAME.layout, NAME.codes, device.traits. A row that could not be finished
 * is cut off at its end, and tilec refuses it. */
#include "probe_codes.h"
#include "probe_device.h"
#include "probe_dots.h"
#include "probe_text.h"
#include "probe_traits.h"
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4096, CODES = 1 << 20, CONVERTING = 256, ASKING = 128 /* threads of a block */, CASES = 1 << 15 };

typedef struct device {
    char text[640];
    int architecture;
} device;

static int ends(const char *path, const char *end) {
    size_t length = strlen(path), size = strlen(end);
    return length > size && !strcmp(path + length - size, end);
}

/* The path with its ending replaced, to be freed. */
static char *beside(const char *path, const char *end) {
    const char *dot = strrchr(path, '.');
    size_t length = dot ? (size_t)(dot - path) : strlen(path);
    char *text = calloc(length + strlen(end) + 1, 1);
    if (text) {
        memcpy(text, path, length);
        strcpy(text + length, end);
    }
    return text;
}

static void *kernel_beside(const char *path, const char *end, const char *function, int specific) {
    char *text = beside(path, end);
    void *kernel = text ? probe_load(text, function, specific) : NULL;
    free(text);
    return kernel;
}

/* ---- dots ---- */

static int ask_dots(const probe_dots *d, void *kernel, void *const memory[4], void *const host[3], uint32_t *answers) {
    size_t tile_a = (size_t)(d->rows * d->k * d->bytes_a), tile_b = (size_t)(8 * d->k * d->bytes_b),
           tile_c = (size_t)d->rows * 32;
    for (long long first = 0, all = probe_tiles(d); first < all; first += BATCH) {
        int tiles = (int)(all - first < BATCH ? all - first : BATCH);
        const probe_argument arguments[] = {{memory[0], 0}, {memory[1], 0}, {memory[2], 0}, {memory[3], 0}, {NULL, tiles}};
        probe_dots_place(d, first, tiles, host[0], host[1], host[2]);
        if (!probe_copy_in(memory[0], host[0], tile_a * (size_t)tiles) ||
            !probe_copy_in(memory[1], host[1], tile_b * (size_t)tiles) ||
            !probe_copy_in(memory[2], host[2], tile_c * (size_t)tiles) ||
            !probe_launch(kernel, (size_t)((tiles + d->tiles_a_block - 1) / d->tiles_a_block), ASKING, arguments, 5, 0) ||
            !probe_copy_out(host[2], memory[3], tile_c * (size_t)tiles))
            return 0;
        probe_dots_take(d, first, tiles, host[2], answers);
    }
    return 1;
}

static int dots(const device *device, const char *path) {
    probe_dots d;
    if (!probe_dots_read(&d, path))
        return 0;
    size_t sizes[] = {(size_t)(BATCH * d.rows * d.k * d.bytes_a), (size_t)(BATCH * 8 * d.k * d.bytes_b),
                      (size_t)BATCH * d.rows * 32, (size_t)BATCH * d.rows * 32};
    void *kernel = kernel_beside(path, probe_extension, "dots", d.specific), *memory[4] = {0}, *host[3] = {0};
    uint32_t *answers = calloc((size_t)d.count + 1, 4);
    int good = kernel && answers;
    for (int i = 0; i < 4 && good; i++)
        good = (memory[i] = probe_memory(sizes[i])) && (i == 3 || (host[i] = malloc(sizes[i])));
    good = good && ask_dots(&d, kernel, memory, host, answers);
    if (good)
        probe_dots_print(&d, probe_target, device->text, answers);
    for (int i = 0; i < 4; i++)
        probe_release(memory[i]);
    for (int i = 0; i < 3; i++)
        free(host[i]);
    probe_unload(kernel);
    probe_dots_free(&d);
    free(answers);
    return good;
}

/* ---- layouts: one-hot operands, and where their product comes out ---- */

static int layout(const device *device, const char *path) {
    char name[64], hash[40];
    int cases, one_a, one_b, first_row = 1;
    FILE *f = fopen(path, "r");
    int good = f && fscanf(f, "tilec layout 1 %63s %d %d %d %32s", name, &cases, &one_a, &one_b, hash) == 5;
    if (f)
        fclose(f);
    if (!good) {
        fprintf(stderr, "%s: this is no layout to be asked\n", path);
        return 0;
    }
    char end[32];
    snprintf(end, sizeof end, ".onehot%s", probe_extension);
    void *kernel = kernel_beside(path, end, "onehot", 0), *memory = kernel ? probe_memory((size_t)CASES * 32) : NULL;
    unsigned char *found = malloc((size_t)CASES * 32);
    good = kernel && memory && found;
    for (int first = 0; first < cases && good; first += CASES) {
        int count = cases - first < CASES ? cases - first : CASES;
        const probe_argument arguments[] = {{memory, 0}, {NULL, first}, {NULL, count}, {NULL, one_a}, {NULL, one_b}};
        good = probe_launch(kernel, (size_t)(count + 3) / 4, ASKING, arguments, 5, 0) &&
               probe_copy_out(found, memory, (size_t)count * 32);
        if (good && !first) {
            printf("{\"layout\": \"%s\", \"target\": \"%s\", \"device\": \"", name, probe_target);
            probe_text_print(device->text);
            printf("\", \"hash\": \"%s\", \"cases\": %d, \"set\": \"", hash, cases);
        }
        for (int i = 0; i < count * 32 && good; i++)
            if (found[i]) { /* case, lane, elements */
                printf("%s%d:%d:%d", first_row ? "" : " ", first + i / 32, i % 32, found[i]);
                first_row = 0;
            }
    }
    if (good)
        printf("\"}\n");
    fflush(stdout);
    probe_unload(kernel);
    probe_release(memory);
    free(found);
    return good;
}

/* ---- conversions ---- */

static int ask_codes(const probe_codes *c, void *kernel, void *in, void *out, uint32_t *codes, uint32_t *answers) {
    for (long long first = 0; first < c->count; first += CODES) {
        int count = (int)(c->count - first < CODES ? c->count - first : CODES);
        const probe_argument arguments[] = {{in, 0}, {out, 0}, {NULL, count}};
        probe_codes_place(c, first, count, codes);
        if (!probe_copy_in(in, codes, (size_t)count * 4) ||
            !probe_launch(kernel, (size_t)(count + CONVERTING - 1) / CONVERTING, CONVERTING, arguments, 3, 0) ||
            !probe_copy_out(answers + first, out, (size_t)count * 4))
            return 0;
    }
    return 1;
}

static int conversion(const device *device, const char *path) {
    probe_codes c;
    if (!probe_codes_read(&c, path))
        return 0;
    if (device->architecture < c.architecture) {
        fprintf(stderr, "%s is for sm_%d and later\n", c.conversion, c.architecture);
        return 0;
    }
    void *kernel = kernel_beside(path, probe_extension, "convert", 0), *in = kernel ? probe_memory(CODES * 4) : NULL,
         *out = in ? probe_memory(CODES * 4) : NULL;
    uint32_t *codes = malloc(CODES * 4), *answers = malloc((size_t)c.count * 4 + 4);
    int good = out && codes && answers && ask_codes(&c, kernel, in, out, codes, answers);
    if (good)
        probe_codes_print(&c, probe_target, device->text, answers);
    probe_unload(kernel);
    probe_release(in);
    probe_release(out);
    free(codes);
    free(answers);
    return good;
}

int main(int count, char **arguments) {
    device d;
    if (count < 2)
        fprintf(stderr, "usage: %s NAME.dots|NAME.layout|NAME.codes|device.traits ...\n", arguments[0]);
    if (count < 2 || !probe_device_open(d.text, sizeof d.text, &d.architecture))
        return 1;
    int answered = 0;
    for (int i = 1; i < count; i++) {
        const char *path = arguments[i];
        if (ends(path, ".codes")    ? conversion(&d, path)
            : ends(path, ".layout") ? layout(&d, path)
            : ends(path, ".traits") ? probe_traits(path, d.text)
                                    : dots(&d, path))
            answered++;
        else
            fprintf(stderr, "%s: not asked (what this device lacks is left out)\n", path);
    }
    return answered == 0;
}
