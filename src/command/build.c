/* tilec build: proved kernels as self-contained source. */
#include "command/foreign.h"
#include "command/program.h"
#include "base/file.h"
#include "bench/manifest.h"
#include "target/language_versions.h"
#include <string.h>

/* Compiles the kernels of a program's calls and writes them as one. */
static bool build_program(report *r, const tile_module *m, const tile_program *p, compile_options o, const char *folder,
                          json_t *list) {
    program_build b;
    double proof_ms;
    if (!program_compile(r, m, p, o, &b, &proof_ms))
        return false;
    bool good = target_build_program(o.target, &b, folder, &r->diags);
    if (!r->json && good)
        printf("%-16s %d kernels proved in %.0f ms, written to %s\n", p->name, p->calls.count, proof_ms, folder);
    json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:s, s:f}", "kernel", p->name, "target", o.target->name, "held", good,
                                          "folder", folder, "proof_ms", proof_ms));
    report_flush(r);
    return good;
}

/* What is written, and for whom. */
typedef struct build {
    report *report;
    const command_line *line;
    const tile_module *module;
    const char *wanted; /* --kernel; NULL: every kernel */
    json_t *list;
    bool found;
    const target *
        kept_for; /* `kept`: by kernel, what was compiled for the first target, at sizes of the schedule's choice; plan NULL: nothing */
    compiled_kernel *kept;
} build;

static const char *first_error(const report *r, int from) {
    for (int i = from; i < r->diags.items.count; i++)
        if (r->diags.items.at[i]->severity == SEVERITY_ERROR)
            return arena_printf(r->arena, "%s: %s", r->diags.items.at[i]->code, r->diags.items.at[i]->message);
    return "it could not be written";
}

/* The same kernel for the target that this one's host program compares with, on a schedule of its own. */
static bool build_companion(build *b, int number, const compile_options *o, const target *companion, const char *folder) {
    report *r = b->report;
    compile_options own = *o;
    compiled_kernel c = {0};
    own.target = companion;
    own.dump = NULL;
    own.setting_count = 0;
    if (companion == b->kept_for)
        c = b->kept[number];
    return (c.plan || compile_kernel(r->arena, b->module, b->module->kernels.at[number], &own, &c, &r->diags)) &&
           companion->build(c.plan, folder, &r->diags) &&
           manifest_write(proved_plan_get(c.plan), companion->name, folder, &r->diags);
}

/* A line, and an object, for each function of the kernel's text. */
static json_t *statistics(build *b, const target *t, const compiled_kernel *c) {
    target_count_list counts = {0};
    json_t *list = json_array();
    if (!target_statistics(b->report->arena, t, c->plan, &counts, &b->report->diags) && !b->report->json)
        printf("  target %s counts nothing\n", t->name);
    for (int i = 0; i < counts.count; i++) {
        const target_counts *n = &counts.at[i];
        if (!b->report->json)
            printf("  %-32s matrix loads %d, stores %d, products %d; shufflevectors %d, barriers %d, loads %d\n", n->function,
                   n->matrix_loads, n->matrix_stores, n->matrix_products, n->shuffles, n->barriers, n->loads);
        json_array_append_new(list,
                              json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "function", n->function, "matrix_loads",
                                        n->matrix_loads, "matrix_stores", n->matrix_stores, "matrix_products", n->matrix_products,
                                        "shufflevectors", n->shuffles, "barriers", n->barriers, "loads", n->loads));
    }
    return list;
}

static bool build_kernel(build *b, int number, const compile_options *o, const char *folder, bool names_target) {
    report *r = b->report;
    const tile_kernel *k = b->module->kernels.at[number];
    compiled_kernel c;
    int before = r->diags.items.count;
    double start = command_now_ms();
    const target *companion = target_companion(o->target);
    const char *language = option_value(b->line, "--language");
    bool good = compile_kernel(r->arena, b->module, k, o, &c, &r->diags) &&
                (!language || language_takes(o->target->name, language, c.plan, &r->diags)) &&
                o->target->build(c.plan, folder, &r->diags) &&
                (companion ? build_companion(b, number, o, companion, folder)
                           : manifest_write(proved_plan_get(c.plan), o->target->name, folder, &r->diags));
    double whole_ms = command_now_ms() - start;
    if (good && o->target == b->kept_for && !o->setting_count)
        b->kept[number] = c;
    const char *target = names_target ? arena_printf(r->arena, " %-10s", o->target->name) : "";
    if (!r->json && good)
        printf("%-16s%s proved in %.0f ms, written to %s\n", k->name, target, c.proof.milliseconds, folder);
    else if (!r->json && names_target)
        printf("%-16s%s refused: %s\n", k->name, target, first_error(r, before));
    if (!r->json && good && option_given(b->line, "--explain")) {
        text_buffer text = {0};
        compile_explain(&c, &text);
        fputs(text_get(&text), stdout);
        text_free(&text);
    }
    json_t *counts = good && option_given(b->line, "--stat") ? statistics(b, o->target, &c) : NULL;
    json_array_append_new(b->list, json_pack("{s:s, s:s, s:b, s:s, s:f, s:f, s:o*}", "kernel", k->name, "target", o->target->name,
                                             "held", good, "folder", folder, "proof_ms", c.proof.milliseconds, "milliseconds",
                                             whole_ms, "functions", counts));
    report_flush(r);
    return good;
}

/* Everything wanted for one target; what is refused hinders nothing else. */
static bool build_target(build *b, compile_options o, const char *folder, bool names_target) {
    report *r = b->report;
    if (!file_make_folders(folder, &r->diags))
        return false;
    const tile_program *program = b->wanted ? tile_find_program(b->module, b->wanted) : NULL;
    bool held = true;
    if (program) {
        int before = r->diags.items.count;
        held = build_program(r, b->module, program, o, folder, b->list);
        if (!held && !r->json && names_target)
            printf("%-16s %-10s refused: %s\n", program->name, o.target->name, first_error(r, before));
    }
    b->found = b->found || program;
    for (int i = 0; i < b->module->kernels.count; i++) {
        const tile_kernel *k = b->module->kernels.at[i];
        if (b->wanted && strcmp(b->wanted, k->name) != 0)
            continue;
        b->found = true;
        held = build_kernel(b, i, &o, folder, names_target) && held;
    }
    return held;
}

int command_build(const command_line *line) {
    report r;
    report_begin(&r, line);
    name_values statics;
    setting_list settings;
    const char *name = option_value(line, "--target"), *folder = option_value(line, "-o");
    bool all = name && !strcmp(name, "all");
    compile_options o = {.target = all ? target_table : command_target(line, &r.diags), .dump_file = r.json ? stderr : stdout};
    bool held = o.target && command_machine(line, &r.diags) &&
                command_name_values(line, "--shape", r.arena, &statics, &r.diags) &&
                command_settings(line, r.arena, &settings, &r.diags) && command_dump(line, &o.dump, &r.diags);
    if (line->positional_count != 1) {
        diag_error(&r.diags, "E0860", (source_span){0}, "build: %s",
                   line->positional_count ? "one file at a time" : "which file?");
        held = false;
    }
    if (!held)
        return report_end(&r, false);
    o.statics = statics.items.at;
    o.static_count = statics.items.count;
    o.settings = settings.items.at;
    o.setting_count = settings.items.count;
    folder = folder ? folder : ".";
    if (foreign_named(line->positional[0]))
        return report_end(&r, foreign_build(&r, line, line->positional[0], all ? NULL : o.target, folder));
    build b = {.report = &r, .line = line, .wanted = option_value(line, "--kernel"), .list = json_array()};
    b.module = compile_load(r.arena, line->positional[0], NULL, &r.diags);
    held = b.module != NULL;
    b.kept_for = target_table;
    b.kept = b.module ? NEW_ARRAY(r.arena, compiled_kernel, b.module->kernels.count + 1) : NULL;
    /* Each target has a folder of its own: C and OpenCL write files of one name. */
    for (int i = 0; b.module && i < (all ? target_count : 1); i++) {
        o.target = all ? &target_table[i] : o.target;
        held = build_target(&b, o, all ? arena_printf(r.arena, "%s/%s", folder, o.target->name) : folder, all) && held;
    }
    if (b.module && !b.found && held) {
        diag_error(&r.diags, "E0646", (source_span){.file = line->positional[0]},
                   b.wanted ? "no kernel `%s`" : "the file has no kernel%s", b.wanted ? b.wanted : "");
        held = false;
    }
    if (r.json)
        json_object_set(r.json, "kernels", b.list);
    json_decref(b.list);
    return report_end(&r, held);
}
