/* Aligned loads of vectors on this processor, by hand: a compiler would take others where it knows of no alignment. */
#include "probe/access.h"
#include <string.h>

#if defined __x86_64__
typedef struct cpu_access {
    const char *name;
    int alignment;
    const char *feature; /* of __builtin_cpu_supports; NULL: every processor */
} cpu_access;
static const cpu_access rows[] = {
    {"movups", 1, NULL}, {"movaps", 16, NULL}, {"vmovaps of 32 bytes", 32, "avx"}, {"vmovaps of 64 bytes", 64, "avx512f"}};

static bool has(const char *feature) {
    return !feature || (!strcmp(feature, "avx") ? __builtin_cpu_supports("avx") : __builtin_cpu_supports("avx512f"));
}

const char *access_cpu_name(int number, int *documented) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (has(rows[i].feature) && !number--) {
            *documented = rows[i].alignment;
            return rows[i].name;
        }
    return NULL;
}

access_outcome access_cpu_try(int number, int offset) {
    static _Alignas(64) unsigned char bytes[256];
    _Alignas(64) unsigned char got[64];
    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)(i * 7 + 1);
    const unsigned char *from = bytes + offset;
    switch (number) {
    case 0: __asm__ volatile("movups (%0), %%xmm0\n\tmovaps %%xmm0, (%1)" : : "r"(from), "r"(got) : "xmm0", "memory"); break;
    case 1: __asm__ volatile("movaps (%0), %%xmm0\n\tmovaps %%xmm0, (%1)" : : "r"(from), "r"(got) : "xmm0", "memory"); break;
    case 2:
        __asm__ volatile("vmovaps (%0), %%ymm0\n\tvmovaps %%ymm0, (%1)\n\tvzeroupper" : : "r"(from), "r"(got) : "xmm0", "memory");
        break;
    default:
        __asm__ volatile("vmovaps (%0), %%zmm0\n\tvmovaps %%zmm0, (%1)\n\tvzeroupper" : : "r"(from), "r"(got) : "xmm0", "memory");
        break;
    }
    return memcmp(got, from, 16) ? ACCESS_ELSEWHERE : ACCESS_TAKEN;
}
#else
const char *access_cpu_name(int number, int *documented) {
    (void)number, (void)documented;
    return NULL;
}

access_outcome access_cpu_try(int number, int offset) {
    (void)number, (void)offset;
    return ACCESS_NOT_ASKED;
}
#endif
