/* As much of the C library as tilec_metal.m and metal_probe.m use. */
#include <stddef.h>
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
void *memcpy(void *to, const void *from, size_t size);
