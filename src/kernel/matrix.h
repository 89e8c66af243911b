/* Matrix instructions: what a target multiplies fragments by, a row each. The schedule chooses among a target's rows, its printer prints them; nothing
 * else decides whether a product is native. */
#ifndef TILEC_KERNEL_MATRIX_H
#define TILEC_KERNEL_MATRIX_H
#include "kernel/kernel.h"

/* d = a b + c: a is m x k, b k x n, c and d are m x n accumulators. Products are exact. */
typedef struct matrix_instruction {
    const char *name; /* "mma.sync.m16n8k16" */
    int m, n, k;
    element_type operand, accumulator;
    level_kind holder; /* SUBGROUP or WARPGROUP; TASK: the one thread of a task */
    int lanes;         /* of the holder */
    const char *since; /* the oldest device that has it: "sm_80" */
    /* What a float row's unit does at worst (doc/tile-ir.md, Matrix units): it adds `added` products to the sum at a time, each term cut off at
     * 2^-fraction of the largest, the result cut off at 24 bits. 0 for integers, which are exact. */
    int added, fraction;
    int kept; /* bits behind the point of its results, where they are fewer than f32's 23: only a schedule that says `promote` takes it; 0: all */
    bool no_gain; /* no quicker on this device than multiply-adds: only a schedule asks for it */
    bool
        flushes; /* numbers below 2^-126 (operands, sums) are zero to it; where `added` is 0 it rounds each sum of one product to nearest */
} matrix_instruction;
typedef struct matrix_table {
    const matrix_instruction *at;
    int count;
} matrix_table;

/* A subgroup's row for operands of this type: that of the type itself, else of the narrowest type that holds every one of its values, to which
 * operands are widened on their way; NULL: none. */
const matrix_instruction *matrix_row_of(const matrix_table *t, element_type operand, element_type accumulator);
/* The same of a task that is one thread. */
const matrix_instruction *matrix_row_of_task(const matrix_table *t, element_type operand, element_type accumulator);
/* The widest row of a warpgroup's, which reads its operands from shared memory, whose n divides `columns`; NULL: none. */
const matrix_instruction *matrix_row_by_reference(const matrix_table *t, element_type operand, element_type accumulator,
                                                  int64_t columns);
/* The row whose fragments these are; NULL: none. */
const matrix_instruction *matrix_of_mma(const matrix_table *t, const kernel_stmt *mma);
/* The rows' operand types, for messages: "f16, bf16, i8"; "none". Arena text. */
const char *matrix_operands(arena *a, const matrix_table *t);
/* The unit that does it, as `tilec probe` names its instructions: "m16n8k16.f16", "wgmma.m64n8k16.f16" of any number of columns. Arena text. */
const char *matrix_unit_name(arena *a, const matrix_instruction *row);
/* For messages: the row that takes operands rounded to a narrower type, as a kernel may say; NULL: there is none. */
const char *matrix_nearest(arena *a, const matrix_table *t, element_type operand);
#endif
