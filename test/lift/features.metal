// What C++ for OpenCL lacks or spells otherwise: converting vectors, spaces of methods, ternaries across spaces, literals, matrices, lanes.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#include "features.h"
using namespace metal;

struct complex {
    float re, im;
    complex(float r, float i = 0) thread : re(r), im(i) {}
    complex(const thread complex &o) = default;
    operator float() const thread { return re; }
    float norm() const device { return re * re + im * im; }
    float norm() const thread { return re * re + im * im; }
};

constexpr constant float table[4] = {0.5, 1.5e0, -2., 1e-3};
constexpr constant float3 axis = float3(1, 2, 3);

template <typename T> inline T pick(const thread T &a, const thread T &b, bool first) { return first ? a : b; }
template <void (*apply)(thread float &, float)> inline void twice(thread float &x, float by)
{
    apply(x, by);
    apply(x, by);
}
static void add(thread float &x, float by) { x += by; }

kernel void vectors(device const float4 *in [[buffer(0)]], device half4 *out [[buffer(1)]], device uchar *bytes [[buffer(2)]],
                    const uint2 place [[thread_position_in_grid]], uint2 size [[threads_per_grid]])
{
    const uint i = place.y * size.x + place.x;
    const float4 zero = 0;
    float4 v = i < SIZE ? in[i] : zero;
    v.xyz = v.zyx * axis;
    half4 h = half4(v) * 0.5h;
    int4 rounded = int4(rint(v));
    out[i] = all(rounded > 0) ? h : half4(as_type<float4>(rounded));
    thread float x = dot(v, float4(table[0], table[1], table[2], table[3]));
    twice<add>(x, 2);
    bytes[i] = uchar(clamp(x, 0.0f, 255.0f)) | (uchar)popcount(as_type<uint>(x));
    complex unit(0, 1), real = complex(x);
    complex c = pick(real, unit, x > 0);
    out[i].w = half(c.norm() + float(c));
}

kernel void lanes(device float *data, device bfloat *small, threadgroup float *partial [[threadgroup(0)]],
                  ushort lane [[thread_index_in_simdgroup]], ushort group [[simdgroup_index_in_threadgroup]], uint3 t [[thread_position_in_threadgroup]])
{
    float v = data[t.x];
    v += simd_shuffle_xor(v, 16);
    v = simd_max(v) + simd_sum(v) + simd_broadcast_first(v);
    if (simd_all(v > 0) || lane == 0)
        partial[group] = precise::exp(v) + fast::rsqrt(v);
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    data[t.x] = partial[lane & 3];
    small[t.x] = bfloat(half(v)) + bfloat(partial[0]);
}

kernel void matrices(device const half *a, device const half *b, device float *c, constant uint &n)
{
    simdgroup_half8x8 x;
    simdgroup_half8x8 y;
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8>(0.f);
    for (uint k = 0; k < n; k += 8) {
        simdgroup_load(x, a + k, n);
        simdgroup_load(y, b + k * 8, 8, ulong2(0, 0), true);
        simdgroup_multiply_accumulate(sum, x, y, sum);
    }
    sum.thread_elements()[0] *= 2;
    simdgroup_store(sum, c, 8);
    float4x4 m = float4x4(1.0);
    c[0] += (m * float4(c[0], c[1], c[2], c[3])).x;
}
