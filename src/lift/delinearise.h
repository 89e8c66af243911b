/* A flat index as one per dimension. Nothing is assumed: the prover shows each within its extent. Private to lift/. */
#ifndef TILEC_LIFT_DELINEARISE_H
#define TILEC_LIFT_DELINEARISE_H
#include "base/index.h"

/* out[0..rank-1] with sum out[d] * (product of dims[d + 1 ..]) = x, whatever dims are: the terms of x that a dimension's pitch divides go to it. */
void lift_delinearise(arena *a, index_expr *x, index_expr *const *dims, int rank, index_expr **out);
/* The same expression as a sum of products, like terms together; x itself where it is too large for that. */
index_expr *lift_expanded(arena *a, index_expr *x);
/* x * stride / size, where that is a whole number for every value of what x is made of, or is made one by a launch value that is a multiple of `size`: such
 * values are handed to `multiple`, which then holds of them (a NULL `multiple`: none is taken to be). NULL where it is neither. */
index_expr *lift_divided(arena *a, index_expr *x, int64_t stride, int64_t size, void *context,
                         void (*multiple)(void *context, index_var *v, int64_t of));
/* Bytes that divide x * stride whatever its variables are: those that come with the launch may be demanded to bring `wanted`. 0: it is always 0. */
int64_t lift_common_unit(index_expr *x, int64_t stride, int64_t wanted);
/* What v is multiplied by in x; NULL where x is not linear in v. */
index_expr *lift_factor(arena *a, index_expr *x, const index_var *v);
/* 1: no term of x is subtracted; -1: all are; 0: some are, or it is too large to say. */
int lift_terms_sign(index_expr *x);
/* How x moves with v: 1 up, -1 down, 0 not at all, 2 not known. `not_negative` says of the other factors whether they surely are; those it is
 * not sure of are taken to be, and handed to it again by `assume`. */
typedef struct lift_signs {
    void *context;
    bool (*not_negative)(void *context, const index_expr *factor);
    void (*assume)(void *context, index_expr *factor);
} lift_signs;
int lift_direction(index_expr *x, const index_var *v, const lift_signs *signs);
#endif
