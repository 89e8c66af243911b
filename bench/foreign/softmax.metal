// A simdgroup a row, joined by the simdgroup's own sums; bench/foreign.json pairs it with ours. Launch: softmax.launch.
#include <metal_stdlib>
using namespace metal;

kernel void softmax_simd(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant int &C [[buffer(2)]],
                         uint row [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]])
{
    float most = -INFINITY, sum = 0;
    for (int c = t; c < C; c += 32)
        most = max(most, x[row * C + c]);
    most = simd_max(most);
    for (int c = t; c < C; c += 32)
        sum += exp(x[row * C + c] - most);
    sum = simd_sum(sum);
    for (int c = t; c < C; c += 32)
        y[row * C + c] = exp(x[row * C + c] - most) / sum;
}
