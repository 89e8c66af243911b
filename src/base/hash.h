/* Hashes for cache keys: 128-bit XXH3, written as 32 hexadecimal digits. */
#ifndef TILEC_BASE_HASH_H
#define TILEC_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

enum { HASH_DIGITS = 32 };

/* Writes the hash of `length` bytes as 32 lower-case digits and a NUL. The same on every machine. */
void hash_bytes(const void *bytes, size_t length, char digits[HASH_DIGITS + 1]);
/* 64 bits of it, for tables in memory. */
uint64_t hash_short(const void *bytes, size_t length);
#endif
