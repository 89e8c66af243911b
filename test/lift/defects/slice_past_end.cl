// A slice begins where it may and is always whole: the last one reaches past the buffer.
__kernel void broken(__global const float *x, __global float *y, int n) {
    int first = get_group_id(0) * 64;
    if (first < n)
        y[first + get_local_id(0)] = 2 * x[first + get_local_id(0)];
}
__kernel void mended(__global const float *x, __global float *y, int n) {
    int first = get_group_id(0) * 64;
    if (first + get_local_id(0) < n)
        y[first + get_local_id(0)] = 2 * x[first + get_local_id(0)];
}
