/* Choosing tile sizes: what the command line says, else the module's schedule for the target, else the compiler from the kernel's shape. */
#include "schedule/propose.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_TILE = 1 << 20, MOST_UNROLLED = 1200, MOST_OF_HALF = 2000 };
/* Registers of a thread that accumulators of matrix instructions may take: half of what there are, and a fragment for what is stored. */
/* A chain of products (lanes_chain.h) has more of them at a time, and nothing else. */
enum { MOST_ACCUMULATED = 128 + 8, MOST_OF_WARPGROUP = 192 + 8, MOST_OF_CHAIN = 192 + 8, LEAST_OF_CHAIN = 32 };

static tile_range *range_of(const tile_kernel *k, const index_var *symbol, int *count) {
    tile_range *found = NULL;
    *count = 0;
    for (int i = 0; i < k->ranges.count; i++) {
        const index_expr *size = k->ranges.at[i]->size;
        if (size->op == IX_VAR && size->var == symbol) {
            found = k->ranges.at[i];
            ++*count;
        }
    }
    return found;
}

static bool legal_size(const char *name, int64_t value, source_span span, diag_list *diags) {
    if (value >= 1 && value <= LARGEST_TILE)
        return true;
    diag *g = diag_error(diags, "E0501", span, "tile size %s = %lld is outside 1 .. %d", name, (long long)value, LARGEST_TILE);
    diag_caret(diags, g, "the nearest legal value is %d", value < 1 ? 1 : LARGEST_TILE);
    return false;
}

static index_var *find_tile(const tile_kernel *k, const char *name) {
    for (int i = 0; i < k->symbols.count; i++)
        if (k->symbols.at[i]->kind == INDEX_TILE && !strcmp(k->symbols.at[i]->name, name))
            return k->symbols.at[i];
    return NULL;
}

static void list_tiles(const tile_kernel *k, text_buffer *out) {
    for (int i = 0; i < k->symbols.count; i++)
        if (k->symbols.at[i]->kind == INDEX_TILE)
            text_add(out, "%s%s", out->length ? ", " : "", k->symbols.at[i]->name);
}

static void unknown_key(const tile_kernel *k, const char *key, source_span span, const machine_model *machine, diag_list *diags) {
    static const char *const elsewhere[] = {"vector", "subgroups", "operands", "tasks",   "indices", "matrix_access", "roles",
                                            "stages", "swizzle",   "cluster",  "promote", "sums",    "edges"};
    text_buffer names = {0};
    list_tiles(k, &names);
    diag *g;
    bool known = false;
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        known = known || !strcmp(elsewhere[i], key);
    if (known)
        g = diag_error(diags, "E0503", span, "`%s` is not a choice that target %s has", key, machine->target);
    else
        g = diag_error(diags, "E0502", span, "kernel `%s` has no tile size named `%s`", k->name, key);
    diag_caret(diags, g, "its tile sizes: %s", names.length ? text_get(&names) : "none");
    text_buffer options = {0};
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (option_target_has(machine, elsewhere[i]))
            text_add(&options, "%s%s", options.length ? ", " : "", elsewhere[i]);
    diag_note(diags, g, "the options of target %s: %s", machine->target, text_get(&options));
    text_free(&options);
    text_free(&names);
}

const tile_schedule *module_schedule(const tile_module *m, const tile_kernel *k, const char *target,
                                     const schedule_setting *settings, int setting_count) {
    const tile_schedule *found = NULL;
    const char *name = k->origin ? k->origin : k->name;
    for (int i = 0; i < setting_count; i++)
        if (!strcmp(settings[i].key, SCHEDULE_KEY))
            return NULL;
    for (int i = 0; m && i < m->schedules.count; i++) {
        const tile_schedule *s = m->schedules.at[i];
        if (strcmp(s->kernel, name))
            continue;
        if (s->target && !strcmp(s->target, target))
            return s;
        if (!s->target && !found)
            found = s;
    }
    return found;
}

typedef struct choice {
    index_var *symbol;
    int64_t value;
    bool chosen_here; /* by the compiler: may be made smaller to fit */
    bool of_loop;
} choice;

/* What a kernel takes with some sizes. */
typedef struct need {
    int64_t bytes;       /* of private memory, or of shared memory for a block of threads */
    int64_t statements;  /* with unrolled loops written out */
    int64_t accumulated; /* registers of a thread, where matrix instructions are used */
    int matrix_products;
    bool ringed; /* and operands are copied ahead */
    bool chained;
    bool windows, windows_in_place;
} need;

/* Operations of a value: what lanes hand to each other takes a step for each halving of the subgroup. */
static int64_t operations(const kernel_value *v) {
    int64_t sum = v->op == KERNEL_SUBGROUP_SUM || v->op == KERNEL_SUBGROUP_MAX || v->op == KERNEL_SUBGROUP_MIN ? 8 : 0;
    for (int i = 0; i < v->operand_count; i++)
        sum += operations(v->operands[i]);
    return sum;
}

/* Statements of a thread once its unrolled loops are written out. */
static int64_t unrolled_statements(const kernel_block *b) {
    int64_t sum = 0;
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        int64_t inside = unrolled_statements(&s->body) + unrolled_statements(&s->otherwise), lo, hi, step;
        if (s->kind == KSTMT_FOR && s->unroll && ix_is_const(s->lo, &lo) && ix_is_const(s->hi, &hi) &&
            ix_is_const(s->step, &step) && step > 0 && hi > lo)
            inside *= (hi - lo + step - 1) / step;
        sum += s->kind == KSTMT_LET || s->kind == KSTMT_STORE ? 1 + operations(s->value) : inside;
        if (sum > INT32_MAX)
            return INT32_MAX;
    }
    return sum;
}

static int64_t accumulated(const kernel_ir *k, int lanes, int warpgroup) {
    int64_t sum = 0;
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        if (f->role == FRAGMENT_ACCUMULATOR && f->holder == LEVEL_WARPGROUP) /* halves go in pairs */
            sum += (int64_t)f->rows * f->columns * f->count * element_table[f->element].block_bytes / (4 * lanes * warpgroup);
        else if (f->role == FRAGMENT_ACCUMULATOR)
            sum += (int64_t)f->rows * f->columns * f->count / lanes;
    }
    for (int i = 0; sum && i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        int64_t cells = a->space == SPACE_REGISTER ? kernel_array_cells(a) : 0;
        sum += cells > 0 ? cells * a->lanes : 0;
    }
    return sum;
}

static bool needs_bound(arena *a, const tile_kernel *bound, const machine_model *machine, need *out, diag_list *diags) {
    lowering low;
    if (!lower_kernel(a, bound, machine, &low, diags) ||
        (machine->options.producer && !lower_roles(a, bound, machine, &low, diags)))
        return false;
    const kernel_ir *ir = low.plan->variants.at[0].kernel;
    *out = (need){machine->subgroup_lanes ? kernel_shared_bytes(ir) : kernel_private_bytes(ir),
                  unrolled_statements(&ir->body),
                  ir->fragments.count && machine->subgroup_lanes
                      ? accumulated(ir, machine->subgroup_lanes, machine->warpgroup_subgroups)
                      : 0,
                  low.matrix_products,
                  low.ringed,
                  low.chained,
                  low.windows,
                  low.windows_in_place};
    return true;
}

/* False when it can't be lowered (then `diags` says why). */
static bool needs(const tile_kernel *k, const machine_model *machine, const choice *choices, int count, need *out,
                  diag_list *diags) {
    arena *a = arena_new();
    tile_binding *bindings = NEW_ARRAY(a, tile_binding, count);
    for (int i = 0; i < count; i++)
        bindings[i] = (tile_binding){choices[i].symbol->name, choices[i].value};
    diag_list quiet;
    diag_init(&quiet, a);
    bool lowered = needs_bound(a, tile_specialise(a, k, bindings, count), machine, out, &quiet);
    for (int i = 0; !lowered && i < quiet.items.count && diags; i++) {
        const diag *g = quiet.items.at[i];
        diag *copy = diag_error(diags, g->code, g->span, "%s", g->message);
        if (g->caret)
            diag_caret(diags, copy, "%s", g->caret);
        for (int n = 0; n < g->notes.count; n++)
            diag_note(diags, copy, "%s", g->notes.at[n]);
    }
    arena_free(a);
    return lowered;
}

/* The same, for memory alone; -1 when it can't be lowered. */
static int64_t bytes_needed(const tile_kernel *k, const machine_model *machine, const choice *choices, int count) {
    need n;
    return needs(k, machine, choices, count, &n, NULL) ? n.bytes : -1;
}

static int64_t bytes_there(const machine_model *m, const need *n) {
    return (n->ringed || n->chained) && m->ring_bytes ? m->ring_bytes : m->subgroup_lanes ? m->shared_bytes : m->private_bytes;
}

bool schedule_fits(const tile_kernel *bound, const machine_model *machine) {
    arena *a = arena_new();
    diag_list quiet;
    diag_init(&quiet, a);
    need n;
    bool fits =
        needs_bound(a, bound, machine, &n, &quiet) && n.bytes <= bytes_there(machine, &n) && n.statements <= MOST_UNROLLED;
    arena_free(a);
    return fits;
}

/* Every slot of a range is written out, since registers can't be indexed: smaller tiles until a thread's text is of a length that compilers and
 * instruction caches like, each time of the range whose tiles save most. */
static void shorten(const tile_kernel *k, const machine_model *machine, choice *choices, int count, int64_t statements) {
    /* Halves of a split loop make few trips: one with more under way is worth a longer text. */
    const int64_t most = k->origin && dealt_loop(k) ? MOST_OF_HALF : MOST_UNROLLED;
    while (statements > most) {
        int best = -1;
        for (int i = 0; i < count; i++) {
            int64_t size = choices[i].value;
            need with;
            if (!choices[i].chosen_here || size < 2)
                continue;
            choices[i].value = (size + 1) / 2;
            if (needs(k, machine, choices, count, &with, NULL) && with.bytes <= bytes_there(machine, &with) &&
                with.statements < statements) {
                best = i;
                statements = with.statements;
            }
            choices[i].value = size;
        }
        if (best < 0)
            return;
        choices[best].value = (choices[best].value + 1) / 2;
    }
}

enum { LEAST_OF_LOOP = 4, LEAST_OF_TASK = 8 };

/* Products that read windows of an operand multiply copies of them, which repeat its elements as often as windows overlap: tiles so small that copies and results stay in
 * the cache, a loop's first, then results' from the outermost inwards. False: they do, or no tile can be smaller. */
static bool shrink_windows(const tile_kernel *k, const machine_model *machine, const need *now, choice *choices, int count) {
    if (machine->subgroup_lanes || !now->windows || (!now->windows_in_place && now->bytes <= machine->cache_bytes / 2))
        return false;
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < count; i++) {
            const int64_t size = choices[i].value, least = turn ? LEAST_OF_TASK : LEAST_OF_LOOP;
            if (!choices[i].chosen_here || choices[i].of_loop == turn || size <= least)
                continue;
            need with;
            choices[i].value = (size + 1) / 2;
            if (needs(k, machine, choices, count, &with, NULL) && (now->windows_in_place || with.bytes != now->bytes))
                return true;
            choices[i].value = size;
        }
    return false;
}

static bool fit(const tile_kernel *k, const machine_model *machine, choice *choices, int count, source_span span,
                diag_list *diags) {
    for (int round = 0; round < 200; round++) {
        need now;
        if (!needs(k, machine, choices, count, &now, diags))
            return false;
        if (shrink_windows(k, machine, &now, choices, count))
            continue;
        int64_t bytes = now.bytes;
        int largest = -1;
        for (int i = 0; i < count; i++)
            if (choices[i].chosen_here && choices[i].value > 1 && (largest < 0 || choices[i].value > choices[largest].value))
                largest = i;
        for (int i = 0; now.chained && i < count; i++) /* fewer rows leave subgroups without any */
            if (choices[i].chosen_here && choices[i].of_loop && choices[i].value > LEAST_OF_CHAIN)
                largest = i;
        const int64_t most = now.chained                           ? MOST_OF_CHAIN
                             : machine->options.operand_warpgroups ? MOST_OF_WARPGROUP
                                                                   : MOST_ACCUMULATED;
        if (bytes <= bytes_there(machine, &now) && (now.accumulated <= most || largest < 0)) {
            if (machine->subgroup_lanes)
                shorten(k, machine, choices, count, now.statements);
            return true;
        }
        if (largest >= 0) {
            choices[largest].value = (choices[largest].value + 1) / 2;
            continue;
        }
        diag *g =
            diag_error(diags, "E0505", span, "schedule for %s needs %lld bytes of %s memory for each task, the device has %lld",
                       machine->target, (long long)bytes, machine->subgroup_lanes ? "shared" : "private",
                       (long long)bytes_there(machine, &now));
        for (int i = 0; i < count; i++) {
            choice smaller[64];
            if (count > 64 || choices[i].value < 2)
                continue;
            memcpy(smaller, choices, sizeof *choices * (size_t)count);
            for (smaller[i].value /= 2;
                 smaller[i].value > 1 && bytes_needed(k, machine, smaller, count) > bytes_there(machine, &now);)
                smaller[i].value /= 2;
            int64_t saved = bytes - bytes_needed(k, machine, smaller, count);
            if (saved > 0)
                diag_note(diags, g, "%s = %lld -> %lld saves %lld bytes", choices[i].symbol->name, (long long)choices[i].value,
                          (long long)smaller[i].value, (long long)saved);
        }
        return false;
    }
    return false;
}

const char *joined_words(arena *a, const tile_schedule_entry *e) {
    text_buffer text = {0};
    for (int i = 0; i < e->words.count; i++)
        text_add(&text, "%s", e->words.at[i]);
    const char *joined = arena_strdup(a, text_get(&text));
    text_free(&text);
    return joined;
}

static bool whole_number(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return *text && !*end && !errno;
}

static void set_tile(choice *choices, int count, const index_var *symbol, const schedule_setting *s, source_span span,
                     diag_list *diags) {
    int64_t value;
    if (!whole_number(s->value, &value)) {
        diag *g = diag_error(diags, "E0501", span, "tile size %s must be an integer", s->key);
        diag_caret(diags, g, "an integer, 1 .. %d", LARGEST_TILE);
        return;
    }
    for (int i = 0; i < count; i++)
        if (choices[i].symbol == symbol && legal_size(s->key, value, span, diags)) {
            choices[i].value = value;
            choices[i].chosen_here = false;
        }
}

typedef VEC(schedule_setting) setting_list;

/* The compiler's size for each of the kernel's tile sizes. */
static int propose(const range_survey *s, const machine_model *machine, bool matrices, choice *choices) {
    int count = 0;
    for (int i = 0; i < s->k->symbols.count; i++) {
        index_var *symbol = s->k->symbols.at[i];
        if (symbol->kind != INDEX_TILE)
            continue;
        int users;
        const tile_range *r = range_of(s->k, symbol, &users);
        choices[count++] = (choice){symbol,
                                    !r                        ? 1
                                    : machine->subgroup_lanes ? proposed_for_threads(s, r, machine, matrices)
                                                              : proposed_for_task(s, r),
                                    true, r && !r->is_task};
    }
    return count;
}

bool schedule_choose_settings(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                              const schedule_setting *settings, int setting_count, schedule_choice *out, diag_list *diags) {
    int errors = diags->errors, count = 0;
    *out = (schedule_choice){0};
    const tile_schedule *given = module_schedule(m, k, row->target, settings, setting_count);
    source_span span = given && given->entries.count ? given->span : k->span;
    /* The module's first: what is set over it replaces it. */
    setting_list all = {0};
    for (int e = 0; given && e < given->entries.count; e++) {
        const tile_schedule_entry *entry = &given->entries.at[e];
        schedule_setting s = {entry->key, joined_words(a, entry), entry->span};
        VEC_PUSH(a, all, s);
    }
    for (int i = 0; i < setting_count; i++)
        VEC_PUSH(a, all, settings[i]);
    for (int i = 0; i < all.count; i++) {
        const schedule_setting *s = &all.at[i];
        option_place place = {k, row, s->span.line ? s->span : k->span, diags};
        if (find_tile(k, s->key))
            continue;
        bool of_source = i < all.count - setting_count;
        if (!strcmp(s->key, SCHEDULE_KEY)) { /* no key of a source's: the word opens one */
            if (strcmp(s->value, "none") != 0) {
                diag *g = diag_error(diags, "E0504", place.span, "schedule = %s: `none` alone can be said of it", s->value);
                diag_caret(diags, g, "none: the module's schedule is not taken");
            }
            continue;
        }
        if (k->origin && of_source && !schedule_has_option(k, s->key))
            continue; /* for the other half, or for the whole */
        if (option_target_has(row, s->key))
            option_set(&place, s, &out->options);
        else
            unknown_key(k, s->key, place.span, row, diags);
    }
    const machine_model wanted = schedule_machine(row, &out->options), own = block_machine(a, k, &wanted), *machine = &own;
    const range_survey s = survey_ranges(a, k, &machine->matrices);
    choice *choices = NEW_ARRAY(a, choice, k->symbols.count);
    /* With tiles for matrix instructions first, if they may be used; where nothing came of it, as if there were none. */
    bool matrices = machine->matrices.count && s.matrix_types, settled = false;
    while (!settled) {
        need with = {0};
        count = propose(&s, machine, matrices, choices);
        for (int i = 0; i < all.count; i++) {
            const index_var *symbol = find_tile(k, all.at[i].key);
            if (symbol)
                set_tile(choices, count, symbol, &all.at[i], all.at[i].span.line ? all.at[i].span : k->span, diags);
        }
        if (diags->errors > errors)
            return false;
        settled = !matrices || (needs(k, machine, choices, count, &with, NULL) && with.matrix_products);
        matrices = false;
    }
    if (!fit(k, machine, choices, count, span, diags))
        return false;
    text_buffer text = {0};
    for (int i = 0; i < count; i++) {
        tile_binding b = {choices[i].symbol->name, choices[i].value};
        VEC_PUSH(a, out->bindings, b);
        VEC_PUSH(a, out->chosen, choices[i].chosen_here);
        text_add(&text, "%s%s = %lld%s", i ? ", " : "", b.name, (long long)b.value, choices[i].chosen_here ? " (chosen)" : "");
    }
    options_print(&text, &out->options);
    out->text = arena_strdup(a, text_get(&text));
    text_free(&text);
    return true;
}

schedule_setting *schedule_settings_of(arena *a, const tile_binding *bindings, int count) {
    schedule_setting *settings = NEW_ARRAY(a, schedule_setting, count + 1);
    for (int i = 0; i < count; i++)
        settings[i] = (schedule_setting){.key = bindings[i].name, .value = arena_printf(a, "%lld", (long long)bindings[i].value)};
    return settings;
}

bool schedule_choose(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *machine,
                     const tile_binding *overrides, int override_count, schedule_choice *out, diag_list *diags) {
    return schedule_choose_settings(a, m, k, machine, schedule_settings_of(a, overrides, override_count), override_count, out,
                                    diags);
}
