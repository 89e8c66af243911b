// A struct's own array is filled one too far, into the field behind it. Between the fields lies what nobody sets, and copying the struct does not read it.
struct record {
    char tag;
    int values[3];
    int count;
};
void fill(struct record *r, __global const int *x, int first, int last) {
    r->tag = 1;
    r->count = last - first;
    for (int k = first; k < last; k++)
        r->values[k - first] = x[k];
}
__kernel void broken(__global const int *x, __global struct record *y) {
    struct record r;
    int i = get_global_id(0);
    fill(&r, x, 3 * i, 3 * i + 4);
    y[i] = r;
}
__kernel void mended(__global const int *x, __global struct record *y) {
    struct record r;
    int i = get_global_id(0);
    fill(&r, x, 3 * i, 3 * i + 3);
    y[i] = r;
}
