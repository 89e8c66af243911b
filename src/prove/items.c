/* Items: what is told of a property, and to whom. What is too large a question for all launches is tried for small ones first; two accesses of one cell are
 * told with their places. */
#include "prove/model.h"
#include <string.h>

enum { TRIAL_OPERATIONS = 300000, KERNEL_MILLISECONDS = 40000 };

static double time_of(const target_limits *l) {
    return l->milliseconds > 0 ? l->milliseconds : KERNEL_MILLISECONDS;
}

const char *model_gave_up(const model *m) {
    return !sets_ran_late(m->sets) ? "gave up on a question that took too many steps"
                                   : arena_printf(m->arena, "gave up on it: not decided in %.3g s", time_of(m->limits) / 1e3);
}

/* A quarter is left for the search of small launches that break what was not decided. */
void prover_begin_time(prover *p, sets *s) {
    double start = prover_clock(), time = time_of(p->limits);
    sets_end_at(s, start + 0.75 * time);
    p->end = start + time;
}

void prover_start(prover *p) {
    p->item_start = prover_clock();
}

void prover_add_item(prover *p, verdict v, const char *subject, source_span span, const char *witness, const char *explanation) {
    if (p->settled)
        return;
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

proof_item prover_kept(const prover *p, const proof_item *x) {
    proof_item kept = *x;
    kept.subject = arena_strdup(p->arena, x->subject);
    kept.explanation = x->explanation ? arena_strdup(p->arena, x->explanation) : NULL;
    kept.witness = x->witness ? arena_strdup(p->arena, x->witness) : NULL;
    return kept;
}

void prover_proved(prover *p, const char *subject, source_span span) {
    prover_add_item(p, VERDICT_PROVED, subject, span, NULL, NULL);
}

void prover_refuted(prover *p, const char *subject, source_span span, const char *witness, const char *explanation,
                    const char *mend) {
    if (p->settled)
        return;
    if (!span.line)
        span = p->kernel ? p->kernel->span : span;
    prover_add_item(p, VERDICT_REFUTED, subject, span, witness, explanation);
    bool when = witness && *witness;
    p->last = diag_error(p->diags, p->code, span, "%s%s%s", explanation, when ? ", when " : "", when ? witness : "");
    if (mend)
        diag_caret(p->diags, p->last, "%s", mend);
    if (p->limits->settle && !p->small) {
        p->settled = true;
        if (p->m)
            sets_end_at(p->m->sets, 0);
    }
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

/* The launch of these values, judged by itself: what it refutes is kept. */
static void try_launch(prover *p, small_launches *t, double end) {
    int n = p->m->parameters.count;
    diag_list diags;
    proof result = {0};
    arena *own = arena_new(); /* a model for each launch would add up */
    diag_init(&diags, own);
    prover small = {.arena = own,
                    .limits = p->limits,
                    .proof = &result,
                    .diags = &diags,
                    .kernel = p->kernel,
                    .small = true,
                    .end = end,
                    .property = p->property,
                    .code = p->code,
                    .judge = p->judge};
    sets *s = sets_new(TRIAL_OPERATIONS);
    if (!s) {
        arena_free(own);
        return;
    }
    sets_end_at(s, end);
    bool *had = NEW_ARRAY(p->arena, bool, n + 1);
    for (int i = 0; i < n; i++) { /* constants for the while: products with them are affine */
        index_var *v = p->m->parameters.at[i];
        had[i] = v->has_value;
        if (!had[i]) {
            v->has_value = true;
            v->value = t->at[i];
        }
    }
    small.m = model_new(own, s, p->kernel, p->limits, p->launch);
    p->judge(&small);
    for (int i = 0; i < n; i++)
        p->m->parameters.at[i]->has_value = had[i];
    sets_free(s);
    for (int i = 0; i < result.items.count; i++)
        if (result.items.at[i].verdict == VERDICT_REFUTED)
            VEC_PUSH(p->arena, t->refuted, prover_kept(p, &result.items.at[i]));
    arena_free(own);
}

static const proof_item *refuted_of(const small_launches *t, const char *subject) {
    for (int i = 0; i < t->refuted.count; i++)
        if (!strcmp(t->refuted.at[i].subject, subject))
            return &t->refuted.at[i];
    return NULL;
}

/* A question was too large for all launches at once: small launches, one by one, may still refute it. Parameters count up, the first one slowest, so
 * that the witness stays small. Each launch is tried once for all that a property says. */
static bool refuted_when_small(prover *p, const char *subject) {
    enum { LONGEST_MILLISECONDS = 1500, MOST_TRIALS = 150 };
    if (p->limits->settle && !p->searching) {
        VEC_PUSH(p->arena, p->put_off, subject);
        return false;
    }
    int n = p->m->parameters.count;
    small_launches *t = &p->tried;
    double start = prover_clock(), end = start + LONGEST_MILLISECONDS - t->milliseconds;
    end = end < p->end ? end : p->end;
    if (t->judge != p->judge || t->m != p->m) {
        *t = (small_launches){.judge = p->judge, .m = p->m};
        t->at = NEW_ARRAY(p->arena, int64_t, n + 1);
        t->least = NEW_ARRAY(p->arena, int64_t, n + 1);
        t->most = NEW_ARRAY(p->arena, int64_t, n + 1);
        small_ranges(p, t->least, t->most);
        memcpy(t->at, t->least, sizeof *t->at * (size_t)n);
        end = start + LONGEST_MILLISECONDS < p->end ? start + LONGEST_MILLISECONDS : p->end;
    }
    const proof_item *found = refuted_of(t, subject);
    while (!found && !t->all && t->trials < MOST_TRIALS && prover_clock() < end) {
        while (!t->all &&
               !may_launch(p, t->at)) /* with many parameters few launches pass, and finding them is what takes the time */
            t->all = !next_launch(t->at, n, t->least, t->most) || prover_clock() > end;
        if (t->all)
            break;
        try_launch(p, t, end);
        t->trials++;
        found = refuted_of(t, subject);
        t->all = !next_launch(t->at, n, t->least, t->most);
    }
    t->milliseconds += prover_clock() - start;
    if (found)
        prover_refuted(p, subject, found->span, found->witness, found->explanation, NULL);
    return found;
}

void prover_search(prover *p) {
    p->searching = true;
    for (int i = 0; i < p->put_off.count && !p->settled; i++)
        refuted_when_small(p, p->put_off.at[i]);
    p->searching = false;
    p->put_off.count = 0;
}

void prover_unknown(prover *p, const char *subject, source_span span, const char *witness, const char *explanation) {
    if (p->settled)
        return;
    bool loose = p->m && p->m->scopes.count && p->m->scopes.at[0]->own_loose; /* what a launch guarantees is not affine */
    if (loose && !p->small && p->judge && refuted_when_small(p, subject))
        return;
    if (!span.line)
        span = p->kernel ? p->kernel->span : span;
    prover_add_item(p, VERDICT_UNKNOWN, subject, span, witness, explanation);
    p->last = diag_error(p->diags, "E0420", span, "%s of `%s` is not proved: %s", p->property, subject, explanation);
    if (witness && *witness)
        diag_note(p->diags, p->last, "it would break when %s", witness);
}

void prover_gave_up(prover *p, const char *subject, source_span span) {
    bool tired = !p->m->why || sets_gave_up(p->m->sets);
    if (tired && !p->small && p->judge && refuted_when_small(p, subject))
        return;
    prover_unknown(p, subject, span, NULL, tired ? model_gave_up(p->m) : p->m->why);
}

void prover_note(prover *p, const char *format, ...) {
    text_buffer b = {0};
    va_list args;
    if (!p->last)
        return;
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
    prover_add_item(p, VERDICT_UNKNOWN, p->kernel->name, p->m->beyond_span, NULL, why);
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
    if (!why && c->where->tasks && one && two &&
        ((one->use == ACCESS_READ && may_only_read(two)) || (two->use == ACCESS_READ && may_only_read(one))))
        why = EXCHANGE_MAY_ONLY_READ;
    if (!why && c->where->tasks && tasks_may_order(m, one, two))
        why = "order that fences and atomics may make";
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
