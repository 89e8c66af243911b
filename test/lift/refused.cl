// What is not read, named at its line; and what is read, but only under conditions that nobody said. See refused.py.
__kernel void images(write_only image2d_t i, __global float *o) { write_imagef(i, (int2)(0, 0), (float4)(o[0])); }
__kernel void unknown(__global float *o) { o[get_global_id(0)] = lgamma(o[0]); }
__kernel void exchange(__global int *o) { atomic_flag_clear((volatile __global atomic_flag *)o); }
static float fact(float n) { return n <= 1 ? 1 : n * fact(n - 1); }
__kernel void recursion(__global float *o) { o[0] = fact(o[1]); }
__kernel void stored(__global float *a, __global float *b, int c) {
    __global float *p[2] = {a, b};
    p[c][0] = 1;
}

__kernel void wide(__global double *a) { a[0] = a[1] * 3; }
__kernel void add(__global const float *a, __global const float *b, __global float *c, int n) {
    int i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}
__kernel void rows(__global const float *x, __global float *y, int cols) {
    int i = get_group_id(0) * cols; // 2^31 elements are too many for it
    for (int c = get_local_id(0); c < cols; c += 64)
        y[i + c] = 2 * x[i + c];
}
__kernel void divides(__global int *a, int n) { a[get_global_id(0)] = 7 / n; }
__kernel void past(__global float *a, int n) {
    int i = get_global_id(0);
    if (i <= n)
        a[i] = 0;
}
kernel void strided(global int *a, global int *b, int n, int m) { __builtin_assume((n > 0) & (m == 3)); a[n * get_local_id(0)] = 1; b[m * m * get_local_id(0)] = 1; }
kernel void meets(int flags) {
    local int b[64];
    b[get_local_id(0)] = 1;
    barrier(flags);
    b[63 - get_local_id(0)] = 2;
}
#define TURN(NAME, BARRIER) \
    __kernel __attribute__((reqd_work_group_size(64, 1, 1))) void NAME(__global const float *x, __global float *y) { \
        __local float t[64]; \
        t[get_local_id(0)] = x[get_global_id(0)]; \
        BARRIER; \
        y[get_global_id(0)] = t[63 - get_local_id(0)]; \
    }
TURN(turn_group, work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group))
TURN(turn_device, work_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE, memory_scope_device))
TURN(turn_item, work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_item))
TURN(turn_fence, mem_fence(CLK_LOCAL_MEM_FENCE))
TURN(turn_item_fence, atomic_work_item_fence(CLK_LOCAL_MEM_FENCE, memory_order_seq_cst, memory_scope_device))
__kernel void prints(__global float *o) {
    o[get_global_id(0)] = 1;
    printf("%d %f\n", (int)get_global_id(0), 0.5f);
}
__kernel void elements(__global float4 *y, __global float4 *z) {
    y[get_global_id(0)].zy = (float2)(1, 2);
    z[get_global_id(0)].x = z[get_global_id(0)].y;
}
__kernel void waits(__global float *y) {
    event_t e = 0;
    wait_group_events(1, &e);
    y[get_global_id(0)] = 1;
}
__kernel void sized(__global float *y, size_t n, __global float *z) {
    if (get_global_id(0) < n)
        y[get_global_id(0)] = 1;
}
