/* A value suite for a device's runtime. */
#ifndef TILEC_TEST_DEVICE_H
#define TILEC_TEST_DEVICE_H

/* Every kernel of kernels/ and test/accept/ on the first device of a runtime, at odd shapes, every element against the oracle; outputs are poisoned
 * first, and inputs must stay as they were. Arguments: [--seed N] [--kernel NAME] [--small] [--all] [--exact] [--random N [--from I]] [--target NAME] [--share I/N] [FILE...]
 * --all: also kernels whose text is so long that drivers take long over it. --small: few and small shapes, for a device that interprets. --random:
 * N random kernels instead (those with long texts not counted, nor run), from number I of the seed on. --target: as another target's, instead of the one that the device takes by itself. --share: only
 * the I-th of each N kernels. --exact: buffers without guard bytes behind the arrays, for a device
 * that sees what is behind them itself. An OpenCL driver is given twenty kernels, or those of a file, as one program. Returns the exit status. */
int trial_device_main(const char *runtime_name, int argc, char **argv);
#endif
