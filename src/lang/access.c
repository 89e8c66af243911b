/* Reading arrays: ranges against dimensions, bounds, gathers, and what lies outside. */
#include "lang/build.h"
#include <string.h>

static const char *dimension_words(builder *b, const tile_array *array, int group, int factor) {
    if (array->groups[group] > 1)
        return arena_printf(b->arena, "factor %d of dimension %d of `%s`", factor, group, array->name);
    return arena_printf(b->arena, "dimension %d of `%s`", group, array->name);
}

static void report_range(builder *b, const tile_array *array, int group, int factor, index_expr *dim, const tile_range *r,
                         source_span span) {
    const char *extent = lang_index_text(b->arena, r->extent), *wanted = lang_index_text(b->arena, dim);
    diag *g = lang_error(b, "E0214", span, "`%s` spans %s, but %s is %s", r->name, extent,
                         dimension_words(b, array, group, factor), wanted);
    if (ix_is_const(dim, NULL) && ix_is_const(r->extent, NULL))
        diag_caret(b->diags, g, "use a range over %s", wanted);
    else
        diag_caret(b->diags, g, "use a range over %s, or add `where %s == %s`", wanted, extent, wanted);
}

/* "column -1", "row 3", "element 7", "index 2 of dimension 1" */
static const char *place_words(builder *b, const tile_array *array, int group, int64_t value) {
    if (array->rank == 1)
        return arena_printf(b->arena, "element %lld", (long long)value);
    if (array->rank == 2 && array->group_count == 2)
        return arena_printf(b->arena, "%s %lld", group ? "column" : "row", (long long)value);
    return arena_printf(b->arena, "index %lld of dimension %d", (long long)value, group);
}

/* " when c = 0": the unknowns of the index, and of the extent when the upper end is overrun. */
static const char *witness_words(builder *b, const linear_witness *w, const index_expr *index, const index_expr *dim,
                                 bool above) {
    text_buffer t = {0};
    int count = 0;
    for (int i = 0; i < w->vars.count; i++) {
        const index_var *v = w->vars.at[i];
        if (!ix_mentions(index, v) && !(above && ix_mentions(dim, v)))
            continue;
        const char *name = v->name ? v->name : "the index";
        const tile_value *owner = v->kind == INDEX_VALUE ? v->owner : NULL;
        if (owner && owner->op == TILE_LOAD)
            name = arena_printf(b->arena, "%s[...]", owner->array->name);
        text_add(&t, "%s%s = %lld", count++ ? ", " : " when ", name, (long long)w->values.at[i]);
    }
    const char *copy = arena_strdup(b->arena, text_get(&t));
    text_free(&t);
    return copy;
}

/* 0 <= x < dim for everything that exists here. */
static bool check_bounds(builder *b, const linear_facts *facts, const tile_array *array, int group, index_expr *dim,
                         index_expr *x, const expr *access, const expr *index) {
    index_expr *room = ix_sub(b->arena, ix_sub(b->arena, dim, x), ix_const(b->arena, 1));
    bool low = linear_prove_nonnegative(facts, x), high = linear_prove_nonnegative(facts, room);
    if (low && high)
        return true;
    const char *text = lang_source_text_of(b->arena, access);
    for (int side = 0; side < 2; side++) {
        linear_witness w = {0};
        if ((side ? high : low) || !linear_find_negative(b->arena, facts, side ? room : x, x, &w))
            continue;
        diag *g = lang_error(b, "E0301", index->span, "%s reads %s%s", text, place_words(b, array, group, w.value),
                             witness_words(b, &w, x, dim, side == 1));
        diag_caret(b->diags, g, "say what lies outside: `%s else 0`", text);
        return false;
    }
    diag *g = lang_error(b, "E0302", index->span, "%s is not shown to stay %s `%s`", text,
                         low ? "below the end of" : "at or above the beginning of", array->name);
    diag_caret(b->diags, g, "add a `where` that says so, or say what lies outside: `%s else 0`", text);
    return false;
}

bool lang_check_cells(builder *b, tile_array *array, int dim, index_expr **indices, index_expr *lo, index_expr *hi,
                      const expr *access, const char *intrinsic_name) {
    int group = 0;
    for (int flat = array->groups[0]; flat <= dim && group + 1 < array->group_count;)
        flat += array->groups[++group];
    index_expr *all[17] = {lo, hi}, *first = ix_add(b->arena, indices[dim], lo), *last = ix_add(b->arena, indices[dim], hi),
               *room = ix_sub(b->arena, ix_sub(b->arena, array->dims[dim], last), ix_const(b->arena, 1));
    int count = 2;
    for (int d = 0; d < array->rank && count < 17; d++)
        all[count++] = indices[d];
    linear_facts facts = lang_facts_here(b, all, count);
    const char *text = lang_source_text_of(b->arena, access);
    for (int side = 0; side < 2; side++) {
        linear_witness w = {0};
        if (linear_prove_nonnegative(&facts, side ? room : first))
            continue;
        diag *g;
        if (linear_find_negative(b->arena, &facts, side ? room : first, side ? last : first, &w))
            g = lang_error(b, "E0334", access->span, "`%s` reads %s behind the pointer to %s%s", intrinsic_name,
                           place_words(b, array, group, w.value), text,
                           witness_words(b, &w, side ? last : first, array->dims[dim], side == 1));
        else
            g = lang_error(b, "E0334", access->span, "what `%s` reads behind the pointer to %s is not shown to stay in `%s`",
                           intrinsic_name, text, array->name);
        diag_caret(b->diags, g, "its contract reads %s..%s further in dimension %d", lang_index_text(b->arena, lo),
                   lang_index_text(b->arena, hi), group);
        return false;
    }
    return true;
}

static const char *tuple_example(builder *b, const tile_array *array) {
    static const char *const letters[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    text_buffer t = {0};
    int letter = 0;
    text_add(&t, "%s[", array->name);
    for (int g = 0; g < array->group_count; g++) {
        text_add(&t, "%s%s", g ? ", " : "", array->groups[g] > 1 ? "(" : "");
        for (int f = 0; f < array->groups[g]; f++)
            text_add(&t, "%s%s", f ? ", " : "", letters[letter++ % 8]);
        text_add(&t, "%s", array->groups[g] > 1 ? ")" : "");
    }
    text_add(&t, "]");
    const char *copy = arena_strdup(b->arena, text_get(&t));
    text_free(&t);
    return copy;
}

/* A range over another extent is let through where a `where` says that the dimension is at least as large. */
static bool spans_part(builder *b, const tile_range *r, index_expr *dim) {
    linear_facts none = {0}, where = {0};
    for (int i = 0; i < b->k->where.count; i++)
        VEC_PUSH(b->arena, where.given, b->k->where.at[i]);
    index_expr *room = ix_sub(b->arena, dim, r->extent);
    return linear_prove_nonnegative(&where, room) && !linear_prove_nonnegative(&none, room);
}

/* Every index stays within its dimension: bare ranges because they span it, others by proof. */
static bool check_indices(builder *b, const tile_array *array, const expr *e, index_expr **indices) {
    bool ok = true;
    linear_facts facts = lang_facts_here(b, indices, array->rank);
    for (int g = 0, flat = 0; g < array->group_count; g++) {
        const expr *item = e->args.at[g];
        for (int f = 0; f < array->groups[g]; f++, flat++) {
            const expr *index = array->groups[g] > 1 ? item->args.at[f] : item;
            const tile_range *r = lang_only_range(indices[flat]);
            if (!r) {
                ok &= check_bounds(b, &facts, array, g, array->dims[flat], indices[flat], e, index);
            } else if (!lang_extents_equal(b, r->extent, array->dims[flat]) && !spans_part(b, r, array->dims[flat])) {
                report_range(b, array, g, f, array->dims[flat], r, index->span);
                return false; /* a transposed access would say the same of its other dimension */
            }
        }
    }
    return ok;
}

bool lang_array_indices(builder *b, tile_array *array, const expr *e, bool has_outside, index_expr **out) {
    if (e->args.count != array->group_count) {
        diag *g = lang_error(b, "E0213", e->span, "`%s` has %d dimension%s, and %d ind%s given", array->name, array->group_count,
                             array->group_count == 1 ? "" : "s", e->args.count, e->args.count == 1 ? "ex is" : "ices are");
        diag_caret(b->diags, g, "write `%s`", tuple_example(b, array));
        return false;
    }
    bool ok = true;
    int flat = 0;
    for (int g = 0; g < array->group_count; g++) {
        const expr *item = e->args.at[g];
        int factors = array->groups[g];
        if (item->kind == EXPR_ERROR)
            return false;
        bool tuple = item->kind == EXPR_TUPLE;
        if (tuple != (factors > 1) || (tuple && item->args.count != factors)) {
            diag *d;
            if (factors > 1)
                d = lang_error(b, "E0216", item->span,
                               "dimension %d of `%s` is a product of %d factors and takes a tuple of %d indices", g, array->name,
                               factors, factors);
            else
                d = lang_error(b, "E0216", item->span, "dimension %d of `%s` is no product and takes one index", g, array->name);
            diag_caret(b->diags, d, "write `%s`", tuple_example(b, array));
            ok = false;
            flat += factors;
            continue;
        }
        for (int f = 0; f < factors; f++, flat++) {
            const expr *index = tuple ? item->args.at[f] : item;
            if (index->kind == EXPR_ALL) {
                lang_error(b, "E0104", index->span, "`..` stands in a `for tile` list only");
                ok = false;
                continue;
            }
            index_expr *x = lang_integer_expression(b, index, PLACE_INDEX);
            out[flat] = x;
            if (!x) {
                ok = false;
                continue;
            }
        }
    }
    return ok && (has_outside || check_indices(b, array, e, out));
}

operand lang_evaluate_load(builder *b, const expr *e, const expr *outside) {
    if (b->frame && b->frame->intrinsic && !outside)
        return lang_intrinsic_cell(b, e);
    name_entry *n = b->frame ? NULL : name_find(b, e->name);
    if (b->frame) {
        diag *g = lang_error(b, "E0201", e->span, "unknown array `%s`", e->name);
        diag_caret(b->diags, g, "a function or join sees its parameters only; pass `%s[...]` as an argument", e->name);
        return operand_error();
    }
    if (!n) {
        static const char *const reductions[] = {"sum", "max", "min", "argmax", "argmin"};
        for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
            if (!strcmp(e->name, reductions[i])) {
                diag *g = lang_error(b, "E0104", e->span, "`%s[...]` reduces a value, and none follows", e->name);
                diag_caret(b->diags, g, "write `%s[k](x[i, k])`", e->name);
                return operand_error();
            }
        name_unknown(b, e->name, e->span);
        return operand_error();
    }
    if (n->kind != NAME_ARRAY) {
        if (n->kind == NAME_OPERAND && n->operand.kind == OPERAND_ERROR)
            return operand_error();
        diag *g = lang_error(b, "E0207", e->span, "`%s` is %s, not an array", e->name, name_describe(n));
        diag_caret(b->diags, g,
                   n->kind == NAME_OPERAND || n->kind == NAME_VARIABLE ? "write `%s`: it varies over its ranges by itself"
                                                                       : "only array arguments are indexed",
                   e->name);
        return operand_error();
    }
    tile_array *array = n->array;
    index_expr **indices = NEW_ARRAY(b->arena, index_expr *, array->rank);
    if (array->role == ARRAY_OUT) {
        diag *g = lang_error(b, "E0308", e->span, "`%s` is an output and cannot be read", e->name);
        diag_caret(b->diags, g, "keep the value in a name, or declare `update %s: ...` to read what the caller gave", e->name);
        return operand_error();
    }
    element_type want = b->want;
    b->want = ELEMENT_COUNT;
    bool ok = lang_array_indices(b, array, e, outside != NULL, indices);
    b->want = want;
    if (!ok)
        return operand_error();
    tile_value *v = tile_new_value(b->k, TILE_LOAD, array->type, e->span);
    v->array = array;
    v->indices = indices;
    tile_value *otherwise = NULL;
    if (outside) {
        if (array->type == ELEMENT_INDEX || element_table[array->type].block_elements > 1) {
            diag *g = lang_error(b, "E0229", e->span, "`%s` holds %s; `else` does not work on it", e->name,
                                 element_table[array->type].name);
            diag_caret(b->diags, g, "index it only where it has elements");
            return operand_error();
        }
        otherwise = lang_as_type(b, lang_evaluate(b, outside), array->type, arena_printf(b->arena, "an element of `%s`", e->name),
                                 outside->span);
        if (!otherwise)
            return operand_error();
        v->has_outside = true;
    }
    tile_set_operands(b->k, v, otherwise ? 1 : 0, &otherwise);
    value_done(b, v);
    if (array->role == ARRAY_UPDATE)
        lang_check_read(b, v, e);
    return operand_of_value(v, e);
}

index_var *lang_index_of_value(builder *b, const expr *e, tile_value *v) {
    if (v->value_var)
        return v->value_var;
    index_expr *hi = NULL;
    const char *name = NULL;
    if (v->op == TILE_LOAD && v->type == ELEMENT_INDEX) {
        hi = v->array->index_bound;
        name = arena_printf(b->arena, "%s_entry", v->array->name);
    } else if (v->op == TILE_ARGMAX || v->op == TILE_ARGMIN) {
        hi = v->range->extent;
        name = arena_printf(b->arena, "%s_%s", v->op == TILE_ARGMAX ? "argmax" : "argmin", v->range->name);
    } else {
        operand x = operand_of_value(v, e);
        diag *g = lang_error(b, "E0221", e->span, "`%s` is %s; its bounds are not known, so it cannot index",
                             lang_source_text_of(b->arena, e), operand_describe(b, &x));
        if (v->op == TILE_LOAD)
            diag_caret(b->diags, g, "declare `%s: index(V)[...]`, whose data is checked at launch", v->array->name);
        else
            diag_caret(b->diags, g, "an index is made of ranges, integer scalars, data of type index(V), argmax and argmin");
        return NULL;
    }
    /* Computed once and named, where it can be held. */
    bool held = true;
    for (int i = 0; i < v->axis_count; i++)
        held &= lang_index_is_constant_size(v->axes[i]->size);
    if (held)
        lang_bind_value(b, v, name, false);
    index_var *var = tile_index_of(b->k, v, ix_const(b->arena, 0), ix_sub(b->arena, hi, ix_const(b->arena, 1)));
    if (!var->name)
        var->name = lang_source_text_of(b->arena, e);
    return var;
}
