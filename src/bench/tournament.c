/* Tournaments: settings of a schedule, alone and in every stack, against the schedule as it is. */
#include "bench/suite.h"
#include "bench/text.h"
#include "bench/view.h"
#include <math.h>
#include <string.h>

enum { MOST_LEVERS = 4, MOST_STACKS = 1 << MOST_LEVERS };

/* ---- which arms ---- */

/* The next "KEY=VALUE" of settings joined by commas; false at the end. */
static bool next_key(const char **at, const char **key, size_t *length) {
    if (!**at)
        return false;
    *key = *at;
    *length = strcspn(*at, "=,");
    *at += strcspn(*at, ",");
    *at += **at == ',';
    return true;
}

static bool sets(const char *settings, const char *key, size_t length) {
    const char *other;
    size_t n;
    while (next_key(&settings, &other, &n))
        if (n == length && !strncmp(other, key, n))
            return true;
    return false;
}

static bool share_a_key(const char *x, const char *y) {
    const char *key;
    size_t length;
    while (next_key(&x, &key, &length))
        if (sets(y, key, length))
            return true;
    return false;
}

static bool sets_twice(const char *settings) {
    const char *key;
    size_t length;
    while (next_key(&settings, &key, &length))
        if (sets(settings, key, length))
            return true;
    return false;
}

typedef struct lever {
    const char *name, *settings;
} lever;

static bool read_lever(arena *a, const char *text, const lever *before, int count, lever *out, diag_list *diags) {
    const char *colon = strchr(text, ':');
    const char *wrong = !colon || colon == text || !colon[1] || strcspn(text, "+") < (size_t)(colon - text)
                            ? "NAME:SETTINGS is wanted"
                        : sets_twice(colon + 1) ? "it sets a key twice"
                                                : NULL;
    if (!wrong) {
        *out = (lever){arena_strndup(a, text, (size_t)(colon - text)), colon + 1};
        for (int i = 0; i < count; i++)
            wrong = strcmp(before[i].name, out->name) ? wrong : "a second lever of this name";
    }
    if (!wrong)
        return true;
    diag *g = diag_error(diags, "E1010", (source_span){0}, "--lever %s: %s", text, wrong);
    diag_note(diags, g, "as in --lever wide:BN=256 --lever direct:operands=direct,vector=8");
    return false;
}

/* The arm that pulls the levers of `stack`, and their names; false when two of them set one key. */
static bool stack_up(arena *a, const char *base, const lever *levers, int count, unsigned stack, const char **arm,
                     const char **names) {
    text_buffer name = {0}, words = {0};
    bool fits = true;
    text_add(&words, "%s", base);
    for (int i = 0; i < count; i++) {
        if (!(stack >> i & 1))
            continue;
        for (int j = 0; j < i; j++)
            fits = fits && (!(stack >> j & 1) || !share_a_key(levers[i].settings, levers[j].settings));
        text_add(&name, "%s%s", name.length ? "+" : "", levers[i].name);
        text_add(&words, "%s%s", strchr(text_get(&words), ':') ? "," : ":", levers[i].settings);
    }
    *arm = arena_strdup(a, text_get(&words));
    *names = arena_strdup(a, text_get(&name));
    text_free(&name);
    text_free(&words);
    return fits;
}

static int pulled(unsigned stack) {
    int count = 0;
    for (; stack; stack >>= 1)
        count += stack & 1;
    return count;
}

bool suite_levers(arena *a, lab_cell *cell, const char *const *levers, int count, diag_list *diags) {
    lever list[MOST_LEVERS];
    if (count > MOST_LEVERS) {
        diag_error(diags, "E1010", (source_span){0}, "%d levers: every stack of them is measured, so at most %d", count,
                   MOST_LEVERS);
        return false;
    }
    const char *base = cell->arms.count ? cell->arms.at[0] : "ours", *none = "";
    if (cell->arms.count > 1 || strncmp(base, "ours", 4) || (base[4] && base[4] != ':' && base[4] != '@')) {
        diag_error(diags, "E1010", (source_span){0}, "a tournament is of one arm of ours, as `ours` or `ours@cuda`, not `%s`",
                   cell->arms.count > 1 ? cell->arms.at[1] : base);
        return false;
    }
    for (int i = 0; i < count; i++)
        if (!read_lever(a, levers[i], list, i, &list[i], diags))
            return false;
    cell->arms.count = cell->levers.count = 0;
    VEC_PUSH(a, cell->arms, base);
    VEC_PUSH(a, cell->levers, none);
    /* Singles first, then stacks: by how many levers they pull. */
    for (int size = 1; size <= count; size++)
        for (unsigned stack = 1; stack < 1u << count; stack++) {
            const char *arm, *names;
            if (pulled(stack) != size || !stack_up(a, base, list, count, stack, &arm, &names))
                continue;
            VEC_PUSH(a, cell->arms, arm);
            VEC_PUSH(a, cell->levers, names);
        }
    return true;
}

/* ---- what came of it ---- */

/* How much faster a stack is than the reference: the reference is the first arm, so rows give the inverse. */
typedef struct lever_row {
    const char *name, *arm;
    int levers;
    bool timed;
    const char *reason; /* why it is not */
    double gain, low, high;
    bool counts;
} lever_row;

static bool pulls(const char *stack, const char *lever) {
    size_t n = strlen(lever);
    for (const char *at = stack; (at = strstr(at, lever)); at += n)
        if ((at == stack || at[-1] == '+') && (at[n] == 0 || at[n] == '+'))
            return true;
    return false;
}

static int read_rows(const json_t *rows, lever_row list[MOST_STACKS]) {
    int count = 0;
    size_t i;
    json_t *row;
    json_array_foreach((json_t *)rows, i, row) {
        const json_t *ratio = json_object_get(row, "ratio");
        if (!*row_text(row, "lever") || count >= MOST_STACKS)
            continue;
        lever_row *l = &list[count++];
        *l = (lever_row){
            .name = row_text(row, "lever"), .arm = row_text(row, "arm"), .levers = 1, .reason = row_text(row, "reason")};
        for (const char *c = l->name; *c; c++)
            l->levers += *c == '+';
        if (!json_is_object(ratio))
            continue;
        l->timed = true;
        l->gain = 1 / row_number(ratio, "median");
        l->low = 1 / row_number(ratio, "high");
        l->high = 1 / row_number(ratio, "low");
        l->counts = strcmp(row_text(row, "verdict"), "inconclusive") != 0;
    }
    return count;
}

/* What the interval reaches decides: all of it over the best single lever is a gain, with the product inside or under it the whole gain.
 * `helps`: some single counts as a gain, so that there is something to cancel. `loss`: the most that a single reaches which counts for the worse. */
static const char *stack_verdict(const lever_row *l, double best, double product, bool helps, double loss) {
    bool reaches = l->high >= product, beyond = l->low > product;
    if (!l->counts && l->low > loss)
        return "the loss is made up for";
    if (!l->counts && !(helps && l->high < best))
        return "does not count";
    if (l->low > best)
        return best < 1 && l->low <= 1 ? "they lose less than either" : reaches ? "they compound" : "they compound in part";
    if (l->high >= best)
        return "no more than the best of them";
    return !reaches && helps ? "they cancel"
           : !reaches        ? "worse together than alone"
           : beyond          ? "they lose, but less than their product"
                             : "each does what it does alone";
}

static void print_stack(text_buffer *out, const lever_row *list, int count, const lever_row *l) {
    double product = 1, best = 0;
    double loss = INFINITY;
    bool known = true, helps = false;
    for (int s = 0; s < count; s++)
        if (list[s].levers == 1 && pulls(l->name, list[s].name)) {
            known = known && list[s].timed;
            helps = helps || (list[s].counts && list[s].gain > 1);
            if (list[s].counts && list[s].gain < 1 && list[s].high < loss)
                loss = list[s].high;
            product *= list[s].gain;
            best = list[s].gain > best ? list[s].gain : best;
        }
    if (known)
        text_add(out, "%s (the product of the singles is %.3fx)", stack_verdict(l, best, product, helps, loss), product);
    else
        text_add(out, "a single of it was not measured");
}

void bench_text_tournament(text_buffer *out, const json_t *rows) {
    lever_row list[MOST_STACKS];
    int count = read_rows(rows, list);
    const lever_row *winner = NULL;
    if (!count)
        return;
    text_add(out, "  levers: how much faster than the schedule as it is\n");
    for (int n = 0; n < count; n++) {
        const lever_row *l = &list[n];
        text_add(out, "    %-28s ", l->name);
        if (!l->timed) {
            text_add(out, "not measured: %s\n", *l->reason ? l->reason : "see above");
            continue;
        }
        text_add(out, "%.3fx [%.3f, %.3f]: ", l->gain, l->low, l->high);
        if (l->levers == 1)
            text_add(out, "%s", !l->counts ? "does not count" : l->gain > 1 ? "counts" : "counts, for the worse");
        else
            print_stack(out, list, count, l);
        text_add(out, "\n");
        if (l->counts && l->low > 1 && (!winner || l->gain > winner->gain))
            winner = l;
    }
    if (winner)
        text_add(out, "    the best: %s, %s\n", winner->name, winner->arm);
    else
        text_add(out, "    the best: the schedule as it is; no lever is a gain\n");
}
