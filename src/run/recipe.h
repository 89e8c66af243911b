/* Recipes for test data: the same seed gives the same bytes on every machine. */
#ifndef TILEC_RUN_RECIPE_H
#define TILEC_RUN_RECIPE_H
#include "base/element.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum recipe_kind {
    RECIPE_ZEROS,
    RECIPE_IOTA,        /* 0, 1, 2, ...: wraps at the type's largest exact integer */
    RECIPE_RANDOM,      /* uniform in [-1, 1]; integers over a small range that cannot overflow a sum */
    RECIPE_POSITIVE,    /* uniform in [0, 1]: shows a narrow accumulator that zero-mean data hides */
    RECIPE_NORMAL,      /* mean 0, deviation 1 */
    RECIPE_INTEGERS,    /* whole numbers 0..7: sums below 2^24 are exact in f32 */
    RECIPE_ADVERSARIAL, /* huge, tiny, subnormal, zeros of both signs, NaN, infinities, among ordinary values */
    RECIPE_HUGE,        /* the adversarial ones without NaN and infinity */
    RECIPE_ROPE,        /* 10000^(-i/count): the frequencies of rotary position embedding */
    RECIPE_COUNT
} recipe_kind;
/* "zeros", "iota", "random", "positive", "normal", "integers", "adversarial", "huge", "rope" */
extern const char *const recipe_names[RECIPE_COUNT];
recipe_kind recipe_by_name(const char *name); /* RECIPE_COUNT when there is none */

/* Fills `count` elements (whole blocks for block formats). `bound` > 0: an index array, every element in 0..bound-1. */
void recipe_fill(recipe_kind kind, uint64_t seed, element_type type, int64_t bound, int64_t count, void *data);
/* The same for an index array whose elements must be distinct: as long as count <= bound, no recipe but zeros repeats one. */
void recipe_fill_distinct(recipe_kind kind, uint64_t seed, int64_t bound, int64_t count, int32_t *data);

/* A small generator, splitmix64: state in, number out. */
uint64_t recipe_next(uint64_t *state);
#endif
