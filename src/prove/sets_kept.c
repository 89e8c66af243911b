/* Operations whose answers are known: the same question about the same sets comes back for every access of one shape, in sibling loops, in arrays
 * that are used alike. Operands are told apart by their addresses, which stay in place until the session ends. */
#include "prove/sets_private.h"
#include <stdlib.h>
#include <string.h>

enum { FEWEST_SLOTS = 1024 };

static uint64_t mixed(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static uint64_t hash_of(const operation *o) {
    uint64_t h = mixed((uint64_t)o->kind, (uint64_t)(uintptr_t)o->x);
    h = mixed(mixed(h, (uint64_t)(uintptr_t)o->y), (uint64_t)o->a);
    h = mixed(mixed(h, (uint64_t)o->b), (uint64_t)o->places);
    for (int i = 0; i < o->places; i++)
        h = mixed(h, (uint64_t)o->from[i]);
    return h;
}

static bool same(const operation *p, const operation *q) {
    return p->kind == q->kind && p->x == q->x && p->y == q->y && p->a == q->a && p->b == q->b && p->places == q->places &&
           (!p->places || !memcmp(p->from, q->from, (size_t)p->places * sizeof *p->from));
}

static size_t slot_of(const answers *t, const operation *o) {
    size_t i = o->hash & (t->slots - 1);
    while (t->at[i].result && !(t->at[i].of.hash == o->hash && same(&t->at[i].of, o)))
        i = (i + 1) & (t->slots - 1);
    return i;
}

void *answer_known(const answers *t, operation *o) {
    o->hash = hash_of(o);
    return t->slots ? t->at[slot_of(t, o)].result : NULL;
}

static bool grow(answers *t) {
    answers larger = {.slots = t->slots ? 2 * t->slots : FEWEST_SLOTS, .count = t->count};
    larger.at = calloc(larger.slots, sizeof *larger.at);
    if (!larger.at)
        return false;
    for (size_t i = 0; i < t->slots; i++)
        if (t->at[i].result)
            larger.at[slot_of(&larger, &t->at[i].of)] = t->at[i];
    free(t->at);
    *t = larger;
    return true;
}

void *answer_keep(answers *t, const operation *o, void *result) {
    if (!result || (2 * (t->count + 1) > t->slots && !grow(t)))
        return result;
    answer a = {*o, result};
    a.of.from = NULL; /* also where no places go anywhere: what `from` is then is the asker's */
    if (o->places) {
        int *from = malloc((size_t)o->places * sizeof *from);
        if (!from)
            return result;
        memcpy(from, o->from, (size_t)o->places * sizeof *from);
        a.of.from = from;
    }
    size_t i = slot_of(t, o);
    if (t->at[i].result) { /* found meanwhile */
        free((int *)a.of.from);
        return result;
    }
    t->at[i] = a;
    t->count++;
    return result;
}

void answers_forget(answers *t) {
    for (size_t i = 0; i < t->slots; i++)
        if (t->at[i].result)
            free((int *)t->at[i].of.from);
    free(t->at);
    *t = (answers){0};
}
