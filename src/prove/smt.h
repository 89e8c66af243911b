/* Questions that sets of affine constraints can't say: products of two unknowns, bits. Z3 answers them, a library that is looked for when the
 * first question is asked; without it every answer is SMT_UNKNOWN. Questions are SMT-LIB texts. Each has, with the search for its least
 * point, a budget of Z3's own steps, which do not depend on the machine, and of a second. Unknown is never taken for either answer. */
#ifndef TILEC_PROVE_SMT_H
#define TILEC_PROVE_SMT_H
#include "base/index.h"

typedef enum smt_sort { SMT_INTEGER, SMT_BITS /* bit-vectors of 64 bits, unsigned */ } smt_sort;
typedef enum smt_answer { SMT_NONE, SMT_SOME, SMT_UNKNOWN } smt_answer;
typedef struct smt smt; /* a question: variables, and what is asserted of them */

/* Whether the library was found. Safe from several threads. */
bool smt_available(void);
/* For tests: as if it were not there, in this thread. */
void smt_pretend_missing(bool missing);
/* For tests: the n-th question from now on, in this thread, gets no answer. 0: all do. */
void smt_fail_at(unsigned long question);

/* The question's texts live in the arena. It gets no more than so many milliseconds, if that is less than a second. */
smt *smt_new(arena *a, double milliseconds);
/* Returns its number: `x0`, `x1`, .. in texts. `least` is a bound from below that is asserted too. */
int smt_variable(smt *q, smt_sort sort, int64_t least);
/* One assertion, as SMT-LIB text: "(< x0 (* x1 x2))". */
void smt_assert(smt *q, const char *format, ...) PRINTF_LIKE(2, 3);
/* A number as SMT-LIB text, in the arena. */
const char *smt_constant(arena *a, smt_sort sort, int64_t value);
/* Whether some values satisfy all that was asserted. SMT_SOME: values[variables] are such, if `values` is not NULL; each as small as could be
 * shown within the budget, the first variable first. */
smt_answer smt_ask(smt *q, int64_t *values);
/* The whole question, for tests and for reading. */
const char *smt_text(smt *q);

/* Integer expressions and conditions as SMT-LIB text. `name` gives a variable's text, or what to put in its place (*instead); false: neither, and
 * the translation fails. Division rounds down; divisors must be positive constants or be known positive. */
typedef bool (*smt_name)(void *context, const index_var *v, const char **text, const index_expr **instead);
bool smt_expression(text_buffer *out, const index_expr *x, smt_name name, void *context);
bool smt_condition(text_buffer *out, const cond *c, smt_name name, void *context);
#endif
