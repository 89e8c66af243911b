/* The value check can fail: for every kernel of kernels/, honest f32 arithmetic in two orders is accepted, and results with a dropped k,
 * swapped rows, an f16 accumulator or a stale tile are rejected. No device takes part: the faulty results are made element by element. */
#include "trial/pointwise.h"
#include "trial/trial.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAULT_DROP, FAULT_ROWS, FAULT_HALF, FAULT_STALE, FAULT_COUNT };
static const char *const fault_names[FAULT_COUNT] = {"a dropped k", "swapped rows", "an f16 accumulator", "a stale tile"};

typedef struct bench {
    arena *arena;
    compiled_kernel ck;
    random_state random;
    char why[1024];
    bool planted[FAULT_COUNT];
    bool has_rows; /* some output had two elements */
    double slack;  /* worst honest error / bound */
} bench;

/* ---- shapes: long reductions, everything else short ---- */

static void mark_loops(const tile_kernel *k, const tile_block *b, bool *in_loop) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        if (s->kind == TILE_STMT_LOOP) {
            for (int v = 0; v < k->symbols.count; v++)
                in_loop[v] = in_loop[v] || ix_mentions(s->range->extent, k->symbols.at[v]);
            mark_loops(k, &s->body, in_loop);
        }
    }
}

static bool try_shape(bench *b, int64_t reduced, trial_case *c) {
    const tile_kernel *k = b->ck.tiles;
    bool in_loop[256] = {0};
    mark_loops(k, &k->body, in_loop);
    memset(c, 0, sizeof *c);
    c->kernel = k;
    c->symbols = calloc((size_t)k->symbols.count + 1, sizeof *c->symbols);
    for (int i = 0; i < k->symbols.count; i++)
        c->symbols[i] = k->symbols.at[i]->has_value ? k->symbols.at[i]->value : in_loop[i] ? reduced : 3;
    bool ok = true;
    for (int i = 0; i < k->derived.count && i < k->symbols.count; i++)
        if (k->derived.at[i] && !k->symbols.at[i]->has_value)
            c->symbols[i] = trial_evaluate(c, k->derived.at[i], &ok);
    for (int i = 0; i < k->where.count; i++)
        ok = ok && trial_holds(c, k->where.at[i]);
    if (ok)
        return true;
    trial_case_free(c);
    int64_t sizes[] = {3, 4, 32, reduced};
    return trial_choose_symbols(k, &b->random, sizes, 4, 1e7, 1e6, c);
}

/* A long reduction whose range is a task's too (causal attention) is made shorter, or the naive evaluation would take minutes. */
static bool choose_shape(bench *b, int64_t reduced, trial_case *c) {
    for (;; reduced /= 2) {
        if (!try_shape(b, reduced, c))
            return false;
        if (reduced < 64 || trial_work(c) < 2e6)
            return true;
        trial_case_free(c);
    }
}

/* ---- running and judging ---- */

static bool expect(bench *b, const trial_case *c, oracle_result *out) {
    diag_list diags;
    diag_init(&diags, b->arena);
    oracle_options options = {.model = arithmetic_model_find("c"),
                              .trees = b->ck.lowered.trees.at,
                              .tree_count = b->ck.lowered.trees.count,
                              .chunks = b->ck.lowered.dealt,
                              .last_task = -1};
    oracle_arguments arguments = {(const void *const *)c->data, c->scalars, c->symbols};
    if (oracle_run(b->ck.tiles, &arguments, &options, out, &diags))
        return true;
    snprintf(b->why, sizeof b->why, "the oracle refuses: %s", trial_first_error(&diags));
    return false;
}

static bool run(bench *b, const trial_case *c, trial_memory *m, const pointwise_faults *faults) {
    const char *why = NULL;
    trial_memory_new(c, m);
    if (pointwise_run(c, m, faults, &why))
        return true;
    snprintf(b->why, sizeof b->why, "the naive evaluation stops: %s", why);
    return false;
}

static void must_pass(bench *b, const trial_case *c, const trial_memory *m, const oracle_result *e, const char *what) {
    trial_verdict v = trial_compare(c, m, e);
    if (v.worst_ratio > b->slack)
        b->slack = v.worst_ratio;
    if (v.passed || *b->why)
        return;
    text_buffer t = {0};
    trial_verdict_describe(c, &v, &t);
    snprintf(b->why, sizeof b->why, "%s is rejected: %s", what, text_get(&t));
    text_free(&t);
}

static bool differs(const trial_case *c, const trial_memory *x, const trial_memory *y) {
    for (int i = 0; i < c->kernel->arrays.count; i++)
        if (c->kernel->arrays.at[i]->role != ARRAY_IN && memcmp(x->memory[i], y->memory[i], (size_t)c->bytes[i]))
            return true;
    return false;
}

/* A fault that changes nothing at this shape and data is no fault; otherwise the check must reject it. */
static void must_reject(bench *b, const trial_case *c, const trial_memory *honest, const trial_memory *faulty,
                        const oracle_result *e, int fault) {
    if (*b->why || !differs(c, honest, faulty))
        return;
    if (trial_compare(c, faulty, e).passed)
        snprintf(b->why, sizeof b->why, "%s is accepted", fault_names[fault]);
    else
        b->planted[fault] = true;
}

static void copy_outputs(const trial_case *c, trial_memory *to, const trial_memory *from) {
    for (int i = 0; i < c->kernel->arrays.count; i++)
        memcpy(to->memory[i], from->memory[i], (size_t)c->bytes[i]);
}

/* Exchanges the first two slices along the outermost dimension that has two. */
static void swap_rows(bench *b, const trial_case *c, trial_memory *m) {
    for (int i = 0; i < c->kernel->arrays.count; i++) {
        const tile_array *a = c->kernel->arrays.at[i];
        if (a->role == ARRAY_IN || !c->bytes[i])
            continue;
        b->has_rows = b->has_rows || c->cells[i] > 1;
        size_t slice = (size_t)c->bytes[i];
        bool ok = true;
        for (int d = 0; d < a->rank; d++) {
            int64_t n = trial_evaluate(c, a->dims[d], &ok);
            slice /= (size_t)n;
            if (n < 2)
                continue;
            for (size_t at = 0; at < slice; at++) {
                unsigned char t = m->memory[i][at];
                m->memory[i][at] = m->memory[i][slice + at];
                m->memory[i][slice + at] = t;
            }
            break;
        }
    }
}

static void judge(bench *b, data_kind kind, int64_t reduced) {
    trial_case c, other;
    if (!choose_shape(b, reduced, &c)) {
        snprintf(b->why, sizeof b->why, "no shape satisfies the kernel");
        return;
    }
    memset(&other, 0, sizeof other);
    other.kernel = c.kernel;
    other.symbols = calloc((size_t)c.kernel->symbols.count + 1, sizeof *other.symbols);
    memcpy(other.symbols, c.symbols, (size_t)c.kernel->symbols.count * sizeof *c.symbols);
    oracle_result e = {0};
    trial_memory honest = {0}, faulty = {0}, stale = {0};
    if (trial_fill(&c, kind, &b->random) && trial_fill(&other, kind, &b->random)) {
        /* Scalars lo..hi take their high end, so that the last element of a masked loop exists; both runs share the scalars. */
        bool ok = true;
        for (int i = 0; i < c.kernel->scalars.count; i++) {
            const tile_scalar *s = c.kernel->scalars.at[i];
            if (s->var && s->var->hi)
                c.scalars[s->id] = (double)trial_evaluate(&c, s->var->hi, &ok);
            other.scalars[s->id] = c.scalars[s->id];
        }
        if (expect(b, &c, &e) && run(b, &c, &honest, &(pointwise_faults){0})) {
            must_pass(b, &c, &honest, &e, "honest arithmetic");
            if (run(b, &c, &faulty, &(pointwise_faults){.reversed = true}))
                must_pass(b, &c, &faulty, &e, "honest arithmetic in reverse");
            trial_memory_free(&faulty);
            if (!*b->why && reduced < 64 && run(b, &c, &faulty, &(pointwise_faults){.drop_last = true}))
                must_reject(b, &c, &honest, &faulty, &e, FAULT_DROP);
            trial_memory_free(&faulty);
            if (!*b->why && reduced >= 256 && run(b, &c, &faulty, &(pointwise_faults){.half_accumulator = true}))
                must_reject(b, &c, &honest, &faulty, &e, FAULT_HALF);
            trial_memory_free(&faulty);
            trial_memory_new(&c, &faulty);
            copy_outputs(&c, &faulty, &honest);
            if (!*b->why) {
                swap_rows(b, &c, &faulty);
                must_reject(b, &c, &honest, &faulty, &e, FAULT_ROWS);
                copy_outputs(&c, &faulty, &honest);
            }
            if (!*b->why && run(b, &other, &stale, &(pointwise_faults){0})) {
                for (int i = 0; i < c.kernel->arrays.count; i++)
                    if (c.kernel->arrays.at[i]->role != ARRAY_IN && c.bytes[i]) {
                        int64_t bytes = c.bytes[i] / c.cells[i], keep = c.cells[i] - (c.cells[i] + 3) / 4;
                        memcpy(faulty.memory[i] + keep * bytes, stale.memory[i] + keep * bytes,
                               (size_t)(c.bytes[i] - keep * bytes));
                    }
                must_reject(b, &c, &honest, &faulty, &e, FAULT_STALE);
            }
        }
    }
    trial_memory_free(&stale);
    trial_memory_free(&faulty);
    trial_memory_free(&honest);
    oracle_free(&e);
    trial_case_free(&other);
    trial_case_free(&c);
}

/* Which faults a kernel can show at all. */
typedef struct traits {
    bool sums, loops;
} traits;

static void find_traits(const tile_block *b, traits *t) {
    for (int i = 0; i < b->items.count; i++) {
        const tile_stmt *s = b->items.at[i];
        t->loops = t->loops || s->kind == TILE_STMT_UPDATE || s->kind == TILE_STMT_JOIN;
        t->sums = t->sums || (s->kind == TILE_STMT_UPDATE && s->update == TILE_ADD && s->variable->types[0] == ELEMENT_F32);
        find_traits(&s->body, t);
    }
}

static bool judge_kernel(const tile_module *m, const tile_kernel *k) {
    bench b = {.arena = arena_new(), .random = {7}};
    diag_list diags;
    diag_init(&diags, b.arena);
    /* Large statics (the length of a chunk) would leave one task. */
    tile_binding statics[64];
    int count = 0;
    for (int i = 0; i < k->symbols.count && count < 64; i++)
        if (k->symbols.at[i]->kind == INDEX_STATIC)
            statics[count++] = (tile_binding){k->symbols.at[i]->name, strcmp(k->symbols.at[i]->name, "CH") ? 8 : 64};
    compile_options options = {.target = target_find("c"), .statics = statics, .static_count = count};
    if (!compile_kernel(b.arena, m, k, &options, &b.ck, &diags))
        snprintf(b.why, sizeof b.why, "does not compile: %s", trial_first_error(&diags));
    traits t = {0};
    find_traits(&k->body, &t);
    /* Positive data first: zero-mean data hides partial sums. Long reductions show a narrow accumulator; in short ones one element counts
     * (of 512 weights one may be below the result's own rounding to f16), and in very short ones it is now and then the extreme. */
    static const int64_t lengths[] = {512, 9, 2, 33, 3, 17, 2, 3, 2, 2};
    for (int draw = 0; draw < 10 && !*b.why; draw++)
        judge(&b, draw == 3 ? DATA_ZERO_MEAN : DATA_UNIFORM, lengths[draw]);
    bool needed[FAULT_COUNT] = {t.loops, b.has_rows, t.sums, true};
    const char *names = "";
    for (int f = 0; f < FAULT_COUNT && !*b.why; f++) {
        if (needed[f] && !b.planted[f])
            snprintf(b.why, sizeof b.why, "%s could not be planted", fault_names[f]);
        if (b.planted[f])
            names = arena_printf(b.arena, "%s%s%s", names, *names ? ", " : "", fault_names[f]);
    }
    bool good = !*b.why;
    if (good)
        printf("ok planted faults %s  rejected: %s; honest error / bound up to %.3f\n", k->name, names, b.slack);
    else
        printf("FAIL planted faults %s  %s\n", k->name, b.why);
    fflush(stdout);
    arena_free(b.arena);
    return good;
}

int main(int argc, char **argv) {
    glob_t found = {0};
    int passed = 0, failed = 0;
    if (glob("kernels/*.tile", 0, NULL, &found) != 0)
        printf("FAIL planted faults: no kernels here\n");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        tile_module *m = compile_load(a, found.gl_pathv[i], NULL, &diags);
        if (!m) {
            printf("FAIL planted faults %s  %s\n", found.gl_pathv[i], trial_first_error(&diags));
            failed++;
        }
        for (int n = 0; m && n < m->kernels.count; n++)
            if (argc < 2 || !strcmp(argv[1], m->kernels.at[n]->name)) {
                if (judge_kernel(m, m->kernels.at[n]))
                    passed++;
                else
                    failed++;
            }
        arena_free(a);
    }
    globfree(&found);
    return failed || !passed;
}
