/* tilec kernels FILE...: the kernels of Metal, CUDA, OpenCL C and LLVM IR texts, with what each takes. */
#include "base/file.h"
#include "command/source_options.h"
#include "lift/source.h"
#include <string.h>

static const char *describe(arena *a, const source_parameter *p) {
    switch (p->kind) {
    case PARAMETER_BUFFER:
        return arena_printf(a, "buffer %d%s%s", p->index, p->constant ? ", constant" : "", p->restricted ? ", restrict" : "");
    case PARAMETER_THREADGROUP: return arena_printf(a, "threadgroup memory %d", p->index);
    case PARAMETER_VALUE: return p->index >= 0 ? arena_printf(a, "value %d", p->index) : "value";
    case PARAMETER_BUILTIN: return p->builtin ? p->builtin : "builtin";
    case PARAMETER_OTHER: return "image, sampler or the like";
    }
    return "";
}

static void print_kernel(arena *a, const source_kernel *k) {
    printf("%s  (line %d%s%s)\n", k->host_name, k->span.line, strcmp(k->function, k->host_name) ? ", in the module " : "",
           strcmp(k->function, k->host_name) ? k->function : "");
    if (k->block[0])
        printf("    block %lld,%lld,%lld\n", (long long)k->block[0], (long long)k->block[1], (long long)k->block[2]);
    if (k->subgroup)
        printf("    subgroups of %lld\n", (long long)k->subgroup);
    if (k->threads_per_block)
        printf("    at most %lld threads a block\n", (long long)k->threads_per_block);
    for (int i = 0; i < k->parameters.count; i++) {
        const source_parameter *p = &k->parameters.at[i];
        printf("    %-20s %-24s %s", p->name, p->type, describe(a, p));
        if (p->count != 1)
            printf(p->count ? "  (in %d pieces)" : "  (not used)", p->count);
        printf("\n");
    }
}

static json_t *kernel_json(arena *a, const source_kernel *k) {
    json_t *parameters = json_array();
    for (int i = 0; i < k->parameters.count; i++) {
        const source_parameter *p = &k->parameters.at[i];
        json_array_append_new(parameters, json_pack("{s:s, s:s, s:s, s:i, s:i, s:i}", "name", p->name, "type", p->type, "kind",
                                                    describe(a, p), "index", p->index, "first", p->first, "count", p->count));
    }
    json_t *block = json_pack("[I, I, I]", (json_int_t)k->block[0], (json_int_t)k->block[1], (json_int_t)k->block[2]);
    return json_pack("{s:s, s:s, s:s, s:i, s:o, s:I, s:I, s:o}", "name", k->host_name, "function", k->function, "file",
                     k->span.file ? k->span.file : "", "line", k->span.line, "block", block, "threads_per_block",
                     (json_int_t)k->threads_per_block, "subgroup", (json_int_t)k->subgroup, "parameters", parameters);
}

int command_kernels_of(const command_line *line) {
    report r;
    report_begin(&r, line);
    source_options o;
    const char *ir = option_value(line, "--ir");
    bool names_only = option_given(line, "--names"), held = source_options_read(line, r.arena, &o, &r.diags);
    json_t *list = json_array();
    if (held && ir && line->positional_count != 1) {
        diag_error(&r.diags, "E0860", (source_span){0}, "--ir wants one FILE");
        held = false;
    }
    for (int i = 0; held && i < line->positional_count; i++) {
        const char *path = line->positional[i];
        source_language language;
        if (!source_language_of(path, &language)) {
            diag_error(&r.diags, "E1106", (source_span){path, 0, 0, 0}, "the language of this file is not known by its ending");
            held = false;
            break;
        }
        json_t *kernels = json_array();
        if (names_only) {
            source_names names = {0};
            held = lift_source_names(r.arena, path, NULL, language, &o, &names, &r.diags);
            for (int k = 0; held && k < names.count; k++) {
                json_array_append_new(kernels, json_string(names.at[k]));
                if (!r.json)
                    printf("%s\n", names.at[k]);
            }
        } else {
            const source_module *m = lift_source(r.arena, path, NULL, language, &o, &r.diags);
            held = m && (!ir || file_write(ir, m->text, m->length, &r.diags));
            for (int k = 0; held && k < m->kernels.count; k++) {
                json_array_append_new(kernels, kernel_json(r.arena, &m->kernels.at[k]));
                if (!r.json)
                    print_kernel(r.arena, &m->kernels.at[k]);
            }
        }
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o}", "file", path, "language", source_language_names[language], "kernels", kernels));
        report_flush(&r);
    }
    if (r.json)
        json_object_set(r.json, "files", list);
    json_decref(list);
    return report_end(&r, held);
}
