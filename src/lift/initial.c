/* What a variable of the source's that a host may set begins with: the bytes of its initialiser, for launches that give nothing else. */
#include "base/element.h"
#include "lift/lifter.h"
#include <string.h>

enum { MOST_NESTING = 64 };

static void put(unsigned char *out, const void *value, int64_t size) {
    memcpy(out, value, (size_t)size);
}

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
        put(out, &v->number, t->size);
        return true;
    }
    if (v->kind != LIFT_CONSTANT_FLOAT)
        return false;
    const float single = (float)v->real;
    const uint16_t half = t->kind == LIFT_BFLOAT ? f32_to_bf16(single) : f32_to_f16(single);
    switch (t->kind) {
    case LIFT_HALF:
    case LIFT_BFLOAT: put(out, &half, sizeof half); return true;
    case LIFT_FLOAT: put(out, &single, sizeof single); return true;
    case LIFT_DOUBLE: put(out, &v->real, sizeof v->real); return true;
    default: return false;
    }
}

void lift_note_initial(lifter *l, const lift_object *o) {
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
