/* Whether products are exact before they are added. */
#include "probe/find.h"

/* A product of two fractions, alone and with its leading bits taken away again: what is left are its lowest bits. */
static void ask(matrix_ladder *l) {
    const matrix_box *b = l->box;
    int sa = number_table[b->a].stored_bits, sb = number_table[b->b].stored_bits;
    for (int keep = 1; keep <= sa; keep++)
        for (int taken = 0; taken < 2; taken++)
            for (int position = 0; position<b->k; position += b->k> 1 ? b->k - 1 : 1) {
                uint32_t x, y = 0;
                ladder_dot d = ladder_zero(l);
                uint32_t fraction_a = ((1u << keep) - 1) << (sa - keep), fraction_b = (1u << sb) - 1;
                d.possible = number_make(b->a, false, 0, fraction_a, &x) && number_make(b->b, false, 0, fraction_b, &y);
                ladder_codes(l, &d, position, x, y);
                if (taken) /* (2 - e)(2 - f) < 4: 2 and then 1.5 go */
                    ladder_addend(l, &d, true, 1, 1u << (number_table[b->c].stored_bits - 1));
                ladder_add(l, &d);
            }
}

const matrix_fact_row fact_product = {"products",
                                      "Are products exact before they are added?",
                                      "Products of long fractions, alone and with their leading part taken away through c: a "
                                      "rounded product has other lowest bits.",
                                      {PARAMETER_COUNT},
                                      ask,
                                      false};
