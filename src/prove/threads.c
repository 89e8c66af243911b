/* What orders two threads of a block. All threads run one program, so a moment of it is a place and the values of the loops around it; two
 * accesses are ordered when a barrier that both their threads take part in stands between them. Asynchronous ends and mbarriers: flight.c. */
#include "prove/model.h"

enum { MOST_PATH = 512 };

pair_space pair_of(const model *m, position a, position b) {
    pair_space s = {.a = a, .b = b};
    int t = m->task_dims, n = m->thread_dims;
    s.tasks_b = m->persistent ? t : 0;
    s.threads_a = s.tasks_b + t;
    s.threads_b = s.threads_a + n;
    s.rest_a = s.threads_b + n;
    s.rest_b = s.rest_a + a.scope->depth - t - n;
    s.dims = s.rest_b + b.scope->depth - t - n;
    return s;
}

static int dim_a(const model *m, const pair_space *s, int i) {
    int t = m->task_dims, n = m->thread_dims;
    return i < t ? i : i < t + n ? s->threads_a + i - t : s->rest_a + i - t - n;
}

static int dim_b(const model *m, const pair_space *s, int i) {
    int t = m->task_dims, n = m->thread_dims;
    return i < t ? s->tasks_b + i : i < t + n ? s->threads_b + i - t : s->rest_b + i - t - n;
}

static int_set *placed(model *m, const pair_space *s, int_set *x, int more, bool second) {
    int depth = (second ? s->b : s->a).scope->depth, *from = NEW_ARRAY(m->arena, int, depth + more + 1);
    for (int i = 0; i < depth; i++)
        from[i] = second ? dim_b(m, s, i) : dim_a(m, s, i);
    for (int i = 0; i < more; i++)
        from[depth + i] = s->dims + i;
    return sets_remap(m->sets, x, s->dims + more, from);
}

int_set *pair_first(model *m, const pair_space *s, int_set *x, int more) {
    return placed(m, s, x, more, false);
}
int_set *pair_second(model *m, const pair_space *s, int_set *x, int more) {
    return placed(m, s, x, more, true);
}

const char **pair_names(model *m, const pair_space *s) {
    const char **names = NEW_ARRAY(m->arena, const char *, s->dims + 2);
    int t = m->task_dims, n = m->thread_dims;
    for (int i = 0; i < s->a.scope->depth; i++)
        names[i < t ? i : i < t + n ? s->threads_a + i - t : s->rest_a + i - t - n] = model_name(s->a.scope, i);
    for (int i = 0; i < s->b.scope->depth; i++) {
        if (i < t && !s->tasks_b)
            continue;
        names[i < t       ? s->tasks_b + i
              : i < t + n ? s->threads_b + i - t
                          : s->rest_b + i - t - n] = model_text(m, "%s'", model_name(s->b.scope, i));
    }
    return names;
}

int *pair_back(const model *m, const pair_space *s, const pair_space *back) {
    int *from = NEW_ARRAY(m->arena, int, s->dims + 1);
    for (int i = 0; i < s->a.scope->depth; i++)
        from[dim_b(m, back, i)] = dim_a(m, s, i);
    for (int i = 0; i < s->b.scope->depth; i++)
        from[dim_a(m, back, i)] = dim_b(m, s, i);
    return from;
}

int_set *pair_equal(model *m, const pair_space *s, int_set *x, int first, int second) {
    (void)s;
    sets *z = m->sets;
    int dims = sets_dims(x);
    if (first == second || dims < 0)
        return x;
    linear *gap = linear_add(z, linear_dim(z, dims, first), linear_scale(z, linear_dim(z, dims, second), -1));
    return sets_intersect(z, x, sets_zero(z, gap));
}

int_set *pair_same_thread(model *m, const pair_space *s, int_set *x, int levels) {
    for (int i = 0; i < levels; i++)
        x = pair_equal(m, s, x, s->threads_a + i, s->threads_b + i);
    return x;
}

static bool in_tasks(const region *r) {
    while (r && !r->trips)
        r = r->parent;
    return r != NULL;
}

static int_set *same_task(model *m, const pair_space *s, int_set *x) {
    for (int i = 0; i < m->task_dims; i++)
        x = pair_equal(m, s, x, i, s->tasks_b + i);
    return x;
}

int_set *pair_same_block(model *m, const pair_space *s, int_set *x) {
    bool apart = m->persistent && (in_tasks(s->a.region) || in_tasks(s->b.region));
    x = pair_same_thread(m, s, x, m->instance_dims[LEVEL_BLOCK]);
    return apart ? x : same_task(m, s, x);
}

/* ---- the order of the program ---- */

static int path_of(region *r, region **path) {
    int n = 0;
    for (region *x = r; x; x = x->parent)
        n++;
    if (n > MOST_PATH)
        return 0;
    int i = n;
    for (region *x = r; x; x = x->parent)
        path[--i] = x;
    return n;
}

static int_set *less_at(model *m, int_set *equal, int first, int second) {
    return sets_less(m->sets, equal, first, second);
}

/* Task ids of one block come in increasing order. */
static int_set *less_in_tasks(model *m, const pair_space *s, int_set **equal) {
    int_set *all = sets_empty(m->sets, s->dims);
    for (int i = 0; i < m->task_dims; i++) {
        all = sets_union(m->sets, all, less_at(m, *equal, i, s->tasks_b + i));
        *equal = pair_equal(m, s, *equal, i, s->tasks_b + i);
    }
    return all;
}

int_set *pair_before(model *m, const pair_space *s) {
    sets *z = m->sets;
    region *a[MOST_PATH], *b[MOST_PATH];
    int na = path_of(s->a.region, a), nb = path_of(s->b.region, b), i = 0;
    int_set *equal = sets_universe(z, s->dims), *all = sets_empty(z, s->dims);
    for (; i < na && i < nb && a[i] == b[i]; i++) {
        if (i == na - 1 || i == nb - 1)
            continue; /* the place itself */
        if (a[i]->trips)
            all = sets_union(z, all, less_in_tasks(m, s, &equal));
        if (a[i]->kind != REGION_LOOP || a[i]->tasks || a[i]->threads)
            continue;
        int x = dim_a(m, s, a[i]->depth), y = dim_b(m, s, a[i]->depth);
        all = sets_union(z, all, less_at(m, equal, x, y));
        equal = pair_equal(m, s, equal, x, y);
    }
    if (i < na && i < nb && i > 0 && a[i - 1]->kind == REGION_SEQUENCE) {
        int last = i == na - 1 && s->a.last > a[i]->index ? s->a.last : a[i]->index;
        if (last < b[i]->index)
            all = sets_union(z, all, equal);
    }
    return sets_simplify(z, all);
}

/* ---- barriers ---- */

struct known_order {
    const region *a, *b;
    const void *of;
    memory_space space;
    order_question what;
    int_set *set;
};

bool order_known(const model *m, const region *a, const region *b, const void *of, memory_space space, order_question what,
                 int_set **set) {
    for (int i = 0; i < m->orders.count; i++) {
        const struct known_order *k = m->orders.at[i];
        if (k->a == a && k->b == b && k->of == of && k->space == space && k->what == what) {
            *set = k->set;
            return true;
        }
    }
    return false;
}

int_set *order_keep(model *m, const region *a, const region *b, const void *of, memory_space space, order_question what,
                    int_set *set) {
    if (!set) /* no answer: to be asked again */
        return NULL;
    struct known_order *k = NEW(m->arena, struct known_order);
    *k = (struct known_order){a, b, of, space, what, set};
    VEC_PUSH(m->arena, m->orders, k);
    return set;
}

/* The threads that take part, over [task ids, thread ids]; C mentions ids alone. */
static int_set *taking_part(model *m, const cond *c) {
    int dims = m->task_dims + m->thread_dims;
    return c ? affine_condition(m, dims, c, false) : sets_universe(m->sets, dims);
}

/* Both threads take part in one instance of the barrier. */
static int_set *meet_at(model *m, const pair_space *s, const kernel_stmt *barrier, int_set *x) {
    int t = m->task_dims, n = m->thread_dims, *from = NEW_ARRAY(m->arena, int, t + n + 1);
    if (barrier->participants) {
        int_set *who = taking_part(m, barrier->participants);
        for (int i = 0; i < t + n; i++)
            from[i] = dim_a(m, s, i);
        x = sets_intersect(m->sets, x, sets_remap(m->sets, who, s->dims, from));
        for (int i = 0; i < t + n; i++)
            from[i] = dim_b(m, s, i);
        x = sets_intersect(m->sets, x, sets_remap(m->sets, who, s->dims, from));
    }
    return pair_same_thread(m, s, x, m->instance_dims[barrier->scope]);
}

/* x over pair (a, u) or (u, b), into the space of (a, b) followed by u's own dimensions. */
static int_set *into_three(model *m, const pair_space *s, const pair_space *of, int_set *x, bool u_second, bool thread_of_b) {
    int *from = NEW_ARRAY(m->arena, int, of->dims + 1), t = m->task_dims, n = m->thread_dims;
    int own = s->dims, rest = own + s->tasks_b; /* u: task ids where they are its own, then the rest */
    position u = u_second ? of->b : of->a;
    int total = rest + u.scope->depth - t - n;
    for (int side = 0; side < 2; side++) {
        bool is_u = side == u_second;
        int depth = (side ? of->b : of->a).scope->depth;
        for (int i = 0; i < depth; i++) {
            int d = side ? dim_b(m, of, i) : dim_a(m, of, i), to;
            if (!is_u)
                to = side ? dim_b(m, s, i) : dim_a(m, s, i);
            else if (i < t)
                to = s->tasks_b ? own + i : i;
            else if (i < t + n)
                to = (thread_of_b ? s->threads_b : s->threads_a) + i - t;
            else
                to = rest + i - t - n;
            from[d] = to;
        }
    }
    return sets_remap(m->sets, x, total, from);
}

int_set *pair_through(model *m, const pair_space *s, position u, int_set *first, int_set *second, bool thread_of_b) {
    pair_space before = pair_of(m, s->a, u), after = pair_of(m, u, s->b);
    int_set *x = into_three(m, s, &before, first, true, thread_of_b);
    x = sets_intersect(m->sets, x, into_three(m, s, &after, second, false, thread_of_b));
    return sets_project(m->sets, x, s->dims, sets_dims(x) - s->dims);
}

static bool is_uncertain(const scope *s) {
    return s->own_loose || s->kind == SCOPE_DATA_GUARD || s->kind == SCOPE_TRIP || (s->kind == SCOPE_LOOP && s->may_stop);
}

bool scope_is_sure(model *m, scope *s) {
    domain_of(m, s);
    for (const scope *x = s; x; x = x->parent)
        if (is_uncertain(x) && x->parent) /* the launch itself is as it is */
            return false;
    return true;
}

static bool stands_below(const scope *inner, const scope *outer) {
    while (inner && inner != outer)
        inner = inner->parent;
    return inner != NULL;
}

/* Keeps the points where u and a (or b) agree in the loops outside dimension `depth`. */
static int_set *same_instance(model *m, const pair_space *s, int_set *x, const scope *outer, int depth, bool of_b) {
    int t = m->task_dims, n = m->thread_dims;
    for (const scope *o = outer; o; o = o->parent) {
        int d = o->depth - 1;
        bool loop = o->kind == SCOPE_LOOP || o->kind == SCOPE_TRIP;
        if (loop && d < depth && d >= t + n)
            x = pair_equal(m, s, x, of_b ? dim_b(m, s, d) : dim_a(m, s, d), s->dims + s->tasks_b + d - t - n);
    }
    return x;
}

/* A barrier whose being reached is not in its set (data decides, a loop may stop, a condition is not affine) is there where a or b stands
 * below the same decision. */
static int_set *surely_reached(model *m, const pair_space *s, const meeting *u, int_set *x) {
    for (const scope *o = u->scope; o; o = o->parent) {
        if (!is_uncertain(o) || !o->parent)
            continue;
        bool with_a = stands_below(s->a.scope, o), with_b = stands_below(s->b.scope, o);
        bool stops = !o->own_loose && o->kind != SCOPE_DATA_GUARD; /* what comes before b in its loop has run */
        int_set *none = sets_empty(m->sets, sets_dims(x)), *first = none, *second = none;
        if (with_b)
            second = same_instance(m, s, x, o, stops ? o->depth - 1 : o->depth, true);
        if (with_a && !stops)
            first = same_instance(m, s, x, o, o->depth, false);
        x = sets_union(m->sets, first, second);
    }
    return x;
}

/* Persistent: u stands in the task of a or of b; whether the block runs one in between is not known. u's task ids follow the pair. */
static int_set *in_known_task(model *m, const pair_space *s, const meeting *u, int_set *x) {
    if (!s->tasks_b || !in_tasks(u->region))
        return x;
    int_set *none = sets_empty(m->sets, sets_dims(x));
    int_set *first = in_tasks(s->a.region) ? x : none, *second = in_tasks(s->b.region) ? x : none;
    for (int i = 0; i < m->task_dims; i++) {
        first = pair_equal(m, s, first, i, s->dims + i);
        second = pair_equal(m, s, second, s->tasks_b + i, s->dims + i);
    }
    return sets_union(m->sets, first, second);
}

/* Where the barrier stands between a and b. */
static int_set *barrier_between(model *m, const pair_space *s, const meeting *u) {
    sets *z = m->sets;
    int t = m->task_dims, n = m->thread_dims;
    position at = meeting_position(u);
    pair_space before = pair_of(m, s->a, at), after = pair_of(m, at, s->b);
    int_set *x = into_three(m, s, &before, pair_before(m, &before), true, false);
    int_set *y = into_three(m, s, &after, pair_before(m, &after), false, true);
    x = sets_intersect(z, x, y);
    if (sets_is_empty(z, x) == TRI_YES)
        return sets_empty(z, s->dims);
    /* that the barrier is reached, by whichever thread: all that take part reach it alike */
    int depth = u->scope->depth, *from = NEW_ARRAY(m->arena, int, depth + 1), total = sets_dims(x);
    int_set *reached = sets_project(z, domain_of(m, u->scope), t, n);
    for (int i = 0; i < depth - n; i++)
        from[i] = i < t ? (s->tasks_b ? s->dims + i : i) : s->dims + s->tasks_b + i - t;
    x = sets_intersect(z, x, sets_remap(z, reached, total, from));
    x = surely_reached(m, s, u, x);
    x = in_known_task(m, s, u, x);
    x = sets_project(z, x, s->dims, total - s->dims);
    return sets_simplify(z, meet_at(m, s, u->stmt, x));
}

int_set *pair_ordered(model *m, const pair_space *s, memory_space space) {
    sets *z = m->sets;
    int_set *all;
    if (order_known(m, s->a.region, s->b.region, NULL, space, ORDER_BARRIERS, &all))
        return all;
    all = sets_empty(z, s->dims);
    for (int i = 0; i < m->meetings.count; i++) {
        const meeting *u = &m->meetings.at[i];
        if (u->stmt->kind != KSTMT_BARRIER || !(u->stmt->spaces & 1u << space))
            continue;
        sets_question(z);
        all = sets_union(z, all, barrier_between(m, s, u));
    }
    return order_keep(m, s->a.region, s->b.region, NULL, space, ORDER_BARRIERS, sets_simplify(z, all));
}

/* ---- several barriers, one after another ---- */

bool barriers_are_partial(const model *m) {
    bool partial = false;
    int barriers = 0;
    for (int i = 0; i < m->meetings.count; i++) {
        const kernel_stmt *s = m->meetings.at[i].stmt;
        if (s->kind != KSTMT_BARRIER)
            continue;
        barriers++;
        partial = partial || s->participants || s->scope > LEVEL_BLOCK;
    }
    return partial && barriers > 1;
}

/* a, then a barrier of its thread and another thread r, then (r) a barrier of r and b's thread, then b. */
static int_set *two_barriers(model *m, const pair_space *s, memory_space space) {
    sets *z = m->sets;
    int t = m->task_dims, n = m->thread_dims;
    int_set *all;
    if (order_known(m, s->a.region, s->b.region, NULL, space, ORDER_CHAINS, &all))
        return all;
    all = sets_empty(z, s->dims);
    for (int i = 0; i < m->meetings.count; i++) {
        const meeting *u = &m->meetings.at[i];
        if (u->stmt->kind != KSTMT_BARRIER || !(u->stmt->spaces & 1u << space))
            continue;
        if (!scope_is_sure(m, u->scope))
            continue;
        position at = meeting_position(u);
        pair_space before = pair_of(m, s->a, at), after = pair_of(m, at, s->b);
        sets_question(z);
        int_set *first = meet_at(m, &before, u->stmt, pair_before(m, &before)), *second = pair_ordered(m, &after, space);
        first = sets_intersect(z, first, pair_second(m, &before, domain_of(m, u->scope), 0));
        /* [pair, (tasks of u,) threads of u, rest of u] */
        int own = s->dims, threads = own + s->tasks_b, rest = threads + n, total = rest + at.scope->depth - t - n;
        int *from = NEW_ARRAY(m->arena, int, total + 1);
        for (int side = 0; side < 2; side++) {
            const pair_space *of = side ? &after : &before;
            for (int k = 0; k < at.scope->depth; k++)
                from[side ? dim_a(m, of, k) : dim_b(m, of, k)] = k < t       ? (s->tasks_b ? own + k : k)
                                                                 : k < t + n ? threads + k - t
                                                                             : rest + k - t - n;
            const scope *end = side ? s->b.scope : s->a.scope;
            for (int k = 0; k < end->depth; k++)
                from[side ? dim_b(m, of, k) : dim_a(m, of, k)] = side ? dim_b(m, s, k) : dim_a(m, s, k);
            int_set *x = sets_remap(z, side ? second : first, total, from);
            if (side)
                second = x;
            else
                first = x;
        }
        sets_question(z);
        int_set *both = in_known_task(m, s, u, sets_intersect(z, first, second));
        all = sets_union(z, all, sets_project(z, both, s->dims, total - s->dims));
    }
    return order_keep(m, s->a.region, s->b.region, NULL, space, ORDER_CHAINS, sets_simplify(z, all));
}

int_set *pair_chained(model *m, const pair_space *s, memory_space space, bool *exact) {
    int_set *all = two_barriers(m, s, space);
    /* if two barriers order no more than one from any barrier on, neither do more */
    for (int i = 0; i < m->meetings.count && *exact; i++) {
        const meeting *u = &m->meetings.at[i];
        if (u->stmt->kind != KSTMT_BARRIER || !(u->stmt->spaces & 1u << space))
            continue;
        *exact = scope_is_sure(m, u->scope);
        pair_space after = pair_of(m, meeting_position(u), s->b);
        int_set *two = two_barriers(m, &after, space), *one = pair_ordered(m, &after, space);
        sets_question(m->sets);
        *exact = *exact && sets_is_subset(m->sets, two, one) == TRI_YES;
    }
    return all;
}
