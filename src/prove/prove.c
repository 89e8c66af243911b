/* The list of properties, and the door: only a plan whose every item is proved becomes a proved_plan. */
#include "prove/prove.h"
#include "base/hash.h"
#include "kernel/align.h"
#include "prove/memo.h"
#include "prove/model.h"
#include <string.h>

struct proved_plan {
    const launch_plan *plan;
};

const launch_plan *proved_plan_get(const proved_plan *p) {
    return p->plan;
}

const char *const verdict_names[] = {"proved", "refuted", "not proved"};

enum { QUESTION_OPERATIONS = 3000000 };

/* The properties of one kernel, in the order in which they are judged. */
static const struct {
    const char *name, *code;
    void (*judge)(prover *p);
} properties[] = {
    {"order", "E0410", judge_order},
    {"bounds", "E0401", judge_bounds},
    {"initialised", "E0403", judge_initialised},
    {"race", "E0402", judge_race},
    {"coverage", "E0404", judge_coverage},
    {"update order", "E0411", judge_update_order},
    {"contribution", "E0405", judge_contribution},
    {"index overflow", "E0406", judge_overflow},
    {"capacity", "E0407", judge_capacity},
    {"layout", "E0409", judge_layout},
    {"alignment", "E0412", judge_alignment},
};

/* ---- items ---- */

void prover_start(prover *p) {
    p->item_start = prover_clock();
}

static void add_item(prover *p, verdict v, const char *subject, source_span span, const char *witness, const char *explanation) {
    double now = prover_clock();
    proof_item item = {p->property, subject, v, span, explanation, witness && *witness ? witness : NULL, now - p->item_start};
    VEC_PUSH(p->arena, p->proof->items, item);
    p->item_start = now;
    p->last = NULL;
    if (v == VERDICT_PROVED)
        p->proof->proved++;
    else if (v == VERDICT_REFUTED)
        p->proof->refuted++;
    else
        p->proof->unknown++;
}

void prover_proved(prover *p, const char *subject, source_span span) {
    add_item(p, VERDICT_PROVED, subject, span, NULL, NULL);
}

void prover_refuted(prover *p, const char *subject, source_span span, const char *witness, const char *explanation,
                    const char *mend) {
    if (!span.line)
        span = p->kernel ? p->kernel->span : span;
    add_item(p, VERDICT_REFUTED, subject, span, witness, explanation);
    bool when = witness && *witness;
    p->last = diag_error(p->diags, p->code, span, "%s%s%s", explanation, when ? ", when " : "", when ? witness : "");
    if (mend)
        diag_caret(p->diags, p->last, "%s", mend);
}

typedef struct launch_values {
    const model *m;
    const int64_t *at;
} launch_values;

static bool launch_value(void *context, const index_var *v, int64_t *value) {
    const launch_values *l = context;
    for (int i = 0; i < l->m->parameters.count; i++)
        if (l->m->parameters.at[i] == v || !strcmp(l->m->parameters.at[i]->name, v->name)) {
            *value = l->at[i];
            return true;
        }
    return false;
}

/* False: the condition does not hold; true: it does, or is not known to. */
static bool may_hold(const cond *c, launch_values *l, int nesting) {
    int64_t x, y;
    if (nesting > 100)
        return true;
    switch (c->op) {
    case COND_AND: return may_hold(c->a, l, nesting + 1) && may_hold(c->b, l, nesting + 1);
    case COND_OR: return may_hold(c->a, l, nesting + 1) || may_hold(c->b, l, nesting + 1);
    case COND_LE:
    case COND_LT:
    case COND_EQ:
    case COND_NE:
        if (!ix_eval(c->x, launch_value, l, &x) || !ix_eval(c->y, launch_value, l, &y))
            return true;
        return c->op == COND_LE ? x <= y : c->op == COND_LT ? x < y : c->op == COND_EQ ? x == y : x != y;
    default: return true;
    }
}

/* Whether a launch of these values may pass its checks. */
static bool may_launch(const prover *p, const int64_t *at) {
    launch_values l = {p->m, at};
    for (int i = 0; i < p->m->parameters.count; i++) {
        const index_var *v = p->m->parameters.at[i];
        int64_t bound;
        if ((v->lo && ix_eval(v->lo, launch_value, &l, &bound) && at[i] < bound) ||
            (v->hi && ix_eval(v->hi, launch_value, &l, &bound) && at[i] > bound))
            return false;
    }
    for (int i = -1; i < p->kernel->assumptions.count; i++) {
        const cond *c = i < 0 ? p->launch : p->kernel->assumptions.at[i];
        if (c && !may_hold(c, &l, 0))
            return false;
    }
    return true;
}

/* The last counts first; false: there are no more. */
static bool next_launch(int64_t *at, int n, const int64_t *least, const int64_t *most) {
    int i = n - 1;
    while (i >= 0 && at[i] >= most[i]) {
        at[i] = least[i];
        i--;
    }
    if (i < 0)
        return false;
    at[i]++;
    return true;
}

/* Each parameter from 0, or the least it can be, a few values up. */
static void small_ranges(const prover *p, int64_t *least, int64_t *most) {
    int n = p->m->parameters.count, unknown = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            const index_var *v = p->m->parameters.at[i];
            int64_t lo = 0, hi = INT64_MAX;
            if (v->lo && ix_is_const(v->lo, &lo) && lo < 0)
                lo = 0;
            if (v->hi)
                ix_is_const(v->hi, &hi);
            int64_t largest = unknown < 3 ? 8 : unknown < 4 ? 3 : 2;
            least[i] = hi < lo ? hi : lo;
            most[i] = hi < lo || hi - lo < largest ? hi : lo + largest;
            unknown += !pass && most[i] > least[i];
        }
}

/* A question was too large for all launches at once: small launches, one by one, may still refute it. Parameters count up, the first one slowest, so
 * that the witness stays small. */
static bool refuted_when_small(prover *p, const char *subject) {
    enum { LONGEST_MILLISECONDS = 1500, MOST_TRIALS = 150 };
    int n = p->m->parameters.count;
    double start = prover_clock();
    int64_t *at = NEW_ARRAY(p->arena, int64_t, n + 1), *least = NEW_ARRAY(p->arena, int64_t, n + 1),
            *most = NEW_ARRAY(p->arena, int64_t, n + 1);
    small_ranges(p, least, most);
    memcpy(at, least, sizeof *at * (size_t)n);
    for (int trial = 0; trial < MOST_TRIALS && prover_clock() - start < LONGEST_MILLISECONDS; trial++) {
        while (!may_launch(p, at)) /* with many parameters few launches pass, and finding them is what takes the time */
            if (!next_launch(at, n, least, most) || prover_clock() - start > LONGEST_MILLISECONDS)
                return false;
        diag_list diags;
        proof result = {0};
        diag_init(&diags, p->arena);
        prover small = {.arena = p->arena,
                        .limits = p->limits,
                        .proof = &result,
                        .diags = &diags,
                        .kernel = p->kernel,
                        .small = true,
                        .property = p->property,
                        .code = p->code,
                        .judge = p->judge};
        sets *s = sets_new(QUESTION_OPERATIONS / 10);
        if (!s)
            return false;
        bool *had = NEW_ARRAY(p->arena, bool, n + 1);
        for (int i = 0; i < n; i++) { /* constants for the while: products with them are affine */
            index_var *v = p->m->parameters.at[i];
            had[i] = v->has_value;
            if (!had[i]) {
                v->has_value = true;
                v->value = at[i];
            }
        }
        small.m = model_new(p->arena, s, p->kernel, p->limits, p->launch);
        p->judge(&small);
        for (int i = 0; i < n; i++)
            p->m->parameters.at[i]->has_value = had[i];
        sets_free(s);
        for (int i = 0; i < result.items.count; i++) {
            const proof_item *t = &result.items.at[i];
            if (t->verdict == VERDICT_REFUTED && !strcmp(t->subject, subject)) {
                prover_refuted(p, subject, t->span, t->witness, t->explanation, NULL);
                return true;
            }
        }
        if (!next_launch(at, n, least, most))
            return false;
    }
    return false;
}

void prover_unknown(prover *p, const char *subject, source_span span, const char *witness, const char *explanation) {
    bool loose = p->m && p->m->scopes.count && p->m->scopes.at[0]->own_loose; /* what a launch guarantees is not affine */
    if (loose && !p->small && p->judge && refuted_when_small(p, subject))
        return;
    if (!span.line)
        span = p->kernel ? p->kernel->span : span;
    add_item(p, VERDICT_UNKNOWN, subject, span, witness, explanation);
    p->last = diag_error(p->diags, "E0420", span, "%s of `%s` is not proved: %s", p->property, subject, explanation);
    if (witness && *witness)
        diag_note(p->diags, p->last, "it would break when %s", witness);
}

void prover_gave_up(prover *p, const char *subject, source_span span) {
    bool tired = !p->m->why || sets_gave_up(p->m->sets);
    if (tired && !p->small && p->judge && refuted_when_small(p, subject))
        return;
    prover_unknown(p, subject, span, NULL, tired ? "gave up on it: the question took too many steps" : p->m->why);
}

void prover_note(prover *p, const char *format, ...) {
    text_buffer b = {0};
    va_list args;
    va_start(args, format);
    text_add_va(&b, format, args);
    va_end(args);
    diag_note(p->diags, p->last, "%s", text_get(&b));
    text_free(&b);
}

bool prover_beyond(prover *p) {
    if (!p->m->beyond)
        return false;
    prover_start(p);
    const char *why = model_text(p->m, "%s (not judged yet)", p->m->beyond);
    add_item(p, VERDICT_UNKNOWN, p->kernel->name, p->m->beyond_span, NULL, why);
    if (!strcmp(p->property, "order")) /* one message is enough */
        p->last = diag_error(p->diags, "E0420", p->m->beyond_span.line ? p->m->beyond_span : p->kernel->span,
                             "order in `%s` is not proved: %s", p->kernel->name, why);
    return true;
}

/* ---- two accesses of one cell ---- */

static const unsigned summary_uses[SUMMARY_KINDS] = {ACCESS_READ, ACCESS_WRITE, ACCESS_WRITE, ACCESS_CONSUME, ACCESS_CONSUME,
                                                     ACCESS_READ, ACCESS_WRITE, ACCESS_READ,  ACCESS_WRITE};

static void tell_conflict(prover *p, const kernel_array *a, const conflict *c, const witness *w, int first, int second,
                          const char *first_verb, const char *second_verb) {
    model *m = p->m;
    bool trips = c->where->kind == REGION_LOOP;
    int d = c->where->depth;
    const int64_t *cell = w->dims + d + (trips ? 2 : 0);
    int64_t *prefix = NEW_ARRAY(p->arena, int64_t, d + 2);
    memcpy(prefix, w->dims, (size_t)(d + 1) * sizeof *prefix);
    region *inside[2] = {c->where, c->where};
    if (c->where->kind == REGION_SEQUENCE) {
        inside[0] = c->where->children.at[c->first];
        inside[1] = c->where->children.at[c->second];
    }
    if (c->first_later)
        prefix[d] = w->dims[d + 1];
    bool across = c->in == CONFLICT_ACROSS_THREADS && m->thread_dims; /* then which threads is not said */
    int known = across ? m->task_dims : d + trips;
    place *one = witness_place(m, inside[0], a, summary_uses[first], w->values, prefix, known, cell);
    if (trips)
        prefix[d] = c->first_later ? w->dims[d] : w->dims[d + 1];
    place *two = witness_place(m, inside[1], a, summary_uses[second], w->values, prefix, known, cell);
    const char *why = one ? place_imprecise(m, one, false) : array_unsure(m, a, summary_uses[first]);
    if (!why)
        why = two ? place_imprecise(m, two, false) : array_unsure(m, a, summary_uses[second]);
    source_span span = two ? two->span : one ? one->span : a->span;
    if (why) {
        prover_unknown(p, a->name, span, w->text, why);
        return;
    }
    const char *name = witness_cell(m, a, cell), *text;
    if (c->where->tasks && !strcmp(first_verb, second_verb))
        text = model_text(m, "two tasks: each %s %s", first_verb, name);
    else if (c->where->tasks)
        text = model_text(m, "race on %s: one task %s it, another %s it", name, first_verb, second_verb);
    else if (!strcmp(first_verb, second_verb))
        text = model_text(m, "this %s %s a second time", second_verb, name);
    else
        text = model_text(m, "this %s %s after it was written", second_verb, name);
    prover_refuted(p, a->name, span, w->text, text, NULL);
    if (one && two && one->span.line && (one->span.line != two->span.line))
        prover_note(p, "line %d %s it; line %d %s it", one->span.line, first_verb, two->span.line, second_verb);
}

bool prover_no_conflict(prover *p, const kernel_array *a, int first, int second, conflict_scope in, const char *first_verb,
                        const char *second_verb) {
    model *m = p->m;
    conflict c = {0};
    m->why = NULL;
    tri found = conflict_find(m, a, first, second, in, &c);
    if (found == TRI_NO)
        return true;
    if (found == TRI_UNKNOWN) {
        prover_gave_up(p, a->name, a->span);
        return false;
    }
    bool trips = c.where->kind == REGION_LOOP;
    int named = c.where->depth + (trips ? 2 : 0);
    if (in == CONFLICT_ACROSS_THREADS && m->thread_dims)
        named = m->task_dims;
    const char **names = NEW_ARRAY(p->arena, const char *, named + 1);
    for (int i = 0; i < c.where->depth + trips && i < named; i++)
        names[i] = model_name(c.where->scope, i);
    if (trips && named > c.where->depth)
        names[named - 1] = model_text(m, "%s'", names[named - 2]);
    witness w = witness_of(m, c.set, names, named);
    if (w.verdict == VERDICT_PROVED)
        return true;
    if (w.verdict == VERDICT_UNKNOWN)
        prover_gave_up(p, a->name, a->span);
    else
        tell_conflict(p, a, &c, &w, first, second, first_verb, second_verb);
    return false;
}

/* ---- kernels and plans ---- */

static cond *launch_guarantees(arena *a, const launch_plan *plan, const plan_variant *v) {
    cond *c = v->predicate;
    for (int i = 0; i < plan->checks.count; i++)
        if (plan->checks.at[i].kind == CHECK_WHERE)
            c = cond_and(a, c, plan->checks.at[i].condition);
    return c;
}

static void judge_properties(prover *p) {
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        p->property = properties[i].name;
        p->code = properties[i].code;
        p->judge = properties[i].judge;
        properties[i].judge(p);
    }
}

static sets *new_session(prover *p) {
    sets *s = sets_new(QUESTION_OPERATIONS);
    if (!s) {
        p->property = "order";
        add_item(p, VERDICT_UNKNOWN, p->kernel->name, p->kernel->span, NULL, "not enough memory");
    }
    return s;
}

static void judge_kernel(prover *p, const kernel_ir *k, cond *launch) {
    char key[HASH_DIGITS + 1];
    int first = p->proof->items.count;
    p->kernel = k;
    p->launch = launch;
    memo_key(k, launch, p->limits, key);
    if (memo_find(p->arena, key, p->proof))
        return;
    sets *s = new_session(p);
    if (!s)
        return;
    p->m = model_new(p->arena, s, k, p->limits, launch);
    judge_properties(p);
    sets_free(s);
    memo_keep(key, p->proof, first);
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
        b->unsure = b->unsure ? b->unsure : !all ? "gave up on a question that took too many steps" : why;
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
        add_written(p);
    }
    p->between_count = 0;
    sets_free(s);
}

static void judge_whole_plan(prover *p) {
    if (!p->plan->variants.count) {
        p->property = "launch plan";
        add_item(p, VERDICT_UNKNOWN, p->plan->name, (source_span){0}, NULL, "the plan has no variant");
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
