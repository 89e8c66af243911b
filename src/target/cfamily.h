/* The printer shared by the C-like targets. It walks Kernel IR and prints statements, integer expressions and layouts; what differs
 * between targets (type names, how a value op is spelt, what a kernel looks like from outside) is a dialect's. Private to target/. */
#ifndef TILEC_TARGET_CFAMILY_H
#define TILEC_TARGET_CFAMILY_H
#include "kernel/kernel.h"
#include "target/target.h"

typedef struct cfamily cfamily;

/* An expression's text and how tightly its outermost operator binds. */
typedef enum precedence {
    PRECEDENCE_CONDITIONAL,
    PRECEDENCE_OR,
    PRECEDENCE_AND,
    PRECEDENCE_BITS, /* | ^ & << >> : always parenthesised inside anything else */
    PRECEDENCE_COMPARE,
    PRECEDENCE_ADD,
    PRECEDENCE_MULTIPLY,
    PRECEDENCE_UNARY,
    PRECEDENCE_PRIMARY
} precedence;
typedef struct text_expr {
    const char *text;
    precedence precedence;
} text_expr;

/* Small functions the printed code calls; a dialect writes those that are used into the prelude, once each. */
typedef enum cfamily_helper {
    HELPER_SPLAT,               /* (x) */
    HELPER_IOTA,                /* () */
    HELPER_LOAD,                /* (pointer) */
    HELPER_LOAD_FIRST,          /* (pointer, count) */
    HELPER_LOAD_STRIDED,        /* (pointer, stride) */
    HELPER_LOAD_STRIDED_FIRST,  /* (pointer, stride, count) */
    HELPER_STORE,               /* (pointer, v) */
    HELPER_STORE_FIRST,         /* (pointer, v, count) */
    HELPER_STORE_STRIDED,       /* (pointer, stride, v) */
    HELPER_STORE_STRIDED_FIRST, /* (pointer, stride, v, count) */
    HELPER_BLOCK_LOAD,          /* (base, element): one value, or lanes values inside one block, of a block format */
    HELPER_NEG,                 /* (x): wrapping integers */
    HELPER_ABS,
    HELPER_FLOOR,
    HELPER_RINT,
    HELPER_SQRT,
    HELPER_WRAP_ADD,
    HELPER_WRAP_SUB,
    HELPER_WRAP_MUL,
    HELPER_MIN,
    HELPER_MAX,
    HELPER_MIN_NUMBER, /* (x, c): c is known not to be NaN */
    HELPER_MAX_NUMBER,
    HELPER_FMA,
    HELPER_SELECT,        /* (mask, x, y) */
    HELPER_PREFIX_SELECT, /* (count, x, y) */
    HELPER_CONVERT,       /* (x): from another type */
    HELPER_CONVERT_SATURATE,
    HELPER_BITCAST,
    HELPER_SHL,
    HELPER_SHR,
    HELPER_LANES_SUM,
    HELPER_LANES_MAX,
    HELPER_LANES_MIN,
    HELPER_ALL,       /* (mask): true in every lane */
    HELPER_FLOOR_DIV, /* int64: (a, b), b > 0 */
    HELPER_FLOOR_MOD,
    HELPER_INDEX_MIN,
    HELPER_INDEX_MAX,
    HELPER_SWIZZLE /* int64: (offset, bits, base, shift) */
} cfamily_helper;

/* How a target spells atomic updates of 32 bits. Relaxed: they order nothing but themselves. */
typedef struct cfamily_atomics {
    const char *device, *shared; /* in front of a pointer's type */
    /* The expression, of p and v, where the device has this update ("add", "min", .., "xchg", "inc_wrap", "dec_wrap") itself; NULL: it has not. "cmpxchg": the
     * function's lines, of p, e (what is expected) and v. `place` is one of the two above. */
    const char *(*itself)(arena *a, const char *update, element_type t, const char *place);
    /* The function's lines otherwise, of p and v; `next`: what the cell becomes, of `old` and v, which are of the element's type. */
    const char *(*loop)(arena *a, const char *next, element_type t, const char *place);
    const char *least, *greatest; /* of the floats old and v, of which one may be NaN */
} cfamily_atomics;

typedef struct cfamily_dialect {
    const char *target;
    const char *index_type;  /* of index expressions */
    const char *narrow_type; /* the same with PLAN_NARROW_BITS; NULL: it has no narrow texts */
    const char *(*register_type)(cfamily *p, element_type t, int lanes); /* declares it in the prelude when it must be */
    const char *(*storage_type)(element_type t);                         /* of an array's elements in memory */
    const char *(*helper)(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes); /* its name */
    text_expr (*constant)(cfamily *p, element_type t, double number);                                  /* a scalar literal */
    text_expr (*value)(cfamily *p, const kernel_value *v); /* ops with operands; refuses what it lacks */
    const char *nan, *infinity, *least_i32;                /* literals */
    bool bare_vectors;                                     /* a written-out vector is T{..} or T(..), else (T){..} or (T)(..) */
    const char *(*lane_zero)(cfamily *p, element_type t);  /* a lane of one, zero; NULL: "0" */
    /* around the lanes of a written-out vector, behind its type in parentheses: "{", "}" */
    const char *vector_open, *vector_close;
    const char *unrolled;      /* a line in front of a loop that the device's compiler is to write out; NULL: there is none */
    const char *rolled;        /* a line in front of a loop that keeps it from being unrolled; NULL: there is none */
    const char *function_head; /* in front of a function of the prelude: "INLINE " */
    bool cast_keeps_bits;      /* a cast between vector types of one size keeps the bits */
    /* The rest may be NULL. */
    const char *(*lane)(cfamily *p, const char *vector, int lane); /* one lane of a named vector; NULL: v[2] */
    bool (*statement)(cfamily *p, const kernel_stmt *s);           /* barriers and the like; false: it has no form */
    /* A vector access that is not to a register: whole text of the load, and of the store without `;`. `stride` NULL: contiguous; `active`
     * NULL: every lane. NULL: by helpers. */
    const char *(*load)(cfamily *p, const kernel_access *access, const char *stride, const char *active);
    const char *(*store)(cfamily *p, const kernel_access *access, const char *stride, const char *active, const char *value);
    bool
        private_is_shared; /* private arrays are declared as shared ones are, of which a device tells how much it has (a task is one thread) */
    const cfamily_atomics *atomics; /* NULL: it has none */
    bool has_lanes;                 /* levels below the task, and shared memory */
    bool no_goto;                   /* so a break out of an unrolled loop is refused */
} cfamily_dialect;

/* What is known of an array while a kernel is printed. */
typedef struct cfamily_array {
    const char *name;
    bool read, used;
    bool in_registers;  /* REGISTER arrays whose every index is constant once loops are unrolled: one variable a cell */
    const char **cells; /* in_registers: the variables' names, by row-major number; NULL where not used yet */
    int64_t cell_count;
    int64_t scratch; /* PRIVATE: byte offset in the scratch memory */
} cfamily_array;

typedef struct cfamily_binding {
    const void *key;  /* index_var, LET statement or shared value */
    const char *text; /* its name */
    bool is_constant; /* an unrolled loop's variable */
    int64_t value;
    int64_t multiple;        /* a divisor of its value; 0: the value is 0 */
    int64_t least, greatest; /* that its value is known to be: of names for index expressions, and of loops' variables */
    bool used;               /* its name was printed */
} cfamily_binding;

/* Names in use; the last ones are given up by lowering `count`. */
typedef struct cfamily_names {
    const char **at;
    int count, capacity;
    int *slots; /* an open hash table of positions in `at`, -1: free; those that are out of use stay until it is made anew */
    int slot_count, slots_taken;
} cfamily_names;

/* A tensor map that the text takes: the array that it is of, and the box that a copy moves of it, by dimension. */
typedef struct cfamily_map {
    const kernel_array *array;
    const char *name;
    int64_t box[5];
} cfamily_map;

struct cfamily {
    arena *arena;
    const cfamily_dialect *dialect;
    diag_list *diags;
    bool failed;
    bool narrow;           /* index expressions, and values of type index, have PLAN_NARROW_BITS */
    text_buffer prelude;   /* types and helpers, in order of first use */
    cfamily_names helpers; /* what the prelude holds */
    text_buffer *out;      /* where statements go */
    int indent;
    const kernel_ir *kernel;
    cfamily_array *arrays;     /* by array id */
    cfamily_names names;       /* taken in the current function */
    cfamily_names cell_names;  /* of register cells: they are declared once, for the whole function */
    cfamily_binding *bindings; /* an open hash table */
    int binding_count, binding_capacity;
    const void **live; /* LETs and variables that something printed refers to: an open hash table */
    int live_count, live_capacity;
    const char *suffix;      /* of names made inside unrolled loops: "_2_0" */
    const char *break_label; /* where BREAK goes: past an unrolled loop; NULL: a plain break */
    bool label_used;
    const char ***fragments;      /* by fragment id and index: the variables' names */
    bool products_open;           /* asynchronous products were printed just before, in this very block */
    VEC(cfamily_map) maps;        /* of the kernel that is printed */
    const char *element;          /* in a map over a fragment: the variable that says which of the lane's elements */
    const kernel_array *accessed; /* while a block format is read: of which array */
};

/* ---- cfamily.c ---- */
/* Prints the statements of a kernel's body for one task; ids, symbols and scalars must be bound to names. */
void cfamily_body(cfamily *p, const kernel_ir *k);
void cfamily_begin(cfamily *p, const kernel_ir *k); /* prepares arrays, names and liveness for a new kernel */
void cfamily_block(cfamily *p, const kernel_block *b);
void cfamily_line(cfamily *p, const char *format, ...) PRINTF_LIKE(2, 3);
void cfamily_prelude_line(cfamily *p, const char *format, ...) PRINTF_LIKE(2, 3);           /* within a function of the prelude */
bool cfamily_refuse(cfamily *p, source_span span, const char *what, ...) PRINTF_LIKE(3, 4); /* E0551; returns false */
bool cfamily_is_live(const cfamily *p, const void *key);
bool cfamily_prints(const cfamily *p, const kernel_stmt *s);

/* ---- cfamily_names.c ---- */
/* A scalar type whose accesses may meet those of other types, as those through a view do; compilers would put them out of order otherwise. */
const char *cfamily_view_type(cfamily *p, const char *type);
/* Whether its bytes are seen through a view, or it is one. */
bool cfamily_has_views(const kernel_ir *k, const kernel_array *a);
/* What an array's declaration says beyond its type: that it begins where the widest element of its views may. "" where that goes without saying. */
const char *cfamily_view_alignment(cfamily *p, const kernel_ir *k, const kernel_array *a);
bool names_have(const cfamily_names *n, const char *name);
void names_add(cfamily *p, cfamily_names *n, const char *name);
bool cfamily_first_use(cfamily *p, const char *name); /* of a helper, by its name: whether its text is still to be written */
/* Variables of fragments (cfamily_fragment.c): names for all of a kernel, their declarations, and the one of an index (a constant; refused otherwise). */
void cfamily_fragments_name(cfamily *p, const kernel_ir *k);
void cfamily_fragments_declare(cfamily *p, const kernel_ir *k, const char *(*type_of)(cfamily *, const kernel_fragment *),
                               text_buffer *out);
const char *cfamily_fragment_name(cfamily *p, const kernel_fragment *f, index_expr *index);
const char *cfamily_unique(cfamily *p, const char *wanted); /* a legal name not yet taken in this function, and takes it */
const char *cfamily_legal(arena *a, const char *wanted);    /* letters, digits and _, no keyword, no name of ours */
cfamily_binding *cfamily_bind(cfamily *p, const void *key, const char *text);
const cfamily_binding *cfamily_find(const cfamily *p, const void *key);
void cfamily_mark(cfamily *p, const void *key);

/* ---- cfamily_index.c ---- */
index_expr *cfamily_fold(cfamily *p, index_expr *x); /* unrolled loops' variables replaced by their values */
text_expr cfamily_index(cfamily *p, index_expr *x);
text_expr cfamily_cond(cfamily *p, const cond *c);
const char *cfamily_index_text(cfamily *p, index_expr *x);
bool cfamily_not_negative(cfamily *p, index_expr *x); /* for all that is known */
const char *cfamily_index_type(const cfamily *p);
element_type cfamily_index_element(const cfamily *p, element_type t); /* i32 for index in narrow texts, else t itself */
/* The name of the helper for index expressions, written into the prelude as `HEAD TYPE name(..)`; NULL: h is none. */
const char *cfamily_index_helper(cfamily *p, cfamily_helper h, const char *head);
int64_t cfamily_multiple(cfamily *p, const index_expr *x); /* a divisor of x; 0 when x is 0 */
int64_t cfamily_least(cfamily *p, index_expr *x);          /* that x is known to be, and the greatest */
int64_t cfamily_greatest(cfamily *p, index_expr *x);
/* The offset of lane 0 before a swizzle, in pieces of n elements, which it is a multiple of. */
text_expr cfamily_pieces(cfamily *p, const kernel_access *access, int64_t n);
const char *cfamily_offset(cfamily *p, const kernel_access *access, int lane); /* element offset of that lane, as text */
/* The same of lane 0 where that may stand far outside the array, because nothing is accessed then: never in narrow arithmetic. */
const char *cfamily_far_offset(cfamily *p, const kernel_access *access);
/* How the lanes of an access lie in memory: 1 contiguous, another constant or a text stride, or 0 when neither. */
bool cfamily_contiguous(cfamily *p, const kernel_access *access);
const char *cfamily_stride(cfamily *p, const kernel_access *access);    /* NULL when lanes do not lie at equal distances */
const char *cfamily_wrap(cfamily *p, text_expr e, precedence at_least); /* parenthesised when it binds less tightly */

/* ---- cfamily_value.c ---- */
text_expr cfamily_value(cfamily *p, const kernel_value *v);
/* Prints values used twice within `v` as temporaries first, then gives the text of v. */
text_expr cfamily_statement_value(cfamily *p, const kernel_value *v);
void cfamily_store(cfamily *p, const kernel_access *access, const kernel_value *v);
const char *cfamily_call(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes, const char *format, ...)
    PRINTF_LIKE(6, 7);
const char *cfamily_zero(cfamily *p, element_type t, int lanes);
bool cfamily_is_number(const kernel_value *v);                     /* known not to be NaN */
const char *cfamily_cell(cfamily *p, const kernel_access *access); /* the variable of a cell kept in registers */

/* ---- cfamily_operation.c ---- */
text_expr cfamily_operation(cfamily *p, const kernel_value *v);        /* the usual `value` of a dialect */
text_expr cfamily_constant(cfamily *p, element_type t, double number); /* the usual `constant` */

/* ---- cfamily_atomic.c ---- */
bool cfamily_atomic(cfamily *p, const kernel_stmt *s); /* false: the target has no form for it, which is reported */

/* ---- cfamily_math.c ---- */
/* exp, log, ...: printed from kernel/math.c; the function's name */
const char *cfamily_math(cfamily *p, kernel_op op, int lanes);

/* ---- c_helpers.c ---- */
const char *c_register_type(cfamily *p, element_type t, int lanes);
const char *c_storage_type(element_type t);
const char *c_helper(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes);
const char *c_type_tag(element_type t); /* "f32": how types stand in names */

/* ---- c.c ---- */
extern const cfamily_dialect c_dialect;
#endif
