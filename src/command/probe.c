/* tilec probe: what a device does, found by asking it. */
#include "command/command.h"
#include "base/file.h"
#include "bench/lab.h"
#include "bench/machine.h"
#include "bench/store.h"
#include "probe/conversion.h"
#include "probe/cuda_matrix.h"
#include "probe/findings.h"
#include "probe/gates.h"
#include "probe/kit.h"
#include "probe/patience.h"
#include "probe/probe.h"
#include "probe/trait.h"
#include "target/language_versions.h"
#include <inttypes.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct probing {
    report *report;
    const command_line *line;
    const char *device;
    probe_options options;
    json_t *rows;
    int probed, held, left_out; /* instructions, or features */
    int traits, traits_held, conversions, conversions_held, codes;
} probing;

static bool read_options(probing *p) {
    const char *dots = option_value(p->line, "--dots"), *seed = option_value(p->line, "--seed");
    int64_t count = 1000000, number = 1, patience = 300;
    if ((option_given(p->line, "--patience") &&
         !option_integer("--patience", option_value(p->line, "--patience"), &patience, &p->report->diags)))
        return false;
    if (patience < 1 || patience > 1000000) {
        diag_error(&p->report->diags, "E0860", (source_span){0}, "--patience %" PRId64 ": seconds, 1 or more", patience);
        return false;
    }
    if (!patience_begin((int)patience)) {
        diag_error(&p->report->diags, "E0803", (source_span){0}, "no thread to watch the device");
        return false;
    }
    if ((dots && !option_integer("--dots", dots, &count, &p->report->diags)) ||
        (seed && !option_integer("--seed", seed, &number, &p->report->diags)))
        return false;
    if (count < 1000 || count > 1000000000000) {
        diag_error(&p->report->diags, "E0860", (source_span){0}, "--dots %" PRId64 ": 1000 or more", count);
        return false;
    }
    p->options = (probe_options){count, count < 400000 ? count : 400000, (uint64_t)number, machine_processors()};
    return true;
}

/* Without a named instruction, those that the device lacks are left out. */
static void drop_missing(probing *p, int first) {
    diag_list *d = &p->report->diags;
    for (int i = first; i < d->items.count; i++)
        if (d->items.at[i]->severity == SEVERITY_ERROR)
            d->errors--;
    d->items.count = first;
    p->left_out++;
}

/* Finds, prints and keeps what an opened target's answers show. */
static bool find_in(probing *p, arena *a, const char *device, const probe_target *target, const probe_options *options) {
    probe_result result;
    if (!probe_run(a, target, options, &result, &p->report->diags))
        return false;
    p->probed++;
    p->held += probe_holds(&result);
    probe_rows(a, device, &result, p->rows);
    if (!p->report->json)
        probe_print(a, &result, option_given(p->line, "--evidence"));
    fflush(stdout);
    return true;
}

static bool probe_one(probing *p, const char *instruction, bool named) {
    arena *a = arena_new();
    probe_target target;
    int before = p->report->diags.items.count;
    bool good = probe_open(a, p->device, instruction, &target, &p->report->diags);
    if (!good && !named && p->report->diags.items.count > before && !strcmp(p->report->diags.items.at[before]->code, "E1202")) {
        drop_missing(p, before);
        arena_free(a);
        return true;
    }
    if (good) {
        good = find_in(p, a, p->device, &target, &p->options);
        probe_close(&target);
    }
    report_flush(p->report);
    arena_free(a);
    return good;
}

/* Rows get what is needed to take them again, and are appended. */
static bool keep_rows(probing *p, const char *folder) {
    json_t *environment = machine_environment(), *row;
    char hash[13], now[32];
    size_t i;
    machine_environment_hash(environment, hash);
    lab_time_text(now, sizeof now);
    const char *run = arena_printf(p->report->arena, "%s-%ld", now, (long)getpid());
    const char *const head[] = {"git", "rev-parse", "--short=12", "HEAD", NULL};
    char *commit = machine_ask(head);
    json_t *start =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:s?, s:O, s:o}", "schema", STORE_SCHEMA, "kind", "run", "run", run, "environment",
                  hash, "utc", now, "commit", commit && *commit ? commit : NULL, "machine", environment, "gpus", machine_gpus());
    bool good = store_append(folder, hash, start, &p->report->diags);
    json_decref(start);
    json_array_foreach(p->rows, i, row) {
        json_object_set_new(row, "schema", json_integer(STORE_SCHEMA));
        json_object_set_new(row, "run", json_string(run));
        json_object_set_new(row, "environment", json_string(hash));
        json_object_set_new(row, "utc", json_string(now));
        good = good && store_append(folder, hash, row, &p->report->diags);
    }
    json_decref(environment);
    free(commit);
    return good;
}

static json_t *stored(probing *p) {
    const char *folder = option_value(p->line, "--store");
    return store_read(folder ? folder : "bench/findings", &p->report->diags);
}

/* A device's description, to the output: what bench/devices holds. */
static bool print_description(probing *p, const char *name) {
    json_t *rows = stored(p), *description = rows ? describe_device(rows, name) : NULL;
    if (rows && !description)
        diag_error(&p->report->diags, "E1205", (source_span){0}, "there are no findings of a device `%s`", name);
    if (description && p->report->json)
        json_object_set(p->report->json, "description", description);
    else if (description) {
        char *text = json_dumps(description, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_REAL_PRECISION(4));
        puts(text);
        free(text);
    }
    json_decref(rows);
    json_decref(description);
    return description != NULL;
}

static bool write_report(probing *p, const char *path) {
    const char *folder = option_value(p->line, "--store");
    json_t *rows = stored(p);
    text_buffer page = {0};
    bool good = rows && findings_page(rows, &page);
    if (rows && !good)
        diag_error(&p->report->diags, "E1205", (source_span){0}, "%s has no findings", folder ? folder : "bench/findings");
    good = good && file_write(path, text_get(&page), page.length, &p->report->diags);
    text_free(&page);
    json_decref(rows);
    return good;
}

/* The last line, and the rows. */
static bool finish(probing *p, bool good) {
    if (!p->report->json && p->probed)
        printf("%d of %d instructions determined, with layout and model as found before%s\n", p->held, p->probed,
               p->left_out ? arena_printf(p->report->arena, "; %d that the device lacks left out", p->left_out) : "");
    if (!p->report->json && p->traits)
        printf("%d of %d traits of the device determined, and as it says\n", p->traits_held, p->traits);
    if (!p->report->json && p->conversions)
        printf("%d of %d conversions determined\n", p->conversions_held, p->conversions);
    /* A device that failed: what was found before it did is not kept either. */
    const char *folder = option_value(p->line, "--store");
    return good && p->probed + p->traits + p->conversions > 0 && (!folder || keep_rows(p, folder)) && p->held == p->probed &&
           p->traits_held == p->traits && p->conversions_held == p->conversions;
}

/* One trait, or each (NULL), that the box can be asked for. */
static bool ask_traits(probing *p, const trait_box *box, const char *name) {
    bool good = true;
    for (int i = 0; good && i < trait_count; i++) {
        if (name && strcmp(trait_rows[i].name, name))
            continue;
        trait_finding found = {0};
        good = trait_rows[i].find(p->report->arena, box, &found, &p->report->diags);
        if (good && !found.asked && name) {
            diag_error(&p->report->diags, "E1202", (source_span){0}, "%s can't be asked for its %s", p->device, name);
            good = false;
        }
        if (!good || !found.asked)
            continue;
        p->traits++;
        p->traits_held += found.determined && !found.contradicted;
        trait_json(box, &trait_rows[i], &found, p->rows);
        if (!p->report->json)
            trait_print(&trait_rows[i], &found, option_given(p->line, "--evidence"));
        fflush(stdout);
    }
    return good;
}

static bool probe_traits(probing *p, const char *name) {
    trait_box box;
    bool good = trait_open(p->device, &box, &p->report->diags) && ask_traits(p, &box, name);
    trait_close(&box);
    return good;
}

static bool probe_code(probing *p, const char *compiler, const char *instruction) {
    code_finding found;
    if (!code_probe(p->report->arena, instruction, &found, &p->report->diags))
        return false;
    p->codes++;
    code_json(&found, compiler, p->rows);
    if (!p->report->json)
        code_print(&found);
    return true;
}

/* Of every matrix instruction, where there is a disassembler. */
static bool probe_codes(probing *p, const char *compiler) {
    int count;
    const char *const *names = probe_instructions(p->report->arena, "cuda", &count, &p->report->diags);
    if (!cuda_has_disassembler()) {
        if (!p->report->json)
            printf("no machine code: CUDA's disassembler nvdisasm is not installed\n");
        return true;
    }
    for (int i = 0; i < count; i++)
        if (!probe_code(p, compiler, names[i]))
            return false;
    return true;
}

/* Versions of languages by table: nothing is asked, so nothing is recorded. */
static bool print_languages(probing *p) {
    int versions, features;
    const language_version *v = language_versions(&versions);
    const language_feature *f = language_features(&features);
    json_t *list = json_array();
    for (int i = 0; i < versions; i++) {
        json_t *has = json_array();
        if (!p->report->json)
            printf("%-8s %-8s %s\n", v[i].target, v[i].name, v[i].with);
        for (int n = 0; n < features; n++)
            if (language_since(&f[n]) == &v[i]) {
                if (!p->report->json)
                    printf("%-17s   from here on: %s\n", "", f[n].name);
                json_array_append_new(has, json_string(f[n].name));
            }
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o}", "target", v[i].target, "version", v[i].name, "with",
                                              v[i].with, "features", has));
    }
    if (p->report->json)
        json_object_set(p->report->json, "languages", list);
    json_decref(list);
    return true;
}

/* What an installed compiler takes: no device. */
static bool probe_gates(probing *p) {
    arena *a = p->report->arena;
    const char *compiler = gate_compiler(a, &p->report->diags);
    bool named = p->line->positional_count > 0;
    int count = named ? p->line->positional_count : gate_count;
    for (int i = 0; compiler && i < count; i++) {
        const gate_row *row = named ? gate_find(p->line->positional[i]) : &gate_rows[i];
        gate_finding found;
        if (!row && cuda_instruction_find(p->line->positional[i])) {
            if (!probe_code(p, compiler, p->line->positional[i]))
                return false;
            continue;
        }
        if (!row) {
            diag *g = diag_error(&p->report->diags, "E1203", (source_span){0}, "there is no gate `%s`", p->line->positional[i]);
            diag_note(&p->report->diags, g, "`tilec probe --device nvrtc --list` lists them");
            return false;
        }
        if (!gate_probe(a, row, &found, &p->report->diags))
            return false;
        p->probed++;
        p->held += found.as_documented;
        gate_json(&found, compiler, p->rows);
        if (!p->report->json)
            gate_print(&found, option_given(p->line, "--evidence"));
        fflush(stdout);
    }
    const char *folder = option_value(p->line, "--store");
    if (compiler && !named && !probe_codes(p, compiler))
        return false;
    if (compiler && !p->report->json && p->probed)
        printf("%d of %d features as documented, by %s\n", p->held, p->probed, compiler);
    return compiler && (!folder || keep_rows(p, folder)) && p->held == p->probed;
}

static bool is_conversion(probing *p, const char *name) {
    int count;
    const char *const *names = conversion_names(p->report->arena, p->device, &count);
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* As find_in, of an opened conversion. */
static bool find_conversion(void *context, const conversion_box *box) {
    probing *p = context;
    conversion_finding found;
    if (!conversion_find(p->report->arena, box, &found, &p->report->diags))
        return false;
    p->conversions++;
    p->conversions_held += found.determined;
    conversion_json(box, &found, p->rows);
    if (!p->report->json)
        conversion_print(box, &found, option_given(p->line, "--evidence"));
    fflush(stdout);
    return true;
}

static bool probe_conversion(probing *p, const char *name, bool named) {
    conversion_box box;
    int before = p->report->diags.items.count;
    if (!conversion_open(p->device, name, &box, &p->report->diags)) {
        bool lacks = !named && p->report->diags.items.count > before && !strcmp(p->report->diags.items.at[before]->code, "E1202");
        if (lacks)
            drop_missing(p, before);
        return lacks;
    }
    bool good = find_conversion(p, &box);
    conversion_close(&box);
    return good;
}

static bool probe_conversions(probing *p) {
    int count;
    const char *const *names = conversion_names(p->report->arena, p->device, &count);
    bool good = true;
    for (int i = 0; i < count && good; i++)
        good = probe_conversion(p, names[i], false);
    return good;
}

static bool has_traits(const char *device) {
    return !strncmp(device, "cuda", 4) || !strncmp(device, "opencl", 6) || !strcmp(device, "cpu");
}

static bool list_names(probing *p, const char *const *all, int count) {
    json_t *names = json_array();
    int traits = has_traits(p->device) ? trait_count : 0, others;
    const char *const *conversions = conversion_names(p->report->arena, p->device, &others);
    for (int i = 0; i < count + traits + others; i++) {
        const char *name = i < count ? all[i] : i < count + traits ? trait_rows[i - count].name : conversions[i - count - traits];
        if (!p->report->json)
            printf("%s\n", name);
        json_array_append_new(names, json_string(name));
    }
    if (p->report->json)
        json_object_set(p->report->json, "instructions", names);
    json_decref(names);
    return true;
}

/* One access, asked by this process: its outcome, and what was said of it. A fault may end it. */
static bool ask_access(probing *p, const char *name) {
    int64_t offset = 0;
    const char *words;
    if (!option_integer("--offset", option_value(p->line, "--offset"), &offset, &p->report->diags))
        return false;
    access_outcome outcome = offset < 0 || offset >= ACCESS_MOST_OFFSET || (offset > 1024 && strcmp(name, ACCESS_LOCAL_MEMORY))
                                 ? ACCESS_NOT_ASKED
                                 : access_try(p->report->arena, p->device, name, (int)offset, &words);
    if (outcome == ACCESS_NOT_ASKED) {
        diag *g = diag_error(&p->report->diags, "E1202", (source_span){0}, "%s can't be asked for `%s`", p->device, name);
        diag_note(&p->report->diags, g, "the evidence of the trait `alignment` names the accesses");
        return false;
    }
    printf("%s%s%s\n", access_outcome_text(outcome), words ? ": " : "", words ? words : "");
    fflush(stdout);
    return true;
}

static bool probe_all(probing *p) {
    int count = 0;
    const bool traits_alone = !strncmp(p->device, "opencl", 6), named = p->line->positional_count > 0;
    const char *const *all = traits_alone ? NULL : probe_instructions(p->report->arena, p->device, &count, &p->report->diags);
    if (!all && !traits_alone)
        return false;
    if (option_given(p->line, "--list"))
        return list_names(p, all, count);
    bool good = true;
    for (int i = 0; good && i < (named ? p->line->positional_count : count); i++) {
        const char *name = named ? p->line->positional[i] : all[i];
        good = named && has_traits(p->device) && trait_find_row(name) ? probe_traits(p, name)
               : named && is_conversion(p, name)                      ? probe_conversion(p, name, true)
                                                                      : probe_one(p, name, named);
    }
    if (good && !named && has_traits(p->device))
        good = probe_conversions(p) && probe_traits(p, NULL);
    return finish(p, good);
}

static bool read_kit_row(void *context, const probe_target *target, const probe_options *options) {
    probing *p = context;
    arena *a = arena_new();
    bool good = find_in(p, a, target->box.device, target, options);
    arena_free(a);
    return good;
}

static bool read_kit_layout(void *context, const probe_target *target, const layout_finding *found) {
    probing *p = context;
    probe_result result = {.instruction = target->box.instruction, .description = target->description, .layout = *found};
    p->probed++;
    p->held += !found->mismatches;
    probe_rows(p->report->arena, target->box.device, &result, p->rows);
    if (!p->report->json)
        printf("%s: %s\n", target->box.instruction, found->verdict);
    for (int i = 0; i < found->differences.count && !p->report->json; i++)
        printf("  %s\n", found->differences.at[i]);
    return true;
}

static bool read_kit_traits(void *context, const trait_box *box) {
    return ask_traits(context, box, NULL);
}

static bool read_kit(probing *p, const char *path) {
    const kit_visitor visitor = {p, read_kit_row, find_conversion, read_kit_layout, read_kit_traits};
    return finish(p, kit_read(p->report->arena, path, &visitor, &p->report->diags));
}

static bool write_kit(probing *p, const char *folder) {
    const char *target = option_value(p->line, "--target");
    const char *const *names = p->line->positional_count ? p->line->positional : NULL;
    p->options.dots = option_given(p->line, "--dots") ? p->options.dots : 20000;
    p->options.planted = p->options.dots < 400000 ? p->options.dots : 400000;
    return kit_write(p->report->arena, folder, target ? target : "cuda", names, p->line->positional_count, &p->options,
                     &p->report->diags);
}

int command_probe(const command_line *line) {
    report r;
    report_begin(&r, line);
    const char *device = option_value(line, "--device"), *page = option_value(line, "--report"),
               *kit = option_value(line, "--write"), *answers = option_value(line, "--read"),
               *described = option_value(line, "--describe");
    probing p = {.report = &r, .line = line, .device = device ? device : "cpu", .rows = json_array()};
    const bool access = option_given(line, "--offset") && line->positional_count == 1;
    bool held = page                             ? write_report(&p, page)
                : !strcmp(p.device, "languages") ? print_languages(&p)
                : access                         ? ask_access(&p, line->positional[0])
                : described                      ? print_description(&p, described)
                                                 : read_options(&p) && (kit       ? write_kit(&p, kit)
                                                                        : answers ? read_kit(&p, answers)
                                                                        : !strcmp(p.device, "nvrtc") && !option_given(line, "--list") ? probe_gates(&p)
                                                                                                                                      : probe_all(&p));
    if (r.json)
        json_object_set(r.json, "findings", p.rows);
    json_decref(p.rows);
    return report_end(&r, held);
}
