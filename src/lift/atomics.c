/* Atomics, as LLVM's operations and as OpenCL's functions. */
#include "lift/lifter.h"
#include <stdio.h>
#include <string.h>

typedef struct update {
    kernel_op op;
    bool negated, is_unsigned, is_float;
} update;

/* One atomic of the source. */
typedef struct atomic_access {
    const lift_value *v;
    lifted pointer, expected, x; /* `expected`: of COMPARE_EXCHANGE */
    const lift_type *type;       /* of the value */
    update u;
    level_kind scope;
    bool ordered, wants_old;
} atomic_access;

/* A value of the access's type as the array holds it. */
static kernel_value *as_element(lifter *l, lifted x, element_type e) {
    kernel_value *y = lift_as_value(l, x);
    if (lift_stopped(l) || y->type == e)
        return y;
    return kernel_op1(l->k, e == ELEMENT_I64 ? KERNEL_CONVERT : KERNEL_BITCAST, e, y);
}

static bool compares(kernel_op op) {
    return op == KERNEL_MIN || op == KERNEL_MAX || op == KERNEL_INC_WRAP || op == KERNEL_DEC_WRAP;
}

static bool fits(lifter *l, const atomic_access *c, const kernel_array *array) {
    const element_type e = array->element;
    bool wide = e == ELEMENT_I64 && !compares(c->u.op),
         any_bits = c->u.op == KERNEL_EXCHANGE || c->u.op == KERNEL_COMPARE_EXCHANGE;
    if (e != ELEMENT_F32 && e != ELEMENT_I32 && e != ELEMENT_U32 && !wide)
        lift_fail(l, "E1128", c->v, "an atomic `%s` on %s", kernel_op_table[c->u.op].name, element_table[e].name);
    else if (compares(c->u.op) && !c->u.is_float && !c->u.is_unsigned && e == ELEMENT_U32)
        lift_fail(l, "E1128", c->v, "atomics compare `%s` as signed and as unsigned", array->name);
    else if (!any_bits && c->u.is_float != (e == ELEMENT_F32))
        lift_fail(l, "E1128", c->v, "an atomic on `%s`, which holds %s, as on %s", array->name, element_table[e].name,
                  c->type->text);
    return !lift_stopped(l);
}

/* Makes the statement. False: it is not there, which is reported, or will be in the next walk; *old: what the cell held, as a value of the access's type. */
static bool atomic(lifter *l, const atomic_access *c, lifted *old) {
    kernel_ir *k = l->k;
    if (c->pointer.kind == LIFTED_POINTER && c->u.is_unsigned && !c->pointer.object->facts->is_unsigned) {
        c->pointer.object->facts->is_unsigned = true;
        l->again = true;
        return false;
    }
    kernel_access access = lift_cell(l, c->type, c->pointer, true, true);
    if (!access.array)
        return false;
    c->pointer.object->facts->atomic = true;
    const element_type e = access.array->element;
    if (!fits(l, c, access.array))
        return false;
    kernel_value *expected = c->u.op == KERNEL_COMPARE_EXCHANGE ? as_element(l, c->expected, e) : NULL;
    lifted x = c->x;
    if (c->u.negated) {
        kernel_value *y = lift_as_value(l, x);
        if (lift_stopped(l))
            return false;
        x.kind = LIFTED_VALUE;
        x.v = kernel_op1(k, KERNEL_NEG, y->type, y);
    }
    kernel_value *y = as_element(l, x, e);
    if (lift_stopped(l))
        return false;
    kernel_stmt *s = kernel_append(k, l->at, KSTMT_ATOMIC, lift_span(l, c->v));
    s->combine = c->u.op;
    s->access = access;
    s->expected = expected;
    s->value = y;
    s->scope = c->scope;
    s->ordered = c->ordered;
    l->statements++;
    if (!c->wants_old)
        return true;
    s->name = lift_name(l, c->v->name, "old");
    if (e != ELEMENT_F32) {
        s->var = kernel_new_var(k, s->name, INDEX_VALUE);
        s->var->owner = s;
        s->var->span = s->span;
    }
    kernel_value *was = kernel_ref(k, s);
    was->type = e;
    was->lanes = 1;
    const bool as_float = c->type->kind == LIFT_FLOAT;
    if (e == ELEMENT_I64)
        *old = lifted_value(64, kernel_op1(k, KERNEL_CONVERT, ELEMENT_INDEX, was));
    else if (as_float)
        *old = lifted_value(32, e == ELEMENT_F32 ? was : kernel_op1(k, KERNEL_BITCAST, ELEMENT_F32, was));
    else
        *old = lifted_value(32, e == ELEMENT_I32 ? was : kernel_op1(k, KERNEL_BITCAST, ELEMENT_I32, was));
    return true;
}

/* Whether the old value's bits are those expected. */
static lifted found(lifter *l, const atomic_access *c, const lifted *old) {
    if (c->type->kind == LIFT_INTEGER)
        return lift_compare(l, c->v, LIFT_EQ, *old, c->expected, c->type->bits);
    kernel_value *x = kernel_op1(l->k, KERNEL_BITCAST, ELEMENT_I32, lift_as_value(l, *old));
    kernel_value *y = kernel_op1(l->k, KERNEL_BITCAST, ELEMENT_I32, lift_as_value(l, c->expected));
    return lifted_value(1, kernel_op2(l->k, KERNEL_EQ, ELEMENT_BOOL, x, y));
}

static level_kind scope_of(const lift_value *v, lifted pointer) {
    bool shared = pointer.kind == LIFTED_POINTER && pointer.object->space == SPACE_SHARED;
    return shared || (v->scope && !strncmp(v->scope, "workgroup", 9)) ? LEVEL_BLOCK : LEVEL_TASK;
}

static bool is_word(const lift_type *t) {
    return t->kind == LIFT_FLOAT || (t->kind == LIFT_INTEGER && (t->bits == 32 || t->bits == 64));
}

static void compare_exchange(lifter *l, const lift_value *v) {
    atomic_access c = {.v = v,
                       .pointer = lift_operand(l, v->operands[0]),
                       .expected = lift_operand(l, v->operands[1]),
                       .x = lift_operand(l, v->operands[2]),
                       .type = v->pointee,
                       .u = {.op = KERNEL_COMPARE_EXCHANGE},
                       .ordered = v->ordered,
                       .wants_old = v->uses > 0};
    if (!lift_stopped(l) && !is_word(c.type))
        lift_fail(l, "E1128", v, "an atomic compare-and-exchange of %s", c.type->text);
    lifted old = {.kind = LIFTED_ANY};
    c.scope = scope_of(v, c.pointer);
    if (lift_stopped(l) || !atomic(l, &c, &old) || !c.wants_old)
        return;
    lifted r = {.kind = LIFTED_ELEMENTS, .elements = NEW_ARRAY(l->arena, lifted, 2), .count = 2};
    r.elements[0] = old;
    r.elements[1] = found(l, &c, &old);
    l->env[v->id] = r;
}

/* A load is a compare-and-exchange of zero by zero, a store an exchange whose old value nobody wants. */
static void load_or_store(lifter *l, const lift_value *v, const lift_value *address, const lift_value *stored, const lift_type *t,
                          bool ordered) {
    if (!is_word(t)) {
        lift_fail(l, "E1128", v, "an atomic %s of %s", stored ? "store" : "load", t->text);
        return;
    }
    const lifted zero =
        t->kind == LIFT_FLOAT ? lifted_value(32, kernel_const(l->k, ELEMENT_F32, 1, 0)) : lifted_number(l, t->bits, 0);
    atomic_access c = {.v = v,
                       .pointer = lift_operand(l, address),
                       .expected = zero,
                       .x = stored ? lift_operand(l, stored) : zero,
                       .type = t,
                       .u = {.op = stored ? KERNEL_EXCHANGE : KERNEL_COMPARE_EXCHANGE},
                       .ordered = ordered,
                       .wants_old = !stored};
    lifted old = {.kind = LIFTED_ANY};
    if (lift_stopped(l))
        return;
    c.scope = scope_of(v, c.pointer);
    if (atomic(l, &c, &old) && !stored)
        l->env[v->id] = old;
}

void lift_atomic_operation(lifter *l, const lift_value *v) {
    if (v->op == LIFT_LOAD || v->op == LIFT_STORE) {
        bool store = v->op == LIFT_STORE;
        load_or_store(l, v, v->operands[store], store ? v->operands[0] : NULL, v->pointee, v->ordered);
        return;
    }
    if (v->op == LIFT_FENCE) {
        lift_fence(l, v->scope && !strncmp(v->scope, "workgroup", 9) ? LEVEL_BLOCK : LEVEL_TASK);
        return;
    }
    if (v->op == LIFT_CMPXCHG) {
        compare_exchange(l, v);
        return;
    }
    static const update updates[] = {[LIFT_ATOMIC_ADD] = {KERNEL_ADD, false, false, false},
                                     [LIFT_ATOMIC_SUB] = {KERNEL_ADD, true, false, false},
                                     [LIFT_ATOMIC_AND] = {KERNEL_BIT_AND, false, false, false},
                                     [LIFT_ATOMIC_OR] = {KERNEL_BIT_OR, false, false, false},
                                     [LIFT_ATOMIC_XOR] = {KERNEL_BIT_XOR, false, false, false},
                                     [LIFT_ATOMIC_MAX] = {KERNEL_MAX, false, false, false},
                                     [LIFT_ATOMIC_MIN] = {KERNEL_MIN, false, false, false},
                                     [LIFT_ATOMIC_UMAX] = {KERNEL_MAX, false, true, false},
                                     [LIFT_ATOMIC_UMIN] = {KERNEL_MIN, false, true, false},
                                     [LIFT_ATOMIC_FADD] = {KERNEL_ADD, false, false, true},
                                     [LIFT_ATOMIC_FMAX] = {KERNEL_MAX, false, false, true},
                                     [LIFT_ATOMIC_FMIN] = {KERNEL_MIN, false, false, true},
                                     [LIFT_XCHG] = {KERNEL_EXCHANGE, false, false, false},
                                     [LIFT_ATOMIC_INC_WRAP] = {KERNEL_INC_WRAP, false, true, false},
                                     [LIFT_ATOMIC_DEC_WRAP] = {KERNEL_DEC_WRAP, false, true, false}};
    if (v->atomic == LIFT_ATOMIC_OTHER) {
        lift_fail(l, "E1128", v, "an atomic of this kind");
        return;
    }
    atomic_access c = {.v = v,
                       .pointer = lift_operand(l, v->operands[0]),
                       .x = lift_operand(l, v->operands[1]),
                       .type = v->pointee,
                       .u = updates[v->atomic],
                       .ordered = v->ordered,
                       .wants_old = v->uses > 0};
    if (!lift_stopped(l) && !is_word(c.type))
        lift_fail(l, "E1128", v, "an atomic on %s", c.type->text);
    c.scope = scope_of(v, c.pointer);
    if (!lift_stopped(l))
        (void)atomic(l, &c, &l->env[v->id]);
}

/* ---- OpenCL's functions ---- */

/* C11's functions order other accesses unless their orders, the constants from operand `first` on, are all relaxed. */
static bool is_ordered(lifter *l, const lift_value *v, bool is_explicit, int first, int orders) {
    int64_t order;
    for (int i = 0; i < orders && is_explicit; i++)
        if (!lift_constant_operand(l, v, first + i, &order) || order)
            return true;
    return !is_explicit;
}

/* atomic_compare_exchange_strong(p, &expected, value) and its like: what was there is stored to `expected`, where it was that already if it was found. */
static void compare_exchange_call(lifter *l, const lift_value *v, bool is_explicit) {
    const lift_type *t = v->operands[2]->type;
    lifted own = lift_operand(l, v->operands[1]);
    atomic_access c = {.v = v,
                       .pointer = lift_operand(l, v->operands[0]),
                       .x = lift_operand(l, v->operands[2]),
                       .type = t,
                       .u = {.op = KERNEL_COMPARE_EXCHANGE},
                       .wants_old = true};
    if (!lift_stopped(l) && !is_word(t))
        lift_fail(l, "E1128", v, "an atomic compare-and-exchange of %s", t->text);
    if (lift_stopped(l))
        return;
    c.expected = lift_load(l, v, t, own);
    c.ordered = is_ordered(l, v, is_explicit, 3, 2);
    c.scope = scope_of(v, c.pointer);
    lifted old = {.kind = LIFTED_ANY};
    if (lift_stopped(l) || !atomic(l, &c, &old))
        return;
    lift_store(l, t, own, old);
    if (!lift_stopped(l))
        l->env[v->id] = found(l, &c, &old);
}

/* atomic_add, atom_add, atomic_inc .. of OpenCL C 1, atomic_fetch_add_explicit .. of 2 */
bool lift_atomic_call(lifter *l, const lift_value *v, const char *name) {
    if (strncmp(name, "atomic_", 7) && strncmp(name, "atom_", 5))
        return false;
    const char *what = strchr(name, '_') + 1;
    char plain[40];
    snprintf(plain, sizeof plain, "%s", strncmp(what, "fetch_", 6) ? what : what + 6);
    char *end = strstr(plain, "_explicit");
    if (end)
        *end = 0;
    static const struct {
        const char *name;
        update u;
        int64_t implied;
        bool c11; /* without fetch_ before it */
    } known[] = {{"add", {KERNEL_ADD, false, false, false}, 0, false},
                 {"sub", {KERNEL_ADD, true, false, false}, 0, false},
                 {"inc", {KERNEL_ADD, false, false, false}, 1, false},
                 {"dec", {KERNEL_ADD, false, false, false}, -1, false},
                 {"min", {KERNEL_MIN, false, false, false}, 0, false},
                 {"max", {KERNEL_MAX, false, false, false}, 0, false},
                 {"and", {KERNEL_BIT_AND, false, false, false}, 0, false},
                 {"or", {KERNEL_BIT_OR, false, false, false}, 0, false},
                 {"xor", {KERNEL_BIT_XOR, false, false, false}, 0, false},
                 {"xchg", {KERNEL_EXCHANGE, false, false, false}, 0, false},
                 {"exchange", {KERNEL_EXCHANGE, false, false, false}, 0, true},
                 {"cmpxchg", {KERNEL_COMPARE_EXCHANGE, false, false, false}, 0, false}};
    if ((!strcmp(plain, "compare_exchange_strong") || !strcmp(plain, "compare_exchange_weak")) && v->operand_count >= 3) {
        compare_exchange_call(l, v, end != NULL);
        return true;
    }
    if (!strcmp(plain, "load") || !strcmp(plain, "store")) {
        bool store = *plain == 's';
        if (v->operand_count > store) {
            bool ordered = is_ordered(l, v, end != NULL, 1 + store, 1);
            load_or_store(l, v, v->operands[0], store ? v->operands[1] : NULL, store ? v->operands[1]->type : v->type, ordered);
            return true;
        }
    }
    const lift_type *t = v->type;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        bool expects = known[i].u.op == KERNEL_COMPARE_EXCHANGE;
        if (strcmp(known[i].name, plain) || v->operand_count < (known[i].implied ? 1 : expects ? 3 : 2) || !is_word(t))
            continue;
        atomic_access c = {.v = v, .type = t, .u = known[i].u, .wants_old = v->uses > 0};
        c.u.is_float = t->kind == LIFT_FLOAT;
        size_t n = strlen(v->callee); /* _Z10atomic_minPU3AS1Vjj: the value's type stands last */
        c.u.is_unsigned = (c.u.op == KERNEL_MIN || c.u.op == KERNEL_MAX) && v->callee[n - 1] == 'j';
        c.pointer = lift_operand(l, v->operands[0]);
        c.x = known[i].implied ? lifted_number(l, t->kind == LIFT_INTEGER ? t->bits : 32, known[i].implied)
                               : lift_operand(l, v->operands[expects ? 2 : 1]);
        if (expects)
            c.expected = lift_operand(l, v->operands[1]);
        if (lift_stopped(l))
            return true;
        c.ordered = (known[i].c11 || !strncmp(what, "fetch_", 6)) && is_ordered(l, v, end != NULL, 2, 1);
        c.scope = scope_of(v, c.pointer);
        (void)atomic(l, &c, &l->env[v->id]);
        return true;
    }
    lift_fail(l, "E1128", v, "the atomic `%s`", name);
    return true;
}
