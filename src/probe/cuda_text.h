/* Parts of CUDA probe kernels' texts: between cuda_text.c and cuda_text_warpgroup.c. */
#ifndef TILEC_PROBE_CUDA_TEXT_H
#define TILEC_PROBE_CUDA_TEXT_H
#include "base/arena.h"
#include "probe/cuda_matrix.h"

/* The signature of `dots`, and an operand's word that is finite in every format and differs from lane to lane (a format for one int). */
extern const char *const cuda_text_dots_head, *const cuda_text_some_bits;
/* Registers of c as the instruction takes them: floats by themselves, everything else in words. */
const char *cuda_text_result_type(const cuda_instruction *i);
/* row * row_bytes + column * column_bytes of a lane's element, as an expression of `lane`. */
void cuda_text_offset(text_buffer *t, const fragment_layout *l, int element, int row_bytes, int column_bytes);
/* "form, form, .." with `name` and the numbers of `count` registers. */
void cuda_text_registers(text_buffer *t, const char *name, int count, const char *form);
/* r[] to z.v[], and back. */
void cuda_text_results(text_buffer *t, const cuda_instruction *i, int registers, bool back);
/* c's registers from memory, or to it; one cell of 32 bits an element there. */
void cuda_text_cells(text_buffer *t, const fragment_layout *c, bool load);
char *cuda_warpgroup_rate_text(const cuda_instruction *i); /* heap */
#endif
