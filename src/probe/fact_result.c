/* How many bits of the sum are kept, and how it is rounded. */
#include "probe/find.h"

static void ladder(matrix_ladder *l, int ones, int below, int how) {
    const matrix_box *b = l->box;
    bool negative = how & 1, opposite = how & 2, more = how & 4, in_addend = how & 8;
    ladder_dot d = ladder_zero(l);
    int at = 0;
    for (; at < ones; at++)
        ladder_power(l, &d, at, negative, 0);
    if (in_addend)
        ladder_addend(l, &d, negative != opposite, -below, more ? 1u << (number_table[b->c].stored_bits - 1) : 0);
    else {
        ladder_power(l, &d, at++, negative != opposite, -below);
        if (more)
            ladder_power(l, &d, at++, negative != opposite, -below - 1);
    }
    if (at <= b->k && -below - 1 >= number_lowest_exponent(b->c))
        ladder_add(l, &d);
}

static void ask(matrix_ladder *l) {
    for (int ones = 1; ones <= l->box->k; ones *= 2)
        for (int below = 1; below <= 28; below++)
            for (int how = 0; how < 16; how++)
                ladder(l, ones, below, how);
}

const matrix_fact_row fact_result = {"result",
                                     "How many bits of the sum are kept, and how is it rounded?",
                                     "1, 2, 4, .. products of 1 and 2^-j beside them (or 1.5 times it, or in c), for every j and "
                                     "sign: which of their bits the result shows, and ties.",
                                     {PARAMETER_OUTPUT_BITS, PARAMETER_ROUNDING, PARAMETER_COUNT},
                                     ask,
                                     false};
