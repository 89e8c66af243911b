/* The codes that a conversion is asked for, and the row that goes back. */
#ifndef PROBE_CODES_H
#define PROBE_CODES_H
#include <stdint.h>

typedef struct probe_codes {
    char conversion[64], hash[33];
    long long count;
    int architecture; /* the first of CUDA's that has it; 0: any device */
    int low_bits, patterns;
    uint32_t low[8];
} probe_codes;

/* 0, with a message, when the file is none of tilec's. */
int probe_codes_read(probe_codes *c, const char *path);
/* Codes from number `first` on. */
void probe_codes_place(const probe_codes *c, long long first, int count, uint32_t *codes);
/* The row, on standard output: answers as hexadecimal numbers, `*N` behind one that stands N times in a row. */
void probe_codes_print(const probe_codes *c, const char *target, const char *device, const uint32_t *answers);
#endif
