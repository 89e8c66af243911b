/* Whole numbers: whether sums wrap or clamp. */
#include "probe/find.h"

static void ask(matrix_ladder *l) {
    static const uint32_t addends[] = {0x7FFFFFFF, 0x7FFFFFFE, 0x80000000, 0x80000001, 0, 0xFFFFFFFF};
    /* 1, the largest, the smallest and all bits: of 8 bits, or of 4 */
    const uint32_t top = number_bits(l->box->a) == 4 ? 8 : 0x80, codes[] = {1, top - 1, top, 2 * top - 1};
    for (unsigned c = 0; c < sizeof addends / sizeof *addends; c++)
        for (int x = 0; x < 4; x++)
            for (int y = 0; y < 4; y++)
                for (int position = 0; position < l->box->k; position++) {
                    ladder_dot d = ladder_zero(l);
                    d.question.c = addends[c];
                    ladder_codes(l, &d, position, codes[x], codes[y]);
                    if (position % 3 == 1) /* one way and back: only the exact sum may be clamped */
                        ladder_codes(l, &d, 0, codes[x] ^ top, codes[y]);
                    ladder_add(l, &d);
                }
}

const matrix_fact_row fact_whole = {"whole numbers",
                                    "Do sums wrap or clamp?",
                                    "The largest and smallest s32 in c, and products of the extreme codes at every position.",
                                    {PARAMETER_SATURATE, PARAMETER_COUNT},
                                    ask,
                                    true};
