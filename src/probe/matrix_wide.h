/* An exact sum of numbers of any exponent: a fixed point number that reaches from 2^-640 to 2^576. Private to the model. */
#ifndef TILEC_PROBE_MATRIX_WIDE_H
#define TILEC_PROBE_MATRIX_WIDE_H
#include "probe/number.h"

enum { MATRIX_WIDE_WORDS = 19, MATRIX_WIDE_LOWEST = -640 };
typedef struct matrix_wide {
    uint64_t words[MATRIX_WIDE_WORDS]; /* two's complement, the lowest first */
} matrix_wide;

void matrix_wide_add(matrix_wide *sum, const number *x);
/* The sum's sign, its highest 60 bits or fewer as magnitude * 2^place, and whether anything is below them. */
void matrix_wide_round(const matrix_wide *sum, bool *negative, uint64_t *magnitude, int *place, bool *sticky);
#endif
