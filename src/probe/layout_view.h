/* Showing layouts: as text, as comma-separated values, as a drawing. */
#ifndef TILEC_PROBE_LAYOUT_VIEW_H
#define TILEC_PROBE_LAYOUT_VIEW_H
#include "base/arena.h"
#include "base/element.h"
#include "target/fragment_layout.h"

typedef enum layout_form { LAYOUT_TEXT, LAYOUT_CSV, LAYOUT_SVG, LAYOUT_FORMS } layout_form;

/* The whole fragment: each entry with the lane and the register (and the part of it) that hold it. */
void layout_view_fragment(text_buffer *out, const fragment_layout *l, const char *instruction, layout_form form);
/* The entries of one register of a lane; the holder of one entry. A line each, also as SVG. */
void layout_view_register(text_buffer *out, const fragment_layout *l, int lane, int reg, layout_form form);
void layout_view_entry(text_buffer *out, const fragment_layout *l, int row, int column, layout_form form);

/* An access of a subgroup's 32 lanes to an array in shared memory, of 32 banks of 4 bytes. */
typedef struct layout_access_request {
    int swizzle;               /* bytes of a row that are permuted: 0, 32, 64, 128 */
    int element_bytes, stride; /* stride: elements from a row to the next */
    const char *
        access; /* "row": 16 bytes a lane along a row; "column": an element a lane down a column; "ldmatrix": 16 bytes a lane, a row each;
                           "fragment": the registers of `fragment` */
    const fragment_layout *fragment; /* NULL unless "fragment" */
} layout_access_request;
const char *layout_access_fault(const layout_access_request *r); /* NULL: none; else a static text */
/* Where a byte stands: its address, with bits 4 .. 6 changed by those from bit 7 on, as 16-byte pieces of a 128-byte row are permuted. */
int layout_swizzled(int swizzle, int address);
void layout_view_banks(text_buffer *out, const layout_access_request *r, layout_form form);
#endif
