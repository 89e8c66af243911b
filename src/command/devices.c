/* tilec devices: what kernels can be launched on. */
#include "command/command.h"
#include "run/run.h"

/* What its target multiplies matrices by. */
static json_t *matrices_of(const runtime *t) {
    const target *on = target_find(t->target);
    json_t *list = json_array();
    for (int i = 0; on && i < on->machine()->matrices.count; i++) {
        const matrix_instruction *m = &on->machine()->matrices.at[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "instruction", m->name, "operands",
                                              element_table[m->operand].name, "accumulator", element_table[m->accumulator].name,
                                              "since", m->since));
    }
    return list;
}

static void print_matrices(const json_t *list) {
    size_t i;
    const json_t *m;
    json_array_foreach((json_t *)list, i, m) {
        printf("           %s: %s to %s, from %s on\n", json_string_value(json_object_get(m, "instruction")),
               json_string_value(json_object_get(m, "operands")), json_string_value(json_object_get(m, "accumulator")),
               json_string_value(json_object_get(m, "since")));
    }
}

int command_devices(const command_line *line) {
    report r;
    report_begin(&r, line);
    json_t *list = json_array();
    int found = 0;
    for (int i = 0; i < runtime_count; i++) {
        const runtime *t = &runtime_table[i];
        int count = t->count();
        char text[512] = "";
        json_t *matrices = matrices_of(t);
        for (int d = 0; d < (count ? count : 1); d++) {
            t->describe(d, text, sizeof text);
            char name[64];
            snprintf(name, sizeof name, d ? "%s:%d" : "%s", t->name, d);
            if (r.json)
                json_array_append_new(list, json_pack("{s:s, s:b, s:s, s:s, s:O}", "name", name, "found", count > 0, "target",
                                                      runtime_target(t, d, NULL), "description", text, "matrices", matrices));
            else
                printf("%-8s %s%s\n", name, count ? "" : "missing: ", text);
        }
        if (!r.json && count)
            print_matrices(matrices);
        json_decref(matrices);
        found += count;
    }
    if (r.json)
        json_object_set(r.json, "devices", list);
    json_decref(list);
    return report_end(&r, found > 0);
}
