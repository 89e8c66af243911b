/* Which bits of an operand's code are read, and whether subnormals are. */
#include "probe/find.h"

static void ask(matrix_ladder *l) {
    const matrix_box *b = l->box;
    uint32_t one_a, one_b;
    number_make(b->a, false, 0, 0, &one_a);
    number_make(b->b, false, 0, 0, &one_b);
    /* An infinity whose lowest fraction bits are set is a NaN, unless they are not read: no rounding has a part in this. */
    for (int bit = 0; number_table[b->a].has_infinity && bit < number_table[b->a].stored_bits; bit++) {
        ladder_dot d = ladder_zero(l);
        ladder_codes(l, &d, 0, number_infinity(b->a) | 1u << bit, one_b);
        ladder_add(l, &d);
    }
    /* Formats without infinity have so few bits that any sum keeps them. */
    for (int bit = 0; !number_table[b->a].has_infinity && bit < number_table[b->a].stored_bits; bit++) {
        ladder_dot d = ladder_zero(l);
        ladder_codes(l, &d, 0, one_a | 1u << bit, one_b);
        ladder_add(l, &d);
    }
    /* The largest power of two among the subnormals, times something that makes the result normal. */
    for (int side = 0; side < 2; side++) {
        number_kind kind = side ? b->b : b->a, other = side ? b->a : b->b;
        int exponent = number_lowest_exponent(kind) - 1, by = number_lowest_exponent(b->c) - exponent + 2;
        uint32_t small, large;
        ladder_dot d = ladder_zero(l);
        by = by < 0 ? 0 : by;
        d.possible = number_make(kind, false, exponent, 0, &small) && number_make(other, false, by, 0, &large);
        ladder_codes(l, &d, 0, side ? large : small, side ? small : large);
        ladder_add(l, &d);
    }
}

const matrix_fact_row fact_operand = {"operands",
                                      "Is every bit of an operand's code read, and are subnormal operands?",
                                      "Infinities with one more fraction bit set are NaN unless the bit is not read; one product "
                                      "of the largest subnormal power of two is nonzero unless it is flushed.",
                                      {PARAMETER_IGNORED_BITS, PARAMETER_FLUSH_OPERANDS, PARAMETER_COUNT},
                                      ask,
                                      false};
