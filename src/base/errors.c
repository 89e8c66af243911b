/* The table of diagnostic codes. */
#include "base/diag.h"
#include "base/errors.h"
#include <string.h>

const error_entry error_entries[] = {
#define ERROR(code, title, explanation) {#code, title, explanation},
#include "base/errors.def"
#undef ERROR
};
const int error_entry_count = (int)(sizeof error_entries / sizeof *error_entries);

const error_entry *error_find(const char *code) {
    for (int i = 0; i < error_entry_count; i++)
        if (strcmp(error_entries[i].code, code) == 0)
            return &error_entries[i];
    return NULL;
}

static const struct {
    char digit;
    const char *title;
} families[] = {
    {'1', "Lexing and parsing"},
    {'2', "Names, types and ranges"},
    {'3', "Meaning: ownership, tiling, initialisation, bounds"},
    {'4', "Proof"},
    {'5', "Schedules, lowering and resources"},
    {'6', "Launch: shapes, values, checks"},
    {'7', "Oracle and check"},
    {'8', "Files, arrays, cache, compiler, devices"},
    {'9', "Internal: a checker refused what a pass made"},
};

/* The rows stand in the order of their parts; readers want the order of the codes. */
static const error_entry *next_code(const char *after) {
    const error_entry *best = NULL;
    for (int i = 0; i < error_entry_count; i++) {
        const error_entry *e = &error_entries[i];
        if (strcmp(e->code, after) > 0 && (!best || strcmp(e->code, best->code) < 0))
            best = e;
    }
    return best;
}

void error_print(FILE *out, const error_entry *e) {
    fprintf(out, "%s: %s\n\n%s\n", e->code, e->title, e->explanation);
}

void error_print_markdown(FILE *out) {
    fputs("# Every diagnostic\n\nMade by `tilec explain --all --markdown` from the table the compiler itself uses.\n", out);
    char family = 0;
    for (const error_entry *e = next_code(""); e; e = next_code(e->code)) {
        char digit = e->code[2];
        for (size_t i = 0; digit != family && i < sizeof families / sizeof *families; i++)
            if (families[i].digit == digit)
                fprintf(out, "\n## %s\n", families[i].title);
        family = digit;
        fprintf(out, "\n### %s: %s\n\n%s\n", e->code, e->title, e->explanation);
    }
}
