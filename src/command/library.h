/* The kernels that come with tilec: every file of the kernels folder, or the copies inside this program where there is no folder. */
#ifndef TILEC_COMMAND_LIBRARY_H
#define TILEC_COMMAND_LIBRARY_H
#include "command/command.h"

typedef struct kernel_library {
    VEC(const tile_module *) modules;
    VEC(const char *) paths;
} kernel_library;

/* Their texts. False, with diagnostics, when $TILEC_KERNELS names no folder, or one without .tile files. */
typedef struct library_text {
    const char *path; /* "kernels/matmul.tile": where it is, or would be */
    const char *text; /* NULL: in the file */
} library_text;
typedef VEC(library_text) library_texts;
bool library_list(report *r, library_texts *out);
/* False, with diagnostics, when the folder is missing or a file has errors (the good ones are loaded all the same). */
bool library_load(report *r, kernel_library *out);
/* The module that has a kernel or program of this name; NULL with E0646. */
const tile_module *library_find(const kernel_library *l, const char *name, diag_list *diags);
#endif
