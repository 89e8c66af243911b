// __half, __half2 and __nv_bfloat16, by intrinsics and by operators.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

__global__ void half_axpy(const half2 *x, __half2 *y, __half a, int n2)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n2)
        y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

__global__ void rms(const __nv_bfloat16 *x, const half *w, nv_bfloat16 *y, int columns, float epsilon)
{
    float sum = 0.0f;
    const __nv_bfloat16 *row = x + (size_t)blockIdx.x * columns;
    for (int c = threadIdx.x; c < columns; c += 32) {
        float v = __bfloat162float(row[c]);
        sum += v * v;
    }
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    const float scale = rsqrtf(sum / columns + epsilon);
    for (int c = threadIdx.x; c < columns; c += 32)
        y[(size_t)blockIdx.x * columns + c] = __float2bfloat16(__bfloat162float(row[c]) * scale * __half2float(w[c]));
}
