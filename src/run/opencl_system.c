/* Finding OpenCL: the loader, its platforms, their devices. */
#define _GNU_SOURCE /* affinity masks */
#include "run/opencl_api.h"
#include "run/runtime.h"
#include "target/gpu_plan.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static opencl_system found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* PoCL's threads sleep between kernels, and all that a kernel wakes may find themselves on one processor, where they stay for milliseconds: each gets one
 * of its own. Not where the process may use only some, which PoCL does not look at. */
void opencl_own_process(void) {
#ifdef __linux__
    cpu_set_t allowed;
    if (!sched_getaffinity(0, sizeof allowed, &allowed) && CPU_COUNT(&allowed) == sysconf(_SC_NPROCESSORS_ONLN))
        setenv("POCL_AFFINITY", "1", 0);
#endif
}

bool opencl_pins_threads(void) {
    const char *said = getenv("POCL_AFFINITY");
    return said && !strcmp(said, "1");
}

static bool open_functions(void) {
    static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(found.why, sizeof found.why,
                 "libOpenCL.so.1, the OpenCL loader, is not installed (Debian, Ubuntu: apt-get install ocl-icd-libopencl1)");
        return false;
    }
    void *symbol;
#define CL_FUNCTION(result, name, parameters)                                                                                    \
    if (!(symbol = dlsym(library, "cl" #name))) {                                                                                \
        snprintf(found.why, sizeof found.why, "the OpenCL loader is too old: it lacks cl" #name);                                \
        return false;                                                                                                            \
    }                                                                                                                            \
    memcpy(&found.api.name, &symbol, sizeof symbol); /* ISO C has no conversion from data to function pointers */
    CL_FUNCTIONS
#undef CL_FUNCTION
    return true;
}

static void describe(opencl_found *d) {
    char name[128] = "device", platform[96] = "";
    found.api.GetDeviceInfo(d->device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    found.api.GetPlatformInfo(d->platform, CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    found.api.GetDeviceInfo(d->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof d->units, &d->units, NULL);
    uint64_t type = 0;
    uint32_t local_type = 0;
    found.api.GetDeviceInfo(d->device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    found.api.GetDeviceInfo(d->device, CL_DEVICE_LOCAL_MEM_TYPE, sizeof local_type, &local_type, NULL);
    found.api.GetDeviceInfo(d->device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof d->local_bytes, &d->local_bytes, NULL);
    d->is_processor = (type & CL_DEVICE_TYPE_CPU) && !(type & CL_DEVICE_TYPE_GPU) && local_type == CL_GLOBAL;
    /* PoCL's binary is every kernel for groups of any size, compiled then and there; a launch compiles its own for the group's size, which PoCL keeps. */
    const char *cache = getenv("POCL_KERNEL_CACHE");
    d->keeps_compiled = !strcmp(platform, "Portable Computing Language") && !(cache && !strcmp(cache, "0"));
    snprintf(d->text, sizeof d->text, "%s (%s), %u compute unit%s", name, platform, d->units, d->units == 1 ? "" : "s");
}

static void find(void) {
    cl_handle platforms[32], devices[64];
    uint32_t platform_count = 0;
    if (!open_functions())
        return;
    cl_status status = found.api.GetPlatformIDs(32, platforms, &platform_count);
    if (status || !platform_count) {
        snprintf(found.why, sizeof found.why,
                 "the OpenCL loader finds no driver (none in /etc/OpenCL/vendors; on a CPU: apt-get install pocl-opencl-icd)");
        return;
    }
    for (uint32_t i = 0; i < platform_count && i < 32; i++) {
        uint32_t count = 0;
        if (found.api.GetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 64, devices, &count))
            continue;
        opencl_found *grown = realloc(found.devices, ((size_t)found.count + count + 1) * sizeof *grown);
        if (!grown)
            break;
        found.devices = grown;
        for (uint32_t j = 0; j < count && j < 64; j++) {
            opencl_found *d = &found.devices[found.count++];
            *d = (opencl_found){.platform = platforms[i], .device = devices[j]};
            describe(d);
        }
    }
    if (!found.count)
        snprintf(found.why, sizeof found.why, "%u OpenCL platform%s, and none has a device", platform_count,
                 platform_count == 1 ? "" : "s");
}

const opencl_system *opencl_open_system(void) {
    pthread_once(&once, find);
    return &found;
}

/* $TILEC_OPENCL_FORM may say which of the two is wanted, "blocks" or "vectors"; -1: the device decides; 0, 1: blocks, vectors; 2: neither of these words. */
static int wished_form(void) {
    const char *wish = getenv("TILEC_OPENCL_FORM");
    return !wish || !*wish ? -1 : !strcmp(wish, "blocks") ? 0 : !strcmp(wish, "vectors") ? 1 : 2;
}

bool opencl_form_known(void) {
    return wished_form() != 2;
}

const char *opencl_target_for(int index, const char **why) {
    const opencl_system *s = opencl_open_system();
    const opencl_found *d = index >= 0 && index < s->count ? &s->devices[index] : NULL;
    static const char blocks[] = "opencl", vectors[] = "opencl_cpu";
    int wish = wished_form();
    if (wish == 0 || wish == 1) {
        *why = wish ? "a work-item a task, with vectors: TILEC_OPENCL_FORM" : "blocks of work-items: TILEC_OPENCL_FORM";
        return wish ? vectors : blocks;
    }
    if (!d || !d->is_processor)
        return blocks;
    if (d->local_bytes < (uint64_t)opencl_cpu_limits()->private_bytes) {
        *why = "blocks of work-items (refused: a work-item a task, with vectors, as on a processor: the device has too little "
               "local memory)";
        return blocks;
    }
    *why = "a work-item a task, with vectors: the device is a processor (refused: blocks of work-items, which it would run as "
           "loops)";
    return vectors;
}

const char *opencl_status_name(cl_status s) {
    static const struct {
        cl_status status;
        const char *name;
    } names[] = {{-2, "CL_DEVICE_NOT_AVAILABLE"},
                 {-3, "CL_COMPILER_NOT_AVAILABLE"},
                 {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
                 {-5, "CL_OUT_OF_RESOURCES"},
                 {-6, "CL_OUT_OF_HOST_MEMORY"},
                 {-11, "CL_BUILD_PROGRAM_FAILURE"},
                 {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
                 {-30, "CL_INVALID_VALUE"},
                 {-36, "CL_INVALID_COMMAND_QUEUE"},
                 {-38, "CL_INVALID_MEM_OBJECT"},
                 {-42, "CL_INVALID_BINARY"},
                 {-46, "CL_INVALID_KERNEL_NAME"},
                 {-49, "CL_INVALID_ARG_INDEX"},
                 {-50, "CL_INVALID_ARG_VALUE"},
                 {-51, "CL_INVALID_ARG_SIZE"},
                 {-52, "CL_INVALID_KERNEL_ARGS"},
                 {-54, "CL_INVALID_WORK_GROUP_SIZE"},
                 {-55, "CL_INVALID_WORK_ITEM_SIZE"},
                 {-61, "CL_INVALID_BUFFER_SIZE"},
                 {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
                 {-1001, "CL_PLATFORM_NOT_FOUND_KHR"}};
    static _Thread_local char other[32];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == s)
            return names[i].name;
    snprintf(other, sizeof other, "OpenCL status %d", (int)s);
    return other;
}
