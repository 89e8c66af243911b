/* Lowering: calls of intrinsics. Where the target has the function it is called, with what it computes as its reference; else that is computed, if the declaration
 * lets it (`otherwise = value`), and otherwise the kernel is refused. */
#include "schedule/lower_intrinsic.h"
#include <string.h>

const intrinsic_binding *intrinsic_binding_for(const lower *l, const intrinsic *f, const char *form) {
    const char *target = l->machine->intrinsic_target ? l->machine->intrinsic_target : l->machine->target;
    const char *wanted = form ? arena_printf(l->arena, "%s.%s", target, form) : target;
    for (int i = 0; i < f->bindings.count; i++)
        if (!strcmp(f->bindings.at[i].target, wanted))
            return &f->bindings.at[i];
    return NULL;
}

const intrinsic_row *intrinsic_row_for(lower *l, const intrinsic *f, const intrinsic_binding *b, const char *form) {
    const char *why, *near;
    const intrinsic_row *row = intrinsic_find(l->arena, l->machine->intrinsics, form ? form : "", f, b, &why, &near);
    if (row)
        return row;
    if (why)
        lower_error(l, "E0522", b->span, "`%s` does not fit `%s` of target %s: %s", f->name, b->name, l->machine->target, why);
    else
        lower_error(l, "E0521", b->span, "target %s knows no function `%s`%s%s%s", l->machine->target, b->name,
                    near ? "; the nearest that it knows is `" : "", near ? near : "", near ? "`" : "");
    return NULL;
}

const intrinsic_row *intrinsic_function(lower *l, const intrinsic *f, source_span span, const intrinsic_binding **binding) {
    *binding = intrinsic_binding_for(l, f, NULL);
    if (*binding)
        return intrinsic_row_for(l, f, *binding, NULL);
    if (!f->referenced || !f->anywhere)
        lower_error(l, "E0521", span, "`%s` stands for no function of target %s%s", f->name, l->machine->target,
                    f->referenced ? ", and does not say `otherwise = value`" : ", and does not say what it computes");
    return NULL;
}

void intrinsic_route(lower *l, source_span span, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *line = arena_printf(l->arena, "line %d: %s", span.line, arena_printf_va(l->arena, format, args));
    va_end(args);
    for (int i = 0; i < l->out->routes.count; i++)
        if (!strcmp(l->out->routes.at[i], line))
            return;
    VEC_PUSH(l->arena, l->out->routes, line);
}

/* Elements from one cell to the next along a dimension; NULL: they lie at no equal distances. */
static index_expr *stride_of(lower *l, const kernel_array *array, int dim) {
    arena *a = l->arena;
    if (array->layout.kind == LAYOUT_STRIDES)
        return array->layout.strides[dim];
    if (array->layout.kind != LAYOUT_ROW && array->layout.kind != LAYOUT_PAD)
        return NULL;
    index_expr *stride = ix_const(a, 1);
    for (int d = array->rank - 1; d > dim; d--) {
        index_expr *extent = array->dims[d];
        if (d == array->rank - 1 && array->layout.kind == LAYOUT_PAD)
            extent = ix_add(a, extent, ix_const(a, array->layout.amount));
        stride = ix_mul(a, stride, extent);
    }
    return stride;
}

/* ---- operands ---- */

static kernel_value *integer_as(lower *l, index_expr *x, element_type t) {
    kernel_value *v = kernel_index(l->ir, x);
    int64_t constant;
    if (t == ELEMENT_BOOL || ((t == ELEMENT_I32 || t == ELEMENT_U32 || t == ELEMENT_F32) && ix_is_const(x, &constant)))
        return ix_is_const(x, &constant) ? kernel_const(l->ir, t, 1, t == ELEMENT_BOOL ? constant != 0 : (double)constant) : v;
    return kernel_op1(l->ir, KERNEL_CONVERT, t, v);
}

static int array_dim(const intrinsic_arguments *g, int parameter, int d) {
    return g->dims ? g->dims[d] : g->pointers[parameter].array->rank - g->f->parameters[parameter].rank + d;
}

static kernel_value *item_value(intrinsic_arguments *g, const intrinsic_item *x, element_type t) {
    lower *l = g->l;
    switch (x->kind) {
    case ITEM_INTEGER: return integer_as(l, ix_const(l->arena, x->integer), t);
    case ITEM_STRIDE: {
        index_expr *s = stride_of(l, g->pointers[x->parameter].array, array_dim(g, x->parameter, x->dim));
        if (!s)
            g->refused = arena_printf(l->arena, "`%s` has no strides", g->pointers[x->parameter].array->name);
        return integer_as(l, s ? s : ix_const(l->arena, 0), t);
    }
    default: break;
    }
    return g->indices[x->parameter] ? integer_as(l, g->indices[x->parameter], t)
                                    : kernel_broadcast(l->ir, g->values[x->parameter], g->lanes);
}

/* The contract's cells as a box, and where in it the pointer stands. */
static void name_cells(intrinsic_arguments *g, int parameter, contract_operand *c) {
    lower *l = g->l;
    arena *a = l->arena;
    const intrinsic_parameter *p = &g->f->parameters[parameter];
    const kernel_access *at = &g->pointers[parameter];
    int rank = at->array->rank;
    bool moved = false;
    c->effect = p->reads && p->writes ? CONTRACT_UPDATES : p->writes ? CONTRACT_WRITES : CONTRACT_READS;
    c->access = kernel_at(l->ir, at->array, at->indices);
    c->extents = kernel_single_cell(a, at->array);
    c->from = NEW_ARRAY(a, index_expr *, rank + 1);
    for (int d = 0; d < rank; d++)
        c->from[d] = ix_const(a, 0);
    for (int d = 0; d < p->rank; d++) {
        int at_dim = array_dim(g, parameter, d), count = g->f->parameter_count;
        index_expr *lo = intrinsic_bound_of(a, &p->lo[d], g->indices, count),
                   *hi = intrinsic_bound_of(a, &p->hi[d], g->indices, count);
        c->access.indices[at_dim] = ix_add(a, c->access.indices[at_dim], lo);
        c->extents[at_dim] = ix_add(a, ix_sub(a, hi, lo), ix_const(a, 1));
        c->from[at_dim] = ix_sub(a, ix_const(a, 0), lo);
        int64_t constant;
        moved = moved || !ix_is_const(lo, &constant) || constant;
    }
    if (!moved)
        c->from = NULL;
}

void intrinsic_add_operands(intrinsic_arguments *g, const intrinsic_row *row, const intrinsic_binding *b, kernel_stmt *s) {
    lower *l = g->l;
    const char *at = row->signature;
    int given = 0;
    intrinsic_next_type(&at);
    for (int i = 0; i < b->count; i++) {
        const intrinsic_item *x = &b->items[i];
        intrinsic_type t = intrinsic_next_type(&at);
        contract_operand *c = &s->contract[s->contract_count++];
        if (t.matrix) {
            c->effect = CONTRACT_FRAGMENT;
            c->which = ++given;
            s->fragments[given] = g->matrices[x->parameter];
        } else if (t.pointer) {
            name_cells(g, x->parameter, c);
        } else if (x->kind == ITEM_VECTOR) {
            c->effect = CONTRACT_VECTOR;
            c->count = x->count;
            c->values = NEW_ARRAY(l->arena, kernel_value *, x->count);
            for (int n = 0; n < x->count; n++)
                c->values[n] = item_value(g, &x->items[n], t.element);
        } else {
            c->effect = CONTRACT_VALUE;
            c->value = item_value(g, x, t.element);
        }
    }
}

kernel_stmt *intrinsic_new_call(lower *l, kernel_block *block, source_span span, const intrinsic_binding *b, bool gives) {
    kernel_stmt *s = kernel_append(l->ir, block, KSTMT_INTRINSIC, span);
    s->name = b->name;
    s->contract = NEW_ARRAY(l->arena, contract_operand, b->count + 1);
    s->contract[0].effect = CONTRACT_RESULT;
    s->contract_count = gives;
    return s;
}

/* ---- a value for each element ---- */

/* Whether a vector among the operands is made of what varies along r. */
static bool vector_varies(const tile_value *v, const intrinsic_item *items, int count, const tile_range *r, bool inside) {
    for (int i = 0; i < count; i++) {
        const intrinsic_item *x = &items[i];
        if ((inside && x->kind == ITEM_PARAMETER && tile_has_axis(v->operands[x->parameter], r)) ||
            (x->kind == ITEM_VECTOR && vector_varies(v, x->items, x->count, r, true)))
            return true;
    }
    return false;
}

bool lower_calls_singly(const lower *l, const tile_value *v, const tile_range *r) {
    const intrinsic_binding *b = v->op == TILE_INTRINSIC ? intrinsic_binding_for(l, v->intrinsic, NULL) : NULL;
    if (!b)
        return false;
    if (intrinsic_is_store(v->intrinsic))
        return intrinsic_kind_of(v->intrinsic) == INTRINSIC_STORES_CELLS;
    if (vector_varies(v, b->items, b->count, r, false))
        return true;
    for (int i = 0; i < v->intrinsic->parameter_count; i++) {
        const intrinsic_parameter *p = &v->intrinsic->parameters[i];
        if ((p->rank || p->type == ELEMENT_INDEX) && tile_has_axis(v->operands[i], r))
            return true;
    }
    return false;
}

/* Room for what is known of a call's parameters. */
typedef struct call_room {
    kernel_value *values[INTRINSIC_MOST_PARAMETERS];
    index_expr *indices[INTRINSIC_MOST_PARAMETERS];
    kernel_access pointers[INTRINSIC_MOST_PARAMETERS];
} call_room;

/* The operands of a call, at the point; of one that writes, but for the cell that it writes. */
static intrinsic_arguments arguments_of(point *p, const tile_value *v, call_room *room) {
    const intrinsic *f = v->intrinsic;
    *room = (call_room){0};
    intrinsic_arguments g = {
        .l = p->l, .f = f, .values = room->values, .indices = room->indices, .pointers = room->pointers, .lanes = 1};
    for (int i = 0; i < f->parameter_count; i++) {
        if (f->parameters[i].writes)
            continue;
        tile_value *x = v->operands[intrinsic_operand_of(f, i)];
        if (f->parameters[i].rank)
            room->pointers[i] = emit_global_access(p, x->array, x->indices);
        else if (f->parameters[i].type == ELEMENT_INDEX)
            room->indices[i] = emit_index(p, x->index);
        else
            room->values[i] = emit_value(p, x);
        if (room->values[i] && room->values[i]->lanes > g.lanes)
            g.lanes = room->values[i]->lanes;
    }
    return g;
}

kernel_value *lower_intrinsic(point *p, tile_value *v) {
    lower *l = p->l;
    const intrinsic *f = v->intrinsic;
    tile_value *reference = f->referenced ? v->operands[v->operand_count - 1] : NULL;
    if (intrinsic_is_store(f)) /* the store calls it */
        return reference ? emit_value(p, reference) : kernel_const(l->ir, arithmetic_type(f->type), 1, 0);
    const intrinsic_binding *b;
    const intrinsic_row *row = intrinsic_function(l, f, v->span, &b);
    if (!row) {
        if (!l->failed)
            intrinsic_route(l, v->span, "`%s` computes its value (refused: a function of target %s, which it names none for)",
                            f->name, l->machine->target);
        return reference ? emit_value(p, reference) : kernel_const(l->ir, f->type, 1, 0);
    }
    call_room room;
    intrinsic_arguments g = arguments_of(p, v, &room);
    for (int i = 0; i < f->parameter_count; i++)
        if (p->vector && tile_has_axis(v->operands[i], p->vector) &&
            (f->parameters[i].rank || f->parameters[i].type == ELEMENT_INDEX)) {
            lower_error(l, "E0591", v->span, "`%s` was put along vector lanes", f->name); /* vector_score says that it must not */
            return kernel_const(l->ir, f->type, 1, 0);
        }
    kernel_value *computed = reference ? emit_value(p, reference) : NULL;
    if (computed && computed->lanes > g.lanes)
        g.lanes = computed->lanes;
    kernel_array *cell = kernel_add_array(l->ir, lower_name(l, f->name), SPACE_REGISTER, USE_LOCAL, f->type, 0, NULL);
    cell->lanes = g.lanes;
    cell->span = v->span;
    kernel_stmt *s = intrinsic_new_call(l, p->block, v->span, b, true);
    s->contract[0].access = kernel_at(l->ir, cell, NULL);
    s->contract[0].extents = kernel_single_cell(l->arena, cell);
    intrinsic_add_operands(&g, row, b, s);
    if (g.refused)
        lower_error(l, "E0522", b->span, "`%s` can't be told of its memory on target %s: %s", f->name, l->machine->target,
                    g.refused);
    if (computed)
        kernel_store(l->ir, &s->body, kernel_at(l->ir, cell, NULL), kernel_broadcast(l->ir, computed, g.lanes), v->span);
    intrinsic_route(l, v->span, "`%s` calls `%s` of target %s", f->name, b->name, l->machine->target);
    return kernel_load(l->ir, kernel_at(l->ir, cell, NULL));
}

/* ---- stores ---- */

bool lower_calls_elements(const lower *l, const tile_value *v) {
    if (v->op != TILE_INTRINSIC || intrinsic_kind_of(v->intrinsic) == INTRINSIC_STORES_MATRIX)
        return false;
    return intrinsic_is_store(v->intrinsic) || !v->intrinsic->referenced || intrinsic_binding_for(l, v->intrinsic, NULL);
}

tile_value *lower_stored_value(const tile_stmt *store) {
    tile_value *v = store->value;
    bool matrix = v->op == TILE_INTRINSIC && intrinsic_kind_of(v->intrinsic) == INTRINSIC_STORES_MATRIX;
    return matrix ? v->operands[v->operand_count - 1] : v;
}

bool lower_store_is_call(lower *l, const tile_value *v, source_span span) {
    if (v->op != TILE_INTRINSIC || !intrinsic_is_store(v->intrinsic))
        return false;
    const intrinsic *f = v->intrinsic;
    const intrinsic_binding *b;
    if (intrinsic_kind_of(f) == INTRINSIC_STORES_MATRIX) {
        if (!f->anywhere)
            lower_error(l, "E0523", span, "`%s` stores matrices, and target %s has none here", f->name, l->machine->target);
        else
            intrinsic_route(l, span, "`%s` is stored as any result is (refused: a matrix, as none holds it here)", f->name);
        return false;
    }
    if (intrinsic_function(l, f, span, &b))
        return true;
    if (!l->failed)
        intrinsic_route(l, span, "`%s` stores its value (refused: a function of target %s, which it names none for)", f->name,
                        l->machine->target);
    return false;
}

void lower_store_call(point *p, const tile_value *v, kernel_access access, kernel_value *computed, source_span span) {
    lower *l = p->l;
    const intrinsic *f = v->intrinsic;
    const intrinsic_binding *b;
    const intrinsic_row *row = intrinsic_function(l, f, span, &b);
    if (!row)
        return;
    if (access.lanes > 1 || computed->lanes > 1) {
        lower_error(l, "E0591", span, "`%s` was put along vector lanes", f->name);
        return;
    }
    call_room room;
    intrinsic_arguments g = arguments_of(p, v, &room);
    room.pointers[intrinsic_written(f)] = access;
    kernel_stmt *s = intrinsic_new_call(l, p->block, span, b, false);
    intrinsic_add_operands(&g, row, b, s);
    if (g.refused)
        lower_error(l, "E0522", b->span, "`%s` can't be told of its memory on target %s: %s", f->name, l->machine->target,
                    g.refused);
    if (f->referenced)
        kernel_store(l->ir, &s->body, access, computed, span);
    intrinsic_route(l, span, "`%s` calls `%s` of target %s", f->name, b->name, l->machine->target);
}
