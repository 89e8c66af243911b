/* A persistent pool of threads that share a count of independent pieces of work. For run/, and for the lab, whose probes and drop-in
 * kernels run as kernels do. */
#ifndef TILEC_RUN_POOL_H
#define TILEC_RUN_POOL_H
#include <stdint.h>

typedef struct pool pool;
/* Runs pieces first..last-1; `worker` is 0..pool_workers-1 and never runs twice at once. */
typedef void (*pool_work)(void *context, int worker, int64_t first, int64_t last);

pool *pool_new(int workers); /* the caller counts as one; NULL when there is no memory. Fewer threads than asked are no error. */
void pool_free(pool *p);
int pool_workers(const pool *p);
/* Returns when every piece is done. Which worker takes which piece varies; what they compute must not depend on it. */
void pool_run(pool *p, int64_t pieces, pool_work work, void *context);
#endif
