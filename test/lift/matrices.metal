#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// c = a b, whole tiles of 8 x 8, one a simdgroup; rows of memory are K and N apart.
kernel void product(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *c [[buffer(2)]],
                    constant uint &N [[buffer(3)]], constant uint &K [[buffer(4)]], uint2 g [[threadgroup_position_in_grid]]) {
    simdgroup_float8x8 acc = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (uint k = 0; k < K; k += 8) {
        simdgroup_float8x8 x, y;
        simdgroup_load(x, a + 8 * g.y * K + k, K);
        simdgroup_load(y, b + k * N + 8 * g.x, N);
        simdgroup_multiply_accumulate(acc, x, y, acc);
    }
    simdgroup_store(acc, c + 8 * g.y * N + 8 * g.x, N);
}

// Operands staged in threadgroup memory, matrices in arrays, two simdgroups; the last slice of K is filled up with zeros.
kernel void staged(device const half *a [[buffer(0)]], device const half *b [[buffer(1)]], device float *c [[buffer(2)]],
                   constant uint &K [[buffer(3)]], uint2 g [[threadgroup_position_in_grid]],
                   ushort sg [[simdgroup_index_in_threadgroup]], ushort lane [[thread_index_in_simdgroup]]) {
    threadgroup half sa[32 * 8];
    threadgroup half sb[8][16];
    simdgroup_half8x8 ma[2], mb[2];
    simdgroup_float8x8 mc[4];
    const int thread_number = 32 * sg + lane;
    for (short i = 0; i < 4; i++)
        mc[i] = make_filled_simdgroup_matrix<float, 8>(0.f);
    for (int k = 0; k < (int)K; k += 8) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (short i = 0; i < 4; i++) {
            const int row = 8 * i + thread_number / 8, column = thread_number % 8;
            sa[8 * row + column] = k + column < (int)K ? a[(32 * g.y + row) * K + k + column] : 0.0h;
        }
        for (short i = 0; i < 2; i++) {
            const int row = 4 * i + thread_number / 16, column = thread_number % 16;
            sb[row][column] = k + row < (int)K ? b[(k + row) * 16 + column] : 0.0h;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (short i = 0; i < 2; i++)
            simdgroup_load(ma[i], sa + 64 * (2 * sg + i), 8);
        for (short i = 0; i < 2; i++)
            simdgroup_load(mb[i], &sb[0][8 * i], 16);
        for (short i = 0; i < 4; i++)
            simdgroup_multiply_accumulate(mc[i], ma[i / 2], mb[i % 2], mc[i]);
    }
    for (short i = 0; i < 4; i++)
        simdgroup_store(mc[i], c + (32 * g.y + 8 * (2 * sg + i / 2)) * 16 + 8 * (i % 2), 16);
}

// Turned round on the way in and out, with origins (column, row).
kernel void turned(device const float *a [[buffer(0)]], device float *b [[buffer(1)]], device float *c [[buffer(2)]]) {
    simdgroup_float8x8 x, y;
    simdgroup_load(x, a, 16, ulong2(8, 0));
    simdgroup_load(y, a, 16, ulong2(0, 8), true);
    simdgroup_store(x, b, 8, ulong2(0, 0), true);
    simdgroup_store(y, c, 8);
}

// A lane's own elements: by the place that they have, and by what they are.
kernel void own(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *c [[buffer(2)]],
                ushort lane [[thread_index_in_simdgroup]]) {
    simdgroup_matrix<float, 8, 8> x, y;
    const int row = ((lane >> 1) & 3) + ((lane & 16) >> 2), column = 2 * (lane & 1) + ((lane & 8) >> 1);
    x.thread_elements()[0] = a[8 * row + column];
    x.thread_elements()[1] = a[8 * row + column + 1];
    simdgroup_load(y, b, 8);
    simdgroup_multiply(y, x, y);
    y.thread_elements() = y.thread_elements() * 2.0f + vec<float, 2>(row, column);
    c[8 * row + column] = y.thread_elements()[0];
    c[8 * row + column + 1] = y.thread_elements()[1];
}

// Several types in one product; diagonals; sums in half and in bfloat.
kernel void types(device const half *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *c [[buffer(2)]],
                  device half *d [[buffer(3)]]) {
    simdgroup_half8x8 x, h;
    simdgroup_float8x8 y, z(3.0f);
    simdgroup_load(x, a, 8);
    simdgroup_load(y, b, 8);
    simdgroup_multiply_accumulate(z, x, y, z);
    simdgroup_store(z, c, 8);
    simdgroup_multiply_accumulate(h, x, x, make_filled_simdgroup_matrix<half, 8>(0.5h));
    h = h * simdgroup_half8x8(2.0h);
    simdgroup_store(h, d, 8);
    simdgroup_bfloat8x8 p, q = make_filled_simdgroup_matrix<bfloat, 8>(bfloat(1.0f));
    p.thread_elements() = vec<bfloat, 2>(y.thread_elements());
    simdgroup_multiply(z, p, q);
    simdgroup_store(z, c + 64, 8);
}

// Data decide which of two ways a matrix takes; loops carry two of them.
kernel void carried(device const float *a [[buffer(0)]], device float *c [[buffer(1)]], constant int &n [[buffer(2)]]) {
    simdgroup_float8x8 x, y = make_filled_simdgroup_matrix<float, 8>(1.0f);
    simdgroup_load(x, a, 8);
    for (int i = 0; i < n; i++) {
        simdgroup_float8x8 t;
        simdgroup_multiply(t, x, y);
        if (i % 2 == 0)
            y = t;
        else
            x = t;
    }
    simdgroup_store(y, c, 8);
}

// Reads rows that are not there where M is no multiple of 8.
kernel void past_the_end(device const float *a [[buffer(0)]], device float *c [[buffer(1)]], uint g [[threadgroup_position_in_grid]]) {
    simdgroup_float8x8 x;
    simdgroup_load(x, a + 64 * g, 8);
    simdgroup_store(x, c + 64 * g, 8);
}

// Nothing orders the stores of the other lanes before the load.
kernel void no_barrier(device const float *a [[buffer(0)]], device float *c [[buffer(1)]], ushort lane [[thread_index_in_simdgroup]]) {
    threadgroup float t[64];
    simdgroup_float8x8 x;
    t[lane] = a[lane];
    t[lane + 32] = a[lane + 32];
    simdgroup_load(x, t, 8);
    simdgroup_store(x, c, 8);
}

// Nothing ever set it.
kernel void never_set(device float *c [[buffer(0)]]) {
    simdgroup_float8x8 x, y = make_filled_simdgroup_matrix<float, 8>(1.0f);
    simdgroup_multiply(y, x, y);
    simdgroup_store(y, c, 8);
}

// Half a simdgroup stores.
kernel void some_lanes(device float *c [[buffer(0)]], ushort lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 y = make_filled_simdgroup_matrix<float, 8>(1.0f);
    if (lane < 16)
        simdgroup_store(y, c, 8);
}
