/* The Metal standard library, part 2: functions of numbers. */
// ---- functions --------------------------------------------------------------------------------------------
#define AIR_PURE __attribute__((const, nothrow))
#define MSL_FLOATS(X) X(float, f32) X(half, f16) X(bfloat, bf16)
#define MSL_INTS(X) X(char, i8) X(uchar, u8) X(short, i16) X(ushort, u16) X(int, i32) X(uint, u32) X(long, i64) X(ulong, u64)
#define MSL_ALL(X) MSL_FLOATS(X) MSL_INTS(X)
namespace metal {
// Functions of bfloat are templates, so that a program may have its own beside them, as it may with Apple's library, which has none
template <class B> using msl_only_bfloat = enable_if_t<is_same<B, bfloat>::value, bfloat>;
#define MSL_BFLOAT template <class B> inline msl_only_bfloat<B>
// elementwise lifting of scalar functions to vectors
#define MSL_LIFT1(fn)                                                                                                            \
    template <class T, int N> inline vec<T, N> fn(vec<T, N> a) {                                                                 \
        vec<T, N> r;                                                                                                             \
        MSL_UNROLL for (int i = 0; i < N; i++) r[i] = fn(T(a.d[i]));                                                             \
        return r;                                                                                                                \
    }
#define MSL_LIFT2(fn)                                                                                                            \
    template <class T, int N> inline vec<T, N> fn(vec<T, N> a, vec<T, N> b) {                                                    \
        vec<T, N> r;                                                                                                             \
        MSL_UNROLL for (int i = 0; i < N; i++) r[i] = fn(T(a.d[i]), T(b.d[i]));                                                  \
        return r;                                                                                                                \
    }                                                                                                                            \
    template <class T, int N, class U, class = enable_if_t<msl_scalar<U>>> inline vec<T, N> fn(vec<T, N> a, U b) {               \
        return fn(a, vec<T, N>(b));                                                                                              \
    }                                                                                                                            \
    template <class T, int N, class U, class = enable_if_t<msl_scalar<U>>> inline vec<T, N> fn(U a, vec<T, N> b) {               \
        return fn(vec<T, N>(a), b);                                                                                              \
    }
#define MSL_LIFT3(fn)                                                                                                            \
    template <class T, int N>                                                                                                    \
    inline vec<T, N> fn(vec<T, N> a, type_identity_t<vec<T, N>, void> b, type_identity_t<vec<T, N>, void> c) {                   \
        vec<T, N> r;                                                                                                             \
        MSL_UNROLL for (int i = 0; i < N; i++) r[i] = fn(T(a.d[i]), T(b.d[i]), T(c.d[i]));                                       \
        return r;                                                                                                                \
    }
#define MSL_F1(fn)                                                                                                               \
    AIR_PURE float fn(float) __asm__("air." #fn ".f32");                                                                         \
    AIR_PURE half fn(half) __asm__("air." #fn ".f16");                                                                           \
    MSL_BFLOAT fn(B x) { return (bfloat)fn((float)x); }                                                                          \
    template <class I> inline enable_if_t<is_integral<I>::value, float> fn(I x) { return fn((float)x); }                         \
    MSL_LIFT1(fn)
#define MSL_F2(fn)                                                                                                               \
    AIR_PURE float fn(float, float) __asm__("air." #fn ".f32");                                                                  \
    AIR_PURE half fn(half, half) __asm__("air." #fn ".f16");                                                                     \
    MSL_BFLOAT fn(B x, B y) { return (bfloat)fn((float)x, (float)y); }                                                           \
    template <class I> inline enable_if_t<is_integral<I>::value, float> fn(I x, I y) { return fn((float)x, (float)y); }          \
    MSL_LIFT2(fn)
#define MSL_TRIG                                                                                                                 \
    MSL_F1(sin)                                                                                                                  \
    MSL_F1(cos) MSL_F1(tan) MSL_F1(asin) MSL_F1(acos) MSL_F1(atan) MSL_F1(sinh) MSL_F1(cosh) MSL_F1(tanh) MSL_F1(asinh)          \
        MSL_F1(acosh) MSL_F1(atanh) MSL_F1(sinpi) MSL_F1(cospi) MSL_F1(tanpi) MSL_F1(exp) MSL_F1(exp2) MSL_F1(exp10) MSL_F1(log) \
            MSL_F1(log2) MSL_F1(log10) MSL_F1(sqrt) MSL_F1(rsqrt) MSL_F2(atan2) MSL_F2(pow) MSL_F2(powr) MSL_F2(fmod)            \
                MSL_F2(divide) MSL_F1(rint) MSL_F1(floor) MSL_F1(ceil) MSL_F1(round) MSL_F1(trunc) MSL_F1(fract) MSL_F1(fabs)    \
                    MSL_F2(fmin) MSL_F2(fmax) MSL_F2(copysign)
MSL_TRIG MSL_F1(sign) MSL_F2(fdim) MSL_F2(nextafter) MSL_F2(step) namespace precise { MSL_TRIG }
namespace fast {
MSL_TRIG
}
#define MSL_FMA(HEAD, P, T, s)                                                                                                   \
    AIR_PURE T air_fma(T, T, T) __asm__("air.fma." #s);                                                                          \
    HEAD fma(P a, P b, P c) { return air_fma(a, b, c); }
MSL_FMA(inline float, float, float, f32) MSL_FMA(inline half, half, half, f16) MSL_FMA(MSL_BFLOAT, B, bfloat, bf16) MSL_LIFT3(fma) inline float saturate(float x) { return fmin(fmax(x, 0.0f), 1.0f); }
inline half saturate(half x) { return fmin(fmax(x, (half)0), (half)1); }
MSL_LIFT1(saturate)
inline float mix(float a, float b, float t) { return a + (b - a) * t; }
MSL_LIFT3(mix)
inline float ldexp(float x, int e) { return x * exp2((float)e); }
AIR_PURE int ilogb(float) __asm__("air.ilogb.f32");
inline float frexp(float x, __private int &e) {
    int bits = __builtin_bit_cast(int, x), scale = 0;
    if ((bits & 0x7f800000) == 0) { // 0, or below the least normal number
        bits = __builtin_bit_cast(int, x * 16777216.0f);
        scale = 24;
    }
    if ((bits & 0x7fffffff) == 0 || (bits & 0x7f800000) == 0x7f800000) {
        e = 0;
        return x;
    }
    e = (bits >> 23 & 255) - 126 - scale;
    return __builtin_bit_cast(float, (bits & ~0x7f800000) | 126 << 23);
}
inline float modf(float x, __private float &i) {
    i = trunc(x);
    return x - i;
}
inline float sincos(float x, __private float &c) {
    c = cos(x);
    return sin(x);
}
template <class T> struct msl_msk { using b = bool; };
#define MSL_FPTEST(fn, e)                                                                                                        \
    constexpr bool fn(float x) { return e; }                                                                                     \
    constexpr bool fn(half x) { return e; }                                                                                      \
    template <class I> constexpr enable_if_t<is_integral<I>::value || is_same<I, bfloat>::value, bool> fn(I i) {                 \
        float x = i;                                                                                                             \
        return e;                                                                                                                \
    }                                                                                                                            \
    template <class T, int N> inline vec<bool, N> fn(vec<T, N> a) {                                                              \
        vec<bool, N> r;                                                                                                          \
        MSL_UNROLL for (int i = 0; i < N; i++) r[i] = fn(T(a.d[i]));                                                             \
        return r;                                                                                                                \
    }
MSL_FPTEST(isnan, x != x)
MSL_FPTEST(isinf, __builtin_fabsf((float)x) == INFINITY) MSL_FPTEST(isfinite, __builtin_fabsf((float)x) < INFINITY)
    MSL_FPTEST(signbit, (__builtin_bit_cast(int, (float)x) < 0))
        MSL_FPTEST(isnormal, __builtin_fabsf((float)x) < INFINITY && __builtin_fabsf((float)x) >= FLT_MIN)
#define MSL_MM(T, s)                                                                                                             \
    constexpr T min(T a, T b) { return b < a ? b : a; }                                                                          \
    constexpr T max(T a, T b) { return a < b ? b : a; }                                                                          \
    constexpr T clamp(T x, T a, T b) { return min(max(x, a), b); }
            MSL_INTS(MSL_MM)
#define MSL_MMF(HEAD, P)                                                                                                         \
    HEAD min(P a, P b) { return fmin(a, b); }                                                                                    \
    HEAD max(P a, P b) { return fmax(a, b); }                                                                                    \
    HEAD clamp(P x, P a, P b) { return fmin(fmax(x, a), b); }                                                                    \
    HEAD abs(P x) { return fabs(x); }                                                                                            \
    HEAD median3(P a, P b, P c) { return fmax(fmin(a, b), fmin(fmax(a, b), c)); }
                MSL_MMF(inline float, float) MSL_MMF(inline half, half) MSL_MMF(MSL_BFLOAT, B)
#define MSL_ABS(T, s)                                                                                                            \
    constexpr T abs(T x) { return x < 0 ? -x : x; }                                                                              \
    constexpr T absdiff(T a, T b) { return a < b ? b - a : a - b; }
                    MSL_INTS(MSL_ABS) template <class T>
                    inline T min3(T a, T b, T c) {
    return min(a, min(b, c));
}
template <class T> inline T max3(T a, T b, T c) { return max(a, max(b, c)); }
MSL_LIFT2(min)
MSL_LIFT2(max) MSL_LIFT3(clamp) MSL_LIFT1(abs)
#define MSL_BITS(T, s)                                                                                                           \
    AIR_PURE T popcount(T) __asm__("air.popcount." #s);                                                                          \
    AIR_PURE T clz(T) __asm__("air.clz." #s);                                                                                    \
    AIR_PURE T ctz(T) __asm__("air.ctz." #s);                                                                                    \
    AIR_PURE T reverse_bits(T) __asm__("air.reverse_bits." #s);                                                                  \
    AIR_PURE T mulhi(T, T) __asm__("air.mulhi." #s);                                                                             \
    AIR_PURE T addsat(T, T) __asm__("air.addsat." #s);                                                                           \
    AIR_PURE T subsat(T, T) __asm__("air.subsat." #s);                                                                           \
    AIR_PURE T rotate(T, T) __asm__("air.rotate." #s);                                                                           \
    inline T extract_bits(T x, uint o, uint n) { return (T)(x << (sizeof(T) * 8 - o - n)) >> (sizeof(T) * 8 - n); }              \
    inline T madhi(T a, T b, T c) { return mulhi(a, b) + c; }                                                                    \
    inline T mad24(T a, T b, T c) { return a * b + c; }                                                                          \
    inline T mul24(T a, T b) { return a * b; }
    MSL_INTS(MSL_BITS) MSL_LIFT1(popcount)
#define MSL_SEL(T, s)                                                                                                            \
    constexpr T select(T a, T b, bool c) { return c ? b : a; }
        MSL_ALL(MSL_SEL) constexpr bool select(bool a, bool b, bool c) {
    return c ? b : a;
}
template <class T, int N> inline vec<T, N> select(vec<T, N> a, type_identity_t<vec<T, N>, void> b, vec<bool, N> c) {
    vec<T, N> r;
    MSL_UNROLL for (int i = 0; i < N; i++) r[i] = c[i] ? T(b.d[i]) : T(a.d[i]);
    return r;
}
template <int N> inline bool all(vec<bool, N> a) {
    bool r = true;
    MSL_UNROLL for (int i = 0; i < N; i++) r &= a[i];
    return r;
}
template <int N> inline bool any(vec<bool, N> a) {
    bool r = false;
    MSL_UNROLL for (int i = 0; i < N; i++) r |= a[i];
    return r;
}
inline bool all(bool a) { return a; }
inline bool any(bool a) { return a; }
template <class T, int N> inline T dot(vec<T, N> a, type_identity_t<vec<T, N>, void> b) {
    T r = T(a.d[0]) * T(b.d[0]);
    for (int i = 1; i < N; i++)
        r += T(a.d[i]) * T(b.d[i]);
    return r;
}
template <class T, int N> inline T length_squared(vec<T, N> a) { return dot(a, a); }
template <class T, int N> inline T length(vec<T, N> a) { return sqrt(dot(a, a)); }
template <class T, int N> inline T distance(vec<T, N> a, vec<T, N> b) { return length(a - b); }
template <class T, int N> inline vec<T, N> normalize(vec<T, N> a) { return a * rsqrt(dot(a, a)); }

} // namespace metal
