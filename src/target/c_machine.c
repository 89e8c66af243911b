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
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

enum { PRIVATE_BYTES = 8 * 1024 * 1024, DEFAULT_CACHE_BYTES = 512 * 1024 };

/* What one thread multiplies at once, the best first: a matrix unit (AMX), then a vector's dot products. A float row's unit adds the even and the odd products of
 * its step apart, each sum of up to 16 rounded as it goes, both together, and that to the sum: at most 18 roundings of terms; vdpbf16ps adds one product at a
 * time (bench/findings); bfdot sums a pair and adds that to the sum, both rounded to odd (Arm's manual). Processors of a family have vectors of one length, and some of its rows. */
typedef struct family {
    const char *name;
    int lanes, registers; /* of f32, of vectors */
} family;
static const family families[] = {{"avx512", 16, 32}, {"avx2", 8, 16}, {"sse", 4, 16}, {"neon", 4, 32}};
enum { AVX512, AVX2, SSE, NEON, FAMILIES };
enum { ROWS = 8 };
static const struct {
    int family;
    const char *feature; /* as a machine's name has it behind a +; NULL: every processor of the family has it */
    matrix_instruction row;
} all_rows[ROWS] = {
    {AVX512, "amx", {"tdpbf16ps", 16, 16, 32, ELEMENT_BF16, ELEMENT_F32, LEVEL_TASK, 1, "AMX-BF16", 32, 25, 0, false, true}},
    {AVX512, "amx", {"tdpbssd", 16, 16, 64, ELEMENT_I8, ELEMENT_I32, LEVEL_TASK, 1, "AMX-INT8", 0, 0, 0, false, false}},
    {AVX512, "bf16", {"vdpbf16ps", 1, 16, 2, ELEMENT_BF16, ELEMENT_F32, LEVEL_TASK, 1, "AVX512-BF16", 0, 0, 0, false, true}},
    {AVX512, "vnni", {"vpdpbusd", 1, 16, 4, ELEMENT_I8, ELEMENT_I32, LEVEL_TASK, 1, "AVX512-VNNI", 0, 0, 0, false, false}},
    {AVX2, "vnni", {"vpdpbusd-vex", 1, 8, 4, ELEMENT_I8, ELEMENT_I32, LEVEL_TASK, 1, "AVX-VNNI", 0, 0, 0, false, false}},
    {AVX2, NULL, {"vpmaddwd", 1, 8, 4, ELEMENT_I8, ELEMENT_I32, LEVEL_TASK, 1, "AVX2", 0, 0, 0, false, false}},
    {NEON, "dotprod", {"sdot", 1, 4, 4, ELEMENT_I8, ELEMENT_I32, LEVEL_TASK, 1, "ARMv8.2-DotProd", 0, 0, 0, false, false}},
    {NEON, "bf16", {"bfdot", 1, 4, 2, ELEMENT_BF16, ELEMENT_F32, LEVEL_TASK, 1, "ARMv8.6-BF16", 2, 23, 0, false, true}}};
static matrix_instruction rows[ROWS];
static machine_model machine;
static pthread_once_t machine_probed = PTHREAD_ONCE_INIT; /* two threads may be the first to ask */

/* Whether `name` is one of the words of `list`, between which `part` stands. */
static bool has_word(const char *list, const char *name, char part) {
    const size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == part) && (at[length] == part || !at[length]))
            return true;
    return false;
}

/* The rows of a family that `has` says are there, and $TILEC_MATRICES, a list with commas between, does not leave out. */
static matrix_table rows_of(int of, const bool has[ROWS]) {
    const char *wanted = getenv("TILEC_MATRICES");
    int count = 0;
    for (int i = 0; i < ROWS; i++)
        if (all_rows[i].family == of && has[i] && (!wanted || has_word(wanted, all_rows[i].row.name, ',')))
            rows[count++] = all_rows[i].row;
    return (matrix_table){rows, count};
}

static void take_family(machine_model *m, int of) {
    m->vector_lanes = families[of].lanes;
    m->vector_registers = families[of].registers;
}

#if defined(__x86_64__)
/* Whether the processor has the instructions and the system keeps their registers; a process asks once for those of the matrix unit. */
static void probe_rows(bool has[ROWS]) {
    unsigned a, b, c, d, a1, b1, c1, d1, low, high;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !__get_cpuid_count(7, 1, &a1, &b1, &c1, &d1))
        return;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
#if defined(__linux__)
    enum { ASK_FOR_STATE = 0x1023, TILE_DATA = 18 };
    const unsigned tiles = 1u << 24, bf16 = 1u << 22, int8 = 1u << 25;
    if ((d & tiles) && (d & bf16) && (d & int8) && (low >> 17 & 3) == 3 && !syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA))
        has[0] = has[1] = true;
#endif
    has[2] = a1 & 1u << 5;
    has[3] = c & 1u << 11;
    has[4] = a1 & 1u << 4;
    has[5] = b & 1u << 5;
}
#elif defined(__aarch64__) && defined(__linux__)
static void probe_rows(bool has[ROWS]) {
    enum { DOT_PRODUCTS = 20, BF16 = 14 };
    has[6] = getauxval(AT_HWCAP) >> DOT_PRODUCTS & 1;
    has[7] = getauxval(AT_HWCAP2) >> BF16 & 1;
}
#endif

static void probe_machine(void) {
    machine_model probed = {.private_bytes = PRIVATE_BYTES, .stages_operands = true};
    bool has[ROWS] = {false};
    int of = SSE;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    of = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") ? AVX512
         : __builtin_cpu_supports("avx2")                                                                              ? AVX2
                                                                                                                       : SSE;
#else
    of = NEON;
#endif
#if defined(__x86_64__) || (defined(__aarch64__) && defined(__linux__))
    probe_rows(has);
#endif
    take_family(&probed, of);
    probed.matrices = rows_of(of, has);
#if defined(__x86_64__)
    /* Intel's cores begin a vdpbf16ps every second clock, two fused multiply-adds every clock: as many products (measured: Granite Rapids). */
    for (int i = 0; i < probed.matrices.count; i++)
        rows[i].no_gain = __builtin_cpu_is("intel") && !strcmp(rows[i].name, "vdpbf16ps");
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

/* FAMILY, then features of it, each behind a +. */
bool c_machine_name(const char *name, const char **why) {
    const size_t length = strcspn(name, "+");
    int of = 0;
    while (of < FAMILIES && (strlen(families[of].name) != length || memcmp(families[of].name, name, length) != 0))
        of++;
    *why = "avx512, avx512+bf16, +vnni, +amx; avx2, avx2+vnni; sse; neon, neon+dotprod, +bf16";
    if (of == FAMILIES)
        return false;
    bool has[ROWS] = {false};
    for (const char *at = name + length; *at;) {
        const size_t n = strcspn(at + 1, "+");
        bool known = false;
        for (int i = 0; i < ROWS; i++)
            if (all_rows[i].family == of && all_rows[i].feature && strlen(all_rows[i].feature) == n &&
                !memcmp(all_rows[i].feature, at + 1, n))
                known = has[i] = true;
        if (!known)
            return false;
        at += n + 1;
    }
    for (int i = 0; i < ROWS; i++)
        has[i] = has[i] || !all_rows[i].feature;
    c_machine(); /* what is not the processor's own stays as probed */
    take_family(&machine, of);
    machine.matrices = rows_of(of, has);
    machine.cache_bytes = DEFAULT_CACHE_BYTES;
    return true;
}

/* Extents fit 32 bits, so that an element index does as a value too; offsets are computed in 64. */
const target_limits *c_limits(void) {
    static const target_limits limits = {
        .target = "c", .private_bytes = PRIVATE_BYTES, .threads_per_block = 1, .index_bits = 64, .largest_extent = INT32_MAX};
    return &limits;
}
