/* Asynchronous copies, intrinsics by their contracts, atomics, and the grid-wide reduction. */
#include "kernel/exchange.h"
#include "sim/machine.h"
#include <stdlib.h>
#include <string.h>

static bool evaluate_all(sim_machine *m, sim_thread *t, sim_integer **x, int count, int instruction, int64_t *values) {
    for (int d = 0; d < count; d++)
        if (!sim_evaluate_integer(m, t, x[d], instruction, &values[d]))
            return false;
    return true;
}

/* The next place of a box, row-major; false after the last. */
static bool advance(int64_t *place, const int64_t *extents, int rank) {
    for (int d = rank; d-- > 0;) {
        if (++place[d] < extents[d])
            return true;
        place[d] = 0;
    }
    return false;
}

static bool is_empty(const int64_t *extents, int rank) {
    for (int d = 0; d < rank; d++)
        if (extents[d] <= 0)
            return true;
    return false;
}

static void remember_leaving(sim_thread *t, int instruction) {
    t->leaving = t->copies_committed + 1;
    t->leaving_instruction = instruction;
}

void sim_check_landed(sim_machine *m, sim_thread *t) {
    if (t->copies_done < t->leaving)
        sim_report_finding(m, SIM_ASYNC, t, t->leaving_instruction, NULL, NULL,
                           kernel_is_of_block(m->program->code.at[t->leaving_instruction].stmt)
                               ? "the block ends while this is not waited for"
                               : "the thread ends while this still reads shared memory, which may be gone with the block");
}

/* All threads of a block give its copy the same operands. */
static bool copies_the_same(sim_machine *m, sim_thread *t, int instruction, const int64_t *target, const int64_t *source,
                            const int64_t *extents) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const int rank = i->access.array->rank, source_rank = i->source.array->rank;
    int64_t own_target[16], own_source[16], own_extents[16];
    if (!evaluate_all(m, t, i->access.indices, rank, instruction, own_target) ||
        !evaluate_all(m, t, i->source.indices, source_rank, instruction, own_source) ||
        !evaluate_all(m, t, i->extents, rank, instruction, own_extents))
        return false;
    if (!memcmp(own_target, target, sizeof *target * (size_t)rank) &&
        !memcmp(own_source, source, sizeof *source * (size_t)source_rank) &&
        !memcmp(own_extents, extents, sizeof *extents * (size_t)rank))
        return true;
    sim_report_finding(m, SIM_DIVERGENCE, t, instruction, NULL, i->access.array->name,
                       "threads of the block give the copy different operands");
    return false;
}

/* `count` threads from t on: those of the block that issues it, or one. The data move at the issue: in a kernel without races that is when it makes no difference. */
void sim_copy(sim_machine *m, sim_thread *t, int count, int instruction) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const bool of_block = kernel_is_of_block(i->stmt);
    const sim_array *to = &m->arrays[i->access.array->id], *from = &m->arrays[i->source.array->id];
    int rank = to->source->rank, source_rank = from->source->rank, block = element_table[to->source->element].block_elements;
    int64_t target[16], source[16], extents[16], place[16] = {0}, unit, source_unit;
    if (!evaluate_all(m, t, i->access.indices, rank, instruction, target) ||
        !evaluate_all(m, t, i->source.indices, source_rank, instruction, source) ||
        !evaluate_all(m, t, i->extents, rank, instruction, extents))
        return;
    for (int n = 1; n < count; n++)
        if (!copies_the_same(m, t + n, instruction, target, source, extents))
            return;
    sim_observer by = of_block ? sim_observe_block_copy(m, t, count, instruction) : sim_observe_copy(m, t, instruction);
    if (of_block) {
        remember_leaving(t, instruction);
    } else if (i->mbarrier >= 0) {
        int index = sim_mbarrier_index(m, t, instruction);
        if (index < 0)
            return;
        by = sim_observe_signal(m, t, instruction, index);
    } else if (to->source->space == SPACE_SHARED) {
        by.stamp.unit = SIM_UNIT_OF_THREADS;
    }
    if (is_empty(extents, rank))
        return;
    if (from->source->space == SPACE_SHARED && !of_block)
        remember_leaving(t, instruction);
    do {
        int64_t cell[16], other[16];
        bool exists = true;
        for (int d = 0; d < rank; d++)
            cell[d] = sim_add(target[d], place[d]);
        for (int d = 0; d < source_rank; d++) {
            int same = d + rank - source_rank; /* the last dimensions match */
            other[d] = same >= 0 ? sim_add(source[d], place[same]) : source[d];
            exists = exists && other[d] >= 0 && other[d] < from->dims[d];
        }
        sim_object *o, *source_object;
        sim_lane value = {.i = 0};
        if (exists || !i->stmt->clip) {
            if (!sim_touch(m, &by, from, other, 0, SIM_READ, LEVEL_TASK, &source_unit, &source_object))
                return;
            if (block == 1)
                value = sim_read_unit(from, source_object, source_unit, 0);
        }
        if (!sim_touch(m, &by, to, cell, 0, SIM_WRITE, LEVEL_TASK, &unit, &o))
            return;
        if (block == 1)
            sim_write_unit(to, o, unit, value);
        else if (exists)
            memcpy(o->bytes + to->view_offset + unit * to->width,
                   source_object->bytes + from->view_offset + source_unit * from->width, (size_t)to->width);
    } while (!m->stop && advance(place, extents, rank));
}

/* Whether an operand's value is made of the cell. */
static bool value_reads(sim_machine *m, sim_thread *t, const sim_value *v, int instruction, const sim_array *a,
                        const int64_t *cell) {
    int64_t at[16];
    if (!v)
        return false;
    bool same = v->op == KERNEL_LOAD && v->access.array == a->source &&
                evaluate_all(m, t, v->access.indices, a->source->rank, instruction, at);
    for (int d = 0; d < a->source->rank && same; d++)
        same = cell[d] >= at[d] && cell[d] - at[d] < (d == v->access.vector_dim ? v->access.lanes : 1);
    if (same)
        return true;
    for (int i = 0; i < v->operand_count; i++)
        if (value_reads(m, t, v->operands[i], instruction, a, cell))
            return true;
    return false;
}

/* Whether the cell is one that the contract of the intrinsic names for this use, or that its operands are made of: what its reference touches must be. */
bool sim_within_contract(sim_machine *m, sim_thread *t, const sim_instruction *i, int instruction, const sim_array *a,
                         const int64_t *cell, sim_use use) {
    for (int n = 0; n < i->stmt->contract_count; n++) {
        const sim_operand *o = &i->contract[n];
        contract_effect effect = o->source->effect;
        if (use == SIM_READ && value_reads(m, t, o->value, instruction, a, cell))
            return true;
        for (int v = 0; use == SIM_READ && v < o->source->count; v++)
            if (value_reads(m, t, o->values[v], instruction, a, cell))
                return true;
        bool fits = use == SIM_READ    ? effect == CONTRACT_READS || effect == CONTRACT_UPDATES
                    : use == SIM_WRITE ? effect == CONTRACT_WRITES || effect == CONTRACT_UPDATES || effect == CONTRACT_RESULT
                                       : effect == CONTRACT_UPDATES;
        if (!fits || o->access.array != a->source)
            continue;
        int64_t first[16], extents[16];
        bool inside = evaluate_all(m, t, o->access.indices, a->source->rank, instruction, first) &&
                      evaluate_all(m, t, o->extents, a->source->rank, instruction, extents);
        for (int d = 0; d < a->source->rank && inside; d++)
            inside = cell[d] >= first[d] && cell[d] - first[d] < extents[d];
        if (inside)
            return true;
    }
    return false;
}

/* Reads and writes what the contract says. Its reference, which follows, writes the values; without one nothing is known of them, and zeros stand for them. */
void sim_intrinsic(sim_machine *m, sim_thread *t, int instruction) {
    const sim_instruction *i = &m->program->code.at[instruction];
    static const contract_effect passes[] = {CONTRACT_VALUE,   CONTRACT_VECTOR, CONTRACT_READS,
                                             CONTRACT_UPDATES, CONTRACT_WRITES, CONTRACT_RESULT};
    const bool referenced = i->stmt->body.items.count > 0;
    for (int pass = 0; pass < 6; pass++)
        for (int n = 0; n < i->stmt->contract_count; n++) {
            const sim_operand *o = &i->contract[n];
            if (o->source->effect != passes[pass])
                continue;
            sim_observer by = o->source->asynchronous ? sim_observe_copy(m, t, instruction) : sim_observe(m, t, instruction);
            if (o->source->effect == CONTRACT_VALUE) {
                sim_evaluate(m, t, &by, o->value);
                continue;
            }
            for (int v = 0; v < o->source->count; v++)
                sim_evaluate(m, t, &by, o->values[v]);
            if (!contract_has_cells(o->source))
                continue;
            const sim_array *a = &m->arrays[o->access.array->id];
            int64_t first[16], extents[16], place[16] = {0}, cell[16], unit;
            int rank = a->source->rank;
            if (!evaluate_all(m, t, o->access.indices, rank, instruction, first) ||
                (rank && !evaluate_all(m, t, o->extents, rank, instruction, extents)) || is_empty(extents, rank))
                continue;
            bool writes = o->source->effect != CONTRACT_READS;
            sim_use use = !writes || (referenced && o->source->effect == CONTRACT_UPDATES) ? SIM_READ
                          : o->source->effect == CONTRACT_UPDATES                          ? SIM_MODIFY
                                                                                           : SIM_WRITE;
            if (referenced && use == SIM_WRITE)
                continue;
            writes = writes && !referenced;
            sim_lane nothing = {.i = 0};
            sim_object *object;
            if (o->source->asynchronous && a->source->space == SPACE_SHARED && use != SIM_WRITE)
                remember_leaving(t, instruction);
            m->report->unknown_values = m->report->unknown_values || writes;
            do {
                for (int d = 0; d < rank; d++)
                    cell[d] = sim_add(first[d], place[d]);
                for (int l = 0; l < a->source->lanes; l++) {
                    if (!sim_touch(m, &by, a, cell, l, use, LEVEL_TASK, &unit, &object))
                        return;
                    if (writes)
                        sim_write_unit(a, object, unit, nothing);
                }
            } while (!m->stop && advance(place, extents, rank));
        }
}

/* The reference has run: it has written all that the contract writes, where writes leave a trace. */
void sim_written(sim_machine *m, sim_thread *t, int instruction) {
    const sim_instruction *i = &m->program->code.at[instruction];
    for (int n = 0; n < i->stmt->contract_count; n++) {
        const sim_operand *o = &i->contract[n];
        if (o->source->effect != CONTRACT_WRITES || o->source->asynchronous)
            continue;
        const sim_array *a = &m->arrays[o->access.array->id];
        int64_t first[16], extents[16], place[16] = {0}, cell[16];
        const int rank = a->source->rank;
        const bool traced = a->source->space == SPACE_GLOBAL || a->source->space == SPACE_SHARED;
        if (!traced || !evaluate_all(m, t, o->access.indices, rank, instruction, first) ||
            (rank && !evaluate_all(m, t, o->extents, rank, instruction, extents)) || is_empty(extents, rank))
            continue;
        const sim_object *object = sim_object_of(m, t, a);
        do {
            bool exists = true, written = false;
            for (int d = 0; d < rank; d++) {
                cell[d] = sim_add(first[d], place[d]);
                exists = exists && cell[d] >= 0 && cell[d] < a->dims[d];
            }
            const int64_t unit = exists ? sim_unit_of(a, cell) : 0;
            if (exists && object->cells && unit >= 0 && unit < a->storage) {
                const sim_stamp *w = &object->cells[(a->view_offset + unit * a->width) / object->grain].writer;
                written = w->group && w->instruction > i->target && w->instruction < instruction;
            }
            if (!exists)
                sim_report_finding(m, SIM_BOUNDS, t, instruction, NULL, a->source->name,
                                   "%s is outside, and the contract of `%s` writes it", sim_cell_name(m, a, cell), i->stmt->name);
            else if (!written)
                sim_report_finding(m, SIM_CONTRACT, t, instruction, NULL, a->source->name,
                                   "%s is not written, and the contract of `%s` says that it is", sim_cell_name(m, a, cell),
                                   i->stmt->name);
        } while (!m->stop && advance(place, extents, rank));
    }
}

static bool same_bits(element_type t, sim_lane x, sim_lane y) {
    float a = (float)x.f, b = (float)y.f;
    return sim_is_float(t) ? !memcmp(&a, &b, sizeof a) : x.i == y.i;
}

/* What the atomic leaves in its cell. */
static sim_lane atomic_result(const sim_instruction *i, element_type t, sim_lane old, sim_lane given) {
    const uint64_t x = (uint64_t)old.i, y = (uint64_t)given.i;
    switch (i->stmt->combine) {
    case KERNEL_EXCHANGE:
    case KERNEL_COMPARE_EXCHANGE: return given; /* that it stores is known */
    case KERNEL_INC_WRAP: return (sim_lane){.i = x >= y ? 0 : old.i + 1};
    case KERNEL_DEC_WRAP: return x == 0 || x > y ? given : (sim_lane){.i = old.i - 1};
    default: return sim_combine(i->stmt->combine, t, old, given);
    }
}

void sim_atomic(sim_machine *m, sim_thread *t, int instruction) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const sim_array *a = &m->arrays[i->access.array->id];
    sim_observer by = sim_observe(m, t, instruction);
    const element_type type = a->source->element;
    kernel_stmt fence = {.kind = KSTMT_FENCE, .scope = i->stmt->scope, .spaces = 1u << SPACE_GLOBAL | 1u << SPACE_SHARED};
    if (i->stmt->ordered)
        sim_fence(m, t, &fence);
    sim_lane expected = i->expected ? *sim_evaluate(m, t, &by, i->expected) : (sim_lane){.i = 0};
    sim_lane value = *sim_evaluate(m, t, &by, i->value), old = {.i = 0};
    int64_t cell[16], unit;
    sim_object *o;
    bool reached = evaluate_all(m, t, i->access.indices, a->source->rank, instruction, cell), stores = true;
    if (reached && i->expected) {
        reached = sim_touch(m, &by, a, cell, 0, SIM_LOOK, i->stmt->scope, &unit, &o);
        old = reached ? sim_read_unit(a, o, unit, 0) : old;
        stores = reached && same_bits(type, old, expected) && !kernel_only_reads(i->stmt);
    }
    if (reached && stores &&
        sim_touch(m, &by, a, cell, 0, kernel_only_writes(i->stmt) ? SIM_PUT : SIM_UPDATE, i->stmt->scope, &unit, &o)) {
        old = sim_read_unit(a, o, unit, 0);
        sim_write_unit(a, o, unit, atomic_result(i, type, old, value));
    }
    if (i->stmt->ordered)
        sim_fence(m, t, &fence);
    if (i->place >= 0)
        t->kept[i->place] = old;
    if (i->variable >= 0)
        t->variables[i->variable] = old.i;
}

/* Kept until the launch ends: then combined in the order of the tasks. */
void sim_contribute(sim_machine *m, sim_thread *t, int instruction) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const sim_array *a = &m->arrays[i->access.array->id];
    sim_observer by = sim_observe(m, t, instruction);
    sim_contribution c = {.array = i->access.array->id,
                          .task = t->task,
                          .instruction = instruction,
                          .thread = t->number,
                          .group = m->group->number};
    c.value = *sim_evaluate(m, t, &by, i->value);
    int64_t cell[16];
    if (!evaluate_all(m, t, i->access.indices, a->source->rank, instruction, cell))
        return;
    for (int d = 0; d < a->source->rank; d++)
        if (cell[d] < 0 || cell[d] >= a->dims[d]) {
            sim_report_finding(m, SIM_BOUNDS, t, instruction, NULL, a->source->name,
                               "%s is outside: dimension %d of `%s` has %lld cells", sim_cell_name(m, a, cell), d,
                               a->source->name, (long long)a->dims[d]);
            return;
        }
    c.unit = sim_unit_of(a, cell);
    VEC_PUSH(m->memory, m->contributions, c);
}

static int by_cell_and_task(const void *x, const void *y) {
    const sim_contribution *a = x, *b = y;
    if (a->array != b->array)
        return a->array < b->array ? -1 : 1;
    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

void sim_finish_contributions(sim_machine *m) {
    if (m->contributions.count)
        qsort(m->contributions.at, (size_t)m->contributions.count, sizeof *m->contributions.at, by_cell_and_task);
    for (int n = 0; n < m->contributions.count; n++) {
        const sim_contribution *c = &m->contributions.at[n], *before = n ? c - 1 : NULL;
        const sim_array *a = &m->arrays[c->array];
        sim_object *o = &m->globals[a->root];
        bool continues = before && before->array == c->array && before->unit == c->unit;
        if (continues && before->task == c->task) {
            sim_stamp stamp = {.group = before->group, .thread = before->thread, .instruction = before->instruction};
            sim_report_finding(m, SIM_TWICE, NULL, c->instruction, &stamp, a->source->name,
                               "task %lld gives a cell of `%s` two values", (long long)c->task, a->source->name);
        }
        sim_lane sum = c->value;
        if (continues)
            sum = sim_combine(m->program->code.at[c->instruction].stmt->combine, a->source->element,
                              sim_read_unit(a, o, c->unit, 0), c->value);
        sim_write_unit(a, o, c->unit, sum);
        if (continues)
            continue;
        int64_t first = (a->view_offset + c->unit * a->width) / o->grain;
        for (int64_t g = first; g < first + (a->width + o->grain - 1) / o->grain; g++) {
            sim_cell *cell = &o->cells[g];
            if (cell->writes)
                sim_report_finding(m, SIM_TWICE, NULL, c->instruction, &cell->writer, a->source->name,
                                   "a cell of `%s` is both stored and reduced into", a->source->name);
            cell->written = 1;
            if (cell->writes < 2)
                cell->writes++;
        }
    }
}
