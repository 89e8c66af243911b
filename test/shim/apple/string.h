/* As much of the C library as tilec_metal.m uses. */
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t size);
