// A 32-bit index into more than 2^31 elements.
__kernel void broken(__global const uchar *x, __global uchar *y, long n) {
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        y[i] = x[i];
}
__kernel void mended(__global const uchar *x, __global uchar *y, long n) {
    for (long i = get_global_id(0); i < n; i += get_global_size(0))
        y[i] = x[i];
}
