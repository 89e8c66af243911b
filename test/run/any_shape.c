/* Every kernel of kernels/ at any shape: extents of 0, 1, 2, 3, 31 .. 1000 and mixtures, random legal tile sizes, several kinds of data,
 * outputs poisoned first, every element compared with the oracle, the same bits from every run and any number of threads.
 *   any_shape [--seed N] [--kernel NAME] [FILE...] */
#include "run/run.h"
#include "trial/trial.h"
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t sizes[] = {0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 1000};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes, TILINGS = 4, SHAPES = 9, THREAD_COUNTS = 2 };

typedef struct suite {
    const runtime *runtime;
    device *devices[THREAD_COUNTS]; /* with one thread and with two */
    uint64_t seed;
    int passed, failed;
    int64_t launches, compared, vacuous, exact;
} suite;

typedef struct tally {
    int64_t launches, compared, vacuous, ordinary_compared, ordinary_vacuous, exact;
    double worst;
    int shapes, tilings;
    char why[1500];
} tally;

static void fail(tally *t, const trial_case *c, const char *tiles, data_kind kind, const char *text) {
    if (*t->why)
        return;
    text_buffer b = {0};
    if (c)
        trial_describe(c, &b);
    snprintf(t->why, sizeof t->why, "%s; data %s; tiles %s: %s", text_get(&b), data_kind_names[kind], tiles, text);
    text_free(&b);
}

static const char *first_message(diag_list *d) {
    const char *m = trial_first_error(d);
    return *m ? m : "failed without a diagnostic";
}

/* One launch into fresh poisoned memory. */
static bool launch(suite *s, int threads, device_kernel *k, const compiled_kernel *ck, const trial_case *c, trial_memory *m,
                   tally *t, const char *tiles, data_kind kind) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    trial_memory_new(c, m);
    trial_launch l;
    const launch_plan *plan = proved_plan_get(ck->plan);
    bool good = trial_launch_new(c, m, plan->variants.at[0].kernel, &l);
    if (!good)
        fail(t, c, tiles, kind, "a launch value has no source among the arguments");
    else if (!s->runtime->launch(s->devices[threads], k, l.arrays, l.integers, l.floats, &diags)) {
        fail(t, c, tiles, kind, first_message(&diags));
        good = false;
    }
    t->launches++;
    trial_launch_free(&l);
    int damaged = good ? trial_memory_damaged(c, m) : -1;
    if (damaged >= 0) {
        fail(t, c, tiles, kind,
             c->kernel->arrays.at[damaged]->role == ARRAY_IN ? "an input was written" : "bytes around an array were written");
        good = false;
    }
    arena_free(a);
    return good;
}

static bool same_outputs(const trial_case *c, const trial_memory *x, const trial_memory *y) {
    for (int i = 0; i < c->kernel->arrays.count; i++)
        if (memcmp(x->memory[i], y->memory[i], (size_t)c->bytes[i]))
            return false;
    return true;
}

static void try_case(suite *s, device_kernel *const *loaded, const compiled_kernel *ck, trial_case *c, data_kind kind,
                     const char *tiles, random_state *r, tally *t) {
    if (!trial_fill(c, kind, r))
        return; /* an index array over nothing */
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    oracle_options options = {.model = arithmetic_model_find("c"),
                              .trees = ck->lowered.trees.at,
                              .tree_count = ck->lowered.trees.count,
                              .chunks = ck->lowered.dealt,
                              .first_task = 0,
                              .last_task = -1};
    oracle_arguments arguments = {(const void *const *)c->data, c->scalars, c->symbols};
    oracle_result expected = {0};
    if (!oracle_run(ck->tiles, &arguments, &options, &expected, &diags)) {
        fail(t, c, tiles, kind, first_message(&diags));
        arena_free(a);
        return;
    }
    trial_memory first, again, threads;
    bool good = launch(s, 0, loaded[0], ck, c, &first, t, tiles, kind);
    if (good) {
        trial_verdict v = trial_compare(c, &first, &expected);
        t->compared += v.compared;
        t->vacuous += v.vacuous;
        if (kind != DATA_ADVERSARIAL) {
            t->ordinary_compared += v.compared;
            t->ordinary_vacuous += v.vacuous;
        }
        if (v.worst_ratio > t->worst && v.passed)
            t->worst = v.worst_ratio;
        if (!v.passed) {
            text_buffer b = {0};
            trial_verdict_describe(c, &v, &b);
            fail(t, c, tiles, kind, text_get(&b));
            text_free(&b);
        }
        int64_t cell = 0;
        const tile_array *different;
        if (kind == DATA_INTEGERS && trial_is_exact_class(ck->tiles) &&
            (different = trial_compare_exact(c, &first, &expected, &cell, &t->exact))) {
            text_buffer b = {0};
            text_add(&b, "%s element %lld is %.17g, exactly %.17g", different->name, (long long)cell,
                     element_load(different->type, first.memory[different->id], cell),
                     expected.outputs[different->id].value[cell]);
            fail(t, c, tiles, kind, text_get(&b));
            text_free(&b);
        }
        if (launch(s, 0, loaded[0], ck, c, &again, t, tiles, kind) && !same_outputs(c, &first, &again))
            fail(t, c, tiles, kind, "two runs give different bits");
        if (launch(s, 1, loaded[1], ck, c, &threads, t, tiles, kind) && !same_outputs(c, &first, &threads))
            fail(t, c, tiles, kind, "one thread and two give different bits");
        trial_memory_free(&again);
        trial_memory_free(&threads);
    }
    trial_memory_free(&first);
    oracle_free(&expected);
    arena_free(a);
}

static int64_t random_tile(random_state *r, int attempt) {
    static const int64_t tiles[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 32, 33, 48, 64, 96};
    return tiles[random_between(r, 0, 15 - 3 * (attempt < 4 ? attempt : 4))];
}

static void try_tiling(suite *s, const tile_module *m, const tile_kernel *k, int tiling, random_state *r, tally *t) {
    arena *a = arena_new();
    diag_list diags;
    compiled_kernel ck = {0};
    tile_binding statics[64], chosen[65];
    text_buffer tiles = {0};
    bool compiled = false;
    for (int attempt = 0; attempt < 6 && !compiled; attempt++) {
        int static_count = 0, tile_count = 0;
        static const int64_t candidates[] = {1, 2, 3, 4, 8, 16, 33, 64};
        for (int i = 0; i < k->symbols.count; i++) {
            const index_var *v = k->symbols.at[i];
            if (v->kind == INDEX_STATIC && static_count < 64 && !(tiling == 0 && v->has_value))
                statics[static_count++] = (tile_binding){v->name, candidates[random_between(r, 0, 7)]};
            if (v->kind == INDEX_TILE && tiling > 0 && tile_count < 64)
                chosen[tile_count++] = (tile_binding){v->name, random_tile(r, attempt)};
        }
        const schedule_setting operands = {.key = "operands", .value = tiling % 2 ? "direct" : "staged"};
        if (tiling > 0 && attempt < 3 && random_between(r, 0, 1))
            chosen[tile_count++] = (tile_binding){"vector", 1 << random_between(r, 0, 2)};
        diag_init(&diags, a);
        compile_options options = {.target = target_find("c"),
                                   .settings = &operands,
                                   .setting_count =
                                       tiling > 0 && attempt < 3 && schedule_has_option(k, "operands") && random_between(r, 0, 1),
                                   .statics = statics,
                                   .static_count = static_count,
                                   .tiles = chosen,
                                   .tile_count = tile_count};
        memset(&ck, 0, sizeof ck);
        compiled = compile_kernel(a, m, k, &options, &ck, &diags) && ck.plan;
        /* A tiling may ask for more memory than a task has: smaller ones follow. Anything else is a failure. */
        if (!compiled && (attempt == 5 || tiling == 0 || strncmp(trial_first_error(&diags), "E05", 3)))
            break;
    }
    if (!compiled) {
        fail(t, NULL, tiling ? "random" : "chosen by the compiler", DATA_UNIFORM, first_message(&diags));
        arena_free(a);
        return;
    }
    text_add(&tiles, "%s", ck.schedule.text ? ck.schedule.text : "");
    for (int i = 0; i < ck.statics.count; i++)
        text_add(&tiles, ", %s = %lld", ck.statics.at[i].name, (long long)ck.statics.at[i].value);
    device_kernel *loaded[THREAD_COUNTS] = {0};
    bool good = true;
    for (int d = 0; d < THREAD_COUNTS && good; d++)
        good = (loaded[d] = s->runtime->load(s->devices[d], ck.plan, &diags)) != NULL;
    if (!good)
        fail(t, NULL, text_get(&tiles), DATA_UNIFORM, first_message(&diags));
    t->tilings++;
    for (int shape = 0; good && shape < SHAPES && !*t->why; shape++) {
        /* First a plain shape, a zero one and ones; then mixtures, the large extent once. */
        static const int64_t plain[] = {33, 64}, nothing[] = {0, 0, 1, 3}, ones[] = {1, 1, 2};
        trial_case c;
        bool found = shape == 0   ? trial_choose_symbols(ck.tiles, r, plain, 2, 4e6, 4e5, &c)
                     : shape == 1 ? trial_choose_symbols(ck.tiles, r, nothing, 4, 4e6, 4e5, &c)
                     : shape == 2
                         ? trial_choose_symbols(ck.tiles, r, ones, 3, 4e6, 4e5, &c)
                         : trial_choose_symbols(ck.tiles, r, sizes, shape % 2 ? SIZE_COUNT : SIZE_COUNT - 1, 4e6, 4e5, &c);
        if (!found)
            continue;
        t->shapes++;
        try_case(s, loaded, &ck, &c, (data_kind)((shape + tiling) % DATA_KIND_COUNT), text_get(&tiles), r, t);
        trial_case_free(&c);
    }
    for (int d = 0; d < THREAD_COUNTS; d++)
        if (loaded[d])
            s->runtime->unload(s->devices[d], loaded[d]);
    text_free(&tiles);
    arena_free(a);
}

static void try_kernel(suite *s, const tile_module *m, const tile_kernel *k) {
    tally t = {0};
    random_state r = {s->seed};
    for (const char *c = k->name; *c; c++) /* each kernel's cases are its own, whatever is run besides */
        r.state = r.state * 31 + (unsigned char)*c;
    for (int tiling = 0; tiling < TILINGS && !*t.why; tiling++)
        try_tiling(s, m, k, tiling, &r, &t);
    s->launches += t.launches;
    s->compared += t.compared;
    s->vacuous += t.vacuous;
    s->exact += t.exact;
    double share = t.ordinary_compared ? 100.0 * (double)t.ordinary_vacuous / (double)t.ordinary_compared : 0;
    if (!*t.why && t.shapes < TILINGS)
        snprintf(t.why, sizeof t.why, "only %d shapes could be made", t.shapes);
    /* On ordinary data a bound that says nothing must be rare. */
    if (!*t.why && share > 2)
        snprintf(t.why, sizeof t.why, "%.1f%% of the bounds on ordinary data say nothing", share);
    if (*t.why) {
        s->failed++;
        printf("FAIL any shape %s  %s (reproduce: --seed %llu --kernel %s)\n", k->name, t.why, (unsigned long long)s->seed,
               k->name);
    } else {
        s->passed++;
        printf("ok any shape %s  %d tilings, %d shapes, %lld launches, %lld elements, worst error / bound %.3f, vacuous %.2f%%, "
               "exact %lld\n",
               k->name, t.tilings, t.shapes, (long long)t.launches, (long long)t.compared, t.worst, share, (long long)t.exact);
    }
    fflush(stdout);
}

static void try_file(suite *s, const char *path, const char *only) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    tile_module *m = compile_load(a, path, NULL, &diags);
    if (!m) {
        s->failed++;
        printf("FAIL any shape %s  %s\n", path, first_message(&diags));
    }
    for (int i = 0; m && i < m->kernels.count; i++)
        if (!only || !strcmp(only, m->kernels.at[i]->name))
            try_kernel(s, m, m->kernels.at[i]);
    arena_free(a);
}

int main(int argc, char **argv) {
    suite s = {.seed = 1};
    const char *only = NULL;
    int files = 0;
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    int index = 0;
    s.runtime = runtime_find("cpu", &index, &diags);
    /* The number of threads is read when a device is opened. */
    for (int d = 0; s.runtime && d < THREAD_COUNTS; d++) {
        setenv("TILEC_THREADS", d ? "2" : "1", 1);
        s.devices[d] = s.runtime->open(index, &diags);
    }
    if (!s.runtime || !s.devices[0] || !s.devices[1]) {
        printf("FAIL any shape: no cpu device: %s\n", first_message(&diags));
        return 1;
    }
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            s.seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--kernel") && i + 1 < argc)
            only = argv[++i];
    for (int i = 1; i < argc; i++)
        if (argv[i][0] == '-')
            i++;
        else if (++files)
            try_file(&s, argv[i], only);
    glob_t found = {0};
    if (!files && glob("kernels/*.tile", 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            try_file(&s, found.gl_pathv[i], only);
    globfree(&found);
    for (int d = 0; d < THREAD_COUNTS; d++)
        s.runtime->close(s.devices[d]);
    arena_free(a);
    printf("%lld launches, %lld elements compared, %lld of them against a bound that says nothing, %lld exactly; seed %llu\n",
           (long long)s.launches, (long long)s.compared, (long long)s.vacuous, (long long)s.exact, (unsigned long long)s.seed);
    return s.failed || !s.passed;
}
