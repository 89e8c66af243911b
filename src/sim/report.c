/* Findings: one for each place and way of misbehaving, told with the threads, the statements and the cell. */
#include "sim/machine.h"
#include "base/hash.h"
#include <string.h>

const sim_kind_info sim_kinds[SIM_KINDS] = {
    [SIM_BOUNDS] = {"out of bounds", "bounds", "E0712"},
    [SIM_UNWRITTEN] = {"read before any write", "initialised", "E0713"},
    [SIM_RACE] = {"race", "race", "E0714"},
    [SIM_BARRIER] = {"barrier not reached by all", "order", "E0715"},
    [SIM_DIVERGENCE] = {"lanes diverge", "order", "E0716"},
    [SIM_STUCK] = {"waits for ever", "order", "E0717"},
    [SIM_UNCOVERED] = {"output not written", "coverage", "E0718"},
    [SIM_TWICE] = {"output written twice", "coverage", "E0719"},
    [SIM_CONTRIBUTION] = {"not consumed exactly once", "contribution", "E0720"},
    [SIM_UNASKED] = {"output written that is not asked for", "coverage", "E0727"},
    [SIM_OVERFLOW] = {"integer overflow", "overflow", "E0721"},
    [SIM_STEPS] = {"too many steps", "termination", "E0722"},
    [SIM_ASYNC] = {"misused by an asynchronous unit", "order", "E0723"},
    [SIM_RANGE] = {"outside the stated range", "bounds", "E0724"},
    [SIM_ALIGNMENT] = {"not aligned", "alignment", "E0729"},
    [SIM_CONTRACT] = {"outside a contract", "bounds", "E0730"},
    [SIM_LAYOUT] = {"layout not injective", "layout", "E0725"},
};

uint64_t sim_random(sim_machine *m) {
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random;
}

const char *sim_head(sim_machine *m, int instruction) {
    if (instruction < 0)
        return NULL;
    const kernel_stmt *s = m->program->code.at[instruction].stmt;
    if (!s)
        return "the end of what it is in";
    text_buffer text = {0};
    if (s->kind == KSTMT_COMMENT)
        text_add(&text, "%s", s->name ? s->name : "a comment");
    else
        kernel_print_stmt_head(&text, s);
    const char *head = arena_strdup(m->arena, text_get(&text));
    text_free(&text);
    return head;
}

const char *sim_thread_name(sim_machine *m, uint32_t group, int thread, int64_t task) {
    const kernel_ir *k = m->kernel;
    text_buffer text = {0};
    int64_t ids[64];
    int count = 0, before = 0;
    if (k->grid)
        text_add(&text, "block %lld of %lld", (long long)group - 1, (long long)m->grid);
    for (int i = 0; i < k->levels.count; i++)
        count += k->levels.at[i].rank;
    int at = count;
    int64_t rest = thread;
    for (int i = k->levels.count; i-- > 0;) {
        if (!i)
            rest = task;
        for (int d = k->levels.at[i].rank; d-- > 0;) {
            int64_t extent = i ? 1 : m->task_extents[d];
            if (i)
                ix_is_const(k->levels.at[i].extents[d], &extent);
            if (--at < 64)
                ids[at] = extent > 0 ? rest % extent : 0;
            rest = extent > 0 ? rest / extent : 0;
        }
    }
    for (int i = 0; i < k->levels.count; i++)
        for (int d = 0; d < k->levels.at[i].rank; d++, at++)
            if (at < 64 && (i ? thread >= 0 : task >= 0))
                text_add(&text, "%s%s = %lld", before++ || k->grid ? ", " : "", k->levels.at[i].ids[d]->name, (long long)ids[at]);
    const char *name = arena_strdup(m->arena, text_get(&text));
    text_free(&text);
    return name;
}

static bool is_new(sim_machine *m, sim_kind kind, int instruction, int other, const char *array) {
    uint64_t key = (uint64_t)kind * 0x9E3779B97F4A7C15u + (uint64_t)(instruction + 2);
    key = key * 0xD6E8FEB86659FD93u + (uint64_t)(other + 2);
    for (const char *c = array ? array : ""; *c; c++)
        key = (key ^ (unsigned char)*c) * 0x100000001B3u;
    for (int i = 0; i < m->seen.count; i++)
        if (m->seen.at[i] == key)
            return false;
    VEC_PUSH(m->memory, m->seen, key);
    return true;
}

static source_span span_of(const sim_machine *m, int instruction, const char *array) {
    if (instruction >= 0 && m->program->code.at[instruction].stmt) /* the end of a loop belongs to no statement */
        return m->program->code.at[instruction].stmt->span;
    for (int i = 0; array && i < m->kernel->arrays.count; i++)
        if (!strcmp(m->kernel->arrays.at[i]->name, array))
            return m->kernel->arrays.at[i]->span;
    return m->kernel->span;
}

void sim_report_finding(sim_machine *m, sim_kind kind, const sim_thread *t, int instruction, const sim_stamp *other,
                        const char *array, const char *message, ...) {
    if (m->stop || !is_new(m, kind, instruction, other ? other->instruction : -1, array))
        return;
    text_buffer text = {0};
    va_list args;
    va_start(args, message);
    text_add_va(&text, message, args);
    va_end(args);
    sim_finding f = {.kind = kind, .array = array};
    f.span = span_of(m, instruction, array);
    f.message = arena_strdup(m->arena, text_get(&text));
    text_free(&text);
    if (t)
        f.thread = sim_thread_name(m, m->group ? m->group->number : 1, t->number, t->task);
    if (other && other->instruction >= 0)
        f.other = span_of(m, other->instruction, array);
    if (other && other->group && other->thread >= 0) {
        bool here = m->group && other->group == m->group->number;
        int64_t task = m->kernel->grid ? (here ? m->group->threads[other->thread].task : -1) : (int64_t)other->group - 1;
        f.other_thread = sim_thread_name(m, other->group, other->thread, task);
    }
    VEC_PUSH(m->arena, m->report->findings, f);
    diag *g = diag_error(m->diags, sim_kinds[kind].code, f.span, "%s", f.message);
    if (f.thread && *f.thread)
        diag_note(m->diags, g, "the thread: %s", f.thread);
    if (instruction >= 0)
        diag_note(m->diags, g, "it runs: %s", sim_head(m, instruction));
    if (f.other_thread && *f.other_thread)
        diag_note(m->diags, g, "the other: %s", f.other_thread);
    if (other && other->instruction >= 0)
        diag_note(m->diags, g, "at line %d: %s", f.other.line, sim_head(m, other->instruction));
    if (m->report->findings.count >= m->options.finding_limit)
        m->stop = true;
}
