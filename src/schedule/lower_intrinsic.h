/* Calls of intrinsics while they are lowered. Private to lower_intrinsic.c and lower_matrix.c. */
#ifndef TILEC_SCHEDULE_LOWER_INTRINSIC_H
#define TILEC_SCHEDULE_LOWER_INTRINSIC_H
#include "schedule/intrinsic_table.h"
#include "schedule/lower.h"

/* What is known of a call's parameters where it is lowered. */
typedef struct intrinsic_arguments {
    lower *l;
    const intrinsic *f;
    kernel_value **values;        /* by parameter: of values */
    index_expr **indices;         /* of integers */
    kernel_access *pointers;      /* of pointers: the cell pointed to */
    const fragment_ref *matrices; /* of matrices; NULL: it has none */
    const int *dims; /* dimension of the array that each dimension of a pointer's matrix runs along; NULL: its last ones */
    int lanes;
    const char *refused; /* why the memory is not what the function can be told of; NULL: it is */
} intrinsic_arguments;

/* The binding for a text of this target: "cuda", or for one that has several of them "air.typed"; NULL: none. */
const intrinsic_binding *intrinsic_binding_for(const lower *l, const intrinsic *f, const char *form);
/* The target's row of a binding. NULL with E0521 or E0522: it has none that fits. */
const intrinsic_row *intrinsic_row_for(lower *l, const intrinsic *f, const intrinsic_binding *b, const char *form);
/* Both, of the target's first text. NULL: what it computes stands in, or (E0521) the declaration does not let it. */
const intrinsic_row *intrinsic_function(lower *l, const intrinsic *f, source_span span, const intrinsic_binding **binding);
/* Tells a route, once for each line of the source and text. */
void intrinsic_route(lower *l, source_span span, const char *format, ...) PRINTF_LIKE(3, 4);
/* Appends a call of the binding; `gives`: its first operand is a result, which the caller names. */
kernel_stmt *intrinsic_new_call(lower *l, kernel_block *block, source_span span, const intrinsic_binding *b, bool gives);
/* The operands as the row's function takes them; g->refused when the memory can't be told of. */
void intrinsic_add_operands(intrinsic_arguments *g, const intrinsic_row *row, const intrinsic_binding *b, kernel_stmt *s);
#endif
