/* What emitted CUDA C++ needs in order to be C++ that runs on a CPU: a block's threads are coroutines that meet at barriers and shuffles. Included in
 * front of the text by test/run/_cuda_on_cpu.c. */
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __CUDACC_RTC__ 1 /* what NVRTC defines: nothing is for the host */
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(n)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static

struct fake_number {
    unsigned x;
};
extern "C" {
extern fake_number fake_thread, fake_block;
extern uint64_t fake_slots[1024];
void fake_meet(int warp); /* waits for the block's threads, or for the warp's */
}
#define threadIdx fake_thread
#define blockIdx fake_block

// clang-format off
static inline void __syncthreads() { fake_meet(0); }
static inline void __syncwarp() { fake_meet(1); }
// clang-format on

template <class To, class From> static inline To fake_bits(From x) {
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}
// clang-format off
static inline float __int_as_float(int x) { return fake_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return fake_bits<float>(x); }
static inline int __float_as_int(float x) { return fake_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return fake_bits<unsigned>(x); }
static inline int __float2int_rz(float x) { return x >= 0x1p31f ? INT32_MAX : x <= -0x1p31f ? INT32_MIN : (int)x; }
static inline unsigned __float2uint_rz(float x) { return x >= 0x1p32f ? UINT32_MAX : x <= 0 ? 0 : (unsigned)x; }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
// clang-format on

template <class T> static T fake_exchange(T x, unsigned from) {
    const unsigned lane = fake_thread.x % 32, first = fake_thread.x - lane;
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    fake_slots[fake_thread.x] = bits;
    fake_meet(1);
    const uint64_t other = fake_slots[first + (from < 32 ? from : lane)];
    fake_meet(1);
    memcpy(&x, &other, sizeof x);
    return x;
}
template <class T> static T __shfl_sync(unsigned mask, T x, int lane) {
    return mask == 0xffffffffu ? fake_exchange(x, (unsigned)lane % 32) : (abort(), x);
}
template <class T> static T __shfl_xor_sync(unsigned mask, T x, int bits) {
    return __shfl_sync(mask, x, (int)(fake_thread.x % 32 ^ (unsigned)bits));
}
template <class T> static T __shfl_down_sync(unsigned mask, T x, int by) {
    return mask == 0xffffffffu ? fake_exchange(x, fake_thread.x % 32 + (unsigned)by) : (abort(), x);
}
#define FAKE_HALF_TO_FLOAT(f, h) f = _cvtsh_ss(h)
#define FAKE_FLOAT_TO_HALF(h, f) h = _cvtss_sh(f, 0)
