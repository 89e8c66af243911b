/* Writing kits, and reading their rows. */
#include "probe/kit.h"
#include "base/file.h"
#include "bench/machine.h"
#include "probe/cuda_matrix.h"
#include "probe/matrix_units.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ANSWERS = 1 << 30 };

/* The host programs, out of kits/probe. */
static const struct {
    const char *name;
    const char *const *lines; /* NULL behind them */
} host_files[] = {
#include "probe_kit.inc"
};
enum { HOST_FILES = sizeof host_files / sizeof *host_files };

/* What a kit asks, how its kernels' files are called, how its program is made. */
typedef struct kit_target {
    const char *name, *extension, *make;
    bool instructions, conversions, traits;
} kit_target;
#define ASKING "probe_ask.c probe_dots.c probe_codes.c probe_traits.c probe_text.c"
#define HEADERS "probe_device.h probe_dots.h probe_codes.h probe_traits.h probe_text.h"
static const kit_target targets[] = {
    {"cuda", "cu",
     "cuda_probe: cuda_probe.c " ASKING " " HEADERS "\n\t$(CC) -std=c11 -O2 -Wall -o $@ cuda_probe.c " ASKING " -ldl\n"
     "answers.jsonl: cuda_probe\n\t./cuda_probe $(wildcard *.layout *.dots *.codes *.traits) > $@.new && mv $@.new $@\n",
     true, true, true},
    {"metal", "metal",
     "metal_probe: metal_probe.m probe_dots.c probe_text.c probe_dots.h probe_text.h\n"
     "\tclang -fobjc-arc -O2 -Wall -o $@ metal_probe.m probe_dots.c probe_text.c -framework Metal -framework Foundation\n"
     "answers.jsonl: metal_probe\n\t./metal_probe $(wildcard *.layout *.dots) > $@.new && mv $@.new $@\n"
     "# what the GPU draws while it answers, by powermetrics, which wants the superuser\n"
     "power.txt: metal_probe\n\tsudo powermetrics --samplers gpu_power -i 500 -n 20 > $@ & ./metal_probe $(wildcard *.dots) > "
     "/dev/null; wait\n",
     true, false, false},
    {"opencl", "cl",
     "opencl_probe: opencl_probe.c " ASKING " " HEADERS "\n\t$(CC) -std=c11 -O2 -Wall -o $@ opencl_probe.c " ASKING " -ldl\n"
     "answers.jsonl: opencl_probe\n\t./opencl_probe $(wildcard *.codes *.traits) > $@.new && mv $@.new $@\n",
     false, true, true},
};
enum { TARGETS = sizeof targets / sizeof *targets };

static kit_instruction of_cuda(const cuda_instruction *i) {
    return (kit_instruction){i->name, i->a, i->b, i->c, i->rows, i->k, cuda_dots_tiles_a_block(i), i->warpgroup};
}

static bool is_cuda(const char *target) {
    return !strcmp(target, "cuda");
}

/* The target's instruction by number; false past the last. */
static bool instruction_at(const kit_target *target, int number, kit_instruction *out) {
    if (!target->instructions || number >= (is_cuda(target->name) ? cuda_instruction_count : kit_metal_instruction_count))
        return false;
    *out = is_cuda(target->name) ? of_cuda(&cuda_instructions[number]) : kit_metal_instructions[number];
    return true;
}

static bool instruction_named(const kit_target *target, const char *name, kit_instruction *out) {
    for (int i = 0; instruction_at(target, i, out); i++)
        if (!strcmp(out->name, name))
            return true;
    return false;
}

static bool is_conversion(arena *a, const kit_target *target, const char *name) {
    int count;
    const char *const *names = conversion_names(a, target->name, &count);
    for (int i = 0; target->conversions && i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static const kit_target *target_named(const char *name, diag_list *diags) {
    for (int i = 0; i < TARGETS; i++)
        if (!strcmp(targets[i].name, name))
            return &targets[i];
    diag *g = diag_error(diags, "E1206", (source_span){0}, "there is no probe kit for `%s`", name);
    diag_note(diags, g, "there are cuda, metal and opencl");
    return NULL;
}

/* ---- out ---- */

static bool write_instruction(arena *a, const char *folder, const kit_target *target, const kit_instruction *i,
                              const probe_options *o, diag_list *diags) {
    char *text = is_cuda(target->name) ? cuda_dots_text(cuda_instruction_find(i->name)) : kit_metal_text(i),
         hash[HASH_DIGITS + 1];
    dot_list dots;
    text_buffer file = {0};
    dot_list_begin(&dots, target->name, i->name, i->a, i->b, i->c, i->k);
    bool good = text != NULL;
    if (!good)
        diag_error(diags, "E1204", (source_span){0}, "%s: the table of layouts has no such instruction", i->name);
    good = good && dot_list_fill(a, &dots, o, diags);
    if (good) {
        dot_list_hash(&dots, hash);
        text_add(&file, "tilec dots 1 %s %d %d %d %d %d %d %" PRId64 " %" PRId64 " %" PRIu64 " %s\n", i->name, i->rows, i->k,
                 number_table[i->a].bytes, number_table[i->b].bytes, i->tiles_a_block, i->specific, dots.count, o->dots, o->seed,
                 hash);
        text_add_bytes(&file, (const char *)dots.bytes, (size_t)dots.count * dot_list_size(&dots));
        good = file_write(arena_printf(a, "%s/%s.%s", folder, i->name, target->extension), text, strlen(text), diags) &&
               file_write(arena_printf(a, "%s/%s.dots", folder, i->name), text_get(&file), file.length, diags) &&
               kit_layout_write(a, folder, target->name, target->extension, i, diags);
    }
    text_free(&file);
    dot_list_free(&dots);
    free(text);
    return good;
}

/* A kit gets what its Makefile names, and README.md. */
static bool is_for(const char *file, const kit_target *target) {
    return strstr(target->make, file) || !strcmp(file, "README.md");
}

static bool write_host(arena *a, const char *folder, const kit_target *target, diag_list *diags) {
    for (int i = 0; i < HOST_FILES; i++) {
        const char *name = strrchr(host_files[i].name, '/') ? strrchr(host_files[i].name, '/') + 1 : host_files[i].name;
        if (!is_for(name, target))
            continue;
        text_buffer text = {0};
        for (const char *const *line = host_files[i].lines; *line; line++)
            text_add_bytes(&text, *line, strlen(*line));
        bool good = file_write(arena_printf(a, "%s/%s", folder, name), text_get(&text), text.length, diags);
        text_free(&text);
        if (!good)
            return false;
    }
    const char *text = arena_printf(a, "run: answers.jsonl\n%s.PHONY: run\n", target->make);
    return file_write(arena_printf(a, "%s/Makefile", folder), text, strlen(text), diags);
}

static bool is_traits(const kit_target *target, const char *name) {
    return target->traits && !strcmp(name, "traits");
}

static bool write_named(arena *a, const char *folder, const kit_target *target, const char *name, const probe_options *o,
                        diag_list *diags) {
    kit_instruction i;
    if (is_traits(target, name))
        return kit_traits_write(a, folder, target->name, target->extension, diags);
    return instruction_named(target, name, &i) ? write_instruction(a, folder, target, &i, o, diags)
                                               : kit_conversion_write(a, folder, target->name, name, target->extension, diags);
}

bool kit_write(arena *a, const char *folder, const char *target_name, const char *const *names, int count, const probe_options *o,
               diag_list *diags) {
    const kit_target *target = target_named(target_name, diags);
    kit_instruction i;
    for (int n = 0; target && n < count; n++)
        if (!instruction_named(target, names[n], &i) && !is_conversion(a, target, names[n]) && !is_traits(target, names[n])) {
            diag_error(diags, "E1203", (source_span){0}, "%s has no %s `%s` that can be probed", target->name,
                       !target->instructions  ? "conversion"
                       : !target->conversions ? "matrix instruction"
                                              : "matrix instruction or conversion",
                       names[n]);
            return false;
        }
    if (!target || !file_make_folders(folder, diags) || !write_host(a, folder, target, diags))
        return false;
    bool good = true;
    for (int n = 0; names && good && n < count; n++)
        good = write_named(a, folder, target, names[n], o, diags);
    for (int n = 0; !names && good && instruction_at(target, n, &i); n++)
        good = write_instruction(a, folder, target, &i, o, diags);
    int conversions = 0;
    const char *const *all = conversion_names(a, target->name, &conversions);
    for (int n = 0; !names && target->conversions && good && n < conversions; n++)
        good = kit_conversion_write(a, folder, target->name, all[n], target->extension, diags);
    if (!names && target->traits && good)
        good = kit_traits_write(a, folder, target->name, target->extension, diags);
    return good;
}

/* ---- back ---- */

static bool not_a_row(diag_list *diags, const char *path, int line, const char *why) {
    diag_error(diags, "E1207", (source_span){0}, "%s:%d: %s", path, line, why);
    return false;
}

static bool read_answers(const char *digits, int64_t count, uint32_t *out) {
    for (int64_t i = 0; i < count; i++) {
        char word[9] = {0}, *end;
        memcpy(word, digits + i * 8, 8);
        out[i] = (uint32_t)strtoul(word, &end, 16);
        if (*end || strspn(word, "0123456789abcdef") != 8)
            return false;
    }
    return true;
}

/* The target and the instruction that a row is of; NULL where there are no such. */
static const kit_target *target_of_row(arena *a, const char *path, int line, const char *target_name, const char *name,
                                       kit_instruction *out, diag_list *diags) {
    const kit_target *target = target_named(target_name, diags);
    if (!target || instruction_named(target, name, out))
        return target;
    not_a_row(diags, path, line, arena_printf(a, "%s has no matrix instruction `%s` that can be probed", target_name, name));
    return NULL;
}

static bool read_layout(arena *a, const char *path, int line, const json_t *row, const kit_visitor *visit, diag_list *diags) {
    const char *why = NULL, *target_name, *name;
    kit_instruction i;
    if (json_unpack((json_t *)row, "{s:s, s:s}", "target", &target_name, "layout", &name))
        return not_a_row(diags, path, line, "this is no row of a probe kit");
    if (!target_of_row(a, path, line, target_name, name, &i, diags))
        return false;
    return kit_layout_read(a, row, &i, visit, &why, diags) || (why && not_a_row(diags, path, line, why));
}

static bool read_traits(arena *a, const char *path, int line, const json_t *row, const kit_visitor *visit, diag_list *diags) {
    const char *why = NULL;
    return kit_traits_read(a, row, visit, &why, diags) || (why && not_a_row(diags, path, line, why));
}

static bool read_conversion(const char *path, int line, const json_t *row, const kit_visitor *visit, diag_list *diags) {
    const char *why = NULL;
    return kit_conversion_read(row, visit, &why, diags) || (why && not_a_row(diags, path, line, why));
}

static bool read_row(arena *a, const char *path, int line, const json_t *row, const kit_visitor *visit, diag_list *diags) {
    const char *target_name, *name, *device, *hash, *digits;
    json_int_t asked, seed, count;
    kit_instruction i;
    char own_hash[HASH_DIGITS + 1];
    if (json_unpack((json_t *)row, "{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "target", &target_name, "instruction", &name,
                    "device", &device, "hash", &hash, "answers", &digits, "asked", &asked, "seed", &seed, "dots", &count))
        return not_a_row(diags, path, line, "this is no row of a probe kit");
    const kit_target *target = target_of_row(a, path, line, target_name, name, &i, diags);
    if (!target)
        return false;
    if (asked < 1000 || asked > MOST_ANSWERS || count < 0 || count > MOST_ANSWERS || strlen(digits) != (size_t)count * 8)
        return not_a_row(diags, path, line, "the numbers of dots and of answers do not go together");
    probe_options o = {asked, asked < 400000 ? asked : 400000, (uint64_t)seed, machine_processors()};
    dot_list dots;
    dot_list_begin(&dots, target->name, i.name, i.a, i.b, i.c, i.k);
    uint32_t *answers = calloc((size_t)count + 1, 4);
    bool good = answers && dot_list_fill(a, &dots, &o, diags);
    if (good) {
        dot_list_hash(&dots, own_hash);
        good = (dots.count == count && !strcmp(own_hash, hash)) ||
               not_a_row(diags, path, line, "the kit asked other dots than this version of tilec does: write it anew");
    }
    good = good && (read_answers(digits, count, answers) || not_a_row(diags, path, line, "an answer is no number"));
    if (good && !dot_list_answer(&dots, answers)) {
        diag_error(diags, "E0803", (source_span){0}, "no memory for %lld answers", (long long)count);
        good = false;
    }
    if (good) {
        probe_target t = {.box = dots.box};
        strncpy(t.description, device, sizeof t.description - 1);
        if (is_cuda(target->name) && strstr(device, "sm_90")) {
            t.recorded_as = "h200";
            t.recorded = matrix_unit_find("h200", name);
        }
        good = visit->instruction(visit->context, &t, &o);
    }
    dot_list_free(&dots);
    free(answers);
    return good;
}

bool kit_read(arena *a, const char *path, const kit_visitor *visit, diag_list *diags) {
    size_t length;
    char *text = file_read(a, path, (size_t)1 << 31, &length, diags), *at = text;
    int rows = 0;
    for (int line = 1; at && *at; line++) {
        char *end = strchr(at, '\n');
        if (end)
            *end = 0;
        if (at[strspn(at, " \t\r")]) {
            json_t *row = json_loads(at, 0, NULL);
            bool good = !row                                 ? not_a_row(diags, path, line, "this is no row of a probe kit")
                        : json_object_get(row, "conversion") ? read_conversion(path, line, row, visit, diags)
                        : json_object_get(row, "layout")     ? read_layout(a, path, line, row, visit, diags)
                        : json_object_get(row, "traits")     ? read_traits(a, path, line, row, visit, diags)
                                                             : read_row(a, path, line, row, visit, diags);
            json_decref(row);
            if (!good)
                return false;
            rows++;
        }
        at = end ? end + 1 : NULL;
    }
    return text && (rows || not_a_row(diags, path, 1, "no row of a probe kit is here"));
}
