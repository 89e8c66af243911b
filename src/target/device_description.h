/* What is known of devices by probing them: bench/devices, a file each, made of findings by `tilec probe --describe`, within the program; before them the file
 * that $TILEC_DESCRIPTION names. */
#ifndef TILEC_TARGET_DEVICE_DESCRIPTION_H
#define TILEC_TARGET_DEVICE_DESCRIPTION_H
#include "base/diag.h"
#include <stdbool.h>

/* What an instruction's unit does, as probed. */
typedef struct unit_description {
    const char *name; /* "m16n8k16.f16", as `tilec probe` calls it */
    int added,
        fraction; /* products and sum that are added at once; terms are cut off at 2^-fraction of the largest. 0: it adds in another way, or whole numbers */
    int kept;     /* bits behind the point of its results, where they are fewer than f32's 23; 0: they are not */
    double per_second; /* multiply-adds of the whole device; 0: not measured */
} unit_description;

typedef struct device_description {
    const char *name; /* "NVIDIA H200" */
    const char *utc;  /* of the newest finding */
    const char *path; /* of the file that TILEC_DESCRIPTION names; NULL: one of bench/devices */
    const unit_description *units;
    int count;
    double far_ns;              /* a load from memory beyond the caches; 0: not measured */
    double shared_bytes_per_ns; /* of a processor's shared memory; 0: not measured */
} device_description;

/* False with E1209 where the file that $TILEC_DESCRIPTION names is none. */
bool device_descriptions_read(diag_list *diags);
/* The description of the device whose own words these are ("NVIDIA H200, sm_90, .."); NULL: no such device was probed. Static memory. */
const device_description *device_description_find(const char *words);
/* The unit of that instruction ("m16n8k16.f16"); NULL: not probed. Either may be NULL. */
const unit_description *device_unit_find(const device_description *d, const char *name);
#endif
