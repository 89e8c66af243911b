/* Metal as clang's C++ for OpenCL reads it: the rewriting. Private to lift/. */
#ifndef TILEC_LIFT_METAL_H
#define TILEC_LIFT_METAL_H
#include "lift/front.h"

typedef struct metal_kernel {
    const char *host_name; /* of an instantiation without one: its name in the source, with arguments */
    int declaration;       /* index */
    bool instantiation;    /* `template ... f<...>`, else a definition */
} metal_kernel;

typedef struct metal {
    front *f;
    const tokens *t; /* preprocessed */
    declaration_list all;
    VEC(metal_kernel) kernels;
    edits edits;
} metal;

/* Reads the declarations and lists the kernels: definitions that are no templates, and explicit instantiations. */
void metal_list(metal *m);
/* Attributes, kernels, host names and function constants become what C++ for OpenCL has; kernels that are not wanted go. The new text, for
 * metal_rewrite. */
const char *metal_kernels(metal *m, size_t *length);
/* Expressions, threadgroup variables and address spaces of a text that metal_kernels made. */
const char *metal_rewrite(arena *a, const char *text, size_t *length);

/* The value of an integer constant expression at from..to; false when it is none. */
bool metal_integer(const tokens *t, int from, int to, int64_t *value);
/* Is i the first of the [ [ of an attribute? Then *end is behind its ] ]. */
bool metal_attribute(const tokens *t, int i, int *end);
#endif
