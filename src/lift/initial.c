/* What the source's variables begin with: a constant's table is stored at the kernel's beginning; of one that a host may set, the bytes are kept for launches
 * that give nothing. */
#include "base/element.h"
#include "lift/lifter.h"
#include <string.h>

enum { MOST_NESTING = 64 };

/* False: it holds something other than numbers, or a number of a kind that memory does not hold. Little-endian, as the machines are that we run on. */
static bool write_bytes(const lift_type *t, const lift_value *v, unsigned char *out, int nesting) {
    if (v->kind == LIFT_ZERO || v->kind == LIFT_UNDEFINED)
        return true;
    if (nesting > MOST_NESTING)
        return false;
    if (v->kind == LIFT_AGGREGATE) {
        bool is_struct = t->kind == LIFT_STRUCT;
        for (int i = 0; i < v->element_count; i++)
            if (!write_bytes(is_struct ? t->fields[i] : t->element, v->elements[i],
                             out + (is_struct ? t->offsets[i] : i * t->element->size), nesting + 1))
                return false;
        return true;
    }
    if (v->kind == LIFT_CONSTANT_INTEGER && t->kind == LIFT_INTEGER && t->bits <= 64 && t->size <= 8) {
        memcpy(out, &v->number, (size_t)t->size);
        return true;
    }
    if (v->kind != LIFT_CONSTANT_FLOAT)
        return false;
    const float single = (float)v->real;
    const uint16_t half = t->kind == LIFT_BFLOAT ? f32_to_bf16(single) : f32_to_f16(single);
    switch (t->kind) {
    case LIFT_HALF:
    case LIFT_BFLOAT: memcpy(out, &half, sizeof half); return true;
    case LIFT_FLOAT: memcpy(out, &single, sizeof single); return true;
    case LIFT_DOUBLE: memcpy(out, &v->real, sizeof v->real); return true;
    default: return false;
    }
}

/* Of a variable that a host may set: for launches that give nothing. */
static void note_initial(lifter *l, const lift_object *o) {
    const lift_value *begins = o->origin->begins;
    const lift_type *t = o->origin->pointee;
    if (!begins || t->size < 1)
        return;
    unsigned char *bytes = arena_alloc(l->arena, (size_t)t->size);
    memset(bytes, 0, (size_t)t->size);
    bool known = write_bytes(t, begins, bytes, 0);
    lifted_initial x = {o->array->name, known ? bytes : NULL, known ? t->size : 0};
    VEC_PUSH(l->arena, l->out->initials, x);
}

/* Table of a constant global: stored once, at the kernel's beginning. */
static void fill_table(lifter *l, lift_object *o, const lift_type *t, lift_value *value, int64_t offset) {
    if (!value || value->kind == LIFT_UNDEFINED || lift_stopped(l)) /* the rest of a union: nobody has set it */
        return;
    if (value->kind == LIFT_AGGREGATE) {
        for (int i = 0; i < value->element_count; i++)
            fill_table(l, o, t->kind == LIFT_STRUCT ? t->fields[i] : t->element, value->elements[i],
                       offset + (t->kind == LIFT_STRUCT ? t->offsets[i] : i * t->element->size));
        return;
    }
    lifted p = {.kind = LIFTED_POINTER, .bits = 64, .object = o, .offset = offset};
    kernel_access access = lift_cell(l, t, p, false, false);
    lifted x = lift_operand(l, value);
    if (lift_stopped(l) || x.kind == LIFTED_ANY)
        return;
    kernel_value *v = lift_as_value(l, x);
    if (t->kind == LIFT_DOUBLE && !(v = lift_double_bits(l, v)))
        lift_fail(l, "E1124", NULL, "a double that is no number, in `%s`", o->name);
    if (lift_stopped(l))
        return;
    v = lift_to_memory(l, access.array->element, t, v);
    kernel_block fresh = {0}, *body = &l->k->body; /* in front of what is there already */
    kernel_store(l->k, &fresh, access, v, lift_span(l, NULL));
    VEC_PUSH(l->arena, body->items, fresh.items.at[0]);
    for (int i = body->items.count - 1; i > 0; i--)
        body->items.at[i] = body->items.at[i - 1];
    body->items.at[0] = fresh.items.at[0];
}

void lift_begin_with(lifter *l, lift_object *o) {
    if (o->constant && o->origin->initial)
        fill_table(l, o, o->type, o->origin->initial, 0);
    if (o->origin->kind == LIFT_GLOBAL && o->space == SPACE_GLOBAL)
        note_initial(l, o);
}
