/* The checker of Tile IR, shared by its files. Private to src/tile. */
#ifndef TILEC_TILE_CHECK_PRIVATE_H
#define TILEC_TILE_CHECK_PRIVATE_H
#include "tile/text.h"

typedef struct tile_checker {
    const tile_kernel *k;
    diag_list *diags;
    int errors;
    arena *scratch;
    char *range_active;           /* by range id */
    char *range_used;             /* a range belongs to one loop or to the task */
    char *variable_live;          /* declared in an enclosing block */
    char *variable_declared;      /* anywhere before */
    char *value_live;             /* bound values whose let was passed, in this or an enclosing block */
    char *value_seen;             /* structure checked */
    const tile_value **by_id;     /* to find two values with one id */
    const tile_variable *joining; /* inside the join of this state */
    const tile_stmt *loops[TILE_DEEPEST_LOOP + 1];
    int loop_count;
    char *stored;                 /* by array id: a store was passed */
    const tile_value *store_call; /* the value of the store that is checked: an intrinsic that writes stands there alone */
} tile_checker;

/* What an expression may mention: symbols; scalars too; ranges and values in scope too. */
typedef enum { VARS_SYMBOLS, VARS_LAUNCH, VARS_ALL } tile_check_allows;

void tile_check_report(tile_checker *c, const char *code, source_span span, const char *format, ...) PRINTF_LIKE(4, 5);

/* --- check_value.c --- */
bool tile_check_is_integer(element_type t);
bool tile_check_is_number(element_type t);
bool tile_check_same_type(element_type a, element_type b); /* INDEX and I32 mix */
bool tile_check_valid_type(element_type t);
void tile_check_index(tile_checker *c, const index_expr *x, tile_check_allows allowed, source_span span, const char *what,
                      int depth);
void tile_check_condition(tile_checker *c, const cond *x, tile_check_allows allowed, source_span span, const char *what,
                          int depth);
void tile_check_value(tile_checker *c, const tile_value *v, int depth);
bool tile_check_reads_value(const index_expr *x); /* a gather: mentions a computed value */
/* Whether these indices stay within what the task owns of the array; *why says how they leave it. */
bool tile_check_within_task(tile_checker *c, const tile_array *array, index_expr **indices, const char **why);
/* Equal as written, or extents that a `where` may make equal: whether it does is for the proof. */
bool tile_check_extents_agree(const tile_checker *c, const index_expr *x, const index_expr *y);
#endif
