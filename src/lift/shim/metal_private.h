/* Names that Apple's library has for itself and that programs call all the same: __metal_exp(x, how fast), __metal_simd_sum(x), .. */
#define MSL_P1(fn, as)                                                                                                           \
    template <class T> inline T __metal_##fn(T x, int) { return metal::as(x); }                                                  \
    template <class T> inline T __metal_##fn(T x) { return metal::as(x); }
#define MSL_P2(fn, as)                                                                                                           \
    template <class T> inline T __metal_##fn(T x, T y, int) { return metal::as(x, y); }                                          \
    template <class T> inline T __metal_##fn(T x, T y) { return metal::as(x, y); }
#define MSL_P3(fn, as)                                                                                                           \
    template <class T> inline T __metal_##fn(T x, T y, T z, int) { return metal::as(x, y, z); }                                  \
    template <class T> inline T __metal_##fn(T x, T y, T z) { return metal::as(x, y, z); }
MSL_P1(sin, sin) MSL_P1(cos, cos) MSL_P1(tan, tan) MSL_P1(asin, asin) MSL_P1(acos, acos) MSL_P1(atan, atan) MSL_P1(sinh, sinh)
MSL_P1(cosh, cosh) MSL_P1(tanh, tanh) MSL_P1(asinh, asinh) MSL_P1(acosh, acosh) MSL_P1(atanh, atanh) MSL_P1(sinpi, sinpi)
MSL_P1(cospi, cospi) MSL_P1(tanpi, tanpi) MSL_P1(exp, exp) MSL_P1(exp2, exp2) MSL_P1(exp10, exp10) MSL_P1(log, log)
MSL_P1(log2, log2) MSL_P1(log10, log10) MSL_P1(sqrt, sqrt) MSL_P1(rsqrt, rsqrt) MSL_P1(rint, rint) MSL_P1(floor, floor)
MSL_P1(ceil, ceil) MSL_P1(round, round) MSL_P1(trunc, trunc) MSL_P1(fract, fract) MSL_P1(fabs, fabs) MSL_P1(sign, sign)
MSL_P2(atan2, atan2) MSL_P2(pow, pow) MSL_P2(powr, powr) MSL_P2(fmod, fmod) MSL_P2(divide, divide) MSL_P2(fmin, fmin)
MSL_P2(fmax, fmax) MSL_P2(copysign, copysign) MSL_P2(fdim, fdim) MSL_P2(nextafter, nextafter) MSL_P2(step, step)
MSL_P3(fma, fma) MSL_P3(fmin3, min3) MSL_P3(fmax3, max3) MSL_P3(fmedian3, median3)
template <class T> inline T __metal_ldexp(T x, int e, int = 0) { return metal::ldexp(x, e); }
template <class T> inline T __metal_frexp(T x, __private int *e) {
    int whole;
    T part = metal::frexp(x, whole);
    *e = whole;
    return part;
}
#define MSL_PL0(fn)                                                                                                              \
    template <class T> inline T __metal_##fn(T x) { return metal::fn(x); }
#define MSL_PL1(fn)                                                                                                              \
    template <class T> inline T __metal_##fn(T x, ushort i) { return metal::fn(x, i); }
#define MSL_PL2(fn)                                                                                                              \
    template <class T> inline T __metal_##fn(T x, T f, ushort i, ushort m) { return metal::fn(x, f, i, m); }
MSL_PL0(simd_sum) MSL_PL0(simd_product) MSL_PL0(simd_min) MSL_PL0(simd_max) MSL_PL0(simd_and) MSL_PL0(simd_or)
MSL_PL0(simd_prefix_inclusive_sum) MSL_PL0(simd_prefix_exclusive_sum) MSL_PL0(simd_prefix_inclusive_product)
MSL_PL0(simd_prefix_exclusive_product) MSL_PL0(simd_broadcast_first) MSL_PL0(quad_sum) MSL_PL0(quad_min) MSL_PL0(quad_max)
MSL_PL1(simd_shuffle) MSL_PL1(simd_shuffle_xor) MSL_PL1(simd_shuffle_up) MSL_PL1(simd_shuffle_down) MSL_PL1(simd_broadcast)
MSL_PL1(simd_shuffle_rotate_up) MSL_PL1(simd_shuffle_rotate_down) MSL_PL1(quad_shuffle) MSL_PL1(quad_shuffle_xor)
MSL_PL2(simd_shuffle_and_fill_up) MSL_PL2(simd_shuffle_and_fill_down)
// of floats there is none: a program that has one is read as long as nothing calls it
float __metal_simd_xor(float) __asm__("air.simd_xor.f32");
template <class T> inline T __metal_simd_xor(T x) { return metal::simd_xor(x); }
