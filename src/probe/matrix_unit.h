/* A bit-exact model of matrix units: d = c + sum of a[i] * b[i], as a unit with these parameters gives it. */
#ifndef TILEC_PROBE_MATRIX_UNIT_H
#define TILEC_PROBE_MATRIX_UNIT_H
#include "probe/number.h"

enum { MATRIX_LONGEST = 64, MATRIX_EXACT = 1000, MATRIX_MOST_ALIGNMENT = 40, MATRIX_NO_LOWEST = -1000 };

typedef enum matrix_shape {
    MATRIX_FUSED,           /* step by step: a step's products and the running sum are added at once, and rounded once */
    MATRIX_TREE_NEIGHBOURS, /* products added in pairs 0 + 1, 2 + 3, ..., each sum rounded, the addend last */
    MATRIX_TREE_HALVES,     /* the same with i + (i + half) */
    MATRIX_STRANDS, /* products of a strand one after the other from 0, each sum rounded; then the strands' sums as a tree of neighbours, the addend last */
    MATRIX_LARGEST_FIRST, /* one after the other, from the largest term on; the others in order, the addend before the products */
    MATRIX_SHAPES
} matrix_shape;

typedef enum matrix_rounding {
    MATRIX_TOWARD_ZERO, /* by magnitude */
    MATRIX_NEAREST,     /* ties to even */
    MATRIX_NEAREST_AWAY,
    MATRIX_DOWN,
    MATRIX_UP,
    MATRIX_ROUNDINGS
} matrix_rounding;

/* A result below the smallest normal number becomes zero of its sign: judged by the sum rounded as if exponents had no end (x86), or by the sum itself. */
typedef enum matrix_flush { MATRIX_KEEP, MATRIX_FLUSH_ROUNDED, MATRIX_FLUSH_EXACT, MATRIX_FLUSHES } matrix_flush;

/* Of which operands. */
typedef enum matrix_normalised {
    MATRIX_NEITHER,
    MATRIX_BOTH,
    MATRIX_A_ALONE,
    MATRIX_B_ALONE,
    MATRIX_NORMALISED_COUNT
} matrix_normalised;

/* Numbers of terms are as in `facts`: an exponent of a product is the sum of its factors' exponents, whatever the product's leading bit. */
typedef struct matrix_unit {
    number_kind a, b, c; /* c: the addend and the result */
    int k;               /* products of a dot; a power of two, at most MATRIX_LONGEST */
    matrix_shape shape;
    /* MATRIX_FUSED: the bits of a product's position that number its step (0: one step; all: one product a step). MATRIX_STRANDS: those that number its
     * strand. */
    unsigned step_mask;
    bool descending;   /* the steps with the highest number first; of strands the products at the highest positions first */
    bool addend_apart; /* products are summed from 0, and c is added last, rounding to nearest even */
    int alignment; /* each term is cut to a multiple of 2^(E - alignment), E the largest exponent of a step's terms; MATRIX_EXACT: not cut */
    matrix_rounding cut;
    int output_bits; /* stored bits of the sum's fraction, at most the format's */
    matrix_rounding rounding;
    int lowest_exponent;      /* E is at least this */
    bool normalised_products; /* a product's exponent is that of its leading bit */
    matrix_normalised
        normalised_operands; /* whose subnormals' exponent is that of their leading bit: they were converted to a wider format before */
    bool normalised_addend;            /* a subnormal addend's exponent is that of its leading bit */
    bool zeros_count;                  /* the exponents of zero products count for E */
    bool flush_operands, flush_addend; /* subnormals become zero of their sign */
    matrix_flush flush_result;
    bool signed_zero;     /* a sum of zeros, and one too small, keeps its sign; otherwise 0 is +0 */
    bool overflow_clamps; /* to the largest value rather than to infinity */
    uint32_t nan;         /* the code of every NaN result; 0: whichever NaN (the model gives the quiet one) */
    int ignored_bits;     /* the lowest bits of a's and b's codes that do not count: tf32 is f32 without 13 */
    bool saturate;        /* whole numbers: clamp the exact sum; otherwise it wraps */
} matrix_unit;

/* IEEE arithmetic, one product after the other in f32: what a unit is without anything special. */
matrix_unit matrix_unit_plain(number_kind a, number_kind b, number_kind c, int k);
/* NULL, or what keeps the parameters from being a unit's (a static text). */
const char *matrix_unit_fault(const matrix_unit *u);
/* a, b: k codes each. The unit must be without fault. */
uint32_t matrix_unit_dot(const matrix_unit *u, const uint32_t *a, const uint32_t *b, uint32_t c);
/* Whether an answer is the model's: the same code, or both NaN where the unit's NaN may be any. */
bool matrix_unit_agrees(const matrix_unit *u, uint32_t model, uint32_t answer);

/* The same in two steps, for many units over the same data: the products depend on a few parameters only (formats, ignored_bits, flush_operands,
 * normalised_*). */
typedef struct matrix_terms {
    number products[MATRIX_LONGEST];
    int count;
} matrix_terms;
void matrix_unit_products(const matrix_unit *u, const uint32_t *a, const uint32_t *b, matrix_terms *out);
uint32_t matrix_unit_sum(const matrix_unit *u, const matrix_terms *products, uint32_t c);
#endif
