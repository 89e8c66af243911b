/* The state of building Tile IR from one kernel's syntax, and what the files of lang/ call of each other. Private to lang/. */
#ifndef TILEC_LANG_BUILD_H
#define TILEC_LANG_BUILD_H
#include "lang/linear.h"
#include "lang/syntax.h"
#include "tile/tile.h"

enum {
    MAX_VALUE_DEPTH = 400,  /* of an unbound expression, functions inlined */
    MAX_VALUE_SIZE = 20000, /* of an unbound expression, as a tree */
    MAX_VALUES = 100000,    /* of a kernel */
    MAX_INDEX_SIZE = 150,   /* of an integer expression */
    MAX_INLINE_DEPTH = 50,  /* functions calling functions */
    MAX_LOOP_DEPTH = 40,
    MAX_STEPS = 400000, /* of evaluating a kernel's expressions */
    MAX_ERRORS = 60     /* then the rest of the file is not looked at */
};

/* --- what an expression denotes before its context has given it a type --- */
typedef enum operand_kind {
    OPERAND_ERROR,   /* diagnosed already; whatever uses it stays silent */
    OPERAND_LITERAL, /* number, integral: takes the type of what it meets */
    OPERAND_INDEX,   /* index: mathematical integers over ranges, symbols and integer scalars */
    OPERAND_VALUE,   /* value */
    OPERAND_STATE    /* a combine state, by its name: variable; side -1, or 0 and 1 within a join */
} operand_kind;

typedef struct operand {
    operand_kind kind;
    double number;
    bool integral;
    index_expr *index;
    tile_value *value;
    tile_variable *variable;
    int side;
    const expr *from; /* for diagnostics */
} operand;

/* --- names --- */
typedef enum name_kind { NAME_SYMBOL, NAME_RANGE, NAME_ARRAY, NAME_SCALAR, NAME_OPERAND, NAME_VARIABLE } name_kind;

typedef struct name_entry {
    const char *name;
    name_kind kind;
    source_span span;
    index_var *symbol;
    tile_range *range;
    tile_array *array;
    tile_scalar *scalar;
    operand operand;
    tile_variable *variable;
    int loop_depth; /* loops around the declaration */
    bool used;
    const char *left_by; /* after its scope: the range of the loop that bound it */
} name_entry;

/* --- dependence on tile sizes: what a value is with respect to one scheduled range --- */
typedef enum taint_kind { TAINT_SUM, TAINT_MAX, TAINT_MIN, TAINT_OTHER } taint_kind;
typedef struct taint {
    tile_range *range;
    taint_kind kind, origin; /* what it is now, and what reduction made it */
    source_span span;        /* the partial reduction it began with */
} taint;
typedef struct taint_list {
    VEC(taint) items;
} taint_list;

typedef struct range_list {
    VEC(tile_range *) items;
} range_list;

/* What is known of a value beside the Tile IR; by value id. */
typedef struct value_info {
    taint_list taints;
    range_list reduced; /* ranges that it, or what it is made of, reduces */
    int depth, size;    /* as an unbound tree */
} value_info;
typedef struct variable_info {
    taint_list taints;  /* with respect to loops around its declaration */
    range_list reduced; /* by the values it has taken so far */
    int loop_depth;
    bool touched;
    tile_op update; /* of all its updates so far, when touched */
} variable_info;

typedef struct loop_scope {
    tile_range *range;
    cond *predicate;
    const stmt *syntax;
    int names;  /* how many were visible before it */
    int serial; /* unique */
} loop_scope;

/* Accesses to outputs, for the rules of ownership. */
typedef struct access {
    tile_array *array;
    index_expr **indices;
    VEC(loop_scope) loops;
    int statement; /* number of the statement it stands in */
    bool in_reduction;
    source_span span;
    const char *text;
    tile_value *value; /* of a load */
} access;

typedef struct module_builder {
    arena *arena;
    diag_list *diags;
    const char *file;
    syntax_module syntax;
    tile_module *module;
    VEC(const declaration *) kernel_syntax; /* parallel to module->kernels */
} module_builder;

typedef struct frame { /* of a function or join being inlined */
    const declaration *function;
    const char **names;
    operand *operands;
    int count;
    const intrinsic *intrinsic; /* whose value it is; NULL: none */
    tile_value **pointers;      /* then, by parameter: the element pointed to; NULL: a value */
    struct frame *outer;
} frame;

typedef struct builder {
    module_builder *m;
    arena *arena;
    diag_list *diags;
    const declaration *d;
    tile_kernel *k;
    VEC(name_entry) names, left; /* visible; out of scope */
    VEC(loop_scope) loops;
    VEC(tile_range *) task_ranges;
    bool seen_tile;
    tile_block *block; /* where statements go; NULL where none may */
    VEC(value_info) info;
    VEC(variable_info) variables; /* by variable id */
    tile_range **target;          /* declared ranges of the left side, which `@` keeps; */
    int target_count;
    bool has_target;
    element_type want; /* type of the left side for literals on their own; ELEMENT_COUNT for none */
    frame *frame;
    int inline_depth;
    const expr *matrix_call;     /* the operand of `@` that is evaluated: the one place for a call that gives a matrix, */
    const intrinsic *matrix;     /* which it then was; NULL: it was none */
    const expr *store_call;      /* the statement's call of an intrinsic that writes */
    const intrinsic *multiplies; /* what makes the product that is evaluated; NULL: as the schedule has it */
    int reduction_depth;
    VEC(tile_range *) reducing;
    VEC(access) stores, reads;
    int statement;
    int loop_serial;
    VEC(tile_value *) shared; /* while a join is built: equal parts are computed once */
    bool sharing;
    int steps;
    bool too_large;
} builder;

/* --- diagnostics --- */
diag *lang_error(builder *b, const char *code, source_span span, const char *format, ...) PRINTF_LIKE(4, 5);
const char *lang_source_text_of(arena *a, const expr *e); /* the source of an expression on one line, shortened when long */
operand operand_error(void);

/* --- names.c --- */
name_entry *name_find(builder *b, const char *name);
/* Adds a name after looking for a namesake (E0203). Returns NULL when there is one. */
name_entry *name_add(builder *b, const char *name, name_kind kind, source_span span);
void name_unknown(builder *b, const char *name, source_span span);
void name_unknown_range(builder *b, const char *name, source_span span); /* where a range is wanted, or could be meant */
void names_leave(builder *b, int count, const char *range);
const char *name_describe(const name_entry *n);
const declaration *lang_find_declaration(const module_builder *m, declaration_kind kind, const char *name);

/* --- integers.c: extents, sizes, conditions, indices --- */
typedef enum integer_place { PLACE_EXTENT, PLACE_SIZE, PLACE_WHERE, PLACE_PREDICATE, PLACE_BOUND, PLACE_INDEX } integer_place;
index_expr *lang_integer_expression(builder *b, const expr *e, integer_place place); /* NULL after an error */
cond *lang_integer_condition(builder *b, const expr *e, integer_place place);        /* NULL after an error */
int lang_index_size(const index_expr *x);
bool lang_index_is_symbolic(const index_expr *x);      /* only symbols and statics */
bool lang_index_is_unsigned(const index_expr *x);      /* a scalar of type u32 is in it */
bool lang_index_is_constant_size(const index_expr *x); /* known before lowering: constants, statics, tile sizes */
tile_range *lang_only_range(const index_expr *x);
tile_range *lang_moving_range(const index_expr *x); /* the range itself, or t in `slot[t]`; NULL otherwise */
linear_facts lang_facts_here(builder *b, index_expr **indices, int count); /* what holds where these indices are used */
bool lang_extents_equal(builder *b, index_expr *x, index_expr *y);
const char *lang_index_text(arena *a, const index_expr *x);

/* --- operands.c: types and conversions --- */
operand operand_of_value(tile_value *v, const expr *from);
tile_value *value_done(builder *b, tile_value *v);      /* every new value passes here: depth, taint */
tile_value *lang_arithmetic(builder *b, tile_value *v); /* as f32, i32, u32 or bool */
bool lang_as_arithmetic(builder *b, operand *x,
                        element_type want); /* into a VALUE of an arithmetic type; literals and integers as `want` or their own */
bool lang_unify(builder *b, operand *x, operand *y, const expr *at,
                const char *what); /* both VALUE of one type, both INDEX or both LITERAL */
tile_value *lang_as_type(builder *b, operand x, element_type type, const char *what, source_span span); /* NULL after an error */
operand lang_convert_to(builder *b, element_type type, operand x, bool saturate, const expr *at);
/* Where it was written, else where its value was, else the declaration. */
source_span operand_span(builder *b, const operand *x);
const char *operand_describe(builder *b, const operand *x);

/* --- expression.c --- */
operand lang_evaluate(builder *b, const expr *e);
operand lang_evaluate_left(builder *b, const expr *e, tile_range **target, int count,
                           element_type want);                                       /* for a declared left side */
tile_value *lang_bind_value(builder *b, tile_value *v, const char *name, bool user); /* appends a LET */
bool lang_check_axes(builder *b, const tile_value *v, tile_range **allowed, int count, source_span span, const char *left);
bool lang_check_held(builder *b, tile_range **axes, int count, source_span span, const char *name);
void lang_add_predicate_axes(builder *b, tile_value *v, const tile_range *reduced);
operand lang_evaluate_dot(builder *b, const expr *e);
operand lang_evaluate_reduction(builder *b, const expr *e);
operand lang_binary_operand(builder *b, binary_op op, operand x, operand y, const expr *at);

/* --- access.c --- */
bool lang_array_indices(builder *b, tile_array *array, const expr *e, bool has_outside, index_expr **out);
operand lang_evaluate_load(builder *b, const expr *e, const expr *outside);
index_var *lang_index_of_value(builder *b, const expr *e, tile_value *v); /* NULL after an error */

/* Whether the cells lo..hi further along a dimension (flattened) than a pointer's element are the array's, for everything that exists here: what the
 * contract of an intrinsic reads there. Reports E0334 otherwise. */
bool lang_check_cells(builder *b, tile_array *array, int dim, index_expr **indices, index_expr *lo, index_expr *hi,
                      const expr *access, const char *intrinsic_name);

/* --- functions.c --- */
operand lang_evaluate_call(builder *b, const expr *e);
bool lang_make_join(builder *b, tile_variable *x, const declaration *combine, source_span span);
void lang_check_functions(module_builder *m);

bool lang_is_builtin(const char *name);

/* --- intrinsic.c: their declarations; intrinsic_call.c: their calls --- */
void lang_declare_intrinsics(module_builder *m);
operand lang_call_intrinsic(builder *b, const expr *e, const declaration *d);
/* The intrinsic that a call statement, or one that changes what it is given, names; NULL: it is none of that kind. */
const intrinsic *lang_store_called(builder *b, const expr *call);
const intrinsic *lang_product_called(builder *b, const expr *call);
operand lang_intrinsic_cell(builder *b, const expr *e);    /* p[1, n], of a pointer, in what one computes */
operand lang_bounded_reduction(builder *b, const expr *e); /* sum[j in 0..3](...), there */

/* --- taint.c --- */
void taint_derive(builder *b, tile_value *v);
bool taint_partial(const tile_range *r); /* reducing over it gives a part that depends on its tile size */
void taint_check_clean(builder *b, const tile_value *v, source_span span);
void taint_check_update(builder *b, tile_variable *x, tile_op op, const tile_value *v, const stmt *s);
void taint_check_join(builder *b, tile_variable *x, tile_value **values, source_span span);
void taint_declared(builder *b, tile_variable *x);
bool lang_statements_update(const stmt_list *list, int from, const char *name);

/* --- missing.c --- */
void missing_derive(builder *b, tile_value *v);                                        /* what a new value reduces */
void missing_note_change(builder *b, const tile_variable *x, const tile_value *value); /* the variable takes it */
/* Whether it is settled which elements a variable's field changes at, under the `where`s of the loops around; reports E0321 otherwise. */
bool missing_check_change(builder *b, const tile_variable *x, int field, const tile_value *value, source_span span);

/* --- statements.c --- */
void lang_build_statements(builder *b, const stmt_list *list);

/* --- own_tile.c --- */
index_expr *lang_range_size(builder *b, const expr *e, index_expr *extent, bool *whole,
                            bool *scheduled); /* NULL after an error */
void lang_own_tile(builder *b, const stmt *s);

/* --- ownership.c --- */
void lang_check_read(builder *b, tile_value *load, const expr *e);
bool lang_record_store(builder *b, tile_array *array, index_expr **indices, const tile_value *v,
                       const expr *target); /* false when reported */
void lang_check_ownership(builder *b);

/* --- kernel.c, program.c --- */
void lang_build_kernel(module_builder *m, const declaration *d);
void lang_build_program(module_builder *m, const declaration *d);
void lang_build_schedule(module_builder *m, const declaration *d);
void lang_declare_parameters(builder *b, const declaration *d);
#endif
