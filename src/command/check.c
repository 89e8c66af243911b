/* tilec check: parse, type-check, three random tilings, schedule, lower, prove. */
#include "command/foreign.h"
#include "command/read_back.h"
#include "command/witness.h"
#include "tile/oracle.h"
#include <string.h>

enum { TILINGS = 3 };

static json_t *checks_json(const launch_plan *plan) {
    json_t *list = json_array();
    for (int i = 0; plan && i < plan->checks.count; i++)
        json_array_append_new(list, json_string(plan->checks.at[i].text));
    return list;
}

static void print_line(const compiled_kernel *c, bool held) {
    printf("%-16s %s", c->source->name, held ? "ok     " : "refused");
    if (c->lowered.plan)
        printf("  %d of %d properties proved in %.0f ms", c->proof.proved, c->proof.items.count, c->proof.milliseconds);
    if (c->statics_sampled) {
        printf("; at");
        for (int i = 0; i < c->statics.count; i++)
            printf("%s %s = %lld", i ? "," : "", c->statics.at[i].name, (long long)c->statics.at[i].value);
    }
    if (held && c->lowered.plan->checks.count) {
        printf("; at launch: ");
        for (int i = 0; i < c->lowered.plan->checks.count; i++)
            printf("%s%s", i ? ", " : "", c->lowered.plan->checks.at[i].text);
    }
    printf("\n");
}

typedef VEC(read_back_kernel) read_back_list;

static bool check_kernel(report *r, const command_line *line, const tile_module *m, const tile_kernel *k, compile_options o,
                         json_t *list, read_back_list *texts) {
    bool explain = option_given(line, "--explain"), witness = option_given(line, "--witness");
    int first = r->diags.items.count;
    compiled_kernel c = {.source = k};
    bool held = oracle_check_tilings(k, TILINGS, 1, &r->diags);
    held = held && compile_kernel(r->arena, m, k, &o, &c, &r->diags);
    if (!r->json) {
        print_line(&c, held);
        if (explain && c.schedule.text) {
            text_buffer text = {0};
            compile_explain(&c, &text);
            fputs(text_get(&text), stdout);
            text_free(&text);
        }
        if (witness && c.lowered.plan && c.proof.refuted)
            witness_run(r, c.lowered.plan, &c.proof);
        if (held && option_given(line, "--read-back"))
            VEC_PUSH(r->arena, *texts, ((read_back_kernel){c.plan, NULL}));
        report_flush(r);
        return held;
    }
    json_t *witnesses = witness && c.lowered.plan ? witness_run(r, c.lowered.plan, &c.proof) : NULL;
    json_t *statics = json_object(), *items = json_array();
    for (int i = 0; i < c.statics.count; i++)
        json_object_set_new(statics, c.statics.at[i].name, json_integer(c.statics.at[i].value));
    for (int i = 0; i < c.proof.items.count; i++) {
        const proof_item *p = &c.proof.items.at[i];
        json_array_append_new(items, json_pack("{s:s, s:s?, s:s, s:s?, s:s?, s:f}", "property", p->property, "subject",
                                               p->subject, "verdict", verdict_names[p->verdict], "explanation", p->explanation,
                                               "witness", p->witness, "milliseconds", p->milliseconds));
    }
    json_t *entry = json_pack("{s:s, s:b, s:o, s:b, s:s?, s:f, s:f, s:o, s:o, s:o}", "kernel", k->name, "held", held, "statics",
                              statics, "statics_sampled", c.statics_sampled, "schedule", c.schedule.text, "proof_ms",
                              c.proof.milliseconds, "total_ms", c.milliseconds, "properties", items, "launch_checks",
                              checks_json(c.lowered.plan), "diagnostics", report_diagnostics(r, first));
    if (witnesses)
        json_object_set_new(entry, "witnesses", witnesses);
    if (held && option_given(line, "--read-back"))
        VEC_PUSH(r->arena, *texts, ((read_back_kernel){c.plan, entry}));
    json_array_append_new(list, entry);
    return held;
}

/* A program is its kernels in order: they are checked one by one; here it is only named. */
static void print_program(const tile_program *p) {
    printf("%-16s program:", p->name);
    for (int i = 0; i < p->calls.count; i++)
        printf("%s %s", i ? "," : "", p->calls.at[i]->kernel->name);
    printf("\n");
}

/* Whether --kernel, which may be given several times, names this one. */
static bool is_wanted(const command_line *line, const char *name) {
    for (int i = 0; i < line->option_count; i++)
        if (!strcmp(line->options[i].row->name, "--kernel") && !strcmp(line->options[i].value, name))
            return true;
    return false;
}

static bool in_program(const tile_program *p, const tile_kernel *k) {
    for (int i = 0; p && i < p->calls.count; i++)
        if (p->calls.at[i]->kernel == k)
            return true;
    return false;
}

static bool check_file(report *r, const command_line *line, const char *path, const compile_options *o, json_t *list,
                       read_back_list *texts) {
    if (kernel_text_named(path))
        return kernel_text_check(r, line, path, list);
    if (foreign_named(path))
        return foreign_check(r, line, path, list);
    const tile_module *m = compile_load(r->arena, path, NULL, &r->diags);
    report_flush(r);
    if (!m)
        return false;
    const char *wanted = option_value(line, "--kernel");
    const tile_program *program = wanted ? tile_find_program(m, wanted) : NULL;
    bool held = true, found = false;
    for (int i = 0; i < m->kernels.count; i++) {
        const tile_kernel *k = m->kernels.at[i];
        if (wanted && !is_wanted(line, k->name) && !in_program(program, k))
            continue;
        found = true;
        read_back_list in_steps = {0}; /* of kernels that a program alone brings in: their texts are read as its steps */
        held = check_kernel(r, line, m, k, *o, list, !wanted || is_wanted(line, k->name) ? texts : &in_steps) && held;
    }
    for (int i = 0; i < m->programs.count && !r->json; i++)
        if (!wanted || m->programs.at[i] == program)
            print_program(m->programs.at[i]);
    report_flush(r);
    if (program && held && option_given(line, "--read-back"))
        held = read_back_program(r, line, m, program, o, list);
    if (!found && wanted) {
        diag_error(&r->diags, "E0646", (source_span){.file = path}, "no kernel `%s`", wanted);
        held = false;
    } else if (!found) {
        diag_error(&r->diags, "E0646", (source_span){.file = path}, "the file has no kernel");
        held = false;
    }
    return held;
}

int command_check(const command_line *line) {
    report r;
    report_begin(&r, line);
    name_values statics;
    setting_list settings;
    compile_options o = {.target = command_target(line, &r.diags), .sample_statics = true, .dump_file = r.json ? stderr : stdout};
    bool held = o.target && command_machine(line, &r.diags) &&
                command_name_values(line, "--shape", r.arena, &statics, &r.diags) &&
                command_settings(line, r.arena, &settings, &r.diags) && command_dump(line, &o.dump, &r.diags);
    if (!line->positional_count) {
        diag_error(&r.diags, "E0860", (source_span){0}, "%s: which file?", line->command->name);
        held = false;
    }
    if (!held)
        return report_end(&r, false);
    o.statics = statics.items.at;
    o.static_count = statics.items.count;
    o.settings = settings.items.at;
    o.setting_count = settings.items.count;
    json_t *list = json_array();
    read_back_list texts = {0};
    for (int i = 0; i < line->positional_count; i++)
        held = check_file(&r, line, line->positional[i], &o, list, &texts) && held;
    if (texts.count)
        held = read_back(&r, line, texts.at, texts.count, o.target) && held;
    if (r.json)
        json_object_set(r.json, "kernels", list);
    json_decref(list);
    return report_end(&r, held);
}
