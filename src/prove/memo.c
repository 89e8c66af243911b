#include "prove/memo.h"
#include "prove/sets.h"
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

enum { KEPT = 128 };

typedef struct kept {
    char key[HASH_DIGITS + 1];
    arena *texts;
    proof_item *items;
    int count;
} kept;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kept ring[KEPT];
static int next;

void memo_key(const kernel_ir *k, const cond *launch, const target_limits *l, char key[HASH_DIGITS + 1]) {
    text_buffer b = {0};
    kernel_print(&b, k);
    text_add(&b, "\nlaunch ");
    if (launch)
        cond_print(&b, launch);
    text_add(&b, "\n%d %" PRId64, l->index_bits, l->largest_extent);
    hash_bytes(text_get(&b), b.length, key);
    text_free(&b);
}

bool memo_find(arena *a, const char *key, proof *p) {
    bool found = false;
    if (sets_fault_armed())
        return false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KEPT && !found; i++) {
        if (strcmp(ring[i].key, key))
            continue;
        found = true;
        for (int j = 0; j < ring[i].count; j++) {
            proof_item t = ring[i].items[j];
            t.property = arena_strdup(a, t.property);
            t.subject = arena_strdup(a, t.subject);
            t.milliseconds = 0;
            VEC_PUSH(a, p->items, t);
            p->proved++;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void memo_keep(const char *key, const proof *p, int first) {
    for (int i = first; i < p->items.count; i++)
        if (p->items.at[i].verdict != VERDICT_PROVED)
            return;
    if (sets_fault_armed() || first == p->items.count)
        return;
    pthread_mutex_lock(&lock);
    kept *x = &ring[next++ % KEPT];
    arena_free(x->texts);
    *x = (kept){.texts = arena_new(), .count = p->items.count - first};
    memcpy(x->key, key, sizeof x->key);
    x->items = NEW_ARRAY(x->texts, proof_item, x->count);
    for (int i = 0; i < x->count; i++) {
        proof_item t = p->items.at[first + i];
        t.property = arena_strdup(x->texts, t.property);
        t.subject = arena_strdup(x->texts, t.subject);
        t.span = (source_span){0};
        t.explanation = t.witness = NULL;
        x->items[i] = t;
    }
    pthread_mutex_unlock(&lock);
}
