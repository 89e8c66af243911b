/* How many subgroups a kernel's blocks have. */
#include "schedule/lower.h"

typedef struct access_set {
    bool *at; /* [array][dimension] */
    int most_rank;
    unsigned char *seen;
    const tile_range *along;
} access_set;

static void loads_along(access_set *s, const tile_value *v) {
    if (s->seen[v->id]++)
        return;
    for (int d = 0; v->op == TILE_LOAD && d < v->array->rank; d++)
        if (ix_mentions(v->indices[d], s->along->var))
            s->at[v->array->id * s->most_rank + d] = true;
    for (int i = 0; i < v->operand_count; i++)
        loads_along(s, v->operands[i]);
}

static void loads_in(access_set *s, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *t = b->items.at[i];
        if (t->value)
            loads_along(s, t->value);
        for (int f = 0; t->kind == TILE_STMT_JOIN && f < t->variable->field_count; f++)
            loads_along(s, t->values[f]);
        loads_in(s, &t->body);
    }
}

/* Whether two loops of a task, one after the other, go over the same dimension of an array. */
static bool reads_again(arena *a, const tile_kernel *k) {
    int most_rank = 1;
    for (int i = 0; i < k->arrays.count; i++)
        most_rank = k->arrays.at[i]->rank > most_rank ? k->arrays.at[i]->rank : most_rank;
    int cells = k->arrays.count * most_rank;
    bool *before = NEW_ARRAY(a, bool, cells);
    for (int i = 0; i < k->body.items.count; i++) {
        const tile_stmt *t = k->body.items.at[i];
        if (t->kind != TILE_STMT_LOOP)
            continue;
        access_set s = {NEW_ARRAY(a, bool, cells), most_rank, NEW_ARRAY(a, unsigned char, k->value_count), t->range};
        loads_in(&s, &t->body);
        for (int c = 0; c < cells; c++) {
            if (s.at[c] && before[c])
                return true;
            before[c] = before[c] || s.at[c];
        }
    }
    return false;
}

/* Half of a kernel that was split because it has few tasks, whose subgroups take a loop's tiles in turn. */
static bool is_dealt_half(const tile_kernel *k) {
    return k->origin && dealt_loop(k);
}

machine_model block_machine(arena *a, const tile_kernel *k, const machine_model *machine) {
    machine_model m = *machine;
    if (m.options.subgroups)
        m.subgroups = m.options.subgroups;
    else if (m.options.operand_warpgroups)
        m.subgroups = m.warpgroup_block;
    else if (m.dealing_subgroups && is_dealt_half(k)) /* single elements are little work: twice as many subgroups */
        m.subgroups = m.dealing_subgroups * (dealt_loop(k)->range->scheduled ? 1 : 2);
    else if (m.subgroup_lanes && m.rereading_subgroups && reads_again(a, k))
        m.subgroups = m.rereading_subgroups;
    return m;
}
