/* What a target knows of its own functions that intrinsics may bind: a row each, with the types it takes and the cells it reads. Lowering judges a binding by
 * its row, the printer calls it by the same. */
#ifndef TILEC_SCHEDULE_INTRINSIC_TABLE_H
#define TILEC_SCHEDULE_INTRINSIC_TABLE_H
#include "base/element.h"
#include "tile/intrinsic.h"

typedef enum intrinsic_style {
    INTRINSIC_CALL,         /* name(operands) */
    INTRINSIC_INSTRUCTION,  /* an instruction of PTX, its result in front of the operands */
    INTRINSIC_RESULT_FIRST, /* name(result, operands), which returns nothing */
    INTRINSIC_OVERLOADED    /* AIR: types stand behind the name, ".v64f32.p1f32" */
} intrinsic_style;

typedef struct intrinsic_row {
    const char *name;
    /* "u32(u32, i32)". A type is f32, i64x2; `#i32`: a constant; `*f32[8, 8]`: a pointer, with the box of cells it reads from there, `&f32[8, 8]`: with the one
     * that it writes; `mf32[8, 8]`: a matrix held by a subgroup; `void`: it gives nothing. Behind a type `=` an operand that it must be, `$` standing for the pointer: "i64x2=i64x2(stride($, 0), 8)". */
    const char *signature;
    intrinsic_style style;
    const char *pointer; /* what pointers are cast to; NULL: as they are */
    const char *form;    /* of a target with several texts: the one that has it; NULL: all */
} intrinsic_row;
typedef struct intrinsic_table {
    const intrinsic_row *at;
    int count;
} intrinsic_table;

typedef struct intrinsic_type {
    element_type element;
    int lanes;
    bool constant, pointer, written, matrix, nothing;
    int rank;
    int64_t dims[INTRINSIC_MOST_RANK];
    const char *must; /* as the signature has it, `must_length` characters; NULL: any operand */
    int must_length;
} intrinsic_type;
/* The next type of a signature; *at moves behind it and what follows it, a comma or a parenthesis. */
intrinsic_type intrinsic_next_type(const char **at);

/* The row that the binding calls. NULL with *why and, of an unknown name, *near (NULL: none): a row of that name whose types do not fit, or no such name. */
const intrinsic_row *intrinsic_find(arena *a, const intrinsic_table *t, const char *form, const intrinsic *f,
                                    const intrinsic_binding *b, const char **why, const char **near);
#endif
