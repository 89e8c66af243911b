/* Lowering: functions of targets that load, multiply and store the matrices of products. Where a product's fragments are such matrices, whole and as they lie, the
 * function is called, with the statement that it stands for as its reference. */
#include "schedule/lower_intrinsic.h"
#include <string.h>

/* Whether what becomes of the function in this line has been told. */
static bool is_told(lower *l, source_span span, const intrinsic *f) {
    const char *line = arena_printf(l->arena, "line %d: `%s` ", span.line, f->name);
    for (int i = 0; i < l->out->routes.count; i++)
        if (!strncmp(l->out->routes.at[i], line, strlen(line)))
            return true;
    return false;
}

/* Products that no matrix instruction makes have no matrices, and some instructions read memory themselves: such operands are read as any are. */
static bool is_product_by(const tile_value *v, void *context) {
    lower *l = context;
    for (int i = 0; v->op == TILE_DOT && i < 3 && !l->failed; i++) {
        const intrinsic *f = v->by[i];
        bool matrices = f && l->matrices[v->id];
        if (!f || (matrices && is_told(l, v->span, f)))
            continue;
        if (!f->anywhere)
            lower_error(l, "E0523", v->span, "`%s` gives a matrix, and target %s makes this product without %s", f->name,
                        l->machine->target,
                        !matrices ? "matrices"
                        : i < 2   ? "loading its operands"
                                  : "such instructions");
        else if (i < 2)
            intrinsic_route(l, v->span, "`%s` is read as any operand is (refused: a matrix, as the product is made without)",
                            f->name);
        else
            intrinsic_route(l, v->span, "`%s` multiplies as any product does (refused: matrices, as it is made without)",
                            f->name);
    }
    return false;
}

void lower_matrices_told(lower *l) {
    if (l->k->intrinsics.count)
        tile_block_some(&l->k->body, l->value_count, is_product_by, l);
}

/* ---- why a function can't be called ---- */

static const char *shape_refusal(lower *l, const kernel_fragment *x, int64_t rows, int64_t columns, element_type type,
                                 const char *what) {
    if (x->holder != LEVEL_SUBGROUP)
        return arena_printf(l->arena, "%s is held by a %s", what, level_names[x->holder]);
    return x->rows == rows && x->columns == columns && x->element == type
               ? NULL
               : arena_printf(l->arena, "%s is %d x %d %s", what, x->rows, x->columns, element_table[x->element].name);
}

/* A load or store of all of a matrix whose rows and columns run along dimensions, in the space that the pointer is of. */
static const char *memory_refusal(lower *l, const intrinsic_parameter *m, const kernel_stmt *s, const char *what) {
    const memory_space space = s->access.array->space;
    if (s->extents)
        return "not all of the matrix exists there";
    if ((m->space == INTRINSIC_SHARED && space != SPACE_SHARED) || (m->space == INTRINSIC_GLOBAL && space != SPACE_GLOBAL))
        return arena_printf(l->arena, "it points into %s memory, and %s lies in %s", intrinsic_space_words[m->space], what,
                            space_names[space]);
    if (s->row_dim >= s->column_dim)
        return arena_printf(l->arena, "%s lies transposed", what);
    return s->row_step || s->column_step ? arena_printf(l->arena, "%s lies in steps", what) : NULL;
}

/* ---- calls ---- */

typedef struct matrix_call {
    const intrinsic *f;
    kernel_stmt *stands_for; /* the block's last statement: a load, a product or a store of fragments */
    const char *why;         /* it is not this function's to make; NULL: it is */
    const char *as;          /* "loaded as any operand is": what is done then */
    const char *what;        /* "make this operand" */
    source_span span;
} matrix_call;

static kernel_stmt *add_call(intrinsic_arguments *g, const matrix_call *c, kernel_block *into, const intrinsic_row *row,
                             const intrinsic_binding *b) {
    const bool gives = c->stands_for->kind != KSTMT_FRAGMENT_STORE;
    kernel_stmt *call = intrinsic_new_call(g->l, into, c->span, b, gives);
    intrinsic_add_operands(g, row, b, call);
    if (gives)
        call->fragments[0] = c->stands_for->fragments[0];
    return call;
}

static void make_call(lower *l, kernel_block *block, matrix_call c) {
    const intrinsic *f = c.f;
    if (l->failed)
        return;
    const intrinsic_binding *b, *typed = NULL;
    const intrinsic_row *row = intrinsic_function(l, f, c.span, &b);
    if (!row) {
        if (!l->failed)
            intrinsic_route(l, c.span, "`%s` is %s (refused: a function of target %s, which it names none for)", f->name, c.as,
                            l->machine->target);
        return;
    }
    kernel_stmt *s = c.stands_for;
    const bool multiplies = s->kind == KSTMT_FRAGMENT_MMA;
    kernel_access at[INTRINSIC_MOST_PARAMETERS] = {0};
    fragment_ref matrices[INTRINSIC_MOST_PARAMETERS] = {0};
    kernel_value *values[INTRINSIC_MOST_PARAMETERS] = {0};
    index_expr *indices[INTRINSIC_MOST_PARAMETERS] = {0};
    const int dims[2] = {s->row_dim, s->column_dim};
    for (int i = 0; i < f->parameter_count && i < 3; i++) {
        if (!f->parameters[i].matrix)
            at[i] = s->access;
        else
            matrices[i] = s->fragments[multiplies ? i + 1 : 0];
    }
    intrinsic_arguments g = {
        .l = l, .f = f, .values = values, .indices = indices, .pointers = at, .matrices = matrices, .dims = dims, .lanes = 1};
    kernel_block reference = {0};
    kernel_block *into = &reference;
    const char *why = c.why;
    if (!why) { /* a text of another form has a function of its own, or does as for any product */
        const char *form = l->machine->intrinsic_form;
        typed = form ? intrinsic_binding_for(l, f, form) : NULL;
        const intrinsic_row *other = typed ? intrinsic_row_for(l, f, typed, form) : NULL;
        into = &add_call(&g, &c, into, row, b)->body;
        if (other)
            into = &add_call(&g, &c, into, other, typed)->body;
        why = g.refused;
    }
    if (why && !f->anywhere) {
        lower_error(l, "E0523", c.span, "`%s` can't %s on target %s: %s", f->name, c.what, l->machine->target, why);
        return;
    }
    if (why) {
        intrinsic_route(l, c.span, "`%s` is %s at a place (refused: `%s`: %s)", f->name, c.as, b->name, why);
        return;
    }
    /* the statement, which stands last in the block, becomes the reference */
    block->items.count--;
    VEC_PUSH(l->arena, into->items, s);
    for (int i = 0; i < reference.items.count; i++)
        VEC_PUSH(l->arena, block->items, reference.items.at[i]);
    if (multiplies)
        intrinsic_route(l, c.span, "`%s` calls `%s` of target %s", f->name, b->name, l->machine->target);
    else
        intrinsic_route(l, c.span, "`%s` calls `%s` of target %s on %s memory", f->name, b->name, l->machine->target,
                        space_names[s->access.array->space]);
}

void lower_matrix_load(lower *l, kernel_block *block, kernel_stmt *load, const tile_value *v, int operand) {
    const intrinsic *f = v->by[operand];
    if (!f)
        return;
    const char *what = "the product's operand",
               *why = shape_refusal(l, load->fragments[0].fragment, f->rows, f->columns, f->type, what);
    make_call(l, block,
              (matrix_call){.f = f,
                            .stands_for = load,
                            .why = why ? why : memory_refusal(l, &f->parameters[0], load, "the operand"),
                            .as = "loaded as any operand is",
                            .what = "make this operand",
                            .span = v->span});
}

void lower_matrix_product(lower *l, kernel_block *block, kernel_stmt *mma, const tile_value *v) {
    const intrinsic *f = v->by[2];
    if (!f)
        return;
    const char *why = mma->asynchronous ? "the product runs on while others begin" : NULL;
    for (int i = 0; i < 3 && !why; i++) {
        const intrinsic_parameter *p = &f->parameters[i];
        const char *const what[] = {"the left operand", "the right operand", "the sum"};
        why = shape_refusal(l, mma->fragments[i + 1].fragment, p->dims[0], p->dims[1], p->type, what[i]);
    }
    make_call(l, block,
              (matrix_call){.f = f,
                            .stands_for = mma,
                            .why = why,
                            .as = "multiplied as any product is",
                            .what = "multiply these matrices",
                            .span = v->span});
}

void lower_matrix_store(lower *l, kernel_block *block, kernel_stmt *store, const tile_value *v, source_span span) {
    if (v->op != TILE_INTRINSIC || intrinsic_kind_of(v->intrinsic) != INTRINSIC_STORES_MATRIX)
        return;
    const intrinsic *f = v->intrinsic;
    const intrinsic_parameter *m = &f->parameters[intrinsic_written(f)];
    const char *why = shape_refusal(l, store->fragments[0].fragment, m->dims[0], m->dims[1], m->type, "the result");
    make_call(l, block,
              (matrix_call){.f = f,
                            .stands_for = store,
                            .why = why ? why : memory_refusal(l, m, store, "the result"),
                            .as = "stored as any result is",
                            .what = "store this matrix",
                            .span = span});
}
