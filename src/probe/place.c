/* Where an instruction executes: three signals of which none alone is proof. */
#include "probe/probe.h"
#include "probe/patience.h"
#include <string.h>

enum { SAMPLES = 3 };

/* The best of a few samples. */
static bool best_of(const probe_target *t, rate_of which, double *best, diag_list *diags) {
    *best = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double now;
        if (!ANSWERED(t->rate(t->context, which, &now, diags)))
            return false;
        *best = now > *best ? now : *best;
    }
    return true;
}

bool place_probe(arena *a, const probe_target *t, rate_finding *out, diag_list *diags) {
    double own, scalar, legacy = 0, watts[2] = {0, 0}, held[2];
    if (!t->sustained)
        return true;
    out->asked = true;
    if (!best_of(t, RATE_OWN, &own, diags) || !best_of(t, RATE_SCALAR, &scalar, diags) ||
        (t->legacy && !best_of(t, RATE_LEGACY, &legacy, diags)) ||
        !ANSWERED(t->sustained(t->context, RATE_OWN, &held[0], &watts[0], diags)) ||
        !ANSWERED(t->sustained(t->context, RATE_SCALAR, &held[1], &watts[1], diags)))
        return false;
    out->ratio = own / scalar;
    out->per_second = own;
    out->watts = watts[0];
    VEC_PUSH(a, out->evidence,
             arena_printf(a, "%.3g multiply-adds a second, %.3g of the threads' own fma in f32: %.3g times", own, scalar,
                          own / scalar));
    if (t->legacy)
        VEC_PUSH(a, out->evidence, arena_printf(a, "%.3g times those of %s (%.3g)", own / legacy, t->legacy, legacy));
    bool told = watts[0] > 0 && watts[1] > 0;
    double energy = told ? watts[0] / held[0] * 1e12 : 0, scalar_energy = told ? watts[1] / held[1] * 1e12 : 0;
    VEC_PUSH(a, out->evidence,
             told ? arena_printf(a, "%.0f W, %.3g pJ a multiply-add; the threads' own: %.0f W, %.3g pJ", watts[0], energy,
                                 watts[1], scalar_energy)
                  : "the machine does not tell what the device draws");
    /* More than the threads' own units can do is done elsewhere; no faster and no cheaper is not. */
    bool faster = own > 2 * scalar, cheaper = !told || energy < scalar_energy / 2, slower = own <= 1.1 * scalar,
         dearer = !told || energy > scalar_energy / 2;
    out->accelerated = faster && cheaper;
    const char *opcodes = t->opcodes ? t->opcodes(t->context, a) : NULL;
    const bool behind = slower && dearer && opcodes && strstr(opcodes, "MMA");
    out->determined = out->accelerated || (slower && dearer);
    const char *how = arena_printf(a, "%.3g times the speed of the threads' own fma%s", own / scalar,
                                   told ? arena_printf(a, ", at %.2g of its energy", energy / scalar_energy) : "");
    out->verdict = out->accelerated
                       ? arena_printf(a, "in the matrix unit: %s%s", how,
                                      t->legacy ? arena_printf(a, ", %.2f times the older instruction", own / legacy) : "")
                   : behind ? arena_printf(a, "in the matrix unit, behind conversions in the threads' own units: %s", how)
                   : out->determined ? arena_printf(a, "in the threads' own units: %s", how)
                                     : arena_printf(a, "not determined: the signals differ (%s)", how);
    return true;
}
