/* Rule 1: what `for tile` owns, range by range, and that its tiles are disjoint and cover the outputs. */
#include "lang/build.h"

/* A range's tile size, as written behind `i:`. */
index_expr *lang_range_size(builder *b, const expr *e, index_expr *extent, bool *whole, bool *scheduled) {
    *whole = *scheduled = false;
    if (!e || e->kind == EXPR_ERROR)
        return NULL;
    index_expr *size = NULL;
    if (e->kind == EXPR_NAME) {
        name_entry *n = name_find(b, e->name);
        if (!n) {
            index_var *v = tile_new_var(b->k, e->name, INDEX_TILE, e->span);
            n = name_add(b, e->name, NAME_SYMBOL, e->span);
            n->symbol = v;
            n->used = true;
        }
        if (n->kind == NAME_SYMBOL) {
            size = ix_var(b->arena, n->symbol);
            *scheduled = n->symbol->kind == INDEX_TILE;
        }
    }
    if (!size)
        size = lang_integer_expression(b, e, PLACE_SIZE);
    if (!size)
        return NULL;
    if (!*scheduled) {
        int64_t s, x;
        bool fixed = ix_is_const(size, &s);
        if (fixed && s < 1) {
            diag *g = lang_error(b, "E0228", e->span, "a tile of %lld elements", (long long)s);
            diag_caret(b->diags, g, "a tile holds at least 1");
            return NULL;
        }
        *whole = ix_equal(size, extent) || (fixed && ix_is_const(extent, &x) && s >= x);
        bool constant = lang_index_is_constant_size(size);
        for (int i = 0; i < b->k->symbols.count; i++)
            constant &= b->k->symbols.at[i]->kind != INDEX_TILE || !ix_mentions(size, b->k->symbols.at[i]);
        if (!*whole && !constant) {
            diag *g = lang_error(b, "E0228", e->span, "`%s` is no tile size for a range over %s",
                                 lang_source_text_of(b->arena, e), lang_index_text(b->arena, extent));
            diag_caret(b->diags, g,
                       "a size is a constant, a static name, the extent itself, or a new name that the schedule sets");
            return NULL;
        }
    }
    return *whole ? extent : size;
}

typedef struct owner {
    builder *b;
    tile_owned *owned;
    const tile_array *array;
    int first_task; /* task ranges made for this output begin here */
    bool failed;
} owner;

/* A task range over a dimension: `..`, a new range, or one that another dimension has named. NULL, and `failed` unless the expression is
 * something else. */
static tile_range *own_range(owner *o, const expr *e, const tile_array *array, int group, index_expr *dim) {
    builder *b = o->b;
    if (e->kind == EXPR_ERROR) {
        o->failed = true;
        return NULL;
    }
    if (e->kind == EXPR_ALL) {
        tile_range *r = tile_new_range(b->k, "all", dim, dim, e->span);
        r->whole = r->is_task = true;
        VEC_PUSH(b->arena, b->k->task, r);
        return r;
    }
    if (e->kind == EXPR_RANGE) {
        bool whole, scheduled;
        index_expr *size = lang_range_size(b, e->a, dim, &whole, &scheduled);
        name_entry *n = name_add(b, e->name, NAME_RANGE, e->span);
        if (!size || !n) {
            o->failed = true;
            if (n)
                n->kind = NAME_OPERAND;
            return NULL;
        }
        tile_range *r = tile_new_range(b->k, e->name, dim, size, e->span);
        r->whole = whole;
        r->scheduled = scheduled;
        r->is_task = true;
        n->range = r;
        VEC_PUSH(b->arena, b->k->task, r);
        VEC_PUSH(b->arena, b->task_ranges, r);
        return r;
    }
    if (e->kind == EXPR_TUPLE) {
        lang_error(b, "E0216", e->span, "dimension %d of `%s` is no product and takes one range", group, array->name);
        o->failed = true;
        return NULL;
    }
    if (e->kind != EXPR_NAME)
        return NULL;
    name_entry *n = name_find(b, e->name);
    if (n && n->kind == NAME_RANGE) {
        if (!lang_extents_equal(b, n->range->extent, dim)) {
            const char *extent = lang_index_text(b->arena, n->range->extent), *wanted = lang_index_text(b->arena, dim);
            diag *g = lang_error(b, "E0214", e->span, "`%s` spans %s, but dimension %d of `%s` is %s", e->name, extent, group,
                                 array->name, wanted);
            diag_caret(b->diags, g, "use a range over %s, or add `where %s == %s`", wanted, extent, wanted);
            o->failed = true;
        }
        return n->range;
    }
    if (!n) {
        diag *g = lang_error(b, "E0303", e->span, "range `%s` has no tile size", e->name);
        diag_caret(b->diags, g, "write `%s: B`, where the schedule sets B, or `..` for the whole dimension", e->name);
        o->failed = true;
    }
    return NULL;
}

/* `slot[t: BT]`: the cells at the elements of an index array. They are distinct cells because the array repeats no element. */
static void own_scatter(owner *o, const expr *e, int group, int flat) {
    builder *b = o->b;
    const char *text = lang_source_text_of(b->arena, e);
    name_entry *n = name_find(b, e->name);
    o->failed = true;
    if (!n) {
        name_unknown(b, e->name, e->span);
        return;
    }
    tile_array *from = n->kind == NAME_ARRAY ? n->array : NULL;
    if (!from || from->type != ELEMENT_INDEX) {
        diag *g = lang_error(b, "E0319", e->span, "`%s` chooses cells, but `%s` is %s", text, e->name,
                             from ? "no index array" : name_describe(n));
        diag_caret(b->diags, g, "scatter through `%s: injective index(%s)[T]`, whose data is checked at launch", e->name,
                   lang_index_text(b->arena, o->array->dims[flat]));
        return;
    }
    if (!from->injective) {
        diag *g = lang_error(b, "E0320", e->span, "an element of `%s` may occur twice: two tasks would own one cell of `%s`",
                             e->name, o->array->name);
        diag_caret(b->diags, g, "declare `%s: injective index(%s)[...]`, which the launch checks", e->name,
                   lang_index_text(b->arena, from->index_bound));
        return;
    }
    if (from->rank != 1) {
        diag *g = lang_error(b, "E0319", e->span, "`%s` has %d dimensions; a scatter goes through an index array of one", e->name,
                             from->rank);
        diag_caret(b->diags, g, "declare `%s: injective index(%s)[T]`", e->name, lang_index_text(b->arena, from->index_bound));
        return;
    }
    if (e->args.count != 1) {
        lang_error(b, "E0213", e->span, "`%s` has 1 dimension, and %d indices are given", e->name, e->args.count);
        return;
    }
    if (o->array->role != ARRAY_UPDATE) {
        diag *g = lang_error(b, "E0318", e->span, "`%s` is a new output, and nothing writes the cells that `%s` leaves out",
                             o->array->name, text);
        diag_caret(b->diags, g, "declare `update %s: ...`: the caller fills it before, and a scatter overwrites a part",
                   o->array->name);
        return;
    }
    const expr *place = e->args.at[0];
    o->failed = false;
    tile_range *r = own_range(o, place, from, 0, from->dims[0]);
    if (o->failed)
        return;
    o->failed = true;
    if (!r) {
        diag *g = lang_error(b, "E0319", place->span, "`%s` is no range of the tile", lang_source_text_of(b->arena, place));
        diag_caret(b->diags, g, "write `%s[t: BT]`, or `%s[..]` for all its elements", e->name, e->name);
        return;
    }
    linear_facts facts = lang_facts_here(b, NULL, 0);
    index_expr *dim = o->array->dims[flat];
    if (!linear_prove_nonnegative(&facts, ix_sub(b->arena, dim, from->index_bound))) {
        const char *bound = lang_index_text(b->arena, from->index_bound), *wanted = lang_index_text(b->arena, dim);
        diag *g = lang_error(b, "E0302", e->span, "`%s` is below %s, but dimension %d of `%s` is %s", text, bound, group,
                             o->array->name, wanted);
        diag_caret(b->diags, g, "declare `%s: injective index(%s)[...]`, or add `where %s <= %s`", e->name, wanted, bound,
                   wanted);
        return;
    }
    n->used = true;
    o->owned->ranges[flat] = r;
    o->owned->through[flat] = from;
    o->failed = false;
}

static bool reads_arrays(const expr *e) {
    if (!e)
        return false;
    for (int i = 0; i < e->args.count; i++)
        if (reads_arrays(e->args.at[i]))
            return true;
    return e->kind == EXPR_INDEX || e->kind == EXPR_REDUCE || reads_arrays(e->a) || reads_arrays(e->b);
}

static void own_dimension(owner *o, const expr *e, int group, int flat) {
    builder *b = o->b;
    index_expr *dim = o->array->dims[flat];
    if (e->kind == EXPR_INDEX) {
        own_scatter(o, e, group, flat);
        return;
    }
    o->owned->ranges[flat] = own_range(o, e, o->array, group, dim);
    if (o->failed || o->owned->ranges[flat])
        return;
    if (o->array->role != ARRAY_UPDATE) {
        diag *g = lang_error(b, "E0318", e->span, "`%s` is a new output and is owned as a whole, not at `%s`", o->array->name,
                             lang_source_text_of(b->arena, e));
        diag_caret(b->diags, g, "give a range (`i: B`); slices are for `update` arrays");
        o->failed = true;
        return;
    }
    if (reads_arrays(e)) {
        diag *g =
            lang_error(b, "E0319", e->span, "`%s` is computed from an array; tiles lie at its very elements, or at arguments",
                       lang_source_text_of(b->arena, e));
        diag_caret(b->diags, g, "scatter through an index array (`%s[slot[t: BT], ...]`), or pass an integer (`pos: 0..%s-1`)",
                   o->array->name, lang_index_text(b->arena, dim));
        o->failed = true;
        return;
    }
    index_expr *x = lang_integer_expression(b, e, PLACE_INDEX);
    bool varies = false;
    for (int i = 0; x && i < b->k->ranges.count; i++)
        varies |= ix_mentions(x, b->k->ranges.at[i]->var);
    if (varies) {
        diag *g = lang_error(b, "E0303", e->span, "the slice `%s` moves with a range, so tiles may overlap",
                             lang_source_text_of(b->arena, e));
        diag_caret(b->diags, g, "a slice is fixed by integer arguments, extents and constants");
        x = NULL;
    }
    if (!x) {
        o->failed = true;
        return;
    }
    linear_facts facts = lang_facts_here(b, &x, 1);
    index_expr *room = ix_sub(b->arena, ix_sub(b->arena, dim, x), ix_const(b->arena, 1));
    if (!linear_prove_nonnegative(&facts, x) || !linear_prove_nonnegative(&facts, room)) {
        diag *g = lang_error(b, "E0302", e->span, "the slice `%s` is not shown to lie within dimension %d of `%s`, which is %s",
                             lang_source_text_of(b->arena, e), group, o->array->name, lang_index_text(b->arena, dim));
        diag_caret(b->diags, g, "declare its bounds: `%s: 0..%s-1`", lang_source_text_of(b->arena, e),
                   lang_index_text(b->arena, dim));
        o->failed = true;
        return;
    }
    o->owned->fixed[flat] = x;
}

static tile_owned *own_output(builder *b, const expr *target) {
    name_entry *n = name_find(b, target->name);
    if (!n) {
        name_unknown(b, target->name, target->span);
        return NULL;
    }
    if (n->kind != NAME_ARRAY || n->array->role == ARRAY_IN) {
        diag *g =
            lang_error(b, "E0303", target->span, "`%s` is %s; `for tile` goes over outputs", target->name, name_describe(n));
        diag_caret(b->diags, g, "name an output of the kernel");
        return NULL;
    }
    tile_array *array = n->array;
    for (int i = 0; i < b->k->owned.count; i++)
        if (b->k->owned.at[i]->array == array) {
            lang_error(b, "E0303", target->span, "`%s` is named twice; its tiles would overlap", target->name);
            return NULL;
        }
    if (target->args.count != array->group_count) {
        lang_error(b, "E0213", target->span, "`%s` has %d dimension%s, and %d range%s given", target->name, array->group_count,
                   array->group_count == 1 ? "" : "s", target->args.count, target->args.count == 1 ? " is" : "s are");
        return NULL;
    }
    owner o = {.b = b, .array = array};
    o.owned = NEW(b->arena, tile_owned);
    o.owned->array = array;
    o.owned->ranges = NEW_ARRAY(b->arena, tile_range *, array->rank);
    o.owned->fixed = NEW_ARRAY(b->arena, index_expr *, array->rank);
    o.owned->through = NEW_ARRAY(b->arena, tile_array *, array->rank);
    o.owned->span = target->span;
    int flat = 0;
    for (int g = 0; g < array->group_count; g++) {
        const expr *e = target->args.at[g];
        int factors = array->groups[g];
        if (factors > 1 && e->kind != EXPR_ALL && (e->kind != EXPR_TUPLE || e->args.count != factors)) {
            if (e->kind != EXPR_ERROR) {
                diag *d = lang_error(b, "E0216", e->span,
                                     "dimension %d of `%s` is a product of %d factors and takes a tuple of %d ranges", g,
                                     array->name, factors, factors);
                diag_caret(b->diags, d, "write `(h: 1, g: G)`, a range for each factor");
            }
            o.failed = true;
            flat += factors;
            continue;
        }
        for (int f = 0; f < factors; f++, flat++)
            own_dimension(&o, factors > 1 && e->kind == EXPR_TUPLE ? e->args.at[f] : e, g, flat);
    }
    return o.failed ? NULL : o.owned;
}

/* Every output's tiles are disjoint and cover it: it names every task range that has several tiles, and each once. */
static void check_tiles(builder *b, const tile_owned *o) {
    for (int i = 0; i < o->array->rank; i++)
        for (int j = 0; j < i; j++)
            if (o->ranges[i] && o->ranges[i] == o->ranges[j]) {
                diag *g = lang_error(b, "E0303", o->span, "`%s` names the range `%s` twice, so its tiles cover a diagonal only",
                                     o->array->name, o->ranges[i]->name);
                diag_caret(b->diags, g, "give each dimension a range of its own");
                return;
            }
    for (int t = 0; t < b->k->task.count; t++) {
        const tile_range *r = b->k->task.at[t];
        bool named = r->whole;
        for (int i = 0; i < o->array->rank; i++)
            named |= o->ranges[i] == r;
        if (named)
            continue;
        diag *g = lang_error(b, "E0303", o->span, "every tile of `%s` would own the same part of `%s`", r->name, o->array->name);
        diag_caret(b->diags, g, "give `%s` a dimension for `%s`, or let `%s` be the whole dimension", o->array->name, r->name,
                   r->name);
        return;
    }
}

void lang_own_tile(builder *b, const stmt *s) {
    int errors = b->diags->errors;
    for (int i = 0; i < s->targets.count; i++) {
        tile_owned *o = own_output(b, s->targets.at[i]);
        if (o)
            VEC_PUSH(b->arena, b->k->owned, o);
    }
    if (b->diags->errors != errors)
        return;
    for (int i = 0; i < b->k->owned.count; i++)
        check_tiles(b, b->k->owned.at[i]);
    for (int i = 0; i < b->k->arrays.count; i++) {
        const tile_array *x = b->k->arrays.at[i];
        bool owned = x->role == ARRAY_IN;
        for (int j = 0; j < b->k->owned.count; j++)
            owned |= b->k->owned.at[j]->array == x;
        if (!owned) {
            diag *g = lang_error(b, "E0307", s->span, "no task owns the output `%s`, so it is never written", x->name);
            diag_caret(b->diags, g, "name it in `for tile`: `for tile ..., %s[...]`", x->name);
        }
    }
}
