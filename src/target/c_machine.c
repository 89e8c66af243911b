/* What this computer offers to emitted C, probed once. */
#include "target/c_plan.h"
#include <pthread.h>
#include <unistd.h>

enum { PRIVATE_BYTES = 8 * 1024 * 1024, DEFAULT_CACHE_BYTES = 512 * 1024 };

static machine_model machine;
static pthread_once_t machine_probed = PTHREAD_ONCE_INIT; /* two threads may be the first to ask */

static void probe_machine(void) {
    machine_model probed = {.vector_lanes = 4, .vector_registers = 16, .private_bytes = PRIVATE_BYTES, .stages_operands = true};
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
        probed.vector_lanes = 16;
        probed.vector_registers = 32;
    } else if (__builtin_cpu_supports("avx2"))
        probed.vector_lanes = 8;
#else
    probed.vector_registers = 32;
#endif
    long cache = 0, workers = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef _SC_LEVEL2_CACHE_SIZE
    cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    probed.cache_bytes = cache > 0 ? cache : DEFAULT_CACHE_BYTES;
    probed.workers = workers > 0 ? (int)workers : 1;
    probed.target = "c";
    machine = probed;
}

const machine_model *c_machine(void) {
    pthread_once(&machine_probed, probe_machine);
    return &machine;
}

/* Extents fit 32 bits, so that an element index does as a value too; offsets are computed in 64. */
const target_limits *c_limits(void) {
    static const target_limits limits = {
        .target = "c", .private_bytes = PRIVATE_BYTES, .threads_per_block = 1, .index_bits = 64, .largest_extent = INT32_MAX};
    return &limits;
}
