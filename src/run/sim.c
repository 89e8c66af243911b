/* The simulator as a device: a proved plan run thread by thread, every access checked. Slow and right. */
#include "run/runtime.h"
#include "sim/sim.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct device {
    char nothing; /* every launch stands by itself */
};

struct device_kernel {
    const launch_plan *plan;
};

int simulator_count(void) {
    return 1;
}

bool simulator_describe(int index, char *out, size_t size) {
    snprintf(out, size, "simulator of Kernel IR: every access checked, one thread after another");
    return index == 0;
}

device *simulator_open(int index, diag_list *diags) {
    (void)index;
    device *d = calloc(1, sizeof *d);
    if (!d)
        diag_error(diags, "E0803", (source_span){0}, "no memory for the simulator");
    return d;
}

int simulator_units(const device *d) {
    (void)d;
    return 1;
}

void simulator_close(device *d) {
    free(d);
}

void *simulator_allocate(device *d, int64_t bytes, diag_list *diags) {
    (void)d;
    void *memory = NULL;
    if (bytes < 0 || bytes > INT64_MAX - 64 || !(memory = aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64)))
        diag_error(diags, "E0803", (source_span){0}, "no memory for %" PRId64 " bytes", bytes);
    return memory;
}

void simulator_release(device *d, void *memory) {
    (void)d;
    free(memory);
}

/* Never called while the row says host_memory: the launch takes the host's own arrays. */
bool simulator_copy_in(device *d, void *to, const void *from, int64_t bytes, diag_list *diags) {
    (void)d;
    (void)diags;
    if (bytes > 0)
        memmove(to, from, (size_t)bytes);
    return true;
}

bool simulator_copy_out(device *d, void *to, const void *from, int64_t bytes, diag_list *diags) {
    return simulator_copy_in(d, to, from, bytes, diags);
}

device_kernel *simulator_load(device *d, const proved_plan *p, diag_list *diags) {
    (void)d;
    device_kernel *k = calloc(1, sizeof *k);
    if (k)
        k->plan = proved_plan_get(p);
    else
        diag_error(diags, "E0803", (source_span){0}, "no memory to load %s", proved_plan_get(p)->name);
    return k;
}

void simulator_unload(device *d, device_kernel *k) {
    (void)d;
    free(k);
}

bool simulator_launch(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats,
                      diag_list *diags) {
    (void)d;
    return simulator_launch_with(NULL, k, arrays, integers, floats, diags);
}

bool simulator_launch_with(const sim_matrix *matrix, device_kernel *k, void *const *arrays, const int64_t *integers,
                           const float *floats, diag_list *diags) {
    if (!launch_checks(k->plan, arrays, integers, floats, diags))
        return false;
    const kernel_ir *first = k->plan->variants.at[0].kernel;
    arena *a = arena_new();
    void **given = NEW_ARRAY(a, void *, first->arrays.count + 1);
    for (int i = 0, count = 0, next = 0; i < first->arrays.count; i++)
        if (first->arrays.at[i]->space == SPACE_GLOBAL) /* a runtime leaves views out; the simulator counts them */
            given[count++] = first->arrays.at[i]->view_of ? NULL : arrays[next++];
    sim_arguments arguments = {given, integers, floats};
    sim_options options = {.seed = 1, .matrix = matrix};
    sim_report report;
    bool well = sim_run_plan(a, k->plan, &arguments, &options, &report, diags);
    arena_free(a);
    return well;
}
