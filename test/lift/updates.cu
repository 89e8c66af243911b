// Atomic updates of shared and device memory, with old values that live across barriers; exchanges, and a sum by trying again.
__global__ void updates(const int *x, const float *w, int *sums, int *least, unsigned *most, unsigned *bits, float *total, int *tickets, int n)
{
    __shared__ int next, own[8];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0)
        next = 0;
    if (t < 8)
        own[t] = 0;
    __syncthreads();
    int mine = atomicAdd(&next, 1);
    int whole = atomicAdd(&tickets[0], 1);
    __syncthreads();
    atomicAdd(&tickets[1], mine);
    atomicMax(&tickets[2], whole);
    if (i < n) {
        int v = x[i];
        atomicAdd(&own[v & 7], v);
        atomicMin(&least[v & 3], v);
        atomicMax(&most[v & 3], (unsigned)v);
        atomicSub(&sums[8], v);
        atomicAnd(&bits[0], ~(1u << (v & 31)));
        atomicOr(&bits[1], 1u << (v & 31));
        atomicXor(&bits[2], (unsigned)v);
        atomicAdd(total + (v & 1), w[i]);
    }
    __syncthreads();
    if (t < 8)
        atomicAdd(&sums[t], own[t]);
}

__device__ float add_by_exchange(float *to, float x)
{
    int *word = (int *)to, old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __float_as_int(x + __int_as_float(assumed)));
    } while (assumed != old);
    return __int_as_float(old);
}
__global__ void exchanges(const float *w, unsigned *rings, float *sum, int *first, float *last, int n)
{
    __shared__ int own;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0)
        own = 0;
    __syncthreads();
    if (atomicCAS(&own, 0, 5) == 0)
        atomicAdd(&first[0], 1);
    if (i < n) {
        atomicInc(&rings[0], 10);
        atomicDec(&rings[1], 10);
        add_by_exchange(sum, w[i]);
        if (atomicExch(&last[0], 7.0f) != 7.0f)
            atomicAdd(&first[1], 1);
        if (atomicCAS(&first[2], -1, 8) == -1)
            atomicAdd(&first[3], 1);
    }
}
