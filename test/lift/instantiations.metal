// Host names, templates, typedefs of function types, function constants, threadgroup variables in templates.
#include <metal_stdlib>
using namespace metal;

#define FC_SUM 600
constant int width [[function_constant(FC_SUM + 3)]];
constant bool has_scale [[function_constant(FC_SUM + 4)]];
constant float scale = is_function_constant_defined(has_scale) ? 2.0 : 1;

struct arguments {
    uint n;
    int stride;
};

template <typename T, int N>
[[kernel]] void sum(device const T *x [[buffer(0)]], device T *y [[buffer(1)]], constant arguments &args [[buffer(2)]],
                    threadgroup T *dynamic [[threadgroup(0)]], uint3 group [[threadgroup_position_in_grid]],
                    uint thread_index [[thread_index_in_threadgroup]], ushort2 place [[thread_position_in_threadgroup]])
{
    threadgroup T part[N], other;
    part[thread_index] = thread_index < args.n ? x[group.x * N + thread_index] : T(0);
    if (thread_index == 0)
        other = dynamic[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (thread_index == 0) {
        T s = other;
        for (int i = 0; i < N; ++i)
            s += part[i] * T(width);
        y[group.x] = s * T(scale) + T(place.y) + T(1.0h);
    }
}

typedef decltype(sum<float, 4>) sum_t;
template [[host_name("sum_f32")]] [[kernel]] sum_t sum<float, 4>;
template [[host_name("sum_" "f16")]] kernel void sum<half, 32>(device const half *x [[buffer(0)]], device half *y [[buffer(1)]],
    constant arguments &args [[buffer(2)]], threadgroup half *, uint3 group [[threadgroup_position_in_grid]], uint, ushort2);

template <typename F, typename T> kernel void copy(constant arguments &args, device const F *from, device T *to, uint3 g [[thread_position_in_grid]])
{
    if (g.x < args.n)
        to[g.x] = static_cast<T>(from[int(g.x) * args.stride]);
}
typedef void(copy_t)(constant arguments &, device const float *, device bfloat *, uint3);
template [[host_name("copy_f32_bf16")]] kernel copy_t copy<float, bfloat>;
#define COPY(name, F, T) template [[host_name(name)]] kernel decltype(copy<F, T>) copy<F, T>;
COPY("copy_bf16_f16", bfloat, half)
COPY("copy_i8_f32", char, float)

[[kernel, max_total_threads_per_threadgroup(256)]] void count(device atomic_uint *counter [[buffer(3)]], uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(counter, i & 1, memory_order_relaxed);
}
