/* The table of runtimes, and finding one by a device's name. */
#include "run/runtime.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const runtime runtime_table[] = {
#define RUNTIME(name, target, target_for, host_memory, simulated, streams, batch, text, named, prefix)                           \
    {name,                                                                                                                       \
     target,                                                                                                                     \
     target_for,                                                                                                                 \
     host_memory,                                                                                                                \
     simulated,                                                                                                                  \
     prefix##_count,                                                                                                             \
     prefix##_describe,                                                                                                          \
     prefix##_open,                                                                                                              \
     prefix##_units,                                                                                                             \
     prefix##_close,                                                                                                             \
     prefix##_allocate,                                                                                                          \
     prefix##_release,                                                                                                           \
     prefix##_copy_in,                                                                                                           \
     prefix##_copy_out,                                                                                                          \
     prefix##_load,                                                                                                              \
     prefix##_unload,                                                                                                            \
     prefix##_launch,                                                                                                            \
     streams,                                                                                                                    \
     batch,                                                                                                                      \
     text,                                                                                                                       \
     named},
#include "run/runtimes.def"
#undef RUNTIME
};
const int runtime_count = (int)(sizeof runtime_table / sizeof *runtime_table);

const char *runtime_target(const runtime *r, int index, const char **why) {
    const char *ignored, **said = why ? why : &ignored;
    *said = NULL;
    return r->target_for ? r->target_for(index, said) : r->target;
}

void runtime_own_process(void) {
    opencl_own_process();
}

const runtime *runtime_find(const char *device_name, int *index, diag_list *diags) {
    const char *colon = strchr(device_name, ':');
    size_t length = colon ? (size_t)(colon - device_name) : strlen(device_name);
    *index = 0;
    for (int i = 0; i < runtime_count; i++) {
        const runtime *r = &runtime_table[i];
        if (strlen(r->name) != length || memcmp(r->name, device_name, length))
            continue;
        int count = r->count();
        char why[256] = "";
        if (colon && r->named && !isdigit((unsigned char)colon[1])) {
            *index = r->named(colon + 1);
            if (*index < 0) {
                diag_error(diags, "E0802", (source_span){0}, "there is no device `%s`", device_name);
                return NULL;
            }
        } else if (colon) {
            char *end;
            long wanted = strtol(colon + 1, &end, 10);
            if (!isdigit((unsigned char)colon[1]) || *end || wanted >= count) {
                diag *g = diag_error(diags, "E0802", (source_span){0}, "there is no device `%s`", device_name);
                diag_note(diags, g, "%s has %d device%s, numbered from 0", r->name, count, count == 1 ? "" : "s");
                return NULL;
            }
            *index = (int)wanted;
        }
        if (!count) {
            diag *g = diag_error(diags, "E0802", (source_span){0}, "no device for `%s` was found", r->name);
            if (r->describe(0, why, sizeof why) || *why)
                diag_note(diags, g, "%s", why);
            return NULL;
        }
        return r;
    }
    text_buffer names = {0};
    for (int i = 0; i < runtime_count; i++)
        text_add(&names, "%s%s", i ? ", " : "", runtime_table[i].name);
    diag *g = diag_error(diags, "E0802", (source_span){0}, "there is no device `%s`", device_name);
    diag_note(diags, g, "this build knows %s", text_get(&names));
    text_free(&names);
    return NULL;
}
