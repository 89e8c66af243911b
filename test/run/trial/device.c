/* See device.h. */
#include "device.h"
#include "base/pieces.h"
#include "emit.h"
#include "generator.h"
#include "run/opencl.h"
#include "run/run.h"
#include "target/gpu_plan.h"
#include "trial.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const int64_t sizes[] = {0, 1, 2, 3, 31, 33, 64, 65, 127, 208, 1000}, small_sizes[] = {1, 2, 3, 5, 9, 16, 17, 33, 48};
enum {
    SIZE_COUNT = sizeof sizes / sizeof *sizes,
    SMALL_COUNT = sizeof small_sizes / sizeof *small_sizes,
    SHAPES = 3,
    SMALL_SHAPES = 2,
    TEXT_LIMIT = 40000,
    SMALL_TEXT_LIMIT = 260000,
    RANDOM_TEXT_LIMIT = 20000,
    UNPROVED_LIMIT = 3,
    BATCH = 20
};

/* A kernel that awaits its turn: the driver builds BATCH at once, where it can. */
typedef struct waiting {
    arena *arena;
    program *program; /* a random one's */
    const tile_kernel *kernel;
    compiled_kernel ck;
    diag_list diags;
    random_state random;
    double seconds;   /* of its proof */
    const char *text; /* what the runtime builds first */
} waiting;

typedef struct suite {
    const runtime *runtime;
    const char *name; /* of the target and its arithmetic */
    device *device;
    uint64_t seed;
    bool small, all, exact; /* exact: buffers end where arrays end, for devices that see accesses behind them */
    bool random;
    waiting *queue[BATCH];
    int queued, left_out;
    int share, shares; /* of the kernels only every shares-th, counted from `share`; 0: all */
    int seen;
    int unproved;
    int passed, failed, shapes;
    int64_t compared, vacuous;
    double worst;
} suite;

/* Device memory for each array of the launch, filled from `m`; copied back afterwards, with the guard bytes behind it. */
static bool launch(suite *s, device_kernel *k, const launch_plan *plan, const trial_case *c, trial_memory *m, diag_list *diags) {
    trial_launch l;
    const kernel_ir *ir = plan->variants.at[0].kernel;
    bool good = trial_launch_new(c, m, ir, &l);
    void *memory[64] = {0};
    int count = 0;
    for (int i = 0; good && i < ir->arrays.count; i++) {
        const kernel_array *a = ir->arrays.at[i];
        if (a->space != SPACE_GLOBAL || a->view_of)
            continue;
        int64_t bytes = c->bytes[a->source_array] + (s->exact ? 0 : TRIAL_GUARD);
        good = count < 64 && (memory[count] = s->runtime->allocate(s->device, bytes, diags)) &&
               s->runtime->copy_in(s->device, memory[count], l.arrays[count], bytes, diags);
        count++;
    }
    good = good && s->runtime->launch(s->device, k, memory, l.integers, l.floats, diags);
    for (int i = 0, at = 0; good && i < ir->arrays.count; i++)
        if (ir->arrays.at[i]->space == SPACE_GLOBAL && !ir->arrays.at[i]->view_of) {
            good = s->runtime->copy_out(s->device, l.arrays[at], memory[at],
                                        c->bytes[ir->arrays.at[i]->source_array] + (s->exact ? 0 : TRIAL_GUARD), diags);
            at++;
        }
    for (int i = 0; i < count && i < 64; i++)
        s->runtime->release(s->device, memory[i]);
    trial_launch_free(&l);
    return good;
}

static bool try_case(suite *s, device_kernel *k, const compiled_kernel *ck, trial_case *c, text_buffer *why, diag_list *diags) {
    oracle_options options = {.model = arithmetic_model_find(s->name),
                              .trees = ck->lowered.trees.at,
                              .tree_count = ck->lowered.trees.count,
                              .chunks = ck->lowered.dealt,
                              .last_task = -1};
    oracle_arguments arguments = {(const void *const *)c->data, c->scalars, c->symbols};
    oracle_result expected = {0};
    trial_memory m;
    if (!oracle_run(ck->tiles, &arguments, &options, &expected, diags)) {
        text_add(why, "the oracle: %s", trial_first_error(diags));
        return false;
    }
    trial_memory_new(c, &m);
    bool good = launch(s, k, proved_plan_get(ck->plan), c, &m, diags);
    if (!good) {
        text_add(why, "%s", trial_first_error(diags));
    } else {
        int damaged = trial_memory_damaged(c, &m);
        trial_verdict v = trial_compare(c, &m, &expected);
        s->compared += v.compared;
        s->vacuous += v.vacuous;
        if (v.passed && v.worst_ratio > s->worst)
            s->worst = v.worst_ratio;
        good = v.passed && damaged < 0;
        if (damaged >= 0)
            text_add(why, "array %s was written where it must not be", c->kernel->arrays.at[damaged]->name);
        else if (!good)
            trial_verdict_describe(c, &v, why);
    }
    trial_memory_free(&m);
    oracle_free(&expected);
    return good;
}

static bool compile(suite *s, arena *a, const tile_module *m, const tile_kernel *k, random_state *r, compiled_kernel *ck,
                    diag_list *diags) {
    static const int64_t candidates[] = {4, 8, 16, 2, 1};
    tile_binding statics[64];
    bool compiled = false, wide = r->state % 3 == 0;
    for (int attempt = 0; attempt < 4 && !compiled; attempt++) { /* a `where` may refuse some statics */
        int count = 0;
        for (int i = 0; i < k->symbols.count && count < 64; i++)
            if (k->symbols.at[i]->kind == INDEX_STATIC && (s->small || !k->symbols.at[i]->has_value))
                statics[count++] = (tile_binding){k->symbols.at[i]->name, candidates[random_between(r, 0, attempt ? 4 : 2)]};
        /* some kernels with indices of 64 bits, which small launches would not take by themselves; a task of one thread has no others */
        const schedule_setting indices = {.key = "indices", .value = "64"};
        const target *t = target_find(s->name);
        wide = wide && t->limits()->narrow_indices;
        compile_options options = {
            .target = t, .statics = statics, .static_count = count, .settings = &indices, .setting_count = wide};
        diag_init(diags, a);
        memset(ck, 0, sizeof *ck);
        compiled = compile_kernel(a, m, k, &options, ck, diags) && ck->plan;
        if (!compiled && !count)
            break;
    }
    return compiled;
}

static void forget(waiting *w) {
    arena_free(w->arena);
    if (w->program)
        program_free(w->program);
    free(w);
}

/* Every case of one kernel; the driver builds its text unless that was done. */
static void try_kernel(suite *s, waiting *w, bool compiled) {
    text_buffer why = {0}, shape_text = {0};
    int shapes = 0;
    double worst = s->worst, start = now_seconds(), built;
    const char *name = w->kernel->name;
    s->worst = 0;
    device_kernel *loaded = compiled ? s->runtime->load(s->device, w->ck.plan, &w->diags) : NULL;
    built = now_seconds();
    if (!loaded)
        text_add(&why, "%s", trial_first_error(&w->diags));
    for (int i = 0; loaded && !why.length && i < (s->small ? SMALL_SHAPES : SHAPES); i++) {
        static const int64_t plain[] = {33, 64}, ones[] = {1, 1, 2};
        random_state *r = &w->random;
        trial_case c;
        bool found = s->small ? trial_choose_symbols(w->ck.tiles, r, small_sizes, SMALL_COUNT, 2e4, 4e3, &c)
                     : i == 0 ? trial_choose_symbols(w->ck.tiles, r, plain, 2, 1e6, 1e5, &c)
                     : i == 1 ? trial_choose_symbols(w->ck.tiles, r, ones, 3, 1e6, 1e5, &c)
                              : trial_choose_symbols(w->ck.tiles, r, sizes, SIZE_COUNT, 1e6, 1e5, &c);
        if (!found)
            continue;
        if (trial_fill(&c, (data_kind)(i % DATA_KIND_COUNT), r)) {
            shapes++;
            if (!try_case(s, loaded, &w->ck, &c, &why, &w->diags))
                trial_describe(&c, &shape_text);
        }
        trial_case_free(&c);
    }
    if (!why.length && !shapes)
        text_add(&why, "no shape could be made");
    if (loaded)
        s->runtime->unload(s->device, loaded);
    if (why.length) {
        s->failed++;
        printf("FAIL %s %s  %s%s%s (reproduce: --seed %llu ", s->name, name, text_get(&shape_text), shape_text.length ? ": " : "",
               text_get(&why), (unsigned long long)s->seed);
        if (w->program)
            printf("--random 1 --from %s)\n", name + strlen("random_"));
        else
            printf("--kernel %s)\n", name);
    } else {
        s->passed++;
        s->shapes += shapes;
        printf("ok %s %s  %d shapes, worst error / bound %.3f; %.1f s proof, %.1f s build, %.1f s run\n", s->name, name, shapes,
               s->worst, w->seconds, built - start, now_seconds() - built);
    }
    fflush(stdout);
    s->worst = s->worst > worst ? s->worst : worst;
    text_free(&why);
    text_free(&shape_text);
}

/* Has the driver build what waits as one program, then tries each. */
static void try_queue(suite *s) {
    const char *texts[BATCH];
    if (s->queued > 1 && !strcmp(s->runtime->name, "opencl")) {
        text_buffer joined = {0};
        diag_list diags;
        diag_init(&diags, s->queue[0]->arena);
        for (int i = 0; i < s->queued; i++)
            texts[i] = s->queue[i]->text;
        pieces_join(texts, s->queued, &joined);
        double start = now_seconds();
        if (opencl_build_joined(s->device, text_get(&joined), texts, s->queued, &diags))
            printf("%d kernels built as one program in %.1f s\n", s->queued, now_seconds() - start);
        else /* one of them is to blame, which its own build says */
            printf("%d kernels are not built as one program: %s\n", s->queued, trial_first_error(&diags));
        text_free(&joined);
    }
    for (int i = 0; i < s->queued; i++) {
        try_kernel(s, s->queue[i], true);
        forget(s->queue[i]);
    }
    if (s->queued && !strcmp(s->runtime->name, "opencl"))
        opencl_build_joined(s->device, NULL, NULL, 0, NULL);
    s->queued = 0;
}

/* The text that the runtime builds when it loads a plan; NULL with diagnostics. `length`: of a variant's entries for one width of indices. */
static const char *first_text(suite *s, waiting *w, size_t *length) {
    text_buffer emitted = {0};
    gpu_program printed;
    bool good = target_find(s->name)->emit(w->ck.plan, &emitted, &w->diags);
    bool both = good && proved_plan_get(w->ck.plan)->variants.at[0].narrow; /* widths of indices; one is compiled */
    const char *text = good ? arena_strdup(w->arena, text_get(&emitted)) : NULL;
    *length = emitted.length / (both ? 2 : 1);
    text_free(&emitted);
    if (good && !strcmp(s->runtime->name, "opencl"))
        text = opencl_program(w->arena, w->ck.plan, &printed, &w->diags) ? gpu_module_text(w->arena, &printed, 0) : NULL;
    return text;
}

/* Proves a kernel and puts it in the queue. Whether it is there or was tried: random ones with long texts are left out. `p`, which may be NULL, is taken. */
static bool queue_kernel(suite *s, const tile_module *m, const tile_kernel *k, program *p) {
    waiting *w = calloc(1, sizeof *w);
    random_state r = {s->seed};
    size_t length = 0, limit = s->random ? RANDOM_TEXT_LIMIT : s->small ? SMALL_TEXT_LIMIT : TEXT_LIMIT;
    for (const char *c = k->name; *c; c++) /* each kernel's cases are its own, whatever is run besides */
        r.state = r.state * 31 + (unsigned char)*c;
    *w = (waiting){.arena = arena_new(), .program = p, .kernel = k, .random = r};
    double start = now_seconds();
    bool compiled = compile(s, w->arena, m, k, &w->random, &w->ck, &w->diags), there = true;
    if (compiled)
        compiled = (w->text = first_text(s, w, &length)) != NULL;
    w->seconds = now_seconds() - start;
    if (compiled && length > limit && !s->all) { /* drivers take minutes over very long texts */
        there = !s->random;
        s->left_out++;
        if (there)
            printf("skip %s %s (its text has %zu bytes, over which the driver takes long: --all)\n", s->name, k->name, length);
        forget(w);
    } else if (!compiled && strstr(trial_first_error(&w->diags), "the question took too many steps") &&
               s->unproved++ < UNPROVED_LIMIT) { /* What the prover gives up on is not emitted; a few such are known. */
        printf("skip %s %s (%s)\n", s->name, k->name, trial_first_error(&w->diags));
        forget(w);
    } else if (compiled) {
        s->queue[s->queued++] = w;
        if (s->queued == BATCH)
            try_queue(s);
    } else {
        try_kernel(s, w, false);
        forget(w);
    }
    return there;
}

static void try_file(suite *s, const char *path, const char *only) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    tile_module *m = compile_load(a, path, NULL, &diags);
    if (!m) {
        s->failed++;
        printf("FAIL %s %s  %s\n", s->name, path, trial_first_error(&diags));
    }
    for (int i = 0; m && i < m->kernels.count; i++)
        if ((!only || !strcmp(only, m->kernels.at[i]->name)) && (!s->shares || s->seen++ % s->shares == s->share))
            queue_kernel(s, m, m->kernels.at[i], NULL);
    try_queue(s); /* before its module goes */
    arena_free(a);
}

/* `count` random kernels (trial/generator.h), as test/run/random_programs.c has them for the CPU. */
static void try_random(suite *s, int first, int count) {
    arena *a = arena_new();
    int taken = 0, i = first;
    s->random = true;
    for (; taken < count && i < first + 4 * count; i++) {
        program *p = program_new(s->seed, i);
        text_buffer text = {0};
        diag_list diags;
        diag_init(&diags, a);
        program_print(p, &text);
        tile_module *m = compile_load(a, "random.tile", arena_strdup(a, text_get(&text)), &diags);
        if (m) {
            taken += queue_kernel(s, m, m->kernels.at[0], p);
        } else {
            s->failed++;
            printf("FAIL %s random %d  %s\n", s->name, i, trial_first_error(&diags));
            program_free(p);
        }
        text_free(&text);
    }
    try_queue(s);
    s->random = false;
    arena_free(a);
    if (count)
        printf("random programs %d to %d: %d taken, %d left out, whose texts are longer than %d bytes\n", first, i - 1, taken,
               i - first - taken, RANDOM_TEXT_LIMIT);
    s->failed += taken < count;
}

static void try_folder(suite *s, const char *pattern, const char *only) {
    glob_t found = {0};
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            try_file(s, found.gl_pathv[i], only);
    globfree(&found);
}

int trial_device_main(const char *name, int argc, char **argv) {
    suite s = {.seed = 1};
    const char *only = NULL;
    int files = 0, index = 0, random = 0, random_first = 0;
    char text[256] = "";
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            s.seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--kernel") && i + 1 < argc)
            only = argv[++i];
        else if (!strcmp(argv[i], "--random") && i + 1 < argc)
            random = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--from") && i + 1 < argc)
            random_first = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--small"))
            s.small = true;
        else if (!strcmp(argv[i], "--all"))
            s.all = true;
        else if (!strcmp(argv[i], "--exact"))
            s.exact = true;
        else if (!strcmp(argv[i], "--target") && i + 1 < argc)
            s.name = argv[++i];
        else if (!strcmp(argv[i], "--share") && i + 1 < argc && sscanf(argv[++i], "%d/%d", &s.share, &s.shares) == 2)
            s.share--;
    }
    s.runtime = runtime_find(name, &index, &diags);
    if (!s.runtime) {
        for (int i = 0; i < runtime_count; i++)
            if (!strcmp(runtime_table[i].name, name))
                runtime_table[i].describe(0, text, sizeof text);
        printf("skip %s (%s)\n", name, text);
        return 0;
    }
    s.runtime->describe(index, text, sizeof text);
    s.name = s.name ? s.name : runtime_target(s.runtime, index, NULL);
    if (!target_find(s.name)) {
        printf("FAIL %s: there is no target `%s`\n", name, s.name);
        return 1;
    }
    printf("on %s, as %s\n", text, s.name);
    s.device = s.runtime->open(index, &diags);
    if (!s.device) {
        printf("FAIL %s: %s\n", name, trial_first_error(&diags));
        return 1;
    }
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--seed") || !strcmp(argv[i], "--kernel") || !strcmp(argv[i], "--random") ||
            !strcmp(argv[i], "--from") || !strcmp(argv[i], "--target") || !strcmp(argv[i], "--share"))
            i++;
        else if (argv[i][0] != '-' && ++files)
            try_file(&s, argv[i], only);
    try_random(&s, random_first, random);
    if (!files && !random) {
        try_folder(&s, "kernels/*.tile", only);
        if (!s.small)
            try_folder(&s, "test/accept/*.tile", only);
    }
    s.runtime->close(s.device);
    arena_free(a);
    printf("%d shapes, %lld elements compared, %lld of them against a bound that says nothing, worst error / bound %.3f; seed "
           "%llu\n",
           s.shapes, (long long)s.compared, (long long)s.vacuous, s.worst, (unsigned long long)s.seed);
    return s.failed || !s.passed;
}
