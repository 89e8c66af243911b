#include <stdbool.h>
#include <stdint.h>
#ifndef __has_builtin
#define __has_builtin(x) 0
#endif
#define INLINE static inline __attribute__((always_inline, unused))
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between functions of this file only */

typedef float f32x16 __attribute__((vector_size(64)));
typedef int32_t i32x16 __attribute__((vector_size(64)));
INLINE f32x16 f32x16_splat(float x)
{
    return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
INLINE f32x16 f32x16_load(const float *p)
{
    f32x16 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
INLINE f32x16 f32x16_fma(f32x16 a, f32x16 b, f32x16 c)
{
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_vfmaddps512_mask)
    return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
#else
    f32x16 r;
    for (int l = 0; l < 16; l++)
        r[l] = __builtin_fmaf(a[l], b[l], c[l]);
    return r;
#endif
}
INLINE void f32x16_store(float *p, f32x16 x)
{
    f32x16 v = x;
    __builtin_memcpy(p, &v, sizeof v);
}

/* One task of block_product.
 * Schedule: BM = 6, BN = 64, K in one piece */
static void block_product_task(const float *restrict a, const float *restrict b, float *restrict c, int64_t N, int64_t K,
    int64_t i0, int64_t j0)
{
    f32x16 acc_0_0, acc_0_1, acc_0_2, acc_0_3, acc_1_0, acc_1_1, acc_1_2, acc_1_3;
    f32x16 acc_2_0, acc_2_1, acc_2_2, acc_2_3, acc_3_0, acc_3_1, acc_3_2, acc_3_3;
    f32x16 acc_4_0, acc_4_1, acc_4_2, acc_4_3, acc_5_0, acc_5_1, acc_5_2, acc_5_3;
    acc_0_0 = f32x16_splat(0.0f);
    acc_0_1 = f32x16_splat(0.0f);
    acc_0_2 = f32x16_splat(0.0f);
    acc_0_3 = f32x16_splat(0.0f);
    acc_1_0 = f32x16_splat(0.0f);
    acc_1_1 = f32x16_splat(0.0f);
    acc_1_2 = f32x16_splat(0.0f);
    acc_1_3 = f32x16_splat(0.0f);
    acc_2_0 = f32x16_splat(0.0f);
    acc_2_1 = f32x16_splat(0.0f);
    acc_2_2 = f32x16_splat(0.0f);
    acc_2_3 = f32x16_splat(0.0f);
    acc_3_0 = f32x16_splat(0.0f);
    acc_3_1 = f32x16_splat(0.0f);
    acc_3_2 = f32x16_splat(0.0f);
    acc_3_3 = f32x16_splat(0.0f);
    acc_4_0 = f32x16_splat(0.0f);
    acc_4_1 = f32x16_splat(0.0f);
    acc_4_2 = f32x16_splat(0.0f);
    acc_4_3 = f32x16_splat(0.0f);
    acc_5_0 = f32x16_splat(0.0f);
    acc_5_1 = f32x16_splat(0.0f);
    acc_5_2 = f32x16_splat(0.0f);
    acc_5_3 = f32x16_splat(0.0f);
    for (int64_t k = 0; k < K; k++) {
        const f32x16 bv_0 = f32x16_load(&b[(j0 * K + k) * 64]);
        acc_0_0 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6]), bv_0, acc_0_0);
        acc_1_0 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 1]), bv_0, acc_1_0);
        acc_2_0 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 2]), bv_0, acc_2_0);
        acc_3_0 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 3]), bv_0, acc_3_0);
        acc_4_0 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 4]), bv_0, acc_4_0);
        acc_5_0 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 5]), bv_0, acc_5_0);
        const f32x16 bv_1 = f32x16_load(&b[(j0 * K + k) * 64 + 16]);
        acc_0_1 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6]), bv_1, acc_0_1);
        acc_1_1 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 1]), bv_1, acc_1_1);
        acc_2_1 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 2]), bv_1, acc_2_1);
        acc_3_1 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 3]), bv_1, acc_3_1);
        acc_4_1 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 4]), bv_1, acc_4_1);
        acc_5_1 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 5]), bv_1, acc_5_1);
        const f32x16 bv_2 = f32x16_load(&b[(j0 * K + k) * 64 + 32]);
        acc_0_2 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6]), bv_2, acc_0_2);
        acc_1_2 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 1]), bv_2, acc_1_2);
        acc_2_2 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 2]), bv_2, acc_2_2);
        acc_3_2 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 3]), bv_2, acc_3_2);
        acc_4_2 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 4]), bv_2, acc_4_2);
        acc_5_2 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 5]), bv_2, acc_5_2);
        const f32x16 bv_3 = f32x16_load(&b[(j0 * K + k) * 64 + 48]);
        acc_0_3 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6]), bv_3, acc_0_3);
        acc_1_3 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 1]), bv_3, acc_1_3);
        acc_2_3 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 2]), bv_3, acc_2_3);
        acc_3_3 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 3]), bv_3, acc_3_3);
        acc_4_3 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 4]), bv_3, acc_4_3);
        acc_5_3 = f32x16_fma(f32x16_splat(a[(i0 * K + k) * 6 + 5]), bv_3, acc_5_3);
    }
    f32x16_store(&c[i0 * 6 * N + j0 * 64], acc_0_0);
    f32x16_store(&c[i0 * 6 * N + j0 * 64 + 16], acc_0_1);
    f32x16_store(&c[i0 * 6 * N + j0 * 64 + 32], acc_0_2);
    f32x16_store(&c[i0 * 6 * N + j0 * 64 + 48], acc_0_3);
    f32x16_store(&c[(i0 * 6 + 1) * N + j0 * 64], acc_1_0);
    f32x16_store(&c[(i0 * 6 + 1) * N + j0 * 64 + 16], acc_1_1);
    f32x16_store(&c[(i0 * 6 + 1) * N + j0 * 64 + 32], acc_1_2);
    f32x16_store(&c[(i0 * 6 + 1) * N + j0 * 64 + 48], acc_1_3);
    f32x16_store(&c[(i0 * 6 + 2) * N + j0 * 64], acc_2_0);
    f32x16_store(&c[(i0 * 6 + 2) * N + j0 * 64 + 16], acc_2_1);
    f32x16_store(&c[(i0 * 6 + 2) * N + j0 * 64 + 32], acc_2_2);
    f32x16_store(&c[(i0 * 6 + 2) * N + j0 * 64 + 48], acc_2_3);
    f32x16_store(&c[(i0 * 6 + 3) * N + j0 * 64], acc_3_0);
    f32x16_store(&c[(i0 * 6 + 3) * N + j0 * 64 + 16], acc_3_1);
    f32x16_store(&c[(i0 * 6 + 3) * N + j0 * 64 + 32], acc_3_2);
    f32x16_store(&c[(i0 * 6 + 3) * N + j0 * 64 + 48], acc_3_3);
    f32x16_store(&c[(i0 * 6 + 4) * N + j0 * 64], acc_4_0);
    f32x16_store(&c[(i0 * 6 + 4) * N + j0 * 64 + 16], acc_4_1);
    f32x16_store(&c[(i0 * 6 + 4) * N + j0 * 64 + 32], acc_4_2);
    f32x16_store(&c[(i0 * 6 + 4) * N + j0 * 64 + 48], acc_4_3);
    f32x16_store(&c[(i0 * 6 + 5) * N + j0 * 64], acc_5_0);
    f32x16_store(&c[(i0 * 6 + 5) * N + j0 * 64 + 16], acc_5_1);
    f32x16_store(&c[(i0 * 6 + 5) * N + j0 * 64 + 32], acc_5_2);
    f32x16_store(&c[(i0 * 6 + 5) * N + j0 * 64 + 48], acc_5_3);
}

void block_product_variant_0(void *const *arrays, const int64_t *integers, const float *floats, int64_t first, int64_t last,
    void *scratch)
{
    (void)floats;
    (void)scratch;
    const int64_t count_1 = integers[1] / 64;
    for (int64_t task = first; task < last; task++)
        block_product_task(arrays[0], arrays[1], arrays[2], integers[1], integers[2], task / count_1, task % count_1);
}
