/* Subnormals in c and in the result. */
#include "probe/find.h"

static void ask(matrix_ladder *l) {
    const matrix_box *b = l->box;
    int low = number_lowest_exponent(b->c);
    for (int by = -1; by <= number_table[b->c].stored_bits; by++)
        for (int negative = 0; negative < 2; negative++) {
            ladder_dot c = ladder_zero(l), product = c, both = c;
            ladder_addend(l, &c, negative, low - by, 0);
            ladder_add(l, &c);
            ladder_power(l, &product, 0, negative, low - by);
            ladder_add(l, &product);
            /* Only c is subnormal, the result is not. */
            ladder_addend(l, &both, negative, low - by, 0);
            ladder_power(l, &both, 0, negative, low);
            ladder_add(l, &both);
        }
    for (int kept = 1; kept <= number_table[b->c].stored_bits; kept++) {
        ladder_dot d = ladder_zero(l);
        d.question.c = (1u << kept) - 1;
        ladder_add(l, &d);
    }
}

const matrix_fact_row fact_subnormal = {"subnormals",
                                        "Do a subnormal c and subnormal results keep their value?",
                                        "Every power of two below the smallest normal number, in c, as a product, and in c "
                                        "beside a product that makes the result normal.",
                                        {PARAMETER_FLUSH_ADDEND, PARAMETER_FLUSH_RESULT, PARAMETER_COUNT},
                                        ask,
                                        false};
