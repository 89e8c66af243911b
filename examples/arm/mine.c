/* Somebody's own way to add two arrays: any C function will do. */
#include <stdint.h>

void mine(const float *a, const float *b, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}
