/* Asynchronous accesses: they run from where they are issued to where their thread has waited for them, or to the completion of the phase
 * that they signal. */
#include "prove/model.h"

/* In one thread or two, by program order, barriers and mbarriers, but no asynchronous end. */
int_set *pair_happens_before(model *m, const pair_space *s, memory_space space) {
    sets *z = m->sets;
    int_set *own;
    if (order_known(m, s->a.region, s->b.region, NULL, space, ORDER_ALL, &own))
        return own;
    own = pair_same_thread(m, s, pair_before(m, s), m->thread_dims);
    if (m->persistent)
        own = pair_same_block(m, s, own);
    own = sets_union(z, own, pair_ordered(m, s, space));
    if (rings_known(m))
        own = sets_union(z, own, rings_order(m, s, space, NULL));
    sets_question(z);
    return order_keep(m, s->a.region, s->b.region, NULL, space, ORDER_ALL, sets_simplify(z, own));
}

/* Over [dimensions of the position, v]: v is the expression. NULL: not affine. */
static int_set *equal_to(model *m, position at, index_expr *x) {
    int dims = at.scope->depth + 1;
    affine *e = x ? affine_of(m, dims, x) : NULL;
    return e ? affine_zero(m, affine_subtract(m, affine_dim(m, dims, dims - 1), e)) : NULL;
}

/* What is the same for all asynchronous accesses of one position: which groups they belong to. */
static const void *groups_of(const place *p) {
    static const char of_copies, of_products;
    return p->matrix ? &of_products : &of_copies;
}

static int_set *find_covered(model *m, const place *p, position at, const meeting *wait);

static int_set *covered_by(model *m, const place *p, position at, const meeting *wait) {
    int_set *x;
    const void *of = groups_of(p);
    if (order_known(m, at.region, wait->region, of, SPACE_SHARED, ORDER_COVERED, &x))
        return x;
    return order_keep(m, at.region, wait->region, of, SPACE_SHARED, ORDER_COVERED, find_covered(m, p, at, wait));
}

/* Whose waits cover the access: those of the thread that issued it, or of any thread of the block that did. */
static int waiting_dims(const model *m, const place *p) {
    return kernel_is_of_block(p->stmt) ? m->instance_dims[LEVEL_BLOCK] : m->thread_dims;
}

/* Where the wait covers the access: same thread (or block), and of the groups committed since, no more are left in flight than were made later. */
static int_set *find_covered(model *m, const place *p, position at, const meeting *wait) {
    sets *z = m->sets;
    if (!scope_is_sure(m, wait->scope)) {
        m->why = "a wait that data may skip";
        return NULL;
    }
    position w = meeting_position(wait);
    pair_space s = pair_of(m, at, w);
    counted c = {KSTMT_COMMIT, p->matrix, NULL};
    const region *base = count_base(at.region, wait->region);
    int_set *group = equal_to(m, at, count_before(m, at.region, base, &c)),
            *now = equal_to(m, w, count_before(m, wait->region, base, &c));
    if (!group || !now)
        return NULL;
    int_set *x = sets_insert(z, pair_first(m, &s, group, 1), s.dims + 1, 1);
    int *from = NEW_ARRAY(m->arena, int, s.dims + 2);
    for (int i = 0; i < s.dims; i++)
        from[i] = i;
    from[s.dims] = s.dims + 1;
    x = sets_intersect(z, x, sets_remap(z, pair_second(m, &s, now, 1), s.dims + 2, from));
    linear *gap = linear_add(z, linear_dim(z, s.dims + 2, s.dims + 1), linear_scale(z, linear_dim(z, s.dims + 2, s.dims), -1));
    gap = linear_add(z, gap, linear_constant(z, s.dims + 2, -wait->stmt->count - 1));
    x = sets_project(z, sets_intersect(z, x, sets_nonnegative(z, gap)), s.dims, 2);
    x = sets_intersect(z, x, pair_same_thread(m, &s, pair_before(m, &s), waiting_dims(m, p)));
    if (m->persistent)
        for (int i = 0; i < m->task_dims; i++)
            x = pair_equal(m, &s, x, i, s.tasks_b + i);
    /* the wait is reached */
    x = sets_intersect(z, x, pair_second(m, &s, domain_of(m, wait->scope), 0));
    return sets_simplify(z, x);
}

static bool waits_for(const meeting *t, const place *p) {
    return t->stmt->kind == KSTMT_WAIT_ASYNC && t->stmt->matrix == p->matrix &&
           kernel_is_of_block(t->stmt) == kernel_is_of_block(p->stmt);
}

int_set *flight_before(model *m, const pair_space *s, const place *a, memory_space space) {
    sets *z = m->sets;
    if (!a || !a->asynchronous)
        return pair_happens_before(m, s, space);
    if (a->stmt->kind == KSTMT_COPY && a->stmt->name) /* ends with the phase that it signals */
        return rings_known(m) ? rings_order(m, s, space, a) : sets_empty(z, s->dims);
    int_set *all;
    if (order_known(m, s->a.region, s->b.region, groups_of(a), space, ORDER_ENDED, &all))
        return all;
    all = sets_empty(z, s->dims);
    for (int i = 0; i < m->meetings.count; i++) {
        const meeting *t = &m->meetings.at[i];
        if (!waits_for(t, a))
            continue;
        sets_question(z);
        int_set *covered = covered_by(m, a, s->a, t);
        if (!covered) {
            m->flight_why = m->why ? m->why : "how many groups of copies a wait leaves in flight";
            continue;
        }
        pair_space after = pair_of(m, meeting_position(t), s->b);
        int_set *then = pair_happens_before(m, &after, space);
        sets_question(z);
        /* what a block has copied is there for each of its threads that has waited */
        all = sets_union(z, all, pair_through(m, s, meeting_position(t), covered, then, kernel_is_of_block(a->stmt)));
    }
    return order_keep(m, s->a.region, s->b.region, groups_of(a), space, ORDER_ENDED, sets_simplify(z, all));
}

/* Where the access never ends: no wait covers it, no phase completes with it. */
int_set *flight_unended(model *m, place *p) {
    sets *z = m->sets;
    int dims = p->scope->depth;
    position at = place_position(p);
    int_set *left = domain_of(m, p->scope);
    if (p->collective)
        for (int d = m->instance_dims[p->holder]; d < m->thread_dims; d++)
            left = sets_fix(z, left, m->task_dims + d, 0);
    for (int i = 0; i < m->meetings.count; i++) {
        const meeting *t = &m->meetings.at[i];
        if (!waits_for(t, p))
            continue;
        sets_question(z);
        int_set *covered = covered_by(m, p, at, t);
        pair_space s = pair_of(m, at, meeting_position(t));
        if (!covered) {
            m->flight_why = m->why ? m->why : "how many groups of copies a wait leaves in flight";
            return NULL;
        }
        /* [tasks, (tasks,) threads, threads, rest of p, rest of the wait] -> [tasks, threads, rest of p] */
        covered = sets_project(z, covered, s.rest_b, s.dims - s.rest_b);
        covered = sets_project(z, covered, s.threads_b, m->thread_dims);
        if (s.tasks_b)
            covered = sets_project(z, covered, s.tasks_b, m->task_dims);
        left = sets_subtract(z, left, covered);
        if (sets_dims(left) != dims)
            return NULL;
    }
    return left;
}
