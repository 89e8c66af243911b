/* Reads of a cell that the same thread has just written, seen from the text: an earlier statement of the same sequence, or of one around it, writes
 * every cell that the read may touch. Either it writes the same expression, or loops over the whole array, or it stands in loops and
 * conditions like the read's own, each met by the read's. No set is made; what is not seen here is asked of sets. */
#include "prove/interval.h"

enum { MOST_PATH = 64, MOST_NESTING = 64, MOST_STEPS = 4000 };

/* Variables of the write, and what the read has in their place. */
typedef struct pairing {
    model *m;
    const index_var *var[MOST_PATH];
    const index_expr *is[MOST_PATH];
    int count, steps;
} pairing;

/* x, of the write, is y, of the read. `own` variables of the write that stand for nothing yet are given y. */
static bool alike(pairing *p, const index_expr *x, const index_expr *y, int nesting) {
    if (nesting > MOST_NESTING || ++p->steps > MOST_STEPS)
        return false;
    if (x->op == IX_VAR)
        for (int i = 0; i < p->count; i++)
            if (p->var[i] == x->var) {
                if (!p->is[i])
                    p->is[i] = y;
                return p->is[i] == y || ix_equal(p->is[i], y) || ix_equal(model_meaning(p->m, p->is[i]), model_meaning(p->m, y));
            }
    x = model_meaning(p->m, x);
    y = model_meaning(p->m, y);
    if (x->op == IX_VAR && y->op == IX_VAR) {
        for (int i = 0; i < p->count; i++)
            if (p->var[i] == x->var)
                return alike(p, x, y, nesting + 1);
        return x->var == y->var;
    }
    if (x->op != y->op)
        return false;
    if (x->op == IX_CONST)
        return x->value == y->value;
    return x->op != IX_VAR && alike(p, x->a, y->a, nesting + 1) && alike(p, x->b, y->b, nesting + 1);
}

static bool conditions_alike(pairing *p, const cond *c, const cond *d, int nesting) {
    if (nesting > MOST_NESTING || c->op != d->op)
        return false;
    if (c->op == COND_TRUE)
        return true;
    if (c->op == COND_AND || c->op == COND_OR)
        return conditions_alike(p, c->a, d->a, nesting + 1) && conditions_alike(p, c->b, d->b, nesting + 1);
    if (c->op == COND_NOT)
        return conditions_alike(p, c->a, d->a, nesting + 1);
    return alike(p, c->x, d->x, 0) && alike(p, c->y, d->y, 0);
}

/* The read stands below c. */
static bool stands_below(pairing *p, const scope *reader, const cond *c, int nesting) {
    if (nesting > MOST_NESTING)
        return false;
    if (c->op == COND_AND)
        return stands_below(p, reader, c->a, nesting + 1) && stands_below(p, reader, c->b, nesting + 1);
    for (const scope *s = reader; s; s = s->parent) {
        const cond *parts[MOST_PATH] = {s->kind == SCOPE_GUARD && !s->negated ? s->guard : NULL};
        for (int n = parts[0] != NULL; n > 0;) {
            const cond *d = parts[--n];
            if (conditions_alike(p, c, d, 0))
                return true;
            if (d->op == COND_AND && n + 2 < MOST_PATH) {
                parts[n++] = d->b;
                parts[n++] = d->a;
            }
        }
    }
    return false;
}

/* The value that the read has in place of the write's loop variable is one of the loop's. */
static bool is_a_trip(pairing *p, const scope *loop, const index_expr *is, const scope *reader) {
    model *m = p->m;
    const kernel_stmt *f = loop->stmt;
    int64_t step, lo, hi, rest;
    if (!ix_is_const(f->step, &step))
        return false;
    const index_expr *x = model_meaning(m, is);
    const scope *other = x->op == IX_VAR && model_knows(m, x->var) ? m->scope_of[x->var->id] : NULL;
    for (const scope *s = reader; other && s; s = s->parent) /* the variable of a loop alike */
        if (s == other && s->kind == SCOPE_LOOP && !s->counted && ix_is_const(s->stmt->step, &rest) && rest == step &&
            alike(p, f->lo, s->stmt->lo, 0) && alike(p, f->hi, s->stmt->hi, 0))
            return true;
    if (step != 1 || !ix_is_const(f->lo, &lo) || !ix_is_const(f->hi, &hi))
        return false;
    interval value = interval_of(m, is);
    return value.lo >= lo && value.hi < hi;
}

static bool covers(model *m, const place *write, const place *read, const region *common) {
    pairing p = {.m = m};
    const scope *outside = common->scope;
    if (write->use != ACCESS_WRITE || write->asynchronous || write->atomic || write->collective || write->clip ||
        write->combined || !write->extents != !read->extents || write->active || write->lanes != read->lanes ||
        write->vector_dim != read->vector_dim)
        return false;
    for (int d = 0; write->extents && d < write->array->rank; d++)
        if (!ix_equal(write->extents[d], read->extents[d]))
            return false;
    for (const scope *s = write->scope; s != outside; s = s->parent) {
        if (!s || s->kind == SCOPE_TRIP || s->kind == SCOPE_VALUE || s->kind == SCOPE_DATA_GUARD || s->kind == SCOPE_ID ||
            s->may_stop || s->counted || (s->kind == SCOPE_GUARD && s->negated))
            return false;
        if (s->kind == SCOPE_LOOP) {
            if (p.count == MOST_PATH)
                return false;
            p.var[p.count++] = s->var;
        }
    }
    for (int d = 0; d < write->array->rank; d++)
        if (!alike(&p, write->indices[d], read->indices[d], 0))
            return false;
    for (const scope *s = write->scope; s != outside; s = s->parent) {
        if (s->kind == SCOPE_GUARD && !stands_below(&p, read->scope, s->guard, 0))
            return false;
        for (int i = 0; s->kind == SCOPE_LOOP && i < p.count; i++)
            if (p.var[i] == s->var && (!p.is[i] || !is_a_trip(&p, s, p.is[i], read->scope)))
                return false;
    }
    return true;
}

static bool some_covers(model *m, const region *r, const place *read, const region *common, int nesting) {
    if (nesting > MOST_NESTING || !(r->touches[read->array->id] & ACCESS_WRITE))
        return false;
    for (int i = 0; i < r->places.count; i++)
        if (r->places.at[i]->array == read->array && covers(m, r->places.at[i], read, common))
            return true;
    for (int i = 0; i < r->children.count; i++)
        if (some_covers(m, r->children.at[i], read, common, nesting + 1))
            return true;
    return false;
}

bool written_just_before(model *m, const place *read) {
    for (const region *r = read->region; r->parent && !r->tasks && !r->threads; r = r->parent)
        for (int i = r->index - 1; r->parent->kind == REGION_SEQUENCE && i >= 0; i--)
            if (some_covers(m, r->parent->children.at[i], read, r->parent, 0))
                return true;
    return false;
}
