/* What the files of the CUDA target share. Private to target/. */
#ifndef TILEC_TARGET_CUDA_HELPERS_H
#define TILEC_TARGET_CUDA_HELPERS_H
#include "target/cfamily.h"

const char *cuda_scalar_type(element_type t);
/* "float", or "f32x4": a structure `v` of lanes, declared in the prelude when first used. Booleans are masks in vectors: 0 or -1 in an int. */
const char *cuda_register_type(cfamily *p, element_type t, int lanes);
const char *cuda_storage_type(element_type t);
const char *cuda_zero(cfamily *p, element_type t); /* as a lane of a written-out vector */
/* CUDA's own functions by their names, or functions written into the prelude. */
const char *cuda_helper(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes);
/* Loads or stores of vectors lane by lane: (pointer, [value,] [stride,] [count]). */
const char *cuda_memory_helper(cfamily *p, element_type t, int lanes, bool is_store, bool strided, bool first);
/* Declares the operator for vectors of `t`; *_scalar: that operand is one scalar. A comparison gives a mask. */
void cuda_operator(cfamily *p, const char *op, element_type t, int lanes, bool x_scalar, bool y_scalar, bool compares);
void cuda_prefix_operator(cfamily *p, const char *op, element_type t, int lanes);
/* Among the lanes of a warp, all of them present: (x) for reductions, (x, lane) for shuffles. */
const char *cuda_warp_helper(cfamily *p, kernel_op op, element_type t, int lanes);
/* ---- cuda_copy.c ---- */
bool cuda_copy_statement(cfamily *p, const kernel_stmt *s); /* asynchronous copies and waits for them; false: it has no form */
/* ---- cuda_bulk.c ---- */
void cuda_mbarriers_begin(cfamily *p, const kernel_ir *k, text_buffer *out); /* makes them ready for the block */
bool cuda_mbarrier_statement(cfamily *p, const kernel_stmt *s);              /* arrivals and waits */
bool cuda_bulk_copy(cfamily *p, const kernel_stmt *s);                       /* one that signals; false with E0551 */
/* ---- cuda_fragment.c ---- */
/* Names the kernel's fragments; false with E0551 where one is of no matrix instruction. */
bool cuda_fragments_begin(cfamily *p, const kernel_ir *k);
void cuda_fragments_declare(cfamily *p, const kernel_ir *k, text_buffer *out);
bool cuda_fragment_statement(cfamily *p, const kernel_stmt *s); /* false: it has no form */
bool cuda_product_by_name(cfamily *p, const kernel_stmt *s);    /* of an intrinsic; false, with E0551: no such instruction */
const char *cuda_fragment_element(cfamily *p, const kernel_value *v); /* in a map; NULL elsewhere */
const char *cuda_lane_functions(cfamily *p,
                                const kernel_fragment *f); /* NAME_row(e), NAME_column(e): where its element e stands */
/* ---- cuda_vector.c: row and column vectors of 16 x 8 accumulators, what is reduced to them, and what accumulators become ---- */
enum { CUDA_VECTOR_SHARE = 2 }; /* elements that a lane holds of either */
static inline bool cuda_is_vector(const kernel_fragment *f) {
    return f->role == FRAGMENT_ROW_VECTOR || f->role == FRAGMENT_COLUMN_VECTOR;
}
/* (first element, [vector,] elements from one to the next, rows and columns that exist) */
const char *cuda_vector_access(cfamily *p, const kernel_fragment *f, bool store);
bool cuda_vector_reduce(cfamily *p, const kernel_stmt *s);
bool cuda_fragment_convert(cfamily *p, const kernel_stmt *s); /* false with E0551 where it is not done in registers */
/* ---- cuda_warpgroup.c: products that read their operands in shared memory ---- */
typedef struct cuda_product_names {
    const char *d, *a, *b, *c; /* the fragments' */
    const char *type;          /* of d */
} cuda_product_names;
/* From here on the compiler takes the accumulators of f32 for changed. */
void cuda_warpgroup_settle(cfamily *p, const kernel_fragment *f, const char *fragment);
bool cuda_warpgroup_place(cfamily *p, const kernel_stmt *load, const char *fragment); /* false with E0551 */
bool cuda_warpgroup_multiply(cfamily *p, const kernel_stmt *s, const cuda_product_names *n);
bool cuda_warpgroup_group(cfamily *p, const kernel_stmt *s); /* commit, wait */
bool cuda_proxy_fence(cfamily *p, const kernel_stmt *s);     /* false: it has no form */
#endif
