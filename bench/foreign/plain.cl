/* Plain OpenCL C as one writes it for a GPU: for bench/foreign.json, which pairs it with our own lowering of the same mathematics. Launches: plain.launch. */

/* c = a b by tiles of 16 x 16 in local memory, a result a thread; the edges are filled with zeros. */
#define TILE 16
__kernel void matmul_tiled(__global const float *a, __global const float *b, __global float *c, int M, int N, int K)
{
    __local float left[TILE][TILE], right[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < K; k += TILE) {
        left[y][x] = row < M && k + x < K ? a[row * K + k + x] : 0.0f;
        right[y][x] = k + y < K && column < N ? b[(k + y) * N + column] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < TILE; i++)
            sum += left[y][i] * right[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < M && column < N)
        c[row * N + column] = sum;
}

/* A block of 64 threads a row for the others: each takes every 64th column, and a tree in local memory joins what they found. */
#define THREADS 64
__kernel void softmax_rows(__global const float *x, __global float *y, int C)
{
    __local float part[THREADS];
    int t = get_local_id(0), row = get_group_id(0);
    float most = -INFINITY, sum = 0.0f;
    for (int c = t; c < C; c += THREADS)
        most = fmax(most, x[row * C + c]);
    part[t] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s)
            part[t] = fmax(part[t], part[t + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    most = part[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = t; c < C; c += THREADS)
        sum += exp(x[row * C + c] - most);
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int c = t; c < C; c += THREADS)
        y[row * C + c] = exp(x[row * C + c] - most) / part[0];
}

__kernel void rms_norm_rows(__global const float *x, __global const float *w, __global float *y, __global float *rstd, int C, float eps)
{
    __local float part[THREADS];
    int t = get_local_id(0), row = get_group_id(0);
    float sum = 0.0f;
    for (int c = t; c < C; c += THREADS)
        sum += x[row * C + c] * x[row * C + c];
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float q = rsqrt(part[0] / C + eps);
    if (t == 0)
        rstd[row] = q;
    for (int c = t; c < C; c += THREADS)
        y[row * C + c] = x[row * C + c] * q * w[c];
}

__kernel void matrix_vector(__global const float *w, __global const float *x, __global float *y, int K)
{
    __local float part[THREADS];
    int t = get_local_id(0), row = get_group_id(0);
    float sum = 0.0f;
    for (int k = t; k < K; k += THREADS)
        sum += w[row * K + k] * x[k];
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0)
        y[row] = part[0];
}
