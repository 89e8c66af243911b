/* Options of the commands that read other people's kernels: --kernel, -D, -I, --constant. */
#ifndef TILEC_COMMAND_SOURCE_OPTIONS_H
#define TILEC_COMMAND_SOURCE_OPTIONS_H
#include "command/command.h"
#include "lift/source.h"

/* Rows for a command's table of options. */
#define SOURCE_OPTION_ROWS                                                                                                       \
    {"-D", "NAME=VALUE", "a macro for a Metal, CUDA or OpenCL C text; several"},                                                 \
        {"-I", "DIR", "a folder with its headers; several"}, {                                                                   \
        "--constant", "NAME=VALUE", "the value of a Metal function constant, by name or index; several"                          \
    }

/* Fills in `out` from what the command has of them (texts of the arena). False with E0860. */
bool source_options_read(const command_line *line, arena *a, source_options *out, diag_list *diags);
#endif
