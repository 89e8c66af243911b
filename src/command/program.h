/* Programs of several kernels, for the commands. */
#ifndef TILEC_COMMAND_PROGRAM_H
#define TILEC_COMMAND_PROGRAM_H
#include "command/command.h"
#include "target/program.h"

/* Compiles the kernels of a program's calls, each once for the statics that calls give it: out->plans, by call. False with diagnostics (E0510, E0868, or the kernels'). */
bool program_compile(report *r, const tile_module *m, const tile_program *p, compile_options o, program_build *out,
                     double *proof_ms);
#endif
