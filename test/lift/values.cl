// Small kernels for test/lift/values.py: each spells something another way, and has a reference there.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void scale(__global const float *x, __global float *y, float a, int n) {
    int i = get_global_id(0);
    if (i >= n)
        return;
    y[i] = a * x[i];
}
__kernel void pointers(__global const float *x, __global float *y, int n) {
    __global const float *p = x + get_global_id(0);
    float s = 0;
    for (int k = 0; k < n; k++, p += 64)
        s += *p;
    y[get_global_id(0)] = s;
}
__kernel void downwards(__global const int *x, __global int *y, int n) {
    int s = 0;
    for (int k = n - 1; k >= 0; k -= 3)
        s = s * 3 + x[k];
    y[get_global_id(0)] = s + (int)get_global_id(0);
}
__kernel void first_negative(__global const float *x, __global int *y, int n) {
    int i = get_global_id(0), k;
    for (k = 0; k < n; k++)
        if (x[i * n + k] < 0)
            break;
    y[i] = k;
}
__kernel void do_while(__global const int *x, __global int *y, int n) {
    int i = get_global_id(0), k = 0, s = 0;
    do {
        s += x[k];
        k += 2;
    } while (k < n);
    y[i] = s + k * i;
}
__kernel void collatz(__global const int *x, __global int *y) {
    int i = get_global_id(0), v = x[i], steps = 0;
    while (v > 1 && steps < 100) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        steps++;
    }
    y[i] = steps;
}
__kernel void early_return(__global const float *x, __global float *y, int n) {
    int i = get_global_id(0);
    float s = 0;
    for (int k = 0; k < n; k++) {
        if (x[k] > 2.0f) {
            y[i] = -1;
            return;
        }
        if (x[k] < -1.5f)
            continue;
        s += x[k];
    }
    y[i] = s + i;
}
__kernel void hash(__global const uint *x, __global uint *y) {
    uint v = x[get_global_id(0)];
    v ^= v >> 16;
    v *= 0x7feb352du;
    v ^= v >> 15;
    v *= 0x846ca68bu;
    v ^= v >> 16;
    y[get_global_id(0)] = v;
}
__kernel void cases(__global const int *x, __global int *y) {
    int i = get_global_id(0), r;
    switch (x[i] & 7) {
    case 0: r = 5; break;
    case 1: r = i; break;
    case 3: r = x[i] / 3; break;
    case 4: r = x[i] % 5; // and on
    case 5: r = -i; break;
    default: r = (int)(x[i] * 0.5f);
    }
    y[i] = r;
}
__kernel void vectors(__global const float4 *x, __global float4 *y, __global float *z) {
    int i = get_global_id(0);
    float4 v = x[i], w = (float4)(v.yx, 1.0f, v.w) * 2.0f;
    w.z += dot(v, w);
    y[i] = fmax(w, v.xxyy);
    vstore2(w.xz, i, z);
}
__kernel void narrow(__global const uchar *x, __global const char *w, __global half *h, __global uchar *y) {
    int i = get_global_id(0);
    int s = x[i] * w[i];
    h[i] = (half)(s * 0.125f);
    y[i] = (uchar)clamp(s, 0, 255);
}
__constant float table[5] = {1, -2, 4, -8, 16};
__constant float *last = &table[4];
__kernel void tables(__global const int *x, __global float *y) {
    float own[4];
    int i = get_global_id(0);
    for (int k = 0; k < 4; k++)
        own[k] = k * 10 + table[k];
    y[i] = own[x[i] & 3] + *last;
}
__kernel void transpose(__global const float *x, __global float *y, int rows, int cols) {
    __local float tile[8][9];
    int c = get_global_id(0), r = get_global_id(1);
    if (r < rows && c < cols)
        tile[get_local_id(1)][get_local_id(0)] = x[r * cols + c];
    barrier(CLK_LOCAL_MEM_FENCE);
    r = get_group_id(1) * 8 + get_local_id(0);
    c = get_group_id(0) * 8 + get_local_id(1);
    if (r < rows && c < cols)
        y[c * rows + r] = tile[get_local_id(0)][get_local_id(1)];
}
__kernel void histogram(__global const uchar *x, __global uint *counts, __global ulong *sums, int n) {
    __local uint own[16];
    int t = get_local_id(0);
    if (t < 16)
        own[t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&own[x[i] & 15]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < 16)
        atomic_add(&counts[t], own[t]);
    if (t < 16)
        atom_add(&sums[t & 1], (ulong)own[t] * 1000000007ul);
}
__kernel void strided(__global const float *x, __global float *y, int n) {
    __local float part[32];
    int row = get_group_id(0) * n, t = get_local_id(0);
    float sum = 0;
    for (int c = t; c < n; c += 32)
        sum += x[row + c];
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = t; c < n; c += 32)
        y[row + c] = x[row + c] - part[31 - (c & 31)];
}
__kernel void neighbours(__global const float *x, __global float *y) {
    __local float a[2][64];
    int t = get_local_id(0), g = get_global_id(0);
    a[0][t] = x[g];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 4; k++) { // two halves in turn
        int from = k & 1, to = from ^ 1;
        a[to][t] = 0.5f * (a[from][t] + a[from][(t + 1) & 63]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    y[g] = a[0][t];
}
__kernel void functions(__global const float *x, __global float *y) {
    int i = get_global_id(0);
    float v = x[i], whole, part = fract(v * 5, &whole);
    y[i * 8] = exp2(v) + log2(fabs(v) + 1);
    y[i * 8 + 1] = pow(fabs(v), 1.5f);
    y[i * 8 + 2] = round(v * 2) + trunc(v * 3) + ceil(v);
    y[i * 8 + 3] = native_sin(v) + cos(v) + tanh(v);
    y[i * 8 + 4] = mix(v, 2.0f, 0.25f) + step(0.0f, v) + sign(v);
    y[i * 8 + 5] = isnan(v) ? 1.0f : fma(v, v, 1.0f) + part * 2 + whole;
    y[i * 8 + 6] = as_float(as_uint(v) & 0x7fffffffu);
    y[i * 8 + 7] = sqrt(v * v + 1) * rsqrt(v * v + 2) + erf(v);
}
__kernel void turns(__global float *x, __global float *y, int n) { // each reads what the other has written
    __global float *from = x, *to = y;
    int i = get_global_id(0);
    for (int k = 0; k < n; k++) {
        to[i] = from[i] + k;
        __global float *t = from;
        from = to;
        to = t;
    }
}
__kernel void either(__global const float4 *x, __global const float4 *y, __global float *o, int n) {
    int i = get_global_id(0);
    __global const float4 *from = i % 3 == 0 && n > 2 ? x : y;
    __global float *to;
    if (n > 5)
        to = o + 64;
    else
        to = 0;
    if (from == y)
        from++;
    if (to)
        to[i] = from[i].y + from[i].w;
}
__kernel void saturating(__global const int *x, __global const uint *u, __global int *y, __global uint *z) {
    int i = get_global_id(0), j = 0;
    for (int k = 0; k < 3; k++, j += get_local_size(0)) // two counters
        y[j + i] = k == 0 ? add_sat(x[i], x[63 - i]) : k == 1 ? sub_sat(x[i], x[63 - i]) : hadd(x[i], x[63 - i]);
    z[i] = add_sat(u[i], u[63 - i]);
    z[i + 64] = sub_sat(u[i], u[63 - i]);
    z[i + 128] = abs_diff(x[i], x[63 - i]) ^ rhadd(u[i], u[63 - i]);
}
__kernel void circle(__global const float2 *x, __global float2 *y, __global float2 *z) {
    y[get_global_id(0)] = sincos(x[get_global_id(0)], &z[get_global_id(0)]);
}
// Copies by the work-group: the next tile on its way while this one is added up; a column; what a block has changed, back, ragged at the end.
__kernel void copied_ahead(__global const float *x, __global float *y, int tiles) {
    __local float slots[2][64];
    int l = get_local_id(0);
    event_t now = async_work_group_copy(slots[0], x, 64, 0);
    float sum = 0;
    for (int t = 0; t < tiles; t++) {
        event_t next = 0;
        if (t + 1 < tiles)
            next = async_work_group_copy(slots[(t + 1) % 2], x + (t + 1) * 64, 64, 0);
        wait_group_events(1, &now);
        sum += slots[t % 2][63 - l];
        barrier(CLK_LOCAL_MEM_FENCE);
        now = next;
    }
    y[l] = sum;
}
__kernel void copied_columns(__global const float2 *x, __global float *y, int n) {
    __local float2 column[32];
    int l = get_local_id(0), g = get_group_id(0);
    event_t e = async_work_group_strided_copy(column, x + g, 32, n, 0);
    wait_group_events(1, &e);
    y[g * 64 + l] = ((__local float *)column)[63 - l];
}
__kernel void copied_back(__global const int4 *x, __global int4 *y, int n) {
    __local int4 tile[32];
    int l = get_local_id(0), first = get_group_id(0) * 32, count = min(32, n - first);
    prefetch(x + first, count);
    event_t e = 0;
    for (int r = 0; r < count; r++)
        e = async_work_group_copy(tile + r, x + first + r, 1, e);
    wait_group_events(1, &e);
    if (l < count)
        tile[l] += l;
    barrier(CLK_LOCAL_MEM_FENCE);
    e = async_work_group_copy(y + first, tile, count, 0);
    wait_group_events(1, &e);
}
__kernel void clipped(__global const float *x, __global float *y, int n) { /* the lesser and the greater, chosen by branches */
    __local float tile[32];
    int l = get_local_id(0), first = get_group_id(0) * 32;
    int left = n - first < 32 ? n - first : 32, last = l < left ? l : left - 1, least;
    if (l >= 3)
        least = l;
    else
        least = 3;
    tile[l] = x[first + last];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[first + l] = tile[least] - x[(last <= 5 ? 5 : last) % n];
}
__kernel void shared_in_all(__global const float *x, __global float *y, int n) { /* every trip reads one cell, behind the edge's guard */
    __local float part[32];
    int l = get_local_id(0), row = get_group_id(0);
    part[l] = x[row * n + l % n];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = l; c < n; c += 32)
        y[row * n + c] = x[row * n + c] * part[3];
}
__kernel void shared_in_some(__global const float *x, __global float *y, int n) { /* the cell has been written where it is read, and only there */
    __local float part[32];
    int l = get_local_id(0);
    if (n > 40)
        part[l] = x[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = l; c < n; c += 32)
        y[c] = n > 40 ? part[3] : x[c];
}

/* Sums over the lanes before each, and floats made integers of 64 bits. */
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
__kernel void scans(__global const int *x, __global const float *far, __global int *y, __global float *z, __global long *w) {
    int i = get_global_id(0);
    y[i] = sub_group_scan_inclusive_add(x[i]);
    z[i] = sub_group_scan_exclusive_add((float)x[i]);
    w[i] = (long)far[i];
}
__kernel void sums_of_64(__global const ulong *x, __global ulong *y, int n) { /* they wrap around */
    ulong c = 0xfffffffffffffff0UL;
    for (int k = 0; k < n; k++)
        c = c + x[k] - (ulong)k;
    y[get_global_id(0)] = c - x[get_global_id(0)];
}

/* Unsigned integers wrap around, and what a conversion cuts off is gone: in what is compared, divided, widened and made a float. */
__kernel void wrapped(__global const float *x, __global float *y, __global int *z) {
    uint i = get_global_id(0), h = i * 2654435761u, before = i - 1;
    uchar low = i * 5 + 250;
    short s = h;
    y[i] = (before < 64 ? x[before] : 0) + x[h % 61] + (float)h;
    z[i] = low + (s < 0) + (h < 0x80000000u);
}
