/* Descriptions of devices, read once a process out of the files that the program has within it. */
#include "target/device_description.h"
#include "base/arena.h"
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const char *const *lines;
} files[] = {
#include "devices.inc"
};
enum { FILES = sizeof files / sizeof *files, MOST_ALIGNMENT = 40, MOST_PRODUCTS = 64 };

static device_description *descriptions;
static int description_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A speed or a time; 0: not measured, or none that a device has. */
static double number_at(const json_t *o, const char *first, const char *second) {
    double x = json_number_value(json_object_get(json_object_get(o, first), second));
    return x > 0 && x < 1e18 ? x : 0;
}

/* Only a unit that adds all its terms at once is what the oracle's rule is of. */
static unit_description read_unit(const char *name, const json_t *o) {
    const json_t *unit = json_object_get(o, "unit"), *p = json_object_get(unit, "parameters");
    const json_int_t bits = json_integer_value(json_object_get(p, "output bits")),
                     alignment = json_integer_value(json_object_get(p, "alignment")),
                     k = json_integer_value(json_object_get(unit, "k"));
    bool at_once = unit && !json_integer_value(json_object_get(p, "order")) && alignment > 0 && alignment <= MOST_ALIGNMENT &&
                   k > 0 && k <= MOST_PRODUCTS && bits > 0 && bits <= 23;
    return (unit_description){.name = name,
                              .added = at_once ? (int)k : 0,
                              .fraction = at_once ? (int)alignment : 0,
                              .kept = at_once && bits < 23 ? (int)bits : 0,
                              .per_second = number_at(o, "place", "multiply_adds_per_second")};
}

/* A copy that lives as long as the process; NULL: there is none. */
static const char *kept(const char *text) {
    return text ? strdup(text) : NULL;
}

static bool read_description(json_t *o, device_description *out) {
    json_t *units = json_object_get(o, "units"), *traits = json_object_get(o, "traits"), *unit;
    unit_description *list = calloc(json_object_size(units) + 1, sizeof *list);
    const char *name;
    if (!list)
        return false;
    *out = (device_description){.name = kept(json_string_value(json_object_get(o, "name"))),
                                .utc = kept(json_string_value(json_object_get(o, "utc"))),
                                .units = list,
                                .far_ns = number_at(traits, "caches", "far_ns"),
                                .shared_bytes_per_ns = number_at(traits, "banks", "bytes_per_ns")};
    json_object_foreach(units, name, unit) {
        list[out->count++] = read_unit(kept(name), unit);
    }
    return out->name && out->utc && json_is_object(units);
}

/* What keeps $TILEC_DESCRIPTION from being read; line 0: none. */
static struct {
    const char *path;
    int line;
    char text[JSON_ERROR_TEXT_LENGTH];
} fault;

/* The user's own, before those within. */
static void read_named(const char *path) {
    json_error_t error = {.line = 1};
    json_t *o = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    const bool is_one = o && read_description(o, &descriptions[description_count]);
    descriptions[description_count].path = kept(path);
    description_count += is_one;
    if (!is_one) {
        fault.path = kept(path);
        fault.line = o || error.line < 1 ? 1 : error.line;
        snprintf(fault.text, sizeof fault.text, "%s", o ? "it has no `name`, no `utc`, or no `units`" : error.text);
    }
    json_decref(o);
}

static void read_all(void) {
    const char *path = getenv("TILEC_DESCRIPTION");
    descriptions = calloc(FILES + 1, sizeof *descriptions);
    if (descriptions && path && *path)
        read_named(path);
    for (int i = 0; descriptions && i < FILES; i++) {
        text_buffer text = {0};
        for (const char *const *line = files[i].lines; *line; line++)
            text_add(&text, "%s", *line);
        json_t *o = json_loads(text_get(&text), 0, NULL);
        text_free(&text);
        if (o && read_description(o, &descriptions[description_count]))
            description_count++;
        json_decref(o);
    }
}

bool device_descriptions_read(diag_list *diags) {
    pthread_once(&once, read_all);
    if (!fault.line)
        return true;
    diag *g = diag_error(diags, "E1209", (source_span){fault.path, fault.line, 1, 1}, "$TILEC_DESCRIPTION: %s", fault.text);
    diag_note(diags, g, "`tilec probe --describe NAME --store DIR` writes such a file");
    return false;
}

const device_description *device_description_find(const char *words) {
    pthread_once(&once, read_all);
    for (int i = 0; i < description_count; i++) {
        size_t length = strlen(descriptions[i].name);
        if (!strncmp(words, descriptions[i].name, length) && (!words[length] || words[length] == ','))
            return &descriptions[i];
    }
    return NULL;
}

const unit_description *device_unit_find(const device_description *d, const char *name) {
    for (int i = 0; d && name && i < d->count; i++)
        if (d->units[i].name && !strcmp(d->units[i].name, name))
            return &d->units[i];
    return NULL;
}
