/* Lowering to the threads of a block: an accumulator that a loop only adds to needs no whole sum before the loop's end. Each thread goes on with
 * its own part from tile to tile, and the parts are joined once. */
#include "schedule/lower.h"

static bool reads_variable(const tile_value *v, void *variable) {
    return (v->op == TILE_GET || v->op == TILE_FIELD) && v->variable == variable;
}

/* Whether the statements change x by `op` alone. */
static bool only_updated(const tile_block *b, const tile_variable *x, tile_op op) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        bool other = (s->kind == TILE_STMT_JOIN || (s->kind == TILE_STMT_UPDATE && s->update != op)) && s->variable == x;
        if (other || !only_updated(&s->body, x, op))
            return false;
    }
    return true;
}

static bool declared_in(const tile_block *b, const tile_variable *x) {
    for (int i = 0; i < b->items.count; i++)
        if ((b->items.at[i]->kind == TILE_STMT_VAR && b->items.at[i]->variable == x) || declared_in(&b->items.at[i]->body, x))
            return true;
    return false;
}

static bool combines_by(const tile_value *heavy, tile_op op) {
    switch (heavy->op) {
    case TILE_DOT:
    case TILE_REDUCE_SUM: return op == TILE_ADD;
    case TILE_REDUCE_MAX: return op == TILE_MAX;
    case TILE_REDUCE_MIN: return op == TILE_MIN;
    default: return false;
    }
}

/* Whether threads would have anything to exchange at the end of each tile, or to add to what they hold besides. */
static bool is_exchanged(const lower *l, const tile_value *heavy) {
    if (lanes_staged(l, heavy))
        return true;
    tile_range *const *reduced = heavy->op == TILE_DOT ? heavy->contract : &heavy->range;
    int count = heavy->op == TILE_DOT ? heavy->contract_count : 1;
    for (int i = 0; i < count; i++) {
        const spread *x = &l->spreads[reduced[i]->id];
        if (x->lanes > 1 || x->subgroups > 1 || x->vector > 1)
            return true;
    }
    return false;
}

bool lanes_may_defer(const lower *l, const tile_stmt *update, const tile_stmt *loop) {
    const tile_variable *x = update->variable;
    const tile_value *heavy = update->value;
    if (l->fragment_products[x->id])
        return false; /* its accumulators are the running sum */
    if (x->field_count != 1 || !combines_by(heavy, update->update) || !is_exchanged(l, heavy))
        return false;
    if (heavy->type != x->types[0] || accumulator_type(heavy) != x->types[0] ||
        (heavy->op == TILE_DOT && heavy->accumulator == ELEMENT_F16))
        return false; /* each sum rounds to that type on the way */
    return has_just_ranges(heavy, x->axes[0], x->axis_counts[0]) && only_updated(&loop->body, x, update->update) &&
           !tile_block_some(&loop->body, l->value_count, reads_variable, update->variable) && !declared_in(&loop->body, x);
}

static void defer_in(lower *l, const tile_block *b, const tile_stmt *loop) {
    for (int i = 0; i < b->items.count && !l->failed; i++) {
        const tile_stmt *s = b->items.at[i];
        bool known = false;
        for (int k = 0; k < l->deferred.count; k++)
            known = known || l->deferred.at[k].update == s;
        if (s->kind == TILE_STMT_UPDATE && !known && lanes_may_defer(l, s, loop)) {
            sink *to = NEW(l->arena, sink);
            *to = variable_sink(l, s->variable, 0);
            reduction *parts = lanes_reduction_new(l, to->axes, to->axis_count, updated_value(l, s), s->value, to, s->span, true);
            if (parts) {
                lanes_reduction_start(parts);
                deferred_update u = {s, s->value, parts};
                VEC_PUSH(l->arena, l->deferred, u);
            }
        }
        defer_in(l, &s->body, loop);
    }
}

int lanes_defer(lower *l, const tile_stmt *loop) {
    int first = l->deferred.count;
    if (l->spreads && !l->chain)
        defer_in(l, &loop->body, loop);
    return first;
}

bool lanes_update_deferred(lower *l, const tile_stmt *update) {
    for (int i = 0; i < l->deferred.count; i++)
        if (l->deferred.at[i].update == update) {
            prepare_root(l, l->deferred.at[i].heavy, l->deferred.at[i].heavy);
            lanes_reduction_share(l->deferred.at[i].parts);
            return true;
        }
    return false;
}

void lanes_join_deferred(lower *l, int first) {
    for (int i = first; i < l->deferred.count && !l->failed; i++) {
        const deferred_update *u = &l->deferred.at[i];
        count_root_references(l, updated_value(l, u->update));
        lanes_reduction_end(u->parts);
    }
    l->deferred.count = first;
}
