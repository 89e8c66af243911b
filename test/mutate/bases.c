#include "bases.h"
#include "base/file.h"
#include "base/hash.h"
#include "compile.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* Launches that the texts' assumptions make hard to find by chance. */
static const struct {
    const char *name, *launches;
} given_launches[] = {
    {"packed_matmul", "M = 13, N = 70, K = 130;M = 1, N = 1, K = 1;M = 3, N = 2, K = 0"},
    {"producer_consumer", "M = 1, N = 33, K = 9;M = 3, N = 2, K = 0;M = 130, N = 5, K = 330"},
    {"async_ring", "M = 1, N = 33, K = 9;M = 65, N = 65, K = 130;M = 3, N = 2, K = 0"},
    {"staged_barrier", "M = 1, N = 33, K = 9;M = 65, N = 65, K = 33;M = 3, N = 2, K = 0"},
    {"cross_subgroup_reduction", "R = 2, C = 700;R = 1, C = 5"},
    {"grid_reduction", "N = 0;N = 9000;N = 4096"},
    {"persistent_tasks", "M = 65, N = 40, blocks = 2;M = 3, N = 3, blocks = 5"},
    {"swizzled_tile", "M = 65, N = 40;M = 32, N = 32;M = 1, N = 1"},
    {"pointer_style",
     "n_src = 1000, n_dst = 1000, ne00 = 150, ne01 = 5, ld = 200;n_src = 8, n_dst = 9, ne00 = 3, ne01 = 2, ld = 4"},
    {"fragment_attention", "Q = 17, T = 33;Q = 1, T = 1"},
    {"atomic_last_block", "N = 9000, tasks_in_all = 3;N = 1, tasks_in_all = 1"},
    {"exchanges", "N = 50;N = 1"},
    {"intrinsics", "M = 100;M = 64"},
    {"bulk_store", "M = 24;M = 8;M = 0"},
    {"counter_random", "N = 1100;N = 7"},
    {"gather_scatter", "V = 7, S = 9, D = 70, T = 5, stride = 80;V = 1, S = 1, D = 1, T = 1, stride = 1"},
};

/* Tiles so small that a launch of a few dozen elements has several of each: what lies beyond the first is then seen. The same on every
 * computer, unlike the models of real machines. A task is one thread on the first, a block of threads on the second. */
static const struct {
    machine_model model;
    const char *suffix;
} machines[] = {
    {{.target = "c", .vector_lanes = 8, .vector_registers = 16, .private_bytes = 1 << 20, .cache_bytes = 1 << 18, .workers = 2},
     ""},
    {{.target = "c",
      .vector_lanes = 4,
      .vector_registers = 16,
      .private_bytes = 1 << 14,
      .cache_bytes = 1 << 18,
      .workers = 2,
      .subgroup_lanes = 8,
      .subgroups = 2,
      .shared_bytes = 1 << 16},
     ", by a block"},
};
enum { SMALL_TILE = 16, MACHINES = sizeof machines / sizeof *machines };

static bool wanted_name(const char *name, const char *wanted) {
    return !wanted || strstr(name, wanted);
}

/* Quick runs take a share of the kernels, always the same. */
static bool passed_over(const mutation_bases *b, const char *name) {
    char digits[HASH_DIGITS + 1];
    hash_bytes(name, strlen(name), digits);
    digits[6] = 0;
    return b->one_in > 1 && strtol(digits, NULL, 16) % b->one_in != 0;
}

static void add_base(mutation_bases *out, const char *name, const kernel_ir *kernel, const char *given) {
    arena *a = out->arena;
    text_buffer text = {0};
    kernel_print(&text, kernel);
    mutation_base b = {.name = name, .text = arena_strdup(a, text_get(&text))};
    text_free(&text);
    diag_list diags;
    diag_init(&diags, a);
    kernel_ir *k = kernel_parse(a, name, b.text, &diags);
    proof p = {0};
    const char *why = NULL;
    if (!k)
        why = arena_printf(a, "its printed text is refused: %s", diags.items.count ? diags.items.at[0]->message : "");
    else if (!out->unproved_too && !prove_kernel(a, k, &mutation_limits, &p, &diags)) {
        mutant_result r = {0};
        mutation_run_witnesses(k, &p, &r);
        out->wrongly_refuted += r.unconfirmed > 0;
        why = arena_printf(a, "%s%s", r.unconfirmed ? "REFUTED, BUT IT BEHAVES: " : "",
                           diags.items.count ? diags.items.at[0]->message : "not proved");
    } else if (!mutation_choose_launches(a, &b, given, 1, &why)) {
        bool found = strncmp(why, "no launch", 9) != 0;
        out->misbehaving += found;
        why = found ? arena_printf(a, "PROVED, BUT IT MISBEHAVES %s", why) : why;
    } else
        why = NULL;
    if (why) {
        const char *line = arena_printf(a, "%s: %s", name, why);
        VEC_PUSH(a, out->left_out, line);
        return;
    }
    b.sites = mutation_sites(k, NULL, NULL);
    VEC_PUSH(a, out->items, b);
}

static bool lower(arena *a, const tile_module *m, const tile_kernel *source, const machine_model *machine, lowering *out,
                  bool small_tiles, diag_list *diags) {
    compile_options o = {.sample_statics = true};
    compiled_kernel c = {.source = source};
    schedule_choice choice = {0};
    VEC(tile_binding) tiles = {0};
    if (!compile_bind_statics(a, source, &o, &c, diags))
        return false;
    tile_kernel *k = tile_specialise(a, source, c.statics.at, c.statics.count);
    for (int i = 0; small_tiles && i < k->symbols.count; i++)
        if (k->symbols.at[i]->kind == INDEX_TILE) {
            tile_binding t = {k->symbols.at[i]->name, SMALL_TILE};
            VEC_PUSH(a, tiles, t);
        }
    if (!schedule_choose(a, m, k, machine, tiles.at, tiles.count, &choice, diags))
        return false;
    k = tile_specialise(a, k, choice.bindings.at, choice.bindings.count);
    const machine_model wanted = schedule_machine(machine, &choice.options);
    return k && lower_kernel(a, k, &wanted, out, diags);
}

static void add_lowered(mutation_bases *out, const char *name, const tile_module *m, const tile_kernel *k,
                        const machine_model *machine) {
    arena *a = out->arena;
    lowering l = {0};
    diag_list diags;
    bool lowered = false;
    for (int small = 1; small >= 0 && !lowered; small--) { /* not every kernel allows such tiles */
        l = (lowering){0};
        diag_init(&diags, a);
        lowered = lower(a, m, k, machine, &l, small, &diags);
    }
    if (!lowered) {
        const char *line = arena_printf(a, "%s: not lowered: %s", name, diags.items.count ? diags.items.at[0]->message : "");
        VEC_PUSH(a, out->left_out, line);
        return;
    }
    for (int v = 0; v < l.plan->variants.count; v++) {
        kernel_simplify(l.plan->variants.at[v].kernel);
        add_base(out, l.plan->variants.count > 1 ? arena_printf(a, "%s, variant %d", name, v) : name,
                 l.plan->variants.at[v].kernel, NULL);
    }
}

static void add_module(mutation_bases *out, const char *path, const char *wanted) {
    diag_list diags;
    diag_init(&diags, out->arena);
    tile_module *m = compile_load(out->arena, path, NULL, &diags);
    for (int i = 0; m && i < m->kernels.count; i++)
        for (int j = 0; j < MACHINES; j++) {
            const char *name = arena_printf(out->arena, "%s: %s%s", path, m->kernels.at[i]->name, machines[j].suffix);
            if (wanted_name(name, wanted) && !passed_over(out, name))
                add_lowered(out, name, m, m->kernels.at[i], &machines[j].model);
        }
}

static void add_text(mutation_bases *out, const char *path, const char *wanted) {
    diag_list diags;
    diag_init(&diags, out->arena);
    char *text = wanted_name(path, wanted) ? file_read(out->arena, path, FILE_SOURCE_LIMIT, NULL, &diags) : NULL;
    kernel_ir *k = text ? kernel_parse(out->arena, path, text, &diags) : NULL;
    const char *given = NULL;
    for (size_t i = 0; k && i < sizeof given_launches / sizeof *given_launches; i++)
        given = strcmp(given_launches[i].name, k->name) ? given : given_launches[i].launches;
    if (k)
        add_base(out, arena_printf(out->arena, "%s", path), k, given);
}

static int by_name(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static void add_folder(mutation_bases *out, const char *folder, const char *end, const char *wanted,
                       void (*add)(mutation_bases *out, const char *path, const char *wanted)) {
    VEC(const char *) names = {0};
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name), m = strlen(end);
        if (n > m && !strcmp(e->d_name + n - m, end))
            VEC_PUSH(out->arena, names, arena_printf(out->arena, "%s/%s", folder, e->d_name));
    }
    if (d)
        closedir(d);
    if (names.count)
        qsort(names.at, (size_t)names.count, sizeof *names.at, by_name);
    for (int i = 0; i < names.count; i++)
        add(out, names.at[i], wanted);
}

void bases_collect(mutation_bases *out, const char *wanted) {
    add_folder(out, "kernels", ".tile", wanted, add_module);
    add_folder(out, "test/accept", ".tile", wanted, add_module);
    add_folder(out, "test/kernel-ir", ".kir", wanted, add_text);
}
