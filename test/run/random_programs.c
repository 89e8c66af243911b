/* Programs nobody wrote: random well-typed kernels must load, pass the checker, survive a round trip through text, give the same result at
 * any tiling, lower, be proved, compile, and agree with the oracle on every element at several shapes.
 *   random_programs [--seed N] [--count M] [--first K] [--jobs J] [--print]
 *   random_programs [--seed N] [--count M] [--first K] --texts FOLDER      writes their texts there, for other tests, and ends
 * A failure is made smaller and printed; `--seed N --first K --count 1` runs that one alone. */
#include "lang/lang.h"
#include "run/run.h"
#include "trial/emit.h"
#include "trial/generator.h"
#include "trial/trial.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 50, SHAPES = 3 };

typedef enum stage {
    STAGE_FINE,
    STAGE_LOAD,
    STAGE_CHECK,
    STAGE_TEXT,
    STAGE_TILINGS,
    STAGE_COMPILE,
    STAGE_EMIT,
    STAGE_CC,
    STAGE_RUN,
    STAGE_VALUE
} stage;
static const char *const stage_names[] = {"fine",
                                          "front end",
                                          "Tile IR checker",
                                          "text round trip",
                                          "three tilings",
                                          "lowering and proof",
                                          "printing C",
                                          "C compiler",
                                          "launch",
                                          "value"};

/* What all worker processes add to. */
typedef struct totals {
    int64_t ops[TILE_OP_COUNT];
    int64_t done, failed, launches, compared, vacuous, exact, statements;
    int64_t whole_dimensions, products, predicates, states, nested, updates, several_outputs, gathers, outside, variants,
        empty_launches;
    double worst;
    double proof_ms, slowest_proof_ms;
    double stage_ms[STAGE_VALUE + 1]; /* processor time */
    int64_t current;                  /* the program being worked on; -1 at the end: says where a crash happened */
} totals;

static totals *clock_totals;
static clock_t clock_began;

/* Adds the processor time since the last call to a stage. (The C compiler's is a child's, and is not counted here.) */
static void spent(stage s) {
    clock_t now = clock();
    if (clock_totals)
        clock_totals->stage_ms[s] += 1e3 * (double)(now - clock_began) / CLOCKS_PER_SEC;
    clock_began = now;
}

typedef struct item {
    program *program;
    arena *arena;
    diag_list diags;
    tile_module *module;
    const tile_kernel *kernel;
    compiled_kernel ck;
    char *emitted; /* heap: the target's text */
    stage failed;
    char why[1200];
    uint64_t seed; /* of tile sizes, shapes and data */
} item;

typedef struct run_options {
    uint64_t seed;
    int first, count, jobs;
    bool print;
    const char *texts;
} run_options;

static bool stop(item *it, stage s, const char *why) {
    it->failed = s;
    snprintf(it->why, sizeof it->why, "%s", *why ? why : "failed without a diagnostic");
    return false;
}

/* ---- from text to a proved plan ---- */

static bool survives_text(item *it) {
    text_buffer once = {0}, twice = {0};
    tile_print_kernel(&once, it->kernel);
    diag_list diags;
    diag_init(&diags, it->arena);
    tile_module *again = tile_parse(it->arena, "printed.tileir", text_get(&once), &diags);
    bool good = again && again->kernels.count == 1;
    if (good) {
        tile_print_kernel(&twice, again->kernels.at[0]);
        good = !strcmp(text_get(&once), text_get(&twice));
        if (!good)
            stop(it, STAGE_TEXT, "printing what was parsed gives another text");
    } else {
        stop(it, STAGE_TEXT, trial_first_error(&diags));
    }
    text_free(&once);
    text_free(&twice);
    return good;
}

static bool compile_item(item *it, const char *text) {
    random_state r = {it->seed};
    diag_init(&it->diags, it->arena);
    it->module = lang_load(it->arena, "random.tile", text, &it->diags);
    if (!it->module)
        return stop(it, STAGE_LOAD, trial_first_error(&it->diags));
    it->kernel = it->module->kernels.at[0];
    if (!tile_check(it->kernel, &it->diags))
        return stop(it, STAGE_CHECK, trial_first_error(&it->diags));
    spent(STAGE_LOAD);
    if (!survives_text(it))
        return false;
    spent(STAGE_TEXT);
    if (!oracle_check_tilings(it->kernel, 3, it->seed, &it->diags))
        return stop(it, STAGE_TILINGS, trial_first_error(&it->diags));
    spent(STAGE_TILINGS);
    /* Every other program runs at the compiler's tile sizes, the others at random ones (smaller again when they need too much memory). */
    for (int attempt = 0; attempt < 5; attempt++) {
        tile_binding tiles[33];
        int count = 0;
        static const int64_t sizes[] = {1, 2, 3, 4, 8, 5, 7, 16, 17, 32};
        for (int i = 0; it->seed % 2 && i < it->kernel->symbols.count && count < 32; i++)
            if (it->kernel->symbols.at[i]->kind == INDEX_TILE)
                tiles[count++] = (tile_binding){it->kernel->symbols.at[i]->name, sizes[random_between(&r, 0, 9 - 2 * attempt)]};
        if (it->seed % 3 == 0) /* one in three under an option of a schedule, too */
            tiles[count++] = (tile_binding){"vector", 1 << random_between(&r, 0, 2)};
        static const char *const ways[] = {"direct", "staged", "staged(f32)"};
        const schedule_setting said[] = {{.key = "operands", .value = ways[it->seed / 3 % 3]},
                                         {.key = "edges", .value = "halved"}};
        compile_options options = {.target = target_find("c"), .tiles = tiles, .tile_count = count, .settings = said};
        if (it->seed % 3 == 1 && attempt < 3 && schedule_has_option(it->kernel, "operands"))
            options.setting_count = 1 + (it->seed / 9 % 2);
        memset(&it->ck, 0, sizeof it->ck);
        diag_init(&it->diags, it->arena);
        diag_add_source(&it->diags, "random.tile", text);
        if (compile_kernel(it->arena, it->module, it->kernel, &options, &it->ck, &it->diags))
            break;
        const char *why = trial_first_error(&it->diags);
        if ((!count && !options.setting_count) || strncmp(why, "E05", 3) || attempt == 4)
            return stop(it, STAGE_COMPILE,
                        arena_printf(it->arena, "%s; tiles: %s", why, it->ck.schedule.text ? it->ck.schedule.text : "none"));
    }
    spent(STAGE_COMPILE);
    text_buffer out = {0};
    if (!it->ck.plan || !target_find("c")->emit(it->ck.plan, &out, &it->diags)) {
        text_free(&out);
        return stop(it, STAGE_EMIT, trial_first_error(&it->diags));
    }
    it->emitted = out.text;
    spent(STAGE_EMIT);
    return true;
}

/* ---- running ---- */

static bool run_once(item *it, void *handle, trial_case *c, const oracle_result *expected, totals *t) {
    const launch_plan *plan = proved_plan_get(it->ck.plan);
    trial_memory m;
    trial_memory_new(c, &m);
    bool good = trial_execute(plan, handle, c, &m, &it->diags);
    if (!good)
        stop(it, STAGE_RUN, trial_first_error(&it->diags));
    t->launches++;
    int damaged = good ? trial_memory_damaged(c, &m) : -1;
    if (damaged >= 0)
        good = stop(it, STAGE_VALUE,
                    arena_printf(it->arena, "memory around or of %s was written", it->kernel->arrays.at[damaged]->name));
    trial_verdict v = {.passed = true};
    if (good)
        v = trial_compare(c, &m, expected);
    t->compared += v.compared;
    t->vacuous += v.vacuous;
    if (v.passed && v.worst_ratio > t->worst)
        t->worst = v.worst_ratio;
    if (!v.passed) {
        text_buffer b = {0};
        trial_describe(c, &b);
        text_add(&b, ": ");
        trial_verdict_describe(c, &v, &b);
        good = stop(it, STAGE_VALUE, text_get(&b));
        text_free(&b);
    }
    trial_memory_free(&m);
    return good;
}

static bool run_item(item *it, void *handle, totals *t) {
    static const int64_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 40};
    random_state r = {it->seed + 1};
    bool good = true;
    for (int shape = 0; good && shape < SHAPES; shape++) {
        trial_case c;
        /* Zero extents now and then, not in every other program. */
        bool zeros = shape == 2 && random_chance(&r, 40);
        if (!trial_choose_symbols(it->ck.tiles, &r, sizes + !zeros, 13 - !zeros, 6e4, 3e5, &c) &&
            !trial_choose_symbols(it->ck.tiles, &r, sizes + 1, 5, 2e6, 3e6, &c))
            continue;
        data_kind kind = shape == 0 ? DATA_ZERO_MEAN : (data_kind)random_between(&r, 0, random_chance(&r, 30) ? 3 : 2);
        if (trial_fill(&c, kind, &r)) {
            oracle_options options = {.model = arithmetic_model_find("c"),
                                      .trees = it->ck.lowered.trees.at,
                                      .tree_count = it->ck.lowered.trees.count,
                                      .chunks = it->ck.lowered.dealt,
                                      .last_task = -1};
            oracle_arguments arguments = {(const void *const *)c.data, c.scalars, c.symbols};
            oracle_result expected = {0};
            if (oracle_run(it->ck.tiles, &arguments, &options, &expected, &it->diags)) {
                spent(STAGE_VALUE);
                good = run_once(it, handle, &c, &expected, t);
                spent(STAGE_RUN);
                t->empty_launches += zeros;
            } else {
                good = stop(it, STAGE_VALUE, trial_first_error(&it->diags));
            }
            oracle_free(&expected);
        }
        trial_case_free(&c);
    }
    return good;
}

/* ---- batches ---- */

static item *item_new(program *p, uint64_t seed, int number) {
    item *it = calloc(1, sizeof *it);
    it->program = p;
    it->arena = arena_new();
    it->seed = seed * 1000003u + (uint64_t)number * 7919u + 17;
    return it;
}

static void item_free(item *it) {
    free(it->emitted);
    arena_free(it->arena);
    free(it);
}

/* Compiles what the items emitted and runs each. */
static void run_batch(item **items, int count, int first, totals *t) {
    const char *texts[BATCH], *names[BATCH];
    int n = 0;
    for (int i = 0; i < count; i++)
        if (!items[i]->failed) {
            texts[n] = items[i]->emitted;
            names[n++] = items[i]->kernel->name;
        }
    char why[800] = "";
    void *handle = n ? trial_build(texts, names, n, why, sizeof why) : NULL;
    if (n > 1 && !handle) { /* one of them is to blame: find it */
        for (int i = 0; i < count; i++)
            if (!items[i]->failed)
                run_batch(items + i, 1, first + i, t);
        return;
    }
    for (int i = 0; i < count; i++)
        if (!items[i]->failed) {
            t->current = first + i;
            if (handle)
                run_item(items[i], handle, t);
            else
                stop(items[i], STAGE_CC, why);
        }
    if (handle)
        dlclose(handle);
}

/* ---- making a failure smaller ---- */

typedef struct blame {
    stage failed;
    char code[8];
    uint64_t seed;
    time_t deadline; /* a slow failure is printed as small as it got by then */
} blame;

static void code_of(const char *why, char code[8]) {
    memset(code, 0, 8);
    if (why[0] == 'E' && strlen(why) >= 5)
        memcpy(code, why, 5);
}

static bool same_failure(void *context, const char *text) {
    const blame *b = context;
    if (time(NULL) > b->deadline)
        return false;
    item *it = item_new(NULL, 0, 0);
    it->seed = b->seed;
    totals ignored = {0};
    if (compile_item(it, text))
        run_batch(&it, 1, 0, &ignored);
    char code[8];
    code_of(it->why, code);
    bool same = it->failed == b->failed && !strcmp(code, b->code);
    item_free(it);
    return same;
}

static void report(item *it, const run_options *o, int number) {
    blame b = {.failed = it->failed, .seed = it->seed, .deadline = time(NULL) + 15};
    code_of(it->why, b.code);
    int limit = it->failed >= STAGE_CC ? 60 : 400;
    program_minimise(it->program, same_failure, &b, limit);
    text_buffer text = {0}, line = {0};
    program_print(it->program, &text);
    text_add(&line, "FAIL random program %d  %s: %s (reproduce: --seed %llu --first %d --count 1)\n%s\n", number,
             stage_names[it->failed], it->why, (unsigned long long)o->seed, number, text_get(&text));
    fputs(text_get(&line), stdout);
    fflush(stdout);
    text_free(&text);
    text_free(&line);
}

/* ---- coverage ---- */

static void count_op(void *context, const tile_value *v) {
    totals *t = context;
    t->ops[v->op]++;
    if (v->op == TILE_LOAD) {
        t->outside += v->has_outside;
        for (int d = 0; d < v->array->rank; d++)
            t->gathers += v->indices[d]->op == IX_VAR && v->indices[d]->var->kind == INDEX_VALUE;
    }
}

static void count_statements(const tile_block *b, int depth, totals *t) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        t->statements++;
        t->predicates += s->kind == TILE_STMT_LOOP && s->predicate;
        t->states += s->kind == TILE_STMT_JOIN;
        t->nested += s->kind == TILE_STMT_LOOP && depth > 0;
        count_statements(&s->body, depth + (s->kind == TILE_STMT_LOOP), t);
    }
}

static void count_kernel(const item *it, totals *t) {
    const tile_kernel *k = it->kernel;
    trial_visit_values(k, count_op, t);
    count_statements(&k->body, 0, t);
    int outputs = 0;
    for (int i = 0; i < k->arrays.count; i++) {
        const tile_array *a = k->arrays.at[i];
        t->products += a->group_count < a->rank;
        outputs += a->role != ARRAY_IN;
        t->updates += a->role == ARRAY_UPDATE;
    }
    t->several_outputs += outputs > 1;
    t->whole_dimensions += it->program->whole_ranges != 0;
    if (it->ck.plan)
        t->variants += proved_plan_get(it->ck.plan)->variants.count;
    t->proof_ms += it->ck.proof.milliseconds;
    if (it->ck.proof.milliseconds > t->slowest_proof_ms)
        t->slowest_proof_ms = it->ck.proof.milliseconds;
}

/* ---- workers ---- */

static void work(const run_options *o, int from, int to, totals *t) {
    item *items[BATCH];
    int n = 0;
    clock_totals = t;
    clock_began = clock();
    for (int number = from; number < to; number++) {
        program *p = program_new(o->seed, number);
        items[n] = item_new(p, o->seed, number);
        t->current = number;
        text_buffer text = {0};
        program_print(p, &text);
        if (o->print)
            printf("%s\n", text_get(&text));
        if (compile_item(items[n], arena_strdup(items[n]->arena, text_get(&text))))
            count_kernel(items[n], t);
        text_free(&text);
        n++;
    }
    run_batch(items, n, from, t);
    for (int i = 0; i < n; i++) {
        t->done++;
        if (items[i]->failed) {
            t->failed++;
            clock_totals = NULL;
            t->current = from + i;
            if (t->failed <= 12)
                report(items[i], o, from + i);
        }
        program_free(items[i]->program);
        item_free(items[i]);
    }
}

static void add_totals(totals *to, const totals *from) {
    int64_t *x = (int64_t *)(void *)to;
    const int64_t *y = (const int64_t *)(const void *)from;
    for (size_t i = 0; i < offsetof(totals, worst) / sizeof(int64_t); i++)
        x[i] += y[i];
    to->worst = from->worst > to->worst ? from->worst : to->worst;
    to->proof_ms += from->proof_ms;
    for (int i = 0; i <= STAGE_VALUE; i++)
        to->stage_ms[i] += from->stage_ms[i];
    to->slowest_proof_ms = from->slowest_proof_ms > to->slowest_proof_ms ? from->slowest_proof_ms : to->slowest_proof_ms;
}

static int conclude(const run_options *o, const totals *t, int lost, double seconds) {
    int failed = 0;
    char name[64];
    snprintf(name, sizeof name, "random programs (seed %llu)", (unsigned long long)o->seed);
    bool complete = t->done == o->count && !lost;
    if (!complete || t->failed) {
        failed++;
        printf("FAIL %s: %lld of %d failed%s\n", name, (long long)t->failed, o->count,
               complete ? "" : ", and a worker stopped early");
    } else {
        printf(
            "ok %s: %d proved and in agreement with the oracle; %lld launches, %lld elements, worst error / bound %.3f, %.0f s\n",
            name, o->count, (long long)t->launches, (long long)t->compared, t->worst, seconds);
    }
    double share = t->compared ? 100.0 * (double)t->vacuous / (double)t->compared : 0;
    printf("%s %s: %.2f%% of the bounds say nothing\n", share < 10 ? "ok" : "FAIL", name, share);
    failed += share >= 10;
    if (o->count >= 500) {
        const char *missing = NULL;
        for (int op = 0; op < TILE_OP_COUNT; op++)
            if (!t->ops[op])
                missing = tile_op_table[op].name;
        struct {
            const char *name;
            int64_t count;
        } shapes[] = {{"whole dimensions", t->whole_dimensions},
                      {"product dimensions", t->products},
                      {"predicates", t->predicates},
                      {"states", t->states},
                      {"nested loops", t->nested},
                      {"updates", t->updates},
                      {"several outputs", t->several_outputs},
                      {"gathers", t->gathers},
                      {"outside values", t->outside},
                      {"zero extents", t->empty_launches}};
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            if (shapes[i].count < o->count / 100)
                missing = shapes[i].name;
        if (missing)
            printf("FAIL %s: hardly any program has: %s\n", name, missing);
        else
            printf("ok %s: every operation of Tile IR was produced\n", name);
        failed += missing != NULL;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            printf("  %s %lld,", shapes[i].name, (long long)shapes[i].count);
        printf("\n ");
        for (int op = 0; op < TILE_OP_COUNT; op++)
            printf(" %s %lld", tile_op_table[op].name, (long long)t->ops[op]);
        printf("\n");
    }
    printf("  %lld statements; %lld variants; proofs %.1f ms on average, %.0f ms at most\n", (long long)t->statements,
           (long long)t->variants, t->done ? t->proof_ms / (double)t->done : 0, t->slowest_proof_ms);
    printf("  processor time a program:");
    for (int i = STAGE_LOAD; i <= STAGE_VALUE; i++)
        if (i != STAGE_CC && i != STAGE_CHECK)
            printf(" %s %.1f ms,", stage_names[i], t->done ? t->stage_ms[i] / (double)t->done : 0);
    printf("\n");
    return failed;
}

static bool write_texts(const run_options *o) {
    bool good = true;
    for (int i = o->first; i < o->first + o->count; i++) {
        program *p = program_new(o->seed, i);
        text_buffer text = {0};
        char path[4096];
        program_print(p, &text);
        snprintf(path, sizeof path, "%s/random_%d.tile", o->texts, i);
        FILE *f = fopen(path, "w");
        good = f && fwrite(text_get(&text), 1, text.length, f) == text.length && good;
        good = f && fclose(f) == 0 && good;
        text_free(&text);
        program_free(p);
    }
    return good;
}

int main(int argc, char **argv) {
    run_options o = {.seed = 1, .count = 1890, .jobs = 2};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";
        if (!strcmp(argv[i], "--print")) {
            o.print = true;
            continue;
        }
        if (!strcmp(argv[i], "--seed"))
            o.seed = strtoull(value, NULL, 10);
        else if (!strcmp(argv[i], "--count"))
            o.count = atoi(value);
        else if (!strcmp(argv[i], "--first"))
            o.first = atoi(value);
        else if (!strcmp(argv[i], "--jobs"))
            o.jobs = atoi(value);
        else if (!strcmp(argv[i], "--texts"))
            o.texts = value;
        else {
            fprintf(stderr, "usage: random_programs [--seed N] [--count M] [--first K] [--jobs J] [--print] [--texts FOLDER]\n");
            return 2;
        }
        i++;
    }
    if (o.texts)
        return !write_texts(&o);
    if (o.jobs < 1 || o.jobs > 64)
        o.jobs = 1;
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    FILE *file = tmpfile();
    size_t bytes = sizeof(totals) * (size_t)o.jobs;
    totals *shared = file && ftruncate(fileno(file), (off_t)bytes) == 0
                         ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0)
                         : MAP_FAILED;
    if (shared == MAP_FAILED) {
        printf("FAIL random programs: no memory to share between processes\n");
        return 1;
    }
    fflush(stdout);
    int batches = (o.count + BATCH - 1) / BATCH, lost = 0;
    for (int j = 0; j < o.jobs; j++)
        if (fork() == 0) {
            for (int b = j; b < batches; b += o.jobs) {
                int from = b * BATCH, to = from + BATCH < o.count ? from + BATCH : o.count;
                work(&o, o.first + from, o.first + to, &shared[j]);
            }
            shared[j].current = -1;
            fflush(stdout);
            _exit(0);
        }
    for (int j = 0; j < o.jobs; j++) {
        int status = 0;
        wait(&status);
        lost += status != 0;
    }
    for (int j = 0; j < o.jobs && lost; j++)
        if (shared[j].current >= 0)
            printf("FAIL random program %lld  ended the process (reproduce: --seed %llu --first %lld --count 1 --print)\n",
                   (long long)shared[j].current, (unsigned long long)o.seed, (long long)shared[j].current);
    totals all = {0};
    for (int j = 0; j < o.jobs; j++)
        add_totals(&all, &shared[j]);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    return conclude(&o, &all, lost, (double)(ended.tv_sec - began.tv_sec) + 1e-9 * (double)(ended.tv_nsec - began.tv_nsec)) != 0;
}
