/* Elements that a loop's `where` removes. A variable that changes within such a loop must say which of its elements change: for every range that
 * the condition mentions it either has that range, or takes a reduction over it, which leaves the missing elements out. Otherwise one of its
 * elements would stand for pairs that exist and pairs that do not, and nothing says which of them count. */
#include "lang/build.h"

static bool contains(const range_list *list, const tile_range *r) {
    for (int i = 0; i < list->items.count; i++)
        if (list->items.at[i] == r)
            return true;
    return false;
}

static void add(builder *b, range_list *list, tile_range *r) {
    if (!contains(list, r))
        VEC_PUSH(b->arena, list->items, r);
}

static void add_all(builder *b, range_list *list, const range_list *from) {
    for (int i = 0; i < from->items.count; i++)
        add(b, list, from->items.at[i]);
}

static void reduced_in_index(builder *b, range_list *list, const index_expr *x) {
    if (!x)
        return;
    const tile_value *owner = x->op == IX_VAR && x->var->kind == INDEX_VALUE ? x->var->owner : NULL;
    if (owner)
        add_all(b, list, &b->info.at[owner->id].reduced);
    reduced_in_index(b, list, x->a);
    reduced_in_index(b, list, x->b);
}

void missing_derive(builder *b, tile_value *v) {
    range_list *mine = &b->info.at[v->id].reduced;
    if (v->op == TILE_GET || v->op == TILE_FIELD)
        add_all(b, mine, &b->variables.at[v->variable->id].reduced);
    if (v->op == TILE_LOAD)
        for (int i = 0; i < v->array->rank; i++)
            reduced_in_index(b, mine, v->indices[i]);
    reduced_in_index(b, mine, v->index);
    for (int i = 0; i < v->operand_count; i++)
        add_all(b, mine, &b->info.at[v->operands[i]->id].reduced);
    if (v->range)
        add(b, mine, v->range);
    for (int i = 0; i < v->contract_count; i++)
        add(b, mine, v->contract[i]);
}

void missing_note_change(builder *b, const tile_variable *x, const tile_value *v) {
    add_all(b, &b->variables.at[x->id].reduced, &b->info.at[v->id].reduced);
}

/* A constant that is the state's own empty value joins nothing, whichever elements exist. */
static bool joins_nothing(const tile_variable *x, int field, const tile_value *v) {
    const tile_value *empty = x->empty[field];
    while (v->op == TILE_CONVERT)
        v = v->operands[0];
    while (empty->op == TILE_CONVERT)
        empty = empty->operands[0];
    return x->combine && v->op == TILE_CONST && empty->op == TILE_CONST && !(v->number < empty->number) &&
           !(v->number > empty->number);
}

bool missing_check_change(builder *b, const tile_variable *x, int field, const tile_value *v, source_span span) {
    for (int i = b->loops.count - 1; i >= 0 && !joins_nothing(x, field, v); i--) {
        const loop_scope *l = &b->loops.at[i];
        for (int j = 0; l->predicate && j < b->k->ranges.count; j++) {
            tile_range *r = b->k->ranges.at[j];
            if (!cond_mentions(l->predicate, r->var) || contains(&b->info.at[v->id].reduced, r))
                continue;
            bool has = false;
            for (int a = 0; a < x->axis_counts[field]; a++)
                has |= x->axes[field][a] == r;
            if (has)
                continue;
            const char *name = x->combine ? arena_printf(b->arena, "%s.%s", x->name, x->field_names[field]) : x->name;
            diag *g = lang_error(b, "E0321", span, "`%s` changes under `where %s`, and neither has nor reduces the range `%s`",
                                 name, lang_source_text_of(b->arena, l->syntax->predicate), r->name);
            diag_caret(b->diags, g, "give `%s` the range `%s`, reduce over `%s`, or change it outside the loop over `%s`", name,
                       r->name, r->name, l->range->name);
            return false;
        }
    }
    return true;
}
