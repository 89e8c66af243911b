/* The prover: judges a launch plan in the form that will run. doc/proof.md describes encodings. isl stands behind prove/sets.h only. */
#ifndef TILEC_PROVE_PROVE_H
#define TILEC_PROVE_PROVE_H
#include "kernel/kernel.h"

typedef enum verdict { VERDICT_PROVED, VERDICT_REFUTED, VERDICT_UNKNOWN } verdict;
extern const char *const verdict_names[];

/* One property of one kernel: order, bounds, initialised, race, coverage, update order, contribution, index overflow, capacity, layout, alignment;
 * of the whole plan: launch plan. */
typedef struct proof_item {
    const char *property;
    const char *subject; /* the array or statement, in source terms */
    verdict verdict;
    source_span span;
    const char *explanation; /* REFUTED: what happens at the witness; UNKNOWN: the term that could not be judged */
    const char *witness;     /* "M = 1, N = 33, i = 32": the lexicographically least, parameters first; NULL when none */
    double milliseconds;
} proof_item;
typedef struct proof {
    VEC(proof_item) items;
    int proved, refuted, unknown;
    /* why an aligned form of the plan could not be judged and is left out of what was proved; NULL: none was */
    const char *left_out;
    double milliseconds;
} proof;

/* Limits of the target that capacity is proved against. */
typedef struct target_limits {
    const char *target;
    int64_t private_bytes, shared_bytes;
    int64_t threads_per_block;
    int index_bits;         /* of the integer type the printed code uses for offsets: 64 on a CPU */
    int64_t largest_extent; /* extents are assumed (and checked at launch) to be at most this */
    bool has_lanes;         /* a kernel with levels below the task may run there */
    bool narrow_indices; /* where the prover finds them enough, the code uses indices of PLAN_NARROW_BITS for launches that fit */
    double milliseconds; /* of processor time that a kernel's proof may take, then the rest is open; 0: 40 seconds */
    bool settle;         /* a kernel is refuted with its first property that is: those after it are not judged */
} target_limits;

/* Only prove_plan makes one: the single door to target/. */
typedef struct proved_plan proved_plan;
const launch_plan *proved_plan_get(const proved_plan *p);

/* Judges every variant of the plan. Returns NULL unless everything is proved; *out tells each verdict either way, and each refuted or
 * unknown one is also a diagnostic (E04xx). Aligned forms are judged like the kernels they stand beside; one that is refuted refuses the plan, one
 * that cannot be judged is left out of the proved plan (out->left_out), whose kernels are enough. */
const proved_plan *prove_plan(arena *a, const launch_plan *plan, const target_limits *limits, proof *out, diag_list *diags);
/* Judges one Kernel IR text by itself (a plan with one variant). */
/* Integers that the source lets wrap around (kernel_stmt.wraps) and that are not shown to stay in their stated range become their value modulo it. How many did. */
int prove_wraps(arena *a, kernel_ir *k, const target_limits *limits);
bool prove_kernel(arena *a, const kernel_ir *k, const target_limits *limits, proof *out, diag_list *diags);
#endif
