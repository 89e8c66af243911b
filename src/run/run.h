/* Running compiled plans: one small interface per runtime, one file each; the CPU is run/cpu.c. */
#ifndef TILEC_RUN_RUN_H
#define TILEC_RUN_RUN_H
#include "base/diag.h"
#include "prove/prove.h"

typedef struct device device;
typedef struct device_kernel device_kernel; /* a loaded plan */

/* What the device's compiler made of a kernel, the most of any variant. */
typedef struct kernel_resources {
    int registers;                     /* of a thread */
    int64_t local_bytes, shared_bytes; /* a thread's memory outside registers (spills, and arrays of its own); a block's */
} kernel_resources;

/* Of each processor that runs blocks of threads, as the device's driver tells; 0: it does not. */
typedef struct device_processor {
    int64_t shared_bytes, registers, threads; /* of all blocks that it runs at a time */
    int64_t clock_khz;
    bool warpgroups; /* it has their matrix instructions */
} device_processor;

/* What a device with queues offers besides. Its memory is plain pointers of the device's own, which other libraries' may stand for. `stream` NULL:
 * the device's own queue. Nothing here waits for the device unless it says so. */
typedef struct runtime_streams {
    bool (*enqueue)(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats, void *stream,
                    diag_list *diags); /* does the plan's checks first, for which it waits where they look at data */
    /* For arguments that `enqueue` took before: without the checks. */
    bool (*enqueue_checked)(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats,
                            void *stream, diag_list *diags);
    bool (*copy_in)(device *d, void *stream, void *to, const void *from, int64_t bytes, diag_list *diags);
    bool (*copy_out)(device *d, void *stream, void *to, const void *from, int64_t bytes, diag_list *diags);
    bool (*wait)(device *d, void *stream, diag_list *diags);
    bool (*owns)(device *d, const void *memory, diag_list *diags); /* whether it is memory of this device */
    void *(*mark)(device *d, void *stream, diag_list *diags);      /* a moment in the queue */
    bool (*between)(device *d, void *from, void *to, double *milliseconds, diag_list *diags); /* waits for `to` */
    void (*unmark)(device *d, void *mark);
    /* Launches enqueued on the own queue between the two are kept, not run; `replay` runs them all. NULL with a diagnostic. */
    bool (*record)(device *d, diag_list *diags);
    void *(*recorded)(device *d, diag_list *diags);
    bool (*replay)(device *d, void *graph, diag_list *diags);
    void (*forget)(device *d, void *graph);
    bool (*resources)(const device *d, const device_kernel *k, kernel_resources *out);
    /* Compiles what a launch with these values will take, unless that was done: a plan's variants are not all compiled when it is loaded. */
    bool (*ready)(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, diag_list *diags);
    void (*processor)(const device *d, device_processor *out);
} runtime_streams;

/* A kernel that comes as text rather than from a proved plan: nothing is known of it, and nothing is checked. */
typedef struct text_kernel text_kernel;
typedef struct text_argument {
    void *array; /* the device's memory; NULL: the value below */
    int bytes;   /* 4 or 8 */
    union {
        int64_t i64;
        int32_t i32;
        float f32;
    } value;
} text_argument;
typedef struct text_launch {
    int64_t blocks[3], threads[3];  /* threads: of a block */
    const text_argument *arguments; /* in the function's order */
    int count;
    int64_t shared_bytes; /* of a block, beside what the kernel declares; devices without such a thing take 0 alone */
} text_launch;
typedef struct runtime_text {
    /* Compiled (or taken from the cache) as our own text is. NULL with E1022, the compiler's log in the notes. */
    text_kernel *(*load)(device *d, const char *name, const char *text, const char *entry, diag_list *diags);
    void (*unload)(device *d, text_kernel *k);
    /* On the device's own queue, without waiting; devices without queues run it to its end, unless it is one of a batch. */
    bool (*launch)(device *d, text_kernel *k, const text_launch *l, diag_list *diags);
    bool (*resources)(const device *d, const text_kernel *k, kernel_resources *out); /* false where the driver does not tell */
    /* The same as load for texts that use what this very architecture has and later ones need not (sm_90a); NULL: the runtime knows no such thing. */
    text_kernel *(*load_specific)(device *d, const char *name, const char *text, const char *entry, diag_list *diags);
} runtime_text;

/* For devices without queues of the caller's, whose launches still need not be awaited one by one: those between `begin` and `end` follow each other in one
 * submission. One thread at a time; arrays are neither copied nor released meanwhile, texts' launches are included. */
typedef struct runtime_batch {
    void (*begin)(device *d);
    /* For arguments that the runtime's `launch` took before: without the checks. */
    bool (*launch)(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats,
                   diag_list *diags);
    bool (*end)(device *d, diag_list *diags); /* waits for all of them */
    /* Memory of the host's, 64-byte aligned, as the device's own, until that is released; NULL: the device has memory of its own. */
    void *(*adopt)(device *d, void *host, int64_t bytes);
} runtime_batch;

/* One row per runtime in run/runtimes.def */
typedef struct runtime {
    const char *name;   /* "cpu" */
    const char *target; /* the target whose plans and text it takes: "c" */
    /* Where its devices differ: the target for this one, and why, a line of --explain. NULL: `target` for every one. */
    const char *(*target_for)(int index, const char **why);
    bool host_memory;   /* a launch takes arrays in host memory as they are; copies and device memory are not needed */
    bool simulated;     /* a judge rather than a machine: used where it is asked for by name, at small shapes */
    int (*count)(void); /* devices found */
    bool (*describe)(int index, char *out, size_t size); /* one line for people; also why the runtime is missing */
    device *(*open)(int index, diag_list *diags);
    int (*units)(const device *d); /* processors that run tasks at the same time; 1 where it is not known */
    void (*close)(device *d);
    void *(*allocate)(device *d, int64_t bytes, diag_list *diags); /* 64-byte aligned; NULL with a diagnostic */
    void (*release)(device *d, void *memory);
    bool (*copy_in)(device *d, void *to, const void *from, int64_t bytes, diag_list *diags);
    bool (*copy_out)(device *d, void *to, const void *from, int64_t bytes, diag_list *diags);
    /* Compiles (or takes from the cache) and loads. */
    device_kernel *(*load)(device *d, const proved_plan *p, diag_list *diags);
    void (*unload)(device *d, device_kernel *k);
    /* Runs one launch to its end: the plan's checks first (E06xx names the argument and the value that fails), then the variant whose
     * predicate holds. arrays/integers/floats as target.h says. */
    bool (*launch)(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats,
                   diag_list *diags);
    const runtime_streams *streams; /* NULL: it has none */
    const runtime_batch *batch;     /* NULL: it has none */
    const runtime_text *text;       /* NULL: it takes only our own plans */
    int (*named)(const char *name); /* the device "runtime:name", -1: none; NULL: devices have numbers only */
} runtime;
extern const runtime runtime_table[];
extern const int runtime_count;
/* The target whose plans a device takes; *why (which may be NULL): why it, where there was a choice, else NULL. Static text. */
const char *runtime_target(const runtime *r, int index, const char **why);
/* The process is tilec's alone, and has one thread yet: runtimes may set what drivers read in its environment, where nobody else has. */
void runtime_own_process(void);
/* "cpu", "cpu:0"; NULL with a diagnostic naming what exists. */
const runtime *runtime_find(const char *device_name, int *index, diag_list *diags);

/* The plan's launch checks, on host-visible memory (runtimes share it). */
bool launch_checks(const launch_plan *p, void *const *arrays, const int64_t *integers, const float *floats, diag_list *diags);
/* The same for arrays in a device's memory: `handles` name them (equal handles overlap), `data` holds host copies of those that launch_data_bytes
 * asks for; the others may be NULL. */
bool launch_checks_elsewhere(const launch_plan *p, void *const *handles, void *const *data, const int64_t *integers,
                             const float *floats, diag_list *diags);
/* Bytes of the array at `position` that some check looks at; 0 when none does. */
int64_t launch_data_bytes(const launch_plan *p, int position, const int64_t *integers);
/* How many tasks a launch has; false with E0609. */
bool launch_task_count(const launch_plan *p, int variant, const int64_t *integers, int64_t *tasks, diag_list *diags);
/* Whether the launch fits narrow indices (plan_variant.narrow); false where the variant has none. */
bool launch_fits_narrow(const launch_plan *p, int variant, const int64_t *integers);
/* Which variant holds; -1 with a diagnostic when none. */
int launch_variant(const launch_plan *p, const int64_t *integers, diag_list *diags);
/* Evaluates an expression over a kernel's launch values (integers as target.h orders them). */
bool launch_evaluate(const kernel_ir *k, const index_expr *x, const int64_t *integers, int64_t *value);

/* --- the cache of compiled code (cache.c): key = hash of everything that could change it; entries appear by atomic rename --- */
typedef struct cache_entry {
    char key[33];
    char *description;
    int64_t bytes;
    int64_t used_at;
    bool is_binary; /* a driver's; not the C compiler's */
} cache_entry;
/* The directory: $TILEC_CACHE, else $XDG_CACHE_HOME/tilec, else ~/.cache/tilec; made when missing. NULL (heap text otherwise) when it can't be used,
 * with the reason added to `why`, unless that is NULL. */
char *cache_directory(text_buffer *why);
/* Path of the shared object for `text` compiled with `command`; compiles when missing or corrupt. Heap text; NULL with a diagnostic.
 * Without a usable cache directory the object is made in a temporary directory and a warning is added. */
char *cache_compile(const char *text, const char *description, bool *was_hit, diag_list *diags);
/* Binaries that a driver made of `text`; `identity`: everything else that can change them. NULL when there is none; heap memory. */
unsigned char *cache_find_binary(const char *identity, const char *text, size_t *length);
void cache_keep_binary(const char *identity, const char *text, const char *description, const void *bytes, size_t length,
                       diag_list *diags);
int cache_list(cache_entry **out);   /* heap array */
int cache_prune(int64_t keep_bytes); /* oldest first; how many went */
int64_t compiler_calls(void);        /* how often this process ran the compiler (tests count it) */

/* --- .npy files (npy.c) --- */
typedef struct npy_array {
    element_type type; /* F32 F16 I8 U8 I32 U32 BOOL; f64 and i64 are kept as read: see wide */
    int wide;          /* 0; 8 for f64 ('f') or i64 ('i') data, which only conversion on request accepts */
    char wide_kind;
    int rank;
    int64_t dims[32];
    void *data; /* row-major (Fortran order is rearranged on reading); heap */
    int64_t bytes;
} npy_array;
bool npy_read(const char *path, npy_array *out, diag_list *diags);       /* E08xx; big-endian and object types refused clearly */
bool npy_write(const char *path, const npy_array *in, diag_list *diags); /* whole or not at all */
void npy_free(npy_array *a);
#endif
