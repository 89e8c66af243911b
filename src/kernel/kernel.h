/* Kernel IR: the structured program of one thread, with levels, memory spaces, layouts, order and fragments made visible so
 * that the prover can judge what will really run. doc/kernel-ir.md describes the text form and the meaning. */
#ifndef TILEC_KERNEL_KERNEL_H
#define TILEC_KERNEL_KERNEL_H
#include "base/arena.h"
#include "base/diag.h"
#include "base/element.h"
#include "base/index.h"

typedef struct kernel_value kernel_value;
typedef struct kernel_stmt kernel_stmt;
typedef struct kernel_array kernel_array;

/* ---- levels: an ordered list, outermost first; ids are separate dimensions, never one flat number ---- */
typedef enum level_kind { LEVEL_TASK, LEVEL_CLUSTER, LEVEL_BLOCK, LEVEL_WARPGROUP, LEVEL_SUBGROUP, LEVEL_LANE } level_kind;
extern const char *const level_names[];
typedef struct kernel_level {
    level_kind kind;
    int rank;
    index_var **ids;      /* INDEX_ID, 0 <= id < extent */
    index_expr **extents; /* task: over launch symbols; below the task: constants */
} kernel_level;

/* ---- memory ---- */
typedef enum memory_space {
    SPACE_GLOBAL,   /* an argument or a workspace, seen by all tasks */
    SPACE_SHARED,   /* one per block */
    SPACE_PRIVATE,  /* memory of one thread (on a CPU: of one task) */
    SPACE_REGISTER, /* private, constant-indexed once unrolled: the target keeps it in registers; may hold vectors */
    SPACE_GHOST     /* not memory: records that each index of a reduction was consumed exactly once */
} memory_space;
extern const char *const space_names[];

typedef enum layout_kind {
    LAYOUT_ROW,     /* row-major, the last dimension has stride 1 */
    LAYOUT_STRIDES, /* strides[rank], in elements, over launch symbols */
    LAYOUT_PAD,     /* row-major, the last extent enlarged by `amount` elements */
    LAYOUT_PANEL,   /* dimension `dim` split: order [dim/amount][the others][dim mod amount] */
    LAYOUT_SWIZZLE, /* row-major with the XOR swizzle (bits, base, shift) on the element offset: x ^ ((x >> shift) & mask) at base */
    LAYOUT_BOX /* a descriptor box: tiles of box[rank] elements, each row-major, boxes row-major; that offset swizzled too where bits > 0 */
} layout_kind;
typedef struct kernel_layout {
    layout_kind kind;
    index_expr **strides;
    int dim;
    int64_t amount;
    int bits, base, shift;
    int64_t *box;
} kernel_layout;
/* Elements from multiples of it on that stay together, in their order, whatever a swizzle does; 0: the layout swizzles nothing. */
int64_t kernel_swizzle_run(const kernel_layout *layout);

typedef enum array_use { USE_IN, USE_OUT, USE_UPDATE, USE_WORKSPACE, USE_LOCAL } array_use;

struct kernel_array {
    const char *name;
    memory_space space;
    array_use use; /* GLOBAL: IN, OUT, UPDATE or WORKSPACE; others LOCAL */
    element_type element;
    int lanes;         /* REGISTER arrays may hold vectors of this many elements; 1 elsewhere */
    int rank;          /* 0: a single cell */
    index_expr **dims; /* GLOBAL: over launch symbols; others: constants (GHOST: anything) */
    kernel_layout layout;
    int alignment;             /* bytes the base is known to be aligned to; 0: the element's own */
    index_expr *element_bound; /* integer arrays whose every element is in 0..bound-1, checked at launch; NULL: unknown */
    bool element_injective;
    bool
        rewritable; /* UPDATE: its cells may be written any number of times and read after, by their own thread: foreign kernels */
    bool unset;     /* UPDATE: nobody has written its cells before the launch */
    /* OUT and UPDATE: what the launch must write, each cell exactly once; GHOST: what must be consumed exactly once.
     * Over cell_vars[rank] (INDEX_LOOP kind); NULL: every cell of an OUT or GHOST, no promise for an UPDATE. */
    index_var **cell_vars;
    cond *cells;
    int source_array; /* id of the Tile IR argument, -1 for others */
    /* A second typed view of another array's bytes, beginning `view_offset` bytes into it; NULL: an object of its own. */
    struct kernel_array *view_of;
    int64_t view_offset;
    source_span span;
    int id;
};

/* A place in an array: one index per dimension. With lanes > 1, lane l stands at indices[vector_dim] + l. `active` (NULL: all)
 * says that only lanes l < active take part: a prefix mask; inactive lanes make no access and load zero. */
typedef struct kernel_access {
    kernel_array *array;
    index_expr **indices;
    int lanes;
    int vector_dim; /* -1: the array's cells are themselves vectors of `lanes` (REGISTER arrays) */
    index_expr *active;
    /* a vector whose first lane's address is a multiple of its size, or of 16 bytes if it is larger, and whose mask takes every lane or none: proved, not
     * assumed */
    bool aligned;
} kernel_access;
/* Lanes of an `aligned` vector of this array whose first stands at such a multiple. */
int kernel_aligned_lanes(const kernel_array *array, int lanes);

/* The elements side by side in memory that one access of a fragment's load or store or of an asynchronous copy may take, if `aligned` says so: an operand's
 * rows in 16 bytes (an accumulator's too where kernel_stores_pieces), of other fragments pairs, of a copy the last extent of its box; 1: there are none. */
int kernel_row_lanes(const kernel_stmt *transfer);

/* ---- values: pure expression trees over lets, loads, ids ---- */
/* KERNEL_OP(enum, text, operands (-1 any), class) in kernel_ops.def */
typedef enum kernel_op {
#define KERNEL_OP(op, name, operands, kind) KERNEL_##op,
#include "kernel/kernel_ops.def"
#undef KERNEL_OP
    KERNEL_OP_COUNT
} kernel_op;
typedef struct kernel_op_info {
    const char *name;
    int operands;
    const char *kind;
} kernel_op_info;
extern const kernel_op_info kernel_op_table[KERNEL_OP_COUNT];

struct kernel_value {
    kernel_op op;
    element_type type; /* F32, F16, I32, U32, BOOL, INDEX (64-bit) or a storage type */
    int lanes;         /* 1: scalar */
    int operand_count;
    kernel_value **operands;
    double number;                    /* CONST */
    index_expr *index;                /* INDEX: the integer expression as a value; PREFIX_SELECT: how many lanes take operand 0 */
    const char *scalar;               /* SCALAR: the name of a launch scalar that is not an integer */
    kernel_stmt *let;                 /* REF: the LET it refers to */
    kernel_access access;             /* LOAD */
    bool saturate;                    /* CONVERT to fp8 */
    level_kind scope;                 /* SUBGROUP_*: always subgroup; ATOMIC and BARRIER scopes stand on statements */
    struct kernel_fragment *fragment; /* FRAGMENT_ELEMENT, in a map: the element of that fragment at this place; LANE_VIEW */
    index_expr
        *fragment_index; /* which of an array of fragments; NULL when its count is 1. LANE_VIEW: `index` is the lane's element */
    source_span span;
};

/* ---- fragments: opaque matrices held by a subgroup (or a warpgroup, or the one thread of a task) ---- */
/* A row vector (rows x 1) holds one element per row of an accumulator, a column vector (1 x columns) one per column. */
typedef enum fragment_role {
    FRAGMENT_A,
    FRAGMENT_B,
    FRAGMENT_ACCUMULATOR,
    FRAGMENT_ROW_VECTOR,
    FRAGMENT_COLUMN_VECTOR
} fragment_role;
extern const char *const role_names[];
typedef struct kernel_fragment {
    const char *name;
    fragment_role role;
    element_type element;
    int rows, columns;
    int count;         /* an array of `count` fragments indexed by a constant-trip loop; 1: a single one */
    level_kind holder; /* SUBGROUP or WARPGROUP; TASK where a task is one thread */
    source_span span;
    int id;
} kernel_fragment;
/* Whether the lanes that have a row of the accumulator exchange 16-bit elements before it is stored, so that each stores 16 bytes. */
bool kernel_stores_pieces(const kernel_fragment *f);
typedef struct fragment_ref {
    kernel_fragment *fragment;
    index_expr *index; /* NULL when count is 1 */
} fragment_ref;

/* ---- statements: KERNEL_STMT(enum, text) in kernel_stmts.def ---- */
typedef enum kernel_stmt_kind {
#define KERNEL_STMT(kind, name) KSTMT_##kind,
#include "kernel/kernel_stmts.def"
#undef KERNEL_STMT
    KSTMT_COUNT
} kernel_stmt_kind;
extern const char *const kernel_stmt_names[KSTMT_COUNT];

typedef struct kernel_block {
    VEC(kernel_stmt *) items;
} kernel_block;

/* What an intrinsic does with each operand, so that it can be proved like everything else. */
typedef enum contract_effect {
    CONTRACT_VALUE,
    CONTRACT_READS,
    CONTRACT_WRITES,
    CONTRACT_UPDATES,
    CONTRACT_RESULT,  /* what it returns: into one cell (`access`), or into the statement's fragment */
    CONTRACT_VECTOR,  /* several values as one operand */
    CONTRACT_FRAGMENT /* a matrix that it is given: one of the statement's fragments */
} contract_effect;
typedef struct contract_operand {
    contract_effect effect;
    kernel_value *value;   /* VALUE */
    kernel_access access;  /* READS, WRITES, UPDATES: the first cell touched; RESULT: the cell, or none (no array) */
    index_expr **extents;  /* the same: the box of cells from there, per dimension */
    index_expr **from;     /* READS, ..: where in that box the pointer stands, per dimension; NULL: at the first cell */
    kernel_value **values; /* VECTOR: scalars of one type */
    int count;
    int which;         /* FRAGMENT: 1 .. 3, of the statement's fragments */
    bool asynchronous; /* over the whole interval issue..wait rather than at once */
} contract_operand;

struct kernel_stmt {
    kernel_stmt_kind kind;
    source_span span;
    /* LET; INTRINSIC; ROLE; COMMENT text; mbarrier (MBARRIER_*; COPY: the one that its completion signals, NULL: its commit group);
     * ATOMIC: the name of the old value (NULL: not wanted), which KERNEL_REF may refer to like a LET */
    const char *name;
    kernel_value *value;     /* LET, STORE, IF_VALUE (condition), ATOMIC, FRAGMENT_FILL, FRAGMENT_MAP */
    kernel_value *expected;  /* ATOMIC by COMPARE_EXCHANGE: what the cell must hold; NULL elsewhere */
    index_var *var;          /* LET of an integer used in index expressions (INDEX_VALUE, owner this); FOR; TASKS: the trip */
    index_var *row, *column; /* FRAGMENT_MAP: the logical position (INDEX_LOOP) that its value may mention */
    kernel_access access;    /* STORE, CONSUME (a ghost array), ATOMIC, FRAGMENT_LOAD/STORE (first element), COPY destination */
    kernel_access source;    /* COPY */
    /* COPY: box of elements copied, per dimension of the destination. FRAGMENT_LOAD/STORE: NULL, or [rows, columns] that exist:
     * loads give zero past them, stores skip */
    index_expr **extents;
    index_expr *lo, *hi, *step; /* FOR: var = lo, lo + step, ... < hi; step a positive constant (or an id-stride: see doc) */
    bool unroll;                /* FOR with a constant trip count, to be unrolled */
    bool opaque;                /* LOOP: trip count unknown, ended by BREAK */
    cond *condition;            /* IF, ROLE (which threads), BREAK_IF: an integer condition */
    kernel_block body,
        otherwise; /* INTRINSIC: body computes the same: stores, loads, stores and products of fragments, other intrinsics; empty: nothing says what it computes */
    level_kind scope;         /* BARRIER, ATOMIC, GRID_REDUCE; COPY, WAIT_ASYNC: LEVEL_BLOCK where the block makes it together */
    unsigned spaces;          /* BARRIER, FENCE: 1u << memory_space of what it orders */
    cond *participants;       /* BARRIER, ARRIVE: which threads of the scope take part; NULL: all */
    index_expr *slot, *phase; /* MBARRIER_*: index in an array of barriers and the parity or iteration waited for */
    int64_t count;            /* WAIT_ASYNC: groups that may still be in flight */
    bool
        ordered; /* ATOMIC: fences of its scope stand around it, as of seq_cst and the like; targets need not print them of what is proved */
    bool asynchronous; /* FRAGMENT_MMA: until the WAIT_ASYNC (matrix) that covers its group */
    bool by_reference; /* FRAGMENT_LOAD: the matrix unit reads the memory itself, at each use */
    bool matrix;       /* COMMIT, WAIT_ASYNC: groups of matrix operations rather than of copies */
    bool clip;         /* COPY: places outside the source array are not read, zero is written for them */
    kernel_op
        combine; /* GRID_REDUCE, FRAGMENT_REDUCE: ADD, MIN, MAX; ATOMIC also BIT_AND, BIT_OR, BIT_XOR and those of class "atomic" */
    index_expr *element;       /* FRAGMENT_SET: which of the lane's elements */
    fragment_ref fragments[4]; /* FRAGMENT_*: d, a, b, c in that order; unused ones have fragment NULL */
    int row_dim, column_dim;   /* FRAGMENT_LOAD/STORE: which dimensions of the array rows and columns run along */
    index_expr *row_step,
        *column_step; /* ... and how far from one to the next; NULL: 1. With a step both may run along one dimension */
    int axis;         /* FRAGMENT_REDUCE */
    bool proxy;       /* FENCE: makes ordinary writes visible to asynchronous units */
    int contract_count;
    contract_operand *contract; /* INTRINSIC; a result that is a fragment is fragments[0], those that it is given follow */
    bool
        wraps; /* LET of an index between two constants: where it is outside, the source has its value modulo the range (prove_wraps); no text says so */
    int uses;  /* LET, ATOMIC: scratch of kernel_simplify */
};

/* Whether all lanes of a fragment's holder make it together: fragment_..., and intrinsics that give or take a fragment. */
bool kernel_is_fragment_stmt(const kernel_stmt *s);
level_kind kernel_fragment_holder(const kernel_stmt *s); /* of such a statement */
/* A copy that all threads of the block issue together, or the wait for such copies. */
static inline bool kernel_is_of_block(const kernel_stmt *s) {
    return (s->kind == KSTMT_COPY || s->kind == KSTMT_WAIT_ASYNC) && s->scope == LEVEL_BLOCK;
}
/* Extents of one cell of the array; NULL for none. */
index_expr **kernel_single_cell(arena *a, const kernel_array *array);
/* Whether the operand names cells: the others are values. */
static inline bool contract_has_cells(const contract_operand *c) {
    return c->access.array != NULL;
}

/* An integer or float launch scalar. */
typedef struct kernel_scalar {
    const char *name;
    element_type type;
    index_var *var; /* integers */
} kernel_scalar;

/* A barrier object in shared memory with arrive -> wait edges (doc/kernel-ir.md, "Order"). */
typedef struct kernel_mbarrier {
    const char *name;
    int slots;
    int64_t arrivals;
    source_span span;
} kernel_mbarrier;

typedef struct kernel_ir {
    const char *name;
    source_span span;
    arena *arena;
    VEC(index_var *) symbols; /* launch extents */
    VEC(kernel_scalar) scalars;
    VEC(kernel_array *) arrays;
    VEC(kernel_fragment *) fragments;
    VEC(kernel_mbarrier *) mbarriers;
    VEC(kernel_level) levels; /* at least the task level */
    VEC(cond *) assumptions;  /* hold for every launch: each is checked by the plan before anything runs */
    index_expr *grid; /* persistent kernels: how many blocks are launched, each running tasks by TASKS; NULL: one per task */
    kernel_block body;
    bool
        holds_loads; /* read from another language: loads stay whether or not anything uses what they read, for they are judged */
    bool
        lane_access; /* of fragments: each lane loads and stores its own elements, also where the target has functions for whole matrices */
    bool serialised;      /* its threads are loops over local memory by thread (serialise.h) */
    const char *schedule; /* one line for people: tile sizes, vector axis, routes */
    int var_count;        /* ids given */
} kernel_ir;

/* ---- launch plan ---- */
typedef enum check_kind { CHECK_WHERE, CHECK_SCALAR_RANGE, CHECK_INDEX_RANGE, CHECK_INJECTIVE } check_kind;
typedef struct launch_check {
    check_kind kind;
    cond *condition;       /* WHERE */
    kernel_scalar *scalar; /* SCALAR_RANGE: var->lo..var->hi */
    kernel_array *array;   /* INDEX_RANGE, INJECTIVE */
    const char *text;      /* as printed with the plan */
} launch_check;
typedef struct plan_variant {
    cond *predicate; /* over launch values; NULL: always. Exactly one variant holds for any launch (proved). */
    kernel_ir *kernel;
    VEC(kernel_ir *)
    before; /* pre-passes (packing, ...) run in this order before `kernel`; workspaces are matched by array name */
    /* The aligned form: what may run instead of `kernel` at launches whose global arrays all begin at multiples of PLAN_ALIGNMENT bytes and whose
     * `divided` symbols (by position) are multiples of `multiple`. NULL: there is none. */
    kernel_ir *aligned;
    VEC(int) divided;
    int multiple; /* a power of two, at most PLAN_DIVIDED */
    /* Whether integers of PLAN_NARROW_BITS hold every index, in launches that fit (PLAN_NARROW_*): targets then have a text for these and one for the
     * others, of the same kernel. The prover alone says so; elsewhere false. */
    bool narrow;
    const char *not_narrow; /* why it does not say so; NULL: nothing was asked, or it does */
} plan_variant;
/* A launch fits narrow indices when its extents are at most PLAN_NARROW_EXTENT, the elements of each global array at most PLAN_NARROW_ELEMENTS, and the
 * tasks at most PLAN_NARROW_TASKS. The elements leave room for the lanes of a vector past the end, which are masked. */
enum {
    PLAN_NARROW_BITS = 32,
    PLAN_NARROW_EXTENT = 1 << 30,
    PLAN_NARROW_SLACK = 1 << 16,
    PLAN_NARROW_ELEMENTS = INT32_MAX - PLAN_NARROW_SLACK,
    PLAN_NARROW_TASKS = INT32_MAX
};
/* Rows of so many elements begin at multiples of 16 bytes when the first does, whatever the element. */
enum { PLAN_ALIGNMENT = 16, PLAN_DIVIDED = 16 };
typedef struct launch_plan {
    const char *name;
    VEC(plan_variant) variants;
    VEC(launch_check) checks;
    VEC(kernel_array *) workspaces; /* GLOBAL, USE_WORKSPACE: allocated for the launch, dims over launch symbols */
} launch_plan;

/* ---- build (build.c) ---- */
kernel_ir *kernel_new(arena *a, const char *name, source_span span);
index_var *kernel_new_var(kernel_ir *k, const char *name, index_var_kind kind);
/* The i-th integer that a launch tells, as target.h orders them: symbols, then scalars that are indices; NULL: there are fewer. */
const index_var *kernel_launch_integer(const kernel_ir *k, int i);
kernel_array *kernel_add_array(kernel_ir *k, const char *name, memory_space space, array_use use, element_type e, int rank,
                               index_expr **dims);
kernel_stmt *kernel_append(kernel_ir *k, kernel_block *b, kernel_stmt_kind kind, source_span span);
kernel_stmt *kernel_for(kernel_ir *k, kernel_block *b, const char *name, index_expr *lo, index_expr *hi, int64_t step,
                        source_span span);
kernel_stmt *kernel_let(kernel_ir *k, kernel_block *b, const char *name, kernel_value *v, source_span span);
kernel_value *kernel_ref(kernel_ir *k, kernel_stmt *let);
kernel_value *kernel_const(kernel_ir *k, element_type t, int lanes, double number);
kernel_value *kernel_index(kernel_ir *k, index_expr *x); /* type INDEX */
kernel_value *kernel_op1(kernel_ir *k, kernel_op op, element_type t, kernel_value *x);
kernel_value *kernel_op2(kernel_ir *k, kernel_op op, element_type t, kernel_value *x,
                         kernel_value *y); /* broadcasts a scalar operand */
kernel_value *kernel_op3(kernel_ir *k, kernel_op op, element_type t, kernel_value *x, kernel_value *y, kernel_value *z);
kernel_value *kernel_broadcast(kernel_ir *k, kernel_value *x, int lanes); /* x itself when it has the lanes already */
kernel_value *kernel_load(kernel_ir *k, kernel_access access);
/* One cell (copies the indices; no mask). For a REGISTER array of vectors: one whole vector, lanes = array->lanes, vector_dim -1. */
kernel_access kernel_at(kernel_ir *k, kernel_array *array, index_expr **indices);
int64_t kernel_array_cells(const kernel_array *a); /* product of constant dims incl. layout padding; -1 when not constant */
/* Bytes of PRIVATE arrays one task needs, each rounded up to 64; -1 when an extent is not constant. */
int64_t kernel_private_bytes(const kernel_ir *k);
/* Bytes of SHARED arrays one block needs, each rounded up to 128; -1 when an extent is not constant. */
int64_t kernel_shared_bytes(const kernel_ir *k);
int64_t kernel_mbarrier_bytes(const kernel_mbarrier *m); /* of them, what its slots take */
/* Whether an i32 or u32 scalar may have every value of its type: nothing to check, the type says it. */
bool kernel_scalar_is_whole_type(const kernel_scalar *s);
index_var *kernel_add_symbol(kernel_ir *k, const char *name); /* a launch extent, appended to symbols */
/* Appends a level with ids of these names, 0 <= id < extent; outermost first. */
void kernel_add_level(kernel_ir *k, level_kind kind, int rank, const char *const *names, index_expr **extents);
kernel_fragment *kernel_add_fragment(kernel_ir *k, const char *name, fragment_role role, element_type e, int rows, int columns,
                                     int count, level_kind holder);
kernel_stmt *kernel_store(kernel_ir *k, kernel_block *b, kernel_access access, kernel_value *v, source_span span);
/* Lanes l < count take x, the others y; `count` stands in the value's `index`. */
kernel_value *kernel_prefix_select(kernel_ir *k, index_expr *count, kernel_value *x, kernel_value *y);

/* Where a value or statement keeps its parts, for passes that walk them (walk.c). Callbacks may replace what they are given a
 * pointer to. Any may be NULL. Nested blocks are not entered. */
typedef struct kernel_visitor {
    void *context;
    void (*index)(void *context, index_expr **x); /* every index expression, accesses' included */
    void (*condition)(void *context, cond **c);
    void (*value)(void *context, kernel_value *v);                  /* every value node, operands first */
    void (*access)(void *context, kernel_access *a, bool is_write); /* every array access, loads and contract operands included */
} kernel_visitor;
void kernel_visit_stmt(kernel_stmt *s, const kernel_visitor *visitor);
/* Whether a value of the statement's needs other lanes, or elements of a fragment; what is nested deeper than 200 counts as such. */
bool kernel_stmt_exchanges(const kernel_stmt *s);
/* Gives the statement values and indices that it shares with no other, so that they can be changed in place. False, and nothing is changed: a value is nested deeper
 * than 200. */
bool kernel_unshare(arena *a, kernel_stmt *s);
/* The values that stand on the statement itself (`value`, `expected`), in the order in which they are computed; operands of contracts are not among them. */
enum { KERNEL_STMT_VALUES = 2 };
static inline int kernel_stmt_values(const kernel_stmt *s, kernel_value *values[KERNEL_STMT_VALUES]) {
    int n = 0;
    if (s->expected)
        values[n++] = s->expected;
    if (s->value)
        values[n++] = s->value;
    return n;
}
void kernel_visit_value(kernel_value *v, const kernel_visitor *visitor);

/* Renames variables and lets so that none hides another, an array or a word of the text form: the text is then unambiguous. The checker
 * demands it; lowering calls it last. */
void kernel_settle_names(kernel_ir *k);
/* A kernel of its own in `a`; launch values, ids, fragments and mbarriers are those of k (copy.c). */
kernel_ir *kernel_copy(arena *a, const kernel_ir *k);
/* Removes dead lets, empty loops and ifs, inlines one-trip loops, folds index expressions by what ranges decide. */
void kernel_simplify(kernel_ir *k);

/* ---- print, parse, check ---- */
void kernel_print(text_buffer *out, const kernel_ir *k);
void kernel_print_access(text_buffer *out, const kernel_access *access);
/* One statement without its nested blocks, no line end: for messages. */
void kernel_print_stmt_head(text_buffer *out, const kernel_stmt *s);
void plan_print(text_buffer *out, const launch_plan *p);
kernel_ir *kernel_parse(arena *a, const char *file, const char *text, diag_list *diags); /* NULL on errors */
/* The checker that runs after every pass: types, lanes, dominance of lets, spaces, ranks, constant dims, participants' shape. */
bool kernel_check(const kernel_ir *k, diag_list *diags);
#endif
