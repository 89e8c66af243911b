/* Kernel IR texts on the command line: proved by themselves, and run in the simulator. */
#include "base/file.h"
#include "base/suggest.h"
#include "command/witness.h"
#include "sim/sim.h"
#include <stdlib.h>
#include <string.h>

/* What a text is proved against when no target is named: a machine with lanes and as much shared memory as any has. */
static const target_limits any_machine = {.target = "any",
                                          .private_bytes = 1 << 20,
                                          .shared_bytes = 232448,
                                          .threads_per_block = 1024,
                                          .index_bits = 64,
                                          .largest_extent = INT32_MAX,
                                          .has_lanes = true};

const target_limits *kernel_any_machine(void) {
    return &any_machine;
}

bool kernel_text_named(const char *path) {
    size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".kir") == 0;
}

kernel_ir *kernel_text_read(report *r, const char *path) {
    char *text = file_read(r->arena, path, FILE_SOURCE_LIMIT, NULL, &r->diags);
    if (!text)
        return NULL;
    diag_add_source(&r->diags, path, text);
    kernel_ir *k = kernel_parse(r->arena, path, text, &r->diags);
    return k && kernel_check(k, &r->diags) ? k : NULL;
}

static void print_items(const proof *p) {
    for (int i = 0; i < p->items.count; i++) {
        const proof_item *x = &p->items.at[i];
        printf("  %-14s %-24s %s", x->property, x->subject ? x->subject : "", verdict_names[x->verdict]);
        if (x->verdict != VERDICT_PROVED)
            printf(": %s%s%s", x->explanation ? x->explanation : "", x->witness ? ", when " : "", x->witness ? x->witness : "");
        printf("  (%.1f ms)\n", x->milliseconds);
    }
}

static json_t *items_json(const proof *p) {
    json_t *items = json_array();
    for (int i = 0; i < p->items.count; i++) {
        const proof_item *x = &p->items.at[i];
        json_array_append_new(items, json_pack("{s:s, s:s?, s:s, s:s?, s:s?, s:f}", "property", x->property, "subject",
                                               x->subject, "verdict", verdict_names[x->verdict], "explanation", x->explanation,
                                               "witness", x->witness, "milliseconds", x->milliseconds));
    }
    return items;
}

bool kernel_proof_limits(report *r, const command_line *line, double seconds, target_limits *out) {
    const target *t = option_given(line, "--target") ? command_target(line, &r->diags) : NULL;
    const char *limit = option_value(line, "--limit");
    char *end = NULL;
    if (limit)
        seconds = strtod(limit, &end);
    if (limit && (end == limit || *end || !(seconds >= 0 && seconds <= 1e6))) {
        diag_error(&r->diags, "E0860", (source_span){0}, "--limit: `%s` is no number of seconds", limit);
        return false;
    }
    if (option_given(line, "--target") && !t)
        return false;
    *out = t ? *t->limits() : any_machine;
    out->milliseconds = seconds * 1e3;
    return true;
}

bool kernel_ir_check(report *r, const command_line *line, const kernel_ir *k, const target_limits *limits, int first,
                     proof *verdicts, json_t *list) {
    bool held = prove_kernel(r->arena, k, limits, verdicts, &r->diags);
    launch_plan plan = {.name = k->name};
    plan_variant only = {.kernel = (kernel_ir *)k};
    VEC_PUSH(r->arena, plan.variants, only);
    if (option_given(line, "--witness"))
        witness_seek(r, &plan, verdicts);
    if (!r->json) {
        printf("%-16s %s  %d of %d properties proved in %.0f ms\n", k->name, held ? "ok     " : "refused", verdicts->proved,
               verdicts->items.count, verdicts->milliseconds);
        if (option_given(line, "--explain"))
            print_items(verdicts);
    }
    json_t *witnesses = option_given(line, "--witness") ? witness_run(r, &plan, verdicts) : NULL;
    if (r->json) {
        json_t *entry =
            json_pack("{s:s, s:b, s:f, s:o, s:o}", "kernel", k->name, "held", held, "proof_ms", verdicts->milliseconds,
                      "properties", items_json(verdicts), "diagnostics", report_diagnostics(r, first));
        if (witnesses)
            json_object_set_new(entry, "witnesses", witnesses);
        json_array_append_new(list, entry);
    }
    report_flush(r);
    return held;
}

bool kernel_text_check(report *r, const command_line *line, const char *path, json_t *list) {
    target_limits limits;
    if (!kernel_proof_limits(r, line, 0, &limits))
        return false;
    if (option_given(line, "--limit") && limits.milliseconds <= 0) {
        diag_error(&r->diags, "E0860", (source_span){0}, "--limit 0 leaves nothing to do with Kernel IR");
        return false;
    }
    int first = r->diags.items.count;
    kernel_ir *k = kernel_text_read(r, path);
    if (!k) {
        report_flush(r);
        return false;
    }
    proof verdicts;
    return kernel_ir_check(r, line, k, &limits, first, &verdicts, list);
}

/* ---- running ---- */

typedef struct launch_text {
    report *report;
    const kernel_ir *kernel;
    text_buffer text; /* "M = 3, s = 0.5" */
} launch_text;

static bool add_value(launch_text *l, const char *option, const char *text, bool scalars) {
    diag_list *diags = &l->report->diags;
    const kernel_ir *k = l->kernel;
    const char *name, *value;
    if (!option_split(l->report->arena, option, text, &name, &value, diags))
        return false;
    const char *names[128];
    int count = 0;
    bool known = false;
    for (int i = 0; i < k->symbols.count && count < 128; i++)
        names[count++] = k->symbols.at[i]->name;
    for (int i = 0; i < k->scalars.count && count < 128; i++)
        names[count++] = k->scalars.at[i].name;
    for (int i = 0; i < count; i++)
        known = known || strcmp(names[i], name) == 0;
    if (known) {
        text_add(&l->text, "%s%s = %s", l->text.length ? ", " : "", name, value);
        return true;
    }
    diag *g = diag_error(diags, "E0640", k->span, "kernel %s has no symbol or scalar `%s`", k->name, name);
    const char *near = suggest_nearest(name, names, count);
    if (near)
        diag_note(diags, g, "did you mean %s?", near);
    else if (scalars)
        diag_note(diags, g, "the arrays of a Kernel IR text are made up: --arg gives scalars");
    return false;
}

static bool add_shapes(void *context, const char *text) {
    launch_text *l = context;
    for (char *item = arena_strdup(l->report->arena, text); item;) {
        char *comma = strchr(item, ',');
        if (comma)
            *comma = 0;
        if (!add_value(l, "--shape", item, false))
            return false;
        item = comma ? comma + 1 : NULL;
    }
    return true;
}

static bool add_scalar(void *context, const char *text) {
    return add_value(context, "--arg", text, true);
}

bool kernel_text_run(report *r, const command_line *line, const char *path) {
    enum { INTERLEAVINGS = 4 };
    static const char *const unused[] = {"--out", "--set", "--dump", "--repeat", "--check", "--kernel"};
    const char *device = option_value(line, "--device");
    if (!device || strcmp(device, "sim") != 0) {
        diag *g = diag_error(&r->diags, "E0873", (source_span){.file = path}, "where a Kernel IR text runs is to be said");
        diag_note(&r->diags, g, "tilec run %s --device sim --shape M=33, or on data: --device cpu --arg a=a.npy", path);
        return false;
    }
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        if (option_given(line, unused[i])) {
            diag_error(&r->diags, "E0873", (source_span){.file = path},
                       "%s says nothing about a Kernel IR text: its arrays are made up", unused[i]);
            return false;
        }
    kernel_ir *k = kernel_text_read(r, path);
    launch_text l = {.report = r, .kernel = k};
    bool held = k && option_each(line, "--shape", add_shapes, &l) && option_each(line, "--arg", add_scalar, &l);
    sim_report seen = {0};
    for (int i = 0; held && i < INTERLEAVINGS; i++) {
        sim_options options = {.seed = (uint64_t)i};
        held = sim_witness(r->arena, k, text_get(&l.text), &options, &seen, &r->diags);
    }
    if (r->json)
        json_object_set_new(r->json, "run",
                            json_pack("{s:s?, s:s, s:s, s:i, s:I, s:I, s:I}", "name", k ? k->name : NULL, "device", "sim",
                                      "launch", text_get(&l.text), "findings", seen.findings.count, "tasks",
                                      (json_int_t)seen.tasks, "threads", (json_int_t)seen.threads, "steps",
                                      (json_int_t)seen.steps));
    else if (k && (held || seen.findings.count))
        printf("%s%s%s, on sim: %s; %lld tasks, %lld threads, %lld steps%s\n", k->name, l.text.length ? ": " : "",
               text_get(&l.text), held ? "nothing misbehaved in 4 interleavings" : "it misbehaves", (long long)seen.tasks,
               (long long)seen.threads, (long long)seen.steps,
               seen.unknown_values ? "; values that an intrinsic wrote are taken as zero" : "");
    text_free(&l.text);
    report_flush(r);
    return held;
}
