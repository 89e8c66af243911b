/* Element types: their table, and their conversions, bit for bit.
 *
 *          sign exponent mantissa bias
 *   f16       1        5       10   15   infinity 0x7C00
 *   bf16      1        8        7  127   infinity 0x7F80
 *   tf32      1        8       10  127   infinity 0x7F800000: an f32 whose last 13 bits are 0
 *   e4m3      1        4        3    7   no infinity, largest 0x7E = 448, NaN 0x7F
 *   e5m2      1        5        2   15   infinity 0x7C, largest 0x7B = 57344 */
#include "base/element.h"
#include <math.h>
#include <string.h>

// clang-format off
const element_info element_table[ELEMENT_COUNT] = {
    /*                  name    block bytes float  signed narrow */
    [ELEMENT_F32] = {"f32", 1, 4, true, true, false},
    [ELEMENT_F16] = {"f16", 1, 2, true, true, true},
    [ELEMENT_BF16] = {"bf16", 1, 2, true, true, true},
    [ELEMENT_I8] = {"i8", 1, 1, false, true, false},
    [ELEMENT_U8] = {"u8", 1, 1, false, false, false},
    [ELEMENT_I32] = {"i32", 1, 4, false, true, false},
    [ELEMENT_U32] = {"u32", 1, 4, false, false, false},
    [ELEMENT_BOOL] = {"bool", 1, 1, false, false, false},
    [ELEMENT_INDEX] = {"index", 1, 4, false, true, false},
    [ELEMENT_E4M3] = {"e4m3", 1, 1, true, true, true},
    [ELEMENT_E5M2] = {"e5m2", 1, 1, true, true, true},
    [ELEMENT_Q8_0] = {"q8_0", 32, 34, true, true, true},
    [ELEMENT_Q4_0] = {"q4_0", 32, 18, true, true, true},
    [ELEMENT_MXFP4] = {"mxfp4", 32, 17, true, true, true},
    [ELEMENT_TF32] = {"tf32", 1, 4, true, true, true},
    [ELEMENT_U16] = {"u16", 1, 2, false, false, false},
    [ELEMENT_I64] = {"i64", 1, 8, false, true, false},
};
// clang-format on

element_type element_by_name(const char *name) {
    element_type t = element_of_memory_by_name(name);
    return t >= ELEMENT_OF_LANGUAGE ? ELEMENT_COUNT : t;
}

element_type element_of_memory_by_name(const char *name) {
    for (int i = 0; i < ELEMENT_COUNT; i++)
        if (strcmp(element_table[i].name, name) == 0)
            return (element_type)i;
    return ELEMENT_COUNT;
}

bool element_holds(element_type to, element_type from) {
    if (to == from)
        return true;
    const bool fp8 = from == ELEMENT_E4M3 || from == ELEMENT_E5M2;
    switch (to) {
    case ELEMENT_F32: return element_table[from].is_float;
    case ELEMENT_TF32: return fp8 || from == ELEMENT_F16 || from == ELEMENT_BF16;
    case ELEMENT_F16:
    case ELEMENT_BF16: return fp8;
    case ELEMENT_I32: return from == ELEMENT_I8;
    case ELEMENT_U32: return from == ELEMENT_U8;
    default: return false;
    }
}

static float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The code of a non-negative finite or infinite value, rounded to nearest even, as if exponents went on without end:
 * a code at or beyond the format's first special one means overflow. A carry out of the mantissa steps the exponent. */
static uint32_t round_to_code(double magnitude, int mantissa_bits, int bias) {
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023 + bias; /* as the format would store it */
    if (bits >> 52 == 0 || exponent < -mantissa_bits - 1)
        return 0; /* below half of the smallest subnormal */
    if (exponent > 1024)
        exponent = 1024; /* infinity and the huge: overflow in every format */
    uint64_t significand = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int shift = 52 - mantissa_bits + (exponent < 1 ? 1 - exponent : 0);
    uint64_t kept = significand >> shift, rest = significand & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
    if (rest > half || (rest == half && (kept & 1)))
        kept++;
    /* A normal's `kept` carries the hidden bit, hence the exponent less one. */
    return (exponent < 1 ? 0 : (uint32_t)(exponent - 1) << mantissa_bits) + (uint32_t)kept;
}

static double value_of_code(uint32_t code, int mantissa_bits, int bias) {
    int exponent = (int)(code >> mantissa_bits);
    double mantissa = (double)(code & ((1u << mantissa_bits) - 1));
    if (exponent == 0)
        return ldexp(mantissa, 1 - bias - mantissa_bits);
    return ldexp(mantissa + (double)(1u << mantissa_bits), exponent - bias - mantissa_bits);
}

/* A NaN as a double that keeps its sign and the code's mantissa, also where it signals: what lies in memory may be no float at all, but seen as one. */
static double nan_of(uint64_t sign, uint64_t mantissa, int mantissa_bits) {
    uint64_t bits = sign << 63 | UINT64_C(0x7FF) << 52 | mantissa << (52 - mantissa_bits);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The mantissa of a NaN's code; a NaN that would lose all of it is the quiet one. */
static uint32_t mantissa_of_nan(double value, int mantissa_bits) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t m = (uint32_t)(bits << 12 >> (64 - mantissa_bits));
    return m ? m : 1u << (mantissa_bits - 1);
}

float f16_to_f32(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 0x3FF;
    if (exponent == 31)
        return float_of_bits(sign | 0x7F800000 | mantissa << 13);
    if (exponent != 0)
        return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    float value = (float)mantissa * 0x1p-24f;
    return sign ? -value : value;
}

float bf16_to_f32(uint16_t bits) {
    return float_of_bits((uint32_t)bits << 16);
}

static uint16_t double_to_f16(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value))
        return sign | 0x7E00;
    uint32_t code = round_to_code(fabs(value), 10, 15);
    return (uint16_t)(sign | (code < 0x7C00 ? code : 0x7C00));
}

static uint16_t double_to_bf16(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value))
        return sign | 0x7FC0;
    uint32_t code = round_to_code(fabs(value), 7, 127);
    return (uint16_t)(sign | (code < 0x7F80 ? code : 0x7F80));
}

/* The high 19 bits of the f32. */
static uint32_t double_to_tf32(double value) {
    uint32_t sign = signbit(value) ? 0x80000000 : 0;
    if (isnan(value))
        return sign | 0x7F800000 | (mantissa_of_nan(value, 10) << 13);
    uint32_t code = round_to_code(fabs(value), 10, 127);
    return sign | (code < 0x3FC00 ? code : 0x3FC00) << 13;
}

/* fp8's NaN has no sign here, as in the vendors' conversions. */
static uint8_t double_to_e4m3(double value, bool saturate) {
    uint8_t sign = signbit(value) ? 0x80 : 0;
    if (isnan(value))
        return 0x7F;
    uint32_t code = round_to_code(fabs(value), 3, 7);
    if (code > 0x7E)
        return saturate ? sign | 0x7E : 0x7F;
    return (uint8_t)(sign | code);
}

static uint8_t double_to_e5m2(double value, bool saturate) {
    uint8_t sign = signbit(value) ? 0x80 : 0;
    if (isnan(value))
        return 0x7F;
    uint32_t code = round_to_code(fabs(value), 2, 15);
    if (code > 0x7B)
        return sign | (saturate ? 0x7B : 0x7C);
    return (uint8_t)(sign | code);
}

uint16_t f32_to_f16(float value) {
    return double_to_f16((double)value);
}
uint16_t f32_to_bf16(float value) {
    return double_to_bf16((double)value);
}
float f32_to_tf32(float value) {
    return float_of_bits(double_to_tf32((double)value));
}
uint8_t f32_to_e4m3(float value, bool saturate) {
    return double_to_e4m3((double)value, saturate);
}
uint8_t f32_to_e5m2(float value, bool saturate) {
    return double_to_e5m2((double)value, saturate);
}

float e4m3_to_f32(uint8_t bits) {
    uint32_t code = bits & 0x7F;
    if (code == 0x7F)
        return NAN;
    float value = (float)value_of_code(code, 3, 7);
    return bits & 0x80 ? -value : value;
}

float e5m2_to_f32(uint8_t bits) {
    uint32_t code = bits & 0x7F;
    if (code > 0x7C)
        return NAN;
    float value = code == 0x7C ? INFINITY : (float)value_of_code(code, 2, 15);
    return bits & 0x80 ? -value : value;
}

/* A block's scale: the half in its first two bytes (little-endian, aligned to nothing). */
static double block_scale(const unsigned char *block) {
    return (double)f16_to_f32((uint16_t)(block[0] | block[1] << 8));
}

/* Toward zero, saturating; NaN gives 0. */
static double clamp_integer(double value, double lowest, double highest) {
    if (isnan(value))
        return 0;
    value = trunc(value);
    return value < lowest ? lowest : value > highest ? highest : value;
}

/* Half of a block's scale, for doubled numbers: of e8m0 e it is 2^(e - 128), which f32 has down to e = 0. */
static double half_scale(unsigned char e) {
    return e == 255 ? (double)NAN : ldexp(1, e - 128);
}

int e2m1_doubled(int code) {
    static const int doubled[] = {0, 1, 2, 3, 4, 6, 8, 12};
    return code & 8 ? -doubled[code & 7] : doubled[code & 7];
}

int element_set_scale(element_type type, void *block, double scale) {
    unsigned char *at = block;
    if (type == ELEMENT_MXFP4) {
        at[0] = scale != 0 ? (unsigned char)clamp_integer(ilogb(scale) + 127, 0, 254) : 0;
        return 1;
    }
    uint16_t bits = f32_to_f16((float)scale);
    memcpy(at, &bits, 2);
    return 2;
}

double element_load(element_type type, const void *base, int64_t index) {
    const unsigned char *bytes = base;
    const element_info *info = &element_table[type];
    const unsigned char *at = bytes + index / info->block_elements * info->block_bytes;
    int within = (int)(index % info->block_elements);
    float f32;
    uint16_t half;
    int32_t i32;
    int64_t i64;
    uint32_t u32;
    switch (type) {
    case ELEMENT_F32:
    case ELEMENT_TF32:
        memcpy(&f32, at, 4);
        memcpy(&u32, at, 4);
        return isnan(f32) ? nan_of(u32 >> 31, u32 & 0x7FFFFF, 23) : (double)f32;
    case ELEMENT_F16:
        memcpy(&half, at, 2);
        return (half & 0x7FFF) > 0x7C00 ? nan_of(half >> 15, half & 0x3FF, 10) : (double)f16_to_f32(half);
    case ELEMENT_BF16:
        memcpy(&half, at, 2);
        return (half & 0x7FFF) > 0x7F80 ? nan_of(half >> 15, half & 0x7F, 7) : (double)bf16_to_f32(half);
    case ELEMENT_I8: return at[0] < 128 ? at[0] : at[0] - 256;
    case ELEMENT_U8: return at[0];
    case ELEMENT_I32:
    case ELEMENT_INDEX: memcpy(&i32, at, 4); return i32;
    case ELEMENT_U32: memcpy(&u32, at, 4); return u32;
    case ELEMENT_U16: memcpy(&half, at, 2); return half;
    case ELEMENT_I64: memcpy(&i64, at, 8); return (double)i64;
    case ELEMENT_BOOL: return at[0] != 0;
    case ELEMENT_E4M3: return (double)e4m3_to_f32(at[0]);
    case ELEMENT_E5M2: return (double)e5m2_to_f32(at[0]);
    case ELEMENT_Q8_0: {
        int q = at[2 + within];
        return block_scale(at) * (q < 128 ? q : q - 256);
    }
    case ELEMENT_Q4_0: {
        int q = within < 16 ? at[2 + within] & 15 : at[2 + within - 16] >> 4;
        return block_scale(at) * (q - 8);
    }
    case ELEMENT_MXFP4: { /* f32's own product: the largest scales overflow */
        int byte = at[1 + within % 16];
        return (double)(float)(half_scale(at[0]) * e2m1_doubled(within < 16 ? byte & 15 : byte >> 4));
    }
    case ELEMENT_COUNT: break;
    }
    return NAN;
}

void element_store(element_type type, void *base, int64_t index, double value) {
    unsigned char *at = (unsigned char *)base + element_bytes(type, index);
    switch (type) {
    case ELEMENT_F32: {
        float f32 = isnan(value) ? float_of_bits((uint32_t) !!signbit(value) << 31 | 0x7F800000u | mantissa_of_nan(value, 23))
                                 : (float)value;
        memcpy(at, &f32, 4);
        return;
    }
    case ELEMENT_TF32: {
        uint32_t tf32 = double_to_tf32(value);
        memcpy(at, &tf32, 4);
        return;
    }
    case ELEMENT_F16:
    case ELEMENT_BF16: {
        uint16_t half = type == ELEMENT_F16 ? double_to_f16(value) : double_to_bf16(value);
        if (isnan(value))
            half = (uint16_t)(!!signbit(value) << 15 |
                              (type == ELEMENT_F16 ? 0x7C00u | mantissa_of_nan(value, 10) : 0x7F80u | mantissa_of_nan(value, 7)));
        memcpy(at, &half, 2);
        return;
    }
    case ELEMENT_I8: at[0] = (unsigned char)(int)clamp_integer(value, -128, 127); return;
    case ELEMENT_U8: at[0] = (unsigned char)clamp_integer(value, 0, 255); return;
    case ELEMENT_I32:
    case ELEMENT_INDEX: {
        int32_t i32 = (int32_t)clamp_integer(value, INT32_MIN, INT32_MAX);
        memcpy(at, &i32, 4);
        return;
    }
    case ELEMENT_U32: {
        uint32_t u32 = (uint32_t)clamp_integer(value, 0, UINT32_MAX);
        memcpy(at, &u32, 4);
        return;
    }
    case ELEMENT_U16: {
        uint16_t u16 = (uint16_t)clamp_integer(value, 0, UINT16_MAX);
        memcpy(at, &u16, 2);
        return;
    }
    case ELEMENT_I64: {
        double held = clamp_integer(value, -0x1p63, 0x1p63);
        int64_t i64 = held >= 0x1p63 ? INT64_MAX : (int64_t)held;
        memcpy(at, &i64, 8);
        return;
    }
    case ELEMENT_BOOL: at[0] = value != 0; return;
    case ELEMENT_E4M3: at[0] = double_to_e4m3(value, false); return;
    case ELEMENT_E5M2: at[0] = double_to_e5m2(value, false); return;
    case ELEMENT_Q8_0:
    case ELEMENT_Q4_0:
    case ELEMENT_MXFP4:
    case ELEMENT_COUNT: return; /* a block is not stored one element at a time */
    }
}

int64_t element_bytes(element_type type, int64_t count) {
    const element_info *info = &element_table[type];
    return count / info->block_elements * info->block_bytes + (count % info->block_elements ? info->block_bytes : 0);
}
