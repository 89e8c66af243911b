/* A flat index as one per dimension. Nothing is assumed: the prover shows each within its extent. Private to lift/. */
#ifndef TILEC_LIFT_DELINEARISE_H
#define TILEC_LIFT_DELINEARISE_H
#include "base/index.h"

/* out[0..rank-1] with sum out[d] * (product of dims[d + 1 ..]) = x, whatever dims are: the terms of x that a dimension's pitch divides go to it. */
void lift_delinearise(arena *a, index_expr *x, index_expr *const *dims, int rank, index_expr **out);
#endif
