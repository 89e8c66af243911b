/* What the files of `tilec check --read-back` share. */
#ifndef TILEC_COMMAND_READ_BACK_PARTS_H
#define TILEC_COMMAND_READ_BACK_PARTS_H
#include "command/read_back.h"
#include "lift/lift.h"
#include "lift/source.h"
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
    const char *label; /* in front of its lines: "chain, step 2: "; NULL: none */
    struct back *same; /* its texts are those of this one, read already; NULL: its own */
    bool failed;
} back;

/* What an array of a program's step is, in memory of the program's. */
typedef struct read_back_data {
    void *memory;
    int64_t bytes;
} read_back_data;

/* ---- read_back.c ---- */
/* The plan's entries, and the language of its text. False with diagnostics. */
bool read_back_open(back *b, const target *t, const proved_plan *p, source_language *language);
/* Reads the texts of these kernels' launches; those with `same` take what was read for that. */
void read_back_read(back *const *kernels, int count, source_language language);
/* A line, or an object in `texts`, for each text: whether it gives the same. */
void read_back_tell(back *b, json_t *texts);

/* ---- read_back_launch.c ---- */
/* Chooses launch values, data, the variant and its entries, and runs the Kernel IR. False with diagnostics. */
bool read_back_launch(back *b, const command_line *line, bool all);
/* The same for a launch whose values and data are there (by the kernel's arrays in memory of their own); what it writes is written there. */
bool read_back_step(back *b, const sim_launch *launch, const read_back_data *data, bool all);
/* Runs what was read for entry i on the same data, and compares. False with diagnostics. */
bool read_back_compare(back *b, int i);
#endif
