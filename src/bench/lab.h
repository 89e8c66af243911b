/* The lab: measures cells (one work, several arms) and keeps a row for each arm. */
#ifndef TILEC_BENCH_LAB_H
#define TILEC_BENCH_LAB_H
#include "bench/ceilings.h"
#include "bench/pair.h"
#include <jansson.h>

/* Another kernel at a shape of its own, which the first arm's way of running (device, schedule) is measured on as one more arm: how a kernel compares
 * with the same said otherwise. */
typedef struct lab_beside {
    const char *kernel, *file, *shape, *arguments;
} lab_beside;

/* One line of a sweep: a kernel at a shape, on so many threads, and the arms compared on it. */
typedef struct lab_cell {
    const char *kernel;
    const char *shape;     /* "M=64 N=64 K=64" */
    const char *arguments; /* "eps=1e-6" */
    int threads;
    bool cold;
    VEC(const char *) arms;   /* words; the first is the one that others are compared with */
    VEC(const char *) levers; /* parallel to arms in a tournament; empty otherwise */
    const char *file;         /* where the kernel stands; NULL: where all of the run's stand */
    VEC(lab_beside) beside;
} lab_cell;

typedef struct lab_options {
    const char *folder;  /* of the store; NULL: rows are not kept */
    const char *kernels; /* folder of the sources, for their commit */
    const char *command; /* as typed */
    const char *run;     /* identity of the run; NULL: a new one */
    int launch;          /* which process launch of the run, from 1 */
    int rounds;
    double sample_ms;
    double marginal_budget_ms; /* 0: no marginal costs */
    double threshold;          /* 0: none */
    bool ceilings;
    void (*progress)(void *context, const char *what, int done, int of);
    void *context;
    /* `file` NULL: among those of the run */
    const tile_module *(*find)(void *context, const char *file, const char *kernel, diag_list *diags);
    void *find_context;
    const struct arm_reader *reader; /* of kernels in other languages (arm.h); NULL: none */
} lab_options;

typedef struct lab lab;
/* Takes stock of the machine; the first row of the run tells of it. NULL with a diagnostic. */
lab *lab_open(const lab_options *o, diag_list *diags);
void lab_close(lab *l);
const char *lab_run(const lab *l);
const char *lab_environment(const lab *l); /* its hash */
/* Checks, measures and keeps. Rows are appended to `rows` as well. False when an arm failed (its row says so, and a diagnostic)
 * or a row could not be kept; an arm that has nothing for the work is a row with status "unsupported", and no failure. */
bool lab_measure(lab *l, const lab_cell *cell, json_t *rows, diag_list *diags);
/* Ceilings for a number of threads, measured once a run; NULL with a diagnostic. */
const ceilings *lab_ceilings(lab *l, int threads, diag_list *diags);

/* "2026-11-29T12:00:00Z" into at least 24 characters. */
void lab_time_text(char *out, size_t size);
#endif
