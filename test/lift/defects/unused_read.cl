// Nobody needs what the call reads: the access is made all the same.
int first(__local const int *p) { return p[get_local_id(0)]; }

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void broken(__global int *y) {
    __local int s[65];
    s[get_local_id(0)] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    first(s);
    s[get_local_id(0) + 1] = 1;
    y[get_global_id(0)] = s[get_local_id(0) + 1];
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void mended(__global int *y) {
    __local int s[65];
    s[get_local_id(0)] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    first(s);
    barrier(CLK_LOCAL_MEM_FENCE);
    s[get_local_id(0) + 1] = 1;
    y[get_global_id(0)] = s[get_local_id(0) + 1];
}
