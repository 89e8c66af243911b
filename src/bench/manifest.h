/* The manifest beside a drop-in kernel: what `tilec build` writes, and what anyone can write by hand. doc/bench.md
 * describes it. */
#ifndef TILEC_BENCH_MANIFEST_H
#define TILEC_BENCH_MANIFEST_H
#include "kernel/kernel.h"

typedef struct manifest {
    const char *path;
    const char *kernel;          /* whose meaning it has; NULL: the work's */
    const char *source;          /* path of the C file */
    const char *entry;           /* the function that does everything; NULL when there are only tasks */
    bool returns_code;           /* it returns int, 0 when all went well */
    const char *schedule;        /* for people; NULL */
    VEC(const char *) arguments; /* names of the kernel's arrays, symbols and scalars, in the function's order */
    /* "tasks": for kernels that threads share */
    bool has_tasks;
    const char *check; /* called with `arguments` before each launch; NULL */
    const char *task_count, *task_run, *task_scratch;
    VEC(const char *) count_arguments;
    char content_hash[33]; /* of the source and the files it lists */
} manifest;
/* False with E1020 when it cannot be read, E1021 when it says something that cannot be. */
bool manifest_read(arena *a, const char *path, manifest *out, diag_list *diags);
/* Writes FOLDER/NAME.json for the files that the target's build wrote there. */
bool manifest_write(const launch_plan *plan, const char *target, const char *folder, diag_list *diags);
#endif
