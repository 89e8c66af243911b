/* Private to prove/: a kernel whose thread ids and loop variables are the digits that its quotients and remainders ask for. */
#ifndef TILEC_PROVE_SPLIT_H
#define TILEC_PROVE_SPLIT_H
#include "kernel/kernel.h"

/* The same program, of the same threads in the same order; what is proved of its accesses holds of k's. Expressions that it has in place of others may
 * overflow less. NULL: there is nothing to split, or floors of thread ids would be left. */
kernel_ir *split_ids(arena *a, const kernel_ir *k);
#endif
