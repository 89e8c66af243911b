/* What every OpenCL device is counted on to have. A plan is made once and runs on any of them: a device that offers less refuses to load it, with
 * the numbers (run/opencl.c). */
#include "kernel/legalize.h"
#include "target/intrinsics.h"
#include "target/c_plan.h"
#include "target/gpu_plan.h"
#include <pthread.h>

enum {
    PRIVATE_BYTES = 4096,
    SHARED_BYTES = 32 * 1024,
    EXCHANGE_BYTES = 12 * 1024,
    THREADS = 128,
    MOST_THREADS = 256,
    LANES = 32,
    CPU_PRIVATE_BYTES = 512 * 1024
};

/* Tiles leave room for what lanes exchange (legalize_subgroup.c). 32 lanes, whatever the device's own width: without subgroup operations it is only how elements are dealt out. */
const machine_model *opencl_machine(void) {
    static const machine_model machine = {.target = "opencl",
                                          .intrinsics = &opencl_intrinsics,
                                          .vector_lanes = 4,
                                          .vector_registers = 32,
                                          .private_bytes = PRIVATE_BYTES,
                                          .cache_bytes = SHARED_BYTES,
                                          .workers = 1,
                                          .subgroup_lanes = LANES,
                                          .subgroups = THREADS / LANES,
                                          .most_subgroups = MOST_THREADS / LANES,
                                          .stages_operands = true,
                                          .shared_bytes = SHARED_BYTES - EXCHANGE_BYTES};
    return &machine;
}

const target_limits *opencl_limits(void) {
    static const target_limits limits = {.target = "opencl",
                                         .private_bytes = PRIVATE_BYTES,
                                         .shared_bytes = SHARED_BYTES,
                                         .threads_per_block = MOST_THREADS,
                                         .index_bits = 64,
                                         .largest_extent = INT32_MAX,
                                         .has_lanes = true,
                                         .narrow_indices = true};
    return &limits;
}

/* A device that is a processor runs work-items of a group one after another; its threads take whole groups. What it does well is what the C target does:
 * a task a thread, elements in vectors. Its row is the processor's own; memory of a task is less, as it comes out of what the device calls local. */
static machine_model cpu_machine;
static pthread_once_t cpu_machine_made = PTHREAD_ONCE_INIT;

static void make_cpu_machine(void) {
    cpu_machine = *c_machine();
    cpu_machine.target = "opencl_cpu";
    cpu_machine.matrices = (matrix_table){0}; /* OpenCL C has none of the processor's instructions */
    cpu_machine.intrinsics = &opencl_intrinsics;
    cpu_machine.intrinsic_target = "opencl";
    cpu_machine.private_bytes = CPU_PRIVATE_BYTES;
}

const machine_model *opencl_cpu_machine(void) {
    pthread_once(&cpu_machine_made, make_cpu_machine);
    return &cpu_machine;
}

const target_limits *opencl_cpu_limits(void) {
    static const target_limits limits = {.target = "opencl_cpu",
                                         .private_bytes = CPU_PRIVATE_BYTES,
                                         .threads_per_block = 1,
                                         .index_bits = 64,
                                         .largest_extent = INT32_MAX};
    return &limits;
}

const legal_table opencl_legal = {.target = "opencl", .subgroups = false, .f16_arithmetic = false, .vector_lanes = 16};
const legal_table opencl_cpu_legal = {.target = "opencl_cpu", .subgroups = false, .f16_arithmetic = false, .vector_lanes = 16};
