/* Race between tasks: no cell of global memory is written by one task and touched by another. Nothing orders two tasks, and arguments never
 * alias (the launch checks that). Races between the threads of a task: race_threads.c. */
#include "prove/model.h"

/* All writes are shares that grid_reduce combines, by one operation: the target keeps them apart. */
static bool all_combined(const model *m, const kernel_array *a) {
    const place *first = NULL;
    for (int i = 0; i < m->places.count; i++) {
        const place *p = m->places.at[i];
        if (p->array != a || p->use != ACCESS_WRITE)
            continue;
        if (!p->combined || (first && first->stmt->combine != p->stmt->combine))
            return false;
        first = p;
    }
    return first != NULL;
}

/* Some access is atomic in the sight of all tasks, and the others are ordinary ones. */
static bool has_atomics(const model *m, const kernel_array *a) {
    bool any = false;
    for (int i = 0; i < m->places.count; i++) {
        const place *p = m->places.at[i];
        if (p->array == a && (p->asynchronous || p->collective || (p->atomic && p->atomic_scope != LEVEL_TASK)))
            return false;
        any = any || (p->array == a && p->atomic);
    }
    return any;
}

static bool judge_beside_atomics(prover *p, const kernel_array *a) {
    return prover_no_conflict(p, a, SUMMARY_PLAIN_WRITE, SUMMARY_MAY_WRITE, CONFLICT_TASKS, "writes", "writes") &&
           prover_no_conflict(p, a, SUMMARY_PLAIN_WRITE, SUMMARY_MAY_READ, CONFLICT_TASKS, "writes", "reads") &&
           prover_no_conflict(p, a, SUMMARY_MAY_WRITE, SUMMARY_PLAIN_READ, CONFLICT_TASKS, "writes", "reads");
}

/* Outside `tasks` a block stands for all the tasks that it runs. */
static bool touched_outside_tasks(const model *m, const kernel_array *a) {
    for (int i = 0; m->persistent && i < m->places.count; i++) {
        const region *r = m->places.at[i]->region;
        while (r && !r->trips)
            r = r->parent;
        if (m->places.at[i]->array == a && !r)
            return true;
    }
    return false;
}

void judge_race(prover *p) {
    model *m = p->m;
    if (prover_beyond(p))
        return;
    for (int i = 0; i < p->kernel->arrays.count; i++) {
        const kernel_array *a = p->kernel->arrays.at[i];
        if (m->object_of[a->id] && !a->view_of)
            a = m->object_of[a->id]; /* the bytes stand for it and for its views */
        else if (m->object_of[a->id])
            continue;
        if (a->space != SPACE_GLOBAL || !model_touched(m, a, ACCESS_WRITE))
            continue;
        prover_start(p);
        if (touched_outside_tasks(m, a)) {
            prover_unknown(p, a->name, a->span, NULL, "global memory that is written, and touched outside `tasks`");
            continue;
        }
        bool fine = has_atomics(m, a)
                        ? judge_beside_atomics(p, a)
                        : (all_combined(m, a) ||
                           prover_no_conflict(p, a, SUMMARY_MAY_WRITE, SUMMARY_MAY_WRITE, CONFLICT_TASKS, "writes", "writes")) &&
                              prover_no_conflict(p, a, SUMMARY_MAY_WRITE, SUMMARY_MAY_READ, CONFLICT_TASKS, "writes", "reads");
        if (fine)
            prover_proved(p, a->name, a->span);
    }
    if (m->thread_dims)
        judge_thread_races(p);
}
