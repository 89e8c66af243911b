/* Functions that targets have, bound by name, with a contract: which cells each pointer reads or writes (doc/language.md, "Intrinsics"). A declaration is
 * shared by all kernels that call it and never changes. */
#ifndef TILEC_TILE_INTRINSIC_H
#define TILEC_TILE_INTRINSIC_H
#include "base/arena.h"
#include "base/diag.h"
#include "base/element.h"
#include "base/index.h"

enum { INTRINSIC_MOST_PARAMETERS = 12, INTRINSIC_MOST_RANK = 4, INTRINSIC_MOST_NESTING = 3 };

/* constant + the sum of factors[p] times the integer parameter p. */
typedef struct intrinsic_bound {
    int64_t constant;
    int64_t factors[INTRINSIC_MOST_PARAMETERS];
} intrinsic_bound;

typedef enum intrinsic_space { INTRINSIC_ANYWHERE, INTRINSIC_GLOBAL, INTRINSIC_SHARED } intrinsic_space;
extern const char *const intrinsic_space_words[]; /* "", "global", "shared" */

/* A value of type f32, i32 or u32; an integer (`index`), which may stand in contracts; or (`rank` at least 1) a pointer to an element of an array, whose
 * last `rank` dimensions it sees as a matrix of these extents; or (`matrix`) a matrix that a subgroup holds. */
typedef struct intrinsic_parameter {
    const char *name;
    element_type type;
    int rank;    /* 0: a value, or a matrix */
    bool matrix; /* held by a subgroup, dims[0] x dims[1] */
    int64_t dims[INTRINSIC_MOST_RANK];
    intrinsic_space space;
    bool reads, writes;
    intrinsic_bound lo[INTRINSIC_MOST_RANK],
        hi[INTRINSIC_MOST_RANK]; /* the cells touched, both ends included, counted from the one pointed to */
    source_span span;
} intrinsic_parameter;

typedef enum intrinsic_item_kind { ITEM_PARAMETER, ITEM_INTEGER, ITEM_STRIDE, ITEM_VECTOR } intrinsic_item_kind;
/* An operand as the target's function takes it. */
typedef struct intrinsic_item {
    intrinsic_item_kind kind;
    int parameter; /* PARAMETER; STRIDE: of the memory that this pointer points into, */
    int dim;       /* elements apart along this dimension of its matrix */
    int64_t integer;
    element_type type; /* INTEGER, STRIDE: as which it is passed; VECTOR: of its elements */
    int count;         /* VECTOR */
    struct intrinsic_item *items;
    source_span span;
} intrinsic_item;

typedef struct intrinsic_binding {
    const char *target; /* "cuda", "air.typed" */
    const char *name;   /* of the target's function */
    int count;
    intrinsic_item *items;
    source_span span;
} intrinsic_binding;

typedef struct intrinsic {
    const char *name;
    int parameter_count;
    intrinsic_parameter parameters[INTRINSIC_MOST_PARAMETERS];
    element_type type; /* of the result; of one that writes, what the cells written hold */
    int rows, columns; /* of a result that is a matrix held by a subgroup; 0: a value for each element */
    bool referenced;   /* it says what it computes: calls have that value as their last operand */
    bool anywhere;     /* targets that lack it may compute that instead */
    VEC(intrinsic_binding) bindings;
    source_span span;
} intrinsic;

/* What a declaration is, by its parameters and result. */
typedef enum intrinsic_kind {
    INTRINSIC_GIVES,        /* a value for each element */
    INTRINSIC_LOADS,        /* a matrix, from memory */
    INTRINSIC_MULTIPLIES,   /* a matrix, of three: c + a b */
    INTRINSIC_STORES_CELLS, /* writes a cell for each element */
    INTRINSIC_STORES_MATRIX /* writes a matrix */
} intrinsic_kind;
intrinsic_kind intrinsic_kind_of(const intrinsic *f);
int intrinsic_written(const intrinsic *f); /* the parameter that it writes through; -1: none */
bool intrinsic_is_store(const intrinsic *f);
/* Of a call in Tile IR: the parameters but for the written one, which is what the store stores to, then what it computes. */
int intrinsic_operands(const intrinsic *f);
int intrinsic_operand_of(const intrinsic *f, int parameter);
/* The bound with integers put in for the parameters: indices[p] is that of parameter p. */
index_expr *intrinsic_bound_of(arena *a, const intrinsic_bound *b, index_expr *const *indices, int count);
/* "intrinsic NAME(...) -> f32 ..." as Tile IR's text has it, and its lines for targets; every line begins with `indent` blanks. */
void intrinsic_print(text_buffer *out, const intrinsic *f, int indent);
/* "u32x2": a vector of 2, 3, 4 or 8 numbers. */
bool intrinsic_vector_type(const char *word, element_type *element, int *lanes);
/* "u32x2(a, 4)" */
void intrinsic_print_item(text_buffer *out, const intrinsic *f, const intrinsic_item *x);
void intrinsic_print_bound(text_buffer *out, const intrinsic *f, const intrinsic_bound *b);
#endif
