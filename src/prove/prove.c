/* The list of properties, and the door: only a plan whose every item is proved becomes a proved_plan. */
#include "prove/prove.h"
#include "base/hash.h"
#include "kernel/align.h"
#include "prove/memo.h"
#include "prove/model.h"
#include "prove/split.h"
#include <string.h>

struct proved_plan {
    const launch_plan *plan;
};

const launch_plan *proved_plan_get(const proved_plan *p) {
    return p->plan;
}

const char *const verdict_names[] = {"proved", "refuted", "not proved"};

enum { QUESTION_OPERATIONS = 3000000 };

/* The properties of one kernel, in the order in which they are judged; capacity, which depends on the target, comes after them. Where cells and order count, and not how they are computed, thread ids may be taken
 * apart (split.h). */
static const struct {
    const char *name, *code;
    void (*judge)(prover *p);
    bool by_digits;
} properties[] = {
    {"order", "E0410", judge_order, false},
    {"bounds", "E0401", judge_bounds, false},
    {"initialised", "E0403", judge_initialised, true},
    {"race", "E0402", judge_race, true},
    {"coverage", "E0404", judge_coverage, true},
    {"update order", "E0411", judge_update_order, true},
    {"contribution", "E0405", judge_contribution, true},
    {"index overflow", "E0406", judge_overflow, false},
    {"layout", "E0409", judge_layout, false},
    {"alignment", "E0412", judge_alignment, false},
};

/* ---- kernels and plans ---- */

static cond *launch_guarantees(arena *a, const launch_plan *plan, const plan_variant *v) {
    cond *c = v->predicate;
    for (int i = 0; i < plan->checks.count; i++)
        if (plan->checks.at[i].kind == CHECK_WHERE)
            c = cond_and(a, c, plan->checks.at[i].condition);
    return c;
}

/* The kernel with thread ids taken apart. */
typedef struct digits_form {
    bool tried;
    kernel_ir *kernel; /* NULL: there is nothing to take apart */
    model *m;
} digits_form;

/* Whether the property holds of that form: the same program, so it holds. What does not is judged in the kernel's own terms. */
static bool holds_by_digits(prover *p, digits_form *f) {
    if (!f->tried) {
        f->tried = true;
        f->kernel = split_ids(p->arena, p->kernel);
        f->m = f->kernel ? model_new(p->arena, p->m->sets, f->kernel, p->limits, p->launch) : NULL;
    }
    if (!f->m || f->m->beyond)
        return false;
    proof result = {0};
    diag_list quiet;
    diag_init(&quiet, p->arena);
    prover trial = *p;
    trial.kernel = f->kernel;
    trial.m = f->m;
    trial.proof = &result;
    trial.diags = &quiet;
    trial.small = true; /* nothing more is tried */
    trial.judge(&trial);
    if (result.proved != result.items.count)
        return false;
    for (int i = 0; i < result.items.count; i++)
        VEC_PUSH(p->arena, p->proof->items, result.items.at[i]);
    p->proof->proved += result.proved;
    return true;
}

/* Whether the target has room for the kernel. */
static void judge_room(prover *p) {
    p->property = "capacity";
    p->code = "E0407";
    p->judge = judge_capacity;
    judge_capacity(p);
}

/* Where one refutation is enough: one among the bounds that is found quickly, before anything that takes longer is asked. */
static void settle_by_bounds(prover *p) {
    enum { SEEKING_OPERATIONS = 30000, SEEKING_MILLISECONDS = 500 };
    proof result = {0};
    diag_list quiet;
    p->property = "bounds";
    p->code = "E0401";
    sets *s = sets_new(SEEKING_OPERATIONS);
    if (!s)
        return;
    prover scan = *p;
    scan.arena = arena_new();
    diag_init(&quiet, scan.arena);
    scan.proof = &result;
    scan.diags = &quiet;
    scan.small = scan.quick = true;
    scan.end = prover_clock() + SEEKING_MILLISECONDS;
    sets_end_at(s, scan.end);
    scan.m = model_new(scan.arena, s, p->kernel, p->limits, p->launch);
    seek_out_of_bounds(&scan);
    sets_free(s);
    for (int i = 0; i < result.items.count && !p->settled; i++)
        if (result.items.at[i].verdict == VERDICT_REFUTED) {
            proof_item t = prover_kept(p, &result.items.at[i]);
            prover_refuted(p, t.subject, t.span, t.witness, t.explanation, NULL);
        }
    arena_free(scan.arena);
}

static void judge_properties(prover *p) {
    digits_form form = {0};
    for (size_t i = 0; i < sizeof properties / sizeof *properties && !p->settled; i++) {
        p->property = properties[i].name;
        p->code = properties[i].code;
        p->judge = properties[i].judge;
        if (!properties[i].by_digits || !holds_by_digits(p, &form))
            properties[i].judge(p);
        prover_search(p);
    }
}

static sets *new_session(prover *p) {
    sets *s = sets_new(QUESTION_OPERATIONS);
    if (!s) {
        p->property = "order";
        prover_add_item(p, VERDICT_UNKNOWN, p->kernel->name, p->kernel->span, NULL, "not enough memory");
        return NULL;
    }
    prover_begin_time(p, s);
    return s;
}

static void judge_kernel(prover *p, const kernel_ir *k, cond *launch) {
    char key[HASH_DIGITS + 1];
    int first = p->proof->items.count;
    p->kernel = k;
    p->launch = launch;
    p->m = NULL;
    memo_key(k, launch, p->limits, key);
    sets *s = memo_find(p->arena, key, p->proof) ? NULL : new_session(p);
    if (s) {
        if (p->limits->settle)
            settle_by_bounds(p);
        if (!p->settled) {
            p->m = model_new(p->arena, s, k, p->limits, launch);
            judge_properties(p);
        }
        sets_free(s);
        memo_keep(key, p->proof, first);
        p->m = NULL;
    }
    judge_room(p);
}

/* An aligned form is the kernel with marks, launched less often: what was proved of the kernel holds of it, and the marks are left to judge. Any
 * other kernel in its place is judged whole. */
static void judge_aligned(prover *p, const plan_variant *v, cond *launch) {
    char key[HASH_DIGITS + 1];
    int first = p->proof->items.count;
    if (!kernel_is_aligned_form(v->aligned, v->kernel)) {
        judge_kernel(p, v->aligned, launch);
        return;
    }
    p->kernel = v->aligned;
    p->launch = launch;
    memo_key(v->aligned, launch, p->limits, key);
    key[0] = '*'; /* no digit: not a whole kernel's proof */
    if (memo_find(p->arena, key, p->proof))
        return;
    sets *s = new_session(p);
    if (!s)
        return;
    p->m = model_new(p->arena, s, v->aligned, p->limits, launch);
    p->property = "alignment";
    p->code = "E0412";
    p->judge = judge_alignment;
    judge_alignment(p);
    sets_free(s);
    memo_keep(key, p->proof, first);
}

/* The aligned form's items come behind the kernel's. One that can't be judged is left out of `kept`. */
static void judge_aligned_form(prover *p, plan_variant *kept, cond *launch) {
    diag_list diags, *own = p->diags;
    proof before = *p->proof;
    diag_init(&diags, p->arena);
    p->diags = &diags;
    judge_aligned(p, kept, launch);
    p->diags = own;
    if (p->proof->refuted > before.refuted) { /* once more, for the messages */
        before.items.at = p->proof->items.at; /* it may have grown */
        before.items.capacity = p->proof->items.capacity;
        *p->proof = before;
        judge_aligned(p, kept, launch);
    } else if (p->proof->unknown > before.unknown) {
        for (int i = before.items.count; i < p->proof->items.count; i++)
            if (p->proof->items.at[i].verdict == VERDICT_UNKNOWN)
                p->proof->left_out = arena_printf(p->arena, "%s: %s", p->proof->items.at[i].subject,
                                                  p->proof->items.at[i].explanation ? p->proof->items.at[i].explanation : "");
        before.left_out = p->proof->left_out;
        before.items.at = p->proof->items.at;
        before.items.capacity = p->proof->items.capacity;
        *p->proof = before;
        kept->aligned = NULL;
        kept->divided.count = 0;
    }
}

/* Whether indices of PLAN_NARROW_BITS are enough for the kernel, in launches that fit them: *index overflow* for that width and those launches. Where
 * they are not, or it is not known, nothing is lost: the text has wide ones. Returns NULL, or why not. */
static const char *judge_narrow(prover *p, const kernel_ir *k, cond *launch) {
    diag_list diags, *own = p->diags;
    target_limits limits = *p->limits;
    const target_limits *own_limits = p->limits;
    proof result = {0}, *own_proof = p->proof;
    char key[HASH_DIGITS + 1];
    const char *why = NULL;
    limits.index_bits = PLAN_NARROW_BITS;
    limits.largest_extent = PLAN_NARROW_EXTENT;
    diag_init(&diags, p->arena);
    *p = (prover){.arena = p->arena, .limits = &limits, .plan = p->plan, .proof = &result, .diags = &diags, .narrow = true};
    p->kernel = k;
    p->launch = launch;
    memo_key(k, launch, &limits, key);
    key[0] = '~'; /* no digit: not a whole kernel's proof */
    sets *s = memo_find(p->arena, key, &result) ? NULL : new_session(p);
    if (s) {
        p->m = model_new(p->arena, s, k, &limits, launch);
        p->property = "index width";
        p->code = "E0406";
        p->judge = judge_overflow;
        judge_overflow(p);
        sets_free(s);
        memo_keep(key, &result, 0);
    }
    for (int i = 0; i < result.items.count; i++) {
        const proof_item *t = &result.items.at[i];
        if (t->verdict != VERDICT_PROVED && !why)
            why = t->explanation ? t->explanation : t->subject;
        if (t->verdict == VERDICT_PROVED)
            VEC_PUSH(p->arena, own_proof->items, *t);
    }
    if (why)
        own_proof->items.count -= result.proved;
    else
        own_proof->proved += result.proved;
    *p = (prover){.arena = p->arena, .limits = own_limits, .plan = p->plan, .proof = own_proof, .diags = own};
    return why;
}

static void judge_width(prover *p, plan_variant *kept, cond *launch) {
    if (!p->limits->narrow_indices || kept->before.count || p->plan->workspaces.count || p->proof->refuted || p->proof->unknown)
        return;
    const char *why = judge_narrow(p, kept->kernel, launch);
    if (!why && kept->aligned && !kernel_is_aligned_form(kept->aligned, kept->kernel))
        why = judge_narrow(p, kept->aligned, launch);
    kept->narrow = !why;
    kept->not_narrow = why;
}

between_kernels *prover_between(const prover *p, const kernel_array *a) {
    for (int i = 0; i < p->between_count && a->space == SPACE_GLOBAL; i++)
        if (!strcmp(p->between[i].name, a->name))
            return &p->between[i];
    return NULL;
}

/* What this kernel has surely written is there for the next one. */
static void add_written(prover *p) {
    model *m = p->m;
    for (int i = 0; i < p->kernel->arrays.count; i++) {
        const kernel_array *a = p->kernel->arrays.at[i];
        between_kernels *b = prover_between(p, a);
        if (!b || m->beyond || m->persistent || !model_touched(m, a, ACCESS_WRITE))
            continue;
        int_set *more = summary_of(m, m->root, a, SUMMARY_MUST_WRITE);
        sets_question(m->sets);
        int_set *all = sets_simplify(m->sets, sets_union(m->sets, b->written, more));
        const char *why = array_unsure(m, a, ACCESS_WRITE);
        b->written = all ? all : b->written;
        b->unsure = b->unsure ? b->unsure : !all ? model_gave_up(m) : why;
    }
}

/* The kernels of a variant, one launch after another: what one writes the next may read. */
static void judge_sequence(prover *p, const plan_variant *v, cond *launch) {
    int count = p->plan->workspaces.count;
    p->kernel = v->kernel;
    sets *s = new_session(p);
    if (!s)
        return;
    p->between = NEW_ARRAY(p->arena, between_kernels, count + 1);
    for (int i = 0; i <= v->before.count; i++) {
        p->kernel = i < v->before.count ? v->before.at[i] : v->kernel;
        p->launch = launch;
        p->m = model_new(p->arena, s, p->kernel, p->limits, launch);
        for (int j = 0; i == 0 && j < count; j++) {
            const kernel_array *w = p->plan->workspaces.at[j];
            p->between[j] = (between_kernels){w->name, sets_empty(s, w->rank), NULL};
        }
        p->between_count = count;
        judge_properties(p);
        judge_room(p);
        add_written(p);
    }
    p->between_count = 0;
    sets_free(s);
}

static void judge_whole_plan(prover *p) {
    if (!p->plan->variants.count) {
        p->property = "launch plan";
        prover_add_item(p, VERDICT_UNKNOWN, p->plan->name, (source_span){0}, NULL, "the plan has no variant");
        return;
    }
    /* Launch values have the same names in every variant; a kernel with an empty body stands for them. */
    kernel_ir *values = NEW(p->arena, kernel_ir);
    *values = *p->plan->variants.at[0].kernel;
    values->body = (kernel_block){0};
    values->assumptions.count = 0;
    sets *s = sets_new(QUESTION_OPERATIONS);
    if (!s)
        return;
    prover_begin_time(p, s);
    p->kernel = p->plan->variants.at[0].kernel;
    p->judge = NULL;
    p->property = "launch plan";
    p->code = "E0408";
    p->m = model_new(p->arena, s, values, p->limits, NULL);
    judge_plan(p);
    sets_free(s);
}

static bool all_proved(const proof *p) {
    return p->items.count > 0 && p->proved == p->items.count;
}

const proved_plan *prove_plan(arena *a, const launch_plan *plan, const target_limits *limits, proof *out, diag_list *diags) {
    double start = prover_clock();
    bool well_formed = true;
    prover p = {.arena = a, .limits = limits, .plan = plan, .proof = out, .diags = diags};
    memset(out, 0, sizeof *out);
    for (int i = 0; i < plan->variants.count; i++) {
        const plan_variant *v = &plan->variants.at[i];
        well_formed = kernel_check(v->kernel, diags) && (!v->aligned || kernel_check(v->aligned, diags)) && well_formed;
        for (int j = 0; j < v->before.count; j++)
            well_formed = kernel_check(v->before.at[j], diags) && well_formed;
    }
    launch_plan *kept = NEW(a, launch_plan); /* the plan, less aligned forms that can't be judged, and what widths are enough */
    *kept = *plan;
    kept->variants.at = NEW_ARRAY(a, plan_variant, plan->variants.count + 1);
    kept->variants.capacity = plan->variants.count + 1;
    if (plan->variants.count)
        memcpy(kept->variants.at, plan->variants.at, sizeof *kept->variants.at * (size_t)plan->variants.count);
    if (well_formed) {
        judge_whole_plan(&p);
        for (int i = 0; i < plan->variants.count; i++) {
            const plan_variant *v = &plan->variants.at[i];
            cond *launch = launch_guarantees(a, plan, v);
            if (v->before.count || plan->workspaces.count)
                judge_sequence(&p, v, launch);
            else
                judge_kernel(&p, v->kernel, launch);
            if (v->aligned)
                judge_aligned_form(&p, &kept->variants.at[i], launch);
            judge_width(&p, &kept->variants.at[i], launch);
        }
    }
    out->milliseconds = prover_clock() - start;
    if (!well_formed || !all_proved(out))
        return NULL;
    proved_plan *proved = NEW(a, proved_plan);
    proved->plan = kept;
    return proved;
}

bool prove_kernel(arena *a, const kernel_ir *k, const target_limits *limits, proof *out, diag_list *diags) {
    double start = prover_clock();
    prover p = {.arena = a, .limits = limits, .proof = out, .diags = diags};
    memset(out, 0, sizeof *out);
    bool well_formed = kernel_check(k, diags);
    if (well_formed)
        judge_kernel(&p, k, NULL);
    out->milliseconds = prover_clock() - start;
    return well_formed && all_proved(out);
}
