// The guard compares an index into the whole matrix with the length of a row: rows past the first are never written.
#define COLS 100
__kernel void broken(__global const float *x, __global float *y) {
    int i = get_group_id(1) * COLS + get_global_id(0);
    if (i < COLS)
        y[i] = x[i] + 1;
}
__kernel void mended(__global const float *x, __global float *y) {
    int c = get_global_id(0), i = get_group_id(1) * COLS + c;
    if (c < COLS)
        y[i] = x[i] + 1;
}
