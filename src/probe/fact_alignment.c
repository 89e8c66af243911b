/* To how many bits below the largest term the others are cut, and how. */
#include "probe/find.h"

static void ladder(matrix_ladder *l, int base, int below, bool through_addend, int how) {
    ladder_dot d = ladder_zero(l);
    bool negative = how & 1, more = how & 2, large_negative = how & 4;
    int at = 1, k = l->box->k;
    ladder_power(l, &d, 0, large_negative, base);
    if (through_addend)
        ladder_addend(l, &d, !large_negative, base, 0);
    else
        ladder_power(l, &d, at++, !large_negative, base);
    ladder_power(l, &d, at++, negative, base - below);
    if (more) /* one and a half of a unit; beside each other they are cut one by one */
        ladder_power(l, &d, at++, negative, base - below - 1);
    if (at <= k)
        ladder_add(l, &d);
}

static void ask(matrix_ladder *l) {
    const matrix_box *b = l->box;
    int high = ladder_highest(b), least = number_lowest_exponent(b->c), bases[2] = {0, high > 24 ? 24 : high};
    for (int base = 0; base < 2; base++)
        for (int below = 0; below <= 45; below++)
            for (int how = 0; how < 8; how++)
                for (int through = 0; through < 2; through++)
                    if (bases[base] - below - 1 >= least)
                        ladder(l, bases[base], below, through, how);
    /* One factor with a fraction of ones against a large term: what of it is cut shows the direction. */
    for (int below = 1; below <= 40; below++)
        for (int how = 0; how < 4; how++) {
            uint32_t a = 0, one;
            bool negative = how & 1;
            ladder_dot d = ladder_zero(l);
            ladder_power(l, &d, 0, how & 2, bases[1]);
            ladder_addend(l, &d, !(how & 2), bases[1], 0);
            d.possible &= number_make(b->b, false, 0, 0, &one) &&
                          number_make(b->a, negative, bases[1] - below, (1u << number_table[b->a].stored_bits) - 1, &a);
            ladder_codes(l, &d, 1, a, one);
            if (d.possible && bases[1] - below - number_table[b->a].stored_bits >= least)
                ladder_add(l, &d);
        }
}

const matrix_fact_row fact_alignment = {"alignment",
                                        "To how many bits below the largest term are the others cut, and in which direction?",
                                        "A ladder of bits: -1 and 1 (in c and a product, or two products) and 2^-j beside them, "
                                        "for every j, both signs, one term and two.",
                                        {PARAMETER_ALIGNMENT, PARAMETER_CUT, PARAMETER_COUNT},
                                        ask,
                                        false};
