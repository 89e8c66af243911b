/* A kernel's copy: statements, values, arrays and the variables that statements bind are new; launch values, ids and all that no pass changes afterwards are
 * shared. */
#include "kernel/kernel.h"
#include <stdint.h>

typedef struct pair {
    const void *from;
    void *to;
} pair;

typedef struct copier {
    arena *a;
    pair *pairs; /* open addressing; `room` is a power of two */
    size_t room, count;
} copier;

static pair *slot_of(const copier *c, const void *from) {
    size_t at = (size_t)((uintptr_t)from >> 4) * 0x9E3779B1u;
    for (at &= c->room - 1; c->pairs[at].from && c->pairs[at].from != from;)
        at = (at + 1) & (c->room - 1);
    return &c->pairs[at];
}

static void remember(copier *c, const void *from, void *to) {
    if (2 * c->count >= c->room) {
        copier old = *c;
        c->room = old.room ? 2 * old.room : 256;
        c->pairs = NEW_ARRAY(c->a, pair, c->room);
        for (size_t i = 0; i < old.room; i++)
            if (old.pairs[i].from)
                *slot_of(c, old.pairs[i].from) = old.pairs[i];
    }
    pair *p = slot_of(c, from);
    c->count += !p->from;
    *p = (pair){from, to};
}

static void *known(const copier *c, const void *from) {
    return from && c->room ? slot_of(c, from)->to : NULL;
}

/* ---- integers ---- */

static index_expr *copy_index(copier *c, index_expr *x) {
    if (!x || x->op == IX_CONST)
        return x;
    index_expr made = *x;
    if (x->op == IX_VAR) {
        index_var *v = known(c, x->var);
        if (!v)
            return x;
        made.var = v;
    } else {
        made.a = copy_index(c, x->a);
        made.b = copy_index(c, x->b);
        if (made.a == x->a && made.b == x->b)
            return x;
    }
    index_expr *to = NEW(c->a, index_expr);
    *to = made;
    return to;
}

static index_expr **copy_indices(copier *c, index_expr **from, int count) {
    if (!from)
        return NULL;
    index_expr **to = NEW_ARRAY(c->a, index_expr *, count + 1);
    for (int i = 0; i < count; i++)
        to[i] = copy_index(c, from[i]);
    return to;
}

static index_expr *copy_side(void *context, index_expr *x) {
    return copy_index(context, x);
}

static cond *copy_condition(copier *c, const cond *x) {
    return cond_map(c->a, x, copy_side, c);
}

/* A variable that the statement binds. */
static index_var *copy_var(copier *c, const kernel_stmt *from, kernel_stmt *to, index_var *v) {
    if (!v)
        return NULL;
    index_var *own = NEW(c->a, index_var);
    *own = *v;
    own->owner = v->owner == from ? (void *)to : v->owner;
    own->lo = copy_index(c, v->lo);
    own->hi = copy_index(c, v->hi);
    remember(c, v, own);
    return own;
}

/* ---- values ---- */

static kernel_access copy_access(copier *c, const kernel_access *from) {
    kernel_access to = *from;
    if (!from->array)
        return to;
    to.array = known(c, from->array);
    to.indices = copy_indices(c, from->indices, from->array->rank);
    to.active = copy_index(c, from->active);
    return to;
}

/* Values are shared; so are their copies. */
static kernel_value *copy_value(copier *c, kernel_value *v) {
    kernel_value *to = known(c, v);
    if (!v || to)
        return to;
    to = NEW(c->a, kernel_value);
    *to = *v;
    to->operands = NEW_ARRAY(c->a, kernel_value *, v->operand_count + 1);
    for (int i = 0; i < v->operand_count; i++)
        to->operands[i] = copy_value(c, v->operands[i]);
    to->index = copy_index(c, v->index);
    to->fragment_index = copy_index(c, v->fragment_index);
    to->let = v->let ? known(c, v->let) : NULL;
    to->access = copy_access(c, &v->access);
    remember(c, v, to);
    return to;
}

/* ---- statements ---- */

static kernel_block copy_block(copier *c, const kernel_block *from);

static kernel_stmt *copy_stmt(copier *c, kernel_stmt *s) {
    kernel_stmt *to = NEW(c->a, kernel_stmt);
    *to = *s;
    remember(c, s, to);
    to->lo = copy_index(c, s->lo);
    to->hi = copy_index(c, s->hi);
    to->step = copy_index(c, s->step);
    to->row = copy_var(c, s, to, s->row);
    to->column = copy_var(c, s, to, s->column);
    to->value = copy_value(c, s->value);
    to->expected = copy_value(c, s->expected);
    to->access = copy_access(c, &s->access);
    to->source = copy_access(c, &s->source);
    to->var = copy_var(c, s, to, s->var);
    to->extents = copy_indices(c, s->extents, s->kind == KSTMT_COPY ? s->access.array->rank : 2);
    to->slot = copy_index(c, s->slot);
    to->phase = copy_index(c, s->phase);
    to->element = copy_index(c, s->element);
    to->row_step = copy_index(c, s->row_step);
    to->column_step = copy_index(c, s->column_step);
    to->condition = copy_condition(c, s->condition);
    to->participants = copy_condition(c, s->participants);
    for (int i = 0; i < 4; i++)
        to->fragments[i].index = copy_index(c, s->fragments[i].index);
    if (s->contract_count)
        to->contract = NEW_ARRAY(c->a, contract_operand, s->contract_count);
    for (int i = 0; i < s->contract_count; i++) {
        const contract_operand *from = &s->contract[i];
        to->contract[i] = *from;
        to->contract[i].value = copy_value(c, from->value);
        to->contract[i].access = copy_access(c, &from->access);
        to->contract[i].values = NEW_ARRAY(c->a, kernel_value *, from->count + 1);
        for (int n = 0; n < from->count; n++)
            to->contract[i].values[n] = copy_value(c, from->values[n]);
        to->contract[i].from = copy_indices(c, from->from, from->access.array ? from->access.array->rank : 0);
        to->contract[i].extents = copy_indices(c, from->extents, from->access.array ? from->access.array->rank : 0);
    }
    to->body = copy_block(c, &s->body);
    to->otherwise = copy_block(c, &s->otherwise);
    return to;
}

static kernel_block copy_block(copier *c, const kernel_block *from) {
    kernel_block to = {0};
    for (int i = 0; i < from->items.count; i++)
        VEC_PUSH(c->a, to.items, copy_stmt(c, from->items.at[i]));
    return to;
}

kernel_ir *kernel_copy(arena *a, const kernel_ir *k) {
    copier c = {.a = a};
    kernel_ir *to = NEW(a, kernel_ir);
    *to = *k;
    to->arena = a;
    to->arrays.at = NULL;
    to->arrays.count = to->arrays.capacity = 0;
    to->assumptions.at = NULL;
    to->assumptions.count = to->assumptions.capacity = 0;
    for (int i = 0; i < k->arrays.count; i++) {
        kernel_array *array = NEW(a, kernel_array);
        *array = *k->arrays.at[i];
        remember(&c, k->arrays.at[i], array);
        VEC_PUSH(a, to->arrays, array);
    }
    for (int i = 0; i < to->arrays.count; i++)
        to->arrays.at[i]->view_of = known(&c, to->arrays.at[i]->view_of);
    for (int i = 0; i < k->assumptions.count; i++)
        VEC_PUSH(a, to->assumptions, k->assumptions.at[i]);
    to->body = copy_block(&c, &k->body);
    return to;
}
