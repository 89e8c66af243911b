/* Private to prove/: intervals of integer expressions, in numbers wide enough for any product of two 64-bit ones that fit. */
#ifndef TILEC_PROVE_INTERVAL_H
#define TILEC_PROVE_INTERVAL_H
#include "prove/model.h"

__extension__ typedef __int128 wide;
struct interval {
    wide lo, hi;
};
typedef struct interval interval;

static inline wide floor_divide(wide x, wide y) {
    return x / y - (x % y < 0);
}

/* The values that x may take at any point where it is computed. Unknown: at least +-2^100. */
interval interval_of(model *m, const index_expr *x);
/* The integers that v may be; clipped to its type where it may wrap (*wraps, may be NULL, is then set). */
interval interval_of_value(model *m, const kernel_value *v, bool *wraps);
/* A number that factor * x + factor_y * y (y may be NULL) never exceeds where the scope is reached; at least 2^100: none is known. reach.c. */
wide reach_most(model *m, const scope *at, const index_expr *x, int64_t factor, const index_expr *y, int64_t factor_y);
/* A sum of parts, each a variable or no sum itself, times factors; lets are seen through. reach.c. */
enum { INDEX_SUM_TERMS = 32 };
typedef struct index_term {
    const index_expr *of;
    int64_t factor;
} index_term;
typedef struct index_sum {
    index_term terms[INDEX_SUM_TERMS]; /* no two of one part */
    int count;
    wide constant;
} index_sum;
bool index_same_part(const index_expr *x, const index_expr *y);
/* Adds factor * x; `nesting` 0. m NULL: lets are not seen through. False: there are too many parts. */
bool index_sum_add(const model *m, index_sum *s, const index_expr *x, int64_t factor, int nesting);
/* A number that the sum never exceeds where the scope is reached. */
wide reach_most_sum(model *m, const scope *at, const index_sum *s);
/* Whether low <= x <= high where the scope is reached. */
bool reach_within(model *m, const scope *at, const index_expr *x, wide low, wide high);
/* VALUE: what its value, an element that is checked at launch, stays below, 0 or more; NULL: it is no such element as it stands in memory. */
const index_expr *reach_element_bound(const scope *s);
/* Whether the place's accesses surely lie within dimension d of its array. */
bool reach_inside(model *m, const place *p, int d);
/* Whether one access by x and one by y, of one array, surely touch different cells, all dimensions that their scopes share being the same. */
bool reach_apart(model *m, const place *x, const place *y);
/* The same value, or condition, where the scope is reached; minima, floors and remainders that are decided there are gone. */
index_expr *reach_simpler(model *m, const scope *at, index_expr *x);
cond *reach_simpler_condition(model *m, const scope *at, cond *c);
interval interval_product(interval x, interval y);
#endif
