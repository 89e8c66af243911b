/* Banks of shared memory: the times of all strides, held against each number of banks. */
#include "probe/trait.h"
#include "probe/patience.h"
#include <math.h>

enum { LANES = 32, MOST_STRIDE = 66, LEAST_BANKS = 4, MOST_BANKS = 128 };
static const double LOOSE = 0.2;

/* How many different words of one bank the subgroup reads at most, each served after the other. */
static int degree(int stride, int banks) {
    int most = 0, count[MOST_BANKS] = {0};
    for (int l = 0; l < LANES; l++) {
        int *c = &count[l * stride % banks];
        most = ++*c > most ? *c : most;
    }
    return most;
}

bool trait_banks(arena *a, const trait_box *box, trait_finding *out, diag_list *diags) {
    double ns[MOST_STRIDE + 1], wide[3];
    if (!box->shared)
        return true;
    out->asked = true;
    out->claim = "CUDA's programming guide: 32 banks of 4 bytes; words of one bank are served one after the other";
    for (int s = 1; s <= MOST_STRIDE; s++, out->questions++)
        if (!ANSWERED(box->shared(box->context, s, 1, &ns[s], diags)))
            return false;
    for (int w = 0; w < 3; w++, out->questions++)
        if (!ANSWERED(box->shared(box->context, 1 << w, 1 << w, &wide[w], diags)))
            return false;
    int found = 0, candidates = 0;
    double best = INFINITY;
    for (int banks = LEAST_BANKS; banks <= MOST_BANKS; banks *= 2) {
        /* a time is a step for each word of the worst bank; not less than what one load takes anyway */
        double step = 0, worst = 0;
        int steps = 0;
        for (int s = 1; s <= MOST_STRIDE; s++)
            if (degree(s, banks) >= 4)
                step += ns[s] / degree(s, banks), steps++;
        step = steps ? step / steps : 0;
        for (int s = 1; s <= MOST_STRIDE && steps; s++) {
            double expected = fmax(step * degree(s, banks), ns[1]);
            worst = fmax(worst, fabs(ns[s] - expected) / expected);
        }
        if (!steps)
            continue;
        candidates += worst <= LOOSE;
        VEC_PUSH(a, out->evidence,
                 arena_printf(a, "%d banks: the stride that they explain worst is off by %.0f%%", banks, 100 * worst));
        if (worst < best)
            best = worst, found = banks;
    }
    for (int s = 1; s <= 64; s *= 2)
        VEC_PUSH(a, out->evidence, arena_printf(a, "stride %d: %.3g ns a load of 1024 threads", s, ns[s]));
    VEC_PUSH(a, out->evidence,
             arena_printf(a, "4, 8 and 16 bytes a thread side by side: %.3g, %.3g, %.3g ns, %.3g bytes a ns at most", wide[0],
                          wide[1], wide[2], 4096 * fmax(1 / wide[0], fmax(2 / wide[1], 4 / wide[2]))));
    out->determined = candidates == 1;
    out->contradicted = out->determined && found != 32;
    if (out->determined) {
        trait_add_number(a, out, "banks", found);
        trait_add_number(a, out, "bytes_per_ns", 4096 * fmax(1 / wide[0], fmax(2 / wide[1], 4 / wide[2])));
    }
    out->verdict =
        out->determined
            ? arena_printf(a, "%d banks of 4 bytes; a conflict of n words takes n steps (strides 1 to %d within %.0f%%)", found,
                           MOST_STRIDE, 100 * best)
            : arena_printf(a,
                           "not determined: no number of banks explains the times of all strides (%d the nearest, off by %.0f%%)",
                           found, 100 * best);
    return true;
}
