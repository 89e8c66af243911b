/* From source text to a proved plan: runs the passes of pipeline.c. */
#ifndef TILEC_COMPILE_H
#define TILEC_COMPILE_H
#include "prove/prove.h"
#include "schedule/schedule.h"
#include "target/target.h"
#include "tile/tile.h"
#include <stdio.h>

typedef struct compile_options {
    const target *target;
    const char *target_route; /* why it, a line of --explain; NULL: it was the caller's wish. Outlives what is compiled */
    const tile_binding *statics;
    int static_count; /* --shape for statics, or inferred from arguments by the caller */
    const tile_binding *tiles;
    int tile_count;
    const schedule_setting *settings; /* --set: tile sizes and options, after those of `tiles` */
    int setting_count;
    const char *dump; /* letters of pipeline.c */
    FILE *dump_file;  /* where dumps go; NULL: stdout */
    bool no_proof_limit;
    bool splits;         /* the caller launches kernels, and splits them where the schedule says so (schedule_split) */
    bool sample_statics; /* `check` without arguments: a static nobody gave a value takes a sample one (see statics_sampled) */
} compile_options;

typedef struct compiled_kernel {
    const tile_module *module;
    const tile_kernel *source; /* as written: TILE names free */
    const tile_kernel *tiles;  /* specialised: what the oracle runs */
    row_form_list rows;        /* its forms for rows that registers hold: variants of the plan after the first, or all of it */
    const char *rows_why;      /* why there are none; NULL: nothing would be gained */
    VEC(tile_binding) statics; /* the values the statics took */
    bool statics_sampled;      /* some of them were nobody's wish: the proof is for these values */
    schedule_choice schedule;
    lowering lowered;
    proof proof;
    const proved_plan *plan; /* NULL when it was refused */
    double milliseconds;     /* of all passes */
} compiled_kernel;

/* Loads a file (parse, resolve, type-check) into Tile IR. `text` NULL: reads the file. NULL with diagnostics. */
tile_module *compile_load(arena *a, const char *path, const char *text, diag_list *diags);
/* Schedules, lowers, proves. False with diagnostics. */
bool compile_kernel(arena *a, const tile_module *m, const tile_kernel *k, const compile_options *o, compiled_kernel *out,
                    diag_list *diags);

/* The statics' values: the options', else the declared defaults, else samples when those are allowed; false with E0510. */
bool compile_bind_statics(arena *a, const tile_kernel *k, const compile_options *o, compiled_kernel *out, diag_list *diags);
/* The verdicts, a line each, with the launch checks. */
void compile_print_proof(const compiled_kernel *c, text_buffer *out);
/* The launch plan as people read it: schedule, routes, variants, checks, proof (for --explain). */
void compile_explain(const compiled_kernel *c, text_buffer *out);
#endif
