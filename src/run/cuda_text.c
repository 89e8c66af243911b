/* CUDA kernels that come as text rather than from a proved plan: compiled, cached and launched as ours are. */
#include "run/cuda.h"
#include <stdio.h>
#include <stdlib.h>

struct text_kernel {
    cu_handle module, function;
};

static void unload(device *d, text_kernel *k) {
    if (k && k->module && cuda_enter(d, NULL)) {
        d->system->api.ModuleUnload(k->module);
        cuda_leave(d);
    }
    free(k);
}

static bool find(device *d, text_kernel *k, const char *name, const char *text, const char *entry, bool specific,
                 diag_list *diags) {
    if (!cuda_build_module(d, &(cuda_source){name, text, "source", "E1022", specific}, name, &k->module, diags))
        return false;
    cu_status status = d->system->api.ModuleGetFunction(&k->function, k->module, entry);
    if (!status)
        return true;
    diag *g = diag_error(diags, "E1022", (source_span){0}, "%s: there is no kernel `%s` in it (%s)", name, entry,
                         cuda_status_text(d->system, status));
    diag_note(diags, g, "it is found by its name when it is declared extern \"C\" __global__");
    return false;
}

static text_kernel *load_as(device *d, const char *name, const char *text, const char *entry, bool specific, diag_list *diags) {
    text_kernel *k = calloc(1, sizeof *k);
    bool good = false;
    if (!k)
        diag_error(diags, "E0803", (source_span){0}, "no memory to load %s", name);
    else if (cuda_enter(d, diags)) {
        good = find(d, k, name, text, entry, specific, diags);
        cuda_leave(d);
    }
    if (good)
        return k;
    unload(d, k);
    return NULL;
}

static text_kernel *load(device *d, const char *name, const char *text, const char *entry, diag_list *diags) {
    return load_as(d, name, text, entry, false, diags);
}

static text_kernel *load_specific(device *d, const char *name, const char *text, const char *entry, diag_list *diags) {
    return load_as(d, name, text, entry, true, diags);
}

/* The driver reads as many values as the function takes: where a manifest names fewer, these. */
static unsigned char nothing[4096];

static bool launch(device *d, text_kernel *k, const text_launch *l, diag_list *diags) {
    void *parameters[CUDA_MOST_PARAMETERS];
    cu_pointer pointers[CUDA_MOST_PARAMETERS];
    if (l->count > CUDA_MOST_PARAMETERS) {
        diag_error(diags, "E1022", (source_span){0}, "a launch has %d arguments, and %d are allowed", l->count,
                   CUDA_MOST_PARAMETERS);
        return false;
    }
    for (int i = 0; i < l->count; i++) {
        pointers[i] = (cu_pointer)(uintptr_t)l->arguments[i].array;
        parameters[i] = pointers[i] ? (void *)&pointers[i] : (void *)&l->arguments[i].value;
    }
    for (int i = l->count; i < CUDA_MOST_PARAMETERS; i++)
        parameters[i] = nothing;
    if (l->blocks[0] * l->blocks[1] * l->blocks[2] == 0)
        return true;
    if (!cuda_enter(d, diags))
        return false;
    const int64_t without_asking = 48 * 1024;
    cu_status status = l->shared_bytes > without_asking
                           ? d->system->api.FuncSetAttribute(k->function, CU_FUNCTION_DYNAMIC_SHARED_BYTES, (int)l->shared_bytes)
                           : 0;
    if (!status)
        status = d->system->api.LaunchKernel(k->function, (unsigned)l->blocks[0], (unsigned)l->blocks[1], (unsigned)l->blocks[2],
                                             (unsigned)l->threads[0], (unsigned)l->threads[1], (unsigned)l->threads[2],
                                             (unsigned)l->shared_bytes, d->stream, parameters, NULL);
    cuda_leave(d);
    return !status || cuda_fail(d, "the launch", status, diags);
}

static bool resources(const device *d, const text_kernel *k, kernel_resources *out) {
    int registers = 0, local = 0, shared = 0;
    if (!cuda_enter(d, NULL))
        return false;
    bool good = !d->system->api.FuncGetAttribute(&registers, CU_FUNCTION_REGISTERS, k->function) &&
                !d->system->api.FuncGetAttribute(&local, CU_FUNCTION_LOCAL_BYTES, k->function) &&
                !d->system->api.FuncGetAttribute(&shared, CU_FUNCTION_SHARED_BYTES, k->function);
    cuda_leave(d);
    *out = (kernel_resources){registers, local, shared};
    return good;
}

const runtime_text cuda_text = {load, unload, launch, resources, load_specific};
