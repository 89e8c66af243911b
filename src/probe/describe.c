/* A device's description out of its findings: what programs need of them. */
#include "probe/findings.h"
#include <math.h>
#include <string.h>

static const char *text_of(const json_t *row, const char *name) {
    const char *text = json_string_value(json_object_get(row, name));
    return text ? text : "";
}

/* The member of that name, made where there is none. */
static json_t *member(json_t *o, const char *name) {
    json_t *found = json_object_get(o, name);
    if (!found) {
        found = json_object();
        json_object_set_new(o, name, found);
    }
    return found;
}

/* Of one finding what a program can use: the parameters of a unit that explains every answer, and numbers. */
static void take(json_t *description, const json_t *row) {
    const json_t *numbers = json_object_get(row, "numbers"), *unit = json_object_get(row, "unit"), *value;
    const char *fact = text_of(row, "fact"), *instruction = text_of(row, "instruction"), *name;
    bool found = !strcmp(text_of(row, "status"), "found"), is_device = !strcmp(instruction, "the device itself");
    if (unit && found)
        json_object_set_new(member(member(description, "units"), instruction), "unit",
                            json_pack("{s:O, s:O, s:O, s:O, s:O}", "a", json_object_get(unit, "a"), "b",
                                      json_object_get(unit, "b"), "c", json_object_get(unit, "c"), "k",
                                      json_object_get(unit, "k"), "parameters", json_object_get(unit, "parameters")));
    if (!strcmp(fact, "conversion") && found)
        json_object_set_new(member(description, "conversions"), instruction, json_string(text_of(row, "verdict")));
    if (!json_object_size(numbers) || !strcmp(text_of(row, "status"), "not determined"))
        return;
    json_t *to =
        is_device ? member(member(description, "traits"), fact) : member(member(member(description, "units"), instruction), fact);
    json_object_foreach((json_t *)numbers, name, value) { /* whole ones to the last digit */
        double number = json_number_value(value);
        bool whole = number == floor(number) && fabs(number) < 1e9;
        json_object_set_new(to, name, whole ? json_integer((json_int_t)number) : json_real(number));
    }
}

json_t *describe_device(const json_t *rows, const char *name) {
    json_t *newest = findings_newest(rows), *row, *out = json_object(), *runs = json_array();
    const char *utc = "";
    size_t i, length = strlen(name);
    int count = 0;
    json_array_foreach(newest, i, row) {
        const char *text = text_of(row, "description");
        if (strncmp(text, name, length) || (text[length] && text[length] != ','))
            continue;
        count++;
        take(out, row);
        utc = strcmp(text_of(row, "utc"), utc) > 0 ? text_of(row, "utc") : utc;
        size_t r = 0;
        while (r < json_array_size(runs) && strcmp(json_string_value(json_array_get(runs, r)), text_of(row, "run")))
            r++;
        if (r == json_array_size(runs))
            json_array_append_new(runs, json_string(text_of(row, "run")));
        if (count == 1)
            json_object_set_new(out, "description", json_string(text));
    }
    json_object_set_new(out, "name", json_string(name));
    json_object_set_new(out, "utc", json_string(utc));
    json_object_set_new(out, "runs", runs);
    json_decref(newest);
    if (count)
        return out;
    json_decref(out);
    return NULL;
}
