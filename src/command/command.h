/* Commands: a file each, a row each in commands.c. This header is what they share. */
#ifndef TILEC_COMMAND_COMMAND_H
#define TILEC_COMMAND_COMMAND_H
#include "base/diag.h"
#include "compile.h"
#include <jansson.h>
#include <stdio.h>

#include "command/version.h"

enum { EXIT_HELD = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct option_row {
    const char *name;  /* "--device" */
    const char *value; /* what stands behind it in the help, "NAME"; NULL: a flag */
    const char *help;
} option_row;

struct command_line;
typedef struct command {
    const char *name;
    const char *usage;         /* behind the name */
    const char *summary;       /* one line, for `tilec help` */
    const char *help;          /* what it does, for `tilec NAME --help` */
    const option_row *options; /* ends with a NULL name; --json and --help are everybody's */
    int (*run)(const struct command_line *line);
    bool hidden;
} command;
extern const command commands[];
extern const int command_count;

typedef struct command_line {
    const command *command;
    const char **positional;
    int positional_count;
    struct given_option {
        const option_row *row;
        const char *value;
    } * options;
    int option_count;
} command_line;

/* Runs one command of the table. Returns the exit status. */
int command_main(int argc, char **argv);
/* The last value given for an option ("" for a flag); NULL when it was not given. */
const char *option_value(const command_line *line, const char *name);
bool option_given(const command_line *line, const char *name);
/* The values of a repeatable option, commas split for NAME=value lists: calls `each` until it returns false. */
bool option_each(const command_line *line, const char *name, bool (*each)(void *context, const char *value), void *context);
/* Splits NAME=VALUE; false with E0860 otherwise. `name` is arena text. */
bool option_split(arena *a, const char *option, const char *text, const char **name, const char **value, diag_list *diags);
/* A whole number for NAME=value; false with E0860. */
bool option_integer(const char *option, const char *text, int64_t *value, diag_list *diags);

/* What a command found: text for people as it goes, or one JSON object at the end. */
typedef struct report {
    arena *arena;
    diag_list diags;
    json_t *json; /* NULL unless --json */
    bool colour;  /* stderr is a terminal */
    int printed;  /* diagnostics printed so far */
} report;
void report_begin(report *r, const command_line *line);
/* Prints the diagnostics not printed yet (people only). */
void report_flush(report *r);
/* Prints the rest or the JSON, frees everything, returns the exit status: EXIT_HELD only when `held` and no error was reported. */
int report_end(report *r, bool held);
json_t *report_diagnostics(const report *r, int first); /* JSON array of those from `first` on */

/* The target named by --target or the first one; NULL with E0862. */
const target *command_target(const command_line *line, diag_list *diags);
/* --machine: the processor that target c's files are for; first of all that asks for a target's machine. False with E0860: there is none of that name. */
bool command_machine(const command_line *line, diag_list *diags);
/* Symbols of --shape. */
typedef struct name_values {
    arena *arena;
    VEC(tile_binding) items;
    diag_list *diags;
    const char *option;
} name_values;
bool command_name_values(const command_line *line, const char *option, arena *a, name_values *out, diag_list *diags);
/* Tile sizes and options of --set: "BM=32,operands=staged". */
typedef struct setting_list {
    arena *arena;
    VEC(schedule_setting) items;
    diag_list *diags;
} setting_list;
bool command_settings(const command_line *line, arena *a, setting_list *out, diag_list *diags);
/* --dump letters checked; false with E0861. *letters is NULL when not given. */
bool command_dump(const command_line *line, const char **letters, diag_list *diags);
/* The folder of the kernels that come with tilec: what $TILEC_KERNELS says, else beside the program or its folder, or PREFIX/share/tilec/kernels,
 * or ./kernels. Arena text; NULL where there is none (the program has copies, command/library.h). */
const char *command_kernels_folder(arena *a);
double command_now_ms(void);

int command_check(const command_line *line);
int command_build(const command_line *line);
int command_run(const command_line *line);
int command_corpus(const command_line *line);
int command_kernels(const command_line *line);
int command_kernels_of(const command_line *line); /* with files */
int command_devices(const command_line *line);
int command_explain(const command_line *line);
int command_cache(const command_line *line);
int command_bench(const command_line *line);
int command_probe(const command_line *line);
int command_layout(const command_line *line);
#endif
