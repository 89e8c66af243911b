/* AIR: values. No flag relaxes arithmetic; what is shared within one statement is computed once. */
#include "kernel/math.h"
#include "target/air.h"
#include <string.h>

static bool is_integer(element_type t) {
    return t == ELEMENT_I32 || t == ELEMENT_U32 || t == ELEMENT_INDEX || t == ELEMENT_I8 || t == ELEMENT_U8;
}

static bool is_unsigned(element_type t) {
    return t == ELEMENT_U32 || t == ELEMENT_U8;
}

static const char *unknown(air *a, const kernel_value *v, const char *why) {
    air_refuse(a, v->span, "`%s`%s%s on %s", kernel_op_table[v->op].name, *why ? " " : "", why, element_table[v->type].name);
    return "undef";
}

static const char *literal(air *a, element_type t, double x) {
    switch (t) {
    case ELEMENT_F32:
    case ELEMENT_TF32: return air_float(a, x);
    case ELEMENT_F16: return arena_printf(a->arena, "0xH%04X", f32_to_f16((float)x));
    case ELEMENT_BF16: return arena_printf(a->arena, "%d", f32_to_bf16((float)x));
    case ELEMENT_E4M3: return arena_printf(a->arena, "%d", f32_to_e4m3((float)x, false));
    case ELEMENT_E5M2: return arena_printf(a->arena, "%d", f32_to_e5m2((float)x, false));
    case ELEMENT_BOOL: return x != 0 ? "true" : "false";
    case ELEMENT_U32: return arena_printf(a->arena, "%lld", (long long)(int32_t)(uint32_t)x);
    default: return arena_printf(a->arena, "%lld", (long long)x);
    }
}

static const char *scalar_of(air *a, element_type t) {
    return air_type(a, t, 1);
}

/* @air.NAME.f32, of so many operands of one type. */
static const char *by_function(air *a, const char *name, int lanes, int count, const char *const *x) {
    const char *type = air_vector_of(a, "float", lanes);
    text_buffer types = {0}, arguments = {0};
    for (int i = 0; i < count; i++) {
        text_add(&types, "%s%s", i ? ", " : "", type);
        text_add(&arguments, "%s%s %s", i ? ", " : "", type, x[i]);
    }
    const char *full =
        lanes > 1 ? arena_printf(a->arena, "air.%s.v%df32", name, lanes) : arena_printf(a->arena, "air.%s.f32", name);
    const char *r = air_call(a, type, full, text_get(&types), text_get(&arguments));
    text_free(&types);
    text_free(&arguments);
    return r;
}

/* f16 arithmetic is not met: it was legalised to f32 (metal_legal). */
static const char *arithmetic(air *a, const kernel_value *v, const char *real, const char *whole) {
    const char *type = air_type(a, v->type, v->lanes), *x = air_value(a, v->operands[0]), *y = air_value(a, v->operands[1]);
    if (v->type == ELEMENT_F32 && real)
        return air_pure(a, "%s %s %s, %s", real, type, x, y);
    if (is_integer(v->type) && whole)
        return air_pure(a, "%s %s %s, %s", whole, type, x, y);
    return unknown(a, v, "");
}

/* The least or largest of two. */
static const char *extreme(air *a, bool max, element_type t, int lanes, const char *x, const char *y) {
    const char *const both[2] = {x, y};
    if (t == ELEMENT_F32)
        return by_function(a, max ? "fmax" : "fmin", lanes, 2, both);
    if (!is_integer(t))
        return NULL;
    const char *type = air_type(a, t, lanes), *how = is_unsigned(t) ? (max ? "ugt" : "ult") : max ? "sgt" : "slt";
    const char *c = air_pure(a, "icmp %s %s %s, %s", how, type, x, y);
    return air_pure(a, "select %s %s, %s %s, %s %s", air_vector_of(a, "i1", lanes), c, type, x, type, y);
}

static const char *combine(air *a, kernel_op op, element_type t, int lanes, const char *x, const char *y) {
    bool sum = op == KERNEL_LANES_SUM || op == KERNEL_SUBGROUP_SUM || op == KERNEL_ADD;
    if (sum)
        return air_pure(a, "%s %s %s, %s", t == ELEMENT_F32 ? "fadd" : "add", air_type(a, t, lanes), x, y);
    return extreme(a, op == KERNEL_LANES_MAX || op == KERNEL_SUBGROUP_MAX || op == KERNEL_MAX, t, lanes, x, y);
}

static const char *compared(air *a, const kernel_value *v) {
    const kernel_value *x = v->operands[0];
    const char *type = air_type(a, x->type, x->lanes), *l = air_value(a, x), *r = air_value(a, v->operands[1]);
    bool u = is_unsigned(x->type);
    const char *how = v->op == KERNEL_LT   ? (u ? "ult" : "slt")
                      : v->op == KERNEL_LE ? (u ? "ule" : "sle")
                      : v->op == KERNEL_EQ ? "eq"
                                           : "ne";
    const char *real = v->op == KERNEL_LT ? "olt" : v->op == KERNEL_LE ? "ole" : v->op == KERNEL_EQ ? "oeq" : "une";
    if (x->type == ELEMENT_F32 || x->type == ELEMENT_F16)
        return air_pure(a, "fcmp %s %s %s, %s", real, type, l, r);
    if (!is_integer(x->type) && x->type != ELEMENT_BOOL)
        return unknown(a, v, "");
    return air_pure(a, "icmp %s %s %s, %s", how, type, l, r);
}

/* Lane l with lane l + n / 2, halves first. */
static const char *across_lanes(air *a, const kernel_value *v) {
    const kernel_value *x = v->operands[0];
    const char *type = air_type(a, x->type, x->lanes), *vector = air_value(a, x), *parts[64];
    for (int l = 0; l < x->lanes; l++)
        parts[l] = x->lanes == 1 ? vector : air_pure(a, "extractelement %s %s, i32 %d", type, vector, l);
    for (int n = x->lanes / 2; n > 0; n /= 2)
        for (int l = 0; l < n; l++)
            parts[l] = combine(a, v->op, x->type, 1, parts[l], parts[l + n]);
    return parts[0] ? parts[0] : unknown(a, v, "");
}

/* ---- exchanges within a simdgroup: 32 bits and 16 at a time, element by element ---- */

static const char *shuffle_type(element_type t) {
    return t == ELEMENT_F32 ? "f32" : t == ELEMENT_F16 ? "f16" : t == ELEMENT_I32 ? "s.i32" : t == ELEMENT_U32 ? "u.i32" : NULL;
}

static const char *shuffled(air *a, const char *name, element_type t, int lanes, const char *x, const char *which) {
    const char *type = air_type(a, t, lanes), *one = scalar_of(a, t), *vector = "undef";
    const char *function = arena_printf(a->arena, "air.%s.%s", name, shuffle_type(t)),
               *types = arena_printf(a->arena, "%s, i16", one);
    for (int l = 0; l < lanes; l++) {
        const char *element = lanes == 1 ? x : air_pure(a, "extractelement %s %s, i32 %d", type, x, l);
        const char *r = air_call(a, one, function, types, arena_printf(a->arena, "%s %s, i16 %s", one, element, which));
        if (lanes == 1)
            return r;
        vector = air_pure(a, "insertelement %s %s, %s %s, i32 %d", type, vector, one, r, l);
    }
    return vector;
}

static const char *exchanged(air *a, const kernel_value *v) {
    const kernel_value *x = v->operands[0];
    int64_t lanes = 1, extent;
    for (int i = 0; i < a->kernel->levels.count; i++)
        for (int d = 0; a->kernel->levels.at[i].kind == LEVEL_LANE && d < a->kernel->levels.at[i].rank; d++)
            lanes *= ix_is_const(a->kernel->levels.at[i].extents[d], &extent) ? extent : 0;
    if (lanes != AIR_LANES || !shuffle_type(v->type))
        return unknown(a, v, lanes == AIR_LANES ? "" : "in subgroups of other than 32 lanes");
    const char *text = air_value(a, x);
    if (v->operand_count == 1) { /* pairwise, so that the order is the one that was proved */
        for (int mask = AIR_LANES / 2; mask > 0 && text; mask /= 2)
            text = combine(a, v->op, v->type, v->lanes, text,
                           shuffled(a, "simd_shuffle_xor", v->type, v->lanes, text, arena_printf(a->arena, "%d", mask)));
        return text ? text : unknown(a, v, "");
    }
    const char *name = v->op == KERNEL_SHUFFLE_XOR    ? "simd_shuffle_xor"
                       : v->op == KERNEL_SHUFFLE_DOWN ? "simd_shuffle_down"
                                                      : "simd_shuffle";
    const kernel_value *which = v->operands[1];
    const char *from = air_value(a, which), *number = from;
    if (*from == '%')
        number = air_pure(a, "trunc %s %s to i16", scalar_of(a, which->type), from);
    return shuffled(a, name, v->type, v->lanes, text, number);
}

/* ---- exp, log, ...: kernel/math.c describes them; functions of ours ---- */

static const char *math_call(air *a, const kernel_value *v) {
    const char *type = air_vector_of(a, "float", v->lanes);
    const char *name = v->lanes > 1 ? arena_printf(a->arena, "tilec.%s.v%df32", kernel_op_table[v->op].name, v->lanes)
                                    : arena_printf(a->arena, "tilec.%s.f32", kernel_op_table[v->op].name);
    const char *argument = air_value(a, v->operands[0]);
    bool made = false;
    for (int i = 0; i < a->made.count; i++)
        made = made || !strcmp(a->made.at[i], name);
    if (!made) {
        math_function f;
        VEC_PUSH(a->arena, a->made, name);
        if (!math_describe(a->arena, v->op, v->lanes, &f))
            return unknown(a, v, "");
        text_buffer text = {0}, *out = a->out;
        const char *block = a->block;
        int mark = a->known.count;
        int heads[sizeof a->heads / sizeof *a->heads]; /* nothing of the caller's is known there */
        memcpy(heads, a->heads, sizeof heads);
        memset(a->heads, 0xff, sizeof a->heads);
        a->out = &text;
        air_bind(a, f.argument, "%x");
        for (int i = 0; i < f.body->items.count; i++)
            air_bind(a, f.body->items.at[i], air_value(a, f.body->items.at[i]->value));
        air_line(a, "ret %s %s", type, air_value(a, f.result));
        a->known.count = mark;
        memcpy(a->heads, heads, sizeof heads);
        a->out = out;
        a->block = block;
        text_add(&a->functions, "define internal %s @%s(%s %%x) #2 {\nentry:\n%s}\n\n", type, name, type, text_get(&text));
        text_free(&text);
    }
    return air_result(a, "tail call %s @%s(%s %s)", type, name, type, argument);
}

/* ---- all ---- */

static const char *value(air *a, const kernel_value *v) {
    const char *type = air_type(a, v->type, v->lanes);
    const char *x[3] = {NULL, NULL, NULL};
    switch (v->op) {
    case KERNEL_CONST: return air_constant(a, scalar_of(a, v->type), literal(a, v->type, v->number), v->lanes);
    case KERNEL_INDEX: return air_splat(a, "i64", air_index_text(a, v->index), v->lanes);
    case KERNEL_SCALAR:
        for (int i = 0; i < a->kernel->scalars.count; i++)
            if (!strcmp(a->kernel->scalars.at[i].name, v->scalar)) {
                const kernel_scalar *s = &a->kernel->scalars.at[i];
                const air_bound *b = air_find(a, s->var ? (const void *)s->var : (const void *)s);
                if (b && b->text)
                    return s->var ? air_convert_to(a, v->type, ELEMENT_INDEX, 1, b->text) : b->text;
            }
        return unknown(a, v, "");
    case KERNEL_REF: {
        const air_bound *b = air_find(a, v->let);
        return b && b->text ? b->text : unknown(a, v, "of what is not there");
    }
    case KERNEL_LOAD:
        return element_table[v->type].block_elements > 1 ? air_load_block(a, &v->access, v->span)
                                                         : air_load(a, &v->access, v->span);
    case KERNEL_BROADCAST: return air_splat(a, scalar_of(a, v->type), air_value(a, v->operands[0]), v->lanes);
    case KERNEL_IOTA: {
        text_buffer b = {0};
        for (int l = 0; l < v->lanes; l++)
            text_add(&b, "%s%s %d", l ? ", " : v->lanes > 1 ? "<" : "", scalar_of(a, v->type), l);
        const char *text = v->lanes > 1 ? arena_printf(a->arena, "%s>", text_get(&b)) : "0";
        text_free(&b);
        return text;
    }
    case KERNEL_LANES_SUM:
    case KERNEL_LANES_MAX:
    case KERNEL_LANES_MIN: return across_lanes(a, v);
    case KERNEL_PREFIX_SELECT: {
        const char *n = air_index_text(a, v->index), *l = air_value(a, v->operands[0]), *r = air_value(a, v->operands[1]);
        text_buffer b = {0};
        for (int i = 0; i < v->lanes; i++)
            text_add(&b, "%si64 %d", i ? ", " : "<", i);
        const char *lane = v->lanes == 1 ? "0" : arena_printf(a->arena, "%s>", text_get(&b));
        text_free(&b);
        const char *mask =
            air_pure(a, "icmp slt %s %s, %s", air_vector_of(a, "i64", v->lanes), lane, air_splat(a, "i64", n, v->lanes));
        return air_pure(a, "select %s %s, %s %s, %s %s", air_vector_of(a, "i1", v->lanes), mask, type, l, type, r);
    }
    case KERNEL_CONVERT: return air_convert(a, v);
    case KERNEL_BITCAST: {
        const kernel_value *from = v->operands[0];
        const char *had = air_type(a, from->type, from->lanes), *bits = air_value(a, from);
        return strcmp(had, type) ? air_pure(a, "bitcast %s %s to %s", had, bits, type) : bits;
    }
    case KERNEL_LT:
    case KERNEL_LE:
    case KERNEL_EQ:
    case KERNEL_NE: return compared(a, v);
    case KERNEL_EXP:
    case KERNEL_LOG:
    case KERNEL_TANH:
    case KERNEL_ERF:
    case KERNEL_SIN:
    case KERNEL_COS:
    case KERNEL_RSQRT: return math_call(a, v);
    case KERNEL_SUBGROUP_SUM:
    case KERNEL_SUBGROUP_MAX:
    case KERNEL_SUBGROUP_MIN:
    case KERNEL_SUBGROUP_BROADCAST:
    case KERNEL_SHUFFLE:
    case KERNEL_SHUFFLE_XOR:
    case KERNEL_SHUFFLE_DOWN: return exchanged(a, v);
    case KERNEL_FRAGMENT_ELEMENT:
    case KERNEL_FRAGMENT_ROW:
    case KERNEL_FRAGMENT_COLUMN:
    case KERNEL_LANE_VIEW: return air_fragment_value(a, v);
    case KERNEL_ADD: return arithmetic(a, v, "fadd", "add");
    case KERNEL_SUB: return arithmetic(a, v, "fsub", "sub");
    case KERNEL_MUL: return arithmetic(a, v, "fmul", "mul");
    case KERNEL_DIV: return arithmetic(a, v, "fdiv", NULL);
    case KERNEL_BIT_AND: return arithmetic(a, v, NULL, "and");
    case KERNEL_BIT_OR: return arithmetic(a, v, NULL, "or");
    case KERNEL_BIT_XOR: return arithmetic(a, v, NULL, "xor");
    default: break;
    }
    for (int i = 0; i < v->operand_count && i < 3; i++)
        x[i] = air_value(a, v->operands[i]);
    bool real = v->type == ELEMENT_F32;
    switch (v->op) {
    case KERNEL_NEG:
        return real ? air_pure(a, "fneg %s %s", type, x[0])
                    : air_pure(a, "sub %s %s, %s", type, v->lanes > 1 ? "zeroinitializer" : "0", x[0]);
    case KERNEL_ABS:
        if (real)
            return by_function(a, "fabs", v->lanes, 1, x);
        if (is_unsigned(v->type))
            return x[0];
        x[1] = air_pure(a, "sub %s %s, %s", type, v->lanes > 1 ? "zeroinitializer" : "0", x[0]);
        return extreme(a, true, v->type, v->lanes, x[0], x[1]);
    case KERNEL_FLOOR: return real ? by_function(a, "floor", v->lanes, 1, x) : unknown(a, v, "");
    case KERNEL_RINT: return real ? by_function(a, "rint", v->lanes, 1, x) : unknown(a, v, "");
    case KERNEL_SQRT: return real ? by_function(a, "sqrt", v->lanes, 1, x) : unknown(a, v, "");
    case KERNEL_FMA: return real ? by_function(a, "fma", v->lanes, 3, x) : unknown(a, v, "");
    case KERNEL_MIN:
    case KERNEL_MAX: {
        const char *r = extreme(a, v->op == KERNEL_MAX, v->type, v->lanes, x[0], x[1]);
        return r ? r : unknown(a, v, "");
    }
    case KERNEL_NOT: return air_pure(a, "xor %s %s, %s", type, x[0], air_constant(a, "i1", "true", v->lanes));
    case KERNEL_AND: return air_pure(a, "and %s %s, %s", type, x[0], x[1]);
    case KERNEL_OR: return air_pure(a, "or %s %s, %s", type, x[0], x[1]);
    case KERNEL_SELECT:
        return air_pure(a, "select %s %s, %s %s, %s %s", air_vector_of(a, "i1", v->operands[0]->lanes), x[0], type, x[1], type,
                        x[2]);
    case KERNEL_SHL:
    case KERNEL_SHR: {
        int width = v->type == ELEMENT_INDEX ? 64 : v->type == ELEMENT_I8 || v->type == ELEMENT_U8 ? 8 : 32;
        const char *one = scalar_of(a, v->type);
        const char *count =
            air_pure(a, "and %s %s, %s", type, x[1], air_constant(a, one, arena_printf(a->arena, "%d", width - 1), v->lanes));
        return air_pure(a, "%s %s %s, %s",
                        v->op == KERNEL_SHL    ? "shl"
                        : is_unsigned(v->type) ? "lshr"
                                               : "ashr",
                        type, x[0], count);
    }
    default: return unknown(a, v, "");
    }
}

/* What one statement uses twice is computed once: the value itself is the key until the statement ends. */
const char *air_value(air *a, const kernel_value *v) {
    if (a->failed)
        return "undef";
    bool leaf = v->op == KERNEL_CONST || v->op == KERNEL_REF || v->op == KERNEL_SCALAR || v->op == KERNEL_INDEX;
    const air_bound *b = leaf ? NULL : air_find(a, v);
    if (b && b->text)
        return b->text;
    const char *text = value(a, v);
    if (!leaf)
        air_bind(a, v, text);
    return text;
}
