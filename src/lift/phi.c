/* Phis that are neither counters nor aliases live in registers: stored where their edges are taken, read where they stand. */
#include "lift/lifter.h"

const lift_value *lift_incoming(const lift_value *phi, const lift_block *from) {
    for (int i = 0; i < phi->block_count; i++)
        if (phi->blocks[i] == from)
            return phi->operands[i];
    return NULL;
}

kernel_array *lift_register(lifter *l, const char *name, element_type e) {
    kernel_array *a = kernel_add_array(l->k, lift_name(l, name, "carried"), SPACE_REGISTER, USE_LOCAL, e, 0, NULL);
    a->span = lift_span(l, l->now);
    return a;
}

static phi_cell *find(lifter *l, const lift_value *phi, int part) {
    for (int i = 0; i < l->cells.count; i++)
        if (l->cells.at[i].phi == phi && l->cells.at[i].part == part)
            return &l->cells.at[i];
    return NULL;
}

static phi_cell *cell_of(lifter *l, const lift_value *phi, int part, element_type e) {
    phi_cell *c = find(l, phi, part);
    if (c)
        return c;
    phi_cell fresh = {.phi = phi, .part = part, .cell = lift_register(l, phi->name, e)};
    VEC_PUSH(l->arena, l->cells, fresh);
    return &l->cells.at[l->cells.count - 1];
}

static kernel_access whole(lifter *l, const phi_cell *c) {
    return kernel_at(l->k, c->cell, NULL);
}

static void store_part(lifter *l, const lift_value *phi, int part, const lift_type *t, lifted x) {
    if (x.kind == LIFTED_ANY || x.kind == LIFTED_NONE || lift_stopped(l))
        return;
    if (t->kind == LIFT_VECTOR || t->kind == LIFT_ARRAY || t->kind == LIFT_STRUCT) {
        for (int i = 0; x.kind == LIFTED_ELEMENTS && i < x.count; i++)
            store_part(l, phi, part * 67 + i + 1, t->kind == LIFT_STRUCT ? t->fields[i] : t->element, x.elements[i]);
        return;
    }
    kernel_value *v;
    phi_cell *c;
    if (t->kind == LIFT_POINTER) {
        if (x.kind != LIFTED_POINTER) {
            lift_fail(l, "E1125", phi, "a pointer that is not one into an array");
            return;
        }
        c = cell_of(l, phi, part, ELEMENT_INDEX);
        int64_t unit = x.object->facts->element ? x.object->facts->element->size : 1;
        if (c->object && c->object != x.object) {
            lift_fail(l, "E1125", phi, "a pointer that may point into `%s` or into `%s`", c->object->name, x.object->name);
            return;
        }
        index_expr *sum = lift_elements(l, x, unit);
        bool fits = sum != NULL;
        if (!fits) {
            lift_fail(l, "E1125", phi, "a pointer into `%s` that moves by other than whole elements", x.object->name);
            return;
        }
        if (c->object && c->unit != unit)
            l->again = true; /* its element is known by now */
        c->object = x.object;
        c->unit = unit;
        v = kernel_index(l->k, sum);
    } else {
        element_type e = lift_value_type(t);
        if (e == ELEMENT_COUNT) {
            lift_fail(l, "E1124", phi, "a value of type %s", t->text);
            return;
        }
        v = lift_as_value(l, x);
        c = cell_of(l, phi, part, e);
    }
    kernel_store(l->k, l->at, whole(l, c), v, lift_span(l, l->now));
    l->statements++;
}

void lift_phi_store(lifter *l, const lift_value *phi, lifted x) {
    store_part(l, phi, 0, phi->type, x);
}

static lifted read_part(lifter *l, const lift_value *phi, int part, const lift_type *t) {
    lifted r = {.kind = LIFTED_ANY};
    if (lift_stopped(l))
        return r;
    if (t->kind == LIFT_VECTOR || t->kind == LIFT_ARRAY || t->kind == LIFT_STRUCT) {
        r = (lifted){
            .kind = LIFTED_ELEMENTS, .count = (int)t->count, .elements = NEW_ARRAY(l->arena, lifted, t->count ? t->count : 1)};
        for (int i = 0; i < r.count; i++)
            r.elements[i] = read_part(l, phi, part * 67 + i + 1, t->kind == LIFT_STRUCT ? t->fields[i] : t->element);
        return r;
    }
    phi_cell *c = find(l, phi, part);
    if (!c)
        return r; /* nothing was ever stored: any value */
    kernel_stmt *let = lift_let(l, phi->name, kernel_load(l->k, whole(l, c)));
    if (c->object)
        return lift_pointer_at(l, c->object, ix_var(l->arena, let->var), c->unit);
    if (let->var)
        return lifted_index(t->bits, ix_var(l->arena, let->var));
    return lifted_value(t->kind == LIFT_INTEGER ? t->bits : (int)t->size * 8, kernel_ref(l->k, let));
}

lifted lift_phi_read(lifter *l, const lift_value *phi) {
    return read_part(l, phi, 0, phi->type);
}

static bool always_set(const lift_value *phi) {
    for (int i = 0; i < phi->operand_count; i++)
        if (phi->operands[i]->kind == LIFT_UNDEFINED)
            return false;
    return true;
}

void lift_phi_begin(lifter *l, const lift_block *b) {
    for (int i = 0; i < b->items.count && b->items.at[i]->op == LIFT_PHI && !lift_stopped(l); i++) {
        const lift_value *phi = b->items.at[i];
        element_type e = lift_value_type(phi->type);
        if (e != ELEMENT_COUNT && e != ELEMENT_BF16 && always_set(phi))
            kernel_store(l->k, l->at, whole(l, cell_of(l, phi, 0, e)), kernel_const(l->k, e, 1, 0), lift_span(l, phi));
    }
}
