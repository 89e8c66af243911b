// A tile is filled where the matrix has elements, and multiplied whole: the cells past the edge hold whatever was there.
__kernel void broken(__global const float *x, __global float *y, int n) {
    __local float tile[64];
    int t = get_local_id(0), i = get_global_id(0);
    if (i < n)
        tile[t] = x[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    float s = 0;
    for (int k = 0; k < 64; k++)
        s += 0.0f * tile[k];
    if (i < n)
        y[i] = s;
}
__kernel void mended(__global const float *x, __global float *y, int n) {
    __local float tile[64];
    int t = get_local_id(0), i = get_global_id(0);
    tile[t] = 0;
    if (i < n)
        tile[t] = x[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    float s = 0;
    for (int k = 0; k < 64; k++)
        s += 0.0f * tile[k];
    if (i < n)
        y[i] = s;
}
