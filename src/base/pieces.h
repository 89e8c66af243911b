/* Texts of the C family as one. */
#ifndef TILEC_BASE_PIECES_H
#define TILEC_BASE_PIECES_H
#include "base/arena.h"

/* Adds the top-level pieces of all the texts (types, functions, directives) to one, each once: what several of them say alike in front of their kernels. A piece
 * ends where neither braces nor preprocessor conditions are open, at a line's end after `;`, `}` or a directive. */
void pieces_join(const char *const *texts, int count, text_buffer *out);
#endif
