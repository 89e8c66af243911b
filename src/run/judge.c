#include "run/judge.h"
#include "run/recipe.h"
#include "tile/oracle.h"
#include "tile/split.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Everything about judging one step. */
typedef struct step_judge {
    run_call *call;
    call_step *step;
    const tile_kernel *kernel; /* specialised */
    const judge_options *options;
    oracle_arguments arguments;
    oracle_options oracle;
    void **originals;     /* per array of the kernel: an UPDATE array's content before the launch; NULL for others */
    unsigned char **seen; /* per output: 1 where a task evaluated wrote the cell */
    judgement *out;
    diag_list *diags;
    double started;
} step_judge;

static bool lookup_symbol(void *context, const index_var *v, int64_t *value) {
    const call_step *step = context;
    if (v->has_value) {
        *value = v->value;
        return true;
    }
    int at = binding_find_symbol(&step->binding, v->name);
    if (at < 0 || !step->binding.known[at])
        return false;
    *value = step->binding.values[at];
    return true;
}

static int64_t task_count(const step_judge *j) {
    int64_t tasks = 1;
    for (int i = 0; i < j->kernel->task.count; i++) {
        const tile_range *r = j->kernel->task.at[i];
        int64_t extent, size;
        if (!ix_eval(r->extent, lookup_symbol, j->step, &extent) || !ix_eval(r->size, lookup_symbol, j->step, &size))
            return -1;
        tasks *= r->whole ? 1 : size > 0 ? (extent + size - 1) / size : 0;
        if (extent == 0 && !r->whole)
            return 0;
    }
    return tasks;
}

static const char *cell_text(arena *a, const host_array *h, const char *name, int64_t cell) {
    int64_t index[BINDING_MAX_RANK];
    for (int d = h->rank; d-- > 0;) {
        index[d] = h->dims[d] ? cell % h->dims[d] : 0;
        cell = h->dims[d] ? cell / h->dims[d] : 0;
    }
    text_buffer text = {0};
    text_add(&text, "%s[", name);
    for (int d = 0; d < h->rank; d++)
        text_add(&text, "%s%" PRId64, d ? ", " : "", index[d]);
    text_add(&text, "]");
    const char *copy = arena_strdup(a, text_get(&text));
    text_free(&text);
    return copy;
}

/* Cells no task may have written keep what was there before the launch. */
static void check_kept(step_judge *j, const tile_array *t, const call_array *x) {
    int64_t width = element_bytes(t->type, 1);
    const char *before = j->originals[t->id], *after = x->host.data;
    for (int64_t c = 0; c < x->host.cells; c++) {
        if (j->seen[t->id][c])
            continue;
        if (memcmp(before + c * width, after + c * width, (size_t)width)) {
            j->out->failed++;
            diag_error(j->diags, "E0790", t->span, "%s changed, though no task owns it",
                       cell_text(j->diags->arena, &x->host, t->name, c));
            return;
        }
    }
}

/* Evaluates tasks first..last and compares what they wrote. */
static bool judge_tasks(step_judge *j, int64_t first, int64_t last) {
    oracle_result result = {0};
    j->oracle.first_task = first;
    j->oracle.last_task = last;
    if (!oracle_run(j->kernel, &j->arguments, &j->oracle, &result, j->diags))
        return false;
    for (int i = 0; i < j->kernel->arrays.count; i++) {
        const tile_array *t = j->kernel->arrays.at[i];
        if (t->role == ARRAY_IN)
            continue;
        const call_array *x = &j->call->arrays.at[j->step->arrays[i]];
        value_check check = oracle_compare(t, x->host.data, &result.outputs[t->id]);
        judgement *out = j->out;
        out->compared += check.compared;
        out->vacuous += check.vacuous;
        out->failed += check.failed;
        if (check.worst_ratio > out->worst_ratio || isnan(check.worst_ratio))
            out->worst_ratio = check.worst_ratio;
        for (int64_t c = 0; c < x->host.cells && c < result.outputs[t->id].cells; c++)
            j->seen[t->id][c] |= result.outputs[t->id].written[c] != 0;
        if (check.passed)
            continue;
        diag *g = diag_error(j->diags, "E0790", t->span, "%s is %.9g, but the kernel means %.9g, give or take %.3g",
                             cell_text(j->diags->arena, &x->host, t->name, check.worst_cell), check.worst_device,
                             check.worst_value, check.worst_bound);
        diag_note(j->diags, g, "%" PRId64 " of %" PRId64 " compared elements of `%s` are outside their bounds", check.failed,
                  check.compared, t->name);
    }
    oracle_free(&result);
    return true;
}

static bool over_budget(const step_judge *j) {
    return j->options->budget_ms >= 0 && now_ms() - j->started > j->options->budget_ms;
}

/* Every task when that fits the budget, else parts of the task grid spread at random, the first and last tasks among them. */
static bool judge_within_budget(step_judge *j, int64_t tasks) {
    if (tasks <= 0)
        return judge_tasks(j, 0, -1);
    if (j->options->budget_ms < 0)
        return judge_tasks(j, 0, tasks - 1);
    double start = now_ms();
    if (!judge_tasks(j, 0, 0))
        return false;
    double single = now_ms() - start, each = single, fixed = 0;
    int64_t done = 1;
    if (tasks > 2 && !over_budget(j)) { /* a second, longer part tells the cost of a task apart from that of a call */
        int64_t part = tasks - 1 < 8 ? tasks - 1 : 8;
        start = now_ms();
        if (!judge_tasks(j, 1, part))
            return false;
        double several = now_ms() - start;
        done += part;
        if (part > 1) {
            each = several > single ? (several - single) / (double)(part - 1) : several / (double)part / 2;
            fixed = single > each ? single - each : 0;
        }
    }
    if (done >= tasks)
        return true;
    double left = j->options->budget_ms - (now_ms() - j->started);
    if (fixed + each * (double)(tasks - done) <= left)
        return judge_tasks(j, done, tasks - 1);
    j->out->complete = false;
    enum { PARTS = 6 };
    uint64_t state = j->options->seed;
    int64_t length = (int64_t)((left / PARTS - fixed) / (each > 0 ? each : 1e-3));
    int64_t span = (tasks - done) / PARTS;
    if (length > span)
        length = span;
    for (int p = 0; p < PARTS && length > 0 && !over_budget(j); p++) {
        int64_t from = done + p * span + (int64_t)(recipe_next(&state) % (uint64_t)(span - length + 1));
        int64_t to = p == PARTS - 1 ? tasks - 1 : from + length - 1; /* the ragged end is where guards go wrong */
        if (!judge_tasks(j, p == PARTS - 1 ? tasks - length : from, to))
            return false;
    }
    return length > 0 || judge_tasks(j, tasks - 1, tasks - 1);
}

/* What is judged after some of the call's steps: a kernel, as it was emitted. */
typedef struct meaning {
    const tile_kernel *kernel; /* specialised */
    call_step *step;           /* its symbols, arrays and scalars */
    const reduction_tree *trees;
    int tree_count;
    const oracle_chunks *chunks;
    int first, last; /* the steps that are its launch */
} meaning;

static bool run_steps(run_call *c, const meaning *m, judgement *out, diag_list *diags) {
    for (int i = m->first; i <= m->last; i++) {
        if (!call_run_step(c, i, diags))
            return false;
        out->run_ms += c->steps.at[i].milliseconds;
    }
    return true;
}

/* Of units that were probed on this device, what they do there: not what every device that has the instruction can be counted on to do. */
static const reduction_tree *as_probed(run_call *c, const reduction_tree *trees, int count) {
    const device_description *d = session_description(c->session);
    reduction_tree *out = d && count ? NEW_ARRAY(c->arena, reduction_tree, count) : NULL;
    for (int i = 0; out && i < count; i++) {
        const unit_description *u = device_unit_find(d, trees[i].unit);
        out[i] = trees[i];
        if (u && u->added && out[i].added) {
            out[i].added = u->added;
            out[i].fraction = u->fraction;
            out[i].kept = u->kept;
        }
    }
    return out ? out : trees;
}

static bool judge_meaning(run_call *c, const meaning *m, const judge_options *options, judgement *out, diag_list *diags) {
    call_step *step = m->step;
    const tile_kernel *k = m->kernel;
    step_judge j = {.call = c, .step = step, .kernel = k, .options = options, .out = out, .diags = diags};
    int arrays = 1;
    for (int i = 0; i < k->arrays.count; i++)
        arrays = k->arrays.at[i]->id >= arrays ? k->arrays.at[i]->id + 1 : arrays;
    const void **data = NEW_ARRAY(c->arena, const void *, arrays);
    double *scalars = NEW_ARRAY(c->arena, double, k->scalars.count + 1);
    int64_t *symbols = NEW_ARRAY(c->arena, int64_t, k->symbols.count + 1);
    j.originals = NEW_ARRAY(c->arena, void *, arrays);
    j.seen = NEW_ARRAY(c->arena, unsigned char *, arrays);
    bool good = true;
    for (int i = 0; good && i < k->arrays.count; i++) {
        const tile_array *t = k->arrays.at[i];
        const call_array *x = &c->arrays.at[step->arrays[i]];
        data[t->id] = x->host.data;
        if (t->role == ARRAY_IN)
            continue;
        out->cells += x->host.cells;
        j.seen[t->id] = calloc((size_t)x->host.cells + 1, 1);
        if (t->role == ARRAY_UPDATE) {
            j.originals[t->id] = malloc((size_t)x->host.bytes + 1);
            if (j.originals[t->id])
                memcpy(j.originals[t->id], x->host.data, (size_t)x->host.bytes);
            data[t->id] = j.originals[t->id];
        }
        good = j.seen[t->id] && data[t->id];
        if (!good)
            diag_error(diags, "E0648", t->span, "no memory to check `%s`", t->name);
    }
    for (int i = 0; i < k->scalars.count; i++)
        scalars[k->scalars.at[i]->id] = c->scalars.at[step->scalars[i]].value;
    for (int i = 0; i < k->symbols.count; i++)
        if (!lookup_symbol(step, k->symbols.at[i], &symbols[i]))
            symbols[i] = 0;
    j.arguments = (oracle_arguments){data, scalars, symbols};
    j.oracle = (oracle_options){.model = arithmetic_model_find(session_target(c->session)->name),
                                .trees = as_probed(c, m->trees, m->tree_count),
                                .tree_count = m->tree_count,
                                .chunks = m->chunks};
    good = good && run_steps(c, m, out, diags);
    if (good) {
        j.started = now_ms();
        int64_t tasks = task_count(&j), compared_before = out->compared, failed_before = out->failed;
        good = judge_within_budget(&j, tasks);
        out->oracle_ms += now_ms() - j.started;
        int64_t owed = 0; /* cells of OUT arrays: all of them are written */
        for (int i = 0; good && out->complete && i < k->arrays.count; i++) {
            const tile_array *t = k->arrays.at[i];
            const call_array *x = &c->arrays.at[step->arrays[i]];
            owed += t->role == ARRAY_OUT ? x->host.cells : 0;
            if (t->role == ARRAY_UPDATE)
                check_kept(&j, t, x);
        }
        if (good && out->complete && out->failed == failed_before && out->compared - compared_before < owed) {
            diag_error(diags, "E0790", k->span, "%" PRId64 " elements of %s's results were written by no task of its meaning",
                       owed - (out->compared - compared_before), k->name);
            out->failed++;
        }
    }
    for (int i = 0; i < arrays; i++) {
        free(j.originals[i]);
        free(j.seen[i]);
    }
    return good;
}

static bool judge_step(run_call *c, int number, const judge_options *options, judgement *out, diag_list *diags) {
    call_step *step = &c->steps.at[number];
    const lowering *l = &step->compiled->lowered;
    const meaning m = {step->compiled->tiles, step, l->trees.at, l->trees.count, l->dealt, number, number};
    return judge_meaning(c, &m, options, out, diags);
}

/* A kernel that ran in two (tile/split.h) is judged by its own meaning, with its loop parted as it was. */
static bool judge_split(run_call *c, const judge_options *options, judgement *out, diag_list *diags) {
    arena *a = c->arena;
    const compiled_kernel *part = c->steps.at[0].compiled, *join = c->steps.at[1].compiled;
    VEC(tile_binding) bindings = {0};
    VEC(reduction_tree) trees = {0};
    double depth = 1;
    for (int i = 0; i < 2; i++) {
        const compiled_kernel *x = c->steps.at[i].compiled;
        for (int n = 0; n < x->statics.count; n++)
            VEC_PUSH(a, bindings, x->statics.at[n]);
        for (int n = 0; n < x->schedule.bindings.count; n++)
            VEC_PUSH(a, bindings, x->schedule.bindings.at[n]);
    }
    for (int n = 0; n < part->lowered.trees.count; n++)
        VEC_PUSH(a, trees, part->lowered.trees.at[n]);
    for (int n = 0; n < join->lowered.trees.count; n++) {
        const reduction_tree *t = &join->lowered.trees.at[n];
        if (t->value_id < c->kernel->value_count) /* of what follows the loop */
            VEC_PUSH(a, trees, *t);
        else
            depth = fmax(depth, 2 + ceil(log2((double)(t->parallel > 1 ? t->parallel : 1))));
    }
    const char *why;
    const oracle_chunks chunks = {.range = split_loop(c->kernel, &why)->range->id,
                                  .chunk = c->chunk,
                                  .groups = part->lowered.dealt ? part->lowered.dealt->groups : 1,
                                  .chunk_groups = join->lowered.dealt ? join->lowered.dealt->groups : 1,
                                  .depth = depth};
    call_step whole = {.kernel = c->kernel, .binding = c->binding};
    whole.arrays = NEW_ARRAY(a, int, c->kernel->arrays.count + 1);
    whole.scalars = NEW_ARRAY(a, int, c->kernel->scalars.count + 1);
    for (int i = 0; i < c->kernel->arrays.count; i++)
        whole.arrays[i] = i;
    for (int i = 0; i < c->kernel->scalars.count; i++)
        whole.scalars[i] = i;
    const tile_kernel *k = tile_specialise(a, c->kernel, bindings.at, bindings.count);
    const meaning m = {k, &whole, trees.at, trees.count, &chunks, 0, 1};
    return judge_meaning(c, &m, options, out, diags);
}

bool judge_call(run_call *c, const judge_options *options, judgement *out, diag_list *diags) {
    *out = (judgement){.complete = true};
    if (!c->prepared && !call_prepare(c, diags))
        return false;
    call_poison(c);
    judge_options each = *options;
    if (c->steps.count > 1 && each.budget_ms > 0)
        each.budget_ms /= c->steps.count;
    if (c->split && !judge_split(c, options, out, diags))
        return false;
    for (int i = 0; !c->split && i < c->steps.count; i++) {
        if (!judge_step(c, i, &each, out, diags))
            return false;
        if (out->failed)
            break; /* the next step would be judged on wrong bytes */
    }
    out->passed = out->failed == 0;
    if (out->passed && (double)out->vacuous > options->vacuous_share * (double)out->compared) {
        diag *g = diag_error(diags, "E0791", c->binding.signature.span, "%" PRId64 " of %" PRId64 " bounds say nothing",
                             out->vacuous, out->compared);
        diag_note(diags, g, "a bound over 1%% of the element's scale cannot tell right from wrong");
        out->passed = false;
    }
    return true;
}
