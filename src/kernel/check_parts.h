/* The parts of kernel_check: declarations and blocks (check.c), accesses and values (check_value.c), statements (check_stmt.c),
 * fragments and order (check_order.c). */
#ifndef TILEC_KERNEL_CHECK_PARTS_H
#define TILEC_KERNEL_CHECK_PARTS_H
#include "kernel/names.h"

enum { CHECK_BLOCK_DEPTH = 100, CHECK_VALUE_DEPTH = 200, CHECK_INDEX_DEPTH = 1000, CHECK_MOST_ERRORS = 50 };

typedef struct checker {
    const kernel_ir *k;
    diag_list *diags;
    kernel_scope names;
    int errors;
    int depth; /* of blocks */
    int loops; /* enclosing loops that a break may leave */
    int tasks_seen;
    const kernel_stmt *stmt;     /* being checked; NULL among declarations */
    const kernel_stmt *map;      /* the fragment_map whose value is being checked */
    const kernel_stmt *transfer; /* the fragment load or store, or the copy, whose access is judged */
    bool in_role, in_tasks;
    bool copies[2]; /* asynchronous ones: of single threads, of the block */
} checker;

typedef enum index_scope {
    INDEX_ANYWHERE, /* whatever is in scope */
    INDEX_LAUNCH,   /* symbols and integer scalars */
    INDEX_BELOW     /* constants and ids of levels finer than one */
} index_scope;

void check_fail(checker *c, const char *code, source_span span, const char *message, ...) PRINTF_LIKE(4, 5);
void check_declare(checker *c, const char *name, name_kind kind, void *object, index_var *var, source_span span);
/* level: for INDEX_BELOW. A NULL expression is a breach, a NULL condition is not. */
void check_index(checker *c, const index_expr *x, index_scope scope, level_kind level, const char *what);
void check_condition(checker *c, const cond *x, index_scope scope, level_kind level, const char *what);
bool check_constant(checker *c, const index_expr *x, int64_t lo, int64_t hi, const char *code, const char *what, int64_t *value);
bool check_has_level(const checker *c, level_kind kind);
bool check_is_settled(checker *c, const index_expr *x); /* constant once `unroll` loops are unrolled */

typedef enum access_use { ACCESS_READ, ACCESS_WRITE, ACCESS_UPDATE, ACCESS_CONSUME } access_use;
bool check_access(checker *c, const kernel_access *a, access_use use); /* false: too broken to look further */
bool check_cell(checker *c, const kernel_access *a, access_use use);   /* one cell: no lanes, no mask */
/* NULL is a breach. lanes 0: any. */
void check_value(checker *c, const kernel_value *v);
void check_value_is(checker *c, const kernel_value *v, element_type type, int lanes, const char *what);

void check_block(checker *c, const kernel_block *b);
void check_stmt(checker *c, const kernel_stmt *s);
void check_order_stmt(checker *c, const kernel_stmt *s); /* barriers, copies, mbarriers, atomics, contracts */
void check_fragment_stmt(checker *c, const kernel_stmt *s);
bool check_fragment_ref(checker *c, const kernel_fragment *f, const index_expr *index);
#endif
