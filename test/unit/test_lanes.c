/* Kernels lowered for a block of threads: run thread by thread in the simulator, every access checked, and their results compared with the
 * oracle. The machine is made up; no target is needed. */
#include "compile.h"
#include "kernel/align.h"
#include "run/binding.h"
#include "run/recipe.h"
#include "sim/sim.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* Matrix instructions of eight lanes, of shapes of different sides. */
static const matrix_instruction matrices[] = {
    {"m8n4k8", 8, 4, 8, ELEMENT_F16, ELEMENT_F32, LEVEL_SUBGROUP, 8, "always", 4, 23, 0, false, false},
    {"m8n8k8", 8, 8, 8, ELEMENT_BF16, ELEMENT_F32, LEVEL_SUBGROUP, 8, "always", 4, 23, 0, false, false},
    {"m8n4k16", 8, 4, 16, ELEMENT_I8, ELEMENT_I32, LEVEL_SUBGROUP, 8, "always", 0, 0, 0, false, false},
    {"m8n4k4", 8, 4, 4, ELEMENT_TF32, ELEMENT_F32, LEVEL_SUBGROUP, 8, "always", 4, 23, 0, false, false},
};

static const machine_model small_block = {.target = "threads",
                                          .vector_lanes = 4,
                                          .vector_registers = 32,
                                          .private_bytes = 1 << 20,
                                          .cache_bytes = 1 << 20,
                                          .workers = 1,
                                          .subgroup_lanes = 8,
                                          .subgroups = 4,
                                          .most_subgroups = 8,
                                          .stages_operands = true,
                                          .staging_pays = true,
                                          .subgroups_alone = true,
                                          .stages = 3,
                                          .left_of_sums = 1u << 2,
                                          .matrices = {matrices, sizeof matrices / sizeof *matrices},
                                          .row_registers = 8,
                                          .shared_bytes = 48 * 1024};

/* The same, which copies nothing asynchronously: threads hold the next tiles in registers. */
static bool without_copies;
static machine_model block_without_copies;
static const machine_model *machine_of_run(void) {
    block_without_copies = small_block;
    block_without_copies.stages = 0;
    block_without_copies.held_stages = 2;
    return without_copies ? &block_without_copies : &small_block;
}

static bool favour_fragments; /* sizes that have fragments, and those asked for */
static bool favour_direct;    /* with operands straight from memory */

static void fail_with(diag_list *diags, const char *what, const char *shape) {
    diag_print_all(diags, stderr, false);
    fail_msg("%s at %s", what, shape);
}

/* Lowers, simulates and judges one kernel at one binding of its symbols. */
static void run_at(arena *a, const tile_kernel *k, const lowering *low, const kernel_ir *ir, binding *b, uint64_t seed,
                   diag_list *diags) {
    const char *shape = arena_printf(a, "%s", binding_text(b));
    int64_t *integers = NEW_ARRAY(a, int64_t, ir->symbols.count + ir->scalars.count),
            *symbols = NEW_ARRAY(a, int64_t, k->symbols.count);
    int n = 0;
    for (int i = 0; i < k->symbols.count; i++) {
        symbols[i] = k->symbols.at[i]->has_value ? k->symbols.at[i]->value : b->values[i];
        if (!k->symbols.at[i]->has_value)
            integers[n++] = symbols[i];
    }
    double *scalars = NEW_ARRAY(a, double, k->scalars.count);
    float *floats = NEW_ARRAY(a, float, k->scalars.count);
    int f = 0;
    uint64_t state = seed;
    for (int i = 0; i < k->scalars.count; i++) {
        const tile_scalar *s = k->scalars.at[i];
        int64_t lo = 0, hi = 3;
        if (s->var) {
            if (s->var->lo && !binding_evaluate(b, s->var->lo, &lo))
                lo = 0;
            if (!s->var->hi || !binding_evaluate(b, s->var->hi, &hi) || hi > lo + 1000)
                hi = lo + 3;
            int64_t value = hi >= lo ? lo + (int64_t)(recipe_next(&state) % (uint64_t)(hi - lo + 1)) : lo;
            integers[n++] = value;
            scalars[i] = (double)value;
        } else {
            floats[f] = 0.37f;
            scalars[i] = (double)floats[f++];
        }
    }
    void **arrays = NEW_ARRAY(a, void *, k->arrays.count), **original = NEW_ARRAY(a, void *, k->arrays.count);
    for (int i = 0; i < k->arrays.count; i++) {
        const tile_array *t = k->arrays.at[i];
        int64_t cells = 1, bound = 0, dim;
        for (int d = 0; d < t->rank; d++) {
            assert_true(binding_evaluate(b, t->dims[d], &dim));
            cells *= dim;
        }
        if (t->index_bound)
            assert_true(binding_evaluate(b, t->index_bound, &bound));
        int64_t bytes = element_bytes(t->type, cells);
        arrays[i] = arena_alloc(a, (size_t)bytes + 64);
        original[i] = arena_alloc(a, (size_t)bytes + 64);
        if (t->injective)
            recipe_fill_distinct(RECIPE_RANDOM, seed + (uint64_t)i, bound, cells, arrays[i]);
        else
            recipe_fill(RECIPE_RANDOM, seed + (uint64_t)i, t->type, bound, cells, arrays[i]);
        memcpy(original[i], arrays[i], (size_t)bytes);
        if (t->role == ARRAY_OUT)
            memset(arrays[i], 0xA5, (size_t)bytes);
    }
    sim_arguments arguments = {arrays, integers, floats};
    sim_options options = {.seed = seed};
    sim_report report;
    if (!sim_run(a, ir, &arguments, &options, &report, diags))
        fail_with(diags, k->name, shape);
    oracle_arguments given = {(const void *const *)original, scalars, symbols};
    oracle_options how = {.model = arithmetic_model_find("c"),
                          .trees = low->trees.at,
                          .tree_count = low->trees.count,
                          .chunks = low->dealt,
                          .last_task = -1};
    oracle_result expected;
    if (!oracle_run(k, &given, &how, &expected, diags))
        fail_with(diags, k->name, shape);
    for (int i = 0; i < k->arrays.count; i++) {
        if (k->arrays.at[i]->role == ARRAY_IN)
            continue;
        value_check check = oracle_compare(k->arrays.at[i], arrays[i], &expected.outputs[i]);
        if (!check.passed)
            fail_msg("%s at %s: %s[%lld] is %g, not %g within %g (%lld cells wrong)", k->name, shape, k->arrays.at[i]->name,
                     (long long)check.worst_cell, check.worst_device, check.worst_value, check.worst_bound,
                     (long long)check.failed);
    }
    oracle_free(&expected);
}

static const int64_t extents[] = {1, 2, 3, 7, 8, 9, 17, 31, 33, 40};
enum { EXTENTS = sizeof extents / sizeof *extents };

static bool is_divided(const plan_variant *v, const char *symbol) {
    for (int i = 0; v && i < v->divided.count; i++)
        if (!strcmp(v->aligned->symbols.at[v->divided.at[i]]->name, symbol))
            return true;
    return false;
}

/* Small symbols that the wheres allow, for an aligned form multiples where it wants them; false when none was found. */
static bool draw(binding *b, const tile_kernel *k, const plan_variant *aligned, uint64_t *state, diag_list *diags) {
    int several = 0; /* the simulator is slow: the more symbols, the smaller */
    for (int i = 0; i < k->symbols.count; i++)
        several += k->symbols.at[i]->kind == INDEX_SYMBOL;
    uint64_t choices = several >= 5 ? 3 : several >= 4 ? 4 : several == 3 ? 8 : EXTENTS;
    for (int trial = 0; trial < 200; trial++) {
        for (int i = 0; i < k->symbols.count; i++) {
            const index_var *v = k->symbols.at[i];
            if (v->kind == INDEX_SYMBOL && !k->derived.at[i])
                binding_set_symbol(b, v->name,
                                   is_divided(aligned, v->name) ? (int64_t)(16 + 16 * (recipe_next(state) % 3 == 0))
                                   : trial < 100                ? extents[recipe_next(state) % choices]
                                                                : extents[recipe_next(state) % 3] * (i % 2 ? 32 : 1),
                                   "the test", diags);
        }
        diag_list quiet;
        diag_init(&quiet, b->arena);
        bool holds = binding_solve(b, true, &quiet);
        for (int i = 0; holds && i < k->where.count; i++) {
            const cond *c = k->where.at[i];
            int64_t x, y;
            if (c->op == COND_EQ && binding_evaluate(b, c->x, &x) && binding_evaluate(b, c->y, &y))
                holds = x == y;
            if (c->op == COND_LE && binding_evaluate(b, c->x, &x) && binding_evaluate(b, c->y, &y))
                holds = x <= y;
        }
        for (int i = 0; holds && i < k->symbols.count; i++) /* derived ones too */
            holds = !is_divided(aligned, k->symbols.at[i]->name) || b->values[i] % aligned->multiple == 0;
        for (int i = 0; holds && i < k->arrays.count; i++) { /* what repeats nothing fits its range */
            const tile_array *t = k->arrays.at[i];
            int64_t cells = 1, dim = 0, bound = 0;
            for (int d = 0; d < t->rank && t->injective; d++)
                cells *= binding_evaluate(b, t->dims[d], &dim) ? dim : 1;
            holds = !t->injective || (binding_evaluate(b, t->index_bound, &bound) && cells <= bound);
        }
        if (holds)
            return true;
    }
    return false;
}

/* Chooses with a way to read operands and rows and columns of subgroups, as far as this kernel can have them: refused, it goes without. */
static bool choose(arena *a, const tile_module *m, const tile_kernel *k, const tile_binding *sizes, int count, uint64_t *state,
                   schedule_choice *choice, diag_list *diags) {
    static const char *const ways[] = {NULL, "direct", "staged", "staged(f32)", "fragments", NULL}, *const stands[] = {
                                                                                                        NULL, NULL, "4x2", "1x4"};
    schedule_setting *s = NEW_ARRAY(a, schedule_setting, count + 3);
    memcpy(s, schedule_settings_of(a, sizes, count), sizeof *s * (size_t)count);
    const int stages = without_copies                       ? 2
                       : favour_fragments && !favour_direct ? (int[]){0, 0, 1, 2, 3}[recipe_next(state) % 5]
                                                            : 0;
    const char *way = favour_direct      ? "fragments(direct)"
                      : favour_fragments ? "fragments"
                                         : ways[recipe_next(state) % 6],
               *stand = stands[recipe_next(state) % 4];
    for (int attempt = 0; attempt < 3; attempt++) {
        int n = count;
        diag_list refused;
        diag_init(&refused, a);
        if (stages && attempt < 1)
            s[n++] = (schedule_setting){.key = "stages", .value = arena_printf(a, "%d", stages)};
        if (way && attempt < 2)
            s[n++] = (schedule_setting){.key = "operands", .value = way};
        if (stand && attempt < 1)
            s[n++] = (schedule_setting){.key = "subgroups", .value = stand};
        if (schedule_choose_settings(a, m, k, machine_of_run(), s, n, choice, attempt < 2 ? &refused : diags))
            return true;
        for (int i = 0; i < refused.items.count; i++) { /* direct is always to be had where there is a product */
            const diag *g = refused.items.at[i];
            bool expected = !strcmp(g->code, "E0504") || !strcmp(g->code, "E0506") || !strcmp(g->code, "E0505");
            if (!expected || (attempt == 1 && way && !strcmp(way, "direct") && schedule_has_option(k, "operands")))
                fail_with(&refused, k->name, "its options");
        }
    }
    return false;
}

static int fragment_runs; /* kernels with fragments */
static int ring_runs;     /* and rings of their operands */
static int ahead_runs;    /* or of parts of them held in registers */
static int direct_runs;   /* and loads straight from memory */
static int chain_runs;    /* and operands out of accumulators, or reductions of them */

static bool loads_directly(const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        if ((s->kind == KSTMT_FRAGMENT_LOAD && s->access.array->space == SPACE_GLOBAL) || loads_directly(&s->body) ||
            loads_directly(&s->otherwise))
            return true;
    }
    return false;
}

static bool chains(const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        if (s->kind == KSTMT_FRAGMENT_CONVERT || s->kind == KSTMT_FRAGMENT_REDUCE || chains(&s->body) || chains(&s->otherwise))
            return true;
    }
    return false;
}

static void note_form(const kernel_ir *ir) {
    bool ring = false;
    for (int i = 0; i < ir->arrays.count; i++)
        ring = ring || (ir->arrays.at[i]->space == SPACE_SHARED && ir->arrays.at[i]->rank == 3 &&
                        strstr(ir->arrays.at[i]->name, "_tile"));
    fragment_runs += ir->fragments.count > 0;
    ring_runs += ir->fragments.count > 0 && ring && !without_copies;
    ahead_runs += ir->fragments.count > 0 && ring && without_copies;
    direct_runs += loads_directly(&ir->body);
    chain_runs += chains(&ir->body);
}

static int aligned_runs, row_runs; /* aligned forms, and forms for rows in registers, that were simulated */

/* Forms for rows that registers hold, each at the lengths about its bounds. */
static void try_rows(arena *a, const tile_kernel *k, const row_form_list *forms, const machine_model *machine, uint64_t *state,
                     diag_list *diags) {
    lowering low = {0};
    if (!lower_rows(a, k, machine, forms, &low, diags))
        fail_with(diags, k->name, "its forms");
    const cond *last = low.plan->variants.at[0].predicate; /* longest < length */
    for (int i = 0; i < low.plan->variants.count; i++)
        kernel_simplify(low.plan->variants.at[i].kernel);
    for (int i = 0; last && i < forms->count; i++)
        for (int which = 0; which < 3; which++) {
            binding b;
            binding_init(&b, a, signature_of_kernel(k));
            int at = binding_find_symbol(&b, last->y->var->name);
            int64_t most = forms->at[i].most, length = which == 0   ? most
                                                       : which == 1 ? most + 1
                                                                    : 1 + (int64_t)(recipe_next(state) % (uint64_t)most);
            if (at < 0 || !draw(&b, k, NULL, state, diags))
                continue;
            b.values[at] = length;
            int variant = 0;
            for (int f = forms->count - 1; f >= 0; f--)
                variant = length <= forms->at[f].most ? f + 1 : variant;
            kernel_ir *ir = low.plan->variants.at[variant].kernel;
            if (!kernel_check(ir, diags))
                fail_with(diags, k->name, "a form");
            run_at(a, k, &low, ir, &b, recipe_next(state), diags);
            row_runs++;
        }
}

static void try_kernel(const tile_module *m, const tile_kernel *source, uint64_t seed, diag_list *diags) {
    arena *a = arena_new();
    compile_options o = {.target = target_find("c"), .sample_statics = true};
    compiled_kernel out = {.module = m, .source = source};
    schedule_choice choice = {0};
    lowering low = {0};
    uint64_t state = seed;
    if (!compile_bind_statics(a, source, &o, &out, diags))
        fail_with(diags, source->name, "its statics");
    for (int i = 0; i < out.statics.count; i++) /* small ones: the simulator is slow */
        if (out.statics.at[i].value > 16)
            out.statics.at[i].value = 16;
    tile_kernel *k = tile_specialise(a, source, out.statics.at, out.statics.count);
    tile_binding sizes[18];
    int count = 0;
    for (int i = 0; i < k->symbols.count; i++)
        if (k->symbols.at[i]->kind == INDEX_TILE && count < 16)
            sizes[count++] = (tile_binding){k->symbols.at[i]->name,
                                            favour_fragments ? (int64_t[]){5, 8, 16, 17, 24, 32}[recipe_next(&state) % 6]
                                                             : (int64_t[]){1, 3, 8, 16, 32, 48}[recipe_next(&state) % 6]};
    without_copies = favour_fragments && !favour_direct && seed % 4 == 3;
    bool chosen = seed % (favour_fragments ? 8 : 2) == 0;
    count = chosen ? 0 : count;
    const int vector = (int[]){0, 0, 1, 2, 4}[recipe_next(&state) % 5],
              subgroups = (int[]){0, 0, 1, 2, 8}[recipe_next(&state) % 5];
    if (vector)
        sizes[count++] = (tile_binding){"vector", vector};
    if (subgroups)
        sizes[count++] = (tile_binding){"subgroups", subgroups};
    if (!choose(a, m, k, sizes, count, &state, &choice, diags))
        fail_with(diags, source->name, "its schedule");
    const machine_model machine = schedule_machine(machine_of_run(), &choice.options);
    const char *why;
    row_form_list forms = schedule_rows(a, k, &machine, &choice, &why);
    k = tile_specialise(a, k, choice.bindings.at, choice.bindings.count);
    if (forms.count)
        try_rows(a, k, &forms, &machine, &state, diags);
    if (!lower_kernel(a, k, &machine, &low, diags))
        fail_with(diags, source->name, "lowering");
    plan_variant *v = &low.plan->variants.at[0];
    kernel_ir *ir = v->kernel;
    kernel_simplify(ir);
    kernel_align_shared(ir);
    if (!kernel_check(ir, diags))
        fail_with(diags, source->name, choice.text);
    for (int trial = 0; trial < 2; trial++) {
        binding b;
        binding_init(&b, a, signature_of_kernel(k));
        if (draw(&b, k, NULL, &state, diags))
            run_at(a, k, &low, ir, &b, recipe_next(&state), diags), note_form(ir);
    }
    kernel_align_variant(a, v, true);
    if (v->aligned) {
        binding b;
        binding_init(&b, a, signature_of_kernel(k));
        if (!kernel_check(v->aligned, diags))
            fail_with(diags, source->name, "its aligned form");
        if (draw(&b, k, v, &state, diags)) {
            run_at(a, k, &low, v->aligned, &b, recipe_next(&state), diags);
            aligned_runs++;
        }
    }
    arena_free(a);
}

static int try_file(const char *path, uint64_t seed) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = arena_alloc(a, 1 << 18);
    assert_true(fread(text, 1, (1 << 18) - 1, f) > 0);
    fclose(f);
    tile_module *m = compile_load(a, path, text, &diags);
    assert_non_null(m);
    const char *only = getenv("TILEC_LANES_KERNEL");
    static int turn;
    bool quick = getenv("TILEC_QUICK"); /* a sample: every tenth kernel, once */
    for (int i = 0; i < m->kernels.count; i++) {
        if (only && strcmp(only, m->kernels.at[i]->name))
            continue;
        uint64_t runs = quick ? turn++ % 10 == 0 : 4;
        for (uint64_t s = 0; s < runs; s++)
            try_kernel(m, m->kernels.at[i], seed + s, &diags);
    }
    int count = m->kernels.count;
    arena_free(a);
    return count;
}

static int try_folder(const char *folder, uint64_t seed) {
    DIR *d = opendir(folder);
    assert_non_null(d);
    int count = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char path[512];
        size_t n = strlen(e->d_name);
        if (n < 6 || strcmp(e->d_name + n - 5, ".tile"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        count += try_file(path, seed);
    }
    closedir(d);
    return count;
}

static void shipped_kernels(void **state) {
    (void)state;
    assert_true(try_folder("kernels", 100) >= 30);
    fprintf(stderr, "%d runs of aligned forms\n", aligned_runs);
    assert_true(getenv("TILEC_QUICK") || getenv("TILEC_LANES_KERNEL") || aligned_runs >= 30);
}

static void accepted_programs(void **state) {
    (void)state;
    assert_true(try_folder("test/accept", 200) >= 30);
    fprintf(stderr, "%d runs of forms for rows\n", row_runs);
    assert_true(getenv("TILEC_QUICK") || getenv("TILEC_LANES_KERNEL") || row_runs >= 60);
}

static void products_by_fragments(void **state) {
    (void)state;
    favour_fragments = true;
    fragment_runs = 0;
    try_file("test/accept/fragments.tile", 300);
    try_file("kernels/matmul.tile", 400);
    try_file("test/accept/chains.tile", 600);
    if (!getenv("TILEC_QUICK")) {
        try_file("test/accept/bf16.tile", 450);
        try_file("test/accept/fp8.tile", 454);
    }
    favour_direct = true;
    try_file("test/accept/fragments.tile", 500);
    try_file("kernels/matmul.tile", 504);
    try_file("test/accept/chains.tile", 700);
    favour_fragments = favour_direct = false;
    fprintf(stderr,
            "%d runs of kernels with fragments, %d with rings, %d with tiles held ahead, %d with direct loads, %d of chains\n",
            fragment_runs, ring_runs, ahead_runs, direct_runs, chain_runs);
    assert_true(getenv("TILEC_QUICK") || getenv("TILEC_LANES_KERNEL") ||
                (fragment_runs >= 100 && ring_runs >= 30 && ahead_runs >= 10 && direct_runs >= 30 && chain_runs >= 30));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shipped_kernels), cmocka_unit_test(accepted_programs),
                                       cmocka_unit_test(products_by_fragments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
