/* Lowering: statements in order. LETs, variables, updates, joins, stores, loops; and the private memory they keep. */
#include "schedule/lanes_fragment.h"
#include <string.h>

/* ---- private memory ---- */

void order_last(tile_range **axes, int count, const tile_range *last) {
    for (int i = 0; i < count - 1; i++)
        if (axes[i] == last) {
            memmove(&axes[i], &axes[i + 1], sizeof *axes * (size_t)(count - 1 - i));
            axes[count - 1] = (tile_range *)last;
            return;
        }
}

kernel_array *private_array(lower *l, const char *name, element_type type, tile_range **axes, int axis_count, source_span span) {
    index_expr **dims = NEW_ARRAY(l->arena, index_expr *, axis_count);
    int rank = 0, lanes = 1;
    const spread *spreads = lanes_table(l, axes, axis_count);
    for (int d = 0; d < axis_count; d++) {
        int64_t capacity = range_capacity(axes[d]);
        if (spreads && capacity >= 0) {
            int64_t slots = spread_slots_in(spreads, axes[d]);
            if (slots > 1)
                dims[rank++] = ix_const(l->arena, slots);
            if (spreads[axes[d]->id].vector > 1)
                lanes = spreads[axes[d]->id].vector;
            continue;
        }
        if (capacity < 0) {
            lower_error(l, "E0593", span,
                        "`%s` would have to be held over all of `%s`, whose extent is not a compile-time constant", name,
                        axes[d]->name);
            return NULL;
        }
        dims[rank++] = ix_const(l->arena, capacity);
    }
    kernel_array *array =
        kernel_add_array(l->ir, lower_name(l, name), l->spreads ? SPACE_REGISTER : SPACE_PRIVATE, USE_LOCAL, type, rank, dims);
    array->lanes = lanes;
    array->span = span;
    if (l->fills)
        lanes_fill(l, array, kernel_const(l->ir, array->element, 1, 0), span);
    else if (lanes_apart(l, axes, axis_count))
        lanes_fill_apart(l, array, axes, axis_count, span);
    return array;
}

const tile_range *preferred_last_axis(lower *l, tile_value *v) {
    value_list heavy = {0};
    find_heavy(l, v, &heavy);
    for (int i = 0; i < heavy.count; i++) {
        tile_value *h = heavy.at[i];
        reduction_shape shape = choose_reduction_shape(l, h->axes, h->axis_count, h);
        if (shape.vector && !shape.vector_reduced)
            return shape.vector;
    }
    const tile_range *best = NULL;
    int best_score = 0;
    for (int i = 0; i < v->axis_count; i++) {
        int x = may_vectorise(l, v->axes[i]) ? vector_score(l, v, v->axes[i]) : 0;
        if (x > best_score) {
            best_score = x;
            best = v->axes[i];
        }
    }
    return best;
}

/* How a variable's field will be written: by its first update or join. */
static tile_value *first_change(const tile_block *b, const tile_variable *x, int field) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        if (s->kind == TILE_STMT_UPDATE && s->variable == x)
            return s->value;
        if (s->kind == TILE_STMT_JOIN && s->variable == x)
            return s->values[field];
        tile_value *inner = s->kind == TILE_STMT_LOOP ? first_change(&s->body, x, field) : NULL;
        if (inner)
            return inner;
    }
    return NULL;
}

static void declare_variable(lower *l, tile_variable *x) {
    arena *a = l->arena;
    if (l->chain) {
        lanes_chain_declare(l, x);
        return;
    }
    if (lanes_epilogue_declare(l, x))
        return;
    l->fields[x->id] = NEW_ARRAY(a, kernel_array *, x->field_count);
    l->field_axes[x->id] = NEW_ARRAY(a, tile_range **, x->field_count);
    for (int f = 0; f < x->field_count; f++) {
        int count = x->axis_counts[f];
        tile_range **axes = NEW_ARRAY(a, tile_range *, count);
        memcpy(axes, x->axes[f], sizeof *axes * (size_t)count);
        tile_value *change = first_change(&l->k->body, x, f);
        /* The loops it is changed in are not entered yet, but their shape is known from the ranges alone. */
        tile_value *initial = x->empty[f];
        order_last(axes, count, preferred_last_axis(l, change ? change : initial));
        l->field_axes[x->id][f] = axes;
        const char *name = x->field_names ? arena_printf(a, "%s_%s", x->name, x->field_names[f]) : x->name;
        l->fields[x->id][f] = private_array(l, name, x->types[f], axes, count, x->span);
        if (!l->fields[x->id][f])
            return;
    }
    for (int f = 0; f < x->field_count; f++) {
        sink s = {.private_array = l->fields[x->id][f],
                  .axes = l->field_axes[x->id][f],
                  .axis_count = x->axis_counts[f],
                  .type = x->types[f]};
        lower_root(l, s.axes, s.axis_count, x->empty[f], &s, x->span);
    }
}

/* ---- statements ---- */

static int expense(const tile_value *v, unsigned char *seen) {
    if (seen[v->id]++)
        return 0;
    int cost = 0;
    const char *kind = tile_op_table[v->op].kind;
    if (!strcmp(kind, "math") || v->op == TILE_DIV || v->has_outside)
        cost = 8;
    else if (strcmp(kind, "leaf"))
        cost = 1;
    for (int i = 0; i < v->operand_count; i++)
        cost += expense(v->operands[i], seen);
    return cost;
}

/* A LET is computed where it is used when that costs little or happens once; otherwise it is kept. */
static void lower_let(lower *l, tile_value *v) {
    if (l->uses[v->id] == 0 || lanes_epilogue_let(l, v))
        return;
    value_list heavy = {0};
    find_heavy(l, v, &heavy);
    bool constant = true, held = false, state = value_mentions_state(l, v);
    for (int i = 0; i < v->axis_count; i++) {
        constant = constant && range_capacity(v->axes[i]) >= 0;
        held = held || v->axes[i]->held;
    }
    if (v->axis_count == 0 && heavy.count == 0) {
        memset(l->references, 0, sizeof *l->references * (size_t)l->value_count);
        point p = point_new(l);
        kernel_value *x = emit_value(&p, v);
        if (x->op != KERNEL_REF)
            x = kernel_ref(l->ir, kernel_let(l->ir, l->block, lower_name(l, v->name ? v->name : "x"), x, v->span));
        l->held_scalar[v->id] = x->let;
        return;
    }
    int cost = expense(v, NEW_ARRAY(l->arena, unsigned char, l->value_count));
    bool keep = heavy.count > 0 || state || (l->uses[v->id] > 1 && (cost > 4 || held) && constant);
    if (keep)
        hold_value(l, v);
}

static bool reads_param(const tile_value *v, int side, int field, unsigned char *seen) {
    if (seen[v->id]++)
        return false;
    if (v->op == TILE_PARAM && v->side == side && v->field == field)
        return true;
    for (int i = 0; i < v->operand_count; i++)
        if (reads_param(v->operands[i], side, field, seen))
            return true;
    return false;
}

static bool join_reads(lower *l, const tile_variable *x, int f, int side, int field) {
    return reads_param(x->join[f], side, field, NEW_ARRAY(l->arena, unsigned char, l->value_count));
}

sink variable_sink(lower *l, const tile_variable *x, int f) {
    return (sink){.private_array = l->fields[x->id][f],
                  .axes = l->field_axes[x->id][f],
                  .axis_count = x->axis_counts[f],
                  .type = x->types[f]};
}

static void set_field(lower *l, const tile_variable *x, int field, tile_value *value, source_span span) {
    if (l->chain) {
        lanes_chain_set(l, x, field, value, span);
        return;
    }
    sink to = variable_sink(l, x, field);
    lower_root(l, to.axes, to.axis_count, value, &to, span);
}

/* A field is written once no other field still has to read its old value; fields that read each other in a ring go through copies. */
void lower_join_values(lower *l, tile_variable *x, tile_value **values, source_span span) {
    int n = x->field_count;
    l->join_state = x;
    l->join_right = values;
    for (int f = 0; f < n; f++) {
        int readers = 0;
        for (int g = 0; g < n; g++)
            readers += join_reads(l, x, g, 1, f);
        value_list heavy = {0};
        find_heavy(l, values[f], &heavy);
        if (!l->held[values[f]->id] && !lanes_chain_holds(l, values[f]) &&
            ((heavy.count && readers > 1) || value_mentions_state(l, values[f])))
            hold_value(l, values[f]);
    }
    bool *written = NEW_ARRAY(l->arena, bool, n);
    for (int done = 0; done < n;) {
        int next = -1;
        for (int f = 0; f < n && next < 0; f++) {
            bool needed = written[f];
            for (int g = 0; g < n && !needed; g++)
                needed = g != f && !written[g] && join_reads(l, x, g, 0, f);
            if (!needed)
                next = f;
        }
        if (next < 0)
            break;
        set_field(l, x, next, x->join[next], span);
        written[next] = true;
        done++;
    }
    for (int f = 0; f < n; f++)
        if (!written[f])
            hold_value(l, x->join[f]);
    for (int f = 0; f < n; f++)
        if (!written[f]) {
            set_field(l, x, f, x->join[f], span);
            l->held[x->join[f]->id] = NULL;
            lanes_chain_drop(l, x->join[f]);
        }
    l->join_state = NULL;
    l->join_right = NULL;
}

static tile_value *made_value(lower *l, tile_op op, element_type type, source_span span) {
    tile_value *v = NEW(l->arena, tile_value);
    v->op = op;
    v->type = v->accumulator = type;
    v->span = span;
    v->id = l->value_count++;
    return v;
}

/* Values that stand for another subgroup's fields. */
static void make_partners(lower *l, const tile_variable *x) {
    l->partners[x->id] = NEW_ARRAY(l->arena, tile_value *, x->field_count);
    for (int f = 0; f < x->field_count; f++) {
        tile_value *v = made_value(l, TILE_CONST, x->types[f], x->span);
        v->axes = x->axes[f];
        v->axis_count = x->axis_counts[f];
        l->partners[x->id][f] = v;
    }
}

/* variable op= value, as a value over the variable's ranges. Made before anything is sized by value_count. */
void make_updates(lower *l, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        tile_stmt *s = b->items.at[i];
        if (s->kind == TILE_STMT_LOOP)
            make_updates(l, &s->body);
        if (s->kind == TILE_STMT_VAR && s->variable->combine)
            make_partners(l, s->variable);
        if (s->kind != TILE_STMT_UPDATE)
            continue;
        tile_variable *x = s->variable;
        tile_value *old = made_value(l, TILE_GET, x->types[0], s->span), *new = made_value(l, s->update, x->types[0], s->span);
        old->variable = x;
        old->axis_count = new->axis_count = x->axis_counts[0];
        old->axes = new->axes = x->axes[0];
        new->operand_count = 2;
        new->operands = NEW_ARRAY(l->arena, tile_value *, 2);
        new->operands[0] = old;
        new->operands[1] = s->value;
        update u = {s, new};
        VEC_PUSH(l->arena, l->updates, u);
    }
}

tile_value *updated_value(const lower *l, const tile_stmt *update) {
    for (int i = 0; i < l->updates.count; i++)
        if (l->updates.at[i].stmt == update)
            return l->updates.at[i].value;
    return NULL;
}

static void lower_update(lower *l, const tile_stmt *s) {
    if (!lanes_epilogue_update(l, s) && !lanes_update_deferred(l, s))
        set_field(l, s->variable, 0, updated_value(l, s), s->span);
}

void lower_collect_ranges(index_expr *x, tile_range **axes, int *count) {
    if (!x)
        return;
    if (x->op == IX_VAR && x->var->kind == INDEX_RANGE) {
        for (int i = 0; i < *count; i++)
            if (axes[i] == x->var->owner)
                return;
        axes[(*count)++] = x->var->owner;
    } else if (x->op == IX_VAR && x->var->kind == INDEX_VALUE) {
        const tile_value *v = x->var->owner;
        for (int i = 0; i < v->axis_count; i++) {
            index_expr range = {.op = IX_VAR, .var = v->axes[i]->var};
            lower_collect_ranges(&range, axes, count);
        }
    }
    lower_collect_ranges(x->a, axes, count);
    lower_collect_ranges(x->b, axes, count);
}

static bool block_reads_updated(const lower *l, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        bool reads = s->value && value_reads_updated(l, s->value);
        for (int f = 0; s->kind == TILE_STMT_JOIN && f < s->variable->field_count; f++)
            reads = reads || value_reads_updated(l, s->values[f]);
        if (reads || block_reads_updated(l, &s->body))
            return true;
    }
    return false;
}

static bool reads_updated(const lower *l) {
    return block_reads_updated(l, &l->k->body);
}

void lower_store(lower *l, const tile_stmt *s) {
    tile_range **axes = NEW_ARRAY(l->arena, tile_range *, l->k->ranges.count);
    int count = 0;
    if (l->chain) {
        lanes_chain_store(l, s);
        return;
    }
    if (lanes_epilogue_store(l, s))
        return;
    for (int d = 0; d < s->array->rank; d++)
        lower_collect_ranges(s->indices[d], axes, &count);
    sink to = {.array = s->array, .indices = s->indices, .type = s->array->type};
    if (lower_store_is_call(l, s->value, s->value->span))
        to.call = s->value;
    if (l->spreads && s->array->role == ARRAY_UPDATE && lanes_first_copy(l, axes, count) && reads_updated(l)) {
        /* Threads that hold copies read the old cells too: all have read before the first of them writes. */
        if (!l->held[s->value->id] && !l->held_scalar[s->value->id])
            hold_value(l, s->value);
        lanes_barrier(l, 1u << SPACE_GLOBAL, s->span);
    }
    lower_root(l, axes, count, s->value, &to, s->span);
}

/* ---- loops ---- */

/* What they keep in private memory ends with them. */
void lower_loop_body(lower *l, const tile_stmt *s) {
    tile_range *r = s->range;
    kernel_block *outside = l->block;
    /* What a predicate says of single elements alone is settled here: no loop opens them. */
    point p = point_new(l);
    cond *guard = NULL;
    for (int i = 0; i < l->atoms.count; i++) {
        const atom *t = &l->atoms.at[i];
        if (atom_mentions(t, r) && range_open(&p, r) && atom_settled(&p, t))
            guard = cond_and(l->arena, guard,
                             emit_cond(&p, t->guard ? t->guard : cond_compare(l->arena, COND_LE, t->x, ix_const(l->arena, 0))));
    }
    if (guard) {
        kernel_stmt *test = kernel_append(l->ir, l->block, KSTMT_IF, s->span);
        test->condition = guard;
        l->block = &test->body;
    }
    size_t values = (size_t)l->value_count;
    kernel_array **held = NEW_ARRAY(l->arena, kernel_array *, values);
    memcpy(held, l->held, values * sizeof *held);
    kernel_stmt **scalars =
        NEW_ARRAY(l->arena, kernel_stmt *, values); /* named in this loop: the loop of the last tile has not got them */
    memcpy(scalars, l->held_scalar, values * sizeof *scalars);
    l->predicates[r->id] = s->predicate;
    VEC_PUSH(l->arena, l->loops, r);
    lanes_load_edge(l, s);
    const bool copied = lanes_chain_enter(l, s);
    lower_block(l, &s->body);
    lanes_chain_leave(l, s, copied);
    l->loops.count--;
    l->place[r->id].entered = false;
    memcpy(l->held, held, values * sizeof *held);
    memcpy(l->held_scalar, scalars, values * sizeof *scalars);
    l->block = outside;
}

/* A loop over tiles of `size` elements. `count`: the elements of every tile, when that is known. */
static void lower_tiles(lower *l, const tile_stmt *s, index_expr *lo, index_expr *hi, index_expr *exact_hi, int64_t size,
                        index_expr *count) {
    arena *a = l->arena;
    tile_range *r = s->range;
    kernel_block *outside = l->block;
    index_expr *start = s == l->dealt ? lanes_deal(l, s, lo, hi, size, count || size == 1) : NULL;
    if (!start) {
        kernel_stmt *loop =
            kernel_for(l->ir, l->block, lower_name(l, arena_printf(a, "%s_start", r->name)), lo, hi, size, s->span);
        l->block = &loop->body;
        start = ix_var(a, loop->var);
    }
    range_place *place = &l->place[r->id];
    *place =
        (range_place){.start = start, .count = count ? count : ix_const(a, 1), .capacity = range_capacity(r), .entered = true};
    if (size > 1 && !count)
        place->count =
            name_index(l, l->block, arena_printf(a, "%s_count", r->name), ix_min(a, ix_const(a, size), ix_sub(a, hi, start)));
    else if (size == 1)
        place->capacity = 1;
    if (size > 1 && !count && !ix_equal(hi, exact_hi))
        place->limit = ix_min(a, ix_const(a, size), ix_sub(a, exact_hi, start));
    lower_loop_body(l, s);
    l->block = outside;
}

/* The same with whole tiles apart from the last one, so that their threads need no guards. `on_grid`: lo is a multiple of the size, and not below 0. */
static void lower_tiles_apart(lower *l, const tile_stmt *s, index_expr *lo, index_expr *hi, index_expr *exact_hi, int64_t size,
                              bool on_grid) {
    arena *a = l->arena;
    int64_t first, last;
    if (size == 1) {
        if (s != l->dealt || !lanes_deal_several(l, s, lo, hi))
            lower_tiles(l, s, lo, hi, exact_hi, size, NULL);
        return;
    }
    bool known = ix_is_const(lo, &first) && ix_is_const(hi, &last);
    if (!known || last - first >= size)
        lower_tiles(l, s, lo, ix_sub(a, hi, ix_const(a, size - 1)), exact_hi, size, ix_const(a, size));
    if (known && (last - first) % size == 0)
        return;
    index_expr *tile = ix_const(a, size), *span = on_grid ? hi : ix_max(a, ix_const(a, 0), ix_sub(a, hi, lo));
    index_expr *whole = ix_mul(a, tile, ix_floordiv(a, span, tile)),
               *edge = on_grid ? ix_max(a, lo, whole) : ix_add(a, lo, whole);
    lower_tiles(l, s, name_index(l, l->block, arena_printf(a, "%s_edge", s->range->name), edge), hi, exact_hi, size, NULL);
}

static bool joins_state(const tile_block *b) {
    for (int i = 0; i < b->items.count; i++)
        if (b->items.at[i]->kind == TILE_STMT_JOIN || joins_state(&b->items.at[i]->body))
            return true;
    return false;
}

static int64_t constant_size(const index_expr *tile) {
    int64_t size = 0;
    ix_is_const(tile, &size);
    return size;
}

static void lower_loop_tiles(lower *l, const tile_stmt *s) {
    arena *a = l->arena;
    tile_range *r = s->range;
    int64_t constant = 0, first;
    index_expr *extent = lower_expression(l, r->extent), *tile = lower_expression(l, r->size), *lo = ix_const(a, 0), *hi = extent,
               *exact_hi = extent;
    cond *before = NULL;
    bool one_tile = r->whole || ix_equal(extent, tile);
    int atoms_outside = l->atoms.count;
    bool refined = false;
    /* What a state rounds relative to is its tile's: its tiles are those of the meaning, cut from the dimension's beginning. */
    bool on_grid = !one_tile && joins_state(&s->body);
    atom_list parts = {0};
    if (s->predicate)
        predicate_atoms(l, &parts, s->predicate);
    for (int i = 0; i < parts.count; i++) {
        atom t = parts.at[i];
        int64_t coefficient;
        bool exact = false;
        index_expr *x = t.x, *rest;
        if (!x || !relax_atom(l, &x, r, &exact)) {
            VEC_PUSH(a, l->atoms, t);
            continue;
        }
        if (ix_coefficient(a, x, r->var, &coefficient, &rest) && coefficient == 0)
            x = rest; /* the range cancels */
        if (!ix_mentions(x, r->var)) {
            before = cond_and(a, before, cond_compare(a, COND_LE, lower_expression(l, x), ix_const(a, 0)));
        } else if (ix_coefficient(a, x, r->var, &coefficient, &rest)) {
            refined = true;
            rest = lower_expression(l, rest);
            if (coefficient > 0) {
                index_expr *end =
                    ix_add(a, ix_floordiv(a, ix_sub(a, ix_const(a, 0), rest), ix_const(a, coefficient)), ix_const(a, 1));
                hi = ix_min(a, hi, end);
                if (exact)
                    exact_hi = ix_min(a, exact_hi, end);
            } else {
                index_expr *least = ix_ceildiv(a, rest, ix_const(a, -coefficient));
                lo = ix_is_const(lo, &constant) && constant == 0 && is_never_negative(l, least) ? least : ix_max(a, lo, least);
                exact = exact && (!on_grid || is_multiple(least, tile)); /* else the first tile begins before the bound */
            }
        } else {
            exact = false;
        }
        if (!exact)
            VEC_PUSH(a, l->atoms, t);
    }
    kernel_block *outside = l->block;
    if (before) {
        kernel_stmt *guard = kernel_append(l->ir, l->block, KSTMT_IF, s->span);
        guard->condition = before;
        l->block = &guard->body;
    }
    if (refined) {
        if (on_grid && !is_multiple(lo, tile))
            lo = ix_mul(a, ix_floordiv(a, lo, tile), tile);
        if (s != l->dealt ||
            !is_multiple(lo, ix_const(a, constant_size(tile) * l->machine->subgroups))) /* its form says whose turn it is */
            lo = name_index(l, l->block, arena_printf(a, "%s_from", r->name), lo);
        /* A loop over tiles with nothing between its bounds makes no trip; a single tile's count must not be negative. */
        hi = name_index(l, l->block, arena_printf(a, "%s_to", r->name), one_tile ? ix_max(a, lo, hi) : hi);
    }
    range_place *place = &l->place[r->id];
    if (one_tile) {
        *place = (range_place){.start = lo,
                               .count = refined ? name_index(l, l->block, arena_printf(a, "%s_count", r->name), ix_sub(a, hi, lo))
                                                : hi,
                               .capacity = range_capacity(r),
                               .entered = true};
    } else {
        if (!ix_is_const(tile, &constant) || constant < 1) {
            lower_error(l, "E0592", r->span, "the tile size of `%s` has no constant value", r->name);
            return;
        }
        if (lanes_chain_loop(l, s, lo, hi, exact_hi, constant))
            ;
        else if (l->spreads && !l->chain && !before && lanes_ring_loop(l, s, lo, hi, constant))
            ;
        else if (l->spreads && !l->chain && !before && lanes_ahead_loop(l, s, lo, hi, constant))
            ;
        else if (l->spreads)
            lower_tiles_apart(l, s, lo, hi, exact_hi, constant, on_grid || (ix_is_const(lo, &first) && first == 0));
        else
            lower_tiles(l, s, lo, hi, exact_hi, constant, NULL);
        l->block = outside;
        l->atoms.count = atoms_outside;
        return;
    }
    lower_loop_body(l, s);
    l->atoms.count = atoms_outside;
    l->block = outside;
}

static void lower_loop(lower *l, const tile_stmt *s) {
    int first = lanes_defer(l, s);
    lower_loop_tiles(l, s);
    lanes_join_deferred(l, first);
    if (s == l->dealt)
        lanes_join_dealt(l, s);
}

void lower_block(lower *l, const tile_block *b) {
    for (int i = 0; i < b->items.count && !l->failed; i++) {
        const tile_stmt *s = b->items.at[i];
        if (lower_whole_sums(l, b, i))
            continue;
        switch (s->kind) {
        case TILE_STMT_LET: lower_let(l, s->value); break;
        case TILE_STMT_VAR: declare_variable(l, s->variable); break;
        case TILE_STMT_UPDATE: lower_update(l, s); break;
        case TILE_STMT_JOIN: lower_join_values(l, s->variable, s->values, s->span); break;
        case TILE_STMT_STORE: lower_store(l, s); break;
        case TILE_STMT_LOOP: lower_loop(l, s); break;
        }
    }
}
