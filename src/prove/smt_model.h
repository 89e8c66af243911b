/* Private to prove/: properties as questions for Z3, asked after the sets could not say. */
#ifndef TILEC_PROVE_SMT_MODEL_H
#define TILEC_PROVE_SMT_MODEL_H
#include "prove/model.h"

/* Whether a place has a cell below 0 (or, with `high`, at or past the extent) in dimension d. REFUTED: the witness' dimensions are the scope's,
 * then the cell, of which dimension d alone is meant. UNKNOWN where the question could not be put, got no answer, or where what was found may
 * never happen because data decide. */
witness smt_outside(model *m, place *p, int d, bool high);
/* Whether the scope can be reached with the expression below `low` or above `high`, 64-bit numbers. The witness' dimensions are the scope's. */
witness smt_beyond(model *m, scope *s, const index_expr *x, int64_t low, int64_t high);
/* Whether two cells of an array with LAYOUT_STRIDES, or LAYOUT_SWIZZLE, stand at one offset. The witness' dimensions are one cell, then the other. */
witness smt_coincide(model *m, const kernel_array *a);
/* Whether something stands in the scope's way to an exact set that is not affine, so that Z3 may know more. */
bool smt_worthwhile(model *m, scope *s);
/* What to say of a question that got no answer: `why`, and that Z3 is not there if it is not. */
const char *smt_why(model *m, const char *why);
#endif
