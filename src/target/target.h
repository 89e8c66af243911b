/* Targets: a row each in target.def; text comes only from a proved plan. */
#ifndef TILEC_TARGET_TARGET_H
#define TILEC_TARGET_TARGET_H
#include "kernel/legalize.h"
#include "prove/prove.h"
#include "schedule/schedule.h"

typedef struct target {
    const char *name, *title;
    const machine_model *(*machine)(void); /* of this computer where it can be probed, else a generic one */
    const target_limits *(*limits)(void);
    const legal_table
        *legal; /* what kernels are rewritten to before they are proved; NULL: they are lowered to what the target has */
    /* The device code that the runtime compiles and loads. */
    bool (*emit)(const proved_plan *p, text_buffer *out, diag_list *diags);
    /* `tilec build`: writes self-contained files into `directory` (each written whole or not at all). */
    bool (*build)(const proved_plan *p, const char *directory, diag_list *diags);
} target;
extern const target target_table[];
extern const int target_count;
const target *target_find(const char *name);
/* Makes target c, for the rest of the process, one for a processor of that name, "avx2+vnni", in place of this computer's; before anything asks for machine().
 * False: *why names those there are. */
bool target_machine_name(const char *name, const char **why);
/* The target whose files `tilec build` writes beside this one's, for its host program to compare with; NULL for most. */
const target *target_companion(const target *t);

/* What a kernel's text holds of the instructions that tell how it was made. */
typedef struct target_counts {
    const char *function;
    int matrix_loads, matrix_stores, matrix_products, shuffles, barriers, loads; /* shuffles: shufflevector that is no splat */
} target_counts;
typedef VEC(target_counts) target_count_list;
/* By function of the target's text; false: the target has no such counts (or, with diagnostics, no text). Of the arena. */
bool target_statistics(arena *a, const target *t, const proved_plan *p, target_count_list *out, diag_list *diags);

/* The name of the entry for variant v, NAME_variant_v, NAME being the plan's name made legal in C. Heap text. */
char *target_entry_name(const char *plan_name, int variant);

/* How emitted C is called, per plan variant `v`:
 *   void NAME_variant_v(void *const *arrays, const int64_t *integers, const float *floats, int64_t first, int64_t last, void *scratch);
 * arrays: the GLOBAL arrays in the kernel's order, views left out; integers: the kernel's symbols in order, then its integer scalars in order;
 * floats: its f32 and bool scalars in order; tasks first..last-1 of the row-major task grid are run; scratch: kernel_private_bytes() bytes,
 * 64-byte aligned, one per worker. */
#endif
