/* The units of an H200 (sm_90a, ptxas 13.0), as `tilec probe` found them and doc/probe.md tells. */
#include "probe/matrix_units.h"
#include <string.h>

/* Terms cut by magnitude to 2^(E - F), E at least the result's smallest normal exponent less 7; f32 results cut, f16 results to nearest even; one NaN; 0 is +0. */
#define NATIVE(type_a, type_b, products, bits) .a = NUMBER_##type_a, .b = NUMBER_##type_b, .k = products, .alignment = bits
#define TO_F32(bits) .c = NUMBER_F32, .output_bits = bits, .lowest_exponent = -133, .nan = 0x7FFFFFFF
#define TO_F16 .c = NUMBER_F16, .output_bits = 10, .lowest_exponent = -21, .rounding = MATRIX_NEAREST, .nan = 0x7FFF
/* fp8 through two f16 products over k % 4 < 2 and the others, from 0; the addend last, to nearest. What is subnormal in e4m3 is not in f16; e5m2's are. */
#define EMULATED(type_a, type_b, products)                                                                                       \
    NATIVE(type_a, type_b, products, 25), .step_mask = 2, .addend_apart = true,                                                  \
                                          .normalised_operands = NUMBER_##type_a != NUMBER_E4M3   ? MATRIX_NEITHER               \
                                                                 : NUMBER_##type_b == NUMBER_E4M3 ? MATRIX_BOTH                  \
                                                                                                  : MATRIX_A_ALONE
#define WHOLE(type_a, type_b, products) .a = NUMBER_##type_a, .b = NUMBER_##type_b, .c = NUMBER_S32, .k = products

static const matrix_unit_row rows[] = {{"h200", "m16n8k8.f16", {NATIVE(F16, F16, 8, 25), TO_F32(23)}},
                                       {"h200", "m16n8k8.bf16", {NATIVE(BF16, BF16, 8, 25), TO_F32(23)}},
                                       {"h200", "m16n8k8.f16.f16", {NATIVE(F16, F16, 8, 25), TO_F16}},
                                       {"h200", "m16n8k16.f16", {NATIVE(F16, F16, 16, 25), TO_F32(23)}},
                                       {"h200", "m16n8k16.bf16", {NATIVE(BF16, BF16, 16, 25), TO_F32(23)}},
                                       {"h200", "m16n8k16.f16.f16", {NATIVE(F16, F16, 16, 25), TO_F16}},
                                       {"h200", "m16n8k4.tf32", {NATIVE(F32, F32, 4, 25), TO_F32(23), .ignored_bits = 13}},
                                       {"h200", "m16n8k8.tf32", {NATIVE(F32, F32, 8, 25), TO_F32(23), .ignored_bits = 13}},
                                       {"h200", "m16n8k16.e4m3", {EMULATED(E4M3, E4M3, 16), TO_F32(23)}},
                                       {"h200", "m16n8k32.e4m3", {EMULATED(E4M3, E4M3, 32), TO_F32(23)}},
                                       {"h200", "m16n8k32.e5m2", {EMULATED(E5M2, E5M2, 32), TO_F32(23)}},
                                       {"h200", "m16n8k32.e4m3xe5m2", {EMULATED(E4M3, E5M2, 32), TO_F32(23)}},
                                       {"h200", "m16n8k32.e4m3.f16", {EMULATED(E4M3, E4M3, 32), TO_F16}},
                                       {"h200", "m16n8k32.e5m2.f16", {EMULATED(E5M2, E5M2, 32), TO_F16}},
                                       {"h200", "m16n8k32.s8", {WHOLE(S8, S8, 32)}},
                                       {"h200", "m16n8k32.s8.satfinite", {WHOLE(S8, S8, 32), .saturate = true}},
                                       {"h200", "m16n8k64.s4", {WHOLE(S4, S4, 64)}},
                                       {"h200", "m16n8k64.u4", {WHOLE(U4, U4, 64)}},
                                       {"h200", "m16n8k32.u8", {WHOLE(U8, U8, 32)}},
                                       {"h200", "wgmma.m64n8k16.f16", {NATIVE(F16, F16, 16, 25), TO_F32(23)}},
                                       {"h200", "wgmma.m64n8k16.bf16", {NATIVE(BF16, BF16, 16, 25), TO_F32(23)}},
                                       {"h200", "wgmma.m64n8k16.f16.f16", {NATIVE(F16, F16, 16, 25), TO_F16}},
                                       {"h200", "wgmma.m64n8k8.tf32", {NATIVE(F32, F32, 8, 25), TO_F32(23), .ignored_bits = 13}},
                                       {"h200", "wgmma.m64n8k32.e4m3", {NATIVE(E4M3, E4M3, 32, 13), TO_F32(13)}},
                                       {"h200", "wgmma.m64n8k32.e5m2", {NATIVE(E5M2, E5M2, 32, 13), TO_F32(13)}},
                                       {"h200", "wgmma.m64n8k32.e4m3.f16", {NATIVE(E4M3, E4M3, 32, 13), TO_F16}},
                                       {"h200", "wgmma.m64n8k32.e5m2.f16", {NATIVE(E5M2, E5M2, 32, 13), TO_F16}},
                                       {"h200", "wgmma.m64n8k32.e4m3xe5m2", {NATIVE(E4M3, E5M2, 32, 13), TO_F32(13)}},
                                       {"h200", "wgmma.m64n8k32.s8", {WHOLE(S8, S8, 32)}},
                                       {"h200", "wgmma.m64n8k32.s8.satfinite", {WHOLE(S8, S8, 32), .saturate = true}},
                                       {"h200", "wgmma.m64n8k32.u8", {WHOLE(U8, U8, 32)}}};

const matrix_unit_row *matrix_unit_rows(int *count) {
    *count = sizeof rows / sizeof *rows;
    return rows;
}

const matrix_unit *matrix_unit_find(const char *device, const char *instruction) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].device, device) && !strcmp(rows[i].instruction, instruction))
            return &rows[i].unit;
    return NULL;
}
