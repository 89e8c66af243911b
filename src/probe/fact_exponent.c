/* What counts as the exponent that terms are aligned to. */
#include "probe/find.h"

/* +x and -x with the given codes, and 2^small beside them. */
static void beside(matrix_ladder *l, uint32_t a, uint32_t b, int small) {
    ladder_dot d = ladder_zero(l);
    if (l->box->k < 3)
        return;
    ladder_codes(l, &d, 0, a, b);
    ladder_codes(l, &d, 1, a ^ number_sign_bit(l->box->a), b);
    ladder_power(l, &d, 2, false, small);
    ladder_add(l, &d);
}

static void ask(matrix_ladder *l) {
    const matrix_box *b = l->box;
    uint32_t one, zero_partner, low_a;
    int low = number_lowest_exponent(b->c), lowest_a = number_lowest_exponent(b->a), stored_a = number_table[b->a].stored_bits;
    for (int j = 0; j <= 45; j++) {
        for (int by = 0; by < 8; by += 7) { /* 1.5 x 1.5 = 2.25, and the same far up, for results that do not reach far down */
            uint32_t a15, b15;
            number_make(b->a, false, by, 1u << (stored_a - 1), &a15);
            number_make(b->b, false, by, 1u << (number_table[b->b].stored_bits - 1), &b15);
            if (2 * by - j >= low)
                beside(l, a15, b15, 2 * by - j);
        }
        /* 0 x a large number beside a small one. */
        for (int high = 4; high <= 12; high += 8)
            if (number_make(b->b, false, high > number_highest_exponent(b->b) ? number_highest_exponent(b->b) : high, 0,
                            &zero_partner)) {
                ladder_dot d = ladder_zero(l);
                ladder_codes(l, &d, 0, 0, zero_partner);
                ladder_power(l, &d, b->k > 1, false, high - j);
                if (high - j >= low && b->k > 1)
                    ladder_add(l, &d);
            }
        /* Subnormals: the two lowest and the highest power of two, as they are and times as much as there is. */
        int high_b = number_highest_exponent(b->b) > 60 ? 60 : number_highest_exponent(b->b);
        for (int at = 0; at < 3; at++)
            for (int by = 0; by <= high_b; by += high_b)
                if (number_make(b->a, false, at == 2 ? lowest_a - 1 : lowest_a - stored_a + at, 0, &low_a) &&
                    number_make(b->b, false, by, 0, &one) && lowest_a + by - j >= low)
                    beside(l, low_a, one, lowest_a + by - j);
    }
    /* What decides between two subnormal results: a small term beside c, beside c less half of the last bit, and beside half of it. */
    int last = low - number_table[b->c].stored_bits;
    for (int j = 1; j <= 48; j++)
        for (int negative = 0; negative < 2 && b->k > 1; negative++) {
            ladder_dot small = ladder_zero(l), d;
            ladder_power(l, &small, 1, negative, last - j);
            d = small;
            ladder_power(l, &d, 0, false, last - 1);
            ladder_add(l, &d);
            for (int at = 0; at <= number_table[b->c].stored_bits; at++) {
                d = small;
                ladder_addend(l, &d, false, last + at, 0);
                ladder_add(l, &d);
                ladder_power(l, &d, 0, true, last - 1);
                ladder_add(l, &d);
            }
        }
    /* Near the smallest exponents there are. */
    static const int near[] = {-149, -148, -145, -140, -136, -134, -133, -132, -130, -126};
    for (unsigned i = 0; i < sizeof near / sizeof *near; i++)
        for (int j = 1; j <= 28; j++)
            for (int negative = 0; negative < 2; negative++) {
                ladder_dot d = ladder_zero(l);
                ladder_power(l, &d, 0, false, near[i]);
                ladder_power(l, &d, b->k > 1, negative, near[i] - j);
                if (b->k > 1)
                    ladder_add(l, &d);
            }
}

const matrix_fact_row fact_exponent = {
    "exponent",
    "Which exponent are terms aligned to: products of fractions over 2, zeros, subnormals, the smallest?",
    "1.5 x 1.5 and its negative, 0 times a large number, and subnormals with their negatives, each with 2^-j beside it for every "
    "j; half of the smallest result, a subnormal c, and c less that half, with 2^-j beside them; 2^e and 2^(e-j) for e at the "
    "lower end.",
    {PARAMETER_NORMALISED_PRODUCTS, PARAMETER_NORMALISED_OPERANDS, PARAMETER_NORMALISED_ADDEND, PARAMETER_ZEROS_COUNT,
     PARAMETER_LOWEST_EXPONENT, PARAMETER_COUNT},
    ask,
    false};
