/* Private to sets.c and sets_join.c, the two files that talk to isl. */
#ifndef TILEC_PROVE_SETS_PRIVATE_H
#define TILEC_PROVE_SETS_PRIVATE_H
#include "prove/sets.h"
#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/set.h>
#include <isl/space.h>

/* Unions of small sets that were tried before: `both` is the one basic set that each is, NULL when it is none. */
typedef struct tried_union {
    isl_set *of;
    isl_basic_set *both;
} tried_union;
enum { UNIONS_KEPT = 64 };
typedef struct union_cache {
    tried_union at[UNIONS_KEPT]; /* a ring */
    int next;
} union_cache;
void union_cache_clear(union_cache *c);

/* Takes x, gives the same set, in fewer pieces where that is possible. Variables are the parameters, then the dimensions. */
isl_set *sets_join(union_cache *cache, isl_set *x, int parameters, int variables);
/* Takes a: the points where a >= 0. */
isl_basic_set *half_space(isl_aff *a);
#endif
