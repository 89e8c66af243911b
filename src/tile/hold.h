/* Loops over the tiles of one range, run one after the other, where one tile holds the whole range: each loop becomes its body, the ranges become
 * one, and what several of their statements read or compute is read or computed once and kept. doc/lanes.md, "Rows held in registers". */
#ifndef TILEC_TILE_HOLD_H
#define TILEC_TILE_HOLD_H
#include "tile/tile.h"

typedef struct tile_held {
    tile_kernel *kernel; /* a task range, `whole held`, where the loops were; its size is set by tile_hold_size */
    tile_range *row;
    int kept; /* values over the row that are kept at the same time, at most */
    /* By value id of the kernel it was made from: the id of the value that stands for it now, its own where none other does. */
    int *same;
} tile_held;

/* The extent that all loops of the kernel go over; NULL, and why in *why, where the kernel has no such form. Tile names may be free. */
const index_expr *hold_extent(const tile_kernel *k, const char **why);
/* The kernel in that form, all of it in `a`. Value ids stay; ranges are numbered anew. NULL, and why in *why: it has none, or nothing of it would be
 * kept. */
tile_held *tile_hold(arena *a, const tile_kernel *k, const char **why);
/* Rows have at most so many elements: the kernel says so in a `where`, unless their constant length does. */
void tile_hold_size(tile_held *h, int64_t most);
#endif
