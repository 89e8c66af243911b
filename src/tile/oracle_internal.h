/* The oracle's insides, shared by its files. Private to src/tile. doc/tile-ir.md, "The oracle", derives the rules used here. */
#ifndef TILEC_TILE_ORACLE_INTERNAL_H
#define TILEC_TILE_ORACLE_INTERNAL_H
#include "tile/oracle.h"
#include "tile/text.h"
#include <math.h>

enum { ORACLE_MAX_AXES = 16, ORACLE_MAX_TERMS = 4, ORACLE_MAX_NODES = 4 };

/* f32 results from here on round to infinity (half a unit above the largest float). */
#define F32_OVERFLOW 0x1.ffffffp127
/* The oracle's own f64 rounding and the arithmetic on bounds are covered by making each unit a little larger. */
#define SLACK (1 + 0x1p-20)

/* Values relative to free references. A reference is a maximum that the device may have computed a little off, by an unknown d with
 * |d| <= its error. The device's value of a tile is then
 *     (v + error) + sum of factor * d     (a sum), or
 *     (v + error) * exp(sum of factor * d) (a product),
 * where |error| <= e holds without counting d: so exp(s - m) / sum of exp(s - m) does not pay for m's error at all. */
typedef struct tag_term {
    int reference; /* index into oracle.references */
    double factor;
} tag_term;
typedef struct tag {
    bool multiplies;
    int count; /* 0: no tag */
    tag_term terms[ORACLE_MAX_TERMS];
} tag;

/* A sum whose rounding is not counted yet, because how deep its tree is shows only at the end of the loop. */
typedef struct pending {
    double *s;      /* sum of magnitudes per element; NULL: nothing pending */
    double quantum; /* every term is an exact multiple of this power of two; 0: unknown. Infinity: there were only zeros */
    double n;       /* terms summed */
    double trips;   /* partial sums that joined the running one */
    double extra;   /* roundings of sums of such sums */
    int node_count;
    int nodes[ORACLE_MAX_NODES]; /* DOT and REDUCE_SUM value ids, whose trees tell the depth */
    bool sequential;             /* more nodes than that, or none listed: depth n */
    bool rounds_products;        /* products are rounded by themselves */
} pending;

/* The value of a tile on the elements of the ranges' current tiles. Axes are sorted by range id, the last one contiguous. */
typedef struct tensor {
    element_type type;
    int axis_count;
    const tile_range *axes[ORACLE_MAX_AXES];
    int64_t extents[ORACLE_MAX_AXES];
    int64_t count;
    double *v;
    double *e; /* bound on |device - v|; infinity: undecided; NULL: exact everywhere */
    pending sum;
    tag tag;
    struct tensor *settled; /* the same with the pending rounding counted; owned; NULL until asked for */
    struct tensor *plain;   /* of a settled one: the same without its tag; owned */
    bool kept;              /* outlives the statement that made it */
} tensor;

typedef struct reference {
    tensor *error; /* e: bound on |d| per element */
} reference;

/* A predicate of an enclosing loop, on the current tiles; NULL bytes: all elements exist. */
typedef struct loop_mask {
    const tile_stmt *loop;
    tensor shape; /* axes and extents alone */
    unsigned char *exists;
} loop_mask;

typedef struct variable_state {
    tensor **fields;   /* per field; NULL before the declaration */
    tensor *reference; /* of a plain variable after max=: the value as a reference; NULL: not asked for yet */
    int depth;         /* loops around the declaration */
} variable_state;

/* The values a loop's body evaluates that vary over its range: they bound how much of the range fits at a time. */
typedef struct loop_values {
    VEC(const tile_value *) values;
} loop_values;

typedef struct joined_max { /* inside a join: what max(left, right) refers to */
    const tensor *x, *y, *result;
} joined_max;

typedef struct oracle {
    const tile_kernel *k;
    const oracle_arguments *args;
    const arithmetic_model *model;
    const oracle_options *options;
    diag_list *diags;
    oracle_result *out;
    arena *memory; /* for the whole run */
    bool failed;
    bool
        comparing_tilings; /* every loop and task at its own tile size; narrow floats as an error, so that tilings agree up to it */
    int64_t *array_strides; /* per array, per dimension: at array id * ORACLE_MAX_AXES */
    int64_t *array_dims;
    /* the tiles now: per range id */
    int64_t *start, *length, *extent, *size, *position;
    bool *in_scope;
    bool *joins; /* per range id: its loop joins a state, so it runs at the emitted size */
    const tile_stmt *loops[TILE_DEEPEST_LOOP + 1];
    loop_mask masks[TILE_DEEPEST_LOOP + 1];
    int loop_count;
    variable_state *variables;
    struct loop_values *loop_values; /* per range id */
    tensor **memo;                   /* per value id: for this statement */
    int *memo_epoch, epoch;
    tensor **lets; /* per value id */
    const tile_variable *joining;
    tensor **join_left, **join_right;
    VEC(joined_max) joined;
    VEC(tensor *) temporaries;
    VEC(tensor *) task_tensors; /* freed with the task */
    VEC(reference) references;
    /* VALUE variables while an index expression is evaluated element by element */
    struct {
        const index_var *var;
        const tensor *t;
        int64_t at;
    } lookups[8];
    int lookup_count;
} oracle;

/* --- oracle_tensor.c: tensors and the shapes they broadcast to --- */
void oracle_fail(oracle *o, const char *code, source_span span, const char *format, ...) PRINTF_LIKE(4, 5);
/* A tensor over these axes (any order, duplicates allowed), v allocated; a temporary of the statement. NULL after a failure. */
tensor *tensor_new(oracle *o, element_type type, const tile_range *const *axes, int axis_count);
tensor *tensor_like(oracle *o, element_type type, const tensor *shape);
/* One that its maker owns, instead of the statement. */
tensor *tensor_like_owned(oracle *o, element_type type, const tensor *shape);
/* Over the union of the operands' axes. */
tensor *tensor_union(oracle *o, element_type type, tensor *const *operands, int count);
double *tensor_numbers(int64_t count); /* heap; ends the process when memory is out */
void tensor_free(tensor *t);
void tensor_keep(tensor *t);
void oracle_free_temporaries(oracle *o);
bool tensor_has_axis(const tensor *t, const tile_range *r);
/* A copy whose axes include all of these. t itself when it has them. */
tensor *tensor_expand(oracle *o, tensor *t, const tile_range *const *axes, int count);
/* A copy with the given order of axes, innermost last: order[i] is a position in t->axes. Heap numbers; NULL in gives NULL. */
double *tensor_permute(const tensor *t, const double *from, const int *order);
/* Where the element of `t` that belongs to a row of `shape` starts; step: 1 or 0 along the row. */
typedef struct row_walk {
    int operand_count;
    int64_t rows, length; /* rows of the result and elements in each */
    int axis_count;
    int64_t extents[ORACLE_MAX_AXES], strides[4][ORACLE_MAX_AXES], steps[4];
    int64_t at[ORACLE_MAX_AXES], offsets[4];
} row_walk;
void row_walk_start(row_walk *w, const tensor *result, const tensor *const *operands, int count);
void row_walk_next(row_walk *w);
/* Drops e when it is zero everywhere. */
void tensor_trim(tensor *t);

/* --- oracle_round.c: rounding and settling --- */
double round_to_f32(double x);
/* Rounds as a conversion to `type` does. */
double round_to_type(element_type type, bool saturate, double x);
/* One result v of f32 arithmetic with error e before any special case: overflow, NaN and infinities settled. */
void settle_f32(double *v, double *e);
/* The rounding of a pending sum counted; t itself when nothing is pending. */
tensor *tensor_settled(oracle *o, tensor *t);
/* Settled, and the error of its references counted. */
tensor *tensor_plain(oracle *o, tensor *t);
double sum_depth(const oracle *o, const pending *p);
bool node_flushes(const oracle *o, int node); /* a DOT whose unit takes numbers below 2^-126 for zero */
void pending_add_node(pending *p, int node);
void pending_merge(pending *into, const pending *from); /* nodes, depths and quantum; not s */

/* --- oracle_tag.c --- */
bool tag_same(const tag *a, const tag *b);
bool tag_combine(const tag *a, double ca, const tag *b, double cb, bool multiplies, tag *out);
bool tag_is_reference(const tensor *t); /* a maximum itself: +1 reference, nothing else */
/* Bound on |sum of factor * d| over the elements of `shape`; heap, NULL when the tag is empty. *largest: its maximum. */
double *tag_error(oracle *o, const tag *t, const tensor *shape, double *largest);
tensor *tensor_as_reference(oracle *o, tensor *t);             /* moves its error into a new reference; t itself when exact */
tensor *tensor_imprint(oracle *o, tensor *t, const tag *like); /* the opposite of taking a tag off */
/* Tagged cases of SUB, ADD, MUL, DIV, EXP, LOG, MAX, NEG, SELECT; NULL when none applies (then operands are made plain). */
tensor *tagged_unary(oracle *o, const tile_value *v, tensor *x);
tensor *tagged_binary(oracle *o, const tile_value *v, tensor *x, tensor *y);
tensor *tagged_select(oracle *o, const tile_value *v);
/* The value of a join for the state's fields, relative to its maximum where it has one. False after a failure. */
bool oracle_join(oracle *o, const tile_variable *x, variable_state *state, tensor **right);

/* --- oracle_unary.c, oracle_binary.c, oracle_convert.c --- */
tensor *evaluate_unary(oracle *o, const tile_value *v, tensor *x);
tensor *evaluate_binary(oracle *o, const tile_value *v, tensor *x, tensor *y);
tensor *evaluate_select(oracle *o, const tile_value *v, tensor *c, tensor *x, tensor *y);
tensor *evaluate_convert(oracle *o, const tile_value *v, tensor *x);
double wrap_integer(element_type type, double x);

/* --- oracle_reduce.c, oracle_dot.c --- */
tensor *evaluate_reduce(oracle *o, const tile_value *v, tensor *x);
tensor *evaluate_dot(oracle *o, const tile_value *v, tensor *x, tensor *y);
/* The largest power of two that divides every number; 0 when some needs more than `bits` bits of it or is not finite. */
double common_quantum(const double *x, int64_t count, double bits);

/* --- oracle_memory.c, oracle_index.c --- */
tensor *evaluate_load(oracle *o, const tile_value *v);
tensor *evaluate_index(oracle *o, const tile_value *v);
bool oracle_store(oracle *o, const tile_stmt *s);
bool oracle_lookup(void *context, const index_var *v, int64_t *value);
/* One index expression on the current tiles: affine (base + sum of step * local position) or a table over some of the axes. */
typedef struct index_table {
    bool affine;
    int64_t base;
    int64_t steps[ORACLE_MAX_AXES];         /* per axis of `shape` */
    int64_t lo, hi;                         /* over the whole tile */
    tensor *table;                          /* v: the values, e: how far they may be off; when not affine */
    int64_t table_strides[ORACLE_MAX_AXES]; /* per axis of `shape` */
} index_table;
/* `shape` must have all axes the expression varies over. */
bool index_table_make(oracle *o, const index_expr *x, const tensor *shape, source_span span, index_table *out);
int index_axes(const index_expr *x, const tile_range **axes, int count); /* adds the ranges it varies over */
/* The elements of `shape` that exist under the predicates in force that choose among `ranges` (NULL, 0: under all of them): heap
 * bytes, NULL when all do. Predicates over ranges that `shape` lacks hold where any such element exists. */
unsigned char *mask_over(oracle *o, const tensor *shape, const tile_range *const *ranges, int count);
/* Adds the axes of those predicates. */
int mask_axes(oracle *o, const tile_range *const *ranges, int count, const tile_range **axes, int axis_count);
/* Makes the mask of a loop's predicate; *any tells whether some element exists. */
bool mask_make(oracle *o, const tile_stmt *loop, loop_mask *out, bool *any);

/* --- oracle_evaluate.c --- */
tensor *evaluate(oracle *o, const tile_value *v); /* may be pending or tagged */
tensor *evaluate_plain(oracle *o, const tile_value *v);
/* The value of an update: sums that enter it linearly stay pending. */
tensor *evaluate_linear(oracle *o, const tile_value *v);
tensor *tensor_copy_owned(oracle *o, const tensor *t); /* kept, not the statement's */

/* --- oracle_variable.c --- */
bool variable_declare(oracle *o, const tile_variable *x);
bool variable_update(oracle *o, const tile_stmt *s);
/* x op= part, for TILE_ADD of floats, whatever is pending of it, or for another operation. */
bool variable_take(oracle *o, const tile_variable *x, tile_op op, tensor *part, source_span span);
/* The same as at its declaration, but with this number in each cell. */
bool variable_fill(oracle *o, const tile_variable *x, double number);
void variable_drop(oracle *o, const tile_variable *x);

/* --- oracle_chunks.c --- */
void oracle_run_chunks(oracle *o, const tile_stmt *loop, const oracle_chunks *chunks);

/* --- oracle_run.c --- */
void oracle_run_tiles(oracle *o, const tile_stmt *loop, int64_t from, int64_t to); /* its elements from..to-1 */
bool oracle_run_sized(const tile_kernel *k, const oracle_arguments *args, const oracle_options *options, bool comparing_tilings,
                      oracle_result *out, diag_list *diags);
#endif
