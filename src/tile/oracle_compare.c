/* A device's output against the oracle's, every element. */
#include "tile/oracle.h"
#include <math.h>

/* A bound over this share of the element's scale says nothing: it is counted as vacuous. */
static const double vacuous_share = 0.01;

value_check oracle_compare(const tile_array *array, const void *device_bytes, const oracle_output *expected) {
    value_check r = {.passed = true, .worst_cell = -1};
    for (int64_t c = 0; c < expected->cells; c++) {
        if (!expected->written[c])
            continue;
        double device = element_load(array->type, device_bytes, c);
        double value = expected->value[c], bound = expected->bound[c], ratio;
        r.compared++;
        if (!(bound < INFINITY)) { /* open: NaN, an infinity or any number may come */
            r.vacuous++;
            continue;
        }
        if (isnan(value) || isnan(device)) {
            ratio = isnan(value) && isnan(device) ? 0 : INFINITY;
        } else if (isinf(value) || isinf(device)) {
            ratio = value == device ? 0 : INFINITY;
        } else {
            double difference = fabs(device - value);
            ratio = difference == 0 ? 0 : bound > 0 ? difference / bound : INFINITY;
            if (bound > vacuous_share * expected->scale[c])
                r.vacuous++;
        }
        bool failed = !(ratio <= 1);
        if (failed && r.failed++ == 0)
            r.passed = false;
        if ((failed && r.failed == 1) || (!r.failed && (r.worst_cell < 0 || ratio > r.worst_ratio))) {
            r.worst_cell = c;
            r.worst_device = device;
            r.worst_value = value;
            r.worst_bound = bound;
        }
        if (ratio > r.worst_ratio)
            r.worst_ratio = ratio;
    }
    return r;
}
