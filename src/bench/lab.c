/* Measuring a cell. */
#define _GNU_SOURCE
#include "bench/lab.h"
#include "bench/check.h"
#include "bench/clock.h"
#include "bench/machine.h"
#include "bench/row.h"
#include "bench/store.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What belongs to a number of threads. */
typedef struct lab_threads {
    int threads;
    session *session;
    ceiling_probe *probe;
    ceilings ceilings;
    bool has_ceilings;
} lab_threads;

typedef struct device_ceilings {
    const char *device;
    ceilings ceilings; /* at its memory_bytes */
} device_ceilings;

struct lab {
    arena *arena;
    lab_options options;
    json_t *environment;
    char hash[13];
    char *run;
    json_t *provenance; /* of every row */
    VEC(lab_threads *) threads;
    VEC(device_ceilings) devices;
};

void lab_time_text(char *out, size_t size) {
    time_t now = time(NULL);
    struct tm t;
    gmtime_r(&now, &t);
    strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &t);
}

static bool keep(lab *l, json_t *row, json_t *rows, diag_list *diags) {
    bool good = !l->options.folder || store_append(l->options.folder, l->hash, row, diags);
    if (rows)
        json_array_append(rows, row);
    json_decref(row);
    return good;
}

/* The commit of the sources beside the kernels, and whether they were changed since. */
static void add_commit(json_t *o, const char *folder) {
    const char *const commit[] = {"git", "-C", folder, "rev-parse", "--short=12", "HEAD", NULL};
    const char *const changed[] = {"git", "-C", folder, "status", "--porcelain", "--untracked-files=no", NULL};
    char *head = folder ? machine_ask(commit) : NULL, *first = head ? machine_ask(changed) : NULL;
    json_object_set_new(o, "commit", head && *head ? json_string(head) : json_null());
    json_object_set_new(o, "dirty", first ? json_boolean(*first) : json_null());
    free(head);
    free(first);
}

static json_t *new_row(const lab *l, const char *kind) {
    char now[32];
    json_t *row = json_pack("{s:i, s:s}", "schema", STORE_SCHEMA, "kind", kind);
    json_object_update(row, l->provenance);
    lab_time_text(now, sizeof now);
    json_object_set_new(row, "utc", json_string(now));
    return row;
}

lab *lab_open(const lab_options *o, diag_list *diags) {
    arena *a = arena_new();
    lab *l = NEW(a, lab);
    char now[32], stamp[32];
    l->arena = a;
    l->options = *o;
    l->environment = machine_environment();
    machine_environment_hash(l->environment, l->hash);
    lab_time_text(now, sizeof now);
    size_t n = 0;
    for (const char *c = now; *c; c++)
        if (*c != '-' && *c != ':' && *c != 'Z')
            stamp[n++] = *c;
    stamp[n] = 0;
    l->run = o->run ? arena_strdup(a, o->run) : arena_printf(a, "%s-%ld", stamp, (long)getpid());
    l->provenance =
        json_pack("{s:s, s:i, s:s, s:s}", "run", l->run, "launch", o->launch, "environment", l->hash, "command", o->command);
    add_commit(l->provenance, o->kernels);
    json_t *row = new_row(l, "run");
    json_object_set(row, "machine", l->environment);
    json_object_set_new(row, "overrides", machine_overrides());
    json_object_set_new(row, "gpus", machine_gpus());
    json_object_set_new(row, "threshold", o->threshold > 0 ? json_real(o->threshold) : json_null());
    if (keep(l, row, NULL, diags))
        return l;
    lab_close(l);
    return NULL;
}

void lab_close(lab *l) {
    if (!l)
        return;
    for (int i = 0; i < l->threads.count; i++) {
        ceiling_close(l->threads.at[i]->probe);
        session_close(l->threads.at[i]->session);
    }
    json_decref(l->environment);
    json_decref(l->provenance);
    arena_free(l->arena);
}

const char *lab_run(const lab *l) {
    return l->run;
}

const char *lab_environment(const lab *l) {
    return l->hash;
}

static lab_threads *threads_of(lab *l, int threads, diag_list *diags) {
    for (int i = 0; i < l->threads.count; i++)
        if (l->threads.at[i]->threads == threads)
            return l->threads.at[i];
    char text[16];
    snprintf(text, sizeof text, "%d", threads);
    setenv("TILEC_THREADS", text, 1); /* the device reads it when it is opened, and so do schedules */
    lab_threads *t = NEW(l->arena, lab_threads);
    t->threads = threads;
    t->session = session_open("cpu", diags);
    if (!t->session)
        return NULL;
    VEC_PUSH(l->arena, l->threads, t);
    return t;
}

const ceilings *lab_ceilings(lab *l, int threads, diag_list *diags) {
    lab_threads *t = threads_of(l, threads, diags);
    if (!t)
        return NULL;
    if (t->has_ceilings)
        return &t->ceilings;
    if (l->options.progress)
        l->options.progress(l->options.context, "ceilings", threads, threads);
    machine_mark from = machine_now(NULL, 0);
    t->probe = ceiling_open(threads, diags);
    if (!t->probe || !ceiling_measure(t->probe, t->session, &t->ceilings, diags))
        return NULL;
    machine_mark to = machine_now(NULL, 0);
    t->has_ceilings = true;
    const ceilings *c = &t->ceilings;
    json_t *row = new_row(l, "ceilings");
    json_t *facts = json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:o, s:s}", "threads", threads, "launch_ns", c->launch_ns,
                              "launch_all_ns", c->launch_all_ns, "fma_per_second", c->fma_per_second, "matrix_per_second",
                              c->matrix_per_second, "read_per_second", c->read_memory, "copy_per_second", c->copy_memory,
                              "memory_bytes", (json_int_t)c->memory_bytes, "state", machine_state(&from, &to), "status", "pass");
    json_object_update(row, facts);
    json_decref(facts);
    return keep(l, row, NULL, diags) ? c : NULL;
}

/* ---- one cell ---- */

typedef struct measuring {
    lab *lab;
    const lab_cell *cell;
    bench_work *work;
    bench_work *works[PAIR_MOST_ARMS]; /* by arm: the cell's, or of a kernel beside it */
    const char *words[PAIR_MOST_ARMS]; /* by arm: what opens it */
    lab_threads *threads;
    bench_arm *arms[PAIR_MOST_ARMS]; /* that were opened; NULL where not */
    arm_check checks[PAIR_MOST_ARMS];
    json_t *rows[PAIR_MOST_ARMS];
    int count;
    json_t *out;
    diag_list *diags;
} measuring;

/* Moves diagnostics to the main list. */
static void pass_on(diag_list *from, diag_list *to) {
    for (int i = 0; i < from->items.count; i++) {
        VEC_PUSH(to->arena, to->items, from->items.at[i]);
        to->errors += from->items.at[i]->severity == SEVERITY_ERROR;
    }
}

static const char *last_message(const diag_list *d) {
    return d->items.count ? d->items.at[d->items.count - 1]->message : "it failed";
}

static void progress(const measuring *m, const char *what, int done, int of) {
    if (m->lab->options.progress)
        m->lab->options.progress(m->lab->options.context, what, done, of);
}

static void pair_progress(void *context, int done, int of) {
    progress(context, "rounds", done, of);
}

/* The arms that are still there, of one work (NULL: of any), and their numbers. */
static int arms_of(const measuring *m, const bench_work *w, bench_arm **open, int *at) {
    int count = 0;
    for (int i = 0; i < m->count; i++)
        if (m->arms[i] && (!w || m->works[i] == w)) {
            at[count] = i;
            open[count++] = m->arms[i];
        }
    return count;
}

/* Opens every arm. False when one failed, rather than had nothing for this work. */
static bool open_arms(measuring *m) {
    bool held = true;
    for (int i = 0; i < m->count; i++) {
        diag_list own;
        bool unsupported = false;
        diag_init(&own, m->diags->arena);
        m->arms[i] = arm_open(m->works[i], m->words[i], &unsupported, &own);
        row_add_arm(m->rows[i], m->arms[i], m->words[i]);
        if (m->arms[i])
            continue;
        row_set_status(m->rows[i], unsupported ? "unsupported" : "fail", last_message(&own));
        held = held && unsupported;
        if (!unsupported)
            pass_on(&own, m->diags);
    }
    return held;
}

static bool check_arms_of(measuring *m, bench_work *w) {
    bench_arm *open[PAIR_MOST_ARMS];
    arm_check checks[PAIR_MOST_ARMS];
    int at[PAIR_MOST_ARMS], count = arms_of(m, w, open, at);
    checker *c = checker_open(w, m->diags);
    bool held = c != NULL;
    for (int i = 0; c && i < count; i++)
        progress(m, "values", at[i] + 1, m->count);
    bool judged = c && checker_values(c, open, count, checks, m->diags);
    for (int i = 0; i < count; i++) {
        bool passed = judged && checks[i].passed;
        if (judged) {
            m->checks[at[i]] = checks[i];
            row_add_check(m->rows[at[i]], w, &checks[i]);
        }
        if (passed)
            continue;
        row_set_status(m->rows[at[i]], "fail", judged ? last_message(m->diags) : "the reference could not be computed");
        arm_close(m->arms[at[i]]);
        m->arms[at[i]] = NULL;
        held = false;
    }
    checker_close(c);
    return held;
}

static bool check_arms(measuring *m) {
    bool held = true;
    for (int i = 0; i < m->count; i++)
        if (!i || m->works[i] != m->works[i - 1])
            held = check_arms_of(m, m->works[i]) && held;
    return held;
}

/* How many tasks a launch of our kernel has; 0 for other arms. */
static int64_t tasks_of(bench_arm *arm) {
    run_call *c = arm_call(arm);
    int64_t most = 0;
    for (int i = 0; c && i < c->steps.count; i++) {
        const call_step *s = &c->steps.at[i];
        const kernel_ir *k = proved_plan_get(s->compiled->plan)->variants.at[0].kernel;
        int64_t tasks = 1, extent = 1;
        for (int d = 0; s->launch_integers && k->levels.count && d < k->levels.at[0].rank; d++)
            if (launch_evaluate(k, k->levels.at[0].extents[d], s->launch_integers, &extent))
                tasks *= extent;
        most = tasks > most ? tasks : most;
    }
    return most;
}

/* Bytes that no device's cache holds. */
enum { DEVICE_MEMORY_BYTES = 512 << 20 };

/* Arms that are timed by a device's clock stand beside that device's ceilings, at the work's own size or, cold, at that of memory. */
static bool add_device_ceilings(measuring *m, const char *device, const pair_table *table, const int *at, int count) {
    const work_amount *own = &m->work->amount;
    bool sized = !m->cell->cold && own->bytes_read >= 0;
    int64_t bytes = sized ? (int64_t)(own->bytes_read + own->bytes_written) : DEVICE_MEMORY_BYTES;
    device_ceilings *d = NULL;
    for (int i = 0; i < m->lab->devices.count && !d; i++)
        if (!strcmp(m->lab->devices.at[i].device, device) && m->lab->devices.at[i].ceilings.memory_bytes == bytes)
            d = &m->lab->devices.at[i];
    if (!d) {
        device_ceilings one = {.device = arena_strdup(m->lab->arena, device)};
        if (!ceiling_measure_device(m->threads->session, device, bytes, &one.ceilings, m->diags))
            return false;
        VEC_PUSH(m->lab->arena, m->lab->devices, one);
        d = &m->lab->devices.at[m->lab->devices.count - 1];
    }
    const ceilings *c = &d->ceilings;
    for (int i = 0; i < count; i++) {
        const work_amount *w = &m->works[at[i]]->amount;
        ceiling_share share = ceiling_judge(c, w->bytes_read, w->bytes_written, w->operations, w->narrow_operations,
                                            c->read_memory, c->copy_memory, c->launch_ns, table->arms[i].median);
        row_add_ceiling(m->rows[at[i]], w, &share, c->launch_ns, c->read_memory, c->copy_memory, c->fma_per_second,
                        c->matrix_per_second);
    }
    return true;
}

static bool add_ceilings(measuring *m, const pair_table *table, const int *at, int count) {
    const char *device = json_string_value(json_object_get(m->arms[0]->description, "device"));
    if (device && !strcmp(m->arms[0]->clock, CLOCK_DEVICE_NAME))
        return add_device_ceilings(m, device, table, at, count);
    const ceilings *c = lab_ceilings(m->lab, m->cell->threads, m->diags);
    if (!c)
        return false;
    const work_amount *own = &m->work->amount;
    double read = c->read_memory, copy = c->copy_memory;
    if (!m->cell->cold && own->bytes_read >= 0 &&
        !ceiling_bandwidth(m->threads->probe, (int64_t)(own->bytes_read + own->bytes_written), &read, &copy, m->diags))
        return false;
    for (int i = 0; i < count; i++) {
        const work_amount *w = &m->works[at[i]]->amount;
        /* the pool that runs ours wakes for several tasks only, and strangers have their own ways */
        bool one = m->cell->threads == 1 || tasks_of(m->arms[at[i]]) <= 1;
        double floor = one ? c->launch_ns : c->launch_all_ns;
        ceiling_share share =
            ceiling_judge(c, w->bytes_read, w->bytes_written, w->operations, 0, read, copy, floor, table->arms[i].median);
        row_add_ceiling(m->rows[at[i]], w, &share, floor, read, copy, c->fma_per_second, c->matrix_per_second);
    }
    return true;
}

/* The arms that are still there are timed; false when that failed. */
static bool time_arms(measuring *m) {
    const lab_options *o = &m->lab->options;
    bench_arm *open[PAIR_MOST_ARMS];
    pid_t others[PAIR_MOST_ARMS];
    int at[PAIR_MOST_ARMS], count = arms_of(m, NULL, open, at);
    if (!count || !m->arms[0]) /* nothing to compare with */
        return count == 0;
    for (int i = 0; i < count; i++)
        others[i] = open[i]->process;
    for (int i = 0; i < m->count; i++)
        if (!i || m->works[i] != m->works[i - 1])
            work_spread(m->works[i]);
    pair_table *table = NEW(m->work->arena, pair_table);
    pair_options p = {.rounds = o->rounds,
                      .sample_ns = o->sample_ms * 1e6,
                      .confidence = 0.95,
                      .settle = true,
                      .progress = pair_progress,
                      .context = m};
    machine_mark from = machine_now(others, count);
    if (!pair_measure(m->work->arena, open, count, &p, table, m->diags))
        return false;
    machine_mark to = machine_now(others, count);
    json_t *state = machine_state(&from, &to);
    for (int i = 0; i < count; i++) {
        marginal_cost marginal = {0};
        int errors = m->diags->errors;
        progress(m, "marginal cost", i + 1, count);
        if (o->marginal_budget_ms > 0 && !m->cell->cold &&
            !marginal_measure(open[i], table->arms[i].median, o->marginal_budget_ms * 1e6, &marginal, m->diags) &&
            m->diags->errors > errors)
            return false;
        row_add_times(m->rows[at[i]], open[i], &table->arms[i]);
        row_add_marginal(m->rows[at[i]], &marginal);
        const char *first = m->words[0];
        if (m->works[at[i]] != m->work)
            first = arena_printf(m->work->arena, "%s: %s", m->work->name, first);
        row_add_pair(m->rows[at[i]], first, i ? &table->arms[i].against_first : NULL, &table->control, table->smallest_claim,
                     o->threshold);
        json_object_set(m->rows[at[i]], "state", state);
    }
    json_decref(state);
    return !o->ceilings || add_ceilings(m, table, at, count);
}

/* An arm whose values are wrong after the timing was not measured, whatever its times say. */
static bool check_again_of(measuring *m, bench_work *w) {
    bool held = true;
    bench_arm *open[PAIR_MOST_ARMS];
    arm_check checks[PAIR_MOST_ARMS];
    int at[PAIR_MOST_ARMS], count = arms_of(m, w, open, at);
    checker *c = count ? checker_open(w, m->diags) : NULL;
    bool judged = c && checker_fresh(c, open, count, checks, m->diags);
    for (int i = 0; i < count; i++)
        if (!judged || !checks[i].passed) {
            row_drop_times(m->rows[at[i]]);
            row_set_status(m->rows[at[i]], "fail", "its values were wrong after the timing");
            held = false;
        }
    checker_close(c);
    return held;
}

static bool check_again(measuring *m) {
    bool held = true;
    for (int i = 0; i < m->count; i++)
        if (!i || m->works[i] != m->works[i - 1])
            held = check_again_of(m, m->works[i]) && held;
    return held;
}

static bool record_threshold(measuring *m) {
    json_t *row = new_row(m->lab, "threshold");
    row_add_cell(row, m->work, m->cell);
    json_t *arms = json_array();
    for (int i = 0; i < m->count; i++)
        json_array_append_new(arms, json_string(m->words[i]));
    json_object_set_new(row, "arms", arms);
    json_object_set_new(row, "threshold", json_real(m->lab->options.threshold));
    json_object_set_new(row, "status", json_string("pass"));
    return keep(m->lab, row, NULL, m->diags);
}

/* The work of a kernel at a shape; its arms, from number `from` to `to` - 1, are opened by `words`. False with a diagnostic. */
static bool open_work(measuring *m, const lab_cell *cell, int from, int to, const char *const *words) {
    lab *l = m->lab;
    const tile_module *module = l->options.find(l->options.find_context, cell->file, cell->kernel, m->diags);
    if (module && !m->threads)
        m->threads = threads_of(l, cell->threads, m->diags);
    if (!module || !m->threads)
        return false;
    work_request request = {.session = m->threads->session,
                            .module = module,
                            .name = cell->kernel,
                            .shape = cell->shape,
                            .arguments = cell->arguments,
                            .threads = cell->threads,
                            .reader = l->options.reader,
                            .cold = cell->cold};
    for (int i = from; i < to; i++)
        request.shared = request.shared || !strncmp(words[i - from], "python:", 7);
    bench_work *w = work_open(&request, m->diags);
    for (int i = from; w && i < to; i++) {
        m->works[i] = w;
        m->words[i] = words[i - from];
        m->rows[i] = new_row(l, "arm");
        json_object_set(m->rows[i], "compiler", json_object_get(l->environment, "compiler"));
        row_add_cell(m->rows[i], w, cell);
        if (i < cell->levers.count)
            json_object_set_new(m->rows[i], "lever", json_string(cell->levers.at[i]));
        if (from)
            json_object_set_new(m->rows[i], "beside", json_string(m->cell->kernel));
        row_set_status(m->rows[i], "skipped", NULL);
    }
    return w;
}

static bool open_works(measuring *m) {
    const lab_cell *cell = m->cell;
    bool good = open_work(m, cell, 0, cell->arms.count, cell->arms.at);
    m->work = m->works[0];
    for (int i = 0; good && i < cell->beside.count; i++) {
        const lab_beside *b = &cell->beside.at[i];
        lab_cell other = {.kernel = b->kernel,
                          .file = b->file,
                          .shape = b->shape,
                          .arguments = b->arguments,
                          .threads = cell->threads,
                          .cold = cell->cold};
        good = open_work(m, &other, cell->arms.count + i, cell->arms.count + i + 1, cell->arms.at);
    }
    return good;
}

static void close_works(measuring *m) {
    for (int i = m->count - 1; i >= 0; i--) {
        if (m->works[i] && (!i || m->works[i] != m->works[i - 1]))
            work_close(m->works[i]);
        json_decref(m->rows[i]);
    }
}

bool lab_measure(lab *l, const lab_cell *cell, json_t *rows, diag_list *diags) {
    measuring m = {.lab = l, .cell = cell, .count = cell->arms.count + cell->beside.count, .out = rows, .diags = diags};
    if (m.count > PAIR_MOST_ARMS) {
        diag_error(diags, "E1010", (source_span){0}, "%d arms: at most %d are compared at once", m.count, PAIR_MOST_ARMS);
        return false;
    }
    progress(&m, "compiling", 0, m.count);
    if (!open_works(&m)) {
        close_works(&m);
        return false;
    }
    bool held = l->options.threshold <= 0 || record_threshold(&m);
    held = held && open_arms(&m);
    held = check_arms(&m) && held;
    bool timed = time_arms(&m);
    held = timed && check_again(&m) && held;
    for (int i = 0; i < m.count; i++) {
        if (m.arms[i] && !timed)
            row_set_status(m.rows[i], m.arms[0] ? "fail" : "skipped",
                           m.arms[0] ? last_message(diags) : "there was nothing to compare with");
        row_settle(m.rows[i]);
        held = keep(l, json_incref(m.rows[i]), rows, diags) && held;
        arm_close(m.arms[i]);
    }
    close_works(&m);
    return held;
}
