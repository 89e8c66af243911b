// A softmax's scratch holds one maximum per subgroup, then one sum per subgroup: without a barrier between, the sums overwrite maxima still being read.
#define GROUP 64
static float block_max(float v, __local float *scratch) {
    scratch[get_local_id(0)] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    float m = scratch[0];
    for (int i = 1; i < GROUP; i++)
        m = fmax(m, scratch[i]);
    return m;
}
static float block_sum(float v, __local float *scratch) {
    scratch[get_local_id(0)] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    float s = 0;
    for (int i = 0; i < GROUP; i++)
        s += scratch[i];
    return s;
}
__kernel void broken(__global const float *x, __global float *y) {
    __local float scratch[GROUP];
    int i = get_global_id(0);
    float m = block_max(x[i], scratch);
    float e = exp(x[i] - m), s = block_sum(e, scratch);
    y[i] = e / s;
}
__kernel void mended(__global const float *x, __global float *y) {
    __local float scratch[GROUP];
    int i = get_global_id(0);
    float m = block_max(x[i], scratch);
    barrier(CLK_LOCAL_MEM_FENCE);
    float e = exp(x[i] - m), s = block_sum(e, scratch);
    y[i] = e / s;
}
