/* Private to sets.c, sets_join.c, sets_digits.c (the files that call isl) and sets_kept.c. */
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
/* Projections of small sets that were found before. */
typedef struct tried_projection {
    isl_set *of;
    int first, count;
    isl_set *without;
} tried_projection;
enum { UNIONS_KEPT = 64, PROJECTIONS_KEPT = 64 };
typedef struct union_cache {
    tried_union at[UNIONS_KEPT]; /* rings */
    int next;
    tried_projection projections[PROJECTIONS_KEPT];
    int next_projection;
} union_cache;
void union_cache_clear(union_cache *c);

/* ---- sets_kept.c ---- */
typedef enum operation_kind {
    OPERATION_CONSTANT,
    OPERATION_DIM,
    OPERATION_PARAMETER,
    OPERATION_ADD,
    OPERATION_SCALE,
    OPERATION_FLOOR,
    OPERATION_MOD,
    OPERATION_UNIVERSE,
    OPERATION_EMPTY,
    OPERATION_NONNEGATIVE,
    OPERATION_ZERO,
    OPERATION_INTERSECT,
    OPERATION_UNION,
    OPERATION_SUBTRACT,
    OPERATION_PROJECT,
    OPERATION_INSERT,
    OPERATION_FIX,
    OPERATION_FIX_PARAMETER,
    OPERATION_REMAP,
    OPERATION_SIMPLIFY,
    OPERATION_IS_EMPTY,
    OPERATION_IS_SUBSET
} operation_kind;
typedef struct operation {
    operation_kind kind;
    const void *x, *y; /* operands; NULL: fewer */
    int64_t a, b;
    const int *from; /* REMAP: [places] */
    int places;
    uint64_t hash; /* answer_known's, for answer_keep */
} operation;
typedef struct answer {
    operation of;
    void *result; /* NULL: a free slot */
} answer;
typedef struct answers {
    answer *at;
    size_t slots, count;
} answers;
void *answer_known(const answers *t, operation *o);              /* NULL: not known */
void *answer_keep(answers *t, const operation *o, void *result); /* gives result, which was not known; NULL is not kept */
void answers_forget(answers *t);

/* Takes x, gives the same set, in fewer pieces where that is possible. Variables are the parameters, then the dimensions. */
isl_set *sets_join(union_cache *cache, isl_set *x, int parameters, int variables);
/* Takes x, gives it without the `count` dimensions from `first` on: factor by factor. */
isl_set *sets_project_factors(union_cache *cache, isl_set *x, int first, int count, int parameters, int variables);
/* Takes b: of the `count` dimensions from `first` on, those that are the digits of one number are one; the others of them take any value. What is left without all
 * of these dimensions is the same. sets_digits.c. */
isl_basic_set *set_digits_together(isl_basic_set *b, int first, int count);
/* Takes a set of one piece: that piece. */
isl_basic_set *set_piece(isl_set *x);
/* Takes x and y: both. Without the search for a point that isl_set_intersect makes of every result. */
isl_set *set_intersection(isl_set *x, isl_set *y);
/* Takes a: the points where a >= 0. */
isl_basic_set *half_space(isl_aff *a);
#endif
