/* What is accepted at most, against what the driver says. */
#include "probe/trait.h"
#include "probe/patience.h"
#include <inttypes.h>

/* Where the search ends; 0: just beyond what is told, for what takes a compiler. */
static const int64_t ceiling[LIMIT_COUNT] = {1 << 16, 1 << 20, 1 << 20, INT64_C(1) << 31, INT64_C(1) << 31, 1 << 16, 0, 0,
                                             0,       1 << 12, 1 << 8};

/* What a compiler or the driver alone refuses leaves the device as it was. */
static bool is_launched(trait_limit l) {
    return l != LIMIT_PARAMETERS && l != LIMIT_REGISTERS && l != LIMIT_MAP_BOX && l != LIMIT_MAP_SWIZZLED;
}

static bool still_there(const trait_box *box, trait_limit limit, trait_finding *out, diag_list *diags) {
    bool good;
    if (!is_launched(limit))
        return true;
    out->questions++;
    if (!ANSWERED(box->accepts(box->context, limit, 1, &good, diags)))
        return false;
    if (!good)
        diag_error(diags, "E1208", (source_span){0}, "%s: the device takes nothing any more after it refused %s", box->device,
                   trait_limit_names[limit]);
    return good;
}

/* The most that is accepted: *low is, *high is not (or is the end of the search). */
static bool halve(const trait_box *box, trait_limit limit, int64_t *low, int64_t *high, trait_finding *out, diag_list *diags) {
    while (*high - *low > 1) {
        int64_t middle = *low + (*high - *low) / 2;
        bool good;
        out->questions++;
        if (!ANSWERED(box->accepts(box->context, limit, middle, &good, diags)) || (!good && !still_there(box, limit, out, diags)))
            return false;
        *(good ? low : high) = middle;
    }
    return true;
}

bool trait_limits(arena *a, const trait_box *box, trait_finding *out, diag_list *diags) {
    if (!box->accepts)
        return true;
    out->asked = true;
    text_buffer text = {0}, claim = {0};
    bool good = true;
    for (int i = 0; i < LIMIT_COUNT && good; i++) {
        int64_t told = box->told ? box->told(box->context, (trait_limit)i) : 0, low = 0,
                high = ceiling[i] ? ceiling[i] : told + 1;
        bool more = false, less = false;        /* nothing was refused; less than told is, and nobody looks how much less */
        if (told < 0 || (!told && !ceiling[i])) /* the device knows no such thing, or nobody says where to look */
            continue;
        if (told > 0) { /* what is told is asked first: a right one takes two questions */
            bool at, above = false;
            out->questions += 2;
            good = ANSWERED(box->accepts(box->context, (trait_limit)i, told, &at, diags)) &&
                   (!at || ANSWERED(box->accepts(box->context, (trait_limit)i, told + 1, &above, diags)));
            low = good && at ? told : 0;
            high = good && !at ? told : good && !above ? told + 1 : high;
            more = good && at && above && !ceiling[i];
            less = good && !at && !ceiling[i];
        }
        good = good && (!ceiling[i] || halve(box, (trait_limit)i, &low, &high, out, diags)) &&
               still_there(box, (trait_limit)i, out, diags);
        if (!good)
            break;
        text_add(&text, "%s%s%" PRId64 " %s", text.length ? ", " : "", less ? "fewer than " : "", less ? told : low,
                 trait_limit_names[i]);
        if (!less)
            trait_add_number(a, out, trait_limit_names[i], (double)low);
        more |= high == ceiling[i] || high <= low;
        if (more)
            text_add(&text, " or more");
        if (told > 0)
            text_add(&claim, "%s%" PRId64 " %s", claim.length ? ", " : "", told, trait_limit_names[i]);
        out->contradicted |= told > 0 && told != low;
        VEC_PUSH(a, out->evidence,
                 arena_printf(a, "%s: %" PRId64 " accepted, %s; %s", trait_limit_names[i], low,
                              more ? "nothing refused" : arena_printf(a, "%" PRId64 " refused", high),
                              told > 0 ? arena_printf(a, "told %" PRId64, told) : "nothing told"));
    }
    out->determined = good;
    out->verdict = good ? arena_printf(a, "%s", text_get(&text)) : NULL;
    out->claim = claim.length ? arena_printf(a, "the driver: %s", text_get(&claim)) : NULL;
    text_free(&text);
    text_free(&claim);
    return good;
}
