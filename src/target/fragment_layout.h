/* Which lane and element of a matrix fragment holds which row and column: the one table of documented layouts, for every instruction of every
 * target. `tilec layout` prints it; `tilec probe` holds it against the device. */
#ifndef TILEC_TARGET_FRAGMENT_LAYOUT_H
#define TILEC_TARGET_FRAGMENT_LAYOUT_H
#include <stdbool.h>
#include <stddef.h>

enum { FRAGMENT_LANE_BITS = 7, FRAGMENT_ELEMENT_BITS = 7 };

/* What a set bit of the lane's or the element's number adds to the position. */
typedef struct fragment_step {
    unsigned char row, column;
} fragment_step;

/* row = sum of the rows of the bits set in lane and element; column likewise. Each step is a power of two and stands once, so that the map is one
 * to one. Elements are counted as they lie in registers: element e is bits (e * bits) % 32 of register e * bits / 32. */
typedef struct fragment_layout {
    const char *target;
    const char *shape; /* "m16n8k16", "wgmma.m64n8k16", "simdgroup_matrix.8x8" */
    const char *types; /* element types it is for, separated by blanks; "": those that the instruction's name says */
    char operand; /* 'a': rows x contracted, 'b': contracted x columns, 'c': rows x columns, what is added to and the result */
    short rows, columns; /* of the fragment; for wgmma's 'c' of n columns */
    short lanes,
        elements; /* lanes that hold it together (32: a subgroup, 128: a warpgroup, 16: rows of a processor's tile); elements of each lane */
    short bits;                                                             /* of an element in its register */
    fragment_step lane[FRAGMENT_LANE_BITS], element[FRAGMENT_ELEMENT_BITS]; /* by bit, the lowest first */
    const char *source;                                                     /* who says so */
    bool documented; /* by the vendor; otherwise others' finding, which a device may contradict */
} fragment_layout;

/* The layout of an operand of "m16n8k16.f16" (shape and element type; the accumulator is f32, or s32 for whole numbers), "m16n8k16.f16.f16" (a
 * 16-bit accumulator), "wgmma.m64n24k16.bf16" (n a multiple of 8 up to 256; operand a is that in registers), "m16n8k32.e4m3xe5m2" (a and b of two
 * formats), "m16n8k32.s8.satfinite"; of a processor "tdpbf16ps". False when there is none. */
bool fragment_layout_find(const char *target, const char *instruction, char operand, fragment_layout *out);
/* Those of a, b and the accumulator, in this order. False when one is missing. */
bool fragment_layouts_find(const char *target, const char *instruction, fragment_layout out[3]);
/* Rows of the table, for lists; wgmma stands there with n = 256. */
const fragment_layout *fragment_layout_rows(int *count);

void fragment_layout_place(const fragment_layout *l, int lane, int element, int *row, int *column);
/* Who holds (row, column). False when it is outside. */
bool fragment_layout_holder(const fragment_layout *l, int row, int column, int *lane, int *element);
/* Registers of 32 bits a lane needs. */
int fragment_layout_registers(const fragment_layout *l);
#endif
