/* Findings as rows of a store. */
#include "probe/probe.h"
#include <string.h>

static const char *status_text(fact_status s) {
    return s == FACT_FOUND ? "found" : s == FACT_UNREACHABLE ? "not told apart" : "not determined";
}

static json_t *row_of(const char *device, const probe_result *r, const char *kind, const char *fact, const char *verdict,
                      const char *status) {
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s?}", "kind", kind, "device", device, "description", r->description,
                     "instruction", r->instruction, "fact", fact, "verdict", verdict, "status", status, "claim", r->claim);
}

static json_t *unit_json(arena *a, const matrix_unit *u) {
    json_t *o = json_object();
    for (int p = 0; p < PARAMETER_COUNT; p++)
        json_object_set_new(o, parameter_name((matrix_parameter)p), json_integer(parameter_get(u, (matrix_parameter)p)));
    json_t *words = json_array();
    bool whole = !number_table[u->c].exponent_bits;
    for (int p = 0; p < PARAMETER_COUNT; p++)
        if (whole == (p == PARAMETER_SATURATE))
            json_array_append_new(words,
                                  json_string(parameter_text(a, u, (matrix_parameter)p, parameter_get(u, (matrix_parameter)p))));
    return json_pack("{s:s, s:s, s:s, s:i, s:o, s:o}", "a", number_table[u->a].name, "b", number_table[u->b].name, "c",
                     number_table[u->c].name, "k", u->k, "parameters", o, "words", words);
}

/* A dot in codes, so that anyone may ask it again, with the device's answer and the model's. */
static json_t *dot_json(const probe_result *r, const matrix_question *q) {
    json_t *a = json_array(), *b = json_array();
    for (int i = 0; i < r->judged.k; i++) {
        json_array_append_new(a, json_integer(q->a[i]));
        json_array_append_new(b, json_integer(q->b[i]));
    }
    return json_pack("{s:o, s:o, s:I, s:I, s:I}", "a", a, "b", b, "c", (json_int_t)q->c, "answer", (json_int_t)q->answer, "model",
                     (json_int_t)matrix_unit_dot(&r->judged, q->a, q->b, q->c));
}

static void add_rate(const char *device, const probe_result *r, const rate_finding *f, const char *fact, const char *asks,
                     const char *method, json_t *rows) {
    if (!f->asked)
        return;
    json_t *row = row_of(device, r, "finding", fact, f->verdict, f->determined ? "found" : "not determined"),
           *evidence = json_array();
    for (int e = 0; e < f->evidence.count; e++)
        json_array_append_new(evidence, json_string(f->evidence.at[e]));
    json_object_set_new(row, "asks", json_string(asks));
    json_object_set_new(row, "method", json_string(method));
    json_object_set_new(row, "evidence", evidence);
    json_object_set_new(row, "claim", json_string("the instruction is listed; what makes it is not said"));
    json_object_set_new(row, "ratio", json_real(f->ratio));
    json_object_set_new(row, "numbers", json_pack("{s:f, s:f}", "multiply_adds_per_second", f->per_second, "watts", f->watts));
    json_array_append_new(rows, row);
}

static json_t *lines_json(const char *const *lines, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_string(lines[i]));
    return list;
}

static void add_layout(const char *device, const probe_result *r, const layout_finding *f, const char *fact, json_t *rows) {
    if (!f->asked)
        return;
    json_t *row = row_of(device, r, "layout", fact, f->verdict,
                         f->unsteady     ? "not determined"
                         : f->mismatches ? "contradicted"
                                         : "found");
    json_object_set_new(row, "evidence", lines_json(f->differences.at, f->differences.count));
    json_object_set_new(row, "questions", json_integer(f->pairs));
    json_object_set_new(row, "claim", json_string("the documented layouts of the instruction"));
    json_object_set_new(
        row, "method",
        json_string("One-hot operands: every position of a with every position of b; which element of the result is set"));
    json_array_append_new(rows, row);
}

static void add_others(const char *device, const probe_result *r, json_t *rows) {
    for (int i = 0; i < PROBE_MOST_PLACES; i++)
        add_layout(device, r, &r->placed[i], r->place_names[i], rows);
    if (r->known.asked) {
        json_t *row = row_of(device, r, "finding", "on record", r->known.verdict,
                             r->known.as_recorded == r->known.asked ? "found" : "contradicted");
        json_object_set_new(row, "asks", json_string("Which of the published models do the answers on record refute?"));
        json_object_set_new(row, "method", json_string("Dots on which published models of matrix units differ, asked again."));
        json_object_set_new(row, "questions", json_integer(r->known.asked));
        json_object_set_new(row, "evidence", lines_json(r->known.evidence.at, r->known.evidence.count));
        json_array_append_new(rows, row);
    }
    for (int i = 0; i < PROBE_MOST_RIVALS; i++) {
        const compare_finding *f = &r->compared[i];
        if (!f->asked)
            continue;
        json_t *row = row_of(device, r, "finding", f->name, f->verdict, "found");
        json_object_set_new(row, "asks", json_string("Are the bits the same?"));
        json_object_set_new(row, "method", json_string("The same random dots of eight kinds, put to both."));
        json_object_set_new(row, "questions", json_integer(f->dots));
        json_object_set_new(row, "evidence", lines_json(f->evidence.at, f->evidence.count));
        json_object_set_new(row, "numbers", json_pack("{s:f}", "share_that_differs", (double)f->differ / (double)f->dots));
        json_array_append_new(rows, row);
    }
}

void probe_rows(arena *a, const char *device, const probe_result *r, json_t *rows) {
    add_layout(device, r, &r->layout, "layout", rows);
    add_others(device, r, rows);
    add_rate(device, r, &r->rate, "speed", "Is the instruction made in hardware, or of others?",
             "Independent chains of it, timed in pairs with the plainest instruction of the same unit (f16, or fma of f32 on a "
             "processor): at "
             "least 3/4 of what its operands' bits "
             "allow (1.5 times for 8 bits). And the opcodes in the machine code.",
             rows);
    add_rate(device, r, &r->place, "place", "Where does it execute?",
             "Three signals: its multiply-adds a second over those of the threads' own units (fma in f32), over those of the "
             "older instruction for the same operands, "
             "and the energy of a multiply-add, from what the device says that it draws during more than a second of each.",
             rows);
    for (int i = 0; i < r->finding.facts.count; i++) {
        const matrix_fact *f = &r->finding.facts.at[i];
        json_t *row = row_of(device, r, "finding", f->row->name, f->verdict, status_text(f->status)), *evidence = json_array();
        for (int e = 0; e < f->evidence.count; e++)
            json_array_append_new(evidence, json_string(f->evidence.at[e]));
        json_object_set_new(row, "asks", json_string(f->row->asks));
        json_object_set_new(row, "method", json_string(f->row->method));
        json_object_set_new(row, "evidence", evidence);
        json_object_set_new(row, "questions", json_integer(f->questions));
        json_array_append_new(rows, row);
    }
    if (!r->has_judged)
        return;
    const char *verdict = arena_printf(a, "%lld of %lld random dots differ from the model", (long long)r->check.mismatches,
                                       (long long)r->check.dots);
    json_t *row = row_of(device, r, "model", "model", verdict, r->check.mismatches ? "contradicted" : "found"),
           *plants = json_array();
    for (int i = 0; i < r->plant_count; i++)
        json_array_append_new(plants,
                              json_pack("{s:s, s:I, s:I}", "planted", r->plants[i].name, "mismatches",
                                        (json_int_t)r->plant_checks[i].mismatches, "dots", (json_int_t)r->plant_checks[i].dots));
    json_object_set_new(row, "unit", unit_json(a, &r->judged));
    json_object_set_new(row, "recorded", json_boolean(r->judged_is_recorded));
    json_object_set_new(row, "dots", json_integer(r->check.dots));
    json_object_set_new(row, "mismatches", json_integer(r->check.mismatches));
    if (r->check.mismatches)
        json_object_set_new(row, "first", dot_json(r, &r->check.first));
    json_object_set_new(row, "plants", plants);
    json_object_set_new(row, "seconds", json_real(r->seconds));
    json_array_append_new(rows, row);
}
