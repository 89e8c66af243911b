/* Caches: where a hop through a ring begins to take longer as the ring grows. */
#include "probe/trait.h"
#include "probe/patience.h"

enum { SLOT = 128, LINE = 64, FIRST_BYTES = 4096, MOST_STEPS = 64, MOST_LEVELS = 8, HALVINGS = 3 };
/* Times of one level differ by less than FLAT; those of two levels by more than APART; what is asked twice by less than NOISE.
 * A level ends where a time is above ENDS of the last before it; one that is told WRONG times as large, or as small, is not as told. */
static const double FLAT = 1.12, APART = 1.25, NOISE = 1.15, ENDS = 1.05, WRONG = 1.5;

typedef struct ladder {
    int64_t bytes[MOST_STEPS];
    double ns[MOST_STEPS];
    int count, unsteady;
} ladder;

typedef struct level {
    int first, last; /* steps of the ladder */
    double ns;
} level;

/* The lesser of two answers; counts those that differ. */
static bool ask(const trait_box *box, int64_t bytes, int slot, double *ns, int *unsteady, trait_finding *out, diag_list *diags) {
    double again;
    if (!ANSWERED(box->chase(box->context, bytes, slot, 0, ns, diags)) ||
        !ANSWERED(box->chase(box->context, bytes, slot, 0, &again, diags)))
        return false;
    out->questions += 2;
    *unsteady += *ns > NOISE * again || again > NOISE * *ns;
    *ns = again < *ns ? again : *ns;
    return true;
}

/* Stretches of the ladder over an octave at least whose times are alike; neighbours that hardly differ are one. */
static int find_levels(const ladder *l, level levels[MOST_LEVELS]) {
    int count = 0;
    for (int i = 0; i < l->count;) {
        int j = i;
        double sum = l->ns[i];
        while (j + 1 < l->count && l->ns[j + 1] <= FLAT * sum / (j - i + 1) && sum / (j - i + 1) <= FLAT * l->ns[j + 1])
            sum += l->ns[++j];
        if (j - i >= 2) {
            double ns = sum / (j - i + 1);
            if (count && ns < APART * levels[count - 1].ns)
                levels[count - 1].last = j;
            else if (count < MOST_LEVELS)
                levels[count++] = (level){i, j, ns};
            levels[count - 1].ns = l->ns[levels[count - 1].last];
        }
        i = j + 1;
    }
    /* what is farther than the last of them, and steady nowhere */
    if (count && count < MOST_LEVELS && l->ns[l->count - 1] > APART * levels[count - 1].ns)
        levels[count++] = (level){l->count - 1, l->count - 1, l->ns[l->count - 1]};
    return count;
}

/* How many bytes of pages are found without another wait: rings of one slot a page, all of which the nearest cache holds by far. 0: more than it could show. */
static bool find_reach(arena *a, const trait_box *box, int64_t nearest, int64_t *reach, trait_finding *out, diag_list *diags) {
    const int slot = box->page + LINE; /* the next page, and the next line of it: no two of a set more than others */
    double first = 0, ns;
    int ignored = 0;
    int64_t before = 0;
    *reach = 0;
    for (int64_t octave = 16; box->page; octave *= 2)
        for (int half = 0; half < 2; half++) {
            const int64_t pages = half ? octave + octave / 2 : octave;
            if (2 * pages * LINE > nearest || pages * slot > box->most_bytes)
                return true;
            if (!ask(box, pages * slot, slot, &ns, &ignored, out, diags))
                return false;
            if (!before)
                first = ns;
            else if (ns > APART * first) {
                *reach = before * box->page;
                VEC_PUSH(a, out->evidence,
                         arena_printf(a, "a slot in each of %d pages of %d bytes: %.3g ns a hop; of %d: %.3g ns", (int)before,
                                      box->page, first, (int)pages, ns));
                return true;
            }
            before = pages;
        }
    return true;
}

static const char *size_text(arena *a, int64_t bytes) {
    return bytes >= 1 << 20 ? arena_printf(a, "%.3g MiB", (double)bytes / (1 << 20))
                            : arena_printf(a, "%.3g KiB", (double)bytes / 1024);
}

bool trait_caches(arena *a, const trait_box *box, trait_finding *out, diag_list *diags) {
    ladder l = {.count = 0};
    level levels[MOST_LEVELS];
    int ignored = 0;
    if (!box->chase)
        return true;
    out->asked = true;
    for (int64_t octave = FIRST_BYTES; octave <= box->most_bytes; octave *= 2)
        for (int half = 0; half < 2; half++) {
            int64_t bytes = (half ? octave + octave / 2 : octave) / SLOT * SLOT;
            if (bytes > box->most_bytes || l.count == MOST_STEPS)
                continue;
            l.bytes[l.count] = bytes;
            if (!ask(box, bytes, SLOT, &l.ns[l.count++], &l.unsteady, out, diags))
                return false;
        }
    for (int i = 0; i < l.count; i += 2)
        VEC_PUSH(a, out->evidence, arena_printf(a, "%s: %.3g ns a hop", size_text(a, l.bytes[i]), l.ns[i]));
    if (l.unsteady * 5 > l.count) {
        out->verdict = arena_printf(a, "not determined: the machine is noisy, %d of %d sizes took another time when asked again",
                                    l.unsteady, l.count);
        return true;
    }
    int count = find_levels(&l, levels);
    text_buffer text = {0}, claim = {0};
    int64_t reach = 0;
    for (int i = 0; i + 1 < count; i++) {
        int64_t low = l.bytes[levels[i].last], high = l.bytes[levels[i].last + 1];
        for (int h = 0; h < HALVINGS; h++) {
            int64_t middle = (low + high) / 2 / SLOT * SLOT;
            double ns;
            if (!ask(box, middle, SLOT, &ns, &ignored, out, diags))
                return false;
            *(ns <= ENDS * levels[i].ns ? &low : &high) = middle;
        }
        text_add(&text, "%slevel %d holds %s, and %s no longer, at %.3g ns", i ? "; " : "", i + 1, size_text(a, low),
                 size_text(a, high), levels[i].ns);
        if (!i && !find_reach(a, box, low, &reach, out, diags))
            return false;
        const bool by_cache =
            !reach || WRONG * (double)low < (double)reach; /* otherwise pages that are looked up again may have ended it */
        if (by_cache)
            trait_add_number(a, out, arena_printf(a, "level_%d_bytes", i + 1), (double)low);
        trait_add_number(a, out, arena_printf(a, "level_%d_ns", i + 1), levels[i].ns);
        int64_t told = box->cache_told ? box->cache_told(box->context, i) : 0;
        out->contradicted |= told && (double)low > WRONG * (double)told;
        out->contradicted |= told && by_cache && (double)told > WRONG * (double)low;
        if (told)
            text_add(&claim, "%slevel %d: %s", claim.length ? ", " : "", i + 1, size_text(a, told));
    }
    out->determined = count > 0;
    if (count)
        trait_add_number(a, out, "far_ns", levels[count - 1].ns);
    if (count)
        text_add(&text, "%swhat is farther takes %.3g ns (rings up to %s)", count > 1 ? "; " : "", levels[count - 1].ns,
                 size_text(a, box->most_bytes));
    if (count && reach)
        text_add(&text, "; beyond %s pages of %d bytes are looked up anew, so a level that ends there may hold more",
                 size_text(a, reach), box->page);
    out->verdict = count ? arena_printf(a, "%s", text_get(&text)) : "not determined: the times have no steps";
    out->claim = claim.length ? arena_printf(a, "%s", text_get(&claim)) : NULL;
    text_free(&text);
    text_free(&claim);
    return true;
}
