/* LLVM IR in text form, as far as its kernels and their arguments say: what clang printed, or a `.ll` file. Private to lift/. */
#ifndef TILEC_LIFT_MODULE_TEXT_H
#define TILEC_LIFT_MODULE_TEXT_H
#include "lift/source.h"

/* Annotations that the rewriting of Metal leaves on functions. */
#define METAL_KERNEL_MARK "msl.kernel"        /* it is a kernel */
#define METAL_HOST_NAME_MARK "msl.host_name:" /* it is a kernel of this name */
#define METAL_PARAMETERS_MARK                                                                                                    \
    "msl.parameters:" /* "name=buffer(0);name=thread_position_in_grid;..." in order, "name=" where there is no attribute */

#define METAL_NATIVE_ENDING "_msl"        /* of a parameter's name, when its type was changed */
#define METAL_THREADS_MARK "msl.threads:" /* the most threads of a block */

/* Fills in m->kernels and m->spaces from m->text. False with diagnostics when the text cannot be made out. */
bool module_text_kernels(arena *a, source_module *m, diag_list *diags);
/* Pointers written as LLVM 15 and older did (`float addrspace(1)*`) become `ptr addrspace(1)`; a text without them is returned as it is. */
const char *module_text_opaque(arena *a, const char *text, size_t *length);
#endif
