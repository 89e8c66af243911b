/* A refutation is seen to be true: the simulator runs the kernel at the prover's witness. */
#include "command/witness.h"
#include "sim/sim.h"
#include <string.h>

typedef enum outcome { OUTCOME_CONFIRMED, OUTCOME_UNSEEN, OUTCOME_NOT_RUN } outcome;
static const char *const outcome_names[] = {"confirmed", "unseen", "not run"};

typedef struct trial {
    outcome outcome;
    const char *what; /* the finding's message; why nothing was run */
    const char *code;
    const char *thread, *other_thread;
    int line, other_line;
} trial;

/* Data and interleavings differ by the seed; zeros are what counters and tickets begin with. A run has so many steps, some seconds; where two are not at their end
 * by then, no more are tried. */
static trial try_witness(arena *a, const launch_plan *plan, const proof_item *item) {
    enum { TRIALS = 8, STEPS = 10000000, MOST_CUT = 2 };
    int cut = 0;
    trial t = {.outcome = OUTCOME_UNSEEN};
    if (!item->witness && plan->variants.count && plan->variants.at[0].kernel->symbols.count)
        return (trial){.outcome = OUTCOME_NOT_RUN, .what = "it holds for every launch: there is no witness to run"};
    for (int i = 0; i < TRIALS && cut < MOST_CUT; i++) {
        diag_list diags;
        sim_report seen;
        diag_init(&diags, a);
        sim_options options = {.seed = (uint64_t)i, .zeros = i == 3, .step_limit = STEPS};
        sim_witness_plan(a, plan, item->witness, &options, &seen, &diags);
        for (int f = 0; f < seen.findings.count; f++) {
            const sim_finding *x = &seen.findings.at[f];
            if (x->kind == SIM_STEPS) { /* shows nothing */
                cut++;
                if (t.outcome == OUTCOME_UNSEEN)
                    t = (trial){.outcome = OUTCOME_NOT_RUN,
                                .what = arena_printf(a, "it was stopped after %d steps, and had shown nothing by then", STEPS)};
                continue;
            }
            bool same = !strcmp(sim_kinds[x->kind].property, item->property);
            if (t.outcome != OUTCOME_CONFIRMED || same)
                t = (trial){OUTCOME_CONFIRMED, x->message,   sim_kinds[x->kind].code, x->thread, x->other_thread,
                            x->span.line,      x->other.line};
            if (same)
                return t;
        }
        if (!seen.findings.count && diags.errors && t.outcome == OUTCOME_UNSEEN)
            t = (trial){.outcome = OUTCOME_NOT_RUN, .what = diags.items.at[0]->message};
    }
    return t;
}

/* The witness with room in memory: extents that decide nothing else are larger, so that what it says is not hidden behind accesses outside. */
static const char *with_room(arena *a, const kernel_ir *k, const char *witness) {
    enum { ROOM = 4096 };
    text_buffer text = {0};
    for (int i = 0; i < k->symbols.count; i++) {
        const index_var *v = k->symbols.at[i];
        int64_t most = ROOM;
        bool free = !v->hi || (ix_is_const(v->hi, &most) && most >= ROOM);
        for (int j = 0; j < k->assumptions.count; j++)
            free = free && !cond_mentions(k->assumptions.at[j], v);
        for (int j = 0; j < k->scalars.count; j++) {
            const index_var *scalar = k->scalars.at[j].var;
            free =
                free && !(scalar && ((scalar->lo && ix_mentions(scalar->lo, v)) || (scalar->hi && ix_mentions(scalar->hi, v))));
        }
        for (int j = 0; j < k->levels.count; j++)
            for (int d = 0; d < k->levels.at[j].rank; d++)
                free = free && !ix_mentions(k->levels.at[j].extents[d], v);
        if (free)
            text_add(&text, "%s = %d, ", v->name, ROOM);
    }
    const char *larger = text.length ? arena_printf(a, "%s%s", text_get(&text), witness ? witness : "") : NULL;
    text_free(&text);
    return larger;
}

static bool is_array(const launch_plan *plan, const char *name) {
    for (int i = 0; i < plan->variants.count; i++)
        for (int j = 0; name && j < plan->variants.at[i].kernel->arrays.count; j++)
            if (!strcmp(plan->variants.at[i].kernel->arrays.at[j]->name, name))
                return true;
    return false;
}

/* A finding of the property, on the subject's memory, in some run at this launch. */
static const sim_finding *seen_at(arena *a, const launch_plan *plan, const proof_item *item, const char *witness) {
    enum { RUNS = 8, STEPS = 2000000, MOST_CUT = 2 };
    int cut = 0;
    for (int i = 0; i < RUNS && cut < MOST_CUT; i++) {
        diag_list quiet;
        sim_report *seen = NEW(a, sim_report);
        diag_init(&quiet, a);
        sim_options options = {.seed = (uint64_t)i, .zeros = i == 3, .step_limit = STEPS};
        sim_witness_plan(a, plan, witness, &options, seen, &quiet);
        for (int f = 0; f < seen->findings.count; f++) {
            const sim_finding *x = &seen->findings.at[f];
            cut += x->kind == SIM_STEPS;
            bool same = x->array && item->subject ? !strcmp(x->array, item->subject) : !is_array(plan, item->subject);
            if (!strcmp(sim_kinds[x->kind].property, item->property) && same)
                return x;
        }
    }
    return NULL;
}

void witness_seek(report *r, const launch_plan *plan, proof *verdicts) {
    for (int i = 0; i < verdicts->items.count; i++) {
        proof_item *item = &verdicts->items.at[i];
        if (item->verdict != VERDICT_UNKNOWN)
            continue;
        arena *a = arena_new();
        const sim_finding *x = seen_at(a, plan, item, item->witness);
        const char *larger = x || !plan->variants.count ? NULL : with_room(a, plan->variants.at[0].kernel, item->witness);
        if (larger)
            x = seen_at(a, plan, item, larger);
        if (x) {
            item->verdict = VERDICT_REFUTED;
            verdicts->unknown--;
            verdicts->refuted++;
            item->explanation = arena_printf(r->arena, "a run shows it: %s%s%s%s%s", x->message, x->thread ? "; " : "",
                                             x->thread ? x->thread : "", x->other_thread ? "; the other: " : "",
                                             x->other_thread ? x->other_thread : "");
            source_span at = x->span;
            at.file = item->span.file;
            diag_error(&r->diags, sim_kinds[x->kind].code, at.line ? at : item->span, "%s", arena_strdup(r->arena, x->message));
        }
        arena_free(a);
    }
}

static void print_trial(const proof_item *item, const trial *t) {
    printf("  refuted   %s of `%s`%s%s\n", item->property, item->subject ? item->subject : "", item->witness ? ", when " : "",
           item->witness ? item->witness : "");
    if (t->outcome == OUTCOME_CONFIRMED) {
        printf("  simulator confirms: %s (%s%s", t->what, t->code, t->line ? ", line " : "");
        if (t->line)
            printf("%d", t->line);
        printf("%s%s", t->thread && *t->thread ? "; " : "", t->thread ? t->thread : "");
        printf("%s%s)\n", t->other_thread && *t->other_thread ? "; the other: " : "", t->other_thread ? t->other_thread : "");
    } else if (t->outcome == OUTCOME_NOT_RUN) {
        printf("  simulator not run: %s\n", t->what);
    } else {
        printf("  simulator saw nothing\n");
    }
}

json_t *witness_run(report *r, const launch_plan *plan, const proof *verdicts) {
    json_t *list = r->json ? json_array() : NULL;
    for (int i = 0; i < verdicts->items.count; i++) {
        const proof_item *item = &verdicts->items.at[i];
        if (item->verdict != VERDICT_REFUTED)
            continue;
        arena *a = arena_new();
        trial t = try_witness(a, plan, item);
        if (list)
            json_array_append_new(list, json_pack("{s:s, s:s?, s:s?, s:s, s:s?, s:s?, s:s?, s:s?}", "property", item->property,
                                                  "subject", item->subject, "witness", item->witness, "simulator",
                                                  outcome_names[t.outcome], "finding", t.what, "code", t.code, "thread", t.thread,
                                                  "other_thread", t.other_thread));
        else
            print_trial(item, &t);
        if (t.outcome == OUTCOME_UNSEEN) {
            diag *g = diag_error(&r->diags, "E0728", item->span, "the witness of `%s` does not misbehave: %s", item->property,
                                 item->witness ? item->witness : "any launch");
            diag_note(&r->diags, g, "the prover, or the simulator, is wrong: please report this kernel");
        }
        arena_free(a);
    }
    return list;
}
