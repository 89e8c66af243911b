/* The OpenCL runtime beyond the table of runtimes. Private to run/ and its tests. */
#ifndef TILEC_RUN_OPENCL_H
#define TILEC_RUN_OPENCL_H
#include "run/run.h"

/* Loads a plan that need not be proved: for tests of the text alone. Everything else goes through the runtime's `load`. */
device_kernel *opencl_load_plan(device *d, const launch_plan *plan, diag_list *diags);
/* What the device's own clock says of the last launch: its kernels alone. */
double opencl_last_milliseconds(const device *d);
#endif
