/* Private to schedule/: a tile in shared memory that all threads of a block copy (lanes_stage.c), of an operand of a product or of a load that is turned round
 * (lanes_turn.c). */
#ifndef TILEC_SCHEDULE_LANES_STAGE_H
#define TILEC_SCHEDULE_LANES_STAGE_H
#include "schedule/lower.h"

enum { ACCESS_BYTES = 16 };

typedef struct tile_axis {
    tile_range *r;
    int64_t cells; /* of the array along it */
    int dim;
    int width; /* elements that are copied at once: 1 but for one range */
    bool contracted;
    index_expr *trip; /* of a thread's units along it, once it is dealt out: which, of how many */
    int64_t trips;
} tile_axis;

/* A load of an operand, or all of it, whose values a thread keeps in registers until it stores what is made of them. */
typedef struct kept_load {
    tile_value *load;
    kernel_array *array; /* a cell for each of the thread's units; NULL: made when they are first loaded */
} kept_load;
typedef struct kept_loads {
    const tile_value *product;
    int operand;
    VEC(kept_load) items;
} kept_loads;

/* Dimensions of a product's: [other ranges][contracted][the range that threads have as rows or columns]. */
typedef struct staged_tile {
    lower *l;
    tile_value *x;
    kernel_array *array;
    tile_axis axes[MOST_STAGED_AXES]; /* those that are open where the product is, in the order of the array's dimensions */
    int count;
    const matrix_instruction *matrix; /* that reads it; NULL: single threads do */
    int slots;                        /* of a ring of tiles, the array's first dimension; 0: it has none */
    index_expr *slot;                 /* of the ring, where threads fill the tile themselves */
    fill_phase phase;
    kept_loads *kept; /* where loads are a step ahead of stores */
    bool turned;      /* copied in vectors along a range that memory does not run along */
    source_span span;
} staged_tile;

/* Whether it is zero where its loads, which give zero there, find nothing. */
bool lanes_stage_zero_where_missing(const tile_value *v);
/* A tile that was copied earlier in this very block, and that has this one's elements and shape; NULL: none. */
const copied_tile *lanes_stage_copied_before(lower *l, const staged_tile *t, element_type type);
void lanes_stage_note_copied(lower *l, const staged_tile *t);
/* Both give the same elements, whatever was stored since. */
bool lanes_stage_same_elements(const tile_value *x, const tile_value *y);
/* The tile of a product's operand: without its array, which the axes' cells may still grow by; with it, made when it is first asked for. */
staged_tile lanes_stage_shape(lower *l, const tile_value *product, int operand);
staged_tile lanes_stage_tile(lower *l, const tile_value *product, int operand);
/* Places all axes for this thread; their order, the first first. Returns how many there are. */
int lanes_stage_deal(point *p, staged_tile *t, tile_axis *order[MOST_STAGED_AXES]);
/* The tile's array at the point, whose ranges are open. */
kernel_access lanes_stage_access(const point *p, const staged_tile *t);
/* Copies the tile into its array, what does not exist as zeros; without a barrier. */
void lanes_stage_copy_tile(staged_tile *t);
#endif
