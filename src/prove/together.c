/* Reads of a cell that the threads of the block have written together, or that this thread has, seen from the text: an earlier statement, over thread ids
 * (of a shared array) and loops of constant bounds, writes a box of cells. Its index in each dimension is a sum of ids, loop variables and lanes, each used
 * once, whose factors leave no gap: every cell of the box is written with values that the sums determine. Statements of one sequence that write cells side
 * by side count as lanes of the first. The statement's conditions, said of these values, must hold where the read stands. No set is made; what is not seen
 * here is asked of sets. */
#include "prove/interval.h"

enum { MOST_DIGITS = 24, MOST_RANK = 8, MOST_NESTING = 64, MOST_CHOSEN = 8, MOST_SIDE_BY_SIDE = 64 };

/* A variable of the write that the cell determines: dimension `dim` has factor * (variable - lo), 0 <= variable - lo <= span. */
typedef struct digit {
    const index_var *var;
    int dim;
    int64_t factor, span;
} digit;
typedef struct box {
    model *m;
    const place *write, *read;
    const scope *outside; /* both stand in it; its variables have the same values */
    int64_t lanes; /* cells that the write has along lane_dim from its index on: a vector's, or those of statements beside it */
    int lane_dim;  /* -1: it has one cell */
    digit digits[MOST_DIGITS];
    int count;
    index_sum index[MOST_RANK];           /* of the write's first lane */
    const index_var *chosen[MOST_CHOSEN]; /* variables that no index has, set to what a condition asks for */
    int64_t chosen_value[MOST_CHOSEN];
    int chosen_count;
} box;

static bool is_thread_id(const model *m, const index_var *v) {
    int d = model_knows(m, v) ? m->position[v->id] - m->task_dims : -1;
    return d >= m->instance_dims[LEVEL_BLOCK] && d < m->thread_dims;
}

/* An id of whichever thread has made the write: it need not be the read's. */
static bool is_any_thread(const box *b, const index_var *v) {
    return b->write->array->space == SPACE_SHARED && is_thread_id(b->m, v);
}

/* How many values the variable of the write has, *step apart, from *lo; 0: it is none of its own, or not of constant bounds. */
static int64_t values_of(const box *b, const index_var *v, int64_t *lo, int64_t *step) {
    const model *m = b->m;
    int64_t hi;
    *lo = 0;
    *step = 1;
    if (is_any_thread(b, v))
        return m->thread_extents[m->position[v->id] - m->task_dims];
    const scope *at = model_knows(m, v) ? m->scope_of[v->id] : NULL;
    if (!at || at->kind != SCOPE_LOOP || at->depth <= b->outside->depth || at->counted || !ix_is_const(at->stmt->lo, lo) ||
        !ix_is_const(at->stmt->hi, &hi) || !ix_is_const(at->stmt->step, step) || *step <= 0 || hi <= *lo || hi - *lo > INT32_MAX)
        return 0;
    return (hi - *lo + *step - 1) / *step;
}

static bool is_outside_variable(const void *context, const index_var *v) {
    const box *b = context;
    return !is_any_thread(b, v) && b->m->position[v->id] >= 0 && b->m->position[v->id] < b->outside->depth;
}

/* Whether x has the same value for the read and for every thread that runs the write. */
static bool is_outside(const box *b, const index_expr *x) {
    return model_every_variable(b->m, x, is_outside_variable, b);
}

/* All threads of the block come by here together: conditions and loops around do not part them. */
static bool threads_stay_together(model *m, const scope *s) {
    for (; s; s = s->parent) {
        if (s->kind == SCOPE_TRIP || s->kind == SCOPE_VALUE || s->kind == SCOPE_DATA_GUARD || s->may_stop || s->counted)
            return false;
        for (int d = m->instance_dims[LEVEL_BLOCK]; d < m->thread_dims; d++) {
            const index_var *id = m->thread_ids[d];
            if ((s->kind == SCOPE_GUARD && condition_depends_on(m, s->guard, id)) ||
                (s->kind == SCOPE_LOOP &&
                 (depends_on(m, s->stmt->lo, id) || depends_on(m, s->stmt->hi, id) || depends_on(m, s->stmt->step, id))))
                return false;
        }
    }
    return true;
}

static int by_factor(const digit *x, const digit *y) {
    return x->factor < y->factor ? -1 : x->factor > y->factor;
}

/* How many cells the read has in dimension d behind the one at its index; -1: not known. */
static int64_t further_cells(const box *b, int d) {
    const place *r = b->read;
    int64_t extent;
    if (r->extents)
        return ix_is_const(r->extents[d], &extent) && extent > 0 && extent <= INT32_MAX ? extent - 1 : -1;
    return r->lanes > 1 && r->vector_dim == d ? r->lanes - 1 : 0;
}

/* Takes the write's index in dimension d apart; the read's lies in the stretch that it fills. */
static bool dimension_covered(box *b, int d) {
    model *m = b->m;
    const place *w = b->write, *r = b->read;
    int first = b->count;
    index_sum rest = {.count = 0};
    wide further = b->lane_dim == d ? b->lanes - 1 : 0;
    if (!index_sum_add(m, &b->index[d], w->indices[d], 1, 0))
        return false;
    rest.constant = b->index[d].constant;
    for (int i = 0; i < b->index[d].count; i++) {
        const index_term *t = &b->index[d].terms[i];
        int64_t lo, step, factor, count = t->of->op == IX_VAR ? values_of(b, t->of->var, &lo, &step) : 0;
        if (!count) {
            if (!is_outside(b, t->of))
                return false;
            rest.terms[rest.count++] = *t;
            continue;
        }
        if (t->factor <= 0 || b->count == MOST_DIGITS || __builtin_mul_overflow(t->factor, step, &factor))
            return false;
        for (int j = 0; j < b->count; j++)
            if (b->digits[j].var == t->of->var)
                return false;
        rest.constant += (wide)t->factor * lo;
        b->digits[b->count++] = (digit){t->of->var, d, factor, count - 1};
    }
    for (int i = first; i < b->count; i++) /* by factors, the least first */
        for (int j = i; j > first && by_factor(&b->digits[j - 1], &b->digits[j]) > 0; j--) {
            digit t = b->digits[j];
            b->digits[j] = b->digits[j - 1];
            b->digits[j - 1] = t;
        }
    for (int i = first; i < b->count; i++) {
        if (b->digits[i].factor > further + 1)
            return false;
        further += (wide)b->digits[i].factor * b->digits[i].span;
    }
    /* 0 <= the read's index - rest, and with its lanes at most `further` */
    index_sum up = {.count = 0}, down = {.count = 0};
    int64_t more = further_cells(b, d);
    up.constant = -rest.constant - further + more;
    down.constant = rest.constant;
    if (more < 0 || !index_sum_add(m, &up, r->indices[d], 1, 0) || !index_sum_add(m, &down, r->indices[d], -1, 0))
        return false;
    for (int i = 0; i < rest.count; i++)
        if (!index_sum_add(m, &up, rest.terms[i].of, -rest.terms[i].factor, 0) ||
            !index_sum_add(m, &down, rest.terms[i].of, rest.terms[i].factor, 0))
            return false;
    return reach_most_sum(m, r->scope, &down) <= 0 && reach_most_sum(m, r->scope, &up) <= 0;
}

/* ---- conditions of the write, for the values that the read's cell determines ---- */

/* Takes q times the write's index of dimension d from s, so that none of the dimension's variables is left; *q is 0 where none was. */
static bool take_index(const box *b, index_sum *s, int d, int64_t *q) {
    const index_sum *index = &b->index[d];
    *q = 0;
    for (int i = 0; i < s->count && !*q; i++)
        for (int j = 0; j < b->count && !*q; j++)
            if (b->digits[j].dim == d && s->terms[i].of->op == IX_VAR && s->terms[i].of->var == b->digits[j].var)
                for (int k = 0; k < index->count; k++)
                    if (index_same_part(index->terms[k].of, s->terms[i].of))
                        *q = s->terms[i].factor / index->terms[k].factor;
    if (!*q)
        return true;
    if (*q > INT32_MAX || *q < -INT32_MAX)
        return false;
    s->constant -= (wide)*q * index->constant;
    for (int i = 0; i < index->count; i++) {
        int64_t factor;
        if (__builtin_mul_overflow(index->terms[i].factor, -*q, &factor) ||
            !index_sum_add(b->m, s, index->terms[i].of, factor, 0))
            return false;
    }
    return true;
}

/* Whether s, of the write's variables, plus the read's index of dimension `more` (-1: none) is at most 0 wherever the read is made. */
static bool not_positive(box *b, index_sum *s, int more) {
    const place *w = b->write, *r = b->read;
    int64_t q[MOST_RANK];
    for (int d = 0; d < w->array->rank; d++)
        if (!take_index(b, s, d, &q[d]))
            return false;
    for (int i = 0; i < s->count; i++) /* ids of the write and of the read have one name: none of the write's may be left */
        if (!is_outside(b, s->terms[i].of))
            return false;
    for (int d = 0; d < w->array->rank; d++) {
        int64_t by = q[d] + (d == more);
        /* the first lane stands up to lanes - 1 before the cell; the read has further cells */
        if (b->lane_dim == d && q[d] < 0)
            s->constant += (wide)-q[d] * (b->lanes - 1);
        if (by > 0)
            s->constant += (wide)by * further_cells(b, d);
        if (by && !index_sum_add(b->m, s, r->indices[d], by, 0))
            return false;
    }
    return reach_most_sum(b->m, r->scope, s) <= 0;
}

/* Whether x - y + more <= 0; a minimum on the right, and a maximum on the left, means both. */
static bool at_most(box *b, const index_expr *x, const index_expr *y, int64_t more, int nesting) {
    x = model_meaning(b->m, x);
    y = model_meaning(b->m, y);
    if (nesting > 8)
        return false;
    if (x->op == IX_MAX)
        return at_most(b, x->a, y, more, nesting + 1) && at_most(b, x->b, y, more, nesting + 1);
    if (y->op == IX_MIN)
        return at_most(b, x, y->a, more, nesting + 1) && at_most(b, x, y->b, more, nesting + 1);
    index_sum s = {.constant = more};
    return index_sum_add(b->m, &s, x, 1, 0) && index_sum_add(b->m, &s, y, -1, 0) && not_positive(b, &s, -1);
}

/* `v == c`, v being in no index: then let it be c, if it can be. */
static bool choose(box *b, const index_expr *x, const index_expr *y) {
    int64_t value, lo, step, count;
    if (x->op != IX_VAR || !ix_is_const(y, &value))
        return false;
    for (int i = 0; i < b->count; i++)
        if (b->digits[i].var == x->var)
            return false;
    for (int i = 0; i < b->chosen_count; i++)
        if (b->chosen[i] == x->var)
            return b->chosen_value[i] == value;
    count = values_of(b, x->var, &lo, &step);
    if (!count || value < lo || (value - lo) % step || (value - lo) / step >= count || b->chosen_count == MOST_CHOSEN)
        return false;
    b->chosen[b->chosen_count] = x->var;
    b->chosen_value[b->chosen_count++] = value;
    return true;
}

static bool holds(box *b, const cond *c, bool negated, int nesting) {
    if (nesting > MOST_NESTING)
        return false;
    switch (c->op) {
    case COND_TRUE: return !negated;
    case COND_NOT: return holds(b, c->a, !negated, nesting + 1);
    case COND_AND:
    case COND_OR:
        return (c->op == COND_AND) != negated && holds(b, c->a, negated, nesting + 1) && holds(b, c->b, negated, nesting + 1);
    case COND_LE:
    case COND_LT: return negated ? at_most(b, c->y, c->x, c->op == COND_LE, 0) : at_most(b, c->x, c->y, c->op == COND_LT, 0);
    case COND_EQ:
    case COND_NE:
        if ((c->op == COND_EQ) == negated)
            return false;
        return choose(b, c->x, c->y) || choose(b, c->y, c->x) || (at_most(b, c->x, c->y, 0, 0) && at_most(b, c->y, c->x, 0, 0));
    }
    return false;
}

static bool is_plain_write(const place *w) {
    return w->use == ACCESS_WRITE && !w->asynchronous && !w->atomic && !w->collective && !w->clip && !w->combined &&
           !w->unordered;
}

/* How many cells the place has from its index on, all along dimension *d (-1: it is one cell); 0: along several, or not known. */
static int64_t run_of(const place *w, int *d) {
    int64_t count = 1, extent;
    *d = -1;
    if (!w->extents) {
        *d = w->lanes > 1 ? w->vector_dim : -1;
        return w->lanes > 1 && w->vector_dim < 0 ? 0 : w->lanes;
    }
    for (int i = 0; i < w->array->rank; i++) {
        if (!ix_is_const(w->extents[i], &extent) || extent < 1 || extent > INT32_MAX || (extent > 1 && *d >= 0))
            return 0;
        *d = extent > 1 ? i : *d;
        count *= extent;
    }
    return count;
}

/* How many cells further along dimension d another write begins; -1: it is not beside this one, or not known to be. */
static int64_t cells_further(model *m, const place *w, const place *x, int d) {
    index_sum apart = {.count = 0};
    for (int i = 0; i < w->array->rank; i++)
        if (i != d && !ix_equal(w->indices[i], x->indices[i]))
            return -1;
    if (!index_sum_add(m, &apart, x->indices[d], 1, 0) || !index_sum_add(m, &apart, w->indices[d], -1, 0))
        return -1;
    for (int i = 0; i < apart.count; i++)
        if (apart.terms[i].factor)
            return -1;
    return apart.constant >= 0 && apart.constant < MOST_SIDE_BY_SIDE ? (int64_t)apart.constant : -1;
}

/* How many cells from the write's on are written along dimension d by statements of its sequence, which all run where it does; those of the read's own
 * sequence stand before the read, which is in `reader`. */
static int64_t side_by_side(model *m, const place *w, const region *reader, int d) {
    const region *sequence = w->region->parent;
    bool there[2 * MOST_SIDE_BY_SIDE] = {false};
    int64_t count = 0;
    for (int i = 0; sequence->kind == REGION_SEQUENCE && i < sequence->children.count; i++) {
        const region *r = sequence->children.at[i];
        if (sequence == reader->parent && i >= reader->index)
            break;
        for (int j = 0; j < r->places.count; j++) {
            const place *x = r->places.at[j];
            int along;
            int64_t run, n;
            if (x->array != w->array || x->scope != w->scope || !is_plain_write(x) || x->active ||
                (run = run_of(x, &along)) < 1 || run > MOST_SIDE_BY_SIDE || (along >= 0 && along != d) ||
                (n = cells_further(m, w, x, d)) < 0)
                continue;
            for (int64_t c = n; c < n + run; c++)
                there[c] = true;
        }
    }
    while (count < 2 * MOST_SIDE_BY_SIDE && there[count])
        count++;
    return count;
}

/* The other branch of the condition writes the same cells: `lanes` along dimension d, by statements side by side where w alone has fewer. */
static bool other_branch_too(model *m, const place *w, const region *reader, int64_t lanes, int dim) {
    const scope *s = w->scope;
    for (int i = 0; i < m->places.count; i++) {
        const place *x = m->places.at[i];
        if (x->array != w->array || !is_plain_write(x) || x->scope->kind != SCOPE_GUARD || x->scope->parent != s->parent ||
            x->scope->stmt != s->stmt || x->scope->guard != s->guard || x->scope->negated == s->negated || x->lanes != w->lanes ||
            x->vector_dim != w->vector_dim || x->active || !x->extents != !w->extents)
            continue;
        int d = 0;
        while (d < w->array->rank && ix_equal(x->indices[d], w->indices[d]) &&
               (!w->extents || ix_equal(x->extents[d], w->extents[d])))
            d++;
        int along;
        if (d == w->array->rank && (run_of(x, &along) == lanes || side_by_side(m, x, reader, dim) >= lanes))
            return true;
    }
    return false;
}

static bool covers(model *m, const place *write, const place *read, const region *reader) {
    const scope *outside = reader->parent->scope;
    if (!is_plain_write(write) || write->array->rank > MOST_RANK)
        return false;
    for (const scope *s = write->scope; s != outside; s = s->parent)
        if (!s || (s->kind != SCOPE_LOOP && s->kind != SCOPE_GUARD) || s->may_stop || s->counted)
            return false;
    box b = {.m = m, .write = write, .read = read, .outside = outside};
    b.lanes = run_of(write, &b.lane_dim);
    if (!b.lanes)
        return false;
    int64_t own = b.lanes, more;
    for (int d = 0; !write->active && b.lanes == own && d < write->array->rank; d++)
        if ((own == 1 || b.lane_dim == d) && (more = side_by_side(m, write, reader, d)) > own) {
            b.lanes = more;
            b.lane_dim = d;
        }
    for (int d = 0; d < write->array->rank; d++)
        if (!dimension_covered(&b, d))
            return false;
    bool both = write->scope->kind == SCOPE_GUARD && write->scope != outside && !write->active &&
                other_branch_too(m, write, reader, b.lanes, b.lane_dim);
    for (const scope *s = both ? write->scope->parent : write->scope; s != outside; s = s->parent) {
        int64_t lo, step;
        if (s->kind == SCOPE_LOOP ? !values_of(&b, s->var, &lo, &step) : !holds(&b, s->guard, s->negated, 0))
            return false;
    }
    if (write->active) { /* lane l takes part if l < active: the cell is below the index + active */
        if (write->extents)
            return false;
        index_sum end = {.constant = 1};
        int d = write->vector_dim;
        return d >= 0 && index_sum_add(m, &end, write->indices[d], -1, 0) && index_sum_add(m, &end, write->active, -1, 0) &&
               not_positive(&b, &end, d);
    }
    return true;
}

static bool some_covers(model *m, const region *r, const place *read, const region *reader, int nesting) {
    if (nesting > MOST_NESTING || !(r->touches[read->array->id] & ACCESS_WRITE))
        return false;
    for (int i = 0; i < r->places.count; i++)
        if (r->places.at[i]->array == read->array && covers(m, r->places.at[i], read, reader))
            return true;
    for (int i = 0; i < r->children.count; i++)
        if (some_covers(m, r->children.at[i], read, reader, nesting + 1))
            return true;
    return false;
}

bool written_together(model *m, const place *read) {
    bool shared = read->array->space == SPACE_SHARED;
    if ((!shared && read->array->space != SPACE_PRIVATE && read->array->space != SPACE_REGISTER) || read->clip ||
        read->asynchronous || m->persistent || m->breaks.count)
        return false;
    for (const region *r = read->region; r->parent && !r->tasks && !r->threads; r = r->parent)
        for (int i = r->index - 1; r->parent->kind == REGION_SEQUENCE && i >= 0; i--)
            if ((r->parent->children.at[i]->touches[read->array->id] & ACCESS_WRITE) &&
                (!shared || threads_stay_together(m, r->parent->scope)) && some_covers(m, r->parent->children.at[i], read, r, 0))
                return true;
    return false;
}
