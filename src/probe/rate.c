/* Is an instruction made in hardware? Its speed against the f16 instruction of the same kind, sample by sample in pairs, and the opcodes it became. */
#include "probe/probe.h"
#include "probe/patience.h"
#include <stdlib.h>

enum { PAIRS = 8 };

static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

bool rate_probe(arena *a, const probe_target *t, rate_finding *out, diag_list *diags) {
    double ratios[PAIRS], fastest = 0;
    *out = (rate_finding){.asked = true};
    for (int i = 0; i < PAIRS; i++) { /* the one, the other; the other, the one: a drift of the clock falls out */
        double rate[2];
        for (int n = 0; n < 2; n++) {
            rate_of which = n ^ (i & 1) ? RATE_TWIN : RATE_OWN;
            if (!ANSWERED(t->rate(t->context, which, &rate[which], diags)))
                return false;
        }
        ratios[i] = rate[0] / rate[1];
        fastest = rate[0] > fastest ? rate[0] : fastest;
    }
    qsort(ratios, PAIRS, sizeof *ratios, by_value);
    double ratio = (ratios[PAIRS / 2 - 1] + ratios[PAIRS / 2]) / 2, low = ratios[1], high = ratios[PAIRS - 2];
    double bits = number_bits(t->box.a), whole = (t->twin_bits ? t->twin_bits : 16) / bits;
    out->ratio = ratio;
    out->per_second = fastest;
    VEC_PUSH(a, out->evidence,
             arena_printf(a, "%.3g multiply-adds a second at most; %.3g times those of %s, from %.3g to %.3g over %d pairs",
                          fastest, ratio, t->twin, low, high, PAIRS));
    const char *opcodes = t->opcodes ? t->opcodes(t->context, a) : NULL;
    if (opcodes)
        VEC_PUSH(a, out->evidence, opcodes);
    out->determined = high - low <= 0.1 * ratio;
    out->accelerated = out->determined && ratio >= 0.75 * whole;
    if (!out->determined)
        out->verdict =
            arena_printf(a, "not determined: the machine is noisy, the ratio to %s went from %.3g to %.3g", t->twin, low, high);
    else
        out->verdict = arena_printf(a, "%s: %.2f times the multiply-adds of %s, where %g would be all of the unit's",
                                    out->accelerated ? "accelerated" : "not accelerated", ratio, t->twin, whole);
    return true;
}
