/* Binding: which number every symbol of a kernel or program stands for, from the shapes of the arguments. No data is touched here. */
#ifndef TILEC_RUN_BINDING_H
#define TILEC_RUN_BINDING_H
#include "tile/tile.h"

enum { BINDING_MAX_RANK = 8 };

/* What a caller sees of a kernel or of a program. Pointers stay the module's. */
typedef struct signature {
    const char *name;
    const char *sort; /* "kernel" or "program" */
    source_span span;
    tile_array **arrays;
    int array_count;
    tile_scalar **scalars;
    int scalar_count;
    index_var **symbols;
    int symbol_count;
    index_expr **derived; /* parallel to symbols; NULL entries, or NULL for a program */
    cond **where;
    int where_count;
} signature;
signature signature_of_kernel(const tile_kernel *k);
signature signature_of_program(const tile_program *p);

/* The shape a caller gave for an array, in elements, as the caller sees the dimensions. */
typedef struct bound_shape {
    bool given;
    int rank;
    int64_t dims[BINDING_MAX_RANK];
} bound_shape;

typedef struct binding {
    arena *arena;
    signature signature;
    bound_shape *shapes; /* by position in signature.arrays */
    int64_t *values;     /* by position in signature.symbols */
    bool *known;
    bool *fixed;         /* given by binding_set_symbol rather than solved: binding_solve keeps it */
    const char **origin; /* "dimension 0 of `a`": where a symbol's value came from, for messages */
} binding;

void binding_init(binding *b, arena *a, signature s);
int binding_find_symbol(const binding *b, const char *name); /* position; -1 */
int binding_find_array(const binding *b, const char *name);
int binding_find_scalar(const binding *b, const char *name);
/* `origin` says who asked ("--shape M"); a later value replaces an earlier one. False (E0640, E0641) for an unknown name or a value that
 * cannot be. */
bool binding_set_symbol(binding *b, const char *name, int64_t value, const char *origin, diag_list *diags);
/* False (E0642) when the rank is not the array's. */
bool binding_set_shape(binding *b, int array, int rank, const int64_t *dims, diag_list *diags);
/* Solves the symbols anew (through product dimensions and written equalities), derives the derived ones, and compares every given shape with
 * its declaration. False (E0643 to E0645) naming the argument, the dimension and both values. TILE names stay free. Symbols that only
 * arguments without a shape could give stay unknown unless `all`. */
bool binding_solve(binding *b, bool all, diag_list *diags);
/* The caller-visible extents of an array. False when a symbol is unknown. */
bool binding_extents(const binding *b, const tile_array *array, int64_t *dims);
bool binding_evaluate(const binding *b, index_expr *x, int64_t *value);
/* The symbols' values for people: "M = 64, N = 64". TILE names are left out. Arena text. */
const char *binding_text(const binding *b);
#endif
