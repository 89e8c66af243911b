/* Race: no cell of global memory is written by one task and touched by another. Nothing orders two tasks, and arguments never alias
 * (the launch checks that). Inside a task everything is in program order. */
#include "prove/model.h"

void judge_race(prover *p)
{
    model *m = p->m;
    if (prover_beyond(p))
        return;
    for (int i = 0; i < p->kernel->arrays.count; i++) {
        const kernel_array *a = p->kernel->arrays.at[i];
        if (a->space != SPACE_GLOBAL || !model_touched(m, a, ACCESS_WRITE))
            continue;
        prover_start(p);
        if (prover_no_conflict(p, a, SUMMARY_MAY_WRITE, SUMMARY_MAY_WRITE, CONFLICT_TASKS, "writes", "writes") &&
            prover_no_conflict(p, a, SUMMARY_MAY_WRITE, SUMMARY_MAY_READ, CONFLICT_TASKS, "writes", "reads"))
            prover_proved(p, a->name, a->span);
    }
}
