/* What the files of the Metal target share. Private to target/. */
#ifndef TILEC_TARGET_METAL_H
#define TILEC_TARGET_METAL_H
#include "target/gpu_plan.h"

enum { METAL_LANES = 32, METAL_VECTOR = 4, METAL_BUFFERS = 31 };

/* ---- metal_helpers.c ---- */
const char *metal_scalar_type(element_type t);
const char *metal_register_type(cfamily *p, element_type t, int lanes);
const char *metal_storage_type(element_type t);
/* Builtins by their names, or functions written into the prelude. */
const char *metal_helper(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes);
/* Loads or stores of vectors whose lanes are a stride apart, or of which only the first few take part: (pointer, [value,] [stride,] [count]) */
const char *metal_memory_helper(cfamily *p, element_type t, int lanes, bool is_store, const char *stride, const char *active);
/* SUBGROUP_SUM, _MAX, _MIN as exchanges between lanes, pairwise, so that the order is the one that was proved; NULL: not on this type. */
const char *metal_simd_helper(cfamily *p, kernel_op op, element_type t, int lanes);

/* ---- metal_fragment.c ---- */
/* Names the kernel's fragments; false with E0551 where one is no simdgroup matrix. */
bool metal_fragments_begin(cfamily *p, const kernel_ir *k);
void metal_fragments_declare(cfamily *p, const kernel_ir *k, text_buffer *out);
bool metal_fragment_statement(cfamily *p, const kernel_stmt *s);       /* false: it has no form */
const char *metal_fragment_element(cfamily *p, const kernel_value *v); /* of the lane's share; NULL: outside a map */

/* ---- metal.c ---- */
extern const cfamily_dialect metal_dialect;
extern const gpu_dialect metal_gpu;
bool metal_program(arena *a, const proved_plan *p, gpu_program *out, diag_list *diags);
bool metal_emit(const proved_plan *p, text_buffer *out, diag_list *diags);

/* ---- metal_build.c ---- */
bool metal_build(const proved_plan *p, const char *directory, diag_list *diags);
/* ---- metal_host.c: the part of the host program that speaks of one kernel ---- */
bool metal_host_print(arena *a, const launch_plan *plan, const gpu_program *program, text_buffer *out, diag_list *diags);
/* ---- metal_kit.c: the part that all kernels share, file by file ---- */
typedef struct metal_file {
    const char *name;
    const char *const *lines; /* NULL behind them */
} metal_file;
extern const metal_file metal_kit[];
extern const int metal_kit_count;

const machine_model *metal_machine(void);
const target_limits *metal_limits(void);
extern const legal_table metal_legal;
#endif
