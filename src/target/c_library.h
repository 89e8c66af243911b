/* One proved plan as functions that C programs call: checks, counting tasks, running them. Private to target/. */
#ifndef TILEC_TARGET_C_LIBRARY_H
#define TILEC_TARGET_C_LIBRARY_H
#include "target/c_plan.h"

/* Return codes of the functions; the plan's own checks follow. */
enum { CODE_MEMORY = 1, CODE_EXTENT, CODE_MISSING, CODE_OVERLAP, CODE_LARGE, CODE_VARIANT, CODE_SCALAR, CODE_FIRST_CHECK };

typedef struct c_library {
    arena *a;
    cfamily p; /* binds launch values to the functions' parameters */
    const launch_plan *plan;
    const kernel_ir *k; /* of variant 0: all variants have the same arguments */
    c_plan printed;
    const char *name;
    const char *linkage; /* stands before the functions: "" or "static " */
    VEC(const kernel_array *) arrays;
    VEC(const char *) array_names;
    const char *parameters, *values, *sizes, *size_values; /* declared and passed on; sizes: without the arrays */
    text_buffer out;
} c_library;

/* Prints the plan (its name, made legal, begins every function's): `text` is heap text for behind c_plan_head, `written` (may be NULL) the
 * helpers that stand in front of it already. `out` lives in the arena; its `p.helpers` is what is written afterwards. */
bool c_library_print(arena *a, const launch_plan *plan, const char *linkage, const cfamily_names *written, c_library *out,
                     text_buffer *text, diag_list *diags);
const char *c_describe_array(arena *a, const char *shape, element_type type, array_use use); /* for a header's comment */
#endif
