/* tilec build: proved kernels as self-contained source. */
#include "command/command.h"
#include "base/file.h"
#include "bench/manifest.h"
#include <string.h>

int command_build(const command_line *line) {
    report r;
    report_begin(&r, line);
    name_values statics, tiles;
    compile_options o = {.target = command_target(line, &r.diags), .dump_file = r.json ? stderr : stdout};
    bool held = o.target && command_name_values(line, "--shape", r.arena, &statics, &r.diags) &&
                command_name_values(line, "--set", r.arena, &tiles, &r.diags) && command_dump(line, &o.dump, &r.diags);
    if (line->positional_count != 1) {
        diag_error(&r.diags, "E0860", (source_span){0}, "build: %s", line->positional_count ? "one file at a time" : "which file?");
        held = false;
    }
    if (!held)
        return report_end(&r, false);
    o.statics = statics.items.at;
    o.static_count = statics.items.count;
    o.tiles = tiles.items.at;
    o.tile_count = tiles.items.count;
    const char *folder = option_value(line, "-o"), *wanted = option_value(line, "--kernel");
    folder = folder ? folder : ".";
    const tile_module *m = compile_load(r.arena, line->positional[0], NULL, &r.diags);
    held = m != NULL;
    const tile_program *program = m && wanted ? tile_find_program(m, wanted) : NULL;
    if (program) {
        diag *g = diag_error(&r.diags, "E0868", program->span, "build writes kernels, and %s is a program", program->name);
        for (int i = 0; i < program->calls.count; i++)
            diag_note(&r.diags, g, "--kernel %s", program->calls.at[i]->kernel->name);
        held = false;
    }
    if (held && !file_make_folders(folder, &r.diags))
        held = false;
    json_t *list = json_array();
    bool found = false;
    for (int i = 0; held && i < m->kernels.count; i++) {
        const tile_kernel *k = m->kernels.at[i];
        if (wanted && strcmp(wanted, k->name) != 0)
            continue;
        found = true;
        compiled_kernel c;
        bool good = compile_kernel(r.arena, m, k, &o, &c, &r.diags) && o.target->build(c.plan, folder, &r.diags) &&
                    manifest_write(proved_plan_get(c.plan), o.target->name, folder, &r.diags);
        if (!r.json && good)
            printf("%-16s proved in %.0f ms, written to %s\n", k->name, c.proof.milliseconds, folder);
        if (!r.json && option_given(line, "--explain")) {
            text_buffer text = {0};
            compile_explain(&c, &text);
            fputs(text_get(&text), stdout);
            text_free(&text);
        }
        json_array_append_new(list, json_pack("{s:s, s:b, s:s, s:f}", "kernel", k->name, "held", good, "folder", folder, "proof_ms",
                                              c.proof.milliseconds));
        report_flush(&r);
        held = held && good;
    }
    if (m && held && !found) {
        diag_error(&r.diags, "E0646", (source_span){.file = line->positional[0]}, wanted ? "no kernel `%s`" : "the file has no kernel%s",
                   wanted ? wanted : "");
        held = false;
    }
    if (r.json)
        json_object_set(r.json, "kernels", list);
    json_decref(list);
    return report_end(&r, held);
}
