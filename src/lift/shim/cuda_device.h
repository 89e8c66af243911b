/* CUDA's device side, as clang's HIP mode for amdgcn reads it. What the device does itself is a declared function `cuda.WHAT`; atomics are LLVM's own.
 *
 *   i32 cuda.tid.x() .y .z, cuda.ctaid.*, cuda.ntid.*, cuda.nctaid.*, cuda.laneid(); i64 cuda.clock64()
 *   void cuda.barrier() of the block, i32 cuda.barrier.count|and|or(i32), void cuda.barrier.grid(), void cuda.syncwarp(i32 mask)
 *   void cuda.fence.block|device|system()
 *   i32 cuda.shfl.idx|up|down|xor(i32 mask, i32 value, i32 lane-delta-or-mask, i32 width): wider or narrower values go in words of 32 bits
 *   i32 cuda.vote.all|any|uni|ballot(i32 mask, i32), i32 cuda.activemask(), i32 cuda.match.any|all(i32 mask, i32 value), i32 cuda.redux.add|min|max|umin|umax|and|or|xor(i32 mask, i32)
 *   float cuda.expf(float) and so on, double cuda.exp(double): C's functions by C's names; the fast ones cuda.__expf
 *   i32 cuda.clz|popc|brev|mulhi|umulhi..., i32 cuda.dp4a(i32, i32, i32)
 *   void cuda.cp.async(shared generic, global generic, i32 bytes, i32 source bytes), cuda.cp.async.commit(), cuda.cp.async.wait(i32) */
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device))
#define __launch_bounds__(n, ...) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define __forceinline__ inline
#define __noinline__
#define __inline__ inline
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __grid_constant__
#define __cluster_dims__(...)
#define __maxnreg__(n)
#define __nv_pure__
#define __restrict __restrict__
#define __CUDA_BOTH __attribute__((host)) __attribute__((device)) inline
#define __CUDA_DECLARE extern "C" __attribute__((device)) __attribute__((nothrow))
#define __CUDA_PURE __attribute__((const))
#define __CUDA_CONVERGENT __attribute__((convergent))

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef long clock_t;
typedef void *cudaStream_t;
typedef void *cudaEvent_t;
typedef int cudaError_t;
typedef void *FILE;

/* ---- vectors: structs, as CUDA's own are ------------------------------------------------------------------------------------- */
#define __CUDA_VECTOR(T, N, A1, A2, A3, A4)                                                                                        \
    struct __attribute__((aligned(A1))) N##1 { T x; };                                                                             \
    struct __attribute__((aligned(A2))) N##2 { T x, y; };                                                                          \
    struct __attribute__((aligned(A3))) N##3 { T x, y, z; };                                                                       \
    struct __attribute__((aligned(A4))) N##4 { T x, y, z, w; };                                                                    \
    __CUDA_BOTH constexpr N##1 make_##N##1(T x) { return N##1{x}; }                                                                \
    __CUDA_BOTH constexpr N##2 make_##N##2(T x, T y) { return N##2{x, y}; }                                                        \
    __CUDA_BOTH constexpr N##3 make_##N##3(T x, T y, T z) { return N##3{x, y, z}; }                                                \
    __CUDA_BOTH constexpr N##4 make_##N##4(T x, T y, T z, T w) { return N##4{x, y, z, w}; }
__CUDA_VECTOR(signed char, char, 1, 2, 1, 4)
__CUDA_VECTOR(unsigned char, uchar, 1, 2, 1, 4)
__CUDA_VECTOR(short, short, 2, 4, 2, 8)
__CUDA_VECTOR(unsigned short, ushort, 2, 4, 2, 8)
__CUDA_VECTOR(int, int, 4, 8, 4, 16)
__CUDA_VECTOR(unsigned int, uint, 4, 8, 4, 16)
__CUDA_VECTOR(long, long, 8, 16, 8, 16)
__CUDA_VECTOR(unsigned long, ulong, 8, 16, 8, 16)
__CUDA_VECTOR(long long, longlong, 8, 16, 8, 16)
__CUDA_VECTOR(unsigned long long, ulonglong, 8, 16, 8, 16)
__CUDA_VECTOR(float, float, 4, 8, 4, 16)
__CUDA_VECTOR(double, double, 8, 16, 8, 16)
#undef __CUDA_VECTOR
struct dim3 {
    unsigned x, y, z;
    __CUDA_BOTH constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    __CUDA_BOTH constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __CUDA_BOTH constexpr operator uint3() const { return uint3{x, y, z}; }
};
/* What a launch in host code becomes; host code is not compiled. */
extern "C" int __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, void *stream = 0);
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);

/* ---- places of a thread -------------------------------------------------------------------------------------------------------- */
#define __CUDA_PLACE(name, type, what)                                                                                             \
    __CUDA_DECLARE __CUDA_PURE unsigned __cuda_##name##_x() __asm__("cuda." what ".x");                                            \
    __CUDA_DECLARE __CUDA_PURE unsigned __cuda_##name##_y() __asm__("cuda." what ".y");                                            \
    __CUDA_DECLARE __CUDA_PURE unsigned __cuda_##name##_z() __asm__("cuda." what ".z");                                            \
    struct __cuda_##name##_type {                                                                                                  \
        __declspec(property(get = get_x)) unsigned x;                                                                              \
        __declspec(property(get = get_y)) unsigned y;                                                                              \
        __declspec(property(get = get_z)) unsigned z;                                                                              \
        static __device__ inline unsigned get_x() { return __cuda_##name##_x(); }                                                  \
        static __device__ inline unsigned get_y() { return __cuda_##name##_y(); }                                                  \
        static __device__ inline unsigned get_z() { return __cuda_##name##_z(); }                                                  \
        __device__ inline operator dim3() const { return dim3(get_x(), get_y(), get_z()); }                                        \
        __device__ inline operator uint3() const { return uint3{get_x(), get_y(), get_z()}; }                                      \
    };                                                                                                                             \
    extern const __device__ __cuda_##name##_type name;
__CUDA_PLACE(threadIdx, uint3, "tid")
__CUDA_PLACE(blockIdx, uint3, "ctaid")
__CUDA_PLACE(blockDim, dim3, "ntid")
__CUDA_PLACE(gridDim, dim3, "nctaid")
#undef __CUDA_PLACE
#define warpSize 32
__CUDA_DECLARE __CUDA_PURE unsigned __cuda_laneid() __asm__("cuda.laneid");

/* ---- order --------------------------------------------------------------------------------------------------------------------- */
__CUDA_DECLARE __CUDA_CONVERGENT void __syncthreads() __asm__("cuda.barrier");
__CUDA_DECLARE __CUDA_CONVERGENT int __syncthreads_count(int) __asm__("cuda.barrier.count");
__CUDA_DECLARE __CUDA_CONVERGENT int __syncthreads_and(int) __asm__("cuda.barrier.and");
__CUDA_DECLARE __CUDA_CONVERGENT int __syncthreads_or(int) __asm__("cuda.barrier.or");
__CUDA_DECLARE __CUDA_CONVERGENT void __cuda_syncwarp(unsigned) __asm__("cuda.syncwarp");
__CUDA_DECLARE __CUDA_CONVERGENT void __cuda_grid_barrier() __asm__("cuda.barrier.grid");
__CUDA_DECLARE void __threadfence_block() __asm__("cuda.fence.block");
__CUDA_DECLARE void __threadfence() __asm__("cuda.fence.device");
__CUDA_DECLARE void __threadfence_system() __asm__("cuda.fence.system");
__CUDA_DECLARE long long clock64() __asm__("cuda.clock64");
__device__ inline long long clock() { return clock64(); }
__device__ inline void __syncwarp(unsigned mask = 0xffffffffu) { __cuda_syncwarp(mask); }
__CUDA_DECLARE __attribute__((noreturn)) void __trap() __asm__("cuda.trap");

/* ---- lanes of a warp ------------------------------------------------------------------------------------------------------------ */
#define __CUDA_SHFL(what, name)                                                                                                    \
    __CUDA_DECLARE __CUDA_CONVERGENT unsigned __cuda_shfl_##what(unsigned, unsigned, unsigned, unsigned) __asm__("cuda.shfl." #what); \
    template <class T> __device__ inline T name##_sync(unsigned mask, T value, unsigned lane, int width = 32) {                    \
        if constexpr (sizeof(T) == 4)                                                                                              \
            return __builtin_bit_cast(T, __cuda_shfl_##what(mask, __builtin_bit_cast(unsigned, value), lane, (unsigned)width));    \
        else if constexpr (sizeof(T) == 2)                                                                                         \
            return __builtin_bit_cast(T, (unsigned short)__cuda_shfl_##what(mask, __builtin_bit_cast(unsigned short, value), lane, (unsigned)width)); \
        else if constexpr (sizeof(T) == 1)                                                                                         \
            return (T)__cuda_shfl_##what(mask, (unsigned)value, lane, (unsigned)width);                                            \
        else {                                                                                                                     \
            static_assert(sizeof(T) == 8, "a shuffle of this type");                                                               \
            unsigned long bits = __builtin_bit_cast(unsigned long, value);                                                         \
            unsigned low = __cuda_shfl_##what(mask, (unsigned)bits, lane, (unsigned)width);                                        \
            unsigned high = __cuda_shfl_##what(mask, (unsigned)(bits >> 32), lane, (unsigned)width);                               \
            return __builtin_bit_cast(T, (unsigned long)high << 32 | low);                                                         \
        }                                                                                                                          \
    }                                                                                                                              \
    template <class T> __device__ inline T name(T value, unsigned lane, int width = 32) { return name##_sync(0xffffffffu, value, lane, width); }
__CUDA_SHFL(idx, __shfl)
__CUDA_SHFL(up, __shfl_up)
__CUDA_SHFL(down, __shfl_down)
__CUDA_SHFL(xor, __shfl_xor)
#undef __CUDA_SHFL
#define __CUDA_VOTE(what, type)                                                                                                    \
    __CUDA_DECLARE __CUDA_CONVERGENT unsigned __cuda_vote_##what(unsigned, unsigned) __asm__("cuda.vote." #what);                  \
    __device__ inline type __##what##_sync(unsigned mask, int predicate) { return (type)__cuda_vote_##what(mask, predicate != 0); }
__CUDA_VOTE(all, int)
__CUDA_VOTE(any, int)
__CUDA_VOTE(uni, int)
__CUDA_VOTE(ballot, unsigned)
#undef __CUDA_VOTE
__device__ inline int __all(int p) { return __all_sync(0xffffffffu, p); }
__device__ inline int __any(int p) { return __any_sync(0xffffffffu, p); }
__device__ inline unsigned __ballot(int p) { return __ballot_sync(0xffffffffu, p); }
__CUDA_DECLARE __CUDA_CONVERGENT unsigned __activemask() __asm__("cuda.activemask");
__CUDA_DECLARE __CUDA_CONVERGENT unsigned __cuda_match_any(unsigned, unsigned) __asm__("cuda.match.any");
template <class T> __device__ inline unsigned __match_any_sync(unsigned mask, T value) {
    if constexpr (sizeof(T) == 4) {
        return __cuda_match_any(mask, __builtin_bit_cast(unsigned, value));
    } else { // equal in both halves
        unsigned long bits = __builtin_bit_cast(unsigned long, value);
        return __cuda_match_any(mask, (unsigned)bits) & __cuda_match_any(mask, (unsigned)(bits >> 32));
    }
}
#define __CUDA_REDUX(what, T, name)                                                                                                \
    __CUDA_DECLARE __CUDA_CONVERGENT T __cuda_redux_##name(unsigned, T) __asm__("cuda.redux." #name);                              \
    __device__ inline T __reduce_##what##_sync(unsigned mask, T value) { return __cuda_redux_##name(mask, value); }
__CUDA_REDUX(add, unsigned, add)
__CUDA_REDUX(min, unsigned, umin)
__CUDA_REDUX(max, unsigned, umax)
__CUDA_REDUX(min, int, min)
__CUDA_REDUX(max, int, max)
__CUDA_REDUX(and, unsigned, and)
__CUDA_REDUX(or, unsigned, or)
__CUDA_REDUX(xor, unsigned, xor)
#undef __CUDA_REDUX
__device__ inline int __reduce_add_sync(unsigned mask, int value) { return (int)__cuda_redux_add(mask, (unsigned)value); }

/* ---- arithmetic ------------------------------------------------------------------------------------------------------------------ */
#define __CUDA_F1(n)                                                                                                               \
    __CUDA_DECLARE __CUDA_PURE float n##f(float) __asm__("cuda." #n "f");                                                          \
    __device__ __CUDA_PURE double n(double) __asm__("cuda." #n);                                                                   \
    __device__ inline float n(float x) { return n##f(x); }                                                                         \
    __device__ inline double n(int x) { return n((double)x); }
#define __CUDA_F2(n)                                                                                                               \
    __CUDA_DECLARE __CUDA_PURE float n##f(float, float) __asm__("cuda." #n "f");                                                   \
    __device__ __CUDA_PURE double n(double, double) __asm__("cuda." #n);                                                           \
    __device__ inline float n(float x, float y) { return n##f(x, y); }                                                             \
    __device__ inline double n(float x, double y) { return n((double)x, y); }                                                      \
    __device__ inline double n(double x, float y) { return n(x, (double)y); }                                                      \
    __device__ inline double n(double x, int y) { return n(x, (double)y); }                                                        \
    __device__ inline double n(int x, double y) { return n((double)x, y); }                                                        \
    __device__ inline float n(float x, int y) { return n##f(x, (float)y); }
__CUDA_F1(sqrt) __CUDA_F1(rsqrt) __CUDA_F1(cbrt) __CUDA_F1(rcbrt) __CUDA_F1(exp) __CUDA_F1(exp2) __CUDA_F1(exp10) __CUDA_F1(expm1)
__CUDA_F1(log) __CUDA_F1(log2) __CUDA_F1(log10) __CUDA_F1(log1p) __CUDA_F1(logb) __CUDA_F1(sin) __CUDA_F1(cos) __CUDA_F1(tan)
__CUDA_F1(asin) __CUDA_F1(acos) __CUDA_F1(atan) __CUDA_F1(sinh) __CUDA_F1(cosh) __CUDA_F1(tanh) __CUDA_F1(asinh) __CUDA_F1(acosh)
__CUDA_F1(atanh) __CUDA_F1(sinpi) __CUDA_F1(cospi) __CUDA_F1(erf) __CUDA_F1(erfc) __CUDA_F1(erfinv) __CUDA_F1(normcdf)
__CUDA_F1(tgamma) __CUDA_F1(lgamma) __CUDA_F1(floor) __CUDA_F1(ceil) __CUDA_F1(trunc) __CUDA_F1(round) __CUDA_F1(rint)
__CUDA_F1(nearbyint) __CUDA_F1(fabs)
__CUDA_F2(pow) __CUDA_F2(atan2) __CUDA_F2(fmod) __CUDA_F2(remainder) __CUDA_F2(hypot) __CUDA_F2(fmin) __CUDA_F2(fmax) __CUDA_F2(fdim)
__CUDA_F2(copysign) __CUDA_F2(nextafter)
#undef __CUDA_F1
#undef __CUDA_F2
__CUDA_DECLARE __CUDA_PURE float fmaf(float, float, float) __asm__("cuda.fmaf");
__device__ __CUDA_PURE double fma(double, double, double) __asm__("cuda.fma");
__device__ inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
__device__ inline float fdividef(float x, float y) { return x / y; }
__device__ inline float fdivide(float x, float y) { return x / y; }
__CUDA_DECLARE __CUDA_PURE float ldexpf(float, int) __asm__("cuda.ldexpf");
__CUDA_DECLARE __CUDA_PURE double ldexp(double, int) __asm__("cuda.ldexp");
__device__ inline float ldexp(float x, int e) { return ldexpf(x, e); }
__device__ inline long lrintf(float x) { return (long)rintf(x); }
__device__ inline long lroundf(float x) { return (long)roundf(x); }
__device__ inline void sincosf(float x, float *s, float *c) { *s = sinf(x); *c = cosf(x); }
__device__ inline void sincos(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }
#define __CUDA_FAST1(f) __CUDA_DECLARE __CUDA_PURE float __##f(float) __asm__("cuda.__" #f);
__CUDA_FAST1(expf) __CUDA_FAST1(exp10f) __CUDA_FAST1(logf) __CUDA_FAST1(log2f) __CUDA_FAST1(log10f) __CUDA_FAST1(sinf) __CUDA_FAST1(cosf)
__CUDA_FAST1(tanf) __CUDA_FAST1(saturatef) __CUDA_FAST1(frcp_rn) __CUDA_FAST1(frsqrt_rn) __CUDA_FAST1(fsqrt_rn) __CUDA_FAST1(tanhf)
#undef __CUDA_FAST1
__CUDA_DECLARE __CUDA_PURE float __powf(float, float) __asm__("cuda.__powf");
__CUDA_DECLARE __CUDA_PURE float __fdividef(float, float) __asm__("cuda.__fdividef");
__device__ inline void __sincosf(float x, float *s, float *c) { *s = __sinf(x); *c = __cosf(x); }
__device__ inline float __fadd_rn(float x, float y) { return x + y; }
__device__ inline float __fsub_rn(float x, float y) { return x - y; }
__device__ inline float __fmul_rn(float x, float y) { return x * y; }
__device__ inline float __fdiv_rn(float x, float y) { return x / y; }
__device__ inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
__device__ inline double __dadd_rn(double x, double y) { return x + y; }
__device__ inline double __dmul_rn(double x, double y) { return x * y; }
__device__ inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
__CUDA_BOTH constexpr bool isnan(float x) { return x != x; }
__CUDA_BOTH constexpr bool isnan(double x) { return x != x; }
__CUDA_BOTH constexpr bool isinf(float x) { return __builtin_fabsf(x) == __builtin_inff(); }
__CUDA_BOTH constexpr bool isinf(double x) { return __builtin_fabs(x) == __builtin_inf(); }
__CUDA_BOTH constexpr bool isfinite(float x) { return __builtin_fabsf(x) < __builtin_inff(); }
__CUDA_BOTH constexpr bool isfinite(double x) { return __builtin_fabs(x) < __builtin_inf(); }
__CUDA_BOTH constexpr bool signbit(float x) { return __builtin_bit_cast(int, x) < 0; }
__CUDA_BOTH constexpr int abs(int x) { return x < 0 ? -x : x; }
__CUDA_BOTH constexpr long abs(long x) { return x < 0 ? -x : x; }
__CUDA_BOTH constexpr long long abs(long long x) { return x < 0 ? -x : x; }
__CUDA_BOTH constexpr long labs(long x) { return x < 0 ? -x : x; }
__CUDA_BOTH constexpr long long llabs(long long x) { return x < 0 ? -x : x; }
__device__ inline float abs(float x) { return fabsf(x); }
__device__ inline double abs(double x) { return fabs(x); }
#define __CUDA_MINMAX(T)                                                                                                           \
    __CUDA_BOTH constexpr T min(T a, T b) { return b < a ? b : a; }                                                                \
    __CUDA_BOTH constexpr T max(T a, T b) { return a < b ? b : a; }
__CUDA_MINMAX(int) __CUDA_MINMAX(unsigned) __CUDA_MINMAX(long) __CUDA_MINMAX(unsigned long) __CUDA_MINMAX(long long) __CUDA_MINMAX(unsigned long long)
#undef __CUDA_MINMAX
#define __CUDA_MIXED(A, B, T)                                                                                                      \
    __CUDA_BOTH constexpr T min(A a, B b) { return min((T)a, (T)b); }                                                              \
    __CUDA_BOTH constexpr T max(A a, B b) { return max((T)a, (T)b); }                                                              \
    __CUDA_BOTH constexpr T min(B a, A b) { return min((T)a, (T)b); }                                                              \
    __CUDA_BOTH constexpr T max(B a, A b) { return max((T)a, (T)b); }
__CUDA_MIXED(int, unsigned, unsigned) __CUDA_MIXED(int, long, long) __CUDA_MIXED(int, unsigned long, unsigned long) __CUDA_MIXED(unsigned, unsigned long, unsigned long)
__CUDA_MIXED(unsigned, long, long) __CUDA_MIXED(long, unsigned long, unsigned long) __CUDA_MIXED(int, long long, long long) __CUDA_MIXED(long, long long, long long)
#undef __CUDA_MIXED
__device__ inline float min(float a, float b) { return fminf(a, b); }
__device__ inline float max(float a, float b) { return fmaxf(a, b); }
__device__ inline double min(double a, double b) { return fmin(a, b); }
__device__ inline double max(double a, double b) { return fmax(a, b); }
__device__ inline double min(float a, double b) { return fmin((double)a, b); }
__device__ inline double max(float a, double b) { return fmax((double)a, b); }
__device__ inline double min(double a, float b) { return fmin(a, (double)b); }
__device__ inline double max(double a, float b) { return fmax(a, (double)b); }
__device__ inline float min(float a, int b) { return fminf(a, (float)b); }
__device__ inline float max(float a, int b) { return fmaxf(a, (float)b); }
__device__ inline float min(int a, float b) { return fminf((float)a, b); }
__device__ inline float max(int a, float b) { return fmaxf((float)a, b); }
__CUDA_BOTH constexpr unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
__CUDA_BOTH constexpr unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }

/* ---- bits ------------------------------------------------------------------------------------------------------------------------ */
__CUDA_BOTH constexpr int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__CUDA_BOTH constexpr unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__CUDA_BOTH constexpr float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__CUDA_BOTH constexpr float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__CUDA_BOTH constexpr long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
__CUDA_BOTH constexpr double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
__device__ inline int __float2int_rz(float x) { return (int)x; }
__device__ inline unsigned __float2uint_rz(float x) { return (unsigned)x; }
__device__ inline int __float2int_rn(float x) { return (int)rintf(x); }
__device__ inline unsigned __float2uint_rn(float x) { return (unsigned)rintf(x); }
__device__ inline int __float2int_rd(float x) { return (int)floorf(x); }
__device__ inline int __float2int_ru(float x) { return (int)ceilf(x); }
__device__ inline float __int2float_rn(int x) { return (float)x; }
__device__ inline float __uint2float_rn(unsigned x) { return (float)x; }
__device__ inline float __double2float_rn(double x) { return (float)x; }
__device__ inline double __int2double_rn(int x) { return (double)x; }
#define __CUDA_BITS(name, T, R, what) __CUDA_DECLARE __CUDA_PURE R name(T) __asm__("cuda." what);
__CUDA_BITS(__clz, int, int, "clz") __CUDA_BITS(__clzll, long long, int, "clzll") __CUDA_BITS(__popc, unsigned, int, "popc")
__CUDA_BITS(__popcll, unsigned long long, int, "popcll") __CUDA_BITS(__ffs, int, int, "ffs") __CUDA_BITS(__ffsll, long long, int, "ffsll")
__CUDA_BITS(__brev, unsigned, unsigned, "brev") __CUDA_BITS(__brevll, unsigned long long, unsigned long long, "brevll")
#undef __CUDA_BITS
__device__ inline int __mulhi(int a, int b) { return (int)((long)a * b >> 32); }
__device__ inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long)a * b >> 32); }
__device__ inline int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
__device__ inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
__device__ inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) { return n & 31 ? high << (n & 31) | low >> (32 - (n & 31)) : high; }
__device__ inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) { return n & 31 ? high << (32 - (n & 31)) | low >> (n & 31) : low; }
__device__ inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned which = s >> 4 * i & 15, byte = (which & 4 ? y : x) >> (which & 3) * 8 & 255;
        r |= (which & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
    }
    return r;
}
__CUDA_DECLARE __CUDA_PURE int __cuda_dp4a(int, int, int) __asm__("cuda.dp4a");
__CUDA_DECLARE __CUDA_PURE unsigned __cuda_udp4a(unsigned, unsigned, unsigned) __asm__("cuda.udp4a");
__device__ inline int __dp4a(int a, int b, int c) { return __cuda_dp4a(a, b, c); }
__device__ inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return __cuda_udp4a(a, b, c); }

/* ---- memory ---------------------------------------------------------------------------------------------------------------------- */
#define __CUDA_LOAD(name) template <class T> __device__ inline T name(const T *p) { return *p; }
__CUDA_LOAD(__ldg) __CUDA_LOAD(__ldca) __CUDA_LOAD(__ldcg) __CUDA_LOAD(__ldcs) __CUDA_LOAD(__ldlu) __CUDA_LOAD(__ldcv)
#undef __CUDA_LOAD
#define __CUDA_STORE(name) template <class T> __device__ inline void name(T *p, T v) { *p = v; }
__CUDA_STORE(__stwb) __CUDA_STORE(__stcg) __CUDA_STORE(__stcs) __CUDA_STORE(__stwt)
#undef __CUDA_STORE
template <class T> __device__ inline size_t __cvta_generic_to_shared(const T *p) { return (size_t)p; }
__device__ inline void *memcpy(void *to, const void *from, size_t n) { return __builtin_memcpy(to, from, n); }
__device__ inline void *memset(void *to, int value, size_t n) { return __builtin_memset(to, value, n); }
extern "C" __device__ int printf(const char *, ...);
#define __CUDA_ATOMIC(T)                                                                                                           \
    __device__ inline T atomicAdd(T *p, T v) { return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }  \
    __device__ inline T atomicExch(T *p, T v) { return __hip_atomic_exchange(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
#define __CUDA_ATOMIC_INT(T)                                                                                                       \
    __CUDA_ATOMIC(T)                                                                                                               \
    __device__ inline T atomicSub(T *p, T v) { return __hip_atomic_fetch_add(p, -v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); } \
    __device__ inline T atomicMin(T *p, T v) { return __hip_atomic_fetch_min(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }  \
    __device__ inline T atomicMax(T *p, T v) { return __hip_atomic_fetch_max(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }  \
    __device__ inline T atomicAnd(T *p, T v) { return __hip_atomic_fetch_and(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }  \
    __device__ inline T atomicOr(T *p, T v) { return __hip_atomic_fetch_or(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }    \
    __device__ inline T atomicXor(T *p, T v) { return __hip_atomic_fetch_xor(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }  \
    __device__ inline T atomicCAS(T *p, T expected, T v) {                                                                         \
        __hip_atomic_compare_exchange_strong(p, &expected, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);       \
        return expected;                                                                                                           \
    }
__CUDA_ATOMIC(float)
__CUDA_ATOMIC(double)
__CUDA_ATOMIC_INT(int)
__CUDA_ATOMIC_INT(unsigned)
__CUDA_ATOMIC_INT(unsigned long)
__CUDA_ATOMIC_INT(long long)
__CUDA_ATOMIC_INT(unsigned long long)
#undef __CUDA_ATOMIC
#undef __CUDA_ATOMIC_INT
__device__ inline unsigned atomicInc(unsigned *p, unsigned v) { return __builtin_amdgcn_atomic_inc32(p, v, __ATOMIC_RELAXED, "agent"); }
__device__ inline unsigned atomicDec(unsigned *p, unsigned v) { return __builtin_amdgcn_atomic_dec32(p, v, __ATOMIC_RELAXED, "agent"); }
/* Another scope is no other meaning for one launch. */
#define __CUDA_SCOPES(f)                                                                                                           \
    template <class T, class V> __device__ inline T f##_block(T *p, V v) { return f(p, (T)v); }                                    \
    template <class T, class V> __device__ inline T f##_system(T *p, V v) { return f(p, (T)v); }
__CUDA_SCOPES(atomicAdd) __CUDA_SCOPES(atomicSub) __CUDA_SCOPES(atomicExch) __CUDA_SCOPES(atomicMin) __CUDA_SCOPES(atomicMax)
__CUDA_SCOPES(atomicAnd) __CUDA_SCOPES(atomicOr) __CUDA_SCOPES(atomicXor) __CUDA_SCOPES(atomicInc) __CUDA_SCOPES(atomicDec)
#undef __CUDA_SCOPES
template <class T, class E, class V> __device__ inline T atomicCAS_block(T *p, E expected, V v) { return atomicCAS(p, (T)expected, (T)v); }
template <class T, class E, class V> __device__ inline T atomicCAS_system(T *p, E expected, V v) { return atomicCAS(p, (T)expected, (T)v); }
__CUDA_DECLARE void __cuda_cp_async(void *, const void *, unsigned, unsigned) __asm__("cuda.cp.async");
__CUDA_DECLARE void __pipeline_commit() __asm__("cuda.cp.async.commit");
__CUDA_DECLARE void __cuda_cp_async_wait(int) __asm__("cuda.cp.async.wait");
__device__ inline void __pipeline_memcpy_async(void *to, const void *from, size_t n, size_t zeros = 0) { __cuda_cp_async(to, from, (unsigned)n, (unsigned)(n - zeros)); }
__device__ inline void __pipeline_wait_prior(int n) { __cuda_cp_async_wait(n); }
