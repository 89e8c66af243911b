/* A device of traits that is simulated, and the ring that devices are asked with. */
#include "probe/trait.h"

static uint64_t next_random(uint64_t *state) { /* splitmix64 (Vigna) */
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

void trait_ring(uint32_t *ring, int64_t bytes, int slot, int beside, uint64_t seed) {
    const uint32_t words = (uint32_t)slot / 4, count = (uint32_t)(bytes / slot), behind = (uint32_t)beside / 4;
    /* the order stands in the slots themselves: Sattolo's shuffle, whose permutations are one cycle */
    for (uint32_t i = 0; i < count; i++)
        ring[i * words] = i * words;
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(next_random(&seed) % i), kept = ring[i * words];
        ring[i * words] = ring[j * words];
        ring[j * words] = kept;
    }
    for (uint32_t i = 0; i < count && beside; i++) {
        ring[i * words + behind] = ring[i * words];
        ring[i * words] = i * words;
    }
}

/* ---- simulated ---- */

static bool begins(simulated_traits *s, diag_list *diags) {
    s->asked++;
    if (!s->fails_after || s->asked <= s->fails_after)
        return true;
    diag_error(diags, "E1208", (source_span){0}, "the simulated device was lost");
    return false;
}

static double blurred(const simulated_traits *s, double ns) {
    uint64_t state = (uint64_t)s->asked;
    return ns * (1 + s->noise * ((double)(next_random(&state) >> 40) / (1 << 23) - 1));
}

/* Each cache holds its share of the ring; what is in none takes memory's time. */
static double hop(const simulated_traits *s, double bytes) {
    double sum = 0, reached = 0;
    for (int i = 0; i <= s->caches; i++) {
        double share = i == s->caches || (double)s->cache_bytes[i] >= bytes ? 1 : (double)s->cache_bytes[i] / bytes;
        sum += (share - reached) * s->cache_ns[i];
        reached = share;
    }
    return sum;
}

static bool simulated_chase(void *context, int64_t bytes, int slot, int beside, double *ns, diag_list *diags) {
    simulated_traits *s = context;
    if (!begins(s, diags))
        return false;
    /* of a slot over a line a line is touched */
    const double touched = slot > 1024 ? (double)bytes / slot * s->line : (double)bytes;
    *ns = hop(s, touched) + (!beside ? 0 : beside < s->line ? s->cache_ns[0] : hop(s, touched));
    for (int64_t pages = s->page ? bytes / (slot > s->page ? slot : s->page) : 0; pages > s->pages; pages /= 2)
        *ns += 1;
    *ns = blurred(s, *ns);
    return true;
}

static bool simulated_shared(void *context, int stride, int words, double *ns, diag_list *diags) {
    simulated_traits *s = context;
    int most = 0, count[256] = {0};
    if (!begins(s, diags))
        return false;
    for (int l = 0; l < 32; l++)
        for (int w = 0; w < words; w++) {
            int *c = &count[(l * stride + w) % s->banks];
            most = ++*c > most ? *c : most;
        }
    *ns = blurred(s, 18.0 * most);
    return true;
}

static bool simulated_accepts(void *context, trait_limit limit, int64_t value, bool *accepted, diag_list *diags) {
    simulated_traits *s = context;
    if (!begins(s, diags))
        return false;
    *accepted = value <= s->limits[limit];
    return true;
}

static int64_t simulated_told(void *context, trait_limit limit) {
    return ((simulated_traits *)context)->told[limit];
}

static const char *simulated_access_name(const trait_box *box, int number, int *documented) {
    static const char *const names[] = {"load of 4 bytes", "load of 8 bytes", "load of 16 bytes", "load of 32 bytes"};
    (void)box;
    *documented = number < 4 ? 4 << number : 0;
    return number < 4 ? names[number] : NULL;
}

static bool simulated_touches(const trait_box *box, arena *a, int number, int offset, access_outcome *outcome, const char **words,
                              diag_list *diags) {
    simulated_traits *s = box->context;
    (void)a;
    *words = NULL;
    if (!begins(s, diags))
        return false;
    *outcome = s->alignment[number] && offset % s->alignment[number] == 0 ? ACCESS_TAKEN : ACCESS_FAULTED;
    return true;
}

static int64_t simulated_cache_told(void *context, int level) {
    return level < 4 ? ((simulated_traits *)context)->cache_told[level] : 0;
}

trait_box simulated_trait_box(simulated_traits *s) {
    return (trait_box){.device = "simulated",
                       .description = "no device",
                       .context = s,
                       .most_bytes = 64 << 20,
                       .page = s->page,
                       .chase = simulated_chase,
                       .shared = simulated_shared,
                       .accepts = simulated_accepts,
                       .told = simulated_told,
                       .access_name = simulated_access_name,
                       .touches = simulated_touches,
                       .cache_told = simulated_cache_told};
}
