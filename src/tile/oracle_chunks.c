/* A loop that ran in chunks, each with variables of its own, which were combined in order afterwards. */
#include "tile/oracle_internal.h"
#include "tile/split.h"
#include <stdlib.h>
#include <string.h>

/* x as one chunk begins. */
static bool begin(oracle *o, const tile_stmt *loop, const tile_variable *x) {
    return x->combine ? variable_declare(o, x) : variable_fill(o, x, split_identity(split_change(&loop->body, x), x->types[0]));
}

/* The chunk's variable, which ends here, goes into x as it is; unless something failed before. */
static bool take(oracle *o, const tile_stmt *loop, const tile_variable *x, variable_state chunk, double depth, bool good) {
    variable_state *s = &o->variables[x->id];
    tile_op op = split_change(&loop->body, x);
    if (good && x->combine) {
        tensor **parts = NEW_ARRAY(o->memory, tensor *, x->field_count);
        for (int f = 0; f < x->field_count && good; f++)
            good = (parts[f] = tensor_settled(o, chunk.fields[f])) != NULL;
        good = good && oracle_join(o, x, s, parts);
    } else if (good) {
        bool pends = op == TILE_ADD && element_table[x->types[0]].is_float;
        tensor *part = pends ? chunk.fields[0] : tensor_plain(o, chunk.fields[0]);
        good = part && variable_take(o, x, op, part, x->span);
        if (good && pends && s->fields[0]->sum.s && s->fields[0]->sum.extra < depth)
            s->fields[0]->sum.extra = depth;
    }
    for (int f = 0; chunk.fields && f < x->field_count; f++)
        tensor_free(chunk.fields[f]);
    tensor_free(chunk.reference);
    free(chunk.fields);
    return good;
}

/* The variables that the loop changes, and several sets of their states. */
typedef struct dealing {
    oracle *o;
    const tile_stmt *loop;
    const tile_variable **changed;
    int count;
    double depth;
} dealing;

static void put(const dealing *d, const variable_state *states) {
    for (int i = 0; i < d->count; i++)
        d->o->variables[d->changed[i]->id] = states[i];
}

static void take_out(const dealing *d, variable_state *states) {
    for (int i = 0; i < d->count; i++) {
        variable_state *s = &d->o->variables[d->changed[i]->id];
        states[i] = *s;
        memset(s, 0, sizeof *s);
    }
}

static bool begin_all(const dealing *d) {
    bool good = true;
    for (int i = 0; i < d->count; i++)
        good = begin(d->o, d->loop, d->changed[i]) && good;
    return good;
}

/* Into the variables as they are; `states` are theirs no more. */
static bool take_all(const dealing *d, const variable_state *states) {
    bool good = true;
    for (int i = 0; i < d->count; i++)
        good = take(d->o, d->loop, d->changed[i], states[i], d->depth, good) && good;
    return good;
}

/* States of `groups`: the first is that of the variables now, the others begin. */
static variable_state **begin_groups(const dealing *d, int groups, bool *good) {
    variable_state **sets = NEW_ARRAY(d->o->memory, variable_state *, groups);
    for (int g = 0; g < groups; g++) {
        sets[g] = NEW_ARRAY(d->o->memory, variable_state, d->count + 1);
        *good = (g == 0 || begin_all(d)) && *good;
        take_out(d, sets[g]);
    }
    return sets;
}

/* As a tree: each of the lower half takes one of the upper half, until one is left. */
static bool join_groups(const dealing *d, variable_state **sets, int groups, bool good) {
    while (groups > 1) {
        int half = (groups + 1) / 2;
        for (int g = 0; g + half < groups; g++) {
            put(d, sets[g]);
            good = (good ? take_all(d, sets[g + half]) : false) && good;
            take_out(d, sets[g]);
        }
        groups = half;
    }
    put(d, sets[0]);
    oracle_free_temporaries(d->o);
    d->o->epoch++;
    return good;
}

static bool run_tiles(const dealing *d, int64_t from, int64_t to, int groups) {
    int64_t size = d->o->size[d->loop->range->id];
    if (groups <= 1 || size < 1) {
        oracle_run_tiles(d->o, d->loop, from, to);
        return !d->o->failed;
    }
    bool good = true;
    variable_state **sets = begin_groups(d, groups, &good);
    for (int64_t at = from; at < to && good; at = (at / size + 1) * size) {
        int64_t end = (at / size + 1) * size;
        variable_state *own = sets[at / size % groups];
        put(d, own);
        oracle_run_tiles(d->o, d->loop, at, end < to ? end : to);
        take_out(d, own);
        good = !d->o->failed;
    }
    return join_groups(d, sets, groups, good);
}

void oracle_run_chunks(oracle *o, const tile_stmt *loop, const oracle_chunks *chunks) {
    dealing d = {.o = o, .loop = loop, .depth = chunks->depth};
    d.changed = NEW_ARRAY(o->memory, const tile_variable *, o->k->variables.count + 1);
    for (int i = 0; i < o->k->variables.count; i++)
        if (split_change(&loop->body, o->k->variables.at[i]) != TILE_OP_COUNT && o->variables[i].fields)
            d.changed[d.count++] = o->k->variables.at[i];
    int64_t end = o->extent[loop->range->id], length = chunks->chunk > 0 ? chunks->chunk : end;
    if (chunks->chunk <= 0) {
        run_tiles(&d, 0, end, chunks->groups);
        return;
    }
    bool good = true;
    int groups = chunks->chunk_groups > 1 ? chunks->chunk_groups : 1;
    variable_state **sets = begin_groups(&d, groups, &good), *chunk = NEW_ARRAY(o->memory, variable_state, d.count + 1);
    for (int64_t at = 0; at < end && good; at += length) {
        good = begin_all(&d) && run_tiles(&d, at, end - at < length ? end : at + length, chunks->groups);
        take_out(&d, chunk);
        variable_state *own = sets[at / length % groups];
        put(&d, own);
        good = good && take_all(&d, chunk);
        take_out(&d, own);
    }
    join_groups(&d, sets, groups, good);
}
