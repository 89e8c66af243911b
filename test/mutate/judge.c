#include "judge.h"
#include "foreign.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const target_limits mutation_limits = {.target = "any",
                                       .private_bytes = 16 << 20,
                                       .shared_bytes = 232448,
                                       .threads_per_block = 1024,
                                       .index_bits = 64,
                                       .largest_extent = INT32_MAX,
                                       .has_lanes = true};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static kernel_ir *parse(arena *a, const char *name, const char *text, diag_list *diags) {
    diag_init(diags, a);
    kernel_ir *k = kernel_parse(a, name, text, diags);
    return k && kernel_check(k, diags) ? k : NULL;
}

/* ---- launches ---- */

static const char *random_launch(arena *a, const kernel_ir *k, int attempt, uint64_t *state) {
    static const int pool[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 20, 31, 32, 33, 40, 64, 65, 70};
    enum { POOL = sizeof pool / sizeof *pool };
    text_buffer b = {0};
    for (int i = 0; i < k->symbols.count + k->scalars.count; i++) {
        bool symbol = i < k->symbols.count;
        const char *name = symbol ? k->symbols.at[i]->name : k->scalars.at[i - k->symbols.count].name;
        if (!symbol && !k->scalars.at[i - k->symbols.count].var)
            continue;
        int value = pool[next_random(state) % POOL];
        /* unnamed ones take what an assumption gives them, else the least value; and nothing is a launch too */
        bool unnamed = attempt == 0 || next_random(state) % 5 == 0, none = attempt > 3 && next_random(state) % 12 == 0;
        if (!unnamed)
            text_add(&b, "%s%s = %d", b.length ? ", " : "", name, none ? 0 : value);
    }
    const char *text = arena_strdup(a, text_get(&b));
    text_free(&b);
    return text;
}

/* True when the kernel behaves there; *steps 0 when the launch is none of its own. */
static bool behaves(const mutation_base *b, const char *launch, int64_t limit, int64_t *steps, char *why, size_t size) {
    arena *a = arena_new();
    diag_list diags;
    sim_report report = {0};
    kernel_ir *k = parse(a, b->name, b->text, &diags);
    sim_options options = {.seed = 1, .step_limit = limit, .byte_limit = 64 << 20};
    bool well = k && sim_witness(a, k, launch, &options, &report, &diags);
    bool endless = report.findings.count == 1 && report.findings.at[0].kind == SIM_STEPS;
    *steps = well ? report.steps + 1 : 0;
    if (report.findings.count && !endless)
        snprintf(why, size, "at %s: %s", launch, report.findings.at[0].message);
    bool misbehaves = report.findings.count && !endless;
    arena_free(a);
    return !misbehaves;
}

bool mutation_choose_launches(arena *a, mutation_base *b, const char *given, uint64_t seed, const char **why) {
    enum { ATTEMPTS = 120, MOST_STEPS = 120000 };
    int64_t steps_of[LAUNCHES], lengthy = 0;
    const char *lengthy_launch = NULL;
    uint64_t state = seed * 2654435761u + 12345;
    char message[240] = "";
    diag_list diags;
    kernel_ir *k = parse(a, b->name, b->text, &diags);
    if (!k) {
        *why = diags.items.count ? arena_strdup(a, diags.items.at[0]->message) : "unreadable";
        return false;
    }
    b->launch_count = 0;
    for (int attempt = 0; attempt < ATTEMPTS && b->launch_count < LAUNCHES; attempt++) {
        const char *launch;
        bool by_hand = given && *given;
        if (by_hand) {
            size_t n = strcspn(given, ";");
            launch = arena_strndup(a, given, n);
            given += n + (given[n] == ';');
        } else
            launch = random_launch(a, k, attempt, &state);
        bool known = false;
        for (int i = 0; i < b->launch_count; i++)
            known = known || !strcmp(b->launches[i], launch);
        int64_t steps;
        if (known)
            continue;
        if (!behaves(b, launch, by_hand ? 1000000 : MOST_STEPS * 4, &steps, message, sizeof message)) {
            *why = arena_strdup(a, message);
            return false;
        }
        if (!steps)
            continue;
        if (steps > MOST_STEPS && !by_hand) { /* kept for kernels that have no shorter launch */
            if (!lengthy || steps < lengthy) {
                lengthy = steps;
                lengthy_launch = launch;
            }
            continue;
        }
        int at = b->launch_count++;
        for (; at && steps_of[at - 1] > steps; at--) {
            steps_of[at] = steps_of[at - 1];
            b->launches[at] = b->launches[at - 1];
        }
        steps_of[at] = steps;
        b->launches[at] = launch;
    }
    if (!b->launch_count && lengthy_launch) {
        b->launches[0] = lengthy_launch;
        steps_of[0] = lengthy;
        b->launch_count = 1;
    }
    *why = "no launch that the simulator can run was found";
    if (!b->launch_count)
        return false;
    b->steps = steps_of[b->launch_count - 1];
    return true;
}

/* ---- what isl can say in full ---- */

static bool affine_index(const index_expr *x) {
    if (x->op == IX_VAR)
        return x->var->kind != INDEX_VALUE || !x->var->owner || ((kernel_stmt *)x->var->owner)->value->op == KERNEL_INDEX;
    if (!x->a)
        return true;
    if (x->op == IX_MUL && !ix_is_const(x->a, NULL) && !ix_is_const(x->b, NULL))
        return false;
    if ((x->op == IX_FLOORDIV || x->op == IX_MOD) && !ix_is_const(x->b, NULL))
        return false;
    return affine_index(x->a) && affine_index(x->b);
}

static bool affine_condition(const cond *c) {
    return !c || ((!c->x || (affine_index(c->x) && affine_index(c->y))) && affine_condition(c->a) && affine_condition(c->b));
}

static void note_index(void *context, index_expr **x) {
    bool *affine = context;
    *affine = *affine && affine_index(*x);
}

static void note_condition(void *context, cond **c) {
    bool *affine = context;
    *affine = *affine && affine_condition(*c);
}

static bool affine_block(const kernel_block *b) {
    bool affine = true;
    const kernel_visitor v = {.context = &affine, .index = note_index, .condition = note_condition};
    for (int i = 0; i < b->items.count && affine; i++) {
        kernel_stmt *s = b->items.at[i];
        if (s->kind == KSTMT_LOOP || s->kind == KSTMT_IF_VALUE || s->kind == KSTMT_INTRINSIC)
            return false; /* data decide */
        kernel_visit_stmt(s, &v);
        affine = affine && affine_block(&s->body) && affine_block(&s->otherwise);
    }
    return affine;
}

static bool is_affine(const kernel_ir *k) {
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        for (int d = 0; d < a->rank; d++)
            if (!affine_index(a->dims[d]))
                return false;
        if (!affine_condition(a->cells))
            return false;
        for (int d = 0; a->layout.strides && d < a->rank; d++)
            if (!ix_is_const(a->layout.strides[d], NULL))
                return false;
    }
    for (int i = 0; i < k->assumptions.count; i++)
        if (!affine_condition(k->assumptions.at[i]))
            return false;
    for (int i = 0; i < k->levels.count; i++)
        for (int d = 0; d < k->levels.at[i].rank; d++)
            if (!affine_index(k->levels.at[i].extents[d]))
                return false;
    return affine_block(&k->body);
}

/* ---- judging ---- */

/* Prints the changed kernel as a text, so that what is judged can be kept and read. NULL: the checker refuses it. */
static const char *make_mutant(arena *a, const mutation_base *b, int site, mutation *m) {
    diag_list diags;
    kernel_ir *k = parse(a, b->name, b->text, &diags);
    if (!k || !mutation_apply(k, site, m) || !kernel_check(k, &diags))
        return NULL;
    text_buffer text = {0};
    kernel_print(&text, k);
    const char *copy = arena_strdup(a, text_get(&text));
    text_free(&text);
    return strcmp(copy, b->text) ? copy : NULL; /* two equal statements that changed places */
}

static bool misbehaves(arena *a, const kernel_ir *k, const char *launch, uint64_t seed, int64_t limit, mutant_result *out) {
    diag_list diags;
    sim_report report = {0};
    diag_init(&diags, a);
    sim_options options = {.seed = seed, .step_limit = limit, .byte_limit = 256 << 20, .zeros = seed == 3};
    sim_witness(a, k, launch, &options, &report, &diags);
    for (int i = 0; i < report.findings.count; i++) {
        const sim_finding *f = &report.findings.at[i];
        if (f->kind == SIM_STEPS) {
            out->endless = true;
            continue;
        }
        if (!out->harm[0])
            snprintf(out->harm, sizeof out->harm, "%s at %s: %s", sim_kinds[f->kind].name, *launch ? launch : "the least launch",
                     f->message);
        return true;
    }
    return false;
}

static bool runnable(arena *a, const kernel_ir *k, const char *launch, char *why, size_t size) {
    diag_list diags;
    sim_report report = {0};
    diag_init(&diags, a);
    sim_options options = {.step_limit = 20000000, .byte_limit = 256 << 20};
    if (sim_witness(a, k, launch, &options, &report, &diags) || !diags.errors)
        return true;
    if (report.findings.count && report.findings.at[0].kind != SIM_STEPS)
        return true;
    snprintf(why, size, "%s", diags.items.at[0]->message);
    return false;
}

void mutation_run_witnesses(const kernel_ir *k, const proof *p, mutant_result *out) {
    enum { TRIALS = 8, WITNESS_STEPS = 20000000 };
    for (int i = 0; i < p->items.count; i++) {
        const proof_item *item = &p->items.at[i];
        if (item->verdict != VERDICT_REFUTED)
            continue;
        out->refuted++;
        arena *a = arena_new();
        const char *launch = item->witness ? item->witness : "";
        char why[100] = "";
        bool seen = false;
        for (int seed = 0; !seen && seed < TRIALS; seed++) {
            seen = misbehaves(a, k, launch, (uint64_t)seed, WITNESS_STEPS, out);
            if (!seen && !seed && !runnable(a, k, launch, why, sizeof why))
                break;
        }
        out->confirmed += seen;
        out->not_run += !seen && *why;
        out->unconfirmed += !seen && !*why;
        if (!seen)
            snprintf(out->reason, sizeof out->reason, "%.20s of `%.20s` at %.50s %.24s", item->property,
                     item->subject ? item->subject : "", launch, why);
        arena_free(a);
    }
}

bool mutation_is_wrong(const mutant_result *r) {
    return r->state == MUTANT_CRASHED ||
           (r->state == MUTANT_JUDGED && ((r->harmful && r->verdict == VERDICT_PROVED) || r->unconfirmed));
}

static void keep(const char *folder, const mutation_base *b, int site, const mutant_result *out, const char *text) {
    char path[600], name[200];
    snprintf(name, sizeof name, "%s", b->name);
    for (char *c = name; *c; c++)
        *c = strchr("/ :.", *c) ? '_' : *c;
    snprintf(path, sizeof path, "%s/%s.%d.kir", folder, name, site);
    FILE *f = fopen(path, "w");
    if (!f)
        return;
    fprintf(f, "// %s, line %d: %s: %s\n// verdict: %s%s%s\n// simulator: %s\n%s", b->name, out->line,
            mutation_table[out->op].name, out->what, verdict_names[out->verdict], out->reason[0] ? ": " : "", out->reason,
            out->harm[0] ? out->harm : "saw nothing", text);
    fclose(f);
}

void mutation_judge(const mutation_base *b, int site, const char *folder, bool ask_foreign, mutant_result *out) {
    enum { SEEDS = 3 };
    arena *a = arena_new();
    mutation m = {0};
    diag_list diags;
    const char *text = make_mutant(a, b, site, &m);
    kernel_ir *k = text ? parse(a, b->name, text, &diags) : NULL;
    out->op = (int)m.op;
    out->line = m.line;
    memcpy(out->what, m.what, sizeof out->what);
    if (!k) {
        out->state = MUTANT_REFUSED;
        arena_free(a);
        return;
    }
    out->affine = is_affine(k);
    double start = now_ms();
    int at = 0; /* the launch that harms, else the longest */
    for (int i = 0; i < b->launch_count && !out->harmful; at = i++)
        for (int seed = 0; seed < SEEDS && !out->harmful; seed++) {
            arena *run = arena_new();
            out->harmful = misbehaves(run, k, b->launches[i], (uint64_t)seed, b->steps * 4 + 20000, out);
            arena_free(run);
        }
    out->sim_ms = now_ms() - start;
    if (ask_foreign && b->launch_count) {
        char ignored[120];
        out->harmful_there = out->harmful;
        out->foreign = foreign_judge(b->name, text, b->launches[at], out->foreign_said, sizeof out->foreign_said);
        if (out->foreign == FOREIGN_HARM)
            out->foreign_base = foreign_judge(b->name, b->text, b->launches[at], ignored, sizeof ignored);
    }
    proof p;
    prove_kernel(a, k, &mutation_limits, &p, &diags);
    out->prove_ms = p.milliseconds;
    out->verdict = p.refuted ? VERDICT_REFUTED : p.unknown || !p.items.count ? VERDICT_UNKNOWN : VERDICT_PROVED;
    for (int i = 0; i < p.items.count && out->verdict == VERDICT_UNKNOWN && !out->reason[0]; i++)
        if (p.items.at[i].verdict == VERDICT_UNKNOWN)
            snprintf(out->reason, sizeof out->reason, "%.24s of `%.24s`: %.64s", p.items.at[i].property,
                     p.items.at[i].subject ? p.items.at[i].subject : "",
                     p.items.at[i].explanation ? p.items.at[i].explanation : "");
    mutation_run_witnesses(k, &p, out);
    out->by_witness = !out->harmful && out->confirmed;
    out->harmful = out->harmful || out->confirmed;
    out->state = MUTANT_JUDGED;
    if (folder && mutation_is_wrong(out))
        keep(folder, b, site, out, text);
    arena_free(a);
}
