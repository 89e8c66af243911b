// A tiled product: the next trip's stores overwrite the tile while others still read it.
#define T 8
__kernel void broken(__global const float *a, __global const float *b, __global float *c, int n) {
    __local float as[T][T], bs[T][T];
    int y = get_local_id(1), x = get_local_id(0), row = get_global_id(1), col = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        as[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
        bs[y][x] = col < n && k + y < n ? b[(k + y) * n + col] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < T; i++)
            sum += as[y][i] * bs[i][x];
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}
__kernel void mended(__global const float *a, __global const float *b, __global float *c, int n) {
    __local float as[T][T], bs[T][T];
    int y = get_local_id(1), x = get_local_id(0), row = get_global_id(1), col = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        as[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
        bs[y][x] = col < n && k + y < n ? b[(k + y) * n + col] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < T; i++)
            sum += as[y][i] * bs[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}
