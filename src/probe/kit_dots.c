/* The dots that probing asks, recorded; and answered later, from a list of answers. */
#include "probe/kit.h"
#include <stdlib.h>
#include <string.h>

size_t dot_list_size(const dot_list *l) {
    return (size_t)l->box.k * (size_t)(number_table[l->box.a].bytes + number_table[l->box.b].bytes) + 4;
}

void dot_list_hash(const dot_list *l, char digits[HASH_DIGITS + 1]) {
    hash_bytes(l->bytes, (size_t)l->count * dot_list_size(l), digits);
}

static void put(const dot_list *l, unsigned char *to, const void *a, const void *b, uint32_t c, int64_t dot) {
    size_t in_a = (size_t)l->box.k * (size_t)number_table[l->box.a].bytes,
           in_b = (size_t)l->box.k * (size_t)number_table[l->box.b].bytes;
    memcpy(to, (const char *)a + (size_t)dot * in_a, in_a);
    memcpy(to + in_a, (const char *)b + (size_t)dot * in_b, in_b);
    memcpy(to + in_a + in_b, &c, 4);
}

static bool record(dot_list *l, int64_t dots, const void *a, const void *b, const uint32_t *c) {
    size_t size = dot_list_size(l);
    if (l->count + dots > l->capacity) {
        int64_t capacity = 2 * (l->count + dots);
        unsigned char *more = realloc(l->bytes, (size_t)capacity * size);
        if (!more)
            return false;
        l->bytes = more;
        l->capacity = capacity;
    }
    for (int64_t i = 0; i < dots; i++)
        put(l, l->bytes + (size_t)l->count++ * size, a, b, c[i], i);
    return true;
}

/* The slot of a dot: the one that holds such a dot, or an empty one (-1). */
static int64_t slot_of(const dot_list *l, const unsigned char *dot) {
    size_t size = dot_list_size(l);
    int64_t slot = (int64_t)(hash_short(dot, size) & (uint64_t)(l->slots - 1));
    while (l->table[slot] >= 0 && memcmp(l->bytes + (size_t)l->table[slot] * size, dot, size))
        slot = (slot + 1) & (l->slots - 1);
    return slot;
}

static bool run(void *context, int64_t tiles, const void *a, const void *b, const uint32_t *c, uint32_t *d, diag_list *diags) {
    dot_list *l = context;
    if (!l->answers) {
        memset(d, 0, (size_t)tiles * 4);
        if (record(l, tiles, a, b, c))
            return true;
        diag_error(diags, "E0803", (source_span){0}, "no memory for %lld dots", (long long)(l->count + tiles));
        return false;
    }
    unsigned char dot[MATRIX_LONGEST * 8 + 4];
    for (int64_t i = 0; i < tiles; i++) {
        put(l, dot, a, b, c[i], i);
        int64_t slot = slot_of(l, dot), at = l->table[slot];
        if (at < 0) {
            diag_error(diags, "E1207", (source_span){0}, "%s: a dot is asked that the answers do not have", l->box.instruction);
            return false;
        }
        d[i] = l->answers[at];
        l->table[slot] = l->next[at]; /* asked again, it is the next time that it was answered */
    }
    return true;
}

void dot_list_begin(dot_list *l, const char *device, const char *instruction, number_kind a, number_kind b, number_kind c,
                    int k) {
    *l = (dot_list){.box = {device, instruction, a, b, c, k, 1, 1, l, run, NULL}};
}

void dot_list_free(dot_list *l) {
    free(l->bytes);
    free(l->next);
    free(l->table);
    *l = (dot_list){0};
}

bool dot_list_answer(dot_list *l, const uint32_t *answers) {
    size_t size = dot_list_size(l);
    for (l->slots = 16; l->slots < 2 * l->count;)
        l->slots *= 2;
    l->table = malloc((size_t)l->slots * sizeof *l->table);
    l->next = malloc((size_t)(l->count + 1) * sizeof *l->next);
    int64_t *last = malloc((size_t)(l->count + 1) * sizeof *last); /* by first occurrence, the last one so far */
    bool good = l->table && l->next && last;
    if (good)
        memset(l->table, 0xFF, (size_t)l->slots * sizeof *l->table);
    for (int64_t i = 0; good && i < l->count; i++) {
        int64_t slot = slot_of(l, l->bytes + (size_t)i * size), first = l->table[slot];
        l->next[i] = first < 0 ? i : first;
        if (first < 0)
            first = l->table[slot] = i;
        else
            l->next[last[first]] = i;
        last[first] = i;
    }
    free(last);
    l->answers = answers;
    return good;
}

bool dot_list_fill(arena *a, dot_list *l, const probe_options *o, diag_list *diags) {
    return probe_ask(a, &l->box, o, diags);
}
