/* One instruction of a device: its layout, its parameters, and the model of it on random dots. */
#include "probe/probe.h"
#include "probe/cpu_matrix.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool run_layout(arena *a, const probe_target *t, layout_finding *out, diag_list *diags) {
    fragment_layout layouts[3];
    if (!t->onehot && t->box.rows > 1)
        return layout_probe_memory(a, &t->box, out, diags);
    if (!t->onehot || !fragment_layouts_find("cuda", t->box.instruction, layouts))
        return true;
    return layout_probe(a, t, layouts, out, diags);
}

/* The same instruction with operands elsewhere, dots on record, and instructions beside it. */
static bool run_others(arena *a, const probe_target *t, const probe_options *o, probe_result *out, diag_list *diags) {
    matrix_box box;
    for (int i = 0; i < t->place_count && i < PROBE_MOST_PLACES; i++)
        if (!t->place(t->context, i, &out->place_names[i], &box, diags) || !layout_probe_memory(a, &box, &out->placed[i], diags))
            return false;
    for (int i = 0; i < t->rival_count && i < PROBE_MOST_RIVALS; i++) {
        const char *name;
        bool without_addend;
        if (!t->rival(t->context, i, &name, &without_addend, &box, diags) ||
            !compare_boxes(a, &t->box, &box, name, without_addend, 8192, o->seed + 5, &out->compared[i], diags))
            return false;
    }
    return !t->at_hand || known_dots(a, t, &out->known, diags);
}

static bool run_plants(arena *a, const probe_target *t, const probe_options *o, probe_result *out, diag_list *diags) {
    matrix_unit units[PLANT_MOST];
    out->plant_count = matrix_plants(a, &out->judged, out->plants);
    for (int i = 0; i < out->plant_count; i++)
        units[i] = out->plants[i].unit;
    if (!matrix_check_run(&t->box, units, out->plant_count, o->planted, o->seed + 2, o->workers, out->plant_checks, diags))
        return false;
    /* Some show in one dot of a million only: those are given as many as the model itself. */
    int again[PLANT_MOST], left = 0;
    matrix_check checks[PLANT_MOST];
    for (int i = 0; i < out->plant_count; i++)
        if (!out->plant_checks[i].mismatches) {
            units[left] = out->plants[i].unit;
            again[left++] = i;
        }
    if (left && !matrix_check_run(&t->box, units, left, o->dots, o->seed + 3, o->workers, checks, diags))
        return false;
    for (int i = 0; i < left; i++) {
        out->plant_checks[again[i]] = checks[i];
        out->plants_unnoticed += !checks[i].mismatches;
    }
    return true;
}

bool probe_ask(arena *a, const matrix_box *box, const probe_options *o, diag_list *diags) {
    find_options f = {o->dots / 10, o->seed, o->workers};
    matrix_check none;
    return matrix_find_ask(a, box, &f, diags) && matrix_check_run(box, NULL, 0, o->dots, o->seed + 3, o->workers, &none, diags) &&
           matrix_check_run(box, NULL, 0, o->planted, o->seed + 2, o->workers, &none, diags);
}

bool probe_run(arena *a, const probe_target *t, const probe_options *o, probe_result *out, diag_list *diags) {
    double start = now();
    *out = (probe_result){.instruction = t->box.instruction, .description = t->description, .claim = t->box.claim};
    find_options f = {o->dots / 10, o->seed, o->workers};
    if (!run_layout(a, t, &out->layout, diags) || !run_others(a, t, o, out, diags) ||
        !matrix_find(a, &t->box, &f, &out->finding, diags))
        return false;
    out->has_judged = t->recorded || out->finding.determined;
    out->judged_is_recorded = t->recorded != NULL;
    out->judged = t->recorded ? *t->recorded : out->finding.unit;
    if (out->has_judged && (!matrix_check_run(&t->box, &out->judged, 1, o->dots, o->seed + 3, o->workers, &out->check, diags) ||
                            !run_plants(a, t, o, out, diags)))
        return false;
    if (t->rate && (!rate_probe(a, t, &out->rate, diags) || !place_probe(a, t, &out->place, diags)))
        return false;
    int controlled = cpu_controlled(t, 4096, diags);
    if (controlled >= 0) {
        static const matrix_fact_row row = {
            "control",
            "Does the processor's rounding control change the answers?",
            "Random dots under every rounding mode and with the flush flags set, against the answers without.",
            {PARAMETER_COUNT},
            NULL,
            false};
        matrix_fact fact = {.row = &row, .status = FACT_FOUND, .questions = 4096 * 5};
        fact.verdict = controlled ? arena_printf(a, "%d of %d answers change with it", controlled, 4096 * 4)
                                  : "rounding control and flush flags are ignored: no answer changes with them";
        VEC_PUSH(a, out->finding.facts, fact);
    }
    out->seconds = now() - start;
    return true;
}

bool probe_holds(const probe_result *r) {
    for (int i = 0; i < PROBE_MOST_PLACES; i++)
        if (r->placed[i].mismatches)
            return false;
    return r->finding.determined && r->known.as_recorded == r->known.asked && !r->layout.mismatches && r->has_judged &&
           !r->check.mismatches;
}

static void print_check(arena *a, const probe_result *r) {
    if (!r->has_judged)
        return;
    printf("  %-13s %s unit: %" PRId64 " of %" PRId64 " random dots differ\n", "model",
           r->judged_is_recorded ? "the recorded" : "the found", r->check.mismatches, r->check.dots);
    if (r->check.mismatches) {
        const matrix_question *q = &r->check.first;
        matrix_box box = {.a = r->judged.a, .b = r->judged.b, .c = r->judged.c, .k = r->judged.k};
        printf("  %-13s %s: 0x%X, the model says 0x%X\n", "", question_text(a, &box, q), q->answer,
               matrix_unit_dot(&r->judged, q->a, q->b, q->c));
    }
    printf("  %-13s %d planted errors, a parameter a step off each: %d noticed\n", "", r->plant_count,
           r->plant_count - r->plants_unnoticed);
    for (int i = 0; i < r->plant_count; i++)
        if (!r->plant_checks[i].mismatches)
            printf("  %-13s not noticed on %" PRId64 " dots: %s\n", "", r->plant_checks[i].dots, r->plants[i].name);
}

static void print_lines(const char *name, const char *verdict, const char *const *evidence, int count) {
    printf("  %-13s %s\n", name, verdict);
    for (int e = 0; e < count; e++)
        printf("  %-13s   %s\n", "", evidence[e]);
}

static void print_others(const probe_result *r, bool evidence) {
    for (int i = 0; i < PROBE_MOST_PLACES; i++)
        if (r->placed[i].asked)
            print_lines(r->place_names[i], r->placed[i].verdict, r->placed[i].differences.at, r->placed[i].differences.count);
    if (r->known.asked)
        print_lines("on record", r->known.verdict, r->known.evidence.at, evidence ? r->known.evidence.count : 0);
    for (int i = 0; i < PROBE_MOST_RIVALS; i++)
        if (r->compared[i].asked)
            print_lines(r->compared[i].name, r->compared[i].verdict, r->compared[i].evidence.at,
                        evidence ? r->compared[i].evidence.count : 0);
}

static void print_rate(const char *name, const rate_finding *f, bool evidence) {
    if (f->asked)
        printf("  %-13s %s\n", name, f->verdict);
    for (int e = 0; evidence && e < f->evidence.count; e++)
        printf("  %-13s   %s\n", "", f->evidence.at[e]);
}

void probe_print(arena *a, const probe_result *r, bool evidence) {
    printf("%s: %s, %d dots asked, %.1f s\n", r->instruction, r->finding.determined ? "determined" : "NOT DETERMINED",
           r->finding.questions, r->seconds);
    if (r->layout.asked)
        printf("  %-13s %s\n", "layout", r->layout.verdict);
    for (int i = 0; i < r->layout.differences.count; i++)
        printf("  %-13s %s\n", "", r->layout.differences.at[i]);
    for (int i = 0; i < r->finding.facts.count; i++) {
        const matrix_fact *f = &r->finding.facts.at[i];
        printf("  %-13s %s\n", f->row->name, f->verdict);
        for (int e = 0; evidence && e < f->evidence.count; e++)
            printf("  %-13s   %s\n", "", f->evidence.at[e]);
    }
    print_others(r, evidence);
    print_rate("speed", &r->rate, evidence);
    print_rate("place", &r->place, evidence);
    print_check(a, r);
}
