/* tilec devices: what kernels can be launched on. */
#include "command/command.h"
#include "run/run.h"

int command_devices(const command_line *line) {
    report r;
    report_begin(&r, line);
    json_t *list = json_array();
    int found = 0;
    for (int i = 0; i < runtime_count; i++) {
        const runtime *t = &runtime_table[i];
        int count = t->count();
        char text[512] = "";
        for (int d = 0; d < (count ? count : 1); d++) {
            t->describe(d, text, sizeof text);
            char name[64];
            snprintf(name, sizeof name, d ? "%s:%d" : "%s", t->name, d);
            if (r.json)
                json_array_append_new(list, json_pack("{s:s, s:b, s:s, s:s}", "name", name, "found", count > 0, "target",
                                                      runtime_target(t, d, NULL), "description", text));
            else
                printf("%-8s %s%s\n", name, count ? "" : "missing: ", text);
        }
        found += count;
    }
    if (r.json)
        json_object_set(r.json, "devices", list);
    json_decref(list);
    return report_end(&r, found > 0);
}
