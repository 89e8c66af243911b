/* What commands share: options, diagnostics for people or as JSON, where the kernels are. */
#include "command/command.h"
#include "base/file.h"
#include "pipeline.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *option_value(const command_line *line, const char *name) {
    const char *value = NULL;
    for (int i = 0; i < line->option_count; i++)
        if (strcmp(line->options[i].row->name, name) == 0)
            value = line->options[i].value;
    return value;
}

bool option_given(const command_line *line, const char *name) {
    return option_value(line, name) != NULL;
}

bool option_each(const command_line *line, const char *name, bool (*each)(void *context, const char *value), void *context) {
    for (int i = 0; i < line->option_count; i++)
        if (strcmp(line->options[i].row->name, name) == 0 && !each(context, line->options[i].value))
            return false;
    return true;
}

bool option_split(arena *a, const char *option, const char *text, const char **name, const char **value, diag_list *diags) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        diag *g = diag_error(diags, "E0860", (source_span){0}, "%s %s: NAME=VALUE is wanted", option, text);
        diag_note(diags, g, "as in %s %s", option,
                  strcmp(option, "--arg") == 0   ? "a=a.npy"
                  : strcmp(option, "--out") == 0 ? "c=c.npy"
                  : strcmp(option, "--set") == 0 ? "BM=32"
                                                 : "M=64");
        return false;
    }
    *name = arena_strndup(a, text, (size_t)(equals - text));
    *value = equals + 1;
    return true;
}

bool option_integer(const char *option, const char *text, int64_t *value, diag_list *diags) {
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end || errno) {
        diag_error(diags, "E0860", (source_span){0}, "%s: `%s` is not a whole number", option, text);
        return false;
    }
    *value = n;
    return true;
}

static bool add_name_values(void *context, const char *text) {
    name_values *out = context;
    char *copy = arena_strdup(out->arena, text);
    for (char *item = copy; item;) {
        char *comma = strchr(item, ',');
        if (comma)
            *comma = 0;
        tile_binding b = {0};
        const char *value;
        if (!option_split(out->arena, out->option, item, &b.name, &value, out->diags) ||
            !option_integer(out->option, value, &b.value, out->diags))
            return false;
        VEC_PUSH(out->arena, out->items, b);
        item = comma ? comma + 1 : NULL;
    }
    return true;
}

bool command_name_values(const command_line *line, const char *option, arena *a, name_values *out, diag_list *diags) {
    *out = (name_values){.arena = a, .diags = diags, .option = option};
    return option_each(line, option, add_name_values, out);
}

static bool add_settings(void *context, const char *text) {
    setting_list *out = context;
    char *copy = arena_strdup(out->arena, text);
    for (char *item = copy; item;) {
        char *comma = strchr(item, ',');
        if (comma)
            *comma = 0;
        schedule_setting s = {0};
        if (!option_split(out->arena, "--set", item, &s.key, &s.value, out->diags))
            return false;
        VEC_PUSH(out->arena, out->items, s);
        item = comma ? comma + 1 : NULL;
    }
    return true;
}

bool command_settings(const command_line *line, arena *a, setting_list *out, diag_list *diags) {
    *out = (setting_list){.arena = a, .diags = diags};
    return option_each(line, "--set", add_settings, out);
}

bool command_dump(const command_line *line, const char **letters, diag_list *diags) {
    *letters = option_value(line, "--dump");
    char unknown = *letters ? pipeline_unknown_letter(*letters) : 0;
    if (!unknown)
        return true;
    diag *g = diag_error(diags, "E0861", (source_span){0}, "--dump: no pass has the letter `%c`", unknown);
    for (int i = 0; i < pipeline_count; i++)
        diag_note(diags, g, "%c %s: %s", pipeline[i].letter, pipeline[i].name, pipeline[i].what);
    return false;
}

bool command_machine(const command_line *line, diag_list *diags) {
    const char *name = option_value(line, "--machine"), *of = option_value(line, "--target"), *known;
    if (name && of && strcmp(of, "c") != 0 && strcmp(of, "opencl_cpu") != 0) {
        diag_error(diags, "E0860", (source_span){0}, "--machine is for targets c and opencl_cpu, not %s", of);
        return false;
    }
    if (!name || target_machine_name(name, &known))
        return true;
    diag *g = diag_error(diags, "E0860", (source_span){0}, "--machine: no processor `%s`", name);
    diag_note(diags, g, "those there are: %s", known);
    return false;
}

const target *command_target(const command_line *line, diag_list *diags) {
    const char *name = option_value(line, "--target");
    if (!name)
        return &target_table[0];
    const target *t = target_find(name);
    if (t)
        return t;
    diag *g = diag_error(diags, "E0862", (source_span){0}, "no target `%s`", name);
    for (int i = 0; i < target_count; i++)
        diag_note(diags, g, "%s: %s", target_table[i].name, target_table[i].title);
    return NULL;
}

void report_begin(report *r, const command_line *line) {
    *r = (report){.arena = arena_new()};
    diag_init(&r->diags, r->arena);
    r->json = option_given(line, "--json") ? json_object() : NULL;
    const char *plain = getenv("NO_COLOR");
    r->colour = isatty(STDERR_FILENO) && !(plain && *plain);
    if (r->json)
        json_object_set_new(r->json, "command", json_string(line->command->name));
}

void report_flush(report *r) {
    if (!r->json) {
        fflush(stdout); /* keeps the two streams in order when they go to one place */
        for (int i = r->printed; i < r->diags.items.count; i++)
            diag_print(&r->diags, r->diags.items.at[i], stderr, r->colour);
    }
    r->printed = r->diags.items.count;
}

json_t *report_diagnostics(const report *r, int first) {
    static const char *const severities[] = {"error", "warning", "note"};
    json_t *list = json_array();
    for (int i = first; i < r->diags.items.count; i++) {
        const diag *g = r->diags.items.at[i];
        json_t *notes = json_array();
        for (int n = 0; n < g->notes.count; n++)
            json_array_append_new(notes, json_string(g->notes.at[n]));
        json_t *item = json_pack("{s:s, s:s, s:s?, s:i, s:i, s:s, s:s?, s:o}", "code", g->code, "severity",
                                 severities[g->severity], "file", g->span.file, "line", g->span.line, "column", g->span.column,
                                 "message", g->message, "caret", g->caret, "notes", notes);
        json_array_append_new(list, item ? item : json_pack("{s:s, s:s}", "code", g->code, "message", "(not valid UTF-8)"));
    }
    return list;
}

int report_end(report *r, bool held) {
    bool good = held && r->diags.errors == 0, usage = false;
    for (int i = 0; i < r->diags.items.count; i++)
        usage = usage || (r->diags.items.at[i]->code[1] == '0' && strcmp(r->diags.items.at[i]->code, "E0860") >= 0 &&
                          strcmp(r->diags.items.at[i]->code, "E0862") <= 0);
    if (r->json) {
        json_object_set_new(r->json, "held", json_boolean(good));
        json_object_set_new(r->json, "diagnostics", report_diagnostics(r, 0));
        json_dumpf(r->json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        fputc('\n', stdout);
        json_decref(r->json);
    } else {
        report_flush(r);
    }
    arena_free(r->arena);
    return good ? EXIT_HELD : usage ? EXIT_USAGE : EXIT_FAILED;
}

const char *command_kernels_folder(arena *a) {
    const char *own = getenv("TILEC_KERNELS");
    if (own && *own)
        return own;
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length > 0) {
        path[length] = 0;
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = 0;
        static const char *const places[] = {"kernels", "../kernels", "../../kernels", "../share/tilec/kernels"};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            if (file_exists(arena_printf(a, "%s/%s/matmul.tile", path, places[i])))
                return arena_printf(a, "%s/%s", path, places[i]);
    }
    return file_exists("kernels/matmul.tile") ? "kernels" : NULL;
}

double command_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
