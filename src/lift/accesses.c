/* Calls that access memory: vector loads and stores, copies of a known size. */
#include "lift/lifter.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    if (t && t->kind == LIFT_POINTER && t->size == 8)
        t = lift_integer_type(8);
    if (!t || (fill && t->kind == LIFT_STRUCT) ||
        (t->size && (bytes % t->size || !steps_by(&to, t->size) || !steps_by(&from, t->size))))
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
