// Constants in constant memory, a stencil with halos, inline assembly, integer intrinsics, a device function that is declared first.
#include <stdint.h>
#include <math_constants.h>
#define RADIUS 3
__constant__ float weights[2 * RADIUS + 1];
__constant__ struct { int width, height; } extent;
__device__ float edge(const float *row, int x);

__global__ void stencil(const float *in, float *out)
{
    __shared__ float line[256 + 2 * RADIUS];
    const int x = blockIdx.x * 256 + threadIdx.x, y = blockIdx.y;
    if (x < extent.width)
        line[RADIUS + threadIdx.x] = in[y * extent.width + x];
    if (threadIdx.x < RADIUS)
        line[threadIdx.x] = x >= RADIUS ? in[y * extent.width + x - RADIUS] : edge(in, y);
    __syncthreads();
    float best = -CUDART_INF_F, sum = 0.f;
    for (int k = -RADIUS; k <= RADIUS; ++k) {
        sum = __fmaf_rn(weights[k + RADIUS], line[RADIUS + threadIdx.x + k], sum);
        best = fmaxf(best, fabsf(sum));
    }
    float fast;
    asm("ex2.approx.f32 %0, %1;" : "=f"(fast) : "f"(best));
    if (x < extent.width)
        out[y * extent.width + x] = sum + fast + __int_as_float(__brev(__clz(x)) & 0x007fffff);
}

__device__ float edge(const float *row, int x) { return row[min(max(x, 0), (int)extent.width - 1)]; }
