/* What the files that write the prelude of emitted C share. Private to target/. */
#ifndef TILEC_TARGET_C_HELPERS_H
#define TILEC_TARGET_C_HELPERS_H
#include "target/cfamily.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* Everything a helper's text may mention. */
typedef struct maker {
    cfamily *p;
    const char *name;
    element_type t, from;
    int lanes;
    const char *v;    /* register type of the result */
    const char *e;    /* its element in a register */
    const char *s;    /* its element in memory */
    const char *mask; /* vector of booleans */
} maker;
/* A builtin for f32 vectors of one width: used where the compiler has it and the machine the instruction. */
typedef struct builtin {
    int lanes;
    const char *macro, *name, *arguments;
} builtin;

/* ---- c_write.c: types, and pieces of functions ---- */
const char *c_lane_type(element_type t); /* a vector's element; block formats are values of type float, masks are i32 */
int c_lane_bytes(element_type t);
const char *c_vector_tag(element_type t);
/* A vector type by the tag in its name, declared when first asked for. To be called before c_begin: it may write to the prelude. */
const char *c_vector(cfamily *p, const char *tag, const char *scalar, int bytes, int lanes);
const char *c_int_vector(maker *m, element_type t); /* signed integers as wide as t */
const char *c_unsigned_vector(maker *m);            /* unsigned ones as wide as the maker's type */
const char *c_prefix_mask(cfamily *p);
const char *c_resize(cfamily *p, const char *from, const char *to, int lanes); /* integers wider or narrower: "u8", "i32", .. */
void c_add(maker *m, const char *format, ...) PRINTF_LIKE(2, 3);
const char *c_form(maker *m, const char *format, ...) PRINTF_LIKE(2, 3);
void c_begin(maker *m, const char *result, const char *parameters); /* the function's head and opening brace */
void c_with_builtins(maker *m, const builtin *b, int count);        /* ends with #else where there is one */
/* The builtins; otherwise a loop over lanes computing `lane` from a[l], b[l], ... */
void c_lane_function(maker *m, const char *parameters, const builtin *b, int count, const char *lane);

/* Each c_make_ function writes one helper, under the maker's name. */
/* ---- c_memory.c ---- */
/* The masked instruction for vectors of this width in memory: macro, name stem, the vector type it takes. NULL where there is none. */
typedef struct c_masked {
    int bytes, lanes;
    const char *macro, *load, *store, *vector, *element;
    int element_bytes;
} c_masked;
const c_masked *c_masked_access(int bytes, int lanes);
void c_make_load(maker *m);
void c_make_store(maker *m);
void c_make_load_first(maker *m);
void c_make_store_first(maker *m);
void c_make_strided(maker *m, bool store, bool first);
void c_make_block_load(maker *m);

/* ---- c_arithmetic.c ---- */
void c_make_iota(maker *m);
void c_make_splat(maker *m);
void c_make_unary(maker *m, cfamily_helper h);
void c_make_wrapping(maker *m, char op);
void c_make_fma(maker *m);
void c_make_select(maker *m);
void c_make_prefix_select(maker *m);
void c_make_extreme(maker *m, bool max, bool number);
void c_make_shift(maker *m, bool left);
void c_make_all(maker *m);
void c_make_lanes(maker *m, cfamily_helper h);

/* ---- c_convert.c ---- */
void c_make_convert(maker *m, bool sat);
void c_make_bitcast(maker *m);
#endif
