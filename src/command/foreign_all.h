/* All kernels of a source text, by several processes. foreign_summary.c says what came out. */
#ifndef TILEC_COMMAND_FOREIGN_ALL_H
#define TILEC_COMMAND_FOREIGN_ALL_H
#include "command/foreign.h"

typedef struct foreign_check_options {
    int jobs;                    /* processes at a time */
    double seconds;              /* of processor time for a kernel's proof; 0: kernels are read, and not proved */
    const target_limits *limits; /* with those seconds */
} foreign_check_options;

/* Milliseconds of processors. */
typedef struct whole_times {
    double all;    /* of all processes */
    double clang;  /* of compiling */
    double module; /* of reading modules through LLVM */
} whole_times;

typedef struct whole_source {
    report *r;
    const command_line *line;
    const char *path;
    foreign_check_options options;
    source_options source;
    const foreign_source *compiled; /* NULL: each batch of kernels is compiled by itself */
    const char *const *names;       /* host names; those of `compiled` in its order */
    int count;
    void (*progress)(struct whole_source *s); /* called when rows have come; NULL */
    void *context;
} whole_source;

/* Fills in rows[count], a JSON object a kernel, the caller's: what `tilec check --json` has for it, and "verdict": proved, refuted, open, read or not read; "index",
 * "read_ms", "line". False with a diagnostic when no process could be started. */
bool foreign_judge_all(whole_source *s, json_t **rows, whole_times *times);
/* `tilec check FILE` with --summary, or with more kernels than anyone reads details of: a line each, and a summary. Of others *handled is false, and nothing is
 * done. False when a kernel is not proved, or with a diagnostic. */
bool foreign_check_all(report *r, const command_line *line, const char *path, json_t *list, bool *handled);
#endif
