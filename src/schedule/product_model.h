/* Private to schedule/: what a launch of products by matrix instructions takes of a device, by a model of its processors. */
#ifndef TILEC_SCHEDULE_PRODUCT_MODEL_H
#define TILEC_SCHEDULE_PRODUCT_MODEL_H
#include "schedule/schedule.h"

enum { OF_FUNCTION = 25 }; /* operations that a mathematical function is, about */

typedef struct tiling {
    int rows, columns, step; /* of a block; along the sum */
    int subgroup_rows, subgroup_columns;
    bool warpgroups;
    bool producer; /* one of a warpgroup of its own copies in bulk; where arrays lie as that needs, else all do */
    bool single;   /* threads multiply and add elements: of operands that no matrix instruction takes */
} tiling;

/* A kernel's products, each of one tile of rows by columns. */
typedef struct product_work {
    int count, bytes; /* of an operand's element */
    int operations;   /* of the kernel's values, about: what becomes of a result */
    bool single;      /* products of elements by single threads */
    bool computed;    /* operands of some are no copies of their arrays: threads load them themselves */
} product_work;

/* What is the same for all launches of one tiling, in clocks of a processor. */
typedef struct tiling_cost {
    const char *none;                  /* why the tiling is none for the kernel on this device; NULL: it is one */
    int64_t resident, at_once;         /* blocks of a processor; of the device */
    int64_t each, alone;               /* a step of one block among others; however few others there are */
    int64_t landing;                   /* a step waits at least so long for its copies */
    int64_t fetching;                  /* a step waits so long for operands from shared memory, however many blocks share it */
    int64_t stored, computed, threads; /* after the last step: of a block; of a block's threads */
} tiling_cost;
tiling_cost product_cost(arena *a, const tiling *t, const product_work *w, const machine_model *row, const split_device *device);
/* Clocks of a launch of m x n results, sums of k, that many times; extents at least 1, at most 2^30. */
int64_t product_clocks(const tiling *t, const tiling_cost *c, const split_device *device, int64_t m, int64_t n, int64_t k,
                       int64_t times);
/* What the model takes of the device's own report, and what it takes to be an H200's. A line for people. */
const char *product_model_says(arena *a, const split_device *device);
#endif
