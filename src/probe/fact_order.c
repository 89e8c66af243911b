/* In which order, and how many at a time, products and c are added: by swamping. */
#include "probe/find.h"

/* Two large terms of opposite sign and a small one: it survives only where it is not added while a large one stands. */
static void swamp(matrix_ladder *l, int plus, int minus, int small, int high, int low) {
    if (plus == small || minus == small || plus == minus)
        return;
    ladder_dot d = ladder_zero(l);
    ladder_power(l, &d, plus, false, high);
    if (minus < 0)
        ladder_addend(l, &d, true, high, 0);
    else
        ladder_power(l, &d, minus, true, high);
    ladder_power(l, &d, small, false, low);
    ladder_add(l, &d);
}

static void ask(matrix_ladder *l) {
    const matrix_box *b = l->box;
    int high = ladder_highest(b), low = ladder_lowest(b), k = b->k;
    if (high > 40)
        high = 40;
    for (int small = 0; small < k; small++) {
        for (int at = 0; at<k; at += k> 8 ? k / 8 : 1)
            swamp(l, at, -1, small, high, low);
        swamp(l, k - 1, -1, small, high, low);
        for (int apart = 1; apart < k; apart *= 2) {
            swamp(l, 0, apart, small, high, low);
            swamp(l, k - 1 - apart, k - 1, small, high, low);
            swamp(l, k / 2, k / 2 ^ apart, small, high, low);
        }
    }
    /* The addend alone small, the products large. */
    for (int at = 1; at < k; at++) {
        ladder_dot d = ladder_zero(l);
        ladder_power(l, &d, at - 1, false, high);
        ladder_power(l, &d, at, true, high);
        ladder_addend(l, &d, false, low, 0);
        ladder_add(l, &d);
    }
}

const matrix_fact_row fact_order = {"order",
                                    "How many products are added at once, in which order, and where does c come in?",
                                    "Swamping: +x and -x at two positions (or in c) and a small term at a third, for every "
                                    "position of it; it is lost exactly where it is added while x stands.",
                                    {PARAMETER_ORDER, PARAMETER_COUNT},
                                    ask,
                                    false};
