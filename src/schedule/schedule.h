/* Schedules: tile sizes and implementation choices; and the lowering of Tile IR to Kernel IR under one. */
#ifndef TILEC_SCHEDULE_SCHEDULE_H
#define TILEC_SCHEDULE_SCHEDULE_H
#include "kernel/kernel.h"
#include "kernel/matrix.h"
#include "schedule/intrinsic_table.h"
#include "tile/oracle.h"
#include "tile/tile.h"

/* How the operands of a kernel's products are read: each from where it is, or from copies made first (in private memory by a task that is one thread,
 * in shared memory by a block), or by matrix instructions: from where they are or from copies, as the target likes, or as is said. */
typedef enum operand_choice {
    OPERANDS_CHOSEN,
    OPERANDS_DIRECT,
    OPERANDS_STAGED,
    OPERANDS_FRAGMENTS,
    OPERANDS_FRAGMENTS_DIRECT,
    OPERANDS_FRAGMENTS_STAGED
} operand_choice;
static inline bool operands_by_fragments(operand_choice c) {
    return c >= OPERANDS_FRAGMENTS;
}

/* Whether the tasks of a kernel whose results are rows with a subgroup each are enough to fill a device. Few: a row takes the whole block, whose
 * subgroups then share the loop over it. */
typedef enum task_choice { TASKS_CHOSEN, TASKS_MANY, TASKS_FEW } task_choice;

/* What a schedule says besides tile sizes (doc/language.md), checked against the target and the kernel. Zero: the compiler's choice. */
typedef struct schedule_options {
    int vector;                          /* most elements that one access takes */
    int subgroups;                       /* of a block */
    int subgroup_rows, subgroup_columns; /* how they stand over the results of a product: their product is `subgroups` */
    operand_choice operands;
    int promote; /* products that a unit may add which keeps fewer bits than f32, before its sum is added in f32; 0: no such unit is taken */
    int stages; /* slots of the ring that operands of matrix instructions are copied into; 1: they are copied before each step */
    bool
        operand_warpgroups; /* FRAGMENTS: by instructions of warpgroups, which read operands from shared memory; the device must have them */
    bool
        producer; /* a thread of its own copies such operands in bulk, the others multiply: where arrays begin and rows lie at multiples of 16 bytes */
    bool operand_typed; /* the copies are of operand_type, which holds every value of every operand exactly */
    element_type operand_type;
    int64_t
        split; /* elements of a chunk of the kernel's loop; -1: it is not split; 0: chosen at the launch. split.c, before lowering */
    task_choice tasks; /* chosen at the launch, where it is many by itself (schedule_few_tasks) */
    bool
        lane_access; /* matrices of a subgroup are loaded and stored by each lane for itself, also where the target has functions for it */
    bool whole_sums; /* launches whose sums are one tile: those of products are stored from registers. lower_sums.c */
    bool
        halved_edges; /* what blocks of rows and of vectors leave over goes in blocks of half as many, and so on; else one at a time */
    bool wide_indices; /* texts with indices of 64 bits alone, also where 32 would do */
    source_span vector_at, subgroups_at, operands_at, stages_at, roles_at,
        promote_at; /* where each was said; line 0: not in a source text */
} schedule_options;

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
    int dealing_subgroups; /* the same of the halves of a split kernel (tile/split.h), whose subgroups take tiles of a loop in turn; 0: no different */
    int64_t shared_bytes; /* memory that a block shares */
    int row_registers; /* of a thread, that elements of a row may take which several loops read (rows.c); 0: each loop reads it again */
    int widest_vector;    /* elements that a thread of a block takes at once; 0: what 16 bytes hold */
    bool subgroups_alone; /* lanes of a subgroup exchange where not every subgroup of the block comes by */
    int most_subgroups;   /* that a schedule may ask for */
    bool stages_operands; /* the lowering honours schedule_options.operands */
    bool staging_pays;    /* shared memory is surely nearer than global memory's caches: copying pays by itself */
    int stages;           /* that rings of such operands have, when they fit; 0: the target has no asynchronous copies */
    int held_stages;      /* the same where threads copy by themselves, through registers, and it is asked for; 0: they don't */
    int64_t ring_bytes;   /* of shared memory that kernels with such rings may take; 0: shared_bytes */
    bool warpgroups_pay;  /* the compiler may choose them for a launch on a device that has them */
    int warpgroup_subgroups; /* of a warpgroup, whose matrix instructions read operands from shared memory; 0: the target has none */
    int warpgroup_block, warpgroup_stages; /* where they are used: subgroups of a block, slots of the ring of operands, */
    int64_t warpgroup_bytes;               /* and shared memory that a block may take, where the device has them */
    matrix_table matrices;                 /* what products of tiles may be made of; empty: multiply-adds of single elements */
    unsigned
        left_of_sums; /* 1u << bytes: left operands of elements of so many bytes lie as accumulators of a subgroup side by side do */
    int fragment_row; /* elements of a row of an operand in shared memory that a subgroup's lanes read at once; 0: what 16 bytes hold */
    bool direct_fragments; /* their operands are loaded straight from memory where they lie there as they are multiplied */
    int matrix_tile;       /* elements of their tiles along rows and along columns, where the compiler chooses; 0: 128 */
    bool producer;         /* this lowering is the one with a producer (lower_roles); nothing in a target's row */
    const intrinsic_table *intrinsics; /* functions of its texts that intrinsics may bind; NULL: none */
    const char *intrinsic_target;      /* what they call the target; NULL: its name */
    const char *intrinsic_form;        /* its second text, "typed", which bindings "air.typed" are for; NULL: it has one */
    schedule_options options;          /* what the schedule wants of the lowering; nothing in a target's row */
} machine_model;

/* Everything a schedule settled: bindings for the TILE names, and why. */
typedef struct schedule_choice {
    VEC(tile_binding) bindings;
    VEC(bool) chosen; /* by binding: by the compiler */
    schedule_options options;
    const char *text; /* "BM = 96, BN = 128, BK = 256, operands = direct" for people and for the cache key */
} schedule_choice;

/* One key of a schedule and its value as it is written, blanks left out: "64", "2x2", "staged(f16)". */
typedef struct schedule_setting {
    const char *key, *value;
    source_span span; /* line 0: not from a source text */
} schedule_setting;

/* The key of the one setting that is of no source's: its value `none` leaves the module's schedule out. */
#define SCHEDULE_KEY "schedule"

/* Chooses tile sizes and options: from `settings` (--set), then the module's schedule for this target, then by the compiler. Diagnoses unknown
 * keys and illegal values (E05xx, naming the limit and the nearest legal value). Statics must be bound already. False on errors. */
bool schedule_choose_settings(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *machine,
                              const schedule_setting *settings, int setting_count, schedule_choice *out, diag_list *diags);
/* The same for whole numbers. */
bool schedule_choose(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *machine,
                     const tile_binding *overrides, int override_count, schedule_choice *out, diag_list *diags);
/* The settings that stand for these bindings. */
schedule_setting *schedule_settings_of(arena *a, const tile_binding *bindings, int count);
/* Whether the key is an option that means something for this kernel on some target (not a tile size): a program's kernels share settings. */
bool schedule_has_option(const tile_kernel *k, const char *key);
/* The target's row with the options in it: what lower_kernel is given. */
machine_model schedule_machine(const machine_model *row, const schedule_options *options);

/* What a device has to fill: `units` processors, each busy with a task or (`blocks`) with a block of threads. */
typedef struct split_device {
    int units;
    bool blocks;
    bool warpgroups; /* it has the matrix instructions of warpgroups that the target's row lists */
    /* of each processor, as the device reports it; 0: not known */
    int64_t shared_bytes, registers, threads;
    int64_t clock_khz;
    /* found by probing (target/device_description.h), in clocks of a processor: multiply-adds of f16 by subgroups, bytes of shared memory; 0: not known */
    int64_t subgroup_multiplies, shared_bytes_a_clock;
    const char *probed; /* the device that they are of; NULL: it was not probed */
} split_device;
/* The tiles that a kernel whose loop may be split has as it is, so that its tasks can be counted; NULL: each of their elements counts as a task. What it is made of
 * outlives it; it lives in `a`. */
typedef struct split_sizes split_sizes;
const split_sizes *schedule_split_sizes(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                                        const schedule_setting *settings, int setting_count, split_device device);
/* Elements of a chunk of the kernel's loop (tile/split.h) for one launch, whose symbols `lookup` tells: what the settings or the module's schedule
 * say, else on a device of blocks the compiler's choice (threads' results do not depend on how many there are): chunks enough to fill the device, none shorter than is worth a task, a power of two, so that launches of many
 * shapes share their code. 0: the kernel runs as it is. `sizes` may be NULL. *route: why, a line for people. False with E0504 where a split is asked for that can't be. */
bool schedule_split(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                    const schedule_setting *settings, int setting_count, split_device device, const split_sizes *sizes,
                    ix_lookup lookup, void *context, int64_t *chunk, const char **route, diag_list *diags);

/* Whether a launch has few tasks (`tasks = few`, doc/language.md): so few that less than a quarter of the device would be busy with the tiles that the compiler
 * chooses, where it would choose smaller ones for few. What is the same for all launches: NULL: there is no such choice, or the settings or the module's schedule
 * say. What it is made of outlives it; it lives in `a`. Never diagnoses: what is wrong with the settings the compiler says. few_tasks.c */
typedef struct few_choice few_choice;
const few_choice *schedule_few(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                               const schedule_setting *settings, int setting_count, split_device device);
/* For one launch, whose symbols `lookup` tells; `c` may be NULL. */
bool schedule_few_tasks(const few_choice *c, ix_lookup lookup, void *context);
/* Why, a line for people; NULL: it has not. */
const char *schedule_few_route(arena *a, const few_choice *c, ix_lookup lookup, void *context);

/* Tiles of a product for a launch on threads that are tasks' own, where the compiler chooses them: more rows where each thread still has several tasks and the near
 * cache has room, fewer where threads would have no task; the right operand read in place where that cache holds it as it is; sums of one tile stored from registers, smaller blocks at edges. As schedule_few's: NULL: there is no such choice. tall_tiles.c */
enum { TALL_SETTINGS = 5 };
typedef struct tall_choice tall_choice;
const tall_choice *schedule_tall(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                                 const schedule_setting *settings, int setting_count, split_device device);
/* For one launch: settings to add to those given. Their number, or 0; `c` may be NULL. */
int schedule_tall_tiles(const tall_choice *c, ix_lookup lookup, void *context, schedule_setting out[TALL_SETTINGS]);
const char *schedule_tall_route(arena *a, const tall_choice *c, ix_lookup lookup, void *context); /* why; NULL: it has not */

enum { PRODUCT_SETTINGS = 6 };
/* Tiles, subgroups and operands of a kernel of products by matrix instructions: which a launch may take. NULL: the settings or the module's schedule say one of them,
 * or the kernel is none. What it is made of outlives it; it lives in `a`, and one thread at a time may use it. product_tiles.c */
typedef struct product_choice product_choice;
product_choice *schedule_products(arena *a, const tile_module *m, const tile_kernel *k, const machine_model *row,
                                  const schedule_setting *settings, int setting_count, split_device device);
/* For one launch, whose symbols `lookup` tells: settings to add to those given, of a few that launches of many shapes share. Their number, or 0; `c` may be NULL. */
int schedule_product_tiles(product_choice *c, ix_lookup lookup, void *context, schedule_setting out[PRODUCT_SETTINGS]);
/* For people: the tiles taken, the next best, what the model is of, those refused and why; lines parted by `between`. NULL: nothing was chosen. */
const char *schedule_product_route(arena *a, product_choice *c, ix_lookup lookup, void *context, const char *between);

/* A form of a kernel for rows that registers hold (tile/hold.h): for launches whose rows have more elements than the form before allows, and at most `most`. */
typedef struct row_form {
    const tile_kernel *tiles; /* bound */
    machine_model machine;    /* what it is lowered for */
    int64_t most;
    int kept;        /* values of a row that registers keep at a time */
    bool own_rows;   /* each subgroup has rows of its own; false: the block goes over one together */
    const int *same; /* tile_held.same */
} row_form;
typedef VEC(row_form) row_form_list;
/* The forms for a kernel whose statics are bound and tile names free, shorter rows first. None: *why, or NULL where there is nothing to gain. Rows of constant length: at
 * most one, and then for every launch. */
row_form_list schedule_rows(arena *a, const tile_kernel *k, const machine_model *machine, const schedule_choice *choice,
                            const char **why);

/* The result of lowering: a launch plan and how each reduction was emitted (for the oracle's bounds). */
typedef struct lowering {
    launch_plan *plan;
    VEC(reduction_tree) trees;
    const oracle_chunks *dealt; /* how the tiles of a loop were dealt; NULL: none were */
    bool ringed;                /* operands of some are copied ahead */
    bool chained;               /* the kernel is wholly in fragments (lanes_chain.h) */
    int matrix_products;        /* products that go by matrix instructions */
    bool windows;               /* a product's operand is read through windows that leave its array: lanes need a copy of it */
    bool windows_in_place;      /* and one has none, as it would not fit the cache */
    VEC(const char *) routes;   /* for --explain: the route taken and the ones refused, a line each */
} lowering;
/* Lowers a kernel whose STATIC and TILE names are all bound: for a task that is one thread, or (machine->subgroup_lanes) a block of threads.
 * False, with diagnostics, when something cannot be expressed. */
bool lower_kernel(arena *a, const tile_kernel *k, const machine_model *machine, lowering *out, diag_list *diags);
/* The same with its forms for rows that registers hold: further variants of the plan, for the lengths that they are for, or (of constant length) its only one. */
bool lower_rows(arena *a, const tile_kernel *k, const machine_model *machine, const row_form_list *forms, lowering *out,
                diag_list *diags);
/* Where the options ask for roles: gives the lowered plan's only variant its aligned form, the kernel once more with a producer of its own (lanes_roles.c). False with
 * E0506 where that can't be. */
bool lower_roles(arena *a, const tile_kernel *k, const machine_model *machine, lowering *out, diag_list *diags);
/* Where the options ask for roles: gives the lowered plan's only variant its aligned form, the kernel once more with a producer of its own
 * (lanes_roles.c). False with E0506 where that can't be. */
bool lower_roles(arena *a, const tile_kernel *k, const machine_model *machine, lowering *out, diag_list *diags);
#endif
