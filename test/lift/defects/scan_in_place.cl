// A scan in place: s[t - d] is read while its own thread writes it.
__kernel void broken(__global float *x) {
    __local float s[128];
    int t = get_local_id(0);
    s[t] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < 128; d *= 2) {
        if (t >= d)
            s[t] += s[t - d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    x[get_global_id(0)] = s[t];
}
__kernel void mended(__global float *x) {
    __local float s[128];
    int t = get_local_id(0);
    s[t] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < 128; d *= 2) {
        float v = t >= d ? s[t - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        s[t] += v;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    x[get_global_id(0)] = s[t];
}
