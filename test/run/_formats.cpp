// Conversions of fp8 formats, all of them, against the vendor's own as host code: every code decoded; every half, and f32 values at, below and above each
// boundary between two codes, encoded in both modes. NaN is compared as NaN: the vendor's drops its sign.
#include <cuda_fp8.h>
#include <cmath>
#include <cstdio>
#include <cstring>
extern "C" {
#include "base/element.h"
}

static long compared, differ;

static void held(const char *what, float from, unsigned ours, unsigned theirs) {
    compared++;
    if (ours != theirs && differ++ < 5)
        std::printf("    %s of %a: 0x%02X, the vendor's 0x%02X\n", what, (double)from, ours, theirs);
}

static unsigned nan_alike(unsigned code, unsigned magnitude_of_nan) {
    return (code & 0x7F) >= magnitude_of_nan ? 0x7F : code;
}

static void encode(float x) {
    for (int saturate = 0; saturate < 2; saturate++) {
        const __nv_saturation_t mode = saturate ? __NV_SATFINITE : __NV_NOSAT;
        held(saturate ? "e4m3, saturating," : "e4m3", x, nan_alike(f32_to_e4m3(x, saturate), 0x7F),
             nan_alike(__nv_cvt_float_to_fp8(x, mode, __NV_E4M3), 0x7F));
        held(saturate ? "e5m2, saturating," : "e5m2", x, nan_alike(f32_to_e5m2(x, saturate), 0x7D),
             nan_alike(__nv_cvt_float_to_fp8(x, mode, __NV_E5M2), 0x7D));
    }
}

static float half_value(unsigned bits) {
    return f16_to_f32((uint16_t)bits);
}

int main() {
    for (unsigned code = 0; code < 256; code++) {
        const __half_raw e4 = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)code, __NV_E4M3), e5 = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)code, __NV_E5M2);
        const float ours[2] = {e4m3_to_f32((uint8_t)code), e5m2_to_f32((uint8_t)code)}, theirs[2] = {half_value(e4.x), half_value(e5.x)};
        for (int i = 0; i < 2; i++) {
            unsigned x, y;
            std::memcpy(&x, &ours[i], 4);
            std::memcpy(&y, &theirs[i], 4);
            held(i ? "decoding e5m2" : "decoding e4m3", (float)code, std::isnan(ours[i]) ? 0 : x, std::isnan(theirs[i]) ? 0 : y);
            /* The middle between two codes, and the floats beside it. */
            const float next = i ? e5m2_to_f32((uint8_t)(code + 1)) : e4m3_to_f32((uint8_t)(code + 1)), middle = ours[i] / 2 + next / 2;
            const float near[] = {middle, std::nextafterf(middle, INFINITY), std::nextafterf(middle, -INFINITY), ours[i]};
            for (float value : near)
                encode(value);
        }
    }
    for (unsigned bits = 0; bits < 65536; bits++)
        encode(half_value(bits));
    const float ends[] = {464, std::nextafterf(464, 500), 480, 61440, std::nextafterf(61440, 0), 65536, 0x1p127f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-149f};
    for (float value : ends)
        encode(value);
    std::printf("%ld conversions compared, %ld differ\n", compared, differ);
    return differ != 0;
}
