/* What the files of `tilec check --read-back` share. */
#ifndef TILEC_COMMAND_READ_BACK_PARTS_H
#define TILEC_COMMAND_READ_BACK_PARTS_H
#include "command/read_back.h"
#include "lift/lift.h"
#include "sim/sim.h"
#include "target/gpu_plan.h"

/* A kernel's one launch, and the texts that are read for it. */
typedef struct back {
    report *r;
    arena *a;
    const launch_plan *plan;
    sim_launch launch; /* of the first variant's kernel */
    int count;         /* its global arrays */
    const kernel_array **arrays;
    int64_t *bytes;
    void **given, **wanted, **got;
    gpu_program program;
    const char *whole; /* the text, where it is not the program's; NULL */
    const char *path;  /* of the text, for diagnostics */
    const plan_variant *variant;
    int64_t tasks;
    const gpu_entry *entries[GPU_FORMS]; /* those that take the launch */
    lifted_kernel texts[GPU_FORMS];      /* what was read for each */
    int entry_count;
    bool failed;
} back;

/* ---- read_back_launch.c ---- */
/* Chooses launch values, data, the variant and its entries, and runs the Kernel IR. False with diagnostics. */
bool read_back_launch(back *b, const command_line *line, bool all);
/* Runs what was read for entry i on the same data, and compares. False with diagnostics. */
bool read_back_compare(back *b, int i);
#endif
