// A norm: the mean goes through shared memory, and the squares follow through the same cells; a barrier after the mean is missing.
#define GROUP 128
__kernel void broken(__global const float *x, __global float *y, int n) {
    __local float part[GROUP];
    int t = get_local_id(0);
    __global const float *row = x + get_group_id(0) * n;
    float s = 0;
    for (int i = t; i < n; i += GROUP)
        s += row[i];
    part[t] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    float mean = 0;
    for (int i = 0; i < GROUP; i++)
        mean += part[i];
    mean /= n;
    s = 0;
    for (int i = t; i < n; i += GROUP)
        s += (row[i] - mean) * (row[i] - mean);
    part[t] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    float v = 0;
    for (int i = 0; i < GROUP; i++)
        v += part[i];
    for (int i = t; i < n; i += GROUP)
        y[get_group_id(0) * n + i] = (row[i] - mean) * rsqrt(v / n + 1e-5f);
}
__kernel void mended(__global const float *x, __global float *y, int n) {
    __local float part[GROUP];
    int t = get_local_id(0);
    __global const float *row = x + get_group_id(0) * n;
    float s = 0;
    for (int i = t; i < n; i += GROUP)
        s += row[i];
    part[t] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    float mean = 0;
    for (int i = 0; i < GROUP; i++)
        mean += part[i];
    mean /= n;
    barrier(CLK_LOCAL_MEM_FENCE);
    s = 0;
    for (int i = t; i < n; i += GROUP)
        s += (row[i] - mean) * (row[i] - mean);
    part[t] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    float v = 0;
    for (int i = 0; i < GROUP; i++)
        v += part[i];
    for (int i = t; i < n; i += GROUP)
        y[get_group_id(0) * n + i] = (row[i] - mean) * rsqrt(v / n + 1e-5f);
}
