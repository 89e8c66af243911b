/* Two instructions on the same random dots: whether their bits are the same. */
#include "probe/probe.h"
#include <inttypes.h>
#include <stdlib.h>

bool compare_boxes(arena *a, const matrix_box *x, const matrix_box *y, const char *name, bool without_addend, int each,
                   uint64_t seed, compare_finding *out, diag_list *diags) {
    matrix_question *q = calloc((size_t)each, sizeof *q), *r = calloc((size_t)each, sizeof *r);
    bool good = q && r;
    uint64_t state = seed;
    *out = (compare_finding){.asked = true, .name = name};
    if (!good)
        diag_error(diags, "E0803", (source_span){0}, "no memory for dots");
    text_buffer kinds = {0};
    for (int kind = 0; kind < LADDER_KINDS && good; kind++) {
        int unstable[2], differ = 0;
        for (int i = 0; i < each; i++) {
            ladder_random(x, &state, kind, &q[i]);
            r[i] = q[i];
            if (without_addend) /* y is told not to read it, x is given none */
                q[i].c = 0;
        }
        good = matrix_box_ask(x, q, each, &unstable[0], diags) && matrix_box_ask(y, r, each, &unstable[1], diags);
        for (int i = 0; i < each && good; i++) {
            bool differs = q[i].answer != r[i].answer;
            if (differs && !out->differ && !differ)
                VEC_PUSH(a, out->evidence,
                         arena_printf(a, "%s: 0x%X here, 0x%X there", question_text(a, x, &r[i]), q[i].answer, r[i].answer));
            differ += differs;
        }
        text_add(&kinds, "%s%d", kind ? ", " : "", differ);
        out->dots += each;
        out->differ += differ;
    }
    if (good) {
        out->verdict = out->differ ? arena_printf(a, "differs in %" PRId64 " of %" PRId64 " random dots (%.0f%%)", out->differ,
                                                  out->dots, 100.0 * (double)out->differ / (double)out->dots)
                                   : arena_printf(a, "the same bits in all %" PRId64 " random dots", out->dots);
        VEC_PUSH(a, out->evidence,
                 arena_printf(
                     a, "of %d dots each that differ: %s (dense, wide, cancelling, sparse, tiny, large, finite bits, any bits)",
                     each, text_get(&kinds)));
    }
    text_free(&kinds);
    free(q);
    free(r);
    return good;
}
