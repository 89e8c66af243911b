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

static phi_pointees *pointees_of(lifter *l, const lift_value *phi, int part) {
    for (int i = 0; i < l->facts->pointees.count; i++)
        if (l->facts->pointees.at[i]->phi == phi && l->facts->pointees.at[i]->part == part)
            return l->facts->pointees.at[i];
    phi_pointees *p = NEW(l->arena, phi_pointees);
    p->phi = phi;
    p->part = part;
    for (int i = 0; i < phi->operand_count; i++) { /* seen at once, it takes no further walk */
        const lift_value *v = phi->operands[i];
        p->moves = p->moves || (v->kind == LIFT_INSTRUCTION && v->op == LIFT_GEP && (v->step_count || v->offset));
    }
    VEC_PUSH(l->arena, l->facts->pointees, p);
    return p;
}

static phi_cell *pointer_cell(lifter *l, const lift_value *phi, int part) {
    phi_cell *c = find(l, phi, part);
    if (c)
        return c;
    phi_cell fresh = {.phi = phi, .part = part, .pointees = pointees_of(l, phi, part)};
    if (fresh.pointees->moves)
        fresh.cell = lift_register(l, phi->name, ELEMENT_INDEX);
    if (fresh.pointees->count > 1)
        fresh.which = lift_register(l, "which", ELEMENT_INDEX);
    VEC_PUSH(l->arena, l->cells, fresh);
    return &l->cells.at[l->cells.count - 1];
}

/* One more than were known when the walk began: it begins again. */
static int pointee_number(lifter *l, phi_pointees *p, const lift_object *o) {
    for (int i = 0; i < p->count; i++)
        if (o->nothing ? p->nothing[i] : p->origins[i] == o->origin)
            return i;
    if (p->count == MOST_POINTEES) {
        lift_fail(l, "E1125", p->phi, "a pointer that may point into one of more than %d arrays", MOST_POINTEES);
        return 0;
    }
    p->origins[p->count] = o->origin;
    p->nothing[p->count] = o->nothing;
    l->again = l->again || p->count > 0;
    return p->count++;
}

/* What the cell counts in: bytes that divide every distance there that was seen. */
static int64_t unit_of(lifter *l, phi_cell *c, int n, const lift_object *o) {
    int64_t unit = c->pointees->units[n] ? c->pointees->units[n] : lift_widest(o);
    if (c->units[n] && c->units[n] != unit)
        l->again = true; /* more is known by now */
    return c->units[n] = unit;
}

static lifted pointer_of(lifter *l, phi_cell *c) {
    const phi_pointees *p = c->pointees;
    arena *a = l->arena;
    lifted r = {.kind = LIFTED_ANY};
    kernel_stmt *let = c->cell ? lift_let(l, c->phi->name, kernel_load(l->k, whole(l, c))) : NULL;
    index_expr *at = let ? ix_var(a, let->var) : ix_const(a, 0);
    kernel_stmt *which = c->which ? lift_let(l, "which", kernel_load(l->k, kernel_at(l->k, c->which, NULL))) : NULL;
    for (int i = p->count - 1; i >= 0 && !lift_stopped(l); i--) {
        lift_object *o = (p->nothing[i] ? lift_null(l, p->origins[i]) : lift_pointer_to(l, p->origins[i])).object;
        lifted x = lift_pointer_at(l, o, at, unit_of(l, c, i, o));
        if (!which)
            return x;
        cond *this = cond_compare(a, COND_EQ, ix_var(a, which->var), ix_const(a, i));
        r = lift_either(l, c->phi, lifted_condition(this), x, r);
    }
    return r;
}

/* What is undefined is zero, which is one of the values that it may have: loops carry variables that are set in a trip before they are used there. */
static void store_any(lifter *l, const lift_value *phi, int part, const lift_type *t) {
    if (t->kind == LIFT_VECTOR || t->kind == LIFT_ARRAY || t->kind == LIFT_STRUCT) {
        for (int i = 0; i < t->count; i++)
            store_any(l, phi, part * 67 + i + 1, t->kind == LIFT_STRUCT ? t->fields[i] : t->element);
        return;
    }
    element_type e = lift_value_type(t);
    if (e == ELEMENT_COUNT)
        return;
    kernel_store(l->k, l->at, whole(l, cell_of(l, phi, part, e)), lift_zero(l, e), lift_span(l, l->now));
    l->statements++;
}

static void store_part(lifter *l, const lift_value *phi, int part, const lift_type *t, lifted x) {
    if (x.kind == LIFTED_NONE || lift_stopped(l))
        return;
    if (x.kind == LIFTED_ANY) {
        store_any(l, phi, part, t);
        return;
    }
    if (t->kind == LIFT_VECTOR || t->kind == LIFT_ARRAY || t->kind == LIFT_STRUCT) {
        for (int i = 0; x.kind == LIFTED_ELEMENTS && i < x.count; i++)
            store_part(l, phi, part * 67 + i + 1, t->kind == LIFT_STRUCT ? t->fields[i] : t->element, x.elements[i]);
        return;
    }
    kernel_value *v;
    phi_cell *c;
    if (x.kind == LIFTED_EITHER) { /* each where it is meant */
        kernel_block *into[2], *before = l->at;
        lift_branch(l, x.elements[2], &into[0], &into[1]);
        for (int i = 0; i < 2; i++) {
            l->at = into[i];
            store_part(l, phi, part, t, lift_either_side(&x, i));
        }
        l->at = before;
        return;
    }
    if (t->kind == LIFT_POINTER) {
        if (x.kind != LIFTED_POINTER) {
            lift_fail(l, "E1125", phi, "a pointer that is not one into an array");
            return;
        }
        c = pointer_cell(l, phi, part);
        int n = pointee_number(l, c->pointees, x.object);
        if ((x.term_count || x.offset) && !c->pointees->moves)
            c->pointees->moves = l->again = true;
        if (lift_stopped(l))
            return;
        if (c->pointees->wanted[n] != lift_widest(x.object)) { /* launch values may bring more than was thought */
            c->pointees->wanted[n] = lift_widest(x.object);
            c->pointees->units[n] = 0;
        }
        c->pointees->units[n] = lift_unit_with(c->pointees->units[n], 1, x);
        int64_t unit = unit_of(l, c, n, x.object);
        if (lift_stopped(l))
            return;
        index_expr *sum = lift_elements(l, x, unit);
        if (!sum && !x.object->facts->settled) { /* counted in bytes as long as its element was not known */
            l->again = true;
            return;
        }
        if (!sum) {
            lift_fail(l, "E1125", phi, "a pointer into `%s` that moves by other than whole elements", x.object->name);
            return;
        }
        if (c->which)
            kernel_store(l->k, l->at, kernel_at(l->k, c->which, NULL), kernel_index(l->k, ix_const(l->arena, n)),
                         lift_span(l, l->now));
        if (!c->cell)
            return;
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
    phi_kept kept = {phi, x, l->at, l->at->items.count};
    for (int i = 0; i < l->kept.count; i++)
        if (l->kept.at[i].phi == phi) {
            l->kept.at[i] = kept;
            return;
        }
    VEC_PUSH(l->arena, l->kept, kept);
}

/* What was stored, where nothing stands between that another way could come by: its register is not asked. */
static const phi_kept *still_kept(const lifter *l, const lift_value *phi) {
    for (int i = 0; i < l->kept.count; i++) {
        const phi_kept *k = &l->kept.at[i];
        if (k->phi != phi)
            continue;
        if (k->at != l->at || k->x.kind == LIFTED_NONE)
            return NULL;
        for (int j = k->position; j < l->at->items.count; j++)
            if (l->at->items.at[j]->kind != KSTMT_LET && l->at->items.at[j]->kind != KSTMT_STORE)
                return NULL;
        return k;
    }
    return NULL;
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
    if (c->pointees)
        return pointer_of(l, c);
    kernel_stmt *let = lift_let(l, phi->name, kernel_load(l->k, whole(l, c)));
    if (let->var)
        return lifted_index(t->bits, ix_var(l->arena, let->var));
    return lifted_value(t->kind == LIFT_INTEGER ? t->bits : (int)t->size * 8, kernel_ref(l->k, let));
}

lifted lift_phi_read(lifter *l, const lift_value *phi) {
    const phi_kept *kept = still_kept(l, phi);
    if (kept)
        return kept->x;
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
