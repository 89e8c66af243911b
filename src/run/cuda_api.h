/* The part of the CUDA driver API and of NVRTC that tilec calls, opened at run time: declarations after NVIDIA's documentation, so that no header is
 * needed to build. Private to run/. */
#ifndef TILEC_RUN_CUDA_API_H
#define TILEC_RUN_CUDA_API_H
#include "base/diag.h"
#include <stdint.h>

typedef struct cu_object *cu_handle; /* contexts, modules, functions, streams, events, graphs */
typedef uint64_t cu_pointer;         /* device memory */
typedef int cu_status, cu_device;

enum {
    CU_ERROR_OUT_OF_MEMORY = 2,
    CU_ERROR_NO_DEVICE = 100,
    CU_DEVICE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_CLOCK_RATE = 13, /* kHz */
    CU_DEVICE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_THREADS_OF_MULTIPROCESSOR = 39,
    CU_DEVICE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_SHARED_MEMORY_OF_MULTIPROCESSOR = 81,
    CU_DEVICE_REGISTERS_OF_MULTIPROCESSOR = 82,
    CU_DEVICE_MOST_SHARED_MEMORY_PER_BLOCK = 97, /* once the function asks for it */
    CU_FUNCTION_MAX_THREADS_PER_BLOCK = 0,
    CU_FUNCTION_SHARED_BYTES = 1,
    CU_FUNCTION_LOCAL_BYTES = 3,
    CU_FUNCTION_REGISTERS = 4,
    CU_FUNCTION_DYNAMIC_SHARED_BYTES = 8,
    CU_POINTER_MEMORY_TYPE = 2,
    CU_POINTER_DEVICE_ORDINAL = 9,
    CU_MEMORY_TYPE_DEVICE = 2,
    CU_STREAM_NON_BLOCKING = 1,
    CU_CAPTURE_RELAXED = 2
};

/* CU_FUNCTION(symbol, name, parameters) */
#define CU_FUNCTIONS                                                                                                             \
    CU_FUNCTION(cuInit, Init, (unsigned))                                                                                        \
    CU_FUNCTION(cuDriverGetVersion, DriverGetVersion, (int *))                                                                   \
    CU_FUNCTION(cuGetErrorName, GetErrorName, (cu_status, const char **))                                                        \
    CU_FUNCTION(cuGetErrorString, GetErrorString, (cu_status, const char **))                                                    \
    CU_FUNCTION(cuDeviceGetCount, DeviceGetCount, (int *))                                                                       \
    CU_FUNCTION(cuDeviceGet, DeviceGet, (cu_device *, int))                                                                      \
    CU_FUNCTION(cuDeviceGetName, DeviceGetName, (char *, int, cu_device))                                                        \
    CU_FUNCTION(cuDeviceTotalMem_v2, DeviceTotalMem, (size_t *, cu_device))                                                      \
    CU_FUNCTION(cuDeviceGetAttribute, DeviceGetAttribute, (int *, int, cu_device))                                               \
    CU_FUNCTION(cuDevicePrimaryCtxRetain, DevicePrimaryCtxRetain, (cu_handle *, cu_device))                                      \
    CU_FUNCTION(cuDevicePrimaryCtxRelease_v2, DevicePrimaryCtxRelease, (cu_device))                                              \
    CU_FUNCTION(cuCtxPushCurrent_v2, CtxPushCurrent, (cu_handle))                                                                \
    CU_FUNCTION(cuCtxPopCurrent_v2, CtxPopCurrent, (cu_handle *))                                                                \
    CU_FUNCTION(cuMemAlloc_v2, MemAlloc, (cu_pointer *, size_t))                                                                 \
    CU_FUNCTION(cuMemFree_v2, MemFree, (cu_pointer))                                                                             \
    CU_FUNCTION(cuMemGetInfo_v2, MemGetInfo, (size_t *, size_t *))                                                               \
    CU_FUNCTION(cuMemcpyHtoDAsync_v2, MemcpyHtoDAsync, (cu_pointer, const void *, size_t, cu_handle))                            \
    CU_FUNCTION(cuMemcpyDtoHAsync_v2, MemcpyDtoHAsync, (void *, cu_pointer, size_t, cu_handle))                                  \
    CU_FUNCTION(cuPointerGetAttribute, PointerGetAttribute, (void *, int, cu_pointer))                                           \
    CU_FUNCTION(cuModuleLoadData, ModuleLoadData, (cu_handle *, const void *))                                                   \
    CU_FUNCTION(cuModuleUnload, ModuleUnload, (cu_handle))                                                                       \
    CU_FUNCTION(cuModuleGetFunction, ModuleGetFunction, (cu_handle *, cu_handle, const char *))                                  \
    CU_FUNCTION(cuFuncGetAttribute, FuncGetAttribute, (int *, int, cu_handle))                                                   \
    CU_FUNCTION(cuFuncSetAttribute, FuncSetAttribute, (cu_handle, int, int))                                                     \
    CU_FUNCTION(cuLaunchKernel, LaunchKernel,                                                                                    \
                (cu_handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cu_handle, void **, void **))  \
    CU_FUNCTION(cuStreamCreate, StreamCreate, (cu_handle *, unsigned))                                                           \
    CU_FUNCTION(cuStreamDestroy_v2, StreamDestroy, (cu_handle))                                                                  \
    CU_FUNCTION(cuStreamSynchronize, StreamSynchronize, (cu_handle))                                                             \
    CU_FUNCTION(cuEventCreate, EventCreate, (cu_handle *, unsigned))                                                             \
    CU_FUNCTION(cuEventDestroy_v2, EventDestroy, (cu_handle))                                                                    \
    CU_FUNCTION(cuEventRecord, EventRecord, (cu_handle, cu_handle))                                                              \
    CU_FUNCTION(cuEventSynchronize, EventSynchronize, (cu_handle))                                                               \
    CU_FUNCTION(cuEventElapsedTime, EventElapsedTime, (float *, cu_handle, cu_handle))                                           \
    CU_FUNCTION(cuStreamBeginCapture_v2, StreamBeginCapture, (cu_handle, int))                                                   \
    CU_FUNCTION(cuStreamEndCapture, StreamEndCapture, (cu_handle, cu_handle *))                                                  \
    CU_FUNCTION(cuGraphInstantiateWithFlags, GraphInstantiate, (cu_handle *, cu_handle, unsigned long long))                     \
    CU_FUNCTION(cuGraphLaunch, GraphLaunch, (cu_handle, cu_handle))                                                              \
    CU_FUNCTION(cuGraphExecDestroy, GraphExecDestroy, (cu_handle))                                                               \
    CU_FUNCTION(cuGraphDestroy, GraphDestroy, (cu_handle))

typedef struct cuda_api {
#define CU_FUNCTION(symbol, name, parameters) cu_status(*name) parameters;
    CU_FUNCTIONS
#undef CU_FUNCTION
} cuda_api;

#define NVRTC_FUNCTIONS                                                                                                          \
    NVRTC_FUNCTION(nvrtcVersion, Version, (int *, int *))                                                                        \
    NVRTC_FUNCTION(nvrtcGetNumSupportedArchs, GetNumSupportedArchs, (int *))                                                     \
    NVRTC_FUNCTION(nvrtcGetSupportedArchs, GetSupportedArchs, (int *))                                                           \
    NVRTC_FUNCTION(nvrtcCreateProgram, CreateProgram,                                                                            \
                   (void **, const char *, const char *, int, const char *const *, const char *const *))                         \
    NVRTC_FUNCTION(nvrtcDestroyProgram, DestroyProgram, (void **))                                                               \
    NVRTC_FUNCTION(nvrtcCompileProgram, CompileProgram, (void *, int, const char *const *))                                      \
    NVRTC_FUNCTION(nvrtcGetProgramLogSize, GetProgramLogSize, (void *, size_t *))                                                \
    NVRTC_FUNCTION(nvrtcGetProgramLog, GetProgramLog, (void *, char *))                                                          \
    NVRTC_FUNCTION(nvrtcGetCUBINSize, GetCUBINSize, (void *, size_t *))                                                          \
    NVRTC_FUNCTION(nvrtcGetCUBIN, GetCUBIN, (void *, char *))                                                                    \
    NVRTC_FUNCTION(nvrtcGetPTXSize, GetPTXSize, (void *, size_t *))                                                              \
    NVRTC_FUNCTION(nvrtcGetPTX, GetPTX, (void *, char *))

typedef struct nvrtc_api {
#define NVRTC_FUNCTION(symbol, name, parameters) int(*name) parameters;
    NVRTC_FUNCTIONS
#undef NVRTC_FUNCTION
} nvrtc_api;

/* Of CUDA 12: a launch with attributes, as cuda.h lays them out. */
typedef struct cu_launch_attribute {
    int id;
    char unused[4];
    union {
        int allowed;
        char room[64];
    } value;
} cu_launch_attribute;
typedef struct cu_launch {
    unsigned grid[3], block[3], shared_bytes;
    cu_handle stream;
    cu_launch_attribute *attributes;
    unsigned attribute_count;
} cu_launch;
enum {
    CU_LAUNCH_PROGRAMMATIC_SERIALIZATION = 6, /* it may begin while what the stream has before it runs: its kernel waits itself */
    CU_PROGRAMMATIC_DRIVER = 12030            /* whose graphs keep that */
};

/* A tensor map, as cuda.h has it: what stands in it is the driver's. */
typedef struct cu_tensor_map {
    _Alignas(128) uint64_t words[16];
} cu_tensor_map;
/* cuTensorMapEncodeTiled: of the element type, so many dimensions, the last of an array's first: address, extents, bytes between neighbours of all but the first, box,
 * steps within it, interleave, swizzle, how much is fetched ahead, what fills outside. */
typedef cu_status (*cu_encode_map)(cu_tensor_map *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,
                                   const uint32_t *, int, int, int, int);
enum {
    CU_MAP_FLOAT16 = 6,
    CU_MAP_BFLOAT16 = 9,
    CU_MAP_UINT8 = 0,
    CU_MAP_UINT16 = 1,
    CU_MAP_SWIZZLE_128 = 3,
    CU_MAP_FETCH_256 = 3,
};

typedef struct cuda_found {
    cu_device device;
    int major, minor, multiprocessors;
    char text[256]; /* name, architecture, multiprocessors, memory: one line */
} cuda_found;

/* The driver and its devices, once a process. `why`: what is missing when there is none. */
typedef struct cuda_system {
    cuda_api api;
    cu_status (*launch_with)(const cu_launch *, cu_handle, void **, void **); /* cuLaunchKernelEx; NULL: the driver has none */
    cu_encode_map encode_map; /* NULL: the driver has none, and entries that take maps are not for it */
    cuda_found *devices;
    int count, driver; /* 13000: version 13.0 */
    char why[256];
} cuda_system;
const cuda_system *cuda_open_system(void);
const char *cuda_status_text(const cuda_system *s,
                             cu_status status); /* "CUDA_ERROR_INVALID_VALUE (invalid argument)"; this thread's */

/* The run-time compiler, once a process: $TILEC_NVRTC, else where systems and Python packages keep it. */
typedef struct nvrtc_system {
    nvrtc_api api;
    bool found, newer; /* newer: than the driver, which may not take what it makes */
    int major, minor;
    char why[256];
} nvrtc_system;
const nvrtc_system *nvrtc_open_system(void);
#endif
