/* The work that arms are compared on: one kernel at one shape, its data, and what the results must be. */
#ifndef TILEC_BENCH_WORK_H
#define TILEC_BENCH_WORK_H
#include "run/recipe.h"
#include "run/session.h"
#include "tile/oracle.h"

/* An argument array of the work. Set s of it lies at base + s * work.set_bytes. */
typedef struct work_array {
    const char *name;
    const tile_array *declared;
    host_array shape;    /* type, rank, dims, cells, bytes; data is not used */
    int64_t offset;      /* in a set */
    recipe_kind recipe;  /* of inputs */
    bool recipe_fixed;   /* asked for by name: the same in every data set of the check */
    int64_t index_bound; /* > 0: an index array */
} work_array;

typedef struct work_scalar {
    const char *name;
    double value;
} work_scalar;

/* How much there is to do; negative where it cannot be told from the kernel's text (loops with predicates, several kernels). */
typedef struct work_amount {
    double bytes_read, bytes_written; /* that must move at least: each touched cell once */
    double operations;                /* floating-point (or integer) operations; a product and its sum are two */
    double narrow_operations;         /* those of them in products of f16 or bf16, which a matrix unit takes */
} work_amount;

typedef struct bench_work {
    arena *arena;
    session *session;
    const tile_module *module;
    const char *name;          /* of the kernel or program */
    const char *shape;         /* "M = 64, K = 64" */
    run_call *call;            /* prepared with the compiler's own schedule: shapes and meaning */
    const tile_kernel *kernel; /* as written; NULL when the work is a program of several kernels */
    VEC(work_array) arrays;
    VEC(work_scalar) scalars;
    work_amount amount;
    int threads;
    int64_t set_bytes; /* of one set of arrays */
    int64_t sets;      /* 1: warm */
    char *memory;
    int64_t memory_bytes;
    int shared_file;                 /* descriptor of the memory, for adapters; -1: private memory */
    char kernel_hash[33];            /* of the meaning: its Tile IR */
    const struct arm_reader *reader; /* of other languages; NULL: none */
    double prepare_ns;               /* that proving and compiling it took, */
    int64_t compiler_runs;           /* and how often the C compiler ran: 0 when all was in the cache */
} bench_work;

typedef struct work_request {
    session *session;
    const tile_module *module;
    const char *name;
    const char *shape;     /* "M=64 N=64" */
    const char *arguments; /* "eps=1e-6 freq=rope": numbers for scalars, recipes for arrays; scalars not given are 1 */
    int threads;
    const struct arm_reader *reader; /* arm.h; NULL: other languages are not read */
    bool shared;                     /* buffers that another process can map */
    bool cold;                       /* as many sets as make three times the last cache */
} work_request;

/* Solves the shape, allocates, compiles. NULL with a diagnostic. */
bench_work *work_open(const work_request *request, diag_list *diags);
void work_close(bench_work *w);
char *work_at(const bench_work *w, int array, int64_t set);
/* Fills the inputs of set 0 by a recipe; arrays asked for by name keep theirs. work_spread copies set 0 to the others. */
void work_fill(bench_work *w, recipe_kind recipe, uint64_t seed);
void work_spread(bench_work *w);
/* Poisons the outputs of set 0 (NaN, 0xA5). */
void work_poison(bench_work *w);
/* "random seed 7 ..", and a hash of the input bytes of set 0 (HASH_DIGITS + 1 characters). */
void work_hash_inputs(const bench_work *w, char *digits);
void work_hash_outputs(const bench_work *w, char *digits);
/* "f16 f16 -> f32" */
const char *work_types(const bench_work *w);

/* amount.c */
work_amount work_count(const tile_kernel *k, const binding *b);
/* Whether every operation is exact on small whole numbers: sums, products, extremes, and nothing that rounds. */
bool work_is_exact_class(const tile_kernel *k);
/* The meaning's hash, of a kernel or (all its kernels together) a program. False when there is none of this name. */
bool work_kernel_hash(const tile_module *m, const char *name, char digits[33]);
#endif
