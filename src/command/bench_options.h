/* What `tilec bench` was asked to measure. */
#ifndef TILEC_COMMAND_BENCH_OPTIONS_H
#define TILEC_COMMAND_BENCH_OPTIONS_H
#include "bench/suite.h"
#include "command/command.h"

typedef struct bench_options {
    lab_options lab; /* without its callbacks */
    suite suite;
    int launches;
} bench_options;

extern const option_row bench_option_rows[];
extern const char bench_help[];
/* Reads the options that measuring has. False with a diagnostic. */
bool bench_read_options(const command_line *line, arena *a, bench_options *out, diag_list *diags);
#endif
