/* What is computed from values: floats, casts, vectors element by element. */
#include "lift/lifter.h"
#include <string.h>

bool lift_is_pure(const lift_value *v) {
    switch (v->op) {
    case LIFT_LOAD:
    case LIFT_STORE:
    case LIFT_ATOMIC:
    case LIFT_CMPXCHG:
    case LIFT_FENCE:
    case LIFT_PHI:
    case LIFT_BR:
    case LIFT_RET:
    case LIFT_UNREACHABLE:
    case LIFT_UNREAD: return false;
    case LIFT_CALL: return lift_call_is_pure(v);
    default: return true;
    }
}

element_type lift_value_type(const lift_type *t) {
    switch (t->kind) {
    case LIFT_HALF: return ELEMENT_F16;
    case LIFT_BFLOAT: return ELEMENT_BF16;
    case LIFT_FLOAT:
    case LIFT_DOUBLE: return ELEMENT_F32;
    case LIFT_INTEGER:
        return t->bits == 1 ? ELEMENT_BOOL : t->bits <= 32 ? ELEMENT_I32 : t->bits == 64 ? ELEMENT_INDEX : ELEMENT_COUNT;
    default: return ELEMENT_COUNT;
    }
}

/* Arithmetic of bfloat is that of f32, rounded. */
static kernel_value *widened(lifter *l, kernel_value *v) {
    return v->type == ELEMENT_BF16 ? kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_F32, v) : v;
}

static lifted rounded(lifter *l, const lift_type *t, kernel_value *v) {
    if (t->kind == LIFT_BFLOAT)
        v = kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_BF16, v);
    return lifted_value(t->kind == LIFT_FLOAT ? 32 : t->kind == LIFT_DOUBLE ? 65 : 16, v);
}

/* A double is read as long as it is an f32 (bits 64), or one operation on such (65) which is then rounded to f32: that is what the f32 operation
 * gives, since 53 bits are more than twice 24 and two. */
static kernel_value *single(lifter *l, const lift_value *v, const lift_type *t, lifted x) {
    kernel_value *k = lift_as_value(l, x);
    if (t->kind == LIFT_DOUBLE && (x.bits != 64 || (k->op == KERNEL_CONST && (double)(float)k->number != k->number)))
        lift_fail(l, "E1124", v,
                  "double precision: only single operations on values of single precision, rounded to it again, are read");
    return widened(l, k);
}

kernel_value *lift_double_bits(lifter *l, const kernel_value *v) {
    int64_t bits;
    if (v->op != KERNEL_CONST)
        return NULL;
    memcpy(&bits, &v->number, sizeof bits);
    return kernel_index(l->k, ix_const(l->arena, bits));
}

/* Whether a double from memory is this constant, and no zero, which has two forms; kind NONE: that is not what is asked. */
static lifted double_is(lifter *l, lift_predicate p, lifted x, lifted y) {
    lifted held = x.kind == LIFTED_BITS ? x : y, other = x.kind == LIFTED_BITS ? y : x;
    kernel_value *bits = NULL;
    if (held.kind == LIFTED_BITS && held.bits == 64 && other.kind == LIFTED_VALUE && other.v->op == KERNEL_CONST &&
        other.v->number != 0 && other.v->number == other.v->number)
        bits = lift_double_bits(l, other.v);
    if (!bits || (p != LIFT_OEQ && p != LIFT_UNE))
        return (lifted){0};
    return lifted_value(1, kernel_op2(l->k, p == LIFT_OEQ ? KERNEL_EQ : KERNEL_NE, ELEMENT_BOOL, held.v, bits));
}

static lifted float_compare(lifter *l, const lift_value *v, lifted x, lifted y) {
    lifted plain = double_is(l, v->predicate, x, y);
    if (plain.kind)
        return plain;
    const lift_type *t = v->operands[0]->type;
    if (t->kind == LIFT_VECTOR)
        t = t->element;
    kernel_value *a = single(l, v, t, x), *b = single(l, v, t, y);
    kernel_ir *k = l->k;
    lift_predicate p = v->predicate;
#define OP(op, x, y) kernel_op2(k, op, ELEMENT_BOOL, x, y)
#define NOT(x) kernel_op1(k, KERNEL_NOT, ELEMENT_BOOL, x)
    kernel_value *r;
    switch (p) {
    case LIFT_FALSE: return lifted_number(l, 1, 0);
    case LIFT_TRUE: return lifted_number(l, 1, 1);
    case LIFT_OEQ: r = OP(KERNEL_EQ, a, b); break;
    case LIFT_UNE: r = OP(KERNEL_NE, a, b); break;
    case LIFT_OLT: r = OP(KERNEL_LT, a, b); break;
    case LIFT_OLE: r = OP(KERNEL_LE, a, b); break;
    case LIFT_OGT: r = OP(KERNEL_LT, b, a); break;
    case LIFT_OGE: r = OP(KERNEL_LE, b, a); break;
    case LIFT_FULT: r = NOT(OP(KERNEL_LE, b, a)); break;
    case LIFT_FULE: r = NOT(OP(KERNEL_LT, b, a)); break;
    case LIFT_FUGT: r = NOT(OP(KERNEL_LE, a, b)); break;
    case LIFT_FUGE: r = NOT(OP(KERNEL_LT, a, b)); break;
    case LIFT_ONE: r = OP(KERNEL_OR, OP(KERNEL_LT, a, b), OP(KERNEL_LT, b, a)); break;
    case LIFT_UEQ: r = NOT(OP(KERNEL_OR, OP(KERNEL_LT, a, b), OP(KERNEL_LT, b, a))); break;
    case LIFT_ORD: r = OP(KERNEL_AND, OP(KERNEL_EQ, a, a), OP(KERNEL_EQ, b, b)); break;
    default: r = OP(KERNEL_OR, OP(KERNEL_NE, a, a), OP(KERNEL_NE, b, b)); break;
    }
#undef OP
#undef NOT
    return lifted_value(1, r);
}

static lifted float_binary(lifter *l, const lift_value *v, const lift_type *t, lifted x, lifted y) {
    kernel_op op = v->op == LIFT_FADD   ? KERNEL_ADD
                   : v->op == LIFT_FSUB ? KERNEL_SUB
                   : v->op == LIFT_FMUL ? KERNEL_MUL
                                        : KERNEL_DIV;
    kernel_value *a = single(l, v, t, x), *b = single(l, v, t, y);
    if (v->op == LIFT_FREM) { /* x - y * trunc(x / y) is not what it is: the remainder is exact */
        lift_fail(l, "E1124", v, "the remainder of floats");
        return x;
    }
    return rounded(l, t, kernel_op2(l->k, op, a->type, a, b));
}

static lifted to_float(lifter *l, const lift_value *v, const lift_type *from, const lift_type *to, lifted x) {
    kernel_ir *k = l->k;
    kernel_value *i;
    bool is_signed = v->op == LIFT_SITOFP;
    if (from->bits < 32)
        x = lift_extend(l, v, is_signed ? LIFT_SEXT : LIFT_ZEXT, x, from->bits, 32);
    int64_t n;
    if (lift_is_number(&x, &n)) {
        i = kernel_const(k, ELEMENT_F32, 1,
                         (double)(float)(is_signed         ? n
                                         : from->bits < 64 ? (int64_t)((uint64_t)n & (((uint64_t)1 << from->bits) - 1))
                                                           : n));
    } else {
        i = lift_as_value(l, x);
        if (!is_signed && i->type == ELEMENT_I32)
            i = kernel_op1(k, KERNEL_BITCAST, ELEMENT_U32, i);
        else if (!is_signed && i->type == ELEMENT_INDEX)
            i = kernel_index(k, lift_exact(l, x, false));
        i = kernel_op1(k, KERNEL_CONVERT, ELEMENT_F32, i);
    }
    if (to->kind == LIFT_DOUBLE) /* rounded to f32 already: right only where it is rounded to it later */
        return (lifted){.kind = LIFTED_VALUE, .bits = 65, .v = i};
    if (to->kind == LIFT_HALF || to->kind == LIFT_BFLOAT)
        i = kernel_op1(k, KERNEL_CONVERT, lift_value_type(to), i);
    return lifted_value(to->kind == LIFT_FLOAT ? 32 : 16, i);
}

/* Toward zero, of 64 bits: of its size the multiple of 2^32, and what is left of it, both exact; then the sign. */
static kernel_value *long_of(lifter *l, kernel_value *f) {
    kernel_ir *k = l->k;
    arena *a = l->arena;
    const double unit = 4294967296.0;
    kernel_value *zero = kernel_const(k, ELEMENT_F32, 1, 0), *units = kernel_const(k, ELEMENT_F32, 1, unit);
    f = kernel_ref(k, lift_let(l, "number", f)); /* used several times, like the others */
    kernel_value *negative = kernel_op2(k, KERNEL_LT, ELEMENT_BOOL, f, zero);
    kernel_value *size = kernel_op3(k, KERNEL_SELECT, ELEMENT_F32, negative, kernel_op2(k, KERNEL_SUB, ELEMENT_F32, zero, f), f);
    size = kernel_ref(k, lift_let(l, "size", size));
    kernel_value *high = kernel_op2(k, KERNEL_MUL, ELEMENT_F32, size, kernel_const(k, ELEMENT_F32, 1, 1 / unit));
    high = kernel_op2(k, KERNEL_MAX, ELEMENT_I32, kernel_op1(k, KERNEL_CONVERT, ELEMENT_I32, high),
                      kernel_const(k, ELEMENT_I32, 1, 0)); /* which it is anyway */
    high = kernel_ref(k, lift_let(l, "high", high));
    kernel_value *rest = kernel_op2(k, KERNEL_MUL, ELEMENT_F32, kernel_op1(k, KERNEL_CONVERT, ELEMENT_F32, high), units);
    rest = kernel_op1(k, KERNEL_CONVERT, ELEMENT_U32, kernel_op2(k, KERNEL_SUB, ELEMENT_F32, size, rest));
    high = kernel_op2(k, KERNEL_MUL, ELEMENT_INDEX, kernel_op1(k, KERNEL_CONVERT, ELEMENT_INDEX, high),
                      kernel_index(k, ix_const(a, (int64_t)unit)));
    kernel_value *whole = kernel_op2(k, KERNEL_ADD, ELEMENT_INDEX, high, kernel_op1(k, KERNEL_CONVERT, ELEMENT_INDEX, rest));
    whole = kernel_ref(k, lift_let(l, "whole", whole));
    kernel_value *opposite = kernel_op2(k, KERNEL_SUB, ELEMENT_INDEX, kernel_index(k, ix_const(a, 0)), whole);
    kernel_value *least =
        kernel_op2(k, KERNEL_SUB, ELEMENT_INDEX, kernel_index(k, ix_const(a, -INT64_MAX)), kernel_index(k, ix_const(a, 1)));
    kernel_value *below = kernel_op2(k, KERNEL_LE, ELEMENT_BOOL, f, kernel_const(k, ELEMENT_F32, 1, -unit * unit / 2));
    return kernel_op3(k, KERNEL_SELECT, ELEMENT_INDEX, below, least,
                      kernel_op3(k, KERNEL_SELECT, ELEMENT_INDEX, negative, opposite, whole));
}

static lifted from_float(lifter *l, const lift_value *v, const lift_type *from, const lift_type *to, lifted x) {
    kernel_ir *k = l->k;
    kernel_value *f = single(l, v, from, x);
    if (f->type == ELEMENT_F16)
        f = kernel_op1(k, KERNEL_CONVERT, ELEMENT_F32, f);
    element_type t = v->op == LIFT_FPTOUI ? ELEMENT_U32 : ELEMENT_I32;
    if (to->bits > 32 && (to->bits > 64 || t == ELEMENT_U32)) {
        lift_fail(l, "E1124", v, "a float made an unsigned integer of 64 bits, or a wider one");
        return x;
    }
    if (to->bits > 32)
        return lifted_value(to->bits, long_of(l, f));
    kernel_value *i = kernel_op1(k, KERNEL_CONVERT, t, f);
    if (t == ELEMENT_U32)
        i = kernel_op1(k, KERNEL_BITCAST, ELEMENT_I32, i);
    if (to->bits < 32)
        return lift_extend(l, v, LIFT_TRUNC, lifted_value(32, i), 32, to->bits);
    return lifted_value(32, i);
}

lifted lift_same_bits(lifter *l, const lift_value *v, const lift_type *from, const lift_type *to, lifted x) {
    element_type a = lift_value_type(from), b = lift_value_type(to);
    if (from->kind == LIFT_INTEGER && from->bits == 16 && x.kind == LIFTED_BITS && x.v->type == b)
        return lifted_value(16, x.v);
    if (to->kind == LIFT_INTEGER && to->bits == 16 && (a == ELEMENT_F16 || a == ELEMENT_BF16) && x.kind == LIFTED_VALUE)
        return (lifted){.kind = LIFTED_BITS, .bits = 16, .v = x.v};
    int64_t n;
    if (from->kind == LIFT_INTEGER && from->bits == 16 && b == ELEMENT_BF16 &&
        lift_is_number(&x, &n)) { /* it has no constants of its own */
        union {
            uint32_t bits;
            float number;
        } f = {.bits = (uint32_t)n << 16};
        if (f.number == f.number)
            return lifted_value(16, kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_BF16, kernel_const(l->k, ELEMENT_F32, 1, f.number)));
    }
    if (from->kind == LIFT_INTEGER && from->bits == 16 && (b == ELEMENT_F16 || b == ELEMENT_BF16) && x.kind != LIFTED_ANY) {
        kernel_value *w = x.kind == LIFTED_BITS ? x.v : kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_U16, lift_as_value(l, x));
        return lifted_value(16, kernel_op1(l->k, KERNEL_BITCAST, b, w));
    }
    if (x.kind == LIFTED_ANY || x.kind == LIFTED_POINTER || (from->kind == to->kind && from->bits == to->bits))
        return x;
    if (from->kind == LIFT_DOUBLE || to->kind == LIFT_DOUBLE || a == ELEMENT_COUNT || b == ELEMENT_COUNT || a == ELEMENT_INDEX ||
        b == ELEMENT_INDEX || from->size != to->size || (from->kind == LIFT_INTEGER && from->bits != 32) ||
        (to->kind == LIFT_INTEGER && to->bits != 32)) {
        lift_fail(l, "E1124", v, "the bits of %s taken as %s", from->text, to->text);
        return x;
    }
    return lifted_value(to->kind == LIFT_FLOAT || to->kind == LIFT_INTEGER ? 32 : 16,
                        kernel_op1(l->k, KERNEL_BITCAST, b, lift_as_value(l, x)));
}

static lifted scalar_operation(lifter *l, const lift_value *v, const lift_type *t, const lift_type *from, lifted x, lifted y) {
    kernel_ir *k = l->k;
    switch (v->op) {
    case LIFT_ADD:
    case LIFT_SUB:
    case LIFT_MUL:
    case LIFT_SDIV:
    case LIFT_UDIV:
    case LIFT_SREM:
    case LIFT_UREM:
    case LIFT_SHL:
    case LIFT_LSHR:
    case LIFT_ASHR:
    case LIFT_AND:
    case LIFT_OR:
    case LIFT_XOR: return lift_integer(l, v, v->op, x, y);
    case LIFT_FADD:
    case LIFT_FSUB:
    case LIFT_FMUL:
    case LIFT_FDIV:
    case LIFT_FREM: return float_binary(l, v, t, x, y);
    case LIFT_FNEG: {
        kernel_value *a = single(l, v, t, x);
        lifted r = rounded(l, t, kernel_op1(k, KERNEL_NEG, a->type, a));
        r.bits = r.bits == 65 ? 64 : r.bits; /* exact */
        return r;
    }
    case LIFT_ICMP: {
        lifted r;
        if (lift_compare_chosen(l, v, y, &r))
            return r;
        return lift_compare(l, v, v->predicate, x, y, from->kind == LIFT_INTEGER ? from->bits : 64);
    }
    case LIFT_FCMP: return float_compare(l, v, x, y);
    case LIFT_TRUNC:
    case LIFT_ZEXT:
    case LIFT_SEXT:
        if (x.kind == LIFTED_POINTER && v->op == LIFT_TRUNC && t->bits == 32)
            return x;
        if (x.kind == LIFTED_INDEX && lift_fits_as_address(l, v))
            return lifted_index(t->bits, x.x);
        return lift_extend(l, v, v->op, x, from->bits, t->bits);
    case LIFT_FPEXT:
        if (t->kind == LIFT_DOUBLE)
            return (lifted){.kind = LIFTED_VALUE,
                            .bits = 64,
                            .v = from->kind == LIFT_FLOAT ? lift_as_value(l, x)
                                                          : kernel_op1(k, KERNEL_CONVERT, ELEMENT_F32, lift_as_value(l, x))};
        return lifted_value(32, kernel_op1(k, KERNEL_CONVERT, ELEMENT_F32, lift_as_value(l, x)));
    case LIFT_FPTRUNC:
        if (from->kind == LIFT_DOUBLE) {
            if (t->kind != LIFT_FLOAT)
                single(l, v, from, x);
            kernel_value *f = lift_as_value(l, x);
            if (f->op == KERNEL_CONST)
                f = kernel_const(k, ELEMENT_F32, 1, (double)(float)f->number);
            return t->kind == LIFT_FLOAT ? lifted_value(32, f)
                                         : lifted_value(16, kernel_op1(k, KERNEL_CONVERT, lift_value_type(t), f));
        }
        return lifted_value(16, kernel_op1(k, KERNEL_CONVERT, lift_value_type(t), lift_as_value(l, x)));
    case LIFT_FPTOSI:
    case LIFT_FPTOUI: return from_float(l, v, from, t, x);
    case LIFT_SITOFP:
    case LIFT_UITOFP: return to_float(l, v, from, t, x);
    case LIFT_BITCAST: return lift_same_bits(l, v, from, t, x);
    default: lift_fail(l, "E1124", v, "%s", v->text ? v->text : "an operation that is not read"); return x;
    }
}

/* ---- vectors ---- */

static lifted element(lifter *l, const lifted *x, int i) {
    if (x->kind == LIFTED_ANY)
        return *x;
    if (x->kind != LIFTED_ELEMENTS || i < 0 || i >= x->count) {
        lift_fail(l, "E1124", l->now, "an element that a vector or struct does not have");
        return (lifted){.kind = LIFTED_ANY};
    }
    return x->elements[i];
}

static lifted elements_of(lifter *l, int count) {
    lifted r = {.kind = LIFTED_ELEMENTS, .count = count, .elements = NEW_ARRAY(l->arena, lifted, count ? count : 1)};
    for (int i = 0; i < count; i++)
        r.elements[i] = (lifted){.kind = LIFTED_ANY};
    return r;
}

/* An integer type as wide as a number. */
static const lift_type *integer_of(lifter *l, const lift_type *t) {
    lift_type *r = NEW(l->arena, lift_type);
    *r = (lift_type){.kind = LIFT_INTEGER,
                     .bits = t->kind == LIFT_INTEGER ? t->bits : (int)t->size * 8,
                     .size = t->size,
                     .text = "an integer"};
    return r;
}

/* Neighbours become one wider number, the first the lowest bits, or one its neighbours. */
static lifted other_widths(lifter *l, const lift_value *v, lifted x, const lift_type *from, int n, const lift_type *to, int m) {
    const lift_type *narrow = integer_of(l, n > m ? from : to), *wide = integer_of(l, n > m ? to : from);
    int each = n > m ? n / m : m / n;
    lifted r = elements_of(l, m);
    if (n % m && m % n) {
        lift_fail(l, "E1124", v, "the bits of %s taken as %s", v->operands[0]->type->text, v->type->text);
        return r;
    }
    for (int i = 0; i < (n > m ? m : n) && !lift_stopped(l); i++) {
        if (n > m) {
            lifted sum = lifted_number(l, wide->bits, 0);
            for (int j = 0; j < each; j++) {
                lifted part = lift_same_bits(l, v, from, narrow, element(l, &x, i * each + j));
                part = lift_extend(l, v, LIFT_ZEXT, part, narrow->bits, wide->bits);
                if (j)
                    part = lift_integer(l, v, LIFT_SHL, part, lifted_number(l, wide->bits, j * narrow->bits));
                sum = j ? lift_integer(l, v, LIFT_OR, sum, part) : part;
            }
            r.elements[i] = lift_same_bits(l, v, wide, to, sum);
            continue;
        }
        lifted whole = lift_same_bits(l, v, from, wide, n == 1 && x.kind != LIFTED_ELEMENTS ? x : element(l, &x, i));
        whole = lift_named(l, v, whole);
        for (int j = 0; j < each; j++) {
            lifted part = j ? lift_integer(l, v, LIFT_LSHR, whole, lifted_number(l, wide->bits, j * narrow->bits)) : whole;
            r.elements[i * each + j] =
                lift_same_bits(l, v, narrow, to, lift_extend(l, v, LIFT_TRUNC, part, wide->bits, narrow->bits));
        }
    }
    return r;
}

/* Bits of a vector seen as another, or as a scalar. */
static lifted vector_bits(lifter *l, const lift_value *v, lifted x) {
    const lift_type *from = v->operands[0]->type, *to = v->type;
    int n = from->kind == LIFT_VECTOR ? (int)from->count : 1, m = to->kind == LIFT_VECTOR ? (int)to->count : 1;
    if (n != m) {
        lifted r = other_widths(l, v, x, from->kind == LIFT_VECTOR ? from->element : from, n,
                                to->kind == LIFT_VECTOR ? to->element : to, m);
        return to->kind == LIFT_VECTOR ? r : r.elements[0];
    }
    lifted r = elements_of(l, m);
    for (int i = 0; i < m; i++)
        r.elements[i] =
            lift_same_bits(l, v, from->kind == LIFT_VECTOR ? from->element : from, to->kind == LIFT_VECTOR ? to->element : to,
                           from->kind == LIFT_VECTOR ? element(l, &x, i) : x);
    return to->kind == LIFT_VECTOR ? r : r.elements[0];
}

static lifted shuffle(lifter *l, const lift_value *v) {
    lifted x = lift_operand(l, v->operands[0]), y = lift_operand(l, v->operands[1]), r = elements_of(l, v->position_count);
    int n = (int)v->operands[0]->type->count;
    for (int i = 0; i < v->position_count; i++)
        if (v->positions[i] >= 0)
            r.elements[i] = v->positions[i] < n ? element(l, &x, v->positions[i]) : element(l, &y, v->positions[i] - n);
    return r;
}

static lifted inserted(lifter *l, const lift_value *v, const lift_type *t, lifted whole, lifted part, const int *path, int n) {
    if (!n)
        return part;
    int64_t count = t->count, at = path[0];
    lifted r = elements_of(l, (int)count);
    for (int i = 0; i < count; i++)
        r.elements[i] = element(l, &whole, i);
    const lift_type *inner = t->kind == LIFT_STRUCT ? t->fields[at] : t->element;
    r.elements[at] = inserted(l, v, inner, r.elements[at], part, path + 1, n - 1);
    return r;
}

static lifted any_operation(lifter *l, const lift_value *v);

/* An element by a number known only at run time: a choice among all. */
static lifted chosen_element(lifter *l, const lift_value *v, lifted whole, lifted at) {
    int64_t n;
    if (lift_is_number(&at, &n))
        return element(l, &whole, (int)n);
    const lift_type *t = v->operands[0]->type;
    lifted r = element(l, &whole, (int)t->count - 1);
    at.bits = v->operands[1]->type->bits;
    for (int i = (int)t->count - 2; i >= 0; i--)
        r = lift_select(l, lift_compare(l, v, LIFT_EQ, at, lifted_number(l, at.bits, i), at.bits), element(l, &whole, i), r,
                        t->element);
    return r;
}

static lifted chosen_insert(lifter *l, const lift_value *v, lifted whole, lifted part, lifted at) {
    int64_t n;
    int count = (int)v->type->count;
    lifted r = elements_of(l, count);
    bool constant = lift_is_number(&at, &n);
    for (int i = 0; i < count; i++) {
        r.elements[i] = element(l, &whole, i);
        if (constant ? i == n : true)
            r.elements[i] = constant ? part
                                     : lift_select(l, lift_compare(l, v, LIFT_EQ, at, lifted_number(l, at.bits, i), at.bits),
                                                   part, r.elements[i], v->type->element);
    }
    return r;
}

static lifted choose(lifter *l, const lift_value *v, lifted c, lifted x, lifted y) {
    int64_t n;
    if (lift_is_number(&c, &n))
        return n ? x : y;
    if (v->type->kind == LIFT_POINTER)
        return lift_either(l, v, c, x, y);
    return lift_select(l, c, x, y, v->type);
}

static lifted any_operation(lifter *l, const lift_value *v) {
    lifted x, y;
    switch (v->op) {
    case LIFT_GEP: return lift_gep(l, v);
    case LIFT_ADDRSPACECAST: return lift_operand(l, v->operands[0]);
    case LIFT_FREEZE: return lift_operand(l, v->operands[0]);
    case LIFT_EXTRACTELEMENT: return chosen_element(l, v, lift_operand(l, v->operands[0]), lift_operand(l, v->operands[1]));
    case LIFT_INSERTELEMENT:
        return chosen_insert(l, v, lift_operand(l, v->operands[0]), lift_operand(l, v->operands[1]),
                             lift_operand(l, v->operands[2]));
    case LIFT_SHUFFLEVECTOR: return shuffle(l, v);
    case LIFT_EXTRACTVALUE:
        x = lift_operand(l, v->operands[0]);
        for (int i = 0; i < v->position_count; i++)
            x = element(l, &x, v->positions[i]);
        return x;
    case LIFT_INSERTVALUE:
        return inserted(l, v, v->type, lift_operand(l, v->operands[0]), lift_operand(l, v->operands[1]), v->positions,
                        v->position_count);
    case LIFT_PTRTOINT: /* an address that goes on to be one: assembly takes them so. Arithmetic on it is refused */
    case LIFT_INTTOPTR:
        x = lift_operand(l, v->operands[0]);
        if (x.kind == LIFTED_POINTER && x.object->space == SPACE_SHARED)
            return x;
        lift_fail(l, "E1125", v, "a pointer made of an integer, or an integer of a pointer");
        return (lifted){.kind = LIFTED_ANY};
    case LIFT_SELECT: {
        lifted c = lift_operand(l, v->operands[0]);
        x = lift_operand(l, v->operands[1]);
        y = lift_operand(l, v->operands[2]);
        if (v->type->kind != LIFT_VECTOR)
            return choose(l, v, c, x, y);
        lifted r = elements_of(l, (int)v->type->count);
        for (int i = 0; i < r.count; i++)
            r.elements[i] = lift_select(l, c.kind == LIFTED_ELEMENTS ? c.elements[i] : c, element(l, &x, i), element(l, &y, i),
                                        v->type->element);
        return r;
    }
    default: break;
    }
    if (!v->operand_count || v->op == LIFT_UNREAD) {
        lift_fail(l, "E1124", v, "%s", v->text ? v->text : "an operation that is not read");
        return (lifted){.kind = LIFTED_ANY};
    }
    x = lift_operand(l, v->operands[0]);
    y = v->operand_count > 1 ? lift_operand(l, v->operands[1]) : x;
    const lift_type *from = v->operands[0]->type;
    if (v->op == LIFT_ICMP && from->kind == LIFT_POINTER)
        return lift_compare_pointers(l, v, v->predicate, x, y);
    if (v->op == LIFT_BITCAST && (from->kind == LIFT_VECTOR || v->type->kind == LIFT_VECTOR))
        return vector_bits(l, v, x);
    if (from->kind != LIFT_VECTOR) {
        if (x.kind == LIFTED_ANY || y.kind == LIFTED_ANY) {
            lift_fail(l, "E1125", v, "a value that nothing has set is used");
            return x;
        }
        return scalar_operation(l, v, v->type, from, x, y);
    }
    lifted r = elements_of(l, (int)from->count);
    for (int i = 0; i < r.count; i++) {
        lifted a = element(l, &x, i), b = element(l, &y, i);
        if (a.kind == LIFTED_ANY || b.kind == LIFTED_ANY)
            continue; /* a lane that is never asked for, as the fourth of three */
        r.elements[i] = scalar_operation(l, v, v->type->element, from->element, a, b);
    }
    return r;
}

lifted lift_operation(lifter *l, const lift_value *v) {
    return any_operation(l, v);
}
