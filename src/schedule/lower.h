/* Private to schedule/: the state of one lowering from Tile IR to Kernel IR for a sequential task with vectors.
 *
 * Each statement of Tile IR becomes one *root*: a loop nest over the axes of what it writes. A root holds at most one reduction
 * (sum, max, dot, ...) whose result axes are the root's own; every other reduction is made a root of its own first and kept in
 * private memory. Elementwise operands are computed inside the nest, each at the outermost loop where its axes are known. */
#ifndef TILEC_SCHEDULE_LOWER_H
#define TILEC_SCHEDULE_LOWER_H
#include "schedule/schedule.h"

/* Whether a product has result ranges of more than one element in each operand alone: a matrix product, not a matrix-vector one. */
bool product_is_two_sided(const tile_value *product);
/* ---- options.c ---- */
/* What an option is judged for, and where errors point. */
typedef struct option_place {
    const tile_kernel *k;
    const machine_model *machine;
    source_span span;
    diag_list *diags;
} option_place;
bool option_target_has(const machine_model *machine, const char *key);
/* Sets one of the options that the target has; false with E0504. */
bool option_set(const option_place *p, const schedule_setting *s, schedule_options *out);
/* The elements of a chunk that `split = N` asks for; -1 for none, and for what is split already. False with E0504. */
bool option_chunk(const option_place *p, const schedule_setting *s, int64_t *chunk);
/* Appends "vector = 4, subgroups = 2 x 2, operands = direct": those that are set. */
void options_print(text_buffer *out, const schedule_options *o);

/* ---- choose.c ---- */
/* Whether a bound kernel's blocks have the memory they need, and a thread's text is of a length that compilers like. */
bool schedule_fits(const tile_kernel *bound, const machine_model *machine);
/* Which of the module's schedules applies: one for this very target before one for any; NULL: none, or the settings say `schedule=none`. */
const tile_schedule *module_schedule(const tile_module *m, const tile_kernel *k, const char *target,
                                     const schedule_setting *settings, int setting_count);
/* The value's words without blanks between them. Arena text. */
const char *joined_words(arena *a, const tile_schedule_entry *e);

/* One comparison of a loop predicate that can bound a loop, `x <= 0`, or any other condition (x NULL), kept as a guard. */
typedef struct atom {
    index_expr *x;
    cond *guard;
} atom;

/* An update statement and the value it gives its variable: old op value. */
typedef struct update {
    const tile_stmt *stmt;
    tile_value *value;
} update;

/* Where a range's current tile lies. */
typedef struct range_place {
    index_expr *start; /* index in its dimension of the tile's first element */
    index_expr *count; /* elements in this tile */
    index_expr *limit; /* the same before predicates that relate ranges made it smaller; NULL: no different */
    int64_t capacity;  /* most elements a tile can have; -1 when not a compile-time constant */
    bool entered;      /* its task or loop encloses the current statement */
} range_place;

typedef VEC(atom) atom_list;

/* The ghost array of a reduction (NULL: none) and, per dimension, the range it counts, or (NULL there) the task id. */
typedef struct ghost_record {
    kernel_array *array;
    tile_range **ranges;
    index_expr **ids;
} ghost_record;

/* How a range's elements are spread over the threads of a block: element (((slot / run * subgroups + subgroup) * lanes + lane) * run + slot % run) *
 * vector + v. A thread holds `slots` times `vector` of them, `run` vectors in a row; ids that a range does not use hold copies. All 1 on a target
 * without lanes. */
typedef struct spread {
    int subgroups, lanes, run, vector;
    index_var *subgroup; /* the id; NULL where the factor is 1 */
    index_expr *lane;    /* the same: an id, or the number that several make */
} spread;

typedef struct reduction reduction;

/* An update whose reduction runs on through the trips of a loop: the parts of the threads are joined once, after it. */
/* What of a tile that threads fill themselves is done: all of it, or its loads, or what is stored of them. */
typedef enum fill_phase { FILL_AT_ONCE, FILL_LOADS, FILL_STORES } fill_phase;

typedef struct deferred_update {
    const tile_stmt *update;
    tile_value *heavy; /* the reduction that it adds */
    reduction *parts;
} deferred_update;

/* A variable whose sums are stored from registers (lower_sums.c): the one loop that adds to it, by `update`, and the one store that reads it. */
typedef struct whole_sum {
    const tile_variable *variable;
    const tile_stmt *loop, *update, *store;
} whole_sum;

typedef struct lower_given_name {
    const char *name;
    int number; /* NAME_number is the next to try for a name that begins so */
    int older;  /* of the same hash; -1: none */
} lower_given_name;

/* A tile of an operand that a product has copied to shared memory: what later products of the same block need not copy again. lanes_stage.c */
typedef struct copied_tile {
    const kernel_block *in;
    const tile_value *x;
    kernel_array *array;
    const matrix_instruction *matrix;
    const tile_range **ranges; /* of its axes, */
    int64_t *cells;            /* and the elements along them */
    int count;
} copied_tile;

typedef struct lower {
    arena *arena;
    const tile_kernel *k;
    int value_count; /* ids of tile values: the kernel's and those made for updates */
    VEC(update) updates;
    const machine_model *machine;
    diag_list *diags;
    lowering *out;
    kernel_ir *ir;
    kernel_block *block;       /* where statements go now */
    bool unclamped;            /* accesses are scored as an elementwise nest reads them: without the clamps of their indices */
    range_place *place;        /* by range id */
    kernel_array **arrays;     /* by Tile IR array id */
    kernel_array ***fields;    /* by variable id, then field: the private arrays of a variable */
    tile_range ****field_axes; /* and the ranges of their dimensions, in the arrays' order */
    kernel_array **held;       /* by value id: the private array that keeps a materialised value; NULL when computed in place */
    tile_range ***held_axes;   /* by value id: the ranges of that array's dimensions */
    kernel_stmt **held_scalar; /* by value id: the LET of a value without axes */
    int *uses;                 /* by value id: statements that read a LET's value */
    int *references;           /* by value id: readers within the root being lowered */
    atom_list atoms;           /* of the loops entered */
    VEC(tile_range *) loops;   /* the loops entered, outermost first */
    tile_value **join_right;   /* while a join is lowered: the right part's values, by field */
    tile_variable *join_state;
    index_var **mapped;          /* by position in k->symbols, then integer scalars: the Kernel IR variable */
    index_var **task_ids;        /* by range id: the task id that counts its tiles; NULL when there is one tile */
    cond **predicates;           /* by range id: of the loop that binds it; NULL for none */
    VEC(lower_given_name) names; /* given so far, to keep them unique */
    int *name_heads;             /* by hash: the newest entry, -1: none; NULL before the first */
    ghost_record *ghosts;        /* by value id: made so far */
    kernel_array **across;       /* by twice the value id: the shared arrays through which its parts go */
    spread *spreads;             /* by range id, of the root that is lowered; NULL when a task is one thread: one of */
    spread *along;               /* those of values that vary along a range of the lanes, */
    spread *apart; /* and of the others, where these are dealt out to the lanes; NULL: each lane holds copies. lanes_apart.c */
    bool fills;    /* private memory that is made now begins as zeros */
    tile_range *apart_ranges[2]; /* that have the dimensions of the lanes there; NULL: none has */
    unsigned char *stages;       /* by value id, of products: 1: operands go through shared memory; 2: and that was told */
    kernel_array **staged;       /* by value id, of their operands: the tile there */
    VEC(copied_tile) copied;     /* by products so far */
    int64_t staged_bytes;        /* of all of them, about */
    const matrix_instruction *
        *matrices;       /* by value id, of products: what multiplies fragments of theirs; NULL: single elements are multiplied */
    bool *direct;        /* by value id, of such products: operands are loaded straight from memory */
    int *rings;          /* by value id, of such products: slots of their operands' tiles; 0: one tile, copied before each step */
    int64_t *ring_bytes; /* and what one slot of both takes, about */
    kernel_block *producer;        /* of the role that copies such operands in bulk; NULL: there are no roles */
    cond *producing, *consuming;   /* who takes which */
    index_expr *ring_slot;         /* in a loop over such tiles: which slot is multiplied */
    VEC(struct kept_loads *) kept; /* of operands that threads load a step ahead */
    index_expr *ring_count;        /* and where single threads multiply it: how much of it exists along the sum */
    kernel_array **fragment_tiles; /* by twice the value id: of such products, their operands' tiles in shared memory */
    kernel_fragment *
        *unrounded; /* by twice the value id: of products whose operands are rounded in registers, one as it was loaded */
    kernel_fragment **fragments; /* by twice the value id: of products, their operands' fragments */
    kernel_fragment **sums;      /* by value id, of products: the accumulators */
    kernel_array **met; /* by value id, of products: the shared array through which lanes get what the accumulators hold */
    tile_range *product_rows, *product_columns; /* along which the threads stand; NULL: as no product has it */
    const tile_value **
        fragment_products; /* by variable id: it is kept in accumulators, this is one of its products; NULL: in registers of single threads */
    kernel_fragment **fragment_variables; /* by variable id: those accumulators, once they are made */
    kernel_fragment *
        *promoted;       /* by variable id: accumulators of a unit that keeps fewer bits, added to those after each interval */
    bool adds_promoted;  /* products go to these now */
    struct chain *chain; /* the kernel is wholly in fragments (lanes_chain.h); NULL: it is not */
    VEC(whole_sum) whole_sums;     /* declared so far */
    VEC(deferred_update) deferred; /* in the loops entered */
    const tile_stmt *dealt;        /* the loop whose tiles go to the subgroups in turn; NULL: each tile is the whole block's */
    tile_value ***partners;        /* by variable id, then field: of a state, what another subgroup's stands for */
    bool failed;
} lower;

/* A place inside a loop nest: the local index of every open range. */
typedef struct point {
    lower *l;
    kernel_block *block;
    index_expr **position; /* by range id: local index of the current element (of lane 0); NULL when not open */
    index_expr **slot;     /* by range id: which of the thread's own elements that is; NULL without spreads */
    tile_range *vector;    /* the range that runs along lanes; NULL for none */
    int lanes;
    index_expr *active; /* prefix mask; NULL: all lanes */
    index_expr *
        element; /* in a map over fragments: which of the fragments; what is computed is one expression, of no statements; NULL: no map */
    index_expr **bounds;     /* and, by range id: elements at positions below it exist, others are not read; NULL: all */
    bool unclamped;          /* every index that max and min clamp along the vector range is the side that moves */
    kernel_value **known;    /* by value id: already computed here; REFs, leaves or register reads */
    index_var **known_index; /* by value id: the name under which index expressions use it */
} point;

/* Where a root's result goes. */
typedef struct sink {
    kernel_array *private_array;
    tile_range **axes;
    int axis_count; /* private memory over those ranges, or */
    tile_array *array;
    index_expr **indices; /* an output */
    element_type type;
    const tile_value *call; /* of an intrinsic that writes the output's elements; NULL: they are stored */
} sink;

/* ---- lower_statement.c ---- */
sink variable_sink(lower *l, const tile_variable *x, int field);    /* of a variable's field */
tile_value *updated_value(const lower *l, const tile_stmt *update); /* old op value */
void make_updates(lower *l, const tile_block *b);                   /* before anything is sized by value_count */
void lower_block(lower *l, const tile_block *b);
void lower_store(lower *l, const tile_stmt *s);
void lower_collect_ranges(index_expr *x, tile_range **axes, int *count); /* appends those that x mentions and `axes` lacks */
void lower_loop_body(lower *l, const tile_stmt *s);                      /* the statements of a loop whose range has its place */

/* ---- lower_sums.c ---- */
bool sums_have_store(const tile_kernel *k);                   /* some variable is one whose sums may be stored from registers */
bool lower_whole_sums(lower *l, const tile_block *b, int at); /* the statement is one of such a variable's: it is done */
const whole_sum *whole_sum_of(const lower *l, const tile_variable *x); /* NULL: it is none */

/* ---- lower_value.c ---- */
/* Computes v at the point, adding statements to p->block. Lanes are 1 unless v varies along the vector range. */
kernel_value *emit_value(point *p, tile_value *v);
/* The expression with ranges replaced by their place at the point; values used as indices are computed and named. */
index_expr *emit_index(point *p, index_expr *x);
/* An access to a Tile IR array, or to a private array whose dimensions are `axes`, at the point. */
kernel_access emit_global_access(point *p, tile_array *a, index_expr **indices);
kernel_access emit_private_access(point *p, kernel_array *array, tile_range **axes, int axis_count);
/* What that access reads; of values that are dealt out to the lanes, from the lane that has it. lanes_apart.c */
kernel_value *emit_private_load(point *p, kernel_array *array, tile_range **axes, int axis_count);
/* Gives v a name in the current block so that it is computed once; leaves stay as they are. */
kernel_value *emit_named(point *p, const char *name, kernel_value *v);
/* Computes, here, every part of v that no longer depends on a range yet to be opened. */
void emit_hoisted(point *p, tile_value *v);
point point_copy(const point *p); /* `known` is copied: what inner blocks learn stays there */
bool range_open(const point *p, const tile_range *r);
cond *emit_cond(point *p, const cond *c);

/* ---- lower_intrinsic.c ---- */
/* The value of a call, at the point. */
kernel_value *lower_intrinsic(point *p, tile_value *v);
/* Whether it is a call that points to other memory, or takes another integer or vector, from element to element along r: then it is no vector's. */
bool lower_calls_singly(const lower *l, const tile_value *v, const tile_range *r);
/* Whether a value is made, or stored, by calls for single elements. */
bool lower_calls_elements(const lower *l, const tile_value *v);
/* What a store stores: of a matrix that a function stores, the matrix. */
tile_value *lower_stored_value(const tile_stmt *store);
/* Whether the store of v goes by a call of an intrinsic, one for each element. False: what it computes is stored, or (E0521, E0523) nothing may be. */
bool lower_store_is_call(lower *l, const tile_value *v, source_span span);
void lower_store_call(point *p, const tile_value *v, kernel_access access, kernel_value *computed, source_span span);

/* ---- lower_matrix.c ---- */
/* Makes the block's last statement, the load of a product's operand, the product, or the store of a result v, a call of the intrinsic that it is by, where
 * it is by one that can. */
void lower_matrix_product(lower *l, kernel_block *block, kernel_stmt *mma, const tile_value *product);
void lower_matrix_store(lower *l, kernel_block *block, kernel_stmt *store, const tile_value *v, source_span span);
void lower_matrix_load(lower *l, kernel_block *block, kernel_stmt *load, const tile_value *product, int operand);
void lower_matrices_told(lower *l); /* once all is lowered: what became of those of products without matrices */

/* ---- lower_plan.c ---- */
bool is_heavy(const tile_value *v); /* a reduction: needs a loop of its own */
/* Whether a map over a fragment, which is one expression, would be too long: what is read twice stands in it twice, and so on inwards.
 * `parts`: by value id, what is known so far; 0: nothing. */
bool is_long_written_out(const tile_value *v, double *parts);
/* How well v would vectorise along r: > 0 unit-stride accesses prevail, INT_MIN when impossible. */
int vector_score(lower *l, tile_value *v, const tile_range *r);
int store_score(lower *l, index_expr **indices, int rank, const tile_range *r);
/* The parts of v that are reductions, outermost only, in order. */
typedef VEC(tile_value *) value_list;
void find_heavy(lower *l, tile_value *v, value_list *out);
bool is_cheap(lower *l, const tile_value *v);
bool may_vectorise(lower *l, const tile_range *r);
int64_t range_capacity(const tile_range *r); /* constant tile size, or -1 */
void count_uses(lower *l);
bool atom_mentions(const atom *a, const tile_range *r);
bool atom_settled(const point *p, const atom *a);                     /* every range that it mentions is open */
bool value_reads_updated(const lower *l, const tile_value *v);        /* reads an array that the kernel updates */
bool value_index_varies(const tile_value *load, const tile_range *r); /* some index is data that varies along r */
bool value_mentions_state(const lower *l, const tile_value *v);       /* reads a variable, or an array that the kernel updates */

/* ---- lower_clamp.c ---- */
bool index_is_clamped(const index_expr *x, const index_var *v);           /* max or min of what v moves and what it does not */
index_expr *index_unclamped(arena *a, index_expr *x, const index_var *v); /* the moving side in the place of each */
/* That the clamps of x are so at lanes base .. base + lanes - 1 of r; NULL: it has none. */
cond *index_clamps_open(point *p, index_expr *x, const tile_range *r, index_expr *base, int64_t lanes);

/* ---- lower_nest.c ---- */
void emit_store(point *p, const sink *s, kernel_value *v);
/* What a root needs before its loops: reductions other than `fused` are kept, `fused`'s operands made ready, readers counted. */
void prepare_root(lower *l, tile_value *value, tile_value *fused);
void count_root_references(lower *l, tile_value *value);
bool has_just_ranges(const tile_value *v, tile_range **axes, int count); /* v's axes are these, in any order */
/* Lowers: for every element of `axes`, sink = value. */
void lower_root(lower *l, tile_range **axes, int axis_count, tile_value *value, const sink *s, source_span span);
/* Keeps v in private memory over its own axes, computed now. */
void hold_value(lower *l, tile_value *v);
/* The same as elements of `type` (a narrow operand kept as f32), in panels of `panel_width` along `panel` when that is not NULL. */
void hold_value_as(lower *l, tile_value *v, element_type type, const tile_range *panel, int64_t panel_width);
point point_new(lower *l);
/* The bounds of r's loop at the point: local, lo inclusive and hi exclusive; atoms that cannot bound it become *guard. `steps`: the loop goes
 * in steps of more than one, so hi must not be below lo. */
void loop_bounds(point *p, const tile_range *r, bool steps, index_expr **lo, index_expr **hi, cond **guard);
/* Opens a loop over r at the point, with atoms applied; `body` runs with r open, once or (main and edge) several times. */
typedef void (*nest_body)(point *p, void *context);
void open_loop(point *p, tile_range *r, nest_body body, void *context, source_span span);
/* The same, `block` elements of r at a time: the body is given blocks, then single elements for what is left over. */
typedef void (*block_body)(point *p, index_expr *base, int block, void *context);
void open_blocked(point *p, tile_range *r, int block, block_body body, void *context, source_span span);
/* The same along vector lanes, `vectors` of them at a time; what is left over is done a vector at a time behind a prefix mask
 * (`whole_edge`: the whole block at a time, every vector behind its own mask). */
typedef void (*vector_body)(point *p, index_expr *base, int vectors, index_expr *end, void *context);
void open_vectors(point *p, tile_range *r, index_expr *lo, index_expr *hi, int vectors, bool whole_edge, vector_body body,
                  void *context, source_span span);
/* ---- lower_ghost.c: what all reductions share ---- */
bool is_whole_number(element_type t);               /* of the types that arithmetic is on */
element_type arithmetic_type(element_type t);       /* in which elements of a storage type are computed with */
element_type accumulator_type(const tile_value *v); /* of a reduction's accumulator */
kernel_op combining_op(const tile_value *heavy);
kernel_value *reduction_identity(lower *l, const tile_value *heavy, element_type type);
void ghost_make(lower *l, ghost_record *g, tile_range **axes, int axis_count, tile_range **reduced, int reduced_count,
                const tile_value *heavy);
void ghost_consume(point *p, const ghost_record *g, source_span span);
/* ---- lower_reduce.c ---- */
/* Decides which operands of a product to keep as f32 copies, and makes them. */
void prepare_reduction(lower *l, tile_value *heavy);
void lower_reduction(lower *l, tile_range **axes, int axis_count, tile_value *value, tile_value *heavy, const sink *s,
                     source_span span);

/* ---- lower_fragment.c: products by matrix instructions of the task's one thread ---- */
typedef enum fragment_outcome {
    FRAGMENTS_NONE, /* not by them; --explain says why where some processor could */
    FRAGMENTS_HELD, /* by them once the product is kept by itself: what the root makes of it comes after */
    FRAGMENTS_DONE
} fragment_outcome;
fragment_outcome lower_by_fragments(lower *l, tile_range **axes, int count, tile_value *value, tile_value *heavy, const sink *s,
                                    source_span span);

/* A root whose value holds one reduction over its own axes: keeps the accumulators of a block of elements in registers. */
typedef struct reduction_shape {
    tile_range *vector;      /* along lanes; NULL: scalar */
    bool vector_reduced;     /* the vector range is reduced: lanes are partial results */
    int vectors;             /* vectors of `lanes` elements per block along it */
    tile_range *unrolled[2]; /* result ranges blocked in registers */
    int unroll[2];
} reduction_shape;
/* Whether some load in v that says what lies outside may leave its array along r. */
bool leaves_along(lower *l, const tile_value *v, const tile_range *r);
bool index_mentions_data(const index_expr *x); /* an index is a value of data */
/* The dimension of the load along which r runs by ones; -1: none, or several. */
int load_dimension_along(arena *a, const tile_value *load, const tile_range *r);
reduction_shape choose_reduction_shape(lower *l, tile_range **axes, int axis_count, const tile_value *heavy);
/* Whether what is made of the reduction can be read, and stored, along the lanes of its results. */
bool reduction_shape_fits(lower *l, const reduction_shape *shape, tile_value *value, const sink *s);

/* An index expression over launch values, with Tile IR's symbols and scalars replaced by Kernel IR's. */
index_expr *lower_expression(lower *l, index_expr *x);
cond *lower_condition(lower *l, const cond *c);
/* Names an index expression in the current block, unless it is a constant or a variable already. */
index_expr *name_index(lower *l, kernel_block *b, const char *name, index_expr *x);
/* ---- lower_bounds.c ---- */
/* Whether x is a multiple of a constant, or at least 0 (made of a task's ids and of arguments that can't be less), seen from its form. */
bool is_multiple(const index_expr *x, const index_expr *of);
bool is_never_negative(const lower *l, const index_expr *x);
/* The parts of the predicate, for the loops that it bounds. */
void predicate_atoms(lower *l, atom_list *out, cond *c);
/* Replaces every range but r by its extreme position that makes x least, so that x <= 0 says what some element of the tiles allows.
 * *exact when there was nothing to replace. False when x is not affine in one of them. */
bool relax_atom(lower *l, index_expr **x, const tile_range *r, bool *exact);
/* Joins these values, by field, to the state. lower_statement.c. */
void lower_join_values(lower *l, tile_variable *x, tile_value **values, source_span span);
/* ---- lanes*.c: the same for a block of threads (doc/lanes.md) ---- */
/* The machine as this kernel's blocks see it: how many subgroups they have. */
machine_model block_machine(arena *a, const tile_kernel *k, const machine_model *machine);
/* The kernel's only loop, when all that it does is join states, whose joins give the same in any order; NULL: there is none such. lanes_dealt.c */
const tile_stmt *dealt_loop(const tile_kernel *k);
/* Opens this subgroup's turns at its whole tiles, or else (`whole` false) at the last one, whose place is lo: l->block is their body, and the result
 * where the tile begins. The tiles are those that begin at multiples of the size from lo, itself one, up to hi. */
index_expr *lanes_deal(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi, int64_t size, bool whole);
/* All of a loop over single elements (lo to hi), of which each subgroup takes several at once: all are read, then joined one by one. False: nothing is done, since
 * they can't be. */
bool lanes_deal_several(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi);
/* After it: the subgroups' states become one, which the first subgroup has. */
void lanes_join_dealt(lower *l, const tile_stmt *loop);
void choose_spreads(lower *l);
int64_t spread_slots_in(const spread *spreads, const tile_range *r);
/* Chooses l->apart, once the ranges have their lanes: for the results of reductions over the lanes in a dealt loop. */
void lanes_choose_apart(lower *l);
/* Whether a root that is lowered for l->apart computes v from registers and `known` alone: then lanes that have no element may compute along, without guards. */
bool lanes_from_registers(const lower *l, const tile_value *v, const tile_value *known);
/* Whether values over these ranges are dealt out to the lanes; which spreads are theirs. */
bool lanes_apart(const lower *l, tile_range *const *axes, int count);
const spread *lanes_table(const lower *l, tile_range *const *axes, int count);
/* Which a root over these ranges goes by, which reduces `heavy` (NULL: nothing). */
spread *lanes_root_spreads(const lower *l, tile_range *const *axes, int count, const tile_value *heavy);
/* Gives the cells that some lanes have no element for a value, since every lane reads what one of them is asked for. */
void lanes_fill_apart(lower *l, kernel_array *array, tile_range *const *axes, int count, source_span span);
void lanes_fill(lower *l, kernel_array *array, kernel_value *v, source_span span); /* all cells, by every thread */
/* Before the statements of a dealt loop's last tile: loads what they read of it, zeros where nothing is. */
void lanes_load_edge(lower *l, const tile_stmt *loop);
/* Whether v can be computed for elements that a tile's end cuts off: what it reads of them is kept in registers. */
bool lanes_reads_whole(const lower *l, const tile_value *v);
/* Keeps the parts of v that are dealt out to the lanes, for a root along the lanes; they are added to `held`. */
void lanes_hold_apart(lower *l, tile_value *v, value_list *held);
/* Every lane has its parts of all results over the axes, which have l->apart's lanes: each result's come together in the lane that it is dealt to, in the
 * cell slot * lanes along each range. */
void lanes_scatter(lower *l, kernel_array *parts, tile_range **axes, int axis_count, kernel_op combine, source_span span);
int64_t lanes_part_cells(const lower *l, const tile_range *r); /* cells along r that `parts` needs for that */
int64_t lane_stride(const lower *l, const index_expr *id);     /* of the id's next lane, as lanes are counted */
int64_t spread_cells(const lower *l, const tile_range *r);     /* elements of r that the block's threads have room for */
int64_t spread_slots(const lower *l, const tile_range *r); /* elements (vectors) of r that one thread holds; -1: not constant */
void lanes_root(lower *l, tile_range **axes, int axis_count, tile_value *value, const sink *s, source_span span);
/* Opens r for what this thread has of it. */
typedef enum share_guard {
    SHARE_UNGUARDED, /* every slot, whether its element exists or not */
    SHARE_GUARDED,   /* those that exist */
    SHARE_STRIDED    /* the same, and no register array is indexed by the slot */
} share_guard;
void lanes_share(point *p, tile_range *r, share_guard guarding, nest_body body, void *context, source_span span);
/* Opens r at a position that lanes_share gave without a guard: statements that follow at p stand where it exists. */
void lanes_enter(point *p, tile_range *r, index_expr *position, index_expr *slot, source_span span);
/* A reduction in steps: start gives every thread's parts their start, share adds what the current tiles have, end joins the parts and stores
 * `value`. `deferred`: shares come once a trip of a loop. NULL: diagnosed. */
reduction *lanes_reduction_new(lower *l, tile_range **axes, int axis_count, tile_value *value, tile_value *heavy, const sink *s,
                               source_span span, bool deferred);
void lanes_reduction_start(reduction *c);
void lanes_reduction_share(reduction *c);
void lanes_reduction_end(reduction *c);
/* All at once. */
void lanes_reduction(lower *l, tile_range **axes, int axis_count, tile_value *value, tile_value *heavy, const sink *s,
                     source_span span);
/* A product whose operands go through shared memory (lanes_stage_choice.c, lanes_stage.c): decided from the structure, with the loops around it, before ranges are spread. */
void lanes_stage_decide(lower *l, const tile_value *product, const tile_range *rows, const tile_range *columns,
                        const tile_stmt *const *loops, int loop_count);
bool lanes_staged(const lower *l, const tile_value *product);
enum { MOST_STAGED_AXES = 16 };                                            /* that an operand's tile has */
element_type lanes_staged_type(const lower *l, const tile_value *product); /* of its elements in shared memory */
/* What keeps an operand's elements from being computed by any thread of the block; NULL: nothing. */
const char *lanes_stage_operand_refusal(lower *l, const tile_value *operand);
int64_t lanes_stage_bytes(lower *l, const tile_value *product, int operand); /* of one tile of it */
/* Copies the operand's tile, without a barrier. *bytes grows by what it takes, `names` by what it is called (both may be NULL). */
void lanes_stage_copy_operand(lower *l, const tile_value *product, int operand, int64_t *bytes, text_buffer *names);
/* Copies both operands' tiles, a barrier behind them. */
void lanes_stage_copy(lower *l, const tile_value *product);
/* Reads those operands whose ranges are open, so that emit_value finds them. */
void lanes_stage_read(point *p, const tile_value *product);
/* Loads of a root's value whose memory is contiguous along another range than the lanes have (one side of a transpose): copies their tiles to shared memory, a
 * barrier behind them. Which they are; none within loops. */
value_list lanes_turn_loads(lower *l, tile_value *value, source_span span);
/* Reads those whose ranges are open from there, so that emit_value finds them. */
void lanes_read_turned(point *p, const value_list *loads, source_span span);
void lanes_barrier(lower *l, unsigned spaces, source_span span); /* of the block, in the current block of statements */
/* Whether each part of the predicate compares the contracted ranges alone, or nothing of the product. */
bool lanes_bounds_contracted(const lower *l, const cond *predicate, const tile_value *product);
/* Why the product's operands can't be staged; NULL, and the bytes that all staged tiles then take. */
const char *lanes_stage_refusal(lower *l, const tile_value *product, const tile_range *rows, const tile_range *columns,
                                const tile_stmt *const *loops, int loop_count, int64_t *taken);
kernel_array *lanes_stage_ring(lower *l, const tile_value *product, int operand);        /* of tiles that are copied ahead */
kernel_array *lanes_stage_array(const lower *l, const tile_value *product, int operand); /* once it was copied */
/* The dimension of that array along which r runs. */
int lanes_stage_dimension(lower *l, const tile_value *product, int operand, const tile_range *r);
/* The range along which that tile is contiguous. */
const tile_range *lanes_stage_last(lower *l, const tile_value *product, int operand);
int lanes_stage_width(lower *l, const tile_value *product, int operand); /* elements that are copied at once along it */
/* Begins to copy the operand's tile into a slot of its ring. */
/* The same, of an operand that is computed or turned round: the threads load, compute and store it. */
void lanes_stage_fill(lower *l, const tile_value *product, int operand, index_expr *slot, fill_phase phase);
bool lanes_stage_is_zero(lower *l, const tile_value *product,
                         int operand); /* where nothing exists, of loads that are zero there */
/* Registers of a thread that its loads take; -1: they are not kept, since they are unpacked as they are loaded. */
int64_t lanes_stage_kept_registers(lower *l, const tile_value *product, int operand);
const tile_range *lanes_stage_wide(lower *l, const tile_value *product, int operand); /* along which several are copied at once */
void lanes_stage_copy_async(lower *l, const tile_value *product, int operand, index_expr *slot);
/* The same by copies of whole rows of the layout's boxes, each one transfer that signals the mbarrier's slot. */
void lanes_stage_copy_bulk(lower *l, const tile_value *product, int operand, index_expr *slot, const char *mbarrier);
/* Why an operand's tile can't be copied so; NULL: it can. */
const char *lanes_stage_bulk_refusal(lower *l, const tile_value *product, int operand);
/* Computes v and stores it, by one of the threads that hold copies. */
void lanes_store(point *p, tile_range **axes, int axis_count, const sink *s, tile_value *v);
/* Around a loop: the updates in it that can wait for its end do. `first`: what lanes_defer returned. */
int lanes_defer(lower *l, const tile_stmt *loop);
bool lanes_update_deferred(lower *l, const tile_stmt *update); /* false: not one of those */
/* Whether the loop only adds the update's value to its variable, so that each thread goes on with its part. */
bool lanes_may_defer(const lower *l, const tile_stmt *update, const tile_stmt *loop);
void lanes_join_deferred(lower *l, int first);
/* One thread among those that hold copies of a value over `axes` (NULL entries are skipped): the ids that none of them uses are 0; NULL: each is the only one. */
cond *lanes_first_copy(lower *l, tile_range **axes, int axis_count);

const char *lower_name(lower *l, const char *base);
/* The range that accesses to a private copy of v (or to a variable, by its updates) will run along lanes; NULL: no preference. */
const tile_range *preferred_last_axis(lower *l, tile_value *v);
void order_last(tile_range **axes, int count, const tile_range *last);
/* Private memory over the ranges' tiles; NULL with a diagnostic when one has no constant size. */
kernel_array *private_array(lower *l, const char *name, element_type type, tile_range **axes, int axis_count, source_span span);
void lower_error(lower *l, const char *code, source_span span, const char *format, ...) PRINTF_LIKE(4, 5);
#endif
