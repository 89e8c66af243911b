/* The CUDA runtime beyond the table of runtimes. Private to run/ and its tests. */
#ifndef TILEC_RUN_CUDA_H
#define TILEC_RUN_CUDA_H
#include "run/cuda_api.h"
#include "run/run.h"
#include "run/runtime.h"
#include "target/gpu_plan.h"
#include <pthread.h>

struct device {
    const cuda_system *system;
    const cuda_found *found;
    cu_handle context, stream; /* the device's primary context; a stream of our own in it */
    int threads_limit, shared_limit;
    char *identity; /* compiler, architecture, options: all besides the text that can change the binary */
    char architecture[16];
    bool as_ptx; /* the compiler does not know the device: the driver finishes what it made */
    pthread_mutex_t lock;
};

/* A module for each form of each variant, made when a launch needs it. */
typedef struct cuda_module {
    cu_handle module, function; /* NULL: no launch has needed it yet */
} cuda_module;

struct device_kernel {
    arena *arena; /* of the program's description */
    const launch_plan *plan;
    gpu_program program;
    cuda_module *modules; /* of variant v from [v * GPU_FORMS] on, by form */
};

/* Every call of the driver stands between these: the context is the calling thread's current one for that time only. */
bool cuda_enter(const device *d, diag_list *diags);
void cuda_leave(const device *d);
/* The diagnostic of a status: out of memory, the device lost, or the call's failure. Returns false. */
bool cuda_fail(const device *d, const char *what, cu_status status, diag_list *diags);

bool cuda_has_warpgroups(
    const device *d); /* their matrix instructions: devices of one capability have them, compilers from CUDA 12 on know them */

/* ---- cuda_program.c ---- */
/* Loads a plan that need not be proved: for tests of the text alone. Everything else goes through the runtime's `load`. */
device_kernel *cuda_load_plan(device *d, const launch_plan *plan, diag_list *diags);
/* The variant's function for these arguments, and the entry that tells its parameters. NULL with a diagnostic. */
cu_handle cuda_function(device *d, device_kernel *k, int variant, void *const *arrays, const int64_t *integers,
                        const gpu_entry **entry, diag_list *diags);
/* Parameters of an entry, ours or a stranger's. */
enum { CUDA_MOST_PARAMETERS = 256, CUDA_MOST_MAPS = 16 };
/* ---- cuda_maps.c: tensor maps, which copies in bulk take ---- */
/* Whether the entry's maps can be made for these arguments. */
bool cuda_maps_fit(const device *d, const device_kernel *k, const gpu_entry *e, void *const *arrays, const int64_t *integers);
/* Makes them. False with E0857. */
bool cuda_make_maps(const device *d, const device_kernel *k, const gpu_entry *e, void *const *arrays, const int64_t *integers,
                    cu_tensor_map *maps, diag_list *diags);

/* A text, who wrote it, and the code of the diagnostic when the compiler refuses it. */
typedef struct cuda_source {
    const char *name, *text, *kind, *code;
    bool specific; /* for this architecture alone, "sm_90a" */
} cuda_source;
/* Machine code (or PTX) for "sm_90" ("compute_90"). Heap memory. False with E0854 or the source's code; no device is needed. */
bool cuda_compile_source(const cuda_source *s, const char *architecture, unsigned char **bytes, size_t *length, diag_list *diags);
/* The same for emitted code: E0856. */
bool cuda_compile(const char *name, const char *text, const char *architecture, unsigned char **bytes, size_t *length,
                  diag_list *diags);
/* Compiles (or takes from the cache, which `description` is for) and loads, in the device's context. False with diagnostics. */
bool cuda_build_module(device *d, const cuda_source *s, const char *description, cu_handle *module, diag_list *diags);
#endif
