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
    const char *digits; /* behind the E */
    const char *title;
} families[] = {
    {"01", "Lexing and parsing"},
    {"02", "Names, types and ranges"},
    {"03", "Meaning: ownership, tiling, initialisation, bounds"},
    {"04", "Proof"},
    {"05", "Schedules, lowering and resources"},
    {"06", "Launch: shapes, values, checks"},
    {"07", "Oracle and check"},
    {"08", "Files, arrays, cache, compiler, devices"},
    {"09", "Internal: a checker refused what a pass made"},
    {"10", "Measuring"},
    {"11", "Reading kernels of other languages"},
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
    const char *family = "";
    for (const error_entry *e = next_code(""); e; e = next_code(e->code)) {
        for (size_t i = 0; i < sizeof families / sizeof *families; i++)
            if (strncmp(families[i].digits, e->code + 1, 2) == 0 && families[i].digits != family) {
                family = families[i].digits;
                fprintf(out, "\n## %s\n", families[i].title);
            }
        fprintf(out, "\n### %s: %s\n\n%s\n", e->code, e->title, e->explanation);
    }
}
