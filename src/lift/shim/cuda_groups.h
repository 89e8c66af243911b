/* cooperative_groups.h as far as kernels use it, and the part of std:: that device code uses. */
namespace std {
template <class T, T V> struct integral_constant { static constexpr T value = V; using type = integral_constant; constexpr operator T() const { return V; } };
using true_type = integral_constant<bool, true>;
using false_type = integral_constant<bool, false>;
template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> constexpr bool is_same_v = is_same<A, B>::value;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class T> struct remove_const { using type = T; };
template <class T> struct remove_const<const T> { using type = T; };
template <class T> struct remove_reference { using type = T; };
template <class T> struct remove_reference<T &> { using type = T; };
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct is_floating_point : false_type {};
template <> struct is_floating_point<float> : true_type {};
template <> struct is_floating_point<double> : true_type {};
template <class T> constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T> struct is_integral : integral_constant<bool, __is_integral(T)> {};
template <class T> constexpr bool is_integral_v = __is_integral(T);
template <class T> __CUDA_BOTH constexpr T min(T a, T b) { return b < a ? b : a; }
template <class T> __CUDA_BOTH constexpr T max(T a, T b) { return a < b ? b : a; }
template <class T> __CUDA_BOTH constexpr void swap(T &a, T &b) { T c = a; a = b; b = c; }
template <class T> __CUDA_BOTH constexpr remove_reference_t<T> &&move(T &&x) { return (remove_reference_t<T> &&)x; }
template <class T> __CUDA_BOTH constexpr T &&forward(remove_reference_t<T> &x) { return (T &&)x; }
using ::abs; using ::sqrt; using ::exp; using ::log; using ::pow; using ::sin; using ::cos; using ::tanh; using ::floor; using ::ceil; using ::fma;
using ::fabs; using ::fmin; using ::fmax; using ::isnan; using ::isinf; using ::size_t; using ::int8_t; using ::int16_t; using ::int32_t;
using ::int64_t; using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::round; using ::trunc; using ::erf; using ::log2; using ::exp2;
template <class T> struct numeric_limits;
#define __CUDA_LIMITS(T, low, high, least, inf)                                                                                    \
    template <> struct numeric_limits<T> {                                                                                         \
        static __CUDA_BOTH constexpr T lowest() { return low; }                                                                    \
        static __CUDA_BOTH constexpr T max() { return high; }                                                                      \
        static __CUDA_BOTH constexpr T min() { return least; }                                                                     \
        static __CUDA_BOTH constexpr T infinity() { return inf; }                                                                  \
    };
__CUDA_LIMITS(float, -3.402823466e+38f, 3.402823466e+38f, 1.175494351e-38f, __builtin_inff())
__CUDA_LIMITS(double, -1.7976931348623157e+308, 1.7976931348623157e+308, 2.2250738585072014e-308, __builtin_inf())
__CUDA_LIMITS(int, -2147483647 - 1, 2147483647, -2147483647 - 1, 0)
__CUDA_LIMITS(unsigned, 0, 4294967295u, 0, 0)
__CUDA_LIMITS(long, -9223372036854775807L - 1, 9223372036854775807L, -9223372036854775807L - 1, 0)
__CUDA_LIMITS(unsigned long, 0, 18446744073709551615UL, 0, 0)
__CUDA_LIMITS(signed char, -128, 127, -128, 0)
__CUDA_LIMITS(unsigned char, 0, 255, 0, 0)
__CUDA_LIMITS(short, -32768, 32767, -32768, 0)
__CUDA_LIMITS(unsigned short, 0, 65535, 0, 0)
#undef __CUDA_LIMITS
} // namespace std

namespace cooperative_groups {
struct thread_block {
    static __device__ inline void sync() { __syncthreads(); }
    static __device__ inline unsigned thread_rank() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
    static __device__ inline unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static __device__ inline unsigned num_threads() { return size(); }
    static __device__ inline dim3 group_index() { return blockIdx; }
    static __device__ inline dim3 thread_index() { return threadIdx; }
    static __device__ inline dim3 group_dim() { return blockDim; }
    static __device__ inline dim3 dim_threads() { return blockDim; }
};
__device__ inline thread_block this_thread_block() { return thread_block(); }
struct grid_group {
    static __device__ inline void sync() { __cuda_grid_barrier(); }
    static __device__ inline bool is_valid() { return true; }
    static __device__ inline unsigned long long block_rank() { return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
    static __device__ inline unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    static __device__ inline unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
    static __device__ inline unsigned long long size() { return num_blocks() * thread_block::size(); }
    static __device__ inline unsigned long long num_threads() { return size(); }
};
__device__ inline grid_group this_grid() { return grid_group(); }
/* Of a power of two up to 32 lanes; lanes count along x, as the hardware does. */
template <unsigned N, class Parent = thread_block> struct thread_block_tile {
    static __device__ inline unsigned thread_rank() { return __cuda_laneid() % N; }
    static __device__ inline constexpr unsigned size() { return N; }
    static __device__ inline constexpr unsigned num_threads() { return N; }
    static __device__ inline unsigned meta_group_rank() { return thread_block::thread_rank() / N; }
    static __device__ inline unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
    static __device__ inline unsigned mask() { return N == 32 ? 0xffffffffu : ((1u << N % 32) - 1) << (__cuda_laneid() / N * N); }
    static __device__ inline void sync() { __syncwarp(mask()); }
    template <class T> __device__ inline T shfl(T v, unsigned lane) const { return __shfl_sync(mask(), v, lane, N); }
    template <class T> __device__ inline T shfl_up(T v, unsigned d) const { return __shfl_up_sync(mask(), v, d, N); }
    template <class T> __device__ inline T shfl_down(T v, unsigned d) const { return __shfl_down_sync(mask(), v, d, N); }
    template <class T> __device__ inline T shfl_xor(T v, unsigned m) const { return __shfl_xor_sync(mask(), v, m, N); }
    __device__ inline int any(int p) const { return __any_sync(mask(), p); }
    __device__ inline int all(int p) const { return __all_sync(mask(), p); }
    __device__ inline unsigned ballot(int p) const { return N == 32 ? __ballot_sync(mask(), p) : (__ballot_sync(mask(), p) >> (__cuda_laneid() / N * N)) & ((1u << N % 32) - 1); }
};
template <unsigned N, class G> __device__ inline thread_block_tile<N, G> tiled_partition(const G &) { return thread_block_tile<N, G>(); }
template <class G> __device__ inline void sync(const G &g) { g.sync(); }
template <class G> __device__ inline void synchronize(const G &g) { g.sync(); }
template <class T> struct plus { __device__ inline T operator()(T a, T b) const { return a + b; } };
template <class T> struct greater { __device__ inline T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct less { __device__ inline T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct bit_and { __device__ inline T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { __device__ inline T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { __device__ inline T operator()(T a, T b) const { return a ^ b; } };
template <unsigned N, class P, class T, class F> __device__ inline T reduce(const thread_block_tile<N, P> &g, T v, F f) {
#pragma unroll
    for (unsigned m = N / 2; m; m /= 2)
        v = f(v, g.shfl_xor(v, m));
    return v;
}
} // namespace cooperative_groups

/* ---- textures: what the host has set, read at any place --------------------------------------------------------------------------- */
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum { cudaTextureType1D = 1, cudaTextureType2D = 2, cudaTextureType3D = 3 };
typedef unsigned long long cudaTextureObject_t;
template <class T, int Dimensions = 1, cudaTextureReadMode Mode = cudaReadModeElementType> struct texture {};
__CUDA_DECLARE unsigned __cuda_texel() __asm__("cuda.texture.word");
template <class T> __device__ inline T __cuda_texel_of() {
    if constexpr (sizeof(T) % 4 == 0) {
        struct { unsigned word[sizeof(T) / 4]; } all;
        for (unsigned i = 0; i < sizeof(T) / 4; i++)
            all.word[i] = __cuda_texel();
        return __builtin_bit_cast(T, all);
    } else {
        static_assert(sizeof(T) <= 2, "texels of this type");
        return (T)__cuda_texel();
    }
}
template <class T, cudaTextureReadMode Mode> using __cuda_texel_t = std::conditional_t<Mode == cudaReadModeNormalizedFloat && sizeof(T) <= 4, float, T>;
#define __CUDA_TEXTURE(name, parameters)                                                                                           \
    template <class T, int D, cudaTextureReadMode M> __device__ inline __cuda_texel_t<T, M> name(const texture<T, D, M> &, __CUDA_EXPAND parameters) { return __cuda_texel_of<__cuda_texel_t<T, M>>(); } \
    template <class T> __device__ inline T name(cudaTextureObject_t, __CUDA_EXPAND parameters) { return __cuda_texel_of<T>(); }
#define __CUDA_EXPAND(...) __VA_ARGS__
__CUDA_TEXTURE(tex1Dfetch, (int))
__CUDA_TEXTURE(tex1D, (float))
__CUDA_TEXTURE(tex2D, (float, float))
__CUDA_TEXTURE(tex3D, (float, float, float))
#undef __CUDA_TEXTURE
#undef __CUDA_EXPAND
