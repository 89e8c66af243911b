/* Coverage: an output's cells (or the promised ones) are each written, once, and no others; and an updated cell is not read after
 * its own write. */
#include "prove/model.h"

static bool judge_covered(prover *p, const kernel_array *a) {
    model *m = p->m;
    sets_question(m->sets);
    m->why = NULL;
    int_set *promised = promised_cells(m, a);
    if (!promised) {
        prover_gave_up(p, a->name, a->span);
        return false;
    }
    int_set *written = summary_of(m, m->root, a, SUMMARY_MUST_WRITE);
    witness w = witness_of(m, sets_subtract(m->sets, promised, written), NULL, 0);
    const char *why = w.verdict == VERDICT_PROVED ? NULL : array_unsure(m, a, ACCESS_WRITE);
    if (why)
        prover_unknown(p, a->name, a->span, w.text, why);
    else if (w.verdict == VERDICT_REFUTED)
        prover_refuted(p, a->name, a->span, w.text, model_text(m, "%s is never written", witness_cell(m, a, w.dims)), NULL);
    else if (w.verdict == VERDICT_UNKNOWN)
        prover_gave_up(p, a->name, a->span);
    return w.verdict == VERDICT_PROVED;
}

/* Nothing but what is promised is written; for whole arrays that is a matter of bounds. */
static bool judge_only(prover *p, const kernel_array *a) {
    model *m = p->m;
    sets_question(m->sets);
    int_set *written = summary_of(m, m->root, a, SUMMARY_MAY_WRITE);
    witness w = witness_of(m, sets_subtract(m->sets, written, promised_cells(m, a)), NULL, 0);
    const char *why = w.verdict == VERDICT_PROVED ? NULL : array_unsure(m, a, ACCESS_WRITE);
    if (why)
        prover_unknown(p, a->name, a->span, w.text, why);
    else if (w.verdict == VERDICT_REFUTED)
        prover_refuted(p, a->name, a->span, w.text,
                       model_text(m, "%s is written, but is not among the cells to be written", witness_cell(m, a, w.dims)),
                       NULL);
    else if (w.verdict == VERDICT_UNKNOWN)
        prover_gave_up(p, a->name, a->span);
    return w.verdict == VERDICT_PROVED;
}

void judge_coverage(prover *p) {
    if (prover_beyond(p))
        return;
    for (int i = 0; i < p->kernel->arrays.count; i++) {
        const kernel_array *a = p->kernel->arrays.at[i];
        if (a->space != SPACE_GLOBAL || (a->use != USE_OUT && a->use != USE_UPDATE))
            continue;
        if (a->use == USE_UPDATE && !a->cells && (a->rewritable || !model_touched(p->m, a, ACCESS_WRITE)))
            continue;
        prover_start(p);
        bool atomic = false;
        for (int j = 0; j < p->m->places.count; j++)
            atomic = atomic || (p->m->places.at[j]->array == a && p->m->places.at[j]->atomic);
        if (atomic) { /* written over and over: nothing may be promised of such cells */
            if (a->use == USE_UPDATE && !a->cells)
                prover_proved(p, a->name, a->span);
            else
                prover_unknown(p, a->name, a->span, NULL, "cells that atomics write");
            continue;
        }
        bool promised = a->use == USE_OUT || a->cells;
        if ((!promised || judge_covered(p, a)) && (!a->cells || judge_only(p, a)) &&
            prover_no_conflict(p, a, SUMMARY_MAY_WRITE, SUMMARY_MAY_WRITE, CONFLICT_WITHIN_TASK, "writes", "writes"))
            prover_proved(p, a->name, a->span);
    }
}

void judge_update_order(prover *p) {
    if (prover_beyond(p))
        return;
    for (int i = 0; i < p->kernel->arrays.count; i++) {
        const kernel_array *a = p->kernel->arrays.at[i];
        if (a->space != SPACE_GLOBAL || a->use != USE_UPDATE || a->rewritable || !model_touched(p->m, a, ACCESS_WRITE) ||
            !model_touched(p->m, a, ACCESS_READ))
            continue;
        prover_start(p);
        bool atomic = false; /* reads what it writes, and is asked about nothing else */
        for (int j = 0; j < p->m->places.count; j++)
            atomic = atomic || (p->m->places.at[j]->array == a && p->m->places.at[j]->atomic);
        if (atomic)
            continue;
        if (prover_no_conflict(p, a, SUMMARY_MAY_WRITE, SUMMARY_MAY_READ, CONFLICT_ACROSS_THREADS, "writes", "reads"))
            prover_proved(p, a->name, a->span);
    }
}
