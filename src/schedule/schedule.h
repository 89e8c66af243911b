/* Schedules: tile sizes and implementation choices; and the lowering of Tile IR to Kernel IR under one. */
#ifndef TILEC_SCHEDULE_SCHEDULE_H
#define TILEC_SCHEDULE_SCHEDULE_H
#include "kernel/kernel.h"
#include "tile/oracle.h"
#include "tile/tile.h"

/* What lowering and the capacity proof need to know of a target; one row a target (target/target.def gives them). */
typedef struct machine_model {
    const char *target;    /* "c" */
    int vector_lanes;      /* f32 lanes of a vector register: 16, 8 or 4 */
    int vector_registers;  /* 32 or 16 */
    int64_t private_bytes; /* memory one task may hold */
    int64_t cache_bytes;   /* per-core cache that a task's working set should fit */
    int workers;           /* threads that share the tasks */
    int subgroup_lanes;    /* threads of a subgroup; 0: a task is one thread */
    int subgroups;         /* subgroups of a block */
    int rereading_subgroups; /* the same where tasks read again what they have read: few tasks at a time, so that a near cache keeps it; 0: no different */
    int64_t shared_bytes; /* memory that a block shares */
    int widest_vector;    /* elements that a thread of a block takes at once; 0: what 16 bytes hold */
} machine_model;

/* Everything a schedule settled: bindings for the TILE names, and why. */
typedef struct schedule_choice {
    VEC(tile_binding) bindings;
    const char *text; /* "BM = 96, BN = 128, BK = 256" for people and for the cache key */
} schedule_choice;

/* Chooses tile sizes: from `overrides` (--set), then the module's schedule for this target, then by the compiler. Diagnoses unknown
 * keys and illegal values (E05xx, naming the limit and the nearest legal value). Statics must be bound already. False on errors. */
bool schedule_choose(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *machine,
                     const tile_binding *overrides, int override_count, schedule_choice *out, diag_list *diags);

/* The result of lowering: a launch plan and how each reduction was emitted (for the oracle's bounds). */
typedef struct lowering {
    launch_plan *plan;
    VEC(reduction_tree) trees;
    VEC(const char *) routes; /* for --explain: the route taken and the ones refused, a line each */
} lowering;
/* Lowers a kernel whose STATIC and TILE names are all bound: for a task that is one thread, or (machine->subgroup_lanes) a block of threads.
 * False, with diagnostics, when something cannot be expressed. */
bool lower_kernel(arena *a, const tile_kernel *k, const machine_model *machine, lowering *out, diag_list *diags);
#endif
