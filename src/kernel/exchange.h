/* What conditions say of a compare-and-exchange, and the loops that try one again until it finds what it expects. */
#ifndef TILEC_KERNEL_EXCHANGE_H
#define TILEC_KERNEL_EXCHANGE_H
#include "kernel/kernel.h"

/* The LET or ATOMIC whose value this is, bit for bit; NULL: it is computed. */
const kernel_stmt *kernel_named_by(const kernel_value *v);
/* Surely the same value where both stand, as far as their texts tell: names, constants, operations on these. Loads never are. */
bool kernel_same_value(const kernel_value *x, const kernel_value *y);
/* One array at equal indices: one cell, where both stand and neither is a vector. */
bool kernel_same_cell(const kernel_access *x, const kernel_access *y);
/* Of a choice (IF, IF_VALUE, or a BREAK with a condition): whether its body (`otherwise`: the other side) is run only where compare_exchange `c` found what it
 * expected; and whether it is run wherever it did. */
bool kernel_chosen_where_found(const kernel_stmt *choice, const kernel_stmt *c, bool otherwise);
bool kernel_found_chooses(const kernel_stmt *choice, const kernel_stmt *c, bool otherwise);

/* loop { .. compare_exchange c of an array's cell, expecting what a cell of the thread's own or the cell itself held at the trip's beginning; left where that
 * was found; otherwise what was there is expected next }: one update of the cell, in which nobody waits for anybody: where it is tried again another thread has changed the cell. */
typedef struct kernel_update_loop {
    kernel_stmt *exchange;
    kernel_stmt *guess;        /* what is expected: a LET of the loop's, or an atomic that changes nothing */
    const kernel_array *carry; /* the thread's cell that keeps it from trip to trip; NULL: the guess reads the cell itself */
} kernel_update_loop;
bool kernel_is_update_loop(const kernel_stmt *loop, kernel_update_loop *out);
/* waiting.c: an atomic in a loop without a count that decides a way out of it, so that the loop may go on until another thread has done something; NULL: there
 * is none, each trip changes the cell, or it is an update loop. `arrays`: how many the kernel has; the arena is for scratch. */
const kernel_stmt *kernel_waits_for(const kernel_stmt *loop, int arrays, arena *a);
/* A compare_exchange that leaves every cell as it is: an atomic read. */
bool kernel_only_reads(const kernel_stmt *atomic);
/* An exchange whose old value nobody wants: an atomic store. */
bool kernel_only_writes(const kernel_stmt *atomic);
/* What an atomic leaves in its cell; `expected`: of compare_exchange. */
kernel_value *kernel_atomic_result(kernel_ir *k, kernel_op op, kernel_value *old, kernel_value *expected, kernel_value *given);
#endif
