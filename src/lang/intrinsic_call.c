/* Calls of intrinsics: operands of the declared types, pointers to elements of arrays, the contract's cells inside these, and what is computed, inlined. */
#include "lang/build.h"
#include <math.h>
#include <string.h>

/* A pointer: the element that it points to, as a load; the contract's cells are the target's to read. */
static tile_value *pointer(builder *b, const expr *e, const intrinsic *f, const intrinsic_parameter *p) {
    name_entry *n = e->kind == EXPR_INDEX && !b->frame ? name_find(b, e->name) : NULL;
    if (!n || n->kind != NAME_ARRAY || n->array->role != ARRAY_IN || n->array->type != p->type || n->array->rank < p->rank) {
        diag *g =
            lang_error(b, "E0333", e->span, "`%s` of `%s` points to an element of an input of %s with at least %d dimension%s",
                       p->name, f->name, element_table[p->type].name, p->rank, p->rank == 1 ? "" : "s");
        diag_caret(b->diags, g, "pass an element of an array argument, such as `x[i]`; in a function, pass its result instead");
        return NULL;
    }
    tile_array *array = n->array;
    index_expr **indices = NEW_ARRAY(b->arena, index_expr *, array->rank);
    element_type want = b->want;
    b->want = ELEMENT_COUNT;
    bool ok = lang_array_indices(b, array, e, false, indices);
    b->want = want;
    if (!ok)
        return NULL;
    tile_value *v = tile_new_value(b->k, TILE_LOAD, array->type, e->span);
    v->array = array;
    v->indices = indices;
    tile_set_operands(b->k, v, 0, NULL);
    return value_done(b, v);
}

static tile_value *argument(builder *b, const expr *e, const intrinsic *f, const intrinsic_parameter *p, operand *seen,
                            index_expr **index) {
    if (p->rank)
        return pointer(b, e, f, p);
    element_type want = b->want;
    b->want = p->type == ELEMENT_INDEX ? ELEMENT_COUNT : p->type;
    operand x = lang_evaluate(b, e);
    b->want = want;
    if (x.kind == OPERAND_ERROR)
        return NULL;
    if (p->type != ELEMENT_INDEX) {
        tile_value *v = lang_as_type(b, x, p->type, arena_printf(b->arena, "`%s` of `%s`", p->name, f->name), e->span);
        *seen = operand_of_value(v, e);
        return v;
    }
    if (x.kind == OPERAND_LITERAL && x.integral && fabs(x.number) < 0x1p31)
        x = (operand){.kind = OPERAND_INDEX, .index = ix_const(b->arena, (int64_t)x.number), .from = e, .side = -1};
    if (x.kind != OPERAND_INDEX) {
        diag *g = lang_error(b, "E0333", e->span, "`%s` of `%s` is an integer, and this is %s", p->name, f->name,
                             operand_describe(b, &x));
        diag_caret(b->diags, g, "an integer is made of ranges, extents, integer scalars and constants");
        return NULL;
    }
    *seen = x;
    *index = x.index;
    tile_value *v = tile_new_value(b->k, TILE_INDEX, ELEMENT_INDEX, e->span);
    v->index = x.index;
    tile_derive_axes(b->k, v);
    return value_done(b, v);
}

static bool is_single(const intrinsic_bound *b) {
    static const intrinsic_bound zero;
    return !memcmp(b, &zero, sizeof zero);
}

/* The cells of the contract are cells of the array. A matrix's are the whole ones that lie inside: the lowering sees to that. */
static bool cells_inside(builder *b, const expr *e, const intrinsic *f, tile_value **values, index_expr **indices) {
    bool ok = true;
    for (int i = 0; i < f->parameter_count && !f->rows; i++) {
        const intrinsic_parameter *p = &f->parameters[i];
        if (p->writes)
            continue; /* the cell that the store owns, or whole matrices of such */
        for (int d = 0; d < p->rank; d++) {
            if (is_single(&p->lo[d]) && is_single(&p->hi[d]))
                continue;
            const tile_value *at = values[i];
            index_expr *lo = intrinsic_bound_of(b->arena, &p->lo[d], indices, f->parameter_count),
                       *hi = intrinsic_bound_of(b->arena, &p->hi[d], indices, f->parameter_count);
            ok &= lang_check_cells(b, at->array, at->array->rank - p->rank + d, at->indices, lo, hi, e->args.at[i], f->name);
        }
    }
    return ok;
}

static const intrinsic *known(builder *b, const declaration *d) {
    for (int i = 0; i < b->k->intrinsics.count; i++)
        if (b->k->intrinsics.at[i] == d->made)
            return d->made;
    VEC_PUSH(b->arena, b->k->intrinsics, d->made);
    return d->made;
}

/* What it says that it computes, of these operands. */
static tile_value *computed(builder *b, const expr *e, const declaration *d, operand *seen, tile_value **values) {
    const intrinsic *f = d->made;
    frame inner = {.function = d, .count = f->parameter_count, .outer = b->frame, .intrinsic = f, .pointers = values};
    inner.names = NEW_ARRAY(b->arena, const char *, f->parameter_count + 1);
    for (int i = 0; i < f->parameter_count; i++)
        inner.names[i] = f->parameters[i].name;
    inner.operands = seen;
    frame *outer = b->frame;
    element_type want = b->want;
    b->frame = &inner;
    b->want = f->type;
    b->inline_depth++;
    operand x = lang_evaluate(b, d->value);
    tile_value *v = x.kind == OPERAND_ERROR
                        ? NULL
                        : lang_as_type(b, x, f->type, arena_printf(b->arena, "the value of `%s`", f->name), d->value->span);
    b->inline_depth--;
    b->frame = outer;
    b->want = want;
    (void)e;
    return v;
}

static const intrinsic *called(builder *b, const expr *call) {
    const declaration *d = lang_find_declaration(b->m, DECLARE_INTRINSIC, call->name);
    return d && !d->broken ? d->made : NULL;
}

const intrinsic *lang_store_called(builder *b, const expr *call) {
    const intrinsic *f = called(b, call);
    return f && intrinsic_is_store(f) ? f : NULL;
}

const intrinsic *lang_product_called(builder *b, const expr *call) {
    const intrinsic *f = called(b, call);
    if (!f || intrinsic_kind_of(f) != INTRINSIC_MULTIPLIES)
        return NULL;
    return known(b, lang_find_declaration(b->m, DECLARE_INTRINSIC, call->name));
}

operand lang_call_intrinsic(builder *b, const expr *e, const declaration *d) {
    if (d->broken || !d->made)
        return operand_error();
    const intrinsic *f = known(b, d);
    if (e->args.count != f->parameter_count) {
        diag *g = lang_error(b, "E0208", e->span, "`%s` takes %d argument%s, and %d %s given", f->name, f->parameter_count,
                             f->parameter_count == 1 ? "" : "s", e->args.count, e->args.count == 1 ? "is" : "are");
        diag_note(b->diags, g, "`%s` is declared in line %d", f->name, f->span.line);
        return operand_error();
    }
    if (b->inline_depth >= MAX_INLINE_DEPTH || (b->frame && b->frame->intrinsic)) {
        lang_error(b, "E0333", e->span, "what an intrinsic computes is said without other intrinsics");
        return operand_error();
    }
    if (intrinsic_is_store(f) && b->store_call != e) {
        diag *g = lang_error(b, "E0333", e->span, "`%s` writes memory: its call is a statement", f->name);
        diag_caret(b->diags, g, "let it stand alone: `%s`", lang_source_text_of(b->arena, e));
        return operand_error();
    }
    if (intrinsic_kind_of(f) == INTRINSIC_MULTIPLIES) {
        diag *g = lang_error(b, "E0333", e->span,
                             "`%s` gives a sum of products, which is the next value of the variable it adds to", f->name);
        diag_caret(b->diags, g, "write `acc = %s(.., .., acc)`", f->name);
        return operand_error();
    }
    if (f->rows && b->matrix_call != e) {
        diag *g = lang_error(b, "E0333", e->span, "`%s` gives a matrix, which is an operand of `@` and nothing else", f->name);
        diag_caret(b->diags, g, "write it there: `%s @ ...`", lang_source_text_of(b->arena, e));
        return operand_error();
    }
    b->matrix_call = NULL; /* none of its arguments is one */
    b->store_call = NULL;
    operand seen[INTRINSIC_MOST_PARAMETERS] = {0};
    tile_value *values[INTRINSIC_MOST_PARAMETERS + 1] = {0}, *operands[INTRINSIC_MOST_PARAMETERS + 1];
    index_expr *indices[INTRINSIC_MOST_PARAMETERS] = {0};
    bool ok = true;
    for (int i = 0; i < f->parameter_count; i++) {
        if (f->parameters[i].writes)
            continue; /* what the store stores to */
        values[i] = argument(b, e->args.at[i], f, &f->parameters[i], &seen[i], &indices[i]);
        ok &= values[i] != NULL;
    }
    if (!ok || !cells_inside(b, e, f, values, indices))
        return operand_error();
    if (f->rows) { /* at each element what memory holds there */
        b->matrix = f;
        return operand_of_value(values[0], e);
    }
    int count = 0;
    for (int i = 0; i < f->parameter_count; i++)
        if (!f->parameters[i].writes)
            operands[count++] = values[i];
    if (intrinsic_kind_of(f) == INTRINSIC_STORES_MATRIX) /* each element at its place */
        operands[count] = operands[0];
    else if (f->referenced && !(operands[count] = computed(b, e, d, seen, values)))
        return operand_error();
    tile_value *v = tile_new_value(b->k, TILE_INTRINSIC, f->type, e->span);
    v->intrinsic = f;
    tile_set_operands(b->k, v, intrinsic_operands(f), operands);
    return operand_of_value(value_done(b, v), e);
}

operand lang_intrinsic_cell(builder *b, const expr *e) {
    const intrinsic *f = b->frame->intrinsic;
    for (int i = 0; i < f->parameter_count; i++) {
        const intrinsic_parameter *p = &f->parameters[i];
        if (!p->rank || strcmp(p->name, e->name) || e->args.count != p->rank)
            continue;
        const tile_value *at = b->frame->pointers[i];
        tile_value *v = tile_new_value(b->k, TILE_LOAD, at->array->type, at->span);
        v->array = at->array;
        v->indices = NEW_ARRAY(b->arena, index_expr *, at->array->rank);
        memcpy(v->indices, at->indices, sizeof *v->indices * (size_t)at->array->rank);
        for (int d = 0; d < p->rank; d++) {
            operand x = lang_evaluate(b, e->args.at[d]);
            index_expr *further = x.kind == OPERAND_INDEX                   ? x.index
                                  : x.kind == OPERAND_LITERAL && x.integral ? ix_const(b->arena, (int64_t)x.number)
                                                                            : NULL;
            if (!further)
                return operand_error(); /* the declaration has said so */
            index_expr **index = &v->indices[at->array->rank - p->rank + d];
            *index = ix_add(b->arena, *index, further);
        }
        tile_set_operands(b->k, v, 0, NULL);
        return operand_of_value(value_done(b, v), e);
    }
    return operand_error();
}

operand lang_bounded_reduction(builder *b, const expr *e) {
    if (!b->frame || !b->frame->intrinsic) {
        diag *g = lang_error(b, "E0331", e->range_span, "`%s in ...` is written out in what an intrinsic computes, nowhere else",
                             e->range);
        diag_caret(b->diags, g, "reduce over a range: `%s[k](...)`", e->name);
        return operand_error();
    }
    operand ends[2] = {lang_evaluate(b, e->args.at[0]), lang_evaluate(b, e->args.at[1])};
    if (ends[0].kind != OPERAND_LITERAL || ends[1].kind != OPERAND_LITERAL)
        return operand_error();
    frame *outer = b->frame, inner = *outer;
    inner.count++;
    inner.names = NEW_ARRAY(b->arena, const char *, inner.count);
    inner.operands = NEW_ARRAY(b->arena, operand, inner.count);
    /* the innermost name goes before others */
    memcpy(inner.names + 1, outer->names, sizeof *inner.names * (size_t)outer->count);
    memcpy(inner.operands + 1, outer->operands, sizeof *inner.operands * (size_t)outer->count);
    inner.names[0] = e->range;
    operand sum = operand_error();
    for (double j = ends[0].number; j <= ends[1].number; j++) {
        inner.operands[0] = (operand){.kind = OPERAND_LITERAL, .number = j, .integral = true, .from = e, .side = -1};
        b->frame = &inner;
        operand x = lang_evaluate(b, e->a);
        b->frame = outer;
        sum = j > ends[0].number ? lang_binary_operand(b, OP_ADD, sum, x, e) : x;
        if (sum.kind == OPERAND_ERROR)
            return sum;
    }
    return sum;
}
