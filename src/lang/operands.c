/* Types: how literals and integers take the type of what they meet, and explicit conversions. */
#include "lang/build.h"
#include <math.h>
#include <string.h>

operand operand_of_value(tile_value *v, const expr *from) {
    return v ? (operand){.kind = OPERAND_VALUE, .value = v, .from = from, .side = -1} : operand_error();
}

/* Within a join everything is a function of the two states, so equal expressions are one value. */
static tile_value *shared_value(builder *b, tile_value *v) {
    for (int i = 0; i < b->shared.count; i++) {
        tile_value *old = b->shared.at[i];
        bool same = old->op == v->op && old->type == v->type && old->operand_count == v->operand_count &&
                    old->index == v->index && old->scalar == v->scalar && old->variable == v->variable &&
                    old->intrinsic == v->intrinsic && old->field == v->field && old->side == v->side &&
                    old->saturate == v->saturate && !memcmp(&old->number, &v->number, sizeof v->number);
        for (int o = 0; same && o < v->operand_count; o++)
            same = old->operands[o] == v->operands[o];
        if (same)
            return old;
    }
    VEC_PUSH(b->arena, b->shared, v);
    return v;
}

/* Depth and size as a tree, so that whatever walks values later stays within bounds; then the dependence on tile sizes. */
tile_value *value_done(builder *b, tile_value *v) {
    while (b->info.count <= v->id) {
        value_info empty = {.depth = 1, .size = 1};
        VEC_PUSH(b->arena, b->info, empty);
    }
    int depth = 0, size = 1;
    for (int i = 0; i < v->operand_count; i++) {
        const value_info *o = &b->info.at[v->operands[i]->id];
        bool bound = v->operands[i]->bound;
        if (!bound && o->depth > depth)
            depth = o->depth;
        size += bound ? 1 : o->size;
        if (size > MAX_VALUE_SIZE)
            size = MAX_VALUE_SIZE + 1;
    }
    b->info.at[v->id].depth = depth + 1;
    b->info.at[v->id].size = size;
    if ((depth + 1 > MAX_VALUE_DEPTH || size > MAX_VALUE_SIZE || b->k->value_count > MAX_VALUES) && !b->too_large) {
        b->too_large = true;
        bool kernel = b->k->value_count > MAX_VALUES;
        diag *g = lang_error(b, "E0111", v->span, "this %s grows too large", kernel ? "kernel" : "expression");
        diag_caret(b->diags, g, kernel ? "split it into several kernels" : "bind a part of it to a name first");
    }
    taint_derive(b, v);
    missing_derive(b, v);
    return b->sharing ? shared_value(b, v) : v;
}

static element_type arithmetic_type(element_type t) {
    switch (t) {
    case ELEMENT_F32:
    case ELEMENT_I32:
    case ELEMENT_U32:
    case ELEMENT_BOOL: return t;
    case ELEMENT_U8: return ELEMENT_U32;
    case ELEMENT_I8:
    case ELEMENT_INDEX: return ELEMENT_I32;
    default: return ELEMENT_F32;
    }
}

static tile_value *converted(builder *b, tile_value *v, element_type type) {
    return v->type == type ? v : value_done(b, tile_unary(b->k, TILE_CONVERT, type, v, v->span));
}

tile_value *lang_arithmetic(builder *b, tile_value *v) {
    return converted(b, v, arithmetic_type(v->type));
}

source_span operand_span(builder *b, const operand *x) {
    return x->from ? x->from->span : x->value ? x->value->span : b->d->span;
}

static tile_value *index_value(builder *b, const operand *x) {
    tile_value *v = tile_new_value(b->k, TILE_INDEX, ELEMENT_INDEX, operand_span(b, x));
    v->index = x->index;
    tile_derive_axes(b->k, v);
    return value_done(b, v);
}

const char *operand_describe(builder *b, const operand *x) {
    switch (x->kind) {
    case OPERAND_LITERAL: return x->integral ? "an integer literal" : "a number";
    case OPERAND_INDEX: return lang_index_is_symbolic(x->index) ? "an extent" : "an index (integer)";
    case OPERAND_VALUE:
        return arena_printf(b->arena, "%s",
                            x->value->type == ELEMENT_INDEX ? "an index (integer)" : element_table[x->value->type].name);
    case OPERAND_STATE: return "a state";
    case OPERAND_ERROR: return "an error";
    }
    return "a value";
}

static bool is_integer_type(element_type t) {
    return t == ELEMENT_I32 || t == ELEMENT_U32 || t == ELEMENT_I8 || t == ELEMENT_U8;
}

static bool integer_fits(element_type t, double x) {
    switch (t) {
    case ELEMENT_I32: return x >= -2147483648.0 && x <= 2147483647.0;
    case ELEMENT_U32: return x >= 0 && x <= 4294967295.0;
    case ELEMENT_I8: return x >= -128 && x <= 127;
    case ELEMENT_U8: return x >= 0 && x <= 255;
    default: return true;
    }
}

/* A literal as f32, i32 or u32. */
static tile_value *literal_value(builder *b, const operand *x, element_type type) {
    source_span span = operand_span(b, x);
    if (is_integer_type(type)) {
        if (!x->integral) {
            diag *g = lang_error(b, "E0209", span, "%s is not an integer, and %s is wanted here",
                                 x->from ? lang_source_text_of(b->arena, x->from) : "this", element_table[type].name);
            diag_caret(b->diags, g, "write an integer, or convert the other side: `f32(...)`");
            return NULL;
        }
        if (!integer_fits(type, x->number)) {
            diag *g = lang_error(b, "E0103", span, "%.0f does not fit in %s", x->number, element_table[type].name);
            if (type == ELEMENT_I32 && integer_fits(ELEMENT_U32, x->number))
                diag_caret(b->diags, g, "as a u32 it is `u32(%.0f)`", x->number);
            return NULL;
        }
    }
    return value_done(b, tile_constant(b->k, type, type == ELEMENT_F32 ? (double)(float)x->number : x->number, span));
}

static bool refuse_state(builder *b, const operand *x) {
    if (x->kind != OPERAND_STATE)
        return false;
    diag *g = lang_error(b, "E0224", operand_span(b, x), "`%s` is a state with several fields; one of them is wanted here",
                         x->side < 0 ? x->variable->name : lang_source_text_of(b->arena, x->from));
    diag_caret(b->diags, g, "name the field: `%s.%s`", x->side < 0 ? x->variable->name : lang_source_text_of(b->arena, x->from),
               x->variable->field_names[0]);
    return true;
}

bool lang_as_arithmetic(builder *b, operand *x, element_type want) {
    if (x->kind == OPERAND_ERROR || refuse_state(b, x))
        return false;
    tile_value *v = NULL;
    if (want != ELEMENT_COUNT)
        want = arithmetic_type(want);
    switch (x->kind) {
    case OPERAND_LITERAL: {
        element_type type = !x->integral || want == ELEMENT_F32 ? ELEMENT_F32 : want == ELEMENT_U32 ? ELEMENT_U32 : ELEMENT_I32;
        v = literal_value(b, x, type);
        break;
    }
    case OPERAND_INDEX: {
        bool real = want == ELEMENT_F32 && lang_index_is_symbolic(x->index);
        bool is_unsigned = want == ELEMENT_U32 || (want == ELEMENT_COUNT && lang_index_is_unsigned(x->index));
        v = converted(b, index_value(b, x), real ? ELEMENT_F32 : is_unsigned ? ELEMENT_U32 : ELEMENT_I32);
        break;
    }
    default:
        v = x->value->type == ELEMENT_INDEX && want == ELEMENT_U32 ? converted(b, x->value, ELEMENT_U32)
                                                                   : lang_arithmetic(b, x->value);
    }
    *x = operand_of_value(v, x->from);
    return v != NULL;
}

bool lang_unify(builder *b, operand *x, operand *y, const expr *at, const char *what) {
    if (x->kind == OPERAND_ERROR || y->kind == OPERAND_ERROR || refuse_state(b, x) || refuse_state(b, y))
        return false;
    if (x->kind == y->kind && x->kind != OPERAND_VALUE)
        return true;
    if (x->kind == OPERAND_LITERAL && y->kind == OPERAND_INDEX)
        return lang_unify(b, y, x, at, what);
    if (x->kind == OPERAND_INDEX && y->kind == OPERAND_LITERAL) {
        if (y->integral && fabs(y->number) < 0x1p48) {
            *y = (operand){.kind = OPERAND_INDEX, .index = ix_const(b->arena, (int64_t)y->number), .from = y->from, .side = -1};
            return true;
        }
        if (lang_index_is_symbolic(x->index))
            return lang_as_arithmetic(b, x, ELEMENT_F32) && lang_as_arithmetic(b, y, ELEMENT_F32);
        diag *g = lang_error(b, "E0209", at->span, "%s between an integer and a fraction", what);
        diag_caret(b->diags, g, "convert the integer: `f32(%s)`", x->from ? lang_source_text_of(b->arena, x->from) : "...");
        return false;
    }
    /* One is a value: the other takes its type. */
    operand *value = x->kind == OPERAND_VALUE ? x : y, *other = value == x ? y : x;
    if (other->kind != OPERAND_VALUE && value->value->type == ELEMENT_INDEX)
        value->value = converted(b, value->value, ELEMENT_I32);
    element_type type = arithmetic_type(value->value->type);
    if (other->kind == OPERAND_INDEX && type == ELEMENT_F32 && !lang_index_is_symbolic(other->index)) {
        diag *g = lang_error(b, "E0209", at->span, "%s between %s and %s", what, operand_describe(b, x), operand_describe(b, y));
        diag_caret(b->diags, g, "convert the integer: `f32(%s)`",
                   other->from ? lang_source_text_of(b->arena, other->from) : "...");
        return false;
    }
    if (other->kind != OPERAND_VALUE && type == ELEMENT_BOOL) {
        diag *g = lang_error(b, "E0209", at->span, "%s between %s and %s", what, operand_describe(b, x), operand_describe(b, y));
        diag_caret(b->diags, g, "turn the condition into a number: `select(c, 1, 0)`");
        return false;
    }
    if (x->kind == OPERAND_VALUE && y->kind == OPERAND_VALUE && x->value->type != y->value->type) {
        /* an index meets i32 or u32 as such */
        if (x->value->type == ELEMENT_INDEX && arithmetic_type(y->value->type) == ELEMENT_U32)
            x->value = converted(b, x->value, ELEMENT_U32);
        if (y->value->type == ELEMENT_INDEX && arithmetic_type(x->value->type) == ELEMENT_U32)
            y->value = converted(b, y->value, ELEMENT_U32);
    }
    operand was_x = *x, was_y = *y;
    if (!lang_as_arithmetic(b, value, ELEMENT_COUNT) || !lang_as_arithmetic(b, other, type))
        return false;
    if (x->value->type != y->value->type) {
        diag *g = lang_error(b, "E0209", at->span, "%s between %s and %s", what, operand_describe(b, &was_x),
                             operand_describe(b, &was_y));
        bool floats = x->value->type == ELEMENT_F32 || y->value->type == ELEMENT_F32;
        bool bools = x->value->type == ELEMENT_BOOL || y->value->type == ELEMENT_BOOL;
        if (bools)
            diag_caret(b->diags, g, "turn the condition into a number: `select(c, 1, 0)`");
        else
            diag_caret(b->diags, g, "convert one side: `%s(...)`", floats ? "f32" : "i32");
        return false;
    }
    return true;
}

tile_value *lang_as_type(builder *b, operand x, element_type type, const char *what, source_span span) {
    if (x.kind == OPERAND_ERROR || refuse_state(b, &x))
        return NULL;
    bool is_float = element_table[type].is_float;
    if (x.kind == OPERAND_LITERAL) {
        if (type == ELEMENT_BOOL) {
            diag *g = lang_error(b, "E0227", span, "%s is bool, and this is a number", what);
            diag_caret(b->diags, g, "write `true`, `false` or a comparison");
            return NULL;
        }
        element_type held = is_float ? ELEMENT_F32 : type;
        tile_value *v = literal_value(b, &x, held == ELEMENT_I8 ? ELEMENT_I32 : held == ELEMENT_U8 ? ELEMENT_U32 : held);
        if (v && !integer_fits(type, x.number)) {
            lang_error(b, "E0103", span, "%.0f does not fit in %s", x.number, element_table[type].name);
            return NULL;
        }
        return v ? converted(b, v, type) : NULL;
    }
    if (x.kind == OPERAND_INDEX) {
        if (type == ELEMENT_I32 || type == ELEMENT_U32)
            return converted(b, index_value(b, &x), type);
        if (type == ELEMENT_F32 && lang_index_is_symbolic(x.index))
            return converted(b, index_value(b, &x), type);
    } else {
        tile_value *v = x.value;
        if (v->type == type)
            return v;
        /* `acc: f16[i, j]` asks `@` itself for the narrow accumulator */
        if (type == ELEMENT_F16 && v->op == TILE_DOT && !v->bound && v->operands[0]->type == ELEMENT_F16) {
            v->type = v->accumulator = ELEMENT_F16;
            return v;
        }
        bool widens =
            type == arithmetic_type(v->type) || (v->type == ELEMENT_INDEX && (type == ELEMENT_I32 || type == ELEMENT_U32));
        if (widens)
            return converted(b, v, type);
    }
    diag *g =
        lang_error(b, "E0211", span, "%s is %s, and this value is %s", what, element_table[type].name, operand_describe(b, &x));
    if (type == ELEMENT_BOOL)
        diag_caret(b->diags, g, "write a comparison: `... != 0`");
    else if (type == ELEMENT_E4M3 || type == ELEMENT_E5M2)
        diag_caret(b->diags, g, "convert it and say what overflows: `%s(..., sat)`", element_table[type].name);
    else if (x.kind == OPERAND_VALUE && x.value->type == ELEMENT_BOOL)
        diag_caret(b->diags, g, "turn the condition into a number: `select(c, 1, 0)`");
    else
        diag_caret(b->diags, g, "convert it: `%s(...)`", element_table[type].name);
    return NULL;
}

operand lang_convert_to(builder *b, element_type type, operand x, bool saturate, const expr *at) {
    if (x.kind == OPERAND_ERROR || refuse_state(b, &x))
        return operand_error();
    const element_info *to = &element_table[type];
    tile_value *v = NULL;
    if (x.kind == OPERAND_LITERAL) {
        bool whole = to->is_float || x.integral;
        if (!whole) { /* i32(2.5): toward zero, here already */
            x.number = trunc(x.number);
            x.integral = true;
        }
        v = literal_value(b, &x, to->is_float ? ELEMENT_F32 : type == ELEMENT_U32 ? ELEMENT_U32 : ELEMENT_I32);
    } else if (x.kind == OPERAND_INDEX) {
        v = index_value(b, &x);
        if (to->is_narrow_float)
            v = converted(b, v, ELEMENT_F32);
        else if (type == ELEMENT_I8 || type == ELEMENT_U8)
            v = converted(b, v, ELEMENT_I32);
    } else {
        v = x.value;
        if (v->type == ELEMENT_BOOL) {
            diag *g = lang_error(b, "E0209", at->span, "a condition does not convert to %s", to->name);
            diag_caret(b->diags, g, "write `select(c, 1, 0)`");
            return operand_error();
        }
        /* Rounded once: from storage types directly; from wide integers to narrow floats by way of f32. */
        bool small = v->type == ELEMENT_I8 || v->type == ELEMENT_U8;
        bool direct = element_table[v->type].is_float ||
                      (small && (type == ELEMENT_F16 || type == ELEMENT_BF16 || type == ELEMENT_TF32)) || !to->is_narrow_float;
        if (!direct)
            v = converted(b, v, ELEMENT_F32);
        if (v->type == ELEMENT_INDEX && (type == ELEMENT_I8 || type == ELEMENT_U8))
            v = converted(b, v, ELEMENT_I32);
    }
    if (!v)
        return operand_error();
    if (v->type != type) {
        v = tile_unary(b->k, TILE_CONVERT, type, v, at->span);
        v->saturate = saturate;
        v = value_done(b, v);
    }
    return operand_of_value(v, at);
}
