// The barrier that mends a race stands where only some threads come by.
__kernel void broken(__global const float *x, __global float *y, int n) {
    __local float part[64];
    int t = get_local_id(0), i = get_global_id(0);
    if (i < n) {
        part[t] = x[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        y[i] = part[t ^ 1];
    }
}
__kernel void mended(__global const float *x, __global float *y, int n) {
    __local float part[64];
    int t = get_local_id(0), i = get_global_id(0);
    part[t] = i < n ? x[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n)
        y[i] = part[t ^ 1];
}
