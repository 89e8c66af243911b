/* What the value suites share: random arguments for any kernel, launching it, and comparing every element with the oracle. */
#ifndef TILEC_TEST_TRIAL_H
#define TILEC_TEST_TRIAL_H
#include "compile.h"
#include "tile/oracle.h"
#include "tile/tile.h"

/* --- random numbers: splitmix64, the same everywhere, so that a printed seed reproduces a run --- */
typedef struct random_state {
    uint64_t state;
} random_state;
uint64_t random_next(random_state *r);
int64_t random_between(random_state *r, int64_t lo, int64_t hi); /* both ends included; lo when hi < lo */
bool random_chance(random_state *r, int percent);
double random_unit(random_state *r);   /* [0, 1) */
double random_normal(random_state *r); /* mean 0, variance 1 */

typedef enum data_kind {
    DATA_UNIFORM,     /* [0, 1) */
    DATA_ZERO_MEAN,   /* normal */
    DATA_INTEGERS,    /* -3..3: sums and products of them are exact */
    DATA_ADVERSARIAL, /* mostly normal, with huge, tiny, subnormal, zero of either sign, NaN and infinite elements */
    DATA_KIND_COUNT
} data_kind;
extern const char *const data_kind_names[DATA_KIND_COUNT];

/* One launch's arguments: all heap, freed by trial_case_free. Arrays are indexed by their id, scalars by theirs. */
typedef struct trial_case {
    const tile_kernel *kernel; /* every STATIC and TILE name bound */
    int64_t *symbols;          /* parallel to kernel->symbols */
    double *scalars;
    int64_t *cells, *bytes;
    unsigned char **data; /* the inputs, and what update arrays hold before the launch; NULL for plain outputs */
} trial_case;

/* Chooses extents from `sizes` (each symbol by itself) until every `where` holds and the work stays below `work_limit` (innermost
 * iterations) and `cell_limit` (elements of all arrays). False when 400 tries found none. */
bool trial_choose_symbols(const tile_kernel *k, random_state *r, const int64_t *sizes, int size_count, double work_limit,
                          double cell_limit, trial_case *out);
/* Fills the arrays and scalars of a case whose symbols are set. False when no data can exist (an index array over nothing). */
bool trial_fill(trial_case *c, data_kind kind, random_state *r);
void trial_case_free(trial_case *c);
/* "M = 3, N = 65" */
void trial_describe(const trial_case *c, text_buffer *out);
double trial_work(const trial_case *c); /* about how many times innermost statements run; symbols must be set */
int64_t trial_evaluate(const trial_case *c, const index_expr *x, bool *ok);
bool trial_holds(const trial_case *c, const cond *x);

/* Device memory of one launch: a poisoned buffer per output with guard bytes on both sides, TRIAL_GUARD of them each, inputs as they are. */
enum { TRIAL_GUARD = 4096 };
typedef struct trial_memory {
    int count;
    unsigned char **block;  /* heap blocks, by array id */
    unsigned char **memory; /* 64-byte aligned starts inside them */
} trial_memory;
void trial_memory_new(const trial_case *c, trial_memory *m);
/* The id of an array whose guard bytes were touched, or of an input that changed; -1 when all are whole. */
int trial_memory_damaged(const trial_case *c, const trial_memory *m);
void trial_memory_free(trial_memory *m);

/* Launch values in the order that target.h states, for the plan's kernel `k`. Heap; `arrays` holds trial_memory's pointers and freshly
 * allocated workspaces (the first `workspace_count` entries of workspaces are to be freed). */
typedef struct trial_launch {
    void **arrays;
    int64_t *integers;
    float *floats;
    void **workspaces;
    int workspace_count;
    int64_t tasks; /* extent of the row-major task grid */
} trial_launch;
bool trial_launch_new(const trial_case *c, const trial_memory *m, const kernel_ir *k, trial_launch *out);
void trial_launch_free(trial_launch *l);

/* The oracle's verdict over all outputs. */
typedef struct trial_verdict {
    bool passed;
    int64_t compared, vacuous, failed;
    double worst_ratio;
    const tile_array *array; /* the first that failed */
    value_check check;       /* of that array */
    int64_t changed;         /* elements of updated arrays that no task owns and yet differ */
    int64_t unwritten;       /* output cells that the oracle says no task writes */
} trial_verdict;
trial_verdict trial_compare(const trial_case *c, const trial_memory *m, const oracle_result *expected);
void trial_verdict_describe(const trial_case *c, const trial_verdict *v, text_buffer *out);
/* True when the kernel only adds, multiplies, compares and selects, so that small integers must come out exactly. */
bool trial_is_exact_class(const tile_kernel *k);
/* Compares bit by bit where the oracle's sums stay below 2^24 (2^11 where f16 is involved). Returns the first differing cell's array or NULL. */
const tile_array *trial_compare_exact(const trial_case *c, const trial_memory *m, const oracle_result *expected, int64_t *cell,
                                      int64_t *compared);

/* Calls `visit` for every value reachable from the kernel's statements, each once. */
void trial_visit_values(const tile_kernel *k, void (*visit)(void *context, const tile_value *v), void *context);

const char *trial_first_error(const diag_list *d); /* "E0412 message", "" when there is none */
char *trial_read_file(const char *path);           /* heap, NUL-terminated; NULL when it can't be read */
#endif
