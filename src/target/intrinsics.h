/* The functions that intrinsics may bind, by target (intrinsics.c), and how texts call them. Private to target/. */
#ifndef TILEC_TARGET_INTRINSICS_H
#define TILEC_TARGET_INTRINSICS_H
#include "schedule/intrinsic_table.h"
#include "target/air.h"
#include "target/cfamily.h"

extern const intrinsic_table c_intrinsics, cuda_intrinsics, opencl_intrinsics, metal_intrinsics, air_intrinsics;

/* The row of a statement, by its name and the types of its operands, in the text of this form ("": the only one, or the first); NULL: there is none. */
const intrinsic_row *intrinsic_row_of(const intrinsic_table *t, const char *form, const kernel_stmt *s);

/* ---- cfamily_intrinsic.c ---- */
/* Prints the call; what it computes is not printed. False, with E0551: the target has no row for it. */
bool cfamily_intrinsic(cfamily *p, const kernel_stmt *s, const intrinsic_table *table);

/* ---- air_intrinsic.c ---- */
/* The call; in the text of another form than the function is of, what it computes. */
bool air_intrinsic(air *a, const kernel_stmt *s);
#endif
