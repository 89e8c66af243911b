/* Reading compare-and-exchange: what a condition says of one, and loops around one. */
#include "kernel/exchange.h"
#include <math.h>

enum { MOST_NESTING = 60 };

static element_type type_of(const kernel_stmt *s) {
    return s->kind == KSTMT_ATOMIC ? s->access.array->element : s->value->type;
}

/* Integers of 32 bits count as the same where they are extended by sign, and where the extended one is cut again. */
static const kernel_stmt *named(const kernel_value *v, int nesting) {
    if (!v || v->lanes != 1 || nesting > MOST_NESTING)
        return NULL;
    const kernel_stmt *s = NULL;
    if (v->op == KERNEL_REF) {
        s = v->let;
    } else if (v->op == KERNEL_INDEX && v->index->op == IX_VAR && v->index->var->kind == INDEX_VALUE) {
        s = v->index->var->owner;
        s = s && (type_of(s) == ELEMENT_I32 || type_of(s) == ELEMENT_INDEX) ? s : NULL;
    } else if (v->op == KERNEL_BITCAST) {
        return named(v->operands[0], nesting + 1);
    } else if (v->op == KERNEL_CONVERT) {
        const kernel_value *x = v->operands[0];
        bool extends = x->type == ELEMENT_I32 && v->type == ELEMENT_INDEX,
             cuts = x->type == ELEMENT_INDEX && (v->type == ELEMENT_I32 || v->type == ELEMENT_U32);
        const kernel_stmt *from = extends || cuts ? named(x, nesting + 1) : NULL;
        return from && type_of(from) != ELEMENT_INDEX ? from : NULL;
    }
    if (!s)
        return NULL;
    const kernel_stmt *on = s->kind == KSTMT_LET ? named(s->value, nesting + 1) : NULL;
    return on ? on : s;
}

const kernel_stmt *kernel_named_by(const kernel_value *v) {
    return named(v, 0);
}

static bool same(const kernel_value *x, const kernel_value *y, int nesting) {
    if (nesting > MOST_NESTING || x->lanes != y->lanes)
        return false;
    if (x == y && x->op == KERNEL_CONST)
        return true;
    const kernel_stmt *a = named(x, 0), *b = named(y, 0);
    if (a || b)
        return a == b;
    if (x->op != y->op || x->type != y->type || x->operand_count != y->operand_count)
        return false;
    switch (x->op) {
    case KERNEL_CONST: return x->number == y->number && signbit(x->number) == signbit(y->number);
    case KERNEL_INDEX: return ix_equal(x->index, y->index);
    case KERNEL_SCALAR: return x->scalar == y->scalar;
    case KERNEL_ADD:
    case KERNEL_SUB:
    case KERNEL_MUL:
    case KERNEL_CONVERT:
    case KERNEL_BITCAST:
    case KERNEL_BIT_AND:
    case KERNEL_BIT_OR:
    case KERNEL_BIT_XOR:
        for (int i = 0; i < x->operand_count; i++)
            if (!same(x->operands[i], y->operands[i], nesting + 1))
                return false;
        return x->saturate == y->saturate;
    default: return false;
    }
}

bool kernel_same_value(const kernel_value *x, const kernel_value *y) {
    return same(x, y, 0);
}

/* ---- conditions ---- */

/* What a condition and the exchange's success say of each other. */
typedef enum direction {
    FOUND_GIVES, /* found: the condition has this value */
    GIVES_FOUND  /* the condition has this value: found */
} direction;

static bool joined(direction d, bool conjunction, bool is, bool first, bool second) {
    /* x and y being true says so of both, being false of one of them; success gives it truth only through both, falsehood through one */
    bool one_is_enough = d == GIVES_FOUND ? conjunction == is : conjunction != is;
    return one_is_enough ? first || second : first && second;
}

static const kernel_value *written_out(const kernel_value *v) {
    for (int n = 0; n < MOST_NESTING && v->op == KERNEL_REF && v->let->kind == KSTMT_LET; n++)
        v = v->let->value;
    return v;
}

static bool value_says(const kernel_value *v, const kernel_stmt *c, direction d, bool is, int nesting) {
    v = written_out(v);
    if (nesting > MOST_NESTING || v->lanes != 1)
        return false;
    if (v->op == KERNEL_NOT)
        return value_says(v->operands[0], c, d, !is, nesting + 1);
    if (v->op == KERNEL_AND || v->op == KERNEL_OR)
        return joined(d, v->op == KERNEL_AND, is, value_says(v->operands[0], c, d, is, nesting + 1),
                      value_says(v->operands[1], c, d, is, nesting + 1));
    if (v->op != KERNEL_EQ && v->op != KERNEL_NE)
        return false;
    const kernel_value *x = v->operands[0], *y = v->operands[1];
    if (element_table[x->type].is_float) /* zeros of two signs are equal there */
        return false;
    bool about = (named(x, 0) == c && same(y, c->expected, 0)) || (named(y, 0) == c && same(x, c->expected, 0));
    return about && (v->op == KERNEL_EQ) == is; /* one and the same in both directions */
}

static bool side_is(const index_expr *x, const kernel_value *v) {
    const kernel_value side = {.op = KERNEL_INDEX, .type = ELEMENT_INDEX, .lanes = 1, .index = (index_expr *)x};
    if (x->op == IX_CONST)
        return v->op == KERNEL_CONST && v->type == ELEMENT_I32 && v->number == (double)x->value;
    return same(&side, v, 0);
}

static bool side_names(const index_expr *x, const kernel_stmt *c) {
    return x->op == IX_VAR && x->var->kind == INDEX_VALUE && x->var->owner == c;
}

static bool condition_says(const cond *x, const kernel_stmt *c, direction d, bool is, int nesting) {
    if (!x || nesting > MOST_NESTING)
        return false;
    if (x->op == COND_NOT)
        return condition_says(x->a, c, d, !is, nesting + 1);
    if (x->op == COND_AND || x->op == COND_OR)
        return joined(d, x->op == COND_AND, is, condition_says(x->a, c, d, is, nesting + 1),
                      condition_says(x->b, c, d, is, nesting + 1));
    if (x->op != COND_EQ && x->op != COND_NE)
        return false;
    bool about = (side_names(x->x, c) && side_is(x->y, c->expected)) || (side_names(x->y, c) && side_is(x->x, c->expected));
    return about && (x->op == COND_EQ) == is;
}

static bool says(const kernel_stmt *choice, const kernel_stmt *c, direction d, bool is) {
    if (c->kind != KSTMT_ATOMIC || !c->expected || !c->name)
        return false;
    return choice->kind == KSTMT_IF_VALUE ? value_says(choice->value, c, d, is, 0)
                                          : condition_says(choice->condition, c, d, is, 0);
}

bool kernel_chosen_where_found(const kernel_stmt *choice, const kernel_stmt *c, bool otherwise) {
    return says(choice, c, GIVES_FOUND, !otherwise);
}

bool kernel_found_chooses(const kernel_stmt *choice, const kernel_stmt *c, bool otherwise) {
    return says(choice, c, FOUND_GIVES, !otherwise);
}

/* ---- loops ---- */

bool kernel_only_reads(const kernel_stmt *s) {
    return s->kind == KSTMT_ATOMIC && s->expected && s->expected->op == KERNEL_CONST && kernel_same_value(s->expected, s->value);
}

bool kernel_only_writes(const kernel_stmt *s) {
    return s->kind == KSTMT_ATOMIC && s->combine == KERNEL_EXCHANGE && !s->name;
}

bool kernel_same_cell(const kernel_access *x, const kernel_access *y) {
    if (x->array != y->array)
        return false;
    for (int d = 0; d < x->array->rank; d++)
        if (!ix_equal(x->indices[d], y->indices[d]))
            return false;
    return true;
}

static bool leaves(const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++)
        if (b->items.at[i]->kind == KSTMT_BREAK && !b->items.at[i]->condition)
            return true;
    return false;
}

/* Every store in the block to the thread's cell keeps what the exchange found there. */
static bool keeps_only(const kernel_block *b, const kernel_array *cell, const kernel_stmt *exchange, int nesting) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        if (nesting > MOST_NESTING || s->kind == KSTMT_INTRINSIC || (s->access.array && s->access.array->view_of == cell))
            return false;
        if (s->kind == KSTMT_STORE && s->access.array == cell && kernel_named_by(s->value) != exchange)
            return false;
        if (!keeps_only(&s->body, cell, exchange, nesting + 1) || !keeps_only(&s->otherwise, cell, exchange, nesting + 1))
            return false;
    }
    return true;
}

static bool stores_to(const kernel_block *b, int from, const kernel_array *cell) {
    for (int i = from; i < b->items.count; i++)
        if (b->items.at[i]->kind == KSTMT_STORE && b->items.at[i]->access.array == cell)
            return true;
    return false;
}

/* Every trip that goes round again keeps what the exchange found: behind it, or on the side of a choice that leaves on the other. */
static bool always_keeps(const kernel_stmt *loop, const kernel_array *cell, const kernel_stmt *exchange) {
    int at = 0;
    while (at < loop->body.items.count && loop->body.items.at[at] != exchange)
        at++;
    if (stores_to(&loop->body, at, cell))
        return true;
    for (int i = at; i < loop->body.items.count; i++) {
        const kernel_stmt *s = loop->body.items.at[i];
        if ((s->kind == KSTMT_IF || s->kind == KSTMT_IF_VALUE) &&
            ((leaves(&s->body) && stores_to(&s->otherwise, 0, cell)) || (leaves(&s->otherwise) && stores_to(&s->body, 0, cell))))
            return true;
    }
    return false;
}

static bool holds_atomics(const kernel_block *b, int nesting) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        if (nesting > MOST_NESTING || s->kind == KSTMT_ATOMIC || s->kind == KSTMT_LOOP || s->kind == KSTMT_BARRIER ||
            holds_atomics(&s->body, nesting + 1) || holds_atomics(&s->otherwise, nesting + 1))
            return true;
    }
    return false;
}

bool kernel_is_update_loop(const kernel_stmt *loop, kernel_update_loop *out) {
    kernel_update_loop found = {0};
    bool left = false;
    if (loop->kind != KSTMT_LOOP)
        return false;
    for (int i = 0; i < loop->body.items.count; i++) { /* the one exchange, and the way out behind it */
        kernel_stmt *s = loop->body.items.at[i];
        if (s->kind == KSTMT_ATOMIC) {
            if (kernel_only_reads(s) && !found.exchange)
                continue;
            if (found.exchange || !s->expected)
                return false;
            found.exchange = s;
            continue;
        }
        if (holds_atomics(&s->body, 0) || holds_atomics(&s->otherwise, 0) || s->kind == KSTMT_BARRIER)
            return false;
        if (found.exchange && (s->kind == KSTMT_IF || s->kind == KSTMT_IF_VALUE))
            left = left || (kernel_found_chooses(s, found.exchange, false) && leaves(&s->body)) ||
                   (kernel_found_chooses(s, found.exchange, true) && leaves(&s->otherwise));
        if (found.exchange && s->kind == KSTMT_BREAK)
            left = left || kernel_found_chooses(s, found.exchange, false);
    }
    const kernel_stmt *guess = found.exchange ? kernel_named_by(found.exchange->expected) : NULL;
    if (!left || !guess)
        return false;
    for (int i = 0; i < loop->body.items.count && !found.guess && loop->body.items.at[i] != found.exchange; i++)
        if (loop->body.items.at[i] == guess)
            found.guess = loop->body.items.at[i];
    if (!found.guess)
        return false;
    bool let = guess->kind == KSTMT_LET;
    if (let && guess->value->op != KERNEL_LOAD)
        return false;
    const kernel_access *from = let ? &guess->value->access : &guess->access;
    const kernel_access *cell = &found.exchange->access;
    bool single = !from->active && !cell->active && from->lanes == 1 && cell->lanes == 1;
    if (!single || !kernel_same_cell(from, cell)) {
        if (!let || (from->array->space != SPACE_REGISTER && from->array->space != SPACE_PRIVATE) || from->array->view_of ||
            from->array->rank || !keeps_only(&loop->body, from->array, found.exchange, 0) ||
            !always_keeps(loop, from->array, found.exchange))
            return false;
        found.carry = from->array;
    }
    *out = found;
    return true;
}

/* ---- as a value ---- */

static kernel_value *bits_of(kernel_ir *k, kernel_value *x) {
    return x->type == ELEMENT_F32 ? kernel_op1(k, KERNEL_BITCAST, ELEMENT_U32, x) : x;
}

kernel_value *kernel_atomic_result(kernel_ir *k, kernel_op op, kernel_value *old, kernel_value *expected, kernel_value *given) {
    const element_type t = old->type;
    switch (op) {
    case KERNEL_EXCHANGE: return given;
    case KERNEL_COMPARE_EXCHANGE:
        return kernel_op3(k, KERNEL_SELECT, t, kernel_op2(k, KERNEL_EQ, ELEMENT_BOOL, bits_of(k, old), bits_of(k, expected)),
                          given, old);
    case KERNEL_INC_WRAP:
        return kernel_op3(k, KERNEL_SELECT, t, kernel_op2(k, KERNEL_LE, ELEMENT_BOOL, given, old), kernel_const(k, t, 1, 0),
                          kernel_op2(k, KERNEL_ADD, t, old, kernel_const(k, t, 1, 1)));
    case KERNEL_DEC_WRAP:
        return kernel_op3(k, KERNEL_SELECT, t,
                          kernel_op2(k, KERNEL_OR, ELEMENT_BOOL,
                                     kernel_op2(k, KERNEL_EQ, ELEMENT_BOOL, old, kernel_const(k, t, 1, 0)),
                                     kernel_op2(k, KERNEL_LT, ELEMENT_BOOL, given, old)),
                          given, kernel_op2(k, KERNEL_SUB, t, old, kernel_const(k, t, 1, 1)));
    default: return kernel_op2(k, op, t, old, given);
    }
}
