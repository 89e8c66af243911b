// The defects of the .cl files beside this one, as Metal: all in one text, since it is compiled once.
#include <metal_stdlib>
using namespace metal;
constant constexpr int T = 8, GROUP = 128, COLS = 100;

template <bool Last> void product(device const float *a, device const float *b, device float *c, int n, threadgroup float (*as)[T],
                                  threadgroup float (*bs)[T], int x, int y, int col, int row)
{
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        as[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
        bs[y][x] = col < n && k + y < n ? b[(k + y) * n + col] : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (int i = 0; i < T; i++)
            sum += as[y][i] * bs[i][x];
        if (Last)
            threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}
kernel void loop_overwrites_broken(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *c [[buffer(2)]],
                                   constant int &n [[buffer(3)]], ushort2 at [[thread_position_in_threadgroup]],
                                   uint2 place [[thread_position_in_grid]])
{
    threadgroup float as[T][T], bs[T][T];
    product<false>(a, b, c, n, as, bs, at.x, at.y, place.x, place.y);
}
kernel void loop_overwrites_mended(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *c [[buffer(2)]],
                                   constant int &n [[buffer(3)]], ushort2 at [[thread_position_in_threadgroup]],
                                   uint2 place [[thread_position_in_grid]])
{
    threadgroup float as[T][T], bs[T][T];
    product<true>(a, b, c, n, as, bs, at.x, at.y, place.x, place.y);
}

// A softmax's scratch: the sums follow through the cells of the maxima. A barrier of the simdgroup is none of the threadgroup.
template <bool Whole> void soft_max(device const float *x, device float *y, threadgroup float *scratch, uint i, ushort lane, ushort part)
{
    float m = simd_max(x[i]);
    if (lane == 0)
        scratch[part] = m;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    m = max(scratch[0], scratch[1]);
    if (Whole)
        threadgroup_barrier(mem_flags::mem_threadgroup);
    else
        simdgroup_barrier(mem_flags::mem_threadgroup);
    float e = exp(x[i] - m), s = simd_sum(e);
    if (lane == 0)
        scratch[part] = s;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = e / (scratch[0] + scratch[1]);
}
kernel void scratch_reused_broken(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]],
                                  ushort lane [[thread_index_in_simdgroup]], ushort part [[simdgroup_index_in_threadgroup]])
{
    threadgroup float scratch[2];
    soft_max<false>(x, y, scratch, i, lane, part);
}
kernel void scratch_reused_mended(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]],
                                  ushort lane [[thread_index_in_simdgroup]], ushort part [[simdgroup_index_in_threadgroup]])
{
    threadgroup float scratch[2];
    soft_max<true>(x, y, scratch, i, lane, part);
}

kernel void rows_unwritten_broken(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint2 place [[thread_position_in_grid]])
{
    uint i = place.y * COLS + place.x;
    if (i < COLS)
        y[i] = x[i] + 1;
}
kernel void rows_unwritten_mended(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], uint2 place [[thread_position_in_grid]])
{
    if (place.x < COLS)
        y[place.y * COLS + place.x] = x[place.y * COLS + place.x] + 1;
}

// Which memory a barrier orders is said by its flags: device memory is not what these threads share.
kernel void scan_in_place_broken(device float *x [[buffer(0)]], threadgroup float *s [[threadgroup(0)]], uint i [[thread_position_in_grid]],
                                 ushort t [[thread_position_in_threadgroup]])
{
    s[t] = x[i];
    for (int d = 1; d < 128; d *= 2) {
        threadgroup_barrier(mem_flags::mem_device);
        float v = t >= d ? s[t - d] : 0;
        threadgroup_barrier(mem_flags::mem_device);
        s[t] += v;
    }
    x[i] = s[t];
}
kernel void scan_in_place_mended(device float *x [[buffer(0)]], threadgroup float *s [[threadgroup(0)]], uint i [[thread_position_in_grid]],
                                 ushort t [[thread_position_in_threadgroup]])
{
    s[t] = x[i];
    for (int d = 1; d < 128; d *= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float v = t >= d ? s[t - d] : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        s[t] += v;
    }
    x[i] = s[t];
}

kernel void skipped_barrier_broken(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant int &n [[buffer(2)]],
                                   int i [[thread_position_in_grid]], ushort t [[thread_position_in_threadgroup]])
{
    threadgroup float part[64];
    if (i >= n)
        return;
    part[t] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = part[t ^ 1];
}
kernel void skipped_barrier_mended(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant int &n [[buffer(2)]],
                                   int i [[thread_position_in_grid]], ushort t [[thread_position_in_threadgroup]])
{
    threadgroup float part[64];
    part[t] = i < n ? x[i] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < n)
        y[i] = part[t ^ 1];
}

kernel void stale_cells_broken(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant int &n [[buffer(2)]],
                               int i [[thread_position_in_grid]], ushort t [[thread_position_in_threadgroup]])
{
    threadgroup float tile[64];
    if (i < n)
        tile[t] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float s = 0;
    for (int k = 0; k < 64; k++)
        s += 0.0f * tile[k];
    if (i < n)
        y[i] = s;
}
kernel void stale_cells_mended(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant int &n [[buffer(2)]],
                               int i [[thread_position_in_grid]], ushort t [[thread_position_in_threadgroup]])
{
    threadgroup float tile[64];
    tile[t] = i < n ? x[i] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float s = 0;
    for (int k = 0; k < 64; k++)
        s += 0.0f * tile[k];
    if (i < n)
        y[i] = s;
}

// A product of a matrix and a vector, two rows a simdgroup, as inference engines have it: the store is guarded, the rows are read anyway. Strides are in bytes.
struct shape {
    int cols, rows;
    ulong row_bytes;
};
template <bool Guard> void two_rows(constant shape &s, device const char *a, device const float *x, device float *y, uint group, ushort lane)
{
    int r0 = group * 2;
    device const float *rows[2];
    for (short r = 0; r < 2; r++)
        rows[r] = (device const float *)(a + (r0 + r) * s.row_bytes);
    float sum[2] = {0, 0};
    for (int i = lane; i < s.cols; i += 32)
        for (short r = 0; r < 2 && (!Guard || r0 + r < s.rows); r++)
            sum[r] += rows[r][i] * x[i];
    for (short r = 0; r < 2 && r0 + r < s.rows; r++) {
        float all = simd_sum(sum[r]);
        if (lane == 0)
            y[r0 + r] = all;
    }
}
kernel void rows_past_end_broken(constant shape &s [[buffer(0)]], device const char *a [[buffer(1)]], device const float *x [[buffer(2)]],
                                 device float *y [[buffer(3)]], uint group [[threadgroup_position_in_grid]], ushort lane [[thread_index_in_simdgroup]])
{
    two_rows<false>(s, a, x, y, group, lane);
}
kernel void rows_past_end_mended(constant shape &s [[buffer(0)]], device const char *a [[buffer(1)]], device const float *x [[buffer(2)]],
                                 device float *y [[buffer(3)]], uint group [[threadgroup_position_in_grid]], ushort lane [[thread_index_in_simdgroup]])
{
    two_rows<true>(s, a, x, y, group, lane);
}

// The numbers that a thread reads of a row lie in its own array; those past the row's end are set to something neutral. A thread that has none of them at all counts
// from below the array's beginning.
template <bool MENDED> static void rest_of_row(device const float *x, device float *y, int n, uint t)
{
    float own[4] = {0};
    int here = n - (int)t * 4;
    for (int i = 0; i < 4 && i < here; i++)
        own[i] = x[t * 4 + i];
    if (here < 4)
        for (int i = MENDED ? max(here, 0) : here; i < 4; i++)
            own[i] = 1;
    y[t] = own[0] * own[1] * own[2] * own[3];
}
kernel void tail_below_start_broken(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant int &n [[buffer(2)]],
                                    uint t [[thread_position_in_threadgroup]])
{
    rest_of_row<false>(x, y, n, t);
}
kernel void tail_below_start_mended(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant int &n [[buffer(2)]],
                                    uint t [[thread_position_in_threadgroup]])
{
    rest_of_row<true>(x, y, n, t);
}
