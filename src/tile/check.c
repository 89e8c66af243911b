/* The checker of Tile IR: runs after every pass. What it refuses is a mistake of the pass before it (or of hand-written text), never of a
 * tile program, so every code is an E09xx. */
#include "tile/check_private.h"
#include <string.h>

void tile_check_report(tile_checker *c, const char *code, source_span span, const char *format, ...) {
    if (++c->errors > 20) /* one broken pass makes many: enough is enough */
        return;
    text_buffer text = {0};
    va_list args;
    va_start(args, format);
    text_add_va(&text, format, args);
    va_end(args);
    diag_error(c->diags, code, span, "internal: kernel `%s`: %s", c->k->name, text_get(&text));
    text_free(&text);
}

/* --- statements --- */
static bool axes_within(const tile_value *v, tile_range *const *axes, int count) {
    for (int i = 0; i < v->axis_count; i++) {
        bool found = false;
        for (int j = 0; j < count; j++)
            found |= axes[j] == v->axes[i];
        if (!found)
            return false;
    }
    return true;
}

static void check_fields(tile_checker *c, const tile_variable *x, tile_value **values, source_span span, const char *what,
                         bool constants) {
    if (!values) {
        tile_check_report(c, "E0901", span, "`%s` has no %s", x->name, what);
        return;
    }
    for (int f = 0; f < x->field_count; f++) {
        int errors = c->errors;
        tile_check_value(c, values[f], 0);
        if (c->errors > errors)
            continue;
        if (!tile_check_same_type(values[f]->type, x->types[f]))
            tile_check_report(c, "E0905", span, "%s of `%s`, field %d: has type %s, not %s", what, x->name, f,
                              element_table[values[f]->type].name, element_table[x->types[f]].name);
        if (!axes_within(values[f], x->axes[f], x->axis_counts[f]))
            tile_check_report(c, "E0904", span, "%s of `%s`, field %d: varies over a range that the field lacks", what, x->name,
                              f);
        if (constants && values[f]->op != TILE_CONST)
            tile_check_report(c, "E0909", span, "the empty value of `%s`, field %d, is not a constant", x->name, f);
    }
}

static void check_declaration(tile_checker *c, const tile_stmt *s) {
    const tile_variable *x = s->variable;
    if (c->variable_declared[x->id])
        tile_check_report(c, "E0906", s->span, "`%s` is declared twice", x->name);
    for (int f = 0; f < x->field_count; f++) {
        if (!tile_check_is_number(x->types[f]) && x->types[f] != ELEMENT_BOOL && x->types[f] != ELEMENT_F16)
            tile_check_report(c, "E0905", s->span, "`%s`, field %d: a variable is f32, i32, u32, bool or f16", x->name, f);
        for (int i = 0; i < x->axis_counts[f]; i++)
            if (!x->axes[f][i] || !c->range_active[x->axes[f][i]->id])
                tile_check_report(c, "E0903", s->span, "`%s`, field %d, varies over a range outside its loop", x->name, f);
    }
    check_fields(c, x, x->empty, s->span, "initial value", x->combine != NULL);
    if (x->combine) {
        c->joining = x;
        check_fields(c, x, x->left, s->span, "left parameter", false);
        check_fields(c, x, x->right, s->span, "right parameter", false);
        for (int f = 0; x->left && x->right && f < x->field_count; f++)
            for (int side = 0; side < 2; side++) {
                const tile_value *v = side ? x->right[f] : x->left[f];
                if (v && (v->op != TILE_PARAM || v->side != side || v->field != f))
                    tile_check_report(c, "E0909", s->span, "`%s`, field %d: not the %s parameter of its join", x->name, f,
                                      side ? "right" : "left");
            }
        check_fields(c, x, x->join, s->span, "join", false);
        c->joining = NULL;
    }
    c->variable_declared[x->id] = c->variable_live[x->id] = 1;
}

static void check_update(tile_checker *c, const tile_stmt *s) {
    const tile_variable *x = s->variable;
    if (!c->variable_live[x->id])
        tile_check_report(c, "E0906", s->span, "`%s` is changed where it is not declared", x->name);
    if (x->combine)
        tile_check_report(c, "E0909", s->span, "`%s` is a state: only a join changes it", x->name);
    if (!tile_update_word(s->update))
        tile_check_report(c, "E0901", s->span, "`%s` is changed by something other than +=, max=, min=", x->name);
    if (s->value && !x->combine)
        check_fields(c, x, (tile_value *[]){s->value}, s->span, "update", false);
    else if (!s->value)
        tile_check_report(c, "E0901", s->span, "an update without a value");
}

static void check_store(tile_checker *c, const tile_stmt *s) {
    const tile_array *x = s->array;
    if (x->role == ARRAY_IN) {
        tile_check_report(c, "E0908", s->span, "writes the input `%s`", x->name);
        return;
    }
    int errors = c->errors;
    for (int d = 0; d < x->rank; d++)
        tile_check_index(c, s->indices[d], VARS_ALL, s->span, "an index of a store", 0);
    c->store_call = s->value;
    tile_check_value(c, s->value, 0);
    c->store_call = NULL;
    if (c->errors > errors)
        return;
    const char *why = NULL;
    if (!tile_check_within_task(c, x, s->indices, &why))
        tile_check_report(c, "E0908", s->span, "writes `%s`, but %s", x->name, why);
    if (!tile_check_same_type(s->value->type, x->type))
        tile_check_report(c, "E0905", s->span, "stores %s into `%s`, which is %s", element_table[s->value->type].name, x->name,
                          element_table[x->type].name);
    for (int i = 0; i < s->value->axis_count; i++) {
        bool found = false;
        for (int d = 0; d < x->rank; d++)
            found |= ix_mentions(s->indices[d], s->value->axes[i]->var) || tile_check_reads_value(s->indices[d]);
        if (!found)
            tile_check_report(c, "E0908", s->span, "the value stored into `%s` varies over `%s`, which its indices do not",
                              x->name, s->value->axes[i]->name);
    }
}

static void check_block(tile_checker *c, const tile_block *b);

static void check_loop(tile_checker *c, const tile_stmt *s) {
    const tile_range *r = s->range;
    if (!r || r->id < 0 || r->id >= c->k->ranges.count || c->k->ranges.at[r->id] != r) {
        tile_check_report(c, "E0902", s->span, "a loop over a range that is not the kernel's");
        return;
    }
    if (c->range_used[r->id]) {
        tile_check_report(c, "E0903", s->span, "the range `%s` has a loop already", r->name);
        return;
    }
    if (c->loop_count >= TILE_DEEPEST_LOOP) {
        tile_check_report(c, "E0901", s->span, "loops nest too deeply");
        return;
    }
    c->range_used[r->id] = c->range_active[r->id] = 1;
    if (s->predicate)
        tile_check_condition(c, s->predicate, VARS_ALL, s->span, "a predicate", 0);
    c->loops[c->loop_count++] = s;
    check_block(c, &s->body);
    c->loop_count--;
    c->range_active[r->id] = 0;
}

static void mark_stored(tile_checker *c, const tile_stmt *s) {
    /* Stores to constant slices of a product dimension leave the other slices to be read: those are told apart by the oracle and the prover. */
    for (int d = 0; d < s->array->rank; d++)
        if (ix_is_const(s->indices[d], NULL))
            return;
    if (c->loop_count == 0)
        c->stored[s->array->id] = 1;
}

static void check_block(tile_checker *c, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        bool needs_variable = s->kind == TILE_STMT_VAR || s->kind == TILE_STMT_UPDATE || s->kind == TILE_STMT_JOIN;
        if (needs_variable &&
            (!s->variable || s->variable->id >= c->k->variables.count || c->k->variables.at[s->variable->id] != s->variable)) {
            tile_check_report(c, "E0902", s->span, "a statement about a variable that is not the kernel's");
            continue;
        }
        if (s->kind == TILE_STMT_STORE &&
            (!s->array || !s->indices || s->array->id >= c->k->arrays.count || c->k->arrays.at[s->array->id] != s->array)) {
            tile_check_report(c, "E0902", s->span, "a store to an array that is not the kernel's");
            continue;
        }
        switch (s->kind) {
        case TILE_STMT_LET:
            if (!s->value || !s->value->bound) {
                tile_check_report(c, "E0901", s->span, "a let without a bound value");
                break;
            }
            if (s->value->id >= 0 && s->value->id < c->k->value_count && c->value_seen[s->value->id]) {
                tile_check_report(c, "E0906", s->span, "%%%d is bound twice", s->value->id);
                break;
            }
            tile_check_value(c, s->value, 0);
            if (s->value->id >= 0 && s->value->id < c->k->value_count)
                c->value_live[s->value->id] = c->value_seen[s->value->id] = 1;
            break;
        case TILE_STMT_VAR: check_declaration(c, s); break;
        case TILE_STMT_UPDATE: check_update(c, s); break;
        case TILE_STMT_JOIN:
            if (!s->variable->combine)
                tile_check_report(c, "E0909", s->span, "`%s` is no state", s->variable->name);
            if (!c->variable_live[s->variable->id])
                tile_check_report(c, "E0906", s->span, "`%s` is changed where it is not declared", s->variable->name);
            check_fields(c, s->variable, s->values, s->span, "joined value", false);
            break;
        case TILE_STMT_STORE:
            check_store(c, s);
            mark_stored(c, s);
            break;
        case TILE_STMT_LOOP: check_loop(c, s); break;
        default: tile_check_report(c, "E0901", s->span, "a statement of no known kind");
        }
    }
    for (int i = 0; i < b->items.count; i++) { /* what the block bound ends with it */
        const tile_stmt *s = b->items.at[i];
        if (s->kind == TILE_STMT_LET && s->value && s->value->id >= 0 && s->value->id < c->k->value_count)
            c->value_live[s->value->id] = 0;
        if (s->kind == TILE_STMT_VAR && s->variable && s->variable->id < c->k->variables.count)
            c->variable_live[s->variable->id] = 0;
    }
}

/* --- declarations --- */
static void check_declarations(tile_checker *c) {
    const tile_kernel *k = c->k;
    if (k->derived.count != k->symbols.count)
        tile_check_report(c, "E0901", k->span, "the derived symbols do not match the symbols");
    if (k->arguments.count != k->argument_is_scalar.count)
        tile_check_report(c, "E0901", k->span, "the list of arguments is torn");
    for (int i = 0; i < k->symbols.count; i++) {
        const index_var *v = k->symbols.at[i];
        if (!v || !v->name || (v->kind != INDEX_SYMBOL && v->kind != INDEX_STATIC && v->kind != INDEX_TILE))
            tile_check_report(c, "E0901", k->span, "symbol %d is none", i);
        else if (v->has_value && v->kind == INDEX_SYMBOL)
            tile_check_report(c, "E0901", v->span, "the symbol `%s` has a value at compile time", v->name);
    }
    for (int i = 0; i < k->derived.count && i < k->symbols.count; i++)
        if (k->derived.at[i])
            tile_check_index(c, k->derived.at[i], VARS_LAUNCH, k->span, "a derived symbol", 0);
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i]->id != i || !tile_check_valid_type(k->scalars.at[i]->type) ||
            tile_check_is_integer(k->scalars.at[i]->type) != (k->scalars.at[i]->var != NULL))
            tile_check_report(c, "E0901", k->scalars.at[i]->span, "the scalar `%s` is misnumbered or has no variable",
                              k->scalars.at[i]->name);
    for (int i = 0; i < k->arrays.count; i++) {
        const tile_array *x = k->arrays.at[i];
        int factors = 0;
        for (int g = 0; g < x->group_count; g++)
            factors += x->groups[g];
        if (x->id != i || !tile_check_valid_type(x->type) || factors != x->rank)
            tile_check_report(c, "E0901", x->span, "the array `%s` is misnumbered, or its dimensions and their groups disagree",
                              x->name);
        for (int d = 0; d < x->rank; d++)
            tile_check_index(c, x->dims[d], VARS_SYMBOLS, x->span, "an extent", 0);
        if ((x->type == ELEMENT_INDEX) != (x->index_bound != NULL))
            tile_check_report(c, "E0901", x->span, "the array `%s` is index(V) without a V", x->name);
        if (x->injective && x->type != ELEMENT_INDEX)
            tile_check_report(c, "E0901", x->span, "the array `%s` is injective but holds no indices", x->name);
    }
    for (int i = 0; i < k->where.count; i++)
        tile_check_condition(c, k->where.at[i], VARS_LAUNCH, k->span, "a where", 0);
    for (int i = 0; i < k->ranges.count; i++) {
        const tile_range *r = k->ranges.at[i];
        if (r->id != i || !r->var || r->var->kind != INDEX_RANGE || r->var->owner != r) {
            tile_check_report(c, "E0901", r->span, "the range `%s` is misnumbered or its variable is not its own", r->name);
            continue;
        }
        int64_t size;
        tile_check_index(c, r->extent, VARS_LAUNCH, r->span, "an extent", 0);
        tile_check_index(c, r->size, VARS_LAUNCH, r->span, "a tile size", 0);
        if (r->size && ix_is_const(r->size, &size) && size < 1 && !r->whole)
            tile_check_report(c, "E0901", r->span, "the range `%s` has tiles of %lld", r->name, (long long)size);
        if (r->held && (!r->whole || !r->size || !ix_is_const(r->size, &size)))
            tile_check_report(c, "E0901", r->span, "the range `%s` is held, but not whole or of no constant size", r->name);
    }
    for (int i = 0; i < k->variables.count; i++)
        if (k->variables.at[i]->id != i || k->variables.at[i]->field_count < 1 ||
            (!k->variables.at[i]->combine && k->variables.at[i]->field_count != 1))
            tile_check_report(c, "E0901", k->variables.at[i]->span, "the variable `%s` is misnumbered or has no field",
                              k->variables.at[i]->name);
}

/* The elements of an index array that repeats none, over a task range: disjoint cells for disjoint tiles. Other cells keep what they held. */
static void check_scatter(tile_checker *c, const tile_owned *o, int d) {
    const tile_array *x = o->through[d];
    if (x->id >= c->k->arrays.count || c->k->arrays.at[x->id] != x || x->role != ARRAY_IN || x->type != ELEMENT_INDEX ||
        x->rank != 1 || !x->injective)
        tile_check_report(c, "E0908", o->span,
                          "`%s` is scattered through `%s`, which is no injective index array of one dimension", o->array->name,
                          x->name);
    else if (!tile_check_extents_agree(c, o->ranges[d]->extent, x->dims[0]))
        tile_check_report(c, "E0908", o->span, "`%s` and the range `%s` have different extents", x->name, o->ranges[d]->name);
    if (o->array->role != ARRAY_UPDATE)
        tile_check_report(c, "E0908", o->span, "`%s` is scattered to, but is no update array", o->array->name);
}

static void check_ownership(tile_checker *c) {
    const tile_kernel *k = c->k;
    for (int i = 0; i < k->task.count; i++) {
        const tile_range *r = k->task.at[i];
        if (!r || r->id >= k->ranges.count || k->ranges.at[r->id] != r || !r->is_task) {
            tile_check_report(c, "E0902", k->span, "task range %d is not a range of the task", i);
            continue;
        }
        if (c->range_used[r->id])
            tile_check_report(c, "E0903", r->span, "the task range `%s` is listed twice", r->name);
        c->range_active[r->id] = c->range_used[r->id] = 1;
    }
    for (int i = 0; i < k->ranges.count; i++)
        if (k->ranges.at[i]->is_task && !c->range_active[i])
            tile_check_report(c, "E0903", k->ranges.at[i]->span, "the range `%s` is not among the task's", k->ranges.at[i]->name);
    for (int i = 0; i < k->owned.count; i++) {
        const tile_owned *o = k->owned.at[i];
        if (!o->array || o->array->id >= k->arrays.count || k->arrays.at[o->array->id] != o->array ||
            o->array->role == ARRAY_IN) {
            tile_check_report(c, "E0908", o->span, "the task owns part of something that is no output");
            continue;
        }
        for (int j = 0; j < i; j++)
            if (k->owned.at[j]->array == o->array)
                tile_check_report(c, "E0908", o->span, "`%s` is owned twice", o->array->name);
        for (int d = 0; d < o->array->rank; d++) {
            const tile_range *r = o->ranges[d];
            if ((r != NULL) == (o->fixed[d] != NULL) || (o->through[d] && !r)) {
                tile_check_report(c, "E0908", o->span, "dimension %d of `%s` needs a range or a fixed index", d, o->array->name);
            } else if (r) {
                if (!r->is_task)
                    tile_check_report(c, "E0908", o->span, "dimension %d of `%s` is owned through `%s`, which is no task range",
                                      d, o->array->name, r->name);
                else if (o->through[d])
                    check_scatter(c, o, d);
                else if (!tile_check_extents_agree(c, r->extent, o->array->dims[d]))
                    tile_check_report(c, "E0908", o->span, "dimension %d of `%s` and the range `%s` have different extents", d,
                                      o->array->name, r->name);
                for (int e = 0; e < d; e++)
                    if (o->ranges[e] == r)
                        tile_check_report(c, "E0908", o->span, "`%s` is owned through `%s` twice", o->array->name, r->name);
            } else {
                tile_check_index(c, o->fixed[d], VARS_ALL, o->span, "a slice", 0);
            }
        }
        /* Two tasks must own different cells: every task range with more than one tile has to choose some dimension, or be one that slices choose. */
        for (int t = 0; t < k->task.count; t++) {
            const tile_range *r = k->task.at[t];
            int64_t extent, size = 1;
            bool one_tile = ix_is_const(r->extent, &extent) && (extent <= 1 || (ix_is_const(r->size, &size) && extent <= size));
            bool chooses = r->whole || one_tile;
            for (int d = 0; d < o->array->rank; d++)
                chooses |= o->ranges[d] == r ||
                           (o->fixed[d] && (ix_mentions(o->fixed[d], r->var) || tile_check_reads_value(o->fixed[d])));
            if (!chooses)
                tile_check_report(c, "E0908", o->span, "tasks that differ in `%s` own the same cells of `%s`", r->name,
                                  o->array->name);
        }
    }
    for (int i = 0; i < k->arrays.count; i++) {
        bool owned = k->arrays.at[i]->role == ARRAY_IN;
        for (int j = 0; j < k->owned.count; j++)
            owned |= k->owned.at[j]->array == k->arrays.at[i];
        if (!owned)
            tile_check_report(c, "E0908", k->arrays.at[i]->span, "nobody owns the output `%s`", k->arrays.at[i]->name);
    }
}

static bool block_stores(const tile_block *b, const tile_array *x) {
    for (int i = 0; i < b->items.count; i++)
        if (b->items.at[i]->kind == TILE_STMT_STORE ? b->items.at[i]->array == x : block_stores(&b->items.at[i]->body, x))
            return true;
    return false;
}

bool tile_check(const tile_kernel *k, diag_list *diags) {
    tile_checker c = {.k = k, .diags = diags, .scratch = arena_new()};
    int values = k->value_count > 0 ? k->value_count : 1;
    c.range_active = arena_alloc(c.scratch, (size_t)k->ranges.count + 1);
    c.range_used = arena_alloc(c.scratch, (size_t)k->ranges.count + 1);
    c.variable_live = arena_alloc(c.scratch, (size_t)k->variables.count + 1);
    c.variable_declared = arena_alloc(c.scratch, (size_t)k->variables.count + 1);
    c.value_live = arena_alloc(c.scratch, (size_t)values);
    c.value_seen = arena_alloc(c.scratch, (size_t)values);
    c.by_id = NEW_ARRAY(c.scratch, const tile_value *, values);
    c.stored = arena_alloc(c.scratch, (size_t)k->arrays.count + 1);
    check_declarations(&c);
    if (!c.errors)
        check_ownership(&c);
    if (!c.errors)
        check_block(&c, &k->body);
    for (int i = 0; !c.errors && i < k->arrays.count; i++)
        if (k->arrays.at[i]->role != ARRAY_IN && !block_stores(&k->body, k->arrays.at[i]))
            tile_check_report(&c, "E0908", k->arrays.at[i]->span, "the output `%s` is never written", k->arrays.at[i]->name);
    arena_free(c.scratch);
    return c.errors == 0;
}
