/* Sessions and calls: host arrays bound to a kernel or a program, compiled for one device, launched, with the results in host memory.
 * include/tilec.h is this layer in public clothes. No global state: everything hangs on the session. */
#ifndef TILEC_RUN_SESSION_H
#define TILEC_RUN_SESSION_H
#include "compile.h"
#include "run/binding.h"
#include "run/run.h"
#include "target/device_description.h"

/* One open device, and the kernels compiled for it so far: one compile serves all shapes. */
typedef struct session session;
/* NULL device_name: the CPU. NULL with diagnostics. */
session *session_open(const char *device_name, diag_list *diags);
void session_close(session *s); /* calls on it must be freed first; NULL is allowed */
/* Unloads and frees what was compiled of a module; its calls must be freed first. */
void session_forget(session *s, const tile_module *m);
const runtime *session_runtime(const session *s);
device *session_device(const session *s);
const target *session_target(const session *s);
const char *session_device_name(const session *s);

/* An array in host memory, row-major, dimensions as the caller sees them. */
typedef struct host_array {
    element_type type;
    int rank;
    int64_t dims[BINDING_MAX_RANK];
    int64_t cells; /* elements */
    int64_t bytes;
    void *data;
    bool owned;   /* freed with the call */
    int64_t room; /* owned: bytes there is room for */
} host_array;

/* One array of a call: an argument, a result, or a temporary between a program's kernels. */
typedef struct call_array {
    const char *name;
    const tile_array *declared; /* of the kernel or program; a temporary's is its producer's */
    host_array host;
    bool bound;     /* the caller gave the memory, or asked for its shape to be filled by a recipe */
    bool is_output; /* OUT or UPDATE of what was called */
    bool temporary;
    void *device;   /* its memory on the device; the host's own where they share it */
    bool on_device; /* `device` is the caller's: nothing is copied, host.data may be NULL */
    int64_t device_room;
} call_array;

typedef struct call_scalar {
    const tile_scalar *declared;
    bool bound;
    double value;
} call_scalar;

/* One kernel of the call: the kernel itself, or one call of the program. */
typedef struct call_step {
    const tile_kernel *kernel;
    const compiled_kernel *compiled;
    device_kernel *loaded;
    const struct launch_choices *choices; /* that this launch had; NULL: none */
    bool few;                             /* its tasks are few */
    binding binding;
    int *arrays;          /* per array of the kernel: position in call.arrays */
    int *scalars;         /* per scalar of the kernel: position in call.scalars */
    double milliseconds;  /* of its last launch */
    void **launch_arrays; /* what the launch is given; made at the first one */
    int64_t *launch_integers;
    float *launch_floats;
} call_step;

typedef struct run_call {
    session *session;
    arena *arena;
    const tile_module *module;
    const tile_kernel *kernel; /* one of the two */
    const tile_program *program;
    binding binding; /* of the kernel or program */
    VEC(call_array) arrays;
    VEC(call_array)
    spare; /* temporaries of an earlier shape, by their place in `arrays`, while a shape is solved: their memory is used again */
    VEC(call_scalar) scalars;
    VEC(call_step) steps;
    VEC(schedule_setting) settings; /* --set */
    VEC(tile_binding) extra;        /* symbols given for a program's kernels rather than for itself */
    const char *dump;               /* letters, for the compiles this call makes */
    FILE *dump_file;
    void **marks;               /* of the steps of call_run_on; made at the first one */
    const tile_program *split;  /* of the kernel, which this launch runs in two (tile/split.h); NULL: as it is */
    int64_t chunk, chunk_count; /* elements of a chunk of its loop, and how many chunks there are */
    int64_t reach;              /* elements that the loop goes over, when that is known (split_reach) */
    const char *split_route;    /* why, a line for people; NULL: nothing to say */
    bool keeps_whole;           /* never split */
    bool shapes_solved, prepared;
} run_call;

/* Finds the kernel or program by name; NULL name: the only one there is (a file with programs: the only program). NULL with E0646. */
run_call *call_new(session *s, const tile_module *m, const char *name, diag_list *diags);
void call_free(run_call *c);
/* Several kernels' names in a module, for messages. Arena text. */
const char *call_names(arena *a, const tile_module *m);

bool call_set_symbol(run_call *c, const char *name, int64_t value, diag_list *diags);
/* Whether the kernel has a tile size of this name, or the option means something for it. */
bool session_takes_setting(const tile_kernel *k, const char *key);
/* A tile size or an option of the schedule (`BM`, `operands`), its value as a schedule has it; a later one replaces it. A kernel's are judged when it
 * is compiled; a program hands each to the kernels that have it: false with E0666 when none does. */
bool call_set_schedule(run_call *c, const char *key, const char *value, diag_list *diags);
bool call_set_tile(run_call *c, const char *name, int64_t value, diag_list *diags);
/* Binds host memory, which the call reads (inputs), updates or fills (outputs) and never frees. NULL data: only the shape. Narrow floats
 * and block formats may be given as their raw bytes or words (U8, U16 as `raw`). False with E0640, E0642, E0647. */
bool call_bind_array(run_call *c, const char *name, element_type type, int rank, const int64_t *dims, void *data,
                     diag_list *diags);
/* The same for memory of the session's device (see runtime_streams), which is used where it is. E0665 where there is none such. */
bool call_bind_device(run_call *c, const char *name, element_type type, int rank, const int64_t *dims, void *pointer,
                      diag_list *diags);
bool call_bind_scalar(run_call *c, const char *name, double value, diag_list *diags);

/* What was chosen for the prepared step's launch and why, lines for people parted by `between`; NULL: nothing. Arena text. */
const char *call_route(const run_call *c, int step, arena *a, const char *between);
/* Solves every symbol, of a program's kernels too. After it every array's host.dims are known, and inputs nobody gave memory can be filled
 * by the caller: see call_allocate. */
bool call_solve(run_call *c, diag_list *diags);
/* The kernels that a call runs, in order; NULL: one kernel, as it is. Known when the call is solved. */
const tile_program *call_program(const run_call *c);
/* Memory owned by the call for an array whose shape is known. False with E0648 when there is none. */
bool call_allocate(run_call *c, int array, diag_list *diags);
/* Compiles what is new for the statics known so far, without arguments: what can be told of a kernel before it is called. The kernels of
 * a program need their statics from their calls, from defaults or from call_set_symbol. */
bool call_compile(run_call *c, diag_list *diags);
/* Compiles what is new, loads it, allocates outputs and temporaries; refuses overlapping arrays (E0649) and missing arguments (E0650). */
bool call_prepare(run_call *c, diag_list *diags);
/* Fills OUT arrays and temporaries so that an unwritten cell shows: NaN for floats, 0xA5 bytes for integers. */
void call_poison(run_call *c);
/* Runs one step or all of them; results are in host memory afterwards. */
bool call_run_step(run_call *c, int step, diag_list *diags);
/* Which variant of its plan a prepared step's launch takes; -1 with a diagnostic. */
int call_variant(run_call *c, int step, diag_list *diags);
bool call_run(run_call *c, diag_list *diags);
/* On the device's queue `stream` (NULL: its own): every step without waiting between them. Waits for the end only when results go to host memory or
 * `stream` is NULL; the steps' milliseconds are then the device's. Devices without queues: call_run, and E0665 for a stream. */
bool call_run_on(run_call *c, void *stream, diag_list *diags);
/* Enqueues the steps once more, on the device's own queue or in the batch that was begun there, for arguments they ran with before: no checks, no copies.
 * For runtimes with streams or batches. */
bool call_enqueue_again(run_call *c, diag_list *diags);

/* Bytes of `cells` elements of an array whose last dimension is whole blocks; -1 on overflow. */
int64_t host_array_bytes(element_type type, int rank, const int64_t *dims);
/* What is known of the session's device by probing it; NULL: it was not probed. */
const device_description *session_description(const session *s);
#endif
