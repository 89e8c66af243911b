/* As much of the C library as tilec_metal.m uses. */
#include <stddef.h>
void *calloc(size_t count, size_t size);
void free(void *memory);
void qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *));
