/* Our conversions as bytes, for test/run/formats.sh: of every half its e4m3, e5m2 and bf16 codes, not saturating; then of every fp8 code its two values, as f32. */
#include "base/element.h"
#include <stdio.h>

int main(void) {
    for (unsigned bits = 0; bits < 65536; bits++) {
        float x = f16_to_f32((uint16_t)bits);
        uint16_t wide = f32_to_bf16(x);
        unsigned char out[4] = {f32_to_e4m3(x, false), f32_to_e5m2(x, false), (unsigned char)wide, (unsigned char)(wide >> 8)};
        fwrite(out, 1, sizeof out, stdout);
    }
    for (unsigned code = 0; code < 256; code++) {
        float out[2] = {e4m3_to_f32((uint8_t)code), e5m2_to_f32((uint8_t)code)};
        fwrite(out, sizeof *out, 2, stdout);
    }
    return 0;
}
