/* Calls that access memory: atomics, vector loads and stores, copies of a known size. */
#include "lift/lifter.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- atomics ---- */

typedef struct update {
    kernel_op op;
    bool negated, is_unsigned, is_float;
} update;

static void atomic(lifter *l, const lift_value *v, lifted pointer, const lift_type *t, lifted x, update u, level_kind scope) {
    kernel_ir *k = l->k;
    if (pointer.kind == LIFTED_POINTER && u.is_unsigned && !pointer.object->facts->is_unsigned) {
        pointer.object->facts->is_unsigned = true;
        l->again = true;
        return;
    }
    kernel_access access = lift_cell(l, t, pointer, true, true);
    if (!access.array)
        return;
    pointer.object->facts->atomic = true;
    element_type e = access.array->element;
    kernel_value *y = lift_as_value(l, x);
    if (lift_stopped(l))
        return;
    bool wide = e == ELEMENT_I64 && u.op != KERNEL_MIN && u.op != KERNEL_MAX;
    if (e != ELEMENT_F32 && e != ELEMENT_I32 && e != ELEMENT_U32 && !wide) {
        lift_fail(l, "E1128", v, "an atomic on %s", element_table[e].name);
        return;
    }
    if ((u.op == KERNEL_MIN || u.op == KERNEL_MAX) && !u.is_float && !u.is_unsigned && e == ELEMENT_U32) {
        lift_fail(l, "E1128", v, "atomics compare `%s` as signed and as unsigned", access.array->name);
        return;
    }
    if (u.is_float != (e == ELEMENT_F32)) {
        lift_fail(l, "E1128", v, "an atomic on `%s`, which holds %s, as on %s", access.array->name, element_table[e].name,
                  t->text);
        return;
    }
    if (u.negated)
        y = kernel_op1(k, KERNEL_NEG, y->type, y);
    if (y->type != e)
        y = kernel_op1(k, wide ? KERNEL_CONVERT : KERNEL_BITCAST, e, y);
    kernel_stmt *s = kernel_append(k, l->at, KSTMT_ATOMIC, lift_span(l, v));
    s->combine = u.op;
    s->access = access;
    s->value = y;
    s->scope = scope;
    l->statements++;
    if (!v->uses)
        return;
    s->name = lift_name(l, v->name, "old");
    if (e != ELEMENT_F32) {
        s->var = kernel_new_var(k, s->name, INDEX_VALUE);
        s->var->owner = s;
        s->var->span = s->span;
    }
    kernel_value *old = kernel_ref(k, s);
    old->type = e;
    old->lanes = 1;
    l->env[v->id] = wide ? lifted_value(64, kernel_op1(k, KERNEL_CONVERT, ELEMENT_INDEX, old))
                         : lifted_value(32, e == ELEMENT_U32 ? kernel_op1(k, KERNEL_BITCAST, ELEMENT_I32, old) : old);
}

static level_kind scope_of(const lift_value *v, lifted pointer) {
    bool shared = pointer.kind == LIFTED_POINTER && pointer.object->space == SPACE_SHARED;
    return shared || (v->scope && !strncmp(v->scope, "workgroup", 9)) ? LEVEL_BLOCK : LEVEL_TASK;
}

void lift_atomic_operation(lifter *l, const lift_value *v) {
    if (v->op == LIFT_FENCE) {
        lift_fence(l, v->scope && !strncmp(v->scope, "workgroup", 9) ? LEVEL_BLOCK : LEVEL_TASK);
        return;
    }
    static const update updates[] = {
        [LIFT_ATOMIC_ADD] = {KERNEL_ADD, false, false, false},     [LIFT_ATOMIC_SUB] = {KERNEL_ADD, true, false, false},
        [LIFT_ATOMIC_AND] = {KERNEL_BIT_AND, false, false, false}, [LIFT_ATOMIC_OR] = {KERNEL_BIT_OR, false, false, false},
        [LIFT_ATOMIC_XOR] = {KERNEL_BIT_XOR, false, false, false}, [LIFT_ATOMIC_MAX] = {KERNEL_MAX, false, false, false},
        [LIFT_ATOMIC_MIN] = {KERNEL_MIN, false, false, false},     [LIFT_ATOMIC_UMAX] = {KERNEL_MAX, false, true, false},
        [LIFT_ATOMIC_UMIN] = {KERNEL_MIN, false, true, false},     [LIFT_ATOMIC_FADD] = {KERNEL_ADD, false, false, true},
        [LIFT_ATOMIC_FMAX] = {KERNEL_MAX, false, false, true},     [LIFT_ATOMIC_FMIN] = {KERNEL_MIN, false, false, true}};
    if (v->op == LIFT_CMPXCHG || v->atomic == LIFT_XCHG || v->atomic == LIFT_ATOMIC_OTHER) {
        lift_fail(l, "E1128", v, "%s",
                  v->op == LIFT_CMPXCHG    ? "an atomic compare-and-exchange"
                  : v->atomic == LIFT_XCHG ? "an atomic exchange"
                                           : "an atomic of this kind");
        return;
    }
    lifted pointer = lift_operand(l, v->operands[0]), x = lift_operand(l, v->operands[1]);
    if (!lift_stopped(l))
        atomic(l, v, pointer, v->pointee, x, updates[v->atomic], scope_of(v, pointer));
}

/* atomic_add, atom_add, atomic_fetch_add_explicit, atomic_inc .. of OpenCL */
bool lift_atomic_call(lifter *l, const lift_value *v, const char *name) {
    if (strncmp(name, "atomic_", 7) && strncmp(name, "atom_", 5))
        return false;
    const char *what = strchr(name, '_') + 1;
    char plain[32];
    snprintf(plain, sizeof plain, "%s", strncmp(what, "fetch_", 6) ? what : what + 6);
    char *end = strstr(plain, "_explicit");
    if (end)
        *end = 0;
    static const struct {
        const char *name;
        update u;
        int64_t implied;
    } known[] = {{"add", {KERNEL_ADD, false, false, false}, 0},     {"sub", {KERNEL_ADD, true, false, false}, 0},
                 {"inc", {KERNEL_ADD, false, false, false}, 1},     {"dec", {KERNEL_ADD, false, false, false}, -1},
                 {"min", {KERNEL_MIN, false, false, false}, 0},     {"max", {KERNEL_MAX, false, false, false}, 0},
                 {"and", {KERNEL_BIT_AND, false, false, false}, 0}, {"or", {KERNEL_BIT_OR, false, false, false}, 0},
                 {"xor", {KERNEL_BIT_XOR, false, false, false}, 0}};
    const lift_type *t = v->type;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, plain) || !v->operand_count)
            continue;
        update u = known[i].u;
        u.is_float = t->kind == LIFT_FLOAT;
        size_t n = strlen(v->callee); /* _Z10atomic_minPU3AS1Vjj: the value's type stands last */
        u.is_unsigned = (u.op == KERNEL_MIN || u.op == KERNEL_MAX) && v->callee[n - 1] == 'j';
        lifted pointer = lift_operand(l, v->operands[0]);
        lifted x = known[i].implied       ? lifted_number(l, t->kind == LIFT_INTEGER ? t->bits : 32, known[i].implied)
                   : v->operand_count > 1 ? lift_operand(l, v->operands[1])
                                          : (lifted){.kind = LIFTED_ANY};
        if (!lift_stopped(l))
            atomic(l, v, pointer, t, x, u, scope_of(v, pointer));
        return true;
    }
    lift_fail(l, "E1128", v, "the atomic `%s`", name);
    return true;
}

/* ---- vectors from memory ---- */

bool lift_memory_call(lifter *l, const lift_value *v, const char *name) {
    bool load = !strncmp(name, "vload", 5), store = !strncmp(name, "vstore", 6);
    if ((!load && !store) || strchr(name, '_'))
        return false;
    int lanes = atoi(name + (load ? 5 : 6));
    const lift_type *t = load ? v->type : v->operands[0]->type;
    if (t->kind != LIFT_VECTOR || t->count != lanes)
        return false;
    lifted p = lift_operand(l, v->operands[load ? 1 : 2]), at = lift_operand(l, v->operands[load ? 0 : 1]);
    if (lift_stopped(l) || p.kind != LIFTED_POINTER)
        return !lift_stopped(l) ? false : true;
    int64_t n, stride = t->element->size * lanes;
    at.bits = 64;
    if (lift_is_number(&at, &n)) {
        p.offset += n * stride;
    } else {
        pointer_term *terms = NEW_ARRAY(l->arena, pointer_term, p.term_count + 1);
        for (int i = 0; i < p.term_count; i++)
            terms[i] = p.terms[i];
        terms[p.term_count] = (pointer_term){lift_exact(l, at, true), stride, 0};
        p.terms = terms;
        p.term_count++;
    }
    if (load)
        l->env[v->id] = lift_load(l, v, t, p);
    else
        lift_store(l, t, p, lift_operand(l, v->operands[0]));
    return true;
}

/* What the pointer leads to, or may. */
static const lift_object *object_of(const lifted *p) {
    for (int nesting = 0; p->kind == LIFTED_EITHER && nesting < 16; nesting++)
        p = &p->elements[0];
    return p->kind == LIFTED_POINTER ? p->object : NULL;
}

/* Whether the address is a multiple of so many bytes, or a launch value can make it one. */
static bool steps_by(const lifted *p, int64_t size) {
    return p->kind != LIFTED_POINTER || lift_unit_with(0, size, *p) % size == 0;
}

/* Copies and fills of a constant size, as structs and local arrays give rise to, byte range by byte range of what the destination holds. */
bool lift_copy_call(lifter *l, const lift_value *v, const char *name) {
    bool copy = !strcmp(name, "memcpy") || !strcmp(name, "memmove"), fill = !strcmp(name, "memset");
    int64_t bytes, value = 0;
    if (!copy && !fill)
        return false;
    if (!lift_constant_operand(l, v, 2, &bytes) || bytes < 0 || bytes > 4096 ||
        (fill && (!lift_constant_operand(l, v, 1, &value) || value))) {
        lift_fail(l, "E1128", v, "`%s` of a size that is not constant, over 4096 bytes, or of other than zeros", name);
        return true;
    }
    lifted to = lift_operand(l, v->operands[0]), from = copy ? lift_operand(l, v->operands[1]) : to;
    const lift_object *into = object_of(&to), *out_of = object_of(&from);
    if (lift_stopped(l) || !into || !out_of)
        return lift_stopped(l);
    const lift_type *t = into->facts->element ? into->facts->element : out_of->facts->element;
    if (!t) /* decided by what else is done with them: known in the next walk */
        t = into->type;
    while (t && (t->kind == LIFT_ARRAY || t->kind == LIFT_VECTOR))
        t = t->element;
    int64_t unit = lift_unit_of(&from, lift_unit_of(&to, bytes % 4 ? bytes % 2 ? 1 : 2 : 4));
    if (!t || (t->size && (bytes % t->size || !steps_by(&to, t->size) || !steps_by(&from, t->size))))
        t = lift_integer_type(unit); /* by what the addresses step by */
    if (!t || !t->size || bytes % t->size) {
        lift_fail(l, "E1128", v, "`%s` between memory of different elements", name);
        return true;
    }
    for (int64_t i = 0; i < bytes && !lift_stopped(l); i += t->size) {
        lifted a = to, b = from;
        a.offset += i;
        b.offset += i;
        lifted x = copy                      ? lift_load(l, v, t, b)
                   : t->kind == LIFT_INTEGER ? lifted_number(l, t->bits, 0)
                                             : lifted_value((int)t->size * 8, kernel_const(l->k, lift_value_type(t), 1, 0));
        lift_store(l, t, a, x);
    }
    return true;
}
