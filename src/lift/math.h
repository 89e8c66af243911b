/* Functions of floats that Kernel IR has not, written with those that it has. Private to lift/. */
#ifndef TILEC_LIFT_MATH_H
#define TILEC_LIFT_MATH_H
#include "lift/lifter.h"
#include <math.h>

/* Makes values of one type. */
typedef struct builder {
    lifter *l;
    element_type t;
} builder;

static inline kernel_value *number(builder b, double x) {
    return kernel_const(b.l->k, b.t, 1, x);
}
static inline kernel_value *one(builder b, kernel_op op, kernel_value *x) {
    return kernel_op1(b.l->k, op, b.t, x);
}
static inline kernel_value *two(builder b, kernel_op op, kernel_value *x, kernel_value *y) {
    bool compares = op == KERNEL_LT || op == KERNEL_LE || op == KERNEL_EQ || op == KERNEL_NE;
    return kernel_op2(b.l->k, op, compares ? ELEMENT_BOOL : b.t, x, y);
}
static inline kernel_value *choose(builder b, kernel_value *c, kernel_value *x, kernel_value *y) {
    return kernel_op3(b.l->k, KERNEL_SELECT, x->type, c, x, y);
}

/* A name for what is used more than once. */
static inline kernel_value *named(builder b, kernel_value *x) {
    if (x->op == KERNEL_REF || x->op == KERNEL_CONST || x->op == KERNEL_SCALAR)
        return x;
    return kernel_ref(b.l->k, lift_let(b.l, "x", x));
}

static inline kernel_value *trunc_of(builder b, kernel_value *x) {
    kernel_value *up = one(b, KERNEL_NEG, one(b, KERNEL_FLOOR, one(b, KERNEL_NEG, x)));
    return choose(b, two(b, KERNEL_LT, x, number(b, 0)), up, one(b, KERNEL_FLOOR, x));
}

/* ---- elementary.c: of values of f32, each accurate to a few units in the last place but where said otherwise ---- */
typedef enum elementary {
    E_ASIN,
    E_ACOS,
    E_ATAN,
    E_ATAN2,
    E_ASINH,
    E_ACOSH,
    E_ATANH,
    E_SINPI,
    E_COSPI,
    E_TANPI,
    E_EXPM1,
    E_LOG1P,
    E_CBRT,
    E_COPYSIGN
} elementary;
kernel_value *lift_elementary(builder b, elementary f, kernel_value **x);

#endif
