/* Number formats of matrix units, as sign, significand and exponent: what a model of a unit counts with. */
#ifndef TILEC_PROBE_NUMBER_H
#define TILEC_PROBE_NUMBER_H
#include <stdbool.h>
#include <stdint.h>

typedef enum number_kind {
    NUMBER_F32,
    NUMBER_F16,
    NUMBER_BF16,
    NUMBER_E4M3,
    NUMBER_E5M2,
    NUMBER_S8,
    NUMBER_U8,
    NUMBER_S4, /* a byte a code outside registers, whose upper half nobody reads */
    NUMBER_U4,
    NUMBER_S32,
    NUMBER_COUNT
} number_kind;

typedef struct number_info {
    const char *name;
    int bytes;                      /* of a code */
    int exponent_bits, stored_bits; /* of a float: its exponent's, and those of the fraction; 0, 0: a whole number */
    bool has_infinity, is_signed;
} number_info;
extern const number_info number_table[NUMBER_COUNT];
int number_bits(number_kind kind); /* of a code: 4 where two share a byte in registers */

typedef enum { NUMBER_FINITE, NUMBER_INFINITE, NUMBER_NAN } number_class;

/* A value: significand * 2^place. `exponent` is that of the leading place of its format's significand (subnormals count as the smallest normal
 * exponent), whatever the leading bit. */
typedef struct number {
    number_class class;
    bool negative;
    int64_t significand;
    int exponent, place;
} number;

number number_decode(number_kind kind, uint32_t code);
/* The code of an exact value sign * significand * 2^place; false when the format lacks it. For what probes are made of. */
bool number_encode(number_kind kind, bool negative, uint64_t significand, int place, uint32_t *code);
/* sign * 2^exponent * (1 + fraction / 2^stored_bits), for exponents of subnormals too where it is exact; false otherwise. */
bool number_make(number_kind kind, bool negative, int exponent, uint32_t fraction, uint32_t *code);
int number_lowest_exponent(number_kind kind); /* of normal numbers */
int number_highest_exponent(number_kind kind);
uint32_t number_sign_bit(number_kind kind);
uint32_t number_largest(number_kind kind);  /* the code of the largest finite value */
uint32_t number_infinity(number_kind kind); /* of +infinity; that of NaN where there is none */
double number_value(number_kind kind, uint32_t code);
/* Codes in an array of the format's bytes. */
uint32_t number_load(number_kind kind, const void *codes, int64_t index);
void number_store(number_kind kind, void *codes, int64_t index, uint32_t code);
#endif
