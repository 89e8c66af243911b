/* The value check. Our kernels are judged by the reduction trees that were emitted; strangers' by the bound of the longest
 * chain, and to the bit on whole numbers where the kernel is of the exact class. */
#include "bench/check.h"
#include "run/judge.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TIMED_SEED = 7 };
/* Strangers may order the operations of one element in other ways, each of which rounds a few times more or less than ours. */
static const double stranger_slack = 4;
static const double exact_limit = 16777216; /* 2^24: whole numbers up to it are f32 values, and so are their partial sums */

/* The data that is timed comes last, so that its reference is at hand afterwards. */
static const struct data_set {
    recipe_kind recipe;
    uint64_t seed;
} data_sets[] = {{RECIPE_INTEGERS, 13}, {RECIPE_POSITIVE, 11}, {RECIPE_RANDOM, TIMED_SEED}};
enum { DATA_SETS = sizeof data_sets / sizeof *data_sets };

struct checker {
    bench_work *work;
    bool exact_class;
    bool foreign;           /* there is an arm that is not ours: the reference is needed */
    oracle_result expected; /* of the data in place now */
    bool has_expected;
    char **originals; /* per array: content of update arrays before a run; NULL for others */
};

void checker_close(checker *c) {
    if (!c)
        return;
    if (c->has_expected)
        oracle_free(&c->expected);
    for (int i = 0; c->originals && i < c->work->arrays.count; i++)
        free(c->originals[i]);
    free(c->originals);
    free(c);
}

checker *checker_open(bench_work *w, diag_list *diags) {
    checker *c = calloc(1, sizeof *c);
    bool good = c && (c->originals = calloc((size_t)w->arrays.count + 1, sizeof *c->originals));
    if (c)
        c->work = w;
    for (int i = 0; good && i < w->arrays.count; i++)
        if (w->arrays.at[i].declared->role == ARRAY_UPDATE)
            good = (c->originals[i] = malloc((size_t)w->arrays.at[i].shape.bytes + 1)) != NULL;
    if (!good) {
        diag_error(diags, "E0648", (source_span){0}, "no memory to check %s", w->name);
        checker_close(c);
        return NULL;
    }
    c->exact_class = w->kernel && work_is_exact_class(w->kernel);
    for (int i = 0; i < w->arrays.count; i++)
        c->exact_class = c->exact_class && !w->arrays.at[i].recipe_fixed && !w->arrays.at[i].index_bound;
    return c;
}

static void keep_originals(checker *c) {
    for (int i = 0; i < c->work->arrays.count; i++)
        if (c->originals[i])
            memcpy(c->originals[i], work_at(c->work, i, 0), (size_t)c->work->arrays.at[i].shape.bytes);
}

static void restore_and_poison(checker *c) {
    for (int i = 0; i < c->work->arrays.count; i++)
        if (c->originals[i])
            memcpy(work_at(c->work, i, 0), c->originals[i], (size_t)c->work->arrays.at[i].shape.bytes);
    work_poison(c->work);
}

static bool lookup_symbol(const call_step *step, const index_var *v, int64_t *value) {
    int at = binding_find_symbol(&step->binding, v->name);
    *value = v->has_value ? v->value : at >= 0 && step->binding.known[at] ? step->binding.values[at] : 0;
    return true;
}

/* The reference for the data in place, bounds by the longest chain. */
static bool compute_expected(checker *c, diag_list *diags) {
    bench_work *w = c->work;
    const call_step *step = &w->call->steps.at[0];
    const tile_kernel *k = step->compiled->tiles;
    if (c->has_expected)
        oracle_free(&c->expected);
    c->has_expected = false;
    int arrays = 1;
    for (int i = 0; i < k->arrays.count; i++)
        arrays = k->arrays.at[i]->id >= arrays ? k->arrays.at[i]->id + 1 : arrays;
    arena *a = arena_new();
    const void **data = NEW_ARRAY(a, const void *, arrays);
    double *scalars = NEW_ARRAY(a, double, k->scalars.count + 1);
    int64_t *symbols = NEW_ARRAY(a, int64_t, k->symbols.count + 1);
    for (int i = 0; i < k->arrays.count; i++)
        data[k->arrays.at[i]->id] = work_at(w, step->arrays[i], 0);
    for (int i = 0; i < k->scalars.count; i++)
        scalars[k->scalars.at[i]->id] = w->scalars.at[step->scalars[i]].value;
    for (int i = 0; i < k->symbols.count; i++)
        lookup_symbol(step, k->symbols.at[i], &symbols[i]);
    oracle_options o = {.model = arithmetic_model_find(session_target(w->session)->name), .last_task = -1};
    oracle_arguments arguments = {data, scalars, symbols};
    c->has_expected = oracle_run(k, &arguments, &o, &c->expected, diags);
    for (int i = 0; c->has_expected && i < k->arrays.count; i++) {
        oracle_output *e = &c->expected.outputs[k->arrays.at[i]->id];
        for (int64_t n = 0; n < e->cells; n++)
            e->bound[n] *= stranger_slack;
    }
    arena_free(a);
    return c->has_expected;
}

static const char *cell_text(arena *a, const work_array *x, int64_t cell) {
    text_buffer text = {0};
    int64_t index[BINDING_MAX_RANK];
    for (int d = x->shape.rank; d-- > 0;) {
        index[d] = x->shape.dims[d] ? cell % x->shape.dims[d] : 0;
        cell = x->shape.dims[d] ? cell / x->shape.dims[d] : 0;
    }
    text_add(&text, "%s[", x->name);
    for (int d = 0; d < x->shape.rank; d++)
        text_add(&text, "%s%" PRId64, d ? ", " : "", index[d]);
    text_add(&text, "]");
    const char *copy = arena_strdup(a, text_get(&text));
    text_free(&text);
    return copy;
}

static bool refuse(diag_list *diags, const bench_arm *arm, const work_array *x, int64_t cell, double device, double value,
                   double bound, recipe_kind recipe) {
    diag *g = diag_error(diags, "E1040", (source_span){0}, "%s: %s is %.9g, but the kernel means %.9g, give or take %.3g",
                         arm->name, cell_text(diags->arena, x, cell), device, value, bound);
    diag_note(diags, g, "on %s data; an arm with a wrong value is not timed", recipe_names[recipe]);
    return false;
}

/* The first cell that is not the whole number it must be; -1 when all are. */
static int64_t inexact_cell(const work_array *x, const char *bytes, const oracle_output *e) {
    for (int64_t i = 0; i < e->cells; i++) {
        double value = e->value[i], stored[2] = {0};
        if (!e->written[i] || !(value >= 0 && value <= exact_limit) || value != floor(value))
            continue;
        element_store(x->shape.type, stored, 0, value);
        if (element_load(x->shape.type, bytes, i) != element_load(x->shape.type, stored, 0))
            return i;
    }
    return -1;
}

/* Cells that no task owns keep what was there. */
static int64_t changed_cell(const checker *c, int array, const oracle_output *e) {
    const work_array *x = &c->work->arrays.at[array];
    int width = element_table[x->shape.type].block_bytes;
    const char *before = c->originals[array], *after = work_at(c->work, array, 0);
    for (int64_t i = 0; before && i < e->cells; i++)
        if (!e->written[i] && memcmp(before + i * width, after + i * width, (size_t)width))
            return i;
    return -1;
}

/* Compares what lies in the outputs with the reference. */
static bool compare(checker *c, const bench_arm *arm, const struct data_set *set, bool bounds, arm_check *out, diag_list *diags) {
    const call_step *step = &c->work->call->steps.at[0];
    const tile_kernel *k = step->compiled->tiles;
    for (int i = 0; i < k->arrays.count; i++) {
        const tile_array *t = k->arrays.at[i];
        if (t->role == ARRAY_IN)
            continue;
        const work_array *x = &c->work->arrays.at[step->arrays[i]];
        const char *bytes = work_at(c->work, step->arrays[i], 0);
        const oracle_output *e = &c->expected.outputs[t->id];
        if (bounds) {
            value_check v = oracle_compare(t, bytes, e);
            out->compared += v.compared;
            out->vacuous += v.vacuous;
            if (v.worst_ratio > out->worst_ratio || isnan(v.worst_ratio)) {
                out->worst_ratio = v.worst_ratio;
                out->worst_error = fabs(v.worst_device - v.worst_value);
                out->worst_bound = v.worst_bound;
            }
            if (!v.passed)
                return refuse(diags, arm, x, v.worst_cell, v.worst_device, v.worst_value, v.worst_bound, set->recipe);
            int64_t changed = changed_cell(c, step->arrays[i], e);
            if (changed >= 0) {
                diag_error(diags, "E1040", (source_span){0}, "%s: %s changed, though no task owns it", arm->name,
                           cell_text(diags->arena, x, changed));
                return false;
            }
        }
        int64_t inexact = set->recipe == RECIPE_INTEGERS ? inexact_cell(x, bytes, e) : -1;
        if (inexact >= 0)
            return refuse(diags, arm, x, inexact, element_load(x->shape.type, bytes, inexact), e->value[inexact], 0, set->recipe);
    }
    return true;
}

static bool judge_ours(run_call *call, arm_check *out, diag_list *diags) {
    judge_options o = {.budget_ms = -1, .vacuous_share = 0.01, .seed = 1};
    judgement j;
    if (!judge_call(call, &o, &j, diags))
        return false;
    out->compared += j.compared;
    out->vacuous += j.vacuous;
    out->worst_ratio = j.worst_ratio > out->worst_ratio ? j.worst_ratio : out->worst_ratio;
    out->worst_error = out->worst_bound = NAN;
    return j.passed;
}

/* One arm on the data in place. */
static bool check_one(checker *c, bench_arm *arm, const struct data_set *set, arm_check *out, diag_list *diags) {
    run_call *call = arm_call(arm);
    double ignored;
    restore_and_poison(c);
    if (call) {
        arm_point_at(arm, 0);
        if (!judge_ours(call, out, diags))
            return false;
        return set->recipe != RECIPE_INTEGERS || compare(c, arm, set, false, out, diags);
    }
    return arm->kind->run(arm, 0, 1, &ignored, diags) && compare(c, arm, set, true, out, diags);
}

/* The same, and what was compared. `judged`: an arm whose outputs on this data were, NULL: none yet. The steps of a program of several kernels are judged one
 * by one; an arm without steps has right results when they are those of an arm that has. */
static void check_and_name(checker *c, bench_arm *arm, const struct data_set *set, arm_check *out, const arm_check *judged,
                           diag_list *diags) {
    size_t n = strlen(out->data);
    snprintf(out->data + n, sizeof out->data - n, "%s%s", n ? ", " : "", recipe_names[set->recipe]);
    out->exact = out->exact || set->recipe == RECIPE_INTEGERS;
    if (c->work->kernel || arm_call(arm)) {
        out->passed = out->passed && check_one(c, arm, set, out, diags);
        work_hash_outputs(c->work, out->output_hash);
        return;
    }
    double ignored;
    restore_and_poison(c);
    out->passed = out->passed && arm->kind->run(arm, 0, 1, &ignored, diags);
    work_hash_outputs(c->work, out->output_hash);
    if (!out->passed || (judged && !memcmp(out->output_hash, judged->output_hash, sizeof out->output_hash)))
        return;
    diag_error(diags, "E1041", (source_span){0},
               judged ? "%s is a program of several kernels: its steps are judged one by one, which %s does not have, and its "
                        "results are not those of ours"
                      : "%s is a program of several kernels: its steps are judged one by one, which %s does not have, and no arm "
                        "of ours was judged beside it",
               c->work->name, arm->name);
    out->passed = false;
}

static bool check_set(checker *c, const struct data_set *set, bench_arm *const *arms, int count, arm_check *out,
                      diag_list *diags) {
    bool exact = set->recipe == RECIPE_INTEGERS;
    work_fill(c->work, set->recipe, set->seed);
    keep_originals(c);
    if (c->work->kernel && (exact || c->foreign) && !compute_expected(c, diags))
        return false;
    int judged = -1; /* an arm of ours whose outputs were */
    for (int n = 0; n < 2 * count; n++) {
        const int i = n % count;
        if (!arm_call(arms[i]) != (n >= count)) /* ours first */
            continue;
        check_and_name(c, arms[i], set, &out[i], judged < 0 ? NULL : &out[judged], diags);
        judged = judged < 0 && n < count && out[i].passed ? i : judged;
    }
    restore_and_poison(c);
    return true;
}

static void begin(checker *c, bench_arm *const *arms, int count, arm_check *out) {
    for (int i = 0; i < count; i++) {
        out[i] = (arm_check){.passed = true, .worst_error = 0};
        c->foreign = c->foreign || arms[i]->foreign;
    }
}

bool checker_values(checker *c, bench_arm *const *arms, int count, arm_check *out, diag_list *diags) {
    begin(c, arms, count, out);
    for (int s = 0; s < DATA_SETS; s++)
        if ((data_sets[s].recipe != RECIPE_INTEGERS || c->exact_class) && !check_set(c, &data_sets[s], arms, count, out, diags))
            return false;
    return true;
}

bool checker_fresh(checker *c, bench_arm *const *arms, int count, arm_check *out, diag_list *diags) {
    static const struct data_set fresh = {RECIPE_RANDOM, 1017};
    begin(c, arms, count, out);
    return check_set(c, &fresh, arms, count, out, diags);
}
