/* Element types: of arrays, of tiles and of Kernel IR values. */
#ifndef TILEC_BASE_ELEMENT_H
#define TILEC_BASE_ELEMENT_H
#include <stdbool.h>
#include <stdint.h>

typedef enum element_type {
    ELEMENT_F32,
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_I8,
    ELEMENT_U8,
    ELEMENT_I32,
    ELEMENT_U32,
    ELEMENT_BOOL,  /* stored as one byte, 0 or 1 */
    ELEMENT_INDEX, /* index(V) in arrays: stored as i32, in registers a 64-bit integer */
    ELEMENT_E4M3,  /* OCP fp8 "fn": no infinity, NaN 0x7F/0xFF */
    ELEMENT_E5M2,
    ELEMENT_Q8_0, /* 32 elements in 34 bytes: f16 d, 32 x i8; value d*q   (GGML) */
    ELEMENT_Q4_0, /* 32 elements in 18 bytes: f16 d, 16 bytes; value d*(nibble-8), low nibble element i, high i+16 */
    ELEMENT_MXFP4, /* 32 elements in 17 bytes: the scale 2^(e - 127) as e (255: NaN), then 4 bits each as in q4_0, E2M1: sign, 0 0.5 1 1.5 2 3 4 6 */
    ELEMENT_TF32, /* an f32 that has at most 10 bits behind the point: of values, never of arrays that a caller passes */
    ELEMENT_OF_LANGUAGE, /* how many are types of the language; those from here on only Kernel IR's memory holds, as foreign kernels use it */
    ELEMENT_U16 = ELEMENT_OF_LANGUAGE,
    ELEMENT_I64,
    ELEMENT_COUNT
} element_type;

typedef struct element_info {
    const char *name;   /* as the language spells it */
    int block_elements; /* elements a storage block holds: 1, or 32 for q8_0 and q4_0 */
    int block_bytes;    /* bytes of that block */
    bool is_float;      /* a floating-point value once loaded (block formats included) */
    bool is_signed;
    bool is_narrow_float; /* storage only: elementwise arithmetic converts it to f32 */
} element_info;

extern const element_info element_table[ELEMENT_COUNT];
/* Finds a type by its name; ELEMENT_COUNT when there is none. */
element_type element_by_name(const char *name);
/* Those that Kernel IR's memory alone can hold, too. */
element_type element_of_memory_by_name(const char *name);

/* The number of a 4-bit E2M1 code, doubled: a whole one, 0 for either zero. */
int e2m1_doubled(int code);
/* Writes a block's scale (of powers of two that of the magnitude, or below), and says how many bytes it takes. */
int element_set_scale(element_type type, void *block, double scale);
/* Whether every value of `from` is one of `to`, and reads back as the same. */
bool element_holds(element_type to, element_type from);

/* Decodings and encodings, bit for bit (shared/facts: formats). Rounding is to nearest even. */
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);
float f32_to_tf32(float value);
float e4m3_to_f32(uint8_t bits);
float e5m2_to_f32(uint8_t bits);
/* `saturate`: beyond the largest value give the largest; otherwise E4M3 gives NaN and E5M2 infinity. */
uint8_t f32_to_e4m3(float value, bool saturate);
uint8_t f32_to_e5m2(float value, bool saturate);
/* Element `index` (counted along the last dimension, whose extent is a whole number of blocks for block formats) of an
 * array of `type` at `base`, as a double. */
double element_load(element_type type, const void *base, int64_t index);
/* Stores with the type's own rounding, once; integers toward zero, saturating, NaN as 0; fp8 not saturating (so that every
 * value of the type, infinity and NaN included, stores as itself). Not for block formats: those are left alone. */
void element_store(element_type type, void *base, int64_t index, double value);
/* Bytes of `count` elements laid out along the last dimension. */
int64_t element_bytes(element_type type, int64_t count);
#endif
