/* OpenCL: kernels that come as text. */
#include "run/opencl_parts.h"
#include "run/runtime.h"
#include <stdlib.h>

struct text_kernel {
    cl_handle built, kernel;
};

static void unload_text(device *d, text_kernel *k) {
    if (k && k->kernel)
        d->system->api.ReleaseKernel(k->kernel);
    if (k && k->built)
        d->system->api.ReleaseProgram(k->built);
    free(k);
}

static text_kernel *load_text(device *d, const char *name, const char *text, const char *entry, diag_list *diags) {
    text_kernel *k = calloc(1, sizeof *k);
    cl_status status = 0;
    if (!k)
        diag_error(diags, "E0803", (source_span){0}, "no memory to load %s", name);
    else if ((k->built = opencl_compile(d, &(opencl_source){name, text, "source", "E1022", name}, diags)) != NULL)
        k->kernel = d->system->api.CreateKernel(k->built, entry, &status);
    if (k && k->kernel && !status)
        return k;
    if (k && k->built)
        diag_error(diags, "E1022", (source_span){0}, "%s: there is no kernel `%s` in it (%s)", name, entry,
                   opencl_status_name(status));
    unload_text(d, k);
    return NULL;
}

static cl_status launch_text_locked(device *d, text_kernel *k, const text_launch *l, int *refused) {
    size_t global[3], local[3];
    for (int i = 0; i < l->count; i++) {
        const text_argument *x = &l->arguments[i];
        const void *value = x->array ? (const void *)&((opencl_memory *)x->array)->buffer : (const void *)&x->value;
        cl_status status =
            d->system->api.SetKernelArg(k->kernel, (uint32_t)i, x->array ? sizeof(cl_handle) : (size_t)x->bytes, value);
        if (status) {
            *refused = i;
            return status;
        }
    }
    for (int n = 0; n < 3; n++) {
        local[n] = (size_t)l->threads[n];
        global[n] = (size_t)(l->blocks[n] * l->threads[n]);
        if (!global[n])
            return 0;
    }
    /* Dimensions of one are left out: a kernel that asks for its dimensions sees those that it has. */
    uint32_t dimensions = global[2] > 1 ? 3 : global[1] > 1 ? 2 : 1;
    cl_status status = d->system->api.EnqueueNDRangeKernel(d->queue, k->kernel, dimensions, NULL, global, local, 0, NULL, NULL);
    return status || d->batches ? status : d->system->api.Finish(d->queue);
}

static bool launch_text(device *d, text_kernel *k, const text_launch *l, diag_list *diags) {
    int refused = -1;
    pthread_mutex_lock(&d->lock);
    cl_status status = launch_text_locked(d, k, l, &refused);
    pthread_mutex_unlock(&d->lock);
    if (status && refused >= 0) {
        diag *g = diag_error(diags, "E1022", (source_span){0}, "OpenCL: the kernel's argument %d is of another type (%s)",
                             refused + 1, opencl_status_name(status));
        diag_note(diags, g, "extents are passed as int64 (long), unless {\"name\": .., \"type\": \"int32\"} says otherwise");
    } else if (status)
        diag_error(diags, "E1022", (source_span){0}, "OpenCL: the launch failed: %s", opencl_status_name(status));
    return !status;
}

static bool text_resources(const device *d, const text_kernel *k, kernel_resources *out) {
    (void)d, (void)k, (void)out;
    return false;
}

const runtime_text opencl_text = {load_text, unload_text, launch_text, text_resources, NULL};
