// float4 and friends: loads through casts, operators of the file's own, members, make_*.
#include <vector_types.h>
inline __host__ __device__ float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
inline __host__ __device__ float4 operator*(float s, const float4 &a) { return make_float4(s * a.x, s * a.y, s * a.z, s * a.w); }
static __device__ __forceinline__ float sum_of(float4 v) { return (v.x + v.y) + (v.z + v.w); }

__global__ void axpy4(const float *x, float *y, float *partial, float a, int n4)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4)
        return;
    const float4 v = reinterpret_cast<const float4 *>(x)[i];
    float4 w = __ldg((const float4 *)y + i);
    w = w + a * v;
    *((float4 *)y + i) = w;
    partial[i] = sum_of(w);
}

__global__ void interleave(const uchar4 *in, int2 *out, const unsigned char *table, int n)
{
    for (unsigned i = threadIdx.x; i < (unsigned)n; i += blockDim.x) {
        uchar4 c = in[i];
        out[i] = make_int2(c.x + c.y * 256, table[c.z] - (int)c.w);
    }
}
