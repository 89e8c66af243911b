/* Private to schedule/: a kernel whose products feed reductions and other products, wholly in fragments (lanes_chain*.c).
 *
 * One range of the task, the *rows*, stands in every result. Each value is over the rows and at most one more range, its *columns*: an accumulator for every
 * fragment of rows and columns, or one element a row (a row vector), and each subgroup has whole rows, so reductions along columns meet within a subgroup. */
#ifndef TILEC_SCHEDULE_LANES_CHAIN_H
#define TILEC_SCHEDULE_LANES_CHAIN_H
#include "schedule/lower.h"

/* How a product gets one of its operands. */
typedef enum chain_route {
    CHAIN_COPIED, /* tiles in shared memory */
    CHAIN_DIRECT, /* loaded straight from memory */
    CHAIN_MADE    /* the left one alone: out of accumulators */
} chain_route;

typedef struct chain_product {
    const tile_value *v;
    int left; /* which operand has the rows */
    tile_range *columns, *summed;
    chain_route routes[2]; /* by operand */
    const tile_stmt
        *home[2];   /* the innermost loop along which the operand varies: it is copied there; NULL: before all statements */
    bool ringed[2]; /* and copied ahead */
    kernel_fragment *kept;     /* the left operand's, loaded once before all statements; NULL: loaded at each use */
    kernel_fragment *parts[2]; /* one step's operands */
    bool told;
} chain_product;

/* Fragments of columns that a product makes at a time, each waiting for its own last step alone: where they need accumulators besides those of what is made of
 * them (these are also what an operand's fragment is made of), and where they don't. */
enum { CHAIN_GROUP = 4, CHAIN_GROUP_THERE = 8 };

typedef struct chain {
    const matrix_instruction *with;
    tile_range *rows;
    int subgroups, across_rows; /* subgroups of the block, one above the other; fragments of rows of each */
    index_var *subgroup, *lane;
    int stages; /* slots of the rings that tiles are copied ahead into; 0: there are none */
    VEC(chain_product) products;
    index_expr **slots;             /* by the range of a loop whose tiles are copied ahead: which of them is multiplied */
    kernel_fragment **held;         /* by value id: what keeps it; NULL: computed in place */
    VEC(kernel_fragment **) before; /* the same outside of each loop entered */
    kernel_fragment **made;         /* by value id: what kept it before, to be used again */
    kernel_fragment ***fields;      /* by variable id, then field */
    kernel_fragment
        *working; /* accumulators of what is made of at once: parts of a row before they meet, of an operand, of a product */
    kernel_fragment **stored; /* by value id: what a store makes of accumulators */
    /* inside a map */
    index_expr *row, *column; /* which fragments */
    bool of_rows, of_columns; /* its results are one a row, or one a column */
    bool all_exist;           /* no element has to be left out */
} chain;

/* The product's description; NULL: it is none of the chain's. */
chain_product *chain_product_of(const lower *l, const tile_value *v);
/* The columns of a value (NULL: it has none). False: it goes over others too. */
bool chain_shape(const lower *l, const tile_value *v, bool *rows, tile_range **columns);
/* Fragments along a range of columns. */
int chain_across(const lower *l, const tile_range *columns);
/* Loads what is kept of left operands, once their tiles are there. lanes_chain_emit.c */
void chain_load_kept(lower *l);
/* Which operands are copied ahead, and in how many slots. lanes_chain_copy.c */
void chain_choose_rings(lower *l);

/* ---- lanes_chain_map.c ---- */
kernel_fragment *chain_add_fragment(lower *l, const char *name, fragment_role role, element_type e, int rows, int columns,
                                    int count, source_span span);
/* Of f32, for all elements over the rows (false: not over them) and these columns (NULL: none). */
kernel_fragment *chain_add_results(lower *l, const char *name, bool rows, const tile_range *columns, source_span span);
tile_range *chain_columns_of(const lower *l, const tile_value *v);
/* Which of the fragments of f, [rows][across]. */
index_expr *chain_which_of(lower *l, const kernel_fragment *f, index_expr *row, index_expr *column, int across);
/* Goes on in a loop of so many trips, to be written out; its variable. */
index_expr *chain_written_out(lower *l, kernel_block **b, const char *name, int64_t trips, source_span span);
index_expr *chain_each_row(lower *l, kernel_block **b, source_span span); /* the same over the fragments of rows of a subgroup */
/* Local index of the first element of a fragment of rows, of columns. */
index_expr *chain_row_place(lower *l, index_expr *row);
index_expr *chain_column_place(lower *l, index_expr *column);
kernel_stmt *chain_fragment_stmt(lower *l, kernel_block *b, kernel_stmt_kind kind, kernel_fragment *f, index_expr *which,
                                 source_span span);
void chain_fill_all(lower *l, kernel_fragment *f, double x, source_span span);
kernel_value *chain_element_of(lower *l, kernel_fragment *f, index_expr *which);
/* A map over one fragment, whose value is then emitted at the point. `columns` NULL: over a row vector; `row` NULL: over a column vector. */
typedef struct map_place {
    kernel_stmt *map;
    point p;
} map_place;

map_place chain_open_map(lower *l, kernel_block *b, kernel_fragment *to, index_expr *which, index_expr *row, tile_range *columns,
                         index_expr *column, source_span span);
void chain_close_map(lower *l, map_place *m, kernel_value *v);
/* That every element of the subgroup's rows and of these columns exists; *known: nothing has to hold. NULL, and not known: it can't be told at once. */
cond *chain_all_exist(lower *l, tile_range *columns, bool *known);
/* v where the element at the point exists along the columns, else `other`. */
kernel_value *chain_where_existing(point *p, const tile_range *columns, kernel_value *v, kernel_value *other);
/* The indices that a fragment's part of a reduction takes: its rows dealt to the lanes, `columns` (NULL: none) and `size` of `summed` from step on. */
void chain_consume(lower *l, const ghost_record *g, kernel_block *b, index_expr *row, tile_range *columns, index_expr *column,
                   tile_range *summed, index_expr *step, int64_t size, source_span span);
#endif
