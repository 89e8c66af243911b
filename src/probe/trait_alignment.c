/* The least alignment that each access is taken with, against what the documents want. */
#include "probe/access.h"
#include "probe/trait.h"

bool trait_alignment(arena *a, const trait_box *box, trait_finding *out, diag_list *diags) {
    int documented = 0, as_documented = 0, rows = 0;
    if (!box->access_name || !box->access_name(box, 0, &documented))
        return true;
    out->asked = out->determined = true;
    text_buffer strict = {0}, others = {0};
    const char *name;
    for (int i = 0; (name = box->access_name(box, i, &documented)); i++) {
        int least = 0;
        const char *words = NULL, *last = NULL;
        access_outcome outcome = ACCESS_TAKEN;
        /* the documented alignment first; then each half of what was taken */
        for (int offset = documented; offset >= 1 && outcome == ACCESS_TAKEN; offset /= 2) {
            out->questions++;
            if (!box->touches(box, a, i, offset, &outcome, &words, diags)) {
                text_free(&strict);
                text_free(&others);
                return false;
            }
            if (outcome == ACCESS_TAKEN)
                least = offset;
            last = words;
        }
        if (outcome == ACCESS_NOT_ASKED) {
            VEC_PUSH(a, out->evidence, arena_printf(a, "%s: it could not be asked", name));
            out->determined = false;
            continue;
        }
        rows++;
        const char *how = outcome == ACCESS_TAKEN
                              ? "every place is taken"
                              : arena_printf(a, "%d bytes on: %s%s%s", least ? least / 2 : documented,
                                             access_outcome_text(outcome), last ? ": " : "", last ? last : "");
        VEC_PUSH(a, out->evidence,
                 least ? arena_printf(a, "%s: a multiple of %d bytes is taken; %s (documented: %d)", name, least, how, documented)
                       : arena_printf(a, "%s: not taken at its documented alignment of %d; %s", name, documented, how));
        if (least)
            trait_add_number(a, out, name, least);
        if (least == documented)
            as_documented++;
        else if (least)
            text_add(&others, "%s%s takes multiples of %d (documented: %d)", others.length ? ", " : "", name, least, documented);
        else
            text_add(&others, "%s%s is not taken", others.length ? ", " : "", name);
        /* a compiler that does not know an access says nothing on its alignment */
        out->contradicted |= !least && outcome != ACCESS_NOT_COMPILED;
    }
    text_add(&strict, "%d of %d accesses are taken at their documented alignment and refused at half of it", as_documented, rows);
    out->verdict = arena_printf(a, "%s%s%s", text_get(&strict), others.length ? "; " : "", text_get(&others));
    out->claim = "each access wants an address that is a multiple of its own size; what happens otherwise is undefined";
    text_free(&strict);
    text_free(&others);
    return true;
}
