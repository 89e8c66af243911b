#include <stdbool.h>
#include <stdint.h>
#ifndef __has_builtin
#define __has_builtin(x) 0
#endif
#define INLINE static inline __attribute__((always_inline, unused))
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between functions of this file only */

INLINE int64_t index_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
typedef float f32x16 __attribute__((vector_size(64)));
typedef int32_t i32x16 __attribute__((vector_size(64)));
INLINE f32x16 f32x16_load(const float *p)
{
    f32x16 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
INLINE f32x16 f32x16_splat(float x)
{
    return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
INLINE f32x16 f32x16_select(i32x16 m, f32x16 x, f32x16 y)
{
    return (f32x16)(((i32x16)x & m) | ((i32x16)y & ~m));
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
INLINE i32x16 i32x16_splat(int32_t x)
{
    return (i32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
typedef uint32_t u32x16 __attribute__((vector_size(64)));
INLINE i32x16 i32x16_sub(i32x16 x, i32x16 y)
{
    return (i32x16)((u32x16)x - (u32x16)y);
}
INLINE i32x16 i32x16_add(i32x16 x, i32x16 y)
{
    return (i32x16)((u32x16)x + (u32x16)y);
}
INLINE i32x16 i32x16_shl(i32x16 x, i32x16 n)
{
    return (i32x16)((u32x16)x << (n & 31));
}
INLINE f32x16 f32x16_exp(f32x16 x)
{
    const f32x16 above = f32x16_select(x < -104.0f, f32x16_splat(-104.0f), x);
    const f32x16 clamped = f32x16_select(89.0f < above, f32x16_splat(89.0f), above);
    const f32x16 t = f32x16_fma(clamped, f32x16_splat(1.44269502f), f32x16_splat(12582912.0f));
    const f32x16 n = t - 12582912.0f;
    const f32x16 r = f32x16_fma(n, f32x16_splat(1.90465421e-09f), f32x16_fma(n, f32x16_splat(-0.693147182f), clamped));
    const f32x16 p = f32x16_fma(f32x16_fma(f32x16_fma(f32x16_fma(f32x16_splat(0.00138470344f), r, f32x16_splat(0.00836999f)), r,
        f32x16_splat(0.041668009f)), r, f32x16_splat(0.166665092f)), r, f32x16_splat(0.49999994f));
    const f32x16 y = f32x16_fma(r * r, p, r) + 1.0f;
    const i32x16 k = i32x16_sub((i32x16)t, i32x16_splat(1262485504));
    const i32x16 lower = k >> 1;
    const f32x16 s1 = (f32x16)i32x16_shl(i32x16_add(lower, i32x16_splat(127)), i32x16_splat(23));
    const f32x16 s2 = (f32x16)i32x16_shl(i32x16_add(i32x16_sub(k, lower), i32x16_splat(127)), i32x16_splat(23));
    return y * s1 * s2;
}
INLINE void f32x16_store(float *p, f32x16 x)
{
    f32x16 v = x;
    __builtin_memcpy(p, &v, sizeof v);
}
/* The first n of `lanes` bits; without a branch, which compilers would draw out of loops. */
INLINE unsigned prefix_mask(int64_t n, int lanes)
{
    n &= ~(n >> 63);
    n = lanes + ((n - lanes) & ((n - lanes) >> 63));
    return (1u << n) - 1;
}
INLINE f32x16 f32x16_load_first(const float *p, int64_t n)
{
    f32x16 v;
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_loadups512_mask)
    v = (f32x16)__builtin_ia32_loadups512_mask((const void *)p, (f32x16){0}, prefix_mask(n, 16));
#else
    float t[16] = {0};
    for (int l = 0; l < 16 && l < n; l++)
        t[l] = p[l];
    __builtin_memcpy(&v, t, sizeof v);
#endif
    return v;
}
INLINE f32x16 f32x16_abs(f32x16 x)
{
    return (f32x16)((i32x16)x & 0x7fffffff);
}
INLINE bool i32x16_all(i32x16 m)
{
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_ptestmd512)
    return (uint16_t)__builtin_ia32_ptestmd512(m, m, -1) == 0xffff;
#else
    int32_t all = -1;
    for (int l = 0; l < 16; l++)
        all &= m[l];
    return all;
#endif
}
INLINE u32x16 u32x16_splat(uint32_t x)
{
    return (u32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
INLINE u32x16 u32x16_select(i32x16 m, u32x16 x, u32x16 y)
{
    return (u32x16)(((i32x16)x & m) | ((i32x16)y & ~m));
}
INLINE u32x16 u32x16_shl(u32x16 x, u32x16 n)
{
    return (u32x16)((u32x16)x << (n & 31));
}
INLINE u32x16 u32x16_shr(u32x16 x, u32x16 n)
{
    return x >> (n & 31);
}
INLINE f32x16 f32x16_from_i32(i32x16 x)
{
    return __builtin_convertvector(x, f32x16);
}
INLINE f32x16 f32x16_from_u32(u32x16 x)
{
    return __builtin_convertvector(x, f32x16);
}
INLINE f32x16 f32x16_sin(f32x16 x)
{
    const u32x16 sign = (u32x16)x & 0x80000000u;
    const f32x16 a = f32x16_abs(x);
    const f32x16 whole = f32x16_fma(a, f32x16_splat(0.636619747f), f32x16_splat(12582912.0f));
    const f32x16 n = whole - 12582912.0f;
    const f32x16 r1 = f32x16_fma(n, f32x16_splat(-1.57079637f), a);
    const f32x16 near = f32x16_fma(n, f32x16_splat(1.71512451e-15f), f32x16_fma(n, f32x16_splat(4.37113883e-08f), r1));
    const i32x16 is_near = a < 65536.0f;
    u32x16 far_turns = (u32x16){0};
    f32x16 far = (f32x16){0};
    if (!i32x16_all(is_near)) {
        const u32x16 w = (u32x16)a;
        const u32x16 m = (w & 0x7fffffu) | 0x800000u;
        const u32x16 skip = (w >> 23) - 120u;
        const u32x16 word = skip >> 5;
        const u32x16 left = skip & 31u;
        const u32x16 right = 31u - left;
        const u32x16 raw = u32x16_select(word == 4u, u32x16_splat(0xf534ddc0u), u32x16_select(word == 3u,
            u32x16_splat(0xfc2757d1u), u32x16_select(word == 2u, u32x16_splat(0x4e441529u), u32x16_select(word == 1u,
            u32x16_splat(0xa2f9836eu), u32x16_splat(0u)))));
        const u32x16 raw_v2 = u32x16_select(word == 4u, u32x16_splat(0xdb629599u), u32x16_select(word == 3u,
            u32x16_splat(0xf534ddc0u), u32x16_select(word == 2u, u32x16_splat(0xfc2757d1u), u32x16_select(word == 1u,
            u32x16_splat(0x4e441529u), u32x16_splat(0xa2f9836eu)))));
        const u32x16 raw_v3 = u32x16_select(word == 4u, u32x16_splat(0x3c439041u), u32x16_select(word == 3u,
            u32x16_splat(0xdb629599u), u32x16_select(word == 2u, u32x16_splat(0xf534ddc0u), u32x16_select(word == 1u,
            u32x16_splat(0xfc2757d1u), u32x16_splat(0x4e441529u)))));
        const u32x16 raw_v4 = u32x16_select(word == 4u, u32x16_splat(0xfe5163abu), u32x16_select(word == 3u,
            u32x16_splat(0x3c439041u), u32x16_select(word == 2u, u32x16_splat(0xdb629599u), u32x16_select(word == 1u,
            u32x16_splat(0xf534ddc0u), u32x16_splat(0xfc2757d1u)))));
        const u32x16 window = u32x16_shl(raw, left) | u32x16_shr(raw_v2 >> 1, right);
        const u32x16 window_v2 = u32x16_shl(raw_v2, left) | u32x16_shr(raw_v3 >> 1, right);
        const u32x16 window_v3 = u32x16_shl(raw_v3, left) | u32x16_shr(raw_v4 >> 1, right);
        const u32x16 l1 = m * window_v2;
        const u32x16 low = (m & 65535u) * (window_v3 & 65535u);
        const u32x16 mid = (m & 65535u) * (window_v3 >> 16);
        const u32x16 cross = (low >> 16) + (mid & 65535u) + (m >> 16) * (window_v3 & 65535u);
        const u32x16 middle = l1 + ((m >> 16) * (window_v3 >> 16) + (mid >> 16) + (cross >> 16));
        const u32x16 low_v2 = (m & 65535u) * (window_v2 & 65535u);
        const u32x16 mid_v2 = (m & 65535u) * (window_v2 >> 16);
        const u32x16 cross_v2 = (low_v2 >> 16) + (mid_v2 & 65535u) + (m >> 16) * (window_v2 & 65535u);
        const u32x16 top = m * window + ((m >> 16) * (window_v2 >> 16) + (mid_v2 >> 16) + (cross_v2 >> 16)) +
            u32x16_select(middle < l1, u32x16_splat(1u), u32x16_splat(0u));
        const u32x16 h = (top << 2) | (middle >> 30);
        const u32x16 l = middle << 2;
        const u32x16 negative = h >> 31;
        far_turns = (top >> 30) + negative;
        const u32x16 flip = 0u - negative;
        const u32x16 hm = (h ^ flip) + u32x16_select(l == 0u, negative, u32x16_splat(0u));
        const u32x16 lm = (l ^ flip) + negative;
        const f32x16 big = f32x16_from_i32((i32x16)(hm & 0xffffff00u));
        const f32x16 rest = f32x16_from_u32((hm << 24) | (lm >> 8)) * 5.96046448e-08f;
        const f32x16 t = big * 1.57079637f;
        far = (f32x16)((u32x16)((t + (f32x16_fma(big, f32x16_splat(1.57079637f), -t) + f32x16_fma(big,
            f32x16_splat(-4.37113883e-08f), rest * 1.57079637f))) * 2.32830644e-10f) ^ (negative << 31));
    }
    const u32x16 turns = u32x16_select(is_near, (u32x16)whole, far_turns);
    const f32x16 angle = f32x16_select(is_near, near, far);
    const f32x16 finite = f32x16_select(a < __builtin_inff(), angle, a - a);
    const f32x16 s = finite * finite;
    const f32x16 sine = f32x16_fma(finite * s, f32x16_fma(f32x16_fma(f32x16_splat(-0.000195068453f), s,
        f32x16_splat(0.00833210163f)), s, f32x16_splat(-0.166666538f)), finite);
    const f32x16 cosine = f32x16_fma(s, f32x16_fma(f32x16_fma(f32x16_fma(f32x16_splat(2.4458579e-05f), s,
        f32x16_splat(-0.00138875935f)), s, f32x16_splat(0.041666653f)), s, f32x16_splat(-0.5f)), f32x16_splat(1.0f));
    return (f32x16)((u32x16)f32x16_select((turns & 1u) == 0u, sine, cosine) ^ (((turns & 2u) << 30) ^ sign));
}
INLINE void f32x16_store_first(float *p, f32x16 x, int64_t n)
{
    f32x16 v = x;
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_storeups512_mask)
    __builtin_ia32_storeups512_mask((void *)p, (f32x16)v, prefix_mask(n, 16));
#else
    for (int l = 0; l < 16 && l < n; l++)
        p[l] = v[l];
#endif
}

/* One task of scale_rows. */
static void scale_rows_task(const float *restrict x, float *restrict y, int64_t M, int64_t N, float s, int64_t i0)
{
    for (int64_t i = i0 * 32; i < index_min(i0 * 32 + 32, M); i++) {
        for (int64_t c = 0; c < N - 15; c += 16) {
            f32x16_store(&y[i * N + c], f32x16_exp(s * f32x16_load(&x[i * N + c])));
        }
        for (int64_t c = N / 16 * 16; c < N; c += 16) {
            f32x16_store_first(&y[i * N + c], f32x16_sin(s * f32x16_load_first(&x[i * N + c], N - c)), N - c);
        }
    }
}

void scale_rows_variant_0(void *const *arrays, const int64_t *integers, const float *floats, int64_t first, int64_t last,
    void *scratch)
{
    (void)scratch;
    for (int64_t task = first; task < last; task++)
        scale_rows_task(arrays[0], arrays[1], integers[0], integers[1], floats[0], task);
}
