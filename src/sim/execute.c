/* Running the threads of a group: one instruction at a time, each thread as far as it can, or interleaved at random. */
#include "sim/machine.h"
#include <string.h>

enum {
    TURN = 4096
}; /* steps of one thread before the next has its turn, so that one that waits in a loop does not wait for ever */

/* ---- meetings: barriers, subgroup operations, fragments ---- */
static int participants_of(sim_machine *m, sim_thread *t, int instruction, sim_thread **out) {
    const sim_instruction *i = &m->program->code.at[instruction];
    int size = m->sizes[i->meeting_scope], first = t->number / size * size, count = 0;
    for (int n = first; n < first + size; n++)
        if (i->code != CODE_BARRIER || !i->condition || sim_condition_of(m, &m->group->threads[n], i->condition, instruction))
            out[count++] = &m->group->threads[n];
    return count;
}

static void combine_subgroup(sim_machine *m, sim_thread **lanes, int count, int instruction) {
    const sim_instruction *i = &m->program->code.at[instruction];
    const sim_value *v = i->value;
    int width = v->lanes;
    kernel_op op = v->op == KERNEL_SUBGROUP_SUM ? KERNEL_ADD : v->op == KERNEL_SUBGROUP_MAX ? KERNEL_MAX : KERNEL_MIN;
    /* each lane has left its value in its own kept place; results go elsewhere first */
    sim_lane *in = sim_scratch(m, (int64_t)count * width), *out = sim_scratch(m, (int64_t)count * width);
    for (int l = 0; l < count; l++)
        memcpy(in + l * width, lanes[l]->kept + i->place, sizeof *in * (size_t)width);
    if (v->op == KERNEL_SUBGROUP_SUM || v->op == KERNEL_SUBGROUP_MAX || v->op == KERNEL_SUBGROUP_MIN) {
        for (int n = count; n > 1; n = (n + 1) / 2)
            for (int l = 0; l + (n + 1) / 2 < n; l++)
                for (int e = 0; e < width; e++)
                    in[l * width + e] = sim_combine(op, v->type, in[l * width + e], in[(l + (n + 1) / 2) * width + e]);
        for (int l = 0; l < count; l++)
            memcpy(out + l * width, in, sizeof *out * (size_t)width);
    } else {
        for (int l = 0; l < count; l++) {
            int64_t other = lanes[l]->operand[1].i, from = other;
            if (v->op == KERNEL_SUBGROUP_BROADCAST && other != lanes[0]->operand[1].i)
                sim_report_finding(m, SIM_DIVERGENCE, lanes[l], instruction, NULL, NULL,
                                   "lanes name different sources, %lld and %lld", (long long)other,
                                   (long long)lanes[0]->operand[1].i);
            if (v->op == KERNEL_SHUFFLE_XOR)
                from = l ^ other;
            else if (v->op == KERNEL_SHUFFLE_DOWN)
                from = sim_add(l, other);
            bool exists = from >= 0 && from < count;
            if (!exists && !(v->op == KERNEL_SHUFFLE_DOWN && from >= count))
                sim_report_finding(m, SIM_DIVERGENCE, lanes[l], instruction, NULL, NULL,
                                   "there is no lane %lld: the subgroup has %d", (long long)from, count);
            memcpy(out + l * width, in + (exists ? (int)from : l) * width,
                   sizeof *out * (size_t)width); /* past the end: unspecified, here its own */
        }
    }
    for (int l = 0; l < count; l++)
        memcpy(lanes[l]->kept + i->place, out + l * width, sizeof *out * (size_t)width);
}

static void meet(sim_machine *m, sim_thread *t, int instruction) {
    const sim_instruction *i = &m->program->code.at[instruction];
    sim_group *g = m->group;
    sim_thread **all = m->meeting;
    int *arrived = &g->arrived[i->meeting][sim_instance(m, t, i->meeting_scope)];
    if (i->code == CODE_BARRIER && i->condition && !sim_condition_of(m, t, i->condition, instruction)) {
        sim_report_finding(m, SIM_BARRIER, t, instruction, NULL, NULL,
                           "a thread reaches a barrier that it does not take part in");
        t->at++;
        return;
    }
    int count = participants_of(m, t, instruction, all);
    t->state = THREAD_MEETING;
    if (++*arrived < count)
        return;
    *arrived = 0;
    if (i->code == CODE_BARRIER)
        sim_barrier(m, all, count, i->stmt->spaces);
    else if (i->code == CODE_SUBGROUP)
        combine_subgroup(m, all, count, instruction);
    else if (i->code == CODE_COPY)
        sim_copy(m, all[0], count, instruction);
    else if (i->code == CODE_WAIT_ASYNC)
        for (int n = 0; n < count; n++)
            sim_wait_async(m, all[n], all[0]->number, false, i->stmt->count);
    else
        sim_fragment_step(m, all[0], count, instruction);
    for (int n = 0; n < count; n++) {
        all[n]->state = THREAD_READY;
        all[n]->at = instruction + 1;
    }
}

/* ---- statements ---- */
static void let(sim_machine *m, sim_thread *t, int at) {
    const sim_instruction *i = &m->program->code.at[at];
    sim_observer by = sim_observe(m, t, at);
    sim_lane *value = sim_evaluate(m, t, &by, i->value);
    memmove(t->kept + i->place, value, sizeof *value * (size_t)i->value->lanes);
    if (i->variable < 0)
        return;
    int64_t lo, hi;
    t->variables[i->variable] = value->i;
    if ((i->lo && sim_evaluate_integer(m, t, i->lo, at, &lo) && value->i < lo) ||
        (i->hi && sim_evaluate_integer(m, t, i->hi, at, &hi) && value->i > hi))
        sim_report_finding(m, SIM_RANGE, t, at, NULL, NULL, "`%s` is %lld, outside the range stated", i->stmt->name,
                           (long long)value->i);
}

static void loop_start(sim_machine *m, sim_thread *t, int at) {
    const sim_instruction *i = &m->program->code.at[at];
    int64_t lo, hi, step;
    bool known = sim_evaluate_integer(m, t, i->lo, at, &lo);
    known = sim_evaluate_integer(m, t, i->hi, at, &hi) && known;
    known = sim_evaluate_integer(m, t, i->step, at, &step) && known;
    if (known && step <= 0)
        sim_report_finding(m, SIM_OVERFLOW, t, at, NULL, NULL, "the step of `%s` is %lld", i->stmt->var->name, (long long)step);
    t->variables[i->variable] = lo;
    t->counters[i->place] = hi;
    t->counters[i->place + 1] = step;
    t->at = known && step > 0 ? at + 1 : i->target;
}

static void loop_next(sim_machine *m, sim_thread *t, int at) {
    const sim_instruction *i = &m->program->code.at[at];
    int64_t *variable = &t->variables[i->variable];
    int64_t step = t->counters[i->place + 1];
    if (__builtin_add_overflow(*variable, step, variable) || (m->options.index_bits == 32 && *variable > INT32_MAX)) {
        sim_report_finding(m, SIM_OVERFLOW, t, at, NULL, NULL, "the last step of `%s` does not fit %d bits", i->stmt->var->name,
                           m->options.index_bits);
        *variable = t->counters[i->place]; /* as if it had reached the end */
    }
    t->at = i->target;
}

/* Persistent kernels: block b runs the tasks b, b + G, ... */
static void task_test(sim_machine *m, sim_thread *t, int at) {
    const sim_instruction *i = &m->program->code.at[at];
    int64_t trip = t->counters[i->place], task = sim_add((int64_t)m->group->number - 1, sim_multiply(trip, m->grid));
    if (task >= m->tasks) {
        t->at = i->target;
        return;
    }
    t->variables[i->variable] = trip;
    t->task = task;
    for (int d = m->kernel->levels.at[0].rank; d-- > 0;) {
        t->variables[m->program->id_variable[0][d]] = task % m->task_extents[d];
        task /= m->task_extents[d];
    }
    t->at = at + 1;
}

static void step(sim_machine *m, sim_thread *t) {
    int at = t->at;
    const sim_instruction *i = &m->program->code.at[at];
    m->scratch_used = 0;
    t->finding = false;
    t->at = at + 1;
    switch (i->code) {
    case CODE_LET: let(m, t, at); break;
    case CODE_STORE: {
        sim_observer by = sim_observe(m, t, at);
        sim_lane *value = sim_evaluate(m, t, &by, i->value);
        sim_store(m, t, &by, &i->access, value);
        break;
    }
    case CODE_CONSUME: sim_consume(m, t, &i->access, at); break;
    case CODE_LOOP_START: loop_start(m, t, at); break;
    case CODE_LOOP_TEST:
        if (t->variables[i->variable] >= t->counters[i->place])
            t->at = i->target;
        break;
    case CODE_LOOP_NEXT: loop_next(m, t, at); break;
    case CODE_TASKS_START: t->counters[i->place] = 0; break;
    case CODE_TASKS_TEST: task_test(m, t, at); break;
    case CODE_TASKS_NEXT:
        t->counters[i->place]++;
        t->at = i->target;
        break;
    case CODE_JUMP: t->at = i->target; break;
    case CODE_UNLESS:
        if (!sim_condition_of(m, t, i->condition, at))
            t->at = i->target;
        break;
    case CODE_WHEN:
        if (sim_condition_of(m, t, i->condition, at))
            t->at = i->target;
        break;
    case CODE_UNLESS_VALUE: {
        sim_observer by = sim_observe(m, t, at);
        if (!sim_evaluate(m, t, &by, i->value)->i)
            t->at = i->target;
        break;
    }
    case CODE_SUBGROUP: {
        sim_observer by = sim_observe(m, t, at);
        sim_lane *value = sim_evaluate(m, t, &by, i->value->operands[0]);
        t->operand[1] = i->value->operand_count > 1 ? *sim_evaluate(m, t, &by, i->value->operands[1]) : (sim_lane){.i = 0};
        memmove(t->kept + i->place, value, sizeof *value * (size_t)i->value->lanes);
        t->at = at;
        meet(m, t, at);
        break;
    }
    case CODE_FRAGMENT:
        if (i->stmt->kind == KSTMT_FRAGMENT_FILL) {
            sim_observer by = sim_observe(m, t, at);
            t->operand[0] = *sim_evaluate(m, t, &by, i->value);
        }
        t->at = at;
        meet(m, t, at);
        break;
    case CODE_BARRIER:
        t->at = at;
        meet(m, t, at);
        break;
    case CODE_FENCE: sim_fence(m, t, i->stmt); break;
    case CODE_COPY:
    case CODE_WAIT_ASYNC:
        if (kernel_is_of_block(i->stmt)) {
            t->at = at;
            meet(m, t, at);
        } else if (i->code == CODE_COPY) {
            sim_copy(m, t, 1, at);
        } else {
            sim_wait_async(m, t, t->number, i->stmt->matrix, i->stmt->count);
        }
        break;
    case CODE_COMMIT: sim_commit(m, t, i->stmt->matrix); break;
    case CODE_ARRIVE: {
        if (i->condition && !sim_condition_of(m, t, i->condition, at)) {
            sim_report_finding(m, SIM_BARRIER, t, at, NULL, m->kernel->mbarriers.at[i->mbarrier]->name,
                               "a thread reaches an arrive that it does not take part in");
            break;
        }
        m->group->arrivals[i->arrival * m->group->thread_count + t->number]++;
        int index = sim_mbarrier_index(m, t, at);
        if (index >= 0)
            sim_arrive(m, t, index, at);
        break;
    }
    case CODE_WAIT: {
        int64_t phase;
        int index = sim_mbarrier_index(m, t, at);
        if (index >= 0 && sim_evaluate_integer(m, t, i->phase, at, &phase) && !sim_wait(m, t, index, phase, at)) {
            t->state = THREAD_WAITING;
            t->mbarrier_waited = index;
            t->phase_waited = phase;
            t->at = at;
        }
        break;
    }
    case CODE_FRAGMENT_SET: sim_fragment_set(m, t, at); break;
    case CODE_ATOMIC: sim_atomic(m, t, at); break;
    case CODE_GRID_REDUCE: sim_contribute(m, t, at); break;
    case CODE_INTRINSIC: sim_intrinsic(m, t, at); break;
    case CODE_WRITTEN: sim_written(m, t, at); break;
    case CODE_END:
        sim_check_landed(m, t);
        t->state = THREAD_ENDED;
        break;
    }
}

/* ---- threads in turn ---- */
static bool can_run(const sim_machine *m, sim_thread *t) {
    if (t->state == THREAD_WAITING && m->group->mbarriers[t->mbarrier_waited].phase > t->phase_waited)
        t->state = THREAD_READY;
    return t->state == THREAD_READY;
}

/* Nobody can go on: names, for each place where threads wait, who waits and who does not come. */
static void report_stuck(sim_machine *m) {
    sim_group *g = m->group;
    for (int n = 0; n < g->thread_count; n++) {
        sim_thread *t = &g->threads[n];
        if (t->state != THREAD_MEETING)
            continue;
        const sim_instruction *i = &m->program->code.at[t->at];
        int count = participants_of(m, t, t->at, m->meeting), waiting = 0;
        const sim_thread *missing = NULL;
        for (int p = 0; p < count; p++) {
            bool here = m->meeting[p]->state == THREAD_MEETING && m->meeting[p]->at == t->at;
            waiting += here;
            if (!here && !missing)
                missing = m->meeting[p];
        }
        if (!missing)
            continue;
        sim_stamp other = {
            .group = g->number, .thread = missing->number, .instruction = missing->state == THREAD_ENDED ? -1 : missing->at};
        sim_report_finding(m, i->code == CODE_BARRIER ? SIM_BARRIER : SIM_DIVERGENCE, t, t->at, &other, NULL,
                           "%d of %d threads reach this; another %s", waiting, count,
                           missing->state == THREAD_ENDED ? "has ended without it" : "waits elsewhere");
    }
    for (int n = 0; n < g->thread_count; n++) {
        sim_thread *t = &g->threads[n];
        if (t->state != THREAD_WAITING)
            continue;
        const sim_mbarrier *b = &g->mbarriers[t->mbarrier_waited];
        const kernel_mbarrier *source = m->kernel->mbarriers.at[m->program->code.at[t->at].mbarrier];
        sim_report_finding(m, SIM_STUCK, t, t->at, NULL, source->name,
                           "phase %lld of `%s` never completes: phase %lld has %lld of %lld arrivals", (long long)t->phase_waited,
                           source->name, (long long)b->phase, (long long)b->arrived, (long long)source->arrivals);
    }
}

/* An `arrive` names its participants, and they arrive equally often, as at a barrier. */
static void check_arrivals(sim_machine *m, sim_group *g) {
    for (int at = 0; at < m->program->code.count; at++) {
        const sim_instruction *i = &m->program->code.at[at];
        const sim_thread *first = NULL;
        for (int n = 0; i->code == CODE_ARRIVE && n < g->thread_count; n++) {
            sim_thread *t = &g->threads[n];
            if (i->condition && !sim_condition_of(m, t, i->condition, at))
                continue;
            int64_t *count = &g->arrivals[i->arrival * g->thread_count];
            if (!first || sim_instance(m, t, LEVEL_BLOCK) != sim_instance(m, first, LEVEL_BLOCK)) {
                first = t;
            } else if (count[n] != count[first->number]) {
                sim_stamp other = {.group = g->number, .thread = first->number, .instruction = -1};
                sim_report_finding(m, SIM_BARRIER, t, at, &other, m->kernel->mbarriers.at[i->mbarrier]->name,
                                   "this thread arrives %lld times, another participant %lld times", (long long)count[n],
                                   (long long)count[first->number]);
                break;
            }
        }
    }
}

void sim_execute(sim_machine *m, sim_group *g) {
    int ended = 0, next = 0;
    while (ended < g->thread_count && !m->stop) {
        int at = m->options.seed ? (int)(sim_random(m) % (uint64_t)g->thread_count) : next, tried = 0;
        while (tried < g->thread_count && !can_run(m, &g->threads[at])) {
            at = (at + 1) % g->thread_count;
            tried++;
        }
        if (tried == g->thread_count) {
            report_stuck(m);
            m->stuck = true;
            return;
        }
        sim_thread *t = &g->threads[at];
        int turn = m->options.seed ? 1 + (int)(sim_random(m) % 8) : TURN;
        for (int n = 0; n < turn && t->state == THREAD_READY && !m->stop; n++) {
            step(m, t);
            if (++m->report->steps >= m->options.step_limit) {
                sim_report_finding(m, SIM_STEPS, t, t->at, NULL, NULL, "after %lld steps the launch has not ended",
                                   (long long)m->report->steps);
                m->stop = true;
            }
        }
        if (t->state == THREAD_ENDED)
            ended++;
        next = (at + 1) % g->thread_count;
    }
    if (!m->stop)
        check_arrivals(m, g);
}
