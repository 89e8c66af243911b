/* A launch of a foreign kernel being put together; private to the commands that run them. */
#ifndef TILEC_COMMAND_FOREIGN_LAUNCH_H
#define TILEC_COMMAND_FOREIGN_LAUNCH_H
#include "command/foreign.h"
#include "kernel/legalize.h"
#include "run/run.h"
#include "sim/sim.h"

typedef struct launch {
    report *report;
    const kernel_ir *kernel;
    const lifted_kernel *lifted; /* what variables begin with */
    int count; /* of global arrays */
    const kernel_array **arrays;
    void **data;       /* heap */
    npy_array *files;  /* data NULL: made up, but for those that are `kept` */
    bool *kept;        /* files whose data is somebody else's: memory that an earlier step made */
    const char **what; /* of made-up ones: the recipe; NULL: random */
    int64_t *integers;
    bool *known;
    float *floats;
    bool *float_known;
    int integer_count, float_count;
} launch;

enum { SHOWN_ELEMENTS = 6 };

void launch_begin(launch *l, report *r, const lifted_kernel *k);
/* An ix_lookup of the values known so far, whose context is the launch. */
bool launch_lookup(void *context, const index_var *v, int64_t *value);
/* False: the kernel has no such symbol or integer. */
bool launch_set_integer(launch *l, const char *name, int64_t value);
int launch_array(const launch *l, const char *name); /* position; -1: there is none */
/* --arg and --shape, and the shapes of files and of what is kept. False with diagnostics, also where a value is not said. */
bool launch_bind(launch *l, const command_line *line);
/* Memory for each array, with what the launch gives it. False with E0803. */
bool launch_make_data(launch *l);
bool launch_simulate(launch *l, sim_report *seen);
/* Proves the kernel for the device's target and launches it. `routes` gains the rewritings. False with diagnostics. */
bool launch_on_device(launch *l, const char *name, proof *verdicts, legal_routes *routes);
void launch_free(launch *l);

/* ---- foreign_steps.c ---- */
typedef VEC(const char *) foreign_steps; /* "KERNEL(NAME=OTHER, ..)" */
/* What --step says, else, without --kernel, the sidecar file's lines; none: there are none. False with diagnostics. */
bool foreign_steps_read(report *r, const command_line *line, const char *path, foreign_steps *out);
/* Runs them in order: arrays that they call by one name of the host's are one memory. False with diagnostics. */
bool foreign_run_steps(report *r, const command_line *line, const char *path, const foreign_steps *steps);
/* NAME, TYPE, N elements = ..: the first ones. */
void launch_show(const char *name, element_type type, int64_t cells, const void *data);
#endif
