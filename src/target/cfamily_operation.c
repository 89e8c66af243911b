/* Operations on values as C-like languages spell them; what differs is asked of the dialect. */
#include "target/cfamily.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static text_expr expr(const char *text, precedence at) {
    return (text_expr){text, at};
}

text_expr cfamily_constant(cfamily *p, element_type t, double number) {
    arena *a = p->arena;
    precedence sign = number < 0 ? PRECEDENCE_UNARY : PRECEDENCE_PRIMARY;
    switch (t) {
    case ELEMENT_BOOL: return expr(number != 0 ? "true" : "false", PRECEDENCE_PRIMARY);
    case ELEMENT_I8:
    case ELEMENT_U8:
    case ELEMENT_INDEX: return expr(arena_printf(a, "%lld", (long long)number), sign);
    case ELEMENT_I32:
        return number == -0x1p31 ? expr(p->dialect->least_i32, PRECEDENCE_PRIMARY)
                                 : expr(arena_printf(a, "%lld", (long long)number), sign);
    case ELEMENT_U32: {
        uint32_t bits = number < 0 ? (uint32_t)(int64_t)number : (uint32_t)number;
        return expr(arena_printf(a, bits > 0xffff ? "0x%xu" : "%uu", bits), PRECEDENCE_PRIMARY);
    }
    case ELEMENT_F16: return expr(arena_printf(a, "0x%x", f32_to_f16((float)number)), PRECEDENCE_PRIMARY);
    case ELEMENT_BF16: return expr(arena_printf(a, "0x%x", f32_to_bf16((float)number)), PRECEDENCE_PRIMARY);
    case ELEMENT_E4M3: return expr(arena_printf(a, "0x%x", f32_to_e4m3((float)number, true)), PRECEDENCE_PRIMARY);
    case ELEMENT_E5M2: return expr(arena_printf(a, "0x%x", f32_to_e5m2((float)number, true)), PRECEDENCE_PRIMARY);
    default: break;
    }
    float f = (float)number;
    if (isnan(f))
        return expr(p->dialect->nan, PRECEDENCE_PRIMARY);
    if (isinf(f))
        return expr(arena_printf(a, "%s%s", f < 0 ? "-" : "", p->dialect->infinity),
                    f < 0 ? PRECEDENCE_UNARY : PRECEDENCE_PRIMARY);
    sign = signbit(f) ? PRECEDENCE_UNARY : PRECEDENCE_PRIMARY;
    char *text = arena_printf(a, "%.6g", (double)f);
    if (strtof(text, NULL) != f)
        text = arena_printf(a, "%.9g", (double)f);
    return expr(arena_printf(a, strpbrk(text, ".e") ? "%sf" : "%s.0f", text), sign);
}

/* An operand of an infix operator on vectors: a scalar stands for itself there, unless both operands would be scalars. */
static text_expr infix_operand(cfamily *p, const kernel_value *v, bool scalar_allowed) {
    const cfamily_binding *b = cfamily_find(p, v);
    if (b && b->text)
        return cfamily_value(p, v);
    if (v->lanes > 1 && scalar_allowed && v->type != ELEMENT_BOOL) {
        if (v->op == KERNEL_CONST)
            return p->dialect->constant(p, v->type, v->number);
        if (v->op == KERNEL_BROADCAST)
            return cfamily_value(p, v->operands[0]);
    }
    return cfamily_value(p, v);
}

static bool is_uniform(const kernel_value *v) {
    return v->op == KERNEL_CONST || v->op == KERNEL_BROADCAST;
}

static text_expr infix(cfamily *p, const kernel_value *v, const char *op, precedence at) {
    const kernel_value *x = v->operands[0], *y = v->operands[1];
    text_expr a = infix_operand(p, x, !is_uniform(y)), b = infix_operand(p, y, true);
    bool loose = at == PRECEDENCE_BITS || at == PRECEDENCE_COMPARE; /* inside these only what binds tightly goes bare */
    return expr(arena_printf(p->arena, "%s %s %s", cfamily_wrap(p, a, loose ? PRECEDENCE_MULTIPLY : at), op,
                             cfamily_wrap(p, b, loose ? PRECEDENCE_MULTIPLY : at + 1)),
                at);
}

static text_expr call1(cfamily *p, cfamily_helper h, const kernel_value *v) {
    const kernel_value *x = v->operands[0];
    return expr(cfamily_call(p, h, v->type, x->type, x->lanes, "%s", cfamily_value(p, x).text), PRECEDENCE_PRIMARY);
}

static text_expr call2(cfamily *p, cfamily_helper h, const kernel_value *v) {
    return expr(cfamily_call(p, h, v->type, v->type, v->lanes, "%s, %s", cfamily_value(p, v->operands[0]).text,
                             cfamily_value(p, v->operands[1]).text),
                PRECEDENCE_PRIMARY);
}

/* f16 arithmetic: widened, done in f32, rounded back. For one operation f32 has digits enough that rounding twice changes nothing. */
static text_expr through_f32(cfamily *p, const kernel_value *v) {
    kernel_value wide = *v, operands[3], *pointers[3];
    for (int i = 0; i < v->operand_count; i++) {
        kernel_value *x = v->operands[i];
        operands[i] = (kernel_value){
            .op = KERNEL_CONVERT, .type = ELEMENT_F32, .lanes = x->lanes, .operand_count = 1, .operands = &v->operands[i]};
        pointers[i] = &operands[i];
    }
    wide.operands = pointers;
    bool compare = v->type == ELEMENT_BOOL;
    wide.type = compare ? ELEMENT_BOOL : ELEMENT_F32;
    text_expr e = p->dialect->value(p, &wide);
    if (compare)
        return e;
    return expr(cfamily_call(p, HELPER_CONVERT, v->type, ELEMENT_F32, v->lanes, "%s", e.text), PRECEDENCE_PRIMARY);
}

static text_expr refuse(cfamily *p, const kernel_value *v, const char *why) {
    cfamily_refuse(p, v->span, "`%s`%s%s", kernel_op_table[v->op].name, *why ? " " : "", why);
    return expr("0", PRECEDENCE_PRIMARY);
}

static bool is_integer(element_type t) {
    return t == ELEMENT_I32 || t == ELEMENT_U32 || t == ELEMENT_INDEX;
}

static text_expr convert(cfamily *p, const kernel_value *v) {
    const kernel_value *x = v->operands[0];
    element_type to = v->type, from = x->type;
    arena *a = p->arena;
    bool from_real = element_table[from].is_float, to_real = element_table[to].is_float;
    if (from == to || (to == ELEMENT_F32 && (element_table[from].block_elements > 1 || from == ELEMENT_TF32)))
        return cfamily_value(p, x);
    if (to == ELEMENT_BOOL || element_table[to].block_elements > 1 ||
        (from == ELEMENT_INDEX && x->lanes > 1 && to == ELEMENT_BOOL))
        return refuse(p, v, arena_printf(a, "from %s to %s", element_table[from].name, element_table[to].name));
    /* Between two narrow types, or from one to an integer, f32 stands in the middle: every narrow float is exact in it. */
    if ((from_real && from != ELEMENT_F32 && to != ELEMENT_F32) || (to_real && to != ELEMENT_F32 && from != ELEMENT_F32)) {
        kernel_value middle = {.op = KERNEL_CONVERT,
                               .type = ELEMENT_F32,
                               .lanes = x->lanes,
                               .operand_count = 1,
                               .operands = v->operands,
                               .span = v->span};
        if (!from_real && (from == ELEMENT_I32 || from == ELEMENT_U32 || from == ELEMENT_INDEX))
            return refuse(p, v,
                          arena_printf(a, "from %s to %s (it would round twice; convert to f32 first)", element_table[from].name,
                                       element_table[to].name));
        kernel_value *m = &middle, outer = *v;
        outer.operands = &m;
        return convert(p, &outer);
    }
    if (from == ELEMENT_F32 && to == ELEMENT_INDEX)
        return refuse(p, v, "from f32 to index");
    bool plain = v->lanes == 1 && (!from_real || from == ELEMENT_F32) && !(from == ELEMENT_F32 && to != ELEMENT_F32);
    if (plain)
        return expr(arena_printf(a, "(%s)%s", p->dialect->register_type(p, to, 1),
                                 cfamily_wrap(p, cfamily_value(p, x), PRECEDENCE_UNARY)),
                    PRECEDENCE_UNARY);
    cfamily_helper h = v->saturate && (to == ELEMENT_E4M3 || to == ELEMENT_E5M2) ? HELPER_CONVERT_SATURATE : HELPER_CONVERT;
    return expr(cfamily_call(p, h, to, from, x->lanes, "%s", cfamily_value(p, x).text), PRECEDENCE_PRIMARY);
}

static text_expr compare(cfamily *p, const kernel_value *v, const char *op) {
    const kernel_value *x = v->operands[0];
    if (x->type == ELEMENT_F16)
        return through_f32(p, v);
    if (x->type == ELEMENT_BOOL && v->op != KERNEL_EQ && v->op != KERNEL_NE)
        return refuse(p, v, "of booleans");
    text_expr e = infix(p, v, op, PRECEDENCE_COMPARE);
    if (x->type == ELEMENT_INDEX && x->lanes > 1)
        return expr(cfamily_call(p, HELPER_CONVERT, ELEMENT_BOOL, ELEMENT_INDEX, x->lanes, "%s", e.text), PRECEDENCE_PRIMARY);
    return e;
}

static text_expr select_value(cfamily *p, const kernel_value *v) {
    const kernel_value *c = v->operands[0], *x = v->operands[1], *y = v->operands[2];
    if (c->op == KERNEL_BROADCAST)
        c = c->operands[0];
    if (c->lanes == 1)
        return expr(arena_printf(p->arena, "%s ? %s : %s", cfamily_wrap(p, cfamily_value(p, c), PRECEDENCE_OR),
                                 cfamily_wrap(p, cfamily_value(p, x), PRECEDENCE_ADD),
                                 cfamily_wrap(p, cfamily_value(p, y), PRECEDENCE_ADD)),
                    PRECEDENCE_CONDITIONAL);
    return expr(cfamily_call(p, HELPER_SELECT, v->type, v->type, v->lanes, "%s, %s, %s", cfamily_value(p, c).text,
                             cfamily_value(p, x).text, cfamily_value(p, y).text),
                PRECEDENCE_PRIMARY);
}

static text_expr extreme(cfamily *p, const kernel_value *v) {
    bool max = v->op == KERNEL_MAX;
    const kernel_value *x = v->operands[0], *y = v->operands[1];
    cfamily_helper h = max ? HELPER_MAX : HELPER_MIN;
    if (v->type == ELEMENT_F32 && (cfamily_is_number(x) || cfamily_is_number(y))) {
        if (!cfamily_is_number(y)) {
            const kernel_value *t = x;
            x = y;
            y = t;
        }
        h = max ? HELPER_MAX_NUMBER : HELPER_MIN_NUMBER;
    }
    return expr(cfamily_call(p, h, v->type, v->type, v->lanes, "%s, %s", cfamily_value(p, x).text, cfamily_value(p, y).text),
                PRECEDENCE_PRIMARY);
}

static text_expr shift(cfamily *p, const kernel_value *v) {
    const kernel_value *n = v->operands[1];
    bool left = v->op == KERNEL_SHL;
    while (n->op == KERNEL_BROADCAST)
        n = n->operands[0];
    bool constant = n->op == KERNEL_CONST && n->number >= 0 && n->number < 32;
    if (!constant || (left && v->type != ELEMENT_U32))
        return call2(p, left ? HELPER_SHL : HELPER_SHR, v);
    return expr(arena_printf(p->arena, "%s %s %d", cfamily_wrap(p, cfamily_value(p, v->operands[0]), PRECEDENCE_UNARY),
                             left ? "<<" : ">>", (int)n->number),
                PRECEDENCE_BITS);
}

text_expr cfamily_operation(cfamily *p, const kernel_value *v) {
    arena *a = p->arena;
    const kernel_value *x = v->operand_count ? v->operands[0] : NULL;
    const char *kind = kernel_op_table[v->op].kind;
    bool real = v->type == ELEMENT_F32, integer = is_integer(v->type);
    if (v->op == KERNEL_CONVERT)
        return convert(p, v);
    bool arithmetic = !strcmp(kind, "unary") || !strcmp(kind, "binary") || v->op == KERNEL_FMA;
    if (arithmetic && v->type == ELEMENT_F16 && v->op != KERNEL_FMA)
        return through_f32(p, v);
    if (arithmetic && !real && !integer)
        return refuse(p, v, arena_printf(a, "on %s", element_table[v->type].name));
    switch (v->op) {
    case KERNEL_BROADCAST:
        return expr(cfamily_call(p, HELPER_SPLAT, v->type, v->type, v->lanes, "%s", cfamily_value(p, x).text),
                    PRECEDENCE_PRIMARY);
    case KERNEL_LANES_SUM: return call1(p, HELPER_LANES_SUM, v);
    case KERNEL_LANES_MAX: return call1(p, HELPER_LANES_MAX, v);
    case KERNEL_LANES_MIN: return call1(p, HELPER_LANES_MIN, v);
    case KERNEL_PREFIX_SELECT:
        if (v->lanes == 1)
            return expr(arena_printf(a, "%s > 0 ? %s : %s", cfamily_wrap(p, cfamily_index(p, v->index), PRECEDENCE_ADD),
                                     cfamily_wrap(p, cfamily_value(p, x), PRECEDENCE_ADD),
                                     cfamily_wrap(p, cfamily_value(p, v->operands[1]), PRECEDENCE_ADD)),
                        PRECEDENCE_CONDITIONAL);
        return expr(cfamily_call(p, HELPER_PREFIX_SELECT, v->type, v->type, v->lanes, "%s, %s, %s",
                                 cfamily_index_text(p, v->index), cfamily_value(p, x).text,
                                 cfamily_value(p, v->operands[1]).text),
                    PRECEDENCE_PRIMARY);
    case KERNEL_NEG:
        if (real || v->type == ELEMENT_U32 || v->type == ELEMENT_INDEX)
            return expr(arena_printf(a, "-%s", cfamily_wrap(p, cfamily_value(p, x), PRECEDENCE_PRIMARY)), PRECEDENCE_UNARY);
        return call1(p, HELPER_NEG, v);
    case KERNEL_ABS: return v->type == ELEMENT_U32 ? cfamily_value(p, x) : call1(p, HELPER_ABS, v);
    case KERNEL_FLOOR: return real ? call1(p, HELPER_FLOOR, v) : cfamily_value(p, x);
    case KERNEL_RINT: return real ? call1(p, HELPER_RINT, v) : cfamily_value(p, x);
    case KERNEL_SQRT: return real ? call1(p, HELPER_SQRT, v) : refuse(p, v, "on integers");
    case KERNEL_NOT:
        return expr(arena_printf(a, "%s%s", v->lanes > 1 ? "~" : "!", cfamily_wrap(p, cfamily_value(p, x), PRECEDENCE_PRIMARY)),
                    PRECEDENCE_UNARY);
    case KERNEL_ADD: return v->type == ELEMENT_I32 ? call2(p, HELPER_WRAP_ADD, v) : infix(p, v, "+", PRECEDENCE_ADD);
    case KERNEL_SUB: return v->type == ELEMENT_I32 ? call2(p, HELPER_WRAP_SUB, v) : infix(p, v, "-", PRECEDENCE_ADD);
    case KERNEL_MUL: return v->type == ELEMENT_I32 ? call2(p, HELPER_WRAP_MUL, v) : infix(p, v, "*", PRECEDENCE_MULTIPLY);
    case KERNEL_DIV: return real ? infix(p, v, "/", PRECEDENCE_MULTIPLY) : refuse(p, v, "on integers");
    case KERNEL_MIN:
    case KERNEL_MAX: return extreme(p, v);
    case KERNEL_FMA:
        if (!real)
            return refuse(p, v, arena_printf(a, "on %s", element_table[v->type].name));
        return expr(cfamily_call(p, HELPER_FMA, v->type, v->type, v->lanes, "%s, %s, %s", cfamily_value(p, x).text,
                                 cfamily_value(p, v->operands[1]).text, cfamily_value(p, v->operands[2]).text),
                    PRECEDENCE_PRIMARY);
    case KERNEL_LT: return compare(p, v, "<");
    case KERNEL_LE: return compare(p, v, "<=");
    case KERNEL_EQ: return compare(p, v, "==");
    case KERNEL_NE: return compare(p, v, "!=");
    case KERNEL_AND: /* operands are parenthesised, as compilers ask when && and || meet */
    case KERNEL_OR: {
        const char *op = v->lanes > 1 ? (v->op == KERNEL_AND ? "&" : "|") : v->op == KERNEL_AND ? "&&" : "||";
        precedence at = v->lanes > 1 ? PRECEDENCE_MULTIPLY : PRECEDENCE_COMPARE;
        return expr(arena_printf(a, "%s %s %s", cfamily_wrap(p, cfamily_value(p, x), at), op,
                                 cfamily_wrap(p, cfamily_value(p, v->operands[1]), at)),
                    v->lanes > 1 ? PRECEDENCE_BITS : PRECEDENCE_OR);
    }
    case KERNEL_SELECT: return select_value(p, v);
    case KERNEL_BITCAST:
        if (v->lanes > 1 && p->dialect->cast_keeps_bits)
            return expr(arena_printf(a, "(%s)%s", p->dialect->register_type(p, v->type, v->lanes),
                                     cfamily_wrap(p, cfamily_value(p, x), PRECEDENCE_UNARY)),
                        PRECEDENCE_UNARY);
        return x->type == v->type ? cfamily_value(p, x) : call1(p, HELPER_BITCAST, v);
    case KERNEL_SHL:
    case KERNEL_SHR: return integer ? shift(p, v) : refuse(p, v, arena_printf(a, "on %s", element_table[v->type].name));
    case KERNEL_BIT_AND:
    case KERNEL_BIT_OR:
    case KERNEL_BIT_XOR:
        if (!integer)
            return refuse(p, v, arena_printf(a, "on %s", element_table[v->type].name));
        return infix(p, v, v->op == KERNEL_BIT_AND ? "&" : v->op == KERNEL_BIT_OR ? "|" : "^", PRECEDENCE_BITS);
    case KERNEL_EXP:
    case KERNEL_LOG:
    case KERNEL_TANH:
    case KERNEL_ERF:
    case KERNEL_SIN:
    case KERNEL_COS:
    case KERNEL_RSQRT:
        return expr(arena_printf(a, "%s(%s)", cfamily_math(p, v->op, v->lanes), cfamily_value(p, x).text), PRECEDENCE_PRIMARY);
    default: return refuse(p, v, "");
    }
}
