/* tilec run: one kernel or program on data, checked against the oracle. */
#include "command/arguments.h"
#include "bench/quick.h"
#include "command/foreign.h"
#include "command/witness.h"
#include "run/compiler.h"
#include "run/judge.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SHOWN_ELEMENTS = 6 };
static const double default_budget_ms = 2000;

static bool add_argument(void *list, const char *text) {
    return arguments_add(list, text);
}

static void print_shape(const host_array *h) {
    printf("%s[", element_table[h->type].name);
    for (int d = 0; d < h->rank; d++)
        printf("%s%" PRId64, d ? ", " : "", h->dims[d]);
    printf("]");
}

static void print_values(const host_array *h) {
    if (element_table[h->type].block_elements > 1)
        return;
    printf("  = ");
    for (int64_t i = 0; i < h->cells && i < SHOWN_ELEMENTS; i++)
        printf("%s%.6g", i ? ", " : "", element_load(h->type == ELEMENT_INDEX ? ELEMENT_I32 : h->type, h->data, i));
    printf("%s", h->cells > SHOWN_ELEMENTS ? ", .." : h->cells ? "" : "(no elements)");
}

static void print_result(run_call *c, const judgement *j, bool judged, double median) {
    const char *symbols = binding_text(&c->binding);
    printf("%s%s%s, on %s\n", c->binding.signature.name, *symbols ? ": " : "", symbols, session_device_name(c->session));
    for (int i = 0; i < c->steps.count; i++) {
        const call_step *s = &c->steps.at[i];
        const launch_plan *plan = proved_plan_get(s->compiled->plan);
        printf("  proved    %s%s%d properties in %.0f ms", c->steps.count > 1 ? s->kernel->name : "",
               c->steps.count > 1 ? ": " : "", s->compiled->proof.proved, s->compiled->proof.milliseconds);
        for (int n = 0; n < plan->checks.count; n++)
            printf("%s%s", n ? ", " : "; checked at launch: ", plan->checks.at[n].text);
        printf("\n");
    }
    printf("  ran       in %.3f ms\n", median);
    if (judged) {
        double share = j->complete ? 100 : j->cells ? 100.0 * (double)j->compared / (double)j->cells : 100;
        printf("  checked   ");
        if (j->complete)
            printf("all %" PRId64 " elements", j->compared);
        else
            printf("%" PRId64 " elements (%.3g%%)", j->compared, share);
        printf("; worst error %.3g of its bound", j->worst_ratio);
        if (j->vacuous)
            printf("; %" PRId64 " bounds say nothing", j->vacuous);
        printf("\n");
    }
    for (int i = 0; i < c->arrays.count; i++) {
        if (!c->arrays.at[i].is_output)
            continue;
        printf("  %-9s ", c->arrays.at[i].name);
        print_shape(&c->arrays.at[i].host);
        print_values(&c->arrays.at[i].host);
        printf("\n");
    }
}

static json_t *result_json(run_call *c, const judgement *j, bool judged, double median) {
    json_t *symbols = json_object(), *steps = json_array(), *outputs = json_array();
    for (int i = 0; i < c->binding.signature.symbol_count; i++)
        if (c->binding.known[i])
            json_object_set_new(symbols, c->binding.signature.symbols[i]->name, json_integer(c->binding.values[i]));
    for (int i = 0; i < c->steps.count; i++) {
        const call_step *s = &c->steps.at[i];
        const launch_plan *plan = proved_plan_get(s->compiled->plan);
        json_t *checks = json_array();
        for (int n = 0; n < plan->checks.count; n++)
            json_array_append_new(checks, json_string(plan->checks.at[n].text));
        json_array_append_new(steps, json_pack("{s:s, s:s?, s:i, s:f, s:o}", "kernel", s->kernel->name, "schedule",
                                               s->compiled->schedule.text, "properties_proved", s->compiled->proof.proved,
                                               "proof_ms", s->compiled->proof.milliseconds, "launch_checks", checks));
    }
    for (int i = 0; i < c->arrays.count; i++) {
        if (!c->arrays.at[i].is_output)
            continue;
        json_t *dims = json_array();
        for (int d = 0; d < c->arrays.at[i].host.rank; d++)
            json_array_append_new(dims, json_integer(c->arrays.at[i].host.dims[d]));
        json_array_append_new(outputs, json_pack("{s:s, s:s, s:o}", "name", c->arrays.at[i].name, "type",
                                                 element_table[c->arrays.at[i].host.type].name, "shape", dims));
    }
    json_t *result =
        json_pack("{s:s, s:s, s:o, s:o, s:f, s:o}", "name", c->binding.signature.name, "device", session_device_name(c->session),
                  "symbols", symbols, "steps", steps, "milliseconds", median, "outputs", outputs);
    if (judged)
        json_object_set_new(result, "check",
                            json_pack("{s:b, s:b, s:I, s:I, s:I, s:I, s:f}", "passed", j->passed, "complete", j->complete,
                                      "elements", (json_int_t)j->cells, "compared", (json_int_t)j->compared, "vacuous",
                                      (json_int_t)j->vacuous, "failed", (json_int_t)j->failed, "worst_ratio",
                                      isfinite(j->worst_ratio) ? j->worst_ratio : -1.0));
    return result;
}

/* The compiler behind the CPU target, with its version and flags: part of what ran. */
static void explain_compiler(void) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    compiler *cc = compiler_find(&diags);
    const char *text = cc ? compiler_identity(cc) : "";
    while (*text) {
        int length = (int)strcspn(text, "\n");
        printf("  %.*s\n", length, text);
        text += length + (text[length] == '\n');
    }
    compiler_free(cc);
    arena_free(a);
}

/* Which of several variants a launch takes. */
/* Which numbers of the device's matrix units its results are judged by. */
static void explain_device(const session *s) {
    const device_description *d = session_description(s);
    if (d)
        printf("probed    %s, %.10s: its matrix units are judged by what was found of them (%s)\n", d->name, d->utc,
               d->path ? d->path : "bench/devices");
    else if (session_target(s)->machine()->matrices.count)
        printf("probed    never: matrix units are judged by what every device does that has the instruction\n");
}

static void explain_variant(run_call *c, int step, diag_list *diags) {
    const launch_plan *plan = proved_plan_get(c->steps.at[step].compiled->plan);
    int variant = plan->variants.count > 1 ? call_variant(c, step, diags) : -1;
    if (variant < 0)
        return;
    text_buffer when = {0};
    if (plan->variants.at[variant].predicate)
        cond_print(&when, plan->variants.at[variant].predicate);
    printf("  launch        variant %d%s%s\n", variant, when.length ? ", since " : "", text_get(&when));
    text_free(&when);
}

typedef struct output_writer {
    run_call *call;
    report *report;
    bool only_check; /* the names, before anything runs */
} output_writer;

static bool write_output(void *context, const char *text) {
    output_writer *w = context;
    const char *name, *path;
    if (!option_split(w->report->arena, "--out", text, &name, &path, &w->report->diags))
        return false;
    if (!w->only_check)
        return arguments_write(w->call, name, path, &w->report->diags);
    for (int i = 0; i < w->call->arrays.count; i++)
        if (strcmp(w->call->arrays.at[i].name, name) == 0)
            return true;
    return arguments_write(w->call, name, path, &w->report->diags); /* says what there is */
}

static bool run_on(report *r, const command_line *line, session *s, const tile_module *m) {
    run_call *c = call_new(s, m, option_value(line, "--kernel"), &r->diags);
    if (!c)
        return false;
    argument_list arguments = {.arena = r->arena, .call = c, .diags = &r->diags};
    output_writer writer = {c, r, true};
    name_values shapes;
    setting_list settings;
    bool held = command_name_values(line, "--shape", r->arena, &shapes, &r->diags) &&
                command_settings(line, r->arena, &settings, &r->diags) && command_dump(line, &c->dump, &r->diags);
    int64_t rounds = 1;
    if (held && option_given(line, "--repeat"))
        held = option_integer("--repeat", option_value(line, "--repeat"), &rounds, &r->diags);
    rounds = rounds < 1 ? 1 : rounds > 1000000 ? 1000000 : rounds;
    for (int i = 0; held && i < shapes.items.count; i++)
        held = call_set_symbol(c, shapes.items.at[i].name, shapes.items.at[i].value, &r->diags);
    for (int i = 0; held && i < settings.items.count; i++)
        held = call_set_schedule(c, settings.items.at[i].key, settings.items.at[i].value, &r->diags);
    c->dump_file = r->json ? stderr : stdout;
    held = held && option_each(line, "--arg", add_argument, &arguments) && option_each(line, "--out", write_output, &writer) &&
           call_solve(c, &r->diags) && arguments_fill(&arguments);
    bool prepared = held && call_prepare(c, &r->diags), judged = false;
    if (option_given(line, "--explain") && !r->json && c->split_route)
        printf("%s\n  routes        %s\n", c->binding.signature.name, c->split_route);
    if (option_given(line, "--explain") && !r->json)
        for (int i = 0; held && i < c->steps.count; i++) {
            text_buffer text = {0};
            const char *route = call_route(c, i, c->arena, "\n                ");
            if (route)
                text_add(&text, "%s\n  routes        %s\n", c->steps.at[i].kernel->name, route);
            if (c->steps.at[i].compiled && c->steps.at[i].compiled->schedule.text)
                compile_explain(c->steps.at[i].compiled, &text);
            fputs(text_get(&text), stdout);
            text_free(&text);
            if (prepared)
                explain_variant(c, i, &r->diags);
            explain_device(c->session);
            const runtime_streams *q = session_runtime(c->session)->streams;
            kernel_resources most;
            if (prepared && q && q->resources(session_device(c->session), c->steps.at[i].loaded, &most))
                printf("device    %d registers a thread, %lld bytes of memory of its own (spills), %lld bytes of shared memory a "
                       "block\n",
                       most.registers, (long long)most.local_bytes, (long long)most.shared_bytes);
        }
    if (option_given(line, "--explain") && prepared && !r->json && session_runtime(c->session)->host_memory)
        explain_compiler();
    held = held && prepared;
    judgement j = {0};
    double median = 0;
    if (held && !option_given(line, "--no-check")) {
        judge_options o = {.budget_ms = option_given(line, "--check") ? -1 : default_budget_ms,
                           .vacuous_share = arguments.has_awkward ? 1 : 0.01,
                           .seed = 1};
        judged = judge_call(c, &o, &j, &r->diags);
        held = judged && j.passed;
        median = j.run_ms;
    } else if (held) {
        call_poison(c);
        held = quick_launch_ms(c, 1, 0, &median, &r->diags);
    }
    writer.only_check = false;
    if (held) /* before --repeat, which would update an `update` array again */
        held = option_each(line, "--out", write_output, &writer);
    else if (judged && option_given(line, "--out"))
        diag_warning(&r->diags, "E0869", (source_span){0}, "nothing was written: the results did not hold");
    if (held && rounds > 1)
        held = quick_launch_ms(c, (int)rounds, 0, &median, &r->diags);
    if (prepared && (judged || held)) {
        if (r->json)
            json_object_set_new(r->json, "run", result_json(c, &j, judged, median));
        else
            print_result(c, &j, judged, median);
    }
    report_flush(r);
    arguments_free(&arguments);
    call_free(c);
    return held;
}

int command_run(const command_line *line) {
    report r;
    if (option_given(line, "--witness")) /* what `check` does, with the witnesses executed */
        return command_check(line);
    report_begin(&r, line);
    if (line->positional_count != 1) {
        diag_error(&r.diags, "E0860", (source_span){0}, "run: %s", line->positional_count ? "one file at a time" : "which file?");
        return report_end(&r, false);
    }
    const char *device = option_value(line, "--device");
    bool on_device = device && strcmp(device, "sim") != 0;
    if (on_device && strcmp(device, "cpu") != 0 && option_given(line, "--machine")) {
        diag_error(&r.diags, "E0860", (source_span){0}, "--machine is for devices cpu and sim, not %s", device);
        return report_end(&r, false);
    }
    if (!command_machine(line, &r.diags))
        return report_end(&r, false);
    if (kernel_text_named(line->positional[0]) && on_device) /* on data, like the kernels of other languages */
        return report_end(&r, foreign_run(&r, line, line->positional[0]));
    if (kernel_text_named(line->positional[0]))
        return report_end(&r, kernel_text_run(&r, line, line->positional[0]));
    if (foreign_named(line->positional[0]))
        return report_end(&r, foreign_run(&r, line, line->positional[0]));
    const tile_module *m = compile_load(r.arena, line->positional[0], NULL, &r.diags);
    session *s = m ? session_open(option_value(line, "--device"), &r.diags) : NULL;
    bool held = s && run_on(&r, line, s, m);
    session_close(s);
    return report_end(&r, held);
}
