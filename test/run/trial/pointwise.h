/* A second, naive evaluation of Tile IR in f32, element by element, that can be told to make a device's typical mistakes. It shows that
 * the value check accepts honest f32 arithmetic of any order and rejects planted faults. Slow: for small shapes. */
#ifndef TILEC_TEST_POINTWISE_H
#define TILEC_TEST_POINTWISE_H
#include "trial.h"

typedef struct pointwise_faults {
    bool drop_last;        /* every loop forgets the last element of its range */
    bool half_accumulator; /* sums are kept in f16 */
    bool reversed;         /* not a fault: sums run from the end to the beginning */
} pointwise_faults;

/* Runs all tasks; outputs go to m->memory. The kernel's STATIC and TILE names are bound. False when something is not covered (with a
 * reason) or an index leaves its array. */
bool pointwise_run(const trial_case *c, trial_memory *m, const pointwise_faults *faults, const char **why);
#endif
