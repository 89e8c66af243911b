/* Number formats of matrix units. */
#include "probe/number.h"
#include <math.h>
#include <string.h>

const number_info number_table[NUMBER_COUNT] = {
    [NUMBER_F32] = {"f32", 4, 8, 23, true, true},  [NUMBER_F16] = {"f16", 2, 5, 10, true, true},
    [NUMBER_BF16] = {"bf16", 2, 8, 7, true, true}, [NUMBER_E4M3] = {"e4m3", 1, 4, 3, false, true},
    [NUMBER_E5M2] = {"e5m2", 1, 5, 2, true, true}, [NUMBER_S8] = {"s8", 1, 0, 0, false, true},
    [NUMBER_U8] = {"u8", 1, 0, 0, false, false},   [NUMBER_S4] = {"s4", 1, 0, 0, false, true},
    [NUMBER_U4] = {"u4", 1, 0, 0, false, false},   [NUMBER_S32] = {"s32", 4, 0, 0, false, true}};

int number_bits(number_kind kind) {
    return kind == NUMBER_S4 || kind == NUMBER_U4 ? 4 : 8 * number_table[kind].bytes;
}

static int bias_of(const number_info *f) {
    return (1 << (f->exponent_bits - 1)) - 1;
}

int number_lowest_exponent(number_kind kind) {
    return 1 - bias_of(&number_table[kind]);
}

int number_highest_exponent(number_kind kind) {
    const number_info *f = &number_table[kind];
    return (1 << f->exponent_bits) - (f->has_infinity ? 2 : 1) - bias_of(f);
}

uint32_t number_sign_bit(number_kind kind) {
    return 1u << (number_bits(kind) - 1);
}

uint32_t number_infinity(number_kind kind) {
    const number_info *f = &number_table[kind];
    uint32_t exponent = ((1u << f->exponent_bits) - 1) << f->stored_bits;
    return f->has_infinity ? exponent : exponent | ((1u << f->stored_bits) - 1);
}

uint32_t number_largest(number_kind kind) {
    return number_infinity(kind) - 1;
}

number number_decode(number_kind kind, uint32_t code) {
    const number_info *f = &number_table[kind];
    number x = {0};
    if (!f->exponent_bits) {
        int64_t value = kind == NUMBER_S8   ? (int8_t)code
                        : kind == NUMBER_U8 ? (int64_t)(uint8_t)code
                        : kind == NUMBER_S4 ? (int64_t)((code & 15) ^ 8) - 8
                        : kind == NUMBER_U4 ? (int64_t)(code & 15)
                                            : (int32_t)code;
        x.negative = value < 0;
        x.significand = value < 0 ? -value : value;
        return x;
    }
    uint32_t fraction = code & ((1u << f->stored_bits) - 1), top = (1u << f->exponent_bits) - 1;
    uint32_t exponent = (code >> f->stored_bits) & top;
    x.negative = (code >> (f->stored_bits + f->exponent_bits)) & 1;
    if (exponent == top && (f->has_infinity || fraction == (1u << f->stored_bits) - 1)) {
        x.class = fraction && f->has_infinity ? NUMBER_NAN : f->has_infinity ? NUMBER_INFINITE : NUMBER_NAN;
        return x;
    }
    x.significand = exponent ? (int64_t)(fraction | 1u << f->stored_bits) : (int64_t)fraction;
    x.exponent = (int)(exponent ? exponent : 1) - bias_of(f);
    x.place = x.exponent - f->stored_bits;
    return x;
}

bool number_encode(number_kind kind, bool negative, uint64_t significand, int place, uint32_t *code) {
    const number_info *f = &number_table[kind];
    *code = 0;
    if (!f->exponent_bits)
        return false;
    uint32_t sign = negative ? number_sign_bit(kind) : 0;
    if (!significand) {
        *code = sign;
        return true;
    }
    int exponent = place + 63 - __builtin_clzll(significand), lowest = number_lowest_exponent(kind);
    int unit = (exponent > lowest ? exponent : lowest) - f->stored_bits;
    for (; place < unit; place++, significand >>= 1)
        if (significand & 1)
            return false;
    if (exponent > number_highest_exponent(kind))
        return false;
    significand <<= place - unit;
    uint32_t field = significand >> f->stored_bits ? (uint32_t)(unit + f->stored_bits - lowest + 1) : 0;
    *code = sign | field << f->stored_bits | ((uint32_t)significand & ((1u << f->stored_bits) - 1));
    return number_decode(kind, *code).class == NUMBER_FINITE;
}

bool number_make(number_kind kind, bool negative, int exponent, uint32_t fraction, uint32_t *code) {
    int stored = number_table[kind].stored_bits;
    return number_encode(kind, negative, (1u << stored) | fraction, exponent - stored, code);
}

double number_value(number_kind kind, uint32_t code) {
    number x = number_decode(kind, code);
    double value = x.class == NUMBER_NAN ? NAN : x.class == NUMBER_INFINITE ? INFINITY : ldexp((double)x.significand, x.place);
    return x.negative ? -value : value;
}

uint32_t number_load(number_kind kind, const void *codes, int64_t index) {
    uint32_t code = 0;
    uint16_t half;
    switch (number_table[kind].bytes) {
    case 1: return ((const uint8_t *)codes)[index];
    case 2: memcpy(&half, (const char *)codes + 2 * index, 2); return half;
    default: memcpy(&code, (const char *)codes + 4 * index, 4); return code;
    }
}

void number_store(number_kind kind, void *codes, int64_t index, uint32_t code) {
    uint16_t half = (uint16_t)code;
    switch (number_table[kind].bytes) {
    case 1: ((uint8_t *)codes)[index] = (uint8_t)code; break;
    case 2: memcpy((char *)codes + 2 * index, &half, 2); break;
    default: memcpy((char *)codes + 4 * index, &code, 4); break;
    }
}
