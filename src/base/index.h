/* Integer expressions over named integers: extents, tile sizes, ranges, loop variables, ids, launch scalars.
 * Both IRs and the prover share them. Immutable; allocated from an arena; all arithmetic means mathematical integers
 * (the prover shows that 64 bits are enough). */
#ifndef TILEC_BASE_INDEX_H
#define TILEC_BASE_INDEX_H
#include "base/arena.h"
#include "base/diag.h"

typedef struct index_expr index_expr;
typedef struct index_var index_var;

typedef enum index_var_kind {
    INDEX_SYMBOL, /* an extent bound by the arguments: M, N, K; a launch parameter >= 0 */
    INDEX_STATIC, /* a `static` name: constant at compile time (value set before lowering) */
    INDEX_TILE,   /* a tile size chosen by a schedule: constant before lowering (>= 1) */
    INDEX_SCALAR, /* an integer scalar argument, lo..hi, checked at launch */
    INDEX_RANGE,  /* Tile IR: the element index of a range */
    INDEX_LOOP,   /* Kernel IR: a loop variable */
    INDEX_ID,     /* Kernel IR: an id of a level (task, block, subgroup, lane) */
    INDEX_VALUE   /* an opaque integer computed at run time, in lo..hi: a gathered index, an argmax; or a named integer let */
} index_var_kind;

struct index_var {
    const char *name;
    index_var_kind kind;
    index_expr *lo, *hi; /* declared inclusive bounds; NULL when only the kind says (symbols >= 0, tile sizes >= 1) */
    bool has_value;      /* STATIC and TILE: bound */
    int64_t value;
    void *owner; /* RANGE: its tile_range; VALUE: its tile_value or kernel_stmt (let) */
    source_span span;
    int id; /* unique within its kernel, for printing and tables */
};

typedef enum index_op { IX_CONST, IX_VAR, IX_ADD, IX_SUB, IX_MUL, IX_FLOORDIV, IX_MOD, IX_MIN, IX_MAX } index_op;

struct index_expr {
    index_op op;
    int64_t value;  /* CONST */
    index_var *var; /* VAR */
    index_expr *a, *b;
};

/* Constructors fold constants and the trivial identities (x+0, x*1, x*0, min(x,x), nested constants of + and -).
 * FLOORDIV and MOD round toward minus infinity; their divisor must be positive. */
index_expr *ix_const(arena *a, int64_t value);
index_expr *ix_var(arena *a, index_var *v);
index_expr *ix_add(arena *a, index_expr *x, index_expr *y);
index_expr *ix_sub(arena *a, index_expr *x, index_expr *y);
index_expr *ix_mul(arena *a, index_expr *x, index_expr *y);
index_expr *ix_floordiv(arena *a, index_expr *x, index_expr *y);
index_expr *ix_ceildiv(arena *a, index_expr *x, index_expr *y);
index_expr *ix_mod(arena *a, index_expr *x, index_expr *y);
index_expr *ix_min(arena *a, index_expr *x, index_expr *y);
index_expr *ix_max(arena *a, index_expr *x, index_expr *y);
index_expr *ix_op2(arena *a, index_op op, index_expr *x, index_expr *y);
bool ix_is_const(const index_expr *x, int64_t *value);   /* value may be NULL */
bool ix_equal(const index_expr *x, const index_expr *y); /* structurally, after folding */
bool ix_mentions(const index_expr *x, const index_var *v);
/* Replaces var by expr everywhere (returns x itself when nothing changed). */
index_expr *ix_substitute(arena *a, index_expr *x, const index_var *v, index_expr *by);
/* Replaces every bound STATIC and TILE variable by its value. */
index_expr *ix_bind_constants(arena *a, index_expr *x);
/* The coefficient of v when x is affine in v with a constant coefficient (false otherwise); *rest is x with v := 0. */
bool ix_coefficient(arena *a, index_expr *x, const index_var *v, int64_t *coefficient, index_expr **rest);
void ix_print(text_buffer *out, const index_expr *x); /* reads back: + - * floor(a / b) (a mod b) min(a, b) max(a, b) */
/* The greatest common divisor, at least 0; neither may be INT64_MIN. */
int64_t ix_gcd(int64_t a, int64_t b);
/* Evaluates; `lookup` gives a variable's value. False on an unbound variable or a divisor <= 0. */
typedef bool (*ix_lookup)(void *context, const index_var *v, int64_t *value);
bool ix_eval(const index_expr *x, ix_lookup lookup, void *context, int64_t *value);

/* Conditions over integer expressions. */
typedef enum cond_op { COND_TRUE, COND_LE, COND_LT, COND_EQ, COND_NE, COND_AND, COND_OR, COND_NOT } cond_op;
typedef struct cond cond;
struct cond {
    cond_op op;
    index_expr *x, *y; /* LE LT EQ NE */
    cond *a, *b;       /* AND OR NOT(a) */
    source_span span;
};
cond *cond_compare(arena *a, cond_op op, index_expr *x, index_expr *y);
cond *cond_and(arena *a, cond *x, cond *y); /* a NULL operand vanishes (both NULL: NULL), and so does TRUE */
cond *cond_or(arena *a, cond *x, cond *y);  /* a NULL operand vanishes; TRUE gives TRUE. False is NOT(TRUE) */
cond *cond_not(arena *a, cond *x);
cond *cond_substitute(arena *a, cond *x, const index_var *v, index_expr *by);
cond *cond_bind_constants(arena *a, cond *x);
/* A copy with each side of each comparison replaced; NULL stays NULL. */
cond *cond_map(arena *a, const cond *x, index_expr *(*side)(void *context, index_expr *x), void *context);
bool cond_mentions(const cond *x, const index_var *v);
void cond_print(text_buffer *out, const cond *x); /* <= < == != and or not, parentheses */
bool cond_eval(const cond *x, ix_lookup lookup, void *context, bool *value);
#endif
