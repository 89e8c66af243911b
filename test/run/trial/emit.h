/* Compiling many kernels' C text with one compiler call, and running them without the runtime. */
#ifndef TILEC_TEST_EMIT_H
#define TILEC_TEST_EMIT_H
#include "trial.h"

/* One shared object of all the texts (each as the C target emits it, for the kernels `names`), compiled (one call in four with -O1) and opened. NULL with a
 * reason. dlclose it. */
void *trial_build(const char *const *texts, const char *const *names, int count, char *why, size_t size);
/* Does the plan's launch checks, then runs all tasks of the variant that holds, on this thread. Scratch memory is poisoned first. */
bool trial_execute(const launch_plan *plan, void *handle, const trial_case *c, const trial_memory *m, diag_list *diags);
#endif
