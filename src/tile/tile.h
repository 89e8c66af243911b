/* Tile IR: what a kernel means. Values are tiles whose axes are named ranges; there are no threads, memory spaces or
 * barriers. doc/tile-ir.md describes the text form and the meaning. */
#ifndef TILEC_TILE_TILE_H
#define TILEC_TILE_TILE_H
#include "base/arena.h"
#include "base/diag.h"
#include "base/element.h"
#include "base/index.h"
#include "tile/intrinsic.h"

typedef struct tile_value tile_value;
typedef struct tile_stmt tile_stmt;
typedef struct tile_kernel tile_kernel;

/* A named range: an axis of tiles. `i: BM` over a dimension of extent M. */
typedef struct tile_range {
    const char *name;
    index_var *var;     /* INDEX_RANGE: the element's index in its dimension, 0 <= var < extent; owner is this range */
    index_expr *extent; /* of the dimension it spans; 1 for a range that an output slice fixes (cache[pos, ..]) */
    index_expr *size;   /* elements of a whole tile: constant, TILE or STATIC variable, or equal to extent */
    bool whole;         /* spans its dimension in one piece (`d: D`, or `..`) */
    bool scheduled;     /* the size is a schedule's name, so it carries no meaning */
    bool
        held; /* whole, and its size is a constant that the extent does not exceed: values over it that several statements read are kept (hold.h) */
    bool is_task; /* bound by `for tile`; otherwise by a loop */
    source_span span;
    int id; /* unique within its kernel */
} tile_range;

typedef enum array_role { ARRAY_IN, ARRAY_OUT, ARRAY_UPDATE } array_role;

/* An argument array. Product dimensions are kept as separate factors: q: f16[KV*G, D] has dims {KV, G, D} and
 * groups {2, 1}: the caller sees rank 2 and extents {KV*G, D}; memory is row-major either way. */
typedef struct tile_array {
    const char *name;
    element_type type;
    array_role role;
    int rank;                /* of the flattened dims */
    index_expr **dims;       /* flattened extents, outermost first */
    int group_count;         /* rank the caller sees */
    int *groups;             /* factors in each caller-visible dimension; they sum to rank */
    index_expr *index_bound; /* for element type index(V): V; every element is in 0..V-1, checked at launch */
    bool injective;          /* index array declared injective */
    source_span span;
    int id;
} tile_array;

/* A scalar argument: f32, or an integer (then `var` stands for it in index expressions). */
typedef struct tile_scalar {
    const char *name;
    element_type type; /* F32, I32, U32, BOOL, INDEX (for lo..hi) */
    index_var *var;    /* INDEX_SCALAR for integers, else NULL */
    source_span span;
    int id;
} tile_scalar;

/* One row per op in tile_ops.def: TILE_OP(enum, "text name", operand count or -1, class) */
typedef enum tile_op {
#define TILE_OP(op, name, operands, kind) TILE_##op,
#include "tile/tile_ops.def"
#undef TILE_OP
    TILE_OP_COUNT
} tile_op;
extern const struct tile_op_info {
    const char *name;
    int operands;
    const char *kind;
} tile_op_table[TILE_OP_COUNT];

struct tile_value {
    tile_op op;
    element_type type; /* of the elements: F32, I32, U32, BOOL, INDEX, or a storage type right after load or convert */
    int axis_count;
    tile_range **axes; /* the ranges it varies over; order carries no meaning */
    int operand_count;
    tile_value **operands;
    /* payload, by op */
    double number;        /* CONST */
    index_expr *index;    /* INDEX: an integer expression over ranges, symbols, scalars, as a value */
    tile_scalar *scalar;  /* SCALAR (f32 and bool ones) */
    tile_array *array;    /* LOAD */
    index_expr **indices; /* LOAD: one per flattened dimension; may mention VALUE variables (gathers) */
    bool has_outside;     /* LOAD: `else`: operand 0 is the value outside the array */
    tile_range *range;    /* REDUCE_*, ARG*: the range reduced */
    int contract_count;   /* DOT: the ranges summed over */
    tile_range **contract;
    /* DOT: what loads the matrices that its operands, elements of input arrays, are made of, and what multiplies matrices; NULL: as the schedule has it */
    const struct intrinsic *by[3];
    element_type accumulator;       /* DOT: F32, I32, or F16 when asked by name */
    bool saturate;                  /* CONVERT to fp8: `sat` rather than NaN/infinity */
    struct tile_variable *variable; /* GET: its current value; FIELD: of a state */
    int field;                      /* FIELD; PARAM: which */
    const struct intrinsic *
        intrinsic; /* INTRINSIC: operands are its parameters in order (a pointer: a LOAD of the element pointed to) and what it computes; one that writes
                      is the value of a store, whose cell it writes, and has no operand for that pointer */
    int side;      /* PARAM in a join: 0 left (the state so far), 1 right (the new part) */
    index_var *value_var; /* set when an index expression uses this (integer) value: kind INDEX_VALUE, owner this */
    const char *name;     /* of the let that binds it; NULL for an inner expression */
    bool bound;           /* a LET statement binds it: evaluated there, referenced afterwards */
    source_span span;
    int id; /* unique within its kernel */
};

/* A name whose value changes by combining: `acc: f32[i, j] = 0`, or a combine state `acc: softsum(...)`. */
typedef struct tile_variable {
    const char *name;
    int field_count;          /* 1 for a plain variable */
    const char **field_names; /* NULL for a plain one */
    element_type *types;      /* F32, I32, U32, BOOL or F16 (a narrow accumulator asked for) per field */
    int *axis_counts;
    tile_range ***axes;  /* per field */
    const char *combine; /* name of the combine, NULL for a plain variable */
    tile_value **empty;  /* per field: constants (states); plain: the initial value, evaluated at the declaration */
    /* The join of a state, instantiated for these axes: results over PARAM values. left = PARAM(0, f), right = PARAM(1, f) */
    tile_value **left, **right, **join;
    source_span span;
    int id;
} tile_variable;

typedef enum tile_stmt_kind {
    TILE_STMT_LET,    /* value */
    TILE_STMT_VAR,    /* variable: declares and gives it its initial / empty value */
    TILE_STMT_UPDATE, /* variable combine= value; update is ADD, MAX or MIN */
    TILE_STMT_JOIN,   /* variable <- (values[field_count]) */
    TILE_STMT_STORE,  /* array[indices] = value */
    TILE_STMT_LOOP    /* for range in lo..extent where predicate { body } */
} tile_stmt_kind;

typedef struct tile_block {
    VEC(tile_stmt *) items;
} tile_block;

struct tile_stmt {
    tile_stmt_kind kind;
    tile_value *value;       /* LET, UPDATE, STORE */
    tile_variable *variable; /* VAR, UPDATE, JOIN */
    tile_op update;          /* UPDATE: TILE_ADD, TILE_MAX, TILE_MIN */
    tile_value **values;     /* JOIN: one per field */
    tile_array *array;       /* STORE */
    index_expr **indices;    /* STORE: one per flattened dimension */
    tile_range *range;       /* LOOP */
    cond *predicate;         /* LOOP: elements failing it do not exist; NULL for none. Mentions ranges, symbols, scalars */
    tile_block body;         /* LOOP */
    source_span span;
};

/* What one task owns of one output: per flattened dimension its tile of a task range, or a fixed expression (a slice), or the elements
 * that an injective index array holds over its tile of a task range (a scatter, of UPDATE arrays). */
typedef struct tile_owned {
    tile_array *array;
    tile_range **ranges;  /* per flattened dimension; NULL where the slice fixes it */
    index_expr **fixed;   /* per flattened dimension; NULL where a range does */
    tile_array **through; /* per flattened dimension: the one-dimensional index array that `ranges` runs over; NULL: no scatter */
    source_span span;
} tile_owned;

struct tile_kernel {
    const char *name;
    const char *origin; /* the kernel that this one is split from (split.h), whose schedule is its own too; NULL: none */
    source_span span;
    arena *arena;
    VEC(index_var *) symbols;                 /* SYMBOL, STATIC and TILE names, in order of appearance */
    VEC(const struct intrinsic *) intrinsics; /* that values call */
    VEC(tile_array *) arrays;                 /* inputs then outputs, in the order of the declaration */
    VEC(tile_scalar *) scalars;
    VEC(void *) arguments; /* the declared order of inputs: see argument_is_scalar */
    VEC(bool) argument_is_scalar;
    VEC(cond *) where; /* what the caller must satisfy: checked once at launch, assumed by the proof */
    /* a symbol that only outputs mention is derived: where S == expr; NULL entries elsewhere, parallel to symbols */
    VEC(index_expr *) derived;
    VEC(tile_range *) ranges; /* all, by id */
    VEC(tile_range *) task;   /* the ranges of `for tile`, outermost first */
    VEC(tile_owned *) owned;
    tile_block body;
    VEC(tile_variable *) variables;
    int value_count; /* ids given so far */
    int var_count;   /* ids given so far by tile_new_var */
};

/* program: kernels in order, with their temporaries */
typedef struct tile_call {
    tile_kernel *kernel;
    VEC(const char *) arguments; /* names: of the program's parameters or of earlier results, in the callee's argument order */
    VEC(const char *) results;   /* names given to the callee's outputs */
    VEC(const char *) bind_names;
    VEC(index_expr *) bind_values; /* CH = 4096: symbols of the callee set by the call */
    /* By position in kernel->symbols: the callee's symbols in terms of the program's, as the arguments' shapes, bindings, defaults and
     * derivations give them; NULL for tile sizes. Empty for programs read from Tile IR text. */
    VEC(index_expr *) symbols;
    source_span span;
} tile_call;
typedef struct tile_program {
    const char *name;
    VEC(tile_array *) arrays; /* inputs, then outputs */
    VEC(tile_scalar *) scalars;
    VEC(void *) arguments;
    VEC(bool) argument_is_scalar;
    VEC(index_var *) symbols;
    VEC(tile_call *) calls;
    source_span span;
} tile_program;

/* schedule NAME for target { KEY = value, ... } */
typedef struct tile_schedule_entry {
    const char *key;
    VEC(const char *) words; /* the value's tokens: "64" ; "staged" "(" "4" ")" ; "2" "x" "2" */
    bool is_integer;
    int64_t integer;
    source_span span;
} tile_schedule_entry;
typedef struct tile_schedule {
    const char *kernel, *target; /* target NULL: any */
    VEC(tile_schedule_entry) entries;
    source_span span;
} tile_schedule;

typedef struct tile_module {
    arena *arena;
    VEC(tile_kernel *) kernels;
    VEC(tile_program *) programs;
    VEC(tile_schedule *) schedules;
} tile_module;

/* --- build (build.c). Axes of a result are the union of the operands' axes unless said otherwise. --- */
tile_value *tile_new_value(tile_kernel *k, tile_op op, element_type type, source_span span);
tile_value *tile_constant(tile_kernel *k, element_type type, double number, source_span span);
tile_value *tile_binary(tile_kernel *k, tile_op op, element_type type, tile_value *x, tile_value *y, source_span span);
tile_value *tile_unary(tile_kernel *k, tile_op op, element_type type, tile_value *x, source_span span);
void tile_set_operands(tile_kernel *k, tile_value *v, int count, tile_value **operands); /* copies; unions axes */
/* Works out the axes again, after a payload (indices, index, range, contract, variable and field) was set by hand: LOAD and INDEX take the
 * ranges their expressions mention (those of a VALUE variable's owner included) and LOAD those of its `outside` operand; reductions drop
 * their range, DOT its contracted ones; GET, FIELD and PARAM take their variable's (a PARAM without a variable keeps what it has). */
void tile_derive_axes(tile_kernel *k, tile_value *v);
/* Makers that give the next id and list the thing in its kernel (a variable of kind VALUE, RANGE, LOOP is not listed in `symbols`). */
tile_kernel *tile_new_kernel(arena *a, const char *name, source_span span);
index_var *tile_new_var(tile_kernel *k, const char *name, index_var_kind kind,
                        source_span span); /* SYMBOL STATIC TILE: listed, derived NULL */
tile_range *tile_new_range(tile_kernel *k, const char *name, index_expr *extent, index_expr *size, source_span span);
tile_array *tile_new_array(tile_kernel *k, const char *name, element_type type, array_role role,
                           source_span span); /* inputs become arguments */
tile_scalar *tile_new_scalar(tile_kernel *k, const char *name, element_type type,
                             source_span span); /* integers get their variable */
tile_variable *tile_new_variable(tile_kernel *k, const char *name, int field_count,
                                 source_span span); /* arrays per field allocated */
/* The INDEX_VALUE variable that stands for an integer value in index expressions; made on the first call. lo, hi: its inclusive bounds. */
index_var *tile_index_of(tile_kernel *k, tile_value *v, index_expr *lo, index_expr *hi);
/* Whether an index is an element of a one-dimensional array of indices, `slot[x]`: that array, and x in *at. NULL when it is not. */
tile_array *tile_index_source(const index_expr *x, index_expr **at);
bool tile_has_axis(const tile_value *v, const tile_range *r);
void tile_add_axis(tile_kernel *k, tile_value *v, tile_range *r); /* no effect when present */
tile_stmt *tile_append(tile_kernel *k, tile_block *b, tile_stmt_kind kind, source_span span);
tile_kernel *tile_find_kernel(const tile_module *m, const char *name);
tile_program *tile_find_program(const tile_module *m, const char *name);
/* A copy of the kernel with every STATIC and TILE variable in `values` (by name) bound; used once the schedule is known. */
typedef struct tile_binding {
    const char *name;
    int64_t value;
} tile_binding;
tile_kernel *tile_specialise(arena *a, const tile_kernel *k, const tile_binding *values, int count);
/* A copy of the kernel as it is; ids are kept. */
tile_kernel *tile_copy(arena *a, const tile_kernel *k);

/* Whether the test holds of the value or of anything that it is made of, values behind its indices included (walk.c). `value_count`: ids are below it. */
typedef bool (*tile_test)(const tile_value *v, void *context);
bool tile_value_some(const tile_value *v, int value_count, tile_test test, void *context);
/* The same for the values of a block's statements, what stores are indexed by included. */
bool tile_block_some(const tile_block *b, int value_count, tile_test test, void *context);

/* --- print, parse (text that parses back to the same IR), check --- */
void tile_print_kernel(text_buffer *out, const tile_kernel *k);
void tile_print_module(text_buffer *out, const tile_module *m);
tile_module *tile_parse(arena *a, const char *file, const char *text, diag_list *diags); /* NULL on errors */
/* The checker that runs after every pass: structure, axes, types, dominance of lets, ownership of stores. */
bool tile_check(const tile_kernel *k, diag_list *diags);
#endif
