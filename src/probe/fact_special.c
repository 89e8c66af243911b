/* NaN, infinities, overflow, and the sign of zero. */
#include "probe/find.h"

static void with(matrix_ladder *l, uint32_t c, uint32_t a, uint32_t b, uint32_t a1, uint32_t b1) {
    ladder_dot d = ladder_zero(l);
    d.question.c = c;
    ladder_codes(l, &d, 0, a, b);
    if (l->box->k > 1)
        ladder_codes(l, &d, 1, a1, b1);
    ladder_add(l, &d);
}

static void ask(matrix_ladder *l) {
    const matrix_box *b = l->box;
    uint32_t minus_a = number_sign_bit(b->a), minus_c = number_sign_bit(b->c), one_a, one_b, infinity = number_infinity(b->a);
    uint32_t c_infinity = number_infinity(b->c), largest = number_largest(b->c);
    number_make(b->a, false, 0, 0, &one_a);
    number_make(b->b, false, 0, 0, &one_b);
    /* NaN in c and in an operand, quiet and not, with its sign; and those that are made. E4M3 has no infinity: its code is NaN. */
    for (int bit = 0; bit < number_table[b->c].stored_bits; bit++)
        with(l, c_infinity | 1u << bit | (bit & 1 ? minus_c : 0), 0, 0, 0, 0);
    for (int bit = 0; bit < number_table[b->a].stored_bits; bit++)
        with(l, 0, infinity | 1u << bit | (bit & 1 ? minus_a : 0), one_b, 0, 0);
    with(l, 0, infinity, 0, 0, 0);
    with(l, 0, infinity, one_b, infinity | minus_a, one_b);
    with(l, c_infinity, infinity | minus_a, one_b, 0, 0);
    with(l, c_infinity | minus_c, one_a, one_b, 0, 0);
    with(l, 0, infinity | minus_a, one_b, one_a, one_b);
    /* Overflow: the largest value and a little, or much, more. */
    for (int negative = 0; negative < 2; negative++) {
        for (int below = 0; below <= number_table[b->c].stored_bits + 3; below++) {
            ladder_dot d = ladder_zero(l);
            d.question.c = largest | (negative ? minus_c : 0);
            ladder_power(l, &d, 0, negative, number_highest_exponent(b->c) - below);
            ladder_add(l, &d);
        }
        ladder_dot d = ladder_zero(l);
        for (int i = 0; i < b->k && i < 4; i++)
            ladder_power(l, &d, i, negative, number_highest_exponent(b->c));
        ladder_add(l, &d);
    }
    /* Zeros: c and every product negative; only c; only the products; 1 - 1; too small. */
    for (int how = 0; how < 4; how++) {
        ladder_dot d = ladder_zero(l);
        d.question.c = how & 1 ? minus_c : 0;
        for (int i = 0; i < b->k; i++)
            ladder_codes(l, &d, i, how & 2 ? minus_a : 0, one_b);
        ladder_add(l, &d);
    }
    with(l, 0, one_a, one_b, one_a | minus_a, one_b);
    with(l, minus_c, one_a | minus_a, one_b, one_a, one_b);
    for (int by = 1; by <= 4; by++) {
        ladder_dot d = ladder_zero(l);
        ladder_power(l, &d, 0, true, number_lowest_exponent(b->c) - number_table[b->c].stored_bits - by);
        ladder_add(l, &d);
    }
}

const matrix_fact_row fact_special = {"specials",
                                      "What are NaN results, overflow, and zeros?",
                                      "NaN of every payload bit in c and in operands, infinity times 0 and minus infinity; the "
                                      "largest value and 2^e more for every e; zeros of both signs.",
                                      {PARAMETER_NAN, PARAMETER_OVERFLOW_CLAMPS, PARAMETER_SIGNED_ZERO, PARAMETER_COUNT},
                                      ask,
                                      false};
