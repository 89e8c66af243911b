/* The oracle: runs Tile IR in f64 on the very bytes the device gets and carries an error bound beside every value.
 * doc/tile-ir.md, "The oracle", derives the rules. */
#ifndef TILEC_TILE_ORACLE_H
#define TILEC_TILE_ORACLE_H
#include "tile/tile.h"

/* What a target's arithmetic does (oracle_models.c). Bounds are relative (in units of the result) or absolute. */
typedef struct arithmetic_model {
    double unit;   /* f32 add, sub, mul, fma, sqrt: relative rounding error, 2^-24 */
    double divide; /* relative error of / */
    double exp_ulp, log_ulp, tanh_ulp, erf_ulp, sin_ulp, cos_ulp, rsqrt_ulp; /* in units of 2^-23 of the result */
    bool flushes_subnormals;                                                 /* results and operands below 2^-126 may become 0 */
    double smallest;     /* absolute error an underflow may cause: 2^-149, or 2^-126 when flushing */
    bool fused_products; /* DOT: a product is not rounded by itself */
} arithmetic_model;
const arithmetic_model *arithmetic_model_find(const char *target); /* NULL when unknown */

/* How the emitted code sums one DOT or REDUCE_SUM node (by tile_value id). Over n elements the depth (longest chain of roundings) is
 * ceil(min(n, chunk) / parallel) + ceil(log2(parallel)) + ceil(n / chunk); with `deferred`,
 * ceil(n / chunk) * ceil(min(n, chunk) / parallel) + ceil(log2(parallel)) + 1. Nodes not listed: sequential, depth n. */
typedef struct reduction_tree {
    int value_id;
    int64_t chunk;    /* elements summed before the partial sum joins the running one: the loop's tile size */
    int64_t parallel; /* independent accumulators: lanes x unroll */
    bool deferred;    /* the accumulators run on from chunk to chunk, and join the running sum once */
    /* A matrix unit adds `added` products to a sum at once and cuts terms off at 2^-fraction of the largest (doc/tile-ir.md). 0: none does. */
    int added, fraction;
    const char *unit; /* its name, by which a device's description knows it (target/device_description.h); NULL: none has */
    int kept;         /* bits behind the point of what the unit gives, where they are fewer than f32's 23; 0: they are not */
    bool flushes;     /* operands and sums below 2^-126 count as zero */
    /* Where a plan has variants, a node has several: this one is of launches at which the extent of the range (by id) is more than `above` and at most
     * `most`; most 0: of any. Of several that hold the deepest counts. */
    int range;
    int64_t above, most;
} reduction_tree;

/* A loop that did not run through from its first tile to its last. Its range was parted into chunks (split.h), or its tiles were dealt to groups, or both:
 * what it changes begins anew in each, and their results are combined in order afterwards. Tiles are numbered from the beginning of the range. */
typedef struct oracle_chunks {
    int range;        /* id; of a loop of the kernel's own block */
    int64_t chunk;    /* elements of each; 0: one chunk */
    int groups;       /* tile number modulo groups says which; 0 and 1: not dealt */
    int chunk_groups; /* the same of chunks */
    double depth;     /* roundings of a sum's chunk on its way into the whole, besides one for each chunk */
} oracle_chunks;

typedef struct oracle_options {
    const arithmetic_model *model;
    const reduction_tree *trees;
    int tree_count;
    /* Tile sizes: loops that join states run at the emitted size. Kernels passed here have every STATIC and TILE name bound. */
    const oracle_chunks *chunks;   /* NULL: every loop runs through */
    int64_t first_task, last_task; /* which tasks to evaluate, row-major over the task ranges; last < 0: all */
} oracle_options;

/* Arguments: data[array id] points to bytes in the array's element type, row-major; scalars[scalar id]; symbols[i] parallels kernel->symbols. */
typedef struct oracle_arguments {
    const void *const *data;
    const double *scalars;
    const int64_t *symbols;
} oracle_arguments;

/* Per output array (by id): `cells` values, bounds and scales, row-major; `written` says how often the cell was written (0: not by the tasks
 * evaluated). An unwritten cell of an UPDATE array keeps its input. All heap memory, freed by oracle_free. */
typedef struct oracle_output {
    int64_t cells;
    double *value, *bound, *scale;
    unsigned char *written;
} oracle_output;
typedef struct oracle_result {
    int array_count;
    oracle_output *outputs; /* by array id; cells 0 for inputs */
} oracle_result;
/* False, with a diagnostic (E07xx), on shapes that do not fit memory, an index outside its array, or a cell written twice. */
bool oracle_run(const tile_kernel *k, const oracle_arguments *args, const oracle_options *options, oracle_result *out,
                diag_list *diags);
void oracle_free(oracle_result *r);

/* The comparison of a device's output with the oracle, every element. NaN matches only NaN; an infinity matches only where the value may
 * overflow within its bound. */
typedef struct value_check {
    bool passed;
    int64_t compared, vacuous, failed;
    double worst_ratio; /* max |device - value| / bound */
    int64_t worst_cell; /* flat index; the first failing cell when failed > 0 */
    double worst_device, worst_value, worst_bound;
} value_check;
value_check oracle_compare(const tile_array *array, const void *device_bytes, const oracle_output *expected);

/* Evaluates the kernel at `trials` random tilings (rule 3 of language.md) on small random data and reports E0305 on a disagreement.
 * Takes a kernel with free TILE names; symbols are chosen small. */
bool oracle_check_tilings(const tile_kernel *k, int trials, uint64_t seed, diag_list *diags);
#endif
