/* Memory: every access checked against its dimensions, against what was written, and against the accesses of others. */
#include "sim/machine.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Counts bytes toward the limit; false, reported, beyond it. */
static bool hold(sim_machine *m, memory_space space, int64_t bytes) {
    int64_t *held = space == SPACE_GLOBAL ? &m->bytes : &m->group_bytes;
    *held = sim_add(*held, bytes);
    if (sim_add(m->bytes, m->group_bytes) <= m->options.byte_limit)
        return true;
    if (!m->failed)
        diag_error(m->diags, "E0710", m->kernel->span, "`%s` needs more than the %lld bytes that the simulation may hold",
                   m->kernel->name, (long long)m->options.byte_limit);
    m->failed = m->stop = true;
    return false;
}

bool sim_make_object(sim_machine *m, const sim_array *a, bool tracked, sim_object *out) {
    int64_t grain = a->width;
    for (int i = 0; i < m->kernel->arrays.count; i++) { /* its views may be finer */
        const sim_array *view = &m->arrays[i];
        if (view->root == a->source->id && view != a && view->source->space == a->source->space)
            grain = ix_gcd(grain, ix_gcd(view->width, view->view_offset ? view->view_offset : view->width));
    }
    out->size = sim_multiply(a->storage, a->width);
    out->grain = (int)grain;
    out->space = a->source->space;
    out->is_output = a->source->use == USE_OUT;
    int64_t held = out->size, cells = out->size / grain;
    if (tracked)
        held = sim_add(held, sim_multiply(cells, (int64_t)sizeof(sim_cell)));
    if (!hold(m, out->space, held)) {
        out->size = 0;
        return false;
    }
    out->bytes = calloc((size_t)(out->size ? out->size : 1), 1);
    out->cells = tracked ? calloc((size_t)(cells ? cells : 1), sizeof(sim_cell)) : NULL;
    if (!out->bytes || (tracked && !out->cells)) {
        diag_error(m->diags, "E0710", a->source->span, "no memory for `%s`", a->source->name);
        sim_free_object(out);
        m->failed = m->stop = true;
        return false;
    }
    return true;
}

void sim_free_object(sim_object *o) {
    for (int64_t i = 0; o->cells && i < o->size / o->grain; i++)
        free(o->cells[i].others);
    free(o->cells);
    free(o->bytes);
    memset(o, 0, sizeof *o);
}

sim_object *sim_object_of(sim_machine *m, sim_thread *t, const sim_array *a) {
    switch (a->source->space) {
    case SPACE_GLOBAL: return &m->globals[a->root];
    case SPACE_SHARED: return &m->group->shared[sim_instance(m, t, LEVEL_BLOCK)][a->root];
    default: return &t->objects[a->root];
    }
}

sim_lane sim_read_unit(const sim_array *a, const sim_object *o, int64_t unit, int within) {
    const unsigned char *at = o->bytes + a->view_offset + unit * a->width;
    sim_lane x = {.i = 0};
    if (a->width == 8) { /* integers that no double holds */
        memcpy(&x.i, at, 8);
        return x;
    }
    double value = element_load(a->source->element, at, within);
    if (sim_is_float(a->source->element))
        x.f = value;
    else
        x.i = (int64_t)value;
    return x;
}

void sim_write_unit(const sim_array *a, sim_object *o, int64_t unit, sim_lane value) {
    unsigned char *at = o->bytes + a->view_offset + unit * a->width;
    if (a->width == 8)
        memcpy(at, &value.i, 8);
    else
        element_store(a->source->element, at, 0, sim_is_float(a->source->element) ? value.f : (double)value.i);
}

/* ---- what is known of a cell ---- */
static int space_of(const sim_object *o) {
    return o->space == SPACE_SHARED;
}

static void race(sim_machine *m, const sim_observer *by, const sim_stamp *before, bool write, const sim_array *a,
                 const int64_t *cell, int space) {
    const char *name = sim_cell_name(m, a, cell);
    const char *hint = "";
    if (before->group == by->group->number && sim_ordered(m, before, by, 0, !space))
        hint = space ? "; what orders the two orders global memory alone" : "; what orders the two orders shared memory alone";
    sim_report_finding(m, SIM_RACE, by->thread, by->instruction, before, a->source->name,
                       "%s is %s%s while nothing orders it after %s%s", name, write ? "written" : "read",
                       by->stamp.asynchronous ? " asynchronously" : "",
                       before->asynchronous ? (before->write ? "an asynchronous write" : "an asynchronous read")
                       : before->write      ? "the other write"
                                            : "the other read",
                       hint);
}

static bool same_agent(const sim_stamp *x, const sim_stamp *y) {
    if (x->group != y->group || x->component != y->component || x->write != y->write || x->atomic != y->atomic ||
        x->unit != y->unit || x->share != y->share)
        return false;
    return x->moments == y->moments || (x->moments && y->moments && x->moments->count == y->moments->count);
}

static void remember(sim_machine *m, const sim_object *o, sim_cell *c, const sim_stamp *s) {
    for (int i = 0; i < c->other_count; i++)
        if (same_agent(&c->others[i], s)) {
            c->others[i] = *s; /* the later moment of one agent says all */
            return;
        }
    if (c->other_count == c->other_capacity) {
        size_t capacity = c->other_capacity ? 2u * c->other_capacity : 2u;
        sim_stamp *larger = capacity <= UINT16_MAX ? realloc(c->others, capacity * sizeof *larger) : NULL;
        if (!larger || !hold(m, o->space, (int64_t)((capacity - c->other_capacity) * sizeof *larger))) {
            if (!larger && !m->failed)
                diag_error(m->diags, "E0710", m->kernel->span, "too many threads touch one cell for the simulator's memory");
            c->others = larger ? larger : c->others;
            m->failed = m->stop = true;
            return;
        }
        c->others = larger;
        c->other_capacity = (uint16_t)capacity;
    }
    c->others[c->other_count++] = *s;
}

/* Two atomics whose scopes reach each other's thread do not race. */
static bool both_atomic(sim_machine *m, const sim_stamp *before, const sim_observer *by, level_kind scope) {
    if (!before->atomic)
        return false;
    level_kind other = (level_kind)(before->atomic - 1);
    if (before->group != by->group->number)
        return other == LEVEL_TASK && scope == LEVEL_TASK;
    return sim_covers(m, other, before->thread, by->thread->number) && sim_covers(m, scope, before->thread, by->thread->number);
}

/* The ordering questions of one access to one grain. */
static void judge_order(sim_machine *m, const sim_observer *by, sim_object *o, sim_cell *c, const sim_array *a,
                        const int64_t *cell, sim_use use, level_kind scope) {
    int space = space_of(o);
    bool atomic = use == SIM_UPDATE || use == SIM_LOOK || use == SIM_PUT, write = use != SIM_READ && use != SIM_LOOK;
    const sim_stamp *w = &c->writer;
    if (w->group) {
        if (!sim_ordered(m, w, by, 0, space)) {
            race(m, by, w, write, a, cell, space);
        } else if (by->stamp.unit && (!w->unit || (w->unit == SIM_UNIT_OF_THREADS && by->stamp.unit == 1 && !write)) &&
                   w->group == by->group->number && !sim_ordered(m, w, by, 1, space)) {
            sim_report_finding(m, SIM_ASYNC, by->thread, by->instruction, w, a->source->name,
                               "an asynchronous unit %s %s, which %s wrote with no `fence ... proxy` in between",
                               write ? "overwrites" : "reads", sim_cell_name(m, a, cell),
                               w->unit ? "a copy by the threads" : "an ordinary store");
        }
    }
    for (int i = 0; i < c->other_count; i++) {
        const sim_stamp *s = &c->others[i];
        if (!write && !s->write)
            continue;
        if (atomic && both_atomic(m, s, by, scope))
            continue;
        if (!sim_ordered(m, s, by, 0, space)) {
            race(m, by, s, write, a, cell, space);
            break;
        }
    }
    sim_stamp stamp = by->stamp;
    stamp.write = write;
    stamp.atomic = atomic ? (uint8_t)(1 + scope) : 0;
    if (use == SIM_WRITE || use == SIM_MODIFY) {
        c->writer = stamp;
        c->other_count = 0;
        c->releases = NULL;
    } else {
        remember(m, o, c, &stamp);
    }
}

static void out_of_bounds(sim_machine *m, const sim_observer *by, const sim_array *a, const int64_t *cell, int d) {
    sim_report_finding(m, SIM_BOUNDS, by->thread, by->instruction, NULL, a->source->name,
                       "%s is outside: dimension %d of `%s` has %lld cells", sim_cell_name(m, a, cell), d, a->source->name,
                       (long long)a->dims[d]);
}

bool sim_touch(sim_machine *m, const sim_observer *by, const sim_array *a, const int64_t *cell, int lane, sim_use use,
               level_kind scope, int64_t *unit, sim_object **object) {
    for (int d = 0; d < a->source->rank; d++)
        if (cell[d] < 0 || cell[d] >= a->dims[d]) {
            out_of_bounds(m, by, a, cell, d);
            return false;
        }
    int within = by->instruction >= 0 ? m->program->code.at[by->instruction].within : 0;
    if (within && !sim_within_contract(m, by->thread, &m->program->code.at[within - 1], within - 1, a, cell, use))
        sim_report_finding(m, SIM_CONTRACT, by->thread, by->instruction, NULL, a->source->name,
                           "%s is %s, outside the contract of `%s`", sim_cell_name(m, a, cell),
                           use == SIM_READ || use == SIM_LOOK ? "read" : "written", m->program->code.at[within - 1].stmt->name);
    sim_object *o = *object = sim_object_of(m, by->thread, a);
    *unit = sim_unit_of(a, cell);
    if (a->source->lanes > 1)
        *unit = *unit * a->source->lanes + lane;
    if (*unit < 0 || *unit >= a->storage || a->view_offset + (*unit + 1) * a->width > o->size) {
        sim_report_finding(m, SIM_BOUNDS, by->thread, by->instruction, NULL, a->source->name,
                           "%s lies outside the storage of `%s`", sim_cell_name(m, a, cell), a->source->name);
        return false;
    }
    if (m->options.index_bits == 32 && *unit > INT32_MAX)
        sim_report_finding(m, SIM_OVERFLOW, by->thread, by->instruction, NULL, a->source->name,
                           "the offset of %s, %lld, does not fit 32 bits", sim_cell_name(m, a, cell), (long long)*unit);
    if (!o->cells)
        return true; /* an input: all written before, and never again */
    int64_t first = (a->view_offset + *unit * a->width) / o->grain, count = (a->width + o->grain - 1) / o->grain;
    for (int64_t i = first; i < first + count; i++) {
        sim_cell *c = &o->cells[i];
        if (use != SIM_WRITE && use != SIM_PUT && !c->written) {
            sim_report_finding(m, SIM_UNWRITTEN, by->thread, by->instruction, NULL, a->source->name,
                               "%s is read, but nothing has written it", sim_cell_name(m, a, cell));
            c->written = 1; /* once is enough */
        }
        sim_stamp before = c->writer;
        if (o->space == SPACE_GLOBAL || o->space == SPACE_SHARED || m->program->uses_units)
            judge_order(m, by, o, c, a, cell, use, scope);
        if (use == SIM_WRITE || use == SIM_MODIFY) {
            if (o->is_output && c->writes)
                sim_report_finding(m, SIM_TWICE, by->thread, by->instruction, &before, a->source->name,
                                   "%s is written a second time", sim_cell_name(m, a, cell));
            c->written = 1;
            if (c->writes < 2)
                c->writes++;
        }
        if (use == SIM_PUT)
            c->written = 1;
        if (use == SIM_UPDATE || use == SIM_LOOK || use == SIM_PUT)
            sim_atomic_order(m, by->thread, c, scope, use != SIM_LOOK);
    }
    return true;
}

/* The cell at which lane l of an access stands. */
static void lane_cell(const sim_access *access, const int64_t *first, int lane, int64_t *cell) {
    memcpy(cell, first, sizeof *cell * (size_t)access->array->rank);
    if (access->vector_dim >= 0 && access->lanes > 1)
        cell[access->vector_dim] = sim_add(cell[access->vector_dim], lane);
}

static int64_t active_lanes(sim_machine *m, sim_thread *t, const sim_access *access, int instruction, int64_t *first) {
    for (int d = 0; d < access->array->rank; d++)
        if (!sim_evaluate_integer(m, t, access->indices[d], instruction, &first[d]))
            return 0;
    int64_t active = access->lanes, wanted;
    if (access->active)
        active = sim_evaluate_integer(m, t, access->active, instruction, &wanted) && wanted < active ? wanted : active;
    return active;
}

/* The address of an aligned vector's first lane, from an array's base, which is as aligned as `align` says; its mask takes every lane or none. */
static void check_aligned(sim_machine *m, const sim_observer *by, const sim_access *access, const sim_array *a,
                          const int64_t *cell, int64_t active) {
    int64_t place = a->view_offset + sim_unit_of(a, cell) * a->width,
            bytes = kernel_aligned_lanes(access->source->array, access->source->lanes) * a->width;
    if (place % bytes)
        sim_report_finding(m, SIM_ALIGNMENT, by->thread, by->instruction, NULL, a->source->name,
                           "%s stands %lld bytes into `%s`, which is no multiple of %lld", sim_cell_name(m, a, cell),
                           (long long)place, a->source->name, (long long)bytes);
    else if (active < access->source->lanes)
        sim_report_finding(m, SIM_ALIGNMENT, by->thread, by->instruction, NULL, a->source->name,
                           "%s begins an aligned vector of which a mask takes %lld lanes of %d", sim_cell_name(m, a, cell),
                           (long long)active, access->source->lanes);
}

void sim_load(sim_machine *m, sim_thread *t, const sim_observer *by, const sim_access *access, sim_lane *out) {
    const sim_array *a = &m->arrays[access->array->id];
    int64_t first[16], cell[16], unit, active = active_lanes(m, t, access, by->instruction, first);
    int block = element_table[a->source->element].block_elements;
    for (int l = 0; l < active; l++) {
        sim_object *o;
        lane_cell(access, first, l, cell);
        if (!sim_touch(m, by, a, cell, l, SIM_READ, LEVEL_TASK, &unit, &o))
            return;
        if (!l && access->source && access->source->aligned)
            check_aligned(m, by, access, a, cell, active);
        out[l] = sim_read_unit(a, o, unit, block > 1 ? (int)(cell[a->source->rank - 1] % block) : 0);
    }
}

void sim_store(sim_machine *m, sim_thread *t, const sim_observer *by, const sim_access *access, const sim_lane *value) {
    const sim_array *a = &m->arrays[access->array->id];
    int64_t first[16], cell[16], unit, active = active_lanes(m, t, access, by->instruction, first);
    for (int l = 0; l < active; l++) {
        sim_object *o;
        lane_cell(access, first, l, cell);
        if (!sim_touch(m, by, a, cell, l, SIM_WRITE, LEVEL_TASK, &unit, &o))
            return;
        if (!l && access->source && access->source->aligned)
            check_aligned(m, by, access, a, cell, active);
        if (a->source->element == ELEMENT_INDEX && a->width == 4 && (value[l].i < INT32_MIN || value[l].i > INT32_MAX))
            sim_report_finding(m, SIM_OVERFLOW, t, by->instruction, NULL, a->source->name, "%lld does not fit the 32 bits of %s",
                               (long long)value[l].i, sim_cell_name(m, a, cell));
        sim_write_unit(a, o, unit, value[l]);
    }
}

/* Whether the launch promises this cell. */
static bool promised(sim_machine *m, const sim_array *a, const int64_t *cell) {
    if (!a->promise)
        return a->source->space == SPACE_GHOST || a->source->use == USE_OUT;
    for (int d = 0; d < a->source->rank; d++)
        m->launch[a->promise_variables[d]] = cell[d];
    return sim_condition_of(m, NULL, a->promise, -1);
}

void sim_consume(sim_machine *m, sim_thread *t, const sim_access *access, int instruction) {
    const sim_array *a = &m->arrays[access->array->id];
    int64_t first[16], cell[16], active = active_lanes(m, t, access, instruction, first);
    sim_observer by = sim_observe(m, t, instruction);
    for (int l = 0; l < active; l++) {
        int64_t flat = 0;
        lane_cell(access, first, l, cell);
        for (int d = 0; d < a->source->rank; d++) {
            if (cell[d] < 0 || cell[d] >= a->dims[d]) {
                out_of_bounds(m, &by, a, cell, d);
                return;
            }
            flat = flat * a->dims[d] + cell[d];
        }
        bool asked = promised(m, a, cell);
        if (a->consumed[flat] && asked) {
            sim_stamp before = {.group = 0, .instruction = a->consumer[flat], .thread = -1};
            sim_report_finding(m, SIM_CONTRIBUTION, t, instruction, &before, a->source->name, "%s is consumed a second time",
                               sim_cell_name(m, a, cell));
        }
        if (!asked)
            sim_report_finding(m, SIM_CONTRIBUTION, t, instruction, NULL, a->source->name,
                               "%s is consumed, but is no part of the reduction", sim_cell_name(m, a, cell));
        if (a->consumed[flat] < 2)
            a->consumed[flat]++;
        a->consumer[flat] = instruction;
    }
}

/* After the last task: was everything promised written, and consumed? */
static void check_array(sim_machine *m, const sim_array *a) {
    const kernel_array *source = a->source;
    int64_t cell[16] = {0}, count = 1, missing = 0, twice = 0, unasked = 0;
    const char *first_missing = NULL, *first_twice = NULL, *first_unasked = NULL;
    int twice_by = -1, unasked_by = -1;
    const sim_object *o = source->space == SPACE_GHOST ? NULL : &m->globals[a->root];
    for (int d = 0; d < source->rank; d++)
        count = sim_multiply(count, a->dims[d]);
    for (int64_t n = 0; n < count; n++) {
        const sim_cell *c = o ? &o->cells[(a->view_offset + sim_unit_of(a, cell) * a->width) / o->grain] : NULL;
        int writes = c ? c->writes : a->consumed[n], writer = c && c->writer.group ? c->writer.instruction : -1;
        bool asked = promised(m, a, cell);
        if (asked && !writes && !missing++)
            first_missing = sim_cell_name(m, a, cell);
        if (asked && writes > 1 && o && !o->is_output && !twice++) { /* others were reported when it happened */
            first_twice = sim_cell_name(m, a, cell);
            twice_by = writer;
        }
        if (!asked && writes && o && !unasked++) {
            first_unasked = sim_cell_name(m, a, cell);
            unasked_by = writer;
        }
        for (int d = source->rank; d-- > 0 && ++cell[d] == a->dims[d];)
            cell[d] = 0;
    }
    if (missing)
        sim_report_finding(m, o ? SIM_UNCOVERED : SIM_CONTRIBUTION, NULL, -1, NULL, source->name,
                           "no task %s %s, nor %lld other cells", o ? "writes" : "consumes", first_missing,
                           (long long)missing - 1);
    if (twice)
        sim_report_finding(m, SIM_TWICE, NULL, twice_by, NULL, source->name,
                           "%s is written more than once, and so are %lld other cells", first_twice, (long long)twice - 1);
    if (unasked)
        sim_report_finding(m, SIM_UNASKED, NULL, unasked_by, NULL, source->name,
                           "%s is written, and so are %lld other cells, which `cells` leaves out", first_unasked,
                           (long long)unasked - 1);
}

void sim_check_promises(sim_machine *m) {
    for (int i = 0; i < m->kernel->arrays.count; i++) {
        const sim_array *a = &m->arrays[i];
        const kernel_array *source = a->source;
        if (source->space == SPACE_GHOST ||
            (source->space == SPACE_GLOBAL && (source->use == USE_OUT || (source->use == USE_UPDATE && a->promise))))
            check_array(m, a);
    }
}
