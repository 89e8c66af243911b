/* What this computer offers to emitted C, probed once. */
#define _GNU_SOURCE
#include "target/c_plan.h"
#include "target/intrinsics.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

enum { PRIVATE_BYTES = 8 * 1024 * 1024, DEFAULT_CACHE_BYTES = 512 * 1024 };

/* What one thread multiplies at once, the best first: a matrix unit (AMX), then a vector's dot products. A float row's unit adds the even and the odd products of
 * its step apart, each sum of up to 16 rounded as it goes, both together, and that to the sum: at most 18 roundings of terms; vdpbf16ps adds one product at a
 * time (bench/findings). */
enum { ROWS = 4 };
static const matrix_instruction all_rows[ROWS] = {
    {"tdpbf16ps", 16, 16, 32, ELEMENT_BF16, ELEMENT_F32, LEVEL_TASK, 1, "AMX-BF16", 32, 25, 0, false, true},
    {"tdpbssd", 16, 16, 64, ELEMENT_I8, ELEMENT_I32, LEVEL_TASK, 1, "AMX-INT8", 0, 0, 0, false, false},
    {"vdpbf16ps", 1, 16, 2, ELEMENT_BF16, ELEMENT_F32, LEVEL_TASK, 1, "AVX512-BF16", 0, 0, 0, false, true},
    {"vpdpbusd", 1, 16, 4, ELEMENT_I8, ELEMENT_I32, LEVEL_TASK, 1, "AVX512-VNNI", 0, 0, 0, false, false}};
static matrix_instruction rows[ROWS];
static machine_model machine;
static pthread_once_t machine_probed = PTHREAD_ONCE_INIT; /* two threads may be the first to ask */

#if defined(__x86_64__)
/* $TILEC_MATRICES names those that may be used, with commas between them; without it, all. */
static bool is_wanted(const char *name) {
    const char *wanted = getenv("TILEC_MATRICES");
    size_t length = strlen(name);
    for (const char *at = wanted; at && (at = strstr(at, name)); at += length)
        if ((at == wanted || at[-1] == ',') && (at[length] == ',' || !at[length]))
            return true;
    return !wanted;
}

/* Whether the processor has the instructions and the system keeps their registers; a process asks once for those of the matrix unit. */
static int matrix_rows(void) {
    unsigned a, b, c, d, a1, b1, c1, d1, low, high;
    bool has[ROWS] = {false};
    /* Intel's cores begin a vdpbf16ps every second clock, two fused multiply-adds every clock: as many products (measured: Granite Rapids). */
    const bool two_clocks = __builtin_cpu_is("intel");
    int count = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !__get_cpuid_count(7, 1, &a1, &b1, &c1, &d1))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
#if defined(__linux__)
    enum { ASK_FOR_STATE = 0x1023, TILE_DATA = 18 };
    const unsigned tiles = 1u << 24, bf16 = 1u << 22, int8 = 1u << 25;
    if ((d & tiles) && (d & bf16) && (d & int8) && (low >> 17 & 3) == 3 && !syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA))
        has[0] = has[1] = true;
#endif
    has[2] = a1 & 1u << 5;
    has[3] = c & 1u << 11;
    for (int i = 0; i < ROWS; i++)
        if (has[i] && is_wanted(all_rows[i].name)) {
            rows[count] = all_rows[i];
            rows[count++].no_gain = !strcmp(all_rows[i].name, "vdpbf16ps") && two_clocks;
        }
    return count;
}
#endif

static void probe_machine(void) {
    machine_model probed = {.vector_lanes = 4, .vector_registers = 16, .private_bytes = PRIVATE_BYTES, .stages_operands = true};
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
        probed.vector_lanes = 16;
        probed.vector_registers = 32;
#if defined(__x86_64__)
        probed.matrices = (matrix_table){rows, matrix_rows()};
#endif
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
    probed.intrinsics = &c_intrinsics;
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
