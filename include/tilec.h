/* tilec: safe tile kernels, compiled, proved, run. The public C API. doc/api.md has a tour with examples.
 *
 *     tilec_context *t = tilec_open(NULL);                         // the CPU
 *     tilec_module *m = tilec_load_file(t, "matmul.tile");
 *     tilec_call *c = tilec_call_new(m, "matmul");
 *     int64_t a_shape[] = {M, K}, b_shape[] = {K, N};
 *     tilec_bind_array(c, "a", TILEC_F16, 2, a_shape, a);
 *     tilec_bind_array(c, "b", TILEC_F16, 2, b_shape, b);
 *     if (!tilec_launch(c)) fputs(tilec_error(t), stderr);
 *     const float *result = tilec_result(c, "c", &rank, shape);
 *
 * Errors are values: every function that can fail says so by its result, and tilec_error and tilec_diagnostic_at tell why. Nothing here
 * prints, exits or aborts, except that running out of memory while compiling ends the process with a message.
 *
 * There is no global state: everything hangs on a context, and contexts are independent. Threads may use contexts of their own at the
 * same time, or share one: each function then waits for its turn, a launch included, and what a function failed of is told to the thread
 * that called it. A call holds one set of arguments, so it belongs to one thread at a time. All of them share the cache on disk.
 *
 * The ABI is kept: handles are opaque, enumerators keep their values, and structures begin with their size. Set `size` to sizeof the
 * structure before passing it; later versions append fields, and touch no more than the size says. Texts that are handed out belong to
 * the library: those of a diagnostic live until the same thread's next call on the context, those told of a call until the next
 * function that binds, sets, prepares, compiles or launches it. */
#ifndef TILEC_H
#define TILEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TILEC_API __attribute__((visibility("default")))
#else
#define TILEC_API
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define TILEC_MAX_RANK 8

/* Element types. An index(V) array is bound as TILEC_I32; block formats and fp8 as their bytes (TILEC_U8) or by their own names. */
typedef enum tilec_type {
    TILEC_F32,
    TILEC_F16,
    TILEC_BF16,
    TILEC_I8,
    TILEC_U8,
    TILEC_I32,
    TILEC_U32,
    TILEC_BOOL,
    TILEC_E4M3,
    TILEC_E5M2,
    TILEC_Q8_0,
    TILEC_Q4_0,
    TILEC_MXFP4
} tilec_type;

typedef struct tilec_context tilec_context;
typedef struct tilec_module tilec_module;
typedef struct tilec_call tilec_call;

/* "0.1.0" */
TILEC_API const char *tilec_version(void);
/* As the language spells it: "f16"; NULL for a number that is no type. */
TILEC_API const char *tilec_type_name(tilec_type type);
/* Bytes of one element, or of a block of 32 elements for block formats; 0 for a number that is no type. */
TILEC_API int tilec_type_bytes(tilec_type type);

/* ---- contexts ---- */

/* Opens a device ("cpu", "opencl", "cuda:1"; NULL: the CPU). Never NULL unless memory is out: ask tilec_ready. */
TILEC_API tilec_context *tilec_open(const char *device);
/* Whether the device could be opened; tilec_error says why not. */
TILEC_API bool tilec_ready(const tilec_context *t);
/* Closes the device and frees every module and call that is left. No other thread may be using the context. NULL is allowed. */
TILEC_API void tilec_close(tilec_context *t);

/* ---- what went wrong ---- */

/* The diagnostics of this thread's last function on the context, as the command line prints them; "" when it did not fail. */
TILEC_API const char *tilec_error(const tilec_context *t);

typedef enum tilec_severity { TILEC_ERROR, TILEC_WARNING, TILEC_NOTE } tilec_severity;
typedef struct tilec_diagnostic {
    size_t size; /* sizeof(tilec_diagnostic), set by the caller */
    tilec_severity severity;
    const char *code;         /* "E0301"; `tilec explain E0301` and doc/errors.md tell more */
    const char *file;         /* NULL: it has no place in a text */
    int line, column, length; /* from 1; columns count bytes; line 0: the file as a whole */
    const char *message;      /* one line */
    const char *caret;        /* the mend, printed behind the caret; NULL for none */
    int note_count;
    const char *const *notes; /* further lines */
    const char *witness;      /* "M = 1, N = 33, i = 32": the smallest case that shows it; NULL when there is none */
    const char *text;         /* the whole of it as printed, with the quoted line and the caret */
} tilec_diagnostic;
/* Those of this thread's last function on the context, errors and warnings, in order. */
TILEC_API int tilec_diagnostic_count(const tilec_context *t);
TILEC_API bool tilec_diagnostic_at(const tilec_context *t, int index, tilec_diagnostic *out); /* false out of range */
/* What a code means, as `tilec explain` prints it; NULL for an unknown one. Static text. */
TILEC_API const char *tilec_explain(const char *code);

/* ---- modules ---- */

/* Loads and type-checks a file, or a text under a name for messages. NULL on errors. Kernels are compiled when first prepared. */
TILEC_API tilec_module *tilec_load_file(tilec_context *t, const char *path);
TILEC_API tilec_module *tilec_load_text(tilec_context *t, const char *name, const char *text);
/* Frees a module, what was compiled of it, and its calls that are left. NULL is allowed. */
TILEC_API void tilec_module_free(tilec_module *m);
/* Programs first, then kernels. */
TILEC_API int tilec_kernel_count(const tilec_module *m);
TILEC_API const char *tilec_kernel_name(const tilec_module *m, int index); /* NULL out of range */
TILEC_API bool tilec_kernel_is_program(const tilec_module *m, int index);

/* ---- calls: a kernel or program with its arguments ---- */

/* A kernel or program to be called; NULL name: the only one. NULL when there is no such kernel. */
TILEC_API tilec_call *tilec_call_new(tilec_module *m, const char *name);
TILEC_API void tilec_call_free(tilec_call *c); /* and the results that are the call's own; NULL is allowed */

/* Binds host memory: row-major, `shape` in elements. It is not copied and stays the caller's; it must live until it is bound again or the
 * call is freed. Results may be bound too; those that are not get memory of the call's own. False for a wrong name, type or rank, and
 * for memory not aligned to its elements. A block format given as TILEC_U8 counts bytes in its last dimension. */
TILEC_API bool tilec_bind_array(tilec_call *c, const char *name, tilec_type type, int rank, const int64_t *shape, void *data);
TILEC_API bool tilec_bind_float(tilec_call *c, const char *name, double value);
TILEC_API bool tilec_bind_integer(tilec_call *c, const char *name, int64_t value);

typedef enum tilec_memory { TILEC_HOST, TILEC_DEVICE } tilec_memory;
/* An array as another library describes it. Zero-initialise, then set `size`, `type`, `rank`, `shape`, `data`. */
typedef struct tilec_array {
    size_t size;
    tilec_type type;
    int rank;
    const int64_t *shape;   /* elements */
    const int64_t *strides; /* elements; NULL: row-major. Others than row-major ones are refused (E0660): copy first */
    void *data;
    int64_t bytes; /* what `data` has room for: a larger shape is refused; 0: not told */
    tilec_memory
        memory; /* TILEC_DEVICE: `data` is memory of the context's own device, used where it is; refused (E0665) where there is none such */
    void *device; /* NULL: the device that the context opened (CUDA: its primary context) */
} tilec_array;
TILEC_API bool tilec_bind(tilec_call *c, const char *name, const tilec_array *array);

/* Symbols that no argument's shape tells, statics, and tile sizes that the schedule would choose. A later value replaces an earlier one. */
TILEC_API bool tilec_set_symbol(tilec_call *c, const char *name, int64_t value);
TILEC_API bool tilec_set_tile(tilec_call *c, const char *name, int64_t value);
/* A key of a schedule with its value as a schedule has it: ("operands", "staged"), ("subgroups", "2x2"), ("vector", "4"), ("BM", "32"). */
TILEC_API bool tilec_set_schedule(tilec_call *c, const char *key, const char *value);

/* Solves the shapes from what is bound, without compiling: tilec_shape then knows every array, results too. */
TILEC_API bool tilec_solve(tilec_call *c);
/* The shape of any array of the call, once solved, in `shape[TILEC_MAX_RANK]`. */
TILEC_API bool tilec_shape(tilec_call *c, const char *name, int *rank, int64_t *shape);
/* Compiles and proves, for all shapes, without any arguments; statics without a value must have been set. What refused it can be read
 * from the diagnostics and from tilec_verdict_at. */
TILEC_API bool tilec_compile(tilec_call *c);
/* Solves the shapes, compiles and proves what is new. One compile serves all shapes; statics and tile sizes make new ones. */
TILEC_API bool tilec_prepare(tilec_call *c);
/* Prepares if need be, checks what must be checked at launch, and runs to the end. Nothing is written when a check fails. */
TILEC_API bool tilec_launch(tilec_call *c);
/* A result (or any array) after tilec_prepare: its memory (the device's where that was bound), and its shape in `shape[TILEC_MAX_RANK]`. NULL for an unknown name. */
TILEC_API void *tilec_result(tilec_call *c, const char *name, int *rank, int64_t *shape);
/* Runs as tilec_launch does and compares every element with an f64 evaluation of the kernel's meaning on the same bytes, within a derived
 * bound. Every array must be in host memory. *worst is the worst error as a share of its bound (may be NULL). False when an element is outside. */
TILEC_API bool tilec_launch_checked(tilec_call *c, double *worst);

typedef struct tilec_launch_options {
    size_t size;
    /* The device's queue to launch on: a CUstream (or cudaStream_t) of the device's primary context. Refused (E0665) where the device has none: the CPU
     * runs in the calling thread. NULL: a queue of the context's own, in order with CUDA's default stream, and the launch ends when its work has. With a
     * queue given, and every array in the device's memory, the launch returns at once: the arrays must live until the queue has come past it. Where the
     * plan checks index data, it waits for the queue before the launch. */
    void *stream;
} tilec_launch_options;
/* tilec_launch with options; NULL: none. */
TILEC_API bool tilec_launch_with(tilec_call *c, const tilec_launch_options *options);
/* Of the last launch, without preparing and checking; on a device with queues, by the device's clock and without copies (0 when it was not waited for). */
TILEC_API double tilec_launch_milliseconds(const tilec_call *c);

/* ---- what a kernel asks for and gives ---- */

typedef enum tilec_role { TILEC_IN, TILEC_OUT, TILEC_UPDATE } tilec_role;
typedef struct tilec_argument {
    size_t size;
    const char *name;
    bool is_scalar;
    tilec_role role;          /* scalars are TILEC_IN */
    tilec_type type;          /* index arrays and lo..hi scalars: TILEC_I32 */
    int rank;                 /* as a caller sees it; 0 for scalars */
    const char *const *shape; /* an expression for each dimension: "KV * G" */
    const char *index_bound;  /* "V" of an index(V) array; NULL for others */
    bool is_injective;        /* an index array that may hold no value twice */
    const char *least, *most; /* of an lo..hi scalar; NULL for others */
    const char *declaration;  /* "q: f16[KV * G, D]" */
    const char *file;
    int line, column;
} tilec_argument;
/* Inputs in declared order, then results, those it updates among them. */
TILEC_API int tilec_argument_count(tilec_call *c);
TILEC_API bool tilec_argument_at(tilec_call *c, int index, tilec_argument *out);

typedef enum tilec_symbol_kind { TILEC_EXTENT, TILEC_STATIC, TILEC_TILE_SIZE } tilec_symbol_kind;
typedef struct tilec_symbol {
    size_t size;
    const char *name;
    tilec_symbol_kind kind;
    const char *kernel;  /* of a program: the kernel it calls that has this symbol; NULL: its own */
    const char *derived; /* the expression that gives it, written `where S == ..`; NULL for others */
    bool has_default;
    int64_t default_value;
    bool is_known; /* by what is bound, set or compiled so far */
    int64_t value;
} tilec_symbol;
TILEC_API int tilec_symbol_count(tilec_call *c);
TILEC_API bool tilec_symbol_at(tilec_call *c, int index, tilec_symbol *out);
/* The `where`s a caller must satisfy, as text; NULL out of range. A program has none of its own. */
TILEC_API const char *tilec_where_at(tilec_call *c, int index);

/* ---- what was made of it: after tilec_compile or tilec_prepare, refused or not ---- */

/* One kernel of the call: the kernel itself, or one call of a program. */
typedef struct tilec_step {
    size_t size;
    const char *kernel;
    const char *schedule; /* "BM = 96, BN = 128, BK = 256"; NULL when it came to none */
    int route_count;
    const char *const *routes; /* how it was lowered: a line each */
    int variant_count;
    int check_count;
    const char *const *checks; /* what is checked before each launch */
    bool is_proved;
    int proved, refuted, unknown; /* properties */
    double proof_milliseconds, compile_milliseconds;
    const char *explanation; /* all of this as `tilec run --explain` prints it */
    const char *plan;        /* the launch plan with its Kernel IR */
    const char *code;        /* the target's text; NULL unless it is proved */
} tilec_step;
TILEC_API int tilec_step_count(tilec_call *c);
TILEC_API bool tilec_step_at(tilec_call *c, int step, tilec_step *out);

/* A variant of a launch plan: exactly one holds for every launch. */
typedef struct tilec_variant {
    size_t size;
    const char *when;      /* over extents and scalars; NULL: always */
    const char *tasks;     /* the task grid: "floor((M + 95) / 96) x .." */
    int64_t private_bytes; /* of memory for each task */
} tilec_variant;
TILEC_API bool tilec_variant_at(tilec_call *c, int step, int index, tilec_variant *out);

typedef enum tilec_judgement { TILEC_PROVED, TILEC_REFUTED, TILEC_NOT_PROVED } tilec_judgement;
typedef struct tilec_verdict {
    size_t size;
    const char *property; /* "bounds", "race", "initialised", .. */
    const char *subject;  /* the array or statement */
    tilec_judgement judgement;
    const char *file;
    int line, column;
    const char *explanation; /* refuted: what happens; not proved: the term that could not be judged; NULL when proved */
    const char *witness;     /* the smallest case; NULL when there is none */
    double milliseconds;
} tilec_verdict;
TILEC_API int tilec_verdict_count(tilec_call *c, int step);
TILEC_API bool tilec_verdict_at(tilec_call *c, int step, int index, tilec_verdict *out);

/* How often this process ran the system's C compiler. */
TILEC_API int64_t tilec_compiler_calls(void);

#ifdef __cplusplus
}
#endif
#endif
