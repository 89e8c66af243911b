// One way leads to a pointer that nobody set.
void add(__global int *to, int x) {
    if (to)
        *to += x;
}

void add_anyway(__global int *to, int x) { *to += x; }

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void broken(__global int *y, int x) {
    add_anyway(&y[get_group_id(0)], x);
    if (x > 3)
        add_anyway(0, x);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void mended(__global int *y, int x) {
    add(&y[get_group_id(0)], x);
    if (x > 3)
        add(0, x);
}
