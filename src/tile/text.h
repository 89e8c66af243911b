/* What the printer and the parser of Tile IR text share. Private to src/tile. */
#ifndef TILEC_TILE_TEXT_H
#define TILEC_TILE_TEXT_H
#include "tile/tile.h"

/* Unbound values nest at most this deep: everything that walks them recurses. */
enum { TILE_DEEPEST_VALUE = 1000, TILE_DEEPEST_INDEX = 200, TILE_DEEPEST_LOOP = 64 };

/* The words of statement updates, by op: "+=" and so on; NULL for an op that does not combine. */
const char *tile_update_word(tile_op op);
/* A condition with each name told apart from its namesakes (`c.1`: the second thing called c). */
void tile_print_condition(text_buffer *out, const tile_kernel *k, const cond *x);
#endif
