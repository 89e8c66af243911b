/* Fragments in emitted C. Private to target/. */
#ifndef TILEC_TARGET_C_FRAGMENT_H
#define TILEC_TARGET_C_FRAGMENT_H
#include "target/c_helpers.h"

enum { FRAGMENT_LANES = 16, GROUP_BYTES = 4, TILE_ROWS = 16, TILE_REGISTERS = 8 };

/* ---- c_fragment.c ---- */
bool c_fragments_begin(cfamily *p, const kernel_ir *k); /* names; false: refused, some have no form */
void c_fragments_declare(cfamily *p, const kernel_ir *k, text_buffer *out);
bool c_fragment_statement(cfamily *p, const kernel_stmt *s); /* false: it is none of them, or has no form */
/* Where a transfer's element (0, 0) lies, and the elements between its rows and columns within what can be reached at equal distances; NULL: at none. */
typedef struct c_transfer {
    const char *place, *row, *column, *rows, *columns; /* the last two: how many exist, as text */
    bool whole, rows_along, columns_along;             /* along: they lie side by side */
    bool grouped; /* packed as the instructions want it: 16 columns of four bytes of rows each, side by side */
} c_transfer;
bool c_fragment_transfer(cfamily *p, const kernel_stmt *s, c_transfer *out); /* false: refused */
/* A function of the prelude that copies element by element, zero where none exists: (fragment, rows of the sum side by side in it, its rows, its columns, pointer,
 * elements between rows, between columns, how many rows exist, columns). The fragment: columns of such rows, side by side. */
const char *c_fragment_elements(cfamily *p, const kernel_fragment *f, bool store);
const char *c_flushed_fma(cfamily *p); /* fma(a, b, c), numbers below 2^-126 for zero; upper_half(x) and flushed(x) beside it */

/* ---- c_tile.c: fragments in the registers of a matrix unit (AMX), numbered through a kernel ---- */
bool c_is_tile(const kernel_fragment *f);
bool c_tiles_begin(cfamily *p, const kernel_ir *k); /* false: refused, there are more than registers */
void c_tiles_declare(cfamily *p, const kernel_ir *k, text_buffer *out,
                     bool end); /* around the body of a task; nothing where there are none */
bool c_tile_statement(cfamily *p, const kernel_stmt *s);
#endif
