/* What a CUDA device of compute capability 8.0 or later has. Subgroups are warps, so nothing of them is rewritten. */
#include "kernel/legalize.h"
#include "target/intrinsics.h"
#include "target/gpu_plan.h"

enum {
    PRIVATE_BYTES = 4096,
    SHARED_BYTES = 48 * 1024,
    ACROSS_BYTES = 8 * 1024,
    RING_BYTES = 96 * 1024, /* of 99 KiB that every such device gives a block on request */
    THREADS = 128,
    MOST_THREADS = 1024,
    WARPGROUP_BYTES = 227 * 1024, /* that a device with warpgroups gives a block on request */
    LANES = 32,
    WARPGROUP = 4 * LANES,
    WARPGROUP_THREADS = 256,
    REREADING_THREADS = 256,
    DEALING_THREADS = 256,
    ROW_REGISTERS = 32 /* half of what 1024 threads of a multiprocessor may have each */
};

/* What a warp multiplies at once. The numbers of the float rows hold for every device from `since` on by what is published of an A100 (Fasi et al., PeerJ
 * Computer Science 7:e330, 2021; Khattak and Mikaitis, arXiv 2512.07004) and was found on an H200 (bench/findings): sm_80's units add eight products (four of
 * tf32) and keep one bit below the largest term's; Hopper's add sixteen and keep two. Its warpgroups' unit for 8-bit floats adds 32 and
 * keeps 13 bits behind the point of the largest term and of the result: such rows are taken by schedules that say after how many products its sums are added in f32. */
static const matrix_instruction matrices[] = {
    {"mma.sync.m16n8k16", 16, 8, 16, ELEMENT_F16, ELEMENT_F32, LEVEL_SUBGROUP, LANES, "sm_80", 8, 24, 0, false, false},
    {"mma.sync.m16n8k16", 16, 8, 16, ELEMENT_BF16, ELEMENT_F32, LEVEL_SUBGROUP, LANES, "sm_80", 8, 24, 0, false, false},
    {"mma.sync.m16n8k32", 16, 8, 32, ELEMENT_I8, ELEMENT_I32, LEVEL_SUBGROUP, LANES, "sm_80", 0, 0, 0, false, false},
    {"mma.sync.m16n8k8", 16, 8, 8, ELEMENT_TF32, ELEMENT_F32, LEVEL_SUBGROUP, LANES, "sm_80", 4, 24, 0, false, false},
    {"wgmma.m64n64k16", 64, 64, 16, ELEMENT_F16, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 16, 25, 0, false, false},
    {"wgmma.m64n128k16", 64, 128, 16, ELEMENT_F16, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 16, 25, 0, false, false},
    {"wgmma.m64n256k16", 64, 256, 16, ELEMENT_F16, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 16, 25, 0, false, false},
    {"wgmma.m64n64k16", 64, 64, 16, ELEMENT_BF16, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 16, 25, 0, false, false},
    {"wgmma.m64n128k16", 64, 128, 16, ELEMENT_BF16, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 16, 25, 0, false, false},
    {"wgmma.m64n256k16", 64, 256, 16, ELEMENT_BF16, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 16, 25, 0, false, false},
    {"wgmma.m64n64k8", 64, 64, 8, ELEMENT_TF32, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 8, 25, 0, false, false},
    {"wgmma.m64n128k8", 64, 128, 8, ELEMENT_TF32, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 8, 25, 0, false, false},
    {"wgmma.m64n256k8", 64, 256, 8, ELEMENT_TF32, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 8, 25, 0, false, false},
    {"wgmma.m64n64k32", 64, 64, 32, ELEMENT_I8, ELEMENT_I32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 0, 0, 0, false, false},
    {"wgmma.m64n128k32", 64, 128, 32, ELEMENT_I8, ELEMENT_I32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 0, 0, 0, false, false},
    {"wgmma.m64n256k32", 64, 256, 32, ELEMENT_I8, ELEMENT_I32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 0, 0, 0, false, false},
    {"wgmma.m64n64k32", 64, 64, 32, ELEMENT_E4M3, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 32, 13, 13, false, false},
    {"wgmma.m64n128k32", 64, 128, 32, ELEMENT_E4M3, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 32, 13, 13, false, false},
    {"wgmma.m64n64k32", 64, 64, 32, ELEMENT_E5M2, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 32, 13, 13, false, false},
    {"wgmma.m64n128k32", 64, 128, 32, ELEMENT_E5M2, ELEMENT_F32, LEVEL_WARPGROUP, WARPGROUP, "sm_90a", 32, 13, 13, false, false},
};

/* Tiles leave room for what warps exchange. */
const machine_model *cuda_machine(void) {
    static const machine_model machine = {.target = "cuda",
                                          .intrinsics = &cuda_intrinsics,
                                          .vector_lanes = 4,
                                          .vector_registers = 32,
                                          .private_bytes = PRIVATE_BYTES,
                                          .cache_bytes = SHARED_BYTES,
                                          .workers = 1,
                                          .subgroup_lanes = LANES,
                                          .subgroups_alone = true,
                                          .subgroups = THREADS / LANES,
                                          .rereading_subgroups = REREADING_THREADS / LANES,
                                          .dealing_subgroups = DEALING_THREADS / LANES,
                                          .most_subgroups = MOST_THREADS / LANES,
                                          .row_registers = ROW_REGISTERS,
                                          .stages_operands = true,
                                          .staging_pays = true,
                                          .stages = 3,
                                          .ring_bytes = RING_BYTES,
                                          .warpgroups_pay = true,
                                          .warpgroup_subgroups = WARPGROUP / LANES,
                                          .warpgroup_block = WARPGROUP_THREADS / LANES,
                                          .warpgroup_stages = 4,
                                          .warpgroup_bytes = WARPGROUP_BYTES,
                                          .left_of_sums = 1u << 2,
                                          .matrices = {matrices, sizeof matrices / sizeof *matrices},
                                          .shared_bytes = SHARED_BYTES - ACROSS_BYTES};
    return &machine;
}

const target_limits *cuda_limits(void) {
    static const target_limits limits = {.target = "cuda",
                                         .private_bytes = PRIVATE_BYTES,
                                         .shared_bytes = WARPGROUP_BYTES,
                                         .threads_per_block = MOST_THREADS,
                                         .index_bits = 64,
                                         .largest_extent = INT32_MAX,
                                         .has_lanes = true,
                                         .narrow_indices = true};
    return &limits;
}

const legal_table cuda_legal = {.target = "cuda",
                                .subgroups = true,
                                .f16_arithmetic = false,
                                .vector_lanes = 16,
                                .aligned_forms = true,
                                .matrices = {matrices, sizeof matrices / sizeof *matrices},
                                .aligned_shared = true};
