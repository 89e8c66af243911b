/* Reading and writing manifests. */
#include "bench/manifest.h"
#include "base/file.h"
#include "base/hash.h"
#include "target/target.h"
#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Function names go into C text: nothing but a name may stand there. */
bool manifest_is_name(const char *text) {
    if (!text || !(isalpha((unsigned char)*text) || *text == '_'))
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && *text != '_')
            return false;
    return true;
}

bool manifest_wrong(const manifest *m, diag_list *diags, const char *what) {
    diag *g = diag_error(diags, "E1021", (source_span){.file = m->path}, "%s", what);
    diag_note(diags, g,
              "the least a manifest says: {\"source\": \"mine.%s\", \"entry\": \"mine\", %s\"arguments\": [\"a\", \"b\", \"y\", "
              "\"N\"]}",
              !m->device          ? "c"
              : *m->device == 'o' ? "cl"
                                  : "cu",
              m->device ? "\"threads\": 64, \"blocks\": \"ceildiv(N, 64)\", " : "");
    return false;
}

static bool read_name(arena *a, manifest *m, const json_t *object, const char *key, const char **out, diag_list *diags) {
    const json_t *value = json_object_get(object, key);
    *out = NULL;
    if (!value)
        return true;
    if (!manifest_is_name(json_string_value(value)))
        return manifest_wrong(m, diags, arena_printf(a, "\"%s\" is not the name of a function", key));
    *out = arena_strdup(a, json_string_value(value));
    return true;
}

typedef VEC(const char *) name_list;

/* A list of names, or of objects with a "name". */
static bool read_names(arena *a, manifest *m, const json_t *list, const char *key, name_list *out, diag_list *diags) {
    size_t i;
    json_t *item;
    if (list && !json_is_array(list))
        return manifest_wrong(m, diags, arena_printf(a, "\"%s\" is not a list of names", key));
    json_array_foreach(list, i, item) {
        const char *name = json_is_object(item) ? json_string_value(json_object_get(item, "name")) : json_string_value(item);
        if (!name)
            return manifest_wrong(m, diags, arena_printf(a, "\"%s\" is not a list of names", key));
        const char *copy = arena_strdup(a, name);
        VEC_PUSH(a, *out, copy);
    }
    return true;
}

/* Hash of the source and of every file listed. */
static bool hash_files(arena *a, manifest *m, const char *folder, const json_t *files, diag_list *diags) {
    text_buffer all = {0};
    size_t i, length;
    json_t *item;
    enum { LIMIT = 64 << 20 };
    const char *text = file_read(a, m->source, LIMIT, &length, diags);
    if (text)
        text_add_bytes(&all, text, length);
    json_array_foreach(files, i, item) {
        if (!text || !json_string_value(item))
            continue;
        text = file_read(a, arena_printf(a, "%s%s", folder, json_string_value(item)), LIMIT, &length, diags);
        if (text)
            text_add_bytes(&all, text, length);
    }
    hash_bytes(text_get(&all), all.length, m->content_hash);
    text_free(&all);
    return text != NULL;
}

bool manifest_read(arena *a, const char *path, manifest *m, diag_list *diags) {
    *m = (manifest){.path = arena_strdup(diags->arena, path)}; /* diagnostics outlive the work */
    size_t length;
    const char *text = file_read(a, path, FILE_SOURCE_LIMIT, &length, diags);
    if (!text)
        return false;
    json_error_t error;
    json_t *o = json_loadb(text, length, 0, &error);
    if (!o) {
        diag_error(diags, "E1020", (source_span){m->path, error.line, error.column > 0 ? error.column : 1, 1},
                   "this is not JSON: %s", error.text);
        return false;
    }
    const char *slash = strrchr(path, '/');
    const char *folder = slash ? arena_strndup(a, path, (size_t)(slash - path) + 1) : "";
    const json_t *tasks = json_object_get(o, "tasks"), *code = json_object_get(o, "returns");
    name_list arguments = {0}, counted = {0};
    const char *source = json_string_value(json_object_get(o, "source"));
    bool good = json_is_object(o) || manifest_wrong(m, diags, "a manifest is an object");
    good = good && (source || manifest_wrong(m, diags, "it does not say \"source\""));
    const char *ending = source ? strrchr(source, '.') : NULL;
    m->device = !ending ? NULL : !strcmp(ending, ".cl") ? "opencl" : !strcmp(ending, ".cu") ? "cuda" : NULL;
    if (good && !m->device && (!ending || strcmp(ending, ".c")))
        good = manifest_wrong(
            m, diags, arena_printf(a, "%s: drop-in kernels are files of C (.c), OpenCL C (.cl) or CUDA C++ (.cu)", source));
    if (good) {
        m->source = source[0] == '/' ? arena_strdup(a, source) : arena_printf(a, "%s%s", folder, source);
        m->kernel = json_string_value(json_object_get(o, "kernel"))
                        ? arena_strdup(a, json_string_value(json_object_get(o, "kernel")))
                        : NULL;
        m->schedule = json_string_value(json_object_get(o, "schedule"))
                          ? arena_strdup(a, json_string_value(json_object_get(o, "schedule")))
                          : NULL;
        m->returns_code = json_string_value(code) && !strcmp(json_string_value(code), "code");
        m->has_tasks = json_is_object(tasks) && !m->device;
    }
    if (good && m->device)
        good = manifest_read_launches(a, m, o, diags);
    else
        good = good && read_name(a, m, o, "entry", &m->entry, diags) &&
               read_names(a, m, json_object_get(o, "arguments"), "arguments", &arguments, diags);
    if (good && m->has_tasks)
        good = read_name(a, m, tasks, "check", &m->check, diags) && read_name(a, m, tasks, "count", &m->task_count, diags) &&
               read_name(a, m, tasks, "run", &m->task_run, diags) && read_name(a, m, tasks, "scratch", &m->task_scratch, diags) &&
               read_names(a, m, json_object_get(tasks, "count_arguments"), "count_arguments", &counted, diags) &&
               ((m->task_count && m->task_run) || manifest_wrong(m, diags, "\"tasks\" needs \"count\" and \"run\""));
    good = good &&
           (m->device || m->entry || m->has_tasks || manifest_wrong(m, diags, "it does not say \"entry\", the function to call"));
    m->arguments.at = arguments.at;
    m->arguments.count = arguments.count;
    m->count_arguments.at = counted.at;
    m->count_arguments.count = counted.count;
    good = good && hash_files(a, m, folder, json_object_get(o, "files"), diags);
    json_decref(o);
    return good;
}

static void add_argument(json_t *list, const char *name, const char *kind, json_t *type) {
    json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", name, "is", kind, "type", type));
}

static json_t *array_type(const kernel_array *a) {
    text_buffer text = {0};
    text_add(&text, "%s[", element_table[a->element].name);
    for (int d = 0; d < a->rank; d++) {
        text_add(&text, "%s", d ? ", " : "");
        ix_print(&text, a->dims[d]);
    }
    text_add(&text, "]");
    json_t *type = json_string(text_get(&text));
    text_free(&text);
    return type;
}

bool manifest_write(const launch_plan *plan, const char *target, const char *folder, diag_list *diags) {
    static const char *const uses[] = {[USE_IN] = "read", [USE_OUT] = "written", [USE_UPDATE] = "read and written"};
    const kernel_ir *k = plan->variants.at[0].kernel;
    char *name = target_entry_name(plan->name, 0), *suffix = name ? strstr(name, "_variant_0") : NULL;
    if (suffix)
        *suffix = 0;
    json_t *arguments = json_array(), *counted = json_array();
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        if (a->space == SPACE_GLOBAL && !a->view_of)
            add_argument(arguments, a->name, a->use <= USE_UPDATE ? uses[a->use] : "workspace", array_type(a));
    }
    for (int i = 0; i < k->symbols.count; i++) {
        add_argument(arguments, k->symbols.at[i]->name, "extent", json_string("int64"));
        json_array_append_new(counted, json_string(k->symbols.at[i]->name));
    }
    for (int i = 0; i < k->scalars.count; i++) {
        const kernel_scalar *s = &k->scalars.at[i];
        add_argument(arguments, s->name, "scalar", json_string(s->var ? "int64" : element_table[s->type].name));
        if (s->var)
            json_array_append_new(counted, json_string(s->name));
    }
    bool in_blocks = !strcmp(target, "opencl") || !strcmp(target, "opencl_cpu") || !strcmp(target, "cuda");
    json_t *launches = in_blocks ? manifest_launches(plan, target, diags) : NULL;
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "form", "tilec kernel 1", "kernel", plan->name, "target", target,
                          "schedule", k->schedule ? k->schedule : "", "source",
                          json_sprintf("%s%s", name,
                                       !in_blocks       ? ".c"
                                       : *target == 'o' ? ".cl"
                                                        : ".cu"),
                          "arguments", arguments);
    if (in_blocks) {
        json_object_set_new(o, "comment", json_string("see doc/bench.md; the first launch whose `when` holds is the one"));
        json_object_set_new(o, "launches", launches);
        json_decref(counted);
    } else {
        json_object_set_new(o, "entry", json_string(name));
        json_object_set_new(o, "returns", json_string("code"));
        json_object_set_new(o, "comment", json_string("see doc/bench.md; `entry` does everything, `tasks` are for threads"));
        json_object_set_new(o, "tasks",
                            json_pack("{s:o, s:o, s:o, s:o, s:o}", "check", json_sprintf("%s_check", name), "count",
                                      json_sprintf("%s_task_count", name), "count_arguments", counted, "run",
                                      json_sprintf("%s_tasks", name), "scratch", json_sprintf("%s_scratch_bytes", name)));
        json_object_set_new(o, "files", json_pack("[o]", json_sprintf("%s.h", name)));
    }
    char *text = json_dumps(o, JSON_INDENT(2));
    text_buffer path = {0}, body = {0};
    text_add(&path, "%s/%s.json", folder, name);
    text_add(&body, "%s\n", text ? text : "");
    bool good = text && (!in_blocks || launches) && file_write(text_get(&path), text_get(&body), body.length, diags);
    text_free(&path);
    text_free(&body);
    free(text);
    free(name);
    json_decref(o);
    return good;
}
