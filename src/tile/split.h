/* Splitting: a kernel whose one loop is long, for a device that its tasks don't fill, as a program of two kernels. `part` gives each chunk of the
 * loop's range a task, which keeps what the loop changes in arrays; `join` combines the chunks in order and goes on as the kernel does. */
#ifndef TILEC_TILE_SPLIT_H
#define TILEC_TILE_SPLIT_H
#include "tile/tile.h"

typedef struct tile_split {
    const tile_kernel *whole;
    const tile_range *range;  /* of the loop, in `whole` */
    tile_kernel *part, *join; /* values of `whole` keep their ids */
    const index_var *chunk;   /* STATIC of `part`: the loop's elements that one of its tasks takes */
    const index_var *chunks;  /* SYMBOL of `part`: how many tasks that makes of what the launch has (split_reach) */
} tile_split;

/* The loop that can be parted so: the kernel's only one, whose tiles carry no meaning, which stores nothing and changes only variables that were
 * declared before it and end in one combination. NULL, and in *why what stands in the way. */
const tile_stmt *split_loop(const tile_kernel *k, const char **why);
/* Splits at that loop. Everything lives in the arena; names, types and shapes are those of `k`, which stays as it is. */
tile_split *split_kernel(arena *a, const tile_kernel *k);
/* The two calls for so many chunks of so many elements, with the arguments and results of the whole. */
tile_program *split_program(arena *a, const tile_split *s, int64_t chunk, int64_t chunks);
/* Where the loop's elements end at a launch: its range's extent, or less where its predicate compares the range with symbols and scalars (`t < len`). Not negative. split_reach.c */
index_expr *split_reach(arena *a, const tile_stmt *loop);
/* How the block changes x: the operation of its updates, TILE_FIELD for the joins of a state, TILE_OP_COUNT where it does not. */
tile_op split_change(const tile_block *b, const tile_variable *x);
/* What an update by this operation leaves as it is, in this type. */
double split_identity(tile_op op, element_type type);
#endif
