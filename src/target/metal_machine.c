/* What Apple's GPUs have, since the first Mac with one: simdgroups of 32 lanes, vectors of at most four elements. The host program refuses a device that
 * offers less (metal_build.c). */
#include "target/metal.h"

enum {
    PRIVATE_BYTES = 4096,
    SHARED_BYTES = 32 * 1024,
    ACROSS_BYTES = 8 * 1024,
    THREADS = 128,
    MOST_THREADS = 1024,
    ROW_REGISTERS = 32
};

/* Tiles leave room for what simdgroups exchange. */
const machine_model *metal_machine(void) {
    static const machine_model machine = {.target = "metal",
                                          .vector_lanes = METAL_VECTOR,
                                          .vector_registers = 32,
                                          .private_bytes = PRIVATE_BYTES,
                                          .cache_bytes = SHARED_BYTES,
                                          .workers = 1,
                                          .subgroup_lanes = METAL_LANES,
                                          .subgroups_alone = true,
                                          .subgroups = THREADS / METAL_LANES,
                                          .most_subgroups = MOST_THREADS / METAL_LANES,
                                          .row_registers = ROW_REGISTERS,
                                          .stages_operands = true,
                                          .staging_pays = true,
                                          .shared_bytes = SHARED_BYTES - ACROSS_BYTES,
                                          .widest_vector = METAL_VECTOR};
    return &machine;
}

const target_limits *metal_limits(void) {
    static const target_limits limits = {.target = "metal",
                                         .private_bytes = PRIVATE_BYTES,
                                         .shared_bytes = SHARED_BYTES,
                                         .threads_per_block = MOST_THREADS,
                                         .index_bits = 64,
                                         .largest_extent = INT32_MAX,
                                         .has_lanes = true,
                                         .narrow_indices = true};
    return &limits;
}

const legal_table metal_legal = {
    .target = "metal", .subgroups = true, .f16_arithmetic = false, .vector_lanes = METAL_VECTOR, .aligned_forms = true};
