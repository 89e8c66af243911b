/* Private to sim/: the compiled program, memory with what is known of each cell, threads, and what orders them. */
#ifndef TILEC_SIM_MACHINE_H
#define TILEC_SIM_MACHINE_H
#include "sim/sim.h"

/* ---- program.c: the structured program as instructions with jumps ---- */
typedef struct sim_integer sim_integer;
struct sim_integer {
    index_op op;
    int64_t constant; /* CONST */
    int variable;     /* VAR: which of the thread's variables */
    sim_integer *a, *b;
    const index_expr *source;
};
typedef struct sim_condition sim_condition;
struct sim_condition {
    cond_op op;
    sim_integer *x, *y;
    sim_condition *a, *b;
};
typedef struct sim_access {
    const kernel_access *source; /* NULL: no access */
    const kernel_array *array;
    sim_integer **indices;
    sim_integer *active;
    int lanes, vector_dim;
} sim_access;
typedef struct sim_fragment_ref {
    const kernel_fragment *fragment;
    sim_integer *index; /* NULL: the only one */
} sim_fragment_ref;
typedef struct sim_value sim_value;
struct sim_value {
    const kernel_value *source;
    kernel_op op;
    element_type type;
    bool exchanges; /* SUBGROUP_* and the like: an instruction before has made it */
    int lanes, operand_count;
    sim_value **operands;
    sim_integer *index;
    sim_access access;
    int place;    /* REF, SUBGROUP_*: first of its lanes among the thread's kept values; SCALAR: which launch value */
    int variable; /* SCALAR of an integer: the thread's variable; -1 */
    sim_fragment_ref fragment;
};

typedef enum sim_code {
    CODE_LET,
    CODE_STORE,
    CODE_CONSUME,
    CODE_LOOP_START,
    CODE_LOOP_TEST,
    CODE_LOOP_NEXT,
    CODE_TASKS_START,
    CODE_TASKS_TEST,
    CODE_TASKS_NEXT,
    CODE_JUMP,
    CODE_UNLESS,
    CODE_WHEN,
    CODE_UNLESS_VALUE,
    CODE_SUBGROUP,
    CODE_BARRIER,
    CODE_FENCE,
    CODE_COPY,
    CODE_COMMIT,
    CODE_WAIT_ASYNC,
    CODE_ARRIVE,
    CODE_WAIT,
    CODE_FRAGMENT,
    CODE_FRAGMENT_SET,
    CODE_ATOMIC,
    CODE_GRID_REDUCE,
    CODE_INTRINSIC,
    CODE_WRITTEN, /* behind the reference of the intrinsic at `target` */
    CODE_END
} sim_code;

typedef struct sim_operand { /* of an intrinsic */
    const contract_operand *source;
    sim_value *value;
    sim_access access;
    sim_integer **extents;
    sim_value **values; /* of a vector */
} sim_operand;

typedef struct sim_instruction {
    sim_code code;
    const kernel_stmt *stmt; /* for reports */
    int target;              /* jumps */
    int variable;            /* LET, ATOMIC of an integer, LOOP, TASKS: the thread's variable; -1: none */
    int place;               /* LET, ATOMIC, SUBGROUP: where the thread keeps the value's lanes; LOOP: its counters; -1 */
    int meeting;             /* BARRIER, SUBGROUP, FRAGMENT: where the threads meet; -1 */
    level_kind meeting_scope;
    sim_value *value;    /* SUBGROUP: the operation itself */
    sim_value *expected; /* ATOMIC by compare_exchange; NULL */
    sim_access access, source;
    sim_integer **extents; /* COPY: per dimension of the destination; FRAGMENT: [rows, columns] or NULL */
    sim_integer *lo, *hi, *step, *slot, *phase, *element;
    sim_integer *row_step, *column_step; /* FRAGMENT_LOAD, _STORE; NULL: 1 */
    sim_condition *condition;            /* UNLESS, WHEN; BARRIER, ARRIVE: participants, or NULL */
    int mbarrier;                        /* -1: none */
    int arrival;                         /* ARRIVE: which of the program's */
    int row, column;                     /* FRAGMENT_MAP: variables of the position */
    sim_fragment_ref fragments[4];
    sim_operand *contract;
    int within;                            /* 1 + the intrinsic whose reference this belongs to; 0: none */
    int uniform_variables, uniform_places; /* FRAGMENT: variables and kept values that must agree in all lanes */
    int *uniform;                          /* variables first, then [place, lanes] pairs */
} sim_instruction;

typedef struct sim_program {
    const kernel_ir *kernel;
    VEC(sim_instruction) code;
    int variables; /* a thread's integers: launch values, ids, loop variables, integer lets */
    int places;    /* lanes of kept values */
    int counters;  /* loop ends and steps */
    int meetings;
    int arrivals;                              /* `arrive` statements */
    int *symbol_variable, *scalar_variable;    /* -1: not an integer */
    int **id_variable;                         /* per level, per id */
    bool uses_copies, uses_matrix, uses_units; /* groups of copies, of matrix operations; anything that needs proxy fences */
    unsigned fence_scopes;                     /* 1u << level */
    struct sim_names *names;
} sim_program;
/* NULL with a diagnostic (E0710) for what the simulator cannot run. The kernel has passed kernel_check. */
sim_program *sim_compile(arena *a, const kernel_ir *k, diag_list *diags);
/* Compiles an expression that stands outside the body: extents, strides, assumptions, the cells promised. */
sim_integer *sim_compile_integer(arena *a, sim_program *p, const index_expr *x);
sim_condition *sim_compile_condition(arena *a, sim_program *p, const cond *c);
int sim_variable(arena *a, sim_program *p, const index_var *v);

/* ---- memory ---- */
typedef union sim_lane { /* an element: floating-point types use f, others i */
    double f;
    int64_t i;
} sim_lane;

/* The moments of an access by several threads at once; thread first + n (or its asynchronous agent) at epochs[n]. */
typedef struct sim_moments {
    int component, count;
    uint32_t epochs[];
} sim_moments;

/* A copy into shared memory that signals nothing: made by the threads, only later. What it wrote reaches a unit that reads as ordinary writes do. */
enum { SIM_UNIT_OF_THREADS = 2 };

/* Who made an access, and when: agent `component` of `group` at `epoch`. */
typedef struct sim_stamp {
    uint32_t group; /* 1 + number; 0: nobody */
    uint32_t component, epoch;
    int32_t thread, instruction;
    uint8_t write, atomic; /* atomic: 1 + scope */
    uint8_t asynchronous,
        unit; /* unit: by an asynchronous unit, which sees ordinary writes only after a proxy fence; or SIM_UNIT_OF_THREADS */
    uint32_t share; /* accesses to a fragment's element: which element of which shape; equal ones are the same lane's. 0: none */
    sim_moments *moments; /* accesses by all lanes of a holder together; NULL: a single agent */
} sim_stamp;

/* What an atomic operation published: clocks of its thread's last fences. */
typedef struct sim_release {
    struct sim_release *next;
    uint32_t group;
    int32_t thread;
    level_kind atomic_scope;
    uint32_t **clocks; /* per fence scope of the program, each [SIM_SPACES x components] */
    const struct sim_foreign *foreign;
} sim_release;

/* What is known of the smallest piece of an object that accesses tell apart. */
typedef struct sim_cell {
    sim_stamp writer;  /* the last ordinary write */
    sim_stamp *others; /* reads and atomics since */
    sim_release *releases;
    uint16_t other_count, other_capacity;
    uint8_t written;
    uint8_t writes; /* that count as the launch's results, up to 2 */
} sim_cell;

typedef struct sim_object {
    unsigned char *bytes;
    int64_t size;
    int grain;       /* bytes per sim_cell */
    sim_cell *cells; /* NULL: constant during the launch (`in` arrays) */
    memory_space space;
    bool is_output; /* each cell may be written once */
} sim_object;

/* An array at this launch. */
typedef struct sim_array {
    const kernel_array *source;
    int64_t *dims;       /* extents in cells */
    int64_t *strides;    /* STRIDES */
    int64_t last;        /* last extent in storage units (blocks of block formats) */
    int64_t storage;     /* storage units, padding included */
    int width;           /* bytes of a storage unit */
    int root;            /* id of the array whose bytes it sees */
    int64_t view_offset; /* bytes into it */
    uint8_t *consumed;   /* GHOST: per cell, row-major */
    int32_t *consumer;   /* GHOST: instruction of the first consumption */
    sim_condition *promise;
    int *promise_variables;
} sim_array;

/* ---- threads ---- */
typedef enum sim_state { THREAD_READY, THREAD_MEETING, THREAD_WAITING, THREAD_ENDED } sim_state;

enum { SIM_SPACES = 2 }; /* order is kept for global and for shared memory separately */

typedef struct sim_thread {
    int number;
    int at; /* next instruction */
    sim_state state;
    int64_t *variables;
    sim_lane *kept;
    int64_t *counters;
    /* What of each agent's past happened before this thread's next access, per space: [0] in general, [1] as asynchronous units see it,
     * [2 ...] as published by fences of each scope. */
    uint32_t **clocks;
    uint32_t epoch;
    uint32_t copies_committed, copies_done, matrix_committed, matrix_done;
    uint32_t leaving; /* the last group of copies that reads shared memory, which does not outlive its block; 0: none */
    int leaving_instruction;
    const struct sim_foreign *foreign, *published; /* what happened before in other groups; what of it fences have published */
    uint32_t **snapshot;                           /* of the published clocks, shared by releases until they change */
    sim_release **pending;                         /* releases seen by atomics, to be taken up by a fence */
    int pending_count, pending_capacity;
    sim_object *objects; /* by array id: PRIVATE and REGISTER */
    int64_t task;        /* row-major number of the task being run */
    int mbarrier_waited; /* index of the mbarrier state waited for */
    int64_t phase_waited;
    sim_lane *operand; /* what it brings to a meeting */
    bool finding;      /* the current expression has been reported */
} sim_thread;

/* Knowledge of groups that ran before: immutable. */
typedef struct sim_foreign {
    int count;
    uint32_t *groups;
    const uint32_t **clocks; /* in global memory; these never change */
} sim_foreign;

/* The arrivals of one statement at one slot. Turn k is each participant's k-th. */
typedef struct sim_turns {
    int instruction;
    int32_t *made;   /* by thread: how many turns it has been through */
    int64_t *phases; /* by turn: the phase that its first arrival counted for */
    int32_t count, capacity;
    struct sim_turns *next;
} sim_turns;

typedef struct sim_mbarrier {
    sim_turns *turns;
    int64_t phase, arrived;
    uint32_t **gathering, **complete; /* like a thread's clocks */
    const sim_foreign *gathering_foreign, *complete_foreign;
    int *pending_thread;
    uint32_t *pending_epoch;
    int *pending_instruction;
    int pending_count, pending_capacity;
} sim_mbarrier;

typedef struct sim_fragment {
    sim_lane *values;
    uint8_t *written;
    uint32_t reading, writing; /* matrix group that uses it; 0: none */
    bool by_reference;
    const sim_array *array; /* by_reference: where its elements lie */
    sim_object *object;
    int64_t origin[16];
    int row_dim, column_dim;
} sim_fragment;

/* The threads that run one task, or one persistent block's share of tasks, together. */
typedef struct sim_group {
    uint32_t number; /* from 1 */
    int thread_count;
    sim_thread *threads;
    int components; /* agents: threads, their copies, their matrix operations, mbarrier slots */
    int copies_at, matrix_at, mbarriers_at;
    int orders; /* arrays in `clocks`, each of SIM_SPACES x components */
    int blocks;
    sim_object **shared;     /* per block, by array id */
    int **arrived;           /* per meeting, per instance */
    int64_t *arrivals;       /* per `arrive` statement, per thread: how often it arrived there */
    sim_mbarrier *mbarriers; /* [block][mbarrier][slot] */
    int mbarriers_per_block, *mbarrier_first;
    uint32_t *least[2];       /* clocks of several threads together: general, proxied */
    sim_moments **moments;    /* per first thread: the last ones made, while they hold */
    sim_fragment **fragments; /* by fragment id: [instance][count] */
    arena *memory;            /* freed with the group */
    int64_t first_task;
} sim_group;

typedef struct sim_contribution { /* grid_reduce */
    int array;
    int64_t unit; /* storage unit */
    int64_t task;
    sim_lane value;
    int instruction;
    int32_t thread;
    uint32_t group;
} sim_contribution;

typedef struct sim_machine {
    arena *arena;  /* of the caller: reports */
    arena *memory; /* of this run */
    const kernel_ir *kernel;
    sim_program *program;
    sim_options options;
    sim_report *report;
    diag_list *diags;
    bool failed, stop, stuck;
    sim_thread **meeting;       /* the threads of one meeting */
    int64_t bytes, group_bytes; /* held for arrays and cells: of the launch, of the running group */
    int64_t *launch;            /* the variables as launch values set them: each thread starts with a copy */
    float *floats;              /* by scalar */
    sim_array *arrays;          /* by id */
    sim_object *globals;        /* by id of GLOBAL arrays */
    int64_t *task_extents;
    int64_t tasks, grid;
    int threads;               /* of a task */
    int sizes[LEVEL_LANE + 1]; /* threads in one instance of a scope */
    sim_group *group;          /* running */
    uint64_t random;
    VEC(sim_contribution) contributions;
    VEC(uint64_t) seen; /* hashes of findings */
    sim_lane *scratch;  /* values of the current instruction */
    int64_t scratch_used, scratch_size;
    int position_row, position_column; /* fragment_map */
} sim_machine;

/* A thread, or the lanes of a holder together, about to access memory. */
typedef struct sim_observer {
    sim_group *group;
    sim_thread *thread; /* the first */
    int count;
    const uint32_t *clock; /* [SIM_SPACES x components]: the least of all */
    const uint32_t *proxied;
    sim_stamp stamp; /* what its accesses leave behind, but for write and atomic */
    int instruction;
} sim_observer;

/* ---- value.c ---- */
bool sim_evaluate_integer(sim_machine *m, sim_thread *t, const sim_integer *x, int instruction, int64_t *value);
/* 0 when it has no value; that has been reported then. */
int64_t sim_integer_of(sim_machine *m, sim_thread *t, const sim_integer *x, int instruction);
bool sim_condition_of(sim_machine *m, sim_thread *t, const sim_condition *c, int instruction);
/* Lanes in the machine's scratch, valid until the next instruction. */
sim_lane *sim_evaluate(sim_machine *m, sim_thread *t, const sim_observer *by, const sim_value *v);
sim_lane *sim_scratch(sim_machine *m, int64_t count);
sim_lane sim_combine(kernel_op op, element_type type, sim_lane x, sim_lane y);
sim_lane sim_convert(element_type to, element_type from, sim_lane x, bool saturate);
bool sim_is_float(element_type t);

/* ---- memory.c ---- */
int64_t sim_add(int64_t x, int64_t y); /* saturating: sizes and limits */
int64_t sim_multiply(int64_t x, int64_t y);
/* Extents, layouts, storage of every array at the machine's launch values. False with a diagnostic. */
bool sim_shape_arrays(sim_machine *m);
bool sim_make_object(sim_machine *m, const sim_array *a, bool tracked, sim_object *out);
void sim_free_object(sim_object *o);
sim_object *sim_object_of(sim_machine *m, sim_thread *t, const sim_array *a);
/* Storage unit of a cell within its dimensions. */
int64_t sim_unit_of(const sim_array *a, const int64_t *cell);
sim_lane sim_read_unit(const sim_array *a, const sim_object *o, int64_t unit, int within);
void sim_write_unit(const sim_array *a, sim_object *o, int64_t unit, sim_lane value);
/* MODIFY: a read and a write at once; UPDATE: an indivisible one, by an atomic; LOOK: an atomic's read that changes nothing;
 * PUT: an atomic's store. */
typedef enum sim_use { SIM_READ, SIM_WRITE, SIM_MODIFY, SIM_UPDATE, SIM_LOOK, SIM_PUT } sim_use;
/* One cell: bounds, order, initialisation are checked, and the access is remembered. False: outside, nothing was done. */
bool sim_touch(sim_machine *m, const sim_observer *by, const sim_array *a, const int64_t *cell, int lane, sim_use use,
               level_kind atomic_scope, int64_t *unit, sim_object **object);
void sim_load(sim_machine *m, sim_thread *t, const sim_observer *by, const sim_access *access, sim_lane *out);
void sim_store(sim_machine *m, sim_thread *t, const sim_observer *by, const sim_access *access, const sim_lane *value);
void sim_consume(sim_machine *m, sim_thread *t, const sim_access *access, int instruction);
void sim_check_promises(sim_machine *m);
const char *sim_cell_name(sim_machine *m, const sim_array *a, const int64_t *cell);

/* ---- order.c ---- */
bool sim_make_group(sim_machine *m, sim_group *g, uint32_t number, int64_t first_task);
void sim_free_group(sim_machine *m, sim_group *g);
int sim_instance(const sim_machine *m, const sim_thread *t, level_kind scope);
sim_observer sim_observe(sim_machine *m, sim_thread *t, int instruction);
/* The lanes first .. first + count - 1 together. Its clocks hold until the next observation of several threads. */
sim_observer sim_observe_together(sim_machine *m, sim_thread *first, int count, int instruction);
/* The same for an asynchronous operation of theirs: of the group now open. */
sim_observer sim_observe_copy(sim_machine *m, sim_thread *t, int instruction);
sim_observer sim_observe_block_copy(sim_machine *m, sim_thread *first, int count, int instruction);
/* A copy that signals the mbarrier state of this index. */
sim_observer sim_observe_signal(sim_machine *m, sim_thread *t, int instruction, int index);
sim_observer sim_observe_matrix(sim_machine *m, sim_thread *first, int count, int instruction);
bool sim_ordered(sim_machine *m, const sim_stamp *s, const sim_observer *by, int order, int space);
bool sim_covers(const sim_machine *m, level_kind scope, int thread, int other);
void sim_barrier(sim_machine *m, sim_thread **participants, int count, unsigned spaces);
void sim_fence(sim_machine *m, sim_thread *t, const kernel_stmt *s);
void sim_later(sim_machine *m, sim_thread *t); /* the thread's next accesses are told apart from its earlier ones */
/* `stores`: others that read the cell after it see it. */
void sim_atomic_order(sim_machine *m, sim_thread *t, sim_cell *c, level_kind scope, bool stores);
void sim_commit(sim_machine *m, sim_thread *t, bool matrix);
/* `issuer`: the thread whose copies are waited for: its own, or the first of its block. */
void sim_wait_async(sim_machine *m, sim_thread *t, int issuer, bool matrix, int64_t left);
/* The index of an mbarrier's slot in the thread's block; -1, reported, when there is no such slot. */
int sim_mbarrier_index(sim_machine *m, sim_thread *t, int instruction);
void sim_arrive(sim_machine *m, sim_thread *t, int index, int instruction);
/* True when the thread may go on; it then knows what the phase's completion means. */
bool sim_wait(sim_machine *m, sim_thread *t, int index, int64_t phase, int instruction);

/* ---- fragment.c ---- */
void sim_fragment_step(sim_machine *m, sim_thread *first, int count, int instruction);
void sim_fragment_set(sim_machine *m, sim_thread *t, int instruction);
sim_lane sim_lane_view(sim_machine *m, sim_thread *t, const sim_value *v, int instruction);
sim_lane sim_fragment_element(sim_machine *m, sim_thread *t, const sim_value *v, int row, int column, int instruction);

/* ---- transfer.c: copies, intrinsics, atomics, grid reductions ---- */
void sim_copy(sim_machine *m, sim_thread *t, int count, int instruction);
void sim_intrinsic(sim_machine *m, sim_thread *t, int instruction);
void sim_written(sim_machine *m, sim_thread *t, int instruction);
bool sim_within_contract(sim_machine *m, sim_thread *t, const sim_instruction *i, int instruction, const sim_array *a,
                         const int64_t *cell, sim_use use);
void sim_check_landed(sim_machine *m, sim_thread *t); /* when a thread ends */
void sim_atomic(sim_machine *m, sim_thread *t, int instruction);
void sim_contribute(sim_machine *m, sim_thread *t, int instruction);
void sim_finish_contributions(sim_machine *m);

/* ---- execute.c ---- */
/* Runs a group's threads until all have ended, none can go on, or the run is to stop. */
void sim_execute(sim_machine *m, sim_group *g);

/* ---- report.c ---- */
/* Adds a finding unless the same place has reported the same before. `other` may be NULL. */
void sim_report_finding(sim_machine *m, sim_kind kind, const sim_thread *t, int instruction, const sim_stamp *other,
                        const char *array, const char *message, ...) PRINTF_LIKE(7, 8);
const char *sim_thread_name(sim_machine *m, uint32_t group, int thread, int64_t task);
const char *sim_head(sim_machine *m, int instruction); /* "`store y[i] <- 0:f32` at line 12" */
uint64_t sim_random(sim_machine *m);

/* ---- launch.c ---- */
/* An array's bytes at launch; `written` (a flag per byte) NULL: all hold values, unless it is an output. */
typedef struct sim_binding {
    void *bytes;
    int64_t size;
    unsigned char *written;
} sim_binding;
bool sim_run_bound(arena *a, const kernel_ir *k, sim_binding *bindings, const int64_t *integers, const float *floats,
                   const sim_options *options, sim_report *report, diag_list *diags);
#endif
