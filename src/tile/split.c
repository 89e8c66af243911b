#include "tile/split.h"
#include <math.h>
#include <string.h>

/* ---- what can be split ---- */

tile_op split_change(const tile_block *b, const tile_variable *x) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        tile_op op = s->kind == TILE_STMT_UPDATE && s->variable == x ? s->update
                     : s->kind == TILE_STMT_JOIN && s->variable == x ? TILE_FIELD
                                                                     : split_change(&s->body, x);
        if (op != TILE_OP_COUNT)
            return op;
    }
    return TILE_OP_COUNT;
}

static bool reads_variable(const tile_value *v, void *variable) {
    return v->variable == variable;
}

static bool block_has(const tile_block *b, tile_stmt_kind kind) {
    for (int i = 0; i < b->items.count; i++)
        if (b->items.at[i]->kind == kind || block_has(&b->items.at[i]->body, kind))
            return true;
    return false;
}

static bool reduces(const tile_value *v, void *unused) {
    (void)unused;
    return v->range || v->op == TILE_DOT;
}

static const char *kernel_obstacle(const tile_kernel *k, const tile_stmt *loop) {
    for (int i = 0; i < k->owned.count; i++)
        for (int d = 0; d < k->owned.at[i]->array->rank; d++)
            if (k->owned.at[i]->array->role == ARRAY_UPDATE || !k->owned.at[i]->ranges[d])
                return "it changes an array in place, or part of one";
    for (int i = 0; i < k->variables.count; i++) {
        const tile_variable *x = k->variables.at[i];
        if (split_change(&loop->body, x) == TILE_OP_COUNT)
            continue;
        if (tile_block_some(&loop->body, k->value_count, reads_variable, k->variables.at[i]))
            return "its loop reads what it changes";
        for (int f = 0; f < x->field_count; f++)
            if (x->types[f] == ELEMENT_BOOL)
                return "its loop changes a bool";
    }
    return NULL;
}

const tile_stmt *split_loop(const tile_kernel *k, const char **why) {
    const tile_stmt *loop = NULL;
    *why = NULL;
    for (int i = 0; i < k->body.items.count; i++) {
        const tile_stmt *s = k->body.items.at[i];
        if (s->kind == TILE_STMT_LOOP && loop)
            *why = "it has several loops, one after the other";
        else if (s->kind == TILE_STMT_LOOP)
            loop = s;
        else if (!loop && (s->kind == TILE_STMT_UPDATE || s->kind == TILE_STMT_JOIN || s->kind == TILE_STMT_STORE))
            *why = "it stores, or changes a variable, before its loop";
        else if (!loop && s->kind == TILE_STMT_LET && tile_value_some(s->value, k->value_count, reduces, NULL))
            *why = "it reduces before its loop"; /* in both kernels, perhaps not in the same order */
    }
    if (!loop)
        *why = "it has no loop";
    else if (!loop->range->scheduled)
        *why = "the tiles of its loop carry meaning";
    else if (block_has(&loop->body, TILE_STMT_STORE))
        *why = "its loop stores";
    else if (block_has(&loop->body, TILE_STMT_VAR))
        *why = "variables begin within its loop";
    else if (!*why)
        *why = kernel_obstacle(k, loop);
    return *why ? NULL : loop;
}

/* ---- names ---- */

static bool name_taken(const tile_kernel *k, const char *name) {
    bool taken = false;
    for (int i = 0; i < k->symbols.count; i++)
        taken = taken || !strcmp(k->symbols.at[i]->name, name);
    for (int i = 0; i < k->arrays.count; i++)
        taken = taken || !strcmp(k->arrays.at[i]->name, name);
    for (int i = 0; i < k->scalars.count; i++)
        taken = taken || !strcmp(k->scalars.at[i]->name, name);
    for (int i = 0; i < k->ranges.count; i++)
        taken = taken || !strcmp(k->ranges.at[i]->name, name);
    for (int i = 0; i < k->variables.count; i++)
        taken = taken || !strcmp(k->variables.at[i]->name, name);
    return taken;
}

static const char *new_name(const tile_kernel *k, arena *a, const char *first, const char *second) {
    const char *name = arena_printf(a, "%s_%s", first, second);
    for (int n = 2; name_taken(k, name); n++)
        name = arena_printf(a, "%s_%s%d", first, second, n);
    return name;
}

/* ---- what is no longer used ---- */

typedef struct used {
    unsigned char *values; /* by id */
    bool *arrays, *scalars;
    VEC(const index_var *) vars;
    arena *arena;
} used;

static void use_value(used *u, const tile_value *v);

static void use_index(used *u, const index_expr *x) {
    if (!x)
        return;
    if (x->op == IX_VAR) {
        for (int i = 0; i < u->vars.count; i++)
            if (u->vars.at[i] == x->var)
                return;
        VEC_PUSH(u->arena, u->vars, x->var);
        use_index(u, x->var->lo);
        use_index(u, x->var->hi);
        if (x->var->kind == INDEX_SCALAR && x->var->owner)
            u->scalars[((tile_scalar *)x->var->owner)->id] = true;
        if (x->var->kind == INDEX_VALUE && x->var->owner)
            use_value(u, x->var->owner);
        return;
    }
    use_index(u, x->a);
    use_index(u, x->b);
}

static void use_condition(used *u, const cond *c) {
    if (!c)
        return;
    use_index(u, c->x);
    use_index(u, c->y);
    use_condition(u, c->a);
    use_condition(u, c->b);
}

static void use_value(used *u, const tile_value *v) {
    if (!v || u->values[v->id]++)
        return;
    for (int i = 0; i < v->operand_count; i++)
        use_value(u, v->operands[i]);
    use_index(u, v->index);
    if (v->scalar)
        u->scalars[v->scalar->id] = true;
    if (v->array) {
        u->arrays[v->array->id] = true;
        for (int d = 0; d < v->array->rank; d++)
            use_index(u, v->indices[d]);
    }
}

static void use_fields(used *u, tile_value *const *values, int count) {
    for (int f = 0; values && f < count; f++)
        use_value(u, values[f]);
}

static void use_block(used *u, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        if (s->kind != TILE_STMT_LET)
            use_value(u, s->value);
        if (s->kind == TILE_STMT_VAR || s->kind == TILE_STMT_JOIN) {
            const tile_variable *x = s->variable;
            if (s->kind == TILE_STMT_JOIN)
                use_fields(u, s->values, x->field_count);
            else
                use_fields(u, x->empty, x->field_count);
            use_fields(u, x->join, x->field_count);
        }
        if (s->kind == TILE_STMT_STORE) {
            u->arrays[s->array->id] = true;
            for (int d = 0; d < s->array->rank; d++)
                use_index(u, s->indices[d]);
        }
        use_condition(u, s->predicate);
        use_block(u, &s->body);
    }
}

static void drop_lets(const used *u, tile_block *b) {
    int kept = 0;
    for (int i = 0; i < b->items.count; i++) {
        tile_stmt *s = b->items.at[i];
        if (s->kind == TILE_STMT_LET && !u->values[s->value->id])
            continue;
        drop_lets(u, &s->body);
        b->items.at[kept++] = s;
    }
    b->items.count = kept;
}

static bool mentions_used(const used *u, const index_var *v) {
    for (int i = 0; i < u->vars.count; i++)
        if (u->vars.at[i] == v)
            return true;
    return false;
}

/* Lets, arguments and symbols that nothing reads any more are gone; the rest is numbered anew. */
static void drop_unused(tile_kernel *k) {
    arena *scratch = arena_new();
    used u = {.values = arena_alloc(scratch, (size_t)k->value_count + 1), .arena = scratch};
    u.arrays = NEW_ARRAY(scratch, bool, k->arrays.count + 1);
    u.scalars = NEW_ARRAY(scratch, bool, k->scalars.count + 1);
    use_block(&u, &k->body);
    drop_lets(&u, &k->body);
    for (int i = 0; i < k->where.count; i++)
        use_condition(&u, k->where.at[i]);
    for (int i = 0; i < k->ranges.count; i++) {
        use_index(&u, k->ranges.at[i]->extent);
        use_index(&u, k->ranges.at[i]->size);
    }
    int count = 0;
    for (int i = 0; i < k->arguments.count; i++) {
        bool scalar = k->argument_is_scalar.at[i];
        if (!(scalar ? u.scalars[((tile_scalar *)k->arguments.at[i])->id] : u.arrays[((tile_array *)k->arguments.at[i])->id]))
            continue;
        k->arguments.at[count] = k->arguments.at[i];
        k->argument_is_scalar.at[count++] = scalar;
    }
    k->arguments.count = k->argument_is_scalar.count = count;
    count = 0;
    for (int i = 0; i < k->arrays.count; i++)
        if (u.arrays[i])
            k->arrays.at[count++] = k->arrays.at[i];
    k->arrays.count = count;
    for (int i = 0; i < count; i++) {
        k->arrays.at[i]->id = i;
        for (int d = 0; d < k->arrays.at[i]->rank; d++)
            use_index(&u, k->arrays.at[i]->dims[d]);
        use_index(&u, k->arrays.at[i]->index_bound);
    }
    count = 0;
    for (int i = 0; i < k->scalars.count; i++)
        if (u.scalars[i]) {
            use_index(&u, k->scalars.at[i]->var ? k->scalars.at[i]->var->lo : NULL);
            use_index(&u, k->scalars.at[i]->var ? k->scalars.at[i]->var->hi : NULL);
            k->scalars.at[count++] = k->scalars.at[i];
        }
    k->scalars.count = count;
    for (int i = 0; i < count; i++)
        k->scalars.at[i]->id = i;
    count = 0;
    for (int i = 0; i < k->symbols.count; i++)
        if (mentions_used(&u, k->symbols.at[i]))
            use_index(&u, k->derived.at[i]);
    for (int i = 0; i < k->symbols.count; i++)
        if (mentions_used(&u, k->symbols.at[i])) {
            k->derived.at[count] = k->derived.at[i];
            k->symbols.at[count++] = k->symbols.at[i];
        }
    k->symbols.count = k->derived.count = count;
    arena_free(scratch);
}

/* ---- the two kernels ---- */

static tile_stmt *only_loop(tile_kernel *k) {
    for (int i = 0; i < k->body.items.count; i++)
        if (k->body.items.at[i]->kind == TILE_STMT_LOOP)
            return k->body.items.at[i];
    return NULL;
}

/* An array for one field of a variable: a row for each chunk, over the field's ranges and those others that tasks differ in. */
static tile_array *field_array(tile_kernel *k, const tile_variable *x, int field, const char *name, array_role role,
                               tile_range *chunk, tile_range ***ranges) {
    arena *a = k->arena;
    tile_array *array = tile_new_array(k, name, x->types[field], role, x->span);
    VEC(tile_range *) over = {0};
    VEC_PUSH(a, over, chunk);
    for (int i = 0; i < k->task.count; i++) {
        tile_range *r = k->task.at[i];
        bool varies = !r->whole;
        for (int j = 0; j < x->axis_counts[field]; j++)
            varies = varies || x->axes[field][j] == r;
        if (varies && r != chunk)
            VEC_PUSH(a, over, r);
    }
    array->rank = array->group_count = over.count;
    array->dims = NEW_ARRAY(a, index_expr *, over.count);
    array->groups = NEW_ARRAY(a, int, over.count);
    for (int d = 0; d < over.count; d++) {
        array->dims[d] = over.at[d]->extent;
        array->groups[d] = 1;
    }
    *ranges = over.at;
    return array;
}

static index_expr **indices_of(arena *a, tile_range **ranges, int count) {
    index_expr **indices = NEW_ARRAY(a, index_expr *, count);
    for (int d = 0; d < count; d++)
        indices[d] = ix_var(a, ranges[d]->var);
    return indices;
}

static const char *field_name(const tile_kernel *whole, arena *a, const tile_variable *x, int field) {
    return new_name(whole, a, x->name, x->field_names ? x->field_names[field] : "part");
}

double split_identity(tile_op op, element_type type) {
    if (op == TILE_ADD)
        return 0;
    bool low = op == TILE_MAX;
    if (type == ELEMENT_I32)
        return low ? -0x1p31 : 0x1p31 - 1;
    if (type == ELEMENT_U32)
        return low ? 0 : 0x1p32 - 1;
    return low ? -INFINITY : INFINITY;
}

static tile_range **with_axis(tile_kernel *k, tile_range **axes, int count, tile_range *first) {
    tile_range **more = NEW_ARRAY(k->arena, tile_range *, count + 1);
    more[0] = first;
    if (count)
        memcpy(more + 1, axes, sizeof *axes * (size_t)count);
    return more;
}

static void vary_over(tile_kernel *k, tile_variable *x, tile_range *chunk) {
    for (int f = 0; f < x->field_count; f++)
        x->axes[f] = with_axis(k, x->axes[f], x->axis_counts[f]++, chunk);
}

typedef struct variation {
    tile_kernel *k;
    const tile_range *loop; /* whose elements the chunk chooses */
    tile_range *chunk;
    unsigned char *seen; /* by value id */
} variation;

static bool vary_value(variation *x, tile_value *v);

static bool vary_index(variation *x, const index_expr *e) {
    if (!e)
        return false;
    if (e->op == IX_VAR)
        return e->var->kind == INDEX_VALUE && e->var->owner && vary_value(x, e->var->owner);
    bool first = vary_index(x, e->a), second = vary_index(x, e->b);
    return first || second;
}

/* What reduces the loop's elements, and what is made of it, varies over the chunks. */
static bool vary_value(variation *x, tile_value *v) {
    if (x->seen[v->id]++)
        return tile_has_axis(v, x->chunk);
    bool varies = v->range == x->loop || ((v->op == TILE_GET || v->op == TILE_FIELD || v->op == TILE_PARAM) && v->variable &&
                                          v->variable->axis_counts[v->field] && v->variable->axes[v->field][0] == x->chunk);
    for (int i = 0; i < v->contract_count; i++)
        varies = varies || v->contract[i] == x->loop;
    for (int i = 0; i < v->operand_count; i++)
        varies = vary_value(x, v->operands[i]) || varies;
    varies = vary_index(x, v->index) || varies;
    for (int d = 0; v->array && d < v->array->rank; d++)
        varies = vary_index(x, v->indices[d]) || varies;
    if (varies)
        v->axes = with_axis(x->k, v->axes, v->axis_count++, x->chunk);
    return varies;
}

static void vary_block(variation *x, const tile_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        if (s->value)
            vary_value(x, s->value);
        for (int f = 0; s->kind == TILE_STMT_JOIN && f < s->variable->field_count; f++)
            vary_value(x, s->values[f]);
        for (int f = 0; s->kind == TILE_STMT_VAR && s->variable->combine && f < s->variable->field_count; f++)
            vary_value(x, s->variable->join[f]);
        vary_block(x, &s->body);
    }
}

static void store_field(tile_kernel *k, tile_variable *x, int field, tile_array *array, tile_range **ranges) {
    tile_value *v = tile_new_value(k, x->combine ? TILE_FIELD : TILE_GET, x->types[field], x->span);
    v->variable = x;
    v->field = field;
    tile_derive_axes(k, v);
    tile_stmt *s = tile_append(k, &k->body, TILE_STMT_STORE, x->span);
    s->array = array;
    s->indices = indices_of(k->arena, ranges, array->rank);
    s->value = v;
    tile_owned *o = NEW(k->arena, tile_owned);
    *o = (tile_owned){.array = array, .ranges = ranges, .span = x->span};
    o->fixed = NEW_ARRAY(k->arena, index_expr *, array->rank);
    o->through = NEW_ARRAY(k->arena, tile_array *, array->rank);
    VEC_PUSH(k->arena, k->owned, o);
}

static void make_part(tile_split *s, arena *a) {
    const tile_kernel *whole = s->whole;
    tile_kernel *k = s->part = tile_copy(a, whole);
    k->name = arena_printf(a, "%s_part", whole->name);
    k->origin = whole->name;
    tile_stmt *loop = only_loop(k);
    tile_range *t = loop->range;
    index_var *size = tile_new_var(k, new_name(whole, a, t->name, "chunk"), INDEX_STATIC, t->span);
    index_var *chunks = tile_new_var(k, new_name(whole, a, t->name, "chunks"), INDEX_SYMBOL, t->span);
    s->chunk = size;
    s->chunks = chunks;
    index_expr *one = ix_const(a, 1), *length = ix_var(a, size);
    index_expr *count = ix_floordiv(a, ix_sub(a, ix_add(a, split_reach(a, loop), length), one), length);
    k->derived.at[k->derived.count - 1] = count;
    VEC_PUSH(a, k->where, cond_compare(a, COND_EQ, ix_var(a, chunks), count));
    tile_range *c = tile_new_range(k, new_name(whole, a, t->name, "part"), ix_var(a, chunks), one, t->span);
    c->is_task = true;
    VEC_PUSH(a, k->task, c);
    for (int i = k->task.count - 1; i > 0; i--)
        k->task.at[i] = k->task.at[i - 1];
    k->task.at[0] = c;
    index_expr *at = ix_var(a, c->var), *element = ix_var(a, t->var);
    loop->predicate = cond_and(a, loop->predicate, cond_compare(a, COND_LE, ix_mul(a, at, length), element));
    loop->predicate = cond_and(a, loop->predicate, cond_compare(a, COND_LT, element, ix_mul(a, ix_add(a, at, one), length)));
    while (k->body.items.at[k->body.items.count - 1] != loop)
        k->body.items.count--;
    k->owned.count = 0;
    for (int i = 0; i < k->variables.count; i++)
        if (split_change(&loop->body, k->variables.at[i]) != TILE_OP_COUNT)
            vary_over(k, k->variables.at[i], c);
    vary_block(&(variation){k, t, c, NEW_ARRAY(a, unsigned char, k->value_count + 1)}, &k->body);
    for (int i = 0; i < k->variables.count; i++) {
        tile_variable *x = k->variables.at[i];
        tile_op op = split_change(&loop->body, x);
        if (op == TILE_OP_COUNT)
            continue;
        if (!x->combine)
            x->empty[0] = tile_constant(k, x->types[0], split_identity(op, x->types[0]), x->span);
        for (int f = 0; f < x->field_count; f++) {
            tile_range **ranges;
            tile_array *array = field_array(k, x, f, field_name(whole, a, x, f), ARRAY_OUT, c, &ranges);
            store_field(k, x, f, array, ranges);
        }
    }
    drop_unused(k);
}

/* One chunk's field, as the sum over a range of one element, or for a plain variable as the reduction of all chunks in a tile. */
static tile_value *chunk_field(tile_kernel *k, tile_variable *x, int field, tile_op op, tile_array *array, tile_range **ranges,
                               tile_range *chunk) {
    tile_value *load = tile_new_value(k, TILE_LOAD, x->types[field], x->span);
    load->array = array;
    load->indices = indices_of(k->arena, ranges, array->rank);
    tile_derive_axes(k, load);
    if (x->types[field] == ELEMENT_F16)
        load = tile_unary(k, TILE_CONVERT, ELEMENT_F32, load, x->span);
    tile_value *v = tile_new_value(k,
                                   op == TILE_MAX   ? TILE_REDUCE_MAX
                                   : op == TILE_MIN ? TILE_REDUCE_MIN
                                                    : TILE_REDUCE_SUM,
                                   load->type, x->span);
    v->range = chunk;
    tile_set_operands(k, v, 1, &load);
    return x->types[field] == ELEMENT_F16 ? tile_unary(k, TILE_CONVERT, ELEMENT_F16, v, x->span) : v;
}

static bool reduces_over(const tile_value *v, void *range) {
    bool found = v->range == range;
    for (int i = 0; i < v->contract_count; i++)
        found = found || v->contract[i] == range;
    return found;
}

/* What belonged together for the sake of the loop is tasks of its own now, apart from rows of memory: the join has little to do and few to do it. */
static void part_tasks(tile_kernel *k) {
    for (int i = 0; i < k->task.count; i++) {
        tile_range *r = k->task.at[i];
        bool row = tile_block_some(&k->body, k->value_count, reduces_over, r);
        for (int o = 0; o < k->owned.count; o++)
            row = row || k->owned.at[o]->ranges[k->owned.at[o]->array->rank - 1] == r;
        if (row || r->scheduled)
            continue;
        r->size = ix_const(k->arena, 1);
        r->whole = false;
    }
}

static void make_join(tile_split *s, arena *a) {
    const tile_kernel *whole = s->whole;
    tile_kernel *k = s->join = tile_copy(a, whole);
    k->name = arena_printf(a, "%s_join", whole->name);
    k->origin = whole->name;
    tile_stmt *loop = only_loop(k), *original = NULL;
    for (int i = 0; i < whole->body.items.count; i++)
        original = whole->body.items.at[i]->kind == TILE_STMT_LOOP ? whole->body.items.at[i] : original;
    tile_range *t = loop->range;
    index_var *chunks = tile_new_var(k, new_name(whole, a, t->name, "chunks"), INDEX_SYMBOL, t->span);
    t->extent = ix_var(a, chunks);
    t->name = t->var->name = new_name(whole, a, t->name, "part");
    loop->predicate = NULL;
    loop->body.items.count = 0;
    int first = k->arrays.count;
    for (int i = 0; i < k->variables.count; i++) {
        tile_variable *x = k->variables.at[i];
        tile_op op = split_change(&original->body, whole->variables.at[i]);
        if (op == TILE_OP_COUNT)
            continue;
        if (x->combine) { /* one after the other: what a join does with several at once is not known */
            t->size = ix_const(a, 1);
            t->scheduled = false;
        }
        tile_stmt *change = tile_append(k, &loop->body, x->combine ? TILE_STMT_JOIN : TILE_STMT_UPDATE, x->span);
        change->variable = x;
        change->update = op;
        change->values = x->combine ? NEW_ARRAY(a, tile_value *, x->field_count) : NULL;
        for (int f = 0; f < x->field_count; f++) {
            tile_range **ranges;
            tile_array *array = field_array(k, x, f, field_name(whole, a, x, f), ARRAY_IN, t, &ranges);
            tile_value *v = chunk_field(k, x, f, op, array, ranges, t);
            *(x->combine ? &change->values[f] : &change->value) = v;
        }
    }
    /* Inputs stand before outputs. */
    VEC(tile_array *) arrays = {0};
    for (int i = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->role == ARRAY_IN)
            VEC_PUSH(a, arrays, k->arrays.at[i]);
    for (int i = 0; i < first; i++)
        if (k->arrays.at[i]->role != ARRAY_IN)
            VEC_PUSH(a, arrays, k->arrays.at[i]);
    for (int i = 0; i < arrays.count; i++) {
        k->arrays.at[i] = arrays.at[i];
        arrays.at[i]->id = i;
    }
    part_tasks(k);
    drop_unused(k);
}

tile_split *split_kernel(arena *a, const tile_kernel *k) {
    const char *why;
    const tile_stmt *loop = split_loop(k, &why);
    if (!loop)
        return NULL;
    tile_split *s = NEW(a, tile_split);
    s->whole = k;
    s->range = loop->range;
    make_part(s, a);
    make_join(s, a);
    return s;
}

static tile_call *call_of(arena *a, const tile_split *split, tile_kernel *k, int64_t length, int64_t count) {
    const tile_kernel *whole = split->whole;
    tile_call *c = NEW(a, tile_call);
    c->kernel = k;
    c->span = whole->span;
    for (int i = 0; i < k->arguments.count; i++) {
        const char *name =
            k->argument_is_scalar.at[i] ? ((tile_scalar *)k->arguments.at[i])->name : ((tile_array *)k->arguments.at[i])->name;
        VEC_PUSH(a, c->arguments, name);
    }
    for (int i = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->role != ARRAY_IN)
            VEC_PUSH(a, c->results, k->arrays.at[i]->name);
    for (int i = 0; i < k->symbols.count; i++) {
        const index_var *v = k->symbols.at[i];
        index_expr *value = v == split->chunk ? ix_const(a, length) : v == split->chunks ? ix_const(a, count) : NULL;
        for (int j = 0; j < whole->symbols.count && !value; j++)
            if (v->kind != INDEX_TILE && !strcmp(whole->symbols.at[j]->name, v->name))
                value = ix_var(a, whole->symbols.at[j]);
        if (!value)
            continue;
        VEC_PUSH(a, c->bind_names, v->name);
        VEC_PUSH(a, c->bind_values, value);
    }
    return c;
}

tile_program *split_program(arena *a, const tile_split *s, int64_t chunk, int64_t chunks) {
    const tile_kernel *k = s->whole;
    tile_program *p = NEW(a, tile_program);
    p->name = k->name;
    p->span = k->span;
    for (int i = 0; i < k->arrays.count; i++)
        VEC_PUSH(a, p->arrays, k->arrays.at[i]);
    for (int i = 0; i < k->scalars.count; i++)
        VEC_PUSH(a, p->scalars, k->scalars.at[i]);
    for (int i = 0; i < k->arguments.count; i++) {
        VEC_PUSH(a, p->arguments, k->arguments.at[i]);
        VEC_PUSH(a, p->argument_is_scalar, k->argument_is_scalar.at[i]);
    }
    for (int i = 0; i < k->symbols.count; i++)
        if (k->symbols.at[i]->kind != INDEX_TILE)
            VEC_PUSH(a, p->symbols, k->symbols.at[i]);
    VEC_PUSH(a, p->calls, call_of(a, s, s->part, chunk, chunks));
    VEC_PUSH(a, p->calls, call_of(a, s, s->join, chunk, chunks));
    return p;
}
