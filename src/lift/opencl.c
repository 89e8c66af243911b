/* Functions of OpenCL C and AIR that are neither numbers of the launch, nor order, nor mathematics: halves in memory, truth of vectors. */
#include "lift/lifter.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const lift_type half_type = {.kind = LIFT_HALF, .size = 2, .text = "half"};

/* vload_half, vload_halfN, vstore_half_rte, vstore_halfN: floats from and to halves; without a rounding mode to nearest even, as with _rte. */
static bool half_call(lifter *l, const lift_value *v, const char *name) {
    int lanes = 1, used = 0;
    bool load = !strncmp(name, "vload_half", 10), store = !strncmp(name, "vstore_half", 11);
    if (!load && !store)
        return false;
    const char *rest = name + (load ? 10 : 11);
    if (sscanf(rest, "%d%n", &lanes, &used) == 1)
        rest += used;
    const lift_type *t = load ? v->type : v->operands[0]->type;
    if (v->operand_count != 2 + store || (*rest && strcmp(rest, "_rte")) ||
        (t->kind == LIFT_VECTOR ? t->count != lanes : lanes != 1) ||
        (t->kind == LIFT_VECTOR ? t->element : t)->kind != LIFT_FLOAT) {
        lift_fail(l, "E1128", v, "`%s`, in a form that is not known", name);
        return true;
    }
    lifted p = lift_operand(l, v->operands[load ? 1 : 2]), at = lift_operand(l, v->operands[load ? 0 : 1]);
    lifted x = store ? lift_operand(l, v->operands[0]) : (lifted){.kind = LIFTED_ANY};
    if (lift_stopped(l))
        return true;
    at.bits = 64;
    lifted r = {.kind = LIFTED_ELEMENTS, .count = lanes, .elements = NEW_ARRAY(l->arena, lifted, lanes)};
    for (int i = 0; i < lanes && !lift_stopped(l); i++) {
        lifted one = lift_pointer_on(
            l, p, ix_add(l->arena, ix_mul(l->arena, lift_exact(l, at, true), ix_const(l->arena, lanes)), ix_const(l->arena, i)),
            2);
        if (load) {
            lifted h = lift_load(l, v, &half_type, one);
            if (!lift_stopped(l))
                r.elements[i] = lifted_value(32, kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_F32, lift_as_value(l, h)));
        } else {
            kernel_value *f = lift_as_value(l, t->kind == LIFT_VECTOR && x.kind == LIFTED_ELEMENTS ? x.elements[i] : x);
            lift_store(l, &half_type, one, lifted_value(16, kernel_op1(l->k, KERNEL_CONVERT, ELEMENT_F16, f)));
        }
    }
    if (load && !lift_stopped(l))
        lift_set(l, v, t->kind == LIFT_VECTOR ? r : r.elements[0]);
    return true;
}

/* all, any: of the signs of an integer, or of each element of a vector. */
static bool truth_call(lifter *l, const lift_value *v, const char *name) {
    bool all = !strcmp(name, "all");
    if ((!all && strcmp(name, "any")) || v->operand_count != 1)
        return false;
    const lift_type *t = v->operands[0]->type, *element = t->kind == LIFT_VECTOR ? t->element : t;
    lifted x = lift_operand(l, v->operands[0]), r = {0};
    if (lift_stopped(l))
        return true;
    if (element->kind != LIFT_INTEGER || (t->kind == LIFT_VECTOR && x.kind != LIFTED_ELEMENTS))
        return false;
    for (int i = 0; i < (t->kind == LIFT_VECTOR ? (int)t->count : 1); i++) {
        lifted own = t->kind == LIFT_VECTOR ? x.elements[i] : x;
        lifted c = lift_compare(l, v, LIFT_SLT, own, lifted_number(l, element->bits, 0), element->bits);
        r = i ? lift_integer(l, v, all ? LIFT_AND : LIFT_OR, r, c) : c;
    }
    lift_set(l, v, lift_extend(l, v, LIFT_ZEXT, r, 1, v->type->bits));
    return true;
}

/* The last letter of a mangled name is its last operand's type. */
static bool is_unsigned(const char *callee) {
    return strchr("htjm", callee[strlen(callee) - 1]) != NULL;
}

/* convert_T, convert_Tn, .._sat, with rounding modes: numbers as the conversions of the language have them; floats to integers saturate, or round first where a
 * mode other than toward zero is named. */
static bool convert_call(lifter *l, const lift_value *v, const char *name) {
    if (strncmp(name, "convert_", 8) || v->operand_count != 1)
        return false;
    const lift_type *from = v->operands[0]->type, *to = v->type;
    from = from->kind == LIFT_VECTOR ? from->element : from;
    to = to->kind == LIFT_VECTOR ? to->element : to;
    const char *type = name + 8, *mode = strchr(type, '_');
    bool saturates = mode && !strncmp(mode, "_sat", 4), of_unsigned = is_unsigned(v->callee), to_unsigned = *type == 'u';
    mode = mode && saturates ? strchr(mode + 1, '_') : mode;
    bool from_float = from->kind != LIFT_INTEGER, to_float = to->kind != LIFT_INTEGER, nearest = mode && !strcmp(mode, "_rte");
    bool plain = !mode || nearest || (!strcmp(mode, "_rtz") && from_float && !to_float);
    lift_value as = *v;
    as.op = from_float && to_float  ? (to->size > from->size ? LIFT_FPEXT : LIFT_FPTRUNC)
            : to_float              ? (of_unsigned ? LIFT_UITOFP : LIFT_SITOFP)
            : from_float            ? (to_unsigned ? LIFT_FPTOUI : LIFT_FPTOSI)
            : to->bits > from->bits ? (of_unsigned ? LIFT_ZEXT : LIFT_SEXT)
                                    : LIFT_TRUNC;
    bool same = from_float == to_float && from->size == to->size;
    if (!plain || (saturates && !from_float && !(to->bits > from->bits && (of_unsigned || !to_unsigned))) ||
        (nearest && from_float && !to_float)) {
        lift_fail(l, "E1128", v, "`%s`, in a form that is not known", name);
        return true;
    }
    lift_set(l, v, same ? lift_operand(l, v->operands[0]) : lift_operation(l, &as));
    return true;
}

/* air.convert.TO.TYPE.FROM.TYPE: TO and FROM are f, s or u. */
static bool air_convert_call(lifter *l, const lift_value *v) {
    char to, from;
    int used = 0;
    if (!v->callee || v->operand_count != 1 || sscanf(v->callee, "air.convert.%c.%*[a-z0-9].%c.%n", &to, &from, &used) != 2 ||
        !used)
        return false;
    const lift_type *of = v->operands[0]->type, *t = v->type;
    of = of->kind == LIFT_VECTOR ? of->element : of;
    t = t->kind == LIFT_VECTOR ? t->element : t;
    lift_value as = *v;
    as.op = to == 'f' && from == 'f' ? (t->size > of->size ? LIFT_FPEXT : LIFT_FPTRUNC)
            : to == 'f'              ? (from == 'u' ? LIFT_UITOFP : LIFT_SITOFP)
            : from == 'f'            ? (to == 'u' ? LIFT_FPTOUI : LIFT_FPTOSI)
            : t->bits > of->bits     ? (from == 'u' ? LIFT_ZEXT : LIFT_SEXT)
                                     : LIFT_TRUNC;
    bool same = of->kind == t->kind && of->size == t->size;
    if ((to == 'f') != (t->kind != LIFT_INTEGER) || (from == 'f') != (of->kind != LIFT_INTEGER) ||
        (!same && to == 'f' && from == 'f' && t->size == of->size)) {
        lift_fail(l, "E1128", v, "`%s`, in a form that is not known", v->callee);
        return true;
    }
    lift_set(l, v, same ? lift_operand(l, v->operands[0]) : lift_operation(l, &as));
    return true;
}

/* x - floor(x), below 1 where that is rounded up to it: of infinity 0, of what is no number none. */
static kernel_value *fraction(lifter *l, kernel_value *x, kernel_value *floor) {
    kernel_ir *k = l->k;
    kernel_value *below = kernel_const(k, ELEMENT_F32, 1, 0x1.fffffep-1), *zero = kernel_const(k, ELEMENT_F32, 1, 0);
    kernel_value *rest = kernel_ref(k, lift_let(l, "rest", kernel_op2(k, KERNEL_SUB, ELEMENT_F32, x, floor)));
    kernel_value *least =
        kernel_op3(k, KERNEL_SELECT, ELEMENT_F32, kernel_op2(k, KERNEL_LT, ELEMENT_BOOL, below, rest), below, rest);
    kernel_value *size = kernel_op1(k, KERNEL_ABS, ELEMENT_F32, x);
    kernel_value *infinite = kernel_op2(k, KERNEL_EQ, ELEMENT_BOOL, size, kernel_const(k, ELEMENT_F32, 1, INFINITY));
    return kernel_op3(k, KERNEL_SELECT, ELEMENT_F32, infinite, zero, least);
}

/* fract(x, &whole) of OpenCL, fract(x) of Metal: element by element; what is not set stays so. */
static bool fract_call(lifter *l, const lift_value *v, const char *name) {
    const lift_type *t = v->type, *element = t->kind == LIFT_VECTOR ? t->element : t;
    if (strcmp(name, "fract") || v->operand_count < 1 || v->operand_count > 2 || element->kind != LIFT_FLOAT)
        return false;
    lifted x = lift_operand(l, v->operands[0]), p = v->operand_count > 1 ? lift_operand(l, v->operands[1]) : x;
    int count = t->kind == LIFT_VECTOR ? (int)t->count : 1;
    lifted *parts = NEW_ARRAY(l->arena, lifted, 2 * count);
    for (int i = 0; i < count && !lift_stopped(l); i++) {
        lifted one = t->kind == LIFT_VECTOR && x.kind == LIFTED_ELEMENTS ? x.elements[i] : x;
        parts[i] = parts[count + i] = (lifted){.kind = LIFTED_ANY};
        if (one.kind == LIFTED_ANY)
            continue;
        kernel_value *own = kernel_ref(l->k, lift_let(l, "own", lift_as_value(l, one)));
        kernel_value *whole = kernel_ref(l->k, lift_let(l, "whole", kernel_op1(l->k, KERNEL_FLOOR, ELEMENT_F32, own)));
        parts[i] = lifted_value(32, fraction(l, own, whole));
        parts[count + i] = lifted_value(32, whole);
    }
    lifted r[2];
    for (int i = 0; i < 2; i++)
        r[i] =
            t->kind == LIFT_VECTOR ? (lifted){.kind = LIFTED_ELEMENTS, .count = count, .elements = parts + i * count} : parts[i];
    if (v->operand_count > 1)
        lift_store(l, t, p, r[1]);
    if (!lift_stopped(l))
        lift_set(l, v, r[0]);
    return true;
}

bool lift_opencl_call(lifter *l, const lift_value *v, const char *name) {
    return half_call(l, v, name) || fract_call(l, v, name) || truth_call(l, v, name) || convert_call(l, v, name) ||
           air_convert_call(l, v);
}
