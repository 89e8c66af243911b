/* See probe_traits.h. Lines of the file: "chase BYTES SLOT BESIDE": nanoseconds of a hop of a chain of loads through the slots of a ring, each of which also loads BESIDE
 * bytes behind; "shared STRIDE WORDS": of a load of so many words by 1024 threads, so many words apart; "threads MOST": the largest block that is taken. */
#include "probe_traits.h"
#include "probe_device.h"
#include "probe_text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RING = 128 << 20, BLOCK = 1024, LOADS_A_TRIP = 8, LEAST_HOPS = 1 << 14, MOST_TRIPS = 1 << 22 };

typedef struct asking {
    const char *folder;
    void *ring, *out, *kernels[5]; /* hop, banks of 1, 2 and 4 words, empty: when first used */
    uint32_t *host;
    int trips;
} asking;
static const char *const names[] = {"hop", "banks1", "banks2", "banks4", "empty"};
static const char *const functions[] = {"hop", "banks", "banks", "banks", "empty"};

static double seconds(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *kernel(asking *x, int which) {
    char path[1024];
    snprintf(path, sizeof path, "%s%s%s", x->folder, names[which], probe_extension);
    if (!x->kernels[which])
        x->kernels[which] = probe_load(path, functions[which], 0);
    return x->kernels[which];
}

static int timed(asking *x, void *k, size_t threads, const probe_argument *arguments, int count, double *took) {
    uint32_t word;
    double start = seconds();
    int good = probe_launch(k, 1, threads, arguments, count, 0) && probe_copy_out(&word, x->out, 4);
    *took = seconds() - start;
    return good;
}

static uint64_t next_random(uint64_t *state) { /* splitmix64 (Vigna) */
    uint64_t z = *state += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

/* Sattolo's shuffle, whose permutations are one cycle: the order stands in the slots themselves. */
static void make_ring(uint32_t *ring, long long bytes, int slot, int beside) {
    const uint32_t words = (uint32_t)slot / 4, count = (uint32_t)(bytes / slot), behind = (uint32_t)beside / 4;
    uint64_t seed = 1;
    for (uint32_t i = 0; i < count; i++)
        ring[i * words] = i * words;
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(next_random(&seed) % i), kept = ring[i * words];
        ring[i * words] = ring[j * words];
        ring[j * words] = kept;
    }
    for (uint32_t i = 0; i < count && beside; i++) {
        ring[i * words + behind] = ring[i * words];
        ring[i * words] = i * words;
    }
}

static int chase(asking *x, long long bytes, int slot, int beside, double *ns) {
    void *k = kernel(x, 0);
    const uint32_t zero = 0;
    const long long round = slot > 0 ? bytes / slot : 0, hops = round > LEAST_HOPS ? round : LEAST_HOPS;
    double took[2];
    if (!k || bytes > RING || slot < 8 || slot % 4 || beside < 0 || beside >= slot || round < 2)
        return 0;
    make_ring(x->host, bytes, slot, beside);
    if (!probe_copy_in(x->ring, x->host, (size_t)bytes) || !probe_copy_in(x->out, &zero, 4))
        return 0;
    /* nothing first: some drivers compile when a kernel is first launched; then once round and so many hops more: the difference has neither the start nor the first round's misses */
    for (int i = -1; i < 2; i++) {
        const probe_argument arguments[] = {
            {x->ring, 0}, {x->out, 0}, {NULL, i < 0 ? 0 : (int)(round + hops * i)}, {NULL, beside / 4}};
        if (!timed(x, k, 1, arguments, 4, &took[i > 0]))
            return 0;
    }
    *ns = (took[1] - took[0]) / (double)hops * 1e9;
    return 1;
}

static int shared(asking *x, int stride, int words, double *ns) {
    void *k = words == 1 || words == 2 || words == 4 ? kernel(x, words == 4 ? 3 : words) : NULL;
    double took, best = 0;
    if (!k)
        return 0;
    for (int i = 0; i < 3;) {
        const probe_argument arguments[] = {{x->out, 0}, {NULL, x->trips}, {NULL, stride}};
        if (!timed(x, k, BLOCK, arguments, 3, &took))
            return 0;
        if (took < 0.004 && x->trips < MOST_TRIPS) { /* until a launch outweighs what starting it takes */
            x->trips *= 2;
            i = 0;
            continue;
        }
        best = i++ && best < took ? best : took;
    }
    *ns = best / ((double)x->trips * LOADS_A_TRIP) * 1e9;
    return 1;
}

static int takes(asking *x, void *k, int threads) {
    const probe_argument arguments[] = {{x->out, 0}};
    uint32_t word;
    return probe_launch(k, 1, (size_t)threads, arguments, 1, 1) && probe_copy_out(&word, x->out, 4);
}

static int most_threads(asking *x, int most, double *found) {
    void *k = kernel(x, 4);
    int low = 1, high = most;
    if (!k || !takes(x, k, 1))
        return 0;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (takes(x, k, middle))
            low = middle;
        else if (takes(x, k, 1)) /* the device is still there */
            high = middle;
        else
            return 0;
    }
    *found = low;
    return 1;
}

static int answer(asking *x, const char *line, double *value) {
    long long bytes;
    int a, b;
    if (sscanf(line, "chase %lld %d %d", &bytes, &a, &b) == 3)
        return chase(x, bytes, a, b, value);
    if (sscanf(line, "shared %d %d", &a, &b) == 2 && !probe_has_banks()) {
        *value = -1; /* there is nothing to ask */
        return 1;
    }
    if (sscanf(line, "shared %d %d", &a, &b) == 2)
        return shared(x, a, b, value);
    return sscanf(line, "threads %d", &a) == 1 && most_threads(x, a, value);
}

static int ask_all(asking *x, FILE *f, const char *device) {
    char line[128], hash[40];
    int first = 1;
    if (!fgets(line, sizeof line, f) || sscanf(line, "tilec traits 1 %32s", hash) != 1)
        return 0;
    printf("{\"traits\": 1, \"target\": \"%s\", \"device\": \"", probe_target);
    probe_text_print(device);
    printf("\", \"hash\": \"%s\", \"answers\": [", hash);
    while (fgets(line, sizeof line, f)) {
        double value;
        if (!answer(x, line, &value)) {
            fprintf(stderr, "no answer to: %s", line);
            return 0;
        }
        printf("%s%.6g", first ? "" : ", ", value);
        first = 0;
    }
    printf("]}\n");
    fflush(stdout);
    return 1;
}

int probe_traits(const char *path, const char *device) {
    char folder[900] = "";
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 0, path);
    asking x = {.folder = folder, .trips = 16};
    FILE *f = fopen(path, "r");
    if (!f) {
        perror(path);
        return 0;
    }
    x.host = malloc(RING);
    x.ring = probe_memory(RING);
    x.out = probe_memory(BLOCK * 4);
    int good = x.host && x.ring && x.out && ask_all(&x, f, device);
    for (int i = 0; i < 5; i++)
        probe_unload(x.kernels[i]);
    probe_release(x.ring);
    probe_release(x.out);
    free(x.host);
    fclose(f);
    return good;
}
