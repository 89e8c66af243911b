/* The model of a processor (a multiprocessor, of CUDA): how many blocks of a tiling it holds, and what a step of each takes of its units, its shared memory and its
 * copies. What a device reports of itself, how much of each thing its processors have, is taken from it; how quickly warps multiply and shared memory is read, from the
 * device's description where it was probed. The rest nobody reports: it is fitted to what an H200 took, and stands for every device. */
#include "schedule/product_model.h"
#include <inttypes.h>

/* As an H200 does it, in its clocks: multiply-adds of each kind, bytes from shared memory and from the far cache, clocks until a copy lands, until a block has begun
 * and stored. */
enum {
    BY_WARPGROUP = 1800,
    BY_SUBGROUP = 1000,
    BY_THREADS = 97, /* of 128 */
    WAVEFRONTS =
        4, /* that an access of 16 bytes takes of shared memory, though several lanes read the same: 128 bytes a clock reach registers */
    LANE_ROWS = 8, /* as lanes stand over a product's tile (lanes_spread.c) */
    LANE_COLUMNS = 4,
    SHARED_BYTES = 128,
    FAR_BYTES = 40,
    FAR_IN_BULK = 64,
    FAR_BY_SUBGROUP = 24, /* copies wait behind the loads of fragments */
    LANDING = 900,
    AROUND = 2500,
    STORED_BYTES = 24,
    AFTER_EACH = 4, /* clocks from one operation to the next in a thread */
    BUSY_THREADS = 512,
    BUSY_SUBGROUPS = 8,
    STEP_OF_THREADS = 150, /* barrier and copies of a step, where threads multiply */
    FETCH_OF_THREADS = 28  /* from one element of the sum to the next, which no other block hides */
};
/* Of a processor, where the device does not say. */
enum { ALL_SHARED = 228 * 1024, ALL_REGISTERS = 64 * 1024, MOST_RESIDENT_THREADS = 2048 };
/* Of every device from sm_80 on: shared memory that a block takes for the system, registers that a thread may have, those it has for other things. */
enum { SYSTEM_BYTES = 1024, MBARRIER_BYTES = 1024, MOST_REGISTERS = 255, OTHER_REGISTERS = 64, OTHERS_OF_CONSUMER = 40 };

static int64_t least(int64_t x, int64_t y) {
    return x < y ? x : y;
}
static int64_t greatest(int64_t x, int64_t y) {
    return x > y ? x : y;
}
static int64_t up(int64_t x, int64_t y) {
    return (x + y - 1) / y;
}
static int64_t known(int64_t reported, int64_t otherwise) {
    return reported > 0 ? reported : otherwise;
}

tiling_cost product_cost(arena *a, const tiling *t, const product_work *w, const machine_model *row, const split_device *device) {
    const int64_t multiplying = (int64_t)row->subgroup_lanes * t->subgroup_rows * t->subgroup_columns,
                  threads =
                      multiplying + (t->producer ? row->subgroup_lanes * row->warpgroup_subgroups * t->subgroup_columns : 0);
    const int64_t accumulated = (int64_t)w->count * t->rows * t->columns / multiplying,
                  slot = (int64_t)w->count * (t->rows + t->columns) * t->step * w->bytes,
                  room = t->warpgroups ? row->warpgroup_bytes - MBARRIER_BYTES : row->ring_bytes;
    const int64_t stages = least(t->warpgroups ? row->warpgroup_stages : row->stages, room / slot),
                  ahead = t->warpgroups && !t->producer ? stages - 2 : stages - 1,
                  registers = accumulated + (t->producer ? OTHERS_OF_CONSUMER : OTHER_REGISTERS);
    tiling_cost c = {.threads = threads};
    if (t->single != w->single)
        c.none = "it is for products of another kind";
    else if (t->warpgroups && !(device->warpgroups && row->warpgroups_pay))
        c.none = "the device has no matrix instructions of warpgroups";
    else if (ahead < 1)
        c.none =
            arena_printf(a, "%" PRId64 " KiB hold no step ahead of another, of %" PRId64 " KiB each", room / 1024, slot / 1024);
    else if (registers > MOST_REGISTERS)
        c.none = arena_printf(a, "a thread would have %" PRId64 " registers, and has %d at most", registers, MOST_REGISTERS);
    if (c.none)
        return c;
    c.resident = least(least(known(device->shared_bytes, ALL_SHARED) / (stages * slot + SYSTEM_BYTES),
                             known(device->registers, ALL_REGISTERS) / (threads * registers)),
                       known(device->threads, MOST_RESIDENT_THREADS) / threads);
    if (c.resident < 1) {
        c.none = arena_printf(a, "a processor has no room for a block of it: %" PRId64 " KiB shared, %" PRId64 " registers",
                              (stages * slot + SYSTEM_BYTES) / 1024, threads * registers);
        return c;
    }
    c.at_once = device->units * c.resident;
    /* what one step of one block takes of the processor */
    const int64_t multiplied = (int64_t)w->count * t->rows * t->columns * t->step /
                               (t->single       ? BY_THREADS
                                : t->warpgroups ? BY_WARPGROUP
                                                : known(device->subgroup_multiplies, BY_SUBGROUP));
    const int64_t wide = t->columns / t->subgroup_columns;
    const int64_t read = t->warpgroups ? (int64_t)t->rows / 64 * t->subgroup_columns * (64 + wide)
                                       : (int64_t)t->subgroup_columns * t->rows + (int64_t)t->subgroup_rows * t->columns;
    const int64_t quarters =
        (int64_t)t->rows * t->subgroup_columns / LANE_ROWS +
        (int64_t)t->columns * t->subgroup_rows / LANE_COLUMNS; /* of accesses of 16 bytes, of all subgroups */
    const int64_t shared = t->single ? w->count * quarters * t->step * WAVEFRONTS / 4
                                     : w->count * (read + t->rows + t->columns) * t->step * w->bytes /
                                           known(device->shared_bytes_a_clock, SHARED_BYTES),
                  far = slot / (t->producer     ? FAR_IN_BULK
                                : t->warpgroups ? FAR_BYTES
                                                : FAR_BY_SUBGROUP);
    c.each = greatest(multiplied, greatest(shared, far)) + (t->single ? STEP_OF_THREADS : 0);
    /* what it takes at least, however few others there are: its subgroups wait for their own fragments */
    c.alone = t->single ? 0 : t->warpgroups ? multiplied : multiplied * BUSY_SUBGROUPS / (t->subgroup_rows * t->subgroup_columns);
    c.fetching = t->single ? FETCH_OF_THREADS * t->step : 0;
    c.landing = w->computed ? LANDING : LANDING / ahead; /* what threads load themselves they wait for in each step */
    c.stored = (int64_t)t->rows * t->columns * 4 / STORED_BYTES;
    c.computed = accumulated * w->operations * AFTER_EACH;
    return c;
}

int64_t product_clocks(const tiling *t, const tiling_cost *c, const split_device *device, int64_t m, int64_t n, int64_t k,
                       int64_t times) {
    const int64_t steps = up(k, t->step), tasks = up(m, t->rows) * up(n, t->columns) * times, waves = tasks / c->at_once,
                  rest = tasks - waves * c->at_once;
    int64_t sum = 0;
    for (int i = 0; i < 2; i++) { /* whole waves, then what is left, whose blocks have more of the processor each */
        const int64_t count = i ? rest > 0 : waves, blocks = i ? up(rest, device->units) : c->resident;
        if (count)
            sum += count * (steps * greatest(blocks * c->each + c->fetching, greatest(c->landing, c->alone)) + AROUND +
                            blocks * c->stored + c->computed * greatest(blocks * c->threads, BUSY_THREADS) / BUSY_THREADS);
    }
    return sum;
}

const char *product_model_says(arena *a, const split_device *device) {
    const bool all = device->shared_bytes > 0 && device->registers > 0 && device->threads > 0;
    return arena_printf(
        a,
        "the model: %d processors, each with %" PRId64 " KiB of shared memory, %" PRId64 " registers and %" PRId64
        " threads, %s; how quickly one %scopies and begins a block is what an H200 took, measured on no other device",
        device->units, known(device->shared_bytes, ALL_SHARED) / 1024, known(device->registers, ALL_REGISTERS),
        known(device->threads, MOST_RESIDENT_THREADS), all ? "as the device says" : "an H200's where the device does not say",
        !device->probed
            ? "multiplies, "
            : arena_printf(a, "multiplies by warps (%" PRId64 " a clock) and reads shared memory was probed on %s; how it ",
                           known(device->subgroup_multiplies, BY_SUBGROUP), device->probed));
}
