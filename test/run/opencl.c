/* Every kernel on the first OpenCL device, against the oracle; see trial/device.h, also for the arguments. */
#include "trial/device.h"

int main(int argc, char **argv) {
    return trial_device_main("opencl", argc, argv);
}
