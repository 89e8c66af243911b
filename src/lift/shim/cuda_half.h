/* cuda_fp16.h and cuda_bf16.h: a struct around the storage type, with clang's own arithmetic (each operation rounds once). */
#define __CUDA_SMALL(H, S, name, tag, wide, pair)                                                                                  \
    struct __attribute__((aligned(2))) H {                                                                                         \
        S v;                                                                                                                       \
        H() = default;                                                                                                             \
        struct raw {};                                                                                                             \
        __CUDA_BOTH constexpr H(S x, raw) : v(x) {}                                                                                \
        __CUDA_BOTH constexpr H(float x) : v((S)x) {}                                                                              \
        __CUDA_BOTH constexpr H(double x) : v((S)(float)x) {}                                                                      \
        __CUDA_BOTH constexpr H(int x) : v((S)(float)x) {}                                                                         \
        __CUDA_BOTH constexpr H(unsigned x) : v((S)(float)x) {}                                                                    \
        __CUDA_BOTH constexpr H(long x) : v((S)(float)x) {}                                                                        \
        __CUDA_BOTH constexpr H(short x) : v((S)(float)x) {}                                                                       \
        __CUDA_BOTH constexpr H(unsigned short x) : v((S)(float)x) {}                                                              \
        __CUDA_BOTH constexpr operator float() const { return (float)v; }                                                          \
        __CUDA_BOTH constexpr H &operator+=(H o) { v = v + o.v; return *this; }                                                    \
        __CUDA_BOTH constexpr H &operator-=(H o) { v = v - o.v; return *this; }                                                    \
        __CUDA_BOTH constexpr H &operator*=(H o) { v = v * o.v; return *this; }                                                    \
        __CUDA_BOTH constexpr H &operator/=(H o) { v = v / o.v; return *this; }                                                    \
        __CUDA_BOTH constexpr H operator-() const { return H(-v, raw()); }                                                         \
        __CUDA_BOTH friend constexpr H operator+(H a, H b) { return H(a.v + b.v, raw()); }                                         \
        __CUDA_BOTH friend constexpr H operator-(H a, H b) { return H(a.v - b.v, raw()); }                                         \
        __CUDA_BOTH friend constexpr H operator*(H a, H b) { return H(a.v * b.v, raw()); }                                         \
        __CUDA_BOTH friend constexpr H operator/(H a, H b) { return H(a.v / b.v, raw()); }                                         \
        __CUDA_BOTH friend constexpr bool operator==(H a, H b) { return a.v == b.v; }                                              \
        __CUDA_BOTH friend constexpr bool operator!=(H a, H b) { return a.v != b.v; }                                              \
        __CUDA_BOTH friend constexpr bool operator<(H a, H b) { return a.v < b.v; }                                                \
        __CUDA_BOTH friend constexpr bool operator>(H a, H b) { return a.v > b.v; }                                                \
        __CUDA_BOTH friend constexpr bool operator<=(H a, H b) { return a.v <= b.v; }                                              \
        __CUDA_BOTH friend constexpr bool operator>=(H a, H b) { return a.v >= b.v; }                                              \
    };                                                                                                                             \
    struct __attribute__((aligned(4))) H##2 {                                                                                      \
        H x, y;                                                                                                                    \
        H##2() = default;                                                                                                          \
        __CUDA_BOTH constexpr H##2(H a, H b) : x(a), y(b) {}                                                                       \
        __CUDA_BOTH friend constexpr H##2 operator+(H##2 a, H##2 b) { return H##2(a.x + b.x, a.y + b.y); }                         \
        __CUDA_BOTH friend constexpr H##2 operator-(H##2 a, H##2 b) { return H##2(a.x - b.x, a.y - b.y); }                         \
        __CUDA_BOTH friend constexpr H##2 operator*(H##2 a, H##2 b) { return H##2(a.x * b.x, a.y * b.y); }                         \
        __CUDA_BOTH friend constexpr H##2 operator/(H##2 a, H##2 b) { return H##2(a.x / b.x, a.y / b.y); }                         \
        __CUDA_BOTH constexpr H##2 &operator+=(H##2 o) { return *this = *this + o; }                                               \
        __CUDA_BOTH constexpr H##2 &operator*=(H##2 o) { return *this = *this * o; }                                               \
    };                                                                                                                             \
    __CUDA_BOTH constexpr float __##tag##2float(H x) { return (float)x.v; }                                                        \
    __CUDA_BOTH constexpr H __float2##tag(float x) { return H(x); }                                                                \
    __CUDA_BOTH constexpr H __float2##tag##_rn(float x) { return H(x); }                                                           \
    __CUDA_BOTH constexpr H __double2##tag(double x) { return H(x); }                                                              \
    __CUDA_BOTH constexpr H __int2##tag##_rn(int x) { return H(x); }                                                               \
    __CUDA_BOTH constexpr H __ushort_as_##name(unsigned short x) { return H(__builtin_bit_cast(S, x), H::raw()); }                 \
    __CUDA_BOTH constexpr H __short_as_##name(short x) { return H(__builtin_bit_cast(S, x), H::raw()); }                           \
    __CUDA_BOTH constexpr unsigned short __##name##_as_ushort(H x) { return __builtin_bit_cast(unsigned short, x.v); }             \
    __CUDA_BOTH constexpr short __##name##_as_short(H x) { return __builtin_bit_cast(short, x.v); }                                \
    __CUDA_BOTH constexpr H##2 __floats2##pair##_rn(float a, float b) { return H##2(H(a), H(b)); }                                 \
    __CUDA_BOTH constexpr H##2 __float22##pair##_rn(float2 a) { return H##2(H(a.x), H(a.y)); }                                     \
    __CUDA_BOTH constexpr H##2 __float2##pair##_rn(float a) { return H##2(H(a), H(a)); }                                           \
    __CUDA_BOTH constexpr float2 __##pair##2float2(H##2 a) { return float2{a.x, a.y}; }                                            \
    __CUDA_BOTH constexpr H##2 make_##pair(H a, H b) { return H##2(a, b); }                                                        \
    __CUDA_BOTH constexpr float __low2float(H##2 a) { return a.x; }                                                                \
    __CUDA_BOTH constexpr float __high2float(H##2 a) { return a.y; }                                                               \
    __CUDA_BOTH constexpr H __low2##name(H##2 a) { return a.x; }                                                                   \
    __CUDA_BOTH constexpr H __high2##name(H##2 a) { return a.y; }                                                                  \
    __CUDA_BOTH constexpr H __hadd(H a, H b) { return a + b; }                                                                     \
    __CUDA_BOTH constexpr H __hsub(H a, H b) { return a - b; }                                                                     \
    __CUDA_BOTH constexpr H __hmul(H a, H b) { return a * b; }                                                                     \
    __CUDA_BOTH constexpr H __hdiv(H a, H b) { return a / b; }                                                                     \
    __CUDA_BOTH constexpr H __hneg(H a) { return -a; }                                                                             \
    __CUDA_BOTH constexpr H __habs(H a) { return a.v < (S)0.0f ? -a : a; }                                                         \
    __CUDA_BOTH constexpr bool __heq(H a, H b) { return a == b; }                                                                  \
    __CUDA_BOTH constexpr bool __hne(H a, H b) { return a != b; }                                                                  \
    __CUDA_BOTH constexpr bool __hlt(H a, H b) { return a < b; }                                                                   \
    __CUDA_BOTH constexpr bool __hgt(H a, H b) { return a > b; }                                                                   \
    __CUDA_BOTH constexpr bool __hle(H a, H b) { return a <= b; }                                                                  \
    __CUDA_BOTH constexpr bool __hge(H a, H b) { return a >= b; }                                                                  \
    __CUDA_BOTH constexpr bool __hisnan(H a) { return a.v != a.v; }                                                                \
    __CUDA_BOTH constexpr H __hmax(H a, H b) { return a < b ? b : a; }                                                             \
    __CUDA_BOTH constexpr H __hmin(H a, H b) { return b < a ? b : a; }                                                             \
    __CUDA_DECLARE __CUDA_PURE S __cuda_fma_##wide(S, S, S) __asm__("cuda.fma." #wide);                                            \
    __device__ inline H __hfma(H a, H b, H c) { return H(__cuda_fma_##wide(a.v, b.v, c.v), H::raw()); }                            \
    __CUDA_BOTH constexpr H##2 __hadd2(H##2 a, H##2 b) { return a + b; }                                                           \
    __CUDA_BOTH constexpr H##2 __hsub2(H##2 a, H##2 b) { return a - b; }                                                           \
    __CUDA_BOTH constexpr H##2 __hmul2(H##2 a, H##2 b) { return a * b; }                                                           \
    __device__ inline H##2 __hfma2(H##2 a, H##2 b, H##2 c) { return H##2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }          \
    __device__ inline H hexp(H x) { return H(expf(x)); }                                                                           \
    __device__ inline H hlog(H x) { return H(logf(x)); }                                                                           \
    __device__ inline H hsqrt(H x) { return H(sqrtf(x)); }                                                                         \
    __device__ inline H hrsqrt(H x) { return H(rsqrtf(x)); }                                                                       \
    __device__ inline H hrcp(H x) { return H(1.0f / (float)x); }                                                                   \
    __device__ inline H hsin(H x) { return H(sinf(x)); }                                                                           \
    __device__ inline H hcos(H x) { return H(cosf(x)); }                                                                           \
    __device__ inline H htanh(H x) { return H(tanhf(x)); }                                                                         \
    __device__ inline H hfloor(H x) { return H(floorf(x)); }                                                                       \
    __device__ inline H hceil(H x) { return H(ceilf(x)); }
__CUDA_SMALL(__half, _Float16, half, half, f16, half2)
__CUDA_SMALL(__nv_bfloat16, __bf16, bfloat16, bfloat16, bf16, bfloat162)
#undef __CUDA_SMALL
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
__CUDA_BOTH constexpr __half2 __half2half2(__half a) { return __half2(a, a); }
__CUDA_BOTH constexpr __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
__CUDA_BOTH constexpr __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
__CUDA_BOTH constexpr __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
__CUDA_BOTH constexpr int __half2int_rz(__half a) { return (int)(float)a; }
