// Copies by the work-group. In each pair one thing is wrong: a wait, a barrier, an argument, an extent.
#define GROUP 64
void reversed(local float *tile, global const float *x, global float *y, bool waits) {
    int l = get_local_id(0), first = get_group_id(0) * GROUP;
    event_t e = async_work_group_copy(tile, x + first, GROUP, 0);
    if (waits)
        wait_group_events(1, &e);
    barrier(CLK_LOCAL_MEM_FENCE);
    y[first + l] = tile[GROUP - 1 - l];
    if (!waits)
        wait_group_events(1, &e);
}
kernel void read_early_broken(global const float *x, global float *y) {
    local float tile[GROUP];
    reversed(tile, x, y, false);
}
kernel void read_early_mended(global const float *x, global float *y) {
    local float tile[GROUP];
    reversed(tile, x, y, true);
}

void shared_out(local int *tile, global int *y, int v, bool ordered) {
    int l = get_local_id(0), first = get_group_id(0) * GROUP;
    tile[l] = v + l;
    if (ordered)
        barrier(CLK_LOCAL_MEM_FENCE);
    event_t e = async_work_group_copy(y + first, tile, GROUP, 0);
    wait_group_events(1, &e);
}
kernel void copied_early_broken(global int *y, int v) {
    local int tile[GROUP];
    shared_out(tile, y, v, false);
}
kernel void copied_early_mended(global int *y, int v) {
    local int tile[GROUP];
    shared_out(tile, y, v, true);
}

void rows(local float *tile, global const float *x, global float *y, int n, bool alike) {
    int l = get_local_id(0), first = get_group_id(0) * GROUP, left = min(GROUP, n - first);
    event_t e = async_work_group_copy(tile, x + first, alike ? left : min(left, l + 1), 0);
    wait_group_events(1, &e);
    if (l < left)
        y[first + l] = tile[left - 1 - l];
}
kernel void unlike_threads_broken(global const float *x, global float *y, int n) {
    local float tile[GROUP];
    rows(tile, x, y, n, false);
}
kernel void unlike_threads_mended(global const float *x, global float *y, int n) {
    local float tile[GROUP];
    rows(tile, x, y, n, true);
}

void last_tile(local float *tile, global const float *x, global float *y, int n, bool cut) {
    int l = get_local_id(0), first = get_group_id(0) * GROUP;
    event_t e = async_work_group_copy(tile, x + first, cut ? min(GROUP, n - first) : GROUP, 0);
    wait_group_events(1, &e);
    if (first + l < n)
        y[first + l] = 2 * tile[l];
}
kernel void tile_past_end_broken(global const float *x, global float *y, int n) {
    local float tile[GROUP];
    last_tile(tile, x, y, n, false);
}
kernel void tile_past_end_mended(global const float *x, global float *y, int n) {
    local float tile[GROUP];
    last_tile(tile, x, y, n, true);
}

void halves(local float *tile, global const float *x, global float *y, int apart) {
    int l = get_local_id(0), first = get_group_id(0) * GROUP;
    event_t e = async_work_group_copy(tile, x + first, GROUP / 2 + !apart, 0);
    async_work_group_strided_copy(tile + GROUP / 2, x + first, GROUP / 2, 2, e);
    wait_group_events(1, &e);
    y[first + l] = tile[l];
}
kernel void overlapping_broken(global const float *x, global float *y) {
    local float tile[GROUP];
    halves(tile, x, y, 0);
}
kernel void overlapping_mended(global const float *x, global float *y) {
    local float tile[GROUP];
    halves(tile, x, y, 1);
}

// The next tile is on its way while this one is added up.
void ring(local float (*slots)[GROUP], global const float *x, global float *y, int tiles, bool slower) {
    int l = get_local_id(0);
    event_t now = async_work_group_copy(slots[0], x, GROUP, 0);
    float sum = 0;
    for (int t = 0; t < tiles; t++) {
        event_t next = 0;
        if (t + 1 < tiles)
            next = async_work_group_copy(slots[(t + 1) % 2], x + (t + 1) * GROUP, GROUP, 0);
        wait_group_events(1, &now);
        sum += slots[t % 2][GROUP - 1 - l];
        if (slower)
            barrier(CLK_LOCAL_MEM_FENCE);
        now = next;
    }
    y[l] = sum;
}
kernel void slot_in_use_broken(global const float *x, global float *y, int tiles) {
    local float slots[2][GROUP];
    ring(slots, x, y, tiles, false);
}
kernel void slot_in_use_mended(global const float *x, global float *y, int tiles) {
    local float slots[2][GROUP];
    ring(slots, x, y, tiles, true);
}

void half_there(local float *tile, global const float *x, global float *y, bool all) {
    int l = get_local_id(0);
    if (all || l < GROUP / 2) {
        event_t e = async_work_group_copy(tile, x, GROUP, 0);
        wait_group_events(1, &e);
        y[l] = tile[GROUP - 1 - l];
    }
}
kernel void half_the_threads_broken(global const float *x, global float *y) {
    local float tile[GROUP];
    half_there(tile, x, y, false);
}
kernel void half_the_threads_mended(global const float *x, global float *y) {
    local float tile[GROUP];
    half_there(tile, x, y, true);
}

void two_parts(local float *tile, global const float *x, global float *y, bool each) {
    event_t parts[2];
    int l = get_local_id(0);
    parts[0] = async_work_group_copy(tile, x, GROUP / 2, 0);
    parts[1] = async_work_group_copy(tile + GROUP / 2, x + GROUP / 2, GROUP / 2, 0);
    if (each)
        wait_group_events(2, parts);
    else
        wait_group_events(1, parts + 2 * l / GROUP); // its own half
    y[l] = tile[l];
}
kernel void own_half_broken(global const float *x, global float *y) {
    local float tile[GROUP];
    two_parts(tile, x, y, false);
}
kernel void own_half_mended(global const float *x, global float *y) {
    local float tile[GROUP];
    two_parts(tile, x, y, true);
}

// An image that is read gives anything, and its reader goes past the rows it was given.
float4 pixel(read_only image2d_t image, int i) {
    const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    return read_imagef(image, nearest, (int2)(i, get_image_height(image) - 1));
}
kernel void image_past_end_broken(read_only image2d_t image, global float4 *y, int n) { y[get_global_id(0)] = pixel(image, get_global_id(0)); }
kernel void image_past_end_mended(read_only image2d_t image, global float4 *y, int n) {
    if (get_global_id(0) < n)
        y[get_global_id(0)] = pixel(image, get_global_id(0));
}

// Pointers that are put into memory and copied there, and through which nothing is accessed, are numbers like any other.
struct node {
    global float *at;
    int size;
};
void put(global struct node *nodes, global struct node *more, global float *x, int to) {
    nodes[to].at = x;
    nodes[to].size = 1;
    more[to].at = more[get_global_size(0) + to].at;
}
kernel void pointer_overwritten_broken(global struct node *nodes, global struct node *more, global float *x) {
    put(nodes, more, x, get_global_id(0) / 2);
}
kernel void pointer_overwritten_mended(global struct node *nodes, global struct node *more, global float *x) {
    put(nodes, more, x, get_global_id(0));
}
