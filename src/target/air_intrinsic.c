/* AIR: calls of intrinsics. A function of the other form's text is not called: what it computes is printed, which may be that form's own function. */
#include "target/intrinsics.h"

static const char *tag(element_type t) {
    return element_table[t].name;
}

static const char *scalar_type(air *a, element_type t) {
    return t == ELEMENT_I64 ? "i64" : air_type(a, t, 1);
}

/* Index expressions have 64 bits here. */
static const char *value_text(air *a, const kernel_value *v) {
    bool wide = v->op == KERNEL_CONVERT && v->type == ELEMENT_I64 && v->operands[0]->type == ELEMENT_INDEX;
    return air_value(a, wide ? v->operands[0] : v);
}

static const char *vector(air *a, const contract_operand *c, const char **type) {
    const char *one = scalar_type(a, c->values[0]->type), *all = arena_printf(a->arena, "<%d x %s>", c->count, one), *v = "undef";
    for (int i = 0; i < c->count; i++)
        v = air_pure(a, "insertelement %s %s, %s %s, i32 %d", all, v, one, value_text(a, c->values[i]), i);
    *type = all;
    return v;
}

/* A pointer, of the type that the function takes: matrices of bf16 are of `bfloat`, which memory holds as bits. */
static const char *pointer(air *a, const contract_operand *c, bool matrix, const char **type) {
    kernel_access at = c->access;
    const kernel_array *array = at.array;
    air_integer offset;
    if (c->from) {
        at.indices = NEW_ARRAY(a->arena, index_expr *, array->rank + 1);
        for (int d = 0; d < array->rank; d++)
            at.indices[d] = ix_add(a->arena, c->access.indices[d], c->from[d]);
    }
    if (!air_offset(a, &at, 0, &offset))
        return NULL;
    const char *stored = air_pointer(a, air_storage_type(array->element), air_space(array)), *place = air_place(a, array, offset);
    *type = stored;
    if (matrix && array->element == ELEMENT_BF16 && a->form == AIR_TYPED) {
        *type = air_pointer(a, "bfloat", air_space(array));
        place = air_pure(a, "bitcast %s %s to %s", stored, place, *type);
    }
    return place;
}

static void give(air *a, const kernel_stmt *s, const contract_operand *result, const char *value) {
    const kernel_fragment *matrix = s->fragments[0].fragment;
    if (matrix)
        a->slots[air_fragment_slot(a, matrix, s->fragments[0].index)] = value;
    else
        air_store(a, &result->access, value, s->span);
}

bool air_intrinsic(air *a, const kernel_stmt *s) {
    const contract_operand *result = s->contract_count && s->contract[0].effect == CONTRACT_RESULT ? &s->contract[0] : NULL;
    const kernel_fragment *matrix = s->fragments[0].fragment;
    const bool matrices = kernel_is_fragment_stmt(s);
    const int from = result != NULL; /* the first operand that is passed */
    const intrinsic_row *row = intrinsic_row_of(&air_intrinsics, a->form == AIR_TYPED ? "typed" : "", s);
    if (!row && s->body.items.count) { /* the other form's */
        air_statements(a, &s->body);
        return true;
    }
    if (!row)
        return air_refuse(a, s->span, "a call of `%s`, of which this text knows nothing", s->name);
    const element_type t = matrix ? matrix->element : result ? result->access.array->element : ELEMENT_F32;
    const int lanes = matrix || !result ? 1 : result->access.array->lanes;
    const int mark = a->bound.count;
    VEC(const char *) values = {0}, types = {0};
    const char *suffix = matrix ? arena_printf(a->arena, ".v%d%s", matrix->rows * matrix->columns, tag(t)) : "";
    for (int i = from; i < s->contract_count; i++) {
        const contract_operand *c = &s->contract[i];
        const char *type = "", *text;
        if (c->effect == CONTRACT_VALUE) {
            text = value_text(a, c->value);
            type = scalar_type(a, c->value->type);
        } else if (c->effect == CONTRACT_FRAGMENT) {
            const fragment_ref *f = &s->fragments[c->which];
            const char *held = a->slots[air_fragment_slot(a, f->fragment, f->index)];
            text = held ? held : "undef";
            type = air_fragment_type(a, f->fragment);
            suffix =
                arena_printf(a->arena, "%s.v%d%s", suffix, f->fragment->rows * f->fragment->columns, tag(f->fragment->element));
        } else if (c->effect == CONTRACT_VECTOR) {
            text = vector(a, c, &type);
        } else {
            text = pointer(a, c, matrices, &type);
            suffix = arena_printf(a->arena, "%s.p%d%s", suffix, air_space(c->access.array), tag(c->access.array->element));
        }
        if (!text)
            return true; /* diagnosed */
        VEC_PUSH(a->arena, values, text);
        VEC_PUSH(a->arena, types, type);
    }
    const char *name = row->style == INTRINSIC_OVERLOADED ? arena_printf(a->arena, "%s%s", s->name, suffix) : s->name;
    const char *gives = matrix ? air_fragment_type(a, matrix) : result ? air_type(a, t, 1) : "void", *all = NULL;
    for (int l = 0; l < lanes; l++) {
        text_buffer kinds = {0}, arguments = {0};
        for (int i = 0; i < values.count; i++) {
            const kernel_value *v = s->contract[i + from].value;
            const char *one = v && v->lanes > 1
                                  ? air_pure(a, "extractelement %s %s, i32 %d", air_type(a, v->type, v->lanes), values.at[i], l)
                                  : values.at[i];
            text_add(&kinds, "%s%s", i ? ", " : "", types.at[i]);
            text_add(&arguments, "%s%s %s", i ? ", " : "", types.at[i], one);
        }
        const char *x =
            air_call(a, gives, name, arena_strdup(a->arena, text_get(&kinds)), arena_strdup(a->arena, text_get(&arguments)));
        text_free(&kinds);
        text_free(&arguments);
        all = lanes == 1
                  ? x
                  : air_pure(a, "insertelement %s %s, %s %s, i32 %d", air_type(a, t, lanes), all ? all : "undef", gives, x, l);
    }
    air_forget(a, mark);
    if (result)
        give(a, s, result, all);
    return true;
}
