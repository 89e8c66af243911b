/* Kernels in other languages on the command line: read (lift/), judged, run, built. */
#ifndef TILEC_COMMAND_FOREIGN_H
#define TILEC_COMMAND_FOREIGN_H
#include "command/command.h"
#include "lift/lift.h"
#include "lift/source.h"

/* Whether a file is such, by its ending: .metal, .cu, .cl, .ll. */
bool foreign_named(const char *path);
typedef VEC(lifted_kernel) foreign_list;
/* Reads the kernels asked for (--kernel; none: every one) under the launch contract of the flags and of the sidecar file. A kernel that is not read is an
 * error, and the others are read nevertheless. False when any was not. */
bool foreign_read(report *r, const command_line *line, const char *path, foreign_list *out);
/* A source text compiled, and read through LLVM. */
typedef struct foreign_source {
    const source_module *source;
    const lift_module *module;
} foreign_source;
/* Compiles it; false with diagnostics. */
bool foreign_open(report *r, const char *path, const source_options *o, foreign_source *out);
/* Reads the module of kernels from .. to - 1 of the source; false with diagnostics. */
bool foreign_open_module(report *r, const char *path, int from, int to, foreign_source *x);
/* Kernel i of the source, which is among those, as Kernel IR under the launch contract; false with diagnostics. */
bool foreign_lift(report *r, const command_line *line, const char *path, const foreign_source *from, int i, lifted_kernel *out);
/* Whether it can be run: false with E1132 where it needs what is not known, the body of a function or an image. */
bool foreign_has_bodies(report *r, const lifted_kernel *x);
/* What the source's own reading knows of a kernel's parameters. */
void foreign_annotate(lift_function *f, const source_kernel *k);
bool foreign_check(report *r, const command_line *line, const char *path, json_t *list);
/* The text's sidecar file, k.cl -> k.launch. */
const char *foreign_sidecar(arena *a, const char *path);
bool foreign_run(report *r, const command_line *line, const char *path);
/* target NULL: every one, each into a folder of its own. */
bool foreign_build(report *r, const command_line *line, const char *path, const target *t, const char *folder);
#endif
