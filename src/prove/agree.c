/* Conditions on values from memory that exclude each other where both values come from one cell: below `if a[i] == 0` and `if a[j] != 0` i is not j.
 *
 * Two loads of one cell by one thread give one value where nobody writes it in between: for arrays that the kernel never writes, always; for others where neither the
 * thread itself writes the array nor anything orders it with other threads between the two. Another thread's write in between would race with the first of the
 * loads, so up to the first race of an array the loads agree, and the first race is an access of that kind itself: where it takes place is told by these sets.
 * So races are ruled out, and what holds below such conditions holds as long as there is none. */
#include "prove/model.h"
#include <math.h>

enum { MOST_ATOMS = 16, MOST_CASTS = 4 };

/* `load op other`, or its opposite. */
typedef struct atom {
    const kernel_value *load, *other;
    const kernel_stmt *let; /* which the load is the value of */
    kernel_op op;
    bool turned, negated; /* other op load */
    int casts;            /* of the load, outermost first */
    element_type cast[MOST_CASTS];
    kernel_op cast_op[MOST_CASTS];
} atom;

static bool is_comparison(kernel_op op) {
    return op == KERNEL_EQ || op == KERNEL_NE || op == KERNEL_LT || op == KERNEL_LE;
}

/* The load that v is, made once by a let of its own, through lets and casts. NULL: it is none. */
static const kernel_value *load_of(const kernel_value *v, atom *a) {
    a->casts = 0;
    a->let = NULL;
    for (int steps = 0; steps < 16; steps++) {
        if (v->op == KERNEL_LOAD)
            return a->let && a->let->value == v && v->access.lanes <= 1 && !v->access.active ? v : NULL;
        if (v->op == KERNEL_REF) {
            a->let = v->let;
            v = v->let->value;
            continue;
        }
        if ((v->op != KERNEL_CONVERT && v->op != KERNEL_BITCAST) || a->casts == MOST_CASTS)
            return NULL;
        a->cast_op[a->casts] = v->op;
        a->cast[a->casts++] = v->type;
        v = v->operands[0];
    }
    return NULL;
}

static bool is_known(const kernel_value *v) {
    return v->op == KERNEL_CONST || v->op == KERNEL_INDEX;
}

/* The comparisons that all hold where v does (or does not: `negated`). */
static int atoms_of(const kernel_value *v, bool negated, atom *out, int count, int nesting) {
    while (v->op == KERNEL_NOT) {
        v = v->operands[0];
        negated = !negated;
    }
    if (nesting > MOST_ATOMS || count == MOST_ATOMS)
        return count;
    if (v->op == (negated ? KERNEL_OR : KERNEL_AND)) {
        count = atoms_of(v->operands[0], negated, out, count, nesting + 1);
        return atoms_of(v->operands[1], negated, out, count, nesting + 1);
    }
    if (!is_comparison(v->op))
        return count;
    for (int turn = 0; turn < 2; turn++) {
        atom a = {.other = v->operands[!turn], .op = v->op, .turned = turn, .negated = negated};
        a.load = is_known(a.other) ? load_of(v->operands[turn], &a) : NULL;
        if (a.load) {
            out[count] = a;
            return count + 1;
        }
    }
    return count;
}

static bool holds(const atom *a, double x, double c) {
    double left = a->turned ? c : x, right = a->turned ? x : c;
    bool is = a->op == KERNEL_EQ   ? left == right
              : a->op == KERNEL_NE ? left != right
              : a->op == KERNEL_LT ? left < right
                                   : left <= right;
    return is != a->negated;
}

/* A constant as values of its type are: two that are spelt apart may be one. False: what it is there is not said. */
static bool number_of(const kernel_value *v, double *n) {
    int64_t i;
    if (v->op == KERNEL_INDEX) {
        if (!ix_is_const(v->index, &i) || i < -((int64_t)1 << 52) || i > (int64_t)1 << 52)
            return false;
        *n = (double)i;
        return true;
    }
    *n = v->number;
    switch (v->type) {
    case ELEMENT_F32: *n = (float)*n; return *n == 0 || fabs(*n) >= 0x1p-126; /* smaller ones may count as 0 */
    case ELEMENT_I32: return *n >= INT32_MIN && *n <= INT32_MAX;
    case ELEMENT_U32: return *n >= 0 && *n <= UINT32_MAX;
    default: return fabs(*n) <= 128 && *n == floor(*n); /* every other type has these */
    }
}

/* Whether no value at all fulfils both, if it is one and the same that they ask about. */
static bool exclude(const atom *a, const atom *b) {
    double c = 0, d = 0, tried[8];
    int count = 0;
    bool is_float = element_table[a->casts ? a->cast[0] : a->load->type].is_float;
    if (a->casts != b->casts || a->load->type != b->load->type)
        return false;
    for (int i = 0; i < a->casts; i++)
        if (a->cast[i] != b->cast[i] || a->cast_op[i] != b->cast_op[i])
            return false;
    bool numbers = number_of(a->other, &c) && number_of(b->other, &d);
    if (!numbers && (a->other->op != KERNEL_INDEX || b->other->op != KERNEL_INDEX || !ix_equal(a->other->index, b->other->index)))
        return false;
    if (!numbers)
        c = d = 0; /* one unknown number: below it, it, above it */
    double less = c < d ? c : d, more = c < d ? d : c;
    tried[count++] = c;
    tried[count++] = d;
    tried[count++] = is_float ? -INFINITY : less - 1;
    tried[count++] = is_float ? INFINITY : more + 1;
    if (is_float || more - less > 1)
        tried[count++] = is_float ? less + (more - less) / 2 : less + 1;
    if (is_float)
        tried[count++] = NAN;
    for (int i = 0; i < count; i++)
        if (holds(a, tried[i], c) && holds(b, tried[i], d))
            return false;
    return true;
}

/* ---- nothing in between ---- */

static const place *place_of(const model *m, const atom *a) {
    for (int i = 0; i < m->places.count; i++)
        if (m->places.at[i]->load == a->load && m->places.at[i]->stmt == a->let)
            return m->places.at[i];
    return NULL;
}

static bool is_quiet(const region *r, const kernel_array *a) {
    return !r->syncs && !(r->touches[a->id] & (ACCESS_WRITE | ACCESS_CONSUME | ACCESS_PLAIN_WRITE));
}

/* Whether the thread, once `first` is done, comes to `second` without a write of the array or anything that orders. */
static bool quiet_between(const region *first, const region *second, const kernel_array *a) {
    const region *sequence = first->parent, *at = sequence ? region_towards(sequence, second) : NULL;
    if (first == second)
        return true; /* its reads are made before its writes */
    if (!at || sequence->kind != REGION_SEQUENCE || at->index <= first->index || !is_quiet(first, a))
        return false;
    int from = first->index + 1;
    for (const region *r = sequence;;) {
        for (int i = from; r->kind == REGION_SEQUENCE && i < at->index; i++)
            if (!is_quiet(r->children.at[i], a))
                return false;
        if (at == second)
            return true;
        if (at->kind == REGION_LOOP) /* trips before may have come by all of it */
            return is_quiet(at, a);
        from = 0;
        r = at;
        if (!(at = region_towards(r, second)))
            return false;
    }
}

/* Each access is one of a single thread, made at once, of whole elements: what disturbs a load races with it. */
static bool all_plain(const model *m, const kernel_array *a) {
    for (int i = 0; i < m->kernel->arrays.count; i++)
        if (m->kernel->arrays.at[i]->view_of == a)
            return false;
    for (int i = 0; i < m->places.count; i++) {
        const place *p = m->places.at[i];
        if (p->array == a && (p->asynchronous || p->atomic || p->collective || p->by_unit || p->unordered || p->matrix))
            return false;
    }
    return !a->view_of && !m->object_of[a->id] && !m->persistent;
}

static bool agree(const model *m, const atom *x, const atom *y) {
    const kernel_array *a = x->load->access.array;
    if (a != y->load->access.array)
        return false;
    if (x->let == y->let)
        return true;
    if (a->view_of || m->object_of[a->id])
        return false;
    if (!model_touched(m, a, ACCESS_WRITE | ACCESS_CONSUME))
        return !m->persistent;
    const place *p = place_of(m, x), *q = place_of(m, y);
    return p && q && all_plain(m, a) && (quiet_between(p->region, q->region, a) || quiet_between(q->region, p->region, a));
}

/* Where the two loads lead to one cell, over the scope's dimensions. NULL: not affine. */
static int_set *one_cell(model *m, const scope *s, const kernel_value *x, const kernel_value *y) {
    int_set *same = sets_universe(m->sets, s->depth);
    for (int d = 0; d < x->access.array->rank && same; d++) {
        affine *i = affine_of(m, s->depth, x->access.indices[d]), *j = affine_of(m, s->depth, y->access.indices[d]);
        int_set *equal = i && j ? affine_zero(m, affine_subtract(m, i, j)) : NULL;
        same = equal ? sets_intersect(m->sets, same, equal) : NULL;
    }
    return same;
}

int_set *without_contradictions(model *m, const scope *s, int_set *domain) {
    atom own[MOST_ATOMS], outer[MOST_ATOMS];
    int count = atoms_of(s->stmt->value, s->negated, own, 0, 0);
    for (const scope *o = s->parent; o && count && domain; o = o->parent) {
        int others = o->kind == SCOPE_DATA_GUARD ? atoms_of(o->stmt->value, o->negated, outer, 0, 0) : 0;
        for (int i = 0; i < count; i++)
            for (int j = 0; j < others; j++) {
                if (!exclude(&own[i], &outer[j]) || !agree(m, &own[i], &outer[j]))
                    continue;
                int_set *same = one_cell(m, s, own[i].load, outer[j].load);
                int_set *rest = same ? sets_subtract(m->sets, domain, same) : NULL;
                domain = rest ? rest : domain; /* a larger one is as true */
            }
    }
    return domain;
}
