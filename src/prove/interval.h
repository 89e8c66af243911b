/* Private to prove/: intervals of integer expressions, in numbers wide enough for any product of two 64-bit ones that fit. */
#ifndef TILEC_PROVE_INTERVAL_H
#define TILEC_PROVE_INTERVAL_H
#include "prove/model.h"

__extension__ typedef __int128 wide;
struct interval {
    wide lo, hi;
};
typedef struct interval interval;

/* The values that x may take at any point where it is computed. Unknown: at least +-2^100. */
interval interval_of(model *m, const index_expr *x);
/* The integers that v may be; clipped to its type where it may wrap (*wraps, may be NULL, is then set). */
interval interval_of_value(model *m, const kernel_value *v, bool *wraps);
interval interval_product(interval x, interval y);
#endif
