// What only the contract says: functions whose bodies are elsewhere (--opaque), lanes in lockstep (--lockstep).
int next_index(int x);
float2 pair(void);
bool go_on(void);
__kernel void opaque_own(__global float *y) {
    int i = get_global_id(0);
    while (go_on())
        y[i] += pair().x;
}
__kernel void opaque_anywhere(__global float *y) {
    int i = next_index(get_global_id(0));
    if (0 <= i && i < 64)
        y[i] = 1;
}
void fill(__global float *y);
__kernel void opaque_pointer(__global float *y) { fill(y); }
float *place(float *p);
__kernel void opaque_place(__global float *y) {
    float own = 1;
    *place(&own) = 2;
    y[get_global_id(0)] = own;
}
void change(int *at);
__kernel void opaque_change(__global float *y) {
    int at[2] = {0, 0};
    change(at);
    y[at[1]] = 1;
}
__constant double steps[4] = {-2.5, 0.1, 3, 1e300};
__kernel void doubles(__global const double *x, __global double *y, __global int *inside) {
    int i = get_global_id(0);
    inside[i] = x[i] == 1.5 || x[i] == -INFINITY;
    y[i] = x[i];
    if (i < 4)
        y[i] = steps[i];
    if (i == 4)
        y[i] = -2.5;
}
// A scan of each row of 32 in place, as written for lanes that go together.
__kernel void scan(__global float *x) {
    __local float s[128];
    int t = get_local_id(0), lane = t % 32;
    s[t] = x[get_global_id(0)];
    for (int d = 1; d < 32; d *= 2)
        if (lane >= d)
            s[t] += s[t - d];
    x[get_global_id(0)] = s[t];
}
// Which lanes come by depends on data: nothing is ordered there, and the neighbour's cell may be read before or after it is written.
__kernel void by_data(__global const float *a, __global float *x) {
    __local float s[64];
    int t = get_local_id(0);
    s[t] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (a[t] > 0) {
        float left = s[t ^ 1];
        s[t] = left;
    }
    x[get_global_id(0)] = s[t];
}
// Which threads write depends on data: some data has two of them do so.
__kernel void by_value(__global const int *a, __global float *y) {
    int i = get_local_id(0);
    if (a[i] != i)
        y[0] = i;
}
__constant int zeros[64] = {};
__kernel void by_table(__global float *y) {
    if (zeros[get_local_id(0)] != 0)
        y[0] = get_local_id(0);
}
__kernel void never_set(__global float *y) {
    __local int at[64];
    y[at[get_local_id(0)]] = 1;
}
// All lanes store to one cell at once.
__kernel void together(__global int *x) { x[get_group_id(0)] = get_local_id(0); }
