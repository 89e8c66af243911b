/* What Apple's GPUs have, since the first Mac with one: simdgroups of 32 lanes, vectors of at most four elements. The host program refuses a device that
 * offers less (metal_build.c). */
#include "target/intrinsics.h"
#include "target/air.h"
#include "target/metal.h"

enum {
    PRIVATE_BYTES = 4096,
    SHARED_BYTES = 32 * 1024,
    ACROSS_BYTES = 8 * 1024,
    THREADS = 128,
    MOST_THREADS = 1024,
    ROW_REGISTERS = 32
};

/* What a simdgroup multiplies at once. The vendor says nothing of its arithmetic and no device was asked: the rows assume no more than f32 operations one
 * product at a time, each cut off or rounded, the product of two f32 as well; any order of the eight, and any unit that keeps more, loses less. */
static const matrix_instruction matrices[] = {
    {"simdgroup_matrix 8x8x8", 8, 8, 8, ELEMENT_F16, ELEMENT_F32, LEVEL_SUBGROUP, METAL_LANES, "Apple7 (M1)", 1, 24, 0, false,
     false},
    {"simdgroup_matrix 8x8x8", 8, 8, 8, ELEMENT_BF16, ELEMENT_F32, LEVEL_SUBGROUP, METAL_LANES, "Apple7 (M1), MSL 3.1", 1, 24, 0,
     false, false},
    {"simdgroup_matrix 8x8x8", 8, 8, 8, ELEMENT_F32, ELEMENT_F32, LEVEL_SUBGROUP, METAL_LANES, "Apple7 (M1)", 1, 24, 0, false,
     false},
};

/* Tiles leave room for what simdgroups exchange. */
const machine_model *metal_machine(void) {
    static const machine_model machine = {.target = "metal",
                                          .intrinsics = &metal_intrinsics,
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
                                          .held_stages = 2,
                                          .left_of_sums = 1u << 2 | 1u << 4,
                                          .matrices = {matrices, sizeof matrices / sizeof *matrices},
                                          .fragment_row = 8,
                                          .direct_fragments = true,
                                          .matrix_tile = 64,
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

#define METAL_LEGAL(name)                                                                                                        \
    {                                                                                                                            \
        .target = name, .subgroups = true, .f16_arithmetic = false, .vector_lanes = METAL_VECTOR, .aligned_forms = true,         \
        .aligned_shared = true, .matrices = {matrices, sizeof matrices / sizeof *matrices}, .lane_views = true                   \
    }
const legal_table metal_legal = METAL_LEGAL("metal");

/* ---- the same as LLVM IR, with indices of 64 bits alone ---- */

const machine_model *air_machine(void) {
    static machine_model machine;
    machine = *metal_machine();
    machine.target = "air";
    machine.intrinsics = &air_intrinsics;
    machine.intrinsic_form = "typed";
    return &machine;
}

const target_limits *air_limits(void) {
    static target_limits limits;
    limits = *metal_limits();
    limits.target = "air";
    limits.narrow_indices = false;
    return &limits;
}

const legal_table air_legal = METAL_LEGAL("air");
