/* Kernels proved before in this process, for this target or another, are not proved again. Only whole proofs are kept: a refutation is found anew, with
 * its messages. What a target's memory and threads have room for is no part of it (capacity is judged each time). */
#ifndef TILEC_PROVE_MEMO_H
#define TILEC_PROVE_MEMO_H
#include "base/hash.h"
#include "prove/prove.h"

/* Of the kernel's text, what its launch guarantees, and the limits of integers and extents. */
void memo_key(const kernel_ir *k, const cond *launch, const target_limits *limits, char key[HASH_DIGITS + 1]);
/* Adds the items of the earlier proof. */
bool memo_find(arena *a, const char *key, proof *p);
/* Keeps the items from `first` on, if all are proved. */
void memo_keep(const char *key, const proof *p, int first);
#endif
