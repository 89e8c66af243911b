/* What each runtime's file offers to the table in runtime.c. Private to run/. */
#ifndef TILEC_RUN_RUNTIME_H
#define TILEC_RUN_RUNTIME_H
#include "run/run.h"

#define RUNTIME(name, target, target_for, host_memory, simulated, streams, batch, text, named, prefix)                           \
    int prefix##_count(void);                                                                                                    \
    bool prefix##_describe(int index, char *out, size_t size);                                                                   \
    device *prefix##_open(int index, diag_list *diags);                                                                          \
    int prefix##_units(const device *d);                                                                                         \
    void prefix##_close(device *d);                                                                                              \
    void *prefix##_allocate(device *d, int64_t bytes, diag_list *diags);                                                         \
    void prefix##_release(device *d, void *memory);                                                                              \
    bool prefix##_copy_in(device *d, void *to, const void *from, int64_t bytes, diag_list *diags);                               \
    bool prefix##_copy_out(device *d, void *to, const void *from, int64_t bytes, diag_list *diags);                              \
    device_kernel *prefix##_load(device *d, const proved_plan *p, diag_list *diags);                                             \
    void prefix##_unload(device *d, device_kernel *k);                                                                           \
    bool prefix##_launch(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats,         \
                         diag_list *diags);
#include "run/runtimes.def"
#undef RUNTIME

const char *opencl_target_for(int index, const char **why);
void opencl_own_process(void);
int model_named(const char *name);
struct sim_matrix;
/* run/sim.c, with matrix units of a recorded device; NULL: sums of single roundings. */
bool simulator_launch_with(const struct sim_matrix *matrix, device_kernel *k, void *const *arrays, const int64_t *integers,
                           const float *floats, diag_list *diags);
extern const runtime_streams cuda_streams;
extern const runtime_batch opencl_batch;
extern const runtime_text opencl_text, cuda_text;
#endif
