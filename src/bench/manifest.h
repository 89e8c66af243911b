/* The manifest beside a drop-in kernel: what `tilec build` writes, and what anyone can write by hand. doc/bench.md
 * describes it. */
#ifndef TILEC_BENCH_MANIFEST_H
#define TILEC_BENCH_MANIFEST_H
#include "kernel/kernel.h"
#include <jansson.h>

/* What a device's kernel is given: something of the work's by name, or a constant. */
typedef struct manifest_argument {
    const char *name; /* NULL: `value` */
    const char *type; /* "int64", "int32", "f32", "bool" (an int32); NULL: int64 for whole numbers, else what the scalar is */
    double value;
} manifest_argument;

enum { LAUNCH_DIMENSIONS = 3 };

/* One way to launch a text for blocks of threads; formulas are over extents and whole scalars (formula.h). */
typedef struct manifest_launch {
    const char *when; /* NULL: always */
    const char *entry;
    const char *threads[LAUNCH_DIMENSIONS], *blocks[LAUNCH_DIMENSIONS]; /* of a block; of the launch */
    int64_t aligned;                                                    /* arrays begin at multiples of so many bytes */
    VEC(manifest_argument) arguments;
} manifest_launch;

typedef struct manifest {
    const char *path;
    const char *kernel;          /* whose meaning it has; NULL: the work's */
    const char *source;          /* path of the file */
    const char *device;          /* "opencl" for .cl, "cuda" for .cu, NULL for .c */
    const char *entry;           /* the function that does everything; NULL when there are only tasks */
    bool returns_code;           /* it returns int, 0 when all went well */
    const char *schedule;        /* for people; NULL */
    VEC(const char *) arguments; /* names of the kernel's arrays, symbols and scalars, in the function's order */
    /* "tasks": for kernels that threads share */
    bool has_tasks;
    const char *check; /* called with `arguments` before each launch; NULL */
    const char *task_count, *task_run, *task_scratch;
    VEC(const char *) count_arguments;
    VEC(manifest_launch) launches; /* of a device's text: the first whose `when` holds is taken; none for C */
    char content_hash[33];         /* of the source and the files it lists */
} manifest;
/* False with E1020 when it cannot be read, E1021 when it says something that cannot be. */
bool manifest_read(arena *a, const char *path, manifest *out, diag_list *diags);
/* Writes FOLDER/NAME.json for the files that the target's build wrote there. */
bool manifest_write(const launch_plan *plan, const char *target, const char *folder, diag_list *diags);

/* manifest_launches.c: `launches`, or the one launch that the manifest itself describes. False with E1021. */
bool manifest_read_launches(arena *a, manifest *m, const json_t *object, diag_list *diags);
/* The launches of a plan's text for "opencl" or "cuda", in the form that is read. NULL with diagnostics. */
json_t *manifest_launches(const launch_plan *plan, const char *target, diag_list *diags);
/* For the two files that read manifests. */
bool manifest_wrong(const manifest *m, diag_list *diags, const char *what); /* false */
bool manifest_is_name(const char *text);
#endif
