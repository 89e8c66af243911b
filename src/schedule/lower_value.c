/* Lowering: computing one element (or one vector of elements) of a Tile IR expression at a place in a loop nest. */
#include "schedule/lanes_fragment.h"
#include <string.h>

point point_new(lower *l) {
    point p = {.l = l, .block = l->block, .lanes = 1};
    p.position = NEW_ARRAY(l->arena, index_expr *, l->k->ranges.count);
    p.slot = NEW_ARRAY(l->arena, index_expr *, l->k->ranges.count);
    p.known = NEW_ARRAY(l->arena, kernel_value *, l->value_count);
    p.known_index = NEW_ARRAY(l->arena, index_var *, l->value_count);
    /* A range of one element has one place wherever it is entered. */
    for (int i = 0; i < l->k->ranges.count; i++)
        if (l->place[i].entered && l->place[i].capacity == 1)
            p.position[i] = p.slot[i] = ix_const(l->arena, 0);
    return p;
}

point point_copy(const point *p) {
    point c = *p;
    arena *a = p->l->arena;
    size_t ranges = (size_t)p->l->k->ranges.count, values = (size_t)p->l->value_count;
    c.position = NEW_ARRAY(a, index_expr *, ranges);
    memcpy(c.position, p->position, ranges * sizeof *c.position);
    c.slot = NEW_ARRAY(a, index_expr *, ranges);
    memcpy(c.slot, p->slot, ranges * sizeof *c.slot);
    c.known = NEW_ARRAY(a, kernel_value *, values);
    memcpy(c.known, p->known, values * sizeof *c.known);
    c.known_index = NEW_ARRAY(a, index_var *, values);
    memcpy(c.known_index, p->known_index, values * sizeof *c.known_index);
    return c;
}

bool range_open(const point *p, const tile_range *r) {
    return p->position[r->id] != NULL;
}

static bool is_leaf(const kernel_value *v) {
    return v->op == KERNEL_CONST || v->op == KERNEL_INDEX || v->op == KERNEL_SCALAR || v->op == KERNEL_REF;
}

kernel_value *emit_named(point *p, const char *name, kernel_value *v) {
    if (is_leaf(v) || p->element)
        return v;
    kernel_stmt *s = kernel_let(p->l->ir, p->block, lower_name(p->l, name), v, v->span);
    return kernel_ref(p->l->ir, s);
}

/* An integer value as something index expressions can use: computed here, under a name. */
static index_expr *value_as_index(point *p, const index_var *var) {
    lower *l = p->l;
    tile_value *owner = var->owner;
    if (!p->known_index[owner->id]) {
        kernel_value *v = emit_value(p, owner);
        if (v->op == KERNEL_INDEX)
            return v->index;
        kernel_stmt *s = v->op == KERNEL_REF && v->let->var
                             ? v->let
                             : kernel_let(l->ir, p->block, lower_name(l, owner->name ? owner->name : "at"), v, owner->span);
        p->known_index[owner->id] = s->var;
        p->known[owner->id] = kernel_ref(l->ir, s);
    }
    return ix_var(l->arena, p->known_index[owner->id]);
}

index_expr *emit_index(point *p, index_expr *x) {
    lower *l = p->l;
    if (!x || x->op == IX_CONST)
        return x;
    if (x->op == IX_VAR) {
        const index_var *v = x->var;
        if (v->kind == INDEX_RANGE) {
            const tile_range *r = v->owner;
            const range_place *place = &l->place[r->id];
            if (!place->entered || !p->position[r->id]) {
                lower_error(l, "E0590", r->span, "the index of range `%s` is used where its loop is not open", r->name);
                return ix_const(l->arena, 0);
            }
            return ix_add(l->arena, place->start, p->position[r->id]);
        }
        if (v->kind == INDEX_VALUE)
            return value_as_index(p, v);
        return lower_expression(l, x);
    }
    return ix_op2(l->arena, x->op, emit_index(p, x->a), emit_index(p, x->b));
}

cond *emit_cond(point *p, const cond *c) {
    arena *a = p->l->arena;
    switch (c->op) {
    case COND_TRUE: return NULL;
    case COND_AND: return cond_and(a, emit_cond(p, c->a), emit_cond(p, c->b));
    case COND_OR: return cond_or(a, emit_cond(p, c->a), emit_cond(p, c->b));
    case COND_NOT: return cond_not(a, emit_cond(p, c->a));
    default: return cond_compare(a, c->op, emit_index(p, c->x), emit_index(p, c->y));
    }
}

/* Which dimension of an access runs along the vector range: the one that mentions it; -1 when none does. */
static int vector_dimension(const point *p, index_expr **indices, int rank) {
    for (int d = 0; p->vector && d < rank; d++)
        if (ix_mentions(indices[d], p->vector->var))
            return d;
    return -1;
}

static void set_vector(point *p, kernel_access *access, int dim) {
    if (dim < 0)
        return;
    access->lanes = p->lanes;
    access->vector_dim = dim;
    access->active = p->active;
}

kernel_access emit_global_access(point *p, tile_array *a, index_expr **indices) {
    index_expr *at[32];
    for (int d = 0; d < a->rank; d++)
        at[d] = emit_index(p, p->unclamped && p->vector ? index_unclamped(p->l->arena, indices[d], p->vector->var) : indices[d]);
    kernel_access access = kernel_at(p->l->ir, p->l->arrays[a->id], at);
    set_vector(p, &access, vector_dimension(p, indices, a->rank));
    for (int i = 0; p->bounds && i < p->l->k->ranges.count; i++) /* in a map no condition stands around it */
        for (int d = 0; p->bounds[i] && d < a->rank; d++)
            if (ix_mentions(indices[d], p->l->k->ranges.at[i]->var)) {
                index_expr *left = ix_sub(p->l->arena, p->bounds[i], p->position[i]);
                access.active = access.active ? ix_min(p->l->arena, access.active, left) : left;
                break;
            }
    return access;
}

kernel_access emit_private_access(point *p, kernel_array *array, tile_range **axes, int axis_count) {
    index_expr *at[32];
    int vector = -1;
    if (p->l->spreads) { /* a thread's own registers: one cell for each of its slots */
        int rank = 0;
        for (int d = 0; d < axis_count; d++)
            if (spread_slots(p->l, axes[d]) > 1)
                at[rank++] = p->slot[axes[d]->id];
        return kernel_at(p->l->ir, array, at);
    }
    for (int d = 0; d < axis_count; d++) {
        at[d] = p->position[axes[d]->id];
        if (!at[d]) {
            lower_error(p->l, "E0590", array->span, "`%s` is read where the loop over `%s` is not open", array->name,
                        axes[d]->name);
            at[d] = ix_const(p->l->arena, 0);
        }
        if (axes[d] == p->vector)
            vector = d;
    }
    kernel_access access = kernel_at(p->l->ir, array, at);
    set_vector(p, &access, vector);
    return access;
}

/* `array[indices] else outside`: a register starts as the outside value; the load happens only where every index is inside. */
static kernel_value *load_with_outside(point *p, tile_value *v) {
    lower *l = p->l;
    arena *a = l->arena;
    int vector = vector_dimension(p, v->indices, v->array->rank);
    kernel_access access = emit_global_access(p, v->array, v->indices);
    cond *inside = NULL;
    for (int d = 0; d < v->array->rank; d++) {
        if (d == vector)
            continue; /* the nest opened this vector only where the whole of it is inside */
        int64_t constant;
        index_expr *at = access.indices[d], *extent = access.array->dims[d];
        if (v->indices[d]->op == IX_VAR && v->indices[d]->var->kind == INDEX_RANGE &&
            ix_equal(((tile_range *)v->indices[d]->var->owner)->extent, v->array->dims[d]))
            continue; /* a range over this very dimension is inside by itself */
        if (!(ix_is_const(at, &constant) && constant >= 0))
            inside = cond_and(a, inside, cond_compare(a, COND_LE, ix_const(a, 0), at));
        inside = cond_and(a, inside, cond_compare(a, COND_LT, at, extent));
    }
    if (!inside)
        return kernel_load(l->ir, access);
    element_type type = v->array->type;
    kernel_array *cell = kernel_add_array(l->ir, lower_name(l, v->array->name), SPACE_REGISTER, USE_LOCAL, type, 0, NULL);
    cell->lanes = vector >= 0 ? p->lanes : 1;
    cell->span = v->span;
    kernel_value *outside = emit_value(p, v->operands[0]);
    if (outside->type != type)
        outside = kernel_op1(l->ir, KERNEL_CONVERT, type, outside);
    kernel_access at = kernel_at(l->ir, cell, NULL);
    kernel_stmt *start = kernel_append(l->ir, p->block, KSTMT_STORE, v->span);
    start->access = at;
    start->value = kernel_broadcast(l->ir, outside, cell->lanes);
    kernel_stmt *guard = kernel_append(l->ir, p->block, KSTMT_IF, v->span);
    guard->condition = inside;
    kernel_stmt *read = kernel_append(l->ir, &guard->body, KSTMT_STORE, v->span);
    read->access = at;
    read->value = kernel_load(l->ir, access);
    return kernel_load(l->ir, at);
}

/* The value of an index expression, a 32-bit integer as the language has it; along lanes when it varies along the vector range. */
static kernel_value *index_value(point *p, tile_value *v) {
    lower *l = p->l;
    kernel_value *x = kernel_index(l->ir, emit_index(p, v->index));
    if (v->type == ELEMENT_F32 || v->type == ELEMENT_I32 || v->type == ELEMENT_U32)
        x = kernel_op1(l->ir, KERNEL_CONVERT, v->type, x);
    if (!p->vector || !ix_mentions(v->index, p->vector->var))
        return x;
    int64_t coefficient = 0;
    index_expr *rest;
    if (!ix_coefficient(l->arena, v->index, p->vector->var, &coefficient, &rest))
        lower_error(l, "E0591", v->span, "an index that is not affine in `%s` was put along vector lanes", p->vector->name);
    kernel_value *lane = NEW(l->arena, kernel_value);
    lane->op = KERNEL_IOTA;
    lane->type = ELEMENT_I32;
    lane->lanes = p->lanes;
    if (coefficient != 1)
        lane = kernel_op2(l->ir, KERNEL_MUL, ELEMENT_I32, lane, kernel_const(l->ir, ELEMENT_I32, 1, (double)coefficient));
    element_type type = v->type == ELEMENT_U32 || v->type == ELEMENT_F32 ? v->type : ELEMENT_I32;
    if (type != ELEMENT_I32)
        lane = kernel_op1(l->ir, KERNEL_CONVERT, type, lane);
    if (x->type != type)
        x = kernel_op1(l->ir, KERNEL_CONVERT, type, x);
    return kernel_op2(l->ir, KERNEL_ADD, type, x, lane);
}

static kernel_value *scalar_value(point *p, const tile_scalar *s) {
    lower *l = p->l;
    if (s->var)
        return kernel_op1(l->ir, KERNEL_CONVERT, s->type == ELEMENT_INDEX ? ELEMENT_I32 : s->type,
                          kernel_index(l->ir, lower_expression(l, ix_var(l->arena, s->var))));
    kernel_value *v = NEW(l->arena, kernel_value);
    v->op = KERNEL_SCALAR;
    v->type = s->type;
    v->lanes = 1;
    v->scalar = s->name;
    return v;
}

static kernel_op kernel_op_of(tile_op op) {
    switch (op) {
    case TILE_NEG: return KERNEL_NEG;
    case TILE_NOT: return KERNEL_NOT;
    case TILE_ABS: return KERNEL_ABS;
    case TILE_FLOOR: return KERNEL_FLOOR;
    case TILE_SQRT: return KERNEL_SQRT;
    case TILE_RSQRT: return KERNEL_RSQRT;
    case TILE_EXP: return KERNEL_EXP;
    case TILE_LOG: return KERNEL_LOG;
    case TILE_TANH: return KERNEL_TANH;
    case TILE_ERF: return KERNEL_ERF;
    case TILE_SIN: return KERNEL_SIN;
    case TILE_COS: return KERNEL_COS;
    case TILE_ADD: return KERNEL_ADD;
    case TILE_SUB: return KERNEL_SUB;
    case TILE_MUL: return KERNEL_MUL;
    case TILE_DIV: return KERNEL_DIV;
    case TILE_MIN: return KERNEL_MIN;
    case TILE_MAX: return KERNEL_MAX;
    case TILE_LT: return KERNEL_LT;
    case TILE_LE: return KERNEL_LE;
    case TILE_EQ: return KERNEL_EQ;
    case TILE_NE: return KERNEL_NE;
    case TILE_AND: return KERNEL_AND;
    case TILE_OR: return KERNEL_OR;
    case TILE_SELECT: return KERNEL_SELECT;
    case TILE_CONVERT: return KERNEL_CONVERT;
    case TILE_SHL: return KERNEL_SHL;
    case TILE_SHR: return KERNEL_SHR;
    case TILE_BIT_AND: return KERNEL_BIT_AND;
    case TILE_BIT_OR: return KERNEL_BIT_OR;
    case TILE_BIT_XOR: return KERNEL_BIT_XOR;
    default: return KERNEL_OP_COUNT;
    }
}

/* Integers saturate in the smaller types that only store them; Kernel IR's own narrowing wraps. */
static kernel_value *clamped(lower *l, element_type to, kernel_value *x) {
    if ((to != ELEMENT_I8 && to != ELEMENT_U8) || element_table[x->type].is_float || x->type == to || x->type == ELEMENT_BOOL)
        return x;
    double lowest = to == ELEMENT_I8 ? -128 : 0, highest = to == ELEMENT_I8 ? 127 : 255;
    if (x->type == ELEMENT_I8 || x->type == ELEMENT_U8) /* arithmetic wants a register type */
        x = kernel_op1(l->ir, KERNEL_CONVERT, ELEMENT_I32, x);
    if (element_table[x->type].is_signed)
        x = kernel_op2(l->ir, KERNEL_MAX, x->type, x, kernel_const(l->ir, x->type, 1, lowest));
    return kernel_op2(l->ir, KERNEL_MIN, x->type, x, kernel_const(l->ir, x->type, 1, highest));
}

static kernel_value *compute(point *p, tile_value *v) {
    lower *l = p->l;
    switch (v->op) {
    case TILE_CONST: return kernel_const(l->ir, v->type, 1, v->number);
    case TILE_INDEX: return index_value(p, v);
    case TILE_SCALAR: return scalar_value(p, v->scalar);
    case TILE_LOAD:
        return v->has_outside ? load_with_outside(p, v) : kernel_load(l->ir, emit_global_access(p, v->array, v->indices));
    case TILE_GET:
    case TILE_FIELD: {
        int f = v->op == TILE_GET ? 0 : v->field;
        tile_variable *x = v->variable;
        const whole_sum *sum = whole_sum_of(l, x);
        if (sum) { /* as its one update makes it */
            kernel_value *start = emit_value(p, x->empty[0]);
            return kernel_op2(l->ir, KERNEL_ADD, v->type, start, emit_value(p, sum->update->value));
        }
        if (p->element)
            return l->chain ? lanes_chain_field(p, x, f) : lanes_epilogue_element(p, x);
        kernel_array *array = l->fields[x->id][f];
        return emit_private_load(p, array, l->field_axes[x->id][f], x->axis_counts[f]);
    }
    case TILE_INTRINSIC: return lower_intrinsic(p, v);
    case TILE_PARAM:
        if (v->side == 1)
            return emit_value(p, l->join_right[v->field]);
        if (l->chain)
            return lanes_chain_field(p, l->join_state, v->field);
        return emit_private_load(p, l->fields[l->join_state->id][v->field], l->field_axes[l->join_state->id][v->field],
                                 l->join_state->axis_counts[v->field]);
    default: break;
    }
    kernel_op op = kernel_op_of(v->op);
    if (op == KERNEL_OP_COUNT) {
        lower_error(l, "E0590", v->span, "`%s` was not made a root of its own", tile_op_table[v->op].name);
        return kernel_const(l->ir, v->type, 1, 0);
    }
    kernel_value *x[3] = {NULL, NULL, NULL};
    for (int i = 0; i < v->operand_count && i < 3; i++)
        x[i] = emit_value(p, v->operands[i]);
    if (v->op == TILE_CONVERT) {
        if (x[0]->type == v->type)
            return x[0];
        kernel_value *c = kernel_op1(l->ir, op, v->type, clamped(l, v->type, x[0]));
        c->saturate = v->saturate;
        return c;
    }
    if (v->operand_count == 1)
        return kernel_op1(l->ir, op, v->type, x[0]);
    if (v->operand_count == 2)
        return kernel_op2(l->ir, op, v->type, x[0], x[1]);
    return kernel_op3(l->ir, op, v->type, x[0], x[1], x[2]);
}

kernel_value *emit_value(point *p, tile_value *v) {
    lower *l = p->l;
    if (p->known[v->id])
        return p->known[v->id];
    kernel_value *result;
    if (l->held_scalar[v->id]) {
        result = kernel_ref(l->ir, l->held_scalar[v->id]);
    } else if (lanes_chain_holds(l, v)) {
        result = lanes_chain_held(p, v);
    } else if (l->held[v->id]) {
        result = emit_private_load(p, l->held[v->id], l->held_axes[v->id], v->axis_count);
    } else {
        result = compute(p, v);
    }
    /* What is read twice is computed once. */
    if (v->bound || l->references[v->id] > 1)
        result = emit_named(p, v->name ? v->name : "x", result);
    p->known[v->id] = result;
    return result;
}

/* Whether v can be computed at the point: its ranges are open, and no reduction in it is still to be done. */
static bool ready(const point *p, tile_value *v) {
    value_list heavy = {0};
    find_heavy(p->l, v, &heavy);
    for (int i = 0; i < heavy.count; i++)
        if (!p->known[heavy.at[i]->id])
            return false;
    for (int i = 0; i < v->axis_count; i++)
        if (!range_open(p, v->axes[i]))
            return false;
    return true;
}

static void hoist(point *p, tile_value *v, unsigned char *seen) {
    lower *l = p->l;
    if (seen[v->id]++ || p->known[v->id] || v->op == TILE_CONST || v->op == TILE_SCALAR || v->op == TILE_INDEX)
        return;
    if (v->op == TILE_PARAM && v->side == 1) {
        hoist(p, l->join_right[v->field], seen);
        return;
    }
    if (!is_heavy(v) || l->held[v->id] || l->held_scalar[v->id]) {
        if (ready(p, v)) {
            if (l->held_scalar[v->id])
                return;
            bool was_simple = v->op == TILE_CONVERT && v->operands[0]->op == TILE_LOAD;
            kernel_value *x = emit_value(p, v);
            p->known[v->id] = emit_named(p,
                                         v->name              ? v->name
                                         : was_simple         ? v->operands[0]->array->name
                                         : v->op == TILE_LOAD ? v->array->name
                                         : v->op == TILE_GET  ? v->variable->name
                                                              : "x",
                                         x);
            return;
        }
        if (l->held[v->id])
            return;
    }
    for (int i = 0; i < v->operand_count; i++)
        hoist(p, v->operands[i], seen);
}

void emit_hoisted(point *p, tile_value *v) {
    hoist(p, v, NEW_ARRAY(p->l->arena, unsigned char, p->l->value_count));
}
