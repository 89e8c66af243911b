/* Private to schedule/: products of a block by matrix instructions: accumulators, how operands come to them (straight from memory, through rings in
 * shared memory, filled by threads or copied by a role of their own), what is made of results, and kernels wholly in fragments (doc/lanes.md). */
#ifndef TILEC_SCHEDULE_LANES_FRAGMENT_H
#define TILEC_SCHEDULE_LANES_FRAGMENT_H
#include "schedule/lower.h"

/* ---- lanes_fragment.c: products by matrix instructions; lanes_epilogue.c: what is made of their results in the accumulators ---- */
/* Bytes of a row, what the swizzle of operands that matrix instructions read themselves goes over. */
enum { SWIZZLED_BYTES = 128 };
/* Accumulators of one product or variable, [across rows][across columns] for each subgroup. */
typedef struct fragment_tile {
    const matrix_instruction *with;
    tile_range *rows, *columns;
    int across_rows, across_columns; /* fragments of one subgroup */
    kernel_fragment *f;
} fragment_tile;
/* The instruction that may multiply the product's tiles; NULL with *why. Before ranges are spread. */
const matrix_instruction *lanes_fragment_row(lower *l, const tile_value *product, const tile_range *rows,
                                             const tile_range *columns, const char **why);
/* Whether the product's instruction reads its operands' tiles itself, where they lie; it then runs on until it is waited for. */
bool lanes_by_reference(const lower *l, const tile_value *product);
/* Elements along r that the fragments of the product cover. */
int64_t lanes_fragment_cells(const lower *l, const tile_value *product, const tile_range *r);
int64_t lanes_fragment_registers(lower *l, const tile_value *product); /* of a thread, that its accumulators take */
fragment_tile lanes_fragment_tile(lower *l, const tile_value *product, kernel_fragment **made, const char *name);
/* Local index of a fragment's first element along its rows or columns, for the subgroup that it belongs to. */
index_expr *lanes_fragment_place(lower *l, const fragment_tile *t, bool rows, index_expr *which);
/* Opens loops over the fragments of one subgroup, to be written out: `which` says which of t's it is, given those along rows and columns. */
kernel_block *lanes_fragment_each(lower *l, const fragment_tile *t, index_expr **row, index_expr **column, index_expr **which,
                                  source_span span);
kernel_stmt *lanes_fragment_stmt(lower *l, kernel_block *b, kernel_stmt_kind kind, kernel_fragment *f, index_expr *which,
                                 source_span span);
void lanes_fragment_fill(lower *l, const fragment_tile *t, kernel_value *v, source_span span);
/* Copies both operands' tiles, adds their product to the accumulators, and waits for all threads. */
void lanes_fragment_add(lower *l, const tile_value *product, const fragment_tile *sum, const ghost_record *g, source_span span);
/* Lets the lanes have what the accumulators hold: a shared array over the product's tile, behind a barrier. */
kernel_array *lanes_fragment_meet(lower *l, const tile_value *product, const fragment_tile *t, source_span span);
reduction_tree lanes_fragment_tree(const lower *l, const tile_value *product);
/* ---- lanes_direct.c: operands of matrix instructions that are loaded straight from memory ---- */
/* Why they can't be; NULL: they can. */
const char *lanes_direct_refusal(lower *l, const tile_value *product, const matrix_instruction *with, const tile_range *rows,
                                 const tile_range *columns, const tile_stmt *const *loops, int loop_count);
/* The same of one operand, which goes over r and the sum. */
const char *lanes_direct_operand_refusal(lower *l, const tile_value *product, const tile_value *x, const tile_range *r,
                                         const matrix_instruction *with);
/* The load of an operand's fragment, whose first element stands at `place` of r and `step` of the summed range, which ends at `end`; past what exists it is
 * zero. `whole_steps`: all of the sum's does. */
void lanes_direct_load(lower *l, kernel_stmt *load, const tile_value *product, int operand, tile_range *r, index_expr *place,
                       tile_range *summed, index_expr *step, index_expr *end, bool whole_steps);
/* Whether the kernel is nothing but such products and elementwise stores of them: no subgroup needs another, and each may tell by itself whether all that it
 * multiplies exists. */
bool lanes_direct_alone(lower *l);
/* Of such a kernel: that all of this subgroup's elements along a task's range exist, which begins at `start`. */
cond *lanes_direct_whole(lower *l, const tile_range *r, index_expr *start);
/* ---- lanes_ring.c ---- */
/* Lowers a loop that does nothing but add such products to accumulators, its operands' tiles copied ahead; false: it stays as it is. */
bool lanes_ring_loop(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi, int64_t size);
/* The load whose elements a product rounds to tf32, which may also be done once they are in registers; NULL: the operand is something else. */
tile_value *lanes_rounded_load(const lower *l, const tile_value *product, int operand);
/* Whether the operands of the product are copied as they lie, and rounded in registers. */
bool lanes_rounds_later(const lower *l, const tile_value *product);
/* Why tiles of the loop can't be made ahead, whatever its operands are: of its bounds, and of one of its statements. NULL: they can. */
const char *lanes_ring_loop_refusal(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi);
const char *lanes_ring_product_refusal(lower *l, const tile_stmt *loop, const tile_stmt *s);
const char *lanes_ring_operand_refusal(lower *l, const tile_value *product,
                                       int operand); /* why it can't be copied ahead; NULL: it can */
/* ---- lanes_fill.c ---- */
/* Whether threads fill the operand's tiles themselves, because it is no copy of its array: for products by warpgroups, which run while they do. */
bool lanes_ring_fills(lower *l, const tile_value *product, int operand);
bool lanes_fill_any(lower *l, const tile_stmt *loop,
                    bool filled); /* whether any operand of the loop's products is one, or is none */
/* Whether what the threads load for a step stays in registers until they store it a step later. */
bool lanes_fill_waits(lower *l, const tile_stmt *loop);
/* The tiles of step `at`: loads and stores, or those of one phase. */
void lanes_fill_step(lower *l, const tile_stmt *loop, int64_t size, index_expr *at, index_expr *slot, fill_phase phase);
void lanes_fill_tell(lower *l, const tile_stmt *loop); /* which operands, and why they are no copies */
bool lanes_ring_alone(lower *l);
/* ---- lanes_ahead.c ---- */
/* The same where the target copies nothing asynchronously and two stages are asked for: the threads hold the next tiles in registers. E0506 where that can't be. */
bool lanes_ahead_loop(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi, int64_t size);
bool lanes_ring_of_threads(lower *l); /* whether single threads multiply what is copied ahead, in some loop of the kernel */
/* What a step of the ring does besides copies: multiplies the tiles in its slot. */
void lanes_ring_settle(lower *l, const tile_stmt *loop, index_expr *hi, int64_t size, index_expr *step);
void lanes_ring_multiply(lower *l, const tile_stmt *loop, index_expr *hi, int64_t size, index_expr *step, int stages);
/* ---- lanes_roles.c ---- */
/* Begins the two roles: what is lowered from now on is the consumers'. */
void lanes_roles_begin(lower *l);
/* The operand that can't be copied in bulk, for people; NULL: all of the loop's can. */
const char *lanes_roles_refusal(lower *l, const tile_stmt *loop);
/* The loop in both roles, `stages` slots between them. */
void lanes_roles_loop(lower *l, const tile_stmt *loop, index_expr *hi, int64_t size, int stages);
/* Which variables of the kernel stay in accumulators: products are added to them, and all that is made of them is elementwise and stored. */
void lanes_epilogue_choose(lower *l);
/* Accumulators of a unit that keeps fewer bits than f32, whose products x takes after each interval; and a statement that adds them to it. */
fragment_tile lanes_epilogue_promoted(lower *l, const tile_variable *x);
void lanes_epilogue_promote(lower *l, const tile_variable *x, source_span span);
/* The statement is one of such a variable's: done. False: it is none. */
bool lanes_epilogue_declare(lower *l, tile_variable *x);
bool lanes_epilogue_update(lower *l, const tile_stmt *s);
bool lanes_epilogue_store(lower *l, const tile_stmt *s);
int lanes_stored_along(const lower *l, const tile_stmt *s,
                       const tile_range *r); /* the dimension of the store that runs along r by ones; -1: none, or several */
bool lanes_epilogue_let(lower *l, const tile_value *v);
bool lanes_epilogue_reads(const lower *l, tile_value *v);               /* one of them */
kernel_value *lanes_epilogue_element(point *p, const tile_variable *x); /* in a map */
/* ---- lanes_chain.c: kernels wholly in fragments, whose products feed reductions and other products; lanes_chain_emit.c: their statements ---- */
/* Whether the kernel is one; then its operands' routes, its levels and spreads are chosen too. Before ranges are spread. */
bool lanes_chain_choose(lower *l);
int64_t lanes_chain_cells(const lower *l, const tile_range *r); /* elements along r that its fragments cover */
int lanes_chain_slots(const lower *l, const tile_value *product,
                      int operand); /* of the ring of that operand's tiles; 0: there is none */
void lanes_chain_begin(lower *l);   /* what stands before all statements */
/* Around the body of a loop whose range has its place: copies what is read of this tile (false: nothing is), and lets the next trip do so. */
bool lanes_chain_enter(lower *l, const tile_stmt *loop);
void lanes_chain_leave(lower *l, const tile_stmt *loop, bool copied);
/* The loop over tiles of `size` elements from lo to hi whose operands are copied ahead; false: none of them are. */
bool lanes_chain_loop(lower *l, const tile_stmt *loop, index_expr *lo, index_expr *hi, index_expr *exact_hi, int64_t size);
void lanes_chain_declare(lower *l, tile_variable *x);
void lanes_chain_hold(lower *l, tile_value *v);
bool lanes_chain_holds(const lower *l, const tile_value *v);
void lanes_chain_drop(lower *l, const tile_value *v);
/* variable's field = value, for all elements. */
void lanes_chain_set(lower *l, const tile_variable *x, int field, tile_value *value, source_span span);
void lanes_chain_store(lower *l, const tile_stmt *s);
/* In a map: the element of a value that is held, or of a field. */
kernel_value *lanes_chain_held(point *p, const tile_value *v);
kernel_value *lanes_chain_field(point *p, const tile_variable *x, int field);
#endif
