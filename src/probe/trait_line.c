/* What a miss brings: a second load beside the first is quick where it came along. */
#include "probe/trait.h"
#include "probe/patience.h"

enum { SLOT = 1024, MOST_BESIDE = 512 };

bool trait_line(arena *a, const trait_box *box, trait_finding *out, diag_list *diags) {
    if (!box->chase)
        return true;
    out->asked = true;
    /* the nearest cache that the system tells of, or a size that no nearest cache has */
    int64_t nearest = box->cache_told ? box->cache_told(box->context, 0) : 0, bytes = (nearest ? nearest : 1 << 20) * 8;
    bytes = bytes > box->most_bytes ? box->most_bytes : bytes;
    double alone, both, first = 0;
    int line = 0;
    bool steady = true; /* what comes along costs next to nothing, and what does not is told from it at every distance */
    if (!ANSWERED(box->chase(box->context, bytes, SLOT, 0, &alone, diags)))
        return false;
    out->questions++;
    for (int beside = 8; beside <= MOST_BESIDE; beside *= 2) {
        if (!ANSWERED(box->chase(box->context, bytes, SLOT, beside, &both, diags)))
            return false;
        out->questions++;
        first = beside == 8 ? both - alone : first;
        VEC_PUSH(a, out->evidence,
                 arena_printf(a, "%d bytes behind: %.3g ns more than a hop of %.3g ns", beside, both - alone, alone));
        const bool apart = both - alone > (first + alone) / 2;
        if (!line && apart)
            line = beside;
        steady = steady && apart == (line > 0) && both - alone > -alone / 4;
    }
    out->determined = steady && first < 0.6 * alone && line != 8;
    out->verdict = !steady            ? "not determined: the machine is noisy, distances are not told apart the same way twice"
                   : !out->determined ? "not determined: a word beside the one just loaded is no nearer than another miss"
                                      : arena_printf(a, "%d bytes %scome with a miss of the nearest cache",
                                                     line ? line : MOST_BESIDE, line ? "" : "or more ");
    if (out->determined)
        trait_add_number(a, out, "bytes", line ? line : MOST_BESIDE);
    return true;
}
