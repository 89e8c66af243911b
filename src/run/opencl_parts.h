/* What the files of the OpenCL runtime share. Private to them. */
#ifndef TILEC_RUN_OPENCL_PARTS_H
#define TILEC_RUN_OPENCL_PARTS_H
#include "run/opencl_api.h"
#include "run/run.h"
#include <pthread.h>

struct device {
    const opencl_system *system;
    cl_handle device, context, queue;
    pthread_mutex_t lock; /* kernels' arguments are set, then used */
    int units;
    bool is_processor;
    bool batches; /* launches are enqueued only (runtime_batch) */
    size_t work_group_limit;
    uint64_t local_bytes, float_config;
    char *identity; /* driver, device, versions, options: all besides the text that can change the binary */
    bool keeps_compiled;
    struct { /* opencl_build_joined */
        cl_handle program;
        char **texts;
        int count;
    } joined;
};

typedef struct opencl_memory {
    cl_handle buffer;
    void *own; /* what the buffer stands for on a processor, made by us; NULL: the driver's own */
} opencl_memory;

/* What is built: its name, who wrote it and the code of the diagnostic when the driver refuses it, and what the cache says of it. */
typedef struct opencl_source {
    const char *name, *text, *kind, *code, *description;
} opencl_source;
/* From the texts joined, the cache, or the driver. NULL with a diagnostic, the driver's log in its notes. */
cl_handle opencl_compile(device *d, const opencl_source *s, diag_list *diags);
#endif
