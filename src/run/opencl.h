/* The OpenCL runtime beyond the table of runtimes. Private to run/ and its tests. */
#ifndef TILEC_RUN_OPENCL_H
#define TILEC_RUN_OPENCL_H
#include "run/run.h"

/* Loads a plan that need not be proved: for tests of the text alone. Everything else goes through the runtime's `load`. */
device_kernel *opencl_load_plan(device *d, const launch_plan *plan, diag_list *diags);
/* Builds `joined` once, and takes it for each of `texts` (which it holds) until the next call or the device is closed: for tests of many kernels, as drivers read
 * long headers of their own in front of each text. Texts are copied. False with the driver's log: nothing is taken then. `count` 0: forgets. */
bool opencl_build_joined(device *d, const char *joined, const char *const *texts, int count, diag_list *diags);
#endif
