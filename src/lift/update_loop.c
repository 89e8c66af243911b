/* The first guess of a loop that tries a compare-and-exchange again, and a guess read anew in each trip, become atomic reads: nothing but the exchange
 * decides whether they were right, so whatever they give, a value from before some other thread's update too, the cell gets the same update. */
#include "kernel/exchange.h"
#include "lift/lifter.h"

enum { MOST_NESTING = 100 };

typedef struct counting {
    const kernel_stmt *of;
    int uses;
} counting;

static void count_index(const index_expr *x, counting *c, int nesting) {
    if (nesting > 2 * MOST_NESTING || x->op == IX_CONST)
        return;
    if (x->op == IX_VAR) {
        c->uses += x->var->kind == INDEX_VALUE && x->var->owner == c->of;
        return;
    }
    count_index(x->a, c, nesting + 1);
    count_index(x->b, c, nesting + 1);
}

static void visit_index(void *context, index_expr **x) {
    count_index(*x, context, 0);
}

static void count_condition(const cond *x, counting *c, int nesting) {
    if (!x || nesting > MOST_NESTING)
        return;
    if (x->x) {
        count_index(x->x, c, 0);
        count_index(x->y, c, 0);
    }
    count_condition(x->a, c, nesting + 1);
    count_condition(x->b, c, nesting + 1);
}

static void visit_condition(void *context, cond **x) {
    count_condition(*x, context, 0);
}

static void visit_value(void *context, kernel_value *v) {
    counting *c = context;
    c->uses += v->op == KERNEL_REF && v->let == c->of;
}

static void count_uses(kernel_block *b, counting *c, int nesting) {
    const kernel_visitor visitor = {.context = c, .index = visit_index, .condition = visit_condition, .value = visit_value};
    for (int i = 0; i < b->items.count && nesting < MOST_NESTING; i++) {
        kernel_visit_stmt(b->items.at[i], &visitor);
        count_uses(&b->items.at[i]->body, c, nesting + 1);
        count_uses(&b->items.at[i]->otherwise, c, nesting + 1);
    }
}

/* let x = A[i] -> atomic x = compare_exchange A[i] if 0 <- 0 */
static void read_atomically(kernel_ir *k, kernel_stmt *let, level_kind scope) {
    kernel_access access = let->value->access;
    let->kind = KSTMT_ATOMIC;
    let->combine = KERNEL_COMPARE_EXCHANGE;
    let->access = access;
    let->scope = scope;
    let->expected = kernel_const(k, access.array->element, 1, 0);
    let->value = kernel_const(k, access.array->element, 1, 0);
}

static bool is_plain_load(const kernel_stmt *s, const kernel_array *of) {
    return s->kind == KSTMT_LET && s->value->op == KERNEL_LOAD && s->value->access.array == of && s->value->lanes == 1 &&
           !(s->var && (s->var->lo || s->var->hi));
}

/* `cell` is stored to before the loop in this block alone: by a name that nothing else uses. */
static kernel_stmt *first_guess(kernel_ir *k, kernel_block *b, int loop, const kernel_update_loop *u) {
    const kernel_stmt *store = NULL;
    for (int i = loop - 1; i >= 0 && !store; i--) {
        const kernel_stmt *s = b->items.at[i];
        if (s->kind == KSTMT_STORE && s->access.array == u->carry)
            store = s;
        else if (s->kind != KSTMT_LET && s->kind != KSTMT_STORE)
            return NULL;
    }
    const kernel_stmt *named = store ? kernel_named_by(store->value) : NULL;
    for (int i = 0; i < loop && named; i++) {
        kernel_stmt *s = b->items.at[i];
        if (s != named || !is_plain_load(s, u->exchange->access.array))
            continue;
        counting c = {.of = s};
        count_uses(&k->body, &c, 0);
        return c.uses == 1 ? s : NULL;
    }
    return NULL;
}

/* Whether nothing but the exchange itself is done with what it was guessed from, until it has found it: no store but the one that keeps what was there instead,
 * and no other way out. */
static bool only_updates(const kernel_block *b, const kernel_update_loop *u, bool found, int nesting) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        bool choice = s->kind == KSTMT_IF || s->kind == KSTMT_IF_VALUE, leaves = s->kind == KSTMT_BREAK;
        if (nesting > MOST_NESTING || s->kind == KSTMT_INTRINSIC || s->kind == KSTMT_COPY ||
            (s->kind == KSTMT_STORE && !found && s->access.array != u->carry) ||
            (leaves && !found && !(s->condition && kernel_chosen_where_found(s, u->exchange, false))) ||
            !only_updates(&s->body, u, found || (choice && kernel_chosen_where_found(s, u->exchange, false)), nesting + 1) ||
            !only_updates(&s->otherwise, u, found || (choice && kernel_chosen_where_found(s, u->exchange, true)), nesting + 1))
            return false;
    }
    return true;
}

static void each_loop(kernel_ir *k, kernel_block *b, int nesting) {
    for (int i = 0; i < b->items.count && nesting < MOST_NESTING; i++) {
        kernel_stmt *s = b->items.at[i];
        kernel_update_loop u;
        if (kernel_is_update_loop(s, &u) && only_updates(&s->body, &u, false, 0)) {
            kernel_stmt *guess = u.carry ? first_guess(k, b, i, &u) : u.guess->kind == KSTMT_LET ? u.guess : NULL;
            if (guess)
                read_atomically(k, guess, u.exchange->scope);
        }
        each_loop(k, &s->body, nesting + 1);
        each_loop(k, &s->otherwise, nesting + 1);
    }
}

void lift_update_loops(kernel_ir *k) {
    each_loop(k, &k->body, 0);
}
