/* The simulator of Kernel IR: runs any kernel that the checker accepts, thread by thread, and checks every access while it runs.
 * Slow and right. It shares no code with the prover, whose verdicts it judges; doc/simulator.md describes its rules. */
#ifndef TILEC_SIM_SIM_H
#define TILEC_SIM_SIM_H
#include "kernel/kernel.h"

/* What a kernel can do wrong while it runs. */
typedef enum sim_kind {
    SIM_BOUNDS,       /* an index outside its dimension, or a cell outside the storage */
    SIM_UNWRITTEN,    /* a read of a cell, or of a fragment, that nothing has written */
    SIM_RACE,         /* two accesses of one cell that nothing orders, at least one a write */
    SIM_BARRIER,      /* a barrier that some participants never reach, or that others reach */
    SIM_DIVERGENCE,   /* what all lanes of a subgroup, fragment or block do at once, but not all reach, or with different operands */
    SIM_STUCK,        /* an mbarrier's phase that never completes, or that is waited for too early or too late */
    SIM_UNCOVERED,    /* a cell that the launch must write and did not */
    SIM_TWICE,        /* an output cell written more than once */
    SIM_CONTRIBUTION, /* a ghost cell consumed never, more than once, or though it is no part of the reduction */
    SIM_UNASKED,      /* a cell written that the array's `cells` leave out */
    SIM_OVERFLOW,     /* an integer expression that does not fit, or divides by what is not positive */
    SIM_RANGE,        /* an integer outside the range that its let states */
    SIM_LAYOUT,       /* two cells of one array share storage, or a view leaves its object */
    SIM_ASYNC,        /* memory or fragments used by an asynchronous unit: no proxy fence, still in flight, signalled too late */
    SIM_CONTRACT,     /* the reference of an intrinsic leaves its contract */
    SIM_ALIGNMENT,    /* a vector marked `aligned` that is not */
    SIM_STEPS,        /* the limit of steps was reached */
    SIM_KINDS
} sim_kind;
typedef struct sim_kind_info {
    const char *name;     /* "out of bounds" */
    const char *property; /* the prover's name of the property broken: "bounds", "race", "initialised", "coverage", ... */
    const char *code;     /* E0712 */
} sim_kind_info;
extern const sim_kind_info sim_kinds[SIM_KINDS];

typedef struct sim_finding {
    sim_kind kind;
    source_span span;    /* the statement that misbehaves */
    source_span other;   /* a race, a second write: the earlier access; file NULL: none */
    const char *message; /* "`y[3, 40]` is outside: dimension 1 has 40 cells" */
    const char *thread;  /* "i0 = 0, l = 3"; NULL when it concerns no single thread */
    const char *other_thread;
    const char *array; /* its name; NULL when it concerns none */
} sim_finding;

/* A matrix unit of a certain device: d = c + sum of a[i] * b[i] over one row and column of a product of fragments. False: it has no such unit. */
typedef struct sim_matrix {
    bool (*dot)(void *context, const kernel_stmt *mma, int k, const double *a, const double *b, double c, double *d);
    void *context;
} sim_matrix;

typedef struct sim_options {
    uint64_t seed;      /* 0: tasks and threads in order, each as far as it can; others: interleaved at random by this seed */
    int64_t step_limit; /* instructions of all threads together; 0: 100 million */
    int64_t byte_limit; /* memory that the simulation may hold; 0: 1 GiB */
    int index_bits;     /* width that every integer expression and offset must fit, 32 or 64; 0: 64 */
    int finding_limit;  /* stop after so many different findings; 0: 8 */
    const sim_matrix *matrix; /* NULL: float products of fragments are added one by one, each rounding once */
    bool zeros;               /* sim_witness: data are zeros rather than random (tickets and counters begin so) */
} sim_options;

typedef struct sim_report {
    VEC(sim_finding) findings; /* different ones: a place that misbehaves a thousand times is one */
    int64_t steps, tasks, threads;
    bool finished;       /* every task ran to its end */
    bool unknown_values; /* an intrinsic wrote something: the values that depend on it are zeros instead */
} sim_report;

/* The launch's values, as targets order them: `arrays` the GLOBAL arrays in the kernel's order, each row-major or as its layout says,
 * sim_array_bytes() long; `integers` the symbols, then the integer scalars; `floats` the other scalars. An `out` array, or a
 * workspace, may be NULL: what is written there is then dropped. */
typedef struct sim_arguments {
    void *const *arrays;
    const int64_t *integers;
    const float *floats;
} sim_arguments;

/* Bytes of a GLOBAL array's storage at these launch values; -1 when an extent is negative or the size does not fit. */
int64_t sim_array_bytes(const kernel_ir *k, const kernel_array *array, const int64_t *integers);

/* Runs every task of a kernel. True when all ended and nothing misbehaved. Otherwise `report` (its texts live in `a`) says what did, and each
 * finding is an error in `diags` too; values that break the kernel's declarations (E0711), and kernels beyond the simulator (E0710), have
 * no finding. Outputs are copied back in any case. options NULL: the defaults. */
bool sim_run(arena *a, const kernel_ir *k, const sim_arguments *args, const sim_options *options, sim_report *report,
             diag_list *diags);

/* Runs a plan: its checks, then the variant whose predicate holds, pre-passes first. Arguments stand as the first variant's kernel
 * declares them; the others' are matched by name. Workspaces are the simulator's own. */
bool sim_run_plan(arena *a, const launch_plan *plan, const sim_arguments *args, const sim_options *options, sim_report *report,
                  diag_list *diags);

/* The values of a launch. */
typedef struct sim_launch {
    const kernel_ir *kernel;
    int64_t *integers; /* the symbols, then the integer scalars */
    float *floats;     /* the other scalars */
} sim_launch;
/* What sim_witness takes for these bindings, in the arena; whether the kernel's declarations allow them is not asked. False with a diagnostic when
 * they can't be read. */
bool sim_launch_of(arena *a, const kernel_ir *k, const char *bindings, sim_launch *out, diag_list *diags);
/* An ix_lookup whose context is a sim_launch: its symbols and integer scalars have values. */
bool sim_launch_value(void *context, const index_var *v, int64_t *value);

/* Runs a kernel at a witness, "M = 1, N = 33, i0 = 0": symbols and scalars take these values (unnamed ones what an `assume S == ...` gives, else
 * the least that they may be, or 1; other names are places inside the launch and say nothing here). Inputs are random by the seed, index arrays
 * within their bounds; other integers are small where seed mod 8 < 4, at the ends of their type at 5 and 6, anything at 4 and 7. Returns and reports
 * as sim_run does: true means that nothing misbehaved. */
bool sim_witness(arena *a, const kernel_ir *k, const char *bindings, const sim_options *options, sim_report *report,
                 diag_list *diags);
/* The same for a plan: its arguments are those that its first variant's kernel declares. */
bool sim_witness_plan(arena *a, const launch_plan *plan, const char *bindings, const sim_options *options, sim_report *report,
                      diag_list *diags);
#endif
