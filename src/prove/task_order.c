/* Which accesses of different tasks fences and atomics may order: by where regions stand in the program, and by what a task may wait for. */
#include "prove/model.h"

const region *region_towards(const region *r, const region *target) {
    while (target && target->parent != r)
        target = target->parent;
    return target;
}

bool region_may_precede(const region *x, const region *y) {
    const region *both = y;
    while (both && both != x && !region_towards(both, x))
        both = both->parent;
    if (!both)
        return true;
    if (both->kind == REGION_SEQUENCE && x != both && y != both &&
        region_towards(both, x)->index < region_towards(both, y)->index)
        return true;
    for (const region *r = both; r; r = r->parent)
        if (r->trips || (r->kind == REGION_LOOP && !r->tasks && !r->threads))
            return true;
    return false;
}

/* Whether the access may wait for what another task does: by a choice on data, or a loop until data changes. Others are reached with any other task stopped
 * anywhere, so that they follow none of its accesses in some run. */
static bool may_wait(const model *m, const place *at) {
    for (const scope *s = at->scope; s; s = s->parent)
        if (s->kind == SCOPE_DATA_GUARD || s->kind == SCOPE_VALUE)
            return true;
    return m->opaque_loops.count > 0;
}

/* Whether other tasks' accesses may be known to have been made whenever the place's is: only what orders memory in the sight of all tasks tells of them. */
static bool may_follow(const model *m, const place *at) {
    if (!may_wait(m, at))
        return false;
    for (int i = 0; i < m->meetings.count; i++) {
        const kernel_stmt *s = m->meetings.at[i].stmt;
        if (s->kind == KSTMT_FENCE && !s->proxy && s->scope == LEVEL_TASK && s->spaces & 1u << SPACE_GLOBAL &&
            region_may_precede(m->meetings.at[i].region, at->region))
            return true;
    }
    for (int i = 0; i < m->places.count; i++) {
        const place *p = m->places.at[i];
        if (p->atomic && p->atomic_scope == LEVEL_TASK && p->stmt->ordered && region_may_precede(p->region, at->region))
            return true;
    }
    return false;
}

bool tasks_may_order(const model *m, const place *x, const place *y) {
    bool atomic = false;
    for (int i = 0; i < m->places.count; i++)
        atomic = atomic || (m->places.at[i]->atomic && m->places.at[i]->atomic_scope == LEVEL_TASK);
    return atomic && (!x || !y || may_follow(m, x) || may_follow(m, y));
}
