// Templates that only host code instantiates: through a host template, a switch, local constants, an explicit instantiation.
#include <cuda_runtime.h>
#include "helper_cuda.h"

template <typename T> struct shared_memory {
    __device__ inline operator T *()
    {
        extern __shared__ int raw[];
        return (T *)raw;
    }
};

struct params {
    int n;
    float scale;
};

template <typename T, unsigned block_size> __global__ void reduce(const T *__restrict__ in, T *out, unsigned n, params p)
{
    T *s = shared_memory<T>();
    unsigned tid = threadIdx.x, i = blockIdx.x * block_size + tid;
    s[tid] = i < n ? in[i] * (T)p.scale : T(0);
    __syncthreads();
#pragma unroll
    for (unsigned k = block_size / 2; k > 0; k >>= 1) {
        if (tid < k)
            s[tid] += s[tid + k];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = s[0];
}

template <class T> void launch(T *in, T *out, int n, int threads)
{
    dim3 block(threads), grid((n + threads - 1) / threads);
    size_t bytes = threads * sizeof(T);
    switch (threads) {
    case 256: reduce<T, 256><<<grid, block, bytes>>>(in, out, n, params{n, 1.0f}); break;
    case 128: {
        const int base = 64;
        constexpr int twice = 2 * base;
        reduce<T, twice><<<grid, block, bytes>>>(in, out, n, params{n, 1.0f});
        break;
    }
    }
    checkCudaErrors(cudaDeviceSynchronize());
}

template void launch<double>(double *, double *, int, int);

int main()
{
    float *a = nullptr, *b = nullptr;
    launch<float>(a, b, 100, 256);
    return 0;
}
