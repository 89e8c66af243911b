/* Initialised: every cell read was surely written before, by the same task. From a read outwards, what earlier statements and earlier
 * trips must have written is taken away; what remains at the task's start was never written. */
#include "prove/model.h"

static bool shared_by_threads(const kernel_array *a) {
    return a->space == SPACE_SHARED || a->space == SPACE_GLOBAL;
}

/* Whichever thread of the block has written them: that the write has happened before the read is for *race* to show. */
static int_set *by_any_thread(model *m, const kernel_array *a, int_set *x) {
    int block = a->space == SPACE_SHARED ? m->instance_dims[LEVEL_BLOCK] : 0, first = m->task_dims + block,
        count = m->thread_dims - block;
    if (!shared_by_threads(a) || !count)
        return x;
    return sets_insert(m->sets, sets_project(m->sets, x, first, count), first, count);
}

static bool in_tasks(const region *r) {
    while (r && !r->trips)
        r = r->parent;
    return r != NULL;
}

static int_set *written_by(model *m, region *earlier, const kernel_array *a, int dims, const region *reader) {
    int_set *x = by_any_thread(m, a, summary_of(m, earlier, a, SUMMARY_MUST_WRITE));
    if (m->persistent && in_tasks(reader) != in_tasks(earlier)) {
        if (in_tasks(earlier) || earlier->trips) /* the block may have run no task */
            return sets_empty(m->sets, dims + a->rank);
        if (a->space != SPACE_GLOBAL) /* each block does the same before its tasks */
            x = sets_insert(m->sets, sets_project(m->sets, x, 0, m->task_dims), 0, m->task_dims);
    }
    return sets_insert(m->sets, x, earlier->depth, dims - earlier->depth);
}

/* Cells that trips x' < x of the loop have written, over [.., x, cell]. */
static int_set *written_by_earlier_trips(model *m, region *loop, const kernel_array *a) {
    sets *z = m->sets;
    int d = loop->depth;
    int_set *body = by_any_thread(m, a, summary_of(m, loop->children.at[0], a, SUMMARY_MUST_WRITE));
    int_set *both = sets_insert(z, body, d, 1); /* [.., x, x', cell] */
    return sets_simplify(z, sets_project(z, sets_less(z, both, d + 1, d), d + 1, 1));
}

/* Most reads are covered by one earlier statement: try each alone before doing sums. */
static bool one_covers(model *m, place *p, int_set *cells) {
    for (region *r = p->region; r->parent && !r->tasks && !r->threads; r = r->parent)
        for (int i = r->index - 1; r->parent->kind == REGION_SEQUENCE && i >= 0; i--) {
            region *earlier = r->parent->children.at[i];
            if (!(earlier->touches[p->array->id] & ACCESS_WRITE))
                continue;
            sets_question(m->sets);
            if (sets_is_subset(m->sets, cells, written_by(m, earlier, p->array, p->scope->depth, p->region)) == TRI_YES)
                return true;
        }
    return false;
}

static int_set *never_written(model *m, place *p, int_set *cells) {
    sets *z = m->sets;
    int dims = p->scope->depth;
    for (region *r = p->region; r->parent && !r->tasks && !r->threads; r = r->parent) {
        region *outer = r->parent;
        for (int i = r->index - 1; outer->kind == REGION_SEQUENCE && i >= 0; i--)
            if (outer->children.at[i]->touches[p->array->id] & ACCESS_WRITE)
                cells = sets_subtract(z, cells, written_by(m, outer->children.at[i], p->array, dims, p->region));
        if (outer->kind == REGION_LOOP && !outer->tasks && !outer->threads && (outer->touches[p->array->id] & ACCESS_WRITE)) {
            int_set *x = written_by_earlier_trips(m, outer, p->array);
            cells = sets_subtract(z, cells, sets_insert(z, x, outer->depth + 1, dims - outer->depth - 1));
        }
        if (sets_is_empty(z, cells) == TRI_YES)
            break;
    }
    return cells;
}

/* The least violation found so far. */
typedef struct worst {
    place *at;
    witness w;
    place *open; /* a read that was neither proved nor refuted; NULL: none */
    const char *why, *when;
} worst;

static void judge_read(prover *p, place *at, worst *found) {
    model *m = p->m;
    const kernel_array *a = at->array;
    bool apart = a->space == SPACE_SHARED && (m->roles || m->kernel->mbarriers.count);
    if (!apart && (written_just_before(m, at) || written_together(m, at)))
        return;
    sets_question(m->sets);
    int_set *cells = cells_of(m, at);
    const between_kernels *earlier = prover_between(p, a);
    if (earlier)
        cells = sets_subtract(m->sets, cells, sets_insert(m->sets, earlier->written, 0, at->scope->depth));
    if (!apart && one_covers(m, at, cells))
        return;
    sets_question(m->sets);
    int_set *never = apart ? unwritten_before(m, at, cells) : never_written(m, at, cells);
    witness w = witness_of(m, never, scope_names(m, at->scope), at->scope->depth);
    if (w.verdict == VERDICT_PROVED)
        return;
    const char *why = place_imprecise(m, at, false);
    if (!why)
        why = array_unsure(m, a, ACCESS_WRITE);
    if (!why && apart && (m->rings_why || m->flight_why))
        why = m->rings_why ? m->rings_why : m->flight_why;
    if (!why && earlier)
        why = earlier->unsure;
    if (!why && a->use == USE_WORKSPACE && !earlier)
        why = "a workspace that another kernel may have written";
    if (w.verdict == VERDICT_REFUTED && !why) {
        if (!found->at || witness_is_less(m, &w, &found->w)) {
            found->at = at;
            found->w = w;
        }
    } else if (!found->open) {
        found->open = at;
        found->why = why;
        found->when = w.text;
    }
}

static void tell(prover *p, const kernel_array *a, const worst *found) {
    model *m = p->m;
    m->why = NULL;
    if (found->at)
        prover_refuted(p, a->name, found->at->span, found->w.text,
                       model_text(m, "this reads %s, which nothing has written yet",
                                  witness_cell(m, a, found->w.dims + found->at->scope->depth)),
                       NULL);
    else if (found->open && found->why)
        prover_unknown(p, a->name, found->open->span, found->when, found->why);
    else if (found->open)
        prover_gave_up(p, a->name, found->open->span);
    else
        prover_proved(p, a->name, a->span);
}

void judge_initialised(prover *p) {
    model *m = p->m;
    if (prover_beyond(p))
        return;
    for (int i = 0; i < m->kernel->arrays.count; i++) {
        const kernel_array *a = m->kernel->arrays.at[i];
        bool argument = a->space == SPACE_GLOBAL && (a->use == USE_IN || a->use == USE_UPDATE) && !a->unset &&
                        !prover_between(p, a);
        worst found = {0};
        if (argument || a->space == SPACE_GHOST || (m->object_of[a->id] && !model_is_object(m, a)) ||
            !model_touched(m, a, ACCESS_READ))
            continue;
        prover_start(p);
        for (int j = 0; j < m->places.count; j++)
            if (m->places.at[j]->array == a && m->places.at[j]->use == ACCESS_READ)
                judge_read(p, m->places.at[j], &found);
        tell(p, a, &found);
    }
}
