/* Compare-and-exchange between the threads of a block: who finds what all of them expect; and loops that wait for others. */
#include "kernel/exchange.h"
#include "prove/model.h"

enum { MOST_NESTING = 100 };

bool may_only_read(const place *p) {
    return p->atomic && p->use == ACCESS_WRITE && p->stmt->combine == KERNEL_COMPARE_EXCHANGE;
}

/* ---- one winner ----
 *
 * All threads of a block make one compare_exchange of a cell, expecting the same value and giving another, and no other atomic touches the cell. Between two
 * barriers that order it, the first that finds the value changes the cell, and nobody changes it back: a plain write that could would race with the exchange.
 * So one thread at most finds it, and what that thread reads then, the others' exchanges, which fail, only read. */

static bool contains(const kernel_block *b, const kernel_stmt *s, int nesting) {
    for (int i = 0; i < b->items.count && nesting < MOST_NESTING; i++) {
        const kernel_stmt *x = b->items.at[i];
        if (x == s || contains(&x->body, s, nesting + 1) || contains(&x->otherwise, s, nesting + 1))
            return true;
    }
    return false;
}

static int position_in(const kernel_block *b, const kernel_stmt *s) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *x = b->items.at[i];
        if (x == s || contains(&x->body, s, 0) || contains(&x->otherwise, s, 0))
            return i;
    }
    return -1;
}

static bool is_whole_barrier(const kernel_stmt *s) {
    return s->kind == KSTMT_BARRIER && s->scope == LEVEL_BLOCK && !s->participants && s->spaces & 1u << SPACE_SHARED;
}

/* Whether a trip's exchange and read are ordered with those of every other trip: a barrier stands in the loop's body itself, and not between the two. */
static bool trips_are_ordered(const kernel_stmt *loop, const kernel_stmt *exchange, const kernel_stmt *read) {
    const kernel_block *b = &loop->body;
    int from = position_in(b, exchange), to = position_in(b, read);
    for (int i = 0; i < b->items.count && from >= 0 && to >= from; i++)
        if ((i < from || i > to) && is_whole_barrier(b->items.at[i]))
            return true;
    return false;
}

static bool is_integer(element_type t) {
    return t == ELEMENT_I32 || t == ELEMENT_U32;
}

/* Whether what is given is never what is expected. */
static bool changes(const kernel_stmt *c) {
    const kernel_value *e = c->expected, *v = c->value;
    if (!is_integer(e->type))
        return false;
    if (e->op == KERNEL_CONST && v->op == KERNEL_CONST)
        return e->number != v->number;
    while (v->op == KERNEL_BITCAST && is_integer(v->operands[0]->type))
        v = v->operands[0];
    if ((v->op != KERNEL_ADD && v->op != KERNEL_SUB) || !is_integer(v->type))
        return false;
    const kernel_value *x = v->operands[0], *y = v->operands[1];
    if (x->op == KERNEL_CONST && v->op == KERNEL_ADD) {
        x = v->operands[1];
        y = v->operands[0];
    }
    return y->op == KERNEL_CONST && y->number != 0 && kernel_same_value(x, e);
}

static bool is_only_atomic(const model *m, const kernel_array *a, const kernel_stmt *c) {
    for (int i = 0; i < m->places.count; i++) {
        const place *p = m->places.at[i];
        if (p->array == a && (p->asynchronous || p->collective || (p->atomic && p->stmt != c)))
            return false;
    }
    return !m->object_of[a->id];
}

/* Whether every thread makes it in the same trip of each loop, and the read behind it belongs to that trip alone. */
static bool in_step(const place *at, const kernel_stmt *read) {
    for (const scope *s = at->scope; s; s = s->parent) {
        if (s->kind == SCOPE_TRIP || s->may_stop)
            return false;
        if (s->kind == SCOPE_LOOP && !trips_are_ordered(s->counted ? s->counted : s->stmt, at->stmt, read))
            return false;
    }
    return true;
}

static bool stands_where_found(const place *read, const kernel_stmt *c) {
    for (const scope *s = read->scope; s; s = s->parent) {
        if ((s->kind != SCOPE_GUARD && s->kind != SCOPE_DATA_GUARD) ||
            (s->stmt->kind != KSTMT_IF && s->stmt->kind != KSTMT_IF_VALUE))
            continue;
        if (kernel_chosen_where_found(s->stmt, c, s->negated))
            return true;
    }
    return false;
}

void find_winners(model *m) {
    for (int i = 0; i < m->places.count && !m->persistent && !m->roles; i++) {
        const place *at = m->places.at[i];
        const kernel_stmt *c = at->stmt;
        const kernel_array *a = at->array;
        if (!may_only_read(at) || a->space != SPACE_SHARED || !changes(c) || !is_only_atomic(m, a, c) ||
            !uniform_value(m, c->expected, LEVEL_BLOCK))
            continue;
        for (int j = 0; j < m->places.count; j++) {
            place *r = m->places.at[j];
            if (r->array == a && r->use == ACCESS_READ && !r->atomic && stands_where_found(r, c) && in_step(at, r->stmt))
                r->won = c;
        }
    }
}

bool winner_exempt(const place *read, const place *exchange) {
    return read && exchange && read->won && exchange->atomic && exchange->stmt == read->won;
}

/* ---- waiting ---- */

bool judge_waiting(prover *p) {
    const model *m = p->m;
    for (int i = 0; i < m->opaque_loops.count; i++) {
        const kernel_stmt *atomic = kernel_waits_for(m->opaque_loops.at[i], m->kernel->arrays.count, m->arena);
        if (!atomic)
            continue;
        prover_unknown(p, p->kernel->name, atomic->span, NULL,
                       "that a loop ends which goes on until another thread has changed what this atomic finds (a lock, a flag): "
                       "threads need not run while others wait");
        return false;
    }
    return true;
}
