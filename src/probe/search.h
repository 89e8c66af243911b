/* Candidates for a unit: every combination of parameters' values that explains the answers. Private to find.c. */
#ifndef TILEC_PROBE_SEARCH_H
#define TILEC_PROBE_SEARCH_H
#include "probe/find.h"

enum { SEARCH_MOST = 60000 };
typedef struct matrix_search {
    const matrix_question *questions;
    int count;
    bool loose; /* NaN of any payload and zeros of any sign are alike: what settles those is asked later */
    const matrix_parameter *parameters; /* tried together, PARAMETER_COUNT ends them; those that change products first */
    uint32_t nan;                       /* the value that PARAMETER_NAN is given */
    int least_bits;                     /* of PARAMETER_OUTPUT_BITS: answers show as many */
    int workers;
} matrix_search;

/* From the candidates `from`, those combinations that explain every question. Heap memory in *out; at most SEARCH_MOST, more are left out and
 * *all is false. -1 with no memory. */
int matrix_search_run(const matrix_search *s, const matrix_unit *from, int from_count, matrix_unit **out, bool *all);
bool matrix_search_explains(const matrix_search *s, const matrix_unit *u);
#endif
