// Whether a trip is skipped is read from shared memory, which a thread that is ahead overwrites for its next trip.
__kernel void broken(__global const int *mask, __global const float *x, __global float *y, int n) {
    __local int skip[1];
    int t = get_local_id(0);
    float sum = 0;
    for (int k = 0; k < n; k++) {
        if (t == 0)
            skip[0] = mask[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (skip[0])
            continue;
        sum += x[k * 32 + t];
    }
    y[get_global_id(0)] = sum;
}
__kernel void mended(__global const int *mask, __global const float *x, __global float *y, int n) {
    __local int skip[1];
    int t = get_local_id(0);
    float sum = 0;
    for (int k = 0; k < n; k++) {
        if (t == 0)
            skip[0] = mask[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        int s = skip[0];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (s)
            continue;
        sum += x[k * 32 + t];
    }
    y[get_global_id(0)] = sum;
}
