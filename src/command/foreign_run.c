/* tilec run k.cl: a foreign kernel on data, in the simulator or, once proved, on a device. */
#include "command/foreign_launch.h"
#include "command/foreign_plan.h"
#include "command/witness.h"
#include <stdlib.h>
#include <string.h>

static bool write_results(launch *l, const command_line *line) {
    report *r = l->report;
    for (int i = 0; i < line->option_count; i++) {
        if (strcmp(line->options[i].row->name, "--out"))
            continue;
        const char *name, *path;
        if (!option_split(r->arena, "--out", line->options[i].value, &name, &path, &r->diags))
            return false;
        int at = launch_array(l, name);
        if (at < 0) {
            diag_error(&r->diags, "E0867", l->kernel->span, "kernel %s has no array `%s`", l->kernel->name, name);
            return false;
        }
        const kernel_array *array = l->arrays[at];
        npy_array out = {.type = array->element,
                         .rank = array->rank,
                         .data = l->data[at],
                         .bytes = sim_array_bytes(l->kernel, array, l->integers)};
        for (int d = 0; d < array->rank; d++)
            ix_eval(array->dims[d], launch_lookup, l, &out.dims[d]);
        if (l->files[at].data && array->rank == 1) { /* in the shape that it came in */
            out.rank = l->files[at].rank;
            memcpy(out.dims, l->files[at].dims, sizeof out.dims);
        }
        if (l->files[at].data && l->files[at].type != out.type)
            out.type = l->files[at].type;
        if (!npy_write(path, &out, &r->diags))
            return false;
    }
    return true;
}

static void show_results(const launch *l) {
    for (int i = 0; i < l->count; i++) {
        const kernel_array *array = l->arrays[i];
        int64_t cells = sim_array_bytes(l->kernel, array, l->integers) / element_table[array->element].block_bytes;
        if (array->use == USE_IN)
            continue;
        launch_show(array->name, array->element, cells, l->data[i]);
    }
}

bool foreign_run(report *r, const command_line *line, const char *path) {
    foreign_list kernels = {0};
    foreign_steps steps = {0};
    if (!foreign_steps_read(r, line, path, &steps))
        return false;
    if (steps.count)
        return foreign_run_steps(r, line, path, &steps);
    if (kernel_text_named(path)) {
        lifted_kernel text = {.kernel = kernel_text_read(r, path)};
        if (!text.kernel)
            return false;
        VEC_PUSH(r->arena, kernels, text);
    } else if (!foreign_read(r, line, path, &kernels)) {
        return false;
    }
    if (kernels.count != 1) {
        diag_error(&r->diags, "E0646", (source_span){.file = path}, "the file has %d kernels: --kernel NAME says which to run",
                   kernels.count);
        return false;
    }
    if (!foreign_has_bodies(r, &kernels.at[0]))
        return false;
    const char *device = option_value(line, "--device") ? option_value(line, "--device") : "cpu";
    bool simulated = !strcmp(device, "sim");
    launch l;
    launch_begin(&l, r, &kernels.at[0]);
    sim_report seen = {0};
    proof verdicts = {0};
    legal_routes routes = {0};
    bool held = launch_bind(&l, line) && launch_make_data(&l);
    held = held && (simulated ? launch_simulate(&l, &seen) : launch_on_device(&l, device, &verdicts, &routes));
    if (held && !r->json) {
        printf("%s, on %s", l.kernel->name, device);
        if (simulated)
            printf(": nothing misbehaved; %lld tasks, %lld threads, %lld steps\n", (long long)seen.tasks, (long long)seen.threads,
                   (long long)seen.steps);
        else
            printf("; %d properties proved in %.0f ms\n", verdicts.proved, verdicts.milliseconds);
        show_results(&l);
    }
    if (!simulated)
        foreign_explain(r, line, &routes, NULL);
    held = held && write_results(&l, line);
    if (r->json)
        json_object_set_new(r->json, "run",
                            json_pack("{s:s, s:s, s:b, s:i}", "name", l.kernel->name, "device", device, "held", held, "findings",
                                      seen.findings.count));
    launch_free(&l);
    report_flush(r);
    return held;
}
