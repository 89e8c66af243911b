/* What each target's arithmetic does. Bounds of the functions are measured over all floats (test/unit/test_math.c) and rounded up. */
#include "tile/oracle.h"
#include <string.h>

/* Of emitted text: the same functions by the same operations on every target, each rounding by itself; no option relaxes arithmetic, nothing is
 * contracted. Division and square root are correctly rounded, on OpenCL where the device can (-cl-fp32-correctly-rounded-divide-sqrt; run/opencl.c
 * warns of kernels that divide where it cannot). */
static const arithmetic_model emitted = {.unit = 0x1p-24,
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
                                         .fused_products = false};

static const struct {
    const char *target;
    const arithmetic_model *model;
} models[] = {{"c", &emitted}, {"opencl", &emitted}, {"opencl_cpu", &emitted}, {"cuda", &emitted}};

const arithmetic_model *arithmetic_model_find(const char *target) {
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (!strcmp(models[i].target, target))
            return models[i].model;
    return NULL;
}
