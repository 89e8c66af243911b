/* Looking through values for one that has a property. */
#include "tile/tile.h"
#include <stdlib.h>

typedef struct search {
    unsigned char *seen; /* by value id: values are shared, so that paths to them are many */
    tile_test test;
    void *context;
} search;

static bool some_value(search *s, const tile_value *v);

static bool some_index(search *s, const index_expr *x) {
    if (!x)
        return false;
    if (x->op == IX_VAR)
        return x->var->kind == INDEX_VALUE && x->var->owner && some_value(s, x->var->owner);
    return some_index(s, x->a) || some_index(s, x->b);
}

static bool some_value(search *s, const tile_value *v) {
    if (s->seen[v->id])
        return false;
    s->seen[v->id] = 1;
    if (s->test(v, s->context))
        return true;
    for (int i = 0; i < v->operand_count; i++)
        if (some_value(s, v->operands[i]))
            return true;
    for (int d = 0; v->op == TILE_LOAD && d < v->array->rank; d++)
        if (some_index(s, v->indices[d]))
            return true;
    return v->op == TILE_INDEX && some_index(s, v->index);
}

static bool some_in_block(search *s, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *t = b->items.at[i];
        bool found = (t->value && some_value(s, t->value)) || some_in_block(s, &t->body);
        for (int f = 0; t->kind == TILE_STMT_JOIN && f < t->variable->field_count; f++)
            found = found || some_value(s, t->values[f]);
        for (int d = 0; t->kind == TILE_STMT_STORE && d < t->array->rank; d++)
            found = found || some_index(s, t->indices[d]);
        if (found)
            return true;
    }
    return false;
}

/* Without memory nothing is searched, and the answer is the careful one. */
bool tile_value_some(const tile_value *v, int value_count, tile_test test, void *context) {
    search s = {calloc((size_t)value_count + 1, 1), test, context};
    bool found = !s.seen || some_value(&s, v);
    free(s.seen);
    return found;
}

bool tile_block_some(const tile_block *b, int value_count, tile_test test, void *context) {
    search s = {calloc((size_t)value_count + 1, 1), test, context};
    bool found = !s.seen || some_in_block(&s, b);
    free(s.seen);
    return found;
}
