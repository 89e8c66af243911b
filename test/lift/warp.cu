// Lanes of a warp: every shuffle, votes, a scan, old spellings without _sync, launch bounds by a macro.
#define THREADS 128
#define FULL 0xffffffffu
#define BOUNDS __launch_bounds__(THREADS, 4)

template <typename T> static inline __device__ T warp_scan(T v)
{
    const unsigned lane = threadIdx.x & (warpSize - 1);
#pragma unroll (5)
    for (int d = 1; d < warpSize; d <<= 1) {
        T up = __shfl_up_sync(FULL, v, d);
        if (lane >= (unsigned)d)
            v += up;
    }
    return v;
}

__global__ void BOUNDS compact(const int *__restrict__ in, int *__restrict__ out, int *count, long long *wide, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool keep = i < n && in[i] > 0;
    unsigned votes = __ballot_sync(FULL, keep), before = votes & ((1u << (threadIdx.x % 32)) - 1);
    int base = 0;
    if (threadIdx.x % 32 == 0)
        base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(FULL, base, 0);
    if (keep)
        out[base + __popc(before)] = in[i];
    long long w = warp_scan<long long>(keep);
    float f = __shfl_down(1.0f * w, 1, 16);
    if (__any_sync(FULL, keep) && !__all_sync(FULL, keep) && i < n)
        wide[i] = w + (long long)__shfl_xor_sync(FULL, f, 3);
}
