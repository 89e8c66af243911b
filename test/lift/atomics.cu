// Histograms: shared and global atomics, a compare-and-swap loop, a counter that wraps, a fence and a flag.
#define BINS 64
__device__ unsigned int done = 0;

__device__ double add_double(double *address, double value)
{
    unsigned long long *bits = (unsigned long long *)address, old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

__global__ void histogram(const unsigned char *data, unsigned *bins, double *total, int n)
{
    __shared__ unsigned local[BINS];
    __shared__ bool last;
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i] >> 2], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        atomicAdd(bins + b, local[b]);
    __threadfence();
    if (threadIdx.x == 0)
        last = atomicInc(&done, gridDim.x) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x < BINS)
        add_double(total, (double)atomicMax(&bins[threadIdx.x], 0u));
}
