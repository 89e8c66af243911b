/* How much work a kernel means, read off its Tile IR: cells touched, operations; and which kernels are exact on small whole
 * numbers. */
#include "base/hash.h"
#include "bench/work.h"
#include <string.h>

typedef struct counter {
    const binding *b;
    arena *arena;
    const tile_kernel *k;
    bool known;
    bool exact;
    double operations, narrow_operations;
    double *loaded;      /* cells, by array id */
    unsigned char *seen; /* by value id */
} counter;

static bool lookup(void *context, const index_var *v, int64_t *value) {
    const binding *b = context;
    if (v->has_value) {
        *value = v->value;
        return true;
    }
    int at = binding_find_symbol(b, v->name);
    if (at < 0 || !b->known[at])
        return false;
    *value = b->values[at];
    return true;
}

static double extent_of(counter *c, index_expr *x) {
    int64_t value;
    if (c->b && ix_eval(x, lookup, (void *)c->b, &value))
        return (double)value;
    c->known = false;
    return 0;
}

static double cells_of(counter *c, tile_range **axes, int count) {
    double cells = 1;
    for (int i = 0; i < count; i++)
        cells *= extent_of(c, axes[i]->extent);
    return cells;
}

static bool exact_op(const tile_value *v) {
    switch (v->op) {
    case TILE_CONST: return v->number >= 0 && v->number == (double)(int64_t)v->number;
    case TILE_LOAD: return element_table[v->array->type].block_elements == 1 && !v->has_outside;
    case TILE_CONVERT: /* of what was loaded: a sum could exceed what the narrow type holds exactly */
        return v->operands[0]->op == TILE_LOAD || v->type == ELEMENT_F32 || v->type == ELEMENT_I32;
    case TILE_GET:
    case TILE_INDEX:
    case TILE_ADD:
    case TILE_MUL:
    case TILE_MIN:
    case TILE_MAX:
    case TILE_REDUCE_SUM:
    case TILE_REDUCE_MAX:
    case TILE_DOT: return v->op != TILE_DOT || v->accumulator != ELEMENT_F16;
    default: return false;
    }
}

static void count_value(counter *c, const tile_value *v) {
    if (c->seen[v->id])
        return;
    c->seen[v->id] = 1;
    c->exact = c->exact && exact_op(v);
    const char *kind = tile_op_table[v->op].kind;
    double cells = cells_of(c, v->axes, v->axis_count);
    if (v->op == TILE_LOAD)
        c->loaded[v->array->id] += cells;
    else if (v->op == TILE_DOT) {
        double here = 2 * cells * cells_of(c, v->contract, v->contract_count);
        element_type x = v->operands[0]->type, y = v->operands[1]->type;
        c->operations += here;
        c->narrow_operations += x == y && (x == ELEMENT_F16 || x == ELEMENT_BF16) ? here : 0;
    } else if (v->range)
        c->operations += cells * extent_of(c, v->range->extent);
    else if (!strcmp(kind, "unary") || !strcmp(kind, "binary") || !strcmp(kind, "math"))
        c->operations += cells;
    for (int i = 0; i < v->operand_count; i++)
        count_value(c, v->operands[i]);
}

static void count_block(counter *c, const tile_block *block) {
    for (int i = 0; i < block->items.count; i++) {
        const tile_stmt *s = block->items.at[i];
        if (s->value)
            count_value(c, s->value);
        for (int f = 0; s->kind == TILE_STMT_JOIN && f < s->variable->field_count; f++)
            count_value(c, s->values[f]);
        c->exact = c->exact && s->kind != TILE_STMT_JOIN;
        if (s->kind == TILE_STMT_LOOP) {
            c->known = c->known && !s->predicate; /* how many elements exist depends on the data, or on the task */
            count_block(c, &s->body);
        }
    }
}

static void count_kernel(counter *c) {
    int arrays = 1;
    for (int i = 0; i < c->k->arrays.count; i++)
        arrays = c->k->arrays.at[i]->id >= arrays ? c->k->arrays.at[i]->id + 1 : arrays;
    c->loaded = NEW_ARRAY(c->arena, double, arrays);
    c->seen = NEW_ARRAY(c->arena, unsigned char, c->k->value_count + 1);
    count_block(c, &c->k->body);
}

static double array_cells(counter *c, const tile_array *a) {
    double cells = 1;
    for (int d = 0; d < a->rank; d++)
        cells *= extent_of(c, a->dims[d]);
    return cells;
}

static double cell_bytes(const tile_array *a) {
    const element_info *e = &element_table[a->type];
    return a->type == ELEMENT_INDEX ? 4 : (double)e->block_bytes / e->block_elements;
}

work_amount work_count(const tile_kernel *k, const binding *b) {
    counter c = {.b = b, .arena = arena_new(), .k = k, .known = true, .exact = true};
    work_amount out = {0};
    count_kernel(&c);
    for (int i = 0; i < k->arrays.count; i++) {
        const tile_array *a = k->arrays.at[i];
        double cells = array_cells(&c, a), loaded = c.loaded[a->id];
        if (loaded > cells || (a->role == ARRAY_IN && loaded == 0)) /* read only through an index expression: all of it */
            loaded = cells;
        out.bytes_read += loaded * cell_bytes(a);
    }
    for (int i = 0; i < k->owned.count; i++) {
        const tile_owned *o = k->owned.at[i];
        double cells = 1;
        for (int d = 0; d < o->array->rank; d++)
            cells *= o->ranges[d] ? extent_of(&c, o->ranges[d]->extent) : 1;
        out.bytes_written += cells * cell_bytes(o->array);
    }
    out.operations = c.operations;
    out.narrow_operations = c.narrow_operations;
    if (!c.known)
        out = (work_amount){-1, -1, -1, 0};
    arena_free(c.arena);
    return out;
}

bool work_is_exact_class(const tile_kernel *k) {
    counter c = {.arena = arena_new(), .k = k, .known = true, .exact = k->scalars.count == 0};
    count_kernel(&c);
    arena_free(c.arena);
    return c.exact;
}

bool work_kernel_hash(const tile_module *m, const char *name, char digits[HASH_DIGITS + 1]) {
    const tile_program *p = tile_find_program(m, name);
    const tile_kernel *k = p ? NULL : tile_find_kernel(m, name);
    text_buffer text = {0};
    if (k)
        tile_print_kernel(&text, k);
    for (int i = 0; p && i < p->calls.count; i++)
        tile_print_kernel(&text, p->calls.at[i]->kernel);
    hash_bytes(text_get(&text), text.length, digits);
    bool found = text.length > 0;
    text_free(&text);
    return found;
}
