/* The files that the host programs of all kernels share, out of kits/metal. */
#include "target/metal.h"

const metal_file metal_kit[] = {
#include "metal_kit.inc"
};
const int metal_kit_count = (int)(sizeof metal_kit / sizeof *metal_kit);
