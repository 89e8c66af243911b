/* See probe_codes.h. */
#include "probe_codes.h"
#include "probe_text.h"
#include <stdio.h>
#include <string.h>

int probe_codes_read(probe_codes *c, const char *path) {
    FILE *f = fopen(path, "rb");
    memset(c, 0, sizeof *c);
    if (!f) {
        perror(path);
        return 0;
    }
    int good = fscanf(f, "tilec codes 1 %63s %lld %d %32s %d %d", c->conversion, &c->count, &c->architecture, c->hash,
                      &c->low_bits, &c->patterns) == 6 &&
               c->count >= 0 && c->count < 1ll << 30 && c->low_bits >= 0 && c->low_bits < 32 && c->patterns >= 1 &&
               c->patterns <= 8;
    for (int i = 0; good && i < c->patterns; i++) {
        unsigned low;
        good = fscanf(f, "%x", &low) == 1;
        c->low[i] = good ? low : 0;
    }
    fclose(f);
    if (!good)
        fprintf(stderr, "%s: this is no file of codes\n", path);
    return good;
}

void probe_codes_place(const probe_codes *c, long long first, int count, uint32_t *codes) {
    for (int i = 0; i < count; i++)
        codes[i] = (uint32_t)((first + i) / c->patterns) << c->low_bits | c->low[(first + i) % c->patterns];
}

void probe_codes_print(const probe_codes *c, const char *target, const char *device, const uint32_t *answers) {
    printf("{\"target\": \"%s\", \"conversion\": \"%s\", \"device\": \"", target, c->conversion);
    probe_text_print(device);
    printf("\", \"codes\": %lld, \"hash\": \"%s\", \"answers\": \"", c->count, c->hash);
    for (long long i = 0, next; i < c->count; i = next) {
        for (next = i + 1; next < c->count && answers[next] == answers[i];)
            next++;
        printf("%s%x", i ? " " : "", (unsigned)answers[i]);
        if (next > i + 1)
            printf("*%lld", next - i);
    }
    printf("\"}\n");
    fflush(stdout);
}
