/* Rows. */
#include "bench/row.h"
#include "bench/clock.h"
#include <math.h>
#include <string.h>

/* JSON has no infinities: a number that is none is null. */
static json_t *number(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

static void set(json_t *row, const char *key, json_t *value) {
    json_object_set_new(row, key, value);
}

void row_add_cell(json_t *row, const bench_work *w, const lab_cell *cell) {
    json_t *symbols = json_object();
    const binding *b = &w->call->binding;
    char hash[33];
    for (int i = 0; i < b->signature.symbol_count; i++)
        if (b->known[i] && b->signature.symbols[i]->kind != INDEX_TILE)
            json_object_set_new(symbols, b->signature.symbols[i]->name, json_integer(b->values[i]));
    work_hash_inputs(w, hash);
    set(row, "kernel", json_string(w->name));
    set(row, "kernel_hash", json_string(w->kernel_hash));
    set(row, "shape", json_string(w->shape));
    set(row, "symbols", symbols);
    if (cell->file)
        set(row, "file", json_string(cell->file));
    set(row, "arguments", json_string(cell->arguments ? cell->arguments : ""));
    set(row, "types", json_string(work_types(w)));
    set(row, "layout", json_string("row-major"));
    set(row, "threads", json_integer(cell->threads));
    set(row, "mode", json_string(cell->cold ? "cold" : "warm"));
    set(row, "buffer_sets", json_integer(w->sets));
    set(row, "memory", json_string(w->shared_file >= 0 ? "shared between processes" : "private"));
    set(row, "recipe", json_string("random"));
    set(row, "seed", json_integer(7));
    set(row, "input_hash", json_string(hash));
}

void row_add_arm(json_t *row, const bench_arm *arm, const char *words) {
    set(row, "arm", json_string(words));
    if (!arm)
        return;
    set(row, "arm_kind", json_string(arm->kind->name));
    set(row, "arm_threads", json_integer(arm->threads));
    set(row, "clock", json_string(arm->clock));
    json_object_update(row, arm->description);
}

void row_add_check(json_t *row, const bench_work *w, const arm_check *c) {
    (void)w;
    set(row, "reference",
        json_string(c->exact ? "f64 on the same bytes, and whole numbers to the bit" : "f64 on the same bytes"));
    set(row, "checked_data", json_string(c->data));
    set(row, "compared", json_integer(c->compared));
    set(row, "vacuous", json_integer(c->vacuous));
    set(row, "error_max", number(c->worst_error));
    set(row, "bound", number(c->worst_bound));
    set(row, "error_of_bound", number(c->worst_ratio));
    set(row, "output_hash", json_string(c->output_hash));
}

void row_add_times(json_t *row, const bench_arm *arm, const arm_times *t) {
    set(row, "repetitions", json_integer(t->samples.count));
    set(row, "launches_a_sample", json_integer(t->repeats));
    set(row, "t_min_ns", number(t->least));
    set(row, "t_median_ns", number(t->median));
    set(row, "t_p95_ns", number(t->p95));
    set(row, "buffers", json_string(arm->shares_buffers ? "the same" : "copied outside the time"));
    set(row, "status", json_string("pass"));
}

void row_drop_times(json_t *row) {
    static const char *const keys[] = {"t_min_ns", "t_median_ns", "t_p95_ns", "ratio", "marginal", "ceiling", "verdict"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_object_del(row, keys[i]);
}

void row_add_marginal(json_t *row, const marginal_cost *m) {
    if (!m->measured)
        return;
    json_t *launches = json_array(), *times = json_array();
    for (int i = 0; i < m->points; i++) {
        json_array_append_new(launches, json_integer((json_int_t)m->launches[i]));
        json_array_append_new(times, number(m->nanoseconds[i]));
    }
    set(row, "marginal",
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ns", number(m->fit.slope), "isolated_ns", number(m->isolated_ns),
                  "of_isolated", number(m->overlap), "intercept_ns", number(m->fit.intercept), "r2", number(m->fit.r2),
                  "launches", launches, "times_ns", times));
}

static json_t *pair_object(const paired_result *p) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o}", "median", number(p->ratio), "low", number(p->low), "high",
                     number(p->high), "coverage", number(p->coverage), "spread", number(p->spread), "rounds", p->rounds, "above",
                     p->above, "below", p->below, "sign_p", number(p->sign_p));
}

void row_add_pair(json_t *row, const char *first, const paired_result *pair, const paired_result *control, double smallest_claim,
                  double threshold) {
    json_t *c = pair_object(control);
    set(c, "smallest_claim", number(smallest_claim));
    set(row, "control", c);
    if (!pair)
        return;
    json_t *ratio = pair_object(pair);
    set(ratio, "first", json_string(first));
    set(row, "ratio", ratio);
    set(row, "verdict", json_string(claim_names[statistics_claim(pair, smallest_claim)]));
    if (threshold > 0) {
        static const char *const words[] = {
            [CLAIM_INCONCLUSIVE] = "inconclusive", [CLAIM_FASTER] = "reached", [CLAIM_SLOWER] = "not reached"};
        set(row, "threshold",
            json_pack("{s:f, s:s}", "ratio", threshold, "verdict", words[statistics_threshold(pair, threshold)]));
    }
}

void row_add_ceiling(json_t *row, const work_amount *w, const ceiling_share *s, double floor_ns, double read, double copy,
                     double fma, double matrix) {
    bool known = w->bytes_read >= 0;
    set(row, "bytes", known ? number(w->bytes_read + w->bytes_written) : json_null());
    set(row, "operations", known ? number(w->operations) : json_null());
    set(row, "ceiling",
        json_pack("{s:s?, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "binds", s->name, "percent",
                  s->name ? number(s->percent) : json_null(), "launch_ns", number(floor_ns), "launch_bound", s->launch_bound,
                  "read_per_second", number(read), "copy_per_second", number(copy), "fma_per_second", number(fma),
                  "matrix_per_second", number(matrix)));
}

void row_set_status(json_t *row, const char *status, const char *reason) {
    set(row, "status", json_string(status));
    set(row, "reason", reason ? json_string(reason) : json_null());
}

void row_settle(json_t *row) {
    static const char *const columns[] = {
        "target",     "device",        "driver",       "version",   "chosen",   "schedule",    "code_hash",
        "code_bytes", "private_bytes", "shared_bytes", "registers", "spills",   "compile_ms",  "passes_ms",
        "cache_hit",  "reference",     "error_max",    "bound",     "t_min_ns", "t_median_ns", "t_p95_ns",
        "ratio",      "control",       "verdict",      "marginal",  "ceiling",  "state",       "clocks",
        "power",      "temperature",   "throttle",     "threshold", "expected", "output_hash", "warnings"};
    if (!strcmp(json_string_value(json_object_get(row, "status")), "pass"))
        set(row, "reason", json_null());
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!json_object_get(row, columns[i]))
            set(row, columns[i], json_null());
}
