/* AIR: what stands around the functions: data layout and triple, the list of kernels with each argument's description, versions, limits. */
#include "target/air.h"
#include <string.h>

const char *air_header(air_form form) {
    return form == AIR_OPAQUE ? "target datalayout = "
                                "\"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:"
                                "32-v32:32:32-v48:64:64-v64:64:64-"
                                "v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32\"\n"
                                "target triple = \"air64_v28-apple-macosx26.0.0\"\n"
                              : "target datalayout = "
                                "\"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:"
                                "32-v32:32:32-v48:64:64-v64:64:64-"
                                "v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32\"\n"
                                "target triple = \"air64-apple-macosx14.0.0\"\n";
}

const char *air_buffer(arena *a, int location, bool read_only, int space, int bytes, const char *type_name, const char *name) {
    const char *size = space == AIR_SPACE_CONSTANT ? arena_printf(a, "!\"air.buffer_size\", i32 %d, ", bytes) : "";
    return arena_printf(a,
                        "!\"air.buffer\", %s!\"air.location_index\", i32 %d, i32 1, !\"air.%s\", !\"air.address_space\", i32 %d, "
                        "!\"air.arg_type_size\", i32 %d, !\"air.arg_type_align_size\", i32 %d, !\"air.arg_type_name\", !\"%s\", "
                        "!\"air.arg_name\", !\"%s\"",
                        size, location, read_only ? "read" : "read_write", space, bytes, bytes, type_name, name);
}

static const char *pointer_to(arena *a, air_form form, const air_function *f) {
    if (form == AIR_OPAQUE)
        return arena_printf(a, "ptr @%s", f->name);
    text_buffer b = {0};
    for (int i = 0; i < f->parameters.count; i++)
        text_add(&b, "%s%s", i ? ", " : "", f->parameters.at[i].type);
    const char *text = arena_printf(a, "void (%s)* @%s", text_get(&b), f->name);
    text_free(&b);
    return text;
}

void air_describe(arena *a, text_buffer *out, air_form form, const air_function *functions, int count) {
    text_buffer nodes = {0};
    int next = 0;
    text_add(out, "!air.kernel = !{");
    for (int k = 0; k < count; k++) {
        const air_function *f = &functions[k];
        int first = next;
        for (int i = 0; i < f->parameters.count; i++)
            text_add(&nodes, "!%d = !{i32 %d, %s}\n", next++, i, f->parameters.at[i].metadata);
        int list = next++, results = next++, threads = next++, kernel = next++;
        text_add(&nodes, "!%d = !{", list);
        for (int i = 0; i < f->parameters.count; i++)
            text_add(&nodes, "%s!%d", i ? ", " : "", first + i);
        text_add(&nodes, "}\n!%d = !{}\n!%d = !{!\"air.max_work_group_size\", i32 %lld}\n", results, threads,
                 (long long)f->threads);
        text_add(&nodes, "!%d = !{%s, !%d, !%d, !%d}\n", kernel, pointer_to(a, form, f), results, list, threads);
        text_add(out, "%s!%d", k ? ", " : "", kernel);
    }
    text_add(out, "}\n");
    bool newer = form == AIR_OPAQUE;
    static const struct {
        const char *name;
        int limit;
    } limits[] = {{"device_buffers", 31}, {"constant_buffers", 31},   {"threadgroup_buffers", 31},
                  {"textures", 128},      {"read_write_textures", 8}, {"samplers", 16}};
    text_add(out, "!llvm.module.flags = !{");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        text_add(out, "%s!%d", i ? ", " : "", next);
        text_add(&nodes, "!%d = !{i32 7, !\"air.max_%s\", i32 %d}\n", next++, limits[i].name, limits[i].limit);
    }
    text_add(out, "}\n!air.compile_options = !{!%d}\n", next);
    text_add(&nodes, "!%d = !{!\"air.compile.fast_math_disable\"}\n", next++);
    text_add(out, "!air.version = !{!%d}\n!air.language_version = !{!%d}\n", next, next + 1);
    text_add(&nodes, "!%d = !{i32 2, i32 %d, i32 0}\n!%d = !{!\"Metal\", i32 %d, i32 %d, i32 0}\n", next, newer ? 8 : 6, next + 1,
             newer ? 4 : 3, newer ? 0 : 1);
    text_add(out, "\n%s", text_get(&nodes));
    text_free(&nodes);
}
