/* Contribution: each index of a reduction enters it exactly once. Ghost arrays record which. */
#include "prove/model.h"

static bool judge_difference(prover *p, const kernel_array *a, int_set *x, int_set *y, const char *what) {
    model *m = p->m;
    sets_question(m->sets);
    witness w = witness_of(m, sets_subtract(m->sets, x, y), NULL, 0);
    const char *why = w.verdict == VERDICT_PROVED ? NULL : array_unsure(m, a, ACCESS_CONSUME);
    if (why)
        prover_unknown(p, a->name, a->span, w.text, why);
    else if (w.verdict == VERDICT_REFUTED)
        prover_refuted(p, a->name, a->span, w.text, model_text(m, "%s %s", witness_cell(m, a, w.dims), what), NULL);
    else if (w.verdict == VERDICT_UNKNOWN)
        prover_gave_up(p, a->name, a->span);
    return w.verdict == VERDICT_PROVED;
}

void judge_contribution(prover *p) {
    model *m = p->m;
    if (prover_beyond(p))
        return;
    for (int i = 0; i < p->kernel->arrays.count; i++) {
        const kernel_array *a = p->kernel->arrays.at[i];
        if (a->space != SPACE_GHOST)
            continue;
        prover_start(p);
        sets_question(m->sets);
        m->why = NULL;
        int_set *promised = promised_cells(m, a);
        if (!promised) {
            prover_gave_up(p, a->name, a->span);
            continue;
        }
        int_set *must = summary_of(m, m->root, a, SUMMARY_MUST_CONSUME), *may = summary_of(m, m->root, a, SUMMARY_MAY_CONSUME);
        if (judge_difference(p, a, promised, must, "is dropped from the reduction") &&
            judge_difference(p, a, may, promised, "enters the reduction, but is no part of it") &&
            prover_no_conflict(p, a, SUMMARY_MAY_CONSUME, SUMMARY_MAY_CONSUME, CONFLICT_TASKS, "consumes", "consumes") &&
            prover_no_conflict(p, a, SUMMARY_MAY_CONSUME, SUMMARY_MAY_CONSUME, CONFLICT_WITHIN_TASK, "consumes", "consumes"))
            prover_proved(p, a->name, a->span);
    }
}
