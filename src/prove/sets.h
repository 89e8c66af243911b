/* Sets of integer points [parameters] -> { [dimensions] } bounded by affine constraints with floors: the prover's only view of isl.
 *
 * Everything made belongs to the session and lives until sets_free; operations borrow their arguments. Every
 * operation may fail (a question took too many steps, memory): it then returns NULL, NULL arguments give NULL, and questions
 * answer TRI_UNKNOWN. Nothing is ever taken for true because it failed. */
#ifndef TILEC_PROVE_SETS_H
#define TILEC_PROVE_SETS_H
#include <stdbool.h>
#include <stdint.h>

typedef struct sets sets;       /* a session: parameters, the budget, what was made */
typedef struct int_set int_set; /* a set of points */
typedef struct linear linear;   /* an affine expression with floors, on a space of so many dimensions */
typedef enum tri { TRI_NO, TRI_YES, TRI_UNKNOWN } tri;

/* `operations` bounds the steps of one question (100,000 take about half a second). NULL when out of memory. */
sets *sets_new(unsigned long operations);
void sets_free(sets *s);
/* Adds a parameter, unless there is one of this name; all must be declared before the first set or expression is made. Returns its index. */
int sets_declare(sets *s, const char *name);
int sets_parameters(const sets *s);
/* Processor time of this thread, in milliseconds: what else the machine does leaves it alone. */
double prover_clock(void);
/* By prover_clock: no question gets an answer after it, and one that is being asked then takes little longer. Until it is set, there is no end. */
void sets_end_at(sets *s, double end);
/* What is left until then, for questions put to others. */
double sets_milliseconds_left(const sets *s);
/* Whether the end has come, or left the last question too little time for all the steps that it may take. */
bool sets_ran_late(const sets *s);
/* Begins a question: its budget is full, and an earlier failure is forgotten. */
void sets_question(sets *s);
/* Whether something failed since the question began. */
bool sets_gave_up(sets *s);

linear *linear_constant(sets *s, int dims, int64_t value);
linear *linear_dim(sets *s, int dims, int position);
linear *linear_parameter(sets *s, int dims, int index);
linear *linear_add(sets *s, linear *x, linear *y);
linear *linear_scale(sets *s, linear *x, int64_t factor);
linear *linear_floor(sets *s, linear *x, int64_t divisor); /* floor(x / divisor), divisor > 0 */
linear *linear_mod(sets *s, linear *x, int64_t divisor);   /* in 0..divisor-1 */

int_set *sets_universe(sets *s, int dims);
int_set *sets_empty(sets *s, int dims);
int_set *sets_nonnegative(sets *s, linear *x); /* the points where x >= 0 */
int_set *sets_zero(sets *s, linear *x);        /* the points where x == 0 */
int_set *sets_intersect(sets *s, int_set *x, int_set *y);
int_set *sets_union(sets *s, int_set *x, int_set *y);
int_set *sets_subtract(sets *s, int_set *x, int_set *y);
int_set *sets_project(sets *s, int_set *x, int first, int count); /* forgets dimensions: there is some value */
int_set *sets_insert(sets *s, int_set *x, int first, int count);  /* new dimensions of any value */
int_set *sets_fix(sets *s, int_set *x, int position, int64_t value);
int_set *sets_fix_parameter(sets *s, int_set *x, int index, int64_t value);
int_set *sets_less(sets *s, int_set *x, int first, int second); /* keeps the points whose dimension `first` is below `second` */
/* Dimension i of x becomes dimension from[i] of the new space; the others take any value. Two may become one. */
int_set *sets_remap(sets *s, int_set *x, int dims, const int *from);
/* x relates: [prefix, a.., b..], a and b of `width` dimensions each. Its transitive closure; NULL when it was not found exactly. */
int_set *sets_closure(sets *s, int_set *x, int prefix, int width);
/* The same set, with fewer pieces where that is possible. */
int_set *sets_simplify(sets *s, int_set *x);
int sets_dims(int_set *x);
int sets_pieces(int_set *x);

tri sets_is_empty(sets *s, int_set *x);
tri sets_is_subset(sets *s, int_set *x, int_set *y);
/* The lexicographically least point, parameters first: values[parameters + dims]. False when there is none or it was not found. */
bool sets_least(sets *s, int_set *x, int64_t *values);
/* For tests: the n-th operation from now on, in this thread, fails. 0: none does. */
void sets_fail_at(unsigned long operation);
bool sets_fault_armed(void);
bool sets_fault_pending(void); /* it has not come to that yet */
/* For tests: is told each set whose emptiness is asked in this thread, with TRI_UNKNOWN before, and with the answer, if any, after. NULL: nobody is. */
typedef void sets_watcher(void *context, int_set *x, tri empty);
void sets_watch(sets_watcher *w, void *context);
/* For debugging and tests: heap text, or NULL. */
char *sets_text(int_set *x);
#endif
