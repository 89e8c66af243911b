/* What each target's arithmetic does. Bounds of the functions are measured over all floats (test/unit/test_math.c) and rounded up. */
#include "tile/oracle.h"
#include <string.h>

static const arithmetic_model models[] = {
    {.target = "c",
     .unit = 0x1p-24,
     .divide = 0x1p-24,
     .exp_ulp = 0.71,
     .log_ulp = 0.69,
     .tanh_ulp = 1.2,
     .erf_ulp = 0.62,
     .sin_ulp = 1.38,
     .cos_ulp = 1.41,
     .rsqrt_ulp = 0.76,
     .flushes_subnormals = false,
     .smallest = 0x1p-149,
     .fused_products = false},
    /* As emitted C: the same functions by the same operations, each rounding by itself. Division and square root are correctly rounded where the
     * device can (-cl-fp32-correctly-rounded-divide-sqrt; run/opencl.c warns of kernels that divide where it cannot). */
    {.target = "opencl",
     .unit = 0x1p-24,
     .divide = 0x1p-24,
     .exp_ulp = 0.71,
     .log_ulp = 0.69,
     .tanh_ulp = 1.2,
     .erf_ulp = 0.62,
     .sin_ulp = 1.38,
     .cos_ulp = 1.41,
     .rsqrt_ulp = 0.76,
     .flushes_subnormals = false,
     .smallest = 0x1p-149,
     .fused_products = false},
    /* The same functions again; no option relaxes arithmetic, nothing is contracted. */
    {.target = "cuda",
     .unit = 0x1p-24,
     .divide = 0x1p-24,
     .exp_ulp = 0.71,
     .log_ulp = 0.69,
     .tanh_ulp = 1.2,
     .erf_ulp = 0.62,
     .sin_ulp = 1.38,
     .cos_ulp = 1.41,
     .rsqrt_ulp = 0.76,
     .flushes_subnormals = false,
     .smallest = 0x1p-149,
     .fused_products = false},
};

const arithmetic_model *arithmetic_model_find(const char *target) {
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (!strcmp(models[i].target, target))
            return &models[i];
    return NULL;
}
