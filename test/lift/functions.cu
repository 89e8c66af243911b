// What test/lift/functions.py holds against NumPy: words of CUDA, and exchanges within parts of a warp.
__global__ void words(const unsigned *x, const unsigned *y, const float *f, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = x[i], b = y[i];
    int *o = out + 16 * i;
    o[0] = __ffs(a);
    o[1] = __brev(a);
    o[2] = __popc(a) - __clz(b);
    o[3] = __dp4a((int)a, (int)b, 7);
    o[4] = __dp4a(a, b, 7u);
    o[5] = __mulhi((int)a, (int)b);
    o[6] = __ffsll(((long long)(a & 0xffff) << 32) | (b & 0xf0000000u));
    o[7] = __clzll((long long)(int)a);
    o[15] = __funnelshift_l(a, b, 5) ^ __byte_perm(a, b, 0x3e51);
    o[8] = __shfl_sync(0xffffffffu, (int)a, b & 15, 8);
    o[9] = __shfl_down_sync(0xffffffffu, (int)a, 3, 8);
    o[10] = __shfl_up_sync(0xffffffffu, (int)a, 3, 16);
    o[11] = __shfl_xor_sync(0xffffffffu, (int)a, 3, 4);
    o[12] = (int)__ballot_sync(0xffffffffu, (int)a > 0);
    o[13] = (int)lrintf(f[i]) + (int)lroundf(f[i]);
    o[14] = __reduce_max_sync(0xffffffffu, a) >> 1;
}
__global__ void longs(const unsigned *x, const unsigned *y, long long *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __shfl_down_sync(0xffffffffu, (long long)x[i] * 3 - y[i], 1);
}
// The first warp alone adds what all warps have left.
__global__ void sums(const float *x, float *y, int n) {
    __shared__ float parts[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        s += x[blockIdx.x * n + i];
    for (int d = 16; d > 0; d /= 2)
        s += __shfl_down_sync(0xffffffffu, s, d);
    if (lane == 0)
        parts[warp] = s;
    __syncthreads();
    if (warp == 0) {
        int from = lane % 4;
        float scale = x[blockIdx.x * n];
        s = lane < blockDim.x / 32 ? parts[lane] : 0;
        for (int d = 16; d > 0; d /= 2)
            s += __shfl_down_sync(0xffffffffu, s, d);
        if (lane == 0)
            parts[from] = s * scale;
    }
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = parts[0];
}
