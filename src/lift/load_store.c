/* Loads and stores: numbers as memory holds them, vectors and structs part by part, accesses between two elements by halves. */
#include "lift/lifter.h"
#include <string.h>

kernel_value *lift_to_memory(lifter *l, element_type e, const lift_type *t, kernel_value *v) {
    if (v->type == ELEMENT_BOOL)
        v = kernel_op3(l->k, KERNEL_SELECT, ELEMENT_I32, v, kernel_const(l->k, ELEMENT_I32, 1, 1),
                       kernel_const(l->k, ELEMENT_I32, 1, 0));
    if (e == ELEMENT_U8 || e == ELEMENT_I64)
        v = kernel_op1(l->k, KERNEL_CONVERT, e, v);
    else if (t->kind == LIFT_INTEGER && t->bits == 16 && v->type == ELEMENT_I32)
        v = kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_U16, v);
    return v->type == e ? v : kernel_op1(l->k, KERNEL_BITCAST, e, v);
}

kernel_value *lift_from_memory(lifter *l, kernel_value *v, const lift_type *t) {
    element_type e = lift_value_type(t);
    if (v->type == ELEMENT_U8 || v->type == ELEMENT_I8) {
        v = kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_I32, v);
        if (t->bits == 1)
            v = kernel_op2(l->k, KERNEL_NE, ELEMENT_BOOL, v, kernel_const(l->k, ELEMENT_I32, 1, 0));
        return v;
    }
    if (v->type == ELEMENT_U16 || v->type == ELEMENT_I64)
        return kernel_op1(l->k, KERNEL_CONVERT, e, v);
    return v->type == e ? v : kernel_op1(l->k, KERNEL_BITCAST, e, v);
}

static lifted at_offset(lifted p, int64_t bytes) {
    p.offset += bytes;
    return p;
}

/* What all of a table is, where that is one number. */
static const lift_value *same_everywhere(const lift_value *x, const lift_type *t, const lift_value *before) {
    if (x->kind == LIFT_AGGREGATE) {
        for (int i = 0; i < x->element_count && x->elements[i]; i++)
            if (!(before = same_everywhere(x->elements[i], t, before)))
                return NULL;
        return before;
    }
    bool number = x->kind == LIFT_CONSTANT_INTEGER || x->kind == LIFT_CONSTANT_FLOAT;
    if (!number || x->type->kind != t->kind || x->type->bits != t->bits)
        return NULL;
    return !before || (before->number == x->number && !memcmp(&before->real, &x->real, sizeof x->real)) ? x : NULL;
}

/* Whether the address may lie between two elements of this width, though not of narrower ones: then the access is one of its halves. */
static bool goes_by_halves(const lift_type *t, lifted p) {
    const lift_object *o = p.object;
    if (p.kind != LIFTED_POINTER || t->size < 2 || t->size > 8 || (t->size & (t->size - 1)) || !o->facts->settled ||
        o->constant || (o->type && !o->facts->flat) || t->kind == LIFT_DOUBLE)
        return false;
    return lift_unit_with(0, t->size, p) % t->size;
}

static const lift_type *half_of(lifter *l, const lift_type *t) {
    lift_type *r = NEW(l->arena, lift_type);
    *r = (lift_type){.kind = LIFT_INTEGER,
                     .bits = (int)t->size * 4,
                     .size = t->size / 2,
                     .text = arena_printf(l->arena, "i%d", (int)t->size * 4)};
    return r;
}

/* The lower half first, as all targets store numbers. */
static lifted load_halves(lifter *l, const lift_value *v, const lift_type *t, lifted p) {
    const lift_type *half = half_of(l, t);
    int bits = half->bits;
    lifted x[2];
    for (int i = 0; i < 2; i++)
        x[i] = lift_extend(l, v, LIFT_ZEXT, lift_load(l, v, half, at_offset(p, i * half->size)), bits, 2 * bits);
    if (lift_stopped(l))
        return x[0];
    x[1] = lift_integer(l, v, LIFT_SHL, x[1], lifted_number(l, 2 * bits, bits));
    return lift_same_bits(l, v, &(lift_type){.kind = LIFT_INTEGER, .bits = 2 * bits, .size = t->size, .text = "an integer"}, t,
                          lift_integer(l, v, LIFT_OR, x[0], x[1]));
}

static void store_halves(lifter *l, const lift_type *t, lifted p, lifted x) {
    const lift_type *half = half_of(l, t);
    int bits = half->bits;
    x = lift_same_bits(l, l->now, t, &(lift_type){.kind = LIFT_INTEGER, .bits = 2 * bits, .size = t->size, .text = "an integer"},
                       x);
    for (int i = 0; i < 2 && !lift_stopped(l); i++) {
        lifted part = i ? lift_integer(l, l->now, LIFT_LSHR, x, lifted_number(l, 2 * bits, bits)) : x;
        lift_store(l, half, at_offset(p, i * half->size), lift_extend(l, l->now, LIFT_TRUNC, part, 2 * bits, bits));
    }
}

lifted lift_load(lifter *l, const lift_value *v, const lift_type *t, lifted p) {
    lifted r = {.kind = LIFTED_ELEMENTS};
    if (lift_stopped(l))
        return r;
    if (t->kind == LIFT_VECTOR || t->kind == LIFT_ARRAY || t->kind == LIFT_STRUCT) {
        r.count = t->kind == LIFT_VECTOR ? lift_own_elements(t) : (int)t->count;
        r.elements = NEW_ARRAY(l->arena, lifted, t->count ? t->count : 1);
        for (int i = 0; i < r.count && !lift_stopped(l); i++) {
            const lift_type *part = t->kind == LIFT_STRUCT ? t->fields[i] : t->element;
            r.elements[i] = lift_load(l, v, part, at_offset(p, t->kind == LIFT_STRUCT ? t->offsets[i] : i * t->element->size));
        }
        return r;
    }
    if (t->kind == LIFT_POINTER) {
        lift_fail(l, "E1125", v, "a pointer that lies in memory");
        return r;
    }
    if (p.kind == LIFTED_EITHER)
        return lift_either_load(l, v, t, p);
    if (p.kind == LIFTED_POINTER && p.object->parameters && !p.term_count)
        return lift_parameter(l, v, p.object, t, p.offset);
    if (goes_by_halves(t, p))
        return load_halves(l, v, t, p);
    kernel_access access = lift_cell(l, t, p, false, true);
    if (!access.array)
        return r;
    kernel_value *load = kernel_load(l->k, access);
    load->span = lift_span(l, v);
    kernel_stmt *let = lift_let(l, *v->name ? v->name : p.object->name, load);
    bool table = p.object->constant && p.object->origin->kind == LIFT_GLOBAL && p.object->origin->initial;
    const lift_value *known = table ? same_everywhere(p.object->origin->initial, t, NULL) : NULL;
    if (known)
        return lift_operand(l, known);
    if (t->kind == LIFT_INTEGER && t->bits == 16 && access.array->element != ELEMENT_U16)
        return (lifted){.kind = LIFTED_BITS, .bits = 16, .v = kernel_ref(l->k, let)};
    if (t->kind == LIFT_DOUBLE)
        return (lifted){
            .kind = LIFTED_BITS, .bits = 64, .v = kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_INDEX, kernel_ref(l->k, let))};
    kernel_value *x = lift_from_memory(l, kernel_ref(l->k, let), t);
    return lifted_value(t->kind == LIFT_INTEGER ? t->bits : (int)t->size * 8, x);
}

/* A value that nobody has set: that it is stored where others read it is told like any other use of it. */
static lifted unset_value(lifter *l, const lift_type *t) {
    element_type e = t->kind == LIFT_DOUBLE ? ELEMENT_INDEX : lift_value_type(t);
    e = e == ELEMENT_BOOL ? ELEMENT_I32 : e;
    if (e == ELEMENT_COUNT) {
        lift_fail(l, "E1125", l->now, "a value that nothing has set, of type %s, is stored", t->text);
        return (lifted){.kind = LIFTED_ANY};
    }
    index_expr *one = ix_const(l->arena, 1), *zero = ix_const(l->arena, 0);
    element_type held = e == ELEMENT_INDEX ? ELEMENT_I64 : e;
    kernel_array *array = kernel_add_array(l->k, lift_name(l, "unset", "unset"), SPACE_PRIVATE, USE_LOCAL, held, 1, &one);
    array->span = lift_span(l, l->now);
    kernel_value *load = kernel_load(l->k, kernel_at(l->k, array, &zero));
    load->span = array->span;
    kernel_value *v = kernel_ref(l->k, lift_let(l, "unset", load));
    v = held == e ? v : kernel_op1(l->k, KERNEL_CONVERT, e, v);
    if (t->kind == LIFT_DOUBLE)
        return (lifted){.kind = LIFTED_BITS, .bits = 64, .v = v};
    return lifted_value(t->kind == LIFT_INTEGER && t->bits > 1 ? t->bits : (int)t->size * 8, v);
}

void lift_store(lifter *l, const lift_type *t, lifted p, lifted x) {
    bool own = p.kind == LIFTED_POINTER && p.object->space == SPACE_PRIVATE; /* it stays unset, which a later read of it tells */
    if (lift_stopped(l) || (x.kind == LIFTED_ANY && own))
        return;
    if (t->kind == LIFT_VECTOR || t->kind == LIFT_ARRAY || t->kind == LIFT_STRUCT) {
        if (x.kind == LIFTED_ANY) {
            x = (lifted){.kind = LIFTED_ELEMENTS, .count = (int)t->count};
            x.elements = NEW_ARRAY(l->arena, lifted, x.count ? x.count : 1);
            for (int i = 0; i < x.count; i++)
                x.elements[i].kind = LIFTED_ANY;
        }
        bool of_three = t->kind == LIFT_VECTOR && x.count == 4 && x.elements[3].kind == LIFTED_ANY; /* its fourth is never set */
        for (int i = 0; i < 3 && of_three; i++)
            of_three = x.elements[i].kind != LIFTED_ANY;
        x.count -= of_three;
        if (x.kind != LIFTED_ELEMENTS) {
            lift_fail(l, "E1125", NULL, "a store of %s", t->text);
            return;
        }
        for (int i = 0; i < x.count; i++)
            lift_store(l, t->kind == LIFT_STRUCT ? t->fields[i] : t->element,
                       at_offset(p, t->kind == LIFT_STRUCT ? t->offsets[i] : i * t->element->size), x.elements[i]);
        return;
    }
    if (t->kind == LIFT_POINTER && t->size == 8 && x.kind == LIFTED_POINTER && x.object->nothing && !x.term_count && !x.offset) {
        static const lift_type number = {
            .kind = LIFT_INTEGER, .bits = 64, .size = 8, .text = "i64"}; /* as of zeros in a struct */
        lift_store(l, &number, p, lifted_number(l, 64, 0));
        return;
    }
    if (t->kind == LIFT_POINTER) {
        lift_fail(l, "E1125", NULL, "a pointer stored in memory");
        return;
    }
    if (p.kind == LIFTED_EITHER) {
        lift_either_store(l, t, p, x);
        return;
    }
    if (x.kind == LIFTED_ANY && (x = unset_value(l, t)).kind == LIFTED_ANY)
        return;
    if (goes_by_halves(t, p)) {
        store_halves(l, t, p, x);
        return;
    }
    kernel_access access = lift_cell(l, t, p, true, false);
    if (!access.array)
        return;
    kernel_value *v = x.kind == LIFTED_BITS ? x.v : lift_as_value(l, x);
    if (t->kind == LIFT_DOUBLE && x.kind != LIFTED_BITS && !(v = lift_double_bits(l, v)))
        lift_fail(l, "E1124", NULL, "a double that is computed is stored, in `%s`", p.object->name);
    if (lift_stopped(l))
        return;
    kernel_store(l->k, l->at, access, lift_to_memory(l, access.array->element, t, v), lift_span(l, l->now));
    l->statements++;
}
