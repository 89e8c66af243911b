/* A library in the OpenCL loader's place: hands every call to the real one ($REAL_OPENCL), besides what $FAKE_OPENCL says goes wrong. For conventions of calls
 * with a register or a slot of 8 bytes for each argument; see opencl_faults.sh. */
#include "run/opencl_api.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS = 9 };
typedef intptr_t call(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);

static call *real(const char *name) {
    static void *library;
    call *f = NULL;
    if (!library)
        library = dlopen(getenv("REAL_OPENCL"), RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "there is no %s in %s\n", name, getenv("REAL_OPENCL"));
        exit(3);
    }
    memcpy(&f, &symbol, sizeof f);
    return f;
}

/* A question whose answer of so many bytes is another. */
static bool told(const intptr_t *a, intptr_t what, uint64_t answer, size_t bytes) {
    if (a[1] != what || !a[3])
        return false;
    memcpy((void *)a[3], &answer, bytes);
    return true;
}

static bool goes_wrong(const char *name, const intptr_t *a, intptr_t *result) {
    const char *fault = getenv("FAKE_OPENCL") ? getenv("FAKE_OPENCL") : "";
#define IS(what, where) (!strcmp(fault, what) && !strcmp(name, where))
    *result = 0;
    if (IS("no-driver", "clGetPlatformIDs"))
        *result = -1001;
    else if (IS("no-device", "clGetDeviceIDs"))
        *result = CL_DEVICE_NOT_FOUND;
    else if (IS("busy", "clCreateContext"))
        *(int32_t *)a[5] = -2;
    else if (IS("no-memory", "clCreateBuffer"))
        *(int32_t *)a[4] = -4;
    else if (IS("refuses", "clBuildProgram"))
        *result = -11;
    else if (IS("lost", "clFinish"))
        *result = -2;
    else if (IS("lost-at-launch", "clEnqueueNDRangeKernel"))
        *result = -5;
    else if (IS("small-blocks", "clGetDeviceInfo"))
        return told(a, CL_DEVICE_MAX_WORK_GROUP_SIZE, 8, sizeof(size_t));
    else if (IS("few-registers", "clGetKernelWorkGroupInfo"))
        return told(a + 1, CL_KERNEL_WORK_GROUP_SIZE, 8, sizeof(size_t));
    else if (IS("little-local", "clGetDeviceInfo"))
        return told(a, CL_DEVICE_LOCAL_MEM_SIZE, 64, sizeof(uint64_t));
    else if (IS("no-compiler", "clGetDeviceInfo"))
        return told(a, CL_DEVICE_COMPILER_AVAILABLE, 0, sizeof(uint32_t));
    else
        return false;
    return true;
}

#define CL_FUNCTION(type, name, parameters)                                                                                      \
    intptr_t cl##name(intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f, intptr_t g, intptr_t h,            \
                      intptr_t i);                                                                                               \
    intptr_t cl##name(intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f, intptr_t g, intptr_t h,            \
                      intptr_t i) {                                                                                              \
        const intptr_t all[ARGUMENTS] = {a, b, c, d, e, f, g, h, i};                                                             \
        intptr_t result;                                                                                                         \
        return goes_wrong("cl" #name, all, &result) ? result : real("cl" #name)(a, b, c, d, e, f, g, h, i);                      \
    }
CL_FUNCTIONS
