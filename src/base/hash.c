#include "base/hash.h"
#include <stdio.h>
#include <xxhash.h>

void hash_bytes(const void *bytes, size_t length, char digits[HASH_DIGITS + 1]) {
    XXH128_hash_t h = XXH3_128bits(length ? bytes : "", length);
    snprintf(digits, HASH_DIGITS + 1, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
}

uint64_t hash_short(const void *bytes, size_t length) {
    return XXH3_64bits(length ? bytes : "", length);
}
