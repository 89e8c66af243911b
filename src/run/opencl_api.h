/* The part of OpenCL that tilec calls, opened at run time: declarations after the Khronos specification, so that no header is needed to build.
 * Private to run/. */
#ifndef TILEC_RUN_OPENCL_API_H
#define TILEC_RUN_OPENCL_API_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cl_object *cl_handle; /* platforms, devices, contexts, queues, buffers, programs, kernels, events */
typedef int32_t cl_status;

enum {
    CL_COMPLETE = 0, /* of an event; below 0: it failed */
    CL_DEVICE_NOT_FOUND = -1,
    CL_GLOBAL = 2, /* a local memory type: it lies in ordinary memory */
    CL_PLATFORM_NAME = 0x0902,
    CL_PLATFORM_VERSION = 0x0901,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_LOCAL_MEM_TYPE = 0x1022,
    CL_DEVICE_ENDIAN_LITTLE = 0x1026,
    CL_DEVICE_AVAILABLE = 0x1027,
    CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
    CL_DEVICE_NAME = 0x102B,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_VERSION = 0x102F,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
    CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
};
#define CL_DEVICE_TYPE_ALL ((uint64_t)0xFFFFFFFF)
#define CL_DEVICE_TYPE_CPU ((uint64_t)2)
#define CL_DEVICE_TYPE_GPU ((uint64_t)4)
#define CL_MEM_READ_WRITE ((uint64_t)1)
#define CL_MEM_USE_HOST_PTR ((uint64_t)8)
#define CL_FP_DENORM ((uint64_t)1)
#define CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ((uint64_t)128)

/* CL_FUNCTION(result, name without `cl`, parameters) */
#define CL_FUNCTIONS                                                                                                             \
    CL_FUNCTION(cl_status, GetPlatformIDs, (uint32_t, cl_handle *, uint32_t *))                                                  \
    CL_FUNCTION(cl_status, GetPlatformInfo, (cl_handle, uint32_t, size_t, void *, size_t *))                                     \
    CL_FUNCTION(cl_status, GetDeviceIDs, (cl_handle, uint64_t, uint32_t, cl_handle *, uint32_t *))                               \
    CL_FUNCTION(cl_status, GetDeviceInfo, (cl_handle, uint32_t, size_t, void *, size_t *))                                       \
    CL_FUNCTION(cl_handle, CreateContext, (const intptr_t *, uint32_t, const cl_handle *, void *, void *, cl_status *))          \
    CL_FUNCTION(cl_status, ReleaseContext, (cl_handle))                                                                          \
    CL_FUNCTION(cl_handle, CreateCommandQueue, (cl_handle, cl_handle, uint64_t, cl_status *))                                    \
    CL_FUNCTION(cl_status, ReleaseCommandQueue, (cl_handle))                                                                     \
    CL_FUNCTION(cl_handle, CreateBuffer, (cl_handle, uint64_t, size_t, void *, cl_status *))                                     \
    CL_FUNCTION(cl_status, ReleaseMemObject, (cl_handle))                                                                        \
    CL_FUNCTION(cl_status, EnqueueReadBuffer,                                                                                    \
                (cl_handle, cl_handle, uint32_t, size_t, size_t, void *, uint32_t, const cl_handle *, cl_handle *))              \
    CL_FUNCTION(cl_status, EnqueueWriteBuffer,                                                                                   \
                (cl_handle, cl_handle, uint32_t, size_t, size_t, const void *, uint32_t, const cl_handle *, cl_handle *))        \
    CL_FUNCTION(cl_handle, CreateProgramWithSource, (cl_handle, uint32_t, const char **, const size_t *, cl_status *))           \
    CL_FUNCTION(cl_handle, CreateProgramWithBinary,                                                                              \
                (cl_handle, uint32_t, const cl_handle *, const size_t *, const unsigned char **, cl_status *, cl_status *))      \
    CL_FUNCTION(cl_status, BuildProgram, (cl_handle, uint32_t, const cl_handle *, const char *, void *, void *))                 \
    CL_FUNCTION(cl_status, GetProgramInfo, (cl_handle, uint32_t, size_t, void *, size_t *))                                      \
    CL_FUNCTION(cl_status, GetProgramBuildInfo, (cl_handle, cl_handle, uint32_t, size_t, void *, size_t *))                      \
    CL_FUNCTION(cl_status, RetainProgram, (cl_handle))                                                                           \
    CL_FUNCTION(cl_status, ReleaseProgram, (cl_handle))                                                                          \
    CL_FUNCTION(cl_handle, CreateKernel, (cl_handle, const char *, cl_status *))                                                 \
    CL_FUNCTION(cl_status, ReleaseKernel, (cl_handle))                                                                           \
    CL_FUNCTION(cl_status, SetKernelArg, (cl_handle, uint32_t, size_t, const void *))                                            \
    CL_FUNCTION(cl_status, GetKernelWorkGroupInfo, (cl_handle, cl_handle, uint32_t, size_t, void *, size_t *))                   \
    CL_FUNCTION(cl_status, EnqueueNDRangeKernel,                                                                                 \
                (cl_handle, cl_handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, const cl_handle *,    \
                 cl_handle *))                                                                                                   \
    CL_FUNCTION(cl_status, GetEventInfo, (cl_handle, uint32_t, size_t, void *, size_t *))                                        \
    CL_FUNCTION(cl_status, ReleaseEvent, (cl_handle))                                                                            \
    CL_FUNCTION(cl_status, Finish, (cl_handle))

typedef struct opencl_api {
#define CL_FUNCTION(result, name, parameters) result(*name) parameters;
    CL_FUNCTIONS
#undef CL_FUNCTION
} opencl_api;

typedef struct opencl_found {
    cl_handle platform, device;
    uint32_t units;
    bool is_processor; /* a CPU, and nothing else, whose local memory is ordinary memory */
    bool
        keeps_compiled; /* the driver has a cache of its own, and compiles what nobody will run when asked for a program's binary */
    uint64_t local_bytes; /* of a work-group */
    char text[256];       /* name, platform, compute units: one line */
} opencl_found;

/* Opens the loader and lists every device of every platform, once a process. `why`: what is missing when there is none. */
typedef struct opencl_system {
    opencl_api api;
    opencl_found *devices;
    int count;
    char why[256];
} opencl_system;
const opencl_system *opencl_open_system(void);
bool opencl_form_known(void);   /* whether $TILEC_OPENCL_FORM, where it is set, is a word that opencl_target_for knows */
bool opencl_pins_threads(void); /* whether PoCL is told to give each of its threads a processor of its own */
const char *opencl_status_name(cl_status s); /* "CL_OUT_OF_RESOURCES" */
#endif
