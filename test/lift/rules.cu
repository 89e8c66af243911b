// What C++ and CUDA themselves say, and is easily read otherwise: see rules.py.
#include <cstdio>
extern __shared__ float part[];
extern __shared__ int count[];

extern "C" __global__ void one_place(const float *x, float *y) { // both arrays begin where dynamic shared memory does
    int t = threadIdx.x;
    part[t] = x[t];
    count[63 - t] = t;
    __syncthreads();
    y[t] = part[63 - t];
}
extern "C" __global__ void in_turn(const float *x, int *y) {
    int t = threadIdx.x;
    part[t] = x[t];
    __syncthreads();
    y[t] = count[63 - t];
}
extern "C" __global__ void parts(const int *x, int *y, int n) {
    int t = threadIdx.x;
    y[t] = __shfl_sync(~0u, t, x[t], 8);
    y[t + 64] = __shfl_up_sync(~0u, t, n, 8);
    y[t + 128] = __shfl_down_sync(~0u, t, n, 16);
    y[t + 192] = __shfl_xor_sync(~0u, t, 3, 4);
    y[t + 256] = __shfl_sync(~0u, t, 37);
    if (t == 0)
        printf("%s %d\n", "done", n);
}
extern "C" __global__ void narrow_counter(float *x, int n) { // from 256 on it never ends
    for (unsigned char i = 0; i < n; i++)
        x[i] = 1;
}
extern "C" __global__ void too_far(int *y) { y[threadIdx.x] = 1 << threadIdx.x; }
extern "C" __global__ void two_ways_in(const int *x, int *y) {
    int n = 0, v = x[threadIdx.x];
    if (v & 1)
        goto inside;
again:
    n += 2;
inside:
    n += 1;
    if (n < v)
        goto again;
    y[threadIdx.x] = n;
}
