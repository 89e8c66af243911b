/* Arms: the things that are compared. Each runs the same work on the same buffers and is timed by one clock. */
#ifndef TILEC_BENCH_ARM_H
#define TILEC_BENCH_ARM_H
#include "bench/work.h"
#include <jansson.h>
#include <sys/types.h>

typedef struct bench_arm bench_arm;
/* Reads kernels in other languages and proves them for a target: the command's, whose options they have. What it gives is of the diagnostics' arena. */
typedef struct arm_reader {
    void *context;
    /* The kernel (NULL: the text's only one) under the launch contract of its sidecar file. NULL with diagnostics; *unsupported: there is no clang or no
     * plugin to read with. */
    const kernel_ir *(*read)(void *context, const char *path, const char *kernel, bool *unsupported, diag_list *diags);
    /* For launches with these symbols, then integer scalars. NULL with diagnostics. */
    const proved_plan *(*prove)(void *context, const kernel_ir *k, const int64_t *integers, const target *t, diag_list *diags);
} arm_reader;
struct manifest;
typedef struct bench_arm_kind {
    const char *name; /* "kernel", "file", "read", "library", "python" */
    /* Runs the work `count` times in one submission, on buffer sets first_set, first_set + 1, .. (modulo the work's), and gives
     * the time from submission to the end of the last. False with a diagnostic. */
    bool (*run)(bench_arm *arm, int64_t first_set, int64_t count, double *nanoseconds, diag_list *diags);
    void (*close)(bench_arm *arm);
} bench_arm_kind;

struct bench_arm {
    const bench_arm_kind *kind;
    const char *name; /* as given on the command line */
    void *state;
    const char *clock;   /* CLOCK_NAME, CLOCK_DEVICE_NAME, or what a Python file says; pairs of different clocks are refused */
    int threads;         /* that it uses */
    bool shares_buffers; /* it works on the work's own memory; false: on copies, made outside the time */
    bool foreign;        /* somebody else's order of summation: judged with the bound of the longest chain */
    pid_t process;       /* it runs there; 0: here */
    json_t *description; /* versions, schedule, hashes, compile time: columns of its rows */
    int64_t next_set;    /* where its next sample begins */
};

/* Opens an arm from its words:
 *   ours[@DEVICE][:NAME=N,...]   our kernel on a device (the CPU), with tile sizes set
 *   file:MANIFEST.json           a drop-in kernel beside its manifest
 *   read:FILE[:KERNEL]           a kernel in another language (.cl, .cu, .metal, .ll), read and lowered
 *   openblas                     the library, where it can do this work
 *   python:FILE.py[:FUNCTION]    a callable behind an adapter process; the function is the kernel's name when not given
 * NULL with a diagnostic. *unsupported tells that the arm itself is fine but has nothing for this work. */
bench_arm *arm_open(bench_work *w, const char *words, bool *unsupported, diag_list *diags);
void arm_close(bench_arm *arm);

/* One file each. */
bool arm_open_kernel(bench_arm *arm, bench_work *w, const char *device, const char *words, diag_list *diags);
bool arm_open_file(bench_arm *arm, bench_work *w, const char *path, diag_list *diags);
/* For a manifest with a device. */
bool arm_open_file_device(bench_arm *arm, bench_work *w, const struct manifest *m, diag_list *diags);
bool arm_open_read(bench_arm *arm, bench_work *w, const char *words, bool *unsupported, diag_list *diags);
bool arm_open_library(bench_arm *arm, bench_work *w, bool *unsupported, diag_list *diags);
bool arm_open_python(bench_arm *arm, bench_work *w, const char *words, bool *unsupported, diag_list *diags);

/* The call behind an arm of kind "kernel", NULL for others: the value check judges it by the tree that was emitted. */
run_call *arm_call(bench_arm *arm);
/* Has such an arm's call read and write this set of the work's arrays. */
void arm_point_at(bench_arm *arm, int64_t set);
#endif
