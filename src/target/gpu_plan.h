/* A launch plan as kernels for blocks of threads: what OpenCL, CUDA and Metal share. Private to target/, to their runtimes, and to what writes how a
 * text is launched (bench/manifest_launches.c). */
#ifndef TILEC_TARGET_GPU_PLAN_H
#define TILEC_TARGET_GPU_PLAN_H
#include "kernel/legalize.h"
#include "target/cfamily.h"

typedef enum gpu_parameter_kind {
    GPU_ARRAY,
    GPU_INTEGER,
    GPU_FLOAT,
    GPU_BOOL,
    GPU_FIRST_TASK,
    GPU_TENSOR_MAP,
    GPU_TASKS
} gpu_parameter_kind;
/* What the runtime passes: the array, integer or float (see target.h) at `position`; FIRST_TASK: the number of the task that block 0 runs. Integers and
 * FIRST_TASK have 64 bits, 32 in narrow entries. TENSOR_MAP: the one at `position` among the entry's maps, by value. TASKS: how many
 * there are, of entries that run them all, in one thread. */
typedef struct gpu_parameter {
    gpu_parameter_kind kind;
    int position;
    const char *type, *name; /* as printed */
    bool read_only;          /* ARRAY */
} gpu_parameter;

enum { GPU_ALIGNMENT = PLAN_ALIGNMENT };

/* A description of an array for copies in bulk, which the driver makes at the launch: rows one after the other, boxes of so many elements a dimension, rows of
 * 128 bytes whose 16-byte pieces are exchanged over eight, zero outside. */
typedef struct gpu_tensor_map {
    int array; /* its position, as a GPU_ARRAY's */
    element_type element;
    int rank;
    index_expr **extents; /* over launch values */
    int64_t box[5];
} gpu_tensor_map;

typedef struct gpu_entry {
    const char *name; /* of the kernel function; NULL: there is none */
    const char *text; /* the function, with the comment in front */
    VEC(gpu_parameter) parameters;
    VEC(gpu_tensor_map) maps;
    VEC(int) divided; /* an entry for aligned arrays: the launch integers that it takes to be multiples of `multiple` */
    int multiple;
    int64_t threads;       /* of a block */
    int64_t shared_bytes;  /* of a block */
    bool warpgroups;       /* it uses matrix instructions of warpgroups */
    bool narrow;           /* for launches that fit narrow indices (plan_variant.narrow) */
    int64_t dynamic_bytes; /* of them, what the launch gives it; 0: all are declared inside the kernel */
} gpu_entry;

/* The forms in which a variant is printed, the quickest first. PLAIN is always there and takes every launch; each other one has conditions. */
typedef enum gpu_form { GPU_NARROW_ALIGNED, GPU_NARROW, GPU_ALIGNED, GPU_PLAIN, GPU_FORMS } gpu_form;

/* A plan's text, and how each variant is called: one block of `threads` for each task. Arena memory. */
typedef struct gpu_program {
    const char *name;    /* the plan's, made legal */
    const char *text;    /* the whole: what stands in front of the functions, then each */
    const char *prelude; /* what stands in front */
    int variants;
    /* By form, then by variant; parameters of all are the same but for their widths. ALIGNED ones are of the plan's aligned form (plan_variant.aligned), for
     * launches whose arrays all begin at multiples of GPU_ALIGNMENT and whose `divided` integers are multiples of its `multiple`; NARROW ones for launches that
     * fit narrow indices. Entries that are not there have no name. */
    VEC(gpu_entry) forms[GPU_FORMS];
} gpu_program;

typedef struct gpu_dialect {
    const cfamily_dialect *values;
    const char *file_head;           /* in front of everything */
    const char *read_only, *written; /* qualifiers of an array parameter: "__global const ", "__global " */
    const char *limit;               /* behind the star where arrays do not overlap: "restrict " */
    const char *shared;              /* qualifier of a shared array, and of pointers into it */
    const char *shared_array;        /* of the array where it declares more than the pointer needs; NULL: `shared` */
    const char *shared_aligned;      /* the same at multiples of %d bytes; NULL: arrays at such places are refused */
    int64_t most_declared; /* bytes of shared memory that a kernel may declare; more are the launch's to give. 0: no such limit */
    const char *block_number, *thread_number; /* of the block in the launch, of the thread in the block */
    const char *thread_name;                  /* of the variable that holds the thread's number; NULL: "thread" */
    /* Numbers of a thread's subgroup of 32 lanes, in a form that the compiler knows to be the same in all of them, and of its lane: in kernels whose lanes
     * exchange or whose branches depend on the subgroup, since it would have to gather the lanes again behind each of these. NULL: out of the thread's number. */
    const char *subgroup_number, *lane_number;
    bool
        groups_tasks; /* tasks of products go in groups of neighbouring rows, so that blocks that run at a time share what a far cache holds */
    const char *begin; /* lines in front of a kernel's statements; NULL: none */
    /* The kernel's head up to its opening brace. */
    void (*head)(arena *a, text_buffer *out, const gpu_entry *e);
    const char *integer_type, *narrow_integer_type, *float_type, *bool_type; /* of parameters */
    /* Of a target with matrix instructions: names and declares fragments. NULL: fragments are refused. */
    bool (*begin_fragments)(cfamily *p, const kernel_ir *k);
    void (*declare_fragments)(cfamily *p, const kernel_ir *k, text_buffer *out);
    /* Of a target with mbarriers and copies in bulk: lines that make the kernel's mbarriers ready, and the type of a tensor map as a parameter. NULL: both are refused. */
    void (*begin_mbarriers)(cfamily *p, const kernel_ir *k, text_buffer *out);
    const char *map_type;
} gpu_dialect;

/* Prints every variant. False with diagnostics. */
bool gpu_plan_print(arena *a, const launch_plan *plan, const gpu_dialect *dialect, gpu_program *out, diag_list *diags);
/* What other programs can read of a plan: its entries, the ending of such a text's file, and in *whole the text where entries by themselves are none
 * (else NULL). False without a diagnostic: the target's texts are not kernels for blocks of threads. target.c. */
bool target_program(arena *a, const target *t, const proved_plan *p, gpu_program *out, const char **ending, const char **whole,
                    diag_list *diags);
/* The first of the variant's forms that is there. */
gpu_form gpu_quickest_form(const gpu_program *p, int variant);
static inline bool gpu_form_is_aligned(gpu_form f) {
    return f == GPU_NARROW_ALIGNED || f == GPU_ALIGNED;
}
/* Texts are compiled by module, the first at once and the others when a launch needs them: module 0 has each variant's quickest form, module f the form f of
 * the variants whose quickest it is not. NULL: the variant has no entry in this one. */
const gpu_entry *gpu_module_entry(const gpu_program *p, int module, int variant);
int gpu_module_of(const gpu_program *p, int variant, gpu_form f);
const char *gpu_module_text(arena *a, const gpu_program *p, int module);
/* What stands behind NAME_variant_0 in the forms' names: "_narrow_aligned". */
extern const char *const gpu_form_suffixes[GPU_FORMS];
/* The function `narrow_elements` that the next text calls; `integer`: a type of 64 bits. */
void gpu_elements_function(text_buffer *out, const char *integer);
/* C's text of whether a launch fits narrow indices: over the launch values as p names them, `tasks` its count of tasks. */
const char *gpu_fits_narrow_text(cfamily *p, const plan_variant *v, const char *tasks);
/* `, ` between parameters as "TYPE NAME". */
void gpu_parameter_list(text_buffer *out, const gpu_entry *e);

extern const gpu_dialect opencl_gpu;     /* opencl.c: blocks of threads */
extern const gpu_dialect opencl_cpu_gpu; /* opencl_cpu.c: a thread a task, with vectors */
/* Which of the two a plan's kernels are for. */
const gpu_dialect *opencl_dialect_of(const launch_plan *plan);
/* The door for the runtime: the text of a proved plan, with its entries. */
bool opencl_program(arena *a, const proved_plan *p, gpu_program *out, diag_list *diags);
bool opencl_emit(const proved_plan *p, text_buffer *out, diag_list *diags);
bool opencl_build(const proved_plan *p, const char *directory, diag_list *diags);
const machine_model *opencl_machine(void);
const target_limits *opencl_limits(void);
extern const legal_table opencl_legal;
const machine_model *opencl_cpu_machine(void);
const target_limits *opencl_cpu_limits(void);
extern const legal_table opencl_cpu_legal;

extern const gpu_dialect cuda_gpu; /* cuda.c */
bool cuda_program(arena *a, const proved_plan *p, gpu_program *out, diag_list *diags);
bool cuda_emit(const proved_plan *p, text_buffer *out, diag_list *diags);
bool cuda_build(const proved_plan *p, const char *directory, diag_list *diags);
const machine_model *cuda_machine(void);
const target_limits *cuda_limits(void);
extern const legal_table cuda_legal;
#endif
