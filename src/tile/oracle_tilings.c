/* Rule 3 of the language, by trial: a kernel gives the same result at any tiling, up to rounding. */
#include "tile/oracle_internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STATIC_CHOICES = 60, ATTEMPTS = 40, MOST_CELLS = 1 << 14 };

typedef struct trial {
    const tile_kernel *k; /* statics bound, tile sizes free */
    arena *memory;
    uint64_t seed;
    int64_t *symbols; /* parallel to k->symbols: statics included */
    double *scalars;
    void **data;
    bool *blocks; /* per symbol: the last extent of an array in a block format */
} trial;

static uint64_t random_word(trial *t) { /* splitmix64 */
    uint64_t z = t->seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static int64_t random_below(trial *t, int64_t n) {
    return n > 0 ? (int64_t)(random_word(t) % (uint64_t)n) : 0;
}
static double random_unit(trial *t) {
    return (double)(random_word(t) >> 11) * 0x1p-53;
}

static int symbol_position(const tile_kernel *k, const index_var *v) {
    for (int i = 0; i < k->symbols.count; i++)
        if (k->symbols.at[i] == v)
            return i;
    return -1;
}

static bool lookup(void *context, const index_var *v, int64_t *value) {
    const trial *t = context;
    int at = symbol_position(t->k, v);
    if (at >= 0) {
        *value = t->symbols[at];
        return v->kind != INDEX_TILE;
    }
    for (int i = 0; i < t->k->scalars.count; i++)
        if (t->k->scalars.at[i]->var == v) {
            *value = (int64_t)t->scalars[i];
            return true;
        }
    return false;
}

/* Binds the statics: small ones, or their defaults. */
static void draw_statics(trial *t, const tile_kernel *source, bool defaults) {
    tile_binding *bindings = NEW_ARRAY(t->memory, tile_binding, source->symbols.count + 1);
    int count = 0;
    for (int i = 0; i < source->symbols.count; i++) {
        const index_var *v = source->symbols.at[i];
        if (v->kind != INDEX_STATIC)
            continue;
        t->symbols[i] = v->has_value && defaults ? v->value
                        : t->blocks[i]           ? 32 * (1 + random_below(t, 2))
                                                 : 1 + random_below(t, 4);
        bindings[count++] = (tile_binding){v->name, t->symbols[i]};
    }
    t->k = tile_specialise(t->memory, source, bindings, count);
}

/* where M == expression: the simplest condition to satisfy is satisfied directly. */
static void solve(trial *t, const cond *c) {
    if (!c)
        return;
    if (c->op == COND_AND) {
        solve(t, c->a);
        solve(t, c->b);
        return;
    }
    if (c->op != COND_EQ)
        return;
    for (int side = 0; side < 2; side++) {
        const index_expr *x = side ? c->y : c->x, *y = side ? c->x : c->y;
        int at = x->op == IX_VAR && x->var->kind == INDEX_SYMBOL ? symbol_position(t->k, x->var) : -1;
        int64_t value;
        if (at >= 0 && !t->k->derived.at[at] && ix_eval(y, lookup, t, &value) && value >= 0) {
            t->symbols[at] = value;
            return;
        }
    }
}

static bool draw_arguments(trial *t) {
    const tile_kernel *k = t->k;
    int free_symbols = 0; /* more of them, smaller ones */
    for (int i = 0; i < k->symbols.count; i++)
        free_symbols += k->symbols.at[i]->kind == INDEX_SYMBOL && !k->derived.at[i];
    int64_t least = free_symbols <= 3 ? 3 : 2, spread = free_symbols <= 3 ? 6 : free_symbols == 4 ? 4 : 2;
    for (int i = 0; i < k->symbols.count; i++) {
        const index_var *v = k->symbols.at[i];
        int64_t lo, hi;
        if (v->kind != INDEX_SYMBOL)
            continue;
        t->symbols[i] = t->blocks[i]         ? 32 * (1 + random_below(t, 2))
                        : random_below(t, 4) ? least + random_below(t, spread)
                                             : 1 + random_below(t, 3);
        if (v->lo && v->hi && ix_is_const(v->lo, &lo) && ix_is_const(v->hi, &hi) && hi >= lo)
            t->symbols[i] = lo + random_below(t, hi - lo < 16 ? hi - lo + 1 : 16);
    }
    for (int i = 0; i < k->where.count; i++)
        solve(t, k->where.at[i]);
    for (int pass = 0; pass < 2; pass++) { /* derived symbols may build on each other, and scalars' bounds on them */
        for (int i = 0; i < k->symbols.count; i++)
            if (k->derived.at[i] && (!ix_eval(k->derived.at[i], lookup, t, &t->symbols[i]) || t->symbols[i] < 0) && pass)
                return false;
        for (int i = 0; i < k->scalars.count && !pass; i++) {
            const tile_scalar *s = k->scalars.at[i];
            int64_t lo = 0, hi = 5;
            if (!s->var) {
                t->scalars[i] = s->type == ELEMENT_BOOL ? (double)random_below(t, 2) : round_to_f32(random_unit(t) * 2 - 0.5);
                continue;
            }
            if (s->var->lo && !ix_eval(s->var->lo, lookup, t, &lo))
                return false;
            if (s->var->hi && !ix_eval(s->var->hi, lookup, t, &hi))
                return false;
            if (hi < lo)
                return false;
            t->scalars[i] = (double)(lo + random_below(t, hi - lo < 16 ? hi - lo + 1 : 16));
        }
    }
    for (int i = 0; i < k->where.count; i++) {
        bool holds;
        if (!cond_eval(k->where.at[i], lookup, t, &holds) || !holds)
            return false;
    }
    return true;
}

static void fill_blocks(trial *t, const tile_array *x, int64_t cells, char *bytes) {
    const element_info *info = &element_table[x->type];
    for (int64_t b = 0; b < cells / info->block_elements; b++) {
        int first = element_set_scale(x->type, bytes + b * info->block_bytes, 0.01 + random_unit(t) * 0.02);
        for (int i = first; i < info->block_bytes; i++)
            bytes[b * info->block_bytes + i] = (char)random_word(t);
    }
}

static bool draw_data(trial *t) {
    const tile_kernel *k = t->k;
    for (int i = 0; i < k->arrays.count; i++) {
        const tile_array *x = k->arrays.at[i];
        int64_t cells = 1, extent = 1, bound = 0;
        for (int d = 0; d < x->rank; d++) {
            if (!ix_eval(x->dims[d], lookup, t, &extent) || extent < 0)
                return false;
            cells *= extent;
            if (cells > MOST_CELLS)
                return false;
        }
        if (extent % element_table[x->type].block_elements)
            return false;
        char *bytes = arena_alloc(t->memory, (size_t)element_bytes(x->type, cells) + 8);
        t->data[i] = bytes;
        if (element_table[x->type].block_elements > 1) {
            fill_blocks(t, x, cells, bytes);
            continue;
        }
        if (x->type == ELEMENT_INDEX &&
            (!ix_eval(x->index_bound, lookup, t, &bound) || (cells && bound < (x->injective ? cells : 1))))
            return false;
        for (int64_t c = 0; c < cells; c++) {
            double value = random_unit(t) * 2 - 1;
            if (x->type == ELEMENT_INDEX)
                value = x->injective ? (double)c : (double)random_below(t, bound);
            else if (!element_table[x->type].is_float)
                value = (double)random_below(t, x->type == ELEMENT_BOOL ? 2 : 9) - (element_table[x->type].is_signed ? 4 : 0);
            element_store(x->type, bytes, c, value);
        }
        for (int64_t c = cells - 1; x->injective && c > 0; c--) { /* a permutation; then some of the larger range */
            int64_t other = random_below(t, c + 1);
            double a = element_load(x->type, bytes, c), b = element_load(x->type, bytes, other);
            element_store(x->type, bytes, c, b);
            element_store(x->type, bytes, other, a);
        }
    }
    return true;
}

/* One tiling's results, and the text of its sizes: small tiles first, then large ones, then any. */
static bool run_tiling(trial *t, int number, oracle_result *out, const char **sizes, diag_list *diags) {
    const tile_kernel *k = t->k;
    tile_binding *bindings = NEW_ARRAY(t->memory, tile_binding, k->symbols.count + 1);
    int count = 0;
    text_buffer text = {0};
    for (int i = 0; i < k->symbols.count; i++) {
        const index_var *v = k->symbols.at[i];
        if (v->kind != INDEX_TILE)
            continue;
        int64_t size = number == 0 ? 1 + random_below(t, 2) : number == 1 ? 6 + random_below(t, 8) : 1 + random_below(t, 8);
        bindings[count++] = (tile_binding){v->name, size};
        text_add(&text, "%s%s = %" PRId64, text.length ? ", " : "", v->name, size);
    }
    *sizes = arena_strdup(t->memory, text_get(&text));
    text_free(&text);
    tile_kernel *bound = tile_specialise(t->memory, k, bindings, count);
    oracle_arguments args = {(const void *const *)t->data, t->scalars, t->symbols};
    oracle_options options = {.model = arithmetic_model_find("c"), .last_task = -1};
    return oracle_run_sized(bound, &args, &options, true, out, diags);
}

static bool agree(double x, double ex, double y, double ey, double scale) {
    if (!(ex < INFINITY) || !(ey < INFINITY))
        return true;
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    if (isinf(x) || isinf(y))
        return x == y;
    return fabs(x - y) <= (ex + ey) * (1 + 1e-9) + 1e-12 * scale;
}

static const char *cell_name(trial *t, const tile_array *x, int64_t cell) {
    int64_t index[64];
    int rank = x->rank < 64 ? x->rank : 64;
    for (int d = rank - 1; d >= 0; d--) {
        int64_t extent = 1;
        ix_eval(x->dims[d], lookup, t, &extent);
        index[d] = extent > 0 ? cell % extent : 0;
        cell = extent > 0 ? cell / extent : 0;
    }
    text_buffer text = {0};
    text_add(&text, "%s[", x->name);
    for (int d = 0; d < rank; d++)
        text_add(&text, "%s%" PRId64, d ? ", " : "", index[d]);
    text_add(&text, "]");
    const char *name = arena_strdup(t->memory, text_get(&text));
    text_free(&text);
    return name;
}

static const char *shape_text(trial *t) {
    text_buffer text = {0};
    for (int i = 0; i < t->k->symbols.count; i++)
        if (t->k->symbols.at[i]->kind != INDEX_TILE)
            text_add(&text, "%s%s = %" PRId64, text.length ? ", " : "", t->k->symbols.at[i]->name, t->symbols[i]);
    const char *copy = arena_strdup(t->memory, text_get(&text));
    text_free(&text);
    return copy;
}

static bool joins_under_predicate(const tile_block *b, bool under) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        if ((under && s->kind == TILE_STMT_JOIN) || joins_under_predicate(&s->body, under || s->predicate))
            return true;
    }
    return false;
}

static bool compare_tilings(trial *t, const oracle_result *a, const oracle_result *b, const char *sizes_a, const char *sizes_b,
                            diag_list *diags) {
    for (int i = 0; i < t->k->arrays.count; i++) {
        const tile_array *x = t->k->arrays.at[i];
        const oracle_output *p = &a->outputs[i], *q = &b->outputs[i];
        for (int64_t c = 0; c < p->cells; c++) {
            if (p->written[c] == q->written[c] &&
                agree(p->value[c], p->bound[c], q->value[c], q->bound[c], fmax(p->scale[c], q->scale[c])))
                continue;
            diag *g = diag_error(diags, "E0305", x->span, "kernel `%s`: the result depends on tile sizes", t->k->name);
            if (p->written[c] != q->written[c])
                diag_note(diags, g, "%s is written with %s, but not with %s", cell_name(t, x, c),
                          p->written[c] ? sizes_a : sizes_b, p->written[c] ? sizes_b : sizes_a);
            else
                diag_note(diags, g, "%s is %.9g with %s, but %.9g with %s", cell_name(t, x, c), p->value[c], sizes_a, q->value[c],
                          sizes_b);
            diag_note(diags, g, "at %s, on random data", shape_text(t));
            if (joins_under_predicate(&t->k->body, false))
                diag_note(diags, g,
                          "a `where` leaves elements out, and a state joins what its reductions give over none: sum 0, max -inf, "
                          "min inf. "
                          "If that is not its empty value, loop over all elements and choose, `select(condition, x, empty)`");
            return false;
        }
    }
    return true;
}

bool oracle_check_tilings(const tile_kernel *k, int trials, uint64_t seed, diag_list *diags) {
    bool any = false;
    for (int i = 0; i < k->symbols.count; i++)
        any |= k->symbols.at[i]->kind == INDEX_TILE;
    if (!any)
        return true;
    trial t = {.memory = arena_new(), .seed = seed};
    t.symbols = NEW_ARRAY(t.memory, int64_t, k->symbols.count + 1);
    t.scalars = NEW_ARRAY(t.memory, double, k->scalars.count + 1);
    t.data = NEW_ARRAY(t.memory, void *, k->arrays.count + 1);
    t.blocks = NEW_ARRAY(t.memory, bool, k->symbols.count + 1);
    for (int i = 0; i < k->arrays.count; i++) {
        const tile_array *x = k->arrays.at[i];
        const index_expr *last = x->rank ? x->dims[x->rank - 1] : NULL;
        if (last && last->op == IX_VAR && element_table[x->type].block_elements > 1)
            for (int j = 0; j < k->symbols.count; j++)
                t.blocks[j] |= k->symbols.at[j] == last->var;
    }
    bool found = false, ok = true;
    for (int choice = 0; choice < STATIC_CHOICES && !found; choice++) {
        draw_statics(&t, k, choice >= STATIC_CHOICES / 2);
        for (int attempt = 0; attempt < ATTEMPTS && !found; attempt++)
            found = draw_arguments(&t) && draw_data(&t);
    }
    if (!found)
        diag_warning(diags, "E0705", k->span,
                     "kernel `%s`: no small shape satisfies its conditions, so tilings were not compared", k->name);
    oracle_result first = {0};
    const char *first_sizes = "";
    for (int i = 0; found && ok && i < trials; i++) {
        oracle_result r;
        const char *sizes;
        ok = run_tiling(&t, i, &r, &sizes, diags);
        if (!ok)
            break;
        if (i == 0) {
            first = r;
            first_sizes = sizes;
            continue;
        }
        ok = compare_tilings(&t, &first, &r, first_sizes, sizes, diags);
        oracle_free(&r);
    }
    oracle_free(&first);
    arena_free(t.memory);
    return ok;
}
