/* One launch: values checked against the kernel's declarations, every task run, what was promised checked, results copied back. */
#include "sim/machine.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 4096, MOST_SLOTS = 4096, MOST_ROWS = 1024 };

static bool refuse(sim_machine *m, const char *code, source_span span, const char *text) {
    diag_error(m->diags, code, span, "%s", text);
    m->failed = true;
    return false;
}

static bool bind_values(sim_machine *m, const int64_t *integers, const float *floats) {
    const kernel_ir *k = m->kernel;
    const sim_program *p = m->program;
    int extra = 0, next_integer = k->symbols.count, next_float = 0;
    for (int i = 0; i < k->arrays.count; i++)
        extra += k->arrays.at[i]->rank; /* the variables of `cells` */
    m->launch = NEW_ARRAY(m->memory, int64_t, p->variables + extra);
    m->floats = NEW_ARRAY(m->memory, float, k->scalars.count);
    for (int i = 0; i < k->symbols.count; i++)
        m->launch[p->symbol_variable[i]] = integers[i];
    for (int i = 0; i < k->scalars.count; i++)
        if (p->scalar_variable[i] >= 0)
            m->launch[p->scalar_variable[i]] = integers[next_integer++];
        else
            m->floats[i] = floats[next_float++];
    return true;
}

static bool in_range(sim_machine *m, const index_var *v, int variable) {
    int64_t value = m->launch[variable], lo, hi;
    if (v->kind == INDEX_SYMBOL && value < 0)
        return false;
    if (v->lo && (!sim_evaluate_integer(m, NULL, sim_compile_integer(m->memory, m->program, v->lo), -1, &lo) || value < lo))
        return false;
    return !v->hi || (sim_evaluate_integer(m, NULL, sim_compile_integer(m->memory, m->program, v->hi), -1, &hi) && value <= hi);
}

static bool check_values(sim_machine *m) {
    const kernel_ir *k = m->kernel;
    const sim_program *p = m->program;
    for (int i = 0; i < k->symbols.count; i++)
        if (!in_range(m, k->symbols.at[i], p->symbol_variable[i]))
            return refuse(m, "E0711", k->symbols.at[i]->span.line ? k->symbols.at[i]->span : k->span,
                          arena_printf(m->memory, "`%s` = %lld is outside its range", k->symbols.at[i]->name,
                                       (long long)m->launch[p->symbol_variable[i]]));
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i].var && !in_range(m, k->scalars.at[i].var, p->scalar_variable[i]))
            return refuse(m, "E0711", k->span,
                          arena_printf(m->memory, "`%s` = %lld is outside its range", k->scalars.at[i].name,
                                       (long long)m->launch[p->scalar_variable[i]]));
    for (int i = 0; i < k->assumptions.count; i++)
        if (!sim_condition_of(m, NULL, sim_compile_condition(m->memory, m->program, k->assumptions.at[i]), -1)) {
            text_buffer text = {0};
            cond_print(&text, k->assumptions.at[i]);
            diag_error(m->diags, "E0711", k->span, "the kernel assumes `%s`, which these launch values break", text_get(&text));
            text_free(&text);
            m->failed = true;
            return false;
        }
    return true;
}

static bool shape_levels(sim_machine *m) {
    const kernel_ir *k = m->kernel;
    int64_t threads = 1, slots = 0, extent;
    for (int i = 0; i <= LEVEL_LANE; i++)
        m->sizes[i] = 1;
    for (int i = 1; i < k->levels.count; i++)
        for (int d = 0; d < k->levels.at[i].rank; d++) {
            if (!ix_is_const(k->levels.at[i].extents[d], &extent) || extent < 1)
                return refuse(m, "E0710", k->span, "a level below the task without a constant extent");
            threads = sim_multiply(threads, extent);
            if (threads > MOST_THREADS)
                return refuse(m, "E0710", k->span, "the simulator runs at most 4096 threads of a task");
            for (int scope = 0; scope < (int)k->levels.at[i].kind; scope++)
                m->sizes[scope] *= (int)extent;
        }
    for (int i = 0; i < k->mbarriers.count; i++)
        slots = sim_add(slots, k->mbarriers.at[i]->slots);
    if (slots > MOST_SLOTS)
        return refuse(m, "E0710", k->span, "the simulator keeps at most 4096 slots of mbarriers");
    int64_t elements = 0;
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        if (f->rows > MOST_ROWS || f->columns > MOST_ROWS)
            return refuse(m, "E0710", f->span, "the simulator keeps fragments of at most 1024 rows and columns");
        elements =
            sim_add(elements, sim_multiply((int64_t)f->rows * f->columns, sim_multiply(f->count, threads / m->sizes[f->holder])));
    }
    /* what threads and fragments keep beside arrays */
    int64_t held = sim_multiply(elements, 9);
    held = sim_add(held, sim_multiply(threads, 8 * ((int64_t)m->program->places + m->program->variables + m->program->counters)));
    if (held > m->options.byte_limit)
        return refuse(m, "E0710", k->span, "fragments and named values need more memory than the simulation may hold");
    m->threads = (int)threads;
    m->meeting = NEW_ARRAY(m->memory, sim_thread *, threads);
    m->tasks = 1;
    m->task_extents = NEW_ARRAY(m->memory, int64_t, k->levels.at[0].rank);
    for (int d = 0; d < k->levels.at[0].rank; d++) {
        if (!sim_evaluate_integer(m, NULL, sim_compile_integer(m->memory, m->program, k->levels.at[0].extents[d]), -1,
                                  &m->task_extents[d]))
            return false;
        if (m->task_extents[d] < 0)
            m->task_extents[d] = 0;
        m->tasks = sim_multiply(m->tasks, m->task_extents[d]);
    }
    if (k->grid &&
        (!sim_evaluate_integer(m, NULL, sim_compile_integer(m->memory, m->program, k->grid), -1, &m->grid) || m->grid < 1))
        return refuse(m, "E0711", k->span, "the grid has no block at these launch values");
    return true;
}

/* Index arrays hold what they declare, or no access through them means anything. */
static bool check_contents(sim_machine *m, const sim_array *a, const sim_object *o) {
    const kernel_array *source = a->source;
    int64_t bound, cell[16] = {0}, count = 1;
    if (!source->element_bound)
        return true;
    if (!sim_evaluate_integer(m, NULL, sim_compile_integer(m->memory, m->program, source->element_bound), -1, &bound))
        return false;
    for (int d = 0; d < source->rank; d++)
        count = sim_multiply(count, a->dims[d]);
    unsigned char *seen = source->element_injective && bound > 0 ? calloc((size_t)bound, 1) : NULL;
    bool fine = true;
    for (int64_t n = 0; n < count && fine; n++) {
        int64_t value = sim_read_unit(a, o, sim_unit_of(a, cell), 0).i;
        if (value < 0 || value >= bound || (seen && seen[value])) {
            diag_error(m->diags, "E0711", source->span, "%s holds %lld, which is %s", sim_cell_name(m, a, cell), (long long)value,
                       value < 0 || value >= bound ? "outside its bound" : "there twice");
            fine = false;
        } else if (seen) {
            seen[value] = 1;
        }
        for (int d = source->rank; d-- > 0 && ++cell[d] == a->dims[d];)
            cell[d] = 0;
    }
    free(seen);
    m->failed = m->failed || !fine;
    return fine;
}

static bool check_aliases(sim_machine *m, const sim_binding *bindings) {
    const kernel_ir *k = m->kernel;
    for (int i = 0; i < k->arrays.count; i++)
        for (int j = 0; j < i; j++) {
            const kernel_array *x = k->arrays.at[i], *y = k->arrays.at[j];
            if (x->space != SPACE_GLOBAL || y->space != SPACE_GLOBAL || x->view_of || y->view_of ||
                (x->use == USE_IN && y->use == USE_IN))
                continue;
            uintptr_t p = (uintptr_t)bindings[i].bytes, q = (uintptr_t)bindings[j].bytes;
            if (p && q && p < q + (uintptr_t)m->globals[j].size && q < p + (uintptr_t)m->globals[i].size)
                return refuse(m, "E0711", x->span,
                              arena_printf(m->memory, "`%s` and `%s` share memory: arguments never alias", y->name, x->name));
        }
    return true;
}

static bool bind_arrays(sim_machine *m, const sim_binding *bindings) {
    const kernel_ir *k = m->kernel;
    m->globals = NEW_ARRAY(m->memory, sim_object, k->arrays.count);
    for (int i = 0; i < k->arrays.count; i++) {
        const sim_array *a = &m->arrays[i];
        const kernel_array *source = a->source;
        if (source->space != SPACE_GLOBAL || source->view_of)
            continue;
        sim_object *o = &m->globals[i];
        if (!sim_make_object(m, a, source->use != USE_IN, o))
            return false;
        bool given = source->use == USE_IN || (source->use == USE_UPDATE && !source->unset);
        if (o->size > bindings[i].size && (given || bindings[i].bytes))
            return refuse(m, "E0711", source->span,
                          arena_printf(m->memory, "`%s` takes %lld bytes at these launch values, not %lld", source->name,
                                       (long long)o->size, (long long)bindings[i].size));
        if (bindings[i].bytes && (given || bindings[i].written))
            memcpy(o->bytes, bindings[i].bytes, (size_t)o->size);
        for (int64_t n = 0; o->cells && n < o->size / o->grain; n++)
            o->cells[n].written = bindings[i].written ? bindings[i].written[n * o->grain] : given;
    }
    for (int i = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->space == SPACE_GLOBAL && !check_contents(m, &m->arrays[i], &m->globals[m->arrays[i].root]))
            return false;
    return check_aliases(m, bindings);
}

static void give_back(sim_machine *m, sim_binding *bindings) {
    for (int i = 0; m->globals && i < m->kernel->arrays.count; i++) {
        sim_object *o = &m->globals[i];
        if (!o->bytes || !o->cells || !bindings[i].bytes || bindings[i].size < o->size)
            continue;
        memcpy(bindings[i].bytes, o->bytes, (size_t)o->size);
        for (int64_t n = 0; bindings[i].written && n < o->size; n++)
            bindings[i].written[n] = o->cells[n / o->grain].written;
    }
}

/* A permutation of the groups, made as it is asked for. */
static int64_t group_at(sim_machine *m, int64_t *order, int64_t n, int64_t count) {
    if (!order)
        return n;
    int64_t other = n + (int64_t)(sim_random(m) % (uint64_t)(count - n)), number = order[other];
    order[other] = order[n];
    order[n] = number;
    return number;
}

static void run_groups(sim_machine *m) {
    int64_t count = m->kernel->grid ? m->grid : m->tasks, *order = NULL;
    if (count > UINT32_MAX - 1) {
        refuse(m, "E0710", m->kernel->span, "more tasks than the simulator counts");
        return;
    }
    if (m->options.seed && count < 1 << 24 && (order = malloc(sizeof *order * (size_t)(count ? count : 1))))
        for (int64_t n = 0; n < count; n++)
            order[n] = n;
    for (int64_t n = 0; n < count && !m->stop && !m->failed && !m->stuck; n++) {
        sim_group group;
        int64_t number = group_at(m, order, n, count);
        if (sim_make_group(m, &group, (uint32_t)(number + 1), m->kernel->grid ? 0 : number))
            sim_execute(m, &group);
        sim_free_group(m, &group);
        m->report->tasks += m->kernel->grid ? (m->tasks > number ? (m->tasks - 1 - number) / m->grid + 1 : 0) : 1;
        m->report->threads += m->threads;
    }
    free(order);
}

bool sim_run_bound(arena *a, const kernel_ir *k, sim_binding *bindings, const int64_t *integers, const float *floats,
                   const sim_options *options, sim_report *report, diag_list *diags) {
    sim_machine m = {.arena = a, .kernel = k, .report = report, .diags = diags};
    if (options)
        m.options = *options;
    m.options.step_limit = m.options.step_limit > 0 ? m.options.step_limit : 100000000;
    m.options.byte_limit = m.options.byte_limit > 0 ? m.options.byte_limit : (int64_t)1 << 30;
    m.options.index_bits = m.options.index_bits == 32 ? 32 : 64;
    m.options.finding_limit = m.options.finding_limit > 0 ? m.options.finding_limit : 8;
    m.options.finding_limit += report->findings.count; /* of kernels before this one in a plan */
    int before = report->findings.count;
    m.random = m.options.seed * 0x9E3779B97F4A7C15u | 1;
    if (!kernel_check(k, diags))
        return false;
    m.memory = arena_new();
    m.program = sim_compile(m.memory, k, diags);
    bool ready = m.program && bind_values(&m, integers, floats) && check_values(&m) && shape_levels(&m) && sim_shape_arrays(&m) &&
                 bind_arrays(&m, bindings);
    if (ready) {
        run_groups(&m);
        report->finished = !m.stop && !m.stuck && !m.failed;
        if (report->finished) {
            sim_finish_contributions(&m);
            sim_check_promises(&m);
        }
        give_back(&m, bindings);
    }
    for (int i = 0; m.globals && i < k->arrays.count; i++)
        sim_free_object(&m.globals[i]);
    arena_free(m.memory);
    return ready && !m.failed && report->finished && report->findings.count == before;
}

bool sim_run(arena *a, const kernel_ir *k, const sim_arguments *args, const sim_options *options, sim_report *report,
             diag_list *diags) {
    sim_binding *bindings = NEW_ARRAY(a, sim_binding, k->arrays.count);
    for (int i = 0, next = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->space == SPACE_GLOBAL) {
            bindings[i].bytes = args->arrays[next++];
            bindings[i].size = sim_array_bytes(k, k->arrays.at[i], args->integers);
        }
    memset(report, 0, sizeof *report);
    return sim_run_bound(a, k, bindings, args->integers, args->floats, options, report, diags);
}
