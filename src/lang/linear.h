/* What integer expressions may be: proofs that one is never negative, and small witnesses that it is not so.
 * Expressions are polynomials over index variables; products of unknowns are atoms of their own, related by the bounds of their factors. */
#ifndef TILEC_LANG_LINEAR_H
#define TILEC_LANG_LINEAR_H
#include "base/index.h"

/* What may be assumed, beside the bounds that every variable brings itself. Conditions may be `and`/`or` trees. */
typedef struct linear_facts {
    VEC(const cond *) given;
} linear_facts;

/* True when expr >= 0 is shown for every value that variables may take under the facts. False: not shown. */
bool linear_prove_nonnegative(const linear_facts *facts, index_expr *expr);
/* Same, as polynomials or because the facts say so. */
bool linear_prove_equal(const linear_facts *facts, index_expr *x, index_expr *y);

typedef struct linear_witness {
    VEC(const index_var *) vars;
    VEC(int64_t) values;
    int64_t value; /* of the expression searched */
} linear_witness;
/* Searches small values of the variables for which the facts hold and expr < 0 (`also`, which may be NULL, is evaluated into value).
 * Smallest first. Opaque variables take any value within their bounds. */
bool linear_find_negative(arena *a, const linear_facts *facts, index_expr *expr, index_expr *also, linear_witness *out);
bool linear_lookup(const linear_witness *w, const index_var *v, int64_t *value);
#endif
