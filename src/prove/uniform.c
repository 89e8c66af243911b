/* What is the same for all threads of a subgroup, a block and so on. Where it is not known to be, it counts as different. */
#include "prove/model.h"

enum { MOST_NESTING = 200 };

typedef struct uniformity {
    model *m;
    level_kind level;
    int steps;
    bool in_map;                      /* elements of fragments at one logical place are the same whoever holds them */
    const kernel_array *visiting[16]; /* thread-local arrays whose stores are being looked at: assumed uniform meanwhile */
    int visits;
} uniformity;

static bool is_uniform(uniformity *u, const kernel_value *v, int nesting);
static bool scope_is_uniform(uniformity *u, const scope *s, int nesting);

static bool index_is_uniform(uniformity *u, const index_expr *x, int nesting) {
    model *m = u->m;
    if (!x)
        return true;
    if (nesting > 2 * MOST_NESTING || ++u->steps > 20000)
        return false;
    if (x->op == IX_CONST)
        return true;
    if (x->op != IX_VAR)
        return index_is_uniform(u, x->a, nesting + 1) && index_is_uniform(u, x->b, nesting + 1);
    const index_var *v = x->var;
    if (v->has_value || v->kind == INDEX_SYMBOL || v->kind == INDEX_SCALAR)
        return true;
    if (!model_knows(m, v))
        return false;
    if (m->definition[v->id])
        return index_is_uniform(u, m->definition[v->id], nesting + 1);
    const scope *s = m->scope_of[v->id];
    if (!s)
        return false;
    if (s->kind == SCOPE_ID)
        return s->depth <= m->task_dims + m->instance_dims[u->level];
    if (s->kind == SCOPE_LOOP)
        return index_is_uniform(u, s->stmt->lo, nesting + 1) && index_is_uniform(u, s->stmt->step, nesting + 1);
    return s->kind == SCOPE_VALUE && is_uniform(u, s->stmt->value, nesting + 1);
}

static bool condition_is_uniform(uniformity *u, const cond *c, int nesting) {
    if (!c)
        return true;
    if (nesting > MOST_NESTING)
        return false;
    return index_is_uniform(u, c->x, 0) && index_is_uniform(u, c->y, 0) && condition_is_uniform(u, c->a, nesting + 1) &&
           condition_is_uniform(u, c->b, nesting + 1);
}

/* Whether all threads of the instance are there or none, as far as the scopes tell by themselves. */
static bool scope_is_uniform(uniformity *u, const scope *s, int nesting) {
    for (; s && s->kind != SCOPE_ID && s->kind != SCOPE_ROOT; s = s->parent) {
        if (s->may_stop || s->kind == SCOPE_TRIP)
            return false;
        if (s->kind == SCOPE_GUARD && !condition_is_uniform(u, s->guard, 0))
            return false;
        if (s->kind == SCOPE_DATA_GUARD && !is_uniform(u, s->stmt->value, nesting + 1))
            return false;
        if (s->kind == SCOPE_LOOP && !(index_is_uniform(u, s->stmt->lo, 0) && index_is_uniform(u, s->stmt->hi, 0) &&
                                       index_is_uniform(u, s->stmt->step, 0)))
            return false;
    }
    return true;
}

/* Every store to a thread's own memory gives a uniform value at a uniform place, and all threads make it or none. */
static bool stores_are_uniform(uniformity *u, const kernel_array *a, int nesting) {
    model *m = u->m;
    for (int i = 0; i < u->visits; i++)
        if (u->visiting[i] == a)
            return true;
    if (u->visits == 16 || m->object_of[a->id])
        return false;
    u->visiting[u->visits++] = a;
    bool fine = true;
    for (int i = 0; i < m->places.count && fine; i++) {
        const place *p = m->places.at[i];
        if (p->array != a || p->use != ACCESS_WRITE)
            continue;
        fine = p->stmt->kind == KSTMT_STORE && is_uniform(u, p->stmt->value, nesting + 1) &&
               scope_is_uniform(u, p->scope, nesting + 1);
        for (int d = 0; d < a->rank && fine; d++)
            fine = index_is_uniform(u, p->indices[d], 0);
        fine = fine && index_is_uniform(u, p->active, 0);
    }
    u->visits--;
    return fine;
}

static bool load_is_uniform(uniformity *u, const kernel_access *x, int nesting) {
    const kernel_array *a = x->array;
    for (int d = 0; d < a->rank; d++)
        if (!index_is_uniform(u, x->indices[d], 0))
            return false;
    if (!index_is_uniform(u, x->active, 0))
        return false;
    if (a->space == SPACE_GLOBAL) /* what is written elsewhere is not written meanwhile: that would be a race */
        return a->use == USE_IN || u->in_map;
    /* Shared memory: no race, so every write is before the read of all threads or after that of all, as long as only barriers of
     * the whole block order. */
    if (a->space == SPACE_SHARED) {
        for (int i = 0; i < u->m->meetings.count; i++) {
            const kernel_stmt *s = u->m->meetings.at[i].stmt;
            if (s->kind == KSTMT_MBARRIER_WAIT || (s->kind == KSTMT_BARRIER && (s->participants || s->scope > LEVEL_BLOCK)))
                return false;
        }
        return !u->m->roles;
    }
    return stores_are_uniform(u, a, nesting);
}

static bool is_uniform(uniformity *u, const kernel_value *v, int nesting) {
    if (nesting > MOST_NESTING || ++u->steps > 20000)
        return false;
    switch (v->op) {
    case KERNEL_CONST:
    case KERNEL_SCALAR:
    case KERNEL_IOTA: return true;
    case KERNEL_INDEX: return index_is_uniform(u, v->index, 0);
    case KERNEL_REF: return v->let && v->let->kind == KSTMT_LET && is_uniform(u, v->let->value, nesting + 1);
    case KERNEL_LOAD: return load_is_uniform(u, &v->access, nesting);
    case KERNEL_SUBGROUP_SUM:
    case KERNEL_SUBGROUP_MAX:
    case KERNEL_SUBGROUP_MIN:
    case KERNEL_SUBGROUP_BROADCAST: /* the same in every lane of the subgroup */
        if (u->level >= LEVEL_SUBGROUP)
            return true;
        break;
    case KERNEL_SHUFFLE:
    case KERNEL_SHUFFLE_XOR:
    case KERNEL_SHUFFLE_DOWN:
    case KERNEL_LANE_VIEW: return false;
    case KERNEL_FRAGMENT_ELEMENT:
        if (!u->in_map)
            return false;
        break;
    default: break;
    }
    for (int i = 0; i < v->operand_count; i++)
        if (!is_uniform(u, v->operands[i], nesting + 1))
            return false;
    return index_is_uniform(u, v->index, 0);
}

bool uniform_value(model *m, const kernel_value *v, level_kind level) {
    uniformity u = {.m = m, .level = level};
    return is_uniform(&u, v, 0);
}

bool uniform_index(model *m, const index_expr *x, level_kind level) {
    uniformity u = {.m = m, .level = level};
    return index_is_uniform(&u, x, 0);
}

bool uniform_condition(model *m, const cond *c, level_kind level) {
    uniformity u = {.m = m, .level = level};
    return condition_is_uniform(&u, c, 0);
}

bool uniform_loop(model *m, const kernel_stmt *loop, level_kind level) {
    uniformity u = {.m = m, .level = level};
    return index_is_uniform(&u, loop->lo, 0) && index_is_uniform(&u, loop->hi, 0) && index_is_uniform(&u, loop->step, 0);
}

bool uniform_operands(model *m, const kernel_stmt *s, level_kind level) {
    uniformity u = {.m = m, .level = level, .in_map = true};
    bool fine = !s->value || is_uniform(&u, s->value, 0);
    for (int i = 0; i < 4 && fine; i++)
        fine = !s->fragments[i].fragment || index_is_uniform(&u, s->fragments[i].index, 0);
    for (int i = 0; i < 2 && fine && s->extents; i++)
        fine = index_is_uniform(&u, s->extents[i], 0);
    for (int i = 0; i < s->contract_count && fine; i++) {
        const contract_operand *c = &s->contract[i];
        fine = !c->value || is_uniform(&u, c->value, 0);
        for (int n = 0; n < c->count && fine; n++)
            fine = is_uniform(&u, c->values[n], 0);
        for (int d = 0; contract_has_cells(c) && d < c->access.array->rank && fine; d++)
            fine = index_is_uniform(&u, c->access.indices[d], 0) && index_is_uniform(&u, c->extents[d], 0);
    }
    return fine && index_is_uniform(&u, s->row_step, 0) && index_is_uniform(&u, s->column_step, 0);
}
