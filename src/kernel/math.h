/* Arithmetic of our own: exp, log, tanh, erf, sin, cos, rsqrt, each described once as straight-line Kernel IR, so that every
 * target computes the same value. Measured worst errors over all 2^32 floats stand in tile/oracle_models.c. */
#ifndef TILEC_KERNEL_MATH_H
#define TILEC_KERNEL_MATH_H
#include "kernel/kernel.h"

/* A function of one f32 value (or vector of `lanes`). `body` holds LETs only; `argument` is a LET outside it that stands for
 * the operand; `result` refers to the LETs. Ops used: fma, add, sub, mul, div, sqrt, rint, compare, select, bit operations,
 * conversions between f32, i32 and u32, bitcasts, and exp inside tanh and erf. Everything is allocated from `a`. */
enum { MATH_RARE_VALUES = 2 };
typedef struct math_function {
    const char *name;
    kernel_ir *ir;
    kernel_block *body;
    kernel_stmt *argument;
    kernel_value *result;
    /* sin and cos: body.items[rare_first .. rare_last - 1] serve only lanes for which `common` (a bool) is false. A target may skip
     * them when it is true in every lane; of what they define, only the LETs `rare` are used later, and not looked at then. */
    int rare_first, rare_last;
    kernel_value *common;
    kernel_stmt *rare[MATH_RARE_VALUES];
} math_function;

/* False when `op` is not one of the seven functions. */
bool math_describe(arena *a, kernel_op op, int lanes, math_function *out);
/* Writes the seven out wherever the kernel has them, statements in front of the one that does (math_inline.c). */
void kernel_inline_math(kernel_ir *k);
#endif
