/* Races between the threads of a task: two accesses of one cell by different threads, at least one a write, with nothing between them that
 * orders them. What stands between two statements that order is one segment, whose accesses are taken together. */
#include "prove/model.h"
#include <inttypes.h>
#include <string.h>

typedef VEC(place *) place_list;

/* A segment's accesses of an array, or a single access that is asynchronous, atomic or made by several lanes together. */
typedef struct node {
    position at;
    place *alone; /* NULL: a segment, children first..last of the region's parent */
    int first;
    bool known[2]; /* by use, 1 for writes: what cells_in found */
    bool any[2];
    int_set *cells[2];
    place_list places[2]; /* those accesses */
} node;
typedef VEC(node) node_list;

typedef struct finding {
    bool found;
    verdict verdict; /* REFUTED or UNKNOWN */
    witness w;
    const char *text, *why, *mend;
    place *one, *two;
} finding;

typedef struct races {
    prover *p;
    model *m;
    const kernel_array *array;
    memory_space space;
    node_list nodes;
    finding worst;
    bool gave_up, chains_unknown;
} races;

static region *child_at(const region *r, int i) {
    return r->children.at[i];
}

static bool plain_inside(const races *q, const region *r) {
    return r->touches[q->array->id] & (ACCESS_PLAIN_READ | ACCESS_PLAIN_WRITE);
}

static stretch stretch_of(const node *n) {
    return (stretch){n->at.region->parent, n->first, n->at.last};
}

/* Cuts the program into segments. */
static void collect(races *q, region *r) {
    model *m = q->m;
    if (r->kind == REGION_SEQUENCE) {
        for (int i = 0; i < r->children.count; i++) {
            int first = i;
            bool any = false;
            while (i < r->children.count && !child_at(r, i)->syncs)
                any = plain_inside(q, child_at(r, i++)) || any;
            if (any)
                VEC_PUSH(m->arena, q->nodes, ((node){.at = {r->scope, child_at(r, first), i - 1}, .first = first}));
            if (i < r->children.count)
                collect(q, child_at(r, i));
        }
        return;
    }
    if (r->kind == REGION_STEP && plain_inside(q, r))
        VEC_PUSH(m->arena, q->nodes, ((node){.at = {r->scope, r, r->index}, .first = r->index}));
    for (int i = 0; i < r->children.count; i++)
        collect(q, child_at(r, i));
}

static int_set *find_cells(races *q, const node *n, access_use use, bool *any) {
    model *m = q->m;
    const kernel_array *a = q->array;
    *any = n->alone && n->alone->use == use;
    if (n->alone)
        return *any ? spread_cells_of(m, n->alone) : NULL;
    int kind = use == ACCESS_WRITE ? SUMMARY_PLAIN_WRITE : SUMMARY_PLAIN_READ;
    region *r = n->at.region, *parent = r->parent;
    int_set *all = NULL;
    for (int i = n->first; i <= n->at.last; i++) {
        region *c = parent->children.at[i];
        if (!(c->touches[a->id] & (use == ACCESS_WRITE ? ACCESS_PLAIN_WRITE : ACCESS_PLAIN_READ)))
            continue;
        int_set *x = summary_of(m, c, a, kind);
        sets_question(m->sets);
        all = *any ? sets_union(m->sets, all, x) : x;
        *any = true;
    }
    return all ? sets_simplify(m->sets, all) : NULL;
}

/* *any: there are such accesses (the set is NULL where a question failed). */
static int_set *cells_in(races *q, node *n, access_use use, bool *any) {
    int i = use == ACCESS_WRITE;
    if (!n->known[i])
        n->cells[i] = find_cells(q, n, use, &n->any[i]);
    n->known[i] = n->cells[i] || !n->any[i]; /* no answer: to be asked again */
    *any = n->any[i];
    return n->cells[i];
}

/* ---- telling ---- */

static bool inside_node(const node *n, const place *p) {
    if (n->alone)
        return p == n->alone;
    for (const region *r = p->region; r; r = r->parent)
        if (r->parent == n->at.region->parent)
            return r->index >= n->first && r->index <= n->at.last;
    return false;
}

/* The place in the node that makes this access. */
static place *place_at(races *q, const node *n, access_use use, const int64_t *parameters, const int64_t *prefix,
                       const int64_t *cell) {
    model *m = q->m;
    sets *z = m->sets;
    for (int i = 0; i < m->places.count; i++) {
        place *p = m->places.at[i];
        if (p->array != q->array || p->use != use || !inside_node(n, p) ||
            (!n->alone && (p->asynchronous || p->atomic || p->collective || p->won)))
            continue;
        sets_question(z);
        int_set *x = plainly_scattered_dims(m, q->array) ? source_cells_of(m, p) : spread_cells_of(m, p);
        for (int j = 0; j < m->parameters.count; j++)
            x = sets_fix_parameter(z, x, j, parameters[j]);
        for (int j = 0; j < n->at.scope->depth; j++)
            x = sets_fix(z, x, j, prefix[j]);
        for (int j = 0; j < q->array->rank; j++)
            x = sets_fix(z, x, p->scope->depth + j, cell[j]);
        if (sets_is_empty(z, x) == TRI_NO)
            return p;
    }
    return NULL;
}

static void prefix_of(const model *m, const pair_space *s, const int64_t *dims, bool second, int64_t *prefix) {
    int t = m->task_dims, n = m->thread_dims, depth = (second ? s->b : s->a).scope->depth;
    for (int i = 0; i < depth; i++)
        prefix[i] = dims[i < t       ? (second ? s->tasks_b : 0) + i
                         : i < t + n ? (second ? s->threads_b : s->threads_a) + i - t
                                     : (second ? s->rest_b : s->rest_a) + i - t - n];
}

/* Of two accesses: fences with atomics, or atomics that order by themselves before one of the two. */
static bool uses_fences_and_atomics(const model *m, memory_space space, const place *x, const place *y) {
    bool fence = false, atomic = false;
    for (int i = 0; i < m->meetings.count; i++)
        fence = fence || (m->meetings.at[i].stmt->kind == KSTMT_FENCE && !m->meetings.at[i].stmt->proxy &&
                          (m->meetings.at[i].stmt->spaces & 1u << space));
    for (int i = 0; i < m->places.count; i++) {
        atomic = atomic || m->places.at[i]->atomic;
        fence =
            fence ||
            (m->places.at[i]->atomic && m->places.at[i]->stmt->ordered &&
             (region_may_precede(m->places.at[i]->region, x->region) || region_may_precede(m->places.at[i]->region, y->region)));
    }
    return fence && atomic;
}

static const char *access_words(const place *p) {
    if (!p)
        return "touched";
    if (p->asynchronous)
        return p->use == ACCESS_READ ? "read asynchronously" : "written asynchronously";
    return p->use == ACCESS_READ ? "read" : "written";
}

static const char *order_word(memory_space s) {
    return s == SPACE_GLOBAL ? "global" : "shared";
}

/* Keeps the least violation. */
static void keep(races *q, const pair_space *s, const node *a, const node *b, access_use use_a, access_use use_b, int_set *bad) {
    model *m = q->m;
    witness w = witness_of(m, bad, pair_names(m, s), s->dims);
    if (w.verdict == VERDICT_PROVED)
        return;
    if (w.verdict == VERDICT_UNKNOWN) {
        q->gave_up = true;
        return;
    }
    finding *f = &q->worst;
    if (f->found && f->verdict == VERDICT_REFUTED) {
        int n = m->parameters.count + m->task_dims;
        int order = 0;
        for (int i = 0; i < n && !order; i++)
            order = w.values[i] < f->w.values[i] ? -1 : w.values[i] > f->w.values[i];
        if (order >= 0)
            return;
    }
    int64_t *prefix = NEW_ARRAY(m->arena, int64_t, s->dims + 1);
    const int64_t *cell = w.dims + s->dims;
    prefix_of(m, s, w.dims, false, prefix);
    place *one = place_at(q, a, use_a, w.values, prefix, cell);
    prefix_of(m, s, w.dims, true, prefix);
    place *two = place_at(q, b, use_b, w.values, prefix, cell);
    const char *why = !one || !two ? "an access that was not found again" : NULL;
    bool related =
        !why && place_uses_data(m, one) && place_uses_data(m, two); /* some data would do for each; for both, it is not known */
    if (!why)
        why = place_imprecise(m, one, !related);
    if (!why)
        why = place_imprecise(m, two, !related);
    if (!why && ((use_a == ACCESS_READ && may_only_read(two)) || (use_b == ACCESS_READ && may_only_read(one))))
        why = EXCHANGE_MAY_ONLY_READ;
    if (!why && m->rings_why)
        why = m->rings_why;
    if (!why && m->flight_why)
        why = m->flight_why;
    if (!why && uses_fences_and_atomics(m, q->space, one, two))
        why = "order that fences and atomics may make";
    if (!why && one->collective && two->collective && one != two && one->holder == two->holder && !one->asynchronous)
        why = "which lanes hold the elements of a fragment";
    if (!why && q->chains_unknown)
        why = "order that several barriers of some threads may make together";
    if (why && f->found)
        return;
    const char *name = witness_cell(m, q->array, cell);
    const char *text = model_text(m, "race on %s: %s by one thread, %s by another, and nothing orders the two", name,
                                  access_words(one), access_words(two));
    if (one && two && one->asynchronous != two->asynchronous &&
        !memcmp(w.dims + s->threads_a, w.dims + s->threads_b, sizeof(int64_t) * (size_t)m->thread_dims))
        text = model_text(m, "race on %s: %s while it is %s", name, access_words(one->asynchronous ? two : one),
                          access_words(one->asynchronous ? one : two));
    *f = (finding){true, why ? VERDICT_UNKNOWN : VERDICT_REFUTED, w, text, why, NULL, one, two};
}

/* ---- asking ---- */

static bool exempt(const races *q, const node *a, const node *b) {
    /* products of one accumulator follow one another in the unit */
    if (q->array->space == SPACE_REGISTER && a->alone && b->alone && a->alone->matrix && b->alone->matrix)
        return true;
    if (winner_exempt(a->alone, b->alone) || winner_exempt(b->alone, a->alone))
        return true;
    for (int side = 0; side < 2; side++) { /* atomics that reach every thread of the task (of the block, for its own memory) */
        const place *p = (side ? b : a)->alone;
        if (!p || !p->atomic ||
            (p->atomic_scope != LEVEL_TASK && q->m->instance_dims[p->atomic_scope] > 0 && q->array->space != SPACE_SHARED))
            return false;
    }
    return true;
}

/* One access of all lanes of a holder is not a race with itself. */
static int_set *without_itself(races *q, const pair_space *s, const node *a, const node *b, int_set *x) {
    model *m = q->m;
    if (a->alone != b->alone || !a->alone || !a->alone->collective)
        return x;
    int_set *same = pair_same_thread(m, s, x, m->instance_dims[a->alone->holder]);
    for (int i = 0; s->rest_a + i < s->rest_b; i++)
        same = pair_equal(m, s, same, s->rest_a + i, s->rest_b + i);
    return sets_subtract(m->sets, x, same);
}

static void collect_places(races *q, node *n) {
    model *m = q->m;
    for (int i = 0; i < m->places.count; i++) {
        place *p = m->places.at[i];
        bool plain = !p->asynchronous && !p->atomic && !p->collective && !p->won;
        if (p->array == q->array && (p->use == ACCESS_READ || p->use == ACCESS_WRITE) && inside_node(n, p) && (n->alone || plain))
            VEC_PUSH(m->arena, n->places[p->use == ACCESS_WRITE], p);
    }
}

/* By thread id: whether two accesses of different threads in this id never touch one cell. */
static bool *ids_told(races *q, const node *a, const node *b, access_use use_a, access_use use_b, bool *all) {
    model *m = q->m;
    const place_list *x = &a->places[use_a == ACCESS_WRITE], *y = &b->places[use_b == ACCESS_WRITE];
    place **both = NEW_ARRAY(m->arena, place *, x->count + y->count + 1);
    bool *told = NEW_ARRAY(m->arena, bool, m->thread_dims + 1);
    for (int i = 0; i < x->count + y->count; i++)
        both[i] = i < x->count ? x->at[i] : y->at[i - x->count];
    *all = true;
    for (int d = 0; d < m->thread_dims; d++) {
        told[d] = m->thread_extents[d] < 2 ||
                  (!m->persistent && digits_tell(m, both, x->count + y->count, m->thread_ids[d], m->task_dims));
        *all = *all && told[d];
    }
    return told;
}

/* Different threads, id by id, lower and higher, in each case that the structure leaves open: whether none touches a cell that the other
 * touches. */
static bool apart_where_open(races *q, const pair_space *s, const node *a, const node *b, bool same, const open_case *open,
                             int cases, const bool *told, int_set *both) {
    model *m = q->m;
    stretch one = stretch_of(a), two = stretch_of(b);
    for (int i = 0; i < cases; i++) {
        if (same && open[i].direction < 0)
            continue;
        sets_question(m->sets);
        int_set *here = separated_case(m, s, &one, &two, &open[i], both);
        for (int d = 0; d < m->thread_dims; d++)
            for (int greater = 0; !told[d] && greater < (same && !open[i].direction ? 1 : 2); greater++) {
                sets_question(m->sets);
                int x = s->threads_a + d, y = s->threads_b + d;
                if (sets_is_empty(m->sets, sets_less(m->sets, here, greater ? y : x, greater ? x : y)) != TRI_YES)
                    return false;
            }
    }
    return true;
}

/* One access of one holder's lanes, in one trip of each loop, is all that touches a cell: not a race with itself. */
static bool once_a_cell(races *q, const node *a, const bool *told) {
    model *m = q->m;
    if (!a->alone || a->alone->asynchronous || m->persistent)
        return false;
    const scope *ids = a->at.scope;
    while (ids->depth > m->task_dims + m->thread_dims || ids->kind != SCOPE_ID)
        ids = ids->parent;
    for (int d = 0; d < (a->alone->collective ? m->instance_dims[a->alone->holder] : m->thread_dims); d++)
        if (!told[d])
            return false;
    return loops_told(m, a->alone, ids);
}

static void ask(races *q, node *a, node *b, access_use use_a, access_use use_b) {
    model *m = q->m;
    sets *z = m->sets;
    sets_question(z);
    m->why = NULL;
    bool first, second;
    bool rings = m->kernel->mbarriers.count > 0,
         asynchronous = (a->alone && a->alone->asynchronous) || (b->alone && b->alone->asynchronous);
    open_case open[MOST_OPEN_CASES];
    stretch one = stretch_of(a), two = stretch_of(b);
    int cases = asynchronous ? -1 : separated(m, &one, &two, q->space, open);
    if (!cases)
        return;
    bool all_told, *told = ids_told(q, a, b, use_a, use_b, &all_told);
    if (!a->places[use_a == ACCESS_WRITE].count || !b->places[use_b == ACCESS_WRITE].count || (all_told && !asynchronous))
        return;
    if (a == b && use_a == use_b && once_a_cell(q, a, told))
        return;
    if (asynchronous && a->alone && b->alone && q->array->space == SPACE_SHARED &&
        ordered_around(m, a->alone, b->alone, q->space, all_told))
        return;
    int_set *x = cells_in(q, a, use_a, &first), *y = first ? cells_in(q, b, use_b, &second) : NULL;
    if (!first || !second)
        return;
    sets_question(z);
    pair_space s = pair_of(m, a->at, b->at);
    int rank = q->array->rank;
    int_set *both = sets_intersect(z, pair_first(m, &s, x, rank), pair_second(m, &s, y, rank));
    both = q->array->space == SPACE_SHARED ? pair_same_block(m, &s, both) : both;
    if (m->persistent && q->array->space != SPACE_SHARED)
        for (int i = 0; i < m->task_dims; i++)
            both = pair_equal(m, &s, both, i, s.tasks_b + i);
    bool mine = q->array->space == SPACE_PRIVATE || q->array->space == SPACE_REGISTER;
    if (sets_is_empty(z, both) == TRI_YES)
        return;
    both = without_itself(q, &s, a, b, both);
    bool same = a == b && use_a == use_b;
    if (cases > 0 && !mine && apart_where_open(q, &s, a, b, same, open, cases, told, both))
        return;
    pair_space back = pair_of(m, b->at, a->at);
    bool full = asynchronous || rings;
    int_set *forth = full ? NULL : pair_ordered(m, &s, q->space), *other = full ? NULL : pair_ordered(m, &back, q->space);
    int *from = pair_back(m, &s, &back), n = m->thread_dims;
    if (full) {
        forth = flight_before(m, &s, a->alone, q->space);
        other = flight_before(m, &back, b->alone, q->space);
    }
    other = sets_remap(z, other, s.dims, from);
    sets_question(z);
    int_set *ordered = sets_insert(z, sets_simplify(z, sets_union(z, forth, other)), s.dims, rank), *chains = NULL;
    bool exact = true;
    for (int d = -1; d < n; d++) {
        if (d < 0 ? !asynchronous : (mine || told[d]))
            continue;
        for (int greater = 0; greater < (d < 0 || same ? 1 : 2); greater++) {
            sets_question(z);
            int_set *piece = both;
            if (d < 0) {
                piece = pair_same_thread(m, &s, piece, n);
                if (a == b) { /* one instance of the access */
                    int_set *self = piece;
                    for (int i = 0; s.rest_a + i < s.rest_b; i++)
                        self = pair_equal(m, &s, self, s.rest_a + i, s.rest_b + i);
                    piece = sets_subtract(z, piece, self);
                }
            } else {
                piece = sets_less(z, piece, (greater ? s.threads_b : s.threads_a) + d, (greater ? s.threads_a : s.threads_b) + d);
            }
            if (sets_is_empty(z, piece) == TRI_YES)
                continue;
            int_set *bad = sets_subtract(z, piece, ordered);
            tri none = sets_is_empty(z, bad);
            if (none == TRI_NO && barriers_are_partial(m)) { /* several barriers one after another may do it */
                if (!chains) {
                    chains = pair_chained(m, &s, q->space, &exact);
                    int_set *back_chains = sets_remap(z, pair_chained(m, &back, q->space, &exact), s.dims, from);
                    sets_question(z);
                    chains = sets_insert(z, sets_union(z, chains, back_chains), s.dims, rank);
                }
                sets_question(z);
                bad = sets_subtract(z, bad, chains);
                none = sets_is_empty(z, bad);
                q->chains_unknown = q->chains_unknown || !exact;
            }
            if (none == TRI_YES)
                continue;
            if (none == TRI_UNKNOWN)
                q->gave_up = true;
            else
                keep(q, &s, a, b, use_a, use_b, bad);
        }
    }
}

static void tell(races *q) {
    prover *p = q->p;
    const finding *f = &q->worst;
    const char *name = q->array->name;
    if (!f->found) {
        if (q->gave_up)
            prover_gave_up(p, name, q->array->span);
        else
            prover_proved(p, name, q->array->span);
        return;
    }
    source_span span = f->two ? f->two->span : q->array->span;
    if (f->verdict == VERDICT_UNKNOWN) {
        prover_unknown(p, name, span, f->w.text, f->why);
        return;
    }
    const char *mend = NULL;
    if (!f->one->asynchronous && !f->two->asynchronous)
        mend = model_text(q->m, "a `barrier block orders %s` between them orders them", order_word(q->space));
    prover_refuted(p, name, span, f->w.text, f->text, mend);
    if (f->one->span.line && f->one->span.line != f->two->span.line)
        prover_note(p, "line %d: %s here", f->one->span.line, access_words(f->one));
}

static void judge_array(prover *p, const kernel_array *a) {
    model *m = p->m;
    races q = {.p = p, .m = m, .array = a, .space = a->space};
    prover_start(p);
    collect(&q, m->root);
    for (int i = 0; i < m->places.count; i++) {
        place *x = m->places.at[i];
        if (x->array == a && !x->unordered && (x->asynchronous || x->atomic || x->collective || x->won))
            VEC_PUSH(m->arena, q.nodes, ((node){.at = place_position(x), .alone = x, .first = x->region->index}));
    }
    for (int i = 0; i < q.nodes.count; i++)
        collect_places(&q, &q.nodes.at[i]);
    for (int i = 0; i < q.nodes.count; i++)
        for (int j = 0; j <= i; j++) {
            node *x = &q.nodes.at[j], *y = &q.nodes.at[i];
            if (exempt(&q, x, y))
                continue;
            ask(&q, x, y, ACCESS_WRITE, ACCESS_WRITE);
            ask(&q, x, y, ACCESS_WRITE, ACCESS_READ);
            if (i != j)
                ask(&q, x, y, ACCESS_READ, ACCESS_WRITE);
        }
    tell(&q);
}

/* Local memory of one thread matters where an asynchronous unit works on it. */
static bool in_flight(const model *m, const kernel_array *a) {
    for (int i = 0; i < m->places.count; i++)
        if (m->places.at[i]->array == a && m->places.at[i]->asynchronous)
            return true;
    return false;
}

void judge_thread_races(prover *p) {
    model *m = p->m;
    for (int i = 0; i < m->kernel->arrays.count; i++) {
        const kernel_array *a = m->kernel->arrays.at[i];
        bool mine = a->space == SPACE_PRIVATE || a->space == SPACE_REGISTER;
        if (!model_touched(m, a, ACCESS_WRITE) || (m->object_of[a->id] && !model_is_object(m, a)) || a->space == SPACE_GHOST ||
            (mine && !in_flight(m, a)))
            continue;
        judge_array(p, a);
    }
}
