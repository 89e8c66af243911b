/* Lowering: calls of intrinsics. Where the target has the function it is called, with what it computes as its reference; else that is computed, if the declaration
 * lets it (`otherwise = value`), and otherwise the kernel is refused. */
#include "schedule/intrinsic_table.h"
#include "schedule/lower.h"
#include <string.h>

/* The binding for a text of this target: "cuda", or for one that has several of them "air.typed"; NULL: none. */
static const intrinsic_binding *binding_for(const lower *l, const intrinsic *f, const char *form) {
    const char *target = l->machine->intrinsic_target ? l->machine->intrinsic_target : l->machine->target;
    const char *wanted = form ? arena_printf(l->arena, "%s.%s", target, form) : target;
    for (int i = 0; i < f->bindings.count; i++)
        if (!strcmp(f->bindings.at[i].target, wanted))
            return &f->bindings.at[i];
    return NULL;
}

static const intrinsic_row *row_for(lower *l, const intrinsic *f, const intrinsic_binding *b, const char *form) {
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

static const intrinsic_row *function_of(lower *l, const intrinsic *f, source_span span, const intrinsic_binding **binding) {
    *binding = binding_for(l, f, NULL);
    if (*binding)
        return row_for(l, f, *binding, NULL);
    if (!f->referenced || !f->anywhere)
        lower_error(l, "E0521", span, "`%s` stands for no function of target %s%s", f->name, l->machine->target,
                    f->referenced ? ", and does not say `otherwise = value`" : ", and does not say what it computes");
    return NULL;
}

static void route(lower *l, const tile_value *v, const char *format, ...) PRINTF_LIKE(3, 4);
static void route(lower *l, const tile_value *v, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *line = arena_printf(l->arena, "line %d: %s", v->span.line, arena_printf_va(l->arena, format, args));
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

/* What is known of a call's parameters where it is lowered. */
typedef struct arguments {
    lower *l;
    const intrinsic *f;
    kernel_value **values;   /* by parameter: of values */
    index_expr **indices;    /* of integers */
    kernel_access *pointers; /* of pointers: the cell pointed to */
    const int *dims; /* dimension of the array that each dimension of a pointer's matrix runs along; NULL: its last ones */
    int lanes;
    const char *refused; /* why the memory is not what the function can be told of; NULL: it is */
} arguments;

static int array_dim(const arguments *g, int parameter, int d) {
    return g->dims ? g->dims[d] : g->pointers[parameter].array->rank - g->f->parameters[parameter].rank + d;
}

static kernel_value *item_value(arguments *g, const intrinsic_item *x, element_type t) {
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
static void name_cells(arguments *g, int parameter, contract_operand *c) {
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

static void add_operands(arguments *g, const intrinsic_row *row, const intrinsic_binding *b, kernel_stmt *s) {
    lower *l = g->l;
    const char *at = row->signature;
    intrinsic_next_type(&at);
    for (int i = 0; i < b->count; i++) {
        const intrinsic_item *x = &b->items[i];
        intrinsic_type t = intrinsic_next_type(&at);
        contract_operand *c = &s->contract[s->contract_count++];
        if (t.pointer) {
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

static kernel_stmt *new_call(lower *l, kernel_block *block, const tile_value *v, const intrinsic_binding *b) {
    kernel_stmt *s = kernel_append(l->ir, block, KSTMT_INTRINSIC, v->span);
    s->name = b->name;
    s->contract = NEW_ARRAY(l->arena, contract_operand, b->count + 1);
    s->contract[0].effect = CONTRACT_RESULT;
    s->contract_count = 1;
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
    const intrinsic_binding *b = v->op == TILE_INTRINSIC ? binding_for(l, v->intrinsic, NULL) : NULL;
    if (!b)
        return false;
    if (vector_varies(v, b->items, b->count, r, false))
        return true;
    for (int i = 0; i < v->intrinsic->parameter_count; i++) {
        const intrinsic_parameter *p = &v->intrinsic->parameters[i];
        if ((p->rank || p->type == ELEMENT_INDEX) && tile_has_axis(v->operands[i], r))
            return true;
    }
    return false;
}

kernel_value *lower_intrinsic(point *p, tile_value *v) {
    lower *l = p->l;
    const intrinsic *f = v->intrinsic;
    tile_value *reference = f->referenced ? v->operands[f->parameter_count] : NULL;
    const intrinsic_binding *b;
    const intrinsic_row *row = function_of(l, f, v->span, &b);
    if (!row) {
        if (!l->failed)
            route(l, v, "`%s` computes its value (refused: a function of target %s, which it names none for)", f->name,
                  l->machine->target);
        return reference ? emit_value(p, reference) : kernel_const(l->ir, f->type, 1, 0);
    }
    kernel_value *values[INTRINSIC_MOST_PARAMETERS] = {0};
    index_expr *indices[INTRINSIC_MOST_PARAMETERS] = {0};
    kernel_access pointers[INTRINSIC_MOST_PARAMETERS] = {0};
    arguments g = {.l = l, .f = f, .values = values, .indices = indices, .pointers = pointers, .lanes = 1};
    for (int i = 0; i < f->parameter_count; i++) {
        tile_value *x = v->operands[i];
        if (f->parameters[i].rank) {
            pointers[i] = emit_global_access(p, x->array, x->indices);
        } else if (f->parameters[i].type == ELEMENT_INDEX) {
            indices[i] = emit_index(p, x->index);
        } else {
            values[i] = emit_value(p, x);
        }
        if (p->vector && tile_has_axis(x, p->vector) && (f->parameters[i].rank || f->parameters[i].type == ELEMENT_INDEX)) {
            lower_error(l, "E0591", v->span, "`%s` was put along vector lanes", f->name); /* vector_score says that it must not */
            return kernel_const(l->ir, f->type, 1, 0);
        }
        if (values[i] && values[i]->lanes > g.lanes)
            g.lanes = values[i]->lanes;
    }
    kernel_value *computed = reference ? emit_value(p, reference) : NULL;
    if (computed && computed->lanes > g.lanes)
        g.lanes = computed->lanes;
    kernel_array *cell = kernel_add_array(l->ir, lower_name(l, f->name), SPACE_REGISTER, USE_LOCAL, f->type, 0, NULL);
    cell->lanes = g.lanes;
    cell->span = v->span;
    kernel_stmt *s = new_call(l, p->block, v, b);
    s->contract[0].access = kernel_at(l->ir, cell, NULL);
    s->contract[0].extents = kernel_single_cell(l->arena, cell);
    add_operands(&g, row, b, s);
    if (g.refused)
        lower_error(l, "E0522", b->span, "`%s` can't be told of its memory on target %s: %s", f->name, l->machine->target,
                    g.refused);
    if (computed)
        kernel_store(l->ir, &s->body, kernel_at(l->ir, cell, NULL), kernel_broadcast(l->ir, computed, g.lanes), v->span);
    route(l, v, "`%s` calls `%s` of target %s", f->name, b->name, l->machine->target);
    return kernel_load(l->ir, kernel_at(l->ir, cell, NULL));
}

/* ---- matrices ---- */

/* Whether a load of the product's operand has been told of. */
static bool is_told(lower *l, const tile_value *product, const intrinsic *f) {
    const char *line = arena_printf(l->arena, "line %d: `%s` ", product->span.line, f->name);
    for (int i = 0; i < l->out->routes.count; i++)
        if (!strncmp(l->out->routes.at[i], line, strlen(line)))
            return true;
    return false;
}

/* Products that no matrix instruction makes have no matrices, and some instructions read memory themselves: such operands are read as any are. */
static bool is_product_by(const tile_value *v, void *context) {
    lower *l = context;
    for (int i = 0; v->op == TILE_DOT && i < 2 && !l->failed; i++) {
        const intrinsic *f = v->by[i];
        bool matrices = f && l->matrices[v->id];
        if (!f || (matrices && is_told(l, v, f)))
            continue;
        if (!f->anywhere)
            lower_error(l, "E0523", v->span, "`%s` gives a matrix, and target %s makes this product without %s", f->name,
                        l->machine->target, matrices ? "loading its operands" : "matrices");
        else
            route(l, v, "`%s` is read as any operand is (refused: a matrix, as the product is made without)", f->name);
    }
    return false;
}

void lower_matrices_told(lower *l) {
    if (l->k->intrinsics.count)
        tile_block_some(&l->k->body, l->value_count, is_product_by, l);
}

/* Why the load of a fragment is not this function's to make; NULL: it is. */
static const char *matrix_refusal(lower *l, const intrinsic *f, const intrinsic_parameter *m, const kernel_stmt *load) {
    const kernel_fragment *fragment = load->fragments[0].fragment;
    const memory_space space = load->access.array->space;
    if (fragment->rows != f->rows || fragment->columns != f->columns || fragment->element != f->type ||
        fragment->holder != LEVEL_SUBGROUP)
        return arena_printf(l->arena, "the product's operand is %d x %d %s", fragment->rows, fragment->columns,
                            element_table[fragment->element].name);
    if (load->extents)
        return "not all of the matrix exists there";
    if ((m->space == INTRINSIC_SHARED && space != SPACE_SHARED) || (m->space == INTRINSIC_GLOBAL && space != SPACE_GLOBAL))
        return arena_printf(l->arena, "it points into %s memory, and the operand lies in %s", intrinsic_space_words[m->space],
                            space_names[space]);
    if (load->row_dim >= load->column_dim)
        return "the operand lies transposed";
    return NULL;
}

void lower_matrix_load(lower *l, kernel_block *block, kernel_stmt *load, const tile_value *v, int operand) {
    const intrinsic *f = v->by[operand];
    if (!f || l->failed)
        return;
    const intrinsic_binding *b, *typed = NULL;
    const intrinsic_row *row = function_of(l, f, v->span, &b);
    if (!row) {
        if (!l->failed)
            route(l, v, "`%s` is loaded as any operand is (refused: a function of target %s, which it names none for)", f->name,
                  l->machine->target);
        return;
    }
    const char *why = matrix_refusal(l, f, &f->parameters[0], load);
    kernel_access at[INTRINSIC_MOST_PARAMETERS] = {0};
    kernel_value *values[INTRINSIC_MOST_PARAMETERS] = {0};
    index_expr *indices[INTRINSIC_MOST_PARAMETERS] = {0};
    const int dims[2] = {load->row_dim, load->column_dim};
    at[0] = load->access;
    arguments g = {.l = l, .f = f, .values = values, .indices = indices, .pointers = at, .dims = dims, .lanes = 1};
    kernel_block reference = {0};
    kernel_block *into = &reference;
    if (!why) { /* a text of another form has a function of its own, or loads as any operand is */
        const char *form = l->machine->intrinsic_form;
        typed = form ? binding_for(l, f, form) : NULL;
        const intrinsic_row *other = typed ? row_for(l, f, typed, form) : NULL;
        kernel_stmt *call = new_call(l, into, v, b);
        add_operands(&g, row, b, call);
        call->fragments[0] = load->fragments[0];
        into = &call->body;
        if (other) {
            kernel_stmt *inner = new_call(l, into, v, typed);
            add_operands(&g, other, typed, inner);
            inner->fragments[0] = load->fragments[0];
            into = &inner->body;
        }
        why = g.refused;
    }
    if (why && !f->anywhere) {
        lower_error(l, "E0523", v->span, "`%s` can't make this operand on target %s: %s", f->name, l->machine->target, why);
        return;
    }
    if (why) {
        route(l, v, "`%s` is loaded as any operand is at a place (refused: `%s`: %s)", f->name, b->name, why);
        return;
    }
    /* the load, which stands last in the block, becomes the reference */
    block->items.count--;
    VEC_PUSH(l->arena, into->items, load);
    for (int i = 0; i < reference.items.count; i++)
        VEC_PUSH(l->arena, block->items, reference.items.at[i]);
    route(l, v, "`%s` calls `%s` of target %s on %s memory", f->name, b->name, l->machine->target,
          space_names[load->access.array->space]);
}
