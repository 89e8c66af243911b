// What test/lift/functions.py holds against NumPy: exchanges of lanes, names of Apple's own, structs with gaps, calls that are loops.
#include <metal_stdlib>
using namespace metal;
// Its own functions of bfloat, by names that Apple's library has for itself
namespace metal {
METAL_FUNC bfloat abs(bfloat x) { return static_cast<bfloat>(__metal_fabs(static_cast<float>(x), __METAL_MAYBE_FAST_MATH__)); }
METAL_FUNC bfloat exp2(bfloat x) { return static_cast<bfloat>(__metal_exp2(static_cast<float>(x), __METAL_MAYBE_FAST_MATH__)); }
METAL_FUNC bfloat simd_sum(bfloat x) { return static_cast<bfloat>(__metal_simd_sum(static_cast<float>(x))); }
} // namespace metal
template <typename T> struct numbered {
    uint index;
    T value;
};
template <typename T> numbered<T> further(numbered<T> a, ushort n) {
    return numbered<T>{simd_shuffle_down(a.index, n), simd_shuffle_down(a.value, n)};
}
// The largest half of each SIMD group, and where it is: a struct with a gap goes by value
static void largest(device const half *x, device uint *at, uint i, uint lane) {
    numbered<half> best{i, x[i]};
    for (ushort n = 16; n > 0; n /= 2) {
        numbered<half> other = further(best, n);
        if (other.value > best.value)
            best = other;
    }
    if (lane == 0)
        at[i / 32] = best.index;
}
kernel void lanes(device const int *x, device int *y, device const float *f, device float *g, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
    int v = x[i];
    device int *o = y + 16 * i;
    o[0] = simd_shuffle_and_fill_up(v, -v, 3);
    o[1] = simd_shuffle_and_fill_down(v, 7 * v, 5, 8);
    o[2] = simd_shuffle_rotate_up(v, 3);
    o[3] = simd_shuffle_rotate_down(v, 3);
    o[4] = simd_max((uint)v) >> 1;
    o[5] = simd_min((uchar)v);
    o[6] = simd_max((short)v);
    o[7] = simd_and(v | 255);
    o[8] = simd_or(v & 0x00f0f0f0);
    o[9] = simd_xor(v);
    o[10] = quad_sum(v);
    o[11] = quad_max(v);
    o[12] = simd_prefix_exclusive_product(v & 3);
    o[13] = (int)(ulong)(simd_vote::vote_t)simd_ballot(v > 0);
    o[14] = quad_shuffle_xor((ushort)v, 2);
    o[15] = simd_shuffle_down((bool)(v & 1), 1);
    bfloat b = (bfloat)f[i];
    g[4 * i] = (float)simd_shuffle_xor(b, 1);
    g[4 * i + 1] = (float)abs(b);
    g[4 * i + 2] = (float)exp2(b);
    g[4 * i + 3] = (float)simd_sum((bfloat)(float)(lane & 3));
}
// A call of itself that is the last thing it does
static int digits(int n, int base, int left, int so_far) {
    if (left == 0)
        return so_far;
    return digits(n / base, base, left - 1, so_far + (n % base == 1));
}
// An array of pointers that a loop over loops moves on
template <int N> METAL_FUNC void rows(thread int totals[N], device const int *from[N], int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < N; j++) {
            for (int k = 0; k < 2; k++)
                totals[j] += from[j][k];
            from[j] += 2;
        }
}
kernel void loops(device const int *x, device int *y, constant int &base, constant int &count, device const half *h, device uint *at,
                  uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    largest(h, at, i, lane);
    int totals[2] = {digits(x[i], base, 8, 0), 0};
    device const int *from[2];
    from[0] = x + i;
    for (int j = 1; j < 2; j++)
        from[j] = from[j - 1] + 3;
    rows<2>(totals, from, count);
    y[2 * i] = totals[0];
    y[2 * i + 1] = totals[1];
}
