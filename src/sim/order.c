/* What orders accesses. Each thread keeps, for global and for shared memory separately, the latest moment of every agent that happened before
 * its next access (a vector clock). Agents are threads, the asynchronous copies of each, the matrix operations of each, and mbarrier slots, whose
 * moments are phases completed. Barriers, waits and fences carry such knowledge from thread to thread. */
#include "sim/machine.h"
#include <string.h>

/* ---- clocks ---- */
static uint32_t **new_clocks(arena *a, int orders, int components) {
    uint32_t **clocks = NEW_ARRAY(a, uint32_t *, orders);
    for (int i = 0; i < orders; i++)
        clocks[i] = NEW_ARRAY(a, uint32_t, SIM_SPACES * components);
    return clocks;
}

static void join(uint32_t *into, const uint32_t *from, int count) {
    for (int i = 0; i < count; i++)
        if (into[i] < from[i])
            into[i] = from[i];
}

static int first_fence_order(const sim_machine *m) {
    return m->program->uses_units ? 2 : 1;
}

/* Where clocks published by fences of this scope stand; -1: the program has none. */
static int fence_order(const sim_machine *m, level_kind scope) {
    int order = first_fence_order(m);
    if (!(m->program->fence_scopes & 1u << scope))
        return -1;
    for (int k = 0; k < (int)scope; k++)
        order += m->program->fence_scopes >> k & 1;
    return order;
}

static bool orders_space(unsigned spaces, int space) {
    return spaces & 1u << (space ? SPACE_SHARED : SPACE_GLOBAL);
}

void sim_later(sim_machine *m, sim_thread *t) {
    t->epoch++;
    for (int s = 0; s < SIM_SPACES; s++)
        t->clocks[0][s * m->group->components + t->number] = t->epoch;
    t->snapshot = NULL;
}

/* ---- other groups ---- */
static const uint32_t *foreign_clock(const sim_foreign *f, uint32_t group) {
    for (int i = 0; f && i < f->count; i++)
        if (f->groups[i] == group)
            return f->clocks[i];
    return NULL;
}

/* `clock` stays as it is and is kept; every group of a run has equally many components. */
static const sim_foreign *with_foreign(sim_machine *m, const sim_foreign *f, uint32_t group, const uint32_t *clock) {
    int components = m->group->components;
    sim_foreign *r = NEW(m->memory, sim_foreign);
    int count = f ? f->count : 0;
    r->groups = NEW_ARRAY(m->memory, uint32_t, count + 1);
    r->clocks = NEW_ARRAY(m->memory, const uint32_t *, count + 1);
    for (int i = 0; i < count; i++) {
        r->groups[i] = f->groups[i];
        r->clocks[i] = f->clocks[i];
        if (r->groups[i] == group) {
            uint32_t *both = NEW_ARRAY(m->memory, uint32_t, components);
            join(both, f->clocks[i], components);
            join(both, clock, components);
            r->clocks[i] = both;
            clock = NULL;
        }
    }
    r->count = count;
    if (clock) {
        r->groups[count] = group;
        r->clocks[count] = clock;
        r->count++;
    }
    return r;
}

static const sim_foreign *join_foreign(sim_machine *m, const sim_foreign *x, const sim_foreign *y) {
    if (!y || x == y)
        return x;
    if (!x)
        return y;
    for (int i = 0; i < y->count; i++)
        if (foreign_clock(x, y->groups[i]) != y->clocks[i])
            x = with_foreign(m, x, y->groups[i], y->clocks[i]);
    return x;
}

/* ---- groups ---- */
static void free_objects(sim_machine *m, sim_object *objects) {
    for (int i = 0; objects && i < m->kernel->arrays.count; i++)
        sim_free_object(&objects[i]);
}

static bool make_objects(sim_machine *m, sim_group *g, bool shared, sim_object **out) {
    const kernel_ir *k = m->kernel;
    *out = NEW_ARRAY(g->memory, sim_object, k->arrays.count);
    for (int i = 0; i < k->arrays.count; i++) {
        memory_space space = k->arrays.at[i]->space;
        bool wanted = shared ? space == SPACE_SHARED : space == SPACE_PRIVATE || space == SPACE_REGISTER;
        if (wanted && !k->arrays.at[i]->view_of && !sim_make_object(m, &m->arrays[i], true, &(*out)[i]))
            return false;
    }
    return true;
}

static void make_fragments(sim_machine *m, sim_group *g) {
    const kernel_ir *k = m->kernel;
    g->fragments = NEW_ARRAY(g->memory, sim_fragment *, k->fragments.count);
    for (int f = 0; f < k->fragments.count; f++) {
        const kernel_fragment *fragment = k->fragments.at[f];
        int count = g->thread_count / m->sizes[fragment->holder] * fragment->count, elements = fragment->rows * fragment->columns;
        g->fragments[f] = NEW_ARRAY(g->memory, sim_fragment, count);
        for (int i = 0; i < count; i++) {
            g->fragments[f][i].values = NEW_ARRAY(g->memory, sim_lane, elements);
            g->fragments[f][i].written = NEW_ARRAY(g->memory, uint8_t, elements);
        }
    }
}

static void make_agents(sim_machine *m, sim_group *g) {
    const sim_program *p = m->program;
    const kernel_ir *k = m->kernel;
    g->components = g->thread_count;
    g->copies_at = g->components;
    g->components += p->uses_copies ? g->thread_count : 0;
    g->matrix_at = g->components;
    g->components += p->uses_matrix ? g->thread_count : 0;
    g->mbarriers_at = g->components;
    g->mbarrier_first = NEW_ARRAY(g->memory, int, k->mbarriers.count);
    for (int i = 0; i < k->mbarriers.count; i++) {
        g->mbarrier_first[i] = g->mbarriers_per_block;
        g->mbarriers_per_block += k->mbarriers.at[i]->slots;
    }
    g->components += g->blocks * g->mbarriers_per_block;
    g->orders = first_fence_order(m);
    for (int k2 = 0; k2 <= LEVEL_LANE; k2++)
        g->orders += p->fence_scopes >> k2 & 1;
    g->mbarriers = NEW_ARRAY(g->memory, sim_mbarrier, g->blocks * g->mbarriers_per_block);
    for (int i = 0; i < g->blocks * g->mbarriers_per_block; i++) {
        g->mbarriers[i].gathering = new_clocks(g->memory, g->orders, g->components);
        g->mbarriers[i].complete = new_clocks(g->memory, g->orders, g->components);
    }
    for (int i = 0; i < 2; i++)
        g->least[i] = NEW_ARRAY(g->memory, uint32_t, SIM_SPACES * g->components);
    g->moments = NEW_ARRAY(g->memory, sim_moments *, 2 * g->thread_count);
}

static bool make_thread(sim_machine *m, sim_group *g, sim_thread *t, int number) {
    const kernel_ir *k = m->kernel;
    const sim_program *p = m->program;
    t->number = number;
    t->task = g->first_task;
    t->variables = NEW_ARRAY(g->memory, int64_t, p->variables);
    memcpy(t->variables, m->launch, sizeof *t->variables * (size_t)p->variables);
    int rest = number;
    for (int i = k->levels.count; i-- > 1;)
        for (int d = k->levels.at[i].rank; d-- > 0;) {
            int64_t extent = sim_integer_of(m, NULL, sim_compile_integer(g->memory, m->program, k->levels.at[i].extents[d]), -1);
            t->variables[p->id_variable[i][d]] = rest % extent;
            rest = (int)(rest / extent);
        }
    int64_t task = g->first_task;
    for (int d = k->levels.at[0].rank; !k->grid && d-- > 0;) {
        t->variables[p->id_variable[0][d]] = task % m->task_extents[d];
        task /= m->task_extents[d];
    }
    t->kept = NEW_ARRAY(g->memory, sim_lane, p->places);
    t->counters = NEW_ARRAY(g->memory, int64_t, p->counters);
    t->operand = NEW_ARRAY(g->memory, sim_lane, 2);
    t->clocks = new_clocks(g->memory, g->orders, g->components);
    sim_later(m, t);
    return make_objects(m, g, false, &t->objects);
}

bool sim_make_group(sim_machine *m, sim_group *g, uint32_t number, int64_t first_task) {
    const sim_program *p = m->program;
    memset(g, 0, sizeof *g);
    g->memory = arena_new();
    g->number = number;
    g->first_task = first_task;
    g->thread_count = m->threads;
    g->blocks = g->thread_count / m->sizes[LEVEL_BLOCK];
    m->group = g;
    m->group_bytes = 0;
    make_agents(m, g);
    /* clocks alone can be large: threads times agents */
    int64_t clocks = sim_multiply(sim_multiply(g->thread_count + 2 * g->blocks * g->mbarriers_per_block, g->orders),
                                  sim_multiply(8, g->components));
    m->group_bytes = clocks;
    if (clocks > m->options.byte_limit) {
        diag_error(m->diags, "E0710", m->kernel->span, "%d threads are more than the simulator's memory holds", g->thread_count);
        m->failed = m->stop = true;
        return false;
    }
    g->threads = NEW_ARRAY(g->memory, sim_thread, g->thread_count);
    g->shared = NEW_ARRAY(g->memory, sim_object *, g->blocks);
    g->arrived = NEW_ARRAY(g->memory, int *, p->meetings);
    g->arrivals = NEW_ARRAY(g->memory, int64_t, (int64_t)p->arrivals * g->thread_count + 1);
    for (int i = 0; i < p->code.count; i++)
        if (p->code.at[i].meeting >= 0)
            g->arrived[p->code.at[i].meeting] =
                NEW_ARRAY(g->memory, int, g->thread_count / m->sizes[p->code.at[i].meeting_scope]);
    for (int b = 0; b < g->blocks; b++)
        if (!make_objects(m, g, true, &g->shared[b]))
            return false;
    make_fragments(m, g);
    for (int i = 0; i < g->thread_count; i++)
        if (!make_thread(m, g, &g->threads[i], i))
            return false;
    return true;
}

void sim_free_group(sim_machine *m, sim_group *g) {
    for (int b = 0; g->shared && b < g->blocks; b++)
        free_objects(m, g->shared[b]);
    for (int i = 0; g->threads && i < g->thread_count; i++)
        free_objects(m, g->threads[i].objects);
    arena_free(g->memory);
    m->group = NULL;
    m->group_bytes = 0;
}

int sim_instance(const sim_machine *m, const sim_thread *t, level_kind scope) {
    return t->number / m->sizes[scope];
}

bool sim_covers(const sim_machine *m, level_kind scope, int thread, int other) {
    return scope == LEVEL_TASK || thread / m->sizes[scope] == other / m->sizes[scope];
}

/* ---- who accesses ---- */
sim_observer sim_observe(sim_machine *m, sim_thread *t, int instruction) {
    sim_observer by = {.group = m->group, .thread = t, .count = 1, .instruction = instruction};
    by.clock = t->clocks[0];
    by.proxied = m->program->uses_units ? t->clocks[1] : NULL;
    by.stamp.group = m->group->number;
    by.stamp.component = (uint32_t)t->number;
    by.stamp.epoch = t->epoch;
    by.stamp.thread = t->number;
    by.stamp.instruction = instruction;
    return by;
}

/* The moments of an operation of all lanes; the same record while nothing has moved on. */
static sim_moments *moments_of(sim_machine *m, sim_thread *first, int count, int component, bool matrix) {
    sim_moments **last = &m->group->moments[2 * first->number + matrix];
    bool same = *last && (*last)->count == count;
    for (int i = 0; same && i < count; i++)
        same = (*last)->epochs[i] == (matrix ? first[i].matrix_committed + 1 : first[i].epoch);
    if (same)
        return *last;
    sim_moments *moments = arena_alloc(m->memory, sizeof *moments + sizeof moments->epochs[0] * (size_t)count);
    moments->component = component;
    moments->count = count;
    for (int i = 0; i < count; i++)
        moments->epochs[i] = matrix ? first[i].matrix_committed + 1 : first[i].epoch;
    return *last = moments;
}

sim_observer sim_observe_together(sim_machine *m, sim_thread *first, int count, int instruction) {
    sim_observer by = sim_observe(m, first, instruction);
    if (count == 1)
        return by;
    sim_group *g = m->group;
    int size = SIM_SPACES * g->components;
    for (int order = 0; order < (by.proxied ? 2 : 1); order++) {
        memcpy(g->least[order], first->clocks[order], sizeof(uint32_t) * (size_t)size);
        for (int i = 1; i < count; i++)
            for (int c = 0; c < size; c++)
                if (g->least[order][c] > first[i].clocks[order][c])
                    g->least[order][c] = first[i].clocks[order][c];
    }
    by.count = count;
    by.clock = g->least[0];
    by.proxied = by.proxied ? g->least[1] : NULL;
    by.stamp.moments = moments_of(m, first, count, first->number, false);
    return by;
}

sim_observer sim_observe_copy(sim_machine *m, sim_thread *t, int instruction) {
    sim_observer by = sim_observe(m, t, instruction);
    by.stamp.component = (uint32_t)(m->group->copies_at + t->number);
    by.stamp.epoch = t->copies_committed + 1;
    by.stamp.asynchronous = by.stamp.unit = 1;
    return by;
}

/* By any of the block's threads: after what all of them know of. It ends with the first one's groups, which are those of all. */
sim_observer sim_observe_block_copy(sim_machine *m, sim_thread *first, int count, int instruction) {
    sim_observer by = sim_observe_together(m, first, count, instruction);
    by.stamp.component = (uint32_t)(m->group->copies_at + first->number);
    by.stamp.epoch = first->copies_committed + 1;
    by.stamp.moments = NULL;
    by.stamp.asynchronous = 1;
    return by;
}

sim_observer sim_observe_signal(sim_machine *m, sim_thread *t, int instruction, int index) {
    sim_mbarrier *b = &m->group->mbarriers[index];
    sim_observer by = sim_observe_copy(m, t, instruction);
    by.stamp.component = (uint32_t)(m->group->mbarriers_at + index);
    by.stamp.epoch = (uint32_t)(b->phase + 1);
    if (b->pending_count == b->pending_capacity) {
        int capacity = b->pending_capacity;
        b->pending_thread =
            arena_grow(m->group->memory, b->pending_thread, b->pending_count, &capacity, sizeof *b->pending_thread);
        capacity = b->pending_capacity;
        b->pending_epoch = arena_grow(m->group->memory, b->pending_epoch, b->pending_count, &capacity, sizeof *b->pending_epoch);
        capacity = b->pending_capacity;
        b->pending_instruction =
            arena_grow(m->group->memory, b->pending_instruction, b->pending_count, &capacity, sizeof *b->pending_instruction);
        b->pending_capacity = capacity;
    }
    b->pending_thread[b->pending_count] = t->number;
    b->pending_epoch[b->pending_count] = t->epoch;
    b->pending_instruction[b->pending_count++] = instruction;
    return by;
}

sim_observer sim_observe_matrix(sim_machine *m, sim_thread *first, int count, int instruction) {
    sim_observer by = sim_observe_together(m, first, count, instruction);
    by.stamp.component = (uint32_t)(m->group->matrix_at + first->number);
    by.stamp.epoch = first->matrix_committed + 1;
    by.stamp.moments = count > 1 ? moments_of(m, first, count, (int)by.stamp.component, true) : NULL;
    by.stamp.asynchronous = by.stamp.unit = 1;
    return by;
}

static bool reaches(const sim_stamp *s, const uint32_t *clock) {
    if (!s->moments)
        return clock[s->component] >= s->epoch;
    for (int i = 0; i < s->moments->count; i++)
        if (clock[s->component + (uint32_t)i] < s->moments->epochs[i])
            return false;
    return true;
}

bool sim_ordered(sim_machine *m, const sim_stamp *s, const sim_observer *by, int order, int space) {
    (void)m;
    if (!s->group)
        return true;
    if (s->group != by->group->number) {
        for (int i = 0; i < by->count; i++) {
            const uint32_t *clock = space ? NULL : foreign_clock(by->thread[i].foreign, s->group);
            if (!clock || !reaches(s, clock))
                return false;
        }
        return true;
    }
    /* one element of fragments of one shape stays with one lane, whose own order counts */
    if (s->share && s->share == by->stamp.share && s->component == by->stamp.component && s->moments && by->stamp.moments &&
        s->moments->count == by->stamp.moments->count)
        return true;
    return reaches(s, (order ? by->proxied : by->clock) + space * by->group->components);
}

/* ---- barriers, fences, atomics ---- */
void sim_barrier(sim_machine *m, sim_thread **participants, int count, unsigned spaces) {
    sim_group *g = m->group;
    for (int order = 0; order < g->orders; order++)
        for (int space = 0; space < SIM_SPACES; space++) {
            if (!orders_space(spaces, space))
                continue;
            uint32_t *all = participants[0]->clocks[order] + space * g->components;
            for (int i = 1; i < count; i++)
                join(all, participants[i]->clocks[order] + space * g->components, g->components);
            for (int i = 1; i < count; i++)
                memcpy(participants[i]->clocks[order] + space * g->components, all, sizeof *all * (size_t)g->components);
        }
    if (orders_space(spaces, 0)) {
        const sim_foreign *foreign = NULL, *published = NULL;
        for (int i = 0; i < count; i++) {
            foreign = join_foreign(m, foreign, participants[i]->foreign);
            published = join_foreign(m, published, participants[i]->published);
        }
        for (int i = 0; i < count; i++) {
            participants[i]->foreign = foreign;
            participants[i]->published = published;
        }
    }
    for (int i = 0; i < count; i++)
        sim_later(m, participants[i]);
}

/* Takes up what atomics of this thread have seen others publish. */
static void take_up(sim_machine *m, sim_thread *t, const kernel_stmt *fence) {
    sim_group *g = m->group;
    int kept = 0;
    for (int i = 0; i < t->pending_count; i++) {
        sim_release *r = t->pending[i];
        bool same_group = r->group == g->number;
        if (same_group ? !sim_covers(m, fence->scope, t->number, r->thread) : fence->scope != LEVEL_TASK) {
            t->pending[kept++] = r;
            continue;
        }
        int index = 0;
        for (int scope = 0; scope <= LEVEL_LANE; scope++) {
            if (!(m->program->fence_scopes >> scope & 1))
                continue;
            const uint32_t *clock = r->clocks[index++];
            if (same_group && sim_covers(m, (level_kind)scope, t->number, r->thread)) {
                for (int space = 0; space < SIM_SPACES; space++)
                    if (orders_space(fence->spaces, space))
                        join(t->clocks[0] + space * g->components, clock + space * g->components, g->components);
            } else if (!same_group && scope == LEVEL_TASK && orders_space(fence->spaces, 0)) {
                t->foreign = with_foreign(m, t->foreign, r->group, clock);
                t->foreign = join_foreign(m, t->foreign, r->foreign);
            }
        }
    }
    t->pending_count = kept;
}

void sim_fence(sim_machine *m, sim_thread *t, const kernel_stmt *s) {
    sim_group *g = m->group;
    int order = fence_order(m, s->scope);
    take_up(m, t, s);
    for (int space = 0; space < SIM_SPACES; space++) {
        if (!orders_space(s->spaces, space))
            continue;
        if (order >= 0)
            join(t->clocks[order] + space * g->components, t->clocks[0] + space * g->components, g->components);
        if (s->proxy && m->program->uses_units)
            join(t->clocks[1] + space * g->components, t->clocks[0] + space * g->components, g->components);
    }
    if (s->scope == LEVEL_TASK && orders_space(s->spaces, 0))
        t->published = join_foreign(m, t->published, t->foreign);
    sim_later(m, t);
}

static bool has_published(const sim_machine *m, const sim_thread *t) {
    for (int order = first_fence_order(m); order < m->group->orders; order++)
        for (int i = 0; i < SIM_SPACES * m->group->components; i++)
            if (t->clocks[order][i])
                return true;
    return false;
}

void sim_atomic_order(sim_machine *m, sim_thread *t, sim_cell *c, level_kind scope, bool stores) {
    sim_group *g = m->group;
    if (!m->program->fence_scopes)
        return;
    for (sim_release *r = c->releases; r; r = r->next) {
        bool same_group = r->group == g->number, known = same_group && r->thread == t->number;
        if (same_group ? !sim_covers(m, scope, t->number, r->thread) || !sim_covers(m, r->atomic_scope, t->number, r->thread)
                       : scope != LEVEL_TASK || r->atomic_scope != LEVEL_TASK)
            continue;
        for (int i = 0; i < t->pending_count && !known; i++)
            known = t->pending[i] == r;
        if (known)
            continue;
        if (t->pending_count == t->pending_capacity)
            t->pending = arena_grow(g->memory, t->pending, t->pending_count, &t->pending_capacity, sizeof *t->pending);
        t->pending[t->pending_count++] = r;
    }
    if (!stores)
        return;
    if (!t->snapshot) {
        if (!has_published(m, t))
            return;
        int first = first_fence_order(m);
        t->snapshot = new_clocks(m->memory, g->orders - first, g->components);
        for (int order = first; order < g->orders; order++)
            memcpy(t->snapshot[order - first], t->clocks[order], sizeof(uint32_t) * (size_t)(SIM_SPACES * g->components));
    }
    sim_release *mine = NEW(m->memory, sim_release);
    mine->group = g->number;
    mine->thread = t->number;
    mine->atomic_scope = scope;
    mine->clocks = t->snapshot;
    mine->foreign = t->published;
    sim_release **link = &c->releases;
    while (*link && ((*link)->group != mine->group || (*link)->thread != mine->thread))
        link = &(*link)->next;
    mine->next = *link ? (*link)->next : NULL; /* an earlier release of the same thread says less */
    *link = mine;
}

/* ---- groups of asynchronous operations ---- */
void sim_commit(sim_machine *m, sim_thread *t, bool matrix) {
    (void)m;
    (*(matrix ? &t->matrix_committed : &t->copies_committed))++;
}

void sim_wait_async(sim_machine *m, sim_thread *t, int issuer, bool matrix, int64_t left) {
    sim_group *g = m->group;
    uint32_t committed = matrix ? t->matrix_committed : t->copies_committed, *done = matrix ? &t->matrix_done : &t->copies_done;
    if ((int64_t)committed > left && committed - (uint32_t)left > *done)
        *done = committed - (uint32_t)left;
    for (int space = 0; space < SIM_SPACES; space++)
        for (int order = 0; order < (matrix && m->program->uses_units ? 2 : 1);
             order++) /* a unit sees copies by threads after a fence */
            t->clocks[order][space * g->components + (matrix ? g->matrix_at : g->copies_at) + issuer] = *done;
}

/* ---- mbarriers ---- */
int sim_mbarrier_index(sim_machine *m, sim_thread *t, int instruction) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const kernel_mbarrier *b = m->kernel->mbarriers.at[i->mbarrier];
    int64_t slot;
    if (!sim_evaluate_integer(m, t, i->slot, instruction, &slot))
        return -1;
    if (slot < 0 || slot >= b->slots) {
        sim_report_finding(m, SIM_BOUNDS, t, instruction, NULL, b->name, "`%s[%lld]` is outside: `%s` has %d slots", b->name,
                           (long long)slot, b->name, b->slots);
        return -1;
    }
    return sim_instance(m, t, LEVEL_BLOCK) * m->group->mbarriers_per_block + m->group->mbarrier_first[i->mbarrier] + (int)slot;
}

static void complete_phase(sim_machine *m, sim_mbarrier *b, int index) {
    sim_group *g = m->group;
    for (int i = 0; i < b->pending_count; i++) {
        int thread = b->pending_thread[i];
        if (b->gathering[0][thread] < b->pending_epoch[i] && b->gathering[0][g->components + thread] < b->pending_epoch[i])
            sim_report_finding(m, SIM_ASYNC, &g->threads[thread], b->pending_instruction[i], NULL, NULL,
                               "phase %lld may complete before this copy is issued: no arrival comes after it",
                               (long long)b->phase);
    }
    b->pending_count = 0;
    b->phase++;
    b->arrived = 0;
    for (int order = 0; order < g->orders; order++) {
        join(b->complete[order], b->gathering[order], SIM_SPACES * g->components);
        memset(b->gathering[order], 0, sizeof(uint32_t) * (size_t)(SIM_SPACES * g->components));
        for (int space = 0; order < 2 && space < SIM_SPACES; space++)
            b->complete[order][space * g->components + g->mbarriers_at + index] = (uint32_t)b->phase;
    }
    b->complete_foreign = join_foreign(m, b->complete_foreign, b->gathering_foreign);
    b->gathering_foreign = NULL;
}

/* All arrivals of a turn count for one phase: a phase neither completes without some participant nor takes one twice. */
static void check_turn(sim_machine *m, sim_thread *t, sim_mbarrier *b, int instruction) {
    sim_group *g = m->group;
    sim_turns *x = b->turns;
    while (x && x->instruction != instruction)
        x = x->next;
    if (!x) {
        x = NEW(g->memory, sim_turns);
        x->instruction = instruction;
        x->made = NEW_ARRAY(g->memory, int32_t, g->thread_count);
        x->next = b->turns;
        b->turns = x;
    }
    int32_t turn = x->made[t - g->threads]++;
    if (turn < x->count) {
        const char *name = m->kernel->mbarriers.at[m->program->code.at[instruction].mbarrier]->name;
        if (x->phases[turn] != b->phase)
            sim_report_finding(m, SIM_STUCK, t, instruction, NULL, name,
                               "this arrival counts for phase %lld of `%s`, another participant's for phase %lld",
                               (long long)b->phase, name, (long long)x->phases[turn]);
        return;
    }
    if (x->count == x->capacity) {
        int capacity = x->capacity;
        x->phases = arena_grow(g->memory, x->phases, x->count, &capacity, sizeof *x->phases);
        x->capacity = capacity;
    }
    x->phases[x->count++] = b->phase;
}

void sim_arrive(sim_machine *m, sim_thread *t, int index, int instruction) {
    sim_group *g = m->group;
    sim_mbarrier *b = &g->mbarriers[index];
    check_turn(m, t, b, instruction);
    for (int order = 0; order < g->orders; order++)
        join(b->gathering[order], t->clocks[order], SIM_SPACES * g->components);
    b->gathering_foreign = join_foreign(m, b->gathering_foreign, t->foreign);
    sim_later(m, t);
    if (++b->arrived >= m->kernel->mbarriers.at[m->program->code.at[instruction].mbarrier]->arrivals)
        complete_phase(m, b, index);
}

bool sim_wait(sim_machine *m, sim_thread *t, int index, int64_t phase, int instruction) {
    sim_group *g = m->group;
    sim_mbarrier *b = &g->mbarriers[index];
    const char *name = m->kernel->mbarriers.at[m->program->code.at[instruction].mbarrier]->name;
    if (phase < -1)
        sim_report_finding(m, SIM_STUCK, t, instruction, NULL, name, "there is no phase %lld", (long long)phase);
    else if (b->phase - phase >= 2)
        sim_report_finding(
            m, SIM_STUCK, t, instruction, NULL, name,
            "phase %lld of `%s` is waited for while phase %lld is current: a target that keeps the phase's parity would wait on",
            (long long)phase, name, (long long)b->phase);
    else if (phase > b->phase)
        sim_report_finding(
            m, SIM_STUCK, t, instruction, NULL, name,
            "phase %lld of `%s` is waited for while phase %lld is current: a target that keeps the phase's parity would not wait",
            (long long)phase, name, (long long)b->phase);
    if (b->phase <= phase)
        return false;
    for (int order = 0; order < g->orders; order++)
        join(t->clocks[order], b->complete[order], SIM_SPACES * g->components);
    t->foreign = join_foreign(m, t->foreign, b->complete_foreign);
    t->snapshot = NULL;
    return true;
}
